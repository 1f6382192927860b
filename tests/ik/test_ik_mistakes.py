"""Mistakes in inverse kinematics: each raises a KidoError that names things, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kido
from kido.ik import (
    CompositeIK,
    DampedLeastSquares,
    DifferentialIK,
    ErrorMethod,
    GradientMethod,
    IkSolver,
    IkStatus,
    InverseKinematics,
    JacobianMethod,
    PlaneError,
    Task,
    WholeBodyIK,
)

START = [0.1, 0.5, 0.0, -1.2, 0.0, 0.8, 0.0]


@pytest.fixture()
def arm() -> kido.Skeleton:
    arm = kido.load(kido.models.path("arm7"))
    arm.positions = START
    return arm


class Wordy(ErrorMethod):
    def compute_error(self) -> Any:
        return "far"


class WrongJacobian(ErrorMethod):
    def compute_error(self) -> np.ndarray:
        return np.ones(6)

    def compute_jacobian(self) -> Any:
        return [[1.0], [1.0, 2.0]]


class TooShort(JacobianMethod):
    def solve(self, jacobian: np.ndarray, error: np.ndarray) -> np.ndarray:
        return np.zeros(2)


def far(arm: kido.Skeleton, **options: Any) -> InverseKinematics:
    ik = InverseKinematics(arm.body("hand"), **options)
    ik.target.relative_translation = (0.3, 0.2, 0.4)
    return ik


def with_objective(arm: kido.Skeleton, f: Any) -> Any:
    ik = far(arm)
    ik.objective = f
    return ik.find_solution()


MISTAKES: dict[str, tuple[Callable[[kido.Skeleton], Any], str]] = {
    "retract": (lambda arm: far(arm).retract(START, [1.0, 2.0]), "change: expected 7 numbers, got 2"),
    "heights": (
        lambda arm: PlaneError(heights="a"),
        "heights: expected a number, or the lowest.*got 'a'",
    ),
    "three heights": (lambda arm: PlaneError(heights=(1, 2, 3)), r"heights.*got \(1, 2, 3\)"),
    "flat": (lambda arm: PlaneError(flat="a"), "flat: expected True or False"),  # type: ignore[arg-type]
    "error": (lambda arm: far(arm, error_method=Wordy()).find_solution(), "Wordy: compute_error.*got 'far'"),
    "Jacobian": (
        lambda arm: far(arm, error_method=WrongJacobian()).find_solution(),
        r"WrongJacobian: compute_jacobian: expected \(6, 7\)",
    ),
    "gradient": (
        lambda arm: far(arm, gradient_method=TooShort()).find_solution(),
        "TooShort: solve: expected an array of 7 numbers",
    ),
    "objective None": (lambda arm: with_objective(arm, lambda x: None), "expected a number, got None"),
    "objective vector": (lambda arm: with_objective(arm, lambda x: x), r"expected a number, got array"),
    "on": (lambda arm: InverseKinematics.on("hand"), "node: expected a body or a node on one, got 'hand'"),
    "set": (lambda arm: arm.clone().set(far(arm)), "cannot be attached to Skeleton"),
    "set on a body": (lambda arm: arm.clone().bodies[3].set(far(arm)), "cannot be attached to BodyNode"),
    "target": (lambda arm: InverseKinematics(arm.body("hand"), target=np.eye(4)), "target.world_transform"),  # type: ignore[arg-type]
    "width": (lambda arm: Task.pose(arm.body("hand"), None, -1.0), "half-widths not below 0.*got -1.0"),
    "error_from_center": (
        lambda arm: Task.pose(arm.body("hand"), error_from_center="x"),
        "error_from_center: expected True or False",
    ),
    "skeleton": (lambda arm: IkSolver(Task.posture(START), skeleton=3), "skeleton: expected a skeleton, got 3"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(arm: kido.Skeleton, name: str) -> None:
    call, message = MISTAKES[name]
    with pytest.raises(kido.KidoError, match=message):
        call(arm)
    assert np.array_equal(arm.positions, START)


def test_errors_of_users_pass_through(arm: kido.Skeleton) -> None:
    def fails(x: np.ndarray) -> float:
        raise RuntimeError("mine")

    ik = far(arm)
    ik.objective = fails
    with pytest.raises(RuntimeError, match="mine"):
        ik.solve_and_apply()
    assert np.array_equal(arm.positions, START)
    ik.objective = None
    assert ik.solve_and_apply()


def test_a_set_module_stays_where_it_was(arm: kido.Skeleton) -> None:
    ik = InverseKinematics.on(arm.body("hand"))
    other = arm.clone()
    with pytest.raises(kido.ModelError):
        other.set(InverseKinematics(arm.body("hand")))
    assert ik.carrier is arm.body("hand") and other.aspects == ()


def test_nothing_to_move_and_nothing_to_do(arm: kido.Skeleton) -> None:
    for method in (DampedLeastSquares(), DampedLeastSquares(clamp=0.1)):  # in compiled code, and not
        stuck = far(arm, dofs=[], gradient_method=method)
        assert stuck.find_solution().reason == "not reached: hand; no coordinates are active"
    for empty in (CompositeIK(arm), WholeBodyIK(arm)):
        result = empty.solve_and_apply()
        assert result and result.reason == "nothing to solve: no tasks are active"
    assert not DifferentialIK(arm).velocities(1e-3).any()


def test_bounds_of_tasks_are_those_of_regions(arm: kido.Skeleton) -> None:
    hand = arm.body("hand")
    for pair in ((-1, 2), [-1, 2], np.array([-1, 2])):
        task = Task.position(hand, bounds=pair)
        assert task.lower[3:].tolist() == [-1] * 3 and task.upper[3:].tolist() == [2] * 3
    assert Task.position(hand, bounds=[1, 2, 3]).lower[3:].tolist() == [-1, -2, -3]


def test_status_in_words() -> None:
    assert f"{IkStatus.CLOSEST}" == str(IkStatus.CLOSEST) == "CLOSEST"


def test_chain_counts_what_moves(arm: kido.Skeleton) -> None:
    """Bodies that are welded together count as one: a tool beside a camera has the arm's coordinates."""
    hand = arm.body("hand")
    whole = [dof.name for dof in InverseKinematics(hand).dofs]
    for name in ("tool", "camera"):
        arm.add_body(name, kido.WeldJoint(f"{name}_mount"), hand)
    tool = arm.body("tool")
    assert [dof.name for dof in InverseKinematics(tool).dofs] == whole and len(whole) == 7
    arm.add_body("finger", kido.RevoluteJoint("finger"), hand)
    arm.add_body("tip", kido.WeldJoint("tip"), arm.body("finger"))
    assert [dof.name for dof in InverseKinematics(tool).dofs] == whole  # fingers hang on the hand itself
    assert [dof.name for dof in InverseKinematics(arm.body("tip")).dofs] == [*whole, "finger"]  # nothing else moves
    arm.add_body("thumb", kido.RevoluteJoint("thumb"), arm.body("camera"))
    assert [dof.name for dof in InverseKinematics(arm.body("tip")).dofs] == ["finger"]
    base = arm.bodies[0]
    assert InverseKinematics(base).dofs == () or base.parent_joint.num_dofs


