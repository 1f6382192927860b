"""What a study has found so far, in a file that a kill leaves readable: one line for each batch."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kido.errors import ModelError

Record = dict[str, Any]


class Journal:
    """Lines of JSON: what the study is, then its batches. A last line that is cut off counts as none.

    Args:
        path: the file; made if it is not there.
        identity: what the study is, by name.

    Raises:
        ModelError: the file is of another study; the message names what differs.
    """

    def __init__(self, path: Path, identity: Record):
        self.path, self._records = path, list[Record]()
        whole = 0
        if path.exists():
            data = path.read_bytes()
            whole = data.rfind(b"\n") + 1
            lines = data[:whole].splitlines()
            if lines:
                try:
                    known, *self._records = map(json.loads, lines)
                except ValueError:
                    raise ModelError(f"{path}: expected the journal of a study; move the file away") from None
                differing = [key for key in identity if known.get(key) != identity[key]]
                if differing:
                    key = differing[0]
                    raise ModelError(
                        f"{path}: is of another study: its {key} is {known.get(key)!r:.150}, expected "
                        f"{identity[key]!r:.150}; choose another file"
                    )
        self._file = open(path, "ab")  # noqa: SIM115  (closed by `close`)
        self._file.truncate(whole)
        if not whole:
            self.add(identity)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def add(self, record: Record) -> None:
        """Write a line, to the disk."""
        self._file.write(json.dumps(record).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()
