"""Solving a problem, by the default or by a solver chosen in its place, per island.

**The default**: second-order methods first where an island is not large, accelerated Gauss-Seidel where they stagnate.

Newton's method on the exact laws comes first where masses of segments are known: along the tree where the whole island
is one robot (`tree_newton`), else in body space (`kido.solvers.law_newton`), for islands of at most LAW_ROWS rows; some
sweeps come between where it stagnates. Robots, moving islands of few rows and all small islands at rest are solved to
`newton_tolerance`: these by the proximal Newton method (`kido.solvers.body_newton`), which changes no cases, so that
they need not be touched in many steps to come.

What that does not solve, and other islands of at most `newton_rows` rows, is swept until its tolerances or for
`first_sweeps` sweeps, and goes to the proximal Newton method. Others are swept in row velocities
(`kido.solvers.row_space`), for FEW_SWEEPS sweeps, and some of Newton's steps in row space (`kido.solvers.newton`) take
turns with them: they are cheap where rows are few. Of more rows, or after some turns, cones are smoothed instead
(`kido.solvers.smoothing_newton`), which solves most islands whose cases cycle. Then, or without them, an island of at
most `small_rows` rows is swept until `tolerance` or for `sweeps` sweeps in all. What it has then is enough within
`acceptance` times the tolerances; otherwise ADMM goes on from there, and the impulses with the smaller certified
residual stay. A larger island is swept until `tolerance_large` or for `sweeps_large` sweeps, and its residual tells how
good it is.

**A chosen solver** leaves the solution in the impulses and u, says in `island_ended` how it ended and returns its
iterations. Whatever it says, `measure_island` measures what it left on the exact cone; numbers that are not finite, and
failures it reports, send the island to the default solver, and `total_fallbacks` counts it.

**In threads.** Islands share nothing that a solution writes but the work space of `WORK_FIELDS`. So a thread
that has a `worker_problem` of its own may solve an island while others solve others, and the result is the same
to the bit:

    islands = begin_islands(problem)            one thread
    solve_one(worker_problem, island)           any thread, each island once
    restitute_one(worker_problem, island)       the same, if there is restitution
    project_one(worker_problem, island)         the same
    status = end_islands(problem)               one thread, after all others

The last three calls of an island may follow each other at once, without waiting for other islands. Islands are
numbered by their first block; `island_start` tells their sizes, so that large ones can be begun first.
"""

from __future__ import annotations

import math

from kido.jit import callback, kernel, view
from kido.solvers.certify import is_fine, measure_island, merit
from kido.solvers.law_newton import solve_laws
from kido.solvers.newton import newton_in_rows
from kido.solvers.prepare import divide, prepare_island, start, sum_up
from kido.solvers.problem import (
    AT_CAP,
    CAPPED,
    CONVERGED,
    FELL_BACK,
    MEASURED,
    OWN_SOLVED,
    PROBLEM,
    PROBLEM_NOT_FINITE,
    SPIN_BLOCK,
    TOO_LARGE,
    UNKNOWN_KIND,
)
from kido.solvers.row_space import has_room
from kido.solvers.rows import apply_impulses, clear_island, complete, fastest_approach, num_segments, segment
from kido.solvers.smoothing_newton import has_cones, smoothing_newton

HOPELESS = 1e200  # beside what is asked: not a number, or as good as none
# Newton's method in row space: of more rows a step costs too many sweeps.
FEW_ROWS, FEW_SWEEPS, FEW_STEPS, FEW_ROUNDS = 36, 12, 6, 5
SMOOTH_STEPS = 80  # and of those on smoothed cones, of which none is dear beside sweeps to their cap
# Newton's method on the exact laws, and sweeps where it stagnates; largest island in rows, and rows from which on
# sweeps come first, but for islands of one robot.
TREE_STEPS, LAW_STEPS, LAW_SWEEPS, LAW_ROUNDS, LAW_ROWS, HEAP_ROWS = 30, 25, 8, 5, 600, 400
# Bodies that rest on each other are solved by their warm start, until what is left grows beyond `newton_tolerance`.
# Islands of many rows need many of Newton's steps and each is dear: sweeps first, and no end after it.
NEAR_STEPS, REST_SPEED = 10, 1e-6  # [m/s or rad/s]
GREAT_ROWS, GREAT_SWEEPS, GREAT_STEPS = 600, 60, 25


