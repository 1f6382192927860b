"""Certification: one measure for every contact solution, our own or another program's.

With A the compliance of the contact rows and b their free velocity, v = A p + b, D = trace A_ii / 3 per
contact and s = (mu |v_t|, 0), the defect of the natural map is

    r = p - proj_K(p - D^-1 (v + s))

THE residual is |r|_2 / |p|_2, zero exactly at solutions of Coulomb's law and Signorini's condition. Impulses that
change no speed by more than RESIDUAL_SPEED are measured beside those that would (`relative_residual`): bodies that
touch in free fall are no problem to be solved.
The same kernels (`kido.solvers.cone`) measure matrices from anywhere and the islands of a `PROBLEM`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kido.attributes import dataclass
from kido.errors import KidoError
from kido.jit import entry, kernel, where_positive
from kido.math.choices import any_positive
from kido.reprs import brief
from kido.solvers.cone import TINY, bounded_defect, contact_defect, relative_residual, spin_defect
from kido.solvers.problem import (
    BOUNDED,
    CONTACT,
    SPIN_BLOCK,
)
from kido.solvers.rows import INDEX, block_velocity, spin_bounds

SPEED_FLOOR = 1e-10  # [m/s] speed of no account in any scene


@dataclass(frozen=True)
class Certificate:
    """How good a set of contact impulses is.

    Attributes:
        residual: |r|_2 / |p|_2, the relative natural-map residual [-].
        max_scaled: largest |r_i| / (g h / (trace A_ii / 3)): a contact's defect beside the impulse that
        stops what
            gravity gives its own inertia in one step [-].
        dissipation: sum over contacts of p . v [J]; negative or zero for frictional contact without bias.
        producing: indices of contacts with p . v > 0, beyond rounding.
        penetration: largest penetration [m], or NaN if gaps were not given.
        defects: r, (n, 3) [N s].
        velocities: v, (n, 3) [m/s].
    """

    residual: float
    max_scaled: float
    dissipation: float
    producing: np.ndarray
    penetration: float
    defects: np.ndarray
    velocities: np.ndarray

    __repr__ = brief


@entry("float64(float64[:,::1], float64[:,::1], float64[::1], float64[::1], float64[:,::1])")
def _natural_map(p, v, step, mu, defect):
    defect2 = 0.0
    impulse2 = 0.0
    velocity2 = 0.0
    step2 = 0.0
    for i in range(p.shape[0]):
        r0, r1, r2 = contact_defect(p[i, 0], p[i, 1], p[i, 2], v[i, 0], v[i, 1], v[i, 2], step[i], mu[i], 0.0)
        defect[i, 0] = r0
        defect[i, 1] = r1
        defect[i, 2] = r2
        defect2 += r0 * r0 + r1 * r1 + r2 * r2
        impulse2 += p[i, 0] * p[i, 0] + p[i, 1] * p[i, 1] + p[i, 2] * p[i, 2]
        velocity2 += step[i] * step[i] * (v[i, 0] * v[i, 0] + v[i, 1] * v[i, 1] + v[i, 2] * v[i, 2])
        step2 += step[i] * step[i]
    return relative_residual(defect2, impulse2, velocity2, step2)


def certify(
    compliance: Any,
    free_velocity: Any,
    friction: Any,
    impulses: Any,
    *,
    gaps: Any = None,
    gravity: float = 9.81,
    time_step: float = 1e-3,
) -> Certificate:
    """Measure contact impulses against the exact-cone problem v = A p + b.

    Args:
        compliance: A, (3n, 3n), rows of each contact normal first, then two tangents: a NumPy array, a
        SciPy
            sparse matrix or a LinearOperator (n applications of each of three rows find its diagonal).
        free_velocity: b, (3n,) or (n, 3) [m/s], with any bias the solution was asked to meet.
        friction: mu per contact, (n,), or one number.
        impulses: p, (n, 3) or (3n,) [N s].
        gaps: signed distances after or before the step, (n,) [m], for the penetration.
        gravity: magnitude [m/s^2], for `max_scaled`.
        time_step: h [s], for `max_scaled`.

    Returns:
        The certificate.

    Raises:
        CertifyError: for shapes that do not match, values that are not finite, or negative friction.

    Source: theory of the natural map for second-order cone complementarity, with De Saxce's correction.
    """
    p = _finite("impulses", impulses).reshape(-1).copy()
    if p.size % 3:
        raise CertifyError(f"impulses: {p.size} values, expected three per contact (normal, tangent, tangent)")
    n = p.size // 3
    b = _finite("free_velocity", free_velocity).reshape(-1)
    if b.size != 3 * n:
        raise CertifyError(f"free_velocity: {b.size} values, expected {3 * n} for {n} contacts")
    if tuple(compliance.shape) != (3 * n, 3 * n):
        raise CertifyError(f"compliance: shape {tuple(compliance.shape)}, expected {(3 * n, 3 * n)} for {n} contacts")
    mu = _finite("friction", friction).reshape(-1)
    mu = np.full(n, mu[0]) if mu.size == 1 else mu.copy()
    if mu.size != n or (mu < 0).any():
        raise CertifyError(f"friction: {mu.tolist()}, expected {n} coefficients of at least 0")
    if not (math.isfinite(gravity) and gravity > 0 and math.isfinite(time_step) and time_step > 0):
        raise CertifyError(f"gravity {gravity} and time_step {time_step}: expected positive finite numbers")
    v = np.ascontiguousarray(_finite("velocities A p + b", compliance @ p + b).reshape(n, 3))
    trace = _diagonal(compliance).reshape(n, 3).sum(axis=1) / 3.0
    step = np.divide(1.0, trace, out=np.zeros(n), where=trace > 0.0)
    p = p.reshape(n, 3)
    defect = np.zeros((n, 3))
    residual = _natural_map(p, v, step, mu, defect)
    scaled = np.linalg.norm(defect, axis=1) * trace / (gravity * time_step)
    power = np.einsum("ij,ij->i", p, v)
    rounding = (
        1e-12 * np.linalg.norm(p, axis=1) * (np.linalg.norm(v, axis=1) + np.abs(b.reshape(n, 3)).max(initial=0.0))
    )
    penetration = math.nan
    if gaps is not None:
        g = _finite("gaps", gaps).reshape(-1)
        if g.size != n:
            raise CertifyError(f"gaps: {g.size} values, expected {n}")
        penetration = float(max(0.0, -g.min(initial=0.0)))
    return Certificate(
        residual=float(residual),
        max_scaled=float(scaled.max(initial=0.0)),
        dissipation=float(power.sum()),
        producing=np.flatnonzero(power > rounding),
        penetration=penetration,
        defects=defect,
        velocities=v,
    )


class CertifyError(KidoError):
    """The data of a contact problem do not fit together."""


def _finite(name: str, value: Any) -> np.ndarray:
    array = np.ascontiguousarray(value, dtype=np.float64)
    if not np.isfinite(array).all():
        raise CertifyError(f"{name}: not finite at index {np.argwhere(~np.isfinite(array))[0].tolist()}")
    return array


def _diagonal(matrix: Any) -> np.ndarray:
    if hasattr(matrix, "diagonal"):
        return np.asarray(matrix.diagonal(), dtype=np.float64).reshape(-1)
    size = matrix.shape[0]
    diagonal = np.empty(size)
    unit = np.zeros(size)
    for i in range(size):
        unit[i] = 1.0
        diagonal[i] = (matrix @ unit)[i]
        unit[i] = 0.0
    return diagonal


@kernel
def block_defect(c, b, v0, v1, v2):
    """Natural map of a block with row velocities v, of which a bounded row has one.

    Returns:
        Squares of its defect, of its impulses and of its velocities as impulses; p . v; the square of the defect
        and the step length that tell its defect as a speed.
    """
    i = c.row[b] & INDEX
    step = c.step[b]
    p0 = c.impulse[i]
    if c.kind[b] == CONTACT:
        p1 = c.impulse[i + 1]
        p2 = c.impulse[i + 2]
        r0, r1, r2 = contact_defect(p0, p1, p2, v0, v1, v2, step, c.mu[b], c.floor[b])
        defect = r0 * r0 + r1 * r1 + r2 * r2
        impulse2 = p0 * p0 + p1 * p1 + p2 * p2
        velocity2 = step * step * (v0 * v0 + v1 * v1 + v2 * v2)
        power = p0 * v0 + p1 * v1 + p2 * v2
    elif c.kind[b] == SPIN_BLOCK:
        p1 = c.impulse[i + 1]
        p2 = c.impulse[i + 2]
        about, across = spin_bounds(c, b)
        r0, r1, r2 = spin_defect(p0, p1, p2, v0, v1, v2, step, about, across)
        power = p0 * v0 + p1 * v1 + p2 * v2
        # A spin's impulses have other units: they weigh as what they do to their contact's velocity.
        partner = c.step[c.partner[b]]
        weight = where_positive(step, partner / (step + TINY), 0.0)
        impulse2 = weight * (p0 * p0 + p1 * p1 + p2 * p2)
        velocity2 = weight * step * step * (v0 * v0 + v1 * v1 + v2 * v2)
        defect = weight * (r0 * r0 + r1 * r1 + r2 * r2)
        step = partner
    else:
        r0 = bounded_defect(p0, v0, step, c.lower[b], c.upper[b])
        defect = r0 * r0
        impulse2 = p0 * p0
        velocity2 = step * step * v0 * v0
        power = p0 * v0
    return defect, impulse2, velocity2, power, step


@kernel
def measure_rows(c, island, slot):
    """`measure_island` with the velocities of the island's rows in a row of the history; -1: from u."""
    defect2 = 0.0
    impulse2 = 0.0
    velocity2 = 0.0
    step2 = 0.0
    power = 0.0
    speed = 0.0
    h = c.history
    k = c.island_row[island] & INDEX
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        if slot < 0:
            v0, v1, v2 = block_velocity(c, b)
        elif c.kind[b] == BOUNDED:
            v0, v1, v2 = h[slot, k], 0.0, 0.0
            k += 1
        else:
            v0, v1, v2 = h[slot, k], h[slot, k + 1], h[slot, k + 2]
            k += 3
        defect, p_p, v_v, p_v, step = block_defect(c, b, v0, v1, v2)
        defect2 += defect
        impulse2 += p_p
        velocity2 += v_v
        step2 += step * step
        power += p_v
        known = speed * speed * step * step
        faster = defect - known
        if any_positive(faster):
            speed = where_positive(faster, math.sqrt(defect) / step, speed)
    c.island_residual[island] = relative_residual(defect2, impulse2, velocity2, step2)
    c.island_speed[island] = speed
    c.island_power[island] = power
    return merit(c, island)


