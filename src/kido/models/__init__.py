"""Models that come with KIDO, made for it: robots (URDF) and worlds (SKEL), of primitive shapes alone.

`names` lists them, `path` finds one's file, which `kido.load` reads; `start_positions` are those from which a robot
moves that would stand still. The block worlds are also built here in any size: `stack`, `container`, `dominoes`;
`mixed_shapes` is a field of shapes of all kinds. Mechanisms with closed loops and known motions: `andrews_squeezer` and
others. `rover` is a six-wheeled vehicle, `lander` one on legs, `spacecraft` one with reaction wheels; a `Landing` flies
the second to the ground of Mars. `assembly` has what drives and leads them, from files.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kido.errors import NameLookupError
from kido.models.scenes import Block, Scene, container_scene, dominoes_scene, stack_scene

if TYPE_CHECKING:
    from kido.models.assemblies import assembly, assembly_names, assembly_path
    from kido.models.landing import Landing
    from kido.models.mechanisms import (
        Mechanism,
        andrews_squeezer,
        bennett,
        bricard,
        loop_pendulum,
        n_four_bar,
        slider_crank,
        spatial_slider_crank,
    )
    from kido.models.space import SpacecraftControl, lander, spacecraft
    from kido.models.vehicles import rover
    from kido.models.worlds import build_world, container, dominoes, mixed_shapes, stack

__all__ = [
    "Block",
    "Landing",
    "Mechanism",
    "Scene",
    "SpacecraftControl",
    "andrews_squeezer",
    "assembly",
    "assembly_names",
    "assembly_path",
    "bennett",
    "bricard",
    "build_world",
    "container",
    "container_scene",
    "dominoes",
    "dominoes_scene",
    "lander",
    "loop_pendulum",
    "mixed_shapes",
    "n_four_bar",
    "names",
    "path",
    "rover",
    "slider_crank",
    "spacecraft",
    "spatial_slider_crank",
    "stack",
    "stack_scene",
    "start_positions",
]


_WORLDS = ("build_world", "container", "dominoes", "mixed_shapes", "stack")
_MECHANISMS = (
    "Mechanism", "andrews_squeezer", "bennett", "bricard", "loop_pendulum", "n_four_bar", "slider_crank",
    "spatial_slider_crank",
)  # fmt: skip
_MODULES = {
    "kido.models.worlds": _WORLDS,
    "kido.models.mechanisms": _MECHANISMS,
    "kido.models.vehicles": ("rover",),
    "kido.models.space": ("SpacecraftControl", "lander", "spacecraft"),
    "kido.models.landing": ("Landing",),
    "kido.models.assemblies": ("assembly", "assembly_names", "assembly_path"),
}


if not TYPE_CHECKING:  # checkers take a module that has it for one that has every name

    def __getattr__(name: str) -> Any:
        """The builders, which need the whole simulation, are imported on first use; finding a file is quick."""
        for module, made in _MODULES.items():
            if name in made:
                return getattr(import_module(module), name)
        raise AttributeError(f"module 'kido.models' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


_FOLDER = Path(__file__).parent
_SUFFIXES = (".urdf", ".skel")


def names() -> list[str]:
    """Names of the bundled models, in alphabetical order."""
    return sorted(file.stem for file in _FOLDER.iterdir() if file.suffix in _SUFFIXES)


def path(name: str) -> Path:
    """File of the bundled model `name`, for `kido.load`.

    Raises `NameLookupError`, which lists the names, if there is no such model.
    """
    known = names()
    if name not in known:
        raise NameLookupError("bundled model", name, known)
    return next(file for file in (_FOLDER / (name + s) for s in _SUFFIXES) if file.is_file())


_STARTS = {
    # At zero the arm stands upright, in balance: nothing would ever move.
    "arm7": {
        "shoulder_yaw": 0.4,
        "shoulder_pitch": 0.9,
        "arm_roll": 0.5,
        "elbow": 1.2,
        "forearm_roll": -0.6,
        "wrist_pitch": 0.7,
    },
}


def start_positions(name: str) -> dict[str, float]:
    """Positions by joint [rad, m] from which `kido simulate` starts the bundled model `name`; others are zero.

    Raises `NameLookupError`, which lists the names, if there is no such model.
    """
    path(name)
    return dict(_STARTS.get(name, {}))
