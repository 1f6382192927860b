"""Narrow phase by several threads: the same contacts, bit for bit, as `kido.collision.narrow` finds.

Pairs are shared out twice. First their points are found and reduced, each thread in work space of its own, and kept;
then, when it is known how many each pair has, they are written where they belong and matched with old ones. Not for
shapes with parts, which share slots, nor for those that are swept, which are moved while they are looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.collision.broad import find_pairs
from kido.collision.container import COLLISION, COMPOUND, CONTACTS_FULL, MAX_MANIFOLD
from kido.collision.manifold import (
    first_old_pair,
    keep_old_contacts,
    keep_old_pairs,
    match_contacts,
    reduce_manifold,
)
from kido.collision.narrow import by_type, place_shapes, recall_pair, write_contacts
from kido.collision.patches import pair_points
from kido.jit import Struct, callback, floats, integer, integers, kernel, reference, stage, view
from kido.jit.team import MOST_THREADS, TEAM, share_out

PAIRS_TOGETHER, CONTACTS_TOGETHER = 64, 512  # that a thread takes at a time
WORK = (
    *("work_normal", "work_point", "work_gap", "work_key", "work_keep", "outside", "still_pose", "twist", "number"),
    *("poly", "poly_key", "feature", "simplex", "expand", "hull_face", "hull_corner", "horizon"),
)


class SHARED_NARROW(Struct):
    collision = reference(COLLISION, doc="the detector")
    of_thread = integers(MOST_THREADS, doc="addresses of each thread's COLLISION: the same, with work space of its own")
    threads = integer()
    team = reference(TEAM)
    keep_share = stage(doc="(this, begin, end, thread); keep_share")
    points_share = stage(doc="the same; points_share")
    contacts_share = stage(doc="the same; contacts_share")
    point = floats("pairs", MAX_MANIFOLD, 3, unit="m", doc="points of a pair, as `COLLISION.work_point`")
    gap = floats("pairs", MAX_MANIFOLD, unit="m")
    key = integers("pairs", MAX_MANIFOLD)
    normal = floats("pairs", 3, doc="from the first to the second by type")
    old = integers("pairs", 2, doc="its old contacts, first and the one after the last")


@callback
def keep_share(address, begin, end, unused):
    """Keep contacts begin..end-1 as old ones. Returns 0."""
    keep_old_contacts(view(SHARED_NARROW, address).collision, begin, end)
    return 0


@callback
def points_share(address, begin, end, worker):
    """Points of pairs begin..end-1. Returns 0."""
    x = view(SHARED_NARROW, address)
    c = view(COLLISION, x.of_thread[worker])
    old = first_old_pair(c, c.pair_a[begin], c.pair_b[begin])
    for p in range(begin, end):
        old, first_old, last_old = recall_pair(c, p, old)
        x.old[p, 0], x.old[p, 1] = first_old, last_old
        s, t, _ = by_type(c, p)
        function = c.pair_function[c.shape_type[s], c.shape_type[t]]
        count = pair_points(c, function, s, t, p) if function != 0 else 0
        if count > 0:
            count = reduce_manifold(c, count, first_old, last_old)
        c.pair_count[p] = count
        for k in range(count):
            x.gap[p, k], x.key[p, k] = c.work_gap[k], c.work_key[k]
            for i in range(3):
                x.point[p, k, i] = c.work_point[k, i]
        for i in range(3):
            x.normal[p, i] = c.work_normal[i]
    return 0


@callback
def contacts_share(address, begin, end, worker):
    """Contacts of pairs begin..end-1. Returns 0."""
    x = view(SHARED_NARROW, address)
    c = view(COLLISION, x.of_thread[worker])
    for p in range(begin, end):
        count, first = c.pair_count[p], c.pair_first[p]
        if count == 0:
            continue
        for k in range(count):
            c.work_gap[k], c.work_key[k] = x.gap[p, k], x.key[p, k]
            for i in range(3):
                c.work_point[k, i] = x.point[p, k, i]
        for i in range(3):
            c.work_normal[i] = x.normal[p, i]
        s, t, sign = by_type(c, p)
        write_contacts(c, p, first, count, sign)
        if x.old[p, 1] > x.old[p, 0]:
            reach = min(c.shape_reach[s], c.shape_reach[t])
            match_contacts(c, first, first + count, x.old[p, 0], x.old[p, 1], reach)
    return 0


@kernel
def place_contacts(c):
    """`pair_first` of all pairs, by how many contacts each has. Returns how many there are."""
    found = 0
    for p in range(c.num_pairs):
        c.pair_first[p] = found
        found += c.pair_count[p]
    return found


@kernel
def detect_together(x):
    """`detect_contacts` of a SHARED_NARROW by the threads of its team. Returns the status."""
    c = x.collision
    team = x.team.address
    if c.sweep_step > 0.0:
        return c.detect(c)
    status = place_shapes(c)
    if status != 0:
        return status
    if c.pending == 0:
        keep_old_pairs(c)
        share_out(team, x.keep_share.address, x.address, c.num_contacts, CONTACTS_TOGETHER)
    c.pending = 1
    c.num_contacts = 0
    status = find_pairs(c)
    if status != 0:
        return status
    for k in range(1, x.threads):
        own = view(COLLISION, x.of_thread[k])
        own.margin, own.num_pairs, own.num_old_pairs = c.margin, c.num_pairs, c.num_old_pairs
    share_out(team, x.points_share.address, x.address, c.num_pairs, PAIRS_TOGETHER)
    found = place_contacts(c)
    c.old_first = c.old_last = 0
    c.contacts_found = found
    if found > c.gap.shape[0]:
        return CONTACTS_FULL
    share_out(team, x.contacts_share.address, x.address, c.num_pairs, PAIRS_TOGETHER)
    c.num_contacts = found
    c.pending = 0
    return 0


def can_share(c: Any) -> bool:
    """Whether threads may share out the pairs of a detector."""
    return not bool((np.asarray(c.shape_type) >= COMPOUND).any())


class SharedNarrow:
    """What the threads of a team need to find the contacts of a detector together.

    Args:
        c: the detector's COLLISION.
        threads: of the team.
    """

    def __init__(self, c: Any, team: Struct, threads: int):
        arrays = {name: getattr(c, name) for name in COLLISION.arrays if name not in WORK}
        self.detector = c
        self._others = [
            COLLISION(**arrays, **{name: np.zeros_like(getattr(c, name)) for name in WORK}) for _ in range(1, threads)
        ]
        self.container: Any = SHARED_NARROW(
            pairs=len(c.pair_a),
            collision=c,
            threads=threads,
            team=team,
            keep_share=keep_share,
            points_share=points_share,
            contacts_share=contacts_share,
        )
        self.container.of_thread[:threads] = [c.address, *(other.address for other in self._others)]
