"""Scenes: padding, hiding, levels of detail, reasons from descriptions and samples."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from manipulation_robots import ROBOTS, block, planar_arm

import kido
from kido.manipulation import (
    CollisionError,
    CollisionScene,
    Grasps,
    RobotDescription,
    find_parts,
    sample_disabled_pairs,
)


def two_blocks(gap: float) -> tuple[kido.World, CollisionScene]:
    """Cubes of 5 cm whose faces are this far apart along x."""
    world = kido.World(gravity=(0, 0, 0))
    for k in range(2):
        world.add_skeleton(block(f"block{k}")).positions = [0, 0, 0, k * (0.05 + gap), 0, 0]
    return world, CollisionScene(world)


def test_padding_is_of_the_scene_and_of_single_shapes() -> None:
    """A gap of 10 mm is closed by 6 + 5 mm, not by 6 + 3; the world has neither."""
    world, scene = two_blocks(0.01)
    a, b = world.skeletons
    assert scene.clearance().distance == pytest.approx(0.01, abs=1e-12)
    scene.set_padding(a, 0.006)
    scene.set_padding(b.body(0).shape(0), 0.003)
    assert scene.clearance().distance == pytest.approx(0.001, abs=1e-12)
    assert scene.is_free()
    scene.set_padding(b.body(0), 0.005)
    assert scene.clearance().distance == pytest.approx(-0.001, abs=1e-12)
    assert not scene.is_free()
    assert scene.padding(b.body(0).shape(0)) == 0.005
    assert world.collision_group.distance().distance == pytest.approx(0.01, abs=1e-12)
    scene.set_padding(a, 0.0)
    assert scene.clearance().distance == pytest.approx(0.005, abs=1e-12)


def test_hidden_shapes_are_left_out() -> None:
    world, scene = two_blocks(-0.01)
    a, b = (s.body(0) for s in world.skeletons)
    assert not scene.is_free()
    assert not scene.allowed(a, b)
    assert scene.tested_pairs() == [(a, b)]
    scene.hide(a)
    assert (scene.is_hidden(a), scene.is_hidden(world.skeleton(1))) == (True, False)
    assert (scene.is_free(), scene.allowed(a, b), scene.tested_pairs()) == (True, True, [])
    assert world.collision_group.collide()
    scene.show(a)
    assert not scene.is_free()


def test_collisions_are_named() -> None:
    _, scene = two_blocks(-0.01)
    with pytest.raises(CollisionError, match=r"^start: in collision: block0/block0 with block1/block1$") as caught:
        scene.require_free("start")
    assert len(caught.value.pairs) == 1
    two_blocks(0.01)[1].require_free("goal")


def test_coarser_details_hold_the_finer() -> None:
    """A capsule askew: nearer the coarser; the sphere around a box of sides a has radius a sqrt(3) / 2."""
    world, scene = two_blocks(0.2)
    assert scene.clearance(detail="box").distance == pytest.approx(0.2, abs=1e-12)
    radius = 0.025 * np.sqrt(3.0)
    assert scene.clearance(detail="sphere").distance == pytest.approx(0.25 - 2 * radius, abs=1e-9)
    body = world.skeleton(0).body(0)
    body.add_shape(kido.Capsule(0.01, 0.1), transform=(kido.math.exp_pose([0.4, 0.5, 0.6, 0.02, 0.03, 0.01])))
    rng = np.random.default_rng(0)
    for _ in range(30):
        world.skeleton(1).positions = [*rng.normal(size=3), *rng.uniform(-0.3, 0.3, 3)]
        exact, box, sphere = (scene.clearance(detail=d).distance for d in ("exact", "box", "sphere"))
        if exact > 0.0:
            assert box <= exact + 1e-9
            assert sphere <= exact + 1e-9
    ground = world.add_ground(-1.0)
    assert scene.clearance(detail="sphere").object_b is not None
    assert ground.body(0).shape(0).shape.collides


def test_moved_shapes_are_seen_at_every_detail() -> None:
    world, scene = two_blocks(0.2)
    assert scene.clearance(detail="box").distance == pytest.approx(0.2, abs=1e-12)
    X = np.eye(4)
    X[0, 3] = 0.1
    world.skeleton(0).body(0).shape(0).relative_transform = X
    assert scene.clearance(detail="box").distance == pytest.approx(0.1, abs=1e-12)


@pytest.fixture(scope="module")
def panda(example_robots: Path) -> tuple[kido.Skeleton, RobotDescription]:
    robot = kido.load_skeleton(example_robots / ROBOTS["panda"])
    return robot, RobotDescription.read(example_robots / "panda_description/srdf/panda.srdf")


def test_disabled_pairs_become_reasons(panda: tuple[kido.Skeleton, RobotDescription]) -> None:
    robot, description = panda
    world = kido.World()
    robot = world.add_skeleton(robot.clone())
    scene = CollisionScene(world)
    count = scene.describe(robot, description)
    assert 20 < count <= len(description.disabled)
    link1, link3, link5 = (robot.body(f"panda_link{k}") for k in (1, 3, 5))
    assert scene.reasons(link1, link3) >= {"srdf: Never"}
    reason = next(p.reason for p in description.disabled if {p.link1, p.link2} == {"panda_link3", "panda_link5"})
    assert f"srdf: {reason}" in scene.reasons(link3, link5)
    solid = {b.name for b in robot.bodies if any(s.collision for s in b.shapes)}
    named = {frozenset((p.link1, p.link2)) for p in description.disabled}
    for pair in named:
        if pair <= solid:
            assert scene.allowed(*(robot.body(name) for name in pair))
    for a, b in scene.tested_pairs():
        assert frozenset((a.name, b.name)) not in named
    assert scene.describe(robot, replace(description, disabled=())) == 0  # what was given goes
    assert world.collision_filter.pairs == ()


def test_sampled_pairs_of_a_planar_arm() -> None:
    """Bars of 3R: neighbours adjacent; the first and the third touch only if the second is short enough."""
    short, long = planar_arm(0.5, 0.1, 0.5), planar_arm(0.1, 0.5, 0.1)
    pairs = {frozenset((p.link1, p.link2)): p.reason for p in sample_disabled_pairs(short, 200)}
    assert pairs == {frozenset(("link0", "link1")): "Adjacent", frozenset(("link1", "link2")): "Adjacent"}
    pairs = {frozenset((p.link1, p.link2)): p.reason for p in sample_disabled_pairs(long, 200)}
    assert pairs[frozenset(("link0", "link2"))] == "Never"
    crossed = planar_arm(0.5, 0.02, 0.5)
    crossed.positions = [0.0, 3.0, 0.0]  # folded
    pairs = {frozenset((p.link1, p.link2)): p.reason for p in sample_disabled_pairs(crossed, 200)}
    assert pairs[frozenset(("link0", "link2"))] == "Default"


def test_sampled_pairs_of_panda_agree_with_its_description(panda: tuple[kido.Skeleton, RobotDescription]) -> None:
    """What MoveIt's assistant found adjacent is, and of its pairs that never touch few do in 300 samples."""
    robot, description = panda
    found = {frozenset((p.link1, p.link2)): p.reason for p in sample_disabled_pairs(robot, 300)}
    solid = {b.name for b in robot.bodies if any(s.collision for s in b.shapes)}
    theirs = [(frozenset((p.link1, p.link2)), p.reason) for p in description.disabled if {p.link1, p.link2} <= solid]
    assert len(theirs) > 15
    agreed = sum(pair in found for pair, _ in theirs)
    assert agreed >= 0.8 * len(theirs)


