"""Analyses of motions as files: HDF5 and CSV."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kido.errors import StateError

if TYPE_CHECKING:
    from kido.motions.analysis import Analysis

__all__ = ["FORMAT", "SUFFIXES", "write"]

FORMAT = "kido-analysis"
SUFFIXES = (".h5", ".hdf5", ".csv")


def write(analysis: Analysis, path: str | os.PathLike[str], overwrite: bool) -> None:
    """Write all series by the format that the ending of the file's name tells.

    Raises:
        StateError: another ending, the file exists, or it cannot be written.
    """
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise StateError(f"{path}: expected a name that ends in {', '.join(SUFFIXES)}")
    if target.exists() and not overwrite:
        raise StateError(f"{path}: exists already; choose another name, or replace it with overwrite=True")
    try:
        if target.suffix.lower() == ".csv":
            with open(target, "w", encoding="utf-8") as file:
                file.writelines(_lines(analysis))
        else:
            _write_hdf5(analysis, target)
    except OSError as error:
        raise StateError(f"{path}: cannot be written: {error.strerror or error}") from None


def _lines(analysis: Analysis) -> Iterator[str]:
    series = analysis.series
    names = [f"{name}/{column}" if column else name for name, s in series.items() for column in s.columns or ("",)]
    yield ",".join(f'"{name}"' if "," in name or '"' in name else name for name in names) + "\n"
    table = np.column_stack([s.values.astype(float) for s in series.values()])
    for row in table.tolist():
        yield ",".join(map(repr, row)) + "\n"


def _write_hdf5(analysis: Analysis, target: Path) -> None:
    import h5py

    with h5py.File(target, "w") as file:
        file.attrs["format"] = FORMAT
        file.attrs["skeleton"] = analysis.skeleton.name
        file.attrs["mass"] = analysis.skeleton.mass
        file.attrs["cutoff"] = np.nan if analysis.cutoff is None else analysis.cutoff
        file.attrs["ground"] = [*analysis.normal, analysis.height]
        file.attrs["floating"] = list(analysis.floating)
        for name, s in analysis.series.items():
            data = file.create_dataset(name, data=s.values)
            data.attrs["unit"], data.attrs["description"], data.attrs["columns"] = s.unit, s.text, list(s.columns)
        kind = [("body", h5py.string_dtype()), ("first", "i8"), ("last", "i8"), ("start", "f8"), ("end", "f8")]
        file.create_dataset("phases", data=np.array([tuple(phase) for phase in analysis.phases], dtype=kind))
