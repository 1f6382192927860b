"""Contacts of a world as users ask for them: of a body, between two, and events."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError, StateError
from kido.math.transform import as_flag, takes
from kido.simulation.contact_events import ContactEvent
from kido.skeleton import BodyNode, Skeleton

if TYPE_CHECKING:
    from kido.simulation.contacts import ContactSet
    from kido.simulation.engine import Engine

ContactListener = Callable[[ContactEvent], Any]


class WorldContacts:
    """Queries of contacts, and contact events."""

    if TYPE_CHECKING:
        name: str
        contacts: ContactSet
        _skeletons: list[Skeleton]
        _engine: Engine | None
        _stale: bool
        _compile: Any
        _collects_events: bool
        _events: list[ContactEvent] | None
        _listeners: list[ContactListener]
        num_steps: int

    def contact_force(self, body_a: BodyNode, body_b: BodyNode) -> NDArray[np.float64]:
        """Force of body a on body b through all their contacts in the last step, world axes [N].

        Raises:
            ModelError: one of them is no body of this world.
        """
        for body in (body_a, body_b):
            self._check_body(body, "contact force")
        return self.contacts.between(body_a, body_b)

    def _contacts_of(self, body: Any) -> ContactSet:
        return self.contacts.of(body)

    def _check_body(self, body: Any, what: str) -> None:
        if not isinstance(body, BodyNode) or body.skeleton not in self._skeletons:
            raise ModelError(f"world {self.name!r}: {what}: expected a body of a skeleton in this world, got {body!r}")

    # Events ----------------------------------------------------------------------------------------------

    @property
    def collects_contact_events(self) -> bool:
        """Whether `step` collects contact events. False at first; a listener switches it on."""
        return self._collects_events

    @collects_contact_events.setter
    def collects_contact_events(self, value: bool) -> None:
        value = as_flag(value, f"world {self.name!r}: collects_contact_events")
        if not value:
            self._listeners.clear()
        self._collects_events, self._events = value, None
        if self._engine is not None and not self._stale:
            self._engine.collect_events(value)

    @property
    def contact_events(self) -> list[ContactEvent]:
        """Events of the last call of `step`: which pairs of shapes began to touch, touch still, or ceased to.

        Every BEGIN and END of all its steps, in the order of steps and shapes; then one PERSIST for each pair that was
        in touch before the call and still is. A pair touches in a step if a contact of it has an impulse, or its
        surfaces meet. Pairs that were in touch when collecting began, or when the structure changed, begin anew.

        Raises:
            StateError: `collects_contact_events` is off.
        """
        if not self._collects_events:
            raise StateError(
                f"world {self.name!r}: contact events are not collected; set collects_contact_events = True, or "
                "add_contact_listener"
            )
        return list(self._events or [])

    def add_contact_listener(self, listener: ContactListener) -> Callable[[], None]:
        """Have a function called with each contact event; events of a call of `step(n)` come at its end.

        Args:
            listener: called with a `ContactEvent`.

        Returns:
            A function that takes it off again.

        Raises:
            ModelError: it is no function of one argument.
        """
        if not callable(listener) or not takes(listener, 1):
            what = f"world {self.name!r}: contact listener"
            raise ModelError(f"{what}: expected a function of an event, got {listener!r}")
        if not self._collects_events:
            self.collects_contact_events = True
        self._listeners.append(listener)

        def remove() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return remove

    def _begin_events(self, engine: Engine) -> None:
        if engine.event_log is not None:
            self._events = None
            engine.event_log.begin()

    def _tell_events(self, engine: Engine) -> None:
        if engine.event_log is not None:
            self._events = engine.event_log.events(self.num_steps)
            for listener in list(self._listeners):
                for event in self._events:
                    listener(event)
