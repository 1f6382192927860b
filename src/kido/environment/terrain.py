"""Terrain as height maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.environment.checks import ModelError, as_positive
from kido.math.transform import number_or_nan
from kido.shapes import Heightmap


def fractal_terrain(
    shape: tuple[int, int], spacing: float, roughness: float, seed: int = 0, hurst: float = 0.8
) -> Heightmap:
    """Hills of all sizes: random heights whose spectrum falls with the wave number k as k^-(2 H + 2).

    Args:
        shape: rows (along y) and columns (along x) of points, each at least 2.
        spacing: distance of neighbouring points [m].
        roughness: standard deviation of the heights, whose mean is zero [m].
        seed: the same number gives the same terrain.
        hurst: H between 0 (rugged) and 1 (smooth).

    Raises:
        ModelError: numbers out of range.

    Source: Saupe, in Peitgen and Saupe, The Science of Fractal Images (1988), section 2.4.
    """
    counts: Any = tuple(shape) if isinstance(shape, tuple | list) else ()
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) and n >= 2 for n in counts)
    if len(counts) != 2 or not whole:
        raise ModelError(f"fractal_terrain: shape: expected two whole numbers of at least 2, got {shape!r}")
    step = as_positive(spacing, "fractal_terrain: spacing", "m")
    height = as_positive(roughness, "fractal_terrain: roughness", "m")
    if not 0.0 < number_or_nan(hurst) < 1.0:
        raise ModelError(f"fractal_terrain: hurst: expected a number between 0 and 1, got {hurst!r}")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ModelError(f"fractal_terrain: seed: expected a whole number from 0, got {seed!r}")
    rows, columns = counts
    k = np.hypot(np.fft.fftfreq(rows)[:, None], np.fft.rfftfreq(columns)[None, :])
    k[0, 0] = np.inf
    noise = np.fft.rfft2(np.random.default_rng(seed).normal(size=(rows, columns)))
    z = np.fft.irfft2(noise * k ** -(float(hurst) + 1.0), s=(rows, columns))
    return Heightmap(height * (z - z.mean()) / z.std(), step)
