"""Velocities of all bodies in many states, in lanes of the processor."""

from __future__ import annotations

from kido.batch.states import load
from kido.jit import LANES, entry, kernel, lanes_samples, lanes_view, view
from kido.kernels.kinematics import rotation_of, transforms, velocities
from kido.math.so3 import cross, rotate
from kido.tree.schema import DATA, TREE


@kernel
def write_velocities(t, d, V):
    """Velocities of all bodies, which may lie anywhere on links, by those of these, into V (bodies, 6)."""
    for m in range(V.shape[0]):
        i = t.member_link[m]
        w0, w1, w2 = d.V[i, 0], d.V[i, 1], d.V[i, 2]
        x, y, z = rotate(rotation_of(d, i), t.member_pose[m, 3], t.member_pose[m, 7], t.member_pose[m, 11])
        v0, v1, v2 = cross(w0, w1, w2, x, y, z)
        V[m, 0], V[m, 1], V[m, 2] = w0, w1, w2
        V[m, 3], V[m, 4], V[m, 5] = d.V[i, 3] + v0, d.V[i, 4] + v1, d.V[i, 5] + v2


@kernel
def velocities_of(t, d, q, u, V):
    """[angular; linear] velocities of all bodies of the skeleton, of their origins, world axes, into V (bodies, 6)."""
    load(q, d.q)
    load(u, d.u)
    n = t.parent.shape[0]
    transforms(t, d, 0, n)
    velocities(t, d, 0, n)
    write_velocities(t, d, V)


@entry("i8(i8,i8,f8[:,::1],f8[:,::1],f8[:,:,::1],i8,i8)")
def body_velocities(tree, data, q, u, V, begin, end):
    t = view(TREE, tree)
    d = lanes_view(DATA, data)
    for first in range(begin, end, LANES):
        velocities_of(t, d, lanes_samples(q, first), lanes_samples(u, first), lanes_samples(V, first))
    return 0
