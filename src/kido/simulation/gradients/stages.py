"""Parts of a step for dual numbers that the step itself does otherwise; only those are compiled."""

from __future__ import annotations

from kido.jit import kernel, view
from kido.jit.duals import constant_is, replaced_by
from kido.kernels.integration import advance, to_parent_axes
from kido.kernels.responses import WRENCHES
from kido.simulation.free_bodies import only_falls
from kido.simulation.predict import linear_force
from kido.simulation.world_struct import WORLD
from kido.solvers.position import project
from kido.solvers.prepare import start
from kido.solvers.problem import BOUNDED, CONVERGED
from kido.solvers.rows import apply_impulses


@kernel
def goes_general_way(t, d, r, body):
    """False: a force may be zero and its derivative not."""
    return False


@kernel
def turns_with_base(d, k):
    """True: the same, of a force on the linear coordinates of a free joint."""
    return True


replaced_by(only_falls, goes_general_way)
replaced_by(linear_force, turns_with_base)
constant_is("WRENCH_COLUMNS", WRENCHES)  # lanes of one number


@kernel
def move_stage(world, unused_1, unused_2, unused_3):
    """Move all positions for one second by the velocities `u`, which are in the joints' own axes. Returns 0."""
    w = view(WORLD, world)
    t = w.tree
    d = w.data
    for tree_index in range(t.tree_mobile.shape[0]):
        first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
        to_parent_axes(t, d, first, last, d.u)
        advance(t, d, first, last, 1.0)
    return 0


@kernel
def solution_stage(world, unused_1, unused_2, unused_3):
    """Take the impulses in `free` for the solution of the contact problem, and correct positions. Returns 0."""
    c = view(WORLD, world).problem
    for island in range(start(c)):
        c.island_status[island] = CONVERGED
        for e in range(c.island_start[island], c.island_start[island + 1]):
            b = c.island_block[e]
            for i in range(c.row[b], c.row[b] + (1 if c.kind[b] == BOUNDED else 3)):
                c.impulse[i] = c.free[i]
        apply_impulses(c, island)
        project(c, island)
    return 0
