"""Libraries of extras, which an installation may lack."""

from __future__ import annotations

import importlib
import sys
from contextlib import suppress
from typing import Any

from kido.errors import MissingExtraError, StateError

# A library, and one whose machine code crashes Python where that was loaded before it (Ruckig 0.19.4, MuJoCo 4.0.0).
CRASHES_AFTER = {"ruckig": "mujoco"}


def library(module: str, feature: str, extra: str) -> Any:
    """An optional library.

    Raises:
        MissingExtraError: it is not installed; the message names the command that installs it.
        StateError: it would crash, because of another that was loaded before it.
    """
    other = CRASHES_AFTER.get(module)
    if other in sys.modules and module not in sys.modules:
        raise StateError(f"{feature}: {module} crashes where {other} was imported before it; import {module} first")
    for first, after in CRASHES_AFTER.items():
        if module == after and module not in sys.modules:
            with suppress(ImportError):
                importlib.import_module(first)
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(feature, extra) from error
