"""Worlds that hold loops by constraint embedding: against dense algebra, elimination, conservation, closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import null_space
from scipy.spatial.transform import Rotation

import closed_legs
import kido
from closed_legs import is_embedded, legs_world, set_in_motion
from kido.constraints.row_origins import (
    FROM_CONSTRAINT,
    FROM_CONTACT,
    FROM_FRICTION,
    FROM_LIMIT,
    FROM_SERVO,
    FROM_USER,
)
from kido.solvers.problem import CONTACT

Array = NDArray[np.float64]
H = 1e-3


# -- responses ----------------------------------------------------------------------------------------------


class OnLine(kido.UserConstraint):
    """The sum of two coordinates stays as it is."""

    def __init__(self, skeleton: kido.Skeleton, one: int, two: int):
        super().__init__(skeleton)
        self.pair = [one, two]

    def rows(self) -> Array:
        row = np.zeros(self.skeletons[0].num_dofs)
        row[self.pair] = 1.0
        return row


def middle_of_step(robot: kido.Skeleton, h: float) -> Array:
    """Positions at mid-step: the trunk's origin goes straight, all else turns."""
    half = 0.5 * h * robot.velocities
    half[3:6] = 0.0
    q = robot.integrate_positions(robot.positions, half)
    turned = robot.body("trunk").world_transform[:3, :3]
    q[3:6] = robot.positions[3:6] + turned @ (0.5 * h * robot.velocities[3:6])
    return q


def dense_response(robot: kido.Skeleton, q: Array, h: float) -> Array:
    """P M^-1 of the closed robot, by a basis of the velocities that the loops allow; dampers and springs implicit."""
    twin = robot.clone()
    twin.positions = q
    M = twin.mass_matrix.copy()
    for joint in twin.joints:
        for k, dof in enumerate(joint.dofs):
            M[dof.index, dof.index] += h * (joint.damping[k] + 0.25 * h * joint.spring_stiffness[k])
    N = null_space(closed_legs.loops_jacobian(twin, q))
    assert N.shape[1] == twin.num_dofs - 2 * len(closed_legs.LEGS)
    return N @ np.linalg.solve(N.T @ M @ N, N.T)


def rows_of(world: kido.World, robot: kido.Skeleton, turned: Array) -> list[tuple[int, Array, Array]]:
    """(origin, J, Y) of each row of the last contact problem over a robot's coordinates, in the trunk's own axes.

    In the problem the linear velocity of a free joint is in fixed axes, u = T u_own.
    """
    engine = world.engine
    pr, src = engine.problem, engine.row_origins
    part = engine.skeletons.index(robot)
    first, dofs = int(engine.tree.tree_dof[part]), robot.num_dofs
    T = np.eye(dofs)
    T[3:6, 3:6] = turned
    found = []
    for b in range(pr.num_blocks):
        rows = 3 if pr.kind[b] == CONTACT else 1
        segments = [(pr.dof_a[b], pr.len_a[b], pr.at_a[b]), (pr.dof_b[b], pr.len_b[b], pr.at_b[b])]
        assert pr.more_count[b] == 0
        for r in range(rows):
            J, Y = np.zeros(dofs), np.zeros(dofs)
            for dof, length, at in segments:
                if length and dof == first:
                    assert length == dofs
                    J += pr.J[at + r * dofs : at + (r + 1) * dofs]
                    Y += pr.Y[at + r * dofs : at + (r + 1) * dofs]
            found.append((int(src.origin[b]), J @ T, np.linalg.solve(T, Y)))
    return found


