"""Newton's method on the exact cone's complementarity of one island, from impulses that are nearly right.

With x = p - v in scaled impulses (so that every block of A has mean diagonal 1) and v = A p + b, a contact is

* open where x_n <= floor:  p_n = floor,  else  v_n = 0;
* sticking where |x_t| <= mu max(x_n, floor):  v_t = 0;
* sliding else:  p_t = mu max(x_n, floor) x_t / |x_t|,

and a bounded row is at a bound or has v = 0; a spin block likewise, its bounds lagging behind its contact's normal
impulse by an iteration. Each iteration solves the linearization of these equations, with
NEWTON_SOFTNESS added to A where a velocity is zero (redundant rows), and goes back along the step until the
equations' defect is smaller than what is allowed, which falls by half at most. Where the cases are those of
the solution it converges in a few steps, whatever the conditioning of A: what first-order methods cannot do.

ADMM ends with it (`newton_steps`), and islands that are swept in row velocities come to it after some sweeps
(`newton_in_rows`): those find which contacts open, stick and slide, and W of the sweeps is its matrix.

Source: Alart and Curnier 1991.
"""

from __future__ import annotations

import math

from kido.jit import kernel
from kido.solvers.certify import measure_island, merit
from kido.solvers.cone import clamp, project_spin
from kido.solvers.history import BEST_ROW, FREE_ROW, SCALE_ROW, TRIAL_ROW, VELOCITY_ROW, gather, scatter
from kido.solvers.problem import BOUNDED, CONTACT, SPIN_BLOCK
from kido.solvers.rows import INDEX, apply_impulses

NEWTON_SOFTNESS = 1e-9
MIN_SHARE = 0.01  # share of a step
NEWTON_PATIENCE = 30  # steps without a real gain after which more are a waste

P, V, STEP_ROW = 0, 1, 2  # rows of `history`, besides those of `vectors`


@kernel
def set_velocity_row(c, n, first, i):
    """Equation v_i = 0."""
    for j in range(n):
        c.factor[i, j] = c.matrix[i, j]
    c.factor[i, i] += NEWTON_SOFTNESS
    c.history[STEP_ROW, first + i] = -c.history[V, first + i]


@kernel
def set_impulse_row(c, n, first, i, value):
    """Equation p_i = value."""
    for j in range(n):
        c.factor[i, j] = 0.0
    c.factor[i, i] = 1.0
    c.history[STEP_ROW, first + i] = value - c.history[P, first + i]


@kernel
def set_slide_rows(c, n, first, i, mu, open_, floor):
    """Equations p_t = mu max(x_n, floor) x_t / |x_t| of the contact whose normal is row i, linearized."""
    h = c.history
    k = first + i
    x1 = h[P, k + 1] - h[V, k + 1]
    x2 = h[P, k + 2] - h[V, k + 2]
    size = math.sqrt(x1 * x1 + x2 * x2)
    e1 = x1 / size
    e2 = x2 / size
    normal = floor if open_ else h[P, k] - h[V, k]
    ratio = min(mu * normal / size, 1.0)
    for j in range(n):
        dn = 0.0 if open_ else -c.matrix[i, j]
        d1 = -c.matrix[i + 1, j]
        d2 = -c.matrix[i + 2, j]
        if j == i and not open_:
            dn += 1.0
        elif j == i + 1:
            d1 += 1.0
        elif j == i + 2:
            d2 += 1.0
        across = e1 * d2 - e2 * d1
        c.factor[i + 1, j] = -mu * e1 * dn + ratio * e2 * across
        c.factor[i + 2, j] = -mu * e2 * dn - ratio * e1 * across
    c.factor[i + 1, i + 1] += 1.0
    c.factor[i + 2, i + 2] += 1.0
    h[STEP_ROW, k + 1] = mu * normal * e1 - h[P, k + 1]
    h[STEP_ROW, k + 2] = mu * normal * e2 - h[P, k + 2]


@kernel
def linearize_spin(c, n, first, i, about, across):
    """Equations of the spin block whose first row is i, its bounds taken as they are now."""
    h = c.history
    k = first + i
    x = h[P, k] - h[V, k]
    if math.fabs(x) <= about:
        set_velocity_row(c, n, first, i)
    else:
        set_impulse_row(c, n, first, i, clamp(x, -about, about))
    x1 = h[P, k + 1] - h[V, k + 1]
    x2 = h[P, k + 2] - h[V, k + 2]
    if across <= 0.0:
        set_impulse_row(c, n, first, i + 1, 0.0)
        set_impulse_row(c, n, first, i + 2, 0.0)
    elif x1 * x1 + x2 * x2 <= across * across:
        set_velocity_row(c, n, first, i + 1)
        set_velocity_row(c, n, first, i + 2)
    else:
        set_slide_rows(c, n, first, i, 1.0, True, across)


