"""Kinematics, inertia and bias of flexible bodies and their nodes, in world axes about each link's own origin.

The body's frame is its inboard node's, where all modes vanish. A point of it is at rho + Phi eta + G(eta, eta) / 2 in
body axes, G what bending takes from its length (foreshortening), and a node turns by exp of the rotation vector
theta = Theta eta + T(eta, eta) / 2. The body's momentum is

    [h; l] = P_rr V + P_rf etadot,    P_rr = [J, S~; -S~, m],    P_rf = [r; s],    s_m = dS / d eta_m

with J(eta) quadratic, the first moment S(eta) quadratic, r(eta) linear and the modal mass P_ff constant. All else
follows from the kinetic energy as it is, by Lagrange's equations: whatever terms the modes bring, energy is conserved.
Source: Wallrapp and Schwertassek (1991); Jain and Rodriguez (1992); the form of the bias is our own.
"""

from __future__ import annotations

from kido.jit import inlined, kernel, where_positive
from kido.joints.frames import joint_frame, rotation_of
from kido.kernels.inertia import body_inertia
from kido.math.lie import left_jacobian_coefficients
from kido.math.so3 import (
    compose,
    cross,
    multiply_symmetric,
    rotate,
    rotate_inverse,
    rotate_symmetric,
)

# With x = n^2: (1 - cos n) / x and (n - sin n) / n^3 are sums of (-x)^k / (2 k + 2)! and (-x)^k / (2 k + 3)!; these are
# the coefficients of their derivatives by x.
_A = (-1 / 24, 2 / 720, -3 / 40320, 4 / 3628800, -5 / 479001600, 6 / 87178291200, -7 / 20922789888000)
_B = (-1 / 120, 2 / 5040, -3 / 362880, 4 / 39916800, -5 / 6227020800, 6 / 1307674368000, -7 / 355687428096000)
_SERIES = 0.25  # [rad^2] below which these are used


@inlined
def turning(a, b, n2, t0, t1, t2):
    """1 + a t~ + b t~ t~ of a rotation vector t, n2 its square.

    With the coefficients a and b of the left Jacobian it is that; with 1 - b n2 and a it is exp.
    """
    x, y, z = b * t0, b * t1, b * t2
    xy, xz, yz, c = x * t1, x * t2, y * t2, 1.0 - b * n2
    s0, s1, s2 = a * t0, a * t1, a * t2
    return c + x * t0, xy - s2, xz + s1, xy + s2, c + y * t1, yz - s0, xz - s1, yz + s0, c + z * t2


@kernel
def coefficient_rates(n2, a, b):
    """Derivatives by n2 = n^2 of both coefficients a and b of the left Jacobian."""
    p, q = 0.0, 0.0
    for k in range(6, -1, -1):
        p = p * n2 + _A[k]
        q = q * n2 + _B[k]
    large = n2 - _SERIES
    safe = where_positive(large, n2, 1.0)
    a, b = (0.5 * (1.0 - n2 * b) - a) / safe, (a - 3.0 * b) / (2.0 * safe)
    return where_positive(large, a, p), where_positive(large, b, q)


@kernel
def left_jacobian_rate(a, b, t0, t1, t2, x, y, z):
    """(dV/dt) x at the rate x of the rotation vector t, with a and b as in `left_jacobian`."""
    n2 = t0 * t0 + t1 * t1 + t2 * t2
    da, db = coefficient_rates(n2, a, b)
    s = 2.0 * (t0 * x + t1 * y + t2 * z)
    c0, c1, c2 = cross(t0, t1, t2, x, y, z)
    e0, e1, e2 = cross(t0, t1, t2, c0, c1, c2)
    f0, f1, f2 = cross(x, y, z, c0, c1, c2)
    da, db = da * s, db * s
    return da * c0 + db * e0 + b * f0, da * c1 + db * e1 + b * f1, da * c2 + db * e2 + b * f2


# Nodes -------------------------------------------------------------------------------------------------------


@inlined
def sum_of(columns, first, number, values, start, place=0):
    """Sum over modes of three numbers of each row, from `place` on, times values."""
    x, y, z = 0.0, 0.0, 0.0
    for m in range(number):
        s = values[start + m]
        x += columns[first + m, place] * s
        y += columns[first + m, place + 1] * s
        z += columns[first + m, place + 2] * s
    return x, y, z


