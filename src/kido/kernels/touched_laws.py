"""Impulses and linear laws on few bodies and coordinates of a tree: dense equations among them alone.

With Omega of `kido.kernels.touched_bodies` and the laws F = z - G V of `kido.kernels.regularized_tree`, G in blocks of
bodies and coordinates,

    V = Omega F,    (Omega_h^-1 + G_h) V_h = z_h + Omega_h^-1 Omega_hn z_n,

h being the columns that are held, n those that no law holds, G = 0. (I + Omega G) V = Omega z has the same solution,
but for a gain of sigma times the columns' inertia loses sigma^2 of the digits, not sigma. Columns may depend on others,
as those along the axes of planar legs do: with r those that do not, V_h = T V_r, T = Omega_hr Omega_r^-1, and

    (Omega_r^-1 + T^T G_h T) V_r = T^T z_h + Omega_r^-1 Omega_rn z_n

The velocity of a body that is touched at one point is that point's.
"""

from __future__ import annotations

from kido.jit import LANES, kernel, where_positive
from kido.math.choices import any_positive, smaller

SINGULAR = 1e-9  # share of its compliance that is left of a column which depends on others


@kernel
def release_touched(y, x, slot):
    """Nothing holds what is touched of a tree, and no impulses act there."""
    for n in range(x.num_bodies[slot]):
        body = x.body[slot, n]
        for j in range(36):
            y.gain[body, j] = 0.0
        for j in range(6):
            y.pull[body, j] = 0.0
    for n in range(x.num_dofs[slot]):
        y.joint_gain[x.dof[slot, n]] = 0.0
        y.joint_pull[x.dof[slot, n]] = 0.0


@kernel
def gather_impulses(y, x, slot, columns):
    """F: the impulses `pull` and `joint_pull` by columns."""
    for n in range(x.num_bodies[slot]):
        body = x.body[slot, n]
        at, lo = x.place[body], 3 if x.contacts[body] == 1 else 0
        for j in range(lo, 6):
            x.F[slot, at + j - lo] = y.pull[body, j]
    begin = columns - x.num_dofs[slot]
    for n in range(x.num_dofs[slot]):
        x.F[slot, begin + n] = y.joint_pull[x.dof[slot, n]]


@kernel
def scatter_velocities(y, x, slot, columns):
    """V of bodies and s of coordinates from V of the columns; of a body touched at one point, that of the point."""
    for n in range(x.num_bodies[slot]):
        body = x.body[slot, n]
        at, lo = x.place[body], 3 if x.contacts[body] == 1 else 0
        y.V[body, 0], y.V[body, 1], y.V[body, 2] = 0.0, 0.0, 0.0
        for j in range(lo, 6):
            y.V[body, j] = x.V[slot, at + j - lo]
    begin = columns - x.num_dofs[slot]
    for n in range(x.num_dofs[slot]):
        y.s[x.dof[slot, n]] = x.V[slot, begin + n]


@kernel
def apply_touched(y, x, rows, step, slot, columns):
    """V of the bodies and s of the coordinates that are touched, by the impulses `pull` and `joint_pull` on them.

    Here and below, `rows` holds the matrices of x, `step` of their numbers together.
    """
    gather_impulses(y, x, slot, columns)
    multiply(x, rows, step, slot, columns)
    scatter_velocities(y, x, slot, columns)


