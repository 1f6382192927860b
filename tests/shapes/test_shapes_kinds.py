"""Pyramid, arrow, hull of spheres, clouds, lines, voxels, height maps: against sampling, trimesh and closed forms."""

import copy
import dataclasses
import math
import pickle

import numpy as np
import pytest
import trimesh

import kido
from kido.collision import collide
from kido.errors import MissingExtraError, ModelError, ShapeError
from kido.shapes import (
    Arrow,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Heightmap,
    LineSegment,
    Mesh,
    MultiSphereHull,
    PointCloud,
    Pyramid,
    Sphere,
    VoxelGrid,
)
from trees import at

RNG = np.random.default_rng(3)
POINTS = RNG.normal(size=(30, 3))
SHAPES = {
    "pyramid": Pyramid(0.3, 0.5, 0.4),
    "arrow": Arrow((0.1, 0.2, 0.3), (0.5, -0.2, 0.9), 0.05, 2.5, 0.3),
    "spheres": MultiSphereHull([[0, 0, 0], [0.3, 0, 0.1], [0, 0.2, -0.1]], [0.1, 0.05, 0.15]),
    "voxels": VoxelGrid(RNG.random((3, 4, 5)) < 0.5, 0.2),
    "cloud": PointCloud(POINTS, 0.05),
    "lines": LineSegment([[0, 0, 0], [1, 0, 0], [1, 2, 0], [1, 2, 3]], thickness=0.01),
    "heights": Heightmap(RNG.normal(size=(4, 6)), (0.5, 0.25)),
}


def inside(shape, p):
    """Membership, from the definition of each shape."""
    match shape:
        case Pyramid():
            scale = 0.5 - p[:, 2] / shape.height
            half = 0.5 * np.outer(scale, [shape.width, shape.depth])
            return (np.abs(p[:, :2]) <= half).all(axis=1) & (scale <= 1.0)
        case Arrow():
            along = (p - shape.tail) @ shape.direction
            across = np.linalg.norm(p - shape.tail - np.outer(along, shape.direction), axis=1)
            left = shape.length - along
            shaft = (along >= 0) & (left >= shape.head_length) & (across <= shape.radius)
            head = (left >= 0) & (left <= shape.head_length)
            return shaft | (head & (across <= shape.head_radius * left / shape.head_length))
        case VoxelGrid():
            cell = np.floor(p / shape.spacing + 0.5 * np.array(shape.occupied.shape)).astype(int)
            cell = np.minimum(cell, np.array(shape.occupied.shape) - 1)
            return shape.occupied[tuple(cell.T)]
    raise AssertionError


@pytest.mark.parametrize("name", ["pyramid", "arrow", "voxels"])
def test_volume_centroid_moment_against_sampling(name):
    shape, n = SHAPES[name], 40
    low, high = shape.aabb
    cells = np.stack(np.meshgrid(*[np.arange(n)] * 3, indexing="ij"), -1).reshape(-1, 3)
    p = low + (high - low) * (cells + np.random.default_rng(1).random(cells.shape)) / n
    p = p[inside(shape, p)]
    # Stratified samples; an arrow fills 3 % of its box, so that 2 % is four standard errors.
    assert shape.volume == pytest.approx(np.prod(high - low) * len(p) / n**3, rel=0.02)
    assert shape.centroid == pytest.approx(p.mean(axis=0), abs=0.006)
    r = p - p.mean(axis=0)
    expected = 3.0 * ((r**2).sum() * np.eye(3) - r.T @ r) / len(r)
    np.testing.assert_allclose(shape.moment(3.0), expected, atol=0.02 * np.abs(expected).max())


@pytest.mark.parametrize("name", SHAPES)
def test_bounds_copies_and_recordings(name):
    shape = SHAPES[name]
    low, high = shape.aabb
    assert (low <= high).all() and shape.bounding_radius <= np.linalg.norm(np.maximum(-low, high)) + 1e-12
    for other in (pickle.loads(pickle.dumps(shape)), copy.deepcopy(shape)):
        np.testing.assert_array_equal(other.aabb, shape.aabb)
        assert type(other) is type(shape)
    from kido.recording.description import skeleton_from_dict, skeleton_to_dict

    skeleton = kido.Skeleton("s")
    skeleton.add_body("b", kido.FreeJoint("j")).add_shape(shape)
    node = skeleton_from_dict(skeleton_to_dict(skeleton)).body("b").shapes[0]
    np.testing.assert_array_equal(node.shape.aabb, shape.aabb)
    assert node.collision == shape.collides


