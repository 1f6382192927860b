"""MJCF: what becomes of each feature of a model, against MuJoCo itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kido
from kido.io import mjcf
from kido.layouts import MujocoLayout

mujoco: Any = pytest.importorskip("mujoco", reason="the extra mjcf is not installed")
TOLERANCE = 1e-12  # relative: rounding of both
GEOM = '<geom type="capsule" size="0.05 0.2" pos="0.1 0.02 -0.2" euler="10 20 30" mass="1.3"/>'


def model(bodies: str, rest: str = "") -> str:
    return f'<mujoco model="m"><worldbody>{bodies}</worldbody>{rest}</mujoco>'


def hinges(*joints: str, inside: str = "") -> str:
    return f'<body name="b" pos="0.1 0.2 0.3" euler="5 10 15">{"".join(joints)}{GEOM}{inside}</body>'


HINGE = '<joint name="{}" type="hinge" axis="1 2 3" pos="0.1 0 0.2" {}/>'
SLIDE = '<joint name="{}" type="slide" axis="3 -1 2" pos="0 0.1 0.2" {}/>'
BALL = '<joint name="{}" type="ball" pos="0.1 -0.1 0.2" {}/>'
CHILD = f'<body name="c" pos="0 0.1 -0.5"><joint name="k" axis="0 1 0" pos="0 0 0.1" armature="0.03"/>{GEOM}</body>'

TREES = {
    "hinge": hinges(HINGE.format("h", ""), inside=CHILD),
    "hinge with reference": hinges(HINGE.format("h", 'ref="30"'), inside=CHILD),
    "slide with reference": hinges(SLIDE.format("s", 'ref="0.3" armature="0.5"'), inside=CHILD),
    "ball": hinges(BALL.format("q", 'armature="0.1"'), inside=CHILD),
    "free": f'<body name="b" pos="0.1 0.2 0.3" euler="5 10 15"><freejoint name="f"/>{GEOM}{CHILD}</body>',
    "several": hinges(
        SLIDE.format("s", ""), HINGE.format("h", 'ref="-20" armature="0.2"'), HINGE.format("g", ""), inside=CHILD
    ),
    "slide, ball, hinge": hinges(SLIDE.format("s", 'ref="0.1"'), BALL.format("q", ""), inside=CHILD),
    "inertial": '<body name="b"><joint name="h"/><inertial pos="0.1 0.2 0.3" mass="2" '
    'fullinertia="0.5 0.6 0.7 0.01 0.02 0.03"/></body>',
    "welded": hinges(HINGE.format("h", ""), inside=f'<body name="w" pos="1 0 0" euler="0 90 0">{GEOM}</body>'),
    "two trees": hinges(HINGE.format("h", "")) + f'<body name="d" pos="2 0 0"><freejoint name="f"/>{GEOM}</body>',
}


@pytest.mark.parametrize("bodies", TREES.values(), ids=TREES.keys())
def test_dynamics_are_those_of_mujoco(bodies: str) -> None:
    """M, bias forces, poses and the centre of mass at a random state."""
    text = model(bodies)
    theirs, world = mjcf.compile_model(text), mjcf.read(text)
    rng, data = np.random.default_rng(5), mujoco.MjData(theirs)
    mujoco.mj_integratePos(theirs, data.qpos, rng.uniform(-1.0, 1.0, theirs.nv), 1.0)
    data.qvel = rng.uniform(-1.0, 1.0, theirs.nv)
    mujoco.mj_forward(theirs, data)
    M = np.zeros((theirs.nv, theirs.nv))
    mujoco.mj_fullM(theirs, data, M)
    seen = 0
    for skeleton in world.skeletons[1:]:
        layout = MujocoLayout(skeleton, theirs)
        q = layout.our_positions(data.qpos)
        u = layout.our_velocities(q, data.qvel)
        skeleton.positions, skeleton.velocities = q, u
        T = layout.velocity_map(q)
        np.testing.assert_allclose(skeleton.mass_matrix, T.T @ M @ T, atol=TOLERANCE * np.abs(M).max(), rtol=0)
        tau = skeleton.inverse_dynamics(q, u, layout.our_accelerations(q, u, np.zeros(theirs.nv)))
        bias = layout.our_forces(q, data.qfrc_bias)
        np.testing.assert_allclose(tau, bias, atol=TOLERANCE * max(np.abs(bias).max(), np.abs(M).max()), rtol=0)
        root = data.body(skeleton.name)
        np.testing.assert_allclose(skeleton.com, root.subtree_com, atol=TOLERANCE, rtol=0)
        for body in skeleton.bodies:
            if "_of_" not in body.name:
                np.testing.assert_allclose(body.world_transform[:3, 3], data.body(body.name).xpos, atol=TOLERANCE)
                R = data.body(body.name).xmat.reshape(3, 3)
                np.testing.assert_allclose(body.world_transform[:3, :3], R, atol=TOLERANCE)
        seen += skeleton.num_dofs
    assert seen == theirs.nv
    assert sum(s.mass for s in world.skeletons) == pytest.approx(theirs.body_mass.sum(), rel=TOLERANCE)


def test_joints_keep_what_drives_and_holds_them() -> None:
    joint = HINGE.format(
        "h", 'range="-40 50" damping="0.3" stiffness="2" springref="20" frictionloss="0.4" actuatorfrcrange="-7 8"'
    )
    dof = mjcf.read(model(hinges(SLIDE.format("s", 'damping="1"'), joint))).skeleton("b").dof("h")
    degrees = np.pi / 180.0
    assert (dof.position_lower_limit, dof.position_upper_limit) == pytest.approx((-40 * degrees, 50 * degrees))
    assert (dof.damping, dof.spring_stiffness, dof.coulomb_friction) == (0.3, 2.0, 0.4)
    assert dof.rest_position == pytest.approx(20 * degrees)
    assert (dof.force_lower_limit, dof.force_upper_limit) == (-7.0, 8.0)


def test_passive_forces_of_joints_are_those_of_mujoco() -> None:
    text = model(hinges(HINGE.format("h", 'stiffness="3" springref="10" damping="0.7"'), SLIDE.format("s", "")))
    theirs, skeleton = mjcf.compile_model(text), mjcf.read(text).skeleton("b")
    data = mujoco.MjData(theirs)
    data.qpos, data.qvel = [0.4, 0.1], [0.5, -0.2]
    mujoco.mj_forward(theirs, data)
    skeleton.positions, skeleton.velocities = data.qpos, data.qvel
    ours = skeleton.forward_dynamics(data.qpos, data.qvel, data.qfrc_passive)
    np.testing.assert_allclose(ours, data.qacc_smooth, rtol=1e-11)
    passive = skeleton.spring_forces + skeleton.damping_forces
    np.testing.assert_allclose(passive, data.qfrc_passive, rtol=TOLERANCE)


def test_world_has_gravity_time_step_and_name() -> None:
    world = mjcf.read('<mujoco model="m"><option gravity="1 2 3" timestep="0.004"/><worldbody/></mujoco>')
    assert world.name == "m" and world.time_step == 0.004 and world.gravity.tolist() == [1, 2, 3]
    weightless = mjcf.read('<mujoco><option><flag gravity="disable"/></option></mujoco>')
    assert weightless.gravity.tolist() == [0, 0, 0]


def test_bodies_weightless_kinematic_and_without_names() -> None:
    world = mjcf.read(
        model(
            f'<body gravcomp="1"><joint/>{GEOM}</body><body name="hand" mocap="true" pos="1 2 3">{GEOM}</body>'
            '<body name="hand_2"><joint type="slide"/><geom size="1"/></body>'
        )
    )
    assert [s.name for s in world.skeletons] == ["world", "body_1", "hand", "hand_2"]
    assert not world.skeleton("body_1").bodies[0].gravity
    assert world.skeleton("hand").kinematic
    assert world.skeleton("hand").bodies[0].world_transform[:3, 3].tolist() == [1, 2, 3]


SHAPES = {
    "sphere": ('type="sphere" size="0.3"', kido.Sphere(0.3)),
    "capsule": ('type="capsule" size="0.1 0.2"', kido.Capsule(0.1, 0.4)),
    "cylinder": ('type="cylinder" size="0.1 0.2"', kido.Cylinder(0.1, 0.4)),
    "box": ('type="box" size="0.1 0.2 0.3"', kido.Box((0.2, 0.4, 0.6))),
    "ellipsoid": ('type="ellipsoid" size="0.1 0.2 0.3"', kido.Ellipsoid((0.1, 0.2, 0.3))),
}


@pytest.mark.parametrize(("geom", "shape"), SHAPES.values(), ids=SHAPES.keys())
def test_shapes_have_their_sizes_and_volumes(geom: str, shape: kido.Shape) -> None:
    """MuJoCo's mass of a geom is its density times the volume."""
    text = model(f'<body name="b"><joint/><geom name="g" {geom} density="500" pos="1 2 3"/></body>')
    node = mjcf.read(text).skeleton("b").bodies[0].shapes[0]
    assert node.shape == shape and node.name == "g"
    assert node.relative_transform[:3, 3].tolist() == [1, 2, 3]
    assert 500 * node.shape.volume == pytest.approx(mjcf.compile_model(text).body_mass[1], rel=1e-12)


