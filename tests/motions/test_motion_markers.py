"""Markers: motions from them, of other skeletons, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import kido
from kido.errors import NameLookupError, StateError
from kido.motions import MarkerMotion, Motion

OFFSETS = ((0.1, 0.0, 0.05), (-0.08, 0.06, 0.0), (0.0, -0.1, 0.1), (0.05, 0.05, -0.1))


def creature(size: float = 1.0, name: str = "small") -> kido.Skeleton:
    """A free trunk with an arm of a ball joint and a hinge, and four markers on each body."""
    skeleton = kido.Skeleton(name)
    inertia = kido.Inertia.from_diagonal(1.0, (0.1, 0.2, 0.15))
    above = None
    for part, joint in (
        ("trunk", kido.FreeJoint("root")),
        ("upper", kido.BallJoint("shoulder", transform_from_parent=(0.0, 0.2 * size, 0.3 * size))),
        ("lower", kido.RevoluteJoint("elbow", (0, 1, 0), transform_from_parent=(0.0, 0.0, -0.4 * size))),
    ):
        above = skeleton.add_body(part, joint, above, inertia)
        for k, offset in enumerate(OFFSETS):
            above.create_node(kido.Marker, f"{part}{k}", size * np.array(offset))
    return skeleton


def dance(skeleton: kido.Skeleton, size: float = 1.0) -> Motion:
    t = np.arange(60) / 60
    turn = np.column_stack([0.4 * np.sin(2 * t), 0.3 * t, 1.5 * t])
    place = size * np.column_stack([t, np.sin(3 * t), 1 + 0.1 * np.cos(6 * t)])
    arm = np.column_stack([1.2 * np.sin(4 * t), 0.5 * np.cos(4 * t), 0.3 * t, -0.8 + 0.6 * np.sin(5 * t)])
    return Motion(None, np.column_stack([turn, place, arm]), 60, skeleton=skeleton)


def farthest(motion: Motion, other: Motion) -> float:
    return float(np.abs(motion.differences(motion.positions, other.positions)).max())


def test_places_of_markers():
    skeleton = creature()
    motion = dance(skeleton)
    markers = MarkerMotion.of(motion)
    assert markers.num_frames == 60 and markers.frame_rate == 60 and len(markers.names) == 12
    skeleton.positions = motion.positions[17]
    for node in skeleton.nodes(kido.Marker):
        assert_allclose(markers[node.name][17], node.position, atol=1e-15)
    origins = MarkerMotion.of(motion, ["lower"])
    assert_allclose(origins["lower"][17], skeleton.body("lower").world_transform[:3, 3], atol=1e-15)
    assert repr(markers) == "MarkerMotion(60 frames at 60 Hz, 12 markers)"


def test_a_motion_comes_back_from_its_markers():
    """Residuals end at 1e-6 m of each marker, the tolerance of tasks, or below."""
    skeleton = creature()
    motion = dance(skeleton)
    before = skeleton.positions
    found = Motion.from_markers(skeleton, MarkerMotion.of(motion))
    assert farthest(found, motion) < 2e-5
    assert np.array_equal(skeleton.positions, before)  # it is not moved
    markers = MarkerMotion.of(motion)
    named = MarkerMotion([f"man:{name}" for name in markers.names], markers.places, 60, start=2.0)
    again = Motion.from_markers(skeleton, named)
    assert again.start == 2.0 and np.array_equal(again.positions, found.positions)


def test_markers_that_are_not_seen_do_not_count():
    motion = dance(creature())
    markers = MarkerMotion.of(motion)
    places = np.array(markers.places)
    places[10:30, 2] = np.nan
    places[40, :] = np.nan  # none at all: the frame before stays
    found = Motion.from_markers(motion.skeleton, MarkerMotion(markers.names, places, 60))
    assert_allclose(found.positions[40], found.positions[39], atol=0)
    keep = np.arange(60) != 40
    assert np.abs(motion.differences(found.positions[keep], motion.positions[keep])).max() < 2e-5


def test_noise_is_averaged_and_smoothed():
    """Least squares of 12 markers with 5 mm each: fewer than 5 mm are left, and 0.6 of that after smoothing."""
    motion = dance(creature())
    markers = MarkerMotion.of(motion)
    noise = 0.005 * np.random.default_rng(0).standard_normal(markers.places.shape)
    found = Motion.from_markers(motion.skeleton, MarkerMotion(markers.names, markers.places + noise, 60))

    def error(one: Motion) -> float:
        return float(np.sqrt(np.mean((MarkerMotion.of(one).places - markers.places)[10:-10] ** 2)))

    assert error(found) < 0.005
    assert error(found.smoothed(4.0)) < 0.6 * error(found)


def test_another_size_follows():
    """A creature of half the size whose joints are called otherwise moves as this one, at half of its places."""
    motion = dance(creature())
    other = creature(0.5, "large")
    for joint in other.joints:
        joint.name = f"other {joint.name}"
    points = {name: name for name in MarkerMotion.of(motion).names}
    found = motion.retargeted(other, points, scale=0.5)
    truth = Motion(None, dance(other, 0.5).positions, 60, skeleton=other)
    assert farthest(found, truth) < 5e-5
    by_bodies = motion.retargeted(
        other, {"trunk": "trunk", "trunk0": "trunk0", "trunk1": "trunk1", "lower": "lower"}, scale=0.5
    )
    assert_allclose(
        MarkerMotion.of(by_bodies, ["lower"]).places, 0.5 * MarkerMotion.of(motion, ["lower"]).places, atol=1e-5
    )


def test_what_is_refused():
    skeleton = creature()
    motion = dance(skeleton)
    markers = MarkerMotion.of(motion)
    places = np.array(markers.places)
    places[0, 2:] = np.nan
    few = MarkerMotion(markers.names, places, 60)
    for call, kind, message in [
        (lambda: MarkerMotion(["a", "a"], np.zeros((1, 2, 3)), 10), StateError, "different names, got a, a"),
        (
            lambda: MarkerMotion(["a"], np.zeros((1, 2, 3)), 10),
            StateError,
            r"shape \(1, 2, 3\); expected \(frames, 1, 3\)",
        ),
        (lambda: MarkerMotion(["a"], np.full((1, 1, 3), np.inf), 10), StateError, "infinite"),
        (lambda: MarkerMotion(["a"], "here", 10), StateError, "no numbers"),
        (lambda: MarkerMotion(["a"], np.zeros((1, 1, 3)), -1), StateError, "frame_rate is -1"),
        (lambda: markers["nose"], NameLookupError, "no marker 'nose'"),
        (lambda: MarkerMotion.of(Motion(["a"], [[1.0]], 1)), StateError, "the motion has no skeleton"),
        (lambda: MarkerMotion.of(motion, ["nose"]), NameLookupError, "no marker or body of skeleton 'small' 'nose'"),
        (
            lambda: Motion.from_markers(creature(), markers, {"upper0": "upper0"}),
            StateError,
            "1 markers are on skeleton",
        ),
        (lambda: Motion.from_markers(skeleton, markers, {"nose": "upper0"}), NameLookupError, "no marker 'nose'"),
        (
            lambda: Motion.from_markers(skeleton, few),
            StateError,
            "2 of 12 markers are seen in the first frame; expected at least 3",
        ),
        (lambda: Motion.from_markers(skeleton, markers, start=[1.0]), StateError, "start"),
        (lambda: motion.retargeted(skeleton, {"upper": "upper"}, scale=-1), StateError, "scale is -1"),
    ]:
        with pytest.raises(kind, match=message):
            call()
