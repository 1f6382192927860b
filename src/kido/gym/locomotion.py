"""Robots that learn to move forward, and an arm that reaches: spaces and rewards of Gymnasium's MuJoCo v5.

Options have the names and values that they have there. What differs: contacts are rigid, a quaternion's first number is
not negative, and the infos of a reset have what those of a step have besides its rewards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces

from kido.errors import ModelError
from kido.gym import measures, robots
from kido.gym.environment import Environment, Start, View, around
from kido.gym.options import checked_options
from kido.gym.transition import Array, States, Transition
from kido.simulation import World

__all__ = ["ant", "half_cheetah", "hopper", "humanoid", "reacher", "walker2d"]

Range = tuple[float, float]
Test = Callable[[Transition], Any]
SIDE = View((0.0, -4.0, 1.2), (0.0, 0.0, 0.8), "torso")
FREE = 6  # coordinates of what floats


def effort(t: Transition, weight: float) -> Array:
    """The cost of actions."""
    a = t.actions.astype(float)
    return -weight * (a * a).sum(axis=1)


def within(values: Array, low: float, high: float) -> Array:
    """Numbers brought between two; of few of them `numpy.clip` takes several times as long."""
    return np.minimum(np.maximum(values, low), high)


def _ends(healthy: Test, terminate: bool) -> Test | None:
    """Ends where a robot is not healthy, if that ends episodes."""
    return (lambda t: ~healthy(t)) if terminate else None


def _opened(limits: Range) -> Range:
    """An open interval as the closed one of the numbers in it."""
    return float(np.nextafter(limits[0], np.inf)), float(np.nextafter(limits[1], -np.inf))


# In a vertical plane --------------------------------------------------------------------------------------------


def _runner(
    name: str,
    model: Callable[[], World],
    gears: dict[str, float],
    start: Callable[[np.random.Generator], Start],
    weights: tuple[float, float],
    frame_skip: int,
    skip: int,
    healthy: tuple[list[Range], float, bool] | None = None,
    fastest: float = np.inf,
) -> Environment:
    """A robot in a vertical plane.

    Args:
        weights: of the speed and of the effort.
        skip: coordinates that are not observed.
        healthy: open intervals of positions but the first and of velocities, as many as there are limits, the reward
            for being in them, and whether episodes end without.
        fastest: observed velocities are clipped to this.
    """
    world = model()
    skeleton = world.skeletons[0]
    dofs = skeleton.num_dofs
    limits: list[Range] = [] if healthy is None else healthy[0]
    bounds = np.array([*limits, *[(-np.inf, np.inf)] * (2 * dofs - 1 - len(limits))], dtype=float).T.copy()
    numbers = np.array([*weights, 0.0 if healthy is None else healthy[1], fastest], dtype=float)

    def found(t: Transition) -> tuple[Array, Array]:
        if t.positions.shape[1] != dofs:
            raise ModelError(
                f"environment {name!r}: expected a model of {dofs} coordinates, got {t.positions.shape[1]}"
            )
        observed, terms = np.empty((len(t), 2 * dofs - skip)), np.empty((5, len(t)))
        actions = t.actions.astype(float)
        state = t.positions, t.velocities, t.before.positions
        measures.runner(*state, actions, t.time_step, bounds, numbers, observed, terms)
        return observed, terms

    def reward(t: Transition) -> dict[str, Array]:
        speed, health, work, _, _ = t.once(found)[1]
        return {"forward": speed, "ctrl": work} if healthy is None else {
            "forward": speed, "survive": health, "ctrl": work,
        }  # fmt: skip

    def info(t: Transition) -> dict[str, Array]:
        moved = {"x_position": t.positions[:, 0], "x_velocity": t.once(found)[1][3]}
        return moved | ({} if healthy is None else {"z_distance_from_origin": t.positions[:, 1] - 1.25})

    return Environment(
        name=name,
        model=model,
        observation=lambda t: t.once(found)[0],
        reward=reward,
        terminated=None if healthy is None else _ends(lambda t: t.once(found)[1][4] > 0.0, healthy[2]),
        info=info,
        gears=gears,
        start=start,
        skeleton=skeleton.name,
        frame_skip=frame_skip,
        view=SIDE,
    )


@checked_options("Hopper")
def hopper(
    *,
    forward_reward_weight: float = 1.0,
    ctrl_cost_weight: float = 1e-3,
    healthy_reward: float = 1.0,
    terminate_when_unhealthy: bool = True,
    healthy_state_range: Range = (-100.0, 100.0),
    healthy_z_range: Range = (0.7, np.inf),
    healthy_angle_range: Range = (-0.2, 0.2),
    reset_noise_scale: float = 5e-3,
    exclude_current_positions_from_observation: bool = True,
) -> Environment:
    """A torso on one leg, to hop forward, as Hopper-v5: 11 observations, 3 actions, steps of 0.008 s.

    Source: Erez, Tassa, Todorov (2011), Infinite-horizon model predictive control for nonlinear periodic tasks.
    """

    low, high = healthy_state_range  # of the angle and the others too, but not of the height
    angle = max(low, healthy_angle_range[0]), min(high, healthy_angle_range[1])
    healthy = [healthy_z_range, angle, *[healthy_state_range] * 9]
    return _runner(
        "Hopper", robots.hopper, dict.fromkeys(("thigh_joint", "leg_joint", "foot_joint"), 200.0),
        around([0.0, 1.25, *[0.0] * 4], uniform=reset_noise_scale), (forward_reward_weight, ctrl_cost_weight), 4,
        int(exclude_current_positions_from_observation), (healthy, healthy_reward, terminate_when_unhealthy), 10.0,
    )  # fmt: skip


@checked_options("Walker2d")
def walker2d(
    *,
    forward_reward_weight: float = 1.0,
    ctrl_cost_weight: float = 1e-3,
    healthy_reward: float = 1.0,
    terminate_when_unhealthy: bool = True,
    healthy_z_range: Range = (0.8, 2.0),
    healthy_angle_range: Range = (-1.0, 1.0),
    reset_noise_scale: float = 5e-3,
    exclude_current_positions_from_observation: bool = True,
) -> Environment:
    """A torso on two legs, to walk forward, as Walker2d-v5: 17 observations, 6 actions, steps of 0.008 s."""
    healthy = [healthy_z_range, healthy_angle_range]
    names = [f"{part}{side}_joint" for side in ("", "_left") for part in ("thigh", "leg", "foot")]
    return _runner(
        "Walker2d", robots.walker, dict.fromkeys(names, 100.0),
        around([0.0, 1.25, *[0.0] * 7], uniform=reset_noise_scale), (forward_reward_weight, ctrl_cost_weight), 4,
        int(exclude_current_positions_from_observation), (healthy, healthy_reward, terminate_when_unhealthy), 10.0,
    )  # fmt: skip


@checked_options("HalfCheetah")
def half_cheetah(
    *,
    forward_reward_weight: float = 1.0,
    ctrl_cost_weight: float = 0.1,
    reset_noise_scale: float = 0.1,
    exclude_current_positions_from_observation: bool = True,
) -> Environment:
    """Half a cheetah, to run forward, as HalfCheetah-v5: 17 observations, 6 actions, steps of 0.05 s.

    Source: Wawrzynski (2007), Learning to control a 6-degree-of-freedom walking robot.
    """
    gears = {"bthigh": 120.0, "bshin": 90.0, "bfoot": 60.0, "fthigh": 120.0, "fshin": 60.0, "ffoot": 30.0}
    return _runner(
        "HalfCheetah", robots.half_cheetah, gears,
        around(np.zeros(9), uniform=reset_noise_scale, normal=reset_noise_scale),
        (forward_reward_weight, ctrl_cost_weight), 5, int(exclude_current_positions_from_observation),
    )  # fmt: skip


# In space -------------------------------------------------------------------------------------------------------


def floating(s: States) -> tuple[Array, Array]:
    """Positions and velocities of a robot that floats, in MuJoCo's order.

    Returns:
        [x, y, z, quaternion (w, x, y, z), joints] (worlds, dofs + 1) and [velocity in world axes, angular velocity in
        body axes, joints] (worlds, dofs).
    """
    n, dofs = s.positions.shape
    found = np.empty((n, dofs + 1)), np.empty((n, dofs))
    measures.floating_state(s.positions, s.velocities, s.transforms, *found)
    return found


def external_wrenches(t: Transition) -> Array:
    """(worlds, bodies, 6) contact wrenches on all bodies as [moment; force] about the robot's centre of mass."""
    found = np.empty(t.contact_wrenches.shape)
    measures.wrenches_about(t.transforms, t.com, t.contact_wrenches, found, 0)
    return found


