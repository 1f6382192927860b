"""Worlds and motions from a recording: exact resumption, playback."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kido.errors import KidoError
from kido.recording.capture import engine_of, set_forces
from kido.recording.description import skeleton_from_dict
from kido.recording.errors import RecordingError
from kido.recording.file import RecordingFile
from kido.recording.world_description import dofs_of, world_from_dict
from kido.simulation import World

Array = NDArray[np.float64]


class Motion(NamedTuple):
    """Poses of all bodies over time.

    Attributes:
        times: (T,) [s].
        transforms: (T, bodies, 4, 4) world transforms.
        names: "skeleton/body" of each body, or the body's name alone if there is one skeleton.
        contacts: points (n, 3) [m] and forces (n, 3) [N] of each frame.
    """

    times: Array
    transforms: Array
    names: list[str]
    contacts: list[tuple[Array, Array]]


class RecordedFrame(NamedTuple):
    """One frame on its way through `Recording.play`."""

    index: int
    time: float
    step: int
    positions: Array
    velocities: Array


def restore(recording: RecordingFile, frame: int, hold_commands: bool) -> World:
    """See `Recording.resume`."""
    tables = recording.tables
    exact = tables.read("checkpoints", "frame")
    row = int(np.flatnonzero(exact <= frame)[-1]) if (exact <= frame).any() else -1
    if row < 0:
        raise RecordingError(f"{recording.path}: no complete state at or before frame {frame}")
    start = int(exact[row])
    structure = int(tables.read("checkpoints", "structure")[row])
    world = recording.world(structure)
    try:
        world.set_state(recording.blob("checkpoints", row))
    except (KeyError, TypeError, ValueError, IndexError, KidoError) as error:
        raise RecordingError(f"{recording.path}: complete state of frame {start} is damaged: {error!r}") from error
    if frame == start:
        if row + 1 < len(exact) and not hold_commands:
            set_forces(world, None)
        return world
    _redo(recording, world, start, frame, structure, hold_commands)
    data = engine_of(world).data
    width = len(data.q)
    same = [
        np.array_equal(now, tables.read("frames", name, frame, frame + 1)[0, :width])
        for name, now in (("positions", data.q), ("velocities", data.u))
    ]
    if not all(same):
        reason = "something that is not recorded acted on the world, such as positions set by hand"
        raise _not_exact(recording, frame, start, reason)
    return world


def _redo(recording: RecordingFile, world: World, start: int, frame: int, structure: int, hold: bool) -> None:
    """Step from one frame to another with the recorded commands and external forces."""
    tables = recording.tables
    steps, structures = recording.steps[start : frame + 1], recording.structures[start + 1 : frame + 1]
    if (np.diff(steps) != 1).any():
        raise _not_exact(recording, frame, start, "not every step was recorded")
    if (structures != structure).any():
        raise _not_exact(recording, frame, start, "the world's structure changed in between")
    commands = tables.read("frames", "commands", start + 1, frame + 1)
    for k in range(start + 1, frame + 1):
        stop = int(recording.external_ends[k])
        begin = int(recording.external_ends[k - 1])
        bodies = tables.read("external", "body", begin, stop)
        laws = tables.read("external", "law", begin, stop)
        set_forces(world, commands[k - start - 1], bodies, laws)
        world.step(1, reset_command=not (hold and k == frame))


def _not_exact(recording: RecordingFile, frame: int, start: int, reason: str) -> RecordingError:
    exact = sorted(set(recording.tables.read("checkpoints", "frame").tolist()))
    after = [k for k in exact if k > frame][:1]
    nearest = " and ".join(str(k) for k in [start, *after])
    return RecordingError(
        f"{recording.path}: frame {frame} cannot be restored exactly: {reason}; the nearest frames with a "
        f"complete state: {nearest}"
    )


def replay(recording: RecordingFile, world: World | None, fps: float | None) -> Iterator[RecordedFrame]:
    """See `Recording.play`."""
    positions, velocities = recording.positions, recording.velocities
    displacements = recording.displacements
    own, structure = world is None, -1
    for k in recording.frames_at(fps):
        if own and recording.structures[k] != structure:
            structure = int(recording.structures[k])
            world = recording.world(structure)
        assert world is not None
        total = sum(s.num_dofs for s in world.skeletons)
        known = int(np.isfinite(positions[k]).sum())
        if total != known:
            raise RecordingError(
                f"{recording.path}: frame {k} has {known} degrees of freedom, world {world.name!r} has {total}"
            )
        q, u = positions[k, :total], velocities[k, :total]
        start = 0
        for skeleton in world.skeletons:
            stop = start + skeleton.num_dofs
            skeleton.positions, skeleton.velocities = q[start:stop], u[start:stop]
            start = stop
        put_displacements(world, displacements[k])
        yield RecordedFrame(int(k), float(recording.times[k]), int(recording.steps[k]), q, u)


def put_displacements(world: World, values: Array) -> None:
    """Displace the points of a world's soft bodies as recorded (n,3), as far as that is known."""
    start = 0
    for body in (b for s in world.skeletons for b in s.soft_bodies):
        own = values[start : start + body.num_points]
        start += body.num_points
        if len(own) == body.num_points and np.isfinite(own).all():
            body.displacements = own


