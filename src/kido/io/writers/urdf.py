"""URDF writer.

A link's frame is its joint's in URDF. Where a body's is not, and the joint cannot be given in the body's frame, the
link gets the joint's frame: the same mechanism with another origin of the link, remarked. A root that is neither
welded to the world at its origin nor free hangs on a massless link "world".
"""

from __future__ import annotations

import math

import numpy as np

from kido.errors import KidoError
from kido.io.fields import WORLD, free_name, plane_axes, rpy
from kido.io.mechanism import MOMENT_ENTRIES, names_of_kinds
from kido.io.shapes import primitive_types, written
from kido.io.surfaces import left_out, softness_numbers
from kido.io.writers.parts import Part, note_constraints, note_parts, note_skeleton, parts_of
from kido.io.writers.shapes import MeshStore, Placed, shapes_of
from kido.io.writers.unsupported import UnsupportedFeatures
from kido.io.xml import Element, add, document, number, to_text, vector
from kido.joints import JointKind
from kido.math.transform import inverse_transform
from kido.shapes import Mesh, Primitive
from kido.simulation import World
from kido.skeleton import Inertia, Skeleton
from kido.skeleton.nodes.surface import Surface

__all__ = ["write"]

_TYPES = names_of_kinds("urdf")
_SHAPES = (*primitive_types("urdf").values(), Mesh)
_LEFT_OUT = (
    "acceleration_limit",
    "armature",
    "spring_stiffness",
    "rest_position",
    "initial_position",
    "initial_velocity",
    "actuator",
)


def write(model: Skeleton | World, store: MeshStore, unsupported: UnsupportedFeatures) -> str:
    """The text of a URDF file. Raises KidoError if the format cannot hold the model."""
    skeleton = _only(model)
    parts = parts_of(skeleton, set(_TYPES), unsupported, free_inside=True, has_world_link=True)
    shapes = {part.name: shapes_of(part.body, _SHAPES, unsupported) for part in parts}
    unsupported.check()
    note_parts(parts, _LEFT_OUT, unsupported)
    note_skeleton(skeleton, unsupported)
    note_constraints(model, unsupported)
    _note_flags(skeleton, unsupported)
    root = document("robot", name=skeleton.name)
    base = _base(parts, unsupported)
    if base is not None:
        add(root, "link", name=base)
    shifts: dict[str, np.ndarray] = {}
    for part in parts:
        if part.parent is not None and part.parent in shifts:
            part.X_P = inverse_transform(shifts[part.parent]) @ part.X_P
        shift = _fold(part)
        if part.parent is None and base is None:
            shift = None
        if shift is not None:
            shifts[part.name] = shift
            unsupported.remark(f"link '{part.name}' has its origin at its joint '{part.joint}'")
        _add_link(root, part, shapes[part.name], shift, store, unsupported)
    for part in parts:
        if part.parent is not None or base is not None:
            _add_joint(root, part, part.parent or base or "", unsupported)
    return to_text(root)


def _only(model: Skeleton | World) -> Skeleton:
    if isinstance(model, Skeleton):
        return model
    if len(model.skeletons) != 1:
        names = ", ".join(s.name for s in model.skeletons) or "none"
        raise KidoError(f"URDF holds one robot; world '{model.name}' has {len(model.skeletons)} skeletons: {names}")
    return model.skeleton(0)


def _note_flags(skeleton: Skeleton, unsupported: UnsupportedFeatures) -> None:
    if skeleton.self_collision:
        unsupported.remark(f"skeleton '{skeleton.name}': that it collides with itself is left out")
    if not skeleton.mobile:
        unsupported.remark(f"skeleton '{skeleton.name}': that it is immobile is left out")
    for body in skeleton.bodies:
        if body.gravity != 1.0:
            unsupported.remark(f"body '{body.name}': that gravity does not act on it, or in part, is left out")


def _base(parts: list[Part], unsupported: UnsupportedFeatures) -> str | None:
    """Name of the link that stands for the world; None if the root link needs none."""
    roots = [part for part in parts if part.parent is None]
    if len(roots) == 1 and roots[0].kind in (JointKind.WELD, JointKind.FREE):
        root = roots[0]
        if root.kind == JointKind.FREE:
            unsupported.remark(f"link '{root.name}' is free: read the file with base='free'")
            return None
        if np.array_equal(root.X_P @ inverse_transform(root.X_C), np.eye(4)):
            return None
    name = free_name(WORLD, {part.name for part in parts})
    unsupported.remark(f"a link '{name}' without mass stands for the world")
    return name


