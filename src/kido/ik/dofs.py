"""Which coordinates a task may use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError
from kido.ik.coupling import coupling_of
from kido.skeleton import DegreeOfFreedom, Group
from kido.skeleton.state.subsets import indices_of

if TYPE_CHECKING:
    from kido.skeleton import BodyNode

CHAIN_DOFS, BODY_DOFS, ALL_DOFS = "chain", "body", "all"


def chosen_dofs(choice: Any, body: BodyNode) -> Any:
    """A choice as it is kept: one of the names, or a list of coordinates.

    Raises:
        ModelError: no such choice, coordinates of another skeleton, or one twice.
        NameLookupError: there is no such coordinate.
        StateError: one that was listed mimics another, or is LOCKED.
    """
    if isinstance(choice, str) and choice in (CHAIN_DOFS, BODY_DOFS, ALL_DOFS):
        return choice
    by_group = isinstance(choice, Group)
    if isinstance(choice, Group):
        choice = choice.dofs
    if isinstance(choice, str) or not isinstance(choice, Iterable):
        raise ModelError(
            f"inverse kinematics of {body.name!r}: dofs: expected 'chain', 'body', 'all', a group, or a list of "
            f"coordinates, got {choice!r}"
        )
    skeleton = body.skeleton
    indices = indices_of(skeleton, list(choice))
    coupling = coupling_of(skeleton)
    indices = coupling.independent(indices) if by_group else coupling.checked(indices)
    found = [skeleton.dofs[k] for k in indices]
    if len(set(indices.tolist())) != len(found):
        raise ModelError(f"inverse kinematics of {body.name!r}: dofs: a coordinate is listed twice")
    return found


def dofs_of(choice: Any, body: BodyNode) -> NDArray[np.int64]:
    """Places in the skeleton's arrays of the coordinates of a choice, by what the skeleton is now.

    Raises:
        ModelError: a coordinate that was listed is gone.
        StateError: it mimics another now, or is LOCKED.
    """
    own = body.skeleton.dofs
    place = {dof: k for k, dof in enumerate(own)}
    coupling = coupling_of(body.skeleton)
    if isinstance(choice, str):
        found = own if choice == ALL_DOFS else body.dependent_dofs if choice == BODY_DOFS else _chain(body)
        return coupling.independent([place[dof] for dof in found])
    for dof in choice:
        if dof not in place:
            raise ModelError(
                f"inverse kinematics of {body.name!r}: {dof!r} is no coordinate of skeleton {body.skeleton.name!r} any "
                "more; set dofs anew"
            )
    return coupling.checked(np.array([place[dof] for dof in choice], np.int64))


def _chain(body: BodyNode) -> list[DegreeOfFreedom]:
    """Coordinates of the joints above a body up to the first where something else moves on what they move.

    Bodies that are welded together count as one, and what hangs on the one of the body itself does not count.
    """
    joints, lowest = [], _welded(body)[0]
    while lowest is not None:
        joints.append(lowest.parent_joint)
        above = lowest.parent
        if above is None:
            break
        lowest, branches = _welded(above)
        if branches > 1:
            break
    return [dof for joint in joints[::-1] for dof in joint.dofs]


def _welded(body: BodyNode) -> tuple[BodyNode | None, int]:
    """Of the bodies welded to a body, itself among them: the one whose joint moves them all, and how many hang on them.

    The first is None if they are welded to the world.
    """
    top: BodyNode = body
    while not top.parent_joint.num_dofs and top.parent is not None:
        top = top.parent
    hanging, inside = 0, [top]
    while inside:
        for child in inside.pop().children:
            if child.parent_joint.num_dofs:
                hanging += 1
            else:
                inside.append(child)
    return (top if top.parent_joint.num_dofs else None), hanging
