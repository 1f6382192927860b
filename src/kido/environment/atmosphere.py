"""Atmospheres: density by height, and the U.S. Standard Atmosphere of 1976."""

from __future__ import annotations

from dataclasses import field

import numpy as np
from numpy.typing import ArrayLike

from kido.attributes import dataclass
from kido.environment.checks import Array, as_positive
from kido.errors import StateError
from kido.math.transform import numbers_or_nan

GRAVITY, GAS, RADIUS, HEAT_RATIO = 9.80665, 287.05287, 6356766.0, 1.4  # of the standard
# Of each layer its lowest geopotential height [m], temperature [K], its change with height [K/m], pressure [Pa].
BASES = np.array([0.0, 11000.0, 20000.0, 32000.0, 47000.0, 51000.0, 71000.0])
LAPSES = np.array([-6.5e-3, 0.0, 1.0e-3, 2.8e-3, 0.0, -2.8e-3, -2.0e-3])
LOWEST, HIGHEST = -5000.0, 86000.0


def _layers() -> tuple[Array, Array]:
    T, p = [288.15], [101325.0]
    for k, lapse in enumerate(LAPSES[:-1]):
        rise = BASES[k + 1] - BASES[k]
        T.append(T[k] + lapse * rise)
        if lapse == 0.0:
            p.append(p[k] * np.exp(-GRAVITY * rise / (GAS * T[k])))
        else:
            p.append(p[k] * (T[k] / T[k + 1]) ** (GRAVITY / (GAS * lapse)))
    return np.array(T), np.array(p)


TEMPERATURES, PRESSURES = _layers()


@dataclass(frozen=True)
class Air:
    """Air at some heights; all are arrays of their shape.

    Attributes:
        temperature: [K].
        pressure: [Pa].
        density: [kg/m^3].
        speed_of_sound: [m/s].
    """

    temperature: Array = field(repr=False)
    pressure: Array = field(repr=False)
    density: Array
    speed_of_sound: Array = field(repr=False)


def exponential_density(height: ArrayLike, density: float, scale_height: float) -> Array:
    """rho = rho_0 exp(-h / H) [kg/m^3].

    Args:
        height: h (...) above where the density is rho_0 [m].
        density: rho_0 [kg/m^3].
        scale_height: H [m].

    Raises:
        StateError: heights that are not finite; ModelError: a number that is not positive.
    """
    h = _heights(height)
    rho = as_positive(density, "exponential_density: density", "kg/m^3")
    return rho * np.exp(-h / as_positive(scale_height, "exponential_density: scale_height", "m"))


def us_standard_1976(height: ArrayLike) -> Air:
    """Air of the U.S. Standard Atmosphere of 1976, up to 86 km: layers in which temperature is linear.

    With the geopotential height H = R h / (R + h), hydrostatic balance gives pressure in a layer from that at its
    base: p_b (T_b/T)^(g/(R_gas L)), or p_b exp(-g (H - H_b)/(R_gas T_b)) where the temperature is constant. Above
    80 km the standard lowers temperatures by up to 0.04 % for the molecular weight, which is left out.

    Args:
        height: h (...) above sea level, -5 to 86 km [m].

    Raises:
        StateError: heights that are not finite or beyond.

    Source: NOAA, NASA, USAF, U.S. Standard Atmosphere, 1976.
    """
    h = _heights(height)
    if ((h < LOWEST) | (h > HIGHEST)).any():
        raise StateError(f"us_standard_1976: height: expected {LOWEST:g} to {HIGHEST:g} m, got {height!r}")
    H = RADIUS * h / (RADIUS + h)
    k = np.clip(np.searchsorted(BASES, H, side="right") - 1, 0, len(BASES) - 1)
    rise, L, base = H - BASES[k], LAPSES[k], TEMPERATURES[k]
    T = base + L * rise
    level = L == 0.0
    steep = np.where(level, 1.0, L)
    p = PRESSURES[k] * np.where(
        level, np.exp(-GRAVITY * rise / (GAS * base)), (base / T) ** np.where(level, 0.0, GRAVITY / (GAS * steep))
    )
    return Air(T, p, p / (GAS * T), np.sqrt(HEAT_RATIO * GAS * T))


def _heights(height: ArrayLike) -> Array:
    h = numbers_or_nan(height)
    if not np.isfinite(h).all():
        raise StateError(f"height: expected finite numbers, got {height!r}")
    return h
