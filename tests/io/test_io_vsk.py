"""VSK files: numbers of our own text by formulas, DART's own files, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

import kido
from io_samples import VSK
from kido.errors import FileFormatError
from kido.io import vsk


def test_poses(tmp_path: Path):
    """Segments stand at POSITION, turned by the exponential map ORIENTATION, then by their joints; rounding only."""
    path = tmp_path / "man.vsk"
    path.write_text(VSK)
    skeleton = kido.load_skeleton(path, up_axis="z")
    assert skeleton.name == "man"
    free = [f"Hips_{name}" for name in ("aFree3", "aFree4", "aFree5", "tFree0", "tFree1", "tFree2")]
    legs = ["Thigh_aBall0", "Thigh_aBall1", "Thigh_aBall2", "Shank_aHinge0", "Foot_aHardySpicer0", "Foot_aHardySpicer1"]
    assert [dof.name for dof in skeleton.dofs] == free + legs
    assert [joint.name for joint in skeleton.joints] == ["Joint-Hips", "Joint-Thigh", "Joint-Shank", "Joint-Foot"]
    q = np.random.default_rng(1).uniform(-1, 1, 12)
    skeleton.positions = q
    hips = Rotation.from_rotvec([0, 0, 0.1]) * Rotation.from_rotvec(q[:3])
    thigh = hips * Rotation.from_rotvec([0.2, 0, 0]) * Rotation.from_rotvec(q[6:9])
    shank = thigh * Rotation.from_euler("x", q[9])
    foot = shank * Rotation.from_euler("XZ", q[10:])
    place = Rotation.from_rotvec([0, 0, 0.1]).apply(q[3:6])
    knee = place + hips.apply([0.1, -0.1, 0]) + thigh.apply([0, -0.4, 0])
    ankle = knee + shank.apply([0, -0.38, 0])
    X = skeleton.body("Foot").world_transform
    assert_allclose(X[:3, :3], foot.as_matrix(), atol=1e-14)
    assert_allclose(X[:3, 3], ankle, atol=1e-14)
    assert_allclose(skeleton.node("KNEE", kido.Marker).position, knee + thigh.apply([0.05, 0, 0]), atol=1e-14)
    assert_allclose(skeleton.node("TOE", kido.Marker).position, ankle + foot.apply([0, 0, 0.15]), atol=1e-14)


def test_shapes_and_masses():
    """An ellipsoid along each POSITION, 35 % across, on the parent; the end, which gets none, is removed."""
    skeleton = vsk.read(VSK)
    assert [len(body.shapes) for body in skeleton.bodies] == [1, 1, 1, 1]
    (thigh,) = skeleton.body("Thigh").shapes
    assert_allclose(thigh.shape.radii, (0.07, 0.07, 0.2))
    assert_allclose(thigh.relative_transform[:3, 3], [0, -0.2, 0])
    assert_allclose(np.abs(thigh.relative_transform[:3, 2]), [0, 1, 0], atol=1e-15)  # its long axis
    volume = 4 / 3 * np.pi * 0.07 * 0.07 * 0.2
    inertia = skeleton.body("Thigh").inertia
    assert_allclose(inertia.mass, 1000 * volume)
    assert_allclose(inertia.moment[1, 1], inertia.mass * 2 * 0.07**2 / 5)  # about the long axis, y of the body
    assert skeleton.body("Shank").mass == pytest.approx(3.0)
    assert_allclose(skeleton.body("Hips").world_transform[:3, 1], [-np.sin(0.1), 0, np.cos(0.1)], atol=1e-15)  # Y is up


def test_nothing_is_an_empty_skeleton_with_a_remark():
    skeleton = vsk.read("<KinematicModel/>")
    assert skeleton.num_bodies == 0
    assert "holds no <Segment>; the skeleton is empty" in skeleton.warnings[0]
    with pytest.raises(FileFormatError, match="holds no <Segment>"):
        vsk.read("<KinematicModel/>", strict=True)


@pytest.mark.parametrize("name", ["Nick01", "SehoonVSK3"])
def test_files_of_dart(name: str, dart_data: Path):
    """The same hierarchy twice: of 29 segments the six ends are removed, two of them with ball joints."""
    skeleton = kido.load_skeleton(dart_data / "vsk" / f"{name}.vsk")
    assert (skeleton.num_bodies, skeleton.num_dofs, len(skeleton.nodes(kido.Marker))) == (23, 60, 53)
    assert skeleton.warnings == [] and 20 < skeleton.mass < 40
    assert 1.4 < np.ptp([body.world_transform[2, 3] for body in skeleton.bodies]) < 1.8  # [m] upright


def test_the_empty_file_of_dart(dart_data: Path):
    skeleton = kido.load_skeleton(dart_data / "vsk" / "test" / "empty.vsk")
    assert skeleton.num_bodies == 0 and "empty.vsk:2:" in skeleton.warnings[0]


REFUSED = [
    ('VALUE="400"', 'VALUE="nan"', r":2: .*finite"),
    ("0 -Thigh 0", "0 -Thing 0", r":6: POSITION of Segment 'Shank': '-Thing' is neither a finite number nor"),
    ("0 -Thigh 0", "0 -Thigh", r":6: POSITION of Segment 'Shank' has 2 numbers; expected 3"),
    ('AXIS="1 0 0"', 'AXIS="0 0 0"', r":6: .*zero vector"),
    ('AXIS="1 0 0"', "", r":6: .*lacks the required attribute 'AXIS'"),
    ("<JointFree/>", "<JointFree/><JointBall/>", r":4: segment 'Hips' has 2 joints; expected one"),
    ('NAME="Foot"', 'NAME="Shank"', r":7: the name 'Shank' of the segment is taken by the one in line 6"),
    ('MASS="3"', 'MASS="-3"', r":6: MASS of segment 'Shank' is -3 kg"),
    ('DENSITY="1000"', 'DENSITY="-1"', r":3: DENSITY is -1"),
    ("KinematicModel", "Model", r"the root element is <Model>; expected <KinematicModel>"),
]


@pytest.mark.parametrize(("old", "new", "message"), REFUSED)
def test_what_is_wrong_is_refused_by_line(old: str, new: str, message: str):
    assert old in VSK
    with pytest.raises(FileFormatError, match=message):
        vsk.read(VSK.replace(old, new) if old == "KinematicModel" else VSK.replace(old, new, 1))


def test_what_is_left_out_is_remarked_on():
    text = VSK.replace("<JointDummy/>", "").replace('SEGMENT="Foot"', 'SEGMENT="Toe"').replace("<JointFree/>", "<Odd/>")
    skeleton = vsk.read(text)
    for remark in ("segment 'End' has no joint", "marker 'TOE' is on segment 'Toe'", "<Odd> in segment 'Hips'"):
        assert any(remark in warning for warning in skeleton.warnings), remark