@kernel
def linearize(c, island, first, n):
    """Fill factor[:n, :n] and STEP_ROW with the equations at P and V."""
    h = c.history
    i = 0
    normal = 0.0  # impulse of the last contact, whose spin block may follow
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        k = first + i
        scale = h[SCALE_ROW, k]
        x = h[P, k] - h[V, k]
        if scale <= 0.0:
            for r in range(1 if c.kind[b] == BOUNDED else 3):
                set_impulse_row(c, n, first, i + r, h[P, k + r])
        elif c.kind[b] == CONTACT:
            floor = c.floor[b] / scale
            open_ = x <= floor
            normal = max(h[P, k], 0.0) * scale
            if open_:
                set_impulse_row(c, n, first, i, floor)
            else:
                set_velocity_row(c, n, first, i)
            x1 = h[P, k + 1] - h[V, k + 1]
            x2 = h[P, k + 2] - h[V, k + 2]
            radius = c.mu[b] * max(x, floor)
            if radius <= 0.0:
                set_impulse_row(c, n, first, i + 1, 0.0)
                set_impulse_row(c, n, first, i + 2, 0.0)
            elif x1 * x1 + x2 * x2 <= radius * radius:
                set_velocity_row(c, n, first, i + 1)
                set_velocity_row(c, n, first, i + 2)
            else:
                set_slide_rows(c, n, first, i, c.mu[b], open_, floor)
        elif c.kind[b] == SPIN_BLOCK:
            linearize_spin(c, n, first, i, c.torsion[b] * normal / scale, c.mu[b] * normal / scale)
        elif x <= c.lower[b] / scale:
            set_impulse_row(c, n, first, i, c.lower[b] / scale)
        elif x >= c.upper[b] / scale:
            set_impulse_row(c, n, first, i, c.upper[b] / scale)
        else:
            set_velocity_row(c, n, first, i)
        i += 1 if c.kind[b] == BOUNDED else 3


@kernel
def eliminate(c, n, first, slot):
    """Solve factor[:n, :n] x = a row of the history in place, with row exchanges. False if singular."""
    t = c.factor
    h = c.history
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if math.fabs(t[i, k]) > math.fabs(t[best, k]):
                best = i
        if not math.fabs(t[best, k]) > 1e-14:
            return False
        if best != k:
            for j in range(k, n):
                t[k, j], t[best, j] = t[best, j], t[k, j]
            h[slot, first + k], h[slot, first + best] = h[slot, first + best], h[slot, first + k]
        inverse = 1.0 / t[k, k]
        for i in range(k + 1, n):
            a = t[i, k] * inverse
            if a != 0.0:
                for j in range(k + 1, n):
                    t[i, j] -= a * t[k, j]
                h[slot, first + i] -= a * h[slot, first + k]
    for k in range(n - 1, -1, -1):
        x = h[slot, first + k]
        for j in range(k + 1, n):
            x -= t[k, j] * h[slot, first + j]
        h[slot, first + k] = x / t[k, k]
    return True


@kernel
def defect2(c, island, first, n, share):
    """Square of the equations' defect at P + share STEP_ROW, in scaled impulses, which TRIAL_ROW and V keep."""
    h = c.history
    for k in range(first, first + n):
        h[TRIAL_ROW, k] = h[P, k] + share * h[STEP_ROW, k]
    for i in range(n):
        h[V, first + i] = h[FREE_ROW, first + i]
    for j in range(n):
        x = h[TRIAL_ROW, first + j]
        if x != 0.0:
            for i in range(n):
                h[V, first + i] += c.matrix[j, i] * x  # which is symmetric
    total = 0.0
    held = 0.0  # impulse of the last contact, whose spin block may follow
    k = first
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        scale = h[SCALE_ROW, k]
        rows = 1 if c.kind[b] == BOUNDED else 3
        x = h[TRIAL_ROW, k] - h[V, k]
        if scale > 0.0 and c.kind[b] == SPIN_BLOCK:
            bound = held / scale
            q0, q1, q2 = project_spin(
                x,
                h[TRIAL_ROW, k + 1] - h[V, k + 1],
                h[TRIAL_ROW, k + 2] - h[V, k + 2],
                c.torsion[b] * bound,
                c.mu[b] * bound,
            )
            d0 = h[TRIAL_ROW, k] - q0
            d1 = h[TRIAL_ROW, k + 1] - q1
            d2 = h[TRIAL_ROW, k + 2] - q2
            total += d0 * d0 + d1 * d1 + d2 * d2
        elif scale > 0.0 and rows == 3:
            held = max(h[TRIAL_ROW, k], 0.0) * scale
            normal = max(x, c.floor[b] / scale)
            x1 = h[TRIAL_ROW, k + 1] - h[V, k + 1]
            x2 = h[TRIAL_ROW, k + 2] - h[V, k + 2]
            size = math.sqrt(x1 * x1 + x2 * x2)
            ratio = c.mu[b] * normal / size if size > c.mu[b] * normal else 1.0
            d0 = h[TRIAL_ROW, k] - normal
            d1 = h[TRIAL_ROW, k + 1] - ratio * x1
            d2 = h[TRIAL_ROW, k + 2] - ratio * x2
            total += d0 * d0 + d1 * d1 + d2 * d2
        elif scale > 0.0:
            d0 = h[TRIAL_ROW, k] - clamp(x, c.lower[b] / scale, c.upper[b] / scale)
            total += d0 * d0
        k += rows
    return total


