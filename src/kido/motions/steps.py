"""Steps of a recording: what moved, and the forces that did it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kido.batch import Batch
from kido.errors import StateError
from kido.motions.recordings import series_of
from kido.recording import Recording
from kido.shapes import Plane
from kido.simulation import World
from kido.skeleton import Skeleton

__all__ = ["Steps", "read_steps", "simulated"]

Array = NDArray[np.float64]


class Steps(NamedTuple):
    """The middles of a recording's steps, one fewer than frames.

    Attributes:
        skeleton: whose they are.
        times: (T,) [s].
        positions, velocities, accelerations: (T, dofs); accelerations are what velocities changed by.
        ground: (T, bodies, 6) wrenches of contacts with what does not move, about the bodies' origins, world axes.
        others: (T, bodies, 6) those of all other contacts, and of pushes.
        plane: normal and height of the ground; None if nothing that does not move has a plane.
    """

    skeleton: Skeleton
    times: Array
    positions: Array
    velocities: Array
    accelerations: Array
    ground: Array
    others: Array
    plane: tuple[Array, float] | None


def read_steps(recording: Recording, name: str | None) -> Steps:
    """What happened in each step: worlds compute forces in its middle, and the recorded ones are means over it.

    Raises:
        StateError: no such skeleton (`kido.motions.recordings.series_of`), or no two frames in a row with it.
    """
    series, world = series_of(recording, name), recording.display_world()
    skeleton = world.skeleton(series.name)
    there: Any = np.isfinite(series.positions).all(axis=1)
    dt: Any = np.diff(recording.times)
    k = np.flatnonzero(there[1:] & there[:-1] & (dt > 0.0))
    if not len(k):
        raise StateError(f"motion: skeleton '{series.name}' is in no two frames in a row of the recording")
    dt, batch = dt[k], Batch(skeleton)
    before, after = series.velocities[k], series.velocities[k + 1]
    q = batch.integrate(series.positions[k], 0.5 * dt[:, None] * before, 1.0)
    origins = batch.forward_kinematics(q)[..., :3, 3]
    ground, others = np.zeros((2, len(k), skeleton.num_bodies, 6))
    step = np.full(recording.num_frames, -1)
    step[k + 1] = np.arange(len(k))
    still = {s.name for s in world.skeletons if s.num_dofs == 0 or not s.mobile}

    frames, own, fixed, point, force = _rows(
        recording, "contacts", ("body_a", "body_b"), ("point", "force"), series.name, still
    )
    at = step[frames]
    for side, sign in ((0, -1.0), (1, 1.0)):  # forces are those on body b
        for wrenches, which in ((ground, fixed[1 - side]), (others, ~fixed[1 - side])):
            use = which & (at >= 0) & (own[side] >= 0)
            F, place = sign * force[use], (at[use], own[side][use])
            np.add.at(wrenches, place, np.concatenate([np.cross(point[use] - origins[place], F), F], axis=1))
    frames, own, _, wrench = _rows(recording, "external", ("body",), ("wrench",), series.name, still)
    use = (step[frames] >= 0) & (own[0] >= 0)
    np.add.at(others, (step[frames][use], own[0][use]), wrench[use])
    times = 0.5 * (recording.times[k] + recording.times[k + 1])
    udot = (after - before) / dt[:, None]
    return Steps(skeleton, times, q, 0.5 * (before + after), udot, ground, others, _plane(world, still))


def simulated(recording: Recording, name: str | None) -> bool:
    """Whether forces moved a skeleton, and not those who recorded it; raises as `series_of` does."""
    skeleton = recording.display_world().skeleton(series_of(recording, name).name)
    return bool(skeleton.mobile and not skeleton.kinematic)


def _rows(
    recording: Recording, table: str, numbers: tuple[str, ...], values: tuple[str, ...], name: str, still: set[str]
) -> tuple[Any, ...]:
    """Of all rows of a table: frames; for each column of body numbers, indices in the skeleton of a name or -1, and
    whether the bodies are of skeletons in `still`; columns of values."""
    ends = {"contacts": recording.contact_ends, "external": recording.external_ends}[table]
    frames = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    described = [recording.description(k)["skeletons"] for k in range(recording.num_structures)]
    bodies = [[(s["name"], k) for s in skeletons for k in range(len(s["bodies"]))] for skeletons in described]
    first = np.cumsum([0, *map(len, bodies)])  # of each structure, among the bodies of all
    index = np.array([k if s == name else -1 for of_one in bodies for s, k in of_one], dtype=int)
    stands = np.array([s in still for of_one in bodies for s, _ in of_one], dtype=bool)
    structure = recording.structures[frames]
    own, fixed = [], []
    for column in numbers:
        number = recording.tables.read(table, column, 0, len(frames))
        if not ((number >= 0) & (number < np.diff(first)[structure])).all():
            raise recording.tables.damaged(f"{table}/{column} numbers bodies that are not described")
        own.append(index[first[structure] + number])
        fixed.append(stands[first[structure] + number])
    return frames, own, fixed, *(recording.tables.read(table, column, 0, len(frames)) for column in values)


def _plane(world: World, still: set[str]) -> tuple[Array, float] | None:
    """Normal and height of the first plane of what does not move."""
    for body in (body for s in world.skeletons if s.name in still for body in s.bodies):
        for node in body.shapes:
            if isinstance(node.shape, Plane) and node.collision:
                X = node.world_transform
                normal = X[:3, :3] @ node.shape.normal
                return normal, float(normal @ X[:3, 3]) + node.shape.offset
    return None
