"""Damaged recordings: refused by place, in bounded memory; what can still be read is; mutations by the hundred."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import damage
import kido
from kido.errors import StateError
from kido.recording import RecordingError
from scenes import free, world

MUTATIONS = int(os.environ.get("KIDO_MUTATIONS", "25"))  # of each scene; many by `python tests/damage.py`


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of 61 frames with contacts, external forces, a signal and complete states."""
    w = world(free(kido.Box((0.2, 0.2, 0.2)), 1.0, (0, 0, 0.11), name="box"))
    path = tmp_path_factory.mktemp("good") / "run.h5"
    with kido.Recorder(w, path, checkpoint_every=20, signals={"height": lambda w: w.skeleton("box").com[2]}):
        for _ in range(60):
            w.skeleton("box").body(0).add_external_force([0.1, 0.0, 0.0])
            w.step()
    return path


@pytest.fixture
def file(good: Path, tmp_path: Path) -> Path:
    path = tmp_path / "run.h5"
    path.write_bytes(good.read_bytes())
    return path


def change(path: Path, act: Callable[[h5py.File], Any]) -> None:
    with h5py.File(path, "r+", libver=("v110", "v110")) as opened:
        act(opened)


def put(name: str, at: Any, value: Any) -> Callable[[h5py.File], None]:
    def act(file: h5py.File) -> None:
        file[name][at] = value

    return act


def instead(name: str, **made: Any) -> Callable[[h5py.File], None]:
    def act(file: h5py.File) -> None:
        old = file[name]
        options = {"shape": old.shape, "dtype": old.dtype, **made}
        del file[name]
        file.create_dataset(name, **options)

    return act


def link(name: str, target: Any) -> Callable[[h5py.File], None]:
    def act(file: h5py.File) -> None:
        del file[name]
        file[name] = file[target] if isinstance(target, str) else target

    return act


def virtual(file: h5py.File) -> None:
    del file["frames/time"]
    layout = h5py.VirtualLayout(shape=(61,), dtype="f8")
    layout[:] = h5py.VirtualSource("other.h5", "x", shape=(61,))
    file.create_virtual_dataset("frames/time", layout)


def attribute(name: str, value: Any) -> Callable[[h5py.File], None]:
    def act(file: h5py.File) -> None:
        del file.attrs[name]
        file.attrs[name] = value

    return act


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (put("frames/time", 7, np.nan), "frame 7: time is nan, expected a finite number; 7 of 61 frames are whole"),
        (put("frames/structure", 12, 3), "frame 12: structure is 3, expected 0 to 0; 12 of 61 frames"),
        (put("frames/step", 2, -5), "frame 2: step is -5, expected a number of steps; 2 of 61"),
        (put("frames/contact_count", 30, 10**9), "frame 30: count of contacts is 1000000000, expected at most"),
        (put("frames/external_count", 5, -1), "frame 5: count of external is -1, expected at most 60 in all; 5 of 61"),
        (put("committed", 0, 10**12), "frames/commands has 61 of 1000000000000 rows"),
        (put("committed", 0, -1), r"committed\[0\] is -1; expected"),
        (instead("frames/positions", dtype="S3"), "frames/positions holds .*, expected numbers"),
        (instead("frames/step", dtype="f8"), "frames/step holds float64, expected whole numbers"),
        (instead("contacts/point", shape=(1000, 4)), r"contacts/point has rows of shape \(4,\), expected \(3,\)"),
        (instead("frames/time", shape=None, data=h5py.Empty("f8")), "frames/time is no column of numbers"),
        (instead("frames/time", compression="gzip", maxshape=(None,), chunks=(16,)), "frames/time is compressed"),
        (instead("frames/time", external=[("/etc/passwd", 0, 488)]), "frames/time is compressed, or lies in another"),
        (virtual, "frames/time is compressed, or lies in another file"),
        (link("frames/time", h5py.ExternalLink("/etc/passwd", "/x")), "frames/time is a link to elsewhere"),
        (link("frames/time", h5py.SoftLink("/frames/time")), "frames/time is a link to elsewhere"),
        (link("contacts", h5py.ExternalLink("other.h5", "/")), "contacts is a link to elsewhere"),
        (link("frames/time", "/"), "frames/time is no column of numbers"),
        (link("contacts", "frames/time"), "contacts is no table"),
        (lambda f: f.pop("frames"), "table frames cannot be read"),
        (lambda f: f.pop("frames/time"), "frames/time cannot be read"),
        (attribute("tables", ["frames"]), "it has tables frames, and no signals"),
        (attribute("tables", 3.0), "it has tables none"),
        (attribute("time_step", "x"), "attribute 'time_step' is 'x'"),
        (attribute("gravity", np.zeros(2)), r"attribute 'gravity' is \[0, 0\]"),
        (attribute("created", h5py.Empty("f8")), "attribute 'created' is a Empty, expected texts or numbers"),
        (attribute("world", np.zeros(9000)), "attribute 'world' is too large"),
    ],
)
def test_what_cannot_be_is_refused_by_its_place(file: Path, act: Callable[[h5py.File], Any], message: str) -> None:
    change(file, act)
    with pytest.raises(RecordingError, match=rf"run\.h5: damaged KIDO recording: {message}") as caught:
        kido.Recording.open(file)
    assert isinstance(caught.value, StateError) and "partial=True" in str(caught.value)


