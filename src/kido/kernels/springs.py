"""Joint springs: potential energies and forces.

A coordinate that is a number has k (q - q0)^2 / 2. Three that are a rotation R = exp(q) have a potential on the
rotations themselves, so that it is the same for every rotation vector of one rotation, and smooth at all angles:
with the unit quaternion (w, v) of R0^T R, R0 = exp(q0),

    V = 2 v . K v,    torque in body axes = -2 (w K v + K v x v).

For one stiffness k that is V = k (1 - cos angle) and -k sin(angle) about the axis; for small angles it is the
ordinary spring in each body axis.
"""

from __future__ import annotations

from kido.jit import kernel
from kido.joints.kinds import BALL, FREE, FREE_MIXED
from kido.math.choices import any_positive
from kido.math.so3 import (
    cross,
    quaternion_product,
    rotate_inverse,
    rotation_vector_to_matrix,
    rotation_vector_to_quaternion,
)


@kernel
def has_rotation(t, i):
    """Whether the first three coordinates of body i's joint are a rotation vector."""
    kind = t.kind[i]
    return kind == BALL or kind == FREE or kind == FREE_MIXED


@kernel
def turn_from_rest(t, d, k):
    """Quaternion of R0^T R for the rotation in coordinates k, k+1, k+2."""
    a, x, y, z = rotation_vector_to_quaternion(t.rest[k], t.rest[k + 1], t.rest[k + 2])
    b, p, q, r = rotation_vector_to_quaternion(d.q[k], d.q[k + 1], d.q[k + 2])
    return quaternion_product(a, -x, -y, -z, b, p, q, r)


@kernel
def rotation_spring_energy(t, d, k):
    """V of the rotation in coordinates k, k+1, k+2 [J]."""
    _, x, y, z = turn_from_rest(t, d, k)
    return 2.0 * (t.stiffness[k] * x * x + t.stiffness[k + 1] * y * y + t.stiffness[k + 2] * z * z)


@kernel
def rotation_spring_torque(t, d, k):
    """Torque of that spring in body axes [N m]."""
    if not any_positive(t.stiffness[k] + t.stiffness[k + 1] + t.stiffness[k + 2]):
        return 0.0, 0.0, 0.0
    w, x, y, z = turn_from_rest(t, d, k)
    a, b, c = t.stiffness[k] * x, t.stiffness[k + 1] * y, t.stiffness[k + 2] * z
    e, f, g = cross(a, b, c, x, y, z)
    return -2.0 * (w * a + e), -2.0 * (w * b + f), -2.0 * (w * c + g)


@kernel
def joint_spring_energy(t, d, i):
    """Potential energy of the springs of body i's joint [J]."""
    total = 0.0
    k = t.first_dof[i]
    if has_rotation(t, i):
        total += rotation_spring_energy(t, d, k)
        k += 3
    for j in range(k, t.first_dof[i + 1]):
        x = d.q[j] - t.rest[j]
        total += 0.5 * t.stiffness[j] * x * x
    return total


@kernel
def add_spring_forces(t, d, first, last, out):
    """Add the forces of the joint springs of bodies first..last-1 to `out` (dofs,).

    The linear spring of a free joint acts along the axes of the joint's parent-side frame.
    """
    for i in range(first, last):
        k = t.first_dof[i]
        if has_rotation(t, i):
            x, y, z = rotation_spring_torque(t, d, k)
            out[k] += x
            out[k + 1] += y
            out[k + 2] += z
            k += 3
        if t.kind[i] == FREE:
            R = rotation_vector_to_matrix(d.q[k - 3], d.q[k - 2], d.q[k - 1])
            x = t.stiffness[k] * (d.q[k] - t.rest[k])
            y = t.stiffness[k + 1] * (d.q[k + 1] - t.rest[k + 1])
            z = t.stiffness[k + 2] * (d.q[k + 2] - t.rest[k + 2])
            x, y, z = rotate_inverse(R, x, y, z)
            out[k] -= x
            out[k + 1] -= y
            out[k + 2] -= z
        else:
            for j in range(k, t.first_dof[i + 1]):
                out[j] -= t.stiffness[j] * (d.q[j] - t.rest[j])


@kernel
def add_passive_forces(t, d, first, last):
    """Add the forces of springs and dampers of bodies first..last-1 to tau; free joints are FREE_MIXED."""
    for i in range(first, last):
        k = t.first_dof[i]
        if has_rotation(t, i):
            x, y, z = rotation_spring_torque(t, d, k)
            d.tau[k] += x - t.damping[k] * d.u[k]
            d.tau[k + 1] += y - t.damping[k + 1] * d.u[k + 1]
            d.tau[k + 2] += z - t.damping[k + 2] * d.u[k + 2]
            k += 3
        for j in range(k, t.first_dof[i + 1]):
            d.tau[j] -= t.damping[j] * d.u[j] + t.stiffness[j] * (d.q[j] - t.rest[j])
