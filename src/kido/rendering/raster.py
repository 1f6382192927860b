"""What each sample of an image sees first: primitives by their rays, planes and triangles by their planes.

A camera looks along z, with x to the right and y down; (x, y, 1) is the way of a sample's ray, so that the fraction of
it is the depth z. 1/z is linear over the image for all that is plane. A triangle with corners a, b, c in camera axes
holds the point z d of the ray d with the shares z e, where e = [a b c]^-1 d is linear over the image too; nothing
needs to be cut at the near plane (Olano and Greer, Triangle scan conversion using 2D homogeneous coordinates, 1997).
"""

from __future__ import annotations

import math

from kido.collision.primitives import BOX, CAPSULE, CONE, CYLINDER, ELLIPSOID, ray_primitive
from kido.jit import kernel
from kido.rendering.structs import PLANE, SKIN, TRIANGLES

ALL, OPAQUE, TRANSPARENT, CASTERS = range(4)  # what is drawn
ON_EDGE = -1e-9  # share of a corner that still counts as inside: neighbours leave no gap


@kernel
def place_things(s, r, X, skin):
    """Poses of all things in camera axes, and their corners.

    Args:
        X: (bodies, 4, 4) world transforms.
        skin: (n, 3) points of all skins, body axes.
    """
    A, eye, C = r.axes, r.eye, r.place
    for i in range(s.kind.shape[0]):
        b = s.body[i]
        for column in range(4):
            w0, w1, w2 = s.place[i, column], s.place[i, 4 + column], s.place[i, 8 + column]
            if b >= 0:
                l0, l1, l2 = w0, w1, w2
                w0 = X[b, 0, 0] * l0 + X[b, 0, 1] * l1 + X[b, 0, 2] * l2
                w1 = X[b, 1, 0] * l0 + X[b, 1, 1] * l1 + X[b, 1, 2] * l2
                w2 = X[b, 2, 0] * l0 + X[b, 2, 1] * l1 + X[b, 2, 2] * l2
                if column == 3:
                    w0, w1, w2 = w0 + X[b, 0, 3], w1 + X[b, 1, 3], w2 + X[b, 2, 3]
            if column == 3:
                w0, w1, w2 = w0 - eye[0], w1 - eye[1], w2 - eye[2]
            for row in range(3):
                C[i, 4 * row + column] = A[3 * row] * w0 + A[3 * row + 1] * w1 + A[3 * row + 2] * w2
        if s.kind[i] >= TRIANGLES:
            place_corners(s, r, skin, i)


@kernel
def place_corners(s, r, skin, i):
    """Corners of a thing of triangles in camera axes, and where they are seen."""
    C, point = r.place, r.point
    first, target = s.vertices[i, 0], s.vertices[i, 2]
    for k in range(s.vertices[i, 1]):
        if s.kind[i] == SKIN:
            x, y, z = skin[first + k, 0], skin[first + k, 1], skin[first + k, 2]
        else:
            x, y, z = s.vertex[first + k, 0], s.vertex[first + k, 1], s.vertex[first + k, 2]
        p = target + k
        point[p, 0] = C[i, 0] * x + C[i, 1] * y + C[i, 2] * z + C[i, 3]
        point[p, 1] = C[i, 4] * x + C[i, 5] * y + C[i, 6] * z + C[i, 7]
        depth = C[i, 8] * x + C[i, 9] * y + C[i, 10] * z + C[i, 11]
        point[p, 2] = depth
        if depth >= r.near:
            point[p, 3] = point[p, 0] / depth * r.focal + r.center_x
            point[p, 4] = point[p, 1] / depth * r.focal + r.center_y


@kernel
def ray_way(r, column, row):
    """(x, y) of the ray (x, y, 1) through the middle of a sample."""
    return (column + 0.5 - r.center_x) / r.focal, (row + 0.5 - r.center_y) / r.focal


@kernel
def first_sample(low, least):
    """Number of the first sample whose middle is not below `low`."""
    return max(math.ceil(min(low, 1e9) - 0.5), least)


@kernel
def last_sample(high, most):
    """Number of the last sample whose middle is not above `high`."""
    return min(math.floor(max(high, -1e9) - 0.5), most)


@kernel
def half_extents(s, i):
    """Half edges of the box around a primitive, in its axes."""
    kind, a, b, c = s.kind[i], s.size[i, 0], s.size[i, 1], s.size[i, 2]
    if kind in (BOX, ELLIPSOID):
        return a, b, c
    if kind in (CYLINDER, CONE):
        return a, a, b
    if kind == CAPSULE:
        return a, a, a + b
    return a, a, a


