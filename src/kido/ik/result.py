"""What a solve of inverse kinematics found: one type, whoever solved, for one target and for many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.arrays import fixed
from kido.errors import ModelError
from kido.ik.engine import search

Array = NDArray[np.float64]


class IkStatus(IntEnum):
    """How a search for positions ended.

    * MET: all tasks are within their tolerances.
    * CLOSEST: they cannot be met from anywhere that was tried; the positions are a minimum of the sum of squares of
      weighted residuals within limits, the least that was found.
    * STOPPED: the budget of iterations or time ended before that; the positions are the best found.
    * NOT_FINITE: residuals left the range of numbers; the positions are those of the start.
    """

    MET = search.SEARCH_MET
    CLOSEST = search.SEARCH_CLOSEST
    STOPPED = search.SEARCH_STOPPED
    NOT_FINITE = search.SEARCH_NOT_FINITE

    def __str__(self) -> str:
        return self.name


def _number(which: int, doc: str, whole: bool = False) -> Any:
    """A number of the report, or an array of those of many, as a property."""

    def get(self: IkResult) -> Any:
        value = self._numbers[..., self._n + which]
        if value.ndim == 0:
            return int(value) if whole else float(value)
        return value.astype(np.int64) if whole else value.copy()

    return property(get, doc=doc)


class IkResult:
    """What was found, and how it came about. True if all tasks are met, within limits: ``if result: ...``.

    Of many targets (`IkSolver.solve_batch`) attributes are arrays with an axis for them; it is true if all are met,
    and an index gives the result of one.

    Args:
        numbers: (..., n + REPORT) positions and report, as `kido.ik.engine.search` has them.
        n: how many of them are positions.
        more: what `of` adds.
        contacts: for each of many, what touches where its tasks alone are met, or None.
    """

    __slots__ = ("_contacts", "_more", "_n", "_numbers")

    def __init__(
        self, numbers: Array, n: int, more: dict[str, Any] | None = None, contacts: Sequence[Any] | None = None
    ):
        self._numbers, self._n, self._more, self._contacts = numbers, n, more, contacts

    @classmethod
    def of(
        cls,
        positions: Array,
        converged: bool,
        errors: Sequence[tuple[Any, Array]],
        iterations: int,
        reason: str = "",
        objective: float = 0.0,
        solution: Any = None,
    ) -> IkResult:
        """One of a solver that knows the errors (6,) or (..., m) of each task; see the attributes."""
        framed = [e for _, e in errors if e.shape == (6,)]
        report = np.zeros(search.REPORT)
        report[search.OUT_STATUS] = IkStatus.MET if converged else IkStatus.STOPPED
        report[search.OUT_ITERATIONS], report[search.OUT_ATTEMPTS] = iterations, 1
        report[search.OUT_ANGLE] = max((float(np.linalg.norm(e[:3])) for e in framed), default=0.0)
        report[search.OUT_DISTANCE] = max((float(np.linalg.norm(e[3:])) for e in framed), default=0.0)
        report[search.OUT_COST] = 0.5 * sum(float((e * e).sum()) for _, e in errors)
        more = {"errors": list(errors), "reason": reason, "objective": objective, "solution": solution}
        return cls(np.r_[positions.ravel(), report], positions.size, {**more, "shape": positions.shape})

    def _told(self, what: str, otherwise: Any) -> Any:
        return otherwise if self._more is None else self._more[what]

    @property
    def numbers(self) -> Array:
        """(..., n + REPORT) positions and report, as they are."""
        return self._numbers

    # What was found --------------------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        numbers, k = self._numbers, self._n + search.OUT_STATUS
        if numbers.ndim == 1:  # asked for in each solve
            return numbers.item(k) == search.SEARCH_MET
        return bool((numbers[..., k] == search.SEARCH_MET).all())

    @property
    def positions(self) -> Array:
        """Positions of the coordinates that the solver finds [m, rad], the best found if not all tasks are met.

        Of `IkSolver` those of the whole skeleton (dofs,), of `InverseKinematics` and hierarchies those of their active
        coordinates (n,), of a `MotionProblem` those of each frame (frames, dofs).
        """
        found = self._numbers[..., : self._n].copy()
        return fixed(found if self._more is None else found.reshape(self._more["shape"]))

    @property
    def status(self) -> Any:
        """How the search ended: an `IkStatus`, or values of it (samples,)."""
        found = self._numbers[..., self._n + search.OUT_STATUS].astype(np.int64)
        return IkStatus(int(found)) if found.ndim == 0 else found

    @property
    def success(self) -> Any:
        """Whether all tasks are met, within limits, and what constraints a user added hold."""
        return self.status == IkStatus.MET

    converged = success

    # How far it is from what was wanted ------------------------------------------------------------------------

    angular_error = _number(search.OUT_ANGLE, "Largest angle of a task's residual [rad].")
    linear_error = _number(search.OUT_DISTANCE, "Largest distance of a task's residual [m].")
    posture_error = _number(
        search.OUT_POSTURE, "Largest difference of a coordinate from a posture's [m, rad]; 0 without postures."
    )
    cost = _number(search.OUT_COST, "Half the sum of squares of weighted residuals.")

    @property
    def errors(self) -> tuple[tuple[Any, Array], ...]:
        """Errors with what they are of: (6,) by name of a node [rad, m]; (frames, m) by constraint of a motion.

        Empty of `IkSolver`.
        """
        return tuple(self._told("errors", ()))

    def error(self, of: Any) -> Array:
        """Errors of a node's name, or of a constraint of a motion (frames in which it counts, m).

        Raises:
            ModelError: there are none of it.
        """
        for known, values in self.errors:
            if known is of or (isinstance(of, str) and known == of):
                return values
        raise ModelError(f"{of!r} is no constraint or objective of this motion, and no node of a task")

    @property
    def residual(self) -> float:
        """The largest component of all errors [rad, m]."""
        return max((float(np.abs(e).max(initial=0.0)) for _, e in self.errors), default=0.0)

    @property
    def objective(self) -> float:
        """The value of the objective there; 0 without one."""
        return self._told("objective", 0.0)

    # How it came about -----------------------------------------------------------------------------------------

    @property
    def reason(self) -> str:
        """Why the solver stopped, in words."""
        told = self._told("reason", "") or str(self.status)
        if self._numbers.ndim == 1 and self.contact is not None:
            told += f": where the tasks are met, {self.contact}"
        return told

    @property
    def contact(self) -> Any:
        """Of `IkSolver(avoid=...)`, where the tasks were not met without touching: what touches where they are met.

        A `kido.planning.Contact`, two names; None: nothing does, or they are not met anyway. Of many a tuple of these.
        """
        if self._numbers.ndim == 1:
            return None if self._contacts is None else self._contacts[0]
        return tuple([None] * len(self) if self._contacts is None else self._contacts)

    @property
    def solution(self) -> Any:
        """Of a motion, the point of the optimizer with its certificate (`kido.optimization.Solution`); else None."""
        return self._told("solution", None)

    iterations = _number(search.OUT_ITERATIONS, "Steps of all attempts.", whole=True)
    attempts = _number(search.OUT_ATTEMPTS, "Positions that the search began at.", whole=True)
    attempt = _number(search.OUT_ATTEMPT, "Which of them led to the result; 0: the start.", whole=True)

    # Of many ---------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        if self._numbers.ndim == 1:
            raise TypeError("this is the result of one solve")
        return len(self._numbers)

    def __getitem__(self, index: int) -> IkResult:
        if self._numbers.ndim == 1:
            raise TypeError("this is the result of one solve")
        contacts = None if self._contacts is None else [self._contacts[index]]
        return IkResult(self._numbers[index], self._n, contacts=contacts)

    def __iter__(self) -> Iterator[IkResult]:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        if self._numbers.ndim > 1:
            return f"IkResult({len(self)} targets, {int(self.success.sum())} met)"
        return (
            f"IkResult({self.status.name}, angular_error={self.angular_error:.3g}, "
            f"linear_error={self.linear_error:.3g}, attempts={self.attempts}, iterations={self.iterations})"
        )

    def __str__(self) -> str:
        if self._more is None:
            return repr(self)
        worst = [f"{getattr(of, 'name', of)} {np.abs(e).max(initial=0.0):.2g}" for of, e in self.errors]
        return f"{self.solution or self.reason}; largest errors: {', '.join(worst) or 'none'}"
