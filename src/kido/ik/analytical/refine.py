"""What every solution goes through: forward kinematics, a correction by rounding errors' size, limits, one of each."""

from __future__ import annotations

import math

from kido.ik.analytical.families import motion_of
from kido.ik.analytical.schema import ELBOW, LIMIT_VIOLATED, MAX_SOLUTIONS, OUT_OF_REACH, SHOULDER, WRIST
from kido.ik.analytical.vectors import (
    applied,
    direction,
    length,
    minus,
    outer,
    rotation,
    row,
    transposed,
    wrapped,
)
from kido.jit import kernel
from kido.joints.frames import IDENTITY
from kido.math.elementary import arctan2
from kido.math.so3 import compose

REACHED_TOLERANCE = 1e-9  # [rad], and times the arm's size [m]: what may be left for a pose to count as reached
_GOOD = 2e-15  # the same, below which nothing is corrected
_STEPS = 6
_SAME = 1e-6  # [rad] between solutions that are one
_TIE = 1e-6  # part of the arm's size by which two poses out of reach may differ and be equally near
_TURN = 6.283185307179586


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
