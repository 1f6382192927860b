"""How the trace of softness of shallow contacts changes with positions: it is a share of the contact's own compliance.

Of a row N with the response y = M~^-1 N^T, W = N y. At fixed y, with V the velocities of bodies that y gives and P_k
the momentum of all that is beyond coordinate k at these,

    dW/dq_k = 2 (dN/dq_k) y - y^T (dM/dq_k) y,    y^T (dM/dq_k) y / 2 = P_k . dV_k

since what is carried along keeps its energy: only dV_k, what does not ride along, changes it.
"""

from __future__ import annotations

from kido.constraints.row_origins import SHALLOW_SOFTNESS
from kido.jit import LANES, inlined, kernel
from kido.joints.kinds import BALL, FREE_MIXED
from kido.kernels.common_point import cross_force
from kido.kernels.derivatives import column, inertia_at_point
from kido.kernels.inertia import rigid_momentum
from kido.simulation.gradients.tangent.dynamics import crossed, motion_of, plus, put_column
from kido.simulation.gradients.tangent.geometry import turned
from kido.simulation.gradients.tangent.linear import MASS, solve_columns
from kido.solvers.problem import CONTACT

SAME = 1e-9  # relative


@kernel
def unit_motion(t, c, y):
    """V, P and dV of all bodies for the velocities `y` of eight responses."""
    w, d = c.derivatives, c.data
    for i in range(t.parent.shape[0]):
        zero = 0.0 * y.row[0, 0]
        V = zero, zero, zero, zero, zero, zero
        if t.parent[i] >= 0:
            V = motion_of(y.V, t.parent[i])
        first, last = t.first_dof[i], t.first_dof[i + 1]
        if t.kind[i] == FREE_MIXED:
            last = first + 3
            for k in range(first + 3, first + 6):
                put_column(y.dV, k, crossed(V, column(w.S, k)))
            for k in range(first + 3, first + 6):
                V = plus(V, y.row[k, 0], column(w.S, k))
        on_body = t.kind[i] == FREE_MIXED or t.kind[i] == BALL
        mount = V
        for k in range(first, last):
            S = column(w.S, k)
            put_column(y.dV, k, crossed(mount, S))
            V = plus(V, y.row[k, 0], S)
            if not on_body:
                mount = V
        y.V[i, 0], y.V[i, 1], y.V[i, 2], y.V[i, 3], y.V[i, 4], y.V[i, 5] = V
        J, e, m = inertia_at_point(t, d, w, i)
        P = rigid_momentum(J, e, m, V[0], V[1], V[2], V[3], V[4], V[5])
        y.P[i, 0], y.P[i, 1], y.P[i, 2], y.P[i, 3], y.P[i, 4], y.P[i, 5] = P
    for i in range(t.parent.shape[0] - 1, -1, -1):
        p = t.parent[i]
        if p >= 0:
            for j in range(6):
                y.P[p, j] += y.P[i, j]
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            x = y.P[i, 0] * y.dV[0, k] + y.P[i, 1] * y.dV[1, k] + y.P[i, 2] * y.dV[2, k]
            y.energy[k] = x + (y.P[i, 3] * y.dV[3, k] + y.P[i, 4] * y.dV[4, k] + y.P[i, 5] * y.dV[5, k])


@kernel
def is_share(c, pr, b):
    """Whether the softness of a contact block that presses is the share of its own compliance."""
    if pr.kind[b] != CONTACT or c.row[b] < 0:
        return False
    soft = pr.compliance[pr.row[b]]
    return soft > 0.0 and abs(soft - SHALLOW_SOFTNESS * (pr.W[b, 0] - soft)) < SAME * soft


@inlined
def number_of(g, i):
    """Number i of six."""
    if i < 3:
        return g[0] if i == 0 else (g[1] if i == 1 else g[2])
    return g[3] if i == 3 else (g[4] if i == 4 else g[5])


@kernel
def add_group(t, c, n, pr, src, y, x, count):
    """Softness of `count` contacts, whose blocks are `x.block`, into the rates of their rows."""
    size, on = c.u.shape[0], c.path
    for j in range(LANES):
        r = c.row[x.block[j]] if j < count else 0
        for k in range(size):
            x.row[LANES * k + j] = n.N[r, k] if j < count else 0.0
    solve_columns(c, MASS, y.row, 1)
    unit_motion(t, c, y)
    S = c.derivatives.S
    for j in range(count):
        b = x.block[j]
        o = 6 * LANES * src.body[b] + j
        V = x.V[o], x.V[o + LANES], x.V[o + 2 * LANES], x.V[o + 3 * LANES], x.V[o + 4 * LANES], x.V[o + 5 * LANES]
        e = c.twist[b, 0, 0], c.twist[b, 0, 1], c.twist[b, 0, 2], c.twist[b, 0, 3], c.twist[b, 0, 4], c.twist[b, 0, 5]
        g = cross_force(V[0], V[1], V[2], V[3], V[4], V[5], e[0], e[1], e[2], e[3], e[4], e[5])
        for i in range(6):
            x.twist[LANES * i + j] = c.twist[b, 0, i]
            # w . (S x V) = S . (V x* w)
            x.turn[LANES * i + j] = number_of(g, i) + turned(c.turn, b, 0, i, V)
    for k in range(size):
        z = y.twist[0] * y.dV[0, k] + y.twist[1] * y.dV[1, k] + y.twist[2] * y.dV[2, k]
        z += y.twist[3] * y.dV[3, k] + y.twist[4] * y.dV[4, k] + y.twist[5] * y.dV[5, k]
        z += y.turn[0] * S[0, k] + y.turn[1] * S[1, k] + y.turn[2] * S[2, k]
        y.row[k, 0] = z + (y.turn[3] * S[3, k] + y.turn[4] * S[4, k] + y.turn[5] * S[5, k])
    for j in range(count):
        b = x.block[j]
        r, body = c.row[b], src.body[b]
        p = 2.0 * SHALLOW_SOFTNESS * pr.impulse[pr.row[b]]
        for k in range(size):
            n.c[r, k] += p * (on[body, k] * x.row[LANES * k + j] - x.energy[LANES * k + j])


@kernel
def add_softness(t, c, n, pr, src, y, x):
    """What changes of softness add to the rates of rows.

    Args:
        y, x: UNITS by lanes and by numbers.
    """
    count = 0
    for b in range(pr.num_blocks):
        if is_share(c, pr, b):
            x.block[count] = b
            count += 1
            if count == LANES:
                add_group(t, c, n, pr, src, y, x, count)
                count = 0
    if count > 0:
        add_group(t, c, n, pr, src, y, x, count)
