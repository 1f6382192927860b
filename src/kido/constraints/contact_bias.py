"""What a contact asks of its velocity: how its gap closes, its rebound, springs and dampers, slip, moving surfaces.

A contact with a gap g > 0 asks for v_n >= -g / h, so that the surfaces just meet, but for a thin skin; one that
penetrates is moved out (`kido.constraints.row_origins`). A contact that will bounce has no gap term: it is left out
until its surfaces meet within half a step, and then rebounds by Poisson's law, with a coefficient that makes up for
the time and place of impact (`rebound`). One that can bounce, and would not be met without impulses, is left out too:
what another impact sends there arrives with its speed, and rebounds in a step of its own.
"""

from __future__ import annotations

import math

from kido.constraints.applied_forces import applied_forces
from kido.constraints.impact_time import leave_out, may_be_timed, note_impact, note_meeting
from kido.constraints.row_origins import SHALLOW_SOFTNESS, SOFT_SPEED, biases, next_middle, rest_of_step
from kido.constraints.springs import resolved_share, set_spring_row
from kido.constraints.surfaces import ERP_CFM, SPRING_DAMPER, SPRING_DAMPER_AT_END, TIME_CONSTANT, surface_motion
from kido.constraints.wrenches import wrench_of
from kido.jit import kernel
from kido.kernels.chain_impulses import path_velocity
from kido.kernels.free_body import complete_free_body
from kido.kernels.free_lanes import NOT_FREE
from kido.solvers.rows import first_velocity

SOFT_BIAS = 1e6  # [m/s] position correction leaves soft contacts alone
# [m/s] Change of velocity that the impulse of a contact can make alone, beyond which it opens less. The impulses of
# bodies jammed into each other grow without end, those of heavy bodies on light ones do not: under a body of a million
# times the mass they are 1e4 m/s in a step of 1 ms, and opened less the pile stays deeper.
JAMMED = 2e4


@kernel
def set_slip_and_motion(d, c, pr, src, s, k, row, block, properties):
    """Slip compliance, and the motion of the surfaces beside their bodies', of a contact's tangents."""
    h = src.time_step
    one, two = src.share[block, 0], src.share[block, 1]
    pr.compliance[row + 1] = one * one * s.slip[properties] / h
    pr.compliance[row + 2] = two * two * s.secondary_slip[properties] / h
    if s.moves[properties] != 0:
        x, y, z, _, _, _ = surface_motion(d, c, s, k, properties)
        t = src.tangent
        pr.bias[row + 1] = t[block, 0] * x + t[block, 1] * y + t[block, 2] * z
        pr.bias[row + 2] = t[block, 3] * x + t[block, 4] * y + t[block, 5] * z


@kernel
def set_spring(c, pr, src, s, k, block, properties, compliance, before):
    """Bias and softness of a contact with a spring and a damper (`kido.SpringDamper`), as `springs` has them.

    Args:
        compliance: W_nn [1/kg].
        before: v_0, normal velocity at the start of the step [m/s].

    Returns:
        False if the contact is to be left out: it does not touch yet.
    """
    h = src.time_step
    row, gap = pr.row[block], c.gap[k]
    one, two = s.softness[properties, 0], s.softness[properties, 1]
    stiffness, damping = one, two
    if s.softness_kind[properties] == TIME_CONSTANT:
        stiffness = 1.0 / (compliance * one * one * two * two)
        damping = 2.0 / (compliance * one)
    resolved = 0.0
    if s.softness_kind[properties] != SPRING_DAMPER_AT_END:
        resolved = resolved_share(stiffness, damping, compliance, h)
    pr.position_bias[block] = SOFT_BIAS
    if gap > 0.0 and resolved > 0.0:
        return False
    set_spring_row(pr, row, stiffness, damping, gap, before, resolved, h)
    if gap > 0.0:
        pr.bias[row] = gap / h
    return True


