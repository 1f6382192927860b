"""Where the Sun is, and how much of it is seen beside a planet."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from kido.environment.checks import Array, ModelError, as_points, as_positive, outside
from kido.math.transform import number_or_nan

ASTRONOMICAL_UNIT = 149597870700.0  # [m]
SUN_RADIUS = 695700e3  # [m]


def sun_position(julian_date: float) -> Array:
    """The Sun (3,) from the Earth's centre, axes of the mean equator and equinox of date [m].

    The almanac's short formula, from 1950 to 2050 to 0.01 degrees and 0.0003 astronomical units: the mean longitude
    and the anomaly of the Sun grow linearly, and two terms of the anomaly make its longitude.

    Args:
        julian_date: Julian date of terrestrial time [days]; 2451545 is noon of 1 January 2000.

    Raises:
        ModelError: no number.

    Source: The Astronomical Almanac, page C5.
    """
    days = number_or_nan(julian_date) - 2451545.0
    if not math.isfinite(days):
        raise ModelError(f"sun_position: julian_date: expected a number, got {julian_date!r}")
    g = math.radians(357.528 + 0.9856003 * days)
    longitude = math.radians(280.460 + 0.9856474 * days + 1.915 * math.sin(g) + 0.020 * math.sin(2.0 * g))
    tilt = math.radians(23.439 - 4.0e-7 * days)
    distance = ASTRONOMICAL_UNIT * (1.00014 - 0.01671 * math.cos(g) - 0.00014 * math.cos(2.0 * g))
    s = math.sin(longitude)
    return distance * np.array([math.cos(longitude), s * math.cos(tilt), s * math.sin(tilt)])


def sunlight(position: ArrayLike, sun: ArrayLike, radius: float, sun_radius: float = SUN_RADIUS) -> Array:
    """Share of the Sun's disk (...) that a planet leaves free: 1 in the light, 0 in its umbra.

    Seen from the position, the disks of both overlap by two segments of circles.

    Args:
        position: (..., 3) from the planet's centre, outside of it [m].
        sun: (..., 3) from the planet's centre [m].
        radius: of the planet [m].
        sun_radius: of the Sun [m].

    Raises:
        StateError: positions that are not finite; ModelError: a radius that is not positive.

    Source: Montenbruck and Gill, Satellite Orbits (2000), section 3.4.2.
    """
    r, d = outside(position, "sunlight: position")
    away, e = outside(as_points(sun, "sunlight: sun") - r, "sunlight: sun seen from position")
    a = np.arcsin(np.minimum(as_positive(sun_radius, "sunlight: sun_radius", "m") / e[..., 0], 1.0))
    b = np.arcsin(np.minimum(as_positive(radius, "sunlight: radius", "m") / d[..., 0], 1.0))
    cosine = np.sum(-r * away, axis=-1) / (d * e)[..., 0]
    c = np.arccos(np.clip(cosine, -1.0, 1.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        x = (c * c + a * a - b * b) / (2.0 * c)
        y = np.sqrt(np.maximum(a * a - x * x, 0.0))
        both = a * a * np.arccos(np.clip(x / a, -1.0, 1.0)) + b * b * np.arccos(np.clip((c - x) / b, -1.0, 1.0)) - c * y
    hidden = np.where(c <= np.abs(b - a), np.minimum((b / a) ** 2, 1.0), both / (np.pi * a * a))
    return 1.0 - np.where(c >= a + b, 0.0, hidden)
