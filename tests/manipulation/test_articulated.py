"""Doors, drawers and valves by their handles: F = I alpha / r, by formula and in a world."""

from __future__ import annotations

import numpy as np
import pytest
from manipulation_robots import block, planar_arm

import kido
from kido.manipulation import (
    CollisionScene,
    Grasps,
    door,
    drawer,
    handle_force,
    handle_path,
    valve,
)


def test_force_at_a_doors_handle() -> None:
    """I = m (w^2 / 3 + t^2 / 12) about the hinge; F = I alpha / r, r from the hinge to the handle."""
    panel = door(0.8, 2.0, 20.0, 0.04)
    handle, alpha = panel.node("handle"), 1.7
    inertia = 20.0 * (0.64 / 3 + 0.04**2 / 12)
    r = np.hypot(0.72, 0.02)
    for angle in (0.0, 0.7, 1.5):
        panel.positions = [angle]
        force, vector = handle_force(handle, alpha)
        assert force == pytest.approx(inertia * alpha / r, rel=1e-13)
        assert np.linalg.norm(vector) == pytest.approx(abs(force), rel=1e-13)
        out = np.array([-np.sin(angle), np.cos(angle), 0.0])  # across the door: the lever is 0.72 alone
        assert handle_force(handle, alpha, out)[0] == pytest.approx(inertia * alpha / 0.72, rel=1e-13)


def test_forces_at_drawers_and_valves() -> None:
    box, wheel = drawer(mass=3.0), valve(0.15, 2.0)
    assert handle_force(box.node("handle"), 2.0)[0] == pytest.approx(6.0, rel=1e-14)
    np.testing.assert_allclose(handle_force(box.node("handle"), 2.0)[1], [6.0, 0, 0], atol=1e-14)
    assert handle_force(wheel.node("handle"), 4.0)[0] == pytest.approx(0.5 * 2.0 * 0.15**2 * 4.0 / 0.15, rel=1e-13)
    damped = valve(0.2, 1.0)
    damped.joints[0].damping = 0.3
    damped.joints[0].spring_stiffness = 0.5
    damped.positions, damped.velocities = [0.4], [2.0]
    assert handle_force(damped.node("handle"), 0.0)[0] == pytest.approx((0.6 + 0.2) / 0.2, rel=1e-13)


def test_paths_of_handles() -> None:
    """A door's handle goes round the hinge, its z always the panel's normal."""
    panel = door(1.0, pose=[1.0, 2.0, 0.0])
    path = handle_path(panel.node("handle"), np.linspace(0, 1.2, 5))
    assert path.shape == (5, 4, 4)
    np.testing.assert_allclose(np.linalg.norm(path[:, :2, 3] - [1, 2], axis=1), np.hypot(0.9, 0.02), rtol=1e-14)
    np.testing.assert_allclose(path[:, :3, 2], [[np.sin(a), -np.cos(a), 0] for a in np.linspace(0, 1.2, 5)], atol=1e-14)
    np.testing.assert_array_equal(panel.positions, [0.0])


def test_a_hand_feels_the_door_that_it_pulls() -> None:
    """A sliding block of prescribed acceleration holds the handle, free to turn: the loop's force is I alpha / r.

    At rest, closed: the handle moves along y by a = alpha r, so that F = I a / r^2, measured in one step of 1e-4 s,
    whose middle is 1e-8 of an angle away.
    """
    world = kido.World(gravity=(0, 0, 0), time_step=1e-4)
    panel = world.add_skeleton(door(0.8, 2.0, 20.0, 0.04))
    hand = kido.Skeleton("hand")
    node = panel.node("handle")
    place = np.eye(4)
    place[:3, 3] = node.world_transform[:3, 3]
    body = hand.add_body("hand", kido.PrismaticJoint("slide", axis=(0, 1, 0), transform_from_parent=place), None,
                         kido.Inertia.from_diagonal(1.0, (1, 1, 1)))  # fmt: skip
    world.add_skeleton(hand)
    hand.joints[0].actuator_type = kido.ActuatorType.FORCE
    lever = 0.72
    inertia = 20.0 * (0.64 / 3 + 0.04**2 / 12)
    constraint = world.add_constraint(
        kido.PointOnPlaneConstraint(panel.body("door"), body, axis=(0, 1, 0), at=place[:3, 3])
    )
    total = inertia / lever**2 + 1.0  # what the hand's force moves: the door at its handle, and the hand
    hand.forces = [3.0 * total]
    world.step()
    assert panel.velocities[0] / 1e-4 == pytest.approx(3.0 / lever, rel=1e-6)
    force = abs(constraint.wrench()[4])
    assert force == pytest.approx(handle_force(node, 3.0 / lever, (0, 1, 0))[0], rel=1e-6)
    assert force == pytest.approx(inertia * 3.0 / lever**2, rel=1e-6)


