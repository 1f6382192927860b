"""What a skeleton asks of the world that holds its arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from kido.turns import Turn

if TYPE_CHECKING:
    from kido.skeleton.body_node import BodyNode
    from kido.skeleton.skeleton import Skeleton


class Host(Protocol):
    """A world, seen from a skeleton in it."""

    version: int
    turn: Turn

    @property
    def name(self) -> str:
        """For messages."""
        ...

    @property
    def skeletons(self) -> tuple[Skeleton, ...]:
        """All that are in it."""
        ...

    @property
    def is_stepping(self) -> bool:
        """Whether its arrays are in the hands of compiled code."""
        ...

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

    @property
    def contacts(self) -> Any:
        """Contacts of the last step."""
        ...

    def is_asleep(self, skeleton: Skeleton) -> bool: ...

    def wake(self, skeleton: Skeleton) -> None: ...

    def can_sleep_changed(self, skeleton: Skeleton) -> None: ...

    @property
    def engine(self) -> Any:
        """Its compiled side, made if need be: skeletons have taken its arrays."""
        ...

    @property
    def present_engine(self) -> Any:
        """The same, None if it is to be made."""
        ...

    def structure_changed(self) -> None: ...

    def properties_changed(self) -> None: ...

    def surfaces_changed(self) -> None: ...

    def bodies_left(self, bodies: Iterable[BodyNode]) -> None: ...

    def constraints_changed(self) -> None: ...


F = TypeVar("F", bound=Callable[..., Any])


def edits(method: F) -> F:
    """A method of a skeleton, body, joint or node that changes what it describes.

    It has the skeleton's turn meanwhile, so that it is refused (`kido.ConcurrencyError`) while another thread steps the
    world that the skeleton is in, and that thread does not compile what is half changed.
    """

    @wraps(method)
    def edit(self: Any, *args: Any, **options: Any) -> Any:
        body = getattr(self, "_body", self)  # of joints and nodes; None: on no body
        if body is None:
            return method(self, *args, **options)
        with getattr(body, "skeleton", body).turn.sole():
            return method(self, *args, **options)

    return edit  # type: ignore[return-value]
