"""A recording's file: its columns frame by frame, its descriptions and complete states as plain data."""

from __future__ import annotations

import os
from functools import cached_property
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from kido.recording import layout
from kido.recording.codec import Encoded, RecordingError, decode
from kido.recording.tables import TableReader
from kido.recording.world_description import body_names, shape_names, world_from_dict
from kido.reprs import brief
from kido.simulation import World

Array = NDArray[np.float64]


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

    __repr__ = brief


class FrameExternal(NamedTuple):
    """External forces of one frame: body names and [torque; force] about their origins, world axes (n, 6)."""

    bodies: list[str]
    wrenches: Array

    __repr__ = brief


class RecordingFile:
    """What a file holds, as it was written.

    Attributes:
        path, finished, metadata, times, steps: as `Recording` says.
        tables: reads rows of its tables (`kido.recording.layout`).
        structures: (T,) row of `structures` that is valid for each frame.
        contact_ends, external_ends: (T,) where the rows of each frame end in `contacts` and `external`.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.tables = reader = TableReader(path, layout.FORMAT)
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
        self.times: Array = self.column("time")
        self.steps: NDArray[np.int64] = self.column("step")
        self.structures = self.column("structure")
        self.contact_ends = np.cumsum(self.column("contact_count"))
        self.external_ends = np.cumsum(self.column("external_count"))

    def close(self) -> None:
        """Close the file."""
        self.tables.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

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

    def column(self, name: str) -> Any:
        """A column (T, ...) of the table `frames`."""
        return self.tables.read("frames", name)

    @property
    def positions(self) -> Array:
        """(T, n) positions of all skeletons, one after another [m, rad]; NaN where the world had fewer."""
        return self.column("positions")

    @property
    def velocities(self) -> Array:
        """(T, n) velocities [m/s, rad/s]."""
        return self.column("velocities")

    @property
    def commands(self) -> Array:
        """(T, n) commands of the actuators during the step that led to each frame (forces for FORCE coordinates)."""
        return self.column("commands")

    @property
    def displacements(self) -> Array:
        """(T, n, 3) displacements of points of all soft bodies, one after another, body axes [m]; NaN past the last.

        No points if there was no soft body when recording began.
        """
        if "displacements" not in self.tables.columns("frames"):
            return np.zeros((self.num_frames, 0, 3))
        return self.column("displacements").reshape(self.num_frames, -1, 3)

    def frames_at(self, fps: float | None) -> NDArray[np.int64]:
        """Numbers of the frames that show the motion at a rate: those nearest after an even grid of `fps` per second,
        and the last; all for None."""
        times = self.times
        if fps is None or len(times) < 2:
            return np.arange(len(times))
        if not np.isfinite(fps) or fps <= 0:
            raise RecordingError(f"fps is {fps!r}, expected a number above 0")
        grid = np.arange(times[0], times[-1] + 1e-9, 1.0 / fps)
        index = np.searchsorted(times, grid - 1e-9)
        return np.unique(np.minimum(np.append(index, len(times) - 1), len(times) - 1))

    def contacts(self, frame: int) -> FrameContacts:
        """Contacts of a frame with their forces, world axes."""
        i = self.index(frame)
        start, stop = _span(self.contact_ends, i)
        names = ("point", "normal", "gap", "force", "body_a", "body_b", "shape_a", "shape_b")
        columns = [self.tables.read("contacts", name, start, stop) for name in names]
        described = self.description(self.structures[i])
        bodies, shapes = body_names(described), shape_names(described)
        body_a, body_b = (self._named(bodies, column, "body") for column in columns[4:6])
        shape_a, shape_b = (self._named(shapes, column, "shape") for column in columns[6:8])
        points, normals, gaps, forces = columns[:4]
        return FrameContacts(points, normals, gaps, forces, body_a, body_b, shape_a, shape_b)

    def external_forces(self, frame: int) -> FrameExternal:
        """Forces that the user applied to bodies during the step that led to a frame."""
        i = self.index(frame)
        start, stop = _span(self.external_ends, i)
        names = body_names(self.description(self.structures[i]))
        bodies = self.tables.read("external", "body", start, stop)
        wrenches = self.tables.read("external", "wrench", start, stop)
        return FrameExternal(self._named(names, bodies, "body"), wrenches)

    def _named(self, names: list[str], column: NDArray[Any], what: str) -> list[str]:
        """Names of what a column numbers."""
        for k in column:
            if not 0 <= k < len(names):
                raise RecordingError(
                    f"{self.path}: damaged KIDO recording: it names {what} {int(k)} of {len(names)} described"
                )
        return [names[k] for k in column]

    # Structure and states --------------------------------------------------------------------------------

    @property
    def num_structures(self) -> int:
        """How many structures the world had one after another; 1 if nothing was added, removed or changed."""
        return self.tables.rows("structures")

    def description(self, structure: int = 0) -> dict[str, Any]:
        """The world as plain data (`kido.recording.world_description`), with the text of its model files."""
        if structure not in self._descriptions:
            self._descriptions[int(structure)] = self.blob("structures", int(structure))
        return self._descriptions[int(structure)]

    @cached_property
    def _descriptions(self) -> dict[int, dict[str, Any]]:
        return {}

    def world(self, structure: int = 0) -> World:
        """The world rebuilt from the file alone, as it was when described; structure 0: at the start."""
        if not 0 <= structure < self.num_structures:
            raise RecordingError(f"{self.path}: no structure {structure}; there are {self.num_structures}")
        return world_from_dict(self.description(structure))

    def blob(self, table: str, row: int) -> Any:
        """The plain data that a row of `events`, `structures` or `checkpoints` holds."""
        pools = (("text", "bytes", "text_count"), ("floats", "values", "float_count"))
        pools += (("integers", "values", "integer_count"),)
        parts = []
        for pool, column, counter in pools:
            start, stop = self._pool_spans[table, counter]
            parts.append(self.tables.read(pool, column, int(start[row]), int(stop[row])))
        return decode(Encoded(*parts))

    @cached_property
    def _pool_spans(self) -> dict[tuple[str, str], tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Start and end of each row's share of the pools, which rows of three tables use in order of time."""
        tables = ("events", "structures", "checkpoints")
        serials = [self.tables.read(table, "serial") for table in tables]
        order = np.argsort(np.concatenate(serials), kind="stable")
        splits = np.cumsum([len(serial) for serial in serials])[:-1]
        spans = {}
        for counter in ("text_count", "float_count", "integer_count"):
            counts = np.concatenate([self.tables.read(table, counter) for table in tables])
            ends = np.empty_like(counts)
            ends[order] = np.cumsum(counts[order])
            parts = zip(tables, np.split(ends - counts, splits), np.split(ends, splits), strict=True)
            spans |= {(table, counter): (start, stop) for table, start, stop in parts}
        return spans


def _span(ends: NDArray[np.int64], i: int) -> tuple[int, int]:
    return (int(ends[i - 1]) if i else 0), int(ends[i])
