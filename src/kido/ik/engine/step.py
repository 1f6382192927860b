"""A damped Gauss-Newton or Newton step within limits, of one descent or of eight side by side.

min over s of  g . s + s . (A + mu) s / 2,  lower <= q + s <= upper:  coordinates that would leave their limits are put
there one pass after the other, and the rest is solved again, until none leaves. Coordinates at a limit that the
gradient presses against it stay from the start, and keep their rows of the Cholesky factor, as rows of a unit matrix.

Angles whose limits leave room for a full turn are free to turn; an angle that another coordinate follows is not: a full
turn would move what follows.

`s` are the tasks, `w` the search with its limits, `x` what a descent works in: the search itself, or lanes of eight
descents. Nothing that both use branches on a float, but for what holds in all lanes.
"""

from __future__ import annotations

import math

from kido.ik.engine.residuals import follow, task_residuals
from kido.ik.engine.tasks import RANGE
from kido.jit import JIT_DISABLED, all_positive, floor, inlined, kernel, rint, where_positive
from kido.kernels.integration import advance_joint

FULL_TURN = 2.0 * math.pi

_ROUNDING = 1e-9  # of limits written as +-pi or +-180 degrees


GRADIENT_DIFFERENCE = 1e-6  # [rad, m] of derivatives of the gradient


@kernel
def is_free_to_turn(t, w, c, k):
    """Whether an angle's limits leave room for a full turn: then every direction is within them."""
    return w.turns[c] != 0 and t.upper[k] - t.lower[k] >= FULL_TURN - _ROUNDING


@kernel
def take_limits(t, s, w):
    """Limits from the tree. A ball or free joint with limits on its positions is moved in these, its chart."""
    for n in range(w.turning.shape[0]):
        i = w.turning[n]
        limited = 0
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            if s.column[k] >= 0 and (t.lower[k] > -math.inf or t.upper[k] < math.inf):
                limited = 1
        s.chart[i] = limited
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            if s.column[k] >= 0:
                w.plain[s.column[k]] = limited
    for c in range(s.active.shape[0]):
        k = s.active[c]
        if is_free_to_turn(t, w, c, k):
            w.lower[c], w.upper[c] = -math.inf, math.inf
        else:
            w.lower[c], w.upper[c] = t.lower[k], t.upper[k]
    for n in range(s.offset.shape[0]):  # what follows is within its own limits
        k = s.mimic[n, 0]
        r, c = s.ratio[k], s.column[k]
        if r != 0.0:
            a, b = (t.lower[k] - s.offset[n]) / r, (t.upper[k] - s.offset[n]) / r
            w.lower[c] = max(w.lower[c], min(a, b))
            w.upper[c] = max(w.lower[c], min(w.upper[c], max(a, b)))


@kernel
def clamp(s, w, q):
    """Put positions of active coordinates within their limits, and those that follow where these have them."""
    for c in range(s.active.shape[0]):
        k = s.active[c]
        q[k] = min(max(q[k], w.lower[c]), w.upper[c])
    follow(s, q)


@kernel
def unwind(t, s, w, q):
    """Turn angles by full turns, to where they are within limits and closest to the start."""
    for c in range(s.active.shape[0]):
        k = s.active[c]
        if w.turns[c] != 0:
            x = q[k] + FULL_TURN * rint((w.start[k] - q[k]) / FULL_TURN)
            if x > t.upper[k]:
                x -= FULL_TURN * (-floor((t.upper[k] - x) / FULL_TURN))
            elif x < t.lower[k]:
                x += FULL_TURN * (-floor((x - t.lower[k]) / FULL_TURN))
            # A turn more, or none at all, where there is no room: limits that are narrower leave the angle as it is.
            if t.lower[k] <= x and x <= t.upper[k]:
                q[k] = x
            elif is_free_to_turn(t, w, c, k):
                q[k] = min(max(x, t.lower[k]), t.upper[k])


@inlined
def is_zero(x):
    """Whether a number is zero, to 1e-150, in all lanes."""
    return all_positive(1e-300 - x * x)


