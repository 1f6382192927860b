"""What contacts are to see of the motion in the second half of a step.

Impulses act at mid-step M, with rows J of what touches there, and u_new is the velocity at the end. What a contact asks
of its velocity holds

* at mid-step where something bounces, or comes to touch: there impulses act, and elastic ones keep the energy;
* at the end where surfaces stay together, since there the next step begins: J(q_new) u_new = 0 at both ends of all
  steps makes positions and energies right to second order in h, J(q_M) u_new = 0 to first;
* along the surfaces, where they slide before and after, as the mean of both ends, J(q_M) (u + u_new) / 2: friction is
  against how they slide in the middle, and takes the energy of the way there.

Velocities differ by h/2 times their rate, which becomes a bias of the rows. With A(x) the acceleration of the material
of a body that is at the contact x, forces apart, v its velocity, n the normal, dx and dn how far the same contact moved
and turned since the last step, the velocity of body b relative to body a changes at the rate

    A_b - A_a + w_b x (dx / h - v_b) - w_a x (dx / h - v_a),    along n also    (dn / h) . (v_b - v_a)

Points of two bodies that keep to each other have one velocity along their surfaces, whereas accelerations of turning
bodies differ from point to point. So along the surfaces all contacts of two bodies have the mean: else they could not
all stick, and impulses among them would grow to their cones' edges.

What depends on dx and dn is the surfaces' curvature: the contact of a rolling body moves over it. They are of the step
before, and say nothing where velocities jumped since, which is seen by what the others make along n.

The velocities `u_free` of single free bodies are those at mid-step (`kido.kernels.free_lanes`), those of other trees
have the velocity products of the whole step (`kido.simulation.predict`), of which half are not for mid-step.
"""

from __future__ import annotations

from kido.constraints.row_origins import FROM_CONTACT, rest_of_step
from kido.jit import inlined, kernel
from kido.joints.frames import rotation_of
from kido.kernels.articulated import parent_motion
from kido.kernels.free_lanes import (
    NOT_FREE,
    centre_of_mass,
    excess_turn,
    inertia_about_centre,
    inverse_about_centre,
    spin_up,
)
from kido.kernels.kinematics import velocities
from kido.math.so3 import cross, rotate
from kido.simulation.balance import SLOW
from kido.simulation.predict import evaluate, joint_loads
from kido.solvers.rows import coupling, segment, velocity1

GIVEN = 2  # `moved_of` of a tree whose V and A are not from here
JUMP = 0.1  # share of a shape's size by which a contact may move over its material in a step, if it is the same one
DEEP = 0.01  # the same of penetration, beyond which a contact is no place where surfaces roll on each other
JAMMED = 100.0  # [m/s] change of velocity by a contact's impulse alone, above which others push against it
STEADY = 0.2  # share by which what turning makes may change in a step; more is an impact, or another velocity was set
SLIDING = 8.0  # how much faster a contact slides than its friction alone slows it in a step, if it is to go on sliding
SMALL = 1e-5  # [m/s] or this much of velocity
UNKNOWN = 1e300  # [m/s^2] `turning` of a contact in a step whose middle was moved


@kernel
def is_still(t, w, tree_index, h):
    """Whether a tree moves by next to nothing within a step."""
    most = 0.0
    for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
        most = max(most, abs(w.start_u[k]))
    return not h * most > SLOW


@kernel
def velocity_products(t, d, w, pr, tree_index, h):
    """Accelerations by velocity products alone of a tree at its predicted velocities, in `products`."""
    first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
    begin, end = t.tree_dof[tree_index], t.tree_dof[tree_index + 1]
    joint_loads(t, d, w, first, last)
    for k in range(begin, end):
        d.u[k] = 0.0
        d.udot[k] = (pr.u_free[k] - w.start_u[k]) / h  # of prescribed coordinates
    evaluate(t, d, first, last)
    middle = w.row_origins.middle[0]
    for k in range(begin, end):
        whole = (pr.u_free[k] - w.start_u[k]) / h
        if middle != 0.5 * h:
            whole = (pr.u_free[k] - w.middle_u[k]) / (h - middle)
        w.products[k] = whole - d.udot[k]
        d.u[k] = w.start_u[k]
        d.tau[k] = w.command[k]


