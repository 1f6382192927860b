"""Colours of what samples see: a matt surface under the sky, a key light with shadows, and a fill light.

All colours are linear light. The colour of a matt surface is its own times what falls on it: from the sky and the
ground by how far its normal points up, and from each lamp by the cosine of the angle to its normal.
"""

from __future__ import annotations

import math

from kido.jit import kernel
from kido.math.so3 import cross
from kido.rendering.raster import CASTERS, corner_shares, draw_things, hit_primitive, place_things, ray_way, start_rows
from kido.rendering.structs import PLANE, SKIN, TRIANGLES

SKY = (0.32, 0.34, 0.38)
GROUND = (0.13, 0.125, 0.12)
KEY, FILL = 0.74, 0.14
# Of the grid on the ground: how much darker lines are, and their width in samples.
CELL_LINE, SECTION_LINE = 0.24, 0.46
LINE_WIDTH = 0.8
SUN_AWAY = 50.0  # distance of the light from the middle of what throws shadows, by its size


@kernel
def pixel_of(s, first, width, height, column, row):
    """Linear colour (3) of a pixel of an image that repeats itself."""
    packed = s.pixel[first + (row % height) * width + column % width]
    L = s.light_of
    return L[packed >> 16], L[(packed >> 8) & 255], L[packed & 255]


