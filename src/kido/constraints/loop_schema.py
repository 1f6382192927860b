"""Tables of the constraints between bodies, and of couplers of coordinates, that a world holds.

A constraint is one or more scalar *rows*. A row has a value phi(q), zero where it is met, and a Jacobian G with
d phi / dt = G u. Rows that hold with any force (mode ELIMINATED) are taken out of the contact problem
(`kido.constraints.loop_solve`); all others are blocks of it.

Trees (skeletons) that eliminated rows connect form a *group*. A group's rows are dense over the coordinates of its
trees, one tree after another, and are kept in `slots`: rows sorted by group.
"""

from __future__ import annotations

from kido.jit import Struct, floats, integer, integers, number, stage

# What a row measures, with frame A on the first body and frame B on the second; a_k, b_k: their axes.
SHIFT = 0  # a_k . (p_B - p_A)
TURN = 1  # component k of the rotation vector from A to B, in A
ALIGN = 2  # component k of the shortest rotation that takes a_z to b_z, in A
CROSS = 3  # a_x . b_y
LENGTH = 4  # |p_B - p_A|
SPIN = 5  # angle from a_x to b_x about a_z
COUPLE = 6  # sum of factors times coordinates
SCREW_TRAVEL = 7  # a_z . (p_B - p_A) - gain * (angle from a_x to b_x about a_z)

# How a row acts.
ELIMINATED = 0  # with any force
BOUNDED_ROW = 1  # with a force within bounds
SPRING = 2  # as a spring with a damper, within bounds
ONE_SIDED = 3  # pushes only, so that phi >= 0
DRIVEN = 4  # towards a velocity, with a force within bounds: dry friction, motors; equal bounds are a given force


