"""Warnings that name the place in a user's program, once for each."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

from kido.errors import KidoWarning

_WARNED: dict[tuple[str, str, int], Any] = {}  # the list of filters of that time, by what for and place


def warn_user(about: str, text: Callable[[], str], through: tuple[str, ...]) -> None:
    """Warn of something that a user's program does; nothing if KIDO itself does it.

    Args:
        about: names the kind of mistake: each place is told once of each kind, as long as warnings are filtered alike.
        text: makes the message, or nothing where there is nothing to warn of.
        through: modules and packages of KIDO that a user's call may come through.
    """
    frame = _user(sys._getframe(1), through)
    if frame is None:
        return
    place = frame.f_code.co_filename, frame.f_lineno
    if _WARNED.get((about, *place)) is warnings.filters:
        return
    if message := text():
        registry = frame.f_globals.setdefault("__warningregistry__", {})
        module = frame.f_globals.get("__name__") or "<unknown>"
        warnings.warn_explicit(message, KidoWarning, *place, module, registry)
        _WARNED[about, *place] = warnings.filters


def _user(frame: FrameType | None, through: tuple[str, ...]) -> FrameType | None:
    """The first frame that is not KIDO's; None if others of KIDO than those of `through` come before."""
    while frame is not None:
        if not frame.f_code.co_filename.startswith("<kido."):  # generated code
            name = str(frame.f_globals.get("__name__"))
            if name.partition(".")[0] != "kido" or name.startswith("kido.cli"):  # the program is a user too
                return frame
            if not name.startswith((*through, "kido.turns", "kido.attributes")):
                return None
        frame = frame.f_back
    return None