@kernel
def texture_color(s, k, u, v, footprint):
    """Linear colour (3) of an image at (u, v), between its pixels.

    Args:
        footprint: edge of what a sample sees, as a share of a unit of u and v: tells how often the image is halved.
    """
    m = s.image[k]
    first, width, height = s.size_of[m, 0], s.size_of[m, 1], s.size_of[m, 2]
    wide = footprint * math.sqrt(float(width * height))
    while wide > 1.5 and (width > 1 or height > 1):
        first += width * height
        width, height, wide = max(width // 2, 1), max(height // 2, 1), 0.5 * wide
    x, y = (u - math.floor(u)) * width - 0.5, (1.0 - (v - math.floor(v))) * height - 0.5
    column, row = math.floor(x), math.floor(y)
    fx, fy = x - column, y - row
    red, green, blue = 0.0, 0.0, 0.0
    for j in range(2):
        for i in range(2):
            share = (fx if i == 1 else 1.0 - fx) * (fy if j == 1 else 1.0 - fy)
            c0, c1, c2 = pixel_of(s, first, width, height, int(column) + i, int(row) + j)
            red, green, blue = red + share * c0, green + share * c1, blue + share * c2
    return red, green, blue


@kernel
def normal_of(s, r, i, f, x, y, size):
    """Normal of what the ray (x, y, 1) sees of thing i, face f: camera axes, against the ray; and colour (3).

    Args:
        size: samples that are drawn as one, along either edge.
    """
    C = r.place
    red, green, blue = s.color[i, 0], s.color[i, 1], s.color[i, 2]
    if s.kind[i] == PLANE:
        return C[i, 2], C[i, 6], C[i, 10], red, green, blue
    if s.kind[i] < TRIANGLES:
        _w, m0, m1, m2 = hit_primitive(s, r, i, x, y, r.far)
    else:
        a, b, c = s.face[f, 0], s.face[f, 1], s.face[f, 2]
        base = s.vertices[i, 2]
        a0, a1, a2, b0, b1, b2, c0, c1, c2 = corner_shares(r, base + a, base + b, base + c)
        if s.kind[i] == SKIN:
            # The rows sum to a vector along the normal: the plane of the triangle is that of points with shares of 1.
            n0, n1, n2 = a0 + b0 + c0, a1 + b1 + c1, a2 + b2 + c2
            size = math.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
            sign = -1.0 / size if n0 * x + n1 * y + n2 > 0.0 else 1.0 / size
            return sign * n0, sign * n1, sign * n2, red, green, blue
        ea, eb, ec = a0 * x + a1 * y + a2, b0 * x + b1 * y + b2, c0 * x + c1 * y + c2
        t = 1.0 / (ea + eb + ec)
        ea, eb, ec = t * ea, t * eb, t * ec
        first = s.vertices[i, 0]
        a, b, c = first + a, first + b, first + c
        m0 = ea * s.normal[a, 0] + eb * s.normal[b, 0] + ec * s.normal[c, 0]
        m1 = ea * s.normal[a, 1] + eb * s.normal[b, 1] + ec * s.normal[c, 1]
        m2 = ea * s.normal[a, 2] + eb * s.normal[b, 2] + ec * s.normal[c, 2]
        o0, o1, o2 = cross(
            s.vertex[b, 0] - s.vertex[a, 0], s.vertex[b, 1] - s.vertex[a, 1], s.vertex[b, 2] - s.vertex[a, 2],
            s.vertex[c, 0] - s.vertex[a, 0], s.vertex[c, 1] - s.vertex[a, 1], s.vertex[c, 2] - s.vertex[a, 2],
        )  # fmt: skip
        along = (
            (C[i, 0] * x + C[i, 4] * y + C[i, 8]) * o0
            + (C[i, 1] * x + C[i, 5] * y + C[i, 9]) * o1
            + (C[i, 2] * x + C[i, 6] * y + C[i, 10]) * o2
        )
        if along > 0.0:  # its back is seen
            m0, m1, m2 = -m0, -m1, -m2
        k = s.covered[f]
        if k >= 0:
            T = s.corner
            u = ea * T[k, 0] + eb * T[k, 2] + ec * T[k, 4]
            v = ea * T[k, 1] + eb * T[k, 3] + ec * T[k, 5]
            shown = (T[k, 2] - T[k, 0]) * (T[k, 5] - T[k, 1]) - (T[k, 3] - T[k, 1]) * (T[k, 4] - T[k, 0])
            # A sample sees (t size / focal)^2 / |d . n| of the triangle's plane.
            step = size * t / r.focal
            seen = step * step * math.fabs(shown) / max(math.fabs(along), 1e-300)
            red, green, blue = texture_color(s, k, u, v, math.sqrt(seen))
        elif s.tint[a, 0] >= 0.0:
            red = ea * s.tint[a, 0] + eb * s.tint[b, 0] + ec * s.tint[c, 0]
            green = ea * s.tint[a, 1] + eb * s.tint[b, 1] + ec * s.tint[c, 1]
            blue = ea * s.tint[a, 2] + eb * s.tint[b, 2] + ec * s.tint[c, 2]
    n0 = C[i, 0] * m0 + C[i, 1] * m1 + C[i, 2] * m2
    n1 = C[i, 4] * m0 + C[i, 5] * m1 + C[i, 6] * m2
    n2 = C[i, 8] * m0 + C[i, 9] * m1 + C[i, 10] * m2
    away = (n0 * x + n1 * y + n2) / (x * x + y * y + 1.0)
    if away > 0.0:  # where a mesh that is drawn smooth turns away at a ridge, as far as can be seen
        n0, n1, n2 = n0 - away * x, n1 - away * y, n2 - away
    size = math.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
    sign = 1.0 / size if size > 0.0 else 0.0
    return sign * n0, sign * n1, sign * n2, red, green, blue


@kernel
def line_share(position, spacing, footprint):
    """How much of a sample a grid's lines cover, which are `spacing` apart."""
    away = math.fabs(position - math.floor(position / spacing + 0.5) * spacing)
    width = max(LINE_WIDTH * footprint, 1e-12)
    fine = min(1.0, spacing / (6.0 * footprint + 1e-12))  # lines closer than samples fade away
    return fine * max(0.0, 1.0 - away / width)


@kernel
def grid_share(s, r, i, x, y, t, size):
    """How much darker the ground is where the ray (x, y, 1) meets it at depth t: lines of its grid.

    Args:
        size: samples that are drawn as one, along either edge.
    """
    C, cell = r.place, s.size[i, 0]
    q0, q1, q2 = t * x - C[i, 3], t * y - C[i, 7], t - C[i, 11]
    u = C[i, 0] * q0 + C[i, 4] * q1 + C[i, 8] * q2
    v = C[i, 1] * q0 + C[i, 5] * q1 + C[i, 9] * q2
    length = math.sqrt(x * x + y * y + 1.0)
    # Seen at a glance, a sample covers more of the plane along the way than across.
    steep = max(math.fabs(C[i, 2] * x + C[i, 6] * y + C[i, 10]) / length, 1e-4)
    across = size * t * length / r.focal
    along = across / steep
    share = 0.0
    for axis in range(2):
        p = u if axis == 0 else v
        e = math.fabs(C[i, axis] * x + C[i, 4 + axis] * y + C[i, 8 + axis]) / length  # the axis along the way
        footprint = across + (along - across) * e
        share = max(share, CELL_LINE * line_share(p, cell, footprint))
        share = max(share, SECTION_LINE * line_share(p, 5.0 * cell, 1.3 * footprint))
    return share


@kernel
def lit_share(r, p0, p1, p2, n0, n1, n2):
    """How much of the key light reaches the point p with normal n, camera axes."""
    L, size = r.to_sun, r.texels
    q0, q1, q2 = p0 + 2.0 * r.texel * n0, p1 + 2.0 * r.texel * n1, p2 + 2.0 * r.texel * n2
    x = L[0] * q0 + L[1] * q1 + L[2] * q2 + L[3]
    y = L[4] * q0 + L[5] * q1 + L[6] * q2 + L[7]
    z = L[8] * q0 + L[9] * q1 + L[10] * q2 + L[11]
    if z <= 0.0:
        return 1.0
    u, v = x / z * r.sun_focal + 0.5 * size - 0.5, y / z * r.sun_focal + 0.5 * size - 0.5
    if u < 1.0 or v < 1.0 or u >= size - 3.0 or v >= size - 3.0:
        return 1.0
    column, row = int(u), int(v)
    fu, fv = u - column, v - row
    w = 1.0 / (z - r.texel)
    lit = 0.0
    for j in range(-1, 3):  # a texel and its neighbours, those at the rim by the share that is theirs
        by_row = 1.0 - fv if j == -1 else (fv if j == 2 else 1.0)
        for k in range(-1, 3):
            by_column = 1.0 - fu if k == -1 else (fu if k == 2 else 1.0)
            if r.shadow[(row + j) * size + column + k] < w:
                lit += by_row * by_column
    return lit / 9.0


@kernel
def shade_sample(s, r, i, f, column, row, w, size):
    """Linear colour (3) of what a sample sees at depth 1/w; `size` samples along either edge are drawn as one."""
    x, y = ray_way(r, column, row)
    t = 1.0 / w
    n0, n1, n2, red, green, blue = normal_of(s, r, i, f, x, y, size)
    if s.kind[i] == PLANE and s.size[i, 0] > 0.0:
        share = 1.0 - grid_share(s, r, i, x, y, t, size)
        red, green, blue = share * red, share * green, share * blue
    G = r.light
    key = n0 * G[3] + n1 * G[4] + n2 * G[5]
    if key > 0.0 and r.texels > 0:
        key *= lit_share(r, t * x, t * y, t, n0, n1, n2)
    lamps = KEY * max(key, 0.0) + FILL * max(n0 * G[6] + n1 * G[7] + n2 * G[8], 0.0)
    high = 0.5 + 0.5 * (n0 * G[0] + n1 * G[1] + n2 * G[2])
    red *= lamps + GROUND[0] + high * (SKY[0] - GROUND[0])
    green *= lamps + GROUND[1] + high * (SKY[1] - GROUND[1])
    blue *= lamps + GROUND[2] + high * (SKY[2] - GROUND[2])
    return red, green, blue


@kernel
def haze(s, x, y, t):
    """How much the ground looks as the sky behind it at depth t."""
    far = t * math.sqrt(x * x + y * y + 1.0) / s.fade
    return 1.0 - math.exp(-far * far)


@kernel
def look_from(r, X):
    """Have the work space draw what a camera with world pose X (4, 4) sees; lights stay where they are."""
    for k in range(3):
        r.eye[k] = X[k, 3]
        for j in range(3):
            r.axes[3 * j + k] = X[k, j]


@kernel
def turn_lights(r, lights):
    """Lights in camera axes; lights (3, 3): up, towards the key and towards the fill light, world axes."""
    for m in range(3):
        for k in range(3):
            A = r.axes
            r.light[3 * m + k] = A[3 * k] * lights[m, 0] + A[3 * k + 1] * lights[m, 1] + A[3 * k + 2] * lights[m, 2]


@kernel
def cast_shadows(s, r, X, skin, lights):
    """Map of what the key light falls on first, seen from far away; the camera is left where it was."""
    C, A = r.place, r.axes
    low0, low1, low2, high0, high1, high2 = 1e300, 1e300, 1e300, -1e300, -1e300, -1e300
    for i in range(s.kind.shape[0]):
        if s.casts[i] != 0:
            R = s.radius[i]
            low0, high0 = min(low0, C[i, 3] - R), max(high0, C[i, 3] + R)
            low1, high1 = min(low1, C[i, 7] - R), max(high1, C[i, 7] + R)
            low2, high2 = min(low2, C[i, 11] - R), max(high2, C[i, 11] + R)
    size = r.texels
    for k in range(size * size):
        r.shadow[k] = 0.0
    if low0 > high0:
        return
    c0, c1, c2 = 0.5 * (low0 + high0), 0.5 * (low1 + high1), 0.5 * (low2 + high2)
    d0, d1, d2 = high0 - low0, high1 - low1, high2 - low2
    radius = max(0.5 * math.sqrt(d0 * d0 + d1 * d1 + d2 * d2), 1e-6)
    far = SUN_AWAY * radius
    # What is kept of the camera.
    eye0, eye1, eye2 = r.eye[0], r.eye[1], r.eye[2]
    a0, a1, a2, b0, b1, b2 = A[0], A[1], A[2], A[3], A[4], A[5]
    e0, e1, e2 = A[6], A[7], A[8]
    focal, near, most = r.focal, r.near, r.far
    center_x, center_y, columns = r.center_x, r.center_y, r.columns
    # A camera at the light, with any axis to the right.
    z0, z1, z2 = -lights[1, 0], -lights[1, 1], -lights[1, 2]
    if math.fabs(z0) < 0.7:
        x0, x1, x2 = 0.0, z2, -z1
    else:
        x0, x1, x2 = -z2, 0.0, z0
    length = math.sqrt(x0 * x0 + x1 * x1 + x2 * x2)
    x0, x1, x2 = x0 / length, x1 / length, x2 / length
    A[0], A[1], A[2] = x0, x1, x2
    A[3], A[4], A[5] = z1 * x2 - z2 * x1, z2 * x0 - z0 * x2, z0 * x1 - z1 * x0
    A[6], A[7], A[8] = z0, z1, z2
    r.eye[0] = eye0 + a0 * c0 + b0 * c1 + e0 * c2 - far * z0
    r.eye[1] = eye1 + a1 * c0 + b1 * c1 + e1 * c2 - far * z1
    r.eye[2] = eye2 + a2 * c0 + b2 * c1 + e2 * c2 - far * z2
    r.sun_focal = 0.49 * size * (far - radius) / radius
    r.texel = radius / (0.49 * size)
    r.focal, r.near, r.far = r.sun_focal, far - 1.1 * radius, far + 1.1 * radius
    r.center_x, r.center_y, r.columns = 0.5 * size, 0.5 * size, size
    L = r.to_sun
    for j in range(3):
        m0, m1, m2 = A[3 * j], A[3 * j + 1], A[3 * j + 2]
        L[4 * j] = m0 * a0 + m1 * a1 + m2 * a2
        L[4 * j + 1] = m0 * b0 + m1 * b1 + m2 * b2
        L[4 * j + 2] = m0 * e0 + m1 * e1 + m2 * e2
        L[4 * j + 3] = m0 * (eye0 - r.eye[0]) + m1 * (eye1 - r.eye[1]) + m2 * (eye2 - r.eye[2])
    place_things(s, r, X, skin)
    rows = r.inverse.shape[0] // size
    for begin in range(0, size, rows):
        end = min(begin + rows, size)
        start_rows(r, (end - begin) * size)
        draw_things(s, r, begin, end, CASTERS)
        for k in range((end - begin) * size):
            r.shadow[begin * size + k] = r.inverse[k] if r.owner[k] >= 0 else 0.0
    r.eye[0], r.eye[1], r.eye[2] = eye0, eye1, eye2
    A[0], A[1], A[2], A[3], A[4], A[5] = a0, a1, a2, b0, b1, b2
    A[6], A[7], A[8] = e0, e1, e2
    r.focal, r.near, r.far = focal, near, most
    r.center_x, r.center_y, r.columns = center_x, center_y, columns
