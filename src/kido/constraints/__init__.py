"""Constraints as rows of the contact problem: contacts, joint limits, Coulomb joint friction, actuators."""

from kido.constraints.assemble import ASSEMBLED, PROBLEM_FULL, assemble
from kido.constraints.sources import SOURCES

__all__ = ["ASSEMBLED", "PROBLEM_FULL", "SOURCES", "assemble"]
