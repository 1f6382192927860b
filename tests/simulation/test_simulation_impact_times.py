"""Impacts at their times within a step, against what happens event by event."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import kido

Array = NDArray[np.float64]
H = 1e-3
G = 9.81
RADIUS = 0.1


def exact_row(x: Array, v: Array, m: Array, e: float, time: float) -> tuple[Array, Array]:
    """Places and velocities of balls on a line, impact by impact."""
    x, v, now = x.copy(), v.copy(), 0.0
    while True:
        gap, rate = np.diff(x) - 2 * RADIUS, np.diff(v)
        until = np.where(rate < -1e-12, np.maximum(gap, 0.0) / np.maximum(-rate, 1e-300), np.inf)
        k = until.argmin()
        if now + until[k] > time:
            return x + v * (time - now), v
        x, now = x + v * until[k], now + until[k]
        p = -(1 + e) * rate[k] / (1 / m[k] + 1 / m[k + 1])
        v[k], v[k + 1] = v[k] - p / m[k], v[k + 1] + p / m[k + 1]


def row(x: Array, v: Array, m: Array, e: float, time: float) -> tuple[Array, Array]:
    """The same by steps of a world; every impact bounces."""
    world = kido.World(time_step=H, restitution_speed=1e-6)
    world.gravity = (0.0, 0.0, 0.0)
    balls = []
    for k in range(len(x)):
        ball = kido.Skeleton(f"ball {k}")
        inertia = kido.Inertia.from_diagonal(m[k], (0.004 * m[k],) * 3)
        body = ball.add_body("ball", kido.FreeJoint(), inertia=inertia)
        body.add_shape(kido.Sphere(RADIUS), friction=0.0, restitution=np.sqrt(e))
        world.add_skeleton(ball)
        ball.positions, ball.velocities = [0, 0, 0, x[k], 0, 0], [0, 0, 0, v[k], 0, 0]
        balls.append(ball)
    world.step(round(time / H))
    return np.array([b.positions[3] for b in balls]), np.array([b.velocities[3] for b in balls])


@pytest.mark.parametrize("e", [1.0, 0.7])
@pytest.mark.parametrize("gap", [0.0, 0.1, 0.5, 1.0, 2.0])
def test_a_ball_hits_a_row(gap, e):
    """Gaps as parts of the way of a step: up to four impacts of one step follow each other. To rounding."""
    x = np.arange(5) * (2 * RADIUS + gap * H)
    x[0] -= 0.0113
    v, m = np.array([1.0, 0, 0, 0, 0]), np.ones(5)
    for one, other in zip(row(x, v, m, e, 0.1), exact_row(x, v, m, e, 0.1), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-11)


@pytest.mark.parametrize("e", [1.0, 0.7])
def test_random_rows_are_hit_from_both_sides(e):
    """Two to five balls of 0.5 to 2 kg, gaps of up to two ways of a step, up to 17 impacts in a few steps."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        n = rng.integers(2, 6)
        m = rng.uniform(0.5, 2.0, n)
        x = np.concatenate([[0.0], np.cumsum(rng.uniform(0, 2 * H, n - 1) + 2 * RADIUS)])
        x[0] -= 0.0113 + rng.uniform(0, H)
        x[-1] += 0.011
        v = np.zeros(n)
        v[0], v[-1] = 1.0, -rng.uniform(0, 1)
        for one, other in zip(row(x, v, m, e, 0.1), exact_row(x, v, m, e, 0.1), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-11)