@pytest.mark.parametrize("gradient", [None, np.zeros(2), np.full(7, np.nan)], ids=["None", "two", "nan"])
def test_gradients_of_wrong_form(arm: kido.Skeleton, gradient: Any) -> None:
    class Wrong(GradientMethod):
        def compute_gradient(self, error: np.ndarray) -> Any:
            return gradient

    with pytest.raises(kido.StateError, match="Wrong: compute_gradient: expected 7 finite numbers"):
        far(arm, gradient_method=Wrong()).solve_and_apply()
    assert np.array_equal(arm.positions, START)


def test_no_mass_no_centre() -> None:
    ghost = kido.Skeleton("ghost")
    ghost.add_body("body", kido.RevoluteJoint("hinge"), None, kido.Inertia(0.0, (0, 0, 0), np.zeros((3, 3))))
    task = Task.com(np.eye(4))
    for make in (lambda: IkSolver(task, skeleton=ghost), lambda: DifferentialIK(ghost, [task])):
        with pytest.raises(kido.ModelError, match=r"'ghost'.* no mass, so no centre of mass"):
            make()


def test_clones_for_copies_of_the_skeleton(arm: kido.Skeleton) -> None:
    """Solvers travel to a copy, with targets on the skeleton; frames elsewhere are shared."""
    hand, conveyor = arm.body("hand"), kido.SimpleFrame(None, "conveyor", (0.4, 0.1, 0.5))
    elbow = kido.SimpleFrame(arm.bodies[2], "beside the elbow", (0.1, 0.0, 0.0))
    tasks = [Task.position(hand, conveyor), Task.look_at(hand, elbow, priority=1)]
    other = arm.clone()
    solver, step = IkSolver(tasks), DifferentialIK(arm, tasks, dofs=arm.dofs[1:])
    for original in (solver, step):
        for skeleton in (other, None):
            twin = original.clone(skeleton)
            assert twin.skeleton is (skeleton or arm)
            for task in twin.tasks:
                assert task.node is twin.skeleton.body("hand")
            assert twin.tasks[0].target is conveyor
            assert twin.tasks[1].target.parent_frame is twin.skeleton.bodies[2]
    assert np.array_equal(solver.clone(other).solve().positions, solver.solve().positions)
    assert np.array_equal(step.clone(other).step(1e-3), step.velocities(1e-3))
    assert not np.array_equal(other.positions, arm.positions)
    with pytest.raises(kido.ModelError, match="clone: expected a skeleton, got 3"):
        step.clone(3)  # type: ignore[arg-type]
    stranger = kido.Skeleton("stranger")
    stranger.add_body("body", kido.RevoluteJoint("hinge"))
    for original in (solver, step):
        with pytest.raises(kido.KidoError, match="hand"):
            original.clone(stranger)
