"""The families of chains that have closed forms: each fills `raw` and `mark` from the motion G and returns how many.

A chain makes the motion G = E1 E2 ... En, E_i the turn by q_i about axis i as it lies at zero positions (product of
exponentials). Where one has no solution, the family gives what comes nearest with the orientation that is asked.
"""

from __future__ import annotations

import math

from kido.ik.analytical.arm import ELBOW, OUT_OF_REACH, SHOULDER, WRIST
from kido.ik.analytical.positioning import ARM_TOLERANCE, position_point
from kido.ik.analytical.vectors import (
    across,
    after,
    angle_about,
    applied,
    best_angle,
    direction,
    dot,
    inverse,
    length,
    minus,
    moved,
    outer,
    plus,
    rotation,
    row,
    three_turns,
    times,
    transposed,
    turn_to_distance,
    turn_to_height,
    turned,
)
from kido.jit import kernel
from kido.math.so3 import compose
from kido.math.trig import sincos

_SAMPLES = 64  # of q1, where a parallel-axes arm looks for what comes nearest


@kernel
def motion_of(w):
    """Rotation and translation of G."""
    g = w.G
    return (g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7], g[8]), (g[9], g[10], g[11])


@kernel
def free_angle(w, j):
    """Reference position of joint j of the family."""
    return w.reference[w.order[j]]


@kernel
def _copy(w, source, to, first, last):
    for j in range(first, last):
        w.raw[to, j] = w.raw[source, j]
    w.mark[to] = w.mark[source]


@kernel
def spherical_wrist(w):
    """Six hinges, axes 4, 5 and 6 through one point: the first three put it in its place, which leaves a rotation.

    Pieper, "The kinematics of manipulators under computer control" (1968).
    """
    R, p = motion_of(w)
    center = row(w.center, 0)
    count = position_point(w, center, applied(R, p, center))
    for k in range(count - 1, -1, -1):
        _copy(w, k, 2 * k + 1, 0, 3)
        _copy(w, k, 2 * k, 0, 3)
    for k in range(2 * count):
        arm = compose(
            rotation(row(w.h, 0), w.raw[k, 0]),
            compose(rotation(row(w.h, 1), w.raw[k, 1]), rotation(row(w.h, 2), w.raw[k, 2])),
        )
        rest = compose(transposed(arm), R)
        x, y, z, singular, reached = three_turns(
            row(w.h, 3), row(w.h, 4), row(w.h, 5), rest, free_angle(w, 3), 1.0 - 2.0 * (k % 2)
        )
        w.raw[k, 3], w.raw[k, 4], w.raw[k, 5] = x, y, z
        if singular == 1:
            w.mark[k] = w.mark[k] | WRIST
        if reached == 0:
            w.mark[k] = w.mark[k] | OUT_OF_REACH
    return 2 * count


@kernel
def _planar(w, i, point, c, k, total):
    """Hinges i, i+1, i+2 with parallel axes: the first two carry the point to c, all three turn by `total`.

    Writes solutions k and k + 1; returns the squared distance left, along the axes too.
    """
    h = row(w.h, i)
    o1, o2 = row(w.o, i), row(w.o, i + 1)
    s2 = 1.0 if dot(h, row(w.h, i + 1)) > 0.0 else -1.0
    s3 = 1.0 if dot(h, row(w.h, i + 2)) > 0.0 else -1.0
    wanted = minus(c, o1)
    flat = across(h, wanted)
    along = dot(h, minus(wanted, minus(point, o1)))
    lever, upper = across(h, minus(point, o2)), across(h, minus(o2, o1))
    mean, half, reached = turn_to_distance(h, lever, upper, dot(flat, flat))
    left = along * along
    bits = 0
    sine = sincos(half)[0]
    if math.fabs(sine) < ARM_TOLERANCE:
        bits = ELBOW
    if reached == 0:
        bits = bits | OUT_OF_REACH
    for j in range(2):
        q2 = mean + (1.0 - 2.0 * j) * half
        tip = plus(upper, turned(h, q2, lever))
        q1 = free_angle(w, i)
        if length(tip) > 1e-12 * w.length and length(flat) > 1e-12 * w.length:
            q1 = angle_about(h, tip, flat)
        w.raw[k + j, i] = q1
        w.raw[k + j, i + 1] = s2 * q2
        w.raw[k + j, i + 2] = s3 * (total - q1 - q2)
        w.mark[k + j] = w.mark[k + j] | bits
    miss = length(plus(upper, turned(h, mean + half, lever))) - length(flat)
    return left + miss * miss


