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

The columns of a user's joint neither ride on one another nor stay. What is beyond the joint is carried along as with
any other, from the velocity and acceleration of the joint's own body, whose derivatives are those of the kinematic
recursion itself:

    w = w_p + dw,  v = v_p + w_p x l + dv                          with [dw; dv] = H u
    wdot = wdot_p + w_p x dw + ...,  a = a_p + wdot_p x l + w_p x (w_p x l + 2 dv) + ...      with ... = H udot + Hdot u

Velocities are rates of positions, so dA/du_k has Sdot_k = dV_k.
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.joints.kinds import BALL, FREE, USER
from kido.joints.motion import column_derivative
from kido.joints.tape import evaluate_velocity_products, user_velocity_product_derivative
from kido.math.so3 import cross


@inlined
def cross_motion(a0, a1, a2, a3, a4, a5, b0, b1, b2, b3, b4, b5):
    """a x b of two motions: how b changes when it is carried along a."""
    x, y, z = cross(a0, a1, a2, b0, b1, b2)
    p, q, r = cross(a0, a1, a2, b3, b4, b5)
    s, t, u = cross(a3, a4, a5, b0, b1, b2)
    return x, y, z, p + s, q + t, r + u


@inlined
def cross_force(a0, a1, a2, a3, a4, a5, n0, n1, n2, f0, f1, f2):
    """a x* f of a motion and a force (or momentum): how f changes when it is carried along a."""
    x, y, z = cross(a0, a1, a2, n0, n1, n2)
    p, q, r = cross(a3, a4, a5, f0, f1, f2)
    s, t, u = cross(a0, a1, a2, f0, f1, f2)
    return x + p, y + q, z + r, s, t, u


@kernel
def body_derivative(t, d, i, j):
    """d[w; v]/dq_j and d[wdot; a]/dq_j of body i's origin, j a coordinate of its joint."""
    a0, a1, a2, a3, a4, a5 = user_velocity_product_derivative(t, d, i, j)
    w0, w1, w2, v0, v1, v2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(t.first_dof[i], t.first_dof[i + 1]):
        x0, x1, x2, x3, x4, x5 = column_derivative(t, d, i, k, j)
        u, s = d.u[k], d.udot[k]
        w0, w1, w2, v0, v1, v2 = w0 + u * x0, w1 + u * x1, w2 + u * x2, v0 + u * x3, v1 + u * x4, v2 + u * x5
        a0, a1, a2, a3, a4, a5 = a0 + s * x0, a1 + s * x1, a2 + s * x2, a3 + s * x3, a4 + s * x4, a5 + s * x5
    parent = t.parent[i]
    if parent >= 0:
        p0, p1, p2 = d.V[parent, 0], d.V[parent, 1], d.V[parent, 2]
        l0, l1, l2 = d.H[j, 3], d.H[j, 4], d.H[j, 5]  # of the body's origin
        x, y, z = cross(p0, p1, p2, w0, w1, w2)
        a0, a1, a2 = a0 + x, a1 + y, a2 + z
        x, y, z = cross(d.A[parent, 0], d.A[parent, 1], d.A[parent, 2], l0, l1, l2)
        a3, a4, a5 = a3 + x, a4 + y, a5 + z
        c0, c1, c2 = cross(p0, p1, p2, l0, l1, l2)
        x, y, z = cross(p0, p1, p2, c0 + 2.0 * v0, c1 + 2.0 * v1, c2 + 2.0 * v2)
        a3, a4, a5 = a3 + x, a4 + y, a5 + z
        v0, v1, v2 = v0 + c0, v1 + c1, v2 + c2
    return w0, w1, w2, v0, v1, v2, a0, a1, a2, a3, a4, a5


