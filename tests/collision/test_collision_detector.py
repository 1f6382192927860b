"""The detector: broad phase against brute force, filters, order, growth, persistence, state."""

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kido.collision import CONTACTS_FULL, PAIRS_FULL, POSE_NOT_FINITE, NativeDetector
from kido.collision.narrow import detect_contacts
from kido.errors import ModelError, ShapeError, StateError
from kido.shapes import Box, Mesh, Plane, Shape, Sphere


class Scene:
    """Bodies with one shape each, at random places of a cube."""

    def __init__(self, shapes, size=0.5, seed=0, **settings):
        rng = np.random.default_rng(seed)
        n = len(shapes)
        self.position = rng.uniform(0, size, (n, 3))
        self.rotation = Rotation.from_quat(rng.normal(size=(n, 4))).as_matrix().reshape(n, 9).copy()
        self.detector = NativeDetector([(s, k) for k, s in enumerate(shapes)], self.rotation, self.position, **settings)

    def detect(self):
        n = self.detector.detect()
        return self.detector.container, n

    def pairs(self):
        c, n = self.detect()
        return list(zip(c.body_a[:n].tolist(), c.body_b[:n].tolist(), strict=True))


def stack(n=3, **settings):
    """Plane (body 0) and n boxes of 0.1 m on it."""
    position = np.zeros((n + 1, 3))
    position[1:, 2] = 0.05 + 0.1 * np.arange(n)
    rotation = np.tile(np.eye(3).ravel(), (n + 1, 1))
    shapes = [(Plane(), 0, None, 0.5, 0.2)] + [(Box((0.1,) * 3), k, None, 0.8, 0.5) for k in range(1, n + 1)]
    moving = [0] + [1] * n
    return position, rotation, NativeDetector(shapes, rotation, position, moving=moving, **settings)


@pytest.mark.parametrize("seed", range(3))
def test_broad_phase_against_brute_force(seed):
    """Every pair of spheres nearer than the margin is found, in ascending order, and no other."""
    radii = np.random.default_rng(seed).uniform(0.01, 0.1, 150)
    scene = Scene([Sphere(r) for r in radii], size=1.0, seed=seed, margin=0.01)
    for _ in range(4):  # the sweep continues from the order of the last call
        expected = [
            (a, b)
            for a, b in itertools.combinations(range(150), 2)
            if np.linalg.norm(scene.position[a] - scene.position[b]) < radii[a] + radii[b] + 0.01
        ]
        assert scene.pairs() == expected
        scene.position[:] += np.random.default_rng(9).normal(size=(150, 3)) * [0.1, 0.4, 0.02]


def test_planes_meet_what_is_below_them():
    scene = Scene([Plane(), Plane((1, 0, 0), -0.4)] + [Sphere(0.1)] * 40, size=1.0, moving=[0, 0] + [1] * 40)
    scene.position[:2] = 0.0
    scene.rotation[:2] = np.eye(3).ravel()
    found = set(scene.pairs())
    for k in range(2, 42):
        assert ((0, k) in found) == (scene.position[k, 2] < 0.101)
        assert ((1, k) in found) == (scene.position[k, 0] < -0.299)
    assert (0, 1) not in found


def test_order_depends_on_poses_only():
    """A fresh detector, and one that went through other poses, give the same contacts bit for bit."""
    shapes: list[Shape] = [Box((0.1, 0.12, 0.14)), Sphere(0.06)] * 20
    fresh, used = Scene(shapes), Scene(shapes)
    keep = used.position.copy()
    for axis in range(3):
        used.position[:, axis] *= 5.0
        used.detect()
    used.position[:] = keep
    used.detector.clear()
    (a, n), (b, m) = fresh.detect(), used.detect()
    assert n == m > 20
    for name in ("point", "normal", "gap", "shape_a", "shape_b", "key"):
        assert np.array_equal(getattr(a, name)[:n], getattr(b, name)[:n])