@inlined
def sum_of_pairs(rows, pair, number, values, start, place):
    """Sum over pairs of modes of three numbers of each row, from `place` on, times values of both."""
    x, y, z = 0.0, 0.0, 0.0
    for m in range(number):
        g0, g1, g2 = sum_of(rows, pair + m * number, number, values, start, place)
        s = values[start + m]
        x += s * g0
        y += s * g1
        z += s * g2
    return x, y, z


@inlined
def turn_node(d, f, j, m0, number):
    """Rotation vector of node j, and its derivatives by the modes."""
    column, pair, turn = f.first_column[j], f.first_node_pair[j], f.modes.rotation
    t0, t1, t2 = 0.0, 0.0, 0.0
    for m in range(number):
        r0, r1, r2 = turn[column + m, 0], turn[column + m, 1], turn[column + m, 2]
        s = d.q[m0 + m]
        if f.twists[j] != 0:
            g0, g1, g2 = sum_of(f.modes.quadratic, pair + m * number, number, d.q, m0, 3)
            t0 += s * (r0 + 0.5 * g0)
            t1 += s * (r1 + 0.5 * g1)
            t2 += s * (r2 + 0.5 * g2)
            f.turning[column + m, 0], f.turning[column + m, 1], f.turning[column + m, 2] = r0 + g0, r1 + g1, r2 + g2
        else:
            t0 += s * r0
            t1 += s * r1
            t2 += s * r2
            f.turning[column + m, 0], f.turning[column + m, 1], f.turning[column + m, 2] = r0, r1, r2
    f.turned[j, 0], f.turned[j, 1], f.turned[j, 2] = t0, t1, t2
    return t0, t1, t2


@kernel
def node_pose(t, d, f, i):
    """R, p, l and Pi of link i, a node of its parent."""
    parent, j = t.parent[i], f.node_of_body[i]
    c = f.flex_of_body[parent]
    m0, number = f.first_mode[c], f.number[c]
    column, pair = f.first_column[j], f.first_node_pair[j]
    R = rotation_of(d, parent)
    t0, t1, t2 = turn_node(d, f, j, m0, number)
    n2 = t0 * t0 + t1 * t1 + t2 * t2
    a, b = left_jacobian_coefficients(n2)
    f.turned[j, 3], f.turned[j, 4] = a, b
    shift, turn = f.modes.translation, f.turning
    W = compose(R, turning(a, b, n2, t0, t1, t2))
    x, y, z = t.position_pj[i, 0], t.position_pj[i, 1], t.position_pj[i, 2]
    for m in range(number):
        g0, g1, g2 = sum_of(f.modes.quadratic, pair + m * number, number, d.q, m0)
        f0, f1, f2 = shift[column + m, 0], shift[column + m, 1], shift[column + m, 2]
        s = d.q[m0 + m]
        x += s * (f0 + 0.5 * g0)
        y += s * (f1 + 0.5 * g1)
        z += s * (f2 + 0.5 * g2)
        w0, w1, w2 = rotate(W, turn[column + m, 0], turn[column + m, 1], turn[column + m, 2])
        v0, v1, v2 = rotate(R, f0 + g0, f1 + g1, f2 + g2)
        set_row(f.Pi, column + m, w0, w1, w2, v0, v1, v2)
    x, y, z = rotate(R, x, y, z)
    N = joint_frame(t, i, compose(R, turning(1.0 - b * n2, a, n2, t0, t1, t2)))
    for k in range(9):
        d.R[i, k] = N[k]
    d.l[i, 0], d.l[i, 1], d.l[i, 2] = x, y, z
    d.p[i, 0], d.p[i, 1], d.p[i, 2] = d.p[parent, 0] + x, d.p[parent, 1] + y, d.p[parent, 2] + z


@inlined
def set_row(A, i, x0, x1, x2, x3, x4, x5):
    """Row i of A."""
    A[i, 0], A[i, 1], A[i, 2], A[i, 3], A[i, 4], A[i, 5] = x0, x1, x2, x3, x4, x5


@inlined
def add_row(A, i, x0, x1, x2, x3, x4, x5):
    """Add to row i of A."""
    A[i, 0] += x0
    A[i, 1] += x1
    A[i, 2] += x2
    A[i, 3] += x3
    A[i, 4] += x4
    A[i, 5] += x5


@inlined
def node_motion(f, c, j, values):
    """Pi times the values of flexible body c's modes, at its node j."""
    w0, w1, w2, v0, v1, v2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    m0, column = f.first_mode[c], f.first_column[j]
    for m in range(f.number[c]):
        s = values[m0 + m]
        w0 += f.Pi[column + m, 0] * s
        w1 += f.Pi[column + m, 1] * s
        w2 += f.Pi[column + m, 2] * s
        v0 += f.Pi[column + m, 3] * s
        v1 += f.Pi[column + m, 4] * s
        v2 += f.Pi[column + m, 5] * s
    return w0, w1, w2, v0, v1, v2


