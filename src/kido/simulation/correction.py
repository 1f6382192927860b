"""The position correction of a step: how far it may go, and what energy it brings."""

from __future__ import annotations

import math

from kido.constraints.sources import FROM_CONTACT, FROM_LIMIT
from kido.jit import kernel
from kido.kernels.springs import add_spring_forces
from kido.math.so3 import cross
from kido.solvers.problem import BLOCKS

LARGEST_MOVE = 0.02  # [m or rad] most that the position correction moves a coordinate in a step


@kernel
def correction_share(pr, begin, end, h, swept):
    """Share of the position correction that moves no coordinate by more than `LARGEST_MOVE` and what sweeps ask for.

    Args:
        swept: largest push of a swept contact [m].
    """
    largest = 0.0
    for k in range(begin, end):
        largest = max(largest, math.fabs(pr.u_position[k]))
    most = LARGEST_MOVE + swept
    return 1.0 if h * largest <= most else most / (h * largest)


@kernel
def holding_forces(t, d, first, last):
    """Generalized forces of gravity and joint springs at the present positions, in d.e; uses d.B."""
    for k in range(t.first_dof[first], t.first_dof[last]):
        d.e[k] = 0.0
    for i in range(first, last):
        s = t.gravity_factor[i]
        g0, g1, g2 = s * t.gravity[0], s * t.gravity[1], s * t.gravity[2]
        x, y, z = cross(d.mc[i, 0], d.mc[i, 1], d.mc[i, 2], g0, g1, g2)
        d.B[i, 0], d.B[i, 1], d.B[i, 2] = x, y, z
        d.B[i, 3], d.B[i, 4], d.B[i, 5] = t.mass[i] * g0, t.mass[i] * g1, t.mass[i] * g2
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
    add_spring_forces(t, d, first, last, d.e)


@kernel
def correction_energy(t, d, pr, src, h, swept):
    """Energy that this step's position correction brings [J], before positions move.

    Of pseudo velocities: -f . (h u_position), f the generalized forces of gravity and springs, so the potential energy
    they lift bodies by. Of velocities that take penetration back (Baumgarte's, and all within the skin): the work of
    the contact impulses on them, -p_n bias.
    """
    energy = 0.0
    for part in range(t.part_mobile.shape[0]):
        if t.part_mobile[part] == 0:
            continue
        begin, end = t.part_dof[part], t.part_dof[part + 1]
        moved = False
        for k in range(begin, end):
            moved = moved or pr.u_position[k] != 0.0
        if moved:
            share = correction_share(pr, begin, end, h, swept)
            holding_forces(t, d, t.part_body[part], t.part_body[part + 1])
            for k in range(begin, end):
                energy -= h * share * d.e[k] * pr.u_position[k]
    for b in range(pr.count[BLOCKS]):
        if src.origin[b] == FROM_CONTACT or src.origin[b] == FROM_LIMIT:
            energy -= src.correction[b] * pr.impulse[pr.row[b]]
    return energy
