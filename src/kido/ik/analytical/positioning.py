"""Three hinges that carry a point somewhere: the positioning part of an arm with a spherical wrist.

E1 E2 E3 p = c, with E_i the turn by q_i about axis i. With y = E2 E3 p, turning about axis 1 leaves two things of y
alone: its height along the axis and its distance from a point o1 on it (Pieper 1968):

    h1 . (y - o1) = h1 . (c - o1),    |y - o1|^2 = |c - o1|^2

o1 and o2 are the feet of the common perpendicular a n of axes 1 and 2, and m = n x h2. With x = E3 p - o2 and y - o2 =
R(h2, q2) x, the part of y - o2 that is perpendicular to h2 has the components

    m . (y - o2) = (h1 . (c - o1) - (h1 . h2) (h2 . x)) / (h1 . m),    n . (y - o2) = (|c - o1|^2 - a^2 - |x|^2) / (2 a)

and their squares add up to |x|^2 - (h2 . x)^2. x is linear in the sine and cosine of q3, and so is |x|^2: what
remains is a trigonometric polynomial of second degree in q3. Where axes 1 and 2 meet (a = 0) or are parallel
(h1 . m = 0), the equation with the vanishing factor gives q3 alone, and the other one two signs of q2.
"""

from __future__ import annotations

import math

from kido.ik.analytical.arm import AXES_INTERSECTING, AXES_SKEW, ELBOW, OUT_OF_REACH, SHOULDER
from kido.ik.analytical.roots import circle_roots
from kido.ik.analytical.vectors import (
    across,
    angle_about,
    dot,
    length,
    minus,
    moved,
    outer,
    plus,
    row,
    times,
    turn_to_distance,
    turn_to_height,
    turned,
)
from kido.jit import kernel

ARM_TOLERANCE = 1e-6  # of the arm's size, or sine of an angle, below which a pose is called singular
_GRID = 32
_STEPS = 40
_BEST = 6


@kernel
def bits_of(w, p, q1, q2, q3):
    """SHOULDER if the point lies on axis 1, else ELBOW if q2 and q3 do not move it every way in a half-plane."""
    h1, h2, h3 = row(w.h, 0), row(w.h, 1), row(w.h, 2)
    o1, o2, o3 = row(w.o, 0), row(w.o, 1), row(w.o, 2)
    x = moved(h3, o3, q3, p)
    y = moved(h2, o2, q2, x)
    size = w.length
    rho = length(across(h1, minus(y, o1)))
    bits = 0
    if rho < ARM_TOLERANCE * size:
        bits = SHOULDER
        rho = ARM_TOLERANCE * size
    side = turned(h2, q2, h3)
    v3 = outer(side, minus(y, moved(h2, o2, q2, o3)))
    v2 = outer(h2, minus(y, o2))
    v1 = outer(h1, minus(y, o1))
    if bits == 0 and math.fabs(dot(v1, outer(v2, v3))) < ARM_TOLERANCE * size * size * rho:
        bits = ELBOW
    return bits


@kernel
def _keep(w, p, c, q2, q3, count, extra):
    """q1 for given q2 and q3, and the solution into `raw`; returns the number of solutions."""
    h1, h2, h3 = row(w.h, 0), row(w.h, 1), row(w.h, 2)
    o1, o2, o3 = row(w.o, 0), row(w.o, 1), row(w.o, 2)
    y = moved(h2, o2, q2, moved(h3, o3, q3, p))
    from_axis, to = across(h1, minus(y, o1)), across(h1, minus(c, o1))
    tiny = 1e-12 * w.length
    q1 = w.reference[w.order[0]]
    if length(from_axis) > tiny and length(to) > tiny:
        q1 = angle_about(h1, from_axis, to)
    w.raw[count, 0], w.raw[count, 1], w.raw[count, 2] = q1, q2, q3
    w.mark[count] = bits_of(w, p, q1, q2, q3) | extra
    return count + 1


@kernel
def _second(w, p, c, q3, count):
    """q2 for a given q3, and q1."""
    h1, h2, h3 = row(w.h, 0), row(w.h, 1), row(w.h, 2)
    o1, o2, o3 = row(w.o, 0), row(w.o, 1), row(w.o, 2)
    x = minus(moved(h3, o3, q3, p), o2)
    flat = across(h2, x)
    layout = w.layout
    wanted = minus(c, o1)
    if length(flat) < 1e-12 * w.length:
        return _keep(w, p, c, w.reference[w.order[1]], q3, count, 0)
    if layout == AXES_SKEW:
        gap = minus(o2, o1)
        a = length(gap)
        n = times(1.0 / a, gap)
        m = outer(n, h2)
        along_m = (dot(h1, wanted) - dot(h1, h2) * dot(h2, x)) / dot(h1, m)
        along_n = (dot(wanted, wanted) - a * a - dot(x, x)) / (2.0 * a)
        q2 = angle_about(h2, flat, plus(times(along_m, m), times(along_n, n)))
        return _keep(w, p, c, q2, q3, count, 0)
    if layout == AXES_INTERSECTING:
        mean, half, reached = turn_to_height(h2, x, h1, dot(h1, wanted))
    else:
        away = minus(o2, o1)
        square = dot(across(h1, wanted), across(h1, wanted))
        mean, half, reached = turn_to_distance(h2, flat, away, square)
    if reached == 1:
        count = _keep(w, p, c, mean + half, q3, count, 0)
        count = _keep(w, p, c, mean - half, q3, count, 0)
    return count


