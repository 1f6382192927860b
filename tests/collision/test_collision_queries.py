"""Queries of groups: contacts, distances, rays, points; against definitions, brute force and each other."""

import numpy as np
import pytest

import kido
from kido.collision import CollisionOption, DistanceOption, KidoCollisionDetector, Placed, RaycastOption
from kido.errors import ModelError
from scenes import free, pose, world

_rng = np.random.default_rng(5)
_hull = kido.shapes.convex_hull(_rng.normal(size=(40, 3)) * [0.1, 0.15, 0.2])
SHAPES = {
    "sphere": kido.Sphere(0.15),
    "capsule": kido.Capsule(0.08, 0.3),
    "box": kido.Box((0.2, 0.3, 0.4)),
    "cylinder": kido.Cylinder(0.12, 0.3),
    "cone": kido.shapes.Cone(0.15, 0.35),
    "ellipsoid": kido.Ellipsoid((0.1, 0.15, 0.22)),
    "hull": kido.Mesh(_hull.vertices, _hull.faces),
    "triangles": kido.Mesh(_hull.vertices, _hull.faces, collide_as="triangles"),
    "balls": kido.shapes.MultiSphereHull([[0, 0, -0.1], [0.1, 0, 0.1], [-0.1, 0.05, 0.1]], [0.1, 0.05, 0.08]),
    "pyramid": kido.shapes.Pyramid(0.3, 0.2, 0.3),
}


def group(*items):
    return KidoCollisionDetector().create_group(*items)


def random_pose(rng, spread=0.3):
    return pose(rng.normal(size=3) * spread, rng.normal(size=3))


def inside(scene, points):
    return scene.signed_distance(points)[0] < 0.0


# Rays ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHAPES)
def test_rays_enter_where_the_distance_vanishes(name):
    """A hit lies on the surface (signed distance 0, by other code), its normal is that of the nearest point, and
    nothing before it is inside; what misses passes outside all the way."""
    rng = np.random.default_rng(1)
    X = random_pose(rng)
    scene = group(Placed(SHAPES[name], None, X))
    starts = X[:3, 3] + 1.5 * (u := rng.normal(size=(150, 3))) / np.linalg.norm(u, axis=1)[:, None]
    ends = X[:3, 3] + rng.normal(size=(150, 3)) * 0.15
    ends += 0.7 * (ends - starts)
    found = scene.raycast(starts, ends)
    hit = found.hit
    assert 20 < hit.sum() < 150
    distance, normals, _ = scene.signed_distance(found.points[hit])
    assert np.abs(distance).max() < 1e-6
    assert np.linalg.norm(found.normals[hit], axis=1) == pytest.approx(1.0, abs=1e-9)
    assert (np.einsum("ij,ij->i", found.normals[hit], (ends - starts)[hit]) < 0.0).all()
    # Off edges the two normals agree: step outwards along the ray's own.
    off, _, _ = scene.signed_distance(found.points[hit] + 1e-3 * found.normals[hit])
    assert off == pytest.approx(1e-3, abs=2e-5 if name not in ("ellipsoid",) else 1e-4)
    assert normals.shape == (hit.sum(), 3)
    for k in range(150):
        way = np.linspace(0.0, found.fractions[k] - 1e-6 if hit[k] else 1.0, 60)[:, None]
        assert scene.signed_distance(starts[k] + way * (ends[k] - starts[k]))[0].min() > -1e-7


def test_ray_closed_forms():
    ball = kido.Sphere(0.5)
    scene = group(Placed(ball, None, [0, 0, 1.0]), kido.shapes.Plane())
    found = scene.raycast([[3, 0, 1.0], [0, 0, 3.0], [2, 2, 2.0]], [[-3, 0, 1.0], [0, 0, -1.0], [2, 2, 2.5]])
    assert found.fractions == pytest.approx([2.5 / 6, 1.5 / 4, np.inf])
    assert found.points[:2] == pytest.approx(np.array([[0.5, 0, 1.0], [0, 0, 1.5]]))
    assert found.normals[:2] == pytest.approx(np.array([[1.0, 0, 0], [0, 0, 1.0]]))
    assert np.isnan(found.points[2]).all() and found.objects[2] is None and found.hit.tolist() == [True, True, False]
    every = scene.raycast([0, 0, 3.0], [0, 0, -1.0], RaycastOption(all_hits=True))
    assert every.fractions == pytest.approx([0.375, 0.75]) and every.rays.tolist() == [0, 0]
    through = scene.raycast([0, 0, 3.0], [0, 0, -1.0], RaycastOption(filter=lambda x: isinstance(x, kido.shapes.Plane)))
    assert through.fractions == pytest.approx([0.75])
    # From inside a solid a ray does not hit it.
    assert scene.raycast([0, 0, 1.0], [0, 0, -1.0]).fractions == pytest.approx([0.5])
    # A ray that ends at the surface hits it; one that ends short of it does not.
    assert scene.raycast([3, 0, 1.0], [0.5, 0, 1.0]).hit.all()
    assert not scene.raycast([3, 0, 1.0], [0.5 + 1e-9, 0, 1.0]).hit.any()


