"""What all operators have in common, whatever they are made of: to be applied, printed, explained."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes, dataclass
from kido.errors import KidoError
from kido.math.transform import as_numbers

if TYPE_CHECKING:
    from kido.operators.body_list import BodyList, Space
    from kido.operators.expression import Operator


class OperatorError(KidoError):
    """Operators that do not fit each other or a vector, or something that operators have no sweeps for."""


Array = NDArray[np.float64]
_FLOAT64 = np.dtype(np.float64)


class Step(NamedTuple):
    """One sweep: the operator that runs it, what it does, and additions and multiplications for each vector."""

    operator: str
    sweep: str
    operations: int


class Linear(FixedAttributes, ABC):
    """A linear map between spaces of bodies, joints or nodes."""

    on: BodyList | None
    rows: Space | None
    columns: Space | None

    # What kinds of operators tell ------------------------------------------------------------------------

    @abstractmethod
    def _run(self, x: Array, own: bool) -> Array:
        """The operator applied to a block of vectors, which it may overwrite if it is its own."""

    @abstractmethod
    def steps(self) -> Iterator[Step]:
        """Sweeps in the order in which they run."""

    @abstractmethod
    def key(self) -> Hashable:
        """What is equal for expressions that are equal by their form."""

    @abstractmethod
    def text(self, latex: bool) -> str:
        """The formula."""

    @abstractmethod
    def _transposed(self) -> Operator:
        """The transpose."""

    def own_inverse(self) -> Operator | None:
        """The inverse, if one is known by the form of the operator."""
        return None

    def body_blocks(self) -> Array:
        """The (bodies, 6, 6) diagonal blocks of what is blockwise, each in the leading rows and columns."""
        raise OperatorError(f"{self!r} has blocks off its diagonal")

    @property
    def is_blockwise(self) -> bool:
        """Whether it maps numbers of each body to numbers of the same body."""
        return False

    @property
    def is_bracketed(self) -> bool:
        """Whether it needs brackets as a factor."""
        return False

    def notes(self) -> tuple[str, ...]:
        """What else is worth knowing when it is explained."""
        return ()

    def preparations(self) -> frozenset[str]:
        """What must be known of the state."""
        return frozenset()

    # Forms -----------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers that it gives, and takes.

        Raises:
            OperatorError: an identity, which has the size of what it meets.
        """
        if self.rows is None or self.columns is None:
            raise OperatorError("I has no size of its own; it takes that of what it is added to or applied to")
        return self.rows.size, self.columns.size

    def dense(self) -> Array:
        """The matrix, which no computation needs: for teaching and tests."""
        columns = self.shape[1]
        return self._run(np.eye(columns), True)

    def block(self, row: Any, column: Any) -> Array:
        """The numbers of the matrix that belong to two bodies, or nodes.

        Args:
            row: a body, its joint, a coordinate of it, its name, or its place in the list; for B a node.
            column: likewise.

        Raises:
            OperatorError: there is no such body or node.
        """
        if self.rows is None or self.columns is None:
            raise OperatorError("I has no size of its own, so it has no blocks")
        part, own = self.rows.part(self.rows.place(row)), self.columns.part(self.columns.place(column))
        return self._run(np.eye(self.columns.size)[:, own].copy(), True)[part].copy()

    def apply(self, x: ArrayLike) -> Array:
        """The operator applied to a vector (n,) or to the columns of a block of vectors (n, m).

        Raises:
            OperatorError: another number of rows, or numbers that are not finite.
        """
        array: Any = x
        own = not (type(x) is np.ndarray and x.dtype is _FLOAT64 and x.flags.carray)
        if own:
            try:
                array = as_numbers(x)
            except (TypeError, ValueError):
                raise OperatorError(f"{self}: expected an array of numbers or an operator, got {x!r}") from None
        if array.ndim not in (1, 2) or (self.columns is not None and array.shape[0] != self.columns.size):
            wanted = "" if self.columns is None else f"{self.columns.size} {self.columns.kind}, that is "
            size = "n" if self.columns is None else self.columns.size
            raise OperatorError(
                f"{self} is applied to {wanted}arrays ({size},) or ({size}, m); got an array of shape {array.shape}"
            )
        if not isfinite(np.vdot(array, array)) and not np.isfinite(array).all():
            raise OperatorError(f"{self} is applied to finite numbers; got {array.tolist()}")
        if array.ndim == 1:
            return self._run(array.reshape(-1, 1), own).reshape(-1)
        return self._run(array, own)

    def explain(self) -> Explanation:
        """The sweeps that it runs, in their order, with what they cost; printed as a table."""
        return Explanation.of(self)

    def __repr__(self) -> str:
        return self.text(False)

    def _repr_latex_(self) -> str:
        return f"${self.text(True)}$"


@dataclass(frozen=True)
class Explanation:
    """The sweeps of an expression, in the order in which they run; prints as a table.

    Attributes:
        formula: the expression.
        steps: operator, sweep, and additions and multiplications for each vector, one after the other.
        preparations: what is computed once for the state, when it is needed first.
        shape: numbers that the expression gives, and takes.
        notes: what it can do besides.
    """

    formula: str
    steps: tuple[Step, ...]
    preparations: tuple[str, ...]
    shape: tuple[int, int]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, operator: Linear) -> Explanation:
        """Explain an expression."""
        once = tuple(sorted(operator.preparations()))
        return cls(repr(operator), tuple(operator.steps()), once, operator.shape, operator.notes())

    @property
    def operations(self) -> int:
        """Additions and multiplications for each vector."""
        return sum(step.operations for step in self.steps)

    @property
    def matrix_operations(self) -> int:
        """What the product with its matrix would take, had one the matrix."""
        return self.shape[0] * (2 * self.shape[1] - 1)

    def __str__(self) -> str:
        wide = max([8, *(len(step.operator) for step in self.steps)])
        lines = [f"{self.formula}: {self.shape[1]} numbers -> {self.shape[0]}"]
        lines += [f"  once for this state: {what}" for what in self.preparations]
        lines += [f"  {s.operator:{wide}}  {s.sweep:30}  {s.operations:8,} operations" for s in self.steps]
        lines.append(f"  {'together':{wide}}  {'':30}  {self.operations:8,} for each vector")
        lines.append(f"  {'matrix':{wide}}  {'(not formed)':30}  {self.matrix_operations:8,}")
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    __repr__ = __str__
