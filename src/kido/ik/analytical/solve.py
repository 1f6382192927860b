"""Closed forms from Python, for one target or many: a family's solutions, and what every one of them goes through.

That is forward kinematics, a correction by rounding errors' size, limits, and one of each.
"""

from __future__ import annotations

import math

from kido.ik.analytical.arm import ARM, ELBOW, LIMIT_VIOLATED, MAX_SOLUTIONS, OUT_OF_REACH, SHOULDER, WRIST
from kido.ik.analytical.families import locked_out, motion_of, parallel_axes, planar, spherical_wrist, swivel, swivel_of
from kido.ik.analytical.vectors import (
    after,
    applied,
    direction,
    dot,
    inverse,
    length,
    minus,
    outer,
    rotation,
    row,
    transposed,
    wrapped,
)
from kido.jit import direct_entry, kernel, view
from kido.joints.frames import IDENTITY
from kido.math.elementary import arctan2
from kido.math.so3 import compose

REACHED_TOLERANCE = 1e-9  # [rad], and times the arm's size [m]: what may be left for a pose to count as reached

_GOOD = 2e-15  # the same, below which nothing is corrected

_STEPS = 6

_SAME = 1e-6  # [rad] between solutions that are one

_TIE = 1e-6  # part of the arm's size by which two poses out of reach may differ and be equally near

_TURN = 6.283185307179586


SPHERICAL_WRIST, PARALLEL_AXES, SWIVEL, PLANAR_CHAIN = range(4)


@kernel
def rotation_vector(R):
    """log R [rad]; exact for small angles, and whatever its sign for a half turn."""
    v = (0.5 * (R[7] - R[5]), 0.5 * (R[2] - R[6]), 0.5 * (R[3] - R[1]))
    sine = length(v)
    cosine = 0.5 * (R[0] + R[4] + R[8] - 1.0)
    if sine < 1e-8 and cosine < 0.0:
        x, y, z = 0.5 * (R[0] + 1.0), 0.5 * (R[4] + 1.0), 0.5 * (R[8] + 1.0)
        return math.pi * math.sqrt(max(x, 0.0)), math.pi * math.sqrt(max(y, 0.0)), math.pi * math.sqrt(max(z, 0.0))
    k = arctan2(sine, cosine) / sine if sine > 1e-12 else 1.0
    return k * v[0], k * v[1], k * v[2]


@kernel
def residual(w, k, n):
    """Displacement and turn from where solution k puts the tip to where it is to be; fills the Jacobian J."""
    R, p = IDENTITY, (0.0, 0.0, 0.0)
    for j in range(n):
        h, o = row(w.axis, j), row(w.point, j)
        a = direction(R, h)
        at = applied(R, p, o)
        w.J[j, 0], w.J[j, 1], w.J[j, 2] = a
        w.J[j, 3], w.J[j, 4], w.J[j, 5] = at
        R = compose(R, rotation(h, w.found[k, j]))
        p = minus(at, direction(R, o))
    goal = row(w.goal, 0)
    for j in range(n):
        a = (w.J[j, 0], w.J[j, 1], w.J[j, 2])
        w.J[j, 3], w.J[j, 4], w.J[j, 5] = outer(a, minus(goal, (w.J[j, 3], w.J[j, 4], w.J[j, 5])))
    S, s = motion_of(w)
    # The tip's point lies at `goal` under G; under the solution the same point lies at R S^T (goal - s) + p.
    miss = minus(goal, applied(R, p, direction(transposed(S), minus(goal, s))))
    turn = rotation_vector(compose(S, transposed(R)))
    return miss, turn


@kernel
def _correct(w, k, n, miss, turn):
    """One damped least-squares step that reduces the residual; the damping matters in singular poses only."""
    locked = w.locked
    for i in range(n):
        for j in range(i + 1):
            s = 0.0
            for m in range(6):
                s += w.J[i, m] * w.J[j, m]
            w.A[i, j] = s
        w.A[i, i] += 1e-13
        w.A[i, n] = (
            w.J[i, 0] * turn[0] + w.J[i, 1] * turn[1] + w.J[i, 2] * turn[2]
            + w.J[i, 3] * miss[0] + w.J[i, 4] * miss[1] + w.J[i, 5] * miss[2]
        )  # fmt: skip
        if i == locked:
            for j in range(i):
                w.A[i, j] = 0.0
            w.A[i, n] = 0.0
        elif locked >= 0 and locked < i:
            w.A[i, locked] = 0.0
    for i in range(n):
        for j in range(i + 1):
            s = w.A[i, j]
            for m in range(j):
                s -= w.A[i, m] * w.A[j, m]
            w.A[i, j] = math.sqrt(max(s, 1e-14)) if i == j else s / w.A[j, j]
        s = w.A[i, n]
        for m in range(i):
            s -= w.A[i, m] * w.A[m, n]
        w.A[i, n] = s / w.A[i, i]
    for i in range(n - 1, -1, -1):
        s = w.A[i, n]
        for m in range(i + 1, n):
            s -= w.A[m, i] * w.A[m, n]
        w.A[i, n] = s / w.A[i, i]
    for i in range(n):
        w.found[k, i] += w.A[i, n]