def test_an_arm_takes_the_handle_and_opens_the_door() -> None:
    """A 3R arm holds the handle of a wheel, free to turn about it: the loop is kept while it turns."""
    world = kido.World(gravity=(0, 0, 0))
    arm = world.add_skeleton(planar_arm(0.5, 0.5, 0.2, base=(-0.6, 0.0, 0.0)))
    arm.positions = [0.8, -1.5, 0.5]
    tip = arm.body("tip")
    hub = np.eye(4)
    hub[:3, 3] = tip.world_transform[:3, 3] - [0.15, 0.0, 0.0]
    wheel = world.add_skeleton(valve(0.15, 2.0, hub))
    grasps = Grasps(CollisionScene(world))
    grasp = grasps.attach(wheel.node("handle"), tip, free_axis=(0, 0, 1))
    assert grasp.closes_loop
    assert grasps.payload(tip) == {}  # the stem carries it
    for _ in range(100):
        arm.forces = [0.5, 0.5, 0.5]
        world.step()
    assert wheel.positions[0] > 1e-3
    X, Y = tip.world_transform, wheel.body("valve").world_transform
    held = np.linalg.inv(Y) @ X
    np.testing.assert_allclose(held[:3, 3], [0.15, 0, 0], atol=1e-9)
    grasps.detach(grasp)
    assert grasps.held == ()


def test_a_door_that_leaves_the_world_is_let_go() -> None:
    world = kido.World(gravity=(0, 0, 0))
    arm, panel = world.add_skeleton(planar_arm(0.5, 0.4)), world.add_skeleton(door(pose=[0.3, 0.6, 0.0]))
    grasps = Grasps(CollisionScene(world))
    grasp = grasps.attach(panel.node("handle"), arm.body("tip"))
    world.remove_skeleton(panel)
    grasps.detach(grasp)
    assert (grasps.held, world.constraints, world.collision_filter.pairs) == ((), (), ())


def test_momentum_of_taking_a_turning_wheel() -> None:
    """A resting floating block takes the rim: angular momentum about the hub, which bears the rest, is kept."""
    world = kido.World(gravity=(0, 0, 0))
    wheel, item = world.add_skeleton(valve(0.2, 2.0, turns=50.0)), world.add_skeleton(block(mass=0.5))
    wheel.positions, wheel.velocities = [1.0], [3.0]
    item.positions = [0, 0, 0, 0.3, 0.1, 0.0]
    about = 0.5 * 2.0 * 0.04 * 3.0
    grasp = Grasps(CollisionScene(world)).attach(wheel.body("valve"), item.body("block"))
    w = wheel.velocities[0]
    inertia = 0.5 * 2.0 * 0.04 + 0.5 * (0.1 + 0.05**2 / 6)
    assert w == pytest.approx(about / inertia, rel=1e-12)
    assert grasp.energy_lost == pytest.approx(0.5 * (about * 3.0 - inertia * w**2), rel=1e-10)


def test_mistakes_are_named() -> None:
    with pytest.raises(kido.ModelError, match="does not move 'door'"):
        handle_force(door().node("handle"), 1.0, (0, 0, 1))
    with pytest.raises(kido.ModelError, match="has 6 coordinates"):
        handle_force(block().body(0), 1.0)
    with pytest.raises(kido.ModelError, match="mass"):
        door(mass=0.0)
    with pytest.raises(kido.ModelError, match="size"):
        drawer(width=-1.0)
    with pytest.raises(kido.ModelError, match="accelerations"):
        handle_force(valve().node("handle"), np.nan)
