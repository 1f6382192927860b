"""How far levels are from what they want: at the positions at hand, and after a step by the linear model."""

from __future__ import annotations

import math

from kido.ik.differential.arrays import SOFT_TASK
from kido.ik.differential.desired_velocities import desired_velocities
from kido.ik.differential.hard import hard_rows
from kido.ik.differential.levels import along
from kido.ik.engine.residuals import task_residuals
from kido.ik.engine.tasks import CONE_ROW, EQUATION, UNUSED_ROW
from kido.jit import kernel


@kernel
def outside(value, low, high, to_middle):
    """By how much a value is beyond its range, or, beyond it, off the middle."""
    r = 0.0
    if value < low:
        r = value - low
    elif value > high:
        r = value - high
    if r != 0.0 and to_middle != 0 and high - low < math.inf:
        r = value - 0.5 * (low + high)
    return r


@kernel
def clear_measure(cost, size):
    """Nothing is measured yet."""
    for i in range(cost.shape[0]):
        cost[i] = size[i] = 0.0


@kernel
def count_in(cost, size, level, r):
    """Add a weighted residual to a level's measure."""
    cost[level] += 0.5 * r * r
    size[level] = max(size[level], math.fabs(r)) if r == r else r


@kernel
def measure_levels(s, x, w, cost, size):
    """Measures of the levels from the residuals at hand, which `desired_velocities` has not changed yet."""
    for k in range(s.framed.shape[0]):
        if x.role[k] != SOFT_TASK:
            continue
        level, first = w.level_of[k] + 1, s.first_row[k]
        for row in range(first, s.first_row[k + 1]):
            kind = s.row_kind[row]
            if kind == CONE_ROW:
                if row == first:
                    angle = math.sqrt(s.e[row] ** 2 + s.e[row + 1] ** 2 + s.e[row + 2] ** 2)
                    count_in(cost, size, level, s.weight[row] * outside(angle, 0.0, s.high[row], 0))
            elif kind == EQUATION:
                count_in(cost, size, level, s.weight[row] * s.e[row])
            elif kind != UNUSED_ROW:
                r = outside(s.e[row], s.low[row], s.high[row], s.to_middle[k])
                count_in(cost, size, level, s.weight[row] * r)


@kernel
def measure_hard(t, d, s, x, cost, size):
    """Measure of half spaces, limits of ball and free joints, and pairs of shapes, by how much they are violated."""
    for m in range(x.charts.shape[0]):
        i = x.charts[m]
        for j in range(t.first_dof[i], t.first_dof[i + 1]):
            if s.column[j] >= 0:
                count_in(cost, size, 0, max(t.lower[j] - d.q[j], max(d.q[j] - t.upper[j], 0.0)))
    for k in range(x.plane_task.shape[0]):
        row = s.first_row[x.plane_task[k]] + 3
        beyond = -x.plane_offset[k]
        for i in range(3):
            beyond += x.plane_normal[k, i] * s.e[row + i]
        count_in(cost, size, 0, max(beyond, 0.0))
    for k in range(x.pair.shape[0]):
        count_in(cost, size, 0, max(x.pair_limit[k, 0] - x.pair_gap[k], 0.0))


@kernel
def mask_columns(s, w):
    """Keep the whole Jacobians of tasks that have columns of their own, and zero the others of them."""
    for k in range(s.framed.shape[0]):
        if w.masked[k] != 0:
            for row in range(s.first_row[k], s.first_row[k + 1]):
                for c in range(s.J.shape[1]):
                    w.whole_J[row, c] = s.J[row, c]
                    if w.own[k, c] == 0:
                        s.J[row, c] = 0.0


@kernel
def assess(t, d, s, x, w, cost, size):
    """All that a step needs at the positions in the data, and the measures there; 0, or what is wrong."""
    task_residuals(t, d, s)
    clear_measure(cost, size)
    measure_levels(s, x, w, cost, size)
    desired_velocities(s, x)
    mask_columns(s, w)
    status = hard_rows(t, d, s, x)
    measure_hard(t, d, s, x, cost, size)
    return status


@kernel
def predict(s, x, w):
    """Measures after the step u by the linear model; violations of hard rows are taken back as far as was asked."""
    cost, size = w.model_cost, w.model_size
    clear_measure(cost, size)
    size[0] = max(w.size[0] - x.recovery_speed, 0.0)
    if w.size[0] > 0.0:
        cost[0] = w.cost[0] * (size[0] / w.size[0]) ** 2
    for k in range(s.framed.shape[0]):
        if x.role[k] != SOFT_TASK:
            continue
        level = w.level_of[k] + 1
        for row in range(s.first_row[k], s.first_row[k + 1]):
            kind = x.kind[row]
            if kind == UNUSED_ROW:
                continue
            change = along(s.J, row, x.u) if w.masked[k] == 0 else along(w.whole_J, row, x.u)
            if kind == EQUATION:
                r = change - x.want_low[row]
            else:
                r = outside(s.e[row] + change, s.low[row], s.high[row], s.to_middle[k])
            count_in(cost, size, level, s.weight[row] * r)
