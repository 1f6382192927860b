"""When parts of a world at rest are no longer computed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from kido.errors import ModelError
from kido.math.transform import number_or_nan


@dataclass(frozen=True)
class Sleeping:
    """When parts of a world at rest are no longer computed.

    Skeletons that push each other, or are tied to each other, fall asleep together once each of them has been quiet
    for `time`. Of a sleeping skeleton velocities are zero and positions stay as they are.

    Args:
        speed: a skeleton is quiet while no coordinate of it is faster [m/s]: l |u|, where l is 1 m/m for a
            translation and the radius of gyration, of all that it moves, for a rotation.
        time: [s]

    Raises:
        ModelError: a speed below zero, or a time that is not positive.
    """

    speed: float = 1e-3
    time: float = 0.5

    def __post_init__(self) -> None:
        speed, time = number_or_nan(self.speed), number_or_nan(self.time)
        if not 0.0 <= speed < math.inf:
            raise ModelError(f"sleeping: speed: expected a number not below 0 [m/s], got {self.speed!r}")
        if not 0.0 < time < math.inf:
            raise ModelError(f"sleeping: time: expected a positive number [s], got {self.time!r}")


def checked_sleeping(value: Any, what: str) -> Sleeping | None:
    """A rule from what users give.

    Raises:
        ModelError: it is none.
    """
    if value is None or value is False:
        return None
    if value is True:
        return Sleeping()
    if not isinstance(value, Sleeping):
        raise ModelError(f"{what}: sleeping: expected True, False or kido.Sleeping(), got {value!r}")
    return value
