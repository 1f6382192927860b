"""Islands: sets of blocks that share moving segments, each a problem of its own.

Union-find over segments (a segment is known by its first DOF). Static sides unite nothing. Islands are
ordered by their first block and keep their blocks in order, so that results do not depend on anything else.
"""

from __future__ import annotations

from kido.jit import kernel
from kido.solvers.problem import BLOCKS, BOUNDED, DOFS, ISLANDS


@kernel
def find(node, i):
    """Root of i, halving the path."""
    while node[i] != i:
        node[i] = node[node[i]]
        i = node[i]
    return i


@kernel
def build_islands(c):
    """Fill count[ISLANDS], island_start, island_row and island_block."""
    num_blocks = c.count[BLOCKS]
    for d in range(c.count[DOFS]):
        c.node[d] = d
        c.label[d] = -1
    for b in range(num_blocks):
        if c.len_a[b] > 0 and c.len_b[b] > 0:
            x = find(c.node, c.dof_a[b])
            y = find(c.node, c.dof_b[b])
            # The smaller DOF is the root, whatever the order of blocks.
            if x < y:
                c.node[y] = x
            else:
                c.node[x] = y
    islands = 0
    for b in range(num_blocks):
        rows = 1 if c.kind[b] == BOUNDED else 3
        if c.len_a[b] > 0:
            root = find(c.node, c.dof_a[b])
        elif c.len_b[b] > 0:
            root = find(c.node, c.dof_b[b])
        else:
            root = -1
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
    c.count[ISLANDS] = islands
