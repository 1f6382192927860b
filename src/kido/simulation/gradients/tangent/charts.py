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
def add_rows(F, to, start, A, sign):
    """Rows to..to+2 of F get sign times A^T times rows start..start+2."""
    for i in range(F.shape[1]):
        x, y, z = sign * F[start, i], sign * F[start + 1, i], sign * F[start + 2, i]
        F[to, i] += x * A[0] + y * A[3] + z * A[6]
        F[to + 1, i] += x * A[1] + y * A[4] + z * A[7]
        F[to + 2, i] += x * A[2] + y * A[5] + z * A[8]


@kernel
def turn_rows(F, at, A):
    """Rows at..at+2 of F become A^T times themselves."""
    for i in range(F.shape[1]):
        x, y, z = F[at, i], F[at + 1, i], F[at + 2, i]
        F[at, i] = x * A[0] + y * A[3] + z * A[6]
        F[at + 1, i] = x * A[1] + y * A[4] + z * A[7]
        F[at + 2, i] = x * A[2] + y * A[5] + z * A[8]


@kernel
def add_row_to(F, to, share, at):
    """Row `to` of F gets a share of row `at`."""
    for i in range(F.shape[1]):
        F[to, i] += share * F[at, i]


@kernel
def rows_of_start(t, c, F):
    """Rows of F by (q_M, u_0, tau) in the step's axes become those by (q, u, forces) of the state."""
    n = c.u.shape[0]
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
                turn_rows(F, 2 * n + k + 3, M)
                add_rows(F, k, 2 * n + k + 3, skew_of(tau[k + 3], tau[k + 4], tau[k + 5]), -1.0)
                # linear velocities: du_0 = R (du - v x dr), and (h/2) of that moves q_M
                for j in range(k + 3, k + 6):
                    add_row_to(F, n + j, half, j)
                turn_rows(F, n + k + 3, R)
                turn_rows(F, k + 3, R)
            # rotations: dr_M = turn^T dr + J_r (h/2) dw
            J = right_jacobian(x, y, z)
            add_rows(F, n + k, k, J, half)
            turn_rows(F, k, transposed(turn))
            if t.kind[i] == FREE_MIXED:
                add_rows(F, k, n + k + 3, skew_of(u[k + 3], u[k + 4], u[k + 5]), -1.0)
            k = last
        for j in range(k, last):
            add_row_to(F, n + j, half, j)


@kernel
def ways_of_end(t, c, b):
    """`out` by positions and velocities after the step in its axes, from du_1 = X in the columns of the step."""
    n = c.u.shape[0]
    half = 0.5 * c.time_step
    F, X, u = c.out, b.X, c.way
    for j in range(3 * n):
        for i in range(n):
            F[j, i] = half * X[j, i]
        for i in range(n):
            F[j, n + i] = X[j, i]
    for i in range(t.parent.shape[0]):
        k, last = t.first_dof[i], t.first_dof[i + 1]
        if t.kind[i] == BALL or t.kind[i] == FREE_MIXED:
            x, y, z = half * u[k], half * u[k + 1], half * u[k + 2]
            J, back = right_jacobian(x, y, z), transposed(rotation_vector_to_matrix(x, y, z))
            for j in range(3 * n):
                F[j, k], F[j, k + 1], F[j, k + 2] = times(J, F[j, k], F[j, k + 1], F[j, k + 2])
            for a in range(3):
                for j in range(3):
                    F[k + j, k + a] += back[3 * a + j]
            k += 3
        for j in range(k, last):
            F[j, j] += 1.0


@kernel
def axes_of_end(t, c, w):
    """`out` by the state after the step, from the same in the axes of the step."""
    n = c.u.shape[0]
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
            F[j, k + 3], F[j, k + 4], F[j, k + 5] = times(T, F[j, k + 3], F[j, k + 4], F[j, k + 5])
            a, b, e = times(T, F[j, m + 3], F[j, m + 4], F[j, m + 5])
            x, y, z = F[j, k], F[j, k + 1], F[j, k + 2]
            F[j, m + 3] = a - (y * v[2] - z * v[1])
            F[j, m + 4] = b - (z * v[0] - x * v[2])
            F[j, m + 5] = e - (x * v[1] - y * v[0])
