"""C3D files: markers seen by cameras. The library c3d (MIT) reads and writes them (extra `c3d`)."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from kido.attributes import named_arguments
from kido.errors import FileFormatError, KidoError
from kido.io.bones import up
from kido.io.fields import located
from kido.io.text import Place, read_bytes
from kido.libraries import library
from kido.motions import MarkerMotion

__all__ = ["read", "write"]

UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001}
MOST_BYTES = 512 * 2**20


@named_arguments
def read(path: str | Path, *, up_axis: str = "z") -> MarkerMotion:
    """Read the markers of a C3D file.

    Args:
        path: the file.
        up_axis: which axis of the file is up: "z", or "y" to turn it into Z.

    Raises:
        FileFormatError: the file is none, or is damaged.
        MissingExtraError: the library c3d is not installed.
        KidoError: an axis that does not exist.
    """
    turn = up(up_axis)[:3, :3]
    c3d = library("c3d", "reading C3D files", "c3d")
    data = read_bytes(path, MOST_BYTES)
    place = Place(str(path), 1, "the markers")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the library; what is missing is told below
            names, points, rate, unit, start = _contents(c3d, data)
    except KidoError:
        raise
    except Exception as error:  # the library does not say what it raises
        raise FileFormatError(path, None, f"is no C3D file, or is damaged: {type(error).__name__}: {error}") from None
    if unit not in UNITS:
        raise FileFormatError(path, None, f"the unit of lengths is '{unit[:20]}'; expected one of {', '.join(UNITS)}")
    places = np.where(points[..., 3:4] < 0.0, np.nan, points[..., :3].astype(float)) * UNITS[unit]
    with located(place):
        return MarkerMotion(names, places @ turn.T, rate, start=start)


def _contents(c3d: Any, data: bytes) -> tuple[list[str], np.ndarray, float, str, float]:
    """Names, points (T, n, 4) with a negative number where they are not seen, frame rate, unit, first time."""
    reader = c3d.Reader(io.BytesIO(data))
    used, frames = int(reader.point_used), int(reader.last_frame) - int(reader.first_frame) + 1
    word = 4 if reader.point_scale < 0 else 2
    if used == 0:
        raise ValueError("no markers")
    if not 0 < 4 * used * word * frames <= len(data):
        raise ValueError(f"{frames} frames of {used} markers do not fit into {len(data)} bytes")
    points = np.array([frame[:, :4] for _, frame, _ in reader.read_frames(copy=True)])
    if len(points) != frames:
        raise ValueError(f"{len(points)} of {frames} frames")
    labels = [str(label).strip() for label in reader.point_labels][:used]
    labels += [""] * (used - len(labels))
    names: list[str] = []
    for k, label in enumerate(labels):
        name = label or f"marker_{k}"
        names.append(name if name not in names else f"{name}_{k}")
    unit = reader.get("POINT:UNITS")
    rate = float(reader.point_rate)
    return names, points, rate, (unit.string_value.strip() if unit else "mm"), (int(reader.first_frame) - 1) / rate


def write(markers: MarkerMotion, store: Any, unsupported: Any) -> bytes:
    """Markers as a C3D file, in millimetres and single precision."""
    c3d = library("c3d", "writing C3D files", "c3d")
    if not 0 < len(markers.names) < 256 or markers.num_frames > 65535:
        raise KidoError(
            f"C3D files hold 1 to 255 markers and 65535 frames, here of {len(markers.names)} and {markers.num_frames}"
        )
    if markers.start:
        unsupported.remark(f"C3D files begin at 0 s; the markers begin at {markers.start:g} s")
    seen = np.isfinite(markers.places).all(axis=2)
    points = np.zeros((markers.num_frames, len(markers.names), 5), dtype=np.float32)
    points[..., :3] = np.where(seen[..., None], 1000.0 * markers.places, 0.0)
    points[..., 3:] = np.where(seen[..., None], 0.0, -1.0)
    writer = c3d.Writer(point_rate=markers.frame_rate)
    writer.set_point_labels(list(markers.names))
    writer.add_frames([(frame, np.zeros((0, 0))) for frame in points])
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there are no analog signals
        writer.write(file)
    return file.getvalue()
