"""Shapes that are not convex: against coal, against shapes that they equal, and in motion."""

import math

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

import kido
from collision_peers import coal_shape, pose
from kido.collision import NativeDetector, collide, distance
from kido.shapes import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Heightmap,
    LineSegment,
    Mesh,
    MultiSphereHull,
    Plane,
    PointCloud,
    Pyramid,
    Sphere,
    VoxelGrid,
    convex_hull,
)

RNG = np.random.default_rng(4)
HULL = convex_hull(RNG.normal(size=(40, 3)) * [0.05, 0.08, 0.1])
CONVEX = {
    "sphere": Sphere(0.1),
    "box": Box((0.1, 0.15, 0.2)),
    "capsule": Capsule(0.06, 0.2),
    "cylinder": Cylinder(0.07, 0.2),
    "cone": Cone(0.1, 0.2),
    "ellipsoid": Ellipsoid((0.05, 0.08, 0.12)),
    "hull": Mesh(HULL.vertices, HULL.faces),
    "pyramid": Pyramid(0.1, 0.2, 0.15),
    "spheres": MultiSphereHull([[0, 0, 0.1], [0, 0, -0.1]], [0.06, 0.06]),
}
TORUS = trimesh.creation.torus(0.3, 0.1, major_sections=24, minor_sections=12)
GROUNDS = {
    "torus": Mesh(TORUS.vertices, TORUS.faces, collide_as="triangles"),
    "heights": Heightmap(RNG.normal(size=(9, 9)) * 0.08, 0.15),
    "voxels": VoxelGrid(RNG.random((4, 4, 4)) < 0.4, 0.15),
}


def triangles(shape):
    if isinstance(shape, VoxelGrid):
        return shape.surface
    return shape.vertices, shape.faces


def as_mesh(shape):
    return Mesh(*triangles(shape), collide_as="triangles")


def box_mesh(size, split=0):
    mesh = trimesh.creation.box(size)
    for _ in range(split):
        mesh = mesh.subdivide()
    return Mesh(mesh.vertices, mesh.faces, collide_as="triangles")


def middle_is_inside(ground, p):
    if isinstance(ground, Heightmap):
        return p[2] < ground.height_at(p[0], p[1])
    if isinstance(ground, VoxelGrid):
        cell = np.floor(p / ground.spacing + 2).astype(int)
        return ((cell >= 0) & (cell < 4)).all() and bool(ground.occupied[tuple(cell)])
    return math.hypot(math.hypot(p[0], p[1]) - 0.3, p[2]) < 0.1


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("name", CONVEX)
def test_distance_against_coal(name, ground):
    coal = pytest.importorskip("coal")
    shape, other = CONVEX[name], GROUNDS[ground]
    vertices, faces = triangles(other)
    model = coal.BVHModelOBBRSS()
    model.beginModel(len(faces), len(vertices))
    model.addVertices(np.asarray(vertices))
    model.addTriangles(np.asarray(faces))
    model.endModel()
    peer = coal_shape(coal, shape)
    detector = NativeDetector([(shape, 0), (other, 1)], np.zeros((2, 9)), np.zeros((2, 3)), margin=0.3, contacts=4000)
    c = detector.container
    c.body_rotation[1] = np.eye(3).ravel()
    rng, compared = np.random.default_rng(7), 0
    while compared < 12:
        rotation, p = Rotation.from_quat(rng.normal(size=4)), rng.uniform(-0.5, 0.5, 3)
        distance = coal.distance(
            peer,
            coal.Transform3s(rotation.as_matrix(), p),
            model,
            coal.Transform3s(),
            coal.DistanceRequest(),
            coal.DistanceResult(),
        )
        if not 1e-4 < distance < 0.25 or middle_is_inside(other, p):
            continue
        c.body_rotation[0], c.body_position[0] = rotation.as_matrix().ravel(), p
        detector.clear()
        count = detector.detect()
        assert c.gap[:count].min() == pytest.approx(distance, abs=3e-6)  # coal's GJK stops at 1e-6
        compared += 1


