"""Rows of contacts and coordinates at the end of a step: how they move with positions, and what laws they obey.

The rows of a contact are wrenches w_r = [(x - O) x e_r; e_r] about a point O, so that their velocities are
v_r = w_r . V + bias. A motion s of the body changes x and n as the contact's geometry has it (dual numbers of the
detector), so w_r by a matrix L_r and the bias of the normal by a slope. With S_k the column of coordinate k about O,

    dv_r/dq_k = (L_r^T V + slope) . S_k + w_r . (S_k x V + dV_k)       at fixed velocities after impulses,
    d(J^T p)_i/dq_k = S_i . (sum_r p_r L_r S_k - S_k x* f),  f = sum_r p_r w_r    (the last where k carries S_i along)

By its mode, a contact that sticks asks dv = 0 of its three rows, one that slides dv_n = 0 with
dp_t = mu s dp_n - R dv_t, R = (mu p_n / |v_t|) (1 - s s^T), s the direction of its friction.
"""

from __future__ import annotations

import math

from kido.constraints.row_origins import FROM_CONTACT, FROM_LIMIT, FROM_SPEED_LIMIT, biases
from kido.constraints.surfaces import NO_ROWS
from kido.jit import kernel
from kido.joints.kinds import BALL, FREE_MIXED
from kido.kernels.common_point import cross_force, cross_motion
from kido.kernels.derivatives import column
from kido.kernels.free_lanes import NOT_FREE
from kido.simulation.gradients.laws import BOUND, HELD, OPEN, SLIDING, STICKING
from kido.simulation.gradients.tangent.dynamics import motion_of
from kido.simulation.gradients.tangent.following import bias_of_motion
from kido.simulation.gradients.tangent.geometry import bias_slope, row_dot, turned
from kido.solvers.problem import BOUNDED, CONTACT

ASKED, DRAGGED = 1, 2  # rows: dv is asked for; tangents of what slides, whose impulse follows dv
GIVE = 1e-6  # of the own compliance of a row: with how much the system stands for it before it is refined
SOFT_ENOUGH = 1e-9  # softness, in the same measure, with which it stands for the row as it is
NEAR = 1e-9  # [m/s] by what a bias may differ from that of the gap alone


@kernel
def put_row(c, n, body, b, a, at):
    """Row a of block b, as a row of coordinates, into row `at` of N and T."""
    S, on, F = c.derivatives.S, c.path, c.twist
    w0, w1, w2, w3, w4, w5 = F[b, a, 0], F[b, a, 1], F[b, a, 2], F[b, a, 3], F[b, a, 4], F[b, a, 5]
    for k in range(c.u.shape[0]):
        x = (w0 * S[0, k] + w1 * S[1, k] + w2 * S[2, k]) + (w3 * S[3, k] + w4 * S[4, k] + w5 * S[5, k])
        n.N[at, k] = n.T[at, k] = on[body, k] * x


@kernel
def put_row_rates(c, n, body, b, a, at):
    """dv/dq of row a of block b at fixed velocities, the gap's bias included, into row `at` of `c`; 0 by velocities."""
    S, dV, on, F, s = c.derivatives.S, c.dV, c.path, c.twist, c.slope
    V = motion_of(c.V, body)
    w0, w1, w2, w3, w4, w5 = F[b, a, 0], F[b, a, 1], F[b, a, 2], F[b, a, 3], F[b, a, 4], F[b, a, 5]
    share = 1.0 if a == 0 else 0.0
    # w . (S x V) = S . (V x* w)
    z0, z1, z2, z3, z4, z5 = cross_force(V[0], V[1], V[2], V[3], V[4], V[5], w0, w1, w2, w3, w4, w5)
    z0, z1 = z0 + turned(c.turn, b, a, 0, V) + share * s[b, 0], z1 + turned(c.turn, b, a, 1, V) + share * s[b, 1]
    z2, z3 = z2 + turned(c.turn, b, a, 2, V) + share * s[b, 2], z3 + turned(c.turn, b, a, 3, V) + share * s[b, 3]
    z4, z5 = z4 + turned(c.turn, b, a, 4, V) + share * s[b, 4], z5 + turned(c.turn, b, a, 5, V) + share * s[b, 5]
    for k in range(c.u.shape[0]):
        x = (w0 * dV[0, k] + w1 * dV[1, k] + w2 * dV[2, k]) + (w3 * dV[3, k] + w4 * dV[4, k] + w5 * dV[5, k])
        x += (z0 * S[0, k] + z1 * S[1, k] + z2 * S[2, k]) + (z3 * S[3, k] + z4 * S[4, k] + z5 * S[5, k])
        n.c[at, k] = on[body, k] * x
    clear_velocity_rates(c, n, at)


