"""The append-only file: what is committed can be read, whatever happens to the writer."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import h5py
import numpy as np
import pytest

from kido.recording import tables
from kido.recording.codec import RecordingError
from kido.recording.reader import TableReader
from kido.recording.tables import Column, Table, TableWriter
from programs import Program

TABLES = (
    Table(
        "frames",
        (Column("time", "f8", unit="s"), Column("positions", "f8", (2,), grows=True), Column("n", "i8")),
    ),
    Table("points", (Column("xyz", "f8", (3,)), Column("body", "i8")), blocks=True),
    Table("events", (Column("step", "i8"),)),
)
FORMAT = {"format": "test-format"}


def frame(i, width=2, points=1):
    rows = np.full((points, 3), float(i))
    return ("frames", (0.1 * i, np.full(width, float(i)), points)), ("points", (rows, np.full(points, i)))


def test_rows_come_back_and_the_file_is_plain_hdf5(tmp_path):
    path = tmp_path / "a.h5"
    writer = TableWriter(path, TABLES, FORMAT)
    for i in range(5):
        writer.add(*frame(i, points=i))
    writer.close()
    writer.close()
    reader = TableReader(path, "test-format")
    assert (reader.rows("frames"), reader.rows("points"), reader.rows("events")) == (5, 10, 0)
    np.testing.assert_array_equal(reader.read("frames", "n"), [0, 1, 2, 3, 4])
    np.testing.assert_array_equal(reader.read("frames", "positions", 2, 4), [[2, 2], [3, 3]])
    np.testing.assert_array_equal(reader.read("points", "body"), np.repeat(np.arange(5), np.arange(5)))
    reader.close()
    with h5py.File(path) as plain:  # no special mode needed once it was closed properly
        assert plain["frames/time"].attrs["unit"] == "s"
        assert plain["frames/positions"].shape == (5, 2)


def test_rows_may_grow_and_shrink(tmp_path):
    path = tmp_path / "a.h5"
    writer = TableWriter(path, TABLES, FORMAT)
    for group in ((2, 2), (3, 2, 4), (1,)):
        for width in group:
            writer.add(*frame(7, width=width))
        writer.flush()
    writer.close()
    rows = TableReader(path, "test-format").read("frames", "positions")
    assert rows.shape == (6, 4)
    np.testing.assert_array_equal(np.isfinite(rows).sum(axis=1), [2, 2, 3, 2, 4, 1])


def test_can_be_read_while_it_is_written(tmp_path):
    path = tmp_path / "a.h5"
    writer = TableWriter(path, TABLES, FORMAT, flush_interval=1e9)
    writer.add(*frame(1))
    writer.flush()
    writer.add(*frame(2))
    code = (
        "import sys; from kido.recording.reader import TableReader;"
        "print(TableReader(sys.argv[1], 'test-format').rows('frames'))"
    )
    out = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, check=True).stdout
    assert out.strip() == b"1"
    writer.close()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("delay", [0.05, 0.11, 0.23])
def test_a_killed_writer_leaves_whole_frames(tmp_path, delay):
    """kill -9 in the midst of writing and flushing at full speed: all that was committed is whole."""
    path = tmp_path / "a.h5"
    code = textwrap.dedent("""
        import sys
        sys.path[:0] = [sys.argv[2], sys.argv[2] + '/..']
        from test_recording_tables import *
        writer = TableWriter(sys.argv[1], TABLES, FORMAT, flush_interval=0.003)
        i = 0
        while True:
            writer.add(*frame(i, width=2 + i // 1000 % 3, points=i % 3)); i += 1
            if i == 5000: print("going", flush=True)  # more than a writer keeps in memory
    """)
    with Program([sys.executable, "-c", code, str(path), os.path.dirname(__file__)], tmp_path) as program:
        program.wait_until(lambda: "going" in program.out, "frames are on disk")
        time.sleep(delay)
        assert program.end(signal.SIGKILL) == -signal.SIGKILL
    reader = TableReader(path, "test-format")
    count = reader.rows("frames")
    assert count > 0
    np.testing.assert_array_equal(reader.read("frames", "time"), 0.1 * np.arange(count))
    np.testing.assert_array_equal(reader.read("frames", "positions")[:, 0], np.arange(count))
    numbers = reader.read("frames", "n")
    assert reader.rows("points") == numbers.sum()
    np.testing.assert_array_equal(reader.read("points", "body"), np.repeat(np.arange(count), numbers))


def test_an_interrupt_between_flushes_does_not_double_rows(tmp_path, monkeypatch):
    path = tmp_path / "a.h5"
    writer = TableWriter(path, TABLES, FORMAT, flush_interval=1e9)
    writer.add(*frame(0))

    real, calls = tables._write, []

    def write_then_interrupt(*args):
        real(*args)
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(tables, "_write", write_then_interrupt)
    with pytest.raises(KeyboardInterrupt):
        writer.flush()
    writer.add(*frame(1))
    writer.close()
    rows = TableReader(path, "test-format").read("frames", "positions")
    np.testing.assert_array_equal(rows, [[0, 0], [1, 1]])


def test_full_disk_is_an_error_and_keeps_what_was_committed(tmp_path):
    """A file size limit stands in for a full disk."""
    path = tmp_path / "a.h5"
    code = textwrap.dedent("""
        import sys, resource, signal
        sys.path[:0] = [sys.argv[2], sys.argv[2] + '/..']
        from test_recording_tables import *
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        writer = TableWriter(sys.argv[1], TABLES, FORMAT, flush_interval=1e9)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
        try:
            for i in range(100_000):
                writer.add(*frame(i))
                if i % 100 == 99: writer.flush()
        except RecordingError as error:
            print(error)
            try: writer.close()
            except RecordingError: pass
    """)
    done = subprocess.run(
        [sys.executable, "-c", code, str(path), os.path.dirname(__file__)], capture_output=True, text=True
    )
    assert f"{path}: writing failed: " in done.stdout, done.stderr
    reader = TableReader(path, "test-format")
    count = reader.rows("frames")
    assert count >= 100
    np.testing.assert_array_equal(reader.read("frames", "positions")[:, 0], np.arange(count))


def test_a_file_whose_last_blocks_were_not_written_keeps_what_was_committed(tmp_path):
    """HDF5 may close a file on a full disk as if all were there: its end is beyond the file's."""
    path = tmp_path / "a.h5"
    writer = TableWriter(path, TABLES, FORMAT, flush_interval=1e9)
    for i in range(1000):
        writer.add(*frame(i))
        if i % 100 == 99:
            writer.flush()
    with h5py.File(path, "r", swmr=True) as file:
        committed = file["committed"][:]
    for i in range(1000, 5000):
        writer.add(*frame(i))
    writer.close()
    assert committed[-1] < path.stat().st_size - 100
    with h5py.File(path, "r+") as file:  # as if the last flush had failed
        file["committed"][:] = committed
    os.truncate(path, path.stat().st_size - 100)
    with pytest.raises(OSError, match="truncated file"):
        h5py.File(path, "r")
    reader = TableReader(path, "test-format")
    assert not reader.finished
    np.testing.assert_array_equal(reader.read("frames", "positions")[:, 0], np.arange(1000))


def test_unwritable_paths(tmp_path):
    with pytest.raises(RecordingError, match=r"is a directory, expected the name of a file to write"):
        TableWriter(tmp_path, TABLES, FORMAT)
    missing = tmp_path / "no" / "a.h5"
    with pytest.raises(RecordingError, match=rf"^{missing}: cannot be written: directory .*/no does not"):
        TableWriter(missing, TABLES, FORMAT)
    taken = tmp_path / "taken.h5"
    taken.write_text("precious")
    with pytest.raises(RecordingError, match=r"exists already; choose another name, or replace it with overwrite=True"):
        TableWriter(taken, TABLES, FORMAT)
    assert taken.read_text() == "precious"
    TableWriter(taken, TABLES, FORMAT, overwrite=True).close()
    assert TableReader(taken, "test-format").rows("frames") == 0
    with pytest.raises(RecordingError, match=r"not a regular file"):
        TableWriter("/dev/null", TABLES, FORMAT, overwrite=True)


def test_unreadable_files(tmp_path):
    with pytest.raises(RecordingError, match=r"nothing.h5: no such file"):
        TableReader(tmp_path / "nothing.h5", "test-format")
    with pytest.raises(RecordingError, match=r"not a file"):
        TableReader(tmp_path, "test-format")
    rubbish = tmp_path / "rubbish.h5"
    rubbish.write_bytes(os.urandom(5000))
    with pytest.raises(RecordingError, match=r"rubbish.h5: not a KIDO recording: file signature not found"):
        TableReader(rubbish, "test-format")
    empty = tmp_path / "empty.h5"
    empty.write_bytes(b"")
    with pytest.raises(RecordingError, match=r"empty.h5: not a KIDO recording"):
        TableReader(empty, "test-format")
    other = tmp_path / "other.h5"
    with h5py.File(other, "w") as file:
        file["x"] = 1
    with pytest.raises(RecordingError, match=r"other.h5: not a KIDO recording: an HDF5 file of another kind"):
        TableReader(other, "test-format")


@pytest.mark.parametrize("finished", [True, False])
def test_a_cut_off_file_is_refused(tmp_path, finished):
    path = tmp_path / "a.h5"
    writer = TableWriter(path, TABLES, FORMAT)
    for i in range(3000):
        writer.add(*frame(i))
    writer.close() if finished else writer.flush()
    data = path.read_bytes()
    writer.close()
    whole, cut = tmp_path / "whole.h5", tmp_path / "cut.h5"
    whole.write_bytes(data)
    assert TableReader(whole, "test-format").rows("frames") == 3000
    cut.write_bytes(data[: len(data) * 2 // 3])
    with pytest.raises(RecordingError, match=r"cut.h5: .*the file is cut off"):
        TableReader(cut, "test-format")