def test_planners_see_what_the_scene_has() -> None:
    """What the checker calls free is free, at 500 states, with padding, a held object and a hidden obstacle."""
    world = kido.World(gravity=(0, 0, 0))
    arm = world.add_skeleton(planar_arm(0.5, 0.4, 0.3))
    arm.self_collision = True
    for k, place in enumerate([(0.6, 0.6, 0.0), (-0.5, 0.7, 0.0), (0.9, -0.1, 0.0), (0.4, -0.6, 0.0)]):
        world.add_skeleton(block(f"block{k}")).positions = [0, 0, 0, *place]
    scene, held = CollisionScene(world), world.skeleton("block2").body("block2")
    scene.set_padding(arm, 0.01)
    scene.set_padding(world.skeleton("block0"), 0.02)
    scene.hide(world.skeleton("block1"))
    arm.positions = [0.0, -0.5, 0.6]
    Grasps(scene).attach(held, arm.body("tip"))
    part = find_parts(arm)["arm"]
    checker = scene.checker(part, without=[world.skeleton("block3")], tolerance=0.004, max_spheres=200)
    scene.hide(world.skeleton("block3"))
    rng = np.random.default_rng(1)
    states = rng.uniform(-2.5, 2.5, (500, 3))
    free, exact = checker.states_are_free(states), []
    for state in states:
        part.positions = state
        exact.append(scene.is_free())
    exact = np.array(exact)
    assert not (free & ~exact).any()
    assert 0.1 < exact.mean() < 0.99
    assert (free == exact).mean() > 0.9  # spheres stand out by 4 mm, and margins are the largest of all
    with pytest.raises(kido.ModelError, match="expected a part of a robot"):
        scene.checker(find_parts(planar_arm(0.5))["arm"])


