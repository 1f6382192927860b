"""exp and log of rotations and poses: against SciPy, Pinocchio, matrix exponentials and 60 digits, at 0 and pi too.

Errors are absolute, of numbers of size 1 to 3; one rounding is 2e-16.
"""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import kido
from kido.math import exp_pose, exp_rotation, log_pose, log_rotation

SIZES = [0.0, 1e-300, 1e-160, 1e-12, 1e-8, 1e-5, 0.0099, 0.0101, 0.1, 0.49, 0.51, 1.0, 2.0, 3.0, 3.14,
         np.pi - 1e-6, np.pi - 1e-9, np.pi - 1e-13]  # fmt: skip
EXACT = 1e-14


def vectors(size: float, count: int = 200) -> np.ndarray:
    """Directions all over, axes of coordinates among them."""
    v = np.random.default_rng(2).normal(size=(count, 3))
    v[:3], v[3:6], v[6] = np.eye(3), -np.eye(3), (1.0, 1.0, 0.0)
    return size * v / np.linalg.norm(v, axis=1)[:, None]


def twists(size: float, count: int = 200) -> np.ndarray:
    v = np.random.default_rng(3).normal(size=(count, 3))
    return np.hstack([vectors(size, count), v / np.linalg.norm(v, axis=1)[:, None]])


def exact_pose(twist: np.ndarray) -> np.ndarray:
    """exp of a 4x4 matrix by its power series, in 60 digits."""
    with localcontext() as context:
        context.prec = 60
        w, v = [Decimal(float(x)) for x in twist[:3]], [Decimal(float(x)) for x in twist[3:]]
        zero = Decimal(0)
        A = np.array([[zero, -w[2], w[1], v[0]], [w[2], zero, -w[0], v[1]], [-w[1], w[0], zero, v[2]], [zero] * 4])
        total = term = np.array([[Decimal(int(i == j)) for j in range(4)] for i in range(4)])
        for k in range(1, 80):
            term = term @ A / Decimal(k)
            total = total + term
        return total.astype(float)


@pytest.mark.parametrize("size", SIZES)
def test_exp_is_exact(size: float) -> None:
    """To 60 digits of its series; SciPy's rotations agree."""
    V = twists(size, 20)
    np.testing.assert_allclose(exp_pose(V), np.stack([exact_pose(twist) for twist in V]), rtol=0, atol=EXACT / 3)
    np.testing.assert_allclose(exp_rotation(V[:, :3]), exp_pose(V)[:, :3, :3], rtol=0, atol=0)
    scipy = Rotation.from_rotvec(V[:, :3]).as_matrix()
    np.testing.assert_allclose(exp_rotation(V[:, :3]), scipy, rtol=0, atol=EXACT)


@pytest.mark.parametrize("size", SIZES)
def test_log_is_its_inverse(size: float) -> None:
    """Also near pi, where the vector is known to the rounding of its matrix alone."""
    v, V = vectors(size), twists(size)
    np.testing.assert_allclose(log_rotation(exp_rotation(v)), v, rtol=0, atol=EXACT)
    np.testing.assert_allclose(log_pose(exp_pose(V)), V, rtol=0, atol=EXACT)
    if 0.0 < size < 1.0:  # small ones keep their digits
        back = log_rotation(exp_rotation(v))
        assert np.abs(back - v).max() < 1e-15 * size
    np.testing.assert_allclose(log_rotation(exp_rotation(v)), Rotation.from_matrix(exp_rotation(v)).as_rotvec(),
                               rtol=0, atol=1e-12 if size < 3.1 else 1e-7)  # fmt: skip


def test_half_turns_have_one_of_two_vectors() -> None:
    v = vectors(np.pi)
    found = log_rotation(exp_rotation(v))
    np.testing.assert_allclose(np.minimum(abs(found - v).max(axis=1), abs(found + v).max(axis=1)), 0.0, atol=EXACT)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), np.pi, rtol=1e-15)
    exact = np.array([np.diag(d) for d in ([1.0, -1, -1], [-1.0, 1, -1], [-1.0, -1, 1])])
    np.testing.assert_allclose(abs(log_rotation(exact)), np.pi * np.eye(3), rtol=0, atol=1e-15)


def test_longer_vectors_come_back_as_the_short_way() -> None:
    v = vectors(5.0)
    np.testing.assert_allclose(log_rotation(exp_rotation(v)), v * (1.0 - 2.0 * np.pi / 5.0), rtol=0, atol=EXACT)


