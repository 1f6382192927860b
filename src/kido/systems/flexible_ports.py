"""Ports on skeletons with flexible bodies: where these are, and what wrenches do to modes."""

from __future__ import annotations

from kido.flexible.sweeps import positions, velocities
from kido.jit import callback, view
from kido.math.so3 import cross
from kido.systems.world_machine import LINK, arm_of


@callback
def place_flexible(own, unused_1, unused_2, unused_3):
    """Poses and velocities of the bodies of a LINK. Returns 1: it is done."""
    n = view(LINK, own)
    bodies = n.tree.parent.shape[0]
    positions(n.tree, n.data, n.flex, 0, bodies)
    velocities(n.tree, n.data, n.flex, 0, bodies)
    return 1


@callback
def push_modes(own, unused_1, unused_2, unused_3):
    """Forces on modes: Pi^T [torque; force] of what acts on their nodes and all that hangs there. Returns 0."""
    n = view(LINK, own)
    v, t, d, f, w = n.system.value, n.tree, n.data, n.flex, n.wrench_slot
    for k in range(n.body.shape[0]):
        f0, f1, f2 = v[w[k, 0]], v[w[k, 1]], v[w[k, 2]]
        m0, m1, m2 = v[w[k, 3]], v[w[k, 4]], v[w[k, 5]]
        i = n.body[k]
        r0, r1, r2 = arm_of(n, k)
        p0, p1, p2 = d.p[i, 0] + r0, d.p[i, 1] + r1, d.p[i, 2] + r2
        while i >= 0:
            j = f.node_of_body[i]
            if j >= 0:
                c = f.flex_of_body[t.parent[i]]
                x, y, z = cross(p0 - d.p[i, 0], p1 - d.p[i, 1], p2 - d.p[i, 2], f0, f1, f2)
                for m in range(f.number[c]):
                    h = f.first_column[j] + m
                    n.force[f.first_mode[c] + m] += (
                        f.Pi[h, 0] * (m0 + x) + f.Pi[h, 1] * (m1 + y) + f.Pi[h, 2] * (m2 + z)
                        + f.Pi[h, 3] * f0 + f.Pi[h, 4] * f1 + f.Pi[h, 5] * f2
                    )  # fmt: skip
            i = t.parent[i]
    return 0
