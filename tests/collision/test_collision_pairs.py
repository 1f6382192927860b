"""Pairs of shapes: gap, normal and point against closed forms, the support function and coal."""

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from collision_peers import coal_shape, pose
from kido.collision import NativeDetector, collide, distance
from kido.errors import ShapeError, StateError
from kido.shapes import Box, Capsule, Cone, Cylinder, Ellipsoid, Mesh, Plane, Sphere, convex_hull

_hull = convex_hull(np.random.default_rng(5).normal(size=(60, 3)) * [0.1, 0.15, 0.2])
SHAPES = {
    "plane": Plane(),
    "sphere": Sphere(0.15),
    "capsule": Capsule(0.08, 0.3),
    "box": Box((0.2, 0.3, 0.4)),
    "cylinder": Cylinder(0.12, 0.3),
    "cone": Cone(0.15, 0.35),
    "ellipsoid": Ellipsoid((0.1, 0.15, 0.22)),
    "hull": Mesh(_hull.vertices, _hull.faces),
}
PAIRS = [p for p in itertools.combinations_with_replacement(SHAPES, 2) if p != ("plane", "plane")]


def random_pose(rng, spread):
    return pose(rng.normal(size=3) * spread, Rotation.from_quat(rng.normal(size=4)))


def support(shape, X, n):
    """h(n): the largest n . x over a shape, from the definition of each shape."""
    d = X[:3, :3].T @ n
    rho = math.hypot(d[0], d[1])
    match shape:
        case Plane():
            return 0.0 + X[:3, 3] @ n  # only asked for along its own normal
        case Sphere():
            h = shape.radius
        case Box():
            h = np.abs(d) @ np.array(shape.size) / 2
        case Capsule():
            h = shape.radius + abs(d[2]) * shape.height / 2
        case Cylinder():
            h = shape.radius * rho + abs(d[2]) * shape.height / 2
        case Cone():
            h = max(d[2] * shape.height / 2, shape.radius * rho - d[2] * shape.height / 2)
        case Ellipsoid():
            h = np.linalg.norm(np.array(shape.radii) * d)
        case Mesh():
            h = (shape.hull.vertices @ d).max()
    return h + X[:3, 3] @ n


def overlap(a, X_a, b, X_b, n):
    """How far b must move along n to leave a; minus the distance if n joins the nearest points."""
    return support(a, X_a, n) + support(b, X_b, -n)


