"""Controllers of joints: against dense formulas in NumPy, and closed loops against their poles in closed form."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido.control import (
    PD,
    ComputedTorque,
    GravityCompensation,
    StablePD,
    computed_torque,
    gravity_compensation,
    pd,
    stable_pd,
)
from kido.integrators import MoreauMidpoint, SemiImplicitEuler
from scenes import world_of
from trees import random_skeleton

H, MASS = 0.01, 2.0


def slider() -> kido.Skeleton:
    skeleton = kido.Skeleton("slider")
    skeleton.add_body("mass", kido.PrismaticJoint("x", (1, 0, 0)), None, kido.Inertia(MASS))
    return skeleton


def transition(kind, kp: float, kd: float, integrator) -> np.ndarray:
    """(q, h u) after a step from each of the two unit states, as columns: the loop is linear."""
    skeleton = slider()
    world = world_of(skeleton, time_step=H)
    world.integrator = integrator
    world.add_controller(kind(skeleton, 0.0, kp, kd))
    columns = []
    for state in np.eye(2):
        skeleton.positions, skeleton.velocities = state[:1], state[1:] / H
        world.step()
        columns.append([skeleton.positions[0], H * skeleton.velocities[0]])
    return np.array(columns).T


def radius(*loop) -> float:
    return float(np.abs(np.linalg.eigvals(transition(*loop))).max())


# Law, rule, damping -> the largest gain of positions that is stable.
BOUNDS = {
    (StablePD, SemiImplicitEuler): lambda kd: (4 * MASS + 2 * H * kd) / (3 * H**2),
    (PD, SemiImplicitEuler): lambda kd: (4 * MASS - 2 * H * kd) / H**2,
    (StablePD, MoreauMidpoint): lambda kd: (2 * MASS + H * kd) / H**2,
    (PD, MoreauMidpoint): lambda kd: 2 * kd / H,
}


@pytest.mark.parametrize("kd", [20.0, 150.0])
@pytest.mark.parametrize("law, rule", list(BOUNDS))
def test_stability_bounds_of_one_coordinate(law, rule, kd: float) -> None:
    """Stable a millionth below the bound of Kp, unstable a millionth above."""
    bound = BOUNDS[law, rule](kd)
    assert radius(law, (1 - 1e-6) * bound, kd, rule()) < 1.0 < radius(law, (1 + 1e-6) * bound, kd, rule())


def test_damping_bounds_of_one_coordinate() -> None:
    """PD is bounded in Kd besides; stable PD is not."""
    bound = 2 * MASS / H
    assert radius(PD, 10.0, (1 - 1e-6) * bound, MoreauMidpoint()) < 1.0
    assert radius(PD, 10.0, (1 + 1e-6) * bound, MoreauMidpoint()) > 1.0
    for rule in (MoreauMidpoint(), SemiImplicitEuler()):
        assert radius(StablePD, 10.0, 1e9, rule) < 1.0


@pytest.mark.parametrize("rule", [MoreauMidpoint(), SemiImplicitEuler()])
@pytest.mark.parametrize("law", [PD, StablePD])
def test_the_loop_of_one_coordinate_is_the_one_of_its_formula(law, rule) -> None:
    """a = -(Kp (q + s u) + Kd u) / (m + s Kd), s = h for stable PD and 0 for PD; then the rule of the world."""
    kp, kd = 3000.0, 60.0
    s = H if law is StablePD else 0.0
    a = -np.array([kp, (kp * s + kd) / H]) / (MASS + s * kd)  # of (q, h u)
    u = np.array([0.0, 1.0]) + H**2 * a
    before = np.array([0.0, 1.0])
    q = np.array([1.0, 0.0]) + (u if isinstance(rule, SemiImplicitEuler) else 0.5 * (before + u))
    assert transition(law, kp, kd, rule) == pytest.approx(np.array([q, u]), rel=1e-12, abs=1e-12)


def moving_tree(seed: int) -> kido.Skeleton:
    """A random tree with all kinds of joints and dampers, moving."""
    rng = np.random.default_rng(seed)
    skeleton = random_skeleton(seed, 7)
    for joint in skeleton.joints:
        n = joint.num_dofs
        joint.damping, joint.spring_stiffness = rng.uniform(0, 2, n), rng.uniform(0, 5, n)
    skeleton.positions = 0.4 * rng.normal(size=skeleton.num_dofs)
    skeleton.velocities = rng.normal(size=skeleton.num_dofs)
    return skeleton


@pytest.mark.parametrize("seed", range(6))
def test_laws_are_those_of_dense_algebra(seed: int) -> None:
    s = moving_tree(seed)
    rng = np.random.default_rng(seed + 100)
    n, T = s.num_dofs, 2e-3
    target, loads = 0.3 * rng.normal(size=n), rng.normal(size=n)
    kp, kd = rng.uniform(10, 300, n), rng.uniform(1, 30, n)
    driven = np.array([d.joint.kind != kido.FreeJoint.kind for d in s.dofs])
    dofs = np.flatnonzero(driven)
    kp[~driven] = kd[~driven] = 0.0
    own, stiffness = (np.array([getattr(d, name) for d in s.dofs]) for name in ("damping", "spring_stiffness"))
    u, C, M = s.velocities, s.coriolis_and_gravity_forces, s.mass_matrix
    # Rotation vectors from the target in body axes; their other end differs in sign alone.
    error = np.array(s.position_differences(s.positions, target))
    assert pd(s, target, kp, kd) == pytest.approx(-kp * error - kd * u, rel=1e-10, abs=1e-9)

    first = -kp * (error + T * u) - kd * u
    a = np.linalg.solve(
        M + np.diag(T * (kd + own) + T**2 / 4 * stiffness), first - C + loads - own * u + s.spring_forces
    )
    found = stable_pd(s, target, kp, kd, T, loads=loads)
    assert found == pytest.approx(first - T * kd * a, rel=1e-9, abs=1e-8)

    wanted = -kp * error - kd * u
    tau = computed_torque(s, target, kp, kd, loads=loads)
    a = np.linalg.solve(M, tau + loads - own * u + s.spring_forces - C)
    assert a[dofs] == pytest.approx(wanted[dofs], rel=1e-8, abs=1e-7)
    assert not tau[~driven].any()
    assert gravity_compensation(s)[dofs] == pytest.approx(np.array(s.gravity_forces)[dofs], rel=1e-10, abs=1e-10)


def free_arm() -> kido.Skeleton:
    """An arm of seven joints without limits of force and dry friction."""
    arm = kido.load("arm7")
    for joint in arm.joints:
        joint.enforce_command_limits, joint.coulomb_friction = False, 0.0
    return arm


def test_computed_torque_has_the_poles_asked_for() -> None:
    """Errors of an arm are e0 (1 + 10 t) exp(-10 t) with kp = 100, kd = 20, but for the time step's first order."""
    arm = free_arm()
    errors = {}
    for h in (1e-3, 5e-4):
        target = np.full(7, 0.4)
        arm.positions, arm.velocities = target + np.linspace(-0.3, 0.3, 7), np.zeros(7)
        world = world_of(arm.clone(), gravity=(0, 0, -9.81), time_step=h)
        robot = world.skeletons[0]
        world.add_controller(ComputedTorque(robot, target, 100.0, 20.0))
        world.step(round(0.2 / h))
        exact = np.linspace(-0.3, 0.3, 7) * (1 + 2.0) * np.exp(-2.0)
        errors[h] = np.abs(robot.positions - target - exact).max()
    assert errors[1e-3] < 3e-3
    assert errors[5e-4] == pytest.approx(0.5 * errors[1e-3], rel=0.1)


