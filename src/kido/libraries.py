"""Libraries of extras, which an installation may lack."""

from __future__ import annotations

import importlib
import sys
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

from kido.errors import MissingExtraError, StateError

# A library that crashes Python where another was imported before it, if that has a part: MuJoCo 4.0 makes the machine
# code of its reader of USD known to all of the process, and Ruckig 0.19 runs into it.
CRASHES_AFTER = {"ruckig": ("mujoco", "mujoco._usd")}


def library(module: str, feature: str, extra: str) -> Any:
    """An optional library.

    Raises:
        MissingExtraError: it is not installed; the message names the command that installs it.
        StateError: it would crash, because of another that was loaded before it.
    """
    other, part = CRASHES_AFTER.get(module, ("", ""))
    if other in sys.modules and module not in sys.modules and find_spec(part):
        raise StateError(f"{feature}: {module} crashes where {other} was imported before it; import {module} first")
    for first, (after, _) in CRASHES_AFTER.items():
        if module == after and module not in sys.modules:
            with suppress(ImportError):
                importlib.import_module(first)
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(feature, extra) from error
