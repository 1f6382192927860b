"""The gradient of a number pulled back through a step: one transposed solve, and products with vectors."""

from __future__ import annotations

from kido.jit import kernel, lanes_view, view
from kido.joints.kinds import BALL, FREE_MIXED
from kido.kernels.derivatives import column
from kido.math.so3 import advance_rotation_vector, rotation_vector_to_matrix
from kido.simulation.gradients.tangent.charts import right_jacobian, rows_of_start, times, transposed
from kido.simulation.gradients.tangent.contacts import ASKED
from kido.simulation.gradients.tangent.dynamics import motion_of
from kido.simulation.gradients.tangent.floating import add_kicks, balance_back
from kido.simulation.gradients.tangent.following import (
    MEAN,
    edge,
    edge_change,
    forget_start,
    half_change,
    start_motion,
    times_motion,
    turn_of,
)
from kido.simulation.gradients.tangent.geometry import cross3
from kido.simulation.gradients.tangent.linear import MASS, SYSTEM, solve_transposed, solve_vector
from kido.simulation.gradients.tangent.response import refinements
from kido.simulation.gradients.tangent.schema import TABLES
from kido.simulation.gradients.tangent.step import DONE, OTHER_WAY, linearize, note_again, rates_again
from kido.solvers.problem import CONTACT

# Rows of `work`: of velocities after the step and after impulses, of accelerations, of W; the solution, and scratch.
END, NEW, START, PRODUCTS, SOLVED, ONE, TWO = range(7)


@kernel
def back_to_axes(t, c, w):
    """The gradient by the state after the step in its axes: by velocities into END, by positions into `pulled`."""
    n = c.u.shape[0]
    half = 0.5 * c.time_step
    g, u, q, v, out = c.gradient, c.way, c.data.q, c.work, c.pulled
    for k in range(3 * n):
        out[k, 0] = 0.0
    for k in range(n):
        out[k, 0], v[END, k] = g[k], g[n + k]
    for i in range(t.parent.shape[0]):
        if t.kind[i] != FREE_MIXED:
            continue
        k = t.first_dof[i]
        x, y, z = half * u[k], half * u[k + 1], half * u[k + 2]
        x, y, z = advance_rotation_vector(q[k], q[k + 1], q[k + 2], x, y, z)
        T = rotation_vector_to_matrix(x, y, z)
        p0, p1, p2 = times(transposed(T), w.problem.u[k + 3], w.problem.u[k + 4], w.problem.u[k + 5])
        g0, g1, g2 = v[END, k + 3], v[END, k + 4], v[END, k + 5]
        # - g . (dr x v) = dr . (g x v)
        out[k, 0] += g1 * p2 - g2 * p1
        out[k + 1, 0] += g2 * p0 - g0 * p2
        out[k + 2, 0] += g0 * p1 - g1 * p0
        v[END, k + 3], v[END, k + 4], v[END, k + 5] = times(T, g0, g1, g2)
        out[k + 3, 0], out[k + 4, 0], out[k + 5, 0] = times(T, out[k + 3, 0], out[k + 4, 0], out[k + 5, 0])


@kernel
def back_to_middle(t, c):
    """From positions after the step to those at mid-step, which stay in `pulled`, and to velocities, in END."""
    half = 0.5 * c.time_step
    u, v, out = c.way, c.work, c.pulled
    for i in range(t.parent.shape[0]):
        k, last = t.first_dof[i], t.first_dof[i + 1]
        if t.kind[i] == BALL or t.kind[i] == FREE_MIXED:
            x, y, z = half * u[k], half * u[k + 1], half * u[k + 2]
            r0, r1, r2 = out[k, 0], out[k + 1, 0], out[k + 2, 0]
            R = rotation_vector_to_matrix(x, y, z)
            out[k, 0], out[k + 1, 0], out[k + 2, 0] = times(R, r0, r1, r2)
            r0, r1, r2 = times(transposed(right_jacobian(x, y, z)), r0, r1, r2)
            v[END, k] += half * r0
            v[END, k + 1] += half * r1
            v[END, k + 2] += half * r2
            k += 3
        for j in range(k, last):
            v[END, j] += half * out[j, 0]


@kernel
def add_back(F, m, factor, v, x, y):
    """Row y of v += factor F[m]^T times row x."""
    size = F.shape[1]
    for i in range(size):
        s = factor * v[x, i]
        if s != 0.0:
            for j in range(size):
                v[y, j] += s * F[m, i, j]


