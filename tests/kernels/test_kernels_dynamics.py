"""Inverse and forward dynamics, mass matrices, energies and momenta of random trees.

The reference sums virtual power over bodies with dense Jacobians (`trees.Reference`). 1e-10 relative to the
largest term: both sides lose digits in proportion to the ratio of the largest to the resulting number, which
in trees of 50 bodies reaches 1e4; udot itself is compared through the residual of M udot + C = T, because the
mass matrix of such a tree has a condition number up to 1e8, which no algorithm's udot can escape.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kido
from kernel_entries import Arrays, accelerate, accelerate_prescribed, eliminate, spread
from trees import (
    SEEDS,
    Reference,
    build,
    chain_parents,
    random_skeleton,
    random_state,
    relative_error,
    skeletons,
)

TOLERANCE = 1e-10
SIZES = [1, 2, 10, 20, 50]


def check_dynamics(skeleton: kido.Skeleton, seed: int, tolerance: float = TOLERANCE) -> None:
    """RNEA, mass matrix and ABA against the reference, and each against the others."""
    q, u, udot, tau = random_state(skeleton, seed)
    expected = Reference(skeleton, q, u, udot)
    M, C = expected.mass_matrix, expected.bias
    scale = max(1.0, np.abs(C).max(initial=0.0), np.abs(M @ udot).max(initial=0.0))
    assert relative_error(kido.quantities.mass_matrix(skeleton, q), M) < tolerance
    forces = skeleton.inverse_dynamics(q, u, udot)
    assert relative_error(forces, expected.joint_forces, scale) < tolerance
    assert relative_error(forces, M @ udot + C, scale) < tolerance
    found = skeleton.forward_dynamics(q, u, tau)
    residual_scale = max(scale, (np.abs(M) @ np.abs(found)).max(initial=0.0))
    assert np.abs(M @ found + C - tau).max(initial=0.0) < tolerance * residual_scale
    assert np.abs(skeleton.inverse_dynamics(q, u, found) - tau).max(initial=0.0) < tolerance * residual_scale
    if skeleton.num_dofs:
        direct = np.linalg.solve(M, tau - C)
        # Both sides carry up to condition number times 1e-16.
        assert relative_error(found, direct) < tolerance + 1e-15 * np.linalg.cond(M)


@given(skeletons(), SEEDS)
def test_random_trees(skeleton: kido.Skeleton, seed: int) -> None:
    check_dynamics(skeleton, seed)


@pytest.mark.parametrize("bodies", SIZES)
def test_trees_with_every_joint_type(bodies: int) -> None:
    for seed in range(10):
        check_dynamics(random_skeleton(seed, bodies), seed)


@pytest.mark.parametrize("kind", ["revolute", "ball", "universal", "euler", "prismatic", "screw"])
def test_chains_of_300_bodies(kind: str) -> None:
    """Rounding grows with the number of bodies squared: 300^2 1e-16 is 1e-11."""
    skeleton = build([kind] * 300, chain_parents(300), 8)
    q, u, _, tau = random_state(skeleton, 9, speed=0.1)
    udot = skeleton.forward_dynamics(q, u, tau)
    M = kido.quantities.mass_matrix(skeleton, q)
    scale = (np.abs(M) @ np.abs(udot)).max()
    assert np.abs(skeleton.inverse_dynamics(q, u, udot) - tau).max() < TOLERANCE * scale
    assert np.array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0.0


@pytest.mark.parametrize("masses", [(1e-6, 1e-6), (1e6, 1e6), (1e-6, 1e6)], ids=["light", "heavy", "mixed"])
def test_extreme_masses(masses: tuple[float, float]) -> None:
    """Mass ratios up to 1e12. Equal scales cost nothing; mixed ones cost what the condition number says."""
    for seed in range(5):
        skeleton = random_skeleton(seed, 10, masses=masses)
        q, u, udot, _ = random_state(skeleton, seed)
        expected = Reference(skeleton, q, u, udot)
        M, C = expected.mass_matrix, expected.bias
        assert relative_error(kido.quantities.mass_matrix(skeleton, q), M, 1e-300) < TOLERANCE
        T = expected.joint_forces
        assert relative_error(skeleton.inverse_dynamics(q, u, udot), T, 1e-300) < TOLERANCE
        scale = np.abs(M) @ np.abs(udot) + np.abs(C)
        found = skeleton.forward_dynamics(q, u, T)
        residual = np.abs(M @ found + C - T)
        assert (residual <= 1e-9 * (np.abs(M) @ np.abs(found) + scale)).all()
        if masses[0] == masses[1]:
            assert relative_error(found, udot) < TOLERANCE + 1e-15 * np.linalg.cond(M)


# Theory reference (a): operators as dense matrices ---------------------------------------------------------


class Operators:
    """E_phi, phi, H, K, psi as matrices over (bodies x 6), with P from the Riccati gather in NumPy."""

    def __init__(self, reference: Reference):
        r = reference
        n, m = len(r.parent), len(r.q)
        block = [slice(6 * i, 6 * i + 6) for i in range(n)]
        self.H = np.zeros((m, 6 * n))
        self.E_phi, self.M = np.zeros((6 * n, 6 * n)), np.zeros((6 * n, 6 * n))
        self.P, self.D = np.zeros((6 * n, 6 * n)), np.zeros((m, m))
        self.G, tau = np.zeros((6 * n, m)), np.zeros((6 * n, 6 * n))
        for i in range(n):
            self.H[r.part[i], block[i]] = r.H[i].T
            self.M[block[i], block[i]] = r.I[i]
            if r.parent[i] >= 0:
                self.E_phi[block[r.parent[i]], block[i]] = r.phi(r.parent[i], i)
        self.P[:] = self.M
        for i in reversed(range(n)):
            k, b = r.part[i], block[i]
            P, H = self.P[b, b], self.H[k, b]
            D = H @ P @ H.T
            G = np.linalg.solve(D, H @ P).T if D.size else np.zeros((6, 0))
            self.D[k, k], self.G[b, k] = D, G
            tau[b, b] = np.eye(6) - G @ H
            after = tau[b, b] @ P
            if r.parent[i] >= 0:
                a = block[r.parent[i]]
                self.P[a, a] += r.phi(r.parent[i], i) @ (0.5 * (after + after.T)) @ r.phi(r.parent[i], i).T
        one = np.eye(6 * n)
        self.phi = np.linalg.inv(one - self.E_phi)
        self.E_psi = self.E_phi @ tau
        self.psi = np.linalg.inv(one - self.E_psi)
        self.K = self.E_phi @ self.G


@given(skeletons(most=10), SEEDS)
@settings(max_examples=60)
def test_operator_identities(skeleton: kido.Skeleton, seed: int) -> None:
    """Sections a4, a7 with the kernels' P, D and results in the place of their definitions."""
    q, u, _, T = random_state(skeleton, seed)
    reference = Reference(skeleton, q, u)
    o = Operators(reference)
    arrays = Arrays(skeleton, q, u, tau=T)
    n, m = skeleton.num_bodies, skeleton.num_dofs
    assert eliminate(*arrays.addresses, 0, n, 0.0) == -1
    # P by rank-1 updates, coordinate by coordinate, is P by blocks.
    P = np.zeros_like(o.P)
    for i in range(n):
        P[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = spread(arrays.data.P[i])
    assert relative_error(P, o.P) < TOLERANCE
    # M = P - E_psi P E_psi* = P - E_phi P E_phi* + K D K*
    assert relative_error(P - o.E_psi @ P @ o.E_psi.T, o.M) < TOLERANCE
    assert relative_error(P - o.E_phi @ P @ o.E_phi.T + o.K @ o.D @ o.K.T, o.M) < TOLERANCE
    # Mq = H phi M phi* H* = [I + H phi K] D [I + H phi K]*, and its inverse.
    mass_matrix = kido.quantities.mass_matrix(skeleton, q)
    one = np.eye(m)
    assert relative_error(o.H @ o.phi @ o.M @ o.phi.T @ o.H.T, mass_matrix) < TOLERANCE
    left = one + o.H @ o.phi @ o.K
    assert relative_error(left @ o.D @ left.T, mass_matrix) < TOLERANCE
    if m == 0:
        return
    right = one - o.H @ o.psi @ o.K
    assert np.abs(left @ right - one).max() < TOLERANCE * max(1.0, np.abs(left).max() * np.abs(right).max())
    inverse = right.T @ np.linalg.inv(o.D) @ right
    condition = np.linalg.cond(mass_matrix)
    assert np.abs(inverse @ mass_matrix - one).max() < TOLERANCE + 1e-15 * condition
    # ln det Mq = sum ln D: sequential scalars or blocks.
    sequential = -np.log(arrays.data.Dinv).sum()
    assert abs(sequential - np.linalg.slogdet(mass_matrix)[1]) < TOLERANCE * m + 1e-15 * condition
    # udot = [I - H psi K]* D^-1 (T - H psi (K T + P a + b - f_ext)) - K* psi* a
    a = np.zeros(6 * n)
    a[:] = arrays.data.a.ravel()
    for i in range(n):
        if reference.parent[i] < 0:
            a[6 * i + 3 : 6 * i + 6] -= skeleton.gravity
    b = reference.body_force(np.zeros((n, 6))) + np.einsum(
        "iab,b->ia", reference.I, np.concatenate([np.zeros(3), skeleton.gravity])
    )
    bias = o.H @ o.psi @ (o.K @ T + P @ a + b.ravel())
    udot = right.T @ np.linalg.solve(o.D, T - bias) - o.K.T @ o.psi.T @ a
    assert relative_error(skeleton.forward_dynamics(q, u, T), udot) < TOLERANCE + 1e-15 * condition


def test_operator_identities_on_fifty_bodies() -> None:
    skeleton = random_skeleton(4, 50)
    q, u, _, T = random_state(skeleton, 5)
    reference = Reference(skeleton, q, u)
    o = Operators(reference)
    arrays = Arrays(skeleton, q, u, tau=T)
    eliminate(*arrays.addresses, 0, 50, 0.0)
    for i in range(50):
        block = o.P[6 * i : 6 * i + 6, 6 * i : 6 * i + 6]
        assert relative_error(spread(arrays.data.P[i]), block) < TOLERANCE
    dense = o.H @ o.phi @ o.M @ o.phi.T @ o.H.T
    assert relative_error(kido.quantities.mass_matrix(skeleton, q), dense) < TOLERANCE
    assert -np.log(arrays.data.Dinv).sum() == pytest.approx(np.linalg.slogdet(dense)[1], rel=TOLERANCE)


# Energy, power, momentum -----------------------------------------------------------------------------------


@given(skeletons(), SEEDS)
@settings(max_examples=60)
def test_energies_momentum_and_centre_of_mass(skeleton: kido.Skeleton, seed: int) -> None:
    q, u, _, _ = random_state(skeleton, seed)
    skeleton.positions, skeleton.velocities = q, u
    expected = Reference(skeleton, q, u)
    size = max(1.0, expected.kinetic_energy)
    assert abs(skeleton.kinetic_energy - expected.kinetic_energy) < 1e-12 * size
    assert abs(skeleton.kinetic_energy - 0.5 * u @ skeleton.mass_matrix @ u) < 1e-12 * size
    assert skeleton.potential_energy == pytest.approx(expected.potential_energy, rel=1e-12, abs=1e-11)
    assert relative_error(skeleton.momentum, expected.momentum) < 1e-12
    mass = sum(b.inertia.mass for b in skeleton.bodies)
    assert skeleton.mass == pytest.approx(mass, rel=1e-15)
    if mass > 0:
        centre = -np.array([
            Reference(skeleton, q, gravity=g).potential_energy for g in np.eye(3)
        ]) / mass  # fmt: skip
        np.testing.assert_allclose(skeleton.com, centre, atol=1e-12 * max(1.0, np.abs(centre).max()))


# Central difference of order eight.
OFFSETS = np.array([-4, -3, -2, -1, 1, 2, 3, 4])
WEIGHTS = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 4 / 5, -1 / 5, 4 / 105, -1 / 280])


