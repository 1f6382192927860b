"""Inverse differential kinematics: least squares and hierarchies by NumPy, limits by what they mean, daqp and pink."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy.optimize import linprog

import kido
from kido.ik import CollisionAvoidance, DifferentialIK, HalfSpaces, InfeasibleError, Task
from kido.ik.engine.build import compile_tasks
from kido.ik.engine.residuals import evaluate
from trees import random_skeleton, random_state, random_transform

H = 1e-3  # [s] a step
FREE = {"position_limits": False, "velocity_limits": False}
EXACT = {**FREE, "least_singular_value": 0.0}


def arm(n: int = 7, length: float = 0.3) -> kido.Skeleton:
    """n links in a row, turning about z and y in turn, along x."""
    skeleton = kido.Skeleton("arm")
    body = None
    for k in range(n):
        offset = np.eye(4)
        offset[0, 3] = length if k else 0.0
        joint = kido.RevoluteJoint(axis=(0, 0, 1) if k % 2 == 0 else (0, 1, 0), transform_from_parent=offset)
        inertia = kido.Inertia.from_diagonal(1.0, [0.01] * 3)
        body = skeleton.add_body(f"link{k}", joint, body, inertia)
    return skeleton


def tip(skeleton: kido.Skeleton, length: float = 0.3) -> kido.EndEffector:
    X = np.eye(4)
    X[0, 3] = length
    return kido.EndEffector(skeleton.bodies[-1], "tip", X)


def rows(skeleton, task, dofs=None):
    """Residual and Jacobian of a task's equations at the current positions."""
    dofs = np.arange(skeleton.num_dofs) if dofs is None else dofs
    made = compile_tasks(skeleton, [task], dofs)
    data = kido.tree.data_for(skeleton.state.tree)
    assert evaluate(skeleton.state.tree.address, data.address, made.address, skeleton.positions) == 0
    return made.e.copy(), made.J.copy()


def stacked(skeleton, tasks):
    """J, wished velocities and weights of tasks."""
    parts = [rows(skeleton, t) for t in tasks]
    J = np.concatenate([p[1] for p in parts])
    v = np.concatenate([-t.gain * p[0] for t, p in zip(tasks, parts, strict=True)])
    return J, v, np.concatenate([np.asarray(t.weights) for t in tasks])


@pytest.mark.parametrize("seed", range(5))
def test_one_level_is_damped_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    skeleton = random_skeleton(seed, 12)
    skeleton.positions = q = random_state(skeleton, seed)[0]
    tasks = [
        Task.pose(skeleton.bodies[-1], random_transform(rng), weights=rng.uniform(0.1, 3.0, 6), gain=3.0),
        Task.com(random_transform(rng), weights=0.5, gain=2.0),
        Task.posture(random_state(skeleton, seed + 1)[0], weights=rng.uniform(0.0, 0.3, len(q))),
    ]
    u = DifferentialIK(skeleton, tasks, damping=1e-3, error_damping=1e-2, **EXACT).velocities(H)
    J, v, w = stacked(skeleton, tasks)
    damping = 1e-3 + 1e-2 * ((w * v) ** 2).sum()
    expected = np.linalg.solve(J.T @ (w[:, None] ** 2 * J) + damping * np.eye(len(q)), J.T @ (w**2 * v))
    np.testing.assert_allclose(u, expected, rtol=1e-8, atol=1e-10)  # conditions up to 1e5
    np.testing.assert_array_equal(skeleton.positions, q)


def prioritized(skeleton, levels, damping):
    """u by null-space projection (Siciliano, Slotine 1991), with singular value decompositions; Jacobians by level."""
    n = skeleton.num_dofs
    u, Z, above = np.zeros(n), np.eye(n), []
    for tasks in levels:
        J, v, w = stacked(skeleton, tasks)
        A = w[:, None] * (J @ Z)
        hessian = A.T @ A + damping * np.eye(Z.shape[1])
        u = u + Z @ np.linalg.solve(hessian, A.T @ (w * (v - J @ u)) - damping * Z.T @ u)
        above.append(J)
        _, s, V = np.linalg.svd(np.concatenate(above))
        Z = V[int((s > 1e-9 * s[0]).sum()) :].T
    return u, above


