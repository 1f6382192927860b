"""Explicit Runge-Kutta methods on the manifold of positions, in the form of Munthe-Kaas.

Within a step q = q0 moved by x, and x, u follow an ordinary equation in a vector space:

    xdot = J_r(x)^-1 u  (rotations; else xdot = u),    udot = FD(q, u, t)

so that any Runge-Kutta method keeps its order, whatever the joints, and its interpolant serves too.
Source: Munthe-Kaas (1998), High order Runge-Kutta methods on manifolds.

A system with callbacks (`kido.integrators.schema`) may alter the state of a stage, and that of the end of the step.
"""

from __future__ import annotations

import math

from kido.integrators.rates import displace, displacement_rate, evaluate_system
from kido.integrators.schema import (
    MOTION,
)
from kido.jit import callback, kernel, view
from kido.joints.kinds import BALL, FREE, FREE_MIXED


@kernel
def stage_state(t, d, m, s, h):
    """State of stage s: x = h sum_j A_sj K_j, u = u0 + h sum_j A_sj L_j."""
    for k in range(m.x.shape[0]):
        total = 0.0
        for j in range(s):
            total += m.A[s, j] * m.K[j, k]
        m.x[k] = h * total
    displace(t, d, m.q0, m.x)
    for k in range(m.x.shape[0]):
        total = 0.0
        for j in range(s):
            total += m.A[s, j] * m.L[j, k]
        d.u[k] = m.u0[k] + h * total


@kernel
def stage_rates(t, d, m, s):
    """K_s and L_s at the state of stage s. Returns the status of `evaluate_system`."""
    status = 0
    if s > 0 or m.reuses == 0:
        status = evaluate_system(t, d, m)
        for k in range(m.x.shape[0]):
            m.L[s, k] = d.udot[k]
    displacement_rate(t, d, m.x, m.K, s)
    return status


@kernel
def combine(t, d, m, h):
    """State at the end of the step."""
    stages = m.num_stages
    for k in range(m.x.shape[0]):
        total = 0.0
        for j in range(stages):
            total += m.b[j] * m.K[j, k]
        m.x[k] = h * total
    displace(t, d, m.q0, m.x)
    for k in range(m.x.shape[0]):
        total = 0.0
        for j in range(stages):
            total += m.b[j] * m.L[j, k]
        d.u[k] = m.u0[k] + h * total


@kernel
def is_rotation(t, k):
    """Whether coordinate k is one of a rotation vector, whose size says nothing about that of its errors."""
    i = t.body_of_dof[k]
    free = t.kind[i] == FREE_MIXED or t.kind[i] == FREE
    return t.kind[i] == BALL or (free and k < t.first_dof[i] + 3)


@kernel
def error_norm(t, d, m, h):
    """Root mean square of the embedded method's errors over atol + rtol |value|; 1 is just tolerated."""
    total, n = 0.0, 0
    for k in range(m.x.shape[0]):
        if m.counted[k] == 0:
            continue
        n += 1
        ex, eu = 0.0, 0.0
        for j in range(m.num_stages):
            ex += m.db[j] * m.K[j, k]
            eu += m.db[j] * m.L[j, k]
        size = 1.0 if is_rotation(t, k) else max(math.fabs(m.q0[k]), math.fabs(d.q[k]))
        ex *= h / (m.atol + m.rtol * size)
        size = max(math.fabs(m.u0[k]), math.fabs(d.u[k]))
        eu *= h / (m.atol + m.rtol * size)
        total += ex * ex + eu * eu
    return math.sqrt(total / max(2 * n, 1))


@callback
def explicit_step(address, stage, unused_1, unused_2):
    """A step of the method in A, b, c."""
    m = view(MOTION, address)
    t = m.tree
    d = m.data
    h = m.size
    if stage > 0:
        status = stage_rates(t, d, m, stage - 1)
        if status < 0:
            return status
    if stage < m.num_stages:
        if stage == 0:
            for k in range(m.x.shape[0]):
                m.x[k] = 0.0
        m.now = m.start + m.c[stage] * h
        if stage > 0:
            stage_state(t, d, m, stage, h)
            status = m.project(m.owner, m)
            if status < 0:
                return status
        return stage + 1
    m.now = m.start + h
    combine(t, d, m, h)
    status = m.close(m.owner, m)
    if status < 0:
        return status
    if m.adaptive != 0:
        m.error = error_norm(t, d, m, h)
    return 0
