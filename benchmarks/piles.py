"""Spheres in a bin and in a lattice, separate boxes: time of single steps and residual, beside MuJoCo and dartpy.

    python -m benchmarks.piles [--scene NAME] [--steps 300]

Single steps are timed by the processor time of their thread, so that other programs on the machine do not count but for
the caches that they share. "settling" is the mean over the time in which things fall and collide; median and 99th
percentile are those of the steps after it. The residual is measured by one function outside all programs
(`benchmarks.residual`), against rigid contact with exact Coulomb friction, the worst of five steps. A program that
needs more than PATIENCE seconds to settle is stopped there, its mean marked with >.
"""

from __future__ import annotations

import argparse
import sys
from time import thread_time

import numpy as np

from benchmarks.residual import Contacts, Motion, exactness
from benchmarks.scenes.description import Ball, Block, Body, Scene, floor
from benchmarks.scenes.in_dartpy import DartProgram
from benchmarks.scenes.in_kido import KidoProgram
from benchmarks.scenes.in_mujoco import EllipticProgram, MujocoProgram
from benchmarks.scenes.program import Program
from benchmarks.timing import machine, table
from kido.models import scenes as plain

TIME_STEP = 1e-3
PATIENCE = 20.0  # [s]
HEADER = (
    *("scene", "program", "settling [us]", "median [us]", "99 % [us]", "median / KIDO", "contacts", "residual"),
    *("penetration [mm]", "fastest [mm/s]"),
)


def spheres_in_bin() -> Scene:
    """100 spheres of 0.1 m and 1 kg, in layers of 16 above a bin of 0.7 m, friction 0.5."""
    random = np.random.default_rng(0)
    walls = [Body(0.0, Block((0.9, 0.1, 2.0)), (0.0, y, 1.0)) for y in (0.4, -0.4)]
    walls += [Body(0.0, Block((0.1, 0.7, 2.0)), (x, 0.0, 1.0)) for x in (0.4, -0.4)]
    balls = []
    for k in range(100):
        layer, cell = divmod(k, 16)
        row, column = divmod(cell, 4)
        place = np.array([0.16 * (column - 1.5), 0.16 * (row - 1.5), 0.1 + 0.15 * layer])
        balls.append(Body(1.0, Ball(0.05), place + random.uniform(-0.01, 0.01, 3)))
    return Scene([floor(), *walls, *balls], friction=0.5, time_step=TIME_STEP)


def lattice() -> Scene:
    """6 x 6 x 6 spheres of 0.2 m and 10 kg a centimetre apart, off their places by up to 1 mm, no friction: "666"."""
    random = np.random.default_rng(0)
    balls = []
    for index in np.ndindex(6, 6, 6):
        jitter = random.uniform(0, 1e-3, 3) * [1, 1, index[2] > 0]
        balls.append(Body(10.0, Ball(0.1), 0.21 * np.array(index) + [0, 0, 0.101] + jitter))
    return Scene([floor(), *balls], friction=0.0, time_step=TIME_STEP)


def separate_boxes() -> Scene:
    """1,000 cubes of 0.1 m and 1 kg, 0.3 m apart on a plane, friction 1."""
    cubes = [Body(1.0, Block((0.1, 0.1, 0.1)), (0.3 * (k % 32), 0.3 * (k // 32), 0.05)) for k in range(1000)]
    return Scene([floor(), *cubes], friction=1.0, time_step=TIME_STEP)


# Seconds of settling beside each.
SCENES = {
    "100 spheres in a bin": (spheres_in_bin, 2.0),
    "216 spheres": (lattice, 0.5),
    "1,000 separate boxes": (separate_boxes, 0.1),
}


def motion(program: Program) -> Motion:
    """Poses and velocities of a program's free bodies."""
    poses = np.array([program.pose(i) for i in program.free])
    linear = np.array([program.velocity(i) for i in program.free])
    angular = np.array([program.spin(i) for i in program.free])
    return Motion(poses[:, :3, 3], poses[:, :3, :3], linear, angular)


def contacts(program: Program) -> Contacts:
    """What a program says of its last step's contacts."""
    found = program.touches()
    number = {body: k for k, body in enumerate(program.free)}
    return Contacts(
        np.array([t.point for t in found]).reshape(-1, 3),
        np.array([t.normal for t in found]).reshape(-1, 3),
        np.array([t.force for t in found]).reshape(-1, 3),
        np.array([t.gap for t in found]),
        np.array([number.get(t.a, -1) for t in found], dtype=int),
        np.array([number.get(t.b, -1) for t in found], dtype=int),
    )


def solid(scene: Scene) -> plain.Scene:
    """The free bodies as boxes of the same mass and moments, for `exactness`, which knows no other."""
    blocks = []
    for k, body in enumerate(b for b in scene.bodies if b.mass):
        moments = np.asarray(body.moments())
        edges = np.sqrt(6.0 / body.mass * np.maximum(moments.sum() - 2.0 * moments, 0.0))
        blocks.append(plain.Block(f"body{k}", tuple(edges), (0.0, 0.0, 0.0), body.mass))
    return plain.Scene("pile", tuple(blocks), scene.friction)


def timed(program: Program, count: int, patience: float = float("inf")) -> np.ndarray:
    """Processor time of each of at most so many steps [us]."""
    times, spent = [], 0.0
    while len(times) < count and spent < patience:
        start = thread_time()
        program.advance(1)
        times.append(thread_time() - start)
        spent += times[-1]
    return 1e6 * np.array(times)


def measure(name: str, steps: int) -> list[list[str]]:
    """Rows of the table for one scene."""
    make, seconds = SCENES[name]
    rows, own = [], np.nan
    KidoProgram(make()).advance(20)  # compiles
    for kind in (KidoProgram, MujocoProgram, EllipticProgram, DartProgram):
        scene = make()
        program = kind(scene)
        program.advance(1)  # builds what is needed
        asked = round(seconds / scene.time_step)
        settling = timed(program, asked, PATIENCE)
        if len(settling) < asked:
            rows.append([name, kind.name, f"> {settling.mean():.0f}", *["-"] * 7])
            continue
        rest = timed(program, steps, PATIENCE)
        own = float(np.median(rest)) if kind is KidoProgram else own
        found = []
        for _ in range(5):
            before = motion(program)
            program.advance(1)
            after = motion(program)
            found.append(exactness(solid(scene), before, after, contacts(program), scene.time_step))
        rows.append(
            [
                *(
                    name,
                    kind.name,
                    f"{settling.mean():.0f}",
                    f"{np.median(rest):.0f}",
                    f"{np.percentile(rest, 99):.0f}",
                ),
                *(f"{np.median(rest) / own:.2f}", str(found[-1].contacts), f"{max(f.residual for f in found):.0e}"),
                f"{1e3 * max(f.penetration for f in found):.4f}",
                f"{1e3 * np.linalg.norm(after.linear, axis=1).max():.3g}",
            ]
        )
    return rows


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scene", choices=list(SCENES), help="only this one")
    parser.add_argument("--steps", type=int, default=300, help="single steps after settling")
    options = parser.parse_args(arguments)
    rows = []
    for name in [options.scene] if options.scene else SCENES:
        print(f"measuring {name} ...", file=sys.stderr)
        rows += measure(name, options.steps)
    print(f"{machine()}\n\nTime step {1e3 * TIME_STEP:g} ms, microseconds of processor time a step\n")
    print(table(HEADER, rows))


if __name__ == "__main__":
    main()
