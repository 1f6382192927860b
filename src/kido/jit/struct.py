"""Structs that kernels read through one integer.

A struct is a class: its fields are declared once, with unit and meaning, and serve Python, compiled code and the
documentation. An instance owns an array for each array field, a *block* of words for all other fields (numbers,
addresses of other structs, addresses of stages), and a *header* that lists where these lie and how large arrays are.
Kernels receive the header's address as a plain integer and see the fields again by name (`kido.jit.view`):

    class STEP(Struct):
        tree = reference(TREE, doc="the forest")           # s.tree.parent[i]
        time_step = number("s", doc="h")                   # s.time_step
        start = floats("dofs", doc="velocities before")    # s.start[k]
        detect = stage(doc="finds contacts")               # s.detect(s): an indirect call; without one set, 0

A struct can hold several samples, that is states of one model: its float arrays then have one more axis, the last,
with the samples side by side (`kido.jit.lanes_view`, `kido.jit.thread_view`). All else is the same for all samples.

With ``KIDO_DEBUG=1`` every `view` checks that the address is that of a living struct of its kind.

Shapes and addresses of arrays are written once. A struct whose arrays must grow is replaced by a new one, so that an
address held by its owner stays valid as long as the owner lives. What it refers to is kept alive by it.
"""

from __future__ import annotations

import ctypes
import os
import weakref
import zlib
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

_DTYPES = {"i": np.dtype(np.int64), "f": np.dtype(np.float64)}
MARK, SAMPLES, BLOCK, FIRST_FIELD = range(4)  # words of a header: mark, samples side by side, address of the block
ARRAY_WORDS = 4  # of an array in the header: its address and up to three sizes
ALIGNMENT = 64  # [bytes] of fields with samples side by side: a cache line
DEBUG = os.environ.get("KIDO_DEBUG", "") not in ("", "0")
JIT_DISABLED = os.environ.get("NUMBA_DISABLE_JIT", "") not in ("", "0")
LANES = 8  # measured with AVX-512, for each state: 4 take 5 to 25 % longer, 16 take 10 to 20 % longer
_GRAVEYARD: list[np.ndarray] = []  # headers of dead structs, kept in debug mode so that a check can see them
_LIVE: weakref.WeakValueDictionary[int, Struct] = weakref.WeakValueDictionary()

_RESERVED = (
    *("address", "arrays", "block_of", "block_words", "fields", "first_word", "floats_of_block", "header_for"),
    *("field_keys", "layout_hash", "nbytes", "pieces", "references", "samples", "sharing", "words", "words_of_block"),
)

S = TypeVar("S", bound="Struct")
N = TypeVar("N", int, float)
Key = tuple[str, str, tuple[Any, ...]]


class Field:
    """One field of a struct: where its words lie, and what it means. Made by `floats` ... `stage`.

    Attributes:
        name: attribute name in structs and kernels.
        kind: "f", "i": array of float64 or int64; "F", "I": scalar; "r": reference; "s": stage.
        dims: sizes of an array: a number, or the name of a size given when a struct is made.
        is_array, fixed: whether it is an array, and which of its sizes are numbers.
        unit: physical unit, empty if none.
        doc: meaning, with the frame it is expressed in.
        word: index of its first word in the header if it is an array, else of its word in the block.
        struct, lanes: of a reference: what it refers to, and whether compiled code sees its samples as lanes.
    """

    name = ""
    word = 0
    struct: Any = None
    lanes = False

    def __init__(self, kind: str, dims: tuple[int | str, ...] = (), unit: str = "", doc: str = ""):
        self.kind, self.dims, self.unit, self.doc = kind, dims, unit, doc
        self.is_array, self.fixed = kind in _DTYPES, [(k, n) for k, n in enumerate(dims) if isinstance(n, int)]

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @property
    def key(self) -> Key:
        """What compiled code depends on: name, kind and sizes; 0: a size that is not fixed."""
        return self.name, self.kind, tuple(n if isinstance(n, int) else 0 for n in self.dims)


class _Array(Field):
    """Set by `Struct.__init__` in the instance, whose attribute it then is."""


class _Scalar(Field):
    def __get__(self, struct: Struct | None, owner: Any = None) -> Any:
        if struct is None:
            return self
        return (struct._numbers if self.kind == "F" else struct._block).item(self.word)

    def __set__(self, struct: Struct, value: float) -> None:
        (struct._numbers if self.kind == "F" else struct._block)[self.word] = value


