"""Inverse kinematics: tasks for bodies and end effectors, alone and in hierarchies."""

from kido.ik import tasks
from kido.ik.differential_ik import DifferentialIK
from kido.ik.differential_solver import DifferentialSolver
from kido.ik.error_method import BoundedError, ErrorMethod
from kido.ik.gradient_method import (
    DampedLeastSquares,
    GradientMethod,
    JacobianInverse,
    JacobianMethod,
    JacobianPseudoinverse,
    JacobianTranspose,
    LevenbergMarquardt,
    SelectivelyDampedLeastSquares,
)
from kido.ik.hierarchy import CompositeIK, HierarchicalIK, PrioritizedSolver, WholeBodyIK
from kido.ik.inverse_kinematics import InverseKinematics
from kido.ik.limits import CollisionAvoidance, HalfSpaces, InfeasibleError
from kido.ik.result import IkResult, IkStatus
from kido.ik.solver import IkSolver, solve
from kido.ik.tasks import *

__all__ = [
    "BoundedError",
    "CollisionAvoidance",
    "CompositeIK",
    "DampedLeastSquares",
    "DifferentialIK",
    "DifferentialSolver",
    "ErrorMethod",
    "GradientMethod",
    "HalfSpaces",
    "HierarchicalIK",
    "IkResult",
    "IkSolver",
    "IkStatus",
    "InfeasibleError",
    "InverseKinematics",
    "JacobianInverse",
    "JacobianMethod",
    "JacobianPseudoinverse",
    "JacobianTranspose",
    "LevenbergMarquardt",
    "PrioritizedSolver",
    "SelectivelyDampedLeastSquares",
    "WholeBodyIK",
    "solve",
]
__all__ += tasks.__all__
