"""Tables of what inverse kinematics wants of one skeleton, as kernels read them.

A task has rows: residuals that are to become zero. A task about a frame has six, [angular; linear], those of
components that nobody asks for stay zero; a posture has one for each active coordinate, balance one for each point of
the support. Columns of Jacobians are the
active coordinates, in any order; they say how residuals change with velocities: de = J u dt.

Two frames make a task: B, fixed to a link of the skeleton, and the target frame T, fixed to another link, or to the
world (`base` -1). Poses are in the axes of the link: the upper three rows of a 4x4 matrix.
"""

from __future__ import annotations

from kido.jit import Struct, floats, integers

# Kinds of tasks. Position, orientation, plane and relative pose are poses with other bounds or another base.
# Balance is left to `kido.ik.differential.support`.
POSE, LOOK_AT, COM, POSTURE, BALANCE = range(5)
# What the angular part of a pose measures: nothing, a rotation vector, or intrinsic XYZ Euler angles.
NO_ANGLE, ROTATION_VECTOR, EULER_XYZ = range(3)
FRAME_ROWS = 6


class TASKS(Struct):
    kind = integers("tasks", doc="POSE, LOOK_AT, COM, POSTURE or BALANCE")
    enabled = integers("tasks", doc="0: residuals and their Jacobian are zero")
    link = integers("tasks", doc="link that carries frame B; of a posture: its row of `reference`")
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
    e = floats("rows", unit="rad or m", doc="residuals")
    J = floats("rows", "columns", doc="their Jacobian")
