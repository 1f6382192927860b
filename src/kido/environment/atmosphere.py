"""Air: density, pressure and temperature over height; and what it does to surfaces and volumes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kido.environment.thermosphere import BOTTOM, thermosphere
from kido.environment.vectors import length, of_vectors, scaled
from kido.reprs import brief

GAS = 287.0528742470439  # [J/(kg K)] 8314.32 / 28.9644, of air as in the standard
GRAVITY = 9.80665  # [m/s^2]
SEA_LEVEL = 1.225  # [kg/m^3] density
EARTH = 6356766.0  # [m] radius with which the standard has geopotential heights
HEAT_RATIO = 1.4
# Geopotential height [m] and temperature [K] at which layers begin, and their lapse rates [K/m].
_LAYERS = (
    (0.0, 288.15, -6.5e-3),
    (11e3, 216.65, 0.0),
    (20e3, 216.65, 1e-3),
    (32e3, 228.65, 2.8e-3),
    (47e3, 270.65, 0.0),
    (51e3, 270.65, -2.8e-3),
    (71e3, 214.65, -2e-3),
)
_TOP = 84852.0  # [m] geopotential; 86 km
_SEA_PRESSURE = 101325.0  # [Pa]


class Air(NamedTuple):
    """A state of the air.

    Attributes:
        density: [kg/m^3].
        pressure: [Pa].
        temperature: [K].
        speed_of_sound: [m/s].
        viscosity: dynamic [Pa s].
    """

    density: Any
    pressure: Any
    temperature: Any
    speed_of_sound: Any
    viscosity: Any

    __repr__ = brief


def exponential_density(height: Any, surface: Any = SEA_LEVEL, scale_height: Any = 8500.0) -> Any:
    """rho_0 exp(-z / H) [kg/m^3]."""
    return surface * np.exp(-height / scale_height)


def standard_atmosphere(height: Any) -> Any:
    """The US Standard Atmosphere 1976 at a geometric height [m]: arrays, or expressions of a model.

    Exact up to 86 km; from there to 1000 km within 4e-3 of its tables, see `kido.environment.thermosphere`, and above
    as with the scale heights of 1000 km. Below -5 km it is as at -5 km. Speed of sound and viscosity go on above 86 km
    by the formulas that the standard has below.

    Source: U.S. Standard Atmosphere, 1976 (NASA-TM-X-74335), equations 23, 33a, 33b, 50 and 51.
    """
    z = np.maximum(height, -5e3)
    H = EARTH * z / (EARTH + z)
    temperature: Any = 0.0
    pressure: Any = 0.0
    base, below = _SEA_PRESSURE, None
    for k, (start, T0, lapse) in enumerate(_LAYERS):
        end = _LAYERS[k + 1][0] if k + 1 < len(_LAYERS) else _TOP
        h = (np.minimum(H, end) if k == 0 else np.clip(H, start, end)) - start
        T = T0 + lapse * h
        if lapse == 0.0:
            share = np.exp(-GRAVITY * h / (GAS * T0))
            whole = np.exp(-GRAVITY * (end - start) / (GAS * T0))
        else:
            share = np.exp(-GRAVITY / (GAS * lapse) * np.log(T / T0))
            whole = ((T0 + lapse * (end - start)) / T0) ** (-GRAVITY / (GAS * lapse))
        p = base * share
        temperature, pressure = (T, p) if below is None else (
            np.where(start <= H, T, temperature), np.where(start <= H, p, pressure)
        )  # fmt: skip
        below, base = start, base * whole
    density = pressure / (GAS * temperature)
    above = z >= BOTTOM
    temperature, pressure, density = (
        np.where(above, high, low) for high, low in zip(thermosphere(z), (temperature, pressure, density), strict=True)
    )
    viscosity = 1.458e-6 * temperature**1.5 / (temperature + 110.4)
    return Air(density, pressure, temperature, np.sqrt(HEAT_RATIO * pressure / density), viscosity)


@of_vectors("velocity")
def drag(velocity: Any, density: Any, area: Any, coefficient: Any) -> Any:
    """Force -1/2 rho C_D A |v| v (..., 3) [N] of air on a body that moves through it with a velocity [m/s]."""
    return scaled(velocity, -0.5 * density * coefficient * area * length(velocity))


@of_vectors("velocity", "normal")
def plate_force(velocity: Any, density: Any, normal: Any, area: Any) -> Any:
    """Force (3,) [N] on a flat plate in a flow that loses what it has across the plate, on either side of it.

        force = -rho A |v . n| (v . n) n

    Newton's law of impact, at high speeds of thin air; lift and drag of a plate at an angle are its two parts.

    Source: J. Anderson, Hypersonic and High-Temperature Gas Dynamics (2006), section 3.2.
    """
    across = velocity @ normal
    return -density * area * np.abs(across) * across * normal


@of_vectors("velocity", "chord", "normal")
def wing_force(
    velocity: Any, density: Any, chord: Any, normal: Any, area: Any, slope: Any, stall: Any, least_drag: Any
) -> Any:
    """Force (3,) [N] on a thin wing, lift and drag in the plane of its chord and normal (unit vectors).

        C_L = slope sin(alpha) cos(alpha),  C_D = least        up to the stall
        C_L = 2 sin(alpha) cos(alpha),      C_D = least + 2 sin(alpha)^2    beyond

    with sin(alpha) = -v . n / |v|; one goes over into the other within a tenth of the stall's sine.

    Source: S. Hoerner, Fluid-Dynamic Drag (1965), chapter 3, for a plate beyond the stall.
    """
    x, z = velocity @ chord, velocity @ normal
    speed = np.sqrt(x * x + z * z + 1e-24)
    s, c = -z / speed, x / speed
    stalled = 0.5 * (1.0 + np.tanh((np.abs(s) - np.sin(stall)) / (0.1 * np.sin(stall))))
    lift = (slope + stalled * (2.0 - slope)) * s * c
    resist = least_drag + stalled * 2.0 * s * s
    pressure = 0.5 * density * speed * speed * area
    # Drag is against the motion, lift across it.
    return pressure * ((lift * s - resist * c) * chord + (lift * c + resist * s) * normal)


def submerged_sphere(depth: Any, radius: Any) -> Any:
    """Volume [m^3] of a sphere below a surface, by the depth of its centre [m]: pi h^2 (3 r - h) / 3, h = depth + r."""
    h = np.clip(depth + radius, 0.0, 2.0 * radius)
    return np.pi * h * h * (3.0 * radius - h) / 3.0
