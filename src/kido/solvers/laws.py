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

from kido.jit import all_positive, kernel, where_positive
from kido.math.choices import any_positive, both, larger, smaller
from kido.solvers.history import gather
from kido.solvers.problem import BOUNDED
from kido.solvers.rows import INDEX

LAW_PENALTY = 1e3  # sigma over the block's mean inertia, at first
MAX_LAW_PENALTY = 1e6
TINY = 1e-300  # adds nothing to a number that is not zero
# At a merit of this share of the one before, up to its inverse, impulses creep: the penalty is raised. Not above the
# merit beside it, where it is cases that change back and forth, and more so with greater penalties.
CREEPING, CREEPING_MERIT = 0.3, 1e3
FAR_MERIT, FAR_PENALTY = 1e5, 30.0  # from this merit on, cases of trees are not known: this at most
CAREFUL, LEAST_PENALTY = 3e3, 3.0  # `careful_penalty` at merit 1, and the least
STEEPEST = 1.0 - 1e-9  # share of the cone's edge from which on a sliding contact turns like a sticking one
SLOW_GAIN = 0.9  # an iteration that leaves more than this share of the least merit met is vain
SOFTENED, SOFTER = 2.0, 0.03  # vain iterations in turn after which the penalty is less, so that cases change; its share
GOOD_MERIT = 0.5  # merit at which the impulses are made admissible and measured
FIRM_PENALTY = 1e5  # leaves less, where no case changes: in one iteration after the tolerance is met

# Rows of `history`: velocities of rows; then the law of each block: q, then g11, g12, g22, then gn, e1, e2.
# Velocities and impulses before an iteration are kept beside them.
V, LAST_V, LAW_ROW, GAIN_ROW, AXIS_ROW, LAST_ROW = 0, 1, 2, 3, 4, 6


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
    none = 0.0 * step
    q0 = q1 = q2 = gn = g11 = g12 = g22 = e1 = e2 = none
    if any_positive(x0):
        gn = where_positive(x0, sigma / (1.0 + sigma * soft0), none)
        q0 = where_positive(x0, p0 - gn * v0, none)
        t2 = x1 * x1 + x2 * x2
        most = mu * mu * x0 * x0
        slips = where_positive(x0, where_positive(mu, t2 - most, none), none)
        if not all_positive(slips):
            sticks = where_positive(slips, none, where_positive(x0, mu, none))
            g11 = where_positive(sticks, sigma / (1.0 + sigma * soft1), none)
            g22 = where_positive(sticks, sigma / (1.0 + sigma * soft2), none)
            q1 = where_positive(sticks, p1 - g11 * v1, none)
            q2 = where_positive(sticks, p2 - g22 * v2, none)
        if any_positive(slips):
            size = math.sqrt(t2) + TINY
            a1, a2 = x1 / size, x2 / size
            edge = smaller(mu * larger(p0, none) / size, STEEPEST)
            g = smaller(edge / (1.0 - edge) * step, sigma)
            soft = 0.5 * (soft1 + soft2)
            g /= 1.0 + g * soft
            across = g * (a1 * (v2 - soft * p2) - a2 * (v1 - soft * p1))
            q1 = where_positive(slips, mu * q0 * a1 + a2 * across, q1)
            q2 = where_positive(slips, mu * q0 * a2 - a1 * across, q2)
            g11 = where_positive(slips, g * a2 * a2, g11)
            g12 = where_positive(slips, -g * a1 * a2, g12)
            g22 = where_positive(slips, g * a1 * a1, g22)
            e1 = where_positive(slips, mu * a1, e1)
            e2 = where_positive(slips, mu * a2, e2)
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
    below, above = c.lower[b] - x, x - c.upper[b]
    g = 0.0 * step
    if not (all_positive(below) or all_positive(above)):
        g = where_positive(
            below, g, where_positive(above, g, penalty * step / (1.0 + penalty * step * c.compliance[i]))
        )
    q = where_positive(below, c.lower[b], where_positive(above, c.upper[b], p - g * v))
    h[LAW_ROW, k], h[GAIN_ROW, k] = q, g
    return g


