"""Time laws by libraries: toppra along curves, Ruckig with limits of jerk from state to state (extra `laws`)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes
from kido.errors import ModelError, StateError
from kido.libraries import library
from kido.math.transform import as_flag, as_numbers
from kido.planning.errors import PlanningError
from kido.planning.path import Path
from kido.planning.time_law import CurveLike, TimeLaw, grid_of, limits_of

Array = NDArray[np.float64]


def toppra_law(
    curve: CurveLike,
    points: int | ArrayLike = 500,
    *,
    velocity: Any,
    acceleration: Any,
    interval: tuple[float, float] | None = None,
) -> TimeLaw:
    """The fastest time law along a curve, from rest to rest, by toppra; as `time_optimal` has it.

    Args:
        curve, points, velocity, acceleration, interval: as of `time_optimal`.

    Raises:
        MissingExtraError: toppra is not installed (`pip install kido[laws]`).
        StateError, PlanningError: as `time_optimal`.
    """
    feature = "the time law of toppra"
    toppra, constraint, algorithm = (
        library(name, feature, "laws") for name in ("toppra", "toppra.constraint", "toppra.algorithm")
    )
    toppra.setup_logging("ERROR")
    s = grid_of(curve, points, interval)
    n = np.asarray(curve(s[:1])).shape[1]
    kind = constraint.DiscretizationType.Interpolation
    limits = [
        constraint.JointVelocityConstraint(np.column_stack(limits_of(velocity, "velocity", n))),
        constraint.JointAccelerationConstraint(
            np.column_stack(limits_of(acceleration, "acceleration", n)), discretization_scheme=kind
        ),
    ]
    q = toppra.SplineInterpolator(s, np.asarray(curve(s), float))
    q.cspl, q.cspld, q.cspldd = (lambda x, k=k: np.asarray(curve(x, k), float) for k in range(3))
    rates = algorithm.TOPPRA(limits, q, gridpoints=s, solver_wrapper="seidel").compute_parameterization(0.0, 0.0)[1]
    if rates is None or not (np.isfinite(rates).all() and (rates[1:-1] > 0.0).all()):
        raise PlanningError("toppra finds no time law within limits along the curve")
    return TimeLaw(curve, s, np.asarray(rates, float))


class RuckigLaw(FixedAttributes):
    """A motion from state to state with limited jerk, at rest at each of them but the first.

    Attributes:
        states: (n, dofs) [rad or m].
        times: when they are passed (n,) [s].
    """

    def __init__(self, states: Array, pieces: list[Any], straight: bool):
        self.states, self._pieces, self._straight = states, pieces, straight
        self.times = np.concatenate([[0.0], np.cumsum([piece.duration for piece in pieces])])

    @property
    def duration(self) -> float:
        """When the end is reached [s]."""
        return float(self.times[-1])

    def __repr__(self) -> str:
        return f"RuckigLaw({len(self.states)} states, duration={self.duration:.6g} s)"

    def positions(self, t: ArrayLike) -> Array:
        """q at times (..., n) [rad or m]."""
        return self._at(t, 0)

    def velocities(self, t: ArrayLike) -> Array:
        """dq/dt at times [rad/s or m/s]."""
        return self._at(t, 1)

    def accelerations(self, t: ArrayLike) -> Array:
        """d2q/dt2 at times [rad/s^2 or m/s^2]."""
        return self._at(t, 2)

    def _at(self, t: ArrayLike, order: int) -> Array:
        moments = np.clip(np.asarray(t, float), 0.0, self.duration)
        which = np.clip(np.searchsorted(self.times, moments, side="right") - 1, 0, len(self._pieces) - 1)
        out = np.empty((*moments.shape, self.states.shape[1]))
        for at in np.ndindex(moments.shape):
            k = int(which[at])
            found = np.array(self._pieces[k].at_time(float(moments[at] - self.times[k]))[order])
            if self._straight:
                found = found * (self.states[k + 1] - self.states[k]) + (self.states[k] if order == 0 else 0.0)
            out[at] = found
        return out


def ruckig_law(
    states: Path | ArrayLike,
    *,
    velocity: Any,
    acceleration: Any,
    jerk: Any,
    straight: bool = True,
    start_velocity: ArrayLike | None = None,
    start_acceleration: ArrayLike | None = None,
) -> RuckigLaw:
    """The fastest motion from state to state, with a stop at each, within limits of velocity, acceleration and jerk.

    Args:
        states: a path, or (n, dofs) with at least two; what is free between them is free with `straight` alone.
        velocity, acceleration, jerk: limits: one number, one for each coordinate, or (2, n) lower and upper
            [rad/s, rad/s^2, rad/s^3, or of metres]; those of jerk are symmetric.
        straight: pieces are straight, as planners have looked at them; else each coordinate takes its own way, and all
            arrive together.
        start_velocity, start_acceleration: at the first state, where the way from it is not `straight`; None: 0.

    Raises:
        MissingExtraError: Ruckig is not installed (`pip install kido[laws]`).
        StateError: states or limits that are none, or a start in motion on a straight way.
        ModelError: a path with rotations.
        PlanningError: Ruckig finds no motion.

    Source: Berscheid and Kroeger, "Jerk-limited real-time trajectory generation with arbitrary target states", RSS
    2021.
    """
    ruckig = library("ruckig", "time laws of Ruckig", "laws")
    if isinstance(states, Path) and states.space is not None and states.space.rotations:
        raise ModelError("ruckig_law: the path has rotations, which are no coordinates to be moved one by one")
    q = np.array(states.states if isinstance(states, Path) else as_numbers(states))
    if q.ndim != 2 or len(q) < 2 or not np.isfinite(q).all():
        raise StateError(f"ruckig_law: expected at least two finite states (n, dofs), got shape {q.shape}")
    n = q.shape[1]
    given = {"velocity": velocity, "acceleration": acceleration, "jerk": jerk}
    limits = [limits_of(value, name, n) for name, value in given.items()]
    if not (limits[2][0] == -limits[2][1]).all():
        raise StateError(f"jerk: expected symmetric limits, got {jerk!r}")
    u, a = (_motion(v, n, what) for v, what in ((start_velocity, "velocity"), (start_acceleration, "acceleration")))
    straight = as_flag(straight, "ruckig_law: straight")
    if straight and (u.any() or a.any()):
        raise StateError("ruckig_law: a straight way begins at rest; give `straight=False` to begin in motion")
    pieces = []
    for start, end in itertools.pairwise(q):
        if straight:
            shares = [_shares(end - start, low, high) for low, high in limits]
            pieces.append(_piece(ruckig, np.zeros((3, 1)), np.array([float((end != start).any())]), shares))
        else:
            pieces.append(_piece(ruckig, np.array([start, u, a]), end, limits))
            u, a = np.zeros((2, n))
    return RuckigLaw(q, pieces, straight)


def _motion(value: ArrayLike | None, n: int, what: str) -> Array:
    found = np.zeros(n) if value is None else as_numbers(value)
    if found.shape != (n,) or not np.isfinite(found).all():
        raise StateError(f"start_{what}: expected {n} finite numbers, got {value!r}")
    return found


def _shares(way: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Limits of a share of a way; any where the way is none."""
    if not way.any():
        return -np.ones(1), np.ones(1)
    with np.errstate(divide="ignore"):
        most = np.abs(np.where(way > 0.0, high, low) / way).min()
        least = np.abs(np.where(way > 0.0, low, high) / way).min()
    return np.array([-least]), np.array([most])


def _piece(ruckig: Any, start: Array, end: Array, limits: list[tuple[Array, Array]]) -> Any:
    """Ruckig's motion from a position, velocity and acceleration (3, n) to rest at an end."""
    n = len(end)
    given, made = ruckig.InputParameter(n), ruckig.Trajectory(n)
    given.current_position, given.current_velocity, given.current_acceleration = (v.tolist() for v in start)
    given.target_position = end.tolist()
    (given.min_velocity, given.max_velocity), (given.min_acceleration, given.max_acceleration) = (
        (low.tolist(), high.tolist()) for low, high in limits[:2]
    )
    given.max_jerk = limits[2][1].tolist()
    try:
        ruckig.Ruckig(n).calculate(given, made)
    except ruckig.RuckigError as error:
        raise PlanningError(f"Ruckig finds no motion within limits: {error}") from None
    return made
