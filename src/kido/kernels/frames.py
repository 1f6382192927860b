"""Motion of one frame on another, and as a third sees it: poses (4, 4), motions (6,) of origins in world axes.

Velocities are [w; v] of a frame's origin, accelerations [wdot; classic acceleration] of it. With r from the
origin of A to a point of B, all as seen from the world, the motion of B as A sees it is

    w_r = w_B - w_A                              v_r = v_B - v_A - w_A x r
    wdot_r = wdot_B - wdot_A - w_A x w_B         a_r = a_B - a_A - wdot_A x r - 2 w_A x v_r - w_A x (w_A x r)

Source: DART report, section 2.4, equation (1), whose Coriolis term prints w_BA for w_A.
"""

from __future__ import annotations

from kido.jit import direct_entry, inlined
from kido.math.so3 import cross, rotate, rotate_inverse


@inlined
def rotation(X):
    """Rotation of a pose as nine numbers."""
    return X[0, 0], X[0, 1], X[0, 2], X[1, 0], X[1, 1], X[1, 2], X[2, 0], X[2, 1], X[2, 2]


@direct_entry("i8(f8[:,::1],f8[:,::1],f8[:,::1])")
def compose_poses(P, Q, X):
    """X = P Q."""
    for r in range(3):
        a, b, c = P[r, 0], P[r, 1], P[r, 2]
        X[r, 0] = a * Q[0, 0] + b * Q[1, 0] + c * Q[2, 0]
        X[r, 1] = a * Q[0, 1] + b * Q[1, 1] + c * Q[2, 1]
        X[r, 2] = a * Q[0, 2] + b * Q[1, 2] + c * Q[2, 2]
        X[r, 3] = a * Q[0, 3] + b * Q[1, 3] + c * Q[2, 3] + P[r, 3]
    X[3, 0], X[3, 1], X[3, 2], X[3, 3] = 0.0, 0.0, 0.0, 1.0
    return 0


@direct_entry("i8(f8[:,::1],f8[:,::1],f8[:,::1])")
def pose_seen_from(P, Q, X):
    """X = P^-1 Q."""
    R = rotation(P)
    for k in range(3):
        X[0, k], X[1, k], X[2, k] = rotate_inverse(R, Q[0, k], Q[1, k], Q[2, k])
    X[0, 3], X[1, 3], X[2, 3] = rotate_inverse(R, Q[0, 3] - P[0, 3], Q[1, 3] - P[1, 3], Q[2, 3] - P[2, 3])
    X[3, 0], X[3, 1], X[3, 2], X[3, 3] = 0.0, 0.0, 0.0, 1.0
    return 0


@direct_entry("i8(f8[:,::1],f8[::1],f8[:,::1],f8[::1],f8[::1])")
def velocity_on(P, VP, X, V_rel, V):
    """Velocity of a frame with pose X on a parent with pose P and velocity VP.

    Args:
        V_rel: spatial velocity relative to the parent, in the frame's own axes.
    """
    w0, w1, w2 = VP[0], VP[1], VP[2]
    l0, l1, l2 = X[0, 3] - P[0, 3], X[1, 3] - P[1, 3], X[2, 3] - P[2, 3]
    c0, c1, c2 = cross(w0, w1, w2, l0, l1, l2)
    R = rotation(X)
    x, y, z = rotate(R, V_rel[0], V_rel[1], V_rel[2])
    V[0], V[1], V[2] = w0 + x, w1 + y, w2 + z
    x, y, z = rotate(R, V_rel[3], V_rel[4], V_rel[5])
    V[3], V[4], V[5] = VP[3] + c0 + x, VP[4] + c1 + y, VP[5] + c2 + z
    return 0


@direct_entry("i8(f8[:,::1],f8[::1],f8[::1],f8[:,::1],f8[::1],f8[::1],f8[::1])")
def acceleration_on(P, VP, AP, X, V_rel, A_rel, A):
    """Acceleration of a frame with pose X on a moving parent.

    Args:
        V_rel, A_rel: spatial velocity and spatial acceleration relative to the parent, in the frame's own axes.
    """
    R = rotation(X)
    w0, w1, w2 = VP[0], VP[1], VP[2]
    l0, l1, l2 = X[0, 3] - P[0, 3], X[1, 3] - P[1, 3], X[2, 3] - P[2, 3]
    x0, x1, x2 = rotate(R, V_rel[0], V_rel[1], V_rel[2])
    y0, y1, y2 = rotate(R, V_rel[3], V_rel[4], V_rel[5])
    e0, e1, e2 = rotate(R, A_rel[0], A_rel[1], A_rel[2])
    f0, f1, f2 = rotate(R, A_rel[3], A_rel[4], A_rel[5])
    g0, g1, g2 = cross(w0, w1, w2, x0, x1, x2)
    A[0], A[1], A[2] = AP[0] + g0 + e0, AP[1] + g1 + e1, AP[2] + g2 + e2
    # wdot x l + w x (w x l + 2 v) + (spatial + w_rel x v)
    a0, a1, a2 = cross(AP[0], AP[1], AP[2], l0, l1, l2)
    c0, c1, c2 = cross(w0, w1, w2, l0, l1, l2)
    b0, b1, b2 = cross(w0, w1, w2, c0 + 2.0 * y0, c1 + 2.0 * y1, c2 + 2.0 * y2)
    h0, h1, h2 = cross(x0, x1, x2, y0, y1, y2)
    A[3] = AP[3] + a0 + b0 + f0 + h0
    A[4] = AP[4] + a1 + b1 + f1 + h1
    A[5] = AP[5] + a2 + b2 + f2 + h2
    return 0


