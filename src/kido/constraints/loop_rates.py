"""Rates of the rows of constraints, and how these change: d (G u) / dt = G udot + Gdot u, exact for every kind of row.

A row is r = f . (v_B - v_A) + m . (w_B - w_A), with the unit force f and the unit moment m of `loop_rows`, and v_A, v_B
the velocities of the points of both bodies that are at the origin of frame B. f and m ride on frame A, on both frames
or along the line between them, and so do the velocity products: with s from the origin of A to that of B, and
r_s = v_B - v_A, the velocity of B's origin seen from body A,

    SHIFT, SCREW_TRAVEL   f . (a_B - a_A - 2 w_A x r_s)      a_A: of the point of body A that is there
    LENGTH         n . (a_B' - a_A') + |sdot - n (n . sdot)|^2 / |s|      a': of the origins of the frames
    TURN, ALIGN    m . (wdot_B - wdot_A) + (w_A x m) . (w_B - w_A)
    CROSS          m = b x a:  m . (wdot_B - wdot_A) + ((w_B x b) x a + b x (w_A x a)) . (w_B - w_A)
    COUPLE         sum of factors times accelerations

Accelerations that are those of udot give G udot + Gdot u; those of udot = 0 give Gdot u alone. They hold for all
positions and velocities, not only where rows are met, so that a row may be given a rate.
Source: rigid-body kinematics; compare Featherstone (2008), sec. 8.3.
"""

from __future__ import annotations

import math

from kido.constraints.loop_rows import MIN_LINE, axis_of, dot, frame_in_world
from kido.constraints.loop_schema import COUPLE, CROSS, LENGTH, SCREW_TRAVEL, SHIFT
from kido.jit import inlined, kernel
from kido.math.so3 import cross


@kernel
def difference(a, b):
    """a - b of two vectors."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel
def cross_of(a, b):
    """a x b of two vectors."""
    return cross(a[0], a[1], a[2], b[0], b[1], b[2])


@kernel
def spin_of(X, body):
    """First three numbers of a body's row in V or A; zeros for the world."""
    if body < 0:
        return 0.0, 0.0, 0.0
    return X[body, 0], X[body, 1], X[body, 2]


@kernel
def point_velocity(d, V, body, p):
    """Velocity of the point of a body that is at p, from a table of bodies' velocities."""
    if body < 0:
        return 0.0, 0.0, 0.0
    x, y, z = cross(V[body, 0], V[body, 1], V[body, 2], p[0] - d.p[body, 0], p[1] - d.p[body, 1], p[2] - d.p[body, 2])
    return V[body, 3] + x, V[body, 4] + y, V[body, 5] + z


@kernel
def point_acceleration(d, A, body, p, still):
    """Acceleration of the point of a body that is at p, from a table of bodies' accelerations; `still`: the world's."""
    if body < 0:
        return still
    r = (p[0] - d.p[body, 0], p[1] - d.p[body, 1], p[2] - d.p[body, 2])
    w = spin_of(d.V, body)
    a = cross_of(spin_of(A, body), r)
    c = cross_of(w, cross_of(w, r))
    return A[body, 3] + a[0] + c[0], A[body, 4] + a[1] + c[1], A[body, 5] + a[2] + c[2]


@kernel
def row_rate(d, V, u, lp, r):
    """G u of row r, from the velocities V of bodies that belong to u; `measure` was done at the present transforms."""
    c = lp.of[r]
    sign = lp.sign[r]
    if lp.kind[r] == COUPLE:
        total = 0.0
        for e in range(lp.first_term[c], lp.first_term[c + 1]):
            total += lp.term_factor[e] * u[lp.term_dof[e]]
        return sign * total
    p = (lp.point[r, 0], lp.point[r, 1], lp.point[r, 2])
    a, b = lp.body_a[c], lp.body_b[c]
    v = difference(point_velocity(d, V, b, p), point_velocity(d, V, a, p))
    w = difference(spin_of(V, b), spin_of(V, a))
    total = lp.force[r, 0] * v[0] + lp.force[r, 1] * v[1] + lp.force[r, 2] * v[2]
    return total + lp.moment[r, 0] * w[0] + lp.moment[r, 1] * w[1] + lp.moment[r, 2] * w[2]


