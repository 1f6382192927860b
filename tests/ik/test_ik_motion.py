"""Motion inverse kinematics: derivatives against differences, known motions recovered, boxes, bounds, bad input."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kido
from kido.batch import Batch
from kido.errors import ModelError
from kido.ik.motion import (
    ConstraintBox,
    MotionProblem,
    ObjectiveBox,
    OrientationConstraint,
    PoseConstraint,
    PositionConstraint,
    Variable,
)
from kido.optimization import (
    GaussNewtonSolver,
    Problem,
    Reason,
    ScipySolver,
    SqpSolver,
    central_differences,
)


def humanoid():
    return kido.load(kido.models.path("humanoid"))


def limits(skeleton):
    return np.array([[d.position_lower_limit, d.position_upper_limit] for d in skeleton.dofs]).T


def ball_arm():
    """A floating body, an arm on a ball joint, a hinge: all kinds of coordinates."""
    arm = kido.Skeleton("arm")
    base = arm.add_body("base", kido.FreeJoint(transform_from_parent=[0.1, 0.2, 0.3]))
    upper = arm.add_body("upper", kido.BallJoint(transform_from_parent=[0.0, 0.0, 0.3]), base)
    arm.add_body("fore", kido.RevoluteJoint(axis=(0, 1, 0), transform_from_parent=[0.4, 0.0, 0.0]), upper)
    return arm


def walk(skeleton, frames, time_step, seed=0):
    """A smooth known motion within limits, turning about the vertical."""
    rng = np.random.default_rng(seed)
    t = np.arange(frames)[:, None] * time_step
    low, high = limits(skeleton)[:, 6:]
    middle = np.clip(np.zeros(low.size), 0.9 * low + 0.1 * high, 0.1 * low + 0.9 * high)
    reach = 0.3 * np.minimum(high - middle, middle - low)
    q = np.zeros((frames, skeleton.num_dofs))
    q[:, 6:] = middle + reach * np.sin(2 * np.pi * (t * rng.uniform(0.3, 1, low.size) + rng.random(low.size)))
    q[:, :3] = [0.0, 0.0, 1.0] * (2.5 + 1.5 * t)  # through a turn of pi
    q[:, 3:6] = t * [1.0, 0.3, 0.0] + [0.0, 0.0, 1.0]
    return q


def markers(skeleton, q, each=2, seed=0):
    """Places (frames, 3) of points of all bodies in a motion, as pairs of constraint arguments."""
    rng = np.random.default_rng(seed)
    X = Batch(skeleton, threads=1).forward_kinematics(q)
    points = [(body, offset) for body in skeleton.bodies[1:] for offset in rng.uniform(-0.1, 0.1, (each, 3))]
    return [(b, X[:, b.index, :3, :3] @ offset + X[:, b.index, :3, 3], offset) for b, offset in points]


def turns(a, b):
    return (Rotation.from_rotvec(np.array(a)) * Rotation.from_rotvec(np.array(b)).inv()).magnitude()


class Height(PoseConstraint):
    """Least height of a body's origin, by differences: c = least - z."""

    def __init__(self, body, least, **settings):
        super().__init__(**settings)
        self.body, self.least = body, least

    def evaluate(self, skeleton, frame):
        return np.array([self.least - self.body.world_transform[2, 3]])


# Derivatives -----------------------------------------------------------------------------------------------------


def all_kinds():
    arm = ball_arm()
    fore, upper = arm.body("fore"), arm.body("upper")
    rng = np.random.default_rng(2)
    box = ConstraintBox([PositionConstraint(fore, rng.random((5, 3)), offset=[0.1, 0.2, 0.3])])
    box.add(Height(upper, 0.4, frames=[1, -1]), inequality=True)
    return MotionProblem(
        arm,
        frames=5,
        time_step=0.2,
        initial=rng.uniform(-1.5, 1.5, (5, arm.num_dofs)),
        constraints=box,
        objectives=[
            OrientationConstraint(fore, Rotation.random(3, random_state=1), frames=slice(1, 4), weight=[1.0, 2.0, 0.0]),
            PositionConstraint(upper, [0.1, 0.2, 0.3], axes="zx", weight=0.5),
        ],
        velocity_weight=0.3,
        acceleration_weight=np.linspace(0.1, 0.2, arm.num_dofs),
    )