@kernel
def to_middle(t, d, w, pr, b, h):
    """Take what u_free of trees has of the step after its middle off the rows of block b, which bounces."""
    rest = rest_of_step(w.row_origins)
    r = w.row_origins.responses
    for side in range(2):
        dof, length, at = segment(pr, b, side)
        if length == 0:
            continue
        body = t.body_of_dof[dof]
        tree_index = t.tree_of_body[body]
        if r.free[body] != NOT_FREE or r.apart[tree_index] != 0 or is_still(t, w, tree_index, h):
            continue
        if w.loops.address != 0 and w.loops.tree_group[tree_index] >= 0:
            continue
        if w.products_of[dof] == 0:
            velocity_products(t, d, w, pr, tree_index, h)
            w.products_of[dof] = 1
        row = pr.row[b]
        first = velocity1(pr.J, at, length, w.products, dof)
        if pr.restitution[b] == 0.0:  # Newton's law: a share of the approach is in the bias
            first *= 1.0 + pr.bias[row] / velocity1(pr.J, at, length, pr.u_free, dof)
        pr.bias[row] -= rest * first
        pr.bias[row + 1] -= rest * velocity1(pr.J, at + length, length, w.products, dof)
        pr.bias[row + 2] -= rest * velocity1(pr.J, at + 2 * length, length, w.products, dof)


@inlined
def cross3(a, b):
    return cross(a[0], a[1], a[2], b[0], b[1], b[2])


@inlined
def point_acceleration(w, a, origin, r):
    """Acceleration of a body's point at r from its origin."""
    y, z = cross3(w, cross3(w, r)), cross3(a, r)
    return origin[0] + y[0] + z[0], origin[1] + y[1] + z[1], origin[2] + y[2] + z[2]


@kernel
def free_motion(d, w, body, k, h):
    """w, v of the origin, wdot and the origin's acceleration of a free body at mid-step, forces apart; world axes."""
    number, u = w.row_origins.responses.number, w.start_u
    R = rotation_of(d, body)
    spin = u[k], u[k + 1], u[k + 2]
    a = 0.0, 0.0, 0.0
    if not excess_turn(spin, h) > 0.0:
        a = spin_up(inertia_about_centre(number, body), inverse_about_centre(number, body), spin)
        a = rotate(R, a[0], a[1], a[2])
    c = centre_of_mass(number, body)
    c = rotate(R, c[0], c[1], c[2])
    s = rotate(R, spin[0], spin[1], spin[2])
    x, y, z = point_acceleration(s, a, (0.0, 0.0, 0.0), c)  # of the centre of mass relative to the origin
    return s, (u[k + 3], u[k + 4], u[k + 5]), a, (-x, -y, -z)


@kernel
def unforced_accelerations(t, d, A, first, last):
    """Accelerations of bodies first..last-1 whose coordinates have none, by their velocities."""
    for i in range(first, last):
        b0, b1, b2, b3, b4, b5 = d.a[i, 0], d.a[i, 1], d.a[i, 2], d.a[i, 3], d.a[i, 4], d.a[i, 5]
        if t.parent[i] >= 0:
            c0, c1, c2, c3, c4, c5 = parent_motion(d, A, i, t.parent[i])
            b0, b1, b2, b3, b4, b5 = b0 + c0, b1 + c1, b2 + c2, b3 + c3, b4 + c4, b5 + c5
        A[i, 0], A[i, 1], A[i, 2], A[i, 3], A[i, 4], A[i, 5] = b0, b1, b2, b3, b4, b5


@kernel
def tree_motion(t, d, w, tree_index):
    """V and A, coordinates without acceleration, of the bodies of a tree at its velocities of the step's start."""
    first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
    velocities(t, d, first, last)
    unforced_accelerations(t, d, d.A, first, last)


@inlined
def at_rest():
    """`body_motion` of a body that does not move."""
    zero = 0.0, 0.0, 0.0
    return zero, zero, zero, zero, False


