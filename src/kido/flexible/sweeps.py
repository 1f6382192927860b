"""Recursions over trees with flexible bodies: those of rigid trees, with modes eliminated before the hinge.

With phi the shift from a link to its parent and Pi the motion of a node per rate of a mode, tips to base:

    P_ff = M_ff + sum Pi^T P+ Pi       P_rf = M_rf + sum phi P+ Pi       P_rr = M_rr + sum phi P+ phi*
    z_f = b_f + sum Pi^T z+            z_r = b_r + sum phi z+
    P = P_rr - P_rf P_ff^-1 P_fr       z = z_r - P_rf P_ff^-1 (z_f - force)       then the hinge as of a rigid body

and outward etadd = P_ff^-1 (force - z_f - P_fr alpha). Modes are eliminated one after another, as coordinates of joints
are: theirs are U, 1 / D and e of the data too. The link whose coordinates they are is passed over. What joints do is
`kido.kernels`. Sweeps are over bodies first..last-1, a tree of a forest. Source: Jain and Rodriguez (1992), Recursive
flexible multibody system dynamics using spatial operators; the sequential form is our own.
"""

from __future__ import annotations

from kido.flexible.motion import (
    add_row,
    deformed_inertia,
    modal_bias,
    modal_momentum,
    node_motion,
    node_pose,
    node_velocity,
    set_row,
)
from kido.jit import all_positive, clear, inlined, kernel, where_positive
from kido.joints.motion import hinge_column
from kido.kernels.articulated import add_to_parent, at_parent
from kido.kernels.energy import potential_energy as rigid_potential_energy
from kido.kernels.forward_dynamics import eliminate_joint, joint_bias, joint_motion, start_bias
from kido.kernels.inertia import (
    add_shifted,
    apply_inertia,
    body_inertia,
    deflate,
    read_inertia,
    rigid_momentum,
    spatial_momentum,
    start_inertia,
)
from kido.kernels.inverse_dynamics import body_acceleration, body_force, column_dot, gather_force
from kido.kernels.kinematics import body_pose, body_velocity, has_hinge
from kido.kernels.mass_matrix import add_composite, start_composite
from kido.math.so3 import cross

# Kinematics --------------------------------------------------------------------------------------------------


@inlined
def place_link(t, d, f, i):
    """R, p, l, H, Pi and the inertias J, mc, X of link i."""
    if f.node_of_body[i] >= 0:
        node_pose(t, d, f, i)
    else:
        body_pose(t, d, i)
        if has_hinge(t, i):
            hinge_column(t, d, i, t.first_dof[i])
    if f.flex_of_body[i] >= 0:
        deformed_inertia(t, d, f, i)
    else:
        body_inertia(t, d, i)


@kernel
def positions(t, d, f, first, last):
    """`place_link` of links."""
    for i in range(first, last):
        place_link(t, d, f, i)


@inlined
def link_velocity(t, d, f, i):
    """V and a of link i."""
    if f.node_of_body[i] >= 0:
        node_velocity(t, d, f, i)
    else:
        body_velocity(t, d, i)


@kernel
def velocities(t, d, f, first, last):
    """V and a of links."""
    for i in range(first, last):
        link_velocity(t, d, f, i)


@kernel
def accelerations(t, d, f, first, last):
    """A of links, plus minus gravity."""
    for i in range(first, last):
        body_acceleration(t, d, i)
        if f.node_of_body[i] >= 0:
            add_node_motion(t, d, f, i, d.A, d.udot)


@inlined
def add_node_motion(t, d, f, i, A, values):
    """Row i of A, link i a node, += Pi values."""
    c = f.flex_of_body[t.parent[i]]
    w0, w1, w2, v0, v1, v2 = node_motion(f, c, f.node_of_body[i], values)
    add_row(A, i, w0, w1, w2, v0, v1, v2)


@kernel
def jacobian(t, d, f, i, x, y, z, J):
    """Jacobian (6, coordinates), [angular; linear] in world axes, of the point of link i that is at (x, y, z)."""
    clear(J)
    while i >= 0:
        r0, r1, r2 = x - d.p[i, 0], y - d.p[i, 1], z - d.p[i, 2]
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            write_column(d.H, k, r0, r1, r2, J, k)
        if f.node_of_body[i] >= 0:
            c, column = f.flex_of_body[t.parent[i]], f.first_column[f.node_of_body[i]]
            for m in range(f.number[c]):
                write_column(f.Pi, column + m, r0, r1, r2, J, f.first_mode[c] + m)
        i = t.parent[i]


