"""Robots at work by their models: motions, holds in two worlds, forces, what is measured, and mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from manipulation_robots import block, planar_arm

import kido
from kido.errors import ModelError, StateError
from kido.manipulation import (
    CollisionScene,
    Grasps,
    ModelControl,
    Operator,
    Part,
    RobotModel,
    door,
    find_parts,
    nut,
    straight_path,
)
from kido.manipulation.operator import Array
from kido.planning import PlanningError


def at(x: float, y: float = 0.0, z: float = 0.0) -> Array:
    X = np.eye(4)
    X[:3, 3] = x, y, z
    return X


def bench(mass: float = 2.0) -> tuple[Operator, Part]:
    """An arm of four joints over a block of 1 kg as its model has it, and of another mass in the world."""
    world = kido.World("bench", time_step=1e-3)
    robot = world.add_skeleton(kido.load("arm7"))
    robot.positions = [0.0, 0.6, 0.0, 1.2, 0.0, 0.9, 0.0]
    model = RobotModel(world)
    model.see("block", at(0.6, 0.0, 0.1), shape=kido.Box((0.06, 0.06, 0.06)), mass=1.0)
    real = model.fork()
    real.body("block").inertia = kido.Inertia.from_shape(kido.Box((0.06, 0.06, 0.06)), mass=mass)
    real.world.gravity = model.world.gravity = (0, 0, 0)  # the block waits
    control = real.world.add_controller(ModelControl(real.world.skeleton("arm7"), model))
    return Operator(control, real), model.part("arm", "arm7")


def wait(operator: Operator, seconds: float) -> None:
    operator.real.world.step(int(np.ceil(seconds / operator.real.world.time_step)) + 1, reset_command=False)


def test_motions_end_where_they_are_to_and_masses_are_found() -> None:
    operator, arm = bench()
    X = operator.model.body("block").world_transform
    above = X @ np.diag([1.0, -1.0, -1.0, 1.0]) @ at(0, 0, -0.16)
    wait(operator, operator.reach({arm: above}))
    robot = operator.real.world.skeleton("arm7")
    np.testing.assert_allclose(robot.body("hand").world_transform, above, atol=2e-3)
    wait(operator, operator.advance([arm], 0.05))
    name = operator.hold(operator.model.body("block"), arm.bodies[-1])
    assert operator.model.grasps.grasp(name).closes_loop is False and operator.real.grasps.grasp(name).closes_loop
    operator.control.record()
    operator.begin()
    path = straight_path(operator.model.body("block").world_transform, (0.0, 0.1, 0.15), turn=0.6)
    wait(operator, operator.carry(operator.model.body("block"), path))
    found = operator.control.estimate(operator.model.body("block"), arm)
    # What it has more than the model believes, by motion alone; it jerks where accelerations jump between periods.
    assert found.mass == pytest.approx(1.0, abs=1e-2)
    wait(operator, 0.5)  # errors decay by (1 + 20 t) exp(-20 t)
    np.testing.assert_allclose(operator.real.body("block").world_transform, path[-1], atol=5e-3)
    operator.release(name)
    assert not operator.model.grasps.held and not operator.real.grasps.held


def test_straight_motions_are_free_of_collisions_or_said_not_to_be() -> None:
    operator, arm = bench()
    tip, block = arm.forward_kinematics(), operator.model.body("block")
    operator.model.see("wall", tip @ at(0, 0, 0.12), shape=kido.Box((0.2, 0.2, 0.04)), mass=1.0)
    before = operator.control.reference()
    with pytest.raises(PlanningError, match=r"operator: 'hand' touches 'wall/wall/.*' after \d+% of the way"):
        operator.advance([arm], 0.15)
    for now, then in zip(operator.control.reference(), before, strict=True):
        np.testing.assert_array_equal(now, then)
    wall = operator.model.body("wall")
    assert operator.advance([arm], 0.15, touching=[wall]) > 0.0
    operator, arm = bench()
    operator.model.see("wall", tip @ at(0, 0, 0.12), shape=kido.Box((0.2, 0.2, 0.04)), mass=1.0)
    assert operator.advance([arm], 0.15, touching=None) > 0.0
    operator, arm = bench()
    block = operator.model.body("block")
    operator.hold(block, arm.bodies[-1])
    operator.model.see("wall", block.world_transform @ at(0, 0, -0.06), shape=kido.Box((0.2, 0.2, 0.04)), mass=1.0)
    with pytest.raises(PlanningError, match="'block' touches 'wall/wall/"):
        operator.carry(block, straight_path(block.world_transform, (0.0, 0.0, -0.03)))


def test_the_model_s_forces_hold_what_hangs_on_a_hand() -> None:
    """With the right mass, nothing moves: tau = g(q) of arm and block, to rounding."""
    operator, arm = bench(mass=1.0)
    operator.hold(operator.model.body("block"), arm.bodies[-1])
    operator.model.world.gravity = operator.real.world.gravity = (0, 0, -9.81)
    robot = operator.model.world.skeleton("arm7")
    np.testing.assert_allclose(operator.control.compute(), robot.gravity_forces, atol=1e-9)
    before = np.array(operator.real.world.skeleton("arm7").positions)
    wait(operator, 0.2)
    np.testing.assert_allclose(operator.real.world.skeleton("arm7").positions, before, atol=1e-7)


def test_a_tip_goes_through_poses_without_jumps() -> None:
    _, arm = bench()
    path = straight_path(arm.forward_kinematics(), (0.0, 0.1, 0.1), turn=0.5)
    rows = arm.follow(path)
    for q, X in zip(rows, path, strict=True):
        np.testing.assert_allclose(arm.forward_kinematics(q), X, atol=1e-6)
    assert np.abs(np.diff(rows, axis=0)).max() < 0.2
    with pytest.raises(StateError, match=r"part 'arm': follow: pose 1 of 2: it is not met"):
        arm.follow([path[0], at(9.0)])
    with pytest.raises(StateError, match=r"follow: pose 1 of 2: a coordinate would jump by"):
        arm.follow(path[[0, -1]], jump=1e-3)


def test_a_nut_comes_out_by_its_pitch() -> None:
    thing: Any = nut(0.04, 0.1, turns=2.0, pitch=0.01, friction=3.0)
    thing.positions = [3.0 * np.pi]
    np.testing.assert_allclose(thing.node("handle").world_transform[:3, 3], [0, 0, 0.02 + 0.015], atol=1e-15)
    assert thing.dofs[0].coulomb_friction == 3.0
    with pytest.raises(ModelError, match="nut 'nut': turns"):
        nut(turns=0.0)


def test_a_door_s_handle_is_where_it_is_pulled() -> None:
    leaf: Any = door(0.8, 2.0, 20.0, 0.04, pull=True, standoff=0.05)
    np.testing.assert_allclose(leaf.node("handle").world_transform[:3, 3], [0.72, 0.07, 1.0], atol=1e-15)
    with pytest.raises(ModelError, match="standoff: expected a length not below 0"):
        door(standoff=-1.0)


def test_what_drives_by_slides_is_a_base() -> None:
    parts = find_parts(kido.load("two_arms"))
    assert {name: part.num_dofs for name, part in parts.items()} == {
        "base": 3,
        "torso": 1,
        "left_arm": 7,
        "right_arm": 7,
    }


def test_closing_knows_where_what_stands_is() -> None:
    """A loop with what is welded to the world is closed where it is, also first of all: nothing moves."""
    world = kido.World()
    arm, post, cube = planar_arm(0.5, 0.5), kido.Skeleton("post"), block()
    weld = kido.WeldJoint("post_weld", transform_from_parent=(0.7, 0.7, 0.0))
    post.add_body("post", weld, None, kido.Inertia.from_diagonal(1.0, (1, 1, 1)))
    for skeleton in (arm, post, cube):
        world.add_skeleton(skeleton)
    arm.positions = [0.3, 0.9]
    grasps = Grasps(CollisionScene(world))
    joint: Any = cube.joints[0]
    joint.set_transform(arm.body("tip").world_transform)
    held = cube.body(0)
    grasps.attach(held, post.body(0), "post")
    grasps.attach(held, arm.body("tip"), "arm")
    np.testing.assert_allclose(arm.positions, [0.3, 0.9], atol=1e-12)


def test_mistakes() -> None:
    operator, arm = bench()
    control, model = operator.control, operator.model
    with pytest.raises(ModelError, match="controls no robot of"):
        Operator(control, model)
    with pytest.raises(ModelError, match="expected a RobotModel, got None"):
        ModelControl(control.skeleton, None)  # type: ignore[arg-type]
    with pytest.raises(StateError, match="measured: nothing was recorded"):
        control.measured()
    with pytest.raises(ModelError, match="no part of 'arm7' holds 'block'"):
        operator.carry(model.body("block"), [np.eye(4)])
    with pytest.raises(PlanningError):
        operator.reach({arm: at(9.0)})
    with pytest.raises(ModelError, match="the hand is part of the object"):
        operator.hold(arm.bodies[-1], arm.bodies[-1])
    assert not model.grasps.held
    for call in (lambda: operator.reach({}), lambda: operator.along({}), lambda: operator.advance([], 0.1)):
        with pytest.raises(ModelError, match=r"expected parts with tips, at least one, got \{\}"):
            call()
    for goals in (np.zeros((0, arm.num_dofs)), [1.0], "home", np.full(arm.num_dofs, np.nan)):
        with pytest.raises(ModelError, match=r"operator: move: goals: expected finite \(n, 7\), got"):
            operator.move(arm, goals)
    name = operator.hold(model.body("block"), arm.tip)
    with pytest.raises(kido.NameLookupError, match="no grasp that holds 'nothing'"):
        operator.release(name, "nothing")
    operator.real.grasps.detach(name)
    with pytest.raises(kido.NameLookupError, match="no grasp that holds"):
        operator.release(name)
    assert [grasp.name for grasp in model.grasps.held] == [name]
    other = planar_arm(0.5)
    with pytest.raises(kido.NameLookupError):
        ModelControl(other, model)
