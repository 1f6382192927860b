"""Distances of the shapes themselves, by which it is decided where spheres over them touch."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kido.collision import COLLISION, Collider, NativeDetector
from kido.collision.container import COMPOUND, PLANE
from kido.collision.gjk import BEYOND_LIMIT, OVERLAP, distance, norm
from kido.collision.pairs.compound import box_in, load_part, load_piece
from kido.collision.poses import bound_shape
from kido.collision.queries import box_gap2, place_shapes
from kido.collision.support import core_radius, support
from kido.collision.triangles import load_triangle, next_node
from kido.jit import callback, entry, kernel, view
from kido.planning.tables import EXACT
from kido.shapes import Box, Heightmap, Mesh, Shape, VoxelGrid

Array = NDArray[np.float64]
WORLD = -1  # link of what does not move
PLACES = 1021  # where distances of pairs of things are kept for a check


@kernel
def place_thing(x, c, thing, lane, stamp):
    """Poses and boxes of a thing's shapes in a lane's state, once for each."""
    lanes, link = x.gap.shape[0], x.link[thing]
    if link < 0 or x.placed[thing] == stamp * lanes + lane:
        return
    x.placed[thing] = stamp * lanes + lane
    local, position = c.local_rotation, c.local_position
    for s in range(x.first[thing], x.first[thing + 1]):
        for i in range(3):
            at = (9 * link + 3 * i) * lanes + lane
            r0, r1, r2 = x.R[at], x.R[at + lanes], x.R[at + 2 * lanes]
            for j in range(3):
                c.rotation[s, 3 * i + j] = r0 * local[s, j] + r1 * local[s, 3 + j] + r2 * local[s, 6 + j]
            c.position[s, i] = x.p[(3 * link + i) * lanes + lane] + (
                r0 * position[s, 0] + r1 * position[s, 1] + r2 * position[s, 2]
            )
        bound_shape(c, s, 0.0)


@kernel
def convex_gap(c, x, s, limit):
    """The lesser of the distance of a convex shape x from another or a plane and a limit; below 0: they overlap."""
    if c.shape_type[s] == PLANE:
        n0, n1, n2 = c.rotation[s, 2], c.rotation[s, 5], c.rotation[s, 8]
        p0, p1, p2 = support(c, x, s, -n0, -n1, -n2)
        return min(limit, n0 * p0 + n1 * p1 + n2 * p2 - core_radius(c, x))
    around, at = core_radius(c, x) + core_radius(c, s), c.position
    d0, d1, d2 = at[x, 0] - at[s, 0], at[x, 1] - at[s, 1], at[x, 2] - at[s, 2]
    if d0 * d0 + d1 * d1 + d2 * d2 == 0.0:
        d0 = 1.0
    state, _, d0, d1, d2 = distance(c, x, s, d0, d1, d2, around + limit)
    if state == BEYOND_LIMIT:
        return limit
    if state == OVERLAP:
        return -1.0
    return min(limit, norm(d0, d1, d2) - around)


@kernel
def parts_gap(c, t, x, limit):
    """`convex_gap` of the parts of compound t and a convex shape or plane x."""
    c.margin = limit
    low0, low1, low2, high0, high1, high2 = box_in(c, x, t)
    compound = c.shape_compound[t]
    at, end = c.compound_node[compound], c.compound_node[compound + 1]
    at = next_node(c, at, end, low0, low1, low2, high0, high1, high2)
    while at < end and limit >= 0.0:
        for part in range(c.node_part[at, 0], c.node_part[at, 0] + c.node_part[at, 1]):
            row = c.part[part]
            s = load_triangle(c, 0, t, row) if row >= 0 else load_piece(c, 0, t, -1 - row)
            limit = min(limit, convex_gap(c, s, x, max(0.0, limit)))
        at = next_node(c, at + 1, end, low0, low1, low2, high0, high1, high2)
    return limit


@kernel
def compounds_gap(c, t, x, limit):
    """`parts_gap` of compound x and each part of compound t that is near it."""
    c.margin = limit
    low0, low1, low2, high0, high1, high2 = box_in(c, x, t)
    compound = c.shape_compound[t]
    at, end = c.compound_node[compound], c.compound_node[compound + 1]
    at = next_node(c, at, end, low0, low1, low2, high0, high1, high2)
    while at < end and limit >= 0.0:
        for part in range(c.node_part[at, 0], c.node_part[at, 0] + c.node_part[at, 1]):
            limit = min(limit, parts_gap(c, x, load_part(c, t, part), max(0.0, limit)))
        at = next_node(c, at + 1, end, low0, low1, low2, high0, high1, high2)
    return limit


@kernel
def shape_gap(c, a, b, limit):
    """The lesser of the distance of two shapes and a limit; below 0: they overlap, or no distance is known."""
    if c.shape_type[a] > c.shape_type[b]:
        a, b = b, a
    least, most = c.shape_type[a], c.shape_type[b]
    padding = c.shape_padding[a] + c.shape_padding[b]
    if most == PLANE:
        return -1.0
    if least == COMPOUND:
        return compounds_gap(c, a, b, limit + padding) - padding
    if most == COMPOUND:
        return parts_gap(c, b, a, limit + padding) - padding
    return convex_gap(c, b, a, limit + padding) - padding


@kernel
def thing_gap(x, c, first, second, limit):
    """The lesser of the distance of two things, where they are placed, and a limit."""
    least = limit
    for a in range(x.first[first], x.first[first + 1]):
        for b in range(x.first[second], x.first[second + 1]):
            apart = box_gap2(c, a, b)
            if apart == 0.0 or apart < least * least:
                least = shape_gap(c, a, b, least)
                if least < 0.0:
                    return least
    return least


@callback
def settle(exact, first, second, stamp):
    """Say for two things in which lanes they are as far apart as they need to be: `gap` is positive there.

    Lanes whose gap is positive already are not looked at. What is found is kept for the check with this stamp.
    """
    x = view(EXACT, exact)
    c = view(COLLISION, x.collisions)
    key = first * x.link.shape[0] + second
    place = key % x.pair.shape[0]
    if x.pair[place, 0] != key or x.pair[place, 1] != stamp:
        x.pair[place, 0], x.pair[place, 1] = key, stamp
        for lane in range(x.gap.shape[0]):
            x.known[place, lane] = x.limit[place, lane] = -1.0
    for lane in range(x.gap.shape[0]):
        if x.gap[lane] <= 0.0:
            need = x.need[lane]
            if x.limit[place, lane] < need:
                place_thing(x, c, first, lane, stamp)
                place_thing(x, c, second, lane, stamp)
                x.known[place, lane] = thing_gap(x, c, first, second, need)
                x.limit[place, lane] = need if x.known[place, lane] >= need else math.inf
            x.gap[lane] = 1.0 if x.known[place, lane] >= need else -1.0
    return 0


@entry("i8(i8,i8,i8,i8)")
def are_apart(exact, first, second, stamp):
    """1: two things are apart in the first lane's state."""
    x = view(EXACT, exact)
    x.need[0], x.gap[0] = 0.0, -1.0
    settle(exact, first, second, stamp)
    return 1 if x.gap[0] > 0.0 else 0


