"""What a solver is: starts, runs, and a certificate of what came out."""

from __future__ import annotations

import copy
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from kido.attributes import FixedAttributes, dataclass, set_attribute
from kido.errors import ModelError
from kido.math.transform import as_vector, number_or_nan
from kido.optimization.function import Array
from kido.optimization.problem import Evaluator, Problem
from kido.optimization.solution import Certificate, Outcome, Reason, Solution, certify

FALLEN = -1e20  # an objective below it falls without end


@dataclass(kw_only=True)
class Solver(FixedAttributes, ABC):
    """Solves problems. Subclass it, and write `run`, for your own; a dataclass's fields become settings.

    A solver holds settings and no state, so that one object serves any number of problems.

    Attributes:
        tolerance: violations of bounds and constraints that count as none.
        optimality: stationarity (see `Certificate`) that counts as zero.
        max_iterations: of one attempt.
        attempts: how many points to start from while none has converged: the initial one, the problem's seeds, then
            random ones. None: the initial one and all seeds.
        seed: of the random numbers.
        keep_searching: make all attempts and return the lowest of the minima found, instead of the first.
    """

    tolerance: float = 1e-6
    optimality: float = 1e-6
    max_iterations: int = 1000
    attempts: int | None = None
    seed: int = 0
    keep_searching: bool = False

    _may_be_zero: ClassVar[frozenset[str]] = frozenset({"seed"})  # whole-number settings

    @property
    def name(self) -> str:
        """What messages call it: the class's name."""
        return type(self).__name__

    @abstractmethod
    def run(self, evaluator: Evaluator, start: Array) -> Outcome:
        """Solve from one start.

        Args:
            evaluator: values and derivatives of the problem's functions; `evaluator.problem` has the rest.
            start: (n,), within the bounds, where functions are finite.

        Returns:
            The point, the number of iterations, and why it stopped. What is certified of it is measured by `solve`.
        """

    def solve(self, problem: Problem, initial: ArrayLike | None = None) -> Solution:
        """Solve a problem, and certify what was found.

        Failing is no error: `Solution.converged` and `reason` tell. The problem is left as it is.

        Args:
            problem: what to solve.
            initial: (n,) where to start; `problem.initial` unless given.

        Raises:
            ModelError: a setting is out of range, or the start is no finite point.
            StateError: a function returns something of a wrong shape.
        """
        began = time.perf_counter()
        if not isinstance(problem, Problem):
            raise ModelError(f"{self.name}: expected a kido.optimization.Problem, got {problem!r}")
        self.check()
        start = problem.initial if initial is None else problem.clip(as_vector(initial, "initial", problem.dimension))
        evaluator = problem.evaluator()
        best: tuple[tuple[Any, ...], Outcome, Certificate] | None = None
        attempts = 0
        for point in self._starts(problem, start):
            attempts += 1
            outcome = self._attempt(evaluator, point)
            certificate = certify(evaluator, outcome.x, self.tolerance, outcome.multipliers)
            rank = self._rank(certificate, evaluator.objective(outcome.x))
            if best is None or rank < best[0]:
                best = rank, outcome, certificate
            if best[0][0] == 0 and not self.keep_searching:
                break
        assert best is not None
        rank, outcome, certificate = best
        return Solution(
            x=outcome.x,
            objective=evaluator.objective(outcome.x),
            certificate=certificate,
            converged=rank[0] == 0,
            feasible=rank[0] <= 1,
            iterations=outcome.iterations,
            attempts=attempts,
            evaluations=evaluator.evaluations,
            derivatives=evaluator.derivatives,
            seconds=time.perf_counter() - began,
            reason=self._reason(outcome, certificate, rank[0], evaluator),
            message=outcome.message,
            solver=self.name,
        )

    def clone(self) -> Self:
        """An independent copy."""
        return copy.deepcopy(self)

    def check(self) -> None:
        """Refuse what cannot be solved with, such as a library that is missing. Settings are refused when they are set.

        Raises:
            ModelError: the first one that is.
        """
        for field in fields(self):
            self.check_setting(field.name, getattr(self, field.name))

    def check_setting(self, name: str, value: Any) -> None:
        """Refuse a value of a setting that is out of range.

        Raises:
            ModelError: it is.
        """
        what, default = f"{self.name}.{name}", getattr(type(self), name, None)
        if isinstance(default, bool):
            if not isinstance(value, bool):
                raise ModelError(f"{what}: expected True or False, got {value!r}")
        elif isinstance(default, float):
            if not number_or_nan(value) > 0.0 or not np.isfinite(value):
                raise ModelError(f"{what}: expected a finite number above 0, got {value!r}")
        elif isinstance(default, int) or (name == "attempts" and value is not None):
            lowest = 0 if name in self._may_be_zero else 1
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < lowest:
                raise ModelError(f"{what}: expected a whole number not below {lowest}, got {value!r}")

    if not TYPE_CHECKING:

        def __setattr__(self, name, value):
            if name in {field.name for field in fields(self)}:
                self.check_setting(name, value)
                object.__setattr__(self, name, value)
            else:
                set_attribute(self, name, value)

    # ---------------------------------------------------------------------------------------------------------

    def _starts(self, problem: Problem, start: Array) -> Iterator[Array]:
        seeds = problem.seeds
        number = 1 + len(seeds) if self.attempts is None else self.attempts
        rng = np.random.default_rng(self.seed)
        for k in range(number):
            if k == 0:
                yield start
            elif k <= len(seeds):
                yield problem.clip(seeds[k - 1])
            else:
                yield problem.random(rng)

    def _attempt(self, evaluator: Evaluator, start: Array) -> Outcome:
        if not evaluator.finite(start):
            return Outcome(start, 0, Reason.NOT_FINITE, "at the start")
        if start.size == 0:
            return Outcome(start, 0, Reason.CONVERGED)
        return self.run(evaluator, start)

    def _rank(self, certificate: Certificate, objective: float) -> tuple[Any, ...]:
        """Order of points: 0 minimum, 1 feasible, 2 neither, 3 not finite; then by objective or violation."""
        if not np.isfinite(certificate.violation) or not np.isfinite(objective):
            return 3, 0.0
        if certificate.violation > self.tolerance:
            return 2, certificate.violation
        return (0 if certificate.stationarity <= self.optimality else 1), objective

    def _reason(self, outcome: Outcome, certificate: Certificate, rank: int, evaluator: Evaluator) -> Reason:
        if rank == 0 or outcome.reason in (Reason.UNBOUNDED, Reason.NOT_FINITE):
            return outcome.reason
        if rank == 3:
            return Reason.NOT_FINITE
        if certificate.infeasible:
            return Reason.INFEASIBLE
        if rank == 1 and evaluator.objective(outcome.x) < FALLEN:
            return Reason.UNBOUNDED
        return Reason.INACCURATE if outcome.reason is Reason.CONVERGED else outcome.reason
