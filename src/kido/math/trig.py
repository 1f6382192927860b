"""Sine and cosine together, and the arc tangent, without branches."""

from __future__ import annotations

import math

from kido.jit import JIT_DISABLED, floor, fma, kernel, rint, where_positive

_TWO_OVER_PI = 0.6366197723675814
# pi/2 in three parts, subtracted one after the other with fused multiply-add (Cody and Waite, 1980).
_HALF_PI_1 = 1.5707963267948966
_HALF_PI_2 = 6.123233995736766e-17
_HALF_PI_3 = -1.4973849048591833e-33
# Minimax polynomials of sin and cos on [-pi/4, pi/4] (the coefficients of fdlibm's kernels).
_S1, _S2, _S3 = -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04
_S4, _S5, _S6 = 2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10
_C1, _C2, _C3 = 4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05
_C4, _C5, _C6 = -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11
# Rational function of the arc tangent on [0, 0.66] (the coefficients of Cephes' atan).
_P0, _P1, _P2 = -8.750608600031904122785e-01, -1.615753718733365076637e01, -7.500855792314704667340e01
_P3, _P4 = -1.228866684490136173410e02, -6.485021904942025371773e01
_Q0, _Q1, _Q2 = 2.485846490142306297962e01, 1.650270098316988542046e02, 4.328810604912902668951e02
_Q3, _Q4 = 4.853903996359136964868e02, 1.945506571482613964425e02
_TAN_PI_8, _TAN_3PI_8 = 0.41421356237309503, 2.414213562373095

if JIT_DISABLED:

    def sincos(x):
        """(sin x, cos x)."""
        return math.sin(x), math.cos(x)

else:

    @kernel
    def sincos(x):
        """(sin x, cos x), within 2 ulp for |x| <= 1e5 rad."""
        k = rint(x * _TWO_OVER_PI)
        r = fma(k, -_HALF_PI_1, x)
        r = fma(k, -_HALF_PI_2, r)
        r = fma(k, -_HALF_PI_3, r)
        z = r * r
        ps = fma(z, fma(z, fma(z, fma(z, fma(z, _S6, _S5), _S4), _S3), _S2), _S1)
        s = fma(r * z, ps, r)
        pc = fma(z, fma(z, fma(z, fma(z, fma(z, _C6, _C5), _C4), _C3), _C2), _C1)
        half = 0.5 * z
        w = 1.0 - half
        c = w + (((1.0 - w) - half) + z * z * pc)
        quarter = floor(0.5 * k)
        odd = k - 2.0 * quarter
        sign = 1.0 - 2.0 * (quarter - 2.0 * floor(0.5 * quarter))  # +1 for k mod 4 in {0, 1}, else -1
        return sign * where_positive(odd, c, s), sign * where_positive(odd, -s, c)


@kernel
def arc_tangent(y, x):
    """Angle in [0, pi/2] of the point (x, y) with x >= 0, y >= 0 and not both zero; within 2 ulp."""
    # Turned by 0, -pi/4 or -pi/2, the point lies within pi/8 of the x axis.
    steep = y - _TAN_3PI_8 * x
    middle = y - _TAN_PI_8 * x
    above = where_positive(steep, -x, where_positive(middle, y - x, y))
    ahead = where_positive(steep, y, where_positive(middle, y + x, x))
    half_turns = where_positive(steep, 1.0, where_positive(middle, 0.5, 0.0))
    r = above / ahead
    z = r * r
    p = fma(z, fma(z, fma(z, fma(z, _P0, _P1), _P2), _P3), _P4)
    q = fma(z, fma(z, fma(z, fma(z, z + _Q0, _Q1), _Q2), _Q3), _Q4)
    return half_turns * _HALF_PI_1 + (r + (r * (z * p / q) + half_turns * _HALF_PI_2))
