"""What points that moved from their places at rest change of a skeleton's whole: energies, momentum, centre of mass.

The arrays of a skeleton take skins as rigid in their places at rest. What is true of the points is added here, from
the difference of each point and its place at rest, so that a skin at rest adds exactly zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError

Array = NDArray[np.float64]


def soft_among(state: Any, bodies: Any) -> list[Any]:
    """Soft bodies among the chosen bodies (None: all) whose points are not all at rest in their places."""
    key = state.indices_of(bodies)
    soft = state.skeleton.soft_bodies
    chosen = soft if key is None else [b for b in soft if b.index in key]
    return [b for b in chosen if b.skin.q.any() or b.skin.qd.any()]


def com(state: Any, bodies: Any) -> Any:
    """What they add to the centre of mass [m]."""
    soft = soft_among(state, bodies)
    return mass_moment_share(soft) / state.mass_of(bodies) if soft else 0.0


def com_velocity(state: Any, bodies: Any) -> Any:
    """What they add to its velocity [m/s]."""
    soft = soft_among(state, bodies)
    return momentum_share(soft)[3:] / state.mass_of(bodies) if soft else 0.0


def momentum(state: Any, bodies: Any, about: Any) -> Any:
    """What they add to the momentum about a point of the world."""
    soft = soft_among(state, bodies)
    return momentum_share(soft, np.array(about)) if soft else 0.0


def kinetic_energy(state: Any, bodies: Any) -> float:
    """What they add to the kinetic energy [J]."""
    return kinetic_energy_share(soft_among(state, bodies))


def potential_energy(state: Any, bodies: Any) -> float:
    """What they add to the potential energy [J]."""
    return potential_energy_share(state.skeleton, soft_among(state, bodies))


def mass_moment_share(bodies: list[Any]) -> Array:
    """Sum of m (x - x_rest), world axes [kg m]."""
    total = np.zeros(3)
    for body in bodies:
        total += body.world_transform[:3, :3] @ (body.skin.masses @ body.skin.q)
    return total


def _velocities(body: Any) -> tuple[Array, Array, Array, Array]:
    """Places and velocities of points, and of their places at rest, in the world."""
    X, V = body.world_transform, body.spatial_velocity
    R = X[:3, :3]
    rest = body.skin.rest @ R.T
    moved = body.skin.q @ R.T
    held = V[3:] + np.cross(V[:3], rest)
    return X[:3, 3] + rest + moved, held + np.cross(V[:3], moved) + body.skin.qd @ R.T, X[:3, 3] + rest, held


def momentum_share(bodies: list[Any], about: Any = (0.0, 0.0, 0.0)) -> Array:
    """What the points' own motion adds to [angular about a point of the world; linear] momentum."""
    total = np.zeros(6)
    for body in bodies:
        m = body.skin.masses
        x, v, x_rest, v_rest = _velocities(body)
        total[:3] += m @ (np.cross(x - about, v) - np.cross(x_rest - about, v_rest))
        total[3:] += m @ (v - v_rest)
    return total


def kinetic_energy_share(bodies: list[Any]) -> float:
    """What it adds to the kinetic energy [J]."""
    total = 0.0
    for body in bodies:
        _, v, _, v_rest = _velocities(body)
        total += 0.5 * float(body.skin.masses @ ((v - v_rest) * (v + v_rest)).sum(axis=1))
    return total


def potential_energy_share(skeleton: Any, bodies: list[Any]) -> float:
    """Energy of the skins' springs, and gravity's of the points' displacements [J]."""
    total = 0.0
    for body in bodies:
        total += body.elastic_energy
        if body.gravity:
            total -= float(skeleton.gravity @ mass_moment_share([body]))
    return total


def refuse_acceleration(state: Any, bodies: Any) -> float:
    """Nothing, or it refuses: accelerations of points are not known.

    Raises:
        ModelError: points of a chosen body are not at rest in their places.
    """
    moved = soft_among(state, bodies)
    if moved:
        names = ", ".join(repr(b.name) for b in moved)
        raise ModelError(
            f"skeleton {state.name!r}: com_acceleration is not known for soft bodies whose points move ({names}); "
            "use the change of com_velocity, or bodies without them"
        )
    return 0.0
