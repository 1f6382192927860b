"""Environments of one declaration: single and vector are the same, and refuse what is wrong."""

from __future__ import annotations

import copy
import dataclasses
import sys
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import kido
import kido.gym
from kido.errors import KidoError, MissingExtraError, ModelError, NameLookupError, StateError
from kido.gym import Environment, Start, around, check_vector_env

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:gymnasium")

CLASSIC = ("CartPole", "Pendulum")


def rod_world() -> kido.World:
    arm = kido.Skeleton("arm")
    inertia = kido.Inertia.from_diagonal(1.0, (0.1, 0.1, 0.001), (0, 0, 0.5))
    body = arm.add_body("rod", kido.RevoluteJoint("hinge", axis=(0, 1, 0), damping=0.1), inertia=inertia)
    body.add_shape(kido.Capsule(0.05, 0.9), (0, 0, 0.5))
    world = kido.World("rod", time_step=0.01)
    world.add_skeleton(arm)
    return world


def swing(**changes: Any) -> Environment:
    """A rod that is driven, and ends its episode upright; each episode with a mass and a gravity of its own."""
    options: dict[str, Any] = {
        "name": "Swing",
        "model": rod_world,
        "observation": lambda t: np.concatenate([t.positions, t.velocities, t.goals], axis=1),
        "reward": lambda t: {"height": np.cos(t.positions[:, 0]), "effort": -0.01 * t.actions[:, 0] ** 2},
        "terminated": lambda t: np.abs(t.positions[:, 0] - np.pi) > 0.6,
        "info": lambda t: {"angle": t.positions[:, 0], "com": t.com},
        "gears": {"hinge": 5.0},
        "start": lambda rng: Start([np.pi + rng.uniform(-0.1, 0.1)], goals=rng.uniform(size=2)),
        "randomization": lambda rng: {
            "mass": {"rod": rng.uniform(0.5, 2.0)},
            "gravity": (0.0, 0.0, rng.uniform(-12.0, -8.0)),
        },
        "bodies": ("rod",),
        "frame_skip": 3,
        "time_limit": 20,
    }
    return Environment(**(options | changes))


def faces(environment: Environment, **options: Any) -> tuple[Callable[..., Any], Callable[[], Any]]:
    limit = environment.time_limit
    return (
        lambda **o: environment.vector(**o, **options),
        lambda: environment.single(max_episode_steps=limit, **{"lanes": True, **options}),
    )


# One declaration, two faces -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLASSIC)
def test_gymnasium_finds_nothing_wrong(name: str) -> None:
    check_env(gymnasium.make(f"Kido/{name}-v0", render_mode="rgb_array").unwrapped)


@pytest.mark.parametrize("name", CLASSIC)
def test_each_environment_of_a_vector_is_the_single_one(name: str) -> None:
    """In all autoreset modes, to the bit: `check_vector_env` against Gymnasium's `SyncVectorEnv`."""
    check_vector_env(
        lambda **options: gymnasium.make_vec(f"Kido/{name}-v0", max_episode_steps=15, **options),
        lambda: gymnasium.make(f"Kido/{name}-v0", max_episode_steps=15, lanes=True),
        steps=40,
    )


@pytest.mark.parametrize("lanes", [True, False])
def test_ones_own_with_goals_and_other_properties_in_each_episode(lanes: bool) -> None:
    check_vector_env(*faces(swing(), lanes=lanes), steps=50)


def test_threads_do_not_matter() -> None:
    one, two = (swing().vector(37, threads=n) for n in (1, 2))
    rng = np.random.default_rng(1)
    found = [env.reset(seed=4)[0] for env in (one, two)]
    for _ in range(30):
        assert np.array_equal(found[0], found[1])
        actions = rng.uniform(-1.0, 1.0, (37, 1))
        found = [env.step(actions)[0] for env in (one, two)]


