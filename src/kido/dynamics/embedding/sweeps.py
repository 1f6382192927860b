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
from kido.dynamics.embedding.blocks import dot6, motion_of
from kido.dynamics.embedding.schema import AGGREGATES, ITEMS
from kido.jit import inlined, kernel
from kido.kernels.forward_dynamics import eliminate_joint, gather_bias, prescribed_bias
from kido.kernels.inertia import add_shifted, apply_inertia, read_inertia
from kido.math.so3 import cross


@inlined
def link_bias(t, d, i, share, tau):
    """e of link i's coordinates from its z, handing the rest of z to the parent; `share` as in `scatter_link`."""
    a0, a1, a2, a3, a4, a5 = prescribed_bias(t, d, i)
    z0, z1, z2, z3, z4, z5 = apply_inertia(
        read_inertia(d, i), share * a0, share * a1, share * a2, share * a3, share * a4, share * a5
    )
    z0 += d.z[i, 0]
    z1 += d.z[i, 1]
    z2 += d.z[i, 2]
    z3 += d.z[i, 3]
    z4 += d.z[i, 4]
    z5 += d.z[i, 5]
    for k in range(t.first_dof[i + 1] - 1, t.first_dof[i] - 1, -1):
        e = (tau[k] - dot6(d.H, k, z0, z1, z2, z3, z4, z5)) * d.Dinv[k]
        d.e[k] = e
        z0 += d.U[k, 0] * e
        z1 += d.U[k, 1] * e
        z2 += d.U[k, 2] * e
        z3 += d.U[k, 3] * e
        z4 += d.U[k, 4] * e
        z5 += d.U[k, 5] * e
    parent = t.parent[i]
    if parent >= 0:
        gather_bias(d, i, parent, z0, z1, z2, z3, z4, z5)


@inlined
def scatter_link(t, d, i, share, A, out):
    """`out` of link i's free coordinates and its row of A.

    Args:
        share: 1: with gravity, velocity products and given accelerations, which makes accelerations; 0: without,
            which makes changes of velocity.
    """
    parent = t.parent[i]
    if parent >= 0:
        b0, b1, b2, b3, b4, b5 = motion_of(A, parent)
        x, y, z = cross(b0, b1, b2, d.l[i, 0], d.l[i, 1], d.l[i, 2])
        b3, b4, b5 = b3 + x, b4 + y, b5 + z
    else:
        b0, b1, b2 = 0.0, 0.0, 0.0
        b3, b4, b5 = -share * t.gravity[0], -share * t.gravity[1], -share * t.gravity[2]
    for k in range(t.first_dof[i], t.first_dof[i + 1]):
        if t.prescribed[k] == 0:
            s = d.e[k] - dot6(d.U, k, b0, b1, b2, b3, b4, b5) * d.Dinv[k]
            out[k] = s
            b0 += d.H[k, 0] * s
            b1 += d.H[k, 1] * s
            b2 += d.H[k, 2] * s
            b3 += d.H[k, 3] * s
            b4 += d.H[k, 4] * s
            b5 += d.H[k, 5] * s
    a0, a1, a2, a3, a4, a5 = prescribed_bias(t, d, i)
    A[i, 0], A[i, 1], A[i, 2] = b0 + share * a0, b1 + share * a1, b2 + share * a2
    A[i, 3], A[i, 4], A[i, 5] = b3 + share * a3, b4 + share * a4, b5 + share * a5


@kernel
def gather_bias_of_tree(t, d, e, begin, end, share, tau):
    """e, y and z of the tree with aggregates, from bodies' own biases in z; `share` as in `scatter_link`.

    This and the other sweeps go over items begin..end-1, those of one part or all.
    """
    for q in range(end - 1, begin - 1, -1):
        i = e.item[q]
        if i >= 0:
            link_bias(t, d, i, share, tau)
        else:
            aggregate_bias(d, e, -1 - i, tau)


@kernel
def scatter_accelerations(t, d, e, begin, end, share, A, out):
    """`out` of the free coordinates and A of all links; `share` as in `scatter_link`."""
    for q in range(begin, end):
        i = e.item[q]
        if i >= 0:
            scatter_link(t, d, i, share, A, out)
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
            P, found = eliminate_joint(t, d, i, read_inertia(d, i), h, -1.0)
            if found >= 0.0:
                status = int(found)
            parent = t.parent[i]
            if parent >= 0:
                add_shifted(d, parent, P, d.l[i, 0], d.l[i, 1], d.l[i, 2])
        elif not articulate_aggregate(t, d, e, -1 - i, h):
            status = -2 - (-1 - i)
    return status


@kernel
def articulate_and_gather(t, d, e, tau):
    """`articulate_tree` and `gather_bias_of_tree` of accelerations in one sweep."""
    status = -1
    for q in range(e.count[ITEMS] - 1, -1, -1):
        i = e.item[q]
        if i >= 0:
            P, found = eliminate_joint(t, d, i, read_inertia(d, i), 0.0, -1.0)
            if found >= 0.0:
                status = int(found)
            parent = t.parent[i]
            if parent >= 0:
                add_shifted(d, parent, P, d.l[i, 0], d.l[i, 1], d.l[i, 2])
            link_bias(t, d, i, 1.0, tau)
        else:
            if not articulate_aggregate(t, d, e, -1 - i, 0.0):
                status = -2 - (-1 - i)
            aggregate_bias(d, e, -1 - i, tau)
    return status


@kernel
def aggregates_at_state(d, lp, y, e):
    """Columns, X, xb of all aggregates at the present poses and velocities; returns the least pivot."""
    least = math.inf
    for c in range(e.count[AGGREGATES]):
        least = min(least, aggregate_geometry(d, lp, y, e, c, 1))
        aggregate_rest(d, e, c)
    return least
