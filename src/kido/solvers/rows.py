"""Row velocities and impulse responses of blocks: the operators J and Y on segments of the velocity.

Segments of length 6 (free bodies) have a path of their own with a constant trip count.
"""

from __future__ import annotations

import math

from kido.jit import kernel
from kido.solvers.cone import clamp, project_cone, project_spin
from kido.solvers.problem import BOUNDED, CONTACT, SPIN_BLOCK

# Indices read from the problem are masked: the optimiser then knows that they are not negative.
INDEX = (1 << 40) - 1


@kernel
def velocity6(J, at, u, d):
    """One Jacobian row on a segment of length 6."""
    x = J[at] * u[d] + J[at + 3] * u[d + 3]
    y = J[at + 1] * u[d + 1] + J[at + 4] * u[d + 4]
    z = J[at + 2] * u[d + 2] + J[at + 5] * u[d + 5]
    return (x + y) + z


@kernel
def velocity1(J, at, n, u, d):
    """One Jacobian row on a segment: J[at:at+n] . u[d:d+n]."""
    x = 0.0
    for k in range(n):
        x += J[at + k] * u[d + k]
    return x


@kernel
def velocity3(J, at, n, u, d):
    """Three Jacobian rows on a segment."""
    if n == 6:
        return velocity6(J, at, u, d), velocity6(J, at + 6, u, d), velocity6(J, at + 12, u, d)
    x = 0.0
    y = 0.0
    z = 0.0
    for k in range(n):
        w = u[d + k]
        x += J[at + k] * w
        y += J[at + n + k] * w
        z += J[at + 2 * n + k] * w
    return x, y, z


@kernel
def push1(Y, at, n, u, d, p):
    """u[d:d+n] += Y[at:at+n] p."""
    for k in range(n):
        u[d + k] += Y[at + k] * p


@kernel
def push3(Y, at, n, u, d, p0, p1, p2):
    """u[d:d+n] += the three rows of Y, times p."""
    if n == 6:
        for k in range(6):
            u[d + k] += Y[at + k] * p0 + Y[at + 6 + k] * p1 + Y[at + 12 + k] * p2
    else:
        for k in range(n):
            u[d + k] += Y[at + k] * p0 + Y[at + n + k] * p1 + Y[at + 2 * n + k] * p2


@kernel
def extra_velocity(c, b, r, u):
    """Row r of block b on its extra segments: sum of J . u."""
    v = 0.0
    for x in range(c.more_first[b], c.more_first[b] + c.more_count[b]):
        n = c.more_len[x] & INDEX
        v += velocity1(c.J, (c.more_at[x] & INDEX) + r * n, n, u, c.more_dof[x] & INDEX)
    return v


@kernel
def push_extra(c, b, r, u, p):
    """Add the response to the impulse p of row r of block b to u, on its extra segments."""
    for x in range(c.more_first[b], c.more_first[b] + c.more_count[b]):
        n = c.more_len[x] & INDEX
        push1(c.Y, (c.more_at[x] & INDEX) + r * n, n, u, c.more_dof[x] & INDEX, p)


@kernel
def extra_product(c, b, r, s):
    """Own compliance of rows r and s of block b on its extra segments: sum of J . Y."""
    w = 0.0
    for x in range(c.more_first[b], c.more_first[b] + c.more_count[b]):
        n = c.more_len[x] & INDEX
        at = c.more_at[x] & INDEX
        w += product(c.J, at + r * n, c.Y, at + s * n, n)
    return w


@kernel
def num_segments(c, b):
    """Number of segments of block b, static ones among them."""
    return 2 + c.more_count[b]


@kernel
def segment(c, b, k):
    """First DOF, number of DOFs (0 if static) and place in the pools of segment k of block b."""
    if k == 0:
        return c.dof_a[b] & INDEX, c.len_a[b] & INDEX, c.at_a[b] & INDEX
    if k == 1:
        return c.dof_b[b] & INDEX, c.len_b[b] & INDEX, c.at_b[b] & INDEX
    x = c.more_first[b] + k - 2
    return c.more_dof[x] & INDEX, c.more_len[x] & INDEX, c.more_at[x] & INDEX