@kernel
def rate_changes(d, A, udot_factor, lp, c, still, out):
    """d (G u) / dt of all rows of constraint c to `out` (rows,); `measure` was done at the present transforms.

    Args:
        d: with V of the bodies.
        A: [wdot; acceleration of the origin] of the bodies, all less the same vector.
        udot_factor: 1 where A belongs to the accelerations udot of the data; 0 where it belongs to udot = 0.
        lp: LOOPS.
        c: number of the constraint.
        still: what the origin of the world has in the manner of A: zero, or minus gravity.
        out: results, by row.
    """
    first, last = lp.first_row[c], lp.first_row[c + 1]
    if lp.kind[first] == COUPLE:
        total = 0.0
        for e in range(lp.first_term[c], lp.first_term[c + 1]):
            total += lp.term_factor[e] * d.udot[lp.term_dof[e]]
        for r in range(first, last):
            out[r] = lp.sign[r] * udot_factor * total
        return
    FA = frame_in_world(d, lp.body_a[c], lp.frame_a, c)
    FB = frame_in_world(d, lp.body_b[c], lp.frame_b, c)
    seen = seen_motion(d, A, lp, c, FB, still)
    for r in range(first, last):
        out[r] = row_change(d, A, lp, r, FA, FB, seen, still)


@inlined
def seen_motion(d, A, lp, c, FB, still):
    """How body B of constraint c moves, seen from body A, at the origin of frame B, whose pose FB is.

    Returns:
        Its linear acceleration, angular acceleration, angular velocity there, and the angular velocity of A.
    """
    p = (FB[9], FB[10], FB[11])
    a, b = lp.body_a[c], lp.body_b[c]
    wa = spin_of(d.V, a)
    w = difference(spin_of(d.V, b), wa)
    wdot = difference(spin_of(A, b), spin_of(A, a))
    v = difference(point_velocity(d, d.V, b, p), point_velocity(d, d.V, a, p))
    turn = cross_of(wa, v)
    acceleration = difference(point_acceleration(d, A, b, p, still), point_acceleration(d, A, a, p, still))
    shift = (acceleration[0] - 2.0 * turn[0], acceleration[1] - 2.0 * turn[1], acceleration[2] - 2.0 * turn[2])
    return shift, wdot, w, wa


@kernel
def row_change(d, A, lp, r, FA, FB, seen, still):
    """d (G u) / dt of row r of a constraint between bodies, from its direction, its frames and `seen_motion`."""
    kind = lp.kind[r]
    shift, wdot, w, wa = seen
    f = (lp.force[r, 0], lp.force[r, 1], lp.force[r, 2])
    m = (lp.moment[r, 0], lp.moment[r, 1], lp.moment[r, 2])
    if kind == SHIFT:
        return dot(f, shift)
    if kind == LENGTH:
        return _length(d, A, lp, r, FA, (FB[9], FB[10], FB[11]), still)
    if kind == CROSS:
        x, y = axis_of(FA, 0), axis_of(FB, 1)
        one = cross_of(cross_of(spin_of(d.V, lp.body_b[lp.of[r]]), y), x)
        two = cross_of(y, cross_of(wa, x))
        return dot(m, wdot) + lp.sign[r] * (dot(one, w) + dot(two, w))
    change = dot(m, wdot) + dot(cross_of(wa, m), w)
    if kind == SCREW_TRAVEL:
        change += dot(f, shift)
    return change


@kernel
def _length(d, A, lp, r, FA, p, still):
    """d (G u) / dt of a row that keeps the distance from the origin of A to that of B."""
    c = lp.of[r]
    a, b = lp.body_a[c], lp.body_b[c]
    o = (FA[9], FA[10], FA[11])
    s = difference(p, o)
    rate = difference(point_velocity(d, d.V, b, p), point_velocity(d, d.V, a, o))
    change = difference(point_acceleration(d, A, b, p, still), point_acceleration(d, A, a, o, still))
    n = (lp.force[r, 0], lp.force[r, 1], lp.force[r, 2])
    length = math.sqrt(dot(s, s))
    if length > MIN_LINE:
        along = dot(n, rate)
        return dot(n, change) + lp.sign[r] * (dot(rate, rate) - along * along) / length
    return dot(n, change) + dot(cross_of(spin_of(d.V, a), n), rate)