@kernel
def follow_contact(c, k, b, d0, d1, d2):
    """Impulses and V of contact b by its linearized law, where its own velocity has changed by d."""
    h = c.history
    i = c.row[b] & INDEX
    n = h[AXIS_ROW, k] * d0
    p0 = h[LAW_ROW, k] - n
    p1 = h[LAW_ROW, k + 1] - h[AXIS_ROW, k + 1] * n - h[GAIN_ROW, k] * d1 - h[GAIN_ROW, k + 1] * d2
    p2 = h[LAW_ROW, k + 2] - h[AXIS_ROW, k + 2] * n - h[GAIN_ROW, k + 1] * d1 - h[GAIN_ROW, k + 2] * d2
    h[V, k] += d0 + c.compliance[i] * (p0 - c.impulse[i])
    h[V, k + 1] += d1 + c.compliance[i + 1] * (p1 - c.impulse[i + 1])
    h[V, k + 2] += d2 + c.compliance[i + 2] * (p2 - c.impulse[i + 2])
    c.impulse[i], c.impulse[i + 1], c.impulse[i + 2] = p0, p1, p2


@kernel
def follow_bounded(c, k, b, d):
    """Impulse and V of bounded row b by its linearized law, where its own velocity has changed by d."""
    h = c.history
    i = c.row[b] & INDEX
    p = h[LAW_ROW, k] - h[GAIN_ROW, k] * d
    h[V, k] += d + c.compliance[i] * (p - c.impulse[i])
    c.impulse[i] = p


@kernel
def keep_iterate(c, island):
    """Remember the impulses and V of an island."""
    gather(c, island, LAST_ROW)
    for k in range(c.island_row[island] & INDEX, c.island_row[island + 1] & INDEX):
        c.history[LAST_V, k] = c.history[V, k]


@kernel
def take_back(c, island, share):
    """Take back a share of what has changed since `keep_iterate`.

    V is linear in the impulses. Where a full step leaves more than there was, contacts go back and forth between their
    cases, and so would the next ones: half of it is taken back, and all of it where there was nothing left but digits.
    """
    h = c.history
    k = c.island_row[island] & INDEX
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e] & INDEX
        for r in range(1 if c.kind[b] == BOUNDED else 3):
            i = c.row[b] + r
            h[V, k] += share * (h[LAST_V, k] - h[V, k])
            c.impulse[i] += share * (h[LAST_ROW, k] - c.impulse[i])
            k += 1


@kernel
def adapt(merit, last, best, vain, penalty):
    """Least merit, vain iterations in turn and penalty after an iteration that led from the merit `last` to `merit`."""
    vain = where_positive(merit - SLOW_GAIN * best, vain + 1.0, 0.0)
    creeps = both(both(merit - CREEPING * last, last - CREEPING * merit), MAX_LAW_PENALTY - penalty)
    creeps = both(creeps, CREEPING_MERIT - merit)
    vain = where_positive(creeps, 0.0, vain)
    return smaller(merit, best), vain, where_positive(creeps, 10.0 * penalty, penalty)


@kernel
def held_penalty(vain, penalty):
    """Penalty of the next iteration after `vain` vain ones in turn."""
    return where_positive(SOFTENED - vain, penalty, SOFTER * penalty)


@kernel
def tree_penalty(merit, vain, penalty):
    """The same of a tree, whose cases are many: a low one while they are not known.

    Not of free bodies in a dense problem: which of all equal sums of impulses they come to there should change smoothly
    with the state, and does with the penalty that they always have.
    """
    held = held_penalty(vain, penalty)
    return where_positive(merit - FAR_MERIT, smaller(held, FAR_PENALTY), held)


@kernel
def careful_penalty(merit):
    """Penalty for a tree whose cases have changed back and forth with `tree_penalty`: it falls with the square root of
    the merit, which brings most of these problems to an end in about ten iterations, but others to none."""
    return larger(smaller(CAREFUL / math.sqrt(merit), LAW_PENALTY), LEAST_PENALTY)
