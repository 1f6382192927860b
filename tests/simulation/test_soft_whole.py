"""What a skeleton and a world say of themselves as a whole while soft skins move: from definitions, point by point."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from test_soft_bodies import POSE, TWIST, disturb, energy, momentum, soft_box

import kido
from kido import SoftBodyNode, SoftMesh, World


def moving(automatic: float | None = None) -> tuple[World, SoftBodyNode]:
    """A world with a soft box whose points are displaced and move, and a rigid bob on a hinge below it."""
    world, body = soft_box(automatic=automatic)
    place = np.eye(4)
    place[:3, 3] = (0.3, 0.0, 0.0)
    joint = kido.RevoluteJoint(axis=(0, 1, 0), transform_from_parent=place)
    body.skeleton.add_body("bob", joint, body, kido.Inertia(0.4, (0.0, 0.0, -0.1), 1e-3 * np.eye(3)))
    body.skeleton.positions, body.skeleton.velocities = [*POSE, 0.4], [*TWIST, 2.0]
    disturb(body)
    return world, body


def test_energy_momentum_and_centre_of_mass_are_those_of_the_points() -> None:
    world, body = moving()
    skeleton = body.skeleton
    bob = skeleton.body("bob")
    own = kido.quantities.kinetic_energy(skeleton, bodies=[bob]) + kido.quantities.potential_energy(
        skeleton, bodies=[bob]
    )
    assert world.total_energy == pytest.approx(energy(body) + own, rel=1e-12)
    assert skeleton.lagrangian == pytest.approx(skeleton.kinetic_energy - skeleton.potential_energy)
    h = momentum(body)
    np.testing.assert_allclose(skeleton.momentum_about((0, 0, 0), [body]), h, atol=1e-13)
    np.testing.assert_allclose(skeleton.momentum, h + skeleton.momentum_about((0, 0, 0), [bob]), atol=1e-13)
    com = (body.mass * body.com + bob.mass * bob.com) / skeleton.mass
    np.testing.assert_allclose(skeleton.com, com, atol=1e-14)
    np.testing.assert_allclose(skeleton.com, com, atol=1e-14)
    np.testing.assert_allclose(skeleton.com_velocity(), skeleton.momentum[3:] / skeleton.mass, atol=1e-14)
    about = np.array([0.1, -0.2, 0.3])
    shifted = skeleton.momentum[:3] - np.cross(about, skeleton.momentum[3:])
    np.testing.assert_allclose(skeleton.angular_momentum(about), shifted, atol=1e-13)
    central = skeleton.momentum[:3] - np.cross(com, skeleton.momentum[3:])
    np.testing.assert_allclose(skeleton.centroidal_momentum[:3], central, atol=1e-13)
    # What is set on points is seen at once.
    before = skeleton.com
    body.displacements = [0.0, 0.0, 0.0]
    assert np.abs(skeleton.com - before).max() > 1e-4


def test_accelerations_of_the_centre_of_mass_are_refused() -> None:
    _, body = moving()
    with pytest.raises(kido.ModelError, match=r"com_acceleration is not known .*'box'"):
        body.skeleton.com_acceleration()
    body.skeleton.com_acceleration(["bob"])
    body.displacements, body.displacement_rates = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    body.skeleton.com_acceleration()


def test_a_chain_that_floats_keeps_its_momentum() -> None:
    """With a soft link and a hinge, tumbling: to rounding, but for r x p of second order."""
    errors = []
    for h in (1e-3, 5e-4):
        world, body = moving()
        world.gravity, world.time_step = (0, 0, 0), h
        skeleton = body.skeleton
        before, central = skeleton.momentum, skeleton.centroidal_momentum
        world.step(int(0.2 / h))
        np.testing.assert_allclose(skeleton.momentum[3:], before[3:], rtol=0, atol=1e-13)
        np.testing.assert_allclose(skeleton.centroidal_momentum, central, rtol=0, atol=1e-13)
        errors.append(np.abs(skeleton.momentum - before).max())
    assert errors[0] < 1e-3
    assert errors[1] < 0.3 * errors[0]


def test_momentum_of_points_that_freeze_by_themselves_is_there_at_once() -> None:
    world, body = moving(automatic=0.1)
    world.gravity = (0, 0, 0)
    body.displacements, body.displacement_rates = [0.0, 0.0, 0.0], [5e-4, 0.0, 0.0]
    before = body.skeleton.momentum
    assert not body.frozen.any()
    frozen = set()
    for _ in range(20):
        world.step()
        frozen.add(int(body.frozen.sum()))
        np.testing.assert_allclose(body.skeleton.momentum[3:], before[3:], rtol=0, atol=1e-13)
    assert len(frozen) > 2


def test_recordings_have_the_energy_of_the_points(tmp_path: Path) -> None:
    world, _ = moving()
    world.add_ground()
    path = tmp_path / "soft.h5"
    energies = []
    with kido.Recorder(world, path):
        for _ in range(5):
            world.step()
            energies.append(world.total_energy)
    with kido.Recording(path) as recording:
        np.testing.assert_allclose(recording.energies.total[1:], energies, rtol=1e-12)


def on_the_ground(threads: int = 1) -> tuple[World, SoftBodyNode]:
    world, body = soft_box()
    world.add_ground()
    world.threads = threads
    body.skeleton.positions = [0.3, 0.2, 0.1, 0, 0, 0.17]
    return world, body


def test_copies_and_snapshots_in_contact_go_on_to_the_bit() -> None:
    world, body = on_the_ground()
    world.step(150)
    assert len(world.contacts) > 0
    twins = [world.clone(), pickle.loads(pickle.dumps(world)), copy.deepcopy(world)]
    state = world.snapshot()
    world.step(60)
    end, rates = body.point_positions, body.displacement_rates
    for twin in twins:
        twin.step(60)
        other = twin.skeletons[0].soft_bodies[0]
        np.testing.assert_array_equal(other.point_positions, end)
        np.testing.assert_array_equal(other.displacement_rates, rates)
    world.restore(state)
    world.step(60)
    np.testing.assert_array_equal(body.point_positions, end)
    np.testing.assert_array_equal(body.displacement_rates, rates)


def test_threads_change_no_bit() -> None:
    ends = []
    for threads in (1, 2):
        world, body = on_the_ground(threads)
        other = kido.Skeleton("other")
        soft = other.add_soft_body("soft", SoftMesh.box((0.1, 0.1, 0.1)), total_mass=0.3, kv=500.0, kd=1.0)
        world.add_skeleton(other)
        other.positions = [0.1, 0.2, 0.3, 1.0, 0.0, 0.12]
        world.step(200)
        ends.append(np.concatenate([body.point_positions, soft.point_positions]))
    np.testing.assert_array_equal(*ends)
