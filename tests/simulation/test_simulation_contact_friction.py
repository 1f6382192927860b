"""Sliding, sticking and rolling in a world against Coulomb's law in closed form.

The scheme's own error is known: positions are sums of mean velocities, so that constant accelerations are
exact, and only the step in which a motion starts to stick or to roll costs at most a h^2 / 8, for the
acceleration a that ends there. What is left is the solver's tolerance.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kido
import scenes
from scenes import G

H = 2e-3
SOLVER = 2e-7  # [m or m/s] from the solver's tolerance of 1e-6 on impulses


@pytest.mark.parametrize(("degrees", "push"), [(45, 1.2), (30, 1.5), (0, 1.2)])
@pytest.mark.parametrize("mu", [0.2, 0.7])
def test_push_at_an_angle(degrees, push, mu):
    """(k - 1) mu g t^2 / 2 along the push, nothing across it: no pyramid, no box."""
    box = scenes.free(kido.Box((0.2, 0.2, 0.2)), 3.0, (0, 0, 0.1), friction=mu)
    world = scenes.world(box, friction=mu, time_step=H)
    direction = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees)), 0.0])
    box.bodies[0].add_external_force(push * mu * 3.0 * G * direction)
    world.step(500)
    moved = scenes.place(box) - [0, 0, 0.1]
    assert moved @ direction == pytest.approx((push - 1) * mu * G / 2, abs=SOLVER)
    assert np.linalg.norm(moved - (moved @ direction) * direction) < SOLVER
    assert world.totals.converged


@pytest.mark.parametrize("push", [0.5, 0.999])
def test_push_below_the_cone_moves_nothing(push):
    box = scenes.free(kido.Box((0.2, 0.2, 0.2)), 3.0, (0, 0, 0.1), friction=0.5)
    world = scenes.world(box, friction=0.5, time_step=H)
    box.bodies[0].add_external_force(push * 0.5 * 3.0 * G * np.array([0.6, 0.8, 0.0]))
    world.step(500)
    assert np.abs(scenes.place(box) - [0, 0, 0.1]).max() < SOLVER


@pytest.mark.parametrize("mu", [0.2, 0.4, 0.7])
@pytest.mark.parametrize("degrees", [0, 45])
def test_slide_to_a_stop(mu, degrees):
    """v0^2 / (2 mu g), beyond it at most mu g h^2 / 8."""
    box = scenes.free(kido.Box((0.5, 0.5, 0.5)), 125.0, (0, 0, 0.25), friction=mu)
    world = scenes.world(box, friction=mu, time_step=H)
    world.step(500)
    direction = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees)), 0.0])
    start = scenes.place(box)
    turned = Rotation.from_rotvec(box.positions[:3]).inv()
    box.velocities = [0, 0, 0, *turned.apply(2.0 * direction)]
    world.step(int(2.0 / (mu * G) / H) + 100)
    moved = scenes.place(box) - start
    assert moved @ direction - 4.0 / (2 * mu * G) == pytest.approx(0.0, abs=mu * G * H**2 / 8 + SOLVER)
    assert np.linalg.norm(moved - (moved @ direction) * direction) < SOLVER
    assert scenes.speed([box]) < 1e-6


def on_incline(degrees: float, shape, height: float, mu: float, mass: float = 1.0, **options):
    """World with a body on an inclined plane, the body, and the downhill direction."""
    angle = np.radians(degrees)
    normal = np.array([-np.sin(angle), 0.0, np.cos(angle)])
    plane = scenes.fixed(kido.Plane(normal=tuple(normal)), friction=mu)
    body = scenes.free(shape, mass, height * normal, rotation=(0, -angle, 0), friction=mu)
    world = scenes.world(body, plane, ground=False, **options)
    return world, body, np.array([-np.cos(angle), 0.0, -np.sin(angle)])


@pytest.mark.parametrize("mu", [0.7, 0.37])
def test_a_box_on_an_incline_does_not_creep(mu):
    """20 degrees (tan = 0.364) for 10 s; peers creep by 4 to 1,600 um/s."""
    world, box, _ = on_incline(20.0, kido.Box((0.2, 0.2, 0.2)), 0.1, mu, time_step=H)
    start = scenes.place(box)
    world.step(5000)
    assert np.abs(scenes.place(box) - start).max() < 1e-7


def test_a_box_slides_down_where_friction_is_too_small():
    world, box, downhill = on_incline(20.0, kido.Box((0.2, 0.2, 0.2)), 0.1, 0.3, time_step=H)
    start = scenes.place(box)
    world.step(500)
    acceleration = G * (np.sin(np.radians(20)) - 0.3 * np.cos(np.radians(20)))
    assert (scenes.place(box) - start) @ downhill == pytest.approx(acceleration / 2, abs=SOLVER)


def test_a_sphere_rolls_down():
    """v = (5/7) g sin(theta) t, without slip."""
    world, ball, downhill = on_incline(15.0, kido.Sphere(0.05), 0.05, 1.0, mass=0.1)
    world.step(1000)
    speed = 5 / 7 * G * np.sin(np.radians(15))
    assert scenes.velocity(ball) @ downhill == pytest.approx(speed, rel=1e-9)
    assert np.linalg.norm(scenes.spin(ball)) * 0.05 == pytest.approx(speed, rel=1e-9)


def test_a_sphere_slides_then_rolls():
    """From v0 = 2 it slides until t = 2 v0 / (7 mu g) and then rolls at 5 v0 / 7."""
    ball = scenes.free(kido.Sphere(0.05), 0.1, (0, 0, 0.05), velocity=(2, 0, 0), friction=0.3)
    world = scenes.world(ball, friction=0.3)
    end = 2 * 2.0 / (7 * 0.3 * G)
    world.step(int(end / 1e-3))
    slip = scenes.velocity(ball)[0] - 0.05 * scenes.spin(ball)[1]
    assert slip == pytest.approx(3.5 * 0.3 * G * (end - world.time), abs=1e-9)
    world.step(1000)
    assert scenes.velocity(ball)[0] == pytest.approx(10 / 7, rel=1e-9)
    distance = 12 * 4.0 / (49 * 0.3 * G) + (world.time - end) * 10 / 7
    assert scenes.place(ball)[0] == pytest.approx(distance, abs=0.3 * G * 1e-6 / 8 + 1e-9)


def test_backspin_brings_a_ball_back():
    """Sliding friction conserves angular momentum about the line of contact: v = (5 v0 + 2 r w0) / 7."""
    ball = scenes.free(
        kido.Sphere(0.1), 0.5, (0, 0, 0.1), velocity=(1, 0, 0), angular_velocity=(0, -60, 0), friction=0.4
    )
    world = scenes.world(ball, friction=0.4)
    world.step(800)
    final = (5 * 1.0 - 2 * 0.1 * 60) / 7
    assert final < 0
    assert scenes.velocity(ball)[0] == pytest.approx(final, abs=1e-8)
    assert 0.1 * scenes.spin(ball)[1] == pytest.approx(final, abs=1e-8)


def test_a_ball_that_only_spins_is_not_moved():
    """A point contact has no moment about its normal."""
    ball = scenes.free(kido.Sphere(0.1), 0.5, (0, 0, 0.1), angular_velocity=(0, 0, 30))
    world = scenes.world(ball)
    world.step(500)
    np.testing.assert_allclose(scenes.place(ball), [0, 0, 0.1], atol=1e-9)
    np.testing.assert_allclose(scenes.spin(ball), [0, 0, 30], atol=1e-9)


def test_a_spinning_box_is_braked_by_its_four_corners():
    """Corners at radius r carry m g / 4 each: the spin falls by mu m g r / I, and the box stays where it is."""
    box = scenes.free(kido.Box((0.2, 0.2, 0.02)), 1.0, (0, 0, 0.01), angular_velocity=(0, 0, 30), friction=0.3)
    world = scenes.world(box, friction=0.3)
    world.step(100)
    radius, inertia = 0.1 * np.sqrt(2), (0.2**2 + 0.2**2) / 12
    assert scenes.spin(box)[2] == pytest.approx(30 - 0.3 * G * radius / inertia * 0.1, abs=2e-3)
    np.testing.assert_allclose(scenes.place(box)[:2], 0.0, atol=1e-4)


def test_friction_is_that_of_the_slipperier_surface():
    boxes = [
        scenes.free(kido.Box((0.2, 0.2, 0.2)), 1.0, (0, y, 0.1), velocity=(1, 0, 0), friction=mu, name=f"box{mu}")
        for y, mu in ((0, 0.2), (1, 0.5), (2, 0.9))
    ]
    world = scenes.world(*boxes, friction=0.5)
    world.step(100)
    for box, mu in zip(boxes, (0.2, 0.5, 0.5), strict=True):
        assert scenes.velocity(box)[0] == pytest.approx(1 - mu * G * 0.1, abs=1e-6)


@pytest.mark.parametrize(("mu", "slides"), [(0.30, True), (0.36, False)])
def test_a_ladder_against_a_smooth_wall(mu, slides):
    """A uniform ladder at an angle a to the ground stands iff mu > 1 / (2 tan a): 0.329 at 56.7 degrees."""
    angle, length, radius = np.arctan(1 / (2 * 0.329)), 2.0, 0.02
    x, z = length / 2 * np.cos(angle) + radius, length / 2 * np.sin(angle) + radius
    ladder = scenes.free(kido.Capsule(radius, length), 5.0, (x, 0, z), rotation=(0, angle - np.pi / 2, 0), friction=mu)
    wall = scenes.fixed(kido.Plane(normal=(1, 0, 0)), friction=0.0, name="wall")
    world = scenes.world(ladder, wall, friction=mu)
    world.step(1000)
    drop = z - scenes.place(ladder)[2]
    assert (drop > 0.05) if slides else (abs(drop) < 1e-5)
