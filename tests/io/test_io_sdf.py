"""SDF reader: what the format says, by hand-made files with known answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kido
from kido.io import sdf

INERTIAL = "<inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
ATOL = 1e-14  # products of a few rotations


def link(name: str, pose: str = "", inside: str = "") -> str:
    return f'<link name="{name}">{pose}{INERTIAL}{inside}</link>'


def joint(name: str, parent: str, child: str, kind: str = "fixed", inside: str = "") -> str:
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{inside}</joint>'


def model(*parts: str, version: str = "1.9", attributes: str = "", name: str = "m") -> str:
    return f'<sdf version="{version}"><model name="{name}" {attributes}>{"".join(parts)}</model></sdf>'


def read_one(text: str, **options) -> kido.Skeleton:
    world = sdf.read(text, **options)
    assert len(world.skeletons) == 1
    return world.skeleton(0)


def pose_matrix(x, y, z, roll, pitch, yaw):
    X = np.eye(4)
    X[:3, :3] = Rotation.from_euler("xyz", [roll, pitch, yaw]).as_matrix()
    X[:3, 3] = x, y, z
    return X


A = (1.0, 2.0, 3.0, 0.1, 0.2, 0.3)
B = (0.5, -1.0, 0.25, -0.4, 0.7, 1.1)
C = (-0.3, 0.2, 0.9, 1.2, -0.5, 0.4)
XA, XB, XC = (pose_matrix(*values) for values in (A, B, C))


def pose(values, attributes: str = "") -> str:
    return f"<pose {attributes}>{' '.join(map(repr, values))}</pose>"


# -- frames ------------------------------------------------------------------------------------------------


def test_a_lone_link_floats_where_the_file_puts_it():
    skeleton = read_one(model(pose(A), link("a", pose(B))))
    assert isinstance(skeleton.joint(0), kido.FreeJoint)
    np.testing.assert_allclose(skeleton.body("a").world_transform, XA @ XB, atol=ATOL)


def test_poses_before_1_7():
    text = model(
        pose(A),
        link("a", pose(B)),
        link("b", pose(C)),
        joint("j", "a", "b", "revolute", pose(A) + "<axis><xyz>0 0 1</xyz></axis>"),
        version="1.6",
    )
    skeleton = read_one(text)
    np.testing.assert_allclose(skeleton.body("b").world_transform, XA @ XC, atol=ATOL)
    j = skeleton.joint("j")
    np.testing.assert_allclose(j.transform_from_child, XA, atol=ATOL)
    np.testing.assert_allclose(j.transform_from_parent, np.linalg.inv(XB) @ XC @ XA, atol=ATOL)


@pytest.mark.parametrize(
    ("version", "inside", "in_model"),
    [
        ("1.4", "", True),
        ("1.4", "<use_parent_model_frame>0</use_parent_model_frame>", False),
        ("1.6", "", False),
        ("1.6", "<use_parent_model_frame>1</use_parent_model_frame>", True),
    ],
)
def test_the_frame_of_axes_before_1_7(version, inside, in_model):
    axis = np.array([1.0, 2.0, 2.0]) / 3.0
    text = model(
        link("a"),
        link("b", pose(B)),
        joint("j", "a", "b", "revolute", pose(A) + f"<axis><xyz>1 2 2</xyz>{inside}</axis>"),
        version=version,
    )
    expected = axis if not in_model else (XB @ XA)[:3, :3].T @ axis
    np.testing.assert_allclose(read_one(text).joint("j").axis, expected, atol=ATOL)


def test_relative_to_frames_joints_and_links():
    text = model(
        link("a", pose(A)),
        '<frame name="f" attached_to="a">' + pose(B) + "</frame>",
        '<frame name="g">' + pose(C, 'relative_to="f"') + "</frame>",
        link("b", pose(A, 'relative_to="g"')),
        link("c", pose(B, 'relative_to="j"')),
        joint("j", "f", "b", "revolute", pose(C) + '<axis><xyz expressed_in="f">0 1 0</xyz></axis>'),
        joint("k", "b", "c", "fixed"),
    )
    skeleton = read_one(text)
    b = XA @ XB @ XC @ XA
    np.testing.assert_allclose(skeleton.body("b").world_transform, b, atol=ATOL)
    np.testing.assert_allclose(skeleton.body("c").world_transform, b @ XC @ XB, atol=ATOL)
    assert skeleton.body("b").parent is skeleton.body("a")
    expected = (b @ XC)[:3, :3].T @ (XA @ XB)[:3, :3] @ [0.0, 1.0, 0.0]
    np.testing.assert_allclose(skeleton.joint("j").axis, expected, atol=ATOL)


def test_degrees_and_quaternions():
    x, y, z, w = Rotation.from_euler("xyz", A[3:]).as_quat()
    text = model(
        link("a", f'<pose degrees="true">1 2 3 {" ".join(repr(math.degrees(v)) for v in A[3:])}</pose>'),
        link("b", f'<pose rotation_format="quat_xyzw">1 2 3 {x} {y} {z} {w}</pose>'),
        link("c", "<pose/>"),
    )
    skeleton = read_one(text)
    for name in ("a", "b"):
        np.testing.assert_allclose(skeleton.body(name).world_transform, XA, atol=ATOL)
    np.testing.assert_array_equal(skeleton.body("c").world_transform, np.eye(4))


def test_nested_models_placement_frames_and_scoped_names():
    nested = (
        f'<model name="arm" placement_frame="hand">{pose(A)}'
        + link("hand", pose(B))
        + link("tip", pose(C))
        + joint("wrist", "hand", "tip", "revolute", "<axis><xyz>0 0 1</xyz></axis>")
        + "</model>"
    )
    text = model(link("base"), nested, joint("mount", "base", "arm::hand"), '<frame name="f" attached_to="arm::tip"/>')
    skeleton = read_one(text)
    assert [body.name for body in skeleton.bodies] == ["base", "arm::hand", "arm::tip"]
    assert [j.name for j in skeleton.joints] == ["root_joint", "mount", "arm::wrist"]
    np.testing.assert_allclose(skeleton.body("arm::hand").world_transform, XA, atol=ATOL)
    np.testing.assert_allclose(skeleton.body("arm::tip").world_transform, XA @ np.linalg.inv(XB) @ XC, atol=ATOL)


def test_what_nested_models_cannot_have_is_remarked():
    nested = f'<model name="n"><static>1</static><self_collide>1</self_collide>{link("b")}</model>'
    skeleton = read_one(model(link("a"), nested))
    assert skeleton.mobile and not skeleton.self_collision
    assert any("model 'n' is static" in text for text in skeleton.warnings)
    assert any("<self_collide> of the nested model 'n'" in text for text in skeleton.warnings)


def test_models_of_a_world_relative_to_each_other():
    text = f"""<sdf version="1.8"><world name="w"><gravity>0 -5 0</gravity>
