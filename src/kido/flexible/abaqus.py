"""Matrices of Abaqus: nodes of an input file, mass and stiffness of `*MATRIX GENERATE` as text.

A line of a matrix is `node, component, node, component, value`, components 1 to 6 (FORMAT=MATRIX INPUT), or
`row column value` (FORMAT=COORDINATE), with rows six to a node in the order of the input file. Half of a symmetric
matrix is enough.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from kido.errors import FileFormatError
from kido.flexible.structure import Structure

Array = NDArray[np.float64]
File = str | os.PathLike[str]


def read_abaqus(model: File, stiffness: File, mass: File, nodes: Mapping[str, int] | None = None) -> Structure:
    """A structure from an Abaqus model and its matrices.

    Args:
        model: input file, of which `*NODE` and `*NSET` are read; sets of one node are named nodes.
        stiffness, mass: text files of matrices, as `*MATRIX OUTPUT` writes them (`JOB_STIF1.mtx`, `JOB_MASS1.mtx`).
        nodes: numbers of nodes in the model by name, besides.

    Raises:
        FileFormatError: a file that is not there, or a line that is none of its format; says which.
        ModelError: what the matrices say is no structure; see `Structure`.
    """
    path = os.fspath(model)
    places, sets = _nodes(path)
    named = {name: own[0] for name, own in sets.items() if len(own) == 1} | dict(nodes or {})
    return structure_of(path, places, named, [_entries(os.fspath(f), places) for f in (mass, stiffness)])


def structure_of(
    path: str,
    places: Mapping[int, Array],
    named: Mapping[str, int],
    matrices: Sequence[Mapping[tuple[int, int, int, int], float]],
    turned: Mapping[int, Array] | None = None,
) -> Structure:
    """Of nodes by label, names of labels, and the entries of mass and stiffness by (node, component, node, component).

    Nodes that no matrix knows are left out. Of those in `turned`, components are along the columns of a matrix (3, 3).

    Raises:
        FileFormatError: a name of a node that there is not; one with axes of its own and some of three components only.
    """
    known = sorted({(n, c) for M in matrices for i, a, j, b in M for n, c in ((i, a), (j, b))})
    row = {key: k for k, key in enumerate(known)}
    labels = sorted({n for n, _ in known})
    number = {label: k for k, label in enumerate(labels)}
    made = []
    for M in matrices:
        index = np.array([(row[i, a], row[j, b]) for i, a, j, b in M])
        values = np.array(list(M.values()))
        mirrored = [k for k, (i, a, j, b) in enumerate(M) if (j, b, i, a) not in M]
        at = np.concatenate([index, index[mirrored][:, ::-1]]).T
        made.append(
            scipy.sparse.coo_matrix((np.concatenate([values, values[mirrored]]), (at[0], at[1])), (len(row), len(row)))
        )
    if turned:
        T = scipy.sparse.identity(len(row), format="lil")
        for label in [n for n in labels if n in turned]:
            for first in (0, 3):
                at = [row[label, c] for c in range(first, first + 3) if (label, c) in row]
                if len(at) not in (0, 3):
                    raise FileFormatError(
                        path, None, f"node {label} has axes of its own and {len(at)} of three components"
                    )
                if at:
                    T[np.ix_(at, at)] = turned[label].T
        made = [T.T @ A @ T for A in made]
    for name, label in named.items():
        if label not in number:
            raise FileFormatError(path, None, f"node {name!r}: there is no node {label} that the matrices know")
    return Structure(
        np.array([places[n] for n in labels]), made[0], made[1],
        np.array([(number[n], c) for n, c in known]), {name: number[label] for name, label in named.items()},
        labels=labels, name=Path(path).stem,
    )  # fmt: skip


def lines_of(path: str) -> Iterator[tuple[int, str]]:
    """Numbers and lines of a text file.

    Raises:
        FileFormatError: it is not there, or is no text.
    """
    try:
        with open(path, encoding="utf-8", errors="strict") as file:
            yield from enumerate((line.rstrip("\r\n") for line in file), 1)
    except OSError as error:
        raise FileFormatError(path, None, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise FileFormatError(path, None, "expected a text file, got bytes that are none") from None


def number_in(text: str, path: str, line: int, what: str, kind: type = float) -> Any:
    """A number of a file.

    Raises:
        FileFormatError: it is none, or is not finite.
    """
    try:
        value = kind(text.strip().upper().replace("D", "E") if kind is float else text.strip())
    except ValueError:
        value = None
    if value is None or not np.isfinite(value):
        raise FileFormatError(
            path, line, f"{what}: expected a {'whole ' if kind is int else ''}number, got {text.strip()!r}"
        )
    return value


def _nodes(path: str) -> tuple[dict[int, Array], dict[str, list[int]]]:
    places: dict[int, Array] = {}
    sets: dict[str, list[int]] = {}
    block, options = "", {}
    for line, text in lines_of(path):
        if not text.strip() or text.startswith("**"):
            continue
        if text.startswith("*"):
            block, options = _keyword(text)
            if block in ("PART", "INSTANCE") and options.get("INSTANCE"):
                raise FileFormatError(path, line, "instances are moved copies of parts; expected a flat input file")
            continue
        items = [item for item in text.split(",") if item.strip()]
        if block == "NODE":
            if not 2 <= len(items) <= 4:
                raise FileFormatError(
                    path, line, f"a node is a number and up to three coordinates, got {text.strip()!r}"
                )
            label = number_in(items[0], path, line, "number of a node", int)
            if label in places:
                raise FileFormatError(path, line, f"node {label} occurs twice")
            own = [number_in(item, path, line, f"node {label}") for item in items[1:]]
            places[label] = np.array(own + [0.0] * (3 - len(own)))
        elif block == "NSET":
            name = options.get("NSET", "")
            chosen = [number_in(item, path, line, f"set {name!r}", int) for item in items]
            if "GENERATE" in options:
                if len(chosen) not in (2, 3):
                    raise FileFormatError(
                        path, line, f"set {name!r}: expected first, last and step, got {text.strip()!r}"
                    )
                chosen = list(range(chosen[0], chosen[1] + 1, chosen[2] if len(chosen) == 3 else 1))
            sets.setdefault(name, []).extend(chosen)
    if not places:
        raise FileFormatError(path, None, "there is no *NODE with nodes")
    return places, sets


def _keyword(text: str) -> tuple[str, dict[str, str]]:
    first, *others = (part.strip() for part in text[1:].split(","))
    options = {}
    for part in others:
        key, _, value = part.partition("=")
        options[key.strip().upper()] = value.strip()
    return first.upper(), options


def _entries(path: str, places: Mapping[int, Array]) -> dict[tuple[int, int, int, int], float]:
    found: dict[tuple[int, int, int, int], float] = {}
    order = list(places)
    for line, text in lines_of(path):
        if not text.strip() or text.lstrip().startswith("*"):
            continue
        items = text.replace(",", " ").split()
        if len(items) == 5:
            i, a, j, b = (number_in(item, path, line, "row or column", int) for item in items[:4])
        elif len(items) == 3:
            pair = [number_in(item, path, line, "row or column", int) - 1 for item in items[:2]]
            if not all(0 <= k < 6 * len(order) for k in pair):
                raise FileFormatError(
                    path, line, f"expected rows and columns from 1 to {6 * len(order)}, got {text.strip()!r}"
                )
            (i, a), (j, b) = ((order[k // 6], k % 6 + 1) for k in pair)
        else:
            raise FileFormatError(
                path,
                line,
                f"expected node, component, node, component, value or row, column, value, got {text.strip()!r}",
            )
        for n, c in ((i, a), (j, b)):
            if n not in places:
                raise FileFormatError(
                    path, line, f"there is no node {n} in the model; internal ones of elements are not read"
                )
            if not 1 <= c <= 6:
                raise FileFormatError(path, line, f"component of node {n}: expected 1 to 6, got {c}")
        key = (i, a - 1, j, b - 1)
        if key in found:
            raise FileFormatError(path, line, f"entry {items[:-1]} occurs twice")
        found[key] = number_in(items[-1], path, line, "value")
    if not found:
        raise FileFormatError(path, None, "there is no entry of a matrix")
    return found
