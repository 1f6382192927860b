"""Libraries of extras, which an installation may lack."""

from __future__ import annotations

import importlib
from typing import Any

from kido.errors import MissingExtraError


def library(module: str, feature: str, extra: str) -> Any:
    """An optional library.

    Raises:
        MissingExtraError: it is not installed; the message names the command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(feature, extra) from error
