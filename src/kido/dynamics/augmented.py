"""TA, the tree-augmented solver: articulated bodies for the tree, multipliers of its loops from a Schur complement.

S = G M^-1 G^T by the compliance recursion. With M = L^T D L, the factors that the articulated-body sweep leaves
behind, S = E D^-1 E^T, where E = G L^-1. A row of E is what the unit force of a row of G is at each coordinate after it
went up through the articulated bodies below (theory reference, sections a6, b1: psi carries it from body to body). It
has entries on the paths from the row's bodies to the root only, so that S is made of the products along what two rows
share, and no response is formed.

S is scaled and factored by Cholesky. Rows are taken as they come, which keeps S as sparse as they are ordered; those
whose pivot is small wait until the end, where the largest pivot comes first. Rows with a pivot below PIVOT_TOLERANCE of
their scale follow from others and get no force.
Source: Jain (2013), sec. IV; theory of the pivoted factor: Higham (2002), sec. 10.3.
"""

from __future__ import annotations

import math

import numpy as np

from kido.constraints.loop_factor import PIVOT_TOLERANCE, measure_all
from kido.constraints.loop_schema import COUPLE
from kido.dynamics.block_factor import fill_lists
from kido.dynamics.rows import add_row_wrench, begin, missing, rates_of, row_forces, scale_rows
from kido.dynamics.schema import (
    DYNAMICS,
)
from kido.dynamics.solver import DynamicsSolver
from kido.errors import ModelError
from kido.integrators.schema import FAILED
from kido.jit import Struct, callback, floats, integers, kernel, view
from kido.kernels.articulated import add_reaction, add_to_parent
from kido.kernels.forward_dynamics import acceleration_scatter, articulated_inertias, bias_gather
from kido.kernels.impulse import generalized_row
from kido.kernels.inertia import body_inertia
from kido.kernels.inverse_dynamics import accelerations, column_dot
from kido.kernels.kinematics import transforms

WAIT_TOLERANCE = 1e-4  # pivot of the scaled matrix below which a row waits until all others are done


class AUGMENTED(Struct):
    path_first = integers("slots1", doc="first body on the paths of each row in `path`, and the end")
    path = integers("steps", doc="bodies from those of a row up to the roots, each before its parent")
    near_first = integers("slots1", doc="first row in `near` that shares bodies with each row, and the end")
    near = integers("pairs", doc="rows up to each row that share bodies with it")
    E = floats("slots", "dofs", doc="rows carried up through articulated bodies")
    S = floats("slots", "slots", doc="upper triangle: scaled S, then its factor; below the diagonal: unused")
    extent = integers("slots", doc="end of what is not zero in each row of the factor")
    order = integers("slots", doc="row at each place of the factor")
    place = integers("slots", doc="place of each row before the factor; -1: along it nothing yields")
    x = floats("slots", doc="work: right-hand side and solution")
    z = floats("slots", doc="work of the solution")


@kernel
def carry_up(t, d, lp, y, o, s):
    """Row s of E; needs articulated inertias."""
    r = lp.slot[s]
    first, last = o.path_first[s], o.path_first[s + 1]
    W, E = y.wrench, o.E
    for e in range(first, last):
        i = o.path[e]
        for k in range(6):
            W[i, k] = 0.0
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            E[s, k] = 0.0
    if lp.kind[r] == COUPLE:
        c = lp.of[r]
        for e in range(lp.first_term[c], lp.first_term[c + 1]):
            E[s, lp.term_dof[e]] = lp.sign[r] * lp.term_factor[e]
    else:
        add_row_wrench(t, d, lp, r, 1.0, W)
    for e in range(first, last):
        i = o.path[e]
        w0, w1, w2, f0, f1, f2 = W[i, 0], W[i, 1], W[i, 2], W[i, 3], W[i, 4], W[i, 5]
        for k in range(t.first_dof[i + 1] - 1, t.first_dof[i] - 1, -1):
            own = E[s, k] + column_dot(d, k, w0, w1, w2, f0, f1, f2)
            E[s, k] = own
            own *= d.Dinv[k]
            w0, w1, w2, f0, f1, f2 = add_reaction(d, k, -own, w0, w1, w2, f0, f1, f2)
        parent = t.parent[i]
        if parent >= 0:
            add_to_parent(d, W, i, parent, w0, w1, w2, f0, f1, f2)


@kernel
def shared(t, d, o, s, r):
    """E_s D^-1 E_r over the bodies that row s has."""
    total = 0.0
    for e in range(o.path_first[s], o.path_first[s + 1]):
        i = o.path[e]
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            total += o.E[s, k] * o.E[r, k] * d.Dinv[k]
    return total


