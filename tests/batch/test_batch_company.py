"""Worlds with something of everything: bits of one do not depend on which steps its arrays did before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import kido
from benchmarks.soak.scenes import chain, fixed, free, mixed
from kido.batch import Worlds


class Sill(kido.UserConstraint):
    """Keeps a body above a height with a bounded force; has a row only where it is near, so that rows come and go."""

    def rows(self):
        return np.eye(6)[5:] if self.skeletons[0].positions[5] < 0.4 else np.zeros((0, 6))

    @property
    def error(self):
        z = self.skeletons[0].positions[5]
        return np.array([z - 0.15] if z < 0.4 else [])

    def bounds(self):
        return 0.0, 30.0


def users_rows() -> kido.World:
    world = kido.World()
    world.add_ground()
    for k in range(3):
        box = world.add_skeleton(free(f"box_{k}", kido.Box((0.2, 0.1, 0.1)), (0.0, 0.6 * k, 0.2 + 0.3 * k)))
        world.add_constraint(Sill(box, name=f"sill {k}"))
    return world


def rolling_and_robots() -> kido.World:
    """A chain on the ground, and balls with rolling friction that touch in some of the worlds, or later."""
    world = kido.World()
    world.add_ground()
    world.add_skeleton(chain("chain", 4, (0.0, 0.0, 0.15)))
    world.add_skeleton(fixed("belt", kido.Box((0.8, 0.5, 0.1)), (2.0, 0.0, 0.05), surface_velocity=(0.4, 0.0, 0.0)))
    for k in range(3):
        ball = free(f"ball_{k}", kido.Sphere(0.1), (1.8 + 0.1 * k, 0.0, 0.3 + 0.25 * k), rolling_friction=0.003)
        world.add_skeleton(ball)
    return world


def arena() -> kido.World:
    world = mixed()
    world.step(20)
    return world


def state(world: kido.World) -> np.ndarray:
    return np.concatenate([np.concatenate([s.positions, s.velocities]) for s in world.skeletons])


def speeds_of(world: kido.World, number: int) -> np.ndarray:
    u = np.concatenate([s.velocities for s in world.skeletons])
    return u + 0.2 * np.random.default_rng(0).normal(size=(number, len(u))) * (u != 0.0)


def start(world: kido.World, speeds: np.ndarray) -> kido.World:
    twin, first = world.clone(), 0
    for s in twin.skeletons:
        s.velocities = speeds[first : first + s.num_dofs]
        first += s.num_dofs
    return twin


@pytest.mark.parametrize("build", [users_rows, rolling_and_robots, arena])
def test_worlds_are_single_worlds_to_the_bit_in_any_company(build: Callable[[], kido.World]):
    world = build()
    world.step(5)
    number, blocks = 5, 15
    speeds = speeds_of(world, number)
    worlds = Worlds(world, number, threads=2, lanes=False)
    worlds.reset(velocities=speeds)
    for _ in range(blocks):
        worlds.step(n=10)
    for k in range(number):
        single = start(world, speeds[k])
        single.step(10 * blocks, reset_command=False)
        assert np.array_equal(worlds.positions[k], np.concatenate([s.positions for s in single.skeletons])), k
        assert np.array_equal(worlds.velocities[k], np.concatenate([s.velocities for s in single.skeletons])), k


@pytest.mark.parametrize("build", [users_rows, rolling_and_robots, arena])
def test_a_world_that_looks_ahead_goes_on_as_one_that_does_not(build: Callable[[], kido.World]):
    """What a world did since a snapshot leaves nothing behind when that is put back."""
    world = build()
    plain, looking = world.clone(), world.clone()
    for k in range(120):
        plain.step(1, reset_command=False)
        looking.step(1, reset_command=False)
        before = looking.snapshot()
        looking.step(7)
        looking.restore(before)
        assert np.array_equal(state(plain), state(looking)), k
    copy = plain.clone()
    for w in (plain, copy):
        w.step(20)
    assert np.array_equal(state(plain), state(copy))