class _Reference(Field):
    def __init__(self, struct: StructKind, lanes: bool, doc: str):
        super().__init__("r", doc=doc)
        self.struct, self.lanes = struct, lanes

    @property
    def key(self) -> Key:
        return self.name, "r", (self.struct.__name__, self.struct.layout_hash, int(self.lanes))

    def __get__(self, struct: Struct | None, owner: Any = None) -> Any:
        if struct is None:
            return self
        return struct._referred.get(self.name, _NOTHING)

    def __set__(self, struct: Struct, value: Struct | None) -> None:
        if value is None or value is _NOTHING:
            struct._referred.pop(self.name, None)
            struct._block[self.word] = 0
            return
        if not isinstance(value, self.struct):
            raise TypeError(f"{type(struct).__name__}.{self.name}: expected a {self.struct.__name__}, got {value!r}")
        struct._referred[self.name] = value
        struct._block[self.word] = value.address


class _Stage(Field):
    """Address of a callback, and in Python what calls it."""

    def __init__(self, doc: str, rare: bool):
        super().__init__("s", doc=doc)
        self.rare = rare

    def __get__(self, struct: Struct | None, owner: Any = None) -> Any:
        if struct is None:
            return self
        return StageCall(struct._referred.get(self.name))

    def __set__(self, struct: Struct, value: Any) -> None:
        if isinstance(value, StageCall):
            value = value.callback
        if value is None:
            struct._referred.pop(self.name, None)
        else:
            struct._referred[self.name] = value
        if value is not None and self.rare:
            value.place(struct._block, self.word)
        else:
            struct._block[self.word] = 0 if value is None else value.address


class StageCall:
    """A stage as Python sees it: called with structs or integers, as in compiled code."""

    def __init__(self, callback: Any):
        self.callback = callback

    @property
    def address(self) -> int:
        """Of its machine code; 0: there is none."""
        return 0 if self.callback is None else self.callback.address

    def __call__(self, *arguments: Any) -> int:
        if self.callback is None:
            return 0
        numbers = [a if isinstance(a, int | np.integer) else a.address for a in arguments]
        return self.callback(*numbers, *[0] * (4 - len(numbers)))


class _Nothing:
    """What a reference that is not set is."""

    address = 0

    def __bool__(self) -> bool:
        return False

    def __reduce__(self):
        return "_NOTHING"


_NOTHING = _Nothing()

if TYPE_CHECKING:
    # As attributes of an instance fields are what kernels see: arrays, numbers, other structs and functions.
    class _Number(Generic[N]):
        def __get__(self, struct: Struct, owner: Any = None) -> N: ...
        def __set__(self, struct: Struct, value: Any) -> None: ...

    class _Referred(Generic[S]):
        def __get__(self, struct: Struct, owner: Any = None) -> S: ...
        def __set__(self, struct: Struct, value: Struct | None) -> None: ...

    class _Called:
        def __get__(self, struct: Struct, owner: Any = None) -> StageCall: ...
        def __set__(self, struct: Struct, value: Any) -> None: ...

    def floats(*dims: int | str, unit: str = "", doc: str = "") -> Any: ...
    def integers(*dims: int | str, unit: str = "", doc: str = "") -> Any: ...
    def number(unit: str = "", doc: str = "") -> _Number[float]: ...
    def integer(unit: str = "", doc: str = "") -> _Number[int]: ...
    def reference(struct: type[S], lanes: bool = False, doc: str = "") -> _Referred[S]: ...
    def stage(doc: str = "", rare: bool = False) -> _Called: ...

else:

    def floats(*dims, unit="", doc=""):
        """An array of float64 with one to three sizes."""
        return _Array("f", dims, unit, doc)

    def integers(*dims, unit="", doc=""):
        """An array of int64 with one to three sizes."""
        return _Array("i", dims, unit, doc)

    def number(unit="", doc=""):
        """A float64, zero at first; of a struct of several samples it is the same for all."""
        return _Scalar("F", (), unit, doc)

    def integer(unit="", doc=""):
        """An int64, zero at first."""
        return _Scalar("I", (), unit, doc)

    def reference(struct, lanes=False, doc=""):
        """Another struct; with `lanes` compiled code sees its samples as lanes."""
        return _Reference(struct, lanes, doc)

    def stage(doc="", rare=False):
        """A callback, called as ``s.name(a, b, c, d)`` with up to four structs or integers; returns an integer.

        Compiled code calls the one that is set, by its address; where none is set nothing happens, and the result
        is 0. On a GPU it is the number of a callback (`kido.jit.device`). What is `rare` is compiled when it is
        called first, not when it is set.
        """
        return _Stage(doc, rare)