def test_steps_are_those_of_a_world() -> None:
    """Rows against `World.step` by hand: bit for bit without lanes, to rounding with them (20 smooth steps)."""
    rng = np.random.default_rng(2)
    actions = rng.uniform(-1.0, 1.0, (20, 1))
    for lanes, tolerance in ((False, 0.0), (True, 1e-12)):
        env = swing(start=lambda rng: Start([3.0], [0.2]), randomization=None, terminated=None).single(lanes=lanes)
        env.reset(seed=0)
        world = rod_world()
        arm = world.skeletons[0]
        arm.positions, arm.velocities = [3.0], [0.2]
        for action in actions:
            observation, reward, *_, info = env.step(action)
            arm.commands = 5.0 * action
            world.step(3)
            assert abs(observation[0] - arm.positions[0]) <= tolerance
            assert abs(observation[1] - arm.velocities[0]) <= tolerance
            assert info["com"] == pytest.approx(arm.com, abs=1e-12)
            assert reward == info["reward_height"] + info["reward_effort"]
            assert info["reward_height"] == np.cos(observation[0])


def test_properties_are_drawn_anew_in_each_episode() -> None:
    """The period of small swings of a rod without damping goes with the root of gravity, whatever its mass."""
    environment = swing(
        randomization=lambda rng: {"gravity": (0.0, 0.0, rng.choice([-4.0, -9.0]))},
        start=lambda rng: Start([np.pi - 0.01]),
        terminated=None,
        time_limit=1000,
    )
    env = environment.single()
    speeds = set()
    for seed in range(8):
        env.reset(seed=seed)
        speeds.add(round(env.step([0.0])[0][1] / 0.01, 2))
    assert len(speeds) == 2
    assert max(map(abs, speeds)) / min(map(abs, speeds)) == pytest.approx(9.0 / 4.0, rel=0.01)  # rates are damped


# The rules of Gymnasium's own -----------------------------------------------------------------------------------


def test_the_pendulum_is_gymnasiums() -> None:
    """From the same seed under the same torques, in 100 steps; observations have 32 bits."""
    ours, theirs = gymnasium.make("Kido/Pendulum-v0"), gymnasium.make("Pendulum-v1")
    rng = np.random.default_rng(0)
    assert np.array_equal(ours.reset(seed=3)[0], theirs.reset(seed=3)[0])
    for _ in range(100):
        torque = rng.uniform(-2.5, 2.5, 1).astype(np.float32)
        a, b = ours.step(torque), theirs.step(torque)
        assert a[0] == pytest.approx(b[0], abs=1e-6)
        assert a[1] == pytest.approx(b[1], rel=1e-6)


def test_the_cart_pole_is_gymnasiums() -> None:
    ours, theirs = gymnasium.make("Kido/CartPole-v0"), gymnasium.make("CartPole-v1")
    rng = np.random.default_rng(0)
    ends = 0
    for seed in range(5):
        assert np.array_equal(ours.reset(seed=seed)[0], theirs.reset(seed=seed)[0])
        for _ in range(200):
            action = int(rng.integers(2))
            a, b = ours.step(action), theirs.step(action)
            assert a[0] == pytest.approx(b[0], abs=1e-6)
            assert a[1:4] == b[1:4]
            if a[2]:
                ends += 1
                break
    assert ends == 5


def test_speeds_end_at_their_limits() -> None:
    env: Any = gymnasium.make("Kido/Pendulum-v0").unwrapped
    env.reset(seed=0)
    fastest = 0.0
    for _ in range(200):  # energy is pumped in
        speed = env.lanes.worlds.velocities[0, 0]
        fastest = max(fastest, abs(float(env.step([2.0 if speed >= 0.0 else -2.0])[0][2])))
    assert fastest == 8.0


# Images ---------------------------------------------------------------------------------------------------------


def test_images_show_what_moves() -> None:
    env = gymnasium.make("Kido/Pendulum-v0", render_mode="rgb_array")
    env.reset(seed=0)
    first: Any = env.render()
    for _ in range(5):
        env.step([2.0])
    second: Any = env.render()
    assert first.shape == (480, 480, 3) and first.dtype == np.uint8
    assert (first != second).any()
    many = gymnasium.make_vec("Kido/Pendulum-v0", num_envs=2, render_mode="rgb_array")
    many.reset(seed=0)
    images: Any = many.render()
    assert np.array_equal(images[0], first) and not np.array_equal(images[1], first)
    assert gymnasium.make("Kido/Pendulum-v0").unwrapped.render() is None