@inlined
def largest_of(a, b):
    """The larger of two numbers."""
    return where_positive(a - b, a, b)


@kernel
def weighted_cost(s, o):
    """|W e|^2 / 2."""
    cost = 0.0
    for r in range(o.e.shape[0]):
        y = s.weight[r] * o.e[r]
        cost += 0.5 * y * y
    return cost


@kernel
def met(s, o):
    """1 where the angular and the linear part of every task are within their tolerances, else 0."""
    worst = 0.0
    for k in range(s.framed.shape[0]):
        first, last = s.first_row[k], s.first_row[k + 1]
        if s.framed[k] == 0:
            for r in range(first, last):
                y = o.e[r] / s.tolerance[r]
                worst = largest_of(y * y, worst)
        else:
            a, b = 0.0, 0.0
            for r in range(first, first + 3):
                y, z = o.e[r] / s.tolerance[r], o.e[r + 3] / s.tolerance[r + 3]
                a += y * y
                b += z * z
            worst = largest_of(a, largest_of(b, worst))
    return where_positive(worst - 1.0, 0.0, 1.0)


@kernel
def normal_equations(s, o, g, A, sparse):
    """A = J^T W^2 J, its lower triangle, and g = J^T W^2 e; sparse: zeros of J are looked for and left out."""
    J = o.J
    n = J.shape[1]
    for c in range(n):
        g[c] = 0.0
        for k in range(c + 1):
            A[c, k] = 0.0
    for r in range(J.shape[0]):
        f, e = s.weight[r] * s.weight[r], o.e[r]
        if f != 0.0 and not (s.row_kind[r] == RANGE and is_zero(e)):  # J of a row within its range is zero too
            for c in range(n):
                y = f * J[r, c]
                if not (sparse and is_zero(y)):
                    g[c] += y * e
                    for k in range(c + 1):
                        A[c, k] += y * J[r, k]


@kernel
def gradient(s, g):
    """g = J^T W^2 e."""
    for c in range(s.J.shape[1]):
        g[c] = 0.0
    for r in range(s.J.shape[0]):
        x = s.weight[r] * s.weight[r] * s.e[r]
        if x != 0.0:
            for c in range(s.J.shape[1]):
                g[c] += x * s.J[r, c]


@kernel
def take_step(t, d, s, w, x):
    """Move the positions in the data along the step, on the manifold."""
    for n in range(w.turning.shape[0]):
        i = w.turning[n]
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            d.u[k] = 0.0
    for c in range(s.active.shape[0]):
        k = s.active[c]
        if w.plain[c] != 0:
            # Onto a limit exactly: so the next step finds it there.
            q = d.q[k] + x.step[c]
            q = where_positive(w.lower[c] - q, w.lower[c], q)
            d.q[k] = where_positive(q - w.upper[c], w.upper[c], q)
        else:
            d.u[k] = x.step[c]
    for n in range(w.turning.shape[0]):
        if s.chart[w.turning[n]] == 0:
            advance_joint(t, d, w.turning[n], 1.0)
    follow(s, d.q)


@kernel
def keep_positions(d, w):
    for k in range(w.kept.shape[0]):
        w.kept[k] = d.q[k]


@kernel
def restore_positions(d, w):
    for k in range(w.kept.shape[0]):
        d.q[k] = w.kept[k]


@kernel
def newton_equations(t, d, s, w):
    """g = J^T W^2 e, and A its derivative, by differences; e and J are of other positions after it.

    Without the residuals' curvature, steps to a pose that cannot be reached would converge slowly or not at all.
    """
    n = s.J.shape[1]
    task_residuals(t, d, s)
    gradient(s, w.g)
    keep_positions(d, w)
    for c in range(n):
        for k in range(n):
            w.step[k] = 0.0
        x = d.q[s.active[c]]
        h = -GRADIENT_DIFFERENCE if x + GRADIENT_DIFFERENCE > w.upper[c] else GRADIENT_DIFFERENCE
        w.step[c] = h
        take_step(t, d, s, w, w)
        task_residuals(t, d, s)
        gradient(s, w.y)
        for k in range(n):
            w.L[k, c] = (w.y[k] - w.g[k]) / h
        restore_positions(d, w)
    for c in range(n):
        for k in range(c + 1):
            w.A[c, k] = 0.5 * (w.L[c, k] + w.L[k, c])


