"""Reasons why pairs do not collide: sets per pair, derived ones, categories and masks, a user's function."""

import pickle

import numpy as np
import pytest

import kido
from kido.errors import ModelError
from scenes import fixed, free, world


def pile(count=3):
    """Overlapping spheres, each a skeleton of its own, without ground."""
    balls = [free(kido.Sphere(0.1), 1.0, (0.05 * k, 0.0, 0.0), name=f"ball{k}") for k in range(count)]
    scene = world(*balls, ground=False, gravity=(0.0, 0.0, 0.0))
    return scene, [b.body(0) for b in balls]


def touching(scene):
    """Names of the pairs of bodies' skeletons that collide now."""
    found = scene.collision_group.collide()
    return {tuple(sorted((a.body.skeleton.name, b.body.skeleton.name))) for a, b in found.pairs}


def table(scene):
    """All arrays of the detector that say which pairs are tested."""
    c = scene.engine.detector.container
    names = ("body_moving", "body_group", "excluded_first", "excluded", "shape_body", "shape_category", "shape_mask")
    return [getattr(c, name).copy() for name in names]


def test_a_pair_is_tested_while_it_has_no_reason():
    scene, (a, b, c) = pile()
    rules = scene.collision_filter
    assert touching(scene) == {("ball0", "ball1"), ("ball0", "ball2"), ("ball1", "ball2")}
    rules.add(a, b)
    rules.add(b, a, "grasp:left")
    rules.add(a, b, "grasp:left")
    assert rules.reasons(a, b) == rules.reasons(b, a) == {"user", "grasp:left"} and not rules.allows(a, b)
    assert ("ball0", "ball1") not in touching(scene)
    scene.step()
    assert len(scene.contacts) == 2
    rules.remove(a, b)
    assert rules.reasons(a, b) == {"grasp:left"} and ("ball0", "ball1") not in touching(scene)
    rules.remove(a, b, "of somebody else")
    rules.remove_all("grasp:left")
    assert rules.allows(a, b) and rules.pairs == () and ("ball0", "ball1") in touching(scene)
    assert rules.allows(b, c)


def test_add_then_remove_leaves_the_table_bit_identical():
    """Also for bodies that are welded, which a filter makes links of their own."""
    robot = kido.Skeleton("robot")
    base = robot.add_body("base", kido.FreeJoint("free"))
    base.add_shape(kido.Box((0.2, 0.2, 0.2)))
    for k in range(3):
        child = robot.add_body(f"part{k}", kido.WeldJoint(f"weld{k}"), base)
        child.add_shape(kido.Sphere(0.15))
    tail = robot.add_body("tail", kido.RevoluteJoint("hinge"), robot.body("part0"))
    tail.add_shape(kido.Sphere(0.1))
    robot.self_collision = True
    scene = world(robot)
    before, links = table(scene), len(scene.engine.tree.parent)
    ground = scene.skeleton("ground").body(0)
    rules = scene.collision_filter
    rules.add(robot.body("part1"), ground, "test")
    assert not np.array_equal(before[3], table(scene)[3])
    rules.add(base, ground)
    rules.remove(robot.body("part1"), ground, "test")
    rules.remove(base, ground)
    for one, two in zip(before, table(scene), strict=True):
        assert np.array_equal(one, two) and one.dtype == two.dtype
    assert len(scene.engine.tree.parent) == links


def test_reasons_of_the_model():
    robot = kido.Skeleton("robot")
    bodies = [robot.add_body("b0", kido.FreeJoint("j0"))]
    for k in range(1, 4):
        bodies.append(robot.add_body(f"b{k}", kido.RevoluteJoint(f"j{k}"), bodies[-1]))
    for body in bodies:
        body.add_shape(kido.Sphere(0.2))
    welded = robot.add_body("welded", kido.WeldJoint("weld"), bodies[0])
    welded.add_shape(kido.Sphere(0.2))
    wall = fixed(kido.Box((1, 1, 1)), (0, 0, 5.0), name="wall")
    scene = world(robot, wall)
    rules = scene.collision_filter
    assert "no self-collision" in rules.reasons(bodies[0], bodies[2])
    robot.self_collision = True
    assert rules.reasons(bodies[0], bodies[2]) == frozenset()
    assert rules.reasons(bodies[0], bodies[1]) == {"adjacent"}
    assert "same rigid group" in rules.reasons(bodies[0], welded)
    assert "both immobile" in rules.reasons(wall.body(0), scene.skeleton("ground").body(0))
    # "adjacent" can be removed for a pair, and comes back.
    before = table(scene)
    assert ("b0", "b1") not in {tuple(x.body.name for x in p) for p in scene.collision_group.collide().pairs}
    rules.remove(bodies[1], bodies[0], "adjacent")
    assert rules.allows(bodies[0], bodies[1])
    assert ("b0", "b1") in {tuple(x.body.name for x in p) for p in scene.collision_group.collide().pairs}
    rules.add(bodies[0], bodies[1], "adjacent")
    assert rules.reasons(bodies[0], bodies[1]) == {"adjacent"}
    assert all(np.array_equal(x, y) for x, y in zip(before, table(scene), strict=True))
    robot.adjacent_body_collision = True
    assert rules.allows(bodies[0], bodies[1])
    bodies[3].collidable = False
    assert rules.reasons(bodies[0], bodies[3]) == {"not collidable"}


