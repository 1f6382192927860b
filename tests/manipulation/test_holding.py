"""Grasps: filters as they were, momentum kept, loops closed, estimates taken, mistakes named."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from manipulation_robots import ROBOTS, block, planar_arm

import kido
from kido.manipulation import CollisionScene, DisabledPair, Grasps, RobotDescription, door


def room(free_base: bool = False) -> tuple[kido.World, Grasps]:
    """Two arms, two blocks and a door, without gravity; nothing touches."""
    world = kido.World(gravity=(0, 0, 0))
    for k in range(2):
        arm = planar_arm(0.5, 0.4, 0.2, name=f"arm{k}", base=(0.0, 2.0 * k, 0.0))
        arm.body("tip").add_shape(kido.Sphere(0.02))
        arm.self_collision = True
        if free_base:
            arm.body("link0").change_parent_joint_type(kido.FreeJoint, keep_pose=True)
        world.add_skeleton(arm)
        arm.positions = np.linspace(0.3, 0.7, arm.num_dofs)
    for k in range(2):
        world.add_skeleton(block(f"block{k}")).positions = [0.1, 0.2, 0.3, 1.5, 1.0 + 0.5 * k, 0.4]
    return world, Grasps(CollisionScene(world))


def filter_of(world: kido.World) -> list[bytes]:
    """The filter as compiled, to the bit, and the order of what it is about."""
    container = world.engine.detector.container
    arrays = container.excluded, container.excluded_first, container.body_group
    names = repr([(s.name, [b.name for b in s.bodies], [d.name for d in s.dofs]) for s in world.skeletons])
    return [*(np.array(a).tobytes() for a in arrays), names.encode()]


def momentum(world: kido.World) -> np.ndarray:
    return np.sum([s.momentum for s in world.skeletons if s.num_dofs], axis=0)


def test_filters_after_a_thousand_random_attachments_are_as_before() -> None:
    """Tree and loop grasps of two hands on two objects, with a user's own reasons coming and going, in any order."""
    world, grasps = room()
    bodies = {b.name: b for s in world.skeletons for b in s.bodies if s.name.startswith("block")}
    hands = [world.skeleton(f"arm{k}").body("tip") for k in range(2)]
    ground = world.skeleton("arm0").body("link0")
    world.skeleton("arm1").self_collision = False
    rule = world.collision_filter
    rule.add(bodies["block0"], bodies["block1"], "mine")
    before, given = filter_of(world), rule.pairs
    rng, count, loops = np.random.default_rng(7), 0, 0
    while count < 1000:
        free = [(b, h) for b in bodies.values() for h in hands if all(g.hand is not h for g in grasps.holding(b))]
        if grasps.held and (not free or rng.random() < 0.5):
            grasps.detach(grasps.held[rng.integers(len(grasps.held))])
        else:
            body, hand = free[rng.integers(len(free))]
            loops += grasps.attach(body, hand, supports=[ground]).closes_loop
        if rng.random() < 0.2:
            rule.add(bodies["block1"], ground, "other")
            rule.remove(bodies["block1"], ground, "other")
        count += 1
        expected = {frozenset((bodies["block0"], bodies["block1"])): {"mine"}}
        for grasp, other in ((g, o) for g in grasps.held for o in (*g.touching, *g.supports)):
            kind = "grasp" if other in grasp.touching else "support"
            expected.setdefault(frozenset((grasp.body, other)), set()).add(f"{kind}: {grasp.name}")
        own = {"own bodies, not tested"}
        assert {frozenset((a, b)): set(r) for a, b, r in rule.pairs if r != own} == expected
        if not grasps.held and count % 4 == 0:
            assert filter_of(world) == before
    assert loops > 50
    for grasp in grasps.held:
        grasps.detach(grasp)
    assert filter_of(world) == before
    assert rule.pairs == given
    assert not any(body.own_link for s in world.skeletons for body in s.bodies if body.skeleton.name == "arm1")


