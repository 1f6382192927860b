"""A damped Gauss-Newton or Newton step within limits.

min over s of  g . s + s . (A + mu) s / 2,  lower <= q + s <= upper:  coordinates that would leave their limits are put
there one pass after the other, and the rest is solved again, until none leaves. Coordinates at a limit that the
gradient presses against it stay from the start.
"""

from __future__ import annotations

import math

from kido.ik.engine.residuals import follow, residuals
from kido.jit import kernel
from kido.kernels.integration import advance_joint

DIFFERENCE = 1e-6  # [rad, m] of derivatives of the gradient


@kernel
def weighted_cost(s):
    """|W e|^2 / 2."""
    cost = 0.0
    for r in range(s.e.shape[0]):
        x = s.weight[r] * s.e[r]
        cost += 0.5 * x * x
    return cost


@kernel
def normal_equations(s, w):
    """A = J^T W^2 J and g = J^T W^2 e."""
    n = s.J.shape[1]
    for c in range(n):
        w.g[c] = 0.0
        for k in range(c + 1):
            w.A[c, k] = 0.0
    for r in range(s.J.shape[0]):
        f = s.weight[r] * s.weight[r]
        e = s.e[r]
        for c in range(n):
            x = f * s.J[r, c]
            if x != 0.0:
                w.g[c] += x * e
                for k in range(c + 1):
                    w.A[c, k] += x * s.J[r, k]


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
def take_step(t, d, s, w):
    """Move the positions in the data along the step, on the manifold."""
    for n in range(w.turning.shape[0]):
        i = w.turning[n]
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            d.u[k] = 0.0
    for c in range(s.active.shape[0]):
        k = s.active[c]
        if w.plain[c] != 0:
            # Onto a limit exactly: so the next step finds it there.
            d.q[k] = min(max(d.q[k] + w.step[c], w.lower[c]), w.upper[c])
        else:
            d.u[k] = w.step[c]
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
    residuals(t, d, s)
    gradient(s, w.g)
    keep_positions(d, w)
    for c in range(n):
        for k in range(n):
            w.step[k] = 0.0
        x = d.q[s.active[c]]
        h = -DIFFERENCE if x + DIFFERENCE > w.upper[c] else DIFFERENCE
        w.step[c] = h
        take_step(t, d, s, w)
        residuals(t, d, s)
        gradient(s, w.y)
        for k in range(n):
            w.L[k, c] = (w.y[k] - w.g[k]) / h
        restore_positions(d, w)
    for c in range(n):
        for k in range(c + 1):
            w.A[c, k] = 0.5 * (w.L[c, k] + w.L[k, c])


@kernel
def hold_pressed(s, w, q):
    """Hold coordinates that are at a limit and would be moved beyond it; returns the largest free gradient."""
    largest = 0.0
    for c in range(w.g.shape[0]):
        x, g = q[s.active[c]], w.g[c]
        if (x <= w.lower[c] and g >= 0.0) or (x >= w.upper[c] and g <= 0.0):
            w.held[c] = 1
        else:
            w.held[c] = 0
            largest = max(largest, math.fabs(g))
        w.step[c] = 0.0
    return largest


@kernel
def solve_free(w, mu):
    """Steps of the free coordinates, those held being what they are. Returns whether the matrix was positive."""
    columns = w.g.shape[0]
    n = 0
    for c in range(columns):
        if w.held[c] == 0:
            w.free[n] = c
            n += 1
    L, A = w.L, w.A
    for a in range(n):
        i = w.free[a]
        x = -w.g[i]
        if n < columns:
            for c in range(columns):
                if w.held[c] != 0:
                    x -= (A[i, c] if c <= i else A[c, i]) * w.step[c]
        for b in range(a):
            y = A[i, w.free[b]]
            for k in range(b):
                y -= L[a, k] * L[b, k]
            y *= L[b, b]
            L[a, b] = y
            x -= y * w.y[b]
        y = A[i, i] + mu
        for k in range(a):
            y -= L[a, k] * L[a, k]
        if not y > 0.0:
            return False
        L[a, a] = 1.0 / math.sqrt(y)
        w.y[a] = x * L[a, a]
    for a in range(n - 1, -1, -1):
        x = w.y[a]
        for b in range(a + 1, n):
            x -= L[b, a] * w.y[b]
        w.y[a] = x * L[a, a]
        w.step[w.free[a]] = w.y[a]
    return True


@kernel
def limited_step(s, w, q, mu):
    """The step within limits; returns whether there is one. `hold_pressed` comes before."""
    for _ in range(w.g.shape[0] + 1):
        if not solve_free(w, mu):
            return False
        left = 0
        for c in range(w.g.shape[0]):
            if w.held[c] == 0:
                x = q[s.active[c]]
                if x + w.step[c] < w.lower[c]:
                    w.step[c] = w.lower[c] - x
                    w.held[c] = 1
                    left += 1
                elif x + w.step[c] > w.upper[c]:
                    w.step[c] = w.upper[c] - x
                    w.held[c] = 1
                    left += 1
        if left == 0:
            return True
    return True


@kernel
def predicted_decrease(w):
    """-(g . s + s . A s / 2)."""
    total = 0.0
    for c in range(w.g.shape[0]):
        x = w.step[c]
        if x != 0.0:
            y = w.g[c] + 0.5 * w.A[c, c] * x
            for k in range(c):
                y += w.A[c, k] * w.step[k]
            total -= x * y
    return total
