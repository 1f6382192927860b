"""Sine and cosine, rotations, tangents and transforms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.linalg import expm, logm
from scipy.spatial.transform import Rotation

import kido
from kido.constraints.contact import tangents
from kido.math import so3, trig
from kido.math.lie import left_jacobian_coefficients
from kido.math.transform import as_transform, as_unit_vector, as_vector, inverse_transform

# Sine and cosine -------------------------------------------------------------------------------------------


def ulps(values: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Error in units of the exact number's last place, exact being 80-bit."""
    return np.abs((values.astype(np.longdouble) - exact) / np.spacing(np.abs(exact).astype(np.float64)))


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="no extended precision on this machine")
@pytest.mark.parametrize("reach", [1e-8, 0.8, 7.0, 1e3, 1e5])
def test_sincos_is_within_two_units_in_the_last_place(reach: float) -> None:
    """The documented bound; NumPy's 80-bit functions are exact to 1e-3 of a double's last place."""
    x = np.random.default_rng(3).uniform(-reach, reach, 50_000)
    found = np.array([trig.sincos(v) for v in x])
    wide = x.astype(np.longdouble)
    assert ulps(found[:, 0], np.sin(wide)).max() <= 2.0
    assert ulps(found[:, 1], np.cos(wide)).max() <= 2.0


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="no extended precision on this machine")
def test_sincos_near_multiples_of_a_right_angle() -> None:
    """Where one of the two vanishes, its relative accuracy needs all parts of pi/2."""
    right = [k * math.pi / 2 for k in range(-400, 401)]
    x = np.array([math.nextafter(r, side * math.inf) for r in right for side in (-1, 1)])
    found = np.array([trig.sincos(v) for v in x])
    exact = [(np.sin(v), np.cos(v)) for v in x.astype(np.longdouble)]
    # 80 bits hold pi to 1e-19, so a sine of 1e-13 is known to 1e-6 only; absolute error is what counts there.
    assert np.abs(found - np.array(exact, np.longdouble)).max() < 3e-16
    assert np.abs((found**2).sum(axis=1) - 1.0).max() < 5e-16


def test_sincos_at_zero_is_exact() -> None:
    assert trig.sincos(0.0) == (0.0, 1.0)
    assert trig.sincos(1e-300) == (1e-300, 1.0)


@given(st.floats(-1e5, 1e5))
def test_sincos_is_odd_and_even(x: float) -> None:
    s, c = trig.sincos(x)
    assert trig.sincos(-x) == (-s, c)


# Rotations -------------------------------------------------------------------------------------------------

ANGLES = st.one_of(
    st.floats(0.0, 1e-3),
    st.floats(0.0, 20.0),
    st.sampled_from([0.0, 1e-300, 1e-160, 1e-12, 1e-4, 0.99999e-4, 1.00001e-4]),
    st.sampled_from([math.pi, 2 * math.pi, 3 * math.pi]),
    st.floats(-1e-6, 1e-6).map(lambda d: math.pi + d),
    st.floats(-1e-6, 1e-6).map(lambda d: 2 * math.pi + d),
)
DIRECTIONS = st.tuples(*[st.floats(-1.0, 1.0)] * 3).filter(lambda v: np.linalg.norm(v) > 1e-3).map(
    lambda v: np.array(v) / np.linalg.norm(v)
)  # fmt: skip
ROTATION_VECTORS = st.builds(lambda a, d: a * d, ANGLES, DIRECTIONS)
SMALL = st.builds(lambda a, d: a * d, st.floats(0.0, 1.0), DIRECTIONS)

# A rotation vector of angle a is rounded by a * 1e-16, and so is its matrix.
EXACT = 1e-14


def matrix(r: np.ndarray) -> np.ndarray:
    return np.array(so3.rotation_vector_to_matrix(*map(float, r))).reshape(3, 3)


def quaternion_matrix(q) -> np.ndarray:
    w, x, y, z = q
    return Rotation.from_quat([x, y, z, w]).as_matrix()


def hat(v: np.ndarray) -> np.ndarray:
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0.0]])


@given(ROTATION_VECTORS)
@example(np.zeros(3))
def test_exponential(r: np.ndarray) -> None:
    R = matrix(r)
    np.testing.assert_allclose(R, expm(hat(r)), atol=EXACT * (1 + np.linalg.norm(r)))
    assert np.abs(R @ R.T - np.eye(3)).max() < 5e-16 * 4
    assert np.linalg.det(R) > 0.0


