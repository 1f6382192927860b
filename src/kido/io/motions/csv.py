"""Motions as tables of numbers separated by commas: ``time`` [s] and a column for each coordinate [m, rad]."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from kido.attributes import named_arguments
from kido.io.fields import located
from kido.io.text import Place, finite_number, read_text
from kido.io.xml import number
from kido.motions import Motion
from kido.skeleton import Skeleton

__all__ = ["read", "write"]

TIME = "time"
UNEVEN = 1e-3  # of an interval, by which times may be off


@named_arguments
def read(path: str | Path, *, skeleton: Skeleton | None = None, frame_rate: float | None = None) -> Motion:
    """Read a table: a line of names, then a line for each frame.

    Args:
        path: the file.
        skeleton: whose motion it is (see `Motion.on`); None: of numbers by name.
        frame_rate: frames per second; None for what the column ``time`` says, which must be even.

    Raises:
        FileFormatError: path, line and reason.
    """
    label = str(path)
    rows: list[list[str]] = []
    lines: list[int] = []
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    try:
        for row in reader:
            if row:
                rows.append([cell.strip() for cell in row])
                lines.append(reader.line_num)
    except csv.Error as error:
        raise Place(label, reader.line_num, "the table").error(str(error)) from None
    if len(rows) < 2:
        raise Place(label, 1, "the table").error("expected a line of names and at least one frame")
    names, values = rows[0], np.zeros((len(rows) - 1, len(rows[0])))
    for k, (row, line) in enumerate(zip(rows[1:], lines[1:], strict=True)):
        place = Place(label, line, f"frame {k}")
        if len(row) != len(names):
            raise place.error(f"frame {k} has {len(row)} numbers; expected {len(names)}, one for each name")
        values[k] = [finite_number(cell, f"'{name}'", place.error) for cell, name in zip(row, names, strict=True)]
    place, start = Place(label, lines[0], "the table"), 0.0
    if TIME in names:
        column = names.index(TIME)
        times, values = values[:, column], np.delete(values, column, axis=1)
        names = names[:column] + names[column + 1 :]
        start = float(times[0])
        frame_rate = _rate(times, lines[1:], label) if frame_rate is None else frame_rate
    if frame_rate is None:
        raise place.error(f"no column '{TIME}': frame_rate= is needed")
    with located(place):
        motion = Motion(names, values, frame_rate, start=start)
        return motion if skeleton is None else motion.on(skeleton)


def _rate(times: np.ndarray, lines: list[int], label: str) -> float:
    if len(times) < 2:
        return 1.0
    with np.errstate(all="ignore"):
        step = float(times[-1] - times[0]) / (len(times) - 1)
        off = np.abs(np.diff(times) - step)
    if not 0.0 < step < np.inf or not (off <= UNEVEN * step).all():
        k = int(np.argmax(~(off <= UNEVEN * step))) + 1
        expected = f"expected even intervals, here of {step:g} s (or give frame_rate=)"
        raise Place(label, lines[k], "").error(f"time goes from {times[k - 1]:g} to {times[k]:g} s; {expected}")
    return float(f"{1.0 / step:.9g}")


def write(motion: Motion, store: Any, unsupported: Any) -> str:
    """A motion as a table, with all digits."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([TIME, *motion.names])
    for time, row in zip(motion.times, motion.positions, strict=True):
        writer.writerow([number(time), *(number(value) for value in row)])
    return out.getvalue()