@pytest.mark.parametrize("seed", range(5))
def test_lower_levels_never_disturb_higher_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    skeleton = random_skeleton(seed, 14, ("revolute", "ball", "free", "prismatic"))
    skeleton.positions = random_state(skeleton, seed)[0]
    a, b, c = skeleton.bodies[-1], skeleton.bodies[-2], skeleton.bodies[5]
    first = Task.pose(a, random_transform(rng), priority=0, gain=3.0)
    second = Task.pose(b, random_transform(rng), priority=3, gain=5.0, weights=2.0)
    third = Task.position(c, random_transform(rng), priority=4)
    fourth = Task.posture(random_state(skeleton, 9)[0], priority=11)
    all_levels = [[first], [second], [third], [fourth]]
    # The same directions, in an order that is not that of levels; damping as in the reference.
    u = DifferentialIK(skeleton, [fourth, third, first, second], damping=1e-8, **EXACT).velocities(H)
    expected, _ = prioritized(skeleton, all_levels, 1e-8)
    np.testing.assert_allclose(u, expected, atol=1e-6 * max(1.0, np.abs(expected).max()))  # condition 1e8
    alone = DifferentialIK(skeleton, [first], damping=1e-8, **EXACT).velocities(H)
    J, _, _ = stacked(skeleton, [first])
    assert np.abs(J @ (u - alone)).max() < 1e-9 * max(1.0, np.abs(u).max())
    two = DifferentialIK(skeleton, [first, second], damping=1e-8, **EXACT).velocities(H)
    J, _, _ = stacked(skeleton, [first, second])
    assert np.abs(J @ (u - two)).max() < 1e-9 * max(1.0, np.abs(u).max())


