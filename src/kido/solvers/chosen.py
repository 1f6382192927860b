"""A solver chosen in place of the default, with the default to fall back on, per island.

The solver is a callback (address, island, cap, 0) that reads the impulses of an island and u, leaves the
solution in both, says in `island_ended` how it ended and returns its iterations. Whatever it says,
`measure_island` measures what it left on the exact cone; numbers that are not finite, and failures it
reports, send the island to the default solver, and `total` counts it.
"""

from __future__ import annotations

from kido.jit import call4, callback, kernel, view
from kido.solvers.certify import measure_island
from kido.solvers.default import HOPELESS, solve_island
from kido.solvers.prepare import start
from kido.solvers.problem import (
    ACCEPTANCE,
    AT_CAP,
    CAP,
    CAPPED,
    CONVERGED,
    FELL_BACK,
    ISLANDS,
    LARGEST,
    MEASURED,
    NO_SPIN,
    PROBLEM,
    SMALL_ROWS,
    SOLVED,
    SPIN,
    TOO_LARGE,
    TOTAL_FALLBACKS,
    TOTAL_ITERATIONS,
    TOTAL_POWER,
    TOTAL_RESIDUAL,
    TOTAL_SPEED,
    TOTAL_STATUS,
    UNKNOWN_KIND,
)
from kido.solvers.rows import apply_impulses, clear_island, fastest_approach


@kernel
def has_spin(c, island):
    """Whether an island has rolling or torsional friction."""
    number = 0
    for e in range(c.island_start[island], c.island_start[island + 1]):
        if c.kind[c.island_block[e]] == SPIN:
            number += 1
    return number > 0


@kernel
def solve_chosen_island(c, address, island, sweeper, fallback, solver):
    """Solve one island by `solver`, or take its impulses as given; the default takes over what fails."""
    c.island_approach[island] = fastest_approach(c, island)
    rows = c.island_row[island + 1] - c.island_row[island]
    done = 0
    if solver == 0:
        apply_impulses(c, island)
    elif c.choice[NO_SPIN] != 0.0 and has_spin(c, island):
        c.island_ended[island] = UNKNOWN_KIND
    elif rows <= c.choice[LARGEST]:
        c.island_ended[island] = MEASURED
        done = call4(solver, address, island, int(c.choice[CAP]), 0)
    else:
        c.island_ended[island] = TOO_LARGE
    ended = c.island_ended[island]
    merit = measure_island(c, island)
    finite = merit < HOPELESS
    if finite and ended < TOO_LARGE:
        enough = c.setting[ACCEPTANCE] if rows <= c.setting[SMALL_ROWS] else 1.0
        solved = ended == SOLVED or (ended != CAPPED and merit <= enough)
        c.island_status[island] = CONVERGED if solved else AT_CAP
        c.island_iterations[island] = done
        return
    if not finite:
        clear_island(c, island)
    count = c.total[TOTAL_FALLBACKS]
    solve_island(c, address, island, sweeper, fallback, False)
    c.total[TOTAL_FALLBACKS] = count + 1.0  # once, however many solvers it took
    c.island_iterations[island] += done
    if c.island_status[island] == CONVERGED:
        c.island_status[island] = FELL_BACK


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
    islands = start(c) if solver != 0 else c.count[ISLANDS]
    for island in range(islands):
        solve_chosen_island(c, address, island, sweeper, fallback, solver)
        c.total[TOTAL_RESIDUAL] = max(c.total[TOTAL_RESIDUAL], c.island_residual[island])
        c.total[TOTAL_SPEED] = max(c.total[TOTAL_SPEED], c.island_speed[island])
        c.total[TOTAL_STATUS] = max(c.total[TOTAL_STATUS], c.island_status[island])
        c.total[TOTAL_ITERATIONS] += c.island_iterations[island]
        c.total[TOTAL_POWER] += c.island_power[island]
    return int(c.total[TOTAL_STATUS])
