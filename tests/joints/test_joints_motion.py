"""Joint-level motion, positions as points of a manifold, and free joints set as a whole."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kido
from kido.errors import ModelError, StateError
from trees import KINDS, body_series, build, chain_parents, motion, random_skeleton, random_state, random_transform

MOVING = [k for k in KINDS if k != "weld"]
TOLERANCE = 1e-12  # of numbers of order ten


def chain(kind: str, seed: int) -> kido.Skeleton:
    """A joint of a kind between two others, moving."""
    skeleton = build(["free", kind, "revolute"], chain_parents(3), seed)
    q, u, udot, _ = random_state(skeleton, seed)
    skeleton.positions, skeleton.velocities, skeleton.accelerations = q, u, udot
    return skeleton


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_relative_motion_is_that_of_the_definition(kind: str, seed: int) -> None:
    skeleton = chain(kind, seed)
    body = skeleton.bodies[1]
    joint = body.parent_joint
    q, u, udot = (
        getattr(joint, w) if joint.num_dofs else np.zeros(0) for w in ("positions", "velocities", "accelerations")
    )
    series = body_series(body, q, u, udot)
    R = series[0][:3, :3].T
    V, A = motion(series)
    A[3:] -= np.cross(V[:3], V[3:])  # the rate of numbers in the body's axes

    def in_body(vector: np.ndarray) -> np.ndarray:
        return np.concatenate([R @ vector[:3], R @ vector[3:]])

    np.testing.assert_allclose(joint.relative_transform, series[0], atol=TOLERANCE)
    np.testing.assert_allclose(joint.relative_spatial_velocity, in_body(V), atol=10 * TOLERANCE)
    np.testing.assert_allclose(joint.relative_spatial_acceleration, in_body(A), atol=100 * TOLERANCE)
    np.testing.assert_allclose(joint.relative_spatial_acceleration, body.relative_spatial_acceleration, atol=1e-9)
    S, rest = joint.relative_jacobian, np.zeros(len(q))
    for k, e in enumerate(np.eye(len(q))):
        np.testing.assert_allclose(S[:, k], in_body(motion(body_series(body, q, e, rest))[0]), atol=10 * TOLERANCE)
    np.testing.assert_allclose(joint.relative_primary_acceleration, S @ udot, atol=TOLERANCE)
    assert S.shape == joint.relative_jacobian_derivative.shape == (6, joint.num_dofs)


@pytest.mark.parametrize("kind", MOVING)
def test_given_positions_and_joints_alone(kind: str) -> None:
    skeleton = chain(kind, 3)
    joint = skeleton.joints[1]
    q = joint.positions + 0.3
    alone = type(joint)(
        transform_from_parent=joint.transform_from_parent,
        transform_from_child=joint.transform_from_child,
        **joint.unique_properties,
    )
    S, X = joint.compute_relative_jacobian(q), joint.compute_relative_transform(q)
    np.testing.assert_allclose(alone.compute_relative_jacobian(q), S, atol=TOLERANCE)
    assert not np.allclose(joint.relative_transform, X)  # the current state stays
    joint.positions = q
    np.testing.assert_allclose(joint.relative_jacobian, S, atol=TOLERANCE)
    np.testing.assert_allclose(joint.relative_transform, X, atol=TOLERANCE)
    with pytest.raises(StateError):
        joint.compute_relative_jacobian([*q, 0.0])


# Positions as points of a manifold -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_differences_and_steps_are_inverse(seed: int) -> None:
    skeleton = random_skeleton(seed, 14)
    q1, u, _, _ = random_state(skeleton, seed)
    q2 = random_state(skeleton, seed + 100)[0]
    u *= (
        0.8
        * np.pi
        / max(np.pi, *(np.linalg.norm(u[j.dofs[0].index :][:3]) for j in skeleton.joints if j.num_dofs >= 3))
    )
    there = skeleton.integrate_positions(q1, u)
    np.testing.assert_allclose(skeleton.position_differences(there, q1), u, atol=1e-10)
    reached = skeleton.integrate_positions(q1, skeleton.position_differences(q2, q1))
    np.testing.assert_allclose(skeleton.forward_kinematics(reached), skeleton.forward_kinematics(q2), atol=1e-10)
    half = skeleton.interpolate_positions(q1, q2, 0.5)
    np.testing.assert_allclose(
        skeleton.position_differences(q2, half), skeleton.position_differences(half, q1), atol=1e-9
    )
    for joint in skeleton.joints:
        if joint.num_dofs:
            part = joint.coordinates
            np.testing.assert_allclose(
                joint.position_differences(q2[part], q1[part]), skeleton.position_differences(q2, q1)[part], atol=1e-14
            )
            np.testing.assert_allclose(joint.integrate_positions(q1[part], u[part]), there[part], atol=1e-14)


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-4, 9.9e-3, 1.01e-2, 1.0, 3.0, 3.1415])
def test_differences_of_free_joints_at_all_angles(size: float) -> None:
    joint = kido.FreeJoint()
    w = size * np.array([2.0, -3.0, 6.0]) / 7.0
    u = np.concatenate([w, [0.3, -0.4, 0.5]])
    q = np.array([0.5, 2.0, -1.0, 1.0, 2.0, 3.0])
    # The chart's error grows near pi, where log is steep.
    np.testing.assert_allclose(joint.position_differences(joint.integrate_positions(q, u), q), u, atol=1e-11)


def test_wrong_positions_are_refused() -> None:
    skeleton = random_skeleton(0, 4)
    q = np.zeros(skeleton.num_dofs)
    for bad in ([0.0], np.full(skeleton.num_dofs, np.nan)):
        with pytest.raises(StateError):
            skeleton.position_differences(bad, q)
        with pytest.raises(StateError):
            skeleton.integrate_positions(q, bad)
    with pytest.raises(StateError, match="share"):
        skeleton.interpolate_positions(q, q, np.inf)


# Rotations and poses of joints -----------------------------------------------------------------------------


def test_conversions_of_rotations_and_transforms() -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        R, X = Rotation.random(rng=rng), random_transform(rng)
        np.testing.assert_allclose(
            kido.BallJoint.to_rotation(kido.BallJoint.from_rotation(R)), R.as_matrix(), atol=1e-14
        )
        np.testing.assert_allclose(kido.FreeJoint.to_transform(kido.FreeJoint.from_transform(X)), X, atol=1e-14)
    with pytest.raises(ModelError, match="rotation"):
        kido.BallJoint.from_rotation(2.0 * np.eye(3))


@pytest.mark.parametrize("hanging", [False, True])
@pytest.mark.parametrize("in_world", [False, True])
def test_the_motion_of_a_free_joint_is_set_as_a_whole(hanging: bool, in_world: bool) -> None:
    rng = np.random.default_rng(5)
    kinds = ["free", "universal", "free", "revolute"]
    skeleton = build(kinds, [-1, 0, 1 if hanging else -1, 2], 5)
    world = kido.World()
    if in_world:
        world.add_skeleton(skeleton)
    q, u, udot, _ = random_state(skeleton, 5)
    skeleton.positions, skeleton.velocities, skeleton.accelerations = q, u, udot
    body, joint, observer = skeleton.bodies[2], skeleton.joints[2], skeleton.bodies[1]
    assert isinstance(joint, kido.FreeJoint)
    axes = skeleton.bodies[0]
    if not hanging:
        observer = axes = skeleton.bodies[0]
    X, V, A = random_transform(rng), rng.normal(size=6), rng.normal(size=6)
    before = skeleton.positions, skeleton.velocities
    joint.set_spatial_motion(X, V, A, relative_to=observer, in_coordinates_of=axes)
    np.testing.assert_allclose(body.transform(observer), X, atol=1e-13)
    np.testing.assert_allclose(
        body.compute_spatial_velocity(relative_to=observer, in_coordinates_of=axes), V, atol=1e-12
    )
    np.testing.assert_allclose(
        body.compute_spatial_acceleration(relative_to=observer, in_coordinates_of=axes), A, atol=1e-10
    )
    others = [k for k in range(skeleton.num_dofs) if k not in range(*joint.coordinates.indices(99))]
    np.testing.assert_array_equal(skeleton.positions[others], before[0][others])
    np.testing.assert_array_equal(skeleton.velocities[others], before[1][others])
    joint.set_linear_velocity([1.0, 2.0, 3.0])
    joint.set_angular_velocity([0.1, 0.2, 0.3], in_coordinates_of=body)
    np.testing.assert_allclose(body.linear_velocity(), [1.0, 2.0, 3.0], atol=1e-12)
    np.testing.assert_allclose(body.angular_velocity(in_coordinates_of=body), [0.1, 0.2, 0.3], atol=1e-12)
    held = skeleton.positions
    with pytest.raises(ModelError, match="velocity"):
        joint.set_spatial_motion(X, [np.nan] * 6)
    np.testing.assert_array_equal(skeleton.positions, held)
