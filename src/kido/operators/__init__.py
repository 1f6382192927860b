"""Spatial operators: dynamics as it is written in formulas, run as sweeps over the bodies."""

from kido.operators.expression import Operator
from kido.operators.linear import Explanation, OperatorError, Step
from kido.operators.lyapunov import Lyapunov
from kido.operators.spatial_operators import SpatialOperators

__all__ = ["Explanation", "Lyapunov", "Operator", "OperatorError", "SpatialOperators", "Step"]
