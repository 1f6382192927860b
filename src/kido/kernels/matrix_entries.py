"""Calls from Python for Jacobians between bodies and across joints, for forces, impulses and hybrid dynamics.

Points are in link axes.
"""

from __future__ import annotations

from kido.jit import direct_entry, entry, kernel, view
from kido.joints.frames import rotation_of
from kido.joints.motion import column_rate
from kido.kernels import bias, inverse_mass, members
from kido.kernels.entries import OK, REFUSED, copy_finite
from kido.kernels.forward_dynamics import accelerations_of_state, prescribed_forces
from kido.kernels.jacobian import (
    add_jacobian,
    add_jacobian_rate,
    clear,
    end_of,
    point_of,
    point_velocity,
    turn_rate,
)
from kido.kernels.lazy import ensure_all_poses, ensure_pose, ensure_velocity
from kido.kernels.springs import add_spring_forces
from kido.kernels.states import ensure_accelerations
from kido.math.so3 import cross, rotate_inverse
from kido.tree.schema import DATA, TREE
from kido.tree.workspace import MEMBERS, PATH


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


@kernel
def write_in_body_axes(d, i, out, k, w0, w1, w2, v0, v1, v2):
    """Column k of `out`: a spatial vector in world axes, turned into body i's."""
    R = rotation_of(d, i)
    out[0, k], out[1, k], out[2, k] = rotate_inverse(R, w0, w1, w2)
    out[3, k], out[4, k], out[5, k] = rotate_inverse(R, v0, v1, v2)


@entry("i8(i8,i8,i8,f8[:,::1])")
def joint_jacobian(tree, data, i, out):
    """S (6, n) of body i's joint in the body's axes."""
    t = view(TREE, tree)
    d = view(DATA, data)
    ensure_pose(t, d, i)
    first = t.first_dof[i]
    for k in range(first, t.first_dof[i + 1]):
        H = d.H
        write_in_body_axes(d, i, out, k - first, H[k, 0], H[k, 1], H[k, 2], H[k, 3], H[k, 4], H[k, 5])
    return 0


@entry("i8(i8,i8,i8,f8[:,::1])")
def joint_jacobian_rate(tree, data, i, out):
    """dS/dt (6, n): what H_k does with the parent side at rest, less what the body's axes do."""
    t = view(TREE, tree)
    d = view(DATA, data)
    ensure_velocity(t, d, i)
    first, end = t.first_dof[i], t.first_dof[i + 1]
    w0, w1, w2 = 0.0, 0.0, 0.0
    for k in range(first, end):
        w0, w1, w2 = w0 + d.u[k] * d.H[k, 0], w1 + d.u[k] * d.H[k, 1], w2 + d.u[k] * d.H[k, 2]
    for k in range(first, end):
        e0, e1, e2, e3, e4, e5 = column_rate(t, d, i, k)
        x, y, z = cross(w0, w1, w2, d.H[k, 0], d.H[k, 1], d.H[k, 2])
        a, b, c = cross(w0, w1, w2, d.H[k, 3], d.H[k, 4], d.H[k, 5])
        write_in_body_axes(d, i, out, k - first, e0 - x, e1 - y, e2 - z, e3 - a, e4 - b, e5 - c)
    return 0


@direct_entry("i8(i8,i8,f8[::1])")
def external_forces(tree, data, out):
    """J^T f (dofs,) of the held external forces."""
    t, d = view(TREE, tree), view(DATA, data)
    ensure_all_poses(t, d)
    bias.external_forces(t, d, out)
    return OK


@direct_entry("i8(i8,i8,f8[::1],f8[::1])")
def spring_forces(tree, data, q, out):
    """Forces (dofs,) of the joint springs at q; the data's tau is overwritten."""
    t, d = view(TREE, tree), view(DATA, data)
    if copy_finite(q, d.q) != OK:
        return REFUSED
    for k in range(out.shape[0]):
        d.tau[k] = 0.0
    add_spring_forces(t, d, 0, t.parent.shape[0], d.tau)
    for k in range(out.shape[0]):
        out[k] = d.tau[k]
    return OK


@direct_entry("i8(i8,i8,f8[::1],f8[:,::1],f8[::1])")
def velocity_changes(tree, data, impulses, wrenches, out):
    """M^-1 (impulses + J^T p), p (links, 6) about the links' origins; prescribed coordinates are rigid.

    Returns:
        0, REFUSED, or 2 + the index of a coordinate whose inertia is not positive.
    """
    t, d = view(TREE, tree), view(DATA, data)
    if copy_finite(impulses, d.e) != OK:
        return REFUSED
    ensure_all_poses(t, d)
    for i in range(t.parent.shape[0]):
        for r in range(6):
            d.f[i, r] = wrenches[i, r]
    status = int(inverse_mass.eliminate(t, d, 0.0, 1))
    inverse_mass.velocity_changes(t, d, impulses, out)
    return OK if status < 0 else 2 + status


@direct_entry("i8(i8,i8,f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1])")
def hybrid_dynamics(tree, data, q, u, values, prescribed, udot, tau):
    """Forces of prescribed coordinates from their accelerations, accelerations of the others from their forces.

    Args:
        values: accelerations where `prescribed` is 1.0, forces elsewhere.

    Returns:
        0, REFUSED, or 2 + the index of a coordinate whose inertia is not positive.
    """
    t, d = view(TREE, tree), view(DATA, data)
    if copy_finite(q, d.q) + copy_finite(u, d.u) + copy_finite(values, d.tau) != OK:
        return REFUSED
    m = tau.shape[0]
    if prescribed.shape[0] != m or udot.shape[0] != m:
        return REFUSED
    for k in range(m):
        d.udot[k] = values[k]
        udot[k] = t.prescribed[k]
        t.prescribed[k] = 1 if prescribed[k] != 0.0 else 0
    status = int(accelerations_of_state(t, d))
    prescribed_forces(t, d, 0, t.parent.shape[0])
    for k in range(m):
        t.prescribed[k] = int(udot[k])
        udot[k], tau[k] = d.udot[k], d.tau[k]
    return OK if status < 0 else 2 + status


@direct_entry("i8(i8,i8,i8,f8[:,::1],f8[:,::1])")
def reaction_wrenches(tree, data, chosen, external, out):
    """Wrenches (bodies, 6) through the joints, about the bodies' origins, world axes."""
    t, d, s = view(TREE, tree), view(DATA, data), view(MEMBERS, chosen)
    ensure_accelerations(t, d, t)
    members.reaction_wrenches(t, d, s, external, out)
    return OK
