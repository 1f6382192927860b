"""How far centres of eight spheres are from a solid of the surroundings, and in which direction that grows.

A function returns the distance, negative inside, and the unit vector along which it grows fastest; to rounding the
distance is positive where `kido.planning.solids` says that a sphere without radius is clear. Inside of boxes,
capsules, cylinders and half spaces it is the depth to the nearest side; of polyhedra their faces tell it near them,
and INSIDE farther in.
"""

from __future__ import annotations

import math

from kido.jit import inlined, kernel, where_positive
from kido.math.choices import larger, smaller
from kido.planning.solids import abs_of
from kido.planning.tables import AXES_BOX, BOX, CAPSULE, CYLINDER, HALF_SPACE, TRIANGLE

TINY = 1e-300  # under roots that are divided by
FAR = 1e9  # of what a solid says nothing about [m]


@inlined
def signed(x, size):
    """A size with the sign of x."""
    return where_positive(x, size, -size)


@inlined
def around(x, y, z, i, j, k):
    """Distance from a box of half edges (i, j, k) about the origin, and the direction away from it."""
    a, b, c = abs_of(x) - i, abs_of(y) - j, abs_of(z) - k
    u, v, w = larger(a, 0.0 * a), larger(b, 0.0 * b), larger(c, 0.0 * c)
    out2 = u * u + v * v + w * w
    out = math.sqrt(out2 + TINY)
    most = larger(larger(a, b), c)
    first = where_positive(b - a, 0.0, where_positive(c - a, 0.0, 1.0 + 0.0 * a))
    second = where_positive(first, 0.0, where_positive(c - b, 0.0, 1.0 + 0.0 * a))
    third = 1.0 - first - second
    nx = signed(x, where_positive(out2, u / out, first))
    ny = signed(y, where_positive(out2, v / out, second))
    nz = signed(z, where_positive(out2, w / out, third))
    return where_positive(out2, out, most), nx, ny, nz


@kernel
def axes_box_depth(s, m, x, y, z):
    """Of an axis-parallel box."""
    i, j, k = 0.5 * (s.high[m, 0] - s.low[m, 0]), 0.5 * (s.high[m, 1] - s.low[m, 1]), 0.5 * (s.high[m, 2] - s.low[m, 2])
    return around(x - s.low[m, 0] - i, y - s.low[m, 1] - j, z - s.low[m, 2] - k, i, j, k)


@kernel
def box_depth(v, m, x, y, z):
    """Of a box, see `turned_box_gap`."""
    x, y, z = x - v[m, 9], y - v[m, 10], z - v[m, 11]
    depth, a, b, c = around(
        v[m, 0] * x + v[m, 3] * y + v[m, 6] * z,
        v[m, 1] * x + v[m, 4] * y + v[m, 7] * z,
        v[m, 2] * x + v[m, 5] * y + v[m, 8] * z,
        v[m, 12], v[m, 13], v[m, 14],
    )  # fmt: skip
    return (
        depth,
        v[m, 0] * a + v[m, 1] * b + v[m, 2] * c,
        v[m, 3] * a + v[m, 4] * b + v[m, 5] * c,
        v[m, 6] * a + v[m, 7] * b + v[m, 8] * c,
    )


@inlined
def from_segment(x, y, z, ax, ay, az, scale):
    """The way from the nearest point of the segment 0 to a, scale = 1 / |a|^2."""
    s = smaller(larger((x * ax + y * ay + z * az) * scale, 0.0 * x), 0.0 * x + 1.0)
    return x - s * ax, y - s * ay, z - s * az


@inlined
def away(x, y, z):
    """Length and direction of a way."""
    d = math.sqrt(x * x + y * y + z * z + TINY)
    return d, x / d, y / d, z / d


@kernel
def capsule_depth(v, m, x, y, z):
    """Of a capsule or ball, see `capsule_gap`."""
    a, b, c = from_segment(
        x - v[m, 0], y - v[m, 1], z - v[m, 2], v[m, 3], v[m, 4], v[m, 5], v[m, 6]
    )  # fmt: skip
    d, a, b, c = away(a, b, c)
    return d - v[m, 7], a, b, c