def test_observations_may_be_pixels() -> None:
    env = gymnasium.wrappers.AddRenderObservation(gymnasium.make("Kido/CartPole-v0", render_mode="rgb_array"))
    observation, _ = env.reset(seed=0)
    assert observation.shape == (480, 480, 3) and observation in env.observation_space


# What is wrong is refused ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "actions, words",
    [
        (np.zeros((3, 2)), r"expected an array of shape \(3, 1\), got one of \(3, 2\)"),
        (np.zeros((2, 1)), r"expected an array of shape \(3, 1\)"),
        ([[0.0], [np.nan], [0.0]], "expected finite numbers, got nan in environment 1"),
        ([[0.0], [0.0], [-np.inf]], "expected finite numbers, got -inf in environment 2"),
        ("up", "expected numbers, got 'up'"),
    ],
)
def test_bad_actions_are_named_and_change_nothing(actions: Any, words: str) -> None:
    env, other = (swing().vector(3) for _ in range(2))
    for e in (env, other):
        e.reset(seed=0)
    with pytest.raises(StateError, match=f"environment 'Swing': actions: {words}"):
        env.step(actions)
    good = np.full((3, 1), 0.5)
    assert np.array_equal(env.step(good)[0], other.step(good)[0])


def test_choices_that_there_are_not_are_refused() -> None:
    env = gymnasium.make("Kido/CartPole-v0").unwrapped
    env.reset(seed=0)
    with pytest.raises(StateError, match="expected numbers from 0 to 1, got 2 in environment 0"):
        env.step(2)
    with pytest.raises(StateError, match="expected whole numbers, got"):
        env.step(0.5)


def test_steps_before_a_reset_and_after_an_end_are_refused() -> None:
    with pytest.raises(StateError, match="expected a reset before the first step"):
        swing().single().step([0.0])
    env = swing(time_limit=1).vector(2, autoreset_mode="Disabled")
    with pytest.raises(StateError, match="expected a reset before the first step"):
        env.step(np.zeros((2, 1)))
    env.reset(seed=0)
    env.step(np.zeros((2, 1)))
    with pytest.raises(StateError, match="the episode of environment 0 has ended"):
        env.step(np.zeros((2, 1)))
    for mask in (np.zeros(2, bool), np.ones(3, bool), [True, False]):
        with pytest.raises(StateError, match="reset_mask: expected a mask of 2 values"):
            env.reset(options={"reset_mask": mask})
    seeds: list[Any] = [[1], [1, -2], 0.5, -1]
    for seed in seeds:
        with pytest.raises(StateError, match="seed: expected a whole number from 0 on or 2 of them"):
            env.reset(seed=seed)


@pytest.mark.parametrize("action", [[[1], [1, 2]], None, [1.0, 2.0], 1.0, [10**400], [1 + 2j]])
def test_bad_actions_of_one_environment_are_named(action: Any) -> None:
    env = swing().single()
    env.reset(seed=0)
    with pytest.raises(StateError, match="environment 'Swing': actions: expected "):
        env.step(action)