def test_pyramid_and_voxels_against_tetrahedra():
    for shape, mesh in (
        (SHAPES["pyramid"], trimesh.Trimesh(*SHAPES["pyramid"].hull)),
        (SHAPES["voxels"], trimesh.Trimesh(*SHAPES["voxels"].surface, process=False)),
    ):
        assert mesh.volume == pytest.approx(shape.volume, rel=1e-12)
        np.testing.assert_allclose(mesh.center_mass, shape.centroid, atol=1e-12)
        mesh.density = 2.0 / mesh.volume
        np.testing.assert_allclose(mesh.moment_inertia, shape.moment(2.0), atol=1e-12)


def test_one_voxel_is_a_box_and_from_points_finds_the_cells():
    one, box = VoxelGrid(np.ones((1, 1, 1)), 0.4), Box((0.4, 0.4, 0.4))
    assert one.volume == pytest.approx(box.volume, rel=1e-15)
    np.testing.assert_allclose(one.moment(2.0), box.moment(2.0), rtol=1e-14)
    np.testing.assert_array_equal(one.aabb, box.aabb)
    grid, centre = VoxelGrid.from_points([[0.05, 0.05, 0.05], [0.31, 0.02, -0.01]], 0.1)
    assert grid.occupied.shape == (4, 1, 2)
    np.testing.assert_allclose(np.sort(grid.centers[:, 0] + centre[0]), [0.05, 0.35], atol=1e-15)


