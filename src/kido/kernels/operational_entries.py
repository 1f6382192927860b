"""Calls from Python for operational space and articulated quantities of the state that is held.

`prescribed` is (dofs,) with 1.0 where a coordinate does not give way, or (0,). All return OK, REFUSED, or 2 + the index
of a coordinate whose inertia is not positive.
"""

from __future__ import annotations

from kido.jit import direct_entry, kernel, view
from kido.kernels import determinant, operational_space
from kido.kernels.entries import OK, REFUSED, copy_finite, inertias
from kido.kernels.forward_dynamics import acceleration_scatter, bias_gather
from kido.kernels.impulse import impulse_row
from kido.kernels.inverse_dynamics import accelerations
from kido.kernels.lazy import ensure_all_poses, ensure_all_velocities
from kido.kernels.members import member_inertias, member_momenta
from kido.kernels.states import load_velocities
from kido.math.so3 import cross
from kido.tree.schema import DATA, TREE
from kido.tree.workspace import MEMBERS, NODES

SINGULAR = -1  # of `operational_inertia`: the compliance has no inverse


@kernel
def answer(status):
    return OK if status < 0 else 2 + status


@direct_entry("i8(i8,i8,i8,f8[::1],i8,i8,f8[:,::1])")
def operational_compliance(tree, data, nodes, prescribed, first, count, out):
    """Lambda^-1 of the rows first..first+count-1 of each node."""
    t, d, w = view(TREE, tree), view(DATA, data), view(NODES, nodes)
    ensure_all_poses(t, d)
    status = operational_space.articulate(t, d, prescribed)
    operational_space.node_compliance(t, d, w, first, count, out)
    return answer(status)


@direct_entry("i8(i8,i8,i8,f8[::1],i8,i8,f8,f8[:,::1],f8[:,::1])")
def operational_inertia(tree, data, nodes, prescribed, first, count, damping, A, out):
    """Lambda = (Lambda^-1 + damping 1)^-1, with the matrix that is inverted in A; SINGULAR if it has no inverse."""
    t, d, w = view(TREE, tree), view(DATA, data), view(NODES, nodes)
    ensure_all_poses(t, d)
    status = operational_space.articulate(t, d, prescribed)
    if status >= 0:
        return 2 + status
    operational_space.node_compliance(t, d, w, first, count, A)
    for r in range(A.shape[0]):
        A[r, r] += damping
    return OK if operational_space.invert_positive(w, A, out) < 0 else SINGULAR


@direct_entry("i8(i8,i8,i8,f8[::1],f8[::1],f8[::1])")
def node_responses(tree, data, nodes, prescribed, J, Y):
    """J and (M^-1 J^T)^T, each (6 nodes, dofs), row after row."""
    t, d, w = view(TREE, tree), view(DATA, data), view(NODES, nodes)
    ensure_all_poses(t, d)
    status = operational_space.articulate(t, d, prescribed)
    n, m = t.parent.shape[0], d.q.shape[0]
    for k in range(J.shape[0]):
        J[k], Y[k] = 0.0, 0.0
    for j in range(w.link.shape[0]):
        x, y, z = operational_space.node_arm(d, w, j)
        for r in range(6):
            n0, n1, n2 = 1.0 if r == 0 else 0.0, 1.0 if r == 1 else 0.0, 1.0 if r == 2 else 0.0
            f0, f1, f2 = 1.0 if r == 3 else 0.0, 1.0 if r == 4 else 0.0, 1.0 if r == 5 else 0.0
            a, b, c = cross(x, y, z, f0, f1, f2)
            impulse_row(t, d, 0, n, w.link[j], 1.0, n0 + a, n1 + b, n2 + c, f0, f1, f2, J, Y, (6 * j + r) * m)
    return answer(status)


