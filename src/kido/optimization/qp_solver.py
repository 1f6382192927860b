"""Quadratic programs by daqp (Arnstroem, Bemporad and Axehill 2022), extra `qp`."""

from __future__ import annotations

import numpy as np

from kido.attributes import dataclass
from kido.libraries import library
from kido.optimization.function import Array, LeastSquares, central_differences
from kido.optimization.problem import Evaluator, dense
from kido.optimization.solution import Outcome, Reason
from kido.optimization.solver import Solver

_EQUALITY = 5  # daqp's flags of a row: active and never to be dropped


@dataclass(kw_only=True)
class QpSolver(Solver):
    """Problems with a convex quadratic objective and affine constraints, in one step (extra `qp`: daqp, MIT).

    The matrix of the objective is J^T J of a `LeastSquares`, else it is differenced from gradients. Of a problem that
    is no quadratic program the one at the start is solved; the certificate tells how far that led.
    """

    def run(self, evaluator: Evaluator, start: Array) -> Outcome:
        """Solve the quadratic program at one start."""
        daqp = library("daqp", "quadratic programs by daqp", "qp")
        problem = evaluator.problem
        x, n = start, start.size
        if isinstance(problem.objective, LeastSquares):
            J = dense(evaluator.jacobian(x))
            H = J.T @ J
        else:
            H = central_differences(evaluator.gradient, x, problem.retract, 1e-4 * max(1.0, float(np.abs(x).max())))
            H = 0.5 * (H + H.T)
        df = evaluator.gradient(x)
        A, G = dense(evaluator.equality_jacobian(x)), dense(evaluator.inequality_jacobian(x))
        if not all(np.isfinite(part).all() for part in (H, df, A, G)):
            return Outcome(x, 0, Reason.NOT_FINITE)
        h, g = evaluator.equality(x), evaluator.inequality(x)
        upper = np.concatenate([problem.upper - x, -h, -g])
        lower = np.concatenate([problem.lower - x, -h, np.full(g.size, -np.inf)])
        sense = np.zeros(upper.size, dtype=np.int32)
        sense[:n][problem.lower == problem.upper] = _EQUALITY
        sense[n : n + h.size] = _EQUALITY
        step, _, flag, info = daqp.solve(
            np.ascontiguousarray(H),
            df,
            np.concatenate([A, G]),
            np.clip(upper, -1e30, 1e30),
            np.clip(lower, -1e30, 1e30),
            sense,
            primal_tol=1e-10,
            eps_prox=0.0 if np.linalg.eigvalsh(H)[0] > 1e-8 * max(1.0, float(np.trace(H))) else 1e-6,
        )
        reason, message = {
            1: (Reason.CONVERGED, ""),
            2: (Reason.CONVERGED, "soft constraints are violated"),
            -1: (Reason.INFEASIBLE, ""),
            -2: (Reason.STALLED, "cycling"),
            -3: (Reason.UNBOUNDED, ""),
            -4: (Reason.ITERATIONS, ""),
            -6: (Reason.INFEASIBLE, "more equality constraints than can hold"),
            -5: (Reason.FAILED, "the objective is not convex"),
        }.get(flag, (Reason.FAILED, f"code {flag} of daqp"))
        if flag <= 0:
            return Outcome(x, int(info.get("iterations", 0)), reason, message)
        return Outcome(problem.clip(problem.retract(x, np.asarray(step))), int(info["iterations"]), reason, message)
