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
from kido.jit import clear, kernel
from kido.joints.kinds import BALL, FREE_MIXED
from kido.kernels.common_point import cross_force
from kido.kernels.derivatives import column
from kido.kernels.free_lanes import NOT_FREE
from kido.simulation.gradients.laws import BOUND, HELD, OPEN, SLIDING, STICKING
from kido.simulation.gradients.tangent.dynamics import crossed, motion_of
from kido.simulation.gradients.tangent.following import bias_of_motion
from kido.simulation.gradients.tangent.geometry import bias_slope, row_dot, turned
from kido.solvers.problem import BOUNDED, CONTACT

ASKED, DRAGGED = 1, 2  # rows: dv is asked for; tangents of what slides, whose impulse follows dv
GIVE = 1e-6  # of the own compliance of a row: with how much the system stands for it before it is refined
SOFT_ENOUGH = 1e-9  # softness, in the same measure, with which it stands for the row as it is
NEAR = 1e-9  # [m/s] by what a bias may differ from that of the gap alone


@kernel
def add_row(t, c, body, b, a, row, share, F):
    """Add a share of row a of block b, as a row of coordinates, to row `row` of a table F."""
    S = c.derivatives.S
    i = body
    while i >= 0:
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            F[row, k] += share * row_dot(c.twist, b, a, column(S, k))
        i = t.parent[i]


@kernel
def add_row_rates(t, c, body, b, a, row, F):
    """Add dv/dq of row a of block b at fixed velocities, bias of the gap included, to row `row` of F."""
    S, dV = c.derivatives.S, c.dV
    V = motion_of(c.V, body)
    g = (
        turned(c.turn, b, a, 0, V), turned(c.turn, b, a, 1, V), turned(c.turn, b, a, 2, V),
        turned(c.turn, b, a, 3, V), turned(c.turn, b, a, 4, V), turned(c.turn, b, a, 5, V),
    )  # fmt: skip
    if a == 0:
        s = c.slope
        g = (
            g[0] + s[b, 0], g[1] + s[b, 1], g[2] + s[b, 2], g[3] + s[b, 3], g[4] + s[b, 4], g[5] + s[b, 5],
        )  # fmt: skip
    i = body
    while i >= 0:
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            s = column(S, k)
            e, y = crossed(s, V), column(dV, k)
            x = row_dot(c.twist, b, a, (e[0] + y[0], e[1] + y[1], e[2] + y[2], e[3] + y[3], e[4] + y[4], e[5] + y[5]))
            x += (g[0] * s[0] + g[1] * s[1] + g[2] * s[2]) + (g[3] * s[3] + g[4] * s[4] + g[5] * s[5])
            F[row, k] += x
        i = t.parent[i]


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
    """d(J^T p)/dq at fixed p into `push`, from the impulses of bodies."""
    w = c.derivatives
    S, D = w.S, c.push
    clear(D)
    for body in range(t.parent.shape[0]):
        if c.touched[body] == 0:
            continue
        f0, f1, f2, f3, f4, f5 = motion_of(c.f, body)
        i = body
        while i >= 0:
            for k in range(t.first_dof[i], t.first_dof[i + 1]):
                s0, s1, s2, s3, s4, s5 = column(S, k)
                y0, y1, y2, y3, y4, y5 = cross_force(s0, s1, s2, s3, s4, s5, f0, f1, f2, f3, f4, f5)
                for a in range(6):
                    o = 6 * a
                    x = c.df[body, o] * s0 + c.df[body, o + 1] * s1 + c.df[body, o + 2] * s2
                    x += c.df[body, o + 3] * s3 + c.df[body, o + 4] * s4 + c.df[body, o + 5] * s5
                    c.work[0, a] = x
                x0, x1, x2 = c.work[0, 0], c.work[0, 1], c.work[0, 2]
                x3, x4, x5 = c.work[0, 3], c.work[0, 4], c.work[0, 5]
                m = body
                while m >= 0:
                    for r in range(t.first_dof[m], t.first_dof[m + 1]):
                        g0, g1, g2, g3, g4, g5 = x0, x1, x2, x3, x4, x5
                        if k < w.carried[r]:
                            g0, g1, g2, g3, g4, g5 = g0 - y0, g1 - y1, g2 - y2, g3 - y3, g4 - y4, g5 - y5
                        z = S[0, r] * g0 + S[1, r] * g1 + S[2, r] * g2
                        D[r, k] += z + (S[3, r] * g3 + S[4, r] * g4 + S[5, r] * g5)
                    m = t.parent[m]
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
        clear_row(n, at + a)
        add_row(t, c, body, b, a, at + a, 1.0, n.N)
        add_row(t, c, body, b, a, at + a, 1.0, n.T)
        add_row_rates(t, c, body, b, a, at + a, n.c)
        c.use[at + a] = ASKED if a == 0 or sticks else DRAGGED
        soften(c, at + a, pr.compliance[i + a], pr.W[b, 0] if a == 0 else (pr.W[b, 3] if a == 1 else pr.W[b, 5]))
    c.drag[at, 0], c.drag[at, 1], c.drag[at, 2] = 0.0, 0.0, 0.0
    if reach > 0.0:
        c.margin[b] = min(c.margin[b], math.fabs(size - reach) / r)
        if not sticks:
            e1, e2 = y1 / size, y2 / size
            add_row(t, c, body, b, 1, at, pr.mu[b] * e1, n.T)
            add_row(t, c, body, b, 2, at, pr.mu[b] * e2, n.T)
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
def clear_row(n, at):
    """Row `at` of all tables is zero."""
    for k in range(n.N.shape[1]):
        n.N[at, k] = 0.0
        n.T[at, k] = 0.0
    for k in range(n.c.shape[1]):
        n.c[at, k] = 0.0


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
    clear_row(n, at)
    n.N[at, k] = n.T[at, k] = sign
    if src.origin[b] == FROM_LIMIT:
        slope = 1.0 / src.time_step
        if src.side[b] != 0.0:
            gap = c.data.q[k] - t.lower[k] if sign > 0.0 else t.upper[k] - c.data.q[k]
            slope = bias_slope(src, gap)
        n.c[at, k] = slope * sign
    c.use[at] = ASKED
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
