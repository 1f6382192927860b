"""Motions on manifolds: tasks are met at all states of a path, by poses of bodies, and the path is free."""

from __future__ import annotations

import numpy as np
import pytest
from test_checker import INERTIA

import kido
from kido.ik import IkSolver, Task
from kido.planning import CollisionChecker, ConstrainedRRTConnect, Environment, GoalError, NoPathError, StartError
from kido.shapes import Box, Capsule

MET = 2e-6  # of tasks, which the solver meets within 1e-6 m


def planar_arms(bases: tuple[float, ...], links: int) -> kido.Skeleton:
    """Arms in the plane y = 0, of links of 0.3 m, that stand on the x axis."""
    skeleton = kido.Skeleton("arms")
    middle = np.eye(4)
    middle[2, 3] = 0.15
    for arm, x in enumerate(bases):
        body = None
        for k in range(links):
            pose = np.eye(4)
            pose[:3, 3] = (x, 0.0, 0.0) if k == 0 else (0.0, 0.0, 0.3)
            joint = kido.RevoluteJoint(
                axis=(0.0, 1.0, 0.0), name=f"q{arm}{k}", transform_from_parent=pose, position_lower_limit=-2.8,
                position_upper_limit=2.8,
            )  # fmt: skip
            body = skeleton.add_body(f"link{arm}{k}", joint, body, INERTIA)
            body.add_shape(Capsule(0.02, 0.2), middle)
    return skeleton


def tip(skeleton: kido.Skeleton, q: np.ndarray, body: str) -> np.ndarray:
    skeleton.positions = q
    X = skeleton.body(body).transform()
    return X[:3, 3] + 0.3 * X[:3, 2]


def on_line(height: float = 0.45) -> tuple[kido.Skeleton, CollisionChecker, ConstrainedRRTConnect]:
    """An arm of four links whose last joint stays at a height, and a post in its way."""
    skeleton = planar_arms((0.0,), 4)
    environment = Environment().add("post", Box((0.03, 0.2, 0.2)), [0.0, 0.0, 0.8])
    checker = CollisionChecker(skeleton, environment)
    target = np.eye(4)
    target[2, 3] = height
    bounds = [[-np.inf, -np.inf, 0.0], [np.inf, np.inf, 0.0]]
    task = Task.position(skeleton.body("link03"), target, bounds=bounds)
    solver = IkSolver([task], dofs=[0, 1, 2, 3], attempts=1)
    return skeleton, checker, ConstrainedRRTConnect(checker, solver)


def test_a_joint_that_stays_on_a_line():
    skeleton, checker, planner = on_line()
    start, goal = planner.project([-0.9, 0.3, 0.9, 0.5]), planner.project([0.9, -0.3, -0.9, -0.5])
    assert start is not None and goal is not None and np.linalg.norm(goal - start) > 2.0
    path = planner.plan(start, goal, max_seconds=60.0)
    assert path.states[0] == pytest.approx(start) and path.states[-1] == pytest.approx(goal)

    def height(q):
        skeleton.positions = q
        return skeleton.body("link03").transform()[2, 3]

    assert max(abs(height(q) - 0.45) for q in path.states) < MET
    # Between two states a step of 0.1 (at most 0.2) apart, an arm of 0.9 m misses by less than 0.9 (step / 2)^2 / 2 n.
    steps = np.linalg.norm(np.diff(path.states, axis=0), axis=1)
    assert steps.max() <= 0.2 + 1e-12
    dense = path.at(np.linspace(0.0, 1.0, 2000))
    assert max(abs(height(q) - 0.45) for q in dense) < 4 * 0.9 * steps.max() ** 2 / 8
    assert checker.states_are_free(dense).all()
    assert planner.plan(start, goal).states.tobytes() == path.states.tobytes()


def test_two_arms_hold_a_bar():
    """A closed loop: the second hand keeps its pose in the first one's frame, as both hold one thing."""
    skeleton = planar_arms((-0.25, 0.25), 3)
    first, second = skeleton.body("link02"), skeleton.body("link12")
    q0 = np.array([-0.6, 0.9, 0.4, 0.6, -0.9, -0.4])
    skeleton.positions = q0
    grip = kido.SimpleFrame(first, "grip", np.linalg.inv(first.transform()) @ second.transform())
    task = Task.pose(second, grip)
    solver = IkSolver([task], dofs=range(6), attempts=1)
    checker = CollisionChecker(skeleton, self_collision=False)
    planner = ConstrainedRRTConnect(checker, solver, seed=1)
    start = planner.project(q0)
    goal = planner.project(q0 + [0.35, -0.1, 0.2, 0.3, 0.1, -0.1])
    assert start is not None and goal is not None and np.linalg.norm(goal - start) > 0.3
    path = planner.plan(start, goal, max_seconds=60.0)
    relative = []
    for q in path.states:
        skeleton.positions = q
        relative.append(np.linalg.inv(first.transform()) @ second.transform())
    assert np.abs(np.array(relative) - relative[0]).max() < 10 * MET
    assert len(path) > 3


def test_mistakes_are_named():
    skeleton, checker, planner = on_line()
    start = planner.project([-0.9, 0.3, 0.9, 0.5])
    assert start is not None
    with pytest.raises(StartError, match="does not meet"):
        planner.plan(start + [0.1, 0.0, 0.0, 0.0], start)
    with pytest.raises(GoalError, match="does not meet"):
        planner.plan(start, start + [0.1, 0.0, 0.0, 0.0])
    with pytest.raises(NoPathError, match="iterations"):
        planner.plan(start, planner.project([0.9, -0.3, -0.9, -0.5]), max_seconds=1e-3)
    with pytest.raises(kido.StateError, match="not planned"):
        ConstrainedRRTConnect(CollisionChecker(skeleton, dofs=[0, 1]), planner.solver)
    with pytest.raises(kido.StateError, match="IkSolver of skeleton"):
        ConstrainedRRTConnect(checker, IkSolver(planar_arms((0.0,), 4).body("link03")))
    with pytest.raises(kido.StateError, match="step"):
        ConstrainedRRTConnect(checker, planner.solver, step=-1.0)
