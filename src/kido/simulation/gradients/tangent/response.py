"""What velocities answer to right-hand sides and to rows, and the derivative of a step that this makes.

With K^-1 of the system whose rows are penalties with the softness g more than they have, theta = 1 / (soft + g),
V = K^-1 T^T theta and Phi = theta - theta N V, what refining it r - 1 times leaves is

    du = G b - H c,    H = V (1 + g Phi + ... + (g Phi)^(r - 1))
    G = K^-1 - V (1 + ... + (g Phi)^(r - 2)) g theta N K^-1

where V has a column K^-1 N^T R, and g is 0, for tangents of what slides: their part of K is large, so that what
presses on them is not first added to b. E = g Phi is a matrix of rows.
b are right-hand sides of coordinates, c rates of rows. Of the three kinds of columns (`step`) that by forces is
du itself, those by velocities and positions are products of the same matrices: with Y = (h/2) (h G U*) M~^-1,

    du_tau = h G - Y,   du_q = G B_q + Y (ID_q + K_s) - H c_q,   du_u = G B_u - h G U* + Y (ID_u + D) - H c_u

where velocity products after impulses (`products`) add their part. All is kept transposed, since dtau/dq and the like
have few entries in the columns of a tree: the loops go over those, with rows of coordinates eight at a time.
"""

from __future__ import annotations

from kido.jit import LANES, inlined, kernel
from kido.simulation.gradients.tangent.contacts import ASKED
from kido.simulation.gradients.tangent.linear import MASS, SYSTEM, add_times, five, put_five, solve_columns

REFINEMENTS = 3


@kernel
def empty(F):
    """A table of numbers is zero."""
    for k in range(F.shape[0]):
        for j in range(F.shape[1]):
            F[k, j] = 0.0


@kernel
def scale_to(A, s, C, at):
    """C[at + k] = s A[k]."""
    for k in range(A.shape[0]):
        for j in range(A.shape[1]):
            C[at + k, j] = s * A[k, j]


@kernel
def add_scaled(A, s, C, at):
    """C[at + k] += s A[k]."""
    for k in range(A.shape[0]):
        for j in range(A.shape[1]):
            C[at + k, j] += s * A[k, j]


@kernel
def add_outer(F, i, s, G, at):
    """F[i] += s G[at]."""
    for j in range(F.shape[1]):
        F[i, j] += s * G[at, j]


@kernel
def add_penalties(c, b, n):
    """Rows of sliding contacts and penalties into K."""
    for r in range(c.num_rows):
        k = c.last[r]
        if c.use[r] == ASKED:
            s = 1.0 / (c.soft[r] + c.give[r])
            for e in range(c.num_above[MASS, k] + 1):
                i = c.kin[MASS, k, e]
                add_outer(b.K, i, s * n.T[r, i], b.N, r)
        elif c.use[r - 1] == ASKED:  # the first of two tangents
            x, y, z = c.drag[r - 1, 0], c.drag[r - 1, 1], c.drag[r - 1, 2]
            for e in range(c.num_above[MASS, k] + 1):
                i = c.kin[MASS, k, e]
                add_outer(b.K, i, x * n.N[r, i] + y * n.N[r + 1, i], b.N, r)
                add_outer(b.K, i, y * n.N[r, i] + z * n.N[r + 1, i], b.N, r + 1)


@kernel
def refinements(c):
    """How often the system is to be solved: once where no row was given more softness than it has."""
    for r in range(c.num_rows):
        if c.use[r] == ASKED and c.give[r] > 0.0:
            return REFINEMENTS
    return 1


@inlined
def kept(c, r):
    """Share of its impulse that a row keeps from one refinement to the next, g theta; 0 of what slides."""
    return c.give[r] / (c.soft[r] + c.give[r]) if c.use[r] == ASKED else 0.0


