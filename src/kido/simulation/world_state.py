"""Everything that the next step of a world depends on besides its structure: taken out, put back, and as a file."""

from __future__ import annotations

import copy
import json
import lzma
import zipfile
import zlib
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.errors import StateError
from kido.math.transform import as_numbers
from kido.simulation.owner import Owner
from kido.simulation.world_struct import REPORT
from kido.skeleton.state.arrays import STATE_FIELDS
from kido.skeleton.state.plain import plain
from kido.skeleton.state.snapshot import carried_states, put_carried_states

if TYPE_CHECKING:
    from kido.simulation.engine import Engine
    from kido.skeleton import Skeleton


_NUMBERS = 16  # of a report as recordings have it, the last ones zero
_IMPULSES = ("limit_impulse", "friction_impulse", "actuator_impulse")
_FORCES = ("actuator_force", "constraint_force")


def report_numbers(report: REPORT) -> np.ndarray:
    """The fields of a report in order."""
    numbers = np.zeros(_NUMBERS)
    numbers[: len(REPORT.fields)] = [getattr(report, name) for name in REPORT.fields]
    return numbers


def set_report(report: REPORT, numbers: np.ndarray) -> None:
    """Restore what `report_numbers` returned; older recordings have fewer."""
    for name, value in zip(REPORT.fields, numbers, strict=False):
        setattr(report, name, value)


def warm_state(engine: Engine) -> dict[str, Any]:
    """What the next step needs besides the skeletons' states: persistent contacts, impulses, what features keep."""
    return {
        "detector": engine.detector.state(),
        **{name: getattr(engine.row_origins, name).copy() for name in _IMPULSES},
        **{name: getattr(engine.world, name).copy() for name in _FORCES},
        "last": report_numbers(engine.world.last),
        "worst": report_numbers(engine.world.worst),
        "unconverged": np.array([engine.world.unconverged]),
        **{feature.key: feature.state() for feature in engine.features if feature.key},
    }


def set_warm_state(engine: Engine, state: dict[str, Any]) -> None:
    """Restore what `warm_state` returned."""
    engine.detector.set_state(state["detector"])
    for struct, names in ((engine.row_origins, _IMPULSES), (engine.world, _FORCES)):
        for name in names:  # those of actuators are not in older recordings
            getattr(struct, name)[:] = state.get(name, 0.0) if name.startswith("actuator") else state[name]
    set_report(engine.world.last, state["last"])
    set_report(engine.world.worst, state["worst"])
    engine.world.unconverged = int(state["unconverged"][0])
    for feature in engine.features:
        if feature.key:
            feature.set_state(state.get(feature.key))
    engine.link()


def state_of(world: Owner) -> dict[str, Any]:
    """The state of a world as plain data."""
    engine = world.engine
    d = engine.data
    return {
        "skeletons": [s.name for s in world.skeletons],
        **world.clock,
        "time_step": world.time_step,
        **{f: getattr(d, f).copy() for f in STATE_FIELDS},
        "applied": [{i: row.copy() for i, row in s.current_state.applied.items()} for s in world.skeletons],
        "warm": warm_state(engine),
        "pushes": world.pushes.state(world.skeletons),
        "carried": [carried_states(s) for s in world.skeletons],
    }


def set_state(world: Owner, state: dict[str, Any]) -> None:
    """Restore what `state_of` returned, or leave the world as it was (StateError)."""
    engine = world.engine
    names = [s.name for s in world.skeletons]
    d = engine.data
    if not isinstance(state, dict) or not {"skeletons", "q", "applied", "warm"} <= state.keys():
        raise StateError(f"world {world.name!r}: restore: not the state of a world: {type(state).__name__}")
    given, q, applied = state["skeletons"], state["q"], state["applied"]
    lists = isinstance(given, list) and all(isinstance(name, str) for name in given) and isinstance(applied, list)
    if not lists or getattr(q, "ndim", 0) != 1:
        raise StateError(f"world {world.name!r}: restore: the state is damaged: it has no lists of skeletons")
    if given != names or len(q) != len(d.q) or len(applied) != len(names):
        raise StateError(
            f"world {world.name!r}: the state is of skeletons {given} with {len(q)} dofs; "
            f"this world has {names} with {len(d.q)}"
        )
    before = state_of(world)
    try:
        put_state(world, state)
    except Exception as error:
        put_state(world, before)
        if isinstance(error, StateError):
            raise
        raise StateError(f"world {world.name!r}: restore: the state is damaged: {error!r}") from error


def put_state(world: Owner, state: dict[str, Any]) -> None:
    """Write a state into a world, unchecked."""
    engine, skeletons = world.engine, world.skeletons
    for field in STATE_FIELDS:
        getattr(engine.data, field)[:] = as_numbers(state.get(field, 0.0))  # an older recording has no "command"
    for s, rows in zip(skeletons, state["applied"], strict=True):
        s.clear_external_forces()
        for index, row in rows.items():
            s.current_state.add_external(index, row)
    world.time_step = state["time_step"]  # checked
    world.clock = state
    set_warm_state(engine, state["warm"])
    world.pushes.set_state(state.get("pushes", []), skeletons)
    world.version += 1
    for s, states in zip(skeletons, state.get("carried", []), strict=False):  # recordings have none
        put_carried_states(s, states)


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
