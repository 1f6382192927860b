"""Graphs of states: their nearest neighbours joined, and shortest paths in them whose edges are checked when needed.

A search has two parts. Backwards from the goals, by edges of which it is not known that they are refused, the least
length to a goal is found for each node without a check. Forwards from the start, an A* search orders edges by the
length so far, their own and what lies ahead by the first part; an edge is checked when it comes first. As the estimate
is never too large, the first goal that is reached is at the end of the shortest path of free edges, and few edges are
checked. When many were refused, both parts begin anew and know better.

Sources: Strub and Gammell, "Adaptively Informed Trees (AIT*): fast asymptotically optimal path planning through
adaptive heuristics", ICRA 2020; how many neighbours: Karaman and Frazzoli, "Sampling-based algorithms for optimal
motion planning", International Journal of Robotics Research 30 (2011).
"""

from __future__ import annotations

import math

from kido.jit import entry, kernel, view
from kido.planning.space import length_of, way_between
from kido.planning.tables import ROADMAP

UNKNOWN, FREE, REFUSED = range(3)
NONE, AGAIN = -1, -2  # no path; many edges were refused


@kernel
def push(r, key, item):
    """Put an item into the heap."""
    at = r.size
    r.size += 1
    while at > 0:
        above = (at - 1) // 2
        if r.key[above] <= key:
            break
        r.key[at], r.item[at] = r.key[above], r.item[above]
        at = above
    r.key[at], r.item[at] = key, item


@kernel
def pop(r):
    """Take the item with the least key out of the heap."""
    key, item = r.key[0], r.item[0]
    r.size -= 1
    last, moved = r.key[r.size], r.item[r.size]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= r.size:
            break
        if below + 1 < r.size and r.key[below + 1] < r.key[below]:
            below += 1
        if r.key[below] >= last:
            break
        r.key[at], r.item[at] = r.key[below], r.item[below]
        at = below
    r.key[at], r.item[at] = last, moved
    return key, item


@kernel
def squared_distance(r, i, j):
    e, total = r.edge, 0.0
    if e.flat == 0:
        for k in range(r.node.shape[1]):
            e.start[k], e.end[k] = r.node[i, k], r.node[j, k]
        way_between(e.kind, e.start, e.end, e.way)
        return length_of(e.way) ** 2
    for k in range(r.node.shape[1]):
        d = r.node[i, k] - r.node[j, k]
        total += d * d
    return total


@kernel
def join(r, i, j, length):
    """An edge between two nodes, of which nothing is known."""
    at = r.links
    r.to[at], r.to[at + 1] = j, i
    r.next[at], r.next[at + 1] = r.head[i], r.head[j]
    r.head[i], r.head[j] = at, at + 1
    r.length[at] = r.length[at + 1] = length
    r.status[at] = UNKNOWN
    r.links += 2


@entry("i8(i8,f8[:,::1],i8,i8)")
def add_nodes(roadmap, states, first, most):
    """Add states (n, columns), each joined with up to `most` of the nodes nearest to it, those before `first` left out.

    Returns:
        How many were added, as many as there is room for.
    """
    r = view(ROADMAP, roadmap)
    for row in range(states.shape[0]):
        i = r.count
        if i >= r.node.shape[0] or r.links + 2 * most > r.to.shape[0]:
            return row
        for k in range(states.shape[1]):
            r.node[i, k] = states[row, k]
        r.head[i] = -1
        found = 0
        for j in range(first, i):
            d = squared_distance(r, i, j)
            if found < most or d < r.away[found - 1]:
                at = found if found < most else most - 1
                found = at + 1
                while at > 0 and r.away[at - 1] > d:
                    r.away[at], r.near[at] = r.away[at - 1], r.near[at - 1]
                    at -= 1
                r.away[at], r.near[at] = d, j
        for n in range(found):
            join(r, i, r.near[n], math.sqrt(r.away[n]))
        r.count = i + 1
    return states.shape[0]


@entry("i8(i8,i8)")
def cut(roadmap, count):
    """Take away all nodes from number `count` on, with their edges. They are the last that were added."""
    r = view(ROADMAP, roadmap)
    while r.links > 0 and max(r.to[r.links - 1], r.to[r.links - 2]) >= count:
        at = r.links - 2
        i, j = r.to[at + 1], r.to[at]
        r.head[i], r.head[j] = r.next[at], r.next[at + 1]
        r.links = at
    r.count = min(r.count, count)
    return 0


@kernel
def look_ahead(r, goal, goals):
    """Least lengths to any of the goals by edges that are not refused, for all nodes."""
    for i in range(r.count):
        r.ahead[i], r.done[i] = math.inf, 0
    r.size = 0
    for i in range(goal, goal + goals):
        r.ahead[i] = 0.0
        push(r, 0.0, i)
    while r.size > 0:
        _, i = pop(r)
        if r.done[i] != 0:
            continue
        r.done[i] = 1
        at = r.head[i]
        while at >= 0:
            j, length = r.to[at], r.ahead[i] + r.length[at]
            if r.status[at // 2 * 2] != REFUSED and length < r.ahead[j]:
                r.ahead[j] = length
                push(r, length, j)
            at = r.next[at]


@kernel
def is_free(r, at):
    """Whether the edge of a link is free; checked once."""
    first = at // 2 * 2
    if r.status[first] == UNKNOWN:
        e, i, j = r.edge, r.to[first + 1], r.to[first]
        for k in range(r.node.shape[1]):
            e.start[k], e.end[k] = r.node[i, k], r.node[j, k]
        r.status[first] = REFUSED if e.run(e) != 0 else FREE
    return r.status[first] == FREE


@kernel
def expand(r, i, bound):
    """Have the links from a node wait, where they can be part of a path shorter than a bound."""
    r.done[i] = 1
    at = r.head[i]
    while at >= 0:
        j = r.to[at]
        total = r.cost[i] + r.length[at] + r.ahead[j]
        if r.done[j] == 0 and r.status[at // 2 * 2] != REFUSED and total < bound:
            push(r, total, at)
        at = r.next[at]


@entry("i8(i8,i8,i8,i8,f8,i8)")
def search(roadmap, start, goal, goals, bound, most):
    """The shortest path of free edges from node `start` to one of `goals` nodes from `goal` on.

    Args:
        roadmap: address of the ROADMAP.
        start: node.
        goal, goals: first node that is a goal, and how many follow.
        bound: of the path's length; longer ones are not looked for.
        most: edges that may be refused.

    Returns:
        The goal that is reached, whose path `via` tells; NONE; or AGAIN: so many edges were refused.
    """
    r = view(ROADMAP, roadmap)
    look_ahead(r, goal, goals)
    for i in range(r.count):
        r.done[i], r.via[i] = 0, -1
    refused, r.size, r.cost[start] = 0, 0, 0.0
    if goal <= start < goal + goals:
        return start
    expand(r, start, bound)
    while r.size > 0:
        _, at = pop(r)
        j = r.to[at]
        if r.done[j] != 0:
            continue
        if not is_free(r, at):
            refused += 1
            if refused >= most:
                return AGAIN
            continue
        r.cost[j], r.via[j] = r.cost[r.to[at ^ 1]] + r.length[at], at
        if goal <= j < goal + goals:
            return j
        expand(r, j, bound)
    return NONE
