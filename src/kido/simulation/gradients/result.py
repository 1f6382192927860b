"""What derivatives of steps are handed over as."""

from __future__ import annotations

from dataclasses import field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import dataclass
from kido.errors import StateError
from kido.math.transform import numbers_or_nan
from kido.reprs import brief

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StepDerivatives:
    """Derivatives of the state after a step or several, (q, u)+.

    Positions are differentiated along velocities: with dq = u dt a small motion of every joint, so that rows and
    columns of positions have the units and axes of velocities times seconds. n: coordinates of the world.

    Attributes:
        by_state: d(q, u)+ / d(q, u), (2n, 2n).
        by_commands: d(q, u)+ / d commands, (2n, n): of forces, or what else an actuator takes.
        by_parameters: d(q, u)+ / d parameter, (2n, k), by the parameter's name.
        modes: of each contact of the last step: "open", "sticking" or "sliding".
        margins: of each of them, by what speed it is apart from another mode [m/s]: 0 where there is no derivative.
        margin: the least of these, and of those of limits, joint friction and actuators that are rows; inf: of none.
    """

    by_state: Array
    by_commands: Array
    by_parameters: dict[str, Array] = field(default_factory=dict)
    modes: tuple[str, ...] = ()
    margins: Array = field(default_factory=lambda: np.zeros(0))
    margin: float = np.inf

    __repr__ = brief

    def pull_back(self, gradient: ArrayLike) -> tuple[Array, Array, dict[str, Array]]:
        """Gradient of a number by state, commands and parameters, from that by the state after the step (2n,).

        Raises:
            StateError: an array of another shape, or not finite.
        """
        g = numbers_or_nan(gradient)
        if g.shape != (len(self.by_state),) or not np.isfinite(g).all():
            raise StateError(f"pull_back: expected {len(self.by_state)} finite numbers, got {gradient!r:.80}")
        of_parameters = {name: g @ made for name, made in self.by_parameters.items()}
        return g @ self.by_state, g @ self.by_commands, of_parameters


@dataclass(frozen=True, eq=False)
class RolloutGradient:
    """Gradient of a loss over N steps. n: coordinates of the world.

    Attributes:
        by_state: by positions, along velocities, and velocities at the start (2n,).
        by_commands: by commands of each step (N, n).
        by_parameters: by parameters, by name.
        positions, velocities: of the start and after each step (N + 1, n).
    """

    by_state: Array
    by_commands: Array
    by_parameters: dict[str, Array] = field(default_factory=dict)
    positions: Array = field(default_factory=lambda: np.zeros((0, 0)))
    velocities: Array = field(default_factory=lambda: np.zeros((0, 0)))

    __repr__ = brief
