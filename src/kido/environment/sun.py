"""The sun's direction, the shadows of planets, the Earth's magnetic field."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.environment.planets import ASTRONOMICAL_UNIT, J2000, SUN_RADIUS
from kido.environment.vectors import dot, length, of_vectors, scaled, vector

FIELD_RADIUS = 6371200.0  # [m]
# Degree 1 of IGRF-13 for 2020 [T]: g11, h11, g10, which are the dipole's axis times its strength.
FIELD = np.array([-1450.9e-9, 4652.5e-9, -29404.8e-9])


def sun_position(julian_date: Any) -> Any:
    """From the Earth to the sun in equatorial axes of the date (..., 3) [m]: to 0.01 degrees from 1950 to 2050.

    Source: The Astronomical Almanac, section C, low-precision formulas.
    """
    n = julian_date - J2000
    anomaly = np.deg2rad(357.528 + 0.9856003 * n)
    longitude = np.deg2rad(280.460 + 0.9856474 * n + 1.915 * np.sin(anomaly) + 0.020 * np.sin(2.0 * anomaly))
    tilt = np.deg2rad(23.439 - 4e-7 * n)
    distance = ASTRONOMICAL_UNIT * (1.00014 - 0.01671 * np.cos(anomaly) - 0.00014 * np.cos(2.0 * anomaly))
    s = np.sin(longitude)
    return scaled(vector(np.cos(longitude), s * np.cos(tilt), s * np.sin(tilt)), distance)


@of_vectors("position", "sun")
def sunlight(position: Any, sun: Any, radius: Any) -> Any:
    """Share of the sun's disk that is seen from a position, past a sphere of a radius at the origin: 0 to 1.

    Args:
        position: (..., 3) [m].
        sun: position of the sun's centre (..., 3) [m].
        radius: of the sphere [m].

    Source: O. Montenbruck, E. Gill, Satellite Orbits (2000), section 3.4.2.
    """
    away = sun - position
    r, d = length(position), length(away)
    a = np.arcsin(np.minimum(SUN_RADIUS / d, 1.0))
    b = np.arcsin(np.minimum(radius / r, 1.0))
    c = np.arccos(np.clip(-dot(position, away) / (r * d), -1.0, 1.0))
    x = np.clip((c * c + a * a - b * b) / (2.0 * np.maximum(c, 1e-300)), -a, a)
    y2 = np.maximum(a * a - x * x, 0.0)
    cap = np.clip((c - x) / b, -1.0, 1.0)
    hidden = a * a * np.arccos(x / a) + b * b * np.arccos(cap) - c * np.sqrt(y2)
    partial = 1.0 - hidden / (np.pi * a * a)
    inside = np.where(b >= a, 0.0, 1.0 - (b / a) ** 2)  # one disk before the other
    return np.where(c >= a + b, 1.0, np.where(c <= np.abs(a - b), inside, partial))


@of_vectors("position")
def magnetic_dipole(position: Any) -> Any:
    """The Earth's magnetic field (..., 3) [T] by its dipole, in axes that turn with the Earth.

        B = (a / r)^3 (3 (m . r) r / |r|^2 - m)

    Source: International Geomagnetic Reference Field, 13th generation (2020), degree 1.
    """
    r = length(position)
    u = scaled(position, 1.0 / r)
    m = FIELD + 0.0 * u
    return scaled(scaled(u, 3.0 * dot(m, u)) - m, (FIELD_RADIUS / r) ** 3)