def _judged(
    speed: float, work: float, health: float, heights: Range, pressure: float, costs: Range,
    place: Callable[[States], Array], first: int, wrenches: Callable[[Transition], Array], terminate: bool,
) -> dict[str, Any]:  # fmt: skip
    """Rewards, ends and infos of a robot that floats, for its `Environment`.

    Args:
        speed, work, health, pressure: weights of rewards.
        heights: closed interval of what is healthy.
        costs: least and greatest of wrenches.
        place: of what moves forward, its x in column `first`, then y.
        wrenches: (worlds, bodies, 6) of contacts.
        terminate: whether episodes end where it is not healthy.
    """

    numbers = np.array([speed, work, health, pressure, *heights, *costs], dtype=float)

    def found(t: Transition) -> Array:
        terms, actions = np.empty((8, len(t))), t.actions.astype(float)
        places = place(t), place(t.before)
        measures.measure(t.positions, *places, first, actions, t.once(wrenches), t.time_step, numbers, terms)
        return terms

    def reward(t: Transition) -> dict[str, Array]:
        return dict(zip(("forward", "survive", "ctrl", "contact"), t.once(found), strict=False))

    def info(t: Transition) -> dict[str, Array]:
        _, _, _, _, vx, vy, distance, _ = t.once(found)
        return {
            "x_position": t.positions[:, 3], "y_position": t.positions[:, 4], "distance_from_origin": distance,
            "x_velocity": vx, "y_velocity": vy,
        }  # fmt: skip

    ends = _ends(lambda t: t.once(found)[7] > 0.0, terminate)
    return {"reward": reward, "terminated": ends, "info": info}


