"""Solvers called from Python, on a problem. Compiled code calls the same callbacks."""

from __future__ import annotations

from kido.solvers.custom import CustomSolver
from kido.solvers.default import begin_solution, solve_problem
from kido.solvers.position import project_positions
from kido.solvers.problem import PROBLEM
from kido.solvers.restitution import restitute
from kido.solvers.solver import DefaultSolver, Solver


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
