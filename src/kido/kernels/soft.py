"""Dynamics of links with a soft skin: the points' share of the articulated-body sweep.

A point of mass m at x = X0 + q in the axes of its link moves with V = [w; v], x and its rate qd. With eta = 2 w x qd
its equation is

    S qdd = r - M (A_x + w x (w x x)),      r = f_ext - (Kv + Ke L) q - Kd qd - M eta

where A_x is the acceleration [wdot x x + vdot] of the link (with minus gravity), S the matrix
below, q taken at mid-step and qd at its start: springs act at the middle of the step, damping
(with that of springs too stiff for the step) at its end. The wrench that the skin takes from the link is that of the
frozen skin plus

    sum_k X_k^T (m_k qdd_k + m_k eta_k - f_ext,k),      X_k = [-x_k x, 1]

Eliminating qdd takes X^T M S^-1 M X off the link's inertia, and adds X^T M S^-1 (r - M w x (w x x)) to its bias. With
a = S^-1 M 1 and b = S^-1 M x, one number and one vector for each point, both are sums over the points.
Source: theory reference, section f (one point: Pi = m - m^2 psi); the coupled implicit springs are our own.

The matrix of a soft body's free points is S = M + h Kd + h^2 ((1/4 + e_v) Kv + (1/4 + e_e) Ke L). It is kept as a
banded factor. L is the Laplacian of the mesh of springs. S is the same for all three directions. Rows of frozen points
are those of the identity, without couplings, so that the structure of the Cholesky factor never changes.

Springs at the middle of the step neither gain nor lose energy, which leaves those that are much faster than the step
to ring for ever. So a spring also has a damper of e h times its stiffness, at the end of the step, with

    e = (1/4) s / (s + 4),    s = h^2 k / m      (k: Kv, or Ke times twice the number of neighbours; m: of a point)

At s = 1 it costs an oscillation 2.5 % of the critical damping, at s = 0.01 3e-5: it is of the order of the method's
other errors, h^2, and vanishes with them. For stiff springs the amplitude falls by 0.7 in a step.
"""

from __future__ import annotations

import math

from kido.jit import kernel
from kido.joints.frames import rotation_of
from kido.math.so3 import cross, rotate, rotate_inverse, rotate_symmetric


@kernel
def numerical_damping(so, s, h):
    """e_v and e_e: dampers of springs as shares of h times their stiffness."""
    first, last = so.first[s], so.first[s + 1]
    mass = 0.0
    for i in range(first, last):
        mass += so.mass[i]
    mass /= last - first
    degree = (so.neighbor_first[last] - so.neighbor_first[first]) / (last - first)
    v = h * h * so.kv[s] / mass
    e = 2.0 * degree * h * h * so.ke[s] / mass
    return 0.25 * v / (v + 4.0), 0.25 * e / (e + 4.0)


@kernel
def factorize(so, s, h):
    """Make the factor of soft body s for the time step h."""
    first, last = so.first[s], so.first[s + 1]
    band, at = so.band[s], so.band_at[s]
    width = band + 1
    kv, ke, kd = so.kv[s], so.ke[s], so.kd[s]
    ev, ee = numerical_damping(so, s, h)
    soft_v, soft_e = (0.25 + ev) * h * h * kv, (0.25 + ee) * h * h * ke
    for k in range(at, so.band_at[s + 1]):
        so.factor[k] = 0.0
    for i in range(first, last):
        row = so.place[i]
        diagonal = at + row * width + band
        if so.frozen[i] != 0:
            so.factor[diagonal] = 1.0
            continue
        degree = so.neighbor_first[i + 1] - so.neighbor_first[i]
        so.factor[diagonal] = so.mass[i] + h * kd + soft_v + soft_e * degree
        if ke != 0.0:
            for e in range(so.neighbor_first[i], so.neighbor_first[i + 1]):
                j = so.neighbor[e]
                other = so.place[j]
                if other < row and so.frozen[j] == 0:
                    so.factor[diagonal - (row - other)] -= soft_e
    for row in range(last - first):
        start = max(0, row - band)
        base = at + row * width + band - row  # entry of column c is base + c
        for c in range(start, row):
            left = at + c * width + band - c
            x = so.factor[base + c]
            for k in range(max(start, c - band), c):
                x -= so.factor[base + k] * so.factor[left + k]
            so.factor[base + c] = x / so.factor[left + c]
        x = so.factor[base + row]
        for k in range(start, row):
            x -= so.factor[base + k] * so.factor[base + k]
        so.factor[base + row] = math.sqrt(x)
    so.factored[s] = h