@kernel
def user_columns_at_point(t, d, w, i):
    """S, dV, dA and dA_du of the coordinates of body i's joint, a user's; needs r, V and A about the point."""
    evaluate_velocity_products(t, d, i)
    r0, r1, r2 = w.r[i, 0], w.r[i, 1], w.r[i, 2]
    w0, w1, w2, v0, v1, v2 = w.V[i, 0], w.V[i, 1], w.V[i, 2], w.V[i, 3], w.V[i, 4], w.V[i, 5]
    for k in range(t.first_dof[i], t.first_dof[i + 1]):
        s0, s1, s2, l0, l1, l2 = d.H[k, 0], d.H[k, 1], d.H[k, 2], d.H[k, 3], d.H[k, 4], d.H[k, 5]
        x, y, z = cross(r0, r1, r2, s0, s1, s2)
        s3, s4, s5 = l0 + x, l1 + y, l2 + z
        b0, b1, b2, b3, b4, b5, a0, a1, a2, a3, a4, a5 = body_derivative(t, d, i, k)
        # Spatial acceleration about the point: a - w x v + r x wdot, v at the body's origin, which moves by l.
        x, y, z = cross(b0, b1, b2, d.V[i, 3], d.V[i, 4], d.V[i, 5])
        a3, a4, a5 = a3 - x, a4 - y, a5 - z
        x, y, z = cross(w0, w1, w2, b3, b4, b5)
        a3, a4, a5 = a3 - x, a4 - y, a5 - z
        x, y, z = cross(l0, l1, l2, w.A[i, 0], w.A[i, 1], w.A[i, 2])
        a3, a4, a5 = a3 + x, a4 + y, a5 + z
        x, y, z = cross(r0, r1, r2, a0, a1, a2)
        a3, a4, a5 = a3 + x, a4 + y, a5 + z
        x, y, z = cross(l0, l1, l2, w0, w1, w2)
        b3, b4, b5 = b3 + x, b4 + y, b5 + z
        x, y, z = cross(r0, r1, r2, b0, b1, b2)
        b3, b4, b5 = b3 + x, b4 + y, b5 + z
        # Without what is carried along.
        e0, e1, e2, e3, e4, e5 = cross_motion(s0, s1, s2, s3, s4, s5, w0, w1, w2, v0, v1, v2)
        b0, b1, b2, b3, b4, b5 = b0 - e0, b1 - e1, b2 - e2, b3 - e3, b4 - e4, b5 - e5
        e0, e1, e2, e3, e4, e5 = cross_motion(
            s0, s1, s2, s3, s4, s5, w.A[i, 0], w.A[i, 1], w.A[i, 2], w.A[i, 3], w.A[i, 4], w.A[i, 5]
        )
        f0, f1, f2, f3, f4, f5 = cross_motion(b0, b1, b2, b3, b4, b5, w0, w1, w2, v0, v1, v2)
        w.S[0, k], w.S[1, k], w.S[2, k], w.S[3, k], w.S[4, k], w.S[5, k] = s0, s1, s2, s3, s4, s5
        w.dV[0, k], w.dV[1, k], w.dV[2, k], w.dV[3, k], w.dV[4, k], w.dV[5, k] = b0, b1, b2, b3, b4, b5
        w.dA[0, k], w.dA[1, k], w.dA[2, k] = a0 - e0 - f0, a1 - e1 - f1, a2 - e2 - f2
        w.dA[3, k], w.dA[4, k], w.dA[5, k] = a3 - e3 - f3, a4 - e4 - f4, a5 - e5 - f5
        w.dA_du[0, k], w.dA_du[1, k], w.dA_du[2, k] = 2.0 * b0, 2.0 * b1, 2.0 * b2
        w.dA_du[3, k], w.dA_du[4, k], w.dA_du[5, k] = 2.0 * b3, 2.0 * b4, 2.0 * b5


@kernel
def add_column_changes(t, d, w, i, D, q):
    """Add to D[q] what columns of body i's joint, a user's, do otherwise than ride: (dS_k/dq_j - S_j x S_k) . F."""
    n0, n1, n2 = w.composite[i, 25], w.composite[i, 26], w.composite[i, 27]
    f0, f1, f2 = w.composite[i, 28], w.composite[i, 29], w.composite[i, 30]
    r0, r1, r2 = w.r[i, 0], w.r[i, 1], w.r[i, 2]
    H = d.H
    for k in range(t.first_dof[i], t.first_dof[i + 1]):
        for j in range(t.first_dof[i], t.first_dof[i + 1]):
            x0, x1, x2, x3, x4, x5 = column_derivative(t, d, i, k, j)
            e0, e1, e2 = cross(H[j, 0], H[j, 1], H[j, 2], H[k, 0], H[k, 1], H[k, 2])
            e3, e4, e5 = cross(H[j, 0], H[j, 1], H[j, 2], H[k, 3], H[k, 4], H[k, 5])
            x0, x1, x2, x3, x4, x5 = x0 - e0, x1 - e1, x2 - e2, x3 - e3, x4 - e4, x5 - e5
            a, b, c = cross(r0, r1, r2, x0, x1, x2)
            s = (x0 * n0 + x1 * n1 + x2 * n2) + ((x3 + a) * f0 + (x4 + b) * f1 + (x5 + c) * f2)
            D[q, k, j] += s


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
