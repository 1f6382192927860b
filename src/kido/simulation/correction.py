"""The position correction of a step: how far it may go, and what energy it brings."""

from __future__ import annotations

import math

from kido.constraints.applied_forces import holding_forces
from kido.constraints.row_origins import FROM_CONTACT, FROM_LIMIT
from kido.jit import kernel
from kido.kernels.free_body import complete_free_body
from kido.kernels.free_lanes import NOT_FREE

MAX_CORRECTION_MOVE = 0.02  # [m or rad] most that the position correction moves a coordinate in a step


@kernel
def correction_share(pr, begin, end, h, swept):
    """Share of the correction that moves no coordinate by more than `MAX_CORRECTION_MOVE` and what sweeps ask for.

    Args:
        swept: largest push of a swept contact [m].
    """
    largest = 0.0
    for k in range(begin, end):
        largest = max(largest, math.fabs(pr.u_position[k]))
    most = MAX_CORRECTION_MOVE + swept
    return 1.0 if h * largest <= most else most / (h * largest)


@kernel
def free_shares(pr, k, h, swept):
    """`correction_share` of the rotation and of the translation of a free body whose first coordinate is k.

    They are one where nothing is swept. A body that is to be put back by much may not be held up by its turning.
    """
    if swept == 0.0:
        share = correction_share(pr, k, k + 6, h, swept)
        return share, share
    return correction_share(pr, k, k + 3, h, swept), correction_share(pr, k + 3, k + 6, h, swept)


@kernel
def correction_energy(t, d, pr, src, h, swept):
    """Energy that this step's position correction brings [J], before positions move.

    Of pseudo velocities: -f . (h u_position), f the generalized forces of gravity and springs, so the potential energy
    they lift bodies by. Of velocities that take penetration back (Baumgarte's, and all within the skin): the work of
    the contact impulses on them, p_n (-bias - c p_n) with the compliance c by which they fall short.
    """
    energy = 0.0
    r = src.responses
    for tree_index in range(t.tree_mobile.shape[0]):
        if t.tree_mobile[tree_index] == 0:
            continue
        begin, end = t.tree_dof[tree_index], t.tree_dof[tree_index + 1]
        moved = False
        for k in range(begin, end):
            moved = moved or pr.u_position[k] != 0.0
        if moved:
            share = correction_share(pr, begin, end, h, swept)
            if r.free[t.tree_body[tree_index]] != NOT_FREE:
                complete_free_body(t, d, t.tree_body[tree_index])
            holding_forces(t, d, t.tree_body[tree_index], t.tree_body[tree_index + 1])
            for k in range(begin, end):
                energy -= h * share * d.e[k] * pr.u_position[k]
    for b in range(pr.num_blocks):
        if src.origin[b] == FROM_CONTACT or src.origin[b] == FROM_LIMIT:
            p = pr.impulse[pr.row[b]]
            energy += p * max(-src.correction[b] - pr.compliance[pr.row[b]] * p, 0.0)
    return energy
