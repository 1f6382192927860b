"""The exact Coulomb cone: projections and the natural map. The only place where these formulas are written.

The Coulomb cone is K = {(p_n, p_t): |p_t| <= mu p_n}. With v the contact velocity and the De Saxce term
s = (mu |v_t|, 0), an impulse p is a solution exactly if p = proj_K(p - d (v + s)) for any d > 0: the
natural map. Its defect measures every solution, ours or not (`kido.solvers.certify`).

Source: de Saxce and Feng 1998; Acary and Brogliato 2008.
"""

from __future__ import annotations

import math

from kido.jit import kernel


@kernel
def project_cone(n, t1, t2, mu, floor):
    """Euclidean projection of (n, t1, t2) onto K cut at p_n >= floor (floor >= 0)."""
    t = math.sqrt(t1 * t1 + t2 * t2)
    if t <= mu * n:
        m = n
        scale = 1.0
    elif mu * t <= -n:
        m = 0.0
        scale = 0.0
    else:
        m = (mu * t + n) / (1.0 + mu * mu)
        scale = mu * m / t
    if m < floor:
        m = floor
        scale = 1.0
        if t > mu * floor:
            scale = mu * floor / t
    return m, scale * t1, scale * t2


@kernel
def contact_defect(p0, p1, p2, v0, v1, v2, step, mu, floor):
    """p - proj(p - step (v + s)): the natural map's defect of one contact [N s]; `step` is 3 / trace
    A_ii."""
    n = p0 - step * (v0 + mu * math.sqrt(v1 * v1 + v2 * v2))
    q0, q1, q2 = project_cone(n, p1 - step * v1, p2 - step * v2, mu, floor)
    return p0 - q0, p1 - q1, p2 - q2


@kernel
def project_spin(n, t1, t2, about, across):
    """Euclidean projection of a spin impulse (n, t1, t2) onto |n| <= about, |t| <= across."""
    t = math.sqrt(t1 * t1 + t2 * t2)
    scale = across / t if t > across else 1.0
    return clamp(n, -about, about), scale * t1, scale * t2


@kernel
def spin_defect(p0, p1, p2, v0, v1, v2, step, about, across):
    """p - proj(p - step v): the natural map's defect of a spin block at its contact's present bounds [N m s]."""
    q0, q1, q2 = project_spin(p0 - step * v0, p1 - step * v1, p2 - step * v2, about, across)
    return p0 - q0, p1 - q1, p2 - q2


@kernel
def bounded_defect(p, v, step, lower, upper):
    """p - clamp(p - step v, lower, upper): the natural map's defect of a bounded row; `step` is 1 /
    A_ii."""
    return p - clamp(p - step * v, lower, upper)


@kernel
def clamp(x, lower, upper):
    """x moved into [lower, upper]."""
    if x < lower:
        return lower
    if x > upper:
        return upper
    return x


@kernel
def relative_residual(defect2, impulse2, velocity2):
    """|r|_2 / |p|_2 from sums of squares of r, p and step*v.

    Where p vanishes beside the impulse scale step*v that the velocities themselves set (nothing touches),
    that scale, times 1e-8, takes its place, so that rounding alone does not read as a residual. NaN if
    anything is not finite.
    """
    if not math.isfinite(velocity2):
        return math.nan
    scale = impulse2
    if scale < 1e-16 * velocity2:
        scale = 1e-16 * velocity2
    if scale <= 0.0:
        if defect2 == 0.0:
            return 0.0
        scale = 1e-300
    return math.sqrt(defect2 / scale)
