"""Readers under random damage: whatever is done to a valid file, a sound model or a KidoError comes out."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

import kido
from kido.errors import KidoError
from kido.io import sdf, skel, urdf

SKEL = """<skel version="1.0"><world name="w">
<physics><time_step>0.001</time_step><gravity>0 0 -9.81</gravity>
<collision_detector>dart</collision_detector></physics>
<skeleton name="s"><mobile>true</mobile><transformation>0 0 1 0 0 0</transformation>
<body name="a"><transformation>0 0 0 0.1 0.2 0.3</transformation><gravity>1</gravity>
<inertia><mass>1</mass><offset>0 0 0</offset><moment_of_inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz>
<ixy>0</ixy><ixz>0</ixz>
<iyz>0</iyz></moment_of_inertia></inertia>
<visualization_shape><transformation>0 0 0 0 0 0</transformation>
<geometry><box><size>1 2 3</size></box></geometry>
<color>1 0 0</color></visualization_shape>
<collision_shape><geometry><cylinder><radius>1</radius><height>2</height></cylinder></geometry>
</collision_shape>
</body>
<body name="b"><inertia><mass>2</mass></inertia><collision_shape><collidable>1</collidable><geometry>
<ellipsoid><size>1 1 2</size></ellipsoid></geometry></collision_shape></body>
<body name="c"><inertia><mass>1</mass></inertia><soft_shape><total_mass>1</total_mass>
<geometry><box><size>1 1 1</size></box></geometry><kv>1</kv></soft_shape></body>
<body name="d"/>
<joint type="free" name="ja"><parent>world</parent><child>a</child><init_pos>0 0 0 0 0 1</init_pos>
<init_vel>0 0 0 0 0 1</init_vel></joint>
<joint type="universal" name="jb" actuator="force"><parent>a</parent><child>b</child>
<transformation>0 0 1 0 0 0</transformation>
<axis><xyz>1 0 0</xyz><limit><lower>-1</lower><upper>1</upper></limit>
<dynamics><damping>1</damping><friction>1</friction><spring_stiffness>1</spring_stiffness>
<spring_rest_position>0</spring_rest_position></dynamics></axis><axis2><xyz>0 1 0</xyz></axis2>
<dof local_index="1" name="d1"><position lower="-1" upper="1" initial="0"/><velocity lower="-1" upper="1"/>
<force lower="-1" upper="1"/></dof></joint>
<joint type="euler" name="jc"><parent>b</parent><child>c</child><axis_order>zyx</axis_order></joint>
<joint type="planar" name="jd"><parent>c</parent><child>d</child><plane type="arbitrary">
<translation_axis1><xyz>1 0 0</xyz></translation_axis1><translation_axis2><xyz>0 1 0</xyz></translation_axis2>
</plane></joint>
</skeleton></world></skel>"""

URDF = """<robot name="r">
<material name="red"><color rgba="1 0 0 1"/></material>
<link name="a"><inertial><origin xyz="0 0 0.1" rpy="0 0 0"/><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<visual name="v"><origin xyz="0 0 0" rpy="0.1 0 0"/><geometry><box size="1 2 3"/></geometry>
<material name="red"/></visual>
<collision><geometry><cylinder radius="1" length="2"/></geometry></collision></link>
<link name="b"><inertial><mass value="2"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<visual><geometry><sphere radius="0.5"/></geometry>
<material name="own"><color rgba="0 1 0 1"/></material></visual>
</link>
<link name="c"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<link name="d"/>
<joint name="ab" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0 0 1" rpy="0 0 0"/>
<axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="10" velocity="5"/><dynamics damping="1" friction="0.5"/></joint>
<joint name="bc" type="continuous"><parent link="b"/><child link="c"/><axis xyz="1 0 0"/>
<mimic joint="ab" multiplier="2" offset="0.1"/></joint>
<joint name="cd" type="fixed"><parent link="c"/><child link="d"/></joint>
</robot>"""

SPHERES = """<skel><world><skeleton name="s"><body name="a"><collision_shape><geometry><multi_sphere>
<sphere><radius>1</radius><position>1 0 0</position></sphere>
<sphere><radius>2</radius><position>-1 0 0</position></sphere>
</multi_sphere></geometry></collision_shape></body></skeleton></world></skel>"""

SDF = """<sdf version="1.11"><world name="w"><gravity>0 0 -9.8</gravity>
<physics type="x" default="true"><max_step_size>0.001</max_step_size></physics>
<include><uri>model://sun</uri></include><frame name="g"><pose>0 0 1 0 0 0</pose></frame>
<model name="m" canonical_link="a" placement_frame="f"><pose relative_to="g" degrees="true">0 0 1 0 0 90</pose>
<static>false</static><self_collide>1</self_collide>
<frame name="f" attached_to="a"><pose>0 0 0 0.1 0.2 0.3</pose></frame>
<link name="a"><gravity>1</gravity><inertial><pose>0 0 0.1 0 0 1</pose><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy>
<izz>1</izz><ixy>0</ixy></inertia></inertial>
<visual name="v"><pose rotation_format="quat_xyzw">0 0 0 0 0 0 1</pose><transparency>0.5</transparency>
<geometry><box><size>1 2 3</size></box></geometry><material><diffuse>1 0 0 1</diffuse></material></visual>
<collision name="c"><geometry><cylinder><radius>1</radius><length>2</length></cylinder></geometry>
<surface><friction><ode><mu>1</mu></ode></friction><bounce><restitution_coefficient>0.5</restitution_coefficient>
</bounce></surface></collision></link>
<link name="b"><pose relative_to="f">0 0 1 0 0 0</pose><inertial auto="true"><density>10</density></inertial>
<collision name="c"><density>5</density><geometry>
<ellipsoid><radii>1 1 2</radii></ellipsoid></geometry></collision></link>
<model name="n"><link name="c"/><link name="d"/><joint name="l" type="screw"><parent>c</parent><child>d</child>
<screw_thread_pitch>0.1</screw_thread_pitch><axis><xyz>1 0 0</xyz><mimic joint="k"><multiplier>2</multiplier></mimic>
</axis></joint><joint name="k" type="universal"><parent>c</parent><child>d</child></joint></model>
<joint name="j" type="revolute"><parent>a</parent><child>b</child><pose relative_to="b">0 0 0 0 0 0</pose>
<axis><xyz expressed_in="f">0 0 1</xyz><limit><lower>-1</lower><upper>1</upper><effort>1</effort><velocity>1</velocity>
</limit><dynamics><damping>1</damping><friction>1</friction><spring_stiffness>1</spring_stiffness></dynamics></axis></joint>
<joint name="i" type="ball"><parent>b</parent><child>n::c</child></joint>
<joint name="h" type="gearbox"><parent>b</parent><child>n::d</child><gearbox_ratio>2</gearbox_ratio>
<gearbox_reference_body>a</gearbox_reference_body><axis><xyz>0 0 1</xyz></axis></joint>
</model></world></sdf>"""

VALID = {"skel": SKEL, "spheres": SPHERES, "urdf": URDF, "sdf": SDF}
NASTY = (
    *(
        "",
        " ",
        "nan",
        "inf",
        "-inf",
        "1e400",
        "-1",
        "0",
        "1e-320",
        "1e300",
        "1 2",
        "0 0 0",
        "true",
        "x",
        "\u0661",
    ),
    *("1_0", "0x10", "a", "b", "world", "free", "weld", "../..", "file:///etc/hostname", "http://a.b/c.stl"),
    *("package://p/q.stl", "\u2603", "9" * 400, "-0", "+1", "1,5", "1e5e5", "{}", "%s", "a b c d e f"),
)


def skeletons_of(kind: str, text: str) -> list[kido.Skeleton]:
    if kind == "urdf":
        return [urdf.read(text)]
    return list((sdf if kind == "sdf" else skel).read(text).skeletons)


def load(kind: str, text: str) -> None:
    """Read a text; the numbers of a model that comes out must be finite."""
    try:
        for skeleton in skeletons_of(kind, text):
            assert np.isfinite(skeleton.positions).all()
            assert np.isfinite(skeleton.velocities).all()
            for body in skeleton.bodies:
                assert np.isfinite(body.inertia.moment).all()
    except KidoError as error:
        assert str(error).strip()


@pytest.mark.parametrize("kind", VALID)
def test_the_undamaged_file_loads(kind: str):
    (skeleton,) = skeletons_of(kind, VALID[kind])
    assert skeleton.num_bodies == (1 if kind == "spheres" else 4)


@pytest.mark.parametrize("kind", VALID)
@settings(max_examples=150)
@given(data=st.data())
def test_cut_and_spliced(kind: str, data: st.DataObject):
    text = VALID[kind]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=2)))
    middle = data.draw(st.sampled_from(["", "<", ">", "</", "&", "&#0;", "<!--", "\0", "\ud800", "]]>", "<a>", '"']))
    load(kind, data.draw(st.sampled_from([text[: cuts[0]], text[: cuts[0]] + middle + text[cuts[1] :]])))


@pytest.mark.parametrize("kind", VALID)
@settings(max_examples=120)
@given(data=st.data())
def test_mutated_elements(kind: str, data: st.DataObject):
    root = etree.fromstring(VALID[kind])
    for _ in range(data.draw(st.integers(1, 3))):
        elements = list(root.iter())
        element = data.draw(st.sampled_from(elements))
        action = data.draw(st.sampled_from(["text", "attribute", "drop", "remove", "repeat", "move", "rename"]))
        parent = element.getparent()
        if action == "text":
            element.text = data.draw(st.sampled_from(NASTY))
        elif action == "attribute" and element.attrib:
            element.set(data.draw(st.sampled_from(sorted(element.attrib))), data.draw(st.sampled_from(NASTY)))
        elif action == "drop" and element.attrib:
            del element.attrib[data.draw(st.sampled_from(sorted(element.attrib)))]
        elif action == "rename":
            element.tag = data.draw(st.sampled_from(sorted({e.tag for e in elements})))
        elif parent is not None and action == "remove":
            parent.remove(element)
        elif parent is not None and action == "repeat":
            parent.append(copy.deepcopy(element))
        elif parent is not None and action == "move":
            data.draw(st.sampled_from(elements)).append(copy.deepcopy(element))
    load(kind, etree.tostring(root, encoding="unicode"))


@pytest.mark.parametrize("kind", VALID)
def test_every_value_of_every_element(kind: str):
    """Each text and each attribute replaced, one at a time, by each nasty value."""
    root = etree.fromstring(VALID[kind])
    for element in root.iter():
        for name in [None, *element.attrib]:
            old = element.text if name is None else element.get(name)
            if name is None and not (old or "").strip():
                continue
            for value in NASTY:
                if name is None:
                    element.text = value
                else:
                    element.set(name, value)
                load(kind, etree.tostring(root, encoding="unicode"))
            if name is None:
                element.text = old
            else:
                element.set(name, old)


@pytest.mark.parametrize("kind", VALID)
def test_deep_nesting(kind: str):
    load(kind, "<skel><world>" + "<skeleton>" * 5000 + "</skeleton>" * 5000 + "</world></skel>")
    load(kind, "<robot>" * 100_000)
    load(kind, '<sdf version="1.9">' + '<model name="m">' * 5000 + "</model>" * 5000 + "</sdf>")