@kernel
def node_velocity(t, d, f, i):
    """V and the velocity product a of link i, a node of its parent."""
    parent, j = t.parent[i], f.node_of_body[i]
    c = f.flex_of_body[parent]
    m0, number = f.first_mode[c], f.number[c]
    column, pair = f.first_column[j], f.first_node_pair[j]
    R = rotation_of(d, parent)
    t0, t1, t2, a, b = f.turned[j, 0], f.turned[j, 1], f.turned[j, 2], f.turned[j, 3], f.turned[j, 4]
    x, y, z = sum_of(f.turning, column, number, d.u, m0)
    e0, e1, e2 = left_jacobian_rate(a, b, t0, t1, t2, x, y, z)
    if f.twists[j] != 0:
        x, y, z = sum_of_pairs(f.modes.quadratic, pair, number, d.u, m0, 3)
        x, y, z = rotate(turning(a, b, t0 * t0 + t1 * t1 + t2 * t2, t0, t1, t2), x, y, z)
        e0, e1, e2 = e0 + x, e1 + y, e2 + z
    e0, e1, e2 = rotate(R, e0, e1, e2)
    x, y, z = sum_of_pairs(f.modes.quadratic, pair, number, d.u, m0, 0)
    x, y, z = rotate(R, x, y, z)
    w0, w1, w2, v0, v1, v2 = node_motion(f, c, j, d.u)
    q0, q1, q2 = d.V[parent, 0], d.V[parent, 1], d.V[parent, 2]
    c0, c1, c2 = cross(q0, q1, q2, d.l[i, 0], d.l[i, 1], d.l[i, 2])
    a0, a1, a2 = cross(q0, q1, q2, w0, w1, w2)
    a3, a4, a5 = cross(q0, q1, q2, c0 + 2.0 * v0, c1 + 2.0 * v1, c2 + 2.0 * v2)
    set_row(d.a, i, a0 + e0, a1 + e1, a2 + e2, a3 + x, a4 + y, a5 + z)
    set_row(
        d.V, i, q0 + w0, q1 + w1, q2 + w2, d.V[parent, 3] + c0 + v0, d.V[parent, 4] + c1 + v1, d.V[parent, 5] + c2 + v2
    )


# Inertia and bias --------------------------------------------------------------------------------------------


@kernel
def deformed_inertia(t, d, f, i):
    """J and mc of link i, a flexible body with what is welded to its frame; its X and JD."""
    body_inertia(t, d, i)
    c = f.flex_of_body[i]
    m0, pair, number = f.first_mode[c], f.first_pair[c], f.number[c]
    R = rotation_of(d, i)
    L, slope = f.modes.linear, f.modes.slope
    j0, j1, j2, j3, j4, j5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    S0, S1, S2 = 0.0, 0.0, 0.0
    for m in range(m0, m0 + number):
        row = pair + (m - m0) * number
        k0, k1, k2, k3, k4, k5, r0, r1, r2, s0, s1, s2 = (
            L[m, 0], L[m, 1], L[m, 2], L[m, 3], L[m, 4], L[m, 5],
            L[m, 6], L[m, 7], L[m, 8], L[m, 9], L[m, 10], L[m, 11],
        )  # fmt: skip
        for n in range(number):
            e = d.q[m0 + n]
            k0 += slope[row + n, 0] * e
            k1 += slope[row + n, 1] * e
            k2 += slope[row + n, 2] * e
            k3 += slope[row + n, 3] * e
            k4 += slope[row + n, 4] * e
            k5 += slope[row + n, 5] * e
            r0 += slope[row + n, 6] * e
            r1 += slope[row + n, 7] * e
            r2 += slope[row + n, 8] * e
            s0 += slope[row + n, 9] * e
            s1 += slope[row + n, 10] * e
            s2 += slope[row + n, 11] * e
        e = 0.5 * d.q[m]  # a quadratic function is its linear term plus half of what the derivative gains
        S0 += e * (L[m, 9] + s0)
        S1 += e * (L[m, 10] + s1)
        S2 += e * (L[m, 11] + s2)
        j0 += e * (L[m, 0] + k0)
        j1 += e * (L[m, 1] + k1)
        j2 += e * (L[m, 2] + k2)
        j3 += e * (L[m, 3] + k3)
        j4 += e * (L[m, 4] + k4)
        j5 += e * (L[m, 5] + k5)
        set_row(f.JD, m, k0, k1, k2, k3, k4, k5)
        r0, r1, r2 = rotate(R, r0, r1, r2)
        s0, s1, s2 = rotate(R, s0, s1, s2)
        set_row(f.X, m, r0, r1, r2, s0, s1, s2)
    J = rotate_symmetric(R, (j0, j1, j2, j3, j4, j5))
    add_row(d.J, i, J[0], J[1], J[2], J[3], J[4], J[5])
    S0, S1, S2 = rotate(R, S0, S1, S2)
    d.mc[i, 0] += S0
    d.mc[i, 1] += S1
    d.mc[i, 2] += S2