@given(skeletons(most=8), SEEDS)
@settings(max_examples=50)
def test_power_balance(skeleton: kido.Skeleton, seed: int) -> None:
    """d(KE + PE)/dt = T . u with udot from forward dynamics.

    Energies by the reference along a curve through the state with the right tangent; the difference of order
    eight leaves about (h rate)^8 and rounding 1e-16 E / h, both below 1e-10 of the energy times the rate.
    """
    q, u, _, T = random_state(skeleton, seed, speed=0.3)
    udot = skeleton.forward_dynamics(q, u, T)
    h, power, size = 0.01, 0.0, 1.0
    rate = 1.0 + np.abs(u).sum()
    h /= rate
    for offset, weight in zip(OFFSETS, WEIGHTS, strict=True):
        arrays = Arrays(skeleton, q, u)
        arrays.advance(offset * h)
        r = Reference(skeleton, arrays.data.q, u + offset * h * udot)
        energy = r.kinetic_energy + r.potential_energy
        power += weight * energy / h
        size = max(size, abs(energy), r.kinetic_energy)
    work = np.abs(T * u).sum() + (np.abs(udot) @ np.abs(kido.quantities.mass_matrix(skeleton, q)) @ np.abs(u))
    assert abs(power - T @ u) < TOLERANCE * (size * rate + work)


