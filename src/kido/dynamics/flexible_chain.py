"""Closed chains with flexible bodies, compiled: accelerations by three formulations, responses, projections.

Source: Jain (2013), Multibody graph transformations and analysis.
"""

from __future__ import annotations

import math

from kido.constraints.closure import MOTION_TOLERANCE, OPEN_TOLERANCE, newton_closure, share_of_move
from kido.constraints.loop_factor import measure_all
from kido.constraints.loop_rates import row_rate
from kido.dynamics.flexible_chain_rows import (
    CHAIN,
    choose_rows,
    factor_rows,
    follow,
    row_times,
    solve_dependent,
    solve_rows,
)
from kido.dynamics.flexible_rows import begin, fill_jacobian
from kido.dynamics.moving import MOVING, drive, move_positions, moves_by, openness, solver_status
from kido.dynamics.rows import velocity_products
from kido.dynamics.schema import DYNAMICS
from kido.flexible.sweeps import accelerate as open_accelerations
from kido.flexible.sweeps import articulated_inertias, mass_matrix, positions, velocities
from kido.flexible.sweeps import inverse_dynamics as joint_forces
from kido.flexible.sweeps import respond as open_response
from kido.integrators.schema import FAILED, MOTION
from kido.jit import callback, kernel, view
from kido.kernels.integration import advance
from kido.solvers.cholesky import factorize, substitute

SINGULAR = -1  # status of a call: the matrix of a formulation has no inverse
LOOPS_NOT_CLOSED = -2  # status of a projection
MAX_STEPS = 30  # of Newton's method on dependent coordinates
ROUNDS = 2  # of solving: the second takes off what rounding left


@kernel
def begin_state(t, d, lp, y, o):
    """Poses, loads, rows, gamma and articulated inertias at the state of the data. Returns 0 or a status."""
    f = o.flex
    y.evaluations += 1
    begin(t, d, f, lp, y)
    fill_jacobian(t, d, f, lp, y, o.G)
    velocity_products(t, d, lp, y, o.gamma)
    status = int(articulated_inertias(t, d, f, 0, t.parent.shape[0], 0.0))
    if status >= 0:
        return FAILED - 1 - status
    choose_rows(t, y, o)
    for s in range(y.num_rows):
        y.multiplier[s] = 0.0
    return 0


@kernel
def end_state(d, y, o):
    """`constraint_force` and `residual` of the multipliers."""
    for k in range(y.constraint_force.shape[0]):
        y.constraint_force[k] = 0.0
    for s in range(y.num_rows):
        y.residual[s] = o.gamma[s] - row_times(o, s, d.udot)
        for k in range(y.constraint_force.shape[0]):
            y.constraint_force[k] += y.multiplier[s] * o.G[s, k]


# TA ----------------------------------------------------------------------------------------------------------


@kernel
def row_responses(t, d, y, o):
    """N and the factor of S = G N^T over independent rows. False if S is not definite."""
    f, n = o.flex, t.parent.shape[0]
    for i in range(o.rank):
        s = o.order[i]
        for k in range(f.impulse.shape[0]):
            f.impulse[k] = o.G[s, k]
        open_response(t, d, f, 0, n, f.impulse, f.response)
        for k in range(f.impulse.shape[0]):
            o.N[i, k] = f.response[k]
        for j in range(i + 1):
            total = 0.0
            for k in range(f.impulse.shape[0]):
                total += o.G[o.order[j], k] * f.response[k]
            o.S[i, j] = o.S[j, i] = total
    return factorize(o.S, o.rank)


@kernel
def meet_rows(y, o, wanted, u):
    """u += N^T lambda so that G u is what is wanted; lambda goes to `multiplier`."""
    for _ in range(ROUNDS):
        for i in range(o.rank):
            s = o.order[i]
            o.x[0, i] = wanted[s] - row_times(o, s, u)
        substitute(o.S, o.rank, o.x, 0, 0)
        for i in range(o.rank):
            y.multiplier[o.order[i]] += o.x[0, i]
            for k in range(u.shape[0]):
                u[k] += o.x[0, i] * o.N[i, k]


@callback
def accelerate_tree(address, _a, _b, _c):
    """TA; see `kido.dynamics.schema`."""
    y = view(DYNAMICS, address)
    t, d, lp = y.tree, y.data, y.loops
    o = view(CHAIN, y.own)
    status = begin_state(t, d, lp, y, o)
    if status < 0:
        return status
    open_accelerations(t, d, o.flex, 0, t.parent.shape[0])
    if not row_responses(t, d, y, o):
        return SINGULAR
    meet_rows(y, o, o.gamma, d.udot)
    end_state(d, y, o)
    return 0


@callback
def respond(address, _a, _b, _c):
    """See `kido.dynamics.schema`: of all three formulations, by TA's."""
    y = view(DYNAMICS, address)
    t, d, lp = y.tree, y.data, y.loops
    o = view(CHAIN, y.own)
    f, n = o.flex, t.parent.shape[0]
    measure(t, d, lp, y)
    fill_jacobian(t, d, f, lp, y, o.G)
    status = int(articulated_inertias(t, d, f, 0, n, 0.0))
    if status >= 0:
        return FAILED - 1 - status
    choose_rows(t, y, o)
    open_response(t, d, f, 0, n, y.impulse, y.change)
    for s in range(y.num_rows):
        y.multiplier[s] = 0.0
    if not row_responses(t, d, y, o):
        return SINGULAR
    meet_rows(y, o, y.jump, y.change)
    return 0


