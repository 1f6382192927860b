"""The articulated-body sweeps on a tree with aggregate bodies: theory reference, sections a3, a7, b4.

Links outside of aggregates are as in `kido.kernels.forward_dynamics`; what an aggregate does is in `aggregate`.
"""

from __future__ import annotations

import math

from kido.dynamics.embedding.aggregate_body import (
    aggregate_accelerations,
    aggregate_bias,
    aggregate_geometry,
    aggregate_rest,
    articulate_aggregate,
)
from kido.jit import kernel
from kido.kernels.forward_dynamics import eliminate_joint, joint_bias, joint_motion


@kernel
def gather_bias_of_tree(t, d, e, begin, end, share, tau):
    """e, y and z of the tree with aggregates, from bodies' own biases in z; `share` as in `joint_motion`.

    This and the other sweeps go over items begin..end-1, those of one part or all.
    """
    for q in range(end - 1, begin - 1, -1):
        i = e.item[q]
        if i >= 0:
            joint_bias(t, d, 0, i, share, tau)
        else:
            aggregate_bias(d, e, -1 - i, tau)


@kernel
def scatter_accelerations(t, d, e, begin, end, share, A, out):
    """`out` of the free coordinates and A of all links; `share` as in `joint_motion`."""
    for q in range(begin, end):
        i = e.item[q]
        if i >= 0:
            joint_motion(t, d, i, share, A, out)
        else:
            aggregate_accelerations(t, d, e, -1 - i, share, A, out)


@kernel
def articulate_tree(t, d, e, begin, end, h):
    """`articulated_inertias` on the tree with aggregates, from bodies' own inertias in P.

    Returns:
        -1, a coordinate whose inertia is not positive, or -2 - c for an aggregate whose D is not.
    """
    status = -1
    for q in range(end - 1, begin - 1, -1):
        i = e.item[q]
        if i >= 0:
            found = eliminate_joint(t, d, 0, i, h, 0.25 * h, 1, -1.0)
            if found >= 0.0:
                status = int(found)
        elif not articulate_aggregate(t, d, e, -1 - i, h):
            status = -2 - (-1 - i)
    return status


@kernel
def articulate_and_gather(t, d, e, tau):
    """`articulate_tree` and `gather_bias_of_tree` of accelerations in one sweep."""
    status = -1
    for q in range(e.num_items - 1, -1, -1):
        i = e.item[q]
        if i >= 0:
            found = eliminate_joint(t, d, 0, i, 0.0, 0.0, 1, -1.0)
            if found >= 0.0:
                status = int(found)
            joint_bias(t, d, 0, i, 1.0, tau)
        else:
            if not articulate_aggregate(t, d, e, -1 - i, 0.0):
                status = -2 - (-1 - i)
            aggregate_bias(d, e, -1 - i, tau)
    return status


@kernel
def aggregates_at_state(d, lp, y, e):
    """Columns, X, xb of all aggregates at the present poses and velocities; returns the least pivot."""
    least = math.inf
    for c in range(e.num_aggregates):
        least = min(least, aggregate_geometry(d, lp, y, e, c, 1))
        aggregate_rest(d, e, c)
    return least