def test_meshes_and_height_fields() -> None:
    assets = (
        '<asset><mesh name="tetrahedron" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/>'
        '<hfield name="hills" nrow="3" ncol="2" size="1 2 0.5 0.1" elevation="0 1  0.5 0  0 0.25"/></asset>'
    )
    bodies = (
        '<geom name="ground" type="hfield" hfield="hills" pos="0 0 -1"/>'
        '<body name="b"><joint/><geom type="mesh" mesh="tetrahedron"/></body>'
    )
    world = mjcf.read(model(bodies, assets))
    ground = world.skeleton("world").bodies[0].shapes[0].shape
    assert isinstance(ground, kido.Heightmap)
    np.testing.assert_allclose(ground.spacing, (2.0, 2.0))
    theirs = mjcf.compile_model(model(bodies, assets))
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    for row, y in enumerate((-1.99, 0.0, 1.99)):
        for column, x in enumerate((-0.99, 0.99)):
            ray = mujoco.mj_ray(theirs, data, [x, y, 5.0], [0, 0, -1.0], None, 1, 1, np.zeros(1, np.int32))
            assert ground.heights[row, column] == pytest.approx(6.0 - ray, abs=0.02)
    node = world.skeleton("b").bodies[0].shapes[0]
    assert isinstance(node.shape, kido.Mesh)
    corners = node.shape.vertices @ node.relative_transform[:3, :3].T + node.relative_transform[:3, 3]
    expected = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]], float)
    np.testing.assert_allclose(corners[np.lexsort(np.round(corners, 3).T[::-1])], expected, atol=1e-6)