# FA ----------------------------------------------------------------------------------------------------------


@kernel
def fill_full(t, y, o):
    """K = [M, -G^T; G, 0] on free coordinates and independent rows. Returns its order and the free coordinates."""
    free = 0
    for k in range(o.M.shape[0]):
        if t.prescribed[k] == 0:
            column = 0
            for j in range(o.M.shape[0]):
                if t.prescribed[j] == 0:
                    o.K[free, column] = o.M[k, j]
                    column += 1
            free += 1
    for i in range(o.rank):
        column = 0
        for k in range(o.M.shape[0]):
            if t.prescribed[k] == 0:
                o.K[free + i, column] = o.G[o.order[i], k]
                o.K[column, free + i] = -o.G[o.order[i], k]
                column += 1
        for j in range(o.rank):
            o.K[free + i, free + j] = 0.0
    return free + o.rank, free


@callback
def accelerate_full(address, _a, _b, _c):
    """FA; see `kido.dynamics.schema`. The second round solves for what the first left of all equations."""
    y = view(DYNAMICS, address)
    t, d, lp = y.tree, y.data, y.loops
    o = view(CHAIN, y.own)
    status = begin_state(t, d, lp, y, o)
    if status < 0:
        return status
    mass_matrix(t, d, o.flex, o.M)
    size, free = fill_full(t, y, o)
    if not factor_rows(o.K, size, o.pivot):
        return SINGULAR
    for k in range(o.tau.shape[0]):
        o.tau[k] = d.tau[k]
        d.udot[k] = d.udot[k] if t.prescribed[k] != 0 else 0.0
    for _ in range(ROUNDS):
        joint_forces(t, d, o.flex, 0, t.parent.shape[0])
        column = 0
        for k in range(o.tau.shape[0]):
            if t.prescribed[k] == 0:
                total = o.tau[k] - d.tau[k]
                for i in range(o.rank):
                    total += y.multiplier[o.order[i]] * o.G[o.order[i], k]
                o.x[0, column] = total
                column += 1
        for i in range(o.rank):
            o.x[0, free + i] = o.gamma[o.order[i]] - row_times(o, o.order[i], d.udot)
        solve_rows(o.K, size, o.pivot, o.x)
        column = 0
        for k in range(o.tau.shape[0]):
            if t.prescribed[k] == 0:
                d.udot[k] += o.x[0, column]
                column += 1
        for i in range(o.rank):
            y.multiplier[o.order[i]] += o.x[0, free + i]
    for k in range(o.tau.shape[0]):
        d.tau[k] = o.tau[k]
    end_state(d, y, o)
    return 0


# CE ----------------------------------------------------------------------------------------------------------


@callback
def accelerate_embedded(address, _a, _b, _c):
    """CE; see `kido.dynamics.schema`."""
    y = view(DYNAMICS, address)
    t, d, lp = y.tree, y.data, y.loops
    o = view(CHAIN, y.own)
    status = begin_state(t, d, lp, y, o)
    if status < 0:
        return status
    n = o.M.shape[0]
    for i in range(o.rank):
        o.R[i, n] = o.gamma[o.order[i]]
    if not solve_dependent(t, o) > 0.0:
        return SINGULAR
    mass_matrix(t, d, o.flex, o.M)
    for k in range(n):
        o.tau[k] = d.tau[k]
        d.udot[k] = d.udot[k] if t.prescribed[k] != 0 else 0.0
    follow(o, d.udot, n)
    joint_forces(t, d, o.flex, 0, t.parent.shape[0])
    # X^T M X and X^T (T - C - M b): columns of M by X, then rows.
    own = 0
    for k in range(n):
        o.right[k] = o.tau[k] - d.tau[k]
        if t.prescribed[k] == 0 and o.is_dependent[k] == 0:
            for i in range(o.rank):
                share = o.R[i, k]
                if share != 0.0:
                    for j in range(n):
                        o.M[j, k] -= share * o.M[j, o.dependent[i]]
    for k in range(n):
        if t.prescribed[k] == 0 and o.is_dependent[k] == 0:
            total = o.right[k]
            for i in range(o.rank):
                total -= o.R[i, k] * o.right[o.dependent[i]]
            o.x[0, own] = total
            column = 0
            for j in range(n):
                if t.prescribed[j] == 0 and o.is_dependent[j] == 0:
                    value = o.M[k, j]
                    for i in range(o.rank):
                        value -= o.R[i, k] * o.M[o.dependent[i], j]
                    o.K[own, column] = value
                    column += 1
            own += 1
    if not factorize(o.K, own):
        return SINGULAR
    substitute(o.K, own, o.x, 0, 0)
    own = 0
    for k in range(n):
        if t.prescribed[k] == 0 and o.is_dependent[k] == 0:
            d.udot[k] = o.x[0, own]
            own += 1
    follow(o, d.udot, n)
    joint_forces(t, d, o.flex, 0, t.parent.shape[0])
    for i in range(o.rank):  # G_d^T lambda is what dependent coordinates lack
        k = o.dependent[i]
        o.x[0, i] = d.tau[k] - o.tau[k]
        for j in range(o.rank):
            o.S[i, j] = o.G[o.order[j], k]
    if not factor_rows(o.S, o.rank, o.pivot):
        return SINGULAR
    solve_rows(o.S, o.rank, o.pivot, o.x)
    for i in range(o.rank):
        y.multiplier[o.order[i]] = o.x[0, i]
    for k in range(n):
        d.tau[k] = o.tau[k]
    end_state(d, y, o)
    return 0


