"""Descriptions of robots beside their models: SRDF files, read and written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Self

from kido.attributes import dataclass
from kido.errors import KidoError, ModelError, NameLookupError
from kido.io.xml import Node, Remarks, add, document, number, parse, to_text, vector
from kido.math.transform import as_flag
from kido.skeleton import BodyNode, Joint, Skeleton


@dataclass(frozen=True)
class GroupDescription:
    """A named part of a robot.

    Attributes:
        name: of the group.
        links: bodies, each with the joint above it.
        joints: each with the body below it.
        chains: pairs of a base and a tip: the bodies from below the base down to the tip, with the joints above them.
        groups: other groups that are part of it.
    """

    name: str
    links: tuple[str, ...] = ()
    joints: tuple[str, ...] = ()
    chains: tuple[tuple[str, str], ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class GroupState:
    """Named positions of a group, or of none (""): numbers by joint [m, rad]."""

    name: str
    group: str
    positions: tuple[tuple[str, tuple[float, ...]], ...] = ()


@dataclass(frozen=True)
class EndEffectorDescription:
    """A group at the end of another: `parent_link` carries it, and is part of `parent_group`, where one is named."""

    name: str
    parent_link: str
    group: str
    parent_group: str = ""


@dataclass(frozen=True)
class VirtualJoint:
    """What a robot's root hangs on: type "fixed", "planar" or "floating"."""

    name: str
    type: str
    parent_frame: str
    child_link: str


@dataclass(frozen=True)
class DisabledPair:
    """Two bodies that are not tested, and why."""

    link1: str
    link2: str
    reason: str = ""


