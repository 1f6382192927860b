"""Constraint embedding: loops aggregated into compound bodies, the tree algorithms unchanged on them."""

from kido.dynamics.embedding.solver import CombinedSolver, EmbeddingSolver

__all__ = ["CombinedSolver", "EmbeddingSolver"]