@pytest.mark.parametrize("name", CONVEX)
def test_flat_heights_and_flat_meshes_are_planes(name):
    shape = CONVEX[name]
    flat = Heightmap(np.zeros((21, 21)), 0.07)
    rng = np.random.default_rng(5)
    for k in range(6):
        rotation = Rotation.from_quat(rng.normal(size=4)) if k else Rotation.identity()
        X = pose([*rng.uniform(-0.2, 0.2, 2), 0.0], rotation)
        X[2, 3] = -collide(shape, X, Plane(), np.eye(4), 1.0).gaps.min() - [1e-5, 3e-4, -3e-4][k % 3]
        truth = collide(shape, X, Plane(), np.eye(4), 1e-3)
        for ground in (flat, as_mesh(flat)):
            found = collide(shape, X, ground, np.eye(4), 1e-3)
            np.testing.assert_array_equal(found.normals, np.broadcast_to([0, 0, -1.0], found.normals.shape))
            assert found.gaps.min() == pytest.approx(truth.gaps.min(), abs=1e-12)
            deepest = found.points[np.argmin(found.gaps)]
            if len(truth.gaps) == 1:
                np.testing.assert_allclose(deepest, truth.points[0], atol=1e-9)


def same_contacts(a, b, tolerance=1e-9):
    """Every contact of a is one of b, which may have more: patches keep more corners than manifolds do."""
    assert len(a.gaps) <= len(b.gaps) <= 8
    for k in range(len(a.gaps)):
        error = np.abs(np.column_stack([b.points - a.points[k], b.normals - a.normals[k], b.gaps - a.gaps[k]]))
        assert error.max(axis=1).min() < tolerance


@pytest.mark.parametrize("depth", [1e-4, -5e-4])
def test_a_mesh_or_a_voxel_that_is_a_box(depth):
    size = (0.4, 0.4, 0.4)
    upper = Box((0.2, 0.2, 0.2))
    for yaw in (0.0, 0.4):
        X = pose([0.13, 0.02, 0.3 - depth], Rotation.from_rotvec([0, 0, yaw]))
        truth = collide(upper, X, Box(size), np.eye(4), 1e-3)
        for other in (
            box_mesh(size),
            box_mesh(size, 2),
            VoxelGrid(np.ones((1, 1, 1)), 0.4),
            VoxelGrid(np.ones((4, 4, 4)), 0.1),
        ):
            same_contacts(truth, collide(upper, X, other, np.eye(4), 1e-3))
            same_contacts(truth, collide(box_mesh(upper.size, 1), X, other, np.eye(4), 1e-3))


def test_two_equal_spheres_are_a_capsule():
    pill, capsule = MultiSphereHull([[0, 0, -0.1], [0, 0, 0.1]], [0.05, 0.05]), Capsule(0.05, 0.2)
    rng = np.random.default_rng(8)
    for other in (Sphere(0.1), Box((0.2, 0.2, 0.2)), Cylinder(0.1, 0.2), CONVEX["hull"], Plane()):
        for _ in range(5):
            X = pose(rng.uniform(-0.2, 0.2, 3), Rotation.from_quat(rng.normal(size=4)))
            a, b = (collide(s, X, other, np.eye(4), 0.3).gaps.min() for s in (pill, capsule))
            assert a == pytest.approx(b, abs=1e-9)


def test_unequal_spheres_against_their_support_function():
    shape = MultiSphereHull(RNG.normal(size=(6, 3)) * 0.1, RNG.uniform(0.02, 0.1, 6))
    for _ in range(10):
        n = RNG.normal(size=3)
        n /= np.linalg.norm(n)
        lowest = -(shape.centers @ -n + shape.radii).max()
        found = collide(Plane(tuple(n), lowest - 1e-3), np.eye(4), shape, np.eye(4), 2e-3)
        assert found.gaps.min() == pytest.approx(1e-3, abs=1e-12)
        ball = collide(Sphere(0.05), pose((lowest - 0.06) * n + 0.0), shape, np.eye(4), 1.0)
        assert ball.gaps.min() >= 0.01 - 1e-9