@pytest.mark.parametrize("as_loop", [False, True])
def test_momentum_is_kept_by_grasps_and_releases(as_loop: bool) -> None:
    """Floating robots, moving all over: both momenta about the world's origin to 1e-12 of numbers of order 1."""
    world, grasps = room(free_base=True)
    rng = np.random.default_rng(2)
    for skeleton in world.skeletons:
        skeleton.velocities = 0.5 * rng.normal(size=skeleton.num_dofs)
    body = world.skeleton("block0").body("block0")
    first, second = (world.skeleton(f"arm{k}").body("tip") for k in range(2))
    h, energy = momentum(world), world.kinetic_energy
    assert np.linalg.norm(h) > 0.5
    one = grasps.attach(body, first, as_loop=as_loop or None)
    np.testing.assert_allclose(momentum(world), h, atol=1e-12)
    assert one.energy_lost == pytest.approx(energy - world.kinetic_energy, abs=1e-12)
    assert one.energy_lost > 0.0
    np.testing.assert_allclose(body.spatial_velocity[:3], first.spatial_velocity[:3], atol=1e-12)
    two = grasps.attach(body, second)
    assert (one.closes_loop, two.closes_loop) == (as_loop, True)
    np.testing.assert_allclose(momentum(world), h, atol=1e-12)
    np.testing.assert_allclose(body.spatial_velocity[:3], second.spatial_velocity[:3], atol=1e-12)
    energy = world.kinetic_energy
    grasps.detach(one)  # the other hand has it now, and nothing moves otherwise than before
    np.testing.assert_allclose(momentum(world), h, atol=1e-12)
    assert world.kinetic_energy == pytest.approx(energy, abs=1e-12)
    grasps.detach(two)
    np.testing.assert_allclose(momentum(world), h, atol=1e-12)
    assert body.skeleton is world.skeleton("block0")
    assert world.kinetic_energy == pytest.approx(energy, abs=1e-12)
    X = np.array(body.world_transform)
    world.step(10)
    assert np.linalg.norm(body.world_transform[:3, 3] - X[:3, 3]) > 1e-4  # it flies on


def test_the_impulse_is_what_the_object_gained() -> None:
    """Plastic collision of two free bodies along their line: v = (m1 v1 + m2 v2) / (m1 + m2)."""
    world = kido.World(gravity=(0, 0, 0))
    a, b = world.add_skeleton(block("a", mass=2.0)), world.add_skeleton(block("b", mass=0.5))
    b.positions = [0, 0, 0, 0.3, 0, 0]
    b.velocities = [0, 0, 0, -1.0, 0, 0]
    grasp = Grasps(CollisionScene(world)).attach(b.body("b"), a.body("a"))
    np.testing.assert_allclose(a.body("a").spatial_velocity, [0, 0, 0, -0.2, 0, 0], atol=1e-15)
    np.testing.assert_allclose(grasp.impulse, [0, 0, 0, 0.4, 0, 0], atol=1e-15)
    assert grasp.energy_lost == pytest.approx(0.5 * 2.0 * 0.5 / 2.5, abs=1e-15)
    np.testing.assert_allclose(grasp.pose, [[1, 0, 0, 0.3], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], atol=1e-15)


def test_an_object_is_passed_on() -> None:
    world, grasps = room()
    body = world.skeleton("block1").body("block1")
    first, second = (world.skeleton(f"arm{k}").body("tip") for k in range(2))
    X = np.array(body.world_transform)
    grasps.attach(body, first, "left")
    grasp = grasps.regrasp("left", second, "right")
    assert [g.name for g in grasps.held] == ["right"]
    assert not grasp.closes_loop
    assert body.parent is second
    np.testing.assert_allclose(body.world_transform, X, atol=1e-14)
    assert world.collision_filter.reasons(body, first) == frozenset()
    grasps.detach("right")
    assert (body.skeleton.name, body.parent_joint.name, body.parent_joint.num_dofs) == ("block1", "block1_joint", 6)


