"""Descents side by side: lanes give what descents one by one give, to the bit, whatever runs beside them."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import kido
from ik_arms import arm7, errors, planar_arm, reachable
from kido.ik import IkSolver, IkStatus, Task
from kido.ik.coupling import coupling_of
from kido.ik.engine.search import EARLY


def one_by_one(solver: IkSolver) -> IkSolver:
    """A copy that makes all attempts one after the other."""
    twin = solver.clone()
    arrays = twin._arrays = twin._current().completed()
    arrays.work.lanes_data = None
    return twin


def rig(ball: bool = False) -> kido.Skeleton:
    """A trunk on a ball joint or fixed, and an arm of which one hinge mimics another; limits everywhere."""
    robot = kido.Skeleton("rig")
    inertia = kido.Inertia(1.0, [0.1, 0.0, 0.05], 0.02 * np.eye(3))
    body = robot.add_body("trunk", kido.BallJoint("waist") if ball else kido.WeldJoint("waist"), None, inertia)
    X = np.eye(4)
    X[2, 3] = 0.4
    for k, axis in enumerate([(0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0)]):
        joint = kido.RevoluteJoint(
            f"j{k}", axis, transform_from_parent=X, position_lower_limit=-1.5, position_upper_limit=1.5
        )
        body = robot.add_body(f"b{k}", joint, body, inertia)
        X = np.eye(4)
        X[0, 3] = 0.3
    body.create_node(kido.EndEffector, "tip", X)
    robot.joint("j4").mimic = kido.Mimic("j2", 0.7, -0.1)
    return robot


def targets_of(solver: IkSolver, count: int, seed: int, far: float = 0.3) -> np.ndarray:
    """Poses of all tasks' nodes at random positions; a share of them is moved out of reach."""
    robot = solver.skeleton
    rng = np.random.default_rng(seed)
    poses = np.tile(np.eye(4), (count, len(solver.tasks), 1, 1))
    for n in range(count):
        q = rng.uniform(-1.2, 1.2, robot.num_dofs)
        robot.positions = coupling_of(robot).spread(q, range(robot.num_dofs))
        for k, task in enumerate(solver.tasks):
            if task.node is not None:
                poses[n, k] = task.node.world_transform
            elif task.positions is None:
                poses[n, k, :3, 3] = robot.com_position()
            if rng.random() < far:
                poses[n, k, :3, 3] *= 2.5
    robot.positions = np.zeros(robot.num_dofs)
    return poses


@pytest.mark.parametrize("which", ["arm", "ball", "rig", "com", "two", "euler", "posture"])
def test_batches_in_lanes_are_solves_one_by_one_to_the_bit(which: str) -> None:
    robot = arm7() if which == "arm" else rig(which == "ball")
    tip = robot.node("tip")
    tasks = {
        "arm": [Task.pose(tip)],
        "rig": [Task.pose(tip)],
        "ball": [Task.pose(tip)],
        "com": [Task.com(bounds=0.01), Task.position(tip)],
        "two": [Task.position(tip), Task.orientation(robot.body("b1"), bounds=0.1, error_from_center=True)],
        "euler": [Task.pose(tip, None, (0.0, 0.0, np.inf), 0.01)],
        "posture": [Task.position(tip), Task.posture(np.zeros(robot.num_dofs), 1e-3, tolerance=(10.0, 10.0))],
    }[which]
    solver = IkSolver(tasks, skeleton=robot, attempts=EARLY, samples=64)  # attempts that are never side by side
    X = targets_of(solver, 60, seed=2)
    found = solver.solve_batch(X, threads=1)
    alone = one_by_one(solver)
    assert len(set(found.status)) > 1, "the test is meant to have met and closest ones"
    for n in range(len(X)):
        single = alone.solve(list(X[n]))
        np.testing.assert_array_equal(found[n].positions, single.positions)
        assert found[n].status == single.status
        assert (found[n].iterations, found[n].attempts, found[n].attempt, found[n].cost) == (
            single.iterations, single.attempts, single.attempt, single.cost
        )  # fmt: skip