def test_rays_on_a_height_map_and_open_surfaces():
    x, y = np.meshgrid(np.linspace(-1, 1, 21), np.linspace(-1, 1, 21))
    heights = 0.3 * x + 0.1 * y  # a plane, so that the answer is known
    scene = group(kido.shapes.Heightmap(heights, 0.1))
    rng = np.random.default_rng(0)
    ends = np.column_stack([rng.uniform(-0.9, 0.9, (60, 2)), np.full(60, -1.0)])
    starts = np.column_stack([rng.uniform(-0.9, 0.9, (60, 2)), np.full(60, 1.0)])
    found = scene.raycast(starts, ends)
    normal = np.array([-0.3, -0.1, 1.0]) / np.linalg.norm([-0.3, -0.1, 1.0])
    d = ends - starts
    assert found.fractions == pytest.approx(-(starts @ normal) / (d @ normal), abs=1e-12)
    assert found.normals == pytest.approx(np.tile(normal, (60, 1)), abs=1e-12)
    assert not scene.raycast(ends, starts).hit.any()  # from below
    assert not scene.raycast([3, 3, 1.0], [3, 3, -1.0]).hit.any()
    # Level and upright rays.
    assert scene.raycast([-2, 0.05, 0.1], [2, 0.05, 0.1]).points[0, 0] == pytest.approx((0.1 - 0.005) / 0.3)
    assert scene.raycast([0.33, 0.21, 5.0], [0.33, 0.21, -5.0]).points[0, 2] == pytest.approx(0.12)
    sheet = kido.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], collide_as="triangles")
    both = group(sheet).raycast([[0.2, 0.2, 1], [0.2, 0.2, -1]], [[0.2, 0.2, -1], [0.2, 0.2, 1]])
    assert both.hit.all() and both.normals[:, 2] == pytest.approx([1.0, -1.0])


def test_many_rays_at_once_are_those_one_by_one():
    rng = np.random.default_rng(2)
    scene = group(*(Placed(s, None, random_pose(rng, 1.0)) for s in SHAPES.values() for _ in range(4)))
    eye, ends = np.array([0.0, 0.0, 4.0]), rng.normal(size=(300, 3)) * [1.0, 1.0, 0.1] - [0, 0, 3.0]
    found = scene.raycast(eye, ends)
    assert 50 < found.hit.sum() < 300
    for k in range(0, 300, 17):
        one = scene.raycast(eye, ends[k])
        assert one.fractions[0] == found.fractions[k] and one.objects[0] is found.objects[k]
    every = scene.raycast(eye, ends, RaycastOption(all_hits=True))
    first = [every.fractions[every.rays == k].min(initial=np.inf) for k in range(300)]
    assert np.array_equal(first, found.fractions)


# Distances -------------------------------------------------------------------------------------------------------


