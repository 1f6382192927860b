"""Joint transforms and motion columns.

Every function has the same shape. It is given F, the rotation of the joint's parent-side frame in world
axes, and the first coordinate k of body i; it writes the joint's motion columns H (world axes, about the
joint's child-side origin) and returns the child-side rotation in world axes (nine numbers) and the
displacement of the child-side origin from the parent-side one (world axes, [m]).

A column is [angular; linear]: V_rel = sum_k H_k u_k. Conventions of positions and velocities are those of
`kido.skeleton.joints.joint`. `velocity_product` adds what H loses or gains by its own motion: Hdot u, seen from
the parent-side frame.

How motion columns change with the coordinates of their own joint.

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
from kido.joints.chain import compound
from kido.joints.kinds import (
    BALL,
    COMPOUND,
    EULER,
    FREE,
    FREE_MIXED,
    PLANAR,
    PRISMATIC,
    REVOLUTE,
    SCREW,
    TRANSLATIONAL,
    UNIVERSAL,
    USER,
)
from kido.joints.tape import user_column_derivative, user_motion
from kido.math.so3 import axis_rotation, compose, cross, rotate, rotation_vector_to_matrix
from kido.math.trig import sincos


@inlined
def set_column(d, k, w0, w1, w2, v0, v1, v2):
    """H_k = [w; v]."""
    d.H[k, 0] = w0
    d.H[k, 1] = w1
    d.H[k, 2] = w2
    d.H[k, 3] = v0
    d.H[k, 4] = v1
    d.H[k, 5] = v2


@kernel
def turn(F, t, d, i, k, axis):
    """Rotation about one of the joint's axes, as its own coordinate k: writes the column, returns F R."""
    x, y, z = t.axes[i, axis], t.axes[i, axis + 1], t.axes[i, axis + 2]
    s, c = sincos(d.q[k])
    a, b, e = rotate(F, x, y, z)
    set_column(d, k, a, b, e, 0.0, 0.0, 0.0)
    return compose(F, axis_rotation(x, y, z, s, c))


@kernel
def slide(F, t, d, i, k, axis):
    """Translation along one of the joint's axes: writes the column, returns the displacement."""
    x, y, z = rotate(F, t.axes[i, axis], t.axes[i, axis + 1], t.axes[i, axis + 2])
    set_column(d, k, 0.0, 0.0, 0.0, x, y, z)
    q = d.q[k]
    return x * q, y * q, z * q


@inlined
def hinge(Rp, t, d, i, k):
    """Child-side rotation of a revolute joint from its parent body's; does not write the column.

    Row i of `hinge` holds A, B, C (3x3 each) in the parent body; the rotation there is
    A + B cos q + C sin q (Rodrigues). Most joints are of this kind, so it takes no detour over F.
    """
    s, c = sincos(d.q[k])
    T = t.hinge
    return compose(
        Rp,
        (
            T[i, 0] + c * T[i, 9] + s * T[i, 18],
            T[i, 1] + c * T[i, 10] + s * T[i, 19],
            T[i, 2] + c * T[i, 11] + s * T[i, 20],
            T[i, 3] + c * T[i, 12] + s * T[i, 21],
            T[i, 4] + c * T[i, 13] + s * T[i, 22],
            T[i, 5] + c * T[i, 14] + s * T[i, 23],
            T[i, 6] + c * T[i, 15] + s * T[i, 24],
            T[i, 7] + c * T[i, 16] + s * T[i, 25],
            T[i, 8] + c * T[i, 17] + s * T[i, 26],
        ),
    )


@inlined
def hinge_column(t, d, i, k):
    """Motion column of `hinge` from the child side's R: the joint turns about R a as well as about F a."""
    R, T = d.R, t.axes
    x, y, z = T[i, 0], T[i, 1], T[i, 2]
    set_column(
        d, k, R[i, 0] * x + R[i, 1] * y + R[i, 2] * z, R[i, 3] * x + R[i, 4] * y + R[i, 5] * z,
        R[i, 6] * x + R[i, 7] * y + R[i, 8] * z, 0.0, 0.0, 0.0,
    )  # fmt: skip


@kernel
def revolute(F, t, d, i, k):
    return turn(F, t, d, i, k, 0), 0.0, 0.0, 0.0


@kernel
def prismatic(F, t, d, i, k):
    x, y, z = slide(F, t, d, i, k, 0)
    return F, x, y, z


@kernel
def screw(F, t, d, i, k):
    R = turn(F, t, d, i, k, 0)
    pitch = t.axes[i, 9]  # [m/rad]
    x, y, z = d.H[k, 0] * pitch, d.H[k, 1] * pitch, d.H[k, 2] * pitch
    d.H[k, 3] = x
    d.H[k, 4] = y
    d.H[k, 5] = z
    q = d.q[k]
    return R, x * q, y * q, z * q


@kernel
def universal(F, t, d, i, k):
    R = turn(F, t, d, i, k, 0)
    return turn(R, t, d, i, k + 1, 3), 0.0, 0.0, 0.0


