"""SciPy's minimizers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from kido.errors import ModelError, NameLookupError
from kido.optimization.function import Array, LeastSquares
from kido.optimization.problem import ChartFunctions, Evaluator
from kido.optimization.solution import Outcome, Reason
from kido.optimization.solver import Solver


@dataclass(kw_only=True)
class ScipySolver(Solver):
    """`scipy.optimize` (BSD).

    Attributes:
        method: "SLSQP" and "trust-constr" take all problems (the latter stops short of bounds); "L-BFGS-B" those
            without constraints; "least_squares" those without constraints whose objective is a `LeastSquares`. None:
            the last where it can, else L-BFGS-B without constraints, else SLSQP.
    """

    method: str | None = None

    METHODS: ClassVar[tuple[str, ...]] = ("SLSQP", "trust-constr", "L-BFGS-B", "least_squares")

    @property
    def name(self) -> str:
        """Class and method."""
        return f"{type(self).__name__}({self.method or ''})"

    def check(self) -> None:
        """Refuse settings out of range."""
        super().check()
        if self.method is not None and self.method not in self.METHODS:
            raise NameLookupError("method of SciPy", self.method, self.METHODS)

    def run(self, evaluator: Evaluator, start: Array) -> Outcome:
        """Solve from one start.

        Raises:
            ModelError: the method does not take problems like this.
        """
        problem = evaluator.problem
        constrained = bool(problem.equality or problem.inequality)
        squares = isinstance(problem.objective, LeastSquares)
        method = self.method
        if method is None:
            method = "SLSQP" if constrained else "least_squares" if squares else "L-BFGS-B"
        if method not in ("SLSQP", "trust-constr") and constrained:
            raise ModelError(f"method {method} of SciPy takes no constraints; expected SLSQP or trust-constr")
        if method == "least_squares":
            if not squares:
                raise ModelError("method least_squares of SciPy: expected an objective that is a LeastSquares")
            return self._least_squares(evaluator, start)
        return self._minimize(evaluator, start, method)

    def _minimize(self, evaluator: Evaluator, start: Array, method: str) -> Outcome:
        f = ChartFunctions(evaluator)
        problem = evaluator.problem
        constraints: list[dict[str, Any]] = []
        if problem.equality:
            constraints.append({"type": "eq", "fun": evaluator.equality, "jac": f.equality_jacobian})
        if problem.inequality:
            constraints.append({
                "type": "ineq",
                "fun": lambda x: -evaluator.inequality(x),
                "jac": lambda x: -f.inequality_jacobian(x),
            })  # fmt: skip
        options: dict[str, Any] = {
            "SLSQP": {"maxiter": self.max_iterations, "ftol": 1e-13},
            "trust-constr": {
                "maxiter": self.max_iterations,
                "gtol": 0.1 * self.optimality,
                "barrier_tol": 1e-9,
                "xtol": 1e-14,
            },
            "L-BFGS-B": {"maxiter": self.max_iterations, "ftol": 1e-16, "gtol": 0.5 * self.optimality},
        }[method]
        lower: Any = problem.lower
        upper: Any = problem.upper
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about its own approximations; the certificate tells what came of them
            result = scipy.optimize.minimize(
                evaluator.objective,
                start,
                jac=f.gradient,
                method=method,
                bounds=scipy.optimize.Bounds(lower, upper),
                constraints=constraints,
                options=options,
            )
        x = problem.clip(np.asarray(result.x, dtype=float))
        reason = Reason.CONVERGED if result.success else Reason.STALLED
        if not result.success and ("terat" in str(result.message) or "maximum number" in str(result.message)):
            reason = Reason.ITERATIONS
        return Outcome(x, int(result.get("nit", 0)), reason, str(result.message).strip())

    def _least_squares(self, evaluator: Evaluator, start: Array) -> Outcome:
        f = ChartFunctions(evaluator)
        problem = evaluator.problem
        free = problem.lower < problem.upper  # it refuses bounds that are equal
        point = start.copy()

        def full(y: Array) -> Array:
            point[free] = y
            return point

        def jacobian(y: Array) -> Any:
            return f.jacobian(full(y))[:, free]

        derivative: Any = jacobian
        low, high = problem.lower[free], problem.upper[free]
        result = scipy.optimize.least_squares(
            lambda y: evaluator.residuals(full(y)),
            start[free],
            jac=derivative,
            bounds=(low, high),
            xtol=1e-15,
            ftol=1e-15,
            gtol=0.5 * self.optimality,
            max_nfev=self.max_iterations,
        )
        reason = Reason.ITERATIONS if result.status == 0 else Reason.CONVERGED
        return Outcome(problem.clip(full(result.x).copy()), int(result.nfev), reason, str(result.message))
