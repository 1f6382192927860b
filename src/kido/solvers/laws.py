"""The exact laws of blocks, linearized at their present impulses and velocities: what Newton's methods solve.

With x = p - D v, D a block's mean inertia, the law of a contact is

* open where x_n <= 0:  p = 0;
* sticking where |x_t| <= mu x_n:  p' = p - sigma v';
* sliding else, along e = x_t / |x_t|:  p_n' = p_n - sigma v_n',  p_t' = mu p_n' e - (mu p_n / |v_t|) (1 - e e^T) v_t'

with sigma = `penalty` D and primes for the iteration's result; a bounded row is at a bound, or as sticking. Each is
p' = q - G d with d the change of the block's own velocity, softness set aside:

        | gn               |
    G = | e1 gn  g11  g12  |
        | e2 gn  g12  g22  |

which is not symmetric: friction's dependence on the normal impulse is exact. Where a linearization of all blocks of an
island is solved with the equations of motion, the cases being those of the solution, the error that is left is the
change of p over `penalty`; penalties much greater amplify what redundant contacts leave undecided.

Source: Alart and Curnier 1991 for the cases; Rockafellar 1976 for the proximal term.
"""

from __future__ import annotations

import math

from kido.jit import kernel
from kido.solvers.rows import INDEX

LAW_PENALTY = 1e3  # sigma over the block's mean inertia, at first
MAX_LAW_PENALTY = 1e6
CREEPING = 0.8  # at a merit of this share of the one before, up to its inverse, impulses creep: the penalty is raised
STEEPEST = 1.0 - 1e-9  # share of the cone's edge from which on a sliding contact turns like a sticking one
SLOW_GAIN = 0.9  # an iteration that leaves more than this share of the least merit met is vain
SOFTENED, SOFTER = 2, 0.03  # vain iterations in turn after which the penalty is less, so that cases change; its share
GOOD_MERIT = 0.5  # merit at which the impulses are made admissible and measured
FIRM_PENALTY = 1e5  # leaves less, where no case changes: in one iteration after the tolerance is met

# Rows of `history`: velocities of rows; then the law of each block: q, then g11, g12, g22, then gn, e1, e2.
V, LAW_ROW, GAIN_ROW, AXIS_ROW = 0, 2, 3, 4


@kernel
def contact_law(c, k, b, penalty):
    """Linearize contact b, whose rows are k and the next of the island's; LAW_ROW, GAIN_ROW and AXIS_ROW keep it.

    Returns:
        gn, e1, e2, g11, g12, g22; gn = 0 if it is open.
    """
    h = c.history
    i = c.row[b] & INDEX
    step, mu = c.step[b], c.mu[b]
    sigma = penalty * step
    p0, p1, p2 = c.impulse[i], c.impulse[i + 1], c.impulse[i + 2]
    v0, v1, v2 = h[V, k], h[V, k + 1], h[V, k + 2]
    soft0, soft1, soft2 = c.compliance[i], c.compliance[i + 1], c.compliance[i + 2]
    x0, x1, x2 = p0 - step * v0, p1 - step * v1, p2 - step * v2
    q0 = q1 = q2 = gn = g11 = g12 = g22 = e1 = e2 = 0.0
    if x0 > 0.0:
        gn = sigma / (1.0 + sigma * soft0)
        q0 = p0 - gn * v0
        t2 = x1 * x1 + x2 * x2
        if mu > 0.0 and t2 <= mu * mu * x0 * x0:
            g11 = sigma / (1.0 + sigma * soft1)
            g22 = sigma / (1.0 + sigma * soft2)
            q1 = p1 - g11 * v1
            q2 = p2 - g22 * v2
        elif mu > 0.0:
            size = math.sqrt(t2)
            a1, a2 = x1 / size, x2 / size
            edge = min(mu * max(p0, 0.0) / size, STEEPEST)
            g = min(edge / (1.0 - edge) * step, sigma)
            soft = 0.5 * (soft1 + soft2)
            g /= 1.0 + g * soft
            across = g * (a1 * (v2 - soft * p2) - a2 * (v1 - soft * p1))
            q1 = mu * q0 * a1 + a2 * across
            q2 = mu * q0 * a2 - a1 * across
            g11, g12, g22 = g * a2 * a2, -g * a1 * a2, g * a1 * a1
            e1, e2 = mu * a1, mu * a2
    h[LAW_ROW, k], h[LAW_ROW, k + 1], h[LAW_ROW, k + 2] = q0, q1, q2
    h[GAIN_ROW, k], h[GAIN_ROW, k + 1], h[GAIN_ROW, k + 2] = g11, g12, g22
    h[AXIS_ROW, k], h[AXIS_ROW, k + 1], h[AXIS_ROW, k + 2] = gn, e1, e2
    return gn, e1, e2, g11, g12, g22


