"""A pole on a cart that learns to stand: random search over linear policies, in 32 worlds at once.

At first the policy is zero and the pole falls. Each "T" is an iteration of augmented random search (Mania, Guy, Recht,
2018): 16 random directions, a policy on either side of each in a world of its own, and a step along the best of them.
After five or so the pole stands. The pole that is seen follows the policy as it is now.
"""

import numpy as np

import kido.gym
from kido.demos.demo import Demo

DIRECTIONS, BEST, STEPS = 16, 8, 200
NOISE, RATE = 0.5, 0.3


def returns(env, policies):
    """What each of the policies (worlds, 4) earns in an episode of its world: it pushes to the right where p.o > 0."""
    observations, _ = env.reset(seed=0)
    total, standing = np.zeros(len(policies)), np.ones(len(policies), bool)
    for _ in range(STEPS):
        actions = (policies * observations).sum(axis=1) > 0.0
        observations, rewards, fallen, late, _ = env.step(actions.astype(int))
        total += rewards * standing
        standing &= ~(fallen | late)
    return total


def improved(env, policy, rng):
    """A better policy, and the mean return of those that were tried."""
    directions = rng.normal(size=(DIRECTIONS, 4))
    steps = NOISE * directions
    found = returns(env, np.concatenate([policy + steps, policy - steps]))
    plus, minus = found[:DIRECTIONS], found[DIRECTIONS:]
    best = np.argsort(-np.maximum(plus, minus))[:BEST]
    gain = (plus[best] - minus[best]) @ directions[best]
    return policy + RATE / (BEST * (found.std() + 1e-9)) * gain, found.mean()


def make():
    declared = kido.gym.environment("CartPole")
    env = declared.vector(2 * DIRECTIONS)
    world = declared.model()
    world.time_step = 1.0 / 240.0
    skeleton, rng = world.skeletons[0], np.random.default_rng(0)
    policy, mean, iterations, since = np.zeros(4), 0.0, 0, 0.0
    demo = Demo(world, duration=4.0, camera=((0, -6, 1.2), (0, 0, 0.4)))

    def push(_):
        (x, angle), (speed, rate) = skeleton.positions, skeleton.velocities
        skeleton.forces = [10.0 if policy @ (x, speed, angle, rate) > 0.0 else -10.0, 0.0]

    world.add_step_callback(push, before=True)

    @demo.every_frame
    def set_up_again(now):
        nonlocal since
        x, angle = skeleton.positions
        if abs(x) > 2.4 or abs(angle) > 1.0:
            skeleton.positions, skeleton.velocities = rng.uniform(-0.05, 0.05, (2, 2))
            since = now

    @demo.key("T", "Train: one iteration")
    def train():
        nonlocal policy, mean, iterations
        policy, mean = improved(env, policy, rng)
        iterations += 1

    @demo.key("X", "Forget all")
    def forget():
        nonlocal policy, mean, iterations
        policy, mean, iterations = np.zeros(4), 0.0, 0

    @demo.key("N", "Push the pole")
    def nudge():
        skeleton.velocities = skeleton.velocities + [0.0, 0.5]

    @demo.number("iterations")
    def count():
        return iterations

    @demo.number("stands for [s]")
    def standing():
        return world.time - since

    @demo.number("mean return, of 200")
    def reached():
        return float(mean)

    return demo
