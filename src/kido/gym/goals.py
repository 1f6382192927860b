"""Observations of the arm's tasks as goals achieved and desired, for hindsight."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError
from kido.gym.arms import NEAR, SPARSE

__all__ = ["GoalObservation"]

Array = NDArray[np.float64]
PLACE = 3


class GoalObservation(gymnasium.Wrapper, RecordConstructorArgs):
    """A task of the arm with observations {"observation", "achieved_goal", "desired_goal"} and sparse rewards.

    What goal an episode had can then be changed afterwards, as hindsight experience replay does it
    (`stable_baselines3.HerReplayBuffer`): `compute_reward` says what would have been earned.

    Args:
        env: `Kido/ArmReach-v0`, `ArmPush` or `ArmPick` with ``reward="sparse"``.

    Raises:
        ModelError: another environment, or one with dense rewards.

    Source: Andrychowicz et al. (2017), Hindsight experience replay.
    """

    def __init__(self, env: gymnasium.Env):
        RecordConstructorArgs.__init__(self)
        gymnasium.Wrapper.__init__(self, env)
        declared: Any = getattr(env.unwrapped, "environment", None)
        if getattr(declared, "name", "") not in SPARSE:
            raise ModelError(f"GoalObservation: expected a task of the arm with reward='sparse', got {env!r:.120}")
        size = env.observation_space.shape or (0,)
        of = {"observation": size[0] - 2 * PLACE, "achieved_goal": PLACE, "desired_goal": PLACE}
        self.observation_space = spaces.Dict(
            {key: spaces.Box(-np.inf, np.inf, (n,), np.float64) for key, n in of.items()}
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Array], dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        return _parts(observation), info

    def step(self, action: Any) -> tuple[dict[str, Array], Any, bool, bool, dict[str, Any]]:
        observation, *rest = self.env.step(action)
        return _parts(observation), *rest  # type: ignore[return-value]

    def compute_reward(self, achieved_goal: ArrayLike, desired_goal: ArrayLike, info: Any) -> Any:
        """Rewards (...,) of goals (..., 3): 0 within 0.03 m, else -1."""
        away = np.asarray(achieved_goal, dtype=float) - np.asarray(desired_goal, dtype=float)
        return -(np.sqrt(np.square(away).sum(axis=-1)) > NEAR).astype(float)


def _parts(observation: Array) -> dict[str, Array]:
    """The goal is at an observation's end, and before the way that is left to it."""
    goal = observation[-2 * PLACE : -PLACE].copy()
    return {
        "observation": observation[: -2 * PLACE].copy(),
        "achieved_goal": goal - observation[-PLACE:],
        "desired_goal": goal,
    }
