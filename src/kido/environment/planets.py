"""Planets: what their gravity, shape and rotation are; days as numbers, places as latitude, longitude and height."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.attributes import dataclass
from kido.environment.vectors import of_vectors, vector

J2000 = 2451545.0  # Julian date of 2000-01-01 12:00
DAY = 86400.0  # [s]


@dataclass(frozen=True)
class Planet:
    """A body that others go round.

    Attributes:
        mu: gravitational parameter G M [m^3/s^2].
        radius: at the equator [m].
        j2: second zonal coefficient of its gravity, not normalized.
        flattening: (a - b) / a of its ellipsoid.
        spin: rate of rotation about z of its own frame [rad/s].
    """

    mu: float
    radius: float
    j2: float = 0.0
    flattening: float = 0.0
    spin: float = 0.0


# Sources: WGS 84 (NIMA TR8350.2), EGM96; LP150Q for the Moon; GMM-3 for Mars; IAU/IAG 2009.
EARTH = Planet(3.986004418e14, 6378137.0, 1.08262668e-3, 1.0 / 298.257223563, 7.2921151467e-5)
MOON = Planet(4.9028001e12, 1738000.0, 2.0321e-4, 0.0012, 2.6616995e-6)
MARS = Planet(4.282837e13, 3396190.0, 1.95661e-3, 1.0 / 169.89444722361179, 7.08821812e-5)
SUN_MU, ASTRONOMICAL_UNIT, SUN_RADIUS = 1.32712440018e20, 1.495978707e11, 6.957e8


def earth_angle(julian_date: Any) -> Any:
    """Earth rotation angle from the equinox to Greenwich [rad], not reduced, by Julian date of UT1.

    Source: IERS Conventions 2010, equation 5.15.
    """
    return 2.0 * np.pi * (0.7790572732640 + 1.00273781191135448 * (julian_date - J2000))


def about_z(angle: Any) -> Any:
    """Rotation matrix (3, 3) from axes that are turned by an angle about z to those they are turned from."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def position_of(latitude: Any, longitude: Any, height: Any, planet: Planet = EARTH) -> Any:
    """Place (..., 3) [m] in the planet's own axes, by geodetic latitude, longitude [rad], height over its ellipsoid."""
    e2 = planet.flattening * (2.0 - planet.flattening)
    normal = planet.radius / np.sqrt(1.0 - e2 * np.sin(latitude) ** 2)
    across = (normal + height) * np.cos(latitude)
    return vector(
        across * np.cos(longitude), across * np.sin(longitude), (normal * (1.0 - e2) + height) * np.sin(latitude)
    )


@of_vectors("position")
def place_of(position: Any, planet: Planet = EARTH) -> tuple[Any, Any, Any]:
    """Geodetic latitude, longitude [rad] and height [m] of a place in the planet's own axes: the inverse.

    Bowring's formula, and one more round of it: to 1e-9 m within 10,000 km of the surface.

    Source: B. Bowring, Survey Review 23 (1976).
    """
    x, y, z = position[..., 0], position[..., 1], position[..., 2]
    a, f = planet.radius, planet.flattening
    b, e2 = a * (1.0 - f), f * (2.0 - f)
    p = np.sqrt(x * x + y * y)
    parametric = np.arctan2(z, p * (1.0 - f))
    latitude = parametric
    for _ in range(3):
        c, s = np.cos(parametric), np.sin(parametric)
        latitude = np.arctan2(z + e2 / (1.0 - e2) * b * s**3, p - e2 * a * c**3)
        parametric = np.arctan2((1.0 - f) * np.sin(latitude), np.cos(latitude))
    sine, cosine = np.sin(latitude), np.cos(latitude)
    height = p * cosine + z * sine - a * np.sqrt(1.0 - e2 * sine * sine)
    return latitude, np.arctan2(y, x), height