@kernel
def contact_velocity(c, b):
    """Velocity (normal, t1, t2) of contact or spin b: J u + bias + compliance * p."""
    i = c.row[b] & INDEX
    x0, x1, x2 = velocity3(c.J, c.at_a[b] & INDEX, c.len_a[b] & INDEX, c.u, c.dof_a[b] & INDEX)
    y0, y1, y2 = velocity3(c.J, c.at_b[b] & INDEX, c.len_b[b] & INDEX, c.u, c.dof_b[b] & INDEX)
    if c.more_count[b] != 0:
        y0 += extra_velocity(c, b, 0, c.u)
        y1 += extra_velocity(c, b, 1, c.u)
        y2 += extra_velocity(c, b, 2, c.u)
    return (
        x0 + y0 + (c.bias[i] + c.compliance[i] * c.impulse[i]),
        x1 + y1 + (c.bias[i + 1] + c.compliance[i + 1] * c.impulse[i + 1]),
        x2 + y2 + (c.bias[i + 2] + c.compliance[i + 2] * c.impulse[i + 2]),
    )


@kernel
def bounded_velocity(c, b):
    """Velocity of bounded row b: J u + bias + compliance * p."""
    i = c.row[b] & INDEX
    x = velocity1(c.J, c.at_a[b] & INDEX, c.len_a[b] & INDEX, c.u, c.dof_a[b] & INDEX)
    y = velocity1(c.J, c.at_b[b] & INDEX, c.len_b[b] & INDEX, c.u, c.dof_b[b] & INDEX)
    if c.more_count[b] != 0:
        y += extra_velocity(c, b, 0, c.u)
    return x + y + (c.bias[i] + c.compliance[i] * c.impulse[i])


@kernel
def spin_bounds(c, b):
    """Bounds [N m s] of torsional and rolling friction of spin block b, as its contact's normal impulse has them."""
    normal = c.impulse[c.row[c.partner[b]] & INDEX]
    return c.torsion[b] * normal, c.mu[b] * normal


@kernel
def block_velocity(c, b):
    """`contact_velocity` or `bounded_velocity` of a block; zeros beyond its rows."""
    if c.kind[b] == BOUNDED:
        return bounded_velocity(c, b), 0.0, 0.0
    return contact_velocity(c, b)


@kernel
def project_block(c, b, y0, y1, y2):
    """Impulses of a block made admissible: proj_K(y), the bounds of a spin block as they are."""
    if c.kind[b] == CONTACT:
        return project_cone(y0, y1, y2, c.mu[b], c.floor[b])
    if c.kind[b] == SPIN_BLOCK:
        about, across = spin_bounds(c, b)
        return project_spin(y0, y1, y2, about, across)
    return clamp(y0, c.lower[b], c.upper[b]), 0.0, 0.0


@kernel
def load_impulse(c, b):
    """Impulses of a block; zeros beyond its rows."""
    i = c.row[b] & INDEX
    if c.kind[b] == BOUNDED:
        return c.impulse[i], 0.0, 0.0
    return c.impulse[i], c.impulse[i + 1], c.impulse[i + 2]


@kernel
def set_impulse(c, b, p0, p1, p2):
    """Set the impulses of a block. Returns how they change."""
    i = c.row[b] & INDEX
    d0 = p0 - c.impulse[i]
    c.impulse[i] = p0
    if c.kind[b] == BOUNDED:
        return d0, 0.0, 0.0
    d1 = p1 - c.impulse[i + 1]
    d2 = p2 - c.impulse[i + 2]
    c.impulse[i + 1] = p1
    c.impulse[i + 2] = p2
    return d0, d1, d2


