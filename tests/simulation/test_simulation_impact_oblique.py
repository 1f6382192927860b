"""Impacts of bodies that pass by each other at an angle, at their times: against events one after the other."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from scenes import pose

Array = np.ndarray
RADIUS = 0.1
MOMENT = 0.4 * RADIUS**2  # over the mass


def ball(world: kido.World, x: Array, v: Array, w: Array, mass: float, e: float, mu: float) -> kido.Skeleton:
    skeleton = kido.Skeleton(f"ball {len(world.skeletons)}")
    inertia = kido.Inertia.from_diagonal(mass, (MOMENT * mass,) * 3)
    body = skeleton.add_body("ball", kido.FreeJoint(), inertia=inertia)
    body.add_shape(kido.Sphere(RADIUS), friction=mu, restitution=np.sqrt(e))  # their product counts
    world.add_skeleton(skeleton)
    skeleton.positions, skeleton.velocities = [0, 0, 0, *x], [*w, *v]
    return skeleton


def simulated(x: Array, v: Array, w: Array, m: Array, e: float, mu: float, h: float, time: float, gravity=(0, 0, 0)):
    """Places, velocities and spins of balls after a time."""
    world = kido.World(time_step=h)
    world.gravity = gravity
    balls = [ball(world, *state, e, mu) for state in zip(x, v, w, m, strict=True)]
    world.step(round(time / h))
    # Of a ball, spins in its own axes turn with it.
    spins = [b.body(0).spatial_velocity[:3] for b in balls]
    velocities = [b.body(0).spatial_velocity[3:] for b in balls]
    return np.array([b.positions[3:] for b in balls]), np.array(velocities), np.array(spins)


def meeting(d: Array, u: Array) -> float:
    """Time at which balls with centres d apart that part by u touch; infinity if they do not."""
    a, b, c = u @ u, d @ u, d @ d - 4.0 * RADIUS**2
    if b >= 0.0 or b * b < a * c:
        return np.inf
    return (-b - np.sqrt(b * b - a * c)) / a


def exact(x: Array, v: Array, w: Array, m: Array, e: float, mu: float, time: float):
    """The same, impact by impact; and how many there were.

    Along the normal p = (1 + e) v_n / (1/m_1 + 1/m_2); across it the slip is stopped by 2/7 of what would stop it were
    the balls points, or slowed by mu p.
    """
    x, v, w, count = x.copy(), v.copy(), w.copy(), 0
    while True:
        pairs = [(meeting(x[j] - x[i], v[j] - v[i]), i, j) for i in range(len(x)) for j in range(i)]
        first, i, j = min(pairs)
        if first > time:
            return x + time * v, v, w, count
        count += 1
        x += first * v
        time -= first
        n = (x[j] - x[i]) / (2.0 * RADIUS)
        reduced = 1.0 / (1.0 / m[i] + 1.0 / m[j])
        u = v[j] - v[i] + np.cross(w[j], -RADIUS * n) - np.cross(w[i], RADIUS * n)
        p = -(1.0 + e) * reduced * (u @ n)
        slip = u - (u @ n) * n
        stop = 2.0 / 7.0 * reduced * np.linalg.norm(slip)
        impulse = p * n - (min(stop, mu * p) / max(np.linalg.norm(slip), 1e-300)) * slip * (1.0 if mu > 0.0 else 0.0)
        v[j] += impulse / m[j]
        v[i] -= impulse / m[i]
        w[j] += np.cross(-RADIUS * n, impulse) / (MOMENT * m[j])
        w[i] -= np.cross(RADIUS * n, impulse) / (MOMENT * m[i])


def two(seed: int, spin: float) -> tuple[Array, Array, Array, Array]:
    """Two balls that meet at an angle within 0.5 s."""
    rng = np.random.default_rng(seed)
    m, v = rng.uniform(0.5, 2.0, 2), np.array([[rng.uniform(0.5, 2.0), 0, 0], [-0.3, *rng.uniform(-0.3, 0.3, 2)]])
    x = np.array([[0, 0, 0], [0.4, *rng.uniform(-0.1, 0.1, 2)]])
    return x, v, spin * rng.normal(size=(2, 3)), m


@pytest.mark.parametrize(("e", "mu", "spin"), [(1.0, 0.0, 0.0), (0.6, 0.0, 3.0), (1.0, 0.1, 5.0), (0.5, 0.8, 5.0)])
@pytest.mark.parametrize("h", [1e-2, 1e-3])
def test_two_balls_meet_at_an_angle(e, mu, spin, h):
    """Exact but for rounding at any step; with the normal of mid-step velocities were 2.6e-3 m/s off at 1 ms.

    Spins turn with the balls within a step, which spins across the normal feel at the second order of h.
    """
    hits = 0
    for seed in range(12):
        start = two(seed, spin)
        places, velocities, spins = simulated(*start, e, mu, h, 0.6)
        truth = exact(*start, e, mu, 0.6)
        hits += truth[3]
        np.testing.assert_allclose(velocities, truth[1], rtol=0, atol=1e-10)
        np.testing.assert_allclose(places, truth[0], rtol=0, atol=1e-10)
        np.testing.assert_allclose(spins, truth[2], rtol=0, atol=1e-9)
    assert hits > 8


def test_balls_break():
    """A ball into a row of six that stand apart, of any angle: impacts follow each other, here some within a step."""
    x = np.array(
        [[-0.5, 0.03, 0.01], *[[0.1732 * i, 0.1 * (2 * j - i) * 1.003, 0] for i in range(3) for j in range(i + 1)]]
    )
    x[1:, 0] *= 1.002
    v = np.zeros_like(x)
    v[0, 0] = 3.0
    truth = exact(x, v, 0 * v, np.ones(7), 1.0, 0.0, 0.5)
    places, velocities, _ = simulated(x, v, 0 * v, np.ones(7), 1.0, 0.0, 2e-3, 0.5)
    assert truth[3] > 6
    np.testing.assert_allclose(velocities, truth[1], rtol=0, atol=1e-8)
    np.testing.assert_allclose(places, truth[0], rtol=0, atol=1e-8)


def test_what_passes_is_not_hit():
    """Balls that pass by at 1e-4 m; at mid-step their velocity along the normal would let them meet.

    Nearer by, they may be so slow along it that they would not bounce, which is no event but a constraint.
    """
    for seed in range(8):
        side = 2.0 * RADIUS + 1e-4
        x = np.array([[0.0, 0, 0], [0.3 + 0.01 * seed / 8.0, side, 0]])
        v = np.array([[2.0, 0, 0], [-1.0, 0, 0]])
        _, velocities, _ = simulated(x, v, 0 * v, np.ones(2), 1.0, 0.0, 1e-2, 0.5)
        assert np.array_equal(velocities, v)


def test_balls_that_fall_meet_as_in_their_frame():
    start = two(3, 0.0)
    g, time = np.array([0.0, 0.0, -9.81]), 0.6
    places, velocities, _, _ = exact(*start, 1.0, 0.0, time)
    for h in (8e-3, 1e-3):
        x, v, _ = simulated(*start, 1.0, 0.0, h, time, g)
        np.testing.assert_allclose(v, velocities + g * time, rtol=0, atol=1e-12)
        np.testing.assert_allclose(x, places + 0.5 * g * time**2, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", [kido.Sphere(0.15), kido.Box((0.3, 0.3, 0.3)), kido.Capsule(0.1, 0.3)])
def test_a_ball_is_turned_aside_by_what_stands(shape):
    """Its speed is kept to rounding, and of a ball its direction is that of the exact impact."""
    for offset in (0.0, 0.07, 0.12):
        world = kido.World(time_step=2e-3)
        world.gravity = (0, 0, 0)
        post = kido.Skeleton("post")
        body = post.add_body("post", kido.WeldJoint())
        body.add_shape(shape, friction=0.0, restitution=1.0)
        world.add_skeleton(post)
        moving = ball(world, [-0.6, offset, 0], [1.3, 0, 0], np.zeros(3), 1.0, 1.0, 0.0)
        world.step(350)
        v = moving.velocities[3:]
        assert world.totals.bounces == 1
        assert np.linalg.norm(v) == pytest.approx(1.3, abs=1e-12)
        if isinstance(shape, kido.Sphere):
            n = np.array([-np.sqrt(0.25**2 - offset**2), offset, 0.0]) / 0.25
            np.testing.assert_allclose(v, [1.3, 0, 0] - 2.0 * 1.3 * n[0] * n, rtol=0, atol=1e-10)


def test_other_shapes_keep_momentum_and_energy():
    """Ellipsoids and capsules without friction, e = 1, frames beside their centres: 1e-12, and what tumbling loses."""
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(12):
        world = kido.World(time_step=2e-3)
        world.gravity = (0, 0, 0)
        for k, shape in enumerate((kido.Ellipsoid((0.1, 0.15, 0.2)), kido.Capsule(0.08, 0.2))):
            pose = np.eye(4)
            pose[:3, 3] = rng.uniform(-0.2, 0.2, 3)
            skeleton = kido.Skeleton(f"body {k}")
            inertia = kido.Inertia.from_shape(shape, mass=1.0 + k).transformed(pose)
            body = skeleton.add_body("body", kido.FreeJoint(), inertia=inertia)
            body.add_shape(shape, pose, friction=0.0, restitution=1.0)
            world.add_skeleton(skeleton)
            skeleton.positions = [0, 0, 0, *(np.array([0.7 * k, 0, 0]) - pose[:3, 3] + rng.uniform(-0.1, 0.1, 3))]
            w = 2.0 * rng.normal(size=3)
            skeleton.velocities = [*w, *(np.array([1.0 - 2.0 * k, 0, 0]) - np.cross(w, pose[:3, 3]))]
        before = sum(np.array(s.momentum_about((0, 0, 0))) for s in world.skeletons)
        energy = world.kinetic_energy
        world.step(400)
        hits += world.totals.bounces > 0
        after = sum(np.array(s.momentum_about((0, 0, 0))) for s in world.skeletons)
        np.testing.assert_allclose(after, before, rtol=0, atol=1e-12)
        assert world.kinetic_energy == pytest.approx(energy, rel=2e-5)
    assert hits > 6


@pytest.mark.parametrize("h", [1e-2, 1e-3])
@pytest.mark.parametrize("ground", ["plane", "box"])
def test_a_ball_with_spin_leaves_the_ground_as_the_exact_one(ground, h):
    """Friction's arm is the ball's radius, whatever it penetrates or lacks at mid-step."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        e, mu = rng.uniform(0.1, 1.0), rng.uniform(0.1, 1.0)
        v, w = np.array([*rng.normal(size=2), -rng.uniform(0.5, 3.0)]), 10.0 * rng.normal(size=3)
        world = kido.World(time_step=h)
        world.gravity = 0.0, 0.0, 0.0
        if ground == "plane":
            world.add_ground(friction=mu, restitution=np.sqrt(e))
        else:
            block = kido.Skeleton("block")
            block.add_body("block", kido.WeldJoint()).add_shape(
                kido.Box((9.0, 9.0, 2 * RADIUS)), pose((0, 0, -RADIUS)), friction=mu, restitution=np.sqrt(e)
            )
            block.mobile = False
            world.add_skeleton(block)
        made = ball(world, np.array([0, 0, 0.15]), v, w, 1.0, e, mu)
        world.step(round(0.3 / h))
        slip = v + np.cross(w, (0, 0, -RADIUS))
        slip[2] = 0.0
        p = -(1.0 + e) * v[2]
        impulse = -min(2.0 / 7.0, mu * p / np.linalg.norm(slip)) * slip + np.array([0, 0, p])
        twist = made.body(0).spatial_velocity
        assert twist[3:] == pytest.approx(v + impulse, abs=1e-10)
        assert twist[:3] == pytest.approx(w + np.cross((0, 0, -RADIUS), impulse) / MOMENT, abs=1e-9)
