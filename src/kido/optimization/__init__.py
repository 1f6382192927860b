"""Optimization: problems with bounds and constraints, solvers, and solutions that certify themselves.

problem = Problem(2, objective=lambda x: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2)
solution = GradientDescentSolver().solve(problem)
"""

from kido.optimization.certificate import Certificate, Multipliers, certify
from kido.optimization.differences import central_differences
from kido.optimization.evaluator import Evaluator
from kido.optimization.function import Function, LeastSquares, ModularFunction, ModularLeastSquares, NullFunction
from kido.optimization.gradient_descent import GradientDescentSolver
from kido.optimization.problem import Problem
from kido.optimization.solution import Outcome, Reason, Solution
from kido.optimization.solver import Solver

__all__ = [
    "Certificate",
    "Evaluator",
    "Function",
    "GradientDescentSolver",
    "LeastSquares",
    "ModularFunction",
    "ModularLeastSquares",
    "Multipliers",
    "NullFunction",
    "Outcome",
    "Problem",
    "Reason",
    "Solution",
    "Solver",
    "central_differences",
    "certify",
]
