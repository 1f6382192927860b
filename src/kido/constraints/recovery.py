"""How gaps close and penetration is taken back.

Surfaces within `skin` of touching, on either side of it, come together slowly: a step takes only SKIN_SHARE of
what is missing, asked of the velocity itself. That is solved as well as the impulses are, so that a heavy body
does not sink into a light one, and it is too slow to be seen; taking all of it would turn rounding into new
velocities and make contacts at rest come and go. A gap beyond the skin may close down to it within one step.

Depth beyond SHALLOW_SKINS skins is left to the position correction (`kido.solvers.position`), which takes the share
`erp` of it in a step and whose velocity is forgotten: nothing pops out. The velocity of such a contact is only
kept from going deeper, because that is always possible, and opening a contact need not be: bodies may overlap
so that no motion parts them. For the same reason shallow contacts have a trace of softness.

With Baumgarte's method the velocity itself takes the share `erp` of any penetration back. It stays: what is
pushed out goes on moving (Baumgarte 1972).
"""

from __future__ import annotations

from kido.jit import kernel

SHALLOW_SKINS = 10.0  # [skins] depth up to which velocities take penetration back
SHALLOW_SOFTNESS = 1e-7  # of shallow contacts, beside their own compliance
SOFT_SPEED = 1e-7  # [m/s] speed at which that softness yields at most


@kernel
def distance_biases(src, gap):
    """Biases of the velocity and of the position correction [m/s] at a gap [m]; negative ones open it."""
    return biases(src, gap, src.slop, src.max_correction)


@kernel
def biases(src, gap, slop, most):
    """`distance_biases` with a slop [m] and a largest correction of a step [m] of their own."""
    h = src.time_step
    skin = src.skin
    if gap > 0.0:
        return (src.skin_share * min(gap, skin) + max(gap - skin, 0.0)) / h, gap / h
    depth = max(-gap - slop, 0.0)
    if src.baumgarte != 0:
        return -min(src.erp * depth, most) / h, 0.0
    if depth <= SHALLOW_SKINS * skin:
        return -src.skin_share * min(depth, skin) / h, 0.0
    return 0.0, -min(src.erp * depth, most) / h
