"""Arrays of a quadratic program and of the method that solves it.

    minimize  1/2 x^T H x + g^T x    with  lower <= x <= upper,  row_lower <= A x <= row_upper

Constraints are numbered: bounds of variables first, then rows. Sizes of a container are the most that it can hold;
`num_variables` and `num_rows` say how much is in use, so that programs of any size below are solved without new memory.
"""

from __future__ import annotations

from kido.jit import Struct, floats, integer, integers, number

# What `minimize` returns.
QP_SOLVED, INFEASIBLE, NOT_CONVEX, UNFINISHED = range(4)

# Sides of an active constraint.
AT_LOWER, AT_UPPER, EQUALITY = 1, -1, 0

ASIDE = 2  # QUADRATIC.is_active of a constraint that holds where the active ones do


class QUADRATIC(Struct):
    num_variables = integer(doc="variables in use")
    num_rows = integer(doc="rows in use")
    max_iterations = integer(doc="0: a number made from these")
    num_active = integer(doc="active constraints")
    iterations = integer(doc="constraints that were added or dropped")
    num_conflicts = integer(doc="constraints in conflict")
    num_warm = integer(doc="constraints to be tried first")
    tolerance = number(doc="violation of a constraint, over its norm and 1 + |bound|, that is let be")
    H = floats("variables", "variables", doc="upper triangle of the positive definite Hessian")
    g = floats("variables", doc="gradient at zero")
    lower = floats("variables", doc="-inf: no bound")
    upper = floats("variables", doc="inf: no bound")
    A = floats("rows", "variables", doc="rows of constraints")
    row_lower = floats("rows")
    row_upper = floats("rows")
    row_floor = floats("rows", doc="least norm that violations of a row are measured by")
    row_norm = floats("rows", doc="of the row, or its floor")
    x = floats("variables", doc="the solution")
    multiplier = floats("variables", doc="of active constraints, >= 0 but for equalities")
    active = integers("variables", doc="numbers of active constraints")
    side = integers("variables", doc="AT_LOWER, AT_UPPER or EQUALITY")
    is_active = integers("constraints", doc="sign of its normal in the factors; ASIDE; 0: not active")
    warm = integers("variables", doc="constraints that were active last")
    conflict = integers("variables1", doc="constraints that no x satisfies together")
    U = floats("variables", "variables", doc="H = U^T U")
    J = floats("variables", "variables", doc="rows: columns of U^-1 Q, where Q R = U^-T [active normals]")
    R = floats("variables", "variables", doc="rows: columns of R")
    d = floats("variables", doc="work space")
    z = floats("variables", doc="work space")
    r = floats("variables", doc="work space")


def sizes(variables: int, rows: int) -> dict[str, int]:
    """Sizes of a container with room for programs up to so many variables and rows."""
    return {"variables": variables, "rows": rows, "constraints": variables + rows, "variables1": variables + 1}
