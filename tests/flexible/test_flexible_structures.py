"""Modes of finite elements against analytic values, against all the elements, and against beams.

The digits of plates are of thin plates with Poisson's ratio 0.3: Leissa (1973), The free vibration of rectangular
plates, and Gorman (1982) for the free and the cantilever one; omega L^2 sqrt(rho h / D). Of a clamped thick plate
(h / L = 0.1, shear factor 5/6) Liew et al. (1993): 3.2954 pi^2.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy

import kido
from flexible_line import line_of_beams
from kido.flexible import (
    FlexibleBody,
    FlexibleTree,
    Material,
    Modes,
    Section,
    Structure,
    beam_modes,
    modes_of_vectors,
    plate,
    read_modes,
    reduced_modes,
    solid,
    write_modes,
)
from kido.flexible.reduction import modes_of

pytest.importorskip("skfem")
STEEL = Material(2e11, 7800.0, 0.3)
CANTILEVER = np.array([1.875104068711961, 4.694091132974174, 7.854757438237613])
FREE_FREE = np.array([4.730040744862704, 7.853204624095838])


def bar(elements: int, material: Material = STEEL, section: tuple[float, float] = (0.05, 0.02)) -> Structure:
    """A bar of 1 m along x with rigid ends."""
    made = solid(kido.Box((1.0, *section)), material, size=1.0 / elements, transform=(0.5, 0, 0))
    ends = [np.flatnonzero(np.abs(made.positions[:, 0] - x) < 1e-9) for x in (0.0, 1.0)]
    return made.tied("root", (0, 0, 0), ends[0]).tied("tip", (1, 0, 0), ends[1])


@pytest.fixture(scope="module")
def ten() -> Structure:
    return bar(10)


def floating(modes: Modes) -> tuple[FlexibleTree, np.ndarray, np.ndarray]:
    """A free body of modes: its tree, mass matrix and stiffness."""
    skeleton = kido.Skeleton("float")
    skeleton.gravity = (0.0, 0.0, 0.0)
    FlexibleBody(skeleton.add_body("body", kido.FreeJoint()), modes)
    tree = FlexibleTree(skeleton)
    return tree, tree.mass_matrix(np.zeros(6 + modes.number)), np.diag(np.append(np.zeros(6), modes.stiffness))


# Elements ----------------------------------------------------------------------------------------------------


def test_a_slender_bar_of_bricks_has_a_beams_frequencies() -> None:
    """Of order four in the elements' length; without Poisson's effect, which a rigid root would hinder."""
    material, h = Material(2e11, 7800.0, 0.0), 0.02
    unit = np.sqrt(material.young * h * h / 12.0 / material.density)
    errors = []
    for elements in (6, 12):
        modes = reduced_modes(bar(elements, material, (0.03, h)), "root", (), 8, "clamped", stiffening=False)
        beam = beam_modes(1.0, Section.rectangle(0.03, h), material, bending_z=3, elements=128)
        beta = np.array([min(modes.frequencies, key=lambda w, b=b: abs(w - b)) for b in beam.frequencies])
        errors.append(np.abs(beta / beam.frequencies - 1.0))
    assert (errors[1] < [1.5e-3, 1e-2, 4e-2]).all()
    assert (errors[1] < 0.25 * errors[0]).all()
    assert np.allclose(np.sqrt(beam.frequencies / unit)[0], CANTILEVER[0], rtol=1e-3)


@pytest.mark.parametrize(("thickness", "tolerance"), [(1e-3, 2e-3), (1e-2, 3e-3)])
def test_thin_plates(thickness: float, tolerance: float) -> None:
    """Shear lowers frequencies of the thicker plate by about (h / L)^2 pi^2: 1e-3."""
    material = Material(7e10, 2700.0, 0.3)
    D = material.young * thickness**3 / 12.0 / (1.0 - 0.09)
    unit = np.sqrt(D / (material.density * thickness))
    made = plate(kido.Box((1.0, 1.0, thickness)), material, size=0.2, transform=(0.5, 0.5, 0.0))
    x = made.positions[:, :2]
    rim = made.tied("rim", (0, 0, 0), np.flatnonzero((np.abs(x - 0.5) > 0.5 - 1e-9).any(axis=1)))
    clamped = reduced_modes(rim, "rim", (), 3, "clamped", stiffening=False).frequencies / unit
    assert np.allclose(clamped, [35.985, 73.394, 73.394], rtol=tolerance)
    edge = made.tied("edge", (0, 0.5, 0), np.flatnonzero(x[:, 0] < 1e-9))
    held = reduced_modes(edge, "edge", (), 4, "clamped", stiffening=False).frequencies / unit
    assert np.allclose(held, [3.4711, 8.5067, 21.284, 27.199], rtol=tolerance)
    M, K = made.matrices()
    free = np.sqrt(np.sort(scipy.sparse.linalg.eigsh(K, 9, M, sigma=-(unit**2), return_eigenvectors=False))[6:]) / unit
    assert np.allclose(free, [13.468, 19.596, 24.271], rtol=tolerance)


def test_thick_plates_and_discs() -> None:
    material = Material(7e10, 2700.0, 0.3)
    made = plate(kido.Box((1.0, 0.1, 1.0)), material, size=0.25)  # its thickness is along y
    x = made.positions
    rim = made.tied("rim", (0, 0, 0), np.flatnonzero((np.abs(x[:, [0, 2]]) > 0.5 - 1e-9).any(axis=1)))
    D = material.young * 1e-3 / 12.0 / 0.91
    unit = np.sqrt(D / 270.0)
    assert np.isclose(reduced_modes(rim, "rim", (), 1, "clamped").frequencies[0] / unit, 3.2954 * np.pi**2, rtol=2e-4)
    assert np.isclose(made.mass, 270.0)
    # A clamped disc: omega R^2 sqrt(rho h / D) = 10.2158
    made = plate(kido.Cylinder(1.0, 0.005), material, size=0.35)
    rim = made.tied("rim", (0, 0, 0), np.flatnonzero(np.hypot(*made.positions[:, :2].T) > 1.0 - 1e-3))
    unit = np.sqrt(material.young * 0.005**2 / 12.0 / 0.91 / material.density)
    assert np.isclose(reduced_modes(rim, "rim", (), 1, "clamped").frequencies[0] / unit, 10.2158, rtol=1e-3)
    assert np.isclose(made.mass, 2700.0 * np.pi * 0.005, rtol=1e-4)


def test_a_round_bar_twists_and_has_its_volume() -> None:
    """Clamped-free twist at pi / 2 L sqrt(G / rho); quadratic rims leave 1e-4 of the volume."""
    made = solid(kido.Cylinder(0.05, 1.0), STEEL, size=0.1)
    low = np.flatnonzero(made.positions[:, 2] < -0.5 + 1e-9)
    modes = reduced_modes(made.tied("root", (0, 0, -0.5), low), "root", (), 6, "clamped", stiffening=False)
    assert np.isclose(modes.mass, STEEL.density * np.pi * 0.05**2, rtol=2e-4)
    assert np.isclose(modes.inertia.moment[2, 2], 0.5 * modes.mass * 0.05**2, rtol=5e-4)
    twist = 0.5 * np.pi * np.sqrt(STEEL.shear / STEEL.density)
    assert np.abs(modes.frequencies / twist - 1.0).min() < 8e-3


def test_a_ball_is_meshed_and_its_mass_can_be_given() -> None:
    pytest.importorskip("pytetwild")
    made = solid(kido.Sphere(0.1), STEEL, size=0.08, mass=2.0, name="ball")
    assert np.isclose(made.mass, 2.0)
    assert len(made.faces) > 50
    a, b, c = made.positions[made.faces.T]
    outside = np.einsum("fi,fi->f", np.cross(b - a, c - a), a)
    assert (outside > 0.0).all()  # triangles are counter-clockwise from outside


# Reduction ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["craig-bampton", "free"])
def test_forces_at_nodes_deflect_as_all_elements_do(ten: Structure, method: str) -> None:
    M, K = ten.matrices()
    held, tip = ten.coordinates("root"), ten.coordinates("tip")
    inner = np.setdiff1d(np.arange(M.shape[0]), held)
    loads = np.zeros((M.shape[0], 6))
    loads[tip] = np.eye(6)
    full = np.zeros_like(loads)
    full[inner] = scipy.sparse.linalg.spsolve(K[inner][:, inner], loads[inner])
    modes = reduced_modes(ten, "root", ["tip"], 2, method)
    Pi = np.vstack([modes.node("tip").translation, modes.node("tip").rotation])
    assert np.allclose(Pi / modes.stiffness @ Pi.T, full[tip], rtol=0.0, atol=1e-8 * np.abs(full[tip]).max())


@pytest.mark.parametrize(("method", "tolerance"), [("free", 1e-8), ("craig-bampton", 4e-3), ("clamped", 3e-2)])
def test_what_floats_has_the_frequencies_of_all_free_elements(ten: Structure, method: str, tolerance: float) -> None:
    M, K = ten.matrices()
    full = np.sqrt(np.sort(scipy.sparse.linalg.eigsh(K, 12, M, sigma=-1e4, return_eigenvectors=False))[6:])
    modes = reduced_modes(ten, "root", ["tip"], 8, method)
    found = np.sqrt(scipy.linalg.eigh(*floating(modes)[1:][::-1], eigvals_only=True)[6:12])
    assert np.abs(found / full - 1.0)[:4].max() < tolerance
    beam = FREE_FREE[0] ** 2 * np.sqrt(2e11 * 0.02**2 / 12.0 / 7800.0)
    assert np.isclose(found[0], beam, rtol=0.02)  # ends are rigid pieces without length; ten elements


def test_integrals_of_mass_are_those_of_points() -> None:
    """Bricks have the same mass matrix in all directions: `Modes` of masses have the same integrals."""
    made = solid(kido.Box((0.6, 0.3, 0.2)), STEEL, size=0.3)
    x, M = made.positions, made.mass_matrix[::3, ::3].toarray()
    vectors = np.random.default_rng(3).standard_normal((3 * len(x), 3))
    mass = vectors.T @ made.mass_matrix @ vectors
    vectors = scipy.linalg.solve_triangular(np.linalg.cholesky(mass), vectors.T, lower=True).T
    shapes = vectors.reshape(len(x), 3, 3)
    given, found = Modes(M, x - 0.1, shapes, [1.0, 2.0, 3.0]), modes_of(made, vectors, np.ones(3), np.full(3, 0.1), [])
    assert np.isclose(found.mass, 7800.0 * 0.036) and np.isclose(given.mass, found.mass)
    for key in ("mass_matrix", "first_moment", "moment", "S1", "S2", "J1", "J2", "R1", "R2"):
        assert np.allclose(getattr(found, key), getattr(given, key), rtol=0.0, atol=1e-10), key


def test_vectors_of_another_program_span_the_same_modes() -> None:
    """Eigenvectors of a free structure, rigid ones among them."""
    structure = line_of_beams(6)
    M, K = (A.toarray() for A in structure.matrices())
    _, vectors = scipy.linalg.eigh(K, M)
    found = modes_of_vectors(structure, vectors[:, :14], "root", ["tip"])
    assert found.number == 8
    _, mass, stiffness = floating(found)
    free = np.sqrt(scipy.linalg.eigh(stiffness, mass, eigvals_only=True)[6:])
    assert np.allclose(free, np.sqrt(scipy.linalg.eigh(K, M, eigvals_only=True)[6:14]), rtol=1e-6)


# Loads -------------------------------------------------------------------------------------------------------


def test_a_spinning_bar_of_bricks_stiffens_as_wrights_beam() -> None:
    """Flap and lag of Wright et al. (1982), by the stress of centrifugal forces; bricks leave 1e-3 at rest."""
    material, h = Material(2e11, 7800.0, 0.0), 0.02
    modes = reduced_modes(bar(12, material, (h, h)), "root", ["tip"], 8, "clamped")
    unit = np.sqrt(material.young * h * h / 12.0 / material.density)
    for eta, hub, flap in ((4.0, 0.0, 5.58500), (8.0, 0.0, 9.25684), (12.0, 0.0, 13.17015), (12.0, 1.0, 19.72154)):
        rotor = kido.Skeleton("rotor")
        rotor.gravity = (0.0, 0.0, 0.0)
        centre = rotor.add_body("hub", kido.RevoluteJoint(axis=(0, 0, 1)), None, kido.Inertia(1.0, moment=np.eye(3)))
        FlexibleBody(rotor.add_body("blade", kido.WeldJoint(transform_from_parent=(hub, 0, 0)), centre), modes)
        tree, n, step = FlexibleTree(rotor), 9, 1e-6
        u = np.eye(n)[0] * eta * unit
        K = np.array([
            tree.inverse_dynamics(step * e, u, 0 * e) - tree.inverse_dynamics(-step * e, u, 0 * e)
            for e in np.eye(n)[1:]
        ])[:, 1:] / (2.0 * step)  # fmt: skip
        found = np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(modes.mass_matrix, K)).real)) / unit
        lag = np.sqrt(flap**2 - eta**2)
        assert np.isclose(found, flap, rtol=4e-3).any() and np.isclose(found, lag, rtol=1.5e-2).any(), (eta, found)


def test_pull_at_the_tip_stiffens_solids_and_plates_as_beams() -> None:
    """Second derivatives of the tip's displacement are those of foreshortening, int w_m' w_n' dx."""
    material = Material(2e11, 7800.0, 0.0)
    beam = beam_modes(1.0, Section.rectangle(0.1, 0.005), material, bending_z=1)
    made = plate(kido.Box((1.0, 0.1, 0.005)), material, transform=(0.5, 0, 0))
    ends = [np.flatnonzero(np.abs(made.positions[:, 0] - x) < 1e-9) for x in (0.0, 1.0)]
    made = made.tied("root", (0, 0, 0), ends[0]).tied("tip", (1, 0, 0), ends[1])
    modes = reduced_modes(made, "root", ["tip"], 1, "clamped")
    assert np.isclose(modes.node("tip").second_order[0, 0, 0], beam.node("tip").second_order[0, 0, 0], rtol=1e-3)
    assert np.isclose(modes.S2[0, 0, 0] / modes.mass, beam.S2[0, 0, 0] / beam.mass, rtol=1e-3)
    assert np.isclose(modes.J2[0, 0, 2, 2] / modes.mass, beam.J2[0, 0, 2, 2] / beam.mass, rtol=1e-3)


