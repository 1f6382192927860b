"""Shapes: sizes, bounds, volume and inertia against trimesh and against sampling."""

import copy
import pickle

import numpy as np
import pytest
import trimesh

from kido.errors import ShapeError
from kido.shapes import Box, Capsule, Cone, Cylinder, Ellipsoid, Mesh, Plane, Sphere, convex_hull
from kido.shapes.hull import polygons

SOLIDS = [
    Sphere(0.3),
    Box((0.2, 0.5, 0.9)),
    Capsule(0.2, 0.7),
    Cylinder(0.3, 0.5),
    Ellipsoid((0.2, 0.4, 0.7)),
    Cone(0.4, 0.9),
    Mesh(
        trimesh.creation.icosphere(2).vertices * [0.3, 0.2, 0.5] + [0.1, 0.2, 0.3],
        trimesh.creation.icosphere(2).faces,
    ),
]


def _inside(shape, p):
    """Membership, written from the definition of each shape."""
    x, y, z = p.T
    rho = np.hypot(x, y)
    match shape:
        case Sphere():
            return (p**2).sum(1) <= shape.radius**2
        case Box():
            return (np.abs(p) <= np.array(shape.size) / 2).all(1)
        case Capsule():
            return np.hypot(rho, np.maximum(np.abs(z) - shape.height / 2, 0)) <= shape.radius
        case Cylinder():
            return (rho <= shape.radius) & (np.abs(z) <= shape.height / 2)
        case Ellipsoid():
            return ((p / shape.radii) ** 2).sum(1) <= 1
        case Cone():
            return (np.abs(z) <= shape.height / 2) & (rho <= shape.radius * (0.5 - z / shape.height))
    mesh = trimesh.Trimesh(shape.vertices, shape.faces)  # convex: inside of all face planes
    return ((p[:, None] - mesh.triangles_center[None]) * mesh.face_normals[None]).sum(2).max(1) <= 0


@pytest.mark.parametrize("shape", SOLIDS, ids=lambda s: type(s).__name__)
def test_volume_centroid_moment_against_sampling(shape):
    # Stratified samples of the bounding box: standard error of these sums is below 0.3 %.
    n = 40
    low, high = shape.aabb
    rng = np.random.default_rng(1)
    cells = np.stack(np.meshgrid(*[np.arange(n)] * 3, indexing="ij"), -1).reshape(-1, 3)
    p = low + (high - low) * (cells + rng.random(cells.shape)) / n
    p = p[_inside(shape, p)]
    box = np.prod(high - low)
    assert shape.volume == pytest.approx(box * len(p) / n**3, rel=0.01)
    assert shape.centroid == pytest.approx(p.mean(0), abs=0.003)
    r = p - shape.centroid
    second = 2.5 * (r.T @ r) / len(p)
    moment = shape.moment(2.5)
    assert moment == pytest.approx(np.trace(second) * np.eye(3) - second, abs=0.01 * np.trace(moment))
    assert np.sqrt((p**2).sum(1).max()) <= shape.bounding_radius
    assert (p.min(0) - low < 0.1 * (high - low)).all() and (high - p.max(0) < 0.1 * (high - low)).all()


@pytest.mark.parametrize(
    ("shape", "peer"),
    [
        (Box((0.2, 0.5, 0.9)), trimesh.primitives.Box(extents=(0.2, 0.5, 0.9))),
        (Sphere(0.3), trimesh.primitives.Sphere(radius=0.3)),
        (Cylinder(0.3, 0.5), trimesh.primitives.Cylinder(radius=0.3, height=0.5)),
    ],
    ids=lambda s: type(s).__name__,
)
def test_exact_primitives_against_trimesh(shape, peer):
    assert shape.volume == pytest.approx(peer.volume, rel=1e-12)
    assert np.sort(np.diag(shape.moment(peer.volume))) == pytest.approx(
        np.sort(np.linalg.eigvalsh(peer.moment_inertia)), rel=1e-12
    )


def test_moment_of_capsule_tends_to_the_sphere():
    assert Capsule(0.3, 1e-9).moment(2.0) == pytest.approx(Sphere(0.3).moment(2.0), rel=1e-8, abs=1e-15)


def test_mesh_mass_properties_equal_trimesh():
    solid = trimesh.creation.torus(0.5, 0.2)  # closed and not convex
    solid.apply_transform(trimesh.transformations.random_rotation_matrix(np.array([0.1, 0.5, 0.9])))
    solid.apply_translation([1.0, -2.0, 3.0])
    mesh = Mesh(solid.vertices, solid.faces)
    assert mesh.closed
    assert mesh.volume == pytest.approx(solid.volume, rel=1e-10)
    assert mesh.centroid == pytest.approx(solid.center_mass, rel=1e-10)
    assert mesh.moment(solid.volume) == pytest.approx(solid.moment_inertia, rel=1e-9, abs=1e-12)


def test_open_and_inverted_meshes_use_their_hull():
    box = trimesh.creation.box(extents=(1, 2, 3))
    for faces in (box.faces[:-1], box.faces[:, ::-1]):
        mesh = Mesh(box.vertices, faces)
        assert mesh.volume == pytest.approx(6.0)
        assert mesh.moment(1.0) == pytest.approx(Box((1, 2, 3)).moment(1.0), abs=1e-12)


def test_mesh_with_split_vertices_is_closed():
    box = trimesh.creation.box()
    mesh = Mesh(box.triangles.reshape(-1, 3), np.arange(36).reshape(-1, 3))
    assert mesh.closed and mesh.volume == pytest.approx(1.0)