@kernel
def body_motion(t, d, w, body, h):
    """Angular velocity, velocity of the origin and their rates of a body, forces apart; and whether it moves."""
    if body < 0 or t.moves[body] == 0:
        return at_rest()
    tree_index = t.tree_of_body[body]
    if t.tree_mobile[tree_index] == 0:
        return at_rest()
    k = t.tree_dof[tree_index]
    if w.row_origins.responses.free[body] != NOT_FREE:
        s, v, a, origin = free_motion(d, w, body, k, h)
        return s, v, a, origin, True
    if is_still(t, w, tree_index, h):
        return at_rest()
    if w.moved_of[k] == 0:
        tree_motion(t, d, w, tree_index)
        w.moved_of[k] = 1
    s, v = (d.V[body, 0], d.V[body, 1], d.V[body, 2]), (d.V[body, 3], d.V[body, 4], d.V[body, 5])
    a, origin = (d.A[body, 0], d.A[body, 1], d.A[body, 2]), (d.A[body, 3], d.A[body, 4], d.A[body, 5])
    return s, v, a, origin, True


@inlined
def from_origin(c, d, k, body, moves):
    """Contact k from the origin of a body that moves."""
    i = body if moves else 0
    return c.point[k, 0] - d.p[i, 0], c.point[k, 1] - d.p[i, 1], c.point[k, 2] - d.p[i, 2]


@inlined
def point_velocity(motion, r):
    """Velocity of the material of a body at r from its origin."""
    s, v, _, _, moves = motion
    e = cross3(s, r)
    return (v[0] + e[0], v[1] + e[1], v[2] + e[2]) if moves else v


@inlined
def of_material(src, b, side, motion):
    """A body's motion as it is where contact block b lies on it: on a flexible one, with that of its modes there."""
    s, v, alpha, origin, moves = motion
    if not moves or src.responses.deform.address == 0:
        return motion
    m, k = src.material, 6 * side
    e = cross3(s, (m[b, k], m[b, k + 1], m[b, k + 2]))
    v = v[0] + m[b, k], v[1] + m[b, k + 1], v[2] + m[b, k + 2]
    origin = (
        origin[0] + m[b, k + 3] + 2.0 * e[0], origin[1] + m[b, k + 4] + 2.0 * e[1], origin[2] + m[b, k + 5] + 2.0 * e[2]
    )  # fmt: skip
    return s, v, alpha, origin, moves


@kernel
def held_before(c, pr, b, k):
    """The old contact that contact k of block b continues and that pressed, -1 if none or if others enclose it."""
    old = c.same_feature[k]
    if old >= 0:
        p, n = c.impulse, c.normal
        pushed = p[k, 0] * n[k, 0] + p[k, 1] * n[k, 1] + p[k, 2] * n[k, 2]
        if pushed > 0.0 and pushed * pr.W[b, 0] < JAMMED:
            return old
    return -1


@kernel
def slip_velocity(pr, src, b, va, vb):
    """Velocity of block b's tangential rows where its two bodies have the velocities va and vb, surfaces' included."""
    row, s = pr.row[b], src.tangent
    x, y, z = vb[0] - va[0], vb[1] - va[1], vb[2] - va[2]
    return (
        pr.bias[row + 1] + s[b, 0] * x + s[b, 1] * y + s[b, 2] * z,
        pr.bias[row + 2] + s[b, 3] * x + s[b, 4] * y + s[b, 5] * z,
    )


@kernel
def slides_on(pr, src, b, va, vb):
    """Whether a contact that slides at the start of the step does so at its end, by its friction in the last one."""
    one, two = slip_velocity(pr, src, b, va, vb)
    if pr.deferred[b] != 0:
        compliance = max(pr.W[b, 3], pr.W[b, 5])
    else:
        compliance = max(coupling(pr, b, 1, 1), coupling(pr, b, 2, 2))
    change = SLIDING * pr.mu[b] * pr.impulse[pr.row[b]] * compliance
    return one * one + two * two > change * change


