"""Sequential quadratic programming with a line search (Nocedal and Wright, chapter 18)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from kido.errors import NameLookupError
from kido.optimization.dense_qp import QuadraticProgram
from kido.optimization.function import Array, LeastSquares
from kido.optimization.gradient_descent import SUFFICIENT_DECREASE
from kido.optimization.problem import Evaluator, dense
from kido.optimization.solution import Outcome, Reason, largest
from kido.optimization.solver import FALLEN, Solver
from kido.reprs import brief

_TOLERANCE = 1e-11  # violation of a row, over its norm and 1 + |bound|, that is let be


@dataclass(frozen=True)
class QuadraticSolution:
    """Minimum of a quadratic program.

    Attributes:
        x: (n,).
        equality: (k,) multipliers a of A x = b.
        inequality: (m,) multipliers s >= 0 of G x <= h: H x + c + A^T a + G^T s = 0.
        feasible: False if no x satisfies the constraints; x and multipliers mean nothing then.
    """

    x: Array
    equality: Array
    inequality: Array
    feasible: bool

    __repr__ = brief


def solve_quadratic(H: Array, c: Array, A: Array, b: Array, G: Array, h: Array) -> QuadraticSolution:
    """min x^T H x / 2 + c^T x with A x = b and G x <= h, by `QuadraticProgram`.

    Args:
        H: (n, n) symmetric positive definite; of rounding that is not symmetric the mean counts.
        c: (n,).
        A, b: (k, n), (k,). Rows may depend on each other.
        G, h: (m, n), (m,). Rows whose h is infinite are ignored.

    Raises:
        ModelError: sizes that do not fit, or numbers that are none.
        numpy.linalg.LinAlgError: H is not positive definite, or not finite.
    """
    H = 0.5 * (H + H.T)
    if not np.isfinite(H).all():
        raise np.linalg.LinAlgError("quadratic program: H is not finite")
    k, free = len(b), np.full(len(h), -np.inf)
    rows, low, high = np.concatenate([A, G]), np.concatenate([b, free]), np.concatenate([b, h])
    found = QuadraticProgram(H, c, rows, low, high, tolerance=_TOLERANCE).solve()
    if found.status == "not convex":
        raise np.linalg.LinAlgError("quadratic program: H is not positive definite")
    y = found.row_multipliers
    return QuadraticSolution(found.x, -y[:k], -y[k:], found.solved)


_CURVATURE = 0.2  # Powell's damping: least share of the old curvature along a step that an update leaves


@dataclass(kw_only=True)
class SqpSolver(Solver):
    """Minimizes a quadratic model of the Lagrangian on linearized constraints, again and again.

    The model's matrix B is J^T J where the objective is a `LeastSquares`, else it is gathered from gradients by damped
    BFGS updates (Powell 1978). The quadratic programs are solved by `solve_quadratic`, exactly within the bounds.
    Steps are judged by f + v (|h|_1 + |max(0, g)|_1), v above the largest multiplier, with a second-order correction
    where curved constraints reject a full step. Where linearized constraints contradict each other, the step first
    violates them as little as it can, in the sense of least squares, and goes on from there; after three such steps in
    a row the objective is left aside until they agree again.

    Attributes:
        hessian: "auto", "gauss-newton" or "bfgs": where B comes from.
    """

    max_iterations: int = 300
    hessian: str = "auto"

    HESSIANS: ClassVar[tuple[str, ...]] = ("auto", "gauss-newton", "bfgs")

    def check(self) -> None:
        """Refuse settings out of range."""
        super().check()
        if self.hessian not in self.HESSIANS:
            raise NameLookupError("kind of Hessian", self.hessian, self.HESSIANS)

    def run(self, evaluator: Evaluator, start: Array) -> Outcome:
        """Solve from one start."""
        squares = isinstance(evaluator.problem.objective, LeastSquares)
        return _Run(self, evaluator, start, squares and self.hessian != "bfgs").go()


class _Run:
    """One run: the point x, the matrix B, the penalty of the merit function."""

    def __init__(self, solver: SqpSolver, evaluator: Evaluator, x: Array, gauss_newton: bool) -> None:
        self.solver, self.evaluator, self.problem = solver, evaluator, evaluator.problem
        self.x, self.gauss_newton = x, gauss_newton
        self.B = np.eye(x.size)
        self.scaled = False
        self.penalty = 0.0
        self.contradictions = 0  # in a row
        self.restoring = 0.0  # the violation when that began
        self.stuck = False
        self.lower, self.upper = self.problem.lower, self.problem.upper

    def go(self) -> Outcome:
        stalls = 0
        for k in range(self.solver.max_iterations):
            x, e = self.x, self.evaluator
            derivatives = self._derivatives(x)
            if not all(np.isfinite(d).all() for d in derivatives):
                return Outcome(x, k, Reason.NOT_FINITE)
            if e.objective(x) < FALLEN:
                return Outcome(x, k, Reason.UNBOUNDED)
            if self.gauss_newton:
                J = dense(e.jacobian(x))
                self.B = J.T @ J
                self.B += 1e-10 * max(1.0, float(np.trace(self.B))) * np.eye(x.size)
            if self.contradictions >= 3 and self._restore(derivatives):
                continue
            if self.stuck:
                return Outcome(x, k, Reason.STALLED)
            step, program = self._step(derivatives, e.equality(x), e.inequality(x))
            if program is None:
                return Outcome(x, k, Reason.STALLED, "the quadratic program has no solution")
            if self._converged(step, program, derivatives):
                return Outcome(x, k, Reason.CONVERGED)
            found = self._search(step, program, derivatives)
            if found is None and self.contradictions < 3 and e.violation(x) > self.solver.tolerance:
                self.contradictions = 3
                continue
            if found is None:
                if stalls == 0:  # once more with a matrix that knows nothing
                    stalls, self.B, self.scaled = 1, np.eye(x.size), False
                    self.gauss_newton = False
                    continue
                return Outcome(x, k, Reason.STALLED)
            stalls = 0
            if not self.gauss_newton:
                self._update(*found, program, derivatives)
            self.x = found[0]
        return Outcome(self.x, self.solver.max_iterations, Reason.ITERATIONS)

    def _derivatives(self, x: Array) -> tuple[Array, Array, Array]:
        e = self.evaluator
        return e.gradient(x), dense(e.equality_jacobian(x)), dense(e.inequality_jacobian(x))

    # The quadratic program -----------------------------------------------------------------------------------

    def _program(self, derivatives: tuple[Array, Array, Array], b: Array, h: Array) -> QuadraticSolution:
        """min df d + d B d / 2 with A d = b, G d <= h and x + d within the bounds; rows of bounds come last."""
        df, A, G = derivatives
        one = np.eye(self.x.size)
        low, high = np.isfinite(self.lower), np.isfinite(self.upper)
        rows = np.concatenate([G, -one[low], one[high]])
        limits = np.concatenate([h, (self.x - self.lower)[low], (self.upper - self.x)[high]])
        return solve_quadratic(self.B, df, A, b, rows, limits)

    def _step(
        self, derivatives: tuple[Array, Array, Array], h: Array, g: Array
    ) -> tuple[Array, QuadraticSolution | None]:
        df, A, G = derivatives
        try:
            program = self._program(derivatives, -h, -g)
            self.contradictions = 0 if program.feasible else self.contradictions + 1
            if not program.feasible:
                d = self._least_violation(A, h, G, g)
                above = np.maximum(g + G @ d, 0.0)
                slack = 1e-8 * (1.0 + np.abs(g))  # of the least-squares problem's accuracy
                program = self._program(derivatives, A @ d, -g + above + slack)
        except np.linalg.LinAlgError:
            return np.zeros_like(df), None
        return program.x, program if program.feasible else None

    def _least_violation(self, A: Array, h: Array, G: Array, g: Array, damping: float = 1e-6) -> Array:
        """d within the bounds that minimizes |h + A d|^2 + |max(0, g + G d)|^2; nearly the shortest."""
        n, m = self.x.size, g.size
        small = damping * max(1.0, largest(A), largest(G))
        matrix = np.block([
            [A, np.zeros((h.size, m))],
            [G, np.eye(m)],
            [small * np.eye(n), np.zeros((n, m))],
        ])  # fmt: skip
        right = np.concatenate([-h, -g, np.zeros(n)])
        low = np.concatenate([np.minimum(self.lower - self.x, 0.0) - 1e-14, np.zeros(m)])
        high = np.concatenate([np.maximum(self.upper - self.x, 0.0) + 1e-14, np.full(m, np.inf)])
        d = scipy.optimize.lsq_linear(matrix, right, (low, high), method="bvls").x[:n]
        return np.clip(d, self.lower - self.x, self.upper - self.x)

    def _restore(self, derivatives: tuple[Array, Array, Array]) -> bool:
        """A step that only lowers |h|^2 + |max(0, g)|^2, by Levenberg and Marquardt; False when it is time to stop:
        the violation is a tenth of what it was, or cannot be lowered."""
        _, A, G = derivatives
        e = self.evaluator
        h, g = e.equality(self.x), e.inequality(self.x)
        before = _squares(h, g)
        self.restoring = max(self.restoring, before)
        if before < 0.01 * self.restoring:
            self.contradictions, self.restoring = 0, 0.0
            return False
        for damping in 10.0 ** np.arange(-6, 7):
            d = self._least_violation(A, h, G, g, damping)
            promise = before - _squares(h + A @ d, g + G @ d)
            trial = self._moved(d)
            if promise <= 1e-12 * before:
                break
            if e.finite(trial):
                gained = before - _squares(e.equality(trial), e.inequality(trial))
                if gained > 0.01 * promise:
                    self.x = trial
                    return True
        self.stuck = True
        return False

    def _slope(self, program: QuadraticSolution, derivatives: tuple[Array, Array, Array]) -> Array:
        """Gradient of the Lagrangian without the multipliers of bounds."""
        df, A, G = derivatives
        return df + A.T @ program.equality + G.T @ program.inequality[: len(G)]

    def _converged(self, step: Array, program: QuadraticSolution, derivatives: tuple[Array, Array, Array]) -> bool:
        if self.evaluator.violation(self.x) > self.solver.tolerance:
            return False
        slope = self._slope(program, derivatives)
        slope = -np.clip(-slope, self.lower - self.x, self.upper - self.x)
        g = self.evaluator.inequality(self.x)
        gap = largest(np.minimum(program.inequality[: g.size], np.maximum(-g, 0.0)))  # complementarity
        enough = 0.5 * self.solver.optimality * max(1.0, largest(derivatives[0]))
        return largest(slope) <= enough and gap <= self.solver.tolerance

    # Steps ---------------------------------------------------------------------------------------------------

    def _violation(self, x: Array) -> float:
        """|h|_1 + |max(0, g)|_1."""
        e = self.evaluator
        return float(np.abs(e.equality(x)).sum() + np.maximum(e.inequality(x), 0.0).sum())

    def _search(
        self, step: Array, program: QuadraticSolution, derivatives: tuple[Array, Array, Array]
    ) -> tuple[Array, Array] | None:
        """A point that lowers the merit function enough, and the displacement to it; None if there is none."""
        df, A, G = derivatives
        x, e = self.x, self.evaluator
        m = len(G)
        before = self._violation(x)
        left = float(np.abs(e.equality(x) + A @ step).sum() + np.maximum(e.inequality(x) + G @ step, 0.0).sum())
        gained = max(before - left, 0.0)
        bend = 0.5 * float(step @ self.B @ step)
        slope = float(df @ step)
        needed = (slope + bend) / (0.5 * gained) if gained > 1e-14 * (1.0 + before) else 0.0
        price = max(largest(program.equality), largest(program.inequality[:m]), needed)
        self.penalty = max(self.penalty, 1.5 * price) if self.penalty < 1.1 * price else self.penalty
        promise = slope - self.penalty * gained
        value = e.objective(x) + self.penalty * before
        noise = 1e-15 * (abs(value) + self.penalty)
        share = 1.0
        while share > 1e-9 and share * largest(step) > 1e-15 * (1.0 + largest(x)):
            trial = self._moved(share * step)
            if self._merit(trial) <= value + SUFFICIENT_DECREASE * share * promise + noise:
                return trial, share * step
            if share == 1.0 and self._violation(trial) >= before:
                bent = self._corrected(step, trial, derivatives)
                if bent is not None and self._merit(self._moved(bent)) <= value + SUFFICIENT_DECREASE * promise + noise:
                    return self._moved(bent), bent
            share *= 0.5
        return None

    def _moved(self, step: Array) -> Array:
        return self.problem.clip(self.problem.retract(self.x, step))

    def _merit(self, x: Array) -> float:
        value = self.evaluator.objective(x) + self.penalty * self._violation(x)
        return value if np.isfinite(value) else np.inf

    def _corrected(self, step: Array, trial: Array, derivatives: tuple[Array, Array, Array]) -> Array | None:
        """The full step bent onto the constraints: their values at its end replace those of the linear model."""
        _, A, G = derivatives
        e = self.evaluator
        if not e.finite(trial):
            return None
        program = self._program(derivatives, A @ step - e.equality(trial), G @ step - e.inequality(trial))
        return program.x if program.feasible else None

    def _update(self, trial: Array, s: Array, program: QuadraticSolution, old: tuple[Array, Array, Array]) -> None:
        """Damped BFGS update of B by the change of the Lagrangian's gradient."""
        new = self._derivatives(trial)
        if not all(np.isfinite(d).all() for d in new):
            return
        y = self._slope(program, new) - self._slope(program, old)
        sy, ss = float(s @ y), float(s @ s)
        if ss < 1e-30:
            return
        if not self.scaled and sy > 0.0:
            self.B *= min(max(float(y @ y) / sy, 1e-8), 1e8)
        self.scaled = True
        Bs = self.B @ s
        sBs = float(s @ Bs)
        if sy < _CURVATURE * sBs:
            share = (1.0 - _CURVATURE) * sBs / (sBs - sy)
            y = share * y + (1.0 - share) * Bs
            sy = float(s @ y)
        B = self.B + np.outer(y, y) / sy - np.outer(Bs, Bs) / sBs
        self.B = 0.5 * (B + B.T)


def _squares(h: Array, g: Array) -> float:
    above = np.maximum(g, 0.0)
    return float(h @ h + above @ above)
