"""Inverse kinematics of coordinates that mimic others, that are LOCKED, and of ball and free joints with limits.

Truths: mimics are at ratio x + offset by definition; Jacobians are differences on the manifold, each coordinate
carrying along what follows it; Python's classes and the compiled search agree.
"""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import kido
from kido.errors import StateError
from kido.ik import (
    CenterOfMassError,
    CompositeIK,
    DifferentialIK,
    IkSolver,
    InverseKinematics,
    LevenbergMarquardt,
    LookAtError,
    PositionError,
    Task,
    WholeBodyIK,
)
from kido.ik.motion import MotionProblem, ObjectiveBox, PositionConstraint, Variable
from kido.optimization import GradientDescentSolver


def finger(limits: float = 2.0, far_limits: float = 2.0) -> kido.Skeleton:
    """A base hinge, and a finger of three: the second mimics the first by -0.5 and 0.1, the third the second by 2."""
    hand = kido.Skeleton("hand")
    body = None
    X = np.eye(4)
    for k, (name, limit) in enumerate([("base", 3.0), ("knuckle", limits), ("middle", far_limits), ("tip", 5.0)]):
        axis = (0, 0, 1) if k == 0 else (0, 1, 0.2)
        joint = kido.RevoluteJoint(
            name, axis, transform_from_parent=X, position_lower_limit=-limit, position_upper_limit=limit
        )
        body = hand.add_body(f"{name} link", joint, body, kido.Inertia(0.3, [0.2, 0, 0], 1e-2 * np.eye(3)))
        X = np.eye(4)
        X[0, 3] = 0.4
    assert body is not None
    body.create_node(kido.EndEffector, "end", X)
    hand.joint("middle").mimic = kido.Mimic("knuckle", -0.5, 0.1)
    hand.joint("tip").mimic = kido.Mimic("middle", 2.0)
    return hand


def tied(q: np.ndarray) -> np.ndarray:
    """Positions of the finger with its followers where they belong."""
    return np.array([q[0], q[1], -0.5 * q[1] + 0.1, -q[1] + 0.2])


def test_a_solver_moves_what_follows_and_meets_its_target() -> None:
    hand = finger()
    end = hand.node("end")
    solver = IkSolver(Task.position(end))
    np.testing.assert_array_equal(solver.dofs, [0, 1])
    rng = np.random.default_rng(0)
    for _ in range(20):
        hand.positions = tied(rng.uniform(-1.5, 1.5, 4))
        target = end.world_transform
        hand.positions = tied(rng.uniform(-1.0, 1.0, 4))
        found = solver.solve(target)
        assert found
        np.testing.assert_allclose(found.positions, tied(found.positions), rtol=0, atol=1e-15)
        hand.positions = found.positions
        np.testing.assert_allclose(end.world_transform[:3, 3], target[:3, 3], rtol=0, atol=2e-6)


def test_a_start_that_does_not_follow_is_put_right() -> None:
    hand = finger()
    hand.positions = tied(np.array([0.3, 0.4, 0, 0]))
    target = hand.node("end").world_transform
    hand.positions = [0.3, 0.4, 1.5, -1.0]
    found = IkSolver(Task.position(hand.node("end"))).solve(target)
    np.testing.assert_allclose(found.positions, tied(np.array([0.3, 0.4, 0, 0])), rtol=0, atol=1e-6)


@pytest.mark.parametrize("far", [0.3, 0.9])
def test_limits_of_what_follows_hold(far: float) -> None:
    """The second mimics by -0.5 and 0.1: |0.1 - 0.5 x| <= far."""
    hand = finger(far_limits=far)
    most = min((far + 0.1) / 0.5, 2.0)
    least = max((0.1 - far) / 0.5, -2.0)
    end = hand.node("end")
    target = np.eye(4)
    target[:3, 3] = -0.5, 0.2, -0.1  # out of reach: limits are met
    for found in (IkSolver(Task.position(end)).solve(target), _by_python(hand, end, target)):
        x = found.positions
        assert not found
        assert least - 1e-12 <= x[1] <= most + 1e-12
        assert min(x[1] - least, most - x[1]) < 1e-9
    ik = DifferentialIK(hand, [Task.position(end, target, gain=20.0)])
    for _ in range(300):
        ik.step(1e-2)
    assert abs(hand.positions[2]) <= far + 1e-9
    np.testing.assert_allclose(hand.positions, tied(hand.positions), rtol=0, atol=1e-15)
    lower, upper = Variable(hand.dof("knuckle")).lower, Variable(hand.dof("knuckle")).upper
    np.testing.assert_allclose([lower, upper], [least, most], rtol=0, atol=1e-15)


