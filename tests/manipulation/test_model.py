"""One model for all: what perception sees, forks while a writer edits, predictions."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path

import numpy as np
import pytest
from manipulation_robots import ROBOTS, planar_arm

import kido
from kido.manipulation import DisabledPair, GroupDescription, RobotDescription, RobotModel
from kido.math import exp_pose

BOX = kido.Box((0.05, 0.05, 0.05))


def at(x: float, y: float = 0.0, z: float = 0.0) -> np.ndarray:
    X = np.eye(4)
    X[:3, 3] = x, y, z
    return X


def model() -> RobotModel:
    world = kido.World(gravity=(0, 0, 0))
    world.add_skeleton(planar_arm(0.5, 0.4)).positions = [0.3, 0.4]
    return RobotModel(world)


def test_objects_come_move_and_go_as_they_are_seen() -> None:
    m = model()
    cup = m.see("cup", at(1.2), 4e-4 * np.eye(6), shape=BOX, mass=0.4, velocity=[0, 0, 1.0, 0.1, 0, 0])
    assert m.seen == ("cup",)
    assert cup.inertia.mass == 0.4
    np.testing.assert_allclose(cup.spatial_velocity, [0, 0, 1.0, 0.1, 0, 0], atol=1e-15)
    m.see("cup", at(1.2, 0.1), 1e-4 * np.eye(6))
    np.testing.assert_allclose(cup.world_transform, at(1.2, 0.08), atol=1e-15)  # four fifths of the way
    np.testing.assert_allclose(m.covariance("cup"), 0.8e-4 * np.eye(6), atol=1e-18)
    np.testing.assert_allclose(cup.spatial_velocity, [0, 0, 1.0, 0.1, 0, 0], atol=1e-14)
    turned = exp_pose([0.1, 0.2, 0.3, 1.0, 0.2, 0.3])
    m.see("cup", turned, velocity=np.zeros(6))
    np.testing.assert_allclose(cup.world_transform, turned, atol=1e-14)
    np.testing.assert_allclose(cup.spatial_velocity, 0.0, atol=1e-15)
    m.lose("cup")
    assert (m.seen, len(m.world.skeletons)) == ((), 1)


def test_fused_poses_are_estimates_by_information() -> None:
    """Of many noisy sights with covariance R the pose's error is that of their mean: P = R / n, to 1e-9."""
    m, rng, R = model(), np.random.default_rng(0), np.diag([1e-6, 2e-6, 3e-6, 4e-6, 5e-6, 6e-6])
    true = exp_pose([0.3, -0.2, 0.5, 1.0, 0.5, 0.2])
    for _ in range(50):
        m.see("cup", true @ exp_pose(rng.multivariate_normal(np.zeros(6), R)), R, shape=BOX, mass=1.0)
    np.testing.assert_allclose(m.covariance("cup"), R / 50, rtol=1e-9, atol=1e-18)
    error = kido.math.log_pose(np.linalg.inv(true) @ m.body("cup").world_transform)
    assert np.abs(error / np.sqrt(np.diag(R) / 50)).max() < 4.0


def test_a_held_object_is_moved_in_its_hand() -> None:
    m = model()
    m.see("cup", at(1.0, 0.3), shape=BOX, mass=0.4)
    hand = m.world.skeleton("arm").body("tip")
    grasp = m.grasps.attach(m.body("cup"), hand)
    m.world.skeleton("arm").velocities = [0.5, 0.2]
    before = np.array(m.world.skeleton("arm").velocities)
    m.see("cup", at(1.0, 0.35))
    np.testing.assert_allclose(m.body("cup").world_transform, at(1.0, 0.35), atol=1e-14)
    np.testing.assert_array_equal(m.world.skeleton("arm").velocities, before)
    assert m.grasps.held == (grasp,)
    with pytest.raises(kido.ModelError, match="held by grasp 'tip: cup'"):
        m.lose("cup")
    m.grasps.detach(grasp)
    m.lose("cup")


