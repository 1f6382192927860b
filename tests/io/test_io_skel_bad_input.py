"""SKEL reader: malformed files are refused with path, line and reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from kido.errors import FileFormatError, KidoError
from kido.io import skel

GOOD = """<?xml version="1.0" ?>
<skel version="1.0">
  <world name="w">
    <physics>
      <time_step>0.001</time_step>
      <gravity>0 -9.81 0</gravity>
    </physics>
    <skeleton name="s">
      <body name="a">
        <transformation>0 1 0 0 0 0</transformation>
        <inertia>
          <mass>1</mass>
          <moment_of_inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></moment_of_inertia>
        </inertia>
        <visualization_shape>
          <geometry><box><size>1 2 3</size></box></geometry>
          <color>1 0 0</color>
        </visualization_shape>
      </body>
      <body name="b">
        <collision_shape><geometry><sphere><radius>1</radius></sphere></geometry></collision_shape>
      </body>
      <joint type="free" name="ja">
        <parent>world</parent>
        <child>a</child>
        <init_pos>0 0 0 1 2 3</init_pos>
      </joint>
      <joint type="revolute" name="jb">
        <parent>a</parent>
        <child>b</child>
        <axis><xyz>0 0 1</xyz></axis>
        <dof name="d"><position lower="-1" upper="1"/></dof>
      </joint>
    </skeleton>
  </world>
