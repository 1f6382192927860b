"""Equalities, and limits and friction of tendons: they hold where MuJoCo's are met, and what they hold is the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kido
from kido.actuation import Actuators
from kido.io import mjcf
from kido.layouts import MujocoLayout

mujoco: Any = pytest.importorskip("mujoco", reason="the extra mjcf is not installed")
CLOSED = 1e-9  # [m or rad] worlds close positions to 1e-10
FOLLOWED = 1e-5  # rows of Python are met at a predicted position: to the second order of the time step
SLIPPED = 2e-3  # [rad] in 0.4 s: rows with bounds hold before velocity products are corrected
REACH = 5e-4  # of limits: how far a step goes beyond

BODIES = """
<site name="o" pos="0 0 1"/>
<body name="a" pos="0 0 1"><joint name="h" axis="0 1 0" ref="10"/><joint name="g" axis="1 0 0"/>
  <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" contype="0"/><site name="s1" pos="0.3 0 0" euler="10 20 30"/>
  <body name="b" pos="0.3 0 0"><joint name="k" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" contype="0"/>
    <site name="s2" pos="0.3 0 0"/></body></body>
<body name="f" pos="0.7 0.1 0.9" euler="20 30 40"><freejoint/><geom type="box" size="0.05 0.1 0.15" contype="0"/>
  <site name="s3" pos="0.1 0 0" euler="30 0 10"/></body>
