"""Orbits of two bodies: elements, positions and velocities, and how they go on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import dataclass
from kido.environment.planets import Planet
from kido.errors import ModelError
from kido.math.transform import as_vector, number_or_nan

Array = NDArray[np.float64]
SMALL = 1e-11  # eccentricity or inclination that has no direction
ROUNDS = 50  # of Newton's method


@dataclass(frozen=True)
class Orbit:
    """Kepler's elements; ellipses and hyperbolas.

    Where an orbit is a circle, the argument of perigee is 0 and the anomaly is from the node; where it is in the plane
    of the equator, the node is 0 and angles are from x.

    Attributes:
        semi_major_axis: a [m], below 0 of hyperbolas.
        eccentricity: e.
        inclination: i [rad].
        node: right ascension of the ascending node [rad].
        perigee: argument of perigee [rad].
        anomaly: true anomaly [rad]; of hyperbolas between the asymptotes, 1 + e cos(anomaly) > 0.

    Raises:
        ModelError: elements that are not finite, or of no ellipse or hyperbola.
    """

    semi_major_axis: float
    eccentricity: float
    inclination: float = 0.0
    node: float = 0.0
    perigee: float = 0.0
    anomaly: float = 0.0

    def __post_init__(self) -> None:
        for name, value in vars(self).copy().items():
            number = number_or_nan(value)
            if isinstance(value, str) or not np.isfinite(number):
                raise ModelError(f"orbit: {name}: expected a finite number, got {value!r:.100}")
            object.__setattr__(self, name, number)
        a, e = self.semi_major_axis, self.eccentricity
        if not e >= 0.0 or e == 1.0 or not a * (1.0 - e) > 0.0:
            raise ModelError(
                f"orbit: semi-major axis {a:g} m and eccentricity {e:g}: expected a > 0 with e < 1, or a < 0 with e > 1"
            )
        if e > 1.0 and not 1.0 + e * np.cos(self.anomaly) > 0.0:
            raise ModelError(
                f"orbit: anomaly {self.anomaly:g} rad of a hyperbola of eccentricity {e:g}: expected one between its "
                f"asymptotes at -{np.arccos(-1.0 / e):g} and {np.arccos(-1.0 / e):g} rad"
            )

    @classmethod
    def through(cls, position: ArrayLike, velocity: ArrayLike, mu: float) -> Orbit:
        """The orbit of a state (3,), (3,) [m, m/s].

        Raises:
            ModelError: the state is on a line through the centre, or on a parabola.

        Source: D. Vallado, Fundamentals of Astrodynamics and Applications (2013), algorithm 9.
        """
        r, v = as_vector(position, "orbit: position"), as_vector(velocity, "orbit: velocity")
        R = float(np.linalg.norm(r))
        h = np.cross(r, v)
        H = float(np.linalg.norm(h))
        if not R > 0.0 or not 1e-12 * R * np.linalg.norm(v) < H:
            raise ModelError(f"orbit: position {r} and velocity {v} are on a line through the centre")
        towards = np.cross(v, h) / mu - r / R
        e = float(np.linalg.norm(towards))
        energy = 0.5 * v @ v - mu / R
        if abs(energy) < 1e-14 * mu / R:
            raise ModelError(f"orbit: position {r} and velocity {v} are on a parabola; expected another energy than 0")
        pole = h / H
        node = np.array([-pole[1], pole[0], 0.0])
        flat = np.linalg.norm(node) < SMALL
        start = np.array([1.0, 0.0, 0.0]) if flat else node / np.linalg.norm(node)
        along = np.cross(pole, start)
        perigee = 0.0 if e < SMALL else np.arctan2(towards @ along, towards @ start)
        return cls(
            float(-0.5 * mu / energy),
            0.0 if e < SMALL else e,
            float(np.arctan2(np.hypot(h[0], h[1]), h[2])),
            0.0 if flat else float(np.arctan2(node[1], node[0]) % (2.0 * np.pi)),
            float(perigee % (2.0 * np.pi)),
            float((np.arctan2(r @ along, r @ start) - perigee) % (2.0 * np.pi)),
        )

    def state(self, mu: float) -> tuple[Array, Array]:
        """Position and velocity (3,), (3,) [m, m/s]."""
        p = self.semi_major_axis * (1.0 - self.eccentricity**2)
        c, s = np.cos(self.anomaly), np.sin(self.anomaly)
        r = p / (1.0 + self.eccentricity * c) * np.array([c, s, 0.0])
        v = np.sqrt(mu / p) * np.array([-s, self.eccentricity + c, 0.0])
        turn = _about(2, self.node) @ _about(0, self.inclination) @ _about(2, self.perigee)
        return turn @ r, turn @ v

    def mean_motion(self, mu: float) -> float:
        """n = sqrt(mu / |a|^3) [rad/s]."""
        return float(np.sqrt(mu / abs(self.semi_major_axis) ** 3))

    def mean_anomaly(self) -> float:
        """M = E - e sin E, or e sinh F - F [rad]."""
        e, half = self.eccentricity, np.tan(0.5 * self.anomaly)
        if e < 1.0:
            E = 2.0 * np.arctan2(
                np.sqrt(1.0 - e) * np.sin(0.5 * self.anomaly), np.sqrt(1.0 + e) * np.cos(0.5 * self.anomaly)
            )
            return float(E - e * np.sin(E))
        F = 2.0 * np.arctanh(np.sqrt((e - 1.0) / (e + 1.0)) * half)
        return float(e * np.sinh(F) - F)

    def after(self, time: float, mu: float) -> Orbit:
        """The orbit some time later [s]: another anomaly."""
        anomaly = true_anomaly(self.mean_anomaly() + self.mean_motion(mu) * time, self.eccentricity)
        return Orbit(self.semi_major_axis, self.eccentricity, self.inclination, self.node, self.perigee, anomaly)

    def drift(self, planet: Planet) -> tuple[float, float]:
        """Mean rates of node and argument of perigee by J2 [rad/s].

            -3/2 n J2 (R/p)^2 cos i,    3/4 n J2 (R/p)^2 (5 cos^2 i - 1)

        Source: Vallado (2013), equations 9-37 and 9-39.
        """
        p = self.semi_major_axis * (1.0 - self.eccentricity**2)
        k = self.mean_motion(planet.mu) * planet.j2 * (planet.radius / p) ** 2
        c = np.cos(self.inclination)
        return float(-1.5 * k * c), float(0.75 * k * (5.0 * c * c - 1.0))


def true_anomaly(mean_anomaly: float, eccentricity: float) -> float:
    """Of Kepler's equation [rad], by Newton's method from a start that converges for all e.

    Raises:
        ModelError: no finite numbers, an eccentricity below 0 or of a parabola, or numbers for which it does not
            converge; none are known.

    Source: Vallado (2013), algorithms 2 and 4.
    """
    e, M = number_or_nan(eccentricity), number_or_nan(mean_anomaly)
    if not np.isfinite(M) or not 0.0 <= e < np.inf or e == 1.0:
        raise ModelError(
            f"Kepler's equation: expected a finite mean anomaly and an eccentricity from 0 on but 1, got "
            f"{mean_anomaly!r:.50} and {eccentricity!r:.50}"
        )
    if e < 1.0:
        turns = 2.0 * np.pi * np.round(M / (2.0 * np.pi))
        M -= turns
        x = M + e * np.sign(M) if e > 0.8 else M + e * np.sin(M)
        for _ in range(ROUNDS):
            step = (x - e * np.sin(x) - M) / (1.0 - e * np.cos(x))
            x -= step
            if abs(step) < 1e-15 * max(1.0, abs(x)):
                break
        else:
            if abs(x - e * np.sin(x) - M) > 1e-12:
                raise ModelError(f"Kepler's equation: mean anomaly {M:g}, eccentricity {e:g}: no convergence")
        half = np.arctan2(np.sqrt(1.0 + e) * np.sin(0.5 * x), np.sqrt(1.0 - e) * np.cos(0.5 * x))
        return float(2.0 * half)
    x = np.arcsinh(M / e)
    for _ in range(ROUNDS):
        step = (e * np.sinh(x) - x - M) / (e * np.cosh(x) - 1.0)
        x -= step
        if abs(step) < 1e-15 * max(1.0, abs(x)):
            break
    return float(2.0 * np.arctan(np.sqrt((e + 1.0) / (e - 1.0)) * np.tanh(0.5 * x)))


def _about(axis: int, angle: float) -> Any:
    c, s = np.cos(angle), np.sin(angle)
    R = np.eye(3)
    a, b = (axis + 1) % 3, (axis + 2) % 3
    R[a, a] = R[b, b] = c
    R[a, b], R[b, a] = -s, s
    return R