@kernel
def row_sides(c, n):
    """Right-hand sides of the system by the rates of rows into S. Returns their blocks of lanes, with some of zeros."""
    size, count = c.u.shape[0], c.num_rows
    for r in range(count):  # from K^-1 it would lose the digits by which penalties are large
        if c.use[r] == ASKED:
            s = 1.0 / (c.soft[r] + c.give[r])
            for k in range(size):
                n.S[k, r] = s * n.T[r, k]
        elif c.use[r - 1] == ASKED:
            x, y, z = c.drag[r - 1, 0], c.drag[r - 1, 1], c.drag[r - 1, 2]
            for k in range(size):
                n.S[k, r], n.S[k, r + 1] = x * n.N[r, k] + y * n.N[r + 1, k], y * n.N[r, k] + z * n.N[r + 1, k]
    wide = (count + LANES - 1) // LANES
    if wide % 5 == 4:  # five take less time
        wide += 1
    for k in range(size):
        for r in range(count, wide * LANES):
            n.S[k, r] = 0.0
    return wide


@kernel
def row_responses(c, b, n):
    """G and H, transposed, from K^-1 in X."""
    size, count = c.u.shape[0], c.num_rows
    for i in range(size):
        for k in range(size):
            n.G[k, i] = n.X[i, k]
    if count == 0:
        return
    wide = row_sides(c, n)
    solve_columns(c, SYSTEM, b.S, wide)
    for r in range(count):
        for k in range(size):
            n.H[r, k] = n.S[k, r]
    if refinements(c) == 1:
        return
    for r in range(count):  # R = g theta N K^-1, and E = g Phi
        s = kept(c, r)
        along_path(c, n.N, r, s, b.X, b.R, b.X.shape[1])
        along_path(c, n.N, r, -s, b.S, b.E, wide)
        n.E[r, r] += s
    for r in range(count):  # V <- H + H E
        for j in range(b.H.shape[1]):
            b.V[r, j] = 1.0 * b.H[r, j]
        add_sum(n.E, 1.0, b.H, b.V, r, count)
    for k in range(size):
        add_sum(n.R, -1.0, b.V, b.G, k, count)
    for r in range(count):  # H <- H + (H + H E) E
        add_sum(n.E, 1.0, b.V, b.H, r, count)


@kernel
def along_path(c, F, r, factor, A, C, wide):
    """C[r] = factor sum_k F[r, k] A[k] over coordinates k that move row r, for the first blocks of columns."""
    p = c.last[r]
    count = c.num_above[MASS, p] + 1
    j = 0
    while j < wide:
        if j + 5 <= wide:
            p0 = 0.0 * A[0, j]
            x = p0, p0, p0, p0, p0
            for e in range(count):
                k = c.kin[MASS, p, e]
                s = factor * F[r, k]
                y = five(A, k, j)
                x = x[0] + s * y[0], x[1] + s * y[1], x[2] + s * y[2], x[3] + s * y[3], x[4] + s * y[4]
            put_five(C, r, j, x)
            j += 5
        else:
            x0 = 0.0 * A[0, j]
            for e in range(count):
                k = c.kin[MASS, p, e]
                x0 += factor * F[r, k] * A[k, j]
            C[r, j] = x0
            j += 1


@kernel
def add_sum(F, factor, A, C, k, count):
    """C[k] += factor sum_r F[r, k] A[r], r below `count`."""
    wide = A.shape[1]
    j = 0
    while j < wide:
        if j + 5 <= wide:
            x = five(C, k, j)
            for r in range(count):
                s = factor * F[r, k]
                y = five(A, r, j)
                x = x[0] + s * y[0], x[1] + s * y[1], x[2] + s * y[2], x[3] + s * y[3], x[4] + s * y[4]
            put_five(C, k, j, x)
            j += 5
        else:
            x0 = C[k, j]
            for r in range(count):
                x0 += factor * F[r, k] * A[r, j]
            C[k, j] = x0
            j += 1


@kernel
def less_product(F, A, C, r, size):
    """C[r] -= sum_i F[r, i] A[i]."""
    wide = A.shape[1]
    j = 0
    while j < wide:
        if j + 5 <= wide:
            p, q, s, u, v = C[r, j], C[r, j + 1], C[r, j + 2], C[r, j + 3], C[r, j + 4]
            for i in range(size):
                f = F[r, i]
                p -= f * A[i, j]
                q -= f * A[i, j + 1]
                s -= f * A[i, j + 2]
                u -= f * A[i, j + 3]
                v -= f * A[i, j + 4]
            C[r, j], C[r, j + 1], C[r, j + 2], C[r, j + 3], C[r, j + 4] = p, q, s, u, v
            j += 5
        else:
            p = C[r, j]
            for i in range(size):
                p -= F[r, i] * A[i, j]
            C[r, j] = p
            j += 1


