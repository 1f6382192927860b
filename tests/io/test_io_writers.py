"""Writers: what is written is read back as it was, as far as the format holds it; the rest is refused or remarked."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy.spatial.transform import Rotation

import kido
from kido.errors import KidoError
from kido.io.fields import rpy, xyz_angles
from kido.io.meshes import load_mesh
from trees import BUILT_IN, RollingKnee, random_skeleton, skeletons

ATOL = 1e-12  # poses are products of rotations given by angles
LIMITS = tuple(f"{what}_{side}_limit" for what in ("position", "velocity", "force") for side in ("lower", "upper"))
PASSIVE = ("damping", "coulomb_friction")
SPRINGS = ("spring_stiffness",)
HELD_PROPERTIES = {  # properties of coordinates that a format holds
    ".urdf": (*LIMITS, *PASSIVE),
    ".sdf": (*LIMITS, *PASSIVE, *SPRINGS),
    ".skel": (*LIMITS, *PASSIVE, *SPRINGS, "initial_position", "initial_velocity", "rest_position"),
}


def again(model, path: Path, **options):
    """The model as it is read back from a file of its own."""
    reading = options.pop("reading", {})
    remarks = kido.save(model, path, **options)
    return kido.load(path, **reading), remarks


def only(model) -> kido.Skeleton:
    if isinstance(model, kido.World):
        assert len(model.skeletons) == 1
        return model.skeleton(0)
    return model


def moved(skeleton: kido.Skeleton, values: dict[str, float]) -> None:
    """Set the joints at the start, and coordinates by name (in SDF a joint may not be called as a link is)."""
    names = {dof.name for dof in skeleton.dofs}
    q = np.concatenate([joint.initial_position for joint in skeleton.joints] or [np.zeros(0)])
    for name, value in values.items():
        q[skeleton.dof(name if name in names else f"{name}_joint").index] = value
    if skeleton.num_dofs:
        skeleton.positions = q


def assert_equal(a: kido.Skeleton, b: kido.Skeleton, suffix: str, *, shapes: bool = True) -> None:
    """Bodies by name: inertia, place at a random configuration, shapes. Joints by name: properties."""
    bodies = [body for body in a.bodies if suffix == ".urdf" or body.name != "world"]  # the world itself elsewhere
    assert {body.name for body in bodies} == {body.name for body in b.bodies}
    inner = [joint for joint in a.joints if not isinstance(joint, kido.FreeJoint) and joint.num_dofs]
    generator = np.random.default_rng(1)
    values = {dof.name: generator.uniform(-1, 1) for joint in inner for dof in joint.dofs}
    moved(a, values)
    moved(b, values)
    for body in bodies:
        other = b.body(body.name)
        size = max(1.0, float(np.abs(body.world_transform[:3, 3]).max()))
        np.testing.assert_allclose(other.world_transform, body.world_transform, atol=ATOL * size, err_msg=body.name)
        assert other.mass == body.mass
        np.testing.assert_allclose(other.inertia.com, body.inertia.com, rtol=1e-14, atol=1e-15)
        np.testing.assert_allclose(other.inertia.moment, body.inertia.moment, rtol=1e-12, atol=1e-15)
        if suffix != ".urdf":
            assert other.gravity == body.gravity
        if shapes:
            assert_shapes(body, other, suffix)
    for joint in inner:
        for key in HELD_PROPERTIES[suffix] if not isinstance(joint, kido.BallJoint) or suffix == ".skel" else ():
            name = joint.name if joint.name in {other.name for other in b.joints} else f"{joint.name}_joint"
            ours, theirs = joint.get_property(key), b.joint(name).get_property(key)
            if suffix == ".sdf":  # where 1e16 means no limit
                ours = np.where(np.abs(ours) < 1e16, ours, np.copysign(np.inf, ours))
            np.testing.assert_array_equal(theirs, ours, err_msg=f"{joint.name}: {key}")


def assert_shapes(body: kido.BodyNode, other: kido.BodyNode, suffix: str) -> None:
    for kind in ("visual", "collision"):
        ours = [node for node in body.shapes if getattr(node, kind)]
        theirs = [node for node in other.shapes if getattr(node, kind)]
        assert len(ours) == len(theirs), (body.name, kind)
        for one, two in zip(ours, theirs, strict=True):
            X = one.relative_transform
            if isinstance(one.shape, kido.Plane):
                assert two.shape.normal == pytest.approx(one.shape.normal, abs=1e-15)
                offset = two.relative_transform[:3, 3] - X[:3, 3]
                normal = X[:3, :3] @ one.shape.normal
                assert two.shape.offset + normal @ offset == pytest.approx(one.shape.offset, abs=ATOL)
                continue
            np.testing.assert_allclose(two.relative_transform, X, atol=ATOL)
            if isinstance(one.shape, kido.Mesh):
                np.testing.assert_allclose(two.shape.vertices, one.shape.vertices, rtol=1e-14, atol=0.0)
                np.testing.assert_array_equal(two.shape.faces, one.shape.faces)
            else:
                assert one.shape == two.shape
            if kind == "visual" and one.color is not None:
                assert two.color[:3] == one.color[:3]
            if suffix == ".sdf" and kind == "collision":
                assert (one.friction, one.restitution) == (two.friction, two.restitution)


# -- angles ------------------------------------------------------------------------------------------------


@settings(max_examples=200)
@given(
    st.tuples(*[st.floats(-4.0, 4.0)] * 3),
    st.sampled_from([None, 0.5 * math.pi, -0.5 * math.pi, 0.5 * math.pi - 1e-9, math.pi, 0.5 * math.pi + 1e-13]),
)
def test_angles_are_those_of_the_rotation(angles, pitch):
    """To rounding at every pitch, and near +-90 degrees where two of the angles are not well defined."""
    if pitch is not None:
        angles = (angles[0], pitch, angles[2])
    R = Rotation.from_euler("xyz", angles).as_matrix()
    np.testing.assert_allclose(Rotation.from_euler("xyz", rpy(R)).as_matrix(), R, atol=2e-15)
    np.testing.assert_allclose(Rotation.from_euler("XYZ", xyz_angles(R)).as_matrix(), R, atol=2e-15)


# -- round trips -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".urdf", ".sdf", ".skel"])
@pytest.mark.parametrize("name", ["arm7", "humanoid", "quadruped"])
def test_our_robots(tmp_path, name, suffix):
    skeleton = kido.load(kido.models.path(name))
    copy, _ = again(skeleton, tmp_path / f"m{suffix}", approximate=suffix == ".skel")
    assert_equal(skeleton, only(copy), suffix)


@pytest.mark.parametrize("suffix", [".sdf", ".skel"])
@pytest.mark.parametrize("name", ["ball_chain", "container", "dominoes", "stack"])
def test_our_worlds(tmp_path, name, suffix):
    world = kido.load(kido.models.path(name))
    copy, _ = again(world, tmp_path / f"m{suffix}")
    assert (copy.time_step, copy.name) == (world.time_step, world.name)
    np.testing.assert_array_equal(copy.gravity, world.gravity)
    assert [s.name for s in copy.skeletons] == [s.name for s in world.skeletons]
    for skeleton in world.skeletons:
        twin = copy.skeleton(skeleton.name)
        assert twin.mobile == skeleton.mobile
        assert_equal(skeleton, twin, suffix)


SIMPLE = ("weld", "revolute", "prismatic")
HELD = {
    ".urdf": SIMPLE,
    ".sdf": (*SIMPLE, "screw", "universal", "ball"),
    ".skel": BUILT_IN,
}


@pytest.mark.parametrize("suffix", HELD)
@settings(max_examples=15)
@given(data=st.data())
def test_random_trees(tmp_path_factory, suffix, data):
    """The mass matrix, in the coordinates' names, is that of the original: also where links of a URDF have moved."""
    skeleton = data.draw(skeletons(5, HELD[suffix]))
    path = tmp_path_factory.mktemp("tree") / f"m{suffix}"
    copy = only(again(skeleton, path)[0])
    assert_same_mechanism(skeleton, copy)


