"""The default solver: accelerated Gauss-Seidel first, ADMM where that stagnates, per island.

An island of at most `small_rows` rows is swept until `tolerance` or for `sweeps` sweeps. What it has then is
enough within `acceptance` times the tolerances; otherwise ADMM goes on from there, and the impulses with the
smaller certified residual stay. A larger island is swept until `tolerance_large` or for `sweeps_large`
sweeps, and its residual tells how good it is.
"""

from __future__ import annotations

from kido.jit import call4, callback, kernel, view
from kido.solvers.certify import merit
from kido.solvers.prepare import start
from kido.solvers.problem import (
    ACCEPTANCE,
    ADMM_ITERATIONS,
    AT_CAP,
    CONVERGED,
    FELL_BACK,
    NOT_FINITE,
    PROBLEM,
    SMALL_ROWS,
    SWEEPS,
    SWEEPS_LARGE,
    TOTAL_FALLBACKS,
    TOTAL_ITERATIONS,
    TOTAL_POWER,
    TOTAL_RESIDUAL,
    TOTAL_SPEED,
    TOTAL_STATUS,
)
from kido.solvers.rows import clear_island, fastest_approach

HOPELESS = 1e200  # beside what is asked: not a number, or as good as none


@kernel
def solve_island(c, address, island, sweeper, fallback, skip):
    """Solve one island that `start` has prepared; sets its status."""
    c.island_approach[island] = fastest_approach(c, island)
    rows = c.island_row[island + 1] - c.island_row[island]
    cap = int(c.setting[SWEEPS] if rows <= c.setting[SMALL_ROWS] else c.setting[SWEEPS_LARGE])
    done = call4(sweeper, address, island, 0 if skip else cap, 0)
    status = CONVERGED
    enough = c.setting[ACCEPTANCE] if rows <= c.setting[SMALL_ROWS] else 1.0
    if not merit(c, island) <= enough:
        status = AT_CAP
        if fallback != 0 and rows <= c.matrix.shape[0]:
            if not merit(c, island) < HOPELESS:
                clear_island(c, island)
            done += call4(fallback, address, island, int(c.setting[ADMM_ITERATIONS]), 0)
            c.total[TOTAL_FALLBACKS] += 1.0
            if merit(c, island) <= enough:
                status = FELL_BACK
    if not merit(c, island) < HOPELESS:
        clear_island(c, island)
        c.island_power[island] = 0.0
        status = NOT_FINITE
    c.island_iterations[island] = done
    c.island_status[island] = status


@callback
def solve_problem(address, sweeper, fallback, skip):
    """Solve the problem at `address`, island by island.

    Args:
        address: of a PROBLEM with its input fields filled and the warm start in `impulse`.
        sweeper: address of `gauss_seidel_island` or of another callback like it.
        fallback: address of `admm_island` or of another callback like it, for islands that fit into
            `matrix`; 0: none.
        skip: not 0 to make no sweeps, so that only the fall-back works.

    Returns:
        The worst status. `impulse`, `u`, the islands' results and `total` are written.
    """
    c = view(PROBLEM, address)
    for island in range(start(c)):
        solve_island(c, address, island, sweeper, fallback, skip != 0)
        c.total[TOTAL_RESIDUAL] = max(c.total[TOTAL_RESIDUAL], c.island_residual[island])
        c.total[TOTAL_SPEED] = max(c.total[TOTAL_SPEED], c.island_speed[island])
        c.total[TOTAL_STATUS] = max(c.total[TOTAL_STATUS], c.island_status[island])
        c.total[TOTAL_ITERATIONS] += c.island_iterations[island]
        c.total[TOTAL_POWER] += c.island_power[island]
    return int(c.total[TOTAL_STATUS])