@kernel
def add_to_columns(F, m, factor, v, x, out, at):
    """The same into columns at.. of `pulled`."""
    size = F.shape[1]
    for i in range(size):
        s = factor * v[x, i]
        if s != 0.0:
            for j in range(size):
                out[at + j, 0] += s * F[m, i, j]


@kernel
def clear_vector(v, x, size):
    for k in range(size):
        v[x, k] = 0.0


@kernel
def answer(c, factor, x, y):
    """Row y of `work` = factor M~^-1 times row x."""
    v = c.work
    for k in range(c.u.shape[0]):
        v[y, k] = factor * v[x, k]
    solve_vector(c, MASS, y)


@kernel
def pull_products(t, c, w, size):
    """Back through the velocity products of the second half: from END to NEW, START and PRODUCTS."""
    v, h, out = c.work, c.time_step, c.pulled
    rates_again(t, c, w)
    clear_vector(v, TWO, size)
    for k in range(size):
        v[TWO, k] = v[END, k] if c.again[k] != 0 else 0.0
    answer(c, 0.5 * h, TWO, ONE)  # by right-hand sides of a_3 - a_2
    add_to_columns(c.at_free, 0, 1.0, v, ONE, out, 0)
    add_to_columns(c.at_end, 0, -1.0, v, ONE, out, 0)
    clear_vector(v, TWO, size)
    add_back(c.at_end, 1, -1.0, v, ONE, TWO)  # by velocities that a_3 is at
    for k in range(size):
        v[START, k] += 0.5 * h * v[TWO, k]
        v[NEW, k] += v[TWO, k]
        v[PRODUCTS, k] += v[ONE, k]
    answer(c, -h, TWO, ONE)  # by right-hand sides of a_2
    add_to_columns(c.at_free, 0, -1.0, v, ONE, out, 0)
    for k in range(size):
        x = v[ONE, k]
        out[k, 0] -= t.stiffness[k] * x
        out[size + k, 0] -= t.damping[k] * x
        out[2 * size + k, 0] += x
        v[PRODUCTS, k] -= x


@kernel
def solve_back(c, b, n, size):
    """SOLVED: multipliers of the system for the gradient NEW; those of rows in `multiplier`."""
    v = c.work
    for r in range(c.num_rows):
        c.multiplier[r] = 0.0
    for _ in range(refinements(c)):
        for k in range(size):
            v[SOLVED, k] = v[NEW, k]
        for r in range(c.num_rows):
            if c.use[r] == ASKED:
                s = c.multiplier[r] * c.give[r] / (c.soft[r] + c.give[r])
                if s != 0.0:
                    for k in range(size):
                        v[SOLVED, k] -= s * n.N[r, k]
        solve_transposed(c, SYSTEM, SOLVED)
        for r in range(c.num_rows):
            if c.use[r] == ASKED:
                x = c.give[r] * c.multiplier[r]
                for k in range(size):
                    x += n.T[r, k] * v[SOLVED, k]
                c.multiplier[r] = x / (c.soft[r] + c.give[r])


@kernel
def pull_system(t, c, b, n, size):
    """Back through the linear system and the accelerations of the start, into `pulled`."""
    v, h, out = c.work, c.time_step, c.pulled
    narrow = n.K.shape[1]
    for i in range(size):
        s = v[SOLVED, i]
        v[PRODUCTS, i] -= h * s
        out[2 * size + i, 0] += h * s
        for m in range(2):
            for j in range(size):
                out[m * size + j, 0] += s * c.right[m, i, j]
    for r in range(c.num_rows):
        s = c.weight[r]
        for m in range(1 + c.moving):
            for j in range(size):
                out[m * size + j, 0] += s * n.c[r, m * narrow + j]
    clear_vector(v, ONE, size)
    add_back(c.at_middle, 1, 1.0, v, PRODUCTS, ONE)
    for k in range(size):
        out[size + k, 0] += v[ONE, k]
        v[START, k] += 0.5 * h * v[ONE, k]
    answer(c, 1.0, START, TWO)
    add_to_columns(c.at_start, 0, -1.0, v, TWO, out, 0)
    add_to_columns(c.at_start, 1, -1.0, v, TWO, out, size)
    for k in range(size):
        x = v[TWO, k]
        out[k, 0] -= t.stiffness[k] * x
        out[size + k, 0] -= t.damping[k] * x
        out[2 * size + k, 0] += x