<physics type="ode"><max_step_size>0.002</max_step_size></physics>
<frame name="table">{pose(A)}</frame>
<model name="one">{pose(B, 'relative_to="table"')}{link("a")}</model>
<model name="two">{pose(C, 'relative_to="one::a"')}{link("a")}</model></world></sdf>"""
    world = sdf.read(text)
    assert world.name == "w" and world.time_step == 0.002
    np.testing.assert_array_equal(world.gravity, [0.0, -5.0, 0.0])
    np.testing.assert_allclose(world.skeleton("one").body(0).world_transform, XA @ XB, atol=ATOL)
    np.testing.assert_allclose(world.skeleton("two").body(0).world_transform, XA @ XB @ XC, atol=ATOL)


def test_a_static_model_is_welded_and_immobile():
    skeleton = read_one(model("<static>true</static>", link("a", pose(A)), link("b", pose(B))))
    assert not skeleton.mobile and skeleton.num_dofs == 0
    np.testing.assert_allclose(skeleton.body("b").world_transform, XB, atol=ATOL)


def test_a_joint_to_the_world_fixes_the_base():
    skeleton = read_one(model(pose(A), link("a", pose(B)), joint("weld", "world", "a")))
    assert skeleton.num_dofs == 0 and skeleton.joint("weld").num_dofs == 0
    np.testing.assert_allclose(skeleton.body("a").world_transform, XA @ XB, atol=ATOL)


def test_until_1_6_a_joint_may_have_the_name_of_a_link():
    parts = link("a"), link("b", pose(A)), joint("b", "a", "b", "revolute", HINGE)
    assert read_one(model(*parts, version="1.6")).joint("b").child.name == "b"
    with pytest.raises(kido.FileFormatError, match=r"the name 'b' .* is taken"):
        read_one(model(*parts, version="1.7"))


# -- joints ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "inside", "expected"),
    [
        ("revolute", "<axis><xyz>0 0 2</xyz></axis>", kido.RevoluteJoint),
        ("continuous", "<axis><xyz>0 1 0</xyz></axis>", kido.RevoluteJoint),
        ("prismatic", "<axis><xyz>1 0 0</xyz></axis>", kido.PrismaticJoint),
        ("screw", "<axis><xyz>1 0 0</xyz></axis>", kido.ScrewJoint),
        ("universal", "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>", kido.UniversalJoint),
        ("revolute2", "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>", kido.UniversalJoint),
        ("ball", "", kido.BallJoint),
        ("fixed", "", kido.WeldJoint),
    ],
)
def test_joint_types(kind, inside, expected):
    skeleton = read_one(model(link("a"), link("b"), joint("j", "a", "b", kind, inside)))
    assert type(skeleton.joint("j")) is expected


@pytest.mark.parametrize(
    ("inside", "pitch"),
    [
        ("", 1.0),
        ("<screw_thread_pitch>0.02</screw_thread_pitch>", 0.02),
        ("<thread_pitch>-4</thread_pitch>", math.pi / 2),
        ("<thread_pitch>4</thread_pitch>", -math.pi / 2),
    ],
)
def test_the_pitch_of_screws(inside, pitch):
    text = model(link("a"), link("b"), joint("j", "a", "b", "screw", f"<axis><xyz>1 0 0</xyz></axis>{inside}"))
    assert read_one(text).joint("j").pitch == pytest.approx(pitch, rel=1e-15)


def test_limits_and_dynamics():
    inside = """<axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>2</upper><effort>30</effort><velocity>4</velocity>
