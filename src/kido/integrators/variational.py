"""The linear-time variational integrator, and its step."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from kido.attributes import dataclass
from kido.integrators.discrete import about_origin, held_momentum, respond, step_momentum, weight_and_external
from kido.integrators.integrator import CompiledIntegrator, count, positive
from kido.integrators.rates import articulate, commands, displace, given_accelerations
from kido.integrators.schema import MOTION, NOT_SOLVED
from kido.jit import callback, inlined, kernel, view
from kido.kernels.forward_dynamics import acceleration_scatter, bias_gather
from kido.kernels.inertia import body_inertia
from kido.kernels.kinematics import transforms, velocities
from kido.kernels.springs import add_spring_forces

MOMENTUM_ROUNDING = 1e-9  # of the momentum: residuals that no longer shrink are not the solver's fault below this


@kernel
def first_guess(t, d, m, h):
    """x = h u + h^2 udot / 2, with the accelerations at the start of the step without dampers, or the given ones."""
    for tree_index in range(t.tree_mobile.shape[0]):
        if t.tree_mobile[tree_index] != 0:
            bias_gather(t, d, t.tree_body[tree_index], t.tree_body[tree_index + 1])
            acceleration_scatter(t, d, t.tree_body[tree_index], t.tree_body[tree_index + 1])
    for k in range(m.x.shape[0]):
        m.x[k] = h * (d.u[k] + 0.5 * h * d.udot[k])


@inlined
def impulse_size(t, d, i, n0, n1, n2, f0, f1, f2):
    """About twice the kinetic energy that an impulse would give to body i alone."""
    m, J = t.mass[i], d.J[i, 0] + d.J[i, 3] + d.J[i, 5]
    size = (f0 * f0 + f1 * f1 + f2 * f2) / m if m > 0.0 else 0.0
    return size + ((n0 * n0 + n1 * n1 + n2 * n2) / J if J > 0.0 else 0.0)


@kernel
def start_impulses(t, d, m, h):
    """W = M V + (h/2) (weight + external forces) of each body at the start.

    Returns:
        Twice the kinetic energy of the motion, plus that of what each force would bring about by itself: the
        square of what residuals are measured by.
    """
    size = 0.0
    s = 0.5 * h
    for tree_index in range(t.tree_mobile.shape[0]):
        if t.tree_mobile[tree_index] != 0:
            first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
            velocities(t, d, first, last)
            for i in range(first, last):
                h0, h1, h2, h3, h4, h5 = held_momentum(t, d, i)
                V, W = d.V, m.W
                size += h0 * V[i, 0] + h1 * V[i, 1] + h2 * V[i, 2] + h3 * V[i, 3] + h4 * V[i, 4] + h5 * V[i, 5]
                x0, x1, x2, x3, x4, x5 = weight_and_external(t, d, i)
                size += s * s * impulse_size(t, d, i, x0, x1, x2, x3, x4, x5)
                W[i, 0], W[i, 1], W[i, 2] = h0 + s * x0, h1 + s * x1, h2 + s * x2
                W[i, 3], W[i, 4], W[i, 5] = h3 + s * x3, h4 + s * x4, h5 + s * x5
            for k in range(t.first_dof[first], t.first_dof[last]):
                size += s * s * d.tau[k] * d.tau[k] * d.Dinv[k] + t.armature[k] * d.u[k] * d.u[k]
    return size


@kernel
def joint_impulses(t, d, m, h):
    """u1 = (h/2) tau - Kd x / 2: impulses of joint forces over half a step, dampers by the mean velocity."""
    for k in range(m.x.shape[0]):
        m.u1[k] = 0.5 * (h * d.tau[k] - t.damping[k] * m.x[k])


@kernel
def next_poses(t, e, m):
    """Poses, motion columns and inertias at q0 moved by x."""
    displace(t, e, m.q0, m.x)
    for tree_index in range(t.tree_mobile.shape[0]):
        first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
        transforms(t, e, first, last)
        for i in range(first, last):
            body_inertia(t, e, i)


@kernel
def correct(t, d, e, m, h):
    """One quasi-Newton step on the discrete Euler-Lagrange equation at the start of the step.

    Returns:
        r . M^-1 r of the residual impulse r before the correction.
    """
    next_poses(t, e, m)
    joint_impulses(t, d, m, h)
    for k in range(m.x.shape[0]):
        m.u1[k] += t.armature[k] * (m.u0[k] - m.x[k] / h)
    size = 0.0
    for tree_index in range(t.tree_mobile.shape[0]):
        if t.tree_mobile[tree_index] != 0:
            first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
            for i in range(first, last):
                l0, l1, l2, p0, p1, p2 = step_momentum(t, d, e, i, h)
                mc = d.mc[i, 0], d.mc[i, 1], d.mc[i, 2]
                n0, n1, n2, f0, f1, f2 = about_origin(mc, t.mass[i], l0, l1, l2, p0, p1, p2)
                z, W = d.z, m.W
                z[i, 0], z[i, 1], z[i, 2] = n0 - W[i, 0], n1 - W[i, 1], n2 - W[i, 2]
                z[i, 3], z[i, 4], z[i, 5] = f0 - W[i, 3], f1 - W[i, 4], f2 - W[i, 5]
            size += respond(t, d, first, last, m.u1, m.y)
            for k in range(t.first_dof[first], t.first_dof[last]):
                m.x[k] += h * m.y[k]
    return size


@kernel
def solve(t, d, e, m, h):
    """x that solves the discrete Euler-Lagrange equation. Returns 0, or why not."""
    commands(t, d, m)
    add_spring_forces(t, d, 0, t.parent.shape[0], d.tau)
    given_accelerations(t, d, m)
    # The elimination adds Kd times the time it is given; the equation's own derivative has h Kd / 2.
    status = articulate(t, d, 0.5 * h)
    if status < 0:
        return status
    scale = math.sqrt(start_impulses(t, d, m, h))
    first_guess(t, d, m, h)
    before = math.inf
    for number in range(m.max_iterations):
        size = math.sqrt(max(correct(t, d, e, m, h), 0.0))
        m.iterations += 1
        m.worst_iterations = max(m.worst_iterations, number + 1)
        # Once rounding rules, the residual stops to shrink.
        if size <= m.tolerance * scale or (size >= 0.5 * before and size <= MOMENTUM_ROUNDING * scale):
            next_poses(t, e, m)
            return 0
        before = size
    return NOT_SOLVED


@kernel
def end_velocities(t, d, e, m, h):
    """u of the data e, by M u = momentum at the end of the step. Returns 0, or why not."""
    commands(t, e, m)
    add_spring_forces(t, e, 0, t.parent.shape[0], e.tau)
    joint_impulses(t, e, m, h)
    status = articulate(t, e, 0.0)
    if status < 0:
        return status
    for k in range(m.x.shape[0]):
        e.u[k] = m.u0[k] + h * d.udot[k] if t.prescribed[k] != 0 else m.x[k] / h
    s = 0.5 * h
    for tree_index in range(t.tree_mobile.shape[0]):
        if t.tree_mobile[tree_index] != 0:
            first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
            velocities(t, e, first, last)
            for i in range(first, last):
                l0, l1, l2, p0, p1, p2 = step_momentum(t, d, e, i, h)
                mc = e.mc[i, 0], e.mc[i, 1], e.mc[i, 2]
                n0, n1, n2, f0, f1, f2 = about_origin(mc, t.mass[i], l0, l1, l2, p0, p1, p2)
                h0, h1, h2, h3, h4, h5 = held_momentum(t, e, i)
                x0, x1, x2, x3, x4, x5 = weight_and_external(t, e, i)
                z = e.z
                z[i, 0], z[i, 1], z[i, 2] = h0 - n0 - s * x0, h1 - n1 - s * x1, h2 - n2 - s * x2
                z[i, 3], z[i, 4], z[i, 5] = h3 - f0 - s * x3, h4 - f1 - s * x4, h5 - f2 - s * x5
            respond(t, e, first, last, m.u1, m.y)
            for k in range(t.first_dof[first], t.first_dof[last]):
                e.u[k] += m.y[k]
    return 0


@callback
def variational_step(address, stage, unused_1, unused_2):
    """A step; joint forces are wanted at its start, and at its end with an estimate of the velocities there."""
    m = view(MOTION, address)
    t = m.tree
    d = m.data
    e = m.end_data
    h = m.size
    m.now = m.start + (h if stage == 1 else 0.0)
    if stage == 0:
        return 1
    m.evaluations += 1
    if stage == 1:
        status = solve(t, d, e, m, h)
        if status < 0:
            return status
        for k in range(m.x.shape[0]):
            d.q[k] = e.q[k]
            d.u[k] = 2.0 / h * m.x[k] - m.u0[k]
        return 2
    m.now = m.start + h
    status = end_velocities(t, d, e, m, h)
    for k in range(m.x.shape[0]):
        d.q[k] = e.q[k]
        d.u[k] = e.u[k]
    return status


@dataclass(frozen=True)
class Variational(CompiledIntegrator):
    """Symplectic integrator from a discrete Lagrangian, linear in the number of bodies. Second order.

    The discrete action of a step is h times the kinetic energy of every body at the constant velocity and spin
    that take it from one pose to the next (`kido.integrators.discrete`), less potential energy by the trapezoidal
    rule. With p the momentum M u, W the wrenches of weight and external forces, and the discrete momenta
    mu = [L; P] of bodies, a step solves for q1, and then for u1,

        J(q0)^T (mu - (h/2) W0) - (h/2) T0 = M(q0) u0,
        M(q1) u1 = J(q1)^T (mu + (h/2) W1) + (h/2) T1,

    where rotors have the momentum J_a x / h on their coordinates, x being what these move by.
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
