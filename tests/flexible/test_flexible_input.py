"""Modes, beams and flexible bodies that cannot be: each is named, and nothing is changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import kido
from kido.flexible import (
    FlexibleBody,
    FlexibleTree,
    Material,
    ModeNode,
    Modes,
    Section,
    beam_modes,
    read_modes,
    write_modes,
)

BAR = Section.rectangle(0.1, 0.02)
STEEL = Material(2e11, 7800.0)


def modes(**changes: Any) -> Modes:
    """Two modes of three masses, orthogonal; with changes."""
    shapes = np.zeros((3, 3, 2))
    shapes[1:, 1, 0], shapes[1:, 2, 1] = (0.5, 1.0), (0.5, -1.0)
    given = {
        "masses": [1.0, 1.0, 1.0], "positions": [[0, 0, 0], [1, 0, 0], [2, 0, 0]], "shapes": shapes,
        "stiffness": [10.0, 20.0], "nodes": [ModeNode("tip", (2, 0, 0), shapes[2])],
    }  # fmt: skip
    return Modes(**{**given, **changes})


def coupled() -> np.ndarray:
    shapes = np.zeros((3, 3, 2))
    shapes[1:, 1, 0], shapes[2, 1, 1] = (0.5, 1.0), 1.0
    return shapes


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shapes": coupled()}, "modes 'mode1' and 'mode2' are not orthogonal: their mass is coupled by 0.894"),
        ({"stiffness": [10.0, -20.0]}, "mode 'mode2': expected a positive stiffness, got -20"),
        ({"stiffness": [0.0, 20.0]}, "mode 'mode1': expected a positive stiffness, got 0; rigid motions are no modes"),
        ({"stiffness": [10.0]}, r"stiffness: expected an array \(2\), got one of shape \(1,\)"),
        ({"stiffness": [np.nan, 1.0]}, "stiffness: expected finite numbers"),
        ({"masses": [1.0, 1.0]}, r"masses: expected an array \(3\)"),
        ({"masses": [1.0, -1.0, 1.0]}, "masses: expected numbers that are not negative"),
        ({"masses": -np.eye(3)}, "masses: expected a symmetric positive definite mass matrix"),
        (
            {"masses": [[1.0, 0.5, 0], [0, 1, 0], [0, 0, 1]]},
            "masses: expected a symmetric positive definite mass matrix",
        ),
        ({"masses": [1.0, 0.0, 0.0]}, "mode 'mode1' moves no mass"),
        ({"positions": [[0, 0], [1, 1], [2, 2]]}, r"positions: expected an array \(any x 3\)"),
        ({"shapes": np.zeros((3, 2, 2))}, r"shapes: expected an array \(3 x 3 x any\)"),
        ({"second_order": np.arange(36.0).reshape(3, 3, 2, 2)}, "second_order: expected second derivatives, symmetric"),
        ({"damping_ratio": -0.1}, "damping_ratio: expected numbers that are not negative"),
        ({"rayleigh": (0.0, -1.0)}, "rayleigh: expected numbers that are not negative"),
        ({"rayleigh": 0.1}, r"rayleigh: expected an array \(2\)"),
        ({"damping_ratio": "much"}, "damping_ratio: expected"),
        ({"names": ["a", "a"]}, "names: expected 2 different names"),
        ({"nodes": ["tip"]}, "nodes: expected ModeNode objects, got 'tip'"),
        ({"nodes": [ModeNode("n", (0, 0, 0), np.zeros((3, 3)))]}, "node 'n': expected 2 modes, got 3"),
        ({"nodes": [ModeNode("n", (0, 0, 0), np.zeros((3, 2)))] * 2}, "node 'n' occurs twice"),
    ],
)
def test_modes_that_cannot_be(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(kido.ModelError, match=message):
        modes(**changes)


def test_nodes_that_cannot_be() -> None:
    with pytest.raises(kido.ModelError, match=r"node 'n': translation: expected an array \(3 x any\)"):
        ModeNode("n", (0, 0, 0), np.zeros(3))
    with pytest.raises(kido.ModelError, match=r"node 'n': rotation: expected an array \(3 x 2\)"):
        ModeNode("n", (0, 0, 0), np.zeros((3, 2)), np.zeros((3, 1)))
    for key in ("second_order", "second_rotation"):
        with pytest.raises(kido.ModelError, match=rf"node 'n': {key}: expected an array \(3 x 2 x 2\)"):
            ModeNode("n", (0, 0, 0), np.zeros((3, 2)), **{key: np.zeros((3, 3))})
        with pytest.raises(kido.ModelError, match=f"node 'n': {key}: expected second derivatives, symmetric"):
            ModeNode("n", (0, 0, 0), np.zeros((3, 2)), **{key: np.arange(12.0).reshape(3, 2, 2)})
    with pytest.raises(kido.NameLookupError, match="no node 'top'; expected one of: tip"):
        modes().node("top")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"length": 0.0}, "length: expected a finite number above 0"),
        ({"bending_y": 0}, "expected at least one mode"),
        ({"bending_y": -1}, "bending_y: expected a whole number"),
        ({"bending_y": 1.5}, "bending_y: expected a whole number"),
        ({"bending_y": 9, "elements": 4}, "bending_y: expected a whole number from 0 to what the elements have"),
        ({"theory": "reissner"}, "theory: expected one of timoshenko, euler-bernoulli, got 'reissner'"),
        ({"boundary": "pinned"}, "boundary: expected one of clamped, free, craig-bampton"),
        ({"boundary": "craig-bampton"}, "bending_y: craig-bampton needs at least 2 modes"),
        ({"torsion": 1, "theory": "euler-bernoulli"}, "torsion: an Euler-Bernoulli beam is a line"),
        ({"nodes": {"middle": 1.5}}, "node 'middle': expected a place on the beam, from 0 to 1 m, got 1.5"),
        ({"damping_ratio": [0.1, 0.1]}, r"damping_ratio: expected an array \(1\)"),
    ],
)
def test_beams_that_cannot_be(changes: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"length": 1.0, "section": BAR, "material": STEEL, "bending_y": 1}
    with pytest.raises(kido.ModelError, match=message):
        beam_modes(**{**given, **changes})


def test_sections_and_materials_that_cannot_be() -> None:
    with pytest.raises(kido.ModelError, match="section: area: expected a finite number above 0, got -1"):
        Section(-1.0, 1.0, 1.0)
    with pytest.raises(kido.ModelError, match=r"inner radius: expected a number from 0 to below 0\.1, got 0\.2"):
        Section.tube(0.1, 0.2)
    with pytest.raises(kido.ModelError, match="Young's modulus"):
        Material(0.0, 1.0)
    with pytest.raises(kido.ModelError, match="Poisson's ratio"):
        Material(1.0, 1.0, 0.5)


def test_bodies_that_cannot_be_flexible_are_left_as_they_are() -> None:
    skeleton = kido.Skeleton("s")
    heavy = skeleton.add_body("heavy", kido.RevoluteJoint(), None, kido.Inertia(1.0))
    with pytest.raises(
        kido.ModelError, match="body 'heavy' has a mass of 1 kg; a flexible body's inertia is that of its"
    ):
        FlexibleBody(heavy, modes())
    carrier = skeleton.add_body("carrier", kido.WeldJoint(), heavy)
    skeleton.add_body("carrier_tip", kido.WeldJoint(), heavy)
    with pytest.raises(kido.ModelError, match="has a body, joint or coordinate 'carrier_tip' already"):
        FlexibleBody(carrier, modes())
    skeleton.add_body("load", kido.WeldJoint(), carrier)
    with pytest.raises(kido.ModelError, match="body 'carrier' carries 'load': make it flexible first"):
        FlexibleBody(carrier, modes())
    assert carrier.mass == 0.0 and skeleton.num_bodies == 4
    with pytest.raises(kido.ModelError, match="expected a rigid body of a skeleton"):
        FlexibleBody("carrier", modes())  # type: ignore[arg-type]


def test_trees_that_cannot_be() -> None:
    skeleton = kido.Skeleton("s")
    body = FlexibleBody(skeleton.add_body("body", kido.RevoluteJoint()), modes())
    with pytest.raises(kido.ModelError, match="body 'body' has a mass of 3 kg; a flexible body's inertia"):
        FlexibleBody(body.body, modes())
    with pytest.raises(kido.ModelError, match=r"expected a kido\.Skeleton, got 'arm'"):
        FlexibleTree("arm")  # type: ignore[arg-type]
    with pytest.raises(kido.NameLookupError, match="no node of flexible body 'body' 'top'; expected one of: tip"):
        body.node("top")
    tree = FlexibleTree(skeleton)
    with pytest.raises(kido.ModelError, match="expected a body of skeleton 's' or its name"):
        tree.transform(3, np.zeros(3))  # type: ignore[arg-type]
    assert tree.names == ("body_joint", "body.mode1", "body.mode2")
    assert body.dofs == slice(1, 3)


def test_edits_that_take_a_flexible_body_apart_are_refused() -> None:
    skeleton = kido.Skeleton("s")
    body = FlexibleBody(skeleton.add_body("body", kido.RevoluteJoint()), modes())
    tree = FlexibleTree(skeleton)
    body.body.inertia = kido.Inertia(3.0)
    with pytest.raises(
        kido.ModelError, match="flexible body 'body': its inertia is that of its modes, and was changed"
    ):
        tree.mass_matrix(np.zeros(3))
    body.body.inertia = body.modes.inertia
    assert tree.mass_matrix(np.zeros(3)).shape == (3, 3)
    body.node("tip").remove()
    with pytest.raises(kido.ModelError, match="the body 'body_tip' of its node 'tip' was taken away"):
        tree.mass_matrix(np.zeros(3))


def test_edits_of_the_skeleton_are_followed() -> None:
    skeleton = kido.Skeleton("s")
    body = FlexibleBody(skeleton.add_body("body", kido.RevoluteJoint()), modes())
    tree = FlexibleTree(skeleton)
    before = tree.mass_matrix(np.zeros(3))
    skeleton.add_body("load", kido.WeldJoint(), body.node("tip"), kido.Inertia(2.0))
    after = tree.mass_matrix(np.zeros(3))
    # A point mass at the tip, two metres out, which both modes move by 1.
    expected = before + 2.0 * np.array([[4.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert np.allclose(after, expected, rtol=1e-14)


# Files -------------------------------------------------------------------------------------------------------


def test_modes_in_files_are_the_same_modes(tmp_path: Path) -> None:
    """To the last bit, nodes and second order included."""
    made = beam_modes(1.0, BAR, STEEL, bending_y=2, torsion=1, nodes={"middle": 0.5}, damping_ratio=0.01)
    path = tmp_path / "beam.h5"
    write_modes(path, made)
    found = read_modes(path)
    assert found.names == made.names and repr(found) == repr(made)
    one, two = made.to_dict(), found.to_dict()
    assert one.keys() == two.keys()
    for key in set(one) - {"names", "nodes", "surface"}:
        assert np.array_equal(one[key], two[key]), key
    fields = [data["surface"].pop("fields") for data in (one, two)]
    for a, b in ((one["surface"], two["surface"]), fields):
        assert a.keys() == b.keys() and all(np.array_equal(a[k], b[k]) for k in a)
    for a, b in zip(one["nodes"], two["nodes"], strict=True):
        assert a["name"] == b["name"] and all(np.array_equal(a[k], b[k]) for k in a if k != "name")


def test_files_that_hold_no_modes_are_named(tmp_path: Path) -> None:
    path = tmp_path / "modes.h5"
    with pytest.raises(kido.FileFormatError, match=r"modes\.h5: no such file"):
        read_modes(path)
    path.write_text("no HDF5")
    with pytest.raises(kido.FileFormatError, match="no file of modes"):
        read_modes(path)
    with h5py.File(path, "w") as file:
        file.attrs["format"] = "other"
    with pytest.raises(kido.FileFormatError, match="expected a file of format 'kido modes', version 1"):
        read_modes(path)
    for change, message in (
        (lambda file: file["stiffness"].write_direct(np.array([1.0, -1.0])), "mode 'mode2': expected a positive stiff"),
        (lambda file: file["mass_matrix"].write_direct(np.ones((2, 2))), "are not orthogonal"),
        (lambda file: file.__delitem__("R2"), "there is no 'R2'"),
        (lambda file: file["S1"].write_direct(np.full((2, 3), np.nan)), "S1: expected finite numbers"),
        (lambda file: file.attrs.__setitem__("mass", -1.0), "mass: expected a positive number"),
        (lambda file: file.attrs.__delitem__("names"), "no file of modes"),
    ):
        write_modes(path, modes())
        with h5py.File(path, "r+") as file:
            change(file)
        with pytest.raises(kido.KidoError, match=message):
            read_modes(path)
    with pytest.raises(kido.FileFormatError, match="cannot write modes"):
        write_modes(tmp_path / "nowhere" / "modes.h5", modes())
