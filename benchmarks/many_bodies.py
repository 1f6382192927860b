"""Separate bodies of mixed shapes at rest on a plane, awake and asleep: time of a step, beside MuJoCo.

    python -m benchmarks.many_bodies [--quick] [--size BODIES] [--time-step MS]

Boxes, spheres, capsules and cylinders in turn, half a metre apart, steps of 1 ms unless told. "build" makes the
objects, "compile" the arrays. "step" is the best of several runs taken in turns, after 0.1 s of settling, median and
99th percentile those of single steps; "real time" is simulated over measured time; the residual is the certified one
of the worst step. "asleep": after 1 s in worlds that let bodies sleep, MuJoCo's by its own flag. MuJoCo (its default
solver and cone) runs up to 300 bodies.
"""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.simulators import FRICTION, TIME_STEP
from benchmarks.timing import interleaved, machine, table
from kido.jit.team import available_cores

SIZES = (10, 100, 300, 1000, 3003)
MAX_MUJOCO = 300
SLEEPY, SINGLE = 1000, 200  # steps until all sleeps, and steps timed by themselves
PITCH, RADIUS = 0.5, 0.1  # [m]
HEADER = (
    *("bodies", "contacts", "build [s]", "compile [s]", "step [us]", "median", "99th", "a body [us]", "real time"),
    *("residual", "all cores [us]", "asleep [us]", "MuJoCo [us]", "MuJoCo / KIDO", "MuJoCo asleep [us]"),
)


def place(i: int, count: int) -> tuple[float, float, float]:
    """Where body i of a square field lies."""
    side = int(np.ceil(np.sqrt(count)))
    return PITCH * (i % side), PITCH * (i // side), RADIUS * (2.0 if i % 4 == 2 else 1.0)


def kido_world(count: int, time_step: float = TIME_STEP) -> Any:
    """The field in KIDO."""
    import kido
    from kido.shapes import Box, Capsule, Cylinder, Sphere

    shapes = (
        Box((2 * RADIUS, 2 * RADIUS, 2 * RADIUS)),
        Sphere(RADIUS),
        Capsule(RADIUS, 2 * RADIUS),
        Cylinder(RADIUS, 2 * RADIUS),
    )
    world = kido.World(time_step=time_step)
    world.add_ground(friction=FRICTION)
    for i in range(count):
        skeleton = kido.Skeleton(f"s{i}")
        inertia = kido.Inertia(1.0, moment=0.01 * np.eye(3))
        skeleton.add_body("body", joint=kido.FreeJoint("free"), inertia=inertia).add_shape(
            shapes[i % 4], friction=FRICTION
        )
        skeleton.positions = [0.0, 0.0, 0.0, *place(i, count)]
        world.add_skeleton(skeleton)
    return world


def mujoco_step(count: int, asleep: bool = False, time_step: float = TIME_STEP) -> Any:
    """A function that does steps of the field in MuJoCo; `asleep`: bodies may sleep."""
    import mujoco

    r = RADIUS
    geoms = (f'type="box" size="{r} {r} {r}"', f'type="sphere" size="{r}"')
    geoms += (f'type="capsule" size="{r} {r}"', f'type="cylinder" size="{r} {r}"')
    inertial = '<inertial pos="0 0 0" mass="1" diaginertia="0.01 0.01 0.01"/>'
    bodies = "".join(
        f'<body pos="{x} {y} {z}"><freejoint/>{inertial}<geom {geoms[i % 4]} friction="{FRICTION} 0 0"/></body>'
        for i, (x, y, z) in ((i, place(i, count)) for i in range(count))
    )
    floor = f'<geom type="plane" size="0 0 1" friction="{FRICTION} 0 0"/>'
    flag = '<flag sleep="enable"/>' if asleep else ""
    option = f'<option timestep="{time_step}">{flag}</option>'
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{option}<worldbody>{floor}{bodies}</worldbody></mujoco>")
    data = mujoco.MjData(model)
    return lambda steps: mujoco.mj_step(model, data, steps)


def measure(count: int, repeats: int, time_step: float = TIME_STEP) -> list[str]:
    """A row of the table."""
    begin = perf_counter()
    world = kido_world(count, time_step)
    built = perf_counter()
    len(world.contacts)  # compiles
    compiled = perf_counter()
    steps = max(1, 3000 // count)
    calls = {"one": lambda: world.step(steps)}
    runs: dict[str, Any] = {"one": world.step}
    if available_cores() > 1:
        shared = world.clone()
        shared.threads = None
        runs["all"] = shared.step
        calls["all"] = lambda: shared.step(steps)
    if count <= MAX_MUJOCO:
        runs["mujoco"] = mujoco_step(count, time_step=time_step)
        calls["mujoco"] = lambda: runs["mujoco"](steps)
        runs["mujoco asleep"] = mujoco_step(count, asleep=True, time_step=time_step)
        calls["mujoco asleep"] = lambda: runs["mujoco asleep"](100)
    resting = world.clone()
    resting.sleeping = True
    runs["asleep"] = resting.step
    calls["asleep"] = lambda: resting.step(100)
    for name, run in runs.items():
        run(SLEEPY if "asleep" in name else 100)
    best = {
        name: 1e6 * time / (100 if "asleep" in name else steps) for name, time in interleaved(calls, repeats).items()
    }
    one = best["one"]
    single = []
    for _ in range(SINGLE):
        begin_step = perf_counter()
        world.step()
        single.append(1e6 * (perf_counter() - begin_step))
    return [
        *(str(count), str(len(world.contacts)), f"{built - begin:.2f}", f"{compiled - built:.2f}"),
        *(f"{one:.0f}", f"{np.median(single):.0f}", f"{np.percentile(single, 99):.0f}"),
        *(f"{one / count:.2f}", f"{1e6 * time_step / one:.2f}", f"{world.report.residual:.0e}"),
        f"{best['all']:.0f}" if "all" in best else "-",
        f"{best['asleep']:.1f}",
        *((f"{best['mujoco']:.0f}", f"{best['mujoco'] / one:.1f}") if "mujoco" in best else ("-", "-")),
        f"{best['mujoco asleep']:.1f}" if "mujoco" in best else "-",
    ]


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument("--size", type=int, action="append", help="number of bodies; several times for several")
    parser.add_argument("--time-step", type=float, default=1e3 * TIME_STEP, help="in ms")
    options = parser.parse_args(arguments)
    kido_world(2).step(1)  # compile kernels
    time_step = 1e-3 * options.time_step
    rows = [measure(count, 5 if options.quick else 20, time_step) for count in options.size or SIZES]
    print(f"{machine()}\n\nTime step {1e3 * time_step:g} ms\n")
    print(table(HEADER, rows))


if __name__ == "__main__":
    main()