def test_hulls_of_spheres_that_are_other_shapes():
    # Extrapolated from polyhedra: 1e-5.
    pill = MultiSphereHull([[0, 0, -0.2], [0, 0, 0.2]], [0.1, 0.1])
    capsule = Capsule(0.1, 0.4)
    assert pill.volume == pytest.approx(capsule.volume, rel=1e-5)
    np.testing.assert_allclose(pill.moment(2.0), capsule.moment(2.0), rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(pill.aabb, capsule.aabb, atol=1e-15)
    ball = MultiSphereHull([[1, 2, 3]], [0.5])
    assert ball.volume == pytest.approx(Sphere(0.5).volume, rel=1e-15)
    np.testing.assert_allclose(ball.moment(2.0), Sphere(0.5).moment(2.0), rtol=1e-14)
    np.testing.assert_array_equal(ball.centroid, [1, 2, 3])
    assert ball == MultiSphereHull([[1, 2, 3]], [0.5]) and hash(ball) == hash(MultiSphereHull([[1, 2, 3]], [0.5]))
    assert ball != pill


def test_hull_of_unequal_spheres_against_a_fine_polyhedron():
    shape = SHAPES["spheres"]
    ball = trimesh.creation.icosphere(5)  # within 3e-4 of a radius of the sphere
    points = [c + r * ball.vertices for c, r in zip(shape.centers, shape.radii, strict=True)]
    mesh = trimesh.Trimesh(np.concatenate(points)).convex_hull
    assert mesh.volume == pytest.approx(shape.volume, rel=1e-3) and mesh.volume < shape.volume
    np.testing.assert_allclose(mesh.center_mass, shape.centroid, atol=1e-5)
    mesh.density = 2.0 / mesh.volume
    np.testing.assert_allclose(mesh.moment_inertia, shape.moment(2.0), atol=2e-5)


def test_an_arrow_of_only_a_head_is_a_cone():
    arrow, cone = Arrow((0, 0, -0.2), (0, 0, 0.2), 0.1, 1.0, 1.0), Cone(0.1, 0.4)
    assert arrow.volume == pytest.approx(cone.volume, rel=1e-14)
    np.testing.assert_allclose(arrow.centroid, cone.centroid, atol=1e-15)
    np.testing.assert_allclose(arrow.moment(2.0), cone.moment(2.0), rtol=1e-13)
    np.testing.assert_allclose(arrow.aabb, cone.aabb, atol=1e-15)


def test_clouds_and_lines_have_the_moments_of_balls_and_rods():
    ball = PointCloud([[1.0, 2.0, 3.0]], 0.5)
    np.testing.assert_allclose(ball.moment(2.0), Sphere(0.5).moment(2.0), rtol=1e-14)
    dumbbell = PointCloud([[-1, 0, 0], [1, 0, 0]], 0.1)
    across = 2.0 * (0.4 * 0.01 + 1.0)
    np.testing.assert_allclose(dumbbell.moment(2.0), np.diag([0.008, across, across]), rtol=1e-14)
    rod = LineSegment([[0, 0, 1], [0, 0, 4]])
    np.testing.assert_allclose(rod.moment(2.0), np.diag([1.5, 1.5, 0.0]), atol=1e-15)  # m L^2 / 12
    corner = LineSegment([[0, 0, 0], [2, 0, 0], [0, 2, 0]], [[0, 1], [0, 2]])
    np.testing.assert_allclose(corner.centroid, [0.5, 0.5, 0.0])
    assert corner.length == 4.0


def test_heights_between_the_points():
    x, y = np.meshgrid(np.linspace(-1, 1, 9), np.linspace(-2, 2, 5))
    plane = Heightmap(0.3 * x - 0.2 * y + 1.0, (0.25, 1.0))
    for a, b in RNG.uniform(-1, 1, (20, 2)):
        assert plane.height_at(a, 2 * b) == pytest.approx(0.3 * a - 0.4 * b + 1.0, abs=1e-14)
    with pytest.raises(ShapeError, match="outside"):
        plane.height_at(1.01, 0.0)
    assert plane.size == (2.0, 4.0)
    mesh = trimesh.Trimesh(plane.vertices, plane.faces)
    assert mesh.area == pytest.approx(8.0 * math.sqrt(1 + 0.09 + 0.04))
    assert (mesh.face_normals[:, 2] > 0).all()


@pytest.mark.parametrize("name", ["cloud", "lines", "heights"])
def test_what_is_no_solid_has_no_volume(name):
    with pytest.raises(ShapeError, match="no volume"):
        _ = SHAPES[name].volume
    if name == "heights":
        with pytest.raises(ShapeError, match="no inertia"):
            SHAPES[name].moment(1.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Heightmap([[0.0, 1.0], [np.nan, 0.0]]), r"heights\[1, 0\] is nan"),
        (lambda: Heightmap([[0.0, 1.0]]), r"\(1, 2\).*at least \(2, 2\)"),
        (lambda: Heightmap([0.0, 1.0]), "axes"),
        (lambda: Heightmap(np.zeros((2, 2)), 0.0), "spacing"),
        (lambda: Heightmap(np.zeros((2, 2)), (1.0, 1.0, 1.0)), "one or two"),
        (lambda: Heightmap("high"), "array of numbers"),
        (lambda: PointCloud(np.zeros((0, 3))), "not empty"),
        (lambda: PointCloud([[0, 0]]), r"\(n, 3\)"),
        (lambda: PointCloud([[0, 0, np.inf]]), "finite"),
        (lambda: PointCloud([[0, 0, 0]], -1.0), "radius"),
        (lambda: VoxelGrid(np.zeros((2, 2, 2))), "none of 8 cells"),
        (lambda: VoxelGrid(np.full((2, 2, 2), 0.5)), "0 and 1"),
        (lambda: VoxelGrid(np.ones((2, 2))), "axes"),
        (lambda: LineSegment([[0, 0, 0]]), "at least two"),
        (lambda: LineSegment([[0, 0, 0], [0, 0, 0]]), "one place"),
        (lambda: LineSegment([[0, 0, 0], [0, 0, 1]], [[0, 2]]), "0 to 1"),
        (lambda: LineSegment([[0, 0, 0], [0, 0, 1]], [[0, 0.5]]), "integers"),
        (lambda: MultiSphereHull([[0, 0, 0]], [1.0, 2.0]), "as many"),
        (lambda: MultiSphereHull([[0, 0, 0]], [0.0]), "above 0"),
        (lambda: Pyramid(1.0, -1.0, 1.0), "depth"),
        (lambda: Arrow((0, 0, 0), (0, 0, 0)), "distinct"),
        (lambda: Arrow((0, 0, 0), (0, 0, 1), 0.1, 0.5), "at least 1"),
        (lambda: Arrow((0, 0, 0), (0, 0, 1), 0.1, 2.0, 1.5), "at most 1"),
        (lambda: Mesh(*_cube(), collide_as="pieces"), "triangles, decomposition"),
        (lambda: Mesh(*_cube(), convex_pieces=[]), "at least one"),
        (lambda: SHAPES["voxels"].moment(-1.0), "mass"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ShapeError, match=message):
        make()


def _cube():
    mesh = trimesh.creation.box((1, 1, 1))
    return mesh.vertices, mesh.faces


def test_an_arrow_never_collides():
    skeleton = kido.Skeleton("s")
    body = skeleton.add_body("b", kido.FreeJoint("j"), inertia=kido.Inertia.from_shape(SHAPES["arrow"], mass=1.0))
    node = body.add_shape(SHAPES["arrow"])
    assert not node.collision
    with pytest.raises(ModelError, match="never collides"):
        node.collision = True
    with pytest.raises(ModelError, match="never collides"):
        body.add_shape(SHAPES["arrow"], collision=True)
    with pytest.raises(ShapeError, match="drawing only"):
        collide(SHAPES["arrow"], np.eye(4), Sphere(0.1), np.eye(4))
    world = kido.World()
    world.add_skeleton(skeleton)
    world.step(3)


def test_decomposition_travels_and_is_convex():
    pytest.importorskip("coacd")
    parts = [trimesh.creation.box((1, 0.2, 0.2)), trimesh.creation.box((0.2, 0.2, 1))]
    parts[1].apply_translation([0.4, 0, 0.6])
    corner = VoxelGrid(np.array([[[1, 0]], [[1, 1]]]), 0.5)  # an L of three cubes
    mesh = Mesh(*corner.surface, collide_as="decomposition")
    assert 2 <= len(mesh.convex_pieces) <= 4
    volume = sum(trimesh.Trimesh(points).convex_hull.volume for points in mesh.convex_pieces)
    assert volume == pytest.approx(mesh.volume, rel=0.05)
    again = pickle.loads(pickle.dumps(mesh))
    for a, b in zip(mesh.convex_pieces, again.convex_pieces, strict=True):
        np.testing.assert_array_equal(a, b)
    # A ball in the notch touches neither arm; in the hull it would be inside.
    assert len(collide(Sphere(0.2), at(-0.25, 0, 0.25), mesh, np.eye(4)).gaps) == 0
    assert len(collide(Sphere(0.2), at(-0.25, 0, 0.19), mesh, np.eye(4)).gaps) == 1


def test_a_mesh_that_collides_otherwise():
    mesh = dataclasses.replace(Mesh(*_cube(), uri="cube.obj"), collide_as="triangles")
    assert (mesh.uri, mesh.collide_as, mesh.convex_pieces) == ("cube.obj", "triangles", None)


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "coacd", None)
    with pytest.raises(MissingExtraError, match=r"kido\[decompose\]"):
        Mesh(*_cube(), collide_as="decomposition")


@pytest.mark.parametrize("name", SHAPES)
def test_the_viewer_draws_what_the_shape_is(name):
    from kido.rendering.geometry import geometry, shape_parts

    shape = SHAPES[name]
    corners = []
    for part in shape_parts(shape, np.eye(4)):
        vertices, faces = geometry(part.key)
        assert len(faces) > 0
        corners.append(vertices * part.scale @ part.transform[:3, :3].T + part.transform[:3, 3])
    drawn = np.concatenate(corners)
    # Round parts are drawn with 40 corners; wires are drawn without their round ends.
    size = 0.01 * np.ptp(shape.aabb, axis=0).max() + (0.006 if name == "lines" else 0.0)
    np.testing.assert_allclose([drawn.min(axis=0), drawn.max(axis=0)], shape.aabb, atol=size)


def test_cylinder_is_unchanged_by_the_company():
    assert Cylinder(0.1, 0.2).collides and not Arrow.collides
