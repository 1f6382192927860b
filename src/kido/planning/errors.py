"""What goes wrong in planning."""

from __future__ import annotations

from typing import Any

from kido.errors import KidoError


class PlanningError(KidoError):
    """No motion can be planned, or none was found."""


class StartError(PlanningError):
    """The start is outside of limits or touches something; `contact` tells what, if so."""

    def __init__(self, message: str, contact: Any = None):
        super().__init__(message)
        self.contact = contact


class GoalError(StartError):
    """Each goal is outside of limits or touches something; `contact` tells what of the first one, if so."""


class NoPathError(PlanningError):
    """No path was found in the time, iterations or nodes allowed."""
