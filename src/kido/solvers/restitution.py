"""Restitution after Poisson: what compression brought, expansion gives back, e times.

`solve` has found the compression impulses p_c. In an island where some contact with restitution
approached faster than `restitution_speed`, every contact whose compression stopped more than that speed
(p_cn W_nn) gets the total normal impulse p_n >= (1 + e) p_cn, every other one p_n >= p_cn, and the
Coulomb problem is solved again under these floors, friction on the total: p_n - floor complements v_n >=
0. A single ball leaves with e times the speed it came with; an impact travels through touching bodies at
once (Newton's cradle as a simultaneous impact).

With v_0 = J u_free + bias the contacts' work is p . (v_0 + v) / 2. Poisson's law keeps it negative for
one common e without friction (and did in all of a thousand random impacts with friction and unequal
coefficients); were it positive, the expansion p - p_c would be scaled down to the point where it is zero,
so that no impact creates energy.

Source: Glocker and Pfeiffer 1995; Anitescu and Potra 1997; the energy bound is our own.
"""

from __future__ import annotations

import math

from kido.jit import call4, callback, kernel, view
from kido.solvers.certify import measure_island
from kido.solvers.problem import (
    ADMM_ITERATIONS,
    CONTACT,
    ISLANDS,
    MAX_MEMORY,
    NOT_FINITE,
    PROBLEM,
    RESTITUTION_SPEED,
    RESTITUTION_SWEEPS,
    TOTAL_BOUNCES,
    TOTAL_ITERATIONS,
    TOTAL_RESIDUAL,
)
from kido.solvers.rows import apply_impulses, bounded_velocity, contact_velocity, free_velocity

# Rows of `history` that neither the acceleration nor ADMM uses.
KEPT_P = 2 * MAX_MEMORY + 4
KEPT_V = 2 * MAX_MEMORY + 5


@kernel
def bounces(c, island):
    """Whether a contact with restitution approached fast enough."""
    speed = c.setting[RESTITUTION_SPEED]
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        if c.kind[b] == CONTACT and c.restitution[b] > 0.0 and free_velocity(c, b, 0) < -speed:
            return True
    return False


@kernel
def raise_floors(c, island):
    """Keep the compression impulses and velocities, set the floors, and start from them."""
    h = c.history
    k = c.island_row[island]
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        i = c.row[b]
        h[KEPT_P, k] = c.impulse[i]
        if c.kind[b] == CONTACT:
            h[KEPT_P, k + 1] = c.impulse[i + 1]
            h[KEPT_P, k + 2] = c.impulse[i + 2]
            v0, v1, v2 = contact_velocity(c, b)
            h[KEPT_V, k] = v0
            h[KEPT_V, k + 1] = v1
            h[KEPT_V, k + 2] = v2
            k += 3
        else:
            h[KEPT_V, k] = bounded_velocity(c, b)
            k += 1
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        if c.kind[b] == CONTACT:
            i = c.row[b]
            c.floor[b] = c.impulse[i]
            if c.restitution[b] > 0.0 and c.impulse[i] * c.W[b, 0] > c.setting[RESTITUTION_SPEED]:
                c.floor[b] = (1.0 + c.restitution[b]) * c.impulse[i]
            c.impulse[i] = c.floor[b]
    apply_impulses(c, island)


@kernel
def work_of(c, island):
    """Work of compression, of the total, and the linear term of the expansion: sums over rows."""
    h = c.history
    k = c.island_row[island]
    before = 0.0
    after = 0.0
    linear = 0.0
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        i = c.row[b]
        if c.kind[b] == CONTACT:
            v0, v1, v2 = contact_velocity(c, b)
        else:
            v0 = bounded_velocity(c, b)
            v1 = 0.0
            v2 = 0.0
        for r in range(3 if c.kind[b] == CONTACT else 1):
            free = free_velocity(c, b, r)
            v = v0 if r == 0 else (v1 if r == 1 else v2)
            before += 0.5 * h[KEPT_P, k] * (free + h[KEPT_V, k])
            after += 0.5 * c.impulse[i + r] * (free + v)
            linear += (c.impulse[i + r] - h[KEPT_P, k]) * h[KEPT_V, k]
            k += 1
    return before, after, linear


@kernel
def shrink_expansion(c, island, share):
    """p = p_c + share * (p - p_c), and u with it."""
    k = c.island_row[island]
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        i = c.row[b]
        for r in range(3 if c.kind[b] == CONTACT else 1):
            kept = c.history[KEPT_P, k]
            c.impulse[i + r] = kept + share * (c.impulse[i + r] - kept)
            k += 1
    apply_impulses(c, island)


@kernel
def energy_share(before, after, linear):
    """Share of the expansion at which before + share*linear + share^2*q, the work, is zero; at most 1."""
    if not math.isfinite(after):
        return 0.0
    if after <= 0.0:
        return 1.0
    if before >= 0.0:
        return 0.0
    q = after - before - linear
    # The positive root, in the form that does not cancel.
    discriminant = math.sqrt(linear * linear - 4.0 * q * before) if q > 0.0 else math.fabs(linear)
    if linear + discriminant <= 0.0:
        return 0.0
    share = -2.0 * before / (linear + discriminant)
    return share if share < 1.0 else 1.0


@kernel
def expand_island(c, address, island, sweeper, fallback):
    """Expansion phase of one island."""
    raise_floors(c, island)
    compression = c.island_residual[island]
    done = call4(sweeper, address, island, int(c.setting[RESTITUTION_SWEEPS]), 0)
    if not measure_island(c, island) <= 1.0 and fallback != 0:
        if c.island_row[island + 1] - c.island_row[island] <= c.matrix.shape[0]:
            done += call4(fallback, address, island, int(c.setting[ADMM_ITERATIONS]), 0)
    before, after, linear = work_of(c, island)
    share = energy_share(before, after, linear)
    if share < 1.0:
        shrink_expansion(c, island, share)
    for e in range(c.island_start[island], c.island_start[island + 1]):
        c.floor[c.island_block[e]] = 0.0
    c.island_iterations[island] += done
    c.island_residual[island] = max(compression, c.island_residual[island])
    c.total[TOTAL_RESIDUAL] = max(c.total[TOTAL_RESIDUAL], c.island_residual[island])
    c.total[TOTAL_ITERATIONS] += done


@callback
def restitute(address, sweeper, fallback, unused):
    """Second phase of impacts in the problem at `address`, which has been solved: changes `impulse` and
    `u`.

    Biases that stand for gaps should be zero at contacts with restitution, or the gap takes its share of
    the speed.

    Args:
        address: of a PROBLEM after `solve_problem`, with `restitution` filled.
        sweeper: address of `gauss_seidel_island`.
        fallback: address of `admm_island`; 0: none.

    Returns:
        The number of islands in which something bounced.
    """
    c = view(PROBLEM, address)
    bounced = 0
    for island in range(c.count[ISLANDS]):
        if c.island_status[island] != NOT_FINITE and bounces(c, island):
            expand_island(c, address, island, sweeper, fallback)
            bounced += 1
    c.total[TOTAL_BOUNCES] = bounced
    return bounced
