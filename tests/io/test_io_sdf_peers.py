"""SDF reader on real files, against DART and against the same robot as URDF."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kido

ATLAS = "sdf/atlas/atlas_v3_no_head"
CASSIE = "cassie_description/robots/"
# bodies, coordinates, mass [kg] (sums of the files' <mass> values), loops
CASSIES = {
    "cassie.sdf": (35, 40, 34.986, 6),
    "cassie_reduced.sdf": (23, 23, 32.940, 4),
    "cassie_simple.sdf": (23, 23, 32.940, 4),
    "cassie_v2.sdf": (23, 28, 32.940, 4),
    "cassie_wo_gearbox_spring.sdf": (23, 23, 32.940, 4),
}


def set_joints(skeleton, values):
    """Set coordinates by name, all others to zero."""
    q = np.zeros(skeleton.num_dofs)
    for name, value in values.items():
        q[skeleton.dof(name).index] = value
    skeleton.positions = q


def random_values(names, seed=0):
    return dict(zip(names, np.random.default_rng(seed).uniform(-1.0, 1.0, len(names)), strict=True))


def test_atlas_equals_its_urdf(dart_data: Path) -> None:
    """Masses to the bit; poses and the mass matrix to the digits that both files are written with."""
    ours = kido.load(dart_data / f"{ATLAS}.sdf", visuals=False, collisions=False).skeleton(0)
    other = kido.load(dart_data / f"{ATLAS}.urdf", visuals=False, collisions=False, base="free")
    names = [dof.name for dof in other.dofs if dof.joint.num_dofs == 1]
    assert len(names) == 27
    assert {d.name for d in ours.dofs if d.joint.num_dofs == 1} == set(names)
    values = random_values(names)
    for skeleton in (ours, other):
        set_joints(skeleton, values)
    assert ours.mass == pytest.approx(other.mass, rel=1e-12)
    for body in ours.bodies:
        np.testing.assert_allclose(body.world_transform, other.body(body.name).world_transform, atol=2e-6)
        if body.name != "utorso":  # in the SDF it holds the head's parts, which are links of their own in the URDF
            assert body.mass == other.body(body.name).mass
    rows = [[s.dof(name).index for name in names] for s in (ours, other)]
    np.testing.assert_allclose(
        ours.mass_matrix[np.ix_(rows[0], rows[0])], other.mass_matrix[np.ix_(rows[1], rows[1])], atol=2e-5
    )
    for name in names:
        for key in ("position_lower_limit", "position_upper_limit", "velocity_upper_limit", "force_upper_limit"):
            assert getattr(ours.dof(name), key) == pytest.approx(getattr(other.dof(name), key), abs=1e-6), (name, key)


@pytest.mark.parametrize(
    "name",
    [
        "sdf/atlas/atlas_v3_no_head.sdf",
        "sdf/double_pendulum.world",
        "sdf/double_pendulum_with_base.world",
        "sdf/test/issue1193_revolute_test.sdf",
        "sdf/test/issue1193_revolute_with_offset_test.sdf",
        "sdf/test/single_bodynode_skeleton.world",
        "sdf/benchmark.world",
    ],
)
def test_files_of_dart_as_dart_reads_them(dart_data: Path, name: str) -> None:
    """Poses of all bodies and the mass matrix of the joints, for random joint positions, to round-off."""
    dartpy = pytest.importorskip("dartpy")
    path = dart_data / name
    theirs = dartpy.utils.SdfParser.readWorld(f"file://{path}")
    if theirs is None:
        theirs = dartpy.simulation.World()
        theirs.addSkeleton(dartpy.utils.SdfParser.readSkeleton(f"file://{path}"))
    world = kido.load(path, missing_meshes="skip", missing_includes="skip")
    known = {theirs.getSkeleton(k).getName(): theirs.getSkeleton(k) for k in range(theirs.getNumSkeletons())}
    assert known and set(known) <= {s.name for s in world.skeletons}
    for skeleton_name, theirs_one in known.items():
        ours = world.skeleton(skeleton_name)
        bodies = {
            theirs_one.getBodyNode(k).getName(): theirs_one.getBodyNode(k) for k in range(theirs_one.getNumBodyNodes())
        }
        assert {body.name for body in ours.bodies} == set(bodies)
        joints = [j for j in ours.joints if j.num_dofs == 1]
        values = random_values([j.name for j in joints])
        for joint in joints:
            joint.positions = [values[joint.name]]
            theirs_one.getJoint(joint.name).setPosition(0, values[joint.name])
        for body in ours.bodies:
            expected = bodies[body.name].getWorldTransform().matrix()
            np.testing.assert_allclose(body.world_transform, expected, atol=1e-12, err_msg=body.name)
        if skeleton_name != "ground_plane":
            assert ours.mass == pytest.approx(theirs_one.getMass(), rel=1e-14)
        if joints:
            rows = [ours.dof(j.name).index for j in joints]
            columns = [theirs_one.getJoint(j.name).getIndexInSkeleton(0) for j in joints]
            M = np.asarray(theirs_one.getMassMatrix())[np.ix_(columns, columns)]
            np.testing.assert_allclose(ours.mass_matrix[np.ix_(rows, rows)], M, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", CASSIES)
def test_cassie(example_robots: Path, name: str) -> None:
    skeleton = kido.load(example_robots / CASSIE / name).skeleton(0)
    bodies, dofs, mass, loops = CASSIES[name]
    assert (skeleton.num_bodies, skeleton.num_dofs, len(skeleton.loops)) == (bodies, dofs, loops)
    assert skeleton.mass == pytest.approx(mass, abs=5e-4)
    balls = [loop for loop in skeleton.loops if isinstance(loop.joint, kido.BallJoint)]
    assert {loop.name for loop in balls} == {
        f"{side}-{joint}-joint" for side in ("left", "right") for joint in ("pitch-rod", "plantar-foot")
    }
    for loop in skeleton.loops:
        assert loop.parent and loop.child
        ends = [
            skeleton.body(end).world_transform @ X
            for end, X in (
                (loop.parent, loop.joint.transform_from_parent),
                (loop.child, loop.joint.transform_from_child),
            )
        ]
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-14)
        assert any(f"'{loop.name}'" in text and "closes a loop" in text for text in skeleton.warnings)


def test_gearboxes_of_cassie(example_robots: Path) -> None:
    skeleton = kido.load(example_robots / CASSIE / "cassie.sdf", visuals=False).skeleton(0)
    followers = [joint for joint in skeleton.joints if joint.mimic is not None]
    assert len(followers) == 10
    assert skeleton.joint("left-roll-op").mimic == kido.Mimic("left-roll-ip", -0.04, 0.0)


def test_a_world_file_that_is_not_well_formed(example_robots: Path) -> None:
    with pytest.raises(kido.FileFormatError, match=r"cassie\.world:17: not well-formed XML"):
        kido.load(example_robots / CASSIE / "cassie.world")
