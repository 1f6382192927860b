"""The shapes of a world as a group, to be asked between steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.collision import CollisionGroup
from kido.collision.group import Member
from kido.simulation.owner import Owner
from kido.turns import Turn

if TYPE_CHECKING:
    from kido.skeleton import ShapeNode


class WorldGroup(CollisionGroup):
    """The shapes of a world with its filters."""

    def __init__(self, world: Owner):
        super().__init__(world.collision_detector)
        self._world = world

    @property
    def turn(self) -> Turn:
        """That of the world."""
        return self._world.turn

    def _nodes(self) -> list[ShapeNode]:
        """Shapes of the world; those that the detector has in parts are here once."""
        return list(dict.fromkeys(self._world.engine.nodes))

    def _members(self) -> list[Member]:
        own = [Member.of_node(node) for node in self._nodes()]
        return [*own, *super()._members()]

    def _stamp(self) -> Any:
        return self._world.engine

    def _filters(self, members: Sequence[Member], slots: dict[int, int]) -> dict[str, Any]:
        """The engine's filter, which is over links, over the bodies that carry shapes."""
        engine = self._world.engine
        c = engine.detector.container
        of_slot = {slots[m.slot()]: m.carrier for m in members}
        n = len(self._nodes())
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
