"""The single environment of a declaration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from kido.errors import NameLookupError, StateError
from kido.gym.environment import Environment
from kido.gym.lanes import Lanes
from kido.gym.rows import as_array

__all__ = ["RENDER_MODES", "KidoEnv", "check_options", "check_render_mode", "steps_of_episodes"]

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


def steps_of_episodes(environment: Environment, number: Any, default: float) -> float:
    """After how many steps episodes are truncated; infinity: never.

    Args:
        number: None: `default`; -1: never, as `gymnasium.make` has it.

    Raises:
        StateError: no whole number above 0.
    """
    if number is None:
        return default
    whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
    if not whole or (number < 1 and number != -1):
        raise StateError(
            f"environment {environment.name!r}: max_episode_steps: expected a whole number above 0, -1 (never) or "
            f"None, got {number!r}"
        )
    return np.inf if number == -1 else int(number)


def check_options(environment: Environment, options: Any, known: tuple[str, ...]) -> None:
    """Refuse options of a reset that there are not.

    Raises:
        StateError: no dictionary.
        NameLookupError: another option.
    """
    if options is not None and not isinstance(options, Mapping):
        raise StateError(f"environment {environment.name!r}: options: expected a dictionary, got {options!r:.80}")
    for name in options or ():
        if name not in known:
            raise NameLookupError(f"option for resets of environment {environment.name!r}", name, known)


class KidoEnv(gymnasium.Env):
    """A `gymnasium.Env`: one world of an environment.

    Its steps are, to the bit, those of a world of the vector environment with the same `lanes`. A world by itself is
    quicker without, which is the default here; many are with, which is the default there. They differ by rounding.
    A `copy.deepcopy` goes on as the original does, to the bit, its random numbers as well.

    Args:
        environment: the declaration.
        render_mode: "rgb_array" for images by `kido.rendering`, or None.
        max_episode_steps: after which episodes are truncated; None or -1: never, as `gymnasium.make` does it by a
            wrapper.
        lanes: as of `kido.batch.Worlds`.

    Raises:
        StateError: another render mode or number of steps; of `step`, actions that are of another shape or not
            finite, before the first `reset` too; nothing has happened then.
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
        self._most = steps_of_episodes(environment, max_episode_steps, np.inf)
        self.lanes = Lanes(environment, 1, 1, lanes)
        self.action_space, self.observation_space = self.lanes.action_space, self.lanes.observation_space
        self.metadata = {"render_modes": RENDER_MODES, "render_fps": max(1, round(1.0 / self.lanes.time_step))}
        self._begun = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray, dict[str, Any]]:
        """Begin an episode. There are no options.

        Raises:
            NameLookupError: an option.
        """
        check_options(self.environment, options, ())
        super().reset(seed=int(seed) if isinstance(seed, np.integer) else seed)
        self.lanes.begin(np.zeros(1, np.int64), [self.np_random])
        self._begun = True
        start = self.lanes.present()
        return self.lanes.observed(start)[0], _first(self.lanes.described(start))

    def step(self, action: Any) -> tuple[NDArray, float, bool, bool, dict[str, Any]]:
        """One step of the environment."""
        if not self._begun:
            raise StateError(f"environment {self.environment.name!r}: step: expected a reset before the first step")
        lanes = self.lanes
        found, failed = lanes.step(lanes.checked(as_array(action)[None]))
        reward, ended, infos = lanes.judged(found, failed)
        info = _first(infos | lanes.described(found))
        if failed:
            info["error"] = failed[0]
        late = bool(lanes.elapsed[0] >= self._most)
        return lanes.observed(found)[0], float(reward[0]), bool(ended[0]), late, info

    def render(self) -> NDArray[np.uint8] | None:
        """(height, width, 3) an image of the world."""
        return None if self.render_mode is None else self.lanes.image(0)


def _first(infos: dict[str, NDArray]) -> dict[str, Any]:
    """Infos of the first world."""
    return {name: values[0].copy() if values.ndim > 1 else values[0] for name, values in infos.items()}
