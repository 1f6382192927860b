"""A skeleton as a list of links and simple joints, as file formats have them.

Joints that a format lacks are taken apart into hinges, in the order in which they move, with massless links between
them: that is the same mechanism with more bodies. What cannot be had so is approximated: a ball joint by three hinges
(which lock at 90 degrees of the second), a joint that a user defined by a weld.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from kido.errors import KidoError
from kido.io.fields import free_name
from kido.io.writers.unsupported import UnsupportedFeatures
from kido.joints import ActuatorType, JointKind
from kido.math.transform import inverse_transform
from kido.quantities.soft import refuse_flexible
from kido.skeleton import BodyNode, FreeJoint, Joint, LoopJoint, Mimic, Node, Skeleton, SoftBodyNode, WeldJoint
from kido.skeleton.joints.actuator import followed_dof

__all__ = [
    "Part",
    "free_pose",
    "note_constraints",
    "note_parts",
    "note_skeleton",
    "part_of_loop",
    "parts_of",
    "rest_poses",
]

PROPERTIES = (
    *(
        f"{what}_{side}_limit"
        for what in ("position", "velocity", "acceleration", "force")
        for side in ("lower", "upper")
    ),
    *("damping", "armature", "coulomb_friction", "spring_stiffness", "rest_position"),
    *("initial_position", "initial_velocity"),
)
X, Y, Z = np.eye(3)


@dataclass
class Part:
    """A link and the joint above it.

    `body` is None for a massless link that was put in; `axes` are in the joint's frame; `properties` have one number
    for each coordinate; `mimics` name the part that is followed by its joint and number there.
    """

    body: BodyNode | None
    name: str
    parent: str | None
    joint: str
    kind: JointKind
    X_P: np.ndarray
    X_C: np.ndarray
    axes: list[np.ndarray] = field(default_factory=list)
    pitch: float = 0.0
    order: str = ""
    dof_names: list[str] = field(default_factory=list)
    properties: dict[str, np.ndarray] = field(default_factory=dict)
    mimics: list[Mimic | None] = field(default_factory=list)
    actuators: list[ActuatorType] = field(default_factory=list)

    def values(self, key: str) -> np.ndarray:
        """A property of all coordinates."""
        return self.properties[key]


def parts_of(
    skeleton: Skeleton,
    kinds: set[JointKind],
    unsupported: UnsupportedFeatures,
    *,
    free_inside: bool,
    has_world_link: bool = False,
) -> list[Part]:
    """Links and joints of a skeleton, parents first, with joints of the given kinds only.

    Args:
        free_inside: whether free joints may hang on other bodies than the world.
        has_world_link: whether the format needs a body for the world; else one called "world" is left out.
    """
    refuse_flexible(skeleton, "written files")
    taken = {body.name for body in skeleton.bodies} | {joint.name for joint in skeleton.joints}
    parts: list[Part] = []
    world = None if has_world_link else _world_body(skeleton)
    if world is not None:
        unsupported.remark(f"body '{world.name}' is the world itself: it has no mass, no shape, and does not move")
    place: dict[int, tuple[str, int]] = {}
    for body in skeleton.bodies:
        if body is world:
            continue
        joint = body.parent_joint
        whole = _whole(body, joint)
        if world is not None and body.parent is world:
            whole.X_P = rest_poses([_whole(world, world.parent_joint)])[world.name] @ whole.X_P
            whole.parent = None
        if joint.kind in kinds and (joint.kind != JointKind.FREE or free_inside or whole.parent is None):
            new = [(whole, list(range(joint.num_dofs)))]
        else:
            new = _taken_apart(whole, joint, kinds, taken, unsupported)
        for part, numbers in new:
            parts.append(part)
            for k, number in enumerate(numbers):
                if number >= 0:
                    place[joint.dofs[number].index] = (part.joint, k)
    for part in parts:
        part.mimics = [_moved(mimic, place) for mimic in part.mimics]
    return parts


def rest_poses(parts: list[Part]) -> dict[str, np.ndarray]:
    """Pose of each link in the world with all coordinates at zero."""
    poses: dict[str, np.ndarray] = {}
    for part in parts:
        base = np.eye(4) if part.parent is None else poses[part.parent]
        poses[part.name] = base @ part.X_P @ inverse_transform(part.X_C)
    return poses


def _world_body(skeleton: Skeleton) -> BodyNode | None:
    """The body by which URDF files name the world, if there is one."""
    for body in skeleton.root_bodies:
        still = isinstance(body.parent_joint, WeldJoint) and not body.nodes(Node)
        if still and body.name == "world" and body.mass == 0.0 and not body.inertia.moment.any():
            return body if body.children else None
    return None


def _whole(body: BodyNode, joint: Joint) -> Part:
    axes = [getattr(joint, key) for key in joint.axis_properties()]
    mimics: list[Mimic | None] = []
    for k, dof in enumerate(joint.dofs):
        mimic = dof.mimic if dof.actuator_type == ActuatorType.MIMIC else None
        if mimic is not None:
            # the number of the followed coordinate in its skeleton stands for it until all parts are known
            mimic = replace(mimic, dof=followed_dof(joint, k, body.skeleton))
        mimics.append(mimic)
    return Part(
        body=body,
        name=body.name,
        parent=None if body.parent is None else body.parent.name,
        joint=joint.name,
        kind=joint.kind,
        X_P=joint.transform_from_parent,
        X_C=joint.transform_from_child,
        axes=axes,
        pitch=getattr(joint, "pitch", 0.0),
        order=getattr(joint, "order", ""),
        dof_names=[dof.name for dof in joint.dofs],
        properties={key: joint.get_property(key) for key in PROPERTIES},
        mimics=mimics,
        actuators=[dof.actuator_type for dof in joint.dofs],
    )


def _moved(mimic: Mimic | None, place: dict[int, tuple[str, int]]) -> Mimic | None:
    if mimic is None or mimic.dof is None or mimic.dof not in place:
        return mimic
    joint, k = place[mimic.dof]
    return replace(mimic, joint=joint, dof=k)


# -- joints taken apart ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Hinge:
    kind: JointKind
    axis: np.ndarray
    number: int  # of the coordinate in the joint; -1 for one that follows the hinge before
    offset: np.ndarray = field(default_factory=lambda: np.eye(4))
    pitch: float = 0.0

    def without_screw(self, kinds: set[JointKind]) -> list[_Hinge]:
        """A screw as a hinge and a slide that is to follow it, where screws are not among the kinds."""
        if self.kind != JointKind.SCREW or self.kind in kinds:
            return [self]
        return [replace(self, kind=JointKind.REVOLUTE), _Hinge(JointKind.PRISMATIC, self.axis, -1)]


def _taken_apart(
    whole: Part, joint: Joint, kinds: set[JointKind], taken: set[str], unsupported: UnsupportedFeatures
) -> list[tuple[Part, list[int]]]:
    body = joint.child
    name, kind = type(joint).__name__, JointKind
    if joint.kind == kind.USER:
        unsupported.approximated(f"joint '{joint.name}' ({name})", "a weld where it is")
        base = np.eye(4) if body.parent is None else body.parent.world_transform
        pose = inverse_transform(base) @ body.world_transform
        weld = replace(whole, kind=kind.WELD, X_P=pose, X_C=np.eye(4), axes=[], dof_names=[], mimics=[], actuators=[])
        weld.properties = {key: np.zeros(0) for key in PROPERTIES}
        return [(weld, [])]
    hinges = [part for hinge in _hinges(joint) for part in hinge.without_screw(kinds)]
    if not hinges:
        unsupported.approximated(f"joint '{joint.name}' ({name})", "a weld")
        return [(replace(whole, kind=kind.WELD), [])]
    note = "that lock at 90 degrees" if joint.kind in (kind.BALL, kind.FREE) else "in a chain"
    count = f"{len(hinges)} hinge{'s' if len(hinges) > 1 else ''}"
    unsupported.approximated(f"joint '{joint.name}' ({name})", f"{count} {note}")
    positions = whole.values("initial_position").copy()
    if joint.kind in (kind.BALL, kind.FREE):
        positions[:3] = Rotation.from_rotvec(positions[:3]).as_euler("XYZ")
    result: list[tuple[Part, list[int]]] = []
    parent, last = whole.parent, len(hinges) - 1
    for k, hinge in enumerate(hinges):
        link = whole.name if k == last else _free_name(f"{joint.name}_link_{k + 1}", taken)
        part = _part_of(hinge, whole, positions, joint, taken, single=last == 0)
        part.parent, part.name = parent, link
        part.body = whole.body if k == last else None
        part.X_P = (whole.X_P if k == 0 else np.eye(4)) @ hinge.offset
        part.X_C = whole.X_C if k == last else np.eye(4)
        if hinge.number < 0:
            leader = result[-1][0]
            part.mimics = [Mimic(leader.joint, leader.pitch / (2.0 * np.pi))]
            part.actuators = [ActuatorType.MIMIC]
            leader.pitch = 0.0
        result.append((part, [hinge.number]))
        parent = link
    return result


def _part_of(hinge: _Hinge, whole: Part, positions: np.ndarray, joint: Joint, taken: set[str], single: bool) -> Part:
    """The joint of one hinge, its links left open."""
    k = hinge.number
    if k < 0:
        properties = {key: np.array([_neutral(key)]) for key in PROPERTIES}
        name = _free_name(f"{joint.name}_advance", taken)
    else:
        properties = {key: whole.values(key)[k : k + 1] for key in PROPERTIES}
        properties["initial_position"] = positions[k : k + 1]
        name = joint.name if single else _free_name(joint.dofs[k].name, taken)
    return Part(
        body=None,
        name="",
        parent=None,
        joint=name,
        kind=hinge.kind,
        X_P=np.eye(4),
        X_C=np.eye(4),
        axes=[hinge.axis],
        pitch=hinge.pitch,
        dof_names=[name],
        properties=properties,
        mimics=[whole.mimics[k] if k >= 0 else None],
        actuators=[whole.actuators[k] if k >= 0 else ActuatorType.FORCE],
    )


def _hinges(joint: Joint) -> list[_Hinge]:
    turns = [_Hinge(JointKind.REVOLUTE, axis, k) for k, axis in enumerate((X, Y, Z))]
    if joint.kind == JointKind.BALL:
        return turns
    if joint.kind == JointKind.FREE:
        return [_Hinge(JointKind.PRISMATIC, axis, k + 3) for k, axis in enumerate((X, Y, Z))] + turns
    motions = joint.elementary_motions()
    if motions is None:
        raise KidoError(f"joint {joint.name!r} is a {type(joint).__name__}, which writers do not know")
    return [_Hinge(m.kind, np.array(m.axis), k, np.array(m.offset), m.pitch) for k, m in enumerate(motions)]


def _neutral(key: str) -> float:
    return {"lower": -np.inf, "upper": np.inf}.get(key.split("_")[1], 0.0) if key.endswith("_limit") else 0.0


def _free_name(name: str, taken: set[str]) -> str:
    name = free_name(name, taken)
    taken.add(name)
    return name


def part_of_loop(loop: LoopJoint) -> Part:
    """A joint that closes a loop, as the joint of a link that is there already."""
    joint = loop.joint
    return Part(
        body=None,
        name=loop.child or "",
        parent=loop.parent,
        joint=joint.name,
        kind=joint.kind,
        X_P=joint.transform_from_parent,
        X_C=joint.transform_from_child,
        axes=[getattr(joint, key) for key in joint.axis_properties()],
        pitch=getattr(joint, "pitch", 0.0),
        properties={key: joint.get_property(key) for key in PROPERTIES},
    )


def free_pose(part: Part) -> np.ndarray:
    """Pose in its parent of a link with a free joint, at its initial position."""
    return part.X_P @ FreeJoint.to_transform(part.values("initial_position")) @ inverse_transform(part.X_C)


def note_parts(parts: list[Part], left_out: Iterable[str], unsupported: UnsupportedFeatures) -> None:
    """Remark on properties of coordinates that are not what they are where nothing is said.

    `left_out` are names of properties, "limits" of velocities and so on as ``velocity_limit``; "actuator" those that
    are not driven by forces.
    """
    for part in parts:
        for key in left_out:
            if key == "actuator":
                kinds = {kind for kind in part.actuators if kind not in (ActuatorType.FORCE, ActuatorType.MIMIC)}
                for kind in kinds:
                    unsupported.remark(f"joint '{part.joint}': its actuator type {kind.name} is left out")
                continue
            if key.endswith("_limit"):
                lower, upper = (
                    part.values(key.replace("_limit", "_lower_limit")),
                    part.values(key.replace("_limit", "_upper_limit")),
                )
                given = np.isfinite(lower).any() or np.isfinite(upper).any()
            elif key == "rest_position":
                given = bool((part.values(key) * part.values("spring_stiffness")).any())
            else:
                given = bool(part.values(key).any())
            if given:
                unsupported.remark(f"joint '{part.joint}': its {key.replace('_', ' ')} is left out")


def note_constraints(model: Any, unsupported: UnsupportedFeatures) -> None:
    """Remark on constraints that were added to a world; those of skeletons' loops are joints of these."""
    for constraint in [] if isinstance(model, Skeleton) else model.constraint_set.added:
        unsupported.remark(f"{type(constraint).__name__} '{constraint.name}' is left out")


def note_skeleton(
    skeleton: Skeleton,
    unsupported: UnsupportedFeatures,
    *,
    written: tuple[type, ...] = (),
    loops: bool = False,
    soft: bool = False,
) -> None:
    """Remark on nodes, loops and soft skins that the format leaves out; the options say which of them it has.

    Args:
        written: classes of nodes that it has.
    """
    for body in skeleton.bodies if not soft else []:
        if isinstance(body, SoftBodyNode):
            unsupported.remark(f"body '{body.name}': its soft skin is written as a rigid mesh, with its mass")
    for node in skeleton.nodes():
        if not isinstance(node, written):
            unsupported.remark(f"{type(node).__name__} '{node.name}' is left out")
    for loop in skeleton.loops if not loops else []:
        unsupported.remark(
            f"joint '{loop.name}', which closes a loop between '{loop.parent}' and '{loop.child}', is left out"
        )
