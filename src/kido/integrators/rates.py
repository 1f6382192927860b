"""Accelerations at a state, and displacements on the manifold of positions.

Free joints are `FREE_MIXED` here: their linear velocity is in fixed axes, as in a world's step, so that a
force-free body keeps its velocity numbers; but for those with prescribed coordinates, which mean body axes.
`to_parent_axes` and `to_body_axes` convert at the edges of a step.
"""

from __future__ import annotations

import math

from kido.integrators.schema import FAILED
from kido.jit import kernel
from kido.joints.kinds import BALL, FREE, FREE_MIXED
from kido.kernels.forward_dynamics import acceleration_scatter, articulated_inertias, bias_gather
from kido.kernels.inertia import body_inertia
from kido.kernels.integration import advance, to_parent_axes
from kido.kernels.kinematics import transforms, velocities
from kido.kernels.springs import add_spring_forces
from kido.math.so3 import cross
from kido.math.trig import sincos


@kernel
def displace(t, d, q0, x):
    """Positions of the data: q0 moved by x on the manifold. Overwrites the velocities."""
    for k in range(q0.shape[0]):
        d.q[k] = q0[k]
        d.u[k] = x[k]
    for tree_index in range(t.tree_mobile.shape[0]):
        if t.tree_mobile[tree_index] != 0:
            advance(t, d, t.tree_body[tree_index], t.tree_body[tree_index + 1], 1.0)


@kernel
def bernoulli_coefficient(n2):
    """(1 - (n/2) cot(n/2)) / n^2 for n2 = n^2."""
    if n2 < 0.04:
        c = 1.0 / 1209600.0 + n2 * (1.0 / 47900160.0)
        return 1.0 / 12.0 + n2 * (1.0 / 720.0 + n2 * (1.0 / 30240.0 + n2 * c))
    half = 0.5 * math.sqrt(n2)
    s, c = sincos(half)
    return (1.0 - half * c / s) / n2


@kernel
def rotation_rate(d, x, rate, row, k):
    """xdot = J_r(x)^-1 w = w + (x cross w)/2 + b x cross (x cross w), as exp(q) = exp(q0) exp(x)."""
    x0, x1, x2 = x[k], x[k + 1], x[k + 2]
    w0, w1, w2 = d.u[k], d.u[k + 1], d.u[k + 2]
    b = bernoulli_coefficient(x0 * x0 + x1 * x1 + x2 * x2)
    a0, a1, a2 = cross(x0, x1, x2, w0, w1, w2)
    b0, b1, b2 = cross(x0, x1, x2, a0, a1, a2)
    rate[row, k] = w0 + 0.5 * a0 + b * b0
    rate[row, k + 1] = w1 + 0.5 * a1 + b * b1
    rate[row, k + 2] = w2 + 0.5 * a2 + b * b2


@kernel
def bracket(x, k, a0, a1, a2, b0, b1, b2):
    """ad_x [a; b] of twists [angular; linear]: [w cross a; w cross b + v cross a] with x = [w; v]."""
    w0, w1, w2, v0, v1, v2 = x[k], x[k + 1], x[k + 2], x[k + 3], x[k + 4], x[k + 5]
    c0, c1, c2 = cross(w0, w1, w2, a0, a1, a2)
    d0, d1, d2 = cross(w0, w1, w2, b0, b1, b2)
    e0, e1, e2 = cross(v0, v1, v2, a0, a1, a2)
    return c0, c1, c2, d0 + e0, d1 + e1, d2 + e2


