"""Sine and cosine together, without branches."""

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
