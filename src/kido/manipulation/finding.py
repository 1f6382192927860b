"""Parts of a robot, found from its tree, its names, and a description."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kido.errors import ModelError, NameLookupError
from kido.joints import JointKind
from kido.manipulation.parts import Part
from kido.manipulation.srdf import RobotDescription
from kido.skeleton import BodyNode, Skeleton

# Words in names of joints and bodies, each at the start or the end of one; short ones, whole.
_WORDS = {
    "hand": ("hand", "gripper", "finger", "fingertip", "thumb", "palm", "knuckle", "claw", "jaw"),
    "leg": ("leg", "hip", "thigh", "knee", "shin", "calf", "ankle", "foot", "haa", "hfe", "kfe"),
    "arm": ("arm", "shoulder", "elbow", "wrist", "humerus"),
    "head": ("head", "neck", "screen"),
    "torso": ("torso", "waist", "spine", "chest", "lumbar", "trunk"),
    "base": ("wheel", "caster"),
}
_WHOLE_WORDS = {"head": {"pan", "tilt"}, "torso": {"lift"}, "base": {"base", "track"}}
_SIDES = {"left": ("left", "l"), "right": ("right", "r")}
_TIPS = ("tcp", "tool", "grasp", "effector", "ee", "gripper", "hand", "palm", "sole", "foot", "tip")


def words_of(name: str) -> list[str]:
    """Words of a name, in lower case: at digits, other signs and capitals a new one begins."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def _kind_by(name: str) -> str | None:
    words = words_of(name)
    for kind, known in _WORDS.items():
        whole = _WHOLE_WORDS.get(kind, ())
        if any(word.startswith(known) or word.endswith(known) or word in whole for word in words):
            return kind
    return None


def _kind_of(body: BodyNode) -> str | None:
    """Kind of part that a joint and the body below it say they are of; the joint's name comes first."""
    return _kind_by(body.parent_joint.name) or _kind_by(body.name)


class _Limb:
    """Moving bodies one below the other, without branches between them."""

    def __init__(self, first: BodyNode):
        self.moving = [first]
        self.kind = _kind_of(first)
        below = _moving_below(first)
        while len(below) == 1 and (_kind_of(below[0]) in (None, self.kind) or self.kind is None):
            if self.kind is None and _kind_of(below[0]) is not None and len(self.moving) > 1:
                break  # one whose joints have no such names ends where names begin
            self.moving.append(below[0])
            self.kind = self.kind or _kind_of(below[0])
            below = _moving_below(below[0])
        self.below = below

    @property
    def num_dofs(self) -> int:
        return sum(body.parent_joint.num_dofs for body in self.moving)


def _welded(body: BodyNode) -> Iterator[BodyNode]:
    """A body and what is welded to it from there down."""
    yield body
    for child in body.children:
        if child.parent_joint.num_dofs == 0:
            yield from _welded(child)


def _moving_below(body: BodyNode) -> list[BodyNode]:
    """The nearest bodies below that move against it."""
    return [child for b in _welded(body) for child in b.children if child.parent_joint.num_dofs > 0]


def _all_below(body: BodyNode) -> Iterator[BodyNode]:
    yield body
    for child in body.children:
        yield from _all_below(child)


def _kinds_below(body: BodyNode) -> set[str]:
    """What the moving bodies from one down say they are parts of."""
    return {kind for b in _all_below(body) if b.parent_joint.num_dofs > 0 if (kind := _kind_of(b)) is not None}


def _tip(limb: _Limb) -> BodyNode:
    """The body at the end that its name tells to be one; else the last that moves."""
    last = list(_welded(limb.moving[-1]))
    for word in _TIPS:
        found = [body for body in last[1:] if any(w.endswith(word) or w.startswith(word) for w in words_of(body.name))]
        if found:
            return found[-1]
    return limb.moving[-1]


def find_parts(skeleton: Skeleton, description: RobotDescription | None = None) -> dict[str, Part]:
    """Parts of a robot by name.

    The tree is cut into limbs: joints one below the other, up to where it branches or names say that another part
    begins. What a limb is, names tell (`arm_left_3_joint`, `gripper`, `head_pan`); without such names, a limb on which
    longer ones hang is a torso, what hangs on the end of another and is shorter is its hand, and of the others those
    of four coordinates or more are arms, or legs if there are more than two on a free base, and shorter ones heads.
    A free, planar or wheeled root is the base. Parts are called after their kind, with their side where there is one
    ("left_arm"), and with numbers where names are taken.

    Groups of a description are parts too, in place of those of the same name. Their tips are those of chains, or bodies
    that carry their end effectors, or that are the only ones at an end.

    Passive joints of a description are no joints of parts, with the bodies below them: nothing plans or drives their
    coordinates, which stay where they are. Parts that have no others are left out.

    Args:
        skeleton: the robot.
        description: see `RobotDescription.read`.

    Raises:
        NameLookupError: the description names what the robot lacks.
    """
    finder = _Finder()
    for root in skeleton.root_bodies:
        finder.tree(root)
    parts = finder.parts
    if description is None:
        return parts
    if not isinstance(description, RobotDescription):
        raise ModelError(f"find_parts: description: expected a RobotDescription, got {description!r}")
    known = {name: _active(part, description) for name, part in parts.items()}
    known |= {
        group.name: _active(_group_part(skeleton, description, group.name), description) for group in description.groups
    }
    return {name: part for name, part in known.items() if part is not None}