@pytest.mark.parametrize(("kind", "most"), [("solid", 0.10), ("plate", 0.06)])
def test_solids_and_plates_buckle_sideways_as_deep_beams(kind: str, most: float) -> None:
    """Of the beam's critical loads: a force at the tip, and moments by dead forces on bars along it, across, and both.

    Rigid ends hinder the warping of a twisted strip, over a part of it as long as it is high.
    """
    material, (b, h) = Material(2e11, 7800.0, 0.0), (0.004, 0.08)
    if kind == "solid":
        made = bar(10, material, (b, h))
    else:
        made = plate(kido.Box((1.0, b, h)), material, transform=(0.5, 0, 0))
        ends = [np.flatnonzero(np.abs(made.positions[:, 0] - x) < 1e-9) for x in (0.0, 1.0)]
        made = made.tied("root", (0, 0, 0), ends[0]).tied("tip", (1, 0, 0), ends[1])
    beam = beam_modes(
        1.0, Section.rectangle(b, h), material, bending_y=5, bending_z=2, torsion=5, boundary="craig-bampton"
    )

    def critical(modes: Modes) -> np.ndarray:
        node, (x, _, z) = modes.node("tip"), np.eye(3)

        def pair(arm: np.ndarray, force: np.ndarray) -> np.ndarray:
            """Second derivatives of the work of force and counterforce at the ends of a bar."""
            both = 0.5 * (np.outer(force, arm) + np.outer(arm, force))
            return (
                np.einsum("amn,a->mn", node.second_rotation, np.cross(arm, force))
                + node.rotation.T @ (both - arm @ force * np.eye(3)) @ node.rotation
            )

        along, across = pair(x, -z), pair(z, x)
        loads = (-node.second_order[2], along, across, 0.5 * (along + across))
        return np.array([1.0 / scipy.linalg.eigh(S, np.diag(modes.stiffness), eigvals_only=True)[-1] for S in loads])

    found = critical(reduced_modes(made, "root", ["tip"], 10)) / critical(beam) - 1.0
    assert (found > 0.0).all() and (found < most).all(), found
    assert abs(found[1] - found[2]) < 1e-5  # one bar or the other: the same, as theory has it


