"""Structs of duals beside structs of numbers: made once, filled anew from those whenever a derivative is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.jit.compile import entry, view
from kido.jit.struct import LANES, Struct, floats, integers, place_array

DIRECTIONS = LANES - 1  # derivatives that a dual carries


class NUMBERS(Struct):
    number = floats("numbers", doc="an array, one number after the other")


class WHOLE_NUMBERS(Struct):
    number = integers("numbers", doc="the same of integers")


class COPIES(Struct):
    of_floats = integers("floats", 2, doc="NUMBERS to take, and NUMBERS of duals")
    of_integers = integers("integers", 2, doc="WHOLE_NUMBERS to take, and to write")
    num_floats = integers("floats", doc="how many numbers are taken, for each of a count")
    num_integers = integers("integers", doc="the same")
    by_floats = integers("floats", doc="by which of `counts` that goes")
    by_integers = integers("integers", doc="the same")
    counts = integers("count_kinds")
    blocks = integers(2, doc="WHOLE_NUMBERS of a struct's block to take words of, and to write")
    taken = integers("word_count", doc="words")


@entry("i8(i8)")
def copy_all(address):
    """Values of all duals from numbers, with derivatives of zero, and all integers. Returns 0."""
    c = view(COPIES, address)
    for k in range(c.of_floats.shape[0]):
        given, made = view(NUMBERS, c.of_floats[k, 0]), view(NUMBERS, c.of_floats[k, 1])
        for i in range(c.num_floats[k] * c.counts[c.by_floats[k]]):
            for j in range(LANES):
                made.number[LANES * i + j] = 0.0
            made.number[LANES * i] = given.number[i]
    for k in range(c.of_integers.shape[0]):
        taken, own = view(WHOLE_NUMBERS, c.of_integers[k, 0]), view(WHOLE_NUMBERS, c.of_integers[k, 1])
        for i in range(c.num_integers[k] * c.counts[c.by_integers[k]]):
            own.number[i] = taken.number[i]
    if c.taken.shape[0] > 0:
        taken, own = view(WHOLE_NUMBERS, c.blocks[0]), view(WHOLE_NUMBERS, c.blocks[1])
        for k in range(c.taken.shape[0]):
            own.number[c.taken[k]] = taken.number[c.taken[k]]
    return 0


def words_of(struct: Any, name: str = "") -> np.ndarray:
    """The fields of one word of a struct, in order, or one of these: the memory itself, as whole numbers."""
    word = type(struct).fields[name].word if name else 0
    return struct._block[word : word + 1] if name else struct._block


def _number_words(struct: Any) -> np.ndarray:
    """Words of a struct's block that are numbers."""
    return np.array([f.word for f in struct.fields.values() if f.kind in "FI"], np.int64)


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
        self._copies: Any = None
        self._kept: list[Any] = []

    def of(self, struct: Any) -> Any:
        """The struct of duals of a struct; made when it is first asked for. Stages are not set."""
        if struct.address in self._made:
            return self._made[struct.address]
        self._copies = None
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
        if self._copies is None:
            self._copies = COPIES(floats=len(self._floats), integers=len(self._integers), count_kinds=1, word_count=0)
            self._copies.counts[:] = 1
            self._list(NUMBERS, self._floats, self._copies.of_floats)
            self._list(WHOLE_NUMBERS, self._integers, self._copies.of_integers)
            self._copies.num_floats[:] = [array.size for array, _ in self._floats]
            self._copies.num_integers[:] = [array.size for array, _ in self._integers]
            self._words = [(a._block, b._block, _number_words(type(a))) for a, b in self._blocks]
        copy_all(self._copies.address)
        for block, own, words in self._words:
            own[words] = block[words]

    def _list(self, kind: Any, pairs: list[tuple[np.ndarray, np.ndarray]], addresses: np.ndarray) -> None:
        for k, pair in enumerate(pairs):
            found = [kind(number=array.reshape(-1)) for array in pair]
            self._kept += found
            addresses[k] = [x.address for x in found]

    def part(self, struct: Any, sizes: dict[str, str]) -> Part:
        """Some arrays of one of the structs, to be filled apart.

        Args:
            sizes: names of float and integer arrays; and by which count of `Part.fill` each goes, "": all of it.
        """
        return Part(struct, self._made[struct.address], sizes)


class Part:
    """Some arrays of a struct and its numbers, taken into that of duals: of long arrays the first rows alone."""

    def __init__(self, struct: Any, made: Any, sizes: dict[str, str]):
        fields = type(struct).fields
        names = [[n for n in sizes if fields[n].kind == kind and getattr(struct, n).size] for kind in "fi"]
        self._by = ["", *sorted({*sizes.values()} - {""})]
        words = _number_words(type(struct))
        self._copies = c = COPIES(
            floats=len(names[0]), integers=len(names[1]), count_kinds=len(self._by), word_count=len(words)
        )  # fmt: skip
        blocks = [WHOLE_NUMBERS(number=x) for x in (struct._block, made._block)]
        c.counts[0], c.taken[:], c.blocks[:] = 1, words, [x.address for x in blocks]
        self._kept: list[Any] = blocks
        for chosen, kind, addresses, counts, by in (
            (names[0], NUMBERS, c.of_floats, c.num_floats, c.by_floats),
            (names[1], WHOLE_NUMBERS, c.of_integers, c.num_integers, c.by_integers),
        ):
            for k, name in enumerate(chosen):
                arrays = getattr(struct, name), getattr(made, name)
                found = [kind(number=array.reshape(-1)) for array in arrays]
                self._kept += found
                addresses[k] = [x.address for x in found]
                counts[k] = arrays[0].size if sizes[name] == "" else arrays[0].size // len(arrays[0])
                by[k] = self._by.index(sizes[name])

    def fill(self, counts: dict[str, int]) -> None:
        """Take the first rows of arrays, by the name of their count, and the numbers of the struct."""
        made = self._copies.counts
        for k, name in enumerate(self._by):
            if name:
                made[k] = counts[name]
        copy_all(self._copies.address)
