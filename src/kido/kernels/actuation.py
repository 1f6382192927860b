"""What POSITION actuators measure and give: kp (q* - q) - kd u, within force limits."""

from __future__ import annotations

from kido.jit import direct_entry, kernel, view
from kido.joints.actuators import POSITION
from kido.joints.kinds import FREE
from kido.kernels.entries import OK
from kido.kernels.manifold import turn_between
from kido.kernels.springs import has_rotation
from kido.math.so3 import rotate_inverse, rotation_vector_to_matrix
from kido.tree.schema import DATA, TREE


@kernel
def position_error(t, d, k):
    """How far coordinate k is from the position asked for, along its velocity.

    q - q*; of rotation vectors a row of log(R*^T R), of the translation of a free joint in body axes of R^T (p - p*).
    """
    i = t.body_of_dof[k]
    first = t.first_dof[i]
    if t.kind[i] == FREE and k >= first + 3:
        R = rotation_vector_to_matrix(d.q[first], d.q[first + 1], d.q[first + 2])
        first += 3
        x, y, z = d.q[first] - d.command[first], d.q[first + 1] - d.command[first + 1], d.q[first + 2]
        x, y, z = rotate_inverse(R, x, y, z - d.command[first + 2])
    elif has_rotation(t, i) and k < first + 3:
        x, y, z = turn_between(d.command, d.q, first)
    else:
        return d.q[k] - d.command[k]
    if k == first:
        return x
    return y if k == first + 1 else z


@direct_entry("i8(i8,i8,f8[::1])")
def position_forces(tree, data, out):
    """Forces of the POSITION actuators at the state held; the other entries of `out` stay."""
    t = view(TREE, tree)
    d = view(DATA, data)
    for k in range(out.shape[0]):
        if t.actuator[k] == POSITION:
            force = -t.position_gain[k] * position_error(t, d, k) - t.velocity_gain[k] * d.u[k]
            out[k] = min(max(force, t.force_lower[k]), t.force_upper[k])
    return OK