def test_clouds_and_lines_are_their_balls_and_capsules():
    points = RNG.normal(size=(12, 3)) * 0.2
    cloud = PointCloud(points, 0.05)
    ends = RNG.normal(size=(5, 3)) * 0.3
    lines = LineSegment(ends, [[0, 1], [1, 2], [3, 4]], 0.02)
    for _ in range(8):
        p = RNG.normal(size=3) * 0.4
        gap = collide(Sphere(0.03), pose(p), cloud, np.eye(4), 3.0).gaps.min()
        assert gap == pytest.approx(np.linalg.norm(points - p, axis=1).min() - 0.08, abs=1e-12)
        nearest = []
        for a, b in lines.connections:
            d = ends[b] - ends[a]
            t = np.clip((p - ends[a]) @ d / (d @ d), 0, 1)
            nearest.append(np.linalg.norm(p - ends[a] - t * d))
        gap = collide(Sphere(0.03), pose(p), lines, np.eye(4), 3.0).gaps.min()
        assert gap == pytest.approx(min(nearest) - 0.04, abs=1e-12)
        one = LineSegment(ends[:2], thickness=0.02)
        gap = collide(Sphere(0.03), pose(p), one, np.eye(4), 3.0).gaps.min()
        assert gap == pytest.approx(nearest[0] - 0.04, abs=1e-12)


def test_an_open_sheet_pushes_to_either_side():
    sheet = as_mesh(Heightmap(np.zeros((3, 3)), 1.0))
    for side in (1.0, -1.0):
        found = collide(Sphere(0.1), pose([0.1, 0.2, side * 0.099]), sheet, np.eye(4))
        np.testing.assert_allclose(found.normals, [[0, 0, -side]], atol=1e-15)
        np.testing.assert_allclose(found.gaps, [-1e-3], atol=1e-15)


def test_heights_lift_what_is_under_them():
    ground = Heightmap(np.zeros((11, 11)), 0.2)
    for shape in CONVEX.values():
        found = collide(shape, pose([0.03, 0.04, -0.6]), ground, np.eye(4))
        assert len(found.gaps) == 1 and found.gaps[0] < -0.6
        np.testing.assert_allclose(found.normals, [[0, 0, -1]], atol=1e-12)


def test_a_box_across_ridges_touches_all_that_bear_it():
    x = np.arange(21)
    ridges = Heightmap(np.tile(np.where(x % 10 == 5, 0.1, 0.0), (9, 1)), 0.1)  # at x = -0.5 and 0.5
    found = collide(Box((1.6, 0.3, 0.1)), pose([0.0, 0.02, 0.15 - 1e-5]), ridges, np.eye(4))
    assert len(found.gaps) == 4
    np.testing.assert_allclose(np.sort(found.points[:, 0]), [-0.5, -0.5, 0.5, 0.5], atol=1e-9)
    np.testing.assert_allclose(np.sort(found.points[:, 1]), [-0.13, -0.13, 0.17, 0.17], atol=1e-9)
    np.testing.assert_allclose(found.normals, np.tile([0, 0, -1.0], (4, 1)), atol=1e-9)


# -- in motion ---------------------------------------------------------------------------------------------


def world_on(ground, X=None, **options):
    world = kido.World()
    skeleton = kido.Skeleton("ground")
    skeleton.add_body("ground", kido.WeldJoint("weld")).add_shape(ground, X, **options)
    skeleton.mobile = False
    world.add_skeleton(skeleton)
    return world


def add_free(world, shape, positions, velocities=None, mass=1.0):
    skeleton = kido.Skeleton(f"body{len(world.skeletons)}")
    inertia = kido.Inertia.from_shape(shape, mass=mass)
    skeleton.add_body("b", kido.FreeJoint("j"), inertia=inertia).add_shape(shape)
    skeleton.positions = positions
    if velocities is not None:
        skeleton.velocities = velocities
    world.add_skeleton(skeleton)
    return skeleton


