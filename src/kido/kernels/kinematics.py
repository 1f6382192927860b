"""Positions and velocities of bodies, from the root to the tips.

Theory reference, section 0: V(k) = phi*(p,k) V(p) + H*(k) u(k), with all vectors in world axes.
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.joints.chain import chain_velocity_product
from kido.joints.frames import IDENTITY, child_offset, joint_frame, rotation_of
from kido.joints.kinds import COMPOUND, REVOLUTE, USER
from kido.joints.motion import hinge, hinge_column, joint_motion, velocity_product
from kido.joints.tape import user_velocity_product
from kido.math.so3 import compose, cross, rotate


@kernel
def apply_child_offset(t, d, i, R, x, y, z):
    """Move from the joint's child-side frame to the body frame; shifts the motion columns too."""
    B = (
        t.rotation_jb[i, 0], t.rotation_jb[i, 1], t.rotation_jb[i, 2],
        t.rotation_jb[i, 3], t.rotation_jb[i, 4], t.rotation_jb[i, 5],
        t.rotation_jb[i, 6], t.rotation_jb[i, 7], t.rotation_jb[i, 8],
    )  # fmt: skip
    R = compose(R, B)
    ox, oy, oz = rotate(R, t.position_jb[i, 0], t.position_jb[i, 1], t.position_jb[i, 2])
    for k in range(t.first_dof[i], t.first_dof[i + 1]):
        a, b, c = cross(d.H[k, 0], d.H[k, 1], d.H[k, 2], ox, oy, oz)
        d.H[k, 3] += a
        d.H[k, 4] += b
        d.H[k, 5] += c
    return R, x + ox, y + oy, z + oz


@kernel
def general_motion(t, d, i, Rp):
    """Rotation of body i, and its origin from the joint's parent-side origin, for any kind of joint."""
    F = joint_frame(t, i, Rp)
    R, x, y, z = joint_motion(F, t, d, i, t.first_dof[i])
    if t.has_child_offset[i] != 0:
        R, x, y, z = apply_child_offset(t, d, i, R, x, y, z)
    return R, x, y, z


@inlined
def has_hinge(t, i):
    """Whether body i turns about an axis through its own origin, which takes the short way."""
    return t.kind[i] == REVOLUTE and t.has_child_offset[i] == 0


@inlined
def body_pose(t, d, i):
    """R, p and l of body i from its parent's and its joint's positions; H unless `has_hinge`."""
    Rp = IDENTITY
    px, py, pz = 0.0, 0.0, 0.0
    parent = t.parent[i]
    if parent >= 0:
        Rp = rotation_of(d, parent)
        px, py, pz = d.p[parent, 0], d.p[parent, 1], d.p[parent, 2]
    lx, ly, lz = rotate(Rp, t.position_pj[i, 0], t.position_pj[i, 1], t.position_pj[i, 2])
    if has_hinge(t, i):
        R = hinge(Rp, t, d, i, t.first_dof[i])
    else:
        R, x, y, z = general_motion(t, d, i, Rp)
        lx += x
        ly += y
        lz += z
    d.R[i, 0], d.R[i, 1], d.R[i, 2] = R[0], R[1], R[2]
    d.R[i, 3], d.R[i, 4], d.R[i, 5] = R[3], R[4], R[5]
    d.R[i, 6], d.R[i, 7], d.R[i, 8] = R[6], R[7], R[8]
    d.l[i, 0], d.l[i, 1], d.l[i, 2] = lx, ly, lz
    d.p[i, 0], d.p[i, 1], d.p[i, 2] = px + lx, py + ly, pz + lz


@inlined
def body_velocity(t, d, i):
    """V and the velocity-product acceleration a of body i.

    a = [w_p x dw; w_p x (w_p x l + 2 dv)] + Hdot u, where [dw; dv] = sum_k H_k u_k.
    """
    if has_hinge(t, i):
        hinge_velocity(t, d, i)
    else:
        general_velocity(t, d, i)


