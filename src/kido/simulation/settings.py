"""Settings of a world's step: how contacts and limits behave, and the parameters of the solvers."""

from __future__ import annotations

import math

from kido.errors import ModelError
from kido.math.transform import number_or_nan
from kido.solvers.problem import SETTING_NAMES

SETTINGS: dict[str, float] = {
    "erp": 0.2,  # share of a penetration that a step removes
    "slop": 0.0,  # [m] penetration that is left alone
    "max_correction": 0.01,  # [m] most that a step removes
    "skin": 1e-6,  # [m or rad] surfaces and limits this near to touching come together slowly
    "skin_share": 0.05,  # share of such a distance that a step removes
    "restitution_speed": 0.05,  # [m/s] slower impacts do not bounce
}


def checked_settings(settings: dict[str, float], what: str) -> dict[str, float]:
    """All settings: those given, and the defaults of `SETTINGS`; the solvers' own defaults are theirs.

    Args:
        settings: by name, those of `SETTINGS` and of `kido.solvers.problem.SETTING_NAMES`.
        what: the world, for messages.

    Raises:
        ModelError: an unknown setting, or a value that is no number or below zero.
    """
    valid = {**SETTINGS, **SETTING_NAMES}
    for key, value in settings.items():
        if key not in valid:
            raise ModelError(f"{what}: no setting {key!r}; valid are {', '.join(sorted(valid))}")
        if not 0.0 <= number_or_nan(value) < math.inf:
            raise ModelError(f"{what}: setting {key}: expected a number not below 0, got {value!r}")
    return {**SETTINGS, **settings}