@dataclass(frozen=True)
class RobotDescription:
    """What an SRDF file says of a robot.

    Attributes:
        name: of the robot.
        groups: parts, by name unique.
        states: named positions of groups.
        end_effectors: groups at the ends of others.
        virtual_joints: what roots hang on.
        passive_joints: names of joints without actuators; parts (`find_parts`) leave them out.
        disabled: pairs of bodies that are not tested.
        enabled: pairs that are, though one of them is in `disabled_by_default`.
        disabled_by_default: bodies tested with nothing but what `enabled` says.
        spheres: (body, ((x, y, z, radius), ...)) in body axes [m], where a file has them; those without size are left
            out. `CollisionScene.checker` takes them in place of shapes.
        remarks: what a reader left out or took otherwise than written.
    """

    name: str
    groups: tuple[GroupDescription, ...] = ()
    states: tuple[GroupState, ...] = ()
    end_effectors: tuple[EndEffectorDescription, ...] = ()
    virtual_joints: tuple[VirtualJoint, ...] = ()
    passive_joints: tuple[str, ...] = ()
    disabled: tuple[DisabledPair, ...] = ()
    enabled: tuple[tuple[str, str], ...] = ()
    disabled_by_default: tuple[str, ...] = ()
    spheres: tuple[tuple[str, tuple[tuple[float, float, float, float], ...]], ...] = ()
    remarks: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def read(cls, source: str | Path, strict: bool = False) -> Self:
        """Read an SRDF file, or its text.

        Args:
            source: path or text.
            strict: refuse names of groups that the file lacks; else they are left out, with a remark.

        Raises:
            FileFormatError: with path and line: no SRDF, names that are twice, groups that contain themselves, end
                effectors of groups that are not there, values that are no numbers.
        """
        remarks = Remarks(strict=as_flag(strict, "RobotDescription.read: strict"))
        root = parse(source, remarks=remarks)
        if root.tag != "robot":
            raise root.error(f"the root element is <{root.tag}>; an SRDF file has <robot>")
        found = _Reader(root)
        return cls(root.required_attribute("name"), **found.fields(), remarks=tuple(remarks))

    def write(self, path: str | Path) -> None:
        """Write an SRDF file; `read` gives back an equal description.

        Raises:
            KidoError: the file cannot be written.
        """
        text = self.to_xml()
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            raise KidoError(f"{path}: {error.strerror or error}") from error

    def to_xml(self) -> str:
        """The text of an SRDF file."""
        root = document("robot", name=self.name)
        for group in self.groups:
            element = add(root, "group", name=group.name)
            for tag, names in (("link", group.links), ("joint", group.joints), ("group", group.groups)):
                for name in names:
                    add(element, tag, name=name)
            for base, tip in group.chains:
                add(element, "chain", base_link=base, tip_link=tip)
        for state in self.states:
            element = add(root, "group_state", name=state.name, **({"group": state.group} if state.group else {}))
            for joint, values in state.positions:
                add(element, "joint", name=joint, value=vector(values))
        for end in self.end_effectors:
            more = {"parent_group": end.parent_group} if end.parent_group else {}
            add(root, "end_effector", name=end.name, parent_link=end.parent_link, group=end.group, **more)
        for joint in self.virtual_joints:
            names = {"parent_frame": joint.parent_frame, "child_link": joint.child_link}
            add(root, "virtual_joint", name=joint.name, type=joint.type, **names)
        for name in self.passive_joints:
            add(root, "passive_joint", name=name)
        for name, spheres in self.spheres:
            element = add(root, "link_sphere_approximation", link=name)
            for x, y, z, radius in spheres:
                add(element, "sphere", center=vector((x, y, z)), radius=number(radius))
        for name in self.disabled_by_default:
            add(root, "disable_default_collisions", link=name)
        for a, b in self.enabled:
            add(root, "enable_collisions", link1=a, link2=b)
        for pair in self.disabled:
            add(root, "disable_collisions", link1=pair.link1, link2=pair.link2, reason=pair.reason)
        return to_text(root)

    # For a robot -----------------------------------------------------------------------------------------------

    def group(self, name: str) -> GroupDescription:
        """A group by name.

        Raises:
            NameLookupError: there is none.
        """
        return _named("group", name, self.groups)

    def joints_of(self, name: str, skeleton: Skeleton) -> list[Joint]:
        """Joints of a group in a skeleton, each once, in the skeleton's order.

        Raises:
            NameLookupError: no such group, or the skeleton lacks a joint or body that it names.
            ModelError: a group that contains itself.
            KidoError: the tip of a chain is not below its base.
        """
        found: set[Joint] = set()
        self._collect(name, skeleton, found)
        return [joint for joint in skeleton.joints if joint in found]

    def _collect(self, name: str, skeleton: Skeleton, found: set[Joint], above: tuple[str, ...] = ()) -> None:
        if name in above:
            raise ModelError(f"robot {self.name!r}: group {name!r} contains itself: {' > '.join((*above, name))}")
        group = self.group(name)
        virtual = {joint.name: joint.child_link for joint in self.virtual_joints}
        found |= {skeleton.body(link).parent_joint for link in group.links}
        for joint in group.joints:
            found.add(skeleton.body(virtual[joint]).parent_joint if joint in virtual else skeleton.joint(joint))
        for base, tip in group.chains:
            found |= {body.parent_joint for body in bodies_between(skeleton.body(base), skeleton.body(tip), name)}
        for inner in group.groups:
            self._collect(inner, skeleton, found, (*above, name))

    def positions_of(self, state: str, skeleton: Skeleton, group: str | None = None) -> dict[str, tuple[float, ...]]:
        """Positions by joint of a group state.

        Args:
            state: its name.
            skeleton: the robot, to check against.
            group: whose state; None: of any group.

        Raises:
            NameLookupError: no such state, or the skeleton lacks a joint of it.
            KidoError: another number of values than the joint has coordinates.
        """
        chosen = [s for s in self.states if group is None or s.group == group]
        found = {}
        for name, values in _named("group state", state, chosen).positions:
            joint = skeleton.joint(name)
            if len(values) != joint.num_dofs:
                raise KidoError(
                    f"group state {state!r}: joint {name!r} has {joint.num_dofs} coordinates, the state {len(values)}"
                )
            found[name] = values
        return found

    def disabled_reasons(self, skeleton: Skeleton) -> dict[tuple[BodyNode, BodyNode], str]:
        """Pairs of bodies of a skeleton that are not tested, with the reason; bodies that it lacks are left out."""
        bodies = {body.name: body for body in skeleton.bodies}
        enabled = {frozenset(pair) for pair in self.enabled}
        found = {}
        for a in self.disabled_by_default:
            for b in bodies:
                if a != b and a in bodies and frozenset((a, b)) not in enabled:
                    found[bodies[a], bodies[b]] = "Default"
        for pair in self.disabled:
            if pair.link1 in bodies and pair.link2 in bodies:
                found[bodies[pair.link1], bodies[pair.link2]] = pair.reason or "User"
        return found


def bodies_between(base: BodyNode, tip: BodyNode, what: str) -> list[BodyNode]:
    """Bodies from below a base down to a tip, in order.

    Raises:
        KidoError: the tip is not below the base.
    """
    found: list[BodyNode] = []
    body: BodyNode | None = tip
    while body is not None and body is not base:
        found.append(body)
        body = body.parent
    if body is None:
        raise KidoError(f"group {what!r}: body {tip.name!r} is not below body {base.name!r}")
    return found[::-1]


def _named(kind: str, name: str, items: Iterable[Any]) -> Any:
    known = {item.name: item for item in items}
    if name not in known:
        raise NameLookupError(kind, name, list(known))
    return known[name]


