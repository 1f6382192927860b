"""Integrators of smooth motion: orders of convergence, truth values, invariants, bad input.

Orders are slopes of errors against step size in logarithms, over step sizes where the leading term rules; 0.15
allows for the next one. References come from Dormand-Prince at 1e-12, which itself is held against closed forms.
"""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import kido
from kido import integrators
from kido.errors import ModelError, StateError
from kido.integrators import (
    RK4,
    DormandPrince,
    ExplicitEuler,
    Integrator,
    MoreauMidpoint,
    SemiImplicitEuler,
    Variational,
    simulate,
)
from programs import in_a_process
from trees import build, chain_parents, random_skeleton, random_state, twist_matrix
from user_classes import Heun

TIGHT = DormandPrince(rtol=1e-12, atol=1e-13)
FIXED = {ExplicitEuler(): 1, SemiImplicitEuler(): 1, MoreauMidpoint(): 2, Variational(): 2, RK4(): 4}
by_order = pytest.mark.parametrize(("integrator", "order"), FIXED.items(), ids=lambda x: getattr(x, "name", str(x)))
each = pytest.mark.parametrize("integrator", [*FIXED, DormandPrince()], ids=lambda x: x.name)


def pendulum(**options) -> kido.Skeleton:
    skeleton = kido.Skeleton("pendulum")
    joint = kido.RevoluteJoint(axis=(0, -1, 0), **options)
    skeleton.add_body("bob", joint, inertia=kido.Inertia(1.0, (-1, 0, 0)))
    return skeleton


def single(joint: kido.Joint, inertia: kido.Inertia | None = None) -> kido.Skeleton:
    skeleton = kido.Skeleton("one")
    skeleton.add_body("body", joint, inertia=inertia or kido.Inertia.from_diagonal(1.0, [1.0, 2.0, 3.0]))
    return skeleton


def tree(seed: int, bodies: int = 13) -> kido.Skeleton:
    """Every kind of joint, moving, with constant joint forces, springs and dampers."""
    skeleton = random_skeleton(seed, bodies, masses=(1.0, 10.0))
    q, u, _, tau = random_state(skeleton, seed, speed=0.5)
    for joint in skeleton.joints:
        joint.spring_stiffness = 3.0
    skeleton.positions, skeleton.velocities, skeleton.forces = 0.5 * q, u, tau
    return skeleton


def floating(seed: int) -> kido.Skeleton:
    """A free body with others on it, without gravity."""
    inner = ("ball", "revolute", "universal", "euler", "screw", "prismatic", "planar", "translational", "weld")
    kinds = ["free", *(str(k) for k in np.random.default_rng(seed).choice(inner, 5))]
    skeleton = build(kinds, [-1, 0, 1, 1, 2, 4], seed)
    q, u, _, _ = random_state(skeleton, seed, speed=0.5)
    skeleton.gravity = (0, 0, 0)
    skeleton.positions, skeleton.velocities = 0.5 * q, u
    return skeleton


def slope(sizes, errors) -> float:
    """Fitted order of convergence."""
    return float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])


def end_state(skeleton: kido.Skeleton) -> np.ndarray:
    """Poses and velocities of all bodies: no chart in it."""
    return np.concatenate([skeleton.world_transforms.ravel(), skeleton.velocities])


def errors_at_end(make, integrator, duration: float, sizes, forces=None) -> list[float]:
    reference = make()
    simulate(reference, TIGHT, times=[0.0, duration], forces=forces)
    expected = end_state(reference)
    errors = []
    for h in sizes:
        skeleton = make()
        simulate(skeleton, integrator, times=[0.0, duration], time_step=h, forces=forces)
        errors.append(np.linalg.norm(end_state(skeleton) - expected))
    return errors


# Orders of convergence -------------------------------------------------------------------------------------


@by_order
@pytest.mark.parametrize("seed", range(3))
def test_order_on_random_trees(integrator, order, seed) -> None:
    sizes = (0.004, 0.002, 0.001)
    errors = errors_at_end(lambda: tree(seed), integrator, 0.1, sizes)
    print(integrator.name, seed, errors)
    assert slope(sizes, errors) == pytest.approx(order, abs=0.15)


