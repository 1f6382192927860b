"""Files of robots and worlds: `load` reads any, `save` writes any; `urdf`, `sdf` and `skel` read one format each."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from kido.io.files import load, save

__all__ = ["load", "save"]

_MODULES = ("meshes", "sdf", "skel", "urdf")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"kido.io.{name}")
    raise AttributeError(f"module 'kido.io' has no attribute {name!r}")
