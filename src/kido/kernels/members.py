"""What is asked of each body, also of those welded into a link: inertias, regressors, reaction wrenches.

The ten inertial parameters of a body are pi = [m, m c (3), J about its origin (xx, xy, xz, yy, yz, zz)], in its own
axes. Its equation of motion is linear in them:

    f = m a + wdot x mc + w x (w x mc),    N = mc x a + J wdot + w x (J w),    a = acceleration of the origin - g.

Source: Atkeson, An, Hollerbach (1986), "Estimation of inertial parameters of manipulator loads and links".

A link is several bodies of the skeleton when some are welded; what a body passes on to the one that it hangs on is then
all of its own, as if handed through a hinge that is prescribed. Theory reference, sections a3 and a5:

    R(k) = M(k) + sum_c phi R(c) phi*,      P(k) = M(k) + sum_c phi P+(c) phi*,     h(k) = M(k) V(k) + sum_c phi h(c)
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.kernels.articulated import yielding_inertia
from kido.kernels.inertia import add_shifted, read_inertia, rigid_momentum, write_rigid
from kido.kernels.kinematics import rotation_of
from kido.math.so3 import compose, cross, multiply_symmetric, rotate, rotate_inverse, rotate_symmetric


@inlined
def member_rotation(d, s, b):
    """Rotation of body b to the world."""
    Y = s.pose
    return compose(
        rotation_of(d, s.link[b]),
        (Y[b, 0], Y[b, 1], Y[b, 2], Y[b, 4], Y[b, 5], Y[b, 6], Y[b, 8], Y[b, 9], Y[b, 10]),
    )


@inlined
def member_arm(d, s, b):
    """Origin of body b from its link's, world axes."""
    return rotate(rotation_of(d, s.link[b]), s.pose[b, 3], s.pose[b, 7], s.pose[b, 11])


@inlined
def gather_shifted(s, out):
    """Add to row b of `out` (forces or momenta about the bodies' origins, world axes) the rows of all below body b."""
    p = s.position
    for b in range(s.parent.shape[0] - 1, -1, -1):
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


@inlined
def member_acceleration(t, d, s, b, rx, ry, rz):
    """Acceleration less gravity of the origin of body b, whose arm on its link is r; world axes."""
    i = s.link[b]
    w0, w1, w2 = d.V[i, 0], d.V[i, 1], d.V[i, 2]
    x, y, z = cross(w0, w1, w2, rx, ry, rz)
    c0, c1, c2 = cross(w0, w1, w2, x, y, z)
    e0, e1, e2 = cross(d.A[i, 0], d.A[i, 1], d.A[i, 2], rx, ry, rz)
    g = 1.0 - t.gravity_factor[i]  # A is less gravity for all bodies
    return (
        d.A[i, 3] + e0 + c0 + g * t.gravity[0],
        d.A[i, 4] + e1 + c1 + g * t.gravity[1],
        d.A[i, 5] + e2 + c2 + g * t.gravity[2],
    )


@inlined
def write_torques(Y, k, c, R, H, row, r, a, w, e):
    """Ten entries of Y, in row k from column c: of a body at the arm r from where H[row] is the motion of coordinate k.

    Args:
        R: rotation of the body.
        a, w, e: acceleration less gravity, angular velocity and angular acceleration in its axes.
    """
    rx, ry, rz = r
    a0, a1, a2 = a
    w0, w1, w2 = w
    e0, e1, e2 = e
    h0, h1, h2 = H[row, 0], H[row, 1], H[row, 2]
    x, y, z = cross(h0, h1, h2, rx, ry, rz)
    v0, v1, v2 = rotate_inverse(R, H[row, 3] + x, H[row, 4] + y, H[row, 5] + z)
    h0, h1, h2 = rotate_inverse(R, h0, h1, h2)
    # Rows of f and N dotted with the column [h; v] at the body's origin.
    x0, x1, x2 = cross(a0, a1, a2, h0, h1, h2)
    y0, y1, y2 = cross(v0, v1, v2, e0, e1, e2)
    z0, z1, z2 = cross(v0, v1, v2, w0, w1, w2)
    z0, z1, z2 = cross(z0, z1, z2, w0, w1, w2)
    g0, g1, g2 = cross(h0, h1, h2, w0, w1, w2)
    Y[k, c] = v0 * a0 + v1 * a1 + v2 * a2
    Y[k, c + 1], Y[k, c + 2], Y[k, c + 3] = x0 + y0 + z0, x1 + y1 + z1, x2 + y2 + z2
    Y[k, c + 4] = h0 * e0 + g0 * w0
    Y[k, c + 5] = (h0 * e1 + h1 * e0) + (g0 * w1 + g1 * w0)
    Y[k, c + 6] = (h0 * e2 + h2 * e0) + (g0 * w2 + g2 * w0)
    Y[k, c + 7] = h1 * e1 + g1 * w1
    Y[k, c + 8] = (h1 * e2 + h2 * e1) + (g1 * w2 + g2 * w1)
    Y[k, c + 9] = h2 * e2 + g2 * w2


