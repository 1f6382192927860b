"""Articulated bodies in contact: robots that fall and come to rest, joint limits, joint friction."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kido
import scenes
from kido import models
from scenes import G


def fall(robot: kido.Skeleton, seconds: float, self_collision: bool, excluded=(), height=None) -> kido.World:
    """Drop a robot on the ground, checking every step's energy and every tenth's state."""
    world = kido.World()
    world.add_ground()
    world.add_skeleton(robot)
    robot.self_collision = self_collision
    for a, b in excluded:
        world.set_collision_filter(robot.body(a), robot.body(b))
    if height is not None:
        positions = robot.positions.copy()
        positions[5] = height
        robot.positions = positions
    start = energy = world.total_energy
    fastest = 0.0
    for _ in range(int(seconds * 100)):
        world.step(10)
        assert np.isfinite(robot.positions).all() and np.isfinite(robot.velocities).all()
        fastest = max(fastest, *(float(np.linalg.norm(b.linear_velocity())) for b in robot.bodies))
        # A joint's position correction lifts what penetrates by a share of its depth; nothing else adds energy.
        assert world.total_energy < energy + 1e-3 * start
        energy = world.total_energy
    # Twice the fastest origin stands for the fastest point of a shape.
    assert world.totals.max_penetration < 2e-3 * fastest
    assert world.report.max_penetration < 1e-4
    assert world.totals.residual < 1e-2
    return world


def weight_on_ground(world: kido.World, robot: kido.Skeleton) -> float:
    """Share of a robot's weight that the ground carries."""
    force = 0.0
    for contact in world.contacts:
        if contact.body_a.skeleton is not robot:
            force += contact.force[2]
        elif contact.body_b.skeleton is not robot:
            force -= contact.force[2]
    return force / (robot.mass * G)


@pytest.mark.parametrize("self_collision", [False, True])
@pytest.mark.parametrize("name", ["humanoid", "quadruped"])
def test_a_robot_falls_and_rests(name, self_collision):
    robot = kido.load(models.path(name))
    world = fall(robot, 6.0, self_collision)
    assert weight_on_ground(world, robot) == pytest.approx(1.0, abs=0.02)
    assert world.kinetic_energy < 0.02 * robot.mass  # 0.2 m/s


# Hulls of Atlas's meshes that overlap at zero, by up to 8 cm.
OVERLAPPING = [
    ("pelvis", "mtorso"),
    ("l_uleg", "r_uleg"),
    *((b.replace("?", s), c.replace("?", s)) for s in "lr" for b, c in (("pelvis", "?_lglut"), ("pelvis", "?_uleg"))),
    *((f"{s}_uglut", f"{s}_uleg") for s in "lr"),
]


def atlas(folder: Path) -> kido.Skeleton:
    return kido.load(folder / "sdf" / "atlas" / "atlas_v3_no_head.urdf", base="free")


@pytest.mark.parametrize("self_collision", [False, True])
def test_atlas_falls_and_rests(dart_data, self_collision):
    robot = atlas(dart_data)
    world = fall(robot, 5.0, self_collision, excluded=OVERLAPPING, height=1.0)
    assert weight_on_ground(world, robot) == pytest.approx(1.0, abs=0.02)
    assert world.kinetic_energy < 0.02 * robot.mass


def test_overlap_that_no_motion_parts_stays_finite(dart_data):
    """Atlas with all its self-collisions: bodies that overlap around a hinge, pressed apart for ever in vain."""
    robot = atlas(dart_data)
    world = kido.World()
    world.add_ground()
    world.add_skeleton(robot)
    robot.self_collision = True
    robot.positions = [0, 0, 0, 0, 0, 1.0, *robot.positions[6:]]
    energy = world.total_energy
    world.step(2000)
    assert np.isfinite(robot.positions).all()
    assert np.abs(robot.velocities).max() < 50.0
    assert world.total_energy < energy


def pendulum(**joint) -> kido.Skeleton:
    """A rod of 1 kg and 1 m about the y axis, horizontal along x at zero; gravity turns it to positive angles."""
    skeleton = kido.Skeleton("pendulum")
    skeleton.add_body(
        "rod",
        joint=kido.RevoluteJoint("hinge", axis=(0, 1, 0), **joint),
        inertia=kido.Inertia(1.0, com=(0.5, 0, 0), moment=np.diag([1e-3, 1 / 12, 1 / 12])),
    )
    return skeleton


def test_a_limit_stops_a_pendulum():
    """It is met within the step, never passed by more than the speed brings in one, and then carries the torque."""
    rod = pendulum(position_upper_limit=0.5)
    world = scenes.world(rod, ground=False)
    highest = 0.0
    for _ in range(2000):
        world.step()
        highest = max(highest, rod.positions[0])
    assert highest < 0.5 + 1e-7
    assert rod.positions[0] == pytest.approx(0.5, abs=2e-6)
    assert abs(rod.velocities[0]) < 1e-6
    assert world.constraint_forces(rod)[0] == pytest.approx(-0.5 * G * np.cos(0.5), rel=1e-5)


