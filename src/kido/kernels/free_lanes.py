"""Bodies on free joints by the lane: a world's smooth motion of eight at once, and rows of contacts.

The joint's coordinates are the angular velocity w in body axes and the velocity v of the body's origin in world axes.
With c the centre of mass and I the inertia about it, both constant in body axes, no force but gravity g acting,

    I wdot = -w x I w,    vdot = g - R (wdot x c + w x (w x c))

and a unit wrench of moment m about the origin and force f (world axes) has the Jacobian row and the response

    J = [R^T m; f],    Y = [y; f / mass - R (y x c)],    y = I^-1 (R^T m - c x R^T f)

so that nothing is eliminated and nothing swept. What each body brings is gathered into lanes, and what comes out is
scattered; lanes do not see each other, so that results do not depend on which bodies go together.

What a step takes from one of its halves to the other is momentum, which does not depend on where the body's frame is.
With x = p + R c the centre of mass, xdot = v + R (w x c) and the angular momentum L = R I w about it, M the middle,

    R_M = R exp(h/2 w),          x_M = x + (h/2) xdot,         I w_- = R_M^T L,         xdot_- = xdot
    I w_+ = I w_- + R_M^T (h n + m_p),                         xdot_+ = xdot_- + h g + p / mass
    R_new = R_M exp(h/2 w_new),  x_new = x_M + (h/2) xdot_+,   I w_new = R_new^T R_M I w_+

where forces and contact impulses (p, their moment m_p) act in the middle. So `u_free` and `u` of the contact problem
are the velocities w_+ and v_+ = xdot_+ - R_M (w_+ x c) that the body has there. The last line is implicit in w_new,
which makes the rule symmetric in time; two corrections of a predicted one leave an error of fourth order in the
rotation, and none in L.

Fixed velocities kept from half to half instead, a body's momentum would depend on its frame wherever impulses change
its spin; and a rule for wdot, explicit at mid-step, gains energy of fourth order in the angle of a step: a body that
turned by a radian in a step was at infinity after a hundred. That one is kept where a body turns by more than FAST in a
step, with its angular velocity scaled so that it has the energy of the old one: not L but the energy is constant then.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kido.jit import Struct, floats, inlined, integers, kernel, where_positive
from kido.joints import JointKind
from kido.math.so3 import advance_rotation_vector, cross, multiply_symmetric, rotate, rotate_inverse
from kido.math.so3 import rotation_vector_to_matrix as to_matrix

# Entries of a body's numbers.
INVERSE_MASS_AT, COM_AT, INERTIA_AT, INVERSE_AT = 0, 1, 4, 10
BODY_NUMBERS = 16
# What a body is: none of this, one with its centre of mass elsewhere than its origin, one with it there.
NOT_FREE, OFF_CENTRE, CENTRED = 0, 1, 2

FAST = 0.2  # [rad] turn of a step beyond which the energy of a free body's rotation is kept

# Rows of the lanes: what comes in (with a body's numbers from CONSTANTS on), and what goes out.
Q, U, NEW_U, START_U, FORCE, CONSTANTS = 0, 6, 12, 18, 24, 27
OUT_Q, OUT_R, OUT_V, OUT_U, OUT_START, OUT_MC = 44, 50, 59, 65, 71, 74
ROWS = 77


class FREE_LANES(Struct):
    x = floats("rows", doc="rows Q ... OUT_MC, a body in each lane")
    body = integers("lanes", doc="the bodies")


def free_bodies(t: Any) -> tuple[np.ndarray, np.ndarray]:
    """Which bodies of a forest are single, on free joints that nothing prescribes, damps or pulls, without rotors.

    Args:
        t: the forest.

    Returns:
        NOT_FREE, OFF_CENTRE or CENTRED for each body; and their numbers (bodies, BODY_NUMBERS).
    """
    bodies = len(t.parent)
    kind, number = np.zeros(bodies, np.int64), np.zeros((bodies, BODY_NUMBERS))
    single = np.flatnonzero(np.diff(t.tree_body) == 1)
    first = np.asarray(t.tree_body)[single]
    fits = (t.kind[first] == JointKind.FREE_MIXED) & (t.has_child_offset[first] == 0) & (t.mass[first] > 0.0)
    fits &= (t.rotation_pj[first] == np.eye(3).ravel()).all(axis=1) & (t.position_pj[first] == 0.0).all(axis=1)
    fits &= t.gravity_factor[first] == 1.0
    first = first[fits]
    dofs = t.first_dof[first][:, None] + np.arange(6)
    held = (t.prescribed[dofs] != 0) | (t.damping[dofs] != 0.0) | (t.stiffness[dofs] != 0.0) | (t.armature[dofs] != 0.0)
    first = first[~held.any(axis=1)]
    m, c, about_origin = t.mass[first], t.com[first], t.inertia[first]
    xx, xy, xz, yy, yz, zz = (0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)
    inertia = np.zeros((len(first), 3, 3))
    for k, (i, j) in enumerate((xx, xy, xz, yy, yz, zz)):
        inertia[:, i, j] = inertia[:, j, i] = about_origin[:, k]
    square = (c**2).sum(axis=1)
    inertia -= m[:, None, None] * (square[:, None, None] * np.eye(3) - c[:, :, None] * c[:, None, :])
    least = np.linalg.eigvalsh(inertia) if len(first) else np.zeros((0, 3))
    sound = least[:, 0] > 1e-9 * least[:, 2]
    first, m, c, inertia = first[sound], m[sound], c[sound], inertia[sound]
    inverse = np.linalg.inv(inertia) if len(first) else inertia
    kind[first] = np.where((c == 0.0).all(axis=1), CENTRED, OFF_CENTRE)
    number[first, INVERSE_MASS_AT] = 1.0 / m
    number[first, COM_AT : COM_AT + 3] = c
    for k, (i, j) in enumerate((xx, xy, xz, yy, yz, zz)):
        number[first, INERTIA_AT + k], number[first, INVERSE_AT + k] = inertia[:, i, j], inverse[:, i, j]
    return kind, number


@inlined
def _three(x, k):
    return x[k], x[k + 1], x[k + 2]


@inlined
def _symmetric(x, k):
    return x[k], x[k + 1], x[k + 2], x[k + 3], x[k + 4], x[k + 5]


@inlined
def _put(x, k, values):
    x[k], x[k + 1], x[k + 2] = values


@kernel
def spin_up(inertia, inverse, w):
    """wdot of a body with angular velocity w, about its centre of mass and in body axes."""
    a, b, c = multiply_symmetric(inertia, w[0], w[1], w[2])
    x, y, z = cross(a, b, c, w[0], w[1], w[2])
    return multiply_symmetric(inverse, x, y, z)


@kernel
def excess_turn(w, h):
    """Positive where a body turns by more than FAST in a step h."""
    return h * h * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) - FAST * FAST


@kernel
def energy_kept(inertia, w, new, turn):
    """Factor of `new` that gives it the rotational energy of w, 1 where the turn of the step is small."""
    a, b, c = multiply_symmetric(inertia, w[0], w[1], w[2])
    before = w[0] * a + w[1] * b + w[2] * c
    a, b, c = multiply_symmetric(inertia, new[0], new[1], new[2])
    after = new[0] * a + new[1] * b + new[2] * c
    fast = excess_turn(w, turn)
    # One division and one root for all lanes; `after` is zero only where w is.
    return where_positive(fast, math.sqrt(before / where_positive(after, after, 1.0)), 1.0)


@inlined
def centre_of_mass(number, body):
    """From the body's origin, in body axes."""
    return number[body, COM_AT], number[body, COM_AT + 1], number[body, COM_AT + 2]


