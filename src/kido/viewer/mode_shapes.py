"""Modes of flexible bodies and vibrations of whole skeletons, as motions to look at."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kido.attributes import named_arguments
from kido.errors import NameLookupError, StateError
from kido.flexible import vibrations
from kido.rendering.deforming import DeformingBodies
from kido.rendering.model import bodies_of
from kido.skeleton import Skeleton
from kido.viewer.trajectory import Trajectory

SHARE = 0.1  # of the size of the skeleton that its parts move by


@named_arguments
def mode_shape(
    skeleton: Skeleton,
    mode: str | int,
    *,
    amplitude: float | None = None,
    duration: float = 2.0,
    fps: float = 30.0,
) -> Trajectory:
    """The motion of a mode, about where the skeleton is: one period of a sine, however fast the mode is.

    Args:
        skeleton: it is not changed.
        mode: name of a coordinate, such as "beam.bending_z1"; or a whole number from 1, of the vibrations of the whole
            skeleton, all bodies and joints together, that have a frequency; see `kido.flexible.vibrations`.
        amplitude: of the coordinate, or of that which moves most; None: a tenth of the skeleton's size.
        duration: of the period that is shown [s].
        fps: frames per second.

    Raises:
        NameLookupError: there is no such coordinate.
        StateError: there are not as many vibrations, or a number that is not finite and positive.

    Example:
        >>> from kido.viewer import Player, mode_shape
        >>> with Player(satellite, mode_shape(satellite, 1)) as player:
        ...     player.run()
    """
    for what, value in (("amplitude", 1.0 if amplitude is None else amplitude), ("duration", duration), ("fps", fps)):
        if not (isinstance(value, int | float) and math.isfinite(value) and value > 0.0):
            raise StateError(f"mode shape: {what} is {value!r}; expected a finite number above 0.")
    shape = _shape(skeleton, mode)
    size = _largest_move(skeleton, shape) if amplitude is None else amplitude
    times = np.linspace(0.0, duration, max(2, round(duration * fps) + 1))
    start = np.array(skeleton.positions)
    positions = start + size * np.sin(2.0 * np.pi * times / duration)[:, None] * shape
    return Trajectory.from_positions(skeleton, times, positions, fps=None)


def _shape(skeleton: Skeleton, mode: str | int) -> np.ndarray:
    """Share of each coordinate."""
    if isinstance(mode, str):
        names = [dof.name for dof in skeleton.dofs]
        if mode not in names:
            raise NameLookupError("coordinate", mode, names)
        return np.eye(len(names))[names.index(mode)]
    found = vibrations(skeleton)
    shapes = found.shapes[:, found.frequencies > 0.0]
    if isinstance(mode, bool) or not isinstance(mode, int | np.integer) or not 1 <= mode <= shapes.shape[1]:
        raise StateError(f"mode shape: mode is {mode!r}; expected a whole number from 1 to {shapes.shape[1]}.")
    return shapes[:, int(mode) - 1]


def _largest_move(skeleton: Skeleton, shape: np.ndarray) -> float:
    """Factor of a shape that moves something by a share of the skeleton's size."""
    bodies = bodies_of(skeleton)
    deforming = DeformingBodies(bodies)

    def places(q: np.ndarray) -> np.ndarray:
        X, found = skeleton.forward_kinematics(q), []
        for one in deforming.seen:
            surface: Any = one.flexible.modes.surface
            points = surface.vertices + surface.displacements(q[one.flexible.dofs])
            found.append(points @ X[one.index, :3, :3].T + X[one.index, :3, 3])
        return np.concatenate([X[:, :3, 3], *found])

    q, step = np.array(skeleton.positions), 1e-6
    still = places(q)
    moved = float(np.linalg.norm(places(q + step * shape) - still, axis=1).max()) / step
    return SHARE * float(np.ptp(still, axis=0).max()) / moved if moved > 0.0 else 1.0
