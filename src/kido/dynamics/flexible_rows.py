"""Rows on a skeleton with flexible bodies: `kido.dynamics.rows` by the sweeps of `kido.flexible`.

A row is measured between links, and nodes of flexible bodies are links; only what carries a wrench to coordinates
must know that modes move nodes.
"""

from __future__ import annotations

from kido.constraints.loop_rates import row_rate
from kido.constraints.loop_schema import COUPLE
from kido.dynamics.rows import (
    add_load,
    add_row_wrench,
    begin_loads,
    clear_wrenches,
    free_axis_force,
    velocity_products,
)
from kido.dynamics.schema import DYNAMICS
from kido.flexible.schema import FLEX
from kido.flexible.sweeps import accelerations, column_dot_of, positions, velocities
from kido.flexible.sweeps import inverse_dynamics as joint_forces
from kido.jit import entry, kernel, view
from kido.kernels.springs import add_spring_forces
from kido.math.so3 import cross


@kernel
def gather_wrenches(t, d, f, wrench, out):
    """Add J^T w of wrenches on links to `out` (dofs,); the wrenches become those of all that hangs on each link."""
    for i in range(t.parent.shape[0] - 1, -1, -1):
        parent = t.parent[i]
        if f.has_modes[i] == 0:
            for k in range(t.first_dof[i], t.first_dof[i + 1]):
                out[k] += column_dot_of(d.H, k, wrench, i)
        if f.node_of_body[i] >= 0:
            c, column = f.flex_of_body[parent], f.first_column[f.node_of_body[i]]
            for m in range(f.number[c]):
                out[f.first_mode[c] + m] += column_dot_of(f.Pi, column + m, wrench, i)
        if parent >= 0:
            f0, f1, f2 = wrench[i, 3], wrench[i, 4], wrench[i, 5]
            x, y, z = cross(d.l[i, 0], d.l[i, 1], d.l[i, 2], f0, f1, f2)
            wrench[parent, 0] += wrench[i, 0] + x
            wrench[parent, 1] += wrench[i, 1] + y
            wrench[parent, 2] += wrench[i, 2] + z
            wrench[parent, 3] += f0
            wrench[parent, 4] += f1
            wrench[parent, 5] += f2


@kernel
def begin(t, d, f, lp, y):
    """As `kido.dynamics.rows.begin`."""
    n = t.parent.shape[0]
    positions(t, d, f, 0, n)
    velocities(t, d, f, 0, n)
    if begin_loads(t, d, lp, y) != 0:
        gather_wrenches(t, d, f, y.wrench, y.load)
        add_load(d, y)


@kernel
def fill_jacobian(t, d, f, lp, y, G):
    """G (slots, dofs); `measure_all` was done at the present poses."""
    for s in range(y.num_rows):
        r = lp.slot[s]
        c = lp.of[r]
        for k in range(d.q.shape[0]):
            y.work[k] = 0.0
        if lp.kind[r] == COUPLE:
            for e in range(lp.first_term[c], lp.first_term[c + 1]):
                y.work[lp.term_dof[e]] += lp.sign[r] * lp.term_factor[e]
        else:
            clear_wrenches(y.wrench)
            add_row_wrench(t, d, lp, r, 1.0, y.wrench)
            gather_wrenches(t, d, f, y.wrench, y.work)
        for k in range(d.q.shape[0]):
            G[s, k] = y.work[k]


@entry("i8(i8,i8,f8[::1],f8[:,::1],f8[::1],f8[::1])")
def evaluate_rows(address, flex, phi, G, rate, gamma):
    """phi, G, G u and gamma of the slots at q and u of the data; tau there is what acts. Returns 0."""
    y, f = view(DYNAMICS, address), view(FLEX, flex)
    t, d, lp = y.tree, y.data, y.loops
    begin(t, d, f, lp, y)
    for s in range(y.num_rows):
        phi[s] = lp.phi[lp.slot[s]]
        rate[s] = row_rate(d, d.V, d.u, lp, lp.slot[s])
    fill_jacobian(t, d, f, lp, y, G)
    velocity_products(t, d, lp, y, gamma)
    return 0


@entry("i8(i8,i8,f8[::1])")
def free_axis_forces(address, flex, out):
    """As `kido.dynamics.rows.free_axis_forces`."""
    y, f = view(DYNAMICS, address), view(FLEX, flex)
    t, d, lp = y.tree, y.data, y.loops
    begin(t, d, f, lp, y)
    for r in range(lp.num_rows):
        out[r] = free_axis_force(d, lp, r)
    return 0


@entry("i8(i8,i8,f8[::1])")
def actuator_forces(address, flex, out):
    """As `kido.dynamics.rows.actuator_forces`."""
    y, f = view(DYNAMICS, address), view(FLEX, flex)
    t, d, lp = y.tree, y.data, y.loops
    n = t.parent.shape[0]
    begin(t, d, f, lp, y)
    accelerations(t, d, f, 0, n)
    for k in range(out.shape[0]):
        out[k] = 0.0
    if y.passive != 0:
        add_spring_forces(t, d, 0, n, out)
        for k in range(out.shape[0]):
            out[k] -= t.damping[k] * d.u[k]
    joint_forces(t, d, f, 0, n)
    for k in range(out.shape[0]):
        out[k] = d.tau[k] - out[k] - y.load[k] - y.constraint_force[k]
    return 0
