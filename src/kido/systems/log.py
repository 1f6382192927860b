"""Logs: signals and states written down at a rate of their own, kept or written to HDF5."""

from __future__ import annotations

import math
import os
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from kido.arrays import fixed
from kido.attributes import FixedAttributes
from kido.errors import FileFormatError, ModelError, NameLookupError, StateError
from kido.systems.clock import SECOND, Rate

if TYPE_CHECKING:
    from kido.systems.model import Port
    from kido.systems.system import System

Array = NDArray[np.float64]
ROWS = 4096  # that are written down before Python takes them; fewer where they are wide
_WIDE = 1 << 20  # numbers in them
_FORMAT = "kido log 1"
_CHUNK = 4096
_IMAGE = 1024  # numbers of a signal from which on it is compressed


class Log(FixedAttributes):
    """Values of ports at ticks of a rate, after all else that is due. `System.log` makes one.

    Attributes:
        rate: of its rows.
    """

    def __init__(self, system: System, ports: list[Port], rate: Rate, path: str | os.PathLike[str] | None):
        self._system: System | None = system
        self.rate = rate
        self._names = [port.path for port in ports]
        self._shapes = {port.path: port.shape for port in ports}
        self._units = {port.path: None if port.unit is None else port.unit.text for port in ports}
        self._times: list[NDArray[np.int64]] = []
        self._rows: list[Array] = []
        self._file: Any = None if path is None else self._new_file(path)
        self.path: str | None = None if path is None else os.fspath(path)

    def _new_file(self, path: str | os.PathLike[str]) -> Any:
        import h5py

        try:
            file = h5py.File(path, "w")
        except (OSError, ValueError, TypeError) as error:
            raise FileFormatError(path, None, f"cannot be written: {error!s:.300}") from error
        file.attrs["format"] = _FORMAT
        file.attrs["rate"] = self.rate.hertz
        file.create_dataset("nanoseconds", (0,), np.int64, maxshape=(None,), chunks=(_CHUNK,))
        for name in self._names:
            shape = self._shapes[name]
            size = math.prod(shape)
            options = {"compression": "gzip", "shuffle": True} if size >= _IMAGE else {}
            chunks = (min(_CHUNK, max(1, _WIDE // (8 * size))), *shape)
            made = file.create_dataset(
                f"signals/{name}", (0, *shape), np.float64, maxshape=(None, *shape), chunks=chunks, **options
            )
            unit = self._units[name]
            if unit is not None:
                made.attrs["unit"] = unit
        return file

    # For systems -------------------------------------------------------------------------------------------

    @property
    def room(self) -> int:
        """Rows that are written down before Python takes them."""
        return min(ROWS, max(1, _WIDE // sum(math.prod(shape) for shape in self._shapes.values())))

    def slots(self, linked: Any) -> list[int]:
        """Values of its ports in a program; those that are gone are NaN."""
        known = {f"{path}.{name}": slots for (path, name), slots in linked.slots.items()}
        found = []
        for name in self._names:
            size = math.prod(self._shapes[name])
            slots = known.get(name, ())
            found += slots if len(slots) == size else [linked.constant(float("nan"))] * size
        return found

    def take(self, recording: Any) -> None:
        """What has been written down since it was called before."""
        n = int(recording.count)
        if n == 0:
            return
        times, rows = recording.times[:n].copy(), recording.rows[:n].copy()
        recording.count = 0
        if self._file is None:
            self._times.append(times)
            self._rows.append(rows)
            return
        at = len(self._file["nanoseconds"])
        for name, values in {"nanoseconds": times, **self._split(rows, "signals/")}.items():
            dataset = self._file[name]
            dataset.resize(at + n, axis=0)
            dataset[at:] = values
        self._file.flush()

    def _split(self, rows: Array, prefix: str = "") -> dict[str, Array]:
        found, first = {}, 0
        for name in self._names:
            shape = self._shapes[name]
            size = math.prod(shape)
            found[prefix + name] = rows[:, first : first + size].reshape(len(rows), *shape)
            first += size
        return found

    # For people --------------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """Paths of what is logged."""
        return tuple(self._names)

    @property
    def units(self) -> dict[str, str | None]:
        """By path (a copy); None: any."""
        return dict(self._units)

    def _kept(self) -> tuple[NDArray[np.int64], dict[str, Array]]:
        if self._file is not None or (self.path is not None and self._system is None):
            raise StateError(f"log: its rows are in {self.path}; close() it and read them by kido.systems.read_log")
        width = sum(math.prod(self._shapes[n]) for n in self._names)
        times = np.concatenate(self._times) if self._times else np.empty(0, np.int64)
        return times, self._split(np.concatenate(self._rows) if self._rows else np.empty((0, width)))

    @property
    def times(self) -> Array:
        """(rows,) [s].

        Raises:
            StateError: it is written to a file.
        """
        return fixed(self._kept()[0] / SECOND)

    def __getitem__(self, port: str | Port) -> Array:
        """(rows, ...) values of a port, by its path.

        Raises:
            NameLookupError: it is not logged.
            StateError: the log is written to a file.
        """
        name = port if isinstance(port, str) else port.path
        if name not in self._names:
            raise NameLookupError("signal of the log", name, self._names)
        return fixed(self._kept()[1][name])

    def close(self) -> None:
        """Log no more; closes its file. What it kept stays."""
        system, self._system = self._system, None
        if system is not None:
            system.end_log(self)
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Log({len(self._names)} signals, {self.rate}, {self.path or 'kept'})"


class LogData(FixedAttributes):
    """What a log wrote to a file.

    Attributes:
        times: (rows,) [s].
        nanoseconds: (rows,) the same as whole numbers.
        values: (rows, ...) by path.
        units: by path; None: any.
        rate: of rows [Hz].
    """

    def __init__(
        self, nanoseconds: NDArray[np.int64], values: dict[str, Array], units: dict[str, str | None], rate: float
    ):
        self.nanoseconds, self.values, self.units, self.rate = nanoseconds, values, units, rate
        self.times: Array = nanoseconds / SECOND

    def __getitem__(self, name: str) -> Array:
        """(rows, ...) values of a port, by its path."""
        if name not in self.values:
            raise NameLookupError("signal of the log", name, list(self.values))
        return self.values[name]


def read_log(path: str | os.PathLike[str]) -> LogData:
    """Read what a `Log` wrote; rows that not all signals have, of a run that was killed, are left out.

    Raises:
        FileFormatError: there is no such file, or it is something else or damaged.
    """
    import h5py

    try:
        with h5py.File(path, "r") as opened:
            file: Any = opened
            if file.attrs.get("format") != _FORMAT:
                raise FileFormatError(path, None, f"no log of KIDO: its format is {file.attrs.get('format')!r:.60}")
            datasets = {name: item for name, item in file["signals"].items() if isinstance(item, h5py.Dataset)}
            n = min([len(file["nanoseconds"]), *map(len, datasets.values())])
            values = {name: np.asarray(item[:n], float) for name, item in datasets.items()}
            units = {name: item.attrs.get("unit") for name, item in datasets.items()}
            return LogData(np.asarray(file["nanoseconds"][:n], np.int64), values, units, float(file.attrs["rate"]))
    except FileFormatError:
        raise
    except (OSError, KeyError, ValueError, TypeError, AttributeError, RuntimeError) as error:
        raise FileFormatError(path, None, f"no log of KIDO: {error!s:.300}") from error


def as_ports(system: System, given: Any, what: str = "log") -> list[Port]:
    """Ports from ports and paths; a model or an assembly stands for all of its own.

    Raises:
        ModelError: none, or one twice.
    """
    from kido.systems.assembly import Assembly
    from kido.systems.model import Model, Port

    found: list[Port] = []
    for item in given if isinstance(given, list | tuple) else [given]:
        thing = system[item] if isinstance(item, str) else item
        if isinstance(thing, Assembly):
            found += [port for m in thing.models for port in m.ports]
        elif isinstance(thing, Model):
            found += thing.ports
        elif isinstance(thing, Port):
            found.append(thing)
        else:
            raise ModelError(f"{what}: expected ports, models or paths, got {item!r:.100}")
    for port in found:
        if port.model.parent is None or port.model.parent.root_system() is not system:
            raise ModelError(f"{what}: {port.path} is of no model in the system")
    if not found or len(set(found)) < len(found):
        raise ModelError(f"{what}: expected at least one port, and each once, got {given!r:.100}")
    return found