@kernel
def step_by_laws(c, island, on_tree, careful):
    """Iterations of Newton's method on the exact laws, along a tree or in body space. -1: the island is not for it.

    Args:
        careful: 1: along a tree with the penalty for what has not been solved with the usual one; 0: with that.
    """
    if on_tree:
        return c.tree_newton(c, island, TREE_STEPS, careful)
    return solve_laws(c, island, min(LAW_STEPS, int(c.newton_steps)))


@kernel
def rests(c, island):
    """Whether no coordinate of an island is faster than REST_SPEED."""
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        for s in range(num_segments(c, b)):
            dof, length, _ = segment(c, b, s)
            for k in range(dof, dof + length):
                if not math.fabs(c.u[k]) <= REST_SPEED:
                    return False
    return True


@kernel
def follow_laws(c, island, rows, tried):
    """Newton's method on the exact laws, and where that stagnates some sweeps before it goes on.

    Args:
        tried: iterations along a tree that are done already; 0: none.

    Returns:
        Iterations and sweeps; -1 iterations where the island is not for it, which may not be measured then.
    """
    swept = 0
    on_tree = c.tree_newton.address != 0
    if tried == 0:
        tried = step_by_laws(c, island, True, 0) if on_tree else -1
    if tried < 0 and rows <= LAW_ROWS and c.newton_steps > 0.0:
        on_tree = False
        complete(c, island)
        if rows > HEAP_ROWS:
            swept = c.sweeper(c, island, LAW_SWEEPS)
        tried = step_by_laws(c, island, False, 0)
    if tried < 0:
        return -1, swept
    if tried == 0 and not on_tree and merit(c, island) <= 1.0 and not is_fine(c, island) and rests(c, island):
        tried = c.body_newton(c, island, NEAR_STEPS)
    if on_tree and not merit(c, island) <= 1.0:
        tried += step_by_laws(c, island, True, 1)
    for k in range(LAW_ROUNDS):
        if merit(c, island) <= 1.0:
            break
        complete(c, island)
        swept += c.sweeper(c, island, LAW_SWEEPS)
        if merit(c, island) <= 1.0:
            break
        tried += step_by_laws(c, island, on_tree, k % 2)
    return tried, swept


@kernel
def sweep_and_factor(c, island, rows, cap):
    """Sweeps, and Newton's method in row space or in body space where they do not solve an island, or before them.

    Args:
        rows: of the island.
        cap: of sweeps, these and those that may follow.

    Returns:
        Sweeps and iterations done, and the cap of those that may follow.
    """
    first, steps = int(c.first_sweeps), int(c.newton_steps)
    in_rows = has_room(c, island)
    smooth = in_rows and has_cones(c, island)
    few = in_rows and (rows <= FEW_ROWS or smooth)
    done = 0
    if few:
        first = FEW_SWEEPS
    elif rows > GREAT_ROWS:
        first, steps = max(first, GREAT_SWEEPS), min(steps, GREAT_STEPS)
    swept = c.sweeper(c, island, min(cap, first))
    cap -= swept
    done += swept
    for k in range(FEW_ROUNDS if few and swept > 0 else 0):
        if merit(c, island) <= 1.0:
            break
        if smooth and (k > 1 or rows > FEW_ROWS):
            done += smoothing_newton(c, island, SMOOTH_STEPS, (k + 1) % 2)
        else:
            done += newton_in_rows(c, island, FEW_STEPS)
        if merit(c, island) <= 1.0:
            break
        swept = c.sweeper(c, island, min(cap, FEW_SWEEPS))
        cap -= swept
        done += swept
    if not merit(c, island) <= 1.0:
        steps = c.body_newton(c, island, steps)
        done += steps
        if rows > GREAT_ROWS and steps > 0:
            cap = 0
    return done, cap


@kernel
def solve_island(c, island, skip, tried):
    """Solve one prepared island by the default, after iterations along a tree that are `tried`; sets its status."""
    c.island_approach[island] = fastest_approach(c, island)
    rows = c.island_row[island + 1] - c.island_row[island]
    cap = int(c.sweeps if rows <= c.small_rows else c.sweeps_large)
    enough = c.acceptance if rows <= c.small_rows else 1.0
    done = 0
    measured = False
    if c.body_newton.address != 0 and not skip and rows <= c.newton_rows:
        measured = True
        tried, swept = follow_laws(c, island, rows, tried)
        done = max(tried, 0) + swept
        cap -= swept
        if tried < 0 or not merit(c, island) <= 1.0:
            complete(c, island)
            steps, cap = sweep_and_factor(c, island, rows, cap)
            done += steps
    if not measured or not merit(c, island) <= (1.0 if rows <= FEW_ROWS else enough):
        complete(c, island)
        done += c.sweeper(c, island, 0 if skip else cap)
    status = CONVERGED
    if not merit(c, island) <= enough:
        status = AT_CAP
        if c.fallback.address != 0 and rows <= c.matrix.shape[0]:
            if not merit(c, island) < HOPELESS:
                clear_island(c, island)
            done += c.fallback(c, island, int(c.admm_iterations))
            c.island_fallbacks[island] = 1
            if merit(c, island) <= enough:
                status = FELL_BACK
    if not merit(c, island) < HOPELESS:
        clear_island(c, island)
        c.island_power[island] = 0.0
        status = PROBLEM_NOT_FINITE
    c.island_iterations[island] = done
    c.island_status[island] = status


