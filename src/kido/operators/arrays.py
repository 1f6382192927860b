"""Arrays of a list of bodies at one state, and of nodes on them, and how they come from those of a skeleton.

A body of the list that is welded to another has a hinge of no coordinates. With alpha0 the inertial derivative of
[w; v] when no coordinate accelerates, the velocity products are a(k) = alpha0(k) - phi*(p, k) alpha0(p), p the
body's parent, welded or not. Source: theory of spatial operators, Jain, Vaidehi, Rodriguez (1993).
"""

from __future__ import annotations

from kido.jit import Struct, direct_entry, floats, inlined, integers, kernel, view
from kido.kernels.entries import OK, REFUSED, copy_finite
from kido.kernels.inverse_dynamics import accelerations
from kido.kernels.kinematics import transforms, velocities
from kido.kernels.members import member_arm, member_rotation
from kido.math.so3 import cross, multiply_symmetric, rotate, rotate_symmetric
from kido.tree.schema import DATA, TREE
from kido.tree.workspace import MEMBERS

# The bodies here are a skeleton's bodies one by one, welded ones too. Frames as in kido.tree: spatial vectors are
# [angular; linear] in world axes about each body's own origin.


class BODIES(Struct):
    member = integers("bodies", doc="the body's index in the skeleton")
    parent = integers("bodies", doc="place of its parent in the list; -1: a root of the list")
    massed = integers("bodies", doc="index of the body whose inertia it has: itself, but for parts of flexible bodies")
    frozen = integers("frozen", 2, doc="bodies below the list that it carries: a place, the body's index")
    first_dof = integers("bodies1", doc="first free coordinate of the body's hinge; the last entry is the total")
    source = integers("dofs", doc="place of each free coordinate in the skeleton's state")
    first_given = integers("bodies1", doc="first prescribed coordinate of the hinge; the last is the total")
    given_source = integers("given", doc="place of each prescribed coordinate in the skeleton's state")
    p = floats("bodies", 3, unit="m", doc="origin in the world")
    R = floats("bodies", 9, doc="rotation from its axes to the world's")
    l = floats("bodies", 3, unit="m", doc="origin from the parent's; 0 for roots of the list")  # noqa: E741
    H = floats("dofs", 6, doc="H*(k): a row for each free coordinate")
    armature = floats("dofs", unit="kg or kg m^2", doc="rotor inertia of each free coordinate")
    H_given = floats("given", 6, doc="the same of the prescribed coordinates")
    V = floats("bodies", 6, unit="rad/s, m/s", doc="spatial velocity")
    a = floats("bodies", 6, doc="velocity-product acceleration a(k)")
    b = floats("bodies", 6, unit="N m, N", doc="gyroscopic wrench b(k)")
    weight = floats("bodies", 6, unit="N m, N", doc="wrench of gravity")
    V_boundary = floats("bodies", 6, doc="phi*(p, k) V(p) of roots whose parent is outside the list")
    A_boundary = floats("bodies", 6, doc="phi*(p, k) alpha(p) of these, with all coordinates at rest")
    M = floats("bodies", 6, 6, doc="spatial inertia, with that of frozen bodies")
    P = floats("bodies", 6, 6, doc="articulated inertia")
    G = floats("dofs", 6, doc="G(k) = P H* D^-1, a row for each free coordinate")
    D = floats("bodies", 6, 6, doc="D(k) = H P H* + J_a in the leading rows and columns")
    D_inverse = floats("bodies", 6, 6, doc="its inverse, likewise")
    tau = floats("bodies", 6, 6, doc="tau(k) = I - G H")
    work = floats(3, 6, 6, doc="work space")


class NODES(Struct):
    body = integers("nodes", doc="place of each node's body in the list")
    row = integers("nodes", doc="first row of its motion in vectors of all bodies")
    arm = floats("nodes", 3, unit="m", doc="node's origin from the body's, world axes")


