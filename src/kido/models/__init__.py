"""Models that come with KIDO, made for it: robots (URDF) and worlds (SKEL), of primitive shapes alone.

`names` lists them, `path` finds one's file, which `kido.load` reads. The block worlds are also built here in
any size: `stack`, `container`, `dominoes`.
"""

from kido.models.files import names, path
from kido.models.scenes import Block, Scene, container_scene, dominoes_scene, stack_scene
from kido.models.worlds import build_world, container, dominoes, stack

__all__ = [
    "Block",
    "Scene",
    "build_world",
    "container",
    "container_scene",
    "dominoes",
    "dominoes_scene",
    "names",
    "path",
    "stack",
    "stack_scene",
]
