"""Arrays of inverse differential kinematics, beside those of its tasks (`TASKS`) and of its program (`QUADRATIC`).

Unknowns are velocities of the active coordinates, the columns. Rows say what J u shall be: an equation, or a range.
Rows of tasks give way to each other by weight and level; *hard* rows, and bounds of columns, do not.
"""

from __future__ import annotations

from kido.jit import Struct, floats, integer, integers, number, stage

# Roles of tasks; a HELPER_TASK's rows serve half spaces.
SOFT_TASK, HARD_TASK, HELPER_TASK = range(3)

# What a hard row, or a conflict, comes from: a bound of a column, a row of a task, a half space, a coordinate of a ball
# or free joint, a pair of shapes, all equations.
OF_BOUND, OF_TASK, OF_PLANE, OF_CHART, OF_PAIR, OF_EQUATIONS = range(6)

# What a step returns beside those of `kido.optimization.dense_qp`.
CONTRADICTION, STEP_NOT_FINITE, STEP_REFUSED = 10, 11, 12


class DIFFERENTIAL(Struct):
    time_step = number("s", doc="h; 1 in descents")
    damping = number(doc="of velocities, beside squares of weights")
    error_damping = number(doc="of velocities, per squared weighted error")
    least_singular_value = number(doc="below it tasks are filtered; 0: not")
    share = number(doc="of the distance to a bound that a step may take")
    recovery_speed = number("rad/s or m/s", doc="at most, of coming back")
    hard_rows = integer(doc="hard rows in use")
    first_free = integer(doc="first free direction")
    has_previous = integer(doc="1: `previous` counts")
    avoid = stage(doc="adds rows of pairs of shapes: (tree, data, tasks, own)")
    collisions = integer(doc="address of the COLLISION of these shapes")
    failed_level = integer(doc="level that has no solution; -1: none")
    conflicts = integer(doc="conflicts listed")
    programs = integer(doc="programs solved")
    iterations = integer(doc="of all of them")
    levels = integers("level_count", doc="levels of the soft tasks, ascending")
    level_damping = floats("level_count", doc="of velocities, by level, beside the setting")
    role = integers("tasks", doc="SOFT_TASK, HARD_TASK or HELPER_TASK")
    kind = integers("rows", doc="as TASKS.row_kind, at this step")
    want_low = floats("rows", unit="rad/s or m/s", doc="range of J u, or what it is to equal")
    want_high = floats("rows", unit="rad/s or m/s", doc="range of J u")
    hard_J = floats("hard", "columns", doc="hard rows")
    hard_low = floats("hard", unit="rad/s or m/s")
    hard_high = floats("hard", unit="rad/s or m/s")
    hard_source = integers("hard", 2, doc="OF_TASK ... OF_PAIR, and which")
    position_limited = integers("columns", doc="1: the position limits of the coordinate are kept")
    velocity_low = floats("columns", unit="rad/s or m/s")
    velocity_high = floats("columns", unit="rad/s or m/s")
    acceleration = floats("columns", unit="rad/s^2 or m/s^2", doc="largest change of velocities; inf: none")
    bound_low = floats("columns", unit="rad/s or m/s", doc="from all limits of the coordinate at this step")
    bound_high = floats("columns", unit="rad/s or m/s")
    charts = integers("chart_count", doc="bodies with ball or free joints, positions of which may be limited")
    plane_task = integers("planes", doc="task whose linear residual x stays in n . x <= offset")
    plane_normal = floats("planes", 3, doc="n, unit, axes of the task's target")
    plane_offset = floats("planes", unit="m")
    pair = integers("pairs", 2, doc="shapes that are kept apart")
    pair_limit = floats("pairs", 3, doc="least distance [m], distance of influence [m], share of it per step")
    pair_gap = floats("pairs", unit="m", doc="distance at this step; inf beyond the influence")
    pair_point = floats("pairs", 6, unit="m", doc="nearest points, world axes; of pairs within the influence")
    previous = floats("columns", unit="rad/s or m/s", doc="velocities of the step before")
    u = floats("columns", unit="rad/s or m/s", doc="the result")
    Y = floats("columns", "columns", doc="orthogonal; columns from `first_free` on: directions still free")
    Z = floats("columns", "columns", doc="the transpose of Y, while it turns")
    W = floats("work", "columns", doc="rows of a level in these directions")
    W_norm = floats("work", doc="their norms before levels above were taken out")
    W_value = floats("work", doc="what they are to equal, less what is there already")
    W_weight = floats("work", doc="squares of their weights")
    W_row = integers("work", doc="row they are made of")
    ranges = integers("rows", doc="rows of a level that are ranges")
    reflect = floats("columns", doc="work space")
    turned = floats("columns", doc="work space")
    gram = floats(6, 6, doc="J J^T of a task, and its eigenvectors")
    eigen = floats(6, 6)
    program_row = integers("program_rows", 2, doc="what a row of the program is made of, as hard_source")
    warm = integers("level_count", "program_variables", doc="constraints that were active last, by level")
    warm_count = integers("level_count")
    conflict = integers("conflict_count", 2, doc="what cannot hold together, as hard_source")
