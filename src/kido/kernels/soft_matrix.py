"""The matrix of a soft body's free points, S = M + h Kd + h^2 ((1/4 + e_v) Kv + (1/4 + e_e) Ke L), as a banded factor.

L is the Laplacian of the mesh of springs. S is the same for all three directions. Rows of frozen points are those of
the identity, without couplings, so that the structure of the Cholesky factor never changes.

Springs at the middle of the step neither gain nor lose energy, which leaves those that are much faster than the step
to ring for ever. So a spring also has a damper of e h times its stiffness, at the end of the step, with

    e = (1/4) s / (s + 4),    s = h^2 k / m      (k: Kv, or Ke times twice the number of neighbours; m: of a point)

At s = 1 it costs an oscillation 2.5 % of the critical damping, at s = 0.01 3e-5: it is of the order of the method's
other errors, h^2, and vanishes with them. For stiff springs the amplitude falls by 0.7 in a step.
"""

from __future__ import annotations

import math

from kido.jit import kernel


@kernel
def numerical_damping(so, s, h):
    """e_v and e_e: dampers of springs as shares of h times their stiffness."""
    first, last = so.first[s], so.first[s + 1]
    mass = 0.0
    for i in range(first, last):
        mass += so.mass[i]
    mass /= last - first
    degree = (so.neighbor_first[last] - so.neighbor_first[first]) / (last - first)
    v = h * h * so.kv[s] / mass
    e = 2.0 * degree * h * h * so.ke[s] / mass
    return 0.25 * v / (v + 4.0), 0.25 * e / (e + 4.0)


@kernel
def factorize(so, s, h):
    """Make the factor of soft body s for the time step h."""
    first, last = so.first[s], so.first[s + 1]
    band, at = so.band[s], so.band_at[s]
    width = band + 1
    kv, ke, kd = so.kv[s], so.ke[s], so.kd[s]
    ev, ee = numerical_damping(so, s, h)
    soft_v, soft_e = (0.25 + ev) * h * h * kv, (0.25 + ee) * h * h * ke
    for k in range(at, so.band_at[s + 1]):
        so.factor[k] = 0.0
    for i in range(first, last):
        row = so.place[i]
        diagonal = at + row * width + band
        if so.frozen[i] != 0:
            so.factor[diagonal] = 1.0
            continue
        degree = so.neighbor_first[i + 1] - so.neighbor_first[i]
        so.factor[diagonal] = so.mass[i] + h * kd + soft_v + soft_e * degree
        if ke != 0.0:
            for e in range(so.neighbor_first[i], so.neighbor_first[i + 1]):
                j = so.neighbor[e]
                other = so.place[j]
                if other < row and so.frozen[j] == 0:
                    so.factor[diagonal - (row - other)] -= soft_e
    for row in range(last - first):
        start = max(0, row - band)
        base = at + row * width + band - row  # entry of column c is base + c
        for c in range(start, row):
            left = at + c * width + band - c
            x = so.factor[base + c]
            for k in range(max(start, c - band), c):
                x -= so.factor[base + k] * so.factor[left + k]
            so.factor[base + c] = x / so.factor[left + c]
        x = so.factor[base + row]
        for k in range(start, row):
            x -= so.factor[base + k] * so.factor[base + k]
        so.factor[base + row] = math.sqrt(x)
    so.factored[s] = h


@kernel
def solve_columns(so, s):
    """Replace the four columns X of `column` by S^-1 X; rows in the factor's order."""
    first = so.first[s]
    n = so.first[s + 1] - first
    band, at = so.band[s], so.band_at[s]
    X = so.column
    for row in range(n):
        base = at + row * (band + 1) + band - row
        x0, x1, x2, x3 = X[first + row, 0], X[first + row, 1], X[first + row, 2], X[first + row, 3]
        for k in range(max(0, row - band), row):
            f = so.factor[base + k]
            x0 -= f * X[first + k, 0]
            x1 -= f * X[first + k, 1]
            x2 -= f * X[first + k, 2]
            x3 -= f * X[first + k, 3]
        f = 1.0 / so.factor[base + row]
        X[first + row, 0], X[first + row, 1], X[first + row, 2], X[first + row, 3] = x0 * f, x1 * f, x2 * f, x3 * f
    for row in range(n - 1, -1, -1):
        base = at + row * (band + 1) + band - row
        f = 1.0 / so.factor[base + row]
        x0, x1 = X[first + row, 0] * f, X[first + row, 1] * f
        x2, x3 = X[first + row, 2] * f, X[first + row, 3] * f
        X[first + row, 0], X[first + row, 1], X[first + row, 2], X[first + row, 3] = x0, x1, x2, x3
        for k in range(max(0, row - band), row):
            f = so.factor[base + k]
            X[first + k, 0] -= f * x0
            X[first + k, 1] -= f * x1
            X[first + k, 2] -= f * x2
            X[first + k, 3] -= f * x3


@kernel
def put_column(so, s, i, x, y, z, last):
    """Set the right-hand side of point i; that of a frozen point is zero."""
    row = so.first[s] + so.place[i]
    free = 1.0 - so.frozen[i]
    so.column[row, 0], so.column[row, 1] = free * x, free * y
    so.column[row, 2], so.column[row, 3] = free * z, free * last
