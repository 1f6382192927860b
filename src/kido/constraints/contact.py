"""Contacts as blocks: three rows (normal, two tangents) at a point between two bodies.

Where friction depends on the direction, the first tangent is the first friction direction, and the tangents' rows are
scaled by s_i = mu_i / mu, mu the larger coefficient: with p_i' = p_i / s_i and v_i' = s_i v_i the ellipse
(p_1 / mu_1)^2 + (p_2 / mu_2)^2 <= p_n^2 is the cone |p'| <= mu p_n, and slip against friction in the scaled rows is
maximal dissipation in the true ones (Goyal, Ruina and Papadopoulos 1991; Acary and Brogliato 2008).

Row velocities are those of body b relative to body a; what is asked of them is said in `contact_bias`. A contact of a
skeleton with itself that its joints cannot open, because the bodies overlap around a hinge, is left out: no finite
impulse would part them.

Rolling and torsional friction of a contact is a block of its own, of angular velocities about normal and tangents, of
body b relative to body a, those of the surfaces beside their bodies included. Its bounds, lever arms times the
contact's normal impulse, are the solvers' (`kido.solvers.problem`, SPIN_BLOCK).
"""

from __future__ import annotations

from kido.constraints.contact_bias import set_bias
from kido.constraints.joint import number_prescribed
from kido.constraints.row_origins import FROM_CONTACT, FROM_SPIN
from kido.constraints.surfaces import NO_DIRECTION, first_direction, row_of, surface_motion
from kido.constraints.wrenches import describe_contact, set_wrenches
from kido.jit import kernel
from kido.joints.frames import rotation_of
from kido.kernels.free_lanes import CENTRED, NOT_FREE, free_row
from kido.kernels.responses import ask_response, response_row
from kido.math.so3 import cross, rotate_inverse
from kido.solvers.problem import CONTACT, SPIN_BLOCK
from kido.solvers.rows import coupling

SQUEEZE = 10.0  # [m/s] change of velocity in a step beyond which contacts with prescribed bodies give way
MIN_WAY = 1e-3
MAX_WAY = 0.05
LOCKED_COMPLIANCE = 1e-5  # a contact with less compliance than this share of its bodies' own inverse mass is left out


MAX_FRICTION = 1e8  # a cone as good as a half space; more drowns the normal impulse in rounding


@kernel
def tangents(x, y, z):
    """Two unit vectors that complete the unit normal (x, y, z) to a right-handed frame (Duff et al. 2017)."""
    s = 1.0 if z >= 0.0 else -1.0
    a = -1.0 / (s + z)
    b = x * y * a
    return 1.0 + s * x * x * a, s * b, -s * x, b, s + y * y * a, -y


@kernel
def contact_rows(d, c, pr, src, responses, k, block, body, sign, at, length):
    """Add the three rows of contact k on one body to the pools from `at` on, `length` entries a row."""
    tangent = src.tangent
    rx, ry, rz = c.point[k, 0] - d.p[body, 0], c.point[k, 1] - d.p[body, 1], c.point[k, 2] - d.p[body, 2]
    n0, n1, n2 = sign * c.normal[k, 0], sign * c.normal[k, 1], sign * c.normal[k, 2]
    a0, a1, a2 = tangent[block, 0], tangent[block, 1], tangent[block, 2]
    b0, b1, b2 = tangent[block, 3], tangent[block, 4], tangent[block, 5]
    if responses.free[body] != NOT_FREE:
        centred = responses.free[body] == CENTRED
        R = rotation_of(d, body)
        rx, ry, rz = rotate_inverse(R, rx, ry, rz)
        number, J, Y = responses.number, pr.J, pr.Y
        free_row(number, centred, body, R, rx, ry, rz, n0, n1, n2, J, Y, at)
        free_row(number, centred, body, R, rx, ry, rz, sign * a0, sign * a1, sign * a2, J, Y, at + 6)
        free_row(number, centred, body, R, rx, ry, rz, sign * b0, sign * b1, sign * b2, J, Y, at + 12)
        return
    for r in range(3):
        x, y, z = n0, n1, n2
        if r == 1:
            x, y, z = sign * a0, sign * a1, sign * a2
        if r == 2:
            x, y, z = sign * b0, sign * b1, sign * b2
        m0, m1, m2 = cross(rx, ry, rz, x, y, z)
        response_row(responses, body, length, m0, m1, m2, x, y, z, pr.J, pr.Y, at + r * length)