@given(ROTATION_VECTORS)
@example(np.zeros(3))
def test_quaternions_of_rotation_vectors(r: np.ndarray) -> None:
    q = np.array(so3.rotation_vector_to_quaternion(*map(float, r)))
    assert abs(q @ q - 1.0) < 1e-15
    np.testing.assert_allclose(quaternion_matrix(q), matrix(r), atol=EXACT)


@given(ROTATION_VECTORS)
@example(np.zeros(3))
def test_logarithm_undoes_the_exponential(r: np.ndarray) -> None:
    """The same rotation, with an angle in [0, pi]; the same vector if it was shorter than pi."""
    q = so3.rotation_vector_to_quaternion(*map(float, r))
    back = np.array(so3.quaternion_to_rotation_vector(*q))
    angle = np.linalg.norm(r)
    assert np.linalg.norm(back) <= math.pi * (1 + 1e-15)
    np.testing.assert_allclose(matrix(back), matrix(r), atol=EXACT)
    if angle < math.pi - 1e-9:
        np.testing.assert_allclose(back, r, rtol=1e-15, atol=4e-16 * (1 + angle) if angle > 1e-4 else 1e-300)


def test_tiny_rotation_vectors_keep_all_their_digits() -> None:
    r = np.array([3e-9, -2e-200, 1e-12])
    q = so3.rotation_vector_to_quaternion(*r)
    np.testing.assert_allclose(so3.quaternion_to_rotation_vector(*q), r, rtol=5e-16)


@given(ROTATION_VECTORS, SMALL)
def test_advance_turns_in_body_axes(r: np.ndarray, d: np.ndarray) -> None:
    turned = np.array(so3.advance_rotation_vector(*map(float, r), *map(float, d)))
    np.testing.assert_allclose(matrix(turned), matrix(r) @ matrix(d), atol=EXACT)
    assert np.linalg.norm(turned) <= math.pi * (1 + 1e-15)


@given(DIRECTIONS, st.floats(-10.0, 10.0))
def test_axis_rotation_follows_rodrigues(axis: np.ndarray, angle: float) -> None:
    s, c = math.sin(angle), math.cos(angle)
    R = np.array(so3.axis_rotation(*map(float, axis), s, c)).reshape(3, 3)
    np.testing.assert_allclose(R, np.eye(3) + s * hat(axis) + (1 - c) * hat(axis) @ hat(axis), atol=1e-15)


def test_products_with_rotations() -> None:
    rng = np.random.default_rng(0)
    A, B = (Rotation.random(random_state=rng).as_matrix() for _ in range(2))
    v, w = rng.normal(size=(2, 3))
    S = rng.normal(size=(3, 3))
    S = S + S.T
    upper = tuple(S[np.triu_indices(3)])
    a, b = tuple(A.ravel()), tuple(B.ravel())
    close = {"atol": 2e-15}
    np.testing.assert_allclose(so3.cross(*v, *w), np.cross(v, w), **close)
    np.testing.assert_allclose(so3.rotate(a, *v), A @ v, **close)
    np.testing.assert_allclose(so3.rotate_inverse(a, *v), A.T @ v, **close)
    np.testing.assert_allclose(so3.compose(a, b), (A @ B).ravel(), **close)
    np.testing.assert_allclose(so3.rotate_symmetric(a, upper), (A @ S @ A.T)[np.triu_indices(3)], **close)
    np.testing.assert_allclose(so3.multiply_symmetric(upper, *v), S @ v, **close)
    p, q = Rotation.from_matrix(A), Rotation.from_matrix(B)
    first, second = p.as_quat(scalar_first=True), q.as_quat(scalar_first=True)
    product = np.array(so3.quaternion_product(*first, *second))
    np.testing.assert_allclose(quaternion_matrix(product), A @ B, **close)


@pytest.mark.parametrize("n", [0.0, 1e-9, 1e-3, 0.00999, 0.01, 0.01001, 0.5, 3.0, 10.0])
def test_left_jacobian_coefficients(n: float) -> None:
    """(1 - cos n)/n^2 and (n - sin n)/n^3, by their series in exact fractions of n."""
    terms = range(30)
    a = math.fsum((-1) ** k * n ** (2 * k) / math.factorial(2 * k + 2) for k in terms)
    b = math.fsum((-1) ** k * n ** (2 * k) / math.factorial(2 * k + 3) for k in terms)
    # Beyond the series' bound (n = 0.01) the closed form loses up to 1e-16 / n^2 and / n^3.
    assert left_jacobian_coefficients(n * n) == pytest.approx((a, b), rel=1e-9)