def test_what_is_not_there_takes_no_memory(file: Path) -> None:
    """Data sets that say that they are huge, stored nowhere: 8 GB in a column, and in one whose rows may grow."""

    def sparse(name: str, size: int, wide: int) -> Callable[[h5py.File], None]:
        def act(file: h5py.File) -> None:
            dtype = file[name].dtype
            del file[name]
            shape = (size,) if wide == 1 else (size, wide)
            file.create_dataset(
                name, shape=shape, maxshape=(None,) * len(shape), chunks=(1024,) * len(shape), dtype=dtype
            )
            file["committed"][0] = size

        return act

    for name, size, wide in (
        ("frames/time", 10**9, 1),
        ("frames/positions", 10**9, 6),
        ("frames/positions", 61, 10**8),
    ):
        change(file, sparse(name, size, wide))
        tracemalloc.start()
        try:
            for partial in (False, True):
                with pytest.raises(RecordingError):
                    kido.Recording.open(file, partial=partial).positions  # noqa: B018
            assert tracemalloc.get_traced_memory()[1] < 50e6
        finally:
            tracemalloc.stop()


def test_texts_that_ask_for_one_array_again_and_again_are_refused() -> None:
    from kido.recording.codec import decode, encode

    encoded = encode({"a": np.zeros(100_000)})
    item = json.loads(bytes(encoded.text))["a"]
    text = json.dumps([item] * 200)
    with pytest.raises(RecordingError, match="its arrays are more than memory should have room for"):
        decode(encoded._replace(text=np.frombuffer(text.encode(), np.uint8)))


def test_frames_before_the_damage_can_be_read(good: Path, file: Path) -> None:
    whole = kido.Recording.open(good)
    assert whole.damage is None
    change(file, put("frames/structure", 33, 9))
    recording = kido.Recording.open(file, partial=True)
    assert recording.damage == "frames 33 to 60 of 61 are left out: frame 33: structure is 9, expected 0 to 0"
    assert len(recording) == 33 and "in part" in repr(recording)
    for name in ("times", "steps", "positions", "velocities", "commands"):
        np.testing.assert_array_equal(getattr(recording, name), getattr(whole, name)[:33])
    assert len(list(recording.play())) == len(recording.trajectory(None).times) == 33
    again, expected = recording.resume(31), whole.resume(31)
    for w in (again, expected):
        w.step(20)
    np.testing.assert_array_equal(again.skeleton("box").positions, expected.skeleton("box").positions)
    with pytest.raises(RecordingError, match="no frame 33"):
        recording.resume(33)


