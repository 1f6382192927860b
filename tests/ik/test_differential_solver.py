"""The compiled solver of hierarchies: closed forms, SciPy, the solver in Python, and what its limits mean.

Levels are met to 1e-6, the tolerance of tasks. Where one cannot be met, the descent ends when 25 iterations remove less
than 1e-4 of its cost: distances are then those of the closest pose to some 1e-4 of themselves, and mostly to 1e-6.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

import kido
from ik_arms import arm7, planar_arm
from kido.errors import ModelError
from kido.ik import (
    BalanceConstraint,
    BalanceError,
    CenterOfMassError,
    CollisionAvoidance,
    CompositeIK,
    DifferentialIK,
    DifferentialSolver,
    ErrorMethod,
    HalfSpaces,
    IkSolver,
    InverseKinematics,
    LevenbergMarquardt,
    LookAtError,
    OrientationError,
    PlaneError,
    PositionError,
    PrioritizedSolver,
    RelativePoseError,
    Task,
    TaskSpaceRegion,
    WholeBodyIK,
)
from kido.ik.footing import Footing
from kido.optimization import SqpSolver
from whole_bodies import MARGIN, own_humanoid, pelvis, standing

EXACT = 1e-6
CLOSEST = 1e-4


def task(node, place, level: int = 0, method: ErrorMethod | None = None, dofs: object = "all") -> InverseKinematics:
    ik = InverseKinematics(node, dofs, method or PositionError())
    if np.shape(place) == (4, 4):
        ik.target.world_transform = place
    else:
        ik.target.relative_translation = place
    ik.priority = level
    return ik


def distance(error: tuple[str, np.ndarray]) -> float:
    return float(np.linalg.norm(error[1][3:]))


# What cannot be met together ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("elbow", [(0.0, 2.0, 0.0), (2.0, 2.0, 0.0), (1.0, -3.0, 0.0)])
def test_a_lower_level_comes_as_near_as_the_first_one_lets_it(elbow: tuple) -> None:
    """Three links of 1 m, the tip at a point: the end of the first link is anywhere on an arc of the unit circle."""
    arm = planar_arm((1.0, 1.0, 1.0))
    arm.positions = [0.3, 0.5, 0.4]
    place = np.array([1.5, 0.3, 0.0])
    both = CompositeIK(arm, [task(arm.node("tip"), place), task(arm.bodies[1], elbow, 1)])
    both.solver = DifferentialSolver()
    result = both.find_solution()
    angle = np.linspace(-np.pi, np.pi, 200_001)
    ends = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    ends = ends[np.linalg.norm(place[:2] - ends, axis=1) <= 2.0]
    best = np.linalg.norm(ends - elbow[:2], axis=1).min()
    assert not result and "b1" in result.reason and "tip" not in result.reason
    assert np.abs(result.errors[0][1]).max() <= EXACT
    assert abs(distance(result.errors[1]) - best) < CLOSEST
    arm.positions = result.positions
    again = both.find_solution()  # it has come to rest
    assert np.abs(again.positions - result.positions).max() < 1e-2
    assert distance(again.errors[1]) <= distance(result.errors[1]) + 1e-9


@pytest.mark.parametrize("level", [0, 1])
def test_out_of_reach_with_a_competing_task(level: int) -> None:
    """The tip stretches towards its target whatever else is wanted below it; as equals they share."""
    arm = planar_arm((1.0, 1.0, 1.0))
    arm.positions = [0.3, 0.5, 0.4]
    both = CompositeIK(arm, [task(arm.node("tip"), (5.0, 1.0, 0.0)), task(arm.bodies[1], (0.0, 2.0, 0.0), level)])
    result = both.find_solution()
    reach = np.hypot(5.0, 1.0) - 3.0
    if level == 1:
        assert abs(distance(result.errors[0]) - reach) < CLOSEST
    else:
        cost = sum(distance(e) ** 2 for e in result.errors)

        def total(q):
            tip = np.array([np.cos(np.cumsum(q)).sum(), np.sin(np.cumsum(q)).sum()])
            return ((tip - (5.0, 1.0)) ** 2).sum() + ((np.array([np.cos(q[0]), np.sin(q[0])]) - (0.0, 2.0)) ** 2).sum()

        best = min(minimize(total, q).fun for q in np.random.default_rng(0).uniform(-2, 2, (20, 3)))
        assert abs(cost - best) < CLOSEST * best


@pytest.mark.parametrize("seed", range(6))
def test_orientation_below_position_against_scipy(seed: int) -> None:
    """What SLSQP makes of the orientation, with the position as an equation and limits, is no better."""
    arm = arm7()
    arm.state.compiled()
    tip, rng = arm.node("tip"), np.random.default_rng(seed)
    lower, upper = arm.state.tree.lower, arm.state.tree.upper
    arm.positions = rng.uniform(lower, upper)
    place, X = tip.world_transform[:3, 3], np.eye(4)
    X[:3, :3] = Rotation.random(rng=rng).as_matrix()
    both = CompositeIK(arm, [task(tip, place), task(tip, X, 1, OrientationError())])
    arm.positions = rng.uniform(lower, upper)
    result = both.find_solution()
    assert np.abs(result.errors[0][1]).max() <= EXACT
    assert (result.positions >= lower - 1e-9).all() and (result.positions <= upper + 1e-9).all()

    def off(q):
        arm.positions = q
        return tip.world_transform[:3, 3] - place

    def turn(q):
        arm.positions = q
        v = Rotation.from_matrix(X[:3, :3].T @ tip.world_transform[:3, :3]).as_rotvec()
        return float(v @ v)

    found = minimize(
        turn, np.clip(result.positions, lower, upper), constraints={"type": "eq", "fun": off},
        bounds=list(zip(lower, upper)), method="SLSQP", options={"ftol": 1e-12, "maxiter": 200},
    )  # fmt: skip
    best = found.fun if np.abs(off(found.x)).max() < 1e-7 else np.inf
    assert turn(result.positions) <= best * (1.0 + CLOSEST) + 1e-11


def test_higher_levels_are_never_given_up_on_the_way() -> None:
    """Whenever the solve is cut off, feet and balance hold, and hands come nearer with each further iteration."""
    robot = own_humanoid()
    tasks, body = standing(robot), WholeBodyIK(robot)
    for side in ("left", "right"):
        tasks[f"{side}_grip"].target.relative_translation = (3.0, 0.0, 1.0)
    last = np.inf
    for most in (1, 2, 5, 10, 20, 40, 80):
        body.solver = DifferentialSolver(max_iterations=most, nudges=0)
        found = body.solver.descended(body, robot.positions)
        assert (found.size[1:3] <= EXACT).all()  # feet, balance
        assert found.cost[3] <= last
        last = found.cost[3]
    assert body.solver.descended(body, robot.positions).q.tobytes() == found.q.tobytes()


def test_contradictions_of_equals_and_tasks_that_are_there_twice() -> None:
    """Two targets of one hand on a level: the middle is nearest to both; below it, the same again changes nothing."""
    arm = arm7()
    arm.positions = [0.2, 0.5, -0.1, -1.2, 0.3, 0.8, 0.0]
    tip = arm.node("tip")
    a, b = tip.world_transform[:3, 3] + (0.05, 0.02, 0.0), tip.world_transform[:3, 3] - (0.05, 0.02, 0.1)
    both = CompositeIK(arm, [task(tip, a), task(tip, b), task(tip, a, 1), task(tip, b, 2)])
    result = both.solve_and_apply(allow_incomplete_result=True)
    assert not result
    assert np.abs(tip.world_transform[:3, 3] - 0.5 * (a + b)).max() < 1e-5


# Where everything can be met -----------------------------------------------------------------------------------------


def many_tasks(robot: kido.Skeleton) -> CompositeIK:
    """One of each kind, among them regions, cones, masked coordinates and targets on the robot itself."""
    pose = robot.node("left_sole").world_transform
    left, right = robot.node("left_grip"), robot.node("right_grip")
    eye = robot.body("head")
    high = InverseKinematics(pelvis(robot), "body", PlaneError(heights=(-0.02, 0.02)))
    high.target.relative_translation = pelvis(robot).world_transform[:3, 3] - (0.0, 0.0, 0.05)
    flat = TaskSpaceRegion((0.0, 0.0, np.inf), (0.001, 0.001, 0.0))
    modules = [
        task(robot.node("left_sole"), pose, 0, TaskSpaceRegion(), "body"),
        task(robot.node("right_sole"), robot.node("right_sole").world_transform, 0, flat, "body"),
        task(pelvis(robot), np.eye(4), 1, BalanceError(MARGIN)),
        task(left, left.world_transform[:3, 3] + (0.1, 0.0, 0.1), 2, PositionError(error_weights=0.5), "chain"),
        task(right, np.eye(4), 3, RelativePoseError(left, (0.05, -0.3, 0.0), np.inf, 0.02), "chain"),
        task(eye, (1.0, 0.3, 0.8), 4, LookAtError((1.0, 0.0, 0.0), 0.05), "body"),
        task(pelvis(robot), robot.com, 5, CenterOfMassError(((-0.5, -0.5, -0.5), (0.5, 0.5, 0.5)))),
        high,
    ]
    high.priority = 5
    for ik in modules:
        ik.gradient_method = LevenbergMarquardt()
    return CompositeIK(robot, modules)


def test_compiled_and_python_solve_the_same() -> None:
    robot = own_humanoid()
    body = many_tasks(robot)
    quick = body.find_solution()
    assert quick, quick.reason
    body.solver = PrioritizedSolver(compiled=False)
    slow = body.find_solution()
    assert slow, slow.reason
    for result in (quick, slow):
        with body.posed(result.positions):
            for (name, e), ik in zip(result.errors, (ik for level in body.levels for ik in level)):
                assert name == ik.node.name and np.abs(e - ik.compute_error()).max() < 1e-9
                assert ik.error_method.is_satisfied


def test_reported_errors_are_those_of_the_error_methods() -> None:
    """Also where nothing is met: the pose of a single iteration."""
    robot = own_humanoid()
    body = many_tasks(robot)
    for ik in body.modules:
        ik.target.relative_translation = ik.target.relative_translation + (0.3, -0.2, 0.25)
    body.solver = DifferentialSolver(max_iterations=1, nudges=0, restarts=0)
    result = body.find_solution()
    assert not result and result.iterations <= 3
    with body.posed(result.positions):
        for (_, e), ik in zip(result.errors, (ik for level in body.levels for ik in level)):
            assert np.abs(e - ik.compute_error()).max() < 1e-9


def test_parts_of_a_users_own_run_in_python() -> None:
    class Above(ErrorMethod):
        def compute_error(self):
            return np.array([0.0, 0.0, 0.0, 0.0, 0.0, self.ik.node.world_transform[2, 3] - 0.9])

    arm = arm7()
    arm.positions = [0.1, 0.4, 0.0, -1.0, 0.0, 0.7, 0.0]
    own = InverseKinematics(arm.node("tip"), "all", Above())
    body = CompositeIK(arm, [own])
    assert body.solve_and_apply() and abs(arm.node("tip").world_transform[2, 3] - 0.9) < EXACT
    body.solver = DifferentialSolver()
    with pytest.raises(ModelError, match="built-in error method, got Above"):
        body.find_solution()


def test_two_hands_of_a_robot_with_short_ranges(example_robots) -> None:
    """Baxter from the middle of its joints' ranges: one descent meets four of five, new starts the others."""
    robot = kido.load(example_robots / "baxter_description/urdf/baxter.urdf", visuals=False, collisions=False)
    hands = [InverseKinematics(robot.body(f"{side}_gripper"), "body") for side in ("left", "right")]
    both, rng = CompositeIK(robot, hands), np.random.default_rng(0)
    lower = np.array([d.position_lower_limit for d in robot.dofs])
    upper = np.array([d.position_upper_limit for d in robot.dofs])
    for _ in range(40):
        robot.positions = rng.uniform(lower, upper)
        for ik in hands:
            ik.target.world_transform = ik.node.world_transform
        robot.positions = 0.5 * (lower + upper)
        result = both.solve_and_apply()
        assert result, result.reason
        for ik in hands:
            assert np.abs(ik.node.world_transform - ik.target.world_transform).max() < 2 * EXACT


