"""The container of one chain that is solved in closed form: its axes, what its family needs, and its results."""

from __future__ import annotations

from kido.jit import Field, Schema

# Solutions of one call. The families here have at most eight; the rest is room for those that merge.
MAX_SOLUTIONS = 16

# Bits of a solution: the first two are its validity, the others name the singular pose that it is in.
OUT_OF_REACH, LIMIT_VIOLATED, SHOULDER, ELBOW, WRIST = 1, 2, 4, 8, 16

# How a family's three positioning axes lie: the first two skew, intersecting, or parallel.
SKEW, INTERSECTING, PARALLEL = range(3)

ARM = Schema(
    "ARM",
    Field("axis", "f", ("joints", 3), doc="unit axes at zero positions, in the base's axes, from the base outwards"),
    Field("point", "f", ("joints", 3), "m", "a point on each axis at zero positions, in the base"),
    Field("home", "f", (12,), doc="inverse of the tip's pose in the base at zero positions: rotation, translation [m]"),
    Field("lower", "f", ("joints",), "rad", "lower limit; -inf: none"),
    Field("upper", "f", ("joints",), "rad", "upper limit; inf: none"),
    Field("order", "i", ("family",), doc="joint of the chain that each of the family's joints is"),
    Field("backward", "i", (1,), doc="1: the family's chain runs from the tip to the base"),
    Field("locked", "i", (1,), doc="joint that keeps its reference position, the first or the last; -1: none"),
    Field("layout", "i", (1,), doc="how positioning axes lie: SKEW, INTERSECTING or PARALLEL"),
    Field("h", "f", ("family", 3), doc="the family's axes, exactly as its formulas want them"),
    Field("o", "f", ("family", 3), "m", "the family's points on them"),
    Field("center", "f", (2, 3), "m", "points where three axes meet: the outer one, the inner one"),
    Field("size", "f", (1,), "m", "length of the arm"),
    Field("G", "f", (12,), doc="motion that the chain is to make: rotation, then translation [m]"),
    Field("goal", "f", (1, 3), "m", "where the tip is to be, in the base"),
    Field("reference", "f", ("joints",), "rad", "positions that free choices and turns stay close to"),
    Field("raw", "f", (MAX_SOLUTIONS, "family"), "rad", "solutions as the family finds them"),
    Field("mark", "i", (MAX_SOLUTIONS,), doc="their bits"),
    Field("found", "f", (MAX_SOLUTIONS, "joints"), "rad", "solutions in the chain's order, turned into limits"),
    Field("error", "f", (MAX_SOLUTIONS, 2), "m, rad", "distance and angle that each leaves, by forward kinematics"),
    Field("flags", "i", (MAX_SOLUTIONS,), doc="bits of the solutions in `found`"),
    Field("J", "f", ("joints", 6), doc="columns of the tip's Jacobian"),
    Field("A", "f", ("joints", "joints1"), doc="normal equations of a correction"),
    Field("roots", "f", (24,), doc="work space of the root finder and of searches"),
)
