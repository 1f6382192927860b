"""What rows of tasks ask of J u, and bounds of velocities: from residuals and limits to numbers per second.

An equation with residual e asks for J u = -gain e, so that e decays as exp(-gain t). A range lets its residual x come
nearer to a bound by a share of the distance in a step h, and sends it back where it is beyond:

    J u <= share (high - x) / h          inside  (velocity damper)
    J u <= gain (high - x)               beyond, for soft rows
    J u <= max(share (high - x) / h, -recovery)      beyond, for hard rows and for limits of coordinates

Near a singularity a task's wish is filtered. With J J^T = U diag(s_i^2) U^T, the component of -gain e along u_i is
multiplied by (s_i / s_0)^2 where s_i < s_0: velocities stay below |gain e| / s_0, other directions keep what they asked
for. It is what damped least squares with the damping k^2 = s_0^2 (1 - (s_i / s_0)^2) make of each direction.

Sources: velocity dampers: Faverjon, Tournassoud, "A local based approach for path planning of manipulators with a high
number of degrees of freedom" (1987). Filtering by singular value: Maciejewski, Klein, "Numerical filtering for the
operation of robotic manipulators through kinematically singular configurations" (1988); law of the damping: Chiaverini
et al., "Review of the damped least-squares inverse kinematics with experiments on an industrial robot manipulator"
(1994), eq. 16.
"""

from __future__ import annotations

import math

from kido.ik.differential.arrays import HARD_TASK, HELPER_TASK, SOFT_TASK
from kido.ik.engine.tasks import CONE_ROW, EQUATION, RANGE, UNUSED_ROW
from kido.jit import kernel
from kido.joints.kinds import BALL, FREE, FREE_MIXED


@kernel
def approach(distance, share, step, recovery):
    """Largest speed towards a bound: a share of the distance per step; beyond it, back at no more than `recovery`."""
    speed = share * distance / step
    return max(speed, -recovery)


@kernel
def cone_row(s, x, row):
    """Three angular residuals become their length, the angle, in the first row."""
    a, b, c = s.e[row], s.e[row + 1], s.e[row + 2]
    angle = math.sqrt(a * a + b * b + c * c)
    x.kind[row] = x.kind[row + 1] = x.kind[row + 2] = UNUSED_ROW
    if angle > 1e-9:
        a, b, c = a / angle, b / angle, c / angle
        for k in range(s.J.shape[1]):
            s.J[row, k] = a * s.J[row, k] + b * s.J[row + 1, k] + c * s.J[row + 2, k]
        s.e[row] = angle
        x.kind[row] = RANGE


@kernel
def row_desired_velocity(s, x, k, row):
    """Range of J u, or value, that a row asks for."""
    step, share, recovery = x.time_step, x.share, x.recovery_speed
    e, low, high, gain = s.e[row], s.low[row], s.high[row], s.gain[k]
    hard = x.role[k] == HARD_TASK
    if x.kind[row] == EQUATION:
        speed = -gain * e
        if hard:
            speed = min(max(-share * e / step, -recovery), recovery)
        x.want_low[row] = x.want_high[row] = speed
        return
    if not hard and s.to_middle[k] != 0 and high - low < math.inf and (e < low or e > high):
        x.kind[row] = EQUATION
        x.want_low[row] = x.want_high[row] = -gain * (e - 0.5 * (low + high))
        return
    x.want_low[row] = -approach(e - low, share, step, recovery)
    x.want_high[row] = approach(high - e, share, step, recovery)
    if not hard and e < low:
        x.want_low[row] = gain * (low - e)
    if not hard and e > high:
        x.want_high[row] = gain * (high - e)


@kernel
def task_gram(s, x, first, last):
    """J J^T of a task's equations, rows of others with a one on the diagonal; 1 / trace of its inverse, or 0."""
    G, J = x.gram, s.J
    n = last - first
    others = 0.0
    for a in range(n):
        for b in range(a + 1):
            total = 0.0
            if x.kind[first + a] == EQUATION and x.kind[first + b] == EQUATION:
                for c in range(J.shape[1]):
                    total += J[first + a, c] * J[first + b, c]
            elif a == b:
                total = 1.0
                others += 1.0
            G[a, b] = G[b, a] = total
    # Cholesky in place of `eigen`, whose columns are then inverted one by one.
    L = x.eigen
    trace = 0.0
    for a in range(n):
        for b in range(a + 1):
            total = G[a, b]
            for c in range(b):
                total -= L[a, c] * L[b, c]
            if a == b:
                if total <= 1e-14:
                    return 0.0
                L[a, a] = math.sqrt(total)
            else:
                L[a, b] = total / L[b, b]
    for b in range(n):
        for a in range(b, n):
            total = 1.0 if a == b else 0.0
            for c in range(b, a):
                total -= L[a, c] * L[c, b]  # column b of the inverse takes the place of L's
            if a > b:
                L[a, b] = total / L[a, a]
            else:
                L[b, b] = 1.0 / L[b, b]
            trace += L[a, b] * L[a, b]
    if trace <= others:
        return math.inf
    return 1.0 / (trace - others)