FLAT = Heightmap(np.zeros((21, 21)), 0.05)
FLOORS = {"heights": FLAT, "triangles": as_mesh(FLAT)}


@pytest.mark.parametrize("floor", FLOORS)
def test_a_ball_rolls_over_triangles_as_on_a_plane(floor):
    states = []
    for ground in (Plane(), FLOORS[floor]):
        world = world_on(ground)
        ball = add_free(world, Sphere(0.1), [0, 0, 0, -0.4, -0.31, 0.1], [-3, 5, 0.2, 0.5, 0.3, 0])
        world.step(800)
        states.append(np.concatenate([ball.positions, ball.velocities]))
    # No edge is felt: velocities agree to 1e-9 (they are equal to the bit where this was written).
    np.testing.assert_allclose(states[1], states[0], atol=1e-9)


@pytest.mark.parametrize("floor", FLOORS)
def test_a_box_slides_over_triangles_as_on_a_plane(floor):
    states = []
    for ground in (Plane(), FLOORS[floor]):
        world = world_on(ground, friction=0.1)
        box = add_free(world, Box((0.2, 0.2, 0.1)), [0, 0, 0, -0.3, -0.2, 0.05], [0, 0, 0, 0.9, 0.3, 0])
        world.step(300)
        states.append(np.concatenate([box.positions, box.velocities]))
    np.testing.assert_allclose(states[1], states[0], atol=1e-6)  # the solver's tolerance, over 300 steps


def slope(angle, kind):
    x = (np.arange(81) - 40) * 0.1
    ground = Heightmap(np.tile(-math.tan(angle) * x, (11, 1)), 0.1)
    return ground if kind == "heights" else as_mesh(ground)


@pytest.mark.parametrize("kind", ["heights", "triangles"])
def test_a_ball_rolls_down_a_slope(kind):
    angle, r = 0.2, 0.1
    normal = np.array([math.sin(angle), 0, math.cos(angle)])
    start = np.array([-3.0, 0.013, 3.0 * math.tan(angle)]) + r * normal
    world = world_on(slope(angle, kind))
    ball = add_free(world, Sphere(r), [0, 0, 0, *start])
    world.step(1000)
    way = np.linalg.norm(ball.positions[3:] - start)
    assert way == pytest.approx(0.5 * 5 / 7 * 9.81 * math.sin(angle), rel=1e-6)
    assert abs(ball.positions[4] - 0.013) < 1e-9


@pytest.mark.parametrize("kind", ["heights", "triangles"])
def test_a_box_does_not_creep_on_a_slope(kind):
    angle = 0.2
    normal = np.array([math.sin(angle), 0, math.cos(angle)])
    world = world_on(slope(angle, kind))
    box = add_free(world, Box((0.4, 0.3, 0.2)), [0, angle, 0, *(0.1 * normal + [0, 0.013, 0])])
    world.step(300)
    before = box.positions
    world.step(1000)
    assert np.abs(box.positions - before).max() < 1e-7  # in 1 s


def table():
    cells = np.zeros((10, 10, 8), bool)
    cells[:, :, 7] = True
    cells[np.ix_([0, 9], [0, 9])] = True
    return VoxelGrid(cells, 0.1)


GROUND_BOX = pose([0, 0, -0.5])
GROUNDS_TO_STAND_ON = {
    "plane": (Plane(), None),
    "heights": (Heightmap(np.zeros((31, 31)), 0.1), None),
    "box": (Box((4, 4, 1)), GROUND_BOX),
    "triangles": (box_mesh((4, 4, 1), 2), GROUND_BOX),
}


