"""The table of pair functions."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np

from kido.collision import pairs
from kido.collision.container import COMPOUND, FACE, HEIGHTMAP, PLANE, POINT, SPHERE, TYPE_NAMES
from kido.collision.pairs import compound, convex, heightmap, skin


def _pair_modules() -> list[Any]:
    return [import_module(f"{pairs.__name__}.{found.name}") for found in iter_modules(pairs.__path__)]


# A function for two types is called by their names: `plane_sphere`.
SPECIAL = {
    (first, second): getattr(module, f"{a}_{b}")
    for first, a in enumerate(TYPE_NAMES)
    for second, b in enumerate(TYPE_NAMES)
    for module in _pair_modules()
    if hasattr(module, f"{a}_{b}")
}


def pair_function(first: int, second: int):
    """The callback for two types in ascending order, or None for two planes or two height maps."""
    if second == PLANE or first == HEIGHTMAP:
        return None
    if second in (POINT, FACE) or first == FACE:
        return skin.function_of(first, second)
    general = {COMPOUND: compound.convex_compound, HEIGHTMAP: heightmap.convex_heightmap}
    return SPECIAL.get((first, second), general.get(second, convex.convex_convex))


def pair_functions(kinds: Iterable[tuple[int, int]], pieces: Iterable[int] = ()) -> dict[tuple[int, int], Any]:
    """The callbacks for the given pairs of types, where compounds have convex pieces of the given types."""
    wanted = {(min(p), max(p)) for p in kinds}
    for first, second in tuple(wanted):
        if second == COMPOUND:
            others = pieces if first == COMPOUND else (first,)
            wanted |= {(min(p, q), max(p, q)) for p in pieces for q in others}
    wanted |= {(min(SPHERE, k), max(SPHERE, k)) for k, second in tuple(wanted) if second == POINT and k != POINT}
    found = {pair: pair_function(*pair) for pair in sorted(wanted)}
    return {pair: function for pair, function in found.items() if function is not None}


def fill_table(table: np.ndarray, functions: dict[tuple[int, int], Any]) -> None:
    """Writes the addresses of callbacks, compiling what is new; the rest stay 0."""
    table[:] = 0
    for pair, function in functions.items():
        table[pair] = function.address
