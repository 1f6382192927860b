"""Calls from Python: residuals of tasks and their Jacobian at given positions."""

from __future__ import annotations

from kido.ik.engine.residuals import residuals
from kido.ik.engine.tasks import TASKS
from kido.jit import direct_entry, view
from kido.kernels.entries import OK, REFUSED, copy_finite
from kido.tree.schema import DATA, TREE


@direct_entry("i8(i8,i8,i8,f8[::1])")
def evaluate(tree, data, tasks, q):
    """Residuals `TASKS.e` and Jacobian `TASKS.J` of all tasks at q; poses of links that they need go to the data."""
    t, d, s = view(TREE, tree), view(DATA, data), view(TASKS, tasks)
    if copy_finite(q, d.q) != OK:
        return REFUSED
    residuals(t, d, s)
    return OK
