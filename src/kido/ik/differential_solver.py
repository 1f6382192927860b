"""The solver of hierarchies by quadratic programs, in compiled code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.attributes import dataclass
from kido.errors import ModelError
from kido.ik.compiled import key_of
from kido.ik.differential.build import rate_limits
from kido.ik.differential.descent import LEVELS_MET, LEVELS_STALLED, OUT_OF_ITERATIONS
from kido.ik.differential.level_descent import HARD_TOLERANCE, Descended, LevelDescent
from kido.ik.error_method import BoundedError
from kido.ik.gradient_method import Array
from kido.ik.limits import CollisionAvoidance, HalfSpaces
from kido.ik.model import structure_of
from kido.ik.part import Module
from kido.ik.problem import IkProblem, MergedObjective, TaskConstraint, TaskOwner
from kido.ik.tasks import Task
from kido.math.transform import number_or_nan
from kido.optimization import Evaluator, GradientDescentSolver, Outcome, Reason, Solver

if TYPE_CHECKING:
    pass

_REASONS = {LEVELS_MET: Reason.CONVERGED, LEVELS_STALLED: Reason.STALLED, OUT_OF_ITERATIONS: Reason.ITERATIONS}


@dataclass(kw_only=True)
class DifferentialSolver(Solver):
    """Solves tasks by levels, where limits hold, shapes do not collide and points stay in half spaces.

    It descends by steps of `DifferentialIK`, a quadratic program per level. Levels are compared in order: the first one
    is met, or as nearly as can be; the next one as nearly as that leaves it; and so on. Where tasks contradict each
    other positions become better by that order with each step, until nothing comes nearer. A whole solve is one
    call of compiled code. It is for hierarchies (`whole.solver = DifferentialSolver(avoid=...)`) and single tasks of
    built-in error methods; gradient methods do not count. Objectives, and constraints that were added to the problem,
    are left to `GradientDescentSolver`, from where the tasks are solved.

    A `BalanceError` of a level keeps the centre of mass over the support polygon, as it moves.

    Attributes:
        avoid: shapes that keep a distance.
        half_spaces: where points and the centre of mass stay.
        duration: time that the way from the start may take [s]: coordinates move by at most their velocity limits times
            it; None: as far as need be.
        largest_step: of a coordinate in an iteration [rad, m].
        nudges: how often to go on from a displaced pose where no step comes nearer, as with straight limbs.
        restarts: how often to begin anew while the first level is not met, at poses that `IkSolver` finds for it; not
            with a duration.

    Source: Escande, Mansard, Wieber (2014). Equations: `kido.ik.differential.descent`.
    """

    max_iterations: int = 300
    avoid: Sequence[CollisionAvoidance] = ()
    half_spaces: Sequence[HalfSpaces] = ()
    duration: Any = None
    largest_step: float = 0.5
    nudges: int = 1
    restarts: int = 5

    _may_be_zero = Solver._may_be_zero | {"nudges", "restarts"}

    def check_setting(self, name: str, value: Any) -> None:
        """Refuse a value of a setting that is out of range.

        Raises:
            ModelError: it is.
        """
        super().check_setting(name, value)
        if name == "duration" and value is not None and not 0.0 < number_or_nan(value) < math.inf:
            raise ModelError(f"{self.name}.duration: expected a time above 0 or None, got {value!r}")
        kind = {"avoid": CollisionAvoidance, "half_spaces": HalfSpaces}.get(name)
        if kind and not (isinstance(value, list | tuple) and all(isinstance(item, kind) for item in value)):
            raise ModelError(f"{self.name}.{name}: expected a list of {kind.__name__}, got {value!r}")

    def run(self, evaluator: Evaluator, start: Array) -> Outcome:
        """Solve from one start.

        Raises:
            ModelError: the problem is not that of inverse kinematics, or has an error method of a user's.
        """
        problem = evaluator.problem
        tasks = next((f for f in problem.equality if isinstance(f, TaskConstraint)), None)
        if not isinstance(problem, IkProblem) or tasks is None:
            raise ModelError(f"{self.name}: expected the problem of an inverse kinematics, got {problem!r}")
        more = problem.equality != [tasks] or problem.inequality or not _is_flat(problem)
        if more and (self.avoid or self.half_spaces):
            raise ModelError(f"{self.name}: avoid, half_spaces: not together with objectives or added constraints")
        owner = problem.owner
        found = self.descended(owner, owner.whole_positions(start))
        x = found.q[owner.dof_indices]
        if more and found.status == LEVELS_MET:
            done = GradientDescentSolver(max_iterations=self.max_iterations).run(evaluator, x)
            return Outcome(done.x, found.iterations + done.iterations, done.reason, done.message)
        return self.outcome(found, x)

    def outcome(self, found: Descended, x: Array) -> Outcome:
        """What came of a descent, positions x (n,) of the active coordinates."""
        return Outcome(x, found.iterations, _REASONS.get(found.status, Reason.INFEASIBLE), found.message)

    def holds(self, found: Descended) -> bool:
        """Whether half spaces and distances hold there."""
        return bool(found.size[0] <= HARD_TOLERANCE)

    def descended(self, owner: TaskOwner, start: Array) -> Descended:
        """Where the descent of an owner's tasks ends."""
        descent, _ = self._descent_of(owner)
        problem, indices = owner.problem, owner.dof_indices
        reach: Any = np.inf
        if self.duration is not None:
            lower, upper = rate_limits(owner.skeleton, "velocity", True, indices)
            reach = float(self.duration) * np.minimum(-lower, upper)
        if isinstance(problem, IkProblem) and problem.has_own_bounds:
            descent.limit(problem.lower, problem.upper, reach)
        else:
            descent.limit(reach=reach)
        return descent.solve(start, self.max_iterations, self.nudges, self.restarts, self.seed)

    def _descent_of(self, owner: TaskOwner) -> tuple[LevelDescent, list[tuple[Module, Task]]]:
        """Compiled tasks of an owner, as long as only targets moved; and its modules with their tasks."""
        modules = [ik for level in owner.active_levels() for ik in level]
        skeleton = owner.skeleton
        key = (
            structure_of(skeleton), owner.dof_indices.tobytes(), self.largest_step,
            tuple(map(id, self.avoid)), tuple(map(id, self.half_spaces)),
            *((ik.priority, *key_of(ik)) for ik in modules),
        )  # fmt: skip
        known = owner.descent
        if known is None or known[0] != key or not known[1].fits():
            tasks = [(ik, self._task_of(ik)) for ik in modules]
            made = LevelDescent(skeleton, tasks, self.half_spaces, self.avoid, owner.dof_indices, self.largest_step)
            # What is known by its address in the key is kept alive.
            kept = [(list(vars(ik.error_method).values()), ik.error_method, ik.node, ik.target) for ik in modules]
            owner.descent = known = key, made, tasks, (kept, self.avoid, self.half_spaces)
        return known[1], known[2]

    def _task_of(self, ik: Module) -> Task:
        task = ik.error_method.as_task(levels=True)
        if task is None:
            what = type(ik.error_method).__name__
            raise ModelError(f"{self.name}: {ik!r}: expected a built-in error method, got {what}")
        return task

    def errors_of(self, owner: TaskOwner, found: Descended) -> list[tuple[Module, Array]]:
        """Errors (6,) of an owner's modules where the descent of it that was made just now ended, by level."""
        _, descent, tasks, _ = owner.descent
        descent.evaluate(found.q)
        errors: list[tuple[Module, Array]] = []
        for k, (ik, task) in enumerate(tasks):
            method, r = ik.error_method, descent.residual(k)
            if isinstance(method, BoundedError):
                e = method.error_at(r + np.where(task.lower == task.upper, task.lower, 0.0))
            elif descent.is_within(k):
                e = np.zeros(6)
            else:
                with owner.posed(found.q[owner.dof_indices]):
                    e = ik.compute_error()
            errors.append((ik, e))
        return errors


def _is_flat(problem: IkProblem) -> bool:
    return isinstance(problem.objective, MergedObjective) and not problem.owner.has_objective()


def compiled_solver(owner: TaskOwner, max_iterations: int) -> DifferentialSolver | None:
    """A solver for tasks of built-in parts alone; None if one of them is not."""
    modules = [ik for level in owner.active_levels() for ik in level]
    known = owner.descent
    if known is None or any(a is not ik for a, (ik, _) in zip(modules, known[2])):
        if any(ik.error_method.as_task(levels=True) is None for ik in modules):
            return None
    if not len(owner.dof_indices) or not all(ik.is_built_in for ik in modules):
        return None
    return DifferentialSolver(max_iterations=max_iterations)
