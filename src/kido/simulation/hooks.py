"""What users do around the steps of a world: functions that are called, and forces that act for a while."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.errors import ModelError, StateError
from kido.jit.kept import COUNT, FINITE, Values, checked_array, checked_number
from kido.math.transform import takes
from kido.reprs import in_few_words
from kido.simulation.owner import Owner
from kido.tree.schema import DATA

if TYPE_CHECKING:
    from kido.skeleton import BodyNode, Skeleton


Hook = Callable[[Any], Any]
ROW = int(DATA.fields["external"].dims[-1])  # numbers of a body's external forces


class StepHooks:
    """Functions called with the world before and after each step, in the order they were added."""

    def __init__(self) -> None:
        self.before: list[Hook] = []
        self.after: list[Hook] = []

    def __reduce__(self):
        return StepHooks, ()  # copies have none

    def __bool__(self) -> bool:
        return bool(self.before or self.after)

    def add(self, hook: Hook, before: bool) -> Callable[[], None]:
        """Add a function; returns one that takes it off again."""
        if not callable(hook) or not takes(hook, 1):
            raise ModelError(f"step callback: expected a function of the world alone, got {hook!r}")
        hooks = self.before if before else self.after
        hooks.append(hook)

        def remove() -> None:
            if hook in hooks:
                hooks.remove(hook)

        return remove

    @staticmethod
    def run(hooks: list[Hook], world: Owner) -> None:
        """Call each; one may add or remove others."""
        for hook in list(hooks):
            hook(world)


@dataclass
class Push:
    """A force on a body that goes on for a number of steps.

    Attributes:
        body: which.
        row: force, as a row of `kido.kernels.external`.
        left: steps.
    """

    body: BodyNode
    row: np.ndarray
    left: int


class Pushing:
    """Pushes added to the bodies' external forces, until `end` puts back what was there."""

    def __init__(self, pushes: list[Push]):
        self._before: list[tuple[Skeleton, int, np.ndarray | None]] = []
        for push in pushes:
            skeleton, index = push.body.skeleton, push.body.index
            if all(s is not skeleton or i != index for s, i, _ in self._before):
                row = skeleton.current_state.applied.get(index)
                self._before.append((skeleton, index, None if row is None else row.copy()))
        for push in pushes:
            push.body.skeleton.current_state.add_external(push.body.index, push.row)

    def end(self) -> None:
        """Put back the forces from before."""
        for skeleton, index, row in self._before:
            skeleton.current_state.clear_external(index)
            if row is not None:
                skeleton.current_state.add_external(index, row)


class Pushes:
    """The pushes of a world that go on.

    Attributes:
        all: those to come.
        acted: those of the steps up to `stamp`, the world's number of steps.
    """

    def __init__(self) -> None:
        self.all: list[Push] = []
        self.acted: list[Push] = []
        self.stamp = -1

    def add(self, push: Push) -> None:
        """One more."""
        self.all.append(push)

    def drop(self, bodies: Container[BodyNode]) -> None:
        """Bodies left."""
        self.all, self.acted = ([p for p in own if p.body not in bodies] for own in (self.all, self.acted))

    def advance(self, number: int, do: Callable[[int], Any], world: Owner) -> None:
        """Do a number of a world's steps with them, by a function that does some."""
        while number > 0:
            if not self.all:
                do(number)
                return
            some = min(number, *(p.left for p in self.all))
            pushing, before = Pushing(self.all), world.num_steps
            try:
                do(some)
            finally:
                pushing.end()
                self.acted, self.stamp = self.all, world.num_steps
                for push in self.all:
                    push.left -= self.stamp - before  # a step that was undone is still to come
                self.all = [p for p in self.all if p.left > 0]
            number -= some

    @contextmanager
    def in_place(self, steps: int) -> Iterator[None]:
        """While forces of the last step, the world's number of steps, are looked at with those of its pushes."""
        pushing = Pushing(self.acted if self.stamp == steps else [])
        try:
            yield
        finally:
            pushing.end()

    @contextmanager
    def set_aside(self, steps: int) -> Iterator[None]:
        """While so many steps are done again with forces that have those of pushes in them."""
        going, self.all = self.all, []
        try:
            yield
        finally:
            self.all = [replace(p, left=p.left - steps) for p in going if p.left > steps]
            self.acted = [p for p in going if p.left >= steps]

    def state(self, skeletons: list[Skeleton]) -> list[dict[str, Any]]:
        """As plain data."""
        return [
            {
                "skeleton": skeletons.index(p.body.skeleton),
                "body": p.body.index,
                "row": p.row.copy(),
                "left": p.left,
            }
            for p in self.all
        ]

    def checked_state(self, data: Any, skeletons: list[Skeleton], where: str) -> list[dict[str, Any]]:
        """Pushes that came from outside, as `state` gives them.

        Raises:
            StateError: they cannot be.
        """
        if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
            raise StateError(f"{where}: expected a list of pushes, got {in_few_words(data)}")
        found = []
        for k, item in enumerate(data):
            what = f"{where}[{k}]"
            skeleton = checked_number(item.get("skeleton"), Values(0, len(skeletons) - 1), f"{what}: skeleton", True)
            bodies = Values(0, skeletons[skeleton].num_bodies - 1)
            found.append(
                {
                    "skeleton": skeleton,
                    "body": checked_number(item.get("body"), bodies, f"{what}: body", True),
                    "row": checked_array(item.get("row"), "f", (ROW,), FINITE, f"{what}: row"),
                    "left": checked_number(item.get("left"), Values(1, COUNT.high), f"{what}: left", True),
                }
            )
        return found

    def set_state(self, data: Iterable[dict[str, Any]], skeletons: list[Skeleton]) -> None:
        """Restore what `state` returned; not checked again."""
        self.all = [Push(skeletons[p["skeleton"]].body(p["body"]), p["row"].copy(), p["left"]) for p in data]