@kernel
def push_contact(c, b, p0, p1, p2):
    """Add the response to a contact's impulse to u."""
    push3(c.Y, c.at_a[b] & INDEX, c.len_a[b] & INDEX, c.u, c.dof_a[b] & INDEX, p0, p1, p2)
    push3(c.Y, c.at_b[b] & INDEX, c.len_b[b] & INDEX, c.u, c.dof_b[b] & INDEX, p0, p1, p2)
    if c.more_count[b] != 0:
        push_extra(c, b, 0, c.u, p0)
        push_extra(c, b, 1, c.u, p1)
        push_extra(c, b, 2, c.u, p2)


@kernel
def push_first(c, b, u, p):
    """Add the response to an impulse of a block's first row to generalized velocities u."""
    push1(c.Y, c.at_a[b] & INDEX, c.len_a[b] & INDEX, u, c.dof_a[b] & INDEX, p)
    push1(c.Y, c.at_b[b] & INDEX, c.len_b[b] & INDEX, u, c.dof_b[b] & INDEX, p)
    if c.more_count[b] != 0:
        push_extra(c, b, 0, u, p)


@kernel
def push_bounded(c, b, p):
    """Add the response to a bounded row's impulse to u."""
    push_first(c, b, c.u, p)


@kernel
def product(J, i, Y, j, n):
    """J[i:i+n] . Y[j:j+n]."""
    s = 0.0
    for k in range(n):
        s += J[i + k] * Y[j + k]
    return s


@kernel
def first_velocity(c, b, u):
    """First row of a block on a generalized velocity: J u, without bias."""
    v = 0.0
    for s in range(num_segments(c, b)):
        dof, length, at = segment(c, b, s)
        for k in range(length):
            v += c.J[at + k] * u[dof + k]
    return v


@kernel
def coupling(c, b, r, s):
    """Compliance between rows r and s of a block, without softness, from J and Y: before `own_compliance`."""
    w = 0.0
    for k in range(num_segments(c, b)):
        _, length, at = segment(c, b, k)
        for i in range(length):
            w += c.J[at + r * length + i] * c.Y[at + s * length + i]
    return w


@kernel
def free_velocity(c, b, r):
    """Velocity of row r of block b without any impulse: J u_free + bias."""
    na = c.len_a[b] & INDEX
    nb = c.len_b[b] & INDEX
    x = product(c.J, (c.at_a[b] & INDEX) + r * na, c.u_free, c.dof_a[b] & INDEX, na)
    y = product(c.J, (c.at_b[b] & INDEX) + r * nb, c.u_free, c.dof_b[b] & INDEX, nb)
    if c.more_count[b] != 0:
        y += extra_velocity(c, b, r, c.u_free)
    return c.bias[c.row[b] + r] + x + y


@kernel
def fastest_approach(c, island):
    """Largest speed to be stopped in an island: -v_n of contacts, |v| of bounded rows, without impulses."""
    fastest = 0.0
    for entry in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[entry]
        if c.kind[b] == SPIN_BLOCK:
            continue
        i = c.row[b] & INDEX
        v = -(c.free[i] + c.bias[i] if c.deferred[b] != 0 else free_velocity(c, b, 0))
        if c.kind[b] != CONTACT:
            v = math.fabs(v)
        if not v <= fastest:  # NaN is passed on
            fastest = v
    return fastest


@kernel
def compliance6(c, b, at):
    """Add the own compliance of a block's three rows on a segment of length 6."""
    J, Y, W = c.J, c.Y, c.W
    W[b, 0] += velocity6(J, at, Y, at)
    W[b, 1] += velocity6(J, at, Y, at + 6)
    W[b, 2] += velocity6(J, at, Y, at + 12)
    W[b, 3] += velocity6(J, at + 6, Y, at + 6)
    W[b, 4] += velocity6(J, at + 6, Y, at + 12)
    W[b, 5] += velocity6(J, at + 12, Y, at + 12)