def test_planners_test_a_robot_against_itself() -> None:
    """Also one whose steps do not; while something hangs on it, too; but for pairs with a reason of their own."""
    world = kido.World(gravity=(0, 0, 0))
    arm = world.add_skeleton(planar_arm(0.5, 0.4, 0.3))
    scene, part = CollisionScene(world), find_parts(arm)["arm"]
    states = np.random.default_rng(2).uniform(-3.1, 3.1, (400, 3))
    alone = scene.checker(part).states_are_free(states)
    assert not arm.self_collision and 0.02 < (~alone).mean() < 0.5
    cube = world.add_skeleton(block("cube"))
    arm.positions = [0.0, 0.5, 0.6]
    joint: Any = cube.joints[0]
    joint.set_transform(arm.body("tip").world_transform)
    grasps = Grasps(scene)
    grasps.attach(cube.body(0), arm.body("tip"))
    holding = scene.checker(part).states_are_free(states)
    assert not (holding & ~alone).any() and (holding != alone).any()
    solid = [body for body in arm.bodies if body.shapes]
    for k, first in enumerate(solid):
        for second in solid[:k]:
            scene.filter.add(first, second, "may touch")
    assert scene.checker(part).states_are_free(states).all()


def test_planners_have_the_scene_s_hiding_and_reasons() -> None:
    """What the checker calls free is free and the other way round, at 400 states: distances of shapes decide in both.

    A link is hidden, one link may touch one block and all may touch another; the first block is an obstacle to others.
    """
    world = kido.World(gravity=(0, 0, 0))
    arm = world.add_skeleton(planar_arm(0.5, 0.4, 0.3))
    arm.self_collision = True
    for k, place in enumerate([(0.6, 0.5, 0.0), (-0.5, 0.7, 0.0), (0.5, -0.5, 0.0)]):
        world.add_skeleton(block(f"block{k}", size=(0.2, 0.2, 0.2))).positions = [0, 0, 0, *place]
    scene, part = CollisionScene(world), find_parts(arm)["arm"]
    states = np.random.default_rng(3).uniform(-2.5, 2.5, (400, 3))

    def compare() -> tuple[np.ndarray, np.ndarray]:
        checked, exact = scene.checker(part).states_are_free(states), []
        for state in states:
            part.positions = state
            exact.append(scene.is_free())
        return checked, np.array(exact)

    alone = compare()[1]
    scene.hide(arm.body("link2"))
    scene.filter.add(arm.body("link1"), world.skeleton("block0").body(0), "mine")
    for body in arm.bodies:
        scene.filter.add(body, world.skeleton("block1").body(0), "mine")
    checked, exact = compare()
    assert np.array_equal(checked, exact)
    assert exact.sum() > alone.sum() + 40 and (~exact).sum() > 20
    scene.set_padding(world.skeleton("block0"), 0.05)
    checked, exact = compare()
    assert not (checked & ~exact).any() and (~exact).sum() > 20
    name = scene.checker(part).contact(states[np.flatnonzero(~checked)[0]])
    assert name is not None and "block" in name[1]
    assert scene.checker(part).skeleton is arm
    assert scene.checker(part, self_collision=False).states_are_free(states).sum() >= checked.sum()


def test_what_an_object_rests_on_is_left_by_plans() -> None:
    """A held block touches its support at the start; its arm may not."""
    world = kido.World(gravity=(0, 0, 0))
    arm = world.add_skeleton(planar_arm(0.5, 0.4, 0.3))
    held = world.add_skeleton(block("held"))
    table = world.add_skeleton(block("table", size=(0.1, 0.1, 0.1)))
    held.positions, table.positions = [0, 0, 0, 1.25, 0, 0], [0, 0, 0, 1.32, 0, 0]
    scene, part = CollisionScene(world), find_parts(arm)["arm"]
    Grasps(scene).attach(held.body(0), arm.body("tip"), supports=[table.body(0)])
    assert scene.is_free() and scene.checker(part).is_free(part.positions)
    table.positions = [0, 0, 0, 1.0, 0, 0]
    assert not scene.is_free()
    assert scene.checker(part).contact(part.positions) == ("link2", "table/table/box")


