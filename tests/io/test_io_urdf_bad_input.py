"""URDF reader: what is wrong is refused, naming file, line and reason."""

from __future__ import annotations

import re

import pytest

import kido
from kido.errors import FileFormatError, KidoError, MeshNotFoundError, ModelError
from kido.io import urdf

LINK = '<link name="{}"/>'
SPHERE = '<geometry><sphere radius="1"/></geometry>'


def joint(name: str, parent: str, child: str, kind: str = "fixed", inside: str = "") -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'


def robot(*lines: str) -> str:
    return "\n".join(['<robot name="r">', *lines, "</robot>"])


A, B, C = (LINK.format(name) for name in "abc")
J = joint("j", "a", "b")
INERTIA = '<inertia ixx="1" iyy="1" izz="1"/>'

# (text, line, reason)
CASES = {
    "no XML": ("<", 1, "not well-formed XML"),
    "truncated": ('<robot name="r">\n<link name="a">', 2, "Premature end of data"),
    "wrongly nested": ('<robot name="r">\n<link name="a">\n</robot></link>', 3, "tag mismatch"),
    "entity": ('<!DOCTYPE r [<!ENTITY x "y">]>\n<robot name="r"/>', 1, "entities are refused"),
    "other root": ("<world/>", 1, "the root element is <world>; expected <robot>"),
    "empty robot": (robot(), 1, "the robot has no links"),
    "xacro": (
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">\n<xacro:include filename="x"/></robot>',
        2,
        "this is a xacro file",
    ),
    "link without name": (robot("<link/>"), 2, "lacks the required attribute 'name'"),
    "duplicate link": (robot(A, A), 3, "duplicate link name 'a'; the first is in line 2"),
    "duplicate joint": (
        robot(A, B, C, J, joint("j", "a", "c")),
        6,
        "duplicate joint name 'j'; the first is in line 5",
    ),
    "unknown child": (
        robot(A, joint("j", "a", "x")),
        3,
        "names the child link 'x', which does not exist; links: a",
    ),
    "unknown parent": (robot(A, joint("j", "x", "a")), 3, "names the parent link 'x', which does not exist"),
    "two roots": (
        robot(A, B),
        3,
        "2 links have no parent joint: 'a' (line 2), 'b' (line 3); expected exactly one",
    ),
    "two parents": (
        robot(A, B, C, J, joint("k", "c", "b")),
        6,
        "'b' is the child of two joints, 'j' (line 5) and 'k'",
    ),
    "cycle": (
        robot(A, B, J, joint("k", "b", "a")),
        4,
        "the links form a cycle: 'a' -> 'b' -> 'a'; expected a tree",
    ),
    "cycle beside a tree": (
        robot(A, B, C, joint("j", "b", "c"), joint("k", "c", "b")),
        5,
        "cycle: 'b' -> 'c' -> 'b'",
    ),
    "joint to itself": (robot(A, B, joint("j", "b", "b")), 4, "connects link 'b' to itself"),
    "joint type": (
        robot(A, B, joint("j", "a", "b", "hinge")),
        4,
        "expected one of revolute, continuous, prismatic",
    ),
    "no parent": (
        robot(A, B, '<joint name="j" type="fixed"><child link="b"/></joint>'),
        4,
        "required child <parent>",
    ),
    "zero axis": (robot(A, B, joint("j", "a", "b", "revolute", '\n<axis xyz="0 0 0"/>')), 5, "is zero"),
    "short axis": (
        robot(A, B, joint("j", "a", "b", "revolute", '<axis xyz="0 1"/>')),
        4,
        "2 values; expected 3",
    ),
    "limits swapped": (
        robot(A, B, joint("j", "a", "b", "revolute", '<limit lower="1" upper="-1"/>')),
        4,
        "is above its upper limit -1",
    ),
    "negative effort": (
        robot(A, B, joint("j", "a", "b", "revolute", '<limit effort="-1"/>')),
        4,
        "the effort limit of",
    ),
    "negative damping": (
        robot(A, B, joint("j", "a", "b", "revolute", '<dynamics damping="-1"/>')),
        4,
        "expected zero or positive",
    ),
    "mimics itself": (
        robot(A, B, joint("j", "a", "b", "revolute", '<mimic joint="j"/>')),
        4,
        "mimics itself",
    ),
    "mimics in a circle": (
        robot(
            A,
            B,
            '<link name="c"/>',
            joint("j", "a", "b", "revolute", '<mimic joint="k"/>'),
            joint("k", "b", "c", "revolute", '<mimic joint="j"/>'),
        ),
        5,
        "joints mimic each other in a circle: 'j' -> 'k' -> 'j'",
    ),
    "NaN": (
        robot('<link name="a"><inertial>\n<mass value="nan"/></inertial></link>'),
        3,
        "is 'nan'; expected a finite",
    ),
    "infinite": (
        robot(A, B, joint("j", "a", "b", "fixed", '<origin xyz="0 inf 0"/>')),
        4,
        "expected a finite number",
    ),
    "not a number": (robot('<link name="a"><inertial><mass value="1,5"/></inertial></link>'), 2, "is '1,5'"),
    "negative mass": (
        robot('<link name="a"><inertial><mass value="-1"/></inertial></link>'),
        2,
        "is -1 kg; expected",
    ),
    "no mass": (
        robot(f'<link name="a"><inertial>{INERTIA}</inertial></link>'),
        2,
        "lacks the required child <mass>",
    ),
    "no geometry": (robot('<link name="a"><visual/></link>'), 2, "lacks the required child <geometry>"),
    "unknown shape": (
        robot('<link name="a"><visual><geometry><torus/></geometry></visual></link>'),
        2,
        "holds <torus>; expected one",
    ),
    "two shapes": (
        robot('<link name="a"><visual><geometry><box size="1 1 1"/><sphere radius="1"/></geometry></visual></link>'),
        2,
        "holds <box>, <sphere>; expected one of <box>",
    ),
    "negative size": (
        robot('<link name="a"><collision><geometry><box size="1 -1 1"/></geometry></collision></link>'),
        2,
        "is 1 -1 1; expected lengths greater than 0",
    ),
    "colour": (
        robot(f'<link name="a"><visual>{SPHERE}<material><color rgba="1 0"/></material></visual></link>'),
        2,
        "2 values; expected 3 or 4",
    ),
    "two origins": (
        robot(f'<link name="a"><visual><origin/>\n<origin/>{SPHERE}</visual></link>'),
        3,
        "has 2 <origin> children",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_files(name: str) -> None:
    text, line, reason = CASES[name]
    with pytest.raises(FileFormatError, match=re.escape(reason)) as caught:
        urdf.read(text, strict=True)
    assert caught.value.line == line
    assert str(caught.value).startswith(f"<text>:{line}: ")


def test_messages_name_the_file(tmp_path) -> None:
    path = tmp_path / "broken.urdf"
    path.write_text(robot(A, A))
    with pytest.raises(FileFormatError) as caught:
        kido.load(path)
    assert str(caught.value) == f"{path}:3: duplicate link name 'a'; the first is in line 2"


def test_files_that_are_not_there(tmp_path) -> None:
    with pytest.raises(FileFormatError, match="no such file"):
        urdf.read(tmp_path / "none.urdf")
    with pytest.raises(FileFormatError, match="is a directory"):
        urdf.read(tmp_path)
    (tmp_path / "empty.urdf").write_text("")
    with pytest.raises(FileFormatError, match="the file is empty"):
        urdf.read(tmp_path / "empty.urdf")


@pytest.mark.parametrize("cut", [10, 60, 100, 150])
def test_truncated_anywhere(cut: int) -> None:
    text = robot('<link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>', B, J)
    assert urdf.read(text).num_dofs == 0
    with pytest.raises(FileFormatError, match="not well-formed XML"):
        urdf.read(text[:cut])


ZERO = robot(
    '<link name="a"><inertial><mass value="1"/></inertial></link>',
    '<link name="b"><inertial><mass value="0"/></inertial></link>',
    C,
    joint("j", "a", "b", "continuous"),
    joint("k", "b", "c"),
)
ZERO_TEXT = (
    "<text>: zero mass on a moving body: body 'b' (moved by 'j'): neither it nor any body it carries has "
    "mass, so its acceleration is not defined; give it a mass or fix its joint"
)


def test_zero_mass_on_a_moving_body() -> None:
    with pytest.raises(ModelError) as caught:
        urdf.read(ZERO, massless="error")
    assert str(caught.value) == ZERO_TEXT
    assert ZERO_TEXT in urdf.read(ZERO).warnings


def test_a_free_base_without_any_mass() -> None:
    with pytest.raises(ModelError, match="body 'a' \\(moved by 'the free base'\\)"):
        urdf.read(robot(A), base="free", massless="error")
    assert urdf.read(robot(A), massless="error").num_dofs == 0


def test_missing_meshes_list_every_path_tried(tmp_path) -> None:
    path = tmp_path / "r.urdf"
    mesh = '<{0}>\n<geometry><mesh filename="{1}"/></geometry></{0}>'
    path.write_text(robot(f'<link name="a">{mesh.format("visual", "no.stl")}</link>'))
    with pytest.raises(MeshNotFoundError) as caught:
        urdf.read(path, strict=True)
    assert str(caught.value) == (
        f"{path}:3: mesh 'no.stl' not found: no such file (to load the model without it: visuals=False or "
        f"missing_meshes='skip'); tried:\n  {tmp_path}/no.stl"
    )
    assert urdf.read(path, visuals=False).num_bodies == 1
    path.write_text(robot(f'<link name="a">{mesh.format("collision", "no.stl")}</link>'))
    with pytest.raises(MeshNotFoundError, match="collisions=False"):
        urdf.read(path, visuals=False)
    assert urdf.read(path, collisions=False).num_bodies == 1


def test_broken_meshes_name_both_files(tmp_path) -> None:
    path = tmp_path / "r.urdf"
    path.write_text(robot('<link name="a"><visual><geometry><mesh filename="m.stl"/></geometry></visual></link>'))
    (tmp_path / "m.stl").write_bytes(b"nothing")
    with pytest.raises(FileFormatError, match=r"r\.urdf:2: mesh .*m\.stl: not an STL file"):
        urdf.read(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base": "floating"}, "base is 'floating'; expected one of 'fixed', 'free'"),
        ({"missing_meshes": 1}, "expected one of 'error', 'skip'"),
        ({"massless": "no"}, "expected one of 'warn', 'error'"),
        ({"package_dirs": "/no/such/folder"}, "'/no/such/folder' is not a folder"),
        ({"transform": [1, 2]}, "transform"),
    ],
)
def test_bad_options(options: dict, message: str) -> None:
    with pytest.raises(KidoError, match=message):
        urdf.read(robot(A), **options)


def test_load_refuses_what_it_does_not_know(tmp_path) -> None:
    path = tmp_path / "model.stl"
    path.write_bytes(b"solid")
    with pytest.raises(
        KidoError, match=r"the format '\.stl' is not supported; expected one of \.urdf \(<robot>\), \.sdf"
    ):
        kido.load(path)
    path = tmp_path / "model.xml"
    path.write_text("<simulation/>")
    with pytest.raises(FileFormatError, match="the root element <simulation> is of no known format"):
        kido.load(path)
    path.write_text(robot(A))
    assert kido.load(path).num_bodies == 1
    with pytest.raises(KidoError, match=r"argument 'visual'; did you mean visuals.*it takes package_dirs, base"):
        kido.load(path, visual=False)
    with pytest.raises(FileFormatError, match="no such file"):
        kido.load(tmp_path / "none.xyz")


def test_loading_what_is_no_path() -> None:
    for value in (None, 3, [1]):
        with pytest.raises(KidoError, match="load: expected the path of a file, a bundled model or XML text, got "):
            kido.load(value)
