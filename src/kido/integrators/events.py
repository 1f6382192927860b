"""Moments at which a function of the motion passes through zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError, StateError
from kido.integrators.integrator import Integrator, count
from kido.math.transform import as_flag, number_or_nan, takes
from kido.reprs import brief
from kido.skeleton import DegreeOfFreedom, Joint, Skeleton

if TYPE_CHECKING:
    from kido.integrators.system import System

Array = NDArray[np.float64]
State = tuple[Array, Array]

TRIES = 100
ROOT_SHARE = 1e-9  # share of a step within which the interpolant's root is looked for
TIME_ROUNDING = 4e-16  # share of a time by which no method can tell it better


@dataclass(frozen=True)
class Event:
    """A function of time and state whose passages through zero are looked for.

    Args:
        function: (time, skeleton) -> number; the skeleton has the state of that time.
        direction: 1: upwards only; -1: downwards only; 0: both.
        terminal: the motion ends there.
        name: for the report.
        checks: places in each step at which the function's sign is looked at. Two passages between neighbours go
            unseen.

    Raises:
        ModelError: no function of two arguments, another direction, a number that is not a whole one above 0.

    Example:
        >>> low = Event(lambda time, arm: arm.body("hand").world_transform[2, 3] - 0.1, direction=-1, terminal=True)
        >>> motion = simulate(arm, DormandPrince(rtol=1e-9), 5.0, events=[low, Event.passing(arm.dofs[0], 1.0)])
        >>> motion.events[0].time
    """

    function: Callable[[float, Skeleton], float]
    direction: int = 0
    terminal: bool = False
    name: str = "event"
    checks: int = 4

    def __post_init__(self) -> None:
        if not callable(self.function) or not takes(self.function, 2):
            raise ModelError(f"event: expected a function of the time and the skeleton, got {self.function!r}")
        if isinstance(self.direction, bool) or self.direction not in (-1, 0, 1):
            raise ModelError(f"event {self.name!r}: direction: expected 1, 0 or -1, got {self.direction!r}")
        if not isinstance(self.name, str):
            raise ModelError(f"event: name: expected a text, got {self.name!r}")
        object.__setattr__(self, "terminal", as_flag(self.terminal, f"event {self.name!r}: terminal"))
        object.__setattr__(self, "checks", count(self.checks, f"event {self.name!r}: checks"))

    @classmethod
    def passing(cls, dof: DegreeOfFreedom | Joint, value: float = 0.0, **options: Any) -> Event:
        """A coordinate passes a position [m or rad].

        Args:
            dof: the coordinate, or a joint that has one.
            value: the position.
            **options: of `Event`.
        """
        dof = _coordinate(dof)
        at = number_or_nan(value)
        if not np.isfinite(at):
            raise ModelError(f"event: dof {dof.name!r}: expected a finite position, got {value!r}")
        options.setdefault("name", f"{dof.name} passes {at:g}")
        return cls(_Passing(dof, at), **options)

    @classmethod
    def turning(cls, dof: DegreeOfFreedom | Joint, **options: Any) -> Event:
        """A coordinate's velocity passes zero."""
        dof = _coordinate(dof)
        options.setdefault("name", f"{dof.name} turns")
        return cls(_Turning(dof), **options)

    @classmethod
    def limit(cls, dof: DegreeOfFreedom | Joint, **options: Any) -> Event:
        """A coordinate leaves its position limits.

        Raises:
            ModelError: it has none.
        """
        dof = _coordinate(dof)
        lower, upper = float(dof.position_lower_limit), float(dof.position_upper_limit)
        if not (np.isfinite(lower) or np.isfinite(upper)):
            raise ModelError(f"event: dof {dof.name!r} has no position limits")
        options.setdefault("name", f"{dof.name} at its limit")
        options.setdefault("direction", -1)
        return cls(_Room(dof, lower, upper), **options)


# Classes, not functions within functions: motions with events are pickled.


@dataclass(frozen=True)
class _OfCoordinate:
    """A function of a coordinate of the skeleton that moves."""

    dof: DegreeOfFreedom

    def _index(self, skeleton: Skeleton) -> int:
        if self.dof.joint.skeleton is not skeleton:
            raise ModelError(f"event: dof {self.dof.name!r} is no coordinate of skeleton {skeleton.name!r}")
        return self.dof.index


@dataclass(frozen=True)
class _Passing(_OfCoordinate):
    value: float

    def __call__(self, time: float, skeleton: Skeleton) -> float:
        return float(skeleton.positions[self._index(skeleton)]) - self.value


@dataclass(frozen=True)
class _Turning(_OfCoordinate):
    def __call__(self, time: float, skeleton: Skeleton) -> float:
        return float(skeleton.velocities[self._index(skeleton)])


@dataclass(frozen=True)
class _Room(_OfCoordinate):
    lower: float
    upper: float

    def __call__(self, time: float, skeleton: Skeleton) -> float:
        q = float(skeleton.positions[self._index(skeleton)])
        return min(q - self.lower, self.upper - q)


