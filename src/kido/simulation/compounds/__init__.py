"""Skeletons of a world whose loops are compounds of their trees: constraint embedding in its steps."""

from kido.simulation.compounds.container import CompoundLoops

__all__ = ["CompoundLoops"]
