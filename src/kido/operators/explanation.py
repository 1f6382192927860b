"""What an expression will do when it is applied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kido.operators.linear import Linear, Step


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
