"""Rotor inertia (armature) in worlds and integrations: periods, energy, impacts, loops, shortcuts of free bodies."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

import closed_legs
import kido
from closed_legs import legs_world, set_in_motion
from kido import models
from kido.integrators import RK4, DormandPrince, Integrator, MoreauMidpoint, Variational, simulate
from scenes import G
from trees import random_skeleton, random_state

LENGTH, MASS, ROTOR = 0.7, 1.3, 0.9


def pendulum(angle: float) -> kido.Skeleton:
    """A point mass on a hinge along y that drives a rotor as heavy as itself."""
    made = kido.Skeleton("pendulum")
    rod = kido.RevoluteJoint("hinge", axis=(0, 1, 0), armature=ROTOR, initial_position=angle)
    made.add_body("bob", rod, inertia=kido.Inertia.from_diagonal(MASS, (1e-9, 1e-9, 1e-9), (0, 0, -LENGTH)))
    return made


def world_of(*skeletons: kido.Skeleton, time_step: float = 1e-3, gravity: float = G) -> kido.World:
    world = kido.World(time_step=time_step)
    world.gravity = (0.0, 0.0, -gravity)
    for skeleton in skeletons:
        world.add_skeleton(skeleton)
    return world


def humanoid(armature: float) -> kido.Skeleton:
    """With rotors at all joints but the free one."""
    robot = kido.load(models.path("humanoid"))
    robot.self_collision = False
    for dof in robot.dofs[6:]:
        dof.armature = armature
    return robot


def quarter(angle: float) -> float:
    """K(k) sqrt(I / (m g l)), k = sin(angle / 2): time from rest to the lowest point."""
    slow = np.sqrt((MASS * LENGTH**2 + ROTOR) / (MASS * G * LENGTH))
    return float(slow * scipy.special.ellipk(np.sin(0.5 * angle) ** 2))


# Motion ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("angle", [0.01, 2.5])
def test_period_of_a_pendulum(angle: float) -> None:
    """Third passage of the lowest point, 5/4 of the period after the start; the rule is of second order, h = 1e-3."""
    robot = pendulum(angle)
    world = world_of(robot)
    passages, before = [], angle
    while len(passages) < 3:
        world.step()
        now = float(robot.positions[0])
        if before * now < 0.0:
            passages.append(world.time - world.time_step * now / (now - before))
        before = now
    assert passages[2] == pytest.approx(5.0 * quarter(angle), rel=2e-6)


@pytest.mark.parametrize("integrator", [MoreauMidpoint(), RK4(), Variational()], ids=repr)
def test_energy_of_a_pendulum(integrator: Integrator) -> None:
    robot = pendulum(2.5)
    world = world_of(robot, time_step=2e-3)
    world.integrator = integrator
    start, worst = world.total_energy, 0.0
    for _ in range(40):
        world.step(100)
        worst = max(worst, abs(world.total_energy - start))
    # Midpoint and variational: bounded, of second order in h / quarter (1e-6); RK4: of fourth order, in 8 s.
    assert worst < 2e-5 * MASS * G * LENGTH


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("order", [2, 4])
def test_integrators_approach_the_same_motion(seed: int, order: int) -> None:
    """A random tree with rotors on half of the coordinates: midpoint and variational against Dormand-Prince."""
    kinds = ("revolute", "prismatic", "universal", "euler", "ball", "planar", "screw")
    robot = random_skeleton(seed, 5, kinds, masses=(0.5, 5.0))
    rng = np.random.default_rng(seed)
    for joint in robot.joints:  # the same along all axes: rotors of ball joints have no gyroscopic part
        joint.armature = rng.uniform(0.5, 1.0)
    q, u, *_ = random_state(robot, seed)
    robot.positions, robot.velocities = 0.3 * q, 0.5 * u
    truth = simulate(robot, DormandPrince(rtol=1e-11, atol=1e-12), 0.2, time_step=0.1)
    expected, errors = truth.velocities[-1].copy(), []
    method = Variational() if order == 2 else RK4()
    for steps in (50, 100):
        robot.positions, robot.velocities = 0.3 * q, 0.5 * u
        found = simulate(robot, method, 0.2, time_step=0.2 / steps)
        errors.append(np.abs(found.velocities[-1] - expected).max())
    assert errors[0] < 1e-2 * np.abs(expected).max()
    assert errors[1] < errors[0] / 2 ** (order - 0.3) or errors[1] < 1e-10


def test_floating_robot_keeps_momentum_and_energy() -> None:
    """Rotors within a robot take no momentum; what its joints do keeps the energy, rotors' included."""
    robot = humanoid(0.1)
    world = world_of(robot, gravity=0.0)
    rng = np.random.default_rng(1)
    for dof in robot.dofs[6:]:
        dof.position_lower_limit, dof.position_upper_limit, dof.damping = -np.inf, np.inf, 0.0
    robot.positions = np.concatenate([[0, 0, 0, 0, 0, 5.0], rng.uniform(-0.1, 0.1, robot.num_dofs - 6)])
    robot.velocities = rng.uniform(-1.0, 1.0, robot.num_dofs)
    momentum, energy = robot.momentum.copy(), robot.kinetic_energy
    world.step(200)
    assert np.abs(robot.momentum - momentum).max() < 1e-10 * np.abs(momentum).max()
    assert robot.kinetic_energy == pytest.approx(energy, rel=1e-5)


