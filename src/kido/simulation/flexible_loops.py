"""What loops ask of trees with flexible bodies (`kido.constraints.loop_trees`), by the sweeps of `kido.flexible`."""

from __future__ import annotations

from kido.constraints.loop_rows import wrench_of_row
from kido.constraints.loop_trees import BODY_ROW, ENERGY, EVALUATE, PLACE, PREPARE, RESPOND, SHIFTS
from kido.flexible.sweeps import (
    accelerate,
    articulated_inertias,
    column_dot_of,
    kinetic_energy,
    positions,
    respond,
    velocities,
)
from kido.jit import callback, kernel, view
from kido.math.so3 import cross
from kido.simulation.world_struct import WORLD


@kernel
def put_wrench(t, d, f, body, m0, m1, m2, f0, f1, f2, out):
    """What a wrench about a body's origin is on the coordinates of its tree, to `out`; uses rows of d.z."""
    tree_index = t.tree_of_body[body]
    for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
        out[k] = 0.0
    i, z = body, d.z
    while i >= 0:
        z[i, 0], z[i, 1], z[i, 2], z[i, 3], z[i, 4], z[i, 5] = m0, m1, m2, f0, f1, f2
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            out[k] = column_dot_of(d.H, k, z, i)
        if f.node_of_body[i] >= 0:
            c, column = f.flex_of_body[t.parent[i]], f.first_column[f.node_of_body[i]]
            for m in range(f.number[c]):
                out[f.first_mode[c] + m] = column_dot_of(f.Pi, column + m, z, i)
        x, y, a = cross(d.l[i, 0], d.l[i, 1], d.l[i, 2], f0, f1, f2)
        m0, m1, m2 = m0 + x, m1 + y, m2 + a
        i = t.parent[i]


@kernel
def yielding(t, d, f, body, m0, m1, m2, f0, f1, f2):
    """w . J M^-1 J^T w of a wrench about a body's origin; needs articulated inertias."""
    tree_index = t.tree_of_body[body]
    put_wrench(t, d, f, body, m0, m1, m2, f0, f1, f2, f.impulse)
    respond(t, d, f, t.tree_body[tree_index], t.tree_body[tree_index + 1], f.impulse, f.response)
    total = 0.0
    for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
        total += f.impulse[k] * f.response[k]
    return total


@kernel
def traces(t, d, f, lp, what, r, body):
    """Trace of what a body yields to forces at the point of row r, or to moments."""
    if what != SHIFTS:
        total = yielding(t, d, f, body, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        total += yielding(t, d, f, body, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0)
        return total + yielding(t, d, f, body, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
    x, y, z = lp.point[r, 0] - d.p[body, 0], lp.point[r, 1] - d.p[body, 1], lp.point[r, 2] - d.p[body, 2]
    total = yielding(t, d, f, body, 0.0, z, -y, 1.0, 0.0, 0.0)
    total += yielding(t, d, f, body, -z, 0.0, x, 0.0, 1.0, 0.0)
    return total + yielding(t, d, f, body, y, -x, 0.0, 0.0, 0.0, 1.0)


@kernel
def energy_predicted(t, d, f, w, lp, first, last):
    """Kinetic energy of a tree at the velocities predicted for mid-step; those of the data stay."""
    for k in range(t.first_dof[first], t.first_dof[last]):
        f.start_u[k], d.u[k] = d.u[k], lp.predicted[k]
    velocities(t, d, f, first, last)
    total = kinetic_energy(t, d, f, first, last)
    for k in range(t.first_dof[first], t.first_dof[last]):
        d.u[k] = f.start_u[k]
    return total


@callback
def answer_loops(address, what, which, body):
    """See `kido.constraints.loop_trees`. Returns 0."""
    w = view(WORLD, address)
    t = w.tree
    d = w.data
    f = w.flex
    lp = w.loops
    if what == BODY_ROW:
        m0, m1, m2, f0, f1, f2 = wrench_of_row(d, lp, which, body)
        put_wrench(t, d, f, body, m0, m1, m2, f0, f1, f2, lp.row_J)
        return 0
    if what != PLACE and what != PREPARE and what != RESPOND and what != EVALUATE and what != ENERGY:
        lp.answered = traces(t, d, f, lp, what, which, body)
        return 0
    first, last = t.tree_body[which], t.tree_body[which + 1]
    if what == PLACE:
        positions(t, d, f, first, last)
    elif what == PREPARE:
        articulated_inertias(t, d, f, first, last, 0.0)
    elif what == RESPOND:
        respond(t, d, f, first, last, lp.row_J, lp.row_Y)
    elif what == EVALUATE:
        velocities(t, d, f, first, last)
        accelerate(t, d, f, first, last)
    else:
        lp.answered = energy_predicted(t, d, f, w, lp, first, last)
    return 0
