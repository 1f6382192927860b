"""Calls from Python: residuals of tasks and their Jacobian at given positions."""

from __future__ import annotations

from kido.ik.engine.residuals import task_residuals
from kido.ik.engine.tasks import TASKS
from kido.jit import direct_entry, entry, view
from kido.kernels.entries import OK, REFUSED, copy_finite
from kido.tree.schema import DATA, TREE


@direct_entry("i8(i8,i8,i8,f8[::1])")
def evaluate(tree, data, tasks, q):
    """Residuals `TASKS.e` and Jacobian `TASKS.J` of all tasks at q; poses of links that they need go to the data."""
    t, d, s = view(TREE, tree), view(DATA, data), view(TASKS, tasks)
    if copy_finite(q, d.q) != OK:
        return REFUSED
    task_residuals(t, d, s)
    return OK


@entry("i8(i8,i8,i8,f8[:,::1],f8[:,::1],f8[:,::1],f8[:,:,::1])")
def evaluate_frames(tree, data, tasks, q, targets, e, J):
    """Residuals e (n, rows) and Jacobians J (n, rows, columns) of one task at n positions.

    `targets` has a row of 12 numbers for each, or one for all.
    """
    t, d, s = view(TREE, tree), view(DATA, data), view(TASKS, tasks)
    for n in range(q.shape[0]):
        for k in range(q.shape[1]):
            d.q[k] = q[n, k]
        at = n if targets.shape[0] > 1 else 0
        for i in range(12):
            s.target[0, i] = targets[at, i]
        task_residuals(t, d, s)
        for r in range(e.shape[1]):
            e[n, r] = s.e[r]
            for c in range(J.shape[2]):
                J[n, r, c] = s.J[r, c]
    return OK
