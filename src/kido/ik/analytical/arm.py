"""The container of one chain that is solved in closed form: its axes, what its family needs, and its results."""

from __future__ import annotations

from kido.jit import Struct, floats, integer, integers, number

# Solutions of one call. The families here have at most eight; the rest is room for those that merge.
MAX_SOLUTIONS = 16

# Bits of a solution: the first two are its validity, the others name the singular pose that it is in.
OUT_OF_REACH, LIMIT_VIOLATED, SHOULDER, ELBOW, WRIST = 1, 2, 4, 8, 16

# How a family's three positioning axes lie: the first two skew, intersecting, or parallel.
AXES_SKEW, AXES_INTERSECTING, AXES_PARALLEL = range(3)


class ARM(Struct):
    axis = floats("joints", 3, doc="unit axes at zero positions, in the base's axes, from the base outwards")
    point = floats("joints", 3, unit="m", doc="a point on each axis at zero positions, in the base")
    home = floats(12, doc="inverse of the tip's pose in the base at zero positions: rotation, translation [m]")
    lower = floats("joints", unit="rad", doc="lower limit; -inf: none")
    upper = floats("joints", unit="rad", doc="upper limit; inf: none")
    order = integers("family", doc="joint of the chain that each of the family's joints is")
    backward = integer(doc="1: the family's chain runs from the tip to the base")
    locked = integer(doc="joint that keeps its reference position, the first or the last; -1: none")
    layout = integer(doc="how positioning axes lie: AXES_SKEW, AXES_INTERSECTING or AXES_PARALLEL")
    h = floats("family", 3, doc="the family's axes, exactly as its formulas want them")
    o = floats("family", 3, unit="m", doc="the family's points on them")
    center = floats(2, 3, unit="m", doc="points where three axes meet: the outer one, the inner one")
    length = number("m", doc="length of the arm")
    G = floats(12, doc="motion that the chain is to make: rotation, then translation [m]")
    goal = floats(1, 3, unit="m", doc="where the tip is to be, in the base")
    reference = floats("joints", unit="rad", doc="positions that free choices and turns stay close to")
    raw = floats(MAX_SOLUTIONS, "family", unit="rad", doc="solutions as the family finds them")
    mark = integers(MAX_SOLUTIONS, doc="their bits")
    found = floats(MAX_SOLUTIONS, "joints", unit="rad", doc="solutions in the chain's order, turned into limits")
    error = floats(MAX_SOLUTIONS, 2, unit="m, rad", doc="distance and angle that each leaves, by forward kinematics")
    flags = integers(MAX_SOLUTIONS, doc="bits of the solutions in `found`")
    J = floats("joints", 6, doc="columns of the tip's Jacobian")
    A = floats("joints", "joints1", doc="normal equations of a correction")
    roots = floats(24, doc="work space of the root finder and of searches")
