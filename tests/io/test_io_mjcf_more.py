"""What models of MuJoCo have beside trees and contacts: limits, rotors, gravity in part, sensors, and remarks."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kido
from kido.io import mjcf
from kido.layouts import MujocoLayout

mujoco: Any = pytest.importorskip("mujoco", reason="the extra mjcf is not installed")
ROD = '<geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.05" mass="1"/>'


def text_of(bodies: str, rest: str = "") -> str:
    return f'<mujoco><compiler angle="radian"/><worldbody>{bodies}</worldbody>{rest}</mujoco>'


def both(text: str, positions: Any, velocities: Any = None) -> tuple[Any, Any, mjcf.MjcfWorld]:
    """MuJoCo's model and data, and the world, in one state without contacts; of skeletons with coordinates."""
    model, world = mjcf.compile_model(text), mjcf.read(text)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    data = mujoco.MjData(model)
    data.qpos[:] = positions
    data.qvel[:] = 0.0 if velocities is None else velocities
    mujoco.mj_forward(model, data)
    for s in world.skeletons:
        if s.num_dofs and not s.kinematic:
            layout = MujocoLayout(s, model)
            s.positions = layout.our_positions(data.qpos)
            s.velocities = layout.our_velocities(s.positions, data.qvel)
    return model, data, world


@pytest.mark.parametrize("share", [0.3, 1.0, 1.7])
def test_gravity_is_compensated_in_part(share: float) -> None:
    """Forces that hold a chain still are MuJoCo's, to rounding; more than all of it lifts."""
    text = text_of(
        f'<body name="a"><joint axis="0 1 0"/>{ROD}<body pos="0.5 0 0" gravcomp="{share}"><joint axis="0 1 0"/>{ROD}'
        "</body></body>"
    )
    _, data, world = both(text, [0.3, 0.4], [0.5, -0.2])
    s = world.skeletons[1]
    tau = s.inverse_dynamics(s.positions, s.velocities, np.zeros(2))
    np.testing.assert_allclose(tau, data.qfrc_bias - data.qfrc_gravcomp, rtol=1e-12)
    assert not any("gravity" in words for words in world.skeletons[0].warnings)
    again = mjcf.read(written(world))
    assert again.skeletons[1].bodies[1].gravity == pytest.approx(1.0 - share)


def written(world: kido.World) -> str:
    """The text of a world as MJCF."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.xml"
        kido.save(world, path)
        return path.read_text()


def test_gravity_that_is_more_than_there_is_is_said() -> None:
    text = text_of(f'<body name="a" gravcomp="-0.5"><joint axis="0 1 0"/>{ROD}</body>')
    world = mjcf.read(text)
    assert any("gravcomp below zero" in words for words in world.skeletons[0].warnings)
    with pytest.raises(kido.FileFormatError, match="gravcomp below zero"):
        mjcf.read(text, strict=True)


def test_rotors_of_actuators_and_tendons_of_one_joint() -> None:
    """M and the damping forces, to rounding."""
    text = text_of(
        f'<body name="a"><joint name="j" axis="0 1 0" armature="0.1" damping="0.2"/>{ROD}<body pos="0.5 0 0">'
        f'<joint name="k" axis="0 1 0"/>{ROD}</body></body>',
        '<tendon><fixed name="t" armature="0.5"><joint joint="k" coef="2"/></fixed></tendon>'
        '<actuator><general joint="j" gear="3" armature="0.2" damping="0.7"/>'
        '<general tendon="t" gear="2" armature="0.1" damping="0.3"/></actuator>',
    )
    model, data, world = both(text, [0.3, 0.4], [0.5, -0.2])
    M = np.zeros((2, 2))
    mujoco.mj_fullM(model, data, M)
    s = world.skeletons[1]
    np.testing.assert_allclose(s.mass_matrix, M, rtol=1e-12)
    damping = np.array([dof.damping for dof in s.dofs]) * -s.velocities
    damping = damping + np.array([0.0, -0.3 * 4.0 * 4.0 * -0.2])  # that of the tendon is its own
    np.testing.assert_allclose(damping, data.qfrc_passive, rtol=1e-12)
    assert world.actuators.tendons[0].damping == pytest.approx(0.3 * 4.0)
    assert not any("armature" in w or "damping" in w for w in world.skeletons[0].warnings)


def test_rotors_along_several_joints_are_said() -> None:
    text = text_of(
        f'<body name="a"><joint name="j" axis="0 1 0"/>{ROD}<body pos="0.5 0 0"><joint name="k" axis="0 1 0"/>{ROD}'
        "</body></body>",
        '<tendon><fixed name="t" armature="1"><joint joint="j" coef="1"/><joint joint="k" coef="2"/></fixed></tendon>',
    )
    assert any("armature along several joints is left out: 1 (t)" in w for w in mjcf.read(text).skeletons[0].warnings)


def test_limits_hold_a_margin_before_the_range() -> None:
    """A rod that sinks against its limit rests where MuJoCo's does, which is soft."""
    text = text_of(
        f'<body name="a"><joint axis="0 1 0" range="-1 0.5" limited="true" margin="0.1" damping="1" '
        f'solreflimit="0.004 1" solimplimit="0.99 0.999 0.001"/>{ROD}</body>'
    )
    model, world = mjcf.compile_model(text), mjcf.read(text)
    data = mujoco.MjData(model)
    for _ in range(2000):
        mujoco.mj_step(model, data)
    world.step(2000)
    assert world.skeletons[1].positions[0] == pytest.approx(0.4, abs=1e-6)
    assert data.qpos[0] == pytest.approx(0.4, abs=2e-3)
    assert any("limits are left out: they hold rigidly" in words for words in world.skeletons[0].warnings)


