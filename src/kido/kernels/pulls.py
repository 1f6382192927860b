"""Joint forces of a wrench at a point of a body, without its Jacobian."""

from __future__ import annotations

from kido.jit import kernel
from kido.math.so3 import cross


@kernel
def add_pull(t, d, i, x, y, z, m0, m1, m2, f0, f1, f2, sign, first, out):
    """Add sign times J^T [m; f] of a wrench at the world point (x, y, z) on body i to `out`, whose coordinates begin at
    `first`."""
    while i >= 0:
        t0, t1, t2 = cross(x - d.p[i, 0], y - d.p[i, 1], z - d.p[i, 2], f0, f1, f2)
        for j in range(t.first_dof[i], t.first_dof[i + 1]):
            out[first + j] += sign * (
                d.H[j, 0] * (m0 + t0) + d.H[j, 1] * (m1 + t1) + d.H[j, 2] * (m2 + t2)
                + d.H[j, 3] * f0 + d.H[j, 4] * f1 + d.H[j, 5] * f2
            )  # fmt: skip
        i = t.parent[i]
