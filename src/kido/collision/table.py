"""The table of pair functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kido.collision.container import (
    BOX,
    CAPSULE,
    COMPOUND,
    CONE,
    CYLINDER,
    ELLIPSOID,
    FACE,
    HEIGHTMAP,
    HULL,
    PLANE,
    POINT,
    SPHERE,
    SPHERES,
)
from kido.collision.pairs import box, capsule, compound, convex, heightmap, plane, skin, sphere

SPECIAL = {
    (PLANE, SPHERE): plane.plane_sphere,
    (PLANE, CAPSULE): plane.plane_capsule,
    (PLANE, BOX): plane.plane_box,
    (PLANE, CYLINDER): plane.plane_cylinder,
    (PLANE, CONE): plane.plane_cone,
    (PLANE, ELLIPSOID): plane.plane_ellipsoid,
    (PLANE, HULL): plane.plane_hull,
    (PLANE, SPHERES): plane.plane_spheres,
    (PLANE, COMPOUND): compound.plane_compound,
    (PLANE, HEIGHTMAP): heightmap.plane_heightmap,
    (SPHERE, SPHERE): sphere.sphere_sphere,
    (SPHERE, CAPSULE): sphere.sphere_capsule,
    (SPHERE, BOX): sphere.sphere_box,
    (SPHERE, CYLINDER): sphere.sphere_cylinder,
    (SPHERE, CONE): sphere.sphere_cone,
    (SPHERE, ELLIPSOID): sphere.sphere_ellipsoid,
    (CAPSULE, CAPSULE): capsule.capsule_capsule,
    (BOX, BOX): box.box_box,
    (COMPOUND, COMPOUND): compound.compound_compound,
    (COMPOUND, HEIGHTMAP): heightmap.compound_heightmap,
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
