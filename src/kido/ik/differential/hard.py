"""Hard rows: tasks that must hold, half spaces, limits of rotations, pairs of shapes that are kept apart."""

from __future__ import annotations

import math

from kido.ik.differential.arrays import HARD_TASK, OF_CHART, OF_PAIR, OF_PLANE, OF_TASK
from kido.ik.differential.desired_velocities import approach, braking
from kido.ik.engine.residuals import at
from kido.ik.engine.rotations import inverse_left_jacobian
from kido.ik.engine.tasks import EQUATION, UNUSED_ROW
from kido.jit import kernel
from kido.joints.kinds import FREE
from kido.math.so3 import rotation_vector_to_matrix

EASE = 0.25  # share of what accelerations allow that a row counts on


@kernel
def open_row(x, low, high, kind, which):
    """A new hard row, all zeros; its number."""
    h = x.hard_rows
    x.hard_rows = h + 1
    for c in range(x.hard_J.shape[1]):
        x.hard_J[h, c] = 0.0
    x.hard_low[h], x.hard_high[h] = low, high
    x.hard_source[h, 0], x.hard_source[h, 1] = kind, which
    return h


@kernel
def task_rows(s, x, k):
    """Rows of a hard task."""
    for row in range(s.first_row[k], s.first_row[k + 1]):
        if x.kind[row] != UNUSED_ROW:
            h = open_row(x, x.want_low[row], x.want_high[row], OF_TASK, row)
            for c in range(s.J.shape[1]):
                x.hard_J[h, c] = s.J[row, c]


@kernel
def plane_rows(s, x):
    """n . x <= offset for the linear residual x of a task."""
    for k in range(x.plane_task.shape[0]):
        row = s.first_row[x.plane_task[k]] + 3
        a, b, c = x.plane_normal[k, 0], x.plane_normal[k, 1], x.plane_normal[k, 2]
        distance = x.plane_offset[k] - (a * s.e[row] + b * s.e[row + 1] + c * s.e[row + 2])
        most = approach(distance, x.share, x.time_step, x.recovery_speed)
        h = open_row(x, -math.inf, most, OF_PLANE, k)
        for j in range(s.J.shape[1]):
            x.hard_J[h, j] = a * s.J[row, j] + b * s.J[row + 1, j] + c * s.J[row + 2, j]


@kernel
def chart_rows(t, d, s, x):
    """Position limits of ball and free joints: of rotation vectors r' = J_r^-1 w, of places p' = R v."""
    share, step, recovery = x.share, x.time_step, x.recovery_speed
    for m in range(x.charts.shape[0]):
        i = x.charts[m]
        first = t.first_dof[i]
        r0, r1, r2 = d.q[first], d.q[first + 1], d.q[first + 2]
        for j in range(first, t.first_dof[i + 1]):
            low, high = t.lower[j], t.upper[j]
            start = first if j < first + 3 else first + 3
            counts = j < first + 3 or t.kind[i] == FREE
            if counts and (low > -math.inf or high < math.inf):
                least = -approach(d.q[j] - low, share, step, recovery)
                most = approach(high - d.q[j], share, step, recovery)
                h = open_row(x, least, most, OF_CHART, j)
                M = rotation_vector_to_matrix(r0, r1, r2)
                if j < first + 3:
                    M = inverse_left_jacobian(-r0, -r1, -r2)
                for n in range(3):
                    column = s.column[start + n]
                    if column >= 0:
                        x.hard_J[h, column] = at(M, 3 * (j - start) + n)


@kernel
def hard_rows(t, d, s, x):
    """All hard rows; 0, or why there are none."""
    x.hard_rows = 0
    for k in range(s.framed.shape[0]):
        if x.role[k] == HARD_TASK:
            task_rows(s, x, k)
    plane_rows(s, x)
    chart_rows(t, d, s, x)
    return x.avoid(t, d, s, x)


@kernel
def is_equation(x, h):
    """Whether a hard row is an equation: of a task, with no range."""
    return x.hard_source[h, 0] == OF_TASK and x.kind[x.hard_source[h, 1]] == EQUATION


@kernel
def share_of(x, h):
    """Share of the distance to its bound that a row may take in a step."""
    if x.hard_source[h, 0] == OF_PAIR:
        return x.pair_limit[x.hard_source[h, 1], 2]
    return x.share


@kernel
def braked(most, least, before, a, share, step):
    """A row's bound from above, so that there is room to brake; and no lower than a share of braking brings it now.

    Args:
        most: the bound without acceleration limits.
        least: the smallest value within the bounds of velocities.
        before: the value in the step before.
        a: how fast it can be slowed down.
    """
    if most == math.inf:
        return most
    if most > 0.0:
        most = min(most, braking(most * step / share, EASE * a, step))
    return max(most, before + EASE * min(least - before, 0.0))


@kernel
def brake_rows(s, x):
    """Where accelerations are limited, inequalities among hard rows are approached so that there is room to brake.

    A coordinate's change of velocity is at most a h in a step, that of a row sum |J_c| a_c h. Rows share that, so each
    counts on a quarter of it, and never asks for more than a quarter of what the bounds of velocities leave. So a row
    by itself can always be kept, and what is too fast or beyond its bound at first comes back as accelerations allow.
    """
    step = x.time_step
    for h in range(x.hard_rows):
        if is_equation(x, h):
            continue
        a, before, low, high = 0.0, 0.0, 0.0, 0.0
        for c in range(x.hard_J.shape[1]):
            f = x.hard_J[h, c]
            if f != 0.0:
                a += math.fabs(f) * x.acceleration[c]
                before += f * x.previous[c]
                p, q = f * x.bound_low[c], f * x.bound_high[c]
                low, high = low + min(p, q), high + max(p, q)
        if a > 0.0 and a < math.inf and x.has_previous != 0:
            share = share_of(x, h)
            x.hard_high[h] = braked(x.hard_high[h], low, before, a, share, step)
            x.hard_low[h] = -braked(-x.hard_low[h], -high, -before, a, share, step)
