"""Worlds: skeletons stepped together, in contact."""

from kido.simulation.collision_filter import CollisionFilter
from kido.simulation.constraint_set import ConstraintReport
from kido.simulation.contact_events import ContactEvent, ContactEventKind
from kido.simulation.contact_surface import ContactSurface, ContactSurfaceHandler
from kido.simulation.contacts import Contact, ContactSet
from kido.simulation.gradients.result import RolloutGradient, StepDerivatives
from kido.simulation.options import Sleeping
from kido.simulation.report import StepReport
from kido.simulation.world import World
from kido.simulation.world_snapshot import WorldSnapshot

__all__ = [
    "CollisionFilter",
    "ConstraintReport",
    "Contact",
    "ContactEvent",
    "ContactEventKind",
    "ContactSet",
    "ContactSurface",
    "ContactSurfaceHandler",
    "RolloutGradient",
    "Sleeping",
    "StepDerivatives",
    "StepReport",
    "World",
    "WorldSnapshot",
]