</limit><dynamics><damping>0.5</damping><friction>0.25</friction><spring_reference>0.1</spring_reference>
<spring_stiffness>7</spring_stiffness></dynamics></axis>"""
    j = read_one(model(link("a"), link("b"), joint("j", "a", "b", "revolute", inside))).joint("j")
    values = {
        "position_lower_limit": -1, "position_upper_limit": 2, "velocity_limit": 4, "force_limit": 30, "damping": 0.5,
        "coulomb_friction": 0.25, "rest_position": 0.1, "spring_stiffness": 7,
    }  # fmt: skip
    for key, value in values.items():
        assert j.get_property(key) == pytest.approx([value]), key


def test_huge_and_negative_limits_are_none():
    inside = """<axis><xyz>0 0 1</xyz><limit><lower>-1e16</lower><upper>inf</upper><effort>-1</effort>
<velocity>-1</velocity></limit></axis>"""
    j = read_one(model(link("a"), link("b"), joint("j", "a", "b", "revolute", inside))).joint("j")
    assert (j.position_lower_limit, j.position_upper_limit) == ([-np.inf], [np.inf])
    assert (j.velocity_limit, j.force_limit) == ([np.inf], [np.inf])


HINGE = "<axis><xyz>0 0 1</xyz></axis>"


def test_a_mimic_follows_from_its_reference():
    mimic = '<axis><xyz>0 0 1</xyz><mimic joint="j"><multiplier>3</multiplier><offset>0.5</offset>'
    mimic += "<reference>0.1</reference></mimic></axis>"
    text = model(
        link("a"), link("b"), link("c"), joint("j", "a", "b", "revolute", HINGE),
        joint("k", "a", "c", "revolute", mimic), version="1.11",
    )  # fmt: skip
    found = read_one(text).joint("k").mimic
    assert (found.joint, found.multiplier, found.offset) == ("j", 3.0, pytest.approx(0.2))


@pytest.mark.parametrize(("sign", "turned"), [(1, False), (-1, False), (1, True)])
def test_a_gearbox_couples_two_hinges(sign, turned):
    """theta_child = -ratio theta_parent, both about the gearbox's axes, as angles from the reference body."""
    second = f"<axis><xyz>0 0 {sign}</xyz></axis>"
    hinge = joint("k", "c", "a", "revolute", second) if turned else joint("k", "a", "c", "revolute", second)
    gear = "<gearbox_ratio>5</gearbox_ratio><gearbox_reference_body>a</gearbox_reference_body>"
    gear += f"{HINGE}<axis2><xyz>0 0 1</xyz></axis2>"
    text = model(
        joint("w", "world", "a"), link("a"), link("b"), link("c"), joint("j", "a", "b", "revolute", HINGE), hinge,
        joint("g", "b", "c", "gearbox", gear),
    )  # fmt: skip
    skeleton = read_one(text)
    mimic = skeleton.joint("k").mimic
    assert mimic.joint == "j"
    q = skeleton.positions.copy()
    q[skeleton.dof("j").index] = 0.1
    q[skeleton.dof("k").index] = mimic.multiplier * 0.1
    skeleton.positions = q
    angle = [Rotation.from_matrix(skeleton.body(n).world_transform[:3, :3]).as_rotvec()[2] for n in "bc"]
    assert angle[0] == pytest.approx(0.1)
    assert angle[1] == pytest.approx(-5 * 0.1)