@inlined
def _six(number, body, k):
    return (
        number[body, k], number[body, k + 1], number[body, k + 2],
        number[body, k + 3], number[body, k + 4], number[body, k + 5],
    )  # fmt: skip


@inlined
def inertia_about_centre(number, body):
    """In body axes, (xx, xy, xz, yy, yz, zz)."""
    return _six(number, body, INERTIA_AT)


@inlined
def inverse_about_centre(number, body):
    """Of that inertia."""
    return _six(number, body, INVERSE_AT)


@inlined
def _chosen(m, a, b):
    """The vector a where m > 0, else b."""
    return where_positive(m, a[0], b[0]), where_positive(m, a[1], b[1]), where_positive(m, a[2], b[2])


@inlined
def _times(s, a):
    return s * a[0], s * a[1], s * a[2]


@inlined
def _plus(a, s, b):
    return a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]


@kernel
def offset_velocity(R, w, c):
    """R (w x c): velocity of the centre of mass c beside the body's origin, world axes."""
    x, y, z = cross(w[0], w[1], w[2], c[0], c[1], c[2])
    return rotate(R, x, y, z)


@kernel
def carried_spin(inertia, inverse, start, R, w):
    """Angular velocity in axes R with the angular momentum of w in axes `start`."""
    a, b, c = multiply_symmetric(inertia, w[0], w[1], w[2])
    a, b, c = rotate(start, a, b, c)
    a, b, c = rotate_inverse(R, a, b, c)
    return multiply_symmetric(inverse, a, b, c)


