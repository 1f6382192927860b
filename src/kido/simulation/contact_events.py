"""Contact events: what users learn of pairs of shapes that begin to touch, go on touching, and part.

A pair touches in a step if a contact of it has an impulse, or its surfaces meet or overlap. Pairs of bodies at rest
that are not looked at, because both sleep, stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kido.jit import Struct, callback, floats, integer, integers, kernel, view
from kido.jit.kept import FINITE, WHOLE, Values, checked_array, checked_arrays
from kido.reprs import brief
from kido.simulation.feature import Feature
from kido.simulation.world_struct import END, WORLD

if TYPE_CHECKING:
    from kido.simulation.engine import Engine
    from kido.skeleton import BodyNode, ShapeNode


# Kinds of event.
TOUCH_BEGIN, TOUCH_PERSIST, TOUCH_END = 0, 1, 2


class CONTACT_EVENTS(Struct):
    num_open = integer(doc="pairs in touch")
    num_logged = integer(doc="events in the log")
    # Pairs in touch, ascending.
    open = integers("opens", 3, doc="shapes a and b; 1: they began to touch since the last call")
    open_sum = floats("opens", 3, unit="N s", doc="impulse on b since the last call")
    open_place = floats("opens", 6, doc="point [m] and normal of the contact with the largest impulse")
    next = integers("opens", 3, doc="work: the same after the step")
    next_sum = floats("opens", 3)
    next_place = floats("opens", 6)
    # The log, in the order of steps and pairs.
    log = integers("logs", 4, doc="TOUCH_BEGIN or TOUCH_END; steps that the world had done; shapes a and b")
    log_sum = floats("logs", 3, unit="N s", doc="impulse on b")
    log_place = floats("logs", 6, doc="point [m] and normal")


@kernel
def write_event(c, e, p, at):
    """Impulse and place of pair p into `next` at an index. Returns whether it touches."""
    touches = False
    largest = -1.0
    for i in range(3):
        e.next_sum[at, i] = 0.0
    for k in range(c.pair_first[p], c.pair_first[p] + c.pair_count[p]):
        along = 0.0
        for i in range(3):
            along += c.impulse[k, i] * c.normal[k, i]
            e.next_sum[at, i] += c.impulse[k, i]
        if along > 0.0 or c.gap[k] <= 0.0:
            touches = True
        if along > largest:
            largest = along
            for i in range(3):
                e.next_place[at, i] = c.point[k, i]
                e.next_place[at, 3 + i] = c.normal[k, i]
    e.next[at, 0], e.next[at, 1], e.next[at, 2] = c.pair_a[p], c.pair_b[p], 0
    return touches


@kernel
def log_event(e, kind, step, source, total, place, at):
    """Append an event of the pair at an index of `open` or `next`."""
    k = e.num_logged
    e.log[k, 0], e.log[k, 1], e.log[k, 2], e.log[k, 3] = kind, step, source[at, 0], source[at, 1]
    for i in range(3):
        e.log_sum[k, i] = total[at, i]
    for i in range(6):
        e.log_place[k, i] = place[at, i]
    e.num_logged = k + 1


@kernel
def close_or_keep(c, e, step, old, at):
    """A pair that was in touch and was not found: END, unless it was not looked at. Returns the next free index."""
    a, b = e.open[old, 0], e.open[old, 1]
    if c.body_moving[c.shape_body[a]] + c.body_moving[c.shape_body[b]] > 0:
        log_event(e, TOUCH_END, step, e.open, e.open_sum, e.open_place, old)
        return at
    for i in range(3):
        e.next[at, i], e.next_sum[at, i] = e.open[old, i], e.open_sum[old, i]
    for i in range(6):
        e.next_place[at, i] = e.open_place[old, i]
    return at + 1


@callback
def events_stage(world, events, unused_2, unused_3):
    """Compare the pairs that touch with those of the step before. Returns 1 if the next step may not fit."""
    w, e = view(WORLD, world), view(CONTACT_EVENTS, events)
    c = w.collision
    step = w.steps
    old, olds, at = 0, e.num_open, 0
    for p in range(c.num_pairs):
        if c.pair_count[p] == 0:
            continue
        a, b = c.pair_a[p], c.pair_b[p]
        while old < olds and (e.open[old, 0] < a or (e.open[old, 0] == a and e.open[old, 1] < b)):
            at = close_or_keep(c, e, step, old, at)
            old += 1
        known = old < olds and e.open[old, 0] == a and e.open[old, 1] == b
        if write_event(c, e, p, at):
            if known:
                e.next[at, 2] = e.open[old, 2]
                for i in range(3):
                    e.next_sum[at, i] += e.open_sum[old, i]
            else:
                e.next[at, 2] = 1
                log_event(e, TOUCH_BEGIN, step, e.next, e.next_sum, e.next_place, at)
            at += 1
        elif known:
            log_event(e, TOUCH_END, step, e.open, e.open_sum, e.open_place, old)
        if known:
            old += 1
    while old < olds:
        at = close_or_keep(c, e, step, old, at)
        old += 1
    for k in range(at):
        for i in range(3):
            e.open[k, i], e.open_sum[k, i] = e.next[k, i], e.next_sum[k, i]
        for i in range(6):
            e.open_place[k, i] = e.next_place[k, i]
    e.num_open = at
    room = at + c.pair_a.shape[0]
    return 1 if room > e.open.shape[0] or e.num_logged + room > e.log.shape[0] else 0


_OPEN_FIELDS = {"open": WHOLE, "open_sum": FINITE, "open_place": FINITE}
_LOG_FIELDS = ("log", "log_sum", "log_place")


class ContactEventKind(IntEnum):
    """What happened to a pair of shapes in a call of `World.step`."""

    BEGIN = TOUCH_BEGIN
    PERSIST = TOUCH_PERSIST
    END = TOUCH_END


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

    __repr__ = brief


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
        return {END: events_stage} if self._collects else {}

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
                found.append(event(TOUCH_PERSIST, done, a, b, e.open_sum[k], e.open_place[k]))
        return found

    def state(self) -> dict[str, np.ndarray] | None:
        e = self.container
        return {f: getattr(e, f)[: e.num_open].copy() for f in _OPEN_FIELDS} if self._collects else None

    def checked_state(self, state: Any, where: str) -> dict[str, np.ndarray] | None:
        if state is None or not self._collects:
            return None
        found = checked_arrays(self.container, _OPEN_FIELDS, state, where, free=("opens",))
        shapes = len(self.engine.nodes)
        checked_array(found["open"][:, :2], "i", (len(found["open"]), 2), Values(0, shapes - 1), f"{where}.open")
        return found

    def set_state(self, state: dict[str, np.ndarray] | None) -> None:
        self.past = []
        if not self._collects:
            return
        number = 0 if state is None else len(state["open"])
        room = number + len(self.engine.detector.container.pair_a)
        if room > len(self.container.open):
            self.container = CONTACT_EVENTS(opens=2 * room, logs=4 * room)
        self.container.num_open, self.container.num_logged = number, 0
        if state is not None:
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