@pytest.mark.parametrize("size", [1e-9, 1e-4, 0.5, 2.0, 3.1])
def test_pinocchio_agrees(size: float) -> None:
    """exp3, log3, exp6, log6, whose twists are [linear; angular]; 1e-12, near pi what theirs keeps."""
    pinocchio = pytest.importorskip("pinocchio")
    tolerance = 1e-12 if size < 3.0 else 1e-10
    for V in twists(size, 50):
        X = exp_pose(V)
        theirs = pinocchio.exp6(np.concatenate([V[3:], V[:3]]))
        np.testing.assert_allclose(X, theirs.homogeneous, rtol=0, atol=tolerance)
        back = pinocchio.log6(theirs).vector
        np.testing.assert_allclose(log_pose(X), np.concatenate([back[3:], back[:3]]), rtol=0, atol=tolerance)
        np.testing.assert_allclose(exp_rotation(V[:3]), pinocchio.exp3(V[:3]), rtol=0, atol=tolerance)
        np.testing.assert_allclose(log_rotation(X[:3, :3]), pinocchio.log3(X[:3, :3]), rtol=0, atol=tolerance)


def test_a_held_twist_moves_a_free_joint_there() -> None:
    """`integrate_positions` and `position_differences` of a free body, and SciPy's expm; to 1e-13."""
    s = kido.Skeleton("free")
    body = s.add_body("body", inertia=kido.Inertia.from_diagonal(1.0, [1.0, 1.0, 1.0]))
    for V in twists(2.5, 20):
        s.positions = s.integrate_positions(np.zeros(6), V)
        np.testing.assert_allclose(body.world_transform, exp_pose(V), rtol=0, atol=1e-14)
        np.testing.assert_allclose(s.position_differences(s.positions, np.zeros(6)), log_pose(exp_pose(V)), atol=1e-14)
        A = np.zeros((4, 4))
        A[:3, :3], A[:3, 3] = np.cross(V[:3], np.eye(3)).T, V[3:]
        np.testing.assert_allclose(exp_pose(V), expm(A), rtol=0, atol=1e-13)


def test_leading_axes_are_kept() -> None:
    V = twists(1.0, 24).reshape(2, 3, 4, 6)
    X = exp_pose(V)
    assert X.shape == (2, 3, 4, 4, 4)
    assert exp_rotation(V[..., :3]).shape == (2, 3, 4, 3, 3)
    assert log_pose(X).shape == V.shape and log_rotation(X[..., :3, :3]).shape == (2, 3, 4, 3)
    np.testing.assert_array_equal(X[1, 2, 3], exp_pose(V[1, 2, 3]))
    np.testing.assert_array_equal(log_pose(X)[1, 2, 3], log_pose(X[1, 2, 3]))
    assert exp_rotation(np.zeros((0, 3))).shape == (0, 3, 3)
    assert exp_rotation([0, 0, 1]).shape == (3, 3)
    assert log_rotation(np.swapaxes(X[..., :3, :3], -1, -2)).shape == (2, 3, 4, 3)  # not contiguous


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (exp_rotation, [1.0, 2.0]), (exp_rotation, [[1.0], [2.0], [3.0]]), (exp_rotation, "x"), (exp_rotation, 3.0),
        (exp_rotation, [np.nan, 0.0, 0.0]), (exp_rotation, [np.inf, 0.0, 0.0]), (exp_pose, [1.0, 2.0, 3.0]),
        (exp_pose, np.full((2, 6), np.nan)), (log_rotation, np.eye(4)), (log_rotation, 2.0 * np.eye(3)),
        (log_rotation, -np.eye(3)), (log_rotation, np.full((3, 3), np.nan)), (log_rotation, np.zeros((2, 3, 3))),
        (log_pose, np.eye(3)), (log_pose, np.ones((4, 4))), (log_pose, np.diag([1.0, 1.0, -1.0, 1.0])),
        (log_pose, np.eye(4) + np.eye(4)[[3, 0, 1, 2]]),
    ],
)  # fmt: skip
def test_what_is_none_is_refused(function, value) -> None:
    with pytest.raises(kido.ModelError, match=f"{function.__name__}: expected"):
        function(value)


def test_it_is_public() -> None:
    assert kido.math.exp_pose is exp_pose
    with pytest.raises(AttributeError, match="nothing"):
        kido.math.nothing  # noqa: B018
