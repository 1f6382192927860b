"""Robots against Pinocchio: Jacobians and rates, centre of mass and momentum, matrices and forces of dynamics.

Both evaluate the same definitions in double precision in another order. Results that divide by the mass matrix are
known to its condition number times 1e-16; all others hold at 1e-10 of their largest entry.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kido
from pinocchio_layout import NAMED, Layout
from trees import relative_error

pin = pytest.importorskip("pinocchio", reason="Pinocchio (the package pin) is not installed")

TOLERANCE = 1e-10
STATES = 5
CASES = (
    ("panda", False), ("solo12", True), ("anymal_b", True), ("talos", True), ("talos_reduced", True), ("ur5", True),
)  # fmt: skip


def angular_first(rows: np.ndarray) -> np.ndarray:
    """[linear; angular] rows as [angular; linear]."""
    return np.concatenate([rows[3:], rows[:3]])


class Pair:
    """A robot in both programs, at one state."""

    def __init__(self, path: Path, free: bool, seed: int):
        self.skeleton = kido.load(path, visuals=False, collisions=False, base="free" if free else "fixed")
        self.model = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if free else []))
        self.data = self.model.createData()
        self.layout = Layout(self.model, self.skeleton)
        self.rng = np.random.default_rng(seed)
        self.next()

    def next(self) -> None:
        n = self.skeleton.num_dofs
        self.q = self.rng.uniform(-np.pi, np.pi, n)
        self.u, self.a = self.rng.normal(size=(2, n))
        self.pq = self.layout.positions(self.q)
        self.pu, self.pa = map(self.layout.to_theirs, (self.u, self.a))

    def columns(self, matrix: np.ndarray) -> np.ndarray:
        """A matrix of theirs with its columns in our order."""
        result = np.zeros_like(matrix)
        result[:, self.layout.ours] = matrix[:, self.layout.theirs]
        return result

    def both(self, matrix: np.ndarray) -> np.ndarray:
        """A square matrix of theirs in our order."""
        return self.columns(self.columns(matrix).T).T


@pytest.fixture(params=CASES, ids=[f"{name}-{'free' if free else 'fixed'}" for name, free in CASES], scope="module")
def pair(request, example_robots: Path) -> Pair:
    name, free = request.param
    return Pair(example_robots / NAMED[name], free, 3)


def test_jacobians(pair: Pair) -> None:
    s, model, data = pair.skeleton, pair.model, pair.data
    frames = [(i, f.name) for i, f in enumerate(model.frames) if f.type == pin.FrameType.BODY and f.name != "universe"]
    for _ in range(STATES):
        pair.next()
        pin.computeJointJacobiansTimeVariation(model, data, pair.pq, pair.pu)
        pin.updateFramePlacements(model, data)
        X = s.forward_kinematics(pair.q)
        for i, name in frames[:: max(1, len(frames) // 12)]:
            aligned = pin.LOCAL_WORLD_ALIGNED
            J = pair.columns(angular_first(pin.getFrameJacobian(model, data, i, aligned)))
            dJ = pair.columns(angular_first(pin.getFrameJacobianTimeVariation(model, data, i, aligned)))
            assert relative_error(kido.quantities.jacobian(s, pair.q, name), J) < TOLERANCE
            assert relative_error(kido.quantities.jacobian_classic_derivative(s, pair.q, pair.u, name), dJ) < TOLERANCE
            local = pair.columns(angular_first(pin.getFrameJacobian(model, data, i, pin.LOCAL)))
            body = s.body(name)
            assert relative_error(kido.quantities.jacobian(s, pair.q, body, in_coordinates_of=body), local) < TOLERANCE
            # In Pinocchio's WORLD the rates are of screws about the world's origin, at points fixed in space.
            dW = pair.columns(angular_first(pin.getFrameJacobianTimeVariation(model, data, i, pin.WORLD)))
            p = X[body.index, :3, 3]
            dW[3:] += np.cross(dW[:3].T, p).T
            assert relative_error(kido.quantities.jacobian_spatial_derivative(s, pair.q, pair.u, name), dW) < TOLERANCE


def test_centre_of_mass_and_momentum(pair: Pair) -> None:
    s, model, data = pair.skeleton, pair.model, pair.data
    for _ in range(STATES):
        pair.next()
        q, u, a = pair.q, pair.u, pair.a
        if s.bodies[0].parent_joint.num_dofs == 0:  # bodies welded to the world are not in Pinocchio's sums
            moving = [b for b in s.bodies if b.dependent_dofs]
        else:
            moving = None
        pin.centerOfMass(model, data, pair.pq, pair.pu, pair.pa)
        assert relative_error(kido.quantities.com(s, q, moving), data.com[0]) < TOLERANCE
        assert relative_error(kido.quantities.com_velocity(s, q, u, moving), data.vcom[0]) < TOLERANCE
        assert relative_error(kido.quantities.com_acceleration(s, q, u, a, moving), data.acom[0]) < TOLERANCE
        J = pair.columns(pin.jacobianCenterOfMass(model, data, pair.pq))
        assert relative_error(kido.quantities.com_jacobian(s, q, moving), J) < TOLERANCE
        pin.dccrba(model, data, pair.pq, pair.pu)
        A, dA = (pair.columns(angular_first(m)) for m in (data.Ag, data.dAg))
        assert relative_error(kido.quantities.centroidal_momentum_matrix(s, q, moving), A) < TOLERANCE
        assert relative_error(kido.quantities.centroidal_momentum_matrix_derivative(s, q, u, moving), dA) < TOLERANCE
        h = angular_first(pin.computeCentroidalMomentum(model, data, pair.pq, pair.pu).vector)
        assert relative_error(kido.quantities.centroidal_momentum(s, q, u, moving), h) < TOLERANCE
        pin.ccrba(model, data, pair.pq, pair.pu)
        inertia = data.Ig.matrix()[np.ix_([3, 4, 5, 0, 1, 2], [3, 4, 5, 0, 1, 2])]
        assert relative_error(kido.quantities.centroidal_inertia(s, q, moving), inertia) < TOLERANCE
        kinetic = pin.computeKineticEnergy(model, data, pair.pq, pair.pu)
        assert kido.quantities.kinetic_energy(s, q, u) == pytest.approx(kinetic, rel=TOLERANCE)
        potential = pin.computePotentialEnergy(model, data, pair.pq)
        assert kido.quantities.potential_energy(s, q, moving) == pytest.approx(potential, rel=TOLERANCE, abs=1e-9)


def test_matrices_and_forces(pair: Pair) -> None:
    s, model, data = pair.skeleton, pair.model, pair.data
    for _ in range(STATES):
        pair.next()
        q, u, a = pair.q, pair.u, pair.a
        bias = pair.layout.to_ours(pin.nonLinearEffects(model, data, pair.pq, pair.pu))
        assert relative_error(kido.quantities.coriolis_and_gravity_forces(s, q, u), bias) < TOLERANCE
        gravity = pair.layout.to_ours(pin.computeGeneralizedGravity(model, data, pair.pq))
        assert relative_error(kido.quantities.gravity_forces(s, q), gravity) < TOLERANCE
        C = pair.both(pin.computeCoriolisMatrix(model, data, pair.pq, pair.pu))
        ours = kido.quantities.coriolis_matrix(s, q, u)
        if s.bodies[0].parent_joint.num_dofs == 0 and not any(j.num_dofs > 1 for j in s.joints):
            assert relative_error(ours, C) < TOLERANCE
        else:  # with a free base C is not unique
            assert relative_error(ours @ u, C @ u) < TOLERANCE
            assert relative_error(ours + ours.T, C + C.T) < TOLERANCE
        M = kido.quantities.mass_matrix(s, q)
        inverse = pin.computeMinverse(model, data, pair.pq)
        inverse = pair.both(np.triu(inverse) + np.triu(inverse, 1).T)
        assert relative_error(
            kido.quantities.inverse_mass_matrix(s, q), inverse, 0.0
        ) < TOLERANCE + 1e-15 * np.linalg.cond(M)
        moving = [name for name in model.names if name != "universe"]
        tops = [s.joint(name).child if name in {j.name for j in s.joints} else s.root_bodies[0] for name in moving]
        if len({b.index for b in tops}) == len(moving) and model.nq == model.nv:
            Y = pin.computeJointTorqueRegressor(model, data, pair.pq, pair.pu, pair.pa)
            # Theirs is about links with all that is welded to them: ours has the same columns for their first body,
            # with J about the origin as (xx, xy, yy, xz, yz, zz).
            order = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]
            for k, body in enumerate(tops):
                X = body.parent_joint.transform_from_child
                if not np.array_equal(X, np.eye(4)):
                    continue
                own = kido.quantities.inverse_dynamics_regressor(s, q, u, a, [body])
                theirs = np.zeros_like(own)
                theirs[pair.layout.ours] = Y[pair.layout.theirs, 10 * k : 10 * k + 10]
                assert relative_error(own[:, order], theirs) < TOLERANCE