def _by_python(hand: kido.Skeleton, end: kido.EndEffector, target: np.ndarray):
    ik = InverseKinematics(end, dofs="body", error_method=PositionError())
    ik.gradient_method = LevenbergMarquardt()
    ik.target.world_transform = target
    ik.solver = GradientDescentSolver(max_iterations=499)  # not the default, so not compiled
    return ik.find_solution()


def test_limits_that_leave_nothing_are_refused() -> None:
    hand = finger(limits=0.1, far_limits=0.01)  # 0.1 - 0.5 x within 0.01 needs x near 0.2
    with pytest.raises(StateError, match="'middle', which mimics it"):
        IkSolver(hand.node("end"))
    hand = finger()
    solver = IkSolver(hand.node("end"))
    hand.dof("knuckle").position_upper_limit = -1.9
    hand.dof("middle").position_upper_limit = 0.5
    with pytest.raises(StateError, match="'middle', which mimics it"):
        solver.solve(np.eye(4))


def test_naming_a_follower_or_a_locked_coordinate_says_what_to_do() -> None:
    hand = finger()
    for make in (
        lambda name: IkSolver(hand.node("end"), dofs=["base", name]),
        lambda name: InverseKinematics(hand.node("end"), dofs=["base", name]),
        lambda name: DifferentialIK(hand, dofs=["base", name]),
        lambda name: Variable(hand.dof(name)),
    ):
        with pytest.raises(StateError, match="'tip' mimics 'knuckle'; name that one"):
            make("tip")
    hand.dof("base").actuator_type = "LOCKED"
    for make in (
        lambda: IkSolver(hand.node("end"), dofs=["base"]),
        lambda: InverseKinematics(hand.node("end"), dofs=["base"]),
        lambda: DifferentialIK(hand, dofs=["base"]),
        lambda: Variable(hand.dof("base")),
    ):
        with pytest.raises(StateError, match="'base' has a LOCKED actuator; leave it out"):
            make()


def test_locked_coordinates_stay_and_changes_of_actuators_are_followed() -> None:
    hand = finger()
    end = hand.node("end")
    hand.positions = tied(np.array([0.3, 0.4, 0, 0]))
    solver, ik, step = IkSolver(Task.position(end)), InverseKinematics(end, dofs="body"), DifferentialIK(hand)
    whole = CompositeIK(hand, [ik])
    hand.dof("base").actuator_type = "LOCKED"
    for dofs in (solver.dofs, ik.dof_indices, whole.dof_indices, step.dof_indices):
        np.testing.assert_array_equal(dofs, [1])
    far = np.eye(4)
    far[:3, 3] = 0.1, 0.7, 0.3
    ik.target.world_transform = far
    step.tasks = [Task.position(end, far)]
    for x in (solver.solve(far).positions, hand.positions + 0.01 * step.velocities(0.01)):
        assert x[0] == 0.3 and x[1] != 0.4
    whole.solve_and_apply(allow_incomplete_result=True)
    assert hand.positions[0] == 0.3
    np.testing.assert_allclose(hand.positions, tied(hand.positions), rtol=0, atol=1e-15)
    hand.joint("tip").mimic = None
    hand.dof("base").actuator_type = "FORCE"
    for dofs in (solver.dofs, ik.dof_indices, whole.dof_indices, step.dof_indices):
        np.testing.assert_array_equal(dofs, [0, 1, 3])
    hand.joint("knuckle").actuator_type = "LOCKED"  # what follows it stays too
    for dofs in (solver.dofs, ik.dof_indices, whole.dof_indices, step.dof_indices):
        np.testing.assert_array_equal(dofs, [0, 3])


