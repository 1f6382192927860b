"""What a skeleton asks of the world that holds its arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from kido.skeleton.body_node import BodyNode
    from kido.skeleton.skeleton import Skeleton


class Host(Protocol):
    """A world, seen from a skeleton in it."""

    name: str
    _stale: bool
    _properties_stale: bool
    _version: int
    _surfaces_stale: bool

    @property
    def gravity(self) -> NDArray[np.float64]:
        """Acceleration of gravity [m/s^2]."""
        ...

    @property
    def time_step(self) -> float:
        """[s]"""
        ...

    def actuator_forces(self, skeleton: Skeleton) -> NDArray[np.float64]:
        """Forces of the actuators in the last step."""
        ...

    def constraint_forces(self, skeleton: Skeleton) -> NDArray[np.float64]:
        """Generalized forces of contacts, joint constraints and gears in the last step."""
        ...

    def _contacts_of(self, body: Any) -> Any: ...

    def _is_asleep(self, skeleton: Skeleton) -> bool: ...

    def _wake(self, skeleton: Skeleton) -> None: ...

    def _can_sleep_changed(self, skeleton: Skeleton) -> None: ...

    def _compile(self) -> Any: ...

    def _structure_changed(self) -> None: ...

    def _invalidate_bodies(self, bodies: Iterable[BodyNode]) -> None: ...

    def _constraints_changed(self) -> None: ...