@pytest.mark.parametrize(("integrator", "order"), [(RK4(), 4), (Variational(), 2), (Heun(), 2)])
def test_order_with_damping(integrator, order) -> None:
    def make() -> kido.Skeleton:
        skeleton = tree(5)
        for joint in skeleton.joints:
            joint.damping = 0.1
        return skeleton

    sizes = (0.004, 0.002, 0.001)
    errors = errors_at_end(make, integrator, 0.1, sizes)
    print(integrator.name, errors)
    assert slope(sizes, errors) == pytest.approx(order, abs=0.15)


@pytest.mark.parametrize(
    ("integrator", "order"), [(RK4(), 4), (Variational(), 2), (MoreauMidpoint(), 2), (SemiImplicitEuler(), 1)]
)
def test_order_with_forces_of_time_position_and_velocity(integrator, order) -> None:
    """Forces are asked for at the stages of a method, not once a step."""

    def forces(time: float, skeleton: kido.Skeleton) -> np.ndarray:
        return 5.0 * np.sin(7.0 * time) - 0.2 * skeleton.velocities - 3.0 * np.sin(skeleton.positions)

    def make() -> kido.Skeleton:
        skeleton = build(["revolute", "universal", "prismatic"], chain_parents(3), 3, masses=(3.0, 6.0))
        skeleton.velocities = [1.0, -1.0, 0.5, 0.3]
        return skeleton

    sizes = (0.02, 0.01, 0.005)
    errors = errors_at_end(make, integrator, 0.4, sizes, forces)
    print(integrator.name, errors)
    assert slope(sizes, errors) == pytest.approx(order, abs=0.2)


@pytest.mark.parametrize(("integrator", "order"), [(RK4(), 4), (Variational(), 2)])
def test_order_of_a_tumbling_free_body(integrator, order) -> None:
    """Several turns, so that the rotation vector passes pi more than once."""

    def make() -> kido.Skeleton:
        skeleton = single(kido.FreeJoint())
        skeleton.positions = [3.0, 0.5, 0.0, 1.0, 2.0, 3.0]
        skeleton.velocities = [0.1, 6.0, 0.1, 1.0, 0.0, -1.0]
        return skeleton

    sizes = (0.02, 0.01, 0.005)
    errors = errors_at_end(make, integrator, 3.0, sizes)
    assert slope(sizes, errors) == pytest.approx(order, abs=0.15)


# Truth values ----------------------------------------------------------------------------------------------

PENDULUM = {  # L = m = 1, g = 9.81, at rest from (-1, 0): independent integrators agree to these digits
    1.0: (0.98629175113188, -0.16501085312554),
    5.0: (-0.94230543504376, -0.334754338414),
    10.0: (-0.27508746257612, -0.96141920509913),
}
PERIOD = 2.367841947576237


@pytest.mark.parametrize(
    ("integrator", "error"),
    [(DormandPrince(1e-11, 1e-12), 1e-8), (RK4(), 1e-10), (MoreauMidpoint(), 1e-9), (Variational(), 1e-4)],
    ids=lambda x: getattr(x, "name", None),
)
def test_pendulum(integrator, error) -> None:
    skeleton = pendulum()
    motion = simulate(skeleton, integrator, times=[0.0, *PENDULUM])
    for q, (x, z) in zip(motion.positions[1:], PENDULUM.values(), strict=True):
        skeleton.positions = q
        np.testing.assert_allclose(skeleton.com, [x, 0, z], atol=error)


def test_pendulum_is_back_after_a_period() -> None:
    skeleton = pendulum()
    simulate(skeleton, TIGHT, PERIOD)
    np.testing.assert_allclose([skeleton.positions[0], skeleton.velocities[0]], 0.0, atol=1e-9)


