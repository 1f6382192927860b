"""A struct and all that it refers to as one row of words, which may lie anywhere: in another array, on a GPU.

Words that are addresses of what is in the row are known, and words that are addresses of callbacks. The former are
those of headers and references, and integers that are the address of a living struct: some structs know others by
number alone. Nothing else is an address.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from kido.jit.functions import ROOTS, Callback
from kido.jit.struct import ALIGNMENT, BLOCK, Field, Struct, living

_WORD = 8  # bytes
_LEAST_ADDRESS = 1 << 16  # below it there is no memory
BLOCK_OF_WORDS = "block of words"


def structs_of(root: Struct) -> list[Struct]:
    """A struct and all that it refers to, by references or by integers that are addresses of living structs."""
    found: dict[int, Struct] = {}
    waiting = [root]
    while waiting:
        struct = waiting.pop()
        if struct.address not in found:
            found[struct.address] = struct
            waiting += [other for other in struct.references() if isinstance(other, Struct)]
            waiting += [other for _, words in _integers(struct) for v in _large(words) if (other := living(v))]
    return list(found.values())


def _integers(struct: Struct) -> Iterator[tuple[Field, np.ndarray]]:
    """Fields of integers and their words."""
    pieces = struct.pieces()
    for name, f in type(struct).fields.items():
        if f.kind == "i":
            yield f, pieces[name].ravel()
        elif f.kind == "I":
            yield f, pieces[BLOCK_OF_WORDS][f.word : f.word + 1]


def _large(words: np.ndarray) -> Iterator[int]:
    """Integers that may be addresses, each once."""
    yield from np.unique(words[words >= _LEAST_ADDRESS]).tolist()


class Relocatable:
    """A copy of a struct and of what it refers to, as it is now.

    Args:
        root: the struct.

    Attributes:
        words: (n,) int64; addresses within it count from its first byte, callbacks are 0.
        is_address: (n,) bool, of words that are such addresses.
        root: place of the header of the struct [bytes].
        callbacks: that its words hold, by field, "STRUCT.field".
    """

    def __init__(self, root: Struct):
        structs = structs_of(root)
        known = {r.address: r for r in ROOTS if isinstance(r, Callback) and r.is_placed}
        pieces = [piece for s in structs for piece in s.pieces().values() if piece.size]
        begins, ends, places = self._lay_out([(_begin(piece), _begin(piece) + piece.nbytes) for piece in pieces])
        self.words = np.zeros(int(places[-1] + ends[-1] - begins[-1]) // _WORD, np.int64)
        self.is_address = np.zeros(len(self.words), bool)
        self.callbacks: dict[str, list[Callback]] = {}
        self._functions: list[tuple[int, Callback]] = []
        self._spans = begins, ends, places
        for piece in pieces:
            at = self._place(_begin(piece)) // _WORD
            self.words[at : at + piece.size] = piece.ravel().view(np.int64)
        for struct in structs:
            self._find(struct, known)
        self.root = self._place(root.address)
        self.words[self.is_address] = [self._place(v) for v in self.words[self.is_address].tolist()]

    @staticmethod
    def _lay_out(spans: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pieces of memory, of which some lie in others: where each begins and ends, and its place in the copy."""
        merged: list[list[int]] = []
        for begin, end in sorted(set(spans)):
            if merged and begin < merged[-1][1]:
                merged[-1][1] = max(end, merged[-1][1])
            elif end > begin:
                merged.append([begin, end])
        begins, ends = np.array(merged, np.int64).T
        sizes = -(-(ends - begins) // ALIGNMENT) * ALIGNMENT
        return begins, ends, np.concatenate([[0], np.cumsum(sizes)[:-1]])

    def _place(self, address: int) -> int:
        """Where what is at an address is in the copy [bytes]; of an array without elements anywhere."""
        begins, ends, places = self._spans
        k = int(np.searchsorted(begins, address, side="right")) - 1
        return int(places[k] + address - begins[k]) if k >= 0 and address < ends[k] else 0

    def _find(self, struct: Struct, known: Mapping[int, Callback]) -> None:
        """Note addresses and callbacks in a struct."""
        kind, pieces = type(struct), struct.pieces()
        header, block = (self._place(_begin(pieces[name])) // _WORD for name in ("", BLOCK_OF_WORDS))
        self.is_address[[header + BLOCK, *(header + kind.fields[name].word for name in kind.arrays)]] = True
        for name, f in kind.fields.items():
            if f.kind == "r" and getattr(struct, name).address:
                self.is_address[block + f.word] = True
            elif f.kind == "s" and getattr(struct, name).callback is not None:
                self._note(f"{kind.__name__}.{name}", getattr(struct, name).callback, block + f.word)
        for f, words in _integers(struct):
            at = self._place(_begin(pieces[f.name])) // _WORD if f.is_array else block + f.word
            for v in _large(words):
                if living(v):
                    self.is_address[at + np.flatnonzero(words == v)] = True
                elif v in known:
                    for k in np.flatnonzero(words == v).tolist():
                        self._note(f"{kind.__name__}.{f.name}", known[v], at + k)

    def _note(self, field: str, callback: Callback, word: int) -> None:
        self.callbacks.setdefault(field, []).append(callback)
        self._functions.append((word, callback))
        self.words[word] = 0  # it may be that of what compiles it when it is called first

    def like(self, other: Relocatable) -> bool:
        """Whether another is the same in all words and callbacks."""
        same = np.array_equal(self.words, other.words) and np.array_equal(self.is_address, other.is_address)
        return same and self._functions == other._functions

    @property
    def fields(self) -> dict[str, frozenset[Callback]]:
        """Callbacks of each field, each once."""
        return {field: frozenset(found) for field, found in self.callbacks.items()}

    def numbered(self, numbers: Mapping[Callback, int]) -> np.ndarray:
        """The words, with a number for each callback; addresses count from the first byte."""
        words = self.words.copy()
        for word, callback in self._functions:
            words[word] = numbers[callback]
        return words

    def at(self, address: int) -> np.ndarray:
        """The words for a place in this program's memory."""
        numbers = {callback: callback.address for _, callback in self._functions}
        return self.numbered(numbers) + address * self.is_address


def _begin(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])
