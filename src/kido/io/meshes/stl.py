"""STL files, binary and text.

Source: the layout published by 3D Systems (1989): 80 bytes of header, a 32-bit count, 50 bytes per triangle
(normal, three corners, attribute); or ``solid ... facet ... outer loop ... vertex x y z ...`` as text.
"""

from __future__ import annotations

import re

import numpy as np

from kido.errors import FileFormatError
from kido.io.meshes.triangles import MeshData, Part, join_parts, merge_equal_vertices

__all__ = ["read_stl"]

HEADER_BYTES = 84
RECORD = np.dtype([("normal", "<f4", (3,)), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
VERTEX = re.compile(rb"^[ \t]*vertex[ \t]+(\S+)[ \t]+(\S+)[ \t]+(\S+)[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
VERTEX_LINE = re.compile(rb"^[ \t]*vertex\b", re.MULTILINE | re.IGNORECASE)


def read_stl(data: bytes, path: str) -> MeshData:
    """Triangles of an STL file. Raises FileFormatError if it is truncated or not STL."""
    if _is_text(data):
        corners = _text_corners(data, path)
    else:
        corners = _binary_corners(data, path)
    vertices, faces = merge_equal_vertices(corners)
    return join_parts([Part(vertices, faces)])


def _is_text(data: bytes) -> bool:
    if not data[:512].lstrip().lower().startswith(b"solid"):
        return False
    if len(data) >= HEADER_BYTES and len(data) == HEADER_BYTES + 50 * int.from_bytes(data[80:84], "little"):
        return False  # binary files with a header that happens to start with "solid" are common
    return b"\0" not in data[:2048]


def _binary_corners(data: bytes, path: str) -> np.ndarray:
    if len(data) < HEADER_BYTES:
        raise FileFormatError(path, None, f"not an STL file: {len(data)} bytes, and it does not start with 'solid'")
    count = int.from_bytes(data[80:84], "little")
    expected = HEADER_BYTES + RECORD.itemsize * count
    if len(data) < expected:
        raise FileFormatError(
            path,
            None,
            f"not an STL file or truncated: its header counts {count} triangles ({expected} bytes), "
            f"but it has {len(data)} bytes",
        )
    records = np.frombuffer(data, dtype=RECORD, count=count, offset=HEADER_BYTES)
    return records["corners"].reshape(-1, 3)


def _text_corners(data: bytes, path: str) -> np.ndarray:
    words = [word for match in VERTEX.finditer(data) for word in match.groups()]
    count = len(VERTEX_LINE.findall(data))
    if len(words) != 3 * count:
        raise FileFormatError(path, _bad_line(data), "expected 'vertex x y z' with three numbers")
    if b"endsolid" not in data[-512:].lower():
        raise FileFormatError(path, data.count(b"\n") + 1, "truncated STL: it does not end with 'endsolid'")
    if count % 3:
        raise FileFormatError(path, None, f"truncated or malformed STL: {count} vertices, not a multiple of 3")
    try:
        return np.array(words, dtype=bytes).astype(np.float64).reshape(-1, 3) if words else np.zeros((0, 3))
    except ValueError:
        raise FileFormatError(path, _bad_line(data), "expected 'vertex x y z' with three numbers") from None


def _bad_line(data: bytes) -> int | None:
    for number, line in enumerate(data.splitlines(), start=1):
        words = line.split()
        if words and words[0].lower() == b"vertex":
            try:
                if len([float(word) for word in words[1:]]) == 3:
                    continue
            except ValueError:
                pass
            return number
    return None
