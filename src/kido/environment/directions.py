"""Directions as parameters of models."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.math.transform import as_unit_vector
from kido.systems import Parameter


class Direction(Parameter):
    """A parameter (3,) whose length does not count: whenever it is set it is made a unit vector.

    Args:
        default: a vector that is not zero.
        doc: what it is.

    Raises:
        ModelError: where it is set: no three finite numbers, or the zero vector.
    """

    def __init__(self, default: ArrayLike, doc: str = ""):
        super().__init__(default, shape=3, doc=doc)

    def checked(self, value: ArrayLike, what: str) -> NDArray[np.float64]:
        return as_unit_vector(value, what)


__all__ = ["Direction"]
