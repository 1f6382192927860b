"""Inverse kinematics that touches nothing: judged by forward kinematics and by exact distances of shapes."""

from __future__ import annotations

import numpy as np
import pytest
from test_checker import arm, flying_ball

import kido
from kido.collision.scene import distance
from kido.errors import ModelError, StateError
from kido.ik import IkSolver, Task
from kido.ik.engine.residuals import evaluate
from kido.planning import CollisionChecker, Environment, GoalError, goal_states
from kido.shapes import Box, Capsule, Cylinder, Mesh, Plane, Sphere

TOLERANCE = 2e-6  # of entries of poses: tasks are met to 1e-6 rad and 1e-6 m


def robot(name: str, example_robots) -> tuple[kido.Skeleton, str]:
    path, tip = {
        "panda": ("panda_description/urdf/panda.urdf", "panda_hand_tcp"),
        "ur5": ("ur_description/urdf/ur5_robot.urdf", "tool0"),
    }[name]
    return kido.load(example_robots / path), tip


def room(count: int, seed: int) -> Environment:
    """Boxes about a base."""
    rng, made = np.random.default_rng(seed), Environment()
    while len(made) < count:
        place = rng.uniform([-0.8, -0.8, 0.0], [0.8, 0.8, 1.0])
        if np.hypot(*place[:2]) > 0.3:
            made.add(f"box{len(made)}", Box(tuple(rng.uniform(0.05, 0.2, 3))), place)
    return made


def free_targets(checker: CollisionChecker, tip: str, count: int, seed: int) -> np.ndarray:
    """Poses of the tip at random free states: so each can be met."""
    rng, (low, high) = np.random.default_rng(seed), checker.limits
    states = rng.uniform(np.maximum(low, -np.pi), np.minimum(high, np.pi), (20 * count, checker.num_dofs))
    states = states[checker.states_are_free(states)][:count]
    q = np.tile(checker.held_positions, (count, 1))
    q[:, checker.columns] = states
    return poses(checker.skeleton, tip, q)


def poses(skeleton: kido.Skeleton, tip: str, q: np.ndarray) -> np.ndarray:
    return np.array([skeleton.forward_kinematics(row)[skeleton.body(tip).index] for row in q])


def scattered(name: str, example_robots, count: int = 20) -> tuple[CollisionChecker, str]:
    skeleton, tip = robot(name, example_robots)
    dofs = [dof.name for dof in skeleton.dofs if "finger" not in dof.name]
    return CollisionChecker(skeleton, room(count, 0), dofs, tolerance=0.02, max_spheres=16), tip


@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_reachable_targets_are_met_free_of_collisions(name, example_robots):
    """As often as by brute force: a hundred random restarts of the solver without regard, filtered by the checker."""
    checker, tip = scattered(name, example_robots)
    targets = free_targets(checker, tip, 100, 1)
    body = checker.skeleton.body(tip)
    found = IkSolver(body, checker.dof_names, avoid=checker).solve_batch(targets)
    met, q = found.success, np.array(found.positions)
    assert np.abs(poses(checker.skeleton, tip, q[met]) - targets[met]).max() < TOLERANCE
    assert all(checker.is_free(row) for row in q[met][:, checker.columns])
    low, high = checker.limits
    assert ((q[:, checker.columns] >= low) & (q[:, checker.columns] <= high)).all()
    rng, plain = np.random.default_rng(3), IkSolver(body, checker.dof_names)
    brute, first = np.zeros(len(targets), bool), None
    for _ in range(100):
        starts = np.tile(checker.held_positions, (len(targets), 1))
        starts[:, checker.columns] = rng.uniform(
            np.maximum(low, -np.pi), np.minimum(high, np.pi), (len(targets), len(low))
        )
        tried = plain.solve_batch(targets, starts)
        brute |= tried.success & checker.states_are_free(np.array(tried.positions)[:, checker.columns])
        first = brute.copy() if first is None else first
    assert first is not None and first.mean() < met.mean()
    assert met.mean() >= brute.mean() - 0.02 and met.mean() >= 0.97


def test_shapes_themselves_are_apart():
    """What spheres contain cannot touch either: exact distances of the shapes, by the detector."""
    skeleton = arm(5)
    environment = room(15, 4)
    checker = CollisionChecker(skeleton, environment, tolerance=0.02)
    targets = free_targets(checker, "link4", 60, 5)
    found = IkSolver(skeleton.body("link4"), avoid=checker).solve_batch(targets)
    assert found.success.mean() > 0.9
    rng, boxes = np.random.default_rng(4), []
    while len(boxes) < 15:
        place = rng.uniform([-0.8, -0.8, 0.0], [0.8, 0.8, 1.0])
        if np.hypot(*place[:2]) > 0.3:
            X = np.eye(4)
            X[:3, 3] = place
            boxes.append((Box(tuple(rng.uniform(0.05, 0.2, 3))), X))
    moving = [node for body in skeleton.bodies[1:] for node in body.shapes]
    for q in np.array(found.positions)[found.success][:20]:
        skeleton.positions = q
        for node in moving:
            assert all(distance(node.shape, node.transform(), box, X) > 0.0 for box, X in boxes)