def test_groups_and_colors_say_what_is_seen() -> None:
    assets = (
        '<asset><material name="red" rgba="1 0 0 0.5"/><texture name="t" type="2d" builtin="flat" rgb1="0 1 0" '
        'width="4" height="4"/><material name="green" texture="t"/></asset>'
    )
    geoms = (
        '<geom name="a" size="1" material="red"/><geom name="b" size="1" group="3"/>'
        '<geom name="c" size="1" contype="0" conaffinity="0" material="green"/>'
        '<geom name="d" size="1" rgba="0 0 1 0"/>'
    )
    world = mjcf.read(model(geoms, assets))
    shapes = {node.name: node for node in world.skeletons[0].bodies[0].shapes}
    assert {name: (node.visual, node.collision) for name, node in shapes.items()} == {
        "a": (True, True), "b": (False, True), "c": (True, False), "d": (False, True),
    }  # fmt: skip
    assert shapes["a"].color == (1, 0, 0, 0.5) and shapes["c"].color == pytest.approx((0, 1, 0, 1), abs=0.01)
    assert not mjcf.read(model(geoms, assets), visuals=False, collisions=False).skeletons[0].bodies[0].shapes


def test_dimensions_of_contact_say_what_friction_there_is() -> None:
    geoms = "".join(f'<geom name="g{k}" size="1" condim="{k}" friction="0.7 0.1 0.01"/>' for k in (1, 3, 4, 6))
    shapes = mjcf.read(model(geoms)).skeletons[0].bodies[0].shapes
    found = [(s.friction, s.torsional_friction, s.rolling_friction) for s in (node.surface for node in shapes)]
    assert found == [(0, 0, 0), (0.7, 0, 0), (0.7, 0.1, 0), (0.7, 0.1, 0.01)]


