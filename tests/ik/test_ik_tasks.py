"""Tasks of one's own, and one task in all three drivers."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import kido
from kido.errors import ModelError
from kido.ik import DifferentialIK, IkSolver, Task
from kido.ik.motion import MotionProblem, PositionConstraint, TaskConstraint


def arm() -> kido.Skeleton:
    made = kido.Skeleton("arm")
    body = None
    for k, axis in enumerate([(0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0)]):
        X = np.eye(4)
        X[0, 3] = 0.4 if k else 0.0
        joint = kido.RevoluteJoint(
            f"j{k}", axis, transform_from_parent=X, position_lower_limit=-2, position_upper_limit=2
        )
        body = made.add_body(f"b{k}", joint, body, kido.Inertia(1.0, [0.2, 0.0, 0.0], 0.01 * np.eye(3)))
    made.positions = [0.1, 0.2, 0.3, 0.4]
    return made


def height(robot: kido.Skeleton, wanted: float):
    """Height of the last body's origin above a wanted one, as a function of positions."""

    def residual(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z = robot.forward_kinematics(q)[-1, 2, 3]
        J = np.array([[(robot.forward_kinematics(q + h)[-1, 2, 3] - z) / 1e-7 for h in 1e-7 * np.eye(len(q))]])
        return np.array([z - wanted]), J[0]

    return residual


def test_a_function_is_a_task_of_all_drivers() -> None:
    robot = arm()
    wanted = -0.3
    task = Task.residual(height(robot, wanted), rows=1, gain=5.0)
    found = IkSolver(task, skeleton=robot, attempts=4).solve()
    assert found and abs(robot.forward_kinematics(found.positions)[-1, 2, 3] - wanted) < 1e-6
    assert found.posture_error < 1e-6 and found.linear_error == 0.0
    many = IkSolver(task, skeleton=robot).solve_batch(starts=np.tile(robot.positions, (3, 1)))
    assert many.success.all() and (many.positions[0] == many.positions[2]).all()

    motion = MotionProblem(robot, constraints=[task]).solve_motion()
    assert motion.converged and abs(robot.forward_kinematics(motion.positions[0])[-1, 2, 3] - wanted) < 1e-6

    ik = DifferentialIK(robot, [task, Task.posture(robot.positions, 1e-3, priority=1)])
    for _ in range(400):
        ik.step(1e-2)
    assert abs(robot.bodies[-1].world_transform[2, 3] - wanted) < 1e-6
    assert copy.copy(task).kind is task.kind


def test_what_a_function_raises_is_told() -> None:
    robot = arm()

    def wrong(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        raise ValueError("no such place")

    with pytest.raises(ModelError, match="no such place"):
        IkSolver(Task.residual(wrong, rows=1), skeleton=robot, attempts=1).solve()
    with pytest.raises(ModelError, match="no such place"):
        DifferentialIK(robot, [Task.residual(wrong, rows=1)]).velocities(1e-3)
    for bad in ((None, 1), (wrong, 0), (wrong, True)):
        with pytest.raises(ModelError, match="a function and a number of rows"):
            Task.residual(*bad)


def test_kinds_are_constants_for_copies() -> None:
    robot = arm()
    for task in (Task.pose(robot.bodies[-1]), Task.com(), Task.posture(robot.positions), Task.balance()):
        assert pickle.loads(pickle.dumps(task.kind)) is task.kind
        assert copy.deepcopy(task.kind) is task.kind


def test_a_task_constrains_a_motion_as_its_constraint_does() -> None:
    robot = arm()
    place = robot.bodies[-1].world_transform[:3, 3] + [-0.1, 0.05, -0.1]
    X = np.eye(4)
    X[:3, 3] = place
    task = MotionProblem(robot, constraints=[Task.position(robot.bodies[-1], X)]).solve_motion()
    constraint = MotionProblem(robot, constraints=[PositionConstraint(robot.bodies[-1], place)]).solve_motion()
    assert task and constraint
    np.testing.assert_array_equal(task.positions, constraint.positions)
    assert IkSolver(Task.position(robot.bodies[-1], X)).solve()
    box = MotionProblem(robot, constraints=[Task.com(X, ((-9.0,) * 3, (9.0,) * 3))]).solve_motion()
    assert (box.positions == robot.positions).all()  # between its bounds a residual is zero
    kept = TaskConstraint(Task.posture(robot.positions + 0.1), weight=2.0)
    np.testing.assert_allclose(kept.evaluate(robot, 0), -0.1, atol=1e-15)
