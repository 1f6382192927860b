"""Arrays of a descent by levels, beside those of its steps (`TASKS`, `DIFFERENTIAL`, `QUADRATIC`).

Entry 0 of what is counted by level are hard rows: half spaces, limits of ball and free joints, pairs of shapes. Level l
of the list is entry l + 1.
"""

from __future__ import annotations

from kido.jit import Struct, floats, integer, integers

# What a descent returns beside what a step does: all levels are within their tolerances; no step leads nearer; as many
# iterations as allowed.
LEVELS_MET, LEVELS_STALLED, OUT_OF_ITERATIONS = 20, 21, 22


class DESCENT(Struct):
    used = integer(doc="iterations of the last descent")
    refused_steps = integer(doc="steps refused in it")
    level_of = integers("tasks", doc="place of a soft task's level in the list")
    masked = integers("tasks", doc="1: not all columns are the task's own")
    own = integers("tasks", "columns", doc="1: a column that the task may use")
    whole_J = floats("rows", "columns", doc="Jacobians of such tasks by all columns")
    tolerance = floats("levels1", doc="size up to which a level is satisfied")
    factor = floats("levels1", doc="of a level's damping")
    least = floats("columns", unit="rad or m", doc="positions that are not left; -inf: none")
    most = floats("columns", unit="rad or m")
    reach = floats("columns", unit="rad or m", doc="how far a coordinate may move in all; inf: any")
    moved = floats("columns", unit="rad or m", doc="sum of all steps")
    best_moved = floats("columns")
    best = floats("dofs", doc="the best positions so far")
    cost = floats("levels1", doc="half the sum of squares of a level's weighted residuals")
    size = floats("levels1", doc="the largest of them")
    new_cost = floats("levels1", doc="after a step")
    new_size = floats("levels1")
    model_cost = floats("levels1", doc="after a step, by the linear model")
    model_size = floats("levels1")
    old_cost = floats("levels1", doc="before a step that is being repaired")
    mark_cost = floats("levels1", doc="the best some iterations ago")
    mark_size = floats("levels1")
    lowest = floats("levels1", doc="the lowest cost that did not cost a level above")
    best_cost = floats("levels1", doc="at the best positions")
    best_size = floats("levels1")