class StructKind(type):
    """The class of struct classes: reads their fields.

    Attributes:
        fields: by name, in order.
        arrays: names of those that are arrays.
        words, block_words: of a header, of a block.
        field_keys: what compiled code depends on: name, kind and sizes of each field, in order.
        layout_hash: of it.
        first_word: of the header of a living struct.
    """

    fields: dict[str, Field]
    arrays: list[str]
    words: int
    block_words: int
    field_keys: tuple[Key, ...]
    layout_hash: int
    first_word: int

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]):
        super().__init__(name, bases, namespace)
        cls.fields = {n: f for n, f in namespace.items() if isinstance(f, Field)}
        cls.words, cls.block_words = FIRST_FIELD, 0
        for f in cls.fields.values():
            if f.name in _RESERVED:
                raise ValueError(f"struct {name}: a field cannot have the name {f.name!r}")
            if f.is_array and not 1 <= len(f.dims) <= 3:
                raise ValueError(f"struct {name}: field {f.name!r} needs one to three dims")
            if f.is_array:
                f.word = cls.words
                cls.words += ARRAY_WORDS
            else:
                f.word = cls.block_words
                cls.block_words += 1
        cls.arrays = [n for n, f in cls.fields.items() if f.is_array]
        cls.field_keys = tuple(f.key for f in cls.fields.values())
        cls.layout_hash = zlib.crc32(repr(cls.field_keys).encode())
        cls.first_word = 1 + zlib.crc32(name.encode())


class Struct(metaclass=StructKind):
    """Arrays, numbers, references and stages of one kind, and the address by which kernels find them.

    Args:
        samples: how many samples lie side by side; 0: one, and fields have no axis for it.
        block_of: another struct of this kind whose fields of one word are this one's too; None: its own.
        **given: named sizes (int); for any array field an existing array to share instead of a new one of zeros;
            for any other field its value. A shared array must have the field's dtype, rank and fixed sizes and be
            C-contiguous, and must not serve as another field too: compiled code takes different fields for apart.
    """

    fields: ClassVar[dict[str, Field]]
    samples: int
    _header: np.ndarray
    _block: np.ndarray
    _numbers: np.ndarray  # the block as floats
    _referred: dict[str, Any]  # structs and callbacks, by field

    def __init__(self, **given: Any):
        # A world has thousands of arrays: half of the time in which it is made passes here.
        cls, own = type(self), vars(self)
        samples = own["samples"] = int(given.pop("samples", 0))
        block_of: Struct | None = given.pop("block_of", None)
        unknown = [n for n, v in given.items() if n not in cls.fields and not isinstance(v, int | np.integer)]
        if unknown:
            raise ValueError(f"{cls.__name__} has no fields {sorted(unknown)}; it has {list(cls.fields)}")
        block = own["_block"] = np.zeros(cls.block_words, np.int64) if block_of is None else block_of._block
        own["_numbers"] = block.view(np.float64)
        own["_referred"] = {} if block_of is None else block_of._referred
        words = [cls.first_word, max(1, samples), block.ctypes.data]
        for name in cls.arrays:
            f, array = cls.fields[name], given.get(name)
            if array is None:
                shape = tuple([d if isinstance(d, int) else int(given[d]) for d in f.dims])
                aligned = samples and f.kind == "f"
                array = _aligned((*shape, samples)) if aligned else np.zeros(shape, _DTYPES[f.kind])
            else:
                self._check(f, array)
            own[name] = array
            words += (_address(array), *array.shape[: len(f.dims)], 0, 0)[:ARRAY_WORDS]
        for name in given.keys() & cls.fields.keys():
            if not cls.fields[name].is_array:
                setattr(self, name, given[name])
        header = own["_header"] = np.array(words, np.int64)
        self.address = int(header.ctypes.data)
        _LIVE[self.address] = self

    def _check(self, f: Field, array: np.ndarray) -> None:
        """Refuse an array that cannot be shared."""
        dtype, shape = _DTYPES[f.kind], array.shape
        if array.dtype is dtype and len(shape) == len(f.dims) and not f.fixed and not self.samples:
            if array.flags.c_contiguous:
                return
        where = f"{type(self).__name__}.{f.name}"
        if self.samples and f.kind == "f":
            raise ValueError(f"{where}: a field with samples side by side is not shared")
        if array.dtype != dtype or len(shape) != len(f.dims) or not array.flags.c_contiguous:
            raise ValueError(
                f"{where}: expected a C-contiguous {dtype} array of rank {len(f.dims)}, got {array.dtype} {shape}"
            )
        if any(shape[k] != n for k, n in f.fixed):
            raise ValueError(f"{where}: expected the shape {f.dims}, got {shape}")

    if TYPE_CHECKING:
        # Of a struct whose kind is not known.
        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    else:

        def __getattr__(self, name):
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")

        def __setattr__(self, name, value):
            if "address" in self.__dict__ and name not in type(self).fields and name not in self.__dict__:
                raise AttributeError(f"{type(self).__name__} has no field {name!r}")
            object.__setattr__(self, name, value)

    def __del__(self) -> None:
        if DEBUG and "_header" in self.__dict__:
            self._header[MARK] = 0
            _GRAVEYARD.append(self._header)

    def __reduce__(self):
        if self.samples:
            raise TypeError("a struct of several samples is work space, and is not copied")
        values = {n: getattr(self, n) for n, f in type(self).fields.items() if f.kind != "s"}
        values |= {n: self._referred[n] for n, f in type(self).fields.items() if f.kind == "s" and n in self._referred}
        return _rebuild, (type(self), {n: v for n, v in values.items() if v is not _NOTHING})

    def sharing(self, **own: Any) -> Any:
        """Another struct with the same arrays, numbers, references and stages, but for arrays of its own."""
        arrays = {n: getattr(self, n) for n in type(self).arrays if n not in own}
        return type(self)(block_of=self, **arrays, **own)

    def nbytes(self) -> int:
        """Memory held by the arrays [bytes]."""
        return sum(getattr(self, n).nbytes for n in type(self).arrays)

    def pieces(self) -> dict[str, np.ndarray]:
        """All memory that it stands in: its header "", its block "block of words", and arrays by field."""
        return {"": self._header, "block of words": self._block, **{n: getattr(self, n) for n in type(self).arrays}}

    def references(self) -> list[Any]:
        """Structs and callbacks that its fields refer to."""
        return list(self._referred.values())

    def floats_of_block(self) -> list[float]:
        """Its fields of one word, in order, of a struct whose are all floats."""
        return self._numbers.tolist()

    def words_of_block(self) -> np.ndarray:
        """Its fields of one word, in order (a copy)."""
        return self._block.copy()

    def header_for(self, block: int, places: dict[str, tuple[int, tuple[int, ...]]], samples: int) -> np.ndarray:
        """Header of a copy whose block and arrays lie elsewhere, with the shapes of one sample; on a GPU, say."""
        header = self._header.copy()
        header[SAMPLES], header[BLOCK] = samples, block
        for name, (address, shape) in places.items():
            place_array(header, type(self).fields[name], address, shape)
        return header


