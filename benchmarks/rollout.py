"""Rollouts of robots that fall onto the ground under random joint forces, beside mujoco.rollout.

    python -m benchmarks.rollout [--samples N] [--steps N] [--robot NAME] [--quick] [--processor] [--worlds]

Both programs start all samples from the same standing state, step by 1 ms and hold new random joint forces in each
step. "falling" starts where the robot is put, "on the ground" half a second later. Rates are thousands of steps per
second, the best of several runs taken in turns; with `--processor` per second of processor time, the sum of all
threads', so that rates are those of a core, and other programs disturb less.

With `--gpu`, rollouts on an NVIDIA GPU beside MuJoCo Warp (PyPI `mujoco-warp`); wall clock. It has not been
run on one yet.

With `--worlds` one robot on the ground for 1 to 4,096 worlds, as a picture: whole rollouts and `Worlds.step`, single
worlds and lanes.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.robots import ROBOTS
from benchmarks.robots_on_ground import Case, Kido, Mujoco, cases
from benchmarks.simulators import TIME_STEP
from benchmarks.timing import machine, table
from kido.batch import RolloutPool, Worlds
from kido.jit.team import available_cores

FORCE = 2.0  # [N m] standard deviation of joint forces
CONES = "pyramidal", "elliptic"
STARTS = ("falling", 0), ("on the ground", 500)
HEADER = (
    "robot",
    "start",
    "threads",
    "KIDO",
    "KIDO lanes",
    *(f"MuJoCo {c}" for c in CONES),
    *(f"lanes / {c}" for c in CONES),
)


def all_cases() -> list[Case]:
    """Those robots, a small quadruped, and an arm that falls among cubes."""
    legs = (("thigh", 0.8), ("calf", -1.6))
    arm = (("panda_joint2", 0.74), ("panda_joint4", -1.6), ("panda_joint6", 2.2))  # its fingers 1 cm above cubes
    cubes = tuple((0.6 + 0.1 * i, -0.15 + 0.1 * j) for i in range(2) for j in range(4))
    more = [
        Case("Go1", ROBOTS / "go1_description" / "urdf" / "go1.urdf", 0.3, legs),
        Case("Panda, 8 cubes", ROBOTS / "panda_description" / "urdf" / "panda.urdf", 0.0, arm, True, cubes),
    ]
    return [case for case in [*cases(), *more] if case.file.is_file()]


class KidoRollouts:
    """Rollouts by kido.batch."""

    def __init__(
        self, case: Case, lanes: bool, threads: int, settle: int, samples: int, steps: int, device: str = "cpu"
    ) -> None:
        start = Kido(case)
        world, robot = start.world, start.robot
        if settle:
            world.step(settle)
        self.pool = RolloutPool(world, skeleton=robot, threads=threads, lanes=lanes, device=device)
        self.commands = FORCE * np.random.default_rng(0).normal(size=(samples, steps, robot.num_dofs))
        self.commands[:, :, : start.free] = 0.0

    def __call__(self) -> Any:
        found = self.pool.run(commands=self.commands)
        assert not found.errors
        return found


class MujocoRollouts:
    """Rollouts by mujoco.rollout."""

    def __init__(self, case: Case, cone: str, threads: int, settle: int, samples: int, steps: int) -> None:
        import mujoco
        from mujoco.rollout import Rollout

        world = Mujoco(case, cone)
        for _ in range(settle):
            world.step()
        full = mujoco.mjtState.mjSTATE_FULLPHYSICS
        state = np.empty(mujoco.mj_stateSize(world.model, full))
        mujoco.mj_getState(world.model, world.data, state, full)
        self.model = world.model
        self.state = np.tile(state, (samples, 1))
        self.data = [mujoco.MjData(world.model) for _ in range(threads)]
        self.forces = FORCE * np.random.default_rng(0).normal(size=(samples, steps, world.model.nv))
        self.forces[:, :, np.delete(np.arange(world.model.nv), world.dof)] = 0.0
        self.spec = int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)
        self.rollout = Rollout(nthread=threads if threads > 1 else 0)

    def __call__(self) -> Any:
        return self.rollout.rollout(self.model, self.data, self.state, self.forces, control_spec=self.spec)


class WarpRollouts:
    """Rollouts by MuJoCo Warp, whose step is captured as a graph."""

    def __init__(self, case: Case, cone: str, settle: int, samples: int, steps: int) -> None:
        import mujoco_warp
        import warp

        world = Mujoco(case, cone)
        for _ in range(settle):
            world.step()
        forces = FORCE * np.random.default_rng(0).normal(size=(steps, samples, world.model.nv))
        forces[:, :, np.delete(np.arange(world.model.nv), world.dof)] = 0.0
        self.warp = warp
        self.forces = [warp.array(row, dtype=float) for row in forces]
        self.start = lambda: mujoco_warp.put_data(world.model, world.data, nworld=samples)
        self.data, model = self.start(), mujoco_warp.put_model(world.model)
        mujoco_warp.step(model, self.data)  # compiles
        with warp.ScopedCapture() as capture:
            mujoco_warp.step(model, self.data)
        self.graph = capture.graph

    def __call__(self) -> Any:
        fresh = self.start()
        for name in ("qpos", "qvel", "qacc_warmstart"):
            self.warp.copy(getattr(self.data, name), getattr(fresh, name))
        for row in self.forces:
            self.warp.copy(self.data.qfrc_applied, row)
            self.warp.capture_launch(self.graph)
        return self.data.qpos.numpy()


class KidoSteps:
    """The same steps one by one, by `Worlds.step`."""

    def __init__(self, case: Case, lanes: bool, threads: int, settle: int, samples: int, steps: int) -> None:
        whole = KidoRollouts(case, lanes, threads, settle, samples, steps)
        self.commands = np.ascontiguousarray(whole.commands.transpose(1, 0, 2))
        pool = whole.pool.worlds
        robot = next(s for s in pool.world.skeletons if s.num_dofs == pool.num_dofs)
        self.worlds = Worlds(pool.world, samples, skeleton=robot, threads=threads, lanes=lanes)

    def __call__(self) -> Any:
        self.worlds.reset()
        for row in self.commands:
            self.worlds.step(row)
        assert not self.worlds.errors


def rates(runs: dict[str, Any], repeats: int, processor: bool, steps: int) -> dict[str, float]:
    """Thousands of steps a second, or a second of processor time, the best of some runs in turns."""
    best = dict.fromkeys(runs, np.inf)
    clock = process_time if processor else perf_counter
    for run in runs.values():
        run()
    for _ in range(repeats):
        for name, run in runs.items():
            start = clock()
            run()
            best[name] = min(best[name], clock() - start)
    return {name: 1e-3 * steps / time for name, time in best.items()}


def on_gpu(robots: list[Case], options: argparse.Namespace) -> None:
    """Rates on a GPU, printed."""
    rows = []
    for case, (start, settle) in product(robots, STARTS):
        size = settle, options.samples, options.steps
        runs: dict[str, Any] = {"KIDO": KidoRollouts(case, False, 1, *size, device="cuda")}
        runs |= {f"MuJoCo Warp {cone}": WarpRollouts(case, cone, *size) for cone in CONES}
        found = rates(runs, 3, False, options.samples * options.steps)
        rows.append([case.name, start, *(f"{rate:.1f}" for rate in found.values())])
    print(f"{machine()}\n\n{options.samples} worlds, thousands of steps per second\n")
    print(table(("robot", "start", "KIDO", *(f"MuJoCo Warp {c}" for c in CONES)), rows))


def sweep(case: Case, options: argparse.Namespace) -> None:
    """Rates against the number of worlds, printed and as a picture."""
    import matplotlib.pyplot as plt

    numbers = [1, 2, 4, 8, 16, 64, 256, 1024, 4096]
    figure, axes = plt.subplots(figsize=(7.0, 4.0))
    rows = []
    for threads, style in zip(sorted({1, available_cores()}), ("-", "--"), strict=False):
        lines: dict[str, list[float]] = {}
        for number in numbers:
            steps = int(np.clip(4096 // number, 8, 256))
            size = threads, 500, number, steps
            runs = {
                "KIDO, rollouts in lanes": KidoRollouts(case, True, *size),
                "KIDO, step by step in lanes": KidoSteps(case, True, *size),
                "KIDO, one by one": KidoRollouts(case, False, *size),
                "MuJoCo, pyramidal": MujocoRollouts(case, "pyramidal", *size),
            }
            found = rates(runs, 3 if options.quick else 8, options.processor, number * steps)
            for name, rate in found.items():
                lines.setdefault(name, []).append(rate)
            rows.append([str(number), str(threads), *(f"{rate:.1f}" for rate in found.values())])
            print(rows[-1], flush=True)
        for k, (name, values) in enumerate(lines.items()):
            label = f"{name}, {threads} thread{'s' * (threads > 1)}"
            axes.semilogx(numbers, values, style, marker="o", ms=3, base=2, color=f"C{k}", label=label)
    unit = "second and core" if options.processor else "second"
    axes.set(xlabel="worlds", ylabel=f"1,000 steps a {unit}", title=f"{case.name} on the ground, random joint forces")
    axes.set_ylim(0.0, None)
    axes.legend(fontsize=7, ncols=2, loc="lower right")
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(Path(__file__).parents[1] / "docs" / "images" / "worlds.png", dpi=110)
    print(table(("worlds", "threads", *lines), rows))


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--steps", type=int, default=64)
    parser.add_argument("--robot", choices=[case.name for case in all_cases()], help="of this robot alone")
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument("--processor", action="store_true", help="processor time, where other programs run")
    parser.add_argument("--gpu", action="store_true", help="on a GPU, with as many --samples as it should run")
    parser.add_argument("--worlds", action="store_true", help="against the number of worlds")
    options = parser.parse_args(arguments)
    rows = []
    robots = [case for case in all_cases() if options.robot in (None, case.name)]
    if options.gpu:
        on_gpu(robots, options)
        return
    if options.worlds:
        sweep(robots[0], options)
        return
    for case, (start, settle), threads in product(robots, STARTS, sorted({1, available_cores()})):
        size = threads, settle, options.samples, options.steps
        runs = {
            "KIDO": KidoRollouts(case, False, *size),
            "KIDO lanes": KidoRollouts(case, True, *size),
            **{f"MuJoCo {cone}": MujocoRollouts(case, cone, *size) for cone in CONES},
        }
        total = options.samples * options.steps
        rate = rates(runs, 3 if options.quick else 10, options.processor, total)
        ratios = (f"{rate['KIDO lanes'] / rate[f'MuJoCo {cone}']:.2f}" for cone in CONES)
        rows.append([case.name, start, str(threads), *(f"{rate[name]:.1f}" for name in runs), *ratios])
    of = " of processor time" if options.processor else ""
    print(f"{machine()}\n\nTime step {1e3 * TIME_STEP:g} ms, thousands of steps per second{of}\n")
    print(table(HEADER, rows))


if __name__ == "__main__":
    main()
