"""How many simulation steps a frame of the live view takes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable


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
