"""RRT-Connect: two trees of states grow towards samples and towards each other.

Sources: Kuffner and LaValle, "RRT-Connect: an efficient approach to single-query path planning", ICRA 2000; domains of
nodes: Jaillet, Yershova, LaValle and Simeon, "Adaptive tuning of the sampling domain for dynamic-domain RRTs", IROS
2005.
"""

from __future__ import annotations

import math

from kido.jit import entry, inlined, kernel, view, where_positive
from kido.math.choices import smaller
from kido.math.so3 import rotation_vector_to_quaternion
from kido.planning.solids import abs_of
from kido.planning.space import CIRCLE, ROTATION, TURN, go, length_of, way_between
from kido.planning.states import look_at_rows
from kido.planning.tables import RRT

GROWING, CONNECTED, FULL, NO_SAMPLES, REFUSED, NOT_FINITE = range(6)
FAR = 1e30  # coordinate of nodes that are not there yet
DOMAIN, SMALLEST_DOMAIN, ADAPTION = 4.0, 1.0, 1e-4  # of nodes near obstacles, in steps


@inlined
def rotation_distance2(node, block, k, x):
    """8 (1 - cos(angle / 2)) of rotations, nearly the angle's square; FAR squared of those that are not there."""
    a, b, c = node[block, k], node[block, k + 1], node[block, k + 2]
    p0, p1, p2, p3 = rotation_vector_to_quaternion(a, b, c)
    q0, q1, q2, q3 = rotation_vector_to_quaternion(x[k], x[k + 1], x[k + 2])
    near = 8.0 * (1.0 - abs_of(p0 * q0 + p1 * q1 + p2 * q2 + p3 * q3))
    return where_positive(a * a - FAR, 0.0 * a + FAR * FAR, near)


@kernel
def block_distance2(kind, node, block, x, total):
    """Add the squared distances of eight nodes from x to a total, as their space has them."""
    for k in range(x.shape[0]):
        if kind[k] == ROTATION:
            total += rotation_distance2(node, block, k, x)
        elif kind[k] <= CIRCLE:
            e = abs_of(node[block, k] - x[k])
            e = smaller(e, abs_of(TURN - e)) if kind[k] == CIRCLE else e
            total += e * e
    return total