@kernel
def newton_steps(c, island, first, n, merit, cap):
    """At most `cap` of Newton's steps from the island's impulses, which have `merit`, until it is at most 1.

    Needs `matrix`, FREE_ROW and SCALE_ROW as ADMM fills them, and leaves in BEST_ROW the best impulses met if they
    solve the island within `acceptance`, else those it began with: on the way a heavy body may be let fall for the sake
    of a light one.

    Returns:
        Steps done.
    """
    h = c.history
    gather(c, island, BEST_ROW)
    for k in range(first, first + n):
        h[P, k] = h[BEST_ROW, k] / h[SCALE_ROW, k] if h[SCALE_ROW, k] > 0.0 else 0.0
        h[STEP_ROW, k] = 0.0
    defect = defect2(c, island, first, n, 0.0)
    allowed = defect
    least = defect
    gained = 0
    done = 0
    while done < cap and merit > 1.0 and done < gained + NEWTON_PATIENCE:
        linearize(c, island, first, n)
        done += 1
        if not eliminate(c, n, first, STEP_ROW):
            break
        share = 1.0
        defect = defect2(c, island, first, n, share)
        while not defect < allowed and share > MIN_SHARE:
            share *= 0.5
            defect = defect2(c, island, first, n, share)
        if not math.isfinite(defect):
            break
        allowed = max(defect, 0.5 * allowed)  # now and then it may grow again
        if defect < 0.5 * least:
            least = defect
            gained = done
        for k in range(first, first + n):
            h[P, k] = h[TRIAL_ROW, k]
            h[TRIAL_ROW, k] *= h[SCALE_ROW, k]
        scatter(c, island, TRIAL_ROW)
        reached = measure_island(c, island)
        if reached < merit and reached <= c.acceptance:
            merit = reached
            gather(c, island, BEST_ROW)
    return done


@kernel
def scale_rows(c, island, first, n):
    """Free velocities of the rows to FREE_ROW, these and `matrix` scaled so that each block has mean diagonal 1."""
    h, m = c.history, c.matrix
    for j in range(n):
        h[FREE_ROW, first + j] = h[VELOCITY_ROW, first + j]
    k = 0
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        scale = math.sqrt(c.step[b])
        for r in range(1 if c.kind[b] == BOUNDED else 3):
            p = c.impulse[c.row[b] + r]
            for j in range(n):
                h[FREE_ROW, first + j] -= m[k, j] * p
            h[SCALE_ROW, first + k] = scale
            k += 1
    for k in range(n):
        scale = h[SCALE_ROW, first + k]
        h[FREE_ROW, first + k] *= scale
        for j in range(n):
            m[k, j] *= scale * h[SCALE_ROW, first + j]


@kernel
def newton_in_rows(c, island, cap):
    """At most `cap` of Newton's steps on an island that was swept in row velocities, and is not solved yet.

    Needs `matrix` and VELOCITY_ROW as the sweeps left them. Leaves impulses that are better than those it began with,
    or the same, with their u and what `measure_island` sets.

    Returns:
        The number of steps.
    """
    first = c.island_row[island] & INDEX
    n = (c.island_row[island + 1] & INDEX) - first
    scale_rows(c, island, first, n)
    done = newton_steps(c, island, first, n, merit(c, island), cap)
    scatter(c, island, BEST_ROW)
    apply_impulses(c, island)
    measure_island(c, island)
    return done
