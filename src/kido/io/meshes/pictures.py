"""Images that mesh files are covered with."""

from __future__ import annotations

import io
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["pixels_of", "read_picture"]

MAX_BYTES = 64 * 1024 * 1024
MAX_PIXELS = 64_000_000


def read_picture(path: Path, name: str, remarks: list[str]) -> np.ndarray | None:
    """Pixels (height, width, 3) of an image file, bytes; None, with a remark, if it is none or Pillow is not there."""
    try:
        data = path.read_bytes() if path.stat().st_size <= MAX_BYTES else b""
        return pixels_of(import_module("PIL.Image").open(io.BytesIO(data)))
    except ImportError:
        remarks.append(f"{name}: texture '{path.name}' is left out: images need Pillow, pip install 'kido[viewer]'")
    except Exception as error:  # whatever a damaged file brings about
        remarks.append(f"{name}: texture '{path.name}' cannot be read and is left out: {error!s:.200}")
    return None


def pixels_of(image: Any) -> np.ndarray:
    """Of an image of Pillow, (height, width, 3), bytes.

    Raises:
        ValueError: it is too large.
    """
    if image.width * image.height > MAX_PIXELS:
        raise ValueError(f"{image.width} x {image.height} pixels; expected at most {MAX_PIXELS}")
    return np.asarray(image.convert("RGB"))
