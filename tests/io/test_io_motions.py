"""Files of motions: numbers by formulas, round trips, DART's own files, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

import kido
from io_samples import AMC, ASF, BRACES, BVH, CSV, DOF
from kido.errors import FileFormatError, KidoError, ModelError
from kido.motions import MarkerMotion

DOF_FILES = {  # frames, coordinates, frame rate; skeleton of `skel_old` that it moves
    "RHand": (202, 30, 60, "YutingEuler"),
    "fixedHand": (202, 24, 120, "fixedHand"),
    "init_Tpose": (237, 66, 60, "YunfeiSKEL003"),
    "same": (1000, 12, 1000, None),
    "simMotion1": (1353, 35, 120, "fullbody"),
}


def load(tmp_path: Path, name: str, text: str, **options) -> kido.Motion:
    path = tmp_path / name
    path.write_text(text)
    return kido.load_motion(path, **options)


def walk() -> kido.Motion:
    """A motion of the bundled humanoid, whose joints are of several types."""
    human = kido.load("humanoid")
    t = np.arange(40) / 50
    rng = np.random.default_rng(0)
    phase, size = rng.uniform(0, 6, human.num_dofs), rng.uniform(0, 0.4, human.num_dofs)
    lower, upper = np.maximum(human.position_lower_limits, -1), np.minimum(human.position_upper_limits, 1)
    waves = 0.5 * (lower + upper) + 0.5 * (upper - lower) * size * np.sin(4 * t[:, None] + phase)
    return kido.Motion(None, waves, 50, skeleton=human)


# -- DOF ---------------------------------------------------------------------------------------------------


def test_dof(tmp_path: Path):
    motion = load(tmp_path, "a.dof", DOF)
    assert motion.names == ("man_hip", "man_knee") and motion.frame_rate == 60 and motion.skeleton is None
    assert motion.positions.tolist() == [[1.15719466, -0.2], [1.1, -0.25], [1.05, -0.3]]
    assert load(tmp_path, "a.dof", DOF.replace("FPS 60", "")).frame_rate == 120
    assert load(tmp_path, "a.dof", DOF, frame_rate=25).frame_rate == 25
    assert load(tmp_path, "a.dof", DOF.replace("frames", "frame")).num_frames == 3


@pytest.mark.parametrize("suffix", [".dof", ".csv"])
def test_numbers_come_back_bit_for_bit(tmp_path: Path, suffix: str):
    motion = walk()
    motion = motion[3:] if suffix == ".csv" else motion
    assert kido.save(motion, tmp_path / f"a{suffix}") == []
    again = kido.load_motion(tmp_path / f"a{suffix}", skeleton=motion.skeleton)
    assert np.array_equal(again.positions, motion.positions)
    assert (again.frame_rate, again.start, again.names) == (motion.frame_rate, motion.start, motion.names)


def test_a_dof_file_on_a_skeleton(tmp_path: Path):
    (tmp_path / "man.skel").write_text(BRACES)
    skeleton = kido.load_skeleton(tmp_path / "man.skel")
    names = [f"other_{dof.name.removeprefix('man_')}" for dof in skeleton.dofs]
    text = f"frames = 1 dofs = 13\n{' '.join(reversed(names))}\n{' '.join(map(str, range(13)))}"
    assert load(tmp_path, "a.dof", text, skeleton=skeleton).positions.tolist() == [list(range(12, -1, -1))]
    with pytest.raises(FileFormatError, match=r"a.dof:1: 2 dofs; skeleton 'man' has 13"):
        load(tmp_path, "a.dof", DOF, skeleton=skeleton)


@pytest.mark.parametrize("name", DOF_FILES)
def test_dof_files_of_dart(name: str, dart_data: Path):
    frames, dofs, rate, of = DOF_FILES[name]
    motion = kido.load_motion(dart_data / "dof" / f"{name}.dof")
    assert (motion.num_frames, len(motion.names), motion.frame_rate) == (frames, dofs, rate)
    assert {path.stem for path in (dart_data / "dof").glob("*.dof")} == set(DOF_FILES)
    if of is not None:
        skeleton = kido.load_skeleton(dart_data / "skel_old" / f"{of}.skel")
        placed = motion.on(skeleton)
        for dof in skeleton.dofs:
            own = dof.name.removeprefix(f"{of}_")
            (column,) = (k for k, name in enumerate(motion.names) if name == own or name.endswith(f"_{own}"))
            assert np.array_equal(placed[dof.name], motion.positions[:, column])


def test_a_captured_man_stands_upright(dart_data: Path):
    """DART's captured motion on its skeleton: at all times the head is above the hips by 0.4 m, and these above the
    feet."""
    man = kido.load_skeleton(dart_data / "skel_old" / "YunfeiSKEL003.skel")
    motion = kido.load_motion(dart_data / "dof" / "init_Tpose.dof").on(man)
    parts = [f"YunfeiSKEL003_{name}" for name in ("Head", "Hips", "LeftFoot", "RightFoot")]
    head, hips, *feet = MarkerMotion.of(motion, parts).places[..., 2].T
    assert (head - hips > 0.4).all() and (hips - np.maximum(*feet) > 0.4).all()


# -- BVH ---------------------------------------------------------------------------------------------------


def test_bvh_poses_are_products_of_the_channels(tmp_path: Path):
    """By SciPy's rotations, the first channel outermost; rounding only."""
    motion = load(tmp_path, "man.bvh", BVH, up_axis="z")
    skeleton = motion.skeleton
    assert skeleton.name == "man" and [body.name for body in skeleton.bodies] == ["Hips", "Thigh", "Shank", "Spine"]
    assert motion.names[:4] == ("Hips_Xposition", "Hips_Yposition", "Hips_Zposition", "Hips_Zrotation")
    assert motion.frame_rate == 120 and motion.num_frames == 3
    hips = Rotation.from_euler("ZXY", [11, 20, 31], degrees=True)
    thigh = hips * Rotation.from_euler("XZY", [-41, 5, 6.5], degrees=True)
    shank = thigh * Rotation.from_euler("X", 51, degrees=True)
    place = np.array([0.015, 0.91, 0.02])
    hip = place + hips.apply([0.1, -0.05, 0])
    X = skeleton.forward_kinematics(motion.positions[1])
    knee = hip + thigh.apply([0, -0.4, 0])
    for name, rotation, origin in (("Hips", hips, place), ("Thigh", thigh, hip), ("Shank", shank, knee)):
        index = skeleton.body(name).index
        assert_allclose(X[index][:3, :3], rotation.as_matrix(), atol=1e-14)
        assert_allclose(X[index][:3, 3], origin, atol=1e-14)
    upright = load(tmp_path, "man.bvh", BVH).skeleton  # Y is turned into Z
    assert_allclose(upright.forward_kinematics(motion.positions[1])[0][:3, 3], [0.015, -0.02, 0.91], atol=1e-14)
    assert load(tmp_path, "man.bvh", BVH, scale=1.0).positions[1, 1] == 91