@each
def test_free_flight_is_a_parabola(integrator) -> None:
    """Exact to rounding, but for the methods of first order, whose height is off by g h t / 2."""
    skeleton = single(kido.FreeJoint(), kido.Inertia.from_diagonal(2.0, [0.1, 0.2, 0.3]))
    skeleton.positions = [0.3, -0.2, 0.9, 1.0, 2.0, 3.0]
    R = skeleton.body(0).world_transform[:3, :3]
    velocity = np.array([1.0, -2.0, 5.0])
    skeleton.velocities = np.concatenate([[3.0, -1.0, 2.0], R.T @ velocity])
    simulate(skeleton, integrator, 1.0, time_step=0.01)
    fall = 0.5 * np.array([0.0, 0.0, -9.81])
    share = {"ExplicitEuler": 0.99, "SemiImplicitEuler": 1.01}.get(integrator.name, 1.0)
    np.testing.assert_allclose(skeleton.com, [1, 2, 3] + velocity + share * fall, atol=1e-11)
    np.testing.assert_allclose(skeleton.body(0).linear_velocity(), velocity + 2 * fall, atol=1e-11)


@each
@pytest.mark.parametrize("joint", [kido.BallJoint, kido.FreeJoint])
def test_steady_spin_goes_through_pi_and_two_pi(integrator, joint) -> None:
    """About a principal axis: the body turns by w t, whatever its rotation vector does. Exact for all methods."""
    skeleton = single(joint())
    skeleton.gravity = (0, 0, 0)
    skeleton.velocities = [0.0, 0.0, 7.0] + [0.0] * (skeleton.num_dofs - 3)
    motion = simulate(skeleton, integrator, times=np.linspace(0.0, 3.0, 61))
    for time, q, u in zip(motion.times, motion.positions, motion.velocities, strict=True):
        expected = Rotation.from_rotvec([0, 0, 7.0 * time])
        assert (Rotation.from_rotvec(q[:3]) * expected.inv()).magnitude() < 1e-9
        np.testing.assert_allclose(u, skeleton.velocities, atol=1e-10)


def heavy_top() -> kido.Skeleton:
    top = single(kido.BallJoint(), kido.Inertia.from_diagonal(15.0, (0.234375, 0.46875, 0.234375), (0, 1, 0)))
    top.velocities = (0.0, 150.0, -4.61538)
    return top


@pytest.mark.parametrize(
    ("integrator", "h", "bound"), [(TIGHT, 1.0, 1e-9), (RK4(), 2e-4, 1e-5), (Variational(), 2e-4, 5e-4)]
)
def test_heavy_top_keeps_energy_and_two_momenta(integrator, h, bound) -> None:
    top = heavy_top()

    def invariants() -> np.ndarray:
        L = top.momentum[:3]
        energy = top.kinetic_energy + top.potential_energy
        return np.array([energy, L[2], L @ top.body(0).world_transform[:3, 1]])

    before = invariants()
    simulate(top, integrator, times=[0.0, 0.5], time_step=h)
    drift = np.abs(invariants() - before) / np.abs(before[[0, 2, 2]])
    print(integrator.name, drift)
    assert drift.max() < bound


# The variational integrator --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_variational_keeps_the_momentum_of_floating_trees(seed) -> None:
    """To the solver's tolerance (1e-12 a step), at a step of 10 ms."""
    skeleton = floating(seed)
    before = skeleton.momentum
    simulate(skeleton, Variational(), times=[0.0, 5.0], time_step=0.01)
    drift = np.abs(skeleton.momentum - before).max() / np.abs(before).max()
    print(seed, drift)
    assert drift < 1e-10


def test_variational_energy_does_not_drift_in_1e5_steps() -> None:
    """A chain of three pendulums in chaotic motion: the energy oscillates within bounds, the last tenth as the first.

    RK4 at the same step loses more than a hundred times of what the variational integrator's mean moves by.
    """

    def make() -> kido.Skeleton:
        skeleton = kido.Skeleton("chain")
        for k in range(3):
            place = np.eye(4)
            place[2, 3] = -1.0 if k else 0.0
            joint = kido.RevoluteJoint(axis=(0, 1, 0), transform_from_parent=place)
            skeleton.add_body(f"b{k}", joint, skeleton.bodies[-1] if k else None, kido.Inertia(1.0, (0, 0, -1)))
        skeleton.positions = [1.5, 0.5, -0.5]
        return skeleton

    def energies(integrator) -> np.ndarray:
        skeleton = make()
        motion = simulate(skeleton, integrator, times=np.arange(2001) * 0.5, time_step=0.01)
        assert motion.steps == 100_000
        values = []
        for q, u in zip(motion.positions, motion.velocities, strict=True):
            skeleton.positions, skeleton.velocities = q, u
            values.append(skeleton.kinetic_energy + skeleton.potential_energy)
        return np.array(values)

    energy = energies(Variational())
    scale = 3 * 9.81 * 6.0  # of the potential energy
    oscillation = np.abs(energy - energy[0]).max() / scale
    drift = abs(energy[-200:].mean() - energy[:200].mean()) / scale
    rk4 = energies(RK4())
    lost = abs(rk4[-1] - rk4[0]) / scale
    print("oscillation", oscillation, "drift", drift, "RK4", lost)
    assert oscillation < 0.02
    assert drift < 1e-3
    assert lost > 10 * drift


