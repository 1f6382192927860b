"""Files of NASTRAN: nodes of bulk data, matrices (DMIG; OP2 and OP4), eigenvectors of punch files and of matrices.

Bulk data have free fields (commas), small ones (8 columns) or large ones (16 columns, names with *). Of matrices those
of an external superelement (EXTSEOUT with DMIGPCH: KAAX, MAAX) are what modes are made of.

Source: MSC Nastran Quick Reference Guide: GRID, CORD2R, CORD2C, CORD2S, DMIG; format of punched output.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kido.errors import FileFormatError
from kido.flexible.abaqus import File, lines_of, number_in, structure_of
from kido.flexible.nastran_binary import entries_of, is_binary, vectors_in
from kido.flexible.structure import Structure

Array = NDArray[np.float64]
SYSTEMS = ("CORD2R", "CORD2C", "CORD2S")
SHORT = re.compile(r"(?<=[0-9.])([+-][0-9]+)$")  # 1.5+3 is 1.5e3


class Card(NamedTuple):
    """A card: its name, its fields after that, and the line it begins on."""

    name: str
    fields: list[str]
    line: int

    def text(self, k: int) -> str:
        """Field k from 0; empty if it is not there."""
        return self.fields[k] if k < len(self.fields) else ""


def read_nastran(
    bulk: File,
    matrices: File,
    nodes: Mapping[str, int] | None = None,
    stiffness: str | None = None,
    mass: str | None = None,
    rows: Sequence[tuple[int, int]] | None = None,
) -> Structure:
    """A structure from a NASTRAN model and its matrices.

    Args:
        bulk: file with GRID cards and the coordinate systems that they name (CORD2R, CORD2C, CORD2S).
        matrices: bulk data or punch file with DMIG cards, perhaps the same; or an OP2 or OP4 file (extra `nastran`).
        nodes: numbers of grids by name.
        stiffness, mass: names of the matrices; by default the only ones that begin with K and M.
        rows: of matrices of OP2 and OP4 files, which do not say it: grid and component (1 to 6) of each row; by default
            six for each grid, by the grids' numbers, as in NASTRAN's g-set.

    Returns:
        A structure in basic coordinates.

    Raises:
        FileFormatError: a file that is not there, or a card that is none of the format; says which line.
        ModelError: what the matrices say is no structure; see `Structure`.
        MissingExtraError: OP2 and OP4 without the extra `nastran`.
    """
    path, other = os.fspath(bulk), os.fspath(matrices)
    places, turned = _grids(path)
    found = entries_of(other, list(places), rows, (stiffness, mass)) if is_binary(other) else _matrices(other, places)
    chosen = []
    for what, name in (("M", mass), ("K", stiffness)):
        names = [n for n in found if n == (name or "").upper() or (name is None and n.startswith(what))]
        if len(names) != 1:
            wanted = f"a matrix {name!r}" if name else f"one matrix whose name begins with {what}"
            raise FileFormatError(other, None, f"expected {wanted}; there are {', '.join(found) or 'none'}")
        chosen.append(found[names[0]])
    return structure_of(path, places, dict(nodes or {}), chosen, turned)


def read_nastran_vectors(path: File, structure: Structure, matrix: str | None = None) -> tuple[Array, Array]:
    """Eigenvectors of a file: eigenvalues (k,) [rad^2/s^2], and vectors (N, k) over the rows of a structure.

    Displacements are taken to be in basic coordinates.

    Args:
        path: a punch file; or an OP2 or OP4 file (extra `nastran`) with a matrix of vectors over all grids, such as
            PHG. Eigenvalues are then Rayleigh's quotients of the structure.
        structure: whose grids are those of the file.
        matrix: its name in an OP2 or OP4 file; by default the only one that begins with PH.

    Raises:
        FileFormatError: it is not there, a line is none of the format, or a node of the structure is missing.
        MissingExtraError: OP2 and OP4 without the extra `nastran`.
    """
    name = os.fspath(path)
    if is_binary(name):
        X = vectors_in(name, structure, {int(label): k for k, label in enumerate(structure.labels)}, matrix)
        M, K = structure.matrices()
        return np.einsum("ik,ik->k", X, K @ X) / np.einsum("ik,ik->k", X, M @ X), X
    values: list[float] = []
    vectors: list[dict[int, list[float]]] = []
    reading, label = False, 0
    for line, text in lines_of(name):
        if text.startswith("$"):
            if text.startswith("$EIGENVECTOR"):
                reading = True
            elif re.match(r"\$(DISPLACEMENTS|SPCF|ELEMENT|OLOAD|VELOCITY)", text):
                reading = False
            match = re.match(r"\$EIGENVALUE\s*=\s*(\S+)\s+MODE\s*=\s*(\d+)", text)
            if reading and match:
                values.append(number_in(match[1], name, line, "eigenvalue"))
                vectors.append({})
            continue
        if not reading or not text.strip():
            continue
        if not vectors:
            raise FileFormatError(name, line, "an eigenvector without its eigenvalue ($EIGENVALUE = ... MODE = ...)")
        numbers = [
            number_in(text[k : k + 18], name, line, "eigenvector") for k in (18, 36, 54) if text[k : k + 18].strip()
        ]
        if text.startswith("-CONT-"):
            if label not in vectors[-1] or len(vectors[-1][label]) != 3:
                raise FileFormatError(name, line, "a continuation of nothing")
            vectors[-1][label] += numbers
        else:
            label = number_in(text[:10], name, line, "number of a node", int)
            vectors[-1][label] = numbers
        if len(numbers) != 3:
            raise FileFormatError(name, line, f"expected three numbers of 18 columns each, got {text.rstrip()!r}")
    if not vectors:
        raise FileFormatError(name, None, "there is no $EIGENVECTOR")
    out = np.zeros((len(structure.rows), len(vectors)))
    for k, vector in enumerate(vectors):
        for r, (node, component) in enumerate(structure.rows):
            own = vector.get(int(structure.labels[node]), [])
            if component >= len(own):
                raise FileFormatError(
                    name, None, f"mode {k + 1} has no node {structure.labels[node]}, or not its rotations"
                )
            out[r, k] = own[component]
    return np.array(values), out


# Bulk data ---------------------------------------------------------------------------------------------------


def cards(path: str) -> Iterator[Card]:
    """All cards of a file, after BEGIN BULK if there is one, with their continuations.

    Raises:
        FileFormatError: the file cannot be read; a continuation of nothing.
    """
    text = list(lines_of(path))
    begin = [k for k, (_, row) in enumerate(text) if re.match(r"\s*BEGIN\s+BULK|\s*BEGIN\s+SUPER", row, re.IGNORECASE)]
    card: Card | None = None
    for line, row in text[begin[0] + 1 if begin else 0 :]:
        row = row.split("$")[0].rstrip().expandtabs(8)
        if not row:
            continue
        if re.match(r"\s*ENDDATA", row, re.IGNORECASE):
            break
        if "," in row:
            head, *fields = (part.strip() for part in row.split(","))
            fields = fields[:8]
            wide = head.endswith("*")
        else:
            head = row[:8].strip()
            wide = "*" in head
            width, count = (16, 4) if wide else (8, 8)
            fields = [row[8 + width * k : 8 + width * (k + 1)].strip() for k in range(count)]
        if not head or head[0] in "+*":
            if card is None:
                raise FileFormatError(path, line, "a continuation of nothing")
            whole = 4 if wide else 8
            card.fields.extend([""] * (-len(card.fields) % whole))
            card.fields.extend(fields)
            continue
        if card is not None:
            yield card
        card = Card(head.rstrip("*").strip().upper(), fields, line)
    if card is not None:
        yield card


def _real(card: Card, k: int, path: str, what: str, default: float | None = None) -> float:
    text = card.text(k)
    if not text and default is not None:
        return default
    return number_in(SHORT.sub(r"E\1", text), path, card.line, what)


def _whole(card: Card, k: int, path: str, what: str, default: int | None = None) -> int:
    text = card.text(k)
    if not text and default is not None:
        return default
    return number_in(text, path, card.line, what, int)


class _System(NamedTuple):
    kind: str
    origin: Array
    axes: Array  # columns, basic coordinates

    def place(self, x: Array) -> Array:
        """Basic coordinates of a point given in it."""
        if self.kind != "CORD2R":
            first, a, b = x[0], np.radians(x[1]), np.radians(x[2])
            x = np.array([first * np.cos(a), first * np.sin(a), x[2]])
            if self.kind == "CORD2S":  # radius, angle from z, angle about z
                x = first * np.array([np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)])
        return self.origin + self.axes @ x

    def turn(self, place: Array) -> Array:
        """Directions of displacements at a point: columns, basic coordinates."""
        if self.kind == "CORD2R":
            return self.axes
        x = self.axes.T @ (place - self.origin)
        about = np.arctan2(x[1], x[0])
        radial = np.array([np.cos(about), np.sin(about), 0.0])
        around = np.array([-np.sin(about), np.cos(about), 0.0])
        if self.kind == "CORD2C":
            return self.axes @ np.column_stack([radial, around, [0.0, 0.0, 1.0]])
        polar = np.arctan2(np.hypot(x[0], x[1]), x[2])
        up = np.array([0.0, 0.0, 1.0])
        out, down = np.sin(polar) * radial + np.cos(polar) * up, np.cos(polar) * radial - np.sin(polar) * up
        return self.axes @ np.column_stack([out, down, around])


def _grids(path: str) -> tuple[dict[int, Array], dict[int, Array]]:
    """Places of grids, and directions of the displacements of those that have their own."""
    grids: list[Card] = []
    given: dict[int, Card] = {}
    for card in cards(path):
        if card.name == "GRID":
            grids.append(card)
        elif card.name in SYSTEMS:
            given[_whole(card, 0, path, f"{card.name}: number")] = card
        elif card.name == "GRDSET":
            raise FileFormatError(path, card.line, "GRDSET: expected each GRID to have its own coordinate systems")
        elif card.name.startswith("CORD"):
            raise FileFormatError(path, card.line, f"{card.name}: expected coordinate systems {', '.join(SYSTEMS)}")
    made: dict[int, _System] = {0: _System("CORD2R", np.zeros(3), np.eye(3))}

    def system(number: int, line: int, seen: tuple[int, ...] = ()) -> _System:
        if number not in made:
            if number not in given or number in seen:
                why = "refers to itself" if number in seen else "is not there"
                raise FileFormatError(path, line, f"coordinate system {number} {why}")
            card = given[number]
            x = np.array([_real(card, k, path, f"{card.name} {number}") for k in range(2, 11)]).reshape(3, 3)
            below = system(_whole(card, 1, path, f"{card.name} {number}", 0), card.line, (*seen, number))
            origin, on_z, in_xz = (below.place(p) for p in x)
            z = on_z - origin
            y = np.cross(z, in_xz - origin)
            if not np.linalg.norm(y) > 1e-12 * np.linalg.norm(z) * np.linalg.norm(in_xz - origin):
                raise FileFormatError(path, card.line, f"{card.name} {number}: its three points lie on a line")
            z, y = z / np.linalg.norm(z), y / np.linalg.norm(y)
            made[number] = _System(card.name, origin, np.column_stack([np.cross(y, z), y, z]))
        return made[number]

    places: dict[int, Array] = {}
    turned: dict[int, Array] = {}
    for card in grids:
        label = _whole(card, 0, path, "GRID: number")
        if label in places:
            raise FileFormatError(path, card.line, f"GRID {label} occurs twice")
        x = np.array([_real(card, k, path, f"GRID {label}", 0.0) for k in (2, 3, 4)])
        places[label] = system(_whole(card, 1, path, f"GRID {label}", 0), card.line).place(x)
        own = _whole(card, 5, path, f"GRID {label}", 0)
        if own:
            turned[label] = system(own, card.line).turn(places[label])
    if not places:
        raise FileFormatError(path, None, "there is no GRID")
    return places, turned


def _matrices(path: str, places: Mapping[int, Array]) -> dict[str, dict[tuple[int, int, int, int], float]]:
    """Entries of all DMIG matrices by name."""
    found: dict[str, dict[tuple[int, int, int, int], float]] = {}

    def row(card: Card, k: int) -> tuple[int, int]:
        node, component = _whole(card, k, path, "DMIG: grid"), _whole(card, k + 1, path, "DMIG: component", 0)
        if node not in places:
            raise FileFormatError(
                path, card.line, f"DMIG {card.text(0)}: there is no GRID {node}; modal coordinates are not read"
            )
        if not 1 <= component <= 6:
            raise FileFormatError(
                path, card.line, f"DMIG {card.text(0)}: component of {node}: expected 1 to 6, got {component}"
            )
        return node, component - 1

    for card in cards(path):
        if card.name != "DMIG":
            continue
        name = card.text(0).upper()
        if card.text(1) == "0":
            if name in found:
                raise FileFormatError(path, card.line, f"DMIG {name} begins twice")
            form = _whole(card, 2, path, f"DMIG {name}: form")
            if form not in (1, 6):
                raise FileFormatError(
                    path, card.line, f"DMIG {name}: expected a square or symmetric matrix (1, 6), got {form}"
                )
            if _whole(card, 3, path, f"DMIG {name}: type", 2) not in (1, 2):
                raise FileFormatError(path, card.line, f"DMIG {name}: expected real numbers (type 1 or 2)")
            found[name] = {}
            continue
        if name not in found:
            raise FileFormatError(path, card.line, f"DMIG {name}: a column before the matrix's own card")
        j, b = row(card, 1)
        for k in range(4, len(card.fields), 4):
            if not card.text(k):
                continue
            i, a = row(card, k)
            if (i, a, j, b) in found[name]:
                raise FileFormatError(
                    path, card.line, f"DMIG {name}: entry of {i}, {a + 1} and {j}, {b + 1} occurs twice"
                )
            found[name][i, a, j, b] = _real(card, k + 2, path, f"DMIG {name}")
    return {name: M for name, M in found.items() if M}