def _fold(part: Part) -> np.ndarray | None:
    """Make the joint's frame in the child the child's own; returns its pose in the body if the link has to move."""
    X_C = part.X_C
    if part.kind == JointKind.PLANAR:
        first, second = part.axes
        wanted = np.column_stack([first, second, np.cross(first, second)])
        offered = plane_axes(wanted[:, 2])
        if not (np.array_equal(offered[0], first) and np.array_equal(offered[1], second)):
            turn = np.eye(4)
            turn[:3, :3] = wanted
            part.X_P, X_C = part.X_P @ turn, X_C @ turn
            part.axes = [np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])]
    part.X_C = np.eye(4)
    if np.array_equal(X_C, np.eye(4)):
        return None
    R, p = X_C[:3, :3], X_C[:3, 3]
    axis = R @ part.axes[0] if part.axes else np.zeros(3)
    along = np.linalg.norm(np.cross(p, axis)) <= 1e-15 * np.linalg.norm(p)
    if part.kind in (JointKind.WELD, JointKind.PRISMATIC) or (part.kind == JointKind.REVOLUTE and along):
        part.X_P = part.X_P @ inverse_transform(X_C)
        part.axes = [R @ axis for axis in part.axes]
        return None
    return X_C


def _add_link(
    root: Element,
    part: Part,
    shapes: list[Placed],
    shift: np.ndarray | None,
    store: MeshStore,
    unsupported: UnsupportedFeatures,
) -> None:
    link = add(root, "link", name=part.name)
    if part.body is None:
        return
    back = None if shift is None else inverse_transform(shift)
    inertia = part.body.inertia if back is None else part.body.inertia.transformed(back)
    if inertia.mass or inertia.moment.any():
        _add_inertial(link, inertia)
    for placed in shapes:
        transform = placed.transform if back is None else back @ placed.transform
        for tag, wanted in (("visual", placed.node.visual), ("collision", placed.node.collision)):
            if wanted:
                element = add(link, tag, name=placed.node.name)
                _add_origin(element, transform)
                _add_geometry(add(element, "geometry"), placed, store, part.name)
                if tag == "visual" and placed.color is not None:
                    material = add(element, "material", name=f"{part.name}/{placed.node.name}")
                    add(material, "color", rgba=vector(placed.color))
    surface = _surface(part, shapes, unsupported)
    _add_bullet(link, surface)
    _add_gazebo(root, part.name, surface)


def _add_inertial(link: Element, inertia: Inertia) -> None:
    inertial = add(link, "inertial")
    add(inertial, "origin", xyz=vector(inertia.com), rpy="0 0 0")
    add(inertial, "mass", value=number(inertia.mass))
    add(inertial, "inertia", **{key: number(inertia.moment[place]) for key, place in MOMENT_ENTRIES.items()})


def _surface(part: Part, shapes: list[Placed], unsupported: UnsupportedFeatures) -> Surface:
    """The surface of a link: that of its shapes if they are all the same."""
    surfaces = {placed.node.surface for placed in shapes if placed.node.collision}
    if len(surfaces) > 1:
        unsupported.remark(f"body '{part.name}': its shapes differ in friction or other contact properties, left out")
    surface = surfaces.pop() if len(surfaces) == 1 else Surface()
    for name in left_out(surface):
        unsupported.remark(f"body '{part.name}': {name} of its surface is left out")
    return surface


def _add_bullet(link: Element, surface: Surface) -> None:
    """Contact properties as Bullet has them."""
    values = {
        "lateral_friction": surface.friction,
        "restitution": surface.restitution,
        "rolling_friction": surface.rolling_friction,
        "spinning_friction": surface.torsional_friction,
    }
    if tuple(values.values()) != (1.0, 0.0, 0.0, 0.0):
        contact = add(link, "contact")
        for tag, value in values.items():
            if value > 0.0 or tag in ("lateral_friction", "restitution"):
                add(contact, tag, value=number(value))


def _add_gazebo(robot: Element, link: str, surface: Surface) -> None:
    """What Gazebo has beyond that."""
    values: dict[str, float] = {}
    if surface.secondary_friction is not None:
        values |= {"mu1": surface.friction, "mu2": surface.secondary_friction}
    if surface.slip or surface.secondary_slip:
        second = surface.slip if surface.secondary_slip is None else surface.secondary_slip
        values |= {"slip1": surface.slip, "slip2": second}
    values |= softness_numbers(surface.softness)
    if surface.slop:
        values["minDepth"] = surface.slop
    if surface.max_correction_speed is not None:
        values["maxVel"] = surface.max_correction_speed
    if values or surface.first_friction_direction is not None:
        gazebo = add(robot, "gazebo", reference=link)
        for tag, value in values.items():
            add(gazebo, tag, number(value))
        if surface.first_friction_direction is not None:
            add(gazebo, "fdir1", vector(surface.first_friction_direction))