@kernel
def press(c, body, b, p):
    """Add the impulses p of contact block b, and how they turn with the body, to those on it."""
    c.touched[body] = 1
    for a in range(3):
        s = p[0] if a == 0 else (p[1] if a == 1 else p[2])
        for j in range(6):
            c.f[body, j] += s * c.twist[b, a, j]
        for j in range(36):
            c.df[body, j] += s * c.turn[b, 36 * a + j]


@kernel
def push_rates(t, c):
    """Add d(J^T p)/dq at fixed p to right-hand sides by positions, from the impulses of bodies."""
    w = c.derivatives
    S, D, on, F = w.S, c.right, c.path, c.df
    for body in range(t.parent.shape[0]):
        if c.touched[body] == 0:
            continue
        f0, f1, f2, f3, f4, f5 = motion_of(c.f, body)
        i = body
        while i >= 0:
            for r in range(t.first_dof[i], t.first_dof[i + 1]):
                s = column(S, r)
                z0, z1, z2 = turned(F, body, 0, 0, s), turned(F, body, 0, 1, s), turned(F, body, 0, 2, s)
                z3, z4, z5 = turned(F, body, 0, 3, s), turned(F, body, 0, 4, s), turned(F, body, 0, 5, s)
                for k in range(c.u.shape[0]):
                    x = (z0 * S[0, k] + z1 * S[1, k] + z2 * S[2, k]) + (z3 * S[3, k] + z4 * S[4, k] + z5 * S[5, k])
                    D[0, r, k] += on[body, k] * x
                # -S_r . (S_k x* f) = S_k . y, y = S_r x f where the parts of f, and those of y, change places
                y0, y1, y2, y3, y4, y5 = cross_motion(s[0], s[1], s[2], s[3], s[4], s[5], f3, f4, f5, f0, f1, f2)
                for k in range(w.carried[r]):
                    x = (y3 * S[0, k] + y4 * S[1, k] + y5 * S[2, k]) + (y0 * S[3, k] + y1 * S[4, k] + y2 * S[5, k])
                    D[0, r, k] += on[body, k] * x
            i = t.parent[i]


@kernel
def contact_laws(t, c, n, pr, b, body, at):
    """Rows of the linear system for contact block b from row `at` on. Returns their number."""
    i = pr.row[b]
    V = motion_of(c.V, body)
    p0, p1, p2 = pr.impulse[i], pr.impulse[i + 1], pr.impulse[i + 2]
    v0 = row_dot(c.twist, b, 0, V) + pr.bias[i] + pr.compliance[i] * p0
    v1 = row_dot(c.twist, b, 1, V) + pr.bias[i + 1] + pr.compliance[i + 1] * p1
    v2 = row_dot(c.twist, b, 2, V) + pr.bias[i + 2] + pr.compliance[i + 2] * p2
    r = 3.0 / (pr.W[b, 0] + pr.W[b, 3] + pr.W[b, 5])
    normal, reach = p0 - r * v0, pr.mu[b] * p0
    c.margin[b] = math.fabs(normal) / r
    c.row[b], c.mode[b] = -1, OPEN
    if not (normal > 0.0 and p0 > 0.0):
        return 0
    c.row[b] = at
    y1, y2 = p1 - r * v1, p2 - r * v2
    size = math.sqrt(y1 * y1 + y2 * y2)
    sticks = reach > 0.0 and size <= reach
    c.mode[b] = STICKING if sticks else SLIDING
    for a in range(3):
        put_row(c, n, body, b, a, at + a)
        put_row_rates(c, n, body, b, a, at + a)
        c.use[at + a] = ASKED if a == 0 or sticks else DRAGGED
        c.last[at + a] = c.tip[body]
        soften(c, at + a, pr.compliance[i + a], pr.W[b, 0] if a == 0 else (pr.W[b, 3] if a == 1 else pr.W[b, 5]))
    c.drag[at, 0], c.drag[at, 1], c.drag[at, 2] = 0.0, 0.0, 0.0
    if reach > 0.0:
        c.margin[b] = min(c.margin[b], math.fabs(size - reach) / r)
        if not sticks:
            e1, e2 = y1 / size, y2 / size
            for k in range(c.u.shape[0]):
                n.T[at, k] += pr.mu[b] * e1 * n.N[at + 1, k] + pr.mu[b] * e2 * n.N[at + 2, k]
            # p_t = reach y / |y|, y = p_t - r v_t: dp_t = mu s dp_n - R dv_t
            s = reach * r / (size - reach)
            c.drag[at, 0], c.drag[at, 1], c.drag[at, 2] = s * e2 * e2, -s * e1 * e2, s * e1 * e1
    return 3


