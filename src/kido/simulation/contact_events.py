"""Contact events: what users learn of pairs of shapes that begin to touch, go on touching, and part."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kido.jit import Struct
from kido.simulation import events_stage
from kido.simulation.events_stage import CONTACT_EVENTS
from kido.simulation.feature import Feature
from kido.simulation.schema import END

if TYPE_CHECKING:
    from kido.simulation.engine import Engine
    from kido.skeleton import BodyNode, ShapeNode

_OPEN_FIELDS = ("open", "open_sum", "open_place")
_LOG_FIELDS = ("log", "log_sum", "log_place")


class ContactEventKind(IntEnum):
    """What happened to a pair of shapes in a call of `World.step`."""

    BEGIN = events_stage.TOUCH_BEGIN
    PERSIST = events_stage.TOUCH_PERSIST
    END = events_stage.TOUCH_END


class ContactEvent(NamedTuple):
    """A pair of shapes began to touch, touches still, or ceased to.

    Attributes:
        kind: BEGIN, PERSIST or END.
        step: `World.num_steps` after the step in which it happened; PERSIST: after the last one.
        body_a, body_b, shape_a, shape_b: who.
        impulse: on body b, world axes [N s]. BEGIN: in that step. END and PERSIST: since the pair began to touch or,
            if that was before, since the call of `World.step` began.
        point: where, of the contact with the largest impulse in the last step in which they touched; world axes [m].
        normal: its unit normal, from body a to body b, world axes.
    """

    kind: ContactEventKind
    step: int
    body_a: BodyNode
    body_b: BodyNode
    shape_a: ShapeNode
    shape_b: ShapeNode
    impulse: NDArray[np.float64]
    point: NDArray[np.float64]
    normal: NDArray[np.float64]


ContactListener = Callable[[ContactEvent], Any]


class ContactEventLog(Feature):
    """Collects the events of an engine's steps."""

    key = "touch"
    engine: Engine

    def __init__(self, engine: Engine):
        super().__init__(engine)
        self._collects = False
        self.container = CONTACT_EVENTS(opens=0, logs=0)
        self.past: list[tuple[np.ndarray, ...]] = []

    @property
    def is_active(self) -> bool:
        return self._collects

    def stages(self) -> dict[str | int, Any]:
        return {END: events_stage.events_stage} if self._collects else {}

    @property
    def own_struct(self) -> Struct | None:
        return self.container

    def options_changed(self) -> None:
        if self._collects != self.engine.options.collects_events:
            self._collects = self.engine.options.collects_events
            self.set_state(None)

    def before_steps(self) -> None:
        if self._collects:
            self.make_room()

    def make_room(self) -> None:
        """Take the log out, and make room for all that another step can give."""
        e = self.container
        logged, opened = e.num_logged, e.num_open
        if logged:
            self.past.append(tuple(getattr(e, f)[:logged].copy() for f in _LOG_FIELDS))
            e.num_logged = 0
        room = opened + len(self.engine.detector.container.pair_a)
        if room > len(e.open) or room > len(e.log):
            kept = [getattr(e, f)[:opened].copy() for f in _OPEN_FIELDS]
            self.container = CONTACT_EVENTS(opens=2 * room, logs=4 * room)
            for f, values in zip(_OPEN_FIELDS, kept, strict=True):
                getattr(self.container, f)[:opened] = values
            self.container.num_open = opened
            self.engine.link()

    def begin(self) -> None:
        """A call of `World.step` begins: forget the events of the one before."""
        e = self.container
        self.past = []
        e.open[:, 2] = 0
        e.open_sum[:] = 0.0

    def events(self, steps: int) -> list[ContactEvent]:
        """Events since `begin`, in the order of steps and shapes; then the pairs that have been in touch throughout.

        Args:
            steps: that the world has done by now; the engine's number may be another.
        """
        self.make_room()
        found = []
        earlier = steps - self.engine.world.steps
        nodes = self.engine.nodes

        def event(kind: int, step: int, a: int, b: int, total: Any, place: Any) -> ContactEvent:
            one, two = nodes[a], nodes[b]
            place = place.copy()
            return ContactEvent(
                ContactEventKind(int(kind)),
                earlier + int(step),
                one.body,
                two.body,
                one,
                two,
                total.copy(),
                place[:3],
                place[3:],
            )

        for log, sums, places in self.past:
            for (kind, step, a, b), total, place in zip(log, sums, places, strict=True):
                found.append(event(kind, step, a, b, total, place))
        e, done = self.container, self.engine.world.steps
        for k in range(e.num_open):
            if e.open[k, 2] == 0:
                a, b = e.open[k, :2]
                found.append(event(events_stage.TOUCH_PERSIST, done, a, b, e.open_sum[k], e.open_place[k]))
        return found

    def state(self) -> dict[str, np.ndarray] | None:
        e = self.container
        return {f: getattr(e, f)[: e.num_open].copy() for f in _OPEN_FIELDS} if self._collects else None

    def set_state(self, state: dict[str, np.ndarray] | None) -> None:
        self.past = []
        if not self._collects:
            return
        number = 0 if state is None else len(state["open"])
        room = number + len(self.engine.detector.container.pair_a)
        self.container = CONTACT_EVENTS(opens=2 * room, logs=4 * room)
        if state is not None:
            self.container.num_open = number
            for f in _OPEN_FIELDS:
                getattr(self.container, f)[:number] = state[f]


class ContactEvents:
    """What users see of events: those of the last call of `World.step`, and functions that are called with them.

    Copies have neither.
    """

    def __init__(self) -> None:
        self.events: list[ContactEvent] = []
        self.listeners: list[ContactListener] = []

    def __reduce__(self):
        return ContactEvents, ()

    def add(self, listener: ContactListener) -> Callable[[], None]:
        """Add a function; returns one that takes it off again."""
        self.listeners.append(listener)

        def remove() -> None:
            if listener in self.listeners:
                self.listeners.remove(listener)

        return remove

    def begin(self, engine: Engine) -> None:
        """A call of `World.step` begins."""
        log = engine.feature(ContactEventLog)
        if log.is_active:
            self.events = []
            log.begin()

    def tell(self, engine: Engine, steps: int) -> None:
        """It is at its end."""
        log = engine.feature(ContactEventLog)
        if log.is_active:
            self.events = log.events(steps)
            for listener in list(self.listeners):
                for event in self.events:
                    listener(event)