def test_variational_is_reversible() -> None:
    """A symmetric method run back with negated velocities returns to the start."""
    skeleton = build(["ball", "revolute", "universal", "prismatic"], chain_parents(4), 1)
    q, u, _, _ = random_state(skeleton, 1)
    skeleton.positions, skeleton.velocities = 0.3 * q, u
    start = end_state(skeleton)
    simulate(skeleton, Variational(), 0.5, time_step=0.01)
    skeleton.velocities = -skeleton.velocities
    simulate(skeleton, Variational(), 0.5, time_step=0.01)
    skeleton.velocities = -skeleton.velocities
    np.testing.assert_allclose(end_state(skeleton), start, atol=1e-8)


def test_variational_gives_up_on_steps_that_are_too_large() -> None:
    skeleton = floating(0)
    skeleton.velocities = 100.0 * skeleton.velocities
    before = skeleton.positions
    with pytest.raises(StateError, match="smaller time step"):
        simulate(skeleton, Variational(), 1.0, time_step=0.1)
    assert np.array_equal(skeleton.positions, before)


# Error control ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("dense", [True, False])
def test_adaptive_tolerance_is_obeyed(tolerance, dense) -> None:
    """Global errors stay within a moderate multiple of the tolerance, and smaller ones cost more steps."""
    times = np.linspace(0.0, 1.0, 34)
    exact = simulate(tree(1), TIGHT, times=times)
    integrator = DormandPrince(rtol=tolerance, atol=tolerance, dense=dense)
    motion = simulate(tree(1), integrator, times=times)
    error = np.abs(motion.velocities - exact.velocities).max() / np.abs(exact.velocities).max()
    print(tolerance, dense, error, motion.steps, motion.rejected)
    assert error < 100 * tolerance
    assert motion.steps > 8


def test_dense_results_are_those_of_the_trajectory() -> None:
    """The interpolant of x on the manifold, for rotation vectors across pi: as accurate as steps that end there."""

    def make() -> kido.Skeleton:
        skeleton = single(kido.FreeJoint())
        skeleton.positions, skeleton.velocities = [3.0, 0.5, 0, 1, 2, 3], [0.1, 6.0, 0.1, 1, 0, -1]
        return skeleton

    times = np.linspace(0.0, 2.0, 101)
    dense = simulate(make(), DormandPrince(1e-8, 1e-8), times=times)
    exact = simulate(make(), TIGHT, times=times)
    a, b = Rotation.from_rotvec(dense.positions[:, :3]), Rotation.from_rotvec(exact.positions[:, :3])
    assert (a * b.inv()).magnitude().max() < 1e-6
    np.testing.assert_allclose(dense.positions[:, 3:], exact.positions[:, 3:], atol=1e-6)
    np.testing.assert_allclose(dense.velocities, exact.velocities, atol=1e-5)
    assert dense.steps < 100


def test_fewer_evaluations_for_larger_tolerances() -> None:
    counts = [simulate(tree(1), DormandPrince(x, x), times=[0.0, 1.0]).evaluations for x in (1e-10, 1e-7, 1e-4)]
    assert counts[0] > 2 * counts[1] > 3 * counts[2]


def test_too_many_steps_is_an_error_and_leaves_the_skeleton() -> None:
    skeleton = tree(1)
    before = skeleton.positions
    with pytest.raises(StateError, match="max_steps"):
        simulate(skeleton, DormandPrince(1e-12, 1e-12, max_steps=20), 1.0)
    assert np.array_equal(skeleton.positions, before)