@inlined
def modal_momentum(f, c, values):
    """Sum over modes of X times values: [angular; linear] momentum about the body's origin at these rates."""
    h0, h1, h2, h3, h4, h5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for m in range(f.first_mode[c], f.first_mode[c] + f.number[c]):
        s = values[m]
        h0 += f.X[m, 0] * s
        h1 += f.X[m, 1] * s
        h2 += f.X[m, 2] * s
        h3 += f.X[m, 3] * s
        h4 += f.X[m, 4] * s
        h5 += f.X[m, 5] * s
    return h0, h1, h2, h3, h4, h5


@kernel
def modal_bias(t, d, f, i):
    """Wrench that the rates of flexible link i's modes add to its gyroscopic one; writes zf.

    Stiffness and damping are forces, as those of joints are, and not in it.
    """
    c = f.flex_of_body[i]
    m0, pair, number = f.first_mode[c], f.first_pair[c], f.number[c]
    R = rotation_of(d, i)
    q0, q1, q2 = d.V[i, 0], d.V[i, 1], d.V[i, 2]
    w0, w1, w2 = rotate_inverse(R, q0, q1, q2)
    s = 1.0 - t.gravity_factor[i]
    g0, g1, g2 = s * t.gravity[0], s * t.gravity[1], s * t.gravity[2]
    swing = f.modes.swing
    # w . J_m w / 2 and the sum of J_m etadot_m go by the six numbers of J_m
    k0, k1, k2, k3, k4, k5 = 0.5 * w0 * w0, w0 * w1, w0 * w2, 0.5 * w1 * w1, w1 * w2, 0.5 * w2 * w2
    j0, j1, j2, j3, j4, j5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    n0, n1, n2, l0, l1, l2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for m in range(m0, m0 + number):
        row, e = pair + (m - m0) * number, d.u[m]
        c0, c1, c2, c3, c4, c5, c6, c7, c8 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for n in range(number):
            p, r = d.u[m0 + n], row + n
            c0 += swing[r, 0] * p
            c1 += swing[r, 1] * p
            c2 += swing[r, 2] * p
            c3 += swing[r, 3] * p
            c4 += swing[r, 4] * p
            c5 += swing[r, 5] * p
            c6 += swing[r, 6] * p
            c7 += swing[r, 7] * p
            c8 += swing[r, 8] * p
        n0 += e * c3
        n1 += e * c4
        n2 += e * c5
        l0 += e * c6
        l1 += e * c7
        l2 += e * c8
        b0, b1, b2, b3, b4, b5 = f.JD[m, 0], f.JD[m, 1], f.JD[m, 2], f.JD[m, 3], f.JD[m, 4], f.JD[m, 5]
        j0 += e * b0
        j1 += e * b1
        j2 += e * b2
        j3 += e * b3
        j4 += e * b4
        j5 += e * b5
        force = (w0 * c0 + w1 * c1 + w2 * c2) + (f.X[m, 3] * g0 + f.X[m, 4] * g1 + f.X[m, 5] * g2)
        f.zf[m] = force - ((b0 * k0 + b1 * k1 + b2 * k2) + (b3 * k3 + b4 * k4 + b5 * k5))
    x, y, z = multiply_symmetric((j0, j1, j2, j3, j4, j5), w0, w1, w2)
    n0, n1, n2 = rotate(R, n0 + x, n1 + y, n2 + z)
    l0, l1, l2 = rotate(R, l0, l1, l2)
    h0, h1, h2, h3, h4, h5 = modal_momentum(f, c, d.u)
    x, y, z = cross(q0, q1, q2, h0, h1, h2)
    a, b, e = cross(q0, q1, q2, h3, h4, h5)
    return n0 + x, n1 + y, n2 + z, l0 + 2.0 * a, l1 + 2.0 * b, l2 + 2.0 * e
