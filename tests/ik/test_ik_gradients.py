"""Gradient methods against their definitions in NumPy, and single solves against forward kinematics and dartpy."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido.errors import ModelError
from kido.ik import (
    CompositeIK,
    DampedLeastSquares,
    GradientMethod,
    InverseKinematics,
    JacobianInverse,
    JacobianPseudoinverse,
    JacobianTranspose,
    LevenbergMarquardt,
    PositionError,
    SelectivelyDampedLeastSquares,
    TaskSpaceRegion,
)
from kido.ik.problem import TaskConstraint
from kido.optimization import GradientDescentSolver, ScipySolver, SqpSolver

ITERATIVE = (
    JacobianTranspose,
    JacobianPseudoinverse,
    DampedLeastSquares,
    SelectivelyDampedLeastSquares,
    LevenbergMarquardt,
)


@pytest.fixture()
def arm() -> kido.Skeleton:
    robot = kido.load(kido.models.path("arm7"))
    robot.positions = [0.1, 0.5, 0.2, -1.2, 0.3, 0.8, 0.1]
    return robot


def reachable(arm: kido.Skeleton, seed: int, share: float = 0.6) -> np.ndarray:
    """A pose of the hand within the joint limits, turned from the present one by some of their width."""
    limits = np.array([(d.position_lower_limit, d.position_upper_limit) for d in arm.dofs])
    limits = np.clip(limits, -3.0, 3.0)
    q = arm.positions + share * (np.random.default_rng(seed).uniform(*limits.T) - arm.positions)
    return kido.quantities.world_transform(arm, q, arm.body("hand"))


def test_definitions() -> None:
    rng = np.random.default_rng(1)
    J, e = rng.normal(size=(6, 7)), rng.normal(size=6)
    g = JacobianTranspose().solve(J, e)
    a = np.dot(g, J.T @ e) / np.dot(J.T @ e, J.T @ e)
    assert np.allclose(g, a * J.T @ e)
    left = [np.linalg.norm(e - b * J @ J.T @ e) for b in (0.99 * a, a, 1.01 * a)]
    assert left[1] == min(left)  # the best step along J^T e
    assert np.allclose(JacobianPseudoinverse().solve(J, e), np.linalg.pinv(J) @ e, atol=1e-12)
    damped = DampedLeastSquares(0.1).solve(J, e)
    assert np.allclose((J.T @ J + 0.01 * np.eye(7)) @ damped, J.T @ e, atol=1e-12)
    m = 0.5 * e @ e + 1e-3
    assert np.allclose((J.T @ J + m * np.eye(7)) @ LevenbergMarquardt(1e-3).solve(J, e), J.T @ e, atol=1e-12)
    square = rng.normal(size=(4, 4))
    rows = np.insert(square, 2, 0.0, axis=0)
    assert np.allclose(square @ JacobianInverse().solve(rows, np.array([1.0, 2.0, 0.0, 3.0, 4.0])), [1, 2, 3, 4])


def test_selective_damping_cuts_what_swings() -> None:
    """Far from singular poses a small error is followed exactly; in them no joint moves by more than the bound."""
    rng = np.random.default_rng(2)
    J, e = rng.normal(size=(6, 7)), 1e-3 * rng.normal(size=6)
    method = SelectivelyDampedLeastSquares()
    assert np.allclose(method.solve(J, e), np.linalg.pinv(J) @ e, atol=1e-12)
    U, s, V = np.linalg.svd(J, full_matrices=False)
    singular = (U * [*s[:5], 1e-6]) @ V
    g = method.solve(singular, rng.normal(size=6))
    assert np.abs(g).max() <= np.pi / 4 + 1e-12
    # What asks for motion along the singular direction is cut to N / M of the bound: N at most 2 sqrt(2), M about 1e6.
    assert np.abs(method.solve(singular, U[:, 5])).max() < 1e-5
    assert not method.solve(np.zeros((6, 7)), e).any()


@pytest.mark.parametrize("method", ITERATIVE)
def test_every_method_finds_a_near_pose(arm: kido.Skeleton, method: type) -> None:
    ik = InverseKinematics(arm.body("hand"), gradient_method=method())
    ik.solver = GradientDescentSolver(max_iterations=20000)  # its own: nothing is left to compiled code
    for seed in range(3):
        ik.target.world_transform = goal = reachable(arm, seed, 0.1)
        rough = method is JacobianTranspose  # it slows down on the way: it is given a point, and less exact
        ik.error_method = PositionError(0.0, tolerance=1e-4) if rough else TaskSpaceRegion()
        q = arm.positions
        result = ik.find_solution()
        assert np.array_equal(arm.positions, q)
        assert result, result.reason
        X = kido.quantities.world_transform(arm, result.positions, arm.body("hand"))
        assert np.abs(X - goal)[:3, 3 if rough else slice(0, 4)].max() < (2e-4 if rough else 3e-6)


def test_inverse_needs_as_many_coordinates_as_errors(arm: kido.Skeleton) -> None:
    ik = InverseKinematics(arm.body("hand"), arm.dofs[:6], gradient_method=JacobianInverse())
    X = kido.quantities.world_transform(arm, arm.positions + 0.02 * np.array([1, -1, 1, 1, -1, 1, 0]), arm.body("hand"))
    ik.target.world_transform = X
    result = ik.solve_and_apply()
    assert result and result.iterations < 6 and np.abs(arm.body("hand").world_transform - X).max() < 3e-6
    with pytest.raises(ModelError, match="as many active coordinates"):
        InverseKinematics(arm.body("hand"), gradient_method=JacobianInverse()).compute_gradient()


def test_weights_and_clamp(arm: kido.Skeleton) -> None:
    weights = np.array([1.0, 1.0, 0.0, 0.5, 1.0, 1.0, 1.0])
    ik = InverseKinematics(arm.body("hand"), gradient_method=JacobianPseudoinverse(component_weights=weights))
    J, e = (
        ik.compute_jacobian(),
        1e-2 * np.arange(1.0, 7.0),
    )
    g = ik.gradient_method.compute_gradient(e)
    assert g[2] == 0.0 and np.allclose(J @ g, e, atol=1e-10)
    free = weights > 0.0  # of all changes that do it, the least sum of (g / w)^2
    z = np.linalg.svd(J[:, free])[2][6:]
    assert np.allclose(z @ (g[free] / weights[free] ** 2), 0.0, atol=1e-10)
    ik.gradient_method.clamp = 1e-3
    assert np.abs(ik.gradient_method.compute_gradient(e)).max() == pytest.approx(1e-3)
    for wrong in ((1.0,) * 6 + (-1.0,), "x", np.nan):
        with pytest.raises(ModelError, match="component_weights"):
            ik.gradient_method.component_weights = wrong
    ik.gradient_method.component_weights = (1.0, 1.0)
    with pytest.raises(ModelError, match="expected 7 numbers"):
        ik.compute_gradient()
    for make in (lambda: DampedLeastSquares(0.0), lambda: LevenbergMarquardt(np.nan), lambda: DampedLeastSquares("x")):
        with pytest.raises(ModelError, match="expected a number above 0"):
            make()


def test_compiled_and_readable_parts_agree(arm: kido.Skeleton) -> None:
    """The same tasks by one call of compiled code and by Python classes: both reach the target."""
    for seed in range(10):
        ik = InverseKinematics(arm.body("hand"), gradient_method=LevenbergMarquardt())
        ik.target.world_transform = goal = reachable(arm, seed, 0.3)
        fast = ik.find_solution()
        ik.solver = GradientDescentSolver(max_iterations=5000)
        slow = ik.find_solution()
        for result in (fast, slow):
            assert result, result.reason
            X = kido.quantities.world_transform(arm, result.positions, arm.body("hand"))
            assert np.abs(X - goal).max() < 3e-6


def test_a_failure_says_why_and_changes_nothing(arm: kido.Skeleton) -> None:
    ik = InverseKinematics(arm.body("hand"), error_method=PositionError())
    ik.target.relative_translation = (5.0, 0.0, 0.3)
    q = arm.positions
    result = ik.solve_and_apply()
    assert not result and "closest" in result.reason and np.array_equal(arm.positions, q)
    assert ik.solve_and_apply(allow_incomplete_result=True).residual == result.residual
    # No pose of many comes closer.
    rng, limits = (
        np.random.default_rng(4),
        np.array([(d.position_lower_limit, d.position_upper_limit) for d in arm.dofs]),
    )
    hand, goal = arm.body("hand"), ik.target.relative_translation
    found = np.linalg.norm(hand.world_transform[:3, 3] - goal)
    others = [kido.quantities.world_transform(arm, rng.uniform(*limits.T), hand)[:3, 3] for _ in range(2000)]
    assert found < np.linalg.norm(np.array(others) - goal, axis=1).min()


def test_objective_and_null_space_objective(arm: kido.Skeleton) -> None:
    """A 3-coordinate task leaves four free: both objectives pull towards a posture, and none of them off the target."""
    posture = np.array([0.4, 0.3, 0.0, -1.0, 0.0, 0.5, 0.0])
    hand = arm.body("hand")
    costs = {}
    for key in ("none", "objective", "null space", "sqp"):
        ik = InverseKinematics(hand, error_method=PositionError())
        ik.target.relative_translation = hand.world_transform[:3, 3] + (0.05, 0.05, 0.0)
        cost = lambda x: 0.5 * float((x - posture) @ (x - posture))  # noqa: E731
        if key in ("objective", "sqp"):
            ik.objective = cost
        elif key == "null space":
            ik.null_space_objective = cost
        if key == "sqp":
            ik.solver = SqpSolver()
        result = ik.find_solution()
        assert result, result.reason
        X = kido.quantities.world_transform(arm, result.positions, hand)
        assert np.abs(X[:3, 3] - ik.target.relative_translation).max() < 3e-6
        costs[key] = cost(result.positions)
    assert costs["objective"] < 0.5 * costs["none"]
    assert costs["objective"] == pytest.approx(costs["sqp"], rel=1e-4)
    assert costs["null space"] == pytest.approx(costs["sqp"], rel=1e-4)


@pytest.mark.parametrize("hierarchy", [False, True], ids=["single", "hierarchy"])
@pytest.mark.parametrize("kind", ["objective", "null_space_objective"])
def test_objectives_in_python_leave_the_tasks_to_compiled_code(
    arm: kido.Skeleton, kind: str, hierarchy: bool, monkeypatch
) -> None:
    """No step towards a target is made in Python, every target that is reached without an objective is reached with
    one, and the cost is least along what the task leaves free: off limits its gradient there is zero, to the square
    root of what the line search resolves."""
    posture, hand = np.array([0.4, 0.3, 0.0, -1.0, 0.0, 0.5, 0.0]), arm.body("hand")
    start = arm.positions
    ik = InverseKinematics(hand, dofs="all")
    owner = CompositeIK(arm, [ik]) if hierarchy else ik
    setattr(owner, kind, lambda x: 0.5 * float((x - posture) @ (x - posture)))
    steps, free = [], 0
    direction = TaskConstraint.direction
    monkeypatch.setattr(TaskConstraint, "direction", lambda *a: steps.append(a) or direction(*a))
    limits = np.array([(d.position_lower_limit, d.position_upper_limit) for d in arm.dofs])
    for seed in range(15):
        steps.clear()
        ik.target.world_transform = goal = reachable(arm, seed)
        result = owner.find_solution()
        assert result, result.reason
        assert len(steps) <= 1  # the solver asks once whether there are any
        assert np.array_equal(arm.positions, start)
        q = result.positions
        assert np.abs(kido.quantities.world_transform(arm, q, hand) - goal).max() < 3e-6
        arm.positions = q
        away = np.linalg.svd(ik.compute_jacobian())[2][6:]
        arm.positions = start
        if not ((q - limits[:, 0] < 1e-6) | (limits[:, 1] - q < 1e-6)).any():
            free += 1
            assert np.abs(away @ (q - posture)).max() < 1e-3
    assert free >= 8


def test_own_gradient_method_and_constraint(arm: kido.Skeleton) -> None:
    class Half(GradientMethod):
        def compute_gradient(self, error):
            return 0.5 * np.linalg.pinv(self.ik.compute_jacobian()) @ error

    ik = InverseKinematics(arm.body("hand"), gradient_method=Half())
    ik.target.world_transform = goal = reachable(arm, 1, 0.1)
    assert ik.solve_and_apply() and np.abs(arm.body("hand").world_transform - goal).max() < 3e-6
    # A constraint of one's own in the problem: the turn of the upper arm, which the hand's place leaves free.
    ik.gradient_method = DampedLeastSquares()
    ik.error_method = PositionError()
    turn = arm.positions[2] + 0.1
    ik.problem.add_equality(lambda x: x[2] - turn)
    for solver in (SqpSolver(), ScipySolver(), GradientDescentSolver()):
        ik.solver = solver
        result = ik.find_solution()
        assert result and abs(result.positions[2] - turn) < 2e-6, solver.name
    assert ik.problem is ik.problem
    ik.dofs = arm.dofs[:5]
    with pytest.raises(ModelError, match="its problem was changed"):
        _ = ik.problem
    assert ik.reset_problem().dimension == 5 and len(ik.problem.equality) == 1


def test_where_dartpy_solves_so_does_this(dart_data) -> None:
    """The same targets, start and default method on KUKA: dartpy's own InverseKinematics and ours."""
    dart = pytest.importorskip("dartpy")
    file = dart_data / "urdf/KR5/KR5 sixx R650.urdf"
    theirs = dart.utils.DartLoader().parseSkeleton(str(file))
    ours = kido.load(file)
    tip = ours.bodies[-1]
    module = theirs.getBodyNode(tip.name).getOrCreateIK()
    ik = InverseKinematics(tip)
    limits = np.array([(d.position_lower_limit, d.position_upper_limit) for d in ours.dofs])
    rng, start = np.random.default_rng(3), ours.positions
    solved = np.zeros(2, int)
    for _ in range(20):
        X = kido.quantities.world_transform(ours, rng.uniform(*limits.T), tip)
        theirs.setPositions(start)
        frame = dart.math.Isometry3()
        frame.set_matrix(X)
        module.getTarget().setTransform(frame)
        dart_solved = bool(module.solveAndApply(True))
        ik.target.world_transform = X
        result = ik.find_solution()
        solved += dart_solved, bool(result)
        if result:
            assert np.abs(kido.quantities.world_transform(ours, result.positions, tip) - X).max() < 3e-6
        assert bool(result) or not dart_solved
    assert solved[1] >= 19
