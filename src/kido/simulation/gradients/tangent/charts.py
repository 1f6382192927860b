"""From the axes and positions of a step's middle to those of states before and after it.

Rotations are moved along angular velocities in body axes, exp(q) <- exp(q) exp(dr). With exp(q_M) = exp(q) exp(r),
r = (h/2) w, dr_M = exp(-r) dr + J_r(r) d((h/2) w), J_r the right Jacobian of rotation vectors. States have linear
velocities, forces and small motions of free joints in body axes, u = R^T u_fixed, so that du = R^T du_fixed - dr x u.
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.joints.kinds import BALL, FREE_MIXED
from kido.math.lie import left_jacobian_coefficients
from kido.math.so3 import advance_rotation_vector, rotation_vector_to_matrix


@inlined
def right_jacobian(x, y, z):
    """J_r of a rotation vector, row after row: 1 - a r~ + b r~ r~."""
    s = x * x + y * y + z * z
    a, b = left_jacobian_coefficients(s)
    return (
        1.0 + b * (x * x - s), b * x * y + a * z, b * x * z - a * y,
        b * x * y - a * z, 1.0 + b * (y * y - s), b * y * z + a * x,
        b * x * z + a * y, b * y * z - a * x, 1.0 + b * (z * z - s),
    )  # fmt: skip


@inlined
def transposed(R):
    """R^T."""
    return R[0], R[3], R[6], R[1], R[4], R[7], R[2], R[5], R[8]


@inlined
def skew_of(x, y, z):
    """[x, y, z] x, row after row."""
    return 0.0, -z, y, z, 0.0, -x, -y, x, 0.0


@inlined
def times(A, x, y, z):
    """A v."""
    return (
        A[0] * x + A[1] * y + A[2] * z, A[3] * x + A[4] * y + A[5] * z, A[6] * x + A[7] * y + A[8] * z,
    )  # fmt: skip


@inlined
def product(A, B):
    """A B."""
    a, d, g = times(A, B[0], B[3], B[6])
    b, e, h = times(A, B[1], B[4], B[7])
    c, f, i = times(A, B[2], B[5], B[8])
    return a, b, c, d, e, f, g, h, i


@kernel
def add_columns(F, rows, to, start, A, sign):
    """Columns to..to+2 of F get sign times columns start..start+2 times A, in rows 0..rows-1."""
    for i in range(rows):
        x, y, z = sign * F[i, start], sign * F[i, start + 1], sign * F[i, start + 2]
        F[i, to] += x * A[0] + y * A[3] + z * A[6]
        F[i, to + 1] += x * A[1] + y * A[4] + z * A[7]
        F[i, to + 2] += x * A[2] + y * A[5] + z * A[8]


@kernel
def turn_columns(F, rows, at, A):
    """Columns at..at+2 of F become themselves times A."""
    for i in range(rows):
        x, y, z = F[i, at], F[i, at + 1], F[i, at + 2]
        F[i, at] = x * A[0] + y * A[3] + z * A[6]
        F[i, at + 1] = x * A[1] + y * A[4] + z * A[7]
        F[i, at + 2] = x * A[2] + y * A[5] + z * A[8]


@kernel
def columns_of_start(t, c, F):
    """Columns by (q_M, u_0, tau) in the step's axes become those by (q, u, forces) of the state, for all rows of F."""
    n = c.L.shape[0]
    rows = F.shape[0]
    half = 0.5 * c.time_step
    q, u, tau = c.start_q, c.start_u, c.force
    for i in range(t.parent.shape[0]):
        k, last = t.first_dof[i], t.first_dof[i + 1]
        rotates = t.kind[i] == BALL or t.kind[i] == FREE_MIXED
        if rotates:
            x, y, z = half * u[k], half * u[k + 1], half * u[k + 2]
            turn = rotation_vector_to_matrix(x, y, z)
            if t.kind[i] == FREE_MIXED:
                R = rotation_vector_to_matrix(q[k], q[k + 1], q[k + 2])
                # forces: df = R_M (df_body - f x dr_M)
                M = product(R, turn)
                turn_columns(F, rows, 2 * n + k + 3, M)
                add_columns(F, rows, k, 2 * n + k + 3, skew_of(tau[k + 3], tau[k + 4], tau[k + 5]), -1.0)
                # linear velocities: du_0 = R (du - v x dr), and (h/2) of that moves q_M
                for r in range(rows):
                    for j in range(k + 3, k + 6):
                        F[r, n + j] += half * F[r, j]
                turn_columns(F, rows, n + k + 3, R)
                turn_columns(F, rows, k + 3, R)
            # rotations: dr_M = turn^T dr + J_r (h/2) dw
            J = right_jacobian(x, y, z)
            add_columns(F, rows, n + k, k, J, half)
            turn_columns(F, rows, k, transposed(turn))
            if t.kind[i] == FREE_MIXED:
                add_columns(F, rows, k, n + k + 3, skew_of(u[k + 3], u[k + 4], u[k + 5]), -1.0)
            k = last
        for r in range(rows):
            for j in range(k, last):
                F[r, n + j] += half * F[r, j]


@kernel
def ways_of_end(t, c, b):
    """`out` by positions and velocities after the step in its axes, from du_1 = X in the columns of the step."""
    n = c.L.shape[0]
    half = 0.5 * c.time_step
    F, X, u = c.out, b.X, c.way
    for m in range(3):
        for i in range(n):
            for j in range(n):
                x = X[m * n + j, i]
                F[i, m * n + j] = half * x
                F[n + i, m * n + j] = x
    for i in range(t.parent.shape[0]):
        k, last = t.first_dof[i], t.first_dof[i + 1]
        if t.kind[i] == BALL or t.kind[i] == FREE_MIXED:
            x, y, z = half * u[k], half * u[k + 1], half * u[k + 2]
            J, back = right_jacobian(x, y, z), transposed(rotation_vector_to_matrix(x, y, z))
            for j in range(3 * n):
                F[k, j], F[k + 1, j], F[k + 2, j] = times(J, F[k, j], F[k + 1, j], F[k + 2, j])
            for a in range(3):
                for j in range(3):
                    F[k + a, k + j] += back[3 * a + j]
            k += 3
        for j in range(k, last):
            F[j, j] += 1.0


@kernel
def rows_of_end(t, c, w):
    """`out` by the state after the step, from the same in the axes of the step."""
    n = c.L.shape[0]
    half = 0.5 * c.time_step
    F, u, q = c.out, c.way, c.data.q
    for i in range(t.parent.shape[0]):
        if t.kind[i] != FREE_MIXED:
            continue
        k = t.first_dof[i]
        x, y, z = half * u[k], half * u[k + 1], half * u[k + 2]
        x, y, z = advance_rotation_vector(q[k], q[k + 1], q[k + 2], x, y, z)
        T = transposed(rotation_vector_to_matrix(x, y, z))
        v = times(T, w.problem.u[k + 3], w.problem.u[k + 4], w.problem.u[k + 5])
        m = n + k
        for j in range(3 * n):
            F[k + 3, j], F[k + 4, j], F[k + 5, j] = times(T, F[k + 3, j], F[k + 4, j], F[k + 5, j])
            a, b, e = times(T, F[m + 3, j], F[m + 4, j], F[m + 5, j])
            x, y, z = F[k, j], F[k + 1, j], F[k + 2, j]
            F[m + 3, j] = a - (y * v[2] - z * v[1])
            F[m + 4, j] = b - (z * v[0] - x * v[2])
            F[m + 5, j] = e - (x * v[1] - y * v[0])