def test_forks_are_independent_and_of_one_moment() -> None:
    m = model()
    with m.edit():
        m.see("cup", at(1.0, 0.3), shape=BOX, mass=0.4)
        m.grasps.attach(m.body("cup"), m.part("arm").tip)
        inside = m.fork()  # as it was before
        m.scene.set_padding(m.world.skeleton("arm"), 0.01)
    assert (inside.seen, inside.grasps.held) == ((), ())
    fork = m.fork()
    assert fork.version == m.version == 2
    assert (fork.seen, [g.name for g in fork.grasps.held]) == (("cup",), ["tip: cup"])
    assert fork.world is not m.world
    arm = fork.world.skeleton("arm")
    assert fork.part("arm").skeleton is arm
    assert fork.grasps.held[0].hand.skeleton is arm
    assert fork.scene.world is fork.grasps.scene.world is fork.world
    assert fork.scene.padding(arm.body("link0").shape(0)) == 0.01
    fork.grasps.detach("tip: cup")
    fork.lose("cup")
    arm.positions = [1.0, 1.0]
    assert [g.name for g in m.grasps.held] == ["tip: cup"]
    np.testing.assert_array_equal(m.world.skeleton("arm").positions, [0.3, 0.4])
    assert len(m.fork().grasps.held) == 1
    again = pickle.loads(pickle.dumps(m))
    assert [g.name for g in again.grasps.held] == ["tip: cup"]
    assert again.body("cup").skeleton is again.world.skeleton("arm")


def test_an_edit_that_fails_is_not_published() -> None:
    m = model()
    m.publish()
    with pytest.raises(kido.NameLookupError), m.edit():
        m.see("cup", at(1.0), shape=BOX, mass=0.4)
        m.body("mug")
    assert m.fork().seen == ()
    with m.edit():
        pass
    assert m.fork().seen == ("cup",)


def test_readers_never_see_half_an_edit() -> None:
    """A writer moves the arm and an object together, 40 times; forks of two threads have both or neither."""
    m = model()
    with m.edit():
        m.see("cup", at(0.0, 2.0), shape=BOX, mass=0.4)
    arm, found, done = m.world.skeleton("arm"), [], threading.Event()

    def read() -> None:
        while not done.is_set():
            fork = m.fork()
            q, x = fork.world.skeleton("arm").positions[0], fork.body("cup").world_transform[0, 3]
            found.append((fork.version, float(q - (0.3 if x == 0.0 else x))))

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for k in range(1, 41):
        with m.edit():
            arm.positions = [0.01 * k, 0.0]
            m.see("cup", at(0.01 * k, 2.0))
    done.set()
    for thread in threads:
        thread.join()
    assert len(found) > 2
    assert max(abs(difference) for _, difference in found) == 0.0
    assert m.fork().body("cup").world_transform[0, 3] == 0.4


def test_predictions_are_what_happens() -> None:
    """Rollouts of what is held, beside the model's own world afterwards: to 1e-12."""
    m = model()
    m.see("cup", at(1.0, 0.3), shape=BOX, mass=0.4)
    m.grasps.attach(m.body("cup"), m.part("arm").tip)
    arm = m.world.skeleton("arm")
    arm.velocities = [0.5, -0.3]
    m.publish()
    found = m.predict(steps=50)
    assert arm.velocities[0] == 0.5
    m.world.step(50)
    np.testing.assert_allclose(np.asarray(found.positions)[0, -1][: arm.num_dofs], arm.positions, atol=1e-12)


def test_a_described_robot(example_robots: Path) -> None:
    world = kido.World()
    world.add_skeleton(kido.load_skeleton(example_robots / ROBOTS["panda"]), "panda")
    m = RobotModel(world, {"panda": RobotDescription.read(example_robots / "panda_description/srdf/panda.srdf")})
    assert m.part("arm_and_hand").num_dofs == 8
    m.part("arm").positions = [0, -0.785398, 0, -2.35619, 0, 1.5707, 0.785398]
    m.scene.require_free("home")
    assert m.fork().scene.is_free()