@kernel
def to_end(d, c, w, pr, b, k, old, pressed, motion_a, motion_b, size, h):
    """What velocities change by until the end of the step at block b, if its contact goes on: added to its normal row.

    Args:
        motion_a, motion_b: `body_motion` of its bodies.
        size: of the smaller shape.

    Returns:
        The change; whether it goes on; and whether it slides on.
    """
    none = (0.0, 0.0, 0.0), False, False
    motion_a, motion_b = of_material(w.row_origins, b, 0, motion_a), of_material(w.row_origins, b, 1, motion_b)
    wa, _, alpha_a, origin_a, moves_a = motion_a
    wb, _, alpha_b, origin_b, moves_b = motion_b
    if not moves_a and not moves_b:
        return none
    ra, rb = from_origin(c, d, k, c.body_a[k], moves_a), from_origin(c, d, k, c.body_b[k], moves_b)
    va, vb = point_velocity(motion_a, ra), point_velocity(motion_b, rb)
    aa, ab = point_acceleration(wa, alpha_a, origin_a, ra), point_acceleration(wb, alpha_b, origin_b, rb)
    n, m = c.normal, c.old_normal
    ea, eb = cross3(wa, va), cross3(wb, vb)
    s = (
        n[k, 0] * (ab[0] - aa[0] - eb[0] + ea[0])
        + n[k, 1] * (ab[1] - aa[1] - eb[1] + ea[1])
        + n[k, 2] * (ab[2] - aa[2] - eb[2] + ea[2])
    )
    c.turning[k] = s
    if old < 0:
        return none
    approach = n[k, 0] * (vb[0] - va[0]) + n[k, 1] * (vb[1] - va[1]) + n[k, 2] * (vb[2] - va[2])
    if not pressed and abs(approach) > h * abs(s):
        return none
    before = c.old_turning[old]
    if abs(s - before) > STEADY * max(abs(s), abs(before)) and 0.5 * h * abs(s - before) > SMALL:
        return none
    p, o = c.point, c.old_point
    way = p[k, 0] - o[old, 0], p[k, 1] - o[old, 1], p[k, 2] - o[old, 2]
    over_a = way[0] - h * va[0], way[1] - h * va[1], way[2] - h * va[2]
    over_b = way[0] - h * vb[0], way[1] - h * vb[1], way[2] - h * vb[2]
    most = JUMP * size
    if over_a[0] ** 2 + over_a[1] ** 2 + over_a[2] ** 2 > most * most:
        return none
    if over_b[0] ** 2 + over_b[1] ** 2 + over_b[2] ** 2 > most * most:
        return none
    ea, eb = cross3(wa, over_a), cross3(wb, over_b)
    g0 = 0.5 * (h * (ab[0] - aa[0]) + eb[0] - ea[0])
    g1 = 0.5 * (h * (ab[1] - aa[1]) + eb[1] - ea[1])
    g2 = 0.5 * (h * (ab[2] - aa[2]) + eb[2] - ea[2])
    turn = (
        (n[k, 0] - m[old, 0]) * (vb[0] - va[0])
        + (n[k, 1] - m[old, 1]) * (vb[1] - va[1])
        + (n[k, 2] - m[old, 2]) * (vb[2] - va[2])
    )
    pr.bias[pr.row[b]] += n[k, 0] * g0 + n[k, 1] * g1 + n[k, 2] * g2 + 0.5 * turn
    return (g0, g1, g2), True, slides_on(pr, w.row_origins, b, va, vb)


@kernel
def add_along_surfaces(w, begin, end, share, g0, g1, g2):
    """Add a share of a change of velocity to the tangential rows of blocks begin..end-1."""
    pr = w.problem
    src = w.row_origins
    s = src.tangent
    g0, g1, g2 = share * g0, share * g1, share * g2
    for b in range(begin, end):
        if src.origin[b] == FROM_CONTACT and pr.restitution[b] == 0.0:
            row = pr.row[b]
            pr.bias[row + 1] += s[b, 0] * g0 + s[b, 1] * g1 + s[b, 2] * g2
            pr.bias[row + 2] += s[b, 3] * g0 + s[b, 4] * g1 + s[b, 5] * g2


@kernel
def add_slip(d, c, w, pr, begin, end, motion_a, motion_b):
    """Add the velocities of the step's start to the tangential rows of blocks begin..end-1: of the mean, twice."""
    src = w.row_origins
    for b in range(begin, end):
        if pr.restitution[b] == 0.0:
            k = src.index[b]
            va = point_velocity(of_material(src, b, 0, motion_a), from_origin(c, d, k, c.body_a[k], motion_a[4]))
            vb = point_velocity(of_material(src, b, 1, motion_b), from_origin(c, d, k, c.body_b[k], motion_b[4]))
            one, two = slip_velocity(pr, src, b, va, vb)
            pr.bias[pr.row[b] + 1] += one
            pr.bias[pr.row[b] + 2] += two


