"""Patches: the contacts of a pair of which a shape is not convex.

Such a pair touches at many places and in several directions. Its points are filed by the direction of their
normals. Of the points of one direction only the outline matters: whatever pushes and rubs at a point inside of it
can be had, as a sum, from points on it. So each patch keeps up to eight points, its outline and its deepest point,
and there are as many patches as there are directions.
"""

from __future__ import annotations

import math

from kido.collision.container import COMPOUND, MAX_PATCH, MAX_PATCH_POINTS, PART_AT
from kido.collision.manifold import triangle_area
from kido.jit import caller, kernel

call_pair = caller("COLLISION.pair_function")
SAME_NORMAL = 0.999999  # cosine of the angle of normals in one patch
SAME_POINT = 1e-6  # fraction of the size within which two points are one
LINE = 1e-6  # area, as a fraction of the squared extent, that is worth another point


@kernel
def start_patches(c):
    """Forgets all patches."""
    c.num_patches = 0
    return 0


@kernel
def pair_points(c, function, s, t, pair):
    """Calls a pair function for two shapes of which the surfaces lie out by their paddings; returns what it returns."""
    padding = c.shape_padding[s] + c.shape_padding[t]
    if padding == 0.0:
        return call_pair(function, c.address, s, t, pair)
    margin = c.margin
    c.margin = margin + padding
    count = call_pair(function, c.address, s, t, pair)
    c.margin = margin
    shift = 0.5 * (c.shape_padding[s] - c.shape_padding[t])
    if c.shape_type[t] < COMPOUND:
        for k in range(count):
            c.work_gap[k] -= padding
            for i in range(3):
                c.work_point[k, i] += shift * c.work_normal[i]
    else:
        for patch in range(c.num_patches):
            for k in range(patch * MAX_PATCH_POINTS, patch * MAX_PATCH_POINTS + c.patch_count[patch]):
                c.patch_gap[k] -= padding
                for i in range(3):
                    c.patch_point[k, i] += shift * c.patch_normal[k, i]
    return count


@kernel
def take_point(c, k, at):
    """Copies point k of the patches to work point `at`, and its normal to the pair's."""
    for i in range(3):
        c.work_point[at, i] = c.patch_point[k, i]
        c.work_normal[i] = c.patch_normal[k, i]
    c.work_gap[at] = c.patch_gap[k]
    c.work_key[at] = c.patch_key[k]
    return 0


@kernel
def _farthest(c, base, count, k):
    """The patch point farthest from point k, and its squared distance."""
    p = c.patch_point
    best, at = 0.0, k
    for j in range(base, base + count):
        x, y, z = p[j, 0] - p[k, 0], p[j, 1] - p[k, 1], p[j, 2] - p[k, 2]
        d = x * x + y * y + z * z
        if d > best:
            best, at = d, j
    return at, best


@kernel
def _outline(c, base, count, limit):
    """Points of the outline of a patch into `ring`, at most `limit` of them; returns how many, and the patch's
    squared extent."""
    p, ring = c.patch_point, c.ring
    n0, n1, n2 = c.patch_normal[base, 0], c.patch_normal[base, 1], c.patch_normal[base, 2]
    first, _ = _farthest(c, base, count, base)
    second, square = _farthest(c, base, count, first)
    ring[0], ring[1] = first, second
    if square == 0.0:
        return 1, square
    made = 2
    while made < limit:
        best, at, edge = LINE * square, -1, 0
        for k in range(base, base + count):
            for e in range(made):
                following = ring[e + 1] if e + 1 < made else ring[0]
                out = -triangle_area(p, n0, n1, n2, ring[e], following, k)
                if out > best:
                    best, at, edge = out, k, e
        if at < 0:
            break
        for e in range(made, edge + 1, -1):
            ring[e] = ring[e - 1]
        ring[edge + 1] = at
        made += 1
    return made, square


@kernel
def reduce_patch(c, patch):
    """Keeps at most PATCH points of a patch, moved to the front: its outline, and its deepest point if that is not
    as deep as one of these."""
    count, base = c.patch_count[patch], patch * MAX_PATCH_POINTS
    keep, gap, key = c.work_keep, c.patch_gap, c.patch_key
    deepest = base
    for k in range(base, base + count):
        keep[k - base] = 0
        if gap[k] < gap[deepest]:
            deepest = k
    made, square = _outline(c, base, count, MAX_PATCH - 1)
    lowest = 1e300
    for e in range(made):
        keep[c.ring[e] - base] = 1
        lowest = min(lowest, gap[c.ring[e]])
    if gap[deepest] < lowest - SAME_POINT * math.sqrt(square):
        keep[deepest - base] = 1
    kept = base
    for k in range(base, base + count):
        if keep[k - base] == 1:
            for i in range(3):
                c.patch_point[kept, i] = c.patch_point[k, i]
                c.patch_normal[kept, i] = c.patch_normal[k, i]
            gap[kept] = gap[k]
            key[kept] = key[k]
            kept += 1
    c.patch_count[patch] = kept - base
    return kept - base


@kernel
def _patch_of(c, x, y, z):
    """The patch of a normal: an old one, a new one, or the nearest if there is room for no more."""
    best, at = -2.0, 0
    for patch in range(c.num_patches):
        k = patch * MAX_PATCH_POINTS
        d = c.patch_normal[k, 0] * x + c.patch_normal[k, 1] * y + c.patch_normal[k, 2] * z
        if d > best:
            best, at = d, patch
    if best < SAME_NORMAL and c.num_patches < c.patch_count.shape[0]:
        at = c.num_patches
        c.num_patches = at + 1
        c.patch_count[at] = 0
    return at


@kernel
def file_points(c, made, sign, part, size):
    """Files `made` work points of a part, whose normals are `sign` times the work normal; `size` is the smaller
    shape's. Of two points at one place the deeper one stays."""
    point, work_point, work_normal = c.patch_point, c.work_point, c.work_normal
    if made == 0:
        return 0
    near = SAME_POINT * size
    patch = _patch_of(c, sign * work_normal[0], sign * work_normal[1], sign * work_normal[2])
    base = patch * MAX_PATCH_POINTS
    for w in range(made):
        at = -1
        for k in range(base, base + c.patch_count[patch]):
            x = point[k, 0] - work_point[w, 0]
            y = point[k, 1] - work_point[w, 1]
            z = point[k, 2] - work_point[w, 2]
            if at < 0 and x * x + y * y + z * z < near * near:
                at = k
        if at < 0:
            if c.patch_count[patch] == MAX_PATCH_POINTS:
                reduce_patch(c, patch)
            at = base + c.patch_count[patch]
            c.patch_count[patch] += 1
        elif c.patch_gap[at] <= c.work_gap[w]:
            continue
        for i in range(3):
            point[at, i] = work_point[w, i]
            c.patch_normal[at, i] = sign * work_normal[i]
        c.patch_gap[at] = c.work_gap[w]
        c.patch_key[at] = (c.work_key[w] & ((1 << PART_AT) - 1)) + ((part + 1) << PART_AT)
    return 0


@kernel
def finish_patches(c):
    """Reduces all patches; returns the number of their points."""
    total = 0
    for patch in range(c.num_patches):
        total += reduce_patch(c, patch)
    return total
