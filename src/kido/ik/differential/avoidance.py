"""Pairs of shapes that are kept apart: their table, and a row for each that is near, compiled where it is used.

With the nearest points A and B of two shapes at distance d, and the unit normal n from A to B, d' = n . (v_B - v_A),
and as the pair may come nearer by a share of what is left in a step,

    n . (J_B - J_A) u >= -share (d - d_min) / h.

Source: Faverjon, Tournassoud (1987).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kido.collision.colliders import Collider
from kido.collision.container import COLLISION
from kido.collision.detector import NativeDetector, pair_functions
from kido.collision.poses import update_bounds, update_poses
from kido.collision.queries import NEAREST_FUNCTIONS, box_gap2, function_of, pair_distance
from kido.errors import StateError
from kido.ik.differential.arrays import DIFFERENTIAL, OF_PAIR, STEP_NOT_FINITE
from kido.ik.differential.desired_velocities import approach
from kido.ik.differential.hard import open_row
from kido.ik.engine.tasks import TASKS
from kido.ik.model import place_of_body, tree_of
from kido.ik.tasks.balance import add_point_motion
from kido.jit import callback, view
from kido.skeleton import BodyNode
from kido.tree.schema import DATA, TREE

if TYPE_CHECKING:
    from kido.ik.differential.build import Compiled
    from kido.ik.limits import CollisionAvoidance
    from kido.skeleton import Skeleton

Array = NDArray[np.float64]


@callback
def avoid(tree, data, tasks, own):
    """Rows of all pairs within their distance of influence; 0, or STEP_NOT_FINITE."""
    t, d, s, x = view(TREE, tree), view(DATA, data), view(TASKS, tasks), view(DIFFERENTIAL, own)
    c = view(COLLISION, x.collisions)
    links = t.parent.shape[0]
    for i in range(links):
        for k in range(9):
            c.body_rotation[i, k] = d.R[i, k]
        for k in range(3):
            c.body_position[i, k] = d.p[i, k]
    c.margin = 0.0
    if update_poses(c) != 0:
        return STEP_NOT_FINITE
    update_bounds(c)
    for k in range(x.pair.shape[0]):
        a, b = x.pair[k, 0], x.pair[k, 1]
        least, influence, share = x.pair_limit[k, 0], x.pair_limit[k, 1], x.pair_limit[k, 2]
        x.pair_gap[k] = math.inf
        if box_gap2(c, a, b) < influence * influence:
            found, gap, p0, p1, p2, n0, n1, n2 = pair_distance(
                c, function_of(c, c.pair_function, a, b), a, b, influence
            )
            if found:
                f = 0.5 * gap
                a0, a1, a2 = p0 - f * n0, p1 - f * n1, p2 - f * n2
                b0, b1, b2 = p0 + f * n0, p1 + f * n1, p2 + f * n2
                x.pair_gap[k] = gap
                x.pair_point[k, 0], x.pair_point[k, 1], x.pair_point[k, 2] = a0, a1, a2
                x.pair_point[k, 3], x.pair_point[k, 4], x.pair_point[k, 5] = b0, b1, b2
                low = -approach(gap - least, share, x.time_step, x.recovery_speed)
                h = open_row(x, low, math.inf, OF_PAIR, k)
                link_a, link_b = c.shape_body[a], c.shape_body[b]
                if link_b < links:
                    add_point_motion(t, d, s, x.hard_J, h, link_b, b0, b1, b2, n0, n1, n2)
                if link_a < links:
                    add_point_motion(t, d, s, x.hard_J, h, link_a, a0, a1, a2, -n0, -n1, -n2)
    return 0


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
        self._colliders.append(Collider(member.shape, slot, X, padding=member.padding))
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