class LOOPS(Struct):
    num_constraints = integer()
    num_rows = integer()
    num_groups = integer()
    num_extras = integer(doc="extra segments in use")
    closure = number("m or rad", doc="largest |phi| of eliminated rows in the last step")
    worst_closure = number("m or rad", doc="the largest of all steps")
    misfit = number("m/s or rad/s", doc="largest |G u| of eliminated rows in the last step")
    worst_misfit = number("m/s or rad/s", doc="the largest of all steps")
    midpoint = integer(doc="1: the midpoint rule, and `predicted` is of this step")
    answer = stage(doc="fills responses of rows on aggregates, called with (answer_of, at, tree)")
    answer_of = integer(doc="address of the struct that `answer` works on")
    others = stage(doc="does what is asked of trees that are apart (`loop_trees`): (others_of, what, ...)")
    others_of = integer(doc="address of the struct that `others` works on")
    answered = number(doc="number that `others` was asked for")
    body_a = integers("constraints", doc="link of the first body; -1: the world")
    body_b = integers("constraints", doc="link of the second body; -1: the world")
    frame_a = floats("constraints", 12, doc="frame A in its link: nine numbers of the rotation, the origin")
    frame_b = floats("constraints", 12, doc="frame B in its link")
    enabled = integers("constraints", doc="1: it acts; 0: broken")
    breaking_force = floats("constraints", unit="N", doc="force at which it breaks; inf: never")
    breaking_moment = floats("constraints", unit="N m", doc="moment at which it breaks; inf: never")
    wrench = floats("constraints", 6, unit="N m, N", doc="on the second body about the origin of B, world axes")
    first_row = integers("constraints1", doc="first row of each constraint, and the end")
    first_term = integers("constraints1", doc="first term of each coupler, and the end")
    term_dof = integers("terms", doc="coordinate of a term")
    term_factor = floats("terms", doc="its factor")
    kind = integers("rows", doc="SHIFT ... COUPLE")
    axis = integers("rows", doc="k of SHIFT, TURN and ALIGN")
    of = integers("rows", doc="constraint of the row")
    mode = integers("rows", doc="ELIMINATED ... ONE_SIDED")
    sign = floats("rows", doc="phi = sign * (measure - offset)")
    offset = floats("rows", unit="m or rad")
    lower = floats("rows", unit="N or N m", doc="least force")
    upper = floats("rows", unit="N or N m", doc="greatest force")
    stiffness = floats("rows", unit="N/m or N m/rad")
    damping = floats("rows", unit="N s/m or N m s/rad")
    target = floats("rows", unit="m/s or rad/s", doc="velocity of DRIVEN rows")
    gain = floats("rows", unit="m/rad", doc="travel of SCREW_TRAVEL rows")
    angle = floats("rows", unit="rad", doc="last angle of SPIN and SCREW_TRAVEL rows: the next is the nearest to it")
    phi = floats("rows", unit="m or rad", doc="value, zero where the row is met")
    force = floats("rows", 3, doc="unit force on body B, world axes")
    point = floats("rows", 3, unit="m", doc="where it acts, world")
    moment = floats("rows", 3, doc="unit moment on body B, world axes")
    impulse = floats("rows", unit="N s or N m s", doc="impulse of the last step")
    redundant = integers("rows", doc="1: the row followed from others in the last step")
    slot = integers("slots", doc="row in each slot, group after group")
    group_slot = integers("groups1", doc="first slot of each group, and the end")
    group_member = integers("groups1", doc="first member of each group, and the end")
    member = integers("members", doc="tree of the forest")
    group_dofs = integers("groups", doc="coordinates of a group")
    group_pool = integers("groups", doc="where its rows start in G, G_end and Y")
    group_square = integers("groups", doc="where its matrix starts in S")
    rank = integers("groups", doc="rank of its rows")
    least = floats("groups", doc="least pivot of the scaled S, 1 if there is none")
    start = floats("groups", doc="least pivot where the step began, as far as it is known")
    start_rank = integers("groups", doc="rank of its rows where the step began, as far as it is known")
    embedded = integers("groups", doc="1: in this step its loops are aggregates of the tree, nothing is eliminated")
    left_open = integers("groups", doc="1: its positions were not closed when they last were to be")
    compliance = floats("groups", unit="1/kg", doc="of its trees as one mass, to tell what yields from rounding")
    tree_group = integers("trees", doc="group of each tree; -1: none")
    apart = integers("trees", doc="1: poses and responses of the tree are made by `others`")
    tree_local = integers("trees", doc="first coordinate of each tree within its group")
    G = floats("pool", doc="Jacobian of each slot at mid-step")
    G_end = floats("pool", doc="Jacobian at the end of the step")
    Y = floats("pool", doc="response M^-1 G^T of each slot")
    S = floats("squares", doc="Cholesky factor of G M^-1 G^T, rows scaled and pivoted")
    support = integers("pool", doc="work: coordinates of the rows of G that are not zero")
    support_first = integers("slots", doc="work: first of each slot in `support`")
    support_last = integers("slots", doc="work: end of each slot in `support`")
    near = integers("slots", doc="work: rows of a column of S that are not zero")
    pivot = integers("slots", doc="slot within the group at each place of the factor")
    scale = floats("slots", doc="factor of each row and column of S, 0 for a row whose bodies do not move")
    right = floats("slots", doc="work: right-hand side")
    left = floats("slots", doc="work: solution")
    work = floats("slots", doc="work of the solution")
    total = floats("slots", unit="N s or N m s", doc="impulse of each slot in the step")
    load = floats("dofs", doc="work: generalized impulse of the contact problem")
    predicted = floats("dofs", doc="velocities predicted for mid-step")
    end_q = floats("dofs", doc="positions that the last step left")
    end_u = floats("dofs", doc="velocities that the last step left")
    before_u = floats("dofs", doc="work: velocities before they were projected, for the points of soft skins")
    row_J = floats("dofs", doc="work: a row, or an impulse, on a tree that is apart")
    row_Y = floats("dofs", doc="work: what velocities it brings")
    kept_q = floats("dofs", doc="work: positions to go back to")
    kept_u = floats("dofs", doc="work: velocities while positions are moved")


class USER_ROWS(Struct):
    """Rows that users' constraints gave for the step to come."""

    num_rows = integer()
    J = floats("rows", "dofs", doc="Jacobian rows, free joints in fixed axes")
    bias = floats("rows", unit="m/s")
    position_bias = floats("rows", unit="m/s")
    compliance = floats("rows", unit="m/(N s)")
    lower = floats("rows", unit="N s")
    upper = floats("rows", unit="N s")
    impulse = floats("rows", unit="N s", doc="in: warm start; out: of the step")
