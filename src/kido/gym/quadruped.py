"""A quadruped that follows commands of velocity, on flat ground and on terrains."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from kido.errors import ModelError
from kido.gym import terrains
from kido.gym.environment import Environment, Start, View
from kido.gym.options import checked_options
from kido.gym.terrains import heights_at
from kido.gym.transition import Array, States, Transition
from kido.io import load_skeleton
from kido.models import path
from kido.shapes import Heightmap
from kido.simulation import World
from kido.skeleton import Skeleton, WeldJoint

__all__ = ["quadruped"]

Range = tuple[float, float]
STEP, SKIP = 0.005, 4  # [s], time steps of an action
STAND = 0.359  # height of the trunk on bent knees [m]
FREE = 6  # coordinates of the trunk
JOINTS = 12
LEGS = ("front_left", "front_right", "hind_left", "hind_right")
DOFS = tuple(f"{leg}_{joint}" for leg in LEGS for joint in ("hip_roll", "hip_pitch", "knee"))
FEET = tuple(f"{leg}_foot" for leg in LEGS)
OTHERS = ("trunk", *(f"{leg}_thigh" for leg in LEGS))  # which should touch nothing
TOUCH = 1.0  # force from which a body touches [N]
TROT = np.array([0.0, 0.5, 0.5, 0.0])  # of the period, by which feet come later
BEAT = 2.0  # steps of each foot a second [Hz]
ALONG, ACROSS = np.linspace(-0.6, 0.6, 7), np.linspace(-0.3, 0.3, 5)  # where heights are observed [m]
EDGE = 1.0  # [m] from the edge of a terrain, where episodes end


def _world(ground: Heightmap | None, stiffness: float, damping: float) -> World:
    robot = load_skeleton(path("quadruped"))
    robot.name = "quadruped"
    for joint in robot.joints:
        if joint.num_dofs == 1:
            joint.position_gain, joint.velocity_gain = stiffness, damping
            joint.actuator_type = "POSITION"
    for name in FEET:
        for shape in robot.body(name).shapes:
            shape.friction = 1.0
    world = World("quadruped", time_step=STEP)
    world.add_skeleton(robot)
    if ground is None:
        world.add_ground(friction=1.0)
    else:
        floor = Skeleton("ground")
        floor.add_body("ground", WeldJoint("ground_weld")).add_shape(ground, friction=1.0, color=(0.55, 0.58, 0.5))
        floor.mobile = False
        world.add_skeleton(floor)
    return world


def _turned(s: States) -> tuple[Array, Array, Array]:
    """Down in the trunk's axes (worlds, 3), and cosine and sine of its heading, from its rotation vector."""
    r = s.positions[:, :3]
    x, y, z = r[:, 0], r[:, 1], r[:, 2]
    angle = np.sqrt((r * r).sum(axis=1))
    a = np.sinc(angle / np.pi)
    half = np.sinc(0.5 * angle / np.pi)
    b = 0.5 * half * half
    down = -np.stack([b * x * z - a * y, b * y * z + a * x, 1.0 - b * (x * x + y * y)], axis=1)
    ahead, left = 1.0 - b * (y * y + z * z), b * x * y + a * z
    size = np.maximum(np.sqrt(ahead * ahead + left * left), 1e-12)
    return down, ahead / size, left / size