def test_a_gearbox_without_hinges_is_left_out():
    text = model(link("a"), link("b"), joint("g", "a", "b", "gearbox", HINGE))
    skeleton = read_one(text)
    assert any("gearbox 'g'" in text and "is left out" in text for text in skeleton.warnings)


@pytest.mark.parametrize("reference", ["world", "base::frame"])
def test_a_gearbox_between_models(reference):
    """Wheels of two models on hinges of the world: theta_child = -ratio theta_parent; with another reference it is left
    out, with a remark."""
    inside = f"{HINGE}<axis2><xyz>0 0 1</xyz></axis2><gearbox_ratio>4</gearbox_ratio>"
    inside += f"<gearbox_reference_body>{reference}</gearbox_reference_body>"
    hinge = joint("h", "world", "w", "revolute", HINGE)
    parts = [
        f'<model name="one">{link("w")}{hinge}</model>',
        f'<model name="two"><pose>1 0 0 0 0 0</pose>{link("w")}{hinge}</model>',
        f'<model name="base">{link("frame")}</model>',
        joint("g", "one::w", "two::w", "gearbox", inside),
    ]
    world = sdf.read(f'<sdf version="1.11"><world name="w">{"".join(parts)}</world></sdf>')
    if reference != "world":
        assert any("gearbox 'g'" in t and "left out" in t for s in world.skeletons for t in s.warnings)
        assert list(world.constraints) == []
        return
    world.gravity = (0.0, 0.0, 0.0)
    one, two = world.skeletons[:2]
    one.velocities = [1.0]
    world.step(1)
    energy = world.kinetic_energy
    world.step(99)
    assert two.positions[0] == pytest.approx(-4.0 * one.positions[0], abs=1e-10) and one.positions[0] > 1e-4
    assert two.velocities[0] == pytest.approx(-4.0 * one.velocities[0], abs=1e-10)
    assert world.kinetic_energy == pytest.approx(energy, rel=1e-9)


# -- loops -------------------------------------------------------------------------------------------------