def test_gravity_can_be_switched_off_for_single_bodies() -> None:
    for seed in range(10):
        skeleton = random_skeleton(seed, 12)
        rng = np.random.default_rng(seed)
        for body in skeleton.bodies:
            body.gravity = bool(rng.random() < 0.5)
        skeleton.gravity = rng.normal(size=3) * 5
        q, u, udot, T = random_state(skeleton, seed)
        r = Reference(skeleton, q, u, udot, gravity=skeleton.gravity)
        scale = max(1.0, np.abs(r.joint_forces).max())
        assert relative_error(skeleton.inverse_dynamics(q, u, udot), r.joint_forces) < TOLERANCE
        found = skeleton.forward_dynamics(q, u, T)
        assert np.abs(r.mass_matrix @ found + r.bias - T).max() < TOLERANCE * scale
        skeleton.positions = q
        assert skeleton.potential_energy == pytest.approx(r.potential_energy, rel=1e-12, abs=1e-11)


# Prescribed coordinates, implicit terms --------------------------------------------------------------------


@given(skeletons(), SEEDS, st.floats(0.0, 1.0))
@settings(max_examples=60)
def test_prescribed_coordinates(skeleton: kido.Skeleton, seed: int, share: float) -> None:
    """Some udot given, the other T given: M_ff udot_f = T_f - C_f - M_fp udot_p, and T_p follows."""
    q, u, udot, tau = random_state(skeleton, seed)
    r = Reference(skeleton, q, u)
    M, C = r.mass_matrix, r.bias
    given_ = np.random.default_rng(seed).random(skeleton.num_dofs) < share
    free = ~given_
    arrays = Arrays(skeleton, q, u, udot, tau)
    arrays.tree.prescribed[:] = given_
    assert accelerate_prescribed(*arrays.addresses) == -1
    found, forces = arrays.data.udot, arrays.data.tau
    assert np.array_equal(found[given_], udot[given_])
    assert np.array_equal(forces[free], tau[free])
    scale = max(1.0, np.abs(C).max(initial=0.0), (np.abs(M) @ np.abs(found)).max(initial=0.0))
    assert np.abs(M @ found + C - forces).max(initial=0.0) < TOLERANCE * scale
    if free.any():
        part = M[np.ix_(free, free)]
        direct = np.linalg.solve(part, (tau - C - M[:, given_] @ udot[given_])[free])
        assert relative_error(found[free], direct) < TOLERANCE + 1e-15 * np.linalg.cond(part)
    # The accelerations of bodies belong to the result too.
    A = arrays.data.A.copy()
    A[:, 3:] += skeleton.gravity
    assert relative_error(A, Reference(skeleton, q, u, found).A) < TOLERANCE


