"""Jacobians of points on bodies, and their rates. Theory reference, section a1: J = B* phi* H*.

Column k of the Jacobian of a point P moves P as if it were fixed to the body i of the coordinate:

    J_k = [w_k; v_k + w_k x (P - p_i)],    H_k = [w_k; v_k]

and with the column's rate Hdot_k = [w_p x w_k; w_p x v_k] + (joint's own rate), p the parent of i,

    Jdot_k = [wdot_k; vdot_k + wdot_k x (P - p_i) + w_k x (v_P - v_i)].

v_P is the velocity with which the point moves: the point of the body for the classic derivative, 0 for the
spatial one, which is the rate of the screw at a point fixed in space.
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.joints.motion import column_rate, hinge_column
from kido.kernels.kinematics import body_pose, body_velocity, has_hinge, rotation_of
from kido.math.so3 import cross, rotate


@kernel
def path_transforms(t, d, path):
    """R, p, l, H of the bodies of a path."""
    for n in range(path.body.shape[0]):
        i = path.body[n]
        body_pose(t, d, i)
        if has_hinge(t, i):
            hinge_column(t, d, i, t.first_dof[i])


@kernel
def path_velocities(t, d, path):
    """V and a of the bodies of a path."""
    for n in range(path.body.shape[0]):
        body_velocity(t, d, path.body[n])


@inlined
def end_of(path):
    """The body that a path leads to."""
    return path.body[path.body.shape[0] - 1]


@inlined
def point_of(d, i, x, y, z):
    """World position of a point of body i, given in its axes."""
    a, b, c = rotate(rotation_of(d, i), x, y, z)
    return d.p[i, 0] + a, d.p[i, 1] + b, d.p[i, 2] + c


@inlined
def point_velocity(d, i, px, py, pz):
    """Velocity of the point of body i that is at (px, py, pz) in the world."""
    x, y, z = cross(d.V[i, 0], d.V[i, 1], d.V[i, 2], px - d.p[i, 0], py - d.p[i, 1], pz - d.p[i, 2])
    return d.V[i, 3] + x, d.V[i, 4] + y, d.V[i, 5] + z


@kernel
def clear(J):
    """J = 0."""
    for r in range(J.shape[0]):
        for k in range(J.shape[1]):
            J[r, k] = 0.0


@kernel
def add_jacobian(t, d, path, px, py, pz, sign, J):
    """Add sign times the Jacobian, at the world point (px, py, pz), of the body a path leads to."""
    for n in range(path.body.shape[0]):
        i = path.body[n]
        x, y, z = px - d.p[i, 0], py - d.p[i, 1], pz - d.p[i, 2]
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            w0, w1, w2 = d.H[k, 0], d.H[k, 1], d.H[k, 2]
            a, b, c = cross(w0, w1, w2, x, y, z)
            J[0, k] += sign * w0
            J[1, k] += sign * w1
            J[2, k] += sign * w2
            J[3, k] += sign * (d.H[k, 3] + a)
            J[4, k] += sign * (d.H[k, 4] + b)
            J[5, k] += sign * (d.H[k, 5] + c)


@inlined
def full_column_rate(t, d, i, k):
    """Hdot_k of body i, the motion of its parent included: inertial rate about the moving body origin."""
    e0, e1, e2, e3, e4, e5 = column_rate(t, d, i, k)
    parent = t.parent[i]
    if parent >= 0:
        q0, q1, q2 = d.V[parent, 0], d.V[parent, 1], d.V[parent, 2]
        x, y, z = cross(q0, q1, q2, d.H[k, 0], d.H[k, 1], d.H[k, 2])
        e0 += x
        e1 += y
        e2 += z
        x, y, z = cross(q0, q1, q2, d.H[k, 3], d.H[k, 4], d.H[k, 5])
        e3 += x
        e4 += y
        e5 += z
    return e0, e1, e2, e3, e4, e5


@kernel
def add_jacobian_rate(t, d, path, px, py, pz, vx, vy, vz, sign, J):
    """Add sign times the rate of the Jacobian at a world point (px, py, pz) that moves with (vx, vy, vz)."""
    for n in range(path.body.shape[0]):
        i = path.body[n]
        x, y, z = px - d.p[i, 0], py - d.p[i, 1], pz - d.p[i, 2]
        dx, dy, dz = vx - d.V[i, 3], vy - d.V[i, 4], vz - d.V[i, 5]
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            e0, e1, e2, e3, e4, e5 = full_column_rate(t, d, i, k)
            a, b, c = cross(e0, e1, e2, x, y, z)
            m0, m1, m2 = cross(d.H[k, 0], d.H[k, 1], d.H[k, 2], dx, dy, dz)
            J[0, k] += sign * e0
            J[1, k] += sign * e1
            J[2, k] += sign * e2
            J[3, k] += sign * (e3 + a + m0)
            J[4, k] += sign * (e4 + b + m1)
            J[5, k] += sign * (e5 + c + m2)


@kernel
def turn_rate(w0, w1, w2, K, J):
    """J -= w x K, column by column: the rate of K as seen from a frame that turns with w."""
    for k in range(J.shape[1]):
        for r in range(0, 6, 3):
            x, y, z = cross(w0, w1, w2, K[r, k], K[r + 1, k], K[r + 2, k])
            J[r, k] -= x
            J[r + 1, k] -= y
            J[r + 2, k] -= z
