"""Restitution after Poisson: what compression brought, expansion gives back, e times.

`solve` has found the compression impulses p_c. In an island where some contact with restitution
approached faster than `restitution_speed`, every contact whose compression stopped more than that speed
(p_cn W_nn) gets the total normal impulse p_n >= (1 + e) p_cn, every other one p_n >= p_cn, and the
Coulomb problem is solved again under these floors, friction on the total: p_n - floor complements v_n >=
0. A single ball leaves with e times the speed it came with; an impact travels through touching bodies at
once, where they are not followed one by one before (`kido.constraints.impact_time`).

With v_0 = J u_free + bias the contacts' work is p . (v_0 + v) / 2. Poisson's law keeps it negative for
one common e without friction (and did in all of a thousand random impacts with friction and unequal
coefficients); were it positive, the expansion p - p_c would be scaled down to the point where it is zero,
so that no impact creates energy.

Source: Glocker and Pfeiffer 1995; Anitescu and Potra 1997; the energy bound is our own.
"""

from __future__ import annotations

import math

from kido.jit import callback, kernel, view
from kido.solvers.certify import measure_island
from kido.solvers.history import gather, scatter
from kido.solvers.prepare import sum_up
from kido.solvers.problem import (
    AT_CAP,
    BOUNDED,
    CONTACT,
    MAX_MEMORY,
    PROBLEM,
    PROBLEM_NOT_FINITE,
)
from kido.solvers.rows import block_velocity, free_velocity

# Rows of `history` that neither the acceleration nor ADMM uses, and one that both do.
COMPRESSION = 2 * MAX_MEMORY + 4
EXPANSION = 2 * MAX_MEMORY + 5
MOVED_ROW = 0


@kernel
def bounces(c, island):
    """Whether a contact with restitution approached fast enough."""
    speed = c.restitution_speed
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        if c.kind[b] == CONTACT and c.restitution[b] > 0.0 and free_velocity(c, b, 0) < -speed:
            return True
    return False


@kernel
def raise_floors(c, island):
    """Set the floors of an island, and start from them."""
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        if c.kind[b] == CONTACT:
            p = c.impulse[c.row[b]]
            if c.restitution[b] > 0.0 and p * c.W[b, 0] > c.restitution_speed:
                c.floor[b] = (1.0 + c.restitution[b]) * p
            else:
                c.floor[b] = p
    gather(c, island, MOVED_ROW)
    scatter(c, island, MOVED_ROW)  # projects on the cones above the floors


@kernel
def work(c, island):
    """Work of an island's impulses: sum of p . (v_0 + v) / 2 over rows."""
    total = 0.0
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        i = c.row[b]
        v0, v1, v2 = block_velocity(c, b)
        if c.kind[b] != BOUNDED:
            total += c.impulse[i + 1] * (v1 + free_velocity(c, b, 1))
            total += c.impulse[i + 2] * (v2 + free_velocity(c, b, 2))
        total += c.impulse[i] * (v0 + free_velocity(c, b, 0))
    return 0.5 * total


@kernel
def move_between(c, island, share):
    """Set the impulses to p_c + share * (p - p_c), with p_c in COMPRESSION and p in EXPANSION."""
    h = c.history
    for k in range(c.island_row[island], c.island_row[island + 1]):
        h[MOVED_ROW, k] = h[COMPRESSION, k] + share * (h[EXPANSION, k] - h[COMPRESSION, k])
    scatter(c, island, MOVED_ROW)


@kernel
def lossless_share(before, half, after):
    """Share s at which the work, the parabola through its values at s = 0, 1/2 and 1, is zero; at most 1."""
    if not math.isfinite(before + half + after):
        return 0.0
    if after <= 0.0:
        return 1.0
    if before >= 0.0:
        return 0.0
    q = 2.0 * (before - 2.0 * half + after)
    linear = after - before - q
    # The positive root, in the form that does not cancel.
    root = linear + math.sqrt(max(linear * linear - 4.0 * q * before, 0.0))
    return min(1.0, -2.0 * before / root) if root > 0.0 else 0.0


@kernel
def expand_island(c, island):
    """Expansion phase of one island."""
    c.island_bounces[island] = 1
    compression = c.island_residual[island]
    gather(c, island, COMPRESSION)
    raise_floors(c, island)
    done = c.sweeper(c, island, int(c.restitution_sweeps))
    if not measure_island(c, island) <= 1.0 and c.fallback.address != 0:
        if c.island_row[island + 1] - c.island_row[island] <= c.matrix.shape[0]:
            done += c.fallback(c, island, int(c.admm_iterations))
    if not measure_island(c, island) <= 1.0:
        c.island_status[island] = AT_CAP
    for e in range(c.island_start[island], c.island_start[island + 1]):
        c.floor[c.island_block[e]] = 0.0
    after = work(c, island)
    if not after <= 0.0:
        gather(c, island, EXPANSION)
        move_between(c, island, 0.5)
        half = work(c, island)
        move_between(c, island, 0.0)
        move_between(c, island, lossless_share(work(c, island), half, after))
    c.island_iterations[island] += done
    c.island_residual[island] = max(compression, c.island_residual[island])


@callback
def restitute_one(address, island, unused_1, unused_2):
    """Second phase of impacts in one island after `solve_one`. Returns 1 if something bounced."""
    c = view(PROBLEM, address)
    if c.island_status[island] == PROBLEM_NOT_FINITE or not bounces(c, island):
        return 0
    expand_island(c, island)
    return 1


@callback
def restitute(address, unused_1, unused_2, unused_3):
    """Second phase of impacts in the problem at `address`, which has been solved: changes `impulse` and
    `u`.

    Biases that stand for gaps should be zero at contacts with restitution, or the gap takes its share of
    the speed.

    Args:
        address: of a PROBLEM after `solve_problem`, with `restitution` filled.

    Returns:
        The number of islands in which something bounced.
    """
    c = view(PROBLEM, address)
    for island in range(c.num_islands):
        if c.island_status[island] != PROBLEM_NOT_FINITE and bounces(c, island):
            expand_island(c, island)
    sum_up(c)
    return c.total_bounces
