"""Articulated inertias of a list of bodies, tips to base. Theory: a3.

    P(k) = M(k) + sum over children of phi(k, c) P+(c) phi*(k, c),    P+ = P - G D G*
    D = H P H* + J_a,    G = P H* D^-1,    tau = I - G H

Source: Featherstone (1983); Jain, Vaidehi, Rodriguez (1993).
"""

from __future__ import annotations

import math

from kido.jit import direct_entry, inlined, kernel, view
from kido.kernels.forward_dynamics import SINGULAR_TOLERANCE
from kido.operators.arrays import BODIES
from kido.operators.recursions import raise_block, turn_over
from kido.operators.sweeps import PHI


@inlined
def invert_by_factor(L, at, size, E, k):
    """E[k] = (L L*)^-1 of a lower triangular factor L[at]."""
    for j in range(size):  # columns of L^-1, then of L^-T L^-1
        for i in range(size):
            s = 1.0 if i == j else 0.0
            for c in range(i):
                s -= L[at, i, c] * E[k, c, j]
            E[k, i, j] = s / L[at, i, i]
        for i in range(size - 1, -1, -1):
            s = E[k, i, j]
            for c in range(i + 1, size):
                s -= L[at, c, i] * E[k, c, j]
            E[k, i, j] = s / L[at, i, i]


@kernel
def invert_hinge(o, k):
    """Factor L of D(k) = L L* in work[2], and D_inverse(k).

    Returns:
        The place in the hinge of a coordinate that sees no inertia, or -1.
    """
    size = o.first_dof[k + 1] - o.first_dof[k]
    first = o.first_dof[k]
    W, D, E = o.work, o.D, o.D_inverse
    angular = o.P[k, 0, 0] + o.P[k, 1, 1] + o.P[k, 2, 2]
    linear = o.P[k, 3, 3] + o.P[k, 4, 4] + o.P[k, 5, 5]
    for i in range(size):
        for j in range(i + 1):
            s = D[k, i, j]
            for c in range(j):
                s -= W[2, i, c] * W[2, j, c]
            if i > j:
                W[2, i, j] = s / W[2, j, j]
                continue
            h = first + i
            turn = o.H[h, 0] * o.H[h, 0] + o.H[h, 1] * o.H[h, 1] + o.H[h, 2] * o.H[h, 2]
            slide = o.H[h, 3] * o.H[h, 3] + o.H[h, 4] * o.H[h, 4] + o.H[h, 5] * o.H[h, 5]
            if not s > SINGULAR_TOLERANCE * (angular * turn + linear * slide):
                return i
            W[2, i, i] = math.sqrt(s)
    invert_by_factor(W, 2, size, E, k)
    return -1


@direct_entry("i8(i8)")
def articulate(bodies):
    """P, D, D_inverse, G, tau; returns the first coordinate that sees no inertia, or -1."""
    o = view(BODIES, bodies)
    n = o.parent.shape[0]
    for k in range(n):
        for r in range(6):
            for c in range(6):
                o.P[k, r, c] = o.M[k, r, c]
                o.tau[k, r, c] = 1.0 if r == c else 0.0
    for k in range(n - 1, -1, -1):
        first, last = o.first_dof[k], o.first_dof[k + 1]
        for i in range(first, last):  # U = P H* in G for now
            for r in range(6):
                s = 0.0
                for c in range(6):
                    s += o.P[k, r, c] * o.H[i, c]
                o.G[i, r] = s
        for i in range(first, last):
            for j in range(first, last):
                s = 0.0
                for c in range(6):
                    s += 0.5 * (o.H[i, c] * o.G[j, c] + o.H[j, c] * o.G[i, c])
                o.D[k, i - first, j - first] = s
            o.D[k, i - first, i - first] += o.armature[i]
        failed = invert_hinge(o, k)
        if failed >= 0:
            return first + failed
        # With D = L L*: P+ = P - (U L^-*) (U L^-*)*, which stays positive, and G = U L^-* L^-1.
        W = o.work
        for i in range(first, last):
            for c in range(first, i):
                for r in range(6):
                    o.G[i, r] -= W[2, i - first, c - first] * o.G[c, r]
            for r in range(6):
                o.G[i, r] /= W[2, i - first, i - first]
        for r in range(6):
            for c in range(6):
                s = o.P[k, r, c]
                for i in range(first, last):
                    s -= o.G[i, r] * o.G[i, c]
                W[0, r, c] = s
        for i in range(last - 1, first - 1, -1):
            for c in range(i + 1, last):
                for r in range(6):
                    o.G[i, r] -= W[2, c - first, i - first] * o.G[c, r]
            for r in range(6):
                o.G[i, r] /= W[2, i - first, i - first]
        for r in range(6):
            for c in range(6):
                for i in range(first, last):
                    o.tau[k, r, c] -= o.G[i, r] * o.H[i, c]
        p = o.parent[k]
        if p >= 0:
            raise_block(o, PHI, k)
            turn_over(o)
            raise_block(o, PHI, k)
            for r in range(6):
                for c in range(6):
                    o.P[p, r, c] += 0.5 * (W[1, r, c] + W[1, c, r])
    return -1
