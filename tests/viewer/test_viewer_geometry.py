"""Meshes of the shapes: closed, outward, of the right volume; truths are the closed formulas of solids."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido.rendering.geometry import extents, geometry, shape_parts, split_creases


def pieces(shape: object) -> tuple[np.ndarray, np.ndarray]:
    vertices, faces, n = [], [], 0
    for part in shape_parts(shape, np.eye(4)):
        v, f = geometry(part.key)
        v = (v * part.scale) @ part.transform[:3, :3].T + part.transform[:3, 3]
        vertices.append(v)
        faces.append(f + n)
        n += len(v)
    return np.vstack(vertices), np.vstack(faces)


def volume(vertices: np.ndarray, faces: np.ndarray) -> float:
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


@pytest.mark.parametrize(
    ("shape", "exact"),
    [
        (kido.Box((0.3, 0.2, 0.5)), 0.03),
        (kido.Sphere(0.4), 4 / 3 * np.pi * 0.4**3),
        (kido.Ellipsoid((0.1, 0.2, 0.3)), 4 / 3 * np.pi * 0.006),
        (kido.Cylinder(0.2, 0.7), np.pi * 0.04 * 0.7),
        (kido.Cone(0.2, 0.6), np.pi * 0.04 * 0.2),
        (kido.Capsule(0.1, 0.5), np.pi * 0.01 * 0.5 + 4 / 3 * np.pi * 0.001),
    ],
    ids=lambda v: type(v).__name__ if not isinstance(v, float) else "",
)
def test_solids_have_their_volume_and_outward_faces(shape, exact):
    # An inscribed 40-gon has 0.41 % less area than its circle; a sphere of 20 bands 0.8 % less volume.
    # The volume is signed: inward faces would make it negative, a hole would change it with a shift.
    vertices, faces = pieces(shape)
    assert volume(vertices, faces) == pytest.approx(exact, rel=1.2e-2)
    assert volume(vertices + [1.0, -2.0, 0.5], faces) == pytest.approx(volume(vertices, faces), rel=1.5e-2)


@pytest.mark.parametrize(
    ("shape", "half"),
    [
        (kido.Box((0.3, 0.2, 0.5)), (0.15, 0.1, 0.25)),
        (kido.Ellipsoid((0.1, 0.2, 0.3)), (0.1, 0.2, 0.3)),
        (kido.Cylinder(0.2, 0.7), (0.2, 0.2, 0.35)),
        (kido.Cone(0.2, 0.6), (0.2, 0.2, 0.3)),
        (kido.Capsule(0.1, 0.5), (0.1, 0.1, 0.35)),
    ],
    ids=lambda v: type(v).__name__ if not isinstance(v, tuple) else "",
)
def test_solids_reach_as_far_as_they_should(shape, half):
    vertices, _ = pieces(shape)
    np.testing.assert_allclose(vertices.max(axis=0), half, atol=1e-12)
    np.testing.assert_allclose(vertices.min(axis=0), -np.array(half), atol=1e-12)


def test_boxes_of_all_sizes_share_one_geometry():
    keys = {part.key for size in (0.1, 0.2, 3.0) for part in shape_parts(kido.Box((size,) * 3), np.eye(4))}
    assert len(keys) == 1


def test_equal_meshes_are_one_geometry_and_different_ones_are_not():
    vertices = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
    a, b, c = kido.Mesh(vertices, faces), kido.Mesh(vertices.copy(), faces), kido.Mesh(2 * vertices, faces)
    key = [shape_parts(mesh, np.eye(4))[0].key for mesh in (a, b, c)]
    assert key[0] == key[1]
    assert hash(key[0]) == hash(key[1])
    assert key[0] != key[2]
    np.testing.assert_array_equal(extents(key[2])[1], [2, 2, 2])


def test_a_cube_gets_sharp_edges_and_a_sphere_stays_smooth():
    corners = np.array([[x, y, z] for x in (0.0, 1) for y in (0.0, 1) for z in (0.0, 1)])
    hull = kido.Mesh(corners, kido.shapes.convex_hull(corners).faces)
    vertices, faces, source = split_creases(np.asarray(hull.vertices), np.asarray(hull.faces))
    assert len(vertices) == 24  # three faces meet at each of eight corners
    np.testing.assert_array_equal(np.asarray(hull.vertices)[source], vertices)
    np.testing.assert_array_equal(vertices[faces], np.asarray(hull.vertices)[np.asarray(hull.faces)])
    round_vertices, round_faces = geometry(("sphere",))
    used = len(np.unique(round_faces))
    assert len(split_creases(round_vertices, round_faces)[0]) <= used


def test_an_unknown_shape_is_refused_by_name():
    with pytest.raises(kido.KidoError, match=r"type 'object'.*Box, Sphere"):
        shape_parts(object(), np.eye(4))


def test_a_plane_has_no_parts():
    assert shape_parts(kido.Plane(), np.eye(4)) == []