@kernel
def set_tangents(d, c, s, pr, src, k, block, row):
    """Tangents of a contact block with their lengths, and its friction; `row` is that of its properties, or -1."""
    n0, n1, n2 = c.normal[k, 0], c.normal[k, 1], c.normal[k, 2]
    a0, a1, a2, b0, b1, b2 = tangents(n0, n1, n2)
    mu, one, two = c.friction[k], 1.0, 1.0
    if row >= 0:
        if s.direction_of[row] != NO_DIRECTION:
            x, y, z = first_direction(d, c, s, k, row)
            if x != 0.0 or y != 0.0 or z != 0.0:
                a0, a1, a2 = x, y, z
                b0, b1, b2 = cross(n0, n1, n2, x, y, z)
        first, second = s.friction[row], s.secondary_friction[row]
        mu = max(first, second)
        if mu > 0.0:
            one, two = first / mu, second / mu
    src.tangent[block, 0], src.tangent[block, 1], src.tangent[block, 2] = one * a0, one * a1, one * a2
    src.tangent[block, 3], src.tangent[block, 4], src.tangent[block, 5] = two * b0, two * b1, two * b2
    src.share[block, 0], src.share[block, 1] = one, two
    pr.mu[block] = min(mu, MAX_FRICTION)


@kernel
def segment_length(t, body):
    """Number of coordinates that move with a body; 0 if none does."""
    if body < 0 or t.moves[body] == 0:
        return 0
    tree_index = t.tree_of_body[body]
    return t.tree_dof[tree_index + 1] - t.tree_dof[tree_index]


@kernel
def pool_size(t, a, b):
    """Pool entries that a contact between bodies a and b needs."""
    na, nb = segment_length(t, a), segment_length(t, b)
    if na > 0 and nb > 0 and t.tree_of_body[a] == t.tree_of_body[b]:
        nb = 0
    return 3 * (na + nb)


@kernel
def ask_responses(t, responses, a, b, all_bodies):
    """Have the responses of two bodies made, where they move; of free ones only if `all_bodies`."""
    if segment_length(t, a) > 0 and (all_bodies or responses.free[a] == NOT_FREE):
        ask_response(t, responses, a)
    if segment_length(t, b) > 0 and (all_bodies or responses.free[b] == NOT_FREE):
        ask_response(t, responses, b)


@kernel
def is_driven(t, body):
    """Whether a prescribed coordinate moves a body, or others of its skeleton."""
    if segment_length(t, body) == 0:
        return False
    tree_index = t.tree_of_body[body]
    return number_prescribed(t, t.tree_dof[tree_index], t.tree_dof[tree_index + 1]) > 0


@kernel
def is_locked(t, a, b, compliance):
    """Whether an impulse along a contact's normal within a skeleton moves next to nothing, as at a hinge."""
    return compliance * (t.mass[a] + t.mass[b]) < LOCKED_COMPLIANCE


@kernel
def warm_start(c, pr, src, k, block):
    """Impulse of the matched contact of the last step, in this block's rows."""
    row = pr.row[block]
    f0, f1, f2 = c.impulse[k, 0], c.impulse[k, 1], c.impulse[k, 2]
    t = src.tangent
    one, two = src.share[block, 0], src.share[block, 1]
    pr.impulse[row] = c.normal[k, 0] * f0 + c.normal[k, 1] * f1 + c.normal[k, 2] * f2
    pr.impulse[row + 1] = t[block, 0] * f0 + t[block, 1] * f1 + t[block, 2] * f2
    pr.impulse[row + 2] = t[block, 3] * f0 + t[block, 4] * f1 + t[block, 5] * f2
    if one != 1.0:
        pr.impulse[row + 1] = pr.impulse[row + 1] / (one * one) if one > 0.0 else 0.0
    if two != 1.0:
        pr.impulse[row + 2] = pr.impulse[row + 2] / (two * two) if two > 0.0 else 0.0


