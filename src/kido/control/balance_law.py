"""Balance on the ankles, compiled: where the centre of mass is over the feet, and angular momentum."""

from __future__ import annotations

import math

from kido.jit import Struct, floats, inlined, integers, kernel, number, reference
from kido.kernels.composites import gather_composites
from kido.kernels.kinematics import rotation_of
from kido.kernels.momentum import com_state, momentum_matrix
from kido.math.so3 import cross, rotate
from kido.tree.workspace import SUBSET

_LEAST = 1e-9  # share of the trace of A A^T by which its inverse is a pseudo-inverse


class BALANCE(Struct):
    bodies = reference(SUBSET, doc="inertias of all bodies of the model")
    foot = integers("feet", doc="link of each point, whose mean the centre of mass is to be over")
    offset = floats("feet", 3, unit="m", doc="the point in the link's axes")
    ankle_kp = floats("dofs", unit="N", doc="force of the feet by which the centre of mass is off, per metre; 0: none")
    ankle_kd = floats("dofs", unit="N s", doc="the same by its velocity")
    upper = floats("dofs", doc="1: the coordinate regulates angular momentum")
    momentum = number("N m s/rad", doc="gain of angular momentum")
    reach = number("m", doc="farther off than this there is nothing but stable PD")
    A = floats(6, "dofs", doc="work: centroidal momentum matrix")


@inlined
def cut(x, y, z, n0, n1, n2):
    """The part of a vector across a direction."""
    along = x * n0 + y * n1 + z * n2
    return x - along * n0, y - along * n1, z - along * n2


@kernel
def feet_motion(d, b):
    """Mean position and velocity of the feet's points."""
    count = b.foot.shape[0]
    x, y, z, vx, vy, vz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    V = d.V
    for j in range(count):
        i = b.foot[j]
        r0, r1, r2 = rotate(rotation_of(d, i), b.offset[j, 0], b.offset[j, 1], b.offset[j, 2])
        c0, c1, c2 = cross(V[i, 0], V[i, 1], V[i, 2], r0, r1, r2)
        x += (d.p[i, 0] + r0) / count
        y += (d.p[i, 1] + r1) / count
        z += (d.p[i, 2] + r2) / count
        vx += (V[i, 3] + c0) / count
        vy += (V[i, 4] + c1) / count
        vz += (V[i, 5] + c2) / count
    return x, y, z, vx, vy, vz


@kernel
def add_momentum_forces(b, u, force, n0, n1, n2):
    """tau += -k A^T (A A^T)^-1 L, A the rows of horizontal angular momentum, on the upper body's columns."""
    # Any two horizontal axes give the same forces.
    s0, s1, s2 = cut(1.0, 0.0, 0.0, n0, n1, n2) if abs(n0) < 0.8 else cut(0.0, 1.0, 0.0, n0, n1, n2)
    size = math.sqrt(s0 * s0 + s1 * s1 + s2 * s2)
    s0, s1, s2 = s0 / size, s1 / size, s2 / size
    e0, e1, e2 = cross(n0, n1, n2, s0, s1, s2)
    A = b.A
    xx, xy, yy, x, y = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(force.shape[0]):
        p = s0 * A[0, k] + s1 * A[1, k] + s2 * A[2, k]
        q = e0 * A[0, k] + e1 * A[1, k] + e2 * A[2, k]
        x += p * u[k]
        y += q * u[k]
        p *= b.upper[k]
        q *= b.upper[k]
        A[0, k], A[1, k] = p, q
        xx += p * p
        xy += p * q
        yy += q * q
    least = _LEAST * (xx + yy)
    xx += least
    yy += least
    determinant = xx * yy - xy * xy
    if determinant > 0.0:
        scale = -b.momentum / determinant
        f, g = scale * (yy * x - xy * y), scale * (xx * y - xy * x)
        for k in range(force.shape[0]):
            force[k] += A[0, k] * f + A[1, k] * g


@kernel
def add_balance_forces(t, d, b, u, force):
    """Forces of ankles and upper body at the model's state, on coordinates that have gains."""
    g0, g1, g2 = t.gravity[0], t.gravity[1], t.gravity[2]
    weight = math.sqrt(g0 * g0 + g1 * g1 + g2 * g2)
    mass, x, y, z, vx, vy, vz, _, _, _ = com_state(t, d, b.bodies, 1)
    if weight == 0.0 or mass == 0.0:
        return
    n0, n1, n2 = -g0 / weight, -g1 / weight, -g2 / weight
    x, y, z, vx, vy, vz = x / mass, y / mass, z / mass, vx / mass, vy / mass, vz / mass
    p0, p1, p2, v0, v1, v2 = feet_motion(d, b)
    d0, d1, d2 = cut(x - p0, y - p1, z - p2, n0, n1, n2)
    if d0 * d0 + d1 * d1 + d2 * d2 >= b.reach * b.reach:
        return
    a0, a1, a2 = cross(n0, n1, n2, d0, d1, d2)
    r0, r1, r2 = cross(n0, n1, n2, vx - v0, vy - v1, vz - v2)
    H = d.H
    for k in range(force.shape[0]):
        lean = H[k, 0] * a0 + H[k, 1] * a1 + H[k, 2] * a2
        rate = H[k, 0] * r0 + H[k, 1] * r1 + H[k, 2] * r2
        force[k] += b.ankle_kp[k] * lean + b.ankle_kd[k] * rate
    if b.momentum > 0.0:
        gather_composites(t, d, b.bodies)
        momentum_matrix(t, d, x, y, z, b.A)
        add_momentum_forces(b, u, force, n0, n1, n2)
