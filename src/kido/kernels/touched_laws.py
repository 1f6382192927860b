"""Impulses and linear laws on few bodies and coordinates of a tree: dense equations among them alone.

With Omega of `kido.kernels.touched_bodies` and the laws F = z - G V of `kido.kernels.regularized_tree`, G in blocks of
bodies and coordinates,

    V = Omega F,    (I + Omega G) V = Omega z.

Columns that no law holds, G = 0, are no unknowns. The velocity of a body that is touched at one point is that point's.
"""

from __future__ import annotations

from kido.jit import kernel
from kido.math.choices import any_positive


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
def apply_touched(y, x, slot, columns):
    """V of the bodies and s of the coordinates that are touched, by the impulses `pull` and `joint_pull` on them."""
    gather_impulses(y, x, slot, columns)
    multiply(x, slot, columns)
    scatter_velocities(y, x, slot, columns)


@kernel
def multiply(x, slot, columns):
    """V = Omega F."""
    Omega, F, V = x.Omega, x.F, x.V
    for r in range(columns):
        V[slot, r] = 0.0
    for c in range(columns):  # Omega is symmetric: by rows, so that it is vector code
        f = F[slot, c]
        for r in range(columns):
            V[slot, r] += Omega[slot, c, r] * f


@kernel
def list_held_columns(y, x, slot, columns):
    """List the columns of bodies and coordinates that have a gain, in a lane if there are. Returns their number."""
    held = 0
    for n in range(x.num_bodies[slot]):
        body = x.body[slot, n]
        if any_positive(y.gain[body, 21] + y.gain[body, 28] + y.gain[body, 35]):  # no law holds moments alone
            for j in range(x.place[body], x.place[body] + (3 if x.contacts[body] == 1 else 6)):
                x.held[slot, held] = j
                held += 1
    begin = columns - x.num_dofs[slot]
    for n in range(x.num_dofs[slot]):
        if any_positive(y.joint_gain[x.dof[slot, n]]):
            x.held[slot, held] = begin + n
            held += 1
    return held


@kernel
def fill_held(y, x, slot, columns, held):
    """A = I + Omega G among the columns that are held."""
    A, Omega = x.A, x.Omega
    c = 0
    while c < held:
        col = x.held[slot, c]
        if col >= columns - x.num_dofs[slot]:
            g = y.joint_gain[x.dof[slot, col - columns + x.num_dofs[slot]]]
            for r in range(held):
                A[slot, r, c] = Omega[slot, x.held[slot, r], col] * g
            A[slot, c, c] += 1.0
            c += 1
            continue
        body = body_of_column(x, slot, col)
        length = 3 if x.contacts[body] == 1 else 6
        lo = 6 - length
        for r in range(held):
            row = x.held[slot, r]
            for j in range(length):
                a = 0.0
                for i in range(length):
                    a += Omega[slot, row, col + i] * y.gain[body, 6 * (lo + i) + lo + j]
                A[slot, r, c + j] = a
        for j in range(length):
            A[slot, c + j, c + j] += 1.0
        c += length


@kernel
def body_of_column(x, slot, column):
    """The body whose first column it is."""
    n = 0
    while x.place[x.body[slot, n]] != column:
        n += 1
    return x.body[slot, n]


@kernel
def solve_held(x, slot, held):
    """Solve A V = F among the columns that are held, without pivots: F becomes V."""
    A, F = x.A, x.F
    for k in range(held):
        p = 1.0 / A[slot, k, k]
        A[slot, k, k] = p
        for i in range(k + 1, held):
            f = A[slot, i, k] * p
            for j in range(k + 1, held):
                A[slot, i, j] -= f * A[slot, k, j]
            F[slot, i] -= f * F[slot, k]
    for k in range(held - 1, -1, -1):
        s = F[slot, k]
        for j in range(k + 1, held):
            s -= A[slot, k, j] * F[slot, j]
        F[slot, k] = s * A[slot, k, k]


@kernel
def react(y, x, slot, columns, held):
    """F = z - G V, V of the columns that are held being in F."""
    F, V = x.F, x.V
    for r in range(held):
        V[slot, x.held[slot, r]] = F[slot, r]
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
def solve_touched(y, x, slot, columns):
    """V of the bodies and s of the coordinates that are touched, under their laws."""
    gather_impulses(y, x, slot, columns)
    multiply(x, slot, columns)
    held = list_held_columns(y, x, slot, columns)
    if held > 0:
        fill_held(y, x, slot, columns, held)
        for r in range(held):
            x.F[slot, r] = x.V[slot, x.held[slot, r]]
        solve_held(x, slot, held)
        react(y, x, slot, columns, held)
        multiply(x, slot, columns)  # those that nothing holds, too
    scatter_velocities(y, x, slot, columns)