@kernel
def turned_back(w, time, a):
    """exp(-time w) a, for less than a tenth of a radian."""
    x, y, z = time * w[0], time * w[1], time * w[2]
    n = x * x + y * y + z * z
    s = 1.0 - n * (1.0 / 6.0 - n * (1.0 / 120.0 - n * (1.0 / 5040.0)))
    t = 0.5 - n * (1.0 / 24.0 - n * (1.0 / 720.0 - n * (1.0 / 40320.0)))
    b = cross(x, y, z, a[0], a[1], a[2])
    c = cross(x, y, z, b[0], b[1], b[2])
    return a[0] - s * b[0] + t * c[0], a[1] - s * b[1] + t * c[1], a[2] - s * b[2] + t * c[2]


@kernel
def closing_spin(inertia, inverse, w, rest):
    """w_new with I w_new = exp(-rest w_new) I w, to third order: the spin by which a body turns after mid-step."""
    momentum = multiply_symmetric(inertia, w[0], w[1], w[2])
    a = spin_up(inertia, inverse, w)
    new = w[0] + rest * a[0], w[1] + rest * a[1], w[2] + rest * a[2]
    for _ in range(2):
        b = turned_back(new, rest, momentum)
        new = multiply_symmetric(inverse, b[0], b[1], b[2])
    return new


@kernel
def fall(x, g, middle, h):
    """The first part of a step h, up to its middle, under gravity g of the bodies in the lanes x, and u_free."""
    q, w, v = _three(x, Q), _three(x, U), _three(x, U + 3)
    inertia, inverse, c = (
        _symmetric(x, CONSTANTS + INERTIA_AT),
        _symmetric(x, CONSTANTS + INVERSE_AT),
        _three(x, CONSTANTS + COM_AT),
    )
    start = to_matrix(q[0], q[1], q[2])
    v = rotate(start, v[0], v[1], v[2])
    xdot = _plus(v, 1.0, offset_velocity(start, w, c))
    q = advance_rotation_vector(q[0], q[1], q[2], middle * w[0], middle * w[1], middle * w[2])
    R = to_matrix(q[0], q[1], q[2])
    y, z = rotate(start, c[0], c[1], c[2]), rotate(R, c[0], c[1], c[2])
    p = _plus(_plus(_plus(_three(x, Q + 3), 1.0, y), middle, xdot), -1.0, z)
    a = spin_up(inertia, inverse, w)
    mid = _plus(w, middle, a)
    _put(x, OUT_V, rotate(R, mid[0], mid[1], mid[2]))
    _put(x, OUT_V + 3, _plus(_plus(xdot, middle, g), -1.0, offset_velocity(R, mid, c)))
    new = _plus(w, h, spin_up(inertia, inverse, mid))
    new = _times(energy_kept(inertia, w, new, h), new)
    new = _chosen(excess_turn(w, h), new, carried_spin(inertia, inverse, start, R, w))
    _put(x, OUT_U, new)
    _put(x, OUT_U + 3, _plus(_plus(xdot, h, g), -1.0, offset_velocity(R, new, c)))
    _put(x, OUT_START, v)
    _put(x, OUT_Q, q)
    _put(x, OUT_Q + 3, p)
    _put(x, OUT_R, (R[0], R[1], R[2]))
    _put(x, OUT_R + 3, (R[3], R[4], R[5]))
    _put(x, OUT_R + 6, (R[6], R[7], R[8]))
    _put(x, OUT_MC, _times(1.0 / x[CONSTANTS + INVERSE_MASS_AT], z))


