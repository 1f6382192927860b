"""Contact and constraint solvers: one problem (`PROBLEM`), one file per solver, one certificate for all.

From Python: `solve(problem)` and its kin. From kernels, by address, so that each is compiled once and
only if used:

    call4(solve_problem.address, problem, gauss_seidel_island.address, admm_island.address, 0)
    call4(restitute.address, problem, gauss_seidel_island.address, admm_island.address, 0)
    call4(correct_positions.address, problem, 0, 0, 0)
"""

from kido.solvers.admm import admm_island
from kido.solvers.certify import Certificate, CertifyError, certify
from kido.solvers.default import solve_problem
from kido.solvers.gauss_seidel import gauss_seidel_island
from kido.solvers.position import correct_positions
from kido.solvers.problem import (
    AT_CAP,
    BLOCKS,
    BOUNDED,
    CONTACT,
    CONVERGED,
    DEFAULT_SETTINGS,
    DOFS,
    FELL_BACK,
    ISLANDS,
    NOT_FINITE,
    PROBLEM,
    ROWS,
    SETTING_NAMES,
    new_problem,
    problem_matrices,
)
from kido.solvers.restitution import restitute
from kido.solvers.run import solve, solve_admm, solve_gauss_seidel, solve_position, solve_restitution

__all__ = [
    "AT_CAP",
    "BLOCKS",
    "BOUNDED",
    "CONTACT",
    "CONVERGED",
    "DEFAULT_SETTINGS",
    "DOFS",
    "FELL_BACK",
    "ISLANDS",
    "NOT_FINITE",
    "PROBLEM",
    "ROWS",
    "SETTING_NAMES",
    "Certificate",
    "CertifyError",
    "admm_island",
    "certify",
    "correct_positions",
    "gauss_seidel_island",
    "new_problem",
    "problem_matrices",
    "restitute",
    "solve",
    "solve_admm",
    "solve_gauss_seidel",
    "solve_position",
    "solve_problem",
    "solve_restitution",
]