def _add_origin(element: Element, transform: np.ndarray) -> None:
    if not np.array_equal(transform, np.eye(4)):
        add(element, "origin", xyz=vector(transform[:3, 3]), rpy=vector(rpy(transform[:3, :3])))


def _add_geometry(geometry: Element, placed: Placed, store: MeshStore, link: str) -> None:
    shape = placed.shape
    if isinstance(shape, Primitive):
        add(geometry, shape.formats["urdf"].tag, **written(shape, "urdf"))
    elif isinstance(shape, Mesh):
        name, scale = store.place(shape, f"{link}_{placed.node.name}")
        options = {} if (scale == 1.0).all() else {"scale": vector(scale)}
        add(geometry, "mesh", filename=name, **options)


def _add_joint(root: Element, part: Part, parent: str, unsupported: UnsupportedFeatures) -> None:
    kind = _TYPES[part.kind]
    lower, upper = (part.values(f"position_{side}_limit") for side in ("lower", "upper"))
    if kind == "revolute" and math.isinf(lower[0]) and math.isinf(upper[0]):
        kind = "continuous"
    joint = add(root, "joint", name=part.joint, type=kind)
    add(joint, "parent", link=parent)
    add(joint, "child", link=part.name)
    _add_origin(joint, part.X_P)
    if part.kind == JointKind.PLANAR:
        add(joint, "axis", xyz=vector(np.cross(part.axes[0], part.axes[1])))
    elif part.axes:
        add(joint, "axis", xyz=vector(part.axes[0]))
    if part.kind in (JointKind.REVOLUTE, JointKind.PRISMATIC):
        _add_limits(joint, part, kind, unsupported)
    else:
        note_parts([part], ("position_limit", "velocity_limit", "force_limit"), unsupported)
    _add_dynamics(joint, part, unsupported)
    mimic = part.mimics[0] if len(part.mimics) == 1 else None
    if mimic is not None:
        add(joint, "mimic", joint=mimic.joint, multiplier=number(mimic.multiplier), offset=number(mimic.offset))
        if math.isfinite(mimic.force_limit):
            unsupported.remark(f"joint '{part.joint}': the force limit of what it mimics is left out")
    for value in part.mimics if len(part.mimics) > 1 else []:
        if value is not None:
            unsupported.remark(f"joint '{part.joint}': that it mimics '{value.joint}' is left out")


def _add_limits(joint: Element, part: Part, kind: str, unsupported: UnsupportedFeatures) -> None:
    limits: dict[str, str] = {}
    lower, upper = (float(part.values(f"position_{side}_limit")[0]) for side in ("lower", "upper"))
    if kind != "continuous" and (math.isfinite(lower) or math.isfinite(upper)):
        limits |= {"lower": number(lower), "upper": number(upper)}
        if lower == upper == 0.0:
            unsupported.remark(f"joint '{part.joint}': its limits 0 and 0 mean none in a URDF")
    for key, name in (("velocity", "velocity"), ("force", "effort")):
        least, most = (float(part.values(f"{key}_{side}_limit")[0]) for side in ("lower", "upper"))
        if least != -most:
            unsupported.remark(
                f"joint '{part.joint}': its {key} limits {least:g} and {most:g} are written as the upper one"
            )
        if math.isfinite(most):
            limits[name] = number(most)
            if most <= 0.0:
                unsupported.remark(f"joint '{part.joint}': its {key} limit {most:g} means none in a URDF")
                del limits[name]
    if limits:
        add(joint, "limit", **limits)


def _add_dynamics(joint: Element, part: Part, unsupported: UnsupportedFeatures) -> None:
    dynamics: dict[str, str] = {}
    for key, name in (("damping", "damping"), ("coulomb_friction", "friction")):
        values = part.values(key)
        if len(set(values.tolist())) > 1:
            unsupported.remark(
                f"joint '{part.joint}': its {name} differs between coordinates; the first is written for all"
            )
        if len(values) and values[0] != 0.0:
            dynamics[name] = number(values[0])
    if dynamics:
        add(joint, "dynamics", **dynamics)
