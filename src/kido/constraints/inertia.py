"""Mass matrices of single skeletons in a forest, for solvers that factorize in body space.

From what the articulated-body sweep has left: M = F D F^T with D = 1 / Dinv and F unit upper triangular, F[r, k] =
H_r . (phi U_k / D_k) for the coordinates r that move the body of k. So it holds whatever the sweep took into
account, implicit damping and springs among it, and is the inverse of what `kido.kernels.impulse` applies.

Source: innovations factorization, theory reference, section a3.
"""

from __future__ import annotations

from kido.jit import callback, kernel, view
from kido.joints.frames import rotation_of
from kido.kernels.free_lanes import NOT_FREE
from kido.kernels.inverse_dynamics import column_dot
from kido.math.so3 import cross, rotate
from kido.solvers.problem import PROBLEM

IMMOVABLE = 1e20  # inertia of a prescribed coordinate, which no impulse moves


@kernel
def free_mass_matrix(t, d, i, out, at):
    """Mass matrix of a free body: angular velocity in body axes, that of its origin in world axes.

    T = w . J w / 2 + m v . R (w x c) + m v . v / 2, with J about the origin and c the centre of mass, in body axes.
    """
    R = rotation_of(d, i)
    m, inertia = t.mass[i], t.inertia
    c0, c1, c2 = m * t.com[i, 0], m * t.com[i, 1], m * t.com[i, 2]
    out[at], out[at + 1], out[at + 2] = inertia[i, 0], inertia[i, 1], inertia[i, 2]
    out[at + 6], out[at + 7], out[at + 8] = inertia[i, 1], inertia[i, 3], inertia[i, 4]
    out[at + 12], out[at + 13], out[at + 14] = inertia[i, 2], inertia[i, 4], inertia[i, 5]
    for k in range(3):
        w0, w1, w2 = 1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0
        x, y, z = cross(w0, w1, w2, c0, c1, c2)
        x, y, z = rotate(R, x, y, z)
        out[at + 6 * k + 3], out[at + 6 * k + 4], out[at + 6 * k + 5] = x, y, z
        out[at + 18 + k], out[at + 24 + k], out[at + 30 + k] = x, y, z
        for j in range(3):
            out[at + 21 + 6 * k + j] = m if j == k else 0.0


@callback
def fill_inertia(address, dof, unused_1, unused_2):
    """Fill the mass matrix of the skeleton whose first coordinate is `dof` into `inertia`. Returns 0."""
    c = view(PROBLEM, address)
    t, d = c.tree, c.data
    tree_index = t.tree_of_body[t.body_of_dof[dof]]
    first = t.tree_body[tree_index]
    begin, end = t.tree_dof[tree_index], t.tree_dof[tree_index + 1]
    n = end - begin
    if c.responses.address != 0 and c.responses.free[first] != NOT_FREE:
        free_mass_matrix(t, d, first, c.inertia, c.inertia_at[begin] - 1)
        return 0
    at = c.inertia_at[begin] - 1
    for k in range(at, at + n * n):
        c.inertia[k] = 0.0
    for k in range(begin, end):
        if d.Dinv[k] == 0.0:
            c.inertia[at + (k - begin) * (n + 1)] = IMMOVABLE
            continue
        pivot = 1.0 / d.Dinv[k]
        z0, z1, z2 = d.U[k, 0] * d.Dinv[k], d.U[k, 1] * d.Dinv[k], d.U[k, 2] * d.Dinv[k]
        z3, z4, z5 = d.U[k, 3] * d.Dinv[k], d.U[k, 4] * d.Dinv[k], d.U[k, 5] * d.Dinv[k]
        d.e[k] = 1.0
        i = t.body_of_dof[k]
        last = k
        while i >= first:
            for r in range(t.first_dof[i], last):
                d.e[r] = 0.0 if d.Dinv[r] == 0.0 else column_dot(d, r, z0, z1, z2, z3, z4, z5)
            x, y, z = cross(d.l[i, 0], d.l[i, 1], d.l[i, 2], z3, z4, z5)
            z0 += x
            z1 += y
            z2 += z
            i = t.parent[i]
            if i >= first:
                last = t.first_dof[i + 1]
        i = t.body_of_dof[k]
        last = k + 1
        while i >= first:
            for r in range(t.first_dof[i], last):
                w = pivot * d.e[r]
                j = i
                stop = r + 1
                while j >= first:
                    for s in range(t.first_dof[j], stop):
                        value = w * d.e[s]
                        c.inertia[at + (r - begin) * n + s - begin] += value
                        if s != r:
                            c.inertia[at + (s - begin) * n + r - begin] += value
                    j = t.parent[j]
                    if j >= first:
                        stop = t.first_dof[j + 1]
            i = t.parent[i]
            if i >= first:
                last = t.first_dof[i + 1]
    return 0
