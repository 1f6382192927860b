"""Bodies on free joints by the lane: a world's smooth motion of eight at once, and rows of contacts.

The joint's coordinates are the angular velocity w in body axes and the velocity v of the body's origin in world axes.
With c the centre of mass and I the inertia about it, both constant in body axes, no force but gravity g acting,

    I wdot = -w x I w,    vdot = g - R (wdot x c + w x (w x c))

and a unit wrench of moment m about the origin and force f (world axes) has the Jacobian row and the response

    J = [R^T m; f],    Y = [y; f / mass - R (y x c)],    y = I^-1 (R^T m - c x R^T f)

so that nothing is eliminated and nothing swept. What each body brings is gathered into lanes, and what comes out is
scattered; lanes do not see each other, so that results do not depend on which bodies go together.

The rule of wdot, explicit at mid-step, gains energy, of fourth order in the angle of a step: a body that turns by a
radian in a step was at infinity after a hundred. Where a body turns by more than FAST in a step, its new angular
velocity is scaled so that it has the energy of the old one, which is a constant of the motion, forces apart. If its
centre of mass is not its origin, it does not go by lanes then (`kido.simulation.fast_bodies`).
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
    """Which bodies of a forest are single, on free joints that nothing prescribes, damps or pulls.

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
    held = (t.prescribed[dofs] != 0) | (t.damping[dofs] != 0.0) | (t.stiffness[dofs] != 0.0)
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
def energy_kept(inertia, w, new, turn):
    """Factor of `new` that gives it the rotational energy of w, 1 where the turn of the step is small."""
    a, b, c = multiply_symmetric(inertia, w[0], w[1], w[2])
    before = w[0] * a + w[1] * b + w[2] * c
    a, b, c = multiply_symmetric(inertia, new[0], new[1], new[2])
    after = new[0] * a + new[1] * b + new[2] * c
    fast = turn * turn * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) - FAST * FAST
    # One division and one root for all lanes; `after` is zero only where w is.
    return where_positive(fast, math.sqrt(before / where_positive(after, after, 1.0)), 1.0)


@kernel
def origin_acceleration(R, c, w, wdot, g):
    """Acceleration of a falling body's origin, world axes."""
    a0, a1, a2 = cross(w[0], w[1], w[2], c[0], c[1], c[2])
    b0, b1, b2 = cross(w[0], w[1], w[2], a0, a1, a2)
    e0, e1, e2 = cross(wdot[0], wdot[1], wdot[2], c[0], c[1], c[2])
    x, y, z = rotate(R, b0 + e0, b1 + e1, b2 + e2)
    return g[0] - x, g[1] - y, g[2] - z


@kernel
def fall(x, g, h):
    """Smooth motion of the bodies in the lanes x over a step h under gravity g, as `kido.simulation.predict` has it."""
    q, w, v = _three(x, Q), _three(x, U), _three(x, U + 3)
    inertia, inverse, c = (
        _symmetric(x, CONSTANTS + INERTIA_AT),
        _symmetric(x, CONSTANTS + INVERSE_AT),
        _three(x, CONSTANTS + COM_AT),
    )
    v = rotate(to_matrix(q[0], q[1], q[2]), v[0], v[1], v[2])
    half = 0.5 * h
    q = advance_rotation_vector(q[0], q[1], q[2], half * w[0], half * w[1], half * w[2])
    R = to_matrix(q[0], q[1], q[2])
    a = spin_up(inertia, inverse, w)
    b = origin_acceleration(R, c, w, a, g)
    mid = w[0] + half * a[0], w[1] + half * a[1], w[2] + half * a[2]
    _put(x, OUT_V, rotate(R, mid[0], mid[1], mid[2]))
    _put(x, OUT_V + 3, (v[0] + half * b[0], v[1] + half * b[1], v[2] + half * b[2]))
    a = spin_up(inertia, inverse, mid)
    b = origin_acceleration(R, c, mid, a, g)
    new = w[0] + h * a[0], w[1] + h * a[1], w[2] + h * a[2]
    s = energy_kept(inertia, w, new, h)
    _put(x, OUT_U, (s * new[0], s * new[1], s * new[2]))
    _put(x, OUT_U + 3, (v[0] + h * b[0], v[1] + h * b[1], v[2] + h * b[2]))
    _put(x, OUT_START, v)
    _put(x, OUT_Q, q)
    _put(x, OUT_Q + 3, (x[Q + 3] + half * v[0], x[Q + 4] + half * v[1], x[Q + 5] + half * v[2]))
    _put(x, OUT_R, (R[0], R[1], R[2]))
    _put(x, OUT_R + 3, (R[3], R[4], R[5]))
    _put(x, OUT_R + 6, (R[6], R[7], R[8]))
    m = 1.0 / x[CONSTANTS + INVERSE_MASS_AT]
    y = rotate(R, c[0], c[1], c[2])
    _put(x, OUT_MC, (m * y[0], m * y[1], m * y[2]))


@kernel
def land(x, h):
    """The end of a step h of the bodies in the lanes x, as `kido.simulation.integrate` has it.

    U: the velocities that positions move by; NEW_U, START_U: of the step's end and start; FORCE: the constraint
    force on the linear coordinates. Out come OUT_Q; u and udot of the twist in body axes (OUT_R, OUT_V); the force in
    body axes (OUT_U).
    """
    q = advance_rotation_vector(x[Q], x[Q + 1], x[Q + 2], h * x[U], h * x[U + 1], h * x[U + 2])
    _put(x, OUT_Q, q)
    _put(x, OUT_Q + 3, (x[Q + 3] + h * x[U + 3], x[Q + 4] + h * x[U + 4], x[Q + 5] + h * x[U + 5]))
    R = to_matrix(q[0], q[1], q[2])
    w, v = _three(x, NEW_U), _three(x, NEW_U + 3)
    _put(x, OUT_R, w)
    a, b = _three(x, START_U), _three(x, START_U + 3)
    _put(x, OUT_V, ((w[0] - a[0]) / h, (w[1] - a[1]) / h, (w[2] - a[2]) / h))
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
    c0, c1, c2 = number[body, COM_AT], number[body, COM_AT + 1], number[body, COM_AT + 2]
    x, y, z = cross(r0 - c0, r1 - c1, r2 - c2, n0, n1, n2)
    inverse = (
        number[body, INVERSE_AT], number[body, INVERSE_AT + 1], number[body, INVERSE_AT + 2],
        number[body, INVERSE_AT + 3], number[body, INVERSE_AT + 4], number[body, INVERSE_AT + 5],
    )  # fmt: skip
    x, y, z = multiply_symmetric(inverse, x, y, z)
    Y[at], Y[at + 1], Y[at + 2] = x, y, z
    s = number[body, INVERSE_MASS_AT]
    if centred:
        Y[at + 3], Y[at + 4], Y[at + 5] = s * f0, s * f1, s * f2
    else:
        x, y, z = cross(x, y, z, c0, c1, c2)
        x, y, z = rotate(R, x, y, z)
        Y[at + 3], Y[at + 4], Y[at + 5] = s * f0 - x, s * f1 - y, s * f2 - z
