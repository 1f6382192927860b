"""Control of a point of a body: against forward dynamics, closed-loop poles and what springs do."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido.control import Impedance, OperationalSpace, operational_space
from scenes import world_of


def free_arm() -> kido.Skeleton:
    """An arm of seven joints, bent, without limits of force and dry friction."""
    arm = kido.load("arm7")
    for joint in arm.joints:
        joint.enforce_command_limits, joint.coulomb_friction = False, 0.0
    arm.positions = [0.2, 0.5, -0.3, 1.2, 0.4, 0.6, 0.1]
    return arm


def accelerations(skeleton: kido.Skeleton, tau: np.ndarray) -> np.ndarray:
    """Of the coordinates, under forces and all that springs, dampers and loads do."""
    passive = np.array(skeleton.spring_forces) + skeleton.damping_forces + skeleton.external_forces
    return np.linalg.solve(skeleton.mass_matrix, tau + passive - skeleton.coriolis_and_gravity_forces)


def of_point(skeleton: kido.Skeleton, body, offset, a: np.ndarray) -> np.ndarray:
    rate = np.array(skeleton.jacobian_classic_derivative(body, offset)) @ skeleton.velocities
    return np.array(skeleton.jacobian(body, offset)) @ a + rate


@pytest.mark.parametrize("rows, chosen", [("pose", slice(0, 6)), ("linear", slice(3, 6)), ("angular", slice(0, 3))])
@pytest.mark.parametrize("name", ["arm7", "humanoid"])
def test_forces_give_the_acceleration(name: str, rows: str, chosen: slice) -> None:
    """To rounding, also of a floating base that has no forces of its own, whatever acts in the null space."""
    s = free_arm() if name == "arm7" else kido.load(name)
    body = s.bodies[-1] if name == "arm7" else s.body("right_hand")
    rng = np.random.default_rng(1)
    if name == "humanoid":
        s.positions = 0.1 * rng.uniform(0, 1, s.num_dofs)
    s.velocities = rng.normal(size=s.num_dofs)
    s.bodies[3].add_external_force([3.0, -2.0, 5.0])
    offset, wanted = [0.05, 0.02, -0.03], rng.normal(size=chosen.stop - chosen.start)
    null = 5.0 * rng.normal(size=s.num_dofs)
    found = []
    for own in (None, null):
        tau = operational_space(body, wanted, offset=offset, rows=rows, null_forces=own)
        found.append(tau)
        assert of_point(s, body, offset, accelerations(s, tau))[chosen] == pytest.approx(wanted, rel=1e-7, abs=1e-7)
        assert name == "arm7" or not tau[:6].any()
    assert np.abs(found[1] - found[0]).max() > 0.1


def test_forces_are_khatibs() -> None:
    """J^T (Lambda (x'' - J'u) + mu), with quantities of the skeleton's own."""
    s = free_arm()
    s.velocities = np.linspace(-1, 1, 7)
    hand, wanted = s.bodies[-1], np.array([0.1, -0.2, 0.3, 1.0, 2.0, -1.0])
    for joint in s.joints:
        joint.damping = 0.0
    F = s.operational_space_inertia(hand) @ wanted + s.operational_space_bias(hand)
    expected = s.joint_forces_of_wrenches([hand], F.reshape(1, 6))
    assert operational_space(hand, wanted) == pytest.approx(np.array(expected), rel=1e-9, abs=1e-9)


def test_the_error_of_a_point_has_the_poles_asked_for() -> None:
    """e0 (1 + 10 t) exp(-10 t) in each row, along a straight line, but for the first order of the time step."""
    errors = {}
    for h in (1e-3, 5e-4):
        s = free_arm()
        hand = s.bodies[-1]
        start = np.array(hand.world_transform)
        target = start.copy()
        target[:3, 3] += [0.05, -0.08, 0.06]
        target[:3, :3] = kido.math.exp_rotation([0.0, 0.0, 0.4]) @ start[:3, :3]
        world = world_of(s, gravity=(0, 0, -9.81), time_step=h)
        world.add_controller(
            OperationalSpace(s, hand, target, 100.0, 20.0, posture=s.positions, posture_kp=25.0, posture_kd=10.0)
        )
        world.step(round(0.2 / h))
        decay = 3.0 * np.exp(-2.0)
        left = np.concatenate(
            [
                kido.math.log_rotation(target[:3, :3] @ hand.world_transform[:3, :3].T),
                target[:3, 3] - hand.world_transform[:3, 3],
            ]
        )
        errors[h] = np.abs(left - decay * np.array([0, 0, 0.4, 0.05, -0.08, 0.06])).max()
    assert errors[1e-3] < 2e-3
    assert errors[5e-4] == pytest.approx(0.5 * errors[1e-3], rel=0.2)


@pytest.mark.parametrize("kind", ["function", "frame"])
def test_a_moving_target_is_followed(kind: str) -> None:
    """Once the start has decayed, the error is of the order of the time step."""
    s = free_arm()
    hand = s.bodies[-1]
    start = np.array(hand.world_transform)

    def point(t: float) -> np.ndarray:
        return start[:3, 3] + [0.06 * np.sin(3 * t), 0.0, 0.06 * (1 - np.cos(3 * t))]

    frame = kido.SimpleFrame(transform=start)
    world = world_of(s, gravity=(0, 0, -9.81))
    target = frame if kind == "frame" else point
    c = world.add_controller(OperationalSpace(s, hand, target, 400.0, 40.0, rows="linear"))

    def move(world: kido.World) -> None:
        t = world.time
        X = start.copy()
        X[:3, 3] = point(t)
        frame.relative_transform = X
        velocity = np.array([0.18 * np.cos(3 * t), 0.0, 0.18 * np.sin(3 * t)])
        frame.set_relative_spatial_velocity(np.concatenate([np.zeros(3), start[:3, :3].T @ velocity]))

    if kind == "frame":
        world.add_step_callback(move, before=True)
    world.step(1000)
    assert np.abs(c.error).max() < (2e-3 if kind == "frame" else 5e-4)
    assert np.linalg.norm(c.target(1.0) - start[:3, 3] if kind == "function" else [1.0]) > 0.05


@pytest.mark.parametrize("inertia", [None, 3.0])
def test_an_impedance_yields_as_its_spring(inertia) -> None:
    """Under a steady force F the point rests at K^-1 F from its target, to 1e-6 after five seconds."""
    s = free_arm()
    hand = s.bodies[-1]
    start = np.array(hand.world_transform[:3, 3])
    world = world_of(s, gravity=(0, 0, -9.81))
    stiffness, force = np.array([200.0, 300.0, 400.0]), np.array([1.5, -1.0, 2.0])
    world.add_controller(
        Impedance(
            s, hand, start, stiffness, 80.0, inertia=inertia, posture=s.positions, posture_kp=100.0, posture_kd=20.0
        )
    )
    hand.add_external_force(force)
    world.step(5000)
    assert hand.world_transform[:3, 3] - start == pytest.approx(force / stiffness, abs=1e-6)


def test_an_impedance_shapes_the_inertia() -> None:
    """From rest, a force F makes the point accelerate by F over the inertia asked for: bit for bit not its own."""
    for felt in (2.0, 10.0):
        s = free_arm()
        hand = s.bodies[-1]
        world = world_of(s, gravity=(0, 0, -9.81), time_step=1e-4)
        world.add_controller(Impedance(s, hand, hand.world_transform[:3, 3], 0.0, 0.0, inertia=felt))
        hand.add_external_force([4.0, -2.0, 6.0])
        world.step()
        assert hand.linear_velocity() / 1e-4 == pytest.approx(np.array([4.0, -2.0, 6.0]) / felt, rel=1e-2)


def test_mistakes() -> None:
    s, other = free_arm(), free_arm()
    hand, X = s.bodies[-1], np.eye(4)
    for target in (np.eye(3), [1.0, 2.0], np.full((4, 4), np.nan), 2 * np.eye(4), None):
        with pytest.raises(kido.ModelError, match="target"):
            OperationalSpace(s, hand, target, 1.0, 1.0)
    with pytest.raises(kido.ModelError, match="rows"):
        OperationalSpace(s, hand, X, 1.0, 1.0, rows="both")
    with pytest.raises(kido.ModelError, match="kp"):
        OperationalSpace(s, hand, X, [1.0, 2.0], 1.0)
    with pytest.raises(kido.ModelError, match="kd"):
        OperationalSpace(s, hand, X, 1.0, -1.0)
    with pytest.raises(kido.ModelError, match="body of skeleton"):
        OperationalSpace(s, other.bodies[-1], X, 1.0, 1.0)
    with pytest.raises(kido.ModelError, match="offset"):
        OperationalSpace(s, hand, X, 1.0, 1.0, offset=[1.0])
    for inertia in (-1.0, [1.0, 2.0], np.zeros((6, 6))):
        with pytest.raises(kido.ModelError, match="inertia"):
            Impedance(s, hand, X, 1.0, 1.0, inertia=inertia)
    with pytest.raises(kido.ModelError, match="acceleration"):
        operational_space(hand, [1.0, 2.0])
    with pytest.raises(kido.ModelError, match="body"):
        operational_space("hand", np.zeros(6))