@kernel
def position_point(w, p, c):
    """All (q1, q2, q3) that carry the point p to c, into `raw` and `mark`; returns how many.

    If there are none, those that come nearest to c (`nearest`), marked OUT_OF_REACH.
    """
    h1, h2, h3 = row(w.h, 0), row(w.h, 1), row(w.h, 2)
    o1, o2, o3 = row(w.o, 0), row(w.o, 1), row(w.o, 2)
    layout = w.layout
    wanted = minus(c, o1)
    lever = minus(p, o3)
    flat = across(h3, lever)
    side = outer(h3, flat)
    center = plus(minus(o3, o2), minus(lever, flat))  # x = center + flat cos q3 + side sin q3
    count = 0
    if layout == AXES_SKEW:
        gap = minus(o2, o1)
        a = length(gap)
        m = times(1.0 / a, outer(gap, h2))
        ca, sa = dot(h1, h2), dot(h1, m)
        # Each quantity is k0 + k1 cos q3 + k2 sin q3.
        s0, s1, s2 = dot(center, center) + dot(flat, flat), 2.0 * dot(center, flat), 2.0 * dot(center, side)
        x0, x1, x2 = dot(h2, center), dot(h2, flat), dot(h2, side)
        m0, m1, m2 = (dot(h1, wanted) - ca * x0) / sa, -ca * x1 / sa, -ca * x2 / sa
        n0, n1, n2 = 0.5 * (dot(wanted, wanted) - a * a - s0), -0.5 * s1, -0.5 * s2  # a n . (y - o2)
        aa = a * a
        count = 0
        found = circle_roots(
            n0 * n0 + aa * (m0 * m0 - s0 + x0 * x0),
            2.0 * n0 * n1 + aa * (2.0 * m0 * m1 - s1 + 2.0 * x0 * x1),
            2.0 * n0 * n2 + aa * (2.0 * m0 * m2 - s2 + 2.0 * x0 * x2),
            n1 * n1 + aa * (m1 * m1 + x1 * x1),
            2.0 * n1 * n2 + 2.0 * aa * (m1 * m2 + x1 * x2),
            n2 * n2 + aa * (m2 * m2 + x2 * x2),
            w.roots,
        )
        for k in range(found):
            count = _second(w, p, c, w.roots[12 + k], count)
    else:
        if layout == AXES_INTERSECTING:
            mean, half, reached = turn_to_distance(h3, lever, minus(o3, o2), dot(wanted, wanted))
        else:
            level = dot(h2, h1) * dot(h1, wanted)
            mean, half, reached = turn_to_height(h3, lever, h2, level - dot(h2, minus(o3, o2)))
        if reached == 1:
            count = _second(w, p, c, mean + half, count)
            count = _second(w, p, c, mean - half, count)
    if count == 0:
        count = nearest(w, p, c)
    return count


@kernel
def _distance2(w, p, rho, z, q2, q3):
    """Squared distance from c, at the best q1: in the half-plane of axis 1."""
    h1, o1 = row(w.h, 0), row(w.o, 0)
    y = minus(moved(row(w.h, 1), row(w.o, 1), q2, moved(row(w.h, 2), row(w.o, 2), q3, p)), o1)
    dz = dot(h1, y) - z
    dr = length(across(h1, y)) - rho
    return dr * dr + dz * dz


