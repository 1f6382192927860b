"""Environments of our own: a quadruped that follows commands, and an arm that reaches, pushes and picks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import kido
import kido.gym
from kido.errors import KidoError, ModelError, NameLookupError, StateError
from kido.gym import GoalObservation, check_vector_env, heights_at, terrain

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:gymnasium")

ARMS = ("ArmReach", "ArmPush", "ArmPick")
KINDS: dict[str, dict[str, Any]] = {
    "Quadruped": {}, "Quadruped, rough, other masses": {"terrain": "rough", "randomize": True, "command_time": 0.1},
    **{name: {} for name in ARMS},
}  # fmt: skip
OF_LEGS = 12


@pytest.mark.parametrize("name", ("Quadruped", *ARMS))
def test_gymnasium_finds_nothing_wrong(name: str) -> None:
    check_env(gymnasium.make(f"Kido/{name}-v0", render_mode="rgb_array").unwrapped)


@pytest.mark.parametrize("kind", KINDS)
def test_each_environment_of_a_vector_is_the_single_one(kind: str) -> None:
    """To the bit, in all autoreset modes and over resets in the midst of others' episodes; bad actions are refused."""
    name, options = f"Kido/{kind.partition(',')[0]}-v0", KINDS[kind]
    check_vector_env(
        lambda **o: gymnasium.make_vec(name, max_episode_steps=9, **o, **options),
        lambda: gymnasium.make(name, max_episode_steps=9, lanes=True, **options),
        num_envs=[3],
        steps=20,
    )


def test_worlds_are_stepped_in_lanes() -> None:
    for name in ("Quadruped", *ARMS):
        assert kido.gym.environment(name).vector(1).lanes.worlds.why_alone == ""


def test_actions_that_are_none_are_named() -> None:
    for name, number in (("Quadruped", OF_LEGS), ("ArmPick", 4)):
        env = kido.gym.environment(name).vector(2)
        env.reset(seed=0)
        bad = np.zeros((2, number))
        bad[1, 2] = np.nan
        with pytest.raises(StateError, match=f"environment '{name}': actions: expected finite .* in environment 1"):
            env.step(bad)
        with pytest.raises(StateError, match=rf"expected an array of shape \(2, {number}\)"):
            env.step(bad[:, 1:])


# Terrains -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rough", "blocks", "slopes", "stairs"])
def test_heights_are_those_of_the_map(name: str) -> None:
    ground = terrain(name, size=6.0, height=0.1, seed=3)
    assert ground is not None and ground.size == pytest.approx((6.0, 6.0))
    places = np.random.default_rng(0).uniform(-3.0, 3.0, (200, 2))
    found = heights_at(ground, *places.T)
    assert found == pytest.approx([ground.height_at(x, y) for x, y in places], abs=1e-14)
    edge = heights_at(ground, np.array([9.0]), np.array([-9.0]))
    assert edge[0] == ground.heights[0, -1]
    if name == "rough":
        assert ground.heights.std() == pytest.approx(0.1)
    elif name == "stairs":  # risers are as high as was asked for, and no cell is higher
        assert np.abs(np.diff(ground.heights, axis=0)).max() == pytest.approx(0.1)
    else:
        assert np.ptp(ground.heights) == pytest.approx({"blocks": 0.1, "slopes": 0.2}[name], rel=0.15)


