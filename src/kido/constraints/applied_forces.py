"""Forces that a step takes as they are at mid-step: gravity, joint springs, loads of users; no velocity products."""

from __future__ import annotations

from kido.jit import kernel
from kido.kernels.external import external_wrench
from kido.kernels.integration import linear_to_parent_axes
from kido.kernels.springs import add_spring_forces
from kido.math.so3 import cross


@kernel
def set_weight(t, d, i, with_loads):
    """Weight of body i, and its external forces if asked, as a wrench about its origin in d.B."""
    s = t.gravity_factor[i]
    g0, g1, g2 = s * t.gravity[0], s * t.gravity[1], s * t.gravity[2]
    x, y, z = cross(d.mc[i, 0], d.mc[i, 1], d.mc[i, 2], g0, g1, g2)
    d.B[i, 0], d.B[i, 1], d.B[i, 2] = x, y, z
    d.B[i, 3], d.B[i, 4], d.B[i, 5] = t.mass[i] * g0, t.mass[i] * g1, t.mass[i] * g2
    if with_loads:
        x0, x1, x2, x3, x4, x5 = external_wrench(d, i)
        d.B[i, 0] += x0
        d.B[i, 1] += x1
        d.B[i, 2] += x2
        d.B[i, 3] += x3
        d.B[i, 4] += x4
        d.B[i, 5] += x5


@kernel
def gather_wrenches(t, d, first, last):
    """Add the generalized forces of the wrenches in d.B to d.e; sums them up in d.B."""
    for i in range(last - 1, first - 1, -1):
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            for r in range(6):
                d.e[k] += d.H[k, r] * d.B[i, r]
        parent = t.parent[i]
        if parent >= first:
            x, y, z = cross(d.l[i, 0], d.l[i, 1], d.l[i, 2], d.B[i, 3], d.B[i, 4], d.B[i, 5])
            d.B[parent, 0] += d.B[i, 0] + x
            d.B[parent, 1] += d.B[i, 1] + y
            d.B[parent, 2] += d.B[i, 2] + z
            for r in range(3, 6):
                d.B[parent, r] += d.B[i, r]


@kernel
def holding_forces(t, d, first, last):
    """Generalized forces of gravity and joint springs at the present positions, in d.e; uses d.B."""
    for k in range(t.first_dof[first], t.first_dof[last]):
        d.e[k] = 0.0
    for i in range(first, last):
        set_weight(t, d, i, False)
    gather_wrenches(t, d, first, last)
    add_spring_forces(t, d, first, last, d.e)


@kernel
def applied_forces(t, d, first, last):
    """`holding_forces`, external forces and the forces commanded at joints, in d.e; uses d.B."""
    for k in range(t.first_dof[first], t.first_dof[last]):
        d.e[k] = d.tau[k]
    for i in range(first, last):
        linear_to_parent_axes(t, d, d.e, i)  # commands are in body axes
        set_weight(t, d, i, True)
    gather_wrenches(t, d, first, last)
    add_spring_forces(t, d, first, last, d.e)