@kernel
def products(t, c, b, n):
    """Velocity products of the second half, (h/2) d(a_3 - a_2), into G, H, P, and what is apart from these into X.

    With S the rows of (h/2) M~^-1 of trees that take them anew, T1 = S ID_u(a_3) and T2 = T1 M~^-1, they make G and H
    (1 - T1) times themselves, P = -S + h T2, and add S (ID_q(a_2) - ID_q(a_3)) - h T2 (ID_q(a_2) + K_s) by positions.
    Leaves T1 in Z and T2 in W.
    """
    h, size, wide = c.time_step, c.u.shape[0], b.P.shape[1]
    empty(n.P)
    for k in range(size):
        n.P[k, k] = 0.5 * h if c.again[k] != 0 else 0.0
    solve_columns(c, MASS, b.P, wide)
    empty(n.Z)
    add_times(c.at_end, 1, c, b.P, b.Z, 0)
    scale_to(b.Z, 1.0, b.W, 0)
    solve_columns(c, MASS, b.W, wide)
    add_times(c.at_free, 0, c, b.P, b.X, 0)
    scale_to(b.P, -1.0, b.Y, 0)
    add_times(c.at_end, 0, c, b.Y, b.X, 0)
    scale_to(b.W, -h, b.Y, 0)
    add_times(c.at_free, 0, c, b.Y, b.X, 0)
    for k in range(size):
        add_outer(b.X, k, -h * t.stiffness[k], b.W, k)
        add_outer(b.X, size + k, -h * t.damping[k], b.W, k)
    scale_to(b.P, -1.0, b.P, 0)
    add_scaled(b.W, h, b.P, 0)
    # (1 - T1) G: the columns of T1^T are rows of Z
    scale_to(b.G, 1.0, b.Y, 0)
    for k in range(size):
        less_product(n.Y, b.Z, b.G, k, size)
    for r in range(c.num_rows):
        for j in range(b.H.shape[1]):
            b.V[r, j] = 1.0 * b.H[r, j]
        less_product(n.V, b.Z, b.H, r, size)


@kernel
def all_columns(t, c, b, n, again):
    """X: du_1 by all columns, transposed; `again`: whether velocity products are taken anew."""
    h, size, wide = c.time_step, c.u.shape[0], b.X.shape[1]
    narrow = n.K.shape[1]
    empty(n.X)
    for k in range(size):
        n.X[k, k] = 1.0
    solve_columns(c, SYSTEM, b.X, wide)
    row_responses(c, b, n)
    empty(n.X)
    if again:
        products(t, c, b, n)
        add_scaled(b.G, h, b.X, 2 * size)
        add_scaled(b.W, h, b.X, 2 * size)  # h G' + h T2
        add_scaled(b.G, h, b.P, 0)
    else:
        scale_to(b.G, h, b.X, 2 * size)
        scale_to(b.G, h, b.P, 0)
    empty(n.W)
    add_times(c.at_middle, 1, c, b.P, b.W, 0)
    add_scaled(b.W, -1.0, b.X, size)
    if again:
        add_scaled(b.Z, 1.0, b.W, 0)
    scale_to(b.W, 0.5 * h, b.Y, 0)
    solve_columns(c, MASS, b.Y, wide)
    add_scaled(b.Y, -1.0, b.X, 2 * size)
    for m in range(2):
        add_times(c.right, m, c, b.G, b.X, m * size)
        add_times(c.at_start, m, c, b.Y, b.X, m * size)
    for k in range(size):
        add_outer(b.X, k, t.stiffness[k], b.Y, k)
        add_outer(b.X, size + k, t.damping[k], b.Y, k)
    for m in range(1 + c.moving):
        for k in range(size):
            for r in range(c.num_rows):
                s = n.c[r, m * narrow + k]
                if s != 0.0:
                    add_outer(b.X, m * size + k, -s, b.H, r)
