"""Smoothing splines on the manifold of positions: velocities and accelerations of what is known in frames."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import scipy.interpolate
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

from kido.errors import StateError

__all__ = ["Development", "Manifold", "spline_through"]

Array = NDArray[np.float64]
REFITS = 3  # of a development; each takes its error down by two orders of the interval between frames
# Two exponentials in a row, of order four in the interval (a commutator-free Magnus method; Celledoni, Marthinsen and
# Owren, Future Generation Computer Systems 19, 2003): where velocities are taken, and how much of each.
NODES = np.array([0.5 - np.sqrt(3.0) / 6.0, 0.5 + np.sqrt(3.0) / 6.0])
SHARES = np.array([0.25 + np.sqrt(3.0) / 6.0, 0.25 - np.sqrt(3.0) / 6.0])


class Manifold(Protocol):
    """What knows sums and differences of positions, as skeletons do."""

    def differences(self, after: Array, before: Array) -> Array:
        """Velocities (n, dofs) that move `before` to `after` in unit time."""
        ...

    def moved(self, positions: Array, velocities: Array) -> Array:
        """Positions (n, dofs) after unit time."""
        ...


def spline_through(values: Array, cutoff: float | None = None) -> scipy.interpolate.BSpline:
    """A quintic spline s over the frame's number, through `values` (T, n) or, with a cutoff, near them.

    With a cutoff it minimizes sum |s(k) - y_k|^2 + lambda int |s'''|^2, lambda = w^-6: a filter that gives back the
    share 1 / (1 + (f / cutoff)^6) of an oscillation of the frequency f, without delay (Craven and Wahba, Numerische
    Mathematik 31, 1979). Fewer than six values give splines of lower degree.

    Args:
        values: one row for each frame.
        cutoff: in oscillations per frame.
    """
    count = len(values)
    degree = min(5, count - 1) if count != 5 else 3
    if degree == 0:
        return scipy.interpolate.BSpline(np.array([0.0, 1.0]), values, 0)
    through = scipy.interpolate.make_interp_spline(np.arange(count, dtype=float), values, k=degree)
    if cutoff is None:
        return through
    if degree < 5:
        raise StateError(f"motion: a cutoff needs at least 6 frames, got {count}")
    knots = through.t
    basis = scipy.interpolate.BSpline.design_matrix(np.arange(count, dtype=float), knots, 5)
    third = scipy.sparse.identity(count, format="csr")
    for p in (5, 4, 3):  # coefficients of derivatives
        t = knots[5 - p : len(knots) - (5 - p)]
        n = len(t) - p - 1
        scale = p / (t[p + 1 : p + n] - t[1:n])
        steps = scipy.sparse.eye(n - 1, n, k=1) - scipy.sparse.eye(n - 1, n)
        third = scipy.sparse.diags(scale) @ steps @ third
    breaks = np.unique(knots)
    points, weights = np.polynomial.legendre.leggauss(3)  # exact: the square of a quadratic
    half = 0.5 * np.diff(breaks)[:, None]
    x = ((breaks[:-1] + breaks[1:])[:, None] / 2 + half * points).ravel()
    quadratic = scipy.interpolate.BSpline.design_matrix(x, knots[3:-3], 2) @ third
    stiff = (2.0 * np.pi * cutoff) ** -6 * (quadratic.T @ scipy.sparse.diags((half * weights).ravel()) @ quadratic)
    solve = scipy.sparse.linalg.splu((basis.T @ basis + stiff).tocsc()).solve
    coefficients = solve(basis.T @ values)
    for _ in range(2):  # refined: the matrix is badly scaled where the cutoff is low
        residual = basis.T @ (values - basis @ coefficients) - stiff @ coefficients
        coefficients = coefficients + solve(residual)
    return scipy.interpolate.BSpline(knots, coefficients, 5)


class Development:
    """A motion rolled out onto a flat space: y(k), whose rate is the velocity u (per frame).

    Differences of neighbouring frames add up to y, and what two exponentials with the spline's velocities make of each
    interval corrects them, so that the rate of y is u to the order of the spline. Smoothing is done there (Jupp and
    Kent, Applied Statistics 36, 1987, on spheres).

    Args:
        manifold: sums and differences of positions.
        positions: (T, dofs).
        curved: whether differences do not simply add up.
        cutoff: of the spline, in oscillations per frame; None: through all frames.

    Attributes:
        spline: y over the frame's number.
        poses: (T, dofs) positions of the frames on the spline.
    """

    def __init__(self, manifold: Manifold, positions: Array, curved: bool, cutoff: float | None = None) -> None:
        self._manifold = manifold
        self.poses = positions
        steps = manifold.differences(positions[1:], positions[:-1])
        corrections = np.zeros_like(steps)
        for refit in range(1 + REFITS * curved):
            if refit:
                corrections = self._bent()
            y = np.concatenate([np.zeros((1, positions.shape[1])), np.cumsum(steps + corrections, axis=0)])
            self.spline = spline_through(y, cutoff)
        flat = self.spline(np.arange(len(y)))
        self.poses = manifold.moved(positions, flat - y)
        self._excess = np.diff(flat, axis=0) - manifold.differences(self.poses[1:], self.poses[:-1])

    def _bent(self) -> Array:
        """What the flat steps are beyond the differences of positions that their velocities lead to (T - 1, dofs)."""
        start = self.poses[:-1]
        k = np.arange(len(start))
        first, second = (self.spline(k + node, nu=1) for node in NODES)
        end = self._manifold.moved(start, SHARES[0] * first + SHARES[1] * second)
        end = self._manifold.moved(end, SHARES[1] * first + SHARES[0] * second)
        return self.spline(k + 1) - self.spline(k) - self._manifold.differences(end, start)

    def positions(self, places: Array) -> Array:
        """Positions at places (n,) between frames; at frames `poses`."""
        if len(self.poses) == 1:
            return np.repeat(self.poses, len(places), axis=0)
        k = np.clip(np.floor(places).astype(int), 0, len(self.poses) - 2)
        moves = self.spline(places) - self.spline(k) - (places - k)[:, None] * self._excess[k]
        return self._manifold.moved(self.poses[k], moves)