@kernel
def write_column(H, k, x, y, z, J, column):
    """Column of J for the motion in row k of H, at the point (x, y, z) from its origin."""
    a, b, c = cross(H[k, 0], H[k, 1], H[k, 2], x, y, z)
    J[0, column], J[1, column], J[2, column] = H[k, 0], H[k, 1], H[k, 2]
    J[3, column], J[4, column], J[5, column] = H[k, 3] + a, H[k, 4] + b, H[k, 5] + c


# Inverse dynamics --------------------------------------------------------------------------------------------


@kernel
def inverse_dynamics(t, d, f, first, last):
    """tau at udot; needs `positions`, `velocities`."""
    accelerations(t, d, f, first, last)
    for i in range(first, last):
        body_force(t, d, i)
        c = f.flex_of_body[i]
        if c >= 0:
            x0, x1, x2, x3, x4, x5 = modal_bias(t, d, f, i)
            add_row(d.f, i, x0, x1, x2, x3, x4, x5)
            x0, x1, x2, x3, x4, x5 = modal_momentum(f, c, d.udot)
            add_row(d.f, i, x0, x1, x2, x3, x4, x5)
            m0, pair, number = f.first_mode[c], f.first_pair[c], f.number[c]
            for m in range(m0, m0 + number):
                s = f.zf[m] + column_dot_of(f.X, m, d.A, i) + t.armature[m] * d.udot[m]
                for n in range(number):
                    s += f.modes.mass[pair + (m - m0) * number + n] * d.udot[m0 + n]
                d.tau[m] = s
    for i in range(last - 1, first - 1, -1):
        if f.has_modes[i] != 0:
            gather_force(t, d, i)
            continue
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            d.tau[k] = column_dot_of(d.H, k, d.f, i) + t.armature[k] * d.udot[k]
        if f.node_of_body[i] >= 0:
            c, column = f.flex_of_body[t.parent[i]], f.first_column[f.node_of_body[i]]
            for m in range(f.number[c]):
                d.tau[f.first_mode[c] + m] += column_dot_of(f.Pi, column + m, d.f, i)
        gather_force(t, d, i)


@inlined
def column_dot_of(H, k, A, i):
    """H_k . A_i of rows of two arrays."""
    return (H[k, 0] * A[i, 0] + H[k, 1] * A[i, 1] + H[k, 2] * A[i, 2]) + (
        H[k, 3] * A[i, 3] + H[k, 4] * A[i, 4] + H[k, 5] * A[i, 5]
    )


# Mass matrix -------------------------------------------------------------------------------------------------


@kernel
def spread(t, d, f, i, end, column, z0, z1, z2, z3, z4, z5, M):
    """Entries of M in a row and column from the momentum z at link i, for its coordinates below `end` and all above."""
    while True:
        for k in range(t.first_dof[i], end):
            M[k, column] = M[column, k] = column_dot(d, k, z0, z1, z2, z3, z4, z5)
        parent, j = t.parent[i], f.node_of_body[i]
        if parent < 0:
            break
        if j >= 0:
            c = f.flex_of_body[parent]
            for m in range(f.number[c]):
                row = f.first_column[j] + m
                s = f.Pi[row, 0] * z0 + f.Pi[row, 1] * z1 + f.Pi[row, 2] * z2
                s += f.Pi[row, 3] * z3 + f.Pi[row, 4] * z4 + f.Pi[row, 5] * z5
                n = f.first_mode[c] + m
                M[n, column] = M[column, n] = s
        z0, z1, z2, z3, z4, z5 = at_parent(d, i, z0, z1, z2, z3, z4, z5)
        end = t.first_dof[parent + 1]
        i = parent


