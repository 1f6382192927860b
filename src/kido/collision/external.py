"""Detectors of other libraries in a world: their contacts in the arrays of KIDO's own.

Broad phase, filters, matching with the contacts of the step before and warm start are KIDO's; the other library
takes the candidate pairs and returns raw points. Those of a pair are matched with its old contacts by place, old
contacts that still hold are added to them (libraries that return one point of a face return others in the steps
that follow), and the manifold is reduced to four points.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kido.collision.container import COLLISION, CONTACTS_FULL, MAX_POINTS
from kido.collision.detector import NativeDetector
from kido.collision.manifold import add_point, find_old_pair, match_contacts, reduce_manifold, set_normal
from kido.collision.narrow import find_candidates, write_contacts
from kido.collision.pairs.frames import to_world
from kido.jit import callback, entry, kernel, view
from kido.reprs import brief

COMPLETE = 2  # value of `pending`: contacts were completed, and the next call of the stage has nothing to do
ELSEWHERE = 8  # status: the candidate pairs are found, the contacts are to come from another library
NEW_KEY = 1 << 40  # keys of points that continue no old contact
DRIFT = 0.02  # an old contact holds while its two material points are within this share of the reach of each other
SAME_PLACE = 0.05  # share of the reach within which a point continues an old contact


class Points(NamedTuple):
    """Raw contacts of a library.

    Attributes:
        pair: (n,) number of the pair, ascending.
        numbers: (n, 7) point midway between the surfaces [m], unit normal from a to b, gap [m]; world axes.
    """

    pair: NDArray[np.int64]
    numbers: NDArray[np.float64]

    __repr__ = brief


class NarrowPhase(ABC):
    """Shapes of a container as another library has them."""

    @abstractmethod
    def place(self, rotation: np.ndarray, position: np.ndarray) -> None:
        """Takes the poses of all shapes: rotations (n, 9), row-major, and origins (n, 3) in the world [m]."""

    @abstractmethod
    def contacts(self, pairs: np.ndarray, margin: float) -> Points:
        """Contacts with a gap below `margin` [m] of pairs (n, 2) of shapes."""

    @abstractmethod
    def distance(self, a: int, b: int) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """Signed distance [m] of two shapes, the nearest points of both and the unit normal from a to b."""

    def padded_contacts(self, pairs: np.ndarray, margin: float, padding: np.ndarray) -> Points:
        """`contacts` of shapes of which the surfaces lie out by their paddings (shapes,) [m]."""
        if not padding.any():
            return self.contacts(pairs, margin)
        of_pair = padding[pairs]
        pair, numbers = self.contacts(pairs, margin + float(of_pair.sum(axis=1).max(initial=0.0)))
        out = of_pair[pair]
        numbers[:, :3] += 0.5 * (out[:, :1] - out[:, 1:]) * numbers[:, 3:6]
        numbers[:, 6] -= out.sum(axis=1)
        near = numbers[:, 6] < margin
        return Points(pair[near], np.ascontiguousarray(numbers[near]))

    def cast(self, starts: np.ndarray, ends: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """First hits of rays: shapes (n,), -1 for none, and (n, 4) fraction and normal; None: it casts no rays."""
        return None

    def close(self) -> None:  # noqa: B027  (most have nothing to let go)
        """Lets go of what the library holds."""


@kernel
def add_old(c, count, a, b, first_old, last_old, reach, margin):
    """Names the raw points after the old contacts that they continue, and adds old contacts that still hold."""
    n0, n1, n2 = c.work_normal[0], c.work_normal[1], c.work_normal[2]
    fresh = count
    for old in range(first_old, last_old):
        turned = n0 * c.old_normal[old, 0] + n1 * c.old_normal[old, 1] + n2 * c.old_normal[old, 2]
        p0, p1, p2 = to_world(c, a, c.old_local_a[old, 0], c.old_local_a[old, 1], c.old_local_a[old, 2])
        q0, q1, q2 = to_world(c, b, c.old_local_b[old, 0], c.old_local_b[old, 1], c.old_local_b[old, 2])
        best, nearest = SAME_PLACE * SAME_PLACE * reach * reach, -1
        for k in range(fresh):
            if c.work_key[k] >= NEW_KEY:
                x, y, z = c.work_point[k, 0], c.work_point[k, 1], c.work_point[k, 2]
                d2 = min(
                    (x - p0) * (x - p0) + (y - p1) * (y - p1) + (z - p2) * (z - p2),
                    (x - q0) * (x - q0) + (y - q1) * (y - q1) + (z - q2) * (z - q2),
                )
                if d2 < best:
                    best, nearest = d2, k
        if nearest >= 0:
            c.work_key[nearest] = c.old_key[old]
        elif turned > 0.99 and count < MAX_POINTS:
            moved = (q0 - p0) * n0 + (q1 - p1) * n1 + (q2 - p2) * n2
            gap = c.old_gap[old] + moved
            t0, t1, t2 = q0 - p0 - moved * n0, q1 - p1 - moved * n1, q2 - p2 - moved * n2
            drift = DRIFT * reach
            if gap < margin and t0 * t0 + t1 * t1 + t2 * t2 < drift * drift:
                count = add_point(c, count, 0.5 * (p0 + q0), 0.5 * (p1 + q1), 0.5 * (p2 + q2), gap, c.old_key[old])
    return count


@kernel
def free_key(c, first_old, last_old, first, found):
    """A key that no old contact of a pair and none of the new ones has."""
    key = 0
    taken = True
    while taken:
        key += 1
        taken = False
        for old in range(first_old, last_old):
            taken = taken or c.old_key[old] == key
        for k in range(first, found):
            taken = taken or c.key[k] == key
    return key


@entry("i8(i8, i8[::1], f8[:,::1], i8)")
def take_points(address, pair, numbers, persistent):
    """Makes contacts of raw points, as `Points` describes them; returns CONTACTS_FULL or 0.

    Args:
        persistent: 1: match and keep old contacts; 0: a query without history.
    """
    c = view(COLLISION, address)
    found, old, olds = 0, 0, c.num_old_pairs if persistent != 0 else 0
    capacity = c.gap.shape[0]
    at = 0
    for p in range(c.num_pairs):
        a, b = c.pair_a[p], c.pair_b[p]
        old, _, first_old, last_old = find_old_pair(c, a, b, old, olds)
        reach = min(c.shape_reach[a], c.shape_reach[b])
        count, lowest = 0, 0
        while at < pair.shape[0] and pair[at] == p:
            if count < MAX_POINTS // 2:
                count = add_point(
                    c, count, numbers[at, 0], numbers[at, 1], numbers[at, 2], numbers[at, 6], NEW_KEY + count
                )
                if count == 1 or numbers[at, 6] < numbers[lowest, 6]:
                    lowest = at
            at += 1
        c.pair_first[p] = found
        if count > 0:
            set_normal(c, numbers[lowest, 3], numbers[lowest, 4], numbers[lowest, 5])
            count = add_old(c, count, a, b, first_old, last_old, reach, c.margin)
            count = reduce_manifold(c, count, first_old, last_old)
            if found + count <= capacity:
                write_contacts(c, p, found, count, 1.0)
                for k in range(found, found + count):
                    if c.key[k] >= NEW_KEY:
                        c.key[k] = free_key(c, first_old, last_old, found, k)
                if last_old > first_old:
                    match_contacts(c, found, found + count, first_old, last_old, reach)
        c.pair_count[p] = count
        found += count
    c.contacts_found = found
    c.num_contacts = 0
    if found > capacity:
        return CONTACTS_FULL
    c.num_contacts = found
    c.pending = 0
    return 0


@callback
def broad_stage(address, unused_1, unused_2, unused_3):
    """Poses, boxes and candidate pairs; returns ELSEWHERE, or the status that `detect` would; 0 once completed."""
    c = view(COLLISION, address)
    if c.pending == COMPLETE:
        c.pending = 0
        return 0
    status = find_candidates(c)
    return ELSEWHERE if status == 0 else status


class ExternalDetector(NativeDetector):
    """Finds contacts by another library's narrow phase; see `NativeDetector` for the rest."""

    def __init__(self, narrow: type, *args: Any, **settings: Any):
        self._narrow_type = narrow
        super().__init__(*args, **settings)
        self.narrow: NarrowPhase = narrow(self.geometries)

    def _link(self) -> None:
        self.prepare([broad_stage])
        self.container.detect = broad_stage

    def set_sweep(self, time_step: float, back: float) -> None:
        """Nothing: shapes of other libraries are not swept."""

    def detect(self) -> int:
        while True:
            status = self.container.detect(self.container)
            if status != ELSEWHERE:
                self.grow(status)
                continue
            self.complete()
            return self.container.num_contacts

    def complete(self) -> None:
        """The contacts of the candidate pairs that the broad stage left."""
        c = self.container
        n = c.num_pairs
        pairs = np.column_stack([c.pair_a[:n], c.pair_b[:n]])
        self.narrow.place(c.rotation[: len(c.shape_body)], c.position[: len(c.shape_body)])
        points = self.narrow.padded_contacts(pairs, self.margin, c.shape_padding)
        while take_points(self.address, points.pair, points.numbers, 1) == CONTACTS_FULL:
            self.grow(CONTACTS_FULL)


def as_points(rows: Sequence[Any], number: Sequence[int]) -> Points:
    """Points from rows of seven numbers and the pairs they are of."""
    return Points(np.array(number, dtype=np.int64), np.array(rows, dtype=float).reshape(-1, 7))


__all__ = ["ELSEWHERE", "ExternalDetector", "NarrowPhase", "Points", "as_points"]