def test_bvh_bodies_have_bones(tmp_path: Path):
    skeleton = load(tmp_path, "man.bvh", BVH).skeleton
    (bone,) = skeleton.body("Thigh").shapes
    assert_allclose(bone.shape.radii, [0.07, 0.07, 0.2])
    assert len(skeleton.body("Hips").shapes) == 2 and skeleton.warnings == []
    assert_allclose(skeleton.body("Thigh").mass, 1000 * 4 / 3 * np.pi * 0.07 * 0.07 * 0.2)
    assert kido.load_skeleton(tmp_path / "man.bvh").num_dofs == 10
    assert len(kido.load_world(tmp_path / "man.bvh").skeletons) == 1


def test_bvh_comes_back(tmp_path: Path):
    motion = load(tmp_path, "man.bvh", BVH)
    kido.save(motion, tmp_path / "again.bvh")
    again = kido.load_motion(tmp_path / "again.bvh")
    assert again.names == motion.names and again.frame_rate == motion.frame_rate
    assert_allclose(again.positions, motion.positions, atol=1e-14)
    for a, b in zip(again.skeleton.bodies, motion.skeleton.bodies, strict=True):
        assert_allclose(a.relative_transform, b.relative_transform, atol=1e-14)
        assert a.mass == pytest.approx(b.mass, rel=1e-12)


def test_other_skeletons_as_bvh_have_the_same_poses(tmp_path: Path):
    """Of a humanoid with other joints, in units of its own: rounding only."""
    motion = walk()
    kido.save(motion, tmp_path / "walk.bvh")
    again = kido.load_motion(tmp_path / "walk.bvh")
    mine = np.array([motion.skeleton.forward_kinematics(q) for q in motion.positions])
    other = np.array([again.skeleton.forward_kinematics(q) for q in again.positions])
    order = [again.skeleton.body(body.name).index for body in motion.skeleton.bodies]
    assert_allclose(other[:, order], mine, atol=1e-12)


# -- what is wrong -----------------------------------------------------------------------------------------

