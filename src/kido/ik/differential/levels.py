"""Velocities by priority: a quadratic program for each level, in the directions that the levels above leave free.

Equations that must hold are met first, exactly: u_0 is their least solution and Y the directions they leave. Level l
then chooses z to

    minimize  |w (J_l (u + Y z) - v_l)|^2 + damping |u + Y z|^2 + |w s|^2
    with      bounds <= u + Y z <= bounds,    low <= hard rows (u + Y z) <= high,    low <= ranges (u + Y z) + s <= high

where s is by how much ranges of the level itself are missed. Then u += Y z, the level's equations are taken out of Y,
and its ranges become hard rows, as wide as they have turned out.

Sources: Kanoun, Lamiraux, Wieber, "Kinematic control of redundant manipulators: generalizing the task-priority
framework to inequality tasks" (2011), section III; Escande, Mansard, Wieber (2014).
"""

from __future__ import annotations

import math

from kido.ik.differential.arrays import (
    CONTRADICTION,
    DIFFERENTIAL,
    OF_BOUND,
    OF_EQUATIONS,
    OF_TASK,
    SOFT_TASK,
    STEP_NOT_FINITE,
    STEP_REFUSED,
)
from kido.ik.differential.desired_velocities import coordinate_bounds, desired_velocities
from kido.ik.differential.hard import brake_rows, hard_rows, is_equation, open_row
from kido.ik.differential.null_space import all_free, project_row, satisfy, take_rows
from kido.ik.engine.residuals import follow, task_residuals
from kido.ik.engine.tasks import EQUATION, RANGE, TASKS
from kido.jit import direct_entry, kernel, view
from kido.kernels.entries import OK, copy_finite
from kido.kernels.integration import advance
from kido.optimization.dense_qp.arrays import INFEASIBLE, QP_SOLVED, QUADRATIC
from kido.optimization.dense_qp.dual import minimize
from kido.tree.schema import DATA, TREE


@kernel
def along(J, row, u):
    """J u of one row."""
    total = 0.0
    for c in range(u.shape[0]):
        total += J[row, c] * u[c]
    return total


@kernel
def meet_equations(x):
    """u and Y of the hard equations; QP_SOLVED or CONTRADICTION."""
    for c in range(x.u.shape[0]):
        x.u[c] = 0.0
    all_free(x)
    m = 0
    for h in range(x.hard_rows):
        if is_equation(x, h):
            if project_row(x, x.hard_J, h, m) > 0.0 or x.hard_low[h] != 0.0:
                x.W_value[m], x.W_row[m] = x.hard_low[h], h
                m += 1
    if m == 0:
        return QP_SOLVED
    rank = take_rows(x, m)
    wrong = satisfy(x, m, 0, rank)
    if wrong < 0:
        return QP_SOLVED
    x.conflict[0, 0], x.conflict[0, 1] = OF_TASK, x.hard_source[wrong, 1]
    x.conflict[1, 0] = OF_EQUATIONS
    x.conflicts = 2
    return CONTRADICTION


@kernel
def gather(s, x, level):
    """Rows of a level: equations to W, ranges to their list; returns how many of both, and the squared error."""
    m, r, error = 0, 0, 0.0
    for k in range(s.framed.shape[0]):
        if x.role[k] == SOFT_TASK and s.priority[k] == level:
            for row in range(s.first_row[k], s.first_row[k + 1]):
                w = s.weight[row]
                if w > 0.0:
                    if x.kind[row] == EQUATION:
                        if project_row(x, s.J, row, m) > 0.0:
                            v = x.want_low[row]
                            x.W_value[m], x.W_row[m] = v - along(s.J, row, x.u), row
                            x.W_weight[m] = w * w
                            error += w * w * v * v
                            m += 1
                    elif x.kind[row] == RANGE:
                        x.ranges[r] = row
                        r += 1
    return m, r, error


