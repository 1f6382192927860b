"""Where compiled kernels are kept."""

from __future__ import annotations

import os
import sys
import warnings
from functools import cache
from pathlib import Path


@cache
def cache_directory() -> Path:
    """Where compiled kernels are kept: ``KIDO_CACHE_DIR``, else the user's cache directory.

    Warns of a directory in which all users may write: what is in it is run.
    """
    found = _cache_directory()
    try:
        open_to_all = os.name != "nt" and bool(found.stat().st_mode & 0o002)
    except OSError:
        open_to_all = False
    if open_to_all:
        warnings.warn(
            f"{found}: everybody may write in this directory of compiled code; set KIDO_CACHE_DIR to one of your own",
            RuntimeWarning,
            stacklevel=2,
        )
    return found


def _cache_directory() -> Path:
    given = os.environ.get("KIDO_CACHE_DIR")
    if given:
        return Path(given).expanduser()
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    elif os.name == "nt":
        base = Path(os.environ.get("LOCALAPPDATA", str(Path.home())))
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")))
    return base / "kido" / "kernels"
