"""Inverse kinematics of skeletons with flexible bodies: modes held where they are, or free where they are named."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from flexible_trees import random_tree
from kido.flexible import FlexibleBody, Material, Section, beam_modes, flexible_bodies
from kido.ik import DifferentialIK, IkSolver, InverseKinematics, Task
from kido.ik.engine.build import compile_tasks
from kido.ik.engine.residuals import evaluate
from kido.tree import data_for
from trees import relative_error

AXES = ((0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))


def arm() -> kido.Skeleton:
    """Six hinges; two of the links are beams of half a metre."""
    robot, parent = kido.Skeleton("arm"), None
    beam = beam_modes(0.5, Section.tube(0.02, 0.018), Material(7e10, 2700.0), bending_y=2, bending_z=2, torsion=1)
    for k, axis in enumerate(AXES):
        joint = kido.RevoluteJoint(f"joint{k}", axis)
        if k in (1, 2):
            parent = FlexibleBody(robot.add_body(f"link{k}", joint, parent), beam).node("tip")
        else:
            parent = robot.add_body(f"link{k}", joint, parent, kido.Inertia(0.3, (0.05, 0, 0), 1e-3 * np.eye(3)))
    return robot


@pytest.fixture
def bent() -> tuple[kido.Skeleton, np.ndarray, np.ndarray]:
    """The arm with deflections of centimetres, its positions, and which of them are modes."""
    robot, rng = arm(), np.random.default_rng(0)
    modal = np.array([dof.joint.has_modes for dof in robot.dofs])
    q = np.where(modal, 0.02, 0.5) * rng.normal(size=robot.num_dofs)
    robot.positions = q
    return robot, q, modal


@pytest.mark.parametrize("kind", ["pose", "com", "look_at"])
def test_residuals_have_exact_jacobians_by_joints_and_modes(kind: str) -> None:
    """Of a branched tree with floating and ball joints, against differences on the manifold."""
    skeleton = random_tree(2, bodies=9).skeleton
    rng, n = np.random.default_rng(5), skeleton.num_dofs
    q = 0.3 * rng.normal(size=n)
    skeleton.positions = q
    end, target = skeleton.bodies[-2], flexible_bodies(skeleton)[1].node("b")
    task = {"pose": lambda: Task.pose(end, target), "com": lambda: Task.com(target),
            "look_at": lambda: Task.look_at(end, target=target)}[kind]()  # fmt: skip
    made = compile_tasks(skeleton, [task], np.arange(n))
    tree, data = skeleton.current_state.tree, data_for(skeleton.current_state.tree)

    def residual(x: np.ndarray) -> np.ndarray:
        evaluate(tree.address, data.address, made.address, x)
        return made.e.copy()

    residual(q)
    J, h = made.J.copy(), 1e-5
    step = [h * e for e in np.eye(n)]
    ends = [[residual(skeleton.integrate_positions(q, sign * x)) for x in step] for sign in (1.0, -1.0)]
    assert relative_error(J, (np.array(ends[0]) - ends[1]).T / (2 * h)) < 1e-8


def test_modes_are_held_by_default(bent: tuple[kido.Skeleton, np.ndarray, np.ndarray]) -> None:
    robot, q, modal = bent
    hand = robot.bodies[-1]
    X = hand.world_transform.copy()
    robot.positions = q + 0.2 * ~modal
    solver = IkSolver(hand)
    assert not modal[solver.dofs].any()
    found = solver.solve(X)
    assert found
    assert np.array_equal(found.positions[modal], q[modal])
    robot.positions = found.positions
    assert np.abs(hand.world_transform - X).max() < 1e-9
    assert not modal[IkSolver([Task.com((0.3, 0.1, 0.2))], skeleton=robot).dofs].any()
    # In lanes, the same to the bit.
    targets = []
    for k in range(12):
        robot.positions = q + ~modal * np.random.default_rng(k).normal(size=len(q))
        targets.append(hand.world_transform)
    robot.positions = q
    many = solver.solve_batch(np.array(targets))
    for one, target in zip(many, targets, strict=True):
        assert np.array_equal(one.positions, solver.solve(target).positions)


def test_modes_that_are_named_are_free(bent: tuple[kido.Skeleton, np.ndarray, np.ndarray]) -> None:
    """A target that joints alone cannot reach, and of all ways there the one of least elastic energy."""
    robot, q, modal = bent
    hand, n = robot.bodies[-1], len(q)
    some = [k for k in range(n) if modal[k] or k == 0]
    robot.positions = q * ~modal
    X = hand.world_transform.copy()
    X[:3, 3] += (0.01, 0.02, -0.01)
    assert not IkSolver(Task.position(hand), dofs=[0]).solve(X)
    found = IkSolver(Task.position(hand), dofs=some).solve(X)
    assert found
    robot.positions = found.positions
    assert np.abs(hand.world_transform[:3, 3] - X[:3, 3]).max() < 1e-9
    stiffness = np.array([dof.spring_stiffness for dof in robot.dofs])
    posture = Task.posture(np.zeros(n), weights=np.sqrt(stiffness), priority=1)
    ik = DifferentialIK(robot, [Task.position(hand, X), posture], dofs=robot.dofs[: some[-1] + 1])
    for _ in range(300):
        ik.step(0.1)
    assert np.abs(hand.world_transform[:3, 3] - X[:3, 3]).max() < 1e-6
    x = robot.positions
    J = robot.jacobian(hand)[3:, modal]
    N = np.eye(modal.sum()) - np.linalg.pinv(J) @ J  # of deflections that do not move the hand
    pull = stiffness[modal] * x[modal]
    assert np.linalg.norm(N @ pull) < 1e-2 * np.linalg.norm(pull) or np.linalg.norm(pull) < 1e-6


def test_other_drivers(bent: tuple[kido.Skeleton, np.ndarray, np.ndarray]) -> None:
    robot, q, modal = bent
    hand = robot.bodies[-1]
    X = hand.world_transform.copy()
    robot.positions = q + 0.1 * ~modal
    ik = InverseKinematics(hand)
    ik.target.world_transform = X
    assert not modal[ik.dof_indices].any()
    assert ik.solve_and_apply()
    assert np.abs(hand.world_transform - X).max() < 1e-6
    assert np.array_equal(robot.positions[modal], q[modal])
    robot.positions = q + 0.1 * ~modal
    steps = DifferentialIK(robot, [Task.pose(hand, X)])
    assert not modal[steps.dof_indices].any()
    for _ in range(60):
        u = steps.velocities(0.1)
        assert np.abs(u[modal]).max() == 0.0
        robot.positions = robot.integrate_positions(robot.positions, 0.1 * u)
    assert np.abs(hand.world_transform - X).max() < 1e-2