# What acts -------------------------------------------------------------------------------------------------


@each
def test_prescribed_coordinates_have_their_accelerations(integrator) -> None:
    """The cart of a cart and pole follows s t^2 / 2 for methods of second order; the pole feels it."""
    skeleton = kido.Skeleton("cart")
    cart = skeleton.add_body("cart", kido.PrismaticJoint(axis=(1, 0, 0)), inertia=kido.Inertia(2.0))
    skeleton.add_body("pole", kido.RevoluteJoint(axis=(0, 1, 0)), cart, kido.Inertia(1.0, (0, 0, -1.0)))
    skeleton.joint("cart_joint").actuator_type = "ACCELERATION"
    skeleton.commands = [9.81, 0.0]
    skeleton.positions = [0.0, np.pi / 4]  # the apparent weight points along the pole: it stays
    simulate(skeleton, integrator, 1.0, time_step=0.01)
    share = {"ExplicitEuler": 0.99, "SemiImplicitEuler": 1.01}.get(integrator.name, 1.0)
    np.testing.assert_allclose(skeleton.positions, [0.5 * share * 9.81, np.pi / 4], atol=1e-10)
    np.testing.assert_allclose(skeleton.velocities, [9.81, 0.0], atol=1e-10)


@each
def test_velocity_actuators_hold_a_twist(integrator) -> None:
    """A free joint driven in all coordinates screws along: X0 exp(t V)."""
    skeleton = single(kido.FreeJoint())
    skeleton.positions = [0.3, -0.2, 0.9, 1.0, 2.0, 3.0]
    start = skeleton.body(0).world_transform
    skeleton.actuator_types = "VELOCITY"
    V = np.array([1.0, -2.0, 0.5, 0.3, 0.2, -1.0])
    skeleton.commands = V
    simulate(skeleton, integrator, 2.0, time_step=0.01)
    np.testing.assert_allclose(skeleton.body(0).world_transform, start @ expm(2.0 * twist_matrix(V)), atol=1e-10)
    np.testing.assert_allclose(skeleton.velocities, V, atol=1e-14)


@pytest.mark.parametrize(("integrator", "order"), [(RK4(), 4), (DormandPrince(), 5), (Variational(), 2)])
def test_a_free_joint_driven_in_one_coordinate(integrator, order) -> None:
    """Its displacements are twists then. The reference steps by `advance` alone, in twice as many steps again."""

    def make() -> kido.Skeleton:
        skeleton = build(["free", "ball"], chain_parents(2), 2)
        skeleton.actuator_types = ["ACCELERATION", *["FORCE"] * 8]
        skeleton.commands = [3.0] + [0.0] * 8
        skeleton.velocities = [1.0, 2.0, -1.0, 0.5, 0.3, -0.7, 1.0, -1.0, 0.5]
        return skeleton

    ends = []
    for method, h in ((integrator, 2e-3), (Heun(), 2e-4), (Heun(), 1e-4)):
        skeleton = make()
        simulate(skeleton, method, times=[0.0, 0.2], time_step=h)
        ends.append(end_state(skeleton))
    expected = ends[2] + (ends[2] - ends[1]) / 3.0  # Richardson
    print(integrator.name, np.abs(ends[0] - expected).max(), np.abs(ends[2] - ends[1]).max())
    np.testing.assert_allclose(ends[0], expected, atol=1e-4 if order == 2 else 1e-6)


@each
def test_external_forces_are_held(integrator) -> None:
    skeleton = single(kido.FreeJoint(), kido.Inertia.from_diagonal(2.0, [1.0, 1.0, 1.0]))
    skeleton.gravity = (0, 0, 0)
    skeleton.body(0).add_external_force((4.0, 0.0, 0.0))
    simulate(skeleton, integrator, 1.0, time_step=0.01)
    np.testing.assert_allclose(skeleton.body(0).linear_velocity(), [2.0, 0, 0], atol=1e-11)


