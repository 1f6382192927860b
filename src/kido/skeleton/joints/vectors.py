"""Properties of all coordinates of a skeleton at once: limits and gains as vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError
from kido.math.transform import as_numbers
from kido.skeleton.joints.coordinates import MEANINGS, changed_properties
from kido.skeleton.joints.joint import write_properties


def of_coordinates(key: str) -> Any:
    """A property of skeletons: that of all coordinates as a vector, in the order of the state.

    It is set to as many numbers, or to one for all. A number that one joint refuses changes none (ModelError).
    """

    def read(self: Any) -> NDArray[np.float64]:
        joints = dict.fromkeys(dof.joint for dof in self.parts.dofs)
        return np.concatenate([np.zeros(0), *(joint.get_property(key) for joint in joints)])

    def write(self: Any, value: ArrayLike) -> None:
        _write(self, key, value)

    return property(read, write, doc=f"{MEANINGS[key]}. One number for each coordinate (dofs,) (a copy).")


def _write(skeleton: Any, key: str, value: ArrayLike) -> None:
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
