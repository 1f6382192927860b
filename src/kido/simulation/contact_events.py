"""Contact events: what users learn of pairs of shapes that begin to touch, go on touching, and part."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kido.simulation import events_stage
from kido.simulation.events_stage import CONTACT_EVENTS, LOGGED, OPEN

if TYPE_CHECKING:
    from kido.simulation.engine import Engine
    from kido.skeleton import BodyNode, ShapeNode

_OPEN_FIELDS = ("open", "open_sum", "open_place")
_LOG_FIELDS = ("log", "log_sum", "log_place")


class ContactEventKind(IntEnum):
    """What happened to a pair of shapes in a call of `World.step`."""

    BEGIN = events_stage.BEGIN
    PERSIST = events_stage.PERSIST
    END = events_stage.END


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


class ContactEventLog:
    """Collects the events of an engine's steps."""

    def __init__(self, engine: Engine):
        self.engine = engine
        self.container = CONTACT_EVENTS(opens=64, logs=256)
        self.past: list[tuple[np.ndarray, ...]] = []
        self.make_room()

    def make_room(self) -> None:
        """Take the log out, and make room for all that another step can give."""
        e = self.container
        logged, opened = int(e.count[LOGGED]), int(e.count[OPEN])
        if logged:
            self.past.append(tuple(getattr(e, f)[:logged].copy() for f in _LOG_FIELDS))
            e.count[LOGGED] = 0
        room = opened + len(self.engine.detector.container.pair_a)
        if room > len(e.open) or room > len(e.log):
            kept = [getattr(e, f)[:opened].copy() for f in _OPEN_FIELDS]
            self.container = CONTACT_EVENTS(opens=2 * room, logs=4 * room)
            for f, values in zip(_OPEN_FIELDS, kept, strict=True):
                getattr(self.container, f)[:opened] = values
            self.container.count[OPEN] = opened

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
        earlier = steps - int(self.engine.world.steps[0])
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
        e, done = self.container, int(self.engine.world.steps[0])
        for k in range(int(e.count[OPEN])):
            if e.open[k, 2] == 0:
                a, b = e.open[k, :2]
                found.append(event(events_stage.PERSIST, done, a, b, e.open_sum[k], e.open_place[k]))
        return found

    def state(self) -> dict[str, np.ndarray]:
        """Copies of the pairs in events_stage."""
        e = self.container
        return {f: getattr(e, f)[: e.count[OPEN]].copy() for f in _OPEN_FIELDS}

    def set_state(self, state: dict[str, np.ndarray] | None) -> None:
        """Restore what `state` returned; None: nothing is in events_stage."""
        self.past = []
        number = 0 if state is None else len(state["open"])
        room = number + len(self.engine.detector.container.pair_a)
        self.container = CONTACT_EVENTS(opens=2 * room, logs=4 * room)
        if state is not None:
            self.container.count[OPEN] = number
            for f in _OPEN_FIELDS:
                getattr(self.container, f)[:number] = state[f]
