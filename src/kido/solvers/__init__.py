"""Contact and constraint solvers: one problem (`PROBLEM`), one file per solver, one certificate for all."""

from kido.solvers.admm import admm
from kido.solvers.certify import Certificate, CertifyError, certify
from kido.solvers.default import solve, solve_problem
from kido.solvers.gauss_seidel import gauss_seidel
from kido.solvers.position import solve_position, solve_position_problem
from kido.solvers.problem import (
    AT_CAP,
    BOUNDED,
    CONTACT,
    CONVERGED,
    FELL_BACK,
    NOT_FINITE,
    PROBLEM,
    new_problem,
    problem_matrices,
)
from kido.solvers.restitution import restitution, restitution_problem

__all__ = [
    "AT_CAP",
    "BOUNDED",
    "CONTACT",
    "CONVERGED",
    "FELL_BACK",
    "NOT_FINITE",
    "PROBLEM",
    "Certificate",
    "CertifyError",
    "admm",
    "certify",
    "gauss_seidel",
    "new_problem",
    "problem_matrices",
    "restitution",
    "restitution_problem",
    "solve",
    "solve_position",
    "solve_position_problem",
    "solve_problem",
]