def test_a_tool_with_a_hinge_comes_back_as_it_was() -> None:
    """Held by its second body: the tree is turned round, and back."""
    world, grasps = room()
    tool = block("tool")
    tool.add_body("jaw", kido.RevoluteJoint("jaw_joint", axis=(0, 1, 0), transform_from_parent=(0.1, 0, 0)),
                  tool.body("tool"), kido.Inertia.from_shape(kido.Box((0.05,) * 3), mass=0.2))  # fmt: skip
    tool.body("jaw").add_shape(kido.Box((0.05,) * 3))
    tool.self_collision = True
    world.add_skeleton(tool)
    tool.positions, tool.velocities = [0.1, 0, 0, 1.0, 1.0, 1.0, 0.4], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    before, jaw, arm = filter_of(world), tool.body("jaw"), world.skeleton("arm0")
    poses = [np.array(b.world_transform) for b in tool.bodies]
    grasp = grasps.attach(jaw, arm.body("tip"))
    assert arm.num_dofs == 4
    assert grasps.scene.reasons(tool.bodies[0] if tool.bodies else arm.body("tool"), arm.body("tip")) == frozenset()
    mass = 0.7
    assert grasp.inertia.mass == pytest.approx(mass, abs=1e-15)
    grasps.detach(grasp)
    assert filter_of(world) == before
    for body, X in zip(tool.bodies, poses, strict=True):
        np.testing.assert_allclose(body.world_transform, X, atol=1e-14)


def test_what_is_held_is_tested_against_a_robot_that_is_not_against_itself() -> None:
    """An arm folded onto itself, which is let be; the block in its hand is not, from the first grasp to the last."""
    world, grasps = room()
    arm, other = world.skeleton("arm0"), world.skeleton("block1")
    arm.self_collision = False
    arm.positions = [0.0, 3.0, 0.2]
    item = world.skeleton("block0")
    item.positions = [0, 0, 0, *(arm.body("tip").world_transform[:3, 3] + [0, 0, 0.02])]
    base, body = arm.body("link0"), item.body("block0")
    far = grasps.scene.reasons(arm.body("link0"), arm.body("link2"))
    assert "no self-collision" in far
    assert not grasps.scene.allowed(body, base)
    one = grasps.attach(body, arm.body("tip"))
    assert not grasps.scene.allowed(body, base)
    assert grasps.scene.allowed(base, arm.body("link2"))
    two = grasps.attach(other.body("block1"), arm.body("tip"))
    assert not grasps.scene.allowed(body, two.body)
    grasps.detach(one)
    assert not grasps.scene.allowed(two.body, base)
    grasps.detach(two)
    assert not arm.self_collision
    assert world.collision_filter.pairs == ()
    assert grasps.scene.reasons(arm.body("link0"), arm.body("link2")) == far


def test_names_that_are_taken_are_given_back() -> None:
    world = kido.World(gravity=(0, 0, 0))
    robot = world.add_skeleton(block("hand"))
    items = [world.add_skeleton(block("item"), f"item{k}") for k in range(2)]
    grasps = Grasps(CollisionScene(world))
    for k, item in enumerate(items):
        item.positions = [0, 0, 0, 1.0 + k, 0, 0]
    held = [grasps.attach(item.body("item"), robot.body("hand"), f"g{k}") for k, item in enumerate(items)]
    assert [b.name for b in robot.bodies] == ["hand", "item", "item(1)"]
    for grasp in held:
        grasps.detach(grasp)
    assert [[(b.name, b.parent_joint.name) for b in i.bodies] for i in items] == [[("item", "item_joint")]] * 2


