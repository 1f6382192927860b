"""Matrices of NASTRAN's OP2 and OP4 files, by pyYeti, whose formats of text and of binary numbers it knows.

Such a matrix has no names of rows. They are in NASTRAN's order: by the numbers of grids, six to each, unless somebody
says otherwise.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import FileFormatError
from kido.libraries import library

Array = NDArray[np.float64]
Row = tuple[int, int]  # number of a grid, component from 0
SUFFIXES = (".op2", ".op4")


def is_binary(path: str) -> bool:
    """Whether a file is told to be one of these by its suffix."""
    return Path(path).suffix.lower() in SUFFIXES


def matrices_in(path: str) -> dict[str, Array]:
    """All matrices of an OP2 or OP4 file by name, in capitals.

    Raises:
        FileFormatError: it is not there, or none of the format.
        MissingExtraError: the extra `nastran` is not installed.
    """
    kind = Path(path).suffix.lower()[1:]
    reader = library(f"pyyeti.nastran.{kind}", f"matrices of {kind.upper()} files", "nastran")
    if not Path(path).is_file():
        raise FileFormatError(path, None, "no such file")
    try:
        if kind == "op4":
            found = reader.read(path, sparse=False)
        else:
            with reader.OP2(path) as file:
                found = file.rdop2mats()
    except Exception as error:  # what a damaged file brings about can be anything
        raise FileFormatError(path, None, f"cannot be read as {kind.upper()}: {error}") from None
    if not found:
        raise FileFormatError(path, None, "there is no matrix in it")
    return {name.upper(): np.asarray(M) for name, M in found.items()}


def entries_of(
    path: str,
    labels: Sequence[int],
    rows: Sequence[tuple[int, int]] | None,
    wanted: Sequence[str | None],
) -> dict[str, dict[tuple[int, int, int, int], float]]:
    """Square matrices of a file by name, as entries by (grid, component, grid, component), components from 0.

    Args:
        labels: numbers of all grids.
        rows: grid and component (1 to 6) of each row; by default all of all grids.
        wanted: names of stiffness and mass, which are read; by default all that begin with K and M.

    Raises:
        FileFormatError: as `matrices_in`; rows that are none of the model's, or another number of them.
    """
    known = set(labels)
    if rows is None:
        own: list[Row] = [(label, c) for label in sorted(known) for c in range(6)]
    else:
        try:
            own = [(operator.index(label), operator.index(c) - 1) for label, c in rows]
        except (TypeError, ValueError):
            raise FileFormatError(
                path, None, f"rows: expected pairs of whole numbers (grid, component), got {rows!r:.80}"
            ) from None
        for label, c in own:
            if label not in known or not 0 <= c < 6:
                raise FileFormatError(
                    path, None, f"rows: expected numbers of grids and components 1 to 6, got ({label}, {c + 1})"
                )
        if len(set(own)) < len(own):
            raise FileFormatError(path, None, "rows: a component of a grid occurs twice")
    found: dict[str, dict[tuple[int, int, int, int], float]] = {}
    for name, M in matrices_in(path).items():
        if not any(name == n.upper() if n else name.startswith(c) for c, n in zip("KM", wanted, strict=True)):
            found[name] = {}  # not read
            continue
        if M.ndim != 2 or M.shape[0] != M.shape[1]:
            continue
        if np.iscomplexobj(M) or not np.isfinite(M).all():
            raise FileFormatError(path, None, f"matrix {name}: expected finite real numbers")
        if len(M) != len(own):
            where = f"{len(known)} grids have {len(own)}" if rows is None else f"rows has {len(own)}"
            raise FileFormatError(
                path,
                None,
                f"matrix {name} has {len(M)} rows, and {where}; say which they are: rows=[(grid, component), ...]",
            )
        found[name] = {(*own[i], *own[j]): float(M[i, j]) for i, j in zip(*np.nonzero(M), strict=True)}
    return found


def vectors_in(path: str, structure: Any, labels: Mapping[int, int], name: str | None) -> Array:
    """(N, k) over the rows of a structure, of a matrix over all components of its grids.

    Raises:
        FileFormatError: as `matrices_in`; no such matrix, or another number of rows.
    """
    found = matrices_in(path)
    names = [n for n in found if n == (name or "").upper() or (name is None and n.startswith("PH"))]
    if len(names) != 1:
        wanted = f"a matrix {name!r}" if name else "one matrix whose name begins with PH"
        raise FileFormatError(path, None, f"expected {wanted}; there are {', '.join(found)}")
    M = found[names[0]]
    if np.iscomplexobj(M) or len(M) != 6 * len(labels):
        wanted = f"real numbers in {6 * len(labels)} rows, six for each grid that the structure has"
        raise FileFormatError(path, None, f"matrix {names[0]}: expected {wanted}, got {len(M)} of type {M.dtype}")
    if not np.isfinite(M).all():
        raise FileFormatError(path, None, f"matrix {names[0]}: expected finite numbers")
    place = {label: k for k, label in enumerate(sorted(labels))}
    return np.array([M[6 * place[int(structure.labels[node])] + component] for node, component in structure.rows])