@kernel
def measure_island(c, island):
    """Measure an island from its u and impulses.

    Sets island_residual (relative natural-map residual), island_speed (largest defect of a block as a
    speed) and island_power (sum p . v). Impulses of a heavy body hide the defects of a light one in the
    first; the second sees them.

    Returns:
        The largest of residual and speed beside what is asked of each: at most 1 if the island is solved.
    """
    return measure_rows(c, island, -1)


@kernel
def merit(c, island):
    """Largest of an island's measured residual and speed beside what is asked of each."""
    tolerance = c.tolerance
    speed_tolerance = c.speed_tolerance
    if c.island_row[island + 1] - c.island_row[island] > c.small_rows:
        tolerance = c.tolerance_large
        speed_tolerance = c.speed_tolerance_large
    accurate = c.island_residual[island] / tolerance
    slow = c.island_speed[island] / (speed_tolerance * c.island_approach[island] + SPEED_FLOOR)
    return where_positive(slow - accurate, slow, accurate)


@kernel
def fine_merit(c, island):
    """`merit` of a small island with `newton_tolerance` in place of the tolerance, where that is smaller."""
    return max(merit(c, island), c.island_residual[island] / c.newton_tolerance)


@kernel
def is_fine(c, island):
    """Whether a solved island is not worth more: it is large, or meets `newton_tolerance` too."""
    rows = c.island_row[island + 1] - c.island_row[island]
    return rows > c.small_rows or c.island_residual[island] <= c.newton_tolerance