@kernel
def _with_first(w, q1, sign, k):
    """A parallel-axes arm with q1 given, in one branch of the wrist: solutions k and k + 1; squared distance left."""
    R, p = motion_of(w)
    h1, o1 = row(w.h, 0), row(w.o, 0)
    h5, h6 = row(w.h, 4), row(w.h, 5)
    center = row(w.center, 0)
    turn = transposed(rotation(h1, q1))
    x, q5, q6, singular, reached = three_turns(
        row(w.h, 1), h5, h6, compose(turn, R), free_angle(w, 1) + free_angle(w, 2) + free_angle(w, 3), sign
    )
    # E2 E3 E4 = E1^-1 G (E5 E6)^-1, applied to the point where axis 5 comes nearest to axis 4.
    o4 = row(w.o, 3)
    back = moved(h6, center, -q6, moved(h5, center, -q5, o4))
    c = moved(h1, o1, -q1, applied(R, p, back))
    for j in range(2):
        w.raw[k + j, 0], w.raw[k + j, 4], w.raw[k + j, 5] = q1, q5, q6
        w.mark[k + j] = 0
        if singular == 1:
            w.mark[k + j] = WRIST
        if reached == 0:
            w.mark[k + j] = w.mark[k + j] | OUT_OF_REACH
    return _planar(w, 1, o4, c, k, x)


