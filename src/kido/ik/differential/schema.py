"""Arrays of inverse differential kinematics, beside those of its tasks (`TASKS`) and of its program (`QUADRATIC`).

Unknowns are velocities of the active coordinates, the columns. Rows say what J u shall be: an equation, or a range.
Rows of tasks give way to each other by weight and level; *hard* rows, and bounds of columns, do not.
"""

from __future__ import annotations

from kido.jit import Field, Schema

# Entries of DIFFERENTIAL.setting.
STEP, DAMPING, ERROR_DAMPING, MIN_SINGULAR, SHARE, RECOVERY = range(6)
# Entries of DIFFERENTIAL.count: hard rows in use; first free direction; 1 if `previous` counts; addresses of what adds
# rows of pairs of shapes, of their COLLISION container; level that has no solution; conflicts listed; programs solved;
# iterations of all of them; task that measures the centre of mass for balance.
(
    HARD_ROWS, FIRST_FREE, HAS_PREVIOUS, AVOID, COLLISIONS, FAILED_LEVEL, CONFLICTS, PROGRAMS, ITERATIONS,
    CENTER_OF_MASS,
) = range(10)  # fmt: skip
# Roles of tasks; a HELPER's rows serve half spaces or balance.
SOFT, HARD, HELPER = range(3)
# What a row of a task is.
NOTHING, EQUATION, RANGE, CONE = range(4)
# What a hard row, or a conflict, comes from: a bound of a column, a row of a task, a half space, a coordinate of a ball
# or free joint, a pair of shapes, all equations.
OF_BOUND, OF_TASK, OF_PLANE, OF_CHART, OF_PAIR, OF_EQUATIONS = range(6)
# What a step returns beside those of `kido.optimization.dense_qp`.
CONTRADICTION, NOT_FINITE, REFUSED = 10, 11, 12

DIFFERENTIAL = Schema(
    "DIFFERENTIAL",
    Field("setting", "f", (8,), doc="see STEP ... RECOVERY"),
    Field("count", "i", (12,), doc="see HARD_ROWS ... CENTER_OF_MASS"),
    Field("levels", "i", ("level_count",), doc="levels of the soft tasks, ascending"),
    Field("level_damping", "f", ("level_count",), doc="of velocities, by level, beside the setting"),
    Field("role", "i", ("tasks",), doc="SOFT, HARD or HELPER"),
    Field("declared", "i", ("rows",), doc="NOTHING, EQUATION, RANGE or CONE"),
    Field("low", "f", ("rows",), "rad or m", "range of a row's residual"),
    Field("high", "f", ("rows",), "rad or m", "range of a row's residual"),
    Field("kind", "i", ("rows",), doc="as declared, at this step"),
    Field("want_low", "f", ("rows",), "rad/s or m/s", "range of J u, or what it is to equal"),
    Field("want_high", "f", ("rows",), "rad/s or m/s", "range of J u"),
    Field("hard_J", "f", ("hard", "columns"), doc="hard rows"),
    Field("hard_low", "f", ("hard",), "rad/s or m/s"),
    Field("hard_high", "f", ("hard",), "rad/s or m/s"),
    Field("hard_source", "i", ("hard", 2), doc="OF_TASK ... OF_PAIR, and which"),
    Field("position_limited", "i", ("columns",), doc="1: the position limits of the coordinate are kept"),
    Field("velocity_low", "f", ("columns",), "rad/s or m/s"),
    Field("velocity_high", "f", ("columns",), "rad/s or m/s"),
    Field("acceleration", "f", ("columns",), "rad/s^2 or m/s^2", "largest change of velocities; inf: none"),
    Field("bound_low", "f", ("columns",), "rad/s or m/s", "from all limits of the coordinate at this step"),
    Field("bound_high", "f", ("columns",), "rad/s or m/s"),
    Field("charts", "i", ("chart_count",), doc="bodies with ball or free joints, positions of which may be limited"),
    Field("plane_task", "i", ("planes",), doc="task whose linear residual x stays in n . x <= offset"),
    Field("plane_normal", "f", ("planes", 3), doc="n, unit, axes of the task's target"),
    Field("plane_offset", "f", ("planes",), "m"),
    Field("support_link", "i", ("supports",), doc="link that carries a point of the support; -1: the world"),
    Field("support_place", "f", ("supports", 3), "m", "where it is on that link"),
    Field("support_axes", "f", (2, 3), doc="horizontal unit vectors"),
    Field("support_point", "f", ("supports", 3), "m", "where it is in the world"),
    Field("support_flat", "f", ("supports", 2), "m", "along the horizontal axes"),
    Field("order", "i", ("supports",), doc="points from left to right"),
    Field("hull", "i", ("supports2",), doc="corners of the support polygon, counterclockwise"),
    Field("pair", "i", ("pairs", 2), doc="shapes that are kept apart"),
    Field("pair_limit", "f", ("pairs", 3), doc="least distance [m], distance of influence [m], share of it per step"),
    Field("pair_gap", "f", ("pairs",), "m", "distance at this step; inf beyond the influence"),
    Field("pair_point", "f", ("pairs", 6), "m", "nearest points, world axes; of pairs within the influence"),
    Field("previous", "f", ("columns",), "rad/s or m/s", "velocities of the step before"),
    Field("u", "f", ("columns",), "rad/s or m/s", "the result"),
    Field("Y", "f", ("columns", "columns"), doc="orthogonal; columns from FIRST_FREE on: directions still free"),
    Field("Z", "f", ("columns", "columns"), doc="the transpose of Y, while it turns"),
    Field("W", "f", ("work", "columns"), doc="rows of a level in these directions"),
    Field("W_norm", "f", ("work",), doc="their norms before levels above were taken out"),
    Field("W_value", "f", ("work",), doc="what they are to equal, less what is there already"),
    Field("W_weight", "f", ("work",), doc="squares of their weights"),
    Field("W_row", "i", ("work",), doc="row they are made of"),
    Field("ranges", "i", ("rows",), doc="rows of a level that are ranges"),
    Field("reflect", "f", ("columns",), doc="work space"),
    Field("turned", "f", ("columns",), doc="work space"),
    Field("gram", "f", (6, 6), doc="J J^T of a task, and its eigenvectors"),
    Field("eigen", "f", (6, 6)),
    Field("program_row", "i", ("program_rows", 2), doc="what a row of the program is made of, as hard_source"),
    Field("warm", "i", ("level_count", "program_variables"), doc="constraints that were active last, by level"),
    Field("warm_count", "i", ("level_count",)),
    Field("conflict", "i", ("conflicts", 2), doc="what cannot hold together, as hard_source"),
)
