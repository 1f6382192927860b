"""Properties of all coordinates of a skeleton at once: limits and gains as vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError
from kido.math.transform import as_numbers
from kido.skeleton.joints.coordinates import MEANINGS, changed_properties
from kido.skeleton.joints.joint import write_properties


def _vector(key: str) -> Any:
    def read(self: CoordinateVectors) -> NDArray[np.float64]:
        joints = dict.fromkeys(dof.joint for dof in self.parts.dofs)
        return np.concatenate([np.zeros(0), *(joint.get_property(key) for joint in joints)])

    def write(self: CoordinateVectors, value: ArrayLike) -> None:
        _write(self, key, value)

    return property(read, write, doc=f"{MEANINGS[key]}. One number for each coordinate (dofs,) (a copy).")


def _write(skeleton: CoordinateVectors, key: str, value: ArrayLike) -> None:
    what, size = f"skeleton {skeleton.name!r}", len(skeleton.parts.dofs)
    try:
        values = np.broadcast_to(as_numbers(value), (size,))
    except (TypeError, ValueError):
        raise ModelError(f"{what}: {key}s: expected one number or {size}, got {value!r}") from None
    joints = list(dict.fromkeys(dof.joint for dof in skeleton.parts.dofs))
    ends = np.cumsum([joint.num_dofs for joint in joints])
    changed = [
        changed_properties(
            joint._properties, key, values[end - joint.num_dofs : end], joint.num_dofs, f"{what}: joint {joint.name!r}"
        )
        for joint, end in zip(joints, ends, strict=True)
    ]
    for joint, properties in zip(joints, changed, strict=True):
        write_properties(joint, properties)


class CoordinateVectors:
    """Properties of the coordinates of a skeleton, as vectors in the order of its state.

    Set one to as many numbers, or to one for all. A number that one joint refuses changes none.

    Raises (when set):
        ModelError: other counts, NaN, what is below its lowest value; a lower limit above the upper one.
    """

    if TYPE_CHECKING:
        name: str
        parts: Any

    position_lower_limits = _vector("position_lower_limit")
    position_upper_limits = _vector("position_upper_limit")
    velocity_lower_limits = _vector("velocity_lower_limit")
    velocity_upper_limits = _vector("velocity_upper_limit")
    velocity_limits = _vector("velocity_limit")
    acceleration_lower_limits = _vector("acceleration_lower_limit")
    acceleration_upper_limits = _vector("acceleration_upper_limit")
    acceleration_limits = _vector("acceleration_limit")
    force_lower_limits = _vector("force_lower_limit")
    force_upper_limits = _vector("force_upper_limit")
    force_limits = _vector("force_limit")
    position_gains = _vector("position_gain")
    velocity_gains = _vector("velocity_gain")
