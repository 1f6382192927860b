"""Impacts of bodies and trees that float: momentum, energy, and that frames do not matter."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kido
from kido.models import path

FRAMES = [(0.0, 0.0, 0.0), (0.2, 0.0, 0.0), (0.3, 0.5, -1.0)]  # centre of mass in body axes


def box(world: kido.World, name: str, frame, place, spin, velocity, turn=(0, 0, 0), e=1.0, mu=0.0) -> kido.Skeleton:
    """A box of 1 kg, its body's frame anywhere; place and velocity are those of its centre."""
    frame, size = np.array(frame, float), np.array([0.4, 0.3, 0.2])
    R = Rotation.from_rotvec(turn).as_matrix()
    moments = (size[[1, 0, 0]] ** 2 + size[[2, 2, 1]] ** 2) / 12.0
    skeleton = kido.Skeleton(name)
    body = skeleton.add_body("body", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(1.0, moments, frame))
    at = np.eye(4)
    at[:3, 3] = frame
    body.add_shape(kido.Box(tuple(size)), at, friction=mu, restitution=e)
    world.add_skeleton(skeleton)
    skeleton.positions = [*turn, *(np.array(place) - R @ frame)]
    skeleton.velocities = [*spin, *(R.T @ np.array(velocity) - np.cross(spin, frame))]
    return skeleton


def momentum(world: kido.World) -> np.ndarray:
    """[angular about the world's origin; linear] of all that moves."""
    return np.sum([s.momentum_about((0, 0, 0)) for s in world.skeletons if s.num_dofs], axis=0)


def empty(h: float = 1e-3) -> kido.World:
    world = kido.World(time_step=h)
    world.gravity = (0.0, 0.0, 0.0)
    return world


@pytest.mark.parametrize("mu", [0.0, 0.5])
@pytest.mark.parametrize("frame", FRAMES)
def test_two_tumbling_boxes_collide(frame, mu):
    """Momentum is kept to rounding, energy, where it should be, to the square of the turn of a step, (0.004 / 2)^2."""
    world = empty()
    box(world, "a", frame, (-0.6, 0.02, 0.03), (0, 0, 0), (2, 0, 0), mu=mu)
    box(world, "b", frame, (0, 0.1, -0.05), (3, 1, 2), (0, 0, 0), (0.3, 0.2, 0.5), mu=mu)
    before, energy = momentum(world), world.kinetic_energy
    world.step(600)
    assert world.totals.bounces > 0
    np.testing.assert_allclose(momentum(world), before, rtol=0, atol=1e-12)
    if mu == 0.0:
        assert world.kinetic_energy == pytest.approx(energy, rel=1e-6)
    else:
        assert world.kinetic_energy < energy


