"""Smooth dynamics of closed chains: one interface, and the solvers behind it."""

from kido.dynamics.assembly import Assembly, AssemblyError
from kido.dynamics.constrained import ConstrainedDynamics
from kido.dynamics.embedding.transformed import AggregateBody, ConstraintEmbedding
from kido.dynamics.solver import DynamicsReport, DynamicsSolver
from kido.dynamics.stabilization import GGL, Baumgarte, Projection, Stabilization
from kido.dynamics.system import ConstrainedSystem

__all__ = [
    "GGL",
    "AggregateBody",
    "Assembly",
    "AssemblyError",
    "Baumgarte",
    "ConstrainedDynamics",
    "ConstrainedSystem",
    "ConstraintEmbedding",
    "DynamicsReport",
    "DynamicsSolver",
    "Projection",
    "Stabilization",
]