REFUSED = [
    (".dof", DOF, "dofs = 2", "dofs = 2.5", r":1: the number of dofs is '2.5'; expected a whole number"),
    (".dof", DOF, "frames = 3", "frames = 4", r":7: 4 frames of 2 numbers is 'FPS'; expected a number"),
    (".dof", DOF, "-0.25", "-0.2.5", r":5: .* is '-0.2.5'; expected a number"),
    (".dof", DOF, "-0.25", "inf", r":5: .* is 'inf'; expected a finite number"),
    (".dof", DOF, "-3e-1", "-3e-1 7", r":6: found '7'; expected 'FPS'"),
    (".dof", DOF, "FPS 60", "FPS -60", r":1: a motion of 3 frames and 2 dofs: motion: frame_rate is -60"),
    (".dof", DOF, "FPS 60", "FPS 60 1", r":7: found '1'; expected the end"),
    (".dof", DOF, "man_knee", "man_hip", r":1: .* different names of coordinates, got \['man_hip'\]"),
    (".dof", DOF, DOF, "frames =", r":1: the file ends; expected the number of frames"),
    (".dof", DOF, "frames = 3", "frames = 999999999999999", r"the file ends after \d+ of \d+ numbers"),
    (".csv", CSV, "1.1,", "1.1,2,", r":3: frame 1 has 4 numbers; expected 3, one for each name"),
    (".csv", CSV, "1.1,", "x,", r":3: 'hip' is 'x'; expected a number"),
    (".csv", CSV, "1.1,", "nan,", r":3: 'hip' is 'nan'; expected a finite number"),
    (".csv", CSV, "0.04,", "0.05,", r":3: time goes from 0 to 0.02 s; expected even intervals, here of 0.025 s"),
    (".csv", CSV, "time,", "t,", r":1: no column 'time': frame_rate= is needed"),
    (".csv", CSV, CSV, "time,hip\n", r":1: expected a line of names and at least one frame"),
    (".csv", CSV, '"the', '"th"e', r":1: "),
    (".bvh", BVH, "HIERARCHY", "", r":2: found 'ROOT'; expected 'HIERARCHY'"),
    (".bvh", BVH, "CHANNELS 1 X", "CHANNELS 1 W", r":13: found 'Wrotation'; expected 'Xposition' or"),
    (".bvh", BVH, "JOINT Shank", "JOINT Thigh", r":10: joint 'Thigh': .*'Thigh'"),
    (".bvh", BVH, "3 Xrotation Z", "3 Xrotation X", r":6: joint 'Thigh': .*Thigh_Xrotation"),
    (".bvh", BVH, "0.0083333", "0", r":32: the interval between frames is 0 s; expected above 0"),
    (".bvh", BVH, "52.0", "", r":35: the file ends after 29 of 30 numbers"),
    (".bvh", BVH, "52.0", "52}0", r":35: .* is '52}0'; expected a number"),
    (".bvh", BVH, "52.0", "fast", r":35: .* is 'fast'; expected a number"),
    (".bvh", BVH, "ROOT Hips", "JOINT Hips", r":2: found 'JOINT'; expected 'ROOT' or 'MOTION'"),
    (".bvh", BVH, BVH[9:440], "\n", r"the hierarchy has no ROOT|expected"),
    (".bvh", BVH, "OFFSET 0.0 -38.0", "OFFSET 0.0 1e200", r":16: the offset is .* expected below 1e\+100"),
]  # fmt: skip


@pytest.mark.parametrize(("suffix", "text", "old", "new", "message"), REFUSED)
def test_what_is_wrong_is_refused_by_line(tmp_path: Path, suffix: str, text: str, old: str, new: str, message: str):
    assert old in text
    with pytest.raises(FileFormatError, match=rf"a\{suffix}(?s:.*)({message})"):
        load(tmp_path, f"a{suffix}", text.replace(old, new, 1))


def test_what_cannot_be_written_or_read(tmp_path: Path):
    motion = kido.Motion(["a knee"], [[1.0]], 10)
    for path, message in [
        ("a.dof", "cannot hold the name 'a knee'"),
        ("a.bvh", r"BVH files need joints: motion.on\(skeleton\)"),
        ("a.urdf", r"cannot write '.urdf' files of a motion; expected one of .dof, .bvh, .csv, .amc"),
    ]:
        with pytest.raises(KidoError, match=message):
            kido.save(motion, tmp_path / path)
    with pytest.raises(KidoError, match=r"cannot write '.dof' files of a model; expected one of .urdf"):
        kido.save(kido.load("arm7"), tmp_path / "a.dof")
    (tmp_path / "a.dof").write_text(DOF)
    with pytest.raises(ModelError, match="holds a motion without a skeleton"):
        kido.load_skeleton(tmp_path / "a.dof")
    with pytest.raises(ModelError, match="arm7 holds no motion, but a Skeleton"):
        kido.load_motion("arm7")
    (tmp_path / "a.bvh").write_text(BVH)
    with pytest.raises(KidoError, match="scale is 0; expected metres"):
        kido.load(tmp_path / "a.bvh", scale=0)
    with pytest.raises(FileFormatError, match=r"a.csv:1: .* 7 of 7 coordinates of skeleton 'arm7' are not found"):
        load(tmp_path, "a.csv", CSV, skeleton=kido.load("arm7"))