@kernel
def write_objective(s, x, p, m, r, damping):
    """H and g of a level with m equations and r ranges."""
    n, first = x.Y.shape[0], x.first_free
    free = n - first
    H, g, W = p.H, p.g, x.W
    for a in range(free + r):
        for b in range(a, free + r):
            H[a, b] = 0.0
        g[a] = 0.0
    for a in range(free):
        H[a, a] = damping
    if first > 0:
        for c in range(n):
            f = damping * x.u[c]
            for a in range(free):
                g[a] += f * x.Y[c, first + a]
    for i in range(m):
        v = x.W_weight[i] * x.W_value[i]
        for a in range(free):
            g[a] -= v * W[i, first + a]
    whole = m - m % 4
    for i in range(0, whole, 4):
        w0, w1, w2, w3 = x.W_weight[i], x.W_weight[i + 1], x.W_weight[i + 2], x.W_weight[i + 3]
        for a in range(free):
            y0, y1, y2, y3 = W[i, first + a], W[i + 1, first + a], W[i + 2, first + a], W[i + 3, first + a]
            if y0 != 0.0 or y1 != 0.0 or y2 != 0.0 or y3 != 0.0:
                y0, y1, y2, y3 = w0 * y0, w1 * y1, w2 * y2, w3 * y3
                for b in range(a, free):
                    c = first + b
                    H[a, b] += (y0 * W[i, c] + y1 * W[i + 1, c]) + (y2 * W[i + 2, c] + y3 * W[i + 3, c])
    for i in range(whole, m):
        for a in range(free):
            y = x.W_weight[i] * W[i, first + a]
            if y != 0.0:
                for b in range(a, free):
                    H[a, b] += y * W[i, first + b]
    for k in range(r):
        w = s.weight[x.ranges[k]]
        H[free + k, free + k] = w * w


@kernel
def add_row(x, p, J, row, low, high, within, kind, which):
    """A row of the program: low <= J (u + Y z) <= high. `within`: u satisfies it, up to rounding."""
    if low == -math.inf and high == math.inf:
        return
    n, first = x.Y.shape[0], x.first_free
    free = n - first
    there = along(J, row, x.u)
    low, high = low - there, high - there
    if within:
        low, high = min(low, 0.0), max(high, 0.0)
    at = p.num_rows
    for a in range(p.num_variables):
        p.A[at, a] = 0.0
    for c in range(n):
        f = J[row, c]
        if f != 0.0:
            for a in range(free):
                p.A[at, a] += f * x.Y[c, first + a]
    p.row_lower[at], p.row_upper[at] = low, high
    x.program_row[at, 0], x.program_row[at, 1] = kind, which
    p.num_rows = at + 1


@kernel
def write_constraints(s, x, p, r, within):
    """Bounds and rows of a level's program."""
    n, first = x.Y.shape[0], x.first_free
    free = n - first
    p.num_variables, p.num_rows, p.max_iterations = free + r, 0, 0
    for a in range(free + r):
        p.lower[a], p.upper[a] = -math.inf, math.inf
    for c in range(n):
        low, high = x.bound_low[c], x.bound_high[c]
        if first == 0:  # Y = 1
            p.lower[c], p.upper[c] = low - x.u[c], high - x.u[c]
            if within:
                p.lower[c], p.upper[c] = min(p.lower[c], 0.0), max(p.upper[c], 0.0)
        elif low > -math.inf or high < math.inf:
            at = p.num_rows
            for a in range(free):
                p.A[at, a] = x.Y[c, first + a]
            for a in range(free, free + r):
                p.A[at, a] = 0.0
            low, high = low - x.u[c], high - x.u[c]
            if within:
                low, high = min(low, 0.0), max(high, 0.0)
            p.row_lower[at], p.row_upper[at] = low, high
            x.program_row[at, 0], x.program_row[at, 1] = OF_BOUND, c
            p.num_rows = at + 1
    for k in range(r):
        row = x.ranges[k]
        add_row(x, p, s.J, row, x.want_low[row], x.want_high[row], False, OF_TASK, row)
        at = p.num_rows - 1
        if at >= 0 and x.program_row[at, 0] == OF_TASK and x.program_row[at, 1] == row:
            p.A[at, free + k] = 1.0
    for h in range(x.hard_rows):
        if not is_equation(x, h):
            add_row(x, p, x.hard_J, h, x.hard_low[h], x.hard_high[h], within, x.hard_source[h, 0], x.hard_source[h, 1])