def test_the_same_task_twice_and_levels_without_room() -> None:
    skeleton = arm(3)
    skeleton.positions = [0.3, -0.4, 0.5]
    end = tip(skeleton)
    one = Task.position(end, np.eye(4), gain=1.0)
    other = Task.position(end, random_transform(np.random.default_rng(0)), gain=1.0, priority=1)
    u = DifferentialIK(skeleton, [one, other, Task.posture([1, 1, 1], priority=2)], **EXACT).velocities(H)
    np.testing.assert_allclose(u, DifferentialIK(skeleton, [one], **EXACT).velocities(H), atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_hierarchies_with_limits_against_daqp(seed: int) -> None:
    """Level by level: what the levels above achieved is an equation of the next program."""
    daqp = pytest.importorskip("daqp")
    rng = np.random.default_rng(seed)
    skeleton = arm(9)
    skeleton.positions = rng.uniform(-1, 1, 9)
    end = tip(skeleton)
    levels = [
        [Task.position(end, random_transform(rng), gain=5.0)],
        [Task.orientation(end, random_transform(rng), gain=2.0, priority=1)],
        [Task.posture(rng.uniform(-1, 1, 9), gain=3.0, priority=2)],
    ]
    damping = 1e-6
    ik = DifferentialIK(
        skeleton, [t for level in levels for t in level], damping=damping, velocity_limits=0.4, least_singular_value=0.0
    )
    u = ik.velocities(H)
    above, achieved = np.zeros((0, 9)), np.zeros(0)
    for tasks in levels:
        J, v, w = stacked(skeleton, tasks)
        hessian = J.T @ (w[:, None] ** 2 * J) + damping * np.eye(9)
        bound = np.r_[np.full(9, 0.4), achieved]
        sense = np.r_[np.zeros(9), np.full(len(achieved), 5)].astype(np.int32)
        low = np.r_[np.full(9, -0.4), achieved]
        x, _, status, _ = daqp.solve(
            hessian, -J.T @ (w**2 * v), np.ascontiguousarray(above), bound, low, sense, primal_tol=1e-8
        )
        assert status == 1
        rank = np.linalg.matrix_rank(np.concatenate([above, J]), tol=1e-9)
        rows_ = np.concatenate([above, J])
        # Rows that add nothing would make daqp's equations dependent.
        keep: list[int] = []
        for k in range(len(rows_)):
            if np.linalg.matrix_rank(rows_[[*keep, k]], tol=1e-9) > len(keep):
                keep.append(k)
        assert len(keep) == rank
        above, achieved = rows_[keep], rows_[keep] @ x
    np.testing.assert_allclose(u, x, atol=1e-6)  # daqp's equations are met to 1e-8
    assert np.abs(u).max() <= 0.4 + 1e-9


def test_steps_arrive_and_return_velocities() -> None:
    skeleton = arm()
    skeleton.positions = np.linspace(0.2, 0.8, 7)
    end = tip(skeleton)
    X = end.world_transform.copy()
    X[:3, 3] += [-0.1, 0.1, 0.2]
    ik = DifferentialIK(skeleton, Task.pose(end, X, gain=10.0))
    before = skeleton.positions
    u = ik.velocities(H)
    np.testing.assert_array_equal(ik.step(H), u)
    np.testing.assert_array_equal(skeleton.velocities, u)
    np.testing.assert_allclose(skeleton.positions, before + H * u, atol=1e-15)
    start = np.linalg.norm(ik.residual(0))
    for _ in range(99):
        ik.step(H)
    assert abs(np.linalg.norm(ik.residual(0)) / start - (1 - 10 * H) ** 99) < 2e-3  # Euler steps: first order in H
    for _ in range(3000):
        ik.step(H)
    np.testing.assert_allclose(end.world_transform, X, atol=1e-9)


def test_positions_are_moved_on_the_manifold() -> None:
    body = kido.Skeleton("body")
    body.add_body("body", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(1.0, [1, 1, 1]))
    X = random_transform(np.random.default_rng(2))
    ik = DifferentialIK(body, Task.pose(body.bodies[0], X, gain=10.0), **FREE)
    q = body.positions
    u = ik.step(0.01)
    np.testing.assert_allclose(body.positions, body.integrate_positions(q, 0.01 * u), atol=1e-15)
    for _ in range(400):
        ik.step(0.01)
    np.testing.assert_allclose(body.bodies[0].world_transform, X, atol=1e-10)


# Limits ----------------------------------------------------------------------------------------------------------


def test_limits_hold_while_a_target_is_out_of_reach() -> None:
    skeleton = arm()
    for joint in skeleton.joints:
        joint.position_lower_limit, joint.position_upper_limit = -0.7, 0.5
        joint.velocity_limit = 0.8
    skeleton.positions = np.full(7, 0.1)
    far = np.eye(4)
    far[:3, 3] = [-3.0, 1.0, 1.0]
    ik = DifferentialIK(skeleton, [Task.position(tip(skeleton), far, gain=5.0)], acceleration_limits=4.0)
    before = np.zeros(7)
    ik.step(H)
    for k in range(3000):
        u = ik.step(H)
        assert np.abs(u).max() <= 0.8 + 1e-12
        assert k == 0 or np.abs(u - before).max() <= 4.0 * H + 1e-9
        before = u
        q = skeleton.positions
        assert q.min() >= -0.7 - 1e-12 and q.max() <= 0.5 + 1e-12
    assert (np.minimum(q + 0.7, 0.5 - q) < 1e-3).sum() >= 3  # it went as far as it could


def test_violated_limits_come_back_slowly() -> None:
    skeleton = arm()
    for joint in skeleton.joints:
        joint.position_lower_limit, joint.position_upper_limit = -0.5, 0.5
    skeleton.positions = q = np.array([0.9, -2.0, 0.5, 0.0, 0.5001, 0.3, -0.3])
    ik = DifferentialIK(skeleton, [Task.position(tip(skeleton), np.eye(4), gain=100.0)], recovery_speed=0.5)
    u = ik.velocities(H)
    assert u[0] <= -0.5 + 1e-9 and u[1] >= 0.5 - 1e-9 and u[4] <= -0.05 + 1e-9
    still = DifferentialIK(skeleton, recovery_speed=0.5)  # no tasks: nothing but what must be
    np.testing.assert_allclose(still.velocities(H), [-0.5, 0.5, 0, 0, -0.05, 0, 0], atol=1e-9)
    for _ in range(4000):
        ik.step(H)
    assert np.abs(skeleton.positions).max() <= 0.5 + 1e-12
    skeleton.positions = q
    ik = DifferentialIK(skeleton, velocity_limits=0.1)  # slower than the recovery: velocity limits come first
    np.testing.assert_allclose(ik.velocities(H), [-0.1, 0.1, 0, 0, -0.05, 0, 0], atol=1e-9)


def test_limits_of_free_joints() -> None:
    box = kido.Skeleton("box")
    joint = kido.FreeJoint()
    box.add_body("body", joint, inertia=kido.Inertia.from_diagonal(1.0, [1, 1, 1]))
    joint.position_upper_limit = [0.3, np.inf, np.inf, np.inf, 0.2, np.inf]
    X = np.eye(4)
    X[:3, :3] = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
    X[:3, 3] = 1.0
    box.positions = [0.0, 0.4, 0.2, 0.0, 0.0, 0.0]
    ik = DifferentialIK(box, Task.pose(box.bodies[0], X, gain=5.0))
    for _ in range(3000):
        ik.step(H)
        q = box.positions
        assert q[0] <= 0.3 + 1e-6 and q[4] <= 0.2 + 1e-6  # charts are curved: second order in a step
    np.testing.assert_allclose(q[[0, 3, 4, 5]], [0.3, 1.0, 0.2, 1.0], atol=1e-3)


def test_constraints_hold_exactly() -> None:
    skeleton = arm(9)
    skeleton.positions = np.linspace(-0.3, 0.6, 9)
    end = tip(skeleton)
    middle = skeleton.bodies[4]
    ik = DifferentialIK(
        skeleton,
        [Task.posture(np.full(9, 0.5), gain=5.0)],
        [Task.position(end, end.world_transform)],
    )
    for _ in range(500):
        ik.step(H)
    assert np.abs(ik.residual(ik.constraints[0])).max() < 1e-6  # curvature times the square of a step, each halved
    # An inequality: the middle stays below a height.
    height = middle.world_transform[2, 3] + 0.02
    plane = np.eye(4)
    plane[2, 3] = height
    up = np.eye(4)
    up[:3, 3] = middle.world_transform[:3, 3] + [0, 0, 0.5]
    ik = DifferentialIK(skeleton, [Task.position(middle, up, gain=5.0)], [Task.plane(middle, plane, (-np.inf, 0.0))])
    for _ in range(1000):
        ik.step(H)
        assert middle.world_transform[2, 3] <= height + 1e-7
    assert middle.world_transform[2, 3] > height - 1e-4


def test_ranges_of_tasks_cost_nothing_inside() -> None:
    skeleton = arm()
    skeleton.positions = np.linspace(0.2, 0.8, 7)
    end = tip(skeleton)
    box = Task.position(end, end.world_transform, 0.1, gain=5.0, priority=0)
    posture = Task.posture(np.zeros(7), gain=3.0, priority=1)
    free = DifferentialIK(skeleton, [posture], **FREE).velocities(H)
    np.testing.assert_allclose(DifferentialIK(skeleton, [box, posture], **FREE).velocities(H), free, atol=1e-6)
    ik = DifferentialIK(skeleton, [box, posture])
    for _ in range(1500):
        ik.step(H)
        assert np.abs(ik.residual(box)[3:]).max() < 0.1 + 5e-5  # curvature times the square of a step
    assert np.abs(ik.residual(box)[3:]).max() > 0.1 - 1e-3
    # Outside at the start it comes back at its gain; to the middle if that is asked for.
    far = np.eye(4)
    far[:3, 3] = end.world_transform[:3, 3] + [0.3, 0.0, 0.0]
    for to_middle, bound in ((False, 0.1), (True, 0.0)):
        task = Task.position(end, far, 0.1, gain=5.0, error_from_center=to_middle)
        ik = DifferentialIK(skeleton, [task], **EXACT)
        u = ik.velocities(H)
        _, J = rows(skeleton, Task.position(end, far))
        e = ik.residual(0)
        assert abs(J[3] @ u + 5.0 * (e[3] + bound)) < 1e-4


def test_half_spaces_and_support() -> None:
    skeleton = arm()
    skeleton.positions = np.full(7, 0.3)
    corners = skeleton.com[:2] + 0.03 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    support = HalfSpaces.support(skeleton, margin=0.01, polygon=corners)
    far = np.eye(4)
    far[:3, 3] = [0.2, 1.5, 0.5]
    ik = DifferentialIK(
        skeleton, [Task.position(tip(skeleton), far, gain=3.0)], half_spaces=[support], velocity_limits=1.0
    )
    for _ in range(2000):
        ik.step(H)
        assert (np.abs(skeleton.com[:2] - corners.mean(axis=0)) <= 0.02 + 5e-5).all()
    assert np.abs(skeleton.com[:2] - corners.mean(axis=0)).max() > 0.019
    with pytest.raises(kido.ModelError, match="three corners"):
        HalfSpaces.support(skeleton)
    with pytest.raises(kido.ModelError, match="zero"):
        HalfSpaces(Task.com(), [[0, 0, 0]], 1.0)
    with pytest.raises(kido.ModelError, match=r"Task\.com"):
        HalfSpaces(Task.look_at(skeleton.bodies[0]), [[0, 0, 1]], 1.0)


def test_a_camera_keeps_its_target_in_a_cone() -> None:
    skeleton = arm()
    skeleton.positions = np.linspace(0.1, 0.5, 7)
    end = tip(skeleton)
    ahead = end.world_transform.copy()
    ahead[:3, 3] += 2.0 * ahead[:3, 0]
    sight = Task.look_at(end, ahead, (1, 0, 0), cone=0.1)
    ik = DifferentialIK(skeleton, [Task.posture(np.full(7, -0.8), gain=2.0)], [sight])
    for _ in range(1500):
        ik.step(H)
        towards = ahead[:3, 3] - end.world_transform[:3, 3]
        angle = np.arccos(end.world_transform[:3, 0] @ towards / np.linalg.norm(towards))
        assert angle < 0.1 + 5e-5
    assert angle > 0.099


def test_avoidance_of_obstacles_and_of_itself() -> None:
    skeleton = arm()
    for body in skeleton.bodies:
        X = np.eye(4)
        X[:3, :3] = [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]
        X[0, 3] = 0.15
        body.add_shape(kido.Capsule(0.04, 0.2), X)
    skeleton.positions = np.array([0.1, 0.2, 0.1, 0.2, 0.1, 0.2, 0.1])
    end = tip(skeleton)
    place = kido.SimpleFrame(transform=[0.9, 0.6, -0.6])
    ball = kido.collision.Placed(kido.Sphere(0.15), place)
    keep = CollisionAvoidance(skeleton, ball, distance=0.02, influence=0.3)
    itself = CollisionAvoidance(skeleton, distance=0.01)
    ik = DifferentialIK(skeleton, [Task.position(end, place, gain=2.0)], avoid=[keep, itself], velocity_limits=2.0)
    group = kido.collision.KidoCollisionDetector()
    mine, its = group.create_group(skeleton), group.create_group(ball)
    least = np.inf
    for _ in range(400):
        ik.step(5e-3)
        least = min(least, mine.distance(its).distance)
    assert 0.02 - 1e-4 < least < 0.05
    # What a row says is what the distance does.
    a, b, before = min(ik.distances, key=lambda item: item[2])
    ik.step(1e-6)
    ik.velocities(1e-6)
    after = next(d for c, e, d in ik.distances if c is a and e is b)
    assert abs(after - before) <= 0.5 * max(before - 0.02, 0.0) + 1.01e-6  # or the recovery speed
    # The obstacle comes nearer: the arm gives way.
    for _ in range(100):
        X = place.relative_transform.copy()
        X[:3, 3] += 1e-3 * np.array([0, -1, 1])
        place.relative_transform = X
        ik.step(5e-3)
    assert mine.distance(its).distance > 0.015


def test_too_near_at_the_start_comes_apart() -> None:
    skeleton = arm(2)
    for body in skeleton.bodies:
        body.add_shape(kido.Sphere(0.05))
    wall = kido.collision.Placed(kido.Sphere(0.1), None, [0.3, 0.14, 0.0])
    ik = DifferentialIK(skeleton, avoid=[CollisionAvoidance(skeleton, wall, distance=0.02)], recovery_speed=0.1)
    distance = []
    for _ in range(500):
        ik.step(H)
        distance += [d for *_, d in ik.distances if np.isfinite(d)][:1]
    assert distance[0] < -0.005
    assert max(np.diff(distance)) <= 0.1 * H + 1e-6
    assert abs(distance[-1] - 0.02) < 1e-4


# Singularities -----------------------------------------------------------------------------------------------------


def test_stretched_arms_stay_calm_and_arrive() -> None:
    skeleton = arm(6)
    skeleton.positions = np.full(6, 1e-4)
    end = tip(skeleton)
    out = end.world_transform.copy()
    out[0, 3] += 1.0  # out of reach, straight ahead
    ik = DifferentialIK(skeleton, [Task.position(end, out, gain=10.0)], **FREE)
    assert np.abs(ik.velocities(H)).max() < 10.0 / 0.02
    inward = end.world_transform.copy()
    inward[0, 3] -= 0.4
    ik = DifferentialIK(skeleton, [Task.position(end, inward, gain=10.0)])
    for _ in range(3000):
        u = ik.step(H)
        assert np.abs(u).max() < 10.0 * 0.4 / 0.02
    assert np.abs(ik.residual(0)).max() < 1e-6


def test_the_filter_is_that_of_its_definition() -> None:
    skeleton = arm(6)
    skeleton.positions = np.array([0.3, 0.005, -0.004, 0.006, 0.003, 0.002])
    end = tip(skeleton)
    X = end.world_transform.copy()
    X[:3, 3] += [0.1, -0.2, 0.1]
    task = Task.pose(end, X, gain=2.0)
    e, J = rows(skeleton, task)
    U, s, _ = np.linalg.svd(J)
    least = 0.05
    assert s[-1] < least < s[0]
    wish = U @ (np.minimum(1.0, (s / least) ** 2) * (U.T @ (-2.0 * e)))
    u = DifferentialIK(skeleton, [task], least_singular_value=least, damping=1e-12, **FREE).velocities(H)
    np.testing.assert_allclose(J @ u, wish, atol=1e-6)  # damping 1e-12 beside singular values of 1e-3
    np.testing.assert_allclose(
        DifferentialIK(skeleton, [task], least_singular_value=1e-9, damping=1e-12, **FREE).velocities(H) @ J.T,
        -2.0 * e, atol=1e-4,
    )  # fmt: skip


# Edges --------------------------------------------------------------------------------------------------------------


def test_nothing_to_move_and_nothing_to_do() -> None:
    welded = kido.Skeleton("welded")
    body = welded.add_body("body", kido.WeldJoint(), inertia=kido.Inertia.from_diagonal(1.0, [1, 1, 1]))
    ik = DifferentialIK(welded, [Task.pose(body, np.eye(4))])
    assert ik.velocities(H).shape == (0,)
    skeleton = arm(3)
    np.testing.assert_array_equal(DifferentialIK(skeleton).velocities(H), 0.0)
    np.testing.assert_array_equal(DifferentialIK(skeleton, [Task.posture([1, 1, 1])], dofs=[]).velocities(H), 0.0)
    u = DifferentialIK(skeleton, [Task.posture([1, 1, 1])], dofs=[2, 0]).velocities(H)
    assert u[1] == 0.0 and u[0] > 0.9 and u[2] > 0.9


def test_everything_locked() -> None:
    skeleton = arm(4)
    skeleton.positions = q = np.array([0.1, 0.2, 0.3, 0.4])
    for joint, x in zip(skeleton.joints, q, strict=True):
        joint.position_lower_limit = joint.position_upper_limit = x
    ik = DifferentialIK(skeleton, [Task.position(tip(skeleton), np.eye(4), gain=10.0)])
    np.testing.assert_allclose(ik.step(H), 0.0, atol=1e-12)
    zero = DifferentialIK(skeleton, [Task.posture(np.ones(4))], velocity_limits=0.0, position_limits=False)
    np.testing.assert_allclose(zero.velocities(H), 0.0, atol=1e-30)


def test_contradictions_are_named() -> None:
    skeleton = arm()
    skeleton.positions = np.linspace(0.1, 0.7, 7)
    end = tip(skeleton)
    here = end.world_transform
    there = here.copy()
    there[0, 3] += 0.1
    q = skeleton.positions
    ik = DifferentialIK(skeleton, [], [Task.position(end, here), Task.position(end, there)])
    with pytest.raises(InfeasibleError, match="contradict") as caught:
        ik.step(H)
    assert any("constraints[" in name and "tip" in name for name in caught.value.conflict)
    np.testing.assert_array_equal(skeleton.positions, q)
    ik.constraints = [Task.position(end, here), Task.position(end, here)]  # twice the same is none
    np.testing.assert_allclose(ik.step(H), 0.0, atol=1e-9)
    # A target that asks for more speed than limits allow.
    ik = DifferentialIK(skeleton, [], [Task.position(end, there)], velocity_limits=0.01)
    with pytest.raises(InfeasibleError, match="no velocity") as caught:
        ik.velocities(H)
    assert any("limits of dof" in name for name in caught.value.conflict)
    assert any("equations" in name for name in caught.value.conflict)
    twin = pickle.loads(pickle.dumps(caught.value))
    assert twin.conflict == caught.value.conflict and str(twin) == str(caught.value)


def least_violation(ik: DifferentialIK) -> float:
    """The least t for which some u misses no bound and hard row by more than t times the size of the row: linprog."""
    made = ik._stepper.made.own
    n, m = len(made.bound_low), made.hard_rows
    A = np.concatenate([made.hard_J[:m], np.eye(n)])
    low, high = np.r_[made.hard_low[:m], made.bound_low], np.r_[made.hard_high[:m], made.bound_high]
    size = np.maximum(np.linalg.norm(A, axis=1), 1.0)
    both = np.concatenate([np.c_[A, -size * (1.0 + np.abs(high))], np.c_[-A, -size * (1.0 + np.abs(low))]])
    right = np.r_[high, -low]
    used = np.isfinite(right)
    objective = np.r_[np.zeros(n), 1.0]
    return linprog(objective, both[used], right[used], bounds=[(None, None)] * n + [(0.0, None)]).x[-1]


def test_what_is_infeasible_is_so() -> None:
    """Scenes that begin beyond limits, with accelerations limited: linprog finds no velocities where none are found.

    Its own tolerance is 1e-7. Limits of coordinates, among them those of ball and free joints, contradict each other in
    one scene of these; with a half space and a range for two bodies some more do.
    """
    rng, failed = np.random.default_rng(0), [0, 0]
    for scene in range(24):
        kinds = ("revolute", "prismatic", "ball", "free") if scene % 2 else ("revolute", "prismatic")
        skeleton = random_skeleton(scene, 10, kinds)
        skeleton.positions = q = random_state(skeleton, scene)[0]
        for k, dof in enumerate(skeleton.dofs):
            width = rng.uniform(0.1, 1.0)
            middle = q[k] + 0.45 * width * rng.normal()
            dof.position_lower_limit, dof.position_upper_limit = middle - width, middle + width
            dof.velocity_upper_limit = rng.uniform(0.2, 2.0)
            dof.velocity_lower_limit = -dof.velocity_upper_limit
        bodies = skeleton.bodies
        normals, p = rng.normal(size=(2, 3)), bodies[4].world_transform[:3, 3]
        normals /= np.linalg.norm(normals, axis=1)[:, None]
        spaces = HalfSpaces(Task.position(bodies[4]), normals, normals @ p + rng.uniform(-0.01, 0.1, 2))
        near = Task.position(bodies[-1], bodies[-1].world_transform, rng.uniform(0.05, 0.3))
        tasks = [
            Task.pose(bodies[-1], random_transform(rng), gain=5.0),
            Task.posture(random_state(skeleton, scene + 7)[0], 0.1, priority=1, gain=5.0),
        ]
        for more in (False, True):
            skeleton.positions = q
            ik = DifferentialIK(
                skeleton, tasks, [near] if more else [], half_spaces=[spaces] if more else [],
                acceleration_limits=rng.uniform(1.0, 20.0), recovery_speed=rng.uniform(0.05, 1.0),
            )  # fmt: skip
            try:
                for _ in range(30):
                    ik.step(0.01)
            except InfeasibleError:
                failed[more] += 1
                assert least_violation(ik) > 1e-6
    assert failed[0] <= 2 and failed[1] <= 12


def test_bad_numbers_are_refused() -> None:
    skeleton = arm()
    end = tip(skeleton)
    ik = DifferentialIK(skeleton, [Task.pose(end, np.eye(4))])
    for dt in (0.0, -1e-3, np.nan, np.inf, "x", None):
        with pytest.raises(kido.StateError, match="dt"):
            ik.step(dt)
    with pytest.raises(kido.ModelError, match="finite"):
        ik.set_target(0, np.full((4, 4), np.nan))
    with pytest.raises(kido.ModelError, match="task"):
        ik.set_target(3, np.eye(4))
    with pytest.raises(kido.ModelError, match="damping"):
        DifferentialIK(skeleton, damping=0.0)
    with pytest.raises(kido.ModelError, match="share"):
        ik.share = 1.5
    with pytest.raises(kido.ModelError, match="velocity_limits"):
        DifferentialIK(skeleton, velocity_limits=-1.0)
    with pytest.raises(kido.ModelError, match="velocity_limits"):
        ik.velocity_limits = [1.0, 2.0]
    assert ik.velocity_limits is True
    with pytest.raises(kido.ModelError, match="tasks"):
        ik.tasks = [3]
    with pytest.raises(kido.ModelError, match="twice"):
        DifferentialIK(skeleton, dofs=[1, 1])
    with pytest.raises(kido.ModelError, match="expected a skeleton"):
        DifferentialIK(skeleton.bodies[0])
    with pytest.raises(kido.ModelError, match="distance"):
        CollisionAvoidance(skeleton, distance=1.0, influence=0.5)
    with pytest.raises(kido.ModelError, match="not of"):
        DifferentialIK(arm(3), [Task.pose(end, np.eye(4))])
    assert ik.step(H).shape == (7,)


# Targets, copies, edits -----------------------------------------------------------------------------------------------


def test_targets_move() -> None:
    skeleton = arm()
    skeleton.positions = np.linspace(0.2, 0.8, 7)
    end = tip(skeleton)
    frame = kido.SimpleFrame(transform=end.world_transform)
    by_frame = DifferentialIK(skeleton, [Task.pose(end, frame, gain=10.0), Task.posture(skeleton.positions, 0.1)])
    by_hand = DifferentialIK(skeleton, [Task.pose(end, np.eye(4), gain=10.0), Task.posture(np.zeros(7), 0.1)])
    by_hand.set_target(1, skeleton.positions)
    X = end.world_transform.copy()
    X[:3, 3] += 0.05
    frame.relative_transform = X
    by_hand.set_target(by_hand.tasks[0], X)
    np.testing.assert_allclose(by_frame.velocities(H), by_hand.velocities(H), atol=1e-12)
    np.testing.assert_array_equal(by_hand.tasks[0].target, X)
    by_hand.set_target(0, frame)
    np.testing.assert_allclose(by_frame.velocities(H), by_hand.velocities(H), atol=1e-12)


def test_copies_are_equal_and_independent() -> None:
    skeleton = arm()
    skeleton.positions = np.linspace(0.2, 0.8, 7)
    end = tip(skeleton)
    ik = DifferentialIK(
        skeleton, [Task.position(end, np.eye(4), gain=2.0)], half_spaces=[HalfSpaces(Task.com(), [[0, 0, 1]], 5.0)]
    )
    expected = ik.velocities(H)
    for twin in (copy.deepcopy(ik), pickle.loads(pickle.dumps(ik))):
        assert twin.skeleton is not skeleton
        np.testing.assert_array_equal(twin.step(H), expected)
    np.testing.assert_array_equal(skeleton.positions, np.linspace(0.2, 0.8, 7))
    both, other = copy.deepcopy((skeleton, ik))
    assert other.skeleton is both


def test_edits_of_the_skeleton_are_seen() -> None:
    skeleton = arm(3)
    skeleton.positions = [0.2, 0.3, 0.4]
    ik = DifferentialIK(skeleton, [Task.com([[1, 0, 0, 0.3], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], gain=100.0)])
    ik.step(H)
    skeleton.joints[1].velocity_limit = 1e-3
    u = ik.velocities(H)
    assert abs(u[1]) <= 1e-3 + 1e-12
    skeleton.add_body("more", kido.RevoluteJoint(), skeleton.bodies[-1], kido.Inertia.from_diagonal(1.0, [1, 1, 1]))
    assert ik.velocities(H).shape == (4,)


def test_in_a_world() -> None:
    skeleton = arm()
    skeleton.positions = np.linspace(0.2, 0.8, 7)
    task = Task.position(tip(skeleton), np.eye(4), gain=2.0)
    expected = DifferentialIK(skeleton, [task]).velocities(H)
    world = kido.World()
    world.add_skeleton(skeleton)
    ik = DifferentialIK(skeleton, [task])
    np.testing.assert_allclose(ik.velocities(H), expected, atol=1e-12)
    world.step(3)
    ik.step(H)
    assert np.isfinite(skeleton.positions).all()