@kernel
def seen_box(s, r, i):
    """Where a primitive may be seen [samples]: low and high column and row; nowhere: low above high."""
    C, R = r.place, s.radius[i]
    if C[i, 11] + R <= r.near:
        return 1.0, 1.0, -1.0, -1.0
    low_x, low_y, high_x, high_y = 1e9, 1e9, -1e9, -1e9
    a, b, c = half_extents(s, i)
    for corner in range(8):
        x = a if corner & 1 else -a
        y = b if corner & 2 else -b
        z = c if corner & 4 else -c
        depth = C[i, 8] * x + C[i, 9] * y + C[i, 10] * z + C[i, 11]
        if depth < r.near:
            return -1e9, -1e9, 1e9, 1e9
        u = (C[i, 0] * x + C[i, 1] * y + C[i, 2] * z + C[i, 3]) / depth * r.focal + r.center_x
        v = (C[i, 4] * x + C[i, 5] * y + C[i, 6] * z + C[i, 7]) / depth * r.focal + r.center_y
        low_x, high_x = min(low_x, u), max(high_x, u)
        low_y, high_y = min(low_y, v), max(high_y, v)
    return low_x, low_y, high_x, high_y


@kernel
def hit_primitive(s, r, i, x, y, scale):
    """Where the ray (x, y, 1) enters a primitive: 1/depth (0: nowhere), and the normal in its own axes."""
    C = r.place
    o0 = -(C[i, 0] * C[i, 3] + C[i, 4] * C[i, 7] + C[i, 8] * C[i, 11])
    o1 = -(C[i, 1] * C[i, 3] + C[i, 5] * C[i, 7] + C[i, 9] * C[i, 11])
    o2 = -(C[i, 2] * C[i, 3] + C[i, 6] * C[i, 7] + C[i, 10] * C[i, 11])
    d0 = scale * (C[i, 0] * x + C[i, 4] * y + C[i, 8])
    d1 = scale * (C[i, 1] * x + C[i, 5] * y + C[i, 9])
    d2 = scale * (C[i, 2] * x + C[i, 6] * y + C[i, 10])
    t, n0, n1, n2 = ray_primitive(s.kind[i], o0, o1, o2, d0, d1, d2, s.size[i, 0], s.size[i, 1], s.size[i, 2])
    if t > 1.0:
        return 0.0, 0.0, 0.0, 0.0
    return 1.0 / (max(t, 1e-12) * scale), n0, n1, n2


@kernel
def draw_primitive(s, r, i, begin, end):
    """Samples of rows begin..end-1 that see a primitive."""
    low_x, low_y, high_x, high_y = seen_box(s, r, i)
    first, last = first_sample(low_x, 0), last_sample(high_x, r.columns - 1)
    inverse, limit = r.inverse, r.limit
    for row in range(first_sample(low_y, begin), last_sample(high_y, end - 1) + 1):
        k = (row - begin) * r.columns
        for column in range(first, last + 1):
            x, y = ray_way(r, column, row)
            w, _n0, _n1, _n2 = hit_primitive(s, r, i, x, y, r.far)
            if w > inverse[k + column] and w < limit[k + column]:
                inverse[k + column] = w
                r.owner[k + column] = i


@kernel
def draw_plane(s, r, i, begin, end):
    """Samples of rows begin..end-1 that see a plane, from its outer side."""
    C = r.place
    n0, n1, n2 = C[i, 2], C[i, 6], C[i, 10]
    height = n0 * C[i, 3] + n1 * C[i, 7] + n2 * C[i, 11]
    if height >= 0.0:
        return
    slope = n0 / (height * r.focal)
    inverse, limit, owner = r.inverse, r.limit, r.owner
    for row in range(begin, end):
        x, y = ray_way(r, 0, row)
        w = (n0 * x + n1 * y + n2) / height
        k = (row - begin) * r.columns
        for column in range(r.columns):
            v = w + column * slope
            if v > inverse[k + column] and v < limit[k + column]:
                inverse[k + column] = v
                owner[k + column] = i


@kernel
def seen_triangle(r, a, b, c):
    """Where a triangle with these corners may be seen [samples]: low and high column and row."""
    point, near = r.point, r.near
    low_x, low_y, high_x, high_y = 1e9, 1e9, -1e9, -1e9
    for edge in range(3):
        p = a if edge == 0 else (b if edge == 1 else c)
        q = b if edge == 0 else (c if edge == 1 else a)
        if point[p, 2] >= near:
            low_x, high_x = min(low_x, point[p, 3]), max(high_x, point[p, 3])
            low_y, high_y = min(low_y, point[p, 4]), max(high_y, point[p, 4])
        if (point[p, 2] >= near) != (point[q, 2] >= near):  # the edge goes through the near plane
            share = (near - point[p, 2]) / (point[q, 2] - point[p, 2])
            x = (point[p, 0] + share * (point[q, 0] - point[p, 0])) / near * r.focal + r.center_x
            y = (point[p, 1] + share * (point[q, 1] - point[p, 1])) / near * r.focal + r.center_y
            low_x, high_x = min(low_x, x), max(high_x, x)
            low_y, high_y = min(low_y, y), max(high_y, y)
    return low_x, low_y, high_x, high_y


