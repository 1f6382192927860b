"""Time laws: how a curve is followed as fast as limits of velocity, acceleration, jerk and joint force allow."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes
from kido.batch import Batch
from kido.errors import StateError
from kido.math.transform import as_numbers
from kido.planning.arguments import as_whole, numbers
from kido.planning.errors import PlanningError
from kido.planning.reachability import fastest

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

Array = NDArray[np.float64]
ROUNDING = 1e-10  # share of a limit that is left to rounding
WINDOWS = 24  # lengths of the filter that are tried for a limit of jerk
DENSE = 2000  # moments at which jerk is looked at
DRAWN_IN = 6  # times that limits are drawn in where they do not hold between points
APART = 1e-3  # share of an even piece that points of a grid are apart at least


class CurveLike(Protocol):
    """A curve over s: curve(s), and its derivatives curve(s, 1) ... curve(s, 3); SciPy's splines are such."""

    def __call__(self, x: Any, nu: int = 0) -> Any: ...


class TimeLaw(FixedAttributes):
    """A curve with a time for each of its points.

    Attributes:
        curve: q(s).
        s: points of the grid (n,).
        rates: ds/dt there (n,) [1/s].
        times: when they are passed (n,) [s].
    """

    def __init__(self, curve: CurveLike, s: Array, rates: Array):
        self.curve, self.s, self.rates = curve, s, rates
        self.times, pieces = np.zeros(len(s)), np.diff(s)
        np.cumsum(2.0 * pieces / (rates[1:] + rates[:-1]), out=self.times[1:])
        self._rate_of_rate = 0.5 * np.diff(rates**2) / pieces

    @property
    def duration(self) -> float:
        """When the end is reached [s]."""
        return float(self.times[-1])

    def __repr__(self) -> str:
        return f"TimeLaw({len(self.s)} points, duration={self.duration:.6g} s)"

    def along(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """s, ds/dt and d2s/dt2 at times [s]; at rest at both ends before and after."""
        given = np.asarray(t, float)
        t = np.clip(given, 0.0, self.duration)
        k = np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, len(self.s) - 2)
        e, u = t - self.times[k], self._rate_of_rate[k]
        u = np.where(given == t, u, 0.0)
        rate = np.where(given == t, self.rates[k] + u * e, 0.0)
        return np.minimum(self.s[k] + self.rates[k] * e + 0.5 * u * e * e, self.s[-1]), rate, u

    def positions(self, t: ArrayLike) -> Array:
        """q at times (..., n) [rad or m]."""
        return np.asarray(self.curve(self.along(t)[0]))

    def velocities(self, t: ArrayLike) -> Array:
        """dq/dt = q' ds/dt at times [rad/s or m/s]."""
        s, rate, _ = self.along(t)
        return np.asarray(self.curve(s, 1)) * rate[..., None]

    def accelerations(self, t: ArrayLike) -> Array:
        """d2q/dt2 = q' d2s/dt2 + q'' (ds/dt)^2 at times [rad/s^2 or m/s^2]."""
        s, rate, u = self.along(t)
        return np.asarray(self.curve(s, 1)) * u[..., None] + np.asarray(self.curve(s, 2)) * (rate**2)[..., None]


def limits_of(value: Any, what: str, n: int) -> tuple[Array, Array]:
    """Lower and upper limits (n,) from one number, n of them (symmetric), or (2, n)."""
    try:
        found = as_numbers(value)
    except (TypeError, ValueError) as error:
        raise StateError(f"{what}: {error}") from None
    lower, upper = (found[0], found[1]) if found.ndim == 2 and found.shape == (2, n) else (-found, found)
    if found.ndim > 2 or (found.ndim == 2 and found.shape != (2, n)) or (found.ndim == 1 and found.shape != (n,)):
        raise StateError(f"{what}: expected one number, {n}, or (2, {n}), got shape {found.shape}")
    lower, upper = np.full(n, lower), np.full(n, upper)
    if not ((lower < 0.0) & (upper > 0.0)).all():
        raise StateError(f"{what}: expected limits below and above 0, got {value!r}")
    return lower, upper


