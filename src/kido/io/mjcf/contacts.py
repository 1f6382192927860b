"""Which geoms of a compiled model collide beyond what bits say, and the surfaces of explicit pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations, product
from types import MappingProxyType
from typing import Any

import numpy as np

from kido.io.mjcf.remarks import LeftOut
from kido.io.mjcf.shapes import DEFAULT_SOLIMP, DEFAULT_SOLREF, SUNK, ShapeReader, softness_of
from kido.io.mjcf.trees import NO_PARENT_FILTER, Trees
from kido.simulation import ContactSurface, ContactSurfaceHandler, World
from kido.simulation.collision_filter import ADJACENT, masks_meet
from kido.skeleton import BodyNode, ShapeNode, TimeConstant
from kido.skeleton.nodes.surface import Softness

__all__ = ["MjcfSurfaces", "filter_contacts"]

EXCLUDED = "exclude"  # reason of pairs of bodies that a file excludes
NO_CONTACT = 1 | 1 << 4  # of mjtDisableBit
PYRAMIDAL = 0  # mjtCone
LEAST = 1e-15  # MuJoCo's smallest divisor
Key = tuple[str, str, str]


@dataclass(frozen=True)
class Mixed:
    """What softness a geom brings into its pairs.

    Attributes:
        solref: its two numbers.
        weight: `solmix`.
        softness: what they are alone.
        least: time constants below are brought there [s].
    """

    solref: tuple[float, float]
    weight: float
    softness: Softness | None
    least: float

    def beside(self, other: Mixed) -> TimeConstant | None:
        """The softness of a pair of geoms of the same priority: means by `solmix` of time constants and damping
        ratios; of stiffnesses and dampings, which are negative, the greater."""
        a, b = self.solref, other.solref
        if a[0] <= 0.0 or b[0] <= 0.0:
            return softness_of((min(a[0], b[0]), min(a[1], b[1])), self.least)
        weights = [0.0 if m.weight < LEAST else m.weight for m in (self, other)]
        share = weights[0] / sum(weights) if any(weights) else 0.5
        return softness_of([share * x + (1.0 - share) * y for x, y in zip(a, b, strict=True)], self.least)


class MjcfSurfaces(ContactSurfaceHandler):
    """Surfaces of shapes by the rules of MJCF: explicit pairs have their own, softness is mixed of both `solref`.

    Args:
        pairs: surfaces of pairs of shapes, each named by skeleton, body and shape.
        soft: what is mixed, by shapes; of those whose surface has got another softness since, the usual rule holds.
    """

    def __init__(
        self, pairs: Mapping[frozenset[Key], ContactSurface], soft: Mapping[Key, Mixed] = MappingProxyType({})
    ):
        super().__init__("max")
        self.pairs, self.soft = dict(pairs), dict(soft)

    def pair(self, shape_a: ShapeNode, shape_b: ShapeNode) -> ContactSurface:
        """The surface of a pair of shapes."""
        keys = _key(shape_a), _key(shape_b)
        own = self.pairs.get(frozenset(keys))
        if own is not None:
            return own
        combined = super().pair(shape_a, shape_b)
        a, b = self.soft.get(keys[0]), self.soft.get(keys[1])
        one, two = shape_a.surface, shape_b.surface
        if a is None or b is None or one.priority != two.priority:
            return combined
        if (a.softness, b.softness) == (one.softness, two.softness):
            return replace(combined, softness=a.beside(b))
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
    in_pairs = {
        frozenset((shapes.nodes[g].body, shapes.nodes[h].body)) for g, h in _pairs(m) if {g, h} <= {*shapes.nodes}
    }
    for signature in m.exclude_signature.tolist():
        a, b = trees.bodies[signature >> 16], trees.bodies[signature & 0xFFFF]
        if a is not b and frozenset((a, b)) not in in_pairs:
            world.collision_filter.add(a, b, EXCLUDED)
    if not trees.switched(NO_PARENT_FILTER):
        for skeleton in trees.skeletons:
            skeleton.adjacent_body_collision = True
    else:
        _lift(world, trees)
    if int(m.opt.cone) == PYRAMIDAL and _has_friction(m):
        left_out.note("pyramids of friction are the round cones that they stand for", "option")
    if shapes.springs and shapes.nodes:
        left_out.note(SUNK, "option")
    _say_what_mixes(m, shapes, left_out)
    found: dict[frozenset[Key], ContactSurface] = {}
    for k, ends in enumerate(_pairs(m)):
        a, b = (shapes.nodes.get(g) for g in ends)
        if a is None or b is None:
            continue
        world.collision_filter.remove(a.body, b.body, ADJACENT)
        found[frozenset((_key(a), _key(b)))] = _pair_surface(shapes, k, left_out)
    _settle(world, trees, {frozenset((shapes.nodes[g].body, shapes.nodes[h].body)) for g, h in _pairs(m)
                               if g in shapes.nodes and h in shapes.nodes})  # fmt: skip
    if found or shapes.springs:
        soft = {_key(node): _mixed(shapes, g, node) for g, node in shapes.nodes.items() if shapes.springs}
        world.contact_surface_handler = MjcfSurfaces(found, soft)


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


def _mixed(shapes: ShapeReader, g: int, node: ShapeNode) -> Mixed:
    m = shapes.model
    solref = float(m.geom_solref[g, 0]), float(m.geom_solref[g, 1])
    return Mixed(solref, float(m.geom_solmix[g]), node.surface.softness, shapes.least_time)


def _pair_surface(shapes: ShapeReader, k: int, left_out: LeftOut) -> ContactSurface:
    m, springs = shapes.model, shapes.springs
    name, dimensions = f"pair {k}", int(m.pair_dim[k])
    first, second, spin, roll, roll_2 = (float(value) for value in m.pair_friction[k])
    if first != second or (roll != roll_2 and dimensions == 6):
        left_out.add("pairs whose friction depends on the direction have the mean", name)
    if not np.allclose(m.pair_solimp[k], DEFAULT_SOLIMP):
        left_out.add("solimp is left out: " + (SUNK if springs else "contacts are rigid"), name)
    if not springs and not np.allclose(m.pair_solref[k], DEFAULT_SOLREF):
        left_out.add("solref is left out: contacts are rigid", name)
    return ContactSurface(
        friction=0.5 * (first + second) if dimensions >= 3 else 0.0,
        torsional_friction=spin if dimensions >= 4 else 0.0,
        rolling_friction=0.5 * (roll + roll_2) if dimensions >= 6 else 0.0,
        softness=softness_of(m.pair_solref[k], shapes.least_time) if springs else None,
    )


def _pairs(m: Any) -> list[tuple[int, int]]:
    """Geoms of each pair."""
    return list(zip(m.pair_geom1.tolist(), m.pair_geom2.tolist(), strict=True))


def _settle(world: World, trees: Trees, in_pairs: set[frozenset[BodyNode]]) -> None:
    """Keep bodies apart that are welded, or neighbours, to MuJoCo, and no others: a world's filter takes those that it
    names, and what is welded to these, as bodies of their own, which have other neighbours."""
    m, rules = trees.model, world.collision_filter
    weld = np.asarray(m.body_weldid)
    above = weld[np.asarray(m.body_parentid)[weld]]
    number = {body: b for b, body in trees.bodies.items()}
    changed = bool(rules.pairs or rules.lifted)
    while changed:
        changed = False
        named = {body.skeleton for pair in [*(p[:2] for p in rules.pairs), *rules.lifted] for body in pair}
        for skeleton in named:
            solid = [b for b in skeleton.bodies if b in number and any(node.collision for node in b.shapes)]
            for a, b in combinations(solid, 2):
                g, h = int(weld[number[a]]), int(weld[number[b]])
                joined = g and h and (above[g] == h or above[h] == g) and trees.switched(NO_PARENT_FILTER)
                together, reasons = frozenset((a, b)) in in_pairs, rules.reasons(a, b)
                if not reasons and (g == h or (joined and not together)):
                    rules.add(a, b, EXCLUDED)
                    changed = True
                elif reasons == {ADJACENT} and g != h and (together or not joined):
                    rules.remove(a, b, ADJACENT)
                    changed = True


def _lift(world: World, trees: Trees) -> None:
    """Let bodies collide that MuJoCo does not take as neighbours: with those fixed to the world, and with what lies
    behind neighbours that touch nothing."""
    m = trees.model
    weld = np.asarray(m.body_weldid)
    above = weld[np.asarray(m.body_parentid)[weld]]  # of each body's rigid group
    solid: dict[int, list[BodyNode]] = {}
    for b, body in trees.bodies.items():
        if any(node.collision for node in body.shapes):
            solid.setdefault(int(weld[b]), []).append(body)
    for group, own in solid.items():
        neighbour, behind = int(above[group]), False
        while group:
            others = solid.get(neighbour, [])
            for a, b in product(own, others if behind or not neighbour else ()):
                if a.skeleton is b.skeleton and any(masks_meet(x, y) for x, y in product(a.shapes, b.shapes)):
                    world.collision_filter.remove(a, b, ADJACENT)
            if others or not neighbour:
                break
            neighbour, behind = int(above[neighbour]), True
