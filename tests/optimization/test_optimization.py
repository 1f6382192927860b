"""Problems, functions, certificates and the built-in solver, on problems whose answers are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from kido.errors import ModelError, StateError
from kido.optimization import GradientDescentSolver, LeastSquares, Problem, Reason, certify


class Rosenbrock(LeastSquares):
    def residuals(self, x):
        return np.array([1.0 - x[0], 10.0 * (x[1] - x[0] ** 2)])

    def jacobian(self, x):
        return np.array([[-1.0, 0.0], [-20.0 * x[0], 10.0]])


class Sphere(LeastSquares):
    """|x| = 1, with the step of a pseudoinverse as its direction."""

    def residuals(self, x):
        return np.array([x @ x - 1.0])

    def jacobian(self, x):
        return 2.0 * x[None]

    def direction(self, x):
        return -np.linalg.pinv(self.jacobian(x)) @ self.residuals(x)


def test_gradient_descent_on_rosenbrock():
    solution = GradientDescentSolver().solve(Problem(2, objective=Rosenbrock(), initial=[-1.2, 1.0]))
    assert solution.converged, solution
    assert np.allclose(solution.x, 1.0, atol=1e-5)  # curvature 0.2 across a valley where the gradient is 1e-6


def test_gradient_descent_follows_directions_of_constraints():
    c = np.array([1.0, 2.0, 3.0])
    problem = Problem(3, objective=lambda x: c @ x, equality=[Sphere()], initial=[3.0, 1.0, 1.0])
    solution = GradientDescentSolver().solve(problem)
    assert solution.converged, solution
    assert np.allclose(solution.x, -c / np.linalg.norm(c), atol=1e-6)
    assert solution.multipliers.equality == pytest.approx([np.linalg.norm(c) / 2.0], abs=1e-6)


@pytest.mark.parametrize("problem, reason", [
    (Problem(1, objective=lambda x: x[0]), Reason.UNBOUNDED),
    (Problem(1, equality=[lambda x: x[0] - 1.0, lambda x: x[0] + 1.0]), Reason.INFEASIBLE),
    (Problem(1, objective=lambda x: float("nan")), Reason.NOT_FINITE),
])  # fmt: skip
def test_what_cannot_be_solved_is_said(problem, reason):
    solution = GradientDescentSolver().solve(problem)
    assert not solution.converged
    assert solution.reason is reason, solution


class Rows(LeastSquares):
    """A x - y, with derivatives that are sparse."""

    def __init__(self, A, y):
        self.A, self.y = scipy.sparse.csr_array(A), y

    def residuals(self, x):
        return self.A @ x - self.y

    def jacobian(self, x):
        return self.A


@pytest.mark.parametrize("seed", range(5))
def test_bounds_have_multipliers_in_sparse_problems_too(seed):
    """A minimum made from multipliers of equalities, inequalities and bounds, with nobody who knows them."""
    rng, n = np.random.default_rng(seed), 60
    x = rng.uniform(0.2, 0.8, n)
    x[:15], x[15:25] = 0.0, 1.0
    A, B = (
        rng.normal(size=(12, n)) * (rng.random((12, n)) < 0.2),
        rng.normal(size=(10, n)) * (rng.random((10, n)) < 0.2),
    )
    a, b, c, d = rng.normal(size=12), rng.uniform(0.1, 1.0, 10) * (np.arange(10) < 6), np.zeros(n), np.zeros(n)
    c[:15], d[15:25] = rng.uniform(0.1, 1.0, 15), rng.uniform(0.1, 1.0, 10)
    room = np.where(np.arange(10) < 6, 0.0, 0.5)  # the last are not active
    gradient = -A.T @ a - B.T @ b + c - d

    def made(gradient):
        objective = Rows(np.eye(n), x - gradient)  # whose gradient at x is this one
        options: dict[str, Any] = {"equality": [Rows(A, A @ x)], "inequality": [Rows(B, B @ x + room)]}
        return Problem(n, objective=objective, lower=0.0, upper=1.0, **options)

    certificate = certify(made(gradient), x)
    assert certificate.residual < 1e-9
    assert certificate.multipliers.lower == pytest.approx(c, abs=1e-8)
    assert certificate.multipliers.upper == pytest.approx(d, abs=1e-8)
    assert certificate.multipliers.inequality == pytest.approx(b, abs=1e-8)
    assert certificate.multipliers.equality == pytest.approx(a, abs=1e-8)
    worse = gradient.copy()
    worse[3] -= c[3] + 1.0  # it would gain by leaving its bound
    assert certify(made(worse), x).stationarity > 1e-3


def test_a_problem_without_variables():
    assert GradientDescentSolver().solve(Problem(0)).converged
    assert not GradientDescentSolver().solve(Problem(0, equality=[lambda x: 1.0])).converged


def test_certificate_of_a_corner():
    """min x + 2y with x >= 1 and x + y >= 3: at (3, 0) with y >= 0 multipliers are 1 and 1."""
    problem = Problem(
        2, lower=[1.0, 0.0], objective=lambda x: x[0] + 2.0 * x[1], inequality=[lambda x: 3.0 - x[0] - x[1]]
    )
    certificate = certify(problem, np.array([3.0, 0.0]))
    assert certificate.residual < 1e-9
    assert np.allclose(certificate.multipliers.inequality, 1.0)
    assert np.allclose(certificate.multipliers.lower, [0.0, 1.0])
    other = certify(problem, np.array([1.0, 2.0]))  # a corner, but not the lowest: least |(1, 2) - b (1, 1) - c (1, 0)|
    assert other.stationarity == pytest.approx(0.25)  # 0.5 over the largest component of the gradient


@pytest.mark.parametrize("wrong", [
    {"lower": 1.0, "upper": 0.0}, {"initial": [np.nan, 0.0]}, {"initial": [0.0]}, {"lower": [0.0, 0.0, 0.0]},
    {"upper": np.nan}, {"objective": 3}, {"seeds": [[0.0]]}, {"equality": ["x"]},
])  # fmt: skip
def test_bad_problems_are_refused(wrong):
    with pytest.raises(ModelError):
        Problem(2, **wrong)


def test_wrong_shapes_of_functions_are_refused():
    with pytest.raises(StateError, match="value of <lambda>: expected a number"):
        GradientDescentSolver().solve(Problem(2, objective=lambda x: x))


def test_derivatives_by_differences_follow_the_retraction():
    """On a circle of angles whose retraction doubles displacements, derivatives double too."""

    class Doubled(Problem):
        def retract(self, x, dx):
            return x + 2.0 * dx

    problem = Doubled(2, objective=lambda x: x[0] * x[1])
    x = np.array([2.0, 3.0])
    assert np.allclose(problem.gradient_of(problem.objective, x), [6.0, 4.0], atol=1e-8)


def test_a_clone_is_independent():
    problem = Problem(2, objective=Rosenbrock(), equality=[lambda x: x[0]], lower=-1.0, seeds=[[0.0, 0.0]])
    twin = problem.clone()
    twin.lower = 0.0
    twin.add_inequality(lambda x: x[1])
    assert problem.lower.tolist() == [-1.0, -1.0]
    assert problem.inequality == []
    assert twin.objective is not problem.objective


def test_random_starts_depend_on_the_seed_alone():
    problem = Problem(1, objective=lambda x: np.cos(3.0 * x[0]) + 0.1 * x[0] ** 2, lower=-6.0, upper=6.0, initial=[5.0])
    solver = GradientDescentSolver(attempts=20, keep_searching=True, seed=3)
    first, second = solver.solve(problem), solver.clone().solve(problem)
    assert first.x == second.x
    assert first.attempts == 20
    assert first.objective < np.cos(3.0) + 0.1  # one of the two lowest valleys, beside x = +-1


def test_a_solver_of_ones_own():
    from dataclasses import dataclass

    from kido.optimization import Outcome, Solver

    @dataclass(kw_only=True)
    class Boasting(Solver):
        def run(self, evaluator, start):
            return Outcome(start, 1, Reason.CONVERGED)

    solution = Boasting().solve(Problem(2, objective=Rosenbrock()))
    assert not solution.converged
    assert solution.reason is Reason.INACCURATE
    assert "NOT converged" in str(solution)


@pytest.mark.parametrize("setting", [
    {"tolerance": 0.0}, {"optimality": np.nan}, {"max_iterations": 0}, {"attempts": 0}, {"seed": -1},
    {"keep_searching": 1}, {"step_size": "x"}, {"constraint_weight": -1.0},
])  # fmt: skip
def test_bad_settings_are_refused(setting):
    with pytest.raises(ModelError, match=f"GradientDescentSolver.{next(iter(setting))}"):
        GradientDescentSolver(**setting).solve(Problem(1))
