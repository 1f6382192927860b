"""Centre of mass, momentum and energy against sums over bodies, Taylor series and finite differences."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given

import kido
from kido.errors import ModelError, StateError
from manifold import along_motion
from trees import (
    SEEDS,
    Reference,
    build,
    random_skeleton,
    random_state,
    random_transform,
    relative_error,
    set_state,
    skeletons,
    skew,
)  # fmt: skip

TOLERANCE = 1e-11


def coms(r: Reference) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Mass, position, velocity and acceleration of each body's centre of mass."""
    rows = []
    for body, X, V, A in zip(r.skeleton.bodies, r.X, r.V, r.A, strict=True):
        c, w = X[:3, :3] @ body.inertia.com, V[:3]
        v = V[3:] + np.cross(w, c)
        rows.append((X[:3, 3] + c, v, A[3:] + np.cross(A[:3], c) + np.cross(w, np.cross(w, c))))
    m = np.array([b.mass for b in r.skeleton.bodies])
    return m, *(np.array(x) for x in zip(*rows, strict=True))  # type: ignore[return-value]


@given(skeletons(), SEEDS)
def test_centre_of_mass(skeleton: kido.Skeleton, seed: int) -> None:
    q, u, a, _ = random_state(skeleton, seed)
    set_state(skeleton, q, u, a)
    m, *rows = coms(Reference(skeleton, q, u, a))
    rng = np.random.default_rng(seed)
    some = sorted(set(rng.integers(skeleton.num_bodies, size=3).tolist()))
    for bodies, chosen in ((None, slice(None)), (some, some), ([skeleton.bodies[i].name for i in some], some)):
        if m[chosen].sum() == 0.0:
            with pytest.raises(ModelError, match="no mass"):
                kido.quantities.com(skeleton, None, bodies)
            with pytest.raises(ModelError, match="no mass"):
                kido.quantities.com(skeleton, q, bodies)
            continue
        p, v, acceleration = (np.average(row[chosen], axis=0, weights=m[chosen]) for row in rows)
        assert relative_error(kido.quantities.com(skeleton, None, bodies), p) < TOLERANCE
        assert relative_error(skeleton.com_velocity(bodies), v) < TOLERANCE
        assert relative_error(skeleton.com_acceleration(bodies), acceleration) < TOLERANCE
        assert np.array_equal(kido.quantities.com(skeleton, q, bodies), kido.quantities.com(skeleton, None, bodies))
        assert np.array_equal(kido.quantities.com_velocity(skeleton, q, u, bodies), skeleton.com_velocity(bodies))
        assert np.array_equal(
            kido.quantities.com_acceleration(skeleton, q, u, a, bodies), skeleton.com_acceleration(bodies)
        )


@pytest.mark.parametrize("seed", range(5))
def test_centre_of_mass_seen_from_frames(seed: int) -> None:
    """A frame put at the centre of mass, moving with it, is seen as the centre of mass is."""
    skeleton = random_skeleton(seed, 10)
    set_state(skeleton, *random_state(skeleton, seed)[:3])
    rng = np.random.default_rng(seed)
    marker = kido.SimpleFrame(None, "centre", skeleton.com)
    marker.set_classic_derivatives(
        linear_velocity=skeleton.com_velocity(), linear_acceleration=skeleton.com_acceleration()
    )
    rider = kido.SimpleFrame(skeleton.bodies[3], "rider", random_transform(rng))
    rider.set_classic_derivatives(rng.normal(size=3), rng.normal(size=3), rng.normal(size=3), rng.normal(size=3))
    for frame in (skeleton.bodies[5], rider, kido.SimpleFrame(None, "still", random_transform(rng))):
        axes = skeleton.bodies[7]
        expected = marker.transform(frame)[:3, 3]
        assert relative_error(kido.quantities.com(skeleton, with_respect_to=frame), expected) < TOLERANCE
        expected = marker.linear_velocity(relative_to=frame, in_coordinates_of=axes)
        assert relative_error(skeleton.com_velocity(None, frame, axes), expected) < TOLERANCE
        expected = marker.linear_acceleration(relative_to=frame, in_coordinates_of=axes)
        assert relative_error(skeleton.com_acceleration(None, frame, axes), expected) < TOLERANCE
    calls = partial(kido.quantities.com, skeleton, None), skeleton.com_velocity, skeleton.com_acceleration
    for call in calls:
        with pytest.raises(ModelError, match="expected a frame"):
            call(None, "world")


