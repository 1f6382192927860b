"""The exact Coulomb cone: projections, the natural map, and the exact solution of one contact. The only place where
these formulas are written.

The Coulomb cone is K = {(p_n, p_t): |p_t| <= mu p_n}. With v the contact velocity and the De Saxce term
s = (mu |v_t|, 0), an impulse p is a solution exactly if p = proj_K(p - d (v + s)) for any d > 0: the
natural map. Its defect measures every solution, ours or not (`kido.solvers.certify`).

One contact alone is solved for every positive semidefinite compliance. Given v = W p + b, find p in the cone with v
as Coulomb's law demands (`kido.solvers.problem`). With v_n = 0 the normal impulse is p_n = n0 + k . p_t, and what
remains for the tangential impulse is

    (S + alpha I) p_t = -c,    |p_t| <= mu p_n,    alpha >= 0,    alpha (mu p_n - |p_t|) = 0

where S is the Schur complement of W_nn and alpha the slip speed per friction impulse. alpha = 0 is
sticking. If sticking leaves the cone, then mu p_n - |p_t| is negative at alpha = 0 and positive for large
alpha (p_t vanishes and p_n tends to -b_n / W_nn > 0), so a root always exists and is always bracketed:
Newton's method inside that bracket cannot fail.

Source: de Saxce and Feng 1998; Acary and Brogliato 2008.
"""

from __future__ import annotations

import math

from kido.jit import kernel, where_positive
from kido.math.choices import any_positive, larger

TINY = 1e-300  # adds nothing to a number that is not zero


@kernel
def project_cone(n, t1, t2, mu, floor):
    """Euclidean projection of (n, t1, t2) onto K cut at p_n >= floor (floor >= 0)."""
    t = math.sqrt(t1 * t1 + t2 * t2)
    m, scale = n, where_positive(t, 1.0, 1.0)
    edge = mu * n
    outside = t - edge
    if any_positive(outside):
        edge = mu * t
        near = edge + n
        on = (mu * t + n) / (1.0 + mu * mu)
        m = where_positive(outside, where_positive(near, on, 0.0), n)
        scale = where_positive(outside, where_positive(near, mu * on / (t + TINY), 0.0), 1.0)
    low = floor - m
    if any_positive(low):
        edge = mu * floor
        m = where_positive(low, floor, m)
        scale = where_positive(low, where_positive(t - edge, mu * floor / (t + TINY), 1.0), scale)
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
    scale = where_positive(t - across, across / (t + TINY), 1.0)
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
    x = where_positive(lower - x, lower, x)
    return where_positive(x - upper, upper, x)


RESIDUAL_SPEED = 1e-5  # [m/s] impulses that change no speed by more are measured beside those that would


@kernel
def relative_residual(defect2, impulse2, velocity2, step2):
    """|r|_2 / |p|_2 from sums of squares of r, p, step*v and step: how far p is from a solution beside what it does.

    Where next to nothing has to be done, rounding alone is not to read as a residual. So where p vanishes beside
    what would stop the velocities (nothing touches), or beside what would change them by RESIDUAL_SPEED (what touches
    falls freely together), 1e-8 of the former or the latter takes its place. NaN if anything is not finite.
    """
    scale = larger(larger(impulse2, 1e-16 * velocity2), RESIDUAL_SPEED * RESIDUAL_SPEED * step2)
    return math.sqrt(defect2 / where_positive(scale, scale, TINY)) + (velocity2 - velocity2)


MAX_ROOT_STEPS = 60
ROOT_TOLERANCE = 1e-12
TANGENT_SOFTNESS = 1e-11  # regularization of the tangential compliance, relative to the trace of W