def busy_world(solver: str = "auto") -> tuple[kido.World, kido.Skeleton, list[kido.Constraint]]:
    """Contacts, limits, dry friction, a servo, a spring, a motor and a user's row, all on one robot with loops."""
    world, robot, loops = legs_world(solver=solver, damping=0.3)
    joint = {j.name: j for j in robot.joints}
    joint["fl_fore_knee"].spring_stiffness = 20.0
    joint["fr_back_hip"].coulomb_friction = 0.5
    joint["fr_fore_knee"].coulomb_friction = 0.5
    joint["hl_fore_hip"].actuator_type = kido.ActuatorType.SERVO
    joint["hl_fore_hip"].force_limit = 5.0
    joint["hl_back_knee"].actuator_type = kido.ActuatorType.SERVO
    joint["hl_back_knee"].force_limit = 5.0
    q = robot.positions.copy()
    q[:3] = 0.02, -0.01, 0.3
    q[5] -= 0.004
    robot.positions = q
    for name, k in (("fr_back_knee", 1.0), ("hr_fore_hip", 1.0)):
        at = float(joint[name].positions[0])
        joint[name].position_lower_limit = at - 1e-4 * k
    allowed = null_space(closed_legs.loops_jacobian(robot, q))
    robot.velocities = 0.3 * allowed @ np.random.default_rng(3).normal(size=allowed.shape[1])
    bodies = [robot.body(f"{leg}_fore_shank") for leg in ("fl", "hr")]
    world.add_constraint(kido.DistanceConstraint(*bodies, stiffness=300.0, damping=2.0, name="spring between legs"))
    world.add_constraint(kido.DistanceConstraint(None, bodies[0], stiffness=100.0, name="spring to the world"))
    turn = {"target_velocity": 1.0, "motor_force": 2.0, "name": "motor", "axis": closed_legs.Y}
    world.add_constraint(kido.AngleConstraint(robot.body("hr_back_thigh"), robot.body("hr_back_shank"), **turn))
    index = {dof.name: dof.index for dof in robot.dofs}
    world.add_constraint(OnLine(robot, index["fl_fore_hip"], index["hr_back_knee"]))
    return world, robot, loops


def test_responses_of_all_rows_are_those_of_dense_algebra():
    world, robot, _ = busy_world()
    assert world.close_constraints() < 1e-12
    q = middle_of_step(robot, H)
    response = dense_response(robot, q, H)
    turned = Rotation.from_rotvec(q[:3]).as_matrix()
    world.step(1)
    assert is_embedded(world)
    rows = rows_of(world, robot, turned)
    origins = [origin for origin, _, _ in rows]
    counts = {o: origins.count(o) for o in set(origins)}
    assert counts.pop(FROM_CONTACT) >= 3
    assert counts == {FROM_LIMIT: 2, FROM_FRICTION: 2, FROM_SERVO: 2, FROM_CONSTRAINT: 3, FROM_USER: 1}
    for origin, J, Y in rows:
        truth = response @ J
        assert np.abs(J).max() > 0.05, origin
        assert np.abs(Y - truth).max() <= 1e-11 * np.abs(truth).max(), origin


# -- motion -------------------------------------------------------------------------------------------------


def flight(time_step: float, steps: int, solver: str = "auto") -> tuple[kido.World, kido.Skeleton, Array, float]:
    """The robot tumbles without gravity, legs in quick motion; its momentum and energy at the start."""
    world, robot, _ = legs_world(time_step, ground=False, gravity=(0.0, 0.0, 0.0), solver=solver)
    set_in_motion(world, robot, seed=1, size=5.0)
    momentum, energy = robot.momentum_about((0.0, 0.0, 0.0)), world.kinetic_energy
    world.step(steps)
    assert is_embedded(world) == (solver != "TA")
    return world, robot, momentum, energy


def state(robot: kido.Skeleton) -> Array:
    return np.concatenate([robot.positions, robot.velocities])


@pytest.mark.parametrize("duration", [0.0, 0.2])
def test_steps_approach_those_of_elimination_faster_than_either_approaches_the_motion(duration):
    """After one step, and after 0.2 s: the difference falls by eight with half the step, so below h^2 it is."""
    apart = []
    for h in (2e-3, 1e-3, 5e-4):
        steps = max(round(duration / h), 1)
        ends = [state(flight(h, steps, solver)[1]) for solver in ("CE", "TA")]
        apart.append(np.abs(ends[0] - ends[1]).max())
    if duration == 0.0:  # rounding and what is left of |phi| are what remains
        assert max(apart) < 1e-9
    else:
        assert apart[-1] > 1e-7 and apart[0] < 1e-4
        assert apart[0] > 6.0 * apart[1] > 36.0 * apart[2]