def test_a_held_object_follows_estimates() -> None:
    """Pose and velocity by the new place in the hand; covariances as by information, in one dimension by hand."""
    world, grasps = room()
    arm, body = world.skeleton("arm0"), world.skeleton("block0").body("block0")
    grasp = grasps.attach(body, arm.body("tip"), covariance=4e-4 * np.eye(6))
    arm.velocities = [0.3, -0.2, 0.5]
    hand, before = arm.body("tip"), np.array(arm.velocities)
    X = np.array(grasp.pose)
    seen = X.copy()
    seen[:3, 3] += X[:3, :3] @ [0.01, 0.0, 0.0]
    grasps.update_pose(grasp, seen, 1e-4 * np.eye(6))
    moved = X.copy()
    moved[:3, 3] += X[:3, :3] @ [0.008, 0.0, 0.0]  # four fifths of the way
    np.testing.assert_allclose(grasp.pose, moved, atol=1e-14)
    np.testing.assert_allclose(grasp.covariance, 0.8e-4 * np.eye(6), atol=1e-17)
    np.testing.assert_array_equal(arm.velocities, before)
    np.testing.assert_allclose(body.world_transform, hand.world_transform @ moved, atol=1e-14)
    V, r = hand.spatial_velocity, body.world_transform[:3, 3] - hand.world_transform[:3, 3]
    expected = [*V[:3], *(V[3:] + np.cross(V[:3], r))]
    np.testing.assert_allclose(body.spatial_velocity, expected, atol=1e-14)
    world_pose = np.eye(4)
    world_pose[:3, 3] = 1.0, 0.2, 0.1
    grasps.update_pose(grasp, world_pose, in_world=True)
    np.testing.assert_allclose(body.world_transform, world_pose, atol=1e-14)
    assert len(grasps.held) == 1


def test_loops_follow_estimates_without_a_jump() -> None:
    world, grasps = room()
    body = world.skeleton("block0").body("block0")
    first, second = (world.skeleton(f"arm{k}").body("tip") for k in range(2))
    one, two = grasps.attach(body, first), grasps.attach(body, second)
    X = np.array(one.pose)
    X[:3, 3] += 0.02
    q = [np.array(world.skeleton(f"arm{k}").positions) for k in range(2)]
    grasps.update_pose(one, X)
    assert world.close_constraints() < 1e-10
    for k in range(2):
        np.testing.assert_allclose(world.skeleton(f"arm{k}").positions, q[k], atol=1e-10)
    # What the second hand sees moves the object in the first.
    seen = np.array(body.world_transform)
    seen[:3, 3] += 0.01
    grasps.update_pose(two, seen, 1e-4 * np.eye(6), in_world=True)
    np.testing.assert_allclose(body.world_transform, seen, atol=1e-12)
    np.testing.assert_allclose(two.hand.world_transform @ two.pose, seen, atol=1e-12)
    np.testing.assert_allclose(one.hand.world_transform @ one.pose, seen, atol=1e-12)
    assert two.covariance is not None
    np.testing.assert_allclose(two.covariance, 1e-4 * np.eye(6))
    assert world.close_constraints() < 1e-10
    np.testing.assert_allclose(body.world_transform, seen, atol=1e-10)


def test_a_door_s_angle_is_that_of_an_estimate() -> None:
    """A held door that is seen elsewhere: its hinge turns there, the loop stays closed, and the hand where it is."""
    world, grasps = room()
    leaf = world.add_skeleton(door(0.8, 2.0, 10.0))
    leaf.positions, leaf.velocities = [0.4], [0.3]
    body, hand = leaf.bodies[0], world.skeleton("arm0").body("tip")
    handle: Any = leaf.node("handle")
    grasp = grasps.attach(handle, hand)
    before = np.array(hand.world_transform)
    seen = kido.math.exp_pose([0, 0, 0.1, 0, 0, 0])  # about the hinge, which is the world's z axis here
    seen = seen @ body.world_transform
    off = seen.copy()
    off[2, 3] += 0.01  # which no hinge allows
    grasps.update_pose(grasp, off, in_world=True)
    np.testing.assert_allclose(leaf.positions, [0.5], atol=1e-6)
    np.testing.assert_allclose(hand.world_transform, before, atol=1e-9)
    np.testing.assert_allclose(hand.world_transform @ grasp.pose, body.world_transform, atol=1e-9)
    assert world.close_constraints() < 1e-10
    np.testing.assert_allclose(leaf.positions, [0.5], atol=1e-6)
    relative = np.array(body.spatial_velocity[:3]) - hand.spatial_velocity[:3]
    np.testing.assert_allclose(relative, 0.0, atol=1e-9)