@kernel
def end_of_pair(c, pr, src, begin):
    """Where the contacts of the two bodies whose contact is block `begin` end; `begin` if it is no contact."""
    end, k = begin, src.index[begin]
    while end < pr.num_blocks and src.origin[end] == FROM_CONTACT:
        o = src.index[end]
        if c.body_a[o] != c.body_a[k] or c.body_b[o] != c.body_b[k]:
            break
        end += 1
    return end


@kernel
def follow_pair(t, d, c, w, pr, begin, end, h):
    """Biases of the rows of blocks begin..end-1, contacts of two bodies, for the second half of the step.

    Where one was pressed, others that neither part nor approach go on too. Along their surfaces all have the mean
    change, or, where all slide on, the velocities of the start.
    """
    src = w.row_origins
    goes_on = known = False
    moved = src.middle[0] != 0.5 * h
    for b in range(begin, end):
        goes_on = goes_on or held_before(c, pr, b, src.index[b]) >= 0
    motion_a = motion_b = at_rest()
    number, sliding, g0, g1, g2 = 0, 0, 0.0, 0.0, 0.0
    for b in range(begin, end):
        k = src.index[b]
        c.turning[k] = 0.0
        newton = src.newton_restitution != 0 and c.restitution[k] > 0.0 and pr.bias[pr.row[b]] < src.correction[b]
        if pr.restitution[b] > 0.0 or newton:
            to_middle(t, d, w, pr, b, h)
            continue
        if moved:
            c.turning[k] = UNKNOWN
            continue
        old = held_before(c, pr, b, k)
        pressed = old >= 0
        if goes_on and not pressed:
            old = c.same_feature[k]
        size = min(c.shape_reach[c.shape_a[k]], c.shape_reach[c.shape_b[k]])
        if c.gap[k] < -DEEP * size:
            continue
        if not known:
            known = True
            motion_a, motion_b = body_motion(t, d, w, c.body_a[k], h), body_motion(t, d, w, c.body_b[k], h)
        g, found, slides = to_end(d, c, w, pr, b, k, old, pressed, motion_a, motion_b, size, h)
        if found:
            number, g0, g1, g2 = number + 1, g0 + g[0], g1 + g[1], g2 + g[2]
            sliding += 1 if slides else 0
    if number > 0 and sliding == number:
        add_slip(d, c, w, pr, begin, end, motion_a, motion_b)
    elif number > 0:
        add_along_surfaces(w, begin, end, 1.0 / number, g0, g1, g2)


@kernel
def goes_with_last(c, pr, src, b):
    """Whether block b is a contact of the two bodies that the block before it is one of."""
    if b == 0 or b >= pr.num_blocks or src.origin[b] != FROM_CONTACT or src.origin[b - 1] != FROM_CONTACT:
        return False
    k, o = src.index[b], src.index[b - 1]
    return c.body_a[k] == c.body_a[o] and c.body_b[k] == c.body_b[o]


@kernel
def follow_pairs(w, begin, end):
    """`follow_pair` of all pairs of bodies whose first contact is one of blocks begin..end-1."""
    c = w.collision
    pr = w.problem
    src = w.row_origins
    while begin < end and goes_with_last(c, pr, src, begin):
        begin += 1
    while begin < end:
        after = end_of_pair(c, pr, src, begin)
        if after == begin:
            after += 1
        else:
            follow_pair(w.tree, w.data, c, w, pr, begin, after, w.time_step)
        begin = after


@kernel
def forget_motion(w):
    """Velocities of trees that `follow_pairs` has computed are again those predicted for mid-step."""
    t = w.tree
    d = w.data
    for k in range(d.q.shape[0]):
        if w.moved_of[k] == GIVEN and w.products_of[k] == 0:
            w.moved_of[k] = 0
        elif w.moved_of[k] + w.products_of[k] > 0:
            w.moved_of[k] = w.products_of[k] = 0
            tree_index = t.tree_of_body[t.body_of_dof[k]]
            for j in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
                d.u[j] = w.middle_u[j]
            velocities(t, d, t.tree_body[tree_index], t.tree_body[tree_index + 1])
            for j in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
                d.u[j] = w.start_u[j]
