"""How motion columns change with the coordinates of their own joint.

Coordinate k of body i has the column H_k = [w_k; v_k], world axes, about the body's origin, which itself moves.
Moving coordinate j of the same joint (along its velocity, on the joint's manifold) changes it in one of two ways:

* H_k rides on coordinate j, as a later axis of a chain, or any axis of a joint whose axes are the moving body's
  own: it turns with w_j, so dH_k = [w_j x w_k; w_j x v_k].
* It does not: the screw stays, and only the body's origin moves along it: dH_k = [0; w_k x v_j].

Columns of a user's joint have derivatives of their own.

Columns also ride on all coordinates nearer to the root, but that is for the caller to add.
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.joints.kinds import BALL, FREE, FREE_MIXED, USER
from kido.joints.user import user_column_derivative
from kido.math.so3 import cross


@inlined
def rides_on(t, i, k, j):
    """Whether column k of body i is carried by coordinate j of the same joint."""
    kind = t.kind[i]
    if kind == BALL or kind == FREE:
        return True
    if kind == FREE_MIXED:  # axes of rotation ride on the body, those of translation on the parent side
        return k < t.first_dof[i] + 3
    return j < k


@kernel
def column_derivative(t, d, i, k, j):
    """dH_k / dq_j, [angular; linear], of two coordinates k and j of body i's joint; needs H."""
    if t.kind[i] == USER:
        return user_column_derivative(t, d, i, k, j)
    H = d.H
    if rides_on(t, i, k, j):
        x, y, z = cross(H[j, 0], H[j, 1], H[j, 2], H[k, 0], H[k, 1], H[k, 2])
        a, b, c = cross(H[j, 0], H[j, 1], H[j, 2], H[k, 3], H[k, 4], H[k, 5])
        return x, y, z, a, b, c
    a, b, c = cross(H[k, 0], H[k, 1], H[k, 2], H[j, 3], H[j, 4], H[j, 5])
    return 0.0, 0.0, 0.0, a, b, c


@kernel
def column_rate(t, d, i, k):
    """Hdot_k = sum_j dH_k/dq_j u_j, [angular; linear], with the joint's parent side at rest; needs H.

    The rate seen from the world has the parent body's angular velocity w_p in it as well: + [w_p x w_k; w_p x v_k].
    """
    h0, h1, h2, h3, h4, h5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(t.first_dof[i], t.first_dof[i + 1]):
        s = d.u[j]
        x0, x1, x2, x3, x4, x5 = column_derivative(t, d, i, k, j)
        h0 += s * x0
        h1 += s * x1
        h2 += s * x2
        h3 += s * x3
        h4 += s * x4
        h5 += s * x5
    return h0, h1, h2, h3, h4, h5