def touching(text: str) -> set[frozenset[str]]:
    """Pairs of shapes with contacts in one step."""
    world = mjcf.read(text)
    world.step()
    return {frozenset((c.shape_a.name, c.shape_b.name)) for c in world.contacts}


def theirs_touching(text: str) -> set[frozenset[str]]:
    theirs = mjcf.compile_model(text)
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    return {frozenset((theirs.geom(c.geom1).name, theirs.geom(c.geom2).name)) for c in data.contact}


def ball(name: str, geom: str = "", joint: str = "<freejoint/>", inside: str = "", pos: str = "0 0 0") -> str:
    return f'<body name="B{name}" pos="{pos}">{joint}<geom name="{name}" size="0.1" {geom}/>{inside}</body>'


CHILDREN = ball("b", joint="<joint/>", inside=ball("c", joint="<joint/>", pos="0.05 0 0"))
FILTERS = {
    "all": ball("a") + ball("b", pos="0.05 0 0") + ball("c", pos="0 0.05 0"),
    "types": ball("a", 'contype="2" conaffinity="0"')
    + ball("b", 'contype="0" conaffinity="2"', pos="0.05 0 0")
    + ball("c", 'contype="4" conaffinity="1"', pos="0 0.05 0")
    + ball("d", pos="0 0 0.05"),
    "parent and child": ball("a", inside=CHILDREN),
    "child of what is fixed": ball("a", joint="", inside=ball("b", joint="<joint/>", pos="0.05 0 0")),
    "welded": ball("a", inside=ball("b", joint="", inside=ball("c", joint="<joint/>", pos="0 0.05 0"))),
}  # fmt: skip


@pytest.mark.parametrize("bodies", FILTERS.values(), ids=FILTERS.keys())
def test_what_collides_is_what_collides_in_mujoco(bodies: str) -> None:
    text = model(bodies)
    assert touching(text) == theirs_touching(text)


def test_pairs_collide_and_excluded_bodies_do_not() -> None:
    off = 'contype="0" conaffinity="0"'
    bodies = ball("a", off) + ball("b", off, pos="0.05 0 0") + ball("c", pos="0 0.05 0") + ball("d", pos="0 0 0.05")
    rest = '<contact><pair geom1="a" geom2="b" condim="3" friction="0.3 0.3 0.1 0 0"/><exclude body1="Bc" body2="Bd"/>'
    text = model(bodies, rest + "</contact>")
    assert touching(text) == theirs_touching(text) == {frozenset("ab")}
    world = mjcf.read(text)
    a, b = (world.skeleton(f"B{name}").bodies[0].shapes[0] for name in "ab")
    assert world.contact_surface_handler.pair(a, b).friction == 0.3


@pytest.mark.parametrize("excluded", [True, False])
def test_of_bodies_that_touch_in_pairs_no_other_geoms_touch(excluded: bool) -> None:
    """Whether a file excludes them or a joint connects them."""
    second = '<geom name="{}" size="0.1" pos="1 0 0"/>'
    joint = "<freejoint/>" if excluded else "<joint/>"
    inner = ball("b", joint=joint, inside=second.format("d"), pos="0.05 0 0")
    bodies = ball("a", inside=second.format("c") + ("" if excluded else inner)) + (inner if excluded else "")
    rest = '<exclude body1="Ba" body2="Bb"/>' if excluded else ""
    text = model(bodies, f'<contact><pair geom1="a" geom2="b"/>{rest}</contact>')
    assert touching(text) == theirs_touching(text) == {frozenset("ab")}