# States onto rows --------------------------------------------------------------------------------------------


@kernel
def measure(t, d, lp, y):
    """Poses, values and directions of rows."""
    o = view(CHAIN, y.own)
    positions(t, d, o.flex, 0, t.parent.shape[0])
    measure_all(d, lp)


@kernel
def rates(t, d, lp, y, u, out):
    """out = G u at the velocities of the data."""
    o = view(CHAIN, y.own)
    velocities(t, d, o.flex, 0, t.parent.shape[0])
    for s in range(y.num_rows):
        out[s] = row_rate(d, d.V, u, lp, lp.slot[s])


@kernel
def measure_chain(t, d, lp, _x, y, _z):
    """Rows at the positions, as `newton_closure` asks."""
    measure(t, d, lp, y)
    return openness(lp, y)


_moves = moves_by(newton_closure(measure_chain, move_positions), measure, rates)
accelerate_rows, project_rates, project_rows = _moves.accelerate, _moves.project_velocities, _moves.project


@callback
def accelerate(owner, motion, _a, _b):
    """See `kido.integrators.schema`."""
    return accelerate_rows(view(MOVING, owner), view(MOTION, motion))


@callback
def project_velocities(owner, motion, _a, _b):
    """See `kido.integrators.schema`."""
    return project_rates(view(MOVING, owner), view(MOTION, motion))


@callback
def project(owner, motion, _a, _b):
    """See `kido.integrators.schema`."""
    return project_rows(view(MOVING, owner), view(MOTION, motion))


@kernel
def move_dependent(t, d, lp, _x, y, o):
    """Dependent coordinates by the Newton step, as `newton_closure` asks; d.u is used up."""
    fill_jacobian(t, d, o.flex, lp, y, o.G)
    choose_rows(t, y, o)
    n = d.q.shape[0]
    for i in range(o.rank):
        s = o.order[i]
        o.R[i, n] = y.aim[s] - lp.phi[lp.slot[s]]
    if not solve_dependent(t, o) > 0.0:
        return False
    o.keeps = 1
    largest = 0.0
    for k in range(n):
        d.u[k] = 0.0
    for i in range(o.rank):
        d.u[o.dependent[i]] = o.R[i, n]
        largest = max(largest, math.fabs(o.R[i, n]))
    advance(t, d, 0, t.parent.shape[0], share_of_move(largest))
    return True


close_chain = newton_closure(measure_chain, move_dependent)


@callback
def project_dependent(address, keeps, _b, _c):
    """See `kido.dynamics.schema`; with `keeps` = 1 by the dependent coordinates that there are."""
    y = view(DYNAMICS, address)
    t, d, lp = y.tree, y.data, y.loops
    o = view(CHAIN, y.own)
    n = d.q.shape[0]
    for k in range(n):
        o.tau[k] = d.u[k]
    o.keeps = keeps
    error = close_chain(t, d, lp, 0, y, o, MOTION_TOLERANCE, MAX_STEPS)
    for k in range(n):
        d.u[k] = o.tau[k]
    if not error <= OPEN_TOLERANCE:
        o.keeps = 0
        return LOOPS_NOT_CLOSED
    fill_jacobian(t, d, o.flex, lp, y, o.G)
    choose_rows(t, y, o)
    for i in range(o.rank):
        o.R[i, n] = y.rate[o.order[i]]
    regular = solve_dependent(t, o) > 0.0
    if regular:
        follow(o, d.u, n)
    o.keeps = 1
    return 0 if regular else LOOPS_NOT_CLOSED


@kernel
def project_embedded(g, m, keeps):
    """Dependent coordinates of the state. Returns 0 or a status."""
    y = g.solver
    drive(g, y, m.now)
    return solver_status(y.project_dependent(y, keeps))


@callback
def project_stage(owner, motion, _a, _b):
    """See `kido.integrators.schema`: within a step the dependent coordinates are the same."""
    return project_embedded(view(MOVING, owner), view(MOTION, motion), 1)


@callback
def project_step(owner, motion, _a, _b):
    """See `kido.integrators.schema`: they are chosen anew after each step, and their errors do not count."""
    g, m = view(MOVING, owner), view(MOTION, motion)
    status = project_embedded(g, m, 0)
    o = view(CHAIN, g.solver.own)
    for k in range(m.counted.shape[0]):
        m.counted[k] = 1 - o.is_dependent[k]
    return status
