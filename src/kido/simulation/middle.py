"""Where a step is evaluated: at h/2, or where a tree first rebounds.

A rebound changes velocities at the time t* at which surfaces meet, with the inertia and the normal that are there. What
moves along straight lines has the same ones at mid-step, and only goes another way before and after
(`kido.constraints.impact_time`). Those of a tree change by the first order of h. So a step in which one rebounds is
done from its start once more, of all that is in the world, with its middle m at the first such t*. Trees move there
by forces alone, as in a step of length m (`kido.simulation.predict.glide`), get all impulses of the step at q_M = q(m),
and move on by forces alone for h - m. Single free bodies move by

    q_M = q + m u,   q_new = q_M + (h - m) u_new + (m - h/2) (u_free - u)

where the last term is what constant forces are short of. Contacts that go on do not follow their bodies' turning in
such a step, nor in the next one, which knows no rates from then.

Surfaces are known to each other within a millimetre. So an impact late in a step is often seen in the next one only, as
late, and m is below zero there: the tree moved by forces alone before as well.
"""

from __future__ import annotations

import math

from kido.jit import callback, kernel, view
from kido.simulation.world_struct import WORLD

SAME_TIME = 1e-3  # share of a step by which an impact may be beside its middle
LAST = 0.99  # share of a step beyond which an impact is left to the next one


@kernel
def keep_start(w):
    """Begin a step, whose middle is at h/2 as far as is known."""
    src, d = w.row_origins, w.data
    src.middle[0] = 0.5 * w.time_step
    if src.may_move != 0:
        for k in range(d.q.shape[0]):
            w.given_q[k], w.given_u[k] = d.q[k], d.u[k]


@kernel
def moves_middle(w):
    """Go back to a step's start if a tree rebounds in it beside its middle, which is moved there. Returns whether.

    Once in a step; contacts that were found are not those of the step before.
    """
    src, d = w.row_origins, w.data
    h = w.time_step
    time = src.first_meeting[0]
    if src.may_move == 0 or src.middle[0] != 0.5 * h:
        return 0
    if not time <= LAST * h or math.fabs(time - src.middle[0]) <= SAME_TIME * h:
        return 0
    for k in range(d.q.shape[0]):
        d.q[k], d.u[k] = w.given_q[k], w.given_u[k]
    src.middle[0] = time
    w.collision.pending = 1
    return 1


@callback
def keep_start_stage(world, unused_1, unused_2, unused_3):
    """Run `keep_start`. Returns 0."""
    keep_start(view(WORLD, world))
    return 0


@callback
def moves_middle_stage(world, unused_1, unused_2, unused_3):
    """Run `moves_middle`."""
    return moves_middle(view(WORLD, world))
