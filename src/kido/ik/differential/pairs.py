"""Shapes of bodies that are kept apart, on the links of a skeleton and on things around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kido.collision.colliders import Collider
from kido.collision.detector import NativeDetector, pair_functions
from kido.collision.queries import NEAREST_FUNCTIONS
from kido.errors import StateError
from kido.ik.differential.avoidance import avoid
from kido.ik.differential.build import Compiled
from kido.ik.limits import CollisionAvoidance
from kido.ik.model import place_of_body, tree_of
from kido.skeleton import BodyNode

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

Array = NDArray[np.float64]


class Pairs:
    """Pairs of shapes that avoid each other.

    Args:
        skeleton: what moves; it is compiled.
        avoided: groups of shapes.
        dofs: the active coordinates.

    Attributes:
        things: the two shapes of each pair, as their groups name them.
    """

    def __init__(self, skeleton: Skeleton, avoided: Sequence[CollisionAvoidance], dofs: NDArray[np.int64]):
        self._skeleton = skeleton
        self._colliders: list[Collider] = []
        self._objects: list[Any] = []
        self._outside: list[Any] = []  # carriers that are not the skeleton's; None: the world
        self._shapes: dict[tuple[int, int], int] = {}
        tree = tree_of(skeleton)
        self._links = len(tree.parent)
        moved = np.zeros(self._links + 1, bool)  # by an active coordinate
        for i in range(self._links):
            own = range(int(tree.first_dof[i]), int(tree.first_dof[i + 1]))
            moved[i] = moved[tree.parent[i]] if tree.parent[i] >= 0 else False
            moved[i] |= bool(np.isin(own, dofs).any())
        found: list[tuple[int, int]] = []
        limits: list[tuple[float, float, float]] = []
        for item in avoided:
            first, second = item.groups()
            one = [self._shape(m) for m in first._members()]
            other = one if second is None else [self._shape(m) for m in second._members()]
            for a in one:
                for b in other:
                    i, j = self._place(a), self._place(b)
                    joined = max(i, j) < self._links and (tree.parent[i] == j or tree.parent[j] == i)
                    still = not (i < self._links and moved[i]) and not (j < self._links and moved[j])
                    doubled = second is None and b <= a
                    if not (doubled or i == j or joined or still):
                        found.append((a, b))
                        limits.append((item.distance, item.influence, item.share))
        self.pairs = np.array(found, np.int64).reshape(-1, 2)
        self._limits = np.array(limits).reshape(-1, 3)
        self.things = [(self._objects[a], self._objects[b]) for a, b in found]
        self._detector: NativeDetector | None = None

    def _place(self, shape: int) -> int:
        return int(self._colliders[shape].body)

    def _shape(self, member: Any) -> int:
        """Number of a shape of a group; a new one the first time."""
        key = id(member.thing), id(member.carrier)
        if key in self._shapes:
            return self._shapes[key]
        carrier, X = member.carrier, np.asarray(member.transform)
        if isinstance(carrier, BodyNode) and carrier.skeleton is self._skeleton:
            slot, there = place_of_body(self._skeleton, carrier)
            X = there @ X
        else:
            known = [k for k, c in enumerate(self._outside) if c is carrier]
            if not known:
                known = [len(self._outside)]
                self._outside.append(carrier)
            slot = self._links + known[0]
        self._shapes[key] = len(self._colliders)
        self._colliders.append(Collider(member.shape, slot, X))
        self._objects.append(member.thing)
        return len(self._colliders) - 1

    def attach(self, compiled: Compiled) -> None:
        """Write the pairs to the arrays of a step."""
        if not len(self.pairs):
            return
        slots = self._links + len(self._outside)
        self._rotation, self._position = np.tile(np.eye(3).ravel(), (slots, 1)), np.zeros((slots, 3))
        self._detector = detector = NativeDetector(self._colliders, self._rotation, self._position, margin=0.0)
        c = detector.container
        kinds = {int(k) for k in c.shape_type[: len(c.shape_body)]}
        c.pair_function[:] = 0
        for pair, function in pair_functions({(a, b) for a in kinds for b in kinds}, detector.piece_types()).items():
            c.pair_function[pair] = NEAREST_FUNCTIONS.get(function, function).address
        own = compiled.own
        own.pair[:], own.pair_limit[:] = self.pairs, self._limits
        own.collisions, own.avoid = detector.address, avoid

    def place(self) -> None:
        """Poses of what is not the skeleton's, as they are now.

        Raises:
            StateError: one of them is not finite.
        """
        if self._detector is None:
            return
        for k, carrier in enumerate(self._outside, start=self._links):
            if carrier is not None:
                X = carrier.world_transform
                if not np.isfinite(X).all():
                    raise StateError(f"collision avoidance: the pose of {carrier!r} is not finite")
                self._rotation[k], self._position[k] = X[:3, :3].ravel(), X[:3, 3]
