"""Real roots of a trigonometric polynomial of second degree.

f(x) = e0 + e1 cos x + e2 sin x + e3 cos^2 x + e4 cos x sin x + e5 sin^2 x has up to four roots on the circle. With t =
tan(x/2) it is a quartic; |t| <= 1 covers one half of the circle, and the same after a turn by pi the other, so that no
root is far away. Roots of a polynomial are bracketed by those of its derivative, from the quadratic upwards: none is
missed, and a double root is found where the derivative vanishes.
"""

from __future__ import annotations

import math

from kido.jit import kernel
from kido.math.elementary import arctan2

_TOUCH = 1e-14  # part of the largest coefficient below which an extremum counts as a double root


@kernel
def _value(c, degree, t):
    p = c[degree]
    for k in range(degree):
        p = p * t + c[degree - 1 - k]
    return p


@kernel
def _bracketed(c, degree, low, high, f_low):
    """The root between low and high, where the polynomial has values of opposite signs."""
    t = 0.5 * (low + high)
    for _ in range(80):
        p, d = c[degree], 0.0
        for k in range(degree):
            d = d * t + p
            p = p * t + c[degree - 1 - k]
        if p == 0.0:
            break
        if (p > 0.0) == (f_low > 0.0):
            low = t
        else:
            high = t
        guess = t - p / d if d != 0.0 else low
        if not (guess > low and guess < high):
            guess = 0.5 * (low + high)
        if math.fabs(guess - t) <= 2e-16:
            t = guess
            break
        t = guess
    return t


@kernel
def _between(c, degree, edges, first, n, out, at, touch):
    """Roots of a polynomial that is monotonic between its edges[first : first + n + 2]; returns their number."""
    count = 0
    low = edges[first]
    f_low = _value(c, degree, low)
    for k in range(n + 1):
        high = edges[first + 1 + k]
        f_high = _value(c, degree, high)
        if math.fabs(f_low) <= touch:
            if k > 0:  # an extremum that touches zero: a double root
                out[at + count] = low
                count += 1
        if math.fabs(f_low) > touch and math.fabs(f_high) > touch and (f_low > 0.0) != (f_high > 0.0):
            out[at + count] = _bracketed(c, degree, low, high, f_low)
            count += 1
        elif k == 0 and math.fabs(f_low) <= touch:
            out[at + count] = low
            count += 1
        elif k == n and math.fabs(f_high) <= touch:
            out[at + count] = high
            count += 1
        low, f_low = high, f_high
    return count


@kernel
def _quartic(c0, c1, c2, c3, c4, work):
    """Roots in [-1, 1] of a quartic, into work[18:]; returns their number."""
    touch = _TOUCH * max(max(math.fabs(c0), math.fabs(c1)), max(max(math.fabs(c2), math.fabs(c3)), math.fabs(c4)))
    c = (c0, c1, c2, c3, c4)
    d = (c1, 2.0 * c2, 3.0 * c3, 4.0 * c4, 0.0)
    a2, a1, a0 = 12.0 * c4, 6.0 * c3, 2.0 * c2
    # Edges of the cubic: where the second derivative vanishes.
    n = 0
    work[0] = -1.0
    square = a1 * a1 - 4.0 * a2 * a0
    if square > 0.0:
        s = -0.5 * (a1 + math.copysign(math.sqrt(square), a1))
        r1, r2 = s / a2 if a2 != 0.0 else 2.0, a0 / s if s != 0.0 else 2.0
        low, high = min(r1, r2), max(r1, r2)
        if low > -1.0 and low < 1.0:
            n += 1
            work[n] = low
        if high > -1.0 and high < 1.0:
            n += 1
            work[n] = high
    work[n + 1] = 1.0
    m = _between(d, 3, work, 0, n, work, 7, 0.0)
    work[6] = -1.0
    work[7 + m] = 1.0
    return _between(c, 4, work, 6, m, work, 18, touch)


@kernel
def circle_roots(e0, e1, e2, e3, e4, e5, work):
    """Roots of f on the circle [rad], into work[12:]; returns their number, at most 4.

    Args:
        e0 ... e5: coefficients of f.
        work: room for 24 numbers.
    """
    count = 0
    for half in range(2):
        sign = 1.0 - 2.0 * half
        b1, b2 = sign * e1, sign * e2
        n = _quartic(e0 + b1 + e3, 2.0 * (b2 + e4), 2.0 * (e0 - e3) + 4.0 * e5, 2.0 * (b2 - e4), e0 - b1 + e3, work)
        for k in range(n):
            t = work[18 + k]
            s, c = sign * 2.0 * t, sign * (1.0 - t * t)
            x = arctan2(s, c)
            known = 0
            for j in range(count):
                apart = math.fabs(x - work[12 + j])
                if apart < 1e-9 or apart > 6.283185306179586:
                    known = 1
            if known == 0 and count < 6:
                work[12 + count] = x
                count += 1
    return count
