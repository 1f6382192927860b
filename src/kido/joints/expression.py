"""What a user's formula of a joint is written in: expressions that write down what NumPy does to them.

An `Expression` is a node of a `kido.joints.graph.Graph` with the operators, and the methods that NumPy's functions
call on objects.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from kido.errors import ModelError
from kido.joints.graph import Graph
from kido.joints.tape import COS, EXP, LOG, SIN, SQRT


class Expression:
    """A number that depends on a joint's coordinates, as NumPy meets it in `UserJoint.transform`."""

    __slots__ = ("_at", "_graph")

    def __init__(self, graph: Graph, at: int):
        self._graph = graph
        self._at = at

    # Arithmetic ------------------------------------------------------------------------------------------

    def _with(self, other: Any, combine: Callable[[int, int], int], swapped: bool = False) -> Any:
        g = self._graph
        if isinstance(other, Expression):
            b = other._at
        elif isinstance(other, int | float | np.integer | np.floating) and not isinstance(other, bool):
            b = g.number(float(other))
        else:
            return NotImplemented
        return Expression(g, combine(b, self._at) if swapped else combine(self._at, b))

    def __add__(self, other: Any) -> Any:
        return self._with(other, self._graph.add)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._with(other, self._graph.subtract)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, self._graph.subtract, swapped=True)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, self._graph.multiply)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, self._graph.divide)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(other, self._graph.divide, swapped=True)

    def __neg__(self) -> Expression:
        return Expression(self._graph, self._graph.scale(self._at, -1.0))

    def __pos__(self) -> Expression:
        return self

    def __pow__(self, other: Any) -> Any:
        g = self._graph
        if isinstance(other, Expression):
            return (other * self.log()).exp()
        if isinstance(other, int | float | np.integer | np.floating):
            return Expression(g, g.power(self._at, float(other)))
        return NotImplemented

    def __rpow__(self, other: Any) -> Any:
        return (self * math.log(float(other))).exp()

    # What NumPy's functions call -------------------------------------------------------------------------

    def _function(self, op: int) -> Expression:
        return Expression(self._graph, self._graph.function(op, self._at))

    def sin(self) -> Expression:
        """Sine."""
        return self._function(SIN)

    def cos(self) -> Expression:
        """Cosine."""
        return self._function(COS)

    def tan(self) -> Expression:
        """Tangent."""
        return self.sin() / self.cos()

    def sqrt(self) -> Expression:
        """Square root."""
        return self._function(SQRT)

    def exp(self) -> Expression:
        """Exponential."""
        return self._function(EXP)

    def log(self) -> Expression:
        """Natural logarithm."""
        return self._function(LOG)

    def square(self) -> Expression:
        """Square."""
        return self * self

    def reciprocal(self) -> Expression:
        """One over it."""
        return 1.0 / self

    def conjugate(self) -> Expression:
        """Itself: it is real."""
        return self

    def sinh(self) -> Expression:
        """Hyperbolic sine."""
        return 0.5 * (self.exp() - (-self).exp())

    def cosh(self) -> Expression:
        """Hyperbolic cosine."""
        return 0.5 * (self.exp() + (-self).exp())

    def tanh(self) -> Expression:
        """Hyperbolic tangent."""
        return 1.0 - 2.0 / ((2.0 * self).exp() + 1.0)

    def arctan2(self, other: Any) -> Any:
        """Angle of the point (other, self)."""
        return self._with(other, self._graph.arctan2)

    def arctan(self) -> Expression:
        """Inverse tangent."""
        return self.arctan2(1.0)

    def arcsin(self) -> Expression:
        """Inverse sine."""
        return self.arctan2((1.0 - self * self).sqrt())

    def arccos(self) -> Expression:
        """Inverse cosine."""
        return (1.0 - self * self).sqrt().arctan2(self)

    def hypot(self, other: Any) -> Expression:
        """Length of the vector (self, other)."""
        return (self * self + other * other).sqrt()

    def deg2rad(self) -> Expression:
        """From degrees to radians."""
        return self * (math.pi / 180.0)

    def rad2deg(self) -> Expression:
        """From radians to degrees."""
        return self * (180.0 / math.pi)

    # What has no derivative, or needs a number -------------------------------------------------------------

    def _compared(self, other: Any = None) -> NoReturn:
        raise ModelError(
            "a coordinate is compared or branched upon: transform() is called once, with expressions in place of "
            "numbers, and must be one smooth formula for all positions (no if, abs, max, sign on coordinates)"
        )

    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = __abs__ = __floor__ = __ceil__ = __mod__ = _compared
    __eq__ = __ne__ = _compared  # type: ignore[assignment]
    __floordiv__ = __rmod__ = __rfloordiv__ = __round__ = _compared
    __hash__ = object.__hash__

    def _no_number(self) -> NoReturn:
        raise ModelError(
            "a coordinate is used as a plain number: transform() is called once, with expressions in place of "
            "numbers; use NumPy's functions (np.sin, not math.sin) and +, -, *, /, ** on them"
        )

    __float__ = __int__ = __index__ = _no_number

    def __repr__(self) -> str:
        return f"Expression({self._at})"


KNOWN_FUNCTIONS = sorted(name for name in vars(Expression) if not name.startswith("_"))