@pytest.mark.parametrize("method", [None, PositionError(), LookAtError(), CenterOfMassError()])
def test_jacobians_are_differences_with_all_that_follows(method) -> None:
    hand = finger()
    hand.positions = tied(np.array([0.3, 0.4, 0, 0]))
    ik = InverseKinematics(hand.node("end"), dofs="body", error_method=method)
    target = np.eye(4)
    target[:3, 3] = 0.2, 0.3, 0.9
    ik.target.world_transform = target
    J = ik.compute_jacobian()
    rows = []
    for direction in np.eye(2):
        both = []
        for h in (1e-6, -1e-6):
            with ik.posed(ik.retract(ik.positions, h * direction)):
                np.testing.assert_allclose(hand.positions, tied(hand.positions), rtol=0, atol=1e-15)
                both.append(ik.compute_error())
        rows.append((both[0] - both[1]) / 2e-6)
    np.testing.assert_allclose(J, np.transpose(rows), rtol=0, atol=1e-8)


def test_hierarchies_and_motions_follow_too() -> None:
    hand = finger()
    end = hand.node("end")
    hand.positions = tied(np.array([0.5, 0.8, 0, 0]))
    target = end.world_transform
    hand.positions = tied(np.array([0.0, 0.3, 0, 0]))
    ik = end.set(InverseKinematics(end, dofs="body", error_method=PositionError()))
    ik.target.world_transform = target
    whole = WholeBodyIK(hand)
    found = whole.find_solution()
    assert found
    assert len(found.positions) == 2
    whole.solve_and_apply()
    np.testing.assert_allclose(hand.positions, tied(hand.positions), rtol=0, atol=1e-15)
    np.testing.assert_allclose(end.world_transform[:3, 3], target[:3, 3], rtol=0, atol=2e-6)
    hand.positions = tied(np.array([0.0, 0.3, 0, 0]))
    at_end = PositionConstraint(end, target[:3, 3], frames=-1)
    motion = MotionProblem(
        hand, frames=5, constraints=[at_end], objectives=ObjectiveBox(), time_step=0.1, velocity_weight=1e-3
    )
    assert motion.dimension == 10
    result = motion.solve_motion()
    assert result.converged
    for q in result.positions:
        np.testing.assert_allclose(q, tied(q), rtol=0, atol=1e-15)
    hand.positions = result.positions[-1]
    np.testing.assert_allclose(end.world_transform[:3, 3], target[:3, 3], rtol=0, atol=1e-7)


def test_velocities_of_steps_follow_and_meet_the_task() -> None:
    hand = finger()
    end = hand.node("end")
    hand.positions = tied(np.array([0.5, 0.8, 0, 0]))
    target = end.world_transform
    hand.positions = tied(np.array([0.0, 0.3, 0, 0]))
    ik = DifferentialIK(hand, [Task.position(end, target, gain=10.0)])
    u = ik.velocities(1e-3)
    np.testing.assert_allclose(u[2:], [-0.5 * u[1], -u[1]], rtol=0, atol=1e-15)
    for _ in range(3000):
        ik.step(1e-3)
    np.testing.assert_allclose(hand.positions, tied(hand.positions), rtol=0, atol=1e-14)
    np.testing.assert_allclose(end.world_transform[:3, 3], target[:3, 3], rtol=0, atol=1e-6)
    slow = DifferentialIK(hand, [Task.position(end, np.eye(4), gain=10.0)], velocity_limits=True)
    hand.dof("middle").velocity_limit = 0.1
    slow = slow.clone()
    assert abs(slow.velocities(1e-2)[1]) <= 0.2 + 1e-9  # the follower turns half as fast


