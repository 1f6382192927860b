"""How a world steps: what its properties set, and its engine reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.collision import CollisionDetector, KidoCollisionDetector
from kido.dynamics.registry import AUTO
from kido.integrators import Integrator, MoreauMidpoint
from kido.simulation.contact_surface import ContactSurfaceHandler
from kido.simulation.sleep_rule import Sleeping
from kido.solvers import DefaultSolver, Solver


@dataclass
class StepOptions:
    """See the properties of `World` of these names."""

    gravity: NDArray[np.float64]
    time_step: float
    settings: dict[str, Any]
    integrator: Integrator = field(default_factory=MoreauMidpoint)
    solver: Solver = field(default_factory=DefaultSolver)
    surface_handler: ContactSurfaceHandler = field(default_factory=ContactSurfaceHandler)
    detector: CollisionDetector = field(default_factory=KidoCollisionDetector)
    continuous: bool = False
    loop_solver: str = AUTO
    sleeping: Sleeping | None = None
    threads: int = 1
    collects_events: bool = False
