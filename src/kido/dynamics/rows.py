"""Rows at a state: values, rates, right-hand sides, scales; what they put on bodies and coordinates; free axes' forces.

Scales, what bodies yield to a force or moment of any direction, are the numbers that
`kido.constraints.loop_factor` has from each row's way to the root, but of all bodies in one sweep: Y(k), the
compliance of each link (`kido.kernels.operational_space`), has them by the trace of its angular block, and of the
linear block about the row's point.
"""

from __future__ import annotations

import math

from kido.constraints.loop_factor import coordinates_yield, measure_all
from kido.constraints.loop_rates import rate_changes, row_rate
from kido.constraints.loop_rows import add_body_jacobian, add_coupler_jacobian, is_moved, measure
from kido.constraints.loop_schema import COUPLE, DRIVEN, LENGTH, SCREW_TRAVEL, SHIFT, SPRING
from kido.dynamics.schema import DYNAMICS
from kido.integrators.rates import commands, given_accelerations, loads
from kido.jit import entry, kernel, view
from kido.kernels.articulated import link_velocities
from kido.kernels.bias import bias_acceleration
from kido.kernels.inertia import body_inertia
from kido.kernels.inverse_dynamics import accelerations, column_dot, joint_forces
from kido.kernels.kinematics import body_velocity, transforms
from kido.kernels.operational_space import (
    compliance_before,
    read_compliance,
    release,
    shift_compliance,
    write_compliance,
)
from kido.kernels.springs import add_spring_forces
from kido.math.so3 import cross


@kernel
def add_row_wrench(t, d, lp, r, factor, wrench):
    """Add factor times the unit force of row r between bodies to the links' wrenches."""
    c = lp.of[r]
    f0, f1, f2 = factor * lp.force[r, 0], factor * lp.force[r, 1], factor * lp.force[r, 2]
    for side in range(2):
        body = lp.body_b[c] if side == 0 else lp.body_a[c]
        if is_moved(t, body):
            x, y, z = lp.point[r, 0] - d.p[body, 0], lp.point[r, 1] - d.p[body, 1], lp.point[r, 2] - d.p[body, 2]
            m0, m1, m2 = cross(x, y, z, f0, f1, f2)
            sign = 1.0 - 2.0 * side
            wrench[body, 0] += sign * (m0 + factor * lp.moment[r, 0])
            wrench[body, 1] += sign * (m1 + factor * lp.moment[r, 1])
            wrench[body, 2] += sign * (m2 + factor * lp.moment[r, 2])
            wrench[body, 3] += sign * f0
            wrench[body, 4] += sign * f1
            wrench[body, 5] += sign * f2


@kernel
def gather_wrenches(t, d, wrench, out):
    """Add J^T w of wrenches on links to `out` (dofs,); the wrenches become those of all that hangs on each link."""
    for i in range(t.parent.shape[0] - 1, -1, -1):
        w0, w1, w2, f0, f1, f2 = wrench[i, 0], wrench[i, 1], wrench[i, 2], wrench[i, 3], wrench[i, 4], wrench[i, 5]
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            out[k] += column_dot(d, k, w0, w1, w2, f0, f1, f2)
        parent = t.parent[i]
        if parent >= 0:
            x, y, z = cross(d.l[i, 0], d.l[i, 1], d.l[i, 2], f0, f1, f2)
            wrench[parent, 0] += w0 + x
            wrench[parent, 1] += w1 + y
            wrench[parent, 2] += w2 + z
            wrench[parent, 3] += f0
            wrench[parent, 4] += f1
            wrench[parent, 5] += f2


@kernel
def clear_wrenches(wrench):
    """No wrenches."""
    for i in range(wrench.shape[0]):
        for k in range(6):
            wrench[i, k] = 0.0


@kernel
def row_forces(t, d, lp, y, x, out):
    """out (dofs,) = G^T x for numbers x of the slots."""
    clear_wrenches(y.wrench)
    for k in range(out.shape[0]):
        out[k] = 0.0
    for s in range(y.num_rows):
        r = lp.slot[s]
        c = lp.of[r]
        if lp.kind[r] == COUPLE:
            for e in range(lp.first_term[c], lp.first_term[c + 1]):
                out[lp.term_dof[e]] += x[s] * lp.sign[r] * lp.term_factor[e]
        else:
            add_row_wrench(t, d, lp, r, x[s], y.wrench)
    gather_wrenches(t, d, y.wrench, out)


