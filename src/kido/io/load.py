"""One door to every kind of model file."""

from __future__ import annotations

import inspect
import os
from importlib import import_module
from pathlib import Path
from typing import Any

from kido.errors import KidoError
from kido.io.xml import is_text, parse

__all__ = ["load"]

READERS = {".urdf": "kido.io.urdf", ".sdf": "kido.io.sdf", ".skel": "kido.io.skel"}
ROOT_ELEMENTS = {"robot": ".urdf", "sdf": ".sdf", "skel": ".skel"}


def load(path: str | Path, **options: Any) -> Any:
    """Read a robot or a world from a file (or from XML text).

    The format is told by the file's extension, or for other extensions by its root element: URDF (``.urdf``,
    ``<robot>``) gives a `Skeleton`, SKEL (``.skel``, ``<skel>``) and SDF (``.sdf``, ``<sdf>``) a `World`.

    Parameters:
        path: the file.
        options: handed to the reader, e.g. `package_dirs=`, `visuals=`, `base=` (see `kido.io.urdf.read`).

    Raises:
        FileFormatError: no such file, or it does not hold what it should.
        KidoError: a format that is not known, or an option that its reader does not have.
    """
    if not isinstance(path, str | os.PathLike):
        raise KidoError(f"load: expected the path of a file or XML text, got {path!r}")
    kind = _kind(path)
    reader = import_module(READERS[kind]).read
    known = [name for name in inspect.signature(reader).parameters if name not in ("source", "path")]
    for name in options:
        if name not in known:
            raise KidoError(f"{kind} files have no option {name!r}; expected one of {', '.join(known) or 'none'}")
    return reader(path, **options)


def _kind(path: str | Path) -> str:
    formats = ", ".join(f"{suffix} (<{root}>)" for root, suffix in ROOT_ELEMENTS.items())
    if not is_text(path):
        suffix = Path(path).suffix.lower()
        if suffix in READERS:
            return suffix
        if not _starts_as_xml(path):
            raise KidoError(f"{path}: the format '{suffix}' is not supported; expected one of {formats}")
    root = parse(path)
    if root.tag not in ROOT_ELEMENTS:
        raise root.error(f"the root element <{root.tag}> is of no known format; expected one of {formats}")
    return ROOT_ELEMENTS[root.tag]


def _starts_as_xml(path: str | Path) -> bool:
    """True for XML, and for what cannot be opened (parsing it tells why)."""
    try:
        with open(path, "rb") as file:
            return file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    except (OSError, ValueError):
        return True