@kernel
def mass_matrix(t, d, f, M):
    """M (coordinates x coordinates), symmetric, rotor inertias included, by composites; needs `positions`."""
    clear(M)
    for i in range(t.parent.shape[0]):
        start_composite(t, d, i)
        if f.flex_of_body[i] >= 0:
            start_modes(t, d, f, f.flex_of_body[i])
    for i in range(t.parent.shape[0] - 1, -1, -1):
        P = d.P
        J, mc = (P[i, 0], P[i, 1], P[i, 2], P[i, 3], P[i, 4], P[i, 5]), (P[i, 6], P[i, 7], P[i, 8])
        parent, j, c = t.parent[i], f.node_of_body[i], f.flex_of_body[i]
        if f.has_modes[i] != 0:
            add_composite(d, i, parent)
            continue
        if j >= 0:
            flex, column = f.flex_of_body[parent], f.first_column[j]
            for m in range(f.number[flex]):
                h, k = f.Pi, column + m
                z0, z1, z2, z3, z4, z5 = rigid_momentum(
                    J, mc, P[i, 9], h[k, 0], h[k, 1], h[k, 2], h[k, 3], h[k, 4], h[k, 5]
                )
                carry(t, d, f, i, m, z0, z1, z2, z3, z4, z5)
        if c >= 0:
            number = f.number[c]
            for m in range(number):
                row = f.first_mode[c] + m
                for n in range(m + 1):
                    k = f.first_mode[c] + n
                    M[row, k] = M[k, row] = f.ff[f.first_pair[c] + m * number + n]
                x = d.U
                spread(
                    t, d, f, i, t.first_dof[i + 1], row,
                    x[row, 0], x[row, 1], x[row, 2], x[row, 3], x[row, 4], x[row, 5], M,
                )  # fmt: skip
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            z0, z1, z2, z3, z4, z5 = rigid_momentum(
                J, mc, P[i, 9], d.H[k, 0], d.H[k, 1], d.H[k, 2], d.H[k, 3], d.H[k, 4], d.H[k, 5]
            )
            spread(t, d, f, i, k + 1, k, z0, z1, z2, z3, z4, z5, M)
            M[k, k] += t.armature[k]
        if parent >= 0:
            add_composite(d, i, parent)


@kernel
def start_modes(t, d, f, c):
    """U and modal inertia of flexible body c before its nodes add to them."""
    m0, pair, number = f.first_mode[c], f.first_pair[c], f.number[c]
    for m in range(number):
        k, row = m0 + m, pair + m * number
        set_row(d.U, k, f.X[k, 0], f.X[k, 1], f.X[k, 2], f.X[k, 3], f.X[k, 4], f.X[k, 5])
        for n in range(m + 1):
            f.ff[row + n] = f.modes.mass[row + n]
        f.ff[row + m] += t.armature[k]


@inlined
def carry(t, d, f, i, m, z0, z1, z2, z3, z4, z5):
    """Add what node i carries, P+ Pi of mode m = z, to its body's U and modal inertia, on and below the diagonal."""
    c, column = f.flex_of_body[t.parent[i]], f.first_column[f.node_of_body[i]]
    row = f.first_pair[c] + m * f.number[c]
    for n in range(m + 1):
        s = f.Pi[column + n, 0] * z0 + f.Pi[column + n, 1] * z1 + f.Pi[column + n, 2] * z2
        s += f.Pi[column + n, 3] * z3 + f.Pi[column + n, 4] * z4 + f.Pi[column + n, 5] * z5
        f.ff[row + n] += s
    z0, z1, z2, z3, z4, z5 = at_parent(d, i, z0, z1, z2, z3, z4, z5)
    add_row(d.U, f.first_mode[c] + m, z0, z1, z2, z3, z4, z5)


# Forward dynamics --------------------------------------------------------------------------------------------


@kernel
def node_inertia(t, d, f, i):
    """Hand P of link i, a node, to its body and the body's modes."""
    parent = t.parent[i]
    c, column = f.flex_of_body[parent], f.first_column[f.node_of_body[i]]
    P = read_inertia(d, i)
    h = f.Pi
    for m in range(f.number[c]):
        k = column + m
        z0, z1, z2, z3, z4, z5 = apply_inertia(P, h[k, 0], h[k, 1], h[k, 2], h[k, 3], h[k, 4], h[k, 5])
        carry(t, d, f, i, m, z0, z1, z2, z3, z4, z5)
    add_shifted(d, parent, P, d.l[i, 0], d.l[i, 1], d.l[i, 2])


