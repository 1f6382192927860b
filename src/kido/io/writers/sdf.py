"""SDF writer, version 1.11."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kido.io.fields import WORLD, rpy
from kido.io.mechanism import MOMENT_ENTRIES, names_of_kinds
from kido.io.sdf.joints import SDF_DYNAMICS
from kido.io.shapes import primitive_types, written
from kido.io.surfaces import PATCH, left_out, softness_numbers
from kido.io.writers.parts import (
    Part,
    free_pose,
    note_constraints,
    note_parts,
    note_skeleton,
    part_of_loop,
    parts_of,
    rest_poses,
)
from kido.io.writers.shapes import MeshStore, Placed, shapes_of
from kido.io.writers.unsupported import UnsupportedFeatures
from kido.io.xml import Element, add, document, number, to_text, vector
from kido.joints import JointKind
from kido.shapes import Mesh, Plane, Primitive, Shape
from kido.simulation import World
from kido.skeleton import Inertia, Skeleton
from kido.skeleton.nodes.surface import Surface

__all__ = ["write"]

SDF_VERSION = "1.11"
_TYPES = names_of_kinds("sdf")
_SHAPES = (*primitive_types("sdf").values(), Plane, Mesh)
_LEFT_OUT = ("acceleration_limit", "armature", "initial_velocity", "actuator")
_PASSIVE = ("damping", "coulomb_friction", "spring_stiffness", "position_limit", "velocity_limit", "force_limit")


@dataclass(frozen=True)
class _Model:
    """A skeleton to be written, its names as SDF allows them."""

    skeleton: Skeleton
    parts: list[Part]
    shapes: dict[str, list[Placed]]


def write(model: Skeleton | World, store: MeshStore, unsupported: UnsupportedFeatures) -> str:
    """The text of an SDF file. Raises KidoError if the format cannot hold the model."""
    skeletons = [model] if isinstance(model, Skeleton) else model.skeletons
    models = []
    for skeleton in skeletons:
        parts = parts_of(skeleton, {*_TYPES, JointKind.FREE}, unsupported, free_inside=False)
        shapes = {part.name: shapes_of(part.body, _SHAPES, unsupported) for part in parts}
        models.append(_Model(skeleton, parts, shapes))
    unsupported.check()
    note_constraints(model, unsupported)
    root = document("sdf", version=SDF_VERSION)
    holder = root
    if isinstance(model, World):
        holder = add(root, "world", name=model.name)
        add(holder, "gravity", vector(model.gravity))
        physics = add(holder, "physics", type="ode")
        add(physics, "max_step_size", number(model.time_step))
    for item in models:
        _add_model(holder, item, store, unsupported)
    return to_text(root)


class _Names:
    """Names as SDF allows them: not reserved, without ``::``, each once, be it a link's or a joint's."""

    def __init__(self, unsupported: UnsupportedFeatures) -> None:
        self._unsupported = unsupported
        self._given: dict[tuple[str, str], str] = {}

    def __call__(self, kind: str, name: str) -> str:
        """The name in the file of a link or joint."""
        if (kind, name) not in self._given:
            clean = name.replace("::", "_")
            if clean == WORLD or (clean.startswith("__") and clean.endswith("__")):
                clean += "_"
            if clean in self._given.values():
                clean += f"_{kind}"
            while clean in self._given.values():
                clean += "_"
            if clean != name:
                self._unsupported.remark(f"{kind} '{name}' is called '{clean}'")
            self._given[kind, name] = clean
        return self._given[kind, name]


def _add_model(holder: Element, item: _Model, store: MeshStore, unsupported: UnsupportedFeatures) -> None:
    skeleton, parts = item.skeleton, item.parts
    free = [part for part in parts if part.kind == JointKind.FREE]
    others = [part for part in parts if part.kind != JointKind.FREE]
    note_parts(parts, _LEFT_OUT, unsupported)
    note_parts(others, ("initial_position",), unsupported)
    note_parts([part for part in parts if part.kind in (JointKind.BALL, JointKind.FREE)], _PASSIVE, unsupported)
    note_skeleton(skeleton, unsupported, loops=True)
    names = _Names(unsupported)
    model = add(holder, "model", name=skeleton.name)
    if not skeleton.mobile:
        add(model, "static", "true")
    if skeleton.self_collision:
        add(model, "self_collide", "true")
    for part in free:  # the poses in the file are those of the start
        part.X_P, part.X_C = free_pose(part), np.eye(4)
    poses = rest_poses(parts)
    for part in parts:
        names("link", part.name)
    for part in parts:
        link = add(model, "link", name=names("link", part.name))
        _add_pose(link, poses[part.name])
        _fill_link(link, part, item.shapes[part.name], store, unsupported)
    for part in others:
        if part.parent is None and not skeleton.mobile and part.kind == JointKind.WELD:
            continue  # a static model is welded to the world as it is
        _add_joint(model, part, names, unsupported)
    for loop in skeleton.loops:
        if loop.child is None or loop.joint.kind not in _TYPES:
            unsupported.remark(f"joint '{loop.name}', which closes a loop, is left out")
        else:
            _add_joint(model, part_of_loop(loop), names, unsupported)


def _fill_link(
    link: Element, part: Part, shapes: list[Placed], store: MeshStore, unsupported: UnsupportedFeatures
) -> None:
    _add_inertial(link, part.body.inertia if part.body is not None else Inertia())
    if part.body is None:
        return
    if not part.body.gravity:
        add(link, "gravity", "false")
    elif part.body.gravity != 1.0:
        unsupported.remark(f"body '{part.body.name}': gravity acts on it as a whole")
    for placed in shapes:
        node, transform, shape = placed.node, placed.transform, placed.shape
        if isinstance(shape, Plane) and shape.offset != 0.0:
            shift = np.eye(4)
            shift[:3, 3] = shape.offset * np.array(shape.normal)
            transform = transform @ shift
        for tag, wanted in (("visual", node.visual), ("collision", node.collision)):
            if not wanted:
                continue
            element = add(link, tag, name=node.name)
            _add_pose(element, transform)
            _add_geometry(add(element, "geometry"), shape, store, f"{part.name}_{node.name}")
            if tag == "visual" and placed.color is not None:
                material = add(element, "material")
                add(material, "ambient", vector(placed.color))
                add(material, "diffuse", vector(placed.color))
            if tag == "collision" and node.surface != Surface():
                _add_surface(element, node.surface)
                for name in left_out(node.surface):
                    unsupported.remark(f"shape '{node.name}' of '{part.name}': its {name} is left out")


def _add_inertial(link: Element, inertia: Inertia) -> None:
    inertial = add(link, "inertial")
    if inertia.com.any():
        add(inertial, "pose", f"{vector(inertia.com)} 0 0 0")
    add(inertial, "mass", number(inertia.mass))
    element = add(inertial, "inertia")
    for key, place in MOMENT_ENTRIES.items():
        add(element, key, number(inertia.moment[place]))


def _add_pose(element: Element, transform: np.ndarray) -> None:
    if not np.array_equal(transform, np.eye(4)):
        add(element, "pose", f"{vector(transform[:3, 3])} {vector(rpy(transform[:3, :3]))}")


def _add_surface(collision: Element, values: Surface) -> None:
    surface = add(collision, "surface")
    friction = add(surface, "friction")
    ode = add(friction, "ode")
    second = values.friction if values.secondary_friction is None else values.secondary_friction
    add(ode, "mu", number(values.friction))
    add(ode, "mu2", number(second))
    if values.first_friction_direction is not None:
        add(ode, "fdir1", vector(values.first_friction_direction))
    slips = values.slip, values.slip if values.secondary_slip is None else values.secondary_slip
    if any(slips):
        add(ode, "slip1", number(slips[0]))
        add(ode, "slip2", number(slips[1]))
    if values.rolling_friction > 0.0:
        add(add(friction, "bullet"), "rolling_friction", number(values.rolling_friction))
    if values.torsional_friction > 0.0:
        torsional = add(friction, "torsional")
        add(torsional, "coefficient", number(1.0))
        add(torsional, "patch_radius", number(values.torsional_friction / PATCH))
    if values.restitution != 0.0:
        add(add(surface, "bounce"), "restitution_coefficient", number(values.restitution))
    numbers = softness_numbers(values.softness)
    if values.max_correction_speed is not None:
        numbers["max_vel"] = values.max_correction_speed
    if values.slop:
        numbers["min_depth"] = values.slop
    if numbers:
        ode = add(add(surface, "contact"), "ode")
        for tag, value in numbers.items():
            add(ode, tag, number(value))


def _add_geometry(geometry: Element, shape: Shape, store: MeshStore, label: str) -> None:
    if isinstance(shape, Primitive):
        element = add(geometry, shape.formats["sdf"].tag)
        for name, text in written(shape, "sdf").items():
            add(element, name, text)
    elif isinstance(shape, Plane):
        element = add(geometry, "plane")
        add(element, "normal", vector(shape.normal))
        add(element, "size", "100 100")
    elif isinstance(shape, Mesh):
        name, scale = store.place(shape, label)
        element = add(geometry, "mesh")
        add(element, "uri", name)
        if (scale != 1.0).any():
            add(element, "scale", vector(scale))


def _add_joint(model: Element, part: Part, names: _Names, unsupported: UnsupportedFeatures) -> None:
    joint = add(model, "joint", name=names("joint", part.joint), type=_TYPES[part.kind])
    add(joint, "parent", WORLD if part.parent is None else names("link", part.parent))
    add(joint, "child", names("link", part.name))
    _add_pose(joint, part.X_C)
    if part.kind == JointKind.SCREW:
        add(joint, "screw_thread_pitch", number(part.pitch))
    for k, direction in enumerate(part.axes):
        axis = add(joint, "axis" if k == 0 else "axis2")
        add(axis, "xyz", vector(direction))
        _add_mimic(axis, part, k, names, unsupported)
        _add_limits(axis, part, k, unsupported)
        dynamics = {tag: float(part.values(name)[k]) for tag, name in SDF_DYNAMICS.items()}
        if any(dynamics.values()):
            element = add(axis, "dynamics")
            for name, value in dynamics.items():
                if value != 0.0:
                    add(element, name, number(value))


def _add_mimic(axis: Element, part: Part, k: int, names: _Names, unsupported: UnsupportedFeatures) -> None:
    mimic = part.mimics[k] if k < len(part.mimics) else None
    if mimic is None:
        return
    element = add(axis, "mimic", joint=names("joint", mimic.joint), axis="axis2" if mimic.dof == 1 else "axis")
    add(element, "multiplier", number(mimic.multiplier))
    add(element, "offset", number(mimic.offset))
    add(element, "reference", "0")
    if math.isfinite(mimic.force_limit):
        unsupported.remark(f"joint '{part.joint}': the force limit of what it mimics is left out")


def _add_limits(axis: Element, part: Part, k: int, unsupported: UnsupportedFeatures) -> None:
    found: dict[str, float] = {}
    for side in ("lower", "upper"):
        found[side] = float(part.values(f"position_{side}_limit")[k])
    for key, name in (("force", "effort"), ("velocity", "velocity")):
        least, found[name] = (float(part.values(f"{key}_{side}_limit")[k]) for side in ("lower", "upper"))
        if least != -found[name]:
            unsupported.remark(f"joint '{part.joint}': its {key} limits are written as the upper one, {found[name]:g}")
    given = {name: value for name, value in found.items() if math.isfinite(value)}
    if given:
        element = add(axis, "limit")
        for name, value in given.items():
            add(element, name, number(value))