@kernel
def solve_columns(so, s):
    """Replace the four columns X of `column` by S^-1 X; rows in the factor's order."""
    first = so.first[s]
    n = so.first[s + 1] - first
    band, at = so.band[s], so.band_at[s]
    X = so.column
    for row in range(n):
        base = at + row * (band + 1) + band - row
        x0, x1, x2, x3 = X[first + row, 0], X[first + row, 1], X[first + row, 2], X[first + row, 3]
        for k in range(max(0, row - band), row):
            f = so.factor[base + k]
            x0 -= f * X[first + k, 0]
            x1 -= f * X[first + k, 1]
            x2 -= f * X[first + k, 2]
            x3 -= f * X[first + k, 3]
        f = 1.0 / so.factor[base + row]
        X[first + row, 0], X[first + row, 1], X[first + row, 2], X[first + row, 3] = x0 * f, x1 * f, x2 * f, x3 * f
    for row in range(n - 1, -1, -1):
        base = at + row * (band + 1) + band - row
        f = 1.0 / so.factor[base + row]
        x0, x1 = X[first + row, 0] * f, X[first + row, 1] * f
        x2, x3 = X[first + row, 2] * f, X[first + row, 3] * f
        X[first + row, 0], X[first + row, 1], X[first + row, 2], X[first + row, 3] = x0, x1, x2, x3
        for k in range(max(0, row - band), row):
            f = so.factor[base + k]
            X[first + k, 0] -= f * x0
            X[first + k, 1] -= f * x1
            X[first + k, 2] -= f * x2
            X[first + k, 3] -= f * x3


@kernel
def put_column(so, s, i, x, y, z, last):
    """Set the right-hand side of point i; that of a frozen point is zero."""
    row = so.first[s] + so.place[i]
    free = 1.0 - so.frozen[i]
    so.column[row, 0], so.column[row, 1] = free * x, free * y
    so.column[row, 2], so.column[row, 3] = free * z, free * last


@kernel
def drift_points(so, s, h):
    """q to mid-step; both q and qd are kept as they were."""
    for i in range(so.first[s], so.first[s + 1]):
        for c in range(3):
            so.start_q[i, c], so.start[i, c] = so.q[i, c], so.qd[i, c]
            so.q[i, c] += 0.5 * h * so.qd[i, c]


@kernel
def displace_inertia(t, d, so, s):
    """Add to J and mc of the link, which hold the skin at rest, what the displacement of all points changes."""
    i = so.link[s]
    xx = xy = xz = yy = yz = zz = 0.0
    c0 = c1 = c2 = 0.0
    for k in range(so.first[s], so.first[s + 1]):
        m = so.mass[k]
        r0, r1, r2 = so.rest[k, 0], so.rest[k, 1], so.rest[k, 2]
        q0, q1, q2 = so.q[k, 0], so.q[k, 1], so.q[k, 2]
        # x x^T - X0 X0^T, without the cancellation
        xx += m * (q0 * (2.0 * r0 + q0))
        yy += m * (q1 * (2.0 * r1 + q1))
        zz += m * (q2 * (2.0 * r2 + q2))
        xy += m * (q0 * r1 + r0 * q1 + q0 * q1)
        xz += m * (q0 * r2 + r0 * q2 + q0 * q2)
        yz += m * (q1 * r2 + r1 * q2 + q1 * q2)
        c0 += m * q0
        c1 += m * q1
        c2 += m * q2
    R = rotation_of(d, i)
    J = rotate_symmetric(R, (yy + zz, -xy, -xz, xx + zz, -yz, xx + yy))
    for k in range(6):
        d.J[i, k] += J[k]
    x, y, z = rotate(R, c0, c1, c2)
    d.mc[i, 0] += x
    d.mc[i, 1] += y
    d.mc[i, 2] += z


