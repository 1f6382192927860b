"""A snapshot of a world: everything the next step depends on, as an object that can be kept, pickled and saved."""

from __future__ import annotations

import json
import lzma
import zipfile
import zlib
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.errors import StateError
from kido.skeleton.state.plain import plain

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

_FORMAT = "kido world snapshot 1"
_ARRAY, _MAP, _PLAIN = "$array", "$map", "$plain"
_MAX_BYTES = 2**32
_STRUCTURE = [{"name": "", "bodies": [{"name": "", "parent": "", "joint": "", "shapes": [""]}]}]
_DAMAGES = (
    *(OSError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError),
    *(MemoryError, RecursionError, RuntimeError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)


def structure_of(skeletons: list[Skeleton]) -> list[dict[str, Any]]:
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
        return f"it is of skeletons {_listed(names)}; the world has {_listed(here)}"
    for one, two in zip(given, present, strict=True):
        bodies, its = [b["name"] for b in one["bodies"]], [b["name"] for b in two["bodies"]]
        if bodies != its:
            missing = [b for b in bodies if b not in its] + [b for b in its if b not in bodies]
            return f"skeleton {one['name']!r} has other bodies: {', '.join(missing or ['another order'])}"
        for b, own in zip(one["bodies"], two["bodies"], strict=True):
            for key in ("parent", "joint", "shapes"):
                if b[key] != own[key]:
                    where = f"skeleton {one['name']!r}, body {b['name']!r}: {key}"
                    return f"{where}: saved is {b[key]!r}, the world has {own[key]!r}"
    return ""


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return (", ".join(names[:8]) or "none") + more


def data_for(snapshot: WorldSnapshot, skeletons: list[Skeleton], what: str) -> dict[str, Any]:
    """The data of a snapshot, for a world of these skeletons.

    Raises:
        StateError: it is of another structure, or no snapshot.
    """
    if not isinstance(snapshot, WorldSnapshot):
        raise StateError(f"{what}: expected what snapshot() returned, got {type(snapshot).__name__}")
    difference = first_difference(snapshot._structure, structure_of(skeletons))
    if difference:
        raise StateError(f"{what}: the snapshot is of another structure: {difference}")
    return snapshot._data


class WorldSnapshot:
    """What `World.snapshot` took and `World.restore` puts back; nothing in it changes with the world.

    State, commands and external forces of all skeletons, states of their nodes and aspects, time and counts of steps,
    contacts that persist with their impulses, who sleeps, what integrators remember. It can be pickled, and saved to a
    file that is read without running code.
    """

    def __init__(self, structure: list[dict[str, Any]], data: dict[str, Any]):
        self._structure, self._data = structure, data

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
        """Positions of all coordinates, skeleton after skeleton (a copy)."""
        return np.array(self._data["q"])

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
                size = sum(entry.file_size for entry in archive.infolist())
            if size > _MAX_BYTES:
                raise StateError(f"{path}: no snapshot of a world: larger than {_MAX_BYTES // 2**20} MiB; refused")
            with np.load(path, allow_pickle=False) as file:
                whole = json.loads(file["text"].tobytes().decode())
                if whole["format"] != _FORMAT:
                    raise StateError(f"{path}: a snapshot of another format: {whole['format']!r}")
                _check(whole["structure"], _STRUCTURE, "structure")
                if not isinstance(whole["data"], dict):
                    raise TypeError("data is no object")
                found = cls(whole["structure"], _unpacked(whole["data"], file))
                repr(found)  # it says when it was taken
                return found
        except StateError:
            raise
        except _DAMAGES as error:
            raise StateError(f"{path}: no snapshot of a world: {error}") from error

    def __repr__(self) -> str:
        return f"WorldSnapshot({len(self._structure)} skeletons, t = {self.time:g} s)"


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


def _unpacked(value: Any, file: Any) -> Any:
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
