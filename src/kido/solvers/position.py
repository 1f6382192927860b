"""Position correction by split impulses: pseudo velocities that move bodies apart and are then forgotten.

Frictionless problem on the normal rows with bias `position_bias` (for a penetration d > 0: -(erp / h) (d
- slop)):

    0 <= p  _|_  J_n u_position + position_bias >= 0,    u_position = sum Y_n p

Contacts take part, and bounded rows with an infinite bound (limits, equalities) within their bounds;
joint friction does not. The caller integrates positions with u + u_position and leaves velocities alone.
"""

from __future__ import annotations

import math

from kido.jit import callback, kernel, view
from kido.solvers.cone import solve_bounded
from kido.solvers.history import VELOCITY_ROW, push_row
from kido.solvers.problem import BOUNDED, CONTACT, PROBLEM, PROBLEM_NOT_FINITE
from kido.solvers.row_space import form_rows, has_room
from kido.solvers.rows import INDEX, complete, extra_velocity, num_segments, push_first, segment, velocity1

STOP_TOLERANCE = 1e-4  # change of velocity in a sweep, relative to the largest bias, at which an island is done
FIRST_SWEEPS = 6  # after which an island of long segments goes on in row velocities, which cost as much to form
SMALL_ISLAND = 20  # times the cap of sweeps for a small island, where masses may differ by thousands


@kernel
def takes_part(c, b):
    """Whether a block takes part in the position correction."""
    return c.kind[b] == CONTACT or math.isinf(c.lower[b]) or math.isinf(c.upper[b])


@kernel
def normal_velocity(c, b):
    """Pseudo velocity of a block's first row, with its bias."""
    v = velocity1(c.J, c.at_a[b] & INDEX, c.len_a[b] & INDEX, c.u_position, c.dof_a[b] & INDEX)
    v += velocity1(c.J, c.at_b[b] & INDEX, c.len_b[b] & INDEX, c.u_position, c.dof_b[b] & INDEX)
    if c.more_count[b] != 0:
        v += extra_velocity(c, b, 0, c.u_position)
    return v + c.position_bias[b]


@kernel
def relax_position(c, b, v):
    """Solve the pseudo impulse of one block, v its pseudo velocity with bias. Returns how the impulse changes."""
    w = c.W[b, 0]
    p = c.position_impulse[b]
    if c.kind[b] == CONTACT:
        q = solve_bounded(w, v - w * p, 0.0, math.inf)
    else:
        lower = -math.inf if math.isinf(c.lower[b]) else 0.0
        upper = math.inf if math.isinf(c.upper[b]) else 0.0
        q = solve_bounded(w, v - w * p, lower, upper)
    c.position_impulse[b] = q
    return q - p


@kernel
def sweep_positions(c, island):
    """One sweep. Returns the largest change of a block's own pseudo velocity."""
    change = 0.0
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e] & INDEX
        if takes_part(c, b):
            p = relax_position(c, b, normal_velocity(c, b))
            if p != 0.0:
                push_first(c, b, c.u_position, p)
            change = max(change, math.fabs(p) * c.W[b, 0])
    return change


@kernel
def sweep_rows(c, island, cap, enough):
    """Go on by sweeps in row velocities (`kido.solvers.row_space`), until a change is enough. Returns their number."""
    h = c.history
    first = c.island_row[island] & INDEX
    n = (c.island_row[island + 1] & INDEX) - first
    form_rows(c, island)
    k = first
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e] & INDEX
        h[VELOCITY_ROW, k] = normal_velocity(c, b)
        k += 1 if c.kind[b] == BOUNDED else 3
    done = 0
    change = math.inf
    while done < cap and change > enough:
        change = 0.0
        k = 0
        for e in range(c.island_start[island], c.island_start[island + 1]):
            b = c.island_block[e] & INDEX
            if takes_part(c, b):
                p = relax_position(c, b, h[VELOCITY_ROW, first + k])
                if p != 0.0:
                    push_row(c, first, n, k, p)
                    h[VELOCITY_ROW, first + k] -= c.compliance[c.row[b]] * p  # positions know no softness
                change = max(change, math.fabs(p) * c.W[b, 0])
            k += 1 if c.kind[b] == BOUNDED else 3
        done += 1
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        for s in range(num_segments(c, b)):
            dof, length, _ = segment(c, b, s)
            for d in range(dof, dof + length):
                c.u_position[d] = 0.0
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e] & INDEX
        if takes_part(c, b) and c.position_impulse[b] != 0.0:
            push_first(c, b, c.u_position, c.position_impulse[b])
    return done


@kernel
def project_island(c, island, cap):
    """Position correction of one island. Returns the sweeps made."""
    largest = 0.0
    finite = True
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        c.position_impulse[b] = 0.0
        if takes_part(c, b):
            bias = c.position_bias[b]
            finite = finite and math.isfinite(bias)
            if c.kind[b] == CONTACT or math.isinf(c.upper[b]):
                bias = -bias
            if c.kind[b] != CONTACT and math.isinf(c.lower[b]):
                bias = math.fabs(bias)
            if bias > largest:
                largest = bias
    if not finite or largest <= 0.0:
        return 0
    complete(c, island)
    done = 0
    change = largest
    while done < cap and change > STOP_TOLERANCE * largest:
        if done == FIRST_SWEEPS and has_room(c, island):
            return done + sweep_rows(c, island, cap - done, STOP_TOLERANCE * largest)
        change = sweep_positions(c, island)
        done += 1
    return done


@kernel
def project(c, island):
    """Position correction of one solved island, its cap of sweeps by its size. Returns the sweeps made."""
    if c.island_status[island] == PROBLEM_NOT_FINITE:
        return 0
    cap = int(c.position_sweeps)
    if c.island_row[island + 1] - c.island_row[island] <= c.small_rows:
        cap *= SMALL_ISLAND
    return project_island(c, island, cap)


@callback
def project_one(address, island, unused_1, unused_2):
    """Fill `u_position`, which is zero, and `position_impulse` of one solved island. Returns the sweeps made."""
    return project(view(PROBLEM, address), island)


@callback
def project_positions(address, unused_1, unused_2, unused_3):
    """Fill `u_position` and `position_impulse` of the problem at `address`, which has been solved.

    Returns:
        The largest number of sweeps an island took.
    """
    c = view(PROBLEM, address)
    for d in range(c.num_dofs):
        c.u_position[d] = 0.0
    most = 0
    for island in range(c.num_islands):
        most = max(most, project(c, island))
    return most
