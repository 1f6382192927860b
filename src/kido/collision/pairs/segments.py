"""Nearest points of two segments."""

from __future__ import annotations

from kido.jit import kernel

SIDE_BY_SIDE = 0.05  # sine of the angle of two axes that touch along a stretch


@kernel
def nearest_on_segments(a0, a1, a2, ha, b0, b1, b2, hb, r0, r1, r2):
    """Parameters s, t of the nearest points s a and r + t b, |s| <= ha, |t| <= hb, with unit directions a, b.

    Source: Ericson, Real-Time Collision Detection (2005), section 5.1.9, for centred segments.
    """
    ab = a0 * b0 + a1 * b1 + a2 * b2
    ar = a0 * r0 + a1 * r1 + a2 * r2
    br = b0 * r0 + b1 * r1 + b2 * r2
    det = 1.0 - ab * ab
    s = 0.0
    if det > 1e-14:
        s = (ar - ab * br) / det
    else:
        s = ar
    s = min(max(s, -ha), ha)
    t = ab * s - br
    if t > hb or t < -hb:
        t = min(max(t, -hb), hb)
        s = min(max(ab * t + ar, -ha), ha)
    return s, t