@kernel
def friction(s11, s12, s22, c1, c2, n0, k1, k2, mu, tiny, alpha):
    """Sticking or slipping impulse (p_n, p_1, p_2) for p_n = n0 + k . p_t with n0 > 0.

    Args:
        s11, s12, s22: tangential compliance S (positive semidefinite).
        c1, c2: tangential velocity at p_t = 0.
        mu: coefficient of friction.
        tiny: added to the diagonal of S, so that it is definite.
        alpha: first guess of the slip per friction impulse (>= 0), from the last solution.
    """
    if mu <= 0.0:
        return n0, 0.0, 0.0
    s11 += tiny
    s22 += tiny
    inverse = 1.0 / (s11 * s22 - s12 * s12)
    p1 = -(s22 * c1 - s12 * c2) * inverse
    p2 = -(s11 * c2 - s12 * c1) * inverse
    pn = n0 + k1 * p1 + k2 * p2
    if pn >= 0.0 and p1 * p1 + p2 * p2 <= mu * mu * pn * pn:
        return pn, p1, p2
    low = 0.0
    high = -1.0
    for _ in range(MAX_ROOT_STEPS):
        a11 = s11 + alpha
        a22 = s22 + alpha
        inverse = 1.0 / (a11 * a22 - s12 * s12)
        p1 = -(a22 * c1 - s12 * c2) * inverse
        p2 = -(a11 * c2 - s12 * c1) * inverse
        pn = n0 + k1 * p1 + k2 * p2
        length2 = p1 * p1 + p2 * p2
        if length2 == 0.0:
            break
        length = math.sqrt(length2)
        # psi = mu p_n / |p_t| - 1 is nearly linear in alpha.
        ratio = mu * pn / length
        if math.fabs(ratio - 1.0) <= ROOT_TOLERANCE:
            break
        if ratio < 1.0:
            low = alpha
        else:
            high = alpha
        d1 = -(a22 * p1 - s12 * p2) * inverse
        d2 = -(a11 * p2 - s12 * p1) * inverse
        slope = (mu * (k1 * d1 + k2 * d2) - ratio * (p1 * d1 + p2 * d2) / length) / length
        guess = alpha - (ratio - 1.0) / slope if slope > 0.0 else -1.0
        if high < 0.0:
            if not guess > low:
                guess = 2.0 * low + 0.1 * (s11 + s22)
        elif not (guess > low and guess < high):
            guess = 0.5 * (low + high)
        if guess == alpha:
            break
        alpha = guess
    # Exactly on the cone, with exactly v_n = 0 along that direction.
    length = math.sqrt(p1 * p1 + p2 * p2)
    if length == 0.0:
        return n0, 0.0, 0.0
    e1 = p1 / length
    e2 = p2 / length
    rest = 1.0 - mu * (k1 * e1 + k2 * e2)
    if rest > 1e-9:
        pn = n0 / rest
    return pn, mu * pn * e1, mu * pn * e2


@kernel
def solve_contact(w00, w01, w02, w11, w12, w22, b0, b1, b2, mu, floor, alpha):
    """Impulse (p_n, p_1, p_2) of one contact with velocity v = W p + b.

    Args:
        w00 ... w22: own compliance W, symmetric (normal first).
        b0, b1, b2: velocity without the contact's impulse.
        mu: coefficient of friction.
        floor: lower bound of p_n, 0 without restitution.
        alpha: first guess of the slip per friction impulse.
    """
    tiny = TANGENT_SOFTNESS * (w00 + w11 + w22) + 1e-300
    if floor > 0.0:
        c1 = b1 + floor * w01
        c2 = b2 + floor * w02
        p0, p1, p2 = friction(w11, w12, w22, c1, c2, floor, 0.0, 0.0, mu, tiny, alpha)
        if b0 >= 0.0 or b0 + w00 * p0 + w01 * p1 + w02 * p2 >= 0.0:
            return p0, p1, p2
    elif b0 >= 0.0:
        return 0.0, 0.0, 0.0
    if w00 <= 0.0 or w00 <= 1e-14 * (w11 + w22):
        return floor, 0.0, 0.0
    g = 1.0 / w00
    n0 = -b0 * g
    k1 = -w01 * g
    k2 = -w02 * g
    s11 = w11 + w01 * k1
    s12 = w12 + w01 * k2
    s22 = w22 + w02 * k2
    return friction(s11, s12, s22, b1 + w01 * n0, b2 + w02 * n0, n0, k1, k2, mu, tiny, alpha)


@kernel
def solve_spin(w00, w01, w02, w11, w12, w22, b0, b1, b2, about, across, p1, p2, alpha):
    """Spin impulse (p_n, p_1, p_2) with velocity v = W p + b: about the normal at p_1, p_2, then across it.

    Args:
        w00 ... w22: own compliance W, symmetric (about the normal first).
        b0, b1, b2: angular velocity without the block's impulse.
        about: bound of |p_n|.
        across: bound of |p_t|.
        p1, p2: present impulses across.
        alpha: first guess of the angular velocity across per impulse.
    """
    tiny = TANGENT_SOFTNESS * (w00 + w11 + w22) + 1e-300
    p0 = solve_bounded(w00, b0 + w01 * p1 + w02 * p2, -about, about)
    if not across > 0.0:
        return p0, 0.0, 0.0
    c1 = b1 + w01 * p0
    c2 = b2 + w02 * p0
    _, p1, p2 = friction(w11, w12, w22, c1, c2, across, 0.0, 0.0, 1.0, tiny, alpha)
    return p0, p1, p2


@kernel
def solve_bounded(w, b, lower, upper):
    """Impulse of one bounded row with velocity v = w p + b."""
    if w > 0.0:
        p = -b / w
    elif b < 0.0:
        p = upper
    elif b > 0.0:
        p = lower
    else:
        p = 0.0
    if p < lower:
        p = lower
    if p > upper:
        p = upper
    if not math.isfinite(p):
        p = 0.0
    return p
