"""The default solver: accelerated Gauss-Seidel first, second-order methods where that stagnates, per island.

An island of at most `newton_rows` rows is swept until its tolerances or for `first_sweeps` sweeps; what that does not
solve goes to the proximal Newton method in body space (`kido.solvers.body_newton`), where masses of segments are
known. Of free bodies at rest, which their warm start nearly solves, it is asked first. Where the whole island is one
robot, Newton's method along its tree (STAGE_TREE) comes before all that, with sweeps where it stagnates. Other robots
are swept in row velocities (`kido.solvers.row_space`), for FEW_SWEEPS sweeps, and some of Newton's steps in row space
(`kido.solvers.row_newton`) come first: they are cheap where rows are few. Then, or without them, an island of at most
`small_rows` rows is swept until `tolerance` or for `sweeps` sweeps in all. What it has then is enough within
`acceptance` times the tolerances; otherwise ADMM goes on from there, and the impulses with the smaller certified
residual stay. A larger island is swept until `tolerance_large` or for `sweeps_large` sweeps, and its residual tells
how good it is.

**In threads.** Islands share nothing that a solution writes but the work space of `WORK_FIELDS`. So a thread
that has a `worker_problem` of its own may solve an island while others solve others, and the result is the same
to the bit:

    islands = call4(begin_islands.address, problem, sweeper, fallback, chosen)     one thread
    call4(solve_one.address, worker_problem, island, 0, 0)                         any thread, each island once
    call4(restitute_one.address, worker_problem, island, 0, 0)                     the same, if there is restitution
    call4(project_one.address, worker_problem, island, 0, 0)                       the same
    status = call4(end_islands.address, problem, 0, 0, 0)                          one thread, after all others

The last three calls of an island may follow each other at once, without waiting for other islands. Islands are
numbered by their first block; `island_start` tells their sizes, so that large ones can be begun first.
"""

from __future__ import annotations

from kido.jit import call4, callback, kernel, view
from kido.solvers.certify import measure_island, merit
from kido.solvers.prepare import divide, prepare_island, sum_up
from kido.solvers.problem import (
    ACCEPTANCE,
    ADMM_ITERATIONS,
    AT_CAP,
    CAP,
    CAPPED,
    CONVERGED,
    FELL_BACK,
    FIRST_SWEEPS,
    LARGEST,
    MEASURED,
    NEAR,
    NEWTON_ROWS,
    NEWTON_STEPS,
    NO_SPIN,
    NOT_FINITE,
    PROBLEM,
    SMALL_ROWS,
    SOLVED,
    SPIN,
    STAGE_BODY,
    STAGE_CHOSEN,
    STAGE_FALLBACK,
    STAGE_SWEEPER,
    STAGE_TREE,
    SWEEPS,
    SWEEPS_LARGE,
    TOO_LARGE,
    UNKNOWN_KIND,
)
from kido.solvers.row_newton import newton_in_rows
from kido.solvers.row_space import has_room
from kido.solvers.rows import apply_impulses, clear_island, fastest_approach

HOPELESS = 1e200  # beside what is asked: not a number, or as good as none
FEW_ROWS, FEW_SWEEPS, FEW_STEPS = 36, 12, 6  # Newton's method in row space: of more rows a step costs too many sweeps
TREE_STEPS, TREE_SWEEPS, TREE_ROUNDS = 12, 8, 5  # Newton's method along a tree, and sweeps where it stagnates
# Bodies that rest on each other, but for the smallest islands, are nearly solved by their warm start; what is left is
# spread over all of them, which sweeps see last and Newton's method first. Islands of many rows need many of its steps
# and each is dear: sweeps first, and no end after it.
TRIVIAL_ROWS, NEAR_STEPS = 30, 10
GREAT_ROWS, GREAT_SWEEPS, GREAT_STEPS = 600, 60, 25
GIVEN = 1  # in STAGE_CHOSEN: the impulses are in the problem, found in Python


@kernel
def follow_tree(c, address, island, sweeper):
    """Newton's method along the tree of one robot, and where that stagnates some sweeps before it goes on.

    Returns:
        Iterations and sweeps; -1 and 0 where the island is none of one robot alone, which is not measured then.
    """
    tree = c.stage[STAGE_TREE]
    tried = call4(tree, address, island, TREE_STEPS, 0)
    if tried < 0:
        return -1, 0
    swept = 0
    for _ in range(TREE_ROUNDS):
        if merit(c, island) <= 1.0:
            break
        swept += call4(sweeper, address, island, TREE_SWEEPS, 0)
        if merit(c, island) <= 1.0:
            break
        tried += call4(tree, address, island, TREE_STEPS, 0)
    return tried, swept


@kernel
def sweep_and_factor(c, address, island, sweeper, rows, cap):
    """Sweeps, and Newton's method in row space or in body space where they do not solve an island, or before them.

    Args:
        rows: of the island.
        cap: of sweeps, these and those that may follow.

    Returns:
        Sweeps and iterations done, and the cap of those that may follow.
    """
    first, steps = int(c.setting[FIRST_SWEEPS]), int(c.setting[NEWTON_STEPS])
    in_rows = has_room(c, island)
    few = rows <= FEW_ROWS and in_rows
    done = 0
    if few:
        first = FEW_SWEEPS
    elif rows > GREAT_ROWS:
        first, steps = max(first, GREAT_SWEEPS), min(steps, GREAT_STEPS)
    elif rows > TRIVIAL_ROWS and rows <= c.setting[SMALL_ROWS] and not in_rows:
        before = measure_island(c, island)
        if before > 1.0 and before <= NEAR:
            done = call4(c.stage[STAGE_BODY], address, island, min(steps, NEAR_STEPS), 0)
    swept = call4(sweeper, address, island, min(cap, first), 0)
    cap -= swept
    done += swept
    if few and swept > 0 and not merit(c, island) <= 1.0:
        done += newton_in_rows(c, island, FEW_STEPS)
    if not merit(c, island) <= 1.0:
        steps = call4(c.stage[STAGE_BODY], address, island, steps, 0)
        done += steps
        if rows > GREAT_ROWS and steps > 0:
            cap = 0
    return done, cap


