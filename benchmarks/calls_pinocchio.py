"""Pinocchio's calls: the fewest functions that give the result, with a reused `Data`."""

from __future__ import annotations

import numpy as np

from benchmarks.calls import Call, angular_first, symmetric, tip_of
from benchmarks.calls_kido import moving_bodies
from benchmarks.programs import Kido, Pinocchio


def stateless(program: Pinocchio, kido: Kido) -> dict[str, Call]:
    """One call with the state given, or what comes nearest."""
    pin, model, data = program.pin, program.model, program.data
    joint_name, body_name = tip_of(kido)
    frame, joint = model.getFrameId(body_name), model.getJointId(joint_name)
    aligned = pin.LOCAL_WORLD_ALIGNED
    frames = [model.getFrameId(body.name) for body in moving_bodies(kido.skeleton)]
    q = [(model, data, x) for x in program.q]
    qu = [(model, data, *x) for x in zip(program.q, program.u, strict=True)]
    qua = [(model, data, *x) for x in zip(program.q, program.u, program.a, strict=True)]
    qut = [(model, data, *x) for x in zip(program.q, program.u, program.tau, strict=True)]

    def forward_kinematics(model, data, q):
        pin.forwardKinematics(model, data, q)
        pin.updateFramePlacements(model, data)
        return data.oMf

    def pose(model, data, q):
        pin.forwardKinematics(model, data, q)
        return pin.updateFramePlacement(model, data, frame)

    def factors(model, data, q):
        pin.crba(model, data, q)
        pin.cholesky.decompose(model, data)
        return data.U, data.D

    def centroidal_rate(model, data, q, u):
        return pin.dccrba(model, data, q, u)

    def derivatives_of_motion(model, data, q, u, a):
        pin.computeForwardKinematicsDerivatives(model, data, q, u, a)
        return pin.getJointAccelerationDerivatives(model, data, joint, aligned)

    def hessian(model, data, q):
        pin.computeJointKinematicHessians(model, data, q)
        return pin.getJointKinematicHessian(model, data, joint, aligned)

    def columns(J, i):
        return angular_first(np.asarray(J))

    def in_columns(H, i):
        H = angular_first(H.ravel(order="K").reshape(H.shape, order="F"))  # it says its memory is the other way round
        return program.in_kido_layout("square", i, H)

    def own_regressor(Y, i):  # of the first bodies alone, without what is welded to them: as KIDO's columns
        s = kido.skeleton
        total = np.zeros(model.nv)
        for body in moving_bodies(s):
            k = model.frames[model.getFrameId(body.name)].parentJoint
            m, *c, xx, xy, xz, yy, yz, zz = s.inertial_parameters([body])
            total += Y[:, 10 * k - 10 : 10 * k] @ np.array([m, *c, xx, xy, yy, xz, yz, zz])
        return program.in_kido_layout("vector", i, total)

    def moved(q, i):
        pin.framesForwardKinematics(model, data, q)
        return data.oMf[frame].homogeneous

    return {
        "FK": Call(forward_kinematics, q, lambda X, i: np.array([X[f].homogeneous for f in frames])),
        "pose of one body": Call(pose, q, lambda X, i: X.homogeneous),
        "Jacobian": Call(pin.computeFrameJacobian, [(*given, frame, aligned) for given in q], columns),
        "Jacobian rate": Call(pin.frameJacobianTimeVariation, [(*given, frame, aligned) for given in qu], columns),
        "RNEA": Call(pin.rnea, qua),
        "CRBA": Call(pin.crba, q, lambda M, i: symmetric(M)),
        "M^-1": Call(pin.computeMinverse, q, lambda M, i: symmetric(M)),
        "factors of M": Call(
            factors, q, lambda UD, i: program.in_kido_layout("square", i, (UD[0] * UD[1].ravel()) @ UD[0].T)
        ),
        "ABA": Call(pin.aba, qut),
        "Coriolis matrix": Call(pin.computeCoriolisMatrix, qu, lambda C, i: C @ program.u[i]),
        "bias forces": Call(pin.nonLinearEffects, qu),
        "gravity forces": Call(pin.computeGeneralizedGravity, q),
        "COM": Call(pin.centerOfMass, q),
        "COM Jacobian": Call(pin.jacobianCenterOfMass, q),
        "centroidal matrix": Call(pin.computeCentroidalMap, q, columns),
        "its rate": Call(centroidal_rate, qu, columns),
        "kinetic energy": Call(pin.computeKineticEnergy, qu),
        "potential energy": Call(pin.computePotentialEnergy, q),
        "regressor": Call(pin.computeJointTorqueRegressor, qua, own_regressor),
        "RNEA derivatives": Call(pin.computeRNEADerivatives, qua, lambda D, i: np.array([D[0], D[1], symmetric(D[2])])),
        "ABA derivatives": Call(pin.computeABADerivatives, qut, lambda D, i: np.array([D[0], D[1], symmetric(D[2])])),
        "centroidal derivatives": Call(
            pin.computeCentroidalDynamicsDerivatives, qua, lambda D, i: np.array([angular_first(x) for x in D])
        ),
        "FK derivatives": Call(
            derivatives_of_motion, qua, lambda D, i: np.array([angular_first(D[2]), angular_first(D[3])])
        ),
        "Hessian": Call(hessian, q, in_columns),
        "integrate": Call(pin.integrate, [(model, *x) for x in zip(program.q, program.u, strict=True)], moved),
        "difference": Call(
            pin.difference, [(model, *x) for x in zip(program.q[1:] + program.q[:1], program.q, strict=True)]
        ),
    }