def assert_same_mechanism(skeleton, copy):
    names = [dof.name for dof in skeleton.dofs]
    assert set(names) == {dof.name for dof in copy.dofs}
    rows = [copy.dof(name).index for name in names]
    q = np.random.default_rng(2).uniform(-1, 1, len(names))
    ours = kido.quantities.mass_matrix(skeleton, q)
    shuffled = np.empty(len(names))
    shuffled[rows] = q
    theirs = kido.quantities.mass_matrix(copy, shuffled)[np.ix_(rows, rows)]
    np.testing.assert_allclose(theirs, ours, rtol=1e-10, atol=1e-11 * max(1.0, np.abs(ours).max(initial=0.0)))


TAKEN_APART = ("universal", "euler", "planar", "translational", "compound")


@pytest.mark.parametrize("suffix", [".urdf", ".sdf"])
@settings(max_examples=15)
@given(data=st.data())
def test_joints_taken_apart_are_the_same_mechanism(tmp_path_factory, suffix, data):
    skeleton = data.draw(skeletons(4, (*SIMPLE, *TAKEN_APART)))
    if any(h.kind.name == "SCREW" for j in skeleton.joints for h in getattr(j, "hinges", ())) and suffix == ".urdf":
        return
    path = tmp_path_factory.mktemp("tree") / f"m{suffix}"
    copy = only(again(skeleton, path, approximate=True)[0])
    assert_same_mechanism(skeleton, copy)


