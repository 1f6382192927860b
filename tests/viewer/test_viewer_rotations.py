"""Quaternions and cameras; truths from scipy and from geometry."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kido.rendering.rotations import (
    look_at_matrix,
    matrix_from_wxyz,
    multiply,
    rotate,
    wxyz_along_z,
    wxyz_from_matrix,
)
from kido.viewer.camera import basis, fit


@pytest.fixture
def rotations() -> Rotation:
    random = Rotation.random(200, random_state=1)
    # half turns about the axes are where each of the four formulas is needed
    return Rotation.concatenate([random, Rotation.from_rotvec(np.pi * np.eye(3)), Rotation.identity(1)])


def test_quaternions_agree_with_scipy(rotations):
    R = rotations.as_matrix()
    q = wxyz_from_matrix(R)
    np.testing.assert_allclose(np.linalg.norm(q, axis=1), 1.0, atol=1e-14)
    np.testing.assert_allclose(matrix_from_wxyz(q), R, atol=1e-14)
    np.testing.assert_allclose(Rotation.from_quat(q[:, [1, 2, 3, 0]]).as_matrix(), R, atol=1e-14)


def test_products_and_rotated_vectors_agree_with_scipy(rotations):
    q = wxyz_from_matrix(rotations.as_matrix())
    other = rotations[::-1]
    p = wxyz_from_matrix(other.as_matrix())
    np.testing.assert_allclose(matrix_from_wxyz(multiply(q, p)), (rotations * other).as_matrix(), atol=1e-13)
    v = np.random.default_rng(0).normal(size=(len(q), 3))
    np.testing.assert_allclose(rotate(q, v), rotations.apply(v), atol=1e-13)


def test_z_is_turned_to_any_direction():
    d = np.random.default_rng(2).normal(size=(50, 3))
    d = np.vstack([d / np.linalg.norm(d, axis=1, keepdims=True), np.eye(3), -np.eye(3)])
    turned = rotate(wxyz_along_z(d), np.tile([0.0, 0.0, 1.0], (len(d), 1)))
    np.testing.assert_allclose(turned, d, atol=1e-9)


@pytest.mark.parametrize("up", [(0, 0, 1), (0, 1, 0), (0, -1, 0), (1, 0, 0), (0.6, 0.0, 0.8)])
def test_basis_is_right_handed_with_up_last(up):
    B = basis(np.array(up, dtype=float))
    np.testing.assert_allclose(B.T @ B, np.eye(3), atol=1e-12)
    assert np.linalg.det(B) == pytest.approx(1.0)
    np.testing.assert_allclose(B[:, 2], up, atol=1e-12)


@pytest.mark.parametrize("up", [(0.0, 0.0, 1.0), (0.0, 1.0, 0.0)])
@pytest.mark.parametrize("aspect", [0.5, 1.0, 2.0])
def test_the_fitted_camera_sees_every_point_and_wastes_little(up, aspect):
    corners = np.random.default_rng(3).uniform([-3, -0.2, 0.1], [1, 0.4, 0.5], size=(40, 3)) + [10, 5, 0]
    pose = fit(corners, np.array(up), aspect=aspect)
    local = (corners - pose.position) @ look_at_matrix(pose.position, pose.target, pose.up)
    assert np.all(local[:, 2] > 0)
    edge = np.abs(local[:, :2] / local[:, 2:]) / (np.tan(0.5 * pose.fov) * np.array([aspect, 1.0]))
    assert np.max(edge) <= 1.0
    assert np.max(edge) > 0.7
    # the camera stands above the model, seen along the up axis
    assert (pose.position - pose.target) @ np.array(up) > 0