def test_hull_is_closed_convex_and_outward():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(200, 3))
    hull = convex_hull(points)
    solid = trimesh.Trimesh(hull.vertices, hull.faces, process=False)
    assert solid.is_watertight and solid.is_winding_consistent and solid.is_convex
    assert solid.volume == pytest.approx(trimesh.PointCloud(points).convex_hull.volume, rel=1e-12)


def test_polygons_of_a_box_are_its_six_quads():
    box = trimesh.creation.box(extents=(1, 2, 3)).subdivide()
    loops = polygons(Mesh(box.vertices, box.faces).hull)
    hull = Mesh(box.vertices, box.faces).hull
    assert sorted(len(loop) for loop in loops) == [4] * 6
    for loop in loops:
        p = hull.vertices[loop]
        assert np.cross(p[1] - p[0], p[2] - p[1]) @ p.mean(0) > 0  # counterclockwise from outside


def test_flat_mesh_becomes_a_thin_plate():
    hull = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]]).hull
    assert np.ptp(hull.vertices, axis=0) == pytest.approx([1, 1, 1.4e-4], abs=1e-4)


def test_mesh_on_a_line_has_no_hull():
    with pytest.raises(ShapeError, match="lie on a line"):
        Mesh([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]]).hull  # noqa: B018


def test_mesh_too_small_for_numbers_has_no_hull():
    corners = 1e-321 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])  # whose squares are zero
    with pytest.raises(ShapeError, match="expected at least 1e-60 m"):
        Mesh(corners, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]).hull  # noqa: B018


def test_closed_mesh_around_nothing_has_its_hulls_moment():
    """A tetrahedron pressed flat bounds no volume but of rounding."""
    corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.3, 0.3, 1e-16]]
    mesh = Mesh(corners, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
    assert mesh.closed and mesh.volume == pytest.approx(0.5e-4 * 2.0**0.5, rel=1e-6)
    assert np.diag(mesh.moment(18.0)) == pytest.approx([1, 1, 2], rel=1e-6)  # m a^2 / 18 of a right triangle


def test_plane():
    plane = Plane((0, 0, 2), 0.5)
    assert plane.normal == (0, 0, 1) and plane.offset == 0.5
    assert np.isinf(plane.bounding_radius)
    with pytest.raises(ShapeError, match="inertia"):
        plane.moment(1.0)


def textured(**options):
    given = {"textures": [np.zeros((2, 2, 3), np.uint8)], "texture_coordinates": np.zeros((1, 3, 2)), **options}
    return Mesh(np.eye(3), [[0, 1, 2]], **given)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sphere(0.0), "Sphere: radius is 0.0; expected a positive"),
        (lambda: Sphere(float("nan")), "radius is nan"),
        (lambda: Sphere("big"), "radius is 'big'"),
        (lambda: Box((1, 2)), "expected three"),
        (lambda: Box((1, -2, 3)), "expected three positive"),
        (lambda: Box(1.0), "expected three"),
        (lambda: Capsule(0.1, float("inf")), "height is inf"),
        (lambda: Cylinder(-1, 1), "radius is -1"),
        (lambda: Cone(1, 0), "height is 0"),
        (lambda: Ellipsoid((1, 1, 0)), "Ellipsoid: radii"),
        (lambda: Plane((0, 0, 0)), "not zero"),
        (lambda: Plane((0, 0, 1), float("nan")), "offset is nan"),
        (lambda: Mesh([[0, 0, 0]], [[0, 0, 0]]), "1 vertices"),
        (lambda: Mesh(np.eye(3), [[0, 1, 3]]), "expected 0 to 2"),
        (lambda: Mesh(np.eye(3), [[0, 1, 1.5]]), "faces"),
        (lambda: Mesh(np.eye(3) * np.nan, [[0, 1, 2]]), "not finite"),
        (lambda: Mesh(np.eye(3), [[0, 1, 2]], collide_as="soup"), "one of hull, box, sphere"),
        (lambda: Mesh(np.eye(3), [[0, 1, 2]], vertex_colors=np.zeros((2, 3))), "vertex_colors"),
        (lambda: textured(textures=[np.zeros((2, 2))]), r"textures\[0\] is \(2, 2\) of float64; expected bytes"),
        (lambda: textured(textures=[np.full((2, 2, 3), 256)]), r"textures\[0\] has values 256 to 256"),
        (lambda: textured(texture_coordinates=np.zeros((1, 3))), r"texture_coordinates have shape \(1, 3\)"),
        (lambda: textured(texture_coordinates=np.full((1, 3, 2), np.nan)), "expected finite numbers"),
        (lambda: textured(texture_of_face=[1]), "texture_of_face: expected 1 numbers from -1 to 0"),
        (lambda: textured(textures=None), "are of textures, of which it has none"),
        (lambda: Sphere(1.0).moment(-1.0), "mass is -1.0"),
        (lambda: Sphere(1.0).moment(float("nan")), "mass is nan"),
    ],
)
def test_refuses(make, message):
    with pytest.raises(ShapeError, match=message):
        make()


def test_shapes_are_frozen_copied_and_pickled():
    mesh = SOLIDS[-1]
    with pytest.raises(ValueError, match="read-only"):
        mesh.vertices[0, 0] = 5
    with pytest.raises(AttributeError):
        SOLIDS[0].radius = 2.0
    for shape in SOLIDS[:-1]:
        assert pickle.loads(pickle.dumps(shape)) == shape == copy.deepcopy(shape)
    twin = pickle.loads(pickle.dumps(mesh))
    assert np.array_equal(twin.vertices, mesh.vertices) and not twin.vertices.flags.writeable
