"""SID files: the standard input data of flexible bodies, integrals of mass and modes at frames, as text.

A file has one `part` with a `new modal`: `refmod` with mass and number of modes, `frame` with nodes, and the matrices
mdCM, J, Ct, Cr, Me, Gr, Ge, Oe, ksigma, Ke and De, each constant (m0) and, of order 1, linear in the modes (m1). Their
equation of motion is Me q'' + Ct a + Cr alpha + Ge q' w + Oe (w w) + Ke q + De q', with a, alpha of the body's frame.

Source: Wallrapp (1994), Standardization of flexible body modeling in multibody system codes, part I.
"""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import FileFormatError
from kido.flexible.abaqus import File, lines_of, number_in
from kido.flexible.modes import Modes

Array = NDArray[np.float64]
MATRICES = ("mdCM", "J", "Ct", "Cr", "Me", "Gr", "Ge", "Oe", "ksigma", "Ke", "De")
OF_NODES = ("origin", "phi", "psi", "AP", "sigma")
ENTRY = re.compile(r"(m0|m1)\s*\(([\d\s,]+)\)\s*=\s*(\S+)\s*$")
PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))  # of the columns of Oe
SMALL = 1e-6  # share of a mode's own stiffness or damping by which it may be coupled to others


def read_sid(path: File) -> Modes:
    """Modes from a SID file.

    What the file leaves out is taken as zero, but for the linear term of Cr, which follows from Ge. Nodes that turn
    the axes of what hangs on them (AP) are refused. Modes are named by `ielastq` where it says how, made one word.

    Raises:
        FileFormatError: it is not there, or a line is none of the format; says which.
        ModelError: modes that are not orthogonal, and all that `Modes` refuses.
    """
    return _Reader(os.fspath(path)).modes()


