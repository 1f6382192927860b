"""Terrain: height maps that are made, or read from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import FileFormatError, ModelError
from kido.libraries import library
from kido.math.counts import as_count
from kido.math.transform import as_positive, as_vector, number_or_nan, numbers_or_nan
from kido.shapes import Heightmap

Array = NDArray[np.float64]


def rough_heights(rows: int, columns: int, *, deviation: float = 0.1, exponent: float = 2.2, seed: int = 0) -> Array:
    """Random heights (rows, columns) [m] whose spectrum falls as a power of the wave number, as that of real ground.

    A power has no length of its own: heights are the same at any spacing of their points.

    Args:
        rows, columns: at least 2.
        deviation: standard deviation of the heights [m].
        exponent: beta of the power spectrum k^-(beta + 1) over the plane; natural terrain has about 2.
        seed: of the phases, from 0 on.

    Raises:
        ModelError: no whole numbers of at least 2, a deviation that is not positive, no finite exponent, or no seed.

    Source: D. Turcotte, Fractals and Chaos in Geology and Geophysics (1997), section 7.5.
    """
    for name, given, least in (("rows", rows, 2), ("columns", columns, 2), ("seed", seed, 0)):
        as_count(given, f"rough_heights: {name}", least)
    if not np.isfinite(number_or_nan(exponent)):
        raise ModelError(f"rough_heights: exponent: expected a finite number, got {exponent!r:.100}")
    as_positive(deviation, "rough_heights: deviation", "m")
    noise = np.fft.rfft2(np.random.default_rng(seed).normal(size=(rows, columns)))
    k = np.hypot(np.fft.fftfreq(rows)[:, None], np.fft.rfftfreq(columns)[None, :])
    k[0, 0] = np.inf  # no mean height
    heights = np.fft.irfft2(noise * k ** (-0.5 * (exponent + 1.0)), s=(rows, columns))
    heights -= heights.mean()
    return heights * (deviation / heights.std())


def add_crater(heights: ArrayLike, spacing: float, place: ArrayLike, radius: float) -> Array:
    """Heights with a simple crater [m]: a bowl a fifth as deep as wide, a rim and what it threw out around it.

        (d + H) (x^2) - d inside of the rim,  H x^-3 outside,  x = distance / radius, d = 0.4 r - H, H = 0.08 r

    Args:
        heights: (rows, columns), centred about the origin as `kido.Heightmap` has them.
        spacing: of points [m].
        place: x and y of its centre [m].
        radius: of the rim [m].

    Raises:
        ModelError: no such array, place, or a spacing or radius that is not positive.

    Source: H. Melosh, Impact Cratering (1989), chapter 8: depth 1/5 of the rim's diameter, rim 4 % of it.
    """
    h = numbers_or_nan(heights)
    if h.ndim != 2:
        raise ModelError(f"add_crater: heights: expected an array (rows, columns), got shape {h.shape}")
    as_positive(radius, "add_crater: radius", "m")
    rows, columns = h.shape
    at = as_vector(place, "add_crater: place", 2)
    x = (np.arange(columns) - 0.5 * (columns - 1)) * as_positive(spacing, "add_crater: spacing", "m") - at[0]
    y = (np.arange(rows) - 0.5 * (rows - 1)) * spacing - at[1]
    away = np.hypot(x[None, :], y[:, None]) / radius
    rim = 0.08 * radius
    depth = 0.4 * radius - rim
    return h + np.where(away < 1.0, (depth + rim) * away**2 - depth, rim / np.maximum(away, 1.0) ** 3)


def read_heights(path: str | Path) -> tuple[Array, float | None]:
    """Heights of a file [m], rows along +y, and their spacing where the file says it [m].

    NumPy's `.npy`, ESRI's ASCII grids (`.asc`; cells without data have the lowest height), and pictures (`.png`,
    `.tif`: brightness from 0 to 1, to be scaled), whose first row is farthest along +y.

    Raises:
        FileFormatError: what cannot be read; the message names path and line.
        MissingExtraError: a picture, without the library that reads it.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    try:
        if suffix == ".npy":
            found: tuple[Any, float | None] = np.load(path, allow_pickle=False).astype(float), None
        elif suffix == ".asc":
            found = _read_grid(path)
        elif suffix in (".png", ".tif", ".tiff"):
            found = _read_picture(path), None
        else:
            raise FileFormatError(path, None, f"expected heights as .npy, .asc, .png or .tif, got {suffix!r}")
    except (OSError, ValueError, TypeError, EOFError) as error:
        raise FileFormatError(path, None, str(error)) from error
    if found[0].ndim != 2 or min(found[0].shape) < 2 or not np.isfinite(found[0]).all():
        raise FileFormatError(path, None, f"expected at least 2 x 2 finite heights, got shape {found[0].shape}")
    return found


def read_terrain(path: str | Path, spacing: float | None = None, scale: float = 1.0) -> Heightmap:
    """A height map of a file, as `read_heights` reads it.

    Args:
        spacing: of points [m], where the file does not say it.
        scale: of heights [m], as of pictures.

    Raises:
        FileFormatError: as of `read_heights`, or there is no spacing.
    """
    heights, own = read_heights(path)
    used = spacing if spacing is not None else own
    if used is None:
        raise FileFormatError(path, None, "it does not say how far points are apart: give spacing [m]")
    return Heightmap(heights * scale, used)


def _read_grid(path: Path) -> tuple[Array, float]:
    """ESRI's grid: six lines of a name and a number, then rows from north to south."""
    lines = path.read_text().splitlines()
    head: dict[str, float] = {}
    first = 0
    for first, line in enumerate(lines):
        words = line.split()
        if len(words) != 2 or not words[0][:1].isalpha():
            break
        try:
            head[words[0].lower()] = float(words[1])
        except ValueError:
            raise FileFormatError(path, first + 1, f"{words[0]}: expected a number, got {words[1]!r}") from None
    for name, kind in (("ncols", "whole"), ("nrows", "whole"), ("cellsize", "finite")):
        value = head.get(name, 0.0)
        if not 0.0 < value < np.inf or (kind == "whole" and value != int(value)):
            found = f"{value:g}" if name in head else "none"
            raise FileFormatError(
                path, None, f"{name}: expected a positive {kind} number in its first lines, got {found}"
            )
    columns, rows = int(head["ncols"]), int(head["nrows"])
    numbers: list[float] = []
    for k, line in enumerate(lines[first:], first + 1):
        try:
            numbers += [float(word) for word in line.split()]
        except ValueError:
            raise FileFormatError(path, k, f"expected numbers, got {line[:40]!r}") from None
    if len(numbers) != rows * columns:
        raise FileFormatError(path, None, f"expected {rows} x {columns} heights, got {len(numbers)}")
    heights = np.array(numbers).reshape(rows, columns)[::-1]
    empty = heights == head.get("nodata_value", -9999.0)
    if empty.all():
        raise FileFormatError(path, None, "expected heights, got cells without data only")
    return np.where(empty, heights[~empty].min(), heights), head["cellsize"]


def _read_picture(path: Path) -> Array:
    images = library("PIL.Image", "heights of pictures", "viewer")
    with images.open(path) as picture:
        mode = picture.mode
        pixels = np.asarray(picture if mode in ("L", "I;16", "I", "F") else picture.convert("L"), float)
    return pixels[::-1] / {"I;16": 65535.0, "I": 65535.0, "F": 1.0}.get(mode, 255.0)