def _around_floating(
    skeleton: Any, joints: int, uniform: float, normal: float | None
) -> Callable[[np.random.Generator], Start]:
    """Starts around the model's: noise in MuJoCo's coordinates, whose quaternion is made one again."""
    place = np.array(skeleton.positions)[3:FREE]
    theirs = around(
        np.array([*place, 1.0, *[0.0] * (3 + joints)]), np.zeros(FREE + joints), uniform=uniform, normal=normal
    )

    def start(rng: np.random.Generator) -> Start:
        drawn = theirs(rng)
        q, u = np.asarray(drawn.positions), np.asarray(drawn.velocities)
        w, v = q[3], q[4:7]
        size = np.sqrt(v @ v)
        turned = 2.0 * np.arctan2(size, w) * v / size if size > 0.0 else np.zeros(3)
        R = _rotation(turned)
        return Start([*turned, *q[:3], *q[7:]], [*u[3:6], *(R.T @ u[:3]), *u[6:]])

    return start


def _rotation(r: Array) -> Array:
    """The rotation matrix of a rotation vector."""
    angle = np.sqrt(r @ r)
    K = np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])
    half = np.sinc(0.5 * angle / np.pi)
    return np.eye(3) + np.sinc(angle / np.pi) * K + 0.5 * half * half * K @ K


@checked_options("Ant")
def ant(
    *,
    forward_reward_weight: float = 1.0,
    ctrl_cost_weight: float = 0.5,
    contact_cost_weight: float = 5e-4,
    healthy_reward: float = 1.0,
    terminate_when_unhealthy: bool = True,
    healthy_z_range: Range = (0.2, 1.0),
    contact_force_range: Range = (-1.0, 1.0),
    reset_noise_scale: float = 0.1,
    exclude_current_positions_from_observation: bool = True,
    include_cfrc_ext_in_observation: bool = True,
) -> Environment:
    """A ball on four legs, to walk forward, as Ant-v5: 105 observations, 8 actions, steps of 0.05 s.

    Source: Schulman, Moritz, Levine, Jordan, Abbeel (2015), High-dimensional continuous control using generalized
    advantage estimation.
    """
    model = robots.ant()
    skeleton = model.skeletons[0]

    def clipped(t: Transition) -> Array:
        return within(external_wrenches(t), *contact_force_range)

    def observation(t: Transition) -> Array:
        q, u = floating(t)
        parts = [q[:, 2 if exclude_current_positions_from_observation else 0 :], u]
        if include_cfrc_ext_in_observation:
            parts.append(t.once(clipped).reshape(len(t), -1))
        return np.concatenate(parts, axis=1)

    judged = _judged(
        forward_reward_weight, ctrl_cost_weight, healthy_reward, healthy_z_range,
        contact_cost_weight, (-np.inf, np.inf), lambda s: s.positions, 3, clipped, terminate_when_unhealthy,
    )  # fmt: skip
    return Environment(
        name="Ant",
        model=robots.ant,
        observation=observation,
        **judged,
        gears={f"{part}_{k}": 150.0 for k in (4, 1, 2, 3) for part in ("hip", "ankle")},
        start=_around_floating(skeleton, 8, reset_noise_scale, reset_noise_scale),
        skeleton=skeleton.name,
        bodies=tuple(body.name for body in skeleton.bodies),
        frame_skip=5,
        view=View((2.5, -3.0, 2.2), (0.0, 0.0, 0.3), "torso"),
    )


def com_velocities(t: Transition) -> Array:
    """(worlds, bodies, 6) [angular; linear] velocities of the bodies' points at the robot's centre of mass."""
    found = np.empty(t.body_velocities.shape)
    measures.wrenches_about(t.transforms, t.com, t.body_velocities, found, 1)
    return found