@kernel
def _descend(w, p, c, q1, q2, q3):
    """Newton's method on |y - c|^2 / 2 from a guess, its Hessian shifted until it is positive definite.

    The Hessian is J^T J + (y - c) . d^2 y, with d^2 y / dq_i dq_j = h_i x dy/dq_j for i <= j.
    """
    h1, h2, h3 = row(w.h, 0), row(w.h, 1), row(w.h, 2)
    o1, o2, o3 = row(w.o, 0), row(w.o, 1), row(w.o, 2)
    shift = 0.0
    best = -1.0
    b1, b2, b3 = q1, q2, q3
    for _ in range(_STEPS):
        y = moved(h1, o1, q1, moved(h2, o2, q2, moved(h3, o3, q3, p)))
        e = minus(y, c)
        value = dot(e, e)
        scale = w.length * w.length
        if best >= 0.0 and value >= best:
            # No better: back, and a shorter step.
            if shift > 1e3 * scale:
                break
            shift = max(10.0 * shift, 1e-6 * scale)
            q1, q2, q3 = b1, b2, b3
            y = moved(h1, o1, q1, moved(h2, o2, q2, moved(h3, o3, q3, p)))
            e = minus(y, c)
        else:
            best = value
            b1, b2, b3 = q1, q2, q3
            shift = 0.1 * shift if shift > 1e-9 * scale else 0.0
        a2 = turned(h1, q1, h2)
        a3 = turned(h1, q1, turned(h2, q2, h3))
        v1 = outer(h1, minus(y, o1))
        v2 = outer(a2, minus(y, moved(h1, o1, q1, o2)))
        v3 = outer(a3, minus(y, moved(h1, o1, q1, moved(h2, o2, q2, o3))))
        g1, g2, g3 = dot(v1, e), dot(v2, e), dot(v3, e)
        k11 = dot(v1, v1) + dot(e, outer(h1, v1))
        k12 = dot(v1, v2) + dot(e, outer(h1, v2))
        k13 = dot(v1, v3) + dot(e, outer(h1, v3))
        k22 = dot(v2, v2) + dot(e, outer(a2, v2))
        k23 = dot(v2, v3) + dot(e, outer(a2, v3))
        k33 = dot(v3, v3) + dot(e, outer(a3, v3))
        tiny = 1e-14 * scale
        for _attempt in range(60):
            d1 = k11 + shift
            if d1 > tiny:
                l21, l31 = k12 / d1, k13 / d1
                d2 = k22 + shift - l21 * k12
                if d2 > tiny:
                    l32 = (k23 - l31 * k12) / d2
                    d3 = k33 + shift - l31 * k13 - l32 * (k23 - l31 * k12)
                    if d3 > tiny:
                        s1 = -g1
                        s2 = -g2 - l21 * s1
                        s3 = (-g3 - l31 * s1 - l32 * s2) / d3
                        s2 = s2 / d2 - l32 * s3
                        s1 = s1 / d1 - l21 * s2 - l31 * s3
                        break
            shift = max(4.0 * shift, 1e-9 * scale)
            s1, s2, s3 = 0.0, 0.0, 0.0
        q1, q2, q3 = q1 + s1, q2 + s2, q3 + s3
        if math.fabs(s1) + math.fabs(s2) + math.fabs(s3) < 1e-15:
            break
    return b1, b2, b3, best


@kernel
def nearest(w, p, c):
    """The (q1, q2, q3) that carry the point p as near to c as it gets, into `raw`; returns how many.

    A grid over (q2, q3), at the best q1, finds the valleys of the distance; Newton's method ends each of the deepest.
    """
    h1, o1 = row(w.h, 0), row(w.o, 0)
    wanted = minus(c, o1)
    z = dot(h1, wanted)
    rho = length(across(h1, wanted))
    step = 6.283185307179586 / _GRID
    work = w.roots  # three numbers for each of the best: distance, q2, q3
    for k in range(_BEST):
        work[3 * k] = math.inf
    for i in range(_GRID):
        for j in range(_GRID):
            q2, q3 = i * step, j * step
            d = _distance2(w, p, rho, z, q2, q3)
            worst = 3 * (_BEST - 1)
            if d >= work[worst]:
                continue
            if (
                d > _distance2(w, p, rho, z, q2 + step, q3)
                or d > _distance2(w, p, rho, z, q2 - step, q3)
                or d > _distance2(w, p, rho, z, q2, q3 + step)
                or d > _distance2(w, p, rho, z, q2, q3 - step)
            ):
                continue
            at = worst
            while at > 0 and work[at - 3] > d:
                work[at], work[at + 1], work[at + 2] = work[at - 3], work[at - 2], work[at - 1]
                at -= 3
            work[at], work[at + 1], work[at + 2] = d, q2, q3
    least = math.inf
    for k in range(_BEST):
        if work[3 * k] < math.inf:
            q2, q3 = work[3 * k + 1], work[3 * k + 2]
            y = moved(row(w.h, 1), row(w.o, 1), q2, moved(row(w.h, 2), row(w.o, 2), q3, p))
            q1 = angle_about(h1, minus(y, o1), wanted)
            _q1, q2, q3, d = _descend(w, p, c, q1, q2, q3)
            work[3 * k], work[3 * k + 1], work[3 * k + 2] = d, q2, q3
            least = min(least, d)
    count = 0
    limit = (math.sqrt(least) + 1e-9 * w.length) ** 2
    for k in range(_BEST):
        if work[3 * k] <= limit and count < 4:
            count = _keep(w, p, c, work[3 * k + 1], work[3 * k + 2], count, OUT_OF_REACH)
    return count
