"""Arrays of a quadratic program and of the method that solves it.

    minimize  1/2 x^T H x + g^T x    with  lower <= x <= upper,  row_lower <= A x <= row_upper

Constraints are numbered: bounds of variables first, then rows. Sizes of a container are the most that it can hold;
`size` says how much of it is in use, so that programs of any size below are solved without new memory.
"""

from __future__ import annotations

from kido.jit import Field, Schema

# Entries of QUADRATIC.size: variables and rows in use, most iterations (0: a number made from these).
VARIABLES, ROWS, MAX_ITERATIONS = range(3)
# Entries of QUADRATIC.count: active constraints, iterations, constraints in conflict, those to be tried first.
ACTIVE, ITERATIONS, CONFLICTS, WARM = range(4)
# What `minimize` returns.
SOLVED, INFEASIBLE, NOT_CONVEX, UNFINISHED = range(4)
# Sides of an active constraint.
AT_LOWER, AT_UPPER, EQUALITY = 1, -1, 0
ASIDE = 2  # QUADRATIC.is_active of a constraint that holds where the active ones do

QUADRATIC = Schema(
    "QUADRATIC",
    Field("size", "i", (4,), doc="see VARIABLES, ROWS, MAX_ITERATIONS"),
    Field("count", "i", (4,), doc="see ACTIVE, ITERATIONS, CONFLICTS, WARM"),
    Field("tolerance", "f", (1,), doc="violation of a constraint, over its norm and 1 + |bound|, that is let be"),
    Field("H", "f", ("variables", "variables"), doc="upper triangle of the positive definite Hessian"),
    Field("g", "f", ("variables",), doc="gradient at zero"),
    Field("lower", "f", ("variables",), doc="-inf: no bound"),
    Field("upper", "f", ("variables",), doc="inf: no bound"),
    Field("A", "f", ("rows", "variables"), doc="rows of constraints"),
    Field("row_lower", "f", ("rows",)),
    Field("row_upper", "f", ("rows",)),
    Field("row_floor", "f", ("rows",), doc="least norm that violations of a row are measured by"),
    Field("row_norm", "f", ("rows",), doc="of the row, or its floor"),
    Field("x", "f", ("variables",), doc="the solution"),
    Field("multiplier", "f", ("variables",), doc="of active constraints, >= 0 but for equalities"),
    Field("active", "i", ("variables",), doc="numbers of active constraints"),
    Field("side", "i", ("variables",), doc="AT_LOWER, AT_UPPER or EQUALITY"),
    Field("is_active", "i", ("constraints",), doc="sign of its normal in the factors; ASIDE; 0: not active"),
    Field("warm", "i", ("variables",), doc="constraints that were active last"),
    Field("conflict", "i", ("variables1",), doc="constraints that no x satisfies together"),
    Field("U", "f", ("variables", "variables"), doc="H = U^T U"),
    Field("J", "f", ("variables", "variables"), doc="rows: columns of U^-1 Q, where Q R = U^-T [active normals]"),
    Field("R", "f", ("variables", "variables"), doc="rows: columns of R"),
    Field("d", "f", ("variables",), doc="work space"),
    Field("z", "f", ("variables",), doc="work space"),
    Field("r", "f", ("variables",), doc="work space"),
)


def sizes(variables: int, rows: int) -> dict[str, int]:
    """Sizes of a container with room for programs up to so many variables and rows."""
    return {"variables": variables, "rows": rows, "constraints": variables + rows, "variables1": variables + 1}
