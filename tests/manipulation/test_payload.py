"""Payloads: feedforward against bodies that are attached, and masses found again from torques."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from manipulation_robots import ROBOTS, block, planar_arm

import kido
from kido.control import GravityCompensation
from kido.manipulation import CollisionScene, Grasps, estimate_payload, feedforward, inertia_of, parameters_of

LOAD = kido.Inertia(
    2.5, (0.02, -0.03, 0.1), np.array([[0.02, 0.001, 0.002], [0.001, 0.03, 0.003], [0.002, 0.003, 0.025]])
)


@pytest.fixture(scope="module")
def panda(example_robots: Path) -> kido.Skeleton:
    robot = kido.load_skeleton(example_robots / ROBOTS["panda"])
    robot.gravity = (0, 0, -9.81)
    return robot


def motions(robot: kido.Skeleton, count: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return (robot.random_positions(seed, count), *rng.normal(size=(2, count, robot.num_dofs)))


def loaded(robot: kido.Skeleton, carrier: str) -> kido.Skeleton:
    """A copy with the load as a body of its own."""
    twin = robot.clone()
    twin.add_body("load", kido.WeldJoint("load_weld"), twin.body(carrier), LOAD)
    return twin


def test_parameters_are_those_of_an_inertia() -> None:
    again = inertia_of(parameters_of(LOAD))
    np.testing.assert_allclose(again.moment, LOAD.moment, atol=1e-16)
    assert again.mass == LOAD.mass
    with pytest.raises(kido.ModelError, match="positive mass"):
        inertia_of(np.zeros(10))


def test_feedforward_is_inverse_dynamics_with_the_body_attached(panda: kido.Skeleton) -> None:
    """To 1e-10 of torques up to 200 N m, for ours and for Pinocchio's RNEA where it is installed."""
    twin = loaded(panda, "panda_hand")
    for q, u, a in zip(*motions(panda, 20), strict=True):
        expected = twin.inverse_dynamics(q, u, a)
        assert np.abs(expected).max() > 1.0
        found = feedforward(panda, {panda.body("panda_hand"): LOAD}, q, u, a)
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_feedforward_agrees_with_pinocchio(example_robots: Path, panda: kido.Skeleton) -> None:
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromUrdf(str(example_robots / ROBOTS["panda"]))
    frame = model.frames[model.getFrameId("panda_hand")]
    body = pin.Inertia(LOAD.mass, np.array(LOAD.com), np.array(LOAD.moment))
    model.inertias[frame.parentJoint] += frame.placement.act(body)
    data = model.createData()
    names = [dof.joint.name for dof in panda.dofs]
    order = [model.joints[model.getJointId(name)].idx_v for name in names]
    for q, u, a in zip(*motions(panda, 20, 1), strict=True):
        theirs = np.zeros((3, model.nv))
        theirs[:, order] = q, u, a
        expected = pin.rnea(model, data, *theirs)[order]
        np.testing.assert_allclose(feedforward(panda, {panda.body("panda_hand"): LOAD}, q, u, a), expected, atol=1e-10)


def test_what_is_grasped_is_in_the_feedforward() -> None:
    """Held by a weld the robot's own model has it; in a loop `payload` says it; controllers take either."""
    worlds = []
    for as_loop in (False, True):
        world = kido.World(gravity=(0, -9.81, 0))
        arm = world.add_skeleton(planar_arm(0.5, 0.4))
        item = world.add_skeleton(block(mass=3.0))
        item.positions = [0, 0, 0, 1.0, 0.2, 0]
        grasps = Grasps(CollisionScene(world))
        grasps.attach(item.body("block"), arm.body("tip"), as_loop=as_loop)
        worlds.append((arm, GravityCompensation(arm, payload=grasps.payload(arm.body("tip"))).forces_at(0.0)))
    (_, by_model), (arm, by_payload) = worlds
    np.testing.assert_allclose(by_model, by_payload, atol=1e-10)
    gravity = np.array(feedforward(arm, {}, accelerations=np.zeros(2)))
    lever = np.array([1.0, 1.0 - 0.5])  # of the block about the joints
    np.testing.assert_allclose(by_model - gravity, 3.0 * 9.81 * lever, atol=1e-10)


