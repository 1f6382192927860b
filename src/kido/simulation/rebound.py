"""The second phase of impacts, where contacts may bounce."""

from __future__ import annotations

from typing import Any

from kido.simulation.contact_surface import ContactSurfaceHandler
from kido.simulation.feature import Feature
from kido.solvers import restitute


class Rebound(Feature):
    """Restitution by Poisson's law; Newton's is part of the contact problem."""

    def stages(self) -> dict[str | int, Any]:
        options = self.engine.options
        own = type(options.surface_handler) is not ContactSurfaceHandler
        bounces = own or any(node.restitution > 0.0 for node in self.engine.nodes)
        return {"restitute": restitute} if bounces and options.settings["restitution_law"] != "newton" else {}
