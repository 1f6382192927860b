"""Bodies that users move: they carry others with the right velocity, are not pushed, and squeeze without energy."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from scenes import free, pose, world

G = 9.81


def moved(shape, position, velocity=(0.0, 0.0, 0.0), angular_velocity=(0.0, 0.0, 0.0), **options) -> kido.Skeleton:
    skeleton = free(shape, 1.0, position, velocity=velocity, angular_velocity=angular_velocity, name="moved", **options)
    skeleton.kinematic = True
    return skeleton


def cube(position, edge=0.1, mass=1.0, **options) -> kido.Skeleton:
    return free(kido.Box((edge,) * 3), mass, position, name="box", **options)


def test_a_body_rides_on_a_conveyor_with_its_velocity() -> None:
    """It is dragged with mu g until it has the belt's speed, v^2 / (2 mu g) behind, and stays with it exactly."""
    belt = moved(kido.Box((20, 1, 0.1)), (0, 0, -0.05), velocity=(1.0, 0, 0), friction=0.5)
    box = cube((0, 0, 0.05))
    w = world(belt, box, ground=False, restitution=0.0)
    w.step(1000)
    np.testing.assert_allclose(box.velocities, [0, 0, 0, 1.0, 0, 0], atol=2e-6)
    assert box.positions[3] == pytest.approx(1.0 - 1.0 / (2 * 0.5 * G), abs=1e-4)
    assert box.positions[5] == pytest.approx(0.05, abs=1e-5)
    np.testing.assert_array_equal(belt.velocities, [0, 0, 0, 1.0, 0, 0])
    np.testing.assert_allclose(belt.positions, [0, 0, 0, 1.0, 0, -0.05], atol=1e-12)


def test_a_lift_bears_a_load_and_tells_what_it_takes() -> None:
    lift, box = moved(kido.Box((1, 1, 0.1)), (0, 0, 0), velocity=(0, 0, 0.5)), cube((0.2, 0, 0.1), mass=3.0)
    w = world(lift, box, ground=False, restitution=0.0)
    w.step(500)
    assert box.positions[5] == pytest.approx(0.1 + 0.25, abs=2e-5)
    assert w.contact_force(lift.body(0), box.body(0))[2] == pytest.approx(3.0 * G, rel=1e-3)
    assert lift.actuator_forces[5] == pytest.approx((3.0 + 1.0) * G, rel=1e-3)


def test_a_turning_body_goes_straight_on() -> None:
    """Constant angular velocity in the body, constant velocity of its origin; gravity and forces do nothing."""
    body = moved(kido.Box((0.3, 0.2, 0.1)), (0, 0, 5), velocity=(1, 2, 3), angular_velocity=(0.5, -1.0, 2.0))
    w = world(body, ground=False)
    body.body(0).add_external_force([100.0, 0, 0])
    w.step(1000)
    np.testing.assert_allclose(body.positions[3:], [1, 2, 8], atol=1e-11)
    still = free(kido.Sphere(1.0), 1.0, (0, 0, 0))
    turned = still.integrate_positions(np.zeros(6), [0.5, -1.0, 2.0, 0, 0, 0])
    np.testing.assert_allclose(body.positions[:3], turned[:3], atol=1e-11)


def test_move_to_leads_there_exactly() -> None:
    paddle = moved(kido.Box((0.3, 0.2, 0.1)), (0, 0, 0), rotation=(0.3, 0.2, -0.4))
    w = world(paddle, ground=False)
    for k in range(20):
        goal = np.array([0.02 * k, 0.1 * np.sin(0.1 * k), -0.4, 0.01 * k, 0.3 * np.cos(0.2 * k), 0.0])
        paddle.move_to(goal)
        w.step()
        np.testing.assert_allclose(paddle.positions, goal, atol=1e-13)
    goal = np.array([0.0, 0.0, 1.0, 1.0, 2.0, 3.0])
    paddle.move_to(goal, duration=0.05)
    w.step(50)
    np.testing.assert_allclose(paddle.positions, goal, atol=1e-12)


