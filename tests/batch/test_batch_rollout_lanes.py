"""Rollouts in lanes: those of single worlds to rounding, and each sample's bits the same in any company."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido import models
from kido.batch import RolloutPool, rollout
from kido.errors import StateError
from kido.shapes import Sphere
from robot_worlds import random_commands, robot_and_box

ROBOTS = ("humanoid", "quadruped", "arm7")
STEPS = 60


def world_of(name: str, settle: int = 300) -> kido.World:
    return robot_and_box(name, settle)


def commands_of(world: kido.World, samples: int, steps: int = STEPS, size: float = 2.0) -> np.ndarray:
    return random_commands(world, samples, steps, size)


@pytest.fixture(scope="module", params=ROBOTS)
def world(request) -> kido.World:
    return world_of(request.param)


def test_equal_to_single_worlds_while_motion_is_not_chaotic(world):
    # Under greater forces the quadruped stumbles, and sweeps end at 1e-6: what they find is by where they begin.
    commands = commands_of(world, 9, size=0.5)
    single = rollout(world, commands=commands, skeleton=1, threads=1)
    pool = RolloutPool(world, skeleton=1, threads=1, lanes=True)
    found = pool.run(commands=commands)
    assert pool.why_alone == "" and not found.errors and (found.steps == STEPS).all()
    assert found.positions == pytest.approx(single.positions, rel=0.0, abs=1e-12)


def test_robots_that_float_beside_others_that_stand():
    world = world_of("humanoid")
    commands = commands_of(world, 8, size=0.5)
    q = np.repeat(world.skeletons[1].positions[None], 8, axis=0)
    u = np.repeat(world.skeletons[1].velocities[None], 8, axis=0)
    q[::2, 5] += 1.0
    u[::2, :6] += np.random.default_rng(3).normal(size=(4, 6))
    single = rollout(world, q, u, commands=commands, skeleton=1, threads=1)
    found = rollout(world, q, u, commands=commands, skeleton=1, threads=1, lanes=True)
    assert found.positions == pytest.approx(single.positions, rel=0.0, abs=1e-12)
    assert found.velocities == pytest.approx(single.velocities, rel=0.0, abs=1e-9)


def test_robots_that_are_pushed_out_of_the_ground():
    """Positions are corrected by centimetres while they move: their energies are kept as in single worlds."""
    world = world_of("humanoid")
    commands = commands_of(world, 8, steps=20, size=0.5)
    q = np.repeat(world.skeletons[1].positions[None], 8, axis=0)
    u = np.repeat(world.skeletons[1].velocities[None], 8, axis=0)
    q[::2, 5] -= 0.01
    u += np.random.default_rng(5).normal(size=u.shape)
    single = rollout(world, q, u, commands=commands, skeleton=1, threads=1)
    found = rollout(world, q, u, commands=commands, skeleton=1, threads=1, lanes=True)
    assert found.positions == pytest.approx(single.positions, rel=0.0, abs=1e-12)
    assert found.velocities == pytest.approx(single.velocities, rel=0.0, abs=1e-9)


def test_bits_do_not_depend_on_company_or_threads(world):
    commands = commands_of(world, 19, steps=150, size=10.0)
    q = np.repeat(world.skeletons[1].positions[None], 19, axis=0)
    if world.skeletons[1].num_dofs > 6 and isinstance(world.skeletons[1].joints[0], kido.FreeJoint):
        q[:, 5] += np.linspace(0.0, 0.1, 19)  # some fall, some stand
    pool = RolloutPool(world, skeleton=1, threads=2, lanes=True)
    found = pool.run(q, commands=commands)
    order = np.random.default_rng(5).permutation(19)
    other = RolloutPool(world, skeleton=1, threads=1, lanes=True).run(q[order], commands=commands[order])
    assert np.array_equal(found.positions[order], other.positions)
    assert np.array_equal(found.velocities[order], other.velocities)
    for k in (0, 18):
        alone = pool.run(q[k : k + 1], commands=commands[k : k + 1])
        assert np.array_equal(alone.positions[0], found.positions[k])
        assert np.array_equal(alone.velocities[0], found.velocities[k])


def test_a_world_that_turns_nan_is_named_and_stops_alone():
    world = world_of("humanoid")
    commands = commands_of(world, 8)
    pool = RolloutPool(world, skeleton=1, threads=1, lanes=True)
    good = pool.run(commands=commands)
    commands[3, 20] = 1e300
    commands[5, 0, 8] = np.nan
    found = pool.run(commands=commands)
    assert rollout(world, commands=commands, skeleton=1, threads=1).errors == found.errors
    assert sorted(found.errors) == [3, 5]
    assert "commands" in found.errors[5] and "in step 21;" in found.errors[3] and found.steps[3] == 21
    assert np.isfinite(found.positions[3, :20]).all() and np.isnan(found.positions[3, 20:]).all()
    others = [k for k in range(8) if k not in (3, 5)]
    assert np.array_equal(found.positions[others], good.positions[others])
    assert np.array_equal(found.positions[3, :20], good.positions[3, :20])


def test_contact_wrenches_and_held_commands():
    world = world_of("humanoid", 0)
    commands = commands_of(world, 3, steps=4)
    arguments = {"hold": 5, "every": 4, "bodies": [world.skeletons[1].bodies[0].name, "box/box"]}
    single = rollout(world, commands=commands, skeleton=1, **arguments)
    found = rollout(world, commands=commands, skeleton=1, lanes=True, **arguments)
    assert found.contact_wrenches == pytest.approx(single.contact_wrenches, abs=1e-6)
    assert found.positions == pytest.approx(single.positions, abs=1e-11)


def test_robots_that_touch_themselves_or_others_and_limits_servos_and_friction():
    world = kido.World()
    world.add_ground()
    for k in range(2):
        robot = kido.Skeleton(f"robot {k}")
        base = robot.add_body("base", joint=kido.FreeJoint("base"), inertia=kido.Inertia(1.0, moment=0.01 * np.eye(3)))
        base.add_shape(Sphere(0.1), friction=0.5)
        kinds = {
            "servo": {"actuator_type": "servo", "force_limit": 2.0},
            "position": {"actuator_type": "position", "position_gain": 20.0, "velocity_gain": 0.5},
            "plain": {"coulomb_friction": 0.05},
        }
        for i, (kind, properties) in enumerate(kinds.items()):
            limits = {"position_lower_limit": -0.5, "position_upper_limit": 0.4}
            joint = kido.RevoluteJoint(kind, axis=(0, 1, 0), **limits, **properties)
            arm = robot.add_body(kind, parent=base, joint=joint, inertia=kido.Inertia(0.2, moment=0.002 * np.eye(3)))
            place = np.eye(4)
            place[:3, 3] = (0.3, 0.25 * (i - 1), 0.0)
            arm.add_shape(Sphere(0.05), friction=0.7).relative_transform = place
        robot.positions = [0.2, 0.1, 0.3 * k, 0.0, 0.05, 0.3 + 0.45 * k, 0.0, 0.1, -0.1]
        world.add_skeleton(robot)
    n = sum(s.num_dofs for s in world.skeletons)
    commands = 0.5 * np.random.default_rng(1).normal(size=(8, 1, n)).repeat(400, axis=1)
    for k in range(2):
        commands[:, :, 9 * k : 9 * k + 6] = 0.0
    pool = RolloutPool(world, lanes=True, threads=1)
    assert pool.why_alone == ""
    found, single = pool.run(commands=commands), rollout(world, commands=commands, threads=1)
    assert not found.errors
    assert np.abs(found.velocities[:, 50:, 5]).max() > 0.1  # they fall onto the ground and onto each other
    assert found.positions[:, :100] == pytest.approx(single.positions[:, :100], abs=1e-9)
    alone = pool.run(commands=commands[6:7])
    assert np.array_equal(alone.positions[0], found.positions[6])


def touching(world: kido.World) -> kido.ShapeNode:
    """A shape of the robot that collides."""
    return next(s for b in world.skeletons[1].bodies for s in b.shapes if s.collision)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda world: setattr(world, "integrator", kido.integrators.RK4()), "integrator"),
        (lambda world: setattr(touching(world), "restitution", 0.5), "rebound"),
        (lambda world: setattr(touching(world).body, "continuous", True), "swept"),
        (lambda world: world.remove_skeleton(world.skeletons[1]), "no robot"),
    ],
)
def test_worlds_without_lanes_say_why_and_run(change, reason):
    world = kido.World()
    world.add_ground()
    world.add_skeleton(kido.load_skeleton(models.path("humanoid")))
    box = kido.Skeleton("box")
    box.add_body("box", joint=kido.FreeJoint("box"), inertia=kido.Inertia(2.0, moment=0.01 * np.eye(3)))
    world.add_skeleton(box)
    change(world)
    pool = RolloutPool(world, threads=1, lanes=True)
    assert reason in pool.why_alone
    single = rollout(world, steps=5, threads=1)
    found = pool.run(steps=5)
    assert np.array_equal(found.positions, single.positions, equal_nan=True) and found.errors == single.errors


def test_bad_input():
    with pytest.raises(StateError, match="lanes"):
        RolloutPool(world_of("arm7", 0), lanes="yes")  # type: ignore[arg-type]