@kernel
def row_weights(t, c, n, size):
    """`weight`: of the multipliers of rows, and of the friction of contacts that slide."""
    v = c.work
    for r in range(c.num_rows):
        if c.use[r] == ASKED:
            c.weight[r] = -c.multiplier[r]
        elif c.use[r - 1] == ASKED:
            one = two = 0.0
            for k in range(size):
                one += n.N[r, k] * v[SOLVED, k]
                two += n.N[r + 1, k] * v[SOLVED, k]
            x, y, z = c.drag[r - 1, 0], c.drag[r - 1, 1], c.drag[r - 1, 2]
            c.weight[r], c.weight[r + 1] = -(x * one + y * two), -(y * one + z * two)


@kernel
def add_memory(t, c, w, size):
    """The gradient by points and normals of this step's contacts, into that by positions."""
    src, pr, S, out = w.row_origins, w.problem, c.derivatives.S, c.pulled
    for b in range(pr.num_blocks):
        if pr.kind[b] != CONTACT:
            continue
        k, s = src.index[b], c.side[b]
        m = c.memory
        i = src.body[b]
        while i >= 0:
            for j in range(t.first_dof[i], t.first_dof[i + 1]):
                x = column(S, j)
                de = edge_change(c, b, 0, x)
                g = m[k, 0] * times_motion(c.move, b, 0, x) + m[k, 1] * times_motion(c.move, b, 1, x)
                g += m[k, 2] * times_motion(c.move, b, 2, x)
                out[j, 0] += g + s * (m[k, 3] * de[0] + m[k, 4] * de[1] + m[k, 5] * de[2])
            i = t.parent[i]


@kernel
def recall(c, w, contacts):
    """`recalled` of the contacts that go on, from `weight`."""
    src, pr, h = w.row_origins, w.problem, w.time_step
    for b in range(c.recalled.shape[0]):
        for j in range(6):
            c.recalled[b, j] = 0.0
    if c.moving == 0:
        return
    for b in range(pr.num_blocks):
        if pr.kind[b] != CONTACT or c.follows[b] == 0:
            continue
        body, old = src.body[b], c.old[b]
        V = motion_of(c.derivatives.V, body)
        _, _, v = half_change(c, contacts, b, src.index[b], body, h)
        x, y, z = 0.0, 0.0, 0.0  # sum of directions, weighted
        if c.row[b] >= 0:
            f, e, s = 0.5 * c.weight[c.row[b]], edge(c, b, 0), c.side[b]
            x, y, z = f * e[0], f * e[1], f * e[2]
            c.recalled[old, 3] -= f * s * v[0]
            c.recalled[old, 4] -= f * s * v[1]
            c.recalled[old, 5] -= f * s * v[2]
        if c.along[b] == MEAN:
            share = 0.5 / c.going[b]
            for o in range(c.first[b], c.first[b] + c.length[b]):
                for a in range(1, 3):
                    if c.row[o] >= 0:
                        f, e = share * c.weight[c.row[o] + a], edge(c, o, a)
                        x, y, z = x + f * e[0], y + f * e[1], z + f * e[2]
        g = cross3((x, y, z), turn_of(V))  # e . (w x dx) = dx . (e x w), and dx is from the old point
        c.recalled[old, 0] -= g[0]
        c.recalled[old, 1] -= g[1]
        c.recalled[old, 2] -= g[2]


@kernel
def step_pull(w, c, detect, collision):
    """`pulled`, of a step that has been done, from `gradient`; arguments and result as of `step.step_rates`."""
    t = w.tree
    b, n = lanes_view(TABLES, c.lanes), view(TABLES, c.numbers)
    if c.remembers > 0 and c.remembers != 1 + w.collision.num_contacts:
        return OTHER_WAY
    status = linearize(t, c, w, b, n, detect, collision)
    if status != DONE:
        return status
    size = c.u.shape[0]
    v = c.work
    for x in range(7):
        clear_vector(v, x, size)
    back_to_axes(t, c, w)
    if c.num_floating > 0:
        balance_back(t, c, v, END, c.pulled)
    back_to_middle(t, c)
    if c.num_floating > 0:
        add_kicks(t, c, c.pulled)
    for k in range(size):
        v[NEW, k] = v[END, k]
    if note_again(t, c, w) > 0:
        pull_products(t, c, w, size)
    solve_back(c, b, n, size)
    row_weights(t, c, n, size)
    pull_system(t, c, b, n, size)
    if c.remembers > 0:
        add_memory(t, c, w, size)
    if c.moving != 0:
        start_motion(t, c.data, w, c)
        forget_start(c.data, w)
    recall(c, w, w.collision)
    rows_of_start(t, c, c.pulled)
    for k in range(size):
        if c.inert[k] != 0:
            c.pulled[2 * size + k, 0] = 0.0
    return DONE
