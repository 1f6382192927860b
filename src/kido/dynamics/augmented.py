"""TA, the tree-augmented solver: articulated bodies for the tree, multipliers of its loops from a Schur complement."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.constraints.loop_factor import measure_all
from kido.dynamics.augmented_rows import AUGMENTED, compliance, factor, solve
from kido.dynamics.rows import begin, missing, rates_of, row_forces
from kido.dynamics.schema import (
    DYNAMICS,
)
from kido.dynamics.solver import DynamicsSolver
from kido.integrators.schema import FAILED
from kido.jit import Struct, callback, kernel, view
from kido.kernels.forward_dynamics import acceleration_scatter, articulated_inertias, bias_gather
from kido.kernels.impulse import generalized_row
from kido.kernels.inertia import body_inertia
from kido.kernels.inverse_dynamics import accelerations
from kido.kernels.kinematics import transforms

__all__ = ["TreeAugmentedSolver"]

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
        near = [np.flatnonzero(row[: s + 1]) for s, row in enumerate(touches @ touches.T)]
        slots = max(len(paths), 1)
        own = AUGMENTED(slots=slots, slots1=slots + 1, dofs=max(system.num_dofs, 1),
            steps=max(sum(map(len, paths)), 1), pairs=max(sum(map(len, near)), 1),
        )  # fmt: skip
        fill_lists(own.path_first, own.path, paths)
        fill_lists(own.near_first, own.near, near)
        return own


def fill_lists(first: np.ndarray, values: np.ndarray, lists: list[Any]) -> None:
    """Write lists one after another, and where each begins."""
    ends = np.cumsum([0, *map(len, lists)])
    first[: len(ends)] = ends
    if lists:
        values[: ends[-1]] = np.concatenate([np.asarray(x, np.int64) for x in lists])