@inlined
def member_motion(t, d, s, b):
    """Origin, [w; v] and [wdot; acceleration] of body b in the world."""
    i = s.link[b]
    rx, ry, rz = member_arm(d, s, b)
    w0, w1, w2 = d.V[i, 0], d.V[i, 1], d.V[i, 2]
    v0, v1, v2 = cross(w0, w1, w2, rx, ry, rz)
    c0, c1, c2 = cross(w0, w1, w2, v0, v1, v2)
    e0, e1, e2 = cross(d.A[i, 0], d.A[i, 1], d.A[i, 2], rx, ry, rz)
    return (
        (d.p[i, 0] + rx, d.p[i, 1] + ry, d.p[i, 2] + rz),
        (w0, w1, w2, d.V[i, 3] + v0, d.V[i, 4] + v1, d.V[i, 5] + v2),
        (
            d.A[i, 0], d.A[i, 1], d.A[i, 2],
            d.A[i, 3] + e0 + c0 + t.gravity[0],  # A is less gravity
            d.A[i, 4] + e1 + c1 + t.gravity[1],
            d.A[i, 5] + e2 + c2 + t.gravity[2],
        ),
    )  # fmt: skip


@inlined
def take_motion(t, d, s, o, k):
    """R, p, l, V, a and what comes from beyond the boundary, of place k."""
    b = o.member[k]
    p, V, A = member_motion(t, d, s, b)
    for r in range(3):
        o.p[k, r] = p[r]
        o.l[k, r] = 0.0
    R = member_rotation(d, s, b)
    for r in range(9):
        o.R[k, r] = R[r]
    for r in range(6):
        o.V[k, r] = V[r]
        o.a[k, r] = A[r]
        o.V_boundary[k, r] = 0.0
        o.A_boundary[k, r] = 0.0
    above = s.parent[b]
    if above >= 0:
        q, U, B = member_motion(t, d, s, above)
        x, y, z = p[0] - q[0], p[1] - q[1], p[2] - q[2]
        v0, v1, v2 = cross(U[0], U[1], U[2], x, y, z)
        c0, c1, c2 = cross(B[0], B[1], B[2], x, y, z)
        U = (U[0], U[1], U[2], U[3] + v0, U[4] + v1, U[5] + v2)
        B = (B[0], B[1], B[2], B[3] + c0, B[4] + c1, B[5] + c2)
        for r in range(6):
            o.a[k, r] -= B[r]
        if o.parent[k] >= 0:
            o.l[k, 0], o.l[k, 1], o.l[k, 2] = x, y, z
        else:
            for r in range(6):
                o.V_boundary[k, r] = U[r]
                o.A_boundary[k, r] = B[r]


@inlined
def add_body(t, d, s, o, k, b):
    """Inertia and weight of body b, as if it were part of the body at place k."""
    R = member_rotation(d, s, b)
    x, y, z = member_arm(d, s, b)
    link = s.link[b]
    x, y, z = d.p[link, 0] + x - o.p[k, 0], d.p[link, 1] + y - o.p[k, 1], d.p[link, 2] + z - o.p[k, 2]
    K = s.inertia
    mc = rotate(R, K[b, 1], K[b, 2], K[b, 3])
    J = rotate_symmetric(R, (K[b, 4], K[b, 5], K[b, 6], K[b, 7], K[b, 8], K[b, 9]))
    add_inertia(t, o, k, link, K[b, 0], mc, J, x, y, z)


@inlined
def add_inertia(t, o, k, link, m, mc, J, x, y, z):
    """Inertia and weight of something on a link, whose origin is (x, y, z) from that of place k; world axes."""
    M = o.M
    c0, c1, c2 = mc
    J0, J1, J2, J3, J4, J5 = J
    # About an origin that is further by r: J + 2 (r . mc) 1 - r mc^T - mc r^T + m (r . r 1 - r r^T)
    e0, e1, e2 = 2.0 * c0 + m * x, 2.0 * c1 + m * y, 2.0 * c2 + m * z
    J0, J3, J5 = J0 + y * e1 + z * e2, J3 + x * e0 + z * e2, J5 + x * e0 + y * e1
    J1 -= x * c1 + y * c0 + m * x * y
    J2 -= x * c2 + z * c0 + m * x * z
    J4 -= y * c2 + z * c1 + m * y * z
    c0, c1, c2 = c0 + m * x, c1 + m * y, c2 + m * z
    M[k, 0, 0], M[k, 0, 1], M[k, 0, 2] = M[k, 0, 0] + J0, M[k, 0, 1] + J1, M[k, 0, 2] + J2
    M[k, 1, 1], M[k, 1, 2], M[k, 2, 2] = M[k, 1, 1] + J3, M[k, 1, 2] + J4, M[k, 2, 2] + J5
    M[k, 0, 4], M[k, 0, 5], M[k, 1, 5] = M[k, 0, 4] - c2, M[k, 0, 5] + c1, M[k, 1, 5] - c0
    M[k, 3, 3] += m
    g = t.gravity_factor[link]
    g0, g1, g2 = g * t.gravity[0], g * t.gravity[1], g * t.gravity[2]
    n0, n1, n2 = cross(c0, c1, c2, g0, g1, g2)
    W = o.weight
    W[k, 0], W[k, 1], W[k, 2] = W[k, 0] + n0, W[k, 1] + n1, W[k, 2] + n2
    W[k, 3], W[k, 4], W[k, 5] = W[k, 3] + m * g0, W[k, 4] + m * g1, W[k, 5] + m * g2


