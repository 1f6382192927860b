"""Constraint embedding and augmentation combined: rows outside aggregates get multipliers over the transformed tree.

Loops that would make a large aggregate are not embedded. With M_c^-1 the response of the tree with aggregates, which
meets the embedded rows whatever acts, and G, gamma the other rows:

    S = G M_c^-1 G^T,    S lambda = gamma - G udot_f,    udot = udot_f + M_c^-1 G^T lambda

S is factored by Cholesky with the largest pivot first; rows whose pivot is small follow from others.
Source: Jain (2013), "Structure-based computational modeling architecture for robotics", sec. IV.
"""

from __future__ import annotations

import math

from kido.constraints.closure import AGGREGATE_TOLERANCE, newton_closure
from kido.constraints.loop_factor import PIVOT_TOLERANCE, measure_all
from kido.dynamics.embedding.aggregate_body import aggregate_rest, dot6
from kido.dynamics.embedding.project_dependent import project_tree
from kido.dynamics.embedding.solve import begin_response, gather_bias_of_tree, response_of_tree, scatter_accelerations
from kido.dynamics.rows import missing, rates_of, row_forces
from kido.jit import kernel
from kido.kernels.forward_dynamics import start_bias
from kido.kernels.integration import advance
from kido.kernels.kinematics import transforms

ROUNDING_TOLERANCE = 1e-12  # share of a row's largest number below which others are nothing
LOOSE_ROUNDS = 2  # of solving for the multipliers: the second takes off what rounding left
MAX_LOOSE_STEPS = 20  # of Newton's method


@kernel
def scale_loose(t, d, e):
    """`size` of the loose rows: by what each coordinate would yield alone, so that a row that is held has a small S."""
    m, n = e.num_loose, d.q.shape[0]
    for k in range(n):
        e.kept_u[k] = d.Dinv[k]
    for c in range(e.num_aggregates):
        for s in range(e.first_place[c], e.first_place[c + 1]):
            inertia = dot6(e.S, s, e.F[s, 0], e.F[s, 1], e.F[s, 2], e.F[s, 3], e.F[s, 4], e.F[s, 5])
            inertia += t.armature[e.dof[s]]
            e.kept_u[e.dof[s]] = 1.0 / inertia if inertia > 0.0 and t.prescribed[e.dof[s]] == 0 else 0.0
    for a in range(m):
        largest, total = 0.0, 0.0
        for k in range(n):
            largest = max(largest, math.fabs(e.G[a, k]))
        for k in range(n):
            # A row that prescribed coordinates alone move has no scale.
            if math.fabs(e.G[a, k]) > ROUNDING_TOLERANCE * largest:
                total += e.G[a, k] * e.G[a, k] * e.kept_u[k]
        e.size[a] = 1.0 / math.sqrt(total) if total > 0.0 else 0.0


@kernel
def factor_loose(t, d, lp, y, e):
    """G, Y = M_c^-1 G^T of the loose rows, and the factor of S; needs `begin_response`, and directions of the rows."""
    m, n = e.num_loose, d.q.shape[0]
    for s in range(y.num_rows):
        y.jump[s] = 0.0
        e.by_slot[s] = 0.0
    for a in range(m):
        e.by_slot[e.loose[a]] = 1.0
        row_forces(t, d, lp, y, e.by_slot, y.work)
        e.by_slot[e.loose[a]] = 0.0
        response_of_tree(t, d, e, y.work, y.jump, y.change)
        for k in range(n):
            e.G[a, k], e.Y[a, k] = y.work[k], y.change[k]
    for a in range(m):
        e.order[a] = a
        for b in range(a + 1):
            value = 0.0
            for k in range(n):
                value += e.G[a, k] * e.Y[b, k]
            e.Q[a, b] = e.Q[b, a] = value
    scale_loose(t, d, e)
    for a in range(m):
        for b in range(m):
            e.Q[a, b] *= e.size[a] * e.size[b]
    rank = 0
    for j in range(m):
        best = j
        for a in range(j + 1, m):
            if e.Q[a, a] > e.Q[best, best]:
                best = a
        if not e.Q[best, best] > PIVOT_TOLERANCE:
            break
        if best != j:
            for b in range(m):
                e.Q[j, b], e.Q[best, b] = e.Q[best, b], e.Q[j, b]
            for b in range(m):
                e.Q[b, j], e.Q[b, best] = e.Q[b, best], e.Q[b, j]
            e.order[j], e.order[best] = e.order[best], e.order[j]
        root = math.sqrt(e.Q[j, j])
        e.Q[j, j] = root
        for a in range(j + 1, m):
            e.Q[a, j] /= root
        for a in range(j + 1, m):
            for b in range(j + 1, a + 1):
                e.Q[a, b] -= e.Q[a, j] * e.Q[b, j]
                e.Q[b, a] = e.Q[a, b]
        rank = j + 1
    e.loose_rank = rank


@kernel
def solve_loose(e, right):
    """part = S^+ right of the loose rows, by their slots; rows that follow from others get 0."""
    m, rank = e.num_loose, e.loose_rank
    for a in range(m):
        e.part[e.loose[a]] = 0.0
    for j in range(rank):
        value = e.size[e.order[j]] * right[e.loose[e.order[j]]]
        for b in range(j):
            value -= e.Q[j, b] * e.found[b]
        e.found[j] = value / e.Q[j, j]
    for j in range(rank - 1, -1, -1):
        value = e.found[j]
        for a in range(j + 1, rank):
            value -= e.Q[a, j] * e.found[a]
        e.found[j] = value / e.Q[j, j]
    for j in range(rank):
        a = e.order[j]
        e.part[e.loose[a]] = e.size[a] * e.found[j]