@kernel
def segment_velocity(pr, at, dof, length):
    """Share of a segment in a block's first row velocity, without impulses."""
    v = 0.0
    for k in range(length):
        v += pr.J[at + k] * pr.u_free[dof + k]
    return v


@kernel
def is_approaching(t, pr, block, a, b):
    """Whether a body moved by prescription comes towards the other of a contact."""
    return (is_driven(t, a) and segment_velocity(pr, pr.at_a[block], pr.dof_a[block], pr.len_a[block]) < 0.0) or (
        is_driven(t, b) and segment_velocity(pr, pr.at_b[block], pr.dof_b[block], pr.len_b[block]) < 0.0
    )


@kernel
def soften(pr, row, compliance, least):
    """Softness of a contact with what is moved by prescription, as a share of its own compliance.

    A body between a prescribed plate that comes on and a wall can satisfy neither: without softness impulses grow
    without bound, and what a solver then stops at has any velocity. The share is at least MIN_WAY where the
    prescribed body comes on and nothing bounces; and with x the last impulse as a change of velocity over SQUEEZE,
    MAX_WAY x^2 / (1 + x^2): nothing to speak of where a body or a pile rides on a lift.
    """
    x = compliance * pr.impulse[row] / SQUEEZE
    share = max(least, MAX_WAY * x * x / (1.0 + x * x))
    pr.compliance[row] = max(pr.compliance[row], share * compliance)


@kernel
def make_contact_rows(t, d, c, pr, src, responses, k, block):
    """The rows of contact k, which is a block but for them, and their responses, made of those of its bodies."""
    a, b = c.body_a[k], c.body_b[k]
    na, nb = pr.len_a[block], segment_length(t, b)
    at_a, at_b = pr.at_a[block], pr.at_b[block]
    # Rows of free bodies are set, others added up.
    if na > 0 and responses.free[a] == NOT_FREE:
        for q in range(at_a, at_a + 3 * na):
            pr.J[q] = 0.0
            pr.Y[q] = 0.0
    if nb > 0 and responses.free[b] == NOT_FREE:
        for q in range(at_b, at_b + 3 * pr.len_b[block]):
            pr.J[q] = 0.0
            pr.Y[q] = 0.0
    if na > 0:
        contact_rows(d, c, pr, src, responses, k, block, a, -1.0, at_a, na)
    if nb > 0:
        if pr.len_b[block] == 0:  # both bodies are of one tree
            contact_rows(d, c, pr, src, responses, k, block, b, 1.0, at_a, na)
        else:
            contact_rows(d, c, pr, src, responses, k, block, b, 1.0, at_b, nb)
    if responses.deform.address != 0:
        responses.deform(responses.others_of, k, block)


@kernel
def add_contact(t, d, c, pr, src, s, responses, k, block, row, pool):
    """Make contact k the given block, its rows from `row` and its pool entries from `pool` on.

    Returns:
        Pool entries used; 0 if the contact takes no part in this step.
    """
    a, b = c.body_a[k], c.body_b[k]
    na, nb = segment_length(t, a), segment_length(t, b)
    same = na > 0 and nb > 0 and t.tree_of_body[a] == t.tree_of_body[b]
    length_b = 0 if same else nb
    size = 3 * (na + length_b)
    if size == 0:
        return 0
    pr.kind[block] = CONTACT
    pr.row[block] = row
    pr.more_count[block] = 0
    properties = row_of(c, s, k)
    set_tangents(d, c, s, pr, src, k, block, properties)
    pr.len_a[block], pr.len_b[block] = na, length_b
    pr.at_a[block], pr.at_b[block] = pool, pool + 3 * na
    pr.dof_a[block] = t.tree_dof[t.tree_of_body[a]] if na > 0 else 0
    pr.dof_b[block] = t.tree_dof[t.tree_of_body[b]] if length_b > 0 else 0
    body, sign = (a, -1.0) if na > 0 else (b, 1.0)
    src.body[block] = -1
    if (na == 0 or nb == 0) and responses.free[body] == NOT_FREE:
        src.body[block] = body
        set_wrenches(d, c, src, k, block, body, sign)
    driven = False
    if responses.deferred[t.tree_of_body[body]] != 0:
        compliance = describe_contact(pr, src, block)
    else:
        make_contact_rows(t, d, c, pr, src, responses, k, block)
        compliance = pr.W[block, 0] = coupling(pr, block, 0, 0)
        free_a, free_b = na > 0 and responses.free[a] != NOT_FREE, nb > 0 and responses.free[b] != NOT_FREE
        driven = (not free_a and is_driven(t, a)) or (not free_b and is_driven(t, b))
    if compliance <= 0.0 and driven:  # prescribed motion yields to no impulse
        return 0
    if same and is_locked(t, a, b, compliance):
        return 0
    for r in range(3):
        pr.compliance[row + r] = 0.0
    pr.floor[block] = 0.0
    src.origin[block] = FROM_CONTACT
    src.index[block] = k
    if not set_bias(t, d, c, pr, src, s, k, block, properties, compliance, a, b):
        return 0
    warm_start(c, pr, src, k, block)
    if driven:
        exact = pr.restitution[block] > 0.0 or not is_approaching(t, pr, block, a, b)
        soften(pr, row, compliance, 0.0 if exact else MIN_WAY)
    return size