@kernel
def twist_rate(d, x, rate, row, k):
    """xdot = V + ad_x V / 2 + ad_x^2 V / 12 - ad_x^4 V / 720 + ad_x^6 V / 30240, as X = X0 exp(x).

    The next term is of eighth order in x, beyond that of any method here.
    """
    a0, a1, a2, b0, b1, b2 = d.u[k], d.u[k + 1], d.u[k + 2], d.u[k + 3], d.u[k + 4], d.u[k + 5]
    s0, s1, s2, s3, s4, s5 = a0, a1, a2, b0, b1, b2
    for power in range(1, 7):
        a0, a1, a2, b0, b1, b2 = bracket(x, k, a0, a1, a2, b0, b1, b2)
        c = 0.0
        if power == 1:
            c = 0.5
        elif power == 2:
            c = 1.0 / 12.0
        elif power == 4:
            c = -1.0 / 720.0
        elif power == 6:
            c = 1.0 / 30240.0
        s0 += c * a0
        s1 += c * a1
        s2 += c * a2
        s3 += c * b0
        s4 += c * b1
        s5 += c * b2
    rate[row, k], rate[row, k + 1], rate[row, k + 2] = s0, s1, s2
    rate[row, k + 3], rate[row, k + 4], rate[row, k + 5] = s3, s4, s5


@kernel
def displacement_rate(t, d, x, rate, row):
    """Rate of the displacement x, into a row, for the velocities of the data."""
    for k in range(x.shape[0]):
        rate[row, k] = d.u[k]
    for i in range(t.parent.shape[0]):
        if t.kind[i] == BALL or t.kind[i] == FREE_MIXED:
            rotation_rate(d, x, rate, row, t.first_dof[i])
        elif t.kind[i] == FREE:
            twist_rate(d, x, rate, row, t.first_dof[i])


@kernel
def given_accelerations(t, d, m):
    """udot of prescribed coordinates."""
    for k in range(m.given.shape[0]):
        if t.prescribed[k] != 0:
            d.udot[k] = m.given[k]


@kernel
def commands(t, d, m):
    """tau: joint forces as given, free joints in fixed axes."""
    for k in range(m.command.shape[0]):
        d.tau[k] = m.command[k]
    to_parent_axes(t, d, 0, t.parent.shape[0], d.tau)


@kernel
def loads(t, d, m):
    """tau: joint forces as given, springs and dampers; udot of the prescribed coordinates."""
    commands(t, d, m)
    add_spring_forces(t, d, 0, t.parent.shape[0], d.tau)
    for k in range(d.tau.shape[0]):
        d.tau[k] -= t.damping[k] * d.u[k]
    given_accelerations(t, d, m)


@kernel
def articulate(t, d, h):
    """Transforms and inertias of all trees that move, articulated with joints implicit over a time h.

    Returns:
        0, or a status below FAILED.
    """
    result = 0
    for tree_index in range(t.tree_mobile.shape[0]):
        first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
        transforms(t, d, first, last)
        if t.tree_mobile[tree_index] != 0:
            for i in range(first, last):
                body_inertia(t, d, i)
            status = int(articulated_inertias(t, d, first, last, h))
            if status >= 0 and result == 0:
                result = FAILED - 1 - status
    return result


@kernel
def accelerate(t, d, m):
    """udot of the free coordinates from tau and the velocities; needs `articulate`."""
    m.evaluations += 1
    for tree_index in range(t.tree_mobile.shape[0]):
        if t.tree_mobile[tree_index] != 0:
            first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
            velocities(t, d, first, last)
            bias_gather(t, d, first, last)
            acceleration_scatter(t, d, first, last)


@kernel
def articulate_system(t, d, m, h):
    """`articulate`, or what the system has in its place. Returns 0 or a status."""
    if m.articulate.address == 0:
        return articulate(t, d, h)
    m.implicit = h
    return m.articulate(m.owner, m)


@kernel
def accelerate_system(t, d, m):
    """`accelerate`, or what the system has in its place; needs `articulate_system`."""
    if m.give_way.address == 0:
        accelerate(t, d, m)
    else:
        m.evaluations += 1
        m.give_way(m.owner, m)


@kernel
def evaluate_system(t, d, m):
    """udot at the state of the data, by what the system has for it if it is none of a tree. Returns 0 or a status."""
    if m.accelerate.address == 0:
        loads(t, d, m)
        status = articulate(t, d, 0.0)
        accelerate(t, d, m)
        return status
    m.evaluations += 1
    return m.accelerate(m.owner, m)
