"""The linear-time variational integrator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from kido.integrators.integrator import CompiledIntegrator, count, positive
from kido.integrators.schema import MOTION
from kido.integrators.variational_step import variational_step


@dataclass(frozen=True)
class Variational(CompiledIntegrator):
    """Symplectic integrator from a discrete Lagrangian, linear in the number of bodies. Second order.

    The discrete action of a step is h times the kinetic energy of every body at the constant velocity and spin
    that take it from one pose to the next (`kido.integrators.discrete`), less potential energy by the trapezoidal
    rule. With p the momentum M u, W the wrenches of weight and external forces, and the discrete momenta
    mu = [L; P] of bodies, a step solves for q1, and then for u1,

        J(q0)^T (mu - (h/2) W0) - (h/2) T0 = M(q0) u0,
        M(q1) u1 = J(q1)^T (mu + (h/2) W1) + (h/2) T1.

    The left side is a discrete inverse dynamics by one sweep out and one back. The root is found by quasi-Newton
    steps, x <- x - h (M + h Kd / 2)^-1 residual, through the articulated-body recursion. As states are
    (q, u), the method is self-starting, and any state may be set between steps.

    Momentum of a system without external forces is kept to the solver's tolerance, energy within bounds for any
    length of time. Dampers act by the step's mean velocity; forces that depend on time or velocity by the
    trapezoidal rule. It needs steps in which no body turns by much more than a radian.

    Args:
        tolerance: residual impulse over momentum, both in the norm sqrt(r . M^-1 r), before the last correction.
        max_iterations: after which a `StateError` is raised.

    Source: Lee, Liu, Park, Srinivasa (2016), A linear-time variational integrator for multibody systems. There
    poses are differenced in SE(3) at body frames; here in SO(3) and at the centre of mass, so that free flight
    is exact.
    """

    tolerance: float = 1e-12
    max_iterations: int = 60
    looks_ahead: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "tolerance", positive(self.tolerance, "Variational: tolerance"))
        object.__setattr__(self, "max_iterations", count(self.max_iterations, "Variational: max_iterations"))

    @property
    def step_function(self) -> Any:
        return variational_step

    def configure(self, motion: MOTION) -> None:
        motion.tolerance = self.tolerance
        motion.max_iterations = self.max_iterations
