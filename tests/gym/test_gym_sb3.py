"""Vector environments for Stable-Baselines3 beside its own, of single environments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kido.gym
from kido.errors import StateError

pytest.importorskip("stable_baselines3")


def beside(name: str, number: int, limit: int) -> tuple[Any, Any]:
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv

    from kido.gym.sb3 import StableBaselinesVecEnv

    declared = kido.gym.environment(name)
    ours = StableBaselinesVecEnv(
        declared.vector(number, max_episode_steps=limit, autoreset_mode="SameStep"), infos=["reward_ctrl"]
    )
    theirs = DummyVecEnv([lambda: Monitor(declared.single(max_episode_steps=limit, lanes=True))] * number)
    return ours, theirs


def test_it_is_the_one_of_single_environments() -> None:
    """Observations, rewards, ends, and what infos say at an episode's end, from the same seeds, to the bit."""
    ours, theirs = beside("Hopper", 3, 12)
    for env in (ours, theirs):
        env.seed(5)
    assert np.array_equal(ours.reset(), theirs.reset())
    assert ours.observation_space == theirs.observation_space and ours.action_space == theirs.action_space
    rng, ends = np.random.default_rng(0), 0
    for _ in range(40):
        actions = rng.uniform(-1.0, 1.0, (3, 3)).astype(np.float32)
        for a, b in zip(ours.step(actions)[:3], theirs.step(actions)[:3], strict=True):
            assert np.array_equal(a.astype(b.dtype), b)  # rewards have 32 bits there
        infos, wanted = [env.step(actions)[3] for env in (ours, theirs)]
        for k in range(3):
            assert infos[k]["reward_ctrl"] == wanted[k]["reward_ctrl"]
            if "episode" in wanted[k]:
                ends += 1
                assert infos[k]["episode"]["r"] == pytest.approx(wanted[k]["episode"]["r"], abs=1e-5)
                assert infos[k]["episode"]["l"] == wanted[k]["episode"]["l"]
                assert infos[k]["TimeLimit.truncated"] == wanted[k]["TimeLimit.truncated"]
                assert np.array_equal(infos[k]["terminal_observation"], wanted[k]["terminal_observation"])
    assert ends > 3


def test_its_environments_are_one() -> None:
    from stable_baselines3.common.monitor import Monitor

    ours, _ = beside("Pendulum", 2, 5)
    assert ours.get_attr("max_episode_steps") == [5, 5] and ours.env_is_wrapped(Monitor) == [True, True]
    with pytest.raises(StateError, match="max_episode_steps: its environments are one; expected all indices"):
        ours.set_attr("max_episode_steps", 7, indices=[0])
    ours.set_attr("max_episode_steps", 7)
    assert ours.env.max_episode_steps == 7
    ours.close()


def test_the_mode_of_resets_is_that_of_stable_baselines() -> None:
    from kido.gym.sb3 import StableBaselinesVecEnv

    with pytest.raises(StateError, match="autoreset_mode 'SameStep'"):
        StableBaselinesVecEnv(kido.gym.environment("Pendulum").vector(2))


def test_options_of_resets_are_refused() -> None:
    ours, _ = beside("Pendulum", 2, 5)
    ours.set_options({"far": True})
    with pytest.raises(StateError, match="expected no options for resets, got"):
        ours.reset()
