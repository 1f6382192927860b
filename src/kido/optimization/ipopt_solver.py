"""Ipopt (Waechter and Biegler 2006) through CasADi, which ships it; extra `ipopt`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kido.attributes import dataclass
from kido.libraries import library
from kido.optimization.function import Array
from kido.optimization.problem import ChartFunctions, Evaluator
from kido.optimization.solution import Outcome, Reason
from kido.optimization.solver import Solver

_REASONS = {
    "Solve_Succeeded": Reason.CONVERGED,
    "Solved_To_Acceptable_Level": Reason.CONVERGED,
    "Feasible_Point_Found": Reason.CONVERGED,
    "Infeasible_Problem_Detected": Reason.INFEASIBLE,
    "Search_Direction_Becomes_Too_Small": Reason.STALLED,
    "Diverging_Iterates": Reason.UNBOUNDED,
    "Maximum_Iterations_Exceeded": Reason.ITERATIONS,
    "Invalid_Number_Detected": Reason.NOT_FINITE,
}


@dataclass(kw_only=True)
class IpoptSolver(Solver):
    """Ipopt's interior-point method with limited-memory BFGS (extra `ipopt`: CasADi, LGPL, with Ipopt, EPL)."""

    def run(self, evaluator: Evaluator, start: Array) -> Outcome:
        """Solve from one start."""
        casadi = library("casadi", "optimization by Ipopt", "ipopt")
        problem, f = evaluator.problem, ChartFunctions(evaluator)
        n, h, g = problem.dimension, evaluator.equality(start).size, evaluator.inequality(start).size
        errors: list[BaseException] = []  # CasADi turns those of Python functions into texts
        keep: list[Any] = []  # and does not keep callbacks alive

        def callback(name: str, rows: int, value: Callable[[Array], Any], slope: Callable[[Array], Any]) -> Any:
            keep.append(_callback(casadi, name, n, rows, value, slope, errors, keep))
            return keep[-1]

        x = casadi.MX.sym("x", n)
        objective = callback("f", 1, evaluator.objective, f.gradient)
        nlp = {"x": x, "f": objective(x)}
        parts = []
        if h:
            parts.append(callback("h", h, evaluator.equality, f.equality_jacobian)(x))
        if g:
            parts.append(callback("g", g, evaluator.inequality, f.inequality_jacobian)(x))
        if parts:
            nlp["g"] = casadi.vertcat(*parts)
        options = {
            "print_time": False,
            "error_on_fail": False,
            "show_eval_warnings": False,
            "ipopt": {
                "print_level": 0,
                "sb": "yes",
                "max_iter": self.max_iterations,
                "tol": 0.1 * self.optimality,
                "constr_viol_tol": 0.1 * self.tolerance,
                "acceptable_iter": 0,
                "bound_relax_factor": 0.0,
                "hessian_approximation": "limited-memory",
            },
        }
        try:
            solver = casadi.nlpsol("solver", "ipopt", nlp, options)
            bounds = {"lbx": problem.lower, "ubx": problem.upper}
            if parts:
                bounds |= {"lbg": np.concatenate([np.zeros(h), np.full(g, -np.inf)]), "ubg": np.zeros(h + g)}
            result = solver(x0=start, **bounds)
        except RuntimeError as error:
            if errors:
                raise errors[0] from None
            return Outcome(start, 0, Reason.FAILED, str(error).splitlines()[0])
        if errors:
            raise errors[0]
        status = solver.stats()
        said = status["return_status"]
        point = np.asarray(result["x"], dtype=float).reshape(-1)
        return Outcome(problem.clip(point), int(status["iter_count"]), _REASONS.get(said, Reason.FAILED), said)


def _callback(
    casadi: Any,
    name: str,
    n: int,
    rows: int,
    value: Callable[[Array], Any],
    slope: Callable[[Array], Any],
    errors: list[BaseException],
    keep: list[Any],
) -> Any:
    """A CasADi function of x with `rows` values, whose Jacobian is another, of x and the values."""

    class Of(casadi.Callback):
        def __init__(self, name: str, options: Any, sizes: tuple[int, ...], function: Any, shape: tuple[int, ...]):
            casadi.Callback.__init__(self)
            self.sizes, self.function, self.shape = sizes, function, shape
            self.construct(name, options)

        def get_n_in(self) -> int:
            return len(self.sizes)

        def get_n_out(self) -> int:
            return 1

        def get_sparsity_in(self, i: int) -> Any:
            return casadi.Sparsity.dense(self.sizes[i], 1)

        def get_sparsity_out(self, i: int) -> Any:
            return casadi.Sparsity.dense(*self.shape)

        def eval(self, arguments: Any) -> Any:
            try:
                x = np.asarray(arguments[0], dtype=float).reshape(-1)
                return [np.asarray(self.function(x), dtype=float).reshape(self.shape)]
            except BaseException as error:
                errors.append(error)
                raise

        def has_jacobian(self) -> bool:
            return len(self.sizes) == 1

        def get_jacobian(self, name: str, inputs: Any, outputs: Any, options: Any) -> Any:
            keep.append(Of(name, options, (n, rows), slope, (rows, n)))
            return keep[-1]

    return Of(name, {}, (n,), value, (rows, 1))
