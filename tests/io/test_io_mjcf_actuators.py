"""Actuators and tendons of MJCF files: lengths, moments, forces and activations beside MuJoCo's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kido
from kido.actuation import Actuators
from kido.io import mjcf
from kido.layouts import MujocoLayout

mujoco: Any = pytest.importorskip("mujoco", reason="the extra mjcf is not installed")
TOLERANCE = 1e-12  # relative: rounding of both
INSIDE = 1e-7  # MuJoCo finds where a string touches from inside to 1e-6, of which lengths feel the square

BODIES = """
<site name="o" pos="0 0.1 1.6"/>
<body name="a" pos="0 0 1"><joint name="h" axis="0 1 0" range="-100 100" damping="0.1"/>
  <joint name="g" axis="1 0 0" pos="0 0 0.1"/>
  <geom name="ball" type="sphere" size="0.15" pos="0 0 0.2"/><site name="s1" pos="0.2 0 0.1"/>
  <body name="b" pos="0.1 0 0.4"><joint name="q" type="ball"/>
    <geom name="tube" type="cylinder" size="0.08 0.2" euler="70 10 0" mass="0.5"/>
    <site name="s2" pos="0.1 0.1 0.3" euler="10 20 30"/>
    <site name="side" pos="0 -0.3 0"/><site name="in" pos="0.01 0 0.01"/></body></body>
<body name="f" pos="1 0 1"><freejoint name="free"/><geom type="box" size="0.1 0.2 0.3"/>
  <site name="s3" pos="0.1 0.2 0.1" euler="30 0 40"/></body>
<body name="l" pos="2 0 0"><joint name="slide" type="slide" axis="1 2 3" actuatorfrcrange="-3 4"/>
  <geom size="0.1"/></body>
"""
TENDONS = """<tendon>
<fixed name="fixed" stiffness="3" damping="0.2" springlength="0.1 0.2">
  <joint joint="h" coef="0.5"/><joint joint="slide" coef="-2"/></fixed>
<spatial name="string" stiffness="20" damping="1"><site site="o"/><geom geom="ball"/><site site="s2"/></spatial>
<spatial name="tubed"><site site="o"/><geom geom="tube" sidesite="side"/><site site="s3"/></spatial>
<spatial name="pulley"><site site="o"/><site site="s1"/><pulley divisor="2"/><site site="s1"/><site site="s2"/>
  <pulley divisor="2"/>  <site site="s1"/><geom geom="tube"/><site site="s3"/></spatial>
<spatial name="inside"><site site="s1"/><geom geom="tube" sidesite="in"/><site site="s3"/></spatial>
<fixed name="clamped" limited="false" actuatorfrclimited="true" actuatorfrcrange="-1 2">
  <joint joint="g" coef="1"/></fixed>