@kernel
def solve_island(c, address, island, skip):
    """Solve one prepared island by the default; sets its status."""
    sweeper, fallback = c.stage[STAGE_SWEEPER], c.stage[STAGE_FALLBACK]
    c.island_approach[island] = fastest_approach(c, island)
    rows = c.island_row[island + 1] - c.island_row[island]
    cap = int(c.setting[SWEEPS] if rows <= c.setting[SMALL_ROWS] else c.setting[SWEEPS_LARGE])
    enough = c.setting[ACCEPTANCE] if rows <= c.setting[SMALL_ROWS] else 1.0
    done = 0
    measured = False
    if c.stage[STAGE_BODY] != 0 and not skip and rows <= c.setting[NEWTON_ROWS]:
        measured = True
        tried = -1
        if c.stage[STAGE_TREE] != 0:
            tried, swept = follow_tree(c, address, island, sweeper)
            done = max(tried, 0) + swept
            cap -= swept
        if tried < 0 or not merit(c, island) <= enough:
            steps, cap = sweep_and_factor(c, address, island, sweeper, rows, cap)
            done += steps
    if not measured or not merit(c, island) <= enough:
        done += call4(sweeper, address, island, 0 if skip else cap, 0)
    status = CONVERGED
    if not merit(c, island) <= enough:
        status = AT_CAP
        if fallback != 0 and rows <= c.matrix.shape[0]:
            if not merit(c, island) < HOPELESS:
                clear_island(c, island)
            done += call4(fallback, address, island, int(c.setting[ADMM_ITERATIONS]), 0)
            c.island_fallbacks[island] = 1
            if merit(c, island) <= enough:
                status = FELL_BACK
    if not merit(c, island) < HOPELESS:
        clear_island(c, island)
        c.island_power[island] = 0.0
        status = NOT_FINITE
    c.island_iterations[island] = done
    c.island_status[island] = status


@kernel
def has_spin(c, island):
    """Whether an island has rolling or torsional friction."""
    number = 0
    for e in range(c.island_start[island], c.island_start[island + 1]):
        if c.kind[c.island_block[e]] == SPIN:
            number += 1
    return number > 0


@kernel
def solve_chosen_island(c, address, island, solver):
    """Solve one prepared island by `solver`, or take its impulses as given; the default takes over what fails."""
    c.island_approach[island] = fastest_approach(c, island)
    rows = c.island_row[island + 1] - c.island_row[island]
    done = 0
    if solver == GIVEN:
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
    solve_island(c, address, island, False)
    c.island_fallbacks[island] = 1
    c.island_iterations[island] += done
    if c.island_status[island] == CONVERGED:
        c.island_status[island] = FELL_BACK


@callback
def begin_islands(address, sweeper, fallback, chosen):
    """Divide the problem at `address` into islands, u = u_free.

    Args:
        address: of a PROBLEM with its input fields filled and the warm start in `impulse`.
        sweeper: address of `gauss_seidel_island` or of another callback like it.
        fallback: address of `admm_island` or of another callback like it, for islands that fit into
            `matrix`; 0: none.
        chosen: address of a solver to try first, with its parameters in `choice`; 0: none.

    Returns:
        The number of islands.
    """
    c = view(PROBLEM, address)
    c.stage[STAGE_SWEEPER], c.stage[STAGE_FALLBACK], c.stage[STAGE_CHOSEN] = sweeper, fallback, chosen
    return divide(c)


@callback
def solve_one(address, island, unused_1, unused_2):
    """Prepare and solve one island, of the problem or of a thread's `worker_problem`. Returns its status."""
    c = view(PROBLEM, address)
    prepare_island(c, island)
    if c.stage[STAGE_CHOSEN] != 0:
        solve_chosen_island(c, address, island, c.stage[STAGE_CHOSEN])
    else:
        solve_island(c, address, island, False)
    return c.island_status[island]


@callback
def end_islands(address, unused_1, unused_2, unused_3):
    """Fill `total` from all islands. Returns the worst status."""
    return sum_up(view(PROBLEM, address))


@callback
def solve_problem(address, sweeper, fallback, skip):
    """Solve the problem at `address`, island by island.

    Args:
        address, sweeper, fallback: as for `begin_islands`.
        skip: not 0 to make no sweeps, so that only the fall-back works.

    Returns:
        The worst status. `impulse`, `u`, the islands' results and `total` are written.
    """
    c = view(PROBLEM, address)
    c.stage[STAGE_SWEEPER], c.stage[STAGE_FALLBACK], c.stage[STAGE_CHOSEN] = sweeper, fallback, 0
    for island in range(divide(c)):
        prepare_island(c, island)
        solve_island(c, address, island, skip != 0)
    return sum_up(c)