def test_a_limit_lets_go():
    rod = pendulum(position_lower_limit=-0.2, position_upper_limit=0.5)
    world = scenes.world(rod, ground=False)
    world.step(1000)
    for _ in range(200):
        rod.forces = [-20.0]
        world.step()
    assert rod.positions[0] < 0.2


def test_a_joint_without_play_is_held():
    rod = pendulum(position_lower_limit=0.1, position_upper_limit=0.1, initial_position=0.1)
    world = scenes.world(rod, ground=False)
    rod.positions = [0.1]
    world.step(1000)
    assert rod.positions[0] == pytest.approx(0.1, abs=1e-8)
    assert world.constraint_forces(rod)[0] == pytest.approx(-0.5 * G * np.cos(0.1), rel=1e-5)


def test_a_limit_that_is_overrun_at_the_start_is_met_without_a_jolt():
    rod = pendulum(position_upper_limit=0.0)
    rod.positions = [0.3]
    world = scenes.world(rod, ground=False)
    fastest = 0.0
    for _ in range(500):
        world.step()
        fastest = max(fastest, abs(rod.velocities[0]))
    assert rod.positions[0] == pytest.approx(0.0, abs=1e-5)
    assert fastest < 1e-2


def slider(**joint) -> kido.Skeleton:
    skeleton = kido.Skeleton("slider")
    skeleton.add_body("block", joint=kido.PrismaticJoint("rail", axis=(1, 0, 0), **joint), inertia=kido.Inertia(2.0))
    return skeleton


def test_joint_friction_stops_a_slider():
    """f = 3 N on 2 kg from 1 m/s: v^2 m / (2 f) = 1/3 m, beyond it at most a h^2 / 8."""
    block = slider(coulomb_friction=3.0)
    block.velocities = [1.0]
    world = scenes.world(block, ground=False)
    world.step(500)
    assert block.velocities[0] == pytest.approx(0.25, abs=1e-9)
    world.step(500)
    assert block.positions[0] == pytest.approx(1 / 3, abs=1.5e-6 / 8 + 1e-9)
    assert block.velocities[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("force", "moves"), [(2.99, False), (3.5, True), (-2.99, False), (-3.5, True)])
def test_joint_friction_holds_up_to_its_bound(force, moves):
    block = slider(coulomb_friction=3.0)
    world = scenes.world(block, ground=False)
    block.forces = [force]
    world.step(1000)
    expected = np.sign(force) * (abs(force) - 3.0) / 2.0 / 2 if moves else 0.0
    assert block.positions[0] == pytest.approx(expected, abs=1e-9)


def arm_on_ground(**joints) -> tuple[kido.World, kido.Skeleton]:
    """Two links in the x-z plane, hinged at 0.3 m height, whose tip ball touches the ground."""
    arm = kido.Skeleton("arm")
    rod = kido.Inertia(1.0, com=(0.25, 0, 0), moment=np.diag([1e-3, 0.02, 0.02]))
    lift = np.eye(4)
    lift[2, 3] = 0.3
    shoulder = kido.RevoluteJoint("shoulder", axis=(0, 1, 0), transform_from_parent=lift, **joints)
    arm.add_body("upper", joint=shoulder, inertia=rod)
    reach = np.eye(4)
    reach[0, 3] = 0.5
    elbow = kido.RevoluteJoint("elbow", axis=(0, 1, 0), transform_from_parent=reach, **joints)
    lower = arm.add_body("lower", joint=elbow, parent="upper", inertia=rod)
    tip = np.eye(4)
    tip[0, 3] = 0.5
    lower.add_shape(kido.Sphere(0.03), transform=tip, friction=0.5)
    world = kido.World()
    world.add_ground(friction=0.5)
    world.add_skeleton(arm)
    return world, arm


def test_limits_friction_and_contact_together():
    """An arm that sags onto the ground and its elbow's limit: at rest, torques balance as computed by hand."""
    world, arm = arm_on_ground(position_lower_limit=-0.4, position_upper_limit=0.4, coulomb_friction=0.05)
    world.step(4000)
    assert np.abs(arm.velocities).max() < 1e-5
    assert world.report.converged
    assert np.abs(arm.positions).max() < 0.4 + 2e-6
    assert len(world.contacts) == 1
    contact = world.contacts[0]
    force = contact.force if contact.body_b.skeleton is arm else -contact.force
    assert force[2] > 0 and np.hypot(force[0], force[1]) <= 0.5 * force[2] * (1 + 1e-6)
    a, b = arm.positions
    elbow = G * 0.25 * np.cos(a + b)
    shoulder = G * 0.25 * np.cos(a) + G * 0.5 * np.cos(a) + elbow
    np.testing.assert_allclose(world.constraint_forces(arm), [-shoulder, -elbow], rtol=1e-4)


def test_energy_never_rises_in_a_chain_that_hits_the_ground():
    """But by what the position correction lifts it, which is reported; 1.01e-4 J in a step are left."""
    world, arm = arm_on_ground(position_lower_limit=-2.0, position_upper_limit=2.0)
    arm.positions = [-1.0, 0.5]
    lowest = world.total_energy
    for _ in range(2000):
        world.step()
        energy = world.total_energy - world.totals.correction_energy
        assert energy < lowest + 2e-4
        lowest = min(lowest, energy)
