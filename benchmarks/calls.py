"""What is measured of a robot: quantities, and the calls that give them in each program.

A call is a function and its arguments for each state, so that timing adds nothing of its own: the function is
the program's own where one call gives the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

# Quantity, and how its result is turned into KIDO's layout (`benchmarks.programs`).
QUANTITIES = {
    "FK": "same",
    "pose of one body": "same",
    "Jacobian": "columns",
    "Jacobian rate": "columns",
    "RNEA": "vector",
    "CRBA": "square",
    "M^-1": "square",
    "factors of M": "same",
    "ABA": "acceleration",
    "Coriolis matrix": "vector",
    "bias forces": "vector",
    "gravity forces": "vector",
    "COM": "same",
    "COM Jacobian": "columns",
    "centroidal matrix": "columns",
    "its rate": "columns",
    "kinetic energy": "same",
    "potential energy": "same",
    "regressor": "same",
    "RNEA derivatives": "square",
    "ABA derivatives": "square",
    "centroidal derivatives": "columns",
    "FK derivatives": "columns",
    "Hessian": "same",
    "integrate": "same",
    "difference": "vector",
}


class Call(NamedTuple):
    """A function, its arguments for each state, and how to read its result; None: it is not comparable."""

    function: Callable[..., Any]
    arguments: list[tuple[Any, ...]]
    tidy: Callable[[Any, int], Any] | None = lambda result, i: result

    def result(self, i: int) -> Any:
        """The result for state i, tidied."""
        assert self.tidy is not None
        return self.tidy(self.function(*self.arguments[i]), i)

    def sweep(self) -> Callable[[], None]:
        """A function that makes the call for each state, one after the other."""
        function, arguments = self.function, self.arguments

        def run() -> None:
            for given in arguments:
                function(*given)

        return run


def tip_of(kido: Any) -> tuple[str, str]:
    """Names of the last joint with one coordinate, and of the body that it moves: the one that is looked at."""
    joint = [joint for joint in kido.skeleton.joints if joint.num_dofs == 1][-1]
    return joint.name, joint.child.name


def angular_first(rows: np.ndarray) -> np.ndarray:
    """[linear; angular] rows as [angular; linear]."""
    return np.concatenate([rows[3:6], rows[:3]])


def symmetric(upper: np.ndarray) -> np.ndarray:
    """A symmetric matrix from its upper triangle."""
    return np.triu(upper) + np.triu(upper, 1).T