@kernel
def corner_shares(r, a, b, c):
    """[a b c]^-1 of a triangle's corners (9 numbers row by row), and 0.0 instead of the last if it is seen edge on."""
    point = r.point
    a0, a1, a2 = point[a, 0], point[a, 1], point[a, 2]
    b0, b1, b2 = point[b, 0], point[b, 1], point[b, 2]
    c0, c1, c2 = point[c, 0], point[c, 1], point[c, 2]
    p0, p1, p2 = b1 * c2 - b2 * c1, b2 * c0 - b0 * c2, b0 * c1 - b1 * c0
    volume = a0 * p0 + a1 * p1 + a2 * p2
    if volume == 0.0:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    f = 1.0 / volume
    q0, q1, q2 = c1 * a2 - c2 * a1, c2 * a0 - c0 * a2, c0 * a1 - c1 * a0
    s0, s1, s2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
    return f * p0, f * p1, f * p2, f * q0, f * q1, f * q2, f * s0, f * s1, f * s2


@kernel
def draw_triangles(s, r, i, begin, end):
    """Samples of rows begin..end-1 that see a thing of triangles, from either side."""
    inverse, limit, base, step = r.inverse, r.limit, s.vertices[i, 2], 1.0 / r.focal
    point = r.point
    for f in range(s.faces[i, 0], s.faces[i, 1]):
        a, b, c = base + s.face[f, 0], base + s.face[f, 1], base + s.face[f, 2]
        if point[a, 2] >= r.near and point[b, 2] >= r.near and point[c, 2] >= r.near:
            low_y, high_y = min(point[a, 4], point[b, 4], point[c, 4]), max(point[a, 4], point[b, 4], point[c, 4])
            low_x, high_x = min(point[a, 3], point[b, 3], point[c, 3]), max(point[a, 3], point[b, 3], point[c, 3])
        else:
            low_x, low_y, high_x, high_y = seen_triangle(r, a, b, c)
        top, bottom = first_sample(low_y, begin), last_sample(high_y, end - 1)
        left, right = first_sample(low_x, 0), last_sample(high_x, r.columns - 1)
        if top > bottom or left > right:
            continue
        a0, a1, a2, b0, b1, b2, c0, c1, c2 = corner_shares(r, a, b, c)
        sum0 = step * (a0 + b0 + c0)
        for row in range(top, bottom + 1):
            x, y = ray_way(r, left, row)
            ea, eb, ec = a0 * x + a1 * y + a2, b0 * x + b1 * y + b2, c0 * x + c1 * y + c2
            w = ea + eb + ec
            k = (row - begin) * r.columns + left
            for m in range(right - left + 1):
                v = w + m * sum0
                least = min(ea + m * step * a0, eb + m * step * b0, ec + m * step * c0)
                if least >= ON_EDGE * v and v > inverse[k + m] and v < limit[k + m]:
                    inverse[k + m] = v
                    r.owner[k + m] = i
                    r.facet[k + m] = f


@kernel
def draw_things(s, r, begin, end, which):
    """What samples of rows begin..end-1 see first, into `inverse`, `owner` and `facet`, if nearer than what is there.

    Args:
        which: ALL that depth images have, OPAQUE, TRANSPARENT or CASTERS of shadows.
    """
    for i in range(s.kind.shape[0]):
        if which == ALL and s.shape[i] < 0:
            continue
        if which in (OPAQUE, CASTERS) and s.color[i, 3] < 1.0:
            continue
        if which == TRANSPARENT and s.color[i, 3] >= 1.0:
            continue
        if which == CASTERS and s.casts[i] == 0:
            continue
        if s.kind[i] == PLANE:
            draw_plane(s, r, i, begin, end)
        elif s.kind[i] < TRIANGLES:
            draw_primitive(s, r, i, begin, end)
        else:
            draw_triangles(s, r, i, begin, end)


@kernel
def start_rows(r, count):
    """Nothing is seen yet by the first `count` samples."""
    far, near = 1.0 / r.far, 1.0 / r.near
    for k in range(count):
        r.inverse[k] = far
        r.limit[k] = near
        r.owner[k] = -1
