"""Jacobians, centre of mass, matrices and forces of DART's own SKEL models against dartpy.

Velocities of dartpy are B times ours (see `test_dynamics_dart.velocity_map`); B is constant but for free joints, whose
coordinates are left out where its rate would enter. 1e-10 relative, for another order of sums in body axes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_dynamics_dart import FILES, places, velocity_map

import kido
from kido.io import skel
from trees import relative_error

dartpy = pytest.importorskip("dartpy", reason="the package dartpy is not installed")

TOLERANCE = 1e-10


def skeletons_of(name: str, dart_data: Path):
    """Skeletons with coordinates, in both programs."""
    path = dart_data / "skel" / f"{name}.skel"
    ours = skel.read(path, package_dirs=[dart_data])
    theirs = dartpy.utils.SkelParser.readWorld(str(path))
    for k, skeleton in enumerate(ours.skeletons):
        if skeleton.num_dofs:
            yield skeleton, theirs.getSkeleton(k)


@pytest.mark.parametrize("name", FILES)
def test_models_of_dart(name: str, dart_data: Path) -> None:
    rng = np.random.default_rng(5)
    for skeleton, truth in skeletons_of(name, dart_data):
        n, place = skeleton.num_dofs, places(skeleton, truth)
        free = any(isinstance(joint, kido.FreeJoint) for joint in skeleton.joints)
        for _ in range(3):
            q, u, a = rng.uniform(-2, 2, n), rng.normal(size=n), rng.normal(size=n)
            truth.setPositions(q[np.argsort(place)])
            B = velocity_map(skeleton, truth, place)
            truth.setVelocities(B @ u)
            if not free:
                truth.setAccelerations(B @ a)
            skeleton.positions, skeleton.velocities, skeleton.accelerations = q, u, a
            compare_jacobians(skeleton, truth, B, free, rng)
            compare_centre(skeleton, truth, B, free)
            compare_matrices(skeleton, truth, B, free)


def compare_jacobians(skeleton: kido.Skeleton, truth, B: np.ndarray, free: bool, rng) -> None:
    bodies = skeleton.bodies
    for body in bodies[:: max(1, len(bodies) // 6)]:
        node, other = truth.getBodyNode(body.name), bodies[int(rng.integers(len(bodies)))]
        frame = truth.getBodyNode(other.name)
        offset = rng.normal(size=3)
        J = truth.getJacobian(node, offset, frame) @ B
        assert relative_error(skeleton.jacobian(body, offset, other), J) < TOLERANCE
        world = dartpy.dynamics.Frame.World()
        J = truth.getJacobian(node, offset, world) @ B
        assert relative_error(skeleton.jacobian(body, offset), J) < TOLERANCE
        if free:
            continue
        spatial = truth.getJacobianSpatialDeriv(node, offset, world) @ B
        assert relative_error(skeleton.jacobian_spatial_derivative(body, offset), spatial) < TOLERANCE
        classic = truth.getJacobianClassicDeriv(node, offset, world) @ B
        assert relative_error(skeleton.jacobian_classic_derivative(body, offset), classic) < TOLERANCE
        spatial = truth.getJacobianSpatialDeriv(node, offset, frame) @ B
        assert relative_error(skeleton.jacobian_spatial_derivative(body, offset, other), spatial) < TOLERANCE


def compare_centre(skeleton: kido.Skeleton, truth, B: np.ndarray, free: bool) -> None:
    world = dartpy.dynamics.Frame.World()
    other = skeleton.bodies[-1]
    frame = truth.getBodyNode(other.name)
    assert relative_error(kido.quantities.com(skeleton, None, None, other), truth.getCOM(frame)) < TOLERANCE
    velocity = truth.getCOMLinearVelocity(frame, frame)
    assert relative_error(skeleton.com_velocity(None, other, other), velocity) < TOLERANCE
    J = truth.getCOMLinearJacobian(world) @ B
    assert relative_error(skeleton.com_jacobian(), J) < TOLERANCE
    assert skeleton.lagrangian == pytest.approx(
        truth.computeKineticEnergy() - truth.computePotentialEnergy(), rel=1e-9, abs=1e-9
    )
    if not free:
        dJ = truth.getCOMLinearJacobianDeriv(world) @ B
        assert relative_error(skeleton.com_jacobian_derivative(), dJ) < TOLERANCE
        acceleration = truth.getCOMLinearAcceleration(frame, world)
        assert relative_error(skeleton.com_acceleration(None, other), acceleration) < TOLERANCE


def compare_matrices(skeleton: kido.Skeleton, truth, B: np.ndarray, free: bool) -> None:
    M = skeleton.mass_matrix
    tolerance = TOLERANCE + 1e-15 * np.linalg.cond(M)
    inverse = np.linalg.solve(B, truth.getInvMassMatrix()) @ np.linalg.inv(B).T
    assert relative_error(skeleton.inverse_mass_matrix, inverse, 0.0) < tolerance
    gravity = B.T @ truth.getGravityForces()
    assert relative_error(skeleton.gravity_forces, gravity) < TOLERANCE
    if not free:
        coriolis = B.T @ truth.getCoriolisForces()
        scale = max(1.0, np.abs(coriolis).max(), np.abs(gravity).max())
        assert relative_error(skeleton.coriolis_forces, coriolis, scale) < TOLERANCE
        h = truth.getTimeStep()
        augmented = B.T @ truth.getAugMassMatrix() @ B
        assert relative_error(skeleton.augmented_mass_matrix(h), augmented) < TOLERANCE
