"""Ellipsoids against planes and spheres."""

from __future__ import annotations

import math

from kido.collision.container import COLLISION
from kido.collision.pairs.frames import direction_to_shape, to_shape, to_world
from kido.collision.pairs.plane import add_lowest, plane_normal
from kido.collision.pairs.sphere import add_nearest
from kido.jit import callback, view


@callback
def plane_ellipsoid(address, p, s, pair):
    """The lowest point: -E^2 n / |E n| with half axes E."""
    c = view(COLLISION, address)
    shape_size = c.shape_size
    n0, n1, n2 = plane_normal(c, p)
    d0, d1, d2 = direction_to_shape(c, s, -n0, -n1, -n2)
    e0, e1, e2 = shape_size[s, 0], shape_size[s, 1], shape_size[s, 2]
    scale = 1.0 / math.sqrt(e0 * e0 * d0 * d0 + e1 * e1 * d1 * d1 + e2 * e2 * d2 * d2)
    x, y, z = to_world(c, s, e0 * e0 * d0 * scale, e1 * e1 * d1 * scale, e2 * e2 * d2 * scale)
    return add_lowest(c, 0, p, x, y, z, 0)


@callback
def sphere_ellipsoid(address, s, t, pair):
    """The nearest point of an ellipsoid by bisection and Newton's method (Eberly, Distance from a Point to an
    Ellipse, an Ellipsoid, or a Hyperellipsoid, 2013): q_i = e_i^2 p_i / (u + e_i^2) with sum (q_i/e_i)^2 = 1,
    where u > -e_min^2 is the only root; for a centre on the shortest half axis's plane of symmetry inside the
    focal region the root is u = -e_min^2 itself."""
    c = view(COLLISION, address)
    position, shape_size = c.position, c.shape_size
    x, y, z = to_shape(c, t, position[s, 0], position[s, 1], position[s, 2])
    a, b, d = shape_size[t, 0], shape_size[t, 1], shape_size[t, 2]
    a2, b2, d2 = a * a, b * b, d * d
    least = min(a2, min(b2, d2))
    # F(u) = sum (e_i p_i / (u + e_i^2))^2 - 1 falls monotonically on (-least, inf).
    size = math.sqrt(a2 * x * x + b2 * y * y + d2 * z * z)
    shortest = x if a2 == least else (y if b2 == least else z)
    low = -least + math.sqrt(least) * math.fabs(shortest)
    high = -least + size
    u = 0.5 * (low + high)
    for _ in range(200):
        ga, gb, gd = u + a2, u + b2, u + d2
        if ga <= 0.0 or gb <= 0.0 or gd <= 0.0:
            low = u
            u = 0.5 * (low + high)
            if u <= low or u >= high:
                break
            continue
        va, vb, vd = a * x / ga, b * y / gb, d * z / gd
        f = va * va + vb * vb + vd * vd - 1.0
        if f > 0.0:
            low = u
        else:
            high = u
        slope = -2.0 * (va * va / ga + vb * vb / gb + vd * vd / gd)
        v = u - f / slope if slope != 0.0 else u
        if not (low < v < high):
            v = 0.5 * (low + high)
        if math.fabs(v - u) <= 1e-16 * least or v <= low or v >= high:
            u = v
            break
        u = v
    q0 = a2 * x / (u + a2) if u + a2 > 1e-12 * a2 else 0.0
    q1 = b2 * y / (u + b2) if u + b2 > 1e-12 * b2 else 0.0
    q2 = d2 * z / (u + d2) if u + d2 > 1e-12 * d2 else 0.0
    rest = 1.0 - q0 * q0 / a2 - q1 * q1 / b2 - q2 * q2 / d2
    if rest > 0.0:  # the root is at the pole, or rounding: what is left belongs to the shortest half axis
        if a2 == least:
            q0 = math.copysign(a * math.sqrt(rest + q0 * q0 / a2), x)
        elif b2 == least:
            q1 = math.copysign(b * math.sqrt(rest + q1 * q1 / b2), y)
        else:
            q2 = math.copysign(d * math.sqrt(rest + q2 * q2 / d2), z)
    m0, m1, m2 = q0 / a2, q1 / b2, q2 / d2
    scale = 1.0 / math.sqrt(m0 * m0 + m1 * m1 + m2 * m2)
    m0, m1, m2 = m0 * scale, m1 * scale, m2 * scale
    distance = (x - q0) * m0 + (y - q1) * m1 + (z - q2) * m2
    return add_nearest(c, s, t, q0, q1, q2, m0, m1, m2, distance)
