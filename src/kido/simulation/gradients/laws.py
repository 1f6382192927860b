"""The laws of contacts and rows at a solution, and their derivative: what impulses change by where the problem does.

With p the impulses and v = J (u_free + Y^T p) + bias + c p the velocities of all rows, the laws are equations in what
is free of each block: a contact that presses has v_n = 0, one that does not p_n at its floor; one that sticks has
v_t = 0, one that slides p_t = mu p_n s, s being the direction of p_t - r v_t for any r > 0; a bounded row is at a bound
or has v = 0. In each of these modes they are smooth, G dp = -(their derivative at fixed p). Where impulses are not
determined, as those of four feet, the least change is taken: velocities do not depend on it.

With smoothing, modes are mixed: with m by what speed a row is on the side of a mode, and s the smoothing, that mode
counts sigma(m) = (1 + m / sqrt(m^2 + s^2)) / 2. So the law of a normal, dp = H(m) (dp - r dv) with the step H, becomes
(1 - sigma) dp = -sigma r dv, the derivative of p = (y + sqrt(y^2 + r^2 s^2)) / 2, y = p - r v, in place of max(0, y).
It is also the mean of the derivative where speeds of rows are not exactly known, sigma being the share of outcomes.

Sources: the implicit function theorem on the natural map of the cone (Alart and Curnier 1991); Chen and Harker (1993),
Kanzow (1996) for the smooth function; Suh, Pang and Tedrake (2022) for smoothing as a mean.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

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
        entry, one = np.arange(len(self.row)), np.ones(len(self.row))
        self._to_rows = csr_array((one, (self.row, entry)), (self.shape[0], len(entry)))
        self._to_columns = csr_array((one, (self.dof, entry)), (self.shape[1], len(entry)))

    def matrix(self, values: Array) -> Array:
        """A matrix, of the values at `pool`."""
        made = np.zeros(self.shape)
        made[self.row, self.dof] = values
        return made

    def along_rows(self, values: Array, u: Array) -> Array:
        """Products with u of matrices of values (entries, k): (rows, k)."""
        return self._to_rows @ (values * u[self.dof, None])

    def along_columns(self, values: Array, p: Array) -> Array:
        """Products with p of their transposes: (coordinates, k)."""
        return self._to_columns @ (values * p[self.row, None])


class Laws:
    """The laws of one problem and their solution.

    Args:
        compliance: of all rows on each other, softness included (rows, rows).
        free: velocities of all rows without impulses (rows,).
        floor: least normal impulses of contacts, by block.
        start: impulses near to the solution.
        smoothing: speed over which modes are mixed [m/s, rad/s]; 0: they are not.

    Attributes:
        p, v: impulses and velocities of the solution (rows,).
        mode: OPEN ... HELD of each block.
        margin: of each block, by what speed it is apart from another mode [m/s].
    """

    def __init__(
        self, blocks: Blocks, compliance: Array, free: Array, floor: Array, start: Array, smoothing: float = 0.0
    ):
        self.blocks, self.A, self.free, self.floor = blocks, compliance, free, floor
        self.smoothing = smoothing
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
        sources = self._sources()
        if smoothing > 0.0:
            G, *sources = self._mixed()
        inverse = np.linalg.pinv(G, rcond=RANK)
        self._by = [inverse @ made for made in sources]

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

    def _share(self, margin: float) -> float:
        """How much a mode counts that is `margin` away."""
        if not np.isfinite(margin):
            return float(margin > 0.0)
        return 0.5 * (1.0 + margin / float(np.hypot(margin, self.smoothing)))

    def _mixed(self) -> tuple[Array, Array, Array, Array, Array, Array]:
        """G and `_sources` with mixed modes."""
        blocks, A, p, v = self.blocks, self.A, self.p, self.v
        G = np.eye(len(p))
        by_velocity = np.zeros((len(p), len(p)))
        by_friction, by_lower, by_upper, by_floor = (np.zeros((len(p), len(blocks.kind))) for _ in range(4))
        for b, i in enumerate(blocks.row):
            r = 1.0 / A[i, i] if A[i, i] > 0.0 else 1.0
            if blocks.kind[b] == BOUNDED:
                y = p[i] - r * v[i]
                above, beyond = self._share((y - blocks.lower[b]) / r), self._share((y - blocks.upper[b]) / r)
                G[i] = (above - beyond) * r * A[i]
                G[i, i] += 1.0 - (above - beyond)
                by_velocity[i, i] = -(above - beyond) * r
                by_lower[i, b], by_upper[i, b] = 1.0 - above, beyond
                continue
            margin = (p[i] - self.floor[b]) / r - v[i]
            closed = self._share(margin)
            G[i] = closed * r * A[i]
            G[i, i] += 1.0 - closed
            by_velocity[i, i], by_floor[i, b] = -closed * r, 1.0 - closed
            press = self.floor[b] + 0.5 * r * (margin + float(np.hypot(margin, self.smoothing)))
            reach, tangents = blocks.mu[b] * press, slice(i + 1, i + 3)
            if not blocks.mu[b] > 0.0:
                continue
            r = 2.0 / (A[i + 1, i + 1] + A[i + 2, i + 2])
            y = p[tangents] - r * v[tangents]
            size = float(np.hypot(*y))
            sticks = self._share((reach - size) / r)
            s, turn = self._slip(y, reach) if size > 0.0 else (np.zeros(2), np.zeros((2, 2)))
            # dp_t = closed (sticks + (1 - sticks) turn) (dp_t - r dv_t) + (1 - sticks) s (mu dp_n + p_n dmu)
            mixed = closed * (sticks * np.eye(2) + (1.0 - sticks) * turn)
            G[tangents] = mixed @ (r * A[tangents])
            G[tangents, tangents] += np.eye(2) - mixed
            G[tangents, i] -= (1.0 - sticks) * blocks.mu[b] * s
            by_velocity[tangents, tangents] = -r * mixed
            by_friction[tangents, b] = (1.0 - sticks) * s * press
        return G, by_velocity, by_friction, by_lower, by_upper, by_floor

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
