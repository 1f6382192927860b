"""Which of eight spheres touch a solid of the surroundings.

A function returns a number that is positive where a sphere is clear of the solid. Distances are exact, to rounding.
Sources: Ericson, "Real-Time Collision Detection", 2005, chapter 5.
"""

from __future__ import annotations

import math

from kido.jit import inlined, kernel, where_positive
from kido.math.choices import larger, smaller
from kido.planning.tables import AXES_BOX, BOX, CAPSULE, CYLINDER, HALF_SPACE, TRIANGLE


@inlined
def box_gap(s, m, x, y, z, r):
    """Of the axis-parallel box about node m."""
    a = larger(larger(s.low[m, 0] - x, x - s.high[m, 0]), 0.0 * x)
    b = larger(larger(s.low[m, 1] - y, y - s.high[m, 1]), 0.0 * y)
    c = larger(larger(s.low[m, 2] - z, z - s.high[m, 2]), 0.0 * z)
    return a * a + b * b + c * c - r * r


@kernel
def turned_box_gap(v, m, x, y, z, r):
    """Values: rotation from the box's axes to the world's, centre, half edges."""
    x, y, z = x - v[m, 9], y - v[m, 10], z - v[m, 11]
    a = abs_of(v[m, 0] * x + v[m, 3] * y + v[m, 6] * z) - v[m, 12]
    b = abs_of(v[m, 1] * x + v[m, 4] * y + v[m, 7] * z) - v[m, 13]
    c = abs_of(v[m, 2] * x + v[m, 5] * y + v[m, 8] * z) - v[m, 14]
    a, b, c = larger(a, 0.0 * a), larger(b, 0.0 * b), larger(c, 0.0 * c)
    return a * a + b * b + c * c - r * r


@inlined
def abs_of(x):
    return larger(x, -x)


@inlined
def segment_distance2(x, y, z, ax, ay, az, scale):
    """Squared distance of (x, y, z) from the segment 0 to a; scale = 1 / |a|^2."""
    s = (x * ax + y * ay + z * az) * scale
    s = smaller(larger(s, 0.0 * s), 0.0 * s + 1.0)
    x, y, z = x - s * ax, y - s * ay, z - s * az
    return x * x + y * y + z * z


@kernel
def capsule_gap(v, m, x, y, z, r):
    """Values: one end, the way to the other, 1 / its length squared (or 0), radius."""
    d2 = segment_distance2(
        x - v[m, 0], y - v[m, 1], z - v[m, 2], v[m, 3], v[m, 4], v[m, 5], v[m, 6]
    )  # fmt: skip
    r = r + v[m, 7]
    return d2 - r * r


@kernel
def cylinder_gap(v, m, x, y, z, r):
    """Values: centre, unit axis, half height, radius."""
    x, y, z = x - v[m, 0], y - v[m, 1], z - v[m, 2]
    along = x * v[m, 3] + y * v[m, 4] + z * v[m, 5]
    across = math.sqrt(larger(x * x + y * y + z * z - along * along, 0.0 * x))
    a, b = abs_of(along) - v[m, 6], across - v[m, 7]
    a, b = larger(a, 0.0 * a), larger(b, 0.0 * b)
    return a * a + b * b - r * r


@kernel
def triangle_gap(v, m, x, y, z, r):
    """Values: a corner; the ways from it to the other two; 1 / squared lengths of the three sides; 1 / |normal|^2."""
    x, y, z = x - v[m, 0], y - v[m, 1], z - v[m, 2]
    ux, uy, uz = v[m, 3], v[m, 4], v[m, 5]
    wx, wy, wz = v[m, 6], v[m, 7], v[m, 8]
    sides = segment_distance2(x, y, z, ux, uy, uz, v[m, 9])
    sides = smaller(sides, segment_distance2(x, y, z, wx, wy, wz, v[m, 10]))
    sides = smaller(sides, segment_distance2(x - ux, y - uy, z - uz, wx - ux, wy - uy, wz - uz, v[m, 11]))
    nx, ny, nz = uy * wz - uz * wy, uz * wx - ux * wz, ux * wy - uy * wx
    cx, cy, cz = y * wz - z * wy, z * wx - x * wz, x * wy - y * wx
    a = cx * nx + cy * ny + cz * nz
    cx, cy, cz = uy * z - uz * y, uz * x - ux * z, ux * y - uy * x
    b = cx * nx + cy * ny + cz * nz
    height = x * nx + y * ny + z * nz
    over = height * height * v[m, 12]
    inside = smaller(smaller(a, b), nx * nx + ny * ny + nz * nz - a - b)
    return smaller(sides, where_positive(inside, over, sides)) - r * r


@kernel
def inside_gap(s, m, x, y, z):
    """Whether centres are outside of the planes from the first of its values to the second."""
    v, p = s.value, s.plane
    gap = 0.0 * x - 1.0
    for k in range(int(v[m, 0]), int(v[m, 1])):
        gap = larger(gap, p[k, 0] * x + p[k, 1] * y + p[k, 2] * z + p[k, 3])
    return gap


@kernel
def half_space_gap(v, m, x, y, z, r):
    """Values: normal, offset."""
    return v[m, 0] * x + v[m, 1] * y + v[m, 2] * z - v[m, 3] - r


@kernel
def solid_gap(s, m, x, y, z, r):
    """Of the solid at node m, whose own box the spheres touch."""
    kind = s.kind[m]
    if kind == AXES_BOX:
        return 0.0 * x - 1.0
    if kind == BOX:
        return turned_box_gap(s.value, m, x, y, z, r)
    if kind == CAPSULE:
        return capsule_gap(s.value, m, x, y, z, r)
    if kind == CYLINDER:
        return cylinder_gap(s.value, m, x, y, z, r)
    if kind == TRIANGLE:
        return triangle_gap(s.value, m, x, y, z, r)
    if kind == HALF_SPACE:
        return half_space_gap(s.value, m, x, y, z, r)
    return inside_gap(s, m, x, y, z)