def test_friction_of_a_pair_is_the_greater_unless_one_has_priority() -> None:
    bodies = ball("a", 'friction="0.2"') + ball("b", 'friction="0.9"') + ball("c", 'friction="0.1" priority="1"')
    world = mjcf.read(model(bodies))
    a, b, c = (world.skeleton(f"B{name}").bodies[0].shapes[0] for name in "abc")
    handler = world.contact_surface_handler
    assert handler.pair(a, b).friction == 0.9 and handler.pair(b, c).friction == 0.1


def test_soft_contacts_on_request() -> None:
    """A stiffness k and a damping d by mass are 1/(T zeta)^2 and 2/T."""
    bodies = ball("a", 'solref="0.1 0.5"') + ball("b", 'solref="-100 -4"')
    world = mjcf.read(model(bodies), contacts="springs")
    a, b = (world.skeleton(f"B{name}").bodies[0].shapes[0] for name in "ab")
    assert a.surface.softness == kido.TimeConstant(0.1, 0.5)
    assert b.surface.softness == kido.TimeConstant(0.5, 0.2)
    assert world.contact_surface_handler.pair(a, b).softness == b.surface.softness  # of both forms the negative one
    rigid = mjcf.read(model(bodies))
    assert rigid.skeleton("Ba").bodies[0].shapes[0].surface.softness is None
    assert any("solref is left out: contacts are rigid: 2 (geom a, geom b)" in w for w in rigid.skeletons[0].warnings)


def test_sites_and_cameras_are_nodes() -> None:
    body = (
        '<body name="b"><joint/><geom size="1"/><site name="tip" pos="1 2 3" euler="0 0 90"/>'
        '<camera name="eye" pos="0 0 1" fovy="60"/></body>'
    )
    skeleton = mjcf.read(model(body)).skeleton("b")
    tip, eye = skeleton.node("tip", kido.EndEffector), skeleton.node("eye", kido.rendering.CameraNode)
    assert tip.relative_transform[:3, 3].tolist() == [1, 2, 3]
    assert eye.lens.fov == pytest.approx(np.pi / 3)
    data = mujoco.MjData(mjcf.compile_model(model(body)))
    mujoco.mj_forward(mjcf.compile_model(model(body)), data)
    np.testing.assert_allclose(eye.opengl_transform[:3, :3], data.camera("eye").xmat.reshape(3, 3), atol=1e-15)


# -- bad input ---------------------------------------------------------------------------------------------


def test_the_compilers_words_have_path_and_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.xml"
    path.write_text('<mujoco>\n<worldbody>\n<geom sze="1"/>\n</worldbody></mujoco>')
    with pytest.raises(kido.FileFormatError, match=r"bad.xml:3: MuJoCo's compiler: .*unrecognized attribute: 'sze'"):
        kido.load(path)
    with pytest.raises(kido.FileFormatError, match=r"<text>:1: MuJoCo's compiler: .*size 0 must be positive"):
        kido.load('<mujoco><worldbody><geom size="-1"/></worldbody></mujoco>')
    path.write_text('<mujoco><asset><mesh file="none.obj"/></asset></mujoco>')
    with pytest.raises(kido.FileFormatError, match=r"bad.xml.*none.obj"):
        kido.load(path)


def test_lines_of_xml_that_is_none_and_numbers_that_pass_the_compiler() -> None:
    with pytest.raises(kido.FileFormatError, match=r"^<text>:2: MuJoCo's compiler: XML parse error") as caught:
        mjcf.read("<mujoco>\n<worldbody>\n</mujoco>")
    assert caught.value.line == 2
    with pytest.raises(kido.FileFormatError, match=r"^<text>: joint .*expected finite numbers, got"):
        mjcf.read(model('<body pos="nan 0 0"><joint/><geom size="1"/></body>'))