@kernel
def cylinder_depth(v, m, x, y, z):
    """Of a cylinder, see `cylinder_gap`."""
    x, y, z = x - v[m, 0], y - v[m, 1], z - v[m, 2]
    ax, ay, az = v[m, 3], v[m, 4], v[m, 5]
    along = x * ax + y * ay + z * az
    across, rx, ry, rz = away(x - along * ax, y - along * ay, z - along * az)
    a, b = abs_of(along) - v[m, 6], across - v[m, 7]
    u, w = larger(a, 0.0 * a), larger(b, 0.0 * b)
    out2 = u * u + w * w
    out = math.sqrt(out2 + TINY)
    f = signed(along, where_positive(out2, u / out, where_positive(a - b, 1.0, 0.0 * a)))
    g = where_positive(out2, w / out, where_positive(a - b, 0.0, 1.0 + 0.0 * a))
    return where_positive(out2, out, larger(a, b)), f * ax + g * rx, f * ay + g * ry, f * az + g * rz


@inlined
def nearer(a, b):
    """Of two ways the shorter one."""
    gap = b[0] * b[0] + b[1] * b[1] + b[2] * b[2] - a[0] * a[0] - a[1] * a[1] - a[2] * a[2]
    return where_positive(gap, a[0], b[0]), where_positive(gap, a[1], b[1]), where_positive(gap, a[2], b[2])


@kernel
def triangle_depth(v, m, x, y, z):
    """Of a triangle, see `triangle_gap`; behind it, where the nearest point is inside, the distance is negative."""
    x, y, z = x - v[m, 0], y - v[m, 1], z - v[m, 2]
    ux, uy, uz = v[m, 3], v[m, 4], v[m, 5]
    wx, wy, wz = v[m, 6], v[m, 7], v[m, 8]
    way = from_segment(x, y, z, ux, uy, uz, v[m, 9])
    way = nearer(way, from_segment(x, y, z, wx, wy, wz, v[m, 10]))
    way = nearer(way, from_segment(x - ux, y - uy, z - uz, wx - ux, wy - uy, wz - uz, v[m, 11]))
    nx, ny, nz = uy * wz - uz * wy, uz * wx - ux * wz, ux * wy - uy * wx
    cx, cy, cz = y * wz - z * wy, z * wx - x * wz, x * wy - y * wx
    a = cx * nx + cy * ny + cz * nz
    cx, cy, cz = uy * z - uz * y, uz * x - ux * z, ux * y - uy * x
    b = cx * nx + cy * ny + cz * nz
    n2 = nx * nx + ny * ny + nz * nz
    inside = smaller(smaller(a, b), n2 - a - b)
    scale = math.sqrt(v[m, 12])
    height = (x * nx + y * ny + z * nz) * scale
    d, a, b, c = away(way[0], way[1], way[2])
    return (
        where_positive(inside, height, d),
        where_positive(inside, nx * scale, a),
        where_positive(inside, ny * scale, b),
        where_positive(inside, nz * scale, c),
    )


@kernel
def inside_depth(s, m, x, y, z):
    """Of the inside of a polyhedron; FAR outside, where its faces tell."""
    v, p = s.value, s.plane
    most, a, b, c = 0.0 * x - FAR, 0.0 * x, 0.0 * x, 0.0 * x
    for k in range(int(v[m, 0]), int(v[m, 1])):
        height = p[k, 0] * x + p[k, 1] * y + p[k, 2] * z + p[k, 3]
        more = height - most
        most = where_positive(more, height, most)
        a, b, c = where_positive(more, p[k, 0], a), where_positive(more, p[k, 1], b), where_positive(more, p[k, 2], c)
    return where_positive(most, FAR, most), a, b, c


@kernel
def half_space_depth(v, m, x, y, z):
    """Of a half space."""
    zero = 0.0 * x
    height = v[m, 0] * x + v[m, 1] * y + v[m, 2] * z - v[m, 3]
    return height, v[m, 0] + zero, v[m, 1] + zero, v[m, 2] + zero


@kernel
def solid_depth(s, m, x, y, z):
    """Of the solid at node m."""
    kind = s.kind[m]
    if kind == AXES_BOX:
        return axes_box_depth(s, m, x, y, z)
    if kind == BOX:
        return box_depth(s.value, m, x, y, z)
    if kind == CAPSULE:
        return capsule_depth(s.value, m, x, y, z)
    if kind == CYLINDER:
        return cylinder_depth(s.value, m, x, y, z)
    if kind == TRIANGLE:
        return triangle_depth(s.value, m, x, y, z)
    if kind == HALF_SPACE:
        return half_space_depth(s.value, m, x, y, z)
    return inside_depth(s, m, x, y, z)
