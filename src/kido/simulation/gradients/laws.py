"""The laws of contacts and rows at a solution, and their derivative: what impulses change by where the problem does.

With p the impulses and v = J (u_free + Y^T p) + bias + c p the velocities of all rows, the laws are equations in what
is free of each block: a contact that presses has v_n = 0, one that does not p_n at its floor; one that sticks has
v_t = 0, one that slides p_t = mu p_n s, s being the direction of p_t - r v_t for any r > 0; a bounded row is at a bound
or has v = 0. In each of these modes they are smooth, G dp = -(their derivative at fixed p). Where impulses are not
determined, as those of four feet, the least change is taken: velocities do not depend on it.

Source: the implicit function theorem on the natural map of the cone (Alart and Curnier 1991).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kido.solvers.problem import BOUNDED, block_segments

Array = NDArray[np.float64]

OPEN, STICKING, SLIDING, BOUND, HELD = range(5)
MODE_NAMES = ("open", "sticking", "sliding", "at a bound", "held")
RANK = 1e-11  # share of the largest singular value below which a combination of impulses is not determined
EXACT = 1e-14  # relative residual that is good enough
SOLVED = 1e-7  # and one above which there is no solution: margins are zero
MOST_ITERATIONS = 20


class Blocks(NamedTuple):
    """What blocks are, of a problem of numbers."""

    kind: NDArray[np.int64]
    row: NDArray[np.int64]
    mu: Array
    lower: Array
    upper: Array


class Places:
    """Where the numbers of a problem's pools lie in matrices (rows, coordinates)."""

    def __init__(self, problem: Any):
        self.shape = int(problem.num_rows), int(problem.num_dofs)
        rows, dofs, pool = [], [], []
        for b in range(problem.num_blocks):
            count, first = 1 if problem.kind[b] == BOUNDED else 3, int(problem.row[b])
            for dof, n, at in block_segments(problem, b):
                rows.append(np.repeat(np.arange(first, first + count), n))
                dofs.append(np.tile(np.arange(dof, dof + n), count))
                pool.append(np.arange(at, at + count * n))
        nothing = [np.zeros(0, np.int64)]
        self.row, self.dof, self.pool = (np.concatenate(found or nothing) for found in (rows, dofs, pool))

    def matrix(self, values: Array) -> Array:
        """A matrix, of the values at `pool`."""
        made = np.zeros(self.shape)
        made[self.row, self.dof] = values
        return made

    def along_rows(self, values: Array, u: Array) -> Array:
        """Products with u of matrices of values (entries, k): (rows, k)."""
        made = np.zeros((self.shape[0], values.shape[1]))
        np.add.at(made, self.row, values * u[self.dof, None])
        return made

    def along_columns(self, values: Array, p: Array) -> Array:
        """Products with p of their transposes: (coordinates, k)."""
        made = np.zeros((self.shape[1], values.shape[1]))
        np.add.at(made, self.dof, values * p[self.row, None])
        return made


