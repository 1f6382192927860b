"""Settings of a world's step: how contacts and limits behave, and the parameters of the solvers."""

from __future__ import annotations

import math
from typing import Any

from kido.constraints.row_origins import ROW_ORIGINS
from kido.errors import ModelError
from kido.math.transform import number_or_nan
from kido.solvers.problem import DEFAULT_SETTINGS

SETTINGS: dict[str, float] = {
    "erp": 0.2,  # share of a penetration that a step removes
    "slop": 0.0,  # [m] penetration that is left alone
    "max_correction": 0.01,  # [m] most that a step removes
    "skin": 1e-6,  # [m or rad] surfaces and limits this near to touching come together slowly
    "skin_share": 0.05,  # share of such a distance that a step removes
    "restitution_speed": 0.05,  # [m/s] slower impacts do not bounce
}

OPTIONS: dict[str, tuple[str, ...]] = {  # settings that are a choice, the default first
    "restitution_law": ("poisson", "newton"),
    "position_correction": ("split", "baumgarte"),
}


def checked_option(name: str, value: Any, what: str) -> str:
    """A value of one of the `OPTIONS`.

    Raises:
        ModelError: none that it has.
    """
    if not isinstance(value, str) or value not in OPTIONS[name]:
        raise ModelError(f"{what}: {name}: expected one of {', '.join(OPTIONS[name])}, got {value!r}")
    return value


def checked_settings(settings: dict[str, Any], what: str) -> dict[str, Any]:
    """All settings: those given, and the defaults of `SETTINGS`; the solvers' own defaults are theirs.

    Args:
        settings: by name, those of `SETTINGS`, `OPTIONS` and of `kido.solvers.problem.DEFAULT_SETTINGS`.
        what: the world, for messages.

    Raises:
        ModelError: an unknown setting, or a value that is no number or below zero.
    """
    valid = {**SETTINGS, **OPTIONS, **DEFAULT_SETTINGS}
    for key, value in settings.items():
        if key not in valid:
            raise ModelError(f"{what}: no setting {key!r}; valid are {', '.join(sorted(valid))}")
        if key in OPTIONS:
            checked_option(key, value, what)
        elif not 0.0 <= number_or_nan(value) < math.inf:
            raise ModelError(f"{what}: setting {key}: expected a number not below 0, got {value!r}")
    return {**SETTINGS, **{name: values[0] for name, values in OPTIONS.items()}, **settings}


def write_options(row_origins: ROW_ORIGINS, settings: dict[str, Any]) -> None:
    """Write the choices of `OPTIONS` into the parameters of a contact problem's rows."""
    row_origins.newton_restitution = settings["restitution_law"] == "newton"
    row_origins.baumgarte = settings["position_correction"] == "baumgarte"