"""
TENDONS = """<tendon><fixed name="sum"><joint joint="h" coef="1"/><joint joint="g" coef="-0.5"/></fixed>
<fixed name="one"><joint joint="k" coef="2"/></fixed></tendon>"""
EQUALITIES = {
    "connect": '<connect body1="b" body2="f" anchor="0.3 0 0"/>',
    "connect to the world": '<connect body1="f" anchor="0.1 0.2 0"/>',
    "connect sites": '<connect site1="s2" site2="s3"/>',
    "weld": '<weld body1="b" body2="f"/>',
    "weld with pose": '<weld body1="b" body2="f" relpose="0.4 0.1 0 0.9 0.1 0.2 0.3" anchor="0.1 0 0.1"/>',
    "weld sites": '<weld site1="s2" site2="s3"/>',
    "joint": '<joint joint1="h" polycoef="0.3 0 0 0 0"/>',
    "gear": '<joint joint1="h" joint2="k" polycoef="0.1 -2 0 0 0"/>',
    "curve": '<joint joint1="h" joint2="k" polycoef="0.1 0.5 0.3 -0.2 0.1"/>',
    "tendons": '<tendon tendon1="sum" tendon2="one" polycoef="0.1 0.7 0 0 0"/>',
    "tendon": '<tendon tendon1="sum" polycoef="0.2 0 0 0 0"/>',
}


def text_of(equality: str, tendons: str = TENDONS) -> str:
    return f"<mujoco><worldbody>{BODIES}</worldbody>{tendons}<equality>{equality}</equality></mujoco>"


@pytest.mark.parametrize("equality", EQUALITIES.values(), ids=EQUALITIES.keys())
def test_what_holds_here_is_met_there(equality: str) -> None:
    """The state after steps of a world has no violation in MuJoCo, and rows of the same rank."""
    text = text_of(equality)
    world, model = mjcf.read(text), mjcf.compile_model(text)
    world.step(50)
    data = mujoco.MjData(model)
    for s in world.skeletons[1:]:
        layout = MujocoLayout(s, model)
        q = layout.positions(s.positions)
        for block, _, at, _ in layout.places:
            data.qpos[at : at + block.num_positions] = q[at : at + block.num_positions]
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    mujoco.mj_forward(model, data)
    rows = data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
    assert rows.sum() == sum(len(c.impulses) for c in world.constraints)
    assert np.abs(data.efc_pos[rows]).max() < (FOLLOWED if "-0.2" in equality else CLOSED)
    assert np.abs(world.skeleton("a").velocities).max() > 1e-3  # it moves


def test_mocap_bodies_drag_what_is_welded_to_them() -> None:
    bodies = (
        '<body name="m" mocap="true" pos="0 0 1"><geom size="0.1" contype="0"/></body>'
        '<body name="f" pos="0 0 1"><freejoint/><geom size="0.1"/></body>'
    )
    world = mjcf.read(
        f'<mujoco><worldbody>{bodies}</worldbody><equality><weld body1="m" body2="f"/></equality></mujoco>'
    )
    hand, held = world.skeleton("m"), world.skeleton("f")
    hand.move_to(hand.positions + [0, 0, 0, 0.001, 0, 0])
    world.step(1)
    world.step(1)
    np.testing.assert_allclose(held.bodies[0].world_transform, hand.bodies[0].world_transform, atol=1e-6)


LIMITED = """<tendon><fixed name="sum" limited="true" range="-0.2 0.3" frictionloss="{}"><joint joint="h" coef="1"/>
<joint joint="g" coef="-0.5"/></fixed>
<spatial name="rope" limited="true" range="0 0.85"><site site="o"/><site site="s3"/></spatial></tendon>"""


def test_tendons_keep_within_their_limits() -> None:
    text = f"<mujoco><worldbody>{BODIES}</worldbody>{LIMITED.format(0)}</mujoco>"
    world = mjcf.read(text)
    actuators = Actuators.of(world)
    least, longest, sums = np.inf, 0.0, []
    for _ in range(500):
        world.step(1)
        total, rope = actuators.tendon_lengths
        sums.append(total)
        longest = max(longest, rope)
    assert longest == pytest.approx(0.85, abs=REACH)  # it falls into the rope
    least = min(sums)
    assert least > -0.2 - REACH and max(sums) < 0.3 + REACH
    assert least < -0.19 or max(sums) > 0.29  # and meets a limit


def test_clones_have_their_own_limits() -> None:
    """A clone goes on bit for bit, by its own actuators."""
    world = mjcf.read(f"<mujoco><worldbody>{BODIES}</worldbody>{LIMITED.format(1)}</mujoco>")
    world.step(100)
    twin = world.clone()
    for w in (world, twin):
        w.step(150)
    assert np.array_equal(twin.skeleton("f").positions, world.skeleton("f").positions)
    assert Actuators.of(twin) is not Actuators.of(world)


def test_dry_friction_of_a_tendon_holds() -> None:
    """Along its moment, up to its size; where the arm would fall."""
    text = f"<mujoco><worldbody>{BODIES}</worldbody>{LIMITED.format(50)}</mujoco>"
    world = mjcf.read(text)
    actuators = Actuators.of(world)
    start = actuators.tendon_lengths[0]
    world.step(200)
    assert actuators.tendon_lengths[0] == pytest.approx(start, abs=SLIPPED)
    free = mjcf.read(f"<mujoco><worldbody>{BODIES}</worldbody>{TENDONS}</mujoco>")
    free.step(200)
    assert abs(Actuators.of(free).tendon_lengths[0] - start) > 100 * SLIPPED
    constraint = next(c for c in world.constraints if c.name == "sum")
    assert isinstance(constraint, kido.CouplerForces) and constraint.coulomb_friction == 50.0


def test_what_is_left_out_is_said() -> None:
    off = '<connect name="off" body1="b" body2="f" anchor="0 0 0" active="false"/>'
    text = text_of(f'{off}<weld name="w" body1="b" body2="f" solref="0.1 1"/>'
                   '<connect name="c" body1="b" body2="f" anchor="0 0 0" solimp="0.5 0.6 0.01"/>')  # fmt: skip
    warnings = mjcf.read(text).skeletons[0].warnings
    assert any("equalities that are not active are left out: 1 (off)" in w for w in warnings)
    assert any("solref and solimp of equalities are left out: they hold rigidly: 2 (w, c)" in w for w in warnings)


def test_mistakes_of_couplers_with_limits_are_named() -> None:
    arm = kido.load("arm7")
    with pytest.raises(kido.ModelError, match="expected lower_limit <= upper_limit, got 1 and 0"):
        kido.CouplerForces({arm.dofs[0]: 1.0}, 1, 0)
    with pytest.raises(kido.ModelError, match="coulomb_friction: expected a number not below 0"):
        kido.CouplerForces({arm.dofs[0]: 1.0}, coulomb_friction=-1.0)
