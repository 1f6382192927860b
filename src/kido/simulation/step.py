"""The step of a world, as a loop over stages that never returns to Python unless something does not fit.

Each stage is a callback in a field of WORLD (kido.simulation.world_struct says which it may be), so that changing one
recompiles one. What a world may have besides contacts has stages at the places where `features` is called.
"""

from __future__ import annotations

from kido.collision.narrow import detect
from kido.constraints.assemble import assemble
from kido.jit import callback, caller, entry, kernel, view
from kido.simulation.middle import keep_start, moves_middle
from kido.simulation.world_struct import ASK, BEGIN, CHECK, END, EXTEND, RESPOND, WORLD

# Where a step stopped for Python, and where it goes on after its arrays were enlarged or its questions answered.
AT_PREDICT, AT_DETECT, AT_ASK, AT_ASSEMBLE, AT_SOLVE, AT_CHECK, AT_INTEGRATE, AT_END, AT_BEGIN = range(9)
NOWHERE = -1
call_feature = caller("WORLD.feature_stage")
MAX_FLOAT = 1.7976931348623157e308  # finite number
MAX_SPEED = 1e100  # whose square, in energies, is a number too


@callback
def detect_stage(world, unused_1, unused_2, unused_3):
    """Contacts at the mid-step poses. Returns the detector's status."""
    return detect(view(WORLD, world).collision.address)


@callback
def assemble_stage(world, unused_1, unused_2, unused_3):
    """The contact problem. Returns ASSEMBLED or PROBLEM_FULL."""
    w = view(WORLD, world)
    return assemble(w.tree, w.data, w.collision, w.problem, w.row_origins)


@callback
def solve_stage(world, unused_1, unused_2, unused_3):
    """The impulses. Returns 0."""
    w = view(WORLD, world)
    w.solve_problem(w.problem)
    return 0


@callback
def leave_to_python(world, unused_1, unused_2, unused_3):
    """Stop for Python, which finds the impulses or asks users for rows. Returns 1."""
    return 1


@kernel
def features(w, place):
    """The stages that features have at a place, in their order, until one returns something else than 0: that."""
    k = 0
    while w.feature_stage[place, k] != 0:
        status = call_feature(w.feature_stage[place, k], w.address, w.feature_struct[place, k], 0, 0)
        if status != 0:
            return status
        k += 1
    return 0


@kernel
def end_features(w):
    """All stages at END. Returns whether one has something for Python to do."""
    found = k = 0
    while w.feature_stage[END, k] != 0:
        if call_feature(w.feature_stage[END, k], w.address, w.feature_struct[END, k], 0, 0) != 0:
            found = 1
        k += 1
    return found


@kernel
def not_finite(d):
    """1 + the first coordinate whose position or velocity is NaN, infinite or beyond measure; 0 if none is."""
    bad = 0
    for k in range(d.q.shape[0]):  # without a way out, so that it is vector code
        if not (abs(d.q[k]) <= MAX_FLOAT and abs(d.u[k]) <= MAX_SPEED):
            bad += 1
    if bad > 0:
        for k in range(d.q.shape[0]):
            if not (abs(d.q[k]) <= MAX_FLOAT and abs(d.u[k]) <= MAX_SPEED):
                return 1 + k
    return 0


@entry("UniTuple(i8,3)(i8,i8,i8)")
def run_steps(world, number, start):
    """Do a number of steps.

    Args:
        world: address of the WORLD struct.
        start: AT_PREDICT, or where the first step goes on.

    Returns:
        Steps done; where a step stopped (at AT_BEGIN nothing of it is done, at AT_INTEGRATE it made a coordinate NaN or
        too large, at AT_END it is done) or NOWHERE; and the status of the stage there.
    """
    w = view(WORLD, world)
    for k in range(number):
        if start == AT_PREDICT:
            status = features(w, BEGIN)
            if status < 0:
                return k, AT_BEGIN, status
            if status != 0:
                w.steps += 1  # all is asleep
                continue
            keep_start(w)

        while start <= AT_ASSEMBLE:
            if start == AT_PREDICT:
                status = w.predict(w)
                if status != 0:
                    return k, AT_PREDICT, status

            if start <= AT_DETECT:
                status = w.detect(w)
                if status != 0:
                    return k, AT_DETECT, status
                if features(w, ASK) != 0:
                    return k, AT_ASK, 0

            status = w.assemble(w)
            if status == 0 and moves_middle(w) != 0:
                start = AT_PREDICT
                continue
            if status == 0:
                status = features(w, EXTEND)
            if status != 0:
                return k, AT_ASSEMBLE, status
            if w.solve(w) != 0:
                return k, AT_SOLVE, 0
            break

        if features(w, CHECK) != 0:
            return k, AT_CHECK, 0
        w.restitute(w.problem)
        w.project_positions(w.problem, w)
        features(w, RESPOND)

        w.integrate(w)
        status = not_finite(w.data)
        if status != 0:
            return k + 1, AT_INTEGRATE, status
        start = AT_PREDICT
        if end_features(w) != 0:
            return k + 1, AT_END, 0
    return number, NOWHERE, 0
