"""Motions that tell parameters apart: Fourier series within limits, with a well-conditioned regressor."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from kido.attributes import FixedAttributes, dataclass
from kido.errors import ModelError
from kido.identification.base import BaseParameters, base_parameters
from kido.identification.estimate import each_above_zero
from kido.identification.parameters import Array, DynamicParameters
from kido.math.counts import as_count
from kido.math.transform import as_positive, numbers_or_nan
from kido.reprs import brief

_SAMPLES_PER_HARMONIC = 16  # of a period, where limits are looked at: between them a series exceeds its samples by 2 %


@dataclass(frozen=True)
class FourierMotion(FixedAttributes):
    """A periodic motion q(t) = q_0 + sum_k (a_k sin(k w t) - b_k cos(k w t)) / (k w), w = 2 pi / period.

    Attributes:
        center: q_0 (dofs,) [m, rad].
        sines, cosines: a, b (harmonics, dofs) [m/s, rad/s].
        period: [s].

    Source: Swevers, Ganseman, Tukel, De Schutter, Van Brussel (1997), "Optimal robot excitation and identification".
    """

    center: Array
    sines: Array
    cosines: Array
    period: float

    __repr__ = brief

    def at(self, times: ArrayLike) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations (times, dofs) at times [s]."""
        t = np.asarray(times, dtype=float).reshape(-1, 1)
        k = np.arange(1, len(self.sines) + 1) * (2.0 * math.pi / self.period)
        s, c = np.sin(k * t), np.cos(k * t)
        a, b = self.sines, self.cosines
        q = self.center + (s / k) @ a - (c / k) @ b
        return q, c @ a + s @ b, -(s * k) @ a + (c * k) @ b

    def sampled(self, rate: float) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations of one period at an even rate [1/s]."""
        return self.at(np.arange(round(self.period * as_positive(rate, "rate", "1/s"))) / rate)


@dataclass(frozen=True)
class Excitation:
    """What `exciting_motion` finds.

    Attributes:
        motion: within the limits at all times.
        condition: of the base regressor over one period, columns scaled to length one.
        first: condition of the best of the random motions that the search began from.
        base: whose regressor it is.
    """

    motion: FourierMotion
    condition: float
    first: float
    base: BaseParameters

    __repr__ = brief


def exciting_motion(
    parameters: DynamicParameters,
    period: float = 10.0,
    harmonics: int = 5,
    *,
    position_limits: tuple[ArrayLike, ArrayLike] | None = None,
    velocity_limit: ArrayLike | None = None,
    acceleration_limit: ArrayLike = 5.0,
    trials: int = 600,
    seed: int = 0,
) -> Excitation:
    """A motion along which base parameters are told apart best: the condition of its regressor is minimized.

    Coefficients are searched by an evolution strategy of one parent and one child with the one-fifth rule (Rechenberg
    1973), after random ones; each coordinate's series is scaled and shifted into its limits. Between samples a series
    of N harmonics exceeds its M samples at most by 1 / cos(pi N / M) (Ehlich and Zeller 1964), which is left free: the
    limits hold at all times.

    Args:
        parameters: what is to be told apart.
        period: of the motion [s].
        harmonics: of the series.
        position_limits: lower and upper (dofs,), by default those of the skeleton, or a turn of pi each way where it
            has none.
        velocity_limit: (dofs,) or one number; by default that of the skeleton, or 2 where it has none.
        acceleration_limit: (dofs,) or one number.
        trials: motions looked at.
        seed: of the random numbers.

    Raises:
        ModelError: limits that leave no room, or numbers out of range; a skeleton with coordinates of free or ball
            joints, or modes, which series do not move.
    """
    skeleton = parameters.skeleton
    n = skeleton.num_dofs
    modal = next((j for j in skeleton.joints if j.has_modes), None)
    if modal is not None:
        raise ModelError(
            f"exciting motion: modes of joint {modal.name!r} follow what the joints do, and no series is theirs to "
            "choose; give `identify` motions that were measured or simulated"
        )
    unfit = [j.name for j in skeleton.joints if j.num_dofs > 1]
    if unfit:
        raise ModelError(f"exciting motion: expected joints with one coordinate each, got joint {unfit[0]!r}")
    harmonics, trials = as_count(harmonics, "harmonics", 1), as_count(trials, "trials", 1)
    seed = as_count(seed, "seed", 0)
    base = base_parameters(parameters, seed=seed)
    period = as_positive(period, "period", "s")
    low, high = _limits(parameters, position_limits)
    own = np.array([d.velocity_upper_limit for d in skeleton.dofs])
    fastest = each_above_zero(
        np.where(np.isfinite(own), own, 2.0) if velocity_limit is None else velocity_limit, "velocity_limit", n
    )
    strongest = each_above_zero(acceleration_limit, "acceleration_limit", n)
    samples = 2 * _SAMPLES_PER_HARMONIC * harmonics
    times = np.arange(samples) * (period / samples)
    few = times[:: max(1, samples // (40 + 4 * base.rank // n))]
    margin = math.cos(math.pi * harmonics / samples)

    def motion_of(x: Array) -> FourierMotion:
        """The series of given shape, as large as its limits let it be."""
        a, b = x[:, :harmonics].T, x[:, harmonics : 2 * harmonics].T
        q, u, udot = FourierMotion(np.zeros(n), a, b, period).at(times)
        q_low, q_high = q.min(axis=0), q.max(axis=0)
        spread = np.maximum(np.abs(q).max(axis=0) * (1.0 / margin - 1.0), 1e-300)
        q_low, q_high = q_low - spread, q_high + spread
        size = np.minimum.reduce(
            [(high - low) / (q_high - q_low), fastest * margin / np.abs(u).max(axis=0),
             strongest * margin / np.abs(udot).max(axis=0)]
        )  # fmt: skip
        size = size * (1.0 - 1e-12)
        share = 0.5 + 0.5 * np.tanh(x[:, -1])  # where in the room that is left
        room = (high - low) - size * (q_high - q_low)
        return FourierMotion(low - size * q_low + share * room, size * a, size * b, period)

    def condition_of(x: Array) -> float:
        W = parameters.regressor(*motion_of(x).at(few))[:, :, base.independent].reshape(-1, base.rank)
        return _condition(W)

    rng = np.random.default_rng(seed)
    starts = rng.normal(size=(max(1, trials // 10), n, 2 * harmonics + 1))
    values = [condition_of(x) for x in starts]
    x, best, width = starts[int(np.argmin(values))], min(values), 0.5
    first = best
    for _ in range(trials - len(starts)):
        trial = x + width * rng.normal(size=x.shape)
        value = condition_of(trial)
        if value < best:
            x, best, width = trial, value, width * math.exp(0.8)
        else:
            width *= math.exp(-0.2)
        width = min(max(width, 1e-3), 2.0)
    motion = motion_of(x)
    W = parameters.regressor(*motion.at(times))[:, :, base.independent].reshape(-1, base.rank)
    return Excitation(motion, _condition(W), first, base)


def _condition(W: Array) -> float:
    sizes = np.linalg.norm(W, axis=0)
    if not sizes.all():
        return math.inf
    values = np.linalg.svd(W / sizes, compute_uv=False)
    return float(values[0] / values[-1]) if values[-1] > 0.0 else math.inf


def _limits(parameters: DynamicParameters, given: tuple[ArrayLike, ArrayLike] | None) -> tuple[Array, Array]:
    dofs = parameters.skeleton.dofs
    if given is None:
        low = np.array([d.position_lower_limit for d in dofs])
        high = np.array([d.position_upper_limit for d in dofs])
        low, high = (np.where(np.isfinite(v), v, w) for v, w in ((low, -math.pi), (high, math.pi)))
    else:
        pair = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else []
        rows = [numbers_or_nan(v) for v in pair]
        if len(rows) != 2 or any(v.shape not in ((), (len(dofs),)) or not np.isfinite(v).all() for v in rows):
            raise ModelError(
                f"position_limits: expected lower and upper, {len(dofs)} numbers or one each, got {given!r}"
            )
        low, high = (np.broadcast_to(v, len(dofs)) for v in rows)
    bad = np.flatnonzero(~(low < high))
    if bad.size:
        i = int(bad[0])
        raise ModelError(f"position limits of {dofs[i].name!r}: expected lower < upper, got {low[i]:g} and {high[i]:g}")
    return low, high