def test_a_sweeping_arm_pushes_a_ball_and_is_not_pushed() -> None:
    """All of a kinematic robot is prescribed, with its limits, springs and gravity switched off."""
    arm = kido.Skeleton("arm")
    hinge = kido.RevoluteJoint("hinge", axis=(0, 0, 1), transform_from_parent=pose((0, 0, 0.1)))
    body = arm.add_body("arm", hinge)
    body.add_shape(kido.Box((1.0, 0.05, 0.1)), transform=pose((0.5, 0, 0)))
    arm.kinematic = True
    arm.velocities = [2.0]
    hinge.position_upper_limit = [0.5]
    ball = free(kido.Sphere(0.05), 50.0, (0.8, 0.3, 0.051), friction=0.0)
    w = world(arm, ball, restitution=0.0)
    w.step(300)
    assert arm.positions[0] == pytest.approx(0.6, abs=1e-12) and arm.velocities[0] == 2.0
    assert np.linalg.norm(ball.positions[3:5]) > 0.85 and np.linalg.norm(ball.velocities[3:]) > 1.5


@pytest.mark.parametrize("shape", [kido.Box((0.1,) * 3), kido.Sphere(0.05), kido.Cylinder(0.05, 0.1)], ids=str)
@pytest.mark.parametrize("speed", [0.1, 2.0])
def test_what_is_crushed_is_not_thrown_out(shape, speed) -> None:
    """A plate presses a body flat: penetration is as large as it must be, and there is no energy to speak of."""
    plate = moved(kido.Box((1, 1, 0.1)), (0, 0, 0.2), velocity=(0, 0, -speed))
    body = free(shape, 1.0, (0.01, 0.02, 0.05), name="body")
    w = world(plate, body, restitution=0.0)
    largest = 0.0
    for _ in range(int(0.12 / speed / 0.004)):
        w.step(4)
        largest = max(largest, body.kinetic_energy)
    assert largest < 0.5 * speed**2 and w.unconverged_steps == 0
    plate.velocities = np.zeros(6)
    w.step(100)
    assert body.kinetic_energy < 1e-6 and np.abs(body.positions).max() < 0.2


def test_bodies_on_one_lift_are_islands_of_their_own() -> None:
    """A prescribed body is like a wall: what happens to one load does not change a bit of another."""

    def lone(second: bool) -> np.ndarray:
        lift = moved(kido.Box((2, 1, 0.1)), (0, 0, 0), velocity=(0.3, 0, 0.5))
        first = cube((-0.5, 0, 0.1), rotation=(0, 0, 0.3))
        others = [free(kido.Sphere(0.05), 2.0, (0.5, 0, 0.1), name="ball")] if second else []
        w = world(lift, first, *others, ground=False, restitution=0.0)
        w.step(300)
        return first.positions

    np.testing.assert_array_equal(lone(False), lone(True))


def test_bad_input_and_what_travels() -> None:
    body = free(kido.Sphere(0.1), 1.0, (0, 0, 1))
    with pytest.raises(kido.ModelError, match="moved by forces"):
        body.move_to(np.zeros(6), 1.0)
    with pytest.raises(kido.ModelError, match="kinematic"):
        body.kinematic = "yes"
    body.kinematic = True
    with pytest.raises(kido.ModelError, match="give duration"):
        body.move_to(np.zeros(6))
    for bad in (0.0, -1.0, float("nan"), "soon"):
        with pytest.raises(kido.ModelError, match="positive"):
            body.move_to(np.zeros(6), bad)
    with pytest.raises(kido.StateError, match="finite"):
        body.move_to([np.nan] * 6, 1.0)
    with pytest.raises(kido.StateError, match="takes no commands"):
        body.commands = np.ones(6)
    with pytest.raises(kido.ModelError, match="kinematic"):
        body.body(0).push([1.0, 0, 0])
    assert body.clone().kinematic
    properties = kido.SavedProperties.from_json(body.properties.to_json())
    body.kinematic = False
    body.properties = properties
    assert body.kinematic