def test_shapes_of_one_body_and_offsets():
    shapes = [(Sphere(0.1), 0, None), (Sphere(0.1), 0, np.eye(4))]
    place = np.eye(4)
    place[:3, 3] = (0.5, 0, 0)
    shapes.append((Sphere(0.1), 1, place))
    turn = Rotation.from_euler("z", 90, degrees=True).as_matrix()
    rotation = np.array([np.eye(3).ravel(), turn.ravel()])
    position = np.array([[0, 0, 0], [0, -0.31, 0]], dtype=float)
    detector = NativeDetector(shapes, rotation, position, margin=0.0)
    assert detector.detect() == 2  # the offset sphere stands at (0, 0.19, 0) and touches both of body 0
    c = detector.container
    assert c.gap[:2] == pytest.approx([-0.01, -0.01])
    assert c.normal[0] == pytest.approx([0, 1, 0])
    assert c.shape_a[:2].tolist() == [0, 1] and c.shape_b[:2].tolist() == [2, 2]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}),
        ({"moving": [0, 0, 1, 1]}, {(0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}),
        ({"collidable": [1, 0, 1, 1]}, {(0, 2), (0, 3), (2, 3)}),
        ({"group": [0, 0, 1, -1]}, {(0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}),
        ({"group": [-1, -1, -1, -1]}, {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}),
        ({"excluded": [(2, 0), (1, 3), (3, 1)]}, {(0, 1), (0, 3), (1, 2), (2, 3)}),
        ({"moving": [0, 0, 0, 0]}, set()),
    ],
)
def test_filter(settings, expected):
    scene = Scene([Sphere(1.0)] * 4, **settings)
    assert set(scene.pairs()) == expected
    other = Scene([Sphere(1.0)] * 4)
    other.detect()
    other.detector.set_filter(**settings)
    assert set(other.pairs()) == expected


def test_growth_loses_nothing():
    small = Scene([Box((0.1, 0.12, 0.14))] * 60, pairs=3, contacts=5)
    large = Scene([Box((0.1, 0.12, 0.14))] * 60)
    address = small.detector.address
    status = detect_contacts(address, 0, 0, 0)
    assert status == PAIRS_FULL and small.detector.container.num_contacts == 0
    small.detector.grow(status)
    assert small.detector.address != address
    status = detect_contacts(small.detector.address, 0, 0, 0)
    assert status == CONTACTS_FULL and small.detector.container.num_contacts == 0
    (a, n), (b, m) = small.detect(), large.detect()
    assert n == m > 30
    assert np.array_equal(a.point[:n], b.point[:n]) and np.array_equal(a.shape_a[:n], b.shape_a[:n])


def test_impulses_survive_growth():
    position, _, detector = stack(2, contacts=8)
    assert detector.detect() == 8
    detector.container.impulse[:8] = np.arange(24).reshape(8, 3)
    held = detector.container.impulse[:8].copy()
    # A third box arrives: more contacts than there is room for.
    other_position, _, larger = stack(3, contacts=8)
    other_position[3, 2] = 9.0
    assert larger.detect() == 8
    larger.container.impulse[:8] = held
    other_position[3, 2] = 0.25
    assert larger.detect() == 12
    assert larger.container.matched[:12].tolist() == [1] * 8 + [0] * 4
    assert larger.container.impulse[:8] == pytest.approx(held)
    assert not larger.container.impulse[8:12].any()
    assert position.shape == (3, 3)


def test_contact_fields():
    _, _, detector = stack(2)
    assert detector.detect() == 8
    c = detector.container
    assert c.num_pairs == 2
    assert c.body_a[:8].tolist() == [0] * 4 + [1] * 4 and c.body_b[:8].tolist() == [1] * 4 + [2] * 4
    assert c.friction[:8] == pytest.approx([0.5] * 4 + [0.8] * 4)  # the smaller
    assert c.restitution[:8] == pytest.approx([0.1] * 4 + [0.25] * 4)  # the product
    assert c.normal[:8] == pytest.approx(np.tile([0, 0, 1], (8, 1)))
    assert np.sort(c.point[4:8], axis=0)[:, 0] == pytest.approx([-0.05, -0.05, 0.05, 0.05])


def test_sliding_and_turning_contacts_keep_their_impulses():
    position, rotation, detector = stack(1)
    detector.detect()
    detector.container.impulse[:4] = [[1, 0, 5], [2, 0, 6], [3, 0, 7], [4, 0, 8]]
    before = {tuple(p): i.copy() for p, i in zip(detector.container.local_b[:4], detector.container.impulse)}
    for k in range(20):
        position[1] += [0.03, -0.02, 0.0]
        rotation[1] = Rotation.from_rotvec([1e-4 * (k % 2), 0, 0.02 * k]).as_matrix().ravel()
        assert detector.detect() == 4
        c = detector.container
        assert c.matched[:4].all()
        for corner, impulse in before.items():
            nearest = np.argmin(((c.local_b[:4] - corner) ** 2).sum(1))
            assert c.impulse[nearest] == pytest.approx(impulse, abs=0.01)


