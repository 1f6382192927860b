"""The certificate: its definition, formed again in NumPy, and known solutions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from kido.errors import KidoError
from kido.solvers import CertifyError, certify, problem_matrices, solve
from solver_scenes import G, H, random_problem, residual, stack


def sliding_point(mass=2.0, speed=1.0, mu=0.4):
    """A point of mass m sliding on a plane for one step: compliance, free velocity, exact impulse."""
    A = np.eye(3) / mass
    b = np.array([-G * H, speed, 0.0])
    p = np.array([[mass * G * H, -mu * mass * G * H, 0.0]])
    return A, b, mu, p


def test_exact_solution_has_no_residual():
    A, b, mu, p = sliding_point()
    c = certify(A, b, mu, p)
    assert c.residual < 1e-15
    assert c.max_scaled < 1e-15
    assert c.dissipation == pytest.approx(p[0] @ (A @ p[0] + b))
    assert c.dissipation < 0
    assert c.producing.size == 0
    assert math.isnan(c.penetration)


def test_missing_friction_is_seen():
    A, b, mu, p = sliding_point()
    p[0, 1] = 0.0
    c = certify(A, b, mu, p)
    # By hand: v = (0, 1, 0), x = (p_n - m mu, -m, 0), outside the cone and its polar.
    n, t = p[0, 0] - 2 * mu, 2.0
    m = max(0.0, (mu * t + n) / (1 + mu**2))
    expected = np.array([p[0, 0] - m, mu * m, 0.0])
    assert c.defects[0] == pytest.approx(expected)
    assert c.residual == pytest.approx(np.linalg.norm(expected) / p[0, 0])
    assert c.max_scaled == pytest.approx(np.linalg.norm(expected) / (2 * G * H))


def test_definition_against_numpy():
    rng = np.random.default_rng(1)
    for seed in range(20):
        c = random_problem(np.random.default_rng(seed))
        A, b = problem_matrices(c)
        n = c.num_blocks
        p = rng.normal(size=(n, 3))
        assert certify(A, b, c.mu[:n], p).residual == pytest.approx(residual(A, b, c.mu[:n], p), rel=1e-12)


def test_sparse_and_operator_equal_dense():
    c = stack(4)
    solve(c)
    A, b = problem_matrices(c)
    p = c.impulse.reshape(-1, 3)
    dense = certify(A, b, 0.5, p)
    for other in (sp.csr_array(A), sp.csc_matrix(A), aslinearoperator(A)):
        assert certify(other, b, 0.5, p).residual == pytest.approx(dense.residual, rel=1e-6)


def test_power_that_friction_produces_is_named():
    A, b, mu, p = sliding_point()
    p[0, 1] *= -1
    c = certify(A, b, mu, p)
    assert c.producing.tolist() == [0]
    assert c.dissipation > 0


def test_penetration_from_gaps():
    A, b, mu, p = sliding_point()
    assert certify(A, b, mu, p, gaps=[-2e-4]).penetration == 2e-4
    assert certify(A, b, mu, p, gaps=[1e-3]).penetration == 0.0


def test_separated_contact_and_no_contacts():
    c = certify(np.eye(3), np.array([1.0, 0.3, 0.0]), 0.5, np.zeros((1, 3)))
    assert c.residual < 1e-7
    empty = certify(np.zeros((0, 0)), np.zeros(0), 0.5, np.zeros((0, 3)))
    assert empty.residual == 0 and empty.dissipation == 0


def test_ignored_contact_is_seen():
    # Zero impulse against an approaching body: the residual must be large, not 0/0.
    assert certify(np.eye(3), np.array([-1.0, 0.0, 0.0]), 0.5, np.zeros((1, 3))).residual > 1e4


@pytest.mark.parametrize("mass", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("speed", [1e-15, 1e-12, 1e-9])
def test_a_body_that_hardly_approaches_is_hardly_a_problem(mass, speed):
    """What is left undone is told beside impulses m 1e-5 m/s, whatever the mass, until there is more to do."""
    A, p = np.eye(3) / mass, np.zeros((1, 3))
    b = np.array([-speed, 0.0, 0.0])
    assert certify(A, b, 0.5, p).residual == pytest.approx(speed / 1e-5, rel=1e-12)
    p[0, 0] = 0.5 * mass * speed
    assert certify(A, b, 0.5, p).residual == pytest.approx(0.5 * speed / 1e-5, rel=1e-12)
    assert certify(A, 1e9 * b, 0.5, 1e9 * p).residual == pytest.approx(min(5e8 * speed / 1e-5, 1.0), rel=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"impulses": np.zeros(4)}, "impulses: 4 values"),
        ({"impulses": np.full((1, 3), np.nan)}, r"impulses: not finite at index \[0, 0\]"),
        ({"free_velocity": np.zeros(6)}, "free_velocity: 6 values, expected 3"),
        ({"compliance": np.eye(4)}, r"compliance: shape \(4, 4\), expected \(3, 3\)"),
        ({"compliance": np.full((3, 3), np.nan)}, "not finite"),
        ({"friction": -0.1}, "expected 1 coefficients of at least 0"),
        ({"friction": [0.1, 0.2]}, "expected 1 coefficients"),
        ({"gaps": [0.0, 0.0]}, "gaps: 2 values, expected 1"),
        ({"time_step": 0.0}, "time_step 0.0"),
    ],
)
def test_bad_data(change, message):
    data = {
        "compliance": np.eye(3),
        "free_velocity": np.zeros(3),
        "friction": 0.5,
        "impulses": np.zeros((1, 3)),
    }
    with pytest.raises(CertifyError, match=message):
        certify(**(data | change))
    assert issubclass(CertifyError, KidoError)
