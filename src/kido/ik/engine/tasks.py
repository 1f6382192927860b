"""Tables of what inverse kinematics wants of one skeleton, as kernels read them.

A task has rows: residuals that are to become zero. A task about a frame has six, [angular; linear], those of
components that nobody asks for stay zero; a posture has one for each active coordinate, balance one for each point of
the support. Columns of Jacobians are the
active coordinates, in any order; they say how residuals change with velocities: de = J u dt.

Two frames make a task: B, fixed to a link of the skeleton, and the target frame T, fixed to another link, or to the
world (`base` -1). Poses are in the axes of the link: the upper three rows of a 4x4 matrix.
"""

from __future__ import annotations

from kido.jit import Field, Schema

# Kinds of tasks. Position, orientation, plane and relative pose are poses with other bounds or another base.
# Balance is left to `kido.ik.differential.support`.
POSE, LOOK_AT, COM, POSTURE, BALANCE = range(5)
# What the angular part of a pose measures: nothing, a rotation vector, or intrinsic XYZ Euler angles.
NO_ANGLE, ROTATION_VECTOR, EULER_XYZ = range(3)
FRAME_ROWS = 6

TASKS = Schema(
    "TASKS",
    Field("kind", "i", ("tasks",), doc="POSE, LOOK_AT, COM, POSTURE or BALANCE"),
    Field("enabled", "i", ("tasks",), doc="0: residuals and their Jacobian are zero"),
    Field("link", "i", ("tasks",), doc="link that carries frame B; of a posture: its row of `reference`"),
    Field("pose", "f", ("tasks", 12), doc="B in its link"),
    Field("base", "i", ("tasks",), doc="link that carries the target frame T; -1: the world"),
    Field("target", "f", ("tasks", 12), doc="T in that link"),
    Field("axis", "f", ("tasks", 3), doc="of a look-at: unit vector in B that is to point to the origin of T"),
    Field("angle", "i", ("tasks",), doc="NO_ANGLE, ROTATION_VECTOR or EULER_XYZ"),
    Field("to_middle", "i", ("tasks",), doc="1: beyond a bound the middle of the region is aimed at, 0: the bound"),
    Field("priority", "i", ("tasks",), doc="place in a hierarchy, 0 first"),
    Field("gain", "f", ("tasks",), "1/s", "rate at which residuals are to decay, for velocities"),
    Field("first_row", "i", ("tasks1",), doc="first row of each task; the last entry is the total"),
    Field("lower", "f", ("rows",), "rad or m", "residuals between lower and upper are zero; -inf: no bound"),
    Field("upper", "f", ("rows",), "rad or m", "inf: no bound"),
    Field("weight", "f", ("rows",), doc="factor of the residual in a sum of squares (residuals and J are without it)"),
    Field("tolerance", "f", ("rows",), "rad or m", "residual up to which a row counts as satisfied"),
    Field("reference", "f", ("postures", "dofs"), "rad or m", "positions that postures aim at"),
    Field("active", "i", ("columns",), doc="coordinate of each column"),
    Field("column", "i", ("dofs",), doc="column that each coordinate moves with; -1: it stays"),
    Field("ratio", "f", ("dofs",), doc="its rate per rate of that column: 1, or a mimic's multiplier"),
    Field("mimic", "i", ("mimics", 2), doc="coordinates that mimic active ones, and these"),
    Field("offset", "f", ("mimics",), "rad or m", "their positions where what they follow is at zero"),
    Field("chart", "i", ("bodies",), doc="1: columns of the body's joint are rates of its positions, not velocities"),
    Field("needed", "i", ("paths",), doc="links whose poses tasks depend on, parents first"),
    Field("e", "f", ("rows",), "rad or m", "residuals"),
    Field("J", "f", ("rows", "columns"), doc="their Jacobian"),
)
