"""Training with Stable-Baselines3 on one core: returns of episodes, and of the policy that was found.

    python -m benchmarks.learning [--names Pendulum CartPole] [--seeds 0 1 2] [--steps 20000] [--home gymnasium]
                                  [--folder runs]
    python -m benchmarks.learning --folder runs --image curves.png

Needs the extra `train`. Hyperparameters are those of RL Baselines3 Zoo. What is found is evaluated in 20 episodes, in
KIDO and, where Gymnasium has the environment, there as well, wherever it was trained (`--home`). A folder keeps curves
and policies of runs; with `--image` and no `--names` those that it has are drawn.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import kido.gym
from benchmarks.timing import table

THEIRS = {
    "Pendulum": "Pendulum-v1", "CartPole": "CartPole-v1",
    **{name: f"{name}-v5" for name in ("Reacher", "Hopper", "Walker2d", "HalfCheetah", "Ant", "Humanoid")},
}  # fmt: skip
EPISODES = 20
COLUMNS = ["environment", "trained in", "seed", "by", "steps", "return", "in Gymnasium's", "seconds of processor"]


def falling(value: float) -> Any:
    """What falls to nothing until the last step."""
    return lambda left: value * left


# Algorithm, steps, environments side by side, and options; "normalize": observations and rewards by running means.
RUNS: dict[str, tuple[str, int, int, dict[str, Any]]] = {
    "Pendulum": ("SAC", 20_000, 1, {"learning_rate": 1e-3}),
    "CartPole": (
        "PPO", 100_000, 8,
        {
            "n_steps": 32, "batch_size": 256, "gae_lambda": 0.8, "gamma": 0.98, "n_epochs": 20, "ent_coef": 0.0,
            "learning_rate": falling(1e-3), "clip_range": falling(0.2),
        },
    ),
    "Quadruped": (
        "PPO", 1_000_000, 128,
        {
            "n_steps": 24, "batch_size": 256, "gae_lambda": 0.95, "gamma": 0.98, "n_epochs": 8, "ent_coef": 0.0,
            "learning_rate": 5e-4, "policy_kwargs": {"net_arch": [128, 64], "log_std_init": -0.7},
        },
    ),
    "HalfCheetah": (
        "PPO", 1_000_000, 32,
        {
            "n_steps": 64, "batch_size": 256, "gae_lambda": 0.95, "gamma": 0.99, "n_epochs": 8, "ent_coef": 0.0,
            "learning_rate": 5e-4, "policy_kwargs": {"net_arch": [64, 64], "log_std_init": -1.0},
        },
    ),
}  # fmt: skip
# CleanRL's, with environments side by side.
RUNS["Hopper"] = (
    "PPO", 1_000_000, 16,
    {
        "n_steps": 128, "batch_size": 64, "gae_lambda": 0.95, "gamma": 0.99, "n_epochs": 10, "ent_coef": 0.0,
        "learning_rate": falling(3e-4), "normalize": True,
    },
)  # fmt: skip
FORWARD: tuple[str, int, int, dict[str, Any]] = ("SAC", 100_000, 1, {"learning_starts": 10_000})


def returns(policy: Any, name: str) -> np.ndarray:
    """Returns of a policy without noise, of episodes with seeds 1000, 1001, ..."""
    env, found = gymnasium.make(name), []
    normal = policy.get_vec_normalize_env()
    for seed in range(1000, 1000 + EPISODES):
        observation, _ = env.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            seen = observation if normal is None else normal.normalize_obs(observation)
            observation, reward, ended, late, _ = env.step(policy.predict(seen, deterministic=True)[0])
            total, over = total + float(reward), ended or late
        found.append(total)
    return np.array(found)


def train(name: str, seed: int, steps: int | None, home: str, minutes: float) -> tuple[Any, np.ndarray, float]:
    """The policy, (episodes, 2) steps and returns while learning, and seconds."""
    sb3: Any = importlib.import_module("stable_baselines3")
    helpers: Any = importlib.import_module("stable_baselines3.common.env_util")
    algorithm, most, number, options = RUNS.get(name, FORWARD)
    options = dict(options)
    normalize = options.pop("normalize", False)
    if home == "gymnasium":
        env = helpers.make_vec_env(THEIRS[name], n_envs=number, seed=seed)
    elif number == 1:
        env = helpers.make_vec_env(f"Kido/{name}-v0", seed=seed, env_kwargs={"lanes": False})
    else:
        vector: Any = importlib.import_module("kido.gym.sb3")
        env = vector.StableBaselinesVecEnv(kido.gym.environment(name).vector(number, autoreset_mode="SameStep"))
        env.seed(seed)
    if normalize:
        vec_env: Any = importlib.import_module("stable_baselines3.common.vec_env")
        env = vec_env.VecNormalize(env, gamma=options["gamma"])
    policy = getattr(sb3, algorithm)("MlpPolicy", env, seed=seed, device="cpu", **options)
    start, until = time.process_time(), time.monotonic() + 60.0 * minutes
    curve: list[tuple[int, float]] = []

    def note(values: dict[str, Any], _: Any) -> bool:
        curve.extend((policy.num_timesteps, i["episode"]["r"]) for i in values["infos"] if "episode" in i)
        return time.monotonic() < until

    policy.learn(steps or most, callback=note)
    return policy, np.array(curve), time.process_time() - start


def draw(folder: Path, file: str) -> None:
    """Means of the episodes that ended in each 25th of the steps, of all runs in a folder, by environment."""
    plt: Any = importlib.import_module("matplotlib.pyplot")
    runs = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    names = list(dict.fromkeys(run["row"][0] for run in runs))
    fig, axes = plt.subplots(1, len(names), figsize=(3.6 * len(names), 2.8), squeeze=False)
    for ax, name in zip(axes[0], names, strict=True):
        for run in runs:
            curve = np.array(run["curve"])
            if run["row"][0] == name and len(curve):
                part = np.minimum(25.0 * curve[:, 0] / curve[-1, 0], 24.0).astype(int)
                means = np.array([curve[part == k].mean(axis=0) for k in np.unique(part)])
                here = run["row"][1] == "KIDO"
                ax.plot(*means.T, ".-" if here else ".:", label=f"{run['row'][1]}, seed {run['row'][2]}")
        ax.set(title=name, xlabel="steps", ylabel="return")
        ax.legend(fontsize=6)
        ax.locator_params(axis="x", nbins=4)
    fig.tight_layout()
    fig.savefig(file, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--names", nargs="*", choices=kido.gym.names())
    parser.add_argument("--seeds", nargs="*", type=int, default=[0])
    parser.add_argument("--steps", type=int)
    parser.add_argument("--minutes", type=float, default=np.inf, help="after which a run ends, whatever its steps")
    parser.add_argument("--home", choices=("kido", "gymnasium"), default="kido")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--image")
    options = parser.parse_args()
    importlib.import_module("torch").set_num_threads(1)
    rows = []
    for name in [] if options.image and not options.names else options.names or RUNS:
        for seed in options.seeds:
            policy, curve, seconds = train(name, seed, options.steps, options.home, options.minutes)
            home = {"kido": "KIDO", "gymnasium": "Gymnasium"}[options.home]
            row = [name, home, str(seed), type(policy).__name__, str(policy.num_timesteps)]
            if options.folder:
                options.folder.mkdir(exist_ok=True)
                run = options.folder / f"{name}_{home}_{seed}"
                run.with_suffix(".json").write_text(json.dumps({"row": row, "curve": curve.tolist()}))
                policy.save(run.with_suffix(".zip"))
                if normal := policy.get_vec_normalize_env():
                    normal.save(run.with_suffix(".pkl"))
            found = [returns(policy, full) for full in (f"Kido/{name}-v0", THEIRS.get(name)) if full]
            earned = [f"{r.mean():.0f} +- {r.std():.0f}" for r in found] + [""] * (2 - len(found))
            rows.append([*row, *earned, f"{seconds:.0f}"])
            print(rows[-1], flush=True)
    print(table(COLUMNS, rows))
    if options.image and options.folder:
        draw(options.folder, options.image)


if __name__ == "__main__":
    main()
