"""Append-only tables in an HDF5 file that stays readable when its writer dies.

A file holds tables; a table holds columns of equal length. All data sets are created first, then the file
goes into HDF5's single-writer-multiple-reader mode, in which what is on disk is consistent at every moment.
The data set `committed` counts, per table, the rows that were written completely, and ends with the size of
the file in bytes; it is written last in every flush, so a reader (also one that reads while the simulation
runs) sees whole frames only.
"""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kido.recording.codec import RecordingError

_CHUNK_BYTES = 32 * 1024
_PENDING_ROWS = 4096


class Column(NamedTuple):
    """One data set: rows of `shape`. `grows`: a 1-D row whose length may change; shorter rows end in NaN."""

    name: str
    dtype: str
    shape: tuple[int, ...] = ()
    grows: bool = False
    unit: str = ""
    doc: str = ""


class Table(NamedTuple):
    """Columns of equal length. `blocks`: rows are added many at a time, as arrays; else one row at a time."""

    name: str
    columns: tuple[Column, ...]
    blocks: bool = False


class TableWriter:
    """Buffers rows in memory and writes them to a new HDF5 file every `flush_interval` seconds.

    Args:
        path: file to create.
        tables: what to create; an empty table costs a few hundred bytes.
        attributes: strings and numbers kept at the root of the file.
        flush_interval: seconds between flushes [s]; at most so much is lost in a crash.
        overwrite: replace an existing regular file.

    Raises:
        RecordingError: the path cannot be written, or exists and `overwrite` is false.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        tables: tuple[Table, ...],
        attributes: dict[str, Any],
        flush_interval: float = 1.0,
        overwrite: bool = False,
    ) -> None:
        import h5py

        self.path = Path(path)
        self._absolute = self.path.absolute()
        self.tables = tables
        self.flush_interval = flush_interval
        check_writable(self.path, overwrite)
        try:
            self._file = h5py.File(self.path, "w" if overwrite else "x", libver=("v110", "v110"))
        except OSError as error:
            raise RecordingError(f"{self.path}: cannot be written: {reason_of(error)}") from None
        self._sets: dict[str, list[Any]] = {}
        try:
            self._create_all(attributes)
        except (OSError, RuntimeError) as error:
            raise RecordingError(f"{self.path}: cannot be written: {reason_of(error)}") from None
        # Rows on disk per table, and blocks in memory: one attribute, so that an interrupt finds either the
        # state before a flush or the state after it.
        self._state: tuple[dict[str, int], list[tuple[tuple[str, tuple[Any, ...]], ...]]] = (
            {table.name: 0 for table in tables},
            [],
        )
        self._flushed_at = time.perf_counter()

    def _create_all(self, attributes: dict[str, Any]) -> None:
        for key, value in attributes.items():
            self._file.attrs[key] = value
        for table in self.tables:
            self._file.create_group(table.name)
            self._sets[table.name] = [self._create(table.name, column) for column in table.columns]
        self._file.attrs["tables"] = [table.name for table in self.tables]
        size = len(self.tables) + 1
        self._committed = self._file.create_dataset(
            "committed", data=np.zeros(size, np.int64), chunks=(size,), maxshape=(size,)
        )
        self._file.flush()
        self._file.swmr_mode = True

    def _create(self, group: str, column: Column) -> Any:
        row = column.shape
        bytes_per_row = max(1, int(np.prod(row, dtype=np.int64))) * np.dtype(column.dtype).itemsize
        chunk = (max(16, _CHUNK_BYTES // bytes_per_row), *(max(1, n) for n in row))
        limit = (None,) * (1 + len(row)) if column.grows else (None, *row)
        made = self._file.create_dataset(
            f"{group}/{column.name}",
            shape=(0, *row),
            maxshape=limit,
            chunks=chunk,
            dtype=column.dtype,
            fillvalue=np.nan if column.grows else None,
        )
        if column.unit:
            made.attrs["unit"] = column.unit
        if column.doc:
            made.attrs["description"] = column.doc
        return made

    @property
    def closed(self) -> bool:
        return not self._file.id.valid

    def add(self, *blocks: tuple[str, tuple[Any, ...]]) -> None:
        """Add (table name, values in column order) blocks; either all or none of them reach the file."""
        pending = self._state[1]
        pending.append(blocks)
        if len(pending) >= _PENDING_ROWS or time.perf_counter() - self._flushed_at >= self.flush_interval:
            self.flush()

    def rows(self, table: str) -> int:
        """Rows of a table of single rows, written or still in memory."""
        rows, pending = self._state
        return rows[table] + sum(name == table for blocks in pending for name, _ in blocks)

    def last(self, table: str, column: str) -> Any:
        """Value of a column in the last row of a table of single rows; None if it has no row."""
        rows, pending = self._state
        columns = next(t.columns for t in self.tables if t.name == table)
        index = [c.name for c in columns].index(column)
        for blocks in reversed(pending):
            for name, values in blocks:
                if name == table:
                    return values[index]
        return self._sets[table][index][rows[table] - 1] if rows[table] else None

    def flush(self) -> None:
        """Write everything buffered; afterwards it survives the death of the process."""
        rows, pending = self._state
        self._flushed_at = time.perf_counter()
        if not pending:
            return
        gathered: dict[str, list[tuple[Any, ...]]] = {}
        for blocks in pending:
            for name, values in blocks:
                gathered.setdefault(name, []).append(values)
        after = dict(rows)
        try:
            touched = []
            for table in self.tables:
                parts = gathered.get(table.name)
                if parts is None:
                    continue
                for index, column in enumerate(table.columns):
                    data = _join([values[index] for values in parts], column, table.blocks)
                    after[table.name] = rows[table.name] + len(data)
                    if len(data):
                        _write(self._sets[table.name][index], rows[table.name], data)
                        touched.append(self._sets[table.name][index])
            for data_set in touched:
                data_set.flush()
            size = self._absolute.stat().st_size
            self._committed[:] = [*(after[table.name] for table in self.tables), size]
            self._committed.flush()
        except (OSError, RuntimeError) as error:
            raise RecordingError(f"{self.path}: writing failed: {reason_of(error)}") from None
        self._state = (after, [])

    def close(self) -> None:
        """Flush and close; may be called again."""
        if self.closed:
            return
        try:
            self.flush()
        finally:
            try:
                self._file.close()
            except (OSError, RuntimeError) as error:
                raise RecordingError(f"{self.path}: closing failed: {reason_of(error)}") from None


def check_writable(path: str | os.PathLike[str], overwrite: bool) -> None:
    """Refuse, before anything is created, a path where a recording cannot go."""
    path = Path(path)
    if path.is_dir():
        raise RecordingError(f"{path}: is a directory, expected the name of a file to write")
    parent = path.parent
    if not parent.is_dir():
        raise RecordingError(f"{path}: cannot be written: directory {parent} does not exist")
    if path.exists():
        if not overwrite:
            raise RecordingError(f"{path}: exists already; choose another name, or replace it with overwrite=True")
        if not path.is_file():
            raise RecordingError(f"{path}: cannot be written: not a regular file")
        if not os.access(path, os.W_OK):
            raise RecordingError(f"{path}: cannot be written: permission denied")
    elif not os.access(parent, os.W_OK | os.X_OK):
        raise RecordingError(f"{path}: cannot be written: permission denied")


def _join(parts: list[Any], column: Column, blocks: bool) -> np.ndarray:
    if blocks:
        return np.concatenate(parts).astype(column.dtype, copy=False)
    if not column.grows:
        return np.array(parts, dtype=column.dtype).reshape(len(parts), *column.shape)
    width = max(len(part) for part in parts)
    if all(len(part) == width for part in parts):
        return np.array(parts, dtype=column.dtype).reshape(len(parts), width)
    padded = np.full((len(parts), width), np.nan, dtype=column.dtype)
    for index, part in enumerate(parts):
        padded[index, : len(part)] = part
    return padded


def _write(data_set: Any, start: int, data: np.ndarray) -> None:
    width = data_set.shape[1:]
    if data.ndim == 2 and width != data.shape[1:]:
        if width[0] < data.shape[1]:
            data_set.resize(data.shape[1], axis=1)
        else:
            data = np.pad(data, ((0, 0), (0, width[0] - data.shape[1])), constant_values=np.nan)
    data_set.resize(start + len(data), axis=0)
    data_set[start:] = data


def reason_of(error: BaseException) -> str:
    """The system's reason for an HDF5 error, without HDF5's own stack of words."""
    text = str(error.args[0]) if error.args else type(error).__name__
    number = getattr(error, "errno", None)
    if "already open" in text or number in (errno.EAGAIN, errno.EWOULDBLOCK):
        return "it is open elsewhere, for reading or writing"
    if number:
        return os.strerror(number).lower()
    if "file signature not found" in text:
        return "file signature not found"
    if "truncated file" in text:
        return "the file is cut off"
    return text
