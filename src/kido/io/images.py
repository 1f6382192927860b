"""Grey values of PNG images, as height maps are given."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np

from kido.errors import FileFormatError

__all__ = ["read_png"]

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MAX_PIXELS = 2**24
MAX_IMAGE_BYTES = 2**28
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # by colour type: grey, RGB, palette, grey and alpha, RGBA


def read_png(path: str | Path) -> np.ndarray:
    """First channel (rows, columns) of a PNG image, from 0 to 1, the top row first.

    Depths of 8 and 16 bits, without interlacing; of an image with a palette, the red of its colours.
    Source: PNG specification, third edition (W3C, 2025).

    Raises:
        FileFormatError: the file is no such image, is damaged, or is larger than 16 million pixels.
    """
    try:
        data = Path(path).read_bytes() if Path(path).stat().st_size <= MAX_IMAGE_BYTES else b""
    except OSError as error:
        raise FileFormatError(path, None, f"cannot be read: {error.strerror or error}") from None
    if not data.startswith(SIGNATURE):
        raise FileFormatError(path, None, "is no PNG image")
    header, palette, packed = _chunks(path, data)
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    if kind not in CHANNELS or depth not in (8, 16) or interlaced or (kind == 3 and depth != 8):
        raise FileFormatError(
            path,
            None,
            f"PNG of colour type {kind}, {depth} bits, interlacing {interlaced}; expected 8 or 16 bits, none",
        )
    if not 0 < width * height <= MAX_PIXELS:
        raise FileFormatError(path, None, f"PNG of {width} x {height} pixels; expected 1 to {MAX_PIXELS}")
    pixel = CHANNELS[kind] * depth // 8
    expected = height * (1 + width * pixel)
    try:
        raw = zlib.decompressobj().decompress(packed, expected)
    except zlib.error as error:
        raise FileFormatError(path, None, f"damaged PNG: {error}") from None
    if len(raw) != expected:
        raise FileFormatError(path, None, f"damaged PNG: {len(raw)} bytes of pixels; expected {expected}")
    rows = np.frombuffer(raw, np.uint8).reshape(height, -1)
    pixels = rows[:, 1:].reshape(height, width, pixel)
    values = _unfilter(path, rows[:, 0], pixels[:, :, 0])  # each byte of a pixel is filtered by itself
    if depth == 16:
        return (values * 256.0 + _unfilter(path, rows[:, 0], pixels[:, :, 1])) / 65535.0
    if kind == 3:
        if len(palette) == 0 or values.max() >= len(palette):
            raise FileFormatError(
                path, None, f"damaged PNG: a pixel's colour is not among the {len(palette)} of the palette"
            )
        return palette[values, 0] / 255.0
    return values / 255.0


def _chunks(path: str | Path, data: bytes) -> tuple[bytes, np.ndarray, bytes]:
    """Header (13 bytes), palette (n,3) and packed pixels of a file."""
    header, palette, packed, at = b"", np.zeros((0, 3)), [], len(SIGNATURE)
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        at += 12 + length
        if kind == b"IHDR":
            header = body
        elif kind == b"PLTE" and len(body) % 3 == 0:
            palette = np.frombuffer(body, np.uint8).reshape(-1, 3).astype(float)
        elif kind == b"IDAT":
            packed.append(body)
        elif kind == b"IEND":
            break
    if len(header) != 13:
        raise FileFormatError(path, None, "damaged PNG: no header")
    return header, palette, b"".join(packed)


def _unfilter(path: str | Path, filters: np.ndarray, lines: np.ndarray) -> np.ndarray:
    """One byte of each pixel (rows, columns) without the filters of the rows."""
    result = np.zeros(lines.shape, np.uint8)
    above = np.zeros(lines.shape[1], np.uint8)
    for y, line in enumerate(lines):
        kind = int(filters[y])
        if kind == 0:
            result[y] = line
        elif kind == 1:
            result[y] = np.cumsum(line, dtype=np.uint8)
        elif kind == 2:
            result[y] = line + above
        elif kind in (3, 4):
            result[y] = _predicted(kind, line.tolist(), above.tolist())
        else:
            raise FileFormatError(path, None, f"damaged PNG: filter {kind} in row {y}")
        above = result[y]
    return result


def _predicted(kind: int, line: list[int], above: list[int]) -> list[int]:
    """One row of the filters 3 (average) and 4 (Paeth), whose bytes depend on the one before."""
    out: list[int] = []
    left = corner = 0
    for value, up in zip(line, above, strict=True):
        if kind == 3:
            guess = (left + up) // 2
        else:
            a, b, c = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
            guess = left if a <= b and a <= c else (up if b <= c else corner)
        left, corner = (value + guess) & 255, up
        out.append(left)
    return out
