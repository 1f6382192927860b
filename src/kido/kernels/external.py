"""External forces on bodies, held so that each keeps its meaning while the body moves.

Row of `external`, 24 numbers:
    0:6    wrench about the body origin in body axes: local forces at local points, local torques
    6:9    F, the sum of forces in world axes that act at points fixed in the body
    9:18   T[a, c] = sum of r_a F_c over those forces, r the point in body axes
    18:21  moment about the world origin of forces at points fixed in the world, plus world torques
    21:24  the sum of those forces, world axes
"""

from __future__ import annotations

from kido.jit import kernel
from kido.joints.frames import rotation_of
from kido.math.so3 import cross, rotate


@kernel
def external_wrench(d, i):
    """All external forces on body i as one wrench about its origin, world axes [N m, N]."""
    if d.has_external[i] == 0:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    X = d.external
    R = rotation_of(d, i)
    n0, n1, n2 = rotate(R, X[i, 0], X[i, 1], X[i, 2])
    f0, f1, f2 = rotate(R, X[i, 3], X[i, 4], X[i, 5])
    # sum (R r) x F from W = R T, W[b, c] = sum (R r)_b F_c
    _, b0, c0 = rotate(R, X[i, 9], X[i, 12], X[i, 15])
    a1, _, c1 = rotate(R, X[i, 10], X[i, 13], X[i, 16])
    a2, b2, _ = rotate(R, X[i, 11], X[i, 14], X[i, 17])
    m0, m1, m2 = cross(d.p[i, 0], d.p[i, 1], d.p[i, 2], X[i, 21], X[i, 22], X[i, 23])
    return (
        n0 + b2 - c1 + X[i, 18] - m0,
        n1 + c0 - a2 + X[i, 19] - m1,
        n2 + a1 - b0 + X[i, 20] - m2,
        f0 + X[i, 6] + X[i, 21],
        f1 + X[i, 7] + X[i, 22],
        f2 + X[i, 8] + X[i, 23],
    )