</skel>
"""

# What to replace, by what, and what the message has to say. The line is that of the text replaced.
BAD = {
    "time step of zero": ("<time_step>0.001", "<time_step>0", "time step is 0 s"),
    "text for a number": ("<time_step>0.001", "<time_step>fast", "'fast'; expected a number"),
    "NaN in gravity": ("0 -9.81 0</gravity>", "0 nan 0</gravity>", "finite"),
    "two values for gravity": ("0 -9.81 0</gravity>", "0 -9.81</gravity>", "2 values; expected 3"),
    "infinite pose": ("0 1 0 0 0 0</transf", "0 inf 0 0 0 0</transf", "finite"),
    "five values in a pose": ("0 1 0 0 0 0</transf", "0 1 0 0 0</transf", "5 values; expected 6"),
    "body without a name": ('<body name="b">', "<body>", "'name'"),
    "duplicate body": ('<body name="b">', '<body name="a">', "taken by the one in line 9"),
    "duplicate joint": ('revolute" name="jb"', 'revolute" name="ja"', "taken by the one in line 23"),
    "negative mass": ("<mass>1</mass>", "<mass>-1</mass>", "mass of body 'a' is -1"),
    "no mass to move": ("<collision_shape>", "<inertia><mass>0</mass></inertia><collision_shape>",
                        "joint 'jb' moves body 'b', which has a mass of 0 kg"),
    "no mass": ("<inertia>", "<inertia><offset>0 0 0</offset></inertia><inertia>", "<inertia>"),
    "NaN mass": ("<mass>1</mass>", "<mass>NaN</mass>", "finite"),
    "half a moment": ("<ixx>1</ixx>", "", "<ixx>"),
    "negative moment": ("<ixx>1</ixx>", "<ixx>-1</ixx>", ""),
    "unknown shape": ("<sphere><radius>1</radius></sphere>", "<torus/>", "unknown shape <torus>"),
    "no shape": ("<sphere><radius>1</radius></sphere>", "", "holds 0 shapes"),
    "radius of zero": ("<radius>1<", "<radius>0<", "greater than 0"),
    "flat box": ("<size>1 2 3<", "<size>1 0 3<", "expected three positive numbers"),
    "two numbers of color": ("<color>1 0 0<", "<color>1 0<", "expected 3 or 4"),
    "no geometry": (
        "<geometry><sphere><radius>1</radius></sphere></geometry>",
        "",
        "lacks the required child <geometry>",
    ),
    "unknown joint type": ('type="revolute"', 'type="hinge"', "'hinge'; expected one of weld, revolute"),
    "no joint type": ('type="revolute"', "", "'type'"),
    "unknown parent": ("<parent>a<", "<parent>c<", "'c', which is not a body"),
    "unknown child": ("<child>b<", "<child>c<", "expected one of a, b"),
    "empty parent": ("<parent>a<", "<parent> <", "empty"),
    "two parents": ("<child>b<", "<child>a<", "also of 'ja' in line 23"),
    "missing parent": ("<parent>a</parent>", "", "<parent>"),
    "missing axis": ("<axis><xyz>0 0 1</xyz></axis>", "", "<axis>"),
    "zero axis": ("<xyz>0 0 1<", "<xyz>0 0 0<", "is the zero vector"),
    "NaN axis": ("<xyz>0 0 1<", "<xyz>0 0 nan<", "finite"),
    "two axes": ("<axis><xyz>", "<axis><xyz>1 0 0</xyz></axis><axis><xyz>", "at most one"),
    "wrong number of positions": ("<init_pos>0 0 0 1 2 3<", "<init_pos>0 0 0<", "3 values; expected 6"),
    "positions of a weld": ('type="free"', 'type="weld"', "no degrees of freedom"),
    "unknown actuator": ('type="revolute"', 'type="revolute" actuator="muscle"', "'muscle'; expected one of"),
    "index of a degree of freedom": ('<dof name="d"', '<dof local_index="1" name="d"', "valid indices are 0"),
    "index that is no number": ('<dof name="d"', '<dof local_index="x" name="d"', "valid indices are 0"),
    "limits the wrong way round": ('lower="-1" upper="1"', 'lower="1" upper="-1"', "jb"),
    "velocity limits the wrong way round": ('position lower="-1" upper="1"', 'velocity lower="2" upper="1"',
                                            "above"),
}  # fmt: skip

# The element that the message points at is not in the line replaced.
LINE = {"half a moment": 13, "positions of a weld": 26, "limits the wrong way round": 28}
LINE |= dict.fromkeys(("duplicate joint", "two parents", "missing parent", "missing axis"), 28)


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "w.skel"
    path.write_text(text)
    return path


def test_the_good_file_is_good(tmp_path: Path):
    assert skel.read(write(tmp_path, GOOD)).skeletons[0].num_dofs == 7


@pytest.mark.parametrize("case", BAD)
def test_malformed(case: str, tmp_path: Path):
    old, new, message = BAD[case]
    assert GOOD.count(old) == 1
    path = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(FileFormatError) as caught:
        skel.read(path, strict=True)
    line = LINE.get(case, GOOD[: GOOD.index(old)].count("\n") + 1)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert message in caught.value.reason


@pytest.mark.parametrize(
    "text, message",
    [
        ("<robot/>", "the root element is <robot>; expected <skel>"),
        ("<skel/>", "neither a <world> nor a <skeleton>"),
        ("<skel><world/><world/></skel>", "at most one"),
        ("<skel><world><skeleton/></world></skel>", "'name'"),
        ("<skel><world></skel>", "not well-formed"),
        ("<skel><world>", "not well-formed"),
        ('<!DOCTYPE skel [<!ENTITY x "y">]><skel><world/></skel>', "entities are refused"),
    ],
)
def test_roots(text: str, message: str):
    with pytest.raises(FileFormatError, match=r"^<text>:1: ") as caught:
        skel.read(text, strict=True)
    assert message in caught.value.reason


def joint(name: str, parent: str, child: str, kind: str = "weld") -> str:
    return f'<joint type="{kind}" name="{name}">\n<parent>{parent}</parent><child>{child}</child></joint>'


@pytest.mark.parametrize(
    "joints, cycle",
    [
        (joint("j1", "a", "a"), "a -> a"),
        (joint("j1", "b", "a") + joint("j2", "a", "b"), "a -> b -> a"),
        (joint("j0", "b", "c") + joint("j1", "b", "a") + joint("j2", "a", "b"), "b -> a -> b"),
    ],
)
def test_cycles(joints: str, cycle: str):
    bodies = "".join(f'<body name="{name}"/>' for name in "abc")
    with pytest.raises(FileFormatError) as caught:
        skel.read(f'<skel><world><skeleton name="s">{bodies}{joints}</skeleton></world></skel>')
    assert caught.value.line is not None
    assert f"form a cycle: {cycle}" in caught.value.reason


@pytest.mark.parametrize(
    "kind, more, message",
    [
        ("euler", "", "<axis_order>"),
        ("euler", "<axis_order>xxy</axis_order>", "'xxy'; expected one of xyz"),
        ("universal", "<axis><xyz>1 0 0</xyz></axis>", "<axis2>"),
        ("planar", '<plane type="xz"/>', "'xz'; expected one of xy, yz, zx, arbitrary"),
        ("planar", '<plane type="arbitrary"/>', "<translation_axis1>"),
        (
            "planar",
            '<plane type="arbitrary"><translation_axis1><xyz>1 0 0</xyz></translation_axis1>'
            "<translation_axis2><xyz>2 0 0</xyz></translation_axis2></plane>",
            "j",
        ),
        ("ball", "<dof/>", "'local_index'"),
        ("ball", '<dof local_index="3"/>', "valid indices are 0, 1, 2"),
        ("ball", '<dof local_index="-1"/>', "valid indices are 0, 1, 2"),
        pytest.param("ball", f'<dof local_index="{"9" * 5000}"/>', "valid indices are 0, 1, 2", id="of 5,000 digits"),
        ("weld", '<dof local_index="0"/>', "no degrees of freedom"),
    ],
)
def test_joints(kind: str, more: str, message: str):
    text = (
        '<skel><world><skeleton name="s"><body name="a"/>\n'
        f'<joint type="{kind}" name="j"><parent>world</parent><child>a</child>{more}</joint>'
        "</skeleton></world></skel>"
    )
    with pytest.raises(FileFormatError, match=r"^<text>:2: ") as caught:
        skel.read(text)
    assert message in caught.value.reason


def test_no_such_file(tmp_path: Path):
    path = tmp_path / "none.skel"
    with pytest.raises(FileFormatError, match="no such file") as caught:
        skel.read(path)
    assert caught.value.path == str(path)


def test_every_truncation_is_refused(tmp_path: Path):
    text = GOOD.rstrip()
    for length in range(0, len(text) - 1, 7):
        with pytest.raises(KidoError):
            skel.read(write(tmp_path, text[:length]))
