"""Compiled queries on a COLLISION container: contacts without history, nearest pairs, distances of points.

Distances come from pair functions too, with a margin as large as the search: the point of least gap tells distance,
normal and both nearest points. `NEAREST_FUNCTIONS` takes the place of those that are made for manifolds.
"""

from __future__ import annotations

from typing import Any

from kido.collision.broad import find_pairs
from kido.collision.container import COLLISION, COMPOUND, CONTACTS_FULL
from kido.collision.manifold import add_point, reduce_manifold
from kido.collision.narrow import write_contacts, write_patches
from kido.collision.pairs import box, convex
from kido.collision.pairs.convex import NEAREST_AT, nearest_points
from kido.collision.patches import pair_points
from kido.collision.poses import update_bounds, update_poses
from kido.collision.sweep import deepest, work_points
from kido.jit import callback, entry, kernel, view

ANY_MARGIN = 1e30  # [m] a margin that everything is within


@callback
def convex_nearest(address, a, b, pair):
    """Two convex shapes: their nearest points alone."""
    c = view(COLLISION, address)
    number = c.number
    if not nearest_points(c, a, b, pair):
        return 0
    return add_point(
        c,
        0,
        c.position[a, 0] + number[NEAREST_AT + 4],
        c.position[a, 1] + number[NEAREST_AT + 5],
        c.position[a, 2] + number[NEAREST_AT + 6],
        number[NEAREST_AT + 3],
        0,
    )


NEAREST_FUNCTIONS: dict[Any, Any] = {box.box_box: convex_nearest, convex.convex_convex: convex_nearest}


@kernel
def run_pair(c, function, a, b, pair):
    """Calls a pair function with the shapes in the order of their types; `work_points` says what is left.

    Returns:
        count: work points.
        sign: of the work normal, to point from a to b.
    """
    if c.shape_type[a] > c.shape_type[b]:
        return work_points(c, function, b, a, pair), -1.0
    return work_points(c, function, a, b, pair), 1.0


@kernel
def function_of(c, table, a, b):
    """The function for two shapes in a table by types."""
    first, second = c.shape_type[a], c.shape_type[b]
    if first > second:
        first, second = second, first
    return table[first, second]


@entry("i8(i8)")
def place_shapes(address):
    """World poses and bounding boxes of all shapes; returns POSE_NOT_FINITE or 0."""
    c = view(COLLISION, address)
    status = update_poses(c)
    if status == 0:
        update_bounds(c)
    return status


@entry("i8(i8)")
def candidate_pairs(address):
    """Fills the candidate pairs; returns PAIRS_FULL or 0."""
    c = view(COLLISION, address)
    return find_pairs(c)


@entry("i8(i8, i8)")
def pair_contacts(address, most):
    """Contacts of the candidate pairs, the first `most` of them; returns CONTACTS_FULL or 0."""
    c = view(COLLISION, address)
    found = 0
    capacity = c.gap.shape[0]
    for p in range(c.num_pairs):
        if found < most:
            a, b = c.pair_a[p], c.pair_b[p]
            function = function_of(c, c.pair_function, a, b)
            if function != 0:
                c.pair_code[p] = 0
                for i in range(3):
                    c.pair_axis[p, i] = 0.0
                first, second, sign = a, b, 1.0
                if c.shape_type[a] > c.shape_type[b]:
                    first, second, sign = b, a, -1.0
                count = pair_points(c, function, first, second, p)
                if count > 0:
                    patches = c.shape_type[second] >= COMPOUND
                    if not patches:
                        count = reduce_manifold(c, count, 0, 0)
                    if found + count <= capacity:
                        if patches:
                            write_patches(c, p, found, sign)
                        else:
                            write_contacts(c, p, found, count, sign)
                    found += count
    c.contacts_found = found
    c.num_contacts = 0
    if found > capacity:
        return CONTACTS_FULL
    c.num_contacts = min(found, most)
    return 0


@entry("i8(i8)")
def any_contact(address):
    """The first candidate pair that touches, or -1."""
    c = view(COLLISION, address)
    for p in range(c.num_pairs):
        a, b = c.pair_a[p], c.pair_b[p]
        function = function_of(c, c.pair_function, a, b)
        if function != 0:
            c.pair_code[p] = 0
            for i in range(3):
                c.pair_axis[p, i] = 0.0
            count, _ = run_pair(c, function, a, b, p)
            if count > 0 and deepest(c, count) < c.margin:
                return p
    return -1


