"""A long fuzz of every reader.

    python -m benchmarks.soak.fuzz [--seconds 600] [--seed 0] [--keep FOLDER] [folders of more seeds ...]

Files (URDF, SDF, SKEL, STL, OBJ, DAE, PNG, recordings, snapshots) are mutated and read in a process of its own, which
is given a time for each file and a bound on its memory, and watched by an audit hook. Found is what raises anything
but a `KidoError`, hangs, ends the process, opens a file that is not in the model's folder, or asks for the network.
What is found is kept, with its seed, in the folder `--keep`. Exit status 1 if anything was.
"""

from __future__ import annotations

import argparse
import multiprocessing as mp
import os
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from tqdm import tqdm

from benchmarks.soak.mutate import mutate
from benchmarks.soak.seeds import SUFFIXES, write_seeds

LIMIT, MEMORY = 30.0, 6 * 2**30  # processor time of a file [s], address space of the reading process [bytes]
FORBIDDEN = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "urllib.Request", "subprocess.Popen",
             "os.system", "os.exec", "pickle.find_class", "exec", "ctypes.dlopen", "os.remove", "os.rename", "os.rmdir",
             "shutil.rmtree", "os.mkdir")  # fmt: skip


class Watch:
    """An audit hook that notes what a reader must not do while `folder` is set."""

    def __init__(self) -> None:
        self.folder: str | None = None
        self.seen: list[str] = []
        cache = os.environ.get("KIDO_CACHE_DIR") or os.path.expanduser("~/.cache/kido")
        folders = {sys.prefix, sys.base_prefix, str(Path(__file__).parents[2]), os.path.dirname(os.__file__), cache}
        self.known = (*(os.path.realpath(folder) for folder in folders), "/proc/cpuinfo", "/dev/null")

    def __call__(self, event: str, arguments: tuple) -> None:
        """Called by the interpreter."""
        if self.folder is None:
            return
        if event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
            path = os.path.realpath(os.fsdecode(arguments[0]))
            if not path.startswith(self.folder + os.sep) and not path.startswith(self.known):
                self.seen.append(f"opens {path}")
        elif event in FORBIDDEN and not _compiling():
            self.seen.append(f"{event} {arguments!r:.200}")


def _compiling() -> bool:
    """Whether what happens is Python's imports or the compiler of kernels at work, and not a reader."""
    frame = sys._getframe(2)
    while frame is not None:
        if any(name in frame.f_code.co_filename for name in ("importlib", "dataclasses", "collections", "numba")):
            return True
        frame = frame.f_back
    return False


def read(path: Path) -> None:
    """Read one file with the reader of its format, and look at what it gives."""
    import kido
    from kido.io.images import read_png
    from kido.io.meshes import load_mesh

    match path.suffix:
        case ".png":
            read_png(path)
        case ".stl" | ".obj" | ".dae":
            assert len(load_mesh(path).aabb) == 2
        case ".h5":
            with kido.Recording(path) as recording:
                for frame in {0, recording.num_frames - 1} if recording.num_frames else ():
                    recording.contacts(frame)
                    recording.resume(frame)
                recording.positions[:], recording.events
                for name in recording.skeleton_names:
                    recording.skeleton(name)
        case ".npz":
            world = kido.load(path.with_name("of_snapshot.skel"))
            before = world.skeletons[-1].positions.copy()
            try:
                world.restore(kido.WorldSnapshot.load(path))
            except kido.KidoError:
                if (world.skeletons[-1].positions != before).any():
                    raise AssertionError("a snapshot that was refused has changed the world") from None
                raise
        case _:
            model = kido.load(path)
            for skeleton in getattr(model, "skeletons", [model]):
                for body in skeleton.bodies:
                    body.world_transform  # noqa: B018