@kernel
def hold_pressed(s, w, x, q):
    """Hold coordinates that are at a limit and would be moved beyond it; returns the largest free gradient."""
    largest = 0.0
    for c in range(x.g.shape[0]):
        at, g = q[s.active[c]], x.g[c]
        low = where_positive(at - w.lower[c], 0.0, where_positive(-g, 0.0, 1.0))
        high = where_positive(w.upper[c] - at, 0.0, where_positive(g, 0.0, 1.0))
        held = where_positive(low + high, 1.0, 0.0)
        x.held[c] = held
        x.step[c] = 0.0
        size = where_positive(held, 0.0, where_positive(g, g, -g))
        if not all_positive(largest - size):
            largest = largest_of(largest, size)
    return largest


@kernel
def solve_free(x, mu):
    """Steps of the free coordinates, those held being what they are. Returns 1 where the matrix was not positive."""
    n = x.g.shape[0]
    L, A = x.L, x.A
    bad, held_ones = 0.0, 0.0
    for c in range(n):
        held_ones += x.held[c]
    all_free = is_zero(held_ones)
    for a in range(n):
        held = x.held[a]
        right = -x.g[a]
        if not all_free:
            for c in range(n):
                shift = where_positive(x.held[c], x.step[c], 0.0)
                if c <= a:
                    right -= A[a, c] * shift
                else:
                    right -= A[c, a] * shift
        for b in range(a):
            y = A[a, b]
            if not all_free:
                y = where_positive(held + x.held[b], 0.0, y)
            for k in range(b):
                y -= L[a, k] * L[b, k]
            y *= L[b, b]
            L[a, b] = y
            right -= y * x.y[b]
        y = A[a, a] + mu
        if not all_free:
            y = where_positive(held, 1.0, y)
        for k in range(a):
            y -= L[a, k] * L[a, k]
        bad = where_positive(y, bad, 1.0)
        if JIT_DISABLED:  # plain Python refuses roots of negative numbers
            y = where_positive(y, y, math.nan)
        y = 1.0 / math.sqrt(y)  # NaN where it was not positive: such steps are not taken
        L[a, a] = y
        right *= y
        if not all_free:
            right = where_positive(held, 0.0, right)
        x.y[a] = right
    for a in range(n - 1, -1, -1):
        right = x.y[a]
        for b in range(a + 1, n):
            right -= L[b, a] * x.y[b]
        right *= L[a, a]
        x.y[a] = right
        if not all_free:
            right = where_positive(x.held[a], x.step[a], right)
        x.step[a] = right
    return bad


@kernel
def limited_step(s, w, x, q, mu):
    """The step within limits; returns 1 where there is none. `hold_pressed` comes before."""
    n = x.g.shape[0]
    bad = 0.0
    for _ in range(n + 1):
        bad = where_positive(solve_free(x, mu), 1.0, bad)
        left = 0.0
        for c in range(n):
            at, held, step = q[s.active[c]], x.held[c], x.step[c]
            below = where_positive(held, 0.0, where_positive(w.lower[c] - (at + step), 1.0, 0.0))
            above = where_positive(held, 0.0, where_positive((at + step) - w.upper[c], 1.0, 0.0))
            x.step[c] = where_positive(below, w.lower[c] - at, where_positive(above, w.upper[c] - at, step))
            x.held[c] = held + below + above
            left += below + above
        if all_positive(0.5 - left) or all_positive(bad):
            break
    return bad


@kernel
def predicted_decrease(x):
    """-(g . s + s . A s / 2)."""
    total = 0.0
    for c in range(x.g.shape[0]):
        step = x.step[c]
        y = x.g[c] + 0.5 * x.A[c, c] * step
        for k in range(c):
            y += x.A[c, k] * x.step[k]
        total -= step * y
    return total
