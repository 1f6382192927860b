"""Users' functions around the steps of a world."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kido.errors import ModelError
from kido.math.transform import takes
from kido.simulation.owner import Owner

Hook = Callable[[Any], Any]


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