@kernel
def eliminate_modes(t, d, f, i, h, status):
    """Take the modes of link i out of its P, last to first; returns the status as `eliminate_joint` does.

    h: time step; dampers and springs add h (D + h K / 4) to the modal inertia, as those of joints do. Prescribed
    modes are not eliminated.
    """
    c = f.flex_of_body[i]
    m0, pair, number = f.first_mode[c], f.first_pair[c], f.number[c]
    P = read_inertia(d, i)
    for m in range(number - 1, -1, -1):
        k, row = m0 + m, pair + m * number
        if t.prescribed[k] != 0:
            d.Dinv[k] = 0.0
            continue
        D = f.ff[row + m] + h * (t.damping[k] + 0.25 * h * t.stiffness[k])
        if not all_positive(D):
            status = where_positive(D, status, k)
            D = where_positive(D, D, 1.0)
        inverse = 1.0 / D
        d.Dinv[k] = inverse
        u0, u1, u2, u3, u4, u5 = d.U[k, 0], d.U[k, 1], d.U[k, 2], d.U[k, 3], d.U[k, 4], d.U[k, 5]
        P = deflate(P, u0, u1, u2, u3, u4, u5, inverse)
        for n in range(m):
            s = f.ff[row + n] * inverse
            add_row(d.U, m0 + n, -s * u0, -s * u1, -s * u2, -s * u3, -s * u4, -s * u5)
            for r in range(n + 1):
                f.ff[pair + n * number + r] -= s * f.ff[row + r]
    for k in range(21):
        d.P[i, k] = P[k]
    return status


@kernel
def articulated_inertias(t, d, f, first, last, h):
    """P, U, Dinv and the factor of modal inertias, tips to base; needs `positions`.

    Returns:
        The index of a coordinate that sees no inertia, or -1, as a float.
    """
    status = -1.0
    for i in range(first, last):
        start_link_inertia(t, d, f, i)
    for i in range(last - 1, first - 1, -1):
        status = pass_inertia(t, d, f, first, i, h, status)
    return status


@inlined
def start_link_inertia(t, d, f, i):
    """P of link i, and U and modal inertia if it is flexible, before links that it carries add to them."""
    start_inertia(t, d, i)
    if f.flex_of_body[i] >= 0:
        start_modes(t, d, f, f.flex_of_body[i])


@inlined
def pass_inertia(t, d, f, first, i, h, status):
    """P of link i to its parent, its coordinates and modes eliminated; returns the status as `eliminate_joint`."""
    if f.node_of_body[i] >= 0:
        node_inertia(t, d, f, i)
    elif f.has_modes[i] == 0:
        if f.flex_of_body[i] >= 0:
            status = eliminate_modes(t, d, f, i, h, status)
        status = eliminate_joint(t, d, first, i, h, 0.25 * h, 1, status)
    return status


@inlined
def node_bias(t, d, f, i, share):
    """Hand z of link i, a node, to its body and the body's modes."""
    parent = t.parent[i]
    c, column = f.flex_of_body[parent], f.first_column[f.node_of_body[i]]
    if share != 0.0:
        z0, z1, z2, z3, z4, z5 = apply_inertia(
            read_inertia(d, i), d.a[i, 0], d.a[i, 1], d.a[i, 2], d.a[i, 3], d.a[i, 4], d.a[i, 5]
        )
        add_row(d.z, i, z0, z1, z2, z3, z4, z5)
    for m in range(f.number[c]):
        f.zf[f.first_mode[c] + m] += column_dot_of(f.Pi, column + m, d.z, i)
    add_to_parent(d, d.z, i, parent, d.z[i, 0], d.z[i, 1], d.z[i, 2], d.z[i, 3], d.z[i, 4], d.z[i, 5])


@inlined
def modes_bias(t, d, f, i, share, tau):
    """e of the modes of link i from zf, whose share in z goes on, last to first; of prescribed ones what is given."""
    c = f.flex_of_body[i]
    m0, pair, number = f.first_mode[c], f.first_pair[c], f.number[c]
    for m in range(number - 1, -1, -1):
        k = m0 + m
        e = (tau[k] - f.zf[k]) * d.Dinv[k]
        if t.prescribed[k] != 0:
            e = share * d.udot[k]
        d.e[k] = e
        add_row(d.z, i, d.U[k, 0] * e, d.U[k, 1] * e, d.U[k, 2] * e, d.U[k, 3] * e, d.U[k, 4] * e, d.U[k, 5] * e)
        for n in range(m):
            f.zf[m0 + n] += f.ff[pair + m * number + n] * e


