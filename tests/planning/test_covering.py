"""Spheres over shapes: points of the shapes, drawn by formulas of their own, lie in spheres of every level."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido.planning.covering import convex_parts, joined, small_sphere, sphere_tree
from kido.shapes import Box, Capsule, Cone, Cylinder, Ellipsoid, Mesh, MultiSphereHull, Plane, PointCloud, Sphere

ROUNDING = 1e-12  # of sums of a few numbers of the size of a metre
L_SHAPE = np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]], float) * 0.1


def l_mesh(collide_as: str = "triangles") -> Mesh:
    """A prism on an L, whose inside corner no convex hull keeps."""
    low, high = (np.column_stack([L_SHAPE, np.full(6, z)]) for z in (-0.05, 0.05))
    sides = [[k, (k + 1) % 6, (k + 1) % 6 + 6] for k in range(6)] + [[k, (k + 1) % 6 + 6, k + 6] for k in range(6)]
    top = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]]
    faces = sides + [[6 + a, 6 + b, 6 + c] for a, b, c in top] + [[c, b, a] for a, b, c in top]
    return Mesh(np.concatenate([low, high]), faces, collide_as=collide_as)


def ball(rng, n):
    x = rng.normal(size=(n, 3))
    return x / np.linalg.norm(x, axis=1)[:, None] * rng.uniform(0, 1, (n, 1)) ** (1 / 3)


def points_of(shape, rng, n=4000):
    """Points of a shape, many of them on its surface."""
    if isinstance(shape, Box):
        x = rng.uniform(-0.5, 0.5, (n, 3))
        x[: n // 2, 0] = np.sign(x[: n // 2, 0]) * 0.5
        return x * np.array(shape.size)
    if isinstance(shape, Sphere):
        return ball(rng, n) * shape.radius
    if isinstance(shape, Ellipsoid):
        return ball(rng, n) * np.array(shape.half_sizes)
    if isinstance(shape, Capsule):
        return ball(rng, n) * shape.radius + np.array([0, 0, 1]) * shape.height * rng.uniform(-0.5, 0.5, (n, 1))
    if isinstance(shape, Cylinder | Cone):
        a, h, r = rng.uniform(0, 2 * np.pi, n), rng.uniform(0, 1, n), np.sqrt(rng.uniform(0, 1, n))
        r[: n // 2] = 1.0
        r = r * shape.radius * ((1 - h) if isinstance(shape, Cone) else 1.0)
        return np.column_stack([r * np.cos(a), r * np.sin(a), (h - 0.5) * shape.height])
    if isinstance(shape, MultiSphereHull):
        w = rng.dirichlet(np.ones(len(shape.radii)), n)
        return w @ shape.centers + ball(rng, n) * (w @ shape.radii)[:, None]
    if isinstance(shape, PointCloud):
        return shape.points[rng.integers(len(shape.points), size=n)] + ball(rng, n) * shape.radius
    weights = rng.dirichlet(np.ones(3), n)
    return np.einsum("nk,nki->ni", weights, shape.vertices[shape.faces[rng.integers(len(shape.faces), size=n)]])


SHAPES = [
    Sphere(0.1),
    Box((0.3, 0.2, 0.05)),
    Capsule(0.05, 0.4),
    Cylinder(0.08, 0.3),
    Cone(0.1, 0.2),
    Ellipsoid((0.3, 0.2, 0.1)),
    MultiSphereHull([[0, 0, 0], [0.2, 0, 0], [0, 0.1, 0.1]], [0.05, 0.02, 0.03]),
    PointCloud([[0, 0, 0], [0.3, 0, 0], [0, 0.4, 0.1]], 0.02),
    l_mesh(),
]


def in_spheres(x, centres, radii):
    return (np.linalg.norm(x[:, None] - centres, axis=2) <= radii + ROUNDING).any(axis=1)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("tolerance", [0.05, 0.01])
def test_every_point_is_in_spheres_of_every_level(shape, tolerance):
    tree = sphere_tree(convex_parts(shape), tolerance, 200)
    x = points_of(shape, np.random.default_rng(1))
    assert in_spheres(x, tree.centres[tree.leaves], tree.radii[tree.leaves]).all()
    level = [0]
    while level:  # what covers the shape if nodes below are not looked at
        assert in_spheres(x, tree.centres[level], tree.radii[level]).all()
        children = [c for n in level if not tree.leaves[n] for c in (n + 1, tree.skip[n + 1])]
        level = [n for n in level if tree.leaves[n]] + children if children else []


def test_finest_spheres_stand_out_no_farther_than_asked_for():
    size = np.array([0.3, 0.2, 0.1])
    tree = sphere_tree(convex_parts(Box(size)), 0.02, 10_000)
    leaves = tree.leaves
    beyond = np.abs(tree.centres[leaves]) + tree.radii[leaves, None] - size / 2
    assert beyond.max() <= 0.02 + 0.02 * tree.radii[leaves].max()  # measured in 162 directions
    assert 8 < leaves.sum() < 400


def test_exact_covers_where_there_are_some():
    assert len(sphere_tree(convex_parts(Sphere(0.1)), 0.01, 64).radii) == 1
    cloud = PointCloud([[0, 0, 0], [1, 0, 0]], 0.1)
    tree = sphere_tree(convex_parts(cloud), 0.01, 64)
    assert sorted(tree.radii[tree.leaves]) == pytest.approx([0.1, 0.1], rel=1e-9)


def test_number_of_spheres_is_limited():
    tree = sphere_tree(convex_parts(Box((1, 1, 1))), 1e-6, 20)
    assert tree.leaves.sum() == 20 and len(tree.radii) == 39


def test_meshes_are_what_they_collide_as():
    x = np.array([[0.145, 0.145, 0.0]])  # in the hull of the L alone
    for collide_as, inside in (("hull", True), ("box", True), ("triangles", False)):
        tree = sphere_tree(convex_parts(l_mesh(collide_as)), 0.02, 400)
        assert in_spheres(x, tree.centres[tree.leaves], tree.radii[tree.leaves])[0] == inside


def test_small_spheres_are_nearly_the_smallest():
    """Of a regular tetrahedron and of two balls the smallest spheres are known."""
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], float)
    from kido.planning.covering import Part

    assert small_sphere([Part(corners)])[1] == pytest.approx(np.sqrt(3.0), rel=0.02)
    two = [Part(np.zeros((1, 3)), 0.5), Part(np.array([[2.0, 0, 0]]), 0.1)]
    assert small_sphere(two)[1] == pytest.approx(0.5 * (0.5 + 2.0 + 0.1), rel=0.02)


def test_joined_trees_keep_their_spheres():
    trees = [
        sphere_tree(convex_parts(shape), 0.02, 20) for shape in (Box((0.1, 0.2, 0.3)), Sphere(0.2), Capsule(0.1, 1))
    ]
    tree = joined(trees)
    assert tree.leaves.sum() == sum(t.leaves.sum() for t in trees)
    reach = np.linalg.norm(tree.centres - tree.centres[0], axis=1) + tree.radii
    assert (reach[tree.leaves] <= tree.radii[0] + ROUNDING).all()
    assert tree.skip[0] == len(tree.radii)


def test_what_spheres_cannot_cover_is_named():
    with pytest.raises(kido.ShapeError, match="Plane cannot be covered"):
        convex_parts(Plane())