@pytest.mark.parametrize(
    "changes, words",
    [
        (
            {"reward": lambda t: np.cos(t.positions)},
            r"reward: expected an array of 2 numbers, got one of shape \(2, 1\)",
        ),
        (
            {"reward": lambda t: {"a": np.zeros(3)}},
            r"reward: a: expected an array of 2 numbers, got one of shape \(3,\)",
        ),
        ({"reward": lambda t: np.array([0.0, np.nan])}, "reward: expected finite numbers, got nan in environment 1"),
        ({"terminated": lambda t: t.positions > 9.0}, "terminated: expected an array of 2 truth values, got"),
        ({"terminated": lambda t: False}, "terminated: expected an array of 2 truth values, got"),
        ({"terminated": lambda t: t.positions[:, 0]}, "terminated: expected an array of 2 truth values, got"),
        ({"info": lambda t: {"angle": 1.0}}, r"info: angle: expected rows for 2 worlds, got \(\)"),
        (
            {"observation": lambda t: np.zeros((2, 1 + t.elapsed[0]))},
            r"observation: expected an array of shape \(2, 1\)",
        ),
        ({"start": lambda rng: Start([np.nan])}, r"start: positions: expected 1 finite numbers, got \[nan\]"),
        ({"start": lambda rng: Start(velocities=[1.0, 2.0])}, "start: velocities: expected 1 finite numbers"),
        ({"start": lambda rng: Start(goals=["far"])}, "start: goals: expected finite numbers"),
        ({"start": lambda rng: Start(goals=np.zeros(rng.integers(1, 20)))}, "start: goals: expected [0-9]+ finite"),
        ({"randomization": lambda rng: {"mass": {"rod": [1.0] * rng.integers(1, 20)}}}, "randomization: mass: rod: "),
        (
            {"randomization": lambda rng: {rng.choice(["mass", "gravity", "com"]): 1.0}},
            "randomization: expected a dict",
        ),
        ({"gears": {"hinge": np.nan}}, "gears: expected a finite number for 'hinge', got nan"),
        ({"speed_limits": {"hinge": np.nan}}, "speed_limits: expected a speed for 'hinge', got nan"),
        ({"speed_limits": {"hinge": -1.0}}, "speed_limits: expected a speed for 'hinge', got -1.0"),
    ],
)
def test_functions_that_give_what_cannot_be_are_named(changes: dict[str, Any], words: str) -> None:
    """Instead of rewards of one environment for all, or of arrays that grow."""
    with pytest.raises(ModelError, match=f"environment 'Swing': {words}"):
        env = swing(**changes).vector(2)
        for seed in range(5):
            env.reset(seed=seed)
        env.step(np.zeros((2, 1)))


def test_rewards_beyond_an_end_do_not_matter() -> None:
    """A world whose episode has ended steps once more before it begins again."""
    env = swing(reward=lambda t: np.where(t.elapsed > 3, np.nan, 1.0), terminated=None, time_limit=3).vector(2)
    env.reset(seed=0)
    rewards = [env.step(np.zeros((2, 1)))[1].tolist() for _ in range(8)]
    assert rewards == [[1.0, 1.0]] * 3 + [[0.0, 0.0]] + [[1.0, 1.0]] * 3 + [[0.0, 0.0]]


def test_one_number_is_the_reward_of_each() -> None:
    env = swing(reward=lambda t: {"alive": 1.0, "fast": np.abs(t.velocities[:, 0])}).vector(2)
    env.reset(seed=0)
    _, rewards, _, _, infos = env.step(np.zeros((2, 1)))
    assert infos["reward_alive"].tolist() == [1.0, 1.0]
    assert np.array_equal(rewards, 1.0 + infos["reward_fast"])


def test_numbers_of_steps_and_environments() -> None:
    for number in (0, -2, 2.5, True):
        with pytest.raises(StateError, match="max_episode_steps: expected a whole number above 0, -1"):
            swing().vector(2, max_episode_steps=number)
        with pytest.raises(StateError, match="max_episode_steps: expected a whole number above 0, -1"):
            swing().single(max_episode_steps=number)
    for count in (0, -1, 2.5, True, "two"):
        with pytest.raises(StateError, match="num_envs: expected a whole number above 0, got"):
            swing().vector(count)
    env = gymnasium.make_vec("Kido/Pendulum-v0", num_envs=2, max_episode_steps=-1)
    env.reset(seed=0)
    assert not any(env.step(np.zeros((2, 1), np.float32))[3].any() for _ in range(250))  # as `gymnasium.make` has -1


