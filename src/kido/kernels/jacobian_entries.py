"""Calls from Python for Jacobians of a point as seen from another body, at the state held. Points are in link axes."""

from __future__ import annotations

from kido.jit import direct_entry, view
from kido.kernels.entries import OK
from kido.kernels.jacobian import (
    add_jacobian,
    add_jacobian_rate,
    clear,
    end_of,
    point_of,
    point_velocity,
    turn_rate,
)
from kido.kernels.lazy import ensure_pose, ensure_velocity
from kido.tree.schema import DATA, TREE
from kido.tree.selection import PATH


@direct_entry("i8(i8,i8,i8,i8,f8,f8,f8,f8[:,::1],f8[:,::1])")
def relative_jacobian(tree, data, path, other, x, y, z, K, J):
    """K (6, dofs) of a point of the body of `path`, as seen from the body of `other`; world axes. J stays."""
    t, d, a, b = view(TREE, tree), view(DATA, data), view(PATH, path), view(PATH, other)
    ensure_pose(t, d, end_of(a))
    ensure_pose(t, d, end_of(b))
    px, py, pz = point_of(d, end_of(a), x, y, z)
    clear(K)
    add_jacobian(t, d, a, px, py, pz, 1.0, K)
    add_jacobian(t, d, b, px, py, pz, -1.0, K)
    return OK


@direct_entry("i8(i8,i8,i8,i8,f8,f8,f8,f8[:,::1],f8[:,::1])")
def relative_jacobian_rate(tree, data, path, other, x, y, z, K, J):
    """Rate of `relative_jacobian` as seen from the body of `other`, in J; K becomes the Jacobian itself."""
    t, d, a, b = view(TREE, tree), view(DATA, data), view(PATH, path), view(PATH, other)
    ensure_velocity(t, d, end_of(a))
    ensure_velocity(t, d, end_of(b))
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
