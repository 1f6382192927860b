"""Readers of NASTRAN, Abaqus and SID files, on files written here by the formats' definitions; and damaged ones.

The models are lines of Bernoulli beams, and beams of KIDO.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy

import kido
from flexible_line import line_of_beams
from kido.flexible import (
    Material,
    Modes,
    Section,
    Structure,
    beam_modes,
    modes_of_vectors,
    read_abaqus,
    read_nastran,
    read_nastran_vectors,
    read_sid,
    reduced_modes,
)


@pytest.fixture(scope="module")
def line() -> Structure:
    return line_of_beams(4)


NODES = {"root": 101, "tip": 501}


def dmig(name: str, M: np.ndarray, labels: list[int]) -> str:
    """A symmetric matrix in large fields, its lower triangle."""
    rows = [f"{'DMIG':<8}{name:<8}{0:>8}{6:>8}{2:>8}{0:>8}"]
    for j in range(len(M)):
        entries = [i for i in range(j, len(M)) if M[i, j] != 0.0]
        if entries:
            rows.append(f"{'DMIG*':<8}{name:<16}{labels[j // 6]:>16}{j % 6 + 1:>16}")
            rows += [f"{'*':<8}{labels[i // 6]:>16}{i % 6 + 1:>16}{M[i, j]:>16.9E}" for i in entries]
    return "\n".join(rows) + "\n"


def nastran(folder: Path, line: Structure) -> tuple[Path, Path]:
    labels = [101 + 100 * k for k in range(len(line.positions))]
    x = line.positions[:, 0]
    grids = (
        "SOL 103\nCEND\nBEGIN BULK\n$ a line of beams, in three kinds of fields\n"
        f"GRID,101,,{x[0]},0.,0.\n"
        f"GRID         201       0{'2.5-1':>8}{'0.0':>8}{'0.0':>8}\n"
        f"GRID*   {301:>16}{0:>16}{x[2]:>16.9E}{0.0:>16.9E}\n*       {0.0:>16.9E}{0:>16}\n"
        "CORD2R,7,,1.,0.,0.,1.,0.,1.,\n,1.,1.,0.\n"  # its x is the basic y, its y the basic -x
        "CORD2C,8,,0.,0.,0.,0.,0.,1.,\n,1.,0.,0.\n"
        "GRID,401,7,0.,0.25,0.,7\nGRID,501,8,1.,0.,0.\nENDDATA\n"
    )
    M, K = (A.toarray() for A in line.matrices())
    # Displacements of the fourth node are along the axes of system 7: the model's x, y is its -y, x.
    R = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # columns: its axes
    T = np.eye(len(M))
    T[18:21, 18:21] = T[21:24, 21:24] = R
    M, K = T.T @ M @ T, T.T @ K @ T
    bulk, matrices = folder / "line.bdf", folder / "line.pch"
    bulk.write_text(grids)
    matrices.write_text("$TITLE = LINE\n" + dmig("KAAX", K, labels) + dmig("MAAX", M, labels))
    return bulk, matrices


def test_nastran_models_and_matrices(tmp_path: Path, line: Structure) -> None:
    """To the nine digits of large fields."""
    found = read_nastran(*nastran(tmp_path, line), nodes=NODES)
    assert np.allclose(found.positions, line.positions, atol=1e-12)
    assert found.labels.tolist() == [101, 201, 301, 401, 501]
    for given, read in zip(line.matrices(), found.matrices(), strict=True):
        assert np.allclose(read.toarray(), given.toarray(), rtol=0.0, atol=1e-9 * abs(given).max())
    expected = reduced_modes(line, "root", ["tip"], 3)
    modes = reduced_modes(found, "root", ["tip"], 3)
    assert np.allclose(modes.frequencies, expected.frequencies, rtol=1e-7)
    assert np.allclose(modes.inertia.moment, expected.inertia.moment, atol=1e-8)


def test_nastran_eigenvectors(tmp_path: Path, line: Structure) -> None:
    M, K = (A.toarray() for A in line.matrices())
    values, vectors = scipy.linalg.eigh(K, M)
    rows = []
    for k in range(12):
        rows += ["$TITLE   =", "$EIGENVECTOR", "$REAL OUTPUT", "$SUBCASE ID =           1",
                 f"$EIGENVALUE = {values[k]:14.7E}  MODE = {k + 1:5d}"]  # fmt: skip
        for n in range(5):
            x = vectors[6 * n : 6 * n + 6, k]
            rows += [f"{101 + 100 * n:10d}       G{x[0]:18.9E}{x[1]:18.9E}{x[2]:18.9E}{n:8d}",
                     f"-CONT-            {x[3]:18.9E}{x[4]:18.9E}{x[5]:18.9E}{n:8d}"]  # fmt: skip
    punch = tmp_path / "vectors.pch"
    punch.write_text("\n".join(rows) + "\n$DISPLACEMENTS\n       101       G  0.0\n")
    structure = read_nastran(*nastran(tmp_path, line), nodes=NODES)
    found, shapes = read_nastran_vectors(punch, structure)
    assert np.allclose(found[6:], values[6:12], rtol=1e-6)
    assert np.allclose(shapes, vectors[:, :12], atol=1e-8)
    modes = modes_of_vectors(structure, shapes, "root", ["tip"])
    assert modes.number == 6 and modes.nodes[0].name == "tip"
    for text, message in (
        ("$EIGENVALUE", "an eigenvector without its eigenvalue"),
        ("-CONT-                   bad", ":7: eigenvector: expected a number, got 'bad'"),
        ("-CONT-            1.0", ":7: expected three numbers of 18 columns"),
    ):
        damaged = rows.copy()
        if text == "$EIGENVALUE":
            damaged[4] = "$"
        else:
            damaged[6] = text
        punch.write_text("\n".join(damaged))
        with pytest.raises(kido.FileFormatError, match=message):
            read_nastran_vectors(punch, structure)
    punch.write_text("\n".join(rows[:-2]))
    with pytest.raises(kido.FileFormatError, match="mode 12 has no node 501"):
        read_nastran_vectors(punch, structure)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("GRID,101,,", "GRID,x,,", r"line.bdf:5: GRID: number: expected a whole number, got 'x'"),
        ("GRID,101,,0.0", "GRID,101,,0.0.", r"line.bdf:5: GRID 101: expected a number"),
        ("GRID,401,7", "GRID,401,9", r"line.bdf:13: coordinate system 9 is not there"),
        ("GRID,501,8", "GRID,401,8", r"line.bdf:14: GRID 401 occurs twice"),
        ("CORD2R,7,,", "CORD2R,7,7,", r"line.bdf:9: coordinate system 7 refers to itself"),
        (",1.,1.,0.\n", ",1.,0.,2.\n", r"line.bdf:9: CORD2R 7: its three points lie on a line"),
        ("CORD2C", "CORD1C", r"line.bdf:11: CORD1C: expected coordinate systems CORD2R"),
        ("BEGIN BULK\n", "BEGIN BULK\n+,1.\n", r"line.bdf:4: a continuation of nothing"),
    ],
)
def test_damaged_bulk_data(tmp_path: Path, line: Structure, old: str, new: str, message: str) -> None:
    bulk, matrices = nastran(tmp_path, line)
    text = bulk.read_text()
    assert old in text
    bulk.write_text(text.replace(old, new))
    with pytest.raises(kido.FileFormatError, match=message):
        read_nastran(bulk, matrices, nodes=NODES)


def test_damaged_matrices(tmp_path: Path, line: Structure) -> None:
    bulk, matrices = nastran(tmp_path, line)
    text = matrices.read_text()
    rows = text.splitlines()

    def refused(message: str, changed: str, **options) -> None:
        matrices.write_text(changed)
        with pytest.raises(kido.FileFormatError, match=message):
            read_nastran(bulk, matrices, **{"nodes": NODES, **options})

    refused("line.pch:3: DMIG KAAX: expected a number, got", text.replace(rows[3][40:56], "           1.0.0", 1))
    refused("line.pch:2: DMIG KAAX: expected a square or symmetric matrix", text.replace("       6", "       9", 1))
    refused("DMIG KAAX: a column before the matrix's own card", text.replace(rows[1] + "\n", "", 1))
    refused("there is no GRID 999; modal coordinates are not read", text.replace(f"{201:>16}", f"{999:>16}", 1))
    refused("component of 101: expected 1 to 6, got 0", text.replace(f"{101:>16}{1:>16}", f"{101:>16}{0:>16}", 1))
    refused("occurs twice", text.replace(rows[3], rows[3] + "\n" + rows[3], 1))
    refused("expected one matrix whose name begins with M; there are KAAX", text[: text.index("DMIG    MAAX")])
    refused("expected a matrix 'MGG'; there are KAAX, MAAX", text, mass="MGG")
    refused("node 'tip': there is no node 7 that the matrices know", text, nodes={"tip": 7})
    with pytest.raises(kido.FileFormatError, match="cannot be read: No such file"):
        read_nastran(tmp_path / "none.bdf", matrices)
    (tmp_path / "bytes.bdf").write_bytes(b"\xff\xfe\x00GRID")
    with pytest.raises(kido.FileFormatError, match="expected a text file"):
        read_nastran(tmp_path / "bytes.bdf", matrices)


# Abaqus ------------------------------------------------------------------------------------------------------


def abaqus(folder: Path, line: Structure, labels: bool = True) -> tuple[Path, Path, Path]:
    model = folder / "line.inp"
    model.write_text(
        "*HEADING\n a line\n** nodes\n*NODE\n"
        + "".join(f"{10 * k + 1}, {x:.12g}, 0., 0.\n" for k, x in enumerate(line.positions[:, 0]))
        + "*NSET, NSET=root\n1,\n*NSET, NSET=tip, GENERATE\n41, 41, 1\n*NSET, NSET=all, GENERATE\n1, 41, 10\n"
        "*ELEMENT, TYPE=B33\n1, 1, 11\n"
    )
    files = []
    for kind, A in zip(("MASS1", "STIF1"), line.matrices(), strict=True):
        M, rows = A.toarray(), []
        for i, j in zip(*np.nonzero(np.triu(M)), strict=True):
            if labels:
                rows.append(f"{10 * (i // 6) + 1},{i % 6 + 1}, {10 * (j // 6) + 1},{j % 6 + 1}, {M[i, j]:.15e}")
            else:
                rows.append(f"{i + 1} {j + 1} {M[i, j]:.15e}")
        files.append(folder / f"line_{kind}.mtx")
        files[-1].write_text("\n".join(rows) + "\n")
    return model, files[1], files[0]


@pytest.mark.parametrize("labels", [True, False])
def test_abaqus_matrices(tmp_path: Path, line: Structure, labels: bool) -> None:
    found = read_abaqus(*abaqus(tmp_path, line, labels))
    assert found.nodes == ("root", "tip") and found.labels.tolist() == [1, 11, 21, 31, 41]
    for given, read in zip(line.matrices(), found.matrices(), strict=True):
        assert np.allclose(read.toarray(), given.toarray(), rtol=1e-14)
    modes = reduced_modes(found, "root", ["tip"], 3, "free")
    assert np.allclose(modes.frequencies, reduced_modes(line, "root", ["tip"], 3, "free").frequencies, rtol=1e-6)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (0, "11, 0.25", "11, 0.25, 0, 0, 0", r"line.inp:6: a node is a number and up to three coordinates"),
        (0, "11, 0.25", "11, bad", r"line.inp:6: node 11: expected a number, got 'bad'"),
        (0, "11, 0.25", "1, 0.25", r"line.inp:6: node 1 occurs twice"),
        (0, "41, 41, 1", "41", r"set 'tip': expected first, last and step, got '41'"),
        (0, "*NODE\n", "*ELEMENT\n", r"there is no \*NODE with nodes"),
        (1, "1,1, 1,1,", "7,1, 1,1,", r"STIF1.mtx:1: there is no node 7 in the model"),
        (1, "1,1, 1,1,", "1,8, 1,1,", r"STIF1.mtx:1: component of node 1: expected 1 to 6, got 8"),
        (1, "1,1, 1,1,", "1,1, 1,", r"STIF1.mtx:1: expected node, component, node, component, value"),
        (1, "1,1, 1,1, 4", "1,1, 1,1, nan4", r"STIF1.mtx:1: value: expected a number"),
        (2, "\n", "\n1,1, 1,1, 3.0\n", r"MASS1.mtx:2: entry .* occurs twice"),
    ],
)
def test_damaged_abaqus_files(tmp_path: Path, line: Structure, file: int, old: str, new: str, message: str) -> None:
    files = abaqus(tmp_path, line)
    text = files[file].read_text()
    assert old in text
    files[file].write_text(text.replace(old, new, 1))
    with pytest.raises(kido.FileFormatError, match=message):
        read_abaqus(*files)


# SID ---------------------------------------------------------------------------------------------------------


def block(name: str, m0: np.ndarray, m1: np.ndarray | None = None) -> str:
    """A matrix of a SID file, of order 1 if there is m1 (rows, columns, modes)."""
    n = 0 if m1 is None else m1.shape[2]
    rows = [name, f"order = {int(m1 is not None)}", f"nrow = {m0.shape[0]}", f"ncol = {m0.shape[1]}", f"nq = {n}",
            "nqn = 0", "structure = 3"]  # fmt: skip
    rows += [f"m0({i + 1},{j + 1}) = {m0[i, j]:.16e}" for i, j in np.argwhere(m0)]
    if m1 is not None:
        rows += [f"m1 ( {i + 1}, {j + 1}, {k + 1}) = {m1[i, j, k]:.16e}" for i, j, k in np.argwhere(m1)]
    return "\n".join([*rows, f"end {name}"]) + "\n"


def sid(modes: Modes) -> str:
    n = modes.number
    oe0, oe1 = np.zeros((n, 6)), np.zeros((n, 6, n))
    for column, (a, b) in enumerate(((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))):
        share = 0.5 if a == b else 1.0
        oe0[:, column], oe1[:, column] = -share * modes.J1[:, a, b], -2.0 * share * modes.J2[:, :, a, b]
    nodes = ""
    for node in modes.nodes:
        nodes += f"new node = {node.name}\nrframe = body ref\n"
        nodes += block("origin", node.position[:, None], node.translation[:, None, :])
        # Angular velocity per rate: the rotation vector's derivative, and what turns add to each other.
        both = 0.5 * np.cross(node.rotation[:, None, :], node.rotation[:, :, None], axis=0)
        nodes += block("phi", node.translation, node.second_order)
        nodes += block("psi", node.rotation, node.second_rotation + both)
        nodes += block("AP", np.eye(3)) + block("sigma", np.zeros((6, 1))) + "end node\n"
    names = "".join(f"ielastq ({k + 1}) = '{name}'\n" for k, name in enumerate(modes.names))
    return (
        f"part\nnew modal\nrefmod\nmass = {modes.mass:.16e}\nnelastq = {n}\n{names}end refmod\n"
        f"frame\n{nodes}end frame\n"
        + block("mdCM", modes.first_moment[:, None], modes.S1.T[:, None, :])
        + block("J", modes.moment, modes.J1.transpose(1, 2, 0))
        + block("Ct", modes.S1, modes.S2.swapaxes(1, 2)) + block("Cr", modes.R1, modes.R2.swapaxes(1, 2))
        + block("Me", modes.mass_matrix) + block("Ge", 2.0 * modes.R2.reshape(n, 3 * n)) + block("Oe", oe0, oe1)
        + block("Ke", np.diag(modes.stiffness)) + block("De", np.diag(modes.damping)) + "end modal\nend part\n"
    )  # fmt: skip


BEAM = beam_modes(
    1.0, Section.rectangle(0.03, 0.02), Material(7e10, 2700.0), bending_y=2, bending_z=2, axial=1, torsion=1,
    nodes={"tip": 1.0, "middle": 0.4}, damping_ratio=0.01, boundary="craig-bampton",
)  # fmt: skip


def test_sid_files(tmp_path: Path) -> None:
    path = tmp_path / "beam.SID_FEM"
    path.write_text(sid(BEAM))
    found = read_sid(path)
    assert found.names == BEAM.names
    given, read = BEAM.to_dict(), found.to_dict()
    for key in (
        "mass",
        "stiffness",
        "damping",
        "mass_matrix",
        "first_moment",
        "moment",
        "S1",
        "S2",
        "J1",
        "J2",
        "R1",
        "R2",
    ):
        assert np.allclose(read[key], given[key], rtol=1e-14, atol=1e-15), key
    for a, b in zip(BEAM.nodes, found.nodes, strict=True):
        for key in ("position", "translation", "rotation", "second_order", "second_rotation"):
            assert getattr(a, key).any() and np.allclose(getattr(a, key), getattr(b, key), atol=1e-15), key
    # Without its linear term, what Cr gains comes from Ge, but for the part by foreshortening.
    section, material = Section.rectangle(0.03, 0.02), Material(7e10, 2700.0)
    stiff = beam_modes(1.0, section, material, bending_y=2, torsion=1, foreshortening=False)
    text = sid(stiff).replace(block("Cr", stiff.R1, stiff.R2.swapaxes(1, 2)), block("Cr", stiff.R1))
    path.write_text(text)
    assert np.allclose(read_sid(path).R2, stiff.R2, atol=1e-15)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("part\n", "", r":1: expected 'part', got 'new modal'"),
        ("nelastq = 6", "nelastq = six", r":5: nelastq: expected a whole number, got 'six'"),
        ("nelastq = 6", "nelast = 6", r":5: expected mass, nelastq or ielastq, got 'nelast'"),
        ("new node = tip", "node = tip", r":14: expected 'new node = name', got 'node = tip'"),
        ("origin\norder = 1", "origin\nordre = 1", r":17: origin: expected order, nrow, ncol, nq, nqn and structure"),
        ("m0(1,1) = 1.0000000000000000e+00", "m0(1,1) = 1.0e", r":23: origin: entry: expected a number, got '1.0e'"),
        ("m0(1,1)", "m0(4,1)", r":23: origin: entry m0\(4,1\) of a matrix \(3, 1\)"),
        ("m0(1,1) =", "m0(1,1) = 2.0\nm0(1,1) =", r":24: origin: entry m0\(1,1\) occurs twice"),
        ("mdCM\n", "mdcom\n", r"expected one of mdCM, J, Ct, .*, got 'mdcom'"),
        ("end modal\nend part\n", "", r"the file ends before 'end part'"),
        (block("AP", np.eye(3)), block("AP", np.eye(3)[[1, 0, 2]]), "AP turns its axes"),
        (block("Ke", np.diag(BEAM.stiffness)), "", "there is no Ke"),
        (
            block("Ke", np.diag(BEAM.stiffness)),
            block("Ke", np.full((6, 6), 5.0)),
            "Ke: modes 1 and 2 are not orthogonal",
        ),
        (block("Me", BEAM.mass_matrix), block("Me", np.eye(5)), r"Me: expected a matrix \(6, 6\), got \(5, 5\)"),
    ],
)
def test_damaged_sid_files(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = sid(BEAM)
    assert old in text
    path = tmp_path / "damaged.sid"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(kido.FileFormatError, match=message):
        read_sid(path)
    with pytest.raises(kido.FileFormatError, match="cannot be read"):
        read_sid(tmp_path / "none.sid")


def test_negative_stiffness_and_coupled_masses_of_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.sid"
    path.write_text(sid(BEAM).replace(block("Ke", np.diag(BEAM.stiffness)), block("Ke", -np.diag(BEAM.stiffness))))
    with pytest.raises(kido.ModelError, match="mode 'bending_y1': expected a positive stiffness"):
        read_sid(path)
    M = BEAM.mass_matrix + 0.01 * np.eye(6)[[1, 0, 2, 3, 4, 5]]
    path.write_text(sid(BEAM).replace(block("Me", BEAM.mass_matrix), block("Me", M)))
    with pytest.raises(kido.ModelError, match="modes 'bending_y1' and 'bending_y2' are not orthogonal"):
        read_sid(path)
