"""Vectors of three numbers, and the triangles that closed forms are made of, flat and spherical.

The subproblems are those of Paden and Kahan; triangles are solved by half angles (Kahan, "Miscalculating area and
angles of a needle-like triangle", 2014), so that nothing is lost where they are nearly flat.
"""

from __future__ import annotations

import math

from kido.jit import kernel
from kido.math.elementary import arctan2
from kido.math.so3 import axis_rotation, compose, rotate
from kido.math.trig import sincos

# Part of a triangle's longest side by which two others may miss it and still count as reaching.
SLACK = 1e-12


# Sine of the angle between the first and the last axis below which a pose is called singular.
WRIST_TOLERANCE = 1e-6
_ALIGNED = 1e-12  # below this the first angle is a free choice; above it is as accurate as its sine is large


@kernel
def dot(a, b):
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def outer(a, b):
    """a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def plus(a, b):
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@kernel
def minus(a, b):
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel
def times(k, a):
    """k a."""
    return k * a[0], k * a[1], k * a[2]


@kernel
def across(h, a):
    """Part of a that is perpendicular to the unit vector h."""
    return minus(a, times(dot(h, a), h))


@kernel
def length(a):
    """|a|."""
    return math.sqrt(dot(a, a))


@kernel
def row(array, i):
    """Row i of an (n, 3) array."""
    return array[i, 0], array[i, 1], array[i, 2]


@kernel
def turned(h, q, a):
    """a turned by the angle q about the unit vector h."""
    s, c = sincos(q)
    along = dot(h, a)
    side = outer(h, a)
    k = (1.0 - c) * along
    return (
        c * a[0] + s * side[0] + k * h[0],
        c * a[1] + s * side[1] + k * h[1],
        c * a[2] + s * side[2] + k * h[2],
    )


@kernel
def moved(h, o, q, a):
    """The point a turned by the angle q about the axis through o along h."""
    return plus(o, turned(h, q, minus(a, o)))


@kernel
def rotation(h, q):
    """Rotation by the angle q about the unit vector h."""
    s, c = sincos(q)
    return axis_rotation(h[0], h[1], h[2], s, c)


@kernel
def transposed(R):
    """R^T."""
    return R[0], R[3], R[6], R[1], R[4], R[7], R[2], R[5], R[8]


@kernel
def applied(R, p, a):
    """R a + p."""
    return plus(rotate(R, a[0], a[1], a[2]), p)


@kernel
def direction(R, a):
    """R a."""
    return rotate(R, a[0], a[1], a[2])


@kernel
def after(R, p, S, r):
    """Rotation and translation of (R, p) (S, r)."""
    return compose(R, S), applied(R, p, r)


@kernel
def inverse(R, p):
    """Inverse of a motion."""
    T = transposed(R)
    v = direction(T, p)
    return T, (-v[0], -v[1], -v[2])


@kernel
def wrapped(q):
    """q less the whole turns nearest to it: in [-pi, pi]."""
    return q - 6.283185307179586 * math.floor(q * 0.15915494309189535 + 0.5)


@kernel
def angle_about(h, a, b):
    """Angle about the unit vector h that turns the direction of a to that of b, as seen along h [rad].

    What lies along h is taken away first: of nearly parallel vectors the products would keep no digits.
    """
    a, b = across(h, a), across(h, b)
    return arctan2(dot(h, outer(a, b)), dot(a, b))


@kernel
def best_angle(h, R):
    """Angle q for which the rotation by q about h is nearest to R: tr(R^T R(h, q)) is greatest."""
    s = h[0] * (R[7] - R[5]) + h[1] * (R[2] - R[6]) + h[2] * (R[3] - R[1])
    c = R[0] + R[4] + R[8] - dot(h, direction(R, h))
    return arctan2(s, c)


@kernel
def half_angle(near, far):
    """Angle x in [0, pi] with tan(x/2)^2 = near / far; and 1, or 0 if one of them is negative (x is the limit)."""
    if near < 0.0:
        return 0.0, 0
    if far < 0.0:
        return 3.141592653589793, 0
    return 2.0 * arctan2(math.sqrt(near), math.sqrt(far)), 1


@kernel
def turn_to_distance(h, u, v, r2):
    """Angles q with |R(h, q) u + v|^2 = r2.

    Returns:
        mean and x of q = mean +- x; whether there is such an angle (else q = mean + x comes nearest).
    """
    up, vp = across(h, u), across(h, v)
    a, b = length(up), length(vp)
    along = dot(h, u) + dot(h, v)
    r = math.sqrt(max(r2 - along * along, 0.0))
    mean = angle_about(h, up, vp)
    room = SLACK * (a + b + r)
    near, far = (a + b - r), (r - math.fabs(a - b))
    reached = 1
    if near < -room or far < -room:
        reached = 0
    x, _ = half_angle(max(near, 0.0) * (a + b + r), max(far, 0.0) * (r + math.fabs(a - b)))
    return mean, x, reached


@kernel
def turn_to_height(h, u, n, d):
    """Angles q with n . R(h, q) u = d: mean and x of q = mean +- x; whether there is one (else it comes nearest)."""
    along = dot(h, u) * dot(h, n)
    a = dot(n, u) - along
    b = dot(n, outer(h, u))
    c = d - along
    rho = math.sqrt(a * a + b * b)
    reached = 1
    if math.fabs(c) > rho * (1.0 + SLACK) + 1e-300:
        reached = 0
    mean = arctan2(b, a)
    return mean, arctan2(math.sqrt(max((rho - c) * (rho + c), 0.0)), c), reached


@kernel
def between(a, b):
    """Angle between two unit vectors [rad]."""
    return arctan2(length(outer(a, b)), dot(a, b))


@kernel
def three_turns(a, b, c, R, free, sign):
    """Angles of R = R(a, x) R(b, y) R(c, z), the branch of y given by sign = +-1.

    The image of c under R lies at the angle beta from a; so do all R(b, y) c of a spherical triangle with the sides
    beta, (a, b), (b, c), which gives y. Where no triangle closes, as axes are not perpendicular, R is approached as
    closely as an angle of rotation allows.

    Args:
        a, b, c: unit axes.
        R: the rotation.
        free: x, where a and R c are parallel and only a sum of x and z is determined.
        sign: branch.

    Returns:
        x, y, z [rad]; 1 if a and R c are parallel; 1 if R is reached.
    """
    w = direction(R, c)
    sine = length(outer(a, w))
    beta = arctan2(sine, dot(a, w))
    first, second = between(a, b), between(b, c)
    near = math.sin(0.5 * (beta + first - second)) * math.sin(0.5 * (beta - first + second))
    far = math.sin(0.5 * (first + second + beta)) * math.sin(0.5 * (first + second - beta))
    if near < 0.0 and near > -1e-15:
        near = 0.0
    if far < 0.0 and far > -1e-15:
        far = 0.0
    y, reached = half_angle(near, far)
    y = sign * y - angle_about(b, across(b, a), across(b, c))
    image = turned(b, y, c)
    x = free
    if sine > _ALIGNED:
        x = angle_about(a, image, w)
    rest = compose(transposed(rotation(b, y)), compose(transposed(rotation(a, x)), R))
    return x, y, best_angle(c, rest), 1 if sine < WRIST_TOLERANCE else 0, reached