def test_motion_is_of_second_order_with_loops_closed():
    ends, energies, momenta = [], [], []
    for h in (2e-3, 1e-3, 5e-4):
        world, robot, momentum, energy = flight(h, round(0.2 / h))
        report = world.constraint_report
        assert report.worst_closure < 1e-12 and report.worst_velocity_error < 1e-13
        ends.append(state(robot))
        assert np.abs(closed_legs.loops_jacobian(robot, robot.positions) @ robot.velocities).max() < 1e-10
        energies.append(abs(world.kinetic_energy / energy - 1.0))
        momenta.append(np.abs(robot.momentum_about((0.0, 0.0, 0.0)) - momentum).max() / np.abs(momentum).max())
    first, second = np.abs(ends[0] - ends[1]).max(), np.abs(ends[1] - ends[2]).max()
    assert np.log2(first / second) == pytest.approx(2.0, abs=0.1)
    for errors in (energies, momenta):
        assert errors[0] < 5e-5
        assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)
        assert np.log2(errors[1] / errors[2]) == pytest.approx(2.0, abs=0.1)


def test_motors_of_legs_give_the_robot_no_momentum():
    """From rest and afloat: what momentum the steps' errors leave is of second order, and that of elimination."""
    found = {}
    for solver in ("CE", "TA"):
        for h in (1e-3, 5e-4):
            world, robot, _ = legs_world(h, ground=False, gravity=(0.0, 0.0, 0.0), solver=solver)
            driven, forces = closed_legs.hips(robot), np.zeros(robot.num_dofs)
            forces[driven] = 2.0
            for _ in range(round(0.02 / h)):
                robot.forces = forces
                world.step(1)
            assert np.abs(robot.velocities[driven]).max() > 5.0
            found[solver, h] = np.abs(robot.momentum_about((0.0, 0.0, 0.0))).max()
    assert found["CE", 1e-3] < 2e-4
    assert found["CE", 1e-3] / found["CE", 5e-4] == pytest.approx(4.0, rel=0.02)
    assert found["CE", 1e-3] == pytest.approx(found["TA", 1e-3], rel=1e-3)


def test_an_impact_is_that_of_elimination():
    """Dropped askew with moving legs: contacts begin and end, joints reach limits."""
    ends = []
    for solver in ("CE", "TA"):
        world, robot, _ = legs_world(solver=solver)
        closed_legs.held_by_springs(robot)
        set_in_motion(world, robot, seed=2, size=0.5)
        for joint in robot.joints:
            if joint.name.endswith("hip"):
                joint.position_lower_limit = joint.positions - 0.15
        touching = 0
        for _ in range(20):
            world.step(10)
            touching = max(touching, len(world.contacts))
        assert touching >= 2 and world.report.converged
        ends.append(state(robot))
    assert np.abs(ends[0] - ends[1]).max() < 1e-5


# -- forces -------------------------------------------------------------------------------------------------


def test_reactions_at_rest_are_those_of_statics():
    """Constraint forces and springs balance gravity in every coordinate; a foot's pin carries what its shank does not.

    The wrench on the back shank, with the forces at its knee, balances its weight: its knee is passive, so that the
    moment of the pin's force and of its weight about the knee is zero.
    """
    world, robot, loops = legs_world()
    closed_legs.held_by_springs(robot)
    world.step(4000)
    assert np.abs(robot.velocities).max() < 1e-5
    close = 1e-4 * 9.81 * robot.mass  # forces of a step are of second order in h
    rest = np.zeros(robot.num_dofs)
    needed = robot.inverse_dynamics(robot.positions, rest, rest)
    assert robot.constraint_forces + robot.spring_forces == pytest.approx(needed, abs=close)
    assert world.contacts.forces[:, 2].sum() == pytest.approx(9.81 * robot.mass, rel=1e-4)
    for leg, loop in zip(closed_legs.LEGS, loops, strict=True):
        shank, wrench = robot.body(f"{leg}_back_shank"), loop.wrench()
        assert loop.body_b is shank and np.linalg.norm(wrench[3:]) > 5.0
        R = shank.world_transform[:3, :3]
        weight = shank.inertia.mass * np.array([0.0, 0.0, -9.81])
        moment = np.cross(R @ shank.inertia.com, weight) + np.cross(R @ [0.0, 0.0, -closed_legs.SHANK], wrench[3:])
        assert wrench[:3] == pytest.approx([0, 0, 0], abs=1e-12) and moment[1] == pytest.approx(0.0, abs=1e-4)


