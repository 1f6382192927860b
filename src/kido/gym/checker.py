"""Whether a vector environment is, environment by environment, the single one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium import Env, spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space

from kido.attributes import named_arguments
from kido.errors import ModelError

__all__ = ["check_vector_env"]


@named_arguments
def check_vector_env(
    vector: Callable[..., VectorEnv],
    single: Callable[[], Env],
    *,
    num_envs: Sequence[int] = (1, 3, 11),
    autoreset_modes: Sequence[AutoresetMode | str] = tuple(AutoresetMode),
    steps: int = 100,
    seed: int = 0,
    bad_actions: bool = True,
) -> None:
    """Check a vector environment against its single environment, bit for bit.

    Gymnasium's `SyncVectorEnv` of single environments is the truth: spaces, observations, rewards, ends and infos of
    resets and steps have to be its own, from the same seeds under the same random actions, over the ends of episodes,
    in each autoreset mode; with "Disabled", after resets by mask as well. The same seed again has to give the same,
    what was returned may not change later, and actions of a wrong shape or that are NaN have to be refused and to
    change nothing.

    Args:
        vector: makes one: `vector(num_envs=3, autoreset_mode=AutoresetMode.NEXT_STEP)`.
        single: makes the single environment, with the same time limit; a short one, so that episodes end.
        num_envs: numbers of environments to check with.
        autoreset_modes: those that there are.
        steps: of each check.
        seed: of environments and actions.
        bad_actions: whether bad actions have to be refused.

    Raises:
        ModelError: what is unlike: the mode, the step, the environment, and the two values; or no episode ended in all
            of the steps, so that nothing is known about autoresets.

    Example:
        >>> check_vector_env(
        ...     lambda **options: gymnasium.make_vec("Kido/Hopper-v0", max_episode_steps=20, **options),
        ...     lambda: gymnasium.make("Kido/Hopper-v0", max_episode_steps=20, lanes=True),
        ... )
    """
    for mode in map(AutoresetMode, autoreset_modes):
        for number in num_envs:
            env = vector(num_envs=number, autoreset_mode=mode)
            reference = SyncVectorEnv([single] * number, autoreset_mode=mode)
            try:
                _Check(env, reference, mode, steps, seed).run(bad_actions)
            finally:
                env.close()
                reference.close()


class _Check:
    """A vector environment beside the one that is its truth."""

    def __init__(self, env: VectorEnv, reference: SyncVectorEnv, mode: AutoresetMode, steps: int, seed: int):
        self.env, self.reference, self.mode, self.steps, self.seed = env, reference, mode, steps, seed
        self.place = ""
        self._kept: list[tuple[str, Any, Any]] = []

    def fail(self, what: str, wanted: Any, got: Any) -> None:
        raise ModelError(
            f"vector environment of {self.reference.num_envs}, {self.mode.value}, {self.place}: {what}: "
            f"expected {wanted!r:.200}, got {got!r:.200}"
        )

    def run(self, bad_actions: bool) -> None:
        self.spaces()
        first = self.episode(self.seed)
        self.kept()
        if first == 0:
            self.place = f"{self.steps} steps"
            self.fail("episodes", "some that end; give more steps or a shorter time limit", "none")
        self.episode(self.seed)  # the same once more, of environments in the midst of others
        self.episode(None)
        if bad_actions:
            self.bad_actions()

    def spaces(self) -> None:
        """Spaces and what is said of the environment."""
        self.place = "spaces"
        env, reference, n = self.env, self.reference, self.reference.num_envs
        for name in ("num_envs", "single_action_space", "single_observation_space"):
            if getattr(env, name) != getattr(reference, name):
                self.fail(name, getattr(reference, name), getattr(env, name))
        for name in ("action", "observation"):
            wanted = batch_space(getattr(reference, f"single_{name}_space"), n)
            if getattr(env, f"{name}_space") != wanted:
                self.fail(f"{name}_space", wanted, getattr(env, f"{name}_space"))
        if env.metadata.get("autoreset_mode") is not self.mode:
            self.fail("metadata['autoreset_mode']", self.mode, env.metadata.get("autoreset_mode"))

    def compare(self, name: str, wanted: Any, got: Any) -> None:
        """Two results that have to be the same; what was got is kept, to see that it does not change."""
        parts = ("observations", "rewards", "terminations", "truncations")
        for part, a, b in zip(parts, wanted[:-1], got[:-1], strict=False):
            self.values(f"{name}: {part}", a, b)
        self.infos(f"{name}: infos", wanted[-1], got[-1])
        if got[0] not in self.env.observation_space:
            self.fail(f"{name}: observations", f"some of {self.env.observation_space}", got[0])
        if len(self._kept) < 20:
            self._kept.append((f"{self.place}: {name}", got, copy.deepcopy(got)))

    def values(self, what: str, wanted: Any, got: Any) -> None:
        """Arrays of all environments, or dictionaries and tuples of them, as spaces of several parts have them."""
        if isinstance(wanted, dict):
            if not isinstance(got, dict) or wanted.keys() != got.keys():
                self.fail(what, f"a dictionary of {', '.join(map(str, wanted))}", got)
            for name in wanted:
                self.values(f"{what}: {name}", wanted[name], got[name])
        elif isinstance(wanted, tuple):
            if not isinstance(got, tuple) or len(wanted) != len(got):
                self.fail(what, f"a tuple of {len(wanted)}", got)
            for k, (a, b) in enumerate(zip(wanted, got, strict=True)):
                self.values(f"{what}: {k}", a, b)
        elif isinstance(wanted, np.ndarray):
            self.arrays(what, wanted, got)
        elif not _same(wanted, got):
            self.fail(what, wanted, got)

    def arrays(self, what: str, wanted: np.ndarray, got: Any) -> None:
        if not isinstance(got, np.ndarray) or got.shape != wanted.shape:
            self.fail(what, f"an array of shape {wanted.shape}", got)
        if got.dtype != wanted.dtype:
            self.fail(what, f"the type {wanted.dtype}", got.dtype)
        for k in range(len(wanted)):
            if not _same(wanted[k], got[k]):
                self.fail(f"{what} of environment {k}", wanted[k], got[k])

    def infos(self, what: str, wanted: dict[str, Any], got: dict[str, Any]) -> None:
        """Infos by name, each where its mask says that an environment has it."""
        n = self.reference.num_envs
        for name in sorted({*wanted, *got}):
            if name.startswith("_"):
                continue
            masks = [np.asarray(d.get(f"_{name}", np.full(n, name in d))) for d in (wanted, got)]
            if not np.array_equal(masks[0], masks[1]):
                self.fail(f"{what}: who has {name!r}", *masks)
            if not masks[0].any():
                continue
            a, b = wanted[name], got[name]
            if isinstance(a, dict):
                self.infos(f"{what}: {name}", a, b)
                continue
            for k in np.flatnonzero(masks[0]):
                if not _same(a[k], b[k]):
                    self.fail(f"{what}: {name!r} of environment {k}", a[k], b[k])

    def episode(self, seed: int | None) -> int:
        """A reset and steps. Returns how many episodes ended."""
        env, reference, ends = self.env, self.reference, 0
        self.place = f"seed {seed}"
        found = [e.reset(seed=seed) for e in (reference, env)]
        self.compare("reset", *found)
        actions = batch_space(reference.single_action_space, reference.num_envs)
        actions.seed(self.seed if seed is None else seed)
        for k in range(self.steps):
            self.place = f"seed {seed}, step {k}"
            action = actions.sample()
            wanted = reference.step(copy.deepcopy(action))
            self.compare("step", wanted, env.step(action))
            over = np.logical_or(wanted[2], wanted[3])
            ends += int(over.sum())
            if self.mode is AutoresetMode.DISABLED and over.any():
                found = [e.reset(options={"reset_mask": over.copy()}) for e in (reference, env)]
                self.compare("reset by mask", *found)
        return ends

    def kept(self) -> None:
        """What was returned is as it was."""
        for name, now, then in self._kept:
            if not _same(now, then):
                self.place = name
                self.fail("what was returned", "the same as then", "something that changed later")

    def bad_actions(self) -> None:
        """Bad actions are refused, and change nothing."""
        space, n = self.reference.single_action_space, self.reference.num_envs
        self.place = "bad actions"
        good = batch_space(space, n)
        good.seed(self.seed)
        found = [e.reset(seed=self.seed) for e in (self.reference, self.env)]
        bad: dict[str, Any] = {"one environment too many": batch_space(space, n + 1).sample()}
        if isinstance(space, spaces.Box):
            bad["of another shape"] = np.zeros((n, *space.shape, 2))
            bad["NaN"] = np.zeros((n, *space.shape))
            bad["NaN"][-1] = np.nan
        elif isinstance(space, spaces.Discrete):
            bad["beyond the last"] = np.full(n, space.start + space.n)
        for name, action in bad.items():
            try:
                self.env.step(action)
            except Exception:
                continue
            self.fail(f"actions {name}", "an exception", "a step")
        self.compare("reset before bad actions", *found)
        action = good.sample()
        self.compare("step after bad actions", self.reference.step(copy.deepcopy(action)), self.env.step(action))


def _same(a: Any, b: Any) -> bool:
    """Whether two values are the same to the bit; NaN is itself."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    x, y = np.asarray(a), np.asarray(b)
    if x.dtype == object or y.dtype == object:
        return x.shape == y.shape and all(
            p is q or _same(p, q) if not isinstance(p, str) else p == q
            for p, q in zip(x.ravel(), y.ravel(), strict=True)
        )
    return x.shape == y.shape and np.array_equal(x, y, equal_nan=x.dtype.kind == "f")