def test_straight_limbs_bend() -> None:
    """A stretched arm whose target is behind its tip, on its line: no step comes nearer to first order."""
    arm = planar_arm((1.0, 1.0))
    result = CompositeIK(arm, [task(arm.node("tip"), (1.2, 0.0, 0.0))]).find_solution()
    assert result, result.reason


# Limits --------------------------------------------------------------------------------------------------------------


def test_half_spaces_hold() -> None:
    """The tip is to be at (1.5, 0.5), x <= 1 holds: it ends at (1, 0.5)."""
    arm = planar_arm((1.0, 1.0))
    arm.positions = [0.2, 1.5]
    tip = arm.node("tip")
    wall = HalfSpaces(Task.position(tip), (1.0, 0.0, 0.0), 1.0)
    body = CompositeIK(arm, [task(tip, (1.5, 0.5, 0.0))])
    body.solver = DifferentialSolver(half_spaces=[wall])
    result = body.solve_and_apply(allow_incomplete_result=True)
    assert not result
    assert np.abs(tip.world_transform[:3, 3] - (1.0, 0.5, 0.0)).max() < 1e-4
    assert tip.world_transform[0, 3] < 1.0 + 1e-7
    arm.positions = [0.0, 0.1]  # beyond the wall at the start: it comes back
    body.modules[0].target.relative_translation = (0.6, 0.5, 0.0)
    assert body.solve_and_apply() and np.abs(tip.world_transform[:2, 3] - (0.6, 0.5)).max() < EXACT


