"""What other parsers let pass is read with a remark, means what it can only mean, and is refused by strict=True."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kido
from kido.errors import FileFormatError, KidoError, MeshNotFoundError

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
A = f'<link name="a">{INERTIAL}</link>'
B = f'<link name="b">{INERTIAL}</link>'
OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def robot(*parts: str) -> str:
    return f'<robot name="r">{"".join(parts)}</robot>'


def hinge(inside: str = "", kind: str = "revolute") -> str:
    return robot(A, B, f'<joint name="j" type="{kind}"><parent link="a"/><child link="b"/>{inside}</joint>')


def shape(geometry: str, tag: str = "collision") -> str:
    return robot(f'<link name="a">{INERTIAL}<{tag}><geometry>{geometry}</geometry></{tag}></link>')


def sdf(inside: str) -> str:
    return f'<sdf version="1.6"><world name="w">{inside}</world></sdf>'


def model(inside: str, name: str = "m") -> str:
    return f'<model name="{name}">{inside}</model>'


SDF_LINK = '<link name="a"><inertial><mass>1</mass></inertial>{}</link>'
SDF_HINGE = model(
    '<link name="a"/><link name="b"/><joint name="j" type="revolute"><parent>a</parent><child>b</child>{}</joint>'
)
BODY = '<body name="a"><inertia><mass>1</mass></inertia>{}</body>'


def skel(inside: str) -> str:
    return f'<skel><world><skeleton name="s">{inside}</skeleton></world></skel>'


def sdf_shape(geometry: str, tag: str = "collision") -> str:
    return sdf(model(SDF_LINK.format(f'<{tag} name="c"><geometry>{geometry}</geometry></{tag}>')))


def shapes(skeleton: kido.Skeleton) -> list[Any]:
    return [node.shape for node in skeleton.bodies[0].shapes]


def limits(skeleton: kido.Skeleton) -> tuple[float, float]:
    (dof,) = skeleton.joint("j").dofs
    return dof.position_lower_limit, dof.position_upper_limit


Check = Callable[[kido.Skeleton], bool]

# (suffix, text, remark, what has to hold)
CASES: dict[str, tuple[str, str, str, Check]] = {
    "XML of version 0.0": (
        ".urdf",
        '<?xml version="0.0" ?>\n' + robot(A),
        "1: Unsupported version '0.0'; read as version 1.0",
        lambda s: s.num_bodies == 1,
    ),
    "text after the root": (
        ".urdf",
        robot(A) + "\n\0",
        "2: Extra content at the end of the document; what follows the root element is left out",
        lambda s: s.num_bodies == 1,
    ),
    "another root after the root": (
        ".sdf",
        sdf(model(SDF_LINK.format(""))) + "\n<sdf/>",
        "2: Extra content at the end",
        lambda s: s.num_bodies == 1,
    ),
    "crossed limits": (
        ".urdf",
        hinge('<limit lower="1" upper="-1" effort="3"/>'),
        "the lower limit 1 of .* is above its upper limit -1; taken as unlimited",
        lambda s: limits(s) == (-np.inf, np.inf) and s.joint("j").dofs[0].force_upper_limit == 3.0,
    ),
    "crossed limits of SDF": (
        ".sdf",
        sdf(SDF_HINGE.format("<axis><limit><lower>1</lower><upper>-1</upper><effort>3</effort></limit></axis>")),
        "the lower limit 1 is above the upper limit -1; taken as unlimited",
        lambda s: limits(s) == (-np.inf, np.inf) and s.joint("j").dofs[0].force_upper_limit == 3.0,
    ),
    "sphere of no radius": (
        ".urdf",
        shape('<sphere radius="0"/>'),
        "the radius of <sphere> is 0; expected a length greater than 0; it is no shape",
        lambda s: not shapes(s),
    ),
    "cylinder of no radius": (
        ".sdf",
        sdf_shape("<cylinder><radius>0</radius><length>1</length></cylinder>"),
        "the radius of <cylinder> is 0; expected a length greater than 0; it is no shape",
        lambda s: not shapes(s),
    ),
    "box of no size": (
        ".skel",
        skel(BODY.format("<collision_shape><geometry><box><size>0 0 0</size></box></geometry></collision_shape>")),
        "the size of <box> is 0 0 0; .* it is no shape",
        lambda s: not shapes(s),
    ),
    "negative size": (
        ".urdf",
        shape('<box size="1 -2 3"/>'),
        "the size of <box> is 1 -2 3; .* taken as positive",
        lambda s: shapes(s) == [kido.Box((1, 2, 3))],
    ),
    "negative size of SDF": (
        ".sdf",
        sdf_shape("<box><size>-1 2 3</size></box>"),
        "the size of <box> is -1 2 3; .* taken as positive",
        lambda s: shapes(s) == [kido.Box((1, 2, 3))],
    ),
    "negative size of SKEL": (
        ".skel",
        skel(BODY.format("<collision_shape><geometry><box><size>1 2 -3</size></box></geometry></collision_shape>")),
        "the size of <box> is 1 2 -3; .* taken as positive",
        lambda s: shapes(s) == [kido.Box((1, 2, 3))],
    ),
    "plane": (
        ".urdf",
        shape('<plane normal="0 0 2"/>'),
        "<geometry> of a <collision> holds <plane>; expected one of .* taken as Bullet does",
        lambda s: shapes(s) == [kido.Plane((0, 0, 1))],
    ),
    "distance field": (".urdf", shape('<cdf filename="x.cdf"/>'), "<cdf> 'x.cdf' is left out", lambda s: not shapes(s)),
    "spherical": (
        ".urdf",
        hinge('<limit lower="0" upper="1"/><axis xyz="0 0 1"/>', "spherical"),
        "has the type 'spherical', which is Bullet's; it is a ball joint, without limits",
        lambda s: isinstance(s.joint("j"), kido.BallJoint),
    ),
    "four numbers of rpy": (
        ".urdf",
        hinge('<origin rpy="0 0 1 0" xyz="1 2 3"/>'),
        "the attribute 'rpy' .* 4 values; expected 3; the first 3 are taken",
        lambda s: np.allclose(s.joint("j").transform_from_parent[0, :2], (np.cos(1), -np.sin(1)), atol=1e-15),
    ),
    "five numbers of rpy": (
        ".urdf",
        hinge('<origin rpy="0 0 1 0 0"/>'),
        "5 values; expected 3",
        lambda s: np.allclose(s.joint("j").transform_from_parent[0, :2], (np.cos(1), -np.sin(1)), atol=1e-15),
    ),
    "four numbers of a scale": (
        ".urdf",
        shape('<mesh filename="m.obj" scale="1 2 3 1"/>'),
        "the attribute 'scale' .* 4 values; expected 1 or 3; the first 3 are taken",
        lambda s: np.array_equal(shapes(s)[0].aabb, [[0, 0, 0], [1, 2, 3]]),
    ),
    "four numbers of a scale in SDF": (
        ".sdf",
        sdf_shape("<mesh><uri>m.obj</uri><scale>1 2 3 1</scale></mesh>"),
        "the text of <scale> is '1 2 3 1': 4 values; expected 3; the first 3 are taken",
        lambda s: np.array_equal(shapes(s)[0].aabb, [[0, 0, 0], [1, 2, 3]]),
    ),
    "commas": (
        ".urdf",
        hinge('<origin xyz="0.5, 0, -0.25"/>'),
        "is '0.5, 0, -0.25'; expected numbers separated by space; the commas are left out",
        lambda s: np.array_equal(s.joint("j").transform_from_parent[:3, 3], (0.5, 0, -0.25)),
    ),
    "defaults of roslaunch": (
        ".urdf",
        hinge('<origin xyz="$(optenv MY_XYZ 1 2 3)"/>'),
        r"the attribute 'xyz' of <origin> is '\$\(optenv MY_XYZ 1 2 3\)'; '1 2 3' is taken",
        lambda s: np.array_equal(s.joint("j").transform_from_parent[:3, 3], (1, 2, 3)),
    ),
    "two axes": (
        ".urdf",
        hinge('<axis xyz="0 0 1"/><axis xyz="0 1 0"/>'),
        "has 2 <axis> children; expected one; the first is taken",
        lambda s: np.array_equal(s.joint("j").axis, (0, 0, 1)),
    ),
    "two axes in SDF": (
        ".sdf",
        sdf(SDF_HINGE.format("<axis><xyz>0 1 0</xyz></axis><axis><xyz>1 0 0</xyz></axis>")),
        "has 2 <axis> children; expected one; the first is taken",
        lambda s: np.array_equal(s.joint("j").axis, (0, 1, 0)),
    ),
    "an element written twice": (
        ".urdf",
        hinge('<origin xyz="1 2 3"/><origin  xyz="1 2 3" />'),
        "has 2 <origin> children, .* they are equal",
        lambda s: np.array_equal(s.joint("j").transform_from_parent[:3, 3], (1, 2, 3)),
    ),
    "three shapes in one": (
        ".urdf",
        shape('<sphere radius="1"/><cylinder radius="1" length="1"/><box size="1 1 1"/>', "visual"),
        "<geometry> of a <visual> holds <sphere>, <cylinder>, <box>; .* the first is taken",
        lambda s: shapes(s) == [kido.Sphere(1)],
    ),
    "two shapes in one of SDF": (
        ".sdf",
        sdf_shape("<sphere><radius>1</radius></sphere><box><size>1 1 1</size></box>"),
        "holds 2 shapes; expected one; the first is taken",
        lambda s: shapes(s) == [kido.Sphere(1)],
    ),
    "visual mesh that is not there": (
        ".urdf",
        shape('<mesh filename="no.stl"/>', "visual"),
        "mesh 'no.stl' is left out: no such file",
        lambda s: not shapes(s),
    ),
    "visual mesh of another machine": (
        ".sdf",
        sdf_shape("<mesh><uri>file:///opt/robots/no.stl</uri></mesh>", "visual"),
        "mesh 'file:///opt/robots/no.stl' is left out: it is outside",
        lambda s: not shapes(s),
    ),
    "visual mesh of SKEL": (
        ".skel",
        skel(
            BODY.format(
                "<visualization_shape><geometry><mesh><file_name>no.obj</file_name></mesh></geometry>"
                "</visualization_shape>"
            )
        ),
        "mesh 'no.obj' is left out, also from a moment of inertia by shapes: no such file",
        lambda s: not shapes(s),
    ),
    "collision mesh beside the visual one": (
        ".urdf",
        robot(
            f'<link name="a">{INERTIAL}<visual><geometry><mesh filename="m.obj"/></geometry></visual>'
            '<collision><geometry><mesh filename="coarse/m.obj"/></geometry></collision></link>'
        ),
        "mesh 'coarse/m.obj' is left out: no such file; 'm.obj' stands for it",
        lambda s: [node.collision for node in s.bodies[0].shapes] == [False, True],
    ),
    "absolute path below the model's folder": (
        ".sdf",
        sdf_shape("<mesh><uri>/m.obj</uri></mesh>"),
        "mesh '/m.obj' is left out: .*; 'm.obj' stands for it",
        lambda s: len(shapes(s)) == 1,
    ),
    "faces of two corners": (
        ".urdf",
        shape('<mesh filename="edges.obj"/>'),
        "edges.obj:9: a face with 2 corners; expected at least 3; 2 of that kind are left out",
        lambda s: len(shapes(s)[0].faces) == 4,
    ),
    "empty link called world": (
        ".sdf",
        sdf(
            model(
                '<link name="world"/>'
                + SDF_LINK.format("<pose>0 0 1 0 0 0</pose>")
                + '<joint name="j" type="revolute"><parent>world</parent><child>a</child></joint>'
            )
        ),
        "the name 'world' of .* is reserved; it is called 'world_', and without <inertial> it is held by the world",
        lambda s: (s.num_dofs, s.mass) == (1, 1.0) and s.body("a").world_transform[2, 3] == 1.0,
    ),
    "heavy link called world": (
        ".sdf",
        sdf(
            model(
                '<link name="world"><pose>0 0 2 0 0 0</pose><inertial><mass>2</mass></inertial></link>'
                + SDF_LINK.format('<pose frame="world">0 0 1 0 0 0</pose>')
                + '<joint name="j" type="revolute"><parent>world</parent><child>a</child></joint>'
            )
        ),
        "the name 'world' of .* is reserved; it is called 'world_'$",
        lambda s: (s.num_dofs, s.mass) == (7, 3.0) and s.body("a").world_transform[2, 3] == 3.0,
    ),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.obj").write_text(OBJ)
    (tmp_path / "edges.obj").write_text(OBJ + "f 1 2\nf 2 3\n")
    return tmp_path


def read(folder: Path, suffix: str, text: str, **options: Any) -> list[kido.Skeleton]:
    path = folder / f"x{suffix}"
    path.write_text(text)
    found = kido.load(path, **options)
    return found.skeletons if isinstance(found, kido.World) else [found]


@pytest.mark.parametrize("case", CASES)
def test_what_is_forgiven(case: str, folder: Path):
    suffix, text, remark, holds = CASES[case]
    (skeleton,) = read(folder, suffix, text)
    assert holds(skeleton)
    (said,) = [text for text in skeleton.warnings if re.search(remark, text)]
    assert re.match(r".*x\.\w+:\d+: ", said) or "edges.obj" in said  # where it is
    with pytest.raises(KidoError) as caught:
        read(folder, suffix, text, strict=True)
    assert isinstance(caught.value, FileFormatError | MeshNotFoundError)


def test_models_of_one_name(folder: Path):
    text = sdf(model(SDF_LINK.format("")) + model(SDF_LINK.format("")) + model(SDF_LINK.format(""), "m_2"))
    assert [skeleton.name for skeleton in read(folder, ".sdf", text)] == ["m", "m_2", "m_2_2"]
    text = sdf(model(SDF_LINK.format("")) * 3)
    found = read(folder, ".sdf", text)
    assert [skeleton.name for skeleton in found] == ["m", "m_2", "m_3"]
    remarks = [text for skeleton in found for text in skeleton.warnings]
    assert any("the name 'm' of a model is taken by line 1; it is called 'm_2'" in text for text in remarks)
    with pytest.raises(FileFormatError, match=r"the name 'm' of .* is taken"):
        read(folder, ".sdf", text, strict=True)


@pytest.mark.parametrize(
    ("suffix", "text", "reason"),
    [
        (".urdf", robot(A) + "<!--", "not well-formed"),
        (".urdf", '<?xml version="0.0"?><robot name="r"><link name="a"></robot>', "not well-formed"),
        (".urdf", hinge('<origin xyz="1 2"/>'), "2 values; expected 3"),
        (".urdf", hinge('<origin xyz="1 x 3 4"/>'), "'x'; expected a number"),
        (".urdf", hinge('<origin xyz="1,2,3"/>'), "1 values; expected 3"),
        (".urdf", hinge('<limit lower="-1.5." upper="1"/>'), "'-1.5.'; expected a number"),
        (".urdf", hinge('<origin xyz="1 2 3"/><origin xyz="1 2 4"/>'), "has 2 <origin> children"),
        (".urdf", shape('<sphere radius="-1"/>'), "radius is -1.0; expected a positive finite number"),
        (".urdf", shape('<box size="1 0 1"/>'), "expected three positive numbers"),
        (".urdf", shape('<plane normal="0 0 0"/>'), "is the zero vector"),
        (".urdf", shape('<mesh filename="no.stl"/>'), "mesh 'no.stl' not found"),
        (".urdf", shape('<mesh filename="broken.stl"/>', "visual"), "not an STL file"),
        (".sdf", sdf_shape("<mesh><uri>no.stl</uri></mesh>"), "mesh 'no.stl' not found"),
        (".sdf", sdf(model('<link name="world"/><link name="world"/>')), "the name 'world_' of .* is taken"),
        (".urdf", robot(A, A), "duplicate link name 'a'"),
    ],
)
def test_what_cannot_be_read_stays_refused(folder: Path, suffix: str, text: str, reason: str):
    (folder / "broken.stl").write_bytes(b"nothing")
    with pytest.raises(KidoError, match=reason):
        read(folder, suffix, text)


def test_worlds_as_gazebo_saves_them(folder: Path):
    """Models stand where <state> says; what is no mechanism is remarked on."""
    state = (
        "<state world_name='w'><sim_time>1 0</sim_time><real_time>1 0</real_time><iterations>1000</iterations>"
        "<model name='m'><pose frame=''>1 2 3 0 0 0.5</pose><scale>1 1 1</scale><link name='a'>"
        "<pose>1 2 3 0 0 0.5</pose><velocity>0 0 0 0 -0 0</velocity></link></model>"
        "<light name='sun'><pose>0 0 10 0 0 0</pose></light>"
        "<model name='gone'><pose>0 0 0 0 0 0</pose></model></state>"
    )
    text = sdf(
        "<light name='sun' type='directional'><pose frame=''>0 0 10 0 -0 0</pose></light><gui fullscreen='0'/>"
        "<gravity>0 0 -9.8</gravity><physics name='p' default='0' type='ode'><max_step_size>0.001</max_step_size>"
        "</physics><scene/><wind/><atmosphere type='adiabatic'/><plugin name='x' filename='libx.so'/><audio/>"
        + model(
            SDF_LINK.format("<self_collide>0</self_collide><kinematic>0</kinematic>")
            + "<plugin name='y' filename='y'/>"
        )
        + state
    )
    (skeleton,) = read(folder, ".sdf", text)
    X = skeleton.body("a").world_transform
    np.testing.assert_allclose(X[:3, 3], (1, 2, 3), atol=0)
    np.testing.assert_allclose(X[:2, 0], (np.cos(0.5), np.sin(0.5)), atol=1e-15)
    for tag in ("light", "gui", "scene", "wind", "atmosphere", "plugin", "audio", "kinematic"):
        assert any(f"<{tag}>" in text and "left out" in text for text in skeleton.warnings), tag
    assert any("of <state> the poses of models are taken; all else in it is left out" in t for t in skeleton.warnings)


def test_what_is_neither_xml_nor_braces_is_no_skel(tmp_path: Path):
    path = tmp_path / "old.skel"
    path.write_text("nothing {")
    with pytest.raises(FileFormatError, match="not well-formed XML"):
        kido.load(path)


@pytest.mark.parametrize("detector", ["dart", "fcl_mesh", "bullet"])
def test_the_collision_detector_of_skel_is_remarked_on(tmp_path: Path, detector: str):
    text = skel(BODY.format("")).replace(
        "<world>", f"<world><physics><collision_detector>{detector}</collision_detector></physics>"
    )
    (skeleton,) = read(tmp_path, ".skel", text)
    assert any(f"the collision detector '{detector}' is left out: KIDO's own" in text for text in skeleton.warnings)


@pytest.mark.parametrize("suffix", [".urdf", ".sdf"])
def test_a_soft_skin_that_a_format_lacks_is_remarked_on(tmp_path: Path, suffix: str):
    skeleton = kido.Skeleton("jelly")
    skeleton.add_soft_body("core", kido.shapes.SoftMesh.box((1, 1, 1)), total_mass=2.0)
    remarks = kido.save(skeleton, tmp_path / f"jelly{suffix}")
    assert "body 'core': its soft skin is written as a rigid mesh, with its mass" in remarks
    (back,) = read(tmp_path, suffix, (tmp_path / f"jelly{suffix}").read_text())
    assert back.mass == pytest.approx(skeleton.mass, rel=1e-12)
    assert not any("soft" in text for text in kido.save(skeleton, tmp_path / "jelly.skel"))


def test_every_reader_knows_strict(tmp_path: Path):
    for reader in (kido.io.urdf.read, kido.io.sdf.read, kido.io.skel.read):
        with pytest.raises(FileFormatError, match="Unsupported version"):
            reader('<?xml version="0.0"?><x/>', strict=True)
