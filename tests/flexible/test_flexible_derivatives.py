"""Derivatives of skeletons with flexible bodies, against central differences along velocities on the manifold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import kido
from flexible_trees import random_tree
from trees import relative_error

H = 1e-4  # of differences of fourth order: their error is about h^4 and 1e-16 / h, some 1e-11


@pytest.fixture(params=range(3))
def skeleton(request: pytest.FixtureRequest) -> kido.Skeleton:
    """A branched tree with floating, ball and compound joints, at a state."""
    made = random_tree(request.param, bodies=9).skeleton
    rng = np.random.default_rng(request.param)
    n = made.num_dofs
    made.positions, made.velocities = 0.4 * rng.normal(size=n), rng.normal(size=n)
    made.accelerations = rng.normal(size=n)
    return made


def differences(function: Callable[[np.ndarray], np.ndarray], directions: np.ndarray) -> np.ndarray:
    """d function(h e) / dh at zero, of fourth order, for each row e of directions; last axis."""
    found = []
    for e in directions:
        a, b, c, d = (np.asarray(function(k * H * e)) for k in (1.0, -1.0, 2.0, -2.0))
        found.append((8.0 * (a - b) - (c - d)) / (12.0 * H))
    return np.stack(found, -1)


def moved(skeleton: kido.Skeleton, step: np.ndarray) -> np.ndarray:
    return skeleton.integrate_positions(skeleton.positions, step)


def test_of_inverse_and_forward_dynamics(skeleton: kido.Skeleton) -> None:
    s, one = skeleton, np.eye(skeleton.num_dofs)
    q, u, a = s.positions, s.velocities, s.accelerations
    D = s.inverse_dynamics_derivatives(q, u, a)
    assert relative_error(D.dq, differences(lambda h: s.inverse_dynamics(moved(s, h), u, a), one)) < 1e-8
    assert relative_error(D.du, differences(lambda h: s.inverse_dynamics(q, u + h, a), one)) < 1e-8
    assert relative_error(D.dudot, s.mass_matrix) < 1e-13
    tau = s.inverse_dynamics(q, u, a)
    D = s.forward_dynamics_derivatives(q, u, tau)
    assert relative_error(D.dq, differences(lambda h: s.forward_dynamics(moved(s, h), u, tau), one)) < 1e-8
    assert relative_error(D.du, differences(lambda h: s.forward_dynamics(q, u + h, tau), one)) < 1e-8
    assert relative_error(D.dtau, s.inverse_mass_matrix) < 1e-13
    some = s.forward_dynamics_derivatives(q, u, tau, dofs=[1, 4])
    assert np.array_equal(some.dq, D.dq[np.ix_([1, 4], [1, 4])])


def test_with_external_forces_and_of_bias(skeleton: kido.Skeleton) -> None:
    s, one = skeleton, np.eye(skeleton.num_dofs)
    q, u = s.positions, s.velocities
    node = kido.flexible.flexible_bodies(s)[-1].node("b")
    node.add_external_force((1.0, 2.0, -3.0), offset=(0.1, -0.2, 0.3))

    def force(h: np.ndarray) -> np.ndarray:
        s.positions = s.integrate_positions(q, h)
        s.compute_inverse_dynamics()
        return s.forces

    wanted = differences(force, one)
    s.positions = q
    assert relative_error(s.inverse_dynamics_derivatives().dq, wanted) < 1e-8
    s.compute_inverse_dynamics()
    found = s.forward_dynamics_derivatives()
    assert relative_error(found.dq, -s.inverse_mass_matrix @ wanted) < 1e-7  # conditions of M up to 1e6
    dq, du = s.bias_forces_derivatives()
    bias = kido.quantities.coriolis_and_gravity_forces
    assert relative_error(dq, differences(lambda h: bias(s, moved(s, h), u), one)) < 1e-8
    assert relative_error(du, differences(lambda h: bias(s, q, u + h), one)) < 1e-8
    found = s.gravity_forces_derivative()
    weight = kido.quantities.gravity_forces
    assert relative_error(found, differences(lambda h: weight(s, moved(s, h)), one)) < 1e-8


def test_of_points_and_jacobians(skeleton: kido.Skeleton) -> None:
    s, one, Q = skeleton, np.eye(skeleton.num_dofs), kido.quantities
    q, u, a = s.positions, s.velocities, s.accelerations
    end, offset = s.bodies[-1], (0.1, -0.2, 0.3)
    other = kido.flexible.flexible_bodies(s)[0].node("a")
    H3 = differences(lambda h: Q.jacobian(s, moved(s, h), end, offset), one)
    assert relative_error(s.jacobian_hessian(end, offset), H3) < 1e-8
    rate = H3 @ u
    assert relative_error(s.jacobian_classic_derivative(end, offset), rate) < 1e-8
    J = s.jacobian(end, offset)
    screw = rate.copy()
    screw[3:] -= np.cross(J[:3], (J[3:] @ u)[:, None], axis=0)
    assert relative_error(s.jacobian_spatial_derivative(end, offset), screw) < 1e-8
    D = s.velocity_derivatives(end, offset)
    assert relative_error(D.dq, differences(lambda h: Q.jacobian(s, moved(s, h), end, offset) @ u, one)) < 1e-8
    assert relative_error(D.du, J) < 1e-14

    def acceleration(x: np.ndarray, v: np.ndarray) -> np.ndarray:
        return Q.jacobian(s, x, end, offset) @ a + Q.jacobian_classic_derivative(s, x, v, end, offset) @ v

    D = s.acceleration_derivatives(end, offset)
    assert relative_error(D.dq, differences(lambda h: acceleration(moved(s, h), u), one)) < 1e-8
    assert relative_error(D.du, differences(lambda h: acceleration(q, u + h), one)) < 1e-8
    pose = differences(lambda h: Q.world_transform(s, moved(s, h), end), one)
    assert relative_error(np.moveaxis(s.world_transform_derivatives(end), 0, -1), pose) < 1e-8

    def point(h: np.ndarray) -> np.ndarray:
        A, B = (Q.world_transform(s, moved(s, h), node) for node in (other, end))
        return np.linalg.solve(A, B @ [*offset, 1.0])[:3]

    seen = differences(point, one)
    R = other.world_transform[:3, :3]
    assert relative_error(s.relative_jacobian(end, other, offset)[3:], R @ seen) < 1e-8

    def observed(h: np.ndarray) -> np.ndarray:  # in axes of the observer
        x = moved(s, h)
        return Q.relative_jacobian(s, x, end, other, offset, other)

    wanted = differences(observed, one) @ u
    found = s.relative_jacobian_derivative(end, other, offset, other)
    assert relative_error(found, wanted) < 1e-8


def test_of_sums(skeleton: kido.Skeleton) -> None:
    s, one, Q = skeleton, np.eye(skeleton.num_dofs), kido.quantities
    q, u, a = s.positions, s.velocities, s.accelerations
    J = differences(lambda h: Q.com(s, moved(s, h)), one)
    assert relative_error(s.com_jacobian(), J) < 1e-8
    assert relative_error(s.com_velocity(), s.com_jacobian() @ u) < 1e-12
    dJ = differences(lambda h: Q.com_jacobian(s, moved(s, h)), one) @ u
    assert relative_error(s.com_jacobian_derivative(), dJ) < 1e-8
    assert relative_error(s.com_acceleration(), s.com_jacobian() @ a + dJ @ u) < 1e-8
    A = s.centroidal_momentum_matrix
    assert relative_error(A @ u, s.centroidal_momentum) < 1e-11
    dA = differences(lambda h: Q.centroidal_momentum_matrix(s, moved(s, h)), one)
    assert relative_error(s.centroidal_momentum_matrix_derivative, dA @ u) < 1e-8
    D = s.centroidal_momentum_derivatives()

    def rate(x: np.ndarray, v: np.ndarray) -> np.ndarray:
        return Q.centroidal_momentum_matrix(s, x) @ a + Q.centroidal_momentum_matrix_derivative(s, x, v) @ v

    assert relative_error(D.momentum_dq, np.einsum("ikj,k->ij", dA, u)) < 1e-8
    assert relative_error(D.rate_dq, differences(lambda h: rate(moved(s, h), u), one)) < 1e-8
    assert relative_error(D.rate_du, differences(lambda h: rate(q, u + h), one)) < 1e-8
    assert relative_error(D.rate_dudot, A) < 1e-12
    dM = differences(lambda h: Q.mass_matrix(s, moved(s, h)), one)
    assert relative_error(s.mass_matrix_derivative, dM @ u) < 1e-8
    found = s.log_det_mass_matrix_gradient()
    assert relative_error(found, differences(lambda h: Q.log_det_mass_matrix(s, moved(s, h)), one)) < 1e-8


@pytest.mark.parametrize("size", [0.0, 0.02])
def test_of_a_beam_that_shortens(size: float) -> None:
    """With displacements of second order, and at zero, where series stand for functions of angles."""
    s = kido.Skeleton("arm")
    beam = kido.flexible.beam_modes(
        1.0, kido.flexible.Section.tube(0.02, 0.018), kido.flexible.Material(7e10, 2700.0), bending_y=2, bending_z=2
    )
    upper = kido.flexible.FlexibleBody(s.add_body("upper", kido.RevoluteJoint(axis=(0, 0, 1))), beam)
    s.add_body("hand", kido.RevoluteJoint(axis=(0, 1, 0)), upper.node("tip"), kido.Inertia(0.5, (0.1, 0, 0)))
    rng, one = np.random.default_rng(0), np.eye(s.num_dofs)
    q, u, a = size * rng.normal(size=6), rng.normal(size=6), rng.normal(size=6)
    D = s.inverse_dynamics_derivatives(q, u, a)
    assert relative_error(D.dq, differences(lambda h: s.inverse_dynamics(q + h, u, a), one)) < 1e-8
    assert relative_error(D.du, differences(lambda h: s.inverse_dynamics(q, u + h, a), one)) < 1e-8