class Crossing(NamedTuple):
    """A passage of an event's function through zero.

    Attributes:
        event: whose it is.
        time: [s], to rounding where the motion goes through; it is that of a step of the integrator which ends there.
        positions, velocities: (dofs,) the state.
        direction: 1: the function rose; -1: it fell.
    """

    event: Event
    time: float
    positions: Array
    velocities: Array
    direction: int

    __repr__ = brief


def checked_events(events: Any) -> tuple[Event, ...]:
    """A list of events from one or several.

    Raises:
        ModelError: something else.
    """
    if events is None:
        return ()
    if isinstance(events, Event) or not isinstance(events, Sequence):
        events = (events,)
    for event in events:
        if not isinstance(event, Event):
            raise ModelError(f"simulate: events: expected kido.integrators.Event objects, got {event!r}")
    return tuple(events)


def _coordinate(item: Any) -> DegreeOfFreedom:
    if isinstance(item, Joint) and item.num_dofs == 1:
        item = item.dofs[0]
    if not isinstance(item, DegreeOfFreedom):
        raise ModelError(f"event: expected a coordinate or a joint that has one, got {item!r}")
    return item


class EventWatch:
    """Looks for passages in step after step.

    Args:
        system, integrator: what is integrated, and how.
        skeleton: on which functions are evaluated.
        events: what is looked for.
    """

    def __init__(self, system: System, integrator: Integrator, skeleton: Skeleton, events: tuple[Event, ...]):
        self.system, self.integrator, self.skeleton, self.events = system, integrator, skeleton, events
        self.found: list[Crossing] = []
        self._sides: list[int] = []

    def begin(self, time: float, state: State) -> None:
        """Note on which sides of zero the functions are at the start; at zero neither."""
        self._sides = [int(np.sign(self._value(event, time, state))) for event in self.events]

    def step(self, segment: Any, before: State, after: State) -> Crossing | None:
        """Look through a step.

        Args:
            segment: its interpolant.
            before, after: the states at its ends.

        Returns:
            The passage that ends the motion, if there is one.
        """
        found: list[Crossing] = []
        for k, event in enumerate(self.events):
            left = segment.start
            for j in range(1, event.checks + 1):
                last = j == event.checks
                right = segment.end if last else segment.start + segment.size * j / event.checks
                side = int(np.sign(self._value(event, right, after if last else segment(right))))
                old, self._sides[k] = self._sides[k], side
                if old != 0 and side != old and event.direction in (0, -old):
                    time, state = self._locate(event, segment, before, left, right, old)
                    found.append(Crossing(event, time, *state, -old))
                left = right
        found.sort(key=lambda crossing: crossing.time)
        for crossing in found:
            self.found.append(crossing)
            if crossing.event.terminal:
                return crossing
        return None

    def _value(self, event: Event, time: float, state: State) -> float:
        self.skeleton.positions, self.skeleton.velocities = state
        value = number_or_nan(event.function(time, self.skeleton))
        if not np.isfinite(value):
            raise StateError(f"event {event.name!r}: expected a finite number at t = {time:g} s, got {value!r}")
        return value

    def _locate(
        self, event: Event, segment: Any, before: State, left: float, right: float, side: int
    ) -> tuple[float, State]:
        """Time and state of a passage between two times, on whose sides the function has different signs.

        First on the interpolant; then steps of the integrator that end at the time are taken in its place, whose
        error is that of steps. Their times follow by the interpolant's slope.
        """
        low, high = left, right
        f_low, f_high = (self._value(event, t, segment(t)) for t in (low, high))
        if f_low * side <= 0.0 or f_high * side > 0.0:  # the interpolant's ends are not quite the step's
            f_low, f_high = float(side), -float(side)
        time, scale = high, max(abs(f_low), abs(f_high))
        for _ in range(TRIES):
            time = low + f_low / (f_low - f_high) * (high - low)
            if high - low <= ROOT_SHARE * segment.size or not low < time < high:
                break
            value = self._value(event, time, segment(time))
            if value * side > 0.0:  # the Illinois rule: a bound that stays is made to count for less
                low, f_low, f_high = time, value, 0.5 * f_high
            else:
                high, f_high, f_low = time, value, 0.5 * f_low
            if abs(value) <= ROOT_SHARE * scale:
                break
        wide = 1e-4 * segment.size
        a, b = max(segment.start, time - wide), min(segment.end, time + wide)
        slope = (self._value(event, b, segment(b)) - self._value(event, a, segment(a))) / (b - a)
        moved = np.inf
        while True:
            state = self._stepped(segment, before, time)
            value = self._value(event, time, state)
            if slope == 0.0 or value == 0.0:
                return time, state
            new = min(max(time - value / slope, segment.start), segment.end)
            if (
                abs(new - time) <= TIME_ROUNDING * max(abs(segment.start), abs(segment.end))
                or abs(new - time) > 0.5 * moved
            ):
                return time, state
            moved, time = abs(new - time), new

    def _stepped(self, segment: Any, before: State, time: float) -> State:
        """The state at a time, by a step from the start of the segment."""
        h = time - segment.start
        if h <= 0.0:
            return before
        return self.system.step(self.integrator, segment.start, *before, h)
