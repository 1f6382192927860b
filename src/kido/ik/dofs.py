"""Which coordinates a task may use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kido.errors import ModelError
from kido.skeleton import DegreeOfFreedom, Group
from kido.skeleton.state.subsets import indices_of

if TYPE_CHECKING:
    from kido.skeleton import BodyNode

CHAIN, BODY, ALL = "chain", "body", "all"


def chosen_dofs(choice: Any, body: BodyNode) -> Any:
    """A choice as it is kept: one of the names, or a list of coordinates.

    Raises:
        ModelError: no such choice, coordinates of another skeleton, or one twice.
        NameLookupError: there is no such coordinate.
    """
    if isinstance(choice, str) and choice in (CHAIN, BODY, ALL):
        return choice
    if isinstance(choice, Group):
        choice = choice.dofs
    if isinstance(choice, str) or not isinstance(choice, Iterable):
        raise ModelError(
            f"inverse kinematics of {body.name!r}: dofs: expected 'chain', 'body', 'all', a group, or a list of "
            f"coordinates, got {choice!r}"
        )
    skeleton = body.skeleton
    indices = indices_of(skeleton, list(choice))
    found = [skeleton.dofs[k] for k in indices]
    if len(set(indices.tolist())) != len(found):
        raise ModelError(f"inverse kinematics of {body.name!r}: dofs: a coordinate is listed twice")
    return found


def dofs_of(choice: Any, body: BodyNode) -> list[DegreeOfFreedom]:
    """The coordinates of a choice, by the structure that the skeleton has now.

    Raises:
        ModelError: a coordinate that was listed is gone.
    """
    if choice == ALL:
        return body.skeleton.dofs
    if choice == BODY:
        return body.dependent_dofs
    if choice == CHAIN:
        return _chain(body)
    own = body.skeleton.dofs
    for dof in choice:
        if dof not in own:
            raise ModelError(
                f"inverse kinematics of {body.name!r}: {dof!r} is no coordinate of skeleton {body.skeleton.name!r} any "
                "more; set dofs anew"
            )
    return list(choice)


def _chain(body: BodyNode) -> list[DegreeOfFreedom]:
    """Coordinates of the joints above a body up to the first body that something else hangs on, too."""
    joints = [body.parent_joint]
    above = body.parent
    while above is not None and len(above.children) == 1:
        joints.append(above.parent_joint)
        above = above.parent
    return [dof for joint in joints[::-1] for dof in joint.dofs]
