"""Where the bundled model files lie."""

from __future__ import annotations

from pathlib import Path

from kido.errors import NameLookupError

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
