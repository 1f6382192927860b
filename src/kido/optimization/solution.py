"""What solvers return, and how good it is, measured from the problem's own functions and nothing that a solver says.

A minimum of f with h(x) = 0, g(x) <= 0 and lower <= x <= upper satisfies the Karush-Kuhn-Tucker conditions
(Nocedal and Wright, Numerical Optimization, 2nd ed., theorem 12.1):

    df + dh^T a + dg^T b - c + d = 0,   b, c, d >= 0,   b g = 0,  c (x - lower) = 0,  d (upper - x) = 0

The multipliers of what is active are estimated here as those that leave the smallest remainder in the first equation.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from kido.attributes import dataclass
from kido.errors import ModelError
from kido.optimization.function import Array
from kido.optimization.problem import Evaluator, Problem
from kido.reprs import brief

Flags = NDArray[np.bool_]
ROUNDS = 30  # of the search for what is active among inequalities and bounds


@dataclass(frozen=True)
class Multipliers:
    """Estimated multipliers of the constraints: how fast the least objective falls as a constraint is loosened.

    Attributes:
        equality: (rows of h,), of either sign.
        inequality: (rows of g,), not below zero; zero where g < 0.
        lower: (n,), not below zero; zero where x is above its lower bound.
        upper: (n,), not below zero; zero where x is below its upper bound.
    """

    equality: Array
    inequality: Array
    lower: Array
    upper: Array

    __repr__ = brief


@dataclass(frozen=True)
class Certificate:
    """How well a point satisfies the conditions of a minimum. Zero is perfect; NaN where functions are not finite.

    Attributes:
        bound_violation: the largest distance beyond a bound, in units of x.
        equality_residual: the largest |h_i(x)|.
        inequality_violation: the largest g_i(x) above zero.
        stationarity: the largest component of df + dh^T a + dg^T b - c + d, over max(1, largest component of df).
        multipliers: the estimated a, b, c and d.
        infeasible: the constraints are violated, and no small displacement violates them less.
    """

    bound_violation: float
    equality_residual: float
    inequality_violation: float
    stationarity: float
    multipliers: Multipliers
    infeasible: bool

    __repr__ = brief

    @property
    def violation(self) -> float:
        """The largest of the violations of bounds and constraints."""
        return max_or_nan(self.bound_violation, self.equality_residual, self.inequality_violation)

    @property
    def residual(self) -> float:
        """The largest of all."""
        return max_or_nan(self.violation, self.stationarity)


def certify(
    problem: Problem | Evaluator, x: Array, tolerance: float = 1e-6, known: tuple[Array, Array] | None = None
) -> Certificate:
    """Judge a point x (n,) by the problem's own functions.

    Args:
        problem: the problem.
        x: (n,), any point.
        tolerance: how close to its bound a variable or an inequality counts as active.
        known: multipliers of the equalities and inequalities that a solver suggests. They are taken instead of
            estimated ones where the problem's derivatives are sparse; any multipliers that balance the gradient prove
            stationarity.

    Raises:
        ModelError: no problem, or x is no array (n,).
    """
    if not isinstance(problem, Evaluator | Problem):
        raise ModelError(f"certify: expected a kido.optimization.Problem, got {problem!r}")
    evaluator = problem if isinstance(problem, Evaluator) else problem.evaluator()
    problem = evaluator.problem
    if not isinstance(x, np.ndarray) or x.shape != (problem.dimension,):
        raise ModelError(f"certify: x: expected an array of {problem.dimension} numbers, got {x!r}")
    lower, upper = problem.lower, problem.upper
    h, g = evaluator.equality(x), evaluator.inequality(x)
    bound = float(np.max(np.concatenate([lower - x, x - upper, [0.0]])))
    equality, inequality = max_or_nan(0.0, *np.abs(h)), max_or_nan(0.0, *g)
    none = Multipliers(np.zeros(h.size), np.zeros(g.size), np.zeros(x.size), np.zeros(x.size))
    if not (np.isfinite(x).all() and np.isfinite([bound, equality, inequality, evaluator.objective(x)]).all()):
        return Certificate(bound, equality, inequality, float("nan"), none, False)
    df, A, B = evaluator.gradient(x), evaluator.equality_jacobian(x), evaluator.inequality_jacobian(x)
    if not all(np.isfinite(part.data if scipy.sparse.issparse(part) else part).all() for part in (df, A, B)):
        return Certificate(bound, equality, inequality, float("nan"), none, False)
    at_lower = x <= lower + tolerance * np.maximum(1.0, np.abs(np.where(np.isfinite(lower), lower, 0.0)))
    at_upper = x >= upper - tolerance * np.maximum(1.0, np.abs(np.where(np.isfinite(upper), upper, 0.0)))
    active = g >= -tolerance
    if scipy.sparse.issparse(A) or scipy.sparse.issparse(B):
        a, b, c, d, rest = _balance(df, A, B, active, at_lower, at_upper, known)
    else:
        low, high, one = np.flatnonzero(at_lower), np.flatnonzero(at_upper), np.eye(x.size)
        signed = np.concatenate([B[active], -one[low], one[high]]).T
        a, s, rest = multipliers(df, A.T, signed)
        b, c, d = none.inequality.copy(), none.lower.copy(), none.upper.copy()
        b[active], c[low], d[high] = np.split(s, np.cumsum([active.sum(), low.size]))
    stationarity = largest(rest) / max(1.0, largest(df))
    infeasible = max(equality, inequality) > tolerance and _stuck(h, g, A, B, at_lower, at_upper)
    return Certificate(bound, equality, inequality, stationarity, Multipliers(a, b, c, d), infeasible)


def multipliers(gradient: Array, free: Array, signed: Array) -> tuple[Array, Array, Array]:
    """Multipliers that balance a gradient best: least |gradient + free a + signed s| with s >= 0.

    Args:
        gradient: (n,).
        free: (n, k) columns of equality constraints; they may depend on each other.
        signed: (n, m) columns of active inequalities.

    Returns:
        a (k,), s (m,), and the remainder (n,).
    """
    s = np.zeros(signed.shape[1])
    basis = np.zeros((gradient.size, 0))
    if free.size:
        left, sizes, _ = np.linalg.svd(free, full_matrices=False)
        basis = left[:, sizes > 1e-10 * sizes[0]]
    if signed.shape[1]:
        target = -(gradient - basis @ (basis.T @ gradient))
        columns = signed - basis @ (basis.T @ signed)
        try:
            s, _ = scipy.optimize.nnls(columns, target)
        except RuntimeError:  # it cycled
            s = np.maximum(scipy.optimize.lsq_linear(columns, target, (0.0, np.inf)).x, 0.0)
    balance = gradient + signed @ s
    rest = balance - basis @ (basis.T @ balance)
    a = np.linalg.lstsq(free, -balance, rcond=1e-10)[0] if free.size else np.zeros(free.shape[1])
    return np.asarray(a, dtype=float), s, np.asarray(rest, dtype=float)


def _balance(
    df: Array, A: Any, B: Any, active: Flags, at_lower: Flags, at_upper: Flags, known: tuple[Array, Array] | None
) -> tuple[Array, Array, Array, Array, Array]:
    """Multipliers of a large problem: those that are known, or estimated; then those of bounds.

    Returns:
        a, b, c, d, and the remainder.
    """
    a, b = _estimated(df, A, B, active, at_lower, at_upper) if known is None else known
    b = np.where(active, np.maximum(b, 0.0), 0.0)
    slope = df + A.T @ a + B.T @ b
    c, d = np.where(at_lower, np.maximum(slope, 0.0), 0.0), np.where(at_upper, np.maximum(-slope, 0.0), 0.0)
    return a, b, c, d, slope - c + d


def _estimated(df: Array, A: Any, B: Any, active: Flags, at_lower: Flags, at_upper: Flags) -> tuple[Array, Array]:
    """Multipliers of equalities and active inequalities by least squares, over the variables that no bound holds.

    A bound's multiplier balances its variable, unless it would have the wrong sign; then the variable counts from then
    on. Inequalities whose multiplier would have the wrong sign are left out from then on.
    """
    k, used, counts = A.shape[0], active.copy(), ~(at_lower | at_upper)
    both = scipy.sparse.hstack([scipy.sparse.csr_array(A).T, scipy.sparse.csr_array(B).T]).tocsr()
    slack = 1e-9 * max(1.0, largest(df))
    for _ in range(ROUNDS):
        columns = np.flatnonzero(np.concatenate([np.ones(k, bool), used]))
        found, rows = np.zeros(k + len(used)), np.flatnonzero(counts)
        if len(columns) and len(rows):
            found[columns] = scipy.sparse.linalg.lsmr(
                both[rows][:, columns], -df[rows], atol=1e-13, btol=1e-13, conlim=0.0, maxiter=20 * len(columns) + 100
            )[0]
        slope = df + both @ found
        wrong = ~counts & ~(at_lower & at_upper) & np.where(at_lower, slope < -slack, slope > slack)
        negative = used & (found[k:] < -slack)
        if not wrong.any() and not negative.any():
            break
        counts |= wrong
        used &= ~negative
    return found[:k], found[k:]


def _stuck(h: Array, g: Array, A: Any, B: Any, at_lower: Flags, at_upper: Flags) -> bool:
    """Whether the sum of squared violations is stationary within the bounds, to 1e-4 of what its rows would give."""
    above = np.maximum(g, 0.0)
    slope = A.T @ h + B.T @ above
    slope = np.where((at_lower & (slope > 0.0)) | (at_upper & (slope < 0.0)), 0.0, slope)
    sizes = [_row_sizes(M) * abs(v) for M, v in ((A, h), (B, above)) if v.size]
    return largest(slope) <= 1e-4 * max(largest(np.concatenate(sizes)), np.finfo(float).tiny)


def _row_sizes(M: Any) -> Array:
    """The largest magnitude in each row."""
    if scipy.sparse.issparse(M):
        return abs(M).max(axis=1).toarray().reshape(-1)
    return np.max(np.abs(M), axis=1, initial=0.0)


def largest(values: Array) -> float:
    """The largest magnitude; 0 of none."""
    return float(np.max(np.abs(values))) if values.size else 0.0


def max_or_nan(*values: float) -> float:
    """The largest; NaN if one is."""
    return float(np.max(values))


class Reason(Enum):
    """Why a solver stopped."""

    CONVERGED = "converged"
    """It found the conditions of a minimum satisfied."""
    INACCURATE = "converged by its own standard, but not by the certificate"
    """A solver's word that its point does not keep."""
    STALLED = "no further progress"
    """No step led to a better point."""
    ITERATIONS = "as many iterations as allowed"
    """It would have gone on."""
    INFEASIBLE = "the constraints contradict each other nearby"
    """Constraints are violated, and no small displacement violates them less."""
    UNBOUNDED = "the objective falls without end"
    """It fell below -1e20, or the variables grew without bounds."""
    NOT_FINITE = "functions are NaN or infinite"
    """At the start, or wherever the solver turned."""
    FAILED = "the solver failed"
    """An error in the solver; the message says which."""