@pytest.mark.parametrize(
    ("one", "two", "collide"),
    [
        ((-1, -1), (-1, -1), True),
        ((0b01, 0b10), (0b10, 0b01), True),
        ((0b01, 0b10), (0b10, 0b10), False),  # both must want each other, as in Bullet
        ((0b01, 0b11), (0b01, 0b01), True),
        ((0b01, 0), (-1, -1), False),
        ((0xFF00, 0xFF00), (0x00FF, 0x00FF), False),  # one number for both: SDF's collide_bitmask
        ((0xFF00, 0xFF00), (0x0FF0, 0x0FF0), True),
    ],
)
def test_categories_and_masks(one, two, collide):
    scene, (a, b) = pile(2)
    for body, (category, mask) in zip((a, b), (one, two), strict=True):
        body.shape(0).collision_category, body.shape(0).collision_mask = category, mask
    assert bool(touching(scene)) is collide
    assert scene.collision_filter.reasons(a, b) == (frozenset() if collide else {"masked"})
    assert bool(kido.collision.KidoCollisionDetector().create_group(a, b).collide()) is collide
    scene.step()
    assert (len(scene.contacts) > 0) is collide


def test_callback_is_asked_once_per_pair():
    scene, bodies = pile(4)
    asked = []

    def not_the_first(a, b):
        asked.append(frozenset((a, b)))
        return bodies[0] not in (a, b)

    scene.collision_filter.callback = not_the_first
    scene.collision_filter.add(bodies[1], bodies[2])
    scene.step(5)
    assert len(asked) == len(set(asked)) == 5  # six pairs, one of which a reason forbids already
    assert touching(scene) == {("ball1", "ball3"), ("ball2", "ball3")}
    assert scene.collision_filter.reasons(bodies[0], bodies[1]) == {"callback"}
    scene.collision_filter.callback = None
    assert ("ball0", "ball1") in touching(scene)


def test_travels_with_clones_pickles_and_recordings():
    from kido.recording.world_description import world_from_dict, world_to_dict

    scene, (a, b, c) = pile()
    scene.collision_filter.add(a, b, "grasp:1")
    scene.collision_filter.add(a, b)
    scene.collision_filter.add(b, c)
    scene.skeletons[0].body(0).shape(0).collision_category = 0b100
    scene.continuous_detection = True
    for twin in (scene.clone(), pickle.loads(pickle.dumps(scene)), world_from_dict(world_to_dict(scene))):
        x, y, z = (s.body(0) for s in twin.skeletons)
        assert twin.collision_filter.reasons(x, y) == {"grasp:1", "user"}
        assert twin.collision_filter.reasons(y, z) == {"user"}
        assert touching(twin) == {("ball0", "ball2")}
        assert x.shape(0).collision_category == 0b100 and twin.continuous_detection
        twin.collision_filter.remove(y, z)
        assert touching(twin) == {("ball0", "ball2"), ("ball1", "ball2")}
    assert scene.collision_filter.reasons(b, c) == {"user"}


def test_bodies_that_leave_are_forgotten():
    scene, (a, b, c) = pile()
    scene.collision_filter.add(a, b)
    scene.collision_filter.add(a, c)
    scene.remove_skeleton(b.skeleton)
    assert [pair[2] for pair in scene.collision_filter.pairs] == [{"user"}]
    with pytest.raises(ModelError, match="not in this world"):
        scene.collision_filter.add(a, b)


def test_refuses():
    scene, (a, b, _) = pile()
    rules = scene.collision_filter
    for call, message in (
        (lambda: rules.add(a, "b"), "expected two bodies"),
        (lambda: rules.add(a, b, ""), "reason: expected a text"),
        (lambda: rules.add(a, b, 3), "reason: expected a text"),
        (lambda: rules.remove(a, b, "masked"), "shape.collision_mask"),
        (lambda: rules.add(a, b, "no self-collision"), "skeleton.self_collision"),
        (lambda: setattr(rules, "callback", lambda a: True), "function of two bodies"),
        (lambda: setattr(a.shape(0), "collision_mask", 2.5), "collision_mask: expected an integer"),
        (lambda: setattr(a.shape(0), "collision_category", 2**64), "collision_category"),
    ):
        with pytest.raises(ModelError, match=message):
            call()
    assert rules.pairs == () and rules.callback is None and a.shape(0).collision_mask == -1


SDF = """<sdf version="1.9"><model name="m"><link name="base"><inertial><mass>1</mass></inertial>
<collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry>
<surface><contact><collide_bitmask>{bits}</collide_bitmask></contact></surface></collision></link></model></sdf>"""


def test_bitmask_of_sdf(tmp_path):
    """collide_bitmask is category and mask in one."""
    balls = []
    for k, bits in enumerate(("0x01", "2", "3")):
        path = tmp_path / f"ball{k}.sdf"
        path.write_text(SDF.format(bits=bits))
        balls.append(kido.load(path).remove_skeleton(0))
        balls[-1].name = f"ball{k}"
        node = balls[-1].body(0).shape(0)
        assert node.collision_category == node.collision_mask == int(bits, 0)
    scene = world(*balls, ground=False)
    assert touching(scene) == {("ball0", "ball2"), ("ball1", "ball2")}
    for bits in ("x", "-1", "65536"):
        (path := tmp_path / "bad.sdf").write_text(SDF.format(bits=bits))
        with pytest.raises(kido.errors.FileFormatError, match="16 bits"):
            kido.load(path)
