"""Integrators of smooth motion, and motions of a skeleton on its own."""

from kido.integrators.dense import DenseOutput
from kido.integrators.events import Crossing, Event
from kido.integrators.explicit import RK4, DormandPrince, ExplicitEuler
from kido.integrators.integrator import Integrator
from kido.integrators.semi_implicit import MoreauMidpoint, SemiImplicitEuler
from kido.integrators.simulate import Movable, Trajectory, simulate
from kido.integrators.system import System
from kido.integrators.variational import Variational

__all__ = [
    "RK4",
    "Crossing",
    "DenseOutput",
    "DormandPrince",
    "Event",
    "ExplicitEuler",
    "Integrator",
    "MoreauMidpoint",
    "Movable",
    "SemiImplicitEuler",
    "System",
    "Trajectory",
    "Variational",
    "simulate",
]
