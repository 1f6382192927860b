"""Warnings that name the place in a user's program, once for each."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

from kido.errors import KidoWarning

# Whether a user's call may come through a module of KIDO's, by the address of its names, which is never freed.
_PASSED: dict[tuple[str, ...], dict[int, bool]] = {}
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
    known = _PASSED.setdefault(through, {})
    while frame is not None:
        passed = known.get(id(frame.f_globals))
        if passed is None:
            name = str(frame.f_globals.get("__name__"))
            generated = frame.f_code.co_filename.startswith("<kido.")
            if not generated and (name.partition(".")[0] != "kido" or name.startswith("kido.cli")):
                return frame  # the program is a user too
            passed = generated or name.startswith((*through, "kido.turns", "kido.attributes"))
            known[id(frame.f_globals)] = passed
        if not passed:
            return None
        frame = frame.f_back
    return None