@checked_options("Quadruped")
def quadruped(
    *,
    terrain: str | Heightmap = "flat",
    terrain_height: float = 0.05,
    forward_range: Range = (-1.0, 1.0),
    sideways_range: Range = (-0.5, 0.5),
    turning_range: Range = (-1.0, 1.0),
    command_time: float = 5.0,
    stiffness: float = 100.0,
    damping: float = 3.0,
    action_scale: float = 0.3,
    tracking_weight: float = 1.0,
    turning_weight: float = 0.5,
    gait_weight: float = 0.5,
    effort_weight: float = 2e-5,
    smoothness_weight: float = 0.01,
    contact_weight: float = 0.2,
    randomize: bool = False,
    reset_noise_scale: float = 0.1,
) -> Environment:
    """Four legs of 24 kg in all, to walk with a velocity that is commanded: 12 actions, steps of 0.02 s, 1000 of them.

    Actions are positions of the joints about those of standing, times `action_scale` [rad]; a spring and damper
    of limited torque draw each joint there. Observations, in axes of the trunk: its velocity and angular velocity,
    down, the command (ahead, to the left [m/s], turn [rad/s]), positions about standing and velocities of the joints,
    the last actions, and cosine and sine of the clock of a trot; on terrains its height over 35 places under and around
    it besides. Rewards, times the time step: how well velocities and turns are those commanded, exp(-error^2 / 0.25);
    feet that stand and swing as in a trot, of 2 steps a second; less for motion up and down, tilt, torques,
    differences of actions and what touches besides feet. An episode ends when the trunk is tilted by more than 60
    degrees, is lower than half of its height, or comes to the terrain's edge.

    Args:
        terrain: of `kido.gym.terrain`, or a height map; episodes begin anywhere on it.
        terrain_height: as there [m].
        forward_range, sideways_range, turning_range: of commands, which are drawn anew every `command_time` [s].
        stiffness, damping: of the joints' actuators [N m/rad, N m s/rad].
        gait_weight: 0, where the gait is free.
        randomize: whether masses (by 20 %), friction (0.5 to 1.25), gains (by 20 %) and gravity (by 2 %) differ in
            each episode.
        reset_noise_scale: of the joints' positions and of velocities.

    Raises:
        ModelError: a `command_time` that is not positive; options of another kind.
        NameLookupError: no such terrain.

    Source: Hwangbo et al. (2019), Learning agile and dynamic motor skills for legged robots; Rudin, Hoeller, Reist,
    Hutter (2022), Learning to walk in minutes using massively parallel deep reinforcement learning.
    """
    if not 0.0 < command_time < np.inf:
        raise ModelError(f"environment 'Quadruped': command_time: expected a positive time [s], got {command_time!r}")
    if not isinstance(terrain, str | Heightmap):
        raise ModelError(f"environment 'Quadruped': terrain: expected a name or a Heightmap, got {terrain!r:.80}")
    ground = terrains.terrain(terrain, height=terrain_height) if isinstance(terrain, str) else terrain
    dt, limit = STEP * SKIP, 1000
    held = max(1, round(command_time / dt))
    number = -(-limit // held)
    ranges = np.array([forward_range, sideways_range, turning_range], dtype=float)

    def start(rng: np.random.Generator) -> Start:
        room = np.zeros(2) if ground is None else 0.5 * np.array(ground.size) - EDGE - 1.0
        place = rng.uniform(-np.maximum(room, 0.0), np.maximum(room, 0.0))
        heading = rng.uniform(-np.pi, np.pi)
        noise = reset_noise_scale * rng.uniform(-1.0, 1.0, 2 * JOINTS + FREE)
        under = place[:, None] + 0.3 * np.array([[-1, -1, 0, 1, 1], [-1, 1, 0, -1, 1]])
        z = heights_at(ground, under[0], under[1]).max()
        q = np.concatenate([[0.0, 0.0, heading, *place, z], noise[:JOINTS]])
        return Start(q, noise[JOINTS:], rng.uniform(ranges[:, 0], ranges[:, 1], (number, 3)).ravel())

    def command(t: Transition) -> Array:
        row = np.minimum(t.elapsed // held, number - 1)
        return t.goals.reshape(len(t), number, 3)[np.arange(len(t)), row]

    def heights(t: Transition) -> Array:
        _, c, s = t.once(_turned)
        x = t.positions[:, 3, None, None] + c[:, None, None] * ALONG - s[:, None, None] * ACROSS[:, None]
        y = t.positions[:, 4, None, None] + s[:, None, None] * ALONG + c[:, None, None] * ACROSS[:, None]
        found = t.positions[:, 5, None, None] - heights_at(ground, x, y)
        return np.minimum(np.maximum(found, -1.0), 1.0).reshape(len(t), -1)

    def observation(t: Transition) -> Array:
        u, down = t.velocities, t.once(_turned)[0]
        turn = (2.0 * np.pi * BEAT * dt * t.elapsed)[:, None]
        parts = [u[:, 3:FREE], u[:, :3], down, command(t), t.positions[:, FREE:], 0.1 * u[:, FREE:], t.actions,
                 np.cos(turn), np.sin(turn)]  # fmt: skip
        return np.concatenate(parts if ground is None else [*parts, heights(t)], axis=1)

    def reward(t: Transition) -> dict[str, Array]:
        # what was commanded when the action was chosen: the clock is that of the step's beginning
        row = np.minimum((t.elapsed - 1) // held, number - 1)
        wanted = t.goals.reshape(len(t), number, 3)[np.arange(len(t)), row]
        u, down = t.velocities, t.once(_turned)[0]
        force = np.sqrt(np.square(t.contact_wrenches[..., 3:]).sum(axis=2))
        touch = force > TOUCH
        phase = np.mod(BEAT * dt * t.elapsed[:, None] + TROT, 1.0)
        still = (np.abs(wanted).sum(axis=1) < 0.1)[:, None]
        in_time = touch[:, :4] == ((phase < 0.5) | still)
        error = np.square(u[:, 3:5] - wanted[:, :2]).sum(axis=1)
        change = np.square(t.actions.astype(float) - t.last_actions).sum(axis=1)
        return {
            "tracking": dt * tracking_weight * np.exp(-error / 0.25),
            "turning": dt * turning_weight * np.exp(-np.square(u[:, 2] - wanted[:, 2]) / 0.25),
            "gait": dt * gait_weight * in_time.mean(axis=1),
            "vertical": -dt * 2.0 * np.square(u[:, 5]),
            "tilting": -dt * (0.05 * np.square(u[:, :2]).sum(axis=1) + np.square(down[:, :2]).sum(axis=1)),
            "effort": -dt * effort_weight * np.square(t.actuator_forces[:, FREE:]).sum(axis=1),
            "smoothness": -dt * smoothness_weight * change,
            "contact": -dt * contact_weight * touch[:, 4:].sum(axis=1),
        }

    def fallen(t: Transition) -> Any:
        x, y = t.positions[:, 3], t.positions[:, 4]
        low = STAND + t.positions[:, 5] - heights_at(ground, x, y) < 0.5 * STAND
        over = low | (t.once(_turned)[0][:, 2] > -0.5)
        if ground is None:
            return over
        half = 0.5 * np.array(ground.size) - EDGE
        return over | (np.abs(x) > half[0]) | (np.abs(y) > half[1])

    def info(t: Transition) -> dict[str, Array]:
        u = t.velocities
        return {"command": command(t), "velocity": np.stack([u[:, 3], u[:, 4], u[:, 2]], axis=1)}

    def others(rng: np.random.Generator) -> dict[str, Any]:
        return {
            "gravity": (0.0, 0.0, -9.81 * rng.uniform(0.98, 1.02)),
            "mass": {"trunk": 13.6 * rng.uniform(0.8, 1.2)},
            "friction": dict.fromkeys(FEET, rng.uniform(0.5, 1.25)),
            "position_gain": {name: stiffness * rng.uniform(0.8, 1.2) for name in DOFS},
        }

    def commands(actions: Array, _: States) -> Array:
        found = np.zeros((len(actions), FREE + JOINTS))
        found[:, FREE:] = action_scale * actions
        return found

    return Environment(
        name="Quadruped",
        model=lambda: _world(ground, stiffness, damping),
        observation=observation,
        reward=reward,
        terminated=fallen,
        info=info,
        commands=commands,
        action_space=spaces.Box(-4.0, 4.0, (JOINTS,), np.float32),
        start=start,
        randomization=others if randomize else None,
        skeleton="quadruped",
        bodies=(*FEET, *OTHERS),
        frame_skip=SKIP,
        time_limit=limit,
        view=View((1.6, -2.0, 1.2), (0.0, 0.0, 0.25), "trunk"),
    )