@kernel
def parallel_axes(w):
    """Six hinges, axes 2, 3 and 4 parallel, 5 and 6 meeting: the height of that meeting point along axis 2 gives q1.

    The turns about the parallel axes add up to one, which with q5 and q6 makes the rotation that is left; then the
    parallel hinges are a planar arm.
    """
    R, p = motion_of(w)
    h1, o1, h2 = row(w.h, 0), row(w.o, 0), row(w.h, 1)
    center = row(w.center, 0)
    wanted = minus(applied(R, p, center), o1)
    # h2 . E1^-1 (G center) = h2 . center: a turn by -q1.
    mean, half, reached = turn_to_height(h1, wanted, h2, dot(h2, minus(center, o1)))
    if reached == 0:
        return _parallel_nearest(w)
    bits = 0
    if math.fabs(sincos(half)[0]) * length(across(h1, wanted)) < ARM_TOLERANCE * w.length:
        bits = SHOULDER
    near = math.inf
    count = 0
    for i in range(4):
        q1 = -(mean + (1.0 - 2.0 * (i % 2)) * half)
        left = _with_first(w, q1, 1.0 - 2.0 * (i // 2), count)
        w.mark[count] = w.mark[count] | bits
        w.mark[count + 1] = w.mark[count + 1] | bits
        if w.mark[count] & OUT_OF_REACH == 0:
            count += 2
        near = min(near, left)
    return count if count > 0 else _parallel_nearest(w)


@kernel
def _parallel_nearest(w):
    """Where the tip comes nearest with the orientation asked: the distance as a function of q1 alone, two branches."""
    step = 6.283185307179586 / _SAMPLES
    best = math.inf
    kept = 0
    for branch in range(2):
        sign = 1.0 - 2.0 * branch
        least, q1 = math.inf, 0.0
        for i in range(_SAMPLES):
            d = _with_first(w, i * step, sign, 2 * branch)
            if d < least:
                least, q1 = d, i * step
        low, high = q1 - step, q1 + step
        golden = 0.6180339887498949
        a, b = high - golden * (high - low), low + golden * (high - low)
        fa, fb = _with_first(w, a, sign, 2 * branch), _with_first(w, b, sign, 2 * branch)
        for _ in range(60):
            if fa < fb:
                high, b, fb = b, a, fa
                a = high - golden * (high - low)
                fa = _with_first(w, a, sign, 2 * branch)
            else:
                low, a, fa = a, b, fb
                b = low + golden * (high - low)
                fb = _with_first(w, b, sign, 2 * branch)
        least = _with_first(w, 0.5 * (low + high), sign, 2 * branch)
        for k in range(2 * branch, 2 * branch + 2):
            w.mark[k] = w.mark[k] | OUT_OF_REACH
        limit = (math.sqrt(min(best, least)) + 1e-7 * w.length) ** 2
        if branch == 0:
            best, kept = least, 2
        elif least <= limit and best <= limit:
            kept = 4
        elif least <= limit:
            _copy(w, 2, 0, 0, 6)
            _copy(w, 3, 1, 0, 6)
    return kept


@kernel
def planar(w):
    """Three hinges with parallel axes: position in their plane, and the turn about them."""
    R, p = motion_of(w)
    h = row(w.h, 0)
    ankle = row(w.center, 0)
    w.mark[0], w.mark[1] = 0, 0
    _planar(w, 0, ankle, applied(R, p, ankle), 0, best_angle(h, R))
    return 2


@kernel
def elbow_direction(w, n, h4, elbow, axis):
    """Swivel angle: how far the elbow is turned about the line n from the shoulder to the wrist, seen along n [rad].

    Measured from the half-plane that holds the direction `axis`. The elbow's side is told by axis 4, which is there
    too when the arm is stretched.
    """
    side = outer(h4, n)
    if dot(side, elbow) < -1e-9 * w.length:
        side = times(-1.0, side)
    return angle_about(n, axis, side)


@kernel
def zero_swivel(w, n):
    """Direction across n from which swivel angles count: axis 1, or what is across it where the wrist lies on it."""
    axis = across(n, row(w.h, 0))
    if length(axis) < ARM_TOLERANCE:
        axis = across(n, across(row(w.h, 0), row(w.h, 1)))
    return axis


@kernel
def swivel_of(w, q):
    """Swivel angle of the positions q of the family's joints, given as the reference [rad]."""
    inner = row(w.center, 1)
    R = compose(
        rotation(row(w.h, 0), q[w.order[0]]),
        compose(rotation(row(w.h, 1), q[w.order[1]]), rotation(row(w.h, 2), q[w.order[2]])),
    )
    h4, o4 = row(w.h, 3), row(w.o, 3)
    wrist = minus(moved(h4, o4, q[w.order[3]], row(w.center, 0)), inner)
    n = direction(R, times(1.0 / max(length(wrist), 1e-300), wrist))
    elbow = direction(R, minus(o4, inner))
    return elbow_direction(w, n, direction(R, h4), elbow, zero_swivel(w, n))


@kernel
def swivel(w, angle):
    """Seven hinges, the first three through one point and the last three too, with the elbow at a swivel angle.

    The distance between the two points gives q4; what is left of the arm's pose is a rotation of the first three that
    takes the wrist to its place and the elbow to the angle, and then one of the last three. (Dahm and Joublin 1997;
    Faria et al. 2018.)
    """
    R, p = motion_of(w)
    outer_point, inner = row(w.center, 0), row(w.center, 1)
    h4, o4 = row(w.h, 3), row(w.o, 3)
    line = minus(applied(R, p, outer_point), inner)
    r = length(line)
    mean, half, reached = turn_to_distance(h4, minus(outer_point, o4), minus(o4, inner), r * r)
    elbow_bits = 0
    if math.fabs(sincos(half)[0]) < ARM_TOLERANCE:
        elbow_bits = ELBOW
    if reached == 0:
        elbow_bits = elbow_bits | OUT_OF_REACH
    n = (0.0, 0.0, 1.0)
    if r > 1e-12 * w.length:
        n = times(1.0 / r, line)
    axis = turned(n, angle, zero_swivel(w, n))
    count = 0
    for i in range(2):
        q4 = mean + (1.0 - 2.0 * i) * half
        wrist = minus(moved(h4, o4, q4, outer_point), inner)
        n0 = times(1.0 / max(length(wrist), 1e-300), wrist)
        side = outer(h4, n0)
        if dot(side, minus(o4, inner)) < -1e-9 * w.length:
            side = times(-1.0, side)
        # The rotation that takes n0 to n and the elbow's side to `axis`.
        upper = _frame_to_frame(n0, side, n, axis)
        lower = compose(transposed(rotation(h4, q4)), compose(transposed(upper), R))
        for j in range(4):
            q1, q2, q3, still, ok = three_turns(
                row(w.h, 0), row(w.h, 1), row(w.h, 2), upper, free_angle(w, 0), 1.0 - 2.0 * (j % 2)
            )
            q5, q6, q7, straight, fits = three_turns(
                row(w.h, 4), row(w.h, 5), row(w.h, 6), lower, free_angle(w, 4), 1.0 - 2.0 * (j // 2)
            )
            w.raw[count, 0], w.raw[count, 1], w.raw[count, 2], w.raw[count, 3] = q1, q2, q3, q4
            w.raw[count, 4], w.raw[count, 5], w.raw[count, 6] = q5, q6, q7
            bits = elbow_bits
            if still == 1:
                bits = bits | SHOULDER
            if straight == 1:
                bits = bits | WRIST
            if ok == 0 or fits == 0:
                bits = bits | OUT_OF_REACH
            w.mark[count] = bits
            count += 1
    return count


@kernel
def _frame_to_frame(n0, a0, n1, a1):
    """The rotation that takes the unit vector n0 to n1 and the half-plane of a0 to that of a1."""
    a0, a1 = across(n0, a0), across(n1, a1)
    a0, a1 = times(1.0 / max(length(a0), 1e-300), a0), times(1.0 / max(length(a1), 1e-300), a1)
    b0, b1 = outer(n0, a0), outer(n1, a1)
    F = (n1[0], a1[0], b1[0], n1[1], a1[1], b1[1], n1[2], a1[2], b1[2])
    E = (n0[0], n0[1], n0[2], a0[0], a0[1], a0[2], b0[0], b0[1], b0[2])
    return compose(F, E)


@kernel
def locked_out(w, R, p):
    """The motion that is left for the family when a joint at one end of the chain keeps its reference position."""
    k = w.locked
    if k < 0:
        return R, p
    h, o = row(w.axis, k), row(w.point, k)
    S = rotation(h, w.reference[k])
    s = minus(o, direction(S, o))
    T, t = inverse(S, s)
    if k == 0:
        return after(T, t, R, p)
    return after(R, p, T, t)