def test_all_prescribed_is_inverse_dynamics() -> None:
    skeleton = random_skeleton(2, 20)
    q, u, udot, _ = random_state(skeleton, 2)
    arrays = Arrays(skeleton, q, u, udot)
    arrays.tree.prescribed[:] = 1
    assert accelerate_prescribed(*arrays.addresses) == -1
    assert relative_error(arrays.data.tau, skeleton.inverse_dynamics(q, u, udot)) < TOLERANCE


@given(skeletons(), SEEDS, st.floats(1e-4, 1.0))
@settings(max_examples=40)
def test_implicit_damping_and_stiffness(skeleton: kido.Skeleton, seed: int, h: float) -> None:
    """(M + h Kd + h^2 Ks / 4) udot = T - C, what a world's step solves."""
    rng = np.random.default_rng(seed)
    q, u, _, tau = random_state(skeleton, seed)
    for joint in skeleton.joints:
        joint.damping = rng.uniform(0, 10, joint.num_dofs)
        joint.spring_stiffness = rng.uniform(0, 100, joint.num_dofs)
    arrays = Arrays(skeleton, q, u, tau=tau)
    n = skeleton.num_bodies
    assert eliminate(*arrays.addresses, 0, n, h) == -1
    accelerate(*arrays.addresses, 0, n)
    r = Reference(skeleton, q, u)
    t = arrays.tree
    M = r.mass_matrix + np.diag(h * t.damping + 0.25 * h**2 * t.stiffness)
    found = arrays.data.udot
    scale = max(1.0, np.abs(r.bias).max(initial=0.0), (np.abs(M) @ np.abs(found)).max(initial=0.0))
    assert np.abs(M @ found + r.bias - tau).max(initial=0.0) < TOLERANCE * scale


