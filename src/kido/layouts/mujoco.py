"""MuJoCo: quaternions (w, x, y, z); a free joint's velocity is [linear in world axes; angular in body axes]."""

from __future__ import annotations

from typing import Any

from kido.errors import ModelError
from kido.layouts.blocks import Block, FreeQuaternion, Quaternion, Same
from kido.layouts.layout import Place, StateLayout, check_models
from kido.skeleton import BallJoint, FreeJoint, Skeleton

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