</tendon>"""
ACTUATORS = {
    "motor": '<motor joint="h" gear="3" ctrlrange="-0.5 0.5"/><motor joint="slide" gear="20"/>',
    "servos": '<position joint="h" kp="20" kv="2" forcerange="-4 4"/><velocity joint="slide" kv="3"/>'
    '<position joint="g" kp="5" dampratio="0.7"/><damper joint="h" kv="2" ctrlrange="0 1"/>',
    "activations": '<intvelocity joint="h" kp="4" actrange="-0.1 0.1"/>'
    '<general joint="g" dyntype="filter" dynprm="0.1" gainprm="3" biastype="affine" biasprm="1 2 3"/>'
    '<general joint="g" dyntype="filterexact" dynprm="0.1" gaintype="affine" gainprm="3 2 1" actearly="true"/>'
    '<cylinder joint="slide" timeconst="0.2" area="2" bias="1 2 3"/>',
    "muscles": '<muscle tendon="string" lengthrange="0.2 1.5" force="30"/>'
    '<muscle tendon="pulley" lengthrange="0.2 1.5" timeconst="0.02 0.05" tausmooth="0.3" scale="150"/>'
    '<muscle joint="h" lengthrange="-1 1"/>',
    "ball": '<motor joint="q" gear="1 2 3"/><motor jointinparent="q" gear="1 2 3"/>'
    '<position joint="q" gear="0 0 1" kp="7"/>',
    "free": '<motor joint="free" gear="1 2 3 4 5 6"/><motor jointinparent="free" gear="1 2 3 4 5 6"/>',
    "sites": '<motor site="s3" gear="1 2 3 4 5 6"/><position site="s2" refsite="s1" gear="1 2 0 0 0 0" kp="3"/>'
    '<position site="s2" refsite="o" gear="0 0 0 1 1 0" kp="3"/><position site="s3" refsite="s2" gear="1 1 1 1 1 1"/>',
    "tendons": '<motor tendon="fixed" gear="2"/><position tendon="string" kp="10" kv="1"/>'
    '<motor tendon="tubed" gear="2"/><motor tendon="clamped" gear="3"/><motor tendon="clamped"/>',
    "groups": '<motor joint="h" group="1"/><motor joint="g" group="2"/>',
}


def text_of(actuators: str, option: str = '<option actuatorgroupdisable="2"/>') -> str:
    return (
        f'<mujoco><compiler autolimits="true"/>{option}<worldbody>{BODIES}</worldbody>{TENDONS}'
        f"<actuator>{actuators}</actuator></mujoco>"
    )


class Pair:
    """A model there and here, in one state."""

    def __init__(self, text: str):
        self.model, self.world = mjcf.compile_model(text), mjcf.read(text, contacts="rigid")
        self.data = mujoco.MjData(self.model)
        self.actuators = Actuators.of(self.world)
        self.layouts = {s: MujocoLayout(s, self.model) for s in self.world.skeletons[1:]}

    def randomize(self, rng: np.random.Generator) -> None:
        m, d = self.model, self.data
        d.qpos[:] = m.qpos0
        mujoco.mj_integratePos(m, d.qpos, rng.uniform(-0.8, 0.8, m.nv), 1.0)
        d.qvel, d.ctrl = rng.uniform(-1, 1, m.nv), rng.uniform(-1.5, 1.5, m.nu)
        d.act = rng.uniform(-0.2, 1.2, m.na)
        mujoco.mj_forward(m, d)
        for s, layout in self.layouts.items():
            q = layout.our_positions(d.qpos)
            s.positions, s.velocities = q, layout.our_velocities(q, d.qvel)
        self.actuators.controls = d.ctrl
        self.actuators.activations = [d.act[k] if k >= 0 else 0.0 for k in m.actuator_actadr]

    def forces(self, ours: Any) -> np.ndarray:
        """Joint forces as theirs."""
        return sum(
            (lay.forces(np.array(s.positions), ours(s)) for s, lay in self.layouts.items()), np.zeros(self.model.nv)
        )

    def tendon_jacobian(self) -> np.ndarray:
        d, J = self.data, np.zeros((self.model.ntendon, self.model.nv))
        for k in range(self.model.ntendon):
            part = slice(self.model.ten_J_rowadr[k], self.model.ten_J_rowadr[k] + self.model.ten_J_rownnz[k])
            J[k, self.model.ten_J_colind[part]] = d.ten_J.ravel()[part]
        return J


@pytest.mark.parametrize("actuators", ACTUATORS.values(), ids=ACTUATORS.keys())
def test_forces_are_those_of_mujoco(actuators: str) -> None:
    pair, rng = Pair(text_of(actuators)), np.random.default_rng(3)
    ours, d = pair.actuators, pair.data
    for _ in range(5):
        pair.randomize(rng)
        np.testing.assert_allclose(ours.lengths, d.actuator_length, rtol=TOLERANCE, atol=TOLERANCE)
        np.testing.assert_allclose(ours.velocities, d.actuator_velocity, rtol=TOLERANCE, atol=TOLERANCE)
        np.testing.assert_allclose(ours.forces, d.actuator_force, rtol=TOLERANCE, atol=TOLERANCE)
        np.testing.assert_allclose(pair.forces(ours.joint_forces), d.qfrc_actuator, rtol=TOLERANCE, atol=10 * TOLERANCE)
        before = ours.activations
        pair.world.step()
        mujoco.mj_step(pair.model, d)
        slots = pair.model.actuator_actadr
        expected = [d.act[k] if k >= 0 else before[i] for i, k in enumerate(slots)]
        np.testing.assert_allclose(ours.activations, expected, rtol=TOLERANCE, atol=TOLERANCE)
    assert np.abs(d.actuator_force).max() > 0.1


def test_tendons_are_those_of_mujoco() -> None:
    pair, rng = Pair(text_of(ACTUATORS["motor"])), np.random.default_rng(4)
    ours, d = pair.actuators, pair.data
    assert ours.tendon_names == ["fixed", "string", "tubed", "pulley", "inside", "clamped"]
    exact = [0, 1, 2, 3, 5]
    for _ in range(10):
        pair.randomize(rng)
        np.testing.assert_allclose(ours.tendon_lengths, d.ten_length, rtol=TOLERANCE, atol=TOLERANCE)
        J = np.array([pair.forces(lambda s, k=k: ours.tendon_moments(s)[k]) for k in range(6)])
        np.testing.assert_allclose(J[exact], pair.tendon_jacobian()[exact], rtol=TOLERANCE, atol=TOLERANCE)
        np.testing.assert_allclose(J, pair.tendon_jacobian(), rtol=INSIDE, atol=INSIDE)
        passive = pair.forces(ours.passive_forces)
        np.testing.assert_allclose(
            passive, d.qfrc_passive - pair.forces(lambda s: s.damping_forces), rtol=TOLERANCE, atol=1e-11
        )


def test_switches_of_the_model_hold() -> None:
    """Unlimited controls, and no actuation."""
    rng = np.random.default_rng(5)
    for flag in ("clampctrl", "actuation", "spring", "damper"):
        pair = Pair(text_of(ACTUATORS["servos"], f'<option><flag {flag}="disable"/></option>'))
        pair.randomize(rng)
        np.testing.assert_allclose(pair.forces(pair.actuators.joint_forces), pair.data.qfrc_actuator, atol=1e-11)
        passive = pair.forces(pair.actuators.passive_forces) + pair.forces(lambda s: s.damping_forces)
        np.testing.assert_allclose(passive, pair.data.qfrc_passive, atol=1e-11)


def test_a_world_is_driven_by_name() -> None:
    world = mjcf.read(text_of('<motor name="push" joint="slide" gear="2"/>'))
    actuators = Actuators.of(world)
    actuators.set_controls(push=0.5)
    assert actuators.control("push") == 0.5 and actuators.joint_forces(world.skeleton("l")) == pytest.approx([1.0])
    still = mjcf.read(text_of('<motor name="push" joint="slide" gear="2"/>'))
    for w in (world, still):
        w.step(10)
    assert world.skeleton("l").velocities[0] > still.skeleton("l").velocities[0]


def test_what_is_left_out_is_said() -> None:
    text = text_of(
        '<adhesion name="sticky" body="f" ctrlrange="0 1"/><motor name="m" joint="h" delay="0.1" nsample="2"/>'
    )
    warnings = mjcf.read(text).skeletons[0].warnings
    assert any("actuators along bodies (adhesion) are left out: 1 (sticky)" in w for w in warnings)
    assert any("delay of actuators is left out: 1 (m)" in w for w in warnings)
    with pytest.raises(kido.FileFormatError, match="sticky: actuators along bodies"):
        mjcf.read(text, strict=True)
