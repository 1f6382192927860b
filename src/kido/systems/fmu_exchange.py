"""A system as an FMU for model exchange: another program integrates its states, and tells it when events are.

Source: Modelica Association, Functional Mock-up Interface 3.0.2, section 3.
"""

from __future__ import annotations

import numpy as np

from kido.systems import machine, programs
from kido.systems import schema as kinds
from kido.systems.clock import SECOND
from kido.systems.engine import Engine
from kido.systems.system import System

_CLOSE = 1  # [ns] between a tick and what a program calls its time


class Exchange:
    """What another program asks a system of one structure, while it integrates.

    Args:
        system: without a world, whose steps are its own, and without models that want to know of steps (FMUs).
    """

    def __init__(self, system: System):
        self.system = system
        self.engine: Engine = system.engine
        linked = self.engine.linked
        self.states = slice(linked.first_state, linked.first_state + linked.num_states)
        self.start()

    @staticmethod
    def possible(system: System) -> bool:
        """Whether a system can be integrated by another program."""
        return system.world is None and not system.engine.linked.starts

    def start(self) -> None:
        """From what it has been given."""
        self.engine.system.before[:] = np.nan
        machine.look_now(self.engine.system.address)

    def set_time(self, time: float) -> None:
        """[s]"""
        engine = self.engine
        engine.system.elapsed = time - engine.system.now / SECOND
        engine.value[kinds.TIME] = time

    def derivatives(self) -> list[float]:
        """Of continuous states, at the present ones."""
        engine = self.engine
        engine.check(programs.run_one(engine.system.address, kinds.DERIVE))
        return engine.value[engine.system.rate_slot[: engine.linked.num_states]].tolist()

    def crossings(self) -> np.ndarray:
        """What events are at zero of."""
        engine = self.engine
        if len(engine.linked.crossings) == 0:
            return np.empty(0)
        programs.run_one(engine.system.address, kinds.CROSSINGS)
        return engine.value[engine.system.crossing].copy()

    def indicators(self) -> np.ndarray:
        """`crossings`, for a program after each of its steps: what began at zero has left it on this side."""
        now, before = self.crossings(), self.engine.system.before[: len(self.engine.linked.crossings)]
        before[:] = np.where(before == 0.0, now, before)
        return now

    def event(self) -> bool:
        """Do what is due now, and what crossings that were passed bring about. Returns whether states are others."""
        engine, s = self.engine, self.engine.system
        s.events = 0
        engine.check(machine.look_now(s.address))
        time, due = engine.time, self._next()
        if due is not None and round(time * SECOND) >= due - _CLOSE:
            s.now, s.elapsed, s.ticked = due, 0.0, 0
            engine.value[kinds.TIME] = engine.time
            engine.tick(lambda: None)
            self.set_time(time)
        return bool(s.events)

    def _next(self) -> int | None:
        s, rates = self.engine.system, len(self.engine.linked.rates)
        return int(s.next[:rates].min()) if rates else None

    def next_event(self) -> float | None:
        """When the next tick is [s]; None: there is none."""
        due = self._next()
        return None if due is None else due / SECOND
