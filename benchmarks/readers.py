"""Every model file of some folders: is it read, does it step, and does it come back from each format as it was?

    python -m benchmarks.readers [--steps 100] [--no-round-trips] [--all] [folders ...]

Reads all URDF, SDF and SKEL files of the folders and of the package `example-robot-data`, steps each for 100 steps
in a world with a ground beneath it, and writes each skeleton to all three formats and reads it back: masses, limits and
the places of all bodies at three random states must be the same within 1e-9. What a format lacks is refused by the
writer, not lost. Prints tables with totals in Markdown; `--all` lists every file.
"""

from __future__ import annotations

import argparse
import sysconfig
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import kido
from benchmarks.timing import table

SUFFIXES = (".urdf", ".sdf", ".skel", ".world")
FORMATS = (".urdf", ".sdf", ".skel")
TOLERANCE = 1e-9


@dataclass
class Row:
    """What became of a file."""

    path: str
    outcome: str = ""
    reason: str = ""
    remarks: int = 0
    skeletons: int = 0
    dofs: int = 0
    loops: int = 0
    steps: str = "-"
    trips: dict[str, Counter[str]] = field(default_factory=lambda: {f: Counter() for f in FORMATS})
    seconds: float = 0.0


def example_robots() -> Path | None:
    """Folder of the package example-robot-data, if it is installed."""
    folder = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots")
    return folder if folder.is_dir() else None


def load(path: Path, folder: Path, row: Row) -> Any:
    """Read a file; without meshes and includes that are not there. None if it is refused."""
    options: dict[str, Any] = {"package_dirs": [folder]}
    try:
        model = kido.load(path, **options)
        row.outcome = "loaded"
    except kido.KidoError as error:
        row.outcome, row.reason = "refused", str(error)
        if "missing_" not in row.reason and "outside of the folders" not in row.reason:
            return None
        options |= {"missing_meshes": "skip"}
        if path.suffix in (".sdf", ".world"):
            options |= {"missing_includes": "skip"}
        try:
            model = kido.load(path, **options)
            row.outcome = "loaded without missing files"
        except kido.KidoError:
            return None
    skeletons = model.skeletons if isinstance(model, kido.World) else [model]
    row.remarks = sum(len(s.warnings) for s in skeletons)
    row.skeletons, row.dofs = len(skeletons), sum(s.num_dofs for s in skeletons)
    row.loops = sum(len(s.loops) for s in skeletons)
    if row.remarks and row.outcome == "loaded":
        row.outcome = "loaded with remarks"
    return model


def lowest(world: kido.World) -> float:
    """The least height of the bodies along the world's up axis [m], less half a metre for their shapes."""
    heights = [body.world_transform[:3, 3] @ world.up for s in world.skeletons for body in s.bodies]
    return float(min(heights, default=0.0)) - 0.5


def steps(model: Any, number: int) -> str:
    """Step it on a ground; in words how it went."""
    try:
        if isinstance(model, kido.World):
            world = model
        else:
            world = kido.World()
            world.add_skeleton(model)
        world.add_ground(lowest(world))
        world.step(number)
    except kido.KidoError as error:
        return f"{error}"
    finite = all(np.isfinite(s.positions).all() and np.isfinite(s.velocities).all() for s in world.skeletons)
    return "yes" if finite else "NaN"


def differs(one: kido.Skeleton, two: kido.Skeleton) -> str:
    """In words how a skeleton differs from another that should be the same; empty if it does not."""
    names = {body.name: body for body in two.bodies}
    for body in one.bodies:
        if body.name not in names:
            return f"body {body.name} is missing"
        other = names[body.name]
        if abs(body.mass - other.mass) > TOLERANCE * max(1.0, body.mass):
            return f"mass of {body.name}: {body.mass:g}, {other.mass:g}"
        moments = body.inertia.moment, other.inertia.moment
        if np.abs(moments[0] - moments[1]).max() > TOLERANCE * max(1.0, np.abs(moments[0]).max()):
            return f"moment of inertia of {body.name}"
    if one.num_dofs != two.num_dofs:
        return f"{one.num_dofs} degrees of freedom, {two.num_dofs}"
    own = {dof.name: dof for dof in two.dofs}
    pairs = [(dof, own.get(dof.name) or two.dofs[k]) for k, dof in enumerate(one.dofs)]
    for dof, other in pairs:
        for what in ("position_lower_limit", "position_upper_limit"):
            a, b = getattr(dof, what), getattr(other, what)
            if a != b and not abs(a - b) < TOLERANCE * max(1.0, abs(a)):
                return f"{what} of {dof.name}: {a:g}, {b:g}"
    random = np.random.default_rng(0)
    size = max((float(np.abs(body.world_transform[:3, 3]).max()) for body in one.bodies), default=1.0)
    for _ in range(3):
        for dof, other in pairs:
            dof.position = other.position = float(random.uniform(-0.8, 0.8))
        for body in one.bodies:
            error = np.abs(body.world_transform - names[body.name].world_transform).max()
            if error > TOLERANCE * max(1.0, size):
                return f"place of {body.name}: {error:.1e}"
    return ""


