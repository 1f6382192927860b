"""Calls from Python for Jacobians; `given` as in `kido.kernels.states`. Points are in the axes of their link."""

from __future__ import annotations

from kido.jit import direct_entry, view
from kido.kernels.entries import OK, REFUSED, copy_finite
from kido.kernels.jacobian import (
    add_jacobian,
    add_jacobian_rate,
    clear,
    end_of,
    point_of,
    point_velocity,
    turn_rate,
)
from kido.kernels.kinematics import body_pose
from kido.kernels.placement import write_pose
from kido.kernels.states import load_path, load_path_velocities
from kido.tree.schema import DATA, TREE
from kido.tree.selection import PATH


@direct_entry("i8(i8,i8,i8,i8,f8[::1],f8[:,::1])")
def pose(tree, data, path, member, q, X):
    """World transform (4, 4) at q of a body of the skeleton, which the link that a path leads to carries."""
    t, d, a = view(TREE, tree), view(DATA, data), view(PATH, path)
    if copy_finite(q, d.q) != OK:
        return REFUSED
    for n in range(a.body.shape[0]):
        body_pose(t, d, a.body[n])
    write_pose(t, d, member, X)
    return OK


@direct_entry("i8(i8,i8,i8,i8,f8,f8,f8,f8[::1],f8[:,::1])")
def jacobian(tree, data, path, given, x, y, z, q, J):
    """J (6, dofs) of a point of the body that a path leads to."""
    t, d, a = view(TREE, tree), view(DATA, data), view(PATH, path)
    if load_path(t, d, a, given, q) != OK:
        return REFUSED
    px, py, pz = point_of(d, end_of(a), x, y, z)
    clear(J)
    add_jacobian(t, d, a, px, py, pz, 1.0, J)
    return OK


@direct_entry("i8(i8,i8,i8,i8,i8,f8,f8,f8,f8[::1],f8[::1],f8[:,::1])")
def jacobian_rate(tree, data, path, given, spatial, x, y, z, q, u, J):
    """Rate of `jacobian`: classic, or spatial."""
    t, d, a = view(TREE, tree), view(DATA, data), view(PATH, path)
    if load_path_velocities(t, d, a, given, q, u) != OK:
        return REFUSED
    i = end_of(a)
    px, py, pz = point_of(d, i, x, y, z)
    vx, vy, vz = 0.0, 0.0, 0.0
    if spatial == 0:
        vx, vy, vz = point_velocity(d, i, px, py, pz)
    clear(J)
    add_jacobian_rate(t, d, a, px, py, pz, vx, vy, vz, 1.0, J)
    return OK


@direct_entry("i8(i8,i8,i8,i8,i8,f8,f8,f8,f8[::1],f8[:,::1])")
def relative_jacobian(tree, data, path, other, given, x, y, z, q, J):
    """J (6, dofs) of a point of the body of `path`, as seen from the body of `other`; world axes."""
    t, d, a, b = view(TREE, tree), view(DATA, data), view(PATH, path), view(PATH, other)
    if load_path(t, d, a, given, q) + load_path(t, d, b, given, q) != OK:
        return REFUSED
    px, py, pz = point_of(d, end_of(a), x, y, z)
    clear(J)
    add_jacobian(t, d, a, px, py, pz, 1.0, J)
    add_jacobian(t, d, b, px, py, pz, -1.0, J)
    return OK


@direct_entry("i8(i8,i8,i8,i8,i8,f8,f8,f8,f8[::1],f8[::1],f8[:,::1],f8[:,::1])")
def relative_jacobian_rate(tree, data, path, other, given, x, y, z, q, u, K, J):
    """Rate of `relative_jacobian` as seen from the body of `other`, in J; K becomes the Jacobian itself."""
    t, d, a, b = view(TREE, tree), view(DATA, data), view(PATH, path), view(PATH, other)
    if load_path_velocities(t, d, a, given, q, u) + load_path_velocities(t, d, b, given, q, u) != OK:
        return REFUSED
    px, py, pz = point_of(d, end_of(a), x, y, z)
    vx, vy, vz = point_velocity(d, end_of(a), px, py, pz)
    clear(K)
    add_jacobian(t, d, a, px, py, pz, 1.0, K)
    add_jacobian(t, d, b, px, py, pz, -1.0, K)
    clear(J)
    add_jacobian_rate(t, d, a, px, py, pz, vx, vy, vz, 1.0, J)
    add_jacobian_rate(t, d, b, px, py, pz, vx, vy, vz, -1.0, J)
    i = end_of(b)
    turn_rate(d.V[i, 0], d.V[i, 1], d.V[i, 2], K, J)
    return OK