def test_shapes_keep_their_distance() -> None:
    """A ball at the tip is sent into a ball of the world: their distance is 0.05 in the end, and never less."""
    arm = planar_arm((1.0, 1.0))
    arm.positions = [0.9, -1.5]
    tip = arm.node("tip")
    ball = arm.bodies[1].add_shape(kido.Sphere(0.1), (1.0, 0.0, 0.0))
    post = kido.Skeleton("post").add_body("post", kido.WeldJoint())
    fixed = post.add_shape(kido.Sphere(0.2), (1.2, 0.0, 0.0))
    body = CompositeIK(arm, [task(tip, (1.2, 0.0, 0.0))])
    body.solver = DifferentialSolver(avoid=[CollisionAvoidance(ball, fixed, distance=0.05, influence=1.0)])
    result = body.solve_and_apply(allow_incomplete_result=True)
    assert not result
    gap = np.linalg.norm(tip.world_transform[:3, 3] - (1.2, 0.0, 0.0)) - 0.3
    assert abs(gap - 0.05) < 1e-5


def test_velocity_limits_bound_the_way() -> None:
    arm = arm7()
    arm.positions = start = np.array([0.2, 0.5, -0.1, -1.2, 0.3, 0.8, 0.0])
    for k, dof in enumerate(arm.dofs):
        dof.velocity_lower_limit, dof.velocity_upper_limit = -1.0 - 0.1 * k, 1.0 + 0.1 * k
    tip = arm.node("tip")
    body = CompositeIK(arm, [task(tip, tip.world_transform[:3, 3] + (0.1, 0.3, -0.2))])
    body.solver = DifferentialSolver(duration=0.05)
    limit = 0.05 * (1.0 + 0.1 * np.arange(7))
    steps = []
    for _ in range(40):
        result = body.solve_and_apply(allow_incomplete_result=True)
        steps.append(np.abs(arm.positions - start) - limit)
        start = arm.positions
        if result:
            break
    assert result and len(steps) > 3
    assert np.max(steps) < 1e-9 and abs(np.max(steps[0])) < 1e-9