BALL = f'<body name="a"><joint name="q" type="ball" range="0 0.6" limited="true" damping="0.3"/>{ROD}</body>'


def test_balls_turn_no_farther_than_their_limit() -> None:
    """A rod on a ball sinks to its limit, 0.6 rad about whatever axis, and rests there as MuJoCo's does."""
    text = text_of(BALL, '<option timestep="0.002"/>')
    model, world = mjcf.compile_model(text), mjcf.read(text)
    (limit,) = world.constraints
    assert isinstance(limit, kido.BallLimit)
    assert limit.limit == 0.6
    data = mujoco.MjData(model)
    s = world.skeletons[1]
    s.velocities = data.qvel[:] = [0.5, 0.0, 0.3]  # of the rod's own axes
    most = 0.0
    for _ in range(150):
        world.step(10)
        most = max(most, limit.angle)
    assert most < 0.6 + 1e-3
    for _ in range(1500):
        mujoco.mj_step(model, data)
    assert limit.angle == pytest.approx(0.6, abs=1e-4)
    theirs = 2.0 * np.arccos(abs(data.qpos[0]))
    assert theirs == pytest.approx(0.6, abs=2e-2)  # it is soft
    assert not any("ball" in words for words in world.skeletons[0].warnings)
    assert 'range="0.0 0.6"' in written(world)


def test_limits_of_balls_by_hand() -> None:
    world = mjcf.read(text_of(BALL))
    joint = world.skeletons[1].joints[0]
    for bad in (0.0, -1.0, 4.0, np.nan, "wide"):
        with pytest.raises(kido.ModelError, match="limit of ball joint 'q': expected an angle"):
            kido.BallLimit(joint, bad)  # type: ignore[arg-type]
    with pytest.raises(kido.ModelError, match="expected a BallJoint"):
        kido.BallLimit(world.skeletons[0].joints[0], 1.0)
    limit = kido.BallLimit(joint, 1.0)
    assert limit.rows().shape == (0, 3)  # no axis where nothing is turned
    world.skeletons[1].positions = [0.3, 0.4, 0.0]
    np.testing.assert_allclose(limit.rows(), [[-0.6, -0.8, 0.0]])
    np.testing.assert_allclose(limit.error, [0.5])
    world.skeletons[1].positions = [0.0, 0.0, 4.0]  # beyond a half turn, the other way round is nearer
    np.testing.assert_allclose(limit.error, [1.0 - (2.0 * np.pi - 4.0)])


