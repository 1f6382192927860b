"""An arm with a gripper of two fingers, to reach, to push and to pick: goals that the hand or an object has to come to.

Actions move the hand: a velocity of it, and one of the fingers. The arm's joints are servos of limited torque, whose
velocities follow from that of the hand by damped least squares, with the hand kept pointing down.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from gymnasium import spaces

from kido.errors import ModelError
from kido.gym.environment import Environment, Start, View
from kido.gym.transition import Array, States, Transition
from kido.io import load_skeleton
from kido.models import path
from kido.shapes import Box, Sphere
from kido.simulation import World
from kido.skeleton import FreeJoint, Inertia, PrismaticJoint, Skeleton

__all__ = ["arm_pick", "arm_push", "arm_reach"]

STEP, SKIP, LIMIT = 0.005, 8, 50  # [s], time steps of an action, actions of an episode
ARM, FINGERS = 7, 2  # coordinates
HAND = 8  # number of the hand among the bodies
GRIP = np.array([0.0, 0.0, 0.115])  # between the finger tips, in the hand's axes [m]
DOWN = np.array([[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]])  # the hand's axes, when it points down
HOME = (0.0, 0.6136, 0.0, 1.7015, 0.0, 0.8265, 0.0)  # points down at x = 0.45 m [rad]
LOW, HIGH = np.array([0.33, -0.22, 0.0]), np.array([0.57, 0.22, 0.30])  # where goals are [m]
SPEED, CLOSING = 0.6, 0.15  # of the hand and of a finger for actions of 1 [m/s]
FORCE = 30.0  # of a finger [N]
OPEN = 0.04  # largest distance of a finger from the middle [m]
SIZE = 0.04  # of the object [m]
NEAR = 0.03  # from the goal, where it is reached [m]
DAMPING = 0.03  # of least squares
LEVELLING, HOMING = 8.0, 0.5  # gains towards the hand's axes and the home position [1/s]


def _gripper(robot: Skeleton) -> None:
    """Two fingers on the hand, each on a slide."""
    hand = robot.body("hand")
    for side, sign in (("left", 1.0), ("right", -1.0)):
        joint = PrismaticJoint(
            f"{side}_finger", axis=(0.0, sign, 0.0), transform_from_parent=_at(0.0, 0.0, 0.07),
            position_lower_limit=0.0, position_upper_limit=OPEN, damping=1.0, armature=0.1, force_limit=FORCE,
            actuator_type="SERVO",
        )  # fmt: skip
        shape, place = Box((0.02, 0.012, 0.06)), _at(0.0, 0.006 * sign, 0.03)
        finger = robot.add_body(f"{side}_finger", joint, hand, Inertia.from_shape(shape, 0.1, transform=place))
        finger.add_shape(shape, place, color=(0.2, 0.2, 0.22), friction=1.5)


def _at(x: float, y: float, z: float) -> Array:
    X = np.eye(4)
    X[:3, 3] = x, y, z
    return X


def _world(name: str, with_object: bool) -> World:
    robot = load_skeleton(path("arm7"))
    robot.name = "arm"
    for joint in robot.joints:
        if joint.num_dofs == 1:
            joint.actuator_type = "SERVO"
    _gripper(robot)
    robot.positions = [*HOME, OPEN, OPEN]
    world = World(name, time_step=STEP)
    world.add_skeleton(robot)
    if with_object:
        thing, shape = Skeleton("object"), Box((SIZE, SIZE, SIZE))
        body = thing.add_body("object", FreeJoint("object"), inertia=Inertia.from_shape(shape, 0.1))
        body.add_shape(shape, color=(0.8, 0.3, 0.2), friction=1.0)
        thing.positions = [0.0, 0.0, 0.0, 0.45, 0.0, 0.5 * SIZE]
        world.add_skeleton(thing)
    goal = Skeleton("goal")
    parent = None
    for axis, letter in zip(np.eye(3), "xyz", strict=True):
        joint = PrismaticJoint(f"goal_{letter}", axis=axis)
        parent = goal.add_body(f"goal_{letter}", joint, parent, Inertia(1.0))
        parent.gravity = False  # so that it stays where it begins
    assert parent is not None
    parent.add_shape(Sphere(0.015), color=(0.2, 0.75, 0.3), collision=False)
    world.add_skeleton(goal)
    world.add_ground(friction=1.0)
    return world


def _grip(s: States) -> Array:
    """(worlds, 3) the middle between the finger tips [m]."""
    X = s.transforms[:, HAND]
    return (X[:, :3, :3] * GRIP).sum(axis=2) + X[:, :3, 3]


def _commands(actions: Array, s: States) -> Array:
    """Velocities of the joints: of all that lead the hand as the actions say, nearly those with the least distance
    from what leads home, u = u_h + J^T (J J^T + d^2 1)^-1 (v - J u_h)."""
    dofs = s.positions.shape[1]
    found = np.zeros((len(actions), dofs))
    q = np.ascontiguousarray(s.positions[:, : ARM + FINGERS])
    J = s.batch.jacobian(q, HAND, GRIP)[:, :, :ARM]
    R = s.transforms[:, HAND, :3, :3]
    wanted = np.empty((len(actions), 6))
    wanted[:, :3] = 0.5 * LEVELLING * np.cross(R, DOWN[None], axis=1).sum(axis=2)  # columns are the axes
    wanted[:, 3:] = SPEED * actions[:, :3]
    home = HOMING * (np.array(HOME) - q[:, :ARM])
    A = (J[:, :, None, :] * J[:, None, :, :]).sum(axis=3) + DAMPING**2 * np.eye(6)
    rest = wanted - (J * home[:, None, :]).sum(axis=2)
    found[:, :ARM] = home + (J * np.linalg.solve(A, rest[:, :, None])).sum(axis=1)
    found[:, ARM : ARM + FINGERS] = CLOSING * actions[:, 3:4] if actions.shape[1] > 3 else 0.0
    return found


def _task(
    name: str,
    sparse: bool,
    with_object: bool,
    with_fingers: bool,
    start: Callable[[np.random.Generator], tuple[Array, Array]],
) -> Environment:
    """A task of the arm: where the object begins, and where it, or the hand, should come to.

    Args:
        start: from a generator of random numbers the place and heading (x, y, angle) of the object, and the goal.
    """
    own = ARM + FINGERS
    first = own + 6 if with_object else own  # of the goal

    def achieved(t: States) -> Array:
        return t.positions[:, own + 3 : own + 6] if with_object else t.once(_grip)

    def away(t: Transition) -> Array:
        return np.sqrt(np.square(achieved(t) - t.positions[:, first:]).sum(axis=1))

    def observation(t: Transition) -> Array:
        grip, q, u = t.once(_grip), t.positions, t.velocities
        moved = (grip - t.before.once(_grip)) / t.time_step
        parts = [grip, moved, q[:, :ARM], u[:, :ARM], q[:, ARM:own], u[:, ARM:own]]
        if with_object:
            place = achieved(t)
            parts += [place, place - grip, q[:, own : own + 3], u[:, own:first]]
        goal = q[:, first:]
        return np.concatenate([*parts, goal, goal - achieved(t)], axis=1)

    def reward(t: Transition) -> dict[str, Array]:
        distance = t.once(away)
        if sparse:
            return {"goal": -(distance > NEAR).astype(float)}
        a = t.actions.astype(float)
        terms = {"goal": -distance, "effort": -0.01 * (a * a).sum(axis=1)}
        if with_object:
            apart = achieved(t) - t.once(_grip)
            terms["hand"] = -0.5 * np.sqrt((apart * apart).sum(axis=1))
        return terms

    def info(t: Transition) -> dict[str, Array]:
        return {"is_success": (t.once(away) <= NEAR).astype(float), "distance": t.once(away)}

    def begin(rng: np.random.Generator) -> Start:
        thing, goal = start(rng)
        fingers = [OPEN, OPEN] if with_fingers else [0.0, 0.0]
        arm = np.array(HOME) + rng.uniform(-0.05, 0.05, ARM)
        body = [0.0, 0.0, thing[2], thing[0], thing[1], 0.5 * SIZE] if with_object else []
        return Start([*arm, *fingers, *body, *goal])

    return Environment(
        name=f"{name} (sparse)" if sparse else name,
        model=lambda: _world(name, with_object),
        observation=observation,
        reward=reward,
        info=info,
        commands=_commands,
        action_space=spaces.Box(-1.0, 1.0, (4 if with_fingers else 3,), np.float32),
        start=begin,
        frame_skip=SKIP,
        time_limit=LIMIT,
        view=View((1.15, -0.75, 0.75), (0.35, 0.0, 0.2)),
    )


SPARSE = tuple(f"{name} (sparse)" for name in ("ArmReach", "ArmPush", "ArmPick"))


def _reward(name: str, reward: str) -> bool:
    """Whether a reward is sparse.

    Raises:
        ModelError: it is neither "dense" nor "sparse".
    """
    if reward not in ("dense", "sparse"):
        raise ModelError(f"environment {name!r}: reward: expected 'dense' or 'sparse', got {reward!r}")
    return reward == "sparse"


def arm_reach(*, reward: str = "dense") -> Environment:
    """An arm of seven joints, to bring its closed fingers to a place in the air: 3 actions, 50 steps of 0.04 s.

    Actions are the velocity of the finger tips, 1 is 0.6 m/s; the hand is kept pointing down. Observations: place and
    velocity of the finger tips; positions and velocities of the arm's joints, and of the fingers; the goal; and from
    the tips to the goal. The reward is minus the distance of the goal [m] and 0.01 of the squares of actions; or, if it
    is "sparse", 0 within 0.03 m of the goal and -1 else. The info "is_success" says whether it is within.

    Raises:
        ModelError: another reward.
    """
    return _task("ArmReach", _reward("ArmReach", reward), False, False,
                 lambda rng: (np.zeros(3), rng.uniform(LOW + [0, 0, 0.05], HIGH)))  # fmt: skip


def _thing(rng: np.random.Generator) -> Array:
    return np.append(rng.uniform(LOW[:2], HIGH[:2]), rng.uniform(-np.pi, np.pi))


def arm_push(*, reward: str = "dense") -> Environment:
    """An arm with closed fingers, to push a cube of 0.04 m and 0.1 kg over the ground to a place: 3 actions.

    As `arm_reach`, with the cube's place, that from the finger tips, its rotation vector and velocities observed as
    well. The goal is for the cube's middle, and the dense reward has minus half of the distance from tips to cube too.

    Raises:
        ModelError: another reward.
    """

    def start(rng: np.random.Generator) -> tuple[Array, Array]:
        return _thing(rng), np.append(rng.uniform(LOW[:2], HIGH[:2]), 0.5 * SIZE)

    return _task("ArmPush", _reward("ArmPush", reward), True, False, start)


def arm_pick(*, reward: str = "dense") -> Environment:
    """An arm with two fingers, to take a cube of 0.04 m and 0.1 kg to a place, half of them in the air: 4 actions.

    As `arm_push`; the fourth action opens the fingers, at 0.15 m/s each, or closes them with up to 30 N.

    Raises:
        ModelError: another reward.
    """

    def start(rng: np.random.Generator) -> tuple[Array, Array]:
        thing, goal, lies = _thing(rng), rng.uniform(LOW, HIGH), rng.uniform() < 0.5
        goal[2] = 0.5 * SIZE if lies else max(goal[2], 0.5 * SIZE)
        return thing, goal

    return _task("ArmPick", _reward("ArmPick", reward), True, True, start)
