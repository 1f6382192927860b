"""A million steps of a mixed scene, and what they leave behind.

    python -m benchmarks.soak.steps [--scene mixed|soft] [--steps 1000000] [--state FILE] [--resume]

Every 500 steps three bodies are pushed, so that nothing rests for long. Every thousand steps positions must be finite
and inside of the arena, and memory, energy, penetration, residual and the gaps of closed loops are noted. Every 20,000
steps a snapshot is written; a world built anew from it must then go the next 200 steps to the same bits. With
`--resume` a run goes on from its snapshot. Ends with a report in Markdown; exit status 1 if something was found.
"""

from __future__ import annotations

import argparse
import gc
import pickle
import resource
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from tqdm import tqdm

import kido
from benchmarks.soak.scenes import HALF, KICK, SCENES, command
from benchmarks.timing import machine, table

BLOCK, SNAPSHOT, REPLAYED = 1000, 20_000, 200
COLUMNS = (
    "step", "RSS [MB]", "ms a step", "energy [J]", "deepest [mm]", "residual", "unconverged", "contacts", "asleep",
    "loops [m]",
)  # fmt: skip


def memory() -> float:
    """Resident memory of this process now [MB]."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize() / 1e6
    except OSError:  # no Linux: the largest it has been
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


@dataclass
class Run:
    """What was noted: a row for each block, in the order of `COLUMNS`, and what is wrong."""

    scene: str
    done: int = 0
    rows: list[tuple[float, ...]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    replays: int = 0


def problems(world: kido.World) -> list[str]:
    """Skeletons whose state is not finite, or that have left the arena."""
    found = []
    for skeleton in world.skeletons:
        if not (np.isfinite(skeleton.positions).all() and np.isfinite(skeleton.velocities).all()):
            found.append(f"step {world.num_steps}: {skeleton.name}: state is not finite")
        elif skeleton.mobile:
            for body in skeleton.bodies:
                x, y, z = body.com if isinstance(body, kido.SoftBodyNode) else body.world_transform[:3, 3]
                if max(abs(x), abs(y)) > HALF + 0.2 or not -0.3 < z < 8.0:
                    found.append(f"step {world.num_steps}: {body.name} has left the arena: {x:.2f} {y:.2f} {z:.2f}")
    return found


def block(world: kido.World, steps: int) -> float:
    """Step with pushes; returns the loss of time by each [s]."""
    began = time.perf_counter()
    left = steps
    while left:
        if world.num_steps % KICK == 0:
            command(world, world.num_steps)
        part = min(left, KICK - world.num_steps % KICK)
        world.step(part, reset_command=False)
        left -= part
    return (time.perf_counter() - began) / steps


def replay(run: Run, snapshot: kido.WorldSnapshot, path: Path) -> None:
    """A world built anew, from the file, must go on to the same bits as another from the object."""
    ends = []
    for start in (snapshot, kido.WorldSnapshot.load(path)):
        world = SCENES[run.scene]()
        world.restore(start)
        block(world, REPLAYED)
        ends.append(np.concatenate([s.positions for s in world.skeletons] + [s.velocities for s in world.skeletons]))
    run.replays += 1
    if not np.array_equal(ends[0], ends[1]):
        run.wrong.append(f"step {snapshot.num_steps}: two worlds restored from it differ after {REPLAYED} steps")


def closure(world: kido.World) -> float:
    """Largest gap of a constraint between bodies [m]."""
    errors = [np.abs(c.error).max(initial=0.0) for c in world.constraints]
    return float(max(errors, default=0.0))


def note(run: Run, world: kido.World, seconds: float) -> None:
    """A row of what the block was like."""
    worst = world.totals
    asleep = sum(s.is_asleep for s in world.skeletons) if world.sleeping else 0
    run.rows.append(
        (
            run.done, memory(), 1e3 * seconds, world.total_energy, 1e3 * worst.max_penetration, worst.residual,
            world.unconverged_steps, worst.contacts, asleep, closure(world),
        )
    )  # fmt: skip
    world.reset_totals()


def report(run: Run) -> str:
    """The run in a few lines."""
    rows = np.array(run.rows)
    names = {name: k for k, name in enumerate(COLUMNS)}
    tenths = np.array_split(rows, min(10, len(rows)))
    # last state of each tenth, but the worst, or the sum, of what is counted over steps
    lines = []
    for part in tenths:
        line = part[-1].copy()
        for name in ("deepest [mm]", "residual", "contacts", "loops [m]"):
            line[names[name]] = part[:, names[name]].max()
        line[names["ms a step"]] = np.median(part[:, names["ms a step"]])
        line[names["unconverged"]] = part[:, names["unconverged"]].sum()
        lines.append([f"{value:.0f}" if value == int(value) else f"{value:.3g}" for value in line])
    half = len(rows) // 2
    growth = rows[-1, names["RSS [MB]"]] - rows[half, names["RSS [MB]"]]
    text = [
        f"### Soak: {run.scene}, {run.done:,} steps",
        "",
        machine(),
        "",
        table(COLUMNS, lines),
        "",
        f"Memory grew by {growth:.1f} MB over the second half; median and largest depth of a block's deepest contact "
        f"{np.median(rows[:, names['deepest [mm]']]):.2f} and {rows[:, names['deepest [mm]']].max():.2f} mm; "
        f"{int(rows[:, names['unconverged']].sum())} steps unconverged; {run.replays} snapshots replayed.",
        "",
        *(run.wrong or ["Nothing was found."]),
    ]
    return "\n".join(text)


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scene", choices=sorted(SCENES), default="mixed")
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--state", type=Path, help="file of the snapshot (and its notes, beside it)")
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()
    state = options.state or Path(f"soak_{options.scene}.npz")
    notes = state.with_suffix(".notes")
    run, world = Run(options.scene), SCENES[options.scene]()
    if options.resume and state.exists() and notes.exists():
        run = pickle.loads(notes.read_bytes())  # our own
        world.restore(kido.WorldSnapshot.load(state))
    bar = tqdm(total=options.steps, initial=run.done, unit="step", mininterval=0.5 if sys.stderr.isatty() else 30.0)
    while run.done < options.steps and len(run.wrong) < 20:
        seconds = block(world, BLOCK)
        run.done += BLOCK
        run.wrong += problems(world)
        note(run, world, seconds)
        bar.update(BLOCK)
        if run.done % SNAPSHOT == 0 or run.done >= options.steps:
            snapshot = world.snapshot()
            snapshot.save(state)
            notes.write_bytes(pickle.dumps(run))
            replay(run, snapshot, state)
            gc.collect()
    bar.close()
    print(report(run))
    return 1 if run.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
