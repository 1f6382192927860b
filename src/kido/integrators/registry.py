"""Integrators as plain data, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kido.errors import ModelError
from kido.integrators.explicit import RK4, DormandPrince, ExplicitEuler
from kido.integrators.integrator import Array, Integrator
from kido.integrators.semi_implicit import MoreauMidpoint, SemiImplicitEuler
from kido.integrators.system import System
from kido.integrators.variational import Variational

BUILT_IN: dict[str, Any] = {
    kind.__name__: kind for kind in (MoreauMidpoint, SemiImplicitEuler, ExplicitEuler, RK4, DormandPrince, Variational)
}


@dataclass(frozen=True)
class Unavailable(Integrator):
    """Stands for a user's integrator that is known by name only."""

    original: str

    @property
    def name(self) -> str:
        return self.original

    def step(
        self, system: System, time: float, positions: Array, velocities: Array, time_step: float
    ) -> tuple[Array, Array]:
        """Raises ModelError."""
        raise ModelError(
            f"integrator {self.original!r} is not part of kido; set `world.integrator` to one of that class, or to "
            f"one of {', '.join(BUILT_IN)}"
        )


def integrator_to_dict(integrator: Integrator) -> dict[str, Any]:
    """Name and, of kido's own, parameters."""
    own = type(integrator) is BUILT_IN.get(integrator.name)
    return {"name": integrator.name, "parameters": integrator.parameters() if own else {}, "own": own}


def integrator_from_dict(data: dict[str, Any]) -> Integrator:
    """An integrator equal to the one that `integrator_to_dict` was given; `Unavailable` for a user's.

    Raises:
        ModelError: parameters that it does not have.
    """
    if not data["own"] or data["name"] not in BUILT_IN:
        return Unavailable(str(data["name"]))
    return BUILT_IN[data["name"]](**data["parameters"])