def time_optimal(
    curve: CurveLike,
    points: int | ArrayLike = 500,
    *,
    velocity: Any = np.inf,
    acceleration: Any = np.inf,
    force: Any = None,
    skeleton: Skeleton | Batch | None = None,
    jerk: Any = None,
    interval: tuple[float, float] | None = None,
    between: int = 0,
) -> TimeLaw:
    """The fastest time law along a curve, from rest to rest.

    Limits hold at both ends of each of the pieces between points of a grid, on which d2s/dt2 is constant. Within a
    piece of a bent curve they may be exceeded, by shares that vanish with its length: most where a curve turns while it
    is slow. With `between` they hold there too. Joint forces are those of inverse dynamics, M q'' + C + g, without
    friction and damping.

    Args:
        curve: q(s), with derivatives as SciPy's splines have them.
        points: of the grid: how many, among which the curve's knots are put, or where.
        velocity, acceleration, force, jerk: limits: one number, one for each coordinate, or (2, n) lower and upper
            [rad/s, rad/s^2, N m, rad/s^3, or of metres].
        skeleton: whose joint forces are limited, all of whose coordinates the curve gives; or a `Batch` of it, which
            saves making one (0.2 ms) where laws are asked for again and again.
        jerk: with a limit of it, d2s/dt2 is smoothed by a moving average in time, of the length that makes the law
            shortest; then it is not the fastest one, but within all limits at 20,000 moments.
        interval: of s; None: the curve's knots, `curve.x` or `curve.t`, from first to last.
        between: points within each piece at which all limits are to hold too: limits are drawn in at pieces where
            they would not, and the law is stretched by the little that is left.

    Raises:
        StateError: limits or a grid that are none; forces without a skeleton.
        PlanningError: the curve cannot be followed, as where gravity alone exceeds what forces are allowed.

    Source: see `kido.planning.reachability`.
    """
    s, between = grid_of(curve, points, interval), as_whole(between, "between", 0)
    d1, d2 = np.asarray(curve(s, 1), float), np.asarray(curve(s, 2), float)
    if d1.ndim != 2 or not (np.isfinite(d1).all() and np.isfinite(d2).all()):
        raise StateError("curve: expected finite derivatives of shape (points, coordinates)")
    n = d1.shape[1]
    keep = 1.0 - ROUNDING
    low, high = limits_of(velocity, "velocity", n)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.abs(np.where(d1 > 0.0, high, low) / d1).min(axis=1)
    points_between = (s[:-1, None] + np.diff(s)[:, None] * np.arange(1, between + 1) / (between + 1)).ravel()
    inner = [np.asarray(curve(points_between, k)) for k in (1, 2)] if between else []
    if between:
        slope = np.abs(inner[0])
        with np.errstate(divide="ignore"):
            least = (np.minimum(high, -low) / slope).min(axis=1).reshape(len(s) - 1, -1).min(axis=1)
        rate = np.minimum(rate, np.minimum(np.append(least, np.inf), np.insert(least, 0, np.inf)))
    most = np.minimum((keep * rate) ** 2, 1e12)
    limits = {"acceleration": limits_of(acceleration, "acceleration", n)}
    if not np.isfinite(limits["acceleration"]).any():
        del limits["acceleration"]
    if force is not None:
        limits["force"] = limits_of(force, "force", n)
    if not limits:
        raise StateError("time_optimal: expected a limit of acceleration or of force, or the law would jump")
    lower, upper = (keep * np.concatenate(some) for some in zip(*limits.values(), strict=True))
    rows = _rows(limits, skeleton, curve, s, d1, d2)
    x = _fastest(rows, lower, upper, s, most)
    if between:
        within = _rows(limits, skeleton, curve, points_between, *inner)
        x = _held_between(rows, within, lower, upper, s, most, x)
    law = TimeLaw(curve, s, np.sqrt(x))
    if jerk is None:
        return law
    given = (limits_of(velocity, "velocity", n), limits_of(acceleration, "acceleration", n), limits_of(jerk, "jerk", n))
    return _smoothed(law, given, None if force is None else (skeleton, limits_of(force, "force", n)))


Rows = tuple[Array, Array, Array]


def _rows(names: Collection[str], skeleton: Any, curve: CurveLike, s: Array, d1: Array, d2: Array) -> Rows:
    """a, b, c (points, limits) of what is limited, a u + b x + c."""
    n = d1.shape[1]
    a, b, c = np.zeros((3, len(s), n * len(names)))
    if "acceleration" in names:
        a[:, :n], b[:, :n] = d1, d2
    if "force" in names:
        c[:, -n:], a[:, -n:], b[:, -n:] = _force_rows(skeleton, curve, s, d1, d2)
    return a, b, c


def _fastest(rows: Rows, lower: Array, upper: Array, s: Array, most: Array) -> Array:
    """x at the points s.

    Raises:
        PlanningError: the curve cannot be followed.
    """
    x, reach = np.zeros(len(s)), np.zeros((len(s), 2))
    at = fastest(s, *rows, lower, upper, np.ascontiguousarray(most), 0.0, 0.0, reach, np.zeros(4), x)
    if at >= 0 or not (x[1:-1] > 0.0).all():
        where = int(at) if at >= 0 else 1 + int(np.argmin(x[1:-1]))
        raise PlanningError(f"the curve cannot be followed within limits at s = {s[where]:.6g}")
    return x


