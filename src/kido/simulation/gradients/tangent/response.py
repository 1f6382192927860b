"""What velocities answer to right-hand sides and to rows, and the derivative of a step that this makes.

With K^-1 of the system whose rows are penalties with the softness g more than they have, theta = 1 / (soft + g),
V = K^-1 T^T theta and Phi = theta - theta N V, what refining it r - 1 times leaves is

    du = G b - H c,    H = V (1 + g Phi + ... + (g Phi)^(r - 1))
    G = K^-1 - V (1 + ... + (g Phi)^(r - 2)) g theta N K^-1

where V has a column K^-1 N^T R, and g is 0, for tangents of what slides: their part of K is large, so that what
presses on them is not first added to b.
b are right-hand sides of coordinates, c rates of rows. Of the three kinds of columns (`step`) that by forces is
du itself, those by velocities and positions are products of the same matrices: with Y = (h/2) (h G U*) M~^-1,

    du_tau = h G - Y,   du_q = G B_q + Y (ID_q + K_s) - H c_q,   du_u = G B_u - h G U* + Y (ID_u + D) - H c_u

where velocity products after impulses (`products`) add their part. All is kept transposed, since dtau/dq and the like
have few entries in the columns of a tree: the loops go over those, with rows of coordinates eight at a time.
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.simulation.gradients.tangent.contacts import ASKED
from kido.simulation.gradients.tangent.linear import solve_columns

REFINEMENTS = 3
KIN, TREE = 0, 1  # lists of coordinates: those on one path with another, and those of its tree


@inlined
def sum_one(F, m, c, which, k, A, j, x):
    """x plus sum_i F[m, i, k] A[i, j] over a list of coordinates i."""
    for e in range(c.num_kin[which, k]):
        i = c.kin[which, k, e]
        x += F[m, i, k] * A[i, j]
    return x


@inlined
def sum_three(F, m, c, which, k, A, j, x):
    """The same of three neighbouring blocks."""
    p, q, r = x
    for e in range(c.num_kin[which, k]):
        i = c.kin[which, k, e]
        s = F[m, i, k]
        p += s * A[i, j]
        q += s * A[i, j + 1]
        r += s * A[i, j + 2]
    return p, q, r


@inlined
def sum_five(F, m, c, which, k, A, j, x):
    """The same of five."""
    p, q, r, u, v = x
    for e in range(c.num_kin[which, k]):
        i = c.kin[which, k, e]
        s = F[m, i, k]
        p += s * A[i, j]
        q += s * A[i, j + 1]
        r += s * A[i, j + 2]
        u += s * A[i, j + 3]
        v += s * A[i, j + 4]
    return p, q, r, u, v


@kernel
def times_matrix(F, m, c, which, A, C, at):
    """C[at + k] += sum_i F[m, i, k] A[i]: (A^T F[m])^T where F[m] is zero but in the lists of `which`."""
    size, wide = A.shape[0], A.shape[1]
    for k in range(size):
        o = at + k
        j = 0
        while j < wide:
            if j + 5 <= wide:
                x = C[o, j], C[o, j + 1], C[o, j + 2], C[o, j + 3], C[o, j + 4]
                x = sum_five(F, m, c, which, k, A, j, x)
                C[o, j], C[o, j + 1], C[o, j + 2], C[o, j + 3], C[o, j + 4] = x
                j += 5
            elif j + 3 <= wide:
                x = sum_three(F, m, c, which, k, A, j, (C[o, j], C[o, j + 1], C[o, j + 2]))
                C[o, j], C[o, j + 1], C[o, j + 2] = x
                j += 3
            else:
                C[o, j] = sum_one(F, m, c, which, k, A, j, C[o, j])
                j += 1


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
    size = c.L.shape[0]
    for r in range(c.num_rows):
        if c.use[r] == ASKED:
            s = 1.0 / (c.soft[r] + c.give[r])
            for i in range(size):
                x = n.T[r, i]
                if x != 0.0:
                    add_outer(b.K, i, s * x, b.N, r)
        elif c.use[r - 1] == ASKED:  # the first of two tangents
            x, y, z = c.drag[r - 1, 0], c.drag[r - 1, 1], c.drag[r - 1, 2]
            for i in range(size):
                f = x * n.N[r, i] + y * n.N[r + 1, i]
                g = y * n.N[r, i] + z * n.N[r + 1, i]
                if f != 0.0 or g != 0.0:
                    add_outer(b.K, i, f, b.N, r)
                    add_outer(b.K, i, g, b.N, r + 1)


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
def row_responses(c, b, n):
    """G and H, transposed, from K^-1 in X."""
    size = c.L.shape[0]
    count = c.num_rows
    for i in range(size):
        for k in range(size):
            n.G[k, i] = n.X[i, k]
    if count == 0:
        return
    for r in range(count):  # from K^-1 it would lose the digits by which penalties are large
        if c.use[r] == ASKED:
            s = 1.0 / (c.soft[r] + c.give[r])
            for k in range(size):
                n.S[k, r] = s * n.T[r, k]
        elif c.use[r - 1] == ASKED:
            x, y, z = c.drag[r - 1, 0], c.drag[r - 1, 1], c.drag[r - 1, 2]
            for k in range(size):
                n.S[k, r], n.S[k, r + 1] = x * n.N[r, k] + y * n.N[r + 1, k], y * n.N[r, k] + z * n.N[r + 1, k]
    lanes = n.K.shape[1] // b.K.shape[1]
    solve_columns(c, n, b.S, 0, (count + lanes - 1) // lanes)
    for r in range(count):
        s = kept(c, r)
        for k in range(size):
            n.V[r, k] = n.H[r, k] = n.S[k, r]
        for j in range(n.R.shape[1]):
            n.R[r, j] = 0.0
        for k in range(size):
            if n.N[r, k] != 0.0 and s != 0.0:
                add_outer(b.R, r, s * n.N[r, k], b.X, k)
    times = refinements(c)
    for turn in range(1, times):
        if turn == times - 1:  # G lacks the last power
            for r in range(count):
                if kept(c, r) > 0.0:
                    for k in range(size):
                        add_outer(b.G, k, -n.R[r, k], b.H, r)
        # H <- V + H g Phi
        empty(n.Z)
        for r in range(count):
            s = kept(c, r)
            for j in range(b.H.shape[1]):
                b.H[r, j] = s * b.H[r, j]
            for k in range(size):
                if n.N[r, k] != 0.0 and s != 0.0:
                    add_outer(b.Z, k, n.N[r, k], b.H, r)
        for r in range(count):
            less_product(n.V, b.Z, b.H, r, size)
            for j in range(b.H.shape[1]):
                b.H[r, j] += b.V[r, j]


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
    h, size = c.time_step, c.L.shape[0]
    for k in range(size):
        for i in range(size):
            n.P[k, i] = 0.5 * h * c.inverse[0, i, k] if c.again[i] != 0 else 0.0
    empty(n.Z)
    times_matrix(c.at_end, 1, c, KIN, b.P, b.Z, 0)
    empty(n.W)
    times_matrix(c.inverse, 0, c, TREE, b.Z, b.W, 0)
    times_matrix(c.at_free, 0, c, KIN, b.P, b.X, 0)
    scale_to(b.P, -1.0, b.Y, 0)
    times_matrix(c.at_end, 0, c, KIN, b.Y, b.X, 0)
    scale_to(b.W, -h, b.Y, 0)
    times_matrix(c.at_free, 0, c, KIN, b.Y, b.X, 0)
    for k in range(size):
        add_outer(b.X, k, -h * t.stiffness[k], b.W, k)
        add_outer(b.X, size + k, -h * t.damping[k], b.W, k)
    scale_to(b.P, -1.0, b.P, 0)
    add_scaled(b.W, h, b.P, 0)
    # (1 - T1) G: the columns of T1^T are rows of Z
    for k in range(size):
        for j in range(b.Y.shape[1]):
            b.Y[k, j] = 1.0 * b.G[k, j]
    for k in range(size):
        less_product(n.Y, b.Z, b.G, k, size)
    for r in range(c.num_rows):
        for j in range(b.H.shape[1]):
            b.V[r, j] = 1.0 * b.H[r, j]
        less_product(n.V, b.Z, b.H, r, size)


@kernel
def all_columns(t, c, b, n, again):
    """X: du_1 by all columns, transposed; `again`: whether velocity products are taken anew."""
    h, size = c.time_step, c.L.shape[0]
    narrow = n.K.shape[1]
    empty(n.X)
    for k in range(size):
        n.X[k, k] = 1.0
    solve_columns(c, n, b.X, 0, b.K.shape[1])
    row_responses(c, b, n)
    empty(n.X)
    empty(n.P)
    empty(n.W)
    if again:
        products(t, c, b, n)
    add_scaled(b.G, h, b.X, 2 * size)
    add_scaled(b.W, h, b.X, 2 * size)  # h G' + h T2
    add_scaled(b.G, h, b.P, 0)
    empty(n.W)
    times_matrix(c.at_middle, 1, c, KIN, b.P, b.W, 0)
    add_scaled(b.W, -1.0, b.X, size)
    if again:
        add_scaled(b.Z, 1.0, b.W, 0)
    scale_to(b.W, 0.5 * h, b.W, 0)
    empty(n.Y)
    times_matrix(c.inverse, 0, c, TREE, b.W, b.Y, 0)
    add_scaled(b.Y, -1.0, b.X, 2 * size)
    for m in range(2):
        times_matrix(c.right, m, c, KIN, b.G, b.X, m * size)
        times_matrix(c.at_start, m, c, KIN, b.Y, b.X, m * size)
    for k in range(size):
        add_outer(b.X, k, t.stiffness[k], b.Y, k)
        add_outer(b.X, size + k, t.damping[k], b.Y, k)
    for m in range(1 + c.moving):
        for k in range(size):
            for r in range(c.num_rows):
                s = n.c[r, m * narrow + k]
                if s != 0.0:
                    add_outer(b.X, m * size + k, -s, b.H, r)
