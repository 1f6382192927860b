"""Where spheres touch, shapes decide: states and edges against distances of `kido.collision`, one pair at a time."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from test_checker import INERTIA, NEAR, arm, tetrahedron, turned

import kido
from kido.collision import distance
from kido.planning import CollisionChecker, Environment, RRTConnect
from kido.shapes import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Heightmap,
    Mesh,
    Plane,
    PointCloud,
    Shape,
    Sphere,
    VoxelGrid,
)

THIN = 1e-4  # half the thickness of triangles [m]
COARSE = {"tolerance": 0.2, "max_spheres": 4}  # spheres that stand far out of what they cover
LINKS: list[Shape] = [
    Box((0.1, 0.06, 0.36)),
    Cylinder(0.06, 0.3),
    Capsule(0.05, 0.25),
    Cone(0.09, 0.3),
    Ellipsoid((0.12, 0.2, 0.36)),
    Mesh(0.3 * tetrahedron()[0] - 0.04, tetrahedron()[1]),
    Mesh(0.3 * tetrahedron()[0] - 0.04, tetrahedron()[1], collide_as="triangles"),
    PointCloud(np.random.default_rng(5).uniform(-0.1, 0.1, (5, 3)), 0.03),
    VoxelGrid(np.array([[[1, 0, 1]], [[1, 1, 0]]]) > 0, 0.08),
]
OBSTACLES: list[Shape] = [
    Box((0.3, 0.2, 0.25)),
    Cylinder(0.15, 0.3),
    Cone(0.2, 0.4),
    Ellipsoid((0.15, 0.2, 0.25)),
    Sphere(0.15),
    VoxelGrid(np.array([[[1, 0], [0, 1]], [[1, 1], [0, 0]]]) > 0, 0.15),
    Mesh(0.6 * tetrahedron()[0], tetrahedron()[1]),
    Mesh(0.6 * tetrahedron()[0], tetrahedron()[1], collide_as="triangles"),
    Plane((0.0, 0.1, 1.0), 0.05),
    Heightmap(np.random.default_rng(8).uniform(-0.1, 0.1, (4, 4)), 0.15),
]


@cache
def parts(shape: Shape) -> list[tuple[Shape, np.ndarray]]:
    """Convex shapes that a shape is made of, and where they are; triangles are prisms, next to nothing thick."""
    if isinstance(shape, VoxelGrid):
        return [(Box((shape.spacing, shape.spacing, shape.spacing)), c) for c in shape.centers]
    if isinstance(shape, PointCloud):
        return [(Sphere(shape.radius), c) for c in shape.points]
    if isinstance(shape, Heightmap) or (isinstance(shape, Mesh) and shape.collide_as == "triangles"):
        found = []
        for f in shape.faces:
            a, b, c = shape.vertices[f]
            n = THIN * np.cross(b - a, c - a) / np.linalg.norm(np.cross(b - a, c - a))
            faces = [[0, 1, 2], [3, 5, 4], [0, 3, 1], [1, 3, 4], [1, 4, 2], [2, 4, 5], [2, 5, 0], [0, 5, 3]]
            found.append((Mesh(np.array([a + n, b + n, c + n, a - n, b - n, c - n]), faces), np.zeros(3)))
        return found
    return [(shape, np.zeros(3))]


def shifted(X: np.ndarray, p: np.ndarray) -> np.ndarray:
    Y = X.copy()
    Y[:3, 3] += X[:3, :3] @ p
    return Y


def gap_of(first: tuple[Shape, np.ndarray], second: tuple[Shape, np.ndarray]) -> float:
    (one, X), (other, Y) = first, second
    return min(distance(a, shifted(X, p), b, shifted(Y, r)) for a, p in parts(one) for b, r in parts(other))


def gaps(checker: CollisionChecker, skeleton: kido.Skeleton, q: np.ndarray, carried=()) -> np.ndarray:
    """Least distance of any shapes that may not meet: bodies two or more apart, bodies that move and obstacles."""
    room = checker.environment
    found = []
    for state in q:
        skeleton.positions = state
        placed = [
            (k, node.shape, body.transform() @ node.relative_transform)
            for k, body in enumerate(skeleton.bodies)
            for node in body.shapes
        ]
        for at, shape, X in carried:
            placed.append((at, shape, skeleton.bodies[at].transform() @ X))
        least = np.inf
        for i, (a, shape, X) in enumerate(placed):
            for b, other, Y in placed[:i]:
                if abs(a - b) > 1:
                    least = min(least, gap_of((shape, X), (other, Y)))
            if a > 0:
                least = min([least, *(gap_of((shape, X), room.placed(name)) for name in room.names)])
        found.append(least)
    return np.array(found)


@pytest.mark.parametrize("number", range(len(OBSTACLES)), ids=[type(s).__name__ for s in OBSTACLES])
def test_states_are_as_distances_have_them(number):
    """Arms of one shape each, coarse spheres, against themselves and an obstacle: as pair by pair."""
    rng, shares, obstacle = np.random.default_rng(4), [], OBSTACLES[number]
    for link in LINKS[number % 3 :: 3]:
        skeleton, X = arm(3, link), turned(2)
        X[:3, 3] = (0.0, 0.0, 0.0) if isinstance(obstacle, Plane) else (0.35, 0.1, 0.6)
        checker = CollisionChecker(skeleton, Environment().add("it", obstacle, X), **COARSE)
        spheres = CollisionChecker(skeleton, checker.environment, exact=False, **COARSE)
        q = rng.uniform(-2.9, 2.9, (16, 3))
        gap, free, by_spheres = gaps(checker, skeleton, q), checker.states_are_free(q), spheres.states_are_free(q)
        assert (free == (gap > 0.0))[np.abs(gap) > 2 * THIN].all()
        assert not (by_spheres & ~free).any()
        assert [checker.is_free(state) for state in q[:20]] == free[:20].tolist()
        shares.append((free.mean(), by_spheres.mean()))
    share, by_spheres = np.mean(shares, axis=0)
    assert 0.1 < share < 0.9 and by_spheres < share


def test_margins_are_distances():
    skeleton, X = arm(3, LINKS[0]), np.eye(4)
    X[:3, 3] = 0.35, 0.1, 0.6
    options = {"margin": 0.06, "self_collision": False, **COARSE}
    checker = CollisionChecker(skeleton, Environment().add("it", OBSTACLES[1], X), **options)
    q = np.random.default_rng(1).uniform(-2.9, 2.9, (300, 3))
    least = []
    for state in q:
        skeleton.positions = state
        places = [body.transform() @ body.shapes[0].relative_transform for body in skeleton.bodies[1:]]
        least.append(min(distance(LINKS[0], Y, OBSTACLES[1], X) for Y in places))
    gap = np.array(least) - 0.06
    assert (checker.states_are_free(q) == (gap > 0.0))[np.abs(gap) > NEAR].all()


def test_carried_shapes_decide_too():
    skeleton, X = arm(3, LINKS[1]), np.eye(4)
    X[:3, 3] = 0.5, 0.0, 0.7
    checker = CollisionChecker(skeleton, Environment().add("box", Box((0.2, 0.4, 0.4)), X), **COARSE)
    held = turned(7)
    held[2, 3] += 0.5
    checker.attach("part", Cone(0.1, 0.4), "link2", held, touching=["link1"])
    q = np.random.default_rng(3).uniform(-2.9, 2.9, (200, 3))
    # "part" moves with the last body, so it is not looked at with that one and the one before.
    gap = gaps(checker, skeleton, q, [(3, Cone(0.1, 0.4), held)])
    free = checker.states_are_free(q)
    assert (free == (gap > 0.0))[np.abs(gap) > NEAR].all() and 0.1 < free.mean() < 0.9


@pytest.mark.parametrize("link", LINKS[:2], ids=lambda s: type(s).__name__)
def test_certificates_are_of_the_shapes(link):
    """Along edges that are accepted whole no distance is negative; few are refused that are free all along."""
    skeleton, X = arm(2, link), np.eye(4)
    X[:3, 3] = 0.3, 0.1, 0.55
    box = Box((0.15, 0.1, 0.2))
    checker = CollisionChecker(skeleton, Environment().add("box", box, X), certified=True, **COARSE)
    coarse = CollisionChecker(skeleton, checker.environment, certified=True, exact=False, **COARSE)
    rng = np.random.default_rng(3)
    q = rng.uniform(-2.5, 2.5, (120, 2, 2))
    q = q[checker.states_are_free(q[:, 0])]
    q[:, 1] = q[:, 0] + 0.3 * (q[:, 1] - q[:, 0])
    free = checker.edges_are_free(q[:, 0], q[:, 1])
    s = np.linspace(0.0, 1.0, 2000)[:, None]
    along = np.array([checker.states_are_free(a + s * (b - a)).all() for a, b in q])
    assert along[free].all() and free[along].mean() > 0.97 and 0.3 < free.mean() < 0.99
    s = np.linspace(0.0, 1.0, 21)[:, None]
    assert all(gaps(checker, skeleton, a + s * (b - a)).min() > 0.0 for a, b in q[free][:10])
    by_spheres = coarse.edges_are_free(q[:, 0], q[:, 1])
    assert not (by_spheres & ~free).any() and by_spheres.sum() < free.sum()


def test_narrow_passages_are_found():
    """A plate of 0.6 m in a slot two millimetres wider than it is thick, where any sphere over it touches."""
    skeleton, body = kido.Skeleton("plate"), None
    for k, axis in enumerate(np.eye(3)):
        joint = kido.PrismaticJoint(axis=axis, name="xyz"[k], position_lower_limit=-2.0, position_upper_limit=2.0)
        body = skeleton.add_body(f"body{k}", joint, body, INERTIA)
    assert body is not None
    body.add_shape(Box((0.6, 0.02, 0.6)))
    room = Environment()
    for name, side in (("left", 1.0), ("right", -1.0)):
        room.add(name, Box((0.2, 2.0, 8.0)), [0.0, side * (0.011 + 1.0), 0.0])
        room.add(f"far {name}", Box((0.2, 8.0, 8.0)), [0.0, side * 6.0, 0.0])
    start, goal = [-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]
    checker = CollisionChecker(skeleton, room, certified=True)
    path = RRTConnect(checker).plan(start, goal)
    assert len(path) == 2 and not checker.is_free([0.0, 0.0011, 0.0]) and checker.is_free([0.0, 0.0009, 0.0])
    assert not CollisionChecker(skeleton, room, exact=False).is_free([0.0, 0.0, 0.0])
    turn = Rotation.from_rotvec([0, 0, 0.3]).as_matrix()
    body.shapes[0].relative_transform = np.block([[turn, np.zeros((3, 1))], [np.zeros((1, 3)), 1.0]])
    assert not CollisionChecker(skeleton, room, certified=True).edge_is_free(start, goal)


def test_bodies_whose_spheres_always_touch_are_still_apart():
    """Two plates side by side on a third body, one turning in its own plane: only their spheres meet."""
    skeleton = kido.Skeleton("plates")
    base = skeleton.add_body("base", kido.WeldJoint(), None, INERTIA)
    base.add_shape(Box((0.5, 0.5, 0.01)))
    middle = skeleton.add_body("middle", kido.RevoluteJoint(axis=(0, 0, 1), name="a"), base, INERTIA)
    middle.add_shape(Box((0.01, 0.01, 0.01)), [0.0, 0.0, 0.01])
    top = skeleton.add_body("top", kido.PrismaticJoint(axis=(0, 0, 1), name="z"), middle, INERTIA)
    top.add_shape(Box((0.5, 0.5, 0.01)), [0.0, 0.0, 0.02])
    for joint in (middle.parent_joint, top.parent_joint):
        joint.dofs[0].position_lower_limit, joint.dofs[0].position_upper_limit = -0.05, 0.05
    checker = CollisionChecker(skeleton, tolerance=0.3, max_spheres=1)
    assert checker.is_free([0.0, 0.0]) and checker.contact([0.0, -0.0101]) == ("base", "top")
    assert CollisionChecker(skeleton, tolerance=0.3, max_spheres=1, exact=False).is_free([0.0, -0.02])  # left out
