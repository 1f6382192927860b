"""Impacts in a world: rebounds, impacts through touching bodies, penetration, overlap, absurd numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import kido
import scenes
from scenes import G


def ball(x=0.0, z=0.1, **options) -> kido.Skeleton:
    return scenes.free(kido.Sphere(0.1), 1.0, (x, 0, z), **options)


@pytest.mark.parametrize("e", [0.5, 0.8, 1.0])
@pytest.mark.parametrize("height", [1.0, 0.37])
def test_rebound(e, height):
    """e^2 h. The energy of the impact is exact to O(h); 5e-4 is ten times what is left at 1 ms."""
    body = ball(z=0.1 + height, restitution=e)
    world = scenes.world(body)
    fall = np.sqrt(2 * height / G)
    world.step(int(fall / 1e-3) + 2)
    top = 0.0
    for _ in range(int(2 * e * fall / 1e-3) - 4):
        world.step()
        top = max(top, scenes.place(body)[2] - 0.1)
    assert top == pytest.approx(e * e * height, rel=5e-4)


def test_no_rebound_without_restitution():
    body = ball(z=1.1, restitution=0.0)
    world = scenes.world(body)
    world.step(int(np.sqrt(2 / G) / 1e-3) + 2)
    for _ in range(50):
        world.step()
        assert abs(scenes.place(body)[2] - 0.1) < 1e-3
        assert scenes.velocity(body)[2] < 1e-2


def test_elastic_bouncing_keeps_its_energy():
    """Ten seconds of bouncing from 0.2 m with e = 1: about 25 impacts."""
    body = ball(z=0.3, restitution=1.0)
    world = scenes.world(body)
    energy = world.total_energy
    world.step(10_000)
    assert world.total_energy == pytest.approx(energy, rel=5e-3)


def test_a_bouncing_ball_comes_to_rest():
    """At sqrt(2 h / g) (1 + e) / (1 - e): the time of infinitely many bounces; small ones are not made."""
    body = ball(z=0.6, restitution=0.5)
    world = scenes.world(body)
    world.step(int(np.sqrt(1.0 / G) * 3 / 1e-3))
    assert np.abs(body.velocities).max() < 1e-4
    assert scenes.place(body)[2] == pytest.approx(0.1, abs=1e-5)


@pytest.mark.parametrize("e", [1.0, 0.5])
def test_impact_through_touching_balls(e):
    """A ball on two at rest that touch: impacts follow each other, as if there were gaps.

    With k = (1 + e) / 2 the second ball gets k, of which it gives k^2 to the third.
    """
    balls = [
        ball(x, velocity=(v, 0, 0), friction=0.0, restitution=np.sqrt(e), name=f"ball{k}")
        for k, (x, v) in enumerate(((-0.2055, 1.0), (0, 0), (0.2, 0)))
    ]
    world = scenes.world(*balls, friction=0.0, restitution=0.0)
    world.step(8)
    speeds = [scenes.velocity(b)[0] for b in balls]
    k = 0.5 * (1 + e)
    first, second, third = 1 - k, k * (1 - k), k * k
    if e < 1.0:  # the second is slower than the first, which follows it
        first, second = first - k * (first - second), second + k * (first - second)
    np.testing.assert_allclose(speeds, [first, second, third], atol=1e-9)


def test_newtons_cradle_with_gaps():
    balls = [
        ball(x, velocity=(v, 0, 0), friction=0.0, restitution=1.0, name=f"ball{k}")
        for k, (x, v) in enumerate(((-0.25, 1.0), (0, 0), (0.25, 0)))
    ]
    world = scenes.world(*balls, friction=0.0, restitution=0.0)
    world.step(300)
    np.testing.assert_allclose([scenes.velocity(b)[0] for b in balls], [0, 0, 1], atol=1e-9)


def rock() -> kido.Mesh:
    points = np.random.default_rng(0).normal(size=(30, 3))
    points *= 0.1 / np.linalg.norm(points, axis=1)[:, None]
    return kido.Mesh(points, ConvexHull(points).simplices)


SHAPES = {
    "sphere": kido.Sphere(0.1),
    "box": kido.Box((0.2, 0.16, 0.12)),
    "capsule": kido.Capsule(0.05, 0.2),
    "rock": rock(),
    "cylinder": kido.Cylinder(0.08, 0.1),
    "cone": kido.Cone(0.1, 0.2),
}


@pytest.mark.parametrize("speed", [1.0, 5.0, 20.0])
@pytest.mark.parametrize("name", SHAPES)
def test_penetration_of_a_drop(name, speed):
    """At most impact speed times dt at its peak, and nothing at rest."""
    body = scenes.free(SHAPES[name], 1.0, (0, 0, 0.2), rotation=(0.3, 0.4, 0.2), velocity=(0, 0, -speed), friction=0.8)
    world = scenes.world(body, friction=0.8)
    fastest = 0.0
    for _ in range(400):
        world.step(10)
        lowest = np.linalg.norm(scenes.velocity(body)) + 0.14 * np.linalg.norm(scenes.spin(body))
        fastest = max(fastest, speed, lowest)
        assert np.isfinite(body.positions).all()
    assert world.totals.max_penetration <= (fastest + 2 * G * 0.2) * 1e-3
    assert world.report.max_penetration < 1e-6
    assert world.report.converged
    if name != "sphere":
        assert scenes.speed([body]) < 1e-5


@pytest.mark.parametrize("depth", [0.01, 0.05])
def test_overlapping_boxes_part_without_a_pop(depth):
    """Placed into one another: moved apart by position alone, slower than they would fall apart."""
    boxes = [
        scenes.free(kido.Box((0.1, 0.1, 0.1)), 1.0, (0, 0, 0.05), name="lower"),
        scenes.free(kido.Box((0.1, 0.1, 0.1)), 1.0, (0.01, 0.005, 0.15 - depth), name="upper"),
    ]
    world = scenes.world(*boxes)
    fastest = 0.0
    for _ in range(500):
        world.step()
        fastest = max(fastest, scenes.speed(boxes))
    assert fastest < 0.1
    assert world.report.max_penetration < 1e-5
    assert scenes.place(boxes[1])[2] == pytest.approx(0.15, abs=1e-5)


def test_bodies_in_one_place_part():
    boxes = [scenes.free(kido.Box((0.1, 0.1, 0.1)), 1.0, (0, 0, 0.05), name=f"box{k}") for k in range(5)]
    balls = [scenes.free(kido.Sphere(0.1), 1.0, (1, 0, 0.1), name=f"ball{k}") for k in range(2)]
    world = scenes.world(*boxes, *balls)
    fastest = 0.0
    for _ in range(1500):
        world.step()
        fastest = max(fastest, *(np.linalg.norm(scenes.velocity(s)) for s in boxes + balls))
    assert fastest < 2.0  # some fall from the height of the heap
    assert world.report.max_penetration < 1e-5


@pytest.mark.parametrize("mass", [1e-6, 1e6])
def test_a_body_of_absurd_mass_rests(mass):
    box = scenes.free(kido.Box((0.1, 0.1, 0.1)), mass, (0, 0, 0.2))
    world = scenes.world(box)
    world.step(1000)
    np.testing.assert_allclose(scenes.place(box), [0, 0, 0.05], atol=1e-6)
    assert world.totals.converged


def test_a_mass_ratio_of_a_million_millions_is_reported_and_stays_finite():
    """Far beyond what doubles resolve: whatever happens, it is said."""
    boxes = [
        scenes.free(kido.Box((0.1, 0.1, 0.1)), m, (0, 0, 0.05 + 0.11 * k), name=f"box{k}")
        for k, m in enumerate((1e-6, 1e6))
    ]
    world = scenes.world(*boxes)
    world.step(1000)
    assert all(np.isfinite(s.positions).all() for s in boxes)
    assert 0.049 < scenes.place(boxes[1])[2] < 0.151
    assert not world.totals.converged


@pytest.mark.parametrize("speed", [1e3, 1e5])
def test_huge_velocities_stay_finite(speed):
    box = scenes.free(
        kido.Box((0.1, 0.1, 0.1)),
        1.0,
        (0, 0, 0.3),
        velocity=(speed, 0, -speed),
        angular_velocity=(speed, speed, 0),
    )
    world = scenes.world(box)
    energy = world.total_energy
    world.step(500)
    assert np.isfinite(box.positions).all() and np.isfinite(box.velocities).all()
    assert world.total_energy < energy
    assert np.isfinite(world.totals.residual)