@kernel
def gather(t, d, f, first, last, share, tau):
    """e of all coordinates from z, zf and tau, tips to base; z and zf are used up. `share` as in `scatter`."""
    for i in range(last - 1, first - 1, -1):
        pass_bias(t, d, f, first, i, share, tau)


@inlined
def pass_bias(t, d, f, first, i, share, tau):
    """z of link i to its parent, with e of its coordinates and modes."""
    if f.node_of_body[i] >= 0:
        node_bias(t, d, f, i, share)
    elif f.has_modes[i] != 0:  # what acts on it acts on its body, which comes later
        z = d.z
        add_to_parent(d, z, i, t.parent[i], z[i, 0], z[i, 1], z[i, 2], z[i, 3], z[i, 4], z[i, 5])
    else:
        if f.flex_of_body[i] >= 0:
            modes_bias(t, d, f, i, share, tau)
        joint_bias(t, d, first, i, share, tau)


@kernel
def scatter(t, d, f, first, last, share, A, out):
    """`out` of all free coordinates, and A, base to tips.

    Args:
        share: 1: accelerations, with gravity and velocity products; 0: changes of velocity, without.
    """
    for i in range(first, last):
        if f.has_modes[i] != 0:
            p = t.parent[i]
            set_row(A, i, A[p, 0], A[p, 1], A[p, 2], A[p, 3], A[p, 4], A[p, 5])
            continue
        joint_motion(t, d, i, share, A, out)
        if f.node_of_body[i] >= 0:
            add_node_motion(t, d, f, i, A, out)
        if f.flex_of_body[i] >= 0:
            modes_give_way(t, d, f, i, A, out)


@inlined
def modes_give_way(t, d, f, i, A, out):
    """`out` of link i's modes from its row of A, first to last; prescribed ones keep what they have."""
    c = f.flex_of_body[i]
    m0, pair, number = f.first_mode[c], f.first_pair[c], f.number[c]
    for m in range(number):
        k = m0 + m
        if t.prescribed[k] != 0:
            continue
        s = column_dot_of(d.U, k, A, i)
        for n in range(m):
            s += f.ff[pair + m * number + n] * out[m0 + n]
        out[k] = d.e[k] - s * d.Dinv[k]


@kernel
def accelerate(t, d, f, first, last):
    """udot and A from tau; needs `articulated_inertias`, `velocities`."""
    for i in range(first, last):
        start_link_bias(t, d, f, i)
    gather(t, d, f, first, last, 1.0, d.tau)
    scatter(t, d, f, first, last, 1.0, d.A, d.udot)


@inlined
def start_link_bias(t, d, f, i):
    """z of link i, and zf if it is flexible, before links that it carries add to them."""
    start_bias(t, d, i)
    if f.flex_of_body[i] >= 0:
        x0, x1, x2, x3, x4, x5 = modal_bias(t, d, f, i)
        add_row(d.z, i, x0, x1, x2, x3, x4, x5)


