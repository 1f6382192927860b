"""Closed chains with flexible bodies, compiled: accelerations by three formulations, responses, projections.

Independent rows are those that a pivoted orthogonalization of G keeps. CE's dependent coordinates come from eliminating
G by the largest pivots, where modes count for less than joints: a loop is closed by joints if these can.
Source: Jain (2013), Multibody graph transformations and analysis; the choice of rows is Businger and Golub (1965).
"""

from __future__ import annotations

import math

from kido.constraints.closure import MOTION_TOLERANCE, OPEN_TOLERANCE, newton_closure, share_of_move
from kido.constraints.loop_factor import measure_all
from kido.constraints.loop_rates import row_rate
from kido.dynamics.flexible_rows import begin, fill_jacobian
from kido.dynamics.moving import MOVING, drive, move_positions, moves_by, openness, solver_status
from kido.dynamics.rows import velocity_products
from kido.dynamics.schema import DYNAMICS
from kido.flexible.schema import FLEX
from kido.flexible.sweeps import accelerate as open_accelerations
from kido.flexible.sweeps import articulated_inertias, mass_matrix, positions, velocities
from kido.flexible.sweeps import inverse_dynamics as joint_forces
from kido.flexible.sweeps import respond as open_response
from kido.integrators.schema import FAILED, MOTION
from kido.jit import Struct, callback, floats, integer, integers, kernel, reference, view
from kido.kernels.integration import advance
from kido.solvers.cholesky import factorize, substitute

RANK = 1e-10  # of the largest, below which what is left of a row follows from others
SINGULAR = -1  # status of a call: the matrix of a formulation has no inverse
LOOPS_NOT_CLOSED = -2  # status of a projection
MODES_SHARE = 0.05  # of their entries in rows by which modes count where dependent coordinates are chosen
MAX_STEPS = 30  # of Newton's method on dependent coordinates
ROUNDS = 2  # of solving: the second takes off what rounding left


class CHAIN(Struct):
    flex = reference(FLEX)
    rank = integer(doc="independent rows")
    keeps = integer(doc="1: dependent coordinates are those of `dependent`")
    is_chosen = integer(doc="1: `dependent` has been chosen")
    choices = integer(doc="how often others were chosen")
    G = floats("slots", "dofs", doc="rows")
    Q = floats("slots", "dofs", doc="work: rows made orthogonal")
    N = floats("slots", "dofs", doc="M^-1 G^T, row by row, of independent rows")
    gamma = floats("slots", doc="right-hand sides")
    order = integers("slots", doc="independent rows")
    taken = integers("slots", doc="work: 1: the row is taken")
    S = floats("slots", "slots", doc="G N^T and its factor, or other matrices over independent rows")
    x = floats(1, "size", doc="right-hand side and solution")
    right = floats("size", doc="work: right-hand side")
    K = floats("size", "size", doc="matrices over coordinates and rows, and their factors")
    pivot = integers("size", doc="exchanged rows of a factor")
    M = floats("dofs", "dofs", doc="mass matrix")
    R = floats("slots", "dofs1", doc="rows solved for dependent coordinates; last column: right-hand side")
    dependent = integers("slots", doc="dependent coordinate of each row of R")
    is_dependent = integers("dofs", doc="1: the coordinate is one of them")
    weight = floats("dofs", doc="by which entries count in the choice")
    u = floats("dofs", doc="work: velocities or accelerations set aside")
    tau = floats("dofs", doc="work: forces set aside")


# Dense matrices ----------------------------------------------------------------------------------------------


@kernel
def factor_rows(A, n, pivot):
    """Replace A[:n, :n] by its factors, rows exchanged by the largest pivot. False if it has no inverse."""
    for j in range(n):
        best = j
        for i in range(j + 1, n):
            if math.fabs(A[i, j]) > math.fabs(A[best, j]):
                best = i
        pivot[j] = best
        if not math.fabs(A[best, j]) > 0.0:
            return False
        if best != j:
            for k in range(n):
                A[j, k], A[best, k] = A[best, k], A[j, k]
        for i in range(j + 1, n):
            share = A[i, j] / A[j, j]
            A[i, j] = share
            if share != 0.0:
                for k in range(j + 1, n):
                    A[i, k] -= share * A[j, k]
    return True


@kernel
def solve_rows(A, n, pivot, x):
    """x[0, :n] <- A^-1 x by `factor_rows`."""
    for j in range(n):
        x[0, j], x[0, pivot[j]] = x[0, pivot[j]], x[0, j]
    for j in range(n):
        for i in range(j + 1, n):
            x[0, i] -= A[i, j] * x[0, j]
    for j in range(n - 1, -1, -1):
        x[0, j] /= A[j, j]
        for i in range(j):
            x[0, i] -= A[i, j] * x[0, j]


