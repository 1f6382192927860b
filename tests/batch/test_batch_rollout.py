"""Rollouts of worlds with contacts: equal to steps by hand, bit for bit, whatever the number of threads."""

from __future__ import annotations

import time

import numpy as np
import pytest

import kido
from kido import models
from kido.batch import RolloutPool, rollout
from kido.batch.rollout_worker import Worker
from kido.errors import ModelError, NameLookupError, StateError
from kido.integrators import RK4
from kido.shapes import Box, Sphere
from scenes import G

STEPS = 25


@pytest.fixture(scope="module")
def falling() -> kido.World:
    """A humanoid in contact with the ground, and a box beside it that no argument names."""
    world = kido.World()
    world.add_ground()
    robot = kido.load(models.path("humanoid"))
    world.add_skeleton(robot)
    box = kido.Skeleton("box")
    body = box.add_body("box", joint=kido.FreeJoint("box"), inertia=kido.Inertia(2.0, moment=0.01 * np.eye(3)))
    body.add_shape(Box((0.2, 0.2, 0.2)), friction=0.5)
    box.positions = [0, 0, 0, 2.0, 0, 0.12]
    world.add_skeleton(box)
    world.step(300)
    return world


def samples_of(robot: kido.Skeleton, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    n = robot.num_dofs
    q = robot.positions + 0.05 * rng.normal(size=(number, n)) * (np.arange(n) >= 6)
    u = robot.velocities + 0.1 * rng.normal(size=(number, n))
    commands = rng.normal(size=(number, STEPS, n)) * (np.arange(n) >= 6)
    return q, u, commands


def by_hand(world: kido.World, robot: str, q, u, commands) -> tuple[np.ndarray, np.ndarray]:
    twin = world.clone()
    s = twin.skeleton(robot)
    s.positions, s.velocities = q, u
    found = []
    for row in commands:
        s.commands = row
        twin.step()
        found.append((s.positions, s.velocities))
    return np.array([p for p, _ in found]), np.array([v for _, v in found])


def test_equal_to_steps_by_hand_at_any_number_of_threads(falling):
    robot = falling.skeletons[1]
    before = falling.snapshot()
    q, u, commands = samples_of(robot, 7)
    found = [rollout(falling, q, u, commands, skeleton=robot, threads=n) for n in (1, 2, 3)]
    for other in found[1:]:
        assert np.array_equal(other.positions, found[0].positions)
        assert np.array_equal(other.velocities, found[0].velocities)
    for k in (0, 6):
        expected = by_hand(falling, robot.name, q[k], u[k], commands[k])
        assert np.array_equal(found[0].positions[k], expected[0])
        assert np.array_equal(found[0].velocities[k], expected[1])
    assert not found[0].errors and (found[0].steps == STEPS).all()
    assert found[0].times == pytest.approx(1e-3 * np.arange(1, STEPS + 1))
    assert np.array_equal(before.positions, falling.snapshot().positions) and falling.num_steps == before.num_steps


def test_a_pool_gives_the_same_again(falling):
    robot = falling.skeletons[1]
    pool = RolloutPool(falling, skeleton=1, threads=2)
    q, u, commands = samples_of(robot, 3)
    first = pool.run(q, u, commands)
    pool.run(q + 0.1, -u, steps=40)
    again = pool.run(q, u, commands)
    assert np.array_equal(first.positions, again.positions)


def test_held_commands_and_sparse_records(falling):
    robot = falling.skeletons[1]
    q, u, commands = samples_of(robot, 2)
    fine = rollout(falling, q, u, np.repeat(commands[:, :5], 4, axis=1), skeleton=robot, threads=1)
    held = rollout(falling, q, u, commands[:, :5], hold=4, skeleton=robot, threads=1)
    assert np.array_equal(held.positions, fine.positions[:, 3::4])
    sparse = rollout(falling, q, u, commands[:, :5], hold=4, every=10, skeleton=robot, threads=1)
    assert np.array_equal(sparse.velocities, fine.velocities[:, 9::10])
    one = rollout(falling, q[0], u[0], commands[0, 0], steps=6, skeleton=robot, threads=1)
    many = rollout(falling, q[0], u[0], np.tile(commands[0, 0], (1, 6, 1)), skeleton=robot, threads=1)
    assert np.array_equal(one.positions, many.positions)


def test_all_coordinates_by_default(falling):
    found = rollout(falling, steps=5, threads=1)
    twin = falling.clone()
    twin.step(5)
    assert np.array_equal(found.positions[0, -1], np.concatenate([s.positions for s in twin.skeletons]))


def test_a_sample_that_fails_leaves_the_others_alone(falling):
    robot = falling.skeletons[1]
    q, u, commands = samples_of(robot, 5)
    good = rollout(falling, q, u, commands, skeleton=robot, threads=2)
    q[1, 3] = np.nan
    commands[3, 10, 8] = np.inf
    u[2] = 1e200
    found = rollout(falling, q, u, commands, skeleton=robot, threads=2)
    assert sorted(found.errors) == [1, 2, 3]
    assert "positions" in found.errors[1] and "commands" in found.errors[3] and "diverged" in found.errors[2]
    assert (found.steps[[1, 3]] == 0).all() and found.steps[2] < STEPS
    assert np.isnan(found.positions[1]).all() and np.isnan(found.positions[2, -1]).any()
    for k in (0, 4):
        assert np.array_equal(found.positions[k], good.positions[k])


def test_contact_wrenches_carry_the_weight():
    world = kido.World()
    world.add_ground()
    box = kido.Skeleton("box")
    body = box.add_body("box", joint=kido.FreeJoint("free"), inertia=kido.Inertia(3.0, moment=0.02 * np.eye(3)))
    body.add_shape(Box((0.2, 0.2, 0.2)))
    box.positions = [0, 0, 0, 0, 0, 0.1]
    world.add_skeleton(box)
    found = rollout(world, steps=300, every=300, bodies=["box", "ground/ground"], threads=1)
    wrench = found.contact_wrenches[0, 0]
    assert wrench[0, 3:] == pytest.approx([0, 0, 3.0 * G], abs=1e-5)
    assert wrench[0, :3] == pytest.approx(0.0, abs=1e-5)
    assert wrench[1, 3:] == pytest.approx([0, 0, -3.0 * G], abs=1e-5)


def test_contact_wrenches_are_what_changes_momentum():
    """Of a ball that rolls and spins: rolling and torsional friction are torques without a force."""
    world = kido.World()
    world.add_ground()
    ball = kido.Skeleton("ball")
    body = ball.add_body("ball", kido.FreeJoint("free"), inertia=kido.Inertia.from_shape(Sphere(0.1), mass=2.0))
    body.add_shape(Sphere(0.1), surface=kido.Surface(friction=0.5, rolling_friction=0.02, torsional_friction=0.03))
    ball.positions, ball.velocities = [0, 0, 0, 0, 0, 0.1], [0, 10.0, 5.0, 1.0, 0, 0]
    world.add_skeleton(ball)
    world.step(20)
    before = body.spatial_velocity
    found = rollout(world, steps=1, bodies=["ball/ball"], threads=1)
    world.step()
    moment, force = np.split(found.contact_wrenches[0, 0, 0], 2)
    change = (body.spatial_velocity - before) / world.time_step
    assert abs(moment[2]) > 0.1
    assert moment == pytest.approx(0.4 * 2.0 * 0.1**2 * change[:3], abs=1e-9)
    assert force == pytest.approx(2.0 * (change[3:] + (0, 0, G)), abs=1e-9)


def test_contact_wrenches_of_sleepers_are_those_they_rest_on():
    world = models.stack(3)
    world.sleeping = True
    world.step(1500)
    names = [s.name for s in world.skeletons[1:]]
    assert all(s.is_asleep for s in world.skeletons[1:])
    wrenches = rollout(world, steps=5, every=5, bodies=[s.bodies[0] for s in world.skeletons], threads=1)
    found = wrenches.contact_wrenches[0, 0, :, 5]
    weights = [world.skeleton(name).mass * G for name in names]
    assert found == pytest.approx([-sum(weights), *weights], rel=1e-6)


def test_a_skeleton_alone_and_an_integrator_that_needs_python():
    pendulum = kido.Skeleton("pendulum")
    pendulum.add_body("rod", joint=kido.RevoluteJoint("hinge"), inertia=kido.Inertia(1.0, com=(0.0, 0.5, 0.0)))
    q = np.linspace(-1.0, 1.0, 4)[:, None]
    found = rollout(pendulum, q, commands=np.zeros((4, 30, 1)), time_step=2e-3)
    assert found.times[-1] == pytest.approx(0.06)
    world = kido.World(time_step=2e-3)
    world.add_skeleton(pendulum.clone())
    world.integrator = RK4()
    fine = rollout(world, q, commands=np.zeros((4, 30, 1)), threads=2)
    assert found.positions == pytest.approx(fine.positions, abs=1e-5)
    again = by_hand(world, "pendulum", q[2], [0.0], np.zeros((30, 1)))
    assert np.array_equal(again[0], fine.positions[2])


def test_arrays_grow_within_a_sample():
    """Blocks that start in the air touch nothing at first: the arrays of a clone are made for few contacts."""
    world = models.stack(20)
    q = np.concatenate([s.positions for s in world.skeletons])
    assert len(Worker(world.clone()).members[0].engine.responses.container.rows) == 1
    found = rollout(world, np.tile(q, (2, 1)), steps=20, threads=2)
    expected = world.clone()
    expected.step(20)
    assert np.array_equal(found.positions[1, -1], np.concatenate([s.positions for s in expected.skeletons]))
    assert len(expected.contacts) > 64


def test_an_interruption_stops_all_threads(falling):
    def interrupt(done, total):
        raise KeyboardInterrupt

    pool = RolloutPool(falling, skeleton=1, threads=2)
    q = np.tile(falling.skeletons[1].positions, (1000, 1))
    pool.run(q[:2], steps=2)  # compiles, on a machine where that was not done
    started = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        pool.run(q, steps=1000, progress=interrupt, every=1000)
    assert time.perf_counter() - started < 20.0  # it takes 0.2 s; all of it would take minutes
    assert pool.run(q[:2], steps=2).positions.shape[:2] == (2, 2)


def test_progress_is_reported(falling):
    seen = []
    rollout(falling, steps=3, threads=1, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (1, 1)


def test_bad_input(falling):
    robot = falling.skeletons[1]
    n = robot.num_dofs
    with pytest.raises(StateError, match=r"positions.*shape"):
        rollout(falling, np.zeros((2, 3)), steps=1, skeleton=robot)
    with pytest.raises(StateError, match="2 of positions, 3 of velocities"):
        rollout(falling, np.zeros((2, n)), np.zeros((3, n)), steps=1, skeleton=robot)
    with pytest.raises(StateError, match="steps"):
        rollout(falling, np.zeros((2, n)), skeleton=robot)
    with pytest.raises(StateError, match="steps"):
        rollout(falling, commands=np.zeros((2, 4, n)), steps=5, skeleton=robot)
    with pytest.raises(StateError, match="threads"):
        rollout(falling, steps=1, threads=0)
    with pytest.raises(StateError, match="hold"):
        rollout(falling, steps=1, hold=-1)
    with pytest.raises(StateError, match="numbers"):
        rollout(falling, "standing", steps=1)
    with pytest.raises(ModelError, match="expected a world or a skeleton"):
        rollout("humanoid", steps=1)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="not in world"):
        rollout(falling, steps=1, skeleton=robot.clone())
    with pytest.raises(NameLookupError):
        rollout(falling, steps=1, skeleton="robot")
    with pytest.raises(ModelError, match="no body has"):
        rollout(falling, steps=1, bodies=["tail"])
    with pytest.raises(ModelError, match="expected each once, got humanoid/chest again"):
        rollout(falling, steps=1, bodies=["chest", "humanoid/chest"])


def test_steps_that_are_no_multiple_of_what_is_held_or_recorded():
    """A world that sleeps is stepped from Python; it stops where it should, as compiled ones do."""
    for sleeping in (False, True):
        world = kido.models.stack(2)
        world.sleeping = sleeping
        found = kido.batch.rollout(world, steps=7, hold=10, every=5, threads=1)
        assert found.steps.tolist() == [7]
        assert found.positions.shape[:2] == (1, 1)
        assert np.isfinite(found.positions).all()
