"""Gravity of planets and moons, as accelerations [m/s^2] at positions from their centres [m]."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kido.attributes import FixedAttributes
from kido.environment.checks import Array, ModelError, as_points, as_positive, outside
from kido.math.transform import numbers_or_nan


def point_mass_gravity(position: ArrayLike, mu: float) -> Array:
    """a = -mu r / |r|^3 of a point mass or a ball.

    Args:
        position: r (..., 3) from its centre, inertial or any other axes [m].
        mu: its gravitational parameter G m [m^3/s^2].

    Raises:
        StateError: a position that is not finite or is the centre.
        ModelError: mu is not positive.
    """
    r, d = outside(position, "point_mass_gravity: position")
    return -as_positive(mu, "point_mass_gravity: mu", "m^3/s^2") * r / d**3


def third_body_gravity(position: ArrayLike, body: ArrayLike, mu: float) -> Array:
    """a = mu ((s - r)/|s - r|^3 - s/|s|^3): what a far body adds to motion about a centre that falls to it as well.

    Args:
        position: r (..., 3) from the centre [m].
        body: s (..., 3), where the far body is, from the centre [m].
        mu: gravitational parameter of the far body [m^3/s^2].

    Raises:
        StateError, ModelError: as of `point_mass_gravity`.

    Source: Montenbruck and Gill, Satellite Orbits (2000), eq. 3.37.
    """
    r = as_points(position, "third_body_gravity: position")
    s, d = outside(body, "third_body_gravity: body")
    away, e = outside(s - r, "third_body_gravity: body seen from position")
    return as_positive(mu, "third_body_gravity: mu", "m^3/s^2") * (away / e**3 - s / d**3)


def oblate_gravity(position: ArrayLike, mu: float, j2: float, radius: float) -> Array:
    """Gravity of a flattened planet: its ball's, and that of its bulge by the zonal harmonic J2.

    With z along the planet's axis and f = 3/2 J2 mu R^2 / |r|^5:
    a = -mu r/|r|^3 + f r (5 z^2/|r|^2 - 1) - 2 f z e_z.

    Args:
        position: r (..., 3) from the centre, axes with z along the planet's [m].
        mu: gravitational parameter [m^3/s^2].
        j2: the harmonic, of the Earth 1.0826e-3.
        radius: equatorial radius R that belongs to it [m].

    Raises:
        StateError, ModelError: as of `point_mass_gravity`, or J2 that is no number.

    Source: Vallado, Fundamentals of Astrodynamics (2013), section 8.7.
    """
    r, d = outside(position, "oblate_gravity: position")
    if not np.isfinite(numbers_or_nan(j2)).all():
        raise ModelError(f"oblate_gravity: j2: expected a number, got {j2!r}")
    mu, radius = as_positive(mu, "oblate_gravity: mu"), as_positive(radius, "oblate_gravity: radius", "m")
    f, z = 1.5 * j2 * mu * radius**2 / d**5, r[..., 2:]
    a = -mu * r / d**3 + f * r * (5.0 * z**2 / d**2 - 1.0)
    a[..., 2:] -= 2.0 * f * z
    return a


class SphericalHarmonics(FixedAttributes):
    """Gravity of a planet by its spherical harmonics, in axes that turn with it.

    U = mu/|r| sum over n, m of (R/|r|)^n P_nm(sin latitude) (C_nm cos(m longitude) + S_nm sin(m longitude)).

    Args:
        mu: gravitational parameter [m^3/s^2].
        radius: R that belongs to the coefficients [m].
        cosine, sine: C and S, lower triangles (n, n) by degree and order, from degree 0; C[0, 0] is 1.
        normalized: whether they are fully normalized, as tables of the Earth have them.

    Raises:
        ModelError: a number that is not positive, or coefficients that are not square, finite and equally large.

    Source: Cunningham (1970); Montenbruck and Gill, Satellite Orbits (2000), section 3.2.4.
    """

    def __init__(self, mu: float, radius: float, cosine: ArrayLike, sine: ArrayLike, normalized: bool = True):
        self._mu = as_positive(mu, "SphericalHarmonics: mu", "m^3/s^2")
        self._radius = as_positive(radius, "SphericalHarmonics: radius", "m")
        C, S = numbers_or_nan(cosine), numbers_or_nan(sine)
        if C.ndim != 2 or C.shape[0] != C.shape[1] or S.shape != C.shape or len(C) == 0:
            raise ModelError(f"SphericalHarmonics: expected two equal square arrays, got {C.shape} and {S.shape}")
        if not (np.isfinite(C).all() and np.isfinite(S).all()):
            raise ModelError("SphericalHarmonics: expected finite coefficients")
        scale = np.ones_like(C)
        if normalized:
            for n in range(len(C)):
                for m in range(n + 1):
                    share = (2 - (m == 0)) * (2 * n + 1)
                    scale[n, m] = math.sqrt(share * math.exp(math.lgamma(n - m + 1) - math.lgamma(n + m + 1)))
        self._C, self._S = np.tril(C * scale), np.tril(S * scale)

    @property
    def degree(self) -> int:
        """Largest degree."""
        return len(self._C) - 1

    def _solid(self, position: Any, most: int) -> tuple[Array, Array, Array]:
        """V and W (most + 1, most + 1, ...) of Cunningham, and positions."""
        r, d = outside(position, "SphericalHarmonics: position")
        q = (d[..., 0] / self._radius) ** 2  # (|r|/R)^2
        x, y, z = (r[..., k] / self._radius / q for k in range(3))
        V = np.zeros((most + 1, most + 1, *d.shape[:-1]))
        W = np.zeros_like(V)
        V[0, 0] = 1.0 / np.sqrt(q)
        for m in range(most + 1):
            if m > 0:
                V[m, m] = (2 * m - 1) * (x * V[m - 1, m - 1] - y * W[m - 1, m - 1])
                W[m, m] = (2 * m - 1) * (x * W[m - 1, m - 1] + y * V[m - 1, m - 1])
            for n in range(m + 1, most + 1):
                for F in (V, W):
                    before = F[n - 2, m] if n > m + 1 else 0.0
                    F[n, m] = ((2 * n - 1) * z * F[n - 1, m] - (n + m - 1) / q * before) / (n - m)
        return V, W, r

    def potential(self, position: ArrayLike) -> Array:
        """U (...) at positions (..., 3), growing towards the planet [m^2/s^2]."""
        V, W, _ = self._solid(position, self.degree)
        return self._mu / self._radius * (np.tensordot(self._C, V, 2) + np.tensordot(self._S, W, 2))

    def acceleration(self, position: ArrayLike) -> Array:
        """grad U (..., 3) at positions (..., 3) from the centre, all in axes that turn with the planet.

        Raises:
            StateError: a position that is not finite or is the centre.
        """
        V, W, r = self._solid(position, self.degree + 1)
        a = np.zeros(r.shape)
        for n in range(self.degree + 1):
            for m in range(n + 1):
                C, S = self._C[n, m], self._S[n, m]
                if C == 0.0 and S == 0.0:
                    continue
                a[..., 2] -= (n - m + 1) * (C * V[n + 1, m] + S * W[n + 1, m])
                if m == 0:
                    a[..., 0] -= C * V[n + 1, 1]
                    a[..., 1] -= C * W[n + 1, 1]
                    continue
                f = 0.5 * (n - m + 2) * (n - m + 1)
                up, down = (V[n + 1, m + 1], W[n + 1, m + 1]), (V[n + 1, m - 1], W[n + 1, m - 1])
                a[..., 0] += -0.5 * (C * up[0] + S * up[1]) + f * (C * down[0] + S * down[1])
                a[..., 1] += 0.5 * (S * up[0] - C * up[1]) + f * (S * down[0] - C * down[1])
        return self._mu / self._radius**2 * a
