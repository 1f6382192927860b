"""Freezing points: their motion in the body stops at once, and what moves is the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from kido.skeleton.soft.skin import Skin

Array = NDArray[np.float64]


def spatial_inertia(masses: Array, places: Array) -> Array:
    """6x6 inertia [[J, m c x], [-m c x, m]] of point masses about the origin of their frame."""
    total = np.zeros((6, 6))
    for m, x in zip(masses, places, strict=True):
        X = _motion(x)
        total += m * X.T @ X
    return total


def _motion(x: Array) -> Array:
    """Velocity of a point at x of a body that moves with [w; v]: [-x x, 1]."""
    return np.array(
        [
            [0.0, x[2], -x[1], 1.0, 0.0, 0.0],
            [-x[2], 0.0, x[0], 0.0, 1.0, 0.0],
            [x[1], -x[0], 0.0, 0.0, 0.0, 1.0],
        ]
    )


def freeze_points(skin: Skin, chosen: NDArray[np.int64]) -> None:
    """Fix points where they are.

    Their momentum relative to the body goes to all that is rigid with it, as in a plastic impact; points that stay
    free keep their velocities in the world, since their springs give no impulse at once.
    """
    stopped = chosen[(skin._frozen[chosen] == 0) & skin._qd[chosen].any(axis=1)]
    skeleton, body = skin.body.skeleton, skin.body
    skin._frozen[chosen] = 1
    if len(stopped) == 0:
        return
    places = skin.rest + skin._q
    impulse = sum(skin._masses[k] * _motion(places[k]).T @ skin._qd[k] for k in stopped)
    skin._qd[stopped] = 0.0
    if skeleton.num_dofs == 0 or not skeleton.mobile:
        return
    M = skeleton.mass_matrix
    jacobians = {soft: soft.jacobian(in_coordinates_of=soft) for soft in skeleton.soft_bodies}
    for soft, J in jacobians.items():
        own = soft.skin
        held = own._frozen != 0
        change = spatial_inertia(own._masses[held], (own.rest + own._q)[held])
        M = M + J.T @ (change - spatial_inertia(own._masses, own.rest)) @ J
    du = np.linalg.lstsq(M, jacobians[body].T @ impulse, rcond=None)[0]  # type: ignore[index]
    for soft, J in jacobians.items():
        own, dV = soft.skin, J @ du
        for k in np.flatnonzero(own._frozen == 0):
            own._qd[k] -= _motion(own.rest[k] + own._q[k]) @ dV
    skeleton.velocities = skeleton.velocities + du
