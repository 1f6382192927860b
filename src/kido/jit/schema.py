"""Containers of arrays that kernels read through one integer.

A `Schema` is the table of a container's fields: name, kind, dimensions, unit, meaning. A `Container` owns
one array per field and a *header*: an int64 array that lists the address and shape of each field. Kernels
receive the header's address as a plain integer and see the fields again as arrays (`kido.jit.view`).

A container can hold several samples, that is states of one model: its float fields then have one more axis,
the last, with the samples side by side (`kido.jit.lanes_view`, `kido.jit.thread_view`).

With ``KIDO_DEBUG=1`` every `view` checks that the address is that of a living container of its schema.

The header is written once. A container whose arrays must grow is replaced by a new one, so that an address
held by its owner stays valid as long as the owner lives.
"""

from __future__ import annotations

import os
import weakref
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

_DTYPES = {"i": np.int64, "f": np.float64}
MARK, SAMPLES, FIRST_FIELD = range(3)  # words of a header: the schema's mark, samples side by side, fields
WORDS_PER_FIELD = 4  # address and up to three sizes
ALIGNMENT = 64  # [bytes] of fields with samples side by side: a cache line
DEBUG = os.environ.get("KIDO_DEBUG", "") not in ("", "0")
_GRAVEYARD: list[np.ndarray] = []  # headers of dead containers, kept in debug mode so that a check can see them
_LIVE: weakref.WeakValueDictionary[int, Container] = weakref.WeakValueDictionary()


@dataclass(frozen=True)
class Field:
    """One array of a container.

    Args:
        name: attribute name in containers and kernels.
        kind: "i" for int64, "f" for float64.
        dims: one to three sizes: a number, or the name of a size given when a container is made.
        unit: physical unit, empty if none.
        doc: meaning, with the frame it is expressed in.
    """

    name: str
    kind: str
    dims: tuple[int | str, ...]
    unit: str = ""
    doc: str = ""


class Schema:
    """The ordered fields of a container; yields its compiled view, its Python view and its documentation."""

    def __init__(self, name: str, *fields: Field):
        self.name = name
        self.fields = {f.name: f for f in fields}
        self.position = {f.name: i for i, f in enumerate(fields)}
        for f in fields:
            if f.kind not in _DTYPES or not 1 <= len(f.dims) <= 3:
                raise ValueError(f"schema {name}: field {f.name!r} needs kind 'i' or 'f' and one to three dims")
        if len(self.fields) != len(fields):
            raise ValueError(f"schema {name}: a field name appears twice")

    @property
    def key(self) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
        """What compiled code depends on: name, kind and sizes of each field, in order; 0: a size not fixed."""
        return tuple(
            (f.name, f.kind, tuple(n if isinstance(n, int) else 0 for n in f.dims)) for f in self.fields.values()
        )

    @property
    def mark(self) -> int:
        """First word of the header of a living container."""
        return 1 + zlib.crc32(self.name.encode())

    def __repr__(self) -> str:
        return f"Schema({self.name!r}, {len(self.fields)} fields)"

    def table(self) -> str:
        """The fields as a Markdown table."""
        rows = [f"| `{f.name}` | {f.kind} | {f.dims} | {f.unit} | {f.doc} |" for f in self.fields.values()]
        return "\n".join(["| field | kind | shape | unit | meaning |", "| --- | --- | --- | --- | --- |", *rows])


class Container:
    """Arrays of one schema, and the address by which kernels find them.

    Args:
        schema: the table of fields.
        samples: how many samples lie side by side; 0: one, and fields have no axis for it.
        **given: named sizes (int) and, for any field, an existing array to share instead of a new one of
            zeros. A shared array must have the field's dtype, rank and fixed sizes and be C-contiguous, and
            must not serve as another field too: compiled code takes different fields for apart.
    """

    def __init__(self, schema: Schema, **given: Any):
        self.schema, self.samples = schema, int(given.pop("samples", 0))
        samples = self.samples
        sizes = {k: v for k, v in given.items() if isinstance(v, int | np.integer)}
        unknown = set(given) - set(sizes) - set(schema.fields)
        if unknown:
            raise ValueError(f"{schema.name} has no fields {sorted(unknown)}; it has {list(schema.fields)}")
        places: list[tuple[int, tuple[int, ...]]] = []
        for f in schema.fields.values():
            array = given.get(f.name)
            if array is None:
                shape = tuple(d if isinstance(d, int) else int(sizes[d]) for d in f.dims)
                array = _aligned((*shape, samples)) if samples and f.kind == "f" else np.zeros(shape, _DTYPES[f.kind])
            elif samples and f.kind == "f":
                raise ValueError(f"{schema.name}.{f.name}: a field with samples side by side is not shared")
            elif array.dtype != _DTYPES[f.kind] or array.ndim != len(f.dims) or not array.flags.c_contiguous:
                raise ValueError(
                    f"{schema.name}.{f.name}: expected a C-contiguous {_DTYPES[f.kind].__name__} array of "
                    f"rank {len(f.dims)}, got {array.dtype} {array.shape}"
                )
            elif any(d != n for d, n in zip(f.dims, array.shape, strict=True) if isinstance(d, int)):
                raise ValueError(f"{schema.name}.{f.name}: expected the shape {f.dims}, got {array.shape}")
            setattr(self, f.name, array)
            places.append((array.ctypes.data, array.shape[: len(f.dims)]))
        header = self._header = make_header(schema, places, max(1, samples))
        self.address = int(header.ctypes.data)
        _LIVE[self.address] = self

    def __getattr__(self, name: str) -> np.ndarray:
        # Reached only for names that __init__ did not set; tells type checkers that fields are arrays.
        raise AttributeError(f"{self.__dict__.get('schema', 'container')} has no field {name!r}")

    def __del__(self) -> None:
        if DEBUG and "_header" in self.__dict__:
            self._header[MARK] = 0
            _GRAVEYARD.append(self._header)

    def __reduce__(self):
        if self.samples:
            raise TypeError("a container of several samples is work space, and is not copied")
        arrays = {n: getattr(self, n) for n in self.schema.fields}
        return _rebuild, (self.schema, arrays)

    def nbytes(self) -> int:
        """Memory held by the arrays [bytes]."""
        return sum(getattr(self, n).nbytes for n in self.schema.fields)


def make_header(schema: Schema, places: list[tuple[int, tuple[int, ...]]], samples: int) -> np.ndarray:
    """Header of a container whose fields lie at the given addresses, with the shapes of one sample."""
    header = np.zeros(FIRST_FIELD + WORDS_PER_FIELD * len(places), np.int64)
    header[MARK], header[SAMPLES] = schema.mark, samples
    for k, (address, shape) in enumerate(places):
        at = FIRST_FIELD + WORDS_PER_FIELD * k
        header[at] = address
        header[at + 1 : at + 1 + len(shape)] = shape
    return header


def _aligned(shape: tuple[int, ...]) -> np.ndarray:
    """Zeros that start on a cache line."""
    size = int(np.prod(shape))
    room = np.zeros(size + ALIGNMENT // 8)
    start = -room.ctypes.data % ALIGNMENT // 8
    return room[start : start + size].reshape(shape)


def _rebuild(schema: Schema, arrays: dict[str, np.ndarray]) -> Container:
    return Container(schema, **arrays)


def live_container(address: int) -> Container:
    """The container at an address; plain-Python kernels and debug checks find their arrays this way."""
    try:
        return _LIVE[address]
    except KeyError:
        raise RuntimeError(f"no live container at address {address}: its owner is gone") from None
