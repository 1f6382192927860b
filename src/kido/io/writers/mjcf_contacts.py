"""Who touches whom, and with which surfaces, as MJCF says it: excluded bodies and pairs of geoms."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, combinations_with_replacement
from typing import Any

from kido.io.mjcf.contacts import MjcfSurfaces
from kido.io.writers.unsupported import UnsupportedFeatures
from kido.io.xml import Element, add, number, vector
from kido.joints import JointKind
from kido.simulation import ContactSurface, World
from kido.simulation.collision_filter import (
    CALLBACK,
    IMMOBILE,
    MASKED,
    NOT_COLLIDABLE,
    RIGID,
    CollisionFilter,
    masks_meet,
)
from kido.simulation.contact_surface import ContactSurfaceHandler, combine_numbers
from kido.skeleton import BodyNode, ShapeNode, Skeleton, TimeConstant
from kido.skeleton.nodes.surface import COMBINATION_RULES

__all__ = ["add_contacts"]

Names = Mapping[Any, str]
NOT_SAID = {NOT_COLLIDABLE, IMMOBILE, MASKED, CALLBACK, RIGID}  # reasons that are said by others, or of welds


def add_contacts(
    section: Element,
    option: Element,
    model: Skeleton | World,
    skeletons: list[Skeleton],
    bodies: Names,
    geoms: Names,
    unsupported: UnsupportedFeatures,
) -> None:
    """Write them, and say what the file cannot.

    Args:
        section, option: elements for contacts and options.
        bodies, geoms: names in the file, of those that are there.
    """
    apart: list[tuple[str, str]] = []
    neighbours, lifted = [], False
    for skeleton in skeletons:
        rules, twins = _rules_of(model, skeleton)
        touched = [b for b in skeleton.bodies if b in bodies and any(n.collision for n in b.shapes)]
        for a, b in combinations(touched if skeleton.mobile else (), 2):
            reasons, welded, joined = rules.reasons(twins[a.index], twins[b.index]), *_filtered(a, b, bodies)
            lifted |= joined and not reasons
            if reasons - NOT_SAID and not welded:
                (neighbours if joined else apart).append(_two(bodies, a, b))
    if lifted:  # bodies touch that joints connect: then all do that are not excluded
        add(option, "flag", filterparent="disable")
        apart += neighbours
    if isinstance(model, World):
        for a, b, _ in model.collision_filter.pairs:
            if a in bodies and b in bodies:
                apart.append(_two(bodies, a, b))
    for one, two in sorted(set(apart)):
        add(section, "exclude", body1=one, body2=two)
    shapes = [n for s in skeletons for body in s.bodies for n in body.shapes if n.collision and n in geoms]
    handler = ContactSurfaceHandler()
    if isinstance(model, World):
        if model.collision_filter.callback is not None:
            unsupported.remark("the callback of the collision filter is left out")
        handler = model.contact_surface_handler
        if isinstance(handler, MjcfSurfaces):
            for surface, one, two in _pairs(handler, shapes):
                _add_pair(section, surface, one, two, geoms)
        elif type(handler) is not ContactSurfaceHandler:
            unsupported.remark(f"the contact surface handler {type(handler).__name__} is left out")
    _say_what_mixes(handler, shapes, unsupported)


def _rules_of(model: Skeleton | World, skeleton: Skeleton) -> tuple[CollisionFilter, list[BodyNode]]:
    """The filter of the world that a skeleton is in, or of one of its own, and the bodies there."""
    if isinstance(model, World):
        return model.collision_filter, list(skeleton.bodies)
    alone = World()
    alone.add_skeleton(skeleton.clone())
    return alone.collision_filter, list(alone.skeletons[0].bodies)


def _two(bodies: Names, a: BodyNode, b: BodyNode) -> tuple[str, str]:
    return min(bodies[a], bodies[b]), max(bodies[a], bodies[b])


def _filtered(a: BodyNode, b: BodyNode, bodies: Names) -> tuple[bool, bool]:
    """Whether bodies of a file do not touch because they are welded, or as neighbours of which none is fixed."""
    one, two = (_weld(body, bodies) for body in (a, b))
    if one is None or two is None:
        return one is two, False
    above = [_weld(_above(group, bodies), bodies) for group in (one, two)]
    return one is two, above[0] is two or above[1] is one


def _above(body: BodyNode, bodies: Names) -> BodyNode | None:
    """What a body hangs on in the file, where links between joints are not."""
    parent = body.parent
    while parent is not None and parent not in bodies:
        parent = parent.parent
    return parent


def _weld(body: BodyNode | None, bodies: Names) -> BodyNode | None:
    """The topmost body of those that one is welded to in the file; None: the world."""
    while body is not None and body.parent_joint.kind == JointKind.WELD:
        if body.parent is not None and body.parent not in bodies:
            break  # it has the joints of the link above
        body = body.parent
    return body


def _pairs(handler: MjcfSurfaces, shapes: list[ShapeNode]) -> list[tuple[ContactSurface, ShapeNode, ShapeNode]]:
    named = {(n.body.skeleton.name, n.body.name, n.name): n for n in shapes}
    found = [(surface, [named.get(key) for key in sorted(keys)]) for keys, surface in handler.pairs.items()]
    return [(surface, *ends) for surface, ends in found if len(ends) == 2 and None not in ends]  # type: ignore[misc]


def _add_pair(section: Element, surface: ContactSurface, one: ShapeNode, two: ShapeNode, geoms: Names) -> None:
    slide, spin, roll = surface.friction, surface.torsional_friction, surface.rolling_friction
    across = slide if surface.secondary_friction is None else surface.secondary_friction
    made = add(section, "pair", geom1=geoms[one], geom2=geoms[two])
    made.set("condim", "6" if roll else "4" if spin else "3" if slide or across else "1")
    made.set("friction", vector([slide, across, spin, roll, roll]))
    made.set("margin", number(one.padding + two.padding))
    if isinstance(surface.softness, TimeConstant):
        made.set("solref", f"{number(surface.softness.time_constant)} {number(surface.softness.damping_ratio)}")


def _say_what_mixes(handler: ContactSurfaceHandler, shapes: list[ShapeNode], unsupported: UnsupportedFeatures) -> None:
    """Remark on rules of pairs that MJCF has not: the greater friction, and a bit in the mask of either."""
    kinds = {(n.surface.friction, n.surface.friction_rule, n.surface.priority) for n in shapes}
    for (mu, rule, priority), (nu, other, its_priority) in combinations_with_replacement(sorted(kinds, key=str), 2):
        of_pair = max((r for r in (rule, other) if r), key=COMBINATION_RULES.index, default=handler.friction_rule)
        if priority == its_priority and combine_numbers(of_pair, mu, nu) != max(mu, nu):
            unsupported.remark("friction of a pair is the greater of both there, whatever the rule")
            break
    masks = {(n.collision_category, n.collision_mask): n for n in shapes}
    for a, b in combinations_with_replacement(masks.values(), 2):
        either = a.collision_category & b.collision_mask or b.collision_category & a.collision_mask
        if either and not masks_meet(a, b):
            unsupported.remark(
                f"shapes '{a.name}' and '{b.name}' touch there, where one's mask has the other's category, and not "
                "only where both have"
            )
            break
