"""How fast a path can be followed: what velocities can be held at each of its points, and the fastest of them.

With s the place on the path, x = sdot^2 and u = sddot, each limit is a row lower <= a u + b x + c <= upper at a point
of a grid, and u is constant between two points: x_next = x + 2 u (s_next - s). Rows hold at both ends of a piece.
Backwards, the interval of x from which the path can be followed to its end is found point by point; forwards, the
largest u is taken that stays in it.

Source: Pham and Pham, "A new approach to time-optimal path parameterization based on reachability analysis", IEEE
Transactions on Robotics 34 (2018).
"""

from __future__ import annotations

import math

from kido.jit import entry, kernel

TINY = 1e-300
ROUNDS = 100  # of a search for where two lines meet; each goes on to another pair of them


@kernel
def bounds_of_rate(a, b, c, lower, upper, i, step, ahead, x, out):
    """Interval of u that rows i admit at x, and how its ends change with x.

    With `ahead` rows are those of the next point, where x is x + 2 step u. `out`: low, its slope, high, its slope;
    they are narrowed.
    """
    for j in range(a.shape[1]):
        slope = b[i, j]
        p = a[i, j] + (2.0 * step * slope if ahead else 0.0)
        if abs(p) <= TINY:
            continue  # it does not depend on u: `most_by_rows` looks at it
        share, rest = 1.0 / p, c[i, j] + slope * x
        lo, hi = (lower[j] - rest) * share, (upper[j] - rest) * share
        if p < 0.0:
            lo, hi = hi, lo
        if lo > out[0]:
            out[0], out[1] = lo, -slope * share
        if hi < out[2]:
            out[2], out[3] = hi, -slope * share


@kernel
def interval_of_rate(a, b, c, lower, upper, i, step, x, low, high, out):
    """Interval of u at point i and x, so that the next x is from low to high."""
    out[0], out[1] = (low - x) / (2.0 * step), -0.5 / step
    out[2], out[3] = (high - x) / (2.0 * step), -0.5 / step
    bounds_of_rate(a, b, c, lower, upper, i, step, False, x, out)
    bounds_of_rate(a, b, c, lower, upper, i + 1, step, True, x, out)


@kernel
def most_by_rows(a, b, c, lower, upper, i, x):
    """The largest x up to a given one that rows without u at point i admit."""
    for j in range(a.shape[1]):
        if abs(a[i, j]) <= TINY and abs(b[i, j]) > TINY:
            e = ((upper[j] if b[i, j] > 0.0 else lower[j]) - c[i, j]) / b[i, j]
            x = min(x, e)
    return x


@kernel
def farthest(a, b, c, lower, upper, i, step, x, low, high, sign, out):
    """The x nearest to a given one, in one direction, at which some u is admitted; -1: there is none.

    The width of the interval of u is concave in x and piecewise linear, so Newton's method ends at its zero.
    """
    begun = x
    for _ in range(ROUNDS):
        interval_of_rate(a, b, c, lower, upper, i, step, x, low, high, out)
        width, slope = out[2] - out[0], out[3] - out[1]
        if abs(width) <= 1e-13 * (1.0 + abs(out[2])) or (width > 0.0 and (x == begun or slope * sign >= 0.0)):
            return x
        if slope * sign >= 0.0:
            return -1.0
        x = x - width / slope
        if x < 0.0:
            return -1.0
    return x


@entry("i8(f8[::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[::1],f8[::1],f8[::1],f8,f8,f8[:,::1],f8[::1],f8[::1])")
def fastest(s, a, b, c, lower, upper, most, start, end, reach, work, x):
    """The fastest law: `x` (n,) at the points s, from `start` to `end`.

    Args:
        s: points of the path, ascending.
        a, b, c: rows (n, m).
        lower, upper: their limits (m,).
        most: largest x by velocities (n,).
        start, end: x there.
        reach: intervals from which the end can be reached (n, 2); a result too.
        work: work space (4,).
        x: the result.

    Returns:
        -1, or the point from which the path cannot be followed.
    """
    n = s.shape[0]
    reach[n - 1, 0] = reach[n - 1, 1] = end
    for i in range(n - 2, -1, -1):
        step = s[i + 1] - s[i]
        low, high = reach[i + 1, 0], reach[i + 1, 1]
        top = most_by_rows(a, b, c, lower, upper, i, most[i])
        top = farthest(a, b, c, lower, upper, i, step, top, low, high, 1.0, work)
        if top < 0.0:
            return i
        bottom = farthest(a, b, c, lower, upper, i, step, 0.0, low, high, -1.0, work)
        if bottom < 0.0 or bottom > top:
            bottom = top
        reach[i, 0], reach[i, 1] = bottom, top
    if start < reach[0, 0] - 1e-12 or start > reach[0, 1] + 1e-12:
        return 0
    x[0] = start
    for i in range(n - 1):
        step = s[i + 1] - s[i]
        interval_of_rate(a, b, c, lower, upper, i, step, x[i], reach[i + 1, 0], reach[i + 1, 1], work)
        u = work[2]
        if math.isnan(u):
            return i
        x[i + 1] = min(max(x[i] + 2.0 * step * u, reach[i + 1, 0]), reach[i + 1, 1])
    return -1