@pytest.mark.parametrize("which", ["arm", "ball", "rig"])
def test_batches_are_solves_to_the_bit_with_any_number_of_threads(which: str) -> None:
    robot = arm7() if which == "arm" else rig(which == "ball")
    solver = IkSolver(robot.node("tip"), samples=256)
    X = targets_of(solver, 200, seed=4)
    one, two = solver.solve_batch(X, threads=1), solver.solve_batch(X, threads=2)
    np.testing.assert_array_equal(one._numbers, two._numbers)
    shuffled = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(solver.solve_batch(X[shuffled], threads=1)._numbers, one._numbers[shuffled])
    for n in range(0, len(X), 7):
        np.testing.assert_array_equal(solver.solve(list(X[n])).positions, one.positions[n])


def test_attempts_side_by_side_meet_what_attempts_one_by_one_meet() -> None:
    arm = arm7()
    solver = IkSolver(arm.node("tip"))
    _q, X = reachable(arm, arm.node("tip"), 300, seed=5)
    arm.positions = np.full(7, 1.2)
    found, alone = solver.solve_batch(X), one_by_one(solver).solve_batch(X)
    assert found.success.all() and alone.success.all()
    for n in range(0, 300, 10):
        angle, distance = errors(arm, arm.node("tip"), found.positions[n], X[n])
        assert angle < 1.1e-6 and distance < 1.1e-6


def test_unreachable_targets_have_the_same_closest_poses() -> None:
    """All attempts are made in either way, and the same ends are refined."""
    arm = arm7()
    solver = IkSolver(arm.node("tip"))
    _, X = reachable(arm, arm.node("tip"), 20, seed=6)
    X[:, :3, 3] *= 3.0
    found, alone = solver.solve_batch(X), one_by_one(solver).solve_batch(X)
    assert (found.status == IkStatus.CLOSEST).all()
    np.testing.assert_array_equal(found.attempts, 100)
    np.testing.assert_allclose(found.cost, alone.cost, rtol=1e-9)


@pytest.mark.parametrize("most", [0, 1, 7, 50, 333])
def test_budgets_of_iterations_are_kept(most: int) -> None:
    arm = arm7()
    solver = IkSolver(arm.node("tip"), max_iterations=most)
    X = np.eye(4)
    X[:3, 3] = 5.0, 0.0, 0.0
    one = solver.solve(X)
    assert one.iterations <= most and one.status != IkStatus.MET
    many = solver.solve_batch(np.tile(X, (20, 1, 1)))
    assert (many.iterations <= most).all()
    np.testing.assert_array_equal(many.positions, np.tile(one.positions, (20, 1)))


@pytest.mark.parametrize("attempts", [2, 5, 6, 13])
def test_numbers_of_attempts_are_kept(attempts: int) -> None:
    arm = planar_arm(limits=1.0)
    solver = IkSolver(Task.position(arm.node("tip")), attempts=attempts)
    X = np.eye(4)
    X[:3, 3] = 5.0, 0.0, 0.0
    assert solver.solve(X).attempts == attempts
    assert (solver.solve_batch(np.tile(X, (9, 1, 1))).attempts == attempts).all()
    few = IkSolver(Task.position(arm.node("tip")), attempts=attempts, samples=3)
    assert few.solve(X).attempts == min(attempts, 4)  # the start and three samples


def test_look_ats_are_searched_one_by_one() -> None:
    robot = rig()
    solver = IkSolver(Task.look_at(robot.node("tip")))
    X = targets_of(solver, 20, seed=8)
    found = solver.solve_batch(X)
    assert solver._current().work.lanes_data.address == 0
    np.testing.assert_array_equal(found.positions[3], solver.solve(list(X[3])).positions)


def test_plain_python_searches_alike() -> None:
    """With one lane, where nothing is compiled."""
    code = (
        f"import sys; sys.path.insert(0, {os.path.dirname(os.path.dirname(__file__))!r})\n"
        "import numpy as np\n"
        "from kido.ik import IkSolver, Task\n"
        "from ik_arms import planar_arm\n"
        "arm = planar_arm(limits=1.0); X = np.eye(4); X[:3, 3] = 1.2, 0.9, 0.0; far = X.copy(); far[0, 3] = 5.0\n"
        "solver = IkSolver(Task.position(arm.node('tip')), attempts=7, samples=8)\n"
        "found = solver.solve_batch(np.array([X, far]))\n"
        "print(found.status.tolist(), found.attempts.tolist(), found.cost[1])\n"
    )
    outputs = []
    for disabled in ("1", "0"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disabled}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
        outputs.append(done.stdout.split())
    assert outputs[0][:-1] == outputs[1][:-1]
    assert float(outputs[0][-1]) == pytest.approx(float(outputs[1][-1]), rel=1e-9)
