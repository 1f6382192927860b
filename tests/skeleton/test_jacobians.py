"""Jacobians of nodes and of centres of mass, and their rates, against definitions and finite differences.

Columns come from the products of transforms in `trees.Reference`, and accelerations from their Taylor series, so that
A = J udot + dJ u is checked against a formula that knows no Jacobian. Tolerance 1e-12 of the largest entry for
one product, 1e-11 where velocities squared times depth add up.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import kido
from kido.errors import KidoError, ModelError, NameLookupError, StateError
from manifold import along_motion, along_positions
from trees import (
    SEEDS,
    Reference,
    build,
    point_shift,
    random_skeleton,
    random_state,
    random_transform,
    relative_error,
    set_state,
    skeletons,
)  # fmt: skip

TOLERANCE = 1e-11


@given(skeletons(), SEEDS)
def test_jacobian_is_the_sum_of_columns(skeleton: kido.Skeleton, seed: int) -> None:
    q, u, a, _ = random_state(skeleton, seed)
    set_state(skeleton, q, u, a)
    r = Reference(skeleton, q, u, a)
    rng = np.random.default_rng(seed)
    for body in skeleton.bodies:
        offset = rng.normal(size=3)
        X = point_shift(r.X[body.index, :3, :3] @ offset)
        J = skeleton.jacobian(body, offset)
        assert relative_error(J, X @ r.J[body.index]) < TOLERANCE
        assert np.array_equal(kido.quantities.jacobian(skeleton, q, body, offset), J)
        assert np.array_equal(skeleton.linear_jacobian(body.name, offset), J[3:])
        assert np.array_equal(skeleton.angular_jacobian(body.index), J[:3])
        own = [dof.index for dof in body.dependent_dofs]
        assert np.array_equal(body.jacobian(offset), J[:, own])
        assert np.array_equal(body.linear_jacobian(offset), J[3:, own])
        assert np.array_equal(body.angular_jacobian(), J[:3, own])
        rest = np.setdiff1d(np.arange(skeleton.num_dofs), own)
        assert not J[:, rest].any()
        assert [dof.index for dof in skeleton.dofs if body.depends_on(dof)] == own


@given(skeletons(), SEEDS)
def test_accelerations_are_jacobians_times_rates(skeleton: kido.Skeleton, seed: int) -> None:
    q, u, a, _ = random_state(skeleton, seed)
    set_state(skeleton, q, u, a)
    r = Reference(skeleton, q, u, a)
    rng = np.random.default_rng(seed)
    for body in skeleton.bodies:
        offset = rng.normal(size=3)
        J = skeleton.jacobian(body, offset)
        classic = skeleton.jacobian_classic_derivative(body, offset)
        spatial = skeleton.jacobian_spatial_derivative(body, offset)
        arm, (w, A) = r.X[body.index, :3, :3] @ offset, (r.V[body.index, :3], r.A[body.index])
        expected = A.copy()
        expected[3:] += np.cross(A[:3], arm) + np.cross(w, np.cross(w, arm))
        assert relative_error(J @ a + classic @ u, expected) < TOLERANCE
        v = r.V[body.index, 3:] + np.cross(w, arm)
        expected[3:] -= np.cross(w, v)
        assert relative_error(J @ a + spatial @ u, expected) < TOLERANCE
        own = [dof.index for dof in body.dependent_dofs]
        assert np.array_equal(body.jacobian_classic_derivative(offset), classic[:, own])
        assert np.array_equal(body.jacobian_spatial_derivative(offset), spatial[:, own])
        assert np.array_equal(kido.quantities.jacobian_classic_derivative(skeleton, q, u, body, offset), classic)
        assert np.array_equal(kido.quantities.jacobian_spatial_derivative(skeleton, q, u, body, offset), spatial)


@pytest.mark.parametrize("seed", range(6))
def test_classic_derivative_is_the_derivative(seed: int) -> None:
    skeleton = random_skeleton(seed, 12)
    q, u, _, _ = random_state(skeleton, seed, 0.5)
    offset = np.array([0.3, -0.2, 0.1])
    for body in skeleton.bodies[3:]:
        numeric = along_motion(lambda p, body=body: kido.quantities.jacobian(skeleton, p, body, offset), skeleton, q, u)
        exact = kido.quantities.jacobian_classic_derivative(skeleton, q, u, body, offset)
        assert relative_error(exact, numeric) < 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_spatial_derivative_is_that_of_a_screw_at_a_point_fixed_in_space(seed: int) -> None:
    skeleton = random_skeleton(seed, 12)
    q, u, _, _ = random_state(skeleton, seed, 0.5)
    for body in skeleton.bodies[3:]:
        point = skeleton.forward_kinematics(q)[body.index, :3, 3]

        def screw(p, body=body, point=point):
            X = skeleton.forward_kinematics(p)[body.index]
            return kido.quantities.jacobian(skeleton, p, body, X[:3, :3].T @ (point - X[:3, 3]))

        exact = kido.quantities.jacobian_spatial_derivative(skeleton, q, u, body)
        assert relative_error(exact, along_motion(screw, skeleton, q, u)) < 1e-9


# In the axes of frames, and seen from nodes ---------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_in_the_axes_of_any_frame(seed: int) -> None:
    skeleton = random_skeleton(seed, 10)
    q, u, a, _ = random_state(skeleton, seed)
    set_state(skeleton, q, u, a)
    rng = np.random.default_rng(seed)
    frame = kido.SimpleFrame(skeleton.bodies[2], "on a body", random_transform(rng))
    shape = skeleton.bodies[4].add_shape(kido.Sphere(0.1), random_transform(rng))
    set_state(skeleton, q, u, a)
    body = skeleton.bodies[-1]
    calls = [
        skeleton.jacobian, skeleton.jacobian_classic_derivative, skeleton.jacobian_spatial_derivative,
        body.skeleton.linear_jacobian,
    ]  # fmt: skip
    for axes in (frame, shape, skeleton.bodies[5], kido.SimpleFrame(None, "fixed", random_transform(rng))):
        R = axes.world_transform[:3, :3]
        for call in calls:
            plain, turned = call(body), call(body, in_coordinates_of=axes)
            for part in range(0, len(plain), 3):
                assert relative_error(turned[part : part + 3], R.T @ plain[part : part + 3]) < 1e-14
    # A method with a state puts nodes of the skeleton where the state says.
    other = rng.uniform(-1, 1, skeleton.num_dofs)
    R = skeleton.forward_kinematics(other)[4, :3, :3] @ shape.relative_transform[:3, :3]
    J = kido.quantities.jacobian(skeleton, other, body)
    assert (
        relative_error(kido.quantities.jacobian(skeleton, other, body, in_coordinates_of=shape)[:3], R.T @ J[:3])
        < 1e-14
    )


@pytest.mark.parametrize("seed", range(5))
def test_of_nodes_fixed_to_bodies(seed: int) -> None:
    skeleton = random_skeleton(seed, 10)
    rng = np.random.default_rng(seed)
    pose = random_transform(rng)
    shape = skeleton.bodies[6].add_shape(kido.Sphere(0.1), pose)
    q, u, a, _ = random_state(skeleton, seed)
    set_state(skeleton, q, u, a)
    offset = rng.normal(size=3)
    at = pose[:3, :3] @ offset + pose[:3, 3]
    assert relative_error(shape.jacobian(offset), skeleton.bodies[6].jacobian(at)) < 1e-14
    classic = skeleton.jacobian_classic_derivative(shape, offset)
    assert relative_error(classic, skeleton.jacobian_classic_derivative(6, at)) < 1e-13
    assert shape.dependent_dofs == skeleton.bodies[6].dependent_dofs
    # The node's own velocity is what its Jacobian says.
    J = skeleton.jacobian(shape, offset)
    assert relative_error(J @ u, shape.compute_spatial_velocity(offset)) < 1e-13


@given(skeletons(), SEEDS)
def test_relative_jacobians(skeleton: kido.Skeleton, seed: int) -> None:
    q, u, a, _ = random_state(skeleton, seed)
    set_state(skeleton, q, u, a)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        node, seen_from, axes = (skeleton.bodies[i] for i in rng.integers(skeleton.num_bodies, size=3))
        offset = rng.normal(size=3)
        J = skeleton.relative_jacobian(node, seen_from, offset, in_coordinates_of=axes)
        expected = node.compute_spatial_velocity(offset, seen_from, axes)
        assert relative_error(J @ u, expected) < TOLERANCE
        dJ = skeleton.relative_jacobian_derivative(node, seen_from, offset, in_coordinates_of=axes)
        expected[:3] = node.angular_acceleration(seen_from, axes)
        expected[3:] = node.linear_acceleration(offset, seen_from, axes)
        assert relative_error(J @ a + dJ @ u, expected) < TOLERANCE
        again = kido.quantities.relative_jacobian(skeleton, q, node, seen_from, offset, axes)
        assert relative_error(again, J) < 1e-14
        again = kido.quantities.relative_jacobian_derivative(skeleton, q, u, node, seen_from, offset, axes)
        assert relative_error(again, dJ) < 1e-14


@given(skeletons(), SEEDS)
def test_com_jacobians(skeleton: kido.Skeleton, seed: int) -> None:
    q, u, a, _ = random_state(skeleton, seed)
    set_state(skeleton, q, u, a)
    r = Reference(skeleton, q, u, a)
    rng = np.random.default_rng(seed)
    some = sorted(set(rng.integers(skeleton.num_bodies, size=3).tolist()))
    root = skeleton.bodies[some[0]]
    for bodies, chosen in ((None, range(skeleton.num_bodies)), (some, some), (root.subtree, indices(root.subtree))):
        mass = sum(skeleton.bodies[i].mass for i in chosen)
        if mass == 0.0:
            with pytest.raises(ModelError, match="no mass"):
                skeleton.com_jacobian(bodies)
            continue
        J = sum(
            skeleton.bodies[i].mass * (point_shift(r.X[i, :3, :3] @ skeleton.bodies[i].inertia.com) @ r.J[i])[3:]
            for i in chosen
        )
        assert relative_error(skeleton.com_jacobian(bodies), J / mass) < TOLERANCE
        assert np.array_equal(kido.quantities.com_jacobian(skeleton, q, bodies), skeleton.com_jacobian(bodies))
        dJ = skeleton.com_jacobian_derivative(bodies)
        assert np.array_equal(kido.quantities.com_jacobian_derivative(skeleton, q, u, bodies), dJ)
        assert relative_error(J @ a / mass + dJ @ u, skeleton.com_acceleration(bodies)) < TOLERANCE
        axes = skeleton.bodies[0]
        R = axes.world_transform[:3, :3]
        assert relative_error(skeleton.com_jacobian(bodies, axes), R.T @ J / mass) < TOLERANCE
        assert relative_error(skeleton.com_jacobian_derivative(bodies, axes), R.T @ dJ) < TOLERANCE


def indices(bodies: list[kido.BodyNode]) -> list[int]:
    return [body.index for body in bodies]


# Laziness, degenerate skeletons, mistakes -----------------------------------------------------------------


def test_kept_until_what_they_depend_on_changes() -> None:
    skeleton = random_skeleton(1, 8)
    q, u, a, _ = random_state(skeleton, 1)
    set_state(skeleton, q, u, a)
    J, dJ = skeleton.jacobian(7), skeleton.jacobian_classic_derivative(7)
    J[:] = np.nan  # a copy
    skeleton.velocities = 2.0 * u
    assert relative_error(skeleton.jacobian_classic_derivative(7), 2.0 * dJ) < 1e-14
    before = skeleton.evaluations["jacobian"]
    assert np.array_equal(skeleton.jacobian(7), kido.quantities.jacobian(skeleton, q, 7))
    assert skeleton.evaluations["jacobian"] == before
    skeleton.positions = -q
    assert np.array_equal(skeleton.jacobian(7), kido.quantities.jacobian(skeleton, -q, 7))
    skeleton.joints[2].transform_from_parent = np.eye(4)  # properties and structure
    fresh = skeleton.clone()
    assert np.array_equal(skeleton.jacobian(7), fresh.jacobian(7))
    skeleton.add_body("more", kido.RevoluteJoint("more"), skeleton.bodies[7], kido.Inertia(1.0))
    assert skeleton.jacobian("more").shape == (6, fresh.num_dofs + 1)
    assert relative_error(skeleton.jacobian(7)[:, :-1], fresh.jacobian(7)) < 1e-15


@given(skeletons(most=8), SEEDS)
def test_derivatives_of_world_transforms(skeleton: kido.Skeleton, seed: int) -> None:
    """dX/dq_k = [w_k]x X of the columns, and central differences on the manifold; of bodies, and of a frame on one."""
    q, u, a, _ = random_state(skeleton, seed)
    set_state(skeleton, q, u, a)
    r = Reference(skeleton, q, u, a)
    rng = np.random.default_rng(seed)
    marker = skeleton.bodies[-1].create_node(kido.FrameNode, "tip", random_transform(rng))
    for node in (*skeleton.bodies, marker):
        D = skeleton.world_transform_derivatives(node)
        X = node.world_transform
        if node is not marker:
            expected = np.zeros_like(D)
            for k, column in enumerate(r.J[node.index].T):
                expected[k, :3, :3], expected[k, :3, 3] = np.cross(column[:3], X[:3, :3].T).T, column[3:]
            assert relative_error(D, expected) < TOLERANCE
        if len(q):
            moved = along_positions(lambda x, n=node: kido.quantities.world_transform(skeleton, x, n), skeleton, q)
            assert relative_error(np.moveaxis(D, 0, -1), moved) < 1e-7
        assert np.array_equal(kido.quantities.world_transform_derivatives(skeleton, q, node), D)
        own = [dof.index for dof in node.dependent_dofs]
        assert np.array_equal(node.world_transform_derivatives(), D[own])
        assert not np.delete(D, own, axis=0).any()
        rate = np.tensordot(u, D, axes=(0, 0))
        assert relative_error(rate[:3, 3], node.linear_velocity()) < TOLERANCE


def test_derivatives_of_world_transforms_of_many_states() -> None:
    skeleton = random_skeleton(4, 6)
    rng = np.random.default_rng(4)
    q = rng.normal(size=(3, skeleton.num_dofs))
    D = kido.batch.Batch(skeleton).world_transform_derivatives(q, 5)
    assert D.shape == (3, skeleton.num_dofs, 4, 4)
    assert np.array_equal(D[1], kido.quantities.world_transform_derivatives(skeleton, q[1], 5))


def test_one_jacobian_evaluates_its_path_only() -> None:
    skeleton = build(["revolute"] * 7, [-1, 0, 1, 1, 1, 2, 3], 0)
    skeleton.jacobian(5)
    skeleton.positions = skeleton.positions + 0.1
    before = skeleton.evaluations["transforms"]
    skeleton.jacobian(6)
    assert skeleton.evaluations["transforms"] - before == 4


def test_without_coordinates() -> None:
    skeleton = build(["weld", "weld"], [-1, 0], 3)
    assert skeleton.jacobian(1).shape == (6, 0)
    assert skeleton.jacobian_spatial_derivative(1).shape == (6, 0)
    assert skeleton.relative_jacobian(1, 0).shape == (6, 0)
    assert list(skeleton.bodies[1].dependent_dofs) == []
    assert kido.quantities.jacobian(skeleton, [], 0).shape == (6, 0)


def test_mistakes() -> None:
    skeleton, other = random_skeleton(1, 4), random_skeleton(2, 4)
    q = np.zeros(skeleton.num_dofs)
    with pytest.raises(NameLookupError, match="nobody"):
        skeleton.jacobian("nobody")
    with pytest.raises(ModelError, match="rides on skeleton"):
        skeleton.jacobian(other.bodies[0])
    with pytest.raises(ModelError, match="expected a node"):
        skeleton.jacobian(3.5)
    with pytest.raises(ModelError, match="offset"):
        skeleton.jacobian(0, (1.0, 2.0))
    with pytest.raises(ModelError, match="offset"):
        kido.quantities.jacobian(skeleton, q, 0, (1.0, np.nan, 2.0))
    with pytest.raises(ModelError, match="in_coordinates_of"):
        skeleton.jacobian(0, in_coordinates_of="world")
    with pytest.raises(StateError, match="positions"):
        kido.quantities.jacobian(skeleton, q[1:], 0)
    with pytest.raises(StateError, match="velocities"):
        kido.quantities.jacobian_classic_derivative(skeleton, q, np.full_like(q, np.nan), 0)
    with pytest.raises(ModelError, match="no body of it"):
        skeleton.com_jacobian(other.bodies)
    with pytest.raises(ModelError, match="no degree of freedom"):
        skeleton.bodies[0].depends_on(other.dofs[0])
    with pytest.raises(KidoError):
        skeleton.com_jacobian(7)
    assert kido.quantities.jacobian(skeleton, q.tolist(), 0).shape == (6, len(q))
