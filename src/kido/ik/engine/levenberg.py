"""Descents from given positions: an attempt to meet the tasks, and the way to the closest pose.

Source: damping by the residual, mu = E + offset, after Sugihara (2011), "Solvability-unconcerned inverse kinematics by
the Levenberg-Marquardt method", section III; its change by the gain ratio after Nielsen (1999), "Damping parameter in
Marquardt's method".
"""

from __future__ import annotations

import math

from kido.ik.engine.residuals import task_residuals
from kido.ik.engine.search import SEARCH_CLOSEST, SEARCH_MET, SEARCH_NOT_FINITE, SEARCH_STOPPED
from kido.ik.engine.step import (
    hold_pressed,
    keep_positions,
    limited_step,
    met,
    newton_equations,
    normal_equations,
    predicted_decrease,
    restore_positions,
    solve_free,
    take_step,
    weighted_cost,
)
from kido.jit import kernel

GAIN_WINDOW = 4  # iterations after which an attempt must have gained something
COST_ROUNDING = 1e-15  # of costs: a smaller gain is none
SMALL_GRADIENT = 1e-7  # beside the residual: an attempt ends
MIN_CURVATURE = 1e-6  # share of the largest curvature by which one may be negative at a minimum
SADDLE_NUDGES, SADDLE_NUDGE = 3, 1e-3  # times, and how far [rad, m], positions are moved from a saddle


@kernel
def is_met(s):
    """Whether all tasks are met."""
    return met(s, s) > 0.5


@kernel
def last_step(t, d, s, w, cost):
    """One more step where tasks are met already, kept if it lowers the cost: errors end at rounding, mostly."""
    if cost == 0.0:
        return
    normal_equations(s, s, w.g, w.A, True)
    hold_pressed(s, w, w, d.q)
    keep_positions(d, w)
    if limited_step(s, w, w, d.q, w.min_damping) < 0.5:
        take_step(t, d, s, w, w)
        task_residuals(t, d, s)
        if weighted_cost(s, s) < cost and is_met(s):
            return
    restore_positions(d, w)
    task_residuals(t, d, s)


@kernel
def attempt(t, d, s, w, limit):
    """Levenberg-Marquardt steps from the positions in the data, which must be within limits.

    Positions, e and J end at the best found.

    Returns:
        SEARCH_MET, SEARCH_CLOSEST (stationary), SEARCH_STOPPED (it took too many iterations, or gained too little) or
        SEARCH_NOT_FINITE.
    """
    task_residuals(t, d, s)
    cost = weighted_cost(s, s)
    if not cost < math.inf:
        return SEARCH_NOT_FINITE
    if is_met(s):
        last_step(t, d, s, w, cost)
        return SEARCH_MET
    normal_equations(s, s, w.g, w.A, True)
    growth, factor = 2.0, 1.0
    before = cost
    status = SEARCH_STOPPED
    for iteration in range(limit):
        if w.used >= w.max_iterations:
            break
        w.used += 1
        largest = hold_pressed(s, w, w, d.q)
        if largest <= SMALL_GRADIENT * math.sqrt(2.0 * cost):
            status = SEARCH_CLOSEST
            break
        accepted = False
        if limited_step(s, w, w, d.q, factor * (w.damping * cost + w.min_damping)) < 0.5:
            predicted = predicted_decrease(w)
            keep_positions(d, w)
            take_step(t, d, s, w, w)
            task_residuals(t, d, s)
            tried = weighted_cost(s, s)
            if tried < cost and predicted > 0.0:
                accepted = True
                x = 2.0 * (cost - tried) / predicted - 1.0
                cost = tried
                if is_met(s):
                    last_step(t, d, s, w, cost)
                    return SEARCH_MET
                normal_equations(s, s, w.g, w.A, True)
                factor = max(factor * max(1.0 / 3.0, 1.0 - x * x * x), 1e-9)
                growth = 2.0
            else:
                restore_positions(d, w)
                if predicted <= COST_ROUNDING * cost:
                    status = SEARCH_CLOSEST
                    break
        if not accepted:
            factor *= growth
            growth *= 2.0
        if iteration % GAIN_WINDOW == GAIN_WINDOW - 1:
            if cost > (1.0 - w.min_decrease) * before:
                break
            before = cost
    task_residuals(t, d, s)
    return status


@kernel
def refine(t, d, s, w, limit):
    """Newton steps from the positions in the data to a minimum of the cost within limits; ends like `attempt`."""
    task_residuals(t, d, s)
    cost = weighted_cost(s, s)
    damping = 0.0
    status = SEARCH_STOPPED
    nudges = 0
    newton_equations(t, d, s, w)
    for _ in range(limit):
        w.used += 1
        largest = hold_pressed(s, w, w, d.q)
        scale = 0.0
        for c in range(w.g.shape[0]):
            scale = max(scale, math.fabs(w.A[c, c]))
        if largest <= w.stationary * math.sqrt(2.0 * cost):
            if nudges == SADDLE_NUDGES or solve_free(w, MIN_CURVATURE * scale) < 0.5:
                status = SEARCH_CLOSEST
                break
            nudges += 1
            for c in range(w.step.shape[0]):
                w.step[c] = SADDLE_NUDGE if (c + nudges) % 2 == 0 else -SADDLE_NUDGE * nudges
            take_step(t, d, s, w, w)
            task_residuals(t, d, s)
            cost = weighted_cost(s, s)
            newton_equations(t, d, s, w)
            continue
        accepted = False
        if limited_step(s, w, w, d.q, damping * scale) < 0.5:
            predicted = predicted_decrease(w)
            keep_positions(d, w)
            take_step(t, d, s, w, w)
            task_residuals(t, d, s)
            tried = weighted_cost(s, s)
            if tried < cost and predicted > 0.0:
                accepted = True
                cost = tried
                if is_met(s):
                    last_step(t, d, s, w, cost)
                    return SEARCH_MET
                damping = 0.0 if damping < 1e-6 else 0.125 * damping
                newton_equations(t, d, s, w)
            else:
                restore_positions(d, w)
                if abs(predicted) <= COST_ROUNDING * cost:
                    status = SEARCH_CLOSEST
                    break
        if not accepted:
            damping = max(1e-5, 8.0 * damping)
            if damping > 1e12:
                break
    task_residuals(t, d, s)
    return status
