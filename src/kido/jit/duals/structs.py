"""Structs of duals beside structs of numbers: made once, filled anew from those whenever a derivative is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.jit.struct import LANES, Struct, place_array

DIRECTIONS = LANES - 1  # derivatives that a dual carries


class DualStructs:
    """Structs of duals that mirror others, and all that these refer to; arrays that are shared there are shared here.

    Args:
        given: structs of duals, by the address of the struct that they stand for.
        leave: names of structs, or "STRUCT.field", whose float arrays `fill` does not copy: results and work space.
    """

    def __init__(self, given: dict[int, Struct] | None = None, leave: tuple[str, ...] = ()):
        self._made: dict[int, Any] = dict(given or {})
        self._arrays: dict[tuple[int, int], np.ndarray] = {}
        self._leave = set(leave)
        self._floats: list[tuple[np.ndarray, np.ndarray]] = []
        self._integers: list[tuple[np.ndarray, np.ndarray]] = []
        self._blocks: list[tuple[Any, Any]] = []

    def of(self, struct: Any) -> Any:
        """The struct of duals of a struct; made when it is first asked for. Stages are not set."""
        if struct.address in self._made:
            return self._made[struct.address]
        cls = type(struct)
        sizes: dict[str, Any] = {}
        for name in cls.arrays:
            f, array = cls.fields[name], getattr(struct, name)
            sizes |= {dim: n for dim, n in zip(f.dims, array.shape, strict=False) if isinstance(dim, str)}
            if f.kind == "i":
                sizes[name] = array.copy()
        made = self._made[struct.address] = cls(samples=LANES, **sizes)
        self._blocks.append((struct, made))
        for name in cls.arrays:
            f, array, own = cls.fields[name], getattr(struct, name), getattr(made, name)
            if f.kind == "i":
                self._integers.append((array, own))
                continue
            key = array.ctypes.data, array.size
            if array.size and key in self._arrays:  # another struct has it too
                own = self._arrays[key]
                vars(made)[name] = own
                place_array(made._header, f, own.ctypes.data, array.shape)
            elif not {cls.__name__, f"{cls.__name__}.{name}"} & self._leave:
                self._floats.append((array, own))
            self._arrays[key] = own
        for f in cls.fields.values():
            if f.kind == "r":
                referred = getattr(struct, f.name)
                setattr(made, f.name, self.of(referred) if referred else None)
        return made

    def fill(self) -> None:
        """Take all numbers from the structs that are mirrored; derivatives are zero."""
        for array, own in self._floats:
            own[...] = 0.0
            own[..., 0] = array
        for array, own in self._integers:
            own[...] = array
        for struct, made in self._blocks:
            for f in type(struct).fields.values():
                if f.kind in "FI":
                    made._block[f.word] = struct._block[f.word]
