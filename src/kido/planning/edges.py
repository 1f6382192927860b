"""Edges: straight motions between two states, checked at states along them or as a whole."""

from __future__ import annotations

import math

from kido.jit import callback, entry, kernel, view
from kido.planning.tables import EDGE


@kernel
def place_on_edge(e, c):
    """Eight states at their fractions of the edge."""
    d, column = c.data, c.robot.column
    s = c.fraction[0]
    for k in range(column.shape[0]):
        a = e.start[k]
        d.q[column[k]] = a + s * (e.end[k] - a)


@kernel
def edge_length(e):
    total = 0.0
    for k in range(e.start.shape[0]):
        total += (e.end[k] - e.start[k]) * (e.end[k] - e.start[k])
    return math.sqrt(total)


@kernel
def reversed_bits(j, bits):
    """Van der Corput's order: the bits of j from the other end."""
    found = 0
    for _ in range(bits):
        found = 2 * found + j % 2
        j = j // 2
    return found


@kernel
def edge_is_hit(e):
    """Whether a state of the edge touches something: its end and all between it and its start.

    Eight states at a time are spread over the whole edge, and their groups follow in van der Corput's order.
    """
    c, n = e.check, e.numbers
    lanes = n.hit.shape[0]
    groups = max(1, math.ceil(edge_length(e) * e.resolution / lanes))
    bits = 0
    while 2**bits < groups:
        bits += 1
    for j in range(2**bits):
        part = reversed_bits(j, bits)
        if part < groups:
            c.fraction[0] = c.spread[0] - part / (1.0 * lanes * groups)
            place_on_edge(e, c)
            e.states += 1
            if c.run(c, 0, 0) != 0:
                return 1
    return 0


@kernel
def edge_is_uncertain(e):
    """Whether a piece of the edge cannot be shown to be free.

    A piece is free if at its middle all spheres are clear though they are larger by what they can move from there to
    its ends, sum_k reach_k |dq_k| / 2; else it is halved.
    """
    c, n = e.check, e.numbers
    b, lanes = c.robot, n.hit.shape[0]
    for g in range(b.reach.shape[0]):
        total = 0.0
        for k in range(e.start.shape[0]):
            total += b.reach[g, k] * abs(e.end[k] - e.start[k])
        c.grow[g] = total
    for p in range(b.pair_reach.shape[0]):
        total = 0.0
        for k in range(e.start.shape[0]):
            total += b.pair_reach[p, k] * abs(e.end[k] - e.start[k])
        c.pair_grow[p] = total
    finest = 0.5 * e.finest / max(edge_length(e), e.finest)
    waiting = lanes
    for k in range(lanes):
        e.low[k], e.high[k] = k / (1.0 * lanes), (k + 1) / (1.0 * lanes)
    while waiting > 0:
        taken = min(lanes, waiting)
        for lane in range(lanes):
            at = waiting - 1 - min(lane, taken - 1)
            n.fraction[lane] = 0.5 * (e.low[at] + e.high[at])
            n.half[lane] = 0.5 * (e.high[at] - e.low[at])
        place_on_edge(e, c)
        e.states += 1
        waiting -= taken
        if c.run(c, 1, 1) != 0:
            for lane in range(taken):
                if n.hit[lane] > 0.0:
                    middle, half = n.fraction[lane], n.half[lane]
                    if half < finest or waiting + 2 > e.low.shape[0]:
                        return 1
                    e.low[waiting], e.high[waiting] = middle - half, middle
                    e.low[waiting + 1], e.high[waiting + 1] = middle, middle + half
                    waiting += 2
    return 0


@callback
def check_edge(edge, unused1, unused2, unused3):
    """Whether the edge is refused. Returns 1 if so."""
    e = view(EDGE, edge)
    e.edges += 1
    if edge_is_hit(e) != 0:
        return 1
    return 0 if e.certified == 0 else edge_is_uncertain(e)


@entry("i8(i8,f8[:,::1],f8[:,::1],i8[::1])")
def check_edges(edge, A, B, out):
    """Check edges from rows of A (n, columns) to rows of B; 1 in `out` (n,): refused."""
    e = view(EDGE, edge)
    for row in range(A.shape[0]):
        for k in range(A.shape[1]):
            e.start[k], e.end[k] = A[row, k], B[row, k]
        out[row] = e.run(e)
    return 0