@kernel
def accelerations_of_state(t, d, f):
    """udot at q, u and tau of the data, and what it takes: the sweeps above in three in place of seven.

    Links of modes, which move as their bodies do and weigh nothing, are passed over unless something acts on them.

    Returns:
        As `articulated_inertias`.
    """
    n, status = t.parent.shape[0], -1.0
    for i in range(n):
        if f.has_modes[i] != 0 and d.has_external[i] == 0:
            set_row(d.z, i, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
            d.l[i, 0], d.l[i, 1], d.l[i, 2] = 0.0, 0.0, 0.0
        else:
            place_link(t, d, f, i)
            link_velocity(t, d, f, i)
            start_link_inertia(t, d, f, i)
            start_link_bias(t, d, f, i)
    for i in range(n - 1, -1, -1):
        status = pass_inertia(t, d, f, 0, i, 0.0, status)
        pass_bias(t, d, f, 0, i, 1.0, d.tau)
    scatter(t, d, f, 0, n, 1.0, d.A, d.udot)
    return status


@kernel
def respond(t, d, f, first, last, impulses, out):
    """M^-1 times impulses on coordinates, to `out`, zero there for prescribed ones; needs `articulated_inertias`."""
    for i in range(first, last):
        set_row(d.z, i, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for k in range(t.first_dof[first], t.first_dof[last]):
        f.zf[k] = 0.0
        if t.prescribed[k] != 0:
            out[k] = 0.0
    gather(t, d, f, first, last, 0.0, impulses)
    scatter(t, d, f, first, last, 0.0, d.B, out)


# Energy and momentum -----------------------------------------------------------------------------------------


@kernel
def kinetic_energy(t, d, f, first, last):
    """Of links first..last-1 [J]; needs `positions` and `velocities`."""
    total = 0.0
    for i in range(first, last):
        w0, w1, w2, v0, v1, v2 = d.V[i, 0], d.V[i, 1], d.V[i, 2], d.V[i, 3], d.V[i, 4], d.V[i, 5]
        h0, h1, h2, h3, h4, h5 = spatial_momentum(t, d, i, w0, w1, w2, v0, v1, v2)
        total += 0.5 * (w0 * h0 + w1 * h1 + w2 * h2 + v0 * h3 + v1 * h4 + v2 * h5)
        c = f.flex_of_body[i]
        if c >= 0:
            h0, h1, h2, h3, h4, h5 = modal_momentum(f, c, d.u)
            total += w0 * h0 + w1 * h1 + w2 * h2 + v0 * h3 + v1 * h4 + v2 * h5
            m0, pair, number = f.first_mode[c], f.first_pair[c], f.number[c]
            for m in range(number):
                for n in range(number):
                    total += 0.5 * f.modes.mass[pair + m * number + n] * d.u[m0 + m] * d.u[m0 + n]
    for k in range(t.first_dof[first], t.first_dof[last]):
        total += 0.5 * t.armature[k] * d.u[k] * d.u[k]
    return total


@kernel
def potential_energy(t, d):
    """Of weight and springs, modal stiffness among them [J]; needs `positions`."""
    return rigid_potential_energy(t, d, 0, t.parent.shape[0])


@kernel
def momentum(t, d, f, out):
    """[angular about the world's origin; linear] momentum; needs `positions` and `velocities`."""
    for k in range(6):
        out[k] = 0.0
    for i in range(t.parent.shape[0]):
        h0, h1, h2, h3, h4, h5 = spatial_momentum(
            t, d, i, d.V[i, 0], d.V[i, 1], d.V[i, 2], d.V[i, 3], d.V[i, 4], d.V[i, 5]
        )
        c = f.flex_of_body[i]
        if c >= 0:
            x0, x1, x2, x3, x4, x5 = modal_momentum(f, c, d.u)
            h0, h1, h2, h3, h4, h5 = h0 + x0, h1 + x1, h2 + x2, h3 + x3, h4 + x4, h5 + x5
        x, y, z = cross(d.p[i, 0], d.p[i, 1], d.p[i, 2], h3, h4, h5)
        out[0] += h0 + x
        out[1] += h1 + y
        out[2] += h2 + z
        out[3] += h3
        out[4] += h4
        out[5] += h5


@kernel
def momentum_matrix(t, d, f, A):
    """Columns (6, coordinates) of `momentum` per unit velocity; needs `positions`, and writes over velocities."""
    n = t.parent.shape[0]
    for k in range(d.u.shape[0]):
        d.u[k] = 0.0
    for k in range(d.u.shape[0]):
        d.u[k] = 1.0
        velocities(t, d, f, 0, n)
        momentum(t, d, f, f.sums)
        d.u[k] = 0.0
        for r in range(6):
            A[r, k] = f.sums[r]


@kernel
def first_moment(t, d, out):
    """Mass times the centre of mass (3,), and the mass; needs `positions`."""
    for k in range(4):
        out[k] = 0.0
    for i in range(t.parent.shape[0]):
        for k in range(3):
            out[k] += t.mass[i] * d.p[i, k] + d.mc[i, k]
        out[3] += t.mass[i]