@pytest.mark.parametrize("kind", ["solid", "plate", "beam"])
def test_warming_stretches_and_bends(kind: str) -> None:
    """alpha T L and alpha g L^2 / 2: exact without Poisson's effect, which a rigid end would hinder."""
    material = Material(2e11, 7800.0, 0.0, expansion=1.2e-5)
    if kind == "beam":
        modes = beam_modes(
            1.0, Section.rectangle(0.2, 0.02), material, bending_y=3, bending_z=3, axial=3, boundary="craig-bampton"
        )
    elif kind == "solid":
        modes = reduced_modes(bar(3, material, (0.2, 0.02)), "root", ["tip"], 1, "clamped", thermal=True)
    else:
        made = plate(kido.Box((1.0, 0.2, 0.02)), material, size=0.5, transform=(0.5, 0, 0))
        ends = [np.flatnonzero(np.abs(made.positions[:, 0] - x) < 1e-9) for x in (0.0, 1.0)]
        made = made.tied("root", (0, 0, 0), ends[0]).tied("tip", (1, 0, 0), ends[1])
        modes = reduced_modes(made, "root", ["tip"], 1, "clamped", thermal=True, stiffening=False)
    skeleton = kido.Skeleton("warm")
    flexible = FlexibleBody(skeleton.add_body("bar", kido.WeldJoint()), modes)
    tip = modes.node("tip")
    for kelvin, gradient, moved in (
        (50.0, (0, 0, 0), (6e-4, 0, 0)), (0.0, (0, 0, 100.0), (0, 0, -6e-4)), (0.0, (0, 100.0, 0), (0, -6e-4, 0)),
        (10.0, (100.0, 0, 0), (7.2e-4, 0, 0)),
    ):  # fmt: skip
        flexible.warm(kelvin, gradient)
        eta = flexible.coordinates.parent_joint.rest_position
        assert np.allclose(tip.translation @ eta, moved, rtol=0.0, atol=1e-9 if kind != "beam" else 2e-6)
    assert modes.thermal.shape == (modes.number, 4)