@pytest.mark.slow
def test_every_robot_of_example_robot_data(example_robots: Path, tmp_path):
    """Without shapes, whose meshes take most of the time; shapes: see below."""
    count = 0
    for file in sorted(example_robots.rglob("*.urdf")):
        try:
            skeleton = kido.load(file, visuals=False, collisions=False)
        except KidoError:
            continue
        base = "fixed" if skeleton.body(0).name == "world" else "free"
        skeleton = kido.load(file, visuals=False, collisions=False, base=base)
        count += 1
        for suffix in (".urdf", ".sdf", ".skel"):
            approximate = suffix == ".skel" and any(joint.mimic for joint in skeleton.joints)
            reading = {"base": base} if suffix == ".urdf" else {}
            if suffix == ".skel" and any("zero mass on a moving body" in text for text in skeleton.warnings):
                with pytest.raises(KidoError, match=r"which moves no mass, \(could be a weld\)"):
                    kido.save(skeleton, tmp_path / "m.skel")
                continue
            copy, _ = again(skeleton, tmp_path / f"m{suffix}", approximate=approximate, reading=reading)
            assert_equal(skeleton, only(copy), suffix)
    assert count >= 60


@pytest.mark.parametrize("suffix", [".urdf", ".sdf", ".skel"])
def test_meshes_are_copied_or_named(example_robots: Path, tmp_path, suffix):
    skeleton = kido.load(example_robots / "ur_description/urdf/ur5_robot.urdf")
    copy, _ = again(skeleton, tmp_path / f"a{suffix}")
    assert_equal(skeleton, only(copy), suffix)
    meshes = sorted(path.name for path in (tmp_path / "a_meshes").iterdir())
    assert len(meshes) >= 7
    reading = {"package_dirs": example_robots}
    copy, _ = again(skeleton, tmp_path / f"b{suffix}", meshes="reference", reading=reading)
    assert_equal(skeleton, only(copy), suffix)
    assert not (tmp_path / "b_meshes").exists()


def test_textures_are_copied_with_their_meshes(tmp_path):
    (tmp_path / "from" / "images").mkdir(parents=True)
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    Image.fromarray(pixels).save(tmp_path / "from" / "images" / "a.png")
    (tmp_path / "from" / "a.mtl").write_text("newmtl m\nmap_Kd images/a.png\n")
    lines = "mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl m\nf 1/1 2/2 3/3\n"
    (tmp_path / "from" / "a.obj").write_text(lines)
    skeleton = kido.Skeleton("s")
    body = skeleton.add_body("b", kido.WeldJoint(), inertia=kido.Inertia(1.0))
    body.add_shape(load_mesh(tmp_path / "from" / "a.obj"), collision=False)
    (tmp_path / "to").mkdir()
    kido.save(skeleton, tmp_path / "to" / "m.urdf")
    mesh = kido.load_skeleton(tmp_path / "to" / "m.urdf").body("b").shapes[0].shape
    assert Path(mesh.uri).is_relative_to(tmp_path / "to")
    np.testing.assert_array_equal(mesh.textures[0], pixels)