def test_distances_of_all_pairs_hold_what_they_say():
    """The distance is that of the two points, which lie on the surfaces; the nearest of all is `distance`."""
    rng = np.random.default_rng(3)
    names = [n for n in SHAPES if n != "triangles"]
    placed = [Placed(SHAPES[n], None, random_pose(rng, 0.2)) for n in names]
    scene = group(*placed)
    table = scene.distances()
    assert len(table.pairs) == len(names) * (len(names) - 1) // 2
    assert (table.distances < 0).any() and (table.distances > 0).any()
    for d, a, b, (one, two) in zip(*table, strict=True):
        assert np.linalg.norm(b - a) == pytest.approx(abs(d), abs=1e-9)
        for thing, point in ((one, a), (two, b)):
            assert group(thing).signed_distance(point)[0][0] == pytest.approx(0.0, abs=2e-6)
        if d > 0.0:  # no other points are nearer: those of the one nearest to that of the other
            assert group(two).signed_distance(a)[0][0] == pytest.approx(d, abs=2e-6)
    nearest = scene.distance()
    assert nearest.distance == table.distances.min()
    assert {nearest.object_a, nearest.object_b} == set(table.pairs[int(np.argmin(table.distances))])
    assert nearest.point_b - nearest.point_a == pytest.approx(nearest.distance * nearest.normal, abs=1e-12)
    some = scene.distances(option=DistanceOption(upper_limit=0.2))
    assert sorted(some.distances) == sorted(d for d in table.distances if d < 0.2)


def test_group_against_group():
    rng = np.random.default_rng(4)
    mine = [Placed(kido.Sphere(0.1), None, rng.normal(size=3)) for _ in range(15)]
    other = [Placed(kido.Box((0.1, 0.2, 0.3)), None, random_pose(rng, 1.0)) for _ in range(15)]
    a, b = group(*mine), group(*other)
    best = min(kido.collision.distance(p.shape, p.transform, q.shape, q.transform) for p in mine for q in other)
    found = a.distance(b)
    assert found.distance == pytest.approx(best, abs=1e-9)
    assert found.object_a in mine and found.object_b in other
    assert b.distance(a).normal == pytest.approx(-found.normal)
    hits = a.collide(b, CollisionOption(margin=0.6))
    assert len(hits) > 3 and all(x in mine and y in other for x, y in hits.pairs)
    assert hits.pairs == {(y, x) for x, y in b.collide(a, CollisionOption(margin=0.6)).pairs}
    assert a.distance(b, DistanceOption(upper_limit=1e-6)).distance == np.inf or best < 1e-6
    assert a.distance(b, DistanceOption(filter=lambda x, y: y is other[0])).object_b is other[0]


def test_collide_stops_early():
    row = [Placed(kido.Sphere(0.1), None, [0.15 * k, 0, 0]) for k in range(20)]
    scene = group(*row)
    assert len(scene.collide()) == 19 and scene.collide()[0].depth == pytest.approx(0.05)
    assert len(scene.collide(option=CollisionOption(max_contacts=5))) == 5
    yes = scene.collide(option=CollisionOption(enable_contact=False))
    assert yes and len(yes) == 0
    only = scene.collide(option=CollisionOption(filter=lambda a, b: row[3] in (a, b)))
    assert only.pairs == {(row[2], row[3]), (row[3], row[4])}
    none = scene.collide(option=CollisionOption(enable_contact=False, filter=lambda a, b: False))
    assert not none and not group(row[0], row[2]).collide()
    assert group(row[0], row[2]).collide(option=CollisionOption(margin=0.2)).depths == pytest.approx([-0.1])


def test_points_against_definitions():
    rng = np.random.default_rng(6)
    p = rng.normal(size=(100, 3)) * 0.4
    X = random_pose(rng)
    local = (p - X[:3, 3]) @ X[:3, :3]
    q = np.abs(local) - [0.1, 0.15, 0.2]
    box = np.linalg.norm(np.maximum(q, 0), axis=1) + np.minimum(q.max(axis=1), 0)
    distance, normal, objects = group(Placed(SHAPES["box"], None, X)).signed_distance(p)
    assert distance == pytest.approx(box, abs=1e-9) and len(objects) == 100
    foot = p - distance[:, None] * normal
    assert group(Placed(SHAPES["box"], None, X)).signed_distance(foot)[0] == pytest.approx(np.zeros(100), abs=1e-6)
    assert group(kido.Sphere(0.2)).signed_distance(p)[0] == pytest.approx(np.linalg.norm(p, axis=1) - 0.2, abs=1e-9)
    nothing = group().signed_distance(p[:2])
    assert (nothing[0] == np.inf).all() and nothing[2] == [None, None]


# Worlds, bodies, frames -------------------------------------------------------------------------------------------


