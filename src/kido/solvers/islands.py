"""Islands: sets of blocks that share moving segments, each a problem of its own.

Union-find over segments (a segment is known by its first DOF). Sides that are static, or move as prescribed and
so do not respond to the block's impulses, unite nothing. Islands are
ordered by their first block and keep their blocks in order, so that results do not depend on anything else.
"""

from __future__ import annotations

from kido.jit import kernel
from kido.solvers.problem import BOUNDED
from kido.solvers.rows import num_segments, segment


@kernel
def find(node, i):
    """Root of i, halving the path."""
    while node[i] != i:
        node[i] = node[node[i]]
        i = node[i]
    return i


@kernel
def unite(node, i, j):
    """Make the trees of i and j one. The smaller DOF is the root, whatever the order of blocks."""
    x = find(node, i)
    y = find(node, j)
    if x < y:
        node[y] = x
    else:
        node[x] = y


@kernel
def responds(c, b, length, at):
    """Whether a segment of block b moves under its impulses: not if it is static, or prescribed."""
    if c.deferred[b] != 0:
        return length > 0 and c.step[b] != 0.0
    k, end = at, at + (length if c.kind[b] == BOUNDED else 3 * length)
    while k < end and c.Y[k] == 0.0:
        k += 1
    return k < end


@kernel
def first_moving(c, b):
    """First DOF of the first segment of block b that responds; -1 if none does."""
    if responds(c, b, c.len_a[b], c.at_a[b]):
        return c.dof_a[b]
    if responds(c, b, c.len_b[b], c.at_b[b]):
        return c.dof_b[b]
    for x in range(c.more_first[b], c.more_first[b] + c.more_count[b]):
        if responds(c, b, c.more_len[x], c.more_at[x]):
            return c.more_dof[x]
    return -1


@kernel
def build_islands(c):
    """Fill num_islands, island_start, island_row and island_block."""
    num_blocks = c.num_blocks
    for d in range(c.num_dofs):
        c.node[d] = d
        c.label[d] = -1
    for b in range(num_blocks):
        if responds(c, b, c.len_a[b], c.at_a[b]) and responds(c, b, c.len_b[b], c.at_b[b]):
            unite(c.node, c.dof_a[b], c.dof_b[b])
        if c.more_count[b] != 0:
            first = first_moving(c, b)
            for s in range(2, num_segments(c, b)):
                dof, length, at = segment(c, b, s)
                if responds(c, b, length, at):
                    unite(c.node, first, dof)
    islands = 0
    for b in range(num_blocks):
        rows = 1 if c.kind[b] == BOUNDED else 3
        root = first_moving(c, b)
        if root >= 0:
            root = find(c.node, root)
        fresh = root < 0
        if not fresh:
            fresh = c.label[root] < 0
        if fresh:
            if root >= 0:
                c.label[root] = islands
            c.island_start[islands] = 0
            c.island_row[islands] = 0
            island = islands
            islands += 1
        else:
            island = c.label[root]
        c.island_status[b] = island  # kept here until the blocks are sorted
        c.island_start[island] += 1
        c.island_row[island] += rows
    start = 0
    row = 0
    for island in range(islands):
        blocks = c.island_start[island]
        rows = c.island_row[island]
        c.island_start[island] = start
        c.island_row[island] = row
        start += blocks
        row += rows
        c.island_iterations[island] = c.island_start[island]  # next free entry
    c.island_start[islands] = start
    c.island_row[islands] = row
    for b in range(num_blocks):
        island = c.island_status[b]
        c.island_block[c.island_iterations[island]] = b
        c.island_iterations[island] += 1
    for island in range(islands):
        c.island_status[island] = 0
        c.island_iterations[island] = 0
        c.island_residual[island] = 0.0
        c.island_fallbacks[island] = 0
        c.island_bounces[island] = 0
    c.num_islands = islands