@kernel
def rebound(e, gap, approach, rate, rest):
    """Coefficient of restitution that gives a step's rebound the energy of an exact impact.

    In a step, the speed of approach is that of the step's end, where the gap would be g_- = g - r |v|, with r the rest
    of the step after its middle; it leaves with e' |v| from g_+ = g + r e' |v|. The impact itself is at gap 0, so that
    under an approach accelerated by a the energy per mass afterwards should be
    e^2 (v^2 / 2 + a g_-) = (e' v)^2 / 2 + a g_+.

    Args:
        e: coefficient of restitution.
        gap: g at mid-step [m].
        approach: v, negative [m/s].
        rate: a, the acceleration of approach by forces, see `approach_rate` [m/s^2].
        rest: r, half a time step [s].

    Returns:
        e' with e in g_+, between 0 and e.
    """
    way = -rest * approach
    square = e * e + 2.0 * rate * (e * e * (gap - way) - gap - e * way) / (approach * approach)
    return min(math.sqrt(square), e) if square > 0.0 else 0.0


@kernel
def segment_rate(t, d, pr, src, body, at, dof, length):
    """Share of a segment in the normal acceleration that standing forces give; uses d.e and d.B."""
    a = 0.0
    if length > 0:
        tree_index = t.tree_of_body[body]
        if src.responses.free[body] != NOT_FREE:
            complete_free_body(t, d, body)
        applied_forces(t, d, t.tree_body[tree_index], t.tree_body[tree_index + 1])
        for k in range(length):
            a += pr.Y[at + k] * d.e[dof + k]
    return a


@kernel
def row_rate(t, d, pr, src, block, row, a, b):
    """Rate of row 0, 1 or 2 of a contact block of bodies a and b by standing forces, J M^-1 f [m/s^2]."""
    one, two = pr.len_a[block], pr.len_b[block]
    return segment_rate(t, d, pr, src, a, pr.at_a[block] + row * one, pr.dof_a[block], one) + segment_rate(
        t, d, pr, src, b, pr.at_b[block] + row * two, pr.dof_b[block], two
    )


@kernel
def approach_rate(t, d, pr, src, block, a, b):
    """Acceleration of approach of a contact block by the forces that do work in a step: -J M^-1 f [m/s^2].

    The impulse p moves the end of the step by (h/2) M^-1 J^T p, over which the forces f do the work -(h/2) p a.
    Velocity products are not among them: they do none, and a rebound that made up for them would gain energy.
    """
    return -row_rate(t, d, pr, src, block, 0, a, b)


@kernel
def rebound_of_sweep(e, gap, approach, rate, rest):
    """`rebound` for a swept contact that was passed before now: its gap g < 0 is made up for by the position
    correction, so that the body leaves from g_+ = e' (|g| + r |v|), as the exact impact would have it."""
    way = -rest * approach
    square = e * e + 2.0 * rate * (e * e * (gap - way) - e * (way - gap)) / (approach * approach)
    return min(math.sqrt(square), e) if square > 0.0 else 0.0


@kernel
def rebound_here(t, d, pr, src, block, e, approach, rate, a, b):
    """Rebound at a middle that was moved to the impact: velocities are those there, which forces of the rest change."""
    row, rest = pr.row[block], rest_of_step(src)
    pr.bias[row] = rest * rate
    pr.bias[row + 1] -= rest * row_rate(t, d, pr, src, block, 1, a, b)
    pr.bias[row + 2] -= rest * row_rate(t, d, pr, src, block, 2, a, b)
    if src.newton_restitution != 0:
        pr.bias[row] += e * (approach + rest * rate)
    else:
        pr.restitution[block] = e


@kernel
def push_out(c, pr, block, gap, e, h):
    """Has the position correction undo at once how far a swept contact was passed, and add its rebound."""
    push = -(1.0 + e) * gap
    pr.position_bias[block] = -push / h
    c.sweep_push = max(c.sweep_push, push)


@kernel
def normal_velocity(t, d, pr, src, block, u):
    """Velocity of a contact's first row for velocities u of coordinates, whether its rows are made or not."""
    if pr.deferred[block] == 0:
        return first_velocity(pr, block, u)
    body = src.body[block]
    return path_velocity(t, d, body, t.tree_body[t.tree_of_body[body]], wrench_of(src.wrench, block, 0), u)