@kernel
def soften(c, at, soft, own):
    """Softness of row `at` with the compliance `own`; where that is enough to solve the system, nothing is added."""
    c.soft[at] = soft
    c.give[at] = 0.0 if soft > SOFT_ENOUGH * own else GIVE * own


@kernel
def clear_velocity_rates(c, n, at):
    """Row `at` has no rates by velocities; they are looked at only where contacts ask for what motion makes of them."""
    narrow = n.N.shape[1]
    for k in range(c.u.shape[0] if c.moving != 0 else 0):
        n.c[at, narrow + k] = 0.0


@kernel
def joint_laws(t, c, n, pr, src, u, b, at):
    """The same of a block of a coordinate, whose velocities are u. Returns the number of rows."""
    i, k, sign = pr.row[b], src.index[b], src.sign[b]
    p = pr.impulse[i]
    r = 1.0 / pr.W[b, 0]
    y = p - r * (sign * u[k] + pr.bias[i] + pr.compliance[i] * p)
    c.margin[b] = min(math.fabs(y - pr.lower[b]), math.fabs(y - pr.upper[b])) / r
    held = pr.lower[b] < y < pr.upper[b]
    c.row[b], c.mode[b] = -1, HELD if held else BOUND
    if not held:
        return 0
    c.row[b] = at
    for j in range(c.u.shape[0]):
        n.N[at, j] = n.T[at, j] = n.c[at, j] = 0.0
    clear_velocity_rates(c, n, at)
    n.N[at, k] = n.T[at, k] = sign
    if src.origin[b] == FROM_LIMIT:
        slope = 1.0 / src.time_step
        if src.side[b] != 0.0:
            gap = c.data.q[k] - t.lower[k] if sign > 0.0 else t.upper[k] - c.data.q[k]
            slope = bias_slope(src, gap)
        n.c[at, k] = slope * sign
    c.use[at], c.last[at] = ASKED, k
    soften(c, at, pr.compliance[i], pr.W[b, 0])
    return 1


@kernel
def known_way(t, d, pr, src, w):
    """Whether all blocks of a problem have laws that are differentiated here, and nothing moves on by itself."""
    if src.num_impacts > 0 or pr.num_extras > 0:
        return False
    if src.surfaces.mode != NO_ROWS and w.collision.num_contacts > 0:
        return False
    for b in range(pr.num_blocks):
        i, k = pr.row[b], src.index[b]
        if pr.kind[b] == CONTACT:
            if src.origin[b] != FROM_CONTACT or src.body[b] < 0 or pr.restitution[b] != 0.0 or pr.floor[b] != 0.0:
                return False
            if pr.compliance[i + 1] != 0.0 or pr.compliance[i + 2] != 0.0:
                return False
        elif pr.kind[b] == BOUNDED:
            if src.origin[b] > FROM_SPEED_LIMIT:
                return False
            kind = t.kind[t.body_of_dof[k]]
            if src.origin[b] == FROM_LIMIT and (kind == BALL or kind == FREE_MIXED):
                return False
        else:
            return False
    for k in range(d.q.shape[0]):
        if pr.u_position[k] != 0.0:
            return False
    for tree_index in range(t.tree_mobile.shape[0]):
        first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
        begin, end = t.first_dof[first], t.first_dof[last]
        if t.tree_mobile[tree_index] == 0 or begin == end:
            continue
        if src.responses.free[first] != NOT_FREE:
            return False
    return True


@kernel
def known_biases(c, pr, src, contacts, w):
    """Whether biases of contacts are what gaps and motion make of them."""
    for b in range(pr.num_blocks):
        if pr.kind[b] != CONTACT:
            continue
        i = pr.row[b]
        bias, _ = biases(src, contacts.gap[src.index[b]], src.slop, src.max_correction)
        x, y, z = 0.0, 0.0, 0.0
        if c.moving != 0:
            x, y, z = bias_of_motion(c, contacts, w, b, src.body[b])
        off = math.fabs(pr.bias[i] - bias - x) + math.fabs(pr.bias[i + 1] - y) + math.fabs(pr.bias[i + 2] - z)
        if not off < NEAR:
            return False
    return True