@kernel
def box_gap2(c, a, b):
    """Square of the distance of two bounding boxes, 0 if they overlap."""
    total = 0.0
    for i in range(3):
        d = max(c.aabb[a, i] - c.aabb[b, 3 + i], c.aabb[b, i] - c.aabb[a, 3 + i])
        if d > 0.0:
            total += d * d
    return total


@kernel
def pair_distance(c, function, a, b, limit):
    """Nearest points of two shapes.

    Returns:
        found: whether they are nearer than `limit`.
        gap: signed distance [m].
        p: (3 numbers) midway between the nearest points [m].
        n: (3 numbers) unit normal from a to b.
    """
    if function == 0:
        return False, limit, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    c.margin = limit
    c.pair_code[0] = 0
    for i in range(3):
        c.pair_axis[0, i] = 0.0
    count, sign = run_pair(c, function, a, b, 0)
    at = 0
    for k in range(1, count):
        if c.work_gap[k] < c.work_gap[at]:
            at = k
    if count == 0 or c.work_gap[at] >= limit:
        return False, limit, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    return (
        True,
        c.work_gap[at],
        c.work_point[at, 0],
        c.work_point[at, 1],
        c.work_point[at, 2],
        sign * c.work_normal[0],
        sign * c.work_normal[1],
        sign * c.work_normal[2],
    )


@entry("i8(i8, i8[:,::1], i8[:,::1], f8, f8[::1])")
def nearest_pair(address, table, pairs, limit, numbers):
    """The nearest of some pairs of shapes; returns its number, -1 if all are `limit` apart.

    Args:
        table: addresses of pair functions by types.
        pairs: (n, 2) shapes.
        numbers: (7,) gap, midpoint, normal from the first to the second.
    """
    c = view(COLLISION, address)
    margin = c.margin
    best, which = limit, -1
    for k in range(pairs.shape[0]):
        a, b = pairs[k, 0], pairs[k, 1]
        apart = box_gap2(c, a, b)
        if apart == 0.0 or (best > 0.0 and apart < best * best):
            found, gap, p0, p1, p2, n0, n1, n2 = pair_distance(c, function_of(c, table, a, b), a, b, best)
            if found:
                best, which = gap, k
                numbers[0], numbers[1], numbers[2], numbers[3] = gap, p0, p1, p2
                numbers[4], numbers[5], numbers[6] = n0, n1, n2
    c.margin = margin
    return which


@entry("i8(i8, i8[:,::1], i8[:,::1], f8, f8[:,::1])")
def pair_distances(address, table, pairs, limit, numbers):
    """Rows as `nearest_pair` gives for each pair; gaps of `limit` for those that are farther apart."""
    c = view(COLLISION, address)
    margin = c.margin
    for k in range(pairs.shape[0]):
        a, b = pairs[k, 0], pairs[k, 1]
        _, gap, p0, p1, p2, n0, n1, n2 = pair_distance(c, function_of(c, table, a, b), a, b, limit)
        numbers[k, 0], numbers[k, 1], numbers[k, 2], numbers[k, 3] = gap, p0, p1, p2
        numbers[k, 4], numbers[k, 5], numbers[k, 6] = n0, n1, n2
    c.margin = margin
    return 0


@entry("i8(i8, i8[:,::1], i8[::1], i8, f8[:,::1], i8[::1], f8[:,::1])")
def point_distances(address, table, wanted, probe, points, shape, numbers):
    """Signed distance of points from the nearest of the wanted shapes.

    Args:
        probe: a sphere of radius 0, which is moved to the points.
        points: (n, 3) world axes [m].
        shape: (n,) the nearest shape, -1 if there is none.
        numbers: (n, 4) distance [m], and outward unit normal of the surface, world axes.
    """
    c = view(COLLISION, address)
    margin = c.margin
    shapes = c.shape_body.shape[0]
    for k in range(points.shape[0]):
        for i in range(3):
            c.position[probe, i] = points[k, i]
            c.aabb[probe, i] = points[k, i]
            c.aabb[probe, 3 + i] = points[k, i]
        best = ANY_MARGIN
        shape[k] = -1
        for s in range(shapes):
            if wanted[s] != 0 and s != probe:
                apart = box_gap2(c, probe, s)
                if apart == 0.0 or (best > 0.0 and apart < best * best):
                    found, gap, _p0, _p1, _p2, n0, n1, n2 = pair_distance(
                        c, function_of(c, table, probe, s), s, probe, best
                    )
                    if found:
                        best = gap
                        shape[k] = s
                        numbers[k, 1], numbers[k, 2], numbers[k, 3] = n0, n1, n2
        numbers[k, 0] = best
    c.margin = margin
    return 0
