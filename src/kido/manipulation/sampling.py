"""Pairs of a robot's bodies that need not be tested, found by its joints and by sampling."""

from __future__ import annotations

import itertools
from collections import Counter

from kido.collision import CollisionOption
from kido.errors import ModelError
from kido.manipulation.srdf import DisabledPair
from kido.math.transform import number_or_nan
from kido.simulation import World
from kido.skeleton import Skeleton

_MOST_CONTACTS = 100_000


def sample_disabled_pairs(
    robot: Skeleton, samples: int = 1000, seed: int = 0, always: float = 0.95
) -> tuple[DisabledPair, ...]:
    """Pairs that need no test, with the reasons that MoveIt's setup assistant gives.

    "Adjacent": joined by a joint, bodies without shapes looked through. "Default": they touch at the present positions.
    "Always": they touch in more than a share of the samples. "Never": in none. Samples are those of
    `Skeleton.random_positions`. The robot is not changed, wherever it is.

    Args:
        robot: with collision shapes.
        samples: positions that are tried; pairs that touch in less than one of so many are taken as never touching.
        seed: of the samples.
        always: the share.

    Raises:
        ModelError: less than one sample, or a share outside of 0 to 1.
    """
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 1:
        raise ModelError(f"sample_disabled_pairs: samples: expected a count from 1 on, got {samples!r}")
    if not 0.0 < number_or_nan(always) <= 1.0:
        raise ModelError(f"sample_disabled_pairs: always: expected a share from 0 to 1, got {always!r}")
    twin, world = robot.clone(), World()
    twin.self_collision, twin.adjacent_body_collision, twin.mobile = True, False, True
    world.add_skeleton(twin)
    group, option = world.collision_group, CollisionOption(max_contacts=_MOST_CONTACTS)

    def touching() -> set[frozenset[str]]:
        return {frozenset((a.body.name, b.body.name)) for a, b in group.collide(option=option).pairs}

    by_default, count = touching(), Counter[frozenset[str]]()
    for positions in twin.random_positions(seed, samples):
        twin.positions = positions
        count.update(touching())
    found = []
    solid = [body for body in twin.bodies if body.collidable and any(shape.collision for shape in body.shapes)]
    for a, b in itertools.combinations(solid, 2):
        pair, reasons = frozenset((a.name, b.name)), world.collision_filter.reasons(a, b)
        if "adjacent" in reasons or "same rigid group" in reasons:
            found.append(DisabledPair(a.name, b.name, "Adjacent"))
        elif pair in by_default:
            found.append(DisabledPair(a.name, b.name, "Default"))
        elif count[pair] >= always * samples:
            found.append(DisabledPair(a.name, b.name, "Always"))
        elif not count[pair]:
            found.append(DisabledPair(a.name, b.name, "Never"))
    return tuple(found)