def test_a_file_keeps_thermal_forces_and_says_what_it_had(tmp_path) -> None:
    modes = beam_modes(1.0, Section.tube(0.1), Material(7e10, 2700.0, expansion=2e-5), axial=2)
    write_modes(tmp_path / "a.h5", modes)
    assert (read_modes(tmp_path / "a.h5").thermal == modes.thermal).all() and modes.thermal[0, 0] != 0.0
    cold = beam_modes(1.0, Section.tube(0.1), STEEL, axial=1)
    flexible = FlexibleBody(kido.Skeleton("a").add_body("b", kido.WeldJoint()), cold)
    with pytest.raises(kido.ModelError, match="warming moves none of its modes"):
        flexible.warm(10.0)


# Bad input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mass": np.eye(5)}, "5 rows of mass and 18 of stiffness"),
        ({"stiffness": "bad"}, "stiffness: expected an array"),
        ({"stiffness": np.triu(np.ones((18, 18)))}, "stiffness: expected a symmetric matrix"),
        ({"mass": np.zeros((18, 18))}, "mass: expected numbers that are not all zero"),
        ({"nodes": {"tip": 3}}, "node 'tip': expected a number from 0 to below 3, got 3"),
        ({"rows": np.zeros((18, 2))}, "rows: a component of a node has two rows"),
        ({"rows": np.full((18, 2), 7)}, "rows: expected whole numbers from 0 to below 3, got 7"),
        ({"positions": np.zeros((4, 3))}, "18 rows of 4 nodes; expected 3 or 6 of each"),
        ({"faces": [[0, 1, 5]]}, "faces: expected whole numbers from 0 to below 3, got 5"),
        ({"stiffness": "grounded"}, "its stiffness resists a rigid"),
        ({"stiffness": "parted"}, "is of 2 parts, of 2 and 1 nodes, that nothing joins"),
    ],
)
def test_structures_that_cannot_be(changes: dict, message: str) -> None:
    good = line_of_beams(2)
    given = {"positions": good.positions, "mass": good.mass_matrix, "stiffness": good.stiffness_matrix, **changes}
    if given["stiffness"] == "grounded" if isinstance(given["stiffness"], str) else False:
        given["stiffness"] = good.stiffness_matrix + 1e3 * scipy.sparse.identity(18)
    if given["stiffness"] == "parted" if isinstance(given["stiffness"], str) else False:
        K = np.zeros((18, 18))
        K[:12, :12] = line_of_beams(1, 0.5).stiffness_matrix.toarray()
        given["stiffness"] = K
    with pytest.raises(kido.ModelError, match=message):
        Structure(**given)


