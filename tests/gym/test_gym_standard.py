"""The environments that are known from MuJoCo: models, spaces, observations and rewards beside Gymnasium's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import kido
import kido.gym
from kido.batch import Batch
from kido.gym import check_vector_env, robots
from kido.gym.locomotion import external_wrenches

pytest.importorskip("mujoco")
pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning:gymnasium"),
    pytest.mark.filterwarnings("ignore::kido.errors.KidoWarning"),
]

ASSETS = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
MODELS = {
    "Reacher": (robots.reacher, "reacher.xml"),
    "Hopper": (robots.hopper, "hopper.xml"),
    "Walker2d": (robots.walker, "walker2d_v5.xml"),
    "HalfCheetah": (robots.half_cheetah, "half_cheetah.xml"),
    "Ant": (robots.ant, "ant.xml"),
    "Humanoid": (robots.humanoid, "humanoid.xml"),
}
PROPERTIES = ("damping", "armature", "spring_stiffness", "position_lower_limit", "position_upper_limit")


@pytest.mark.parametrize("name", MODELS)
def test_robots_are_those_of_mujoco(name: str) -> None:
    """Mass matrices and bias forces of MuJoCo's compiled models, to rounding; springs, dampers, rotors and limits."""
    build, file = MODELS[name]
    ours = build()
    theirs: Any = kido.load(ASSETS / file)
    pairs = [
        (s, next(t for t in theirs.skeletons if t.num_dofs == s.num_dofs)) for s in ours.skeletons if s.num_dofs > 2
    ]
    if name == "Reacher":
        pairs = list(zip(ours.skeletons, theirs.skeletons[1:], strict=True))
    rng = np.random.default_rng(0)
    for own, other in pairs:
        assert [d.name for d in own.dofs] == [d.name for d in other.dofs]
        for what in PROPERTIES:
            assert [getattr(d, what) for d in own.dofs] == pytest.approx([getattr(d, what) for d in other.dofs])
        q, u = rng.uniform(-0.5, 0.5, (2, 5, own.num_dofs))
        batches = [Batch(s, threads=1) for s in (own, other)]
        mass, M_other = (b.mass_matrix(q) for b in batches)
        assert mass == pytest.approx(M_other, rel=0.0, abs=1e-13 * np.abs(M_other).max())
        c, c_other = (b.inverse_dynamics(q, u, np.zeros_like(q)) for b in batches)
        assert c == pytest.approx(c_other, rel=0.0, abs=1e-13 * np.abs(c_other).max())
    assert ours.time_step == theirs.time_step


@pytest.mark.parametrize("name", MODELS)
def test_spaces_and_starts_are_those_of_gymnasium(name: str) -> None:
    """The same seed gives the same observation; of free robots, whose quaternion is not of unit length there, all of
    the rest."""
    ours, theirs = (gymnasium.make(full) for full in (f"Kido/{name}-v0", f"{name}-v5"))
    a, b = ours.unwrapped, theirs.unwrapped
    assert a.observation_space == b.observation_space and a.action_space == b.action_space
    assert ours.spec is not None and theirs.spec is not None
    assert ours.spec.max_episode_steps == theirs.spec.max_episode_steps
    lanes: Any = a
    assert lanes.lanes.time_step == pytest.approx(b.dt)  # type: ignore[attr-defined]
    for seed in range(3):
        found, wanted = a.reset(seed=seed)[0], b.reset(seed=seed)[0]
        if name in ("Ant", "Humanoid"):
            wanted[1:5] /= np.linalg.norm(wanted[1:5])
        assert found == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_rewards_are_those_of_gymnasium(name: str) -> None:
    """Names and those terms that do not depend on contacts; speeds after one step that is nearly the same."""
    ours, theirs = (gymnasium.make(full).unwrapped for full in (f"Kido/{name}-v0", f"{name}-v5"))
    ours.reset(seed=0)
    theirs.reset(seed=0)
    action = 0.1 * np.arange(1, 1 + ours.action_space.shape[0], dtype=np.float32) / 10.0  # type: ignore[index]
    _, reward, *_, info = ours.step(action)
    _, other, *_, wanted = theirs.step(action)
    assert {k for k in wanted if not k.startswith("tendon")} == set(info)
    assert reward == pytest.approx(sum(v for k, v in info.items() if k.startswith("reward_")), abs=1e-12)
    for term in ("reward_ctrl", "reward_survive"):
        assert info.get(term) == pytest.approx(wanted.get(term), abs=1e-7)  # actions have 32 bits there
    assert reward == pytest.approx(float(other), abs=0.2)
    if "x_velocity" in info:
        # of ants, whose ankles begin out of their limits, it differs more
        assert info["x_velocity"] == pytest.approx(wanted["x_velocity"], abs=0.2 if name == "Ant" else 0.1)


