"""Tables of what inverse kinematics wants of one skeleton, as kernels read them.

A task has rows: residuals that are to become zero, and their Jacobian. Its `kind` (`kido.ik.tasks`) is the kernel that
writes them, which is called by its address: no other file knows which kinds there are. A framed task has six rows,
[angular; linear], those of components that nobody asks for stay zero; of others each row stands for itself. Columns of
Jacobians are the active coordinates, in any order; they say how residuals change with velocities: de = J u dt.

Two frames make a task about a frame: B, fixed to a link of the skeleton, and the target frame T, fixed to another link,
or to the world (`base` -1). Poses are in the axes of the link: the upper three rows of a 4x4 matrix.
"""

from __future__ import annotations

from kido.flexible.schema import FLEX
from kido.jit import Struct, floats, integer, integers, reference

# What the angular part of a pose measures: nothing, a rotation vector, or intrinsic XYZ Euler angles.
NO_ANGLE, ROTATION_VECTOR, EULER_XYZ = range(3)
FRAME_ROWS = 6
# What a row is to drivers that know ranges: nothing, an equation, a range, or the first of three that make a cone.
UNUSED_ROW, EQUATION, RANGE, CONE_ROW = range(4)


class TASKS(Struct):
    deforms = integer(doc="1: there are flexible bodies")
    flex = reference(FLEX, doc="their modes")
    residual = integers("tasks", doc="address of the callback (tree, data, tasks, k) that writes e and J of task k")
    residual_of_lanes = integers("tasks", doc="the same for IK_LANES in place of tasks; 0: there is none")
    framed = integers("tasks", doc="1: six rows [angular; linear]; 0: each row stands for itself")
    seeded = integers("tasks", doc="1: the pose of B tells how far a seed is from the target")
    link = integers(
        "tasks",
        doc="link that carries frame B; of a posture: its row of `reference`; or the address of a kind's own table",
    )
    pose = floats("tasks", 12, doc="B in its link")
    base = integers("tasks", doc="link that carries the target frame T; -1: the world")
    target = floats("tasks", 12, doc="T in that link")
    axis = floats("tasks", 3, doc="of a look-at: unit vector in B that is to point to the origin of T")
    angle = integers("tasks", doc="NO_ANGLE, ROTATION_VECTOR or EULER_XYZ")
    to_middle = integers("tasks", doc="1: beyond a bound the middle of the region is aimed at, 0: the bound")
    priority = integers("tasks", doc="place in a hierarchy, 0 first")
    gain = floats("tasks", unit="1/s", doc="rate at which residuals are to decay, for velocities")
    first_row = integers("tasks1", doc="first row of each task; the last entry is the total")
    lower = floats("rows", unit="rad or m", doc="residuals between lower and upper are zero; -inf: no bound")
    upper = floats("rows", unit="rad or m", doc="inf: no bound")
    weight = floats("rows", doc="factor of the residual in a sum of squares (residuals and J are without it)")
    tolerance = floats("rows", unit="rad or m", doc="residual up to which a row counts as satisfied")
    reference = floats("postures", "dofs", unit="rad or m", doc="positions that postures aim at")
    active = integers("columns", doc="coordinate of each column")
    column = integers("dofs", doc="column that each coordinate moves with; -1: it stays")
    ratio = floats("dofs", doc="its rate per rate of that column: 1, or a mimic's multiplier")
    mimic = integers("mimics", 2, doc="coordinates that mimic active ones, and these")
    offset = floats("mimics", unit="rad or m", doc="their positions where what they follow is at zero")
    chart = integers("bodies", doc="1: columns of the body's joint are rates of its positions, not velocities")
    needed = integers("paths", doc="links whose poses tasks depend on, parents first")
    row_kind = integers("rows", doc="UNUSED_ROW, EQUATION, RANGE or CONE_ROW")
    low = floats("rows", unit="rad or m", doc="range of a row's residual, where that is not cut to `lower`, `upper`")
    high = floats("rows", unit="rad or m", doc="range of a row's residual")
    support_link = integers("supports", doc="link that carries a point of the support; -1: the world")
    support_place = floats("supports", 3, unit="m", doc="where it is on that link")
    support_axes = floats(2, 3, doc="horizontal unit vectors")
    support_point = floats("supports", 3, unit="m", doc="where it is in the world")
    support_flat = floats("supports", 2, unit="m", doc="along the horizontal axes")
    order = integers("supports", doc="points from left to right")
    hull = integers("supports2", doc="corners of the support polygon, counterclockwise")
    com = floats(3, unit="m", doc="centre of mass in the world, where the support counts")
    com_J = floats("com_rows", "columns", doc="its Jacobian")
    e = floats("rows", unit="rad or m", doc="residuals")
    J = floats("rows", "columns", doc="their Jacobian")


class IK_LANES(Struct):
    """Eight descents side by side, each with a target of its own."""

    tasks = reference(TASKS, doc="all but targets, residuals and Jacobian")
    flex = reference(FLEX, lanes=True, doc="modes, as TASKS.flex")
    q = floats("positions", unit="rad or m", doc="positions of the descents")
    target = floats("targets", "poses", doc="targets, as TASKS.target")
    e = floats("rows", unit="rad or m", doc="residuals of trial positions")
    J = floats("rows", "columns", doc="their Jacobian")
    g = floats("columns", doc="gradient of the cost at q")
    A = floats("columns", "columns", doc="J^T W^2 J there; the lower triangle")
    new_g = floats("columns", doc="these at trial positions")
    new_A = floats("columns", "columns")
    L = floats("columns", "columns", doc="Cholesky factor")
    y = floats("columns", doc="right-hand side")
    step = floats("columns", unit="rad or m")
    held = floats("columns", doc="1: at a limit after the step")
    cost = floats(1, doc="at q; inf: none yet")
    factor = floats(1, doc="of the damping")
    growth = floats(1, doc="of that factor")
    before = floats(1, doc="cost at the start of the window")
    left = floats(1, doc="iterations left of the window")
    made = floats(1, doc="iterations made")
    most = floats(1, doc="how many there may be")
    new = floats(1, doc="1 in the first round")
    last = floats(1, doc="1 in the last round")
    ended = floats(1, doc="0, or 1 + how it ended")


class LANE_NUMBERS(Struct):
    """What whoever runs the rounds of IK_LANES reads and writes there, as numbers: index * lanes + lane."""

    q = floats("q_lanes")
    target = floats("targets", "pose_lanes")
    cost = floats("lanes")
    factor = floats("lanes")
    growth = floats("lanes")
    before = floats("lanes")
    left = floats("lanes")
    made = floats("lanes")
    most = floats("lanes")
    new = floats("lanes")
    last = floats("lanes")
    ended = floats("lanes")
    sample = integers("lanes", doc="attempt or target that each lane works on; -1: none")
    attempts = integers("lanes", doc="of targets: attempts that each lane has made for its own")
    past = floats("pasts", "past_numbers", doc="EARLY ends of these for each lane: iterations, cost, positions")
