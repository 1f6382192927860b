"""The step of a world, as a loop over stages that never returns to Python unless something does not fit.

Each stage is a callback found through the world's table of addresses, so that changing one recompiles one.
"""

from __future__ import annotations

from kido.collision.container import COLLISION
from kido.collision.narrow import detect
from kido.constraints.assemble import assemble
from kido.constraints.row_origins import ROW_ORIGINS
from kido.jit import call4, callback, entry, kernel, view
from kido.simulation.schema import (
    ACTUATE,
    ASSEMBLE,
    COLLISION_AT,
    DATA_AT,
    DETECT,
    EVENTS,
    INTEGRATE,
    LOOP_ROWS,
    LOOP_USER,
    PREDICT,
    PROBLEM_AT,
    PROJECT_POSITIONS,
    PROJECT_TEAM,
    RESTITUTE,
    ROW_ORIGINS_AT,
    SLEEPING,
    SOFT_ASSEMBLE,
    SOFT_INTEGRATE,
    SOLVE,
    SOLVE_TEAM,
    TEAM_AT,
    TREE_AT,
    WORLD,
)
from kido.solvers.problem import PROBLEM
from kido.tree.schema import DATA, TREE

# Stages at which a step can be resumed after its arrays were enlarged, or solved from Python.
FROM_START, FROM_DETECTION, FROM_ASSEMBLY, FROM_SOLUTION = 0, 1, 2, 3
MAX_FLOAT = 1.7976931348623157e308  # finite number
# What the stage SLEEPING is called for: before a step, with its solution, and after it.
BEFORE, AT_SOLUTION, AFTER = 0, 1, 2


@callback
def detect_stage(address, unused_1, unused_2, unused_3):
    """Contacts at the mid-step poses. Returns the detector's status."""
    return detect(view(WORLD, address).table[COLLISION_AT])


@callback
def assemble_stage(address, unused_1, unused_2, unused_3):
    """The contact problem. Returns ASSEMBLED or PROBLEM_FULL."""
    w = view(WORLD, address)
    return assemble(
        view(TREE, w.table[TREE_AT]),
        view(DATA, w.table[DATA_AT]),
        view(COLLISION, w.table[COLLISION_AT]),
        view(PROBLEM, w.table[PROBLEM_AT]),
        view(ROW_ORIGINS, w.table[ROW_ORIGINS_AT]),
    )


@kernel
def not_finite(d):
    """1 + the first coordinate whose position or velocity is NaN or infinite; 0 if none is."""
    bad = 0
    for k in range(d.q.shape[0]):  # without a way out, so that it is vector code
        if not (abs(d.q[k]) <= MAX_FLOAT and abs(d.u[k]) <= MAX_FLOAT):
            bad += 1
    if bad > 0:
        for k in range(d.q.shape[0]):
            if not (abs(d.q[k]) <= MAX_FLOAT and abs(d.u[k]) <= MAX_FLOAT):
                return 1 + k
    return 0


@entry("UniTuple(i8,3)(i8,i8,i8)")
def run_steps(world, number, resume):
    """Do a number of steps.

    Args:
        world: address of the WORLD container.
        resume: FROM_START, or the stage at which the first step goes on.

    Returns:
        Steps done; the stage that could not go on (PREDICT, DETECT, LOOP_USER, ASSEMBLE, SOLVE; INTEGRATE: the step
        made a coordinate NaN or infinite), or where trees are to sleep or to wake (SLEEPING; EVENTS: the log is full),
        or -1; its status.
    """
    w = view(WORLD, world)
    for k in range(number):
        if resume == FROM_START:
            if w.table[SLEEPING] != 0 and call4(w.table[SLEEPING], world, BEFORE, 0, 0) != 0:
                w.steps[0] += 1  # all is asleep
                continue
            status = call4(w.table[PREDICT], world, 0, 0, 0)
            if status != 0:
                return k, PREDICT, status
        if resume <= FROM_DETECTION:
            status = call4(w.table[DETECT], world, 0, 0, 0)
            if status != 0:
                return k, DETECT, status
            if w.table[LOOP_USER] != 0:
                return k, LOOP_USER, 0
        problem = w.table[PROBLEM_AT]
        if resume <= FROM_ASSEMBLY:
            status = call4(w.table[ASSEMBLE], world, 0, 0, 0)
            if status != 0:
                return k, ASSEMBLE, status
            if w.table[SOFT_ASSEMBLE] != 0:
                status = call4(w.table[SOFT_ASSEMBLE], world, 0, 0, 0)
                if status != 0:
                    return k, ASSEMBLE, status
            if w.table[LOOP_ROWS] != 0:  # after them: responses of all blocks are constrained
                status = call4(w.table[LOOP_ROWS], world, 0, 0, 0)
                if status != 0:
                    return k, ASSEMBLE, status
            if w.table[SOLVE] == 0:
                return k, SOLVE, 0
            if w.table[TEAM_AT] != 0:
                call4(w.table[SOLVE_TEAM], world, 0, 0, 0)
            else:
                call4(w.table[SOLVE], problem, 0, 0, 0)
        if w.table[SLEEPING] != 0 and call4(w.table[SLEEPING], world, AT_SOLUTION, 0, 0) != 0:
            return k, SLEEPING, AT_SOLUTION
        if w.table[RESTITUTE] != 0:
            call4(w.table[RESTITUTE], problem, 0, 0, 0)
        if w.table[TEAM_AT] != 0:
            call4(w.table[PROJECT_TEAM], world, 0, 0, 0)
        else:
            call4(w.table[PROJECT_POSITIONS], problem, 0, 0, 0)
        if w.table[LOOP_ROWS] != 0:
            call4(w.table[LOOP_ROWS], world, 1, 0, 0)
        if w.table[SOFT_INTEGRATE] != 0:
            call4(w.table[SOFT_INTEGRATE], world, 0, 0, 0)
        if w.table[ACTUATE] != 0:
            call4(w.table[ACTUATE], world, 0, 0, 0)
        call4(w.table[INTEGRATE], world, 0, 0, 0)
        status = not_finite(view(DATA, w.table[DATA_AT]))
        if status != 0:
            return k + 1, INTEGRATE, status
        resume = FROM_START
        full = w.table[EVENTS] != 0 and call4(w.table[EVENTS], world, 0, 0, 0) != 0
        if w.table[SLEEPING] != 0 and call4(w.table[SLEEPING], world, AFTER, 0, 0) != 0:
            return k + 1, SLEEPING, AFTER
        if full:
            return k + 1, EVENTS, 0
    return number, -1, 0
