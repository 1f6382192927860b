"""Residuals of inverse kinematics from their definitions, and Jacobians by differences on the manifold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kido
from kido.ik import Task
from kido.ik.engine import residuals
from kido.ik.engine.build import compile_tasks
from manifold import along_positions
from trees import random_skeleton, random_state, random_transform

FREE = ((-np.inf,) * 3, (np.inf,) * 3)


class Compiled:
    """Tasks of a skeleton at any positions."""

    def __init__(self, skeleton, tasks, dofs=None):
        self.skeleton = skeleton
        skeleton.state.compiled()
        self.dofs = np.arange(skeleton.num_dofs) if dofs is None else np.asarray(dofs)
        self.tasks = compile_tasks(skeleton, tasks, self.dofs)
        self.tree, self.data = skeleton.state.tree, kido.tree.data_for(skeleton.state.tree)

    def at(self, q):
        assert residuals.evaluate(self.tree.address, self.data.address, self.tasks.address, np.array(q, float)) == 0
        return self.tasks.e.copy(), self.tasks.J.copy()

    def e(self, q):
        return self.at(q)[0]


def displacement(node, target, q):
    """X_TB at positions q, by the skeleton's own queries."""
    node._carrier[0].skeleton.positions = q
    X_T = target.world_transform if isinstance(target, kido.Frame) else target
    return np.linalg.inv(X_T) @ node.world_transform


def jacobian_error(compiled, q):
    J = along_positions(lambda x: compiled.e(x), compiled.skeleton, q)
    return np.abs(J[:, compiled.dofs] - compiled.at(q)[1]).max() / max(1.0, np.abs(J).max())


def scene(seed):
    """A random tree with every kind of joint, an end effector, and a target on another of its bodies."""
    skeleton = random_skeleton(seed, 14)
    rng = np.random.default_rng(seed)
    tip = skeleton.bodies[-1].create_node(kido.EndEffector, "tip", random_transform(rng))
    other = skeleton.bodies[int(rng.integers(13))]
    riding = kido.SimpleFrame(other, "riding")
    riding.relative_transform = random_transform(rng)
    q = random_state(skeleton, seed)[0]
    return skeleton, tip, riding, q, rng


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rides", [False, True])
def test_pose_is_the_displacement_from_the_target(seed: int, rides: bool) -> None:
    skeleton, tip, riding, q, rng = scene(seed)
    target = riding if rides else random_transform(rng)
    for bounds, angles in ((None, "rotvec"), (((-np.inf, -9.0, -9.0), (np.inf, -9.0, -9.0)), "XYZ")):
        compiled = Compiled(skeleton, [Task.pose(tip, target, bounds, weights=3.0)])
        X = displacement(tip, target, q)
        turn = Rotation.from_matrix(X[:3, :3])
        expected = turn.as_rotvec() if angles == "rotvec" else turn.as_euler("XYZ") + 9.0
        if angles == "XYZ":
            expected[0] = 0.0
        # 14 bodies' transforms apart, and the angle's conditioning.
        np.testing.assert_allclose(compiled.e(q), [*expected, *X[:3, 3]], atol=1e-11)
        assert jacobian_error(compiled, q) < 1e-6  # differences: 1e-10 / steps, near pi more