def test_copies_follow() -> None:
    hand = finger()
    hand.positions = tied(np.array([0.5, 0.8, 0, 0]))
    target = hand.node("end").world_transform
    hand.positions = tied(np.zeros(4))
    solver = IkSolver(Task.position(hand.node("end")))
    expected = solver.solve(target).positions
    for twin in (solver.clone(hand.clone()), copy.deepcopy(solver), pickle.loads(pickle.dumps(solver))):
        np.testing.assert_array_equal(twin.solve(target).positions, expected)
    many = solver.solve_batch(np.tile(target, (100, 1, 1)), threads=2)
    np.testing.assert_array_equal(many.positions, np.tile(expected, (100, 1)))


def test_circles_are_refused() -> None:
    hand = finger()
    hand.joint("knuckle").mimic = kido.Mimic("tip")
    with pytest.raises(kido.KidoError, match="circle"):
        IkSolver(hand.node("end"))


def test_pandas_fingers_close_on_a_target(example_robots) -> None:
    """The second finger mimics the first: a target for it moves the arm and both fingers."""
    path = example_robots / "panda_description" / "urdf" / "panda.urdf"
    robot = kido.load(path, visuals=False, collisions=False)
    second = robot.body("panda_rightfinger")
    solver = IkSolver(second)
    names = [robot.dofs[k].name for k in solver.dofs]
    assert "panda_finger_joint1" in names and "panda_finger_joint2" not in names
    rng = np.random.default_rng(1)
    lower, upper = (np.array([getattr(d, f"position_{s}_limit") for d in robot.dofs]) for s in ("lower", "upper"))
    robot.positions = 0.5 * (lower + upper)
    start = robot.positions
    for _ in range(30):
        q = rng.uniform(lower, upper)
        q[8] = q[7]
        robot.positions = q
        target = second.world_transform
        robot.positions = start
        found = solver.solve(target)
        assert found
        x = found.positions
        assert x[8] == x[7] and (x >= lower - 1e-12).all() and (x <= upper + 1e-12).all()


def test_a_gripper_of_six_coordinates_closes_by_one(example_robots) -> None:
    """TIAGo Pro's grippers: five coordinates of each mimic the sixth, forwards and backwards."""
    path = example_robots / "tiago_pro_description" / "robots" / "tiago_pro.urdf"
    robot = kido.load(path, visuals=False, collisions=False)
    lead = robot.dof("gripper_left_finger_joint")
    mimics = [dof for dof in robot.dofs if dof.mimic is not None and dof.mimic.joint == lead.joint.name]
    assert sorted(dof.mimic.multiplier for dof in mimics) == [-1.0, -1.0, 1.0, 1.0, 1.0]

    def close(x: float) -> None:
        lead.position = x
        for dof in mimics:
            dof.position = dof.mimic.multiplier * x

    tips = [robot.dof(f"gripper_left_fingertip_{side}_joint").joint.child for side in ("left", "right")]
    nodes = [tip.create_node(kido.EndEffector, f"{tip.name} end", (0.0, 0.0, 0.05)) for tip in tips]
    close(0.4)
    targets = [node.world_transform for node in nodes]
    close(0.05)
    found = IkSolver([Task.position(node) for node in nodes], dofs=[lead]).solve(targets)
    assert found
    assert found.positions[lead.index] == pytest.approx(0.4, abs=1e-4)
    for dof in mimics:
        assert found.positions[dof.index] == dof.mimic.multiplier * found.positions[lead.index]
    hands = []
    for node, X in zip(nodes, targets):
        ik = InverseKinematics(node, dofs="body", error_method=PositionError())
        assert lead in ik.dofs and not set(mimics) & set(ik.dofs)
        ik.target.world_transform = X
        hands.append(ik)
    assert CompositeIK(robot, hands).solve_and_apply()
    for dof in mimics:
        assert dof.position == pytest.approx(dof.mimic.multiplier * lead.position, abs=1e-15)


def _on_a_ball(kind: str) -> kido.Skeleton:
    arm = kido.Skeleton("shoulder")
    limits = {"position_lower_limit": -0.4, "position_upper_limit": 0.5}
    joint = kido.BallJoint("ball", **limits) if kind == "ball" else kido.FreeJoint("free", **limits)
    upper = arm.add_body("upper", joint, None, kido.Inertia(1.0, [0.1, 0, 0], 0.1 * np.eye(3)))
    X = np.eye(4)
    X[0, 3] = 0.5
    lower = arm.add_body(
        "lower",
        kido.RevoluteJoint("elbow", (0, 0, 1), transform_from_parent=X),
        upper,
        kido.Inertia(1.0, [0.1, 0, 0], 0.1 * np.eye(3)),
    )
    lower.create_node(kido.EndEffector, "hand", X)
    return arm


