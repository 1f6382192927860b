"""Calls from Python: one step, from positions to velocities and to the positions after them."""

from __future__ import annotations

from kido.ik.differential.desired_velocities import coordinate_bounds, desired_velocities
from kido.ik.differential.hard import brake_rows, hard_rows
from kido.ik.differential.levels import solve_levels
from kido.ik.differential.schema import (
    DIFFERENTIAL,
    STEP_REFUSED,
)
from kido.ik.engine.residuals import follow, task_residuals
from kido.ik.engine.tasks import TASKS
from kido.jit import direct_entry, view
from kido.kernels.entries import OK, copy_finite
from kido.kernels.integration import advance
from kido.optimization.dense_qp.schema import QUADRATIC
from kido.tree.schema import DATA, TREE


@direct_entry("i8(i8,i8,i8,i8,i8,f8[::1],f8,f8[::1],f8[::1])")
def step(tree, data, tasks, own, program, q, h, u, after):
    """Velocities u (dofs,) at q for a step h, and the positions after it; 0, or why there are none."""
    t, d, s = view(TREE, tree), view(DATA, data), view(TASKS, tasks)
    x, p = view(DIFFERENTIAL, own), view(QUADRATIC, program)
    if copy_finite(q, d.q) != OK:
        return STEP_REFUSED
    follow(s, d.q)
    x.time_step = h
    task_residuals(t, d, s)
    desired_velocities(s, x)
    status = hard_rows(t, d, s, x)
    if status != 0:
        return status
    coordinate_bounds(t, d, s, x)
    brake_rows(s, x)
    status = solve_levels(s, x, p, x.levels.shape[0])
    if status != 0:
        return status
    for k in range(d.u.shape[0]):
        d.u[k] = 0.0
    for c in range(s.active.shape[0]):
        d.u[s.active[c]] = x.u[c]
        x.previous[c] = x.u[c]
    for n in range(s.offset.shape[0]):
        d.u[s.mimic[n, 0]] = s.ratio[s.mimic[n, 0]] * d.u[s.mimic[n, 1]]
    x.has_previous = 1
    for k in range(d.u.shape[0]):
        u[k] = d.u[k]
    advance(t, d, 0, t.parent.shape[0], h)
    follow(s, d.q)
    for k in range(d.q.shape[0]):
        after[k] = d.q[k]
    return OK
