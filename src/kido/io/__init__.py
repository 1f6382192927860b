"""Files of robots and worlds: `load` reads any, `save` writes any; the other modules read one format each."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kido.io.files import load, load_motion, load_skeleton, load_world, save

__all__ = ["load", "load_motion", "load_skeleton", "load_world", "save"]

_MODULES = ("meshes", "mjcf", "motions", "sdf", "skel", "skel_old", "urdf", "vsk")

if TYPE_CHECKING:
    from kido.io import meshes as meshes
    from kido.io import mjcf as mjcf
    from kido.io import motions as motions
    from kido.io import sdf as sdf
    from kido.io import skel as skel
    from kido.io import skel_old as skel_old
    from kido.io import urdf as urdf
    from kido.io import vsk as vsk
else:  # checkers take a module that has it for one that has every name

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return import_module(f"kido.io.{name}")
        raise AttributeError(f"module 'kido.io' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, *(name for name in globals() if name.startswith("__"))})
