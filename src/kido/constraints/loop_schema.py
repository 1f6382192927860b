"""Tables of the constraints between bodies, and of couplers of coordinates, that a world holds.

A constraint is one or more scalar *rows*. A row has a value phi(q), zero where it is met, and a Jacobian G with
d phi / dt = G u. Rows that hold with any force (mode ELIMINATED) are taken out of the contact problem
(`kido.constraints.loop_solve`); all others are blocks of it.

Trees (skeletons) that eliminated rows connect form a *group*. A group's rows are dense over the coordinates of its
trees, one tree after another, and are kept in `slots`: rows sorted by group.
"""

from __future__ import annotations

from kido.jit import Field, Schema

# What a row measures, with frame A on the first body and frame B on the second; a_k, b_k: their axes.
SHIFT = 0  # a_k . (p_B - p_A)
TURN = 1  # component k of the rotation vector from A to B, in A
ALIGN = 2  # component k of the shortest rotation that takes a_z to b_z, in A
CROSS = 3  # a_x . b_y
LENGTH = 4  # |p_B - p_A|
SPIN = 5  # angle from a_x to b_x about a_z
COUPLE = 6  # sum of factors times coordinates
SCREW = 7  # a_z . (p_B - p_A) - gain * (angle from a_x to b_x about a_z)

# How a row acts.
ELIMINATED = 0  # with any force
BOUNDED_ROW = 1  # with a force within bounds
SPRING = 2  # as a spring with a damper, within bounds
ONE_SIDED = 3  # pushes only, so that phi >= 0
DRIVEN = 4  # towards a velocity, with a force within bounds: dry friction, motors; equal bounds are a given force

# Entries of `count`, and of `closure`.
CONSTRAINTS, LOOP_ROWS_COUNT, GROUPS, EXTRAS = range(4)
CLOSURE, WORST_CLOSURE, MISFIT, WORST_MISFIT = range(4)

