"""Impulses, reaction wrenches and regressors: momentum balance, free bodies, and linearity in the parameters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import kido
from kido.errors import ModelError, StateError
from trees import SEEDS, Reference, build, random_skeleton, random_state, relative_error, set_state, skeletons, skew

TOLERANCE = 1e-11


@pytest.mark.parametrize("seed", range(5))
def test_velocity_changes(seed: int) -> None:
    skeleton = random_skeleton(seed, 12)
    q, u, a, tau = random_state(skeleton, seed)
    set_state(skeleton, q, u, a)
    rng = np.random.default_rng(seed)
    r = Reference(skeleton, q, u)
    by_body = np.zeros((12, 6))
    for body in skeleton.bodies[1::3]:
        f, n, arm = rng.normal(size=(3, 3))
        body.add_impulse(f, arm, impulse_is_local=True)
        body.add_angular_impulse(n)
        R = r.X[body.index, :3, :3]
        by_body[body.index] = np.concatenate([n + np.cross(R @ arm, R @ f), R @ f])
        assert relative_error(body.impulse, by_body[body.index]) < 1e-14
    skeleton.joint_impulses = tau
    generalized = tau + np.einsum("iak,ia->k", r.J, by_body)
    change = skeleton.velocity_changes
    assert np.abs(r.mass_matrix @ change - generalized).max() < TOLERANCE * np.abs(generalized).max()
    given = kido.quantities.velocity_changes(skeleton, q, tau, by_body)
    assert relative_error(given, change) < 1e-9
    skeleton.apply_impulses()
    assert np.array_equal(skeleton.velocities, u + change)
    assert not skeleton.velocity_changes.any() and not skeleton.joint_impulses.any()
    assert (
        relative_error(
            kido.quantities.velocity_changes(skeleton, q, tau), kido.quantities.inverse_mass_matrix(skeleton, q) @ tau
        )
        < 1e-9
    )


def test_impulses_at_points_of_the_world_and_in_axes_of_frames() -> None:
    skeleton = build(["free", "revolute", "weld"], [-1, 0, 1], 4)
    set_state(skeleton, *random_state(skeleton, 4)[:3])
    tip, base = skeleton.bodies[2], skeleton.bodies[0]
    p, point = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, 0.9])
    tip.add_impulse(p, point, offset_is_local=False, in_coordinates_of=base)
    before, about = skeleton.momentum_about(point), skeleton.linear_momentum()
    skeleton.apply_impulses()
    # All of the impulse goes to the free skeleton, whose moment about the point where it acts is none.
    world = base.world_transform[:3, :3] @ p
    assert relative_error(skeleton.linear_momentum() - about, world) < 1e-12
    assert np.abs((skeleton.momentum_about(point) - before)[:3]).max() < 1e-12


def test_impulses_can_be_taken_back() -> None:
    skeleton = build(["free"], [-1], 1)
    skeleton.bodies[0].add_impulse((1.0, 0.0, 0.0))
    skeleton.joint_impulses = np.ones(6)
    skeleton.clear_impulses()
    assert not skeleton.velocity_changes.any()
    with pytest.raises(StateError, match="joint_impulses"):
        skeleton.joint_impulses = [1.0]
    with pytest.raises(StateError, match="joint_impulses"):
        skeleton.joint_impulses = [np.nan] * 6
    with pytest.raises(StateError, match="body_impulses"):
        kido.quantities.velocity_changes(skeleton, np.zeros(6), body_impulses=np.zeros(6))
    with pytest.raises(StateError, match="joint_impulses"):
        kido.quantities.velocity_changes(skeleton, np.zeros(6), np.full(6, np.nan))
    with pytest.raises(ModelError, match="impulse"):
        skeleton.bodies[0].add_impulse((np.nan, 0.0, 0.0))
    with pytest.raises(StateError, match="positions"):
        kido.quantities.velocity_changes(skeleton, np.zeros(5))


# Wrenches through joints ---------------------------------------------------------------------------------


@given(skeletons(), SEEDS)
def test_reaction_wrenches(skeleton: kido.Skeleton, seed: int) -> None:
    """Each body and all below it are moved by what its joint carries, by their weight and by external forces."""
    q, u, a, _ = random_state(skeleton, seed)
    for body in skeleton.bodies[::4]:
        body.gravity = False
    set_state(skeleton, q, u, a)
    r = Reference(skeleton, q, u, a)
    needed = r.body_force(r.A)
    assert relative_error(kido.quantities.reaction_wrenches(skeleton, q, u, a), gathered(r, needed)) < TOLERANCE
    rng = np.random.default_rng(seed)
    for body in skeleton.bodies[::2]:
        body.add_external_wrench(rng.normal(size=6), rng.normal(size=3))
        needed[body.index] -= body.external_wrench
    expected = gathered(r, needed)
    assert relative_error(skeleton.reaction_wrenches, expected) < TOLERANCE
    axes = skeleton.bodies[0]
    R = axes.world_transform[:3, :3]
    for body in skeleton.bodies:
        joint = body.parent_joint
        own = expected[body.index]
        assert relative_error(joint.reaction_wrench(), own) < TOLERANCE
        arm = r.X[body.index, :3, :3] @ joint.transform_from_child[:3, 3]
        about = np.concatenate([own[:3] - np.cross(arm, own[3:]), own[3:]])
        seen = joint.reaction_wrench("joint", axes)
        assert relative_error(seen[:3], R.T @ about[:3]) < TOLERANCE
        assert relative_error(seen[3:], R.T @ about[3:]) < TOLERANCE
    with pytest.raises(ModelError, match="about"):
        skeleton.joints[0].reaction_wrench("tip")


def gathered(r: Reference, wrenches: np.ndarray) -> np.ndarray:
    total = wrenches.copy()
    for i in range(len(total) - 1, -1, -1):
        if r.parent[i] >= 0:
            total[r.parent[i]] += r.phi(r.parent[i], i) @ total[i]
    return total


def test_weight_rests_on_the_base() -> None:
    skeleton = build(["weld", "revolute", "weld", "prismatic"], [-1, 0, 1, 2], 2)
    wrench = skeleton.joints[0].reaction_wrench()
    assert wrench[3:] == pytest.approx([0.0, 0.0, 9.81 * skeleton.mass], rel=1e-13)


# Regressors ----------------------------------------------------------------------------------------------


@given(skeletons(), SEEDS)
def test_regressors(skeleton: kido.Skeleton, seed: int) -> None:
    q, u, a, _ = random_state(skeleton, seed)
    for body in skeleton.bodies[::4]:
        body.gravity = False
    set_state(skeleton, q, u, a)
    r = Reference(skeleton, q, u, a)
    Y = kido.quantities.inverse_dynamics_regressor(skeleton, q, u, a)
    assert np.array_equal(skeleton.inverse_dynamics_regressor(), Y)
    # Any parameters, not only the skeleton's own: the equations are linear in them.
    rng = np.random.default_rng(seed)
    pi = rng.normal(size=(skeleton.num_bodies, 10))
    for i, (X, p) in enumerate(zip(r.X, pi, strict=True)):
        R = X[:3, :3]
        m, mc = p[0], R @ p[1:4]
        J = R @ np.array([[p[4], p[5], p[6]], [p[5], p[7], p[8]], [p[6], p[8], p[9]]]) @ R.T
        S = skew(mc)
        r.I[i] = np.block([[J, S], [-S, m * np.eye(3)]])
    forces = np.zeros(len(q))
    for i, body in enumerate(skeleton.bodies):
        w, g = r.V[i, :3], np.concatenate([np.zeros(3), r.gravity * body.gravity])
        mc = r.X[i, :3, :3] @ pi[i, 1:4]
        b = np.concatenate([np.cross(w, r.I[i, :3, :3] @ w), np.cross(w, np.cross(w, mc))])
        forces += r.J[i].T @ (r.I[i] @ (r.A[i] - g) + b)
    assert relative_error(Y @ pi.ravel(), forces) < TOLERANCE
    own = skeleton.inertial_parameters()
    assert relative_error(Y @ own, skeleton.inverse_dynamics(q, u, a)) < TOLERANCE
    kinetic, potential = kido.quantities.energy_regressors(skeleton, q, u)
    assert kinetic @ own == pytest.approx(skeleton.kinetic_energy, rel=1e-11, abs=1e-12)
    assert potential @ own == pytest.approx(skeleton.potential_energy, rel=1e-11, abs=1e-10)
    zero = np.zeros(len(q))
    static = kido.quantities.inverse_dynamics_regressor(skeleton, q, zero, zero)
    assert relative_error(static @ own, kido.quantities.gravity_forces(skeleton, q)) < TOLERANCE
    some = sorted(set(rng.integers(skeleton.num_bodies, size=3).tolist()))
    columns = np.concatenate([np.arange(10 * i, 10 * i + 10) for i in some])
    assert np.array_equal(kido.quantities.inverse_dynamics_regressor(skeleton, q, u, a, some), Y[:, columns])
    assert np.array_equal(skeleton.inverse_dynamics_regressor(some), Y[:, columns])
    assert np.array_equal(skeleton.inertial_parameters(some), own[columns])
    assert np.array_equal(kido.quantities.energy_regressors(skeleton, q, u, some)[0], kinetic[columns])


# In a world ----------------------------------------------------------------------------------------------


def ask_everything(skeleton: kido.Skeleton) -> list[np.ndarray]:
    body = skeleton.bodies[-1]
    body.add_impulse((0.1, 0.2, 0.3))
    found = [
        skeleton.jacobian(body), skeleton.jacobian_classic_derivative(body), skeleton.com_jacobian(),
        skeleton.com_acceleration(), skeleton.centroidal_momentum_matrix_derivative, skeleton.centroidal_momentum,
        skeleton.inverse_mass_matrix, skeleton.cholesky_factor, skeleton.mass_matrix_factors[0],
        skeleton.coriolis_matrix, skeleton.coriolis_and_gravity_forces, skeleton.gravity_forces,
        skeleton.spring_forces, skeleton.velocity_changes, skeleton.reaction_wrenches,
        skeleton.inverse_dynamics_regressor(),
    ]  # fmt: skip
    skeleton.clear_impulses()
    return found


def test_in_a_world_results_are_the_same_and_steps_too() -> None:
    worlds = [kido.World(), kido.World()]
    for world in worlds:
        for seed in (1, 2):
            skeleton = random_skeleton(seed, 6)
            skeleton.name = f"s{seed}"
            world.add_skeleton(skeleton)
            skeleton.velocities = 0.1 * random_state(skeleton, seed)[1]
    for _ in range(3):
        for world in worlds:
            world.step(2)
        for skeleton in worlds[0].skeletons:
            alone = skeleton.clone()
            for inside, outside in zip(ask_everything(skeleton), ask_everything(alone), strict=True):
                assert relative_error(inside, outside) < 1e-12
    for one, other in zip(worlds[0].skeletons, worlds[1].skeletons, strict=True):
        assert np.array_equal(one.positions, other.positions)
        assert np.array_equal(one.velocities, other.velocities)


def test_locked_coordinates_do_not_give_way() -> None:
    skeleton = build(["revolute", "revolute", "revolute"], [-1, 0, 1], 3)
    set_state(skeleton, *random_state(skeleton, 3)[:3])
    free = kido.quantities.velocity_changes(skeleton, skeleton.positions, [1.0, 0.0, 0.0])
    assert free.all()
    skeleton.joints[1].actuator_type = "LOCKED"
    skeleton.joint_impulses = [1.0, 0.0, 0.0]
    change = skeleton.velocity_changes
    M = skeleton.mass_matrix[np.ix_([0, 2], [0, 2])]
    assert change[1] == 0.0
    assert relative_error(change[[0, 2]], np.linalg.solve(M, [1.0, 0.0])) < 1e-9
    assert not skeleton.state.tree.prescribed.any()