@kernel
def reduce_points(so, s, h):
    """Factor S if need be, then a and b of all points."""
    if so.factored[s] != h:
        factorize(so, s, h)
    first, last = so.first[s], so.first[s + 1]
    for k in range(first, last):
        m = so.mass[k]
        put_column(
            so, s, k, m * (so.rest[k, 0] + so.q[k, 0]), m * (so.rest[k, 1] + so.q[k, 1]),
            m * (so.rest[k, 2] + so.q[k, 2]), m,
        )  # fmt: skip
    solve_columns(so, s)
    for k in range(first, last):
        row = first + so.place[k]
        so.reduced[k, 0] = so.column[row, 3]
        so.reduced[k, 1], so.reduced[k, 2], so.reduced[k, 3] = so.column[row, 0], so.column[row, 1], so.column[row, 2]


@kernel
def spring_forces(t, d, so, s, h):
    """Forces on the coordinates of free points in `base`: external, of springs and damping; no velocity products."""
    i = so.link[s]
    R = rotation_of(d, i)
    kv, ke, kd = so.kv[s], so.ke[s], so.kd[s]
    ev, ee = numerical_damping(so, s, h)
    ev, ee = h * ev, h * ee
    lift = 1.0 - t.gravity_factor[i]  # the sweep adds weight to all that is on the link
    g0, g1, g2 = rotate_inverse(R, lift * t.gravity[0], lift * t.gravity[1], lift * t.gravity[2])
    for k in range(so.first[s], so.first[s + 1]):
        f0, f1, f2 = rotate_inverse(R, so.force[k, 0], so.force[k, 1], so.force[k, 2])
        m = so.mass[k]
        w0, w1, w2 = so.start[k, 0], so.start[k, 1], so.start[k, 2]
        f0 -= kv * (so.q[k, 0] + ev * w0) + kd * w0 + m * g0
        f1 -= kv * (so.q[k, 1] + ev * w1) + kd * w1 + m * g1
        f2 -= kv * (so.q[k, 2] + ev * w2) + kd * w2 + m * g2
        if ke != 0.0:
            for e in range(so.neighbor_first[k], so.neighbor_first[k + 1]):
                j = so.neighbor[e]
                f0 -= ke * (so.q[k, 0] - so.q[j, 0] + ee * (w0 - so.start[j, 0]))
                f1 -= ke * (so.q[k, 1] - so.q[j, 1] + ee * (w1 - so.start[j, 1]))
                f2 -= ke * (so.q[k, 2] - so.q[j, 2] + ee * (w2 - so.start[j, 2]))
        so.base[k, 0], so.base[k, 1], so.base[k, 2] = f0, f1, f2


@kernel
def soften_inertia(d, so, s):
    """Take X^T M S^-1 M X, about the link's origin, off the link's inertia in P."""
    i = so.link[s]
    m = c0 = c1 = c2 = 0.0
    xx = xy = xz = yy = yz = zz = 0.0
    for k in range(so.first[s], so.first[s + 1]):
        mass = so.mass[k]
        x, y, z = so.rest[k, 0] + so.q[k, 0], so.rest[k, 1] + so.q[k, 1], so.rest[k, 2] + so.q[k, 2]
        b0, b1, b2 = mass * so.reduced[k, 1], mass * so.reduced[k, 2], mass * so.reduced[k, 3]
        m += mass * so.reduced[k, 0]
        c0 += b0
        c1 += b1
        c2 += b2
        xx += b0 * x
        yy += b1 * y
        zz += b2 * z
        xy += 0.5 * (b0 * y + b1 * x)
        xz += 0.5 * (b0 * z + b2 * x)
        yz += 0.5 * (b1 * z + b2 * y)
    R = rotation_of(d, i)
    J = rotate_symmetric(R, (yy + zz, -xy, -xz, xx + zz, -yz, xx + yy))
    c0, c1, c2 = rotate(R, c0, c1, c2)
    for k in range(6):
        d.P[i, k] -= J[k]
    d.P[i, 7] += c2
    d.P[i, 8] -= c1
    d.P[i, 9] -= c2
    d.P[i, 11] += c0
    d.P[i, 12] += c1
    d.P[i, 13] -= c0
    d.P[i, 15] -= m
    d.P[i, 18] -= m
    d.P[i, 20] -= m