@kernel
def jacobi_eigen(G, V, n):
    """Eigenvalues on the diagonal of G (n <= 6), eigenvectors in columns of V: cyclic Jacobi rotations."""
    for a in range(n):
        for b in range(n):
            V[a, b] = 1.0 if a == b else 0.0
    for _ in range(12):
        off, size = 0.0, 0.0
        for a in range(n):
            size += G[a, a] * G[a, a]
            for b in range(a):
                off += G[a, b] * G[a, b]
        if off <= 1e-30 * size:
            return
        for p in range(n - 1):
            for q in range(p + 1, n):
                if G[p, q] != 0.0:
                    theta = (G[q, q] - G[p, p]) / (2.0 * G[p, q])
                    t = 1.0 / (math.fabs(theta) + math.sqrt(theta * theta + 1.0))
                    if theta < 0.0:
                        t = -t
                    c = 1.0 / math.sqrt(t * t + 1.0)
                    e = t * c
                    for k in range(n):
                        a, b = G[k, p], G[k, q]
                        G[k, p], G[k, q] = c * a - e * b, e * a + c * b
                    for k in range(n):
                        a, b = G[p, k], G[q, k]
                        G[p, k], G[q, k] = c * a - e * b, e * a + c * b
                        a, b = V[k, p], V[k, q]
                        V[k, p], V[k, q] = c * a - e * b, e * a + c * b


@kernel
def filter_task(s, x, k):
    """Damp what a task asks for along directions that its Jacobian hardly reaches."""
    first, last = s.first_row[k], s.first_row[k + 1]
    least2 = x.least_singular_value**2
    if task_gram(s, x, first, last) >= least2:  # a lower bound of the smallest eigenvalue
        return
    n = last - first
    G, V = x.gram, x.eigen
    jacobi_eigen(G, V, n)
    for i in range(n):
        value = max(G[i, i], 0.0)
        if value < least2:
            along = 0.0
            for a in range(n):
                if x.kind[first + a] == EQUATION:
                    along += V[a, i] * x.want_low[first + a]
            cut = along * (1.0 - value / least2)
            for a in range(n):
                if x.kind[first + a] == EQUATION:
                    x.want_low[first + a] -= cut * V[a, i]
    for a in range(first, last):
        if x.kind[a] == EQUATION:
            x.want_high[a] = x.want_low[a]


@kernel
def desired_velocities(s, x):
    """What all tasks ask for."""
    for k in range(s.framed.shape[0]):
        equations = 0
        for row in range(s.first_row[k], s.first_row[k + 1]):
            x.kind[row] = s.row_kind[row]
            if x.role[k] == HELPER_TASK:
                x.kind[row] = UNUSED_ROW
            if x.kind[row] == CONE_ROW:
                cone_row(s, x, row)
        for row in range(s.first_row[k], s.first_row[k + 1]):
            if x.kind[row] != UNUSED_ROW:
                row_desired_velocity(s, x, k, row)
                if x.kind[row] == EQUATION:
                    equations += 1
        if equations > 0 and x.role[k] == SOFT_TASK and s.framed[k] != 0 and x.least_singular_value > 0.0:
            filter_task(s, x, k)


@kernel
def braking(distance, acceleration, step):
    """Largest velocity u from which a coordinate stops within a distance, slowing down by a h in each step.

    In n steps it goes u h + (u - a h) h + ... = n u h - n (n - 1) a h^2 / 2, n the fewest with u <= n a h.
    """
    slower = acceleration * step
    if not distance < 1e12 * slower * step:  # more steps than there will be
        return math.inf
    n = max(math.ceil(0.5 * math.sqrt(1.0 + 8.0 * distance / (slower * step)) - 0.5), 1.0)
    return distance / (n * step) + 0.5 * (n - 1.0) * slower


@kernel
def is_turn(t, i, j):
    """Whether coordinate j, of body i's joint, is one of a rotation, or of a translation in axes that turn."""
    kind = t.kind[i]
    return kind == BALL or kind == FREE or (kind == FREE_MIXED and j < t.first_dof[i] + 3)


@kernel
def room(t, d, s, c, j):
    """How far coordinate j of column c is from its limits, and what follows it from its own: below and above."""
    down, up = d.q[j] - t.lower[j], t.upper[j] - d.q[j]
    for n in range(s.offset.shape[0]):
        k = s.mimic[n, 0]
        r = s.ratio[k]
        if s.column[k] == c and r != 0.0:
            a, b = (d.q[k] - t.lower[k]) / r, (t.upper[k] - d.q[k]) / r
            if r < 0.0:
                a, b = -b, -a
            down, up = min(down, a), min(up, b)
    return down, up


@kernel
def coordinate_bounds(t, d, s, x):
    """Bounds of velocities: of velocity, and of position; then of acceleration as far as those allow."""
    step, share, recovery = x.time_step, x.share, x.recovery_speed
    for c in range(s.active.shape[0]):
        j = s.active[c]
        low, high = x.velocity_low[c], x.velocity_high[c]
        a = x.acceleration[c]
        if x.position_limited[c] != 0 and not is_turn(t, t.body_of_dof[j], j):
            down, up = room(t, d, s, c, j)
            most, least = approach(up, share, step, recovery), -approach(down, share, step, recovery)
            if a < math.inf and up > 0.0:
                most = braking(up, a, step)
            if a < math.inf and down > 0.0:
                least = -braking(down, a, step)
            most, least = max(most, low), min(least, high)
            low, high = max(low, least), min(high, most)
        if x.has_previous != 0 and a < math.inf:
            most, least = x.previous[c] + a * step, x.previous[c] - a * step
            if least > high:
                low = high
            elif most < low:
                high = low
            else:
                low, high = max(low, least), min(high, most)
        x.bound_low[c], x.bound_high[c] = low, high
