"""Pinocchio: [linear; angular] twists in body axes, quaternions (x, y, z, w), continuous joints as cosine and sine."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.errors import ModelError
from kido.layouts.blocks import Block, CosineSine, FreeQuaternion, PlanarCosineSine, Quaternion, Same
from kido.layouts.layout import Place, StateLayout, check_models
from kido.skeleton import BallJoint, FreeJoint, Joint, PlanarJoint, Skeleton


def _block(joint: Joint, size: int, dofs: int) -> Block | None:
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
            block = _block(joint, theirs.nq, theirs.nv)
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