def test_reactions_in_motion_are_those_of_elimination_and_of_inverse_dynamics():
    found = {}
    for solver in ("CE", "TA"):
        world, robot, loops = legs_world(1e-4, ground=False, solver=solver)
        closed_legs.held_by_springs(robot)
        set_in_motion(world, robot, seed=4, size=2.0)
        world.step(1)
        found[solver] = [np.concatenate([loop.wrench()[3:] for loop in loops]), robot.constraint_forces]
        # u_new - u over h, at mid-step: what moves it, besides the loops, are springs and gravity.
    for one, other in zip(found["CE"], found["TA"], strict=True):
        assert np.abs(one).max() > 0.5
        assert one == pytest.approx(other, abs=1e-7 * np.abs(other).max())
    world, robot, loops = legs_world(1e-4, ground=False)
    set_in_motion(world, robot, seed=4, size=2.0)
    q, before = robot.positions, robot.velocities
    world.step(1)
    middle, mean = robot.clone(), 0.5 * (before + robot.velocities)
    middle.positions = robot.integrate_positions(q, 0.5e-4 * before)
    needed = middle.inverse_dynamics(middle.positions, mean, (robot.velocities - before) / 1e-4)
    assert robot.constraint_forces == pytest.approx(needed, abs=2e-3 * np.abs(needed).max())
    assert np.abs(robot.constraint_forces[:6]).max() < 1e-9 * np.abs(needed).max()


def test_loops_act_on_nothing_outside_of_them():
    """A tail on the trunk, in motion: the loops' generalized forces vanish there and on the trunk's joint."""
    robot, loops = closed_legs.quadruped(feet="")
    tail = robot.add_body(
        "tail",
        kido.BallJoint("tail", transform_from_parent=closed_legs.at(-0.25, 0, 0)),
        robot.body("trunk"),
        kido.Inertia.from_diagonal(0.5, (0.01, 0.01, 0.01), (-0.2, 0.0, 0.0)),
    )
    world = kido.World(gravity=(0.0, 0.0, -9.81))
    world.add_skeleton(robot)
    for loop in loops:
        world.add_constraint(loop)
    u = robot.velocities.copy()
    u[-3:] = 3.0, -2.0, 5.0
    u[:3] = 1.0, 2.0, -1.0
    robot.velocities = u
    world.step(50)
    assert is_embedded(world)
    forces = robot.constraint_forces
    inside = np.ones(robot.num_dofs, bool)
    inside[[dof.index for dof in (*robot.joint("root").dofs, *tail.parent_joint.dofs)]] = False
    assert np.abs(forces[inside]).max() > 1e-2
    assert np.abs(forces[~inside]).max() < 1e-10


@pytest.mark.parametrize("solver", ["CE", "TA"])
def test_a_loop_breaks_by_its_load_and_the_others_hold(solver):
    world, robot, loops = legs_world(solver=solver)
    closed_legs.held_by_springs(robot)
    world.step(500)
    load = np.linalg.norm(loops[2].wrench()[3:])
    world.remove_constraint(loops[2])
    ends = loops[2].body_a, loops[2].body_b
    at = loops[2].body_a.world_transform @ loops[2].frame_a
    weak = kido.BallJointConstraint(*ends, at=at[:3, 3], breaking_force=1.2 * load, name="weak")
    world.add_constraint(weak)
    world.step(200)
    assert is_embedded(world) == (solver == "CE") and world.constraint_report.broken == []
    world.push(robot.body("trunk"), force=(0.0, 0.0, -150.0), duration=0.05)
    world.step(50)
    assert weak.is_broken and world.constraint_report.broken == ["weak"]
    world.step(300)
    gaps = np.linalg.norm(closed_legs.foot_gaps(robot.positions), axis=1)
    assert gaps[2] > 1e-2 and np.delete(gaps, 2).max() < 1e-12
    assert (weak.wrench() == 0.0).all() and np.linalg.norm(loops[0].wrench()) > 1.0
