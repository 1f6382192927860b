"""Optimization: problems with bounds and constraints, solvers, and solutions that certify themselves.

problem = Problem(2, objective=lambda x: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2)
solution = GradientDescentSolver().solve(problem)
"""

from kido.optimization.dense_qp import QuadraticOptimum, QuadraticProgram
from kido.optimization.function import (
    Function,
    LeastSquares,
    ModularFunction,
    ModularLeastSquares,
    NullFunction,
    central_differences,
)
from kido.optimization.gauss_newton import GaussNewtonSolver
from kido.optimization.gradient_descent import GradientDescentSolver
from kido.optimization.ipopt_solver import IpoptSolver
from kido.optimization.nlopt_solver import NloptSolver
from kido.optimization.normal_equations import DenseNormalEquations, NormalEquations
from kido.optimization.problem import Evaluator, Problem
from kido.optimization.qp_solver import QpSolver
from kido.optimization.scipy_solver import ScipySolver
from kido.optimization.solution import Certificate, Multipliers, Outcome, Reason, Solution, certify
from kido.optimization.solver import Solver
from kido.optimization.sqp import QuadraticSolution, SqpSolver, solve_quadratic

__all__ = [
    "Certificate",
    "DenseNormalEquations",
    "Evaluator",
    "Function",
    "GaussNewtonSolver",
    "GradientDescentSolver",
    "IpoptSolver",
    "LeastSquares",
    "ModularFunction",
    "ModularLeastSquares",
    "Multipliers",
    "NloptSolver",
    "NormalEquations",
    "NullFunction",
    "Outcome",
    "Problem",
    "QpSolver",
    "QuadraticOptimum",
    "QuadraticProgram",
    "QuadraticSolution",
    "Reason",
    "ScipySolver",
    "Solution",
    "Solver",
    "SqpSolver",
    "central_differences",
    "certify",
    "solve_quadratic",
]
