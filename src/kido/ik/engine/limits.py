"""Limits of active coordinates while searching, and turns of angles that are free to turn.

An angle that another coordinate follows is not free to turn: a full turn would move what follows.
"""

from __future__ import annotations

import math

from kido.ik.engine.residuals import follow
from kido.jit import floor, kernel, rint

FULL_TURN = 2.0 * math.pi
_ROUNDING = 1e-9  # of limits written as +-pi or +-180 degrees


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