@kernel
def euler(F, t, d, i, k):
    R = turn(F, t, d, i, k, 0)
    R = turn(R, t, d, i, k + 1, 3)
    return turn(R, t, d, i, k + 2, 6), 0.0, 0.0, 0.0


@kernel
def body_axes_rotation(F, d, k):
    """F exp(q), with the body's own axes as angular columns k, k+1, k+2."""
    R = compose(F, rotation_vector_to_matrix(d.q[k], d.q[k + 1], d.q[k + 2]))
    set_column(d, k, R[0], R[3], R[6], 0.0, 0.0, 0.0)
    set_column(d, k + 1, R[1], R[4], R[7], 0.0, 0.0, 0.0)
    set_column(d, k + 2, R[2], R[5], R[8], 0.0, 0.0, 0.0)
    return R


@kernel
def linear_axes(R, d, k):
    """The axes of R as linear columns k, k+1, k+2."""
    set_column(d, k, 0.0, 0.0, 0.0, R[0], R[3], R[6])
    set_column(d, k + 1, 0.0, 0.0, 0.0, R[1], R[4], R[7])
    set_column(d, k + 2, 0.0, 0.0, 0.0, R[2], R[5], R[8])


@kernel
def ball(F, t, d, i, k):
    return body_axes_rotation(F, d, k), 0.0, 0.0, 0.0


@kernel
def planar(F, t, d, i, k):
    x, y, z = slide(F, t, d, i, k, 0)
    a, b, c = slide(F, t, d, i, k + 1, 3)
    return turn(F, t, d, i, k + 2, 6), x + a, y + b, z + c


@kernel
def translational(F, t, d, i, k):
    linear_axes(F, d, k)
    x, y, z = rotate(F, d.q[k], d.q[k + 1], d.q[k + 2])
    return F, x, y, z


@kernel
def free(F, t, d, i, k):
    R = body_axes_rotation(F, d, k)
    linear_axes(R, d, k + 3)
    x, y, z = rotate(F, d.q[k + 3], d.q[k + 4], d.q[k + 5])
    return R, x, y, z


@kernel
def free_mixed(F, t, d, i, k):
    R = body_axes_rotation(F, d, k)
    linear_axes(F, d, k + 3)
    x, y, z = rotate(F, d.q[k + 3], d.q[k + 4], d.q[k + 5])
    return R, x, y, z


@kernel
def joint_motion(F, t, d, i, k):
    """Dispatch on the joint kind of body i; a weld moves nothing."""
    kind = t.kind[i]
    if kind == REVOLUTE:
        return revolute(F, t, d, i, k)
    if kind == PRISMATIC:
        return prismatic(F, t, d, i, k)
    if kind == FREE:
        return free(F, t, d, i, k)
    if kind == FREE_MIXED:
        return free_mixed(F, t, d, i, k)
    if kind == BALL:
        return ball(F, t, d, i, k)
    if kind == EULER:
        return euler(F, t, d, i, k)
    if kind == UNIVERSAL:
        return universal(F, t, d, i, k)
    if kind == SCREW:
        return screw(F, t, d, i, k)
    if kind == PLANAR:
        return planar(F, t, d, i, k)
    if kind == TRANSLATIONAL:
        return translational(F, t, d, i, k)
    if kind == COMPOUND:
        return compound(F, t, d, i, k)
    if kind == USER:
        return user_motion(F, t, d, i, k)
    return F, 0.0, 0.0, 0.0


@kernel
def scaled_axis(d, k, u):
    """Angular part of H_k u."""
    return d.H[k, 0] * u, d.H[k, 1] * u, d.H[k, 2] * u


@kernel
def velocity_product(t, d, i, k, w0, w1, w2, v0, v1, v2):
    """Hdot u of body i's joint, [angular; linear], about the joint's child-side origin.

    [w; v] is the joint's relative velocity sum_k H_k u_k about that origin.
    """
    kind = t.kind[i]
    if kind == UNIVERSAL or kind == EULER:
        # Later axes are carried by earlier ones: sum over j < k of (h_j u_j) x (h_k u_k).
        a0, a1, a2 = scaled_axis(d, k, d.u[k])
        b0, b1, b2 = scaled_axis(d, k + 1, d.u[k + 1])
        e0, e1, e2 = cross(a0, a1, a2, b0, b1, b2)
        if kind == EULER:
            c0, c1, c2 = scaled_axis(d, k + 2, d.u[k + 2])
            f0, f1, f2 = cross(a0 + b0, a1 + b1, a2 + b2, c0, c1, c2)
            return e0 + f0, e1 + f1, e2 + f2, 0.0, 0.0, 0.0
        return e0, e1, e2, 0.0, 0.0, 0.0
    if kind == FREE:
        x, y, z = cross(w0, w1, w2, v0, v1, v2)
        return 0.0, 0.0, 0.0, x, y, z
    return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0


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