@kernel
def land(x, rest, h):
    """The rest of a step h after its middle, of the bodies in the lanes x.

    U: the pseudo velocities of the position correction; NEW_U: those of the contact problem; START_U: of the step's
    start; FORCE: the constraint force on the linear coordinates. Out come OUT_Q; u and udot of the twist in body axes
    (OUT_R, OUT_V); the force in body axes (OUT_U).
    """
    q, w, v, pseudo = _three(x, Q), _three(x, NEW_U), _three(x, NEW_U + 3), _three(x, U)
    inertia, inverse, c = (
        _symmetric(x, CONSTANTS + INERTIA_AT),
        _symmetric(x, CONSTANTS + INVERSE_AT),
        _three(x, CONSTANTS + COM_AT),
    )
    a = _three(x, START_U)
    fast = where_positive(excess_turn(a, h), 1.0, excess_turn(w, h))
    middle = to_matrix(q[0], q[1], q[2])
    xdot = _plus(v, 1.0, offset_velocity(middle, w, c))
    turn = _chosen(fast, w, closing_spin(inertia, inverse, w, rest))
    b = turned_back(turn, rest, multiply_symmetric(inertia, w[0], w[1], w[2]))
    w = _chosen(fast, w, multiply_symmetric(inverse, b[0], b[1], b[2]))
    turn = _plus(turn, h / rest, pseudo)  # that takes no momentum with it, so the energy is that without
    q = advance_rotation_vector(q[0], q[1], q[2], rest * turn[0], rest * turn[1], rest * turn[2])
    R = to_matrix(q[0], q[1], q[2])
    y, z = rotate(middle, c[0], c[1], c[2]), rotate(R, c[0], c[1], c[2])
    b = _plus(_three(x, U + 3), 1.0, offset_velocity(middle, pseudo, c))
    p = _plus(_plus(_plus(_plus(_three(x, Q + 3), 1.0, y), rest, xdot), h, b), -1.0, z)
    v = _plus(xdot, -1.0, offset_velocity(R, w, c))
    _put(x, OUT_Q, q)
    _put(x, OUT_Q + 3, p)
    _put(x, OUT_R, w)
    _put(x, OUT_V, ((w[0] - a[0]) / h, (w[1] - a[1]) / h, (w[2] - a[2]) / h))
    b = _three(x, START_U + 3)
    b = rotate_inverse(R, (v[0] - b[0]) / h, (v[1] - b[1]) / h, (v[2] - b[2]) / h)
    v = rotate_inverse(R, v[0], v[1], v[2])
    _put(x, OUT_R + 3, v)
    a = cross(w[0], w[1], w[2], v[0], v[1], v[2])
    _put(x, OUT_V + 3, (b[0] - a[0], b[1] - a[1], b[2] - a[2]))
    _put(x, OUT_U, rotate_inverse(R, x[FORCE], x[FORCE + 1], x[FORCE + 2]))


@kernel
def free_row(number, centred, body, R, r0, r1, r2, f0, f1, f2, J, Y, at):
    """Row and response of a unit force f (world axes) on a free body at r (body axes, from its origin), at `at`."""
    n0, n1, n2 = rotate_inverse(R, f0, f1, f2)
    J[at], J[at + 1], J[at + 2] = cross(r0, r1, r2, n0, n1, n2)
    J[at + 3], J[at + 4], J[at + 5] = f0, f1, f2
    c0, c1, c2 = centre_of_mass(number, body)
    x, y, z = cross(r0 - c0, r1 - c1, r2 - c2, n0, n1, n2)
    x, y, z = multiply_symmetric(inverse_about_centre(number, body), x, y, z)
    Y[at], Y[at + 1], Y[at + 2] = x, y, z
    s = number[body, INVERSE_MASS_AT]
    if centred:
        Y[at + 3], Y[at + 4], Y[at + 5] = s * f0, s * f1, s * f2
    else:
        x, y, z = cross(x, y, z, c0, c1, c2)
        x, y, z = rotate(R, x, y, z)
        Y[at + 3], Y[at + 4], Y[at + 5] = s * f0 - x, s * f1 - y, s * f2 - z
