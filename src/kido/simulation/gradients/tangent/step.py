"""The derivative of a step by one linear system.

With M~ = M + h D + (h^2/4) K_s, forces tau, a_1 the accelerations at the start's velocities u_0, u_M = u_0 + (h/2) a_1
those predicted for mid-step, and u_1 the velocities after the impulses p, the step solves at mid-step's positions q_M

    M~ (u_1 - u_0) / h = tau - D u_0 - K_s (q_M - q_r) - bias(q_M, u_M) + J^T p / h

so that with a* = (u_1 - u_0) / h and the derivatives of inverse dynamics ID at (q_M, u_0, a_1) and (q_M, u_M, a*)

    M~ da_1 = dtau - (ID_q + K_s) dq_M - (ID_u + D) du_0
    M~ du_1 - J^T dp = M~ du_0 + h dtau - (h (ID*_q + K_s) - d(J^T p)/dq) dq_M - h D du_0 - h ID*_u (du_0 + (h/2) da_1)

where the laws of the rows (`contacts`) say what dp is. Rows ASKED, N du_1 + soft dp = -c, are eliminated as penalties
1 / (soft + give), and what that leaves is refined: rows that depend on each other do no harm. Positions at the end are
q_M moved by (h/2) u_1.
"""

from __future__ import annotations

import math

from kido.constraints.impact_time import UNSTEADY
from kido.jit import call4, inlined, kernel, lanes_view, view
from kido.kernels.derivatives import mass_matrix_from_momenta
from kido.kernels.forward_dynamics import articulated_inertias
from kido.kernels.inertia import body_inertia
from kido.kernels.integration import advance
from kido.kernels.inverse_mass import factor
from kido.kernels.kinematics import transforms
from kido.simulation.balance import SLOW
from kido.simulation.gradients.tangent.charts import axes_of_end, rows_of_start, ways_of_end
from kido.simulation.gradients.tangent.contacts import (
    contact_laws,
    joint_laws,
    known_biases,
    known_way,
    press,
    push_rates,
)
from kido.simulation.gradients.tangent.dynamics import composites, force_rates, velocity_columns
from kido.simulation.gradients.tangent.floating import (
    AFTER,
    BEFORE,
    balance_rows,
    kick_rates,
    momentum_columns,
    note_floating,
    note_ways,
)
from kido.simulation.gradients.tangent.following import add_following, follow_rows, forget_start, start_motion
from kido.simulation.gradients.tangent.geometry import bias_slope, describe_rows, seed_poses
from kido.simulation.gradients.tangent.linear import MASS, factor_matrix, solve_vector
from kido.simulation.gradients.tangent.response import add_penalties, all_columns
from kido.simulation.gradients.tangent.schema import TABLES, UNIT_NUMBERS, UNITS
from kido.simulation.gradients.tangent.softness import add_softness
from kido.solvers.problem import CONTACT

DONE, OTHER_WAY, SINGULAR = 0, 1, 2
SPARE = 7  # row of `work`


@kernel
def start_rates(t, c, w):
    """Derivatives at the start's velocities, M as right-hand side by velocities, and factors of M~."""
    d = c.data
    y = c.derivatives
    h = c.time_step
    size = d.q.shape[0]
    for k in range(size):
        d.u[k] = w.start_u[k]
        d.udot[k] = (w.middle_u[k] - w.start_u[k]) * (2.0 / h)
    force_rates(t, d, y, c.at_start)
    mass_matrix_from_momenta(y, 0, size, c.right, 1)
    factor(t, d, y, 0, t.parent.shape[0])
    for i in range(size):
        c.D[MASS, i] = d.Dinv[i]
        for j in range(size):
            c.L[MASS, i, j] = y.L[i, j]


@kernel
def middle_rates(t, c, w, n):
    """M~ into K, the right-hand sides of du_1 without rows into `right`, where M is."""
    d = c.data
    h = c.time_step
    size = d.q.shape[0]
    for k in range(size):
        d.u[k] = w.middle_u[k]
        d.udot[k] = (c.u[k] - w.start_u[k]) / h
    force_rates(t, d, c.derivatives, c.at_middle)
    for i in range(size):
        for j in range(size):
            n.K[i, j] = c.right[1, i, j]
            c.right[0, i, j] = -h * c.at_middle[0, i, j]
        own = t.armature[i] + 0.25 * h * h * t.stiffness[i]
        n.K[i, i] += own + h * t.damping[i]
        c.right[0, i, i] -= h * t.stiffness[i]
        c.right[1, i, i] += own


