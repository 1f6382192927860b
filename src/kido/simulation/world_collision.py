"""Collision of a world: its detector and filters, and what can be asked between steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.collision import CollisionDetector, CollisionGroup
from kido.collision.detectors.registry import as_detector
from kido.collision.group import _Member, _of_node
from kido.math.transform import as_flag
from kido.simulation.collision_filter import CollisionFilter
from kido.simulation.engine import Collisions

if TYPE_CHECKING:
    from kido.simulation.world import World
    from kido.skeleton import BodyNode


class WorldCollision:
    """How a world finds contacts."""

    if TYPE_CHECKING:
        name: str
        _compile: Any
        _structure_changed: Any
        _collision_filter: CollisionFilter
        _collision_detector: CollisionDetector
        _continuous_detection: bool

    @property
    def collision_detector(self) -> CollisionDetector:
        """What finds the contacts (`kido.collision`): `KidoCollisionDetector` unless set, by an object or a name.

        Names are "kido", "fcl", "coal" and "bullet"; all but the first are optional libraries, and slower: their
        narrow phase is called from Python at each step. Contacts are matched with those of the step before, and
        solved, by the same code.
        """
        return self._collision_detector

    @collision_detector.setter
    def collision_detector(self, value: CollisionDetector | str) -> None:
        self._collision_detector = as_detector(value)
        self._structure_changed()

    @property
    def collision_filter(self) -> CollisionFilter:
        """Which pairs of bodies do not collide, and why."""
        return self._collision_filter

    @property
    def continuous_detection(self) -> bool:
        """Whether all bodies are swept along their motion, as those with `BodyNode.continuous` are.

        A body that moves less than half its own size in a step cannot pass through anything and is treated as usual.
        What moves farther is swept from the start of the step to the next detection, by KIDO's own detector only.
        """
        return self._continuous_detection

    @continuous_detection.setter
    def continuous_detection(self, value: bool) -> None:
        self._continuous_detection = as_flag(value, f"world {self.name!r}: continuous_detection")
        self._structure_changed()

    def set_collision_filter(self, body_a: BodyNode, body_b: BodyNode, enabled: bool = False) -> None:
        """Switch collision of a pair of bodies off, or back on: the reason "user" of `collision_filter`."""
        if as_flag(enabled, f"world {self.name!r}: set_collision_filter: enabled"):
            self._collision_filter.remove(body_a, body_b)
        else:
            self._collision_filter.add(body_a, body_b)

    @property
    def collision_group(self) -> CollisionGroup:
        """All collision shapes of the world as a group with the world's filters, to be asked between steps.

        It finds contacts, distances and ray hits at the present positions, by the world's detector.
        """
        return _WorldGroup(self)  # type: ignore[arg-type]

    # For the world -----------------------------------------------------------------------------------------

    @property
    def _excluded(self) -> list[frozenset[BodyNode]]:
        return list(self._collision_filter._reasons)

    def _collisions(self) -> Collisions:
        return Collisions(self._collision_detector, self._collision_filter, self._continuous_detection)


class _WorldGroup(CollisionGroup):
    """The shapes of a world with its filters."""

    def __init__(self, world: World):
        super().__init__(world.collision_detector)
        self._world = world

    def _members(self) -> list[_Member]:
        own = [_of_node(node) for node in self._world._compile().nodes]
        return [*own, *super()._members()]

    def _stamp(self) -> Any:
        return self._world._compile()

    def _filters(self, members: Sequence[_Member], slots: dict[int, int]) -> dict[str, Any]:
        """The engine's filter, which is over links, over the bodies that carry shapes."""
        engine = self._world._compile()
        c = engine.detector.container
        of_slot = {slots[m.slot()]: m.carrier for m in members}
        n = len(engine.nodes)
        known = {slots[m.slot()] for m in members[:n]}
        links = {k: engine.link_index(body) for k, body in of_slot.items() if k in known}
        count = len(slots)
        moving, group = np.ones(count, np.int64), np.full(count, -1)
        on_link: dict[int, list[int]] = {}
        for slot, link in links.items():
            moving[slot], group[slot] = engine.moves[link], c.body_group[link]
            on_link.setdefault(link, []).append(slot)
        excluded = []
        for link, here in on_link.items():
            excluded += [(a, b) for i, a in enumerate(here) for b in here[i + 1 :]]
            for other in c.excluded[c.excluded_first[link] : c.excluded_first[link + 1]]:
                excluded += [(a, b) for a in here for b in on_link.get(int(other), ())]
        return {"moving": moving, "group": group, "excluded": excluded}
