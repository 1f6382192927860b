"""What solvers return."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kido.optimization.certificate import Certificate, Multipliers
from kido.optimization.function import Array


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