@kernel
def push_loose(e, rows, out):
    """out += rows^T part."""
    for a in range(e.num_loose):
        value = e.part[e.loose[a]]
        for k in range(out.shape[0]):
            out[k] += value * rows[a, k]


@kernel
def repeat_accelerations(t, d, e):
    """Accelerations for other tau, with the articulated inertias that there are."""
    for i in range(t.parent.shape[0]):
        start_bias(t, d, i)
    for c in range(e.num_aggregates):
        aggregate_rest(d, e, c)
    gather_bias_of_tree(t, d, e, 0, e.num_items, 1.0, d.tau)
    scatter_accelerations(t, d, e, 0, e.num_items, 1.0, d.A, d.udot)


@kernel
def accelerate_loose(t, d, lp, y, e):
    """Accelerations and multipliers of the loose rows after those of the tree with aggregates."""
    for s in range(y.num_rows):
        y.multiplier[s] = 0.0
    for k in range(d.tau.shape[0]):
        e.loose_force[k] = 0.0
    for j in range(LOOSE_ROUNDS):
        measure_all(d, lp)
        missing(t, d, lp, y, y.residual)
        if j == 0:
            factor_loose(t, d, lp, y, e)
        solve_loose(e, y.residual)
        for a in range(e.num_loose):
            y.multiplier[e.loose[a]] += e.part[e.loose[a]]
        push_loose(e, e.G, d.tau)
        push_loose(e, e.G, e.loose_force)
        repeat_accelerations(t, d, e)


@kernel
def respond_loose(t, d, lp, y, e):
    """`change` and multipliers of a response with loose rows; `impulse` gets their share. Needs `begin_response`."""
    for s in range(y.num_rows):
        e.kept_jump[s] = y.jump[s]
    measure_all(d, lp)
    factor_loose(t, d, lp, y, e)
    for s in range(y.num_rows):
        y.jump[s] = e.kept_jump[s]
        y.multiplier[s] = 0.0
    for k in range(y.impulse.shape[0]):
        e.loose_force[k] = 0.0
    response_of_tree(t, d, e, y.impulse, y.jump, y.change)
    for _ in range(LOOSE_ROUNDS):
        rates_of(t, d, lp, y, y.change, e.by_slot)
        for s in range(y.num_rows):
            e.by_slot[s] = y.jump[s] - e.by_slot[s]
        solve_loose(e, e.by_slot)
        for a in range(e.num_loose):
            y.multiplier[e.loose[a]] += e.part[e.loose[a]]
        push_loose(e, e.G, y.impulse)
        push_loose(e, e.G, e.loose_force)
        response_of_tree(t, d, e, y.impulse, y.jump, y.change)


@kernel
def open_loose(lp, y, e):
    """Largest |phi - aim| of the loose rows, these as `by_slot`."""
    largest = 0.0
    for a in range(e.num_loose):
        s = e.loose[a]
        e.by_slot[s] = y.aim[s] - lp.phi[lp.slot[s]]
        largest = max(largest, math.fabs(e.by_slot[s]))
    return largest


@kernel
def measure_loose(_t, d, lp, y, e, _keeps):
    """Loose rows at the positions, as `newton_closure` asks."""
    measure_all(d, lp)
    return open_loose(lp, y, e)


@kernel
def move_loose(t, d, lp, y, e, keeps):
    """The least motion in kinetic energy that meets loose rows, then the aggregates again; d.u is used up."""
    begin_response(t, d, lp, y, e)
    factor_loose(t, d, lp, y, e)
    open_loose(lp, y, e)
    solve_loose(e, e.by_slot)
    for k in range(d.q.shape[0]):
        d.u[k] = 0.0
    push_loose(e, e.Y, d.u)
    advance(t, d, 0, t.parent.shape[0], 1.0)
    project_tree(t, d, lp, y, e, keeps)
    return True


close_rows = newton_closure(measure_loose, move_loose)


@kernel
def project_loose(t, d, lp, y, e, keeps):
    """Loose rows closed by the least motion in kinetic energy that the aggregates allow, then the aggregates again.

    Returns:
        The largest |phi - aim| left.
    """
    n = d.q.shape[0]
    for k in range(n):
        e.stood[k] = d.u[k]
    transforms(t, d, 0, t.parent.shape[0])
    error = close_rows(t, d, lp, y, e, keeps, AGGREGATE_TOLERANCE, MAX_LOOSE_STEPS)
    for k in range(n):
        d.u[k] = e.stood[k]
    worst = project_tree(t, d, lp, y, e, keeps)
    begin_response(t, d, lp, y, e)
    measure_all(d, lp)
    factor_loose(t, d, lp, y, e)
    for _ in range(LOOSE_ROUNDS):
        rates_of(t, d, lp, y, d.u, e.by_slot)
        for s in range(y.num_rows):
            e.by_slot[s] = y.rate[s] - e.by_slot[s]
        solve_loose(e, e.by_slot)
        push_loose(e, e.Y, d.u)
    return max(worst, error)
