"""Files that are written: what the operating system says against it, with the file's name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kido.errors import FileFormatError


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """The path, within a block that writes there.

    Raises:
        FileFormatError: it cannot be written.
    """
    made = Path(path)
    try:
        yield made
    except OSError as error:
        raise FileFormatError(made, None, f"cannot be written: {error!s:.200}") from error