def test_a_loop_is_cut_at_the_joint_with_most_freedom():
    text = model(
        joint("w", "world", "a"), link("a"), link("b", pose(A)), link("c", pose(B)),
        joint("cut", "b", "c", "ball", pose(C)), joint("j", "a", "b", "revolute", HINGE),
        joint("k", "a", "c", "revolute", HINGE),
    )  # fmt: skip
    skeleton = read_one(text)
    assert [j.name for j in skeleton.joints] == ["w", "j", "k"]
    (loop,) = skeleton.loops
    assert (loop.name, loop.parent, loop.child) == ("cut", "b", "c")
    assert isinstance(loop.joint, kido.BallJoint)
    ends = [
        skeleton.body(name).world_transform @ X
        for name, X in (("b", loop.joint.transform_from_parent), ("c", loop.joint.transform_from_child))
    ]
    np.testing.assert_allclose(ends[0], ends[1], atol=ATOL)
    np.testing.assert_allclose(ends[1], XB @ XC, atol=ATOL)
    assert any("'cut' (ball) closes a loop" in text for text in skeleton.warnings)
    assert [entry.name for entry in skeleton.clone().loops] == ["cut"]


def test_a_joint_may_be_turned_round():
    """b hangs on the world; a is its parent in the file, so that the joint runs towards the root."""
    inside = pose(C) + "<axis><xyz>0 0 1</xyz><limit><lower>-0.5</lower><upper>1</upper></limit></axis>"
    text = model(
        joint("w", "world", "b"), link("a", pose(A)), link("b", pose(B)), joint("j", "a", "b", "revolute", inside)
    )
    skeleton = read_one(text)
    skeleton.positions = [0.4]
    turn = np.eye(4)
    turn[:3, :3] = Rotation.from_rotvec([0, 0, 0.4]).as_matrix()
    X_AB = np.linalg.inv(XA) @ XB @ XC @ turn @ np.linalg.inv(XC)
    found = np.linalg.inv(skeleton.body("a").world_transform) @ skeleton.body("b").world_transform
    np.testing.assert_allclose(found, X_AB, atol=1e-13)
    assert skeleton.joint("j").position_lower_limit == [-0.5]
    assert any("turned round" in text for text in skeleton.warnings)


# -- bodies ------------------------------------------------------------------------------------------------


def test_inertia_is_turned_into_link_axes():
    inertial = f"<inertial>{pose(A)}<mass>2</mass><inertia><ixx>1</ixx><iyy>2</iyy><izz>2.5</izz></inertia></inertial>"
    body = read_one(model(f'<link name="a">{inertial}</link>')).body("a")
    R = XA[:3, :3]
    np.testing.assert_allclose(body.inertia.moment, R @ np.diag([1.0, 2.0, 2.5]) @ R.T, atol=ATOL)
    np.testing.assert_allclose(body.inertia.com, A[:3])
    assert body.mass == 2.0


def test_the_default_inertia():
    skeleton = read_one(model('<link name="a"/>'))
    assert skeleton.mass == 1.0
    np.testing.assert_array_equal(skeleton.body("a").inertia.moment, np.eye(3))


SPHERE = "<geometry><sphere><radius>0.1</radius></sphere></geometry>"


