"""What moving points of soft skins add to a skeleton's energies and momentum, and what they leave unknown.

The arrays of a skeleton have the points of skins where they are, held there (`kido.skeleton.state.held_skins`): that is
exact for all that depends on positions alone. What their velocities in the body add to momentum, energy and the
velocity of the centre of mass is added here. How they accelerate, only a world finds: what would need that is refused.
States beside the current one, and calls with a state as argument, hold the points where they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError

Array = NDArray[np.float64]


def soft_among(state: Any, bodies: Any) -> list[Any]:
    """Soft bodies among the chosen bodies (None: all)."""
    key = state.indices_of(bodies)
    soft = state.skeleton.soft_bodies
    return soft if key is None else [b for b in soft if b.index in key]


def moving_among(state: Any, bodies: Any) -> list[Any]:
    """Those of them whose points move in the current state; other states hold them."""
    if state.skeleton.current_state is not state:
        return []
    return [b for b in soft_among(state, bodies) if b.skin.qd.any()]


def com_velocity(state: Any, bodies: Any) -> Any:
    """What they add to the velocity of the centre of mass [m/s]."""
    moving = moving_among(state, bodies)
    return momentum_share(moving)[3:] / state.mass_of(bodies) if moving else 0.0


def momentum(state: Any, bodies: Any, about: Any) -> Any:
    """What they add to the momentum about a point of the world."""
    moving = moving_among(state, bodies)
    return momentum_share(moving, np.array(about)) if moving else 0.0


def momentum_share(bodies: list[Any], about: Any = (0.0, 0.0, 0.0)) -> Array:
    """What the points' own motion adds to [angular about a point of the world; linear] momentum."""
    total = np.zeros(6)
    for body in bodies:
        x, _, v = _motion(body)
        p = body.skin.masses[:, None] * v
        total[:3] += np.cross(x - about, p).sum(axis=0)
        total[3:] += p.sum(axis=0)
    return total


def kinetic_energy(state: Any, bodies: Any) -> float:
    """What it adds to the kinetic energy [J]."""
    total = 0.0
    for body in moving_among(state, bodies):
        _, held, v = _motion(body)
        total += 0.5 * float(body.skin.masses @ (v * (v + 2.0 * held)).sum(axis=1))
    return total


def elastic_energy(state: Any, bodies: Any) -> float:
    """Energy of the skins' springs, part of the potential energy [J]."""
    return sum(body.elastic_energy for body in soft_among(state, bodies))


def _motion(body: Any) -> tuple[Array, Array, Array]:
    """Places of points in the world; velocities that they would have held there, and in the body, world axes."""
    X, V = body.world_transform, body.spatial_velocity
    arms = (body.skin.rest + body.skin.q) @ X[:3, :3].T
    return X[:3, 3] + arms, V[3:] + np.cross(V[:3], arms), body.skin.qd @ X[:3, :3].T


# What is refused ---------------------------------------------------------------------------------------------


def refuse_moving(state: Any, what: str) -> None:
    """Refuse what the velocities of points have a part in.

    Raises:
        ModelError: points move in the current state; names their bodies.
    """
    moving = moving_among(state, None)
    if moving:
        raise ModelError(
            f"skeleton {state.name!r}: {what}: points of soft bodies move ({_names(moving)}), and their part in it is "
            "not known; a World moves them, freeze() holds them, and so does a state that is given or made beside the "
            "current one (new_state)"
        )


def refuse_free(state: Any, what: str) -> None:
    """Refuse what the accelerations of points have a part in, and what does not know of flexible bodies.

    Raises:
        ModelError: points of a soft body are free, or bodies flexible; names the bodies.
    """
    refuse_flexible(state.skeleton, what)
    refuse_free_points(state, what)


def refuse_free_points(state: Any, what: str) -> None:
    """Refuse what the accelerations of points of soft bodies have a part in.

    Raises:
        ModelError: points are free; names the bodies.
    """
    free = [b for b in state.skeleton.soft_bodies if not b.skin.frozen.all()]
    if free:
        raise ModelError(
            f"skeleton {state.name!r}: {what}: soft bodies have points that are free to move ({_names(free)}), which a "
            "World alone takes along: add the skeleton to one, or freeze() the points"
        )


def refuse_flexible(skeleton: Any, what: str) -> None:
    """Refuse what does not know of flexible bodies.

    Raises:
        ModelError: there are some; names them.
    """
    found = [joint.parent for joint in skeleton.joints if joint.has_modes]
    if found:
        raise ModelError(
            f"skeleton {skeleton.name!r}: {what}: it has flexible bodies ({_names(found)}), of which it is not known"
        )


def refuse_acceleration(state: Any, bodies: Any) -> float:
    """Nothing, or it refuses: accelerations of points are not known.

    Raises:
        ModelError: points of a chosen body are free, and not at rest in their places.
    """
    soft = soft_among(state, bodies)
    away = [b for b in soft if not b.skin.frozen.all() and (b.skin.q.any() or b.skin.qd.any())]
    if away:
        raise ModelError(
            f"skeleton {state.name!r}: com_acceleration is not known for soft bodies whose points move "
            f"({_names(away)}); use the change of com_velocity, or bodies without them"
        )
    return 0.0


def _names(bodies: list[Any]) -> str:
    return ", ".join(repr(body.name) for body in bodies)
