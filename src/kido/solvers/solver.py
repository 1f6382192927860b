"""Which solver a world or a problem uses: one object per solver, with its parameters.

All are measured alike, by the natural map of the exact Coulomb cone, and all have the default solver behind
them for islands on which they fail.
"""

from __future__ import annotations

from typing import Any, ClassVar

from kido.attributes import dataclass
from kido.errors import ModelError
from kido.jit import callback
from kido.solvers.admm import admm_island
from kido.solvers.gauss_seidel import gauss_seidel_island
from kido.solvers.problem import PROBLEM

MAX_COUNT = 10**9


class Solver:
    """What every choice of a solver has; see `DefaultSolver` and its siblings."""

    compiled: ClassVar[callback | None] = None  # for one island; None: the default or a user's
    given: ClassVar[bool] = False  # whether impulses come from Python

    @classmethod
    def callbacks(cls) -> list[callback]:
        """What solves islands in place of the default."""
        return [cls.compiled] if cls.compiled is not None else []

    def sizes(self) -> dict[str, int]:
        """Work space, as arguments of `new_problem`."""
        return {}

    def parameters(self) -> dict[str, float]:
        """Values of fields of PROBLEM."""
        return {}

    def choose(self, problem: PROBLEM, **fields: Any) -> None:
        """Have a problem solved this way, the default behind it.

        Args:
            fields: values of others of its fields.
        """
        values = {"sweeper": gauss_seidel_island, "fallback": admm_island, "chosen": self.compiled, "given": self.given}
        values |= {"chosen_cap": 0, "chosen_max_rows": MAX_COUNT, "friction_directions": 0, "refuses_spin": 0}
        for name, value in (values | self.parameters() | fields).items():
            setattr(problem, name, value)


def check_count(owner: object, name: str, least: int = 1) -> None:
    """Raise ModelError unless an attribute is a whole number from `least` on."""
    value = getattr(owner, name)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MAX_COUNT:
        raise ModelError(f"{type(owner).__name__}: {name}: expected a whole number from {least} on, got {value!r}")


@dataclass(frozen=True)
class DefaultSolver(Solver):
    """Exact-cone Gauss-Seidel with warm start and acceleration, and ADMM where that stagnates, per island."""


@dataclass(frozen=True)
class GaussSeidel(Solver):
    """Exact-cone block Gauss-Seidel alone: islands of any size, linear cost, slow for unequal masses.

    Args:
        sweeps: most sweeps of an island. An island that stops there keeps what it has.
    """

    sweeps: int = 500
    compiled: ClassVar[callback | None] = gauss_seidel_island

    def __post_init__(self) -> None:
        check_count(self, "sweeps")

    def parameters(self) -> dict[str, float]:
        return {"chosen_cap": self.sweeps}


@dataclass(frozen=True)
class ADMM(Solver):
    """ADMM on the exact cone with a dense factorization: for ill-conditioned islands.

    Args:
        iterations: most iterations of an island. An island that stops there keeps what it has.
        max_rows: largest island, in rows (3 per contact); larger ones go to the default solver.
    """

    iterations: int = 2000
    max_rows: int = 300
    compiled: ClassVar[callback | None] = admm_island

    def __post_init__(self) -> None:
        check_count(self, "iterations")
        check_count(self, "max_rows")

    def sizes(self) -> dict[str, int]:
        return {"dense_rows": self.max_rows}

    def parameters(self) -> dict[str, float]:
        return {"chosen_cap": self.iterations, "chosen_max_rows": self.max_rows}
