"""What a model declares in its class: parameters, inputs, outputs, states, crossings and noise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes
from kido.errors import ModelError
from kido.math.transform import numbers_or_nan
from kido.systems.units import Unit, as_unit

if TYPE_CHECKING:
    from kido.systems.model import Model

Array = NDArray[np.float64]


class Declared(FixedAttributes):
    """Base of what a class of models declares.

    In the methods of a model its attribute is the value: an expression while equations are written down, numbers in
    models of plain Python. Outside of them it is a `Port`, and a parameter's is its value.

    Args:
        unit: such as "N m/A"; "": a pure number; None: any.
        shape: of an array; (): one number.
        doc: what it is.
    """

    name: str = ""
    kind = "declared"

    def __init__(self, unit: str | Unit | None = None, shape: int | tuple[int, ...] = (), doc: str = ""):
        self.unit: Unit | None = as_unit(unit)
        self.shape: tuple[int, ...] = _as_shape(shape)
        self.doc = str(doc)

    @property
    def size(self) -> int:
        """How many numbers it is."""
        return math.prod(self.shape)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: Model | None, owner: type | None = None) -> Any:
        if model is None:
            return self
        inside = model.inside
        if inside is not None:
            try:
                return inside[self.name]
            except KeyError:
                raise ModelError(
                    f"model {model.name!r}: {self.kind} {self.name!r} has no value here; known are {', '.join(inside)}"
                ) from None
        return model.port(self.name)

    def __set__(self, model: Model, value: Any) -> None:
        raise ModelError(
            f"model {model.name!r}: {self.kind} {self.name!r} cannot be assigned; methods return new values by name"
        )

    def checked(self, value: Any, what: str) -> Array:
        """A value as an array of its shape; one number stands for all.

        Raises:
            ModelError: another shape, or not finite.
        """
        array = numbers_or_nan(value)
        if isinstance(value, str) or np.isnan(array).any():
            raise ModelError(f"{what}: expected finite numbers, got {value!r:.100}")
        if array.shape != self.shape and array.shape != ():
            raise ModelError(f"{what}: expected shape {self.shape}, got {array.shape}")
        if not np.isfinite(array).all():
            raise ModelError(f"{what}: expected finite numbers, got {value!r:.100}")
        return np.broadcast_to(array, self.shape).astype(float)


class Parameter(Declared):
    """A number, or an array, that stays unless it is set.

    It may be set at any time, also while a system runs: nothing is traced anew.

    Args:
        default: value; None: it must be given.
        unit, shape, doc: as of `Declared`; the shape is that of the default unless it is given.
        low, high: bounds, which may be met.
    """

    kind = "parameter"

    def __init__(
        self,
        default: ArrayLike | None = None,
        unit: str | Unit | None = None,
        *,
        low: float = -np.inf,
        high: float = np.inf,
        shape: int | tuple[int, ...] | None = None,
        doc: str = "",
    ):
        super().__init__(unit, np.shape(default) if shape is None and default is not None else shape or (), doc)
        self.low, self.high = float(low), float(high)
        self.default = None if default is None else self.checked(default, "parameter: default")

    def checked(self, value: Any, what: str) -> Array:
        array = super().checked(value, what)
        if (array < self.low).any() or (array > self.high).any():
            raise ModelError(f"{what}: expected numbers from {self.low:g} to {self.high:g}, got {value!r:.100}")
        return array

    def __get__(self, model: Model | None, owner: type | None = None) -> Any:
        if model is None:
            return self
        if model.inside is not None:
            return model.inside[self.name]
        return model.parameter(self.name)

    def __set__(self, model: Model, value: Any) -> None:
        model.set_parameters(**{self.name: value})


class Input(Declared):
    """What a model is given by another one, once the two are connected.

    Args:
        unit, shape, doc: as of `Declared`.
        default: its value where nothing is connected; None: something must be.
    """

    kind = "input"

    def __init__(
        self,
        unit: str | Unit | None = None,
        shape: int | tuple[int, ...] = (),
        *,
        default: ArrayLike | None = None,
        doc: str = "",
    ):
        super().__init__(unit, shape, doc)
        self.default = None if default is None else self.checked(default, "input: default")


class Output(Declared):
    """What a model's `outputs` returns by its name.

    Args:
        unit, shape, doc: as of `Declared`.
        depends_on: inputs that it depends on at once, of models that are compiled or plain Python; None: all. Of traced
            models that is read off their equations.
    """

    kind = "output"

    def __init__(
        self,
        unit: str | Unit | None = None,
        shape: int | tuple[int, ...] = (),
        *,
        depends_on: tuple[str, ...] | None = None,
        doc: str = "",
    ):
        super().__init__(unit, shape, doc)
        self.depends_on = depends_on


class State(Declared):
    """What a model remembers: continuous if `derivatives` returns it, else changed by `update` or at crossings.

    Args:
        unit, shape, doc: as of `Declared`.
        initial: value at the start; models take another by the state's name.
    """

    kind = "state"

    def __init__(
        self,
        unit: str | Unit | None = None,
        initial: ArrayLike = 0.0,
        *,
        shape: int | tuple[int, ...] | None = None,
        doc: str = "",
    ):
        super().__init__(unit, np.shape(initial) if shape is None else shape, doc)
        self.initial = self.checked(initial, "state: initial")


class Crossing(Declared):
    """A moment at which a quantity that `crossings` returns passes zero; it ends a step of integration.

    It is seen by its signs at the two ends of a step: what passes zero twice within one is missed, so that steps of
    adaptive integrators are to be bounded (`max_step`). Where it jumps over zero between two steps, by a tick, in the
    steps of a world, at another crossing, or as a state or a parameter is set, it is passed where the next begins.
    What is zero at the start passes as it leaves.

    A method `at_<name>` of the model, if there is one, returns new values of states then. What bounces is to be put on
    zero there: it is then on neither side, and its next passing is seen, however soon. One that is passed again and
    again without time going on ends a run with a `StateError`.

    Args:
        direction: 1: it rises, -1: it falls, 0: either.
    """

    kind = "crossing"

    def __init__(self, direction: int = 0, doc: str = ""):
        super().__init__(None, (), doc)
        if direction not in (-1, 0, 1):
            raise ModelError(f"crossing: direction: expected -1, 0 or 1, got {direction!r}")
        self.direction = int(direction)


class Noise(Declared):
    """Standard normal numbers, others at each tick of a model with a rate.

    They depend on the seed of the system, the path of the model, the name and the number of the tick alone, so that
    neither order nor threads change them (`kido.systems.noise`).

    Args:
        shape, doc: as of `Declared`.
    """

    kind = "noise"

    def __init__(self, shape: int | tuple[int, ...] = (), doc: str = ""):
        super().__init__("", shape, doc)


def _as_shape(shape: Any) -> tuple[int, ...]:
    given = (shape,) if isinstance(shape, int | np.integer) and not isinstance(shape, bool) else shape
    if not isinstance(given, tuple | list) or not all(isinstance(n, int | np.integer) and n > 0 for n in given):
        raise ModelError(f"shape: expected a size above 0, or a tuple of them, got {shape!r}")
    return tuple(int(n) for n in given)
