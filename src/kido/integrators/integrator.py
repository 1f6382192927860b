"""What an integrator is: one step from a state to the next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from kido.attributes import FixedAttributes
from kido.errors import ModelError
from kido.math.transform import number_or_nan

if TYPE_CHECKING:
    from kido.integrators.schema import MOTION

Array = NDArray[np.float64]


class Mechanics(Protocol):
    """What integrators ask of a mechanical system: `kido.integrators.System` describes it."""

    def accelerations(self, time: float, positions: Array, velocities: Array) -> Array: ...
    def advance(self, positions: Array, velocities: Array, duration: float = 1.0) -> Array: ...
    def compiled_step(
        self, integrator: CompiledIntegrator, time: float, positions: Array, velocities: Array, h: float
    ) -> tuple[Array, Array]: ...


class Integrator(FixedAttributes, ABC):
    """Takes a mechanical system from one time to another. Subclass it, and write `step`, for your own.

    An integrator holds parameters and no state, so that one object serves any number of systems.

    Example:
        >>> class Heun(kido.integrators.Integrator):
        ...     def step(self, system, time, positions, velocities, time_step):
        ...         h, q, u = time_step, positions, velocities
        ...         a = system.accelerations(time, q, u)
        ...         b = system.accelerations(time + h, system.advance(q, u, h), u + h * a)
        ...         return system.advance(q, u + 0.5 * h * a, h), u + 0.5 * h * (a + b)
    """

    @abstractmethod
    def step(
        self, system: Mechanics, time: float, positions: Array, velocities: Array, time_step: float
    ) -> tuple[Array, Array]:
        """One step.

        Args:
            system: what is integrated: `accelerations(time, positions, velocities)`, and
                `advance(positions, velocities, duration)`, which moves positions on their manifold.
            time: at the start of the step [s].
            positions: (dofs,) at the start [m, rad].
            velocities: (dofs,) at the start [m/s, rad/s].
            time_step: size of the step [s].

        Returns:
            Positions and velocities (dofs,) at the end of the step.
        """

    @property
    def name(self) -> str:
        """What recordings and messages call it: the class's name."""
        return type(self).__name__

    def parameters(self) -> dict[str, Any]:
        """Its parameters by name, as recordings keep them; those of a dataclass are found by themselves."""
        return asdict(self) if is_dataclass(self) and not isinstance(self, type) else {}


class CompiledIntegrator(Integrator):
    """An integrator whose step is compiled, so that a whole motion needs no Python.

    Class attributes:
        adaptive: step sizes follow an estimate of the error; `max_step` is the largest then [s].
        looks_ahead: the step function needs data of the step's end besides those of its start.
    """

    adaptive: ClassVar[bool] = False
    looks_ahead: ClassVar[bool] = False
    max_step: float = float("inf")

    @property
    @abstractmethod
    def step_function(self) -> Any:
        """The step function, a callback as `kido.integrators.schema` describes."""

    def configure(self, motion: MOTION) -> None:
        """Write the method's coefficients and settings."""

    def step(
        self, system: Mechanics, time: float, positions: Array, velocities: Array, time_step: float
    ) -> tuple[Array, Array]:
        """One step in compiled code."""
        return system.compiled_step(self, time, positions, velocities, time_step)


def positive(value: Any, what: str, *, zero: bool = False, infinite: bool = False) -> float:
    """A checked number above zero.

    Raises:
        ModelError: it is none.
    """
    number = number_or_nan(value)
    if isinstance(value, bool) or np.isnan(number) or number < 0.0 or (number == 0.0 and not zero):
        raise ModelError(f"{what}: expected a number {'not below' if zero else 'above'} 0, got {value!r}")
    if np.isinf(number) and not infinite:
        raise ModelError(f"{what}: expected a finite number, got {value!r}")
    return number


def count(value: Any, what: str, *, zero: bool = False) -> int:
    """A checked whole number above zero, or not below it.

    Raises:
        ModelError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < (0 if zero else 1):
        raise ModelError(f"{what}: expected a whole number {'not below' if zero else 'above'} 0, got {value!r}")
    return int(value)