def test_supports_are_tested_again_when_left() -> None:
    world, grasps = room()
    table = kido.Skeleton("table")
    top = table.add_body("top", kido.WeldJoint("top_weld"))
    top.add_shape(kido.Box((1, 1, 0.1)))
    world.add_skeleton(table)
    arm, item = world.skeleton("arm0"), world.skeleton("block0")
    item.positions = [0, 0, 0, 0.0, 0.0, 0.075]  # on the table
    body = item.body("block0")
    grasp = grasps.attach(body, arm.body("tip"), supports=[top])
    assert grasps.scene.reasons(body, top) == {f"support: {grasp.name}"}
    grasps.update_supports()
    assert grasps.scene.reasons(body, top)
    X = np.array(grasp.pose)
    X[2, 3] += 0.01
    grasps.update_pose(grasp, X)
    grasps.update_supports()
    assert grasps.scene.reasons(body, top) == frozenset()
    assert grasp.supports == ()


def test_a_described_robot_holds_and_works_on(example_robots: Path) -> None:
    """Panda with its SRDF, a cup in its massless tool frame: the filter comes back, and controllers have the load."""
    world = kido.World()
    robot = world.add_skeleton(kido.load_skeleton(example_robots / ROBOTS["panda"]))
    grasps = Grasps(CollisionScene(world))
    grasps.scene.describe(robot, RobotDescription.read(example_robots / "panda_description/srdf/panda.srdf"))
    robot.positions = [0, -0.785398, 0, -2.35619, 0, 1.5707, 0.785398, 0.03, 0.03]
    tool, item = robot.body("panda_hand_tcp"), world.add_skeleton(block())
    item.positions = [0, 0, 0, *tool.world_transform[:3, 3]]
    before, given, alone = filter_of(world), world.collision_filter.pairs, np.array(robot.gravity_forces)
    body = item.body("block")
    grasp = grasps.attach(body, tool)
    assert {b.name for b in grasp.touching} == {"panda_link7", "panda_hand", "panda_leftfinger", "panda_rightfinger"}
    assert not grasps.scene.allowed(body, robot.body("panda_link3"))
    lever = np.array(robot.linear_jacobian(body))[2]
    np.testing.assert_allclose(robot.gravity_forces, alone + 0.5 * 9.81 * lever, atol=1e-10)
    pose = np.array(body.world_transform)
    for _ in range(20):
        robot.forces = robot.coriolis_and_gravity_forces
        world.step()
    np.testing.assert_allclose(body.world_transform, pose, atol=1e-9)
    grasps.detach(grasp)
    assert filter_of(world) == before
    assert world.collision_filter.pairs == given


def test_a_hand_that_left_takes_nothing_over() -> None:
    """Its loop went with it: the object that hung on the other hand is free."""
    world, grasps = room()
    body = world.skeleton("block0").body("block0")
    hands = [world.skeleton(f"arm{k}").body("tip") for k in range(2)]
    grasps.attach(body, hands[0], "first")
    grasps.attach(body, hands[1], "second")
    world.remove_skeleton("arm1")
    grasps.detach("first")
    assert (body.skeleton.name, body.skeleton.host) == ("block0", world)
    assert [g.name for g in grasps.held] == ["second"]
    grasps.detach("second")
    assert not grasps.held and not world.collision_filter.pairs


def test_a_description_that_comes_while_something_is_held_stays() -> None:
    world, grasps = room()
    arm = world.skeleton("arm0")
    arm.self_collision = False
    grasp = grasps.attach(world.skeleton("block0").body(0), arm.body("tip"))
    pair = RobotDescription("arm0", disabled=(DisabledPair("link0", "link2", "Never"),))
    assert grasps.scene.describe(arm, pair) == 1
    grasps.detach(grasp)
    assert arm.self_collision
    assert [reasons for *_, reasons in world.collision_filter.pairs] == [{"srdf: Never"}]


