"""Steps of a live simulation: how many a frame takes, and pushes, forces for a while or while the mouse is held."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kido.errors import StateError


class Pacer:
    """Keeps simulated time in step with the clock, and the page alive when the simulation is too slow.

    Args:
        time_step: of the world [s].
        fps: frames per second of the page.
        clock: seconds, rising.
    """

    def __init__(self, time_step: float, fps: float = 60.0, clock: Callable[[], float] = time.perf_counter) -> None:
        self.time_step = float(time_step)
        self.frame = 1.0 / float(fps)
        self.speed = 1.0
        self._clock = clock
        self._last: float | None = None
        self._debt = 0.0
        self._cost: float | None = None
        self.real_time_factor = 0.0

    def pause(self) -> None:
        """Forget the time that has passed; the next frame starts afresh."""
        self._last = None
        self._debt = 0.0
        self.real_time_factor = 0.0

    def due(self) -> int:
        """Steps to take now. What the machine cannot do in one and a half frames is dropped, not piled up."""
        now = self._clock()
        if self._last is None:
            self._last = now
            return 1
        passed = min(now - self._last, 0.25)
        self._last = now
        affordable = 1 if not self._cost else max(1, int(1.5 * self.frame / self._cost))
        if math.isinf(self.speed):
            steps = affordable
        else:
            self._debt += passed * self.speed
            steps = min(int(self._debt / self.time_step + 1e-9), affordable)
            self._debt = min(self._debt - steps * self.time_step, 2 * self.frame * self.speed)
        if passed > 0:
            factor = steps * self.time_step / passed
            self.real_time_factor += 0.1 * (factor - self.real_time_factor)
        return steps

    def spent(self, steps: int, seconds: float) -> None:
        """Tell what the steps of this frame cost."""
        if steps > 0:
            cost = seconds / steps
            self._cost = cost if self._cost is None else self._cost + 0.2 * (cost - self._cost)


@dataclass(eq=False)
class Push:
    """A force on a body from now on.

    Attributes:
        body: the body pushed.
        force: (3,) world axes [N].
        offset: (3,) where it acts, in body axes from the body origin [m].
        until: simulated time of its end [s].
        target: where a spring pulls it to (3,), if one does; the force is then the spring's.
        stiffness: of the spring [N/m].
        damping: of the spring [N s/m].
    """

    body: Any
    force: np.ndarray
    offset: np.ndarray
    until: float
    target: np.ndarray | None = None
    stiffness: float = 0.0
    damping: float = 0.0

    def point(self) -> np.ndarray:
        """Where it acts, in the world (3,)."""
        X = np.asarray(self.body.world_transform)
        return X[:3, :3] @ self.offset + X[:3, 3]

    def renew(self) -> None:
        """Set the force of the spring for the body's present state."""
        if self.target is not None:
            velocity = np.asarray(self.body.linear_velocity(self.offset))
            self.force = self.stiffness * (self.target - self.point()) - self.damping * velocity


class Pusher:
    """Applies pushes to a world, step by step, beside whatever else acts on its bodies."""

    def __init__(self, world: Any) -> None:
        self.world = world
        self.pushes: list[Push] = []

    def add(self, body: Any, force: Any, duration: float, offset: Any = (0.0, 0.0, 0.0)) -> Push:
        """Push ``body`` with ``force`` (3,) [N, world axes] for ``duration`` [s of simulated time].

        Raises:
            StateError: a force, offset or duration that is not finite, or a duration not above 0.
        """
        f = np.array(force, dtype=float)
        r = np.array(offset, dtype=float)
        for name, v in (("force", f), ("offset", r)):
            if v.shape != (3,) or not np.all(np.isfinite(v)):
                raise StateError(f"Push {name} on body {body.name!r} is {v.tolist()}; expected three finite numbers.")
        if not duration > 0:
            raise StateError(f"Push duration on body {body.name!r} is {duration!r} s; expected a number above 0.")
        push = Push(body, f, r, float(self.world.time) + float(duration))
        self.pushes.append(push)
        return push

    def remove(self, push: Push) -> None:
        """End a push now."""
        if push in self.pushes:
            self.pushes.remove(push)

    def step(self, n: int) -> None:
        """Step the world n times with the pushes that are alive at each step.

        Other forces on it hold until they are changed, as in one long ``world.step(n)``.
        """
        world = self.world
        while n > 0:
            now = float(world.time)
            self.pushes = [p for p in self.pushes if p.until > now + 1e-9]
            if not self.pushes:
                world.step(n, reset_command=False)
                return
            end = min(p.until for p in self.pushes)
            m = n if end == float("inf") else min(n, max(1, math.ceil((end - now) / world.time_step - 1e-6)))
            if any(p.target is not None for p in self.pushes):
                m = 1
            for p in self.pushes:
                p.renew()
                p.body.add_external_force(p.force, offset=p.offset, force_is_local=False, offset_is_local=True)
            try:
                world.step(m, reset_command=False)
            finally:
                self._undo()
            n -= m

    def _undo(self) -> None:
        # An external force acts until it is cleared; only this push's share is taken away again. A body on
        # which nothing acts any more was cleared by someone else meanwhile.
        for p in self.pushes:
            if np.any(p.body.external_wrench):
                p.body.add_external_force(-p.force, offset=p.offset, force_is_local=False, offset_is_local=True)