@kernel
def compliance(t, d, lp, y, o):
    """Upper triangle of S, rows and columns scaled, without rows along which nothing yields. Returns its order."""
    m, S = y.num_rows, o.S
    live = 0
    scale_rows(t, d, lp, y)
    for s in range(m):
        carry_up(t, d, lp, y, o, s)
        own = shared(t, d, o, s, s) * lp.scale[s] * lp.scale[s]
        o.place[s] = -1
        if own > PIVOT_TOLERANCE:
            o.place[s], o.order[live] = live, s
            S[live, live] = own
            live += 1
    for p in range(live):
        for q in range(p + 1, live):
            S[p, q] = 0.0
    for p in range(live):
        s = o.order[p]
        begin = o.path_first[s + 1] - o.path_first[s]
        for e in range(o.near_first[s], o.near_first[s + 1]):
            r = o.near[e]
            if r == s or o.place[r] < 0:
                continue
            short = s if begin <= o.path_first[r + 1] - o.path_first[r] else r
            S[o.place[r], p] = shared(t, d, o, short, s + r - short) * lp.scale[s] * lp.scale[r]
    return live


@kernel
def exchange(o, m, i, j):
    """Exchange rows and columns i < j of a symmetric matrix of which the upper triangle is kept."""
    S = o.S
    for k in range(i):
        S[k, i], S[k, j] = S[k, j], S[k, i]
        o.extent[k] = max(o.extent[k], j + 1)
    for k in range(i + 1, j):
        S[i, k], S[k, j] = S[k, j], S[i, k]
    for k in range(j + 1, m):
        S[i, k], S[j, k] = S[j, k], S[i, k]
    S[i, i], S[j, j] = S[j, j], S[i, i]
    o.order[i], o.order[j] = o.order[j], o.order[i]


@kernel
def eliminate(o, m, j):
    """Take row j out of the rows below it."""
    S = o.S
    root = math.sqrt(S[j, j])
    S[j, j] = root
    end = j + 1
    for k in range(j + 1, m):
        if S[j, k] != 0.0:
            S[j, k] /= root
            end = k + 1
    o.extent[j] = end
    for i in range(j + 1, end):
        share = S[j, i]
        if share != 0.0:
            for k in range(i, end):
                S[i, k] -= share * S[j, k]


@kernel
def factor(y, o, m):
    """Factor of S of order m, with its order; `redundant`. Returns the rank."""
    S = o.S
    for s in range(y.num_rows):
        y.redundant[s] = 1
    for j in range(m):
        o.extent[j] = j + 1
    ready, rank = m, 0
    while rank < ready:
        if S[rank, rank] > WAIT_TOLERANCE:
            eliminate(o, m, rank)
            rank += 1
        else:
            ready -= 1
            if rank < ready:
                exchange(o, m, rank, ready)
    while rank < m:
        best = rank
        for i in range(rank + 1, m):
            if S[i, i] > S[best, best]:
                best = i
        if not S[best, best] > PIVOT_TOLERANCE:
            break
        if best != rank:
            exchange(o, m, rank, best)
        eliminate(o, m, rank)
        rank += 1
    for j in range(rank):
        y.redundant[o.order[j]] = 0
    return rank


@kernel
def back(o, rank, x):
    """x <- R^-1 x for the first rows of the factor."""
    for j in range(rank - 1, -1, -1):
        value = x[j]
        for k in range(j + 1, min(o.extent[j], rank)):
            value -= o.S[j, k] * x[k]
        x[j] = value / o.S[j, j]


@kernel
def solve(lp, y, o, rank):
    """o.x = S^+ o.x by row: zero for rows that follow from others."""
    for j in range(rank):
        s = o.order[j]
        o.z[j] = lp.scale[s] * o.x[s]
    for j in range(rank):
        value = o.z[j] / o.S[j, j]
        o.z[j] = value
        for k in range(j + 1, min(o.extent[j], rank)):
            o.z[k] -= o.S[j, k] * value
    back(o, rank, o.z)
    for s in range(y.num_rows):
        o.x[s] = 0.0
    for j in range(rank):
        s = o.order[j]
        o.x[s] = lp.scale[s] * o.z[j]


MULTIPLIER_ROUNDS = 4  # of solving for the multipliers: the second takes off what rounding left
ENOUGH_SHARE = 1e-13  # of the largest number to be made up for, where no further round is worth it


@kernel
def push(t, d, lp, y, x, out):
    """out = M^-1 G^T x for numbers x of the slots, with G^T x added to `constraint_force`."""
    n = t.parent.shape[0]
    row_forces(t, d, lp, y, x, y.work)
    for k in range(out.shape[0]):
        y.constraint_force[k] += y.work[k]
        out[k] = 0.0
    generalized_row(t, d, 0, n, y.work, out, 0)


@kernel
def start_multipliers(y):
    """No forces yet."""
    for s in range(y.num_rows):
        y.multiplier[s] = 0.0
    for k in range(y.constraint_force.shape[0]):
        y.constraint_force[k] = 0.0


