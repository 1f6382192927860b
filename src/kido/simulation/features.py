"""The features that worlds may have, in the order in which their stages follow each other at a place of a step."""

from __future__ import annotations

from kido.simulation.actuation import Actuation
from kido.simulation.contact_events import ContactEventLog
from kido.simulation.feature import Feature
from kido.simulation.loop_system import LoopSystem
from kido.simulation.motion import Motion
from kido.simulation.rebound import Rebound
from kido.simulation.sleeping import Sleepers
from kido.simulation.soft_bodies import SoftBodies
from kido.simulation.threads import StepThreads

FEATURES: list[type[Feature]] = [
    SoftBodies,
    LoopSystem,
    Motion,
    Rebound,
    Actuation,
    StepThreads,
    ContactEventLog,
    Sleepers,
]
