"""Workspace for derivatives: which coordinates of a tree matter to which, as runs of neighbours."""

from __future__ import annotations

import numpy as np

from kido.jit import LANES, Struct
from kido.joints import JointKind
from kido.kernels.inverse_mass import TOGETHER
from kido.tree.workspace import COLUMNS, DERIVATIVES, ROWS, WIDE

# Joints whose columns are treated as riding on the moving body: those of ball and free joints do.
_ON_BODY = (JointKind.BALL, JointKind.FREE, JointKind.USER)


def _runs(members: np.ndarray) -> list[tuple[int, int]]:
    """Neighbours in an ascending list of numbers, as (first, one after the last)."""
    if members.size == 0:
        return []
    breaks = np.flatnonzero(np.diff(members) != 1) + 1
    return [(int(part[0]), int(part[-1]) + 1) for part in np.split(members, breaks)]


def _padded(columns: int) -> int:
    return -(-columns // TOGETHER) * TOGETHER


def columns_workspace(tree: Struct, samples: int = 0) -> Struct:
    """A `COLUMNS` container for a tree; arguments as for `derivatives_workspace`."""
    parent, first = tree.parent, tree.first_dof
    n, m = len(parent), len(tree.body_of_dof)
    below, end = np.zeros((n, m + WIDE)), np.zeros(n, np.int64)
    for i in range(n - 1, -1, -1):
        own, above = slice(int(first[i]), int(first[i + 1])), int(parent[i])
        below[i, own] = 1.0
        end[i] = max(end[i], own.stop)
        if above >= 0:
            below[above] += below[i]
            end[above] = max(end[above], end[i])
    made = COLUMNS(samples=samples, bodies=n, dofs=m, columns=m + WIDE)
    made.below[:] = below[..., None] if samples else below
    made.end[:] = end
    return made


def derivatives_workspace(tree: Struct, samples: int = 0) -> Struct:
    """A `DERIVATIVES` container for a tree, which it fits as long as the tree's structure is the same.

    Args:
        tree: the tree.
        samples: how many samples lie side by side, as in `Struct`.
    """
    parent, first, body = tree.parent, tree.first_dof, tree.body_of_dof
    n, m = len(parent), len(body)
    moved = np.zeros((n, m), bool)  # coordinates at or above each body
    for i in range(n):
        if parent[i] >= 0:
            moved[i] = moved[parent[i]]
        moved[i, first[i] : first[i + 1]] = True
    related = moved[body] if m else np.zeros((0, 0), bool)
    lists: dict[str, list[list[tuple[int, int]]]] = {"above": [], "below": []}
    for k in range(m):
        above = _runs(np.flatnonzero(related[k, :k]))
        if not above or above[-1][1] != k:
            above.append((k, k))
        below = _runs(np.flatnonzero(related[k + 1 :, k]) + k + 1)
        if not below or below[0][0] != k + 1:
            below.insert(0, (k + 1, k + 1))
        lists["above"].append(above)
        lists["below"].append(below)
    given: dict[str, np.ndarray] = {}
    for name, of_each in lists.items():
        given[name] = np.cumsum([0, *map(len, of_each)]).astype(np.int64)
        given[f"{name}_run"] = np.array([run for runs in of_each for run in runs], np.int64).reshape(-1, 2)
    carried = np.arange(1, m + 1)
    for i in range(n):
        if tree.kind[i] in _ON_BODY:
            carried[first[i] : first[i + 1]] = first[i + 1]
    given["carried"] = carried.astype(np.int64)
    return DERIVATIVES(samples=samples, bodies=n, dofs=m, columns=_padded(m), **given)


def solution_rows(work: Struct) -> tuple[Struct, Struct]:
    """X of a workspace of one sample, by numbers and by blocks of `LANES` neighbours, for its owner to keep alive."""
    m = work.L.shape[0]
    blocks = ROWS(samples=LANES if LANES > 1 else 0, dofs=m, columns=_padded(-(-m // LANES)))
    rows = ROWS(X=blocks.X.reshape(2, m, LANES * blocks.X.shape[2])) if LANES > 1 else blocks
    work.rows[:] = rows.address, blocks.address
    return rows, blocks
