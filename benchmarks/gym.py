"""Steps of environments a second, by one thread, beside Gymnasium's own and beside MuJoCo's physics alone.

    python -m benchmarks.gym [--names Hopper Ant] [--numbers 1 64 4096] [--rounds 3]

Random actions, in the midst of episodes, with all that a step does: physics, observations, rewards, ends, beginnings of
the next episodes. `kido` is `Kido/NAME-v0` (a single one without and with lanes, then vector ones of one thread),
`gymnasium` is NAME-v5 (NAME-v1 of classic control) by `gymnasium.make`, and its `SyncVectorEnv`; `mujoco.batch` is the
physics of NAME-v5 with as many time steps by one thread, without observations, rewards and ends. Processor
time of the best of some rounds in turns, because others may use the machine.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from time import process_time
from typing import Any

import gymnasium
import numpy as np

import kido.gym
from benchmarks.timing import table

Call = Callable[[], Any]
CLASSIC = ("CartPole", "Pendulum")
OWN = ("Quadruped", "ArmReach", "ArmPush", "ArmPick")
STEPS = {1: 200, 64: 20}  # of a round, by the number of environments; else 2


def stepping(env: Any, steps: int) -> Call:
    """Steps under random actions, from the midst of episodes."""
    env.reset(seed=0)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(steps)]
    vector = hasattr(env, "num_envs")

    def run() -> None:
        for action in actions:
            _, _, ended, late, _ = env.step(action)
            if not vector and (ended or late):
                env.reset()

    run()
    return run


def physics(name: str, number: int, steps: int) -> Call:
    """MuJoCo's physics of an environment, with random controls from states of random episodes."""
    batch: Any = importlib.import_module("mujoco.batch")
    env: Any = gymnasium.make(f"{name}-v5").unwrapped
    many = batch.Batch(env.model, nsim=number, nthread=1)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    q, u, ctrl = (many.bind(field) for field in ("qpos", "qvel", "ctrl"))
    q[:] = env.data.qpos
    u[:] = 0.0

    def run() -> None:
        for _ in range(steps):
            ctrl[:] = rng.uniform(env.action_space.low, env.action_space.high, ctrl.shape)
            many.step(nstep=env.frame_skip)

    for _ in range(5):
        run()
    return run


def calls_of(name: str, number: int, steps: int) -> dict[str, Call]:
    """What is timed, by column."""
    ours = f"Kido/{name}-v0"
    theirs = f"{name}-v1" if name in CLASSIC else f"{name}-v5"
    found: dict[str, Call] = {}
    if number == 1:
        found["kido"] = stepping(gymnasium.make(ours), steps)
        found["kido, lanes"] = stepping(gymnasium.make(ours, lanes=True), steps)
        if name not in OWN:
            found["gymnasium"] = stepping(gymnasium.make(theirs), steps)
    else:
        found["kido"] = stepping(gymnasium.make_vec(ours, num_envs=number, threads=1), steps)
        if number <= 64 and name not in OWN:
            found["gymnasium"] = stepping(gymnasium.make_vec(theirs, number, vectorization_mode="sync"), steps)
    if name not in CLASSIC + OWN:
        found["mujoco.batch"] = physics(name, number, steps)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--names", nargs="*", default=kido.gym.names())
    parser.add_argument("--numbers", nargs="*", type=int, default=[1, 64, 4096])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    columns = ["kido", "kido, lanes", "gymnasium", "mujoco.batch"]
    rows = []
    for name in options.names:
        for number in options.numbers:
            steps = STEPS.get(number, 2)
            calls, times = calls_of(name, number, steps), {}
            for what in [*calls] * options.rounds:
                start = process_time()
                calls[what]()
                times[what] = min(process_time() - start, times.get(what, np.inf))
            rates = {what: number * steps / seconds / 1e3 for what, seconds in times.items()}
            rows.append([name, str(number), *(f"{rates[c]:.1f}" if c in rates else "" for c in columns)])
            print(rows[-1], flush=True)
    print(table(["environment", "number", *columns], rows))


if __name__ == "__main__":
    main()
