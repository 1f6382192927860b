"""Reads tables that `TableWriter` wrote, from files that nothing is taken on trust of.

A data set is read only if it is a plain one: reached by hard links, of the numbers and row shape that are expected,
without filters, stored in the file itself and no larger than the file has room for. Memory is bounded by the file's
size.
"""

from __future__ import annotations

import io
import itertools
import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from kido.errors import KidoError
from kido.jit.kept import COUNT, checked_array
from kido.recording.codec import RecordingError
from kido.recording.tables import Column, Table, reason_of

_TRUNCATED = re.compile(r"truncated file: .*stored_eof = (\d+)")
_KINDS = {"i": "iu", "u": "iu", "f": "f"}  # of numbers that stand for those of a column
_MOST_ATTRIBUTES, _LARGEST_ATTRIBUTE = 100, 2**16
_UNWRITTEN = 2**26  # [bytes] that a writer on a full disk may have had in memory
_SPARSE = 256  # most numbers of a column whose rows have grown, for each that is stored
_SMALL = 2**20  # [bytes] that any column may take


class TableReader:
    """Reads the committed rows of a file written by `TableWriter`, finished or not.

    Args:
        path: of the file.
        format_name: its format.
        tables: what is known of them: kind and shape of their columns.
        partial: of a damaged file, read the rows that are there in all columns of their table.

    Attributes:
        path: the file.
        finished: False: still being written, or its writer died.
        attributes: texts and numbers kept at the root of the file.
        committed: rows by table, as the writer said; see `rows`.

    Raises:
        RecordingError: no such file, not HDF5, cut off, damaged, or not of the given format.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        format_name: str,
        tables: tuple[Table, ...] = (),
        partial: bool = False,
    ) -> None:
        if not isinstance(path, str | os.PathLike):
            raise RecordingError(f"path is {path!r}, expected the name of a recording")
        self.path = Path(path)
        if not self.path.exists():
            raise RecordingError(f"{self.path}: no such file")
        if not self.path.is_file():
            raise RecordingError(f"{self.path}: not a file")
        self.finished = True
        self.partial = partial
        self._names = [table.name for table in tables]
        self._known = {(table.name, column.name): column for table in tables for column in table.columns}
        self._sets: dict[tuple[str, str], Any] = {}
        self._lost: dict[tuple[str, str], RecordingError] = {}
        self._file: Any = self._opened()
        try:
            with self.reading("its attributes"):
                self.attributes = self._read_attributes()
            if not isinstance(found := self.attributes.get("format"), str) or found != format_name:
                raise RecordingError(f"{self.path}: not a KIDO recording: an HDF5 file of another kind")
            with self.reading("the table of contents"):
                self._rows = self._read_contents()
            for table in self._rows:
                self._rows[table] = self._count(table)
        except RecordingError:
            self._file.close()
            raise

    def _opened(self) -> Any:
        import h5py

        try:
            return h5py.File(self.path, "r")
        except PermissionError:
            raise RecordingError(f"{self.path}: cannot be read: permission denied") from None
        except Exception as first:
            end = _TRUNCATED.search(str(first))
            if end is None and "already open for write" not in str(first):
                raise RecordingError(f"{self.path}: not a KIDO recording: {reason_of(first)}") from None
            self.finished = False
            try:
                if end is None:
                    return h5py.File(self.path, "r", swmr=True)
                return h5py.File(_Padded(self.path, int(end[1])), "r")
            except Exception:
                raise RecordingError(f"{self.path}: not a KIDO recording: {reason_of(first)}") from None

    def damaged(self, what: str) -> RecordingError:
        """The error that says what is damaged, and how to read the rest."""
        hint = "" if self.partial else "; what can still be read: kido.Recording.open(path, partial=True)"
        return RecordingError(f"{self.path}: damaged KIDO recording: {what}{hint}")

    @contextmanager
    def reading(self, what: str) -> Iterator[None]:
        """Whatever goes wrong meanwhile is a damage of something."""
        try:
            yield
        except RecordingError as error:
            if str(error).startswith(str(self.path)):
                raise
            raise RecordingError(f"{self.path}: {error}") from error
        except KidoError as error:
            raise self.damaged(str(error)) from error
        except Exception as error:
            raise self.damaged(f"{what} cannot be read: {reason_of(error):.300}") from error

    def _read_attributes(self) -> dict[str, Any]:
        found, attributes = {}, self._file.attrs
        if len(attributes) > _MOST_ATTRIBUTES:
            raise self.damaged(f"it has {len(attributes)} attributes")
        for name in attributes:
            attribute = attributes.get_id(name)
            if attribute.shape is not None and attribute.get_storage_size() > _LARGEST_ATTRIBUTE:
                raise self.damaged(f"attribute {name!r:.60} is too large")
            value = found[name] = attributes[name]
            if not isinstance(value, str | np.generic | np.ndarray):
                raise self.damaged(f"attribute {name!r:.60} is a {type(value).__name__}, expected texts or numbers")
        return found

    def _read_contents(self) -> dict[str, int]:
        """Committed rows by table."""
        given = self.attributes.get("tables")
        names = [str(name) for name in given] if isinstance(given, np.ndarray) and given.ndim == 1 else []
        missing = [name for name in self._names if name not in names]
        if not names or len(set(names)) < len(names) or missing:
            lacks = f", and no {missing[0]}" if missing else ""
            raise self.damaged(f"it has tables {', '.join(names)[:200] or 'none'}{lacks}")
        size = len(names) + 1
        data = self._plain("committed", "i", (), size)
        committed = checked_array(data[: size + 1], "i", (size,), COUNT, "committed")
        *rows, size = committed.tolist()
        if not self.finished and not self.partial and self.path.stat().st_size < size:
            raise self.damaged("the file is cut off")
        self.committed = dict(zip(names, rows, strict=True))
        return dict(self.committed)

    def _count(self, table: str) -> int:
        """Rows of a table that all its columns have."""
        rows, columns = self._rows[table], self.columns(table)
        if not self.partial:
            for column in columns:
                if (there := len(self._column(table, column))) < rows:
                    raise self.damaged(f"{table}/{column} has {there} of {rows} rows")
            return rows
        least = rows if columns else 0
        for column in columns:
            try:
                data = self._column(table, column)
                there = self._readable(data, min(rows, len(data)), table, column)
                if there == 0 < rows:
                    raise self.damaged(f"{table}/{column} cannot be found in the file")
                least = min(least, there)
            except RecordingError as error:
                self._lost[table, column] = error  # whoever reads it learns why not
        return least

    @property
    def lost(self) -> list[str]:
        """Columns of a damaged file that cannot be read at all."""
        return [f"{table}/{column}" for table, column in self._lost]

    def rows(self, table: str) -> int:
        """How many complete rows a table has."""
        return self._rows[table]

    def width(self, table: str, column: str) -> int:
        """Numbers in a row of a column."""
        return int(np.prod(self._column(table, column).shape[1:], dtype=np.int64))

    def columns(self, table: str) -> list[str]:
        """Names of a table's columns.

        Raises:
            RecordingError: it is no group of the file; of a damaged file that is read in part there are none.
        """
        from h5py import Group

        try:
            with self.reading(f"table {table}"):
                self._check_link(table)
                group = self._file[table]
                if not isinstance(group, Group):
                    raise self.damaged(f"{table} is no table")
                return [str(name) for name in group]
        except RecordingError:
            if not self.partial:
                raise
            return []

    def read(self, table: str, column: str, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Rows start..stop of a column as an array (rows, ...).

        Raises:
            RecordingError: there is no such column, or it is damaged.
        """
        total = self._rows[table]
        stop = total if stop is None else min(stop, total)
        data = self._column(table, column)
        with self.reading(f"{table}/{column}"):
            found = data[start:stop]
        known = self._known.get((table, column))
        return found.astype(found.dtype.newbyteorder("=") if known is None else known.dtype, copy=False)

    def _column(self, table: str, column: str) -> Any:
        """The data set of a column, which has been looked at."""
        key = table, column
        if key in self._lost:
            raise self._lost[key]
        if key not in self._sets:
            known = self._known.get(key, Column(column, ""))
            shape: Any = None if not known.dtype else (None,) if known.grows else known.shape
            with self.reading(f"{table}/{column}"):
                self._check_link(table)
                self._sets[key] = self._plain(f"{table}/{column}", known.dtype[:1], shape, self._rows[table])
        return self._sets[key]

    def _check_link(self, name: str) -> None:
        import h5py

        low: Any = h5py  # its own low level, which has no types
        if self._file.id.links.get_info(name.encode()).type != low.h5l.TYPE_HARD:
            raise self.damaged(f"{name} is a link to elsewhere")

    def _plain(self, name: str, kind: str, shape: Any, rows: int) -> Any:
        """A data set, if it holds numbers in the file itself and needs no more memory than the file has.

        Args:
            kind: of its numbers; "": any.
            shape: of a row, None for any size; None: any shape.
            rows: that are to be read.
        """
        import h5py

        low: Any = h5py
        self._check_link(name)
        data = self._file[name]
        if not isinstance(data, h5py.Dataset) or data.shape is None or data.ndim == 0:
            raise self.damaged(f"{name} is no column of numbers")
        if data.dtype.kind not in _KINDS.get(kind, "iuf") or data.dtype.itemsize > 8:
            raise self.damaged(f"{name} holds {data.dtype!s:.60}, expected {'whole ' if kind in 'iu' else ''}numbers")
        own = data.shape[1:]
        if shape is not None and (
            len(own) != len(shape) or any(n not in (None, m) for n, m in zip(shape, own, strict=True))
        ):
            raise self.damaged(f"{name} has rows of shape {own}, expected {shape}")
        made = data.id.get_create_plist()
        if made.get_layout() == low.h5d.VIRTUAL or made.get_external_count() or made.get_nfilters():
            raise self.damaged(
                f"{name} is compressed, or lies in another file, which KIDO writes none; h5repack may undo that"
            )
        size = self.path.stat().st_size
        needed = min(rows, len(data)) * math.prod(own) * data.dtype.itemsize
        try:
            stored = data.id.get_storage_size()
            room = stored if shape != (None,) else _SPARSE * stored + _SMALL
        except RuntimeError:  # what says where its rows are is lost, at least in part
            stored = room = 0
        if self.partial:
            room = _SPARSE * size + _SMALL
        if stored > size + _UNWRITTEN or needed > room:
            raise self.damaged(f"{name} says that it holds {needed} bytes; the file has {min(stored, size)} for it")
        return data

    def _readable(self, data: Any, rows: int, table: str, column: str) -> int:
        """How many first rows of a data set lie in the file."""
        size = self.path.stat().st_size
        known = self._known.get((table, column))
        grows = known is not None and known.grows
        start = 0
        try:
            if data.chunks is None:
                there = max(0, size - (data.id.get_offset() or size))
                return min(rows, there // max(1, data.id.get_storage_size() // max(1, len(data))))
            steps = [range(0, n, c) for n, c in zip(data.shape[1:], data.chunks[1:], strict=True)]
            for start in range(0, rows, data.chunks[0]):
                for place in itertools.product([start], *steps):
                    chunk = data.id.get_chunk_info_by_coord(place)
                    absent = chunk.byte_offset is None
                    if (absent and not (grows and any(place[1:]))) or (
                        not absent and chunk.byte_offset + chunk.size > size
                    ):
                        return start
            return rows
        except Exception:
            return start

    def close(self) -> None:
        """Close the file."""
        if self._file.id.valid:
            self._file.close()


class _Padded(io.FileIO):
    """A file read as if zeros followed its end: on a full disk HDF5 closes files whose last blocks were not written."""

    def __init__(self, path: Path, size: int):
        super().__init__(path, "r")
        self._size, self._at = size, 0

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        wanted = memoryview(buffer).cast("B")
        super().seek(self._at)
        there = max(super().readinto(wanted) or 0, 0)
        wanted[there:] = bytes(len(wanted) - there)
        self._at += len(wanted)
        return len(wanted)