@callback
def accelerate(address, _a, _b, _c):
    """See `kido.dynamics.schema`."""
    y = view(DYNAMICS, address)
    t, d, lp = y.tree, y.data, y.loops
    o = view(AUGMENTED, y.own)
    n, m = t.parent.shape[0], y.num_rows
    y.evaluations += 1
    begin(t, d, lp, y)
    status = int(articulated_inertias(t, d, 0, n, 0.0))
    if status >= 0:
        return FAILED - 1 - status
    bias_gather(t, d, 0, n)
    acceleration_scatter(t, d, 0, n)
    start_multipliers(y)
    if m == 0:
        return 0
    rank = factor(y, o, compliance(t, d, lp, y, o))
    y.rank = rank
    before = missing(t, d, lp, y, y.residual)
    enough = ENOUGH_SHARE * before
    for _ in range(MULTIPLIER_ROUNDS):
        for s in range(m):
            o.x[s] = y.residual[s]
        solve(lp, y, o, rank)
        push(t, d, lp, y, o.x, y.step)
        for s in range(m):
            y.multiplier[s] += o.x[s]
        for k in range(y.step.shape[0]):
            d.udot[k] += y.step[k]
        accelerations(t, d, 0, n)
        left = missing(t, d, lp, y, y.residual)
        if left <= enough or left > 0.1 * before:
            break
        before = left
    return 0


@callback
def respond(address, _a, _b, _c):
    """See `kido.dynamics.schema`."""
    y = view(DYNAMICS, address)
    t, d, lp = y.tree, y.data, y.loops
    o = view(AUGMENTED, y.own)
    n, m = t.parent.shape[0], y.num_rows
    transforms(t, d, 0, n)
    for i in range(n):
        body_inertia(t, d, i)
    measure_all(d, lp)
    status = int(articulated_inertias(t, d, 0, n, 0.0))
    if status >= 0:
        return FAILED - 1 - status
    for k in range(y.change.shape[0]):
        y.change[k] = 0.0
    generalized_row(t, d, 0, n, y.impulse, y.change, 0)
    start_multipliers(y)
    if m == 0:
        return 0
    rank = factor(y, o, compliance(t, d, lp, y, o))
    y.rank = rank
    for _ in range(2):
        rates_of(t, d, lp, y, y.change, y.residual)
        for s in range(m):
            y.residual[s] = y.jump[s] - y.residual[s]
            o.x[s] = y.residual[s]
        solve(lp, y, o, rank)
        push(t, d, lp, y, o.x, y.step)
        for s in range(m):
            y.multiplier[s] += o.x[s]
        for k in range(y.step.shape[0]):
            y.change[k] += y.step[k]
    return 0


class TreeAugmentedSolver(DynamicsSolver):
    """TA: forward dynamics of the tree, then the rows: S lambda = gamma - G udot_free with S = G M^-1 G^T.

    S is made by the compliance recursion and factored by Cholesky, with the least pivots last: rows that follow from
    others get no force. It is solved until G udot = gamma holds to rounding. Costs O(n) for the tree, as many products
    for each pair of rows as they share coordinates, and O(nc^3) where all share some. Nothing special happens where
    configurations are singular: rows that depend on others there are left out there.
    Source: Jain (2013), sec. IV.
    """

    name = "TA"
    _accelerate, _respond = accelerate, respond

    def _make_own(self) -> Struct:
        system, tree = self.system, self.system.tree
        parent = tree.parent.tolist()
        paths = []
        for bodies in system.bodies_of_rows():
            above: set[int] = set()
            for body in bodies:
                while body >= 0 and body not in above:
                    above.add(body)
                    body = parent[body]
            paths.append(sorted(above, reverse=True))
        touches = np.zeros((len(paths), len(parent)), np.float32)
        for s, path in enumerate(paths):
            touches[s, path] = 1.0
        near = [np.flatnonzero(row[: s + 1]).tolist() for s, row in enumerate(touches @ touches.T)]
        slots = max(len(paths), 1)
        own = AUGMENTED(slots=slots, slots1=slots + 1, dofs=max(system.num_dofs, 1),
            steps=max(sum(map(len, paths)), 1), pairs=max(sum(map(len, near)), 1),
        )  # fmt: skip
        fill_lists(own.path_first, own.path, paths)
        fill_lists(own.near_first, own.near, near)
        return own


class TreeSolver(TreeAugmentedSolver):
    """Articulated-body forward dynamics of a system without rows, in O(n); coordinates with given accelerations too.

    Source: Jain (2013), sec. III; Featherstone (1983).
    """

    name = "tree"

    def _make_own(self) -> Struct:
        system = self.system
        if system.num_rows:
            names = ", ".join(repr(c.name) for c in system.constraints[:5])
            raise ModelError(
                f"skeleton {system.skeleton.name!r}: solver tree takes no constraints, and there are "
                f"{len(system.constraints)}: {names}{' ...' if len(system.constraints) > 5 else ''}; take TA or FA"
            )
        return super()._make_own()