def colliders(shape: Shape, link: int, X: Array, padding: float = 0.0) -> list[Collider]:
    """A shape on a link, as distances are taken of it: solid, where its spheres or solids are.

    Meshes of triangles and height maps are their surface.
    """
    if isinstance(shape, Heightmap):
        shape = Mesh(shape.vertices, shape.faces, collide_as="triangles")
    if not isinstance(shape, VoxelGrid):
        return [Collider(shape, link, X, padding=padding)]
    box, places = Box((shape.spacing, shape.spacing, shape.spacing)), np.tile(X, (len(shape.centers), 1, 1))
    places[:, :3, 3] = shape.centers @ X[:3, :3].T + X[:3, 3]
    return [Collider(box, link, place, padding=padding) for place in places]


class ExactShapes:
    """Shapes of things, bodies or what is carried or obstacles, whose distances decide.

    Args:
        things: the shapes of each; `body` of a Collider is the link, or `WORLD`.
        R, p: rotations and positions of links in all lanes, flat.
        gap, need: of the lanes, flat.
    """

    def __init__(self, things: Sequence[Sequence[Collider]], R: Array, p: Array, gap: Array, need: Array):
        lanes, links = len(gap), len(p) // (3 * len(gap))
        shapes = [item._replace(body=links if item.body == WORLD else item.body) for thing in things for item in thing]
        rotation, position = np.tile(np.eye(3).ravel(), (links + 1, 1)), np.zeros((links + 1, 3))
        # No two bodies collide: only distances are wanted, and nothing about contacts is compiled.
        self._detector = NativeDetector(shapes, rotation, position, margin=0.0, collidable=np.zeros(links + 1, bool))
        place_shapes(self._detector.address)
        self.table = EXACT(
            things=len(things), things1=len(things) + 1, places=PLACES, lanes=lanes, R=R, p=p, gap=gap, need=need
        )
        self.table.collisions = self._detector.address
        self.table.first[1:] = np.cumsum([len(thing) for thing in things])
        self.table.link[:] = [thing[0].body if thing else WORLD for thing in things]
        self.table.pair[:] = self.table.placed[:] = -1


class Posed:
    """Whether things are apart at poses that are given.

    Args:
        things: as `ExactShapes` has them.
        links: how many there are.
    """

    def __init__(self, things: Sequence[Sequence[Collider]], links: int):
        self._R, self._p, self._stamp = np.zeros(9 * links), np.zeros(3 * links), 0
        self._exact = ExactShapes(things, self._R, self._p, np.zeros(1), np.zeros(1))
        self._link = self._exact.table.link

    def apart(self, first: int, second: int, poses: Sequence[Array]) -> bool:
        """Whether two things are apart, whose links have these poses (4, 4)."""
        self._stamp += 1
        for thing, X in zip((first, second), poses, strict=True):
            link = int(self._link[thing])
            self._R[9 * link : 9 * link + 9] = X[:3, :3].ravel()
            self._p[3 * link : 3 * link + 3] = X[:3, 3]
        return bool(are_apart(self._exact.table.address, first, second, self._stamp))
