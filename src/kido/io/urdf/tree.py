"""The checks of a URDF that need the whole: one root, no cycles, known names, masses that can move."""

from __future__ import annotations

from dataclasses import dataclass

from kido.errors import FileFormatError
from kido.io.fields import listed
from kido.io.mechanism import massless_movers
from kido.io.urdf.parse import JointSpec, LinkSpec, RobotSpec

__all__ = ["LinkTree", "leader_of", "order_links"]

ONE_DOF = ("revolute", "continuous", "prismatic")


@dataclass(frozen=True)
class LinkTree:
    """Links of a robot in an order in which parents come first: the `root`, and (joint, child link) for all others."""

    root: LinkSpec
    steps: list[tuple[JointSpec, LinkSpec]]

    def massless_movers(self, free_base: bool) -> list[tuple[str, str]]:
        """(joint, link) of moving joints that carry no mass at all; nothing can accelerate them."""
        root = (self.root.name, None, self.root.mass, "the free base" if free_base else None)
        links = [(li.name, j.parent, li.mass, None if j.type == "fixed" else j.name) for j, li in self.steps]
        return massless_movers([root, *links])


def order_links(robot: RobotSpec) -> LinkTree:
    """Links and joints from the root on, children in document order.

    Raises FileFormatError for an empty robot, unknown names, several roots or parents, and cycles.
    """
    if not robot.links:
        raise robot.node.error("the robot has no links; expected at least one <link>")
    parent_joint = _parent_joints(robot)
    _check_mimics(robot)
    roots = [link for name, link in robot.links.items() if name not in parent_joint]
    if not roots:
        raise _cycle(robot, parent_joint, next(iter(robot.links)))
    if len(roots) > 1:
        names = listed([f"'{link.name}' (line {link.node.line})" for link in roots])
        raise FileFormatError(
            robot.node.path,
            roots[1].node.line,
            f"{len(roots)} links have no parent joint: {names}; expected exactly one root link",
        )
    by_parent: dict[str, list[JointSpec]] = {name: [] for name in robot.links}
    for joint in robot.joints.values():
        by_parent[joint.parent].append(joint)
    steps: list[tuple[JointSpec, LinkSpec]] = []
    waiting = list(reversed(by_parent[roots[0].name]))
    while waiting:
        joint = waiting.pop()
        steps.append((joint, robot.links[joint.child]))
        waiting.extend(reversed(by_parent[joint.child]))
    if len(steps) + 1 < len(robot.links):
        reached = {roots[0].name, *(link.name for _, link in steps)}
        raise _cycle(robot, parent_joint, next(name for name in robot.links if name not in reached))
    return LinkTree(roots[0], steps)


def _parent_joints(robot: RobotSpec) -> dict[str, JointSpec]:
    parents: dict[str, JointSpec] = {}
    for joint in robot.joints.values():
        for role, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in robot.links:
                raise joint.node.require(role).error(
                    f"joint '{joint.name}' names the {role} link '{name}', which does not exist; "
                    f"links: {listed(sorted(robot.links))}"
                )
        if joint.parent == joint.child:
            raise joint.node.error(f"joint '{joint.name}' connects link '{joint.child}' to itself")
        first = parents.get(joint.child)
        if first is not None:
            raise joint.node.error(
                f"link '{joint.child}' is the child of two joints, '{first.name}' (line {first.node.line}) "
                f"and '{joint.name}'; a URDF is a tree: expected one"
            )
        parents[joint.child] = joint
    return parents


def leader_of(joint: JointSpec, robot: RobotSpec) -> JointSpec | None:
    """The joint that a joint's <mimic> names, if that can be: both have one degree of freedom."""
    leader = None if joint.mimic is None else robot.joints.get(joint.mimic.joint)
    return leader if leader is not None and joint.type in ONE_DOF and leader.type in ONE_DOF else None


def _check_mimics(robot: RobotSpec) -> None:
    for joint in robot.joints.values():
        if joint.mimic is None:
            continue
        target, node = joint.mimic.joint, joint.mimic.node
        if target == joint.name:
            raise node.error(f"joint '{joint.name}' mimics itself")
        if leader_of(joint, robot) is None:
            reason = "which does not exist"
            if target in robot.joints:
                reason = f"but one of type '{joint.type}' cannot follow one of type '{robot.joints[target].type}'"
            robot.node.remark(f"joint '{joint.name}' mimics '{target}', {reason}; left out")
    for joint in robot.joints.values():
        path = [joint]
        while (leader := leader_of(path[-1], robot)) is not None:
            path.append(leader)
            if leader is joint and joint.mimic is not None:
                names = " -> ".join(f"'{step.name}'" for step in path)
                raise joint.mimic.node.error(f"joints mimic each other in a circle: {names}")
            if len(path) > len(robot.joints):
                break


def _cycle(robot: RobotSpec, parent_joint: dict[str, JointSpec], start: str) -> FileFormatError:
    """The error for the cycle that is met when going up from `start`."""
    path: list[str] = []
    name = start
    while name not in path:
        path.append(name)
        name = parent_joint[name].parent
    loop = [*path[path.index(name) :], name][::-1]
    joint = parent_joint[loop[1]]
    return joint.node.error(f"the links form a cycle: {' -> '.join(repr(item) for item in loop)}; expected a tree")
