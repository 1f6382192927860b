"""Snapshots of worlds: as objects that never change, and as files."""

from __future__ import annotations

import copy
import io
import json
import lzma
import zipfile
import zlib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from kido.arrays import fixed
from kido.attributes import FixedAttributes
from kido.errors import StateError
from kido.reprs import in_few_words
from kido.simulation.owner import Owner
from kido.simulation.world_state import checked_state, listed, put_checked_state, put_state, state_of
from kido.skeleton.state.plain import plain

if TYPE_CHECKING:
    from kido.skeleton import Skeleton


_FORMAT = "kido world snapshot 1"
_ARRAY, _MAP, _PLAIN = "$array", "$map", "$plain"
_MAX_BYTES, _SMALL, _MAX_RATIO = 2**32, 2**26, 100  # of what a file unpacks to
_STRUCTURE = [{"name": "", "bodies": [{"name": "", "parent": "", "joint": "", "shapes": [""]}]}]
_DAMAGES = (
    *(OSError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError),
    *(MemoryError, RecursionError, RuntimeError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)


def structure_of(skeletons: Sequence[Skeleton]) -> list[dict[str, Any]]:
    """Names of skeletons, bodies, joints and colliding shapes with their kinds: what a snapshot must agree with."""
    return [
        {
            "name": s.name,
            "bodies": [
                {
                    "name": body.name,
                    "parent": "" if body.parent is None else body.parent.name,
                    "joint": f"{type(body.parent_joint).__name__} {body.parent_joint.name}",
                    "shapes": [f"{type(n.shape).__name__} {n.name}" for n in body.shapes if n.collision],
                }
                for body in s.bodies
            ],
        }
        for s in skeletons
    ]


def first_difference(given: list[dict[str, Any]], present: list[dict[str, Any]]) -> str:
    """In words how the structure of a snapshot differs from that of a world; empty if it does not."""
    names, here = [s["name"] for s in given], [s["name"] for s in present]
    if names != here:
        return f"it is of skeletons {listed(names)}; the world has {listed(here)}"
    for one, two in zip(given, present, strict=True):
        bodies, its = [b["name"] for b in one["bodies"]], [b["name"] for b in two["bodies"]]
        if bodies != its:
            missing = [b for b in bodies if b not in its] + [b for b in its if b not in bodies]
            return f"skeleton {one['name']!r} has other bodies: {listed(missing or ['another order'])}"
        for b, own in zip(one["bodies"], two["bodies"], strict=True):
            for key in ("parent", "joint", "shapes"):
                if b[key] != own[key]:
                    where = f"skeleton {one['name']!r}, body {b['name']!r}: {key}"
                    return f"{where}: saved is {b[key]!r:.300}, the world has {own[key]!r:.300}"
    return ""


class WorldSnapshot(FixedAttributes):
    """What `World.snapshot` took and `World.restore` puts back; nothing in it changes with the world, or at all.

    State, commands and external forces of all skeletons, states of their nodes and aspects, time and counts of steps,
    contacts that persist with their impulses, who sleeps, what integrators remember. It can be pickled, and saved to a
    file that is read without running code. What comes from a file or a pickle is checked against the world that it is
    put into; what this world, or one that took it before, gave is not checked again.
    """

    def __init__(self, structure: list[dict[str, Any]], data: dict[str, Any]):
        self._structure, self._data = structure, _frozen(data)
        # States that need no check, by what they are laid out for: `Engine.layout`.
        self._checked: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()

    def __reduce__(self) -> tuple[Any, ...]:
        return WorldSnapshot, (self._structure, self._data)

    def __copy__(self) -> WorldSnapshot:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> WorldSnapshot:
        return self

    @property
    def num_steps(self) -> int:
        """Steps that the world had done."""
        return int(self._data["steps"])

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        d = self._data
        return float(d["time_before"] + (d["steps"] - d["steps_before"]) * d["time_step"])

    @property
    def positions(self) -> np.ndarray:
        """Positions of all coordinates, skeleton after skeleton."""
        return fixed(self._data["q"])

    def save(self, path: str | PathLike[str]) -> None:
        """Write to a file (NumPy's .npz, whatever its name).

        Raises:
            StateError: the state of a user's node or aspect is nothing that can be written as plain data.
        """
        arrays: list[np.ndarray] = []
        text = json.dumps({"format": _FORMAT, "structure": self._structure, "data": _packed(self._data, arrays)})
        named: dict[str, Any] = {f"array_{k}": a for k, a in enumerate(arrays)}
        with Path(path).open("wb") as file:
            np.savez_compressed(file, text=np.frombuffer(text.encode(), np.uint8), **named)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> WorldSnapshot:
        """Read what `save` wrote.

        Raises:
            StateError: there is no such file, or it is something else or damaged.
        """
        try:
            with zipfile.ZipFile(path) as archive:
                arrays = _Arrays(archive, Path(path).stat().st_size)
                whole = json.loads(arrays["text"].tobytes().decode())
                if whole["format"] != _FORMAT:
                    raise StateError(f"{path}: a snapshot of another format: {in_few_words(whole['format'])}")
                _check(whole["structure"], _STRUCTURE, "structure")
                if not isinstance(whole["data"], dict):
                    raise TypeError("data is no object")
                found = cls(whole["structure"], _unpacked(whole["data"], arrays))
                repr((found, found.num_steps, found.positions))  # they need no world
                return found
        except StateError:
            raise
        except _DAMAGES as error:
            raise StateError(f"{path}: no snapshot of a world: {error!s:.300}") from error

    def __repr__(self) -> str:
        return f"WorldSnapshot({len(self._structure)} skeletons, t = {self.time:g} s)"


def snapshot_of(world: Owner) -> WorldSnapshot:
    """A snapshot of a world as it is."""
    made = WorldSnapshot(structure_of(world.skeletons), state_of(world))
    made._checked[world.engine.layout] = made._data
    return made


def check_fits(snapshot: WorldSnapshot, skeletons: Sequence[Skeleton], what: str) -> None:
    """Raise StateError unless a snapshot is of a world of these skeletons, by its names; numbers are not looked at."""
    _check_type(snapshot, what)
    try:
        _check(snapshot._structure, _STRUCTURE, "structure")
    except (TypeError, KeyError, RecursionError) as error:
        raise StateError(f"{what}: the snapshot is damaged: {error!r:.200}") from error
    difference = first_difference(snapshot._structure, structure_of(skeletons))
    if difference:
        raise StateError(f"{what}: the snapshot is of another structure: {difference}")


def _check_type(snapshot: Any, what: str) -> None:
    if not isinstance(snapshot, WorldSnapshot):
        raise StateError(f"{what}: expected what snapshot() returned, got {type(snapshot).__name__}")


def put_back(world: Owner, snapshot: WorldSnapshot, what: str) -> None:
    """Put a snapshot back into its world, or an equal one.

    Raises:
        StateError: it is none, is of another structure, or is damaged; the world is as it was.
    """
    _check_type(snapshot, what)
    layout = world.engine.layout
    state = snapshot._checked.get(layout)
    if state is not None and not any(state["carried"]):
        put_state(world, state)
        return
    if state is None:
        check_fits(snapshot, world.skeletons, what)
        try:
            state = _frozen(checked_state(world, snapshot._data, what))
        except StateError:
            raise
        except Exception as error:
            raise StateError(f"{what}: the snapshot is damaged: {error!r:.200}") from error
    put_checked_state(world, state, what)
    snapshot._checked[layout] = state


class Start:
    """The state that a world goes back to: given, or that before the first step of the present structure."""

    def __init__(self, given: WorldSnapshot | None = None):
        self._given, self._taken = given, given
        self._failed = ""

    def __deepcopy__(self, memo: dict[int, Any]) -> Start:
        return copy.copy(self)  # snapshots do not change

    def take(self, world: Any) -> None:
        """Take the state of a world that is about to step, unless what there is fits it or was given."""
        if self._given is not None:
            return
        if self._taken is None or first_difference(self._taken._structure, structure_of(world.skeletons)):
            try:
                self._taken, self._failed = world.snapshot(), ""
            except Exception as error:  # of a user's class; a step does not fail for that
                self._taken, self._failed = None, repr(error)

    def snapshot(self, what: str) -> WorldSnapshot:
        """It.

        Raises:
            StateError: it could not be copied.
        """
        if self._taken is None:
            raise StateError(f"{what}: the state before the first step could not be copied: {self._failed}")
        return self._taken


def _frozen(value: Any) -> Any:
    """Nested data with arrays that nobody can write to."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, dict):
        for item in value.values():
            _frozen(item)
    elif isinstance(value, list):
        for item in value:
            _frozen(item)
    return value


class _Arrays:
    """Arrays of numbers in a file as NumPy writes them, each read once, in no more memory than they say they need."""

    def __init__(self, archive: zipfile.ZipFile, size: int):
        self._archive, self._read = archive, {}
        total = sum(entry.file_size for entry in archive.infolist())
        if total > _MAX_BYTES or total > _SMALL + _MAX_RATIO * size:
            raise StateError(f"{archive.filename}: no snapshot of a world: {total >> 20} MiB when unpacked; refused")

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._read:
            self._read[name] = self._array(self._archive.getinfo(f"{name}.npy"))
        return self._read[name]

    def _array(self, entry: zipfile.ZipInfo) -> np.ndarray:
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{entry.filename} is compressed by method {entry.compress_type}")
        data = io.BytesIO(self._archive.read(entry))
        version = np.lib.format.read_magic(data)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"{entry.filename} is of version {version}")
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = header(data)
        if dtype.kind not in "biuf":
            raise ValueError(f"{entry.filename} holds {dtype}; expected numbers")
        numbers = np.frombuffer(data.getvalue(), dtype, offset=data.tell())
        return numbers.reshape(shape, order="F" if fortran else "C")


def _check(value: Any, like: Any, what: str) -> None:
    """Raise TypeError unless a value is built as an example is: texts, lists of what the example's first item is."""
    if type(value) is not type(like):
        raise TypeError(f"{what} is {value!r:.60}; expected {type(like).__name__}")
    if isinstance(value, list):
        for item in value:
            _check(item, like[0], what)
    elif isinstance(value, dict):
        for key, item in like.items():
            _check(value[key], item, key)


def _packed(value: Any, arrays: list[np.ndarray]) -> Any:
    """As JSON, with arrays as references into a list."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        arrays.append(value)
        return {_ARRAY: len(arrays) - 1}
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: _packed(item, arrays) for key, item in value.items()}
        if all(isinstance(key, int) for key in value):
            return {_MAP: [[key, _packed(item, arrays)] for key, item in value.items()]}
    if isinstance(value, list):
        return [_packed(item, arrays) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return {_PLAIN: plain(value, "snapshot")}


def _unpacked(value: Any, file: _Arrays) -> Any:
    if isinstance(value, dict):
        if _ARRAY in value:
            return file[f"array_{int(value[_ARRAY])}"]
        if _MAP in value:
            return {int(key): _unpacked(item, file) for key, item in value[_MAP]}
        if _PLAIN in value:
            return value[_PLAIN]
        return {key: _unpacked(item, file) for key, item in value.items()}
    if isinstance(value, list):
        return [_unpacked(item, file) for item in value]
    return value
