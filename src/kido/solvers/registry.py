"""Solvers as users choose and call them: from what is given for one, as plain data, and on a problem."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from kido.errors import ModelError
from kido.solvers.custom import CustomSolver, IslandProblem
from kido.solvers.default import begin_solution, solve_problem
from kido.solvers.lcp import PGS, Dantzig, Lemke
from kido.solvers.position import project_positions
from kido.solvers.problem import PROBLEM
from kido.solvers.restitution import restitute
from kido.solvers.solver import ADMM, DefaultSolver, GaussSeidel, Solver

BUILT_IN_SOLVERS: dict[str, Any] = {
    kind.__name__: kind for kind in (DefaultSolver, GaussSeidel, ADMM, Dantzig, Lemke, PGS)
}


@dataclass(frozen=True)
class Unavailable:
    """Stands for a user's function that is known by name only."""

    original: str

    def __call__(self, problem: IslandProblem) -> Any:
        """Raises ModelError."""
        raise ModelError(
            f"solver {self.original!r} is not part of kido; set `world.solver` to that function, or to one of "
            f"{', '.join(BUILT_IN_SOLVERS)}"
        )


def as_solver(value: Any) -> Solver:
    """A solver as given, or a user's function as one.

    Raises:
        ModelError: it is neither.
    """
    if isinstance(value, Solver):
        return value
    if callable(value) and not isinstance(value, type):
        return CustomSolver(value)
    raise ModelError(
        f"solver: expected one such as kido.solvers.Dantzig(), or a function of an IslandProblem that returns "
        f"impulses, got {value!r}"
    )


def solver_to_dict(solver: Solver) -> dict[str, Any]:
    """Name and, of kido's own, parameters."""
    name = type(solver).__name__
    if type(solver) is BUILT_IN_SOLVERS.get(name):
        own: Any = solver
        return {"name": name, "parameters": {f.name: getattr(own, f.name) for f in fields(own)}, "own": True}
    function = solver.function if isinstance(solver, CustomSolver) else solver
    return {"name": str(getattr(function, "__name__", type(function).__name__)), "parameters": {}, "own": False}


def solver_from_dict(data: dict[str, Any]) -> Solver:
    """A solver equal to the one that `solver_to_dict` was given; one that only says so for a user's.

    Raises:
        ModelError: parameters that it does not have.
    """
    if not data["own"] or data["name"] not in BUILT_IN_SOLVERS:
        return CustomSolver(Unavailable(str(data["name"])))
    return BUILT_IN_SOLVERS[data["name"]](**data["parameters"])


def solve(problem: PROBLEM) -> int:
    """Solve by the default: Gauss-Seidel, and ADMM where that stagnates. Returns the worst status."""
    return solve_with(problem, DefaultSolver())


def solve_with(problem: PROBLEM, solver: Solver) -> int:
    """Solve by a chosen solver, for whose sizes the problem was made, the default behind it.

    Returns:
        The worst status.
    """
    solver.choose(problem)
    if isinstance(solver, CustomSolver):
        begin_solution(problem.address, 0, 0, 0)
        solver.solve_islands(problem)
    return solve_problem(problem.address, 0, 0, 0)


def solve_gauss_seidel(problem: PROBLEM) -> int:
    """Solve by Gauss-Seidel alone, within its cap of sweeps. Returns the worst status."""
    DefaultSolver().choose(problem, fallback=None)
    return solve_problem(problem.address, 0, 0, 0)


def solve_admm(problem: PROBLEM) -> int:
    """Solve by ADMM alone, every island that fits into the dense matrix. Returns the worst status."""
    DefaultSolver().choose(problem)
    return solve_problem(problem.address, 1, 0, 0)


def solve_restitution(problem: PROBLEM) -> int:
    """Second phase of impacts, after `solve`. Returns the number of islands that bounced."""
    return restitute(problem.address, 0, 0, 0)


def solve_position(problem: PROBLEM) -> int:
    """Position correction, after `solve`: fills `u_position`. Returns the most sweeps of an island."""
    return project_positions(problem.address, 0, 0, 0)