@pytest.mark.parametrize("suffix", [".urdf", ".sdf", ".skel"])
def test_a_mesh_without_a_file_is_written(tmp_path, suffix):
    skeleton = kido.Skeleton("s")
    body = skeleton.add_body("a", kido.WeldJoint(), inertia=kido.Inertia(1.0))
    vertices = np.random.default_rng(0).normal(size=(4, 3))
    body.add_shape(kido.Mesh(vertices, [[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]]), name="tetra/hedron")
    copy, _ = again(skeleton, tmp_path / f"m{suffix}")
    assert_equal(skeleton, only(copy), suffix)


def test_every_skel_of_dart(dart_data: Path, tmp_path):
    count = 0
    for file in sorted((dart_data / "skel").rglob("*.skel")):
        try:
            world = kido.load(file)
        except KidoError:
            continue
        count += 1
        copy, _ = again(world, tmp_path / "m.skel", meshes="reference", reading={"package_dirs": dart_data})
        assert len(copy.skeletons) == len(world.skeletons), file
        for skeleton in world.skeletons:
            assert_equal(skeleton, copy.skeleton(skeleton.name), ".skel")
    assert count >= 20


def test_cassie_keeps_its_loops(example_robots: Path, tmp_path):
    skeleton = kido.load(example_robots / "cassie_description/robots/cassie_v2.sdf", visuals=False).skeleton(0)
    copy, _ = again(skeleton, tmp_path / "m.sdf")
    twin = only(copy)
    assert_equal(skeleton, twin, ".sdf")
    assert [loop.name for loop in twin.loops] == [loop.name for loop in skeleton.loops]
    for one, two in zip(skeleton.loops, twin.loops, strict=True):
        assert (one.parent, one.child, type(one.joint)) == (two.parent, two.child, type(two.joint))
        np.testing.assert_allclose(two.joint.transform_from_parent, one.joint.transform_from_parent, atol=ATOL)
    _, remarks = again(skeleton, tmp_path / "m.urdf", approximate=True)
    assert sum("which closes a loop" in text for text in remarks) == 4


# -- what formats do not hold ------------------------------------------------------------------------------


def pair(joint: kido.Joint) -> kido.Skeleton:
    skeleton = kido.Skeleton("s")
    inertia = kido.Inertia.from_diagonal(1.0, [1.0, 1.0, 1.0])
    skeleton.add_body("a", kido.WeldJoint("w"), inertia=inertia)
    skeleton.add_body("b", joint, parent="a", inertia=inertia)
    return skeleton


@pytest.mark.parametrize(
    ("suffix", "joint", "stands_for_it"),
    [
        (".urdf", kido.BallJoint("j"), "3 hinges that lock"),
        (".urdf", kido.UniversalJoint("j"), "2 hinges in a chain"),
        (".urdf", kido.ScrewJoint("j"), "2 hinges in a chain"),
        (".sdf", kido.EulerJoint("j"), "3 hinges in a chain"),
        (".sdf", kido.FreeJoint("j"), "6 hinges that lock"),
        (".skel", kido.CompoundJoint("j", [kido.Hinge.revolute()]), "1 hinge in a chain"),
    ],
)
def test_joints_that_a_format_lacks_are_refused(tmp_path, suffix, joint, stands_for_it):
    skeleton, path = pair(joint), tmp_path / f"m{suffix}"
    with pytest.raises(KidoError, match=rf"cannot hold this model; .*\n  joint 'j' \({type(joint).__name__}\)"):
        kido.save(skeleton, path)
    assert not path.exists()
    remarks = kido.save(skeleton, path, approximate=True)
    assert any("joint 'j'" in text and stands_for_it in text for text in remarks)
    copy = only(kido.load(path))
    assert copy.mass == skeleton.mass


def test_a_screw_of_a_urdf_is_a_hinge_and_a_slide_that_follows_it(tmp_path):
    skeleton = pair(kido.ScrewJoint("j", axis=(0, 1, 0), pitch=0.3))
    kido.save(skeleton, tmp_path / "m.urdf", approximate=True)
    copy = kido.load(tmp_path / "m.urdf")
    mimic = copy.joint("j_advance").mimic
    skeleton.positions = [0.7]
    copy.positions = [0.7, mimic.multiplier * 0.7]
    np.testing.assert_allclose(copy.body("b").world_transform, skeleton.body("b").world_transform, atol=ATOL)