@dataclass(frozen=True)
class Outcome:
    """What a solver's `run` returns for one start.

    Attributes:
        x: (n,) the point.
        iterations: how many steps were taken.
        reason: why it stopped.
        message: more about that, in words.
        multipliers: of the equalities and inequalities, if the solver knows them; the certificate of a large problem
            is built on them.
    """

    x: Array
    iterations: int
    reason: Reason
    message: str = ""
    multipliers: tuple[Array, Array] | None = None

    __repr__ = brief


@dataclass(frozen=True)
class Solution:
    """A point, and what is certified of it: everything but `reason` and `message` is measured anew at the point itself.

    Attributes:
        x: (n,) the best point found.
        objective: f(x).
        certificate: violations of bounds and constraints, stationarity, multipliers.
        converged: the certificate's violations and stationarity are within the solver's tolerances.
        feasible: its violations of bounds and constraints are.
        iterations: of the attempt that found it.
        attempts: how many points were started from.
        evaluations: how often functions were evaluated, over all attempts.
        derivatives: how often they were differentiated.
        seconds: how long it took [s].
        reason: why the attempt stopped.
        message: more about that, in words.
        solver: name of the solver.
    """

    x: Array
    objective: float
    certificate: Certificate
    converged: bool
    feasible: bool
    iterations: int
    attempts: int
    evaluations: int
    derivatives: int
    seconds: float
    reason: Reason
    message: str
    solver: str

    __repr__ = brief

    @property
    def residual(self) -> float:
        """The largest violation of a bound, a constraint or the condition of stationarity."""
        return self.certificate.residual

    @property
    def multipliers(self) -> Multipliers:
        """Estimated multipliers of the constraints."""
        return self.certificate.multipliers

    def __str__(self) -> str:
        c = self.certificate
        return (
            f"{self.solver}: {'converged' if self.converged else 'NOT converged'} ({self.reason.value}"
            f"{', ' + self.message if self.message else ''}) in {self.iterations} iterations, "
            f"{self.evaluations} evaluations; objective {self.objective:.6g}, violation {c.violation:.1e}, "
            f"stationarity {c.stationarity:.1e}"
        )