def test_modes_that_a_structure_cannot_have(ten: Structure) -> None:
    with pytest.raises(kido.ModelError, match="method: expected one of clamped, craig-bampton, free, got 'guyan'"):
        reduced_modes(ten, "root", method="guyan")
    with pytest.raises(kido.NameLookupError, match="no node of structure 'solid' 'top'; expected one of: root, tip"):
        reduced_modes(ten, "root", ["top"])
    with pytest.raises(kido.ModelError, match="all different, got"):
        reduced_modes(ten, "root", ["root"])
    with pytest.raises(kido.ModelError, match="number: expected a whole number of normal modes"):
        reduced_modes(ten, "root", number=-1)
    with pytest.raises(kido.ModelError, match="expected at least one mode"):
        reduced_modes(ten, "root", number=0)
    with pytest.raises(kido.ModelError, match="thermal: it has no thermal load"):
        reduced_modes(ten, "root", thermal=True)
    line = line_of_beams(2)
    with pytest.raises(kido.ModelError, match="20 normal modes were asked for; it has 12"):
        reduced_modes(line, "root", number=20, method="clamped")
    K = line.stiffness_matrix.toarray()
    # A mechanism inside: the middle node is loose in twist, and pushes itself away.
    loose = line_of_beams(4)
    K = loose.stiffness_matrix.toarray()
    twist = np.arange(3, 30, 6)
    R = np.zeros((30, 30))
    pair = np.ix_(twist[:2], twist[:2])
    R[pair] = [[1.0, -1.0], [-1.0, 1.0]]
    with pytest.raises(kido.ModelError, match="its stiffness is negative in 1 direction"):
        reduced_modes(Structure(loose.positions, loose.mass_matrix, K - 300.0 * R, nodes={"root": 0}), "root", number=2)
    with pytest.raises(kido.ModelError, match="it can still move without any force"):
        reduced_modes(Structure(loose.positions, loose.mass_matrix, K - 160.0 * R, nodes={"root": 0}), "root", number=2)
    with pytest.raises(
        kido.ModelError, match=r"vectors are rigid motions|are rigid motions; expected some that deform"
    ):
        modes_of_vectors(line, line.rigid, "root")


