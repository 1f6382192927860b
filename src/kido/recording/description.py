"""Skeletons as plain data, and back: what a recording stores instead of a pickle.

`skeleton_to_dict` gives nested dictionaries, lists, numbers, strings and (for meshes) arrays;
`skeleton_from_dict` builds an equal skeleton from them through the ordinary constructors and their checks.
Every number comes back with the same bits, so that both skeletons move identically.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from kido import shapes as shape_module
from kido.errors import KidoError
from kido.recording.errors import RecordingError
from kido.shapes import Shape
from kido.skeleton import JOINT_TYPES, BodyNode, Inertia, Joint, Mimic, ShapeNode, Skeleton

SHAPE_TYPES: dict[str, type[Shape]] = {
    name: getattr(shape_module, name)
    for name in ("Box", "Capsule", "Cone", "Cylinder", "Ellipsoid", "Mesh", "Plane", "Sphere")
}
DOF_PROPERTIES = (
    "position_lower_limit",
    "position_upper_limit",
    "velocity_limit",
    "force_limit",
    "damping",
    "coulomb_friction",
    "spring_stiffness",
    "rest_position",
    "initial_position",
    "initial_velocity",
)
_JOINT_GEOMETRY = ("axis", "axis1", "axis2", "pitch", "order")
_SKELETON_FLAGS = ("mobile", "self_collision", "adjacent_body_collision")
_LARGEST_SOURCE = 8 * 1024 * 1024


def skeleton_to_dict(skeleton: Skeleton) -> dict[str, Any]:
    """Structure, properties and state of a skeleton as plain data.

    Raises:
        RecordingError: a joint or shape is of a class that KIDO does not know, so could not be rebuilt.
    """
    shapes: list[Shape] = []
    bodies = [_body_to_dict(body, shapes) for body in skeleton.bodies]
    return {
        "name": skeleton.name,
        "uri": None if skeleton.uri is None else str(skeleton.uri),
        "warnings": [str(line) for line in skeleton.warnings],
        **{flag: getattr(skeleton, flag) for flag in _SKELETON_FLAGS},
        "gravity": skeleton.gravity.tolist(),
        "shapes": [_shape_to_dict(shape) for shape in shapes],
        "bodies": bodies,
        "positions": skeleton.positions.tolist(),
        "velocities": skeleton.velocities.tolist(),
        "forces": skeleton.forces.tolist(),
        "commands": skeleton.commands.tolist(),
    }


def skeleton_from_dict(data: dict[str, Any]) -> Skeleton:
    """A skeleton equal to the one that `skeleton_to_dict` was given.

    Raises:
        RecordingError: the data do not describe a skeleton.
    """
    try:
        skeleton = Skeleton(data["name"])
        skeleton.uri = data["uri"]
        skeleton.warnings = list(data["warnings"])
        skeleton.gravity = data["gravity"]
        shapes = [_shape_from_dict(item) for item in data["shapes"]]
        for item in data["bodies"]:
            _add_body(skeleton, item, shapes)
        for flag in _SKELETON_FLAGS:
            setattr(skeleton, flag, data[flag])
        for what in ("positions", "velocities", "forces"):
            setattr(skeleton, what, data[what])
        if "commands" in data:
            skeleton.commands = data["commands"]
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, KidoError) as error:
        if isinstance(error, RecordingError):
            raise
        raise RecordingError(f"stored description of a skeleton is damaged: {error!r}") from error
    return skeleton


def source_text(uri: str | None) -> str | None:
    """The text of the local file a model was read from; None if it is gone, large or not text."""
    if uri is None:
        return None
    try:
        path = Path(str(uri).removeprefix("file://"))
        if path.is_file() and path.stat().st_size <= _LARGEST_SOURCE:
            return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        pass
    return None


def _body_to_dict(body: BodyNode, shapes: list[Shape]) -> dict[str, Any]:
    return {
        "name": body.name,
        "parent": None if body.parent is None else body.parent.index,
        "joint": _joint_to_dict(body.parent_joint),
        "mass": body.inertia.mass,
        "com": body.inertia.com.tolist(),
        "moment": body.inertia.moment.tolist(),
        "gravity": body.gravity,
        "collidable": body.collidable,
        "shapes": [_node_to_dict(node, shapes) for node in body.shapes],
    }


def _add_body(skeleton: Skeleton, data: dict[str, Any], shapes: list[Shape]) -> None:
    parent = data["parent"]
    if parent is not None:
        if not 0 <= parent < skeleton.num_bodies:
            raise RecordingError(f"body {data['name']!r}: parent {parent}, expected a body before it")
        parent = skeleton.body(parent)
    inertia = Inertia(data["mass"], data["com"], data["moment"])
    body = skeleton.add_body(data["name"], _joint_from_dict(data["joint"]), parent, inertia)
    body.gravity = data["gravity"]
    body.collidable = data["collidable"]
    for item in data["shapes"]:
        options = {key: item[key] for key in ("visual", "collision", "color", "friction", "restitution")}
        node = body.add_shape(shapes[item["shape"]], item["transform"], item["name"], **options)
        _keep_bits(node, "_relative", item["transform"])


def _joint_to_dict(joint: Joint) -> dict[str, Any]:
    kind = type(joint).__name__
    if JOINT_TYPES.get(kind) is not type(joint):
        raise RecordingError(f"joint {joint.name!r} is of class {kind}, expected one of {', '.join(JOINT_TYPES)}")
    names = [dof.name for dof in joint.dofs]
    usual = [joint.name + suffix for suffix in type(joint).dof_suffixes]
    data: dict[str, Any] = {
        "type": kind,
        "name": joint.name,
        "transform_from_parent": joint.transform_from_parent.tolist(),
        "transform_from_child": joint.transform_from_child.tolist(),
        "dof_names": None if names == usual else names,
        "actuators": [dof.actuator_type.name for dof in joint.dofs],
        "mimics": [None if dof.mimic is None else dataclasses.asdict(dof.mimic) for dof in joint.dofs],
        "enforce_velocity_limits": joint.enforce_velocity_limits,
    }
    for key in _JOINT_GEOMETRY:
        if hasattr(joint, key):
            value = getattr(joint, key)
            data[key] = value.tolist() if isinstance(value, np.ndarray) else value
    for key in DOF_PROPERTIES:
        data[key] = joint.get_property(key).tolist()
    return data


def _joint_from_dict(data: dict[str, Any]) -> Joint:
    if data["type"] not in JOINT_TYPES:
        raise RecordingError(f"joint {data['name']!r}: unknown type {data['type']!r}")
    options = {key: data[key] for key in _JOINT_GEOMETRY if key in data}
    options |= {key: data[key] for key in DOF_PROPERTIES}
    transforms = ("transform_from_parent", "transform_from_child")
    joint = JOINT_TYPES[data["type"]](
        data["name"],
        dof_names=data["dof_names"],
        **{key: data[key] for key in transforms},
        **options,
    )
    _set_actuators(joint, data)
    for key in (*transforms, "axis", "axis1", "axis2"):
        if key in data:
            _keep_bits(joint, f"_{key}", data[key])
    return joint


def _set_actuators(joint: Joint, data: dict[str, Any]) -> None:
    if "actuators" not in data:  # written before joints had actuators: mimics were kept and did nothing
        return
    for dof, mimic, actuator in zip(joint.dofs, data["mimics"], data["actuators"], strict=True):
        dof.mimic = None if mimic is None else Mimic(**mimic)
        dof.actuator_type = actuator
    joint.enforce_velocity_limits = data["enforce_velocity_limits"]


def _node_to_dict(node: ShapeNode, shapes: list[Shape]) -> dict[str, Any]:
    place = next((i for i, shape in enumerate(shapes) if shape is node.shape), len(shapes))
    if place == len(shapes):
        shapes.append(node.shape)
    return {
        "name": node.name,
        "shape": place,
        "transform": node.relative_transform.tolist(),
        "visual": node.visual,
        "collision": node.collision,
        "color": None if node.color is None else list(node.color),
        "friction": node.friction,
        "restitution": node.restitution,
    }


def _shape_to_dict(shape: Shape) -> dict[str, Any]:
    kind = type(shape).__name__
    if SHAPE_TYPES.get(kind) is not type(shape):
        raise RecordingError(f"shape of class {kind}, expected one of {', '.join(SHAPE_TYPES)}")
    return {"type": kind, **{f.name: _plain(getattr(shape, f.name)) for f in dataclasses.fields(shape)}}  # type: ignore[arg-type]


def _shape_from_dict(data: dict[str, Any]) -> Shape:
    if data["type"] not in SHAPE_TYPES:
        raise RecordingError(f"unknown shape type {data['type']!r}")
    shape = SHAPE_TYPES[data["type"]](**{k: v for k, v in data.items() if k != "type"})
    if data["type"] == "Plane" and np.allclose(shape.normal, data["normal"], rtol=0, atol=1e-12):  # type: ignore[attr-defined]
        object.__setattr__(shape, "normal", tuple(float(n) for n in data["normal"]))
    return shape


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _keep_bits(owner: Any, field: str, value: Any) -> None:
    """Put back the exact numbers where a constructor's normalisation moved the last bit."""
    exact = np.array(value, dtype=np.float64)
    made = getattr(owner, field)
    if exact.shape == made.shape and np.allclose(exact, made, rtol=0, atol=1e-12):
        setattr(owner, field, exact)