# Edges -----------------------------------------------------------------------------------------------------


def test_no_coordinates() -> None:
    for skeleton in (kido.Skeleton(), build(["weld"], [-1], 1), build(["weld"] * 4, [-1, 0, 1, 1], 2)):
        assert skeleton.mass_matrix.shape == (0, 0)
        assert skeleton.inverse_dynamics([], [], []).shape == (0,)
        assert skeleton.forward_dynamics([], [], []).shape == (0,)
        skeleton.compute_forward_dynamics()
        skeleton.compute_inverse_dynamics()
        assert skeleton.kinetic_energy == 0.0
        assert skeleton.forward_kinematics([]).shape == (skeleton.num_bodies, 4, 4)
        assert np.array_equal(skeleton.momentum, np.zeros(6))


def massless_tip() -> kido.Skeleton:
    skeleton = kido.Skeleton("robot")
    some = kido.Inertia.from_diagonal(1, [1, 1, 1])
    skeleton.add_body("base", kido.RevoluteJoint("shoulder"), inertia=some)
    skeleton.add_body("tip", kido.RevoluteJoint("wrist", axis=(1, 0, 0)), "base")
    return skeleton


def test_massless_movers_are_refused_by_name() -> None:
    skeleton = massless_tip()
    expected = (
        "skeleton 'robot': joint 'wrist' moves body 'tip', but neither that body nor any below it has mass; "
        "give it an inertia or weld it"
    )
    with pytest.raises(kido.ModelError) as caught:
        skeleton.forward_dynamics([0, 0], [0, 0], [0, 0])
    assert str(caught.value) == expected
    with pytest.raises(kido.ModelError) as caught:
        skeleton.compute_forward_dynamics()
    assert str(caught.value) == expected
    # What needs no inverse of the mass matrix works.
    assert skeleton.inverse_dynamics([0, 0], [0, 0], [1, 1]) == pytest.approx([1.0, 0.0])
    # A welded massless body, or mass further out, is fine.
    skeleton.add_body("tool", kido.WeldJoint(), "tip", kido.Inertia(1.0, (0, 1, 0)))
    assert np.isfinite(skeleton.forward_dynamics([0, 0], [0, 0], [0, 0])).all()


@pytest.mark.parametrize("tilt", [0.0, 0.3])
def test_point_mass_on_its_own_axis_is_refused(tilt: float) -> None:
    """The body has mass, but turning moves none of it."""
    skeleton = kido.Skeleton("robot")
    axis = np.array([np.sin(tilt), 0.1 * tilt, np.cos(tilt)])
    skeleton.add_body("b", kido.RevoluteJoint("spin", axis=axis), inertia=kido.Inertia(1.0, 0.7 * axis))
    with pytest.raises(kido.ModelError) as caught:
        skeleton.forward_dynamics([0.4], [0.0], [1.0])
    assert str(caught.value) == (
        "skeleton 'robot': the inertia seen by dof 0 ('spin') is not positive; a body it moves needs mass or "
        "rotational inertia, or axes of its joint coincide at this position"
    )


def test_gimbal_lock_is_refused_and_its_neighbourhood_is_not() -> None:
    skeleton = kido.Skeleton("top")
    skeleton.add_body("b", kido.EulerJoint("e", order="zxz"), inertia=kido.Inertia.from_diagonal(1, [1, 2, 3]))
    with pytest.raises(kido.ModelError, match="or axes of its joint coincide at this position"):
        skeleton.forward_dynamics([0.3, 0.0, 0.4], [0, 0, 0], [0, 0, 0])
    q = [0.3, 1e-3, 0.4]
    udot = skeleton.forward_dynamics(q, [0, 0, 0], [1, 0, 1])
    assert skeleton.inverse_dynamics(q, [0, 0, 0], udot) == pytest.approx([1, 0, 1], abs=1e-9)
