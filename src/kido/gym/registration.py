"""Environments by name, for `gymnasium.make` and `gymnasium.make_vec`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import gymnasium

from kido.errors import ModelError, NameLookupError
from kido.gym.arms import arm_pick, arm_push, arm_reach
from kido.gym.classic import cart_pole, pendulum
from kido.gym.environment import Environment
from kido.gym.locomotion import ant, half_cheetah, hopper, humanoid, reacher, walker2d
from kido.gym.quadruped import quadruped
from kido.gym.single import KidoEnv
from kido.gym.vector import KidoVectorEnv

__all__ = ["environment", "make_single", "make_vector", "names", "register"]

_MAKERS: dict[str, Callable[..., Environment]] = {}


def names() -> list[str]:
    """Names of the environments that there are, without "Kido/" and version."""
    return list(_MAKERS)


def register(name: str, maker: Callable[..., Environment]) -> None:
    """Let `gymnasium.make` and `make_vec` find an environment as "Kido/NAME-v0".

    Args:
        name: that of what `maker` makes.
        maker: makes the declaration; its arguments are options of `gymnasium.make`.

    Raises:
        ModelError: what it makes without options is no `Environment`.
    """
    declared = maker() if callable(maker) else maker
    if not callable(maker) or not isinstance(declared, Environment):
        raise ModelError(f"register {name!r}: expected a function that makes an Environment, got {declared!r:.80}")
    gymnasium.register(
        f"Kido/{name}-v0",
        entry_point="kido.gym.registration:make_single",
        vector_entry_point="kido.gym.registration:make_vector",
        max_episode_steps=declared.time_limit,
        kwargs={"name": name},
    )
    _MAKERS[name] = maker


def environment(name: str, **options: Any) -> Environment:
    """The declaration of an environment by its name.

    Args:
        name: as in `names()`.
        options: of its maker.

    Raises:
        NameLookupError: there is none of this name, or it has no such option.
    """
    if name not in _MAKERS:
        raise NameLookupError("environment", name, names())
    maker = _MAKERS[name]
    known = list(inspect.signature(maker).parameters)
    for option in options:
        if option not in known:
            raise NameLookupError(f"option of environment {name}", option, known)
    return maker(**options)


def make_single(name: str, *, render_mode: str | None = None, lanes: bool = False, **options: Any) -> KidoEnv:
    """What `gymnasium.make` calls."""
    return environment(name, **options).single(render_mode=render_mode, lanes=lanes)


def make_vector(name: str, num_envs: int = 1, **options: Any) -> KidoVectorEnv:
    """What `gymnasium.make_vec` calls."""
    own = ("render_mode", "max_episode_steps", "autoreset_mode", "threads", "lanes")
    faces = {key: options.pop(key) for key in own if key in options}
    return environment(name, **options).vector(num_envs, **faces)


for _maker in (cart_pole, pendulum, reacher, hopper, walker2d, half_cheetah, ant, humanoid, quadruped, arm_reach,
               arm_push, arm_pick):  # fmt: skip
    register(_maker().name, _maker)
