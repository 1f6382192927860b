"""Few touched bodies and coordinates of a robot, in eight worlds at once: dense equations (`touched_laws`).

The first, second, ... body that each world touches go together, with six columns each. A column that a world does not
have answers to nothing: of one that is touched at one point, those of moments too.
"""

from __future__ import annotations

from kido.batch.lockstep_struct import MAX_FEW_BODIES, MAX_FEW_DOFS
from kido.jit import LANES, kernel
from kido.kernels.touched_laws import add_gains, gather_impulses, scatter_velocities, solve_held

NO_COMPLIANCE = 1e-300  # of a column that a world does not have


@kernel
def has_few(touched, tree_index):
    """Whether equations of what is touched of a tree are dense ones, in lanes too."""
    if touched.number[tree_index] == 0:
        return False
    slot = touched.slot[tree_index]
    return touched.num_bodies[slot] <= MAX_FEW_BODIES and touched.num_dofs[slot] <= MAX_FEW_DOFS


@kernel
def columns_of(few):
    """Columns of what is touched, of all lanes."""
    return 6 * few.num_bodies[0] + few.num_dofs[0]


@kernel
def fill_matrix(x, touched, tree_index, j):
    """Omega of a world into lane j."""
    slot = touched.slot[tree_index]
    Omega, wide = touched.Omega, x.wide_few.Omega
    columns, dofs = touched.number[tree_index], touched.num_dofs[slot]
    at = x.column
    for n in range(touched.num_bodies[slot]):
        body = touched.body[slot, n]
        length = 3 if touched.contacts[body] == 1 else 6
        for r in range(length):
            at[touched.place[body] + r] = 6 * n + 6 - length + r
    bodies = x.few.num_bodies
    for n in range(dofs):
        at[columns - dofs + n] = 6 * bodies[0] + n
    for r in range(columns):
        for s in range(columns):
            wide[0, at[r], LANES * at[s] + j] = Omega[slot, r, s]


@kernel
def empty_matrix(few):
    """Omega of worlds that have no column, and the list of all columns, which are all held."""
    columns = columns_of(few)
    for r in range(columns):
        for s in range(columns):
            few.Omega[0, r, s] = 0.0
        few.Omega[0, r, r] = NO_COMPLIANCE
        few.held[0, r] = r


@kernel
def solve_few(y, few, columns):
    """`solve_touched` with all columns held, their inertia being known."""
    gather_impulses(y, few, 0, columns)
    add_gains(y, few, few, 1, 0, columns, columns)
    solve_held(few, few, 1, 0, columns)
    for r in range(columns):
        few.V[0, r] = few.F[0, r]
    scatter_velocities(y, few, 0, columns)