class _Reader:
    """The elements of an SRDF file."""

    def __init__(self, root: Node):
        self.root = root
        self.group_nodes = self._by_name("group")
        for name, node in self.group_nodes.items():
            self._check_group(name, node, ())

    def _by_name(self, tag: str) -> dict[str, Node]:
        found: dict[str, Node] = {}
        for node in self.root.children(tag):
            name = node.required_attribute("name")
            if name in found:
                raise node.error(f"there is a <{tag}> {name!r} already, in line {found[name].line}")
            found[name] = node
        return found

    def _check_group(self, name: str, node: Node, above: Sequence[str]) -> None:
        for wanted, inner in self._inner_groups(node):
            if wanted in (*above, name):
                raise inner.error(f"group {wanted!r} contains itself: {' > '.join((*above, name, wanted))}")
            self._check_group(wanted, self.group_nodes[wanted], (*above, name))

    def _inner_groups(self, node: Node) -> Iterator[tuple[str, Node]]:
        for inner in node.children("group"):
            name = inner.required_attribute("name")
            if name in self.group_nodes:
                yield name, inner
            else:
                inner.forgive(self._no_group(inner, name), "it is left out")

    def _no_group(self, node: Node, name: str) -> str:
        known = ", ".join(self.group_nodes) or "there are none"
        return f"{node.describe()}: no group {name!r}; expected one of: {known}"

    def _known_group(self, node: Node, attribute: str) -> str:
        name = node.required_attribute(attribute)
        if name not in self.group_nodes:
            raise node.error(self._no_group(node, name))
        return name

    def fields(self) -> dict[str, tuple]:
        root = self.root
        return {
            "groups": tuple(self._group(name, node) for name, node in self.group_nodes.items()),
            "states": tuple(self._state(node) for node in root.children("group_state")),
            "end_effectors": tuple(self._end(node) for node in self._by_name("end_effector").values()),
            "virtual_joints": tuple(self._virtual(node) for node in self._by_name("virtual_joint").values()),
            "passive_joints": _names(root, "passive_joint"),
            "disabled": tuple(
                DisabledPair(*_pair(node), node.attribute("reason", ""))
                for node in root.children("disable_collisions", "disable_collision")
            ),
            "enabled": tuple(_pair(node) for node in root.children("enable_collisions")),
            "disabled_by_default": tuple(
                node.required_attribute("link") for node in root.children("disable_default_collisions")
            ),
            "spheres": tuple(self._spheres(node) for node in root.children("link_sphere_approximation")),
        }

    def _group(self, name: str, node: Node) -> GroupDescription:
        chains = tuple(
            (chain.required_attribute("base_link"), chain.required_attribute("tip_link"))
            for chain in node.children("chain")
        )
        groups = tuple(inner for inner, _ in self._inner_groups(node))
        return GroupDescription(name, _names(node, "link"), _names(node, "joint"), chains, groups)

    def _state(self, node: Node) -> GroupState:
        positions = []
        for joint in node.children("joint"):
            count = max(1, len(joint.required_attribute("value").split()))
            values = joint.vector("value", count)
            positions.append((joint.required_attribute("name"), tuple(values.tolist())))
        group = node.attribute("group", "")
        if group not in self.group_nodes:
            node.forgive(self._no_group(node, group), "it is taken as one of no group")
            group = ""
        return GroupState(node.required_attribute("name"), group, tuple(positions))

    def _end(self, node: Node) -> EndEffectorDescription:
        above = self._known_group(node, "parent_group") if node.attribute("parent_group", "") else ""
        name, link = node.required_attribute("name"), node.required_attribute("parent_link")
        return EndEffectorDescription(name, link, self._known_group(node, "group"), above)

    @staticmethod
    def _virtual(node: Node) -> VirtualJoint:
        kind = node.choice("type", ("fixed", "planar", "floating"))
        frame, link = node.required_attribute("parent_frame"), node.required_attribute("child_link")
        return VirtualJoint(node.required_attribute("name"), kind, frame, link)

    @staticmethod
    def _spheres(node: Node) -> tuple[str, tuple[tuple[float, float, float, float], ...]]:
        found = []
        for sphere in node.children("sphere"):
            x, y, z = sphere.vector("center", 3).tolist()
            radius = sphere.number("radius")
            if not radius >= 0.0:
                raise sphere.error(f"{sphere.describe()}: radius: expected a number not below 0, got {radius:g}")
            if radius > 0.0:  # files have spheres of no size for links without shapes
                found.append((x, y, z, radius))
        return node.required_attribute("link"), tuple(found)


def _names(node: Node, tag: str) -> tuple[str, ...]:
    return tuple(child.required_attribute("name") for child in node.children(tag))


def _pair(node: Node) -> tuple[str, str]:
    a, b = node.required_attribute("link1"), node.required_attribute("link2")
    if a == b:
        raise node.error(f"{node.describe()} names link {a!r} twice")
    return a, b
