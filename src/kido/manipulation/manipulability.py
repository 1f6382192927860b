"""How well a part of a robot can move its tip, and push by it: measures, ellipsoids, gradients, single directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import dataclass
from kido.errors import ModelError
from kido.math.transform import as_positive, as_vector
from kido.reprs import brief

Array = NDArray[np.float64]

_ROWS = {"all": range(6), "angular": range(3), "linear": range(3, 6)}


class Ellipsoid(NamedTuple):
    """What unit velocities (or forces) of joints give a tip.

    Attributes:
        axes: (m, m) unit vectors, one a column, the longest first.
        radii: (m,) half lengths of these axes.
    """

    axes: Array
    radii: Array

    __repr__ = brief


def chosen_rows(rows: str | Sequence[int]) -> list[int]:
    """Rows of a Jacobian [angular; linear] by name or number.

    Raises:
        ModelError: no such rows, or one of them twice.
    """
    if isinstance(rows, str) and rows in _ROWS:
        return list(_ROWS[rows])
    try:
        found = [int(row) for row in rows] if not isinstance(rows, str) else []
    except (TypeError, ValueError):
        found = []
    if not found or len(set(found)) != len(found) or not all(0 <= row < 6 for row in found):
        raise ModelError(f"rows: expected 'all', 'angular', 'linear' or numbers from 0 to 5, each once, got {rows!r}")
    return found


@dataclass(frozen=True, eq=False)
class Manipulability:
    """Of a Jacobian J (m, n), whose rows for turning are scaled by a length, so that all are in metres.

    Attributes:
        jacobian: (m, n), scaled.
        rates: (n, m, n) dJ/dq_i, scaled; empty if not asked for.
        mass_matrix: (n, n) of the part's coordinates, all others held.
        force_range: (n,) what is left of the limits of forces beside gravity, T_max - |T_gravity| [N, N m].

    Source: Yoshikawa (1985), "Manipulability of robotic mechanisms"; Chiu (1988) for single directions.
    """

    jacobian: Array
    rates: Array
    mass_matrix: Array
    force_range: Array

    __repr__ = brief

    def _values(self) -> Array:
        """The m singular values of J, those that it lacks zero."""
        values = np.zeros(len(self.jacobian))
        found = np.linalg.svd(self.jacobian, compute_uv=False)
        values[: len(found)] = found
        return values

    @property
    def measure(self) -> float:
        """w = sqrt(det(J J^T)): the ellipsoid's volume but for a factor. Zero where a direction is lost."""
        return float(np.prod(self._values()))

    @property
    def inverse_condition(self) -> float:
        """Shortest over longest radius, from 0 (singular) to 1 (alike in all directions)."""
        values = self._values()
        return float(values[-1] / values[0]) if values[0] > 0.0 else 0.0

    @property
    def isotropy(self) -> float:
        """Geometric over arithmetic mean of the eigenvalues of J J^T: det^(1/m) / (trace / m), from 0 to 1."""
        squares = self._values() ** 2
        return float(np.exp(np.log(squares).mean()) / squares.mean()) if squares.all() else 0.0

    @property
    def velocity_ellipsoid(self) -> Ellipsoid:
        """Velocities of the tip by joint velocities of norm 1."""
        axes, _, _ = np.linalg.svd(self.jacobian)
        return Ellipsoid(axes, self._values())

    @property
    def force_ellipsoid(self) -> Ellipsoid:
        """Forces of the tip by joint forces of norm 1: the inverse of the velocities', infinite where J is singular."""
        axes, radii = self.velocity_ellipsoid
        with np.errstate(divide="ignore"):
            return Ellipsoid(axes[:, ::-1], 1.0 / radii[::-1])

    def velocity_along(self, direction: ArrayLike) -> float:
        """Speed along a direction, in which alone the tip moves, by joint velocities of norm 1.

        1 / sqrt(d^T (J J^T)^-1 d); zero where the direction is lost.

        Args:
            direction: (m,) of any length.
        """
        d = self._direction(direction)
        square, left = _solved(self.jacobian @ self.jacobian.T, d)
        return 0.0 if left else float(square**-0.5)

    def force_along(self, direction: ArrayLike) -> float:
        """Force along a direction by joint forces of norm 1: 1 / sqrt(d^T J J^T d); infinite where d is lost."""
        reached = float(np.linalg.norm(self.jacobian.T @ self._direction(direction)))
        return 1.0 / reached if reached > 0.0 else np.inf

    def effective_mass_along(self, direction: ArrayLike) -> float:
        """Mass that a force along a direction feels: 1 / (d^T J M^-1 J^T d) [kg]; infinite where d is lost."""
        row = self._direction(direction) @ self.jacobian
        compliance = float(row @ np.linalg.solve(self.mass_matrix, row))
        return 1.0 / compliance if compliance > 0.0 else np.inf

    @property
    def dynamic_measure(self) -> float:
        """sqrt(det(J M^-1 L^2 M^-1 J^T)), L = diag(`force_range`): accelerations from rest, beside gravity.

        Infinite if a limit is; zero where gravity takes all of a limit and the direction is lost by it.
        """
        if not np.isfinite(self.force_range).all():
            return np.inf
        G = self.jacobian @ np.linalg.solve(self.mass_matrix, np.diag(self.force_range))
        return float(np.sqrt(max(np.linalg.det(G @ G.T), 0.0)))

    @property
    def gradient(self) -> Array:
        """dw/dq_i = w tr((J J^T)^-1 (dJ/dq_i) J^T), (n,); zero where w is, to rounding.

        Of ball and free joints along velocities, as all derivatives are.
        """
        if len(self.rates) != self.jacobian.shape[1]:
            raise ModelError("manipulability: gradient: it was asked for without rates")
        if self.inverse_condition < 1e-14:
            return np.zeros(self.jacobian.shape[1])
        right = np.linalg.solve(self.jacobian @ self.jacobian.T, self.jacobian)
        return self.measure * np.einsum("mj,imj->i", right, self.rates)

    def _direction(self, value: ArrayLike) -> Array:
        d = as_vector(value, "direction", len(self.jacobian))
        length = float(np.linalg.norm(d))
        if length == 0.0:
            raise ModelError(f"direction: expected a vector of some length, got {value!r}")
        return d / length


