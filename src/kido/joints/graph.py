"""Formulas of a joint's coordinates as a graph of operations, and their derivatives.

A `Graph` holds every formula once: equal operations on equal operands are the same node, constants are folded
as they appear, and operands have lower numbers than what is made of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError
from kido.joints.tape import (
    ADD,
    ADD_NUMBER,
    ARCTAN2,
    COS,
    DIVIDE,
    EXP,
    LOG,
    MULTIPLY,
    NUMBER,
    POSITION,
    SCALE,
    SIN,
    SQRT,
    SUBTRACT,
    VELOCITY_INPUT,
)

Node = tuple[int, int, int, float]  # operation, operands, number
_MAX_NODES = 200_000


class Graph:
    """Formulas of the positions and velocities of one joint; nodes are numbers."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._known: dict[Node, int] = {}
        self._derivatives: dict[int, dict[int, int]] = {}

    def _node(self, op: int, a: int = -1, b: int = -1, number: float = 0.0) -> int:
        key = (op, a, b, number)
        found = self._known.get(key)
        if found is None:
            if len(self.nodes) >= _MAX_NODES:
                raise ModelError(f"the expressions of the joint and their derivatives exceed {_MAX_NODES} operations")
            found = self._known[key] = len(self.nodes)
            self.nodes.append(key)
        return found

    def number(self, value: float) -> int:
        """A constant."""
        return self._node(NUMBER, number=float(value) + 0.0)  # -0.0 is 0.0

    def position(self, k: int) -> int:
        """Position k of the joint."""
        return self._node(POSITION, k)

    def velocity(self, k: int) -> int:
        """Velocity k of the joint."""
        return self._node(VELOCITY_INPUT, k)

    def value(self, a: int) -> float | None:
        """The number that a node is, or None."""
        op, _, _, number = self.nodes[a]
        return number if op == NUMBER else None

    def add(self, a: int, b: int) -> int:
        """a + b."""
        x, y = self.value(a), self.value(b)
        if x is not None:
            a, b, x, y = b, a, y, x
        if y is not None:
            if x is not None:
                return self.number(x + y)
            if y == 0.0:
                return a
            op, inner, _, number = self.nodes[a]
            return self.add(inner, self.number(number + y)) if op == ADD_NUMBER else self._node(ADD_NUMBER, a, -1, y)
        if self.nodes[b][0] == SCALE and self.nodes[b][3] == -1.0:
            return self.subtract(a, self.nodes[b][1])
        if self.nodes[a][0] == SCALE and self.nodes[a][3] == -1.0:
            return self.subtract(b, self.nodes[a][1])
        if a == b:
            return self.scale(a, 2.0)
        if self._sum_of_squares_is_one(a, b):
            return self.number(1.0)
        return self._node(ADD, min(a, b), max(a, b))

    def subtract(self, a: int, b: int) -> int:
        """a - b."""
        x, y = self.value(a), self.value(b)
        if a == b:
            return self.number(0.0)
        if y is not None:
            return self.add(a, self.number(-y))
        if x is not None:
            return self.add(self.scale(b, -1.0), a)
        if self.nodes[b][0] == SCALE and self.nodes[b][3] == -1.0:
            return self.add(a, self.nodes[b][1])
        if self.nodes[a][0] == SCALE and self.nodes[a][3] == -1.0:
            return self.scale(self.add(self.nodes[a][1], b), -1.0)
        return self._node(SUBTRACT, a, b)

    def scale(self, a: int, factor: float) -> int:
        """A number times a."""
        op, inner, other, number = self.nodes[a]
        if op == NUMBER:
            return self.number(number * factor)
        if factor == 0.0:
            return self.number(0.0)
        if factor == 1.0:
            return a
        if op == SCALE:
            return self.scale(inner, number * factor)
        if op == SUBTRACT and factor == -1.0:
            return self._node(SUBTRACT, other, inner)
        return self._node(SCALE, a, -1, factor)

    def multiply(self, a: int, b: int) -> int:
        """a b."""
        for first, second in ((a, b), (b, a)):
            x = self.value(first)
            if x is not None:
                return self.scale(second, x)
            op, inner, _, number = self.nodes[first]
            if op == SCALE:
                return self.scale(self.multiply(inner, second), number)
        return self._node(MULTIPLY, min(a, b), max(a, b))

    def divide(self, a: int, b: int) -> int:
        """a / b."""
        y = self.value(b)
        if y is not None:
            if y == 0.0:
                raise ModelError("division by zero")
            return self.scale(a, 1.0 / y) if self.value(a) is None else self.number(self.nodes[a][3] / y)
        if a == b:
            return self.number(1.0)
        op, inner, _, number = self.nodes[a]
        if op == SCALE:
            return self.scale(self.divide(inner, b), number)
        return self.number(0.0) if self.value(a) == 0.0 else self._node(DIVIDE, a, b)

    def function(self, op: int, a: int) -> int:
        """SIN, COS, SQRT, EXP or LOG of a."""
        x = self.value(a)
        if x is not None:
            return self.number(float(_EVALUATE[op](np.float64(x))))
        inner = self.nodes[a]
        if op in (SIN, COS) and inner[0] == SCALE and inner[3] < 0.0:  # one sine for q and -q
            result = self.function(op, self.scale(a, -1.0))
            return self.scale(result, -1.0) if op == SIN else result
        return self._node(op, a)

    def arctan2(self, a: int, b: int) -> int:
        """Angle of the point (b, a)."""
        x, y = self.value(a), self.value(b)
        if x is not None and y is not None:
            return self.number(math.atan2(x, y))
        return self._node(ARCTAN2, a, b)

    def power(self, a: int, exponent: float) -> int:
        """a to a fixed power: products where it is whole, roots where twice it is, else exp(exponent log a)."""
        if exponent < 0.0:
            return self.divide(self.number(1.0), self.power(a, -exponent))
        if exponent == int(exponent) and exponent <= 64:
            result, square, rest = self.number(1.0), a, int(exponent)
            while rest:
                if rest % 2:
                    result = self.multiply(result, square)
                square, rest = (self.multiply(square, square), rest // 2) if rest > 1 else (square, 0)
            return result
        if 2.0 * exponent == int(2.0 * exponent) and exponent <= 64:
            return self.multiply(self.power(a, exponent - 0.5), self.function(SQRT, a))
        return self.function(EXP, self.scale(self.function(LOG, a), exponent))

    def _sum_of_squares_is_one(self, a: int, b: int) -> bool:
        """Whether the nodes are the squared sine and cosine of one angle."""
        (p, a0, a1, _), (q, b0, b1, _) = self.nodes[a], self.nodes[b]
        if p != MULTIPLY or q != MULTIPLY or a0 != a1 or b0 != b1:
            return False
        return {self.nodes[a0][0], self.nodes[b0][0]} == {SIN, COS} and self.nodes[a0][1] == self.nodes[b0][1]

    # Whole graphs ----------------------------------------------------------------------------------------

    def needed_for(self, results: Iterable[int]) -> list[int]:
        """All nodes that the results are made of, operands first."""
        waiting, found = list(results), set()
        while waiting:
            a = waiting.pop()
            if a not in found:
                found.add(a)
                waiting.extend(self.operands(a))
        return sorted(found)

    def operands(self, a: int) -> tuple[int, ...]:
        """Nodes that a node is made of."""
        op, first, second, _ = self.nodes[a]
        if op in (NUMBER, POSITION, VELOCITY_INPUT):
            return ()
        return (first,) if second < 0 else (first, second)

    def derivative(self, a: int, variable: int) -> int:
        """Derivative of a node with respect to an input, by the chain rule over all that it is made of."""
        known = self._derivatives.setdefault(variable, {})
        for b in self.needed_for([a]):
            if b not in known:
                known[b] = self._chain_rule(b, variable, known)
        return known[a]

    def _chain_rule(self, b: int, variable: int, known: dict[int, int]) -> int:
        op, x, y, number = self.nodes[b]
        if b == variable:
            return self.number(1.0)
        if op in (NUMBER, POSITION, VELOCITY_INPUT):
            return self.number(0.0)
        dx, dy = known[x], known[y] if y >= 0 else -1
        if op == ADD:
            return self.add(dx, dy)
        if op == SUBTRACT:
            return self.subtract(dx, dy)
        if op == MULTIPLY:
            return self.add(self.multiply(dx, y), self.multiply(x, dy))
        if op == DIVIDE:  # (dx - (x / y) dy) / y
            return self.divide(self.subtract(dx, self.multiply(b, dy)), y)
        if op == ADD_NUMBER:
            return dx
        if op == SCALE:
            return self.scale(dx, number)
        if op == SIN:
            return self.multiply(self.function(COS, x), dx)
        if op == COS:
            return self.scale(self.multiply(self.function(SIN, x), dx), -1.0)
        if op == SQRT:
            return self.divide(self.scale(dx, 0.5), b)
        if op == EXP:
            return self.multiply(b, dx)
        if op == LOG:
            return self.divide(dx, x)
        assert op == ARCTAN2
        square = self.add(self.multiply(x, x), self.multiply(y, y))
        return self.divide(self.subtract(self.multiply(y, dx), self.multiply(x, dy)), square)

    def evaluate(self, results: list[int], q: NDArray[np.float64], u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values (points, results) of nodes at many points: q and u are (points, coordinates)."""
        values: dict[int, Any] = {}
        with np.errstate(all="ignore"):
            for a in self.needed_for(results):
                op, x, y, number = self.nodes[a]
                if op == NUMBER:
                    values[a] = np.full(len(q), number)
                elif op == POSITION:
                    values[a] = q[:, x]
                elif op == VELOCITY_INPUT:
                    values[a] = u[:, x]
                elif op == ADD_NUMBER:
                    values[a] = values[x] + number
                elif op == SCALE:
                    values[a] = values[x] * number
                elif y >= 0:
                    values[a] = _EVALUATE[op](values[x], values[y])
                else:
                    values[a] = _EVALUATE[op](values[x])
        return np.stack([values[a] for a in results], axis=1) if results else np.empty((len(q), 0))


_EVALUATE: dict[int, Callable[..., Any]] = {
    ADD: np.add, SUBTRACT: np.subtract, MULTIPLY: np.multiply, DIVIDE: np.divide, SIN: np.sin, COS: np.cos,
    SQRT: np.sqrt, EXP: np.exp, LOG: np.log, ARCTAN2: np.arctan2,
}  # fmt: skip