@each
def test_no_coordinates_and_no_bodies(integrator) -> None:
    empty = simulate(kido.Skeleton("empty"), integrator, 1.0, time_step=0.1)
    assert empty.positions.shape == (11, 0)
    welded = kido.Skeleton("welded")
    welded.add_body("base", kido.WeldJoint())
    assert simulate(welded, integrator, times=[0.0, 1.0]).velocities.shape == (2, 0)


@each
def test_no_time_is_no_motion(integrator) -> None:
    skeleton = tree(2)
    before = skeleton.positions
    motion = simulate(skeleton, integrator, 0.0)
    assert np.array_equal(skeleton.positions, before) and len(motion.times) == 1


@each
def test_constant_forces_by_function_or_array_are_the_same(integrator) -> None:
    a, b = tree(4), tree(4)
    forces = a.forces
    one = simulate(a, integrator, 0.05, forces=forces)
    two = simulate(b, integrator, 0.05, forces=lambda time, skeleton: forces)
    np.testing.assert_allclose(one.positions, two.positions, atol=1e-12)
    assert one.steps == two.steps


@each
def test_one_step_at_a_time_is_the_same_motion(integrator) -> None:
    """`step` of a compiled integrator, as a user's own code would call it."""
    a = floating(3)
    system = kido.integrators.System.of_skeleton(a)
    q, u = a.positions, a.velocities
    if isinstance(integrator, DormandPrince):
        integrator = DormandPrince(1e-10, 1e-10)
    for k in range(10):
        q, u = integrator.step(system, 0.01 * k, q, u, 0.01)
    simulate(a, integrator, times=np.linspace(0.0, 0.1, 11), time_step=0.01)
    np.testing.assert_allclose(a.velocities, u, atol=1e-7 if isinstance(integrator, DormandPrince) else 1e-11)


def test_a_users_integrator() -> None:
    sizes = (0.004, 0.002, 0.001)
    errors = errors_at_end(lambda: tree(0), Heun(), 0.1, sizes)
    print(errors)
    assert slope(sizes, errors) == pytest.approx(2, abs=0.15)


def test_springs_and_dampers_of_any_size_are_stable_in_semi_implicit_euler() -> None:
    skeleton = pendulum(spring_stiffness=1e9, damping=1e3)
    skeleton.positions = [0.1]
    simulate(skeleton, SemiImplicitEuler(), 1.0, time_step=0.01)
    assert abs(skeleton.positions[0]) < 0.2


# Bad input -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        {"rtol": -1e-6}, {"atol": float("nan")}, {"rtol": 0.0, "atol": 0.0}, {"first_step": 0.0},
        {"max_step": -1.0}, {"max_steps": 0}, {"max_steps": 1.5}, {"rtol": "small"},
    ],
)  # fmt: skip
def test_dormand_prince_refuses(arguments) -> None:
    with pytest.raises(ModelError):
        DormandPrince(**arguments)


@pytest.mark.parametrize("arguments", [{"tolerance": 0.0}, {"tolerance": np.inf}, {"max_iterations": 0}])
def test_variational_refuses(arguments) -> None:
    with pytest.raises(ModelError):
        Variational(**arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {}, {"duration": 1.0, "times": [0, 1]}, {"duration": -1.0}, {"duration": np.nan}, {"duration": np.inf},
        {"duration": 1.0, "time_step": 0.0}, {"duration": 1.0, "time_step": np.nan}, {"times": [0.0, 0.0]},
        {"times": [1.0, 0.0]}, {"times": [0.0, np.nan]}, {"times": []}, {"times": "soon"}, {"times": [[0.0, 1.0]]},
    ],
)  # fmt: skip
def test_simulate_refuses_times(arguments) -> None:
    with pytest.raises(ModelError):
        simulate(pendulum(), RK4(), **arguments)


@pytest.mark.parametrize("forces", [[1.0, 2.0], [np.nan], "strong", lambda t, s: [1.0, 2.0], lambda t, s: [np.nan],
                                    lambda t, s: None])  # fmt: skip
@pytest.mark.parametrize("integrator", [RK4(), Heun()], ids=lambda x: x.name)
def test_simulate_refuses_forces(integrator, forces) -> None:
    skeleton = pendulum()
    with pytest.raises(StateError, match="forces"):
        simulate(skeleton, integrator, 1.0, forces=forces)
    assert skeleton.positions[0] == 0.0