@kernel
def has_spin(c, island):
    """Whether an island has rolling or torsional friction."""
    number = 0
    for e in range(c.island_start[island], c.island_start[island + 1]):
        if c.kind[c.island_block[e]] == SPIN_BLOCK:
            number += 1
    return number > 0


@kernel
def solve_chosen_island(c, island):
    """Solve one prepared island by the chosen solver, or take its impulses as given; the default solves what fails."""
    c.island_approach[island] = fastest_approach(c, island)
    rows = c.island_row[island + 1] - c.island_row[island]
    done = 0
    if c.given != 0:
        apply_impulses(c, island)
    elif c.refuses_spin != 0 and has_spin(c, island):
        c.island_ended[island] = UNKNOWN_KIND
    elif rows <= c.chosen_max_rows:
        c.island_ended[island] = MEASURED
        done = c.chosen(c, island, c.chosen_cap)
    else:
        c.island_ended[island] = TOO_LARGE
    ended = c.island_ended[island]
    merit = measure_island(c, island)
    finite = merit < HOPELESS
    if finite and ended < TOO_LARGE:
        enough = c.acceptance if rows <= c.small_rows else 1.0
        solved = ended == OWN_SOLVED or (ended != CAPPED and merit <= enough)
        c.island_status[island] = CONVERGED if solved else AT_CAP
        c.island_iterations[island] = done
        return
    if not finite:
        clear_island(c, island)
    solve_island(c, island, False, 0)
    c.island_fallbacks[island] = 1
    c.island_iterations[island] += done
    if c.island_status[island] == CONVERGED:
        c.island_status[island] = FELL_BACK


@kernel
def solve_prepared(c, island, skip):
    """Solve one prepared island, by the chosen solver if there is one."""
    if c.chosen.address != 0 or c.given != 0:
        solve_chosen_island(c, island)
    else:
        solve_island(c, island, skip, 0)


@callback
def begin_islands(address, unused_1, unused_2, unused_3):
    """Divide the problem at `address`, with its inputs filled and the warm start in `impulse`, into islands.

    Returns:
        The number of islands.
    """
    return divide(view(PROBLEM, address))


@callback
def solve_one(address, island, unused_1, unused_2):
    """Prepare and solve one island, of the problem or of a thread's `worker_problem`. Returns its status."""
    c = view(PROBLEM, address)
    prepare_island(c, island)
    solve_prepared(c, island, False)
    return c.island_status[island]


@callback
def go_on_with(address, island, tried, unused):
    """`solve_one` of an island with which Newton's method along its tree has ended, after `tried` iterations.

    Its impulses are the last ones, u is theirs, and they are measured.
    """
    c = view(PROBLEM, address)
    solve_island(c, island, False, tried)
    return c.island_status[island]


@callback
def end_islands(address, unused_1, unused_2, unused_3):
    """Fill the totals from all islands. Returns the worst status."""
    return sum_up(view(PROBLEM, address))


@callback
def begin_solution(address, unused_1, unused_2, unused_3):
    """Islands, own compliances and warm start of the problem at `address`. Returns the number of islands."""
    return start(view(PROBLEM, address))


@callback
def solve_problem(address, skip, unused_1, unused_2):
    """Solve the problem at `address`, island by island; where impulses are `given`, after `begin_solution`.

    Args:
        address: of a PROBLEM with its inputs and solvers set and the warm start in `impulse`.
        skip: not 0 to make no sweeps, so that only the fall-back works.

    Returns:
        The worst status. `impulse`, `u`, the islands' results and the totals are written.
    """
    c = view(PROBLEM, address)
    given = c.given != 0
    for island in range(c.num_islands if given else divide(c)):
        if not given:
            prepare_island(c, island)
        solve_prepared(c, island, skip != 0)
    return sum_up(c)
