"""Training with Stable-Baselines3 on one core: returns of episodes, and of the policy that was found.

    python -m benchmarks.learning [--names Pendulum CartPole] [--seeds 0] [--steps 20000] [--image curves.png]

Needs the extra `train`. Hyperparameters are those of RL Baselines3 Zoo. What is found is evaluated in 20 episodes, and,
where Gymnasium has the environment, there as well.
"""

from __future__ import annotations

import argparse
import importlib
import time
from typing import Any

import gymnasium
import numpy as np

import kido.gym
from benchmarks.timing import table

THEIRS = {"Pendulum": "Pendulum-v1", "CartPole": "CartPole-v1"}
EPISODES = 20
# Algorithm, steps, environments side by side, and options.
RUNS: dict[str, tuple[str, int, int, dict[str, Any]]] = {
    "Pendulum": ("SAC", 20_000, 1, {"learning_rate": 1e-3}),
    "CartPole": (
        "PPO", 100_000, 8,
        {
            "n_steps": 32, "batch_size": 256, "gae_lambda": 0.8, "gamma": 0.98, "n_epochs": 20, "ent_coef": 0.0,
            "learning_rate": lambda left: 1e-3 * left, "clip_range": lambda left: 0.2 * left,
        },
    ),
}  # fmt: skip
FORWARD: tuple[str, int, int, dict[str, Any]] = ("SAC", 100_000, 1, {"learning_starts": 10_000})


def returns(policy: Any, name: str) -> np.ndarray:
    """Returns of a policy without noise, of episodes with seeds 1000, 1001, ..."""
    env, found = gymnasium.make(name), []
    for seed in range(1000, 1000 + EPISODES):
        observation, _ = env.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            observation, reward, ended, late, _ = env.step(policy.predict(observation, deterministic=True)[0])
            total, over = total + float(reward), ended or late
        found.append(total)
    return np.array(found)


def train(name: str, seed: int, steps: int | None) -> tuple[Any, np.ndarray, float]:
    """The policy, (episodes, 2) steps and returns while learning, and seconds."""
    sb3: Any = importlib.import_module("stable_baselines3")
    helpers: Any = importlib.import_module("stable_baselines3.common.env_util")
    algorithm, most, number, options = RUNS.get(name, FORWARD)
    env = helpers.make_vec_env(f"Kido/{name}-v0", n_envs=number, seed=seed, env_kwargs={"lanes": False})
    policy = getattr(sb3, algorithm)("MlpPolicy", env, seed=seed, device="cpu", **options)
    start = time.perf_counter()
    curve: list[tuple[int, float]] = []

    def note(values: dict[str, Any], _: Any) -> bool:
        curve.extend((policy.num_timesteps, i["episode"]["r"]) for i in values["infos"] if "episode" in i)
        return True

    policy.learn(steps or most, callback=note)
    return policy, np.array(curve), time.perf_counter() - start


def draw(curves: dict[str, np.ndarray], file: str) -> None:
    """Means of ten episodes over steps."""
    plt: Any = importlib.import_module("matplotlib.pyplot")
    fig, axes = plt.subplots(1, len(curves), figsize=(4.2 * len(curves), 3), squeeze=False)
    for ax, (name, curve) in zip(axes[0], curves.items(), strict=True):
        ax.plot(curve[:, 0], curve[:, 1], ".", ms=2, color="0.7")
        mean = np.convolve(curve[:, 1], np.full(10, 0.1), "valid")
        ax.plot(curve[9:, 0], mean)
        ax.set(title=name, xlabel="steps", ylabel="return")
    fig.tight_layout()
    fig.savefig(file, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--names", nargs="*", default=list(RUNS), choices=kido.gym.names())
    parser.add_argument("--seeds", nargs="*", type=int, default=[0])
    parser.add_argument("--steps", type=int)
    parser.add_argument("--image")
    options = parser.parse_args()
    importlib.import_module("torch").set_num_threads(1)
    rows, curves = [], {}
    for name in options.names:
        for seed in options.seeds:
            policy, curve, seconds = train(name, seed, options.steps)
            curves[f"{name}, seed {seed}"] = curve
            ours, other = returns(policy, f"Kido/{name}-v0"), ""
            if name in THEIRS:
                found = returns(policy, THEIRS[name])
                other = f"{found.mean():.0f} +- {found.std():.0f}"
            steps = policy.num_timesteps
            rows.append([name, str(seed), type(policy).__name__, str(steps), f"{ours.mean():.0f} +- {ours.std():.0f}",
                         other, f"{seconds:.0f}"])  # fmt: skip
            print(rows[-1], flush=True)
    print(table(["environment", "seed", "by", "steps", "return", "in Gymnasium's", "seconds"], rows))
    if options.image:
        draw(curves, options.image)


if __name__ == "__main__":
    main()
