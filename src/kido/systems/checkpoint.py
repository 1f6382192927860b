"""Checkpoints: all that the future of a system depends on, in memory and in files."""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from kido.attributes import FixedAttributes
from kido.errors import StateError
from kido.simulation import WorldSnapshot
from kido.systems.writing import writing

_FORMAT = "kido system checkpoint 2"
CLOCK = ("now", "parts", "part", "ticked", "steps", "located", "events")  # integers of SYSTEM
SECONDS = ("elapsed", "begin")  # floats
RATES = ("ticks", "next", "carry")  # arrays
METHOD = ("next_size", "last_error")  # of MOTION
_MOST = 2**31  # bytes that a file unpacks to


class Checkpoint(FixedAttributes):
    """What `System.checkpoint` took and `System.restore` puts back, bit for bit, in another process too.

    States, held outputs, parameters, the clock and when each rate is due, crossings, the step size of an adaptive
    integrator; the seed; and a snapshot of the world. Not the models: they are the program's.
    """

    def __init__(self, topology: str, data: dict[str, np.ndarray], world: WorldSnapshot | None):
        self._topology, self._data, self._world = topology, data, world
        for array in data.values():
            array.flags.writeable = False

    @property
    def time(self) -> float:
        """[s]"""
        return float(self._data["clock"][0]) / 1e9 + float(self._data["seconds"][0])

    @property
    def topology(self) -> str:
        """Hash of the structure that it fits."""
        return self._topology

    @property
    def world(self) -> WorldSnapshot | None:
        """Of the world, if the system has one."""
        return self._world

    def arrays(self) -> dict[str, np.ndarray]:
        """What it holds, by name."""
        return self._data

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a file (a zip archive of NumPy's arrays, whatever its name).

        Raises:
            FileFormatError: it cannot be written.
        """
        parts: dict[str, Any] = dict(self._data)
        if self._world is not None:
            with tempfile.TemporaryDirectory() as folder:
                name = Path(folder, "world")
                self._world.save(name)
                parts["world"] = np.frombuffer(name.read_bytes(), np.uint8)
        head = json.dumps({"format": _FORMAT, "topology": self._topology}).encode()
        with writing(path) as target, target.open("wb") as file:
            np.savez_compressed(file, head=np.frombuffer(head, np.uint8), **parts)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Checkpoint:
        """Read what `save` wrote; nothing in it is run.

        Raises:
            StateError: there is no such file, or it is something else or damaged.
        """
        try:
            content = Path(path).read_bytes()
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                if sum(entry.file_size for entry in archive.infolist()) > _MOST:
                    raise ValueError("too large")
            with np.load(io.BytesIO(content), allow_pickle=False) as found:
                head = json.loads(found["head"].tobytes().decode())
                if head["format"] != _FORMAT:
                    raise ValueError(f"format {head['format']!r:.60}")
                data = {name: found[name] for name in found.files if name not in ("head", "world")}
                world = None
                if "world" in found.files:
                    with tempfile.TemporaryDirectory() as folder:
                        name = Path(folder, "world")
                        name.write_bytes(found["world"].tobytes())
                        world = WorldSnapshot.load(name)
            return cls(str(head["topology"]), {name: _checked(name, array) for name, array in data.items()}, world)
        except Exception as error:  # whatever a damaged archive brings about
            raise StateError(f"{os.fspath(path)}: no checkpoint of a system: {error!s:.300}") from error

    def __repr__(self) -> str:
        return f"Checkpoint(t = {self.time:g} s)"


_KINDS = {
    "value": "f",
    "seconds": "f",
    "method": "f",
    "before": "f",
    "new": "i",
    "clock": "i",
    "seed": "i",
    **dict.fromkeys(RATES, "i"),
}


def _checked(name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype.kind != _KINDS[name] or array.dtype.itemsize != 8 or array.ndim != 1:
        raise ValueError(f"{name} is {array.dtype} {array.shape}")
    return array.copy()


def taken(engine: Any, seed: int, world: WorldSnapshot | None) -> Checkpoint:
    """A checkpoint of an engine."""
    s, linked = engine.system, engine.linked
    data = {
        "value": engine.value[: linked.size].copy(),
        "clock": np.array([getattr(s, name) for name in CLOCK], np.int64),
        "seconds": np.array([getattr(s, name) for name in SECONDS]),
        "method": np.array([getattr(engine.motion, name) for name in METHOD]),
        "seed": np.array([seed], np.int64),
        "before": s.before[: len(linked.crossings)].copy(),
        "new": np.array(engine.new_outputs(), np.int64),
    }
    data |= {name: getattr(s, name)[: linked.num_rates].copy() for name in RATES}
    return Checkpoint(engine.topology(), data, world)


def check_fits(checkpoint: Checkpoint, engine: Any, what: str) -> None:
    """Raise StateError unless a checkpoint is of an engine's structure and its numbers can be.

    Numbers of models that are not finite are refused; values between are found anew.
    """
    data, linked = checkpoint.arrays(), engine.linked
    if checkpoint.topology != engine.topology():
        raise StateError(
            f"{what}: the checkpoint is of a system of other models, equations, connections or rates, or of "
            "another integrator or step"
        )
    sizes = {
        "value": linked.size, "clock": len(CLOCK), "seconds": len(SECONDS), "method": len(METHOD), "seed": 1,
        "before": len(linked.crossings), "new": len(linked.at_ticks),
    } | dict.fromkeys(RATES, linked.num_rates)  # fmt: skip
    if {name: len(array) for name, array in data.items()} != sizes:
        raise StateError(f"{what}: the checkpoint is damaged: its arrays have other sizes")
    clock = dict(zip(CLOCK, data["clock"].tolist(), strict=True))
    seconds, method = data["seconds"], data["method"]
    good = min(clock.values()) >= 0 and np.isfinite(seconds).all() and (seconds >= 0.0).all()
    good = good and np.isfinite(method).all() and (data["next"] >= clock["now"]).all() and (data["ticks"] >= 0).all()
    if not good or (data["carry"] < 0).any() or (data["carry"] >= engine.system.denominator[: linked.num_rates]).any():
        raise StateError(f"{what}: the checkpoint is damaged: its clock cannot be")
    kept = [slot for slots in engine.remembered().values() for slot in slots]
    if not np.isfinite(data["value"][kept]).all():
        raise StateError(f"{what}: the checkpoint is damaged: a state is not finite")


def put_back(checkpoint: Checkpoint, engine: Any) -> None:
    """Put a checkpoint that fits back into an engine."""
    data, s = checkpoint.arrays(), engine.system
    engine.value[: engine.linked.size] = data["value"]
    clock = dict(zip(CLOCK, data["clock"].tolist(), strict=True))
    engine.set_clock(clock["now"], float(data["seconds"][0]), clock["ticked"])
    for name, number in zip(CLOCK, data["clock"].tolist(), strict=True):
        setattr(s, name, number)
    for name, number in zip(SECONDS, data["seconds"].tolist(), strict=True):
        setattr(s, name, number)
    for name, number in zip(METHOD, data["method"].tolist(), strict=True):
        setattr(engine.motion, name, number)
    for name in RATES:
        getattr(s, name)[: engine.linked.num_rates] = data[name]
    s.before[: len(engine.linked.crossings)] = data["before"]
    engine.set_new_outputs(data["new"].tolist())
    s.pending = s.failure = 0
    s.value[0] = engine.time
    engine.refresh()
