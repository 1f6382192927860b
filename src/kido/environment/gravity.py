"""Gravity of planets. All take arrays (..., 3), and expressions of a model of `kido.systems`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.environment.planets import Planet
from kido.environment.vectors import dot, length, of_vectors, scaled, vector
from kido.errors import ModelError
from kido.math.transform import numbers_or_nan


@of_vectors("position")
def point_mass(position: Any, mu: Any) -> Any:
    """Acceleration -mu r / |r|^3 (..., 3) [m/s^2] at a position relative to a point mass [m]."""
    r = length(position)
    return scaled(position, -mu / (r * r * r))


@of_vectors("position", "other")
def third_body(position: Any, other: Any, mu: Any) -> Any:
    """Acceleration relative to a body at the origin by another one at `other` (..., 3) [m/s^2].

    Written by Battin's function of q, without the difference of nearly equal numbers.

    Source: R. Battin, An Introduction to the Mathematics and Methods of Astrodynamics (1999), section 8.6.
    """
    away = other - position
    q = dot(position, position - 2.0 * other) / dot(other, other)
    f = q * (3.0 + 3.0 * q + q * q) / (1.0 + (1.0 + q) ** 1.5)
    d = length(away)
    return scaled(position + scaled(other, f), -mu / (d * d * d))


@of_vectors("position")
def oblate(position: Any, planet: Planet) -> Any:
    """Acceleration by a planet's mass and its J2, in its own axes or any others about the same z (..., 3) [m/s^2].

    Source: H. Schaub, J. Junkins, Analytical Mechanics of Space Systems (2018), equation 11.57.
    """
    r = length(position)
    z = position[..., 2] / r
    k = 1.5 * planet.j2 * (planet.radius / r) ** 2
    s = planet.mu / (r * r)
    u = scaled(position, 1.0 / r)
    across = -s * (1.0 + k * (1.0 - 5.0 * z * z))
    return vector(u[..., 0] * across, u[..., 1] * across, u[..., 2] * -s * (1.0 + k * (3.0 - 5.0 * z * z)))


@of_vectors("position")
def gravity_gradient(position: Any, inertia: Any, mu: Any) -> Any:
    """Torque 3 mu / |r|^5 r x (I r) (3,) [N m] on a body with inertia I (3, 3) about its centre of mass at r, in the
    axes of both.

    Source: H. Schaub, J. Junkins (2018), equation 4.176.
    """
    r = length(position)
    return 3.0 * mu / r**5 * np.cross(position, np.asarray(inertia) @ position)


class SphericalHarmonics:
    """Gravity of a planet by the coefficients of its potential.

        U = mu / r sum_nm (R / r)^n P_nm(sin phi) (C_nm cos(m lambda) + S_nm sin(m lambda))

    Args:
        cosines: C_nm by degree and order (N + 1, N + 1), fully normalized; C_00 is 1.
        sines: S_nm, alike.
        planet: its mu and radius R, to which the coefficients belong.

    Raises:
        ModelError: arrays that are not square, of unlike shapes, or not finite.

    Source: L. Cunningham (1970), as in O. Montenbruck, E. Gill, Satellite Orbits (2000), section 3.2.4 and 3.2.5.
    """

    def __init__(self, cosines: ArrayLike, sines: ArrayLike, planet: Planet):
        C, S = numbers_or_nan(cosines), numbers_or_nan(sines)
        if C.ndim != 2 or C.shape[0] != C.shape[1] or S.shape != C.shape or not (np.isfinite(C) & np.isfinite(S)).all():
            raise ModelError(
                f"SphericalHarmonics: expected two square arrays of finite numbers, got shapes {C.shape} and {S.shape}"
            )
        self.planet, self.degree = planet, len(C) - 1
        scale = _normalization(self.degree)
        self._C, self._S = C * scale, S * scale

    def _solid(self, position: Any) -> tuple[list[list[Any]], list[list[Any]]]:
        """V_nm and W_nm up to one degree more than there are coefficients."""
        R = self.planet.radius
        r2 = dot(position, position)
        x, y, z = (position[..., k] * (R / r2) for k in range(3))
        rho = R * R / r2
        number = self.degree + 2
        V: list[list[Any]] = [[0.0] * number for _ in range(number)]
        W: list[list[Any]] = [[0.0] * number for _ in range(number)]
        V[0][0] = R / np.sqrt(r2)
        for m in range(number):
            if m > 0:
                V[m][m] = (2 * m - 1) * (x * V[m - 1][m - 1] - y * W[m - 1][m - 1])
                W[m][m] = (2 * m - 1) * (x * W[m - 1][m - 1] + y * V[m - 1][m - 1])
            for n in range(m + 1, number):
                a, b = (2 * n - 1) / (n - m), (n + m - 1) / (n - m)
                V[n][m] = a * z * V[n - 1][m] - (b * rho * V[n - 2][m] if n > m + 1 else 0.0)
                W[n][m] = a * z * W[n - 1][m] - (b * rho * W[n - 2][m] if n > m + 1 else 0.0)
        return V, W

    @of_vectors("position")
    def potential(self, position: Any) -> Any:
        """U (...) [m^2/s^2] at a position in the planet's own axes."""
        V, W = self._solid(position)
        total: Any = 0.0
        for n in range(self.degree + 1):
            for m in range(n + 1):
                total = total + self._C[n, m] * V[n][m] + self._S[n, m] * W[n][m]
        return self.planet.mu / self.planet.radius * total

    @of_vectors("position")
    def acceleration(self, position: Any) -> Any:
        """The gradient of U (..., 3) [m/s^2], in the planet's own axes."""
        V, W = self._solid(position)
        x: Any = 0.0
        y: Any = 0.0
        z: Any = 0.0
        for n in range(self.degree + 1):
            for m in range(n + 1):
                C, S = self._C[n, m], self._S[n, m]
                if C == 0.0 and S == 0.0:
                    continue
                z = z - (n - m + 1) * (C * V[n + 1][m] + S * W[n + 1][m])
                if m == 0:
                    x, y = x - C * V[n + 1][1], y - C * W[n + 1][1]
                    continue
                f = (n - m + 2) * (n - m + 1)
                x = x - 0.5 * (C * V[n + 1][m + 1] + S * W[n + 1][m + 1])
                x = x + 0.5 * f * (C * V[n + 1][m - 1] + S * W[n + 1][m - 1])
                y = y - 0.5 * (C * W[n + 1][m + 1] - S * V[n + 1][m + 1])
                y = y - 0.5 * f * (C * W[n + 1][m - 1] - S * V[n + 1][m - 1])
        s = self.planet.mu / self.planet.radius**2
        return vector(s * x, s * y, s * z)


def _normalization(degree: int) -> NDArray[np.float64]:
    """From fully normalized coefficients to others, factors sqrt((2 - d_0m) (2n + 1) (n - m)! / (n + m)!)."""
    factors = np.zeros((degree + 1, degree + 1))
    for n in range(degree + 1):
        value = np.sqrt(2.0 * n + 1.0)
        factors[n, 0] = value
        value *= np.sqrt(2.0)
        for m in range(1, n + 1):
            value /= np.sqrt((n + m) * (n - m + 1.0))
            factors[n, m] = value
    return factors
