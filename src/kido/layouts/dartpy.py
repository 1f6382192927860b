"""dartpy 6.13 and newer: our positions; a free joint's velocity is [angular; linear] in the parent body's axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.errors import ModelError
from kido.layouts.blocks import Block, FreeParentAxes, Same
from kido.layouts.layout import Place, StateLayout, check_models
from kido.skeleton import FreeJoint, Joint, Skeleton


def _block(joint: Joint) -> Block:
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
            places.append(Place(_block(joint), joint.dofs[0].index, start, start))
        super().__init__(skeleton, places, np.zeros(k), k)