SENSED = """
<body name="f" pos="0 0 2"><freejoint/><geom name="g" type="sphere" size="0.1"/><site name="s" pos="0.1 0.2 0.1"/>
  <camera name="eye" pos="0.1 0 0.3" euler="0.2 0.3 0.1" fovy="50" resolution="320 200"/>
  <camera name="lens" pos="-0.1 0 0.3" resolution="64 48" sensorsize="0.004 0.003" focal="0.005 0.006"/></body>
<body name="a" pos="0.4 0.3 0.5"><joint name="h" axis="0 1 0" range="-0.2 0.3" limited="true" stiffness="3" springref="0.1"/>
  <geom name="c" type="box" size="0.1 0.1 0.1"/><site name="v" size="0.3 0.2 0.4" type="box" pos="0.1 0 0"/>
  <body pos="0.1 0 0"><joint name="k" type="slide" axis="1 0 0"/><geom name="e" type="sphere" size="0.05"/></body></body>
"""  # noqa: E501
SENSORS = (
    '<camprojection site="v" camera="eye"/><camprojection site="v" camera="lens"/>'
    '<camprojection site="s" camera="eye"/>'
    '<jointlimitpos joint="h"/><jointlimitvel joint="h"/><tendonlimitpos tendon="t"/>'
    '<tendonlimitvel tendon="t"/><insidesite site="v" objtype="geom" objname="e"/>'
    '<insidesite site="v" objtype="body" objname="f"/><e_potential/>'
    '<distance geom1="g" geom2="c" cutoff="10"/><normal geom1="g" geom2="c" cutoff="10"/>'
    '<fromto geom1="g" geom2="c" cutoff="10"/><distance geom1="g" body2="a" cutoff="0.2"/>'
    '<normal geom1="g" body2="a" cutoff="0.2"/>'
)
STRING = (
    '<tendon><fixed name="t" range="-0.1 0.4" limited="true" stiffness="7"><joint joint="h" coef="2"/></fixed></tendon>'
)


@pytest.mark.parametrize("h, speed", [(0.1, 0.3), (0.5, 0.3), (-0.4, -0.2)])
def test_further_sensors_read_what_mujocos_do(h: float, speed: float) -> None:
    """Pixels, distances beyond limits, volumes, potential energy, nearest points: to the rounding of geometry."""
    text = text_of(SENSED, f"{STRING}<sensor>{SENSORS}</sensor>")
    q = [0.2, 0.1, 1.3, *(np.array([0.9, 0.1, -0.3, 0.2]) / np.linalg.norm([0.9, 0.1, -0.3, 0.2])), h, 0.05]
    _, data, world = both(text, q, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, speed, -0.1])
    assert len(world.sensors) == 15
    np.testing.assert_allclose(world.sensors.data, data.sensordata, rtol=1e-7, atol=1e-7)


def test_springs_swing_alike_and_sink_in_deeper() -> None:
    """At a constant impedance d: (T zeta)^2 g deep at rest, (1 - d) times that in MuJoCo; and as fast back out."""
    impedance, time, ratio = 0.9, 0.05, 1.0
    ball = f'<body name="b" pos="0 0 0.1"><joint type="slide" axis="0 0 1"/><geom size="0.1" solref="{time} {ratio}" '
    ball += f'solimp="{impedance} {impedance} 0.001"/></body>'
    floor = f'<geom type="plane" size="1 1 1" solref="{time} {ratio}" solimp="{impedance} {impedance} 0.001"/>'
    text = text_of(floor + ball)
    model, world = mjcf.compile_model(text), mjcf.read(text, contacts="springs")
    data = mujoco.MjData(model)
    for _ in range(1000):
        mujoco.mj_step(model, data)
    world.step(1000)
    deep = 9.81 * (time * ratio) ** 2
    assert -data.qpos[0] == pytest.approx((1.0 - impedance) * deep, rel=1e-3)
    assert -world.skeletons[1].positions[0] == pytest.approx(deep, rel=1e-3)
    assert any("sink in 1 / (1 - impedance) times as deep" in words for words in world.skeletons[0].warnings)


def test_what_is_not_read_is_said() -> None:
    """Each number with an effect in MuJoCo that has none here."""
    text = text_of(
        '<body name="a"><joint name="j" axis="0 1 0" frictionloss="0.1" solreffriction="0.05 1" range="-1 1" '
        f'actuatorgravcomp="true" actuatorfrcrange="-1 1"/><geom name="g" size="0.1"/>{ROD}'
        '</body><body name="b" gravcomp="0.5"><joint/><geom size="0.1"/></body>'
        '<camera name="o" projection="orthographic"/>',
        '<option integrator="RK4" impratio="10" noslip_iterations="3"><flag override="enable"/></option>'
        '<keyframe><key name="late" time="3"/></keyframe>',
    )
    words = " ".join(mjcf.read(text).skeletons[0].warnings)
    for said in (
        "solref and solimp of dry friction are left out: they hold rigidly: 1 (j)",
        "orthographic cameras are pinholes: 1 (o)", "RK4: worlds have an integrator of their own", "impratio",
        "options that override", "times of keyframes are left out", "gravity is compensated beside the actuators",
        "does not slip",
    ):  # fmt: skip
        assert said in words
    assert "limits" not in words.replace("whose limits", "")
