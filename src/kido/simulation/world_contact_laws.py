"""How a world's contacts behave: who makes pairs' surfaces, the law of impact, the correction of penetration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kido.errors import ModelError
from kido.simulation.contact_surface import ContactSurfaceHandler
from kido.simulation.settings import checked_option

if TYPE_CHECKING:
    from kido.simulation.engine import Engine


class WorldContactLaws:
    """Contact properties of a world; changes take effect at the next step and leave contacts warm."""

    if TYPE_CHECKING:
        name: str
        _engine: Engine | None
        _settings: dict[str, Any]
        _surface_handler: ContactSurfaceHandler
        _surfaces_stale: bool

    @property
    def contact_surface_handler(self) -> ContactSurfaceHandler:
        """Makes the surface of a pair of shapes of the two shapes' own, by the rules it has or as users say."""
        return self._surface_handler

    @contact_surface_handler.setter
    def contact_surface_handler(self, value: ContactSurfaceHandler) -> None:
        if not isinstance(value, ContactSurfaceHandler):
            raise ModelError(
                f"world {self.name!r}: contact_surface_handler: expected a kido.ContactSurfaceHandler, got {value!r}"
            )
        self._surface_handler = value
        self._surfaces_stale = True

    @property
    def restitution_law(self) -> str:
        """Law of impact: "poisson" or "newton".

        Poisson: what impulse stopped the approach comes back e times, friction acts on all of it. Newton: a contact
        leaves with e times its speed of approach. Both treat contacts that touch as hit at once (simultaneous
        impacts). Without friction a single contact does the same by both; with friction they differ, and Newton's law
        can raise the energy.
        """
        return self._settings["restitution_law"]

    @restitution_law.setter
    def restitution_law(self, value: str) -> None:
        self._set_option("restitution_law", value)

    @property
    def position_correction(self) -> str:
        """How penetration is taken back: "split" or "baumgarte".

        Split impulses move positions by velocities that are then forgotten. Baumgarte's method asks a contact's own
        velocity for `erp` of the depth a step; it stays. `report.correction_energy` says what energy either brought.
        """
        return self._settings["position_correction"]

    @position_correction.setter
    def position_correction(self, value: str) -> None:
        self._set_option("position_correction", value)

    def _set_option(self, name: str, value: str) -> None:
        self._settings[name] = checked_option(name, value, f"world {self.name!r}")
        if self._engine is not None:
            self._engine.set_options()
