"""What the parts of a world see of it."""

from __future__ import annotations

from typing import Any, Protocol

from kido.skeleton import Skeleton
from kido.turns import Turn


class Owner(Protocol):
    """A world, seen from its parts; see `World`."""

    name: str
    version: int
    pushes: Any
    turn: Turn

    @property
    def time_step(self) -> float: ...

    @time_step.setter
    def time_step(self, value: float) -> None: ...

    @property
    def clock(self) -> dict[str, Any]: ...

    @clock.setter
    def clock(self, state: dict[str, Any]) -> None: ...

    @property
    def skeletons(self) -> list[Skeleton]: ...

    @property
    def num_steps(self) -> int: ...

    @property
    def collision_detector(self) -> Any: ...

    @property
    def engine(self) -> Any: ...

    @property
    def present_engine(self) -> Any: ...

    @property
    def constraint_system(self) -> Any: ...

    def structure_changed(self) -> None: ...
