"""Loops and constraints in worlds with flexible bodies: orders, trees of joints as truth, statics, contact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_flexible_loop_motion import TIGHT, energy, moved, moving_four_bar

import kido
from kido.flexible import FlexibleBody, Material, Section, beam_modes

ALUMINIUM = Material(7e10, 2700.0)


def beam(**options: Any) -> Any:
    given = {"bending_y": 2, "bending_z": 2, **options}
    return beam_modes(1.0, Section.rectangle(0.03, 0.006), ALUMINIUM, **given)


def world_of(*skeletons: kido.Skeleton, constraints: Any = (), **options: Any) -> kido.World:
    world = kido.World(**options)
    for skeleton in skeletons:
        world.add_skeleton(skeleton)
    for constraint in constraints:
        world.add_constraint(constraint)
    return world


def test_a_four_bar_moves_as_by_the_loop_solver() -> None:
    """To second order in the step, with its energy; the joint stays closed."""
    truth = moved(TIGHT, time_step=0.02)[0]
    errors, energies = [], []
    for h in (5e-5, 2.5e-5):
        s, constraints = moving_four_bar()
        before = energy(s)
        world = world_of(s, constraints=constraints, time_step=h)
        world.step(round(0.02 / h))
        errors.append(
            [np.abs(x[-1] - y).max() for x, y in ((truth.positions, s.positions), (truth.velocities, s.velocities))]
        )
        energies.append(abs(energy(s) - before))
        assert world.constraint_report.worst_closure < 1e-9
    ratios = np.divide(*errors)
    assert ratios.min() > 3.3 and ratios.max() < 4.7
    assert energies[1] < 0.35 * energies[0] < 0.35 * 1e-3 * before


def test_a_weld_to_a_node_is_a_joint_that_is_welded() -> None:
    """A load on the tip, as a body of the tree and as a skeleton of its own: the same to second order."""
    load = kido.Inertia(0.4, (0.05, 0.02, 0.0), moment=np.diag([0.002, 0.003, 0.004]))
    errors = []
    for h in (4e-4, 2e-4):
        ends = []
        for joined in (True, False):
            s = kido.Skeleton("arm")
            upper = FlexibleBody(s.add_body("upper", kido.RevoluteJoint("shoulder", axis=(0, 1, 0))), beam())
            tip, skeletons, constraints = upper.node("tip"), [s], []
            if joined:
                s.add_body("load", kido.WeldJoint(), tip, load)
            else:
                other = kido.Skeleton("load")
                body = other.add_body("load", kido.FreeJoint(), None, load)
                other.positions = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
                skeletons, constraints = [s, other], [kido.WeldJointConstraint(tip, body)]
            world = world_of(*skeletons, constraints=constraints, time_step=h)
            world.step(round(0.2 / h))
            ends.append(np.array(s.positions))
            if not joined:
                assert np.abs(tip.world_transform - body.world_transform).max() < 1e-9
        errors.append(np.abs(ends[0] - ends[1]).max())
    assert np.abs(ends[0]).max() > 0.1
    assert errors[0] < 1e-4 and errors[1] < 0.35 * errors[0]


def test_a_propped_cantilever_hangs_on_its_prop() -> None:
    """A clamped beam whose tip is held at its height: at rest K eta is what the weight and the prop's force ask for."""
    s = kido.Skeleton("beam")
    body = FlexibleBody(s.add_body("beam", kido.WeldJoint()), beam(damping_ratio=0.7))
    prop = kido.PointOnPlaneConstraint(None, body.node("tip"), axis=(0.0, 0.0, 1.0))
    world = world_of(s, constraints=[prop], time_step=1e-3)
    world.step(2000)
    assert np.abs(s.velocities).max() < 1e-9
    force = prop.wrench()[3:]
    J = s.jacobian(body.node("tip"))[3:]
    stiffness = np.array([dof.spring_stiffness for dof in s.dofs])
    wanted = J.T @ force - s.gravity_forces
    assert np.allclose(stiffness * s.positions, wanted, atol=1e-8 * np.abs(wanted).max())
    assert abs(body.node("tip").world_transform[2, 3]) < 1e-9
    assert abs(force[2] / (9.81 * s.mass) - 3.0 / 8.0) < 0.01  # of an endless series of modes


