"""Standard problems of optimization with known answers.

HS n: W. Hock, K. Schittkowski, Test Examples for Nonlinear Programming Codes, Lecture Notes in Economics and
Mathematical Systems 187, Springer 1981. Others: J. J. More, B. S. Garbow, K. E. Hillstrom, Testing Unconstrained
Optimization Software, ACM TOMS 7 (1981).

Functions are written for complex numbers too, so that their derivatives are exact (complex-step differentiation,
Squire and Trapp 1998).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kido.optimization import Function, LeastSquares, Problem, Reason

Expression = Callable[[Any], Any]
_IMAGINARY = 1e-40


def complex_step(function: Expression, x: np.ndarray) -> np.ndarray:
    """Derivatives (..., n) of an analytic function."""
    return np.stack([np.imag(function(x + 1j * _IMAGINARY * e)) / _IMAGINARY for e in np.eye(x.size)], axis=-1)


class Smooth(Function):
    """An analytic function of x."""

    def __init__(self, expression: Expression) -> None:
        self.expression = expression

    def evaluate(self, x: np.ndarray) -> float:
        return float(self.expression(x))

    def gradient(self, x: np.ndarray) -> np.ndarray:
        return complex_step(self.expression, x)


class Squares(LeastSquares):
    """Analytic residuals; as an objective half the sum of their squares."""

    def __init__(self, expression: Expression) -> None:
        self.expression = lambda x: np.array(expression(x))

    def residuals(self, x: np.ndarray) -> np.ndarray:
        return self.expression(x).astype(float)

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        return complex_step(self.expression, x)


@dataclass(frozen=True)
class Standard:
    """A problem and its answer.

    Attributes:
        name: as it is known.
        make: makes the problem.
        minimum: least value of the objective.
        at: where, if that is one point.
        reason: what a solver should say of a problem that has no minimum.
        global_search: has many local minima; seeds and restarts are part of the task.
    """

    name: str
    make: Callable[[], Problem]
    minimum: float = 0.0
    at: Sequence[float] | None = None
    reason: Reason | None = None
    global_search: bool = False


def _problem(
    start: Sequence[float],
    objective: Expression | None = None,
    squares: Expression | None = None,
    equal: Expression | None = None,
    below: Expression | None = None,
    lower: Any = -np.inf,
    upper: Any = np.inf,
    seeds: Sequence[Sequence[float]] = (),
) -> Callable[[], Problem]:
    """How to make one: `equal` are rows that are zero, `below` such that are not above zero."""
    return lambda: Problem(
        len(start),
        initial=start,
        lower=lower,
        upper=upper,
        objective=Smooth(objective) if objective else Squares(squares) if squares else None,
        equality=[Squares(equal)] if equal else [],
        inequality=[Squares(below)] if below else [],
        seeds=seeds,
    )


_ROOT2 = np.sqrt(2.0)
_SEEDS = np.random.default_rng(1).integers(-4, 5, (40, 2)).tolist()

STANDARD: tuple[Standard, ...] = (
    Standard(
        "Rosenbrock",
        _problem([-1.2, 1.0], lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2),
        at=[1, 1],
    ),
    Standard(
        "Rosenbrock, squares",
        _problem([-1.2, 1.0], squares=lambda x: [_ROOT2 * 10 * (x[1] - x[0] ** 2), _ROOT2 * (1 - x[0])]),
        at=[1, 1],
    ),
    Standard(
        "Rosenbrock, bounds",
        _problem([-1.2, 1.0], lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2, upper=[0.5, 2.0]),
        0.25,
        [0.5, 0.25],
    ),
    Standard(
        "Powell, singular",
        _problem([3, -1, 0, 1], squares=lambda x: [
            x[0] + 10 * x[1], np.sqrt(5.0) * (x[2] - x[3]), (x[1] - 2 * x[2]) ** 2,
            np.sqrt(10.0) * (x[0] - x[3]) ** 2,
        ]),
    ),
    Standard(
        "Beale",
        _problem([1, 1], squares=lambda x: [y - x[0] * (1 - x[1] ** k) for k, y in ((1, 1.5), (2, 2.25), (3, 2.625))]),
        at=[3, 0.5],
    ),
    Standard("HS4", _problem([1.125, 0.125], lambda x: (x[0] + 1) ** 3 / 3 + x[1], lower=[1, 0]), 8 / 3, [1, 0]),
    Standard("HS6", _problem([-1.2, 1], lambda x: (1 - x[0]) ** 2, equal=lambda x: [10 * (x[1] - x[0] ** 2)]),
             at=[1, 1]),
    Standard(
        "HS7",
        _problem([2, 2], lambda x: np.log(1 + x[0] ** 2) - x[1],
                 equal=lambda x: [(1 + x[0] ** 2) ** 2 + x[1] ** 2 - 4]),
        -np.sqrt(3.0), [0, np.sqrt(3.0)],
    ),
    Standard(
        "HS10",
        _problem([-10, 10], lambda x: x[0] - x[1], below=lambda x: [3 * x[0] ** 2 - 2 * x[0] * x[1] + x[1] ** 2 - 1]),
        -1.0, [0, 1],
    ),
    Standard(
        "HS12",
        _problem([0, 0], lambda x: 0.5 * x[0] ** 2 + x[1] ** 2 - x[0] * x[1] - 7 * x[0] - 7 * x[1],
                 below=lambda x: [4 * x[0] ** 2 + x[1] ** 2 - 25]),
        -30.0, [2, 3],
    ),
    Standard(
        "HS21",
        _problem([2, -1], lambda x: 0.01 * x[0] ** 2 + x[1] ** 2 - 100, below=lambda x: [10 - 10 * x[0] + x[1]],
                 lower=[2, -50], upper=[50, 50]),
        -99.96, [2, 0],
    ),
    Standard(
        "HS26",
        _problem([-2.6, 2, 2], lambda x: (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 4,
                 equal=lambda x: [(1 + x[1] ** 2) * x[0] + x[2] ** 4 - 3]),
    ),
    Standard(
        "HS28",
        _problem([-4, 1, 1], squares=lambda x: [_ROOT2 * (x[0] + x[1]), _ROOT2 * (x[1] + x[2])],
                 equal=lambda x: [x[0] + 2 * x[1] + 3 * x[2] - 1]),
        at=[0.5, -0.5, 0.5],
    ),
    Standard(
        "HS35",
        _problem([0.5, 0.5, 0.5],
                 lambda x: 9 - 8 * x[0] - 6 * x[1] - 4 * x[2] + 2 * x[0] ** 2 + 2 * x[1] ** 2 + x[2] ** 2
                 + 2 * x[0] * x[1] + 2 * x[0] * x[2],
                 below=lambda x: [x[0] + x[1] + 2 * x[2] - 3], lower=0),
        1 / 9, [4 / 3, 7 / 9, 4 / 9],
    ),
    Standard(
        "HS39",
        _problem([2, 2, 2, 2], lambda x: -x[0],
                 equal=lambda x: [x[1] - x[0] ** 3 - x[2] ** 2, x[0] ** 2 - x[1] - x[3] ** 2]),
        -1.0, [1, 1, 0, 0],
    ),
    Standard(
        "HS43",
        _problem([0, 0, 0, 0],
                 lambda x: x[0] ** 2 + x[1] ** 2 + 2 * x[2] ** 2 + x[3] ** 2 - 5 * x[0] - 5 * x[1] - 21 * x[2]
                 + 7 * x[3],
                 below=lambda x: [
                     x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + x[3] ** 2 + x[0] - x[1] + x[2] - x[3] - 8,
                     x[0] ** 2 + 2 * x[1] ** 2 + x[2] ** 2 + 2 * x[3] ** 2 - x[0] - x[3] - 10,
                     2 * x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + 2 * x[0] - x[1] - x[3] - 5,
                 ]),
        -44.0, [0, 1, 2, -1],
    ),
    Standard(
        "HS48",
        _problem([3, 5, -3, 2, -2],
                 squares=lambda x: [_ROOT2 * (x[0] - 1), _ROOT2 * (x[1] - x[2]), _ROOT2 * (x[3] - x[4])],
                 equal=lambda x: [x[0] + x[1] + x[2] + x[3] + x[4] - 5, x[2] - 2 * (x[3] + x[4]) + 3]),
        at=[1, 1, 1, 1, 1],
    ),
    Standard(
        "HS71",
        _problem([1, 5, 5, 1], lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2],
                 equal=lambda x: [x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + x[3] ** 2 - 40],
                 below=lambda x: [25 - x[0] * x[1] * x[2] * x[3]], lower=1, upper=5),
        17.0140173, [1, 4.7429994, 3.8211503, 1.3794082],
    ),
    Standard(
        "HS76",
        _problem([0.5, 0.5, 0.5, 0.5],
                 lambda x: x[0] ** 2 + 0.5 * x[1] ** 2 + x[2] ** 2 + 0.5 * x[3] ** 2 - x[0] * x[2] + x[2] * x[3]
                 - x[0] - 3 * x[1] + x[2] - x[3],
                 below=lambda x: [x[0] + 2 * x[1] + x[2] + x[3] - 5, 3 * x[0] + x[1] + 2 * x[2] - x[3] - 4,
                                  1.5 - x[1] - 4 * x[2]], lower=0),
        -4.681818182, [0.2727273, 2.090909, 0.0, 0.5454545],
    ),
    Standard(
        "HS100",
        _problem([1, 2, 0, 4, 0, 1, 1],
                 lambda x: (x[0] - 10) ** 2 + 5 * (x[1] - 12) ** 2 + x[2] ** 4 + 3 * (x[3] - 11) ** 2 + 10 * x[4] ** 6
                 + 7 * x[5] ** 2 + x[6] ** 4 - 4 * x[5] * x[6] - 10 * x[5] - 8 * x[6],
                 below=lambda x: [
                     2 * x[0] ** 2 + 3 * x[1] ** 4 + x[2] + 4 * x[3] ** 2 + 5 * x[4] - 127,
                     7 * x[0] + 3 * x[1] + 10 * x[2] ** 2 + x[3] - x[4] - 282,
                     23 * x[0] + x[1] ** 2 + 6 * x[5] ** 2 - 8 * x[6] - 196,
                     4 * x[0] ** 2 + x[1] ** 2 - 3 * x[0] * x[1] + 2 * x[2] ** 2 + 5 * x[5] - 11 * x[6],
                 ]),
        680.6300573,
    ),
    Standard(
        "dependent constraints",
        _problem([3, 1], squares=lambda x: [x[0], 2 * x[1]], equal=lambda x: [x[0] + x[1] - 1, 2 * (x[0] + x[1] - 1)]),
        0.4, [0.8, 0.2],
    ),
    Standard(
        "edge of a domain",  # not a number where x <= 0; the first full step of most methods goes there
        _problem([10.0], lambda x: x[0] - np.log(x[0])),
        1.0, [1.0],
    ),
    Standard(
        "Rastrigin, 40 seeds",
        _problem([2.9, -3.8], lambda x: 20 + sum(y**2 - 10 * np.cos(2 * np.pi * y) for y in x), lower=-5.12, upper=5.12,
                 seeds=_SEEDS),
        0.0, [0, 0], global_search=True,
    ),
    Standard(
        "infeasible, linear",
        _problem([0, 0], squares=lambda x: [x[0], x[1]], equal=lambda x: [x[0] + x[1] - 1, x[0] + x[1] - 3]),
        reason=Reason.INFEASIBLE,
    ),
    Standard(
        "infeasible, curved",
        _problem([0.5, 0.7], squares=lambda x: [x[0], x[1]], below=lambda x: [x[0] ** 2 + x[1] ** 2 - 1, 2 - x[0]]),
        reason=Reason.INFEASIBLE,
    ),
    Standard("unbounded", _problem([0, 0], lambda x: x[0] + x[1] ** 2), reason=Reason.UNBOUNDED),
    Standard("not a number", _problem([0.5], lambda x: x[0] + np.nan), reason=Reason.NOT_FINITE),
)  # fmt: skip
BY_NAME = {problem.name: problem for problem in STANDARD}
