"""SKEL files with braces: numbers of our own text by formulas, DART's own files, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

import kido
from io_samples import BRACES
from kido.errors import FileFormatError, KidoError

COUNTS = {  # coordinates of RTQL8's and DART's files
    "Chain": 30, "YunfeiSKEL003": 66, "YutingEuler": 30, "chainwhipa": 9, "collisiontest": 6, "cube": 6, "cube1": 6,
    "cube2": 6, "fixedHand": 24, "fullbody": 35, "fullbody1": 37, "ground": 0, "ground1": 6, "manipulator": 26,
    "mobilManipulator": 29, "nunchuck": 6, "simpleHand": 12, "sphere": 6, "sphere1": 6, "sphere2": 6,
}  # fmt: skip


def read(tmp_path: Path, text: str, **options) -> kido.Skeleton:
    path = tmp_path / "man.skel"
    path.write_text(text)
    return kido.load_skeleton(path, **options)


def test_coordinates_are_the_transforms_in_order(tmp_path: Path):
    skeleton = read(tmp_path, BRACES)
    assert skeleton.name == "man" and skeleton.warnings == []
    assert [body.name for body in skeleton.bodies] == ["man_pelvis", "man_shank", "man_foot", "man_other"]
    names = ["x", "y", "z", "pelvis<a-Z>", "pelvis<a-X>", "pelvis<a-Y>", "knee", "b<a-X>", "b<a-Y>", "b<a-Z>"]
    assert [dof.name for dof in skeleton.dofs] == [f"man_{name}" for name in [*names, "q0", "q1", "q2"]]
    turn = 2 * np.arctan2(0.6, 0.8)  # of the quaternion (0, 0, 0.6, 0.8), w last
    assert_allclose(skeleton.positions, [0.1, 0.2, 0.3, 0.1, 0.2, 0.3, -0.5, 0.1, 0.2, 0.3, 0, 0, turn], atol=1e-15)
    assert skeleton.dof("man_knee").position_lower_limit == -2 and skeleton.dof("man_knee").position_upper_limit == 0


@pytest.mark.parametrize("up_axis", ["y", "z"])
def test_poses_are_products_of_the_transforms(tmp_path: Path, up_axis: str):
    """Outermost first, by SciPy's rotations; rounding only."""
    skeleton = read(tmp_path, BRACES, up_axis=up_axis)
    q = np.random.default_rng(0).uniform(-0.9, 0.9, skeleton.num_dofs)
    q[6] = -1.0  # within its limits
    skeleton.positions = q
    file = Rotation.from_euler("x", 0.5 * np.pi if up_axis == "y" else 0.0)
    pelvis = file * Rotation.from_euler("ZXY", q[3:6])
    place = file.apply(q[:3])
    shank = pelvis * Rotation.from_euler("YZ", [0.4, q[6]])
    knee = place + pelvis.apply([0, -0.5, 0])
    foot = shank * Rotation.from_rotvec(q[7:10])
    ankle = knee + shank.apply([0, -0.5, 0])
    for name, rotation, origin in (("pelvis", pelvis, place), ("shank", shank, knee), ("foot", foot, ankle)):
        X = skeleton.body(f"man_{name}").world_transform
        assert_allclose(X[:3, :3], rotation.as_matrix(), atol=1e-14)
        assert_allclose(X[:3, 3], origin, atol=1e-14)
    assert_allclose(skeleton.nodes(kido.Marker)[0].position, ankle + foot.apply([0, -0.4, 0]), atol=1e-14)


def test_masses_and_shapes(tmp_path: Path):
    """Second moments are m d^2 / 12 of a box and m d^2 / 20 of an ellipsoid with full dimensions d."""
    skeleton = read(tmp_path, BRACES)
    pelvis, shank = skeleton.body("man_pelvis"), skeleton.body("man_shank")
    assert_allclose(pelvis.inertia.com, [0, -0.25, 0.05])
    xx, yy, zz = 5 * np.array([0.1, 0.5, 0.15]) ** 2 / 12
    assert_allclose(pelvis.inertia.moment, np.diag([yy + zz, xx + zz, xx + yy]), atol=1e-17)
    xx, yy, zz = 1.5 * np.array([0.1, 0.5, 0.15]) ** 2 / 20
    assert_allclose(shank.inertia.moment, np.diag([yy + zz, xx + zz, xx + yy]), atol=1e-17)
    (box,), (ellipsoid,) = pelvis.shapes, shank.shapes
    assert box.shape == kido.Box((0.1, 0.5, 0.15)) and ellipsoid.shape == kido.Ellipsoid((0.05, 0.25, 0.075))
    assert_allclose(box.relative_transform[:3, 3], [0, -0.25, 0.05])
    assert skeleton.body("man_foot").shapes[0].shape == kido.Ellipsoid((0.05, 0.1, 0.075))


