"""Bodies and joints of a compiled model as skeletons: one for each body that is a child of the world's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kido.io.mjcf.remarks import LeftOut
from kido.skeleton import (
    BallJoint,
    BodyNode,
    CompoundJoint,
    DegreeOfFreedom,
    FreeJoint,
    Hinge,
    Inertia,
    Joint,
    PrismaticJoint,
    RevoluteJoint,
    Skeleton,
    WeldJoint,
)

__all__ = ["Trees", "pose"]

Array = NDArray[np.float64]
FREE, BALL, SLIDE, HINGE = range(4)  # mjtJoint
NOT_SAME, SAME = 0, 1  # mjtSameFrame; others: the same axes
PLACEMENT = {SLIDE: Hinge.prismatic, HINGE: Hinge.revolute}
WORLD = "world"
# Of mjtDisableBit.
NO_CONSTRAINTS, NO_FRICTION, NO_LIMITS, NO_SPRINGS, NO_DAMPERS = 1, 1 << 2, 1 << 3, 1 << 5, 1 << 6
NO_GRAVITY, NO_PARENT_FILTER, NO_SAFE_REFERENCE = 1 << 7, 1 << 10, 1 << 12


def pose(position: Any, quaternion: Any = (1.0, 0.0, 0.0, 0.0)) -> Array:
    """Transform (4, 4) of a position and a quaternion (w, x, y, z)."""
    X = np.eye(4)
    X[:3, :3] = Rotation.from_quat(np.asarray(quaternion, float), scalar_first=True).as_matrix()
    X[:3, 3] = position
    return X


class Trees:
    """Skeletons of a compiled model.

    Attributes:
        skeletons: in the model's order; the first is the world's own body, immobile, if it has anything on it.
        bodies: of each of the model's bodies, by its number.
        dofs: of each coordinate of its velocities (nv,).
    """

    def __init__(self, model: Any, left_out: LeftOut):
        self.model = model
        self.left_out = left_out
        self.skeletons: list[Skeleton] = []
        self.bodies: dict[int, BodyNode] = {}
        self.dofs: dict[int, DegreeOfFreedom] = {}
        self.add_world_body()
        for b in range(1, int(model.nbody)):
            self._add(b)

    def switched(self, bits: int) -> bool:
        """Whether the model's options have none of some switches off."""
        return not int(self.model.opt.disableflags) & bits

    def add_world_body(self) -> None:
        """A body for what is fixed to the world, welded."""
        skeleton = Skeleton(WORLD)
        skeleton.mobile = False
        self.bodies[0] = skeleton.add_body(WORLD, WeldJoint(f"{WORLD}_joint"))
        self.skeletons.append(skeleton)

    def _add(self, b: int) -> None:
        m = self.model
        parent_id, name = int(m.body_parentid[b]), m.body(b).name
        X = pose(m.body_pos[b], m.body_quat[b])
        parent: BodyNode | None = None
        if parent_id == 0:
            skeleton = Skeleton(self._free_skeleton_name(name))
            skeleton.self_collision = True
            self.skeletons.append(skeleton)
        else:
            parent = self.bodies[parent_id]
            skeleton = parent.skeleton
        joints = self._joints(b, X, name)
        for k, joint in enumerate(joints[:-1]):
            parent = skeleton.add_body(f"{name}_{k + 1}_of_{len(joints)}", joint, parent)
        self.bodies[b] = skeleton.add_body(name, joints[-1], parent, self._inertia(b))
        if int(m.body_mocapid[b]) >= 0:
            skeleton.kinematic = True
        compensation = float(m.body_gravcomp[b])
        if compensation >= 0.0:
            self.bodies[b].gravity = 1.0 - compensation
        else:
            self.left_out.add("gravity cannot be more than there is: gravcomp below zero is left out", f"body {name}")

    def _free_skeleton_name(self, name: str) -> str:
        return f"{name}_" if name == WORLD else name

    def _inertia(self, b: int) -> Inertia:
        m = self.model
        same = int(m.body_sameframe[b])  # MuJoCo takes what is nearly so as exactly so
        X = pose(m.body_ipos[b], m.body_iquat[b]) if same == NOT_SAME else pose(m.body_ipos[b] * (same != SAME))
        return Inertia.from_diagonal(float(m.body_mass[b]), m.body_inertia[b]).transformed(X)

    # -- joints --------------------------------------------------------------------------------------------

    def _joints(self, b: int, X: Array, body: str) -> list[Joint]:
        """Joints in a row that place a body, the last of which carries it."""
        m = self.model
        first, number = int(m.body_jntadr[b]), int(m.body_jntnum[b])
        if int(m.body_mocapid[b]) >= 0:
            return [FreeJoint(f"{body}_joint", initial_position=FreeJoint.from_transform(X))]
        if number == 0:
            return [WeldJoint(f"{body}_joint", transform_from_parent=X)]
        ids = list(range(first, first + number))
        runs: list[list[int]] = []
        for j in ids:
            if runs and self._is_elementary(j) and self._is_elementary(runs[-1][-1]):
                runs[-1].append(j)
            else:
                runs.append([j])
        made = []
        for run in runs:
            made.append(self._joint(run, X, body))
            X = np.eye(4)
        return made

    def _is_elementary(self, j: int) -> bool:
        return int(self.model.jnt_type[j]) in PLACEMENT

    def _joint(self, ids: list[int], X: Array, body: str) -> Joint:
        m = self.model
        kind, name = int(m.jnt_type[ids[0]]), m.joint(ids[0]).name
        options = self._properties(ids)
        anchor = pose(m.jnt_pos[ids[0]])
        joint: Joint
        if kind == FREE:
            at = int(m.jnt_qposadr[ids[0]])
            start = pose(m.qpos0[at : at + 3], m.qpos0[at + 3 : at + 7])
            joint = FreeJoint(name, initial_position=FreeJoint.from_transform(start), **options)
        elif kind == BALL:
            joint = BallJoint(name, transform_from_parent=X @ anchor, transform_from_child=anchor, **options)
        elif len(ids) == 1:
            build: Callable[..., Joint] = RevoluteJoint if kind == HINGE else PrismaticJoint
            start = X @ anchor @ self._back(ids[0])
            child = anchor if kind == HINGE else np.eye(4)
            if kind == SLIDE:
                start = X @ self._back(ids[0])
            joint = build(
                name, axis=m.jnt_axis[ids[0]], transform_from_parent=start, transform_from_child=child, **options
            )
        else:
            hinges, before = [], np.zeros(3)
            for j in ids:
                offset = pose(m.jnt_pos[j] - before) @ self._back(j)
                hinges.append(PLACEMENT[int(m.jnt_type[j])](m.jnt_axis[j], offset=offset))
                before = m.jnt_pos[j]
            names: list[str | None] = [m.joint(j).name for j in ids]
            joint = CompoundJoint(
                f"{body}_joint",
                hinges,
                transform_from_parent=X,
                transform_from_child=pose(before),
                dof_names=names,
                **options,
            )
        at = int(m.jnt_dofadr[ids[0]])
        for k, dof in enumerate(self._in_our_order(joint)):
            self.dofs[at + k] = dof
        return joint

    def _in_our_order(self, joint: Joint) -> list[DegreeOfFreedom]:
        """Coordinates in the model's order: of a free joint the translations first."""
        return [*joint.dofs[3:], *joint.dofs[:3]] if isinstance(joint, FreeJoint) else list(joint.dofs)

    def _back(self, j: int) -> Array:
        """Motion of a hinge or slide from its reference position, in which the model is assembled, to zero."""
        m = self.model
        reference = -float(m.qpos0[m.jnt_qposadr[j]])
        X = np.eye(4)
        if int(m.jnt_type[j]) == HINGE:
            X[:3, :3] = Rotation.from_rotvec(reference * m.jnt_axis[j]).as_matrix()
        else:
            X[:3, 3] = reference * m.jnt_axis[j]
        return X

    def _properties(self, ids: list[int]) -> dict[str, Any]:
        """Properties of the coordinates of joints in a row."""
        m = self.model
        kind = int(m.jnt_type[ids[0]])
        size = {FREE: 6, BALL: 3}.get(kind, len(ids))
        dofs = slice(int(m.jnt_dofadr[ids[0]]), int(m.jnt_dofadr[ids[0]]) + size)
        turn = np.array([3, 4, 5, 0, 1, 2]) if kind == FREE else np.arange(size)
        stiffness = m.jnt_stiffness[ids] if size == len(ids) else np.full(size, m.jnt_stiffness[ids[0]])
        found: dict[str, Any] = {
            "damping": m.dof_damping[dofs][turn] * self.switched(NO_DAMPERS),
            "armature": m.dof_armature[dofs][turn],
            "coulomb_friction": m.dof_frictionloss[dofs][turn] * self.switched(NO_FRICTION | NO_CONSTRAINTS),
            "spring_stiffness": stiffness * self.switched(NO_SPRINGS),
        }
        name = m.joint(ids[0]).name
        if kind in PLACEMENT:
            at = m.jnt_qposadr[ids]
            limited = m.jnt_limited[ids].astype(bool) & self.switched(NO_LIMITS | NO_CONSTRAINTS)
            found["initial_position"] = m.qpos0[at]
            found["rest_position"] = m.qpos_spring[at]
            margin = m.jnt_margin[ids]  # from which on a limit pushes: that is where it holds
            found["position_lower_limit"] = np.where(limited, m.jnt_range[ids, 0] + margin, -np.inf)
            found["position_upper_limit"] = np.where(limited, m.jnt_range[ids, 1] - margin, np.inf)
            forced = m.jnt_actfrclimited[ids].astype(bool)
            if forced.any():
                found["force_lower_limit"] = np.where(forced, m.jnt_actfrcrange[ids, 0], -np.inf)
                found["force_upper_limit"] = np.where(forced, m.jnt_actfrcrange[ids, 1], np.inf)
        else:
            at = int(m.jnt_qposadr[ids[0]])
            rest = m.qpos_spring[at : at + (7 if kind == FREE else 4)]
            if m.jnt_stiffness[ids[0]]:
                turned = Rotation.from_quat(rest[-4:], scalar_first=True).as_rotvec()
                found["rest_position"] = np.concatenate([turned, rest[:3]]) if kind == FREE else turned
                self.left_out.add("springs of ball and free joints have the potential k (1 - cos angle)", name)
            if kind == FREE and np.any(m.dof_armature[dofs]):
                self.left_out.add("armature of free joints is along the axes of their bodies", name)
            if m.jnt_actfrclimited[ids[0]]:
                self.left_out.add("limits of actuators' force on ball and free joints are left out", name)
        if np.any(m.jnt_stiffnesspoly[ids]) or np.any(m.dof_dampingpoly[dofs]):
            self.left_out.add("stiffness and damping that depend on position and velocity are taken as constant", name)
        return found