def test_a_load_is_found_again(panda: kido.Skeleton) -> None:
    """All ten parameters from exact torques; the mass within three deviations from noisy ones."""
    twin, hand = loaded(panda, "panda_hand"), panda.body("panda_hand")
    q, u, a = motions(panda, 60)
    torques = np.array([twin.inverse_dynamics(*state) for state in zip(q, u, a, strict=True)])
    found = estimate_payload(hand, q, u, a, torques)
    assert found.identified.all()
    np.testing.assert_allclose(found.parameters, parameters_of(LOAD), atol=1e-9)
    assert found.inertia.mass == pytest.approx(LOAD.mass, abs=1e-9)
    rng = np.random.default_rng(5)
    errors = []
    for _ in range(20):
        noisy = estimate_payload(hand, q, u, a, torques + 0.5 * rng.normal(size=torques.shape))
        assert noisy.noise == pytest.approx(0.5, rel=0.2)
        errors.append((noisy.mass - LOAD.mass) / noisy.mass_deviation)
    assert np.abs(errors).max() < 3.5  # of 20 draws
    assert 0.5 < np.std(errors) < 1.7


def test_at_rest_only_mass_and_its_centre_are_found(panda: kido.Skeleton) -> None:
    twin, hand = loaded(panda, "panda_hand"), panda.body("panda_hand")
    q, zero = motions(panda, 20)[0], np.zeros((20, panda.num_dofs))
    torques = np.array([twin.inverse_dynamics(row, zero[0], zero[0]) for row in q])
    found = estimate_payload(hand, q, zero, zero, torques)
    np.testing.assert_array_equal(found.identified, [True] * 4 + [False] * 6)
    assert found.mass == pytest.approx(LOAD.mass, abs=1e-9)
    with pytest.raises(kido.StateError, match="do not determine Ixx, Ixy"):
        _ = found.inertia
    one = estimate_payload(hand, q[:1], zero[:1], zero[:1], torques[:1], dofs=[0])
    with pytest.raises(kido.StateError, match="do not determine the mass"):
        _ = one.mass


def test_what_is_not_determined_has_no_covariance(panda: kido.Skeleton) -> None:
    """At rest in one pose without gravity no torque depends on any of the ten parameters."""
    arm = panda.clone()
    arm.gravity = (0.0, 0.0, 0.0)
    zero = np.zeros((2, arm.num_dofs))
    found = estimate_payload(arm.body("panda_hand"), zero, zero, zero, zero, noise=0.1)
    assert not found.identified.any()
    np.testing.assert_array_equal(found.covariance, np.diag(np.full(10, np.inf)))


def test_mistakes_are_named(panda: kido.Skeleton) -> None:
    with pytest.raises(kido.ModelError, match="payload: expected"):
        feedforward(panda, {panda.clone().body("panda_hand"): LOAD})
    with pytest.raises(kido.ModelError, match="payload: expected"):
        feedforward(panda, {panda.body("panda_hand"): 2.0})
    rows = np.zeros((3, panda.num_dofs))
    with pytest.raises(kido.StateError, match="torques: expected finite"):
        estimate_payload(panda.body("panda_hand"), rows, rows, rows, rows[:2])
    hand = panda.body("panda_hand")
    for dofs in ([99], [-1], [], "a", [0.5], [[0]]):
        with pytest.raises(kido.ModelError, match=r"dofs: expected indices below \d+, at least one, got"):
            estimate_payload(hand, rows, rows, rows, rows, dofs=dofs)
    with pytest.raises(kido.ModelError, match="expected a body of a skeleton, got 'hand'"):
        estimate_payload("hand", rows, rows, rows, rows)  # type: ignore[arg-type]
    with pytest.raises(kido.StateError, match="positions: expected finite"):
        estimate_payload(hand, "q", rows, rows, rows)  # type: ignore[arg-type]
