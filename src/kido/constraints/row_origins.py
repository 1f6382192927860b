"""Where the blocks of a problem come from, and the warm start of those that no contact keeps."""

from __future__ import annotations

from kido.jit import Field, Schema

# Kinds of source.
FROM_CONTACT, FROM_LIMIT, FROM_FRICTION, FROM_SPEED_LIMIT, FROM_SERVO, FROM_MIMIC, FROM_SPIN = range(7)
FROM_CONSTRAINT, FROM_USER = 10, 11  # row of LOOPS, row of USER_ROWS

# Entries of `parameter`.
TIME_STEP, ERP, SLOP, MAX_CORRECTION, RESTITUTION_SPEED, SKIN, SKIN_SHARE, NEWTON, BAUMGARTE = range(9)

# Entries of `used`.
BLOCKS_NEEDED, ROWS_NEEDED, POOL_NEEDED, RESPONSES_NEEDED, EXTRAS_NEEDED = range(5)

ROW_ORIGINS = Schema(
    "ROW_ORIGINS",
    Field("origin", "i", ("blocks",), doc="FROM_CONTACT ... FROM_MIMIC"),
    Field("index", "i", ("blocks",), doc="contact, or coordinate"),
    Field("side", "f", ("blocks",), doc="limit: +1 lower, -1 upper, 0 both (the coordinate is fixed)"),
    Field("tangent", "f", ("blocks", 6), doc="contact: its two tangents as its rows have them, world axes"),
    Field("share", "f", ("blocks", 2), doc="contact: their lengths: friction along each beside the larger one"),
    Field("correction", "f", ("blocks",), "m/s", "velocity that takes penetration back, zero or negative"),
    Field("limit_impulse", "f", ("dofs",), "N s", "impulse of the limit in the last step, along the coordinate"),
    Field("friction_impulse", "f", ("dofs",), "N s", "impulse of Coulomb joint friction in the last step"),
    Field("actuator_impulse", "f", ("dofs",), "N s", "impulse of a servo or a mimic's coupling in the last step"),
    Field("parameter", "f", (16,), doc="see TIME_STEP ... BAUMGARTE; the last two are 0 or 1"),
    Field("used", "i", (8,), doc="blocks, rows, pool entries, ... that the last assembly needed"),
    Field("surfaces", "i", (1,), doc="address of the contact properties (kido.constraints.surfaces)"),
    Field("joint_dof", "i", ("dofs",), doc="coordinates that have limits, friction or actuators with rows, ascending"),
    Field("jointed", "i", (1,), doc="their number"),
    Field("responses", "i", (1,), doc="address of the bodies' responses (kido.kernels.responses)"),
)
