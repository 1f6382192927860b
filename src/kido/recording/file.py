"""A recording's file: its columns frame by frame, its descriptions and complete states as plain data."""

from __future__ import annotations

import os
from functools import cached_property
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from kido.arrays import fixed
from kido.attributes import FixedAttributes
from kido.math.transform import as_flag
from kido.recording import layout
from kido.recording.codec import Encoded, RecordingError, decode
from kido.recording.reader import TableReader
from kido.recording.world_description import body_names, check_names, dof_names, shape_names, world_from_dict
from kido.reprs import brief, in_few_words
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


class RecordingFile(FixedAttributes):
    """What a file holds, as it was written.

    Attributes:
        path, finished, damage, metadata, times, steps: as `Recording` says.
        tables: reads rows of its tables (`kido.recording.layout`).
        structures: (T,) row of `structures` that is valid for each frame.
        contact_ends, external_ends: (T,) where the rows of each frame end in `contacts` and `external`.
    """

    def __init__(self, path: str | os.PathLike[str], partial: bool = False) -> None:
        partial = as_flag(partial, "partial")
        self.tables = reader = TableReader(path, layout.FORMAT, layout.tables(0, {}, 1), partial)
        self.path = reader.path
        self.finished = reader.finished
        try:
            self.metadata = self._checked_metadata()
            self._read_frames(partial)
        except BaseException:
            reader.close()
            raise

    def _checked_metadata(self) -> dict[str, Any]:
        reader = self.tables
        found = {k: v for k, v in reader.attributes.items() if k not in ("format", "tables")}
        version = found.get("format_version")
        if isinstance(version, np.integer) and version != layout.FORMAT_VERSION:
            raise RecordingError(
                f"{self.path}: recording of format {version}, expected {layout.FORMAT_VERSION}; "
                f"it was written by KIDO {in_few_words(found.get('kido_version'))}"
            )
        for name, kind in layout.ATTRIBUTES.items():
            value = found.get(name)
            fits = {
                int: isinstance(value, np.integer),
                float: isinstance(value, np.floating) and np.isfinite(value),
                str: isinstance(value, str),
                np.ndarray: isinstance(value, np.ndarray) and value.shape == (3,) and value.dtype.kind == "f",
            }
            if not fits[kind]:
                raise reader.damaged(f"attribute {name!r} is {in_few_words(value)}")
        return found

    def _read_frames(self, partial: bool) -> None:
        """What is known of all frames: up to the first that cannot be as it says."""
        reader = self.tables
        self._count = total = reader.rows("frames")
        times, steps, structures = (self.column(name) for name in ("time", "step", "structure"))
        counts = {"contacts": self.column("contact_count"), "external": self.column("external_count")}
        rows = {name: reader.rows(name) for name in counts}
        ends = {name: np.cumsum(np.clip(own, 0, rows[name] + 1)) for name, own in counts.items()}
        last = reader.rows("structures") - 1
        good, why = total, ""
        for name, values, fine, expected in (
            ("time", times, np.isfinite(times), "a finite number"),
            ("step", steps, steps >= 0, "a number of steps"),
            ("structure", structures, (structures >= 0) & (structures <= last), f"0 to {last}"),
            *(
                (f"count of {name}", own, (own >= 0) & (ends[name] <= rows[name]), f"at most {rows[name]} in all")
                for name, own in counts.items()
            ),
        ):
            if not fine[:good].all():
                good = int(np.argmin(fine))
                why = f"frame {good}: {name} is {values[good]}, expected {expected}"
        if good < total and not partial:
            raise reader.damaged(f"{why}; {good} of {total} frames are whole")
        self._count = good
        self.times: Array = times[:good]
        self.steps: NDArray[np.int64] = steps[:good]
        self.structures = structures[:good]
        self.contact_ends, self.external_ends = ends["contacts"][:good], ends["external"][:good]
        committed = reader.committed["frames"]
        if good == 0 < committed:
            raise RecordingError(f"{self.path}: damaged KIDO recording: no frame can be read: {why or 'none is there'}")
        lost = [f"{', '.join(reader.lost)} cannot be read"] if reader.lost else []
        if good < committed:
            why = why or "they are not in the file"
            lost.append(f"frames {good} to {committed - 1} of {committed} are left out: {why}")
        self.damage: str | None = "; ".join(lost) or None

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
        return self.tables.read("frames", name, 0, self._count)

    @property
    def positions(self) -> Array:
        """(T, n) positions of all skeletons, one after another [m, rad]; NaN where the world had fewer."""
        return fixed(self.column("positions"))

    @property
    def velocities(self) -> Array:
        """(T, n) velocities [m/s, rad/s]."""
        return fixed(self.column("velocities"))

    @property
    def commands(self) -> Array:
        """(T, n) commands of the actuators during the step that led to each frame (forces for FORCE coordinates)."""
        return fixed(self.column("commands"))

    @property
    def displacements(self) -> Array:
        """(T, n, 3) displacements of points of all soft bodies, one after another, body axes [m]; NaN past the last.

        No points if there was no soft body when recording began.
        """
        if "displacements" not in self.tables.columns("frames"):
            return fixed(np.zeros((self.num_frames, 0, 3)))
        found = self.column("displacements")
        with self.tables.reading("frames/displacements"):
            return fixed(found.reshape(self.num_frames, found.shape[1] // 3, 3))

    def frames_at(self, fps: float | None) -> NDArray[np.int64]:
        """Numbers of the frames that show the motion at a rate: those nearest after an even grid of `fps` per second,
        and the last; all for None."""
        times = self.times
        if fps is None or len(times) < 2:
            return np.arange(len(times))
        if not np.isfinite(fps) or fps <= 0:
            raise RecordingError(f"fps is {fps!r}, expected a number above 0")
        with np.errstate(over="ignore"):
            passed = np.floor((times + 1e-9 - times[0]) * fps)  # the last time of the grid that has come
        new = np.append(True, passed[1:] > np.maximum.accumulate(passed)[:-1])
        new[-1] = True
        return np.flatnonzero(new)

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
                raise self.tables.damaged(f"it names {what} {int(k)} of {len(names)} described")
        return [names[k] for k in column]

    # Structure and states --------------------------------------------------------------------------------

    @property
    def num_structures(self) -> int:
        """How many structures the world had one after another; 1 if nothing was added, removed or changed."""
        return self.tables.rows("structures")

    def description(self, structure: int = 0) -> dict[str, Any]:
        """The world as plain data (`kido.recording.world_description`), with the text of its model files."""
        structure = int(structure)
        if structure not in self._descriptions:
            found = self.blob("structures", structure)
            with self.tables.reading(f"description {structure} of the world"):
                check_names(found)
                dofs = len(dof_names(found))
                known = "frames/positions" not in self.tables.lost
                width = self.tables.width("frames", "positions") if known else dofs
                if dofs > width:
                    raise RecordingError(f"{dofs} degrees of freedom are described; frames have {width}")
            self._descriptions[structure] = found
        return self._descriptions[structure]

    @cached_property
    def _descriptions(self) -> dict[int, dict[str, Any]]:
        return {}

    def world(self, structure: int = 0, users: bool = True) -> World:
        """The world rebuilt from the file alone, as it was when described; structure 0: at the start.

        Args:
            structure: its number.
            users: with the nodes and aspects of users' classes; False: without them.

        Raises:
            RecordingError: there is no such structure, or it is damaged, or something of a user's class cannot be
                restored: the message names it.
        """
        if not 0 <= structure < self.num_structures:
            raise RecordingError(f"{self.path}: no structure {structure}; there are {self.num_structures}")
        data = self.description(structure)
        with self.tables.reading(f"description {structure} of the world"):
            return world_from_dict(data, users)

    def blob(self, table: str, row: int) -> Any:
        """The plain data that a row of `events`, `structures` or `checkpoints` holds."""
        parts = []
        for pool, column, counter in _POOLS:
            counts, starts = self._pool_spans[table, counter]
            start, stop = int(starts[row]), int(starts[row]) + int(counts[row])
            if not 0 <= start <= stop <= self.tables.rows(pool):
                raise self.tables.damaged(
                    f"{table}[{row}] has numbers {start} to {stop} of {pool}, which has {self.tables.rows(pool)}"
                )
            parts.append(self.tables.read(pool, column, start, stop))
        with self.tables.reading(f"{table}[{row}]"):
            return decode(Encoded(*parts))

    @cached_property
    def _pool_spans(self) -> dict[tuple[str, str], tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Number and start of each row's share of the pools, which rows of three tables use in order of time."""
        tables = ("events", "structures", "checkpoints")
        serials = [self.tables.read(table, "serial") for table in tables]
        order = np.argsort(np.concatenate(serials), kind="stable")
        splits = np.cumsum([len(serial) for serial in serials])[:-1]
        spans = {}
        for pool, _, counter in _POOLS:
            counts = np.concatenate([self.tables.read(table, counter) for table in tables])
            most = self.tables.committed[pool] + 1
            starts = np.empty_like(counts)
            ends = np.cumsum(np.clip(counts[order], 0, most))
            starts[order] = np.append(0, ends)[:-1]
            parts = zip(tables, np.split(counts, splits), np.split(starts, splits), strict=True)
            spans |= {(table, counter): (count, start) for table, count, start in parts}
        return spans


_POOLS = (("text", "bytes", "text_count"), ("floats", "values", "float_count"), ("integers", "values", "integer_count"))


def _span(ends: NDArray[np.int64], i: int) -> tuple[int, int]:
    return (int(ends[i - 1]) if i else 0), int(ends[i])