@pytest.mark.parametrize("armature", [0.0, 0.8])
def test_free_body_with_rotors_is_none(armature: float) -> None:
    """A rotor on the free joint of a box, equal along all axes, is mass and inertia that gravity does not pull.

    Truth: m vdot = -m g with m + a in place of m on the left, and I + a about the centre of mass.
    """
    box = kido.Skeleton("box")
    moments = np.array([0.4, 0.5, 0.6])
    body = box.add_body(
        "box", kido.FreeJoint("free", armature=armature), inertia=kido.Inertia.from_diagonal(2.0, moments)
    )
    body.add_shape(kido.Box((0.2, 0.2, 0.2)))
    box.positions, box.velocities = [0, 0, 0, 0, 0, 3.0], [0, 0, 2.0, 0.3, 0, 0]
    world = world_of(box)
    box.forces = [0, 0, 0.7, 0, 0, 0]
    world.step()
    assert box.velocities[5] == pytest.approx(-1e-3 * 2.0 * G / (2.0 + armature), rel=1e-12)
    assert box.velocities[2] - 2.0 == pytest.approx(1e-3 * 0.7 / (0.6 + armature), rel=1e-9)
    free = world.engine.responses.container.free[0]
    assert (free == 0) == (armature > 0.0)
    world.step(300)
    assert np.isfinite(box.positions).all()


def test_box_with_rotors_lands() -> None:
    box = kido.Skeleton("box")
    inertia = kido.Inertia.from_shape(kido.Box((0.2, 0.2, 0.2)), mass=1.0)
    joint = kido.FreeJoint("free", armature=0.5)
    box.add_body("box", joint, inertia=inertia).add_shape(kido.Box((0.2, 0.2, 0.2)))
    box.positions = [0, 0, 0, 0, 0, 0.105]
    world = world_of(box)
    world.add_ground()
    world.step(500)
    assert box.positions[5] == pytest.approx(0.1, abs=1e-5)
    assert np.abs(box.velocities).max() < 1e-6
    assert box.constraint_forces[5] == pytest.approx(1.0 * G, rel=1e-6)


# Contact ---------------------------------------------------------------------------------------------------


ROTORS = pytest.mark.parametrize("rotors", [(0.0, 0.0), (0.4, 0.0), (0.3, 0.05)])
TIP = np.array([0.4, 0.0, 0.0])