@inlined
def hinge_velocity(t, d, i):
    """`body_velocity` of a body with `has_hinge`: dv is 0, and the axis rides on the parent alone."""
    k = t.first_dof[i]
    s = d.u[k]
    w0, w1, w2 = d.H[k, 0] * s, d.H[k, 1] * s, d.H[k, 2] * s
    v0, v1, v2 = 0.0, 0.0, 0.0
    a0, a1, a2, a3, a4, a5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    parent = t.parent[i]
    if parent >= 0:
        q0, q1, q2 = d.V[parent, 0], d.V[parent, 1], d.V[parent, 2]
        a0, a1, a2 = cross(q0, q1, q2, w0, w1, w2)
        c0, c1, c2 = cross(q0, q1, q2, d.l[i, 0], d.l[i, 1], d.l[i, 2])
        a3, a4, a5 = cross(q0, q1, q2, c0, c1, c2)
        w0, w1, w2 = w0 + q0, w1 + q1, w2 + q2
        v0, v1, v2 = d.V[parent, 3] + c0, d.V[parent, 4] + c1, d.V[parent, 5] + c2
    d.V[i, 0], d.V[i, 1], d.V[i, 2] = w0, w1, w2
    d.V[i, 3], d.V[i, 4], d.V[i, 5] = v0, v1, v2
    d.a[i, 0], d.a[i, 1], d.a[i, 2] = a0, a1, a2
    d.a[i, 3], d.a[i, 4], d.a[i, 5] = a3, a4, a5


@kernel
def general_velocity(t, d, i):
    """`body_velocity` of any body."""
    first = t.first_dof[i]
    w0, w1, w2, v0, v1, v2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(first, t.first_dof[i + 1]):
        s = d.u[k]
        w0 += d.H[k, 0] * s
        w1 += d.H[k, 1] * s
        w2 += d.H[k, 2] * s
        v0 += d.H[k, 3] * s
        v1 += d.H[k, 4] * s
        v2 += d.H[k, 5] * s
    a0, a1, a2, a3, a4, a5 = joint_acceleration_bias(t, d, i, first, w0, w1, w2, v0, v1, v2)
    parent = t.parent[i]
    if parent >= 0:
        q0, q1, q2 = d.V[parent, 0], d.V[parent, 1], d.V[parent, 2]
        x, y, z = cross(q0, q1, q2, w0, w1, w2)
        a0 += x
        a1 += y
        a2 += z
        c0, c1, c2 = cross(q0, q1, q2, d.l[i, 0], d.l[i, 1], d.l[i, 2])
        x, y, z = cross(q0, q1, q2, c0 + 2.0 * v0, c1 + 2.0 * v1, c2 + 2.0 * v2)
        a3 += x
        a4 += y
        a5 += z
        w0 += q0
        w1 += q1
        w2 += q2
        v0 += d.V[parent, 3] + c0
        v1 += d.V[parent, 4] + c1
        v2 += d.V[parent, 5] + c2
    d.V[i, 0], d.V[i, 1], d.V[i, 2] = w0, w1, w2
    d.V[i, 3], d.V[i, 4], d.V[i, 5] = v0, v1, v2
    d.a[i, 0], d.a[i, 1], d.a[i, 2] = a0, a1, a2
    d.a[i, 3], d.a[i, 4], d.a[i, 5] = a3, a4, a5


@kernel
def joint_acceleration_bias(t, d, i, first, w0, w1, w2, v0, v1, v2):
    """Hdot u about the body origin; [w; v] is the joint's relative velocity there."""
    kind = t.kind[i]
    if kind == COMPOUND:
        return chain_velocity_product(t, d, i, first, w0, w1, w2, v0, v1, v2)
    if t.has_child_offset[i] == 0:
        if kind == USER:
            return user_velocity_product(t, d, i, first)
        return velocity_product(t, d, i, first, w0, w1, w2, v0, v1, v2)
    ox, oy, oz = child_offset(t, d, i)
    c0, c1, c2 = cross(w0, w1, w2, ox, oy, oz)
    if kind == USER:
        e0, e1, e2, e3, e4, e5 = user_velocity_product(t, d, i, first)
    else:
        e0, e1, e2, e3, e4, e5 = velocity_product(t, d, i, first, w0, w1, w2, v0 - c0, v1 - c1, v2 - c2)
    x, y, z = cross(e0, e1, e2, ox, oy, oz)
    a, b, c = cross(w0, w1, w2, c0, c1, c2)
    return e0, e1, e2, e3 + x + a, e4 + y + b, e5 + z + c


@kernel
def transforms(t, d, first, last):
    """R, p, l, H of bodies first..last-1."""
    for i in range(first, last):
        body_pose(t, d, i)
        if has_hinge(t, i):
            hinge_column(t, d, i, t.first_dof[i])


@kernel
def poses(t, d, first, last):
    """R, p, l of bodies first..last-1."""
    for i in range(first, last):
        body_pose(t, d, i)


@kernel
def velocities(t, d, first, last):
    """V and a of bodies first..last-1."""
    for i in range(first, last):
        body_velocity(t, d, i)
