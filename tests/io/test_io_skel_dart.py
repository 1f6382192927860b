"""SKEL reader against DART itself: every one of DART's own files that dartpy loads means the same to both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import kido
from kido.errors import MeshNotFoundError
from kido.io import skel

dartpy = pytest.importorskip("dartpy", reason="the package dartpy is not installed")

FILES = (
    *("biped", "bullet_collision", "chain", "cube", "cubes", "empty", "freeChain", "fullbody1", "ground"),
    *("joint_limit", "mesh_collision", "shapes", "softBodies", "soft_cubes", "sphere", "spheres"),
    *("two_cubes", "vehicle"),
    *("test/SimplePendulum", "test/ball_joints", "test/boxes", "test/chainwhipa"),
    *("test/collision_of_prescribed_joints_test", "test/dof_attribute_test", "test/double_pendulum"),
    *("test/double_pendulum_ball_joint", "test/double_pendulum_euler_joint"),
    *("test/double_pendulum_with_base", "test/drop", "test/drop_BENCHMARK", "test/drop_unrotated_box"),
    *("test/empty", "test/file_info_world_test", "test/free_joints", "test/gazebo/drop_test"),
    *("test/gazebo/force_torque_test", "test/gazebo/force_torque_test2", "test/joint_actuator_type_test"),
    *("test/joint_dynamics_elements_test", "test/joint_friction_test", "test/joint_limit_test"),
    *("test/planar_joint", "test/serial_chain_BENCHMARK", "test/serial_chain_ball_joint"),
    *("test/serial_chain_ball_joint_20", "test/serial_chain_ball_joint_40"),
    *("test/serial_chain_eulerxyz_joint", "test/serial_chain_revolute_joint", "test/simple_tree_structure"),
    *("test/simple_tree_structure_ball_joint", "test/simple_tree_structure_euler_joint"),
    *("test/single_pendulum", "test/single_pendulum_ball_joint", "test/single_pendulum_euler_joint"),
    *("test/spheres", "test/test_adaptive_deformable", "test/test_articulated_bodies"),
    *("test/test_double_pendulum", "test/test_drop_box", "test/test_drop_box_offset"),
    *("test/test_drop_low_stiffness", "test/test_drop_sphere", "test/test_shapes", "test/test_single_body"),
    *("test/test_single_pendulum", "test/translational_joints", "test/tree_structure"),
    *("test/tree_structure_ball_joint", "test/tree_structure_euler_joint"),
)

# dartpy wants the number of fragments of their soft boxes, which these files leave out.
DARTPY_REFUSES = ("test/test_double_pendulum", "test/test_single_body", "test/test_single_pendulum")


def test_the_list_of_files_is_complete(dart_data: Path):
    folder = dart_data / "skel"
    assert {str(path.relative_to(folder))[:-5] for path in folder.rglob("*.skel")} == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_means_the_same(name: str, dart_data: Path):
    path = dart_data / "skel" / f"{name}.skel"
    world = skel.read(path, package_dirs=[dart_data])
    if name in DARTPY_REFUSES:
        with pytest.raises(RuntimeError, match="frags"):
            dartpy.utils.SkelParser.readWorld(str(path))
        return
    truth = dartpy.utils.SkelParser.readWorld(str(path))
    assert world.time_step == truth.getTimeStep()
    assert_allclose(world.gravity, truth.getGravity(), atol=0)
    assert [s.name for s in world.skeletons] == [truth.getSkeleton(i).getName() for i in range(truth.getNumSkeletons())]
    rng = np.random.default_rng(7)
    for i, skeleton in enumerate(world.skeletons):
        other = truth.getSkeleton(i)
        compare_description(skeleton, other)
        set_velocities(other, skeleton)
        compare_motion(skeleton, other)
        for _ in range(3):
            positions = rng.uniform(-1.5, 1.5, skeleton.num_dofs)
            velocities = rng.uniform(-2, 2, skeleton.num_dofs)
            skeleton.positions = positions
            skeleton.velocities = velocities
            other.setPositions(in_order_of(other, skeleton, positions))
            set_velocities(other, skeleton)
            compare_motion(skeleton, other)


def in_order_of(other, skeleton: kido.Skeleton, values: np.ndarray) -> np.ndarray:
    """Values by degree of freedom of KIDO's skeleton, in the order of dartpy's, matched by joint."""
    start = {joint.name: joint.dofs[0].index for joint in skeleton.joints if joint.num_dofs}
    slices = []
    for k in range(other.getNumJoints()):
        joint = other.getJoint(k)
        if joint.getNumDofs():
            first = start[joint.getName()]
            slices.append(values[first : first + joint.getNumDofs()])
    return np.concatenate(slices) if slices else np.zeros(0)


def set_velocities(other, skeleton: kido.Skeleton) -> None:
    """Give dartpy's skeleton the velocities of KIDO's.

    Coordinates carry over except those of free joints: KIDO (like DART when it made the format) takes the
    twist in the axes of the joint's child-side frame, newer DART takes world axes. DART's Jacobian converts.
    """
    other.setVelocities(in_order_of(other, skeleton, skeleton.velocities))
    for joint in skeleton.joints:
        if isinstance(joint, kido.FreeJoint):
            truth = other.getJoint(joint.name)
            X = joint.transform_from_child
            R, p = X[:3, :3], X[:3, 3]
            angular, linear = R @ joint.velocities[:3], R @ joint.velocities[3:]
            twist = np.concatenate([angular, linear + np.cross(p, angular)])
            truth.setVelocities(np.linalg.solve(truth.getRelativeJacobian(), twist))


def compare_description(skeleton: kido.Skeleton, other) -> None:
    assert [b.name for b in skeleton.bodies] == [other.getBodyNode(k).getName() for k in range(other.getNumBodyNodes())]
    assert skeleton.mobile == other.isMobile()
    for body in skeleton.bodies:
        node = other.getBodyNode(body.name)
        joint, truth = body.parent_joint, node.getParentJoint()
        assert joint.name == truth.getName()
        assert f"{type(joint).__name__}" == truth.getType()
        assert body.gravity == node.getGravityMode()
        inertia = body.core_inertia if isinstance(body, kido.SoftBodyNode) else body.inertia  # DART's is without skin
        assert inertia.mass == node.getMass()
        assert_allclose(inertia.com, node.getLocalCOM(), atol=0)
        com = inertia.com
        scale = inertia.mass * (com @ com) + np.max(inertia.moment)
        # DART moves the moment to the body's origin and back, and stores the vertices of meshes in 32 bits.
        tolerance = 1e-6 if any(isinstance(s.shape, kido.Mesh) for s in body.shapes) else 1e-13
        moment = node.getInertia().getMoment()
        assert_allclose(inertia.moment, moment, atol=tolerance * scale, rtol=tolerance)
        for k, dof in enumerate(joint.dofs):
            assert dof.position_lower_limit == truth.getPositionLowerLimit(k)
            assert dof.position_upper_limit == truth.getPositionUpperLimit(k)
            assert dof.initial_position == truth.getInitialPosition(k)
            assert dof.damping == truth.getDampingCoefficient(k)
            assert dof.coulomb_friction == truth.getCoulombFriction(k)
            assert dof.spring_stiffness == truth.getSpringStiffness(k)
            assert dof.rest_position == truth.getRestPosition(k)
            for what in ("Velocity", "Acceleration", "Force"):
                for side in ("Lower", "Upper"):
                    limit = getattr(dof, f"{what.lower()}_{side.lower()}_limit")
                    assert limit == getattr(truth, f"get{what}{side}Limit")(k)
            assert dof.velocity == truth.getVelocity(k)


def compare_motion(skeleton: kido.Skeleton, other) -> None:
    for body in skeleton.bodies:
        node = other.getBodyNode(body.name)
        # Rounding over the deepest chain here, 40 ball joints.
        assert_allclose(body.world_transform, node.getWorldTransform().matrix(), atol=1e-10)
        assert_allclose(body.angular_velocity(), node.getAngularVelocity(), atol=1e-9)
        assert_allclose(body.linear_velocity(), node.getLinearVelocity(), atol=1e-9)


def test_meshes_are_not_read_from_outside(dart_data: Path):
    path = dart_data / "skel" / "test" / "test_shapes.skel"
    with pytest.raises(MeshNotFoundError, match="package_dirs") as caught:
        skel.read(path)
    assert caught.value.tried == [str(dart_data / "obj" / "foot.obj")]


def test_a_missing_mesh_is_a_missing_mesh(dart_data: Path, tmp_path: Path):
    path = tmp_path / "skel" / "shapes.skel"
    path.parent.mkdir()
    path.write_text((dart_data / "skel" / "shapes.skel").read_text())
    with pytest.raises(MeshNotFoundError) as caught:
        skel.read(path, strict=True)
    assert caught.value.tried == [str(tmp_path / "obj" / "foot.obj")]
    assert caught.value.line == 299


@pytest.mark.parametrize("name", ["fullbody1", "shapes", "softBodies", "vehicle"])
def test_worlds_can_be_stepped(name: str, dart_data: Path):
    world = skel.read(dart_data / "skel" / f"{name}.skel")
    world.step(100)
    assert world.num_steps == 100
    assert all(np.isfinite(skeleton.positions).all() for skeleton in world.skeletons)
