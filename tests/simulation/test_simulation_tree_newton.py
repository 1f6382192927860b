"""Newton's method along a robot's tree: the solutions of other methods, with less work; and where it does not apply.

Truth: the same steps without it, and the certified residual.
"""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido import models


def robot_world(name: str = "humanoid", friction: float = 0.8, **properties: float) -> kido.World:
    world = kido.World()
    world.add_ground(friction=friction)
    robot = world.add_skeleton(kido.load_skeleton(models.path(name)))
    robot.self_collision = False
    for dof in robot.dofs[6:]:
        for key, value in properties.items():
            setattr(dof, key, value)
    return world


def step_without(world: kido.World) -> None:
    """A step by sweeps and Newton's method in body space, to tolerances that the other's are within."""
    problem = world.engine.problem
    kept = problem.tree_newton
    problem.tree_newton = None
    world.step()
    problem.tree_newton = kept


def iterations(world: kido.World) -> int:
    problem = world.engine.problem
    return int(problem.island_iterations[: problem.num_islands].sum())


@pytest.mark.parametrize(
    ("name", "friction", "properties"),
    [
        ("humanoid", 0.8, {}),
        ("humanoid", 0.8, {"armature": 0.05}),
        ("humanoid", 0.1, {"coulomb_friction": 2.0}),
        ("quadruped", 0.5, {"coulomb_friction": 0.5, "damping": 0.1}),
    ],
)
def test_steps_equal_those_of_other_methods(name, friction, properties):
    world = robot_world(name, friction, **properties)
    robot = world.skeletons[-1]
    compared = 0
    for _ in range(24):
        world.step(60)
        snapshot = world.snapshot()
        step_without(world)
        expected, touching = robot.velocities, len(world.contacts)
        world.restore(snapshot)
        world.step()
        if touching:
            compared += 1
            # Both are solved to 1e-6 of the impulses, which turn a light limb by more than they shift the whole.
            assert np.abs(robot.velocities - expected).max() < 2e-4 * max(1.0, np.abs(expected).max())
            assert world.report.residual <= 1e-5
    assert compared > 15


def test_a_standing_robot_takes_few_iterations():
    world = robot_world()
    world.step(50)
    counts = []
    for _ in range(200):
        world.step()
        counts.append(iterations(world))
    assert np.mean(counts) < 3.0 and max(counts) < 12
    assert world.report.residual < 1e-6


def test_cases_that_change_back_and_forth():
    """A quadruped that lies on its trunk and shanks, shaken by its joints: steps' problems have many near cases.

    With one schedule of penalties alone 15 of these steps take 151 to 1055 iterations, and leave up to 6.9e-5.
    """
    world = robot_world("quadruped")
    robot = world.skeletons[-1]
    world.step(600)
    start = world.snapshot()
    rng = np.random.default_rng(0)
    taken, left = [], []
    for _ in range(20):
        world.restore(start)
        for _ in range(64):
            commands = 2.0 * rng.normal(size=robot.num_dofs)
            commands[:6] = 0.0
            robot.commands = commands
            world.step()
            taken.append(world.report.iterations)
            left.append(world.report.residual)
    assert max(left) < 2e-6  # the tolerance is 1e-6
    assert np.count_nonzero(np.array(taken) > 150) < 10


def test_contacts_between_robots_are_left_to_other_methods():
    """Two quadrupeds, one on the other: no tree, but solved."""
    world = robot_world("quadruped")
    other = world.add_skeleton(kido.load_skeleton(models.path("quadruped")))
    other.name = "other"
    q = other.positions.copy()
    q[5] += 0.35
    other.positions = q
    for _ in range(50):
        world.step(10)
        assert np.isfinite(world.skeletons[-1].positions).all()
        assert world.report.residual < 1e-4
    parts = {(c.body_a.skeleton.name, c.body_b.skeleton.name) for c in world.contacts}
    assert len(parts) > 1


def test_clones_and_snapshots_go_on_to_the_bit():
    world = robot_world()
    world.step(700)
    copy = world.clone()
    snapshot = world.snapshot()
    world.step(100)
    copy.step(100)
    expected = world.skeletons[-1].positions
    assert np.array_equal(copy.skeletons[-1].positions, expected)
    world.restore(snapshot)
    world.step(100)
    assert np.array_equal(world.skeletons[-1].positions, expected)
