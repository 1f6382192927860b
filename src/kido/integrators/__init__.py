"""Integrators of smooth motion, and motions of a skeleton on its own."""

from kido.integrators.dormand_prince import DormandPrince
from kido.integrators.explicit_euler import ExplicitEuler
from kido.integrators.integrator import Integrator
from kido.integrators.midpoint import MoreauMidpoint
from kido.integrators.rk4 import RK4
from kido.integrators.semi_implicit_euler import SemiImplicitEuler
from kido.integrators.simulate import Trajectory, simulate
from kido.integrators.system import System
from kido.integrators.variational import Variational

__all__ = [
    "RK4",
    "DormandPrince",
    "ExplicitEuler",
    "Integrator",
    "MoreauMidpoint",
    "SemiImplicitEuler",
    "System",
    "Trajectory",
    "Variational",
    "simulate",
]