class _Reader:
    def __init__(self, path: str):
        self.path = path
        self.lines = [
            (n, text.strip()) for n, text in lines_of(path) if text.strip() and not text.lstrip().startswith("!")
        ]
        self.at = 0
        self.found: dict[str, tuple[Array, Array]] = {}
        self.nodes: list[tuple[str, dict[str, tuple[Array, Array]]]] = []
        self.mass, self.n, self.names = 0.0, -1, {}
        self._part()

    def fail(self, reason: str) -> FileFormatError:
        line = self.lines[min(self.at, len(self.lines) - 1)][0] if self.lines else None
        return FileFormatError(self.path, line, reason)

    def peek(self) -> str:
        if self.at >= len(self.lines):
            raise self.fail("the file ends before 'end part'")
        return self.lines[self.at][1]

    def expect(self, *words: str) -> None:
        found = self.peek()
        if not any(re.fullmatch(word, found, re.IGNORECASE) for word in words):
            raise self.fail(f"expected {words[0]!r}, got {found!r}")
        self.at += 1

    def _value(self, kind: type) -> tuple[str, Any]:
        """Key and number of `key = number`, and on."""
        key, equal, text = self.peek().partition("=")
        if not equal:
            raise self.fail(f"expected 'name = number', got {self.peek()!r}")
        value = number_in(text, self.path, self.lines[self.at][0], key.strip(), kind)
        self.at += 1
        return key.strip().lower(), value

    def _part(self) -> None:
        if not self.lines:
            raise FileFormatError(self.path, None, "expected a SID file, got an empty one")
        self.expect("part")
        self.expect("new modal.*")
        self.expect("refmod")
        while not re.match(r"end\s+refmod", self.peek(), re.IGNORECASE):
            row = self.peek()
            if row.lower().startswith("ielastq"):
                match = re.match(r"ielastq\s*\(\s*(\d+)\s*\)\s*=\s*(.*)$", row, re.IGNORECASE)
                if not match:
                    raise self.fail(f"expected 'ielastq (number) = name', got {row!r}")
                self.names[int(match[1])] = re.sub(r"\W+", "_", match[2].strip("' \"")).strip("_")
                self.at += 1
                continue
            key = row.partition("=")[0].strip().lower()
            key, value = self._value(int if key == "nelastq" else float)
            if key == "mass":
                self.mass = value
            elif key == "nelastq":
                self.n = value
            else:
                self.at -= 1
                raise self.fail(f"expected mass, nelastq or ielastq, got {key!r}")
        self.at += 1
        if self.n < 1:
            raise self.fail(f"nelastq: expected a number of modes from 1, got {self.n}")
        self.expect("frame")
        while not re.match(r"end\s+frame", self.peek(), re.IGNORECASE):
            self._node()
        self.at += 1
        while not re.match(r"end\s+modal", self.peek(), re.IGNORECASE):
            name = {m.lower(): m for m in MATRICES}.get(self.peek().lower())
            if name is None:
                raise self.fail(f"expected one of {', '.join(MATRICES)}, got {self.peek()!r}")
            self.at += 1
            self.found[name] = self._matrix(name)
        self.at += 1
        self.expect(r"end\s+part")

    def _node(self) -> None:
        match = re.match(r"new\s+node\s*=\s*(.+)$", self.peek(), re.IGNORECASE)
        if not match:
            raise self.fail(f"expected 'new node = name', got {self.peek()!r}")
        name, own = match[1].strip("' \""), {}
        self.at += 1
        while not re.match(r"end\s+node", self.peek(), re.IGNORECASE):
            row = self.peek()
            if row.lower().startswith("rframe"):
                self.at += 1
                continue
            kind = {m.lower(): m for m in OF_NODES}.get(row.lower())
            if kind is None:
                raise self.fail(f"node {name!r}: expected one of {', '.join(OF_NODES)}, got {row!r}")
            self.at += 1
            own[kind] = self._matrix(kind)
        self.at += 1
        if "AP" in own and np.abs(own["AP"][0] - np.eye(3)).max(initial=0.0) > 1e-9:
            raise self.fail(f"node {name!r}: AP turns its axes; expected the unit matrix")
        if "origin" not in own:
            raise self.fail(f"node {name!r} has no origin")
        self.nodes.append((name, own))

    def _matrix(self, name: str) -> tuple[Array, Array]:
        """m0 (rows, columns) and m1 (rows, columns, modes) of what begins with `order = `."""
        sizes: dict[str, int] = {}
        for _ in range(6):
            key, value = self._value(int)
            if key not in ("order", "nrow", "ncol", "nq", "nqn", "structure"):
                self.at -= 1
                raise self.fail(f"{name}: expected order, nrow, ncol, nq, nqn and structure, got {key!r}")
            sizes[key] = value
        missing = {"order", "nrow", "ncol", "nq", "nqn", "structure"} - set(sizes)
        if missing or min(sizes.values()) < 0 or sizes["nrow"] * sizes["ncol"] > 10**7:
            raise self.fail(f"{name}: expected order, nrow, ncol, nq, nqn and structure once each, got {sizes}")
        rows, columns, n = sizes["nrow"], sizes["ncol"], max(sizes["nq"], self.n)
        m0, m1 = np.zeros((rows, columns)), np.zeros((rows, columns, n))
        seen = set()
        while not re.match(r"end\s+" + name, self.peek(), re.IGNORECASE):
            match = ENTRY.match(self.peek())
            if not match:
                raise self.fail(f"{name}: expected an entry of m0 or m1, or 'end {name}', got {self.peek()!r}")
            index = tuple(int(k) - 1 for k in match[2].split(","))
            target = m0 if match[1] == "m0" else m1
            if len(index) != target.ndim or not all(0 <= k < s for k, s in zip(index, target.shape)):
                raise self.fail(f"{name}: entry {match[1]}({match[2]}) of a matrix {target.shape}")
            if (match[1], index) in seen:
                raise self.fail(f"{name}: entry {match[1]}({match[2]}) occurs twice")
            seen.add((match[1], index))
            target[index] = number_in(match[3], self.path, self.lines[self.at][0], f"{name}: entry")
            self.at += 1
        self.at += 1
        if sizes["structure"] == 2:  # symmetric, of which half may be given
            for i, j in np.argwhere(m0):
                if m0[j, i] == 0.0:
                    m0[j, i] = m0[i, j]
        return m0, m1[:, :, : self.n]

    def _of(self, name: str, rows: int, columns: int) -> tuple[Array, Array]:
        if name not in self.found:
            return np.zeros((rows, columns)), np.zeros((rows, columns, self.n))
        m0, m1 = self.found[name]
        if m0.shape != (rows, columns) or m1.shape[2] != self.n:
            raise FileFormatError(self.path, None, f"{name}: expected a matrix ({rows}, {columns}), got {m0.shape}")
        return m0, m1

    def _diagonal(self, name: str) -> Array:
        M = self._of(name, self.n, self.n)[0]
        own = np.diag(M)
        off = np.abs(M - np.diag(own))
        if (off > SMALL * np.sqrt(np.abs(np.outer(own, own)))).any():
            i, j = np.unravel_index(int(off.argmax()), off.shape)
            raise FileFormatError(
                self.path,
                None,
                f"{name}: modes {i + 1} and {j + 1} are not orthogonal: entry {M[i, j]:.3g} couples them",
            )
        return own

    def modes(self) -> Modes:
        n = self.n
        for name in ("J", "Ct", "Cr", "Me", "Ke"):
            if name not in self.found:
                raise FileFormatError(self.path, None, f"there is no {name}")
        moment, J1 = self._of("J", 3, 3)
        S1, S2 = self._of("Ct", n, 3)
        R1, R2 = self._of("Cr", n, 3)
        gyro = self._of("Ge", n, 3 * n)[0].reshape(n, n, 3)
        if not R2.any():
            R2 = 0.5 * gyro.swapaxes(1, 2)
        Oe = self._of("Oe", n, 6)[1]
        J2 = np.zeros((n, n, 3, 3))
        for column, (a, b) in enumerate(PAIRS):
            J2[:, :, a, b] = J2[:, :, b, a] = -Oe[:, column] / (1.0 if a == b else 2.0)
        nodes = []
        for name, own in self.nodes:
            place, moved = own["origin"]
            if place.shape != (3, 1):
                raise FileFormatError(self.path, None, f"node {name!r}: origin: expected (3, 1), got {place.shape}")
            zero = np.zeros((3, n)), np.zeros((3, n, n))
            phi, bent = own.get("phi", (moved[:, 0], zero[1]))
            psi, twist = own.get("psi", zero)
            for what, shape in (("phi", phi), ("psi", psi)):
                if shape.shape != (3, n):
                    raise FileFormatError(
                        self.path, None, f"node {name!r}: {what}: expected (3, {n}), got {shape.shape}"
                    )
            nodes.append(
                {"name": name, "position": place[:, 0], "translation": phi, "rotation": psi,
                 "second_order": 0.5 * (bent + bent.swapaxes(1, 2)),
                 "second_rotation": 0.5 * (twist + twist.swapaxes(1, 2))}
            )  # fmt: skip
        names = [self.names.get(k + 1) or f"mode{k + 1}" for k in range(n)]
        return Modes.from_dict({
            "names": names if len(set(names)) == n else [f"mode{k + 1}" for k in range(n)],
            "mass": self.mass, "stiffness": self._diagonal("Ke"), "damping": self._diagonal("De"),
            "mass_matrix": self._of("Me", n, n)[0], "first_moment": self._of("mdCM", 3, 1)[0][:, 0], "moment": moment,
            "S1": S1, "S2": 0.5 * (S2 + S2.swapaxes(0, 2)).swapaxes(1, 2), "J1": J1.transpose(2, 0, 1),
            "J2": 0.5 * (J2 + J2.swapaxes(0, 1)), "R1": R1, "R2": R2.swapaxes(1, 2), "nodes": nodes,
        })  # fmt: skip
