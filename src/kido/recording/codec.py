"""Plain data to text and number pools, and back, without pickle.

Descriptions and states are nested dictionaries, lists, numbers, strings and arrays. `encode` writes them as
JSON in which every array is a reference `{"$array": kind, "start": s, "shape": [...], "dtype": "..."}` into a
flat pool of 64-bit floats or integers; every float survives bit for bit. Reading cannot run code, so a
recording from a stranger is safe to open.
"""

from __future__ import annotations

import base64
import json
import math
from typing import Any, NamedTuple

import numpy as np

from kido.errors import StateError

_INTEGER_KINDS = "iub"
_SMALL, _MOST_SHARED = 2**22, 64  # numbers that texts may ask for beyond, and for each of, those that are stored


class RecordingError(StateError):
    """A recording cannot be written or read, or does not hold what was asked for."""


class Encoded(NamedTuple):
    """Text (JSON, UTF-8 bytes) with the flat arrays it refers to."""

    text: np.ndarray
    floats: np.ndarray
    integers: np.ndarray


class _Pool:
    """Arrays laid end to end; equal arrays are stored once."""

    def __init__(self, dtype: type) -> None:
        self.dtype = dtype
        self.parts: list[np.ndarray] = []
        self.size = 0
        self._seen: dict[bytes, int] = {}

    def add(self, array: np.ndarray) -> int:
        flat = np.array(array, dtype=self.dtype).reshape(-1)
        key = flat.tobytes()
        start = self._seen.get(key)
        if start is None:
            start = self._seen[key] = self.size
            self.parts.append(flat)
            self.size += flat.size
        return start

    def joined(self) -> np.ndarray:
        return np.concatenate(self.parts) if self.parts else np.empty(0, self.dtype)


def encode(value: Any) -> Encoded:
    """Encode nested None, bool, int, float, str, bytes, list, tuple, dict, NumPy arrays and scalars.

    Raises:
        RecordingError: for any other kind of object, naming where it is.
    """
    floats, integers = _Pool(np.float64), _Pool(np.int64)

    def plain(item: Any, where: str) -> Any:
        if item is None or isinstance(item, (str, bool)):
            return item
        if isinstance(item, np.bool_):
            return bool(item)
        if isinstance(item, (int, np.integer)):
            return int(item)
        if isinstance(item, (float, np.floating)):
            number = float(item)
            return number if math.isfinite(number) else {"$float": repr(number)}
        if isinstance(item, np.ndarray):
            if item.dtype.kind == "f" and item.dtype.itemsize <= 8:
                kind, start = "floats", floats.add(item)
            elif item.dtype.kind in _INTEGER_KINDS:
                signed = item.view(np.int64) if item.dtype == np.uint64 else item
                kind, start = "integers", integers.add(signed)
            else:
                raise RecordingError(f"{where}: cannot store an array of {item.dtype}")
            return {"$array": kind, "start": start, "shape": list(item.shape), "dtype": item.dtype.name}
        if isinstance(item, (bytes, bytearray)):
            return {"$bytes": base64.b64encode(bytes(item)).decode()}
        if isinstance(item, tuple):
            return {"$tuple": [plain(x, f"{where}[{i}]") for i, x in enumerate(item)]}
        if isinstance(item, list):
            return [plain(x, f"{where}[{i}]") for i, x in enumerate(item)]
        if isinstance(item, dict):
            if all(isinstance(k, str) and not k.startswith("$") for k in item):
                return {k: plain(v, f"{where}.{k}") for k, v in item.items()}
            return {"$items": [[plain(k, where), plain(v, f"{where}[{k!r}]")] for k, v in item.items()]}
        raise RecordingError(f"{where}: cannot store a {type(item).__name__}; plain data and arrays only")

    text = json.dumps(plain(value, "value"), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Encoded(np.frombuffer(text.encode(), np.uint8).copy(), floats.joined(), integers.joined())


def decode(encoded: Encoded) -> Any:
    """The value that `encode` was given; arrays are fresh and writable.

    Raises:
        RecordingError: the text is not JSON, or a reference leaves its pool.
    """
    pools = {"floats": encoded.floats, "integers": encoded.integers}
    budget = _SMALL + _MOST_SHARED * (encoded.floats.size + encoded.integers.size)

    def array(item: dict) -> np.ndarray:
        nonlocal budget
        pool, start, shape = pools[item["$array"]], int(item["start"]), tuple(int(n) for n in item["shape"])
        size = math.prod(shape)
        if start < 0 or min(shape, default=0) < 0 or start + size > pool.size:
            raise RecordingError(f"array {start}:{start + size} lies outside its pool of {pool.size} numbers")
        budget -= size
        if budget < 0:
            raise RecordingError("its arrays are more than memory should have room for")
        flat = pool[start : start + size]
        dtype = np.dtype(item["dtype"])
        if dtype.kind not in "f" + _INTEGER_KINDS:
            raise RecordingError(f"array of {dtype}, expected numbers")
        return (flat.view(np.uint64).copy() if dtype == np.uint64 else flat.astype(dtype)).reshape(shape)

    def full(item: Any) -> Any:
        if isinstance(item, list):
            return [full(x) for x in item]
        if not isinstance(item, dict):
            return item
        if "$array" in item:
            return array(item)
        if "$float" in item:
            return float(item["$float"])
        if "$bytes" in item:
            return base64.b64decode(item["$bytes"])
        if "$tuple" in item:
            return tuple(full(x) for x in item["$tuple"])
        if "$items" in item:
            return {full(k): full(v) for k, v in item["$items"]}
        return {k: full(v) for k, v in item.items()}

    try:
        return full(json.loads(bytes(encoded.text).decode()))
    except RecordingError:
        raise
    except Exception as error:
        raise RecordingError(f"stored description is damaged: {error!r:.200}") from None
