"""What a detector computes of primitives, in their own axes: support points, extents, and where rays enter.

All are convex, so that a ray enters each once: the interval of the ray inside is cut out by slabs (box, ends of a
cylinder) or quadrics (sphere, cylinder, cone, ellipsoid). A ray is x = o + t d with t from 0 to 1; d is not normalised.
A ray that starts inside does not enter. Sizes a, b, c are the `half_sizes` of `kido.shapes.Primitive`.
"""

from __future__ import annotations

import math

from kido.jit import inlined, kernel

# Shape types, as `kido.collision.container` counts them: after that of planes.
PRIMITIVE_NAMES = ("sphere", "capsule", "box", "cylinder", "cone", "ellipsoid")
SPHERE, CAPSULE, BOX, CYLINDER, CONE, ELLIPSOID = range(1, 1 + len(PRIMITIVE_NAMES))

MISS = 2.0  # a fraction of the way that stands for no hit
NO_WAY = 1e-300


@kernel
def enter_ball(o0, o1, o2, d0, d1, d2, r):
    """Fraction at which a ray enters a ball of radius r about the origin; MISS if it does not."""
    a = d0 * d0 + d1 * d1 + d2 * d2
    c = o0 * o0 + o1 * o1 + o2 * o2 - r * r
    b = o0 * d0 + o1 * d1 + o2 * d2
    if c <= 0.0 or b >= 0.0:
        return MISS
    # The distance of the line from the centre loses no digits when the ray starts far away.
    e0, e1, e2 = o0 - (b / a) * d0, o1 - (b / a) * d1, o2 - (b / a) * d2
    q = r * r - (e0 * e0 + e1 * e1 + e2 * e2)
    if q < 0.0:
        return MISS
    return c / (-b + math.sqrt(a * q))


@kernel
def cut_slab(o, d, half, low, high, axis):
    """The interval low..high of a ray cut to |x| <= half along one axis.

    Returns:
        low, high, and the axis that the ray enters by: `axis` if this slab sets `low`, else -1.
    """
    if math.fabs(d) < NO_WAY:
        if math.fabs(o) > half:
            return MISS, -MISS, -1
        return low, high, -1
    near, far = (-half - o) / d, (half - o) / d
    if near > far:
        near, far = far, near
    by = -1
    if near > low:
        low, by = near, axis
    return low, min(high, far), by


@kernel
def ray_box(o0, o1, o2, d0, d1, d2, h0, h1, h2):
    """Ray and box: fraction and normal."""
    low, high, entered = -1e300, 1e300, -1
    low, high, by = cut_slab(o0, d0, h0, low, high, 0)
    entered = by if by >= 0 else entered
    low, high, by = cut_slab(o1, d1, h1, low, high, 1)
    entered = by if by >= 0 else entered
    low, high, by = cut_slab(o2, d2, h2, low, high, 2)
    entered = by if by >= 0 else entered
    if low > high or low < 0.0 or entered < 0:
        return MISS, 0.0, 0.0, 0.0
    n0 = n1 = n2 = 0.0
    if entered == 0:
        n0 = math.copysign(1.0, -d0)
    elif entered == 1:
        n1 = math.copysign(1.0, -d1)
    else:
        n2 = math.copysign(1.0, -d2)
    return low, n0, n1, n2


@kernel
def ray_cylinder(o0, o1, o2, d0, d1, d2, r, half):
    """Ray and cylinder about z: fraction and normal."""
    low, high, _axis = cut_slab(o2, d2, half, -1e300, 1e300, 2)
    a = d0 * d0 + d1 * d1
    side = False
    if a > NO_WAY:
        b = o0 * d0 + o1 * d1
        e0, e1 = o0 - (b / a) * d0, o1 - (b / a) * d1
        q = r * r - (e0 * e0 + e1 * e1)
        if q < 0.0:
            return MISS, 0.0, 0.0, 0.0
        root = math.sqrt(q / a)
        near, far = -b / a - root, -b / a + root
        if near > low:
            low, side = near, True
        high = min(high, far)
    elif o0 * o0 + o1 * o1 > r * r:
        return MISS, 0.0, 0.0, 0.0
    if low > high or low < 0.0:
        return MISS, 0.0, 0.0, 0.0
    if side:
        return low, (o0 + low * d0) / r, (o1 + low * d1) / r, 0.0
    return low, 0.0, 0.0, math.copysign(1.0, -d2)


@kernel
def ray_capsule(o0, o1, o2, d0, d1, d2, r, half):
    """Ray and capsule about z: fraction and normal."""
    z = min(max(o2, -half), half)
    if o0 * o0 + o1 * o1 + (o2 - z) * (o2 - z) <= r * r:
        return MISS, 0.0, 0.0, 0.0
    best, n0, n1, n2 = MISS, 0.0, 0.0, 0.0
    t, m0, m1, m2 = ray_cylinder(o0, o1, o2, d0, d1, d2, r, half)
    if t < MISS and m2 == 0.0:
        best, n0, n1, n2 = t, m0, m1, m2
    for end in range(2):
        z = half if end == 0 else -half
        t = enter_ball(o0, o1, o2 - z, d0, d1, d2, r)
        if t < best:
            best = t
            n0, n1, n2 = (o0 + t * d0) / r, (o1 + t * d1) / r, (o2 + t * d2 - z) / r
    return best, n0, n1, n2


