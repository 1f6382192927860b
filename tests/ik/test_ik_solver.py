"""Positions for targets: reached ones by forward kinematics, closest ones by closed forms and SciPy."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy.optimize import least_squares

import kido
from ik_arms import arm7, errors, planar_arm, reachable
from kido.ik import IkSolver, IkStatus, Task
from trees import at, random_skeleton, random_transform


def within(skeleton, q) -> bool:
    tree = skeleton.state.tree
    return bool((q >= tree.lower).all() and (q <= tree.upper).all())


def test_reachable_targets_are_met_within_limits() -> None:
    arm = arm7()
    tip = arm.node("tip")
    solver = IkSolver(tip)
    for q, X in zip(*reachable(arm, tip, 300, 0), strict=True):
        found = solver.solve(X)
        assert found and found.success and found.status == IkStatus.MET
        assert within(arm, found.positions)
        angle, distance = errors(arm, tip, found.positions, X)
        assert angle < 1e-6 and distance < 1e-6
        assert abs(angle - found.angular_error) < 1e-12 and abs(distance - found.linear_error) < 1e-12
        again = solver.solve(X, start=q)  # where it starts at the answer it stays
        assert again.iterations == 0 and np.abs(again.positions - q).max() < 1e-9
    np.testing.assert_array_equal(arm.positions, 0.0)  # the skeleton's own state is its own


def test_same_arguments_give_the_same_bits() -> None:
    arm = arm7()
    _, targets = reachable(arm, arm.node("tip"), 20, 1)
    first, second = IkSolver(arm.node("tip"), seed=3), IkSolver(arm.node("tip"), seed=3)
    for X in targets[::-1]:
        second.solve(X)
    for X in targets:
        assert first.solve(X)._numbers.tobytes() == second.solve(X)._numbers.tobytes()


@pytest.mark.parametrize("beyond", [2.0, 1.7, 1.71])
def test_closest_point_of_a_planar_arm_out_of_reach(beyond: float) -> None:
    arm = planar_arm()
    found = IkSolver(Task.position(arm.node("tip"))).solve(at(beyond * 0.6, beyond * 0.8))
    if beyond > 1.7:
        assert not found and found.status == IkStatus.CLOSEST
    # Stretched towards the target; at the very edge the angle is only known to the root of the tolerance.
    assert abs(found.linear_error - (beyond - 1.7)) < 1e-6
    assert abs(np.sin(found.positions[1])) < (1e-7 if beyond > 1.7 else 3e-3)


def test_closest_pose_within_limits_is_scipys() -> None:
    arm = arm7()
    tip = arm.node("tip")
    solver = IkSolver(tip, attempts=30)
    rng = np.random.default_rng(2)
    lower, upper = arm.state.tree.lower, arm.state.tree.upper
    for _ in range(2):
        X = random_transform(rng, 0.1)
        X[:3, 3] += rng.normal(size=3) * 1.5
        found = solver.solve(X)

        def residuals(q, X=X):
            arm.positions = q
            Y = np.linalg.inv(X) @ tip.world_transform
            return np.concatenate([kido_log(Y[:3, :3]), Y[:3, 3]])

        best = min(
            least_squares(residuals, s, bounds=(lower, upper), xtol=1e-12, ftol=1e-12, gtol=1e-10).cost
            for s in [*rng.uniform(lower, upper, (2, 7)), np.clip(found.positions, lower + 1e-9, upper - 1e-9)]
        )
        arm.positions = np.zeros(7)
        assert within(arm, found.positions)
        if not found:
            assert found.status == IkStatus.CLOSEST
            assert found.cost < best + 1e-9  # nothing that SciPy finds is closer


def kido_log(R):
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(R).as_rotvec()


def test_closest_is_a_minimum_not_a_saddle() -> None:
    # The target is behind the stretched arm, on its axis: the gradient is zero there and must not stop the search.
    arm = planar_arm((1.0, 1.0))
    found = IkSolver(Task.position(arm.node("tip")), attempts=1).solve(at(0.5))
    assert found or found.linear_error < 1e-6
    found = IkSolver(Task.position(arm.node("tip")), attempts=1).solve(at(-3.0))
    assert found.status == IkStatus.CLOSEST and abs(found.linear_error - 1.0) < 1e-9


def test_singular_targets() -> None:
    arm = arm7()
    tip = arm.node("tip")
    solver = IkSolver(tip)
    for q in ([0] * 7, [0.5, 0, 0.3, 0, 0.2, 0, 0.1], [0, 0.7, 0, 0, 0, 0, 0], [0.1, 0, 0, 1.0, 0, 0, 0]):
        arm.positions = q
        X = tip.world_transform
        arm.positions = np.linspace(-1, 1, 7)
        found = solver.solve(X)
        assert found and max(errors(arm, tip, found.positions, X)) < 1e-6


def test_continuous_joints_end_near_the_start_and_within_limits() -> None:
    arm = planar_arm((1.0, 0.7, 0.3))
    solver = IkSolver(arm.node("tip"))
    start = np.array([20.0, -30.0, 7.0])
    for q, X in zip(*reachable(arm, arm.node("tip"), 20, 4), strict=True):
        found = solver.solve(X, start=start)
        assert found and np.abs(found.positions - start).max() <= np.pi + 1e-9
        del q
    wide = planar_arm((1.0, 0.7, 0.3), 1.5 * np.pi)
    solver = IkSolver(wide.node("tip"))
    for _, X in zip(*reachable(wide, wide.node("tip"), 50, 5), strict=True):
        found = solver.solve(X, start=[4.7, -4.7, 4.7])
        assert found and within(wide, found.positions)


def test_locked_limits() -> None:
    arm = arm7()
    arm.positions = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    tip = arm.node("tip")
    X = tip.world_transform
    joint = arm.joint(2)
    joint.position_lower_limit = joint.position_upper_limit = 0.5
    solver = IkSolver(tip)
    found = solver.solve(X, start=np.zeros(7))
    assert found and found.positions[2] == 0.5
    for joint in arm.joints:
        joint.position_lower_limit = joint.position_upper_limit = 0.1
    found = solver.solve(X)  # all locked: there is one pose
    assert not found and found.status == IkStatus.CLOSEST
    np.testing.assert_array_equal(found.positions, 0.1)


def test_no_coordinates_one_and_sliding_ones() -> None:
    box = kido.Skeleton("fixed")
    body = box.add_body("body", kido.WeldJoint(), inertia=kido.Inertia(1.0, [0, 0, 0], np.eye(3)))
    solver = IkSolver(body)
    assert solver.solve(np.eye(4)) and len(solver.dofs) == 0
    found = solver.solve(at(1.0))
    assert found.status == IkStatus.CLOSEST and found.linear_error == 1.0 and found.positions.shape == (0,)
    one = planar_arm((1.0,))
    found = IkSolver(Task.position(one.node("tip"))).solve(at(0.0, 3.0))
    assert found.status == IkStatus.CLOSEST and abs(found.positions[0] - 0.5 * np.pi) < 1e-8
    slide = kido.Skeleton("slide")
    parent = None
    for k, axis in enumerate(np.eye(3)):
        joint = kido.PrismaticJoint(f"j{k}", axis, position_lower_limit=-1.0, position_upper_limit=1.0)
        parent = slide.add_body(f"b{k}", joint, parent, kido.Inertia(1.0, [0, 0, 0], np.eye(3)))
    solver = IkSolver(parent)
    np.testing.assert_allclose(solver.solve(at(0.5, -0.25, 1.0)).positions, [0.5, -0.25, 1.0], atol=1e-6)
    found = solver.solve(at(0.5, -3.0, 2.0))
    np.testing.assert_allclose(found.positions, [0.5, -1.0, 1.0], atol=1e-9)
    assert abs(found.linear_error - np.hypot(2.0, 1.0)) < 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_free_and_ball_joints(seed: int) -> None:
    skeleton = random_skeleton(seed, 6, ("free", "ball", "revolute", "planar", "compound", "user"))
    node = skeleton.bodies[-1]
    q = np.random.default_rng(seed).uniform(-1.0, 1.0, skeleton.num_dofs)
    skeleton.positions = q
    X = node.world_transform
    found = IkSolver(node).solve(X, start=np.zeros(skeleton.num_dofs))
    if found:
        assert max(errors(skeleton, node, found.positions, X)) < 1e-6
    else:  # few joints: from elsewhere at least the own positions are found
        assert IkSolver(node).solve(X, start=q)


def test_limits_of_a_ball_joint_are_those_of_its_positions() -> None:
    ball = kido.Skeleton("ball")
    joint = kido.BallJoint(position_lower_limit=-0.3, position_upper_limit=0.3)
    body = ball.add_body("body", joint, inertia=kido.Inertia(1.0, [0, 0, 0], np.eye(3)))
    solver = IkSolver(body)
    from scipy.spatial.transform import Rotation

    X = np.eye(4)
    X[:3, :3] = Rotation.from_rotvec([0.1, -0.2, 0.25]).as_matrix()
    found = solver.solve(X)
    np.testing.assert_allclose(found.positions, [0.1, -0.2, 0.25], atol=1e-6)
    X[:3, :3] = Rotation.from_rotvec([1.0, 0.0, 0.0]).as_matrix()
    found = solver.solve(X)
    assert found.status == IkStatus.CLOSEST
    np.testing.assert_allclose(found.positions, [0.3, 0.0, 0.0], atol=1e-7)


def test_several_tasks_and_frames_as_targets() -> None:
    robot = random_skeleton(21, 9, ("free", "revolute", "ball"))
    a, b = robot.bodies[-1], robot.bodies[-2]
    q = np.random.default_rng(1).uniform(-0.5, 0.5, robot.num_dofs)
    robot.positions = q
    X, Y = a.world_transform, b.world_transform
    target = kido.SimpleFrame(None, "target")
    target.relative_transform = X
    tasks = [Task.pose(a, target), Task.position(b), Task.look_at(b, at(0, 0, 30.0), cone=np.pi)]
    solver = IkSolver(tasks)
    tasks_with_b = IkSolver([tasks[0], tasks[1].at(Y), tasks[2]])
    robot.positions = q + 0.2
    found = tasks_with_b.solve()
    assert found and max(errors(robot, a, found.positions, X)) < 1e-6
    found = solver.solve([X, Y, at(0, 0, 30.0)])
    assert found and errors(robot, b, found.positions, Y)[1] < 1e-6
    robot.positions = q
    target.relative_transform = a.world_transform  # frames are followed
    assert tasks_with_b.solve().iterations == 0


def test_centre_of_mass_and_posture() -> None:
    arm = planar_arm((1.0, 1.0, 1.0))
    found = IkSolver(Task.com(at(0.7, 0.4)), skeleton=arm).solve()
    assert found
    arm.positions = found.positions
    np.testing.assert_allclose(arm.com[:2], [0.7, 0.4], atol=1e-6)
    found = IkSolver(Task.posture([0.1, 0.2, 0.3]), skeleton=arm).solve()
    np.testing.assert_allclose(found.positions, [0.1, 0.2, 0.3], atol=1e-6)
    both = [Task.position(arm.node("tip"), at(1.0, 1.0)), Task.posture([0, 0, 0], 1e-3)]
    found = IkSolver(both).solve()  # they conflict: the least sum of squares, mostly the position's
    assert found.status == IkStatus.CLOSEST and found.linear_error < 1e-5


def test_budgets() -> None:
    arm = arm7()
    far = at(3.0)
    assert IkSolver(arm.node("tip"), max_iterations=3).solve(far).status == IkStatus.STOPPED
    assert IkSolver(arm.node("tip"), max_iterations=3).solve(far).iterations == 3
    assert IkSolver(arm.node("tip"), attempts=4).solve(far).attempts == 4
    found = IkSolver(arm.node("tip"), time_limit=0.0).solve(far)
    assert found.status == IkStatus.STOPPED and found.attempts == 1
    q = np.linspace(0.2, 1.0, 7)
    arm.positions = q
    X = arm.node("tip").world_transform
    found = IkSolver(arm.node("tip"), seeds=[q], samples=0).solve(X, start=np.zeros(7) + 2.0)
    assert found
    assert len(IkSolver(arm.node("tip"), samples=0).solve(far).positions) == 7


def test_changes_of_the_model_are_seen() -> None:
    arm = planar_arm((1.0, 1.0))
    tip = arm.node("tip", kido.EndEffector)
    solver = IkSolver(Task.position(tip))
    assert solver.solve(at(1.9, 0.1))
    tip.relative_transform = at(0.5)
    assert not solver.solve(at(1.9, 0.1))
    assert abs(solver.solve(at(2.5)).linear_error - 1.0) < 1e-9
    more = arm.add_body("more", kido.RevoluteJoint(axis=(0, 0, 1)), "b1", kido.Inertia(1.0, [0, 0, 0], np.eye(3)))
    assert solver.solve(at(0.9, 0.9)).positions.shape == (3,)
    arm.joint(0).position_lower_limit, arm.joint(0).position_upper_limit = -0.1, 0.1
    assert abs(solver.solve(at(-0.5, 0.0)).positions[0]) <= 0.1
    del more


def test_in_a_world_and_copied() -> None:
    arm = arm7()
    world = kido.World()
    world.add_skeleton(arm)
    _, targets = reachable(arm, arm.node("tip"), 5, 8)
    solver = IkSolver(arm.node("tip"))
    for X in targets:
        assert solver.solve(X)
    twin = pickle.loads(pickle.dumps(solver))
    assert twin.skeleton is not arm and twin.solve(targets[0])
    assert copy.deepcopy(solver).solve(targets[0]).positions.tobytes() == solver.solve(targets[0]).positions.tobytes()


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [
        (lambda s, a: s.solve(np.full((4, 4), np.nan)), kido.ModelError, "finite"),
        (lambda s, a: s.solve(np.eye(3) * 2.0), kido.ModelError, "rotation"),
        (lambda s, a: s.solve(np.diag([1.0, 1.0, -1.0, 1.0])), kido.ModelError, "rotation"),
        (lambda s, a: s.solve("here"), kido.ModelError, "target"),
        (lambda s, a: s.solve([np.eye(4), np.eye(4)]), kido.ModelError, "target"),
        (lambda s, a: s.solve(np.eye(4), start=[1.0]), kido.StateError, "expected"),
        (lambda s, a: s.solve(np.eye(4), start=np.full(7, np.nan)), kido.StateError, "finite"),
        (lambda s, a: IkSolver("b0"), kido.ModelError, "expected"),
        (lambda s, a: IkSolver([]), kido.ModelError, "skeleton"),
        (lambda s, a: IkSolver(Task.com()), kido.ModelError, "skeleton"),
        (lambda s, a: IkSolver([a.body(0), arm7().body(0)]), kido.ModelError, "one skeleton"),
        (lambda s, a: IkSolver(a.body(3), dofs=[0, 0]), kido.StateError, "twice"),
        (lambda s, a: IkSolver(a.body(3), dofs=["none"]), kido.NameLookupError, "none"),
        (lambda s, a: IkSolver(a.body(3), attempts=0), kido.StateError, "attempts"),
        (lambda s, a: IkSolver(a.body(3), time_limit=np.nan), kido.StateError, "time_limit"),
        (lambda s, a: IkSolver(a.body(3), seeds=[[1.0]]), kido.StateError, "seeds"),
        (lambda s, a: IkSolver(a.body(3), seeds=np.full((1, 7), np.inf)), kido.StateError, "seeds"),
    ],
)
def test_bad_input_is_refused(act, error, words: str) -> None:
    arm = arm7()
    with pytest.raises(error, match=words):
        act(IkSolver(arm.node("tip")), arm)


def test_targets_as_users_have_them() -> None:
    arm = arm7()
    tip = arm.node("tip")
    solver = IkSolver(tip)
    _, targets = reachable(arm, tip, 1, 3)
    X = targets[0]
    expected = solver.solve(X).positions
    frame = kido.SimpleFrame(None, "frame")
    frame.relative_transform = X
    for target in (X.tolist(), [X], frame, np.asfortranarray(X), X[None]):
        np.testing.assert_allclose(solver.solve(target).positions, expected, atol=1e-12)
    text = np.round(X, 7)  # as files have it
    assert solver.solve(text)


def test_batches_are_single_solves_at_any_number_of_threads() -> None:
    arm = arm7()
    tip = arm.node("tip")
    solver = IkSolver(tip)
    _, targets = reachable(arm, tip, 200, 6)
    targets[::50, :3, 3] *= 3.0  # out of reach
    found = solver.solve_batch(targets, threads=1)
    assert len(found) == 200 and (~found.success).sum() == 4
    for other in (solver.solve_batch(targets, threads=3), IkSolver(tip).solve_batch(targets[::-1])):
        numbers = other._numbers if other is not found and other._numbers[0, 0] == found._numbers[0, 0] else None
        assert (other._numbers if numbers is not None else other._numbers[::-1]).tobytes() == found._numbers.tobytes()
    for k in (0, 1, 50, 199):
        single = solver.solve(targets[k])
        assert single._numbers.tobytes() == found[k]._numbers.tobytes()
    assert max(max(errors(arm, tip, q, X)) for q, X in zip(found.positions[1:9], targets[1:9], strict=True)) < 1e-6
    assert found.iterations.sum() > 0 and found.attempts.min() == 1 and "196 met" in repr(found)
    assert [s.success for s in found][:3] == [False, True, True]


def test_batches_of_starts_and_of_several_tasks() -> None:
    arm = planar_arm((1.0, 0.8, 0.6))
    tip = arm.node("tip")
    q, targets = reachable(arm, tip, 70, 2)
    found = IkSolver(tip).solve_batch(targets, starts=q, threads=2)
    assert found.iterations.sum() == 0 and np.abs(found.positions - q).max() < 1e-9
    fixed = IkSolver(Task.position(tip, targets[0])).solve_batch(starts=q)
    assert fixed.success.all()
    two = IkSolver([Task.position(tip), Task.orientation(tip)])
    pairs = np.stack([targets, targets], axis=1)
    assert two.solve_batch(pairs).success.all()
    assert len(IkSolver(tip).solve_batch(np.zeros((0, 4, 4)))) == 0
    for wrong in (targets[0], pairs, np.zeros((3, 3)), "none"):
        with pytest.raises(kido.ModelError, match="targets"):
            IkSolver(tip).solve_batch(wrong)
    bad = targets.copy()
    bad[7, 0, 0] = np.nan
    with pytest.raises(kido.ModelError, match=r"targets\[7\]"):
        IkSolver(tip).solve_batch(bad)
    with pytest.raises(kido.StateError, match="starts"):
        IkSolver(tip).solve_batch(targets, starts=q[:5])
    with pytest.raises(kido.StateError, match="threads"):
        IkSolver(tip).solve_batch(targets, threads=0)


def test_solve_at_once() -> None:
    arm = arm7()
    _, targets = reachable(arm, arm.node("tip"), 1, 6)
    found = kido.ik.solve(arm.node("tip"), targets[0], start=np.zeros(7), attempts=50)
    assert found.positions.tobytes() == IkSolver(arm.node("tip")).solve(targets[0]).positions.tobytes()


def test_closest_is_that_of_many_more_attempts() -> None:
    arm = arm7()
    tip = arm.node("tip")
    _, targets = reachable(arm, tip, 20, 9)
    targets[:, :3, 3] *= 2.5
    found = IkSolver(tip).solve_batch(targets)
    more = IkSolver(tip, attempts=600, samples=2048, seed=5, max_iterations=100_000).solve_batch(targets)
    assert (found.status == IkStatus.CLOSEST).all()
    np.testing.assert_allclose(found.cost, more.cost, atol=1e-9)  # minima are known to 1e-9 of the gradient


def test_hands_and_feet_of_a_humanoid() -> None:
    robot = kido.load(kido.models.path("humanoid"))
    names = ("left_hand", "right_hand", "left_foot", "right_foot")
    nodes = [robot.body(name) for name in names]
    rng = np.random.default_rng(3)
    robot.state.compiled()
    lower, upper = robot.state.tree.lower, robot.state.tree.upper
    wide = np.where(np.isfinite(upper - lower), upper - lower, 1.0)
    middle = np.where(np.isfinite(upper - lower), 0.5 * (np.maximum(lower, -9) + np.minimum(upper, 9)), 0.0)
    solver = IkSolver([*nodes, Task.com(bounds=10.0)])
    for _ in range(5):
        robot.positions = middle + 0.3 * wide * rng.uniform(-1.0, 1.0, robot.num_dofs)
        targets = [node.world_transform for node in nodes]
        robot.positions = middle
        found = solver.solve([*targets, np.eye(4)])
        assert found and within(robot, found.positions)
        for node, X in zip(nodes, targets, strict=True):
            assert max(errors(robot, node, found.positions, X)) < 1e-6