def arm_above_ground(rotors: tuple[float, float], restitution: float, gap: float) -> tuple[kido.World, kido.Skeleton]:
    """Two links whose tip, a ball without friction, is `gap` above the ground and falls; steps of 1e-6 s."""
    arm = kido.Skeleton("arm")
    inertia = kido.Inertia.from_diagonal(1.0, (0.02, 0.02, 0.002), (0.2, 0, 0))
    X = np.eye(4)
    X[2, 3] = 0.5
    upper = arm.add_body(
        "upper", kido.RevoluteJoint("q1", (0, 1, 0), transform_from_parent=X, armature=rotors[0]), inertia=inertia
    )
    Y = np.eye(4)
    Y[0, 3] = 0.4
    lower = arm.add_body(
        "lower", kido.RevoluteJoint("q2", (0, 1, 0), transform_from_parent=Y, armature=rotors[1]), upper, inertia
    )
    tip = np.eye(4)
    tip[:3, 3] = TIP
    lower.add_shape(kido.Sphere(0.03), tip, friction=0.0, restitution=restitution)
    q2 = scipy.optimize.brentq(lambda x: 0.5 - 0.4 * np.sin(0.3) - 0.4 * np.sin(0.3 + x) - 0.03 - gap, 0.0, 1.2)
    arm.positions, arm.velocities = [0.3, q2], [1.0, 2.0]
    world = world_of(arm, time_step=1e-6, gravity=0.0)
    world.add_ground(friction=0.0, restitution=1.0)
    return world, arm


@ROTORS
@pytest.mark.parametrize("restitution", [0.5, 1.0])
def test_impact_of_two_links(rotors: tuple[float, float], restitution: float) -> None:
    """u+ = u- + M^-1 J^T p with p from n . J u+ = -e n . J u-, by dense algebra."""
    world, arm = arm_above_ground(rotors, restitution, 3e-7)
    before = arm.velocities.copy()
    J = arm.jacobian(arm.body("lower"), TIP)[5:6]
    assert (J @ before)[0] < -0.5
    M = arm.mass_matrix.copy()
    world.step(4)
    response = np.linalg.solve(M, J[0])
    impulse = -(1.0 + restitution) * (J[0] @ before) / (J[0] @ response)
    assert np.abs(arm.velocities - (before + response * impulse)).max() < 1e-4


@ROTORS
@pytest.mark.parametrize("gap", [-2e-6, 0.0, 1e-6, 1.9e-6])
def test_impact_of_two_links_that_stay(rotors: tuple[float, float], gap: float) -> None:
    """Without rebound u+ = u- + M^-1 J^T p too, where n . J u+ is what closes the gap of mid-step.

    Of a distance within `skin`, on either side, that is 5 % in a step, of a gap beyond it all. In steps of 1e-6 s that
    is up to 0.05 m/s and more: so much u+ differs from that of n . J u+ = 0.
    """
    world, arm = arm_above_ground(rotors, 0.0, gap)
    before = arm.velocities.copy()
    J, M = arm.jacobian(arm.body("lower"), TIP)[5], arm.mass_matrix.copy()
    world.step()
    left, skin = gap + 0.5e-6 * float(J @ before), world.engine.row_origins.skin
    wanted = -(0.05 * np.clip(left, -skin, skin) + max(left - skin, 0.0)) / 1e-6
    assert J @ before < wanted - 0.3
    response = np.linalg.solve(M, J)
    impulse = (wanted - J @ before) / (J @ response)
    assert np.abs(arm.velocities - (before + response * impulse)).max() < 1e-4


def test_newton_along_the_tree_has_rotors() -> None:
    """Steps of a standing robot with heavy rotors equal those without that method."""
    robot = humanoid(1.5)
    world = world_of(robot)
    world.add_ground(friction=0.8)
    problem = world.engine.problem
    method = problem.tree_newton
    for _ in range(6):
        world.step(60)
        snapshot = world.snapshot()
        problem.tree_newton = None
        world.step()
        expected = robot.velocities.copy()
        problem.tree_newton = method
        world.restore(snapshot)
        world.step()
        assert np.abs(robot.velocities - expected).max() < 1e-7


# Loops -----------------------------------------------------------------------------------------------------


def rotors_of_legs(robot: kido.Skeleton) -> None:
    for k, dof in enumerate(robot.dofs[6:]):
        dof.armature = 0.002 * (1 + k % 3)


