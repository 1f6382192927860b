"""Motion about one point of the whole tree, and how it changes when coordinates and velocities do.

Moving coordinate k along its velocity carries everything beyond it along its column S_k. A vector of what is
beyond so changes by S_k x itself, but for what it has from this side of k, which stays. With V_p and A_p the velocity
and acceleration of what column k is mounted on (the parent body; in a chain of axes the axis before):

    dV/dq_k = S_k x (V - V_p)                            = S_k x V + dV_k,              dV_k = V_p x S_k
    dA/dq_k = S_k x (A - A_p) - (S_k x V_p) x (V - V_p)  = S_k x A + dV_k x V + dA_k,   dA_k = A_p x S_k + V_p x dV_k
    dV/du_k = S_k
    dA/du_k = S_k x V + dA_du_k,                                                        dA_du_k = dV_k + Sdot_k

Sdot_k is V_p x S_k too, except for axes that ride on the moving body itself (ball and free joints): V x S_k.

Source: the same quantities in body axes are in Carpentier and Mansard (2018) and Singh, Russell and Wensing (2022);
the derivation here is our own.
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.joints.kinds import BALL, FREE, USER
from kido.kernels.spatial import cross_motion
from kido.kernels.user_point import user_columns_at_point
from kido.math.so3 import cross


@inlined
def body_at_point(t, d, w, i, g0, g1, g2):
    """r, V and A of body i about the tree's point; g is added to A."""
    x, y, z = 0.0, 0.0, 0.0
    parent = t.parent[i]
    if parent >= 0:
        x, y, z = w.r[parent, 0] + d.l[i, 0], w.r[parent, 1] + d.l[i, 1], w.r[parent, 2] + d.l[i, 2]
    w.r[i, 0], w.r[i, 1], w.r[i, 2] = x, y, z
    w0, w1, w2, v0, v1, v2 = d.V[i, 0], d.V[i, 1], d.V[i, 2], d.V[i, 3], d.V[i, 4], d.V[i, 5]
    a0, a1, a2, a3, a4, a5 = d.A[i, 0], d.A[i, 1], d.A[i, 2], d.A[i, 3] + g0, d.A[i, 4] + g1, d.A[i, 5] + g2
    p0, p1, p2 = cross(w0, w1, w2, v0, v1, v2)
    s0, s1, s2 = cross(x, y, z, a0, a1, a2)
    c0, c1, c2 = cross(x, y, z, w0, w1, w2)
    w.V[i, 0], w.V[i, 1], w.V[i, 2] = w0, w1, w2
    w.V[i, 3], w.V[i, 4], w.V[i, 5] = v0 + c0, v1 + c1, v2 + c2
    w.A[i, 0], w.A[i, 1], w.A[i, 2] = a0, a1, a2
    w.A[i, 3], w.A[i, 4], w.A[i, 5] = a3 - p0 + s0, a4 - p1 + s1, a5 - p2 + s2


@inlined
def columns_at_point(t, d, w, i, g0, g1, g2):
    """S, dV, dA and dA_du of body i's coordinates; gravity as in `body_at_point`, with g - gravity at the roots."""
    first, last = t.first_dof[i], t.first_dof[i + 1]
    x, y, z = w.r[i, 0], w.r[i, 1], w.r[i, 2]
    parent = t.parent[i]
    if parent >= 0:
        v0, v1, v2 = w.V[parent, 0], w.V[parent, 1], w.V[parent, 2]
        v3, v4, v5 = w.V[parent, 3], w.V[parent, 4], w.V[parent, 5]
        a0, a1, a2 = w.A[parent, 0], w.A[parent, 1], w.A[parent, 2]
        a3, a4, a5 = w.A[parent, 3], w.A[parent, 4], w.A[parent, 5]
    else:
        v0, v1, v2, v3, v4, v5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        a0, a1, a2, a3, a4, a5 = 0.0, 0.0, 0.0, g0 - t.gravity[0], g1 - t.gravity[1], g2 - t.gravity[2]
    on_body = t.kind[i] == BALL or t.kind[i] == FREE
    for k in range(first, last):
        s0, s1, s2 = d.H[k, 0], d.H[k, 1], d.H[k, 2]
        c0, c1, c2 = cross(x, y, z, s0, s1, s2)
        s3, s4, s5 = d.H[k, 3] + c0, d.H[k, 4] + c1, d.H[k, 5] + c2
        b0, b1, b2, b3, b4, b5 = cross_motion(v0, v1, v2, v3, v4, v5, s0, s1, s2, s3, s4, s5)
        e0, e1, e2, e3, e4, e5 = cross_motion(a0, a1, a2, a3, a4, a5, s0, s1, s2, s3, s4, s5)
        f0, f1, f2, f3, f4, f5 = cross_motion(v0, v1, v2, v3, v4, v5, b0, b1, b2, b3, b4, b5)
        w.S[0, k], w.S[1, k], w.S[2, k], w.S[3, k], w.S[4, k], w.S[5, k] = s0, s1, s2, s3, s4, s5
        w.dV[0, k], w.dV[1, k], w.dV[2, k], w.dV[3, k], w.dV[4, k], w.dV[5, k] = b0, b1, b2, b3, b4, b5
        w.dA[0, k], w.dA[1, k], w.dA[2, k] = e0 + f0, e1 + f1, e2 + f2
        w.dA[3, k], w.dA[4, k], w.dA[5, k] = e3 + f3, e4 + f4, e5 + f5
        if on_body:
            f0, f1, f2, f3, f4, f5 = cross_motion(
                w.V[i, 0], w.V[i, 1], w.V[i, 2], w.V[i, 3], w.V[i, 4], w.V[i, 5], s0, s1, s2, s3, s4, s5
            )
        else:
            f0, f1, f2, f3, f4, f5 = b0, b1, b2, b3, b4, b5
        w.dA_du[0, k], w.dA_du[1, k], w.dA_du[2, k] = b0 + f0, b1 + f1, b2 + f2
        w.dA_du[3, k], w.dA_du[4, k], w.dA_du[5, k] = b3 + f3, b4 + f4, b5 + f5
        if not on_body and k + 1 < last:  # the next axis is mounted on this one
            u, udot = d.u[k], d.udot[k]
            v0, v1, v2, v3, v4, v5 = v0 + s0 * u, v1 + s1 * u, v2 + s2 * u, v3 + s3 * u, v4 + s4 * u, v5 + s5 * u
            a0, a1, a2 = a0 + s0 * udot + b0 * u, a1 + s1 * udot + b1 * u, a2 + s2 * udot + b2 * u
            a3, a4, a5 = a3 + s3 * udot + b3 * u, a4 + s4 * udot + b4 * u, a5 + s5 * udot + b5 * u


@kernel
def motion_at_point(t, d, w, first, last, g0, g1, g2):
    """r, V, A, S, dV, dA, dA_du of bodies first..last-1 from R, p, l, H, V and A about their own origins.

    Args:
        g0, g1, g2: added to all accelerations: gravity, to take off what A holds of it, or 0.
    """
    for i in range(first, last):
        body_at_point(t, d, w, i, g0, g1, g2)
        if t.kind[i] == USER:
            user_columns_at_point(t, d, w, i)
        else:
            columns_at_point(t, d, w, i, g0, g1, g2)