def test_derivatives_on_the_manifold():
    problem = all_kinds()
    x = problem.initial
    for function in (problem.objective, *problem.equality, *problem.inequality):
        exact = function.jacobian(x).toarray()
        differences = central_differences(function.residuals, x, problem.retract)
        # Of second differences over 0.2 s: rounding is 1e-16 * 1.5 / 0.04 over a step of 6e-6, curvature 1e-10 * 100.
        assert np.allclose(exact, differences, atol=1e-7)
        y = np.linspace(-1, 1, len(exact))
        assert np.allclose(function.pull_back(x, y), exact.T @ y, atol=1e-10)


def test_banded_normal_equations_are_the_dense_ones():
    problem = all_kinds()
    x, evaluator = problem.initial, problem.evaluator()
    a, b = np.linspace(-1, 1, evaluator.equality(x).size), np.array([0.5, 0.0])
    own = evaluator.normal_equations(x, a, b, 3.0)
    J, A, G = (M.toarray() for M in (evaluator.jacobian(x), evaluator.equality_jacobian(x),
                                    evaluator.inequality_jacobian(x)))  # fmt: skip
    active = G[b + 3.0 * evaluator.inequality(x) > 0.0]
    H = J.T @ J + 3.0 * (A.T @ A + active.T @ active)
    assert np.allclose(own.diagonal, np.diag(H))
    assert np.allclose(own.times(x), H @ x, atol=1e-9)
    free = np.arange(x.size) % 5 != 0
    step = own.solve(x, 0.1, free)
    rows = np.flatnonzero(free)
    assert np.allclose(step[rows], np.linalg.solve(H[np.ix_(rows, rows)] + 0.1 * np.eye(rows.size), x[rows]))
    assert not step[~free].any()


def test_derivatives_by_numbers_of_the_chart():
    problem = all_kinds()
    problem.initial = 0.4 * problem.initial  # rotation vectors shorter than pi
    x = problem.initial
    exact = problem.to_chart(x, problem.objective.jacobian(x).toarray())
    assert np.allclose(exact, central_differences(problem.objective.residuals, x), atol=1e-7)


def test_single_evaluations_are_those_of_all_frames():
    problem = all_kinds()
    poses = problem.poses(problem.initial)
    for constraint in (*problem.constraints, *problem.objectives):
        frames = constraint.frames_of(problem.frames)
        for way in ("evaluate", "jacobian"):
            together = getattr(constraint, f"{way}_frames")(poses, frames)
            apart = [getattr(constraint, way)(poses.skeleton, k) for k in poses.one_by_one(frames)]
            assert np.allclose(together, apart, atol=1e-12)


def test_differences_of_free_and_ball_joints_are_exact_for_steady_turning():
    """Turning and sliding at a constant rate has no acceleration, however far it turns in a frame."""
    arm = ball_arm()
    t = np.arange(4)[:, None]
    axis = np.array([0.0, 0.6, 0.8])
    q = np.concatenate([2.5 * t * axis, t * [1.0, 2.0, 3.0], -1.1 * t * axis, 0.3 * t], axis=1)
    problem = MotionProblem(arm, frames=4, time_step=0.5, initial=q, acceleration_weight=1.0)
    assert problem.objective.evaluate(problem.initial) < 1e-25


# Poses -----------------------------------------------------------------------------------------------------------


