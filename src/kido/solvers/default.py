"""The default solver: accelerated Gauss-Seidel first, ADMM where that stagnates, per island.

An island of at most `small_rows` rows is swept until `tolerance` or for `sweeps` sweeps; if it has not converged, ADMM
goes on from there, and the impulses with the smaller certified residual stay. A larger island is swept until
`tolerance_large` or for `sweeps_large` sweeps, and its residual tells how good it is.
"""

from __future__ import annotations

from kido.jit import entry, kernel, view
from kido.solvers.admm import admm_until
from kido.solvers.gauss_seidel import add_to_totals, finish_island, island_limits, start_totals, sweeps_until
from kido.solvers.prepare import clear_island, start
from kido.solvers.problem import (
    ADMM_ITERATIONS,
    CONVERGED,
    FELL_BACK,
    NOT_FINITE,
    PROBLEM,
    SMALL_ROWS,
    TOTAL_STATUS,
)


@kernel
def solve_island(c, island):
    """Solve one island that `start` has prepared. Returns (power balance, 1 if ADMM was asked)."""
    rows, tolerance, cap = island_limits(c, island)
    done, residual, power = sweeps_until(c, island, tolerance, cap)
    fallback = 0
    if not residual <= tolerance and rows <= c.setting[SMALL_ROWS] and rows <= c.matrix.shape[0]:
        if not residual < 1e300:
            clear_island(c, island)
        more, residual, power = admm_until(c, island, tolerance, int(c.setting[ADMM_ITERATIONS]))
        done += more
        fallback = 1
    finish_island(c, island, tolerance, done, residual)
    if fallback == 1 and c.island_status[island] == CONVERGED:
        c.island_status[island] = FELL_BACK
    if c.island_status[island] == NOT_FINITE:
        power = 0.0
    return power, fallback


@kernel
def solve_problem(c):
    """Solve all islands of a problem. Returns the worst status."""
    start_totals(c)
    for island in range(start(c)):
        power = 0.0
        fallback = 0
        if c.island_status[island] != NOT_FINITE:
            power, fallback = solve_island(c, island)
        add_to_totals(c, island, power, fallback)
    return int(c.total[TOTAL_STATUS])


@entry("int64(int64)")
def solve(address):
    """Solve the problem at `address`.

    Reads its input fields and the warm start in `impulse`; writes `impulse`, `u`, the islands with their status,
    iterations and residual, and `total`.

    Returns:
        The worst status: CONVERGED, FELL_BACK (converged by ADMM), AT_CAP, or NOT_FINITE (some island held numbers
        that are not finite: its impulses are zero).
    """
    return solve_problem(view(PROBLEM, address))
