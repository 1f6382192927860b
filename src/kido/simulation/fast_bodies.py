"""Single free bodies that turn by much of a radian in a step.

With R the rotation, w the angular velocity in body axes, c the centre of mass in them and x its place,

    v = xdot - R (w x c),    p = x - R c

are the velocity and the place of the origin, which coordinates are about. The rule of a step takes both linearly from
one half of it to the other, with errors of second order in the angle of the step. Here x takes the place of p: it goes
with the mean of its velocities, on its parabola exactly, and v and p follow from the rotations at hand. Angular
velocities keep their energy (`kido.kernels.free_lanes`).
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.joints.frames import rotation_of
from kido.kernels.free_lanes import COM_AT, FAST, INERTIA_AT, INVERSE_AT, OFF_CENTRE, energy_kept, spin_up
from kido.math.so3 import advance_rotation_vector, cross, rotate, rotate_inverse, rotation_vector_to_matrix


@kernel
def is_fast(r, body, u, k, h):
    """Whether a free body with its centre of mass off its origin turns fast; its first coordinate is k."""
    if r.free[body] != OFF_CENTRE:
        return False
    return h * h * (u[k] * u[k] + u[k + 1] * u[k + 1] + u[k + 2] * u[k + 2]) > FAST * FAST


@inlined
def _centre(number, body):
    return number[body, COM_AT], number[body, COM_AT + 1], number[body, COM_AT + 2]


@inlined
def _six(number, body, k):
    return (
        number[body, k], number[body, k + 1], number[body, k + 2],
        number[body, k + 3], number[body, k + 4], number[body, k + 5],
    )  # fmt: skip


@kernel
def turned(q, k, w0, w1, w2, time):
    """Rotation at coordinates q[k..] after a time with angular velocity w."""
    x, y, z = advance_rotation_vector(q[k], q[k + 1], q[k + 2], time * w0, time * w1, time * w2)
    return rotation_vector_to_matrix(x, y, z)


@kernel
def arm(R, c, w, time):
    """R (c + time w x c): where the centre of mass is from the origin, and how far it gets beside it."""
    x, y, z = cross(w[0], w[1], w[2], c[0], c[1], c[2])
    return rotate(R, c[0] + time * x, c[1] + time * y, c[2] + time * z)


@kernel
def move_origin(q, k, plus, minus):
    """Move the origin by the difference of two vectors."""
    for j in range(3):
        q[k + 3 + j] += plus[j] - minus[j]


@kernel
def place_at_middle(d, start_u, number, body, k, h):
    """Origin at mid-step from the centre of mass there; positions have been moved by h/2 start_u."""
    c = _centre(number, body)
    w = start_u[k], start_u[k + 1], start_u[k + 2]
    start = turned(d.q, k, w[0], w[1], w[2], -0.5 * h)
    R = rotation_vector_to_matrix(d.q[k], d.q[k + 1], d.q[k + 2])
    move_origin(d.q, k, arm(start, c, w, 0.5 * h), rotate(R, c[0], c[1], c[2]))


@kernel
def keep_energy(d, u_free, start_u, number, body, k, h):
    """Angular part of u_free with the energy of the start, what forces give it apart.

    d.V has the velocities at mid-step that accelerations were made with.
    """
    w = start_u[k], start_u[k + 1], start_u[k + 2]
    inertia, inverse = _six(number, body, INERTIA_AT), _six(number, body, INVERSE_AT)
    mid = rotate_inverse(rotation_of(d, body), d.V[body, 0], d.V[body, 1], d.V[body, 2])
    a = spin_up(inertia, inverse, mid)
    new = w[0] + h * a[0], w[1] + h * a[1], w[2] + h * a[2]
    s = energy_kept(inertia, w, new, h) - 1.0
    if s != 0.0:
        for j in range(3):
            u_free[k + j] += s * new[j]


@kernel
def keep_centre(d, u_free, start_u, number, body, k, h):
    """Linear part of u_free from the velocity of the centre of mass; angular parts are there."""
    c = _centre(number, body)
    R = rotation_of(d, body)
    w = d.V[body, 0], d.V[body, 1], d.V[body, 2]
    x = rotate(R, c[0], c[1], c[2])
    b = rotate(R, d.udot[k], d.udot[k + 1], d.udot[k + 2])
    a = cross(b[0], b[1], b[2], x[0], x[1], x[2])
    y = cross(w[0], w[1], w[2], x[0], x[1], x[2])
    y = cross(w[0], w[1], w[2], y[0], y[1], y[2])
    w = start_u[k], start_u[k + 1], start_u[k + 2]
    before = cross(w[0], w[1], w[2], c[0], c[1], c[2])
    before = rotate(turned(d.q, k, w[0], w[1], w[2], -0.5 * h), before[0], before[1], before[2])
    w = u_free[k], u_free[k + 1], u_free[k + 2]
    after = cross(w[0], w[1], w[2], c[0], c[1], c[2])
    after = rotate(turned(d.q, k, w[0], w[1], w[2], 0.5 * h), after[0], after[1], after[2])
    for j in range(3):
        u_free[k + 3 + j] = start_u[k + 3 + j] + before[j] + h * (d.udot[k + 3 + j] + a[j] + y[j]) - after[j]


@kernel
def place_at_end(d, u, number, body, k, h):
    """Origin at the end of a step, where positions have been moved from mid-step by h/2 u."""
    c = _centre(number, body)
    w = u[k], u[k + 1], u[k + 2]
    end = rotation_vector_to_matrix(d.q[k], d.q[k + 1], d.q[k + 2])
    before, after = rotate(rotation_of(d, body), c[0], c[1], c[2]), arm(end, c, w, -0.5 * h)
    move_origin(d.q, k, before, after)
