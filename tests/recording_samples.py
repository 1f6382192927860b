"""A recording and a snapshot to be damaged (see `tools/mutate.py`)."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import kido


def world() -> kido.World:
    """The world of both."""
    return kido.load(kido.models.path("stack"))


def samples() -> tuple[bytes, bytes]:
    """A recording and a snapshot as files."""
    with tempfile.TemporaryDirectory() as folder:
        recording, snapshot = Path(folder, "run.h5"), Path(folder, "snapshot.npz")
        source = world()
        with kido.Recorder(source, recording):
            source.step(20)
        source.snapshot().save(snapshot)
        return recording.read_bytes(), snapshot.read_bytes()


def read_recording(data: bytes) -> None:
    """Read everything in a recording, and resume it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.h5")
        path.write_bytes(data)
        with kido.Recording(path) as recording:
            for frame in {0, recording.num_frames - 1} if recording.num_frames else ():
                recording.contacts(frame)
                recording.resume(frame)
            recording.positions[:], recording.events
            for name in recording.skeleton_names:
                recording.skeleton(name)


def restore_snapshot(data: bytes) -> None:
    """Restore a snapshot into its world and step; one that is refused changes nothing."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "snapshot.npz")
        path.write_bytes(data)
        target = world()
        before = target.skeletons[-1].positions.copy()
        try:
            target.restore(kido.WorldSnapshot.load(path))
        except kido.KidoError:
            assert (target.skeletons[-1].positions == before).all(), "a snapshot that was refused has changed the world"
            raise
        target.step()


_RECORDING, _SNAPSHOT = samples()
SUBJECTS: dict[str, tuple[list[bytes], Callable[[bytes], None]]] = {
    "recording": ([_RECORDING], read_recording),
    "snapshot": ([_SNAPSHOT], restore_snapshot),
}