class Laws:
    """The laws of one problem and their solution.

    Args:
        compliance: of all rows on each other, softness included (rows, rows).
        free: velocities of all rows without impulses (rows,).
        floor: least normal impulses of contacts, by block.
        start: impulses near to the solution.

    Attributes:
        p, v: impulses and velocities of the solution (rows,).
        mode: OPEN ... HELD of each block.
        margin: of each block, by what speed it is apart from another mode [m/s].
    """

    def __init__(self, blocks: Blocks, compliance: Array, free: Array, floor: Array, start: Array):
        self.blocks, self.A, self.free, self.floor = blocks, compliance, free, floor
        self._scale = np.ones(len(free))
        for b, i in enumerate(blocks.row):
            rows = slice(i, i + (1 if blocks.kind[b] == BOUNDED else 3))
            mean = np.diag(compliance)[rows].mean()
            self._scale[rows] = 1.0 / mean if mean > 0.0 else 1.0
        self.p = self._solved(start.copy())
        G, residual = self._equations(self.p)
        if np.abs(residual).max(initial=0.0) > SOLVED * np.abs(self.p).max(initial=0.0):
            self.margin[:] = 0.0
        # What is at a bound is there without rounding: a step asks for zeros.
        known = (np.count_nonzero(G, axis=1) == 1) & (np.diag(G) == 1.0)
        self.p[known] -= residual[known]
        self.v = self.A @ self.p + self.free
        inverse = np.linalg.pinv(G, rcond=RANK)
        self._by = [inverse @ made for made in self._sources()]

    def _solved(self, p: Array) -> Array:
        """Newton's method on the laws, from a solution of the solvers' accuracy; what does not improve it is left."""
        G, residual = self._equations(p)
        for _ in range(MOST_ITERATIONS):
            size = float(np.abs(residual).max(initial=0.0))
            if size <= EXACT * float(np.abs(p).max(initial=0.0)):
                break
            other = p - np.linalg.lstsq(G, residual, rcond=RANK)[0]
            G, after = self._equations(other)
            if not float(np.abs(after).max()) < size:
                break
            p, residual = other, after
        return p

    def _equations(self, p: Array) -> tuple[Array, Array]:
        """G and the residual of the laws at p, in impulses; notes modes and margins."""
        blocks, A, scale = self.blocks, self.A, self._scale
        v = A @ p + self.free
        rows = len(p)
        G, residual = np.eye(rows), p.copy()
        self.mode = np.full(len(blocks.kind), OPEN)
        self.margin = np.full(len(blocks.kind), np.inf)
        for b, i in enumerate(blocks.row):
            r = scale[i]
            if blocks.kind[b] == BOUNDED:
                y = p[i] - r * v[i]
                low, high = blocks.lower[b], blocks.upper[b]
                if y <= low or y >= high:
                    self.mode[b] = BOUND
                    residual[i] = p[i] - (low if y <= low else high)
                else:
                    self.mode[b] = HELD
                    G[i], residual[i] = r * A[i], r * v[i]
                self.margin[b] = min(abs(y - low), abs(y - high)) / r
                continue
            normal = p[i] - r * v[i] - self.floor[b]
            if normal > 0.0:
                G[i], residual[i] = r * A[i], r * v[i]
            else:
                residual[i] = p[i] - self.floor[b]
            self.margin[b] = abs(normal) / r
            reach = blocks.mu[b] * p[i]
            if not reach > 0.0:
                self.mode[b] = OPEN if not p[i] > 0.0 else SLIDING
                continue
            tangents = slice(i + 1, i + 3)
            y = p[tangents] - r * v[tangents]
            size = float(np.hypot(*y))
            self.margin[b] = min(self.margin[b], abs(size - reach) / r)
            if size <= reach:
                self.mode[b] = STICKING
                G[tangents], residual[tangents] = r * A[tangents], r * v[tangents]
                continue
            self.mode[b] = SLIDING
            s, turn = self._slip(y, reach)
            residual[tangents] = p[tangents] - reach * s
            G[tangents] = turn @ (r * A[tangents])
            G[tangents, tangents] += np.eye(2) - turn
            G[tangents, i] -= blocks.mu[b] * s
        return G, residual

    def _sources(self) -> tuple[Array, Array, Array, Array, Array]:
        """What moves the laws: matrices by v at fixed p (rows, rows), and by mu, bounds and floors (rows, blocks)."""
        blocks, p, v, scale = self.blocks, self.p, self.v, self._scale
        by_velocity = np.zeros((len(p), len(p)))
        by_friction, by_lower, by_upper, by_floor = (np.zeros((len(p), len(blocks.kind))) for _ in range(4))
        for b, i in enumerate(blocks.row):
            r = scale[i]
            if blocks.kind[b] == BOUNDED:
                if self.mode[b] == HELD:
                    by_velocity[i, i] = -r
                else:
                    (by_lower if p[i] - r * v[i] <= blocks.lower[b] else by_upper)[i, b] = 1.0
                continue
            if p[i] - r * v[i] > self.floor[b]:
                by_velocity[i, i] = -r
            else:
                by_floor[i, b] = 1.0
            reach, tangents = blocks.mu[b] * p[i], slice(i + 1, i + 3)
            if not reach > 0.0:
                continue
            if self.mode[b] == STICKING:
                by_velocity[tangents, tangents] = -r * np.eye(2)
                continue
            s, turn = self._slip(p[tangents] - r * v[tangents], reach)
            by_velocity[tangents, tangents] = -r * turn
            by_friction[tangents, b] = s * p[i]
        return by_velocity, by_friction, by_lower, by_upper, by_floor

    @staticmethod
    def _slip(y: Array, reach: float) -> tuple[Array, Array]:
        """Direction of friction, and how it turns with y = p_t - r v_t."""
        size = float(np.hypot(*y))
        s = y / size
        return s, reach / size * (np.eye(2) - np.outer(s, s))

    def derivative(self, *changes: Array) -> Array:
        """Derivatives of p (rows, k) from those of v at fixed p (rows, k), of mu, bounds and floors (blocks, k)."""
        made = self._by[0] @ changes[0]
        for by, change in zip(self._by[1:], changes[1:], strict=True):
            if change.any():
                made += by @ change
        return made
