"""Positions that users set beyond limits, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kido.kernels.current import SLACK
from kido.skeleton.joints.coordinates import CoordinateKind

if TYPE_CHECKING:
    from kido.skeleton.skeleton import Skeleton

_ANGLES = (CoordinateKind.ANGLE, CoordinateKind.ROTATION)


def outside(tree: Any, positions: NDArray[np.float64], dofs: Any) -> NDArray[np.int64]:
    """Which of some coordinates are beyond their limits."""
    beyond = (positions < tree.lower - SLACK) | (positions > tree.upper + SLACK)
    return np.arange(len(positions))[dofs][beyond[dofs]]


def outside_text(skeleton: Skeleton, tree: Any, q: NDArray[np.float64], chosen: Any) -> str:
    """Says which of some positions are beyond their limits, and whether they seem to be degrees; "" if none is."""
    found = outside(tree, q, chosen)
    if not len(found):
        return ""
    dofs = [skeleton.dofs[k] for k in found]
    kinds = [dof.joint.coordinate_kind(dof.index_in_joint) for dof in dofs]
    first, unit = dofs[0], " rad" if kinds[0] in _ANGLES else " m" if kinds[0] is CoordinateKind.LENGTH else ""
    angles = [(q[k], dof) for k, dof, kind in zip(found, dofs, kinds) if kind in _ANGLES]
    are_degrees = angles and all(
        abs(value) > np.pi and dof.position_lower_limit <= np.radians(value) <= dof.position_upper_limit
        for value, dof in angles
    )
    return (
        f"skeleton {skeleton.name!r}: positions: {first.name!r} = {q[found[0]]:g} is outside of its limits, "
        f"{first.position_lower_limit:g} to {first.position_upper_limit:g}{unit}"
        f"{f' (and {len(found) - 1} more)' if len(found) > 1 else ''}"
        f"{'; angles are in radians, and as degrees they would be within' if are_degrees else ''}"
    )
