"""Optimal control of what turns: states on manifolds, their derivatives, and problems over them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

import kido
from kido.optimal_control import (
    ControlProblem,
    DdpSolver,
    LinearDynamics,
    PointCost,
    QuadraticCost,
    ResidualCost,
    ShootingSolver,
    SkeletonDynamics,
)
from kido.optimization import SqpSolver

SOLVERS = pytest.mark.parametrize("solver", [ShootingSolver, DdpSolver])


def chain() -> kido.Skeleton:
    """A free body, with a ball joint, a hinge and a universal joint behind each other."""
    s = kido.Skeleton("chain")
    inertia = kido.Inertia.from_shape(kido.Box((0.3, 0.2, 0.1)), 1.5)
    body = s.add_body("free", kido.FreeJoint("free"), inertia=inertia)
    for joint in (kido.BallJoint("ball"), kido.RevoluteJoint("hinge", axis=(0, 1, 0)), kido.UniversalJoint("both")):
        joint.transform_from_parent = (0.2, 0.0, 0.1)
        body = s.add_body(joint.name, joint, body, inertia=inertia)
    return s


def top(gravity: float = 0.0) -> kido.Skeleton:
    """A body on a ball joint, about its centre of mass."""
    s = kido.Skeleton("top")
    s.gravity = (0.0, 0.0, -gravity)
    s.add_body("body", kido.BallJoint("ball"), inertia=kido.Inertia(2.0, moment=np.diag([0.3, 0.2, 0.4])))
    return s


@pytest.mark.parametrize("size", [1e-7, 0.3, 1.7])
def test_derivatives_of_moves_are_those_of_exponentials(size: float) -> None:
    """J and T from the exponential of the bracket's matrix in blocks: exp [[A, 1], [0, 0]] = [[e^A, J], [0, 1]]."""
    dynamics = SkeletonDynamics(chain(), 0.01)
    n = dynamics.num_states // 2
    steps = size * np.random.default_rng(0).normal(size=(4, 2 * n))
    found = dynamics.move_derivatives(steps)
    assert found is not None and dynamics.curved == tuple(range(9))
    for k, step in enumerate(steps):
        for block in (slice(0, 6), slice(6, 9)):
            v = step[block]
            w = np.cross(v[:3], np.eye(3))
            A = w if len(v) == 3 else np.block([[w, np.zeros((3, 3))], [np.cross(v[3:], np.eye(3)), w]])
            one = np.eye(len(v))
            exact = scipy.linalg.expm(np.block([[A, one], [np.zeros_like(A), 0.0 * A]]))
            for J, whole in zip(found, (exact[: len(v), len(v) :], exact[: len(v), : len(v)])):
                assert np.abs(J[k, block, block] - whole).max() < 1e-13 * np.abs(exact).max() * len(v)


def test_derivatives_of_steps_on_manifolds() -> None:
    """Against central differences along the manifold, steps of 6e-6: errors of 1e-9 of the largest."""
    rng = np.random.default_rng(1)
    dynamics = SkeletonDynamics(chain(), 0.05, actuated=range(6, 12))
    X, U = rng.normal(size=(6, 24)), rng.normal(size=(6, 6))
    for own, other in zip(dynamics.derivatives(X, U), super(SkeletonDynamics, dynamics).derivatives(X, U)):
        assert np.abs(own - other).max() < 1e-7 * np.abs(other).max()
    steps = rng.normal(size=(6, 24))
    assert np.allclose(dynamics.differences(dynamics.moved(X, steps), X), steps, atol=1e-12)


def test_derivatives_are_carried_across_open_gaps() -> None:
    """A gap stays as it is, to second order, if the state behind it moves by T(-gap) times what comes before it."""
    rng = np.random.default_rng(5)
    dynamics = SkeletonDynamics(chain(), 0.05)
    X, U, after, d = (rng.normal(size=(4, k)) for k in (24, 12, 24, 24))
    gaps = dynamics.differences(dynamics.step(X, U), after)
    assert np.abs(gaps[:, :9]).max() > 1.0
    across, (A, _) = dynamics.move_derivatives(-gaps), dynamics.derivatives(X, U)
    assert across is not None
    step = 1e-5 * np.einsum("kij,kj->ki", across[1] @ A, d)
    moved = dynamics.differences(dynamics.step(dynamics.moved(X, 1e-5 * d), U), dynamics.moved(after, step))
    assert np.abs(moved - gaps).max() < 1e-3 * np.abs(step).max()