def test_a_part_of_a_loop_is_planned_with_its_loop() -> None:
    world = kido.World(gravity=(0, 0, 0))
    for k in range(2):
        world.add_skeleton(planar_arm(0.5, 0.4, 0.3, name=f"arm{k}", base=(0.0, 1.0 * k, 0.0)))
    cup = world.add_skeleton(block("cup"))
    cup.positions = [0, 0, 0, 1.0, 0.5, 0]
    scene = CollisionScene(world)
    grasps, part = Grasps(scene), find_parts(world.skeleton("arm0"))["arm"]
    grasps.attach(cup.body(0), world.skeleton("arm0").body("tip"))
    scene.checker(part)
    loop = grasps.attach(cup.body(0) if cup.num_bodies else grasps.held[0].body, world.skeleton("arm1").body("tip"))
    assert loop.closes_loop
    other = find_parts(world.skeleton("arm1"))["arm"]
    for one in (part, other):
        with pytest.raises(kido.ModelError, match=r"'arm' moves one side of the loop of grasp 'tip: cup.*Constrained"):
            scene.checker(one)
        assert scene.checker(one, closes_loops=True).num_dofs == 3
    grasps.detach(loop)
    scene.checker(part)


def test_spheres_of_a_description_stand_for_shapes() -> None:
    """A ball about the end of a bar touches another ball where their centres are nearer than both radii."""
    world = kido.World(gravity=(0, 0, 0))
    arm = world.add_skeleton(planar_arm(0.5, 0.4))
    ball = kido.Skeleton("ball")
    ball.add_body("ball", kido.WeldJoint(transform_from_parent=(0.6, 0.6, 0.0))).add_shape(kido.Sphere(0.2))
    world.add_skeleton(ball)
    scene, part = CollisionScene(world), find_parts(arm)["arm"]
    spheres = (("link0", ((0.0, 0.0, 0.0, 0.01),)), ("link1", ((0.1, 0.0, 0.0, 0.05), (0.4, 0.0, 0.0, 0.1))))
    checker = scene.checker(part, spheres=RobotDescription("arm", spheres=spheres))
    states = np.random.default_rng(4).uniform(-2.0, 2.0, (500, 2))
    elbow = 0.5 * np.array([np.cos(states[:, 0]), np.sin(states[:, 0])]).T
    way = np.array([np.cos(states.sum(axis=1)), np.sin(states.sum(axis=1))]).T
    gaps = [np.linalg.norm(elbow + x * way - 0.6, axis=1) - r - 0.2 for x, r in ((0.1, 0.05), (0.4, 0.1))]
    free = np.min(gaps, axis=0) > 0.0
    assert np.array_equal(checker.states_are_free(states), free) and 0.1 < free.mean() < 0.9
    assert not np.array_equal(scene.checker(part).states_are_free(states), free)
    with pytest.raises(kido.NameLookupError, match="tail"):
        scene.checker(part, spheres=RobotDescription("arm", spheres=(("tail", ()),)))
    with pytest.raises(kido.ModelError, match="spheres: expected a RobotDescription, got 'arm'"):
        scene.checker(part, spheres="arm")


def test_mistakes_are_named() -> None:
    world, scene = two_blocks(0.1)
    with pytest.raises(kido.ModelError, match="expected a world"):
        CollisionScene(None)
    with pytest.raises(kido.ModelError, match="padding: expected a number not below 0, got nan"):
        scene.set_padding(world.skeleton(0), np.nan)
    with pytest.raises(kido.ModelError, match="hide: expected a skeleton, body or shape"):
        scene.hide("block0")
    with pytest.raises(kido.ModelError, match="'stranger' is not in world"):
        scene.hide(block("stranger"))
    with pytest.raises(kido.ModelError, match="detail: expected one of exact, box, sphere"):
        scene.clearance(detail="fine")
    with pytest.raises(kido.NameLookupError, match="stranger"):
        scene.describe(block("stranger"), RobotDescription("r"))
    with pytest.raises(kido.ModelError, match="samples"):
        sample_disabled_pairs(world.skeleton(0), 0)
    with pytest.raises(kido.ModelError, match="always"):
        sample_disabled_pairs(world.skeleton(0), 1, always=2.0)