def worker(connection: Connection) -> None:
    """Read what comes through the connection, and answer with what happened."""
    os.environ["KIDO_QUIET"] = "1"
    from kido.errors import KidoError

    for name in ("urdf", "sdf", "skel", "meshes"):  # imports are no part of the time of a file
        import_module(f"kido.io.{name}")
    connection.send(("ready", ""))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    watch = Watch()
    sys.addaudithook(watch)
    while True:
        path = Path(connection.recv())
        watch.seen.clear()
        watch.folder = os.path.realpath(path.parent)
        kind, text = "read", ""
        try:
            read(path)
        except KidoError as error:
            kind, text = "refused", str(error)
        except BaseException:
            kind, text = "escaped", traceback.format_exc()
        watch.folder = None
        if watch.seen:
            kind, text = "trespassed", "\n".join(watch.seen)
        if "root:x:0" in text or "root:x:0" in path.name:
            kind = "leaked"
        connection.send((kind, text))


class Reader:
    """The reading process, started again when it is lost."""

    def __init__(self) -> None:
        self.process: mp.process.BaseProcess | None = None
        self.connection: Connection | None = None

    def __call__(self, path: Path) -> tuple[str, str]:
        """What happened to a file: its kind, and words."""
        if self.process is None or not self.process.is_alive():
            context = mp.get_context("spawn")
            self.connection, theirs = context.Pipe()
            self.process = context.Process(target=worker, args=(theirs,), daemon=True)
            self.process.start()
            theirs.close()
            self.connection.recv()
        assert self.connection is not None
        try:
            self.connection.send(str(path))
            end = self.time_used() + LIMIT
            while self.time_used() < end:
                if self.connection.poll(0.2):
                    return self.connection.recv()
        except (EOFError, OSError):
            self.process.join(5)
            return "died", f"exit status {self.process.exitcode}"
        self.stop()
        return "hung", f"longer than {LIMIT:g} s"

    def time_used(self) -> float:
        """Processor time of the process [s], so that a busy machine does not count; else the clock's."""
        try:
            with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:  # pyright: ignore
                fields = file.read().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError, IndexError):
            return time.monotonic()

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("fuzz_found"))
    parser.add_argument("--only", nargs="*", default=SUFFIXES, metavar="SUFFIX", help="formats, such as .sdf")
    parser.add_argument("folders", nargs="*", type=Path)
    options = parser.parse_args()
    random, reader = Random(options.seed), Reader()
    counts: dict[str, Counter[str]] = {suffix: Counter() for suffix in SUFFIXES}
    bad: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "seeds"
        folder.mkdir()
        write_seeds(folder)
        seeds = [p for p in sorted(folder.iterdir()) if p.suffix in options.only]
        for more in options.folders:
            seeds += [p for p in sorted(more.rglob("*")) if p.suffix.lower() in options.only and p.stat().st_size < 2e6]
        by_kind = {suffix: [p for p in seeds if p.suffix.lower() == suffix] for suffix in options.only}
        kinds = [suffix for suffix, files in by_kind.items() if files]
        end, number = time.monotonic() + options.seconds, 0
        bar = tqdm(unit="file", mininterval=0.5 if sys.stderr.isatty() else 30.0)
        while time.monotonic() < end:
            suffix = random.choice(kinds)
            seed = random.choice(by_kind[suffix])
            case = Path(scratch) / "case"
            if number % 200 == 0:
                shutil.rmtree(case, ignore_errors=True)
                shutil.copytree(folder, case)
            path = case / f"fuzzed{suffix}"
            path.write_bytes(mutate(seed.read_bytes(), suffix, random))
            kind, text = reader(path)
            counts[suffix][kind] += 1
            number += 1
            bar.update()
            if kind not in ("read", "refused"):
                what = text.strip().splitlines()[-1][:120]
                bad[f"{suffix}: {kind}: {what}"] += 1
                if bad[f"{suffix}: {kind}: {what}"] <= 2:
                    options.keep.mkdir(exist_ok=True, parents=True)
                    name = options.keep / f"{number:06d}_{kind}{suffix}"
                    shutil.copy(path, name)
                    name.with_name(name.name + ".txt").write_text(f"{seed.name}\n{text}")
        bar.close()
        reader.stop()
    print(f"\n{number} files, seed {options.seed}\n")
    for suffix, counter in counts.items():
        print(f"{suffix:6s}", ", ".join(f"{kind} {n}" for kind, n in sorted(counter.items())) or "-")
    print("\nNothing was found." if not bad else "\nFound:")
    for what, n in bad.most_common():
        print(f"{n:6d}  {what}")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