def _solved(A: Array, d: Array) -> tuple[float, bool]:
    """d^T A^-1 d, and whether d leaves the range of A."""
    values, vectors = np.linalg.eigh(A)
    share = vectors.T @ d
    lost = values <= 1e-14 * max(float(values[-1]), 1e-300)
    if np.abs(share[lost]).max(initial=0.0) > 1e-7:
        return np.inf, True
    return float((share[~lost] ** 2 / values[~lost]).sum()), False


def limit_factor(positions: ArrayLike, lower: ArrayLike, upper: ArrayLike, sharpness: float = 1.0) -> float:
    """1 - exp(-k prod (q - lower)(upper - q) / (upper - lower)^2): a penalty of limits for measures.

    Zero at a limit, and beyond one. Coordinates without two finite limits are left out.

    Args:
        positions, lower, upper: (n,).
        sharpness: k, positive.

    Source: Tsai (1986).
    """
    k = as_positive(sharpness, "limit factor: sharpness")
    q, low, high = (np.asarray(x, np.float64) for x in (positions, lower, upper))
    bounded = np.isfinite(low) & np.isfinite(high) & (high > low)
    room = (q - low)[bounded], (high - q)[bounded]
    if min(room[0].min(initial=np.inf), room[1].min(initial=np.inf)) < 0.0:
        return 0.0
    return float(1.0 - np.exp(-k * np.prod(room[0] * room[1] / (high - low)[bounded] ** 2)))
