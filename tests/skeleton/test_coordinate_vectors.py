"""Limits and gains of all coordinates as vectors, and positions at random within limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.stats import kstest

import kido
from trees import KINDS, random_skeleton

VECTORS = (
    "position_lower_limits", "position_upper_limits", "velocity_lower_limits", "velocity_upper_limits",
    "acceleration_lower_limits", "acceleration_upper_limits", "force_lower_limits", "force_upper_limits",
    "velocity_limits", "acceleration_limits", "force_limits", "position_gains", "velocity_gains",
)  # fmt: skip
CERTAIN = 1e-4  # probability below which a statistic of a fixed seed would be called wrong


# Vectors ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_are_those_of_the_coordinates(name: str) -> None:
    s = random_skeleton(3, 14)
    n, key = s.num_dofs, name.removesuffix("s")
    assert {type(joint).__name__ for joint in s.joints} >= {"WeldJoint", "BallJoint", "FreeJoint", "RevoluteJoint"}
    rng = np.random.default_rng(1)
    given = -rng.random(n) if "lower" in name else rng.random(n)
    setattr(s, name, given)
    np.testing.assert_array_equal(getattr(s, name), given)
    np.testing.assert_array_equal(given, [getattr(dof, key) for dof in s.dofs])
    for joint in s.joints:
        np.testing.assert_array_equal(getattr(joint, key), given[joint.coordinates])
    one = -0.5 if "lower" in name else 0.5
    setattr(s, name, one)
    np.testing.assert_array_equal(getattr(s, name), np.full(n, one))
    with pytest.raises(kido.ReadOnlyError, match=name):
        getattr(s, name)[:] = 7.0
    assert (getattr(s, name) == one).all()


def test_worlds_take_them_on_their_way() -> None:
    s = random_skeleton(5, 6, ("revolute",))
    world = kido.World(gravity=(0, 0, 0))
    world.add_skeleton(s)
    s.position_lower_limits, s.position_upper_limits = s.positions - 0.1, s.positions + 0.1
    s.velocities = np.full(6, 3.0)
    world.step(500)
    assert (s.positions < s.position_upper_limits + 1e-3).all() and (s.positions > s.position_lower_limits - 1e-3).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("position_lower_limits", [1.0, 2.0]), ("velocity_limits", -1.0), ("force_limits", "strong"),
        ("force_upper_limits", np.nan), ("acceleration_limits", np.zeros((2, 2))), ("position_gains", np.inf),
        ("velocity_gains", -1.0), ("position_upper_limits", 1j),
    ],
)  # fmt: skip
def test_wrong_vectors_change_nothing(name: str, value) -> None:
    s = random_skeleton(2, 5)
    before = s.properties
    with pytest.raises(kido.ModelError, match=rf"skeleton 'random': .*{name[:-1]}"):
        setattr(s, name, value)
    assert s.properties == before


def test_one_wrong_number_changes_none() -> None:
    """The last joint's lower limit would be above its upper one."""
    s = random_skeleton(5, 6, ("revolute",))
    s.position_upper_limits = 1.0
    before = s.properties
    with pytest.raises(kido.ModelError, match=rf"joint {s.joints[-1].name!r}: lower position limit"):
        s.position_lower_limits = [-1.0] * 5 + [2.0]
    assert s.properties == before


def test_without_coordinates() -> None:
    s = kido.Skeleton("fixed")
    s.add_body("base", kido.WeldJoint("weld"))
    s.position_lower_limits = 1.0
    assert s.position_lower_limits.shape == (0,)
    assert s.random_positions(1).shape == (0,) and s.random_positions(1, 3).shape == (3, 0)


# Random positions ------------------------------------------------------------------------------------------


def single(joint: kido.Joint) -> kido.Skeleton:
    s = kido.Skeleton("single")
    s.add_body("body", joint, inertia=kido.Inertia.from_diagonal(1.0, [1.0, 1.0, 1.0]))
    return s


@pytest.mark.parametrize("kind", KINDS)
def test_positions_of_every_joint_type_are_within_limits(kind: str) -> None:
    """Some limits of each kind: two, a lower one, an upper one, equal ones, none."""
    rng = np.random.default_rng(4)
    for trial in range(20):
        s = random_skeleton(trial, 3, (kind,))
        n = s.num_dofs
        low = rng.uniform(-4.0, 3.0, n)
        high = low + rng.choice([0.0, 0.1, 3.0], n)
        s.position_lower_limits = np.where(rng.random(n) < 0.3, -np.inf, low)
        s.position_upper_limits = np.where(rng.random(n) < 0.3, np.inf, high)
        before = s.positions
        q = s.random_positions(trial, 50)
        assert q.shape == (50, n) and np.isfinite(q).all()
        assert (q >= s.position_lower_limits).all() and (q <= s.position_upper_limits).all()
        np.testing.assert_array_equal(s.positions, before)
        np.testing.assert_array_equal(s.random_positions(np.random.default_rng(trial), 50), q)
        assert s.random_positions(trial).shape == (n,)


