"""Transforms, velocities, accelerations and integration of random trees, against plain 4x4 products.

The reference multiplies matrices and Taylor series of matrices (`trees.Reference`); both sides round a few
hundred products of numbers of size one, so 1e-12 relative leaves two or three digits for trees of 50 bodies.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import kido
from kernel_entries import Arrays
from kido.joints import JointKind
from kido.kernels import entries
from trees import (
    EULER_ORDERS,
    KINDS,
    SEEDS,
    Reference,
    build,
    chain_parents,
    motion,
    pose,
    random_skeleton,
    random_state,
    relative_error,
    skeletons,
    twist_matrix,
)

TOLERANCE = 1e-12


def check_motion(skeleton: kido.Skeleton, seed: int) -> None:
    q, u, udot, _ = random_state(skeleton, seed)
    expected = Reference(skeleton, q, u, udot)
    arrays = Arrays(skeleton, q, u, udot)
    entries.update_accelerations(*arrays.addresses)
    d = arrays.data
    assert relative_error(d.R.reshape(-1, 3, 3), expected.X[:, :3, :3]) < TOLERANCE
    assert relative_error(d.p, expected.X[:, :3, 3]) < TOLERANCE
    assert relative_error(d.V, expected.V) < TOLERANCE
    A = d.A.copy()
    A[:, 3:] += skeleton.gravity
    assert relative_error(A, expected.A) < TOLERANCE
    for i in range(skeleton.num_bodies):
        assert relative_error(d.H[expected.part[i]].T, expected.H[i]) < TOLERANCE


@given(skeletons(), SEEDS)
def test_random_trees(skeleton: kido.Skeleton, seed: int) -> None:
    check_motion(skeleton, seed)


@pytest.mark.parametrize("bodies", [1, 2, 10, 20, 50])
def test_trees_with_every_joint_type(bodies: int) -> None:
    for seed in range(10):
        check_motion(random_skeleton(seed, bodies), seed)


@pytest.mark.parametrize("outer", KINDS)
@pytest.mark.parametrize("inner", KINDS)
def test_every_joint_type_on_every_other(outer: str, inner: str) -> None:
    check_motion(build([inner, outer], [-1, 0], 5), 6)


@pytest.mark.parametrize("order", EULER_ORDERS)
def test_euler_orders_mean_moving_axes(order: str) -> None:
    skeleton = kido.Skeleton()
    body = skeleton.add_body("b", kido.EulerJoint(order=order))
    q = [0.7, -1.1, 2.3]
    skeleton.positions = q
    expected = Rotation.from_euler(order.upper(), q).as_matrix()  # SciPy: upper case letters, moving axes
    np.testing.assert_allclose(body.world_transform[:3, :3], expected, atol=1e-15)


def test_one_turn_of_a_screw_is_its_pitch() -> None:
    skeleton = kido.Skeleton()
    body = skeleton.add_body("b", kido.ScrewJoint(axis=(0, 3, 4), pitch=0.25))
    skeleton.positions, skeleton.velocities = [2 * np.pi], [2 * np.pi]
    np.testing.assert_allclose(body.world_transform, pose(translation=(0, 0.15, 0.2)), atol=1e-15)
    np.testing.assert_allclose(body.linear_velocity(), [0, 0.15, 0.2], atol=1e-15)


def test_universal_second_axis_turns_with_the_first() -> None:
    skeleton = kido.Skeleton()
    body = skeleton.add_body("b", kido.UniversalJoint(axis1=(1, 0, 0), axis2=(0, 1, 0)))
    skeleton.positions = [np.pi / 2, 0.3]
    skeleton.velocities = [0, 1]
    np.testing.assert_allclose(body.angular_velocity(), [0, 0, 1], atol=1e-15)


def test_planar_joint_slides_then_turns() -> None:
    skeleton = kido.Skeleton()
    body = skeleton.add_body("b", kido.PlanarJoint(axis1=(0, 1, 0), axis2=(0, 0, 1)))
    skeleton.positions = [2.0, 3.0, np.pi / 2]
    expected = pose((np.pi / 2, 0, 0), (0, 2, 3))
    np.testing.assert_allclose(body.world_transform, expected, atol=1e-15)


# Integration on the manifold -------------------------------------------------------------------------------


def differentiate(skeleton: kido.Skeleton, q, u, h: float):
    """Central differences of poses along the `advance` kernel: velocity (error h^2) of each body."""
    X = []
    for step in (-h, h):
        arrays = Arrays(skeleton, q, u)
        arrays.advance(step)
        arrays.update()
        X.append(Reference(skeleton, arrays.data.q).X)
    middle = Reference(skeleton, q).X
    rate = (X[1] - X[0]) / (2 * h)
    curve = (X[1] - 2 * middle + X[0]) / h**2
    return np.array([motion((m, r, 0.5 * c)) for m, r, c in zip(middle, rate, curve, strict=True)])


@given(skeletons(most=6), SEEDS)
@settings(max_examples=50)
def test_rates_are_derivatives_along_advance(skeleton: kido.Skeleton, seed: int) -> None:
    q, u, _, _ = random_state(skeleton, seed)
    arrays = Arrays(skeleton, q, u)
    entries.update_accelerations(*arrays.addresses)
    A = arrays.data.A.copy()
    A[:, 3:] += skeleton.gravity
    found = differentiate(skeleton, q, u, 1e-4)
    # Truncation h^2 times third and fourth derivatives (up to |w|^4 l), rounding 1e-15 / h^2.
    rate = 1.0 + np.abs(arrays.data.V).max()
    assert relative_error(found[:, 0], arrays.data.V, floor=rate**3) < 1e-7
    assert relative_error(found[:, 1], A, floor=rate**4) < 3e-6


@pytest.mark.parametrize("size", [1e-9, 1e-4, 0.02, 1.0, 3.0])
def test_free_joint_follows_the_exponential(size: float) -> None:
    """X <- X exp(h V) for a body-axes twist of any size, against SciPy's matrix exponential."""
    skeleton = kido.Skeleton()
    skeleton.add_body("b")
    rng = np.random.default_rng(1)
    for _ in range(20):
        q, u = rng.uniform(-2, 2, 6), rng.normal(size=6) * size
        arrays = Arrays(skeleton, q, u)
        arrays.advance(0.5)
        expected = pose(q[:3], q[3:]) @ expm(twist_matrix(0.5 * u))
        np.testing.assert_allclose(pose(arrays.data.q[:3], arrays.data.q[3:]), expected, atol=2e-14)