def test_a_file_that_is_cut_off_can_be_read_up_to_there(tmp_path: Path) -> None:
    """Of a recording of several chunks: whatever is cut off, the frames that are left are those that were written."""
    w = world(free(kido.Box((0.2, 0.2, 0.2)), 1.0, (0, 0, 0.5), name="box"))
    path, cut = tmp_path / "run.h5", tmp_path / "cut.h5"
    with kido.Recorder(w, path, flush_interval=0.05):
        w.step(9000)
    whole = kido.Recording.open(path)
    data, counts = path.read_bytes(), []
    for share in (0.3, 0.5, 0.7, 0.9, 0.99):
        cut.write_bytes(data[: int(share * len(data))])
        with pytest.raises(RecordingError, match=r"the file is cut off"):
            kido.Recording.open(cut)
        try:
            recording = kido.Recording.open(cut, partial=True)
        except RecordingError as error:
            assert "cut.h5: damaged KIDO recording" in str(error)
            counts.append(0)
            continue
        counts.append(len(recording))
        assert recording.damage is not None and not recording.finished
        n = len(recording)
        np.testing.assert_array_equal(recording.times, whole.times[:n])
        np.testing.assert_array_equal(recording.energies.potential, whole.energies.potential[:n])
        try:  # what says where contacts are may be behind the cut, by when the file was written
            points = recording.contacts(n - 1).points
        except RecordingError as error:
            assert "contacts/" in str(error)
        else:
            np.testing.assert_array_equal(points, whole.contacts(n - 1).points)
        for name in (
            "positions",
            "velocities",
        ):  # whose rows may grow: what says where they are is rewritten at the end
            try:
                found = getattr(recording, name)
            except RecordingError as error:
                assert f"frames/{name} cannot be" in str(error) and f"frames/{name}" in recording.damage
            else:
                np.testing.assert_array_equal(found, getattr(whole, name)[:n])
    assert counts == sorted(counts) and counts[-1] > 4000


def test_a_lost_column_leaves_the_others(good: Path, file: Path) -> None:
    change(file, lambda f: f.pop("signals/height"))
    change(file, instead("frames/commands", dtype="S3"))
    with pytest.raises(RecordingError, match="frames/commands holds"):
        kido.Recording.open(file)
    recording = kido.Recording.open(file, partial=True)
    assert len(recording) == 61 and recording.damage == "frames/commands cannot be read" and not recording.signals
    np.testing.assert_array_equal(recording.positions, kido.Recording.open(good).positions)
    with pytest.raises(RecordingError, match="frames/commands holds"):
        recording.commands  # noqa: B018


def test_damaged_external_forces_and_states_are_named(file: Path) -> None:
    change(file, put("external/body", 4, 77))
    with pytest.raises(RecordingError, match=r"external/body of frame 5\[0\] is 77; expected 0 to 1"):
        kido.Recording.open(file).resume(10)
    change(file, put("external/body", 4, 1))
    change(file, put("external/law", (6, 3), np.inf))
    with pytest.raises(RecordingError, match=r"external/law of frame 7\[0, 3\] is inf; expected a finite number"):
        kido.Recording.open(file).resume(10)
    change(file, put("integers/values", slice(None), 99))
    with pytest.raises(
        RecordingError, match=r"complete state of frame 60 is damaged: .*warm\.detector\.\w+\[0\] is 99; expected 0"
    ):
        kido.Recording.open(file).resume()


@pytest.mark.slow
@pytest.mark.parametrize("scene", damage.SCENES)
def test_mutations_are_refused_or_harmless(scene: str) -> None:
    """In a process of their own: none crashes it, hangs, or raises what is no KidoError."""
    outcomes = damage.campaign("recording", scene, 0, MUTATIONS)
    assert len(outcomes) == MUTATIONS
    assert {seed: outcome for seed, outcome in outcomes.items() if damage.is_bad(outcome)} == {}
    assert {outcome.split(",")[0] for outcome in outcomes.values()} == {"refused", "accepted"}
