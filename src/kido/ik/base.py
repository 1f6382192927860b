"""What single and hierarchical inverse kinematics have in common: coordinates, a problem, a solver."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError, StateError
from kido.ik.compiled import CompiledDisplacements
from kido.ik.coordinates import posing
from kido.ik.error_method import BoundedError
from kido.ik.part import Module
from kido.ik.priority import TaskRows
from kido.ik.problem import IkProblem, MergedObjective, TaskConstraint, TaskOwner, joint_limits
from kido.ik.result import IkResult
from kido.optimization import Function, NullFunction, Problem, Solver
from kido.optimization.problem import FunctionLike, as_function

Array = NDArray[np.float64]


class InverseKinematicsBase(TaskOwner):
    """Tasks on a skeleton, as an optimization problem that is set up by itself and can be changed.

    x (n,) are the positions of `dofs`. The problem's equality constraint are the errors of all tasks, its objective is
    `objective` plus `null_space_objective`, whose gradient is projected to the null space of the tasks.
    """

    _solver: Solver

    def __init__(self, solver: Solver):
        self._objective: Function = NullFunction()
        self._null_space_objective: Function = NullFunction()
        self._problem: IkProblem | None = None
        self._original: tuple[Any, ...] = ()
        self._levels_now: list[list[Module]] = []
        self._compiled: CompiledDisplacements | None = None
        self._remembered: dict[bytes, list[list[TaskRows]]] = {}
        self._errors_known: dict[bytes, list[list[tuple[Module, Array]]]] = {}
        self.descent: Any = None  # of `DifferentialSolver`: what is compiled for the tasks, as long as it fits
        self._solver = solver

    @staticmethod
    def nothing_remembered() -> dict[str, Any]:
        """What copies have instead of a solve's working state."""
        working = {"may_move": False, "_levels_now": [], "_compiled": None, "_remembered": {}, "_errors_known": {}}
        return {**working, "descent": None}

    @abstractmethod
    def active_levels(self) -> list[list[Module]]:
        """Active tasks by level, the most important first."""

    # Parts -------------------------------------------------------------------------------------------------

    @property
    def objective(self) -> Function:
        """What is minimized among the poses that satisfy the tasks: a `Function` of x (n,), or a Python function.

        While it is evaluated the skeleton is at x.
        """
        return self._objective

    @objective.setter
    def objective(self, value: FunctionLike | None) -> None:
        self._objective = as_function(value, "objective")

    @property
    def null_space_objective(self) -> Function:
        """Like `objective`, but its gradient is projected to the null space of the tasks, so it never disturbs them."""
        return self._null_space_objective

    @null_space_objective.setter
    def null_space_objective(self, value: FunctionLike | None) -> None:
        self._null_space_objective = as_function(value, "null_space_objective")

    @property
    def solver(self) -> Solver:
        """What solves the problem: any of `kido.optimization`, or your own."""
        return self._solver

    @solver.setter
    def solver(self, value: Solver) -> None:
        if not isinstance(value, Solver):
            raise ModelError(f"{self!r}: solver: expected a kido.optimization.Solver, got {value!r}")
        self._solver = value

    @property
    def problem(self) -> Problem:
        """The optimization problem. Add constraints, seeds or bounds to it; `reset_problem` takes them away.

        Raises:
            ModelError: it was changed, and the active coordinates are others now.
        """
        problem, n = self._problem, len(self.dof_indices)
        if problem is None or (problem.dimension != n and not self._is_changed(problem)):
            return self.reset_problem()
        if problem.dimension != n:
            raise ModelError(
                f"{self!r}: its problem was changed for {problem.dimension} coordinates, and now there are {n}; "
                "reset_problem() makes a new one"
            )
        return problem

    def reset_problem(self) -> Problem:
        """Set the problem up anew: the tasks' constraint, the merged objective, the joint limits; no seeds."""
        problem = IkProblem(self, objective=MergedObjective(self), equality=[TaskConstraint(self)])
        self._problem = problem
        self._original = (problem.objective, *problem.equality)
        return problem

    def _is_changed(self, problem: IkProblem) -> bool:
        parts = (problem.objective, *problem.equality)
        same = len(parts) == len(self._original) and all(a is b for a, b in zip(parts, self._original))
        return not same or bool(problem.inequality or problem.seeds) or problem.has_own_bounds

    def has_objective(self) -> bool:
        """Whether there is an objective, or one for the null space."""
        return not all(isinstance(f, NullFunction) for f in (self._objective, self._null_space_objective))

    def has_plain_problem(self) -> bool:
        """Whether nothing was added to the problem."""
        return self._problem is None or not self._is_changed(self._problem)

    def is_plain(self) -> bool:
        """Whether there are tasks and joint limits alone: no objective, nothing added to the problem."""
        return self.has_plain_problem() and not self.has_objective()

    # Solving -----------------------------------------------------------------------------------------------

    @posing
    def find_solution(self) -> IkResult:
        """Solve the problem from the present positions; the skeleton stays where it is.

        Failing is no error: the result says how close it came, and why it stopped.
        """
        problem = self.problem
        if isinstance(problem, IkProblem):
            problem.follow_limits()
        with self._prepared():
            solution = self.solver.solve(problem, self.positions)
            found = [pair for level in self.errors_at(solution.x) for pair in level]
        return self.result_of(found, solution, bool(solution.feasible), float(solution.objective))

    def result_of(
        self, found: Sequence[tuple[Module, Array]], solution: Any, holds: bool, objective: float = 0.0
    ) -> IkResult:
        """What came of a solve, and why a solver stopped, in words.

        Args:
            found: errors (6,) of modules there.
            solution: positions `x`, `iterations` and `reason` of a solver.
            holds: whether what else must hold does.
        """
        x = solution.x
        lower, upper = joint_limits(self)
        missed = [ik.node.name for ik, e in found if np.abs(e).max() > ik.error_method.tolerance]
        within = (x >= lower - 1e-9).all() and (x <= upper + 1e-9).all()
        converged = not missed and holds and bool(within)
        if converged:
            reason = "solved" if any(self._current_levels()) else "nothing to solve: no tasks are active"
        elif missed and not len(x):
            reason = f"not reached: {', '.join(missed)}; no coordinates are active"
        else:
            at = [d.name for d, y, a, b in zip(self.dofs, x, lower, upper) if y - a < 1e-9 or b - y < 1e-9]
            what = f"not reached: {', '.join(missed)}" if missed else "a constraint of the problem is not met"
            reason = f"{what} ({solution.reason.value})" + (f"; at their limits: {', '.join(at)}" if at else "")
        errors = [(ik.node.name, e) for ik, e in found]
        return IkResult.of(x, converged, errors, solution.iterations, reason, objective)

    @posing
    def solve_and_apply(self, allow_incomplete_result: bool = False) -> IkResult:
        """`find_solution`, and move the skeleton there if it is one.

        Args:
            allow_incomplete_result: move it also to the closest pose found, if none satisfies all tasks.
        """
        result = self.find_solution()
        if result.converged or allow_incomplete_result:
            self.positions = result.positions
        return result

    # For the problem's functions -----------------------------------------------------------------------------

    @contextmanager
    def _prepared(self) -> Iterator[None]:
        """For a while, targets stand still (but for those on the skeleton): what was evaluated is remembered."""
        self._levels_now = self.active_levels()
        modules = [ik for level in self._levels_now for ik in level]
        with self.restoring():
            self.may_move = True
            self._remembered, self._errors_known = {}, {}
            try:
                self._compiled = CompiledDisplacements(self.skeleton, modules, self.dof_indices)
                yield
            finally:
                self.may_move, self._compiled, self._levels_now = False, None, []
                self._remembered, self._errors_known = {}, {}

    def _current_levels(self) -> list[list[Module]]:
        return self._levels_now if self.may_move else self.active_levels()

    def _known_at(self, x: Array, memory: dict[bytes, Any], make: Callable[..., Any]) -> list[list[Any]]:
        """What is made of each active task at x, by level; while targets stand still, that of the last x is kept."""
        key = x.tobytes()
        known = memory.get(key) if self.may_move else None
        if known is None:
            compiled = self._compiled
            if compiled is not None:
                compiled.evaluate(self.whole_positions(x))
            with self._posed_for(x, compiled):
                known = [[make(ik, compiled) for ik in level] for level in self._current_levels()]
            if self.may_move:
                memory.clear()
                memory[key] = known
        return known

    def errors_at(self, x: Array) -> list[list[tuple[Module, Array]]]:
        """Errors of all active tasks at x, by level."""
        return self._known_at(x, self._errors_known, lambda ik, compiled: (ik, self._error_of(ik, compiled)))

    @staticmethod
    def _error_of(ik: Module, compiled: CompiledDisplacements | None) -> Array:
        method = ik.error_method
        if compiled is None or not compiled.knows(ik) or not isinstance(method, BoundedError):
            return ik.compute_error()
        return method.error_at(compiled.of(ik)[0])

    def tasks_at(self, x: Array) -> list[list[TaskRows]]:
        """All active tasks at x, by level, in the columns of this object's coordinates."""
        return self._known_at(x, self._remembered, self._rows_of)

    def _rows_of(self, ik: Module, compiled: CompiledDisplacements | None) -> TaskRows:
        n = len(self.dof_indices)
        column = np.full(self.skeleton.num_dofs, -1)
        column[self.dof_indices] = np.arange(n)
        dofs = column[ik.dof_indices]
        if (dofs < 0).any():
            raise StateError(f"{self!r}: {ik!r} has coordinates that are not among its own")
        method: Any = ik.error_method
        if compiled is not None and compiled.knows(ik):
            d, own = compiled.of(ik)
            D = np.zeros((6, n))
            D[:, dofs] = own[:, dofs]
            e, J = method.error_at(d), method.jacobian_at(d, D)
            return TaskRows(ik.gradient_method, dofs, e, J, method.used, *method.margins_at(d, D))
        e, own, m, M = method.evaluate()
        J, G = np.zeros((6, n)), np.zeros((len(m), n))
        J[:, dofs], G[:, dofs] = own, M
        return TaskRows(ik.gradient_method, dofs, e, J, method.used, m, G)

    @contextmanager
    def _posed_for(self, x: Array, compiled: CompiledDisplacements | None) -> Iterator[None]:
        """The skeleton at x, if anything needs it there."""
        modules = [ik for level in self._current_levels() for ik in level]
        if compiled is not None and all(compiled.knows(ik) for ik in modules):
            yield
        else:
            with self.posed(x):
                yield