def test_bits_do_not_depend_on_company_or_threads(example_robots):
    checker, tip = scattered("panda", example_robots, 40)
    targets = free_targets(checker, tip, 70, 2)
    solver = IkSolver(checker.skeleton.body(tip), checker.dof_names, avoid=checker)
    every = np.array(solver.solve_batch(targets, threads=1).positions)
    assert every.tobytes() == np.array(solver.solve_batch(targets, threads=2).positions).tobytes()
    some = np.array(solver.solve_batch(targets[11:37]).positions)
    assert some.tobytes() == every[11:37].tobytes()
    assert np.array(solver.solve(targets[5]).positions).tobytes() == every[5].tobytes()
    assert np.array(solver.clone().solve_batch(targets).positions).tobytes() == every.tobytes()


SOLIDS = [
    Box((0.6, 0.4, 0.2)),
    Sphere(0.3),
    Capsule(0.1, 0.7),
    Cylinder(0.25, 0.4),
    Plane((0.3, 0.2, 1.0), 0.1),
    Mesh([[0, 0, 0], [0.8, 0, 0], [0, 0.7, 0], [0, 0, 0.6]], [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]),
]


def rows(checker: CollisionChecker, state) -> tuple[np.ndarray, np.ndarray]:
    """Residuals and Jacobian of the clearance alone."""
    solver = IkSolver([checker.clearance_task()], checker.dof_names, skeleton=checker.skeleton)
    arrays = solver._current()

    def at(q):
        evaluate(arrays.tree.address, arrays.data.address, arrays.tasks.address, np.array(q, float))
        return arrays.tasks.e.copy(), arrays.tasks.J.copy()

    return at(state), at


@pytest.mark.parametrize("shape", SOLIDS, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("pose", [None, (0.1, 0.2, -0.1)])
def test_residuals_are_zero_where_free_and_their_jacobian_is_that_of_differences(shape, pose):
    """Central differences of 1e-6 m, good to 1e-6 but for kinks, which few samples lie at."""
    checker = CollisionChecker(flying_ball(), Environment().add("it", shape, pose), exact=False)
    _, at = rows(checker, np.zeros(3))
    off = 0
    for q in np.random.default_rng(2).uniform(-0.8, 0.8, (200, 3)):
        e, J = at(q)
        assert (e == 0.0).all() == checker.is_free(q)
        D = np.array([(at(q + d)[0] - at(q - d)[0]) / 2e-6 for d in 1e-6 * np.eye(3)]).T
        off += np.abs(D - J).max() > 1e-6
    assert off <= 6


def test_bodies_of_an_arm_are_pushed_apart():
    """The arm's own pairs: zero where the checker finds it free, gradients by differences."""
    checker = CollisionChecker(arm(5), exact=False)
    _, at = rows(checker, np.zeros(5))
    touching = 0
    for q in np.random.default_rng(3).uniform(-2.9, 2.9, (100, 5)):
        e, J = at(q)
        assert (e == 0.0).all() == checker.is_free(q)
        if e.any():
            touching += 1
            D = np.array([(at(q + d)[0] - at(q - d)[0]) / 2e-6 for d in 1e-6 * np.eye(5)]).T
            assert np.abs(D - J).max() < 1e-5
    assert touching > 10


def test_failures_say_what_collides():
    skeleton = flying_ball()
    checker = CollisionChecker(skeleton, Environment().add("block", Box((1.0, 1.0, 1.0))))
    solver = IkSolver(Task.position(skeleton.body("body2")), avoid=checker)
    inside, outside, far = (np.eye(4) for _ in range(3))
    inside[0, 3], outside[0, 3], far[0, 3] = 0.5, 0.9, 5.0
    found = solver.solve_batch([inside, outside, far])
    assert found.success.tolist() == [False, True, False]
    assert found.contact == (("body2", "block"), None, None)
    assert "'body2' touches 'block'" in found[0].reason and found[2].contact is None
    with pytest.raises(GoalError, match="'body2' touches 'block'"):
        goal_states(checker, solver, inside, attempts=4)
    assert len(goal_states(checker, solver, outside, attempts=4)) == 1


def test_changes_of_the_surroundings_are_seen():
    skeleton = flying_ball()
    checker = CollisionChecker(skeleton)
    solver, X = IkSolver(Task.position(skeleton.body("body2")), avoid=checker), np.eye(4)
    assert solver.solve(X)
    checker.environment = Environment().add("block", Box((1.0, 1.0, 1.0)))
    assert not solver.solve(X) and solver.solve(X).contact == ("body2", "block")
    checker.environment = Environment()
    assert solver.solve(X)


def test_mistakes_are_named():
    skeleton, other = arm(3), arm(3)
    checker = CollisionChecker(skeleton, dofs=["q0", "q1"])
    with pytest.raises(ModelError, match="CollisionChecker"):
        IkSolver(skeleton.body("link2"), avoid=3)
    with pytest.raises(ModelError, match="skeleton 'arm'"):
        IkSolver(other.body("link2"), avoid=checker)
    with pytest.raises(StateError, match="q2 move, but the checker holds"):
        IkSolver(skeleton.body("link2"), avoid=checker)
    solver = IkSolver(skeleton.body("link2"), ["q0", "q1"], avoid=checker)
    with pytest.raises(ModelError, match="not copied"):
        solver.clone(skeleton.clone())