@pytest.mark.parametrize("seed", range(4))
def test_jacobians_of_all_kinds_of_tasks(seed: int) -> None:
    skeleton, tip, riding, q, rng = scene(seed)
    reference = random_state(skeleton, seed + 100)[0]
    fixed = random_transform(rng, 3.0)
    tasks = [
        Task.position(tip, fixed),
        Task.position(tip, riding),
        Task.orientation(tip, fixed),
        Task.plane(tip, riding),
        Task.look_at(tip, fixed, axis=rng.normal(size=3)),
        Task.look_at(tip, riding, axis=rng.normal(size=3)),
        Task.com(fixed),
        Task.com(riding),
        Task.posture(reference),
    ]
    for task in tasks:
        assert jacobian_error(Compiled(skeleton, [task]), q) < 1e-6
    some = rng.permutation(skeleton.num_dofs)[: skeleton.num_dofs // 2]
    assert jacobian_error(Compiled(skeleton, tasks, some), q) < 1e-6


def test_definitions_of_position_plane_com_and_look_at() -> None:
    skeleton, tip, riding, q, rng = scene(7)
    fixed = random_transform(rng, 3.0)
    axis = np.array([1.0, 2.0, -0.5]) / np.linalg.norm([1.0, 2.0, -0.5])
    tasks = [
        Task.position(tip, fixed), Task.plane(tip, riding), Task.com(fixed), Task.look_at(tip, fixed, axis),
        Task.look_at(tip, fixed, axis, cone=np.pi), Task.orientation(tip, fixed),
    ]  # fmt: skip
    e = Compiled(skeleton, tasks).e(q).reshape(-1, 6)
    skeleton.positions = q
    X, Y = displacement(tip, fixed, q), displacement(tip, riding, q)
    np.testing.assert_allclose(e[0], [0, 0, 0, *X[:3, 3]], atol=1e-12)
    np.testing.assert_allclose(e[1], [0, 0, 0, 0, 0, Y[2, 3]], atol=1e-12)
    com = fixed[:3, :3].T @ (skeleton.com - fixed[:3, 3])
    np.testing.assert_allclose(e[2], [0, 0, 0, *com], atol=1e-12)
    towards = np.linalg.inv(X)[:3, 3]
    towards /= np.linalg.norm(towards)
    turn = Rotation.from_rotvec(e[3, :3])
    np.testing.assert_allclose(turn.apply(towards), axis, atol=1e-12)  # the turn from the target's direction
    assert abs(np.linalg.norm(e[3, :3]) - np.arccos(axis @ towards)) < 1e-12
    np.testing.assert_array_equal(e[4], 0.0)
    np.testing.assert_allclose(e[5, :3], Rotation.from_matrix(X[:3, :3]).as_rotvec(), atol=1e-12)


def test_posture_differs_on_the_manifold() -> None:
    skeleton, _, _, q, _ = scene(5)
    reference = random_state(skeleton, 9)[0]
    e = Compiled(skeleton, [Task.posture(reference)]).e(q)
    expected = skeleton.position_differences(q, reference)
    for joint in skeleton.joints:
        if isinstance(joint, kido.FreeJoint):  # translation of its own: Ref^T (p - p_ref)
            k = joint.dofs[0].index
            R = Rotation.from_rotvec(reference[k : k + 3]).as_matrix()
            expected[k + 3 : k + 6] = R.T @ (q[k + 3 : k + 6] - reference[k + 3 : k + 6])
    np.testing.assert_allclose(e, expected, atol=1e-12)


@pytest.mark.parametrize("error_from_center", [False, True])
def test_bounds(error_from_center: bool) -> None:
    box = kido.Skeleton("box")
    body = box.add_body("body", kido.FreeJoint(), inertia=kido.Inertia(1.0, [0, 0, 0], np.eye(3)))
    task = Task.pose(
        body,
        None,
        ((-0.1,) * 3, (0.3,) * 3),
        ((-1.0, -np.inf, 0.5), (2.0, 0.25, 0.5)),
        error_from_center=error_from_center,
    )
    compiled = Compiled(box, [task])
    e, J = compiled.at([0.2, 0.0, 0.0, 1.5, -7.0, 0.5])
    np.testing.assert_array_equal(e, 0.0)
    assert np.flatnonzero(np.abs(J).sum(axis=1)).tolist() == [5]  # lower = upper is an equation, met or not
    e, _ = compiled.at([0.0, 0.5, 0.0, 2.5, 1.0, 0.0])
    np.testing.assert_allclose(
        e, [0, 0.4 if error_from_center else 0.2, 0, 2.0 if error_from_center else 0.5, 0.75, -0.5]
    )


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 1.0, np.pi - 1e-4, np.pi - 1e-9, np.pi])
def test_rotation_vectors_at_both_ends(angle: float) -> None:
    ball = kido.Skeleton("ball")
    body = ball.add_body("body", kido.BallJoint(), inertia=kido.Inertia(1.0, [0, 0, 0], np.eye(3)))
    rng = np.random.default_rng(3)
    for axis in [*np.eye(3), *-np.eye(3), *rng.normal(size=(20, 3))]:
        r = axis / np.linalg.norm(axis) * angle
        e = Compiled(ball, [Task.orientation(body)]).e(r)[:3]
        close = min(np.abs(e - r).max(), np.abs(e + r).max() if angle == np.pi else np.inf)
        assert close < 2e-15 * max(1.0, angle) + 3e-15  # a few ulp of the matrix


