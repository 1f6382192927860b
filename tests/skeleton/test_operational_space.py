"""Operational space and articulated quantities against dense formulas from the definitions (theory.md, a4 to a6)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import kido
from kido.errors import ModelError, NameLookupError, StateError
from trees import (
    KINDS,
    SEEDS,
    Reference,
    point_shift,
    random_skeleton,
    random_state,
    relative_error,
    set_state,
    skeletons,
)

TOLERANCE = 1e-10  # what dense formulas with M^-1 leave on random trees


def random_nodes(skeleton: kido.Skeleton, seed: int, count: int) -> tuple[list[kido.BodyNode], np.ndarray]:
    rng = np.random.default_rng(seed)
    bodies = [skeleton.bodies[k] for k in rng.integers(skeleton.num_bodies, size=count)]
    return bodies, rng.uniform(-0.3, 0.3, (count, 3))


def dense_jacobian(truth: Reference, bodies, offsets) -> np.ndarray:
    return np.vstack([point_shift(truth.X[b.index, :3, :3] @ r) @ truth.J[b.index] for b, r in zip(bodies, offsets)])


def moving(seed: int, bodies: int, kinds=KINDS) -> kido.Skeleton:
    """A random skeleton at a random state, all of whose joints move mass."""
    skeleton = random_skeleton(seed, bodies, kinds)
    set_state(skeleton, *random_state(skeleton, seed))
    return skeleton


def well_posed(skeleton: kido.Skeleton) -> bool:
    M = skeleton.mass_matrix
    return skeleton.num_dofs > 0 and np.linalg.cond(M) < 1e7


@settings(max_examples=60)
@given(skeletons(), SEEDS)
def test_compliance_of_random_trees(skeleton: kido.Skeleton, seed: int) -> None:
    set_state(skeleton, *random_state(skeleton, seed))
    if not well_posed(skeleton):
        return
    bodies, offsets = random_nodes(skeleton, seed, 1 + seed % 4)
    truth = Reference(skeleton, skeleton.positions, skeleton.velocities)
    J = dense_jacobian(truth, bodies, offsets)
    expected = J @ np.linalg.solve(truth.mass_matrix, J.T)
    found = skeleton.operational_space_compliance(bodies, offsets)
    assert relative_error(found, expected) < TOLERANCE
    assert np.array_equal(found, found.T)
    given_q = kido.quantities.operational_space_compliance(skeleton, skeleton.positions, bodies, offsets)
    assert relative_error(given_q, found) < 1e-13


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11])  # M of seed 10 has the condition number 4e9
def test_trees_of_fifty_bodies(seed: int) -> None:
    skeleton = moving(seed, 50)
    truth = Reference(skeleton, skeleton.positions, skeleton.velocities)
    bodies, offsets = random_nodes(skeleton, seed, 6)
    J, M = dense_jacobian(truth, bodies, offsets), truth.mass_matrix
    found = skeleton.operational_space_compliance(bodies, offsets)
    assert relative_error(found, J @ np.linalg.solve(M, J.T)) < TOLERANCE
    assert skeleton.log_det_mass_matrix() == pytest.approx(np.linalg.slogdet(M)[1], abs=1e-9)
    nu = skeleton.diagonalized_velocities
    assert 0.5 * nu @ nu == pytest.approx(truth.kinetic_energy, rel=TOLERANCE)


@pytest.mark.parametrize("seed", range(12))
def test_everything_with_prescribed_coordinates(seed: int) -> None:
    """Rows and columns of M that belong to coordinates which do not give way are left out."""
    skeleton = moving(seed, 12)
    assert well_posed(skeleton)
    rng = np.random.default_rng(seed)
    n = skeleton.num_dofs
    prescribed = None if seed % 3 == 0 else sorted(rng.choice(n, n // 3, replace=False).tolist())
    free = np.setdiff1d(np.arange(n), prescribed or [])
    bodies, offsets = random_nodes(skeleton, seed, 3)
    q, u = skeleton.positions, skeleton.velocities
    truth = Reference(skeleton, q, u)
    J, M = dense_jacobian(truth, bodies, offsets), truth.mass_matrix
    Jf, Mf = J[:, free], M[np.ix_(free, free)]
    compliance = Jf @ np.linalg.solve(Mf, Jf.T)
    assert relative_error(skeleton.operational_space_compliance(bodies, offsets, prescribed=prescribed), compliance) < (
        TOLERANCE
    )
    for rows, part in (
        ("all", slice(None)),
        ("linear", [3, 4, 5, 9, 10, 11, 15, 16, 17]),
        ("angular", [0, 1, 2, 6, 7, 8, 12, 13, 14]),
    ):
        A = compliance[part][:, part] + 0.01 * np.eye(len(compliance[part]))
        options = {"rows": rows, "damping": 0.01, "prescribed": prescribed}
        inertia = skeleton.operational_space_inertia(bodies, offsets, **options)
        assert relative_error(inertia, np.linalg.inv(A)) < 1e-9
        Jbar = np.zeros((n, len(A)))
        Jbar[free] = np.linalg.solve(Mf, Jf[part].T) @ np.linalg.inv(A)
        assert relative_error(skeleton.dynamically_consistent_inverse(bodies, offsets, **options), Jbar) < 1e-9
        free_motion = np.zeros(n)
        free_motion[free] = -np.linalg.solve(Mf, truth.bias[free])
        at = Reference(skeleton, q, u, free_motion)
        A_nodes = np.concatenate([point_acceleration(at, b, r) for b, r in zip(bodies, offsets)])
        mu = -np.linalg.inv(A) @ A_nodes[part]
        assert relative_error(skeleton.operational_space_bias(bodies, offsets, **options), mu) < 1e-9
    responses = np.zeros((n, 18))
    responses[free] = np.linalg.solve(Mf, Jf.T)
    assert relative_error(skeleton.node_responses(bodies, offsets, prescribed=prescribed), responses) < TOLERANCE
    assert skeleton.log_det_mass_matrix(prescribed) == pytest.approx(np.linalg.slogdet(Mf)[1], abs=1e-9)


def point_acceleration(truth: Reference, body: kido.BodyNode, offset) -> np.ndarray:
    r = truth.X[body.index, :3, :3] @ offset
    w, wdot, a = truth.V[body.index, :3], truth.A[body.index, :3], truth.A[body.index, 3:]
    return np.concatenate([wdot, a + np.cross(wdot, r) + np.cross(w, np.cross(w, r))])


@pytest.mark.parametrize("seed", range(6))
def test_velocity_products_and_forces_by_gather(seed: int) -> None:
    skeleton = moving(seed, 14)
    bodies, offsets = random_nodes(skeleton, seed, 5)
    truth = Reference(skeleton, skeleton.positions, skeleton.velocities)
    expected = np.concatenate([point_acceleration(truth, b, r) for b, r in zip(bodies, offsets)])
    found = skeleton.operational_space_velocity_product(bodies, offsets)
    assert relative_error(found, expected) < TOLERANCE
    wrenches = np.random.default_rng(seed).normal(size=(5, 6))
    J = dense_jacobian(truth, bodies, offsets)
    assert relative_error(skeleton.joint_forces_of_wrenches(bodies, wrenches, offsets), J.T @ wrenches.ravel()) < 1e-12


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5])  # of seed 4, M has the condition number 4e11
def test_log_det_gradient_along_motion(seed: int) -> None:
    """Central differences on the manifold; every joint type is in the tree."""
    skeleton = moving(seed, 14)
    q, n = skeleton.positions, skeleton.num_dofs
    for prescribed in (None, list(range(0, n, 3))):
        flags = {"prescribed": prescribed}
        gradient = skeleton.log_det_mass_matrix_gradient(**flags)
        for k in range(n):
            values = []
            for h in (1e-4, -1e-4):
                skeleton.positions = skeleton.integrate_positions(q, h * np.eye(n)[k])
                values.append(skeleton.log_det_mass_matrix(**flags))
            skeleton.positions = q
            # What differences leave: h^2 of the third derivative, and rounding of ln det over h.
            assert gradient[k] == pytest.approx((values[0] - values[1]) / 2e-4, abs=1e-6, rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_diagonal_velocities(seed: int) -> None:
    skeleton = moving(seed, 12)
    nu = skeleton.diagonalized_velocities
    assert 0.5 * nu @ nu == pytest.approx(skeleton.kinetic_energy, rel=1e-10)
    assert relative_error(skeleton.velocities_of_diagonalized(nu), skeleton.velocities) < TOLERANCE
    F, D = skeleton.mass_matrix_factors
    assert relative_error(nu, np.sqrt(D) * (F.T @ skeleton.velocities)) < TOLERANCE


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5, 6])  # of seed 4, M has the condition number 4e11
def test_inertias_and_momenta_of_bodies(seed: int) -> None:
    skeleton = moving(seed, 14)
    truth = Reference(skeleton, skeleton.positions, skeleton.velocities)
    composite, momenta = np.array(truth.I), np.einsum("iab,ib->ia", truth.I, truth.V)
    for i in range(len(truth.I) - 1, -1, -1):
        p = truth.parent[i]
        if p >= 0:
            phi = truth.phi(p, i)
            composite[p] += phi @ composite[i] @ phi.T
            momenta[p] += phi @ momenta[i]
    assert relative_error(skeleton.composite_inertias, composite) < 1e-12
    assert relative_error(skeleton.composite_momenta, momenta) < 1e-12
    for prescribed in ((), range(0, skeleton.num_dofs, 2)):
        articulated = np.array(truth.I)
        for i in range(len(truth.I) - 1, -1, -1):
            p, own = truth.parent[i], skeleton.bodies[i].parent_joint.dofs
            if p >= 0:
                H = truth.H[i][:, [j for j, dof in enumerate(own) if dof.index not in prescribed]]
                P = articulated[i]
                if H.shape[1]:
                    P = P - P @ H @ np.linalg.solve(H.T @ P @ H, H.T @ P)
                phi = truth.phi(p, i)
                articulated[p] += phi @ P @ phi.T
        found = skeleton.articulated_inertias(list(prescribed))
        assert relative_error(found, articulated) < TOLERANCE


def test_singular_compliance_has_a_pseudo_inverse() -> None:
    """A planar arm: its tip moves in two directions and turns in one."""
    arm = kido.Skeleton("arm")
    for k in range(3):
        joint = kido.RevoluteJoint(axis=(0, 1, 0), transform_from_parent=[0, 0, 0.4 * (k > 0)])
        inertia = kido.Inertia.from_diagonal(1.0, (0.1, 0.1, 0.05), (0, 0, 0.2))
        arm.add_body(f"l{k}", joint, arm.bodies[-1] if k else None, inertia)
    arm.positions = [0.3, 0.5, -0.7]
    compliance = arm.operational_space_compliance("l2", (0, 0, 0.4))
    inertia = arm.operational_space_inertia("l2", (0, 0, 0.4))
    assert np.linalg.matrix_rank(compliance, 1e-9) == 3
    assert np.allclose(inertia, np.linalg.pinv(compliance, 1e-9, hermitian=True), rtol=1e-9, atol=1e-9)
    # The same node twice: the forces share.
    twice = arm.operational_space_inertia(["l2", "l2"], rows="linear")
    once = arm.operational_space_inertia("l2", rows="linear")
    assert np.allclose(twice, np.tile(once / 4, (2, 2)), rtol=1e-8, atol=1e-9)


def test_trees_apart_and_nothing_at_all() -> None:
    skeleton = kido.Skeleton("two")
    for name in "ab":
        skeleton.add_body(name, kido.FreeJoint(), None, kido.Inertia.from_diagonal(2.0, (1, 2, 3)))
    skeleton.add_body("plate", kido.WeldJoint(), None, kido.Inertia(1.0))
    A = skeleton.operational_space_compliance(["a", "b", "plate"])
    assert np.allclose(A, np.diag([1, 1 / 2, 1 / 3, 0.5, 0.5, 0.5] * 2 + [0] * 6))
    inertia = skeleton.operational_space_inertia(["a", "plate"])
    assert np.allclose(inertia, np.diag([1, 2, 3, 2, 2, 2] + [0] * 6))
    assert skeleton.operational_space_compliance([]).shape == (0, 0)
    empty = kido.Skeleton("empty")
    assert empty.operational_space_inertia([]).shape == (0, 0)
    assert empty.log_det_mass_matrix() == 0.0 and empty.log_det_mass_matrix_gradient().shape == (0,)
    assert empty.diagonalized_velocities.shape == (0,)
    assert empty.composite_inertias.shape == (0, 6, 6)


def test_nodes_on_welded_bodies_and_frames() -> None:
    skeleton = moving(3, 10, ("weld", "revolute", "ball"))
    node = skeleton.bodies[5].create_node(kido.EndEffector, "tip", [0.1, 0.2, 0.3])
    nodes = [node, skeleton.bodies[9], 4, "b2"]
    J = np.vstack([skeleton.jacobian(n) for n in nodes])
    expected = J @ skeleton.inverse_mass_matrix @ J.T
    assert relative_error(skeleton.operational_space_compliance(nodes), expected) < TOLERANCE
    assert relative_error(skeleton.joint_forces_of_wrenches(nodes, np.ones((4, 6))), J.T @ np.ones(24)) < 1e-12


def test_results_follow_the_state_and_worlds() -> None:
    skeleton = moving(4, 8)
    bodies = skeleton.bodies[-2:]
    before = skeleton.operational_space_compliance(bodies)
    world = kido.World()
    world.add_skeleton(skeleton)
    assert relative_error(skeleton.operational_space_compliance(bodies), before) < 1e-12
    value = skeleton.log_det_mass_matrix()
    skeleton.bodies[-1].inertia = kido.Inertia.from_diagonal(50.0, (5.0, 5.0, 5.0))
    assert skeleton.log_det_mass_matrix() != value
    expected = np.linalg.slogdet(skeleton.mass_matrix)[1]
    assert skeleton.log_det_mass_matrix() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_given_states_leave_the_held_one_alone(seed: int) -> None:
    skeleton = moving(seed, 10)
    twin, nodes = skeleton.clone(), [skeleton.bodies[-1].name]
    q, u, _, _ = random_state(skeleton, seed + 7)
    set_state(twin, q, u)
    some = list(range(0, skeleton.num_dofs, 2))
    for found, expected in (
        (kido.quantities.log_det_mass_matrix(skeleton, q, some), twin.log_det_mass_matrix(some)),
        (kido.quantities.log_det_mass_matrix_gradient(skeleton, q), twin.log_det_mass_matrix_gradient()),
        (kido.quantities.diagonalized_velocities(skeleton, q, u), twin.diagonalized_velocities),
        (kido.quantities.velocities_of_diagonalized(skeleton, q, u), twin.velocities_of_diagonalized(u)),
        (kido.quantities.composite_inertias(skeleton, q), twin.composite_inertias),
        (kido.quantities.articulated_inertias(skeleton, q, some), twin.articulated_inertias(some)),
        (kido.quantities.composite_momenta(skeleton, q, u), twin.composite_momenta),
        (kido.quantities.operational_space_inertia(skeleton, q.tolist(), nodes), twin.operational_space_inertia(nodes)),
        (kido.quantities.operational_space_bias(skeleton, q, u, nodes), twin.operational_space_bias(nodes)),
        (
            kido.quantities.operational_space_velocity_product(skeleton, q, u, nodes),
            twin.operational_space_velocity_product(nodes),
        ),
    ):
        assert relative_error(found, expected) < 1e-9
    assert np.array_equal(skeleton.positions, random_state(skeleton, seed)[0])
    body = skeleton.bodies[3]
    assert np.array_equal(body.articulated_inertia, skeleton.articulated_inertias()[3])
    assert np.array_equal(body.composite_inertia, skeleton.composite_inertias[3])


def test_what_is_refused() -> None:
    skeleton, other = moving(5, 6), moving(6, 6)
    tip = skeleton.bodies[-1]
    for call, error, message in (
        (lambda: skeleton.operational_space_inertia(other.bodies[0]), ModelError, "rides on skeleton"),
        (lambda: skeleton.operational_space_inertia(3.5), ModelError, "expected a node or a list"),
        (lambda: skeleton.operational_space_inertia("nobody"), NameLookupError, "nobody"),
        (lambda: skeleton.operational_space_inertia(tip, [1, 2]), ModelError, "three finite numbers"),
        (lambda: skeleton.operational_space_inertia(tip, [1, 2, np.nan]), ModelError, "three finite numbers"),
        (lambda: skeleton.operational_space_inertia(tip, rows="both"), ModelError, "'all', 'angular' or 'linear'"),
        (lambda: skeleton.operational_space_inertia(tip, damping=-1.0), ModelError, "not below 0"),
        (lambda: skeleton.operational_space_inertia(tip, prescribed=["none"]), NameLookupError, "none"),
        (lambda: kido.quantities.operational_space_inertia(skeleton, [0.0], tip), StateError, "positions"),
        (lambda: kido.quantities.operational_space_bias(
            skeleton, skeleton.positions * np.nan, skeleton.velocities, tip
        ), StateError, "positions"),
        (lambda: skeleton.joint_forces_of_wrenches(tip, [1.0]), StateError, "wrenches"),
        (lambda: skeleton.velocities_of_diagonalized([np.nan]), StateError, "values"),
    ):  # fmt: skip
        with pytest.raises(error, match=message):
            call()
    massless = kido.Skeleton("massless")
    massless.add_body("a", kido.RevoluteJoint())
    with pytest.raises(ModelError, match="mass"):
        massless.operational_space_inertia("a")


def test_gradient_is_zero_along_rigid_motion() -> None:
    skeleton = kido.Skeleton("free")
    skeleton.add_body("a", kido.FreeJoint(), None, kido.Inertia.from_diagonal(2.0, (1, 2, 3)))
    skeleton.add_body(
        "b", kido.BallJoint(transform_from_parent=[0.1, 0.2, 0.3]), "a", kido.Inertia(1.0, (0.3, 0, 0), np.eye(3))
    )
    skeleton.positions = np.arange(9) / 7
    gradient = skeleton.log_det_mass_matrix_gradient()
    assert np.abs(gradient[:6]).max() < 1e-13 and np.abs(gradient[6:]).max() > 1e-3