@kernel
def compliance3(c, b, at, n):
    """`compliance6` for a segment of any length."""
    for s in range(3):
        x0, x1, x2 = velocity3(c.J, at, n, c.Y, at + s * n)
        c.W[b, s] += x0
        if s > 0:
            c.W[b, 2 + s] += x1
        if s == 2:
            c.W[b, 5] += x2


@kernel
def inverse_compliance(c, b):
    """Inverse of the block's mean own compliance: 3 / trace W, or 1 / W; 0 if it cannot move."""
    if c.kind[b] != BOUNDED:
        w = (c.W[b, 0] + c.W[b, 3] + c.W[b, 5]) / 3.0
    else:
        w = c.W[b, 0]
    if w <= 0.0:
        return 0.0
    return 1.0 / w + 0.0 * w  # NaN for an infinite compliance


@kernel
def own_compliance(c, b):
    """Fill W of block b from J and Y; the softness is on the diagonal."""
    na = c.len_a[b] & INDEX
    nb = c.len_b[b] & INDEX
    a = c.at_a[b] & INDEX
    e = c.at_b[b] & INDEX
    i = c.row[b] & INDEX
    if c.kind[b] != BOUNDED:
        for s in range(6):
            c.W[b, s] = 0.0
        if na == 6:
            compliance6(c, b, a)
        elif na > 0:
            compliance3(c, b, a, na)
        if nb == 6:
            compliance6(c, b, e)
        elif nb > 0:
            compliance3(c, b, e, nb)
        if c.more_count[b] != 0:
            c.W[b, 0] += extra_product(c, b, 0, 0)
            c.W[b, 1] += extra_product(c, b, 0, 1)
            c.W[b, 2] += extra_product(c, b, 0, 2)
            c.W[b, 3] += extra_product(c, b, 1, 1)
            c.W[b, 4] += extra_product(c, b, 1, 2)
            c.W[b, 5] += extra_product(c, b, 2, 2)
        c.W[b, 0] += c.compliance[i]
        c.W[b, 3] += c.compliance[i + 1]
        c.W[b, 5] += c.compliance[i + 2]
    else:
        w = product(c.J, a, c.Y, a, na) + product(c.J, e, c.Y, e, nb)
        if c.more_count[b] != 0:
            w += extra_product(c, b, 0, 0)
        c.W[b, 0] = w + c.compliance[i]
    c.step[b] = inverse_compliance(c, b)


@kernel
def reset_velocity(c, island):
    """Set u to u_free on every segment of an island."""
    for entry in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[entry]
        for s in range(num_segments(c, b)):
            dof, length, _ = segment(c, b, s)
            for k in range(dof, dof + length):
                c.u[k] = c.u_free[k]


@kernel
def push_impulse(c, b):
    """Add the response to a block's whole impulse to u."""
    i = c.row[b] & INDEX
    if c.kind[b] != BOUNDED:
        push_contact(c, b, c.impulse[i], c.impulse[i + 1], c.impulse[i + 2])
    elif c.impulse[i] != 0.0:
        push_bounded(c, b, c.impulse[i])


@kernel
def apply_impulses(c, island):
    """u = u_free + Y p on an island."""
    reset_velocity(c, island)
    for entry in range(c.island_start[island], c.island_start[island + 1]):
        push_impulse(c, c.island_block[entry])


@kernel
def is_deferred(c, island):
    """Whether the rows of an island are not made; those of a part of its blocks never are."""
    return c.deferred[c.island_block[c.island_start[island]]] != 0


@kernel
def complete(c, island):
    """Make the rows of an island that are not, and u = u_free + Y p by them."""
    if is_deferred(c, island):
        c.make_rows(c, island)
        apply_impulses(c, island)


@kernel
def clear_island(c, island):
    """No impulses; the velocity is the free one."""
    for entry in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[entry]
        for i in range(c.row[b], c.row[b] + (1 if c.kind[b] == BOUNDED else 3)):
            c.impulse[i] = 0.0
    reset_velocity(c, island)
