"""Derivatives against Pinocchio's, for robots of example-robot-data, matched by joint name.

Tangent spaces are the same, so rows and columns differ in order alone. 1e-9 of the largest entry; forward dynamics'
carry the condition number of a humanoid's mass matrix (up to 1e6) times 1e-16 on either side.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kido
from trees import relative_error

pin = pytest.importorskip("pinocchio", reason="Pinocchio (the package pin) is not installed")

from pinocchio_layout import NAMED, Layout  # noqa: E402  (imports Pinocchio)

TOLERANCE = 1e-9
STATES = 5
ROBOTS = [
    ("panda", False),
    ("ur5", True),
    ("solo12", True),
    ("anymal_b", True),
    ("talos", True),
    ("talos_reduced", True),
]


class Case:
    """A robot in both programs, and a state."""

    def __init__(self, path: Path, free: bool, seed: int):
        self.skeleton = kido.load(path, visuals=False, collisions=False, base="free" if free else "fixed")
        self.model = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if free else []))
        self.data = self.model.createData()
        self.layout = Layout(self.model, self.skeleton)
        rng = np.random.default_rng(seed)
        self.q = rng.uniform(-np.pi, np.pi, self.skeleton.num_dofs)
        self.u, self.udot, self.tau = rng.normal(size=(3, self.skeleton.num_dofs))
        self.theirs = [self.layout.positions(self.q), *map(self.layout.to_theirs, (self.u, self.udot, self.tau))]

    def columns(self, matrix: np.ndarray) -> np.ndarray:
        """Columns of Pinocchio's matrix in our order."""
        result = np.zeros((*matrix.shape[:-1], self.skeleton.num_dofs))
        result[..., self.layout.ours] = matrix[..., self.layout.theirs]
        return result

    def square(self, matrix: np.ndarray) -> np.ndarray:
        """Rows and columns of Pinocchio's matrix in our order."""
        return self.columns(self.columns(matrix).T).T


@pytest.mark.parametrize(("name", "free"), ROBOTS, ids=[r for r, _ in ROBOTS])
def test_dynamics(example_robots: Path, name: str, free: bool) -> None:
    for seed in range(STATES):
        case = Case(example_robots / NAMED[name], free, seed)
        pq, pu, pa, ptau = case.theirs
        expected = pin.computeRNEADerivatives(case.model, case.data, pq, pu, pa)
        M = np.triu(expected[2]) + np.triu(expected[2], 1).T
        found = case.skeleton.inverse_dynamics_derivatives(case.q, case.u, case.udot)
        for ours, theirs in zip(found, (expected[0], expected[1], M), strict=True):
            assert relative_error(ours, case.square(theirs), 0.0) < TOLERANCE
        expected = pin.computeABADerivatives(case.model, case.data, pq, pu, ptau)
        inverse = np.triu(expected[2]) + np.triu(expected[2], 1).T
        found = case.skeleton.forward_dynamics_derivatives(case.q, case.u, case.tau)
        for ours, theirs in zip(found, (expected[0], expected[1], inverse), strict=True):
            assert relative_error(ours, case.square(theirs), 0.0) < TOLERANCE


def in_our_rows(matrix: np.ndarray) -> np.ndarray:
    """[linear; angular] rows as [angular; linear]."""
    return np.concatenate([matrix[3:], matrix[:3]])


@pytest.mark.parametrize("name", [r for r, _ in ROBOTS])
def test_motion_and_momentum(example_robots: Path, name: str) -> None:
    # With a fixed base Pinocchio leaves links welded to the world out of the centre of mass.
    case = Case(example_robots / NAMED[name], True, 7)
    s, model, data, columns = case.skeleton, case.model, case.data, case.columns
    pq, pu, pa, _ = case.theirs
    h_dq, *rates = pin.computeCentroidalDynamicsDerivatives(model, data, pq, pu, pa)
    found = kido.quantities.centroidal_momentum_derivatives(s, case.q, case.u, case.udot)
    for ours, theirs in zip(found, (h_dq, *rates), strict=True):
        assert relative_error(ours, columns(in_our_rows(theirs)), 0.0) < TOLERANCE
    axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    pin.computeForwardKinematicsDerivatives(model, data, pq, pu, pa)
    pin.computeJointKinematicHessians(model, data)
    joint = model.njoints - 1
    body = s.joint(model.names[joint]).child
    pose, motion = data.oMi[joint], data.v[joint]
    assert relative_error(s.forward_kinematics(case.q)[body.index], pose.homogeneous) < TOLERANCE
    dq, du = kido.quantities.velocity_derivatives(s, case.q, case.u, body)
    their_dq, their_du = pin.getJointVelocityDerivatives(model, data, joint, axes)
    w = pose.rotation @ motion.angular
    at_rest = dq.copy()
    at_rest[3:] -= np.cross(w, du[3:], axisb=0, axisc=0)
    assert relative_error(du, columns(in_our_rows(their_du)), 0.0) < TOLERANCE
    assert relative_error(at_rest, columns(in_our_rows(their_dq)), 0.0) < TOLERANCE
    H = pin.getJointKinematicHessian(model, data, joint, axes)
    H = in_our_rows(H.ravel(order="K").reshape(H.shape, order="F"))  # it says its memory is the other way round
    theirs = np.swapaxes(columns(np.swapaxes(columns(H), 1, 2)), 1, 2)
    assert relative_error(kido.quantities.jacobian_hessian(s, case.q, body), theirs, 0.0) < TOLERANCE