@pytest.mark.parametrize(
    "name, options, words",
    [
        ("Hopper", {"healthy_z_range": (np.nan, 1.0)}, "healthy_z_range: expected two numbers, the second not below"),
        ("Humanoid", {"healthy_z_range": (2.0, 1.0)}, "healthy_z_range: expected two numbers"),
        ("Ant", {"contact_force_range": 3}, "contact_force_range: expected two numbers, .* got 3"),
        ("Walker2d", {"reset_noise_scale": -1.0}, "reset_noise_scale: expected a finite number not below 0, got -1.0"),
        ("HalfCheetah", {"forward_reward_weight": np.nan}, "forward_reward_weight: expected a finite number, got nan"),
        ("Reacher", {"reward_dist_weight": "big"}, "reward_dist_weight: expected a finite number, got 'big'"),
        ("Hopper", {"terminate_when_unhealthy": "no"}, "terminate_when_unhealthy: expected True or False, got 'no'"),
        ("Quadruped", {"forward_range": (1, -1)}, "forward_range: expected two numbers"),
        ("Quadruped", {"randomize": 1}, "randomize: expected True or False, got 1"),
        ("Quadruped", {"terrain": 3}, "terrain: expected a name or a Heightmap, got 3"),
    ],
)
def test_options_of_another_kind_are_named(name: str, options: dict[str, Any], words: str) -> None:
    """An episode that never is healthy, or always, is no silent consequence."""
    with pytest.raises(ModelError, match=f"environment '{name}': {words}"):
        kido.gym.environment(name, **options)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: around([0.0], uniform=-1.0), "around: uniform: expected a finite number not below 0"),
        (lambda: around([0.0], normal=np.nan), "around: normal: expected a finite number not below 0"),
        (lambda: around([np.inf]), "around: expected finite positions"),
        (lambda: kido.gym.register("Mine", 3), "register 'Mine': expected a function that makes an Environment, got 3"),
        (lambda: kido.gym.register("Mine", lambda: 3), "register 'Mine': expected a function"),
        (lambda: kido.gym.terrain("rough", seed=-1), "terrain: seed: expected a whole number from 0 on, got -1"),
        (lambda: kido.gym.terrain("rough", size="big"), "terrain: size: expected a positive number of metres"),
        (lambda: kido.gym.View(width=0), "View: width: expected a whole number of pixels above 0, got 0"),
        (lambda: kido.gym.View(eye=(0.0, np.nan, 1.0)), "View: eye"),
    ],
)
def test_parts_of_declarations_that_cannot_be(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(KidoError, match=words):
        make()
    assert "Mine" not in kido.gym.names()


def test_options_that_resets_have_not_are_named() -> None:
    for env, known in ((swing().single(), "there are none"), (swing().vector(2), "reset_mask")):
        with pytest.raises(NameLookupError, match=f"option for resets of environment 'Swing' 'mask'.*{known}"):
            env.reset(options={"mask": np.ones(2, bool)})
        with pytest.raises(StateError, match="options: expected a dictionary, got 3"):
            env.reset(options=3)  # type: ignore[arg-type]
        assert env.reset(seed=0, options={})[0].size


def test_seeds_are_those_of_gymnasiums_vector_environments() -> None:
    env, reference = swing().vector(3), gymnasium.vector.SyncVectorEnv([lambda: swing().single()] * 3)
    for seed in (5, np.int64(5), [7, 3, 1], np.array([7, 3, 1])):
        plain = int(seed) if isinstance(seed, np.integer) else seed if isinstance(seed, int) else [int(s) for s in seed]
        for e, given in ((env, seed), (reference, plain)):
            e.reset(seed=given)
        assert env.np_random_seed == reference.np_random_seed
        assert [rng.uniform() for rng in env.np_random] == [rng.uniform() for rng in reference.np_random]
    with pytest.raises(StateError, match="seed: expected a whole number from 0 on or 3 of them, got True"):
        env.reset(seed=True)
    single = swing().single()
    assert np.array_equal(single.reset(seed=np.int64(5))[0], single.reset(seed=5)[0])


def test_images_show_what_is_not_driven_and_worlds_that_have_failed() -> None:
    def model() -> kido.World:
        world, ball = rod_world(), kido.Skeleton("ball")
        body = ball.add_body("ball", kido.FreeJoint("free"), inertia=kido.Inertia.from_shape(kido.Sphere(0.2), 1.0))
        body.add_shape(kido.Sphere(0.2), color=(1.0, 0.0, 0.0))
        ball.positions = [0.0, 0.0, 0.0, 1.0, 0.0, 0.5]
        world.add_skeleton(ball)
        return world

    environment = swing(
        model=model, skeleton="arm", gears=None, commands=lambda a, _: np.where(a > 0.99, 1e308, a), terminated=None,
        action_space=gymnasium.spaces.Box(-1.0, 1.0, (1,)), randomization=None, bodies=(),
    )  # fmt: skip
    env = environment.single(render_mode="rgb_array")
    env.reset(seed=0)

    def red() -> float:
        """How far down the ball is seen."""
        image = env.render()
        assert image is not None
        where = (image[..., 0] > 100) & (image[..., 1] < 60) & (image[..., 2] < 60)
        return float(np.argwhere(where)[:, 0].mean())

    first = red()
    for _ in range(10):
        env.step([0.0])
    assert red() > first + 10.0  # it falls, though only the arm is observed
    assert "error" in env.step([1.0])[4]
    assert red() > first + 10.0


@pytest.mark.parametrize(
    "changes, error, words",
    [
        ({"commands": lambda a, _: a}, ModelError, "expected either gears or commands, got both"),
        ({"gears": None}, ModelError, "expected either gears or commands, got neither"),
        ({"gears": None, "commands": lambda a, _: a}, ModelError, "action_space: expected a space"),
        ({"gears": {"hing": 1.0}}, NameLookupError, "no coordinate for gears of environment 'Swing' 'hing'"),
        ({"speed_limits": {"x": 1.0}}, NameLookupError, "no coordinate for speed_limits"),
        ({"frame_skip": 0}, ModelError, "frame_skip: expected a whole number above 0, got 0"),
        ({"time_limit": 2.5}, ModelError, "time_limit: expected a whole number above 0, got 2.5"),
        ({"model": lambda: 3}, ModelError, "model: expected a function that makes a World, got 3"),
        ({"observation": lambda t: np.zeros(5)}, ModelError, "observation: expected rows for 2 worlds"),
        ({"start": lambda rng: None}, ModelError, "start: expected a kido.gym.Start, got None"),
        ({"randomization": lambda rng: {"colour": 1.0}}, NameLookupError, "no property in which worlds may differ"),
    ],
)
def test_declarations_that_cannot_be_are_refused(changes: dict[str, Any], error: type[KidoError], words: str) -> None:
    with pytest.raises(error, match=words):
        swing(**changes).vector(2)


def test_modes_and_options_that_there_are_not_are_refused() -> None:
    with pytest.raises(StateError, match="autoreset_mode: expected 'NextStep', 'SameStep', 'Disabled', got 'Never'"):
        swing().vector(2, autoreset_mode="Never")
    with pytest.raises(StateError, match="render_mode: expected None or one of"):
        swing().single(render_mode="human")
    with pytest.raises(NameLookupError, match="no environment 'Cartpole'; expected one of: CartPole"):
        kido.gym.environment("Cartpole")
    with pytest.raises(NameLookupError, match="no option of environment CartPole 'mass'; expected one of: there are"):
        gymnasium.make("Kido/CartPole-v0", mass=3.0)


def test_a_world_that_fails_ends_its_episode_and_says_why() -> None:
    """A force beyond all numbers: that world has ended with reward 0 where it was, and the others go on."""
    environment = swing(gears=None, commands=lambda a, _: np.where(a > 0.99, 1e308, a), terminated=None,
                        action_space=gymnasium.spaces.Box(-1.0, 1.0, (1,)), time_limit=1000)  # fmt: skip
    single = environment.single()
    start, _ = single.reset(seed=1)
    observation, reward, ended, late, info = single.step([1.0])
    assert (reward, ended, late) == (0.0, True, False) and "NaN" in info["error"]
    assert np.array_equal(observation, start)
    many = environment.vector(3)
    many.reset(seed=0)
    actions = np.array([[0.0], [1.0], [0.0]])
    _, rewards, ends, _, infos = many.step(actions)
    assert ends.tolist() == [False, True, False] and rewards[1] == 0.0 and (rewards[[0, 2]] != 0.0).all()
    assert infos["_error"].tolist() == [False, True, False] and "NaN" in infos["error"][1]
    observations, _, ends, _, infos = many.step(np.zeros((3, 1)))
    assert not ends.any() and np.isfinite(observations).all() and "error" not in infos


def test_without_gymnasium_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("kido.gym")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(MissingExtraError, match=r"kido\.gym needs optional packages.*kido\[gym\]"):
        import kido.gym  # noqa: F401


# Copies ---------------------------------------------------------------------------------------------------------


def test_a_copy_goes_on_as_the_original_does() -> None:
    """In the midst of an episode and beyond its end, with random numbers; neither changes the other."""
    env = swing().vector(3)
    env.reset(seed=0)
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (40, 3, 1))
    for action in actions[:7]:
        env.step(action)
    twin, third = copy.deepcopy(env), copy.deepcopy(env)
    expected = [env.step(action)[:4] for action in actions[7:]]
    found = [twin.step(action)[:4] for action in actions[7:]]
    for a, b in zip(expected, found, strict=True):
        assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))
    assert any(step[2].any() or step[3].any() for step in expected)
    assert np.array_equal(third.step(actions[7])[0], expected[0][0])  # it is where it was copied


