"""Solvers as plain data, and back."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from kido.errors import ModelError
from kido.solvers.custom import CustomSolver, IslandProblem
from kido.solvers.solver import ADMM, PGS, Dantzig, DefaultSolver, GaussSeidel, Lemke, Solver

BUILT_IN: dict[str, Any] = {kind.__name__: kind for kind in (DefaultSolver, GaussSeidel, ADMM, Dantzig, Lemke, PGS)}


@dataclass(frozen=True)
class Unavailable:
    """Stands for a user's function that is known by name only."""

    original: str

    def __call__(self, problem: IslandProblem) -> Any:
        """Raises ModelError."""
        raise ModelError(
            f"solver {self.original!r} is not part of kido; set `world.solver` to that function, or to one of "
            f"{', '.join(BUILT_IN)}"
        )


def solver_to_dict(solver: Solver) -> dict[str, Any]:
    """Name and, of kido's own, parameters."""
    name = type(solver).__name__
    if type(solver) is BUILT_IN.get(name):
        return {"name": name, "parameters": asdict(solver), "own": True}  # type: ignore[call-overload]
    function = solver.function if isinstance(solver, CustomSolver) else solver
    return {"name": str(getattr(function, "__name__", type(function).__name__)), "parameters": {}, "own": False}


def solver_from_dict(data: dict[str, Any]) -> Solver:
    """A solver equal to the one that `solver_to_dict` was given; one that only says so for a user's.

    Raises:
        ModelError: parameters that it does not have.
    """
    if not data["own"] or data["name"] not in BUILT_IN:
        return CustomSolver(Unavailable(str(data["name"])))
    return BUILT_IN[data["name"]](**data["parameters"])