@kernel
def spin_rows(c, pr, responses, k, body, sign, at, length):
    """Add the three rows of angular velocity of contact k on one body: about the normal and two tangents."""
    n0, n1, n2 = c.normal[k, 0], c.normal[k, 1], c.normal[k, 2]
    a0, a1, a2, b0, b1, b2 = tangents(n0, n1, n2)
    for r in range(3):
        x, y, z = n0, n1, n2
        if r == 1:
            x, y, z = a0, a1, a2
        if r == 2:
            x, y, z = b0, b1, b2
        x, y, z = sign * x, sign * y, sign * z
        response_row(responses, body, length, x, y, z, 0.0, 0.0, 0.0, pr.J, pr.Y, at + r * length)


@kernel
def add_spin(t, d, c, pr, src, s, responses, contact, block, row, pool):
    """Rolling and torsional friction of the contact in block `contact` as the next block. Returns pool entries."""
    k = src.index[contact]
    properties = row_of(c, s, k)
    a, b = c.body_a[k], c.body_b[k]
    na, nb = pr.len_a[contact], pr.len_b[contact]
    size = 3 * (na + nb)
    for q in range(pool, pool + size):
        pr.J[q] = 0.0
        pr.Y[q] = 0.0
    pr.kind[block], pr.row[block], pr.partner[block] = SPIN_BLOCK, row, contact
    pr.mu[block], pr.torsion[block] = s.rolling[properties], s.torsion[properties]
    pr.lower[block], pr.upper[block], pr.floor[block], pr.restitution[block] = 0.0, 0.0, 0.0, 0.0
    pr.position_bias[block], pr.more_count[block] = 0.0, 0
    pr.dof_a[block], pr.len_a[block], pr.at_a[block] = pr.dof_a[contact], na, pool
    pr.dof_b[block], pr.len_b[block], pr.at_b[block] = pr.dof_b[contact], nb, pool + 3 * na
    if na > 0:
        spin_rows(c, pr, responses, k, a, -1.0, pool, na)
    if segment_length(t, b) > 0:
        if nb > 0:
            spin_rows(c, pr, responses, k, b, 1.0, pool + 3 * na, nb)
        else:
            spin_rows(c, pr, responses, k, b, 1.0, pool, na)
    src.origin[block], src.index[block], src.correction[block] = FROM_SPIN, k, 0.0
    n0, n1, n2 = c.normal[k, 0], c.normal[k, 1], c.normal[k, 2]
    a0, a1, a2, b0, b1, b2 = tangents(n0, n1, n2)
    x, y, z = c.torque[k, 0], c.torque[k, 1], c.torque[k, 2]
    pr.impulse[row] = n0 * x + n1 * y + n2 * z
    pr.impulse[row + 1] = a0 * x + a1 * y + a2 * z
    pr.impulse[row + 2] = b0 * x + b1 * y + b2 * z
    _, _, _, x, y, z = surface_motion(d, c, s, k, properties)
    pr.bias[row] = n0 * x + n1 * y + n2 * z
    pr.bias[row + 1] = a0 * x + a1 * y + a2 * z
    pr.bias[row + 2] = b0 * x + b1 * y + b2 * z
    for r in range(3):
        pr.compliance[row + r] = 0.0
    return size
