"""The parts of a skeleton: bodies, joints and coordinates in their order, and their names."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kido.errors import ModelError, NameLookupError
from kido.skeleton import body_node
from kido.skeleton.joints.actuator import rename_followed
from kido.skeleton.joints.degree_of_freedom import name_with_joint, own_name
from kido.skeleton.joints.loop_joint import with_names

if TYPE_CHECKING:
    import numpy as np

    from kido.skeleton.body_node import BodyNode
    from kido.skeleton.joints.degree_of_freedom import DegreeOfFreedom
    from kido.skeleton.joints.joint import Joint
    from kido.skeleton.joints.loop_joint import LoopJoint
    from kido.skeleton.skeleton import Skeleton


class Parts:
    """What a skeleton is made of. Editing changes it; others read it, or ask the skeleton for copies.

    Attributes:
        skeleton: whose they are.
        bodies: parents before their children.
        dofs: in the order of the state arrays.
        loops: joints that close loops.
    """

    def __init__(self, skeleton: Skeleton):
        self.skeleton = skeleton
        self.bodies: list[BodyNode] = []
        self.dofs: list[DegreeOfFreedom] = []
        self.loops: list[LoopJoint] = []
        self.body_by_name: dict[str, BodyNode] = {}
        self.joint_by_name: dict[str, Joint] = {}
        self.named: list[DegreeOfFreedom] = []  # all whose names were given, and some whose are not any more
        self._suffixes: set[str] = set()  # that names of coordinates may have beside their joints'

    def add(self, body: BodyNode) -> None:
        """A new last body, and what its joint brings; names are checked already."""
        body_node.number([body], len(self.bodies))
        self.bodies.append(body)
        self.body_by_name[body.name] = body
        self.joint_by_name[body.parent_joint.name] = body.parent_joint
        self.dofs.extend(body.parent_joint.dofs)
        self.named.extend(dof for dof in body.parent_joint.dofs if own_name(dof) is not None)
        self._suffixes.update(body.parent_joint.dof_suffixes)

    def reindex(self) -> None:
        """Number bodies and coordinates anew after an edit."""
        body_node.number(self.bodies)
        self.body_by_name = {body.name: body for body in self.bodies}
        self.joint_by_name = {body.parent_joint.name: body.parent_joint for body in self.bodies}
        self.dofs = [dof for body in self.bodies for dof in body.parent_joint.dofs]
        self.named = [dof for dof in self.dofs if own_name(dof) is not None]
        self._suffixes = {suffix for joint in self.joint_by_name.values() for suffix in joint.dof_suffixes}

    def check_body_name(self, name: Any, body: BodyNode | None = None) -> None:
        """Refuse a name that is none, or that another body has."""
        if not isinstance(name, str) or not name or self.body_by_name.get(name, body) is not body:
            raise ModelError(f"skeleton {self.skeleton.name!r}: body name {name!r} is empty or already used")

    def check_dof_names(self, joint: Joint, joint_name: str) -> None:
        """Refuse a name of a joint if names of its coordinates that derive from it are taken."""
        taken = {own_name(dof) for dof in self.named if dof.joint is not joint}
        for dof in joint.dofs:
            name = name_with_joint(dof, joint_name)
            if name in taken or self._derives(name, joint):
                raise ModelError(
                    f"skeleton {self.skeleton.name!r}: dof name {name!r} of joint {joint_name!r} is already used; give "
                    "the joint another name, or dof_names"
                )
            taken.add(name)

    def _derives(self, name: str, apart_from: Joint) -> bool:
        """Whether a coordinate of another joint has a name that derives from its joint's. (Not by asking all of them,
        or the time to build a skeleton would grow with the square of its size.)"""
        for suffix in self._suffixes:
            joint = self.joint_by_name.get(name.removesuffix(suffix)) if name.endswith(suffix) else None
            if joint is not None and joint is not apart_from and any(dof.name == name for dof in joint.dofs):
                return True
        return False

    def rename_body(self, body: BodyNode, name: str) -> None:
        """Have a body under another name, loops too."""
        self.check_body_name(name, body)
        del self.body_by_name[body.name]
        self.body_by_name[name] = body
        self.loops = [with_names(loop, {body.name: name}) for loop in self.loops]
        for state in self.skeleton.states:
            state.properties_changed()
        self.loops_changed()

    def loops_changed(self) -> None:
        """A world that holds the skeleton is to enforce other loops."""
        if self.skeleton.host is not None:
            self.skeleton.host.constraints_changed()

    def rename_joint(self, joint: Joint, name: str) -> None:
        """Have a joint under another name, and what mimics it follow."""
        if not isinstance(name, str) or not name or self.joint_by_name.get(name, joint) is not joint:
            raise ModelError(f"skeleton {self.skeleton.name!r}: joint name {name!r} is empty or already used")
        self.check_dof_names(joint, name)
        del self.joint_by_name[joint.name]
        rename_followed((body.parent_joint for body in self.bodies), {joint.name: name})
        self.joint_by_name[name] = joint

    def find(self, what: str, key: str | int | np.integer, by_name: dict[str, Any], items: Sequence[Any]) -> Any:
        """One of the items by its name or index.

        Raises:
            NameLookupError: there is none.
        """
        if isinstance(key, str) and key in by_name:
            return by_name[key]
        if not isinstance(key, str | bool):
            with suppress(TypeError, IndexError):
                return items[operator.index(key)]
        raise NameLookupError(f"{what} in skeleton {self.skeleton.name!r}", key, list(by_name))