def test_nothing_is_known_of_where_an_object_drifted_to() -> None:
    """Seen, carried 1 m on by the world's steps, and seen elsewhere: it is where it was seen, as well as then."""
    m, sharp, R = model(), 1e-6 * np.eye(6), 1e-4 * np.eye(6)
    cup = m.see("cup", at(1.0), sharp, shape=BOX, mass=0.4)
    m.world.step(10)
    np.testing.assert_array_equal(m.covariance("cup"), sharp)  # it did not move
    fork = m.fork()
    cup.skeleton.velocities = [0, 0, 0, 1.0, 0, 0]
    m.world.step(round(1.0 / m.world.time_step))
    np.testing.assert_allclose(cup.world_transform, at(2.0), atol=1e-9)
    assert m.covariance("cup") is None
    m.see("cup", at(2.5), R)
    np.testing.assert_allclose(cup.world_transform, at(2.5), atol=1e-12)
    np.testing.assert_array_equal(m.covariance("cup"), R)
    np.testing.assert_array_equal(fork.covariance("cup"), sharp)


def test_a_model_that_fails_leaves_its_world() -> None:
    world = kido.World(gravity=(0, 0, 0))
    arm = world.add_skeleton(planar_arm(0.5, 0.4, 0.3))
    bad = RobotDescription(
        "arm", groups=(GroupDescription("g", joints=("nope",)),), disabled=(DisabledPair("link0", "link2", "Never"),)
    )
    with pytest.raises(kido.NameLookupError, match="nope"):
        RobotModel(world, {"arm": bad})
    assert not arm.self_collision and world.collision_filter.pairs == ()
    with pytest.raises(kido.ModelError, match="descriptions: expected a RobotDescription by name"):
        RobotModel(world, {"arm": "panda.srdf"})  # type: ignore[dict-item]


def test_an_object_that_cannot_be_lost_is_still_seen() -> None:
    """The world refuses to give a skeleton up that left it already."""
    m = model()
    cup = m.see("cup", at(1.0), shape=BOX, mass=0.4)
    m.world.remove_skeleton("cup")
    with pytest.raises(kido.KidoError, match="cup"):
        m.lose("cup")
    assert m.seen == ("cup",) and m.body("cup") is cup
    m.world.add_skeleton(cup.skeleton)
    m.lose("cup")
    assert m.seen == ()


def test_mistakes_are_named() -> None:
    m = model()
    cases = [
        (lambda: m.see("cup", at(1.0)), kido.ModelError, "new: expected its shape"),
        (lambda: m.see("cup", at(1.0), shape=BOX), kido.ModelError, "expected its mass or its inertia"),
        (lambda: m.see("cup", at(1.0), shape=BOX, mass=0.0), kido.ModelError, "mass"),
        (lambda: m.see("cup", at(1.0), shape=BOX, inertia=kido.Inertia(0.0)), kido.ModelError, "with mass"),
        (lambda: m.see("cup", 7), kido.ModelError, "pose"),
        (lambda: m.see("cup", at(1.0), np.zeros((6, 6)), shape=BOX, mass=1.0), kido.ModelError, "positive definite"),
        (lambda: m.see("cup", at(1.0), shape=BOX, mass=1.0, velocity=[1]), kido.ModelError, "velocity"),
        (lambda: m.see("arm", at(1.0), shape=BOX, mass=1.0), kido.ModelError, "has a skeleton of that name"),
        (lambda: m.lose("cup"), kido.NameLookupError, "no object seen 'cup'"),
        (lambda: m.part("leg"), kido.NameLookupError, "no part 'leg'; expected one of: arm"),
        (lambda: m.parts("robot"), kido.NameLookupError, "robot"),
        (lambda: RobotModel(None), kido.ModelError, "expected a world"),
        (lambda: RobotModel(kido.World(), {"r": RobotDescription("r")}), kido.NameLookupError, "'r'"),
    ]
    for call, error, text in cases:
        with pytest.raises(error, match=text):
            call()
        assert len(m.world.skeletons) == 1
    with pytest.raises(kido.ModelError, match="publishes at its end"), m.edit():
        m.publish()
