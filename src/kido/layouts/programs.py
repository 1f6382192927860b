"""State vectors of other programs.

Pinocchio: [linear; angular] twists in body axes, quaternions (x, y, z, w), continuous joints as cosine and sine.
MuJoCo: quaternions (w, x, y, z); a free joint's velocity is [linear in world axes; angular in body axes].
dartpy 6.13 and newer: our positions; a free joint's velocity is [angular; linear] in the parent body's axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.errors import ModelError
from kido.layouts.layout import (
    Block,
    CosineSine,
    FreeParentAxes,
    FreeQuaternion,
    Place,
    PlanarCosineSine,
    Quaternion,
    Same,
    StateLayout,
    check_models,
)
from kido.skeleton import BallJoint, FreeJoint, Joint, PlanarJoint, Skeleton


def _pinocchio_block(joint: Joint, size: int, dofs: int) -> Block | None:
    if dofs != joint.num_dofs:
        return None
    if isinstance(joint, FreeJoint):
        return FreeQuaternion(scalar_first=False, linear_in_world=False)
    if isinstance(joint, BallJoint):
        return Quaternion(scalar_first=False) if size == 4 else None
    if isinstance(joint, PlanarJoint):
        along = np.array_equal(joint.axis1, (1, 0, 0)) and np.array_equal(joint.axis2, (0, 1, 0))
        return PlanarCosineSine() if size == 4 and along else None
    if (size, dofs) == (2, 1):
        return CosineSine()
    return Same(dofs) if size == dofs else None


class PinocchioLayout(StateLayout):
    """State vectors of a `pinocchio.Model` read from the same file.

    A floating base is matched whatever it is called ("root_joint" there); other joints by name. Joints that the
    skeleton lacks keep their neutral positions.

    Args:
        skeleton: ours.
        model: a `pinocchio.Model`.

    Raises:
        ModelError: a joint of the skeleton is missing there or of another kind.
    """

    def __init__(self, skeleton: Skeleton, model: Any):
        check_models(skeleton, model, "njoints", "a pinocchio.Model")
        indices = {model.names[i]: i for i in range(1, model.njoints)}
        bases = [i for i in indices.values() if model.joints[i].nq == 7 and model.parents[i] == 0]
        places, template = [], _neutral(model)
        for joint in skeleton.joints:
            if joint.num_dofs == 0:
                continue
            index = indices.get(joint.name)
            if index is None and isinstance(joint, FreeJoint) and len(bases) == 1:
                index = bases[0]
            if index is None:
                raise ModelError(f"joint {joint.name!r} is not in the Pinocchio model; it has {', '.join(indices)}")
            theirs = model.joints[index]
            block = _pinocchio_block(joint, theirs.nq, theirs.nv)
            if block is None:
                raise ModelError(
                    f"joint {joint.name!r}: {type(joint).__name__} here is not {theirs.shortname()} in the "
                    "Pinocchio model"
                )
            places.append(Place(block, joint.dofs[0].index, theirs.idx_q, theirs.idx_v))
        super().__init__(skeleton, places, template, model.nv)


def _neutral(model: Any) -> np.ndarray:
    """Zeros, and for unit-length coordinates their first-listed one."""
    q = np.zeros(model.nq)
    for i in range(1, model.njoints):
        j = model.joints[i]
        if (j.nq, j.nv) == (2, 1):
            q[j.idx_q] = 1.0
        elif (j.nq, j.nv) == (4, 3):
            q[j.idx_q + (2 if "Planar" in j.shortname() else 3)] = 1.0
        elif (j.nq, j.nv) == (7, 6):
            q[j.idx_q + 6] = 1.0
    return q


_FREE, _BALL = 0, 1  # MuJoCo's joint types; 2 and 3 slide and turn


class MujocoLayout(StateLayout):
    """State vectors of a `mujoco.MjModel` with joints of the same names.

    MuJoCo has several joints on one body where we have one joint with several coordinates: those are matched by
    the names of the coordinates. A floating base without a name there is matched if there is only one.

    Args:
        skeleton: ours.
        model: a `mujoco.MjModel`.

    Raises:
        ModelError: a coordinate of the skeleton is missing there or of another kind.
    """

    def __init__(self, skeleton: Skeleton, model: Any):
        check_models(skeleton, model, "njnt", "a mujoco.MjModel")
        names = {model.joint(i).name: i for i in range(model.njnt)}
        unnamed_free = [i for i in range(model.njnt) if model.jnt_type[i] == _FREE]
        places: list[Place] = []

        def add(what: str, name: str, block: Block, first: int, kinds: tuple[int, ...], index: int | None) -> None:
            if index is None:
                raise ModelError(f"{what} {name!r} is not in the MuJoCo model; it has {', '.join(names)}")
            if int(model.jnt_type[index]) not in kinds:
                raise ModelError(f"{what} {name!r} is of another kind in the MuJoCo model")
            places.append(Place(block, first, int(model.jnt_qposadr[index]), int(model.jnt_dofadr[index])))

        for joint in skeleton.joints:
            index = names.get(joint.name)
            if isinstance(joint, FreeJoint):
                if index is None and len(unnamed_free) == 1:
                    index = unnamed_free[0]
                block = FreeQuaternion(scalar_first=True, linear_in_world=True)
                add("joint", joint.name, block, joint.dofs[0].index, (_FREE,), index)
            elif isinstance(joint, BallJoint):
                add("joint", joint.name, Quaternion(scalar_first=True), joint.dofs[0].index, (_BALL,), index)
            else:
                for dof in joint.dofs:
                    add("dof", dof.name, Same(1), dof.index, (2, 3), names.get(dof.name))
        super().__init__(skeleton, places, model.qpos0, int(model.nv))


def _dartpy_block(joint: Joint) -> Block:
    if not isinstance(joint, FreeJoint):
        return Same(joint.num_dofs)
    if not np.array_equal(joint.transform_from_child, np.eye(4)):
        raise ModelError(f"joint {joint.name!r}: a free joint away from its body's frame has no counterpart in dartpy")
    return FreeParentAxes(joint.transform_from_parent[:3, :3])


class DartpyLayout(StateLayout):
    """State vectors of a `dartpy.dynamics.Skeleton` with joints of the same names.

    Args:
        skeleton: ours.
        other: a `dartpy.dynamics.Skeleton`.

    Raises:
        ModelError: a joint of the skeleton is missing there or has another number of coordinates; a free joint
            has a `transform_from_child` (DART's velocities of such a joint mean something else).
    """

    def __init__(self, skeleton: Skeleton, other: Any):
        check_models(skeleton, other, "getNumJoints", "a dartpy Skeleton")
        first, k = {}, 0
        for i in range(other.getNumJoints()):
            joint = other.getJoint(i)
            first[joint.getName()] = (k, joint.getNumDofs())
            k += joint.getNumDofs()
        places = []
        for joint in skeleton.joints:
            if joint.num_dofs == 0:
                continue
            start, size = first.get(joint.name, (0, -1))
            if size != joint.num_dofs:
                found = f"there it has {size} coordinates" if size >= 0 else f"it has {', '.join(first)}"
                raise ModelError(
                    f"joint {joint.name!r} ({joint.num_dofs} coordinates) is not in the dartpy model; {found}"
                )
            places.append(Place(_dartpy_block(joint), joint.dofs[0].index, start, start))
        super().__init__(skeleton, places, np.zeros(k), k)