def test_a_joint_of_a_user_is_welded_where_it_is(tmp_path):
    skeleton = pair(RollingKnee("j", transform_from_parent=[0.1, 0.2, 0.3], transform_from_child=[0, 0, 0.4]))
    skeleton.positions = [0.3]
    remarks = kido.save(skeleton, tmp_path / "m.urdf", approximate=True)
    assert remarks == ["joint 'j' (RollingKnee) is written as a weld where it is"]
    copy = kido.load(tmp_path / "m.urdf")
    np.testing.assert_allclose(copy.body("b").world_transform, skeleton.body("b").world_transform, atol=ATOL)


def test_files_that_cannot_be_written(tmp_path):
    with pytest.raises(KidoError, match="cannot be written: No such file"):
        kido.save(pair(kido.WeldJoint("j")), tmp_path / "gone" / "m.urdf")
    skeleton = kido.Skeleton("bell\a")
    for suffix in (".urdf", ".sdf", ".skel"):
        with pytest.raises(KidoError, match="XML compatible"):
            kido.save(skeleton, tmp_path / f"m{suffix}")


def test_shapes_that_a_format_lacks(tmp_path):
    skeleton = pair(kido.WeldJoint("j"))
    for k, shape in enumerate((kido.Plane((0, 1, 1), 0.5), kido.Ellipsoid((1, 2, 3)), kido.Cone(1, 2))):
        skeleton.body("b").add_shape(shape, name=f"s{k}")
    with pytest.raises(KidoError, match=r"shape 's0' of body 'b' \(Plane\) \(could be a box"):
        kido.save(skeleton, tmp_path / "m.urdf")
    assert list(tmp_path.iterdir()) == []
    kido.save(skeleton, tmp_path / "m.urdf", approximate=True)
    box, ellipsoid, cone = [node for node in kido.load(tmp_path / "m.urdf").body("b").shapes if node.collision]
    surface = box.relative_transform @ [0, 0, box.shape.size[2] / 2, 1]
    np.testing.assert_allclose(surface[:3] @ np.array([0, 1, 1]) / math.sqrt(2), 0.5, atol=1e-9)
    assert ellipsoid.shape.volume == pytest.approx(kido.Ellipsoid((1, 2, 3)).volume, rel=0.03)
    assert cone.shape.volume == pytest.approx(kido.Cone(1, 2).volume, rel=0.01)


def test_properties_that_are_left_out_are_remarked(tmp_path):
    joint = kido.RevoluteJoint(
        "j", spring_stiffness=3.0, rest_position=0.2, initial_velocity=1.0, velocity_lower_limit=-1.0,
        velocity_upper_limit=2.0, actuator_type="velocity",
    )  # fmt: skip
    skeleton = pair(joint)
    skeleton.self_collision = True
    skeleton.body("b").gravity = False
    skeleton.body("b").create_node(kido.Marker, "m")
    text = "\n".join(kido.save(skeleton, tmp_path / "m.urdf"))
    for what in ("spring stiffness", "rest position", "initial velocity", "velocity limits -1 and 2", "VELOCITY",
                 "collides with itself", "body 'b': that gravity", "Marker 'm'"):  # fmt: skip
        assert what in text, what


def test_mimics(tmp_path):
    skeleton = pair(kido.RevoluteJoint("j"))
    follower = kido.RevoluteJoint("k", mimic=kido.Mimic("j", 2.0, 0.5))
    skeleton.add_body("c", follower, parent="b", inertia=kido.Inertia.from_diagonal(1.0, [1.0, 1.0, 1.0]))
    for suffix in (".urdf", ".sdf"):
        mimic = only(again(skeleton, tmp_path / f"m{suffix}")[0]).joint("k").mimic
        assert (mimic.joint, mimic.multiplier, mimic.offset) == ("j", 2.0, 0.5)
    with pytest.raises(KidoError, match="joint 'k', which mimics 'j'"):
        kido.save(skeleton, tmp_path / "m.skel")


