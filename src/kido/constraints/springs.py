"""Springs with dampers as rows of the problem, of second order where a step resolves them and damped where it does not.

With the distance g from rest at mid-step and velocities v_0, v_1 at the step's ends the mean distance is
g + (h/4) (v_1 - v_0), so that f = -k (g + h (a v_1 - b v_0)) - d ((1 - c) v_1 + c v_0) is of second order for
a = b = 1/4, c = 1/2. For a = 1, b = c = 0 it is damped however stiff the spring. Which of the two, or how much of each,
is a matter of r = (h^2 k + h d) W, W being the row's own response.
"""

from __future__ import annotations

from kido.jit import kernel


@kernel
def resolved_share(stiffness, damping, response, h):
    """How much of the rule of second order: 1 up to r = 1, 0 from r = 4 on."""
    return min(max((4.0 - (h * stiffness + damping) * h * response) / 3.0, 0.0), 1.0)


@kernel
def set_spring_row(pr, row, stiffness, damping, gap, before, resolved, h):
    """Bias and softness of a row; `gap` is g, `before` v_0."""
    new, old, part = 1.0 - 0.75 * resolved, 0.25 * resolved, 0.5 * resolved
    total = h * new * stiffness + (1.0 - part) * damping
    pr.bias[row] = (stiffness * (gap - h * old * before) + part * damping * before) / total
    pr.compliance[row] = 1.0 / (h * total)
