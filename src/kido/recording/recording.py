"""Reads what a `Recorder` wrote, finished or not."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kido.recording.errors import RecordingError
from kido.recording.file import RecordingFile
from kido.recording.restore import Motion, RecordedFrame, display_world, motion, replay, restore
from kido.recording.world_description import dof_names, dofs_of
from kido.simulation import World

Array = NDArray[np.float64]


class Event(NamedTuple):
    """Something that happened: after which step, when [s], of which kind, in words."""

    step: int
    time: float
    kind: str
    text: str


class Energies(NamedTuple):
    """Energies of all frames (T,) [J]."""

    kinetic: Array
    potential: Array
    total: Array


class SkeletonRecording(NamedTuple):
    """One skeleton over all frames (T, dofs); NaN where it was not in the world."""

    name: str
    dof_names: list[str]
    positions: Array
    velocities: Array
    commands: Array


class Recording(RecordingFile):
    """A recorded simulation.

    Frames are numbered from 0; negative numbers count from the end. Arrays over time have a row per frame.
    A recording can be opened while it is being written, and then shows what was flushed.

    Attributes:
        path: the file.
        finished: False if the recorder is still at work or died.
        metadata: version, creation date, time step, gravity and so on, as at the start.
        times: (T,) [s].
        steps: (T,) steps done by the world.

    Raises:
        RecordingError: the file is not there, or is no recording.

    Example:
        >>> recording = kido.Recording.open("run.h5")
        >>> recording.skeleton("arm").positions[-1]
        >>> world = recording.resume()
    """

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Recording:
        """Open a recording."""
        return cls(path)

    # Frames ----------------------------------------------------------------------------------------------

    @property
    def energies(self) -> Energies:
        """Energies of all frames."""
        kinetic, potential = self.column("kinetic_energy"), self.column("potential_energy")
        return Energies(kinetic, potential, kinetic + potential)

    @property
    def solver(self) -> Mapping[str, NDArray[Any]]:
        """The solver's report over time; its keys are those of `StepReport`."""
        names = ("residual", "iterations", "max_penetration", "converged", "dissipation")
        return {**{name: self.column(name) for name in names}, "contacts": self.column("contact_count")}

    @property
    def signals(self) -> Mapping[str, Array]:
        """The user's own signals by name, each (T, ...)."""
        names = self.tables.columns("signals")
        return MappingProxyType({name: self.tables.read("signals", name) for name in names})

    # Skeletons and structure -----------------------------------------------------------------------------

    @property
    def skeleton_names(self) -> list[str]:
        """Names of all skeletons that were ever in the world."""
        described = [self.description(k)["skeletons"] for k in range(self.num_structures)]
        return list(dict.fromkeys(s["name"] for skeletons in described for s in skeletons))

    @property
    def dof_names(self) -> list[str]:
        """Names "skeleton/dof" of the columns of `positions`, as at the start."""
        return dof_names(self.description(0))

    def skeleton(self, name: str) -> SkeletonRecording:
        """One skeleton over all frames.

        Raises:
            RecordingError: there never was one of that name.
        """
        whole = (self.positions, self.velocities, self.commands)
        parts: list[Array] | None = None
        names: list[str] = []
        for structure in range(self.num_structures):
            start = 0
            for item in self.description(structure)["skeletons"]:
                dofs = dofs_of(item)
                if item["name"] == name:
                    if parts is None:
                        names = dofs
                        parts = [np.full((self.num_frames, len(dofs)), np.nan) for _ in whole]
                    if dofs != names:
                        raise RecordingError(f"{self.path}: skeleton {name!r} changed its degrees of freedom")
                    rows = self.structures == structure
                    for part, source in zip(parts, whole, strict=True):
                        part[rows] = source[rows, start : start + len(dofs)]
                start += len(dofs)
        if parts is None:
            raise RecordingError(
                f"{self.path}: no skeleton {name!r}; expected one of: {', '.join(self.skeleton_names)}"
            )
        return SkeletonRecording(name, names, *parts)

    @property
    def events(self) -> list[Event]:
        """What happened, in order; kinds: start, end, skeleton, structure, parameter, solver, user."""
        steps, times = self.tables.read("events", "step"), self.tables.read("events", "time")
        found = []
        for k, (step, time) in enumerate(zip(steps, times, strict=True)):
            blob = self.blob("events", k)
            found.append(Event(int(step), float(time), blob["kind"], blob["text"]))
        return found

    # Worlds ----------------------------------------------------------------------------------------------

    def resume(self, frame: int = -1, hold_commands: bool = False) -> World:
        """The world exactly as it was at a frame; stepping on gives the same bits as the first run did.

        From the nearest complete state before the frame, the steps up to it are done again with the recorded
        commands and forces, and the result is compared with the record.

        Args:
            frame: its number.
            hold_commands: leave the joint and external forces of the frame's step in place, as for a frame in
                the middle of a `world.step(n)`; by default they are zero, as after it. The last frame's are
                as they were when recording ended.

        Raises:
            RecordingError: the frame cannot be reached exactly, because steps are missing (`every` above 1)
                or something acted that is not recorded. The message names the nearest frames that can.
        """
        return restore(self, self.index(frame), hold_commands)

    def play(self, world: World | None = None, fps: float | None = None) -> Iterator[RecordedFrame]:
        """Set a world to frame after frame, and yield each.

        Args:
            world: with the recording's structure; by default a rebuilt one, which the caller does not see.
            fps: frames per second of simulated time; None: all.
        """
        return replay(self, world, fps)

    def trajectory(self, fps: float | None = 60.0) -> Motion:
        """World transforms of all bodies over time, for playback: `Trajectory.from_transforms(*motion)`."""
        return motion(self, fps)

    def display_world(self) -> World:
        """A world to look at, not to simulate: all skeletons ever recorded, in `trajectory`'s order."""
        return display_world(self)

    def __repr__(self) -> str:
        state = "" if self.finished else ", not finished"
        return f"Recording('{self.path}', {self.num_frames} frames, {self.duration:g} s{state})"