def test_bounds_of_the_problem_and_objectives() -> None:
    arm = arm7()
    arm.positions = [0.2, 0.5, -0.1, -1.2, 0.3, 0.8, 0.0]
    tip = arm.node("tip")
    body = CompositeIK(arm, [task(tip, tip.world_transform[:3, 3] + (0.1, 0.1, -0.1))])
    body.solver = DifferentialSolver()
    free = body.find_solution().positions[3]
    assert abs(free + 1.2) > 0.1
    bound = 0.5 * (free - 1.2)
    lower, upper = body.problem.lower.copy(), body.problem.upper.copy()
    lower[3], upper[3] = max(lower[3], min(bound, -1.2)), min(upper[3], max(bound, -1.2))
    body.problem.lower, body.problem.upper = lower, upper
    result = body.find_solution()
    assert result and lower[3] - 1e-12 <= result.positions[3] <= upper[3] + 1e-12
    body.reset_problem()
    assert body.find_solution().positions[3] == free
    body.objective = lambda q: float(((q - 0.1) ** 2).sum())
    plain, better = body.objective.evaluate(body.find_solution().positions), body.find_solution()
    assert better and better.objective <= plain
    body.solver = DifferentialSolver(half_spaces=[HalfSpaces(Task.position(tip), (1.0, 0.0, 0.0), 5.0)])
    with pytest.raises(ModelError, match="not together with objectives"):
        body.find_solution()


