"""Stage of worlds that collect contact events: which pairs of shapes began and ceased to touch in the step.

A pair touches in a step if a contact of it has an impulse, or its surfaces meet or overlap. Pairs of bodies at rest
that are not looked at, because both sleep, stay as they are.
"""

from __future__ import annotations

from kido.jit import Struct, callback, floats, integer, integers, kernel, view
from kido.simulation.schema import WORLD

# Kinds of event.
TOUCH_BEGIN, TOUCH_PERSIST, TOUCH_END = 0, 1, 2


class CONTACT_EVENTS(Struct):
    num_open = integer(doc="pairs in touch")
    num_logged = integer(doc="events in the log")
    # Pairs in touch, ascending.
    open = integers("opens", 3, doc="shapes a and b; 1: they began to touch since the last call")
    open_sum = floats("opens", 3, unit="N s", doc="impulse on b since the last call")
    open_place = floats("opens", 6, doc="point [m] and normal of the contact with the largest impulse")
    next = integers("opens", 3, doc="work: the same after the step")
    next_sum = floats("opens", 3)
    next_place = floats("opens", 6)
    # The log, in the order of steps and pairs.
    log = integers("logs", 4, doc="TOUCH_BEGIN or TOUCH_END; steps that the world had done; shapes a and b")
    log_sum = floats("logs", 3, unit="N s", doc="impulse on b")
    log_place = floats("logs", 6, doc="point [m] and normal")


@kernel
def write_event(c, e, p, at):
    """Impulse and place of pair p into `next` at an index. Returns whether it touches."""
    touches = False
    largest = -1.0
    for i in range(3):
        e.next_sum[at, i] = 0.0
    for k in range(c.pair_first[p], c.pair_first[p] + c.pair_count[p]):
        along = 0.0
        for i in range(3):
            along += c.impulse[k, i] * c.normal[k, i]
            e.next_sum[at, i] += c.impulse[k, i]
        if along > 0.0 or c.gap[k] <= 0.0:
            touches = True
        if along > largest:
            largest = along
            for i in range(3):
                e.next_place[at, i] = c.point[k, i]
                e.next_place[at, 3 + i] = c.normal[k, i]
    e.next[at, 0], e.next[at, 1], e.next[at, 2] = c.pair_a[p], c.pair_b[p], 0
    return touches


@kernel
def log_event(e, kind, step, source, total, place, at):
    """Append an event of the pair at an index of `open` or `next`."""
    k = e.num_logged
    e.log[k, 0], e.log[k, 1], e.log[k, 2], e.log[k, 3] = kind, step, source[at, 0], source[at, 1]
    for i in range(3):
        e.log_sum[k, i] = total[at, i]
    for i in range(6):
        e.log_place[k, i] = place[at, i]
    e.num_logged = k + 1


@kernel
def close_or_keep(c, e, step, old, at):
    """A pair that was in touch and was not found: END, unless it was not looked at. Returns the next free index."""
    a, b = e.open[old, 0], e.open[old, 1]
    if c.body_moving[c.shape_body[a]] + c.body_moving[c.shape_body[b]] > 0:
        log_event(e, TOUCH_END, step, e.open, e.open_sum, e.open_place, old)
        return at
    for i in range(3):
        e.next[at, i], e.next_sum[at, i] = e.open[old, i], e.open_sum[old, i]
    for i in range(6):
        e.next_place[at, i] = e.open_place[old, i]
    return at + 1


@callback
def events_stage(world, events, unused_2, unused_3):
    """Compare the pairs that touch with those of the step before. Returns 1 if the next step may not fit."""
    w, e = view(WORLD, world), view(CONTACT_EVENTS, events)
    c = w.collision
    step = w.steps
    old, olds, at = 0, e.num_open, 0
    for p in range(c.num_pairs):
        if c.pair_count[p] == 0:
            continue
        a, b = c.pair_a[p], c.pair_b[p]
        while old < olds and (e.open[old, 0] < a or (e.open[old, 0] == a and e.open[old, 1] < b)):
            at = close_or_keep(c, e, step, old, at)
            old += 1
        known = old < olds and e.open[old, 0] == a and e.open[old, 1] == b
        if write_event(c, e, p, at):
            if known:
                e.next[at, 2] = e.open[old, 2]
                for i in range(3):
                    e.next_sum[at, i] += e.open_sum[old, i]
            else:
                e.next[at, 2] = 1
                log_event(e, TOUCH_BEGIN, step, e.next, e.next_sum, e.next_place, at)
            at += 1
        elif known:
            log_event(e, TOUCH_END, step, e.open, e.open_sum, e.open_place, old)
        if known:
            old += 1
    while old < olds:
        at = close_or_keep(c, e, step, old, at)
        old += 1
    for k in range(at):
        for i in range(3):
            e.open[k, i], e.open_sum[k, i] = e.next[k, i], e.next_sum[k, i]
        for i in range(6):
            e.open_place[k, i] = e.next_place[k, i]
    e.num_open = at
    room = at + c.pair_a.shape[0]
    return 1 if room > e.open.shape[0] or e.num_logged + room > e.log.shape[0] else 0
