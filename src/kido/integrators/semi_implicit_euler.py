"""Semi-implicit Euler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kido.integrators.integrator import CompiledIntegrator
from kido.integrators.rates import displace, evaluate
from kido.integrators.schema import MOTION
from kido.jit import callback, view


@callback
def semi_implicit_step(address, stage, unused_1, unused_2):
    """A step of `SemiImplicitEuler`."""
    m = view(MOTION, address)
    t = m.tree
    d = m.data
    h = m.size
    m.now = m.start
    if stage == 0:
        return 1
    status = evaluate(t, d, m, h)
    for k in range(m.x.shape[0]):
        m.u1[k] = m.u0[k] + h * d.udot[k]
        m.x[k] = h * m.u1[k]
    displace(t, d, m.q0, m.x)
    for k in range(m.x.shape[0]):
        d.u[k] = m.u1[k]
    return status


@dataclass(frozen=True)
class SemiImplicitEuler(CompiledIntegrator):
    """u1 = u0 + h FD(q0, u0), q1 = q0 moved by h u1. First order, bounded energy; DART's and most games' method.

    Joint damping and springs are implicit: FD solves (M + h Kd + h^2 Ks / 4) udot = T - Ks (q0 - rest) - Kd u0 - C,
    which is stable for springs and dampers of any size. Free joints are stepped with their linear velocity in
    fixed axes.
    """

    @property
    def step_function(self) -> Any:
        return semi_implicit_step
