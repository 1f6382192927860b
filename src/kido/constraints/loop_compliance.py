"""What bodies yield where constraints act on them: the scales of eliminated rows.

A unit impulse f at a point of a body's link gives the point a velocity f . W f along it, where W (3, 3) is the block
of J M^-1 J^T that belongs to the point; likewise for moments. The trace of W is the same for all axes, and is not
small where single directions are stiff. The scale of a row is 1 / sqrt(trace), summed over its two bodies.
"""

from __future__ import annotations

import math

from kido.constraints.loop_rows import is_moved
from kido.constraints.loop_schema import COUPLE, LENGTH, SCREW, SHIFT
from kido.jit import kernel
from kido.kernels.articulated import add_reaction, at_parent
from kido.kernels.inverse_dynamics import column_dot


@kernel
def yielding(t, d, body, n0, n1, n2, f0, f1, f2):
    """w . J M^-1 J^T w for a wrench w = [n; f] about the origin of a body, world axes; needs articulated inertias."""
    first = t.tree_body[t.tree_of_body[body]]
    total = 0.0
    i = body
    while i >= first:
        for k in range(t.first_dof[i + 1] - 1, t.first_dof[i] - 1, -1):
            own = column_dot(d, k, n0, n1, n2, f0, f1, f2)
            e = own * d.Dinv[k]
            total += own * e
            n0, n1, n2, f0, f1, f2 = add_reaction(d, k, -e, n0, n1, n2, f0, f1, f2)
        n0, n1, n2, f0, f1, f2 = at_parent(d, i, n0, n1, n2, f0, f1, f2)
        i = t.parent[i]
    return total


@kernel
def point_yields(t, d, body, x, y, z):
    """Trace of W for forces at a point (x, y, z) of a body; 0 for a body that does not move."""
    if not is_moved(t, body):
        return 0.0
    x, y, z = x - d.p[body, 0], y - d.p[body, 1], z - d.p[body, 2]
    total = yielding(t, d, body, 0.0, z, -y, 1.0, 0.0, 0.0)
    total += yielding(t, d, body, -z, 0.0, x, 0.0, 1.0, 0.0)
    return total + yielding(t, d, body, y, -x, 0.0, 0.0, 0.0, 1.0)


@kernel
def body_turns(t, d, body):
    """Trace of W for moments on a body; 0 for a body that does not move."""
    if not is_moved(t, body):
        return 0.0
    total = yielding(t, d, body, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    total += yielding(t, d, body, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0)
    return total + yielding(t, d, body, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


@kernel
def coordinates_yield(t, d, lp, c):
    """Sum of what the coordinates of a coupler yield, each by itself."""
    total = 0.0
    for e in range(lp.first_term[c], lp.first_term[c + 1]):
        factor = lp.term_factor[e]
        total += factor * factor * d.Dinv[lp.term_dof[e]]
    return total


@kernel
def scale_rows(t, d, lp, g):
    """Scales of a group's rows at the present transforms and articulated inertias."""
    last, shift, turn = -1, 0.0, 0.0
    for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
        r = lp.slot[s]
        c = lp.of[r]
        kind = lp.kind[r]
        if c != last:  # the rows of a constraint stand one after another
            last, shift, turn = c, -1.0, -1.0
        if lp.enabled[c] == 0:
            value = 0.0
        elif kind == COUPLE:
            value = coordinates_yield(t, d, lp, c)
        else:
            a, b = lp.body_a[c], lp.body_b[c]
            translates = kind == SHIFT or kind == LENGTH or kind == SCREW
            if translates and shift < 0.0:
                x, y, z = lp.point[r, 0], lp.point[r, 1], lp.point[r, 2]
                shift = point_yields(t, d, a, x, y, z) + point_yields(t, d, b, x, y, z)
            if (not translates or kind == SCREW) and turn < 0.0:
                turn = body_turns(t, d, a) + body_turns(t, d, b)
            value = shift if translates else turn
            if kind == SCREW:
                value += lp.gain[r] * lp.gain[r] * turn
        lp.scale[s] = 1.0 / math.sqrt(value) if value > 0.0 else 0.0
