"""Forces of the fluid that fills a compiled model's world."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.environment import FluidBox, FluidEllipsoid, Medium
from kido.environment.medium import box_size
from kido.io.mjcf.trees import NO_DAMPERS, NO_SPRINGS, Trees, pose
from kido.simulation import World

MINIMAL_MASS = 1e-15  # mjMINVAL
CAPSULE, CYLINDER, SPHERE = 3, 5, 2  # mjtGeom


def add_media(trees: Trees, world: World) -> None:
    """A `Medium` for each skeleton that moves, if the model has a fluid: of inertia boxes, but for bodies with geoms of
    `fluidshape="ellipsoid"`."""
    m: Any = trees.model
    if not (m.opt.density > 0.0 or m.opt.viscosity > 0.0):
        return
    if int(m.opt.disableflags) & NO_SPRINGS and int(m.opt.disableflags) & NO_DAMPERS:
        return  # no passive forces then
    shapes: dict[Any, list[FluidBox | FluidEllipsoid]] = {}
    for b in range(1, int(m.nbody)):
        body = trees.bodies[b]
        if m.body_mass[b] < MINIMAL_MASS or not body.skeleton.num_dofs or body.skeleton.kinematic:
            continue
        first = int(m.body_geomadr[b])
        own = [g for g in range(first, first + int(m.body_geomnum[b])) if m.geom_fluid[g, 0] > 0.0]
        made = [_ellipsoid(m, g, body) for g in own] or [_box(m, b, body)]
        shapes.setdefault(body.skeleton, []).extend(made)
    for skeleton, parts in shapes.items():
        medium = Medium(skeleton, float(m.opt.density), float(m.opt.viscosity), np.array(m.opt.wind), parts)
        world.add_controller(medium)


def _box(m: Any, b: int, body: Any) -> FluidBox:
    X = pose(m.body_ipos[b], m.body_iquat[b])
    return FluidBox(body, X, box_size(float(m.body_mass[b]), m.body_inertia[b]))


def _ellipsoid(m: Any, g: int, body: Any) -> FluidEllipsoid:
    a, b, c = m.geom_size[g]
    kind = int(m.geom_type[g])
    size = {SPHERE: (a, a, a), CAPSULE: (a, a, a + b), CYLINDER: (a, a, b)}.get(kind, (a, b, c))
    share, *coefficients = m.geom_fluid[g, :6].tolist()
    assert share == 1.0  # MuJoCo's compiler writes 0 or 1
    mass, inertia = np.array(m.geom_fluid[g, 6:9]), np.array(m.geom_fluid[g, 9:12])
    return FluidEllipsoid(
        body, pose(m.geom_pos[g], m.geom_quat[g]), size, *coefficients, added_mass=mass, added_inertia=inertia
    )
