"""One door to all writers."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from kido.errors import KidoError

if TYPE_CHECKING:
    from kido.simulation import World
    from kido.skeleton import Skeleton

__all__ = ["save"]

WRITERS = {
    ".urdf": ("URDF", "kido.io.writers.urdf"),
    ".sdf": ("SDF", "kido.io.writers.sdf"),
    ".world": ("SDF", "kido.io.writers.sdf"),
    ".skel": ("SKEL", "kido.io.writers.skel"),
}


def save(model: Skeleton | World, path: str | Path, *, approximate: bool = False, meshes: str = "copy") -> list[str]:
    """Write a robot or a world in its initial state as a URDF, SDF or SKEL file.

    Numbers are written with all digits: what the format holds is read back as it was, but for the rounding of angles.

    Parameters:
        model: a skeleton, or a world (of one skeleton for URDF).
        path: the file; its extension (``.urdf``, ``.sdf``, ``.world``, ``.skel``) tells the format.
        approximate: what to do with joints, couplings and shapes that the format lacks: False refuses the model, True
            writes what comes nearest (joints as hinges in a chain, or a weld).
        meshes: "copy" copies mesh files into a folder beside the file; "reference" names them where they are.

    Returns:
        What is left out, changed or approximated, in words.

    Raises:
        KidoError: no model, an unknown format, or something the format cannot hold; no file is
            written then; or a file that cannot be written.
    """
    from kido.io.writers.meshes import MeshStore
    from kido.io.writers.unsupported import UnsupportedFeatures
    from kido.simulation import World
    from kido.skeleton import Skeleton

    if not isinstance(model, Skeleton | World):
        raise KidoError(f"save: expected a Skeleton or a World, got {type(model).__name__}")
    if not isinstance(path, str | os.PathLike):
        raise KidoError(f"save: expected the path of a file, got {path!r}")
    target = Path(path)
    found = WRITERS.get(target.suffix.lower())
    if found is None:
        raise KidoError(f"{path}: cannot write '{target.suffix}' files; expected one of {', '.join(WRITERS)}")
    unsupported = UnsupportedFeatures(found[0], bool(approximate))
    store = MeshStore(target, meshes, unsupported)
    try:
        text = import_module(found[1]).write(model, store, unsupported)
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise KidoError(f"{error.filename or path}: cannot be written: {error.strerror or error}") from None
    return unsupported.remarks
