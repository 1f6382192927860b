"""Boxes of constraints (RTQL8 tutorial, section 6.1): what must hold, and what is wished for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
        self._items.append(_checked(constraint))
        return self._items[-1]

    def remove(self, constraint: PoseConstraint) -> None:
        """Take one out.

        Raises:
            ModelError: it is not in the box.
        """
        _remove(constraint, self._items)

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
        self._equality: list[PoseConstraint] = []
        self._inequality: list[PoseConstraint] = []
        for constraint in constraints:
            self.add(constraint)

    def add(self, constraint: PoseConstraint | Task, *, inequality: bool = False) -> PoseConstraint:
        """One more: c = 0, or c <= 0 if it is an inequality; returned, so that it can be kept.

        Raises:
            ModelError: it is no `PoseConstraint`, and no `Task`.
        """
        items = self._inequality if inequality else self._equality
        items.append(_checked(constraint))
        return items[-1]

    def remove(self, constraint: PoseConstraint) -> None:
        """Take one out.

        Raises:
            ModelError: it is not in the box.
        """
        _remove(constraint, self._inequality if constraint in self._inequality else self._equality)

    @property
    def equality(self) -> list[PoseConstraint]:
        """Those that must be zero."""
        return list(self._equality)

    @property
    def inequality(self) -> list[PoseConstraint]:
        """Those that must not be above zero."""
        return list(self._inequality)

    def __len__(self) -> int:
        return len(self._equality) + len(self._inequality)

    def __iter__(self) -> Iterator[PoseConstraint]:
        return iter([*self._equality, *self._inequality])


def _checked(constraint: PoseConstraint | Task) -> PoseConstraint:
    if isinstance(constraint, Task):
        return TaskConstraint(constraint)
    if not isinstance(constraint, PoseConstraint):
        raise ModelError(f"box: expected a PoseConstraint, got {constraint!r}")
    return constraint


def _remove(constraint: PoseConstraint, items: list[PoseConstraint]) -> None:
    if constraint not in items:
        raise ModelError(f"box: {constraint!r} is not in it; there are: {', '.join(map(repr, items)) or 'none'}")
    items.remove(constraint)