@kernel
def _corrected(w, k, n, miss, turn):
    """Corrects solution k as long as that helps; where it does not reach the pose, it stays as the family found it.

    Returns distance and angle left.
    """
    size = w.length
    first = last = MAX_SOLUTIONS - 1
    first -= 1
    _copy(w, k, first, n)
    left0, angle0 = length(miss), length(turn)
    left, angle = left0, angle0
    for _ in range(_STEPS):
        before = left + size * angle
        _copy(w, k, last, n)
        _correct(w, k, n, miss, turn)
        miss, turn = residual(w, k, n)
        now = length(miss) + size * length(turn)
        if now >= before:
            _copy(w, last, k, n)
            break
        left, angle = length(miss), length(turn)
        if now > 0.25 * before or now <= _GOOD * size:
            break
    if left > REACHED_TOLERANCE * size or angle > REACHED_TOLERANCE:
        _copy(w, first, k, n)
        return left0, angle0
    return left, angle


@kernel
def _copy(w, source, to, n):
    for j in range(n):
        w.found[to, j] = w.found[source, j]


@kernel
def _turn_into_limits(w, k, n):
    """Whole turns are added until a joint is within its limits and as close to its reference as it gets."""
    bits = 0
    for j in range(n):
        lower, upper = w.lower[j], w.upper[j]
        q = w.reference[j] + wrapped(w.found[k, j] - w.reference[j])
        if q > upper:
            q -= _TURN * math.ceil((q - upper) / _TURN)
            if q < lower and upper - q > q + _TURN - upper:
                q += _TURN
        elif q < lower:
            q += _TURN * math.ceil((lower - q) / _TURN)
            if q > upper and q - lower > lower - q + _TURN:
                q -= _TURN
        if q > upper or q < lower:
            # Limits are met as closely as an angle is computed.
            if q > upper and q - upper < 1e-12:
                q = upper
            elif q < lower and lower - q < 1e-12:
                q = lower
            else:
                bits = LIMIT_VIOLATED
        w.found[k, j] = q
    return bits


@kernel
def _is_known(w, count, n):
    """Whether `found[count]` is one of those before it, but for whole turns and rounding."""
    for k in range(count):
        apart = 0.0
        for j in range(n):
            apart = max(apart, math.fabs(wrapped(w.found[k, j] - w.found[count, j])))
        if apart < _SAME:
            return 1
    return 0


@kernel
def refine(w, raw):
    """Solutions `raw` of the family become `found`, `error` and `flags`; returns how many there are."""
    n = len(w.reference)
    family = len(w.order)
    size = w.length
    count = 0
    for k in range(min(raw, MAX_SOLUTIONS - 2)):  # the last two rows of `found` are work space
        bits = w.mark[k]
        for j in range(n):
            w.found[count, j] = w.reference[j]
        for j in range(family):
            w.found[count, w.order[j]] = w.raw[k, j]
        miss, turn = residual(w, count, n)
        left, angle = length(miss), length(turn)
        if bits & OUT_OF_REACH == 0 and left + size * angle > _GOOD * size:
            left, angle = _corrected(w, count, n, miss, turn)
        if left > REACHED_TOLERANCE * size or angle > REACHED_TOLERANCE:
            bits = bits | OUT_OF_REACH
        else:
            bits = bits & ~OUT_OF_REACH
        if w.backward == 1:
            bits = _mirrored(bits)
        if _is_known(w, count, n) == 1:
            continue
        w.error[count, 0], w.error[count, 1] = left, angle
        w.flags[count] = bits | _turn_into_limits(w, count, n)
        count += 1
    return _best_kept(w, count, n)


@kernel
def _best_kept(w, count, n):
    """Without solutions out of reach if there are others; else those that come nearest only. Returns their number."""
    size = w.length
    least = math.inf
    for k in range(count):
        if w.flags[k] & OUT_OF_REACH == 0:
            least = 0.0
        else:
            least = min(least, w.error[k, 0] + size * w.error[k, 1])
    kept = 0
    for k in range(count):
        left = w.error[k, 0] + size * w.error[k, 1]
        if w.flags[k] & OUT_OF_REACH == 0 or (least > 0.0 and left <= least + _TIE * size):
            _copy(w, k, kept, n)
            w.error[kept, 0], w.error[kept, 1], w.flags[kept] = w.error[k, 0], w.error[k, 1], w.flags[k]
            kept += 1
    return kept


@kernel
def _mirrored(bits):
    """The names of singular poses, of a family that runs from the tip to the base."""
    result = bits & (OUT_OF_REACH | LIMIT_VIOLATED | ELBOW)
    if bits & SHOULDER:
        result = result | WRIST
    if bits & WRIST:
        result = result | SHOULDER
    return result


