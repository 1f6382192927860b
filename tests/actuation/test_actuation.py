"""Actuators in worlds: forces by hand, activations by their solutions, state in snapshots, clones and batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kido
from kido.actuation import (
    Actuator,
    Actuators,
    Ball,
    Linear,
    Path,
    Place,
    Tendon,
    Wrench,
    motor,
    position_servo,
    velocity_servo,
)

ROUNDING = 1e-14
STEP = 0.002


def double_pendulum() -> kido.World:
    world = kido.World(time_step=STEP, gravity=(0, 0, 0))
    s = kido.Skeleton("arm")
    inertia = kido.Inertia(1.0, (0, 0, -0.3), np.diag([0.1, 0.2, 0.3]))
    upper = s.add_body("upper", kido.RevoluteJoint("shoulder", (0, 1, 0)), inertia=inertia)
    s.add_body("lower", kido.RevoluteJoint("elbow", (0, 1, 0)), upper, inertia)
    s.positions, s.velocities = (0.3, -0.5), (0.2, 0.7)
    world.add_skeleton(s)
    return world


def driven() -> tuple[kido.World, Actuators]:
    """One actuator of each kind with a state, a servo, and a tendon with spring and damper."""
    world = double_pendulum()
    shoulder, elbow = world.skeletons[0].dofs
    tendon = Tendon("t", Linear([(shoulder, 0.5), (elbow, 1.5)]), stiffness=2.0, damping=0.3, rest=(-0.1, 0.1))
    made = Actuators(
        world,
        [
            motor("m", shoulder, 20.0, control_range=(-1.0, 1.0)),
            position_servo("p", elbow, 30.0, 2.0, force_range=(-5.0, 5.0)),
            velocity_servo("v", elbow, 3.0),
            Actuator("lag", tendon, gear=2.0, dynamics="filter", dynamics_parameters=(0.1,)),
            Actuator("exact", Linear([(elbow, 1.0)]), dynamics="filterexact", dynamics_parameters=(0.1,)),
            Actuator("sum", Linear([(elbow, 1.0)]), dynamics="integrator", activation_range=(-0.5, 0.5)),
        ],
        [tendon],
    )
    return world, made


def test_forces_are_gain_times_input_and_bias() -> None:
    world, actuators = driven()
    s = world.skeletons[0]
    actuators.controls = (1.5, 0.1, 0.2, 0.4, 0.5, 0.6)
    actuators.activations = (0, 0, 0, 0.7, 0.8, 0.3)
    q, u = s.positions, s.velocities
    expected = [1.0, np.clip(30 * (0.1 - q[1]) - 2 * u[1], -5, 5), 3 * (0.2 - u[1]), 0.7, 0.8, 0.3]
    np.testing.assert_allclose(actuators.forces, expected, rtol=ROUNDING)
    length, rate = 0.5 * q[0] + 1.5 * q[1], 0.5 * u[0] + 1.5 * u[1]
    assert actuators.tendon_lengths[0] == pytest.approx(length, rel=ROUNDING)
    pull = -2.0 * (length + 0.1) - 0.3 * rate  # shorter than at rest
    np.testing.assert_allclose(actuators.passive_forces(s), pull * np.array([0.5, 1.5]), rtol=ROUNDING)
    joint = [20.0 + 2 * 0.5 * 0.7, expected[1] + expected[2] + 2 * 1.5 * 0.7 + 0.8 + 0.3]
    np.testing.assert_allclose(actuators.joint_forces(s), joint, rtol=ROUNDING)
    moments = [[20, 0], [0, 1], [0, 1], [1, 3], [0, 1], [0, 1]]
    np.testing.assert_allclose(actuators.moments(s), moments, rtol=ROUNDING)


def test_a_world_acts_by_them() -> None:
    """One step is that of the same forces as commands."""
    world, actuators = driven()
    actuators.controls = (0.5, 0.1, 0.2, 0.4, 0.5, 0.6)
    other = double_pendulum()
    s = world.skeletons[0]
    for _ in range(20):
        other.skeletons[0].forces = actuators.joint_forces(s) + actuators.passive_forces(s)
        world.step()
        other.step()
        np.testing.assert_allclose(s.positions, other.skeletons[0].positions, rtol=0, atol=1e-15)


def test_activations_follow_their_equations() -> None:
    world, actuators = driven()
    actuators.set_controls(lag=1.0, exact=1.0, sum=2.0)
    steps = 100
    world.step(steps)
    a = actuators.activations
    assert a[3] == pytest.approx(1.0 - (1.0 - STEP / 0.1) ** steps, rel=1e-12)  # Euler's method of a lag
    assert a[4] == pytest.approx(1.0 - np.exp(-steps * STEP / 0.1), rel=1e-12)
    assert a[5] == pytest.approx(0.4, rel=1e-12)
    world.step(steps)
    assert actuators.activations[5] == 0.5


def test_an_early_activation_acts_at_once() -> None:
    world = double_pendulum()
    dof = world.skeletons[0].dofs[1]
    options: Any = {"dynamics": "integrator"}
    a = Actuators(world, [Actuator(n, Linear([(dof, 1.0)]), early=n == "early", **options) for n in ("late", "early")])
    a.controls = (1.0, 1.0)
    np.testing.assert_allclose(a.forces, (0.0, STEP))
    np.testing.assert_allclose(a.activations, 0.0)  # to ask does not move it


def test_snapshots_clones_and_reset_have_controls_and_activations() -> None:
    world, actuators = driven()
    actuators.controls = (0.5, 0.1, 0.2, 0.4, 0.5, 0.6)
    world.step(10)
    before, twin = world.snapshot(), world.clone()
    world.step(30)
    end, activations = world.skeletons[0].positions.copy(), actuators.activations
    actuators.controls = np.zeros(6)
    world.step(5)
    world.restore(before)
    assert actuators.control("m") == 0.5
    world.step(30)
    assert np.array_equal(world.skeletons[0].positions, end) and np.array_equal(actuators.activations, activations)
    own = Actuators.of(twin)
    assert own is not actuators
    twin.step(30)
    assert np.array_equal(twin.skeletons[0].positions, end) and np.array_equal(own.activations, activations)
    own.controls = np.zeros(6)
    assert actuators.control("m") == 0.5
    world.reset()
    assert not actuators.activations.any() and actuators.control("m") == 0.5


def test_edits_of_the_world_keep_them() -> None:
    world, actuators = driven()
    actuators.controls = (0.5, 0.1, 0.2, 0.4, 0.5, 0.6)
    world.step(10)
    activations = actuators.activations
    world.add_skeleton(kido.Skeleton("other"))
    world.step(0)
    assert np.array_equal(actuators.activations, activations) and actuators.control("sum") == 0.6
    lower = world.skeletons[0].bodies[1]
    world.skeletons[0].add_body("tip", kido.RevoluteJoint("third"), lower, kido.Inertia.from_diagonal(0.1, (1, 1, 1)))
    np.testing.assert_allclose(actuators.moments(world.skeletons[0])[3], [1, 3, 0], rtol=ROUNDING)
    world.step(5)


def test_batches_of_worlds_have_them() -> None:
    """Each world of a batch goes as one by itself."""
    world, actuators = driven()
    actuators.controls = (0.5, 0.1, 0.2, 0.4, 0.5, 0.6)
    worlds = kido.batch.Worlds(world, 3)
    positions, _ = worlds.step(np.zeros((3, 2)), 25)
    world.step(25)
    for row in np.asarray(positions).reshape(3, -1, 2)[:, -1]:
        np.testing.assert_allclose(row, world.skeletons[0].positions, rtol=0, atol=1e-13)


def test_wrenches_and_balls_act_as_their_jacobians_say() -> None:
    world = kido.World(gravity=(0, 0, 0))
    s = kido.Skeleton("s")
    base = s.add_body("base", kido.FreeJoint("free"), inertia=kido.Inertia.from_diagonal(1, (0.1, 0.2, 0.3)))
    hand = s.add_body("hand", kido.BallJoint("ball"), base, kido.Inertia.from_diagonal(1, (0.1, 0.2, 0.3)))
    world.add_skeleton(s)
    rng = np.random.default_rng(2)
    s.positions = rng.normal(size=9)
    X = np.eye(4)
    X[:3, 3] = (0.1, 0.2, 0.3)
    gear = rng.normal(size=6)
    tip, root = Place(hand, X), Place(base, np.eye(4))
    a = Actuators(
        world,
        [
            Actuator("thruster", Wrench(tip, gear)),
            Actuator("between", Wrench(tip, gear, root, "reference", "reference")),
            Actuator("ball", Ball(s.joint("ball"), gear[:3])),
            Actuator("parent", Ball(s.joint("ball"), gear[:3], in_parent=True)),
        ],
    )
    J = np.array(s.jacobian(hand, X[:3, 3]))
    R = hand.world_transform[:3, :3]
    wrench = np.concatenate([R @ gear[3:], R @ gear[:3]])
    np.testing.assert_allclose(a.moments(s)[0], J.T @ wrench, rtol=1e-12)
    B = base.world_transform[:3, :3]
    wrench = np.concatenate([B @ gear[3:], B @ gear[:3]])
    relative = J.T @ wrench
    relative[:6] = 0.0  # what moves both takes no part
    np.testing.assert_allclose(a.moments(s)[1], relative, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(a.moments(s)[2, 6:], gear[:3], rtol=ROUNDING)
    np.testing.assert_allclose(a.moments(s)[3, 6:], (B.T @ R).T @ gear[:3], rtol=1e-12)
    place = np.linalg.inv(base.world_transform) @ hand.world_transform @ X
    turn = np.array(s.positions[6:])
    assert a.lengths[1] == pytest.approx(gear[:3] @ place[:3, 3] + gear[3:] @ turn, rel=1e-12)
    assert a.lengths[0] == 0.0


# -- bad input ---------------------------------------------------------------------------------------------


def test_mistakes_are_named() -> None:
    world, actuators = driven()
    with pytest.raises(kido.NameLookupError, match="no actuator 'elbow'; expected one of: m, p, v, lag"):
        actuators.set_controls(elbow=1.0)
    with pytest.raises(kido.StateError, match="controls: expected 6 finite numbers"):
        actuators.controls = np.zeros(5)
    with pytest.raises(kido.StateError, match="controls: expected 6 finite numbers"):
        actuators.set_controls(m=0.3, p=np.nan)
    assert not actuators.controls.any()
    with pytest.raises(kido.ModelError, match="has actuators already"):
        Actuators(world)
    with pytest.raises(kido.ModelError, match="has no actuators"):
        Actuators.of(double_pendulum())
    dof = world.skeletons[0].dofs[0]
    with pytest.raises(kido.ModelError, match="dynamics: expected one of none, integrator"):
        motor("a", dof, dynamics="lag")
    with pytest.raises(kido.ModelError, match="gain_parameters: expected up to 9 finite numbers"):
        Actuator("a", Linear([(dof, 1.0)]), gain_parameters=(np.nan,))
    fresh = double_pendulum()
    dof = fresh.skeletons[0].dofs[0]
    with pytest.raises(kido.ModelError, match="one of each name, got several of a"):
        Actuators(fresh, [motor("a", dof), motor("a", dof)])
    with pytest.raises(kido.ModelError, match="tendon 't' is none of those given"):
        Actuators(fresh, [Actuator("a", Tendon("t", Linear([(dof, 1.0)])))])
    with pytest.raises(kido.ModelError, match="path: expected places, pulleys"):
        Actuators(fresh, tendons=[Tendon("t", Path([dof]))])  # type: ignore[list-item]
    with pytest.raises(kido.ModelError, match="skeleton 'arm7' is not in world"):
        Actuators(fresh, [motor("a", kido.load("arm7").dofs[0])])
    assert fresh.controllers == ()
