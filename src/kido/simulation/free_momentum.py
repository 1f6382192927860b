"""First half of a step of single free bodies on which more than gravity acts; `kido.kernels.free_lanes` has the rule.

Such a body goes the general way of trees, whose coordinates are about its origin, from the start of the step to
accelerations at mid-step. Here its place and its u_free become those of its centre of mass and its momentum.
"""

from __future__ import annotations

from kido.jit import kernel
from kido.joints.frames import rotation_of
from kido.kernels.free_lanes import (
    carried_spin,
    centre_of_mass,
    energy_kept,
    excess_turn,
    inertia_about_centre,
    inverse_about_centre,
    offset_velocity,
    spin_up,
)
from kido.math.so3 import advance_rotation_vector, cross, rotate, rotate_inverse, rotation_vector_to_matrix


@kernel
def turned(q, k, w, time):
    """Rotation at coordinates q[k..] after a time with angular velocity w."""
    x, y, z = advance_rotation_vector(q[k], q[k + 1], q[k + 2], time * w[0], time * w[1], time * w[2])
    return rotation_vector_to_matrix(x, y, z)


@kernel
def place_at_middle(d, start_u, number, body, k, time):
    """Origin at mid-step from the centre of mass there; positions have been moved by start_u for a time."""
    c = centre_of_mass(number, body)
    w = start_u[k], start_u[k + 1], start_u[k + 2]
    start = turned(d.q, k, w, -time)
    R = rotation_vector_to_matrix(d.q[k], d.q[k + 1], d.q[k + 2])
    before, beside = rotate(start, c[0], c[1], c[2]), offset_velocity(start, w, c)
    after = rotate(R, c[0], c[1], c[2])
    for j in range(3):
        d.q[k + 3 + j] += before[j] + time * beside[j] - after[j]


@kernel
def keep_energy(d, u_free, start_u, number, body, k, h):
    """Angular part of u_free with the energy of the start, what forces give it apart.

    d.V has the velocities at mid-step that accelerations were made with.
    """
    w = start_u[k], start_u[k + 1], start_u[k + 2]
    inertia, inverse = inertia_about_centre(number, body), inverse_about_centre(number, body)
    mid = rotate_inverse(rotation_of(d, body), d.V[body, 0], d.V[body, 1], d.V[body, 2])
    a = spin_up(inertia, inverse, mid)
    new = w[0] + h * a[0], w[1] + h * a[1], w[2] + h * a[2]
    s = energy_kept(inertia, w, new, h) - 1.0
    if s != 0.0:
        for j in range(3):
            u_free[k + j] += s * new[j]


@kernel
def keep_momentum(d, u_free, start_u, number, body, k, middle, h):
    """u_free of a body from its momentum, or where it turns fast from its energy and its linear momentum.

    d.V and d.udot are velocities and accelerations at mid-step.
    """
    c = centre_of_mass(number, body)
    inertia, inverse = inertia_about_centre(number, body), inverse_about_centre(number, body)
    R = rotation_of(d, body)
    w = start_u[k], start_u[k + 1], start_u[k + 2]
    start = turned(d.q, k, w, -middle)
    mid = rotate_inverse(R, d.V[body, 0], d.V[body, 1], d.V[body, 2])
    if excess_turn(w, h) > 0.0:
        keep_energy(d, u_free, start_u, number, body, k, h)
    else:
        a, b = spin_up(inertia, inverse, mid), carried_spin(inertia, inverse, start, R, w)
        for j in range(3):
            u_free[k + j] = b[j] + h * (d.udot[k + j] - a[j])
    before = offset_velocity(start, w, c)
    after = offset_velocity(R, (u_free[k], u_free[k + 1], u_free[k + 2]), c)
    turn = offset_velocity(R, (d.udot[k], d.udot[k + 1], d.udot[k + 2]), c)
    x, y, z = cross(mid[0], mid[1], mid[2], c[0], c[1], c[2])
    pull = offset_velocity(R, mid, (x, y, z))
    for j in range(3):
        u_free[k + 3 + j] = start_u[k + 3 + j] + before[j] + h * (d.udot[k + 3 + j] + turn[j] + pull[j]) - after[j]
