"""Joints as plain data, and back."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from kido.flexible import ModalJoint, Modes, NodeJoint
from kido.joints import JointKind
from kido.recording.codec import RecordingError
from kido.skeleton import JOINT_TYPES, CompoundJoint, Hinge, Joint, Mimic, UserJoint
from kido.skeleton.joints.coordinates import DOF_PROPERTIES, SYMMETRIC_LIMITS

_TYPES: dict[str, type[Joint]] = {**JOINT_TYPES, "ModalJoint": ModalJoint, "NodeJoint": NodeJoint}
_TRANSFORMS = ("transform_from_parent", "transform_from_child")


def joint_to_dict(joint: Joint) -> dict[str, Any]:
    """Type, frames, coordinates and properties of a joint as plain data.

    Of a user's joint, the name of its class and its parameters.

    Raises:
        RecordingError: a class that is neither KIDO's nor a `UserJoint`, or a parameter that is no plain data.
    """
    kind = type(joint).__name__
    if isinstance(joint, UserJoint):
        kind = _class_name(type(joint))
        unique = {"parameters": {key: _plain(value, joint, key) for key, value in joint.parameters.items()}}
    elif _TYPES.get(kind) is not type(joint):
        expected = ", ".join(_TYPES)
        raise RecordingError(f"joint {joint.name!r} is of class {kind}, expected a kido.UserJoint or one of {expected}")
    elif isinstance(joint, ModalJoint):
        unique = {"modes": joint.modes.to_dict()}
    elif isinstance(joint, CompoundJoint):
        unique = {"hinges": [_hinge_to_dict(hinge) for hinge in joint.hinges]}
    else:
        unique = {key: _plain(value, joint, key) for key, value in joint.unique_properties.items()}
    names = [dof.name for dof in joint.dofs]
    usual = [joint.name + suffix for suffix in joint.dof_suffixes]
    return {
        "type": kind,
        "name": joint.name,
        **{key: getattr(joint, key).tolist() for key in _TRANSFORMS},
        "dof_suffixes": list(joint.dof_suffixes),
        "dof_names": None if names == usual else names,
        "actuators": [dof.actuator_type.name for dof in joint.dofs],
        "mimics": [None if dof.mimic is None else dataclasses.asdict(dof.mimic) for dof in joint.dofs],
        "enforce_velocity_limits": joint.enforce_velocity_limits,
        "enforce_command_limits": joint.enforce_command_limits,
        "enforce_position_limits": joint.enforce_position_limits,
        **unique,
        **{key: joint.get_property(key).tolist() for key in DOF_PROPERTIES},
    }


def joint_from_dict(data: dict[str, Any]) -> Joint:
    """A joint equal to the one that `joint_to_dict` was given.

    Raises:
        RecordingError: a type that is not known; the class of a user's joint is not imported.
    """
    # Recordings of old have symmetric limits.
    options = {key: data[key] for key in (*DOF_PROPERTIES, *SYMMETRIC_LIMITS) if key in data}
    options |= {key: data[key] for key in _TRANSFORMS}
    options["dof_names"] = data["dof_names"]
    if "parameters" in data:
        joint = _user_class(data).restored(data["name"], data["parameters"], **options)
    elif data["type"] not in _TYPES:
        raise RecordingError(f"joint {data['name']!r}: unknown type {data['type']!r}")
    else:
        kind = _TYPES[data["type"]]
        unique: dict[str, Any] = {key: data[key] for key in kind.own_properties}
        if kind is CompoundJoint:
            unique = {"hinges": [_hinge_from_dict(item) for item in data["hinges"]]}
        elif kind is ModalJoint:
            unique = {"modes": Modes.from_dict(data["modes"])}
        joint = kind(data["name"], **unique, **options)
    _set_actuators(joint, data)
    joint.enforce_position_limits = data.get("enforce_position_limits", True)
    for key in (*_TRANSFORMS, *joint.axis_properties()):
        if key in data:
            keep_bits(joint, f"_{key}", data[key])
    return joint


def suffixes_of(data: dict[str, Any]) -> list[str]:
    """What the coordinates of a described joint add to its name."""
    return list(data["dof_suffixes"] if "dof_suffixes" in data else _TYPES[data["type"]].dof_suffixes)


def keep_bits(owner: Any, field: str, value: Any) -> None:
    """Put back the exact numbers where a constructor's normalisation moved the last bit."""
    exact = np.array(value, dtype=np.float64)
    made = getattr(owner, field)
    if exact.shape == made.shape and np.allclose(exact, made, rtol=0, atol=1e-12):
        object.__setattr__(owner, field, exact)


def _set_actuators(joint: Joint, data: dict[str, Any]) -> None:
    if "actuators" not in data:  # written before joints had actuators: mimics were kept and did nothing
        return
    joint.mimics = [None if mimic is None else Mimic(**mimic) for mimic in data["mimics"]]
    joint.actuator_types = data["actuators"]
    joint.enforce_velocity_limits = data["enforce_velocity_limits"]
    joint.enforce_command_limits = data.get("enforce_command_limits", False)  # older ones were made without


def _hinge_to_dict(hinge: Hinge) -> dict[str, Any]:
    axis, offset = hinge.axis.tolist(), hinge.offset.tolist()
    return {"kind": hinge.kind.name, "axis": axis, "pitch": hinge.pitch, "offset": offset}


def _hinge_from_dict(data: dict[str, Any]) -> Hinge:
    hinge = Hinge(JointKind[data["kind"]], data["axis"], data["pitch"], data["offset"])
    keep_bits(hinge, "axis", data["axis"])
    keep_bits(hinge, "offset", data["offset"])
    return hinge


def _class_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _user_class(data: dict[str, Any]) -> type[UserJoint]:
    """The class of a described user's joint, among those that are defined: nothing is imported by a file's word."""
    waiting, known = list(UserJoint.__subclasses__()), []
    while waiting:
        kind = waiting.pop()
        if _class_name(kind) == data["type"]:
            return kind
        known.append(_class_name(kind))
        waiting.extend(kind.__subclasses__())
    raise RecordingError(
        f"joint {data['name']!r} is of the user's class {data['type']}, which is not defined here: import the module "
        f"that defines it first (user joints defined now: {', '.join(sorted(known)) or 'none'})"
    )


def _plain(value: Any, joint: Joint, key: str) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return [_plain(item, joint, key) for item in value]
    if isinstance(value, dict) and all(isinstance(k, str) for k in value):
        return {k: _plain(item, joint, key) for k, item in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise RecordingError(
        f"joint {joint.name!r}: {key} is of class {type(value).__name__}; a recording holds numbers, texts, arrays, "
        "and lists and dictionaries of them"
    )
