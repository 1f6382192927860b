"""Numbers that a step goes by: dampings and shares."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kido.errors import ModelError
from kido.math.transform import number_or_nan

# Name of a field of DIFFERENTIAL -> whether zero is allowed, largest number.
STEP_SETTINGS = {
    "damping": (False, np.inf),
    "error_damping": (True, np.inf),
    "least_singular_value": (True, np.inf),
    "share": (False, 1.0),
    "recovery_speed": (False, np.inf),
}


def checked(name: str, value: ArrayLike) -> float:
    """A number for a setting.

    Raises:
        ModelError: it is none, or out of range.
    """
    zero, most = STEP_SETTINGS[name]
    number = number_or_nan(value)
    if not (0.0 < number <= most or (zero and number == 0.0)) or not np.isfinite(number):
        raise ModelError(
            f"differential IK: {name}: expected a finite number {'>= 0' if zero else '> 0'}, got {value!r}"
        )
    return number
