"""Compound joints: revolute, prismatic and screw hinges one after the other, each on a fixed transform.

While the chain is walked, a column is kept about the joint's parent-side origin, where the hinge's own place is
known; at the end all are moved to the child-side origin.
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.joints.kinds import PRISMATIC, SCREW
from kido.math.so3 import axis_rotation, compose, cross, rotate
from kido.math.trig import sincos


@inlined
def chain_offset(t, k):
    """Rotation of the fixed transform before hinge k."""
    T = t.chain_offset
    return T[k, 0], T[k, 1], T[k, 2], T[k, 3], T[k, 4], T[k, 5], T[k, 6], T[k, 7], T[k, 8]


@kernel
def chain_step(t, d, k, R, x, y, z):
    """Pass hinge k from rotation R and origin (x, y, z); writes its column about the parent-side origin."""
    if t.chain_moved[k] != 0:
        a, b, c = rotate(R, t.chain_offset[k, 9], t.chain_offset[k, 10], t.chain_offset[k, 11])
        x, y, z = x + a, y + b, z + c
        R = compose(R, chain_offset(t, k))
    e0, e1, e2 = t.chain_axis[k, 0], t.chain_axis[k, 1], t.chain_axis[k, 2]
    w0, w1, w2 = rotate(R, e0, e1, e2)
    q = d.q[k]
    if t.chain_kind[k] == PRISMATIC:
        d.H[k, 0], d.H[k, 1], d.H[k, 2] = 0.0, 0.0, 0.0
        d.H[k, 3], d.H[k, 4], d.H[k, 5] = w0, w1, w2
        return R, x + w0 * q, y + w1 * q, z + w2 * q
    v0, v1, v2 = cross(x, y, z, w0, w1, w2)
    if t.chain_kind[k] == SCREW:
        pitch = t.chain_axis[k, 3]
        a, b, c = pitch * w0, pitch * w1, pitch * w2
        v0, v1, v2 = v0 + a, v1 + b, v2 + c
        x, y, z = x + a * q, y + b * q, z + c * q
    d.H[k, 0], d.H[k, 1], d.H[k, 2] = w0, w1, w2
    d.H[k, 3], d.H[k, 4], d.H[k, 5] = v0, v1, v2
    s, c = sincos(q)
    return compose(R, axis_rotation(e0, e1, e2, s, c)), x, y, z


@kernel
def compound(F, t, d, i, k):
    """Child-side rotation and displacement of a compound joint, and its columns, as `kido.joints.motion` has them."""
    R, x, y, z = F, 0.0, 0.0, 0.0
    end = t.first_dof[i + 1]
    for j in range(k, end):
        R, x, y, z = chain_step(t, d, j, R, x, y, z)
    for j in range(k, end):
        a, b, c = cross(d.H[j, 0], d.H[j, 1], d.H[j, 2], x, y, z)
        d.H[j, 3] += a
        d.H[j, 4] += b
        d.H[j, 5] += c
    return R, x, y, z


@kernel
def chain_velocity_product(t, d, i, k, w0, w1, w2, v0, v1, v2):
    """Hdot u about the origin that the columns in d.H have, [w; v] being the relative velocity there.

    A hinge rides on those before it: sum over k of (sum_{j<k} H_j u_j) x (H_k u_k) in spatial cross products
    about a fixed point, and [0; w x v] because the origin moves.
    """
    e0, e1, e2 = 0.0, 0.0, 0.0
    e3, e4, e5 = cross(w0, w1, w2, v0, v1, v2)
    a0, a1, a2, a3, a4, a5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(k, t.first_dof[i + 1]):
        u = d.u[j]
        h0, h1, h2, h3, h4, h5 = (
            d.H[j, 0] * u, d.H[j, 1] * u, d.H[j, 2] * u, d.H[j, 3] * u, d.H[j, 4] * u, d.H[j, 5] * u,
        )  # fmt: skip
        x, y, z = cross(a0, a1, a2, h0, h1, h2)
        e0, e1, e2 = e0 + x, e1 + y, e2 + z
        x, y, z = cross(a0, a1, a2, h3, h4, h5)
        e3, e4, e5 = e3 + x, e4 + y, e5 + z
        x, y, z = cross(a3, a4, a5, h0, h1, h2)
        e3, e4, e5 = e3 + x, e4 + y, e5 + z
        a0, a1, a2, a3, a4, a5 = a0 + h0, a1 + h1, a2 + h2, a3 + h3, a4 + h4, a5 + h5
    return e0, e1, e2, e3, e4, e5
