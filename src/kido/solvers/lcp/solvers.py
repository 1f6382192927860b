"""The solvers of linear complementarity problems, with their parameters."""

from __future__ import annotations

import math
from typing import ClassVar

from kido.attributes import dataclass
from kido.errors import ModelError
from kido.jit import callback
from kido.math.transform import number_or_nan
from kido.solvers.lcp.dantzig import dantzig_island
from kido.solvers.lcp.lemke import lemke_island
from kido.solvers.lcp.pgs import pgs_island
from kido.solvers.solver import Solver, check_count


@dataclass(frozen=True)
class Dantzig(Solver):
    """Boxed LCP by Dantzig's pivoting, as ODE and DART do it: exact for its friction pyramid.

    The pyramid lets friction reach sqrt(2) mu N along the diagonal of the two tangents. Islands with rolling or
    torsional friction go to the default solver.

    Args:
        rounds: most times that friction bounds are set from the normal impulses until both agree; with 1, the
            bounds stay those of the frictionless problem, as in ODE and DART.
        max_rows: largest island, in rows (3 per contact); larger ones go to the default solver.
    """

    rounds: int = 30
    max_rows: int = 300
    compiled: ClassVar[callback | None] = dantzig_island

    def __post_init__(self) -> None:
        check_count(self, "rounds")
        check_count(self, "max_rows")

    def sizes(self) -> dict[str, int]:
        return {"dense_rows": self.max_rows, "unknowns": self.max_rows}

    def parameters(self) -> dict[str, float]:
        return {"chosen_cap": self.rounds, "chosen_max_rows": self.max_rows, "refuses_spin": 1}


@dataclass(frozen=True)
class Lemke(Solver):
    """LCP with polyhedral friction by Lemke's method (Stewart and Trinkle; Anitescu and Potra).

    The polygon is inscribed in the friction disc: between two directions a slide meets cos(pi / d) mu N. Islands
    with rolling or torsional friction go to the default solver.

    Args:
        directions: d, of the friction polygon, even and at least 4.
        max_rows: largest island, in rows (3 per contact); larger ones go to the default solver. Memory and time
            grow as the square and the cube of max_rows (d + 2) / 3.
        pivots: most pivots of an island.
    """

    directions: int = 8
    max_rows: int = 150
    pivots: int = 5000
    compiled: ClassVar[callback | None] = lemke_island

    def __post_init__(self) -> None:
        check_count(self, "directions", 4)
        check_count(self, "max_rows")
        check_count(self, "pivots")
        if self.directions % 2:
            raise ModelError(f"Lemke: directions: expected an even number from 4 on, got {self.directions}")

    def sizes(self) -> dict[str, int]:
        per_contact = self.max_rows * (self.directions + 2) // 3 + self.directions
        return {"dense_rows": self.max_rows, "unknowns": max(per_contact, 2 * self.max_rows)}

    def parameters(self) -> dict[str, float]:
        return {
            "chosen_cap": self.pivots,
            "chosen_max_rows": self.max_rows,
            "friction_directions": self.directions,
            "refuses_spin": 1,
        }


@dataclass(frozen=True)
class PGS(Solver):
    """Projected Gauss-Seidel on the boxed LCP: cheap sweeps, any size, low accuracy for stacks and unequal masses.

    The pyramid lets friction reach sqrt(2) mu N along the diagonal of the two tangents.

    Args:
        iterations: most sweeps of an island. An island that stops there keeps what it has.
        relaxation: factor of each row's update, between 0 and 2.
        tolerance: change of impulses in a sweep, relative to them, at which an island is solved.
    """

    iterations: int = 50
    relaxation: float = 1.0
    tolerance: float = 1e-6
    compiled: ClassVar[callback | None] = pgs_island

    def __post_init__(self) -> None:
        check_count(self, "iterations")
        _check_number(self, "relaxation", 0.0, 2.0)
        _check_number(self, "tolerance", 0.0, 1.0)

    def parameters(self) -> dict[str, float]:
        return {"chosen_cap": self.iterations, "relaxation": self.relaxation, "change_tolerance": self.tolerance}


def _check_number(owner: object, name: str, least: float, most: float) -> None:
    value = getattr(owner, name)
    number = math.nan if isinstance(value, bool | str) else number_or_nan(value)
    if not least < number < most:
        raise ModelError(
            f"{type(owner).__name__}: {name}: expected a number between {least:g} and {most:g}, got {value!r}"
        )