@inlined
def point_velocity(X, V, r):
    """A point's place and velocity; r in the frame's axes from its origin."""
    r0, r1, r2 = rotate(rotation(X), r[0], r[1], r[2])
    c0, c1, c2 = cross(V[0], V[1], V[2], r0, r1, r2)
    return r0, r1, r2, V[3] + c0, V[4] + c1, V[5] + c2


@inlined
def velocity_seen(X, V, r, XA, VA):
    """Velocity [w; v] of a point of a frame as frame A sees it, and the point from A's origin; world axes."""
    r0, r1, r2, v0, v1, v2 = point_velocity(X, V, r)
    l0, l1, l2 = X[0, 3] + r0 - XA[0, 3], X[1, 3] + r1 - XA[1, 3], X[2, 3] + r2 - XA[2, 3]
    c0, c1, c2 = cross(VA[0], VA[1], VA[2], l0, l1, l2)
    w0, w1, w2 = V[0] - VA[0], V[1] - VA[1], V[2] - VA[2]
    return w0, w1, w2, v0 - VA[3] - c0, v1 - VA[4] - c1, v2 - VA[5] - c2, l0, l1, l2


@direct_entry("i8(f8[:,::1],f8[::1],f8[::1],f8[:,::1],f8[::1],f8[:,::1],f8[::1])")
def relative_velocity(X, V, r, XA, VA, XF, out):
    """[w; v] of the point r of a frame (X, V) as A sees it, in the axes of F."""
    w0, w1, w2, v0, v1, v2, _, _, _ = velocity_seen(X, V, r, XA, VA)
    F = rotation(XF)
    out[0], out[1], out[2] = rotate_inverse(F, w0, w1, w2)
    out[3], out[4], out[5] = rotate_inverse(F, v0, v1, v2)
    return 0


@direct_entry("i8(f8[:,::1],f8[::1],f8[::1],f8[::1],f8[:,::1],f8[::1],f8[::1],f8[:,::1],i8,f8[::1])")
def relative_acceleration(X, V, A, r, XA, VA, AA, XF, spatial, out):
    """[wdot; a] of the point r of a frame (X, V, A) as A sees it, in the axes of F.

    Args:
        spatial: 0: the linear part is the point's classic acceleration; 1: Featherstone's, less w_r x v_r.
    """
    w0, w1, w2, v0, v1, v2, l0, l1, l2 = velocity_seen(X, V, r, XA, VA)
    r0, r1, r2, _, _, _ = point_velocity(X, V, r)
    a0, a1, a2 = cross(A[0], A[1], A[2], r0, r1, r2)
    c0, c1, c2 = cross(V[0], V[1], V[2], r0, r1, r2)
    b0, b1, b2 = cross(V[0], V[1], V[2], c0, c1, c2)
    a0 += A[3] + b0 - AA[3]
    a1 += A[4] + b1 - AA[4]
    a2 += A[5] + b2 - AA[5]
    x, y, z = cross(AA[0], AA[1], AA[2], l0, l1, l2)
    c0, c1, c2 = cross(VA[0], VA[1], VA[2], l0, l1, l2)
    b0, b1, b2 = cross(VA[0], VA[1], VA[2], c0 + 2.0 * v0, c1 + 2.0 * v1, c2 + 2.0 * v2)
    a0 -= x + b0
    a1 -= y + b1
    a2 -= z + b2
    if spatial != 0:
        x, y, z = cross(w0, w1, w2, v0, v1, v2)
        a0 -= x
        a1 -= y
        a2 -= z
    x, y, z = cross(VA[0], VA[1], VA[2], V[0], V[1], V[2])
    F = rotation(XF)
    out[0], out[1], out[2] = rotate_inverse(F, A[0] - AA[0] - x, A[1] - AA[1] - y, A[2] - AA[2] - z)
    out[3], out[4], out[5] = rotate_inverse(F, a0, a1, a2)
    return 0