def test_a_computed_torque_follows_a_trajectory() -> None:
    """With velocities and accelerations of the reference, errors stay of the order of the time step."""
    arm = free_arm()
    wave = np.linspace(0.5, 1.0, 7)

    def reference(t: float) -> np.ndarray:
        return 0.4 + 0.2 * np.sin(3.0 * wave * t)

    arm.positions, arm.velocities = reference(0.0), 0.6 * wave
    world = world_of(arm, gravity=(0, 0, -9.81))
    world.add_controller(ComputedTorque(arm, reference, 100.0, 20.0))
    world.step(1000)
    assert arm.positions == pytest.approx(reference(1.0), abs=5e-4)


def test_a_payload_is_carried() -> None:
    """An arm with 2 kg in its hand stays where it is, to rounding over a second; without knowing of them it falls."""
    for known in (True, False):
        arm = free_arm()
        hand = arm.bodies[-1]
        load = kido.Inertia(2.0, (0.02, 0.01, 0.05), np.diag([0.01, 0.02, 0.015]))
        arm.positions = np.full(7, 0.3)
        tau = gravity_compensation(arm, {hand: load})
        weight = np.array([0, 0, 2.0 * 9.81])
        J = arm.jacobian(hand, load.com)[3:]
        assert tau == pytest.approx(np.array(arm.gravity_forces) + J.T @ weight, rel=1e-10, abs=1e-10)
        carried = GravityCompensation(arm, payload={hand: load} if known else None)
        hand.inertia = hand.inertia + load
        if known:  # the model's own has it now: the law must not count it twice
            carried = GravityCompensation(arm)
            assert carried.compute() == pytest.approx(tau, rel=1e-10, abs=1e-10)
        world = world_of(arm, gravity=(0, 0, -9.81))
        if known:
            world.add_controller(carried)
        world.step(1000)
        assert (np.abs(arm.positions - 0.3).max() < 1e-9) == known


def test_contact_forces_of_the_step_before_are_inside() -> None:
    """Feet on the ground: forces are those of the formula with contact forces of the step before."""
    robot = kido.load("humanoid")
    world = world_of(robot, gravity=(0, 0, -9.81))
    world.add_ground()
    c = world.add_controller(StablePD(robot, np.zeros(robot.num_dofs), 300.0, 30.0))
    world.step(600)
    loads = np.array(robot.constraint_forces)
    assert np.abs(loads).max() > 50.0
    expected = stable_pd(robot, np.zeros(robot.num_dofs), 300.0, 30.0, 1e-3, loads=loads)
    world.step()
    assert c.forces.tolist() == expected.tolist()
