"""Constraint embedding: loops aggregated into aggregate bodies, the tree algorithms unchanged on them."""

from kido.dynamics.embedding.solver import CombinedSolver, EmbeddingSolver

__all__ = ["CombinedSolver", "EmbeddingSolver"]