def test_contradicting_limits_are_named() -> None:
    arm = planar_arm((1.0, 1.0))
    tip = arm.node("tip")
    body = CompositeIK(arm, [task(tip, (0.5, 0.5, 0.0))])
    spaces = HalfSpaces(Task.position(tip), [(1.0, 0.0, 0.0), (-1.0, 0.0, 0.0)], [1.9, -1.95])
    body.solver = DifferentialSolver(half_spaces=[spaces])
    result = body.find_solution()
    assert not result and "contradict" in result.reason
    body.solver = PrioritizedSolver()
    for wrong in ({"nudges": -1}, {"restarts": 0.5}, {"duration": 0.0}, {"avoid": 3}, {"half_spaces": [1]}):
        with pytest.raises(ModelError, match=next(iter(wrong))):
            body.solver = DifferentialSolver(**wrong)
            body.find_solution()


# Balance -------------------------------------------------------------------------------------------------------------


def test_rows_of_balance_by_differences() -> None:
    """Distances inside the edges of the polygon are those of its half planes; their rates are J u, feet moving too."""
    robot = own_humanoid()
    standing(robot)
    rng = np.random.default_rng(3)
    for dof in robot.dofs[:6]:
        dof.position_lower_limit, dof.position_upper_limit = -np.inf, np.inf
    ik = DifferentialIK(
        robot, [Task.balance(0.0)], position_limits=False, velocity_limits=False, least_singular_value=0.0
    )
    balance = robot.get(InverseKinematics)
    balance.error_method = BalanceError(0.0)
    for _ in range(5):
        q = robot.positions = robot.integrate_positions(robot.positions, rng.uniform(-0.05, 0.05, robot.num_dofs))
        ik.velocities(1e-3)
        depths = ik.residual(0)
        corners = Footing(robot).edges()[0]
        used = depths[: len(corners)]
        np.testing.assert_allclose(np.sort(used), np.sort(corners), atol=1e-12)
        made = ik._stepper.made.tasks
        J = made.J[: len(used)].copy()
        u, h = rng.uniform(-1.0, 1.0, robot.num_dofs), 1e-6
        both = []
        for sign in (h, -h):
            robot.positions = robot.integrate_positions(q, sign * u)
            ik.velocities(1e-3)
            both.append(ik.residual(0)[: len(used)])
        robot.positions = q
        np.testing.assert_allclose((both[0] - both[1]) / (2.0 * h), J @ u, atol=1e-7)


@pytest.mark.parametrize("hard", [True, False])
def test_balance_moves_with_the_feet(hard: bool) -> None:
    """Differential steps that take the right foot away: the centre of mass stays inside the polygon of the moment."""
    robot = own_humanoid()
    left, right = robot.node("left_sole"), robot.node("right_sole")
    for sole in (left, right):
        sole.get(kido.Support).active = True
    X = right.world_transform.copy()
    X[0, 3] += 0.15
    balance = Task.balance(MARGIN)
    tasks = [Task.pose(left, left.world_transform), Task.pose(right, X, gain=2.0, priority=1)]
    ik = DifferentialIK(robot, [*tasks, *([] if hard else [balance])], [balance] if hard else [], error_damping=1e-3)
    for _ in range(300):
        ik.step(0.01)
        depths = Footing(robot).edges()[0]
        assert depths.min() > MARGIN - 1e-3
    assert np.abs(right.world_transform[:3, 3] - X[:3, 3]).max() < 2e-2
    with pytest.raises(ModelError, match="IkSolver"):
        IkSolver(balance, skeleton=robot)


