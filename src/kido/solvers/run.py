"""Solvers called from Python, on a problem container. Compiled code calls the same callbacks by address."""

from __future__ import annotations

from kido.jit import Struct, call4, entry
from kido.solvers.admm import admm_island
from kido.solvers.chosen import begin_solution, solve_chosen
from kido.solvers.custom import CustomSolver
from kido.solvers.default import solve_problem
from kido.solvers.gauss_seidel import gauss_seidel_island
from kido.solvers.position import project_positions
from kido.solvers.restitution import restitute
from kido.solvers.solver import Solver


@entry("int64(int64, int64, int64, int64, int64)")
def _call(function, a, b, c, d):
    return call4(function, a, b, c, d)


def solve(problem: Struct) -> int:
    """Solve by the default: Gauss-Seidel, and ADMM where that stagnates. Returns the worst status."""
    return _call(solve_problem.address, problem.address, gauss_seidel_island.address, admm_island.address, 0)


def solve_with(problem: Struct, solver: Solver) -> int:
    """Solve by a chosen solver, for whose sizes the problem was made, the default behind it.

    Returns:
        The worst status.
    """
    solver._choose(problem)
    sweeper, fallback = gauss_seidel_island.address, admm_island.address
    if isinstance(solver, CustomSolver):
        _call(begin_solution.address, problem.address, 0, 0, 0)
        solver.solve_islands(problem)
        return _call(solve_chosen.address, problem.address, sweeper, fallback, 0)
    if solver._island is None:
        return solve(problem)
    return _call(solve_chosen.address, problem.address, sweeper, fallback, solver._island.address)


def solve_gauss_seidel(problem: Struct) -> int:
    """Solve by Gauss-Seidel alone, within its cap of sweeps. Returns the worst status."""
    return _call(solve_problem.address, problem.address, gauss_seidel_island.address, 0, 0)


def solve_admm(problem: Struct) -> int:
    """Solve by ADMM alone, every island that fits into the dense matrix. Returns the worst status."""
    return _call(solve_problem.address, problem.address, gauss_seidel_island.address, admm_island.address, 1)


def solve_restitution(problem: Struct) -> int:
    """Second phase of impacts, after `solve`. Returns the number of islands that bounced."""
    return _call(restitute.address, problem.address, gauss_seidel_island.address, admm_island.address, 0)


def solve_position(problem: Struct) -> int:
    """Position correction, after `solve`: fills `u_position`. Returns the most sweeps of an island."""
    return _call(project_positions.address, problem.address, 0, 0, 0)
