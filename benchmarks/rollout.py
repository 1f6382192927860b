"""Rollouts of robots that fall onto the ground under random joint forces, beside mujoco.rollout.

    python -m benchmarks.rollout [--samples N] [--steps N] [--robot NAME] [--quick]

Both programs start all samples from the same standing state, step by 1 ms and hold new random joint forces in each
step. "falling" starts where the robot is put, "on the ground" half a second later. Rates are thousands of steps per
second, the best of several runs taken in turns.
"""

from __future__ import annotations

import argparse
from itertools import product
from typing import Any

import numpy as np

from benchmarks.robots_on_ground import Case, Kido, Mujoco, cases
from benchmarks.simulators import TIME_STEP
from benchmarks.timing import interleaved, machine, table
from kido.batch import RolloutPool
from kido.jit.team import available_cores

FORCE = 2.0  # [N m] standard deviation of joint forces
CONES = "pyramidal", "elliptic"
HEADER = (
    "robot",
    "start",
    "threads",
    "KIDO",
    "KIDO lanes",
    *(f"MuJoCo {c}" for c in CONES),
    *(f"lanes / {c}" for c in CONES),
)


class KidoRollouts:
    """Rollouts by kido.batch."""

    def __init__(self, case: Case, lanes: bool, threads: int, settle: int, samples: int, steps: int) -> None:
        start = Kido(case)
        world, robot = start.world, start.robot
        if settle:
            world.step(settle)
        self.pool = RolloutPool(world, skeleton=robot, threads=threads, lanes=lanes)
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
        self.forces[:, :, :6] = 0.0
        self.spec = int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)
        self.rollout = Rollout(nthread=threads if threads > 1 else 0)

    def __call__(self) -> Any:
        return self.rollout.rollout(self.model, self.data, self.state, self.forces, control_spec=self.spec)


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--steps", type=int, default=64)
    parser.add_argument("--robot", choices=[case.name for case in cases()], help="of this robot alone")
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    options = parser.parse_args(arguments)
    rows = []
    starts = ("falling", 0), ("on the ground", 500)
    robots = [case for case in cases() if options.robot in (None, case.name)]
    for case, (start, settle), threads in product(robots, starts, sorted({1, available_cores()})):
        size = threads, settle, options.samples, options.steps
        runs = {
            "KIDO": KidoRollouts(case, False, *size),
            "KIDO lanes": KidoRollouts(case, True, *size),
            **{f"MuJoCo {cone}": MujocoRollouts(case, cone, *size) for cone in CONES},
        }
        for run in runs.values():
            run()
        times = interleaved(runs, 3 if options.quick else 10)
        rate = {name: 1e-3 * options.samples * options.steps / time for name, time in times.items()}
        ratios = (f"{rate['KIDO lanes'] / rate[f'MuJoCo {cone}']:.2f}" for cone in CONES)
        rows.append([case.name, start, str(threads), *(f"{rate[name]:.1f}" for name in runs), *ratios])
    print(f"{machine()}\n\nTime step {1e3 * TIME_STEP:g} ms, thousands of steps per second\n")
    print(table(HEADER, rows))


if __name__ == "__main__":
    main()
