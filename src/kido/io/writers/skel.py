"""SKEL writer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kido.io.fields import WORLD, free_name, xyz_angles
from kido.io.mechanism import MOMENT_ENTRIES, names_of_kinds
from kido.io.shapes import primitive_types, written
from kido.io.skel.joints import SKEL_DYNAMICS
from kido.io.surfaces import left_out
from kido.io.writers.parts import Part, note_constraints, note_skeleton, parts_of, rest_poses
from kido.io.writers.shapes import MeshStore, Placed, shapes_of
from kido.io.writers.unsupported import UnsupportedFeatures
from kido.io.xml import Element, add, document, number, to_text, vector
from kido.joints import ActuatorType, JointKind
from kido.shapes import Mesh, MultiSphereHull, Plane, Primitive, Shape
from kido.shapes.soft_mesh import SKIN_ELEMENTS
from kido.simulation import World
from kido.skeleton import Inertia, Marker, Skeleton, SoftBodyNode
from kido.skeleton.nodes.surface import Surface

__all__ = ["add_soft_shape", "is_known", "write"]


def is_known(body: SoftBodyNode) -> bool:
    """Whether SKEL has the skin's shape and its masses, which are equal."""
    masses = body.point_masses
    return body.skin.mesh.built is not None and bool((masses == masses[0]).all())


def add_soft_shape(element: Element, body: SoftBodyNode) -> None:
    """Add the ``<soft_shape>`` of a soft body to its ``<body>``."""
    skin: Any = body.skin
    soft = add(element, "soft_shape")
    add(soft, "total_mass", number(body.total_mass))
    _add_transformation(soft, skin.relative_transform)
    geometry = add(soft, "geometry")
    kind, *sizes = skin.shape.built
    shape = add(geometry, kind)
    for (name, factor), value in zip(SKIN_ELEMENTS[kind].items(), sizes, strict=True):
        add(shape, name, _text(value, factor))
    for name, value in (("kv", body.kv), ("ke", body.ke), ("damp", body.kd)):
        add(soft, name, number(value))


def _text(value: Any, factor: float) -> str:
    """Whole numbers as they are; lengths with all their digits."""
    if isinstance(value, list):
        return " ".join(_text(item, factor) for item in value)
    return number(factor * value) if isinstance(value, float) else str(value)


_TYPES = names_of_kinds("skel")
_SHAPES = (*primitive_types("skel").values(), Plane, Mesh, MultiSphereHull)


def write(model: Skeleton | World, store: MeshStore, unsupported: UnsupportedFeatures) -> str:
    """The text of a SKEL file. Raises KidoError if the format cannot hold the model."""
    skeletons = [model] if isinstance(model, Skeleton) else model.skeletons
    found = []
    for skeleton in skeletons:
        parts = parts_of(skeleton, set(_TYPES), unsupported, free_inside=True)
        _rename_world(parts, unsupported)
        if skeleton.mobile:
            _weld_massless(parts, unsupported)
        shapes = {part.name: shapes_of(part.body, _SHAPES, unsupported) for part in parts}
        for part in parts:
            for mimic in part.mimics:
                if mimic is not None:
                    unsupported.approximated(
                        f"joint '{part.joint}', which mimics '{mimic.joint}',", "one that does not"
                    )
        found.append((skeleton, parts, shapes))
    unsupported.check()
    note_constraints(model, unsupported)
    root = document("skel", version="1.0")
    holder = add(root, "world", name=model.name if isinstance(model, World) else "world")
    physics = add(holder, "physics")
    if isinstance(model, World):
        add(physics, "time_step", number(model.time_step))
    add(physics, "gravity", vector(model.gravity))
    for skeleton, parts, shapes in found:
        _add_skeleton(holder, skeleton, parts, shapes, store, unsupported)
    return to_text(root)


def _weld_massless(parts: list[Part], unsupported: UnsupportedFeatures) -> None:
    """Files of this format are refused if a joint moves no mass."""
    carried = {part.name: 0.0 if part.body is None else part.body.mass for part in parts}
    for part in reversed(parts):
        if carried[part.name] == 0.0 and part.kind != JointKind.WELD:
            unsupported.approximated(f"joint '{part.joint}', which moves no mass,", "a weld")
            part.kind = JointKind.WELD
            part.axes, part.dof_names, part.mimics, part.actuators = [], [], [], []
            part.properties = {key: np.zeros(0) for key in part.properties}
        if part.parent is not None:
            carried[part.parent] += carried[part.name]


def _rename_world(parts: list[Part], unsupported: UnsupportedFeatures) -> None:
    """A parent of the name "world" is the world in SKEL, so no body may be called so."""
    taken = {part.name for part in parts}
    if WORLD not in taken:
        return
    name = free_name(WORLD, taken)
    unsupported.remark(f"body '{WORLD}' is called '{name}'")
    for part in parts:
        part.name = name if part.name == WORLD else part.name
        part.parent = name if part.parent == WORLD else part.parent


