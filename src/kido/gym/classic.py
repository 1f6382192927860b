"""Pendulum and CartPole, by the equations and steps of Gymnasium's environments of these names."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from kido.gym.environment import Environment, Start, View
from kido.gym.transition import Array, Transition
from kido.integrators import ExplicitEuler, SemiImplicitEuler
from kido.shapes import Box, Capsule, Sphere
from kido.simulation import World
from kido.skeleton import Inertia, PrismaticJoint, RevoluteJoint, Skeleton

__all__ = ["cart_pole", "pendulum"]

UP = (0.0, 1.0, 0.0)  # axis about which rods turn from upright towards +x
FORCE, TAU = 10.0, 0.02  # of the cart [N], of a step [s]
FAR, TILT = 2.4, 12.0 * 2.0 * np.pi / 360.0  # where an episode ends [m], [rad]
TORQUE, SPEED = 2.0, 8.0  # of the pendulum [N m], [rad/s]


def _rod(length: float, mass: float) -> Inertia:
    """A thin rod from the body's origin along z."""
    moment = mass * length**2 / 12.0
    return Inertia.from_diagonal(mass, (moment, moment, 1e-9 * moment), (0.0, 0.0, 0.5 * length))


def _at(z: float) -> np.ndarray:
    X = np.eye(4)
    X[2, 3] = z
    return X


def _cart_pole_world() -> World:
    skeleton = Skeleton("cart_pole")
    cart = skeleton.add_body("cart", PrismaticJoint("cart", axis=(1.0, 0.0, 0.0)), inertia=Inertia(1.0))
    cart.add_shape(Box((0.4, 0.2, 0.2)), color=(0.2, 0.2, 0.2), collision=False)
    pole = skeleton.add_body("pole", RevoluteJoint("pole", axis=UP), cart, _rod(1.0, 0.1))
    pole.add_shape(Capsule(0.04, 1.0), _at(0.5), color=(0.8, 0.6, 0.4), collision=False)
    world = World("cart_pole", gravity=(0.0, 0.0, -9.8), time_step=TAU, integrator=ExplicitEuler())
    world.add_skeleton(skeleton)
    return world


def cart_pole() -> Environment:
    """A pole on a cart, as Gymnasium's CartPole-v1: forces of 10 N to either side, 1 for each step, at most 500.

    The cart has 1 kg, the pole 0.1 kg and 1 m; steps of 0.02 s are explicit Euler steps, as there. Observations are
    x, x', the angle from upright and its rate, as 32 bits. An episode ends at 2.4 m or 12 degrees.

    Source: Barto, Sutton, Anderson (1983), Neuronlike adaptive elements that can solve difficult learning control
    problems; Florian (2007), Correct equations for the dynamics of the cart-pole system.
    """

    def fallen(t: Transition) -> np.ndarray:
        return (np.abs(t.positions[:, 0]) > FAR) | (np.abs(t.positions[:, 1]) > TILT)

    high = np.array([2.0 * FAR, np.inf, 2.0 * TILT, np.inf], np.float32)
    return Environment(
        name="CartPole",
        model=_cart_pole_world,
        observation=lambda t: np.stack([t.positions, t.velocities], axis=2).reshape(len(t), 4),
        reward=lambda t: np.ones(len(t)),
        terminated=fallen,
        commands=lambda a, _: np.stack([np.where(a == 1, FORCE, -FORCE), np.zeros(len(a))], axis=1),
        action_space=spaces.Discrete(2),
        observation_space=spaces.Box(-high, high, dtype=np.float32),
        start=_cart_pole_start,
        time_limit=500,
        view=View((0.0, -4.5, 0.8), (0.0, 0.0, 0.3)),
    )


def _cart_pole_start(rng: np.random.Generator) -> Start:
    x, dx, angle, rate = rng.uniform(-0.05, 0.05, 4)
    return Start((x, angle), (dx, rate))


def _pendulum_world() -> World:
    skeleton = Skeleton("pendulum")
    rod = skeleton.add_body("rod", RevoluteJoint("hinge", axis=UP), inertia=_rod(1.0, 1.0))
    rod.add_shape(Capsule(0.05, 1.0), _at(0.5), color=(0.8, 0.3, 0.3), collision=False)
    rod.add_shape(Sphere(0.08), color=(0.2, 0.2, 0.2), collision=False)
    world = World("pendulum", gravity=(0.0, 0.0, -10.0), time_step=0.05, integrator=SemiImplicitEuler())
    world.add_skeleton(skeleton)
    return world


def pendulum() -> Environment:
    """A rod to swing up by at most 2 N m and to hold there, as Gymnasium's Pendulum-v1; 200 steps.

    The rod has 1 kg and 1 m, gravity is 10 m/s^2; steps of 0.05 s are semi-implicit Euler steps, as there. Speeds end
    at 8 rad/s. Observations are the cosine and sine of the angle from upright and its rate, as 32 bits; the reward is
    -(angle^2 + 0.1 rate^2 + 0.001 torque^2) with angle and rate before the step.
    """

    def cost(t: Transition) -> Array:
        angle = np.mod(t.before.positions[:, 0] + np.pi, 2.0 * np.pi) - np.pi
        torque = np.clip(t.actions[:, 0].astype(float), -TORQUE, TORQUE)
        return -(angle**2 + 0.1 * t.before.velocities[:, 0] ** 2 + 0.001 * torque**2)

    high = np.array([1.0, 1.0, SPEED], np.float32)
    return Environment(
        name="Pendulum",
        model=_pendulum_world,
        observation=lambda t: np.concatenate([np.cos(t.positions), np.sin(t.positions), t.velocities], axis=1),
        reward=cost,
        commands=lambda a, _: a,
        action_space=spaces.Box(-TORQUE, TORQUE, (1,), np.float32),
        observation_space=spaces.Box(-high, high, dtype=np.float32),
        start=lambda rng: Start(*rng.uniform((-np.pi, -1.0), (np.pi, 1.0))[:, None]),
        speed_limits={"hinge": SPEED},
        time_limit=200,
        view=View((0.0, -4.0, 0.0), (0.0, 0.0, 0.0)),
    )
