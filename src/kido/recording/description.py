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
from kido.flexible import ModalJoint, NodeJoint
from kido.recording.codec import RecordingError
from kido.recording.joints import joint_from_dict, joint_to_dict, keep_bits
from kido.recording.users import add_users
from kido.shapes import Plane, Shape, SoftMesh
from kido.skeleton import (
    BodyNode,
    EndEffector,
    Inertia,
    LoopJoint,
    Marker,
    ShapeNode,
    Skeleton,
    SkinState,
    SoftBodyNode,
    Support,
)
from kido.skeleton.nodes.surface import surface_from_dict, surface_to_dict
from kido.skeleton.state.users import users_parts

SHAPE_TYPES: dict[str, type[Shape]] = {
    name: kind
    for name in shape_module.__all__
    if isinstance(kind := getattr(shape_module, name), type) and issubclass(kind, Shape) and kind is not Shape
}
_SKELETON_FLAGS = ("mobile", "self_collision", "adjacent_body_collision", "kinematic", "can_sleep")
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
        "loops": [
            {"parent": loop.parent, "child": loop.child, "joint": joint_to_dict(loop.joint)} for loop in skeleton.loops
        ],
        "loops_enabled": skeleton.loops_enabled,
        "users": users_parts(skeleton),
    }


def skeleton_from_dict(data: dict[str, Any], users: bool = True) -> Skeleton:
    """A skeleton equal to the one that `skeleton_to_dict` was given.

    Args:
        data: what it returned, perhaps from a file.
        users: with the nodes and aspects of users' classes.

    Raises:
        RecordingError: the data do not describe a skeleton, or something of a user's class cannot be restored.
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
            if flag in data or flag not in ("kinematic", "can_sleep"):  # recordings of versions before lack these
                setattr(skeleton, flag, data[flag])
        for what in ("positions", "velocities", "forces"):
            setattr(skeleton, what, data[what])
        if "commands" in data:
            skeleton.commands = data["commands"]
        loops = data.get("loops", [])
        skeleton.loops = [LoopJoint(o["parent"], o["child"], joint_from_dict(o["joint"])) for o in loops]
        skeleton.loops_enabled = data.get("loops_enabled", True)
        if users:
            add_users(skeleton, data.get("users", []))  # recordings of earlier versions have none
    except RecordingError:
        raise
    except Exception as error:
        raise RecordingError(f"stored description of a skeleton is damaged: {error!r:.300}") from error
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
    own = body.core_inertia if isinstance(body, SoftBodyNode) else body.inertia
    return {
        "name": body.name,
        "parent": None if body.parent is None else body.parent.index,
        "joint": joint_to_dict(body.parent_joint),
        "mass": own.mass,
        "com": own.com.tolist(),
        "moment": own.moment.tolist(),
        "gravity": body.gravity,
        "collidable": body.collidable,
        "continuous": body.continuous,
        "shapes": [_node_to_dict(node, shapes) for node in body.shapes],
        "nodes": nodes_to_dicts(body),
        **({"soft": _soft_to_dict(body)} if isinstance(body, SoftBodyNode) else {}),
    }


def _soft_to_dict(body: SoftBodyNode) -> dict[str, Any]:
    """What a soft body's skin has besides what every shape has."""
    state = body.skin.state
    return {
        "skin": body.shapes.index(body.skin),
        "masses": body.point_masses.tolist(),
        "kv": body.kv,
        "ke": body.ke,
        "kd": body.kd,
        "automatic": body.automatic,
        **{key: np.asarray(value).tolist() for key, value in vars(state).items()},
    }


def _add_soft(skeleton: Skeleton, data: dict[str, Any], parent: Any, inertia: Inertia, shapes: list[Shape]) -> BodyNode:
    """A soft body with its skin, and the shapes that come before it."""
    soft = data["soft"]
    item = data["shapes"][soft["skin"]]
    shape = shapes[item["shape"]]
    if not isinstance(shape, SoftMesh):
        raise RecordingError(f"body {data['name']!r}: its skin is a {type(shape).__name__}, expected a SoftMesh")
    body = skeleton.add_soft_body(
        data["name"], shape, joint_from_dict(data["joint"]), parent, inertia,
        transform=item["transform"], total_mass=soft["masses"], kv=soft["kv"], ke=soft["ke"], kd=soft["kd"],
        automatic=soft["automatic"], **_options_of(item),
    )  # fmt: skip
    keep_bits(body.skin, "_relative", item["transform"])
    body.skin.name = item["name"]
    body.skin.state = SkinState(
        *(np.array(soft[key]) for key in ("displacements", "velocities", "forces", "frozen", "transfer"))
    )
    return body