def test_free_joint_in_fixed_axes_moves_straight() -> None:
    """FREE_MIXED: linear velocity in the parent-side axes; body velocity and acceleration accordingly."""
    skeleton = build(["free"], [-1], 3)
    q, u, udot, _ = random_state(skeleton, 4)
    mixed = Arrays(skeleton)
    mixed.tree.kind[:] = JointKind.FREE_MIXED
    mixed.data.q[:], mixed.data.u[:], mixed.data.udot[:] = q, u, udot
    mixed.update()
    entries.update_accelerations(*mixed.addresses)
    R = pose(q[:3])[:3, :3]
    twist, rate = u.copy(), udot.copy()
    twist[3:] = R.T @ u[3:]
    rate[3:] = R.T @ udot[3:] - np.cross(u[:3], twist[3:])
    expected = Reference(skeleton, q, twist, rate)
    assert relative_error(mixed.data.V, expected.V) < TOLERANCE
    A = mixed.data.A.copy()
    A[:, 3:] += skeleton.gravity
    assert relative_error(A, expected.A) < TOLERANCE
    mixed.advance(0.3)
    np.testing.assert_allclose(mixed.data.q[3:], q[3:] + 0.3 * u[3:], atol=1e-15)
    expected_R = (Rotation.from_rotvec(q[:3]) * Rotation.from_rotvec(0.3 * u[:3])).as_matrix()
    np.testing.assert_allclose(pose(mixed.data.q[:3])[:3, :3], expected_R, atol=1e-14)


@given(st.floats(-1e-7, 1e-7), st.sampled_from([0.0, np.pi, 2 * np.pi, 3 * np.pi, 20.0]), SEEDS)
@example(0.0, np.pi, 0)
@example(0.0, 2 * np.pi, 0)
@example(0.0, 0.0, 0)
def test_rotation_vectors_of_any_angle(offset: float, angle: float, seed: int) -> None:
    """Ball and free joints at and near 0, pi, 2 pi and beyond: pose, velocity, and a step from there."""
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    r = axis / np.linalg.norm(axis) * (angle + offset)
    for kind, n in (("ball", 3), ("free", 6)):
        skeleton = build([kind], [-1], seed)
        q, u = np.concatenate([r, rng.normal(size=n - 3)]), rng.normal(size=n)
        arrays = Arrays(skeleton, q, u)
        expected = Reference(skeleton, q, u)
        assert relative_error(arrays.data.R.reshape(-1, 3, 3), expected.X[:, :3, :3]) < TOLERANCE
        assert relative_error(arrays.data.V, expected.V) < TOLERANCE
        arrays.advance(0.01)
        turned = (Rotation.from_rotvec(r) * Rotation.from_rotvec(0.01 * u[:3])).as_matrix()
        np.testing.assert_allclose(pose(arrays.data.q[:3])[:3, :3], turned, atol=1e-14)
        assert np.linalg.norm(arrays.data.q[:3]) <= np.pi + 1e-12


def test_ball_joint_turns_steadily_through_pi_and_back_to_the_start() -> None:
    """Ten turns at constant angular velocity in a thousand steps: the angle wraps, the pose never jumps."""
    skeleton = kido.Skeleton()
    skeleton.add_body("b", kido.BallJoint())
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    arrays = Arrays(skeleton, np.zeros(3), 20 * np.pi * axis)
    for k in range(1, 1001):
        arrays.advance(1e-3)
        expected = pose(axis * (20 * np.pi * k * 1e-3))[:3, :3]
        # Each of k steps rounds by about 1e-16.
        assert np.abs(pose(arrays.data.q)[:3, :3] - expected).max() < 1e-12
    assert np.linalg.norm(arrays.data.q) < 1e-12


def test_long_chain_of_rotations_keeps_its_digits() -> None:
    skeleton = build(["revolute"] * 300, chain_parents(300), 2)
    q, u, udot, _ = random_state(skeleton, 3)
    expected = Reference(skeleton, q, u, udot)
    arrays = Arrays(skeleton, q, u, udot)
    assert relative_error(arrays.data.p, expected.X[:, :3, 3]) < 1e-12
    assert relative_error(arrays.data.V, expected.V) < 1e-12
    R = arrays.data.R[-1].reshape(3, 3)
    assert np.abs(R @ R.T - np.eye(3)).max() < 1e-13  # 300 products of orthonormal matrices
