"""Reader of SKEL, the XML world format of DART.

`read` turns a file (or a text) into a `kido.World`. What the format means here:

- A ``<transformation>`` is six numbers: a translation and the rotation Rx(a) Ry(b) Rz(c) [m, rad]. That of a
  body is its pose in the world at zero joint positions, within the frame that the skeleton's gives; that of a
  joint is the joint's frame in the child body; that of a shape is the shape's frame in its body.
- Bodies come in the order of the joints that carry them, parents first. A body that no joint names as its
  child gets a free joint.
- A body without ``<inertia>`` has 1 kg at its origin and 1 kg m^2 about every axis; one without
  ``<moment_of_inertia>`` has the moment of its shapes (`kido.io.skel.bodies` says how).
- The initial velocity of a free joint is the twist [angular; linear] in the axes of the joint's frame in the
  child, as in DART until 2025 (newer versions of DART take world axes).
- The pitch of a screw joint is in metres per revolution, the size of an ellipsoid its three diameters [m].

Everything a file says that KIDO does not model (actuator types, acceleration limits, ...) is
named in ``skeleton.warnings`` and left out; whatever is wrong is refused with a FileFormatError.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from kido.attributes import named_arguments
from kido.io.fields import WORLD, located
from kido.io.mechanism import massless_movers
from kido.io.resources import ResourceFinder
from kido.io.skel.bodies import DEFAULT_MASS, SkelBody, add_markers, add_shapes, read_body
from kido.io.skel.fields import note_unknown, pose
from kido.io.skel.joints import SkelJoint, free_joint, read_joint
from kido.io.xml import Node, Remarks, is_text, parse
from kido.math.transform import inverse_transform
from kido.simulation import World
from kido.skeleton import Skeleton

__all__ = ["read"]

DETECTORS = ("dart", "fcl", "fcl_mesh", "bullet", "ode")


@named_arguments
def read(
    source: str | Path,
    package_dirs: str | Path | Iterable[str | Path] = (),
    *,
    visuals: bool = True,
    strict: bool = False,
) -> World:
    """Read a SKEL file, or a text that starts with ``<``, as a world in its initial state.

    Args:
        source: path of the file, or the text itself.
        package_dirs: further folders that meshes may be read from, besides the file's own and the one above.
        visuals: False leaves visualization shapes out, so that their meshes need not exist.
        strict: refuse what is otherwise read with a warning, as in `kido.io.urdf.read`.

    Returns the world with its skeletons; ``skeleton.warnings`` names what of the file was left out.

    Raises FileFormatError (path, line, reason) if the file is malformed, MeshNotFoundError (every path tried)
    if a mesh is missing.
    """
    root = parse(source, remarks=Remarks(strict=strict))
    uri = None if is_text(source) else str(source)
    finder = ResourceFinder.of_file(None if uri is None else Path(uri), package_dirs)
    if root.tag != "skel":
        raise root.error(f"the root element is <{root.tag}>; expected <skel>")
    node = root.child("world")
    if node is None:
        if not root.children("skeleton"):
            raise root.error("<skel> holds neither a <world> nor a <skeleton>")
        node = root
    return _read_world(node, finder, visuals, uri)


def _read_world(node: Node, finder: ResourceFinder, visuals: bool, uri: str | None) -> World:
    world = World(**_world_arguments(node))
    world.uri = uri
    note_unknown(node, ("physics", "skeleton"), "world")
    names: set[str] = set()
    for skeleton_node in node.children("skeleton"):
        skeleton = _read_skeleton(skeleton_node, finder, visuals, names)
        skeleton.uri = uri
        skeleton.warnings.extend(node.remarks)
        node.remarks.clear()
        names.add(skeleton.name)
        with located(skeleton_node):
            world.add_skeleton(skeleton)
    return world


def _world_arguments(node: Node) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    if node.attribute("name"):
        arguments["name"] = node.attribute("name")
    physics = node.child("physics")
    if physics is None:
        return arguments
    note_unknown(physics, ("time_step", "gravity", "collision_detector"), "world")
    if physics.child("time_step") is not None:
        time_step = physics.child_number("time_step")
        if time_step <= 0.0:
            raise physics.require("time_step").error(f"the time step is {time_step:g} s; expected more than 0")
        arguments["time_step"] = time_step
    if physics.child("gravity") is not None:
        arguments["gravity"] = tuple(float(value) for value in physics.child_vector("gravity", 3))
    detector = physics.child_text("collision_detector")
    if detector is not None:
        known = "" if detector in DETECTORS else f", which is not one of {', '.join(DETECTORS)},"
        node.remarks.once(
            f"world: the collision detector '{detector}'{known} is left out: KIDO's own finds contacts, unless "
            f"world.collision_detector says otherwise"
        )
    return arguments


def _read_skeleton(node: Node, finder: ResourceFinder, visuals: bool, taken: set[str]) -> Skeleton:
    given = node.required_attribute("name")
    name, count = given, 0
    while name in taken:
        count += 1
        name = f"{given}({count})"
    if count:
        node.remarks.once(f"skeleton '{given}': the name is taken; it is called '{name}'")
    note_unknown(node, ("mobile", "transformation", "body", "joint"), f"skeleton '{name}'")
    frame = pose(node)
    bodies = _read_bodies(node, frame, finder, visuals)
    joints = _read_joints(node, bodies)
    with located(node):
        skeleton = Skeleton(name)
        skeleton.mobile = node.child_boolean("mobile", True)
    order = _assembly_order(node, bodies, joints)
    for body_name in order:
        joint = joints.get(body_name)
        if joint is None:
            joint = joints[body_name] = _root_joint(bodies[body_name], joints)
        _add_body(skeleton, bodies[body_name], joint, bodies)
    if skeleton.mobile:
        _refuse_massless(skeleton, order, bodies, joints)
    return skeleton


def _read_bodies(node: Node, frame: np.ndarray, finder: ResourceFinder, visuals: bool) -> dict[str, SkelBody]:
    bodies: dict[str, SkelBody] = {}
    for body_node in node.children("body"):
        body = read_body(body_node, frame, finder, visuals)
        if body.name in bodies:
            raise body_node.error(
                f"the name '{body.name}' of the body is taken by the one in line {bodies[body.name].node.line}"
            )
        bodies[body.name] = body
    return bodies


def _read_joints(node: Node, bodies: dict[str, SkelBody]) -> dict[str, SkelJoint]:
    """The joints by the name of the child body, in the order of the file."""
    joints: dict[str, SkelJoint] = {}
    names: dict[str, int] = {}
    for joint_node in node.children("joint"):
        joint = read_joint(joint_node)
        if joint.name in names:
            raise joint_node.error(
                f"the name '{joint.name}' of the joint is taken by the one in line {names[joint.name]}"
            )
        for role, body in (("parent", joint.parent), ("child", joint.child)):
            if body not in bodies and not (role == "parent" and body == WORLD):
                choices = ([WORLD] if role == "parent" else []) + list(bodies)
                raise joint_node.require(role).error(
                    f"the {role} of joint '{joint.name}' is '{body}', which is not a body of "
                    f"{node.describe()}; expected one of {', '.join(choices)}"
                )
        if joint.child in joints:
            raise joint_node.error(
                f"the body '{joint.child}' is the child of joint '{joint.name}' and also of "
                f"'{joints[joint.child].name}' in line {joints[joint.child].node.line}; "
                f"expected one joint per child"
            )
        names[joint.name] = joint_node.line
        joints[joint.child] = joint
    return joints


def _assembly_order(node: Node, bodies: dict[str, SkelBody], joints: dict[str, SkelJoint]) -> list[str]:
    """Names of the bodies, parents first, otherwise in the order of the joints in the file."""
    order: dict[str, None] = {}
    for start in [*joints, *bodies]:
        chain: dict[str, None] = {}
        name: str | None = start
        while name is not None and name not in order:
            if name in chain:
                cycle = list(chain)[list(chain).index(name) :]
                raise joints[name].node.error(
                    f"the joints of {node.describe()} form a cycle: {' -> '.join([name, *reversed(cycle)])}"
                )
            chain[name] = None
            joint = joints.get(name)
            name = joint.parent if joint is not None and joint.parent in bodies else None
        order.update(dict.fromkeys(reversed(chain)))
    return list(order)


def _root_joint(body: SkelBody, joints: dict[str, SkelJoint]) -> SkelJoint:
    """The free joint of a body that no joint of the file carries."""
    taken = {joint.name for joint in joints.values()}
    name = "root" if "root" not in taken else f"root of {body.name}"
    body.node.remarks.once(f"body '{body.name}': no joint names it as its child; it got the free joint '{name}'")
    return free_joint(name, body.name, body.node)


def _add_body(skeleton: Skeleton, body: SkelBody, joint: SkelJoint, bodies: dict[str, SkelBody]) -> None:
    parent = bodies.get(joint.parent)
    parent_pose = np.eye(4) if parent is None else parent.pose
    built = joint.build(inverse_transform(parent_pose) @ body.pose @ joint.transform, joint.transform)
    fixed = parent is None and built.num_dofs == 0
    if not body.has_inertia and skeleton.mobile and not fixed:
        given = f"{DEFAULT_MASS:g} kg and 1 kg m^2 about every axis"
        body.node.remarks.once(f"body '{body.name}': no <inertia>; it has {given}")
    with located(body.node):
        above = None if parent is None else parent.name
        soft = body.soft
        if soft is None:
            node = skeleton.add_body(body.name, joint=built, parent=above, inertia=body.inertia)
        else:
            node = skeleton.add_soft_body(
                body.name, soft.shape, built, above, body.inertia, transform=soft.transform,
                total_mass=soft.total_mass, kv=soft.kv, ke=soft.ke, kd=soft.kd, color=soft.color,
            )  # fmt: skip
        node.gravity = body.gravity
    add_shapes(node, body)
    add_markers(node, body)


def _refuse_massless(
    skeleton: Skeleton, order: list[str], bodies: dict[str, SkelBody], joints: dict[str, SkelJoint]
) -> None:
    """Refuse a joint that moves and carries no mass at all: its acceleration is not defined."""
    moving = {joint.name for joint in skeleton.joints if joint.num_dofs}
    above = [(name, joints[name]) for name in order]
    movers = massless_movers(
        [(name, j.parent, bodies[name].mass, j.name if j.name in moving else None) for name, j in above]
    )
    if movers:
        joint, name = movers[-1]
        mass = bodies[name].node.require("inertia").require("mass")
        raise mass.error(
            f"joint '{joint}' moves body '{name}', which has a mass of 0 kg and carries no other; "
            f"expected a mass greater than 0"
        )
