"""A sphere and another shape: the other's nearest point to the centre, in closed form.

With the signed distance d of the centre from the other surface and the outward normal m there, the gap is d -
r, and the normal from the sphere to the other is -m.
"""

from __future__ import annotations

import math

from kido.collision.container import COLLISION
from kido.collision.manifold import add_point, set_normal
from kido.collision.pairs.frames import direction_to_world, to_shape, to_world
from kido.jit import callback, kernel, view

MIN_LENGTH = 1e-14  # a vector shorter than this [m] has no direction


@kernel
def add_nearest(c, s, t, x, y, z, m0, m1, m2, d):
    """The contact of sphere s with shape t whose nearest surface point is (x, y, z), outward normal m (both
    in the axes of t), at signed distance d of the sphere's centre."""
    gap = d - c.shape_size[s, 0]
    if gap >= c.margin:
        return 0
    half = 0.5 * gap
    x, y, z = to_world(c, t, x + half * m0, y + half * m1, z + half * m2)
    m0, m1, m2 = direction_to_world(c, t, m0, m1, m2)
    set_normal(c, -m0, -m1, -m2)
    return add_point(c, 0, x, y, z, gap, 0)


@kernel
def add_ball(c, s, t, x, y, z, r):
    """The contact of sphere s with a ball of radius r about (x, y, z) in the axes of shape t."""
    position = c.position
    p0, p1, p2 = to_shape(c, t, position[s, 0], position[s, 1], position[s, 2])
    m0, m1, m2 = p0 - x, p1 - y, p2 - z
    d = math.sqrt(m0 * m0 + m1 * m1 + m2 * m2)
    if d > MIN_LENGTH:
        m0, m1, m2 = m0 / d, m1 / d, m2 / d
    else:  # concentric: any direction is right; across the axis of a capsule
        m0, m1, m2 = 1.0, 0.0, 0.0
    return add_nearest(c, s, t, x + r * m0, y + r * m1, z + r * m2, m0, m1, m2, d - r)


@callback
def sphere_sphere(address, s, t, pair):
    """Two balls."""
    c = view(COLLISION, address)
    return add_ball(c, s, t, 0.0, 0.0, 0.0, c.shape_size[t, 0])


@callback
def sphere_capsule(address, s, t, pair):
    """The ball about the point of the capsule's axis nearest to the centre."""
    c = view(COLLISION, address)
    position, shape_size = c.position, c.shape_size
    _, _, z = to_shape(c, t, position[s, 0], position[s, 1], position[s, 2])
    half = shape_size[t, 1]
    return add_ball(c, s, t, 0.0, 0.0, min(max(z, -half), half), shape_size[t, 0])


@callback
def sphere_box(address, s, t, pair):
    """Outside: the clamped centre. Inside: the nearest face."""
    c = view(COLLISION, address)
    position, shape_size = c.position, c.shape_size
    x, y, z = to_shape(c, t, position[s, 0], position[s, 1], position[s, 2])
    h0, h1, h2 = shape_size[t, 0], shape_size[t, 1], shape_size[t, 2]
    q0, q1, q2 = min(max(x, -h0), h0), min(max(y, -h1), h1), min(max(z, -h2), h2)
    m0, m1, m2 = x - q0, y - q1, z - q2
    d = math.sqrt(m0 * m0 + m1 * m1 + m2 * m2)
    if d > MIN_LENGTH:
        return add_nearest(c, s, t, q0, q1, q2, m0 / d, m1 / d, m2 / d, d)
    d0, d1, d2 = h0 - math.fabs(x), h1 - math.fabs(y), h2 - math.fabs(z)
    if d0 <= d1 and d0 <= d2:
        m0 = math.copysign(1.0, x)
        return add_nearest(c, s, t, h0 * m0, y, z, m0, 0.0, 0.0, -d0)
    if d1 <= d2:
        m1 = math.copysign(1.0, y)
        return add_nearest(c, s, t, x, h1 * m1, z, 0.0, m1, 0.0, -d1)
    m2 = math.copysign(1.0, z)
    return add_nearest(c, s, t, x, y, h2 * m2, 0.0, 0.0, m2, -d2)


@kernel
def add_revolved(c, s, t, e0, e1, rho, z, m_rho, m_z, d):
    """As add_nearest, in the half plane through the z axis and the direction (e0, e1)."""
    return add_nearest(c, s, t, rho * e0, rho * e1, z, m_rho * e0, m_rho * e1, m_z, d)


@kernel
def meridian(c, s, t):
    """Shape s in the half plane through it and the z axis of shape t: direction (2 numbers), radius, height."""
    x, y, z = to_shape(c, t, c.position[s, 0], c.position[s, 1], c.position[s, 2])
    rho = math.sqrt(x * x + y * y)
    if rho > MIN_LENGTH:
        return x / rho, y / rho, rho, z
    return 1.0, 0.0, rho, z


@callback
def sphere_cylinder(address, s, t, pair):
    """The clamp of a rectangle in the half plane of radius and height."""
    c = view(COLLISION, address)
    r, h = c.shape_size[t, 0], c.shape_size[t, 1]
    e0, e1, rho, z = meridian(c, s, t)
    q_rho, q_z = min(rho, r), min(max(z, -h), h)
    m_rho, m_z = rho - q_rho, z - q_z
    d = math.sqrt(m_rho * m_rho + m_z * m_z)
    if d > MIN_LENGTH:
        return add_revolved(c, s, t, e0, e1, q_rho, q_z, m_rho / d, m_z / d, d)
    if r - rho <= h - math.fabs(z):
        return add_revolved(c, s, t, e0, e1, r, z, 1.0, 0.0, rho - r)
    side = math.copysign(1.0, z)
    return add_revolved(c, s, t, e0, e1, rho, h * side, 0.0, side, math.fabs(z) - h)


@callback
def sphere_cone(address, s, t, pair):
    """The nearest point of a triangle in the half plane of radius and height."""
    c = view(COLLISION, address)
    r, h = c.shape_size[t, 0], c.shape_size[t, 1]
    e0, e1, rho, z = meridian(c, s, t)
    slant = math.sqrt(r * r + 4.0 * h * h)
    out_rho, out_z = 2.0 * h / slant, r / slant  # outward normal of the flank
    flank = (rho - r) * out_rho + (z + h) * out_z
    base = -h - z
    if flank <= 0.0 and base <= 0.0:
        if flank >= base:
            return add_revolved(c, s, t, e0, e1, rho - flank * out_rho, z - flank * out_z, out_rho, out_z, flank)
        return add_revolved(c, s, t, e0, e1, rho, -h, 0.0, -1.0, base)
    # Nearest point of the flank, from rim (0) to apex (1), and of the base.
    along = min(max((-(rho - r) * r + (z + h) * 2.0 * h) / (slant * slant), 0.0), 1.0)
    q_rho, q_z = r * (1.0 - along), -h + 2.0 * h * along
    d2 = (rho - q_rho) ** 2 + (z - q_z) ** 2
    b_rho = min(rho, r)
    b2 = (rho - b_rho) ** 2 + (z + h) ** 2
    if b2 < d2:
        q_rho, q_z, d2 = b_rho, -h, b2
    d = math.sqrt(d2)
    if d > MIN_LENGTH:
        return add_revolved(c, s, t, e0, e1, q_rho, q_z, (rho - q_rho) / d, (z - q_z) / d, d)
    return add_revolved(c, s, t, e0, e1, q_rho, q_z, out_rho, out_z, 0.0)


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
