"""SDF reader: what is wrong is refused, naming file, line and reason; nothing is read outside the model's folders."""

from __future__ import annotations

import pytest
from test_io_sdf import HINGE, SPHERE, joint, link, model

import kido
from kido.errors import FileFormatError, KidoError, MeshNotFoundError
from kido.io import sdf

A, B = link("a"), link("b")


def axis(xyz: str = "0 0 1", inside: str = "") -> str:
    return f"<axis><xyz>{xyz}</xyz>{inside}</axis>"


def hinge(inside: str) -> str:
    return model(A, B, joint("j", "a", "b", "revolute", inside))


def shape(inside: str) -> str:
    return model(link("a", "", f'<collision name="c">{inside}</collision>'))


CASES = {
    "no XML": ("<sdf", "not well-formed XML"),
    "cut off": (model(A)[:-20], "not well-formed XML"),
    "entity": ('<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><sdf version="1.9"/>', "entities are refused"),
    "other root": ("<robot/>", "expected <sdf>"),
    "no version": ("<sdf/>", "lacks the required attribute 'version'"),
    "version of words": ('<sdf version="new"/>', "the version of <sdf> is 'new'"),
    "too old": ('<sdf version="1.3"/>', "expected 1.4 to 1.11"),
    "empty": ('<sdf version="1.9"/>', "neither a <world> nor a <model>"),
    "model without links": (model(), "has no link"),
    "model without name": ('<sdf version="1.9"><model/></sdf>', "lacks the required attribute 'name'"),
    "link without name": (model("<link/>"), "lacks the required attribute 'name'"),
    "two links of a name": (model(A, A), "the name 'a' .* is taken"),
    "two models of a name": (
        f'<sdf version="1.9"><world name="w"><model name="m">{A}</model><model name="m">{B}</model></world></sdf>',
        "the name 'm' .* is taken",
    ),
    "reserved name": (model(link("world")), "the name 'world' .* is reserved"),
    "unknown relative_to": (model(link("a", '<pose relative_to="x"/>')), "names 'x', which is no frame"),
    "frames in a circle": (
        model(link("a", '<pose relative_to="b"/>'), link("b", '<pose relative_to="a"/>')),
        "relative to each other in a circle: 'a' -> 'b' -> 'a'",
    ),
    "attached in a circle": (
        model(A, '<frame name="f" attached_to="g"/><frame name="g" attached_to="f"/>', joint("j", "a", "f")),
        "attached to each other in a circle",
    ),
    "unknown placement_frame": (model(A, attributes='placement_frame="x"'), "names 'x'"),
    "unknown canonical_link": (model(A, attributes='canonical_link="x"'), "names 'x'"),
    "pose of five": (model(link("a", "<pose>1 2 3 4 5</pose>")), "5 values; expected 6"),
    "pose with NaN": (model(link("a", "<pose>1 2 3 nan 5 6</pose>")), "expected a finite number"),
    "zero quaternion": (model(link("a", '<pose rotation_format="quat_xyzw">0 0 0 0 0 0 0</pose>')), "quaternion"),
    "huge quaternion": (model(link("a", '<pose rotation_format="quat_xyzw">0 0 0 0 0 0 1e200</pose>')), "quaternion"),
    "unknown joint type": (model(A, B, joint("j", "a", "b", "magic")), "expected one of revolute"),
    "unknown parent": (model(A, joint("j", "x", "a")), "names 'x'"),
    "unknown child": (model(A, joint("j", "a", "x")), "names 'x'"),
    "no child": (model(A, '<joint name="j" type="fixed"><parent>a</parent></joint>'), "lacks the required child"),
    "child world": (model(A, joint("j", "a", "world")), "is the world; expected a link"),
    "to itself": (model(A, joint("j", "a", "a")), "connects link 'a' to itself"),
    "zero axis": (hinge(axis("0 0 0")), "is the zero vector"),
    "axis with infinity": (hinge(axis("0 0 inf")), "expected a finite number"),
    "unknown expressed_in": (hinge('<axis><xyz expressed_in="x">0 0 1</xyz></axis>'), "names 'x'"),
    "limits crossed": (hinge(axis(inside="<limit><lower>1</lower><upper>0</upper></limit>")), "above the upper"),
    "limit NaN": (hinge(axis(inside="<limit><lower>nan</lower></limit>")), "expected a finite number"),
    "negative damping": (hinge(axis(inside="<dynamics><damping>-1</damping></dynamics>")), "<damping> is -1"),
    "zero thread": (
        model(A, B, joint("j", "a", "b", "screw", axis() + "<thread_pitch>0</thread_pitch>")),
        "<thread_pitch> is 0",
    ),
    "mimics in a circle": (
        model(
            A, B, link("c"),
            joint("j", "a", "b", "revolute", axis(inside='<mimic joint="k"/>')),
            joint("k", "a", "c", "revolute", axis(inside='<mimic joint="j"/>')),
        ),
        "mimic each other in a circle",
    ),
    "negative mass": (model('<link name="a"><inertial><mass>-1</mass></inertial></link>'), "the mass .* is -1"),
    "automatic inertia of nothing": (model('<link name="a"><inertial auto="true"/></link>'), "none has a volume"),
    "no geometry": (shape(""), "lacks the required child <geometry>"),
    "two geometries": (shape(SPHERE.replace("</geometry>", "<empty/></geometry>")), "holds 2 shapes"),
    "unknown geometry": (shape("<geometry><torus/></geometry>"), "unknown shape <torus>"),
    "negative radius": (shape(SPHERE.replace("0.1", "-1")), "radius is -1.0; expected a positive"),
    "zero normal": (shape("<geometry><plane><normal>0 0 0</normal></plane></geometry>"), "is the zero vector"),
    "bad friction": (
        shape(SPHERE + "<surface><friction><ode><mu>-1</mu></ode></friction></surface>"),
        "<mu> is -1",
    ),
    "bad restitution": (
        shape(SPHERE + "<surface><bounce><restitution_coefficient>2</restitution_coefficient></bounce></surface>"),
        "expected a number from 0 to 1",
    ),
    "time step": (
        '<sdf version="1.9"><world name="w"><physics><max_step_size>0</max_step_size></physics></world></sdf>',
        "the time step is 0",
    ),
    "missing include": (model(A, "<include><uri>model://x</uri></include>"), "'model://x' is not found"),
    "fetched include": (model(A, "<include><uri>https://fuel.org/x</uri></include>"), "never fetched"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_wrong_is_refused(name):
    text, reason = CASES[name]
    with pytest.raises(FileFormatError, match=reason) as caught:
        sdf.read(text, strict=True)
    assert caught.value.path == "<text>" and caught.value.line == 1


def test_the_line_is_that_of_the_element():
    with pytest.raises(FileFormatError) as caught:
        sdf.read(f'<sdf version="1.9">\n<model name="m">\n{A}\n<link name="b">\n<pose>1</pose></link></model></sdf>')
    assert caught.value.line == 5


@pytest.mark.parametrize("option", ["missing_meshes", "missing_includes"])
def test_options_are_checked(option):
    with pytest.raises(KidoError, match=f"{option} is 'maybe'"):
        sdf.read(model(A), **{option: "maybe"})


def test_missing_meshes():
    mesh = "<geometry><mesh><uri>model://x/y.stl</uri></mesh></geometry>"
    with pytest.raises(MeshNotFoundError):
        sdf.read(shape(mesh))
    skeleton = sdf.read(shape(mesh), missing_meshes="skip").skeleton(0)
    assert any("y.stl' is left out" in text for text in skeleton.warnings)
    assert list(sdf.read(shape(mesh), collisions=False).skeleton(0).body(0).shapes) == []


def test_includes_in_a_circle(tmp_path):
    for name, other in (("a", "b"), ("b", "a")):
        text = model(link("l"), f"<include><uri>{other}.sdf</uri></include>", name=name)
        (tmp_path / f"{name}.sdf").write_text(text)
    with pytest.raises(FileFormatError, match=r"include each other in a circle: .*a\.sdf -> .*b\.sdf -> .*a\.sdf"):
        kido.load(tmp_path / "a.sdf")


def test_includes_that_multiply_are_refused(tmp_path):
    """Fourteen files, each naming the next twice, would make 2^14 models."""
    for k in range(14):
        include = "".join(f"<include><uri>{k + 1}.sdf</uri><name>n{i}</name></include>" for i in range(2))
        (tmp_path / f"{k}.sdf").write_text(model(link("l"), include))
    (tmp_path / "14.sdf").write_text(model(link("l")))
    with pytest.raises(FileFormatError, match="more than 10000 models; refused"):
        kido.load(tmp_path / "0.sdf")


@pytest.mark.parametrize("uri", ["../../secret.sdf", "/etc/secret.sdf", "model://x/../../secret", "file:///etc/s.sdf"])
def test_nothing_is_read_outside_the_folders(tmp_path, uri):
    (tmp_path / "secret.sdf").write_text(model(A))
    folder = tmp_path / "one" / "two"
    folder.mkdir(parents=True)
    (folder / "m.sdf").write_text(model(A, f"<include><uri>{uri}</uri></include>"))
    with pytest.raises(FileFormatError, match=r"is not found: (it is outside|its path leaves)"):
        kido.load(folder / "m.sdf")


def test_an_error_in_an_included_file_names_that_file(tmp_path):
    (tmp_path / "inner.sdf").write_text(model(link("a", "<pose>1</pose>")))
    (tmp_path / "m.sdf").write_text(model(A, "<include><uri>inner.sdf</uri></include>"))
    with pytest.raises(FileFormatError) as caught:
        kido.load(tmp_path / "m.sdf")
    assert caught.value.path.endswith("inner.sdf")


def test_long_chains_do_not_exhaust_the_stack():
    frames = "".join(f'<frame name="f{k}" attached_to="f{k + 1}"/>' for k in range(3000))
    skeleton = sdf.read(model(A, frames, '<frame name="f3000"/>', B, joint("j", "f0", "b"))).skeleton(0)
    assert skeleton.body("b").parent is skeleton.body("a")
    nested = "".join(f'<model name="m{k}">' for k in range(60)) + A + "</model>" * 60
    with pytest.raises(FileFormatError, match="nested more than 32 deep"):
        sdf.read(model(nested))


def test_a_massless_mover_is_remarked():
    text = model(
        A, '<link name="b"><inertial><mass>0</mass></inertial></link>', joint("j", "a", "b", "revolute", HINGE)
    )
    assert any("zero mass on a moving body" in remark for remark in sdf.read(text).skeleton(0).warnings)


@pytest.mark.parametrize(
    ("joint", "reason"),
    [
        ("<parent>a</parent><child>world</child>", "the child of joint 'j' is the world"),
        ("<parent>a</parent><child>a</child>", "connects link 'a::l' to itself"),
        ("<parent>a</parent><child>b</child>", "names 'b', which is no frame of"),
        ("<parent>a::m</parent><child>a</child>", "names 'm', which is no frame of"),
        ("<parent>world</parent><child>a</child><pose relative_to='j'>0 0 0 0 0 0</pose>", "in a circle"),
        ("<parent>world</parent>", "lacks the required child <child>"),
    ],
)
def test_joints_of_worlds(joint: str, reason: str) -> None:
    text = f"""<sdf version="1.9"><world name="w"><model name="a"><link name="l"/></model>
    <joint name="j" type="fixed">{joint}</joint></world></sdf>"""
    with pytest.raises(FileFormatError, match=reason):
        sdf.read(text)
