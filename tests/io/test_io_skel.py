"""SKEL reader: numbers of our own texts, for every joint type, shape and property."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import kido
from kido.errors import MeshNotFoundError
from kido.io import skel


def world_text(skeletons: str, physics: str = "") -> str:
    return f'<skel version="1.0"><world name="w">{physics}{skeletons}</world></skel>'


def skeleton_text(bodies: str, joints: str, more: str = "") -> str:
    return world_text(f'<skeleton name="s">{more}{bodies}{joints}</skeleton>')


def body_text(name: str, pose: str = "0 0 0 0 0 0", more: str = "") -> str:
    return f'<body name="{name}"><transformation>{pose}</transformation>{more}</body>'


def joint_text(kind: str, parent: str, child: str, more: str = "", name: str | None = None) -> str:
    return (
        f'<joint type="{kind}" name="{name or "j_" + child}"><parent>{parent}</parent>'
        f"<child>{child}</child>{more}</joint>"
    )


def single(kind: str, more: str = "", pose: str = "0 0 0 0 0 0") -> kido.Skeleton:
    text = skeleton_text(body_text("a", pose), joint_text(kind, "world", "a", more))
    return skel.read(text).skeletons[0]


def rotation(axis: str, angle: float) -> np.ndarray:
    i = "xyz".index(axis)
    j, k = (i + 1) % 3, (i + 2) % 3
    matrix = np.eye(3)
    matrix[j, j] = matrix[k, k] = math.cos(angle)
    matrix[k, j], matrix[j, k] = math.sin(angle), -math.sin(angle)
    return matrix


def transform(matrix: np.ndarray | None = None, translation=(0.0, 0.0, 0.0)) -> np.ndarray:
    result = np.eye(4)
    result[:3, :3] = np.eye(3) if matrix is None else matrix
    result[:3, 3] = translation
    return result


# -- world -----------------------------------------------------------------------------------------


def test_physics():
    world = skel.read(
        world_text(
            "",
            "<physics><time_step>0.002</time_step><gravity>0 -9.8 0</gravity>"
            "<collision_detector>fcl_mesh</collision_detector></physics>",
        )
    )
    assert world.name == "w"
    assert world.time_step == 0.002
    assert_allclose(world.gravity, (0, -9.8, 0), atol=0)
    assert len(world.skeletons) == 0


def test_defaults_without_physics():
    world = skel.read("<skel><world/></skel>")
    assert world.time_step == 0.001
    assert_allclose(world.gravity, (0, 0, -9.81), atol=0)


def test_skeletons_without_a_world():
    text = f'<skel><skeleton name="s">{body_text("a")}{joint_text("free", "world", "a")}</skeleton></skel>'
    assert [s.name for s in skel.read(text).skeletons] == ["s"]


def test_file_and_load(tmp_path: Path):
    path = tmp_path / "w.skel"
    path.write_text(skeleton_text(body_text("a"), joint_text("free", "world", "a")))
    world = skel.read(path)
    assert world.uri == world.skeletons[0].uri == str(path)
    assert skel.read(path.read_text()).skeletons[0].uri is None


def test_repeated_skeleton_names_are_numbered():
    one = f'<skeleton name="s">{body_text("a")}{joint_text("free", "world", "a")}</skeleton>'
    world = skel.read(world_text(one * 3))
    assert [s.name for s in world.skeletons] == ["s", "s(1)", "s(2)"]
    assert any("'s' " in w or "'s':" in w for w in world.skeletons[2].warnings)


def test_unknown_detector_and_elements_are_noted():
    body = body_text("a", more="<skin/>")
    one = f'<skeleton name="s"><color/>{body}{joint_text("free", "world", "a")}</skeleton>'
    physics = "<physics><collision_detector>crystal</collision_detector></physics>"
    warnings = skel.read(world_text(one, physics)).skeletons[0].warnings
    assert any("'crystal'" in w and "bullet" in w for w in warnings)
    assert any("<color>" in w for w in warnings)
    assert any("<skin>" in w and "'a'" in w for w in warnings)


def test_mobile_and_gravity_flags():
    text = skeleton_text(
        body_text("a", more="<gravity>0</gravity>") + body_text("b"),
        joint_text("free", "world", "a") + joint_text("free", "world", "b"),
        "<mobile>false</mobile>",
    )
    skeleton = skel.read(text).skeletons[0]
    assert skeleton.mobile is False
    assert skeleton.body("a").gravity is False
    assert skeleton.body("b").gravity is True


# -- placement -------------------------------------------------------------------------------------


def test_body_pose_is_in_the_world_after_the_skeletons():
    text = skeleton_text(
        body_text("a", "1 2 3 0.1 0.2 0.3") + body_text("b", "4 5 6 -0.4 0.5 0.6"),
        joint_text("weld", "world", "a")
        + joint_text("revolute", "a", "b", "<transformation>.1 .2 .3 .4 .5 .6</transformation>"
                     "<axis><xyz>0 0 1</xyz></axis>"),
        "<transformation>10 20 30 0 0 1.5707963267948966</transformation>",
    )  # fmt: skip
    skeleton = skel.read(text).skeletons[0]
    turn = rotation("z", math.pi / 2)
    rot_a = rotation("x", 0.1) @ rotation("y", 0.2) @ rotation("z", 0.3)
    rot_b = rotation("x", -0.4) @ rotation("y", 0.5) @ rotation("z", 0.6)
    expected_a = transform(turn, (10, 20, 30)) @ transform(rot_a, (1, 2, 3))
    expected_b = transform(turn, (10, 20, 30)) @ transform(rot_b, (4, 5, 6))
    assert_allclose(skeleton.body("a").world_transform, expected_a, atol=1e-13)
    assert_allclose(skeleton.body("b").world_transform, expected_b, atol=1e-13)


def test_joint_frame_is_in_the_child():
    text = skeleton_text(
        body_text("a", "5 0 0 0 0 0"),
        joint_text("revolute", "world", "a",
                   "<transformation>-1 0 0 0 0 0</transformation><axis><xyz>0 0 3</xyz></axis>"
                   "<init_pos>1.5707963267948966</init_pos>"),
    )  # fmt: skip
    skeleton = skel.read(text).skeletons[0]
    # The hinge is at x = 4; the body's origin, 1 m beyond it along x, is turned to 1 m along y.
    assert_allclose(skeleton.body("a").world_transform, transform(rotation("z", math.pi / 2), (4, 1, 0)), atol=1e-14)


def test_order_of_bodies_is_that_of_the_joints_parents_first():
    text = skeleton_text(
        "".join(body_text(name) for name in "abcd"),
        joint_text("weld", "c", "b") + joint_text("free", "world", "d") + joint_text("free", "world", "c")
        + joint_text("weld", "b", "a"),
    )  # fmt: skip
    skeleton = skel.read(text).skeletons[0]
    names = [body.name for body in skeleton.bodies]
    assert names == ["c", "b", "d", "a"]
    assert skeleton.body("a").parent is skeleton.body("b")
    assert skeleton.body("c").parent is None


def test_body_without_a_joint_gets_a_free_joint():
    text = skeleton_text(body_text("a", "1 2 3 0 0 0") + body_text("b"), joint_text("weld", "a", "b", name="root"))
    skeleton = skel.read(text).skeletons[0]
    joint = skeleton.body("a").parent_joint
    assert joint.num_dofs == 6
    assert joint.name == "root of a"
    assert_allclose(skeleton.body("a").world_transform, transform(None, (1, 2, 3)), atol=0)
    assert any("'a'" in w and "free joint" in w for w in skeleton.warnings)


def test_a_body_called_world_takes_precedence():
    text = skeleton_text(body_text("world", "1 0 0 0 0 0") + body_text("b"), joint_text("weld", "world", "b"))
    skeleton = skel.read(text).skeletons[0]
    assert skeleton.body("b").parent is skeleton.body("world")
    assert skeleton.num_dofs == 6


# -- joints ----------------------------------------------------------------------------------------

AXIS = "<axis><xyz>0 0 2</xyz>{}</axis>"
TURN = rotation("z", 0.5)
JOINTS = {
    "weld": ("", "", np.eye(4)),
    "revolute": (AXIS.format(""), "0.5", transform(TURN)),
    "prismatic": (AXIS.format(""), "0.5", transform(None, (0, 0, 0.5))),
    "screw": (AXIS.format("<pitch>0.3</pitch>"), "0.5", transform(TURN, (0, 0, 0.3 * 0.5 / (2 * math.pi)))),
    "screw, default pitch": (AXIS.format(""), "0.5", transform(TURN, (0, 0, 0.1 * 0.5 / (2 * math.pi)))),
    "universal": (
        AXIS.format("") + "<axis2><xyz>1 0 0</xyz></axis2>",
        "0.5 -0.7",
        transform(TURN @ rotation("x", -0.7)),
    ),
    "euler": (
        "<axis_order>xyz</axis_order>",
        "0.3 0.4 0.5",
        transform(rotation("x", 0.3) @ rotation("y", 0.4) @ TURN),
    ),
    "euler, zyx": (
        "<axis_order>zyx</axis_order>",
        "0.5 0.3 0.4",
        transform(TURN @ rotation("y", 0.3) @ rotation("x", 0.4)),
    ),
    "ball": ("", "0 0 0.5", transform(TURN)),
    "planar": ('<plane type="xy"/>', "1 2 0.5", transform(TURN, (1, 2, 0))),
    "planar, no plane": ("", "1 2 0.5", transform(TURN, (1, 2, 0))),
    "planar, yz": ('<plane type="yz"/>', "1 2 0.5", transform(rotation("x", 0.5), (0, 1, 2))),
    "planar, zx": ('<plane type="zx"/>', "1 2 0.5", transform(rotation("y", 0.5), (2, 0, 1))),
    "planar, arbitrary": (
        '<plane type="arbitrary"><translation_axis1><xyz>0 3 0</xyz></translation_axis1>'
        "<translation_axis2><xyz>1 0 0</xyz></translation_axis2></plane>",
        "1 2 0.5",
        transform(rotation("z", -0.5), (2, 1, 0)),
    ),
    "translational": ("", "1 2 3", transform(None, (1, 2, 3))),
    "free": ("", "0 0 0.5 1 2 3", transform(TURN, (1, 2, 3))),
}


@pytest.mark.parametrize("case", JOINTS)
def test_joint_moves_its_child(case: str):
    more, positions, expected = JOINTS[case]
    init = f"<init_pos>{positions}</init_pos>" if positions else ""
    skeleton = single(case.split(",")[0], more + init)
    numbers = [float(p) for p in positions.split()]
    assert_allclose(skeleton.positions, numbers, atol=0)
    assert_allclose([dof.initial_position for dof in skeleton.dofs], numbers, atol=0)
    assert_allclose(skeleton.body("a").world_transform, expected, atol=1e-14)


def test_initial_velocities():
    text = skeleton_text(
        body_text("a") + body_text("b") + body_text("c"),
        joint_text("free", "world", "a", "<init_vel>1 2 3 4 5 6</init_vel>")
        + joint_text("weld", "a", "b")
        + joint_text("revolute", "b", "c", '<axis><xyz>1 0 0</xyz></axis><dof><velocity initial="7"/></dof>'),
    )
    assert_allclose(skel.read(text).skeletons[0].velocities, [1, 2, 3, 4, 5, 6, 7], atol=0)


def test_free_velocity_is_the_twist_in_body_axes():
    skeleton = single("free", "<init_pos>0 0 1.5707963267948966 0 0 0</init_pos><init_vel>1 0 0 0 2 0</init_vel>")
    # The body's x axis points along the world's y, its y axis along the world's -x.
    assert_allclose(skeleton.body("a").angular_velocity(), (0, 1, 0), atol=1e-14)
    assert_allclose(skeleton.body("a").linear_velocity(), (-2, 0, 0), atol=1e-14)


def test_limits_and_dynamics_per_axis():
    def axis(tag: str, k: int) -> str:
        return (
            f"<{tag}><xyz>{'1 0 0' if k == 1 else '0 1 0'}</xyz>"
            f"<limit><lower>-{k}</lower><upper>+{k}.5</upper></limit><dynamics><damping>{k}1</damping>"
            f"<friction>{k}2</friction><spring_rest_position>0.{k}</spring_rest_position>"
            f"<spring_stiffness>{k}3</spring_stiffness></dynamics></{tag}>"
        )

    dofs = single("universal", axis("axis", 1) + axis("axis2", 2)).dofs
    for k, dof in enumerate(dofs, 1):
        assert (dof.position_lower_limit, dof.position_upper_limit) == (-k, k + 0.5)
        assert (dof.damping, dof.coulomb_friction) == (10 * k + 1, 10 * k + 2)
        assert (dof.rest_position, dof.spring_stiffness) == (k / 10, 10 * k + 3)


def test_damping_outside_of_dynamics_and_half_limits():
    (dof,) = single("revolute", "<axis><xyz>1 0 0</xyz><damping>4</damping><limit><upper>1</upper></limit></axis>").dofs
    assert dof.damping == 4
    assert (dof.position_lower_limit, dof.position_upper_limit) == (-math.inf, 1)


def test_dof_elements():
    skeleton = single(
        "euler",
        '<axis_order>xyz</axis_order><dof local_index="0" name="roll"><position lower="-1" upper="+1" '
        'initial="0.5"/><velocity lower="-10" upper="10"/><force lower="-4" upper="3"/></dof>'
        '<dof local_index="2"><damping>3</damping><acceleration lower="-1" upper="1"/></dof>',
    )
    first, second, third = skeleton.dofs
    assert first.name == "roll"
    assert (first.position_lower_limit, first.position_upper_limit) == (-1, 1)
    assert (first.initial_position, first.position) == (0.5, 0.5)
    assert first.velocity_limit == 10
    assert (first.force_lower_limit, first.force_upper_limit, first.force_limit) == (-4, 3, 4)
    assert (second.position_lower_limit, second.velocity_limit, second.damping) == (-math.inf, math.inf, 0)
    assert third.damping == 3
    assert (third.acceleration_lower_limit, third.acceleration_upper_limit) == (-1, 1)
    assert not any("limit" in line or "acceleration" in line for line in skeleton.warnings)


@pytest.mark.parametrize("kind", ["force", "passive", "servo", "acceleration", "velocity", "locked"])
def test_actuator_types(kind):
    joint = joint_text("ball", "world", "a").replace("<joint ", f'<joint actuator="{kind}" ')
    skeleton = skel.read(skeleton_text(body_text("a"), joint)).skeletons[0]
    assert skeleton.joints[0].actuator_type == kido.ActuatorType[kind.upper()]
    assert not any("actuator" in w for w in skeleton.warnings)


def test_what_joints_say_in_vain_is_noted():
    joint = joint_text("ball", "world", "a", "<axis/><spin/>").replace("<joint ", '<joint actuator="mimic" ')
    warnings = skel.read(skeleton_text(body_text("a"), joint)).skeletons[0].warnings
    assert any("'mimic'" in w for w in warnings)
    assert any("<axis>" in w and "ball" in w for w in warnings)
    assert any("<spin>" in w for w in warnings)


# -- inertia ---------------------------------------------------------------------------------------


def inertia_of(inertia: str, shapes: str = "") -> tuple[kido.Inertia, list[str]]:
    skeleton = skel.read(
        skeleton_text(body_text("a", more=inertia + shapes), joint_text("free", "world", "a"))
    ).skeletons[0]
    return skeleton.body("a").inertia, list(skeleton.warnings)


def test_inertia():
    inertia, warnings = inertia_of(
        "<inertia><mass>2</mass><offset>1 2 3</offset><moment_of_inertia><ixx>4</ixx><iyy>5</iyy><izz>6</izz>"
        "<ixy>.1</ixy><ixz>.2</ixz><iyz>.3</iyz></moment_of_inertia></inertia>"
    )
    assert inertia.mass == 2
    assert_allclose(inertia.com, (1, 2, 3), atol=0)
    assert_allclose(inertia.moment, [[4, 0.1, 0.2], [0.1, 5, 0.3], [0.2, 0.3, 6]], atol=0)
    assert warnings == []


def test_no_inertia_is_the_unit_inertia():
    inertia, warnings = inertia_of("")
    assert inertia.mass == 1
    assert_allclose(inertia.com, np.zeros(3), atol=0)
    assert_allclose(inertia.moment, np.eye(3), atol=0)
    assert any("'a'" in w for w in warnings)


def shape_text(geometry: str, tag: str = "visualization_shape", more: str = "") -> str:
    return f"<{tag}>{more}<geometry>{geometry}</geometry></{tag}>"


MASS = "<inertia><mass>2</mass><offset>0 0 1</offset></inertia>"
SOLIDS = {
    "<box><size>1 2 3</size></box>": np.array([4 + 9, 1 + 9, 1 + 4]) / 12,
    "<sphere><radius>2</radius></sphere>": np.full(3, 0.4 * 4),
    "<ellipsoid><size>2 4 6</size></ellipsoid>": np.array([4 + 9, 1 + 9, 1 + 4]) / 5,
    "<cylinder><radius>2</radius><height>3</height></cylinder>": np.array([1 + 0.75, 1 + 0.75, 2]),
    # About the middle of its height, a quarter of it (1 m) above the centroid.
    "<cone><radius>2</radius><height>4</height></cone>": np.array([0.6 + 0.6 + 1, 0.6 + 0.6 + 1, 1.2]),
    # The cylinder of radius 1 and height 4/3 has half of the mass, the two caps together the other half.
    "<capsule><radius>1</radius><height>1.3333333333333333</height></capsule>": np.array(
        [
            0.5 * (0.25 + 16 / 108) + 0.5 * (0.4 + 4 / 9 + 3 / 8 * 4 / 3),
            0.5 * (0.25 + 16 / 108) + 0.5 * (0.4 + 4 / 9 + 3 / 8 * 4 / 3),
            0.25 + 0.2,
        ]
    ),
    # The box of the size of the spheres is 3 x 2 x 2.
    "<multi_sphere><sphere><radius>1</radius><position>1 0 0</position></sphere>"
    "<sphere><radius>0.5</radius><position>-0.5 0 0</position></sphere></multi_sphere>": np.array([8, 13, 13]) / 12,
}


@pytest.mark.parametrize("geometry", SOLIDS)
def test_moment_of_a_shape(geometry: str):
    place = "<transformation>0 0 1 0 0 1.5707963267948966</transformation>"
    inertia, _ = inertia_of(MASS, shape_text(geometry, more=place))
    assert inertia.mass == 2
    assert_allclose(inertia.com, (0, 0, 1), atol=0)
    x, y, z = SOLIDS[geometry]
    assert_allclose(inertia.moment, 2 * np.diag([y, x, z]), rtol=1e-12, atol=1e-14)


def test_moment_of_several_shapes():
    inertia, _ = inertia_of(
        MASS,
        shape_text("<box><size>1 1 3</size></box>", more="<transformation>0 0 1 0 0 0</transformation>")
        + shape_text("<box><size>1 1 1</size></box>", "collision_shape",
                     "<transformation>0 2 0 0 0 0</transformation>")
        + shape_text("<plane><normal>0 0 1</normal></plane>", "collision_shape"),
    )  # fmt: skip
    # 1.5 kg at the centre of mass and 0.5 kg at (0, 2, -1) from it.
    first = 1.5 / 12 * np.diag([10, 10, 2])
    second = 0.5 / 12 * np.diag([2, 2, 2]) + 0.5 * np.array([[5, 0, 0], [0, 1, 2], [0, 2, 4]])
    assert_allclose(inertia.moment, first + second, rtol=1e-12, atol=1e-14)


def test_moment_without_a_solid_shape():
    plane = shape_text("<plane><normal>0 0 1</normal></plane>", "collision_shape")
    for shapes in ("", plane):
        inertia, warnings = inertia_of(MASS, shapes)
        assert_allclose(inertia.moment, np.eye(3), atol=0)
        assert any("no moment of inertia" in w for w in warnings)


# -- shapes ----------------------------------------------------------------------------------------


def shapes_of(text: str, **options) -> tuple[list[kido.ShapeNode], list[str]]:
    skeleton = skel.read(
        skeleton_text(body_text("a", more=MASS + text), joint_text("free", "world", "a")), **options
    ).skeletons[0]
    return list(skeleton.body("a").shapes), list(skeleton.warnings)


def test_roles_place_and_color():
    (visual, collision, ghost), _ = shapes_of(
        shape_text("<box><size>1 2 3</size></box>", more="<color>0.1 0.2 0.3 0.4</color>")
        + shape_text("<box><size>1 2 3</size></box>", "collision_shape",
                     "<transformation>1 2 3 0.4 0 0</transformation>")
        + shape_text("<sphere><radius>1</radius></sphere>", "collision_shape",
                     "<collidable>false</collidable>")
    )  # fmt: skip
    assert (visual.visual, visual.collision) == (True, False)
    assert_allclose(visual.color[:4], (0.1, 0.2, 0.3, 0.4), atol=0)
    assert_allclose(visual.relative_transform, np.eye(4), atol=0)
    assert (collision.visual, collision.collision) == (False, True)
    assert_allclose(collision.relative_transform, transform(rotation("x", 0.4), (1, 2, 3)), atol=1e-15)
    assert (ghost.visual, ghost.collision) == (False, False)


PRIMITIVES = {
    "<box><size>1 2 3</size></box>": kido.Box((1, 2, 3)),
    "<sphere><radius>2</radius></sphere>": kido.Sphere(2),
    "<ellipsoid><size>2 4 6</size></ellipsoid>": kido.Ellipsoid((1, 2, 3)),
    "<cylinder><radius>2</radius><height>3</height></cylinder>": kido.Cylinder(2, 3),
    "<capsule><radius>2</radius><height>3</height></capsule>": kido.Capsule(2, 3),
    "<cone><radius>2</radius><height>3</height></cone>": kido.Cone(2, 3),
    "<plane><normal>0 2 0</normal></plane>": kido.Plane((0, 1, 0), 0),
    "<plane><normal>0 2 0</normal><offset>0.5</offset></plane>": kido.Plane((0, 1, 0), 0.5),
    "<plane><normal>0 2 0</normal><point>7 0.5 9</point></plane>": kido.Plane((0, 1, 0), 0.5),
}


@pytest.mark.parametrize("geometry", PRIMITIVES)
def test_primitives(geometry: str):
    (node,), _ = shapes_of(shape_text(geometry, "collision_shape"))
    assert node.shape == PRIMITIVES[geometry]


def test_multi_sphere_is_a_hull():
    (node,), _ = shapes_of(
        shape_text("<multi_sphere><sphere><radius>1</radius><position>2 0 0</position></sphere>"
                   "<sphere><radius>0.5</radius><position>-2 0 0</position></sphere></multi_sphere>",
                   "collision_shape")
    )  # fmt: skip
    assert isinstance(node.shape, kido.MultiSphereHull)
    assert_allclose(node.shape.aabb, [[-2.5, -1, -1], [3, 1, 1]], atol=1e-12)
    # Truth: the hull of the two spheres is two spherical caps and the cone frustum that touches both.
    sine = (1 - 0.5) / 4
    height = 4 * (1 - sine**2)
    wide, narrow = math.sqrt(1 - sine**2), 0.5 * math.sqrt(1 - sine**2)
    frustum = math.pi * height / 3 * (wide**2 + wide * narrow + narrow**2)
    caps = sum(math.pi * h**2 * (r - h / 3) for r, h in ((1, 1 + sine), (0.5, 0.5 * (1 - sine))))
    exact = frustum + caps
    assert node.shape.volume == pytest.approx(exact, rel=1e-4)


def test_multi_sphere_of_one():
    (node,), _ = shapes_of(
        shape_text("<multi_sphere><sphere><radius>1</radius><position>2 0 0</position></sphere></multi_sphere>")
    )
    assert node.shape == kido.Sphere(1)
    assert_allclose(node.relative_transform, transform(None, (2, 0, 0)), atol=0)


@pytest.mark.parametrize("tag", ["soft_shape", "soft"])
def test_soft_shape_is_a_skin(tag: str):
    (node,), _ = shapes_of(
        f"<{tag}><total_mass>0.5</total_mass>"
        f"<geometry><box><size>1 2 3</size><frags>3 3 3</frags></box></geometry>"
        f"<kv>500</kv><ke>0</ke><damp>5</damp></{tag}>"
    )
    body = node.body
    assert isinstance(body, kido.SoftBodyNode) and body.num_points == 26
    assert (body.kv, body.ke, body.kd, body.total_mass) == (500.0, 0.0, 5.0, 0.5)
    assert_allclose(np.ptp(body.rest_positions, axis=0), [1, 2, 3])
    assert node.collision


OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
MESH = "<mesh><file_name>../meshes/part.obj</file_name><scale>1 2 3</scale></mesh>"


def mesh_world(folder: Path, text: str) -> Path:
    (folder / "meshes").mkdir()
    (folder / "meshes" / "part.obj").write_text(OBJ)
    (folder / "worlds").mkdir()
    path = folder / "worlds" / "w.skel"
    path.write_text(skeleton_text(body_text("a", more=MASS + text), joint_text("free", "world", "a")))
    return path


def test_mesh(tmp_path: Path):
    body = skel.read(mesh_world(tmp_path, shape_text(MESH, "collision_shape"))).skeletons[0].body("a")
    mesh = body.shapes[0].shape
    assert isinstance(mesh, kido.Mesh)
    assert_allclose(mesh.aabb, [[0, 0, 0], [1, 2, 3]], atol=1e-12)
    # The box of its size, 1 x 2 x 3, about its origin, 1 m below the centre of mass.
    assert_allclose(body.inertia.moment, 2 / 12 * np.diag([13 + 12, 10 + 12, 5]), rtol=1e-12)


def test_missing_mesh_lists_the_paths_tried(tmp_path: Path):
    path = mesh_world(tmp_path, shape_text(MESH.replace("part", "gone"), "collision_shape"))
    with pytest.raises(MeshNotFoundError) as caught:
        skel.read(path)
    assert str(tmp_path / "meshes" / "gone.obj") in caught.value.tried
    assert str(caught.value).startswith(f"{path}:1: ")


def test_missing_visual_mesh_can_be_left_out(tmp_path: Path):
    sphere = shape_text("<sphere><radius>1</radius></sphere>", "collision_shape")
    path = mesh_world(tmp_path, shape_text(MESH.replace("part", "gone")) + sphere)
    for options in ({"visuals": False}, {}):
        skeleton = skel.read(path, **options).skeletons[0]
        assert [node.shape for node in skeleton.body("a").shapes] == [kido.Sphere(1)]
    assert any("gone.obj' is left out" in text for text in skeleton.warnings)
    with pytest.raises(MeshNotFoundError):
        skel.read(path, strict=True)


def test_package_dirs(tmp_path: Path):
    mesh_world(tmp_path, "")
    text = skeleton_text(
        body_text("a", more=shape_text(MESH.replace("../meshes/", ""))), joint_text("free", "world", "a")
    )
    with pytest.raises(MeshNotFoundError):
        skel.read(text, strict=True)
    body = skel.read(text, package_dirs=[tmp_path / "meshes"]).skeletons[0].body("a")
    assert len(body.shapes[0].shape.vertices) == 4