SOLVERS = [GaussNewtonSolver(), SqpSolver(), ScipySolver()]


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: s.name)
def test_feet_at_places(solver):
    """RTQL8's example: both feet where they were in another pose."""
    human = humanoid()
    feet = [human.body("left_foot"), human.body("right_foot")]
    human.positions = walk(human, 1, 1.0)[0]
    box = ConstraintBox(PositionConstraint(foot, foot.world_transform[:3, 3]) for foot in feet)
    box.add(OrientationConstraint(feet[0], feet[0].world_transform[:3, :3]))
    human.positions = np.zeros(human.num_dofs)
    result = MotionProblem(human, constraints=box).solve_motion(solver)
    assert result.converged, result
    assert not human.positions.any()  # it stayed
    human.positions = result.positions[0]
    for constraint in box:
        assert np.abs(constraint.evaluate(human, 0)).max() <= solver.tolerance
        assert np.array_equal(result.error(constraint)[0], constraint.evaluate_frames(
            MotionProblem(human).poses(human.positions), np.array([0]))[0])  # fmt: skip
    low, high = limits(human)
    assert (result.positions[0] >= low).all() and (result.positions[0] <= high).all()


def test_soft_and_hard_together():
    """A hard constraint holds exactly; of two wishes that contradict each other the mean by weight is reached."""
    arm = kido.Skeleton("slider")
    joint = kido.TranslationalJoint()
    body = arm.add_body("body", joint)
    box = ConstraintBox([PositionConstraint(body, [0.0, 0.0, 0.7], axes="z")])
    wishes = ObjectiveBox([PositionConstraint(body, [1.0, 0.0, 0.0], weight=1.0)])
    wishes.add(PositionConstraint(body, [4.0, 3.0, 0.0], weight=2.0))
    result = MotionProblem(arm, constraints=box, objectives=wishes).solve_motion()
    assert result.converged
    assert np.allclose(result.positions[0], [3.0, 2.0, 0.7], atol=1e-6)
    box.remove(next(iter(box)))
    assert len(box) == 0
    with pytest.raises(ModelError, match="not in it"):
        wishes.remove(PositionConstraint(body, [0.0, 0.0, 0.0]))


def test_custom_inequality_by_differences():
    arm = ball_arm()
    fore = arm.body("fore")
    box = ConstraintBox()
    height = box.add(Height(fore, 1.0), inequality=True)
    result = MotionProblem(arm, constraints=box, objectives=[PositionConstraint(fore, [0.5, 0.0, 0.2])]).solve_motion()
    assert result.converged, result
    assert np.allclose(result.error(height), 0.0, atol=1e-6)  # it is active
    arm.positions = result.positions[0]
    assert np.allclose(fore.world_transform[:2, 3], [0.5, 0.0], atol=1e-5)


def test_variables_and_their_bounds():
    arm = kido.load(kido.models.path("arm7"))
    hand = arm.body("hand")
    start = 0.3 * np.ones(arm.num_dofs)
    arm.positions = start
    target = hand.world_transform[:3, 3] + [0.05, 0.05, -0.1]
    free = [Variable(dof) for dof in arm.dofs[:6]]
    loose = MotionProblem(arm, variables=free, constraints=[PositionConstraint(hand, target)]).solve_motion()
    assert loose.converged
    assert np.array_equal(loose.positions[0, 6:], start[6:])  # others stay
    moved = loose.positions[0, :6] - start[:6]
    k = int(np.argmax(np.abs(moved)))
    bounds = sorted([start[k], start[k] + 0.3 * moved[k]])
    free[k] = Variable(arm.dofs[k], *bounds)
    tight = MotionProblem(arm, variables=free, constraints=[PositionConstraint(hand, target)]).solve_motion()
    assert tight.converged
    assert bounds[0] <= tight.positions[0, k] <= bounds[1]


def test_what_cannot_be_reached_is_said():
    arm = kido.load(kido.models.path("arm7"))
    far = PositionConstraint(arm.body("hand"), [5.0, 0.0, 0.0])
    result = MotionProblem(arm, constraints=[far]).solve_motion()
    assert not result.converged
    assert result.solution.reason is Reason.INFEASIBLE
    gap = np.linalg.norm(result.error(far))
    wish = MotionProblem(arm, objectives=[far]).solve_motion()  # as a wish: as near as it gets
    assert np.linalg.norm(wish.error(far)) == pytest.approx(gap, rel=1e-3)


