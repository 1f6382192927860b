"""OP2 and OP4 files of NASTRAN, written here record by record."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
import scipy

import kido
from flexible_line import line_of_beams
from kido.flexible import Structure, modes_of_vectors, read_nastran, read_nastran_vectors, reduced_modes

pytest.importorskip("pyyeti")
NODES = {"root": 101, "tip": 301}


@pytest.fixture(scope="module")
def line() -> Structure:
    return line_of_beams(2)


def bulk_of(folder: Path, line: Structure) -> Path:
    """Grids in falling order; rows of matrices are in rising order."""
    path = folder / "line.bdf"
    grids = [f"GRID,{101 + 100 * k},,{x!r},0.,0.\n" for k, x in enumerate(line.positions[:, 0].tolist())]
    path.write_text("BEGIN BULK\n" + "".join(reversed(grids)) + "ENDDATA\n")
    return path


def write_op4(path: Path, matrices: dict[str, np.ndarray]) -> None:
    """Text: a header of five fields, columns of five numbers a line, a last column that is one too many."""
    rows = []
    for name, M in matrices.items():
        rows.append(f"{M.shape[1]:8d}{M.shape[0]:8d}{2:8d}{2:8d}{name:<8}1P,5E23.16")
        for j in range(M.shape[1]):
            rows.append(f"{j + 1:8d}{1:8d}{len(M):8d}")
            rows += ["".join(f"{x:23.16E}" for x in M[k : k + 5, j]) for k in range(0, len(M), 5)]
        rows += [f"{M.shape[1] + 1:8d}{1:8d}{1:8d}", f"{1.0:23.16E}"]
    path.write_text("\n".join(rows) + "\n")


def write_op2(path: Path, matrices: dict[str, np.ndarray]) -> None:
    """Fortran records, each after a key; of a matrix its name, trailer, name again and columns from their first row."""

    def record(data: bytes) -> bytes:
        return struct.pack("<i", len(data)) + data + struct.pack("<i", len(data))

    def key(k: int) -> bytes:
        return record(struct.pack("<i", k))

    out = key(3) + record(struct.pack("<3i", 11, 28, 26)) + key(7) + record(b"NASTRAN FORT TAPE ID CODE - ")
    out += key(2) + record(b"XXXXXXXX") + key(-1) + key(0)
    for k, (name, M) in enumerate(matrices.items()):
        label = f"{name:<8}".encode()
        trailer = struct.pack("<7i", 101 + k, M.shape[1], len(M), 2, 2, len(M), 10000)
        out += key(2) + record(label) + key(-1) + key(7) + record(trailer) + key(-2) + key(1) + key(0)
        out += key(2) + record(label) + key(-3) + key(1) + key(1)
        for j in range(M.shape[1]):
            out += key(1 + 2 * len(M)) + record(struct.pack("<i", 1) + M[:, j].astype("<f8").tobytes())
            out += key(-4 - j) + key(1) + key(1 if j + 1 < M.shape[1] else 0)
        out += key(0)
    path.write_bytes(out + key(0))


WRITERS = {".op4": write_op4, ".op2": write_op2}


@pytest.mark.parametrize("suffix", WRITERS)
def test_matrices_and_vectors(tmp_path: Path, line: Structure, suffix: str) -> None:
    """All digits of binary numbers, sixteen of text."""
    bulk, file = bulk_of(tmp_path, line), tmp_path / f"line{suffix}"
    M, K = (A.toarray() for A in line.matrices())
    values, vectors = scipy.linalg.eigh(K, M)
    WRITERS[suffix](file, {"KGG": K, "MGG": M, "PHG": vectors[:, :9]})
    found = read_nastran(bulk, file, nodes=NODES)
    assert found.labels.tolist() == [101, 201, 301] and np.allclose(found.positions, line.positions, atol=1e-15)
    for given, read in zip((M, K), found.matrices(), strict=True):
        assert np.allclose(read.toarray(), given, rtol=1e-14, atol=0.0)
    expected, modes = (reduced_modes(s, "root", ["tip"], 2) for s in (line, found))
    assert np.allclose(modes.frequencies, expected.frequencies, rtol=1e-10)
    got, shapes = read_nastran_vectors(file, found)
    assert np.allclose(got[6:], values[6:9], rtol=1e-7) and np.allclose(shapes, vectors[:, :9], rtol=1e-14)
    assert modes_of_vectors(found, shapes, "root", ["tip"]).number == 3


@pytest.mark.parametrize("suffix", WRITERS)
def test_rows_that_are_named(tmp_path: Path, line: Structure, suffix: str) -> None:
    """Rows of the outer grids alone, statically condensed, last first."""
    bulk, file = bulk_of(tmp_path, line), tmp_path / f"line{suffix}"
    M, K = (A.toarray() for A in line.matrices())
    outer, inner = np.r_[12:18, 0:6], np.r_[6:12]
    T = np.zeros((18, 12))
    T[outer, np.arange(12)] = 1.0
    T[inner] = -np.linalg.solve(K[np.ix_(inner, inner)], K[np.ix_(inner, outer)])
    WRITERS[suffix](file, {"KAA": T.T @ K @ T, "MAA": T.T @ M @ T})
    rows = [(grid, c) for grid in (301, 101) for c in range(1, 7)]
    found = read_nastran(bulk, file, nodes=NODES, rows=rows)
    order = np.r_[6:12, 0:6]
    assert np.allclose(found.matrices()[1].toarray(), (T.T @ K @ T)[np.ix_(order, order)], rtol=1e-12, atol=1e-6)
    assert found.labels.tolist() == [101, 301]
    for bad, message in (
        (None, r"matrix KAA has 12 rows, and 3 grids have 18; say which they are"),
        (rows[:-1], r"matrix KAA has 12 rows, and rows has 11"),
        ([*rows[:-1], (7, 1)], r"rows: expected numbers of grids and components 1 to 6, got \(7, 1\)"),
        ([*rows[:-1], rows[0]], "a component of a grid occurs twice"),
    ):
        with pytest.raises(kido.FileFormatError, match=message):
            read_nastran(bulk, file, nodes=NODES, rows=bad)
    with pytest.raises(kido.FileFormatError, match="expected one matrix whose name begins with PH; there are KAA, MAA"):
        read_nastran_vectors(file, found)
    with pytest.raises(kido.FileFormatError, match=r"rows: expected pairs of whole numbers .*101"):
        read_nastran(bulk, file, nodes=NODES, rows=[101] * 12)  # type: ignore[list-item]
    with pytest.raises(kido.FileFormatError, match=r"rows: expected pairs of whole numbers .*1\.5"):
        read_nastran(bulk, file, nodes=NODES, rows=[(101, 1.5)] * 12)  # type: ignore[list-item]
    WRITERS[suffix](file, {"KAA": T.T @ K @ T, "MAA": T.T @ M @ T, "BHH": np.eye(4)})  # others are none of its business
    named = read_nastran(bulk, file, nodes=NODES, rows=rows, stiffness="kaa", mass="maa")
    assert np.array_equal(named.matrices()[1].toarray(), found.matrices()[1].toarray())
    WRITERS[suffix](file, {"PHG": np.full((12, 2), np.nan)})
    with pytest.raises(kido.FileFormatError, match=r"matrix PHG: expected finite numbers|cannot be read"):
        read_nastran_vectors(file, found)
    WRITERS[suffix](file, {"PHG": np.eye(18)})
    with pytest.raises(kido.FileFormatError, match="matrix PHG: expected real numbers in 12 rows"):
        read_nastran_vectors(file, found)
    with pytest.raises(kido.FileFormatError, match="expected one matrix whose name begins with M; there are PHG"):
        read_nastran(bulk, file)


@pytest.mark.parametrize("suffix", WRITERS)
def test_files_that_are_none(tmp_path: Path, line: Structure, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bulk, file = bulk_of(tmp_path, line), tmp_path / f"line{suffix}"
    with pytest.raises(kido.FileFormatError, match="no such file"):
        read_nastran(bulk, file)
    file.write_bytes(b"this is no file of NASTRAN, whatever its name may say\n" * 3)
    with pytest.raises(kido.FileFormatError, match=f"cannot be read as {suffix[1:].upper()}|there is no matrix"):
        read_nastran(bulk, file)
    monkeypatch.setitem(__import__("sys").modules, f"pyyeti.nastran.{suffix[1:]}", None)
    with pytest.raises(kido.MissingExtraError, match=r"kido\[nastran\]"):
        read_nastran(bulk, file)