@kernel
def bounded_law(c, k, b, penalty):
    """Linearize bounded row b, row k of the island's; LAW_ROW and GAIN_ROW keep it. Returns its G."""
    h = c.history
    i = c.row[b] & INDEX
    p, v, step = c.impulse[i], h[V, k], c.step[b]
    x = p - step * v
    q = g = 0.0
    if x < c.lower[b]:
        q = c.lower[b]
    elif x > c.upper[b]:
        q = c.upper[b]
    else:
        g = penalty * step / (1.0 + penalty * step * c.compliance[i])
        q = p - g * v
    h[LAW_ROW, k], h[GAIN_ROW, k] = q, g
    return g


@kernel
def own_velocity(c, k, i):
    """Velocity of row k of the island's, row i of the problem's, without its softness."""
    return c.history[V, k] - c.compliance[i] * c.impulse[i]


@kernel
def follow_contact(c, k, b, x0, x1, x2):
    """Impulses and V of contact b by its linearized law, where its own velocity has become x."""
    h = c.history
    i = c.row[b] & INDEX
    n = h[AXIS_ROW, k] * (x0 - own_velocity(c, k, i))
    d1 = x1 - own_velocity(c, k + 1, i + 1)
    d2 = x2 - own_velocity(c, k + 2, i + 2)
    p0 = h[LAW_ROW, k] - n
    p1 = h[LAW_ROW, k + 1] - h[AXIS_ROW, k + 1] * n - h[GAIN_ROW, k] * d1 - h[GAIN_ROW, k + 1] * d2
    p2 = h[LAW_ROW, k + 2] - h[AXIS_ROW, k + 2] * n - h[GAIN_ROW, k + 1] * d1 - h[GAIN_ROW, k + 2] * d2
    c.impulse[i], c.impulse[i + 1], c.impulse[i + 2] = p0, p1, p2
    h[V, k] = x0 + c.compliance[i] * p0
    h[V, k + 1] = x1 + c.compliance[i + 1] * p1
    h[V, k + 2] = x2 + c.compliance[i + 2] * p2


@kernel
def follow_bounded(c, k, b, x):
    """Impulse and V of bounded row b by its linearized law, where its own velocity has become x."""
    h = c.history
    i = c.row[b] & INDEX
    c.impulse[i] = h[LAW_ROW, k] - h[GAIN_ROW, k] * (x - own_velocity(c, k, i))
    h[V, k] = x + c.compliance[i] * c.impulse[i]


@kernel
def adapt(merit, last, best, vain, penalty):
    """Least merit, vain iterations in turn and penalty after an iteration that led from the merit `last` to `merit`."""
    vain = vain + 1 if merit > SLOW_GAIN * best else 0
    if merit > CREEPING * last and merit * CREEPING < last and penalty < MAX_LAW_PENALTY:
        return min(best, merit), 0, 10.0 * penalty
    return min(best, merit), vain, penalty


@kernel
def held_penalty(vain, penalty):
    """Penalty of the next iteration after `vain` vain ones in turn."""
    return penalty if vain < SOFTENED else SOFTER * penalty
