"""Vector environments as Stable-Baselines3 has them; needs the extra `train`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from kido.errors import StateError
from kido.gym.vector import KidoVectorEnv
from kido.libraries import library

_base: Any = library("stable_baselines3.common.vec_env", "kido.gym.sb3", "train").VecEnv

__all__ = ["StableBaselinesVecEnv"]


class StableBaselinesVecEnv(_base):
    """A vector environment for Stable-Baselines3, which knows single environments and its own vector ones.

    Infos of environments whose episodes end have "terminal_observation", "TimeLimit.truncated", and "episode" with the
    return "r" and length "l", as its `Monitor` has them.

    Args:
        env: with the autoreset mode "SameStep", which is that of Stable-Baselines3.
        infos: names of infos that are passed on besides; none by default, because a dictionary for each environment and
            step takes longer than many a step.

    Raises:
        StateError: another mode; of `reset`, options that were set.
    """

    def __init__(self, env: KidoVectorEnv, infos: Iterable[str] = ()):
        mode = env.metadata.get("autoreset_mode")
        if mode is not AutoresetMode.SAME_STEP:
            raise StateError(f"StableBaselinesVecEnv: expected an environment of autoreset_mode 'SameStep', got {mode}")
        self.env, self.infos = env, tuple(infos)
        self._returns, self._lengths = np.zeros(env.num_envs), np.zeros(env.num_envs, np.int64)
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> NDArray:
        if any(self._options):
            raise StateError(f"StableBaselinesVecEnv: expected no options for resets, got {self._options!r:.80}")
        seeds = None if all(s is None for s in self._seeds) else self._seeds
        observations, _ = self.env.reset(seed=seeds)
        self._returns[:], self._lengths[:] = 0.0, 0
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: NDArray) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[NDArray, NDArray, NDArray[np.bool_], list[dict[str, Any]]]:
        observations, rewards, ended, late, shown = self.env.step(self._actions)
        self._returns += rewards
        self._lengths += 1
        over = ended | late
        names = [name for name in self.infos if name in shown]
        infos: list[dict[str, Any]] = [{name: shown[name][k] for name in names} for k in range(self.num_envs)]
        for k in np.flatnonzero(over):
            last = shown["final_info"]
            infos[k] = {name: last[name][k] for name in self.infos if name in last} | {
                "terminal_observation": shown["final_obs"][k],
                "TimeLimit.truncated": bool(late[k] and not ended[k]),
                "episode": {"r": float(self._returns[k]), "l": int(self._lengths[k])},
            }
        self._returns[over], self._lengths[over] = 0.0, 0
        return observations, rewards, over, infos

    def close(self) -> None:
        self.env.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self.env, attr_name)] * len(self._which(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        if len(self._which(indices)) < self.num_envs:
            raise StateError(f"StableBaselinesVecEnv: {attr_name}: its environments are one; expected all indices")
        setattr(self.env, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        if len(self._which(indices)) < self.num_envs:
            raise StateError(f"StableBaselinesVecEnv: {method_name}: its environments are one; expected all indices")
        return [getattr(self.env, method_name)(*method_args, **method_kwargs)] * self.num_envs

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        # its episodes are counted as by Monitor, which Stable-Baselines3 looks for
        monitored = wrapper_class.__name__ == "Monitor"
        return [monitored] * len(self._which(indices))

    def get_images(self) -> Sequence[NDArray | None]:
        return self.env.render() or [None] * self.num_envs

    def _which(self, indices: Any) -> list[int]:
        return list(self._get_indices(indices))