LOOPS = Schema(
    "LOOPS",
    Field("count", "i", (4,), doc="constraints, rows, groups, extra segments in use"),
    Field("body_a", "i", ("constraints",), doc="link of the first body; -1: the world"),
    Field("body_b", "i", ("constraints",), doc="link of the second body; -1: the world"),
    Field("frame_a", "f", ("constraints", 12), doc="frame A in its link: nine numbers of the rotation, the origin"),
    Field("frame_b", "f", ("constraints", 12), doc="frame B in its link"),
    Field("enabled", "i", ("constraints",), doc="1: it acts; 0: broken"),
    Field("breaking_force", "f", ("constraints",), "N", "force at which it breaks; inf: never"),
    Field("breaking_moment", "f", ("constraints",), "N m", "moment at which it breaks; inf: never"),
    Field("wrench", "f", ("constraints", 6), "N m, N", "on the second body about the origin of B, world axes"),
    Field("first_row", "i", ("constraints1",), doc="first row of each constraint, and the end"),
    Field("first_term", "i", ("constraints1",), doc="first term of each coupler, and the end"),
    Field("term_dof", "i", ("terms",), doc="coordinate of a term"),
    Field("term_factor", "f", ("terms",), doc="its factor"),
    Field("kind", "i", ("rows",), doc="SHIFT ... COUPLE"),
    Field("axis", "i", ("rows",), doc="k of SHIFT, TURN and ALIGN"),
    Field("of", "i", ("rows",), doc="constraint of the row"),
    Field("mode", "i", ("rows",), doc="ELIMINATED ... ONE_SIDED"),
    Field("sign", "f", ("rows",), doc="phi = sign * (measure - offset)"),
    Field("offset", "f", ("rows",), "m or rad"),
    Field("lower", "f", ("rows",), "N or N m", "least force"),
    Field("upper", "f", ("rows",), "N or N m", "greatest force"),
    Field("stiffness", "f", ("rows",), "N/m or N m/rad"),
    Field("damping", "f", ("rows",), "N s/m or N m s/rad"),
    Field("target", "f", ("rows",), "m/s or rad/s", "velocity of DRIVEN rows"),
    Field("gain", "f", ("rows",), "m/rad", "travel of SCREW rows"),
    Field("angle", "f", ("rows",), "rad", "last angle of SPIN and SCREW rows: the next is the nearest to it"),
    Field("phi", "f", ("rows",), "m or rad", "value, zero where the row is met"),
    Field("force", "f", ("rows", 3), doc="unit force on body B, world axes"),
    Field("point", "f", ("rows", 3), "m", "where it acts, world"),
    Field("moment", "f", ("rows", 3), doc="unit moment on body B, world axes"),
    Field("impulse", "f", ("rows",), "N s or N m s", "impulse of the last step"),
    Field("redundant", "i", ("rows",), doc="1: the row followed from others in the last step"),
    Field("slot", "i", ("slots",), doc="row in each slot, group after group"),
    Field("group_slot", "i", ("groups1",), doc="first slot of each group, and the end"),
    Field("group_member", "i", ("groups1",), doc="first member of each group, and the end"),
    Field("member", "i", ("members",), doc="tree of the forest"),
    Field("group_dofs", "i", ("groups",), doc="coordinates of a group"),
    Field("group_pool", "i", ("groups",), doc="where its rows start in G, G_end and Y"),
    Field("group_square", "i", ("groups",), doc="where its matrix starts in S"),
    Field("rank", "i", ("groups",), doc="rank of its rows"),
    Field("least", "f", ("groups",), doc="least pivot of the scaled S, 1 if there is none"),
    Field("start", "f", ("groups",), doc="least pivot where the step began, as far as it is known"),
    Field("start_rank", "i", ("groups",), doc="rank of its rows where the step began, as far as it is known"),
    Field(
        "embedded", "i", ("groups",), doc="1: in this step its loops are aggregates of the tree, nothing is eliminated"
    ),
    Field("left_open", "i", ("groups",), doc="1: its positions were not closed when they last were to be"),
    Field("compliance", "f", ("groups",), "1/kg", "of its trees as one mass, to tell what yields from rounding"),
    Field(
        "answer", "i", (2,), doc="callback that fills responses of rows on aggregates (address, at, tree), its address"
    ),
    Field("tree_group", "i", ("trees",), doc="group of each tree; -1: none"),
    Field("tree_local", "i", ("trees",), doc="first coordinate of each tree within its group"),
    Field("G", "f", ("pool",), doc="Jacobian of each slot at mid-step"),
    Field("G_end", "f", ("pool",), doc="Jacobian at the end of the step"),
    Field("Y", "f", ("pool",), doc="response M^-1 G^T of each slot"),
    Field("S", "f", ("squares",), doc="Cholesky factor of G M^-1 G^T, rows scaled and pivoted"),
    Field("support", "i", ("pool",), doc="work: coordinates of the rows of G that are not zero"),
    Field("support_first", "i", ("slots",), doc="work: first of each slot in `support`"),
    Field("support_last", "i", ("slots",), doc="work: end of each slot in `support`"),
    Field("near", "i", ("slots",), doc="work: rows of a column of S that are not zero"),
    Field("pivot", "i", ("slots",), doc="slot within the group at each place of the factor"),
    Field("scale", "f", ("slots",), doc="factor of each row and column of S, 0 for a row whose bodies do not move"),
    Field("right", "f", ("slots",), doc="work: right-hand side"),
    Field("left", "f", ("slots",), doc="work: solution"),
    Field("work", "f", ("slots",), doc="work of the solution"),
    Field("total", "f", ("slots",), "N s or N m s", "impulse of each slot in the step"),
    Field("load", "f", ("dofs",), doc="work: generalized impulse of the contact problem"),
    Field("predicted", "f", ("dofs",), doc="velocities predicted for mid-step"),
    Field("midpoint", "i", (1,), doc="1: the midpoint rule, and `predicted` is of this step"),
    Field("end_q", "f", ("dofs",), doc="positions that the last step left"),
    Field("end_u", "f", ("dofs",), doc="velocities that the last step left"),
    Field("before_u", "f", ("dofs",), doc="work: velocities before they were projected, for the points of soft skins"),
    Field("kept_q", "f", ("dofs",), doc="work: positions to go back to"),
    Field("kept_u", "f", ("dofs",), doc="work: velocities while positions are moved"),
    Field("closure", "f", (4,), "m or rad", "largest |phi| of eliminated rows: last step, worst; and of velocities"),
)

# Rows that users' constraints gave for the step to come.
USER_COUNT, USER_CHANGED = range(2)
USER_ROWS = Schema(
    "USER_ROWS",
    Field("count", "i", (2,), doc="rows"),
    Field("J", "f", ("rows", "dofs"), doc="Jacobian rows, free joints in fixed axes"),
    Field("bias", "f", ("rows",), "m/s"),
    Field("position_bias", "f", ("rows",), "m/s"),
    Field("compliance", "f", ("rows",), "m/(N s)"),
    Field("lower", "f", ("rows",), "N s"),
    Field("upper", "f", ("rows",), "N s"),
    Field("impulse", "f", ("rows",), "N s", "in: warm start; out: of the step"),
)
