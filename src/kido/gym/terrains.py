"""Grounds that legged robots walk on: height maps by name, and heights of many places at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kido.environment.terrain import rough_heights
from kido.errors import ModelError, NameLookupError
from kido.math.transform import number_or_nan
from kido.shapes import Heightmap

__all__ = ["TERRAINS", "heights_at", "terrain"]

Array = NDArray[np.float64]
TERRAINS = ("flat", "rough", "blocks", "slopes", "stairs")
SPACING = 0.1  # [m]
STAIR = 8  # grid points from one step to the next


def terrain(name: str, *, size: float = 16.0, height: float = 0.05, seed: int = 0) -> Heightmap | None:
    """A square height map about the origin; None where the ground is flat.

    - "rough": as natural ground, `height` is the deviation;
    - "blocks": squares of 0.5 m, each as high as chance has it, up to `height`;
    - "slopes": waves with a period of 4 m along x and y, `height` is their amplitude;
    - "stairs": a pyramid, from the middle down, with treads of 0.8 m and risers of `height`, over one grid cell.

    Args:
        name: one of `TERRAINS`.
        size: of its sides [m].
        height: [m], positive.
        seed: of what is random.

    Raises:
        NameLookupError: another name.
        ModelError: a size or height that is not positive, or a seed that is no whole number.
    """
    if name not in TERRAINS:
        raise NameLookupError("terrain", name, TERRAINS)
    for what, value in (("size", size), ("height", height)):
        if not 0.0 < number_or_nan(value) < np.inf:
            raise ModelError(f"terrain: {what}: expected a positive number of metres, got {value!r}")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ModelError(f"terrain: seed: expected a whole number from 0 on, got {seed!r}")
    if name == "flat":
        return None
    n = max(2, round(size / SPACING) + 1)
    x = (np.arange(n) - 0.5 * (n - 1)) * SPACING
    rng = np.random.default_rng(seed)
    if name == "rough":
        heights = rough_heights(n, n, deviation=height, seed=seed)
    elif name == "blocks":
        of = np.arange(n) // 5
        heights = rng.uniform(0.0, height, (of[-1] + 1, of[-1] + 1))[of[:, None], of]
    elif name == "slopes":
        wave = np.sin(0.5 * np.pi * x)
        heights = 0.5 * height * (wave[:, None] + wave)
    else:
        away = np.abs(np.arange(n) - n // 2)
        heights = -height * (np.maximum(away[:, None], away) // STAIR)
    return Heightmap(heights, SPACING)


def heights_at(ground: Heightmap | None, x: Array, y: Array) -> Array:
    """Heights over places [m], as `Heightmap.height_at`, of all places at once; off the map those of its edge.

    Args:
        ground: None: 0 everywhere.
        x, y: [m], of any shape.
    """
    if ground is None:
        return np.zeros(np.broadcast_shapes(x.shape, y.shape))
    h = ground.heights
    rows, columns = h.shape
    u = np.minimum(np.maximum(x / ground.spacing[0] + 0.5 * (columns - 1), 0.0), columns - 1.0)
    v = np.minimum(np.maximum(y / ground.spacing[1] + 0.5 * (rows - 1), 0.0), rows - 1.0)
    j, i = np.minimum(u.astype(int), columns - 2), np.minimum(v.astype(int), rows - 2)
    u, v = u - j, v - i
    low, high = h[i, j], h[i + 1, j + 1]
    below = u >= v
    middle = np.where(below, h[i, j + 1], h[i + 1, j])
    first, second = np.where(below, u, v), np.where(below, v, u)
    return low + first * (middle - low) + second * (high - middle)
