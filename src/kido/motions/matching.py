"""Coordinates of a motion and of a skeleton that are the same, by their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kido.errors import NameLookupError, StateError

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

__all__ = ["matched"]


def matched(names: Sequence[str], skeleton: Skeleton, given: Mapping[str, str] | None, partial: bool) -> list[int]:
    """For each coordinate of a skeleton the index of a motion's; -1 where it has none.

    `given` says first which of the motion's `names` is which of the skeleton's. Others are those of the same name; then
    those of which one is the other after an underscore, as motions of RTQL8 have the name of a file before theirs, the
    skeleton's name set aside; then "joint.index", as DART writes them. If none is found at all and there are as many,
    the order counts.

    Raises:
        NameLookupError: `given` has names that are not there.
        StateError: some are not found, and the match is not to be partial.
    """
    found = [-1] * skeleton.num_dofs
    index = {name: k for k, name in enumerate(names)}
    dofs = [dof.name for dof in skeleton.dofs]
    for name, dof in (given or {}).items():
        if name not in index:
            raise NameLookupError("coordinate of the motion", name, list(names))
        if dof not in dofs:
            raise NameLookupError(f"coordinate of skeleton '{skeleton.name}'", dof, dofs)
        found[dofs.index(dof)] = index[name]
    for k, dof in enumerate(skeleton.dofs):
        joint = dof.joint
        number = [other.name for other in joint.dofs].index(dof.name)
        for name in (dof.name, dof.name.removeprefix(f"{skeleton.name}_"), f"{joint.name}.{number}"):
            if found[k] < 0 and name in index and index[name] not in found:
                found[k] = index[name]
    free = [name for name in names if index[name] not in found]
    for k, dof in enumerate(dofs):
        if found[k] < 0:
            own = dof.removeprefix(f"{skeleton.name}_")
            like = [n for n in free if n.endswith(f"_{own}") or own.endswith(f"_{n}")]
            found[k] = index[like[0]] if len(like) == 1 else -1
    for k in [k for k, column in enumerate(found) if column >= 0 and found.count(column) > 1]:
        found[k] = -1  # of several none is meant
    if all(column < 0 for column in found) and len(names) == len(dofs):
        return list(range(len(dofs)))
    if not partial and -1 in found:
        missing = [dof for dof, column in zip(dofs, found, strict=True) if column < 0]
        raise StateError(
            f"motion: {len(missing)} of {len(dofs)} coordinates of skeleton '{skeleton.name}' are not found in it, the "
            f"first is '{missing[0]}'; it has {len(names)}: {', '.join(names[:8])}, ...; names={{...}} says which is "
            f"which, partial=True keeps the others as they are"
        )
    return found
