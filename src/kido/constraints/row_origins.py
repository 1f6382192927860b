"""Where the blocks of a problem come from, the warm start of those that no contact keeps, and how gaps close and
penetration is taken back.

Surfaces within `skin` of touching, on either side of it, come together slowly: a step takes only SKIN_SHARE of
what is missing, asked of the velocity itself. That is solved as well as the impulses are, so that a heavy body
does not sink into a light one, and it is too slow to be seen; taking all of it would turn rounding into new
velocities and make contacts at rest come and go. A gap beyond the skin may close down to it within one step.

Depth beyond SHALLOW_SKINS skins is left to the position correction (`kido.solvers.position`), which takes the share
`erp` of it in a step and whose velocity is forgotten: nothing pops out. The velocity of such a contact is only
kept from going deeper, because that is always possible, and opening a contact need not be: bodies may overlap
so that no motion parts them. For the same reason shallow contacts have a trace of softness.

With Baumgarte's method the velocity itself takes the share `erp` of any penetration back. It stays: what is
pushed out goes on moving (Baumgarte 1972).
"""

from __future__ import annotations

from kido.constraints.surfaces import SURFACES
from kido.jit import Struct, floats, inlined, integer, integers, kernel, number, reference
from kido.kernels.regularized_tree import REGULARIZED
from kido.kernels.responses import RESPONSES
from kido.kernels.touched_bodies import TOUCHED

# Kinds of source.
FROM_CONTACT, FROM_LIMIT, FROM_FRICTION, FROM_SPEED_LIMIT, FROM_SERVO, FROM_MIMIC, FROM_SPIN = range(7)
FROM_CONSTRAINT, FROM_USER = 10, 11  # row of LOOPS, row of USER_ROWS


class ROW_ORIGINS(Struct):
    origin = integers("blocks", doc="FROM_CONTACT ... FROM_MIMIC")
    index = integers("blocks", doc="contact, or coordinate")
    sign = floats("blocks", doc="of a row of a coordinate: its direction along it, +1 or -1")
    body = integers("blocks", doc="of a contact: the one body of a skeleton that it acts on; -1: two, or a free body")
    wrench = floats("blocks", 18, doc="its three rows as wrenches [moment; force] about that body's origin")
    side = floats("blocks", doc="limit: +1 lower, -1 upper, 0 both (the coordinate is fixed)")
    tangent = floats("blocks", 6, doc="contact: its two tangents as its rows have them, world axes")
    share = floats("blocks", 2, doc="contact: their lengths: friction along each beside the larger one")
    material = floats("blocks", 12, doc="contact: velocity and acceleration by modes of each side's material, world")
    correction = floats("blocks", unit="m/s", doc="velocity that takes penetration back, zero or negative")
    limit_impulse = floats("dofs", unit="N s", doc="impulse of the limit in the last step, along the coordinate")
    friction_impulse = floats("dofs", unit="N s", doc="impulse of Coulomb joint friction in the last step")
    actuator_impulse = floats("dofs", unit="N s", doc="impulse of a servo or a mimic's coupling in the last step")
    # Parameters.
    time_step = number("s")
    middle = floats(1, unit="s", doc="from the step's start to where it is evaluated: h/2, or a tree's first impact")
    may_move = integer(doc="1: that may be where a tree first rebounds (kido.simulation.middle)")
    first_meeting = floats(1, unit="s", doc="of what rebounds with a tree, from the step's start; 1e300: never")
    erp = number(doc="share of a penetration that a step removes")
    slop = number("m", doc="penetration that is left alone")
    max_correction = number("m", doc="most that a step removes")
    restitution_speed = number("m/s", doc="slower impacts do not bounce")
    skin = number("m", doc="surfaces and limits this near to touching come together slowly")
    skin_share = number(doc="share of such a distance that a step removes")
    newton_restitution = integer(doc="1: Newton's law of impact, 0: Poisson's")
    baumgarte = integer(doc="1: velocities take penetration back, 0: a position correction does")
    # Impacts at their time: kido.constraints.impact_time.
    steady = integers("dofs", doc="at the first coordinate of a tree: UNSTEADY, STRAIGHT or CENTRE")
    num_impacts = integer(doc="contacts that may bounce in this step, at times of their own")
    impact = integers("blocks", doc="their blocks; the following are in their order")
    impact_kind = integers("blocks", doc="ALONE, WITH_OTHERS or UNTIMED")
    impact_body = integers("blocks", 2, doc="their bodies")
    impact_gap = floats("blocks", unit="m", doc="gap at the step's start")
    impact_speed = floats("blocks", unit="m/s", doc="velocity along the normal there")
    impact_rate = floats("blocks", unit="m/s^2", doc="its rate by forces")
    impact_placed = floats("blocks", unit="s", doc="time of the step at which its bodies were looked at; 1e300: never")
    impact_changed = integers("blocks", doc="1: impacts of others changed them")
    impact_time = floats("blocks", unit="s", doc="of one that is solved with others, from the step's start on")
    impact_sum = floats("blocks", unit="N s", doc="impulses of those alone")
    impact_way = floats("blocks", unit="N s^2", doc="impulses times (middle - t*)")
    # What the last assembly needed.
    blocks_needed = integer()
    rows_needed = integer()
    pool_needed = integer(doc="entries of J")
    responses_needed = integer(doc="entries of responses")
    extras_needed = integer(doc="extra segments of blocks")
    surfaces = reference(SURFACES, doc="contact properties")
    responses = reference(RESPONSES, doc="of bodies and coordinates")
    regularized = reference(REGULARIZED, doc="bodies that blocks of deferred trees act on")
    touched = reference(TOUCHED, doc="the same, where they are few")
    deferring = integer(doc="1: rows of some trees may be deferred in this step")
    row_dof = integers("dofs", doc="those of `joint_dof` that may have rows in this step")
    num_row_dofs = integer(doc="their number")
    num_described = integer(doc="blocks of the last assembly, if rows of some were deferred")
    joint_dof = integers("dofs", doc="coordinates that have limits, friction or actuators with rows, ascending")
    num_joint_dofs = integer(doc="their number")


SHALLOW_SKINS = 10.0  # [skins] depth up to which velocities take penetration back
SHALLOW_SOFTNESS = 1e-7  # of shallow contacts, beside their own compliance
SOFT_SPEED = 1e-7  # [m/s] speed at which that softness yields at most


@inlined
def rest_of_step(src):
    """Time from a step's middle to its end [s]."""
    return src.time_step - src.middle[0]


@inlined
def next_middle(src):
    """Time from a step's middle to the next one's [s]."""
    return rest_of_step(src) + 0.5 * src.time_step


@kernel
def distance_biases(src, gap):
    """Biases of the velocity and of the position correction [m/s] at a gap [m]; negative ones open it."""
    return biases(src, gap, src.slop, src.max_correction)


@kernel
def biases(src, gap, slop, most):
    """`distance_biases` with a slop [m] and a largest correction of a step [m] of their own."""
    h = src.time_step
    skin = src.skin
    if gap > 0.0:
        ahead = next_middle(src)
        return (src.skin_share * min(gap, skin) + max(gap - skin, 0.0)) / ahead, gap / ahead
    depth = max(-gap - slop, 0.0)
    if src.baumgarte != 0:
        return -min(src.erp * depth, most) / h, 0.0
    if depth <= SHALLOW_SKINS * skin:
        return -src.skin_share * min(depth, skin) / h, 0.0
    return 0.0, -min(src.erp * depth, most) / h
