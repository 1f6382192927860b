"""Free bodies that turn by radians in a step, against what a rigid body keeps whatever it does."""

from __future__ import annotations

import numpy as np
import pytest

import kido

AXIS = np.array([1.0, 0.5, 2.0]) / np.linalg.norm([1.0, 0.5, 2.0])


def spinning(speed: float, com=(0.05, 0.02, 0.0), moments=(0.1, 0.2, 0.25), time_step: float = 1e-3):
    world = kido.World(time_step=time_step)
    skeleton = kido.Skeleton("body")
    skeleton.add_body("body", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(1.0, moments, com))
    world.add_skeleton(skeleton)
    skeleton.velocities = [*(speed * AXIS), 0.3, -0.2, 0.5]
    return world, skeleton


@pytest.mark.parametrize("com", [(0.0, 0.0, 0.0), (0.05, 0.02, -0.1)])
@pytest.mark.parametrize("moments", [(0.1, 0.1, 0.1), (0.1, 0.2, 0.25)])
@pytest.mark.parametrize("speed", [500.0, 3e3, 1e5])  # [rad/s]: 0.5 to 100 rad a step
def test_a_fast_body_keeps_its_energy_and_its_parabola(com, moments, speed):
    """The centre of mass of what falls freely is on a parabola, and energy is constant: to rounding, after 5,000 steps
    (1e-9 of the largest numbers: angles of 1e5 rad lose five digits)."""
    world, skeleton = spinning(speed, com, moments)
    start, velocity, energy = skeleton.com.copy(), skeleton.com_velocity().copy(), world.kinetic_energy
    height = world.potential_energy
    world.step(5000)
    t = world.time
    expected = start + velocity * t + [0.0, 0.0, -0.5 * 9.81 * t * t]
    assert skeleton.com == pytest.approx(expected, abs=1e-9 * max(np.abs(expected).max(), 1.0))
    assert skeleton.com_velocity() == pytest.approx(velocity + [0, 0, -9.81 * t], abs=1e-9 * (speed + 50.0))
    assert world.kinetic_energy + world.potential_energy == pytest.approx(energy + height, rel=1e-8)


def test_fast_and_slow_bodies_meet():
    """At the turn of a step beyond which bodies count as fast, 0.2 rad, both rules give the same to third order."""
    ends = []
    for factor in (0.999, 1.001):
        world, skeleton = spinning(200.0 * factor, moments=(0.1, 0.1, 0.1), time_step=1e-3)
        world.step(1)
        ends.append(skeleton.com_velocity() - 200.0 * factor * np.cross(AXIS, [0.05, 0.02, 0.0]))
    assert ends[0] == pytest.approx(ends[1], abs=200.0 * 0.06 * 0.2**3)


def test_a_fast_body_that_is_pushed_moves_as_the_push_says():
    world, skeleton = spinning(2e3)
    world.gravity = (0.0, 0.0, 0.0)
    start, velocity = skeleton.com.copy(), skeleton.com_velocity().copy()
    for _ in range(300):
        skeleton.body(0).clear_external_forces()
        skeleton.body(0).add_external_force([3.0, 0.0, 0.0], offset=skeleton.body(0).inertia.com)
        world.step(1)
    t = world.time
    assert skeleton.com_velocity() == pytest.approx(velocity + [3.0 * t, 0, 0], abs=1e-7)
    assert skeleton.com == pytest.approx(start + velocity * t + [1.5 * t * t, 0, 0], abs=1e-7)


def test_a_fast_body_hits_the_ground():
    """An eccentric box of 0.3 m, 1 rad a step at first: finite, no energy is gained, and friction brakes it."""
    world = kido.World(time_step=2e-3)
    world.add_ground(friction=0.6)
    skeleton = kido.Skeleton("box")
    box = kido.Box((0.3, 0.2, 0.1))
    body = skeleton.add_body(
        "box", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(1.0, (0.01, 0.02, 0.025), (0.02, 0.01, 0.0))
    )
    body.add_shape(box)
    skeleton.positions = [0, 0, 0, 0, 0, 0.5]
    world.add_skeleton(skeleton)
    skeleton.velocities = [*(500.0 * AXIS), 0, 0, 0]
    energy = world.total_energy
    for _ in range(60):
        world.step(50)
        assert world.total_energy < energy * (1.0 + 1e-6) + world.totals.correction_energy
    assert world.total_energy < 0.5 * energy


def test_copies_and_threads_agree_on_fast_bodies():
    ends = []
    for threads in (1, 2):
        world = kido.World()
        world.threads = threads
        for k in range(12):
            skeleton = kido.Skeleton(f"s{k}")
            inertia = kido.Inertia.from_diagonal(1.0, (0.1, 0.2, 0.25), (0.05, 0.01 * k, 0.0))
            skeleton.add_body("b", kido.FreeJoint(), inertia=inertia)
            world.add_skeleton(skeleton)
            skeleton.velocities = [*(300.0 * k * AXIS), 0, 0, 0]
        world.step(50)
        kept = world.snapshot()
        world.step(50)
        end = [s.positions.copy() for s in world.skeletons]
        world.restore(kept)
        world.step(50)
        assert all((s.positions == e).all() for s, e in zip(world.skeletons, end, strict=True))
        ends.append(end)
    assert all((a == b).all() for a, b in zip(*ends, strict=True))