def _active(part: Part, description: RobotDescription) -> Part | None:
    """A part without its passive joints; None: it has no others."""
    bodies = [body for body in part.bodies if body.parent_joint.name not in description.passive_joints]
    if len(bodies) == len(part.bodies):
        return part
    return Part(part.name, part.kind, bodies, part.tip if part.has_tip else None) if bodies else None


def part_of_group(skeleton: Skeleton, description: RobotDescription, name: str) -> Part:
    """The part that a group of a description is, without passive joints.

    Raises:
        NameLookupError: no such group, or the robot lacks what it names.
        ModelError: the group is empty, or all of its joints are passive.
    """
    found = _active(_group_part(skeleton, description, name), description)
    if found is None:
        raise ModelError(f"group {name!r} of robot {description.name!r} has passive joints alone")
    return found


def _group_part(skeleton: Skeleton, description: RobotDescription, name: str) -> Part:
    bodies = [joint.child for joint in description.joints_of(name, skeleton)]
    if not bodies:
        raise ModelError(f"group {name!r} of robot {description.name!r} is empty")
    ends = {end.parent_link for end in description.end_effectors if name in (end.parent_group, end.group)}
    carried = [skeleton.body(link) for link in ends if _has_body(skeleton, link)]
    chains = description.group(name).chains
    leaves = [body for body in bodies if not any(child in bodies for child in body.children)]
    tip: BodyNode | None = None
    if len(chains) == 1:
        tip = skeleton.body(chains[0][1])
    elif len(carried) == 1 and (carried[0] in bodies or len(leaves) == 1):
        tip = carried[0]
    elif len(leaves) == 1:
        tip = leaves[0]
    kind = _kind_by(name) if len(leaves) == 1 or _kind_by(name) == "hand" else None
    return Part(name, kind or "group", bodies, tip)


def _has_body(skeleton: Skeleton, name: str) -> bool:
    try:
        skeleton.body(name)
    except NameLookupError:
        return False
    return True


class _Finder:
    """Parts found so far."""

    def __init__(self) -> None:
        self.parts: dict[str, Part] = {}

    def add(self, kind: str, bodies: list[BodyNode], tip: BodyNode | None, side: str = "") -> None:
        wanted = f"{side}_{kind}" if side else kind
        name, number = wanted, 1
        while name in self.parts:
            number += 1
            name = f"{wanted}_{number}"
        self.parts[name] = Part(name, kind, bodies, tip)

    def tree(self, root: BodyNode) -> None:
        """Add the parts of a tree."""
        below = [root] if root.parent_joint.num_dofs > 0 else _moving_below(root)
        base: list[BodyNode] = []
        is_free = len(below) == 1 and below[0].parent_joint.kind in (JointKind.FREE, JointKind.PLANAR)
        if is_free:
            base = list(_welded(below[0]))
            below = _moving_below(below[0])
        wheels = [body for body in below if _kinds_below(body) == {"base"}]
        driven = [b for wheel in wheels for b in _all_below(wheel)]
        if base or driven:
            self.add("base", [*base, *driven], base[0] if base else None)
        for body in below:
            if body not in wheels:
                self.limb(_Limb(body), None, len(below) if is_free else 1)

    def limb(self, limb: _Limb, above: _Limb | None, beside: int) -> None:
        """Add a limb and all below it."""
        inner = [_Limb(body) for body in limb.below]
        longest = max((i.num_dofs for i in inner), default=0)
        hand = bool(inner) and all(i.kind in ("hand", None) for i in inner) and limb.kind not in ("torso", "base")
        hand = hand and (limb.kind is not None or longest < limb.num_dofs)
        kind = limb.kind
        turns = all(body.parent_joint.kind == JointKind.REVOLUTE for body in limb.moving)  # what slides there drives
        if kind is None or (kind == "base" and turns and above is None and inner and not hand):
            if inner and not hand:
                kind = "torso"
            elif limb.num_dofs < 4:
                kind = "head" if beside > 1 or above is not None else "arm"
            else:
                kind = "leg" if beside > 2 else "arm"
        bodies = [b for body in limb.moving for b in _welded(body)]
        side = _side(limb)
        self.add(kind, bodies, _tip(limb), side)
        if hand:
            self.add("hand", [b for body in limb.below for b in _all_below(body)], None, side)
            return
        fingers = [i for i in inner if i.kind == "hand"] if kind == "arm" else []
        if fingers:
            self.add("hand", [b for i in fingers for b in _all_below(i.moving[0])], None, side)
        for i in inner:
            if i not in fingers:
                self.limb(i, limb, len(inner) if above is None and kind != "torso" else 1)


def _side(limb: _Limb) -> str:
    for body in limb.moving:
        for name in (body.parent_joint.name, body.name):
            words = words_of(name)
            for side, known in _SIDES.items():
                if any(word in known or word.startswith(side) for word in words):
                    return side
                if words and re.match(rf"{known[1]}(arm|leg|hand|foot)", words[0]):
                    return side
    return ""
