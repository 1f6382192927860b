"""The compiled side of collision queries: shapes on slots (bodies), their poses, and who asks whom; a pair alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kido.collision import queries, rays
from kido.collision.colliders import Collider
from kido.collision.container import CONTACTS_FULL
from kido.collision.detector import UNTESTED, NativeDetector, pair_functions
from kido.collision.external import ExternalDetector, NarrowPhase, take_points
from kido.collision.options import (
    CollisionOption,
    CollisionResult,
    DistanceOption,
    DistanceResult,
    DistanceTable,
    RaycastOption,
    RaycastResult,
)
from kido.errors import ModelError, ShapeError, StateError
from kido.reprs import brief
from kido.shapes import Plane, Shape, Sphere

__all__ = ["Scene"]

_PROBE = 1e-4  # [m] what a point counts as where sizes matter: how deep inside of triangles it is still found


class Scene:
    """Shapes at given poses that answer queries; without a memory of earlier ones.

    Args:
        colliders: shapes on slots.
        objects: what answers name, one per shape.
        slots: number of slots.
        narrow: makes the narrow phase of another library; None: KIDO's own.
        filters: `moving`, `group`, `excluded` over slots, as `NativeDetector` takes them.
        sides: (shapes,) 0 or 1: only pairs of both sides are looked at; None: all pairs.
    """

    def __init__(
        self,
        colliders: Sequence[Collider],
        objects: Sequence[Any],
        slots: int,
        narrow: type[NarrowPhase] | None,
        filters: dict[str, Any],
        sides: Sequence[int] | None = None,
    ):
        self.objects = list(objects)
        self.shapes = len(self.objects)
        self.slots = slots
        self.sides = None if sides is None else np.asarray(sides)
        # One more shape, a point that is moved to where distances are asked for; it collides with nothing.
        probe = Collider(Sphere(1.0), slots, category=0, mask=0)
        filters = {key: self._widened(key, value) for key, value in filters.items()}
        self.rotation, self.position = np.zeros((slots + 1, 9)), np.zeros((slots + 1, 3))
        self.rotation[slots] = np.eye(3).ravel()
        arguments = ([*colliders, probe], self.rotation, self.position)
        if narrow is None:
            self.detector: NativeDetector = NativeDetector(*arguments, margin=0.0, **filters)
        else:
            self.detector = ExternalDetector(narrow, *arguments, margin=0.0, **filters)
        self.narrow = self.detector.narrow if isinstance(self.detector, ExternalDetector) else None
        self.detector.container.shape_size[self.shapes] = 0.0
        self.detector.container.shape_reach[self.shapes] = _PROBE
        self._table: np.ndarray | None = None
        self._pairs: np.ndarray | None = None
        self.colliders = list(colliders)

    @staticmethod
    def _widened(key: str, value: Any) -> Any:
        """Filter arguments with room for the probe's slot."""
        if key == "excluded" or value is None:
            return value
        return np.append(np.asarray(value, dtype=np.int64), -1 if key == "group" else 1)

    def place(self, slot_poses: np.ndarray) -> None:
        """Put all slots at poses (slots, 4, 4).

        Raises:
            StateError: a pose is not finite.
        """
        self.rotation[:-1] = slot_poses[:, :3, :3].reshape(-1, 9)
        self.position[:-1] = slot_poses[:, :3, 3]
        if queries.place_shapes(self.detector.address) != 0:
            raise StateError("collision query: a pose is not finite; expected finite positions")
        if self.narrow is not None:
            c = self.detector.container
            self.narrow.place(c.rotation[: len(c.shape_body)], c.position[: len(c.shape_body)])

    # Contacts ----------------------------------------------------------------------------------------------

    def collide(self, option: CollisionOption) -> CollisionResult:
        """Contacts of all pairs that the filters let meet."""
        self.detector.margin = option.margin
        queries.place_shapes(self.detector.address)  # boxes grow with the margin
        while (status := queries.candidate_pairs(self.detector.address)) != 0:
            self.detector.grow(status)
        self._choose_candidates(option.filter)
        if not option.enable_contact:
            return self._result(0, self._touches())
        if self.narrow is not None:
            self._take_from(self.narrow)
        else:
            while queries.pair_contacts(self.detector.address, option.max_contacts) == CONTACTS_FULL:
                self.detector.grow(CONTACTS_FULL)
        n = min(self.detector.container.num_contacts, option.max_contacts)
        return self._result(n, n > 0)

    def _choose_candidates(self, chosen: Callable[[Any, Any], Any] | None) -> None:
        """Keep the candidate pairs of both sides, and those that a user's function wants."""
        c = self.detector.container
        n = c.num_pairs
        a, b = c.pair_a[:n], c.pair_b[:n]
        keep = np.ones(n, bool)
        if self.sides is not None:
            keep &= self.sides[a] != self.sides[b]
        if chosen is not None:
            for k in np.flatnonzero(keep):
                keep[k] = bool(chosen(self.objects[a[k]], self.objects[b[k]]))
        if not keep.all():
            a, b = a[keep].copy(), b[keep].copy()
            c.pair_a[: len(a)], c.pair_b[: len(a)] = a, b
            c.num_pairs = len(a)

    def _candidates(self) -> np.ndarray:
        c = self.detector.container
        n = c.num_pairs
        return np.column_stack([c.pair_a[:n], c.pair_b[:n]])

    def _touches(self) -> bool:
        if self.narrow is None:
            return queries.any_contact(self.detector.address) >= 0
        pairs = self._candidates()
        given = self.detector.margin, self.detector.container.shape_padding
        return any(len(self.narrow.padded_contacts(pairs[k : k + 1], *given).pair) for k in range(len(pairs)))

    def _take_from(self, narrow: NarrowPhase) -> None:
        padding = self.detector.container.shape_padding
        points = narrow.padded_contacts(self._candidates(), self.detector.margin, padding)
        while take_points(self.detector.address, points.pair, points.numbers, 0) == CONTACTS_FULL:
            self.detector.grow(CONTACTS_FULL)

    def _result(self, n: int, touches: bool) -> CollisionResult:
        c = self.detector.container
        flip = np.ones(n) if self.sides is None else 1.0 - 2.0 * self.sides[c.shape_a[:n]]
        first = np.where(flip > 0.0, c.shape_a[:n], c.shape_b[:n])
        second = np.where(flip > 0.0, c.shape_b[:n], c.shape_a[:n])
        return CollisionResult(
            points=c.point[:n].copy(),
            normals=c.normal[:n] * flip[:, None],
            depths=-c.gap[:n],
            objects_a=[self.objects[s] for s in first],
            objects_b=[self.objects[s] for s in second],
            is_collision=bool(touches),
        )

    # Distances ---------------------------------------------------------------------------------------------

    def pairs(self, chosen: Callable[[Any, Any], Any] | None) -> np.ndarray:
        """All pairs (n, 2) of shapes that distances are taken of; the first of side 0 where there are sides."""
        if self._pairs is None:
            if self.sides is None:
                a, b = np.triu_indices(self.shapes, 1)
            else:
                a, b = (
                    x.ravel() for x in np.meshgrid(*(np.flatnonzero(self.sides == k) for k in (0, 1)), indexing="ij")
                )
            self._pairs = np.ascontiguousarray(np.column_stack([a, b])[self._meet(a, b)], dtype=np.int64)
        if chosen is None:
            return self._pairs
        keep = [bool(chosen(self.objects[a], self.objects[b])) for a, b in self._pairs]
        return np.ascontiguousarray(self._pairs[np.array(keep, dtype=bool)])

    def _meet(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Which pairs of shapes the filters let meet."""
        c = self.detector.container
        i, j = c.shape_body[a], c.shape_body[b]
        keep = (i != j) & ((c.body_moving[i] | c.body_moving[j]) != 0)
        keep &= (c.body_group[i] < 0) | (c.body_group[i] != c.body_group[j])
        keep &= (c.shape_category[a] & c.shape_mask[b] != 0) & (c.shape_category[b] & c.shape_mask[a] != 0)
        keep &= np.array([self.objects[x] is not self.objects[y] for x, y in zip(a, b, strict=True)], dtype=bool)
        excluded = np.repeat(np.arange(self.slots + 1), np.diff(c.excluded_first))
        banned = excluded * (self.slots + 1) + c.excluded
        return keep & ~np.isin(i * (self.slots + 1) + j, banned)

    def functions(self) -> np.ndarray:
        """Table of the functions that give nearest points."""
        if self._table is None:
            c = self.detector.container
            kinds = {int(k) for k in c.shape_type[: len(c.shape_body)]}
            table = np.zeros(c.pair_function.shape, np.int64)
            wanted = {(a, b) for a in kinds for b in kinds}
            for pair, function in pair_functions(wanted, self.detector.piece_types()).items():
                table[pair] = queries.NEAREST_FUNCTIONS.get(function, function).address
            self._table = table
        return self._table

    def distance(self, option: DistanceOption) -> DistanceResult:
        """The nearest pair."""
        pairs = self.pairs(option.filter)
        limit = min(float(option.upper_limit), queries.ANY_MARGIN)
        numbers = np.full(7, np.nan)
        which = -1
        if self.narrow is None:
            which = int(queries.nearest_pair(self.detector.address, self.functions(), pairs, limit, numbers))
        else:
            for k, (a, b) in enumerate(pairs):
                row = self._external_distance(self.narrow, a, b)
                if row[0] < limit:
                    limit, which, numbers = row[0], k, row
        if which < 0:
            nothing = np.full(3, np.nan)
            return DistanceResult(np.inf, nothing, nothing.copy(), nothing.copy(), None, None)
        gap, point, normal = numbers[0], numbers[1:4], numbers[4:7]
        a, b = pairs[which]
        half = 0.5 * gap * normal
        return DistanceResult(float(gap), point - half, point + half, normal.copy(), self.objects[a], self.objects[b])

    def distances(self, option: DistanceOption) -> DistanceTable:
        """All pairs nearer than the limit."""
        pairs = self.pairs(option.filter)
        limit = min(float(option.upper_limit), queries.ANY_MARGIN)
        numbers = np.zeros((len(pairs), 7))
        if self.narrow is None:
            queries.pair_distances(self.detector.address, self.functions(), pairs, limit, numbers)
        else:
            for k, (a, b) in enumerate(pairs):
                numbers[k] = self._external_distance(self.narrow, a, b)
        near = numbers[:, 0] < limit
        numbers, pairs = numbers[near], pairs[near]
        half = 0.5 * numbers[:, :1] * numbers[:, 4:7]
        named = [(self.objects[a], self.objects[b]) for a, b in pairs]
        return DistanceTable(numbers[:, 0].copy(), numbers[:, 1:4] - half, numbers[:, 1:4] + half, named)

    def _external_distance(self, narrow: NarrowPhase, a: int, b: int) -> np.ndarray:
        """Gap, middle and normal of shapes a and b by another library."""
        gap, point_a, point_b, normal = narrow.distance(int(a), int(b))
        out_a, out_b = self.detector.container.shape_padding[[a, b]]
        middle = 0.5 * (point_a + point_b + (out_a - out_b) * normal)
        return np.concatenate([[gap - out_a - out_b], middle, normal])

    def signed_distances(self, points: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[Any]]:
        """Signed distance of points (n, 3) from the nearest wanted shape, outward normals there, and the objects."""
        which, numbers = np.zeros(len(points), np.int64), np.full((len(points), 4), np.nan)
        queries.point_distances(
            self.detector.address, self.functions(), self._marked(wanted), self.shapes, points, which, numbers
        )
        numbers[which < 0, 0] = np.inf
        return numbers[:, 0].copy(), numbers[:, 1:].copy(), [None if s < 0 else self.objects[s] for s in which]

    def _marked(self, wanted: np.ndarray) -> np.ndarray:
        return np.append(wanted.astype(np.int64), 0)

    # Rays --------------------------------------------------------------------------------------------------

    def raycast(self, starts: np.ndarray, ends: np.ndarray, option: RaycastOption) -> RaycastResult:
        """Hits of rays from starts (n, 3) to ends (n, 3)."""
        wanted = np.ones(self.shapes, np.int64)
        if option.filter is not None:
            wanted[:] = [bool(option.filter(thing)) for thing in self.objects]
        if self.narrow is not None:
            return self._external_rays(self.narrow, starts, ends, wanted, option)
        if option.all_hits:
            return self._all_hits(starts, ends, self._marked(wanted))
        which, numbers = np.zeros(len(starts), np.int64), np.zeros((len(starts), 4))
        rays.first_hits(self.detector.address, self._marked(wanted), starts, ends, which, numbers)
        return self._first_hits(starts, ends, which, numbers)

    def _first_hits(
        self, starts: np.ndarray, ends: np.ndarray, which: np.ndarray, numbers: np.ndarray
    ) -> RaycastResult:
        fraction = np.where(which < 0, np.inf, numbers[:, 0])
        with np.errstate(invalid="ignore"):
            points = np.where((which < 0)[:, None], np.nan, starts + numbers[:, :1] * (ends - starts))
        normals = np.where((which < 0)[:, None], np.nan, numbers[:, 1:])
        objects = [None if s < 0 else self.objects[s] for s in which]
        return RaycastResult(np.arange(len(starts)), fraction, points, normals, objects)

    def _all_hits(self, starts: np.ndarray, ends: np.ndarray, wanted: np.ndarray) -> RaycastResult:
        room = 4 * len(starts) + 16
        while True:
            which, numbers = np.zeros((room, 2), np.int64), np.zeros((room, 4))
            found = int(rays.all_hits(self.detector.address, wanted, starts, ends, which, numbers))
            if found <= room:
                break
            room = found
        order = np.lexsort((numbers[:found, 0], which[:found, 0]))
        which, numbers = which[order], numbers[order]
        ray = which[:, 0]
        points = starts[ray] + numbers[:, :1] * (ends - starts)[ray]
        return RaycastResult(
            ray.copy(), numbers[:, 0].copy(), points, numbers[:, 1:].copy(), [self.objects[s] for s in which[:, 1]]
        )

    def _external_rays(
        self, narrow: NarrowPhase, starts: np.ndarray, ends: np.ndarray, wanted: np.ndarray, option: RaycastOption
    ) -> RaycastResult:
        if option.all_hits:
            raise ModelError("raycast: all_hits: only KidoCollisionDetector finds all hits of a ray")
        found = narrow.cast(starts, ends, wanted)
        if found is None:
            raise ModelError(
                f"raycast: {type(narrow).__name__.removesuffix('Shapes')} casts no rays; "
                "KidoCollisionDetector and BulletCollisionDetector do"
            )
        return self._first_hits(starts, ends, *found)


class Contacts(NamedTuple):
    """Contacts of two shapes.

    Attributes:
        points: (n,3) midway between the two surfaces, world axes [m].
        normals: (n,3) unit, from a to b, world axes.
        gaps: (n,) distance of the surfaces along the normal [m]; negative: penetration.
    """

    points: np.ndarray
    normals: np.ndarray
    gaps: np.ndarray

    __repr__ = brief


def collide(shape_a: Shape, X_WA: Any, shape_b: Shape, X_WB: Any, margin: float = 0.0) -> Contacts:
    """Contacts of two shapes at given poses.

    Args:
        shape_a, shape_b: geometry.
        X_WA, X_WB: poses (4,4) of the shapes in the world [m].
        margin: points with a gap below this are reported [m].

    Returns:
        Up to four points, none if the shapes are at least `margin` apart.

    Raises:
        ShapeError: no shapes, or both are planes.
        StateError: a pose is not a finite (4,4) array.
    """
    detector = _pair(shape_a, X_WA, shape_b, X_WB, margin)
    n = detector.detect()
    c = detector.container
    return Contacts(c.point[:n].copy(), c.normal[:n].copy(), c.gap[:n].copy())


def distance(shape_a: Shape, X_WA: Any, shape_b: Shape, X_WB: Any) -> float:
    """Signed distance of two shapes [m]: negative the depth of the deepest contact point.

    Raises as `collide` does, and StateError where one shape is so far inside of the other's surface of triangles that
    it has no contact with it and no depth is known.
    """
    _check_shapes(shape_a, shape_b)
    apart = float(np.linalg.norm(_checked_pose("X_WA", X_WA)[:3, 3] - _checked_pose("X_WB", X_WB)[:3, 3]))
    reach = sum(s.bounding_radius for s in (shape_a, shape_b) if not isinstance(s, Plane))
    offset = sum(abs(s.offset) for s in (shape_a, shape_b) if isinstance(s, Plane))
    gaps = collide(shape_a, X_WA, shape_b, X_WB, 2.0 * (apart + reach + offset) + 1.0).gaps
    if not len(gaps):
        inner, outer = sorted((shape_a, shape_b), key=lambda shape: shape.bounding_radius)
        raise StateError(
            f"distance: {inner!r} is far inside of {outer!r}, whose surface says no depth there; expected shapes that "
            "are apart or near a surface (meshes that collide as hull or decomposition have an inside)"
        )
    return float(gaps.min())


def _check_shapes(*shapes: Any) -> None:
    for shape in shapes:
        if not isinstance(shape, Shape):
            raise ShapeError(f"collide: expected two kido shapes, got {shape!r}")


def _checked_pose(name: str, pose: Any) -> np.ndarray:
    try:
        X = np.asarray(pose, dtype=float)
    except (TypeError, ValueError):
        X = np.zeros(0)
    if X.shape != (4, 4) or not np.isfinite(X).all():
        raise StateError(f"collide: {name}: expected a finite (4, 4) array, got {pose!r}")
    return X


def _pair(shape_a: Shape, X_WA: Any, shape_b: Shape, X_WB: Any, margin: float) -> NativeDetector:
    _check_shapes(shape_a, shape_b)
    for kind, kinds in UNTESTED.items():
        if isinstance(shape_a, kind) and isinstance(shape_b, kind):
            raise ShapeError(f"collide: both shapes are {kinds}, which have no contacts with each other")
    rotation, position = np.zeros((2, 9)), np.zeros((2, 3))
    for k, (name, pose) in enumerate((("X_WA", X_WA), ("X_WB", X_WB))):
        X = _checked_pose(name, pose)
        rotation[k], position[k] = X[:3, :3].ravel(), X[:3, 3]
    return NativeDetector([(shape_a, 0), (shape_b, 1)], rotation, position, margin=margin)