# Motions ---------------------------------------------------------------------------------------------------------


def test_a_motion_is_recovered_from_markers():
    """30 frames, two points on each body, started at rest: positions to 1e-10, the root turning through pi."""
    human, h = humanoid(), 1 / 30
    q = walk(human, 30, h)
    wishes = [PositionConstraint(b, place, offset=offset) for b, place, offset in markers(human, q)]
    start = np.clip(0.0, *limits(human))
    start[:6] = q[0, :6]
    result = MotionProblem(human, frames=30, time_step=h, initial=start, objectives=wishes).solve_motion()
    assert result.converged, result
    assert np.abs(result.positions - q)[:, 3:].max() < 1e-10
    assert turns(result.positions[:, :3], q[:, :3]).max() < 1e-10


def noisy_markers(human, q, gap: slice):
    """Markers with 5 mm of noise and none in the gap, and constraints that hold one foot exactly."""
    rng = np.random.default_rng(5)
    seen = np.ones(len(q))
    seen[gap] = 0.0
    wanted = [
        PositionConstraint(b, place + 0.005 * rng.standard_normal(place.shape), offset=offset, weight=1e4 * seen)
        for b, place, offset in markers(human, q)
    ]
    foot = human.body("left_foot")
    X = Batch(human, threads=1).forward_kinematics(q)[:, foot.index]
    feet = [PositionConstraint(foot, X[:, :3, 3]), OrientationConstraint(foot, X[:, :3, :3])]
    return wanted, feet


def test_noise_is_smoothed_and_a_gap_is_bridged():
    """Markers with 5 mm of noise, none for a fifth of the time; one foot held exactly."""
    human, h, frames = humanoid(), 1 / 30, 40
    q = walk(human, frames, h)
    wishes, feet = noisy_markers(human, q, gap=slice(16, 24))
    errors = []
    for weight in (1e-4, 2e-2):
        problem = MotionProblem(
            human, frames=frames, time_step=h, initial=q[0], constraints=feet, objectives=wishes,
            acceleration_weight=weight,
        )  # fmt: skip
        result = problem.solve_motion()
        assert result.converged, result
        assert max(np.abs(result.error(c)).max() for c in feet) < 1e-6
        errors.append(np.sqrt(np.mean((result.positions - q)[:, 6:] ** 2)))
    assert errors[1] < 0.6 * errors[0]
    assert errors[1] < 0.03


def test_directions_that_are_almost_free_take_few_steps():
    """In the gap only a vanishing weight says what to do, in a valley whose walls are exact feet and good markers."""
    human, h, frames = humanoid(), 1 / 30, 8
    q = walk(human, frames, h)
    wishes, feet = noisy_markers(human, q, gap=slice(3, 5))
    problem = MotionProblem(
        human, frames=frames, time_step=h, initial=q[0], constraints=feet, objectives=wishes, acceleration_weight=1e-9
    )
    result = problem.solve_motion()
    assert result.converged, result
    assert result.solution.iterations <= 25  # 17


def test_a_sequence_without_coupling_is_its_poses():
    arm = kido.load(kido.models.path("arm7"))
    places = np.array([[0.4, 0.1, 0.5], [0.3, -0.2, 0.6], [0.5, 0.2, 0.3]])
    wish = PositionConstraint(arm.body("hand"), places)
    together = MotionProblem(arm, frames=3, objectives=[wish]).solve_motion()
    assert together.converged
    assert np.abs(together.error(wish)).max() < 1e-6


def test_smoothness_alone_is_a_straight_line():
    """Least velocity between two poses given: the joints move evenly."""
    arm = kido.load(kido.models.path("arm7"))
    low, high = limits(arm)
    ends = np.clip(np.array([np.full(arm.num_dofs, -0.2), np.linspace(0.1, 0.6, arm.num_dofs)]), low, high)

    class Posture(PoseConstraint):
        def evaluate(self, skeleton, frame):
            return skeleton.positions - ends[0 if frame == 0 else 1]

        def jacobian(self, skeleton, frame):
            return np.eye(skeleton.num_dofs)

    problem = MotionProblem(
        arm, frames=9, time_step=0.1, constraints=[Posture(frames=[0, -1])], velocity_weight=1.0, initial=ends[0]
    )
    result = problem.solve_motion()
    assert result.converged, result
    assert np.allclose(result.positions, np.linspace(*ends, 9), atol=1e-6)


