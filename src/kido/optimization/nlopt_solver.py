"""NLopt (Steven G. Johnson), extra `nlopt`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kido.attributes import dataclass
from kido.errors import ModelError, NameLookupError
from kido.libraries import library
from kido.optimization.function import Array
from kido.optimization.problem import ChartFunctions, Evaluator
from kido.optimization.solution import Outcome, Reason
from kido.optimization.solver import FALLEN, Solver


@dataclass(kw_only=True)
class NloptSolver(Solver):
    """Algorithms of NLopt, local and global ones (extra `nlopt`; MIT and LGPL).

    Attributes:
        algorithm: its name in NLopt's Python module: "LD_SLSQP" and "LN_COBYLA" take all problems, "LD_MMA" and
            "LD_CCSAQ" inequalities, "LD_LBFGS", "LN_BOBYQA" and most others bounds only, "GN_ISRES" all with finite
            bounds.
    """

    algorithm: str = "LD_SLSQP"

    @property
    def name(self) -> str:
        """Class and algorithm."""
        return f"{type(self).__name__}({self.algorithm})"

    def check(self) -> None:
        """Refuse settings out of range, and algorithms that NLopt does not have."""
        super().check()
        nlopt = library("nlopt", "optimization by NLopt", "nlopt")
        names = [name for name in dir(nlopt) if name[:3] in ("LD_", "LN_", "GD_", "GN_")]
        if self.algorithm not in names:
            raise NameLookupError("algorithm of NLopt", self.algorithm, names)

    def run(self, evaluator: Evaluator, start: Array) -> Outcome:
        """Solve from one start.

        Raises:
            ModelError: the algorithm does not take problems like this.
        """
        nlopt = library("nlopt", "optimization by NLopt", "nlopt")
        problem, f = evaluator.problem, ChartFunctions(evaluator)
        best = _Best(evaluator, start)

        def objective(x: Array, gradient: Array) -> float:
            best.see(x)
            if gradient.size:
                gradient[:] = f.gradient(x)
            return evaluator.objective(x)

        def rows(value: Callable[[Array], Array], jacobian: Callable[[Array], Array]) -> Callable[..., None]:
            def fill(result: Array, x: Array, gradient: Array) -> None:
                result[:] = value(x)
                if gradient.size:
                    gradient[:] = jacobian(x)

            return fill

        try:
            nlopt.srand(self.seed + 1)
            opt = nlopt.opt(getattr(nlopt, self.algorithm), problem.dimension)
            opt.set_lower_bounds(problem.lower)
            opt.set_upper_bounds(problem.upper)
            opt.set_min_objective(objective)
            for functions, value, jacobian, add in (
                (problem.equality, evaluator.equality, f.equality_jacobian, opt.add_equality_mconstraint),
                (problem.inequality, evaluator.inequality, f.inequality_jacobian, opt.add_inequality_mconstraint),
            ):
                if functions:
                    add(rows(value, jacobian), np.full(value(start).size, 0.1 * self.tolerance))
            opt.set_maxeval(20 * self.max_iterations)
            opt.set_stopval(FALLEN)
            opt.set_xtol_rel(1e-14)
            opt.set_ftol_rel(1e-16)
        except (ValueError, nlopt.invalid_argument) as error:
            raise ModelError(f"algorithm {self.algorithm} of NLopt does not take this problem: {error}") from None
        reason, message, x = Reason.FAILED, "", start
        try:
            x = np.asarray(opt.optimize(start), dtype=float)
            reason, message = _meaning(nlopt, opt.last_optimize_result())
        except nlopt.RoundoffLimited:
            reason, message, x = Reason.STALLED, "limited by rounding", best.x
        except (RuntimeError, ValueError, nlopt.invalid_argument) as error:
            raised = str(error)
            message, x = raised or "NLopt failed", best.x
        return Outcome(problem.clip(x), opt.get_numevals(), reason, message)


class _Best:
    """The best point that an algorithm has asked for, should it fail to return one."""

    def __init__(self, evaluator: Evaluator, x: Array) -> None:
        self.evaluator, self.x = evaluator, x.copy()
        self.rank = self._rank(x)

    def see(self, x: Array) -> None:
        rank = self._rank(x)
        if rank < self.rank:
            self.x, self.rank = x.copy(), rank

    def _rank(self, x: Array) -> tuple[float, float]:
        violation, value = self.evaluator.violation(x), self.evaluator.objective(x)
        if not (np.isfinite(violation) and np.isfinite(value)):
            return np.inf, np.inf
        return max(violation, 1e-7), value


def _meaning(nlopt: Any, code: int) -> tuple[Reason, str]:
    """What NLopt's return code says."""
    return {
        nlopt.SUCCESS: (Reason.CONVERGED, ""),
        nlopt.FTOL_REACHED: (Reason.CONVERGED, "the objective no longer changes"),
        nlopt.XTOL_REACHED: (Reason.CONVERGED, "the variables no longer change"),
        nlopt.STOPVAL_REACHED: (Reason.UNBOUNDED, ""),
        nlopt.MAXEVAL_REACHED: (Reason.ITERATIONS, ""),
        nlopt.MAXTIME_REACHED: (Reason.ITERATIONS, ""),
    }.get(code, (Reason.FAILED, f"code {code} of NLopt"))