def round_trip(skeleton: kido.Skeleton, suffix: str, folder: Path) -> tuple[str, str]:
    """Write a skeleton and read it back: how it went, and why."""
    path = folder / f"trip{suffix}"
    try:
        kido.save(skeleton, path, meshes="reference")
    except kido.KidoError as error:
        return "format lacks", str(error)
    try:
        model = kido.load(path, package_dirs=[Path("/")])
    except kido.KidoError as error:
        return "not read back", str(error)
    back = model if isinstance(model, kido.Skeleton) else model.skeletons[0]
    difference = differs(skeleton, back)
    return ("differs", difference) if difference else ("equal", "")


def examine(path: Path, folder: Path, number: int, trips: bool, scratch: Path) -> tuple[Row, list[str]]:
    """One file; and what went wrong in its round trips."""
    row, wrong, began = Row(str(path.relative_to(folder))), [], time.perf_counter()
    model = load(path, folder, row)
    row.seconds = time.perf_counter() - began
    if model is None:
        return row, wrong
    if trips:
        for skeleton in (model.skeletons if isinstance(model, kido.World) else [model])[:4]:
            free = skeleton.clone()
            for suffix in FORMATS:
                outcome, reason = round_trip(free, suffix, scratch)
                row.trips[suffix][outcome] += 1
                if outcome != "equal":
                    wrong.append(f"{outcome}: {row.path}: {skeleton.name}: {suffix}: {reason.splitlines()[0]}")
    if number:
        row.steps = steps(model, number)
    return row, wrong


def shown(row: Row) -> list[str]:
    """A line of the table of all files."""
    trips = ["; ".join(f"{n} {what}" for what, n in row.trips[f].items()) or "-" for f in FORMATS]
    numbers = [str(x) for x in (row.skeletons, row.dofs, row.loops, row.remarks)]
    return [row.path, row.outcome, *numbers, row.steps, *trips, f"{row.seconds:.2f}"]


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--no-round-trips", action="store_true")
    parser.add_argument("--all", action="store_true", help="list every file")
    parser.add_argument("folders", nargs="*", type=Path)
    options = parser.parse_args()
    folders = [*options.folders, *([example_robots()] if example_robots() else [])]
    files = [(p, f) for f in folders for p in sorted(f.rglob("*")) if p.suffix in SUFFIXES]
    rows: list[Row] = []
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        try:
            for path, folder in tqdm(files, unit="file", mininterval=5.0):
                row, trouble = examine(path, folder, options.steps, not options.no_round_trips, Path(scratch))
                rows.append(row)
                wrong += trouble
        except KeyboardInterrupt:
            print(f"Interrupted: {len(rows)} of {len(files)} files\n")
    if options.all:
        header = ["file", "read", "skeletons", "dofs", "loops", "remarks", "steps", *FORMATS, "s"]
        print(table(header, [shown(row) for row in rows]), "\n")
    kinds = [s for s in SUFFIXES if any(row.path.endswith(s) for row in rows)]
    lines = []
    for outcome in ("loaded", "loaded with remarks", "loaded without missing files", "refused"):
        counts = [sum(row.outcome == outcome and row.path.endswith(s) for row in rows) for s in kinds]
        lines.append([outcome, *map(str, counts), str(sum(counts))])
    counts = [sum(row.steps == "yes" and row.path.endswith(s) for row in rows) for s in kinds]
    lines.append([f"steps {options.steps} steps", *map(str, counts), str(sum(counts))])
    print(table(["", *kinds, "all"], lines))
    print("\nRefused, or loaded without something:\n")
    for row in rows:
        if row.reason:
            print(f"- `{row.path}` ({row.outcome}): {row.reason.splitlines()[0][:200]}")
    for row in rows:
        if row.steps not in ("yes", "-"):
            print(f"- `{row.path}`: does not step: {row.steps.splitlines()[0][:200]}")
    if not options.no_round_trips:
        print("\nRound trips of skeletons (at most four of a file):\n")
        total = {f: sum((row.trips[f] for row in rows), Counter()) for f in FORMATS}
        names = ("equal", "format lacks", "differs", "not read back")
        print(table(["", *FORMATS], [[name, *(str(total[f][name]) for f in FORMATS)] for name in names]))
        print()
        for text in wrong:
            if options.all or not text.startswith("format lacks"):
                print(f"- {text}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