class Pair:
    """Two shapes in one detector, so that many poses are quick."""

    def __init__(self, a, b, margin):
        self.detector = NativeDetector([(a, 0), (b, 1)], np.zeros((2, 9)), np.zeros((2, 3)), margin=margin)

    def __call__(self, X_a, X_b):
        c = self.detector.container
        for k, X in enumerate((X_a, X_b)):
            c.body_rotation[k], c.body_position[k] = X[:3, :3].ravel(), X[:3, 3]
        self.detector.clear()
        n = self.detector.detect()
        c = self.detector.container
        return c.point[:n].copy(), c.normal[:n].copy(), c.gap[:n].copy()


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_random_poses(first, second):
    """Every pose, apart or deep: the normal is unit, the gap is minus the overlap along it, no direction
    tried overlaps less, and swapping the shapes flips the normal."""
    a, b = SHAPES[first], SHAPES[second]
    rng = np.random.default_rng(7)
    pair, swapped = Pair(a, b, 10.0), Pair(b, a, 10.0)
    # Two boxes: a face contact stands for an edge contact that agrees with it to 1 % (for stable stacks).
    slack = 0.012 if (first, second) == ("box", "box") else 0.0
    directions = rng.normal(size=(50, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    for k in range(40):
        X_a = pose() if first == "plane" else random_pose(rng, 0.1)
        X_b = random_pose(rng, 0.02 if k % 4 == 0 else 0.25)
        points, normals, gaps = pair(X_a, X_b)
        assert 1 <= len(gaps) <= 4
        assert np.isfinite(points).all() and np.isfinite(normals).all() and np.isfinite(gaps).all()
        assert np.linalg.norm(normals, axis=1) == pytest.approx(1.0, abs=1e-12)
        gap, n = gaps.min(), normals[0]
        assert (normals == n).all()
        # 1e-6 of a size of 0.2 m is where GJK hands over to EPA, whose depth is good to 1e-10 of the size.
        if slack == 0.0:
            assert -gap == pytest.approx(overlap(a, X_a, b, X_b, n), abs=2e-7)
        if first != "plane":
            near = n + 0.02 * directions
            near = np.vstack([directions, near / np.linalg.norm(near, axis=1)[:, None]])
            least = min(overlap(a, X_a, b, X_b, m) for m in near)
            assert -gap <= least + 1e-9 + slack * abs(gap) + slack * 0.02
        _, other_normals, other_gaps = swapped(X_b, X_a)
        assert other_gaps.min() == pytest.approx(gap, abs=2e-7 + slack * abs(gap))
        if first != "plane":
            assert overlap(a, X_a, b, X_b, -other_normals[0]) == pytest.approx(
                overlap(a, X_a, b, X_b, n), abs=2e-7 + 2 * slack * abs(gap)
            )
        else:
            assert other_normals[0] == pytest.approx(-n, abs=0)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_points_lie_midway_between_the_surfaces(first, second):
    """A point moved by half its gap along -n lies in shape a, and along +n in b (both are convex)."""
    a, b = SHAPES[first], SHAPES[second]
    rng = np.random.default_rng(3)
    pair = Pair(a, b, 0.05)
    # Metres, beside a share of the gap: the faces of a manifold need not be parallel (boxes: to 6 degrees).
    inside = 1e-6
    share = 0.15 if (first, second) == ("box", "box") else 0.02
    for _ in range(40):
        X_a = pose() if first == "plane" else random_pose(rng, 0.1)
        X_b = random_pose(rng, 0.15)
        points, normals, gaps = pair(X_a, X_b)
        for p, n, gap in zip(points, normals, gaps, strict=True):
            if gap > gaps.min() + 1e-9:
                continue
            on_a, on_b = p - 0.5 * gap * n, p + 0.5 * gap * n
            assert support(a, X_a, n) - n @ on_a == pytest.approx(0.0, abs=inside + share * abs(gap))
            assert support(b, X_b, -n) + n @ on_b == pytest.approx(0.0, abs=inside + share * abs(gap))


@pytest.mark.parametrize(
    ("first", "second"), [p for p in PAIRS if "plane" not in p and p not in {("sphere", "ellipsoid")}]
)
def test_distance_against_coal(first, second):
    """Separated shapes: coal's distance, whose own tolerance is 1e-6 relative on curved shapes. Overlapping
    shapes are compared where coal's EPA does not give up; it never finds less overlap than we do."""
    coal = pytest.importorskip("coal")

    request = coal.DistanceRequest()
    request.enable_signed_distance = True
    request.gjk_tolerance = request.epa_tolerance = 1e-9
    request.gjk_max_iterations = request.epa_max_iterations = 1000
    rng = np.random.default_rng(11)
    pair = Pair(SHAPES[first], SHAPES[second], 10.0)
    geometry_a, geometry_b = coal_shape(coal, SHAPES[first]), coal_shape(coal, SHAPES[second])
    relative = 0.012 if (first, second) == ("box", "box") else 2e-6
    compared = 0
    for _ in range(40):
        X_a, X_b = random_pose(rng, 0.1), random_pose(rng, 0.25)
        ours = pair(X_a, X_b)[2].min()
        result = coal.DistanceResult()
        place_a = coal.Transform3s(X_a[:3, :3], X_a[:3, 3])
        place_b = coal.Transform3s(X_b[:3, :3], X_b[:3, 3])
        coal.distance(geometry_a, place_a, geometry_b, place_b, request, result)
        theirs = result.min_distance
        if theirs > 0.0:
            assert ours == pytest.approx(theirs, rel=relative, abs=1e-6)
            compared += 1
        else:
            assert ours >= theirs - 1e-6 - relative * abs(theirs)
    assert compared > 5


# -- closed forms --------------------------------------------------------------------------------

Z = np.array([0.0, 0.0, 1.0])


@pytest.mark.parametrize("depth", [-0.01, 0.0, 1e-9, 1e-4, 0.03])
@pytest.mark.parametrize(
    ("shape", "low", "count"),
    [
        (Sphere(0.1), 0.1, 1),
        (Box((0.2, 0.4, 0.6)), 0.3, 4),
        (Capsule(0.1, 0.4), 0.3, 1),
        (Cylinder(0.1, 0.4), 0.2, 4),
        (Cone(0.1, 0.4), 0.2, 4),
        (Ellipsoid((0.1, 0.2, 0.3)), 0.3, 1),
        (SHAPES["hull"], -SHAPES["hull"].hull.vertices[:, 2].min(), 1),
    ],
    ids=lambda v: type(v).__name__,
)
@pytest.mark.parametrize("ground", [Plane(), Box((3.0, 3.0, 2.0))], ids=["plane", "box"])
def test_upright_on_flat_ground(ground, shape, low, count, depth):
    X_g = pose() if isinstance(ground, Plane) else pose((0.1, 0.2, -1.0))
    found = collide(ground, X_g, shape, pose((0, 0, low - depth)), margin=0.02)
    expected = 2 if isinstance(shape, Capsule) and depth > 0.38 else count
    if not isinstance(shape, Mesh):
        assert len(found.gaps) == expected
    assert found.gaps.min() == pytest.approx(-depth, abs=1e-9)
    assert found.normals == pytest.approx(np.tile(Z, (len(found.gaps), 1)), abs=1e-7)
    assert found.points[:, 2][found.gaps.argmin()] == pytest.approx(-depth / 2, abs=1e-9)


def test_plane_with_normal_and_offset():
    plane = Plane((0, 1, 0), 0.3)
    found = collide(Sphere(0.2), pose((5, 0.45, -7)), plane, pose())
    assert found.gaps == pytest.approx([-0.05])
    assert found.normals == pytest.approx(np.array([[0, -1, 0]]))
    assert found.points == pytest.approx(np.array([[5, 0.275, -7]]))


def test_two_spheres_and_concentric_ones():
    found = collide(Sphere(0.2), pose((0, 0, 0)), Sphere(0.3), pose((0.3, 0.4, 0)), margin=0.01)
    assert found.gaps == pytest.approx([0.0], abs=1e-15)
    assert found.normals == pytest.approx(np.array([[0.6, 0.8, 0]]))
    assert found.points == pytest.approx(np.array([[0.12, 0.16, 0]]))
    found = collide(Sphere(0.2), pose(), Sphere(0.3), pose())
    assert found.gaps == pytest.approx([-0.5]) and np.linalg.norm(found.normals) == pytest.approx(1.0)


@pytest.mark.parametrize("shape", [s for n, s in SHAPES.items() if n != "plane"], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("other", [s for n, s in SHAPES.items() if n != "plane"], ids=lambda s: type(s).__name__)
def test_same_place(shape, other):
    """Same origin and axes, the worst of degenerate poses: finite, and no direction overlaps less."""
    found = collide(shape, pose(), other, pose())
    n = found.normals[0]
    assert np.isfinite(found.points).all() and np.linalg.norm(n) == pytest.approx(1.0)
    least = min(overlap(shape, pose(), other, pose(), m) for m in np.vstack([np.eye(3), -np.eye(3)]))
    assert -found.gaps.min() == pytest.approx(overlap(shape, pose(), other, pose(), n), abs=1e-7)
    # Coaxial round shapes overlap equally in a circle of directions; EPA ends when its polytope is full.
    assert -found.gaps.min() <= least * (1.0 + 1e-3)


def test_parallel_capsules_touch_along_a_stretch():
    found = collide(Capsule(0.1, 0.6), pose(), Capsule(0.1, 0.6), pose((0.19, 0, 0.2)))
    assert found.gaps == pytest.approx([-0.01, -0.01])
    assert sorted(found.points[:, 2]) == pytest.approx([-0.1, 0.3])
    assert found.normals == pytest.approx(np.tile([1, 0, 0], (2, 1)))


def test_crossing_capsules():
    across = Rotation.from_euler("x", 90, degrees=True)
    found = collide(Capsule(0.1, 0.6), pose(), Capsule(0.2, 0.6), pose((0.25, 0, 0), across))
    assert found.gaps == pytest.approx([-0.05]) and found.normals == pytest.approx(np.array([[1, 0, 0]]))
    assert found.points == pytest.approx(np.array([[0.075, 0, 0]]), abs=1e-12)


@pytest.mark.parametrize("twist", [0, 1e-12, 1e-7, 1e-3, 0.3, math.pi / 4])
@pytest.mark.parametrize("tilt", [0, 1e-12, 1e-9, 1e-6, 1e-4, 1e-3])
@pytest.mark.parametrize("kind", ["box", "hull"])
def test_stacked_boxes_nearly_parallel(kind, twist, tilt):
    """Four points at the corners of the overlap, whatever the tiny angles."""
    box = Box((0.2, 0.2, 0.2))
    corners = np.array(list(itertools.product((-0.1, 0.1), repeat=3)))
    hull = convex_hull(corners)
    shape = box if kind == "box" else Mesh(hull.vertices, hull.faces)
    turn = Rotation.from_rotvec([tilt, 0.3 * tilt, 0]) * Rotation.from_rotvec([0, 0, twist])
    found = collide(shape, pose(), shape, pose((0, 0, 0.2), turn), margin=1e-3)
    assert len(found.gaps) == 4
    spread = np.ptp(found.points, axis=0)
    assert spread[0] > 0.16 and spread[1] > 0.16
    assert np.abs(found.gaps).max() <= 0.15 * tilt + 1e-9
    assert found.normals[:, 2] == pytest.approx(1.0, abs=2 * tilt + 1e-9)


def test_box_edges_cross():
    """Edge on edge at a right angle: one point, the normal along the cross of the edges."""
    roof = Rotation.from_euler("x", 45, degrees=True)
    keel = Rotation.from_euler("y", 45, degrees=True)
    r = 0.1 * math.sqrt(2.0)
    found = collide(Box((0.2,) * 3), pose((0, 0, 0), roof), Box((0.2,) * 3), pose((0, 0, 2 * r - 0.01), keel))
    assert found.gaps == pytest.approx([-0.01])
    assert found.normals == pytest.approx(np.array([Z]), abs=1e-12)
    assert found.points == pytest.approx(np.array([[0, 0, r - 0.005]]), abs=1e-12)


@pytest.mark.parametrize("gap", [1e-3, 0.05])
def test_boxes_corner_to_corner(gap):
    """The nearest features are two corners: an axis test alone would report too small a distance."""
    d = 0.2 + gap / math.sqrt(3.0)
    found = collide(Box((0.2,) * 3), pose(), Box((0.2,) * 3), pose((d, d, d)), margin=0.1)
    assert found.gaps == pytest.approx([gap])
    assert found.normals == pytest.approx(np.full((1, 3), 1 / math.sqrt(3)))


def test_box_edge_on_a_face_gives_the_ends_of_the_edge():
    keel = Rotation.from_euler("y", 45, degrees=True)
    h = 0.1 * math.sqrt(2.0)
    for ground in (Box((2, 2, 2)), Cylinder(1.0, 2.0)):
        found = collide(ground, pose((0, 0, -1)), Box((0.2, 0.3, 0.2)), pose((0, 0, h - 1e-3), keel), margin=1e-3)
        assert len(found.gaps) == 2
        assert found.gaps == pytest.approx([-1e-3] * 2, abs=1e-9)
        assert sorted(found.points[:, 1]) == pytest.approx([-0.15, 0.15], abs=1e-6)


def test_cylinder_lying_on_a_box_touches_along_a_line():
    lying = Rotation.from_euler("x", 90, degrees=True)
    found = collide(Box((2, 2, 2)), pose((0, 0, -1)), Cylinder(0.1, 0.4), pose((0.3, 0, 0.0999), lying))
    assert found.gaps == pytest.approx([-1e-4] * 2, abs=1e-9)
    assert sorted(found.points[:, 1]) == pytest.approx([-0.2, 0.2], abs=1e-6)
    assert found.points[:, 0] == pytest.approx([0.3] * 2, abs=1e-6)


def test_far_from_the_origin_no_digits_are_lost():
    far = np.array([1e4, -2e4, 3e4])
    turn = Rotation.from_rotvec([0.3, 0.5, -0.2])
    for a, b in (("ellipsoid", "cylinder"), ("hull", "box"), ("cone", "cone")):
        here = collide(SHAPES[a], pose(), SHAPES[b], pose((0.1, 0.15, 0.2), turn), margin=1.0)
        there = collide(SHAPES[a], pose(far), SHAPES[b], pose(far + [0.1, 0.15, 0.2], turn), margin=1.0)
        assert there.gaps.min() == pytest.approx(here.gaps.min(), abs=1e-9)  # far has 4e-12 m of rounding


def test_mesh_stand_ins():
    box = convex_hull(np.array(list(itertools.product((0.0, 0.2), repeat=3))))
    for stand_in, bottom in (("hull", 0.0), ("box", 0.0), ("sphere", 0.1 - 0.1 * math.sqrt(3.0))):
        mesh = Mesh(box.vertices, box.faces, collide_as=stand_in)
        assert distance(Plane(), pose(), mesh, pose((1, 2, 0.5))) == pytest.approx(0.5 + bottom)


def test_a_round_mesh_on_a_plane_keeps_a_spread_manifold():
    """More corners below the margin than the scratch space holds."""
    angle = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    disc = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(200)])
    hull = convex_hull(np.vstack([disc, disc + [0, 0, 0.5]]))
    mesh = Mesh(hull.vertices, hull.faces)
    for ground in (
        Plane(),
        Box(
            (4, 4, 2),
        ),
    ):
        X = pose() if isinstance(ground, Plane) else pose((0, 0, -1))
        found = collide(ground, X, mesh, pose())
        found = collide(ground, X, mesh, pose((0, 0, -1e-5)))
        assert len(found.gaps) == 4
        assert np.abs(found.points[:, :2].mean(axis=0)).max() < 0.35
        assert (np.ptp(found.points, axis=0)[:2] > 1.3).all()


def test_refuses():
    with pytest.raises(ShapeError, match="both shapes are planes"):
        collide(Plane(), pose(), Plane(), pose())
    with pytest.raises(StateError, match="X_WB"):
        collide(Sphere(1), pose(), Sphere(1), np.full((4, 4), np.nan))
    with pytest.raises(StateError, match=r"X_WA: expected a finite \(4, 4\) array"):
        collide(Sphere(1), np.eye(3), Sphere(1), pose())