def test_a_planar_joint_of_any_axes(tmp_path):
    joint = kido.PlanarJoint("j", axis1=(1, 2, 0), axis2=(0, 0, 1), transform_from_child=[0.1, 0.2, 0.3])
    skeleton = pair(joint)
    copy = only(again(skeleton, tmp_path / "m.urdf")[0])
    assert_same_mechanism(skeleton, copy)


def test_several_roots_and_moving_roots_of_a_urdf(tmp_path):
    skeleton = kido.Skeleton("s")
    inertia = kido.Inertia.from_diagonal(1.0, [1.0, 1.0, 1.0])
    skeleton.add_body("a", kido.RevoluteJoint("j"), inertia=inertia)
    skeleton.add_body("b", kido.WeldJoint("w", transform_from_parent=[1, 2, 3]), inertia=inertia)
    copy, remarks = again(skeleton, tmp_path / "m.urdf")
    assert any("a link 'world' without mass stands for the world" in text for text in remarks)
    np.testing.assert_allclose(copy.body("b").world_transform, skeleton.body("b").world_transform)
    assert isinstance(copy.joint("j"), kido.RevoluteJoint)


def test_names_that_sdf_reserves(tmp_path):
    skeleton = kido.Skeleton("s")
    skeleton.add_body("world", kido.WeldJoint("__j__"), inertia=kido.Inertia(1.0))
    skeleton.add_body("a::b", kido.WeldJoint("a::j"), parent="world", inertia=kido.Inertia(1.0))
    copy, remarks = again(skeleton, tmp_path / "m.sdf")
    assert [body.name for body in only(copy).bodies] == ["world_", "a_b"]
    assert any("'a::b' is called 'a_b'" in text for text in remarks)


@pytest.mark.parametrize(
    ("model", "path", "message"),
    [
        ("robot", "m.sdf", "expected a Skeleton, a World, a Motion or a MarkerMotion, got str"),
        (kido.Skeleton("s"), 3, "expected the path"),
        (kido.Skeleton("s"), "m.mjcf", "cannot write '.mjcf' files of a model; expected one of .urdf"),
        (kido.World("w"), "m.urdf", "URDF holds one robot; world 'w' has 0 skeletons: none"),
    ],
)
def test_mistakes(tmp_path, model, path, message):
    with pytest.raises(KidoError, match=message):
        kido.save(model, tmp_path / path if isinstance(path, str) else path)
    with pytest.raises(KidoError, match="meshes is 'move'"):
        kido.save(kido.Skeleton("s"), tmp_path / "m.sdf", meshes="move")


def test_the_command(tmp_path, capfd):
    from kido.cli.main import main

    target = tmp_path / "arm.sdf"
    assert main(["convert", "arm7", str(target)]) == 0
    assert only(kido.load(target)).num_dofs == 7
    assert "written" in capfd.readouterr().out
    assert main(["convert", "arm7", str(target)]) == 1
    assert "replace it with --overwrite" in capfd.readouterr().err
    assert main(["convert", "arm7", str(target), "--overwrite", "--quiet"]) == 0
    assert capfd.readouterr().out == ""
    assert main(["convert", "ball_chain", str(tmp_path / "c.urdf")]) == 1
    assert "--approximate" in capfd.readouterr().err


# -- as other programs read what is written ----------------------------------------------------------------


def test_pinocchio_reads_a_written_urdf(dart_data: Path, tmp_path):
    """Atlas from SDF, whose joint frames are those of the links: pose of every body and the mass matrix."""
    pin = pytest.importorskip("pinocchio")
    file = dart_data / "sdf/atlas/atlas_v3_no_head.sdf"
    skeleton = kido.load(file, visuals=False, collisions=False).skeleton(0)
    kido.save(skeleton, tmp_path / "m.urdf")
    model = pin.buildModelFromUrdf(str(tmp_path / "m.urdf"))
    names = [dof.name for dof in skeleton.dofs if dof.joint.num_dofs == 1]
    assert set(names) == set(list(model.names)[1:])
    values = dict(zip(names, np.random.default_rng(0).uniform(-1, 1, len(names)), strict=True))
    moved(skeleton, values)
    q = np.zeros(model.nq)
    columns = [model.joints[model.getJointId(name)].idx_q for name in names]
    q[columns] = list(values.values())
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    for body in skeleton.bodies:
        X = data.oMf[model.getFrameId(body.name)].homogeneous
        np.testing.assert_allclose(X, body.world_transform, atol=ATOL, err_msg=body.name)
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    rows = [skeleton.dof(name).index for name in names]
    np.testing.assert_allclose(M[np.ix_(columns, columns)], skeleton.mass_matrix[np.ix_(rows, rows)], atol=1e-9)