@kernel
def free_axis_force(d, lp, r):
    """Force of row r if it is a spring with a damper, or a given force; else 0."""
    if lp.mode[r] == SPRING:
        force = -lp.stiffness[r] * lp.phi[r]
        if lp.damping[r] != 0.0:
            force -= lp.damping[r] * row_rate(d, d.V, d.u, lp, r)
        return force
    return lp.lower[r] if lp.mode[r] == DRIVEN and lp.lower[r] == lp.upper[r] else 0.0


@kernel
def free_axis_wrenches(t, d, lp, wrench):
    """Add the wrenches of springs, dampers and given forces of constraints. Returns whether there are any."""
    found = 0
    for r in range(lp.num_rows):
        factor = free_axis_force(d, lp, r)
        if factor != 0.0:
            add_row_wrench(t, d, lp, r, factor, wrench)
            found = 1
    return found


@kernel
def begin_loads(t, d, lp, y):
    """Values of rows, what joints are given, and wrenches of free axes in `wrench`. Returns whether there are such."""
    measure_all(d, lp)
    if y.passive != 0:
        loads(t, d, y)
    else:
        commands(t, d, y)
        given_accelerations(t, d, y)
    clear_wrenches(y.wrench)
    for k in range(y.load.shape[0]):
        y.load[k] = 0.0
    return free_axis_wrenches(t, d, lp, y.wrench)


@kernel
def add_load(d, y):
    """`load` to the joint forces."""
    for k in range(y.load.shape[0]):
        d.tau[k] += y.load[k]


@kernel
def begin(t, d, lp, y):
    """Transforms, inertias, velocities, values of rows; tau with all that acts, and udot of prescribed coordinates."""
    n = t.parent.shape[0]
    transforms(t, d, 0, n)
    for i in range(n):
        body_inertia(t, d, i)
        body_velocity(t, d, i)
    if begin_loads(t, d, lp, y) != 0:
        gather_wrenches(t, d, y.wrench, y.load)
        add_load(d, y)


@kernel
def rates_of(t, d, lp, y, u, out):
    """out = G u for the slots and any velocities u, those of bodies in B; needs transforms and `measure_all`."""
    link_velocities(t, d, 0, t.parent.shape[0], u)
    for s in range(y.num_rows):
        out[s] = row_rate(d, d.B, u, lp, lp.slot[s])


@kernel
def missing(t, d, lp, y, out):
    """out = rate_change - d (G u) / dt for the slots, at A and udot of the data. Returns the largest.

    Directions are those that there are, but for constraints within one link, which no loop has and none measures.
    """
    still = (-t.gravity[0], -t.gravity[1], -t.gravity[2])
    for c in range(lp.num_constraints):
        if lp.body_a[c] == lp.body_b[c] and lp.kind[lp.first_row[c]] != COUPLE:
            measure(d, lp, c)
        rate_changes(d, d.A, 1.0, lp, c, still, y.by_row)
    largest = 0.0
    for s in range(y.num_rows):
        out[s] = y.rate_change[s] - y.by_row[lp.slot[s]]
        largest = max(largest, math.fabs(out[s]))
    return largest


@kernel
def velocity_products(t, d, lp, y, out):
    """out = gamma = rate_change - Gdot u for the slots; needs V and a."""
    for i in range(t.parent.shape[0]):
        bias_acceleration(t, d, i, 0.0, 0.0, 0.0)
    for c in range(lp.num_constraints):
        rate_changes(d, d.B, 0.0, lp, c, (0.0, 0.0, 0.0), y.by_row)
    for s in range(y.num_rows):
        out[s] = y.rate_change[s] - y.by_row[lp.slot[s]]


@kernel
def jacobian(t, d, lp, y, G):
    """G (slots * dofs,), row after row; `measure_all` was done."""
    n = d.q.shape[0]
    for k in range(y.num_rows * n):
        G[k] = 0.0
    for s in range(y.num_rows):
        r = lp.slot[s]
        c = lp.of[r]
        if lp.kind[r] == COUPLE:
            add_coupler_jacobian(t, lp, r, 0, G, s * n)
        else:
            if is_moved(t, lp.body_a[c]):
                add_body_jacobian(t, d, lp, r, lp.body_a[c], -1.0, G, s * n)
            if is_moved(t, lp.body_b[c]):
                add_body_jacobian(t, d, lp, r, lp.body_b[c], 1.0, G, s * n)


