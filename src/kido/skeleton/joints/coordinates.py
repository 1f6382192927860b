"""What a joint's coordinates are, the properties of each, and the elementary motions that some joints are made of."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError
from kido.joints import JointKind
from kido.math.transform import as_numbers

Array = NDArray[np.float64]


class CoordinateKind(Enum):
    """What a coordinate measures.

    ANGLE: about an axis; a full turn brings the joint back [rad].
    LENGTH: along an axis [m].
    ROTATION: one of three of a rotation vector [rad].
    OTHER: anything else, as the turn of a screw or what a user defines.
    """

    ANGLE = "angle"
    LENGTH = "length"
    ROTATION = "rotation"
    OTHER = "other"


KIND_OF_HINGE = {JointKind.REVOLUTE: CoordinateKind.ANGLE, JointKind.PRISMATIC: CoordinateKind.LENGTH}


class ElementaryMotion(NamedTuple):
    """A fixed transform (4x4), then a turn about, a slide along or a screw about one unit axis.

    Units: pitch in metres per revolution.
    """

    kind: JointKind
    axis: NDArray[np.float64]
    pitch: float = 0.0
    offset: NDArray[np.float64] = np.eye(4)


class ArrayProperty(property):
    """A property that is read as an array, and set to whatever an array can be made of: so checkers know it."""

    if TYPE_CHECKING:

        def __get__(self, owner: Any, kind: type | None = None) -> Array: ...
        def __set__(self, owner: Any, value: ArrayLike) -> None: ...


# Properties of coordinates -----------------------------------------------------------------------------------

_LIMITED = ("position", "velocity", "acceleration", "force")

# Property name -> (default, lowest allowed value). All are arrays with one number for each coordinate.
DOF_PROPERTIES: dict[str, tuple[float, float]] = {
    **{
        f"{what}_{side}_limit": (sign * np.inf, -np.inf)
        for what in _LIMITED
        for side, sign in (("lower", -1.0), ("upper", 1.0))
    },
    "damping": (0.0, 0.0),
    "armature": (0.0, 0.0),
    "coulomb_friction": (0.0, 0.0),
    "spring_stiffness": (0.0, 0.0),
    "rest_position": (0.0, -np.inf),
    "position_gain": (0.0, 0.0),
    "velocity_gain": (0.0, 0.0),
    "initial_position": (0.0, -np.inf),
    "initial_velocity": (0.0, -np.inf),
}  # fmt: skip

# One number for a lower limit and an upper one of the same size.
SYMMETRIC_LIMITS = {f"{what}_limit": what for what in _LIMITED[1:]}

_UNITS = {
    "position": "[m, rad]",
    "velocity": "[m/s, rad/s]",
    "acceleration": "[m/s^2, rad/s^2]",
    "force": "[N, N m]",
}
# What each property is, for docstrings.
MEANINGS: dict[str, str] = {
    **{f"{what}_lower_limit": f"Least {what} {unit}; -inf for no limit" for what, unit in _UNITS.items()},
    **{f"{what}_upper_limit": f"Largest {what} {unit}; inf for no limit" for what, unit in _UNITS.items()},
    **{
        f"{what}_limit": f"Largest size of the {what} {unit}; setting it sets a lower limit and an upper one"
        for what, unit in _UNITS.items()
        if what != "position"
    },
    "damping": "Force per velocity that opposes it [N s/m, N m s/rad], implicit in steps of a world",
    "armature": "Rotor inertia that the coordinate drives, gear ratios squared in it, on M's diagonal [kg, kg m^2]",
    "coulomb_friction": "Dry friction: most that it resists motion with, in a world [N, N m]",
    "spring_stiffness": "Force per distance from `rest_position` that opposes it [N/m, N m/rad]",
    "rest_position": "Where the spring exerts no force [m, rad]",
    "position_gain": "kp of a POSITION actuator: force per distance from the position asked for [N/m, N m/rad]",
    "velocity_gain": "kd of a POSITION actuator: force per velocity that opposes it [N s/m, N m s/rad]",
    "initial_position": "Position that a new skeleton starts with [m, rad]",
    "initial_velocity": "Velocity that a new skeleton starts with [m/s, rad/s]",
}


def read_property(properties: dict[str, Array], key: str, owner: str) -> Array:
    """A property of all coordinates (a copy); of a symmetric limit the largest size that is allowed.

    Raises:
        ModelError: there is no such property.
    """
    what = SYMMETRIC_LIMITS.get(key) if isinstance(key, str) else None
    if what is not None:
        return np.maximum(-properties[f"{what}_lower_limit"], properties[f"{what}_upper_limit"], dtype=np.float64)
    if not isinstance(key, str) or key not in properties:
        raise ModelError(f"{owner} has no property {key!r}; it has {_names()}")
    return properties[key].copy()


def changed_properties(
    properties: dict[str, Array], key: str, value: ArrayLike, size: int, owner: str
) -> dict[str, Array]:
    """New values of properties by name, checked; nothing is written.

    Raises:
        ModelError: there is no such property, or it does not take this value.
    """
    symmetric = SYMMETRIC_LIMITS.get(key) if isinstance(key, str) else None
    if symmetric is None and (not isinstance(key, str) or key not in DOF_PROPERTIES):
        raise ModelError(f"{owner} has no property {key!r}; it has {_names()}")
    try:
        array = np.array(np.broadcast_to(as_numbers(value), (size,)))
    except (TypeError, ValueError):
        raise ModelError(f"{owner}: {key}: expected one number or {size}, got {value!r}") from None
    lowest = 0.0 if symmetric is not None else DOF_PROPERTIES[key][1]
    is_limit = key.endswith("_limit")
    allowed = ~np.isnan(array) if is_limit else np.isfinite(array)
    if not (allowed & (array >= lowest)).all():
        expected = "numbers" if is_limit else "finite numbers"
        bound = "" if lowest == -np.inf else f" not below {lowest:g}"
        raise ModelError(f"{owner}: {key}: expected {expected}{bound}, got {array.tolist()}")
    if symmetric is not None:
        return {f"{symmetric}_lower_limit": -array, f"{symmetric}_upper_limit": array}
    if is_limit:
        what = key.split("_")[0]
        lower = array if "_lower_" in key else properties[f"{what}_lower_limit"]
        upper = array if "_upper_" in key else properties[f"{what}_upper_limit"]
        if (lower > upper).any():
            raise ModelError(f"{owner}: lower {what} limit {lower.tolist()} above the upper {upper.tolist()}")
    return {key: array}


def _names() -> str:
    return ", ".join([*DOF_PROPERTIES, *SYMMETRIC_LIMITS])