@kernel
def note_conflict(x, p):
    """Constraints of the program that cannot hold together, as what they come from."""
    found, free = 0, p.num_variables
    for k in range(p.num_conflicts):
        q = p.conflict[k]
        if q < free:
            x.conflict[found, 0], x.conflict[found, 1] = OF_BOUND, q
        else:
            x.conflict[found, 0], x.conflict[found, 1] = x.program_row[q - free, 0], x.program_row[q - free, 1]
        found += 1
    if x.first_free > 0:
        x.conflict[found, 0] = OF_EQUATIONS
        found += 1
    x.conflicts = found


@kernel
def solve_level(s, x, p, number, within, last):
    """Add to u what level `number` of the list wants."""
    n, first = x.Y.shape[0], x.first_free
    free = n - first
    m, r, damping = 0, 0, x.damping
    if x.levels.shape[0] > 0:
        m, r, error = gather(s, x, x.levels[number])
        damping += x.level_damping[number] + x.error_damping * error
    write_constraints(s, x, p, r, within)
    write_objective(s, x, p, m, r, damping)
    if x.levels.shape[0] > 0:
        p.num_warm = x.warm_count[number]
        for k in range(p.num_warm):
            p.warm[k] = x.warm[number, k]
    status = minimize(p)
    x.programs += 1
    x.iterations += p.iterations
    if status != QP_SOLVED:
        if within and status == INFEASIBLE:
            return QP_SOLVED  # u satisfies all of it: rounding alone says otherwise
        if status == INFEASIBLE:
            note_conflict(x, p)
        return status
    if x.levels.shape[0] > 0:
        x.warm_count[number] = p.num_active
        for k in range(p.num_active):
            x.warm[number, k] = p.active[k]
    for c in range(n):
        total = 0.0
        for a in range(free):
            total += x.Y[c, first + a] * p.x[a]
        x.u[c] += total
    if not last:
        take_rows(x, m)
        for k in range(r):
            row = x.ranges[k]
            got = along(s.J, row, x.u)
            h = open_row(x, min(x.want_low[row], got), max(x.want_high[row], got), OF_TASK, row)
            for c in range(n):
                x.hard_J[h, c] = s.J[row, c]
    return QP_SOLVED


@kernel
def solve_levels(s, x, p, count):
    """u of the first `count` levels; returns QP_SOLVED, or why there is none."""
    x.conflicts = x.programs = x.iterations = 0
    x.failed_level = -1
    status = meet_equations(x)
    if status != QP_SOLVED:
        return status
    levels = max(min(count, x.levels.shape[0]), 1)
    for number in range(levels):
        if number > 0 and x.first_free == x.Y.shape[0]:
            break
        status = solve_level(s, x, p, number, number > 0, number == levels - 1)
        if status != QP_SOLVED:
            x.failed_level = number
            return status
    total = 0.0
    for c in range(x.u.shape[0]):
        total += 0.0 * x.u[c]
    if total != 0.0:
        return STEP_NOT_FINITE
    return QP_SOLVED


@direct_entry("i8(i8,i8,i8,i8,i8,f8[::1],f8,f8[::1],f8[::1])")
def step(tree, data, tasks, own, program, q, h, u, after):
    """Velocities u (dofs,) at q for a step h, and the positions after it; 0, or why there are none."""
    t, d, s = view(TREE, tree), view(DATA, data), view(TASKS, tasks)
    x, p = view(DIFFERENTIAL, own), view(QUADRATIC, program)
    if copy_finite(q, d.q) != OK:
        return STEP_REFUSED
    follow(s, d.q)
    x.time_step = h
    task_residuals(t, d, s)
    desired_velocities(s, x)
    status = hard_rows(t, d, s, x)
    if status != 0:
        return status
    coordinate_bounds(t, d, s, x)
    brake_rows(s, x)
    status = solve_levels(s, x, p, x.levels.shape[0])
    if status != 0:
        return status
    for k in range(d.u.shape[0]):
        d.u[k] = 0.0
    for c in range(s.active.shape[0]):
        d.u[s.active[c]] = x.u[c]
        x.previous[c] = x.u[c]
    for n in range(s.offset.shape[0]):
        d.u[s.mimic[n, 0]] = s.ratio[s.mimic[n, 0]] * d.u[s.mimic[n, 1]]
    x.has_previous = 1
    for k in range(d.u.shape[0]):
        u[k] = d.u[k]
    advance(t, d, 0, t.parent.shape[0], h)
    follow(s, d.q)
    for k in range(d.q.shape[0]):
        after[k] = d.q[k]
    return OK