@kernel
def torque_regressor(t, d, s, Y):
    """Y (dofs, 10 bodies) with (joint forces of the current accelerations) = Y pi; V and A must be current."""
    for r in range(Y.shape[0]):
        for c in range(Y.shape[1]):
            Y[r, c] = 0.0
    for b in range(s.link.shape[0]):
        link = s.link[b]
        R = member_rotation(d, s, b)
        rx, ry, rz = member_arm(d, s, b)
        a0, a1, a2 = member_acceleration(t, d, s, b, rx, ry, rz)
        a0, a1, a2 = rotate_inverse(R, a0, a1, a2)
        w0, w1, w2 = rotate_inverse(R, d.V[link, 0], d.V[link, 1], d.V[link, 2])
        e0, e1, e2 = rotate_inverse(R, d.A[link, 0], d.A[link, 1], d.A[link, 2])
        i = link
        while i >= 0:
            for k in range(t.first_dof[i], t.first_dof[i + 1]):
                write_torques(Y, k, 10 * b, R, d.H, k, (rx, ry, rz), (a0, a1, a2), (w0, w1, w2), (e0, e1, e2))
            rx += d.l[i, 0]
            ry += d.l[i, 1]
            rz += d.l[i, 2]
            i = t.parent[i]


@kernel
def energy_regressor(t, d, s, out):
    """K and U, rows of out (2, 10 bodies): kinetic energy = K . pi, gravity's potential energy = U . pi; needs V."""
    for b in range(s.link.shape[0]):
        i = s.link[b]
        R = member_rotation(d, s, b)
        rx, ry, rz = member_arm(d, s, b)
        x, y, z = cross(d.V[i, 0], d.V[i, 1], d.V[i, 2], rx, ry, rz)
        v0, v1, v2 = rotate_inverse(R, d.V[i, 3] + x, d.V[i, 4] + y, d.V[i, 5] + z)
        w0, w1, w2 = rotate_inverse(R, d.V[i, 0], d.V[i, 1], d.V[i, 2])
        g = -t.gravity_factor[i]
        g0, g1, g2 = g * t.gravity[0], g * t.gravity[1], g * t.gravity[2]
        c = 10 * b
        out[0, c] = 0.5 * (v0 * v0 + v1 * v1 + v2 * v2)
        out[0, c + 1], out[0, c + 2], out[0, c + 3] = cross(v0, v1, v2, w0, w1, w2)
        out[0, c + 4], out[0, c + 5], out[0, c + 6] = 0.5 * w0 * w0, w0 * w1, w0 * w2
        out[0, c + 7], out[0, c + 8], out[0, c + 9] = 0.5 * w1 * w1, w1 * w2, 0.5 * w2 * w2
        out[1, c] = g0 * (d.p[i, 0] + rx) + g1 * (d.p[i, 1] + ry) + g2 * (d.p[i, 2] + rz)
        out[1, c + 1], out[1, c + 2], out[1, c + 3] = rotate_inverse(R, g0, g1, g2)
        for k in range(c + 4, c + 10):
            out[1, k] = 0.0


@kernel
def reaction_wrenches(t, d, s, external, out):
    """Wrench that the joint of each body carries to it, about its origin, world axes; V and A must be current.

    f(b) = M A + b - f_ext + sum over the bodies that hang on it, welded or jointed.

    Args:
        external: (bodies, 6) external wrench on each body, about its origin, world axes.
        out: (bodies, 6).
    """
    n = s.link.shape[0]
    K = s.inertia
    for b in range(n):
        i = s.link[b]
        R = member_rotation(d, s, b)
        rx, ry, rz = member_arm(d, s, b)
        s.position[b, 0], s.position[b, 1], s.position[b, 2] = d.p[i, 0] + rx, d.p[i, 1] + ry, d.p[i, 2] + rz
        a0, a1, a2 = member_acceleration(t, d, s, b, rx, ry, rz)
        a0, a1, a2 = rotate_inverse(R, a0, a1, a2)
        w0, w1, w2 = rotate_inverse(R, d.V[i, 0], d.V[i, 1], d.V[i, 2])
        e0, e1, e2 = rotate_inverse(R, d.A[i, 0], d.A[i, 1], d.A[i, 2])
        J = (K[b, 4], K[b, 5], K[b, 6], K[b, 7], K[b, 8], K[b, 9])
        c = (K[b, 1], K[b, 2], K[b, 3])
        n0, n1, n2, f0, f1, f2 = rigid_momentum(J, c, K[b, 0], e0, e1, e2, a0, a1, a2)
        j0, j1, j2 = multiply_symmetric(J, w0, w1, w2)
        x, y, z = cross(w0, w1, w2, j0, j1, j2)
        m0, m1, m2 = cross(w0, w1, w2, c[0], c[1], c[2])
        g0, g1, g2 = cross(w0, w1, w2, m0, m1, m2)
        n0, n1, n2 = rotate(R, n0 + x, n1 + y, n2 + z)
        f0, f1, f2 = rotate(R, f0 + g0, f1 + g1, f2 + g2)
        out[b, 0], out[b, 1], out[b, 2] = n0 - external[b, 0], n1 - external[b, 1], n2 - external[b, 2]
        out[b, 3], out[b, 4], out[b, 5] = f0 - external[b, 3], f1 - external[b, 4], f2 - external[b, 5]
    gather_shifted(s, out)


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
    gather_shifted(s, out)