@kernel
def multiply(x, rows, step, slot, columns):
    """V = Omega F; Omega is symmetric."""
    for n in range(-(-columns // step)):
        v = rows.Omega[slot, 0, n] * x.F[slot, 0]
        for c in range(1, columns):
            v = v + rows.Omega[slot, c, n] * x.F[slot, c]
        rows.V[slot, n] = v


@kernel
def list_held_columns(y, x, slot, columns):
    """List the columns of bodies and coordinates that have a gain. Returns their number."""
    held = 0
    for n in range(x.num_bodies[slot]):
        body = x.body[slot, n]
        if y.gain[body, 21] + y.gain[body, 28] + y.gain[body, 35] != 0.0:  # forces: no law holds moments alone
            for j in range(x.place[body], x.place[body] + (3 if x.contacts[body] == 1 else 6)):
                held = list_column(x, slot, held, j)
    begin = columns - x.num_dofs[slot]
    for n in range(x.num_dofs[slot]):
        if y.joint_gain[x.dof[slot, n]] != 0.0:
            held = list_column(x, slot, held, begin + n)
    return held


@kernel
def list_column(x, slot, held, column):
    """List a column as the next. Returns how many there are; what was inverted is of no use if it was another."""
    if x.held[slot, held] != column:
        x.held[slot, held] = column
        x.inverted[slot] = 0
    return held + 1


@kernel
def load_held(x, slot, held, width):
    """Omega among the columns that are held, to `inverse`; zeros behind it."""
    for r in range(held):
        for c in range(held):
            x.inverse[slot, r, c] = x.Omega[slot, x.held[slot, r], x.held[slot, c]]
        for c in range(held, width):
            x.inverse[slot, r, c] = 0.0


@kernel
def invert_held(x, slot, held):
    """`inverse` of Omega among the columns that are held, their inertia. Returns a positive number if it is regular."""
    A, Omega = x.inverse, x.Omega
    regular = 1.0 + 0.0 * Omega[slot, 0, 0]
    load_held(x, slot, held, held)
    for k in range(held):
        p = A[slot, k, k]
        regular = smaller(p - SINGULAR * Omega[slot, x.held[slot, k], x.held[slot, k]], regular)
        if not any_positive(regular):
            return regular
        p = 1.0 / where_positive(regular, p, 1.0)
        A[slot, k, k] = 1.0
        for j in range(held):
            A[slot, k, j] *= p
        for i in range(held):
            if i != k:
                f = A[slot, i, k]
                A[slot, i, k] = 0.0
                for j in range(held):
                    A[slot, i, j] -= f * A[slot, k, j]
    return regular


@kernel
def invert_rows(x, slot, held):
    """`invert_held` of the columns that are independent, in rows. Lists the others as `tied`, and returns how many.

    The pivot is the one that has most left of its compliance.
    """
    A, rows, unit, left = x.inverse, x.rows.inverse, x.rows.unit, x.tied
    width, number = -(-held // LANES), held
    load_held(x, slot, held, width * LANES)
    for k in range(held):
        p = A[slot, k, k]
        x.kept[slot, k], left[slot, k] = 1.0 / p if p > 0.0 else 0.0, k
    while number > 0:
        best, most = 0, A[slot, left[slot, 0], left[slot, 0]] * x.kept[slot, left[slot, 0]]
        for n in range(1, number):
            k = left[slot, n]
            share = A[slot, k, k] * x.kept[slot, k]
            if share > most:
                best, most = n, share
        if not most > SINGULAR:
            break
        k = left[slot, best]
        p = A[slot, k, k]
        number -= 1
        left[slot, best] = left[slot, number]
        for n in range(width):  # no number is written into a row, which would have to wait for it
            rows[slot, k, n] = ((rows[slot, k, n] - unit[slot, k, n] * p) + unit[slot, k, n]) * (1.0 / p)
        for i in range(held):
            if i != k:
                f = A[slot, i, k]
                for n in range(width):
                    rows[slot, i, n] = (rows[slot, i, n] - unit[slot, k, n] * f) - rows[slot, k, n] * f
    return number


@kernel
def tie_held(x, slot, held):
    """`inverse` of the columns that are held and independent; the others are tied to them, and have zeros there."""
    A, tie = x.inverse, x.tie
    number = invert_rows(x, slot, held)
    for n in range(number):
        for j in range(held):
            tie[slot, n, j] = -A[slot, x.tied[slot, n], j]
        for j in range(held, LANES * -(-held // LANES)):
            tie[slot, n, j] = 0.0
        for m in range(number):
            tie[slot, n, x.tied[slot, m]] = -1.0 if m == n else 0.0
    for n in range(number):
        k = x.tied[slot, n]
        for j in range(held):
            A[slot, k, j] = A[slot, j, k] = 0.0
    x.inverted[slot], x.num_tied[slot] = held, number


@kernel
def gather_tied(x, slot, held):
    """The laws A and F of tied columns to those that they are tied to; what is left of them says V = 0."""
    A, F, rows, tie = x.A, x.F, x.rows.A, x.rows.tie
    width = -(-held // LANES)
    for n in range(x.num_tied[slot]):
        k = x.tied[slot, n]
        for r in range(held):
            if r != k:
                s = x.tie[slot, n, r]
                F[slot, r] += s * F[slot, k]
                for j in range(width):
                    rows[slot, r, j] = rows[slot, r, j] + rows[slot, k, j] * s
        for j in range(width):
            rows[slot, k, j] = 0.0 * tie[slot, n, j]
        for r in range(held):
            s = A[slot, r, k]
            for j in range(width):
                rows[slot, r, j] = rows[slot, r, j] + tie[slot, n, j] * s
        A[slot, k, k], F[slot, k] = 1.0, 0.0


@kernel
def move_tied(x, slot, held):
    """Velocities F of tied columns, which are zero so far, by those that they are tied to."""
    for n in range(x.num_tied[slot]):
        s = 0.0
        for r in range(held):
            s += x.tie[slot, n, r] * x.F[slot, r]
        x.F[slot, x.tied[slot, n]] = s


@kernel
def add_gains(y, x, rows, step, slot, columns, held):
    """A: their inertia and the gains of the columns that are held."""
    A = x.A
    for r in range(held):
        for n in range(-(-held // step)):
            rows.A[slot, r, n] = rows.inverse[slot, r, n]
    begin = columns - x.num_dofs[slot]
    c = 0
    while c < held:
        column = x.held[slot, c]
        if column >= begin:
            A[slot, c, c] += y.joint_gain[x.dof[slot, column - begin]]
            c += 1
            continue
        body = body_of_column(x, slot, column)
        length = 3 if x.contacts[body] == 1 else 6
        lo = 6 - length
        for i in range(length):
            for j in range(length):
                A[slot, c + i, c + j] += y.gain[body, 6 * (lo + i) + lo + j]
        c += length


@kernel
def body_of_column(x, slot, column):
    """The body whose first column it is."""
    n = 0
    while x.place[x.body[slot, n]] != column:
        n += 1
    return x.body[slot, n]


@kernel
def solve_held(x, rows, step, slot, held):
    """Solve A V = F among the columns that are held, without pivots: F becomes V, A is used up."""
    A, F, width = x.A, x.F, -(-held // step)
    for k in range(held):
        p = 1.0 / A[slot, k, k]
        for i in range(k + 1, held):
            f = A[slot, i, k] * p
            for n in range((k + 1) // step, width):
                rows.A[slot, i, n] = rows.A[slot, i, n] - rows.A[slot, k, n] * f
            F[slot, i] -= f * F[slot, k]
        A[slot, k, k] = p
    for k in range(held - 1, -1, -1):
        s = F[slot, k]
        for j in range(k + 1, held):
            s -= A[slot, k, j] * F[slot, j]
        F[slot, k] = s * A[slot, k, k]


@kernel
def react(y, x, slot, columns, held):
    """F = z - G V, with V of the columns that are held."""
    F, V = x.F, x.V
    gather_impulses(y, x, slot, columns)
    for n in range(x.num_bodies[slot]):
        body = x.body[slot, n]
        at, length = x.place[body], 3 if x.contacts[body] == 1 else 6
        lo = 6 - length
        for r in range(length):
            for c in range(length):
                F[slot, at + r] -= y.gain[body, 6 * (lo + r) + lo + c] * V[slot, at + c]
    begin = columns - x.num_dofs[slot]
    for n in range(x.num_dofs[slot]):
        F[slot, begin + n] -= y.joint_gain[x.dof[slot, n]] * V[slot, begin + n]


@kernel
def solve_touched(y, x, slot, columns, tied):
    """V of the bodies and s of the coordinates that are touched, under their laws.

    Args:
        tied: 1: columns may depend on others, which costs digits.

    Returns:
        Whether they were solved.
    """
    F, V, kept, rows = x.F, x.V, x.kept, x.rows
    gather_impulses(y, x, slot, columns)
    held = list_held_columns(y, x, slot, columns)
    if held == 0:
        multiply(x, rows, LANES, slot, columns)
        scatter_velocities(y, x, slot, columns)
        return True
    if x.inverted[slot] != held:
        tie_held(x, slot, held)
    if x.num_tied[slot] > 0 and tied == 0:
        return False
    for r in range(held):
        column = x.held[slot, r]
        kept[slot, r] = F[slot, column]
        F[slot, column] = 0.0
    if held < columns:
        multiply(x, rows, LANES, slot, columns)  # what impulses do that do not give way
        for r in range(held):
            for c in range(held):
                kept[slot, r] += x.inverse[slot, r, c] * V[slot, x.held[slot, c]]
    for r in range(held):
        F[slot, r] = kept[slot, r]
    add_gains(y, x, rows, LANES, slot, columns, held)
    gather_tied(x, slot, held)
    solve_held(x, rows, LANES, slot, held)
    move_tied(x, slot, held)
    for r in range(held):
        kept[slot, r] = V[slot, x.held[slot, r]] = F[slot, r]
    if held < columns:
        react(y, x, slot, columns, held)
        multiply(x, rows, LANES, slot, columns)  # those that nothing holds, too
        for r in range(held):
            V[slot, x.held[slot, r]] = kept[slot, r]
    scatter_velocities(y, x, slot, columns)
    return True
