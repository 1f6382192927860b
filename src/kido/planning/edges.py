"""Edges: straight motions between two states, checked at states along them or as a whole."""

from __future__ import annotations

import math

from kido.jit import callback, entry, kernel, view
from kido.math.so3 import advance_rotation_vector
from kido.planning.space import ROTATION, length_of, way_between
from kido.planning.states import CERTIFIED, SAMPLED, place_followers
from kido.planning.tables import EDGE


@kernel
def place_rotations(e, c):
    """Rotations of eight states on the edge."""
    d, a, way = c.data, e.start, e.way
    s = c.fraction[0]
    zero = 0.0 * s
    for k in range(a.shape[0]):
        if e.kind[k] == ROTATION:
            x, y, z = advance_rotation_vector(
                zero + a[k], zero + a[k + 1], zero + a[k + 2], s * way[k], s * way[k + 1], s * way[k + 2]
            )
            at = c.robot.column[k]
            d.q[at], d.q[at + 1], d.q[at + 2] = x, y, z


@kernel
def place_on_edge(e, c):
    """Eight states at their fractions of the edge."""
    d, column = c.data, c.robot.column
    s = c.fraction[0]
    for k in range(column.shape[0]):
        d.q[column[k]] = e.start[k] + s * e.way[k]
    if e.flat == 0:
        place_rotations(e, c)
    place_followers(c)


@kernel
def bound_motions(e, c):
    """Most that each group moves on the whole edge, and each pair of groups against each other."""
    b = c.robot
    for g in range(b.reach.shape[0]):
        total = 0.0
        for k in range(e.start.shape[0]):
            total += b.reach[g, k] * abs(e.way[k])
        c.grow[g] = total
    for p in range(b.pair_reach.shape[0]):
        total = 0.0
        for k in range(e.start.shape[0]):
            total += b.pair_reach[p, k] * abs(e.way[k])
        c.pair_grow[p] = total


@kernel
def divide(e, waiting, middle, half, parts):
    """Have the parts of a piece wait; returns how many wait then, or -1 if there is no room."""
    if waiting + parts > e.low.shape[0]:
        return -1
    for part in range(parts):
        e.low[waiting + part] = middle - half + 2.0 * half * part / parts
        e.high[waiting + part] = middle - half + 2.0 * half * (part + 1) / parts
    return waiting + parts


@kernel
def edge_is_refused(e):
    """Whether a piece of the edge is not free.

    A piece is free as a whole if at its middle all spheres are clear though they are larger by what they can move from
    there to its ends, sum_k reach_k |dq_k| / 2. If that cannot be said, it is divided: for a certificate into halves,
    down to the finest; else into pieces of the length that states are to be apart, which are free if their middles are.
    """
    c, n = e.check, e.numbers
    way_between(e.kind, e.start, e.end, e.way)
    lanes, length, certified = n.hit.shape[0], length_of(e.way), e.certified != 0
    finest = e.finest if certified else 1.0 / e.resolution
    least = 0.500001 * finest / max(length, finest)  # half of a share of the edge
    if certified or length * e.resolution > lanes:
        bound_motions(e, c)
    waiting = divide(e, 0, 0.5, 0.5, lanes)
    while waiting > 0:
        taken, coarse = min(lanes, waiting), certified
        for lane in range(lanes):
            at = waiting - 1 - min(lane, taken - 1)
            n.fraction[lane], n.half[lane] = 0.5 * (e.low[at] + e.high[at]), 0.5 * (e.high[at] - e.low[at])
            coarse = coarse or n.half[lane] > least
        place_on_edge(e, c)
        e.states += 1
        waiting -= taken
        if c.run(c, 0, SAMPLED) != 0:
            return 1
        if not coarse or c.run(c, 1, CERTIFIED) == 0:
            continue
        for lane in range(taken):
            half = n.half[lane]
            if n.hit[lane] > 0.0 and (certified or half > least):
                parts = 2 if certified else math.ceil(2.0 * half * length * e.resolution)
                if certified and half <= least:
                    return 1
                waiting = divide(e, waiting, n.fraction[lane], half, parts)
                if waiting < 0:
                    return 1
    return 0


@callback
def check_edge(edge, unused1, unused2, unused3):
    """Whether the edge is refused. Returns 1 if so."""
    e = view(EDGE, edge)
    e.edges += 1
    return edge_is_refused(e)


@entry("i8(i8,f8[:,::1],f8[:,::1],i8[::1])")
def check_edges(edge, A, B, out):
    """Check edges from rows of A (n, columns) to rows of B; 1 in `out` (n,): refused."""
    e = view(EDGE, edge)
    for row in range(A.shape[0]):
        for k in range(A.shape[1]):
            e.start[k], e.end[k] = A[row, k], B[row, k]
        out[row] = e.run(e)
    return 0
