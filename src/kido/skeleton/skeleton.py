"""A tree of bodies and joints."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

from kido.errors import ModelError, NameLookupError
from kido.math.transform import as_flag
from kido.skeleton.arrays import STATE_FIELDS
from kido.skeleton.aspects import Carrier
from kido.skeleton.body_node import BodyNode
from kido.skeleton.editing.editing import SkeletonEditing
from kido.skeleton.inertia import Inertia
from kido.skeleton.joints.actuator import rename_followed
from kido.skeleton.joints.degree_of_freedom import DegreeOfFreedom
from kido.skeleton.joints.joint import Joint
from kido.skeleton.joints.loop_joint import LoopJoint
from kido.skeleton.joints.types import FreeJoint
from kido.skeleton.nodes.node import Node
from kido.skeleton.nodes.shape_node import ShapeNode
from kido.skeleton.nodes.support import SkeletonSupport
from kido.skeleton.results.derivatives import SkeletonDerivatives
from kido.skeleton.results.manifold import SkeletonManifold
from kido.skeleton.results.regressors import SkeletonRegressors
from kido.skeleton.results.underactuation import SkeletonUnderactuation
from kido.skeleton.soft.building import SkeletonSoftBodies
from kido.skeleton.state.configuration import SkeletonSnapshots
from kido.skeleton.state.in_world import SkeletonInWorld

N = TypeVar("N", bound=Node)


class Skeleton(
    SkeletonDerivatives,
    SkeletonRegressors,
    SkeletonUnderactuation,
    SkeletonManifold,
    SkeletonEditing,
    SkeletonSupport,
    SkeletonSoftBodies,
    SkeletonSnapshots,
    SkeletonInWorld,
    Carrier,
):
    """An articulated body: bodies joined in one or several trees.

    Args:
        name: its name in a world.

    Attributes:
        name: its name in a world.
        uri: the file it was read from, if it was.
        warnings: what its file has that was left out, in words.

    Example:
        >>> arm = Skeleton("arm")
        >>> link = arm.add_body("link", RevoluteJoint(axis=(0, 1, 0)), inertia=Inertia.from_diagonal(1, [1, 1, 1]))
        >>> arm.positions = [0.5]
        >>> link.world_transform
    """

    def __init__(self, name: str = "skeleton"):
        super().__init__()
        self.name = name
        self.uri: str | None = None
        self.warnings: list[str] = []
        self._loops: list[LoopJoint] = []
        self._loops_enabled = True
        self._bodies: list[BodyNode] = []
        self._body_by_name: dict[str, BodyNode] = {}
        self._joint_by_name: dict[str, Joint] = {}
        self._dofs: list[DegreeOfFreedom] = []
        self._mobile = True
        self._self_collision = False
        self._adjacent_body_collision = False
        self._init_in_world()

    # Building --------------------------------------------------------------------------------------------

    def add_body(
        self,
        name: str,
        joint: Joint | None = None,
        parent: BodyNode | str | None = None,
        inertia: Inertia | None = None,
        *,
        _kind: type[BodyNode] = BodyNode,
    ) -> BodyNode:
        """Add a body and the joint that hangs it on its parent.

        Args:
            name: unique in the skeleton.
            joint: the joint above it, not part of another skeleton; by default a `FreeJoint`. A joint without a
                name is called after the body.
            parent: a body of this skeleton or its name; None for the world.
            inertia: by default none; a part of the skeleton that a joint moves must have mass somewhere.

        Raises:
            ModelError: a name is empty or taken, the joint is in use, the parent is of another skeleton.
            NameLookupError: there is no parent of that name.
        """
        if isinstance(parent, str):
            parent = self.body(parent)
        if parent is not None and not isinstance(parent, BodyNode):
            raise ModelError(f"body {name!r}: parent: expected a body or its name, got {parent!r}")
        if parent is not None and parent.skeleton is not self:
            raise ModelError(f"body {name!r}: parent {parent.name!r} is part of skeleton {parent.skeleton.name!r}")
        if not isinstance(name, str) or not name or name in self._body_by_name:
            raise ModelError(f"skeleton {self.name!r}: body name {name!r} is empty or already used")
        joint = FreeJoint() if joint is None else joint
        if not isinstance(joint, Joint):
            raise ModelError(f"body {name!r}: joint: expected a joint such as kido.RevoluteJoint(), got {joint!r}")
        if joint._body is not None:
            raise ModelError(f"body {name!r}: joint {joint.name!r} already moves body {joint.child.name!r}")
        joint_name = joint.name or f"{name}_joint"
        if joint_name in self._joint_by_name:
            raise ModelError(f"skeleton {self.name!r}: joint name {joint_name!r} is already used")
        self._check_dof_names(joint, joint_name)
        if inertia is not None and not isinstance(inertia, Inertia):
            raise ModelError(f"body {name!r}: inertia: expected kido.Inertia, got {type(inertia).__name__}")
        self._structure_changed()
        joint._name = joint_name
        body = _kind(self, name, joint, parent, inertia or Inertia())
        joint._body = body
        body._index = len(self._bodies)
        self._bodies.append(body)
        self._body_by_name[name] = body
        self._joint_by_name[joint_name] = joint
        self._dofs.extend(joint.dofs)
        if parent is not None:
            parent._children.append(body)
        return body

    def _check_dof_names(self, joint: Joint, joint_name: str) -> None:
        taken = {dof.name for dof in self._dofs if dof.joint is not joint}
        for dof in joint.dofs:
            name = dof._name_in(joint_name)
            if name in taken:
                raise ModelError(
                    f"skeleton {self.name!r}: dof name {name!r} of joint {joint_name!r} is already used; give the "
                    "joint another name, or dof_names"
                )
            taken.add(name)

    def _rename_body(self, body: BodyNode, name: str) -> None:
        if not isinstance(name, str) or not name or self._body_by_name.get(name, body) is not body:
            raise ModelError(f"skeleton {self.name!r}: body name {name!r} is empty or already used")
        old = body.name
        del self._body_by_name[old]
        self._drop_selections()
        body._name = name
        self._body_by_name[name] = body
        self._loops = [loop._with_names({old: name}) for loop in self._loops]
        self._loops_changed()

    def _rename_joint(self, joint: Joint, name: str) -> None:
        if not isinstance(name, str) or not name or self._joint_by_name.get(name, joint) is not joint:
            raise ModelError(f"skeleton {self.name!r}: joint name {name!r} is empty or already used")
        self._check_dof_names(joint, name)
        del self._joint_by_name[joint.name]
        rename_followed(self, joint.name, name)
        joint._name = name
        self._joint_by_name[name] = joint

    # Loops -----------------------------------------------------------------------------------------------

    @property
    def loops(self) -> list[LoopJoint]:
        """Joints of its file that close loops, which its tree has no place for (a copy of the list; settable).

        A world that holds the skeleton enforces them, as constraints; outside of worlds nothing does.
        """
        return list(self._loops)

    @loops.setter
    def loops(self, value: Iterable[LoopJoint]) -> None:
        try:
            loops = list(value)
        except TypeError:
            raise ModelError(f"skeleton {self.name!r}: loops: expected a list of LoopJoints, got {value!r}") from None
        for loop in loops:
            if not isinstance(loop, LoopJoint):
                raise ModelError(f"skeleton {self.name!r}: loops: expected LoopJoints, got {loop!r}")
            for name in (loop.parent, loop.child):
                if name is not None:
                    self.body(name)
        self._loops = loops
        self._loops_changed()

    @property
    def loops_enabled(self) -> bool:
        """Whether worlds enforce its `loops`; True by default."""
        return self._loops_enabled

    @loops_enabled.setter
    def loops_enabled(self, value: bool) -> None:
        self._loops_enabled = as_flag(value, f"skeleton {self.name!r}: loops_enabled")
        self._loops_changed()

    def _loops_changed(self) -> None:
        if self._world is not None:
            self._world.constraints_changed()

    # Looking up ------------------------------------------------------------------------------------------

    @property
    def bodies(self) -> list[BodyNode]:
        """All bodies; parents come before their children."""
        return list(self._bodies)

    @property
    def joints(self) -> list[Joint]:
        """The joint above each body, in the bodies' order."""
        return [b.parent_joint for b in self._bodies]

    @property
    def dofs(self) -> list[DegreeOfFreedom]:
        """All coordinates, in the order of the state arrays."""
        return list(self._dofs)

    @property
    def root_bodies(self) -> list[BodyNode]:
        """Bodies that hang on the world."""
        return [b for b in self._bodies if b.parent is None]

    @property
    def num_bodies(self) -> int:
        """Number of bodies."""
        return len(self._bodies)

    def body(self, key: str | int) -> BodyNode:
        """A body by name or index.

        Raises:
            NameLookupError: there is none.
        """
        return self._lookup("body", key, self._body_by_name, self._bodies)

    def joint(self, key: str | int) -> Joint:
        """A joint by name or index of its body.

        Raises:
            NameLookupError: there is none.
        """
        return self._lookup("joint", key, self._joint_by_name, self.joints)

    def nodes(self, node_type: type[N] | None = None) -> list[N]:
        """Nodes of a class (and classes derived from it) on all bodies; without one, all nodes but shapes."""
        if node_type is None:
            return [n for b in self._bodies for n in b._nodes if not isinstance(n, ShapeNode)]  # type: ignore[misc]
        return [node for body in self._bodies for node in body.nodes(node_type)]

    def node(self, key: str, node_type: type[N] = Node) -> N:
        """A node of a class by name; not of the shapes, whose names are unique on their bodies only.

        Raises:
            NameLookupError: there is none.
        """
        if not isinstance(node_type, type):
            raise ModelError(f"skeleton {self.name!r}: expected a class of nodes, got {node_type!r}")
        found = [node for node in self.nodes() if isinstance(node, node_type)]
        return self._lookup(node_type.__name__, key, {node.name: node for node in found}, found)

    def dof(self, key: str | int) -> DegreeOfFreedom:
        """A coordinate by name or index.

        Raises:
            NameLookupError: there is none.
        """
        return self._lookup("dof", key, {d.name: d for d in self._dofs}, self._dofs)

    def _lookup(self, what: str, key: str | int, by_name: dict[str, Any], items: list[Any]) -> Any:
        if isinstance(key, str) and key in by_name:
            return by_name[key]
        if isinstance(key, int | np.integer) and not isinstance(key, bool) and -len(items) <= key < len(items):
            return items[key]
        raise NameLookupError(f"{what} in skeleton {self.name!r}", key, list(by_name))

    # Flags -----------------------------------------------------------------------------------------------

    @property
    def mobile(self) -> bool:
        """Whether a world moves it; an immobile skeleton collides and is not integrated."""
        return self._mobile

    @mobile.setter
    def mobile(self, value: bool) -> None:
        self._mobile = as_flag(value, f"skeleton {self.name!r}: mobile")
        self._structure_changed()

    @property
    def self_collision(self) -> bool:
        """Whether its bodies collide with each other."""
        return self._self_collision

    @self_collision.setter
    def self_collision(self, value: bool) -> None:
        self._self_collision = as_flag(value, f"skeleton {self.name!r}: self_collision")
        self._structure_changed()

    @property
    def adjacent_body_collision(self) -> bool:
        """Whether, with `self_collision`, bodies that a joint connects collide too."""
        return self._adjacent_body_collision

    @adjacent_body_collision.setter
    def adjacent_body_collision(self, value: bool) -> None:
        self._adjacent_body_collision = as_flag(value, f"skeleton {self.name!r}: adjacent_body_collision")
        self._structure_changed()

    # Copies ----------------------------------------------------------------------------------------------

    def clone(self, name: str | None = None) -> Skeleton:
        """An independent copy with the same state, outside any world."""
        twin = copy.deepcopy(self)
        if name is not None:
            twin.name = name
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Skeleton:
        twin = object.__new__(type(self))
        memo[id(self)] = twin
        twin.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return twin

    def __getstate__(self) -> dict[str, Any]:
        d, links, first = self._compiled(), self._links, self._tree.first_dof  # type: ignore[union-attr]
        state = self.__dict__.copy()
        state["_saved"] = [
            (body.index, tuple(getattr(d, f)[first[i] : first[i + 1]].copy() for f in STATE_FIELDS))
            for i, body in enumerate(links.top)  # type: ignore[union-attr]
        ]
        state["_gravity"] = self.gravity
        state["_parents"] = [-1 if b.parent is None else b.parent.index for b in self._bodies]
        for transient in ("_links", "_tree", "_data", "_scratch", "_ready", "_current", "_world"):
            state[transient] = None
        state["_world_version"] = -1
        state["_fresh"] = 0
        state["_results"] = ({}, {}, {}, {})
        state["_counts"] = Counter()
        state["_selections"] = {}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for body in self._bodies:
            body._parent, body._children = None, []
        for body, k in zip(self._bodies, self.__dict__.pop("_parents"), strict=True):
            if k >= 0:
                body._parent = self._bodies[k]
                body._parent._children.append(body)
        self._saved = {self._bodies[index]: values for index, values in state["_saved"]}

    def __repr__(self) -> str:
        return f"Skeleton({self.name!r}, {self.num_bodies} bodies, {self.num_dofs} dofs)"
