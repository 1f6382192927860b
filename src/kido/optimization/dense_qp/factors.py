"""Factors of a quadratic program: of its Hessian, and of the active constraints as they come and go.

With H = U^T U and the normals N of active constraints, U^-T N = Q R. J = U^-1 Q, in rows of memory its columns:
the first, as many as there are active constraints, span (in the metric of H) their normals, the others the
directions that change none of them. All loops run along memory.
"""

from __future__ import annotations

import math

from kido.jit import kernel
from kido.optimization.dense_qp.arrays import ASIDE


@kernel
def factorize(s):
    """U of H; False if a pivot is not positive. Four rows at a time are taken out of those below."""
    n = s.num_variables
    H, U = s.H, s.U
    for i in range(n):
        for j in range(i, n):
            U[i, j] = H[i, j]
    for first in range(0, n, 4):
        end = min(first + 4, n)
        for k in range(first, end):
            pivot = U[k, k]
            if not 0.0 < pivot < math.inf:
                return False
            scale = 1.0 / math.sqrt(pivot)
            for j in range(k, n):
                U[k, j] *= scale
            for i in range(k + 1, end):
                f = U[k, i]
                for j in range(i, n):
                    U[i, j] -= f * U[k, j]
        if end == n:
            break
        for i in range(end, n):
            f0, f1, f2, f3 = U[first, i], U[first + 1, i], U[first + 2, i], U[first + 3, i]
            for j in range(i, n):
                U[i, j] -= (f0 * U[first, j] + f1 * U[first + 1, j]) + (f2 * U[first + 2, j] + f3 * U[first + 3, j])
    return True


@kernel
def unconstrained(s):
    """x = -H^-1 g."""
    n = s.num_variables
    U, x, g = s.U, s.x, s.g
    for i in range(n):
        x[i] = -g[i]
    for k in range(n):
        f = x[k] / U[k, k]
        x[k] = f
        for j in range(k + 1, n):
            x[j] -= f * U[k, j]
    for k in range(n - 1, -1, -1):
        f = x[k]
        for j in range(k + 1, n):
            f -= U[k, j] * x[j]
        x[k] = f / U[k, k]


@kernel
def start_directions(s):
    """J with no active constraint: rows of U^-T; returns its largest number on the diagonal."""
    n = s.num_variables
    U, J = s.U, s.J
    largest = 0.0
    for i in range(n):
        for j in range(n):
            J[i, j] = 0.0
        whole = i - i % 4
        for k in range(0, whole, 4):
            f0, f1, f2, f3 = U[k, i], U[k + 1, i], U[k + 2, i], U[k + 3, i]
            for j in range(k + 4):
                J[i, j] -= (f0 * J[k, j] + f1 * J[k + 1, j]) + (f2 * J[k + 2, j] + f3 * J[k + 3, j])
        for k in range(whole, i):
            f = U[k, i]
            for j in range(k + 1):
                J[i, j] -= f * J[k, j]
        f = 1.0 / U[i, i]
        largest = max(largest, f)
        J[i, i] = 1.0
        for j in range(i + 1):
            J[i, j] *= f
    return largest


@kernel
def seen_by(s, p):
    """d = J^T a of constraint p, and the square of its part beyond the active ones; also of all of it."""
    n, q = s.num_variables, s.num_active
    J, d = s.J, s.d
    if p < n:
        for j in range(n):
            d[j] = J[j, p]
    else:
        A, row = s.A, p - n
        for j in range(n):
            a0, a1, a2, a3 = 0.0, 0.0, 0.0, 0.0
            for i in range(0, n - 3, 4):
                a0 += J[j, i] * A[row, i]
                a1 += J[j, i + 1] * A[row, i + 1]
                a2 += J[j, i + 2] * A[row, i + 2]
                a3 += J[j, i + 3] * A[row, i + 3]
            for i in range(n - n % 4, n):
                a0 += J[j, i] * A[row, i]
            d[j] = (a0 + a1) + (a2 + a3)
    beyond = 0.0
    for j in range(q, n):
        beyond += d[j] * d[j]
    return beyond


@kernel
def free_direction(s):
    """z = J_2 d_2: the step along which the constraint changes fastest and no active one does."""
    n, q = s.num_variables, s.num_active
    J, z, d = s.J, s.z, s.d
    for i in range(n):
        z[i] = 0.0
    for j in range(q, n):
        f = d[j]
        if f != 0.0:
            for i in range(n):
                z[i] += f * J[j, i]


@kernel
def multiplier_direction(s):
    """r = R^-1 d_1: how the multipliers of active constraints fall as that of the new one grows."""
    q = s.num_active
    R, r, d = s.R, s.r, s.d
    for k in range(q):
        r[k] = d[k]
    for k in range(q - 1, -1, -1):
        f = r[k] / R[k, k]
        r[k] = f
        for i in range(k):
            r[i] -= f * R[k, i]


@kernel
def append(s, beyond):
    """Make room in the factors for the constraint seen in d; z is its free direction. One Householder reflection."""
    n, q = s.num_variables, s.num_active
    J, R, z, d = s.J, s.R, s.z, s.d
    norm = math.sqrt(beyond)
    alpha = norm
    if d[q] > 0.0:
        alpha = -norm
    beta = 1.0 / (norm * (norm + math.fabs(d[q])))
    for k in range(q):
        R[q, k] = d[k]
    R[q, q] = alpha
    d[q] -= alpha
    for i in range(n):
        z[i] -= alpha * J[q, i]
    for j in range(q, n):
        f = beta * d[j]
        if f != 0.0:
            for i in range(n):
                J[j, i] -= f * z[i]
    s.num_active = q + 1


@kernel
def remove(s, at):
    """Take the constraint at a place of the active ones out of the factors and of the lists."""
    n, q = s.num_variables, s.num_active
    J, R = s.J, s.R
    s.is_active[s.active[at]] = 0
    for p in range(n + s.num_rows):
        if s.is_active[p] == ASIDE:
            s.is_active[p] = 0
    for k in range(at + 1, q):
        s.active[k - 1] = s.active[k]
        s.side[k - 1] = s.side[k]
        s.multiplier[k - 1] = s.multiplier[k]
        for i in range(k + 1):
            R[k - 1, i] = R[k, i]
    for i in range(at, q - 1):
        a, b = R[i, i], R[i, i + 1]
        size = math.sqrt(a * a + b * b)
        if size > 0.0:
            c, e = a / size, b / size
            R[i, i], R[i, i + 1] = size, 0.0
            for k in range(i + 1, q - 1):
                a, b = R[k, i], R[k, i + 1]
                R[k, i] = c * a + e * b
                R[k, i + 1] = c * b - e * a
            for j in range(n):
                a, b = J[i, j], J[i + 1, j]
                J[i, j] = c * a + e * b
                J[i + 1, j] = c * b - e * a
    s.num_active = q - 1