def test_numbers_are_uniform_in_their_ranges() -> None:
    s = single(kido.TranslationalJoint("slide"))
    s.position_lower_limits = [-0.2, 0.5, -np.inf]
    s.position_upper_limits = [0.7, np.inf, np.inf]
    q = s.random_positions(0, 20_000, extent=3.0)
    for numbers, (low, high) in zip(q.T, [(-0.2, 0.7), (0.5, 6.5), (-3.0, 3.0)], strict=True):
        assert kstest(numbers, "uniform", (low, high - low)).pvalue > CERTAIN
    angle = single(kido.RevoluteJoint("hinge")).random_positions(0, 20_000)[:, 0]
    assert kstest(angle, "uniform", (-np.pi, 2.0 * np.pi)).pvalue > CERTAIN
    one_sided = single(kido.RevoluteJoint("hinge", position_upper_limit=-1.0)).random_positions(0, 20_000)[:, 0]
    assert kstest(one_sided, "uniform", (-1.0 - 2.0 * np.pi, 2.0 * np.pi)).pvalue > CERTAIN


@pytest.mark.parametrize("joint", [kido.BallJoint, kido.FreeJoint])
def test_rotations_are_uniform(joint) -> None:
    """Haar's measure: the angle has the distribution (n - sin n) / pi, the axis that of the sphere, and what is turned
    by a fixed rotation is distributed as before."""
    q = single(joint("joint")).random_positions(7, 20_000)
    angle = np.linalg.norm(q[:, :3], axis=1)
    assert angle.max() <= np.pi
    assert kstest(angle, lambda n: (n - np.sin(n)) / np.pi).pvalue > CERTAIN
    axes = q[:, :3] / angle[:, None]
    for component in axes.T:
        assert kstest(component, "uniform", (-1.0, 2.0)).pvalue > CERTAIN
    turned = (Rotation.from_rotvec([0.5, 1.0, -2.0]) * Rotation.from_rotvec(q[:, :3])).magnitude()
    assert kstest(turned, lambda n: (n - np.sin(n)) / np.pi).pvalue > CERTAIN
    if joint is kido.FreeJoint:
        for component in q[:, 3:].T:
            assert kstest(component, "uniform", (-1.0, 2.0)).pvalue > CERTAIN


def test_limited_rotations_are_uniform_among_those_allowed() -> None:
    """As uniform rotations of SciPy's of which those outside of the limits are dropped."""
    low, high = np.array([-0.5, -3.0, 0.2]), np.array([1.5, 0.5, 2.5])
    s = single(kido.BallJoint("hip", position_lower_limit=low, position_upper_limit=high))
    found = s.random_positions(3, 5_000)
    drawn = Rotation.random(200_000, random_state=5).as_rotvec()
    allowed = drawn[((drawn >= low) & (drawn <= high)).all(axis=1)]
    assert len(allowed) > 2_000
    for ours, theirs in zip(found.T, allowed.T, strict=True):
        assert kstest(ours, theirs).pvalue > CERTAIN
    assert kstest(np.linalg.norm(found, axis=1), np.linalg.norm(allowed, axis=1)).pvalue > CERTAIN


@pytest.mark.parametrize("corner", [3.1, 4.0, 2.0 * np.pi - 1e-3, 10.0])
def test_limits_beyond_a_half_turn_are_kept(corner: float) -> None:
    """Where a box of rotation vectors has next to no room within half a turn, or none."""
    limits = {"position_lower_limit": [corner] * 3, "position_upper_limit": [corner + 0.5] * 3}
    q = single(kido.BallJoint("hip", **limits)).random_positions(1, 20)
    assert (q >= corner).all() and (q <= corner + 0.5).all()


def test_what_mimics_follows_and_stays_within_its_limits() -> None:
    """Chains of mimics, a negative ratio, limits of the followers that are narrower than their leader's."""
    s = kido.Skeleton("hand")
    body = s.add_body("a", kido.RevoluteJoint("a", position_lower_limit=-3.0, position_upper_limit=3.0))
    body = s.add_body("b", kido.RevoluteJoint("b", mimic=kido.Mimic("a", -2.0, 0.1), position_upper_limit=1.0), body)
    s.add_body("c", kido.RevoluteJoint("c", mimic=kido.Mimic("b", 0.5, 0.2), position_lower_limit=-0.3), body)
    q = s.random_positions(0, 5_000)
    np.testing.assert_allclose(q[:, 1], -2.0 * q[:, 0] + 0.1, rtol=0, atol=1e-15)
    np.testing.assert_allclose(q[:, 2], 0.5 * q[:, 1] + 0.2, rtol=0, atol=1e-15)
    assert (q[:, 1] <= 1.0 + 1e-15).all() and (q[:, 2] >= -0.3 - 1e-15).all()
    assert kstest(q[:, 0], "uniform", (-0.45, 1.0)).pvalue > CERTAIN  # of b: a >= -0.45, of c: b >= -1, a <= 0.55
    s.joint("c").position_lower_limit = 5.0
    with pytest.raises(kido.ModelError, match="dof 'c' follows 'a': there are no positions of both within limits"):
        s.random_positions(0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"rng": "lucky"}, "rng: expected"), ({"rng": -1}, "rng: expected"), ({"count": 1.5}, "count: expected"),
        ({"count": -1}, "count: expected"), ({"count": True}, "count: expected"), ({"extent": 0.0}, "extent: expected"),
        ({"extent": np.nan}, "extent: expected"), ({"extent": "far"}, "extent: expected"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(arguments: dict, said: str) -> None:
    with pytest.raises(kido.ModelError, match=rf"skeleton 'random': random_positions: {said}"):
        random_skeleton(1, 3).random_positions(**arguments)
