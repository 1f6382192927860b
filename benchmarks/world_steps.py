"""World steps: the humanoid falling onto the ground, a stack of ten boxes, boxes in a container.

    python -m benchmarks.world_steps [--quick] [--scene NAME]

All programs start from the same state and step by 1 ms. "settling" is the mean over the time in which things
fall and collide, "at rest" the best of several short runs after it, taken in turns. A program that needs more
than a minute for it is stopped there, its time marked with >. Residuals are measured at
rest by one function, outside all programs (see `benchmarks.residual`): "residual" against rigid contact with
exact Coulomb friction, "friction" with each program's own normal velocities granted.
"""

from __future__ import annotations

import argparse
import sys
from time import perf_counter

import numpy as np

from benchmarks.residual import exactness
from benchmarks.simulators import TIME_STEP, DartWorld, KidoWorld, MujocoWorld
from benchmarks.timing import interleaved, machine, ratio, table
from kido.models.scenes import Scene, container_scene, stack_scene

# name: scene (None: the humanoid), seconds of settling
SCENES: dict[str, tuple[Scene | None, float]] = {
    "humanoid": (None, 2.5),
    "stack of 10": (stack_scene(10), 0.5),
    "container, 25": (container_scene(25, aside=0.0), 1.5),
    "container, 50": (container_scene(50, aside=0.0), 1.5),
    "container, 100": (container_scene(100, aside=0.0), 2.0),
    "heap of 100": (container_scene(100), 2.0),
}
PATIENCE = 60.0  # [s]
HEADER = (
    *("scene", "program", "settling [us]", "at rest [us]", "settling / KIDO", "at rest / KIDO"),
    *("contacts", "residual", "friction", "penetration [mm]", "fastest [mm/s]"),
)
SPREAD_HEADER = ("program", "median [us]", "99 % [us]", "99.9 % [us]", "slowest [us]", "99.9 % / median")


def worlds(scene: Scene | None, programs: list[str]) -> list:
    """The scene in every program. dartpy's FCL has no capsules, so the humanoid runs with ODE alone."""
    makers = {
        "kido": [lambda: KidoWorld(scene)],
        "dartpy": [
            lambda: DartWorld(scene, "ODE"),
            *([] if scene is None else [lambda: DartWorld(scene, "FCL")]),
        ],
        "mujoco": [lambda: MujocoWorld(scene, "pyramidal"), lambda: MujocoWorld(scene, "elliptic")],
    }
    return [make() for name in programs for make in makers[name]]


def settle(world, seconds: float) -> tuple[float, bool]:
    """Mean time of a step [s] over the given simulated time, and whether it was reached within PATIENCE."""
    steps, done, spent = round(seconds / TIME_STEP), 0, 0.0
    while done < steps and spent < PATIENCE:
        start = perf_counter()
        world.step(10)
        spent += perf_counter() - start
        done += 10
    return spent / done, done >= steps


def spread(scene: Scene | None, program: str, seconds: float, repeats: int) -> list[list[str]]:
    """Rows with the median and the slow percentiles of single steps over the given time, and what the slowest takes.

    Programs repeat their steps exactly, so that each step's time is the least of some runs: what is left is no noise.
    """
    rows = []
    for index in range(len(worlds(scene, [program]))):
        least = np.full(round(seconds / TIME_STEP), np.inf)
        for _ in range(repeats):
            world = worlds(scene, [program])[index]
            for k in range(len(least)):
                start = perf_counter()
                world.step(1)
                least[k] = min(least[k], perf_counter() - start)
        median, *slow = 1e6 * np.percentile(least, (50.0, 99.0, 99.9))
        numbers = median, *slow, 1e6 * least.max()
        rows.append([world.name, *(f"{x:.1f}" for x in numbers), f"{slow[1] / median:.1f}"])
    return rows


def quality(scene: Scene | None, world) -> list[str]:
    """Contacts, residuals, penetration and largest speed of one step at rest; the worst of ten."""
    if scene is None:
        return [str(world.num_contacts()), "-", "-", "-", "-"]
    found = []
    for _ in range(10):
        before = world.motion()
        world.step(1)
        after = world.motion()
        found.append(exactness(scene, before, after, world.contacts(), TIME_STEP))
        world.step(10)
    return [
        str(found[-1].contacts),
        f"{max(f.residual for f in found):.0e}",
        f"{max(f.granted for f in found):.0e}",
        f"{1e3 * max(f.penetration for f in found):.4f}",
        f"{1e3 * np.linalg.norm(after.linear, axis=1).max():.3g}",
    ]


def measure(name: str, programs: list[str], chunks: int) -> list[list[str]]:
    """Rows of the table for one scene."""
    scene, seconds = SCENES[name]
    if "kido" in programs:  # compile whatever this scene needs
        KidoWorld(scene).step(round(seconds / TIME_STEP))
    running = worlds(scene, programs)
    settling = {world.name: settle(world, seconds) for world in running}
    steps = 20
    settled = [world for world in running if settling[world.name][1]]
    rest = interleaved({world.name: lambda w=world: w.step(steps) for world in settled}, chunks)
    rows = []
    for world in running:
        time, reached = settling[world.name]
        mark = "" if reached else "> "
        at_rest = rest[world.name] / steps if reached else None
        own, own_at_rest = settling.get("KIDO", (None,))[0], rest.get("KIDO", 0.0) / steps
        rows.append(
            [
                *(name, world.name, f"{mark}{time * 1e6:.1f}"),
                "-" if at_rest is None else f"{at_rest * 1e6:.1f}",
                *(mark + ratio(time, own), ratio(at_rest, own_at_rest)),
                *(quality(scene, world) if reached else ["-"] * 5),
            ]
        )
    return rows


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repeats, without the largest scenes")
    parser.add_argument("--scene", choices=list(SCENES), help="only this one")
    parser.add_argument("--program", choices=["kido", "dartpy", "mujoco"], action="append", help="only these")
    parser.add_argument("--spread", type=float, metavar="SECONDS", help="percentiles of single steps instead")
    options = parser.parse_args(arguments)
    if options.spread is not None:
        scene, programs = SCENES[options.scene or "humanoid"][0], options.program or ["kido", "dartpy", "mujoco"]
        found = [row for name in programs for row in spread(scene, name, options.spread, 2 if options.quick else 5)]
        print(f"{machine()}\n\nTime step {1e3 * TIME_STEP:g} ms, microseconds per single step\n")
        print(table(SPREAD_HEADER, found))
        return
    names = [options.scene] if options.scene else list(SCENES)[: 4 if options.quick else None]
    rows = []
    for name in names:
        print(f"measuring {name} ...", file=sys.stderr)
        rows += measure(name, options.program or ["kido", "dartpy", "mujoco"], 5 if options.quick else 20)
    print(f"{machine()}\n\nTime step {1e3 * TIME_STEP:g} ms, microseconds per step\n")
    print(table(HEADER, rows))


if __name__ == "__main__":
    main()
