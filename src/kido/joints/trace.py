"""From a user's formula of a joint's transform to the tape that kernels work through.

What a user's formula of a joint is written in: expressions that write down what NumPy does to them.

An `Expression` is a node of a `kido.joints.graph.Graph` with the operators, and the methods that NumPy's functions
call on objects.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from kido.errors import KidoError, ModelError
from kido.joints.graph import Graph
from kido.joints.tape import COS, EXP, HELD, LOG, NUM_STAGES, NUMBER, POSITION, SIN, SQRT, VELOCITY_INPUT


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
    __eq__ = __ne__ = _compared
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


_TEST_POINTS = 16
_ROTATION_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Tape:
    """Operations of a joint's formulas and their derivatives, ordered by stage.

    Attributes:
        steps: (steps, 3) operation and operands.
        numbers: (steps,) constants.
        stages: (3,) first step of each stage, and the end.
        results: (results,) steps that hold the results, in the order `kido.joints.tape` gives.
    """

    steps: NDArray[np.int64]
    numbers: NDArray[np.float64]
    stages: NDArray[np.int64]
    results: NDArray[np.int64]


def trace(
    transform: Callable[[NDArray[np.object_]], Any], points: NDArray[np.float64], what: str, how: str = "transform()"
) -> Tape:
    """Write down what a function does to a joint's coordinates, differentiate it three times and check it.

    The columns are w_k = vee(dR/dq_k R^T), v_k = dp/dq_k, the velocity product sum over j, k of
    (dH_k/dq_j) u_j u_k.

    Args:
        transform: from coordinates (n,) to (rotation 3x3, translation 3) or a 4x4 matrix.
        points: (points, n) positions at which the result must be a rotation and all must be finite.
        what: the joint, for messages.
        how: the function, for messages.

    Raises:
        ModelError: the function fails on expressions, gives other shapes, or no rotation.
    """
    n = points.shape[1]
    graph = Graph()
    q = [graph.position(k) for k in range(n)]
    u = [graph.velocity(k) for k in range(n)]
    given = np.empty(n, dtype=object)
    given[:] = [Expression(graph, a) for a in q]
    try:
        made = transform(given)
    except KidoError as error:
        raise ModelError(f"{what}: {how}: {error}") from error
    except Exception as error:
        unknown = re.search(r"no callable (\w+) method", str(error))  # what NumPy says of functions of objects
        if unknown is not None:
            known = ", ".join(KNOWN_FUNCTIONS)
            raise ModelError(
                f"{what}: {how}: the function {unknown.group(1)!r} of a coordinate is not known; known are {known}"
            ) from error
        raise ModelError(f"{what}: {how} failed on symbolic coordinates: {type(error).__name__}: {error}") from error
    R, p = _parts(made, graph, f"{what}: {how}")
    columns = [_column(graph, R, p, x) for x in q]
    derivatives = [[[graph.derivative(c, x) for c in column] for x in q] for column in columns]
    rates = [_sum_over(graph, along, u) for along in derivatives]
    bias = _sum_over(graph, rates, u)
    bias_derivatives = [[graph.derivative(c, x) for c in bias] for x in q]
    stages = [
        [*R, *p, *chain(*columns), *chain(*chain(*derivatives))],
        [*chain(*bias_derivatives)],
    ]
    _check(graph, stages, points, f"{what}: {how}")
    return _compile(graph, stages)


def _parts(made: Any, graph: Graph, what: str) -> tuple[list[int], list[int]]:
    expected = f"{what}: expected (rotation 3x3, translation of 3) or a 4x4 matrix"
    try:
        if isinstance(made, tuple | list) and len(made) == 2:
            R, p = np.array(made[0], dtype=object), np.array(made[1], dtype=object)
        else:
            X = np.array(made, dtype=object)
            if X.shape != (4, 4):
                raise ModelError(f"{expected}, got an array of shape {X.shape}")
            R, p = X[:3, :3], X[:3, 3]
    except ValueError:
        raise ModelError(f"{expected}, got {made!r}") from None
    if R.shape != (3, 3) or p.shape != (3,):
        raise ModelError(f"{expected}, got shapes {R.shape} and {p.shape}")
    return [_node(x, graph, what) for x in R.ravel()], [_node(x, graph, what) for x in p]


def _node(value: Any, graph: Graph, what: str) -> int:
    if isinstance(value, Expression):
        if value._graph is not graph:
            raise ModelError(f"{what}: a coordinate was kept from an earlier call")
        return value._at
    try:
        return graph.number(float(value))
    except (TypeError, ValueError):
        raise ModelError(f"{what}: expected numbers or expressions, got {value!r}") from None


def _column(graph: Graph, R: list[int], p: list[int], x: int) -> list[int]:
    dR = [graph.derivative(a, x) for a in R]

    def entry(i: int, j: int) -> int:  # of dR R^T
        terms = [graph.multiply(dR[3 * i + m], R[3 * j + m]) for m in range(3)]
        return graph.add(graph.add(terms[0], terms[1]), terms[2])

    return [entry(2, 1), entry(0, 2), entry(1, 0), *(graph.derivative(a, x) for a in p)]


def _sum_over(graph: Graph, vectors: list[list[int]], weights: list[int]) -> list[int]:
    total = [graph.number(0.0)] * 6
    for vector, weight in zip(vectors, weights, strict=True):
        total = [graph.add(a, graph.multiply(b, weight)) for a, b in zip(total, vector, strict=True)]
    return total


def _check(graph: Graph, stages: list[list[int]], points: NDArray[np.float64], what: str) -> None:
    values = graph.evaluate(stages[0], points, np.zeros_like(points))
    for q, row in zip(points, values, strict=True):
        if not np.isfinite(row).all():
            raise ModelError(f"{what}: not finite, or not differentiable, at q = {q.tolist()}")
        R = row[:9].reshape(3, 3)
        error = float(np.abs(R @ R.T - np.eye(3)).max())
        if error > _ROTATION_TOLERANCE or np.linalg.det(R) < 0.0:
            raise ModelError(
                f"{what}: no rotation at q = {q.tolist()}: R R^T differs from I by {error:.2g}, "
                f"det R = {np.linalg.det(R):.6g}"
            )


def check_points(lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.float64]:
    """Positions (points, n) between limits (and within +-2 of them where one is missing) to check a joint at."""
    low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2.0, -2.0))
    high = np.where(np.isfinite(upper), upper, np.where(np.isfinite(lower), lower + 2.0, 2.0))
    share = np.random.default_rng(0).uniform(size=(_TEST_POINTS, len(lower)))
    return low + share * (high - low)


def _compile(graph: Graph, stages: list[list[int]]) -> Tape:
    """Number the needed nodes stage by stage; sines and cosines of one angle share a step of two values."""
    place: dict[int, int] = {}
    steps: list[tuple[int, int, int]] = []
    numbers: list[float] = []
    begins: list[int] = []
    for results in stages:
        begins.append(len(steps))
        for a in graph.needed_for(results):
            if a in place:
                continue
            op, x, y, number = graph.nodes[a]
            place[a] = len(steps)
            if op in (SIN, COS):
                sine, cosine = (SIN, x, -1, 0.0), (COS, x, -1, 0.0)
                for node, offset in ((sine, 0), (cosine, 1)):
                    if node in graph._known:
                        place[graph._known[node]] = len(steps) + offset
                steps += [(SIN, place[x], 0), (HELD, 0, 0)]
                numbers += [0.0, 0.0]
                continue
            inputs = op in (NUMBER, POSITION, VELOCITY_INPUT)
            steps.append((op, max(x, 0), max(y, 0)) if inputs else (op, place[x], place[y] if y >= 0 else 0))
            numbers.append(number)
    begins.append(len(steps))
    assert len(begins) == NUM_STAGES + 1
    return Tape(
        np.array(steps, np.int64).reshape(-1, 3),
        np.array(numbers, np.float64),
        np.array(begins, np.int64),
        np.array([place[a] for results in stages for a in results], np.int64),
    )
