"""The single environment of a declaration."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from kido.errors import StateError
from kido.gym.environment import Environment
from kido.gym.lanes import Lanes

__all__ = ["RENDER_MODES", "KidoEnv", "check_render_mode"]

RENDER_MODES = ["rgb_array"]


def check_render_mode(environment: Environment, mode: Any) -> None:
    """Refuse a way of drawing that there is not.

    Raises:
        StateError: it is none of `RENDER_MODES`, nor None.
    """
    if mode is not None and mode not in RENDER_MODES:
        raise StateError(
            f"environment {environment.name!r}: render_mode: expected None or one of {RENDER_MODES}, got {mode!r}"
        )


class KidoEnv(gymnasium.Env):
    """A `gymnasium.Env`: one world of an environment.

    Its steps are, to the bit, those of a world of the vector environment with the same `lanes`. A world by itself is
    quicker without, which is the default here; many are with, which is the default there. They differ by rounding.

    Args:
        environment: the declaration.
        render_mode: "rgb_array" for images by `kido.rendering`, or None.
        max_episode_steps: after which episodes are truncated; None: never, as `gymnasium.make` does it by a wrapper.
        lanes: as of `kido.batch.Worlds`.

    Raises:
        StateError: another render mode; of `step`, actions that are of another shape or not finite, before the first
            `reset` too; nothing has happened then.
    """

    def __init__(
        self,
        environment: Environment,
        *,
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
        lanes: bool = False,
    ):
        check_render_mode(environment, render_mode)
        self.environment, self.render_mode, self.max_episode_steps = environment, render_mode, max_episode_steps
        self.lanes = Lanes(environment, 1, 1, lanes)
        self.action_space, self.observation_space = self.lanes.action_space, self.lanes.observation_space
        self.metadata = {"render_modes": RENDER_MODES, "render_fps": max(1, round(1.0 / self.lanes.time_step))}
        self._begun = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        self.lanes.begin(np.zeros(1, np.int64), [self.np_random])
        self._begun = True
        start = self.lanes.present()
        return self.lanes.observed(start)[0], _first(self.lanes.described(start))

    def step(self, action: Any) -> tuple[NDArray, float, bool, bool, dict[str, Any]]:
        """One step of the environment."""
        if not self._begun:
            raise StateError(f"environment {self.environment.name!r}: step: expected a reset before the first step")
        lanes = self.lanes
        found, failed = lanes.step(lanes.checked(np.asarray(action)[None]))
        reward, ended, infos = lanes.judged(found, failed)
        info = _first(infos | lanes.described(found))
        if failed:
            info["error"] = failed[0]
        late = self.max_episode_steps is not None and bool(lanes.elapsed[0] >= self.max_episode_steps)
        return lanes.observed(found)[0], float(reward[0]), bool(ended[0]), late, info

    def render(self) -> NDArray[np.uint8] | None:
        """(height, width, 3) an image of the world."""
        return None if self.render_mode is None else self.lanes.image(0)


def _first(infos: dict[str, NDArray]) -> dict[str, Any]:
    """Infos of the first world."""
    return {name: values[0].copy() if values.ndim > 1 else values[0] for name, values in infos.items()}