@pytest.mark.parametrize("gap", [0.0, 1e-5, 1e-3])
def test_a_cradle_of_pendulums_keeps_its_energy(gap):
    """Five bobs on rods of 1 m, three seconds: an error of second order in h, (v h / L)^2 = 1e-6 in each impact."""
    world, pendulums = kido.World(time_step=H), []
    for k in range(5):
        pendulum, place, low = kido.Skeleton(f"pendulum {k}"), np.eye(4), np.eye(4)
        place[0, 3], low[2, 3] = k * (2 * RADIUS + gap), -1.0
        joint = kido.RevoluteJoint("hinge", axis=(0, 1, 0), transform_from_parent=place)
        bob = pendulum.add_body("bob", joint, inertia=kido.Inertia.from_diagonal(1.0, (1e-3,) * 3, (0, 0, -1.0)))
        bob.add_shape(kido.Sphere(RADIUS), low, friction=0.0, restitution=1.0)
        world.add_skeleton(pendulum)
        pendulums.append(pendulum)
    lowest = world.total_energy
    pendulums[0].positions = [0.3]
    energy = world.total_energy
    assert energy - lowest == pytest.approx(G * (1 - np.cos(0.3)))
    world.step(3000)
    assert world.totals.bounces > 0
    assert world.total_energy - lowest == pytest.approx(energy - lowest, rel=3e-5)


def height(z: float, v: float, e: float, time: float) -> float:
    """Height over the ground of a ball that was at z with velocity v."""
    world = kido.World(time_step=H)
    world.add_ground(restitution=1.0, friction=0.0)
    ball = kido.Skeleton("ball")
    body = ball.add_body("ball", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(1.0, (0.004,) * 3))
    body.add_shape(kido.Sphere(RADIUS), friction=0.0, restitution=e)
    world.add_skeleton(ball)
    ball.positions, ball.velocities = [0, 0, 0, 0, 0, RADIUS + z], [0, 0, 0, 0, 0, v]
    world.step(round(time / H))
    return ball.positions[5] - RADIUS


def exact_height(z: float, v: float, e: float, time: float) -> float:
    while True:
        until = (v + np.sqrt(v * v + 2 * G * z)) / G
        if until > time:
            return z + v * time - 0.5 * G * time**2
        v, z, time = -e * (v - G * until), 0.0, time - until


@pytest.mark.parametrize("e", [1.0, 0.8])
@pytest.mark.parametrize("time", [0.7, 2.0])
def test_a_bouncing_ball_keeps_its_phase(e, time):
    """Its height and the derivatives by height and speed at the start, after up to three bounces, to rounding."""
    assert height(1.0, 0.0, e, time) == pytest.approx(exact_height(1.0, 0.0, e, time), abs=1e-11)
    d = 1e-4
    for step in ((d, 0.0), (0.0, d)):
        found, true = (
            (f(1.0 + step[0], step[1], e, time) - f(1.0 - step[0], -step[1], e, time)) / (2 * d)
            for f in (height, exact_height)
        )
        assert found == pytest.approx(true, abs=1e-6)


def test_a_pendulum_bounces_off_a_wall():
    """From 0.5 rad into a wall at 0 with e = 0.8: it rises to cos theta = 1 - e^2 (1 - cos 0.5)."""
    world = kido.World(time_step=H)
    wall = kido.Skeleton("wall")
    place, low = np.eye(4), np.eye(4)
    place[:3, 3], low[2, 3] = (-0.5 - RADIUS, 0, -1.0), -1.0
    wall.add_body("wall", kido.WeldJoint()).add_shape(kido.Box((1.0, 1.0, 1.0)), place, friction=0.0, restitution=1.0)
    world.add_skeleton(wall)
    pendulum = kido.Skeleton("pendulum")
    joint = kido.RevoluteJoint("hinge", axis=(0, -1, 0))
    bob = pendulum.add_body("bob", joint, inertia=kido.Inertia.from_diagonal(1.0, (1e-9,) * 3, (0, 0, -1.0)))
    bob.add_shape(kido.Sphere(RADIUS), low, friction=0.0, restitution=0.8)
    world.add_skeleton(pendulum)
    pendulum.positions = [0.5]
    peak, bounced = 0.0, False
    for _ in range(1200):
        world.step()
        bounced = bounced or world.totals.bounces > 0
        if bounced:
            peak = max(peak, pendulum.positions[0])
    assert peak == pytest.approx(np.arccos(1 - 0.64 * (1 - np.cos(0.5))), rel=2e-6)
