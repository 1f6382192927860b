"""What every solver needs before it starts: islands, own compliances, an admissible warm start."""

from __future__ import annotations

import math

from kido.jit import kernel
from kido.solvers.cone import clamp, project_cone, project_spin
from kido.solvers.islands import build_islands
from kido.solvers.problem import BLOCKS, BOUNDED, CONTACT, DOFS, ISLANDS
from kido.solvers.rows import INDEX, own_compliance, push_impulse, spin_bounds


@kernel
def clean_start(c, b):
    """Make the warm start of a block finite and admissible."""
    i = c.row[b] & INDEX
    if c.kind[b] != BOUNDED:
        if not math.isfinite(c.impulse[i] + c.impulse[i + 1] + c.impulse[i + 2]):
            for r in range(3):
                c.impulse[i + r] = 0.0
        if c.kind[b] == CONTACT:
            p0, p1, p2 = project_cone(c.impulse[i], c.impulse[i + 1], c.impulse[i + 2], c.mu[b], c.floor[b])
        else:
            about, across = spin_bounds(c, b)
            p0, p1, p2 = project_spin(c.impulse[i], c.impulse[i + 1], c.impulse[i + 2], about, across)
        c.impulse[i] = p0
        c.impulse[i + 1] = p1
        c.impulse[i + 2] = p2
    else:
        if not math.isfinite(c.impulse[i]):
            c.impulse[i] = 0.0
        c.impulse[i] = clamp(c.impulse[i], c.lower[b], c.upper[b])


@kernel
def start(c):
    """Islands, own compliances, and u = u_free + Y p of the warm start. Returns the number of islands."""
    for i in range(c.total.shape[0]):
        c.total[i] = 0.0
    for d in range(c.count[DOFS]):
        c.u[d] = c.u_free[d]
    for b in range(c.count[BLOCKS]):
        own_compliance(c, b)
        clean_start(c, b)
        push_impulse(c, b)
    build_islands(c)
    return c.count[ISLANDS]
