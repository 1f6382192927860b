"""Identities of articulated bodies and of operational space with modes in the tree, against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from flexible_trees import random_tree
from kido.flexible import flexible_bodies
from trees import relative_error

# Relative to what conditions of M, of 1e3 to 1e5 in these trees, leave of 1e-16.
TIGHT = 1e-10


@pytest.fixture(scope="module", params=range(2))
def skeleton(request: pytest.FixtureRequest) -> kido.Skeleton:
    made = random_tree(request.param, bodies=9).skeleton
    rng, n = np.random.default_rng(request.param), made.num_dofs
    made.positions, made.velocities = 0.3 * rng.normal(size=n), rng.normal(size=n)
    return made


def nodes_of(skeleton: kido.Skeleton) -> list[kido.BodyNode]:
    """A node of a flexible body, what hangs on it, and the last body."""
    flexible = flexible_bodies(skeleton)
    return [flexible[1].node("b"), flexible[-1].body, skeleton.bodies[-1]]


def test_mass_matrix_and_its_inverse(skeleton: kido.Skeleton) -> None:
    M, Y = skeleton.mass_matrix, skeleton.inverse_mass_matrix
    assert relative_error(Y @ M @ Y, Y) < TIGHT
    assert relative_error(Y, Y.T) < TIGHT
    assert abs(skeleton.log_det_mass_matrix() - np.linalg.slogdet(M)[1]) < 1e-9
    L = skeleton.cholesky_factor
    assert relative_error(L @ L.T, M) < 1e-13
    held = [1, flexible_bodies(skeleton)[0].dofs.start]
    free = np.setdiff1d(np.arange(len(M)), held)
    part = np.linalg.slogdet(M[np.ix_(free, free)])[1]
    assert abs(skeleton.log_det_mass_matrix(prescribed=held) - part) < 1e-9


@pytest.mark.parametrize("held", [(), "some"])
def test_operational_space(skeleton: kido.Skeleton, held: object) -> None:
    """Lambda^-1 = J M^-1 J^T, by response sweeps with joints and modes held, and what follows from it."""
    s, n = skeleton, skeleton.num_dofs
    chosen = [0, flexible_bodies(s)[1].dofs.start + 1] if held else []
    nodes = nodes_of(s)
    free = np.setdiff1d(np.arange(n), chosen)
    J = np.vstack([s.jacobian(node) for node in nodes])
    inverse = np.zeros((n, n))
    inverse[np.ix_(free, free)] = np.linalg.inv(s.mass_matrix[np.ix_(free, free)])
    wanted = J @ inverse @ J.T
    given = {"prescribed": chosen} if held else {}
    assert relative_error(s.operational_space_compliance(nodes, **given), wanted) < TIGHT
    assert relative_error(s.node_responses(nodes, **given), inverse @ J.T) < TIGHT
    inertia = s.operational_space_inertia(nodes[:1], **given)
    assert relative_error(inertia @ wanted[:6, :6], np.eye(6)) < TIGHT
    jbar = s.dynamically_consistent_inverse(nodes[:1], **given)
    assert relative_error(J[:6] @ jbar, np.eye(6)) < TIGHT
    a = np.zeros(n)
    bias = (s.coriolis_and_gravity_forces)[free]
    a[free] = -np.linalg.solve(s.mass_matrix[np.ix_(free, free)], bias)
    product = s.operational_space_velocity_product(nodes[:1])
    assert relative_error(product, s.jacobian_classic_derivative(nodes[0]) @ s.velocities) < TIGHT
    mu = -np.linalg.solve(wanted[:6, :6], J[:6] @ a + product)
    assert relative_error(s.operational_space_bias(nodes[:1], **given), mu) < 1e-8
    f = np.arange(18.0).reshape(3, 6)
    assert relative_error(s.joint_forces_of_wrenches(nodes, f), J.T @ f.reshape(-1)) < 1e-13


def test_inertia_of_all_as_one_body(skeleton: kido.Skeleton) -> None:
    """What a rigid motion of a floating tree has of momentum is its centroidal inertia's."""
    s = skeleton
    inertia, c = s.centroidal_inertia, np.array(s.com)
    total = np.zeros((6, 6))
    base = kido.quantities.kinetic_energy
    free = next((j for j in s.joints if isinstance(j, kido.FreeJoint) and j.child.parent is None), None)
    assert np.isclose(inertia[5, 5], s.mass)
    if free is None:
        return
    for k in range(6):
        V = np.eye(6)[k]
        w, v = V[:3], V[3:] - np.cross(V[:3], c - free.child.world_transform[:3, 3])
        R = free.child.world_transform[:3, :3]
        u = np.zeros(s.num_dofs)
        first = free.dofs[0].index
        u[first : first + 6] = np.concatenate([R.T @ w, R.T @ v])
        total[k, k] = 2.0 * base(s, s.positions, u) - sum(d.armature * u[d.index] ** 2 for d in s.dofs)
    assert np.allclose(np.diag(total), np.diag(inertia), rtol=1e-10)