def test_balance_on_lines_and_points() -> None:
    """On two points the centre of mass is brought to their line between them, on one above it."""
    robot = own_humanoid()
    for side in ("left", "right"):
        robot.node(f"{side}_sole").get(kido.Support).geometry = [[0.0, 0.0, 0.0]]
    ik = DifferentialIK(robot, [Task.balance(0.0, gain=50.0)], position_limits=False)
    for _ in range(20):
        ik.step(0.02)
    footing = Footing(robot)
    a, b = footing.corners
    along = (b - a) / np.linalg.norm(b - a)
    r = footing.com - a
    assert abs(along[0] * r[1] - along[1] * r[0]) < 1e-6 and 0.0 <= r @ along <= np.linalg.norm(b - a)
    robot.node("left_sole").get(kido.Support).active = False
    ik = DifferentialIK(robot, [Task.balance(0.0, gain=50.0)], position_limits=False)
    for _ in range(20):
        ik.step(0.02)
    footing = Footing(robot)
    assert np.abs(footing.com - footing.corners[0]).max() < 1e-6
    robot.node("right_sole").get(kido.Support).active = False
    with pytest.raises(ModelError, match="nothing supports it"):
        DifferentialIK(robot, [Task.balance()])
    with pytest.raises(ModelError, match="margin"):
        Task.balance(-0.1)


def test_balance_as_an_inequality_of_a_problem() -> None:
    robot = own_humanoid()
    tasks = standing(robot, hands=False)
    tasks["balance"].active = False
    body = WholeBodyIK(robot)
    rows = BalanceConstraint(body, MARGIN)
    rng = np.random.default_rng(1)
    x = body.retract(body.positions, rng.uniform(-0.05, 0.05, robot.num_dofs))  # no three corners on a line
    u, h = rng.uniform(-1.0, 1.0, len(x)), 1e-6
    difference = (rows.residuals(body.retract(x, h * u)) - rows.residuals(body.retract(x, -h * u))) / (2.0 * h)
    np.testing.assert_allclose(difference, rows.jacobian(x) @ u, atol=1e-7)
    assert rows.residuals(body.positions).max() < 0.0
    grip = robot.node("left_grip")
    reach = lambda q: float(-grip.world_transform[0, 3])  # noqa: E731
    body.objective = reach
    body.problem.add_inequality(rows)
    body.solver = SqpSolver(max_iterations=60)
    result = body.solve_and_apply(allow_incomplete_result=True)
    assert -result.objective > 0.45
    assert Footing(robot).edges()[0].min() > MARGIN - 1e-5
    twin = rows.clone()
    assert twin.margin == MARGIN and twin is not rows
    with pytest.raises(ModelError, match="margin"):
        BalanceConstraint(body, -1.0)


# Travel --------------------------------------------------------------------------------------------------------------


def test_copies_and_changes_are_followed() -> None:
    robot = own_humanoid()
    tasks, body = standing(robot), WholeBodyIK(robot)
    tasks["left_grip"].target.relative_translation = tasks["left_grip"].target.relative_translation + (0.1, 0.0, 0.1)
    first = body.find_solution()
    twin = pickle.loads(pickle.dumps(robot))
    assert np.array_equal(WholeBodyIK(twin).find_solution().positions, first.positions)
    other = robot.clone()
    assert np.array_equal(body.clone(other).find_solution().positions, first.positions)
    tasks["left_grip"].error_method = TaskSpaceRegion(np.inf, 0.05)  # a part, a level, a support, a limit
    assert not np.array_equal(body.find_solution().positions, first.positions)
    tasks["left_grip"].error_method = PositionError()
    assert np.array_equal(body.find_solution().positions, first.positions)
    tasks["left_grip"].priority = 0
    assert body.find_solution()
    robot.dof("left_elbow").position_upper_limit = -1.0
    assert body.find_solution().positions[robot.dof("left_elbow").index] <= -1.0 + 1e-12
    robot.node("right_sole").get(kido.Support).active = False
    tasks["balance"].priority = 3
    result = body.solve_and_apply()
    assert result, result.reason
    assert Footing(robot).edges()[0].min() > MARGIN - EXACT and len(Footing(robot).corners) == 4