def test_an_object_without_home_is_not_passed_on() -> None:
    world, grasps = room()
    grasp = grasps.attach(world.skeleton("block0").body(0), world.skeleton("arm0").body("tip"))
    world.remove_skeleton("block0")
    before, velocities = world.collision_filter.pairs, np.array(world.skeleton("arm0").velocities)
    with pytest.raises(kido.ModelError, match="regrasp 'tip: block0': skeleton 'block0', where the object came from"):
        grasps.regrasp(grasp, world.skeleton("arm1").body("tip"))
    assert grasps.held == (grasp,) and world.collision_filter.pairs == before
    assert np.array_equal(world.skeleton("arm0").velocities, velocities)


def test_mistakes_are_named_and_change_nothing() -> None:
    world, grasps = room()
    body, other = (world.skeleton(f"block{k}").body(f"block{k}") for k in range(2))
    hand = world.skeleton("arm0").body("tip")
    before = filter_of(world)
    light = kido.Skeleton("light")
    light.add_body("light", kido.FreeJoint("light_joint"), None, kido.Inertia(0.0))
    stranger = block("stranger").body("stranger")
    cases = [
        (lambda: grasps.attach(stranger, hand), kido.ModelError, "expected two bodies of world 'world'.*stranger"),
        (lambda: grasps.attach(body, "hand"), kido.ModelError, "expected two bodies"),
        (lambda: grasps.attach(hand, world.skeleton("arm0").body("link0")), kido.ModelError, "part of the object"),
        (lambda: grasps.attach(body, hand, ""), kido.ModelError, "name: expected"),
        (lambda: grasps.attach(body, hand, covariance=np.eye(3)), kido.ModelError, "symmetric"),
        (lambda: grasps.attach(body, hand, covariance=-np.eye(6)), kido.ModelError, "positive definite"),
        (lambda: grasps.attach(body, hand, touching=[stranger]), kido.ModelError, "touching, supports"),
        (lambda: grasps.attach(body, hand, touching=5), kido.ModelError, "touching: expected bodies .* got 5"),
        (lambda: grasps.attach(body, hand, touching="tip"), kido.ModelError, "touching: expected bodies .* got 'tip'"),
        (lambda: grasps.attach(body, hand, supports=None), kido.ModelError, "supports: expected bodies .* got None"),
        (lambda: grasps.detach("nothing"), kido.NameLookupError, "no grasp that holds 'nothing'"),
        (lambda: grasps.update_pose("nothing", np.eye(4)), kido.NameLookupError, "nothing"),
    ]
    for call, error, text in cases:
        with pytest.raises(error, match=text):
            call()
        assert filter_of(world) == before
        assert grasps.held == ()
    world.add_skeleton(light)
    with pytest.raises(kido.ModelError, match="object 'light' has no mass"):
        grasps.attach(light.body("light"), hand)
    grasp = grasps.attach(body, hand)
    with pytest.raises(kido.ModelError, match="attached already, by grasp 'tip: block0'"):
        grasps.attach(body, hand, "again")
    with pytest.raises(kido.ModelError, match="name: expected a text that no grasp has"):
        grasps.attach(other, hand, grasp.name)
    with pytest.raises(kido.ModelError, match="pose"):
        grasps.update_pose(grasp, np.ones((4, 4)))
    grasps.detach(grasp)
    with pytest.raises(kido.ModelError, match="expected a grasp that holds"):
        grasps.detach(grasp)
    grasp = grasps.attach(body, hand)
    home = world.remove_skeleton("block0")
    with pytest.raises(kido.ModelError, match="'block0', where the object came from, is not in world"):
        grasps.detach(grasp)
    assert grasp.is_held
    world.add_skeleton(home)
    grasps.detach(grasp)


def test_every_pair_of_hand_and_object_is_allowed_while_held() -> None:
    world, grasps = room()
    body, arm = world.skeleton("block0").body("block0"), world.skeleton("arm0")
    world.skeleton("block0").positions = [0, 0, 0, *arm.body("tip").world_transform[:3, 3]]
    assert not grasps.scene.is_free()  # the block is around the tip
    grasp = grasps.attach(body, arm.body("tip"), touching=arm.bodies)
    assert grasps.scene.is_free()
    for a, b in itertools.product([body], grasp.touching):
        assert grasps.scene.allowed(a, b)
    grasps.detach(grasp)
    assert not grasps.scene.is_free()