def test_groups_follow_bodies_and_frames():
    robot = free(kido.Box((0.2, 0.2, 0.2)), 1.0, (0, 0, 1.0))
    frame = kido.SimpleFrame(name="probe")
    probe = Placed(kido.Sphere(0.1), frame)
    scene = group(robot, probe)
    frame.relative_transform = pose((1.0, 0, 1.0))
    assert scene.distance().distance == pytest.approx(0.8)
    robot.positions = [0, 0, 0, 0.5, 0, 1.0]
    assert scene.distance().distance == pytest.approx(0.3)
    robot.body(0).add_shape(kido.Sphere(0.05), [0.3, 0, 0])
    assert scene.distance().distance == pytest.approx(0.05) and len(scene) == 3  # the body's own two are no pair
    assert len(scene.distances().pairs) == 2


def test_world_group_has_the_filters_and_present_poses():
    a = free(kido.Sphere(0.1), 1.0, (0, 0, 0.25), name="a")
    b = free(kido.Sphere(0.1), 1.0, (0.15, 0, 0.25), name="b")
    scene = world(a, b)
    found = scene.collision_group.collide()
    assert len(found) == 1 and {x.body.skeleton.name for x in found.objects_a + found.objects_b} == {"a", "b"}
    scene.step(50)
    points = scene.collision_group.raycast([a.positions[3], 0, 5.0], [a.positions[3], 0, -5.0]).points
    assert points[0, 2] == pytest.approx(a.positions[5] + 0.1, abs=1e-12)
    again = scene.clone()
    scene.collision_group.distances()
    scene.step(20)
    again.step(20)
    assert np.array_equal(a.positions, again.skeleton("a").positions)  # asking changes nothing
    scene.set_collision_filter(a.body(0), b.body(0))
    ground = scene.skeleton("ground")
    assert all(ground in (x.body.skeleton, y.body.skeleton) for x, y in scene.collision_group.distances().pairs)


def test_refuses():
    scene = group(kido.Sphere(0.1))
    for call, message in (
        (lambda: group("ball"), "expected a skeleton, body, shape node"),
        (lambda: scene.raycast([0, 0], [1, 1]), "shape"),
        (lambda: scene.raycast([0, 0, np.nan], [1, 1, 1]), "finite"),
        (lambda: scene.raycast([0, 0, 1], [0, 0, 1]), "ray 0 starts where it ends"),
        (lambda: scene.raycast(np.zeros((2, 3)), np.ones((3, 3))), "2 starts and 3 ends"),
        (lambda: scene.collide("x"), "expected another group"),
        (lambda: scene.remove(kido.Sphere(1)), "not in it"),
        (lambda: CollisionOption(max_contacts=0), "max_contacts"),
        (lambda: CollisionOption(margin=-1.0), "margin"),
        (lambda: CollisionOption(filter=lambda a: True), "function of 2"),
        (lambda: DistanceOption(upper_limit=float("nan")), "upper_limit"),
        (lambda: RaycastOption(filter=3), "function of 1"),
        (lambda: Placed("ball"), "expected a kido shape"),
        (lambda: Placed(kido.Sphere(1), "frame"), "expected a frame"),
    ):
        with pytest.raises(ModelError, match=message):
            call()


def test_a_world_group_that_is_kept_follows_the_filter_and_does_not_mind_sleep():
    world = kido.World(sleeping=kido.Sleeping(speed=1e-2, time=0.05))
    world.add_ground()
    boxes = []
    for k in range(2):
        box = kido.Skeleton(f"box{k}")
        shape = kido.Box((0.2, 0.2, 0.2))
        box.add_body("box", kido.FreeJoint(), inertia=kido.Inertia.from_shape(shape, mass=1.0)).add_shape(shape)
        world.add_skeleton(box)
        box.positions = [0, 0, 0, 0, 0, 0.1 + 0.2 * k]
        boxes.append(box.body(0))
    group = world.collision_group
    option = kido.collision.CollisionOption(margin=1e-3)
    assert {len(group.collide(option=option).points)} == {8}
    world.step(300)
    assert all(b.skeleton.is_asleep for b in boxes)
    assert len(group.collide(option=option).points) == 8
    assert len(world.collision_group.collide(option=option).points) == 8
    assert world.collision_filter.reasons(*boxes) == frozenset()
    world.set_collision_filter(*boxes)
    assert len(group.collide(option=option).points) == 4