def display_description(recording: RecordingFile) -> dict[str, Any]:
    """The world as described at the start, with all skeletons that joined it later."""
    merged = dict(recording.description(0))
    skeletons = {s["name"]: s for k in range(recording.num_structures) for s in recording.description(k)["skeletons"]}
    return {**merged, "skeletons": list(skeletons.values()), "collision_filters": []}


def display_world(recording: RecordingFile) -> World:
    """See `Recording.display_world`."""
    return world_from_dict(display_description(recording))


def motion(recording: RecordingFile, fps: float | None) -> Motion:
    """See `Recording.trajectory`."""
    keep = recording.frames_at(fps)
    structures = recording.structures[keep]
    described = display_description(recording)["skeletons"]
    positions = recording.positions[keep]
    blocks, names = [], []
    for item in described:
        skeleton = skeleton_from_dict(item)
        names += [f"{item['name']}/{b['name']}" if len(described) > 1 else b["name"] for b in item["bodies"]]
        q = _positions_of(recording, item, positions, structures)
        still = skeleton.num_dofs == 0 or len(q) == 0 or bool((q == q[0]).all())
        poses = [skeleton.forward_kinematics(row) for row in (q[:1] if still else q)]
        blocks.append(np.repeat(poses, len(keep), axis=0) if still else np.array(poses))
    contacts = []
    for k in keep:
        found = recording.contacts(k)
        contacts.append((found.points, found.forces))
    transforms = np.concatenate(blocks, axis=1) if blocks else np.empty((len(keep), 0, 4, 4))
    return Motion(recording.times[keep], transforms, names, contacts)


def _positions_of(recording: RecordingFile, item: dict[str, Any], positions: Array, structures: Any) -> Array:
    """Positions (T, dofs) of a skeleton; before it came and after it went, those of the nearest frame."""
    dofs = len(dofs_of(item))
    q = np.full((len(positions), dofs), np.nan)
    present = np.zeros(len(positions), bool)
    for structure in np.unique(structures):
        start = 0
        for other in recording.description(structure)["skeletons"]:
            count = len(dofs_of(other))
            if other["name"] == item["name"] and count == dofs:
                rows = structures == structure
                q[rows] = positions[rows, start : start + dofs]
                present |= rows
            start += count
    if not present.any():
        return np.repeat([np.array(item["positions"])], len(positions), axis=0)
    known = np.flatnonzero(present)
    if len(known) == len(q):
        return q
    return q[known[np.abs(np.arange(len(q))[:, None] - known).argmin(axis=1)]]
