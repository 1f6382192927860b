"""Orbits about a point mass: Kepler's elements, their motion, and how a planet's bulge turns them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from kido.attributes import dataclass
from kido.environment.checks import Array, as_positive
from kido.errors import ModelError, StateError
from kido.math.transform import as_vector, number_or_nan

ITERATIONS = 50


def kepler_equation(mean_anomaly: float, eccentricity: float) -> float:
    """Eccentric anomaly E with E - e sin E = M [rad], by Newton's method.

    Args:
        mean_anomaly: M [rad].
        eccentricity: e, from 0 to below 1.

    Raises:
        ModelError: numbers out of range.
    """
    M, e = number_or_nan(mean_anomaly), number_or_nan(eccentricity)
    if not (np.isfinite(M) and 0.0 <= e < 1.0):
        raise ModelError(f"kepler_equation: expected a number and 0 <= e < 1, got {mean_anomaly!r}, {eccentricity!r}")
    turns = math.floor(M / (2.0 * math.pi) + 0.5) * 2.0 * math.pi
    M -= turns
    E = M if e < 0.8 else math.copysign(math.pi, M)
    for _ in range(ITERATIONS):
        change = (E - e * math.sin(E) - M) / (1.0 - e * math.cos(E))
        E -= change
        if abs(change) < 1e-15 * max(1.0, abs(E)):
            break
    return E + turns


@dataclass(frozen=True)
class KeplerElements:
    """An ellipse about a centre, and where on it a body is; angles are of axes that do not turn.

    Args:
        semi_major_axis: a [m].
        eccentricity: e, from 0 to below 1.
        inclination: i, of its plane to that of x and y, 0 to pi [rad].
        node: longitude of the ascending node, from x [rad].
        perigee: argument of the perigee, from the node [rad].
        true_anomaly: place on it, from the perigee [rad].

    Raises:
        ModelError: numbers out of range.
    """

    semi_major_axis: float
    eccentricity: float = 0.0
    inclination: float = 0.0
    node: float = 0.0
    perigee: float = 0.0
    true_anomaly: float = 0.0

    def __post_init__(self) -> None:
        as_positive(self.semi_major_axis, "KeplerElements: semi_major_axis", "m")
        if not 0.0 <= number_or_nan(self.eccentricity) < 1.0:
            raise ModelError(f"KeplerElements: eccentricity: expected 0 to below 1, got {self.eccentricity!r}")
        if not 0.0 <= number_or_nan(self.inclination) <= math.pi:
            raise ModelError(f"KeplerElements: inclination: expected 0 to pi [rad], got {self.inclination!r}")
        for name in ("node", "perigee", "true_anomaly"):
            if not np.isfinite(number_or_nan(getattr(self, name))):
                raise ModelError(f"KeplerElements: {name}: expected an angle [rad], got {getattr(self, name)!r}")

    @classmethod
    def from_state(cls, position: ArrayLike, velocity: ArrayLike, mu: float) -> Self:
        """Elements of a position (3,) [m] and velocity (3,) [m/s] about a centre of parameter mu [m^3/s^2].

        On a circle the perigee is the node, and in the plane of x and y the node is x.

        Raises:
            ModelError: no finite vectors, or mu not positive.
            StateError: the body escapes, or falls along a line.
        """
        r, v = as_vector(position, "from_state: position"), as_vector(velocity, "from_state: velocity")
        mu = as_positive(mu, "from_state: mu", "m^3/s^2")
        d, h = float(np.linalg.norm(r)), np.cross(r, v)
        size = float(np.linalg.norm(h))
        energy = 0.5 * float(v @ v) - mu / d if d > 0.0 else math.inf
        if not (energy < 0.0 and size > 1e-12 * d * max(float(np.linalg.norm(v)), 1e-300)):
            raise StateError(f"from_state: expected an ellipse about the centre, got energy {energy:g} m^2/s^2")
        e = np.cross(v, h) / mu - r / d
        eccentricity = float(np.linalg.norm(e))
        n = np.array([-h[1], h[0], 0.0])
        flat = np.linalg.norm(n) < 1e-11 * size
        n = np.array([1.0, 0.0, 0.0]) if flat else n / np.linalg.norm(n)
        along = np.cross(h / size, n)  # with n the axes of the plane
        perigee = math.atan2(float(e @ along), float(e @ n)) if eccentricity > 1e-11 else 0.0
        place = math.atan2(float(r @ along), float(r @ n))
        turn = 2.0 * math.pi
        return cls(
            -0.5 * mu / energy,
            eccentricity,
            math.acos(max(-1.0, min(1.0, float(h[2]) / size))),
            0.0 if flat else math.atan2(float(n[1]), float(n[0])) % turn,
            perigee % turn,
            (place - perigee) % turn,
        )

    def state(self, mu: float) -> tuple[Array, Array]:
        """Position (3,) [m] and velocity (3,) [m/s] about a centre of parameter mu [m^3/s^2]."""
        mu = as_positive(mu, "KeplerElements.state: mu", "m^3/s^2")
        e, f, p = self.eccentricity, self.true_anomaly, self.semi_major_axis * (1.0 - self.eccentricity**2)
        c, s = math.cos(self.node), math.sin(self.node)
        n, along = np.array([c, s, 0.0]), np.array([-s, c, 0.0]) * math.cos(self.inclination)
        along[2] = math.sin(self.inclination)
        P = math.cos(self.perigee) * n + math.sin(self.perigee) * along
        Q = -math.sin(self.perigee) * n + math.cos(self.perigee) * along
        r = p / (1.0 + e * math.cos(f)) * (math.cos(f) * P + math.sin(f) * Q)
        return r, math.sqrt(mu / p) * (-math.sin(f) * P + (e + math.cos(f)) * Q)

    def period(self, mu: float) -> float:
        """Time of one turn 2 pi sqrt(a^3/mu) [s]."""
        return 2.0 * math.pi * math.sqrt(self.semi_major_axis**3 / as_positive(mu, "KeplerElements.period: mu"))

    def after(self, time: float, mu: float) -> Self:
        """Elements some time later [s], or earlier, about a point mass."""
        t = number_or_nan(time)
        if not np.isfinite(t):
            raise ModelError(f"KeplerElements.after: time: expected a number [s], got {time!r}")
        e, f = self.eccentricity, self.true_anomaly
        E = 2.0 * math.atan2(math.sqrt(1.0 - e) * math.sin(0.5 * f), math.sqrt(1.0 + e) * math.cos(0.5 * f))
        E = kepler_equation(E - e * math.sin(E) + 2.0 * math.pi * t / self.period(mu), e)
        f = 2.0 * math.atan2(math.sqrt(1.0 + e) * math.sin(0.5 * E), math.sqrt(1.0 - e) * math.cos(0.5 * E))
        return replace(self, true_anomaly=f % (2.0 * math.pi))


def j2_rates(elements: KeplerElements, mu: float, j2: float, radius: float) -> tuple[float, float]:
    """Mean rates of node and perigee [rad/s] by a planet's bulge.

    With n = sqrt(mu/a^3), p = a (1 - e^2) and k = 3/2 n J2 (R/p)^2: node -k cos i, perigee k (2 - 5/2 sin^2 i).

    Args:
        elements: mean elements.
        mu: gravitational parameter [m^3/s^2].
        j2: the harmonic.
        radius: equatorial radius R [m].

    Raises:
        ModelError: a number that is not positive, or J2 that is no number.

    Source: Vallado, Fundamentals of Astrodynamics (2013), eqs. 9.37 and 9.39.
    """
    if not np.isfinite(number_or_nan(j2)):
        raise ModelError(f"j2_rates: j2: expected a number, got {j2!r}")
    n = 2.0 * math.pi / elements.period(mu)
    p = elements.semi_major_axis * (1.0 - elements.eccentricity**2)
    k = 1.5 * n * j2 * (as_positive(radius, "j2_rates: radius", "m") / p) ** 2
    return -k * math.cos(elements.inclination), k * (2.0 - 2.5 * math.sin(elements.inclination) ** 2)