@kernel
def describe_contacts(t, c, w):
    """Rows of all contacts, how they turn, and what they press on. Returns whether duals and contacts agree."""
    src, pr = w.row_origins, w.problem
    contacts = w.collision
    for i in range(t.parent.shape[0]):
        if c.touched[i] != 0:
            c.touched[i] = 0
            for j in range(6):
                c.f[i, j] = 0.0
            for j in range(36):
                c.df[i, j] = 0.0
    good = True
    for block in range(pr.num_blocks):
        if pr.kind[block] != CONTACT:
            continue
        body, k, i = src.body[block], src.index[block], pr.row[block]
        sign = -1.0 if contacts.body_a[k] == body else 1.0
        good = (
            describe_rows(t, c, k, block, src.wrench, body, sign, contacts.normal, contacts.point, src.tangent) and good
        )
        s = bias_slope(src, contacts.gap[k])
        for j in range(6):
            c.slope[block, j] *= s
        if pr.impulse[i] > 0.0:
            press(c, body, block, (pr.impulse[i], pr.impulse[i + 1], pr.impulse[i + 2]))
    return good


@kernel
def velocities_after(t, c, w):
    """Velocities after impulses into c.u: M~^-1 J^T p more than the free ones."""
    src, pr, S = w.row_origins, w.problem, c.derivatives.S
    size = c.u.shape[0]
    for k in range(size):
        c.work[0, k] = 0.0
        c.u[k] = pr.u_free[k]
    for b in range(pr.num_blocks):
        if pr.kind[b] != CONTACT:
            c.work[0, src.index[b]] += src.sign[b] * pr.impulse[pr.row[b]]
    for body in range(t.parent.shape[0]):
        if c.touched[body] == 0:
            continue
        f0, f1, f2, f3, f4, f5 = c.f[body, 0], c.f[body, 1], c.f[body, 2], c.f[body, 3], c.f[body, 4], c.f[body, 5]
        i = body
        while i >= 0:
            for k in range(t.first_dof[i], t.first_dof[i + 1]):
                x = S[0, k] * f0 + S[1, k] * f1 + S[2, k] * f2
                c.work[0, k] += x + (S[3, k] * f3 + S[4, k] * f4 + S[5, k] * f5)
            i = t.parent[i]
    solve_vector(c, MASS, 0)
    for k in range(size):
        c.u[k] += c.work[0, k]


@kernel
def row_rates(t, c, w, n):
    """Rows of all blocks with their laws, and d(J^T p)/dq into `right`. Returns whether biases are known."""
    src, pr = w.row_origins, w.problem
    contacts = w.collision
    velocity_columns(t, c.derivatives, c, c.u)
    size, at, most = c.u.shape[0], 0, 0.0
    for k in range(size):
        most = max(most, math.fabs(w.start_u[k]))
    c.moving = 1 if c.time_step * most > SLOW and contacts.num_contacts > 0 else 0
    for block in range(pr.num_blocks):
        if pr.kind[block] == CONTACT:
            at += contact_laws(t, c, n, pr, block, src.body[block], at)
        else:
            at += joint_laws(t, c, n, pr, src, c.u, block, at)
    c.num_rows = at
    push_rates(t, c)
    if c.moving != 0:
        start_motion(t, c.data, w, c)
        follow_rows(t, c, w, contacts)
        forget_start(c.data, w)
        add_following(t, c, w, contacts, n)
    add_softness(t, c, n, pr, src, lanes_view(UNITS, c.units[0]), view(UNIT_NUMBERS, c.units[1]))
    return known_biases(c, pr, src, contacts, w)


@kernel
def note_again(t, c, w):
    """Which trees take their velocity products anew after impulses. Returns -1 where these are not known here."""
    src, pr = w.row_origins, w.problem
    found = 0
    for tree_index in range(t.tree_mobile.shape[0]):
        first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
        begin, end = t.first_dof[first], t.first_dof[last]
        most, change = 0.0, 0.0
        for k in range(begin, end):
            most = max(most, max(math.fabs(w.start_u[k]), math.fabs(c.u[k])))
            change = max(change, math.fabs(c.u[k] - pr.u_free[k]))
            c.again[k] = 0
        if begin == end or t.tree_mobile[tree_index] == 0 or not change > 0.0 or not c.time_step * most > SLOW:
            continue
        if src.steady[begin] != UNSTEADY:
            continue
        if w.holds[tree_index] != 0:
            return -1
        found = 1
        for k in range(begin, end):
            c.again[k] = 1
    return found


@kernel
def rates_again(t, c, w):
    """Derivatives of inverse dynamics at mid-step without impulses, and with the velocities after them."""
    d, pr, h = c.data, w.problem, c.time_step
    for k in range(d.q.shape[0]):
        d.u[k] = w.middle_u[k]
        d.udot[k] = (pr.u_free[k] - w.start_u[k]) / h
    force_rates(t, d, c.derivatives, c.at_free)
    for k in range(d.q.shape[0]):
        d.u[k] = w.middle_u[k] + (c.u[k] - pr.u_free[k])
    if c.num_floating > 0:  # velocities after the step are not those that products have made
        accelerations_again(t, c, w)
    else:
        for k in range(d.q.shape[0]):
            d.udot[k] += (pr.u[k] - c.u[k]) * (2.0 / h)
    force_rates(t, d, c.derivatives, c.at_end)


