"""Reads what a `Recorder` wrote, finished or not."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from types import MappingProxyType, TracebackType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kido.recording import layout
from kido.recording.codec import Encoded, decode
from kido.recording.errors import RecordingError
from kido.recording.restore import Motion, display_world, frames_at, motion, replay, restore
from kido.recording.tables import TableReader
from kido.recording.world_description import body_names, dof_names, dofs_of, shape_names, world_from_dict
from kido.simulation import World

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


class FrameContacts(NamedTuple):
    """Contacts of one frame: arrays as in `kido.ContactSet`, bodies and shapes by name."""

    points: Array
    normals: Array
    gaps: Array
    forces: Array
    body_a: list[str]
    body_b: list[str]
    shape_a: list[str]
    shape_b: list[str]


class FrameExternal(NamedTuple):
    """External forces of one frame: body names and [torque; force] about their origins, world axes (n, 6)."""

    bodies: list[str]
    wrenches: Array


class SkeletonRecording(NamedTuple):
    """One skeleton over all frames (T, dofs); NaN where it was not in the world."""

    name: str
    dof_names: list[str]
    positions: Array
    velocities: Array
    commands: Array


class RecordedFrame(NamedTuple):
    """One frame on its way through `Recording.play`."""

    index: int
    time: float
    step: int
    positions: Array
    velocities: Array


class Recording:
    """A recorded simulation.

    Frames are numbered from 0; negative numbers count from the end. Arrays over time have a row per frame.
    A recording can be opened while it is being written, and then shows what was flushed.

    Attributes:
        path: the file.
        finished: False if the recorder is still at work or died.
        metadata: version, creation date, time step, gravity and so on, as at the start.
        times: (T,) [s].
        steps: (T,) steps done by the world.

    Raises:
        RecordingError: the file is not there, or is no recording.

    Example:
        >>> recording = kido.Recording.open("run.h5")
        >>> recording.skeleton("arm").positions[-1]
        >>> world = recording.resume()
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._reader = reader = TableReader(path, layout.FORMAT)
        self.path = reader.path
        self.finished = reader.finished
        self.metadata = {k: v for k, v in reader.attributes.items() if k not in ("format", "tables")}
        version = self.metadata.get("format_version")
        if version != layout.FORMAT_VERSION:
            reader.close()
            raise RecordingError(
                f"{self.path}: recording of format {version}, expected {layout.FORMAT_VERSION}; "
                f"it was written by KIDO {self.metadata.get('kido_version')}"
            )
        self.times: Array = self._column("time")
        self.steps: NDArray[np.int64] = self._column("step")
        self._structure_of = self._column("structure")
        self._contact_ends = np.cumsum(self._column("contact_count"))
        self._external_ends = np.cumsum(self._column("external_count"))

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Recording:
        """Open a recording."""
        return cls(path)

    def close(self) -> None:
        """Close the file."""
        self._reader.close()

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Frames ----------------------------------------------------------------------------------------------

    @property
    def num_frames(self) -> int:
        """Number of frames T."""
        return len(self.times)

    def __len__(self) -> int:
        return len(self.times)

    @property
    def duration(self) -> float:
        """Time from the first to the last frame [s]."""
        return float(self.times[-1] - self.times[0]) if len(self.times) else 0.0

    def index(self, frame: int) -> int:
        """A frame number, counted from the start.

        Raises:
            RecordingError: there is no such frame.
        """
        count = self.num_frames
        if isinstance(frame, bool) or not isinstance(frame, (int, np.integer)) or not -count <= frame < count:
            raise RecordingError(f"{self.path}: no frame {frame!r}; there are {count}, from 0 to {count - 1}")
        return int(frame) % count

    def _column(self, name: str) -> Any:
        return self._reader.read("frames", name)

    @property
    def positions(self) -> Array:
        """(T, n) positions of all skeletons, one after another [m, rad]; NaN where the world had fewer."""
        return self._column("positions")

    @property
    def velocities(self) -> Array:
        """(T, n) velocities [m/s, rad/s]."""
        return self._column("velocities")

    @property
    def commands(self) -> Array:
        """(T, n) commands of the actuators during the step that led to each frame (forces for FORCE coordinates)."""
        return self._column("commands")

    @property
    def displacements(self) -> Array:
        """(T, n, 3) displacements of points of all soft bodies, one after another, body axes [m]; NaN past the last.

        No points if there was no soft body when recording began.
        """
        if "displacements" not in self._reader.columns("frames"):
            return np.zeros((self.num_frames, 0, 3))
        return self._column("displacements").reshape(self.num_frames, -1, 3)

    @property
    def energies(self) -> Energies:
        """Energies of all frames."""
        kinetic, potential = self._column("kinetic_energy"), self._column("potential_energy")
        return Energies(kinetic, potential, kinetic + potential)

    @property
    def solver(self) -> Mapping[str, NDArray[Any]]:
        """The solver's report over time; its keys are those of `StepReport`."""
        names = ("residual", "iterations", "max_penetration", "converged", "dissipation")
        return {**{name: self._column(name) for name in names}, "contacts": self._column("contact_count")}

    @property
    def signals(self) -> Mapping[str, Array]:
        """The user's own signals by name, each (T, ...)."""
        names = self._reader.columns("signals")
        return MappingProxyType({name: self._reader.read("signals", name) for name in names})

    def contacts(self, frame: int) -> FrameContacts:
        """Contacts of a frame with their forces, world axes."""
        i = self.index(frame)
        start, stop = _span(self._contact_ends, i)
        names = ("point", "normal", "gap", "force", "body_a", "body_b", "shape_a", "shape_b")
        columns = [self._reader.read("contacts", name, start, stop) for name in names]
        described = self.description(self._structure_of[i])
        bodies, shapes = body_names(described), shape_names(described)
        body_a, body_b = (self._named(bodies, column, "body") for column in columns[4:6])
        shape_a, shape_b = (self._named(shapes, column, "shape") for column in columns[6:8])
        points, normals, gaps, forces = columns[:4]
        return FrameContacts(points, normals, gaps, forces, body_a, body_b, shape_a, shape_b)

    def external_forces(self, frame: int) -> FrameExternal:
        """Forces that the user applied to bodies during the step that led to a frame."""
        i = self.index(frame)
        start, stop = _span(self._external_ends, i)
        names = body_names(self.description(self._structure_of[i]))
        bodies = self._reader.read("external", "body", start, stop)
        wrenches = self._reader.read("external", "wrench", start, stop)
        return FrameExternal(self._named(names, bodies, "body"), wrenches)

    def _named(self, names: list[str], column: NDArray[Any], what: str) -> list[str]:
        """Names of what a column numbers."""
        for k in column:
            if not 0 <= k < len(names):
                raise RecordingError(
                    f"{self.path}: damaged KIDO recording: it names {what} {int(k)} of {len(names)} described"
                )
        return [names[k] for k in column]

    # Skeletons and structure -----------------------------------------------------------------------------

    @property
    def num_structures(self) -> int:
        """How many structures the world had one after another; 1 if nothing was added, removed or changed."""
        return self._reader.rows("structures")

    def description(self, structure: int = 0) -> dict[str, Any]:
        """The world as plain data (`kido.recording.world_description`), with the text of its model files."""
        if structure not in self._descriptions:
            self._descriptions[int(structure)] = self._blob("structures", int(structure))
        return self._descriptions[int(structure)]

    @cached_property
    def _descriptions(self) -> dict[int, dict[str, Any]]:
        return {}

    @property
    def skeleton_names(self) -> list[str]:
        """Names of all skeletons that were ever in the world."""
        described = [self.description(k)["skeletons"] for k in range(self.num_structures)]
        return list(dict.fromkeys(s["name"] for skeletons in described for s in skeletons))

    @property
    def dof_names(self) -> list[str]:
        """Names "skeleton/dof" of the columns of `positions`, as at the start."""
        return dof_names(self.description(0))

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
                    rows = self._structure_of == structure
                    for part, source in zip(parts, whole, strict=True):
                        part[rows] = source[rows, start : start + len(dofs)]
                start += len(dofs)
        if parts is None:
            raise RecordingError(
                f"{self.path}: no skeleton {name!r}; expected one of: {', '.join(self.skeleton_names)}"
            )
        return SkeletonRecording(name, names, *parts)

    @property
    def events(self) -> list[Event]:
        """What happened, in order; kinds: start, end, skeleton, structure, parameter, solver, user."""
        steps, times = self._reader.read("events", "step"), self._reader.read("events", "time")
        found = []
        for k, (step, time) in enumerate(zip(steps, times, strict=True)):
            blob = self._blob("events", k)
            found.append(Event(int(step), float(time), blob["kind"], blob["text"]))
        return found

    # Worlds ----------------------------------------------------------------------------------------------

    def world(self, structure: int = 0) -> World:
        """The world rebuilt from the file alone, as it was when described; structure 0: at the start."""
        if not 0 <= structure < self.num_structures:
            raise RecordingError(f"{self.path}: no structure {structure}; there are {self.num_structures}")
        return world_from_dict(self.description(structure))

    def resume(self, frame: int = -1, hold_commands: bool = False) -> World:
        """The world exactly as it was at a frame; stepping on gives the same bits as the first run did.

        From the nearest complete state before the frame, the steps up to it are done again with the recorded
        commands and forces, and the result is compared with the record.

        Args:
            frame: its number.
            hold_commands: leave the joint and external forces of the frame's step in place, as for a frame in
                the middle of a `world.step(n)`; by default they are zero, as after it. The last frame's are
                as they were when recording ended.

        Raises:
            RecordingError: the frame cannot be reached exactly, because steps are missing (`every` above 1)
                or something acted that is not recorded. The message names the nearest frames that can.
        """
        return restore(self, self.index(frame), hold_commands)

    def play(self, world: World | None = None, fps: float | None = None) -> Iterator[RecordedFrame]:
        """Set a world to frame after frame, and yield each.

        Args:
            world: with the recording's structure; by default a rebuilt one, which the caller does not see.
            fps: frames per second of simulated time; None: all.
        """
        return replay(self, world, fps)

    def trajectory(self, fps: float | None = 60.0) -> Motion:
        """World transforms of all bodies over time, for playback: `Trajectory.from_transforms(*motion)`."""
        return motion(self, fps)

    def display_world(self) -> World:
        """A world to look at, not to simulate: all skeletons ever recorded, in `trajectory`'s order."""
        return display_world(self)

    def frames_at(self, fps: float | None) -> NDArray[np.int64]:
        """Numbers of the frames that show the motion at a rate; all for None."""
        return frames_at(self.times, fps)

    # Parts that `restore` reads --------------------------------------------------------------------------

    def _blob(self, table: str, row: int) -> Any:
        pools = (("text", "bytes", "text_count"), ("floats", "values", "float_count"))
        pools += (("integers", "values", "integer_count"),)
        parts = []
        for pool, column, counter in pools:
            start, stop = self._pool_spans[table, counter]
            parts.append(self._reader.read(pool, column, int(start[row]), int(stop[row])))
        return decode(Encoded(*parts))

    @cached_property
    def _pool_spans(self) -> dict[tuple[str, str], tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Start and end of each row's share of the pools, which rows of three tables use in order of time."""
        tables = ("events", "structures", "checkpoints")
        serials = [self._reader.read(table, "serial") for table in tables]
        order = np.argsort(np.concatenate(serials), kind="stable")
        splits = np.cumsum([len(serial) for serial in serials])[:-1]
        spans = {}
        for counter in ("text_count", "float_count", "integer_count"):
            counts = np.concatenate([self._reader.read(table, counter) for table in tables])
            ends = np.empty_like(counts)
            ends[order] = np.cumsum(counts[order])
            parts = zip(tables, np.split(ends - counts, splits), np.split(ends, splits), strict=True)
            spans |= {(table, counter): (start, stop) for table, start, stop in parts}
        return spans

    def __repr__(self) -> str:
        state = "" if self.finished else ", not finished"
        return f"Recording('{self.path}', {self.num_frames} frames, {self.duration:g} s{state})"


def _span(ends: NDArray[np.int64], i: int) -> tuple[int, int]:
    return (int(ends[i - 1]) if i else 0), int(ends[i])