@pytest.mark.parametrize("suffix", [".sdf", ".skel"])
def test_dart_reads_what_is_written(tmp_path, suffix):
    """A tree of hinges and slides, in SKEL universal joints too: pose of every body at random positions."""
    dartpy = pytest.importorskip("dartpy")
    skeleton = random_skeleton(3, 8, (*SIMPLE, "universal") if suffix == ".skel" else SIMPLE)
    world = kido.World("w")
    world.add_skeleton(skeleton)
    path = tmp_path / f"m{suffix}"
    kido.save(world, path)
    path.write_text(path.read_text().replace('version="1.11"', 'version="1.6"'))  # the newest that DART takes
    parser = dartpy.utils.SdfParser if suffix == ".sdf" else dartpy.utils.SkelParser
    theirs = parser.readWorld(f"file://{path}").getSkeleton(0)
    values = np.random.default_rng(0).uniform(-1, 1, skeleton.num_dofs)
    skeleton.positions = values
    for joint in skeleton.joints:
        for k, position in enumerate(joint.positions if joint.num_dofs else []):
            theirs.getJoint(joint.name).setPosition(k, position)
    for body in skeleton.bodies:
        expected = theirs.getBodyNode(body.name).getWorldTransform().matrix()
        np.testing.assert_allclose(body.world_transform, expected, atol=1e-11, err_msg=body.name)
    assert skeleton.mass == pytest.approx(theirs.getMass(), abs=1e-8)  # DART gives what has no mass 1e-9 kg


@pytest.mark.parametrize("suffix", [".urdf", ".sdf", ".skel"])
@settings(max_examples=25)
@given(skeleton=skeletons(6))
def test_every_tree_can_be_written_approximately(tmp_path_factory, suffix, skeleton):
    """Joints of all kinds: every body comes back, and its centre of mass is where it was with joints at zero."""
    path = tmp_path_factory.mktemp("tree") / f"m{suffix}"
    copy, remarks = again(skeleton, path, approximate=True)
    copy = only(copy)
    assert copy.mass == pytest.approx(skeleton.mass, rel=1e-14)
    if any("base='free'" in text for text in remarks) or any("a weld" in text for text in remarks):
        return
    for item in (skeleton, copy):
        item.positions = np.zeros(item.num_dofs)
        for joint in item.joints if suffix == ".sdf" else ():  # where free links have their initial poses
            if isinstance(joint, kido.FreeJoint) and joint.parent is None:
                joint.positions = joint.initial_position
    for body in skeleton.bodies:
        twin = copy.body(body.name)
        centers = [b.world_transform[:3, :3] @ b.inertia.com + b.world_transform[:3, 3] for b in (body, twin)]
        np.testing.assert_allclose(centers[1], centers[0], atol=1e-11)


@pytest.mark.parametrize("suffix", [".sdf", ".skel", ".urdf"])
def test_constraints_of_a_world_are_among_what_is_lost(tmp_path, suffix):
    skeleton = kido.Skeleton("robot")
    for name in ("a", "b"):
        skeleton.add_body(name, kido.RevoluteJoint(name), inertia=kido.Inertia.from_diagonal(1.0, (0.1, 0.1, 0.1)))
    world = kido.World()
    world.add_skeleton(skeleton)
    world.add_constraint(
        kido.DistanceConstraint(*skeleton.bodies, frame_b=np.diag([1.0] * 4), distance=1.0, name="rod")
    )
    found = kido.save(world, tmp_path / f"robot{suffix}", approximate=True)
    assert "DistanceConstraint 'rod' is left out" in found
    assert not any("rod" in text for text in kido.save(skeleton, tmp_path / f"robot{suffix}", approximate=True))