@checked_options("Humanoid")
def humanoid(
    *,
    forward_reward_weight: float = 1.25,
    ctrl_cost_weight: float = 0.1,
    contact_cost_weight: float = 5e-7,
    contact_cost_range: Range = (-np.inf, 10.0),
    healthy_reward: float = 5.0,
    terminate_when_unhealthy: bool = True,
    healthy_z_range: Range = (1.0, 2.0),
    reset_noise_scale: float = 1e-2,
    exclude_current_positions_from_observation: bool = True,
    include_cinert_in_observation: bool = True,
    include_cvel_in_observation: bool = True,
    include_qfrc_actuator_in_observation: bool = True,
    include_cfrc_ext_in_observation: bool = True,
) -> Environment:
    """A person, to walk forward, as Humanoid-v5: 348 observations, 17 actions of at most 0.4, steps of 0.015 s.

    Source: Tassa, Erez, Todorov (2012), Synthesis and stabilization of complex behaviors through online trajectory
    optimization.
    """
    model = robots.humanoid()
    skeleton = model.skeletons[0]

    def observation(t: Transition) -> Array:
        q, u = floating(t)
        parts = [q[:, 2 if exclude_current_positions_from_observation else 0 :], u]
        if include_cinert_in_observation:
            parts.append(t.inertias.reshape(len(t), -1))
        if include_cvel_in_observation:
            parts.append(com_velocities(t).reshape(len(t), -1))
        if include_qfrc_actuator_in_observation:
            parts.append(t.actuator_forces[:, FREE:])
        if include_cfrc_ext_in_observation:
            parts.append(t.once(external_wrenches).reshape(len(t), -1))
        return np.concatenate(parts, axis=1)

    judged = _judged(
        forward_reward_weight, ctrl_cost_weight, healthy_reward, _opened(healthy_z_range),
        contact_cost_weight, contact_cost_range, lambda s: s.com, 0, external_wrenches, terminate_when_unhealthy,
    )  # fmt: skip
    arms = [f"{side}_{part}" for side in ("right", "left") for part in ("shoulder1", "shoulder2", "elbow")]
    gears = dict.fromkeys(("abdomen_y", "abdomen_z", "abdomen_x"), 100.0)
    for side in ("right", "left"):
        gears |= {f"{side}_hip_x": 100.0, f"{side}_hip_z": 100.0, f"{side}_hip_y": 300.0, f"{side}_knee": 200.0}
    gears |= dict.fromkeys(arms, 25.0)
    return Environment(
        name="Humanoid",
        model=robots.humanoid,
        observation=observation,
        **judged,
        gears=gears,
        action_space=spaces.Box(-0.4, 0.4, (17,), np.float32),
        start=_around_floating(skeleton, 17, reset_noise_scale, None),
        skeleton=skeleton.name,
        bodies=tuple(body.name for body in skeleton.bodies),
        frame_skip=5,
        view=View((3.0, -3.5, 1.8), (0.0, 0.0, 1.0), "torso"),
    )


# An arm ---------------------------------------------------------------------------------------------------------


@checked_options("Reacher")
def reacher(*, reward_dist_weight: float = 1.0, reward_control_weight: float = 1.0) -> Environment:
    """An arm of two links, to reach a target, as Reacher-v5: 10 observations, 2 actions, 50 steps of 0.02 s."""

    def to_target(t: Transition) -> Array:
        """From the target to the fingertip (worlds, 2)."""
        return t.transforms[:, 2, :2, 3] - t.positions[:, 2:]

    def observation(t: Transition) -> Array:
        turned = t.positions[:, :2]
        parts = [np.cos(turned), np.sin(turned), t.positions[:, 2:], t.velocities[:, :2], to_target(t)]
        return np.concatenate(parts, axis=1)

    def start(rng: np.random.Generator) -> Start:
        q = rng.uniform(-0.1, 0.1, 4)
        while True:
            target = rng.uniform(-0.2, 0.2, 2)
            if np.linalg.norm(target) < 0.2:
                break
        u = rng.uniform(-0.005, 0.005, 4)
        return Start([*q[:2], *target], [*u[:2], 0.0, 0.0])

    return Environment(
        name="Reacher",
        model=robots.reacher,
        observation=observation,
        reward=lambda t: {
            "dist": -reward_dist_weight * np.sqrt(np.square(to_target(t)).sum(axis=1)),
            "ctrl": effort(t, reward_control_weight),
        },
        gears={"joint0": 200.0, "joint1": 200.0},
        start=start,
        frame_skip=2,
        time_limit=50,
        view=View((0.0, -0.35, 0.6), (0.0, 0.0, 0.0)),
    )