@entry("i8(i8,f8[::1],f8[::1],f8[::1],f8[::1])")
def evaluate_rows(address, phi, G, rate, gamma):
    """phi, G (flat), G u and gamma of the slots at q and u of the data. Returns 0."""
    y = view(DYNAMICS, address)
    t, d, lp = y.tree, y.data, y.loops
    begin(t, d, lp, y)
    jacobian(t, d, lp, y, G)
    velocity_products(t, d, lp, y, gamma)
    for s in range(y.num_rows):
        phi[s] = lp.phi[lp.slot[s]]
        rate[s] = row_rate(d, d.V, d.u, lp, lp.slot[s])
    return 0


@entry("i8(i8,f8[::1])")
def free_axis_forces(address, out):
    """Forces (rows,) of rows that are springs or given forces at q and u of the data, whose directions become current.

    Returns 0.
    """
    y = view(DYNAMICS, address)
    t, d, lp = y.tree, y.data, y.loops
    begin(t, d, lp, y)
    for r in range(lp.num_rows):
        out[r] = free_axis_force(d, lp, r)
    return 0


@entry("i8(i8,f8[::1])")
def actuator_forces(address, out):
    """Forces (dofs,) of actuators at q, u and udot of the data: what is missing in the equations of motion.

    Returns 0.
    """
    y = view(DYNAMICS, address)
    t, d, lp = y.tree, y.data, y.loops
    n = t.parent.shape[0]
    begin(t, d, lp, y)
    accelerations(t, d, 0, n)
    for k in range(out.shape[0]):
        out[k] = 0.0
    if y.passive != 0:
        add_spring_forces(t, d, 0, n, out)
        for k in range(out.shape[0]):
            out[k] -= t.damping[k] * d.u[k]
    joint_forces(t, d, 0, n)
    for k in range(out.shape[0]):
        out[k] = d.tau[k] - out[k] - y.load[k] - y.constraint_force[k]
    return 0


@kernel
def compliances(t, d, y):
    """Y of all links; needs articulated inertias."""
    for i in range(t.parent.shape[0]):
        Y = compliance_before(t, d, y, i)
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            Y = release(d, k, Y)
        write_compliance(y, i, Y)


@kernel
def turns(t, y, body):
    """Trace of the angular block; 0 for a body that does not move."""
    if not is_moved(t, body):
        return 0.0
    return y.Y[body, 0] + y.Y[body, 3] + y.Y[body, 5]


@kernel
def shifts(t, d, y, body, lp, r):
    """Trace of the linear block about the point of row r; 0 for a body that does not move."""
    if not is_moved(t, body):
        return 0.0
    x, y0, z = lp.point[r, 0] - d.p[body, 0], lp.point[r, 1] - d.p[body, 1], lp.point[r, 2] - d.p[body, 2]
    Y = shift_compliance(read_compliance(y, body), x, y0, z)
    return Y[15] + Y[18] + Y[20]


@kernel
def scale_rows(t, d, lp, y):
    """Scale of each slot: 1 / sqrt(trace), summed over both bodies; 0 for rows whose bodies do not move."""
    compliances(t, d, y)
    for s in range(y.num_rows):
        r = lp.slot[s]
        c = lp.of[r]
        kind = lp.kind[r]
        a, b = lp.body_a[c], lp.body_b[c]
        if kind == COUPLE:
            value = coordinates_yield(t, d, lp, c)
        elif kind == SHIFT or kind == LENGTH or kind == SCREW_TRAVEL:
            value = shifts(t, d, y, a, lp, r) + shifts(t, d, y, b, lp, r)
            if kind == SCREW_TRAVEL:
                value += lp.gain[r] * lp.gain[r] * (turns(t, y, a) + turns(t, y, b))
        else:
            value = turns(t, y, a) + turns(t, y, b)
        lp.scale[s] = 1.0 / math.sqrt(value) if value > 0.0 else 0.0
