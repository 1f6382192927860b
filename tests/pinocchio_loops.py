"""The same closed chain for Pinocchio: its tree joint by joint, and loops as its rigid constraints.

For skeletons of revolute, prismatic, ball, free and welded joints, and loops that hold a point or a pose.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import kido


def se3(pin: Any, X: np.ndarray) -> Any:
    return pin.SE3(X[:3, :3], X[:3, 3])


class PinocchioLoops:
    """Model, constraints and states of a skeleton with loops.

    Args:
        pin: the module.
        skeleton: its tree; gravity is taken from it.
        constraints: `BallJointConstraint` and `WeldJointConstraint`.
        mu: of the proximal iterations; 0 for none.
        accuracy: of the proximal iterations.
    """

    def __init__(self, pin: Any, skeleton: kido.Skeleton, constraints: list[Any], mu: float = 0.0,
                 accuracy: float = 1e-12):  # fmt: skip
        self.pin, self.skeleton = pin, skeleton
        self.model = model = pin.Model()
        model.gravity.linear = skeleton.gravity
        self.place: dict[str, tuple[int, Any]] = {}  # joint that carries each body, and the body's pose in it
        self.joints: list[kido.Joint] = []  # depth first, as its algorithms take them
        waiting = list(skeleton.root_bodies[::-1])
        while waiting:
            body = waiting.pop()
            waiting += body.children[::-1]
            joint = body.parent_joint
            self.joints.append(joint)
            above, X = (0, np.eye(4)) if body.parent is None else self.place[body.parent.name]
            X = X @ joint.transform_from_parent
            offset = np.linalg.inv(joint.transform_from_child)
            if isinstance(joint, kido.WeldJoint):
                self.place[body.name] = (above, X @ offset)
            else:
                added = model.addJoint(above, self._joint(joint), se3(pin, X), joint.name)
                self.place[body.name] = (added, offset)
            k, X = self.place[body.name]
            own = body.inertia
            inertia = pin.Inertia(own.mass, own.com, own.moment)
            if own.mass > 0.0:
                model.appendBodyToJoint(k, inertia, se3(pin, X))
        self.data = model.createData()
        kinds = {
            kido.BallJointConstraint: pin.ContactType.CONTACT_3D,
            kido.WeldJointConstraint: pin.ContactType.CONTACT_6D,
        }
        self.loops, self.loop_data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for c in constraints:
            (a, A), (b, B) = (
                (0, np.eye(4)) if body is None else self.place[body.name] for body in (c.body_a, c.body_b)
            )
            self.loops.append(
                pin.RigidConstraintModel(
                    kinds[type(c)], model, a, se3(pin, A @ c.frame_a), b, se3(pin, B @ c.frame_b),
                    pin.ReferenceFrame.LOCAL,
                )
            )  # fmt: skip
        for loop in self.loops:
            self.loop_data.append(loop.createData())
        self.settings = pin.ProximalSettings(accuracy, mu, 100)
        pin.initConstraintDynamics(model, self.data, self.loops, self.loop_data)

    def _joint(self, joint: kido.Joint) -> Any:
        pin = self.pin
        if isinstance(joint, kido.RevoluteJoint):
            return pin.JointModelRevoluteUnaligned(*joint.axis)
        if isinstance(joint, kido.PrismaticJoint):
            return pin.JointModelPrismaticUnaligned(*joint.axis)
        if isinstance(joint, kido.BallJoint):
            return pin.JointModelSpherical()
        assert isinstance(joint, kido.FreeJoint), joint
        return pin.JointModelFreeFlyer()

    def state(self, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Its q and v."""
        places = []
        for joint in self.joints:
            x = q[[dof.index for dof in joint.dofs]]
            if isinstance(joint, kido.BallJoint | kido.FreeJoint):
                turn = Rotation.from_rotvec(x[:3]).as_quat()
                x = np.concatenate([x[3:], turn])
            places.append(x)
        return np.concatenate(places), u[self.columns]

    @property
    def columns(self) -> list[int]:
        """KIDO's coordinate of each of its velocities: free joints have their linear part first there."""
        found = []
        for joint in self.joints:
            own = [dof.index for dof in joint.dofs]
            found += own[3:] + own[:3] if isinstance(joint, kido.FreeJoint) else own
        return found

    def vector(self, x: np.ndarray) -> np.ndarray:
        """Its numbers for velocities or forces of KIDO's."""
        return x[self.columns]

    def own_vector(self, x: np.ndarray) -> np.ndarray:
        """KIDO's numbers for its velocities or accelerations."""
        result = np.empty_like(x)
        result[self.columns] = x
        return result

    def accelerations(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Its constrained forward dynamics."""
        return self.pin.constraintDynamics(self.model, self.data, q, v, tau, self.loops, self.loop_data, self.settings)