# Rows --------------------------------------------------------------------------------------------------------


@kernel
def size_of(A, s):
    """Euclidean norm of a row."""
    total = 0.0
    for k in range(A.shape[1]):
        total += A[s, k] * A[s, k]
    return math.sqrt(total)


@kernel
def scale_row(A, s, share):
    """Row s times a number."""
    for k in range(A.shape[1]):
        A[s, k] *= share


@kernel
def choose_rows(t, y, o):
    """`order` and `rank`: rows of G, on free coordinates, that do not follow from others; `redundant`."""
    m, whole = y.num_rows, 0.0
    for s in range(m):
        o.taken[s] = 0
        for k in range(o.Q.shape[1]):
            o.Q[s, k] = 0.0 if t.prescribed[k] != 0 else o.G[s, k]
        whole = max(whole, size_of(o.G, s))
    for s in range(m):  # one that is but rounding beside others is a row that nothing can move
        size = size_of(o.Q, s)
        scale_row(o.Q, s, 1.0 / size if size > RANK * whole else 0.0)
    rank, largest = 0, 0.0
    for _ in range(m):
        best, most = -1, 0.0
        for s in range(m):
            if o.taken[s] == 0:
                size = size_of(o.Q, s)
                if size > most:
                    best, most = s, size
        largest = max(largest, most)
        if best < 0 or not most > RANK * largest:
            break
        o.taken[best] = 1
        rank += 1
        scale_row(o.Q, best, 1.0 / most)
        for s in range(m):
            if o.taken[s] == 0:
                share = 0.0
                for k in range(o.Q.shape[1]):
                    share += o.Q[best, k] * o.Q[s, k]
                for k in range(o.Q.shape[1]):
                    o.Q[s, k] -= share * o.Q[best, k]
    o.rank = 0
    for s in range(m):
        y.redundant[s] = 1 - o.taken[s]
        if o.taken[s] != 0:
            o.order[o.rank] = s
            o.rank += 1
    y.rank = rank


@kernel
def row_times(o, s, u):
    """G_s u."""
    total = 0.0
    for k in range(u.shape[0]):
        total += o.G[s, k] * u[k]
    return total


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


@kernel
def marks_of(o, n):
    """A number that tells sets of dependent coordinates apart, and how many they are."""
    found, number = 0, 0
    for k in range(n):
        found += o.is_dependent[k] * (k + 1) * (k + 1)
        number += o.is_dependent[k]
    return found, number


@kernel
def solve_dependent(t, o):
    """Eliminate R, whose last column is a right-hand side: u_i of dependent coordinate i is R_in less R_ij u_j.

    With `keeps` the dependent coordinates stay, in some order; else they are chosen. Returns the least pivot over the
    largest.
    """
    n, rank = o.R.shape[1] - 1, o.rank
    before, marked = marks_of(o, n)
    kept = o.keeps != 0 and o.is_chosen != 0 and marked == rank
    for i in range(rank):
        for k in range(n):
            o.R[i, k] = o.G[o.order[i], k]
    for k in range(n):
        o.u[k] = 1.0 if t.prescribed[k] == 0 and (not kept or o.is_dependent[k] != 0) else 0.0
        if not kept:
            o.is_dependent[k] = 0
    least = math.inf
    for i in range(rank):
        best, place, most = -1, i, 0.0
        for r in range(i, rank):
            for k in range(n):
                score = math.fabs(o.R[r, k]) * o.u[k] * o.weight[k]
                if score > most:
                    best, place, most = k, r, score
        if best < 0:
            return 0.0
        least = min(least, most)
        o.u[best] = 0.0
        for k in range(n + 1):
            o.R[i, k], o.R[place, k] = o.R[place, k], o.R[i, k]
        o.dependent[i], o.is_dependent[best] = best, 1
        share = 1.0 / o.R[i, best]
        for k in range(n + 1):
            o.R[i, k] *= share
        for r in range(rank):
            share = o.R[r, best]
            if r != i and share != 0.0:
                for k in range(n + 1):
                    o.R[r, k] -= share * o.R[i, k]
    after, _ = marks_of(o, n)
    if o.is_chosen == 0 or after != before:
        o.choices += 1
    o.is_chosen = 1
    return least


@kernel
def follow(o, u, n):
    """Velocities, or accelerations, of dependent coordinates from those of the others."""
    for i in range(o.rank):
        total = o.R[i, n]
        for k in range(n):
            if o.is_dependent[k] == 0:
                total -= o.R[i, k] * u[k]
        u[o.dependent[i]] = total


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