def test_a_copy_of_a_robot_on_its_foot_under_wrappers() -> None:
    env = gymnasium.make(
        "Kido/Hopper-v0", max_episode_steps=30, terminate_when_unhealthy=False, render_mode="rgb_array"
    )
    env.reset(seed=3)
    for _ in range(20):
        env.step(np.array([0.1, -0.2, 0.1]))
    env.render()
    twin = copy.deepcopy(env)
    for _ in range(10):
        a, b = (e.step(np.array([0.3, 0.1, -0.4])) for e in (env, twin))
        assert np.array_equal(a[0], b[0]) and a[1:4] == b[1:4]
    assert a[3] and np.array_equal(env.reset()[0], twin.reset()[0])
    assert twin.unwrapped.action_space is not env.unwrapped.action_space


# The checker finds mistakes -------------------------------------------------------------------------------------


def wrong(change: Callable[[Any], None]) -> Callable[..., Any]:
    """The vector environment of the rod with a mistake."""

    def make(**options: Any) -> Any:
        env = swing().vector(**options)
        change(env)
        return env

    return make


def off_by_a_bit(env: Any) -> None:
    step, calls = env.step, []

    def stepped(actions: Any) -> Any:
        found = step(actions)
        calls.append(1)
        if len(calls) == 7:
            found[0][-1] = np.nextafter(found[0][-1], 10.0)
        return found

    env.step = stepped


