"""Models that come with KIDO, made for it: robots (URDF) and worlds (SKEL), of primitive shapes alone.

`names` lists them, `path` finds one's file, which `kido.load` reads. The block worlds are also built here in
any size: `stack`, `container`, `dominoes`; `mixed_shapes` is a field of shapes of all kinds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kido.models.files import names, path
from kido.models.scenes import Block, Scene, container_scene, dominoes_scene, stack_scene

if TYPE_CHECKING:
    from kido.models.worlds import build_world, container, dominoes, mixed_shapes, stack

__all__ = [
    "Block",
    "Scene",
    "build_world",
    "container",
    "container_scene",
    "dominoes",
    "dominoes_scene",
    "mixed_shapes",
    "names",
    "path",
    "stack",
    "stack_scene",
]


def __getattr__(name: str) -> Any:
    """The builders, which need the whole simulation, are imported on first use; finding a file is quick."""
    if name in ("build_world", "container", "dominoes", "mixed_shapes", "stack"):
        return getattr(import_module("kido.models.worlds"), name)
    raise AttributeError(f"module 'kido.models' has no attribute {name!r}")
