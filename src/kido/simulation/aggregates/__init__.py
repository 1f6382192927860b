"""Skeletons of a world whose loops are aggregates of their trees: constraint embedding in its steps."""

from kido.simulation.aggregates.container import AggregateLoops

__all__ = ["AggregateLoops"]
