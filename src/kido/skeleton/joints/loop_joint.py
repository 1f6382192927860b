"""Joints that a tree has no place for: those that close loops."""

from __future__ import annotations

from kido.attributes import dataclass
from kido.skeleton.joints.joint import Joint

__all__ = ["LoopJoint"]


@dataclass(frozen=True, eq=False)
class LoopJoint:
    """A joint of a model file between two bodies that the skeleton's tree connects already.

    A world that holds its skeleton enforces it, as a constraint (`Skeleton.loops_enabled`).

    Attributes:
        parent, child: names of the bodies; None for the world.
        joint: its type, axes, limits and passive forces, and its frames: `transform_from_parent` and
            `transform_from_child` are its poses in the two bodies, which coincide where the loop is closed. It is part
            of no skeleton.
    """

    parent: str | None
    child: str | None
    joint: Joint

    @property
    def name(self) -> str:
        """Name of the joint."""
        return self.joint.name

    def __repr__(self) -> str:
        between = f"{self.parent or 'the world'!r} to {self.child or 'the world'!r}"
        return f"LoopJoint({type(self.joint).__name__} {self.name!r}, {between})"


def with_names(loop: LoopJoint, new: dict[str, str]) -> LoopJoint:
    """The same after bodies were renamed; itself if that does not concern it."""
    if loop.parent not in new and loop.child not in new:
        return loop
    parent, child = (None if name is None else new.get(name, name) for name in (loop.parent, loop.child))
    return LoopJoint(parent, child, loop.joint)