@pytest.mark.parametrize("kind", ["ball", "free"])
def test_limits_of_ball_and_free_joints_are_kept(kind: str) -> None:
    arm = _on_a_ball(kind)
    hand = arm.node("hand")
    n = arm.num_dofs
    rng = np.random.default_rng(3)
    for _ in range(5):
        arm.positions = rng.uniform(-0.35, 0.45, n)
        target = hand.world_transform
        arm.positions = np.zeros(n)
        arm.dof("elbow").position = 0.3  # a straight arm is singular
        ik = InverseKinematics(hand, dofs="body", error_method=PositionError())
        ik.gradient_method = LevenbergMarquardt()
        ik.target.world_transform = target
        for solver in (None, GradientDescentSolver(max_iterations=499)):  # the built-in way, and Python's
            if solver is not None:
                ik.solver = solver
            found = ik.find_solution()
            assert found, found.reason
            assert (found.positions[: n - 1] >= -0.4 - 1e-9).all() and (found.positions[: n - 1] <= 0.5 + 1e-9).all()
        found = CompositeIK(arm, [ik]).find_solution()
        assert found, found.reason
        assert (found.positions[: n - 1] >= -0.4 - 1e-9).all() and (found.positions[: n - 1] <= 0.5 + 1e-9).all()


@pytest.mark.parametrize("kind", ["ball", "free"])
def test_closest_poses_within_limits_of_rotations_agree(kind: str) -> None:
    """A target that only a larger turn meets: Python's solver stops near the minimum that the compiled one finds."""
    arm = _on_a_ball(kind)
    hand = arm.node("hand")
    arm.positions = np.full(arm.num_dofs, 0.1)
    target = np.eye(4)
    target[:3, 3] = -0.6, 0.9, 1.5
    ik = InverseKinematics(hand, dofs="body", error_method=PositionError())
    ik.target.world_transform = target
    compiled = IkSolver(Task.position(hand)).solve(target)
    ik.gradient_method = LevenbergMarquardt()
    ik.solver = GradientDescentSolver(max_iterations=499)
    found = ik.find_solution()
    assert not found and not compiled
    x = found.positions[: arm.num_dofs - 1]
    assert (x >= -0.4 - 1e-9).all() and (x <= 0.5 + 1e-9).all()
    distance = float(np.linalg.norm(found.errors[0][1][3:]))
    assert distance == pytest.approx(compiled.linear_error, rel=1e-4)  # its steps end at "no further progress"


@pytest.mark.parametrize("kind", ["ball", "free"])
def test_jacobians_by_positions_of_limited_joints_are_differences(kind: str) -> None:
    arm = _on_a_ball(kind)
    rng = np.random.default_rng(5)
    arm.positions = rng.uniform(-0.35, 0.45, arm.num_dofs)
    ik = InverseKinematics(arm.node("hand"), dofs="body")
    ik.target.world_transform = np.diag([1.0, -1.0, -1.0, 1.0])
    x = ik.positions
    moved = ik.retract(x, np.full(len(x), 0.01))
    np.testing.assert_allclose(moved, x + 0.01, rtol=0, atol=1e-15)  # sums, in the chart
    composite = CompositeIK(arm, [ik])
    with composite._prepared():
        compiled = composite.tasks_at(x)[0][0].jacobian
    columns = []
    for direction in np.eye(len(x)):
        both = []
        for h in (1e-6, -1e-6):
            with ik.posed(x + h * direction):
                both.append(ik.compute_error())
        columns.append((both[0] - both[1]) / 2e-6)
    for J in (
        ik.compute_jacobian(),
        compiled,
    ):
        np.testing.assert_allclose(J, np.transpose(columns), rtol=0, atol=1e-8)