@kernel
def nearest(r, tree, x):
    """The node of a tree that is nearest to x, counted from the tree's first."""
    s = r.nodes
    lanes, flat = s_lanes(r), r.edge.flat != 0
    first = tree * (s.node.shape[0] // 2)
    last = first + (r.count[tree] + lanes - 1) // lanes
    best = s.best
    least, at = 0.0 * best[0] + FAR * FAR, 0.0 * best[0]
    for block in range(first, last):
        total = 0.0 * least
        if flat:
            for k in range(x.shape[0]):
                e = s.node[block, k] - x[k]
                total += e * e
        else:
            total = block_distance2(r.edge.kind, s.node, block, x, total)
        closer = least - total
        least = where_positive(closer, total, least)
        at = where_positive(closer, 1.0 * block, at)
    best[0], best[1] = least, at
    winner = 0
    for lane in range(1, lanes):
        if r.best[lane] < r.best[winner]:
            winner = lane
    return (int(r.best[lanes + winner]) - first) * lanes + winner


@kernel
def s_lanes(r):
    return r.best.shape[0] // 2


@kernel
def coordinate(r, tree, node, k):
    """Where coordinate k of a node is in `node`."""
    lanes = s_lanes(r)
    block = tree * (r.parent.shape[0] // 2 // lanes) + node // lanes
    return (block * r.x.shape[0] + k) * lanes + node % lanes


@kernel
def add_node(r, tree, x, parent):
    """Add a node; returns its number."""
    node = r.count[tree]
    if node % s_lanes(r) == 0:
        for lane in range(s_lanes(r)):
            for k in range(x.shape[0]):
                r.node[coordinate(r, tree, node + lane, k)] = FAR
    for k in range(x.shape[0]):
        turns = TURN * math.floor(x[k] / TURN + 0.5) if r.edge.kind[k] == CIRCLE else 0.0
        r.node[coordinate(r, tree, node, k)] = x[k] - turns
    at = tree * (r.parent.shape[0] // 2) + node
    r.parent[at], r.domain[at] = parent, math.inf
    r.count[tree] = node + 1
    return node


@kernel
def distance(r, tree, node, x):
    """From a node to x; `edge.way` leads there from z."""
    e = r.edge
    for k in range(x.shape[0]):
        r.z[k] = r.node[coordinate(r, tree, node, k)]
    way_between(e.kind, r.z, x, e.way)
    return length_of(e.way)


@kernel
def refused(r, tree, node, x, begin, end):
    """Whether the edge between two shares of the way from a node to x is refused; y is then its end."""
    e = r.edge
    distance(r, tree, node, x)
    go(e.kind, r.z, e.way, begin, e.start)
    go(e.kind, r.z, e.way, end, e.end)
    for k in range(x.shape[0]):
        if end == 1.0:
            e.end[k] = x[k]
        r.y[k] = e.end[k]
    return e.run(e) != 0


@kernel
def write_path(r, tree, node, other):
    """The path that goes through a node of one tree, and one at the same place or next to it of the other."""
    a, b = (node, other) if tree == 0 else (other, node)
    half = r.parent.shape[0] // 2
    count, at = 0, a
    while at >= 0:
        count, at = count + 1, r.parent[at]
    for k in range(r.x.shape[0]):
        at, row = a, count - 1
        while at >= 0:
            r.path[row, k] = r.node[coordinate(r, 0, at, k)]
            at, row = r.parent[at], row - 1
        at, row = b, count
        while at >= 0:
            r.path[row, k] = r.node[coordinate(r, 1, at, k)]
            at, row = r.parent[half + at], row + 1
        r.waypoints = row
    return CONNECTED


@kernel
def connect(r, tree, x):
    """Have a tree grow to x, where the other's newest node is; returns whether it got there."""
    near = nearest(r, tree, x)
    length = distance(r, tree, near, x)
    pieces = max(1, math.ceil(length / r.step))
    at = near
    for piece in range(1, pieces + 1):
        if refused(r, tree, near, x, (piece - 1) / pieces, piece / pieces):
            return -1
        if piece < pieces:
            at = add_node(r, tree, r.y, at)
    return at


@kernel
def extend(r, tree):
    """Have a tree grow towards x, and the other one to where it got. Returns CONNECTED or GROWING."""
    near = nearest(r, tree, r.x)
    length = distance(r, tree, near, r.x)
    at = tree * (r.parent.shape[0] // 2) + near
    if length > r.domain[at] or length == 0.0:
        return GROWING
    if refused(r, tree, near, r.x, 0.0, min(1.0, r.step / length)):
        domain = r.domain[at]
        r.domain[at] = (
            DOMAIN * r.step if domain == math.inf else max(SMALLEST_DOMAIN * r.step, domain * (1.0 - ADAPTION))
        )
        return GROWING
    r.domain[at] *= 1.0 + ADAPTION
    node = add_node(r, tree, r.y, near)
    for k in range(r.x.shape[0]):
        r.x[k] = r.y[k]
    other = connect(r, 1 - tree, r.x)
    if other >= 0:
        return write_path(r, tree, node, other)
    return GROWING


@kernel
def direct(r):
    """Whether a goal is reached from a start in a straight line."""
    for goal in range(r.count[1]):
        for k in range(r.x.shape[0]):
            r.x[k] = r.node[coordinate(r, 1, goal, k)]
        for start in range(r.count[0]):
            if not refused(r, 0, start, r.x, 0.0, 1.0):
                return write_path(r, 0, start, goal)
    return GROWING


@kernel
def grow(r, iterations):
    """Go on with the two trees. Returns CONNECTED, GROWING, FULL or NO_SAMPLES."""
    if r.grown == 0 and direct(r) == CONNECTED:
        return CONNECTED
    most = r.parent.shape[0] // 2
    for _ in range(iterations):
        if r.next >= r.table.shape[0]:
            return NO_SAMPLES
        tree = 0 if r.count[0] <= r.count[1] else 1
        if max(r.count[0], r.count[1]) + r.reserve >= most:
            return FULL
        for k in range(r.x.shape[0]):
            r.x[k] = r.table[r.next, k]
        r.next += 1
        r.grown += 1
        if extend(r, tree) == CONNECTED:
            return CONNECTED
    return GROWING


@entry("i8(i8,i8)")
def grow_trees(rrt, iterations):
    """`grow`, for calls from Python."""
    return grow(view(RRT, rrt), iterations)


@entry("i8(i8,f8[::1],f8[::1],f8[:,::1],i8[::1],i8)")
def begin_search(rrt, lower, upper, states, good, iterations):
    """Begin anew between a start and goals (1 + m, columns) that are free and within bounds: 1 in `good` (1 + m,).

    Returns:
        NOT_FINITE or REFUSED where there is nothing to search between; else what `grow` returns.
    """
    r = view(RRT, rrt)
    e = r.edge
    r.count[0], r.count[1], r.next, r.grown, r.waypoints = 0, 0, 0, 0, 0
    for i in range(states.shape[0]):
        for k in range(states.shape[1]):
            if not abs(states[i, k]) < math.inf:
                return NOT_FINITE
    look_at_rows(e.check, e.numbers, lower, upper, states, good)
    if good[0] == 0:
        return REFUSED
    most = r.parent.shape[0] // 2
    for i in range(states.shape[0]):
        if good[i] != 0 and r.count[1] < most:
            for k in range(r.x.shape[0]):
                r.x[k] = states[i, k]
            add_node(r, 0 if i == 0 else 1, r.x, -1)
    return REFUSED if r.count[1] == 0 else grow(r, iterations)
