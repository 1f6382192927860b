"""URDF reader: what each element becomes. Truths are the format's definitions, worked out by hand."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import kido
from kido.io import urdf

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'


def robot(body: str, name: str = "r") -> str:
    return f'<?xml version="1.0"?>\n<robot name="{name}">\n{body}\n</robot>'


def one_joint(kind: str, inside: str = "") -> str:
    return robot(
        f'<link name="a"/><link name="b">{INERTIAL}</link>'
        f'<joint name="j" type="{kind}"><parent link="a"/><child link="b"/>{inside}</joint>'
    )


def rpy(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """R = Rz(yaw) Ry(pitch) Rx(roll), multiplied out from the three single rotations."""
    c, s = np.cos, np.sin
    x = np.array([[1, 0, 0], [0, c(roll), -s(roll)], [0, s(roll), c(roll)]])
    y = np.array([[c(pitch), 0, s(pitch)], [0, 1, 0], [-s(pitch), 0, c(pitch)]])
    z = np.array([[c(yaw), -s(yaw), 0], [s(yaw), c(yaw), 0], [0, 0, 1]])
    return z @ y @ x


@pytest.mark.parametrize(
    ("kind", "joint_type", "dofs"),
    [
        ("revolute", kido.RevoluteJoint, 1),
        ("continuous", kido.RevoluteJoint, 1),
        ("prismatic", kido.PrismaticJoint, 1),
        ("fixed", kido.WeldJoint, 0),
        ("floating", kido.FreeJoint, 6),
        ("planar", kido.PlanarJoint, 3),
    ],
)
def test_every_joint_type(kind: str, joint_type: type, dofs: int) -> None:
    skeleton = urdf.read(one_joint(kind, '<limit lower="-1" upper="1" effort="1" velocity="1"/>'))
    assert type(skeleton.joint("j")) is joint_type
    assert skeleton.num_dofs == dofs
    assert skeleton.body("b").parent is skeleton.body("a")


def test_limits_and_dynamics() -> None:
    skeleton = urdf.read(
        one_joint(
            "revolute",
            '<axis xyz="0 0 2"/><limit lower="-0.5" upper="1.5" effort="30" velocity="4"/>'
            '<dynamics damping="0.7" friction="0.2"/><safety_controller k_velocity="1"/>'
            '<calibration rising="0"/>',
        )
    )
    dof = skeleton.dof("j")
    assert (dof.position_lower_limit, dof.position_upper_limit) == (-0.5, 1.5)
    assert (dof.velocity_limit, dof.force_limit) == (4.0, 30.0)
    assert (dof.damping, dof.coulomb_friction) == (0.7, 0.2)
    np.testing.assert_array_equal(skeleton.joint("j").axis, [0, 0, 1])
    assert skeleton.warnings == []


def test_a_continuous_joint_has_no_position_limits() -> None:
    dof = urdf.read(one_joint("continuous", '<limit lower="-1" upper="1" effort="3" velocity="4"/>')).dof("j")
    assert (dof.position_lower_limit, dof.position_upper_limit) == (-np.inf, np.inf)
    assert (dof.velocity_limit, dof.force_limit) == (4.0, 3.0)


def test_the_axis_is_x_by_default_and_the_joint_frame_is_the_childs() -> None:
    skeleton = urdf.read(one_joint("continuous", '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>'))
    skeleton.positions = [0.4]
    expected = np.eye(4)
    expected[:3, :3] = rpy(0.1, 0.2, 0.3) @ rpy(0.4, 0, 0)
    expected[:3, 3] = [1, 2, 3]
    np.testing.assert_allclose(skeleton.body("b").world_transform, expected, atol=1e-15)


@pytest.mark.parametrize("axis", [(0, 0, 1), (1, 0, 0), (0, 1, 0), (1, -2, 0.5)])
def test_a_planar_joint_moves_in_the_plane_normal_to_its_axis(axis: tuple[float, ...]) -> None:
    skeleton = urdf.read(one_joint("planar", f'<axis xyz="{axis[0]} {axis[1]} {axis[2]}"/>'))
    normal = np.array(axis) / np.linalg.norm(axis)
    skeleton.positions = [0.3, -0.7, 0.5]
    placed = skeleton.body("b").world_transform
    assert abs(placed[:3, 3] @ normal) < 1e-15
    assert np.linalg.norm(placed[:3, 3]) == pytest.approx(np.hypot(0.3, 0.7), abs=1e-15)
    np.testing.assert_allclose(placed[:3, :3] @ normal, normal, atol=1e-15)
    assert np.trace(placed[:3, :3]) == pytest.approx(1 + 2 * np.cos(0.5), abs=1e-15)


def test_mimic_is_kept() -> None:
    skeleton = urdf.read(
        robot(
            f'<link name="a"/><link name="b">{INERTIAL}</link><link name="c">{INERTIAL}</link>'
            '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
            '<joint name="k" type="continuous"><parent link="a"/><child link="c"/>'
            '<mimic joint="j" multiplier="-2" offset="0.5"/></joint>'
        )
    )
    assert skeleton.joint("k").mimic == kido.Mimic("j", -2.0, 0.5)
    assert skeleton.joint("j").mimic is None
    assert skeleton.actuator_types == (kido.ActuatorType.FORCE, kido.ActuatorType.MIMIC)


def test_a_mimic_that_cannot_be_is_left_out() -> None:
    skeleton = urdf.read(
        robot(
            f'<link name="a"/><link name="b">{INERTIAL}</link><link name="c">{INERTIAL}</link>'
            '<joint name="j" type="floating"><parent link="a"/><child link="b"/></joint>'
            '<joint name="k" type="continuous"><parent link="b"/><child link="c"/><mimic joint="j"/></joint>'
        )
    )
    assert set(skeleton.actuator_types) == {kido.ActuatorType.FORCE}
    assert "mimics 'j', but one of type 'continuous' cannot follow one of type 'floating'" in skeleton.warnings[0]


def test_the_inertia_is_turned_into_body_axes() -> None:
    skeleton = urdf.read(
        robot(
            '<link name="a"><inertial><origin xyz="0.1 0.2 0.3" rpy="0.4 -0.5 0.6"/><mass value="2.5"/>'
            '<inertia ixx="0.3" ixy="0.01" ixz="0.02" iyy="0.4" iyz="-0.03" izz="0.5"/></inertial></link>'
        )
    )
    inertia = skeleton.body("a").inertia
    turn = rpy(0.4, -0.5, 0.6)
    moment = np.array([[0.3, 0.01, 0.02], [0.01, 0.4, -0.03], [0.02, -0.03, 0.5]])
    assert inertia.mass == 2.5
    np.testing.assert_array_equal(inertia.com, [0.1, 0.2, 0.3])
    np.testing.assert_allclose(inertia.moment, turn @ moment @ turn.T, atol=1e-15)


def test_shapes_of_a_link() -> None:
    skeleton = urdf.read(
        robot(
            '<link name="a">'
            '<visual name="front"><origin xyz="1 0 0" rpy="0 0 1"/>'
            '<geometry><box size="1 2 3"/></geometry></visual>'
            '<visual><geometry><sphere radius="0.5"/></geometry></visual>'
            '<collision><geometry><cylinder radius="0.1" length="0.4"/></geometry></collision>'
            '<collision><geometry><capsule radius="0.2" length="0.6"/></geometry></collision>'
            '<contact><lateral_friction value="0.3"/><restitution value="0.4"/></contact></link>'
        )
    )
    box, sphere, cylinder, capsule = skeleton.body("a").shapes
    assert (box.name, sphere.name) == ("front", "visual_1")
    assert box.shape == kido.Box((1, 2, 3))
    assert sphere.shape == kido.Sphere(0.5)
    assert cylinder.shape == kido.Cylinder(0.1, 0.4)
    assert capsule.shape == kido.Capsule(0.2, 0.6)
    assert [(s.visual, s.collision) for s in (box, sphere, cylinder, capsule)] == [(True, False)] * 2 + [
        (False, True)
    ] * 2
    np.testing.assert_allclose(box.relative_transform[:3, :3], rpy(0, 0, 1), atol=1e-15)
    assert (cylinder.friction, cylinder.restitution) == (0.3, 0.4)


def test_switching_shapes_off() -> None:
    text = robot(
        '<link name="a"><visual><geometry><mesh filename="no.stl"/></geometry></visual>'
        '<collision><geometry><sphere radius="1"/></geometry></collision></link>'
    )
    assert [node.name for node in urdf.read(text, visuals=False).body("a").shapes] == ["collision_0"]
    assert list(urdf.read(text, visuals=False, collisions=False).body("a").shapes) == []
    skipped = urdf.read(text, missing_meshes="skip")
    assert [node.name for node in skipped.body("a").shapes] == ["collision_0"]
    assert "mesh 'no.stl' is left out" in skipped.warnings[0]


def test_colours() -> None:
    def visual(material: str) -> str:
        return f'<visual><geometry><sphere radius="1"/></geometry>{material}</visual>'

    skeleton = urdf.read(
        robot(
            '<link name="a">'
            + visual('<material name="late"/>')
            + visual('<material name="own"><color rgba="0 1 0 0.5"/></material>')
            + visual('<material name=""><color rgba="0 0 1"/></material>')
            + visual('<material name="own"/>')
            + visual('<material name="unknown"/>')
            + visual("")
            + '</link><material name="late"><color rgba="1 0 0 1"/></material>'
        )
    )
    colors = [node.color for node in skeleton.body("a").shapes]
    assert colors == [(1, 0, 0, 1), (0, 1, 0, 0.5), (0, 0, 1, 1), (0, 1, 0, 0.5), None, None]
    assert len(skeleton.warnings) == 1
    assert "material 'unknown' is not defined" in skeleton.warnings[0]


def test_the_base() -> None:
    text = robot(f'<link name="a">{INERTIAL}</link>')
    pose = np.eye(4)
    pose[:3, :3] = rpy(0.3, 0.2, 0.1)
    pose[:3, 3] = [1, 2, 3]
    fixed = urdf.read(text, transform=pose)
    free = urdf.read(text, base="free", transform=pose)
    assert (fixed.num_dofs, free.num_dofs) == (0, 6)
    assert fixed.joint("root_joint").num_dofs == 0
    np.testing.assert_allclose(fixed.body("a").world_transform, pose, atol=1e-15)
    np.testing.assert_allclose(free.body("a").world_transform, pose, atol=1e-15)
    np.testing.assert_allclose(free.positions[3:], [1, 2, 3])


def test_the_root_joints_name_gives_way() -> None:
    text = robot(
        f'<link name="a"/><link name="b">{INERTIAL}</link>'
        '<joint name="root_joint" type="continuous"><parent link="a"/><child link="b"/></joint>'
    )
    skeleton = urdf.read(text)
    assert [joint.name for joint in skeleton.joints] == ["root_joint_", "root_joint"]


def test_order_is_depth_first_in_document_order() -> None:
    text = robot(
        "".join(f'<link name="{name}">{INERTIAL}</link>' for name in "dcba")
        + '<joint name="ab" type="fixed"><parent link="a"/><child link="b"/></joint>'
        + '<joint name="ad" type="fixed"><parent link="a"/><child link="d"/></joint>'
        + '<joint name="bc" type="fixed"><parent link="b"/><child link="c"/></joint>'
    )
    assert [body.name for body in urdf.read(text).bodies] == ["a", "b", "c", "d"]


def test_what_is_not_the_mechanism_is_ignored() -> None:
    text = robot(
        f'<link name="a">{INERTIAL}<self_collision_checking/></link>'
        '<transmission name="t"><joint name="nowhere"/></transmission>'
        '<gazebo reference="a"><mu1>1</mu1></gazebo>'
        '<ros2_control name="c"><joint name="x"/></ros2_control><sensor name="s"/>'
    )
    skeleton = urdf.read(text)
    assert (skeleton.num_dofs, skeleton.warnings) == (0, [])


@pytest.mark.parametrize(
    ("limit", "remark"),
    [
        ("", "has no <limit>; it is unlimited"),
        ('<limit effort="1" velocity="1"/>', "has no lower and upper limit, taken as unlimited"),
        ('<limit lower="0" upper="0" effort="1" velocity="1"/>', "has lower = upper = 0, taken as unlimited"),
        (
            '<limit lower="-1" upper="1" effort="0" velocity="1"/>',
            "has the effort limit 0, taken as not given",
        ),
    ],
)
def test_odd_limits_are_remarked(limit: str, remark: str) -> None:
    skeleton = urdf.read(one_joint("revolute", limit))
    assert len(skeleton.warnings) == 1
    assert skeleton.warnings[0].endswith(remark)


def test_moments_that_no_body_has_are_remarked() -> None:
    def read(moments: str) -> kido.Skeleton:
        inertia = f'<inertia {moments} ixy="0" ixz="0" iyz="0"/>'
        return urdf.read(robot(f'<link name="a"><inertial><mass value="1"/>{inertia}</inertial></link>'))

    kept = read('ixx="1" iyy="1" izz="3"')
    assert "kept as they are" in kept.warnings[0]
    np.testing.assert_array_equal(np.diag(kept.body("a").inertia.moment), [1, 1, 3])
    raised = read('ixx="-1" iyy="1" izz="3"')
    assert "are set to zero" in raised.warnings[0]
    np.testing.assert_allclose(raised.body("a").inertia.moment, np.diag([0, 1, 3]), atol=1e-15)


def test_bodies_between_moving_joints_may_be_massless() -> None:
    skeleton = urdf.read(
        robot(
            f'<link name="a"/><link name="b"/><link name="c">{INERTIAL}</link>'
            '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
            '<joint name="k" type="continuous"><parent link="b"/><child link="c"/><axis xyz="0 1 0"/></joint>'
        ),
        massless="error",
    )
    assert skeleton.body("b").inertia.mass == 0.0


def test_names_uri_and_pickle(tmp_path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(f'<robot><link name="a">{INERTIAL}</link></robot>')
    skeleton = kido.load(path)
    assert (skeleton.name, skeleton.uri) == ("arm", str(path))
    assert "<robot> has no name" in skeleton.warnings[0]
    assert pickle.loads(pickle.dumps(skeleton)).body("a").inertia == skeleton.body("a").inertia
