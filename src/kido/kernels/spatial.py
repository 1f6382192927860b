"""Products of spatial vectors [angular; linear] about one point."""

from __future__ import annotations

from kido.jit import inlined
from kido.math.so3 import cross


@inlined
def cross_motion(a0, a1, a2, a3, a4, a5, b0, b1, b2, b3, b4, b5):
    """a x b of two motions: how b changes when it is carried along a."""
    x, y, z = cross(a0, a1, a2, b0, b1, b2)
    p, q, r = cross(a0, a1, a2, b3, b4, b5)
    s, t, u = cross(a3, a4, a5, b0, b1, b2)
    return x, y, z, p + s, q + t, r + u


@inlined
def cross_force(a0, a1, a2, a3, a4, a5, n0, n1, n2, f0, f1, f2):
    """a x* f of a motion and a force (or momentum): how f changes when it is carried along a."""
    x, y, z = cross(a0, a1, a2, n0, n1, n2)
    p, q, r = cross(a3, a4, a5, f0, f1, f2)
    s, t, u = cross(a0, a1, a2, f0, f1, f2)
    return x + p, y + q, z + r, s, t, u
