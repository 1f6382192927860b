"""Exponential, logarithm and inverse tangent without branches, by the arithmetic that every target has."""

from __future__ import annotations

import math

from kido.jit import floor, fma, kernel, rint, where_positive

_LOG2_E = 1.4426950408889634
# ln 2 in two parts; the first has so few bits that its product with an exponent is exact.
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_SQRT2, _SQRT_HALF = 1.4142135623730951, 0.7071067811865476
_PI, _HALF_PI, _QUARTER_PI = 3.141592653589793, 1.5707963267948966, 0.7853981633974483
_TAN_PI_8 = 0.41421356237309503
_NAN = math.nan


@kernel
def power_of_two(k):
    """2^k of a whole number |k| < 1024."""
    size = where_positive(k, k, -k)
    base = where_positive(k, 2.0, 0.5)
    result = 1.0 + 0.0 * k
    for _ in range(10):
        half = floor(0.5 * size)
        result = result * where_positive(size - 2.0 * half, base, 1.0)
        base = base * base
        size = half
    return result


@kernel
def exp(x):
    """e^x, within 2 ulp; infinite or zero where it leaves the range of numbers."""
    x = where_positive(x - 800.0, 800.0, where_positive(-800.0 - x, -800.0, x))
    k = rint(x * _LOG2_E)
    r = fma(k, -_LN2_HIGH, x)
    r = fma(k, -_LN2_LOW, r)
    # Taylor's series: |r| < 0.35, the first term left out is below 5e-18.
    p = 1.0 / 6227020800.0
    p = fma(r, p, 1.0 / 479001600.0)
    p = fma(r, p, 1.0 / 39916800.0)
    p = fma(r, p, 1.0 / 3628800.0)
    p = fma(r, p, 1.0 / 362880.0)
    p = fma(r, p, 1.0 / 40320.0)
    p = fma(r, p, 1.0 / 5040.0)
    p = fma(r, p, 1.0 / 720.0)
    p = fma(r, p, 1.0 / 120.0)
    p = fma(r, p, 1.0 / 24.0)
    p = fma(r, p, 1.0 / 6.0)
    p = fma(r, p, 0.5)
    p = fma(r * r, p, r)
    half = floor(0.5 * k)  # in two factors: 2^1024 is no number, e^709.7 is
    return ((1.0 + p) * power_of_two(half)) * power_of_two(k - half)


@kernel
def log(x):
    """Natural logarithm, within 2 ulp; NaN unless x > 0.

    x = 2^e m with m between sqrt(1/2) and sqrt(2), by bisection on e; then the series of artanh in
    s = f / (2 + f), f = m - 1, summed as in fdlibm.
    """
    m = x
    e = 0.0 * x
    up, down = 1.3407807929942597e154, 7.458340731200207e-155  # 2^512, 2^-512
    step = 512.0
    for _ in range(10):
        above, below = m - up, down - m
        e = e + where_positive(above, step, where_positive(below, -step, 0.0))
        m = m * where_positive(above, down, where_positive(below, up, 1.0))
        step = 0.5 * step
        up, down = math.sqrt(up), math.sqrt(down)
    above, below = m - _SQRT2, _SQRT_HALF - m
    e = e + where_positive(above, 1.0, where_positive(below, -1.0, 0.0))
    m = m * where_positive(above, 0.5, where_positive(below, 2.0, 1.0))
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    p = 2.0 / 25.0
    p = fma(z, p, 2.0 / 23.0)
    p = fma(z, p, 2.0 / 21.0)
    p = fma(z, p, 2.0 / 19.0)
    p = fma(z, p, 2.0 / 17.0)
    p = fma(z, p, 2.0 / 15.0)
    p = fma(z, p, 2.0 / 13.0)
    p = fma(z, p, 2.0 / 11.0)
    p = fma(z, p, 2.0 / 9.0)
    p = fma(z, p, 2.0 / 7.0)
    p = fma(z, p, 2.0 / 5.0)
    p = fma(z, p, 2.0 / 3.0)
    p = z * p
    half = 0.5 * f * f
    result = e * _LN2_HIGH - ((half - (s * (half + p) + e * _LN2_LOW)) - f)
    return where_positive(x, result, _NAN)


@kernel
def arctan2(y, x):
    """Angle of the point (x, y) [rad] in [-pi, pi], within 2 ulp; 0 at the origin."""
    ay, ax = where_positive(y, y, -y), where_positive(x, x, -x)
    steep = ay - ax
    t = where_positive(steep, ax, ay) / (where_positive(steep, ay, ax) + 1e-300)  # in [0, 1]
    wide = t - _TAN_PI_8
    t = where_positive(wide, (t - 1.0) / (t + 1.0), t)  # |t| <= tan(pi/8)
    z = t * t
    # Taylor's series: the first term left out is below 1e-17.
    p = -1.0 / 43.0
    p = fma(z, p, 1.0 / 41.0)
    p = fma(z, p, -1.0 / 39.0)
    p = fma(z, p, 1.0 / 37.0)
    p = fma(z, p, -1.0 / 35.0)
    p = fma(z, p, 1.0 / 33.0)
    p = fma(z, p, -1.0 / 31.0)
    p = fma(z, p, 1.0 / 29.0)
    p = fma(z, p, -1.0 / 27.0)
    p = fma(z, p, 1.0 / 25.0)
    p = fma(z, p, -1.0 / 23.0)
    p = fma(z, p, 1.0 / 21.0)
    p = fma(z, p, -1.0 / 19.0)
    p = fma(z, p, 1.0 / 17.0)
    p = fma(z, p, -1.0 / 15.0)
    p = fma(z, p, 1.0 / 13.0)
    p = fma(z, p, -1.0 / 11.0)
    p = fma(z, p, 1.0 / 9.0)
    p = fma(z, p, -1.0 / 7.0)
    p = fma(z, p, 1.0 / 5.0)
    p = fma(z, p, -1.0 / 3.0)
    r = fma(t * z, p, t) + where_positive(wide, _QUARTER_PI, 0.0)
    r = where_positive(steep, _HALF_PI - r, r)
    r = where_positive(-x, _PI - r, r)
    return where_positive(-y, -r, r)
