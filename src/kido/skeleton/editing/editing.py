"""Editing of skeletons: bodies are moved, copied, split off and removed, with all below them and their states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kido.attributes import named_arguments
from kido.errors import KidoError, ModelError
from kido.math.transform import as_flag
from kido.skeleton.editing.attachment import Attachment, attach, close_loop
from kido.skeleton.editing.equivalent import merge_fixed_joints, reroot
from kido.skeleton.editing.transplant import (
    change_of_joint,
    check_mimics,
    joint_to_use,
    motion_to_keep,
    subtree,
    transplant,
)
from kido.skeleton.host import edits
from kido.skeleton.inertia import Inertia
from kido.skeleton.joints.joint import Joint, free_joint_name, set_mimics
from kido.skeleton.joints.types import FreeJoint, WeldJoint
from kido.skeleton.naming import free_name
from kido.turns import in_turn

if TYPE_CHECKING:
    from kido.skeleton.body_node import BodyNode
    from kido.skeleton.skeleton import Skeleton


class BodyEditing:
    """Editing from a body on: what happens to it happens to all below it.

    All that belongs to a body travels with it: joints and their properties, positions, velocities, accelerations
    and forces, inertias, shapes, nodes, aspects and external forces. Names that are taken at the destination get a
    number in brackets: "hand" becomes "hand(1)". Bodies that were moved or copied come last in their skeleton,
    in their old order. Skeletons may be in worlds; a world's collision filters forget bodies that leave it. A call that
    fails changes nothing.

    The joint above the body is, by the argument `joint`,

    - None or the class it has: the present one, its properties changed as given by name;
    - another class of joints: a new one with the present one's name and frames, and the properties given; its state
      is its initial state, zero by default;
    - a `Joint` that is not in use: that one.

    With `keep_pose`, the body stays where it is in the world. A free joint's positions and velocities are set
    so, and then the body's velocity is kept as well; with any other joint it is `transform_from_parent` that is
    changed.
    """

    @edits
    @named_arguments
    def move_to(
        self: Any,
        new_parent: BodyNode | Skeleton,
        joint: Joint | type[Joint] | None = None,
        keep_pose: bool = False,
        **properties: Any,
    ) -> Joint:
        """Hang the body on another body, of this or another skeleton, or on the world in a skeleton.

        Args:
            new_parent: a body; or a skeleton, in which the body becomes a root.
            joint, properties, keep_pose: see the class.

        Returns:
            The joint above the body.

        Raises:
            ModelError: the new parent is the body itself or below it; a joint would be parted from one that it
                follows; the joint is in use or a property of it is wrong.
        """
        target, parent = _destination(self, new_parent)
        what = f"move body {self.name!r}"
        if parent is not None and parent in subtree(self):
            raise ModelError(f"cannot {what} under {parent.name!r}, which is the body itself or below it")
        change = change_of_joint(self, joint, properties)
        if target is not self.skeleton:
            check_mimics(subtree(self), what)
        keep = motion_to_keep(self, parent) if as_flag(keep_pose, f"{what}: keep_pose") else None
        with target.turn.sole():
            transplant(self, target, parent, change, keep)
        return self.parent_joint

    @named_arguments
    def split(
        self: Any,
        name: str,
        joint: Joint | type[Joint] | None = None,
        keep_pose: bool = False,
        **properties: Any,
    ) -> Skeleton:
        """Make the body the root of a new skeleton, which is in no world.

        Args:
            name: of the new skeleton; its gravity and flags are those of the old one.
            joint, properties, keep_pose: see the class. With `joint=FreeJoint, keep_pose=True` the new skeleton goes
                on as it moved.

        Raises:
            ModelError: as `move_to`.
        """
        target = _empty_like(self.skeleton, name)
        self.move_to(target, joint, keep_pose, **properties)
        return target

    def remove(self: Any) -> Skeleton:
        """Take the body out of its skeleton.

        Returns:
            A skeleton of its own with the removed bodies, called after the body; drop it, or use what is in it.

        Raises:
            ModelError: a joint that stays follows one that would be removed.
        """
        return self.split(self.name)

    @edits
    @named_arguments
    def change_parent_joint_type(
        self: Any,
        joint: Joint | type[Joint],
        keep_pose: bool = False,
        **properties: Any,
    ) -> Joint:
        """Put another joint above the body.

        Args:
            joint, properties, keep_pose: see the class.

        Returns:
            The new joint.

        Raises:
            ModelError: the joint is in use or a property of it is wrong.
        """
        change = change_of_joint(self, joint, properties)
        keeps = as_flag(keep_pose, f"body {self.name!r}: keep_pose")
        keep = motion_to_keep(self, self.parent) if keeps else None
        transplant(self, self.skeleton, self.parent, change, keep, in_place=True)
        return self.parent_joint

    @named_arguments
    def detach(self: Any, name: str | None = None) -> Joint:
        """Let go of the body, with all below it: it hangs on the world by a free joint, and goes on as it moves.

        Poses and velocities of all bodies stay, and with them momentum, kinetic and gravitational energy; the spring of
        the joint that is gone takes its energy with it.

        Args:
            name: of a new skeleton for it, in no world; None: it becomes a root of its own skeleton.

        Returns:
            The free joint, whose frames are those of the world and the body.

        Raises:
            ModelError: a joint follows the one that would be gone, or would be parted from one that it follows.
        """
        frames = {"transform_from_parent": None, "transform_from_child": None}
        if name is not None:
            self.split(name, FreeJoint, keep_pose=True, **frames)
        else:
            self.move_to(self.skeleton, FreeJoint, keep_pose=True, **frames)
        return self.parent_joint

    @edits
    @named_arguments
    def attach(
        self: Any,
        parent: BodyNode | Skeleton,
        joint: Joint | type[Joint] = WeldJoint,
        as_loop: bool = False,
        **properties: Any,
    ) -> Attachment:
        """Take hold of the body where it is, while it moves: by a joint, and by the inelastic impulse that this takes.

        All bodies keep their poses. What the joint does not allow of their velocities is lost: of all velocities that
        the new tree allows, u+ is the one nearest to those before, in kinetic energy,

            M u+ = sum J^T M_b V_b,    energy lost = (V - V+)^T M (V - V+) / 2

        so that momentum is kept if the world carries none of the impulse. Prescribed coordinates keep their velocities.
        To do it with the body that moves an arm's hand, say: detach, attach, detach again.

        Args:
            parent: the body that it is to hang on, or a skeleton: the world there. The joint above the body is gone.
            joint: a class of joints, or a joint that is not in use; its `transform_from_parent` is set so that the body
                stays, at its initial positions.
            as_loop: keep the joint above the body, and close a loop by the new one (`Skeleton.loops`), which worlds
                enforce. The parent may then be below the body.
            properties: of the class of joints.

        Returns:
            The new joint or loop, the energy that was lost and the impulse.

        Raises:
            ModelError: the parent is the body itself or below it, and no loop was asked for; a loop with another
                skeleton, or by a joint that closes none; as `move_to`.
        """
        target, above = _destination(self, parent)
        if not as_flag(as_loop, f"attach body {self.name!r}: as_loop"):
            with target.turn.sole():
                return attach(self, target, above, joint, properties)
        if target is not self.skeleton:
            raise ModelError(
                f"cannot attach body {self.name!r} as a loop: {parent!r} is not part of skeleton "
                f"{self.skeleton.name!r}; without as_loop the body moves there"
            )
        return close_loop(self, above, joint, properties)

    @edits
    @named_arguments
    def copy_to(
        self: Any,
        new_parent: BodyNode | Skeleton,
        joint: Joint | type[Joint] | None = None,
        keep_pose: bool = False,
        recursive: bool = True,
        **properties: Any,
    ) -> BodyNode:
        """Hang a copy of the body on a body, or on the world in a skeleton. See `move_to`.

        The new parent may be below the body. The state is copied too; collision filters are not.

        Args:
            new_parent, joint, properties, keep_pose: as for `move_to`.
            recursive: whether all below the body is copied with it.

        Returns:
            The copy.
        """
        target, parent = _destination(self, new_parent)
        recursive = as_flag(recursive, f"body {self.name!r}: recursive")
        keep_pose = as_flag(keep_pose, f"body {self.name!r}: keep_pose")
        if isinstance(joint, Joint) and joint is self.parent_joint:
            joint = None
        change_of_joint(self, joint, properties)  # refuses before anything is copied
        check_mimics(subtree(self) if recursive else [self], f"copy body {self.name!r}", copied=True)
        keep = motion_to_keep(self, parent) if keep_pose else None
        twin = self.skeleton.clone().parts.bodies[self.index]
        if not recursive:
            for other in twin.skeleton.parts.bodies:  # none of the others is kept
                if other is not twin:
                    set_mimics(other.parent_joint, [None] * other.parent_joint.num_dofs)
            for child in twin.children:
                child.remove()
        with target.turn.sole():
            transplant(twin, target, parent, change_of_joint(twin, joint, properties), keep)
        return twin

    @named_arguments
    def copy_as(
        self: Any,
        name: str,
        joint: Joint | type[Joint] | None = None,
        keep_pose: bool = False,
        recursive: bool = True,
        **properties: Any,
    ) -> Skeleton:
        """A new skeleton, in no world, whose root is a copy of the body. See `split` and `copy_to`."""
        target = _empty_like(self.skeleton, name)
        self.copy_to(target, joint, keep_pose, recursive, **properties)
        return target

    @named_arguments
    def create_child(
        self: Any,
        joint: Joint | type[Joint] = FreeJoint,
        name: str | None = None,
        inertia: Inertia | None = None,
        **properties: Any,
    ) -> tuple[Joint, BodyNode]:
        """Add a joint and a body below this one. See `Skeleton.create_joint_and_body_pair`."""
        return self.skeleton.create_joint_and_body_pair(joint, self, name, inertia, **properties)


def _destination(body: BodyNode, new_parent: BodyNode | Skeleton) -> tuple[Skeleton, BodyNode | None]:
    from kido.skeleton.body_node import BodyNode
    from kido.skeleton.skeleton import Skeleton

    if isinstance(new_parent, BodyNode):
        return new_parent.skeleton, new_parent
    if isinstance(new_parent, Skeleton):
        return new_parent, None
    raise ModelError(f"body {body.name!r}: new parent: expected a body or a skeleton, got {new_parent!r}")


def _empty_like(skeleton: Skeleton, name: str) -> Skeleton:
    if not isinstance(name, str) or not name:
        raise ModelError(f"skeleton name: expected a text that is not empty, got {name!r}")
    from kido.skeleton.skeleton import Skeleton

    twin = Skeleton(name)
    twin.gravity = skeleton.gravity
    twin.mobile = skeleton.mobile
    twin.self_collision = skeleton.self_collision
    twin.adjacent_body_collision = skeleton.adjacent_body_collision
    return twin


class SkeletonEditing:
    """Creation of pairs of a joint and a body; merging of welded bodies."""

    @in_turn
    @named_arguments
    def create_joint_and_body_pair(
        self: Any,
        joint: Joint | type[Joint] = FreeJoint,
        parent: BodyNode | str | None = None,
        name: str | None = None,
        inertia: Inertia | None = None,
        **properties: Any,
    ) -> tuple[Joint, BodyNode]:
        """Add a joint and the body it moves; names that are taken get a number in brackets.

        Args:
            joint: a class of joints, or a joint that is not in use.
            parent: a body of this skeleton or its name; None for the world.
            name: of the body; "body" by default. A joint without a name is called after it.
            inertia: by default one kilogram and one kilogram square metre about every axis, as DART's.
            **properties: of the class of joints; its name as `joint_name`.

        Returns:
            The joint and the body.

        Raises:
            ModelError: as `add_body`; properties given for a joint that is made already.
        """
        what = f"skeleton {self.name!r}: new joint"
        options = dict(properties)
        first = [options.pop("joint_name", None)] if isinstance(joint, type) else []
        joint = joint_to_use(joint, options, what, *first)
        if not isinstance(name, str | None):
            raise ModelError(f"skeleton {self.name!r}: new body: name: expected a text, got {name!r}")
        body_name = free_name(name or "body", self.parts.body_by_name)
        inertia = Inertia.from_diagonal(1.0, (1.0, 1.0, 1.0)) if inertia is None else inertia
        given = joint.name
        wanted, dofs = given or f"{body_name}_joint", {dof.name for dof in self.parts.dofs}
        joint.name = free_joint_name(joint, wanted, self.parts.joint_by_name, dofs)
        try:
            return joint, self.add_body(body_name, joint, parent, inertia)
        except KidoError:
            joint.name = given
            raise

    @in_turn
    @named_arguments
    def reroot(self: Any, body: BodyNode | str | int, keep_base: bool = False) -> None:
        """Make a body the root of its tree: the joints between it and the old root are turned round.

        All bodies keep their poses, velocities and accelerations, and the dynamics are the same in other coordinates. A
        joint between two bodies keeps its name, and for most types the numbers of its positions, velocities and forces,
        its limits, springs and actuators; the coordinates of universal and compound joints change places, Euler, planar
        and translational joints become compound ones, and of ball and free joints the numbers are those of the inverse
        motion. The free joint of the old root moves to the new one, and joint forces are those that have the same
        power. Loops, nodes, external forces and mimics stay. Bodies of the tree are numbered anew.

        Args:
            body: of this skeleton, its name or its index; a root stays one.
            keep_base: if the tree hangs on the world by another joint than a free one, make that joint a loop
                (`loops`), and give the body a free joint.

        Raises:
            ModelError: there is another joint than a free one and `keep_base` is not said; a free joint on the way, or
                the base, has springs, damping, rotors or limits; a ball joint on the way has some that differ by axis;
                the free base has other actuators than FORCE or PASSIVE, or limits, or another joint follows it.
            NameLookupError: there is no such body.
        """
        found = self.body(body) if isinstance(body, str | int) else body
        if getattr(found, "skeleton", None) is not self:
            raise ModelError(f"skeleton {self.name!r}: reroot: expected a body of it, got {body!r}")
        reroot(self, found, keep_base)

    @in_turn
    def merge_fixed_joints(self: Any) -> dict[str, str]:
        """Make bodies that are welded to another body part of it.

        The carrying body takes over inertia, shapes, nodes, external forces and the joints below, each in its place:
        poses, masses, momenta and the dynamics of all coordinates stay as they are. A shape whose name the carrying
        body has gets a number in brackets. A welded body stays if something would be lost: if gravity acts on it
        and not on the carrying one (or the other way round), if it collides and the carrying one does not, if a
        collision filter names it, if it or its joint carries aspects, or if a frame that is no node hangs on it.
        Welds to the world stay.

        Results are the same and no faster: welded bodies move as one link anyway. It makes a smaller model to look
        at, and fewer bodies to ask for.

        Returns:
            Name of each body that is gone -> name of the body that it is part of now.
        """
        return merge_fixed_joints(self)
