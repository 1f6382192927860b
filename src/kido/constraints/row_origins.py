"""Where the blocks of a problem come from, and the warm start of those that no contact keeps."""

from __future__ import annotations

from kido.jit import Struct, floats, integers

# Kinds of source.
FROM_CONTACT, FROM_LIMIT, FROM_FRICTION, FROM_SPEED_LIMIT, FROM_SERVO, FROM_MIMIC, FROM_SPIN = range(7)
FROM_CONSTRAINT, FROM_USER = 10, 11  # row of LOOPS, row of USER_ROWS

# Entries of `parameter`.
TIME_STEP, ERP, SLOP, MAX_CORRECTION, RESTITUTION_SPEED, SKIN, SKIN_SHARE, NEWTON, BAUMGARTE = range(9)

# Entries of `used`.
BLOCKS_NEEDED, ROWS_NEEDED, POOL_NEEDED, RESPONSES_NEEDED, EXTRAS_NEEDED = range(5)


class ROW_ORIGINS(Struct):
    origin = integers("blocks", doc="FROM_CONTACT ... FROM_MIMIC")
    index = integers("blocks", doc="contact, or coordinate")
    side = floats("blocks", doc="limit: +1 lower, -1 upper, 0 both (the coordinate is fixed)")
    tangent = floats("blocks", 6, doc="contact: its two tangents as its rows have them, world axes")
    share = floats("blocks", 2, doc="contact: their lengths: friction along each beside the larger one")
    correction = floats("blocks", unit="m/s", doc="velocity that takes penetration back, zero or negative")
    limit_impulse = floats("dofs", unit="N s", doc="impulse of the limit in the last step, along the coordinate")
    friction_impulse = floats("dofs", unit="N s", doc="impulse of Coulomb joint friction in the last step")
    actuator_impulse = floats("dofs", unit="N s", doc="impulse of a servo or a mimic's coupling in the last step")
    parameter = floats(16, doc="see TIME_STEP ... BAUMGARTE; the last two are 0 or 1")
    used = integers(8, doc="blocks, rows, pool entries, ... that the last assembly needed")
    surfaces = integers(1, doc="address of the contact properties (kido.constraints.surfaces)")
    joint_dof = integers("dofs", doc="coordinates that have limits, friction or actuators with rows, ascending")
    jointed = integers(1, doc="their number")
    responses = integers(1, doc="address of the bodies' responses (kido.kernels.responses)")