@inlined
def complete_inertia(o, k):
    """The numbers of M(k) that follow from others, and b(k)."""
    M = o.M
    m, c0, c1, c2 = M[k, 3, 3], -M[k, 1, 5], M[k, 0, 5], -M[k, 0, 4]
    M[k, 4, 4], M[k, 5, 5] = m, m
    M[k, 1, 3], M[k, 2, 3], M[k, 2, 4] = c2, -c1, c0
    for r in range(6):
        for c in range(r):
            M[k, r, c] = M[k, c, r]
    w0, w1, w2 = o.V[k, 0], o.V[k, 1], o.V[k, 2]
    J = (M[k, 0, 0], M[k, 0, 1], M[k, 0, 2], M[k, 1, 1], M[k, 1, 2], M[k, 2, 2])
    h0, h1, h2 = multiply_symmetric(J, w0, w1, w2)
    o.b[k, 0], o.b[k, 1], o.b[k, 2] = cross(w0, w1, w2, h0, h1, h2)
    x, y, z = cross(w0, w1, w2, c0, c1, c2)
    o.b[k, 3], o.b[k, 4], o.b[k, 5] = cross(w0, w1, w2, x, y, z)


@kernel
def start_bodies(t, d, s, o):
    """Motion, inertia and weight of the list, from motions of links at rest in the sense of accelerations."""
    for k in range(o.parent.shape[0]):
        take_motion(t, d, s, o, k)
        for r in range(6):
            o.weight[k, r] = 0.0
            for c in range(6):
                o.M[k, r, c] = 0.0
        add_body(t, d, s, o, k, o.massed[k])
    for i in range(o.frozen.shape[0]):
        add_body(t, d, s, o, o.frozen[i, 0], o.frozen[i, 1])


@kernel
def finish_bodies(t, d, o):
    """All other fields that depend on the state but for articulated ones."""
    for k in range(o.parent.shape[0]):
        complete_inertia(o, k)
    for k in range(o.source.shape[0]):
        for r in range(6):
            o.H[k, r] = d.H[o.source[k], r]
        o.armature[k] = t.armature[o.source[k]]
    for k in range(o.given_source.shape[0]):
        for r in range(6):
            o.H_given[k, r] = d.H[o.given_source[k], r]


@kernel
def take_snapshot(t, d, s, o):
    """All fields of the list that depend on the state but for articulated ones."""
    n = t.parent.shape[0]
    for k in range(d.udot.shape[0]):
        d.udot[k] = 0.0
    transforms(t, d, 0, n)
    velocities(t, d, 0, n)
    accelerations(t, d, 0, n)
    start_bodies(t, d, s, o)
    finish_bodies(t, d, o)


@direct_entry("i8(i8,i8,i8,i8,f8[::1],f8[::1])")
def snapshot_of(tree, data, members, bodies, q, u):
    """Fill the list of bodies from the state (q, u); the data is work space."""
    t, d = view(TREE, tree), view(DATA, data)
    if copy_finite(q, d.q) + copy_finite(u, d.u) != OK:
        return REFUSED
    take_snapshot(t, d, view(MEMBERS, members), view(BODIES, bodies))
    return OK
