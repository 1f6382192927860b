"""What makes a contact's velocity yield: springs and dampers, slip compliance, and surfaces that move by themselves."""

from __future__ import annotations

from kido.constraints.surfaces import (
    SPRING_DAMPER_AT_END,
    TIME_CONSTANT,
    surface_motion,
)
from kido.jit import kernel

SOFT_BIAS = 1e6  # [m/s] position correction leaves soft contacts alone


@kernel
def set_slip_and_motion(d, c, pr, src, s, k, row, block, properties):
    """Slip compliance, and the motion of the surfaces beside their bodies', of a contact's tangents."""
    h = src.time_step
    one, two = src.share[block, 0], src.share[block, 1]
    pr.compliance[row + 1] = one * one * s.slip[properties] / h
    pr.compliance[row + 2] = two * two * s.secondary_slip[properties] / h
    if s.moves[properties] != 0:
        x, y, z, _, _, _ = surface_motion(d, c, s, k, properties)
        t = src.tangent
        pr.bias[row + 1] = t[block, 0] * x + t[block, 1] * y + t[block, 2] * z
        pr.bias[row + 2] = t[block, 3] * x + t[block, 4] * y + t[block, 5] * z


@kernel
def set_spring(c, pr, src, s, k, block, properties, compliance, before):
    """Bias and softness of a contact with a spring k and a damper d (`kido.SpringDamper`).

    With the gap g at mid-step and velocities v_0, v_1 at the step's ends the mean gap is g + (h/4) (v_1 - v_0), so
    that f = -k (g + h (a v_1 - b v_0)) - d ((1 - c) v_1 + c v_0) is of second order for a = b = 1/4, c = 1/2. For
    a = 1, b = c = 0 it is damped however stiff the spring. Which of the two, or how much of each, is a matter of
    r = (h^2 k + h d) W_nn.

    Args:
        compliance: W_nn [1/kg].
        before: v_0, normal velocity at the start of the step [m/s].

    Returns:
        False if the contact is to be left out: it does not touch yet.
    """
    h = src.time_step
    row, gap = pr.row[block], c.gap[k]
    one, two = s.softness[properties, 0], s.softness[properties, 1]
    stiffness, damping = one, two
    if s.softness_kind[properties] == TIME_CONSTANT:
        stiffness = 1.0 / (compliance * one * one * two * two)
        damping = 2.0 / (compliance * one)
    resolved = 0.0
    if s.softness_kind[properties] != SPRING_DAMPER_AT_END:
        resolved = min(max((4.0 - (h * stiffness + damping) * h * compliance) / 3.0, 0.0), 1.0)
    pr.position_bias[block] = SOFT_BIAS
    if gap > 0.0 and resolved > 0.0:
        return False
    new, old, part = 1.0 - 0.75 * resolved, 0.25 * resolved, 0.5 * resolved
    total = h * new * stiffness + (1.0 - part) * damping
    if gap > 0.0:
        pr.bias[row] = gap / h
    else:
        pr.bias[row] = (stiffness * (gap - h * old * before) + part * damping * before) / total
    pr.compliance[row] = 1.0 / (h * total)
    return True