def test_xml_of_other_kinds_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_text('<robot name="r"><link name="a"/></robot>')
    assert isinstance(kido.load(path), kido.Skeleton)
    path.write_text(model(hinges(HINGE.format("h", ""))))
    assert isinstance(kido.load(path), kido.World)
    path.write_text("<mujocoinclude/>")
    with pytest.raises(kido.KidoError, match="<mujocoinclude> is of no known format"):
        kido.load(path)


def test_without_the_extra_its_name_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(kido.MissingExtraError, match=r"pip install 'kido\[mjcf\]'"):
        kido.load(model(""))


def test_flexes_are_refused_by_name_or_left_out() -> None:
    flex = (
        '<flexcomp name="cloth" type="grid" count="3 3 1" spacing="0.1 0.1 0.1" dim="2" mass="1" radius="0.01">'
        "</flexcomp>"
    )
    with pytest.raises(kido.FileFormatError, match="1 flexes: cloth; there are no such bodies"):
        mjcf.read(model(flex))
    assert any("flexes are left out" in w for w in mjcf.read(model(flex), flexes="skip").skeletons[0].warnings)


def test_nothing_of_an_ordinary_model_is_left_out() -> None:
    rest = (
        '<actuator><motor name="m1" joint="h"/><motor name="m2" joint="h"/></actuator>'
        '<tendon><fixed name="t"><joint joint="h" coef="1"/></fixed></tendon>'
        '<equality><joint name="e" joint1="h"/></equality><sensor><jointpos name="s" joint="h"/></sensor>'
        '<keyframe><key name="home" qpos="0.5"/></keyframe>'
    )
    text = model(hinges(HINGE.format("h", "")), rest)
    warnings = mjcf.read(text).skeletons[0].warnings
    assert len(warnings) == 1 and "pyramids of friction are the round cones" in warnings[0]
    free = model(f'<body><joint name="f" type="free" armature="0.1"/>{GEOM}</body>')
    assert any("armature of free joints" in w for w in mjcf.read(free).skeletons[0].warnings)


def test_what_is_left_out_is_counted_and_refused_if_strict() -> None:
    text = model('<light/><light/><body name="b"><joint/><geom size="1" margin="-0.1"/></body>')
    warnings = mjcf.read(text).skeletons[0].warnings
    assert "<text>: lights are left out: scenes have their own: 2 (light light_0, light light_1)" in warnings
    assert any("margins below zero are left out" in w and "1 (geom geom_0)" in w for w in warnings)
    with pytest.raises(kido.FileFormatError, match="margins below zero are left out"):
        mjcf.read(text, strict=True)
    with pytest.raises(kido.KidoError, match="contacts is 'soft'; expected one of 'rigid', 'springs'"):
        mjcf.read(text, contacts="soft")


def test_cones_and_mixed_dimensions_of_contact_are_said() -> None:
    """MuJoCo gives a contact the greater dimension and the greater coefficients of both geoms."""
    geoms = '<geom name="a" size="1" friction="1 0.5 0.1"/><geom name="b" size="1" condim="4" friction="1 0.1 0.1"/>'
    warnings = mjcf.read(model(geoms)).skeletons[0].warnings
    assert any("pyramids of friction are the round cones that they stand for: 1 (option)" in w for w in warnings)
    assert any(
        "torsional friction of geoms with a smaller condim is not of contacts with others: 1 (a)" in w for w in warnings
    )
    mjcf.read(model('<geom size="1"/>'), strict=True)
    plain = '<mujoco><option cone="elliptic"/><worldbody><geom size="1"/></worldbody></mujoco>'
    assert not mjcf.read(plain).skeletons[0].warnings
    assert not mjcf.read(model('<geom size="1" condim="1"/>')).skeletons[0].warnings
