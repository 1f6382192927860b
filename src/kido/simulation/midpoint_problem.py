"""The contact problem of the midpoint rule: rows of contacts and joints, then what motion makes of their biases.

Contacts of free bodies alone are shared out among threads: each has its block, and what a block needs of bodies is
known, so that the problem is the same, bit for bit, whoever makes which part of it.
"""

from __future__ import annotations

from kido.constraints.assemble import (
    ASSEMBLED,
    add_contacts,
    add_placed,
    begin_assembly,
    end_assembly,
    place_contacts,
)
from kido.constraints.impact_sequence import follow_impacts
from kido.jit import callback, view
from kido.jit.team import share_out
from kido.simulation.row_motion import follow_pairs, forget_motion
from kido.simulation.world_struct import WORLD

BLOCKS_TOGETHER = 128  # contacts that a thread takes at a time


@callback
def assemble_share(world, begin, end, unused):
    """Rows of the contacts of blocks begin..end-1, which `place_contacts` has placed. Returns 0."""
    w = view(WORLD, world)
    add_placed(w.tree, w.data, w.collision, w.problem, w.row_origins, begin, end)
    return 0


@callback
def follow_share(world, begin, end, unused):
    """`follow_pairs` of blocks begin..end-1. Returns 0."""
    follow_pairs(view(WORLD, world), begin, end)
    return 0


@callback
def assemble_midpoint_stage(world, unused_1, unused_2, unused_3):
    """The contact problem of the midpoint rule, shared out where all contacts are of free bodies.

    Returns:
        ASSEMBLED or PROBLEM_FULL.
    """
    w = view(WORLD, world)
    t = w.tree
    d = w.data
    c = w.collision
    pr = w.problem
    src = w.row_origins
    team = w.team.address
    status = begin_assembly(t, d, c, pr, src)
    if status != ASSEMBLED:
        return status
    blocks, pool = place_contacts(t, c, pr, src) if team != 0 else (-1, 0)
    if blocks < 0:
        first, row, pool = add_contacts(t, d, c, pr, src)
    else:
        share_out(team, w.assemble_share.address, world, blocks, BLOCKS_TOGETHER)
        first, row = blocks, 3 * blocks
    end_assembly(t, d, pr, src, first, row, pool)
    if blocks < 0:
        follow_pairs(w, 0, pr.num_blocks)
    else:
        share_out(team, w.follow_share.address, world, blocks, BLOCKS_TOGETHER)
    forget_motion(w)
    if src.num_impacts > 0:
        follow_impacts(t, d, c, pr, src)
    return ASSEMBLED