def test_impulse_follows_the_normal():
    """A ball on a ramp that tilts: the normal part stays along the normal."""
    rotation = np.tile(np.eye(3).ravel(), (2, 1))
    position = np.array([[0, 0, 0], [0, 0, 0.1]])
    detector = NativeDetector([(Plane(), 0), (Sphere(0.1), 1)], rotation, position, moving=[0, 1])
    detector.detect()
    detector.container.impulse[0] = [0, 0, 3.0]
    turn = Rotation.from_euler("y", 20, degrees=True)
    rotation[0] = turn.as_matrix().ravel()
    position[1] = turn.apply([0, 0, 0.1])
    assert detector.detect() == 1
    assert detector.container.impulse[0] == pytest.approx(turn.apply([0, 0, 3.0]), abs=1e-12)


def test_a_contact_that_left_is_forgotten():
    position, _, detector = stack(1)
    detector.detect()
    detector.container.impulse[:4] = 1.0
    position[1, 2] += 1.0
    assert detector.detect() == 0
    position[1, 2] -= 1.0
    assert detector.detect() == 4
    assert not detector.container.matched[:4].any() and not detector.container.impulse[:4].any()


def test_manifold_holds_still_under_noise():
    """A box turned by 45 degrees on another has an octagon of contact: the four chosen points stay."""
    rng = np.random.default_rng(0)
    rotation = np.tile(np.eye(3).ravel(), (2, 1))
    position = np.array([[0, 0, 0], [0, 0, 0.2]])
    base = Rotation.from_euler("z", 45, degrees=True)
    detector = NativeDetector([(Box((0.2,) * 3), 0), (Box((0.2,) * 3), 1)], rotation, position, moving=[0, 1])
    rotation[1] = base.as_matrix().ravel()
    detector.detect()
    first = np.sort(detector.container.key[:4])
    for _ in range(100):
        rotation[1] = (Rotation.from_rotvec(rng.normal(size=3) * 1e-6) * base).as_matrix().ravel()
        position[1] = [*rng.normal(size=2) * 1e-6, 0.2 + rng.normal() * 1e-7]
        assert detector.detect() == 4
        assert np.array_equal(np.sort(detector.container.key[:4]), first)
        points = detector.container.point[:4]
        assert (np.ptp(points, axis=0)[:2] > 0.15).all()


def test_state_round_trip():
    scene, twin = (Scene([Box((0.1, 0.12, 0.14))] * 40, seed=4) for _ in range(2))
    _, n = scene.detect()
    scene.detector.container.impulse[:n] = np.random.default_rng(0).normal(size=(n, 3))
    state = scene.detector.state()
    scene.position += 1e-4
    c, n = scene.detect()
    twin.detector.set_state(state)
    twin.position[:] = scene.position
    d, m = twin.detect()
    assert n == m
    assert np.array_equal(c.impulse[:n], d.impulse[:n]) and c.matched[:n].all()


def test_not_finite():
    position, _, detector = stack(2)
    detector.detect()
    position[2, 1] = np.nan
    assert detect_contacts(detector.address, 0, 0, 0) == POSE_NOT_FINITE
    assert detector.container.num_contacts == 0
    with pytest.raises(StateError, match="body 2 is not finite"):
        detector.detect()
    position[2, 1] = 0.0
    assert detector.detect() == 8


def test_no_shapes():
    assert NativeDetector([], np.zeros((1, 9)), np.zeros((1, 3))).detect() == 0


class Blob(Shape):
    """A shape the detector does not know."""

    aabb = np.zeros((2, 3))
    bounding_radius = volume = 1.0

    def moment(self, mass):
        return np.eye(3) * mass


def test_refuses():
    R, p = np.tile(np.eye(3).ravel(), (2, 1)), np.zeros((2, 3))
    for shapes, settings, error, message in (
        ([(Sphere(1), 2)], {}, ModelError, "on body 2; expected 0 to 1"),
        ([(Sphere(1), 0, np.eye(3))], {}, ModelError, "transform has shape"),
        ([(Sphere(1), 0, None, -0.1)], {}, ModelError, "friction is -0.1"),
        ([(Sphere(1), 0, None, 1.0, float("nan"))], {}, ModelError, "restitution is nan"),
        ([(Sphere(1), 0)], {"margin": -1.0}, ModelError, "margin is -1.0"),
        ([(Sphere(1), 0)], {"moving": [1]}, ModelError, "moving has shape"),
        ([(Sphere(1), 0)], {"excluded": [(0, 5)]}, ModelError, r"pair \(0, 5\)"),
        ([(Blob(), 0)], {}, ShapeError, "Blob"),
        ([(Mesh([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]]), 0)], {}, ShapeError, "line"),
    ):
        with pytest.raises(error, match=message):
            NativeDetector(shapes, R, p, **settings)