def test_springs_and_gears_act_on_flexible_bodies() -> None:
    """Blocks of the contact problem, and rows of coordinates: a gear of two hinges with a beam between them."""
    s = kido.Skeleton("arm")
    upper = FlexibleBody(s.add_body("upper", kido.RevoluteJoint("shoulder", axis=(0, 1, 0))), beam(damping_ratio=0.02))
    tip = upper.node("tip")
    s.add_body("fore", kido.RevoluteJoint("elbow", axis=(0, 1, 0)), tip, kido.Inertia(0.2, (0.1, 0, 0)))
    gear = kido.GearConstraint(s.dof("elbow"), s.dof("shoulder"), -2.0)
    world = world_of(s, constraints=[gear], time_step=5e-4)
    before = energy(s)
    world.step(200)
    q, u = s.positions, s.velocities
    elbow, shoulder = s.dof("elbow").index, s.dof("shoulder").index
    assert abs(q[shoulder]) > 0.05
    assert abs(q[elbow] + 2.0 * q[shoulder]) < 1e-10
    assert abs(u[elbow] + 2.0 * u[shoulder]) < 1e-9
    assert energy(s) < before + 1e-4


def test_a_closed_flexible_frame_lands_on_the_ground() -> None:
    """Two beams side by side whose tips a ball ties: contacts and rows together keep it closed, energy goes down."""
    s = kido.Skeleton("frame")
    base = s.add_body("base", kido.FreeJoint("base"), None, kido.Inertia(0.5, moment=0.01 * np.eye(3)))
    tips = []
    for k, y in enumerate((-0.1, 0.1)):
        joint = kido.BallJoint(f"joint{k}", transform_from_parent=(0.0, y, 0.0))
        flexible = FlexibleBody(s.add_body(f"beam{k}", joint, base), beam(damping_ratio=0.02))
        foot = kido.Inertia(0.2, moment=1e-4 * np.eye(3))
        tips.append(s.add_body(f"foot{k}", kido.WeldJoint(), flexible.node("tip"), foot))
        tips[-1].add_shape(kido.Sphere(0.04), friction=0.5)
    base.add_shape(kido.Sphere(0.04), friction=0.5)
    floor = kido.Skeleton("floor")
    floor.mobile = False
    floor.add_body("floor", kido.WeldJoint()).add_shape(kido.Plane())
    tie = kido.BallJointConstraint(tips[0], tips[1])
    world = world_of(s, floor, constraints=[tie], time_step=1e-3)
    q = np.array(s.positions)
    q[5] = 0.2
    s.positions = q
    before = energy(s)
    energies = [before]
    for _ in range(15):
        world.step(100)
        energies.append(energy(s))
        assert world.constraint_report.worst_closure < 1e-8
    assert len(world.contacts.forces) >= 2
    assert max(np.diff(energies)) < 1e-3 * before and energies[-1] < 0.7 * before
    assert world.totals.max_penetration < 5e-3


def test_constraints_break() -> None:
    s = kido.Skeleton("beam")
    body = FlexibleBody(s.add_body("beam", kido.RevoluteJoint(axis=(0, 1, 0))), beam())
    tie = kido.BallJointConstraint(None, body.node("tip"), breaking_force=1.0)
    world = world_of(s, constraints=[tie], time_step=1e-3)
    world.step(20)
    assert tie.is_broken
    world.step(20)
    assert abs(s.velocities[0]) > 0.05


def test_derivatives_with_loops_are_refused_by_name() -> None:
    s, constraints = moving_four_bar()
    world = world_of(s, constraints=constraints)
    with pytest.raises(kido.ModelError, match="not with closed loops and constraints"):
        world.step_derivatives()
