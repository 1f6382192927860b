"""Methods with implicit damping and springs: semi-implicit Euler, and Moreau's midpoint rule, the world's own."""

from __future__ import annotations

from typing import Any

from kido.attributes import dataclass
from kido.integrators.integrator import CompiledIntegrator
from kido.integrators.rates import accelerate_system, articulate_system, displace, loads
from kido.integrators.schema import MOTION
from kido.jit import callback, view
from kido.kernels.integration import advance


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
    loads(t, d, m)
    status = articulate_system(t, d, m, h)
    accelerate_system(t, d, m)
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


@callback
def midpoint_step(address, stage, unused_1, unused_2):
    """A step of `MoreauMidpoint`. Joint forces are wanted at mid-step, twice: for a velocity that is predicted."""
    m = view(MOTION, address)
    t = m.tree
    d = m.data
    h = m.size
    m.now = m.start + 0.5 * h
    n = m.x.shape[0]
    if stage == 0:
        for k in range(n):
            m.x[k] = 0.5 * h * m.u0[k]
        displace(t, d, m.q0, m.x)
        for k in range(n):
            d.u[k] = m.u0[k]
        return 1
    if stage == 1:
        loads(t, d, m)
        status = articulate_system(t, d, m, h)
        if status < 0:
            return status
        accelerate_system(t, d, m)
        for k in range(n):
            d.u[k] = m.u0[k] + 0.5 * h * d.udot[k]
        return 2
    # The implicit elimination takes the damping of the predicted velocity into account already.
    for k in range(n):
        m.x[k] = d.u[k]
        d.u[k] = m.u0[k]
    loads(t, d, m)
    for k in range(n):
        d.u[k] = m.x[k]
    accelerate_system(t, d, m)
    for k in range(n):
        d.u[k] = m.u0[k] + h * d.udot[k]
    for tree_index in range(t.tree_mobile.shape[0]):
        if t.tree_mobile[tree_index] != 0:
            advance(t, d, t.tree_body[tree_index], t.tree_body[tree_index + 1], 0.5 * h)
    return 0


@dataclass(frozen=True)
class MoreauMidpoint(CompiledIntegrator):
    """The smooth part of a world's step (`kido.simulation.predict`), for motions without contact. Second order.

    q_M = q0 moved by (h/2) u0;  a1 = FD(q_M, u0);  a2 = FD(q_M, u0 + (h/2) a1);  u1 = u0 + h a2;
    q1 = q_M moved by (h/2) u1. Joint damping is implicit at the end of the step, which is of first order in it,
    springs at its middle.
    """

    @property
    def step_function(self) -> Any:
        return midpoint_step