# Copies, bad input -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copied", [copy.deepcopy, MotionProblem.clone, lambda p: pickle.loads(pickle.dumps(p))])
def test_copies_are_independent_and_equal(copied):
    arm = kido.load(kido.models.path("arm7"))
    problem = MotionProblem(arm, constraints=[PositionConstraint(arm.body("hand"), [0.4, 0.1, 0.5])])
    twin = copied(problem)
    assert twin.skeleton is not arm
    first, second = problem.solve_motion(), twin.solve_motion()
    assert np.array_equal(first.positions, second.positions)


def test_other_functions_can_be_added():
    arm = kido.load(kido.models.path("arm7"))
    problem = MotionProblem(arm, constraints=[PositionConstraint(arm.body("hand"), [0.4, 0.1, 0.5])])
    problem.add_equality(lambda x: x[1] - 0.5)
    result = problem.solve_motion()
    assert result.converged, result
    assert result.positions[0, 1] == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("wrong, message", [
    ({"frames": 0}, "frames: expected a whole number"),
    ({"time_step": np.nan}, "time_step"),
    ({"initial": [0.0]}, "initial"),
    ({"initial": np.full(7, np.nan)}, "initial"),
    ({"velocity_weight": -1.0}, "velocity_weight"),
    ({"acceleration_weight": [1.0, 2.0]}, "acceleration_weight"),
    ({"constraints": [3]}, "expected a PoseConstraint"),
    ({"variables": [3]}, "variables"),
])  # fmt: skip
def test_bad_problems_are_refused(wrong, message):
    arm = kido.load(kido.models.path("arm7"))
    with pytest.raises(ModelError, match=message):
        MotionProblem(arm, **wrong)


def test_bad_constraints_are_refused():
    arm, other = kido.load(kido.models.path("arm7")), ball_arm()
    hand = arm.body("hand")
    for make, message in (
        (lambda: PositionConstraint(hand, [1.0, 2.0]), "target"),
        (lambda: PositionConstraint(hand, [1.0, np.nan, 2.0]), "finite"),
        (lambda: PositionConstraint(hand, np.zeros(3), axes="xx"), "axes"),
        (lambda: PositionConstraint("hand", np.zeros(3)), "expected a body"),
        (lambda: PositionConstraint(hand, np.zeros(3), weight=-1.0), "weight"),
        (lambda: PositionConstraint(hand, np.zeros(3), frames=["x"]), "frames"),
        (lambda: OrientationConstraint(hand, np.ones((3, 3))), "target"),
        (lambda: MotionProblem(arm, constraints=[PositionConstraint(hand, np.zeros((2, 3)))]), "target: expected one"),
        (lambda: MotionProblem(arm, constraints=[PositionConstraint(hand, np.zeros(3), frames=[4])]), "below 1"),
        (lambda: MotionProblem(arm, objectives=[PositionConstraint(hand, np.zeros(3), weight=[1, 2])]), "weight"),
        (lambda: Variable(arm.dofs[0], 1.0, 0.0), "lower <= upper"),
        (lambda: Variable(arm.dofs[0], lower=np.nan), "expected a number"),
        (lambda: Variable(other.dofs[0], lower=0.0), "no bounds"),
        (lambda: Variable("hand"), "degree of freedom"),
        (lambda: MotionProblem(arm, variables=[Variable(arm.dofs[0])] * 2), "twice"),
        (lambda: MotionProblem(arm, variables=Variable.of(other)), "variables"),
    ):
        with pytest.raises(ModelError, match=message):
            make()
    assert issubclass(MotionProblem, Problem)