def test_frames_do_not_matter():
    """The same boxes with their frames elsewhere go the same ways: rounding of 600 steps, and of an impact."""
    ends = []
    for frame in FRAMES:
        world = empty()
        skeletons = [
            box(world, "a", frame, (-0.6, 0.02, 0.03), (0, 0, 0), (2, 0, 0), mu=0.3, e=0.7),
            box(world, "b", frame, (0, 0.1, -0.05), (3, 1, 2), (0, 0, 0), (0.3, 0.2, 0.5), mu=0.3, e=0.7),
        ]
        world.step(600)
        ends.append(np.concatenate([np.concatenate([s.com, s.com_velocity(), s.velocities[:3]]) for s in skeletons]))
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(ends[2], ends[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("frame", FRAMES[:2])
def test_an_eccentric_box_bounces_for_twenty_seconds(frame):
    """About 50 impacts without friction, up to 7 rad/s: each may leave the square of the turn of a step in energy, of
    either sign (2e-5 at 7 rad/s)."""
    world = kido.World()
    world.add_ground(friction=0.0, restitution=1.0)
    skeleton = box(world, "box", frame, (0, 0, 1.0), (1, 2, 0.5), (0, 0, 0), (0.3, 0.2, 0.1))
    energy = world.total_energy
    world.step(20000)
    assert world.total_energy == pytest.approx(energy, rel=1e-3)
    assert world.total_energy <= energy * (1.0 + 2e-5)
    np.testing.assert_allclose(skeleton.com_velocity()[:2], 0.0, atol=1e-12)


def hinged_pair(world: kido.World, frame) -> kido.Skeleton:
    """Two boxes on a hinge, bent and turning; the centre of the first is at `frame` in its body's axes."""
    frame = np.array(frame, float)
    skeleton = kido.Skeleton("pair")
    first = skeleton.add_body("a", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(2.0, (0.02, 0.05, 0.06), frame))
    at, hinge = np.eye(4), np.eye(4)
    at[:3, 3], hinge[:3, 3] = frame, frame + [0.3, 0, 0]
    first.add_shape(kido.Box((0.6, 0.2, 0.2)), at, friction=0.0, restitution=1.0)
    second = skeleton.add_body(
        "b",
        kido.RevoluteJoint("hinge", axis=(0, 0, 1)),
        parent=first,
        inertia=kido.Inertia.from_diagonal(1.0, (0.005, 0.03, 0.03), (0.3, 0, 0)),
    )
    second.parent_joint.transform_from_parent = hinge
    world.add_skeleton(skeleton)
    turn, spin = [0.1, 0.2, 0.3], np.array([0.5, 0.2, 1.0])
    skeleton.positions = [*turn, *(-Rotation.from_rotvec(turn).as_matrix() @ frame), 0.5]
    skeleton.velocities = [*spin, *-np.cross(spin, frame), 2.0]
    return skeleton


@pytest.mark.parametrize("frame", [(0.0, 0.0, 0.0), (0.0, 0.3, 0.0), (0.5, 0.5, -1.0)])
def test_a_ball_hits_a_hinged_pair(frame):
    """Momentum of a floating tree and a ball to rounding; energy of an elastic impact to second order."""
    world = empty()
    hinged_pair(world, frame)
    ball = kido.Skeleton("ball")
    body = ball.add_body("ball", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(1.0, (0.004,) * 3))
    body.add_shape(kido.Sphere(0.1), friction=0.0, restitution=1.0)
    world.add_skeleton(ball)
    ball.positions, ball.velocities = [0, 0, 0, -0.1, -1.0, 0.0], [0, 0, 0, 0, 5, 0]
    before, energy = momentum(world), world.kinetic_energy
    world.step(500)
    assert world.totals.bounces > 0
    np.testing.assert_allclose(momentum(world), before, rtol=0, atol=2e-12)
    assert world.kinetic_energy == pytest.approx(energy, rel=1e-5)


def test_a_pushed_and_falling_tree_is_where_its_forces_say():
    """What falls has its centre of mass on the parabola; a force brings the momentum h f."""
    world = kido.World()
    skeleton = hinged_pair(world, (0.0, 0.3, 0.0))
    start, velocity = skeleton.com.copy(), skeleton.com_velocity().copy()
    world.step(1000)
    np.testing.assert_allclose(skeleton.com, start + velocity + [0, 0, -0.5 * 9.81], atol=1e-11)
    np.testing.assert_allclose(skeleton.com_velocity(), velocity + [0, 0, -9.81], atol=1e-11)
    body = skeleton.body(0)
    body.add_external_force([3.0, -1.0, 2.0], offset=(0.1, 0.2, 0.3))
    before, mass = skeleton.momentum_about((0, 0, 0)), skeleton.mass
    world.step(1)
    change = (skeleton.momentum_about((0, 0, 0)) - before)[3:]
    np.testing.assert_allclose(change, 1e-3 * (np.array([3.0, -1.0, 2.0]) + mass * np.array([0, 0, -9.81])), atol=1e-12)


def test_a_robot_on_ground_without_friction_does_not_drift():
    """What falls on it gets no linear momentum across its normal: 2,000 steps of a humanoid that tumbles."""
    world = kido.World()
    world.add_ground(friction=0.0)
    robot = kido.load(path("humanoid"))
    robot.positions = [0.2, 0.1, 0.3, 0.0, 0.0, 0.4, *robot.positions[6:]]
    world.add_skeleton(robot)
    before = robot.momentum_about((0, 0, 0))
    world.step(2000)
    assert len(world.contacts) > 0
    np.testing.assert_allclose((robot.momentum_about((0, 0, 0)) - before)[3:5], 0.0, atol=1e-10)


@pytest.mark.parametrize("gap", [0.25, 0.5, 1.0, 2.0])
def test_a_row_of_elastic_balls_passes_its_speed_on(gap):
    """Gaps of a part of the way of a step: each is an impact of its own."""
    world = empty()
    balls = []
    for k in range(5):
        ball = kido.Skeleton(f"ball {k}")
        body = ball.add_body("ball", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(1.0, (0.004,) * 3))
        body.add_shape(kido.Sphere(0.1), friction=0.0, restitution=1.0)
        world.add_skeleton(ball)
        ball.positions = [0, 0, 0, k * (0.2 + gap * 1e-3) - (0.05 if k == 0 else 0.0), 0, 0]
        balls.append(ball)
    balls[0].velocities = [0, 0, 0, 1.0, 0, 0]
    world.step(100)
    np.testing.assert_allclose([ball.velocities[3] for ball in balls], [0, 0, 0, 0, 1], atol=1e-9)


def test_random_impacts_gain_no_energy():
    """Two boxes of random motions, frames, friction and restitution. Angular momentum about a point changes where the
    position correction moves what penetrates; linear momentum never does."""
    rng = np.random.default_rng(3)
    hits = exact = 0
    for _ in range(60):
        world = empty()
        e, mu = rng.uniform(0, 1), rng.choice([0.0, rng.uniform(0, 1)])
        frame = rng.uniform(-0.5, 0.5, 3)
        for name, side in (("a", -1.0), ("b", 1.0)):
            place = [0.6 * side, *rng.uniform(-0.1, 0.1, 2)]
            velocity = [-side * rng.uniform(0.5, 2), *rng.uniform(-0.5, 0.5, 2)]
            box(world, name, frame, place, rng.normal(size=3) * 2, velocity, rng.normal(size=3), e, mu)
        before, energy = momentum(world), world.kinetic_energy
        world.step(800)
        hits += world.totals.bounces > 0
        np.testing.assert_allclose(momentum(world)[3:], before[3:], rtol=0, atol=1e-12)
        error = np.abs(momentum(world) - before).max()
        assert error < 1e-11 or world.totals.max_penetration > 1e-5
        exact += world.totals.bounces > 0 and error < 1e-11
        assert world.kinetic_energy <= energy * (1.0 + 1e-6)
    assert hits > 30
    assert exact > 25
