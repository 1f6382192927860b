"""Arrays of a descent by levels, beside those of its steps (`TASKS`, `DIFFERENTIAL`, `QUADRATIC`).

Entry 0 of what is counted by level are hard rows: half spaces, limits of ball and free joints, pairs of shapes. Level l
of the list is entry l + 1.
"""

from __future__ import annotations

from kido.jit import Field, Schema

# What a descent returns beside what a step does: all levels are within their tolerances; no step leads nearer; as many
# iterations as allowed.
MET, STALLED, OUT_OF_ITERATIONS = 20, 21, 22
# Entries of DESCENT.count.
USED, REFUSED_STEPS = range(2)

DESCENT = Schema(
    "DESCENT",
    Field("count", "i", (4,), doc="iterations, and steps refused, of the last descent"),
    Field("level_of", "i", ("tasks",), doc="place of a soft task's level in the list"),
    Field("masked", "i", ("tasks",), doc="1: not all columns are the task's own"),
    Field("own", "i", ("tasks", "columns"), doc="1: a column that the task may use"),
    Field("whole_J", "f", ("rows", "columns"), doc="Jacobians of such tasks by all columns"),
    Field("tolerance", "f", ("levels1",), doc="size up to which a level is satisfied"),
    Field("factor", "f", ("levels1",), doc="of a level's damping"),
    Field("least", "f", ("columns",), "rad or m", "positions that are not left; -inf: none"),
    Field("most", "f", ("columns",), "rad or m"),
    Field("reach", "f", ("columns",), "rad or m", "how far a coordinate may move in all; inf: any"),
    Field("moved", "f", ("columns",), "rad or m", "sum of all steps"),
    Field("best_moved", "f", ("columns",)),
    Field("best", "f", ("dofs",), doc="the best positions so far"),
    Field("cost", "f", ("levels1",), doc="half the sum of squares of a level's weighted residuals"),
    Field("size", "f", ("levels1",), doc="the largest of them"),
    Field("new_cost", "f", ("levels1",), doc="after a step"),
    Field("new_size", "f", ("levels1",)),
    Field("model_cost", "f", ("levels1",), doc="after a step, by the linear model"),
    Field("model_size", "f", ("levels1",)),
    Field("old_cost", "f", ("levels1",), doc="before a step that is being repaired"),
    Field("mark_cost", "f", ("levels1",), doc="the best some iterations ago"),
    Field("mark_size", "f", ("levels1",)),
    Field("lowest", "f", ("levels1",), doc="the lowest cost that did not cost a level above"),
    Field("best_cost", "f", ("levels1",), doc="at the best positions"),
    Field("best_size", "f", ("levels1",)),
)