# -- ASF and AMC -------------------------------------------------------------------------------------------


def acclaim(tmp_path: Path, amc: str = AMC, asf: str = ASF, **options) -> kido.Motion:
    (tmp_path / "man.asf").write_text(asf)
    return load(tmp_path, "man_01.amc", amc, **options)


def test_amc_poses_are_those_of_acclaims_formula(tmp_path: Path):
    """X = X_parent T(end of the parent) C R C^-1, C and R of fixed axes in order; lengths in inches over 0.45."""
    motion = acclaim(tmp_path, up_axis="z")
    skeleton = motion.skeleton
    assert [body.name for body in skeleton.bodies] == ["root", "thigh", "spine", "shank"]
    assert (motion.num_frames, motion.frame_rate, skeleton.num_dofs) == (2, 120, 10)
    unit = 0.0254 / 0.45

    def turned(axes: list[float], angles: list[float]) -> Rotation:
        C, R = Rotation.from_euler("xyz", axes, degrees=True), Rotation.from_euler("xyz", angles, degrees=True)
        return C * R * C.inv()

    root = turned([0, 10, 0], [-2.0, -4.4, -0.3])
    place = unit * (np.array([0, 1, 0]) + [9.38, 17.8, -17.4])
    thigh = root * turned([10, 20, 30], [13.8, -1.2, 6.4])
    shank = thigh * turned([0, 0, 20], [31, 0, 0])
    X = skeleton.forward_kinematics(motion.positions[1])
    knee = place + thigh.apply(unit * 7.2 * np.array([0.6, -0.8, 0]))
    for name, rotation, origin in (("root", root, place), ("thigh", thigh, place), ("shank", shank, knee)):
        pose = X[skeleton.body(name).index]
        assert_allclose(pose[:3, :3], rotation.as_matrix(), atol=1e-14)
        assert_allclose(pose[:3, 3], origin, atol=1e-14)
    limits = skeleton.dof("thigh_rx"), skeleton.dof("thigh_rz")
    assert_allclose([limits[0].position_lower_limit, limits[0].position_upper_limit], np.radians([-160, 20]))
    assert limits[1].position_lower_limit == -np.inf
    assert_allclose(skeleton.body("shank").shapes[0].shape.radii[2], 0.5 * 7.1 * unit)


def test_amc_comes_back(tmp_path: Path):
    motion = acclaim(tmp_path)
    remarks = kido.save(motion, tmp_path / "man_02.amc")
    assert remarks == ["AMC files do not say the frame rate; this one has 120 Hz"]
    again = kido.load_motion(tmp_path / "man_02.amc", asf=tmp_path / "man.asf", frame_rate=60)
    assert again.frame_rate == 60 and again.names == motion.names
    assert_allclose(again.positions, motion.positions, atol=1e-14)
    assert acclaim(tmp_path, AMC.replace(":DEGREES", ":RADIANS"))["shank_rx"][0] == 30


def test_other_skeletons_as_amc_have_the_same_poses(tmp_path: Path):
    """Of all bodies in all frames, with the skeleton that is written beside."""
    motion = walk()
    assert "the skeleton is in walk.asf" in kido.save(motion, tmp_path / "walk.amc")
    again = kido.load_motion(tmp_path / "walk.amc", frame_rate=50)
    assert again.num_frames == motion.num_frames
    first = motion.skeleton.bodies[0]
    for frame in (0, 17, 39):
        X, Y = (m.skeleton.forward_kinematics(m.positions[frame]) for m in (motion, again))
        for body in motion.skeleton.bodies:
            twin = again.skeleton.body("root" if body is first else body.name)
            assert_allclose(Y[twin.index], X[body.index], atol=1e-12)


def test_what_acclaim_s_files_cannot_hold_is_named(tmp_path: Path):
    with pytest.raises(KidoError, match="AMC files need joints"):
        kido.save(kido.Motion(["a"], np.zeros((2, 1)), 50), tmp_path / "a.amc")
    two = kido.Skeleton("two")
    for name in ("a", "b"):
        two.add_body(name, kido.RevoluteJoint(name), None, kido.Inertia(1.0))
    with pytest.raises(KidoError, match="one root; skeleton 'two' has 2"):
        kido.save(kido.Motion(None, np.zeros((2, 2)), 50, skeleton=two), tmp_path / "b.amc")
    assert not list(tmp_path.iterdir())


