"""Convex quadratic programs, small and dense: a dual active-set method in compiled code."""

from kido.optimization.dense_qp.program import QuadraticOptimum, QuadraticProgram

__all__ = ["QuadraticOptimum", "QuadraticProgram"]
