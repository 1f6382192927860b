"""One door to every kind of model file, to read and to write."""

from __future__ import annotations

import inspect
import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kido.attributes import check_options, named_arguments
from kido.errors import KidoError
from kido.io.xml import is_text, parse

if TYPE_CHECKING:
    from kido.simulation import World
    from kido.skeleton import Skeleton

__all__ = ["FORMATS", "Format", "load", "save"]


class Format(NamedTuple):
    """A kind of model file.

    Attributes:
        name: for messages.
        suffix: of its files.
        root: its root element, by which files of other suffixes are told.
        reader: module with `read(path, **options)`, imported when a file is read.
        writer: module with `write(model, store, unsupported)`, which returns the text of a file.
        others: further suffixes that are written so.
    """

    name: str
    suffix: str
    root: str
    reader: str
    writer: str
    others: tuple[str, ...] = ()


FORMATS = [
    Format("URDF", ".urdf", "robot", "kido.io.urdf", "kido.io.writers.urdf"),
    Format("SDF", ".sdf", "sdf", "kido.io.sdf", "kido.io.writers.sdf", (".world",)),
    Format("SKEL", ".skel", "skel", "kido.io.skel", "kido.io.writers.skel"),
]


@named_arguments
def load(path: str | Path, **options: Any) -> Any:
    """Read a robot or a world from a file (or from XML text).

    The format is told by the file's extension, or for other extensions by its root element: URDF (``.urdf``,
    ``<robot>``) gives a `Skeleton`, SKEL (``.skel``, ``<skel>``) and SDF (``.sdf``, ``<sdf>``) a `World`.

    Parameters:
        path: the file.
        options: handed to the reader, e.g. `package_dirs=`, `visuals=`, `base=` (see `kido.io.urdf.read`).

    Raises:
        FileFormatError: no such file, or it does not hold what it should.
        KidoError: a format that is not known.
        ArgumentError: an option that its reader does not have.
    """
    if not isinstance(path, str | os.PathLike):
        raise KidoError(f"load: expected the path of a file or XML text, got {path!r}")
    found = _format_of(path)
    reader = import_module(found.reader).read
    known = [name for name in inspect.signature(reader).parameters if name not in ("source", "path")]
    check_options(f"load: {found.suffix} files: read", options, known)
    return reader(path, **options)


def _format_of(path: str | Path) -> Format:
    expected = ", ".join(f"{f.suffix} (<{f.root}>)" for f in FORMATS)
    if not is_text(path):
        suffix = Path(path).suffix.lower()
        for found in FORMATS:
            if found.suffix == suffix:
                return found
        if not _starts_as_xml(path):
            raise KidoError(f"{path}: the format '{suffix}' is not supported; expected one of {expected}")
    root = parse(path)
    for found in FORMATS:
        if found.root == root.tag:
            return found
    raise root.error(f"the root element <{root.tag}> is of no known format; expected one of {expected}")


def _starts_as_xml(path: str | Path) -> bool:
    """True for XML, and for what cannot be opened (parsing it tells why)."""
    try:
        with open(path, "rb") as file:
            return file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    except (OSError, ValueError):
        return True


@named_arguments
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
    from kido.io.writers.shapes import MeshStore
    from kido.io.writers.unsupported import UnsupportedFeatures
    from kido.simulation import World
    from kido.skeleton import Skeleton

    if not isinstance(model, Skeleton | World):
        raise KidoError(f"save: expected a Skeleton or a World, got {type(model).__name__}")
    if not isinstance(path, str | os.PathLike):
        raise KidoError(f"save: expected the path of a file, got {path!r}")
    target = Path(path)
    writable = {suffix: f for f in FORMATS for suffix in (f.suffix, *f.others)}
    found = writable.get(target.suffix.lower())
    if found is None:
        raise KidoError(f"{path}: cannot write '{target.suffix}' files; expected one of {', '.join(writable)}")
    unsupported = UnsupportedFeatures(found.name, bool(approximate))
    store = MeshStore(target, meshes, unsupported)
    try:
        text = import_module(found.writer).write(model, store, unsupported)
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise KidoError(f"{error.filename or path}: cannot be written: {error.strerror or error}") from None
    return unsupported.remarks
