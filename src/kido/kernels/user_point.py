"""Derivatives along the coordinates of a user's joint, whose columns neither ride on one another nor stay.

What is beyond the joint is carried along as with any other (`kido.kernels.common_point`), from the velocity and
acceleration of the joint's own body, whose derivatives are those of the kinematic recursion itself:

    w = w_p + dw,  v = v_p + w_p x l + dv                          with [dw; dv] = H u
    wdot = wdot_p + w_p x dw + ...,  a = a_p + wdot_p x l + w_p x (w_p x l + 2 dv) + ...      with ... = H udot + Hdot u

Velocities are rates of positions, so dA/du_k has Sdot_k = dV_k.
"""

from __future__ import annotations

from kido.jit import kernel
from kido.joints.rates import column_derivative
from kido.joints.user import evaluate_velocity_products, user_velocity_product_derivative
from kido.kernels.spatial import cross_motion
from kido.math.so3 import cross


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