def test_compounds_and_elimination() -> None:
    """Legs with rotors that drop and land: aggregates and eliminated rows move them alike."""
    ends = []
    for solver in ("CE", "TA"):
        world, robot, _ = legs_world(solver=solver)
        rotors_of_legs(robot)
        closed_legs.held_by_springs(robot)
        set_in_motion(world, robot, seed=2, size=0.5)
        touching = 0
        for _ in range(20):
            world.step(10)
            touching = max(touching, len(world.contacts))
        assert touching >= 2
        ends.append(np.concatenate([robot.positions, robot.velocities]))
    assert np.abs(ends[0] - ends[1]).max() < 1e-5


@pytest.mark.parametrize("solver", ["CE", "TA"])
def test_reactions_of_loops_are_those_of_inverse_dynamics(solver: str) -> None:
    """In flight, G^T lambda is what the equations of motion with M + J_a lack, to the first order of a step."""
    world, robot, _ = legs_world(solver=solver, time_step=1e-5, ground=False)
    rotors_of_legs(robot)
    set_in_motion(world, robot, seed=1, size=0.5)
    world.step(2)
    q, u = robot.positions.copy(), robot.velocities.copy()
    world.step()
    udot = (robot.velocities - u) / 1e-5
    lacking = robot.inverse_dynamics(q, u, udot)
    scale = np.abs(robot.constraint_forces).max()
    assert np.abs(robot.constraint_forces - lacking)[6:].max() < 2e-3 * scale


# Others ----------------------------------------------------------------------------------------------------


def test_drives_feel_their_rotors() -> None:
    """The force of a coordinate whose acceleration is prescribed has J_a udot in it."""
    robot = pendulum(0.0)
    robot.joint("hinge").actuator_types = ["ACCELERATION"]
    world = world_of(robot, gravity=0.0)
    robot.commands = [3.0]
    world.step()
    assert robot.actuator_forces[0] == pytest.approx(3.0 * (MASS * LENGTH**2 + ROTOR), rel=1e-6)


def test_follower_has_a_rotor_of_its_own() -> None:
    """q2 = -2 q1 by a mimic: both feel (I1 + a1) + 4 (I2 + a2)."""
    geared = kido.Skeleton("geared")
    wheel = kido.Inertia.from_diagonal(1.0, (0.1, 0.1, 0.1))
    geared.add_body("one", kido.RevoluteJoint("one", (0, 0, 1), armature=0.3), inertia=wheel)
    follower = kido.RevoluteJoint("two", (0, 0, 1), armature=0.2, mimic=kido.Mimic("one", multiplier=-2.0))
    geared.add_body("two", follower, inertia=wheel)
    world = world_of(geared)
    geared.forces = [1.0, 0.0]
    world.step()
    assert geared.velocities[0] == pytest.approx(1e-3 / (0.4 + 4.0 * 0.3), rel=1e-9)
    assert geared.velocities[1] == pytest.approx(-2.0 * geared.velocities[0], rel=1e-9)


def test_rotor_may_change_between_steps() -> None:
    robot = pendulum(0.0)
    world = world_of(robot, gravity=0.0)
    for armature in (0.0, 2.0):
        robot.joint("hinge").armature = armature
        robot.velocities = [0.0]
        robot.forces = [1.0]
        world.step()
        assert robot.velocities[0] == pytest.approx(1e-3 / (MASS * LENGTH**2 + armature), rel=1e-6)


def test_soft_body_on_a_rotor() -> None:
    """A stiff skin on a hinge that drives a rotor turns as the rigid body of the same mass does."""
    ends = []
    for points in ("frozen", "stiff"):
        made = kido.Skeleton(points)
        joint = kido.RevoluteJoint("hinge", axis=(0, 1, 0), armature=ROTOR, initial_position=0.4)
        inertia = kido.Inertia.from_diagonal(MASS, (0.01, 0.01, 0.01), (0, 0, -LENGTH))
        options = {"inertia": inertia, "total_mass": 0.2, "kv": 1e5, "kd": 5.0}
        body = made.add_soft_body("box", kido.SoftMesh.box((0.2, 0.2, 0.2)), joint, **options)
        if points == "frozen":
            body.freeze()
        world = world_of(made)
        world.step(400)
        ends.append(float(made.positions[0]))
    assert ends[1] == pytest.approx(ends[0], abs=1e-4)
    assert abs(ends[0] - 0.4) > 0.1
