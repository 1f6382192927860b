"""Which geoms of a compiled model collide beyond what bits say, and the surfaces of explicit pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kido.io.mjcf.remarks import LeftOut
from kido.io.mjcf.shapes import DEFAULT_SOLIMP, DEFAULT_SOLREF, SUNK, ShapeReader, softness_of
from kido.io.mjcf.trees import Trees
from kido.simulation import ContactSurface, ContactSurfaceHandler, World
from kido.simulation.collision_filter import ADJACENT
from kido.skeleton import BodyNode, ShapeNode, TimeConstant

__all__ = ["MjcfSurfaces", "filter_contacts"]

EXCLUDED = "exclude"  # reason of pairs of bodies that a file excludes
NO_CONTACT, NO_PARENT_FILTER = 1 | 1 << 4, 1 << 10  # of mjtDisableBit
PYRAMIDAL = 0  # mjtCone
Key = tuple[str, str, str]


class MjcfSurfaces(ContactSurfaceHandler):
    """Surfaces of shapes by the rules of MJCF: explicit pairs have their own, softness is the mean of both.

    Args:
        pairs: surfaces of pairs of shapes, each named by skeleton, body and shape.
    """

    def __init__(self, pairs: Mapping[frozenset[Key], ContactSurface]):
        super().__init__("max")
        self.pairs = dict(pairs)

    def pair(self, shape_a: ShapeNode, shape_b: ShapeNode) -> ContactSurface:
        """The surface of a pair of shapes."""
        own = self.pairs.get(frozenset((_key(shape_a), _key(shape_b))))
        if own is not None:
            return own
        a, b = shape_a.surface.softness, shape_b.surface.softness
        combined = super().pair(shape_a, shape_b)
        if isinstance(a, TimeConstant) and isinstance(b, TimeConstant) and isinstance(combined.softness, TimeConstant):
            times, ratios = (a.time_constant, b.time_constant), (a.damping_ratio, b.damping_ratio)
            if shape_a.surface.priority == shape_b.surface.priority:
                combined = replace(combined, softness=TimeConstant(sum(times) / 2.0, sum(ratios) / 2.0))
        return combined


def _key(shape: ShapeNode) -> Key:
    return shape.body.skeleton.name, shape.body.name, shape.name


def filter_contacts(world: World, trees: Trees, shapes: ShapeReader, left_out: LeftOut) -> None:
    """Pairs of bodies that collide or not otherwise than those of a world do, and the surfaces of pairs of geoms.

    MuJoCo lets bodies that a joint connects collide if one of them is fixed to the world.
    """
    m = trees.model
    if int(m.opt.disableflags) & NO_CONTACT:
        left_out.add("contacts are switched off: no shape collides", "option")
        for node in shapes.nodes.values():
            node.collision = False
        return
    for signature in m.exclude_signature.tolist():
        a, b = trees.bodies[signature >> 16], trees.bodies[signature & 0xFFFF]
        if a is not b:
            world.collision_filter.add(a, b, EXCLUDED)
    if int(m.opt.disableflags) & NO_PARENT_FILTER:
        for skeleton in trees.skeletons:
            skeleton.adjacent_body_collision = True
    else:
        _lift_base(world, trees)
    if int(m.opt.cone) == PYRAMIDAL and _has_friction(m):
        left_out.note("pyramids of friction are the round cones that they stand for", "option")
    if shapes.springs and shapes.nodes:
        left_out.note(SUNK, "option")
    _say_what_mixes(m, shapes, left_out)
    found: dict[frozenset[Key], ContactSurface] = {}
    for k in range(int(m.npair)):
        ends = [shapes.nodes.get(int(g[k])) for g in (m.pair_geom1, m.pair_geom2)]
        a, b = ends
        if a is None or b is None:
            continue
        world.collision_filter.remove(a.body, b.body, ADJACENT)
        world.collision_filter.remove(a.body, b.body, EXCLUDED)
        found[frozenset((_key(a), _key(b)))] = _pair_surface(m, k, shapes.springs, left_out)
    if found or shapes.springs:
        world.contact_surface_handler = MjcfSurfaces(found)


def _has_friction(m: Any) -> bool:
    return bool((m.geom_condim >= 3).any() or (m.pair_dim >= 3).any())


def _say_what_mixes(m: Any, shapes: ShapeReader, left_out: LeftOut) -> None:
    """Contacts of geoms with different dimensions: the greater of both counts there, with the greater coefficients.

    Here a coefficient is 0 where the geom's own dimension has none, so that another may be the greatest.
    """
    geoms = sorted(shapes.nodes)
    for size, column, what in ((4, 1, "torsional"), (6, 2, "rolling")):
        has = [g for g in geoms if m.geom_condim[g] >= size]
        if not has:
            continue
        least = min(float(m.geom_friction[g, column]) for g in has)
        for g in geoms:
            if m.geom_condim[g] < size and float(m.geom_friction[g, column]) > least and shapes.nodes[g].collision:
                left_out.add(
                    f"{what} friction of geoms with a smaller condim is not of contacts with others", m.geom(g).name
                )


def _pair_surface(m: Any, k: int, springs: bool, left_out: LeftOut) -> ContactSurface:
    name, dimensions = f"pair {k}", int(m.pair_dim[k])
    first, second, spin, roll, roll_2 = (float(value) for value in m.pair_friction[k])
    if first != second or (roll != roll_2 and dimensions == 6):
        left_out.add("pairs whose friction depends on the direction have the mean", name)
    if not np.allclose(m.pair_solimp[k], DEFAULT_SOLIMP):
        left_out.add("solimp is left out: " + (SUNK if springs else "contacts are rigid"), name)
    if not springs and not np.allclose(m.pair_solref[k], DEFAULT_SOLREF):
        left_out.add("solref is left out: contacts are rigid", name)
    if m.pair_margin[k] != m.pair_gap[k]:
        left_out.add("margins of geoms beyond their gap are left out: contacts push where surfaces meet", name)
    return ContactSurface(
        friction=0.5 * (first + second) if dimensions >= 3 else 0.0,
        torsional_friction=spin if dimensions >= 4 else 0.0,
        rolling_friction=0.5 * (roll + roll_2) if dimensions >= 6 else 0.0,
        softness=softness_of(m.pair_solref[k]) if springs else None,
    )


def _lift_base(world: World, trees: Trees) -> None:
    """Let bodies collide with those fixed to the world that they hang on."""
    m = trees.model
    for b, body in trees.bodies.items():
        parent = int(m.body_parentid[b])
        if b == 0 or parent == 0 or int(m.body_weldid[b]) != b or int(m.body_weldid[parent]) != 0:
            continue
        base = trees.bodies[parent]
        if _collide(base, body):
            world.collision_filter.remove(base, body, ADJACENT)


def _collide(a: BodyNode, b: BodyNode) -> bool:
    return all(any(node.collision for node in body.shapes) for body in (a, b))