# Tangents --------------------------------------------------------------------------------------------------


@given(DIRECTIONS)
@example(np.array([1.0, 0.0, 0.0]))
@example(np.array([0.0, 0.0, 1.0]))
@example(np.array([0.0, 0.0, -1.0]))
@example(np.array([1e-9, 0.0, -1.0]))
@example(np.array([3.0, 3.0, 3.0]) / np.sqrt(27.0))
def test_tangents_complete_a_normal_to_a_right_handed_frame(n: np.ndarray) -> None:
    t = np.array(tangents(*map(float, n))).reshape(2, 3)
    frame = np.vstack([n, t])
    np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-14)
    assert np.linalg.det(frame) > 0.0


# Transforms at the public edge -----------------------------------------------------------------------------


def test_everything_that_is_a_transform() -> None:
    R = Rotation.from_rotvec([0.1, 0.2, 0.3])
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = R.as_matrix(), (1, 2, 3)
    np.testing.assert_array_equal(as_transform(None, "x"), np.eye(4))
    np.testing.assert_array_equal(as_transform([1, 2, 3], "x")[:3, 3], [1, 2, 3])
    np.testing.assert_allclose(as_transform(R, "x")[:3, :3], X[:3, :3], atol=1e-15)
    np.testing.assert_allclose(as_transform(X.tolist(), "x"), X, atol=1e-15)
    np.testing.assert_allclose(as_transform(X[:3, :3], "x")[:3, :3], X[:3, :3], atol=1e-15)
    from scipy.spatial.transform import RigidTransform

    np.testing.assert_allclose(as_transform(RigidTransform.from_matrix(X), "x"), X, atol=1e-15)
    np.testing.assert_allclose(inverse_transform(X) @ X, np.eye(4), atol=1e-15)


def test_transforms_are_copies_made_orthonormal() -> None:
    X = np.eye(4)
    X[:3, :3] = np.round(Rotation.from_rotvec([0.4, -0.2, 1.0]).as_matrix(), 7)  # digits of a text file
    T = as_transform(X, "x")
    assert np.abs(T[:3, :3] @ T[:3, :3].T - np.eye(3)).max() < 1e-15
    assert np.abs(T - X).max() < 1e-7
    T[0, 3] = 5.0
    assert X[0, 3] == 0.0


SCALED = np.diag([2.0, 1.0, 1.0, 1.0])
MIRRORED = np.diag([-1.0, 1.0, 1.0, 1.0])
SHEARED = np.eye(4)
SHEARED[3, 0] = 1.0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("abc", "pose: expected a 4x4 transform, got 'abc'"),
        (np.zeros((2, 2)), "pose: expected a 4x4 transform, got an array of shape (2, 2)"),
        (1.0, "pose: expected a 4x4 transform, got an array of shape ()"),
        ([np.nan, 0, 0], "pose: expected finite numbers, got [nan, 0.0, 0.0]"),
        (SCALED, "pose: not a rotation (R R^T differs from I by 3, det 2)"),
        (MIRRORED, "pose: not a rotation (R R^T differs from I by 0, det -1)"),
        (SHEARED, "pose: the last row of a transform is [0, 0, 0, 1], got [1.0, 0.0, 0.0, 1.0]"),
    ],
)
def test_what_is_no_transform(value, message: str) -> None:
    with pytest.raises(kido.ModelError) as caught:
        as_transform(value, "pose")
    assert str(caught.value) == message


def test_what_is_no_vector() -> None:
    for value, message in (
        ([1, 2], "v: expected 3 numbers, got 2: [1, 2]"),
        ("a", "v: expected 3 numbers, got 'a'"),
        ([1, 2, np.inf], "v: expected finite numbers, got [1.0, 2.0, inf]"),
    ):
        with pytest.raises(kido.ModelError) as caught:
            as_vector(value, "v")
        assert str(caught.value) == message
    with pytest.raises(kido.ModelError, match="v: expected a direction, got the zero vector"):
        as_unit_vector([0, 0, 0], "v")
    np.testing.assert_allclose(as_unit_vector([0, 3, 4], "v"), [0, 0.6, 0.8])


def test_matrix_logarithm_agrees() -> None:
    """rotation_vector_to_matrix against SciPy's matrix logarithm, away from pi."""
    for r in itertools.product((-1.0, 0.3), repeat=3):
        np.testing.assert_allclose(logm(matrix(np.array(r))), hat(np.array(r)), atol=1e-13)
