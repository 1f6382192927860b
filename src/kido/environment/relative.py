"""Motion near a target on a circular orbit: Hill's axes, Clohessy and Wiltshire's solution, transfers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.environment.vectors import dot, length, of_vectors, scaled, vector
from kido.errors import ModelError
from kido.math.transform import as_positive, as_vector, number_or_nan

Array = NDArray[np.float64]


@of_vectors("position", "velocity")
def hill_axes(position: Any, velocity: Any) -> Any:
    """Hill's axes of a target (3, 3), as columns: away from the planet, ahead, along its angular momentum."""
    if position.shape != (3,) or velocity.shape != (3,):
        raise ModelError(f"hill_axes: expected two vectors (3,), got shapes {position.shape} and {velocity.shape}")
    out = scaled(position, 1.0 / length(position))
    normal = np.cross(position, velocity)
    normal = scaled(normal, 1.0 / length(normal))
    ahead = np.cross(normal, out)
    return np.array([[out[k], ahead[k], normal[k]] for k in range(3)])


@of_vectors("away", "velocity", "target", "target_velocity")
def relative_motion(away: Any, velocity: Any, target: Any, target_velocity: Any) -> tuple[Any, Any]:
    """Position and velocity (3,), (3,) [m, m/s] of a chaser as seen from a target, in its axes, which turn with it.

        rho = H^T (r - r_t),    d rho / dt = H^T (v - v_t) - w x rho,    w = |r_t x v_t| / |r_t|^2 e_z

    Args:
        away, velocity: r - r_t and v - v_t, in axes that do not turn: differences, so that no digits are lost.
        target, target_velocity: of the target, from the planet's centre.

    Source: D. Vallado, Fundamentals of Astrodynamics and Applications (2013), section 6.8.
    """
    H = hill_axes(target, target_velocity)
    rho = H.T @ away
    w = length(np.cross(target, target_velocity)) / dot(target, target)
    seen = H.T @ velocity
    return rho, seen - w * vector(-rho[1], rho[0], 0.0 * rho[2])


def clohessy_wiltshire(rate: float, time: float) -> Array:
    """What position and velocity [m, m/s] in Hill's axes become in a time (6, 6), near a target on a circle.

        x'' = 3 n^2 x + 2 n y',    y'' = -2 n x',    z'' = -n^2 z

    Args:
        rate: n, mean motion of the target [rad/s].
        time: [s], of either sign.

    Raises:
        ModelError: a rate that is not positive, or a time that is no finite number.

    Source: W. Clohessy, R. Wiltshire, Terminal guidance system for satellite rendezvous (1960).
    """
    n = as_positive(rate, "clohessy_wiltshire: rate", "rad/s")
    a = n * number_or_nan(time)
    if not np.isfinite(a):
        raise ModelError(f"clohessy_wiltshire: time: expected a finite number [s], got {time!r:.100}")
    c, s = np.cos(a), np.sin(a)
    return np.array(
        [
            [4.0 - 3.0 * c, 0.0, 0.0, s / n, 2.0 * (1.0 - c) / n, 0.0],
            [6.0 * (s - a), 1.0, 0.0, -2.0 * (1.0 - c) / n, (4.0 * s - 3.0 * a) / n, 0.0],
            [0.0, 0.0, c, 0.0, 0.0, s / n],
            [3.0 * n * s, 0.0, 0.0, c, 2.0 * s, 0.0],
            [-6.0 * n * (1.0 - c), 0.0, 0.0, -2.0 * s, 4.0 * c - 3.0, 0.0],
            [0.0, 0.0, -n * s, 0.0, 0.0, c],
        ]
    )


def transfer(rate: float, start: ArrayLike, goal: ArrayLike, time: float) -> tuple[Array, Array]:
    """Velocities (3,), (3,) [m/s] in Hill's axes with which a coast leads from one place to another [m]: at both ends.

    Raises:
        ModelError: no vectors, a rate or time that is not positive, or a time after which all coasts meet.

    Source: D. Vallado (2013), section 6.8.2.
    """
    T = as_positive(time, "transfer: time", "s")
    a, b = as_vector(start, "transfer: start"), as_vector(goal, "transfer: goal")
    M = clohessy_wiltshire(rate, T)
    if np.linalg.cond(M[:3, 3:]) > 1e10:
        raise ModelError(f"transfer: after {T:g} s coasts lead to one place or line; choose another time")
    v: Array = np.asarray(np.linalg.solve(M[:3, 3:], b - M[:3, :3] @ a), float)
    after: Array = M[3:, :3] @ a + M[3:, 3:] @ v
    return v, after