@kernel
def usual_bias(t, d, c, pr, src, s, k, block, properties, compliance, a, b):
    """Bias, restitution, softness and position correction of a contact block; `properties`: their row, or -1.

    With Newton's law a contact that bounces is to leave with e' times its speed of approach, whatever else happens.

    Returns:
        False if the contact is to be left out: it may bounce, but not yet.
    """
    h = src.time_step
    gap = c.gap[k]
    row = pr.row[block]
    pr.bias[row], pr.bias[row + 1], pr.bias[row + 2] = 0.0, 0.0, 0.0
    pr.position_bias[block] = 0.0
    pr.restitution[block] = 0.0
    src.correction[block] = 0.0
    slop, most = src.slop, src.max_correction
    if properties >= 0:
        set_slip_and_motion(d, c, pr, src, s, k, row, block, properties)
        kind = s.softness_kind[properties]
        if kind == SPRING_DAMPER or kind == TIME_CONSTANT or kind == SPRING_DAMPER_AT_END:
            before = normal_velocity(t, d, pr, src, block, d.u)
            return set_spring(c, pr, src, s, k, block, properties, compliance, before)
        if s.slop[properties] >= 0.0:
            slop = s.slop[properties]
        most = min(most, h * s.max_speed[properties])
    if c.restitution[k] > 0.0:
        approach = first_velocity(pr, block, pr.u_free)
        if approach < -src.restitution_speed:
            rest = rest_of_step(src)
            if gap + rest * approach > 0.0:
                return False
            rate = approach_rate(t, d, pr, src, block, a, b)
            if src.middle[0] != 0.5 * h and c.swept[k] == 0:
                rebound_here(t, d, pr, src, block, c.restitution[k], approach, rate, a, b)
                return True
            if c.swept[k] != 0 and gap < 0.0:
                e = rebound_of_sweep(c.restitution[k], gap, approach, rate, rest)
                push_out(c, pr, block, gap, e, h)
            else:
                e = rebound(c.restitution[k], gap, approach, rate, rest)
            if src.newton_restitution != 0:
                pr.bias[row] = e * approach
            else:
                pr.restitution[block] = e
            return True
        if gap > src.skin and gap + next_middle(src) * approach > 0.0:
            return False
    if c.swept[k] != 0 and gap < 0.0:
        push_out(c, pr, block, gap, 0.0, h)
        return True
    if properties >= 0:
        if s.softness_kind[properties] == ERP_CFM:
            erp, cfm = s.softness[properties, 0], s.softness[properties, 1]
            pr.bias[row] = gap / h if gap > 0.0 else -min(erp * max(-gap - slop, 0.0), most) / h
            pr.compliance[row] = cfm / h
            pr.position_bias[block] = SOFT_BIAS
            return True
    pr.bias[row], pr.position_bias[block] = biases(src, gap, slop, most)
    if pr.bias[row] < 0.0:
        pushed = math.fabs(
            c.impulse[k, 0] * c.normal[k, 0] + c.impulse[k, 1] * c.normal[k, 1] + c.impulse[k, 2] * c.normal[k, 2]
        )
        # What is enclosed by another body, or by several, cannot be opened on all sides, and impulses would grow
        # from step to step.
        if src.baumgarte == 0 and pushed * compliance > JAMMED:
            pr.bias[row] *= (JAMMED / (pushed * compliance)) ** 2
        src.correction[block] = pr.bias[row]
        # A heavy body would sink as fast as the trace of softness of a light one under it lets it.
        pr.compliance[row] = min(SHALLOW_SOFTNESS * compliance, SOFT_SPEED / (pushed + 1e-300))
    return True


@kernel
def set_bias(t, d, c, pr, src, s, k, block, properties, compliance, a, b):
    """`usual_bias`, and a note of what may bounce at a time of its own (`kido.constraints.impact_time`)."""
    used = usual_bias(t, d, c, pr, src, s, k, block, properties, compliance, a, b)
    if c.restitution[k] > 0.0 and pr.position_bias[block] != SOFT_BIAS:
        if may_be_timed(c, pr, src, k, block):
            note_impact(c, pr, src, k, block, a, b, approach_rate(t, d, pr, src, block, a, b))
            if not used:
                leave_out(pr, block)
            return True
        if src.may_move != 0 and c.swept[k] == 0 and pr.more_count[block] == 0:
            note_meeting(d, c, pr, src, k, block)
    return used