@pytest.mark.parametrize("ground", GROUNDS_TO_STAND_ON)
@pytest.mark.parametrize("kind", ["voxels", "triangles"])
def test_a_table_stands_on_its_four_feet(kind, ground):
    shape = table() if kind == "voxels" else as_mesh(table())
    world = world_on(*GROUNDS_TO_STAND_ON[ground])
    standing = add_free(world, shape, [0, 0, 0, 0.013, 0.021, 0.4], mass=10.0)
    box = add_free(world, Box((0.3, 0.2, 0.1)), [0, 0, 0.3, 0.05, 0.1, 0.851])
    world.step(300)
    feet = [p for p in world.contacts.points if p[2] < 0.1]
    for x, y in ((-0.5, -0.5), (0.5, -0.5), (-0.5, 0.5), (0.5, 0.5)):
        assert min(math.hypot(p[0] - 0.013 - x, p[1] - 0.021 - y) for p in feet) < 1e-5
    before = np.concatenate([standing.positions, box.positions])
    world.step(500)
    after = np.concatenate([standing.positions, box.positions])
    assert np.abs(after - before).max() < 1e-7
    assert standing.positions[5] == pytest.approx(0.4, abs=1e-5)
    # Within ten times the tolerance of small islands, 1e-6, a step is taken as solved.
    assert world.contacts.forces[:, 2].sum() == pytest.approx((11 + 1) * 9.81, rel=1e-5)


def test_all_kinds_come_to_rest_on_rough_ground_without_gaining_energy():
    rng = np.random.default_rng(2)
    world = world_on(Heightmap(rng.normal(size=(41, 41)) * 0.03, 0.1), friction=0.8)
    kinds = [
        *(Box((0.2, 0.3, 0.2)), Sphere(0.1), Capsule(0.08, 0.2), Cylinder(0.1, 0.2), Cone(0.12, 0.2)),
        *(Ellipsoid((0.1, 0.12, 0.15)), Pyramid(0.2, 0.2, 0.2), VoxelGrid(np.ones((2, 2, 1)), 0.1)),
        MultiSphereHull([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0]], [0.05, 0.08, 0.06]),
        LineSegment([[0, 0, 0], [0.2, 0, 0], [0.2, 0.2, 0]], thickness=0.03),
        PointCloud(rng.normal(size=(20, 3)) * 0.08, 0.03),
        box_mesh((0.2, 0.2, 0.1), 1),
    ]
    for k, shape in enumerate(kinds):
        add_free(world, shape, [*rng.normal(size=3), -1.2 + 0.8 * (k % 4), -1 + 0.8 * (k // 4), 0.5])
    energy = world.total_energy
    for _ in range(60):
        world.step(20)
        # Position correction may lift a body that lies too deep: 0.1 mJ of 20 J.
        assert world.total_energy < energy + 1e-4
        energy = world.total_energy
    for skeleton in world.skeletons[1:]:
        assert -0.2 < skeleton.positions[5] < 0.4


def test_worlds_with_compounds_are_copied_and_restored_bit_for_bit():
    world = world_on(FLAT)
    standing = add_free(world, as_mesh(table()), [0, 0, 0.1, 0.01, 0.02, 0.401])
    add_free(world, Sphere(0.05), [0, 0, 0, 0.1, 0.1, 0.86], [0, 0, 0, 0.3, 0, 0])
    world.step(50)
    other, snapshot = world.clone(), world.snapshot()
    world.step(100)
    after = standing.positions
    other.step(100)
    np.testing.assert_array_equal(other.skeletons[1].positions, after)
    world.restore(snapshot)
    world.step(100)
    np.testing.assert_array_equal(standing.positions, after)


def test_a_distance_that_no_surface_tells_is_refused():
    """Near the surface of a box of triangles depths are those of the box; far inside there is none, and it is said."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    hull = convex_hull(corners)
    mesh, ball, X = Mesh(hull.vertices, hull.faces, collide_as="triangles"), Sphere(0.05), np.eye(4)
    X[0, 3] = 0.98
    assert distance(mesh, np.eye(4), ball, X) == pytest.approx(0.98 - 1.0 - 0.05, abs=1e-12)
    X[0, 3] = 0.3
    for shapes in ((mesh, np.eye(4), ball, X), (ball, X, mesh, np.eye(4))):
        with pytest.raises(kido.StateError, match=r"distance: Sphere\(radius=0.05\) is far inside of Mesh"):
            distance(*shapes)
