"""Reads what a `Recorder` wrote, finished or not: series, exact resumption, playback."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kido.errors import StateError
from kido.jit.kept import FINITE, Values, checked_array
from kido.recording.capture import set_forces
from kido.recording.codec import RecordingError
from kido.recording.description import skeleton_from_dict
from kido.recording.file import RecordingFile
from kido.recording.users import check_states
from kido.recording.world_description import dof_names, dofs_of, world_from_dict
from kido.reprs import brief, in_few_words
from kido.simulation import World
from kido.simulation.hooks import ROW

Array = NDArray[np.float64]


class Event(NamedTuple):
    """Something that happened: after which step, when [s], of which kind, in words."""

    step: int
    time: float
    kind: str
    text: str


class Energies(NamedTuple):
    """Energies of all frames (T,) [J]."""

    kinetic: Array
    potential: Array
    total: Array

    __repr__ = brief


class SkeletonRecording(NamedTuple):
    """One skeleton over all frames (T, dofs); NaN where it was not in the world."""

    name: str
    dof_names: list[str]
    positions: Array
    velocities: Array
    commands: Array

    __repr__ = brief


class Motion(NamedTuple):
    """Poses of all bodies over time.

    Attributes:
        times: (T,) [s].
        transforms: (T, bodies, 4, 4) world transforms.
        names: "skeleton/body" of each body, or the body's name alone if there is one skeleton.
        contacts: points (n, 3) [m] and forces (n, 3) [N] of each frame.
        modes: (T, n) modal coordinates of all flexible bodies.
    """

    times: Array
    transforms: Array
    names: list[str]
    contacts: list[tuple[Array, Array]]
    modes: Array

    __repr__ = brief


class RecordedFrame(NamedTuple):
    """One frame on its way through `Recording.play`."""

    index: int
    time: float
    step: int
    positions: Array
    velocities: Array

    __repr__ = brief


class Recording(RecordingFile):
    """A recorded simulation.

    Frames are numbered from 0; negative numbers count from the end. Arrays over time have a row per frame.
    A recording can be opened while it is being written, and then shows what was flushed.

    Nothing in a file is taken on trust: opening and reading take no more memory than the file has numbers, run no code
    of it, and what does not fit is refused by its place.

    Args:
        path: the file.
        partial: of a damaged file, read the frames before the damage.

    Attributes:
        path: the file.
        finished: False if the recorder is still at work or died.
        damage: which frames a file that is read in part lacks, and why; None: it is whole.
        metadata: version, creation date, time step, gravity and so on, as at the start.
        times: (T,) [s].
        steps: (T,) steps done by the world.

    Raises:
        RecordingError: the file is not there, is no recording, or is damaged.

    Example:
        >>> recording = kido.Recording.open("run.h5")
        >>> recording.skeleton("arm").positions[-1]
        >>> world = recording.resume()
    """

    @classmethod
    def open(cls, path: str | os.PathLike[str], partial: bool = False) -> Recording:
        """Open a recording; with `partial` a damaged one up to the damage."""
        return cls(path, partial)

    # Frames ----------------------------------------------------------------------------------------------

    @property
    def energies(self) -> Energies:
        """Energies of all frames."""
        kinetic, potential = self.column("kinetic_energy"), self.column("potential_energy")
        return Energies(kinetic, potential, kinetic + potential)

    @property
    def solver(self) -> Mapping[str, NDArray[Any]]:
        """The solver's report over time; its keys are those of `StepReport`."""
        names = ("residual", "iterations", "max_penetration", "converged", "dissipation")
        return {**{name: self.column(name) for name in names}, "contacts": self.column("contact_count")}

    @property
    def signals(self) -> Mapping[str, Array]:
        """The user's own signals by name, each (T, ...)."""
        names = self.tables.columns("signals")
        return MappingProxyType({name: self.tables.read("signals", name) for name in names})

    # Skeletons and structure -----------------------------------------------------------------------------

    @property
    def skeleton_names(self) -> tuple[str, ...]:
        """Names of all skeletons that were ever in the world."""
        described = [self.description(k)["skeletons"] for k in range(self.num_structures)]
        return tuple(dict.fromkeys(s["name"] for skeletons in described for s in skeletons))

    @property
    def dof_names(self) -> tuple[str, ...]:
        """Names "skeleton/dof" of the columns of `positions`, as at the start."""
        return tuple(dof_names(self.description(0)))

    def skeleton(self, name: str) -> SkeletonRecording:
        """One skeleton over all frames.

        Raises:
            RecordingError: there never was one of that name.
        """
        whole = (self.positions, self.velocities, self.commands)
        parts: list[Array] | None = None
        names: list[str] = []
        for structure in range(self.num_structures):
            start = 0
            for item in self.description(structure)["skeletons"]:
                dofs = dofs_of(item)
                if item["name"] == name:
                    if parts is None:
                        names = dofs
                        parts = [np.full((self.num_frames, len(dofs)), np.nan) for _ in whole]
                    if dofs != names:
                        raise RecordingError(f"{self.path}: skeleton {name!r} changed its degrees of freedom")
                    rows = self.structures == structure
                    for part, source in zip(parts, whole, strict=True):
                        part[rows] = source[rows, start : start + len(dofs)]
                start += len(dofs)
        if parts is None:
            raise RecordingError(
                f"{self.path}: no skeleton {name!r}; expected one of: {', '.join(self.skeleton_names)}"
            )
        return SkeletonRecording(name, names, *parts)

    @property
    def events(self) -> tuple[Event, ...]:
        """What happened, in order; kinds: start, end, skeleton, structure, parameter, solver, user."""
        steps, times = self.tables.read("events", "step"), self.tables.read("events", "time")
        found = []
        for k, (step, time) in enumerate(zip(steps, times, strict=True)):
            blob = self.blob("events", k)
            with self.tables.reading(f"events[{k}]"):
                kind, text = blob["kind"], blob["text"]
                if not isinstance(kind, str) or not isinstance(text, str):
                    raise RecordingError(f"events[{k}] is {in_few_words(blob)}; expected two texts")
            found.append(Event(int(step), float(time), kind, text))
        return tuple(found)

    # Worlds ----------------------------------------------------------------------------------------------

    def resume(self, frame: int = -1, hold_commands: bool = False, users: bool = True) -> World:
        """The world exactly as it was at a frame; stepping on gives the same bits as the first run did.

        From the nearest complete state before the frame, the steps up to it are done again with the recorded
        commands and forces, and the result is compared with the record. Nodes and aspects of users' classes come back
        with their attributes and states, if their classes are defined: nothing is imported by a file's word. Functions
        of users (step callbacks, constraints, signals) are not recorded.

        Args:
            frame: its number.
            hold_commands: leave the joint and external forces of the frame's step in place, as for a frame in
                the middle of a `world.step(n)`; by default they are zero, as after it. The last frame's are
                as they were when recording ended.
            users: False: leave out the nodes and aspects of users' classes.

        Raises:
            RecordingError: the frame cannot be reached exactly, because steps are missing (`every` above 1)
                or something acted that is not recorded: the message names the nearest frames that can. Or a node or
                an aspect of a user's class cannot be restored: the message names it and its class.
        """
        frame = self.index(frame)
        tables = self.tables
        exact, structures = tables.read("checkpoints", "frame"), tables.read("checkpoints", "structure")
        row = int(np.flatnonzero(exact <= frame)[-1]) if (exact <= frame).any() else -1
        if row < 0:
            raise RecordingError(f"{self.path}: no complete state at or before frame {frame}")
        start, structure = int(exact[row]), int(structures[row])
        if not (start >= 0 and 0 <= structure < self.num_structures):
            raise tables.damaged(f"checkpoints[{row}] is of frame {start} and structure {structure}")
        world = self.world(structure, users)
        state = self.blob("checkpoints", row)
        with tables.reading(f"complete state of frame {start}"):
            check_states(state, users)
            try:
                world.set_state(state)
            except StateError as error:
                raise RecordingError(f"complete state of frame {start} is damaged: {error}") from error
        if frame == start:
            if row + 1 < len(exact) and not hold_commands:
                set_forces(world, None)
            return world
        with tables.reading(f"frames {start} to {frame}"):
            self._redo(world, start, frame, structure, hold_commands)
        data = world.engine.data
        width = len(data.q)
        same = [
            np.array_equal(now, tables.read("frames", name, frame, frame + 1)[0, :width])
            for name, now in (("positions", data.q), ("velocities", data.u))
        ]
        if not all(same):
            reason = "something that is not recorded acted on the world, such as positions set by hand"
            raise self._not_exact(frame, start, reason)
        return world

    def _redo(self, world: World, start: int, frame: int, structure: int, hold: bool) -> None:
        """Step from one frame to another with the recorded commands and external forces."""
        tables = self.tables
        steps, structures = self.steps[start : frame + 1], self.structures[start + 1 : frame + 1]
        if (np.diff(steps) != 1).any():
            raise self._not_exact(frame, start, "not every step was recorded")
        if (structures != structure).any():
            raise self._not_exact(frame, start, "the world's structure changed in between")
        dofs, bodies = len(world.engine.data.q), sum(s.num_bodies for s in world.skeletons)
        commands = tables.read("frames", "commands", start + 1, frame + 1)[:, :dofs]
        commands = checked_array(commands, "f", (frame - start, dofs), FINITE, f"commands from frame {start + 1}")
        with world.pushes.set_aside(frame - start):
            for k in range(start + 1, frame + 1):
                begin, stop = int(self.external_ends[k - 1]), int(self.external_ends[k])
                of = tables.read("external", "body", begin, stop)
                laws = tables.read("external", "law", begin, stop)
                of = checked_array(of, "i", (stop - begin,), Values(0, bodies - 1), f"external/body of frame {k}")
                laws = checked_array(laws, "f", (stop - begin, ROW), FINITE, f"external/law of frame {k}")
                set_forces(world, commands[k - start - 1], of, laws)
                world.step(1, reset_command=not (hold and k == frame))
        for push in world.pushes.acted if hold else ():
            own, index = push.body.skeleton.current_state, push.body.index
            rest = own.applied.get(index, 0.0) - push.row
            own.clear_external(index)
            if rest.any():
                own.add_external(index, rest)

    def _not_exact(self, frame: int, start: int, reason: str) -> RecordingError:
        exact = sorted(set(self.tables.read("checkpoints", "frame").tolist()))
        after = [k for k in exact if k > frame][:1]
        nearest = " and ".join(str(k) for k in [start, *after])
        return RecordingError(
            f"{self.path}: frame {frame} cannot be restored exactly: {reason}; the nearest frames with a "
            f"complete state: {nearest}"
        )

    def play(self, world: World | None = None, fps: float | None = None) -> Iterator[RecordedFrame]:
        """Set a world to frame after frame, and yield each.

        Args:
            world: with the recording's structure; by default a rebuilt one, which the caller does not see.
            fps: frames per second of simulated time; None: all.
        """
        positions, velocities = self.positions, self.velocities
        displacements = self.displacements
        own, structure = world is None, -1
        for k in self.frames_at(fps):
            if world is None or (own and self.structures[k] != structure):
                structure = int(self.structures[k])
                world = self.world(structure, users=False)
            total = sum(s.num_dofs for s in world.skeletons)
            known = int(np.isfinite(positions[k]).sum())
            if total != known:
                raise RecordingError(
                    f"{self.path}: frame {k} has {known} degrees of freedom, world {world.name!r} has {total}"
                )
            q, u = positions[k, :total], velocities[k, :total]
            start = 0
            for skeleton in world.skeletons:
                stop = start + skeleton.num_dofs
                skeleton.positions, skeleton.velocities = q[start:stop], u[start:stop]
                start = stop
            _put_displacements(world, displacements[k])
            yield RecordedFrame(int(k), float(self.times[k]), int(self.steps[k]), q, u)

    def trajectory(self, fps: float | None = 60.0) -> Motion:
        """World transforms of all bodies over time, for playback: `Trajectory.from_transforms(*motion)`."""
        keep = self.frames_at(fps)
        structures = self.structures[keep]
        described = self._display_description()["skeletons"]
        positions = self.positions[keep]
        blocks, names, modes = [], [], [np.empty((len(keep), 0))]
        for item in described:
            skeleton = skeleton_from_dict(item, users=False)
            names += [f"{item['name']}/{b['name']}" if len(described) > 1 else b["name"] for b in item["bodies"]]
            q = self._positions_of(item, positions, structures)
            modes.append(q[:, [k for k, dof in enumerate(skeleton.dofs) if dof.joint.has_modes]])
            still = skeleton.num_dofs == 0 or len(q) == 0 or bool((q == q[0]).all())
            poses = np.empty((len(keep), skeleton.num_bodies, 4, 4))
            for k in range(len(keep)):
                poses[k] = poses[0] if still and k > 0 else skeleton.forward_kinematics(q[k])
            blocks.append(poses)
        contacts = []
        for k in keep:
            found = self.contacts(k)
            contacts.append((found.points, found.forces))
        transforms = np.concatenate(blocks, axis=1) if blocks else np.empty((len(keep), 0, 4, 4))
        return Motion(self.times[keep], transforms, names, contacts, np.concatenate(modes, axis=1))

    def display_world(self) -> World:
        """A world to look at, not to simulate: all skeletons ever recorded, in `trajectory`'s order.

        Without nodes and aspects of users' classes.
        """
        data = self._display_description()
        with self.tables.reading("the description of the world"):
            return world_from_dict(data, users=False)

    def _display_description(self) -> dict[str, Any]:
        """The world as described at the start, with all skeletons that joined it later."""
        merged = dict(self.description(0))
        skeletons = {s["name"]: s for k in range(self.num_structures) for s in self.description(k)["skeletons"]}
        filters = {key: [] for key in ("collision_filters", "collision_reasons", "collisions_of_adjacent")}
        return {**merged, "skeletons": list(skeletons.values()), **filters}

    def _positions_of(self, item: dict[str, Any], positions: Array, structures: Any) -> Array:
        """Positions (T, dofs) of a skeleton; before it came and after it went, those of the nearest frame."""
        dofs = len(dofs_of(item))
        q = np.full((len(positions), dofs), np.nan)
        present = np.zeros(len(positions), bool)
        for structure in np.unique(structures):
            start = 0
            for other in self.description(structure)["skeletons"]:
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

    def __repr__(self) -> str:
        state = "" if self.finished else ", not finished"
        state += "" if self.damage is None else ", in part"
        return f"Recording('{self.path}', {self.num_frames} frames, {self.duration:g} s{state})"


def _put_displacements(world: World, values: Array) -> None:
    """Displace the points of a world's soft bodies as recorded (n,3), as far as that is known."""
    start = 0
    for body in (b for s in world.skeletons for b in s.soft_bodies):
        own = values[start : start + body.num_points]
        start += body.num_points
        if len(own) == body.num_points and np.isfinite(own).all():
            body.displacements = own
