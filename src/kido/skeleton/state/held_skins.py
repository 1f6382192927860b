"""A skeleton's tree with the points of soft skins where they are, held there: what its own dynamics works on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kido.jit import Struct
from kido.skeleton.compiler import Links, fill_inertias

if TYPE_CHECKING:
    from kido.skeleton.skeleton import Skeleton


class HeldSkins:
    """A tree that shares all but inertias with one whose skins are at rest, as worlds want it.

    Attributes:
        at_rest: that tree.
        tree: the other one.
        changes: how often its inertias changed.
    """

    def __init__(self, links: Links, skeleton: Skeleton, at_rest: Struct):
        self._links, self._skeleton, self.at_rest = links, skeleton, at_rest
        own = {field: getattr(at_rest, field).copy() for field in ("mass", "com", "inertia")}
        self.tree = at_rest.sharing(**own)
        self.changes = 0
        self._seen: list[np.ndarray] = []

    def forget(self) -> None:
        """Bodies have other properties."""
        self._seen = []

    def refresh(self) -> bool:
        """Take the points as they are now. Returns whether that changed anything."""
        now = [body.skin.q for body in self._skeleton.soft_bodies]
        if len(now) == len(self._seen) and all(map(np.array_equal, now, self._seen)):
            return False
        self._seen = [q.copy() for q in now]
        fill_inertias(self._links, [body.present_inertia for body in self._skeleton.bodies], self.tree)
        self.changes += 1
        return True
