"""What single and hierarchical inverse kinematics have in common: coordinates, a problem, a solver."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError, StateError
from kido.ik.charts import chart_rates, charted_joints
from kido.ik.compiled import CompiledDisplacements
from kido.ik.coupling import coupling_of
from kido.ik.error_method import BoundedError
from kido.ik.priority import TaskRows
from kido.ik.problem import IkProblem, MergedObjective, TaskConstraint, joint_limits
from kido.ik.result import IkResult
from kido.math.transform import as_vector
from kido.optimization import Function, NullFunction, Problem, Solver
from kido.optimization.problem import FunctionLike, as_function

if TYPE_CHECKING:
    from kido.ik.inverse_kinematics import InverseKinematics
    from kido.skeleton import DegreeOfFreedom, Skeleton

Array = NDArray[np.float64]


class InverseKinematicsBase:
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
        self._solving = False
        self._levels_now: list[list[InverseKinematics]] = []
        self._compiled: CompiledDisplacements | None = None
        self._remembered: dict[bytes, list[list[TaskRows]]] = {}
        self._errors_known: dict[bytes, list[list[tuple[InverseKinematics, Array]]]] = {}
        self._descent: Any = None  # of `DifferentialSolver`: what is compiled for the tasks, as long as it fits
        self._solver = solver

    @staticmethod
    def _nothing_remembered() -> dict[str, Any]:
        """What copies have instead of a solve's working state."""
        working = {"_solving": False, "_levels_now": [], "_compiled": None, "_remembered": {}, "_errors_known": {}}
        return {**working, "_descent": None}

    # Coordinates -------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def skeleton(self) -> Skeleton:
        """The skeleton that is moved."""

    @property
    @abstractmethod
    def dof_indices(self) -> NDArray[np.int64]:
        """Places (n,) of the active coordinates in the skeleton's arrays."""

    @abstractmethod
    def _modules(self) -> list[list[InverseKinematics]]:
        """Active tasks by level, the most important first."""

    @property
    def dofs(self) -> list[DegreeOfFreedom]:
        """The active coordinates."""
        every = self.skeleton.dofs
        return [every[k] for k in self.dof_indices]

    @property
    def positions(self) -> Array:
        """Present positions (n,) of the active coordinates [m, rad]; set to move the skeleton."""
        return self.skeleton.positions[self.dof_indices]

    @positions.setter
    def positions(self, value: ArrayLike) -> None:
        self.skeleton.positions = self._whole(value)

    def _whole(self, positions: ArrayLike) -> Array:
        """Positions of all coordinates, those that are not active as they are."""
        indices = self.dof_indices
        x = as_vector(positions, f"{self!r}: positions", len(indices))
        q = self.skeleton.positions
        q[indices] = x
        return coupling_of(self.skeleton).spread(q, indices)

    def retract(self, positions: ArrayLike, change: ArrayLike) -> Array:
        """Positions (n,) after a change (n,) in velocity coordinates: ball and free joints move on their manifold.

        Those with limits on their positions are moved in these, by sums; so solvers know how far it is to a limit.
        """
        indices, skeleton = self.dof_indices, self.skeleton
        u, q = np.zeros(skeleton.num_dofs), self._whole(positions)
        u[indices] = as_vector(change, f"{self!r}: change", len(indices))
        for joint in charted_joints(skeleton):
            q[joint], u[joint] = q[joint] + u[joint], 0.0
        return skeleton.integrate_positions(q, u)[indices]

    def columns(self, jacobian: ArrayLike) -> Array:
        """Derivatives (..., n) by changes of the active coordinates, from those (..., dofs) of the whole skeleton.

        What mimics an active coordinate moves with it, and columns of ball and free joints with limits are rates of
        their positions. Use it where an error method or an objective takes a Jacobian from the skeleton.
        """
        skeleton = self.skeleton
        J = np.asarray(jacobian, dtype=float)
        charts = charted_joints(skeleton)
        if charts:
            J = J.copy()
            q = skeleton.positions
            for joint in charts:
                J[..., joint] = J[..., joint] @ chart_rates(q[joint])
        return coupling_of(skeleton).columns(J, self.dof_indices)

    @contextmanager
    def posed(self, positions: ArrayLike) -> Iterator[None]:
        """For a while, the skeleton has given positions (n,) of the active coordinates."""
        if self._solving:
            self.skeleton.positions = self._whole(positions)
            yield
            return
        with self._restoring():
            self.skeleton.positions = self._whole(positions)
            yield

    @contextmanager
    def _restoring(self) -> Iterator[None]:
        skeleton = self.skeleton
        before = skeleton.positions
        try:
            yield
        finally:
            skeleton.positions = before

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

    def _is_plain(self) -> bool:
        """Whether there are tasks and joint limits alone: no objective, nothing added to the problem."""
        problem = self._problem
        bare = isinstance(self._objective, NullFunction) and isinstance(self._null_space_objective, NullFunction)
        return bare and (problem is None or not self._is_changed(problem))

    # Solving -----------------------------------------------------------------------------------------------

    def find_solution(self) -> IkResult:
        """Solve the problem from the present positions; the skeleton stays where it is.

        Failing is no error: the result says how close it came, and why it stopped.
        """
        problem = self.problem
        if isinstance(problem, IkProblem):
            problem.follow_limits()
        with self._prepared():
            solution = self.solver.solve(problem, self.positions)
            found = [(ik.node.name, ik, e) for level in self._errors_at(solution.x) for ik, e in level]
        missed = [(name, ik, e) for name, ik, e in found if np.abs(e).max() > ik.error_method.tolerance]
        lower, upper = joint_limits(self)
        limits = (solution.x >= lower - 1e-9).all() and (solution.x <= upper + 1e-9).all()
        converged = not missed and bool(solution.feasible) and bool(limits)
        reason = self._in_words(converged, [name for name, _, _ in missed], solution, lower, upper)
        errors = [(name, e) for name, _, e in found]
        return IkResult.of(solution.x, converged, errors, solution.iterations, reason, float(solution.objective))

    def _in_words(self, converged: bool, missed: Sequence[str], solution: Any, lower: Array, upper: Array) -> str:
        if converged:
            return "solved" if any(self._current_levels()) else "nothing to solve: no tasks are active"
        if missed and not len(solution.x):
            return f"not reached: {', '.join(missed)}; no coordinates are active"
        at = [d.name for d, x, a, b in zip(self.dofs, solution.x, lower, upper) if x - a < 1e-9 or b - x < 1e-9]
        what = f"not reached: {', '.join(missed)}" if missed else "a constraint of the problem is not met"
        where = f"; at their limits: {', '.join(at)}" if at else ""
        return f"{what} ({solution.reason.value}){where}"

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
        self._levels_now = self._modules()
        modules = [ik for level in self._levels_now for ik in level]
        with self._restoring():
            self._solving = True
            self._remembered, self._errors_known = {}, {}
            try:
                self._compiled = CompiledDisplacements(self.skeleton, modules, self.dof_indices)
                yield
            finally:
                self._solving, self._compiled, self._levels_now = False, None, []
                self._remembered, self._errors_known = {}, {}

    def _current_levels(self) -> list[list[InverseKinematics]]:
        return self._levels_now if self._solving else self._modules()

    def _errors_at(self, x: Array) -> list[list[tuple[InverseKinematics, Array]]]:
        """Errors of all active tasks at x, by level."""
        key = x.tobytes()
        known = self._errors_known.get(key) if self._solving else None
        if known is None:
            compiled = self._compiled
            if compiled is not None:
                compiled.evaluate(self._whole(x))
            known = []
            with self._posed_for(x, compiled):
                for level in self._current_levels():
                    known.append([(ik, self._error_of(ik, compiled)) for ik in level])
            if self._solving:
                self._errors_known = {key: known}
        return known

    @staticmethod
    def _error_of(ik: InverseKinematics, compiled: CompiledDisplacements | None) -> Array:
        method = ik.error_method
        if compiled is None or not compiled.knows(ik) or not isinstance(method, BoundedError):
            return ik.compute_error()
        return method.error_at(compiled.of(ik)[0])

    def _tasks_at(self, x: Array) -> list[list[TaskRows]]:
        """All active tasks at x, by level, in the columns of this object's coordinates."""
        key = x.tobytes()
        known = self._remembered.get(key) if self._solving else None
        if known is None:
            compiled = self._compiled
            if compiled is not None:
                compiled.evaluate(self._whole(x))
            known = []
            with self._posed_for(x, compiled):
                for level in self._current_levels():
                    known.append([self._rows_of(ik, compiled) for ik in level])
            if self._solving:
                self._remembered = {key: known}
        return known

    def _rows_of(self, ik: InverseKinematics, compiled: CompiledDisplacements | None) -> TaskRows:
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
        e, own, m, M = method._evaluate()
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
