"""Worlds: skeletons stepped together, in contact."""

from kido.simulation.contacts import Contact, ContactSet
from kido.simulation.report import StepReport
from kido.simulation.world import World

__all__ = ["Contact", "ContactSet", "StepReport", "World"]
