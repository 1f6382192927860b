"""Signals that come from nowhere: numbers that stay until they are set."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from kido.errors import ModelError
from kido.math.transform import numbers_or_nan
from kido.systems.declarations import Output, Parameter
from kido.systems.model import Model


class Constant(Model):
    """A number or an array that stays until it is set: what is wanted of a controller, say.

    Args:
        name: in its assembly.
        value: of the output and of the parameter `setting`, which may be set while a system runs.
        unit: of both; None: any.

    Raises:
        ModelError: a value that is not finite, or no unit.

    Example:
        >>> wanted = system.add(Constant("wanted", 0.8, "rad"))
        >>> system.connect(wanted.value, control.wanted)
        >>> wanted.setting = 0.4
    """

    setting = Parameter(0.0)
    value = Output()

    def __init__(self, name: str | None = None, value: ArrayLike = 0.0, unit: Any = None):
        super().__init__(name)
        numbers = numbers_or_nan(value)
        declared = Parameter(unit=unit, shape=numbers.shape)
        try:
            declared.default = declared.checked(numbers, "value")
        except ModelError as error:
            raise ModelError(f"model {self.name!r}: {error}") from None
        self.redeclare(setting=declared, value=Output(unit, numbers.shape))

    def outputs(self):
        return {"value": self.setting}