def test_what_one_joint_cannot_be_becomes_several(tmp_path: Path):
    """Coordinates keep their order; bodies without mass stand between."""
    text = BRACES.replace("rotate_quat {", "translate { <c0, c1, c2> } telescope { <1, 0, 0>, length } rotate_quat {")
    text = text.replace("length { 0.5", "c0 { 1, -9, 9 } c1 { 2, -9, 9 } c2 { 3, -9, 9 } length { 0.5")
    skeleton = read(tmp_path, text, up_axis="z")
    assert [dof.name for dof in skeleton.dofs][10:] == [f"man_{n}" for n in ("c0", "c1", "c2", "q0", "q1", "q2")]
    assert_allclose(skeleton.body("man_other").world_transform[:3, 3], [1.5, 2, 3])
    assert skeleton.body("man_other_1").mass == 0
    free = read(tmp_path, text.replace("telescope { <1, 0, 0>, length } rotate_quat", "rotate_quat"), up_axis="z")
    joint = free.body("man_other").parent_joint
    assert isinstance(joint, kido.FreeJoint)
    assert [dof.name for dof in joint.dofs] == [f"man_{n}" for n in ("q0", "q1", "q2", "c0", "c1", "c2")]
    assert_allclose(joint.positions[3:], [1, 2, 3])


def test_it_can_be_simulated(tmp_path: Path):
    """Left to itself it falls, Z being up."""
    skeleton = read(tmp_path, BRACES)
    world = kido.World()
    world.add_skeleton(skeleton)
    before = skeleton.com[2]
    world.step(100)
    assert skeleton.com[2] < before - 0.01


REFUSED = [
    ("knee, z", "hip, z", r":13: node 'shank': no name in dofs 'hip'"),
    ("light }\n    node", "none }\n    node", r":15: primitive of node 'shank': no name in mass 'none'"),
    ("{ 0.1, -1, 1 }", "{ 0.1, -1 }", r":2: found '}'; expected ','"),
    ("{ 0.1, -1, 1 }", "{ 0.1, nan, 1 }", r":2: value and limits of 'x' is 'nan'; expected a finite number"),
    ("{ 0.1, -1, 1 }", "{ 0.1, 2, 1 }", r":9: node 'pelvis': .*limit"),
    ("heavy { 5 }", "heavy { -5 }", r":8: the mass 'heavy' is -5 kg; expected at least 0"),
    ("rotate_cons", "rotate_const", r":14: found 'rotate_const'; expected 'translate' or"),
    ("{ 0.4, y }", "{ 0.4, w }", r":14: found 'w'; expected 'x' or 'y' or 'z'"),
    ("{ knee, z }", "{ x, z }", r":14: the coordinate 'x' moves in line 10 already"),
    ("handles { tip { <0, -0.4, 0>, 1, foot } }", "handles { tip { <0, -0.4, 0>, 1, toe } }", r"no node 'toe'"),
    ("handles {", "{", r":26: found '{'; expected 'dofs' or"),
    ("length { 0.5", "length { 1e200", r":12: primitive of node 'pelvis': "),
    ("node foot", "node shank", r":16: node 'shank': .*man_shank"),
    ("foot } }\n", "foot }\n", r":26: the file ends; expected a name in handles or '}'"),
]


@pytest.mark.parametrize(("old", "new", "message"), REFUSED)
def test_what_is_wrong_is_refused_by_line(tmp_path: Path, old: str, new: str, message: str):
    assert old in BRACES
    with pytest.raises(FileFormatError, match=rf"(?s)man\.skel.*({message})"):
        read(tmp_path, BRACES.replace(old, new, 1))


def test_other_mistakes(tmp_path: Path):
    with pytest.raises(KidoError, match=r"up_axis is 'w'; expected one of 'x', 'y', 'z'"):
        read(tmp_path, BRACES, up_axis="w")
    path = tmp_path / "a.txt"
    path.write_text("nothing")
    with pytest.raises(KidoError, match="no SKEL file with braces"):
        kido.io.skel_old.read(path)
    deep = "".join(f"node n{k} {{ 0 " for k in range(5000))  # the parser does not recurse
    with pytest.raises(FileFormatError, match="the file ends"):
        read(tmp_path, deep)


@pytest.mark.parametrize("name", COUNTS)
def test_files_of_dart(name: str, dart_data: Path):
    skeleton = kido.load_skeleton(dart_data / "skel_old" / f"{name}.skel")
    assert skeleton.num_dofs == COUNTS[name] and skeleton.warnings == []
    assert {path.stem for path in (dart_data / "skel_old").glob("*.skel")} == set(COUNTS)


def test_the_full_body_is_that_of_darts_later_file(dart_data: Path):
    """DART wrote the same body in XML later: inertias are equal; poses at zero are, but for the arms and toes, which
    hang otherwise there. 1e-3 m: its numbers have four digits."""
    old = kido.load_skeleton(dart_data / "skel_old" / "fullbody1.skel", up_axis="z")
    new = kido.load_world(dart_data / "skel" / "fullbody1.skel").skeleton("fullbody1")
    assert old.num_dofs == new.num_dofs == 37
    for a, b in zip(old.bodies, new.bodies, strict=True):
        assert_allclose(a.inertia.moment, b.inertia.moment, atol=1e-15)
        assert a.mass == b.mass
        if not any(part in a.name for part in ("scapula", "bicep", "forearm", "hand", "toe")):
            assert_allclose(a.world_transform, b.world_transform, atol=1e-3)