@given(skeletons(), SEEDS)
def test_momentum_and_energy(skeleton: kido.Skeleton, seed: int) -> None:
    q, u, a, _ = random_state(skeleton, seed)
    set_state(skeleton, q, u, a)
    r = Reference(skeleton, q, u, a)
    rng = np.random.default_rng(seed)
    some = sorted(set(rng.integers(skeleton.num_bodies, size=3).tolist()))
    point = rng.normal(size=3)
    for bodies, chosen in ((None, range(skeleton.num_bodies)), (some, some)):
        h, energy = np.zeros(6), 0.0
        for i in chosen:
            own = r.I[i] @ r.V[i]
            h += np.concatenate([own[:3] + np.cross(r.X[i, :3, 3] - point, own[3:]), own[3:]])
            energy += 0.5 * r.V[i] @ own
        assert relative_error(skeleton.momentum_about(point, bodies), h) < TOLERANCE
        assert relative_error(skeleton.angular_momentum(point, bodies), h[:3]) < TOLERANCE
        assert relative_error(skeleton.linear_momentum(bodies), h[3:]) < TOLERANCE
        assert relative_error(kido.quantities.kinetic_energy(skeleton, bodies=bodies), energy) < TOLERANCE
        assert kido.quantities.kinetic_energy(skeleton, q, u, bodies) == pytest.approx(energy, rel=1e-12, abs=1e-300)
        assert kido.quantities.potential_energy(skeleton, q, bodies) == kido.quantities.potential_energy(
            skeleton, bodies=bodies
        )
        if sum(skeleton.bodies[i].mass for i in chosen) > 0.0:
            h[:3] += np.cross(point - kido.quantities.com(skeleton, None, bodies), h[3:])
            assert relative_error(skeleton.angular_momentum(bodies=bodies), h[:3]) < TOLERANCE
            assert relative_error(kido.quantities.centroidal_momentum(skeleton, q, u, bodies), h) < TOLERANCE
    assert skeleton.kinetic_energy == pytest.approx(r.kinetic_energy, rel=1e-12)
    assert skeleton.lagrangian == skeleton.kinetic_energy - skeleton.potential_energy


def test_potential_energy_of_some_bodies_has_the_springs_of_their_joints() -> None:
    skeleton = build(["revolute", "prismatic", "weld", "planar"], [-1, 0, 1, 2], 5)
    for joint, stiffness in zip(skeleton.joints, (3.0, 5.0, 0.0, 7.0), strict=True):
        if joint.num_dofs:
            joint.spring_stiffness, joint.rest_position = stiffness, 0.3
    q = np.linspace(0.1, 0.9, skeleton.num_dofs)
    skeleton.positions = q
    X = Reference(skeleton, q).X
    parts = []
    for body in skeleton.bodies:
        height = X[body.index, 2, 3] + X[body.index, 2, :3] @ body.inertia.com
        springs = sum(
            0.5 * dof.spring_stiffness * (dof.position - dof.rest_position) ** 2 for dof in body.parent_joint.dofs
        )
        parts.append(9.81 * body.mass * height + springs)
        assert kido.quantities.potential_energy(skeleton, bodies=[body]) == pytest.approx(parts[-1], rel=1e-13)
    assert kido.quantities.potential_energy(skeleton, bodies=None) == pytest.approx(sum(parts), rel=1e-13)
    assert skeleton.potential_energy == pytest.approx(sum(parts), rel=1e-13)


