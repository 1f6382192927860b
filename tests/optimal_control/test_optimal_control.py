"""Optimal control against closed forms and other programs; derivatives against differences; certificates."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

import kido
from kido.optimal_control import (
    ControlProblem,
    DdpSolver,
    FunctionDynamics,
    LinearDynamics,
    PointCost,
    QuadraticCost,
    ResidualCost,
    ShootingSolver,
    SkeletonDynamics,
)
from kido.optimization import Reason, SqpSolver

SOLVERS = pytest.mark.parametrize("solver", [ShootingSolver, DdpSolver])


def double_integrator(h: float) -> LinearDynamics:
    return LinearDynamics([[1.0, h], [0.0, 1.0]], [[0.5 * h * h], [h]])


@SOLVERS
def test_linear_quadratic_problem_in_one_iteration(solver: type[ShootingSolver]) -> None:
    """The gains of the discrete algebraic Riccati equation, as SciPy solves it."""
    rng = np.random.default_rng(0)
    A, B = np.eye(4) + 0.1 * rng.normal(size=(4, 4)), rng.normal(size=(4, 2))
    Q, R = np.diag([1.0, 2.0, 0.5, 1.0]), np.array([[1.0, 0.2], [0.2, 0.5]])
    P = scipy.linalg.solve_discrete_are(A, B, Q, R)
    start = np.array([1.0, -2.0, 0.5, 3.0])
    problem = ControlProblem(LinearDynamics(A, B), start, 30, QuadraticCost(Q, R), QuadraticCost(P))
    found = solver().solve(problem)
    assert found.converged and found.iterations == 1
    assert abs(found.objective - 0.5 * start @ P @ start) < 1e-10 * found.objective
    X, U = problem.split(found.x)
    K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
    assert np.allclose(U, -X[:-1] @ K.T, atol=1e-9)


@SOLVERS
def test_least_effort(solver: type[ShootingSolver]) -> None:
    """From rest to rest over 1 m in 1 s the integral of u^2 is 12; with N held controls 12 / (1 - 1 / N^2)."""
    N = 50
    problem = ControlProblem(
        double_integrator(1.0 / N), [0.0, 0.0], N, QuadraticCost(R=2.0 / N), terminal_limits=([1.0, 0.0], [1.0, 0.0])
    )
    found = solver(tolerance=1e-8).solve(problem)
    assert found.converged
    assert abs(found.objective - 12.0 / (1.0 - 1.0 / N**2)) < 1e-6
    # The price of the last position: d cost / d distance = 24 d.
    assert abs(abs(found.multipliers.equality[-2]) - 24.0 / (1.0 - 1.0 / N**2)) < 1e-4


@SOLVERS
def test_limits_of_controls_and_states_are_those_that_a_quadratic_program_finds(solver: type[ShootingSolver]) -> None:
    N = 40
    given = {"terminal_limits": ([1.0, 0.0], [1.0, 0.0])}
    for limits in (
        {"control_limits": (-5.0, 5.0)},
        {"state_limits": ([-9.0, -9.0], [9.0, 1.25])},
        {"inequality": lambda x, u: x[:, 1:] - 1.25, "terminal_equality": lambda x, u: x - [1.0, 0.0]},
    ):
        options = {**(given if "inequality" not in limits else {}), **limits}
        problem = ControlProblem(double_integrator(1.0 / N), [0.0, 0.0], N, QuadraticCost(R=2.0 / N), **options)
        found, reference = solver(tolerance=1e-7).solve(problem), SqpSolver(tolerance=1e-9).solve(problem)
        assert found.converged and reference.converged
        assert abs(found.objective - reference.objective) < 1e-5
        assert found.objective > 12.05  # a limit is met


# Crocoddyl 3.2.1, ActionModelUnicycle, SolverFDDP, th_stop 1e-12: 250.10460834709693 for 200 steps; Ipopt (by CasADi)
# finds 250.104608347095 from twelve starts, and 250.03931997319373 for 100 steps, Crocoddyl 250.03931997320245.
@SOLVERS
@pytest.mark.parametrize("N, least", [(100, 250.03931997319373), (200, 250.104608347095)])
def test_unicycle_of_crocoddyl(solver: type[ShootingSolver], N: int, least: float) -> None:
    def step(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        return x + 0.1 * np.stack([np.cos(x[:, 2]) * u[:, 0], np.sin(x[:, 2]) * u[:, 0], u[:, 1]], axis=1)

    guess = np.zeros((N + 1, 3))
    guess[0] = -1.0, -1.0, 1.0
    for states in (None, guess):  # the second is what Crocoddyl begins with: gaps are open
        problem = ControlProblem(
            FunctionDynamics(3, 2, step), guess[0], N, QuadraticCost(np.full(3, 100.0), np.ones(2)),
            QuadraticCost(np.full(3, 100.0)), states=states,
        )  # fmt: skip
        found = solver(optimality=1e-8).solve(problem)
        assert found.converged and found.iterations < 20
        assert abs(found.objective - least) < 1e-9


def least_time(N: int) -> FunctionDynamics:
    """States [position, velocity, duration]."""

    def step(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        h = x[:, 2] / N
        return np.stack([x[:, 0] + h * x[:, 1] + 0.5 * h * h * u[:, 0], x[:, 1] + h * u[:, 0], x[:, 2]], axis=1)

    return FunctionDynamics(3, 1, step)


@pytest.mark.parametrize("solver", [DdpSolver(), SqpSolver()])
def test_least_time(solver: DdpSolver | SqpSolver) -> None:
    """2 sqrt(d / a), with full acceleration and then full braking; exact, as it switches at a node."""
    N, d, a = 20, 2.0, 3.0
    guess = np.stack([np.linspace(0.0, d, N + 1), np.ones(N + 1), np.full(N + 1, 2.0)], axis=1)
    problem = ControlProblem(
        least_time(N), [0.0, 0.0, 1.0], N, QuadraticCost(), QuadraticCost(q=[0.0, 0.0, 1.0]), free=[2],
        control_limits=(-a, a), state_limits=([-9.0, -9.0, 0.1], [9.0, 9.0, 9.0]),
        terminal_limits=([d, 0.0, 0.1], [d, 0.0, 9.0]), states=guess,
    )  # fmt: skip
    found = solver.solve(problem)
    assert found.converged
    assert abs(found.objective - 2.0 * np.sqrt(d / a)) < 1e-6
    assert np.allclose(problem.split(found.x)[1][:, 0], np.repeat([a, -a], N // 2), atol=1e-3)


def test_brachistochrone() -> None:
    """From (0, 10) to (10, 5): 1.8016031224530946 s. Held controls are off by c / N^2; two N tell c."""
    g, times = 9.80665, []
    for N in (30, 60):

        def rate(z: np.ndarray, u: np.ndarray) -> np.ndarray:
            return np.stack([z[:, 2] * np.sin(u[:, 0]), -z[:, 2] * np.cos(u[:, 0]), g * np.cos(u[:, 0])], axis=1)

        def step(x: np.ndarray, u: np.ndarray, N: int = N) -> np.ndarray:
            z, h = x[:, :3], x[:, 3:] / N
            a = rate(z, u)
            b = rate(z + 0.5 * h * a, u)
            c = rate(z + 0.5 * h * b, u)
            return np.concatenate([z + h / 6.0 * (a + 2.0 * b + 2.0 * c + rate(z + h * c, u)), x[:, 3:]], axis=1)

        dynamics, controls = FunctionDynamics(4, 1, step), np.linspace(0.2, 1.8, N)[:, None]
        start = [0.0, 10.0, 0.0, 1.9]
        problem = ControlProblem(
            dynamics, start, N, QuadraticCost(), QuadraticCost(q=[0.0, 0.0, 0.0, 1.0]), free=[3],
            state_limits=([-50.0, -50.0, -50.0, 0.1], [50.0, 50.0, 50.0, 9.0]),
            terminal_limits=([10.0, 5.0, -50.0, 0.1], [10.0, 5.0, 50.0, 9.0]),
            states=dynamics.simulate(start, controls), controls=controls,
        )  # fmt: skip
        found = DdpSolver(second_order=True).solve(problem)
        assert found.converged
        times.append(found.objective)
    assert abs(times[1] - 1.8016031224530946) < 1e-4
    assert abs((4.0 * times[1] - times[0]) / 3.0 - 1.8016031224530946) < 1e-6


def reach() -> tuple[ControlProblem, kido.Skeleton, np.ndarray]:
    arm = kido.load("arm7")
    q, goal = np.full(7, 0.3), np.array([0.4, 0.3, 0.6])
    hold = arm.inverse_dynamics(q, np.zeros(7), np.zeros(7))
    weights = np.concatenate([np.full(7, 1e-2), np.full(7, 1e-2)])
    problem = ControlProblem(
        SkeletonDynamics(arm, 0.01), np.concatenate([q, np.zeros(7)]), 100,
        QuadraticCost(weights, 1e-3, target=np.concatenate([q, np.zeros(7)]), target_control=hold),
        [PointCost(arm, "hand", goal, 1e3), QuadraticCost(np.concatenate([np.zeros(7), np.full(7, 10.0)]))],
        controls=np.tile(hold, (100, 1)),
    )  # fmt: skip
    return problem, arm, goal


@SOLVERS
def test_reach_of_seven_joints(solver: type[ShootingSolver]) -> None:
    problem, arm, goal = reach()
    found = solver().solve(problem)
    assert found.converged
    X, U = problem.split(found.x)
    again = problem.dynamics.simulate(X[0], U)
    assert np.allclose(again, X, atol=1e-6)
    hand = arm.forward_kinematics(X[-1, :7])[arm.body("hand").index][:3, 3]
    assert np.linalg.norm(hand - goal) < 0.02  # the pull of posture and effort, at a weight of 1e3
    assert np.abs(X[-1, 7:]).max() < 0.5


@pytest.mark.parametrize("held", [False, True])
def test_derivatives_of_skeletons(held: bool) -> None:
    """Against central differences of the step, steps of 6e-6: errors of 1e-10 of the largest."""
    arm = kido.load("arm7")
    contacts = [
        SkeletonDynamics.contact(arm.body("hand"), 1, 3, (0.0, 0.02, 0.05), [[0.0, 0.0, 1.0], [0.6, 0.8, 0.0]]),
        SkeletonDynamics.contact(arm.body("forearm"), 2, 4, directions=[1.0, 0.0, 0.0]),
    ]
    dynamics = SkeletonDynamics(arm, 0.02, actuated=[0, 2, 3, 6], contacts=contacts if held else ())
    rng = np.random.default_rng(0)
    X, U = rng.normal(size=(5, 14)), rng.normal(size=(5, 4))
    A, B = dynamics.derivatives(X, U)
    A0, B0 = super(SkeletonDynamics, dynamics).derivatives(X, U)
    assert np.abs(A - A0).max() < 1e-8 * np.abs(A0).max()
    assert np.abs(B - B0).max() < 1e-8 * np.abs(B0).max()
    gains = rng.normal(size=(5, 4, 14))
    states = np.concatenate([X, X[:1]])
    given = X[0], states, U, gains, 0.1 * U, np.zeros((5, 14)), (np.full((5, 4), -2.0), np.full((5, 4), 2.0))
    if not held:  # the compiled rollout and the one in Python
        for one, other in zip(dynamics.rollout(*given), super(SkeletonDynamics, dynamics).rollout(*given)):
            assert np.allclose(one, other, rtol=1e-9, atol=1e-9)


def test_phase_of_contact_holds_a_point_and_lets_go() -> None:
    arm = kido.load("arm7")
    q = np.full(7, 0.4)
    h, N = 0.002, 200
    touch = SkeletonDynamics.contact(arm.body("hand"), 0, N // 2)
    dynamics = SkeletonDynamics(arm, h, contacts=[touch], fading=0.0)
    X = dynamics.simulate(np.concatenate([q, np.zeros(7)]), np.zeros((N, 7)))
    hand = np.array([arm.forward_kinematics(x[:7])[arm.body("hand").index][:3, 3] for x in X])
    # It falls with its hand held, to the step's order, and then with its hand free.
    assert np.abs(hand[: N // 2] - hand[0]).max() < 2e-3
    assert np.abs(X[N // 2, :7] - q).max() > 0.05
    assert np.linalg.norm(hand[-1] - hand[0]) > 0.05
    # A held point does no work: energy is kept to the step's order.
    energy = []
    for x in X[: N // 2 : 10]:
        arm.positions, arm.velocities = x[:7], x[7:]
        energy.append(arm.kinetic_energy + arm.potential_energy)
    assert np.abs(np.array(energy) - energy[0]).max() < 0.02 * abs(energy[0])


@SOLVERS
def test_motion_with_a_phase_of_contact(solver: type[ShootingSolver]) -> None:
    arm = kido.load("arm7")
    q = np.full(7, 0.4)
    start, N = np.concatenate([q, np.zeros(7)]), 30
    touch = SkeletonDynamics.contact(arm.body("hand"), 0, 20)
    dynamics = SkeletonDynamics(arm, 0.01, contacts=[touch])
    goal = np.array([0.3, 0.4, 0.7])
    hold = arm.inverse_dynamics(q, np.zeros(7), np.zeros(7))
    problem = ControlProblem(
        dynamics, start, N, QuadraticCost(1e-2, 1e-3, start, hold), PointCost(arm, "hand", goal, 3000.0),
        controls=np.tile(hold, (N, 1)),
    )  # fmt: skip
    found = solver().solve(problem)
    assert found.converged
    X, _ = problem.split(found.x)
    hand = np.array([arm.forward_kinematics(x[:7])[arm.body("hand").index][:3, 3] for x in X])
    assert np.abs(hand[:21] - hand[0]).max() < 5e-3
    assert np.linalg.norm(hand[-1] - goal) < 0.5 * np.linalg.norm(hand[0] - goal)


def test_structured_derivatives_are_those_of_the_functions() -> None:
    """Gradient and Jacobians of the problem against central differences over all variables."""
    arm = kido.load("arm7")
    rng = np.random.default_rng(1)
    problem = ControlProblem(
        SkeletonDynamics(arm, 0.02), rng.normal(size=14), 3, QuadraticCost(np.ones(14), np.eye(7), q=np.ones(14)),
        [PointCost(arm, "hand", [0.1, 0.2, 0.3])], equality=lambda x, u: np.sin(x[:, :1]) * u[:, 1:3],
        inequality=ResidualCost(lambda x, u: x[:, 3:4] + u[:, :1] ** 2), terminal_inequality=lambda x, u: x[:, :2] ** 2,
    )  # fmt: skip
    x = rng.normal(size=problem.dimension)
    e = problem.evaluator()

    def differences(f: object) -> np.ndarray:
        return np.array([(f(x + 1e-6 * d) - f(x - 1e-6 * d)) / 2e-6 for d in np.eye(x.size)]).T  # type: ignore[operator]

    for value, slope in (
        (e.objective, e.gradient(x)), (e.equality, e.equality_jacobian(x)), (e.inequality, e.inequality_jacobian(x)),
    ):  # fmt: skip
        numbers = differences(value)
        assert np.abs(slope - numbers).max() < 1e-6 * max(1.0, np.abs(numbers).max())


def test_bad_input() -> None:
    dynamics, cost = double_integrator(0.1), QuadraticCost(R=1.0)
    with pytest.raises(kido.ModelError, match="steps: expected a whole number above 0, got 0"):
        ControlProblem(dynamics, [0.0, 0.0], 0, cost)
    with pytest.raises(kido.ModelError, match="start: expected 2 numbers, got 3"):
        ControlProblem(dynamics, [0.0, 0.0, 0.0], 5, cost)
    with pytest.raises(kido.ModelError, match="finite"):
        ControlProblem(dynamics, [0.0, np.nan], 5, cost)
    with pytest.raises(kido.ModelError, match="control_limits: expected lower <= upper"):
        ControlProblem(dynamics, [0.0, 0.0], 5, cost, control_limits=(1.0, -1.0))
    with pytest.raises(kido.ModelError, match="positive semidefinite"):
        QuadraticCost(R=-1.0)
    still = kido.Skeleton("still")
    still.add_body("rock", kido.WeldJoint("weld"))
    with pytest.raises(kido.ModelError, match="'still' has no coordinate that moves"):
        SkeletonDynamics(still, 0.01)
    with pytest.raises(kido.ModelError, match="time_step"):
        SkeletonDynamics(kido.load("arm7"), 0.0)
    with pytest.raises(kido.NameLookupError, match="elbow_motor"):
        SkeletonDynamics(kido.load("arm7"), 0.01, actuated=["elbow_motor"])
    with pytest.raises(kido.ModelError, match=r"expected a kido\.optimal_control\.ControlProblem"):
        ShootingSolver().solve(kido.optimization.Problem(2))
    wrong = FunctionDynamics(2, 1, lambda x, u: x[:, :1])
    with pytest.raises(kido.StateError, match="expected states of shape"):
        ShootingSolver().solve(ControlProblem(wrong, [0.0, 0.0], 5, cost))
    # What cannot be reached is told, not returned as a solution.
    far = ControlProblem(dynamics, [0.0, 0.0], 5, cost, control_limits=(-1, 1), terminal_limits=([9, 0], [9, 0]))
    found = ShootingSolver(max_iterations=60).solve(far)
    assert not found.converged and not found.feasible


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("solver", [ShootingSolver(), DdpSolver()], ids=lambda solver: solver.name)
def test_constraints_that_contradict_each_other(solver) -> None:
    """A cart of 1 N at most cannot be 10 m away after 2 s."""
    h = 0.1
    dynamics = LinearDynamics([[1, h], [0, 1]], [[h * h / 2], [h]])
    problem = ControlProblem(
        dynamics, [0, 0], 20, QuadraticCost(0.0, 1.0), control_limits=(-1, 1), terminal_limits=([10, 0], [10, 0])
    )
    solution = solver.solve(problem)
    assert not solution.converged and solution.reason is Reason.INFEASIBLE


def test_sizes_are_named() -> None:
    dynamics = LinearDynamics([[1.0, 0.1], [0.0, 1.0]], [[0.0], [0.1]])
    for options, what in (
        ({"target": [1, 2, 3]}, "target: expected 2 numbers"),
        ({"Q": np.eye(3)}, "Q: expected 2 numbers"),
        ({"R": np.eye(2)}, "R: expected 1 numbers"),
        ({"r": [1, 2]}, "r: expected 1 numbers"),
    ):
        with pytest.raises(kido.ModelError, match=what):
            ControlProblem(dynamics, [0, 0], 5, QuadraticCost(**options))
    for free in ([0.7], ["a"], 5, [True]):
        with pytest.raises(kido.ModelError, match="free: expected indices below 2"):
            ControlProblem(dynamics, [0, 0], 5, QuadraticCost(), free=free)  # type: ignore[arg-type]
    with pytest.raises(kido.ModelError, match="start: expected 2 numbers"):
        dynamics.simulate([0, 0, 0], np.zeros((3, 1)))
    with pytest.raises(kido.ModelError, match=r"controls: expected finite numbers \(nodes, 1\)"):
        dynamics.simulate([0, 0], np.zeros((3, 2)))
    s = kido.Skeleton("s")
    s.add_body("a", kido.PrismaticJoint("x"))
    with pytest.raises(kido.ModelError, match=r"target: expected \(3,\)"):
        PointCost(s, "a", (0, 0))
    with pytest.raises(kido.ModelError, match="expected a body of skeleton 's'"):
        PointCost(s, kido.load("arm7").body("hand"), (0, 0, 0))
