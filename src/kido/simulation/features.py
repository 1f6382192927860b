"""The features that worlds may have, in the order in which their stages follow each other at a place of a step."""

from __future__ import annotations

from typing import Any

from kido.simulation.actuation import Actuation
from kido.simulation.commands import Commands
from kido.simulation.contact_events import ContactEventLog
from kido.simulation.contact_surface import ContactSurfaceHandler
from kido.simulation.feature import Feature
from kido.simulation.flexible_bodies import FlexibleBodies
from kido.simulation.loop_system import LoopSystem
from kido.simulation.motion import Motion
from kido.simulation.sleeping import Sleepers
from kido.simulation.soft_bodies import SoftBodies
from kido.simulation.threads import StepThreads
from kido.solvers import restitute


class Rebound(Feature):
    """Restitution by Poisson's law; Newton's is part of the contact problem."""

    def stages(self) -> dict[str | int, Any]:
        options = self.engine.options
        own = type(options.surface_handler) is not ContactSurfaceHandler
        bounces = own or any(node.restitution > 0.0 for node in self.engine.nodes)
        return {"restitute": restitute} if bounces and options.settings["restitution_law"] != "newton" else {}


FEATURES: list[type[Feature]] = [
    SoftBodies,
    LoopSystem,
    FlexibleBodies,
    Motion,
    Rebound,
    Actuation,
    StepThreads,
    ContactEventLog,
    Sleepers,
    Commands,  # after sleepers: where all sleep, a step is over before commands are looked at
]
