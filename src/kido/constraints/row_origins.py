"""Where the blocks of a problem come from, and the warm start of those that no contact keeps."""

from __future__ import annotations

from kido.constraints.surfaces import SURFACES
from kido.jit import Struct, floats, integer, integers, number, reference
from kido.kernels.responses import RESPONSES

# Kinds of source.
FROM_CONTACT, FROM_LIMIT, FROM_FRICTION, FROM_SPEED_LIMIT, FROM_SERVO, FROM_MIMIC, FROM_SPIN = range(7)
FROM_CONSTRAINT, FROM_USER = 10, 11  # row of LOOPS, row of USER_ROWS


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
    # Parameters.
    time_step = number("s")
    erp = number(doc="share of a penetration that a step removes")
    slop = number("m", doc="penetration that is left alone")
    max_correction = number("m", doc="most that a step removes")
    restitution_speed = number("m/s", doc="slower impacts do not bounce")
    skin = number("m", doc="surfaces and limits this near to touching come together slowly")
    skin_share = number(doc="share of such a distance that a step removes")
    newton_restitution = integer(doc="1: Newton's law of impact, 0: Poisson's")
    baumgarte = integer(doc="1: velocities take penetration back, 0: a position correction does")
    # What the last assembly needed.
    blocks_needed = integer()
    rows_needed = integer()
    pool_needed = integer(doc="entries of J")
    responses_needed = integer(doc="entries of responses")
    extras_needed = integer(doc="extra segments of blocks")
    surfaces = reference(SURFACES, doc="contact properties")
    responses = reference(RESPONSES, doc="of bodies and coordinates")
    joint_dof = integers("dofs", doc="coordinates that have limits, friction or actuators with rows, ascending")
    num_joint_dofs = integer(doc="their number")
