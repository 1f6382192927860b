"""A solver chosen in place of the default, with the default to fall back on, per island.

The solver is a callback (address, island, cap, 0) that reads the impulses of an island and u, leaves the
solution in both, says in `island_ended` how it ended and returns its iterations. Whatever it says,
`measure_island` measures what it left on the exact cone; numbers that are not finite, and failures it
reports, send the island to the default solver, and `total` counts it.
"""

from __future__ import annotations

from kido.jit import callback, view
from kido.solvers.default import GIVEN, solve_chosen_island
from kido.solvers.prepare import divide, prepare_island, start, sum_up
from kido.solvers.problem import ISLANDS, PROBLEM, STAGE_CHOSEN, STAGE_FALLBACK, STAGE_SWEEPER


@callback
def begin_solution(address, unused_1, unused_2, unused_3):
    """Islands, own compliances and warm start of the problem at `address`. Returns the number of islands."""
    return start(view(PROBLEM, address))


@callback
def solve_chosen(address, sweeper, fallback, solver):
    """Solve the problem at `address` by a chosen solver, island by island.

    Args:
        address: of a PROBLEM with its input fields and `choice` filled and the warm start in `impulse`.
        sweeper, fallback: of the default solver, as for `solve_problem`.
        solver: address of the chosen one; 0: `begin_solution` was called and `impulse` and `island_ended`
            hold what a user's function found.

    Returns:
        The worst status. The same is written as by `solve_problem`.
    """
    c = view(PROBLEM, address)
    c.stage[STAGE_SWEEPER], c.stage[STAGE_FALLBACK] = sweeper, fallback
    c.stage[STAGE_CHOSEN] = solver if solver != 0 else GIVEN
    islands = divide(c) if solver != 0 else c.count[ISLANDS]
    for island in range(islands):
        if solver != 0:
            prepare_island(c, island)
        solve_chosen_island(c, address, island, c.stage[STAGE_CHOSEN])
    return sum_up(c)