def test_look_at_straight_behind_and_ahead() -> None:
    ball = kido.Skeleton("ball")
    body = ball.add_body("body", kido.BallJoint(), inertia=kido.Inertia(1.0, [0, 0, 0], np.eye(3)))
    ahead, behind = np.eye(4), np.eye(4)
    ahead[2, 3], behind[2, 3] = 2.0, -2.0
    e, J = Compiled(ball, [Task.look_at(body, ahead)]).at([0, 0, 0])
    np.testing.assert_allclose(e, 0.0, atol=1e-15)
    np.testing.assert_allclose(J[:3], [[1, 0, 0], [0, 1, 0], [0, 0, 0]], atol=1e-12)
    e, _ = Compiled(ball, [Task.look_at(body, behind)]).at([0, 0, 0])
    assert abs(np.linalg.norm(e) - np.pi) < 1e-5 and abs(e[2]) < 1e-9
    e, J = Compiled(ball, [Task.look_at(body, np.eye(4))]).at([0, 0, 0])  # target at the node: no direction
    np.testing.assert_array_equal(e, 0.0)
    np.testing.assert_array_equal(J, 0.0)


def test_welded_bodies_and_common_ancestors() -> None:
    skeleton = random_skeleton(11, 12, ("weld", "revolute", "ball"))
    q = random_state(skeleton, 1)[0]
    task = Task.pose(skeleton.bodies[-1], skeleton.bodies[-1].parent)
    _, J = Compiled(skeleton, [task]).at(q)
    own = {d.index for d in skeleton.bodies[-1].parent_joint.dofs}
    moved = {int(k) for k in np.flatnonzero(np.abs(J).sum(axis=0) > 0.0)}
    assert moved <= own  # what moves both cancels exactly


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda b: Task.pose("b0"), "expected a body"),
        (lambda b: Task.pose(None), "expected a body"),
        (lambda b: Task.pose(b, np.full((4, 4), np.nan)), "finite"),
        (lambda b: Task.pose(b, None, np.nan), "expected numbers"),
        (lambda b: Task.pose(b, None, ((1, 1, 1), (0, 0, 0))), "above upper"),
        (lambda b: Task.pose(b, weights=-1.0), "weights"),
        (lambda b: Task.pose(b, weights=np.nan), "weights"),
        (lambda b: Task.pose(b, priority=-1), "priority"),
        (lambda b: Task.pose(b, gain=np.inf), "gain"),
        (lambda b: Task.pose(b, tolerance=(0.0, 1.0)), "tolerance"),
        (lambda b: Task.pose(b, tolerance=1.0), "tolerance"),
        (lambda b: Task.look_at(b, None, (0, 0, 0)), "zero vector"),
        (lambda b: Task.look_at(b, None, cone=4.0), "cone"),
        (lambda b: Task.posture([np.nan]), "finite"),
        (lambda b: Task.posture([1.0, 2.0], [1.0, 2.0, 3.0]), "weights"),
        (lambda b: compile_tasks(b.skeleton, [Task.posture([1.0])], [0]), "expected"),
    ],
)
def test_bad_tasks_are_refused(make, words: str) -> None:
    skeleton = random_skeleton(2, 3, ("revolute",))
    with pytest.raises(kido.ModelError, match=words):
        make(skeleton.bodies[0])