@kernel
def accelerations_again(t, c, w):
    """Accelerations at mid-step with the velocities after impulses, from those without, whose composites are known."""
    d, v = c.data, c.work
    size = d.q.shape[0]
    for k in range(size):
        v[SPARE, k] = joint_force(t, c.derivatives, k)
    composites(t, d, c.derivatives)
    for k in range(size):
        v[SPARE, k] = joint_force(t, c.derivatives, k) - v[SPARE, k]
    solve_vector(c, MASS, SPARE)
    for k in range(size):
        d.udot[k] -= v[SPARE, k]


@inlined
def joint_force(t, y, k):
    """S_k . F of what is beyond coordinate k."""
    F, S, i = y.composite, y.S, t.body_of_dof[k]
    x = S[0, k] * F[i, 25] + S[1, k] * F[i, 26] + S[2, k] * F[i, 27]
    return x + (S[3, k] * F[i, 28] + S[4, k] * F[i, 29] + S[5, k] * F[i, 30])


@kernel
def place_middle(t, c, w):
    """Poses and inertias at mid-step in own data."""
    d = c.data
    size = d.q.shape[0]
    n = t.parent.shape[0]
    for k in range(size):
        d.q[k] = c.start_q[k]
        d.u[k] = w.start_u[k]
    advance(t, d, 0, n, 0.5 * c.time_step)
    transforms(t, d, 0, n)
    for i in range(n):
        body_inertia(t, d, i)
    articulated_inertias(t, d, 0, n, c.time_step)


@kernel
def linearize(t, c, w, b, n, detect, collision):
    """All of a step's linear system with its factors. Returns DONE, or why not."""
    if not known_way(t, w.data, w.problem, w.row_origins, w):
        return OTHER_WAY
    if not note_floating(t, w.data, w.problem, w.row_origins, w, c):
        return OTHER_WAY
    if c.num_floating > 0:
        momentum_columns(t, c, c.start_q, w.start_u, BEFORE)
        momentum_columns(t, c, w.data.q, w.problem.u, AFTER)
    place_middle(t, c, w)
    note_ways(t, c, w)
    start_rates(t, c, w)
    if c.num_floating > 0:
        kick_rates(t, c)
    c.num_rows = 0
    blocks = w.problem.num_blocks
    if w.collision.num_contacts > 0 and blocks > 0:
        seed_poses(t, c)
        if call4(detect, collision, 0, 0, 0) != 0:
            return OTHER_WAY
    if not describe_contacts(t, c, w):
        return OTHER_WAY
    velocities_after(t, c, w)
    if note_again(t, c, w) < 0:
        return OTHER_WAY
    middle_rates(t, c, w, n)
    if blocks > 0:
        if not row_rates(t, c, w, n):
            return OTHER_WAY
        add_penalties(c, b, n)
    if not factor_matrix(c, b, n):
        return SINGULAR
    return DONE


@kernel
def tell_modes(c, pr):
    """Modes and margins of contacts one after the other, and the least margin."""
    number, least = 0, math.inf
    for b in range(pr.num_blocks):
        least = min(least, c.margin[b])
        if pr.kind[b] == CONTACT:
            c.told_mode[number], c.told_margin[number] = c.mode[b], c.margin[b]
            number += 1
    c.num_told, c.least_margin = number, least


@kernel
def step_rates(w, c, detect, collision):
    """`out` of a step that has been done.

    Args:
        detect: address of the detector's callback for duals.
        collision: its COLLISION.

    Returns:
        DONE, OTHER_WAY: the step has parts that are not differentiated here; or SINGULAR.
    """
    b, n = lanes_view(TABLES, c.lanes), view(TABLES, c.numbers)
    status = linearize(w.tree, c, w, b, n, detect, collision)
    if status != DONE:
        return status
    again = note_again(w.tree, c, w) > 0
    if again:
        rates_again(w.tree, c, w)
    all_columns(w.tree, c, b, n, again)
    ways_of_end(w.tree, c, n)
    if c.num_floating > 0:
        balance_rows(w.tree, c, c.out)
    axes_of_end(w.tree, c, w)
    rows_of_start(w.tree, c, c.out)
    size = c.u.shape[0]
    for k in range(size):
        if c.inert[k] != 0:
            for i in range(2 * size):
                c.out[2 * size + k, i] = 0.0
    tell_modes(c, w.problem)
    return DONE