def test_structured_derivatives_on_manifolds_are_those_of_the_functions() -> None:
    """Gradient and Jacobians by the problem's variables, far from where they begin, against central differences."""
    s, rng = chain(), np.random.default_rng(2)
    n = 2 * s.num_dofs
    target = 0.5 * rng.normal(size=n)
    problem = ControlProblem(
        SkeletonDynamics(s, 0.05), 0.5 * rng.normal(size=n), 2,
        QuadraticCost(np.ones(n), 0.5, target=target, q=np.ones(n)),
        [PointCost(s, "hinge", [0.1, 0.2, 0.3], directions=[[0, 0, 1.0]]), QuadraticCost(np.ones(n), target=target)],
        equality=[lambda x, u: np.sin(x[:, :2]) * u[:, 1:3], PointCost(s, "both", [0, 0, 0.1], [0.0, 2.0])],
        terminal_inequality=ResidualCost(lambda x, u: x[:, 6:9] ** 2), states=0.5 * rng.normal(size=(3, n)),
    )  # fmt: skip
    x = 0.6 * rng.normal(size=problem.dimension)
    assert np.allclose(problem.joined(*problem.split(x)), x, atol=1e-12)
    e = problem.evaluator()

    def differences(f: object) -> np.ndarray:
        return np.array([(f(x + 1e-6 * d) - f(x - 1e-6 * d)) / 2e-6 for d in np.eye(x.size)]).T  # type: ignore[operator]

    for value, slope in (
        (e.objective, e.gradient(x)), (e.equality, e.equality_jacobian(x)), (e.inequality, e.inequality_jacobian(x)),
    ):  # fmt: skip
        numbers = differences(value)
        assert np.abs(slope - numbers).max() < 1e-7 * max(1.0, np.abs(numbers).max())


@SOLVERS
@pytest.mark.parametrize("angle", [0.7, 2.8])
def test_a_turn_about_one_axis_is_a_double_integrator(solver: type[ShootingSolver], angle: float) -> None:
    """From rest to rest about a principal axis: the linear problem's least effort, times the moment squared."""
    N, h, moment, axis = 20, 0.05, 0.4, np.array([0.0, 0.0, 1.0])
    line = ControlProblem(
        LinearDynamics([[1.0, h], [0.0, 1.0]], [[h * h], [h]]), [0.0, 0.0], N, QuadraticCost(R=h),
        terminal_limits=([angle, 0.0], [angle, 0.0]),
    )  # fmt: skip
    exact = solver(tolerance=1e-9).solve(line).objective * moment**2
    dynamics = SkeletonDynamics(top(), h)
    goal = np.concatenate([angle * axis, np.zeros(3)])
    # From a start turned away, so that no coordinate is the angle about the body's axis.
    turn = np.concatenate([[0.9, -0.4, 0.5], np.zeros(3)])
    target = dynamics.moved(turn[None], goal[None])
    problem = ControlProblem(
        dynamics, turn, N, QuadraticCost(R=h),
        terminal_equality=lambda x, u: dynamics.differences(x, target),
    )  # fmt: skip
    found = solver(tolerance=1e-7).solve(problem)
    assert found.converged
    assert abs(found.objective - exact) < 1e-5 * exact
    X, _ = problem.split(found.x)
    assert np.abs(dynamics.differences(X[-1:], target)).max() < 1e-6


@SOLVERS
def test_tumbling_body_is_brought_to_rest_as_other_solvers_do(solver: type[ShootingSolver]) -> None:
    """Sequential quadratic programming, which knows nothing of manifolds, takes it as a problem in variables."""
    dynamics = SkeletonDynamics(top(), 0.05)
    start = np.array([1.0, -0.6, 0.4, 2.0, 1.0, -1.5])
    problem = ControlProblem(
        dynamics, start, 20, QuadraticCost(0.1, 0.2), QuadraticCost(20.0), control_limits=(-0.9, 0.9),
    )  # fmt: skip
    found, reference = solver(optimality=1e-7).solve(problem), SqpSolver(tolerance=1e-9).solve(problem)
    assert found.converged and reference.converged
    assert abs(found.objective - reference.objective) < 1e-6 * reference.objective
    X, U = problem.split(found.x)
    assert np.abs(dynamics.differences(dynamics.simulate(X[0], U), X)).max() < 1e-6
    assert np.abs(U).max() > 0.8999


def test_feedback_brings_a_disturbed_motion_back() -> None:
    dynamics = SkeletonDynamics(top(), 0.05)
    problem = ControlProblem(dynamics, [1.0, -0.6, 0.4, 0, 0, 0], 40, QuadraticCost(1.0, 0.01), QuadraticCost(10.0))
    solver = DdpSolver()
    found = solver.solve(problem)
    (X, U), K = problem.split(found.x), solver.feedback(problem, found.x)
    none, wide = np.zeros_like(U), (np.full_like(U, -np.inf), np.full_like(U, np.inf))
    away = dynamics.moved(X[:1], np.array([[0.2, -0.1, 0.3, 0.5, 0.0, -0.5]]))[0]
    off = {}
    for name, gains in (("with", K), ("without", 0.0 * K)):
        moved, _ = dynamics.rollout(away, X, U, gains, none, np.zeros_like(X[1:]), wide)
        off[name] = np.linalg.norm(dynamics.differences(moved[-1:], X[-1:]))
    assert off["with"] < 0.1 * off["without"]


def test_limits_on_manifolds_are_refused() -> None:
    dynamics = SkeletonDynamics(top(), 0.05)
    with pytest.raises(kido.ModelError, match=r"state_limits: expected none for numbers \[0, 1, 2\]"):
        ControlProblem(dynamics, np.zeros(6), 3, QuadraticCost(), state_limits=(-1.0, 1.0))
    wide = np.array([np.inf, np.inf, np.inf, 1.0, 1.0, 1.0])
    ControlProblem(dynamics, np.zeros(6), 3, QuadraticCost(), state_limits=(-wide, wide))
    with pytest.raises(kido.ModelError, match=r"weights not below 0"):
        PointCost(dynamics.skeleton, "body", [0.0, 0.0, 0.0], weight=-1.0)
