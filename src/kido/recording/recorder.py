"""Writes a simulation to a file while it runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib import import_module
from types import TracebackType
from typing import Any

import numpy as np

from kido.attributes import FixedAttributes
from kido.math.transform import as_numbers, number_or_nan, takes
from kido.recording import layout
from kido.recording.capture import Probe
from kido.recording.codec import RecordingError, encode
from kido.recording.tables import TableWriter
from kido.recording.users import plain_states
from kido.recording.world_description import world_to_dict
from kido.simulation import World
from kido.simulation.soft_bodies import SoftBodies
from kido.tree import TREE
from kido.turns import Turn, in_turn

Signal = Callable[[World], Any]


class Recorder(FixedAttributes):
    """Records a world from the moment it is made until it is closed.

    Each frame holds time, positions, velocities, commands, applied external forces, contacts with
    their forces, energies, the solver's report and the user's own signals. Changes of structure become events
    and may happen at any time. Complete states are kept at the start, at the end, and every
    `checkpoint_every` frames, from which `Recording.resume` continues bit for bit. What was flushed
    survives a crash.

    Make the recorder before step callbacks that apply forces, so that it sees those of the step just done.

    Args:
        world: what to record.
        path: HDF5 file to create.
        every: record each so-manieth step; the state on closing is always recorded.
        signals: functions of the world by name, each returning a number or an array of fixed shape.
        checkpoint_every: frames between complete states.
        flush_interval: seconds between writes [s]; a crash loses at most so much.
        overwrite: replace an existing file.

    Raises:
        RecordingError: the file cannot be written, an argument is wrong, or a signal gives no numbers.

    Example:
        >>> with kido.Recorder(world, "run.h5") as recorder:
        ...     world.step(1000)
        ...     recorder.event("let go")
        ...     world.step(1000)
    """

    def __init__(
        self,
        world: World,
        path: str | os.PathLike[str],
        every: int = 1,
        signals: Mapping[str, Signal] | None = None,
        *,
        checkpoint_every: int = 1000,
        flush_interval: float = 1.0,
        overwrite: bool = False,
    ) -> None:
        if not isinstance(world, World):
            raise RecordingError(f"world is {world!r}, expected a kido.World")
        if not isinstance(path, str | os.PathLike):
            raise RecordingError(f"path is {path!r}, expected the name of a file to write")
        self.world = world
        self._every = _count("every", every)
        self._checkpoint_every = _count("checkpoint_every", checkpoint_every)
        if not 0.0 <= number_or_nan(flush_interval) < np.inf:
            raise RecordingError(f"flush_interval is {flush_interval!r}; expected seconds, not below 0")
        if signals is not None and not isinstance(signals, Mapping):
            raise RecordingError(f"signals is {signals!r}, expected functions of the world by name")
        self._signals = dict(signals or {})
        self._shapes: dict[str, tuple[int, ...]] = {}
        first = self._read_signals(first=True)
        description = world_to_dict(world)
        engine = world.engine
        self._points = len(engine.feature(SoftBodies).displacements)
        self._writer = TableWriter(
            path,
            layout.tables(engine.data.q.shape[0], self._shapes, self._points),
            self._attributes(),
            float(flush_interval),
            overwrite,
        )
        self._frames = 0
        self._structures = 0
        self._serial = 0
        self._since_checkpoint = 0
        self._last_step = -1
        self._first_step = world.num_steps
        self._converged = True
        self._skeletons: tuple[Any, ...] = ()
        self._pushes = list(world.pushes.all)
        self.event("recording started", kind="start")
        self._note_structure(description)
        self._frame(first, engine.commands())
        self._checkpoint()
        self._writer.flush()
        self._remove = world.add_step_callback(self._on_step)

    def _attributes(self) -> dict[str, Any]:
        return {
            "format": layout.FORMAT,
            "format_version": layout.FORMAT_VERSION,
            "kido_version": import_module("kido").__version__,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "world": str(self.world.name),
            "time_step": self.world.time_step,
            "gravity": self.world.gravity,
            "every": self._every,
        }

    @property
    def turn(self) -> Turn:
        """Whose turn it is to write: that of the world."""
        return self.world.turn

    @property
    def path(self) -> str:
        """The file being written."""
        return str(self._writer.path)

    @property
    def num_frames(self) -> int:
        """Frames recorded so far."""
        return self._frames

    @property
    def closed(self) -> bool:
        """Whether recording has ended."""
        return self._writer.closed

    # While it runs ---------------------------------------------------------------------------------------

    @in_turn
    def event(self, text: str, kind: str = "user") -> None:
        """Note something at the present time.

        Raises:
            RecordingError: recording has ended.
        """
        if self._writer.closed:
            raise RecordingError(f"{self.path}: recording has ended; no event can be added")
        blob = encode({"kind": str(kind), "text": str(text)})
        self._add_blob("events", (self.world.num_steps, self.world.time), blob)

    @in_turn
    def checkpoint(self) -> None:
        """Keep the complete state of the present frame, from which `Recording.resume` starts quickly."""
        self._last_frame()
        self._checkpoint()

    @in_turn
    def flush(self) -> None:
        """Write what is buffered now."""
        self._writer.flush()

    def _on_step(self, world: World) -> None:
        if (world.num_steps - self._first_step) % self._every == 0:
            self._note_changes()
            self._frame(self._read_signals(), world.engine.last_commands())
            # How long a push goes on is in complete states alone.
            known, self._pushes = self._pushes, list(world.pushes.all)
            began = any(all(p is not k for k in known) for p in self._pushes)
            if began or self._since_checkpoint >= self._checkpoint_every:
                self._checkpoint()

    def _frame(self, signals: tuple[np.ndarray, ...], commands: np.ndarray) -> None:
        world = self.world
        frame = self._probe.frame(self._structures - 1, commands, self._points > 0)
        blocks: list[tuple[str, tuple[Any, ...]]] = [("frames", frame.values)]
        if signals:
            blocks.append(("signals", signals))
        if frame.contacts is not None:
            blocks.append(("contacts", frame.contacts))
        if frame.external is not None:
            blocks.append(("external", frame.external))
        self._writer.add(*blocks)
        self._frames += 1
        self._since_checkpoint += 1
        self._last_step = world.num_steps
        converged = bool(frame.values[8])
        if converged != self._converged:
            self._converged = converged
            text = "converges again" if converged else f"did not converge, residual {frame.values[5]:.2g}"
            self.event(f"contact solver {text}", kind="solver")

    def _read_signals(self, first: bool = False) -> tuple[np.ndarray, ...]:
        values = []
        for name, function in self._signals.items():
            if first and (not isinstance(name, str) or not name or "/" in name or name == "."):
                raise RecordingError(f"signal name {name!r}, expected a text without '/'")
            if first and not callable(function):
                raise RecordingError(f"signal {name!r} is {function!r}, expected a function of the world")
            if first and not takes(function, 1):
                raise RecordingError(f"signal {name!r} is {function!r}, expected a function of the world alone")
            result = function(self.world)
            try:
                value = as_numbers(result)
            except (TypeError, ValueError):
                raise RecordingError(f"signal {name!r} gave {result!r}, expected a number or an array") from None
            if value.size == 0:
                raise RecordingError(f"signal {name!r} gave an empty array, expected numbers")
            if first:
                self._shapes[name] = value.shape
            elif value.shape != self._shapes[name]:
                raise RecordingError(
                    f"signal {name!r} has shape {value.shape}, expected {self._shapes[name]} as at the start"
                )
            values.append(value)
        return tuple(values)

    # Structure and states --------------------------------------------------------------------------------

    def _parameters(self) -> tuple[Any, ...]:
        world = self.world
        laws = world.restitution_law, world.position_correction, world.spring_law, self._probe.engine.surfaces
        return world.time_step, world.gravity.tobytes(), *laws

    def _note_changes(self) -> None:
        """Describe the world anew, with events and a complete state, if it is not as described last."""
        world = self.world
        if self._probe.valid and self._parameters() == self._known:
            return
        before, now = self._skeletons, world.skeletons
        texts = [("skeleton", f"skeleton removed: {s.name}") for s in before if s not in now]
        texts += [("skeleton", f"skeleton added: {s.name}") for s in now if s not in before]
        if world.time_step != self._known[0]:
            texts.append(("parameter", f"time step changed to {world.time_step:g} s"))
        if world.gravity.tobytes() != self._known[1]:
            texts.append(("parameter", f"gravity changed to {world.gravity.tolist()} m/s^2"))
        for kind, text in texts or [("structure", "shapes, surfaces, flags or collision filters changed")]:
            self.event(text, kind)
        self._note_structure(world_to_dict(world))
        self._since_checkpoint = self._checkpoint_every

    def _note_structure(self, description: dict[str, Any]) -> None:
        self._add_blob("structures", (self.world.num_steps,), encode(description))
        self._structures += 1
        self._skeletons = self.world.skeletons
        self._probe = Probe(self.world)
        self._known = self._parameters()
        self._constants = self._fingerprint()

    def _fingerprint(self) -> bytes:
        """All constant numbers of the forest: changes when a mass, a limit or a spring does, not when a part sleeps."""
        constant = (name for name in TREE.arrays if name not in ("moves", "tree_mobile"))
        return b"".join(getattr(self._probe.engine.tree, name).tobytes() for name in constant)

    def _checkpoint(self) -> None:
        if self._fingerprint() != self._constants:
            self.event("properties of bodies or joints changed", "structure")
            self._note_structure(world_to_dict(self.world))
        row = (self._frames - 1, self._structures - 1, self.world.num_steps)
        self._add_blob("checkpoints", row, encode(plain_states(self.world.state())))
        self._since_checkpoint = 0

    def _add_blob(self, table: str, row: tuple[Any, ...], blob: Any) -> None:
        self._serial += 1
        self._writer.add(
            (table, (*row, self._serial, len(blob.text), len(blob.floats), len(blob.integers))),
            ("text", (blob.text,)),
            ("floats", (blob.floats,)),
            ("integers", (blob.integers,)),
        )

    # Ending ----------------------------------------------------------------------------------------------

    def _last_frame(self) -> None:
        # An interrupt may have come between a row and its count.
        self._frames = self._writer.rows("frames")
        self._structures = self._writer.rows("structures")
        self._last_step = int(self._writer.last("frames", "step"))
        self._note_changes()
        if self.world.num_steps != self._last_step:
            self._frame(self._read_signals(), self.world.engine.last_commands())

    @in_turn
    def close(self, reason: str = "recording ended") -> None:
        """Record the present state, write everything and close the file; may be called again.

        Raises:
            RecordingError: the file could not be written completely.
        """
        if self._writer.closed:
            return
        self._remove()
        try:
            data = self.world.engine.data
            if np.isfinite(data.q).all() and np.isfinite(data.u).all():
                self._last_frame()
                self._checkpoint()
            self.event(reason, kind="end")
        finally:
            self._writer.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
            return
        text = str(error)
        try:
            self.close(f"stopped by {kind.__name__}" + (f": {text}" if text else ""))
        except RecordingError:
            pass  # the error that ended the simulation is the one to show

    def __repr__(self) -> str:
        return f"Recorder({self.path!r}, {self._frames} frames{', closed' if self.closed else ''})"


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise RecordingError(f"{name} is {value!r}, expected a whole number above 0")
    return int(value)
