"""Modes in HDF5 files: written once by whoever has the finite elements, read by models."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from kido.errors import FileFormatError
from kido.flexible.modes import Modes

FORMAT, VERSION = "kido modes", 1


def write_modes(path: str | os.PathLike[str], modes: Modes) -> None:
    """Write modes to an HDF5 file: the arrays of `Modes.to_dict` by name, a group of each node, one of the surface.

    Raises:
        FileFormatError: the file cannot be written.
    """
    import h5py  # when it is asked for: worlds import this package

    data = modes.to_dict()
    try:
        file: Any
        with h5py.File(path, "w") as file:
            file.attrs["format"], file.attrs["version"] = FORMAT, VERSION
            file.attrs["names"], file.attrs["mass"] = data.pop("names"), data.pop("mass")
            for name, values in _surface_arrays(data.pop("surface", {})).items():
                file[f"surface/{name}"] = values
            for k, node in enumerate(data.pop("nodes")):
                group = file.create_group(f"nodes/{k}")
                group.attrs["name"] = node.pop("name")
                for key, array in node.items():
                    group[key] = array
            for key, array in data.items():
                file[key] = array
    except OSError as error:
        raise FileFormatError(os.fspath(path), None, f"cannot write modes: {error}") from None


def read_modes(path: str | os.PathLike[str]) -> Modes:
    """Modes from a file of `write_modes`.

    Raises:
        FileFormatError: there is no such file, or it is none of modes.
        ModelError: the modes in it are as the constructor of `Modes` refuses them.
    """
    import h5py  # when it is asked for: worlds import this package

    name = os.fspath(path)
    if not Path(name).is_file():
        raise FileFormatError(name, None, "no such file")
    file: Any
    try:
        with h5py.File(name, "r") as file:
            found = file.attrs.get("format"), int(file.attrs.get("version", 0))
            if found != (FORMAT, VERSION):
                wanted = f"expected a file of format {FORMAT!r}, version {VERSION}"
                raise FileFormatError(name, None, f"{wanted}, got {found}")
            data: dict[str, Any] = {key: item[()] for key, item in file.items() if isinstance(item, h5py.Dataset)}
            data["names"] = [str(n) for n in np.atleast_1d(file.attrs["names"])]
            data["mass"] = float(file.attrs["mass"])
            groups = sorted(file["nodes"].items(), key=lambda item: int(item[0])) if "nodes" in file else []
            data["nodes"] = [{"name": str(g.attrs["name"]), **{k: v[()] for k, v in g.items()}} for _, g in groups]
            if "surface" in file:
                data["surface"] = {k: v[()] for k, v in file["surface"].items() if isinstance(v, h5py.Dataset)}
                own = file["surface/fields"].items() if "fields" in file["surface"] else ()
                data["surface"]["fields"] = {k: v[()] for k, v in own}
    except (OSError, KeyError, ValueError) as error:
        raise FileFormatError(name, None, f"no file of modes: {error}") from None
    return Modes.from_dict(data)


def holds_modes(path: str | os.PathLike[str]) -> bool:
    """Whether a file is one of modes; False for what is no file of HDF5."""
    import h5py  # when it is asked for: worlds import this package

    try:
        file: Any
        with h5py.File(path, "r") as file:
            return file.attrs.get("format") == FORMAT
    except OSError:
        return False


def _surface_arrays(data: dict[str, Any]) -> dict[str, Any]:
    """Arrays of `ModeSurface.to_dict` by their places in its group."""
    fields = data.get("fields", {})
    return {**{k: v for k, v in data.items() if k != "fields"}, **{f"fields/{k}": v for k, v in fields.items()}}