@kernel
def soften_bias(d, so, s, h):
    """Add the points' share to the link's bias z; their right-hand sides r - M w x (w x x) go to `rate`."""
    i = so.link[s]
    R = rotation_of(d, i)
    w0, w1, w2 = rotate_inverse(R, d.V[i, 0], d.V[i, 1], d.V[i, 2])
    n0, n1, n2 = -so.transfer[s, 0] / h, -so.transfer[s, 1] / h, -so.transfer[s, 2] / h
    f0, f1, f2 = -so.transfer[s, 3] / h, -so.transfer[s, 4] / h, -so.transfer[s, 5] / h
    for k in range(so.first[s], so.first[s + 1]):
        x, y, z = so.rest[k, 0] + so.q[k, 0], so.rest[k, 1] + so.q[k, 1], so.rest[k, 2] + so.q[k, 2]
        p0, p1, p2 = rotate_inverse(R, so.force[k, 0], so.force[k, 1], so.force[k, 2])
        p0, p1, p2 = -p0, -p1, -p2
        if so.frozen[k] == 0:
            m = so.mass[k]
            e0, e1, e2 = cross(2.0 * w0, 2.0 * w1, 2.0 * w2, so.qd[k, 0], so.qd[k, 1], so.qd[k, 2])
            p0 += m * e0
            p1 += m * e1
            p2 += m * e2
            c0, c1, c2 = cross(w0, w1, w2, x, y, z)
            c0, c1, c2 = cross(w0, w1, w2, c0, c1, c2)
            r0, r1, r2 = so.base[k, 0] - m * (e0 + c0), so.base[k, 1] - m * (e1 + c1), so.base[k, 2] - m * (e2 + c2)
            so.rate[k, 0], so.rate[k, 1], so.rate[k, 2] = r0, r1, r2
            a = so.reduced[k, 0]
            f0 += a * r0
            f1 += a * r1
            f2 += a * r2
            c0, c1, c2 = cross(so.reduced[k, 1], so.reduced[k, 2], so.reduced[k, 3], r0, r1, r2)
            n0 += c0
            n1 += c1
            n2 += c2
        f0 += p0
        f1 += p1
        f2 += p2
        c0, c1, c2 = cross(x, y, z, p0, p1, p2)
        n0 += c0
        n1 += c1
        n2 += c2
    n0, n1, n2 = rotate(R, n0, n1, n2)
    f0, f1, f2 = rotate(R, f0, f1, f2)
    d.z[i, 0] += n0
    d.z[i, 1] += n1
    d.z[i, 2] += n2
    d.z[i, 3] += f0
    d.z[i, 4] += f1
    d.z[i, 5] += f2


@kernel
def accelerate_points(d, so, s):
    """`rate` = qdd of all points, from the link's acceleration; the right-hand sides are in `rate`."""
    i = so.link[s]
    R = rotation_of(d, i)
    first, last = so.first[s], so.first[s + 1]
    for k in range(first, last):
        put_column(so, s, k, so.rate[k, 0], so.rate[k, 1], so.rate[k, 2], 0.0)
    solve_columns(so, s)
    w0, w1, w2 = rotate_inverse(R, d.A[i, 0], d.A[i, 1], d.A[i, 2])
    v0, v1, v2 = rotate_inverse(R, d.A[i, 3], d.A[i, 4], d.A[i, 5])
    for k in range(first, last):
        row = first + so.place[k]
        a = so.reduced[k, 0]
        c0, c1, c2 = cross(w0, w1, w2, so.reduced[k, 1], so.reduced[k, 2], so.reduced[k, 3])
        so.rate[k, 0] = so.column[row, 0] - a * v0 - c0
        so.rate[k, 1] = so.column[row, 1] - a * v1 - c1
        so.rate[k, 2] = so.column[row, 2] - a * v2 - c2
