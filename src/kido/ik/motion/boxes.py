"""Boxes of constraints (RTQL8 tutorial, section 6.1): what must hold, and what is wished for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from kido.errors import ModelError
from kido.ik.motion.constraint import PoseConstraint, TaskConstraint
from kido.ik.tasks import Task


class ObjectiveBox:
    """What is wished for: the objective is the sum of weight/2 |c|^2.

    Args:
        constraints: to begin with.
    """

    def __init__(self, constraints: Iterable[PoseConstraint | Task] = ()) -> None:
        self._items: list[PoseConstraint] = []
        for constraint in constraints:
            self.add(constraint)

    def add(self, constraint: PoseConstraint | Task) -> PoseConstraint:
        """One more; returned, so that it can be kept.

        Raises:
            ModelError: it is no `PoseConstraint`, and no `Task`.
        """
        if isinstance(constraint, Task):
            constraint = TaskConstraint(constraint)
        if not isinstance(constraint, PoseConstraint):
            raise ModelError(f"box: expected a PoseConstraint, got {constraint!r}")
        self._items.append(constraint)
        return constraint

    def remove(self, constraint: PoseConstraint) -> None:
        """Take one out.

        Raises:
            ModelError: it is not in the box.
        """
        if constraint not in self._items:
            known = ", ".join(map(repr, self._items)) or "none"
            raise ModelError(f"box: {constraint!r} is not in it; there are: {known}")
        self._items.remove(constraint)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[PoseConstraint]:
        return iter(self._items)


class ConstraintBox:
    """What must hold: c = 0, or c <= 0.

    Args:
        constraints: equalities to begin with.
    """

    def __init__(self, constraints: Iterable[PoseConstraint | Task] = ()) -> None:
        self._boxes = ObjectiveBox(constraints), ObjectiveBox()

    def add(self, constraint: PoseConstraint | Task, *, inequality: bool = False) -> PoseConstraint:
        """One more: c = 0, or c <= 0 if it is an inequality; returned, so that it can be kept.

        Raises:
            ModelError: it is no `PoseConstraint`, and no `Task`.
        """
        return self._boxes[1 if inequality else 0].add(constraint)

    def remove(self, constraint: PoseConstraint) -> None:
        """Take one out.

        Raises:
            ModelError: it is not in the box.
        """
        self._boxes[constraint in self.inequality].remove(constraint)

    equality = property(lambda self: list(self._boxes[0]), doc="Those that must be zero.")
    inequality = property(lambda self: list(self._boxes[1]), doc="Those that must not be above zero.")

    def __len__(self) -> int:
        return len(self._boxes[0]) + len(self._boxes[1])

    def __iter__(self) -> Iterator[PoseConstraint]:
        return chain(*self._boxes)