ACCLAIM_REFUSED = [
    ("amc", "shank 30\n", "", r"man_01.amc:4: frame 1 lacks shank"),
    ("amc", "shank 30", "shank 30 1", r"man_01.amc:7: 2 numbers of bone 'shank'; expected rx, once in a frame"),
    ("amc", "shank 30", "shank x", r"man_01.amc:7: found 'x'; expected a finite number"),
    ("amc", "shank 30", "foot 30", r"man_01.amc:7: 'foot' is no bone; expected one of root, thigh"),
    ("amc", AMC, ":DEGREES", r"man_01.amc:1: no frame"),
    ("asf", "dof rx ry rz", "dof rx ry rx", r"man.asf:22: the coordinate 'rx' of a bone"),
    ("asf", "30 XYZ", "30 XYY", r"man.asf:21: the order of axes is 'XYY'"),
    ("asf", "length 7.2", "length nan", r"man.asf:20: the length is 'nan'; expected a finite number"),
    ("asf", "thigh shank", "spine foot", r"man.asf:\d+: the hierarchy has 'foot', which is no bone"),
    ("asf", "thigh shank", "foot shank", r"man.asf:46: the parent 'foot' hangs on nothing yet"),
    ("asf", "thigh shank", "thigh spine", r"man.asf:46: 'spine' hangs on something already"),
    ("asf", "name shank", "name thigh", r"man.asf:\d+: the name of the bone is 'thigh'; expected a new one"),
    ("asf", "angle deg", "angle turns", r"man.asf:7: found 'turns'; expected 'deg' or 'rad'"),
    ("asf", ":hierarchy", ":skin", r"man.asf:\d+: the file has no :hierarchy"),
]  # fmt: skip


@pytest.mark.parametrize(("which", "old", "new", "message"), ACCLAIM_REFUSED)
def test_what_is_wrong_in_acclaims_files_is_refused(tmp_path: Path, which: str, old: str, new: str, message: str):
    amc, asf = (AMC.replace(old, new), ASF) if which == "amc" else (AMC, ASF.replace(old, new, 1))
    assert (amc, asf) != (AMC, ASF)
    with pytest.raises(FileFormatError, match=message):
        acclaim(tmp_path, amc, asf)


def test_a_motion_without_its_skeleton(tmp_path: Path):
    with pytest.raises(FileFormatError, match=r"no skeleton 'man_01.asf' or 'man.asf' beside it; asf= names one"):
        load(tmp_path, "man_01.amc", AMC)


# -- C3D ---------------------------------------------------------------------------------------------------


def test_c3d_comes_back(tmp_path: Path):
    """In millimetres and single precision: 1e-7 of a metre. What is not seen stays so."""
    places = np.random.default_rng(0).uniform(-1, 1, (20, 3, 3))
    places[3:5, 1] = np.nan
    markers = kido.MarkerMotion(["LFWT", "RFWT", "ARIEL"], places, 120.0)
    assert kido.save(markers, tmp_path / "a.c3d") == []
    again = kido.load(tmp_path / "a.c3d")
    assert isinstance(again, kido.MarkerMotion)
    assert (again.names, again.frame_rate, again.start) == (markers.names, 120, 0)
    assert_allclose(again.places, places, atol=1e-7)
    turned = kido.load(tmp_path / "a.c3d", up_axis="y")
    assert_allclose(turned["ARIEL"], np.column_stack([places[:, 2, 0], -places[:, 2, 2], places[:, 2, 1]]), atol=1e-7)


def test_c3d_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a.c3d"
    path.write_bytes(b"nothing")
    with pytest.raises(FileFormatError, match=r"a.c3d: is no C3D file, or is damaged"):
        kido.load(path)
    kido.save(kido.MarkerMotion(["A"], np.zeros((50, 1, 3)), 10.0), path)
    path.write_bytes(path.read_bytes()[:1600])
    with pytest.raises(FileFormatError, match=r"a.c3d: is no C3D file, or is damaged"):
        kido.load(path)
    with pytest.raises(KidoError, match="hold 1 to 255 markers"):
        kido.save(kido.MarkerMotion([f"m{k}" for k in range(300)], np.zeros((1, 300, 3)), 10.0), path)
    monkeypatch.setitem(sys.modules, "c3d", None)
    with pytest.raises(kido.MissingExtraError, match=r"pip install 'kido\[c3d\]'"):
        kido.load(path)
