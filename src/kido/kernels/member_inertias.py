"""Composite and articulated inertias and composite momenta of all bodies, welded ones included.

A link is several bodies of the skeleton when some are welded; what a body passes on to the one that it hangs on is then
all of its own, as if handed through a hinge that is prescribed. Theory reference, sections a3 and a5:

    R(k) = M(k) + sum_c phi R(c) phi*,      P(k) = M(k) + sum_c phi P+(c) phi*,     h(k) = M(k) V(k) + sum_c phi h(c)
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.kernels.articulated import yielding_inertia
from kido.kernels.inertia import add_shifted, read_inertia, rigid_momentum, write_rigid
from kido.kernels.members import member_arm, member_rotation
from kido.math.so3 import cross, rotate, rotate_symmetric


@inlined
def member_inertia(d, s, b):
    """J (6), m c (3) and m of body b about its origin, world axes."""
    K = s.inertia
    R = member_rotation(d, s, b)
    J = rotate_symmetric(R, (K[b, 4], K[b, 5], K[b, 6], K[b, 7], K[b, 8], K[b, 9]))
    x, y, z = rotate(R, K[b, 1], K[b, 2], K[b, 3])
    return J, (x, y, z), K[b, 0]


@kernel
def place_members(d, s):
    """Positions of the bodies' origins."""
    for b in range(s.link.shape[0]):
        i = s.link[b]
        x, y, z = member_arm(d, s, b)
        s.position[b, 0], s.position[b, 1], s.position[b, 2] = d.p[i, 0] + x, d.p[i, 1] + y, d.p[i, 2] + z


@inlined
def symmetric_index(r, c):
    """Place of an entry among the six of a symmetric 3x3 matrix: xx, xy, xz, yy, yz, zz."""
    return min(r, c) + max(r, c) + (1 if min(r, c) > 0 else 0)


@kernel
def member_inertias(t, d, s, articulated, out):
    """Articulated (after `articulate`) or composite inertias (bodies, 6, 6), about the bodies' origins, world axes."""
    n = s.link.shape[0]
    place_members(d, s)
    for b in range(n):
        J, c, m = member_inertia(d, s, b)
        write_rigid(s.P, b, J, c[0], c[1], c[2], m)
    p = s.position
    for b in range(n - 1, -1, -1):
        above = s.parent[b]
        if above >= 0:
            P = read_inertia(s, b)
            i = s.link[b]
            if articulated != 0 and i != s.link[above]:
                P = yielding_inertia(t, d, i, P)
            add_shifted(s, above, P, p[b, 0] - p[above, 0], p[b, 1] - p[above, 1], p[b, 2] - p[above, 2])
    for b in range(n):
        for r in range(3):
            for c in range(3):
                out[b, r, c] = s.P[b, symmetric_index(r, c)]
                out[b, r, 3 + c] = out[b, 3 + c, r] = s.P[b, 6 + 3 * r + c]
                out[b, 3 + r, 3 + c] = s.P[b, 15 + symmetric_index(r, c)]


@kernel
def member_momenta(d, s, out):
    """[angular; linear] momentum (bodies, 6) of each body with all below it, about its origin, world axes; needs V."""
    n = s.link.shape[0]
    place_members(d, s)
    for b in range(n):
        i = s.link[b]
        x, y, z = member_arm(d, s, b)
        w0, w1, w2 = d.V[i, 0], d.V[i, 1], d.V[i, 2]
        a, e, f = cross(w0, w1, w2, x, y, z)
        J, c, m = member_inertia(d, s, b)
        out[b, 0], out[b, 1], out[b, 2], out[b, 3], out[b, 4], out[b, 5] = rigid_momentum(
            J, c, m, w0, w1, w2, d.V[i, 3] + a, d.V[i, 4] + e, d.V[i, 5] + f
        )
    p = s.position
    for b in range(n - 1, -1, -1):
        above = s.parent[b]
        if above >= 0:
            x, y, z = cross(
                p[b, 0] - p[above, 0], p[b, 1] - p[above, 1], p[b, 2] - p[above, 2], out[b, 3], out[b, 4], out[b, 5]
            )
            out[above, 0] += out[b, 0] + x
            out[above, 1] += out[b, 1] + y
            out[above, 2] += out[b, 2] + z
            out[above, 3] += out[b, 3]
            out[above, 4] += out[b, 4]
            out[above, 5] += out[b, 5]
