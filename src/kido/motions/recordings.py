"""Recordings of what is not simulated, and what a recording has of one skeleton."""

from __future__ import annotations

import os
import warnings

import numpy as np
from numpy.typing import NDArray

from kido.errors import KidoWarning, StateError
from kido.recording import Recorder, Recording, SkeletonRecording
from kido.simulation import World
from kido.skeleton import Skeleton

__all__ = ["read_series", "series_of", "write_series"]

Array = NDArray[np.float64]


def write_series(
    skeleton: Skeleton,
    positions: Array,
    velocities: Array,
    time_step: float,
    path: str | os.PathLike[str],
    overwrite: bool,
) -> None:
    """Write states (T, dofs) of a skeleton, which is not changed, as a recording."""
    twin = skeleton.clone()
    twin.mobile = False  # steps count the time, and move nothing
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KidoWarning)  # of limits and long steps, which a motion may have
        world = World(twin.name, time_step=time_step, gravity=skeleton.gravity)
        world.add_skeleton(twin)
        twin.positions, twin.velocities = positions[0], velocities[0]
        with Recorder(world, path, overwrite=overwrite):
            for q, u in zip(positions[1:], velocities[1:], strict=True):
                twin.positions, twin.velocities = q, u
                world.step()


def series_of(recording: Recording, name: str | None) -> SkeletonRecording:
    """One skeleton of a recording; None for the only one, or the only one that has coordinates.

    Raises:
        StateError: several skeletons and no name, or one that is in no frame.
    """
    names = recording.skeleton_names
    moving = [own for own in names if name is None and len(names) > 1 and recording.skeleton(own).dof_names]
    chosen = [name] if name is not None else moving or list(names)
    if len(chosen) != 1:
        known = ", ".join(names) or "none"
        raise StateError(f"motion: name is None; expected one of the recording's skeletons: {known}")
    series = recording.skeleton(chosen[0])
    if not np.isfinite(series.positions).all(axis=1).any():
        raise StateError(f"motion: skeleton '{series.name}' is in no frame of the recording")
    return series


def read_series(recording: Recording, name: str | None) -> tuple[Array, Array, Skeleton]:
    """Rising times (T,), positions (T, dofs) and the skeleton of a name, or the only one that has coordinates.

    Raises:
        StateError: as `series_of` does.
    """
    series = series_of(recording, name)
    there = np.isfinite(series.positions).all(axis=1)
    times, positions = recording.times[there], series.positions[there]
    keep = np.concatenate([[True], np.diff(times) > 0.0])
    return times[keep], positions[keep], recording.display_world().skeleton(series.name)