@pytest.mark.parametrize(("inside", "mass"), [("", None), ("<mass>7</mass>", 7.0)])
def test_automatic_inertia(inside, mass):
    """Two balls of different densities: mass, centre and moment by hand (parallel axes)."""
    volume = 4.0 / 3.0 * math.pi * 0.1**3
    text = model(
        f'<link name="a"><inertial auto="true">{inside}<density>500</density></inertial>'
        f'<collision name="p">{SPHERE}</collision>'
        f'<collision name="q"><pose>1 0 0 0 0 0</pose><density>1500</density>{SPHERE}</collision></link>',
        version="1.11",
    )
    inertia = read_one(text).body("a").inertia
    total = 2000.0 * volume
    scale = 1.0 if mass is None else mass / total
    ball = 0.4 * total * 0.1**2
    expected = np.diag([ball, ball, ball]) + np.diag([0.0, 1.0, 1.0]) * volume * (500.0 * 1500.0 / 2000.0)
    assert inertia.mass == pytest.approx(total * scale, rel=1e-14)
    np.testing.assert_allclose(inertia.com, [0.75, 0, 0], atol=ATOL)
    np.testing.assert_allclose(inertia.moment, expected * scale, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(read_one(text, collisions=False).body("a").inertia.moment, inertia.moment)


@pytest.mark.parametrize(
    ("geometry", "shape"),
    [
        ("<box><size>1 2 3</size></box>", kido.Box((1, 2, 3))),
        ("<sphere><radius>2</radius></sphere>", kido.Sphere(2)),
        ("<cylinder><radius>1</radius><length>2</length></cylinder>", kido.Cylinder(1, 2)),
        ("<capsule><radius>1</radius><length>2</length></capsule>", kido.Capsule(1, 2)),
        ("<cone><radius>1</radius><length>2</length></cone>", kido.Cone(1, 2)),
        ("<ellipsoid><radii>1 2 3</radii></ellipsoid>", kido.Ellipsoid((1, 2, 3))),
        ("<plane><normal>0 2 0</normal><size>1 1</size></plane>", kido.Plane((0, 1, 0))),
    ],
)
def test_shapes(geometry, shape):
    inside = f'<collision name="c">{pose(A)}<geometry>{geometry}</geometry></collision>'
    inside += f'<visual name="c"><geometry>{geometry}</geometry></visual>'
    visual, collision = read_one(model(link("a", "", inside))).body("a").shapes
    assert collision.shape == visual.shape == shape
    assert (collision.collision, collision.visual, visual.collision, visual.visual) == (True, False, False, True)
    np.testing.assert_allclose(collision.relative_transform, XA, atol=ATOL)


def test_surfaces_and_colours():
    surface = "<surface><friction><ode><mu>0.3</mu></ode></friction><bounce>"
    surface += "<restitution_coefficient>0.4</restitution_coefficient></bounce></surface>"
    material = "<material><ambient>0 0 0 1</ambient><diffuse>0.1 0.2 0.3 1</diffuse></material>"
    inside = f'<collision name="c">{SPHERE}{surface}</collision><visual name="v">{SPHERE}{material}</visual>'
    visual, collision = read_one(model(link("a", "", inside))).body("a").shapes
    assert (collision.friction, collision.restitution) == (0.3, 0.4)
    assert visual.color == (0.1, 0.2, 0.3, 1.0)


def test_flags():
    skeleton = read_one(model("<self_collide>1</self_collide>", link("a", "", "<gravity>0</gravity>")))
    assert skeleton.self_collision and not skeleton.body("a").gravity


@pytest.mark.parametrize("kind", ["heightmap", "polyline"])
def test_what_is_not_modelled_is_remarked(kind):
    inside = f'<collision name="c"><geometry><{kind}/></geometry></collision><sensor name="s" type="imu"/>'
    skeleton = read_one(model(link("a", "", inside), '<plugin name="p" filename="f.so"/>'))
    for what in (kind, "sensor", "plugin"):
        assert any(f"<{what}>" in text and "left out" in text for text in skeleton.warnings), what


# -- includes ----------------------------------------------------------------------------------------------


@pytest.fixture
def models(tmp_path):
    """A folder with the model `arm` in two versions and a main file beside it."""
    folder = tmp_path / "arm"
    folder.mkdir()
    (folder / "model.config").write_text(
        '<model><name>arm</name><sdf version="1.5">old.sdf</sdf><sdf version="1.9">model.sdf</sdf></model>'
    )
    arm = model(
        link("hand", pose(A)), link("tip", pose(B)), '<frame name="f" attached_to="tip"/>',
        joint("wrist", "hand", "tip", "revolute", '<axis><xyz expressed_in="__model__">0 0 1</xyz></axis>'), name="arm",
    )  # fmt: skip
    (folder / "model.sdf").write_text(arm)
    (folder / "old.sdf").write_text(model(link("old"), name="arm", version="1.5"))
    return tmp_path


def read_main(folder, text):
    path = folder / "main.sdf"
    path.write_text(text)
    return sdf.read(path)


@pytest.mark.parametrize("uri", ["model://arm", "arm", "arm/model.sdf", "model://arm/model.sdf", "./arm/"])
def test_includes_by_name_folder_and_file(models, uri):
    include = f"<include><uri>{uri}</uri><name>left</name>{pose(C)}</include>"
    skeleton = read_main(models, model(link("base"), include, joint("j", "base", "left::hand"))).skeleton(0)
    assert [body.name for body in skeleton.bodies] == ["base", "left::hand", "left::tip"]
    np.testing.assert_allclose(skeleton.body("left::tip").world_transform, XC @ XB, atol=ATOL)


def test_an_include_in_a_world(models):
    include = (
        f"<include><uri>model://arm</uri>{pose(C)}<placement_frame>f</placement_frame><static>1</static></include>"
    )
    world = read_main(models, f'<sdf version="1.9"><world name="w">{include}</world></sdf>')
    assert not world.skeleton("arm").mobile
    np.testing.assert_allclose(world.skeleton("arm").body("tip").world_transform, XC, atol=ATOL)


def test_a_merged_include(models):
    include = f'<include merge="true"><uri>model://arm</uri>{pose(C)}</include>'
    skeleton = read_main(models, model(link("base"), include, joint("j", "base", "hand"))).skeleton(0)
    assert [body.name for body in skeleton.bodies] == ["base", "hand", "tip"]
    np.testing.assert_allclose(skeleton.body("tip").world_transform, XC @ XB, atol=ATOL)
    axis = skeleton.body("tip").world_transform[:3, :3] @ skeleton.joint("wrist").axis
    np.testing.assert_allclose(axis, XC[:3, 2], atol=ATOL)


def test_lights_and_the_ground_plane_need_no_files():
    include = "<include><uri>model://sun</uri></include><include><uri>model://ground_plane</uri></include>"
    world = sdf.read(f'<sdf version="1.6"><world name="w">{include}</world></sdf>')
    assert [s.name for s in world.skeletons] == ["ground_plane"]
    assert world.skeleton(0).body(0).shapes[0].shape == kido.Plane()


def test_missing_includes_can_be_left_out():
    include = "<include><uri>model://table</uri></include>"
    text = f'<sdf version="1.6"><world name="w">{include}<model name="m">{link("a")}</model></world></sdf>'
    world = sdf.read(text, missing_includes="skip")
    assert any("'model://table' is not found" in text for text in world.skeleton("m").warnings)


LINK_OF_MODEL = (
    '<link name="l"><inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial></link>'
)
HELD_MODELS = f"""<sdf version="1.9"><world name="w"><model name="a">{LINK_OF_MODEL}</model>
<model name="b"><pose>1 0 0 0 0 0.5</pose>{LINK_OF_MODEL}</model>
<joint name="j" type="revolute"><pose relative_to="a">0.5 0 0 0 0 0</pose><parent>a::l</parent><child>b</child><axis>
<xyz expressed_in="b">0 1 0</xyz><limit><lower>-0.2</lower><upper>0.2</upper></limit></axis></joint>
<joint name="k" type="ball"><pose relative_to="a"/><parent>world</parent><child>a</child></joint></world></sdf>"""


def test_joints_of_a_world_hold_its_models_together() -> None:
    """The hinge's axis is b's y: what turns about it is all that b does, seen from a, and no more than its limits."""
    world = sdf.read(HELD_MODELS)
    assert [c.name for c in world.constraints] == ["j", "j/j", "k"]
    a, b = (world.skeleton(name).body("l") for name in "ab")
    start = np.linalg.inv(a.world_transform) @ b.world_transform
    axis = start[:3, 1]
    for _ in range(10):
        world.step(50)
        assert world.constraint_report.closure < 1e-9
        np.testing.assert_allclose(a.world_transform[:3, 3], 0.0, atol=1e-9)
        turned = np.linalg.inv(a.world_transform) @ b.world_transform
        np.testing.assert_allclose(turned[:3, 1], axis, atol=1e-9)
        angle = np.arccos(np.clip((np.trace(turned[:3, :3] @ start[:3, :3].T) - 1.0) / 2.0, -1.0, 1.0))
        assert angle < 0.2 + 1e-3
    assert a.world_transform[2, 2] < 0.99  # it fell