@given(skeletons(), SEEDS)
def test_centroidal_matrix(skeleton: kido.Skeleton, seed: int) -> None:
    q, u, a, _ = random_state(skeleton, seed)
    set_state(skeleton, q, u, a)
    if skeleton.mass == 0.0:
        with pytest.raises(ModelError, match="no mass"):
            skeleton.centroidal_momentum_matrix  # noqa: B018
        return
    r = Reference(skeleton, q, u, a)
    c = skeleton.com
    A = np.zeros((6, skeleton.num_dofs))
    inertia = np.zeros((6, 6))
    for i in range(skeleton.num_bodies):
        phi = np.eye(6)
        phi[:3, 3:] = skew(r.X[i, :3, 3] - c)
        A += phi @ r.I[i] @ r.J[i]
        inertia += phi @ r.I[i] @ phi.T
    assert relative_error(skeleton.centroidal_momentum_matrix, A) < TOLERANCE
    assert relative_error(skeleton.centroidal_momentum, A @ u) < TOLERANCE
    assert relative_error(skeleton.centroidal_inertia, inertia) < TOLERANCE
    assert np.array_equal(kido.quantities.centroidal_momentum_matrix(skeleton, q), skeleton.centroidal_momentum_matrix)
    assert np.array_equal(kido.quantities.centroidal_inertia(skeleton, q), skeleton.centroidal_inertia)
    # hdot: the net wrench about the centre of mass that the accelerations ask for, without gravity.
    dA = skeleton.centroidal_momentum_matrix_derivative
    assert np.array_equal(kido.quantities.centroidal_momentum_matrix_derivative(skeleton, q, u), dA)
    r.gravity = np.zeros(3)
    force = r.body_force(r.A)
    rate = np.concatenate([(force[:, :3] + np.cross(r.X[:, :3, 3] - c, force[:, 3:])).sum(axis=0), force[:, 3:].sum(0)])
    assert relative_error(A @ a + dA @ u, rate) < TOLERANCE


@pytest.mark.parametrize("seed", range(4))
def test_rate_of_the_centroidal_matrix(seed: int) -> None:
    skeleton = random_skeleton(seed, 12)
    q, u, _, _ = random_state(skeleton, seed, 0.5)
    some = [2, 5, 6, 9, 11]
    for bodies in (None, some):
        exact = kido.quantities.centroidal_momentum_matrix_derivative(skeleton, q, u, bodies)
        numeric = along_motion(
            lambda p, b=bodies: kido.quantities.centroidal_momentum_matrix(skeleton, p, b), skeleton, q, u
        )
        assert relative_error(exact, numeric) < 1e-9


def test_mistakes() -> None:
    skeleton = random_skeleton(2, 5)
    n = skeleton.num_dofs
    with pytest.raises(StateError, match="velocities"):
        kido.quantities.centroidal_momentum(skeleton, np.zeros(n), np.zeros(n + 1))
    with pytest.raises(StateError, match="positions"):
        kido.quantities.com(skeleton, np.full(n, np.inf))
    for wrong in (np.full(n, np.nan), np.zeros(n + 1), [0.0]):
        with pytest.raises(StateError, match="velocities"):
            kido.quantities.kinetic_energy(skeleton, np.zeros(n), wrong)
        with pytest.raises(StateError, match="positions"):
            kido.quantities.potential_energy(skeleton, wrong)
    with pytest.raises(ModelError, match="about"):
        skeleton.momentum_about((1.0, 2.0))
    with pytest.raises(ModelError, match="bodies"):
        kido.quantities.com(skeleton, np.zeros(n), [2.5])
    with pytest.raises(ModelError, match="bodies"):
        kido.quantities.com(skeleton, np.zeros(n), 2.5)
