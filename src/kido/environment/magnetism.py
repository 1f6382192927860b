"""Magnetic field of a planet as that of a dipole."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kido.environment.checks import Array, outside
from kido.math.transform import as_vector


def dipole_field(position: ArrayLike, moment: ArrayLike) -> Array:
    """B = (3 (m . r) r / |r|^2 - m) / |r|^3 of a dipole at the origin [T].

    Args:
        position: r (..., 3) [m].
        moment: m (3,), in the axes of `position` and times mu_0/(4 pi) [T m^3]; that of a planet of radius R with the
            field's first harmonics g10, g11, h11 [T] is R^3 (g11, h11, g10), of the Earth some
            6371200^3 (-1450.7e-9, 4652.9e-9, -29404.8e-9) in axes that turn with it (IGRF-13, 2020).

    Raises:
        StateError: a position that is not finite or is the origin; ModelError: no finite moment.
    """
    r, d = outside(position, "dipole_field: position")
    m = as_vector(moment, "dipole_field: moment")
    return (3.0 * np.sum(m * r, axis=-1, keepdims=True) * r / d**2 - m) / d**3
