"""Real robots of other projects load without edits, and the one that cannot says why."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kido
from kido.errors import FileFormatError, MeshNotFoundError

EMPTY = "ur_description/urdf/ur3.urdf"
FOREIGN_MESHES = "romeo_description/urdf/romeo_laas_small.urdf"  # file:///usr/Romeo/...: on its maker's machine only


def test_every_robot_of_example_robot_data_loads(example_robots: Path) -> None:
    files = sorted(path.relative_to(example_robots).as_posix() for path in example_robots.rglob("*.urdf"))
    assert len(files) >= 60
    for name in files:
        if name == EMPTY:
            continue
        skeleton = kido.load(example_robots / name)
        assert skeleton.num_bodies >= 1, name
        assert skeleton.mass > 0.0, name
        for body in skeleton.bodies:
            for node in body.shapes:
                assert np.isfinite(node.shape.aabb).all(), (name, body.name)


def test_the_empty_robot_is_refused(example_robots: Path) -> None:
    with pytest.raises(FileFormatError, match=r"ur3\.urdf:6: the robot has no links; expected at least one <link>"):
        kido.load(example_robots / EMPTY)


def test_meshes_of_another_machine_can_be_left_out(example_robots: Path) -> None:
    with pytest.raises(MeshNotFoundError, match="outside of the folders this model may read"):
        kido.load(example_robots / FOREIGN_MESHES, strict=True)
    without = kido.load(example_robots / FOREIGN_MESHES)
    assert without.num_dofs == kido.load(example_robots / FOREIGN_MESHES, visuals=False).num_dofs == 33
    assert sum("is left out" in text for text in without.warnings) == 20


@pytest.mark.parametrize(
    ("name", "dofs", "mass"),
    [  # masses: sums of the files' <mass> values
        ("sdf/atlas/atlas_v3_no_head.urdf", 27, 146.554),
        ("urdf/KR5/KR5 sixx R650.urdf", 6, 24.843),
        ("urdf/wam/wam.urdf", 7, 29.426),
        ("urdf/drchubo/drchubo.urdf", 51, 43.985),
    ],
)
def test_robots_of_dart(dart_data: Path, name: str, dofs: int, mass: float) -> None:
    skeleton = kido.load(dart_data / name)
    assert skeleton.num_dofs == dofs
    assert skeleton.mass == pytest.approx(mass, abs=1e-3)
    assert any(node.visual for body in skeleton.bodies for node in body.shapes)
    assert any(node.collision for body in skeleton.bodies for node in body.shapes)


@pytest.mark.parametrize(
    ("name", "error", "reason"),
    [
        (
            "sdf/atlas/atlas_v3.urdf",
            FileFormatError,
            "719: joint 'neck_ry' names the child link 'head', which does not",
        ),
        ("urdf/test/invalid.urdf", FileFormatError, "1: not well-formed XML"),
        ("urdf/test/invalid_mesh.urdf", FileFormatError, "6: mesh .*invalid_mesh.stl: not an STL file"),
        (
            "urdf/test/missing_mesh.urdf",
            MeshNotFoundError,
            "6: mesh 'this_file_does_not_exist.stl' not found",
        ),
        (
            "urdf/test/missing_package.urdf",
            MeshNotFoundError,
            "6: mesh 'package://missing_package/foo.stl' not found",
        ),
        (
            "urdf/test/primitive_geometry.urdf",
            FileFormatError,
            "5: <geometry> of a <visual> holds <sphere>, <cyl",
        ),
        ("urdf/test/testWorld.urdf", FileFormatError, "1: the root element is <world>; expected <robot>"),
    ],
)
def test_bad_files_of_dart(dart_data: Path, name: str, error: type, reason: str) -> None:
    with pytest.raises(error, match=reason):
        kido.load(dart_data / name, strict=True)


def test_the_wams_dae_and_stl_meshes_coincide(dart_data: Path) -> None:
    """The files say Y_UP, but their coordinates are those of the links, as the STL files show."""
    from kido.io.meshes import load_mesh

    folder = dart_data / "urdf" / "wam" / "meshes" / "wam"
    for name in ("wam_base", "wam1"):
        dae, stl = load_mesh(folder / f"{name}.dae"), load_mesh(folder / f"{name}.STL")
        np.testing.assert_allclose(dae.aabb, stl.aabb, atol=1e-6)
        turned = load_mesh(folder / f"{name}.dae", up_axis="apply")
        assert np.abs(turned.aabb - stl.aabb).max() > 0.05