def test_simulate_refuses_what_is_no_skeleton_or_integrator() -> None:
    with pytest.raises(ModelError, match="skeleton"):
        simulate("pendulum", RK4(), 1.0)
    with pytest.raises(ModelError, match="integrator"):
        simulate(pendulum(), RK4, 1.0)


@pytest.mark.parametrize("result", [None, (np.zeros(1),), (np.zeros(2), np.zeros(1)), (np.zeros(1), [np.nan]), 3])
def test_a_users_integrator_must_return_a_state(result) -> None:
    class Wrong(Integrator):
        def step(self, system, time, positions, velocities, time_step):
            return result

    skeleton = pendulum()
    with pytest.raises(StateError):
        simulate(skeleton, Wrong(), 1.0)
    assert skeleton.positions[0] == 0.0


@each
def test_motion_without_bounds_is_an_error(integrator) -> None:
    skeleton = tree(1)
    skeleton.velocities = 1e200 * np.ones(skeleton.num_dofs)
    before = skeleton.positions
    with pytest.raises(StateError):
        simulate(skeleton, integrator, 1.0)
    assert np.array_equal(skeleton.positions, before)


def test_a_massless_body_is_named() -> None:
    skeleton = kido.Skeleton("light")
    skeleton.add_body("nothing", kido.RevoluteJoint(axis=(0, 1, 0)))
    with pytest.raises(ModelError, match="nothing"):
        simulate(skeleton, RK4(), 1.0)


class BarOfCtrlC:
    """Stands in for the progress bar: once the motion is under way, Ctrl-C comes from outside, at any moment."""

    timer = None

    def __init__(self, **options) -> None:
        pass

    def update(self, seconds: float) -> None:
        if self.timer is None:
            self.timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
            self.timer.start()

    def close(self) -> None:
        pass


def _ctrl_c_leaves_the_last_state(integrator) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tqdm.tqdm", BarOfCtrlC)
        skeleton = pendulum()
        with pytest.raises(KeyboardInterrupt):
            simulate(skeleton, integrator, times=[0.0, 1e7], time_step=1e-4)
    assert skeleton.positions[0] != 0.0
    energy = skeleton.kinetic_energy + skeleton.potential_energy
    assert abs(energy) < 1e-6
    assert abs(skeleton.velocities[0]) > 0.0


@pytest.mark.parametrize("integrator", [RK4(), DormandPrince(1e-12, 1e-12), Heun()], ids=lambda x: x.name)
def test_ctrl_c_leaves_the_last_state_that_was_completed(integrator) -> None:
    in_a_process(_ctrl_c_leaves_the_last_state, integrator)


def _ctrl_c_while_an_object_is_freed() -> None:
    class Freed:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)  # what it raises is dropped here

    left = [Freed()]

    def forces(time: float, one: kido.Skeleton) -> list[float]:
        left.clear()
        return [0.0]

    with pytest.raises(KeyboardInterrupt):
        simulate(pendulum(), RK4(), times=[0.0, 1e7], time_step=1e-4, forces=forces)


def test_ctrl_c_that_comes_while_an_object_is_freed_is_heard() -> None:
    in_a_process(_ctrl_c_while_an_object_is_freed)


def test_ctrl_c_within_a_force_function() -> None:
    skeleton = pendulum()

    def forces(time: float, one: kido.Skeleton) -> list[float]:
        if time > 0.5:
            raise KeyboardInterrupt
        return [0.0]

    with pytest.raises(KeyboardInterrupt):
        simulate(skeleton, RK4(), 1.0, time_step=0.01, forces=forces)
    expected = pendulum()
    simulate(expected, RK4(), 0.5, time_step=0.01)
    np.testing.assert_allclose(skeleton.positions, expected.positions, atol=1e-13)


def test_names_and_parameters() -> None:
    assert Variational().name == "Variational"
    assert DormandPrince(rtol=1e-3).parameters()["rtol"] == 1e-3
    assert Heun().parameters() == {}
    assert set(integrators.__all__) >= {"RK4", "DormandPrince", "Variational", "Integrator"}
