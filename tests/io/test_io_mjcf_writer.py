"""MJCF files that are written: MuJoCo compiles them, and what is read back has the same dynamics and forces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kido
from kido.actuation import Actuators
from kido.io import mjcf

mujoco: Any = pytest.importorskip("mujoco", reason="the extra mjcf is not installed")
TOLERANCE = 1e-12  # relative: rounding, of inertias turned to their principal axes among it


def again(world: kido.World | kido.Skeleton, tmp_path: Path, **options: Any) -> mjcf.MjcfWorld:
    path = tmp_path / "written.xml"
    kido.save(world, path, **options)
    mujoco.MjModel.from_xml_path(str(path))
    read = kido.load_world(path)
    assert isinstance(read, mjcf.MjcfWorld)
    return read


def _name(dof: kido.DegreeOfFreedom) -> str:
    joint = dof.joint
    whole = joint.num_dofs == 1 or isinstance(joint, kido.BallJoint | kido.FreeJoint)
    return joint.name if whole and not isinstance(joint, kido.CompoundJoint) else dof.name


def twin_of(s: kido.Skeleton, world: kido.World) -> tuple[kido.Skeleton, np.ndarray]:
    """The skeleton with its coordinates in a world that was read back, and where each is there."""
    names = [_name(dof) for dof in s.dofs]
    for t in world.skeletons:
        theirs = [_name(dof) for dof in t.dofs]
        plain = {n: [k for k, name in enumerate(theirs) if name == n] for n in names}
        if sorted(names) == sorted(theirs):
            return t, np.array([plain[name].pop(0) for name in names], int)
    raise AssertionError(f"no skeleton has {names}")


def assert_same_dynamics(world: kido.World, other: kido.World) -> None:
    rng = np.random.default_rng(7)
    moved = [s for s in world.skeletons if s.num_dofs and s.mobile and not s.kinematic]
    assert moved
    for s in moved:
        t, k = twin_of(s, other)
        q, u = s.positions + rng.uniform(-0.4, 0.4, s.num_dofs), rng.uniform(-1, 1, s.num_dofs)
        theirs = np.zeros((2, s.num_dofs))
        theirs[:, k] = q, u
        s.positions, s.velocities = q, u
        t.positions, t.velocities = theirs
        M, zero = np.array(s.mass_matrix), np.zeros(s.num_dofs)
        np.testing.assert_allclose(np.array(t.mass_matrix)[np.ix_(k, k)], M, rtol=0, atol=TOLERANCE * np.abs(M).max())
        bias = s.inverse_dynamics(q, u, zero)
        size = max(np.abs(bias).max(), np.abs(M).max())
        back = t.inverse_dynamics(theirs[0], theirs[1], zero)[k]
        np.testing.assert_allclose(back, bias, rtol=0, atol=TOLERANCE * size)


@pytest.mark.parametrize("name", ["arm7", "humanoid", "quadruped", "hand", "two_arms"])
def test_our_robots_have_the_same_dynamics(name: str, tmp_path: Path) -> None:
    world = kido.World(gravity=(0.1, 0.2, -9.0), time_step=0.003)
    world.add_skeleton(kido.load_skeleton(name))
    other = again(world, tmp_path)
    assert other.gravity.tolist() == [0.1, 0.2, -9.0] and other.time_step == 0.003
    assert_same_dynamics(world, other)


def joints() -> kido.World:
    """Every joint that MJCF has, with frames on both sides, and chains of hinges."""
    rng = np.random.default_rng(3)

    def frame() -> np.ndarray:
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.normal(size=3)
        X[:3, 0] *= np.linalg.det(X[:3, :3])
        return X

    def inertia() -> kido.Inertia:
        return kido.Inertia.from_diagonal(rng.uniform(1, 2), (0.2, 0.3, 0.4)).transformed(frame())

    s = kido.Skeleton("s")
    shift = np.eye(4)
    shift[:3, 3] = (0.1, 0.2, 0.3)
    last = s.add_body("free", kido.FreeJoint("f"), inertia=inertia())
    for k, joint in enumerate(
        (
            kido.RevoluteJoint("r", (1, 2, 3)),
            kido.PrismaticJoint("p", (3, 1, 2)),
            kido.WeldJoint("w"),
            kido.UniversalJoint("u"),
            kido.CompoundJoint("c", [kido.Hinge.revolute((1, 1, 0), offset=shift), kido.Hinge.prismatic((0, 1, 1))]),
            kido.EulerJoint("e"),
            kido.PlanarJoint("l"),
            kido.TranslationalJoint("t"),
        )
    ):
        joint.transform_from_parent, joint.transform_from_child = frame(), frame()
        last = s.add_body(f"b{k}", joint, last, inertia())
    s.add_body("ball", kido.BallJoint("q", transform_from_parent=frame(), transform_from_child=shift), last, inertia())
    s.joint("r").damping = s.joint("p").spring_stiffness = 0.7
    s.joint("r").armature, s.joint("r").coulomb_friction = 0.3, 0.2
    s.dof("r").position_lower_limit, s.dof("r").position_upper_limit = -1.0, 2.0
    world = kido.World()
    world.add_skeleton(s)
    return world


def test_every_joint_has_the_same_dynamics(tmp_path: Path) -> None:
    world = joints()
    other = again(world, tmp_path)
    assert_same_dynamics(world, other)
    dof = other.skeleton("free").dof("r")
    assert (dof.damping, dof.armature, dof.coulomb_friction) == (0.7, 0.3, 0.2)
    assert (dof.position_lower_limit, dof.position_upper_limit) == (-1.0, 2.0)
    assert other.skeleton("free").dof("p").spring_stiffness == 0.7


def test_a_world_that_begins_elsewhere_has_a_keyframe(tmp_path: Path) -> None:
    world = joints()
    s = world.skeletons[0]
    start = np.random.default_rng(1).uniform(-0.5, 0.5, s.num_dofs)
    for dof, value in zip(s.dofs, start, strict=True):
        dof.initial_position = value
    other = again(world, tmp_path)
    other.set_keyframe("initial")
    t, k = twin_of(s, other)
    np.testing.assert_allclose(t.positions[k], start, atol=1e-14)


SHAPES = (
    kido.Sphere(0.1),
    kido.Box((0.1, 0.2, 0.3)),
    kido.Capsule(0.1, 0.3),
    kido.Cylinder(0.1, 0.3),
    kido.Ellipsoid((0.1, 0.2, 0.3)),
)


def test_shapes_have_their_poses_sizes_and_surfaces(tmp_path: Path) -> None:
    world = kido.World()
    s = kido.Skeleton("s")
    body = s.add_body("b", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(1, (1, 1, 1)))
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]], (0.1, 0.2, 0.3)
    for k, shape in enumerate(SHAPES):
        body.add_shape(shape, X, name=f"g{k}", visual=True, collision=k != 1, color=(0.1, 0.2, 0.3, 0.5))
    body.shapes[0].set_surface(friction=0.4, torsional_friction=0.02, friction_rule="max")
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    body.add_shape(kido.Mesh(corners, np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])), X, name="mesh")
    heights = np.array([[0.0, 0.5], [1.0, 0.25], [0.1, 0.2]])
    ground = kido.Skeleton("ground")
    ground.mobile = False
    ground.add_body("g", kido.WeldJoint()).add_shape(kido.Heightmap(heights, (1.0, 2.0)), name="hills")
    world.add_skeleton(ground)
    world.add_skeleton(s)
    other = again(world, tmp_path)
    nodes = {node.name: node for skeleton in other.skeletons for body in skeleton.bodies for node in body.shapes}
    for k, shape in enumerate(SHAPES):
        node = nodes[f"g{k}"]
        assert node.shape == shape and node.collision == (k != 1)
        np.testing.assert_allclose(node.relative_transform, X, atol=1e-15)
        assert node.color == pytest.approx((0.1, 0.2, 0.3, 0.5), abs=1e-7)
    assert (nodes["g0"].surface.friction, nodes["g0"].surface.torsional_friction) == (0.4, 0.02)
    mesh, hills = nodes["mesh"], nodes["hills"]
    assert isinstance(mesh.shape, kido.Mesh) and isinstance(hills.shape, kido.Heightmap)
    found = mesh.shape.vertices @ mesh.relative_transform[:3, :3].T + mesh.relative_transform[:3, 3]
    expected = corners @ X[:3, :3].T + X[:3, 3]
    for corner in expected:
        assert np.linalg.norm(found - corner, axis=1).min() < 1e-6  # MuJoCo keeps them in single precision
    np.testing.assert_allclose(hills.shape.heights + hills.relative_transform[2, 3], heights, atol=1e-6)
    np.testing.assert_allclose(hills.shape.spacing, (1.0, 2.0))


BODIES = """
<site name="o" pos="0 0.1 1.6"/>
<body name="a" pos="0 0 1"><joint name="h" axis="0 1 0"/><joint name="g" axis="1 0 0" pos="0 0 0.1"/>
  <geom name="ball" size="0.15" pos="0 0 0.2"/><site name="s1" pos="0.2 0 0.1"/>
  <body name="b" pos="0.1 0 0.4"><joint name="q" type="ball"/>
    <geom name="tube" type="cylinder" size="0.08 0.2" euler="70 10 0"/>
    <site name="s2" pos="0.1 0.1 0.3" euler="10 20 30"/>
    <site name="side" pos="0 -0.3 0"/></body></body>