def _add_skeleton(
    holder: Element,
    skeleton: Skeleton,
    parts: list[Part],
    shapes: dict[str, list[Placed]],
    store: MeshStore,
    unsupported: UnsupportedFeatures,
) -> None:
    note_skeleton(skeleton, unsupported, written=(Marker,), soft=True)
    if skeleton.self_collision:
        unsupported.remark(f"skeleton '{skeleton.name}': that it collides with itself is left out")
    element = add(holder, "skeleton", name=skeleton.name)
    add(element, "mobile", "true" if skeleton.mobile else "false")
    poses = rest_poses(parts)
    for part in parts:
        body = add(element, "body", name=part.name)
        _add_transformation(body, poses[part.name])
        soft = part.body if isinstance(part.body, SoftBodyNode) and is_known(part.body) else None
        own = Inertia() if part.body is None else part.body.inertia
        _add_inertia(body, own if soft is None else soft.core_inertia)
        if part.body is None:
            continue
        if soft is not None:
            add_soft_shape(body, soft)
        elif isinstance(part.body, SoftBodyNode):
            unsupported.remark(f"body '{part.name}': its soft skin is a mesh and is written as rigid")
        if not part.body.gravity:
            add(body, "gravity", "false")
        elif part.body.gravity != 1.0:
            unsupported.remark(f"body '{part.body.name}': gravity acts on it as a whole")
        for placed in shapes[part.name]:
            if soft is not None and placed.node is soft.skin:
                continue
            _add_shape(body, placed, store, part.name, unsupported)
        for node in part.body.nodes(Marker):
            marker = add(body, "marker", name=node.name)
            add(marker, "offset", vector(node.relative_transform[:3, 3]))
    for part in parts:
        _add_joint(element, part, unsupported)


def _add_transformation(element: Element, transform: np.ndarray) -> None:
    add(element, "transformation", f"{vector(transform[:3, 3])} {vector(xyz_angles(transform[:3, :3]))}")


def _add_inertia(body: Element, inertia: Inertia) -> None:
    element = add(body, "inertia")
    add(element, "mass", number(inertia.mass))
    add(element, "offset", vector(inertia.com))
    moment = add(element, "moment_of_inertia")
    for key, place in MOMENT_ENTRIES.items():
        add(moment, key, number(inertia.moment[place]))


def _add_shape(body: Element, placed: Placed, store: MeshStore, owner: str, unsupported: UnsupportedFeatures) -> None:
    node = placed.node
    if node.collision and node.surface != Surface():
        names = ", ".join(left_out(node.surface, ()))
        unsupported.remark(f"shape '{node.name}' of '{owner}': its contact properties are left out ({names})")
    for tag, wanted in (("visualization_shape", node.visual), ("collision_shape", node.collision)):
        if not wanted:
            continue
        element = add(body, tag)
        _add_transformation(element, placed.transform)
        _add_geometry(add(element, "geometry"), placed.shape, store, f"{owner}_{node.name}")
        if node.color is not None:
            add(element, "color", vector(node.color))


def _add_geometry(geometry: Element, shape: Shape, store: MeshStore, label: str) -> None:
    if isinstance(shape, Primitive):
        element = add(geometry, shape.formats["skel"].tag)
        for name, text in written(shape, "skel").items():
            add(element, name, text)
    elif isinstance(shape, MultiSphereHull):
        element = add(geometry, "multi_sphere")
        for center, radius in zip(shape.centers, shape.radii, strict=True):
            sphere = add(element, "sphere")
            add(sphere, "radius", number(float(radius)))
            add(sphere, "position", vector(center))
    elif isinstance(shape, Plane):
        element = add(geometry, "plane")
        add(element, "normal", vector(shape.normal))
        add(element, "offset", number(shape.offset))
    elif isinstance(shape, Mesh):
        name, scale = store.place(shape, label)
        element = add(geometry, "mesh")
        add(element, "file_name", name)
        add(element, "scale", vector(scale))


def _add_joint(skeleton: Element, part: Part, unsupported: UnsupportedFeatures) -> None:
    options = {"type": _TYPES[part.kind], "name": part.joint}
    kinds = set(part.actuators) - {ActuatorType.MIMIC}
    if len(kinds) > 1:
        unsupported.remark(f"joint '{part.joint}': its coordinates differ in their actuator types, which are left out")
    elif kinds == {ActuatorType.POSITION}:
        unsupported.remark(f"joint '{part.joint}': its actuator type POSITION is left out")
    elif kinds and kinds != {ActuatorType.FORCE}:
        options["actuator"] = kinds.pop().name.lower()
    joint = add(skeleton, "joint", **options)
    add(joint, "parent", WORLD if part.parent is None else part.parent)
    add(joint, "child", part.name)
    _add_transformation(joint, part.X_C)
    if part.kind == JointKind.PLANAR:
        plane = add(joint, "plane", type="arbitrary")
        for k, direction in enumerate(part.axes):
            add(add(plane, f"translation_axis{k + 1}"), "xyz", vector(direction))
    else:
        for k, direction in enumerate(part.axes):
            axis = add(joint, "axis" if k == 0 else f"axis{k + 1}")
            add(axis, "xyz", vector(direction))
            if part.kind == JointKind.SCREW:
                add(axis, "pitch", number(part.pitch))
    if part.kind == JointKind.EULER:
        add(joint, "axis_order", part.order)
    for key, tag in (("initial_position", "init_pos"), ("initial_velocity", "init_vel")):
        if part.values(key).any():
            add(joint, tag, vector(part.values(key)))
    for k, name in enumerate(part.dof_names):
        _add_dof(joint, part, k, name)


def _add_dof(joint: Element, part: Part, k: int, name: str) -> None:
    dof = add(joint, "dof", local_index=str(k), name=name)
    for what in ("position", "velocity", "acceleration", "force"):
        limits = {side: float(part.values(f"{what}_{side}_limit")[k]) for side in ("lower", "upper")}
        given = {side: number(value) for side, value in limits.items() if math.isfinite(value)}
        if given:
            add(dof, what, **given)
    for tag, key in SKEL_DYNAMICS.items():
        value = float(part.values(key)[k])
        if value != 0.0:
            add(dof, tag, number(value))
