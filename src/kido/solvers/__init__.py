"""Contact and constraint solvers: one problem (`PROBLEM`), one file per solver, one certificate for all;
`lcp` has the solvers of linear complementarity problems, kept to compare with.

Worlds choose among `DefaultSolver`, `GaussSeidel`, `ADMM`, `Dantzig`, `Lemke`, `PGS` and users' own functions.
From Python: `solve(problem)`, `solve_with(problem, solver)` and their kin. From kernels, by address, so that each is
compiled once and only if used: `solve_problem`, then `restitute` and `project_positions`, on a problem that knows its
solvers (`Solver.choose`).
"""

from kido.solvers.admm import admm_island
from kido.solvers.body_newton import body_newton_island
from kido.solvers.certify import Certificate, CertifyError, certify
from kido.solvers.custom import CustomSolver, IslandProblem
from kido.solvers.default import begin_islands, begin_solution, end_islands, solve_one, solve_problem
from kido.solvers.gauss_seidel import gauss_seidel_island
from kido.solvers.lcp import PGS, Dantzig, Lemke
from kido.solvers.position import project_one, project_positions
from kido.solvers.problem import (
    AT_CAP,
    BOUNDED,
    CAPPED,
    CONTACT,
    CONVERGED,
    DECLINED,
    DEFAULT_SETTINGS,
    FELL_BACK,
    INACCURATE,
    MEASURED,
    OWN_SOLVED,
    PROBLEM,
    PROBLEM_NOT_FINITE,
    RAY,
    SPIN_BLOCK,
    STUCK,
    TOO_LARGE,
    UNKNOWN_KIND,
    new_problem,
    problem_matrices,
    worker_problem,
)
from kido.solvers.registry import (
    as_solver,
    solve,
    solve_admm,
    solve_gauss_seidel,
    solve_position,
    solve_restitution,
    solve_with,
)
from kido.solvers.restitution import restitute, restitute_one
from kido.solvers.solver import ADMM, DefaultSolver, GaussSeidel, Solver

__all__ = [
    "ADMM",
    "AT_CAP",
    "BOUNDED",
    "CAPPED",
    "CONTACT",
    "CONVERGED",
    "DECLINED",
    "DEFAULT_SETTINGS",
    "FELL_BACK",
    "INACCURATE",
    "MEASURED",
    "OWN_SOLVED",
    "PGS",
    "PROBLEM",
    "PROBLEM_NOT_FINITE",
    "RAY",
    "SPIN_BLOCK",
    "STUCK",
    "TOO_LARGE",
    "UNKNOWN_KIND",
    "Certificate",
    "CertifyError",
    "CustomSolver",
    "Dantzig",
    "DefaultSolver",
    "GaussSeidel",
    "IslandProblem",
    "Lemke",
    "Solver",
    "admm_island",
    "as_solver",
    "begin_islands",
    "begin_solution",
    "body_newton_island",
    "certify",
    "end_islands",
    "gauss_seidel_island",
    "new_problem",
    "problem_matrices",
    "project_one",
    "project_positions",
    "restitute",
    "restitute_one",
    "solve",
    "solve_admm",
    "solve_gauss_seidel",
    "solve_one",
    "solve_position",
    "solve_problem",
    "solve_restitution",
    "solve_with",
    "worker_problem",
]