def _add_body(skeleton: Skeleton, data: dict[str, Any], shapes: list[Shape]) -> None:
    parent = data["parent"]
    if parent is not None:
        if not 0 <= parent < skeleton.num_bodies:
            raise RecordingError(f"body {data['name']!r}: parent {parent}, expected a body before it")
        parent = skeleton.body(parent)
    inertia = Inertia(data["mass"], data["com"], data["moment"])
    soft = data.get("soft")
    if soft is None:
        body = skeleton.add_body(data["name"], joint_from_dict(data["joint"]), parent, inertia)
    else:
        body = _add_soft(skeleton, data, parent, inertia, shapes)
    if isinstance(body.parent_joint, ModalJoint | NodeJoint) and body.parent is not None:
        body.own_link = body.parent.own_link = True
    body.gravity = data["gravity"]
    body.collidable = data["collidable"]
    body.continuous = data.get("continuous", False)
    for place, item in enumerate(data["shapes"]):
        if soft is not None and isinstance(body, SoftBodyNode) and place == soft["skin"]:
            body.move_to_end(body.skin)  # the skin keeps its place among the shapes
            continue
        node = body.add_shape(shapes[item["shape"]], item["transform"], item["name"], **_options_of(item))
        keep_bits(node, "_relative", item["transform"])
    add_nodes(body, data.get("nodes", []))  # recordings of earlier versions have none


def _options_of(item: dict[str, Any]) -> dict[str, Any]:
    """Options of a shape node as it was described."""
    options = {key: item[key] for key in ("visual", "collision", "color", "friction", "restitution")}
    options |= {key: item[key] for key in ("collision_category", "collision_mask") if key in item}
    if "surface" in item:  # as earlier versions have it: friction and restitution alone
        options["surface"] = surface_from_dict(item["surface"])
    return options


def _node_to_dict(node: ShapeNode, shapes: list[Shape]) -> dict[str, Any]:
    place = next((i for i, shape in enumerate(shapes) if shape is node.shape), len(shapes))
    if place == len(shapes):
        shapes.append(node.shape)
    surface = surface_to_dict(node.surface)
    return {
        "name": node.name,
        "shape": place,
        "transform": node.relative_transform.tolist(),
        "visual": node.visual,
        "collision": node.collision,
        "color": None if node.color is None else list(node.color),
        "friction": node.friction,
        "restitution": node.restitution,
        "collision_category": node.collision_category,
        "collision_mask": node.collision_mask,
        **({"surface": surface} if set(surface) - {"friction", "restitution"} else {}),
    }


def _shape_to_dict(shape: Any) -> dict[str, Any]:
    kind = type(shape).__name__
    if SHAPE_TYPES.get(kind) is not type(shape):
        raise RecordingError(f"shape of class {kind}, expected one of {', '.join(SHAPE_TYPES)}")
    return {"type": kind, **{f.name: _plain(getattr(shape, f.name)) for f in dataclasses.fields(shape)}}


def _shape_from_dict(data: dict[str, Any]) -> Shape:
    if data["type"] not in SHAPE_TYPES:
        raise RecordingError(f"unknown shape type {data['type']!r}")
    shape = SHAPE_TYPES[data["type"]](**{k: v for k, v in data.items() if k != "type"})
    if isinstance(shape, Plane) and np.allclose(shape.normal, data["normal"], rtol=0, atol=1e-12):
        object.__setattr__(shape, "normal", tuple(float(n) for n in data["normal"]))
    return shape


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def nodes_to_dicts(body: BodyNode) -> list[dict[str, Any]]:
    """The markers and end effectors of a body, with their supports."""
    found: list[dict[str, Any]] = []
    for node in body.nodes():
        data: dict[str, Any] = {"type": type(node).__name__, "name": node.name}
        if type(node) is Marker:
            data["transform"] = node.relative_transform.tolist()
            found.append({**data, "color": list(node.color)})
        elif type(node) is EndEffector:
            data["transform"] = node.relative_transform.tolist()
            data["default_transform"] = node.default_relative_transform.tolist()
            support = node.support
            given = None if support is None else {"geometry": support.geometry.tolist(), "active": support.active}
            found.append({**data, "support": given})
    return found


def add_nodes(body: BodyNode, items: list[dict[str, Any]]) -> None:
    """Put described nodes on a body.

    Raises:
        RecordingError: a node of another class.
    """
    for item in items:
        X = item["transform"]
        if item["type"] == "Marker":
            offset = [row[3] for row in X[:3]]
            node = body.create_node(Marker, item["name"], offset, item["color"])
            node.relative_transform = X
        elif item["type"] == "EndEffector":
            node = body.create_node(EndEffector, item["name"], X)
            node.default_relative_transform = item["default_transform"]
            keep_bits(node, "_default_relative", item["default_transform"])
            if item["support"] is not None:
                node.create(Support, item["support"]["geometry"], item["support"]["active"])
        else:
            raise RecordingError(f"node {item['name']!r} is of class {item['type']!r}, expected Marker or EndEffector")
        keep_bits(node, "_relative", X)