@direct_entry("i8(i8,i8,i8,i8,f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[:,::1])")
def node_accelerations(tree, data, nodes, free, prescribed, q, u, udot, tau, out):
    """[wdot; acceleration] (nodes, 6) of the nodes at given accelerations, or, if `free`, under given joint forces.

    Args:
        udot: accelerations; if `free`, of the prescribed coordinates alone.
    """
    t, d, w = view(TREE, tree), view(DATA, data), view(NODES, nodes)
    if load_velocities(t, d, t, q, u) != OK:
        return REFUSED
    if copy_finite(udot, d.udot) + copy_finite(tau, d.tau) != OK:
        return REFUSED
    status = -1
    n, m = t.parent.shape[0], d.q.shape[0]
    if free == 0:
        accelerations(t, d, 0, n)
    else:
        inertias(t, d)
        status = operational_space.articulate(t, d, prescribed)
        masked = prescribed.shape[0] == m
        if masked:
            for k in range(m):
                t.prescribed[k] = 1 if prescribed[k] != 0.0 else 0
        bias_gather(t, d, 0, n)
        acceleration_scatter(t, d, 0, n)
        if masked:
            for k in range(m):
                t.prescribed[k] = 0  # as it is but for the length of such a call
    operational_space.node_accelerations(t, d, w, out)
    return answer(status)


@direct_entry("i8(i8,i8,i8,f8[:,::1],f8[::1])")
def gather_wrenches(tree, data, nodes, wrenches, out):
    """J^T f (dofs,) of wrenches (nodes, 6) on the nodes, world axes."""
    t, d, w = view(TREE, tree), view(DATA, data), view(NODES, nodes)
    ensure_all_poses(t, d)
    operational_space.gather_wrenches(t, d, w, wrenches, out)
    return OK


@direct_entry("i8(i8,i8,f8[::1],f8[::1])")
def log_determinant(tree, data, prescribed, out):
    """out[0] = ln det M."""
    t, d = view(TREE, tree), view(DATA, data)
    ensure_all_poses(t, d)
    status = operational_space.articulate(t, d, prescribed)
    out[0] = determinant.log_determinant(t, d)
    return answer(status)


@direct_entry("i8(i8,i8,i8,f8[::1],f8[::1])")
def log_determinant_gradient(tree, data, nodes, prescribed, out):
    """Derivatives (dofs,) of ln det M along the velocities."""
    t, d, w = view(TREE, tree), view(DATA, data), view(NODES, nodes)
    ensure_all_poses(t, d)
    status = operational_space.articulate(t, d, prescribed)
    determinant.log_determinant_gradient(t, d, w, out)
    return answer(status)


@direct_entry("i8(i8,i8,f8[::1],i8,f8[::1],f8[::1])")
def diagonal_velocities(tree, data, prescribed, inverse, velocities, out):
    """nu of velocities, or velocities of nu."""
    t, d = view(TREE, tree), view(DATA, data)
    if copy_finite(velocities, d.e) != OK:
        return REFUSED
    ensure_all_poses(t, d)
    status = operational_space.articulate(t, d, prescribed)
    determinant.diagonal_velocities(t, d, inverse, velocities, out)
    return answer(status)


@direct_entry("i8(i8,i8,i8,i8,f8[::1],f8[:,:,::1])")
def body_inertias(tree, data, members, articulated, prescribed, out):
    """Composite or articulated inertias (bodies, 6, 6)."""
    t, d, s = view(TREE, tree), view(DATA, data), view(MEMBERS, members)
    ensure_all_poses(t, d)
    status = operational_space.articulate(t, d, prescribed) if articulated != 0 else -1
    member_inertias(t, d, s, articulated, out)
    return answer(status)


@direct_entry("i8(i8,i8,i8,f8[:,::1])")
def composite_momenta(tree, data, members, out):
    """[angular; linear] momentum (bodies, 6) of each body with all below it, about its origin."""
    t, d, s = view(TREE, tree), view(DATA, data), view(MEMBERS, members)
    ensure_all_poses(t, d)
    ensure_all_velocities(t, d)
    member_momenta(d, s, out)
    return OK