def test_nodes_that_cannot_be_tied(ten: Structure) -> None:
    free = solid(kido.Box((1.0, 0.1, 0.1)), STEEL, size=0.5)
    with pytest.raises(kido.ModelError, match="node 'a': the 5 nodes tied to it lie on a line"):
        free.tied("a", (0, 0, 0), np.flatnonzero(np.abs(free.positions[:, 1:] - 0.05).max(axis=1) < 1e-9))
    with pytest.raises(kido.ModelError, match="expected nodes that are to move with it, got none"):
        free.tied("a", (0, 0, 0), [])
    with pytest.raises(kido.ModelError, match="node 'tip' exists already"):
        ten.tied("tip", (0, 0, 0), [0, 1, 2])
    with pytest.raises(kido.ModelError, match="of those tied to it is a named node or tied to one already"):
        ten.tied("more", (0, 0, 0), ten.near((0, 0, 0), 0.12))
    with pytest.raises(kido.ModelError, match="node 'corner' has 3 of three displacements and three rotations"):
        reduced_modes(Structure(free.positions, free.mass_matrix, free.stiffness_matrix, nodes={"corner": 0}), "corner")


def test_shapes_that_no_elements_fill() -> None:
    box = kido.Box((1.0, 1.0, 1.0))
    with pytest.raises(kido.ModelError, match=r"material: expected a kido.flexible.Material"):
        solid(box, "steel")
    with pytest.raises(kido.ModelError, match=r"elements of 0.001 m would be more than 100000"):
        solid(box, STEEL, size=1e-3)
    with pytest.raises(kido.ModelError, match="size: expected a positive length"):
        plate(kido.Box((1.0, 1.0, 0.1)), STEEL, size=-1.0)
    with pytest.raises(kido.ModelError, match="a plate of 1 m is 1 m thick"):
        plate(box, STEEL)
    with pytest.raises(kido.ModelError, match="expected a Box or a Cylinder"):
        plate(kido.Sphere(1.0), STEEL)
    with pytest.raises(kido.ModelError, match="turns by right angles"):
        X = np.eye(4)
        X[:2, :2] = [[0.8, -0.6], [0.6, 0.8]]
        plate(kido.Box((1.0, 1.0, 0.1)), STEEL, transform=X)
    with pytest.raises(kido.ModelError, match="a Plane is no solid"):
        solid(kido.Plane(), STEEL, size=1.0)
    with pytest.raises(kido.ModelError, match="mass: expected a positive number"):
        solid(box, STEEL, size=1.0, mass=0.0)
    pytest.importorskip("pytetwild")
    with pytest.raises(kido.ModelError, match=r"its mesh is of 2 parts that do not touch: .* about"):
        solid([(box, None), (box, (3.0, 0.0, 0.0))], STEEL, size=0.8, name="pair")
    with pytest.raises(kido.ModelError, match="its surface encloses nothing"):
        solid(kido.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]), STEEL, size=0.5)