def place_array(header: np.ndarray, field: Field, address: int, shape: tuple[int, ...]) -> None:
    """Write where the array of a field lies, and its shape without the axis of samples."""
    rank = len(field.dims)
    header[field.word] = address
    header[field.word + 1 : field.word + 1 + rank] = shape[:rank]


def _address(array: Any) -> int:
    """Of its first element; half of the time that `array.ctypes.data` takes."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    except (TypeError, ValueError):  # it is read-only or empty
        return array.ctypes.data


def _aligned(shape: tuple[int, ...]) -> np.ndarray:
    """Zeros that start on a cache line."""
    size = int(np.prod(shape))
    room = np.zeros(size + ALIGNMENT // 8)
    start = -room.ctypes.data % ALIGNMENT // 8
    return room[start : start + size].reshape(shape)


def _rebuild(struct: StructKind, values: dict[str, Any]) -> Struct:
    return struct(**values)


def field_table(struct: StructKind) -> str:
    """The fields of a struct as a Markdown table."""
    rows = [f"| `{f.name}` | {f.kind} | {f.dims} | {f.unit} | {f.doc} |" for f in struct.fields.values()]
    return "\n".join(["| field | kind | shape | unit | meaning |", "| --- | --- | --- | --- | --- |", *rows])


def living(address: int) -> Struct | None:
    """The struct at an address, if there is one."""
    return _LIVE.get(address)


def live_struct(address: int) -> Struct:
    """The struct at an address; plain-Python kernels and debug checks find their arrays this way."""
    try:
        return _LIVE[address]
    except KeyError:
        raise RuntimeError(f"no live struct at address {address}: its owner is gone") from None