def test_flat_ground_is_no_map() -> None:
    assert terrain("flat") is None
    assert (heights_at(None, np.zeros((2, 3)), np.zeros(3)) == np.zeros((2, 3))).all()


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: terrain("hills"), NameLookupError, "no terrain 'hills'; expected one of: flat, rough"),
        (lambda: terrain("rough", height=0.0), ModelError, "height: expected a positive number of metres, got 0.0"),
        (lambda: terrain("stairs", size=np.nan), ModelError, "size: expected a positive"),
        (lambda: kido.gym.environment("Quadruped", terrain="sea"), NameLookupError, "no terrain 'sea'"),
        (lambda: kido.gym.environment("Quadruped", command_time=0.0), ModelError, "command_time: expected a positive"),
        (lambda: kido.gym.environment("ArmPush", reward="big"), ModelError, "expected 'dense' or 'sparse', got 'big'"),
    ],
)
def test_what_there_is_not_is_refused(make: Callable[[], Any], error: type[KidoError], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


# The quadruped --------------------------------------------------------------------------------------------------


def seen(environment: Any) -> list[Any]:
    """The transitions that an environment observes from now on."""
    found: list[Any] = []
    observe = environment.observation
    object.__setattr__(environment, "observation", lambda t: (found.append(t), observe(t))[1])
    return found


def test_it_stands_and_what_it_feels_is_so() -> None:
    """Without actions it stands on its feet, which bear its weight; observed directions are those of its pose."""
    environment = kido.gym.environment("Quadruped")
    transitions = seen(environment)
    env = environment.vector(4)
    env.reset(seed=0)
    for _ in range(100):
        observations, _, ended, _, infos = env.step(np.zeros((4, OF_LEGS)))
        assert not ended.any()
    t = transitions[-1]
    R = t.transforms[:, 1, :3, :3]
    assert observations[:, 6:9] == pytest.approx(-R[:, 2, :], abs=1e-12)
    assert observations[:, 9:12] == pytest.approx(infos["command"])
    weight = 9.81 * sum(body.mass for body in t.skeleton.bodies)
    assert t.contact_wrenches[:, :4, 5].sum(axis=1) == pytest.approx(np.full(4, weight), rel=0.01)  # it still settles
    assert np.abs(t.contact_wrenches[:, 4:]).max() == 0.0
    assert (0.359 + t.positions[:, 5]).min() > 0.25
    assert (infos["reward_contact"] == 0.0).all() and (infos["reward_tracking"] <= 0.02).all()


def test_commands_change_in_time_and_rewards_are_of_the_one_that_was_seen() -> None:
    environment = kido.gym.environment("Quadruped", command_time=0.1)
    env = environment.vector(2)
    _, infos = env.reset(seed=1)
    kept, before = [infos["command"]], infos["command"]
    for _ in range(12):
        _, _, _, _, infos = env.step(np.zeros((2, OF_LEGS)))
        error = np.square(infos["velocity"][:, :2] - before[:, :2]).sum(axis=1)
        assert infos["reward_tracking"] == pytest.approx(0.02 * np.exp(-error / 0.25), abs=1e-12)
        before = infos["command"]
        kept.append(before)
    changes = [k for k in range(12) if (kept[k] != kept[k + 1]).any()]
    assert changes == [4, 9]


def test_heights_under_it_are_observed() -> None:
    ground = kido.Heightmap(np.add.outer(np.zeros(81), 0.2 * np.arange(-40, 41) * 0.1), 0.1)  # z = 0.2 x
    environment = kido.gym.environment("Quadruped", terrain=ground, reset_noise_scale=0.0)
    transitions = seen(environment)
    env = environment.single()
    observation, _ = env.reset(seed=2)
    t = transitions[-1]
    R, place = t.transforms[0, 1, :3, :3], t.positions[0, 3:6]
    ahead = np.arctan2(R[1, 0], R[0, 0])
    offsets = [(x, y) for y in np.linspace(-0.3, 0.3, 5) for x in np.linspace(-0.6, 0.6, 7)]
    wanted = [place[2] - 0.2 * (place[0] + np.cos(ahead) * x - np.sin(ahead) * y) for x, y in offsets]
    assert observation[-35:] == pytest.approx(wanted, abs=1e-12)


def test_who_falls_or_leaves_the_terrain_has_ended() -> None:
    env = kido.gym.environment("Quadruped").single()
    env.reset(seed=0)
    push = np.tile([0.0, 4.0, 4.0], 4)  # legs folded
    assert any(env.step(push)[2] for _ in range(100))
    over = kido.gym.environment("Quadruped", terrain=kido.Heightmap(np.zeros((41, 41)), 0.1)).single()
    over.reset(seed=0)
    assert not over.step(np.zeros(OF_LEGS))[2]
    over.lanes.begin(np.zeros(1, np.int64), [np.random.default_rng(0)])
    q = np.array(over.lanes.worlds.positions)
    q[0, 3] = 1.5
    over.lanes.worlds.reset(None, q)
    assert over.step(np.zeros(OF_LEGS))[2]


def test_other_masses_and_gravity_show_on_the_feet() -> None:
    environment = kido.gym.environment("Quadruped", randomize=True)
    transitions = seen(environment)
    env = environment.vector(8)
    env.reset(seed=0)
    for _ in range(100):
        env.step(np.zeros((8, OF_LEGS)))
    loads = transitions[-1].contact_wrenches[:, :, 5].sum(axis=1)
    assert 0.02 < loads.std() / loads.mean() < 0.15
    assert loads.min() > 24.0 * 9.81 * 0.85 and loads.max() < 24.0 * 9.81 * 1.15


# The arm --------------------------------------------------------------------------------------------------------


def towards(observations: Any, target: Any) -> Any:
    """Actions that bring the finger tips there in a step or more, at 0.6 of the full speed at most."""
    return np.clip((target - observations[:, :3]) / 0.04, -0.6, 0.6)


def test_the_hand_moves_as_it_is_told_and_points_down() -> None:
    environment = kido.gym.environment("ArmReach")
    transitions = seen(environment)
    env = environment.vector(4)
    env.reset(seed=0)
    for _ in range(15):  # the hand is levelled
        env.step(np.zeros((4, 3)))
    for direction in np.concatenate([np.eye(3), -np.eye(3)]):
        for _ in range(5):
            observations, *_ = env.step(np.tile(0.3 * direction, (4, 1)))
        assert observations[:, 3:6] == pytest.approx(np.tile(0.18 * direction, (4, 1)), abs=0.015)
    assert transitions[-1].transforms[:, 8, :3, 2] == pytest.approx(np.tile([0.0, 0.0, -1.0], (4, 1)), abs=0.02)


@pytest.mark.parametrize("reward", ["dense", "sparse"])
def test_it_reaches(reward: str) -> None:
    env = kido.gym.environment("ArmReach", reward=reward).vector(16)
    observations, _ = env.reset(seed=0)
    for _ in range(40):
        observations, rewards, _, _, infos = env.step(towards(observations, observations[:, -6:-3]))
    assert infos["is_success"].all() and infos["distance"].max() < 1e-3
    assert np.abs(rewards).max() == 0.0 if reward == "sparse" else rewards.min() > -0.01


def test_it_picks() -> None:
    """Above the cube, down, close, and to the goal: most cubes come along."""
    env = kido.gym.environment("ArmPick").vector(16)
    observations, _ = env.reset(seed=0)
    cube, goal = slice(24, 27), slice(39, 42)
    for step in range(50):
        grip, o = 1.0 if step < 18 else -1.0, observations
        target = o[:, cube] + [0.0, 0.0, 0.08 * (step < 10)]
        if step >= 25:
            target = o[:, goal] + o[:, :3] - o[:, cube]
        actions = np.append(towards(o, target), np.full((16, 1), grip), axis=1)
        observations, _, _, _, infos = env.step(actions)
    assert infos["is_success"].mean() >= 0.8


def test_it_pushes() -> None:
    """A little of a push through the middle of the cube moves it along."""
    env = kido.gym.environment("ArmPush").vector(16)
    observations, infos = env.reset(seed=0)
    cube, goal = slice(24, 27), slice(39, 42)
    begin = observations[:, cube].copy()
    way = observations[:, goal] - begin
    way /= np.linalg.norm(way, axis=1)[:, None]
    for step in range(32):
        target = begin - 0.06 * way
        if step < 12:
            target[:, 2] = 0.1
        elif step >= 18:
            target = begin - (0.06 - 0.01 * (step - 17)) * way
        observations, _, _, _, infos = env.step(towards(observations, target))
    along = ((observations[:, cube] - begin) * way).sum(axis=1)
    assert (along > 0.04).mean() >= 0.8
    assert infos["reward_goal"] == pytest.approx(-infos["distance"])


@pytest.mark.parametrize("name", ARMS)
def test_goals_may_be_others_afterwards(name: str) -> None:
    """Rewards of goals are those of steps; that of what was achieved is 0."""
    env = GoalObservation(gymnasium.make(f"Kido/{name}-v0", reward="sparse").unwrapped)
    check_env(env, skip_render_check=True)
    observation, _ = env.reset(seed=1)
    for _ in range(10):
        observation, reward, _, _, info = env.step(env.action_space.sample())
        achieved, desired = observation["achieved_goal"], observation["desired_goal"]
        assert reward == env.compute_reward(achieved, desired, info)
        assert np.linalg.norm(achieved - desired) == pytest.approx(info["distance"], abs=1e-12)
    both = env.compute_reward(np.stack([achieved, achieved]), np.stack([achieved, achieved + 1.0]), {})
    assert both.tolist() == [0.0, -1.0]


def test_goals_are_of_the_arms_sparse_tasks() -> None:
    for full in ("Kido/ArmPush-v0", "Kido/Pendulum-v0", "Pendulum-v1"):
        with pytest.raises(ModelError, match="expected a task of the arm with reward='sparse'"):
            GoalObservation(gymnasium.make(full))
