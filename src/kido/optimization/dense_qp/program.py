"""Quadratic programs as a user meets them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.arrays import ReadOnlyArray, read_only_copy
from kido.attributes import FixedAttributes, dataclass
from kido.errors import ModelError
from kido.math.transform import as_numbers
from kido.optimization.dense_qp.arrays import AT_UPPER, INFEASIBLE, NOT_CONVEX, QP_SOLVED, QUADRATIC, sizes
from kido.optimization.dense_qp.dual import solve
from kido.optimization.solution import largest
from kido.reprs import brief
from kido.turns import Turn, in_turn

Array = NDArray[np.float64]
_WORDS = {INFEASIBLE: "infeasible", NOT_CONVEX: "not convex"}


@dataclass(frozen=True, eq=False)
class QuadraticOptimum:
    """What came of a quadratic program.

    Attributes:
        x: (n,) the minimum; NaN where there is none.
        status: "solved", "infeasible", "not convex" (H is not positive definite) or "unfinished".
        multipliers: (n,) of the variables' bounds: what the objective gains per unit that a lower bound is lowered,
            or, with a minus, an upper bound is raised.
        row_multipliers: (m,) the same of rows.
        iterations: constraints that were added or dropped.
        conflict: numbers of constraints that no x satisfies together, bounds of variables from 0, rows from n; empty
            if there is a solution.
    """

    x: Array
    status: str
    multipliers: Array
    row_multipliers: Array
    iterations: int
    conflict: list[int]

    __repr__ = brief

    @property
    def solved(self) -> bool:
        """Whether x is the minimum."""
        return self.status == "solved"

    def residuals(self, program: QuadraticProgram) -> tuple[float, float, float]:
        """How far it is from being optimal, measured from the program's numbers.

        Returns:
            the largest violation of a constraint, of stationarity (H x + g = A^T multipliers), and of complementarity
            (a multiplier times the distance from its bound).
        """
        C = np.concatenate([np.eye(program.num_variables), program.A])
        low = np.concatenate([program.lower, program.row_lower])
        high = np.concatenate([program.upper, program.row_upper])
        y = np.concatenate([self.multipliers, self.row_multipliers])
        value = C @ self.x
        outside = np.maximum(np.maximum(low - value, value - high), 0.0)
        slope = program.H @ self.x + program.g - C.T @ y
        bound = np.where(y > 0.0, low, np.where(y < 0.0, high, value))
        gap = y * (value - bound)
        return largest(outside), largest(slope), largest(gap)


def _array(name: str, doc: str) -> Any:
    return property(lambda self: read_only_copy(ReadOnlyArray, getattr(self._c, name)), doc=doc)


class QuadraticProgram(FixedAttributes):
    """A strictly convex quadratic program, small and dense.

        minimize  1/2 x^T H x + g^T x    with  lower <= x <= upper,  row_lower <= A x <= row_upper

    Rows with equal bounds are equations. It is solved in compiled code by the dual method of Goldfarb and Idnani: exact
    to rounding, in a number of steps that is about that of the active constraints. Solved again, after vectors were
    changed by `update`, it starts from the constraints that were active. Threads that call it wait for each other.

    Args:
        H: (n, n) symmetric and positive definite.
        g: (n,), or one number for all.
        A: (m, n) rows of constraints; None: there are none.
        row_lower, row_upper: (m,) bounds of rows; -inf and inf for none.
        lower, upper: (n,) bounds of variables; -inf and inf for none.
        tolerance: violation of a constraint, over its norm and 1 + |bound|, that is let be.

    Raises:
        ModelError: sizes that do not fit, numbers that are none, or an H that is not symmetric.

    Source: Goldfarb and Idnani (1983).
    """

    def __init__(
        self,
        H: ArrayLike,
        g: ArrayLike,
        A: ArrayLike | None = None,
        row_lower: ArrayLike = -np.inf,
        row_upper: ArrayLike = np.inf,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        tolerance: float = 1e-10,
    ):
        self.turn = Turn()
        hessian = _matrix(H, "H")
        n = len(hessian)
        rows = np.zeros((0, n)) if A is None else _matrix(A, "A")
        if hessian.shape != (n, n) or rows.shape[1] != n:
            raise ModelError(f"quadratic program: H {hessian.shape} and A {rows.shape} do not fit")
        # Entries that cancel are rounded by what they are sums of.
        if not np.allclose(hessian, hessian.T, rtol=1e-9, atol=1e-12 * np.abs(hessian).max(initial=0.0)):
            raise ModelError("quadratic program: H: expected a symmetric matrix")
        if not 0.0 < tolerance < 1.0:
            raise ModelError(f"quadratic program: tolerance: expected a number from 0 to 1, got {tolerance!r}")
        self._c = QUADRATIC(**sizes(n, len(rows)))
        self._c.num_variables, self._c.num_rows = n, len(rows)
        self._c.tolerance = tolerance
        self._c.H[:], self._c.A[:] = hessian, rows
        self.update(g, row_lower, row_upper, lower, upper)

    num_variables = property(lambda self: int(self._c.num_variables), doc="Number n of variables.")
    num_rows = property(lambda self: int(self._c.num_rows), doc="Number m of rows.")
    H = _array("H", "(n, n) matrix of the objective (a copy).")
    g = _array("g", "(n,) vector of the objective (a copy).")
    A = _array("A", "(m, n) rows of constraints (a copy).")
    lower = property(
        lambda self: read_only_copy(ReadOnlyArray, self._c.lower), doc="(n,) lower bounds of variables (a copy)."
    )
    upper = property(
        lambda self: read_only_copy(ReadOnlyArray, self._c.upper), doc="(n,) upper bounds of variables (a copy)."
    )
    row_lower = property(
        lambda self: read_only_copy(ReadOnlyArray, self._c.row_lower), doc="(m,) lower bounds of rows (a copy)."
    )
    row_upper = property(
        lambda self: read_only_copy(ReadOnlyArray, self._c.row_upper), doc="(m,) upper bounds of rows (a copy)."
    )

    @in_turn
    def update(
        self,
        g: ArrayLike | None = None,
        row_lower: ArrayLike | None = None,
        row_upper: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
    ) -> None:
        """New vectors; those that are None stay.

        Raises:
            ModelError: the wrong size, or numbers that are none; nothing is changed.
        """
        given = {"g": g, "row_lower": row_lower, "row_upper": row_upper, "lower": lower, "upper": upper}
        taken = {}
        for name, value in given.items():
            if value is None:
                continue
            here = getattr(self._c, name)
            try:
                numbers = np.array(np.broadcast_to(as_numbers(value), here.shape))
            except (TypeError, ValueError):
                raise ModelError(f"quadratic program: {name}: expected {len(here)} numbers, got {value!r}") from None
            wrong = np.isnan(numbers) | (numbers == (np.inf if "lower" in name else -np.inf))
            if wrong.any() or (name == "g" and not np.isfinite(numbers).all()):
                raise ModelError(f"quadratic program: {name}: expected numbers, got {numbers.tolist()}")
            taken[name] = numbers
        for name, numbers in taken.items():
            getattr(self._c, name)[:] = numbers

    @in_turn
    def solve(self) -> QuadraticOptimum:
        """The minimum, or why there is none."""
        c, n = self._c, self.num_variables
        status = int(solve(c.address))
        y = np.zeros(n + self.num_rows)
        if status == QP_SOLVED:
            q = int(c.num_active)
            y[c.active[:q]] = np.where(c.side[:q] == AT_UPPER, -1.0, 1.0) * c.multiplier[:q]
        else:
            c.num_warm = 0
        return QuadraticOptimum(
            x=c.x.copy() if status == QP_SOLVED else np.full(n, np.nan),
            status="solved" if status == QP_SOLVED else _WORDS.get(status, "unfinished"),
            multipliers=y[:n],
            row_multipliers=y[n:],
            iterations=int(c.iterations),
            conflict=sorted(int(k) for k in c.conflict[: c.num_conflicts]) if status == INFEASIBLE else [],
        )

    def __repr__(self) -> str:
        return f"QuadraticProgram({self.num_variables} variables, {self.num_rows} rows)"


def _matrix(value: ArrayLike, what: str) -> Array:
    try:
        numbers = as_numbers(value)
    except (TypeError, ValueError):
        raise ModelError(f"quadratic program: {what}: expected a matrix, got {value!r}") from None
    if numbers.ndim != 2 or not np.isfinite(numbers).all():
        raise ModelError(
            f"quadratic program: {what}: expected finite numbers in rows and columns, got shape {numbers.shape}"
        )
    return numbers
