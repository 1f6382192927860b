"""Rotation vectors, one and many: inverse of each other, and Jacobians as differences."""

from __future__ import annotations

import numpy as np
import pytest

from kido.math.lie import exp_rotation, log_rotation
from kido.math.rotation_rates import inverse_left_jacobian, right_jacobian

H = 1e-6


@pytest.mark.parametrize("size", [0.0, 1e-9, 0.009, 0.011, 1.0, 3.0])
def test_one_is_one_of_many(size: float) -> None:
    v = np.random.default_rng(1).standard_normal((5, 3))
    v *= size / np.linalg.norm(v, axis=1)[:, None]
    for function in (exp_rotation, inverse_left_jacobian, right_jacobian):
        many = function(v)
        assert many.shape == (5, 3, 3)
        for one, of_many in zip(v, many):
            np.testing.assert_allclose(function(one), of_many, rtol=0, atol=1e-15)
    np.testing.assert_allclose(log_rotation(exp_rotation(v)), v, rtol=0, atol=1e-14)


@pytest.mark.parametrize("size", [0.0, 0.009, 0.011, 1.0, 3.0])
def test_jacobians_are_differences(size: float) -> None:
    """Central differences with a step of 1e-6: errors of 1e-12 / distance to pi, and 1e-10 of rounding."""
    v = np.array([0.6, -0.64, 0.48]) * size
    R = exp_rotation(v)
    for k, axis in enumerate(np.eye(3)):
        ahead, back = (log_rotation(exp_rotation(s * H * axis) @ R) for s in (1.0, -1.0))
        np.testing.assert_allclose(inverse_left_jacobian(v)[:, k], (ahead - back) / (2 * H), rtol=0, atol=1e-8)
        ahead, back = (log_rotation(R.T @ exp_rotation(v + s * H * axis)) for s in (1.0, -1.0))
        np.testing.assert_allclose(right_jacobian(v)[:, k], (ahead - back) / (2 * H), rtol=0, atol=1e-8)