@kernel
def ray_cone(o0, o1, o2, d0, d1, d2, r, half):
    """Ray and cone with its base at z = -half and its apex at z = +half: fraction and normal.

    Inside is x^2 + y^2 <= k^2 (half - z)^2 with k = r / (2 half), z within -half and half.
    """
    k = r / (2.0 * half)
    s, ds = half - o2, -d2  # depth below the apex
    best, n0, n1, n2 = MISS, 0.0, 0.0, 0.0
    if s >= 0.0 and s <= 2.0 * half and o0 * o0 + o1 * o1 <= k * k * s * s:
        return best, n0, n1, n2
    a = d0 * d0 + d1 * d1 - k * k * ds * ds
    b = o0 * d0 + o1 * d1 - k * k * s * ds
    c = o0 * o0 + o1 * o1 - k * k * s * s
    q = b * b - a * c
    if q >= 0.0:
        root = math.sqrt(q)
        w = -b - math.copysign(root, b)
        for which in range(2):
            t = MISS
            if which == 0 and math.fabs(w) > NO_WAY:
                t = c / w
            if which == 1 and math.fabs(a) > NO_WAY:
                t = w / a
            depth = s + t * ds
            if 0.0 <= t < best and 0.0 <= depth <= 2.0 * half:
                x, y = o0 + t * d0, o1 + t * d1
                rho = math.sqrt(x * x + y * y)
                scale = 1.0 / math.sqrt(1.0 + k * k)
                if rho > 0.0:
                    m0, m1, m2 = scale * x / rho, scale * y / rho, scale * k
                else:
                    m0, m1, m2 = 0.0, 0.0, 1.0
                if m0 * d0 + m1 * d1 + m2 * d2 < 0.0:
                    best, n0, n1, n2 = t, m0, m1, m2
    if d2 > 0.0:  # through the base
        t = (-half - o2) / d2
        x, y = o0 + t * d0, o1 + t * d1
        if 0.0 <= t < best and x * x + y * y <= r * r:
            best, n0, n1, n2 = t, 0.0, 0.0, -1.0
    return best, n0, n1, n2


@kernel
def ray_primitive(kind, o0, o1, o2, d0, d1, d2, a, b, c):
    """Where the ray from o along d enters a primitive: fraction (MISS or more if it does not) and outward normal."""
    if kind == SPHERE:
        t = enter_ball(o0, o1, o2, d0, d1, d2, a)
        return t, (o0 + t * d0) / a, (o1 + t * d1) / a, (o2 + t * d2) / a
    if kind == ELLIPSOID:
        t = enter_ball(o0 / a, o1 / b, o2 / c, d0 / a, d1 / b, d2 / c, 1.0)
        n0, n1, n2 = (o0 + t * d0) / (a * a), (o1 + t * d1) / (b * b), (o2 + t * d2) / (c * c)
        size = math.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
        return t, n0 / size, n1 / size, n2 / size
    if kind == BOX:
        return ray_box(o0, o1, o2, d0, d1, d2, a, b, c)
    if kind == CYLINDER:
        return ray_cylinder(o0, o1, o2, d0, d1, d2, a, b)
    if kind == CAPSULE:
        return ray_capsule(o0, o1, o2, d0, d1, d2, a, b)
    return ray_cone(o0, o1, o2, d0, d1, d2, a, b)


@inlined
def primitive_support(kind, a, b, c, x, y, z):
    """Point of the core of a primitive farthest along (x, y, z), of any length; the origin is that of a sphere."""
    if kind == BOX:
        return math.copysign(a, x), math.copysign(b, y), math.copysign(c, z)
    if kind == CAPSULE:
        return 0.0, 0.0, math.copysign(b, z)
    if kind in (CYLINDER, CONE):
        rho = math.sqrt(x * x + y * y)
        if kind == CONE and z * 2.0 * b >= rho * a:
            return 0.0, 0.0, b
        end = -b if kind == CONE else math.copysign(b, z)
        if rho > 0.0:
            return a * (x / rho), a * (y / rho), end
        return a, 0.0, end
    if kind == ELLIPSOID:
        p, q, r = a * x, b * y, c * z
        norm = math.sqrt(p * p + q * q + r * r)
        if norm > 0.0:
            return a * (p / norm), b * (q / norm), c * (r / norm)
        return a, 0.0, 0.0
    return 0.0, 0.0, 0.0


@inlined
def box_extent(a, b, c, r0, r1, r2):
    """How far a box with half edges a, b, c reaches along (r0, r1, r2) from its middle."""
    return math.fabs(r0) * a + math.fabs(r1) * b + math.fabs(r2) * c


@inlined
def primitive_extent(kind, a, b, c, r0, r1, r2):
    """Least and largest value of (r0, r1, r2) . x over a primitive, for a unit vector."""
    if kind == BOX:
        high = box_extent(a, b, c, r0, r1, r2)
        return -high, high
    if kind == SPHERE:
        return -a, a
    if kind == CAPSULE:
        high = a + math.fabs(r2) * b
        return -high, high
    if kind == ELLIPSOID:
        x, y, z = r0 * a, r1 * b, r2 * c
        high = math.sqrt(x * x + y * y + z * z)
        return -high, high
    rim = a * math.sqrt(max(1.0 - r2 * r2, 0.0))
    if kind == CYLINDER:
        high = rim + math.fabs(r2) * b
        return -high, high
    return -max(rim + r2 * b, -r2 * b), max(rim - r2 * b, r2 * b)