@pytest.mark.parametrize("name", MODELS)
def test_gymnasium_finds_nothing_wrong(name: str) -> None:
    check_env(gymnasium.make(f"Kido/{name}-v0", render_mode="rgb_array").unwrapped)


@pytest.mark.parametrize("name", MODELS)
def test_each_environment_of_a_vector_is_the_single_one(name: str) -> None:
    check_vector_env(
        lambda **options: gymnasium.make_vec(f"Kido/{name}-v0", max_episode_steps=12, **options),
        lambda: gymnasium.make(f"Kido/{name}-v0", max_episode_steps=12, lanes=True),
        num_envs=[3],
        steps=30,
    )


@pytest.mark.parametrize("name, end", [("Hopper", 0.7), ("Walker2d", 0.8), ("Humanoid", 1.0)])
def test_who_falls_has_ended(name: str, end: float) -> None:
    """Without muscles they fall; heights are 1 of the observation, or 0, where x and y are left out."""
    env = gymnasium.make(f"Kido/{name}-v0").unwrapped
    still = np.zeros(env.action_space.shape or ())
    observation, _ = env.reset(seed=0)
    assert observation[0] > end
    for _ in range(999):
        observation, _, ended, late, info = env.step(still)
        if ended:
            break
    assert ended and not late and info["reward_survive"] == 0.0
    tilted = abs(observation[1]) > 0.2 if name == "Hopper" else abs(observation[1]) > 1.0
    assert observation[0] < end or (name != "Humanoid" and tilted)
    forever = gymnasium.make(f"Kido/{name}-v0", terminate_when_unhealthy=False).unwrapped
    forever.reset(seed=0)
    assert not any(forever.step(still)[2] for _ in range(300))


def test_an_ant_at_rest_is_held_by_its_feet() -> None:
    """Contact wrenches about the centre of mass: their forces bear the weight, their moments vanish."""
    seen: list[Any] = []
    environment = kido.gym.environment("Ant")
    observe: Callable[[Any], Any] = environment.observation
    object.__setattr__(environment, "observation", lambda t: (seen.append(t), observe(t))[1])
    env = environment.single()
    env.reset(seed=0)
    for _ in range(100):
        env.step(np.zeros(8))
    wrenches = external_wrenches(seen[-1])[0]
    weight = 9.81 * sum(body.mass for body in seen[-1].skeleton.bodies)
    assert wrenches.sum(axis=0) == pytest.approx([0, 0, 0, 0, 0, weight], abs=1e-3 * weight)
    assert (wrenches[:, 5] > 0.01 * weight).sum() >= 3  # feet
    observation, *_ = env.step(np.zeros(8))
    assert observation[27:] == pytest.approx(np.clip(wrenches, -1.0, 1.0).ravel(), abs=1e-3)


def test_options_are_those_of_gymnasium() -> None:
    env = gymnasium.make("Kido/Hopper-v0", exclude_current_positions_from_observation=False, reset_noise_scale=0.0)
    assert env.reset(seed=0)[0] == pytest.approx([0.0, 1.25, *[0.0] * 10])
    assert gymnasium.make("Kido/Ant-v0", include_cfrc_ext_in_observation=False).observation_space.shape == (27,)
    short = gymnasium.make(
        "Kido/Humanoid-v0", include_cinert_in_observation=False, include_cvel_in_observation=False,
        include_qfrc_actuator_in_observation=False, include_cfrc_ext_in_observation=False,
    )  # fmt: skip
    assert short.observation_space.shape == (45,)
