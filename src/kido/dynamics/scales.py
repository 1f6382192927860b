"""Scales of rows: what their bodies yield to a force or moment of any direction, for all bodies in one sweep.

The same numbers as `kido.constraints.loop_factor` has from each row's way to the root. Y(k), the compliance of each
link (`kido.kernels.operational_space`), has them for all: the trace of its angular block, and of the linear block
about the row's point.
"""

from __future__ import annotations

import math

from kido.constraints.loop_factor import coordinates_yield
from kido.constraints.loop_rows import is_moved
from kido.constraints.loop_schema import COUPLE, LENGTH, SCREW_TRAVEL, SHIFT
from kido.jit import kernel
from kido.kernels.operational_space import (
    compliance_before,
    read_compliance,
    release,
    shift_compliance,
    write_compliance,
)


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