@kernel
def _aim(w, base, R, p):
    """The motion that the chain is to make, and the goal, from poses of the base and of the tip in the world."""
    B = (base[0, 0], base[0, 1], base[0, 2], base[1, 0], base[1, 1], base[1, 2], base[2, 0], base[2, 1], base[2, 2])
    T, t = inverse(B, (base[0, 3], base[1, 3], base[2, 3]))
    R, p = after(T, t, R, p)
    w.goal[0, 0], w.goal[0, 1], w.goal[0, 2] = p
    m = w.home
    return after(R, p, (m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8]), (m[9], m[10], m[11]))


@kernel
def _store(w, R, p):
    for i in range(9):
        w.G[i] = R[i]
    for i in range(3):
        w.G[9 + i] = p[i]


@kernel
def solve_one(w, family, R, p, angle, keep):
    """Solutions for the motion (R, p): `found`, `error` and `flags`; returns how many."""
    S, s = locked_out(w, R, p)
    if w.backward == 1:
        S, s = inverse(S, s)
    _store(w, S, s)
    if family == SPHERICAL_WRIST:
        raw = spherical_wrist(w)
    elif family == PARALLEL_AXES:
        raw = parallel_axes(w)
    elif family == PLANAR_CHAIN:
        raw = planar(w)
    else:
        raw = swivel(w, swivel_of(w, w.reference) if keep == 1 else angle)
    _store(w, R, p)
    return refine(w, raw)


@direct_entry("i8(i8,i8,f8[:,::1],f8[:,::1],f8[::1],f8,i8)")
def solve(arm, family, base, target, reference, angle, keep):
    """All solutions for one pose of the tip in the world; returns how many.

    Args:
        arm: address of an ARM.
        family: SPHERICAL_WRIST, PARALLEL_AXES, SWIVEL or PLANAR_CHAIN.
        base: pose of the base in the world, 4x4.
        target: pose of the tip in the world, 4x4.
        reference: positions that free choices and whole turns stay close to; also of a locked joint.
        angle: swivel angle [rad] (SWIVEL).
        keep: 1: the swivel angle of `reference` instead.
    """
    w = view(ARM, arm)
    for j in range(len(w.reference)):
        w.reference[j] = reference[j]
    X = target
    R = (X[0, 0], X[0, 1], X[0, 2], X[1, 0], X[1, 1], X[1, 2], X[2, 0], X[2, 1], X[2, 2])
    R, p = _aim(w, base, R, (X[0, 3], X[1, 3], X[2, 3]))
    return solve_one(w, family, R, p, angle, keep)


@direct_entry("i8(f8[:,::1])")
def is_pose(X):
    """1 if a matrix is a rigid transform to within 1e-12, else 0."""
    if X.shape[0] != 4 or X.shape[1] != 4:
        return 0
    x, y, z = row(X, 0), row(X, 1), row(X, 2)
    off = max(math.fabs(dot(x, y)), max(math.fabs(dot(y, z)), math.fabs(dot(z, x))))
    off = max(off, max(math.fabs(dot(x, x) - 1.0), max(math.fabs(dot(y, y) - 1.0), math.fabs(dot(z, z) - 1.0))))
    far = math.fabs(X[0, 3]) + math.fabs(X[1, 3]) + math.fabs(X[2, 3])
    last = math.fabs(X[3, 0]) + math.fabs(X[3, 1]) + math.fabs(X[3, 2]) + math.fabs(X[3, 3] - 1.0)
    right = dot(x, outer(y, z))
    # Comparisons with NaN are false.
    return 1 if off < 1e-12 and far < math.inf and last == 0.0 and right > 0.0 and dot(x, y) == dot(x, y) else 0


@direct_entry("f8(i8,f8[::1])")
def swivel_at(arm, q):
    """Swivel angle of positions q of the chain [rad]."""
    w = view(ARM, arm)
    return swivel_of(w, q)


@direct_entry("i8(i8,i8,f8[:,::1],f8[:,:,::1],f8[:,::1],f8,i8,f8[:,:,::1],f8[:,:,::1],f8[:,::1])")
def solve_many(arm, family, base, targets, references, angle, keep, positions, errors, flags):
    """`solve` for many targets; `references` has a row for each, or one for all.

    Solutions go into positions (targets, at most, joints), errors (..., 2) and flags (targets, 1 + at most), whose
    first column is their number.
    """
    w = view(ARM, arm)
    n = len(w.reference)
    most = positions.shape[1]
    for i in range(targets.shape[0]):
        for j in range(n):
            w.reference[j] = references[min(i, references.shape[0] - 1), j]
        X = targets
        R = (
            X[i, 0, 0], X[i, 0, 1], X[i, 0, 2], X[i, 1, 0], X[i, 1, 1], X[i, 1, 2], X[i, 2, 0], X[i, 2, 1], X[i, 2, 2],
        )  # fmt: skip
        R, p = _aim(w, base, R, (X[i, 0, 3], X[i, 1, 3], X[i, 2, 3]))
        count = min(solve_one(w, family, R, p, angle, keep), most)
        flags[i, 0] = count
        for k in range(count):
            flags[i, 1 + k] = w.flags[k]
            errors[i, k, 0], errors[i, k, 1] = w.error[k, 0], w.error[k, 1]
            for j in range(n):
                positions[i, k, j] = w.found[k, j]
    return 0