<body name="f" pos="1 0 1"><freejoint name="free"/><geom type="box" size="0.1 0.2 0.3"/>
  <site name="s3" euler="30 0 40"/></body>
"""
REST = """<tendon>
<fixed name="sum" stiffness="3" damping="0.2" springlength="0.1 0.2" range="-1 1"><joint joint="h" coef="0.5"/>
  <joint joint="g" coef="-2"/></fixed>
<spatial name="string" range="0 9"><site site="o"/><geom geom="ball"/><site site="s2"/><pulley divisor="2"/>
  <site site="s1"/><geom geom="tube" sidesite="side"/><site site="s3"/></spatial></tendon>
<equality><weld name="w" body1="f"/><joint name="e" joint1="h" polycoef="0.1 0 0 0 0"/></equality>
<actuator><motor joint="h" gear="3" ctrlrange="-0.5 0.5"/><position joint="g" kp="20" kv="2" forcerange="-4 4"/>
<muscle tendon="string" lengthrange="0.2 1.5" force="30"/><motor tendon="sum" gear="2"/><motor joint="q" gear="1 2 3"/>
<motor jointinparent="q" gear="1 2 3"/><motor joint="free" gear="1 2 3 4 5 6"/><motor site="s3" gear="1 2 3 4 5 6"/>
<position site="s2" refsite="s1" gear="1 2 0 0 0 0" kp="3"/><cylinder joint="h" timeconst="0.2" area="2" bias="1 2 3"/>
<intvelocity joint="h" kp="4" actrange="-0.1 0.1"/></actuator>"""


def test_actuators_tendons_and_equalities_come_back(tmp_path: Path) -> None:
    world = mjcf.read(f"<mujoco><compiler autolimits='true'/><worldbody>{BODIES}</worldbody>{REST}</mujoco>")
    other = again(world, tmp_path)
    mine, theirs, rng = Actuators.of(world), Actuators.of(other), np.random.default_rng(4)
    assert theirs.names == mine.names and theirs.tendon_names == mine.tendon_names
    assert_same_dynamics(world, other)
    mine.controls = theirs.controls = rng.uniform(-1, 1, len(mine))
    mine.activations = theirs.activations = rng.uniform(0, 1, len(mine))
    for key in ("tendon_lengths", "tendon_velocities", "lengths", "velocities", "forces"):
        expected = getattr(mine, key)
        np.testing.assert_allclose(getattr(theirs, key), expected, rtol=1e-11, atol=1e-12, err_msg=key)
    for s in world.skeletons[1:]:
        t, k = twin_of(s, other)
        for key in ("joint_forces", "passive_forces"):
            np.testing.assert_allclose(getattr(theirs, key)(t)[k], getattr(mine, key)(s), rtol=1e-11, atol=1e-11)
    kinds = [type(c).__name__ for c in world.constraints]
    assert sorted(type(c).__name__ for c in other.constraints) == sorted(kinds) and len(kinds) == 4


def test_what_the_format_lacks_is_refused_or_said(tmp_path: Path) -> None:
    s = kido.Skeleton("s")
    s.add_body("b", kido.ScrewJoint("screw"), inertia=kido.Inertia.from_diagonal(1, (1, 1, 1)))
    with pytest.raises(kido.KidoError, match=r"MJCF cannot hold this model.*\n.*'screw'.*a weld where it is"):
        kido.save(s, tmp_path / "a.xml")
    assert not (tmp_path / "a.xml").exists()
    assert any("is written as a weld" in remark for remark in kido.save(s, tmp_path / "a.xml", approximate=True))
    arm = kido.load_skeleton("arm7")
    twice = kido.World()
    for name in ("left", "right"):
        copy = arm.clone(name)
        twice.add_skeleton(copy)
    remarks = kido.save(twice, tmp_path / "b.xml")
    assert any(remark == "body 'hand' of 'right' is called 'right_hand'" for remark in remarks)
    assert len(kido.load_world(tmp_path / "b.xml").skeletons) == 3
