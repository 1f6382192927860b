"""What drives and leads our vehicles, as files of assemblies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kido import devices, environment
from kido.errors import NameLookupError
from kido.models.space import SpacecraftControl
from kido.skeleton import BodyNode, Skeleton
from kido.systems import Assembly, load_assembly

_FOLDER = Path(__file__).parent


def assembly_names() -> list[str]:
    """Names of the files, in alphabetical order."""
    return sorted(file.stem for file in _FOLDER.glob("*.yaml"))


def assembly_path(name: str) -> Path:
    """File of the assembly `name`, to read and to copy. Raises `NameLookupError` if there is none."""
    if name not in assembly_names():
        raise NameLookupError("bundled assembly", name, assembly_names())
    return _FOLDER / f"{name}.yaml"


def assembly(name: str, on: BodyNode | Skeleton, as_name: str | None = None, **parameters: Any) -> Assembly:
    """An assembly of a file of ours, whose models are those of `kido.devices` and `kido.environment`.

    Args:
        name: `rover`, what `rover` carries: drives, sensors and guidance; `spacecraft`, the same of `spacecraft` in
            orbit near a target; `wheel`, a driven wheel, its body too, on any body.
        on: skeleton whose joints and bodies are meant, or body that it hangs on.
        as_name: of the assembly; by default `name`.
        **parameters: of the file.

    Raises:
        NameLookupError: there is no such file.
        FileFormatError, MissingExtraError: as of `kido.systems.load_assembly`.
    """
    classes: dict[str, Any] = {"SpacecraftControl": SpacecraftControl}
    for module in (devices, environment):
        classes |= {key: getattr(module, key) for key in module.__all__ if isinstance(getattr(module, key), type)}
    return load_assembly(assembly_path(name), classes, as_name, on=on, **parameters)
