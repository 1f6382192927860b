"""All solvers on standard problems with known answers, and on problems that have none."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from benchmarks.optimization_problems import BY_NAME, STANDARD
from kido.errors import MissingExtraError, ModelError, NameLookupError
from kido.optimization import (
    GaussNewtonSolver,
    GradientDescentSolver,
    IpoptSolver,
    LeastSquares,
    NloptSolver,
    Problem,
    QpSolver,
    Reason,
    ScipySolver,
    SqpSolver,
    solve_quadratic,
)

OTHERS = {"scipy": ScipySolver(), "nlopt": NloptSolver(), "ipopt": IpoptSolver()}
OWN = {"gradient descent": GradientDescentSolver(), "SQP": SqpSolver()}
SOLVABLE = [p.name for p in STANDARD if p.reason is None]
HOPELESS = [p.name for p in STANDARD if p.reason is not None]
QUADRATIC = ["HS21", "HS28", "HS35", "HS48", "HS76", "dependent constraints"]
# SLSQP takes no constraints that depend on each other, L-BFGS-B steps over the edge of a domain for good, and NLopt
# stops short at HS39.
BEYOND = {("scipy", "dependent constraints"), ("nlopt", "dependent constraints"), ("scipy", "edge of a domain"),
          ("nlopt", "HS39")}  # fmt: skip


def is_solved(solution, standard):
    assert solution.converged, solution
    # The objective is off by multipliers (at most 24 here) times the tolerance of constraints, 1e-6.
    assert solution.objective == pytest.approx(standard.minimum, abs=2.5e-5, rel=1e-7)
    if standard.at is not None and not standard.name.startswith("HS26"):
        assert np.allclose(solution.x, standard.at, atol=2e-5)  # curvatures are above 0.1


def solve(solver, standard):
    solver = solver.clone()
    solver.keep_searching = standard.global_search
    return solver.solve(standard.make())


@pytest.mark.parametrize("solver", OWN)
@pytest.mark.parametrize("name", SOLVABLE)
def test_own_solvers(name, solver):
    is_solved(solve(OWN[solver], BY_NAME[name]), BY_NAME[name])


@pytest.mark.parametrize("solver", OTHERS)
@pytest.mark.parametrize("name", SOLVABLE)
def test_solvers_of_libraries(name, solver):
    solution = solve(OTHERS[solver], BY_NAME[name])
    if (solver, name) in BEYOND:
        assert not solution.converged
    else:
        is_solved(solution, BY_NAME[name])


@pytest.mark.parametrize("name", [n for n in SOLVABLE if isinstance(BY_NAME[n].make().objective, LeastSquares)])
def test_gauss_newton(name):
    is_solved(GaussNewtonSolver().solve(BY_NAME[name].make()), BY_NAME[name])


@pytest.mark.parametrize("name", QUADRATIC)
def test_quadratic_programs(name):
    is_solved(QpSolver().solve(BY_NAME[name].make()), BY_NAME[name])


@pytest.mark.parametrize("solver", OWN)
@pytest.mark.parametrize("name", HOPELESS)
def test_own_solvers_say_what_cannot_be_solved(name, solver):
    solution = OWN[solver].solve(BY_NAME[name].make())
    assert not solution.converged
    assert solution.reason is BY_NAME[name].reason, solution


@pytest.mark.parametrize("solver", OTHERS)
@pytest.mark.parametrize("name", HOPELESS)
def test_solvers_of_libraries_never_claim_what_cannot_be_solved(name, solver):
    solution = OTHERS[solver].solve(BY_NAME[name].make())
    assert not solution.converged
    assert solution.reason is not Reason.CONVERGED


@pytest.mark.parametrize("name", ["infeasible, linear", "infeasible, curved"])
def test_gauss_newton_says_what_cannot_be_solved(name):
    assert GaussNewtonSolver().solve(BY_NAME[name].make()).reason is Reason.INFEASIBLE


def test_a_problem_that_is_not_quadratic_is_not_certified():
    assert QpSolver().solve(BY_NAME["Rosenbrock"].make()).reason is Reason.INACCURATE


@pytest.mark.parametrize("method", ScipySolver.METHODS)
def test_methods_of_scipy(method):
    standard = BY_NAME["Rosenbrock, squares"]
    is_solved(ScipySolver(method=method).solve(standard.make()), standard)


@pytest.mark.parametrize("algorithm", ["LD_LBFGS", "LD_MMA", "LN_COBYLA", "LN_BOBYQA"])
def test_algorithms_of_nlopt(algorithm):
    standard = BY_NAME["Beale"]
    is_solved(NloptSolver(algorithm=algorithm, max_iterations=5000).solve(standard.make()), standard)


def test_gauss_newton_respects_bounds():
    """Nearest point of a box to one outside of it, in a metric that couples the variables."""
    M = np.array([[3.0, 1.0, 0.5], [0.0, 2.0, 1.0], [0.0, 0.0, 1.0]])

    class Distance(LeastSquares):
        def residuals(self, x):
            return M @ (x - [2.0, -3.0, 0.4])

        def jacobian(self, x):
            return M

    problem = Problem(3, lower=-1.0, upper=1.0, objective=Distance())
    solution = GaussNewtonSolver().solve(problem)
    is_inside = np.abs(solution.x) <= 1.0
    assert solution.converged and is_inside.all()
    assert np.allclose(solution.x, QpSolver().solve(problem).x, atol=1e-8)


@pytest.mark.parametrize("solver", [*OWN.values(), GaussNewtonSolver(), *OTHERS.values()], ids=lambda s: s.name)
def test_variables_that_are_fixed_stay(solver):
    class Squares(LeastSquares):
        def residuals(self, x):
            return np.array([x[0] + x[1] - 3.0, x[1] - 2.0 * x[2]])

    problem = Problem(3, lower=[1.0, -9.0, -9.0], upper=[1.0, 9.0, 9.0], objective=Squares())
    solution = solver.solve(problem)
    assert solution.converged, solution
    assert np.allclose(solution.x, [1.0, 2.0, 1.0], atol=1e-5)
    assert solution.x[0] == 1.0


@pytest.mark.parametrize("solver", [*OWN.values(), *OTHERS.values()], ids=lambda s: s.name)
def test_errors_of_users_functions_come_through(solver):
    def objective(x):
        if x[0] != 0.5:
            raise ZeroDivisionError("mine")
        return x[0]

    with pytest.raises(ZeroDivisionError, match="mine"):
        solver.solve(Problem(1, initial=[0.5], objective=objective))


def test_what_solvers_do_not_take_is_said():
    squares, plain = BY_NAME["HS28"].make(), BY_NAME["HS71"].make()
    with pytest.raises(ModelError, match="expected a LeastSquares"):
        GaussNewtonSolver().solve(plain)
    with pytest.raises(ModelError, match="takes no constraints"):
        ScipySolver(method="L-BFGS-B").solve(squares)
    with pytest.raises(ModelError, match="expected an objective that is a LeastSquares"):
        ScipySolver(method="least_squares").solve(BY_NAME["Rosenbrock"].make())
    with pytest.raises(ModelError, match="LD_LBFGS of NLopt does not take"):
        NloptSolver(algorithm="LD_LBFGS").solve(squares)
    with pytest.raises(NameLookupError, match="SLSQP"):
        ScipySolver(method="simplex").solve(squares)
    with pytest.raises(NameLookupError, match="LD_SLSQP"):
        NloptSolver(algorithm="simplex").solve(squares)
    with pytest.raises(NameLookupError, match="bfgs"):
        SqpSolver(hessian="exact").solve(squares)


@pytest.mark.parametrize("solver, module, extra", [
    (NloptSolver(), "nlopt", "nlopt"), (IpoptSolver(), "casadi", "ipopt"), (QpSolver(), "daqp", "qp"),
])  # fmt: skip
def test_absent_extras_are_named(monkeypatch, solver, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'kido\[{extra}\]'"):
        solver.solve(BY_NAME["HS28"].make())


def test_own_quadratic_programs_beside_daqp():
    """Random ones, every third with rows that depend on each other, some infeasible; both agree which."""
    daqp = pytest.importorskip("daqp")
    rng = np.random.default_rng(0)
    infeasible = 0
    for k in range(60):
        n, m = int(rng.integers(1, 12)), int(rng.integers(0, 20))
        e = int(rng.integers(0, n // 2 + 1))
        R = rng.standard_normal((n, n))
        H, c = R @ R.T + 0.01 * np.eye(n), 3.0 * rng.standard_normal(n)
        A, G, x = rng.standard_normal((e, n)), rng.standard_normal((m, n)), rng.standard_normal(n)
        if e > 2 and k % 3 == 0:
            A[-1] = A[0] + A[1]
        b, h = A @ x, G @ x + rng.random(m) - 2.0 * (k % 7 == 0)
        own = solve_quadratic(H, c, A, b, G, h)
        rows, low = np.concatenate([A, G]), np.concatenate([b, np.full(m, -1e30)])
        sense = np.array([5] * e + [0] * m, dtype=np.int32)
        *_, flag, _ = daqp.solve(H, c, rows, np.concatenate([b, h]), low, sense)
        assert own.feasible == (flag == 1)
        infeasible += not own.feasible
        if own.feasible:
            slack = h - G @ own.x
            errors = [H @ own.x + c + A.T @ own.equality + G.T @ own.inequality, A @ own.x - b, np.minimum(slack, 0.0),
                      np.minimum(own.inequality, 0.0), own.inequality * slack]  # fmt: skip
            assert np.abs(np.concatenate(errors)).max() < 1e-9  # condition numbers up to 1e4
    assert infeasible > 2