def _held_between(rows: Rows, inner: Rows, lower: Array, upper: Array, s: Array, most: Array, x: Array) -> Array:
    """x for which limits hold at points within pieces as well, whose rows are `inner`, piece by piece.

    Where a row goes beyond its limit within a piece, a and b at the piece's ends are made larger by as much.
    """
    pieces, (a, b, c) = len(s) - 1, inner
    shares = np.arange(1, len(a) // pieces + 1) / (len(a) // pieces + 1)
    grown = np.ones_like(rows[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(DRAWN_IN):
            u = np.repeat(0.5 * np.diff(x) / np.diff(s), len(shares))
            y = (x[:-1, None] + np.diff(x)[:, None] * shares).ravel()
            moved = a * u[:, None] + b * y[:, None]
            over = np.nan_to_num(np.where(moved > 0.0, moved / (upper - c), moved / (lower - c)), nan=0.0)
            over = over.reshape(pieces, len(shares), -1).max(axis=1)
            if over.max() <= 1.0 + ROUNDING:
                break
            drawn = np.maximum(over, 1.0)
            grown *= np.maximum(np.vstack([drawn, drawn[-1:]]), np.vstack([drawn[:1], drawn]))
            x = _fastest((grown * rows[0], grown * rows[1], rows[2]), lower, upper, s, most)
    return x / max(1.0, over.max())


def grid_of(curve: CurveLike, points: Any, interval: tuple[float, float] | None) -> Array:
    knots = getattr(curve, "x", getattr(curve, "t", None))
    if interval is None:
        if knots is None:
            raise StateError("curve: it has no knots `x` or `t`; give the interval of s")
        interval = float(knots[0]), float(knots[-1])
    ends = numbers(interval, "interval")
    if ends.shape != (2,) or not ends[0] < ends[1]:
        raise StateError(f"interval: expected two ascending numbers, got {interval!r}")
    if np.ndim(points) == 0:
        if isinstance(points, bool) or not isinstance(points, int | np.integer) or points < 3:
            raise StateError(f"points: expected a whole number of at least 3 or an array, got {points!r}")
        s = np.linspace(ends[0], ends[1], int(points))
        if knots is None:
            return s
        inside = np.asarray(knots, float)
        s = np.union1d(s, inside[(inside > ends[0]) & (inside < ends[1])])
        return s[np.append(np.diff(s) > APART * (ends[1] - ends[0]) / points, True)]
    s = np.ascontiguousarray(points, float)
    if s.ndim != 1 or len(s) < 3 or not np.isfinite(s).all() or not (np.diff(s) > 0.0).all():
        raise StateError("points: expected at least 3 finite, ascending numbers")
    return s


def _force_rows(skeleton: Any, curve: CurveLike, s: Array, d1: Array, d2: Array) -> Array:
    """c, a, b of joint forces: tau = M q' u + (M q'' + C(q, q')) x + g."""
    batch, n = _batch(skeleton) if skeleton is not None else None, len(s)
    if batch is None or batch.skeleton.num_dofs != d1.shape[1]:
        raise StateError("force: expected the skeleton, all of whose coordinates the curve gives")
    q, velocity, acceleration = np.empty((3, 3, n, d1.shape[1]))
    q[:], velocity[:2], velocity[2] = curve(s), 0.0, d1
    acceleration[0], acceleration[1], acceleration[2] = 0.0, d1, d2
    out = batch.inverse_dynamics(*(x.reshape(3 * n, -1) for x in (q, velocity, acceleration))).reshape(q.shape)
    out[1:] -= out[0]
    return out


def _batch(skeleton: Any) -> Batch:
    return skeleton if isinstance(skeleton, Batch) else Batch(skeleton, threads=1)


class _Filtered(FixedAttributes):
    """The rate of a law, averaged over a window of time: s, rate, and its first two derivatives at moments."""

    def __init__(self, law: TimeLaw, window: float):
        self.law, self.window = law, window
        self.duration = law.duration + window

    def along(self, t: Array) -> tuple[Array, Array, Array, Array]:
        law, w = self.law, self.window
        late, early = t - w, t
        s0, r0, u0 = law.along(early)
        s1, r1, u1 = law.along(late)
        u0, u1 = (np.where((x > 0.0) & (x < law.duration), u, 0.0) for x, u in ((early, u0), (late, u1)))
        return _integral(law, early, w), (s0 - s1) / w, (r0 - r1) / w, (u0 - u1) / w


def _integral(law: TimeLaw, t: Array, w: float) -> Array:
    """Mean of s over [t - w, t]."""

    def total(x: Array) -> Array:  # of s from 0 to x
        times, s, r, u = law.times, law.s, law.rates, law._rate_of_rate
        h = np.diff(times)
        sums = np.concatenate([[0.0], np.cumsum(h * (s[:-1] + h * (0.5 * r[:-1] + h * u / 6.0)))])
        y = np.clip(x, 0.0, law.duration)
        k = np.clip(np.searchsorted(times, y, side="right") - 1, 0, len(s) - 2)
        e = y - times[k]
        inside = sums[k] + e * (s[k] + e * (0.5 * r[k] + e * u[k] / 6.0))
        return inside + np.minimum(x, 0.0) * s[0] + np.maximum(x - law.duration, 0.0) * s[-1]

    return (total(t) - total(t - w)) / w


def _smoothed(law: TimeLaw, limits: Any, force: Any) -> TimeLaw:
    """The law with a limit of jerk, as `time_optimal` describes."""
    best: _Filtered | None = None
    best_time = np.inf
    for window in law.duration * np.geomspace(0.005, 1.0, WINDOWS):
        filtered = _Filtered(law, float(window))
        t = np.linspace(0.0, filtered.duration, DENSE)
        scale = _stretch(law.curve, filtered.along(t), limits, force)
        if filtered.duration * scale < best_time:
            best, best_time = filtered, filtered.duration * scale
    if best is None:
        raise PlanningError("the curve cannot be followed within limits of jerk")
    t = np.linspace(0.0, best.duration, 10 * DENSE)
    return JerkLaw(law.curve, best, _stretch(law.curve, best.along(t), limits, force))


class JerkLaw(TimeLaw):
    """A time law whose acceleration is continuous."""

    def __init__(self, curve: CurveLike, filtered: _Filtered, scale: float):
        t = np.linspace(0.0, filtered.duration, DENSE)
        s, rate, _, _ = filtered.along(t)
        self.curve, self.s, self.rates, self.times = curve, s, rate / scale, t * scale
        self._filtered, self._scale = filtered, scale

    def along(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        k = self._scale
        x = np.clip(np.asarray(t, float) / k, 0.0, self._filtered.duration)
        s, rate, u, _ = self._filtered.along(x)
        return s, rate / k, u / k**2

    def jerks(self, t: ArrayLike) -> Array:
        """d3q/dt3 = q' d3s/dt3 + 3 q'' ds/dt d2s/dt2 + q''' (ds/dt)^3 at times [rad/s^3 or m/s^3]."""
        k = self._scale
        s, rate, u, j = self._filtered.along(np.clip(np.asarray(t, float) / k, 0.0, self._filtered.duration))
        return _jerk(self.curve, s, rate, u, j) / k**3


def _jerk(curve: CurveLike, s: Array, rate: Array, u: Array, j: Array) -> Array:
    d1, d2, d3 = (np.asarray(curve(s, k)) for k in (1, 2, 3))
    return d1 * j[..., None] + 3.0 * d2 * (rate * u)[..., None] + d3 * (rate**3)[..., None]


def _stretch(curve: CurveLike, along: tuple[Array, Array, Array, Array], limits: Any, force: Any) -> float:
    """By what time must be stretched so that all limits hold."""
    s, rate, u, j = along
    d1, d2 = np.asarray(curve(s, 1)), np.asarray(curve(s, 2))
    acceleration = d1 * u[:, None] + d2 * (rate**2)[:, None]
    values = (d1 * rate[:, None], acceleration, _jerk(curve, s, rate, u, j))
    scale = 1.0 + 1e-9
    for power, (value, (low, high)) in enumerate(zip(values, limits, strict=True), start=1):
        scale = max(scale, float(np.maximum(value / high, value / low).max() ** (1.0 / power)) * (1.0 + 1e-9))
    if force is not None:
        skeleton, (low, high) = force
        batch, q, zero = _batch(skeleton), np.ascontiguousarray(curve(s)), np.zeros_like(d1)
        still = batch.inverse_dynamics(q, zero, zero)
        moving = batch.inverse_dynamics(q, np.ascontiguousarray(d1 * rate[:, None]), acceleration) - still
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(moving > 0.0, (high - still) / moving, np.where(moving < 0.0, (low - still) / moving, 9.0))
        if room.min() <= 0.0:
            return np.inf
        scale = max(scale, float(1.0 / np.sqrt(room.min())) * (1.0 + 1e-9))
    return scale
