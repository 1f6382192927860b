"""Dynamics of DART's own SKEL models against dartpy: ball, Euler, universal, screw, planar and free joints.

Both use the same coordinates: rotation vectors with body-axes velocities, pitch in metres per revolution. DART
reads the files in float64 and works in body axes; 1e-10 relative leaves room for another order of sums.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kido
from kido.io import skel
from trees import relative_error, skew

dartpy = pytest.importorskip("dartpy", reason="the package dartpy is not installed")

TOLERANCE = 1e-10
FILES = (
    "chain", "freeChain", "fullbody1", "biped", "vehicle", "test/ball_joints", "test/free_joints",
    "test/planar_joint", "test/translational_joints", "test/double_pendulum_euler_joint",
    "test/serial_chain_ball_joint_20", "test/serial_chain_eulerxyz_joint", "test/simple_tree_structure",
    "test/tree_structure", "test/tree_structure_ball_joint", "test/tree_structure_euler_joint",
)  # fmt: skip


def places(skeleton: kido.Skeleton, other) -> np.ndarray:
    """Index in dartpy's vectors of each of our coordinates."""
    start, first = {}, 0
    for k in range(other.getNumJoints()):
        start[other.getJoint(k).getName()] = first
        first += other.getJoint(k).getNumDofs()
    return np.array([start[dof.joint.name] + dof.index_in_joint for dof in skeleton.dofs])


def velocity_map(skeleton: kido.Skeleton, other, place: np.ndarray) -> np.ndarray:
    """B with (dartpy's velocities) = B (ours): free joints of newer DART have their twist in world axes."""
    B = np.zeros((len(place), len(place)))
    B[place, np.arange(len(place))] = 1.0
    for joint in skeleton.joints:
        if isinstance(joint, kido.FreeJoint):
            X = joint.transform_from_child
            R, p = X[:3, :3], X[:3, 3]
            to_child = np.zeros((6, 6))
            to_child[:3, :3] = to_child[3:, 3:] = R
            to_child[3:, :3] = skew(p) @ R
            ours = slice(joint.dofs[0].index, joint.dofs[0].index + 6)
            theirs = place[ours]
            block = np.linalg.solve(other.getJoint(joint.name).getRelativeJacobian(), to_child)
            B[np.ix_(theirs, np.arange(ours.start, ours.stop))] = block
    return B


@pytest.mark.parametrize("name", FILES)
def test_models_of_dart(name: str, dart_data: Path) -> None:
    path = dart_data / "skel" / f"{name}.skel"
    ours = skel.read(path, package_dirs=[dart_data])
    theirs = dartpy.utils.SkelParser.readWorld(str(path))
    rng = np.random.default_rng(5)
    compared = 0
    for k, skeleton in enumerate(ours.skeletons):
        truth, n = theirs.getSkeleton(k), skeleton.num_dofs
        assert truth.getNumDofs() == n
        if n == 0:
            continue
        place = places(skeleton, truth)
        free = any(isinstance(joint, kido.FreeJoint) for joint in skeleton.joints)
        for _ in range(20):
            q, u, a = rng.uniform(-2, 2, n), rng.normal(size=n), rng.normal(size=n)
            truth.setPositions(q[np.argsort(place)])
            B = velocity_map(skeleton, truth, place)
            truth.setVelocities(B @ u)
            M = B.T @ truth.getMassMatrix() @ B
            assert relative_error(kido.quantities.mass_matrix(skeleton, q), M, 0.0) < TOLERANCE
            skeleton.positions, skeleton.velocities = q, u
            assert skeleton.kinetic_energy == pytest.approx(truth.computeKineticEnergy(), rel=TOLERANCE)
            assert relative_error(skeleton.com, truth.getCOM()) < TOLERANCE
            compared += 1
            if free:  # B changes with time, and its rate would enter
                continue
            bias = B.T @ truth.getCoriolisAndGravityForces()
            scale = max(1.0, np.abs(bias).max())
            assert relative_error(skeleton.inverse_dynamics(q, u, np.zeros(n)), bias, scale) < TOLERANCE
            udot = skeleton.forward_dynamics(q, u, M @ a + bias)
            assert np.abs(M @ (udot - a)).max() < TOLERANCE * scale
    assert compared > 0