def reused(env: Any) -> None:
    step, kept = env.step, np.zeros((env.num_envs, 4))

    def stepped(actions: Any) -> Any:
        found = step(actions)
        kept[:] = found[0]
        return kept, *found[1:]

    env.step = stepped


def seeded_alike(env: Any) -> None:
    reset = env.reset
    env.reset = lambda seed=None, **o: reset(seed=[seed] * env.num_envs if seed is not None else None, **o)


def late(env: Any) -> None:
    env.max_episode_steps += 1


def lenient(env: Any) -> None:
    step = env.step
    env.step = lambda actions: step(np.nan_to_num(actions))


@pytest.mark.parametrize(
    "change, words",
    [
        (off_by_a_bit, "of 1, SameStep, seed 0, step 6: step: observations of environment 0"),
        (reused, "what was returned: expected 'the same as then'"),
        (seeded_alike, "reset: observations of environment 1"),
        (late, "seed 0, step 19: step: "),
        (lenient, "actions NaN: expected 'an exception', got 'a step'"),
        (lambda env: env.metadata.update(autoreset_mode=None), "metadata"),
        (lambda env: setattr(env, "action_space", env.single_action_space), "action_space"),
    ],
)
def test_the_checker_finds_mistakes(change: Callable[[Any], None], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        check_vector_env(wrong(change), faces(swing())[1], steps=30, autoreset_modes=[AutoresetMode.SAME_STEP])


class Parts(gymnasium.Env):
    """Observations of several parts."""

    action_space = gymnasium.spaces.Dict(
        {"a": gymnasium.spaces.Discrete(3), "b": gymnasium.spaces.Box(-1.0, 1.0, (2,))}
    )
    observation_space = gymnasium.spaces.Dict({
        "x": gymnasium.spaces.Box(-9.0, 9.0, (2,)),
        "y": gymnasium.spaces.Tuple((gymnasium.spaces.Discrete(9), gymnasium.spaces.Box(-9.0, 9.0, (1,)))),
    })  # fmt: skip

    def seen(self) -> Any:
        return {"x": np.full(2, self.k, np.float32), "y": (self.k, self.np_random.uniform(size=1).astype(np.float32))}

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.k = 0
        return self.seen(), {}

    def step(self, action: Any) -> Any:
        self.k += 1
        return self.seen(), float(action["a"]), self.k == 5, False, {}


@pytest.mark.parametrize("part", [None, "x", "y"])
def test_the_checker_knows_spaces_of_several_parts(part: str | None) -> None:
    def make(num_envs: int, autoreset_mode: Any) -> Any:
        env = gymnasium.vector.SyncVectorEnv([Parts] * num_envs, autoreset_mode=autoreset_mode)
        step, calls = env.step, []

        def stepped(actions: Any) -> Any:
            found = copy.deepcopy(step(actions))
            calls.append(1)
            if len(calls) == 3 and part == "x":
                found[0]["x"][-1] = 7.0
            if len(calls) == 3 and part == "y":
                found[0]["y"] = (found[0]["y"][0], found[0]["y"][1] + np.float32(0.25))
            return found

        env.step = stepped  # type: ignore[method-assign]
        return env

    def check() -> None:
        check_vector_env(make, Parts, steps=12, num_envs=[2], bad_actions=False)

    if part is None:
        check()
    else:
        with pytest.raises(ModelError, match=f"step 2: step: observations: {part}"):
            check()


def test_the_checker_wants_episodes_to_end() -> None:
    environment = swing(terminated=None, time_limit=1000)
    with pytest.raises(ModelError, match="episodes: expected 'some that end"):
        check_vector_env(*faces(environment), steps=10, num_envs=[2])


def test_starts_around_a_state() -> None:
    rng = np.random.default_rng(0)
    drawn = [around([1.0, 2.0], uniform=0.1)(rng) for _ in range(200)]
    positions = np.array([s.positions for s in drawn])
    assert np.abs(positions - [1.0, 2.0]).max() <= 0.1 and np.abs(np.mean(positions, axis=0) - [1, 2]).max() < 0.02
    speeds = np.array([around([0.0] * 3, normal=0.5)(rng).velocities for _ in range(400)])
    assert np.std(speeds) == pytest.approx(0.5, rel=0.1)  # of 1,200 numbers: 2 % of standard error


def test_steps_of_another_length_have_speeds_of_their_own() -> None:
    """A runner declared anew with twice the steps between actions: speed is way over time, in its infos and rewards."""
    environment = dataclasses.replace(kido.gym.environment("Hopper"), frame_skip=8)
    env = environment.vector(2)
    _, infos = env.reset(seed=3)
    start = infos["x_position"].copy()
    actions = np.asfortranarray(np.linspace(-1.0, 1.0, 6).reshape(2, 3))  # any order of numbers in memory
    _, _, _, _, infos = env.step(actions)
    assert infos["x_velocity"] == pytest.approx((infos["x_position"] - start) / 0.016, rel=1e-9)
