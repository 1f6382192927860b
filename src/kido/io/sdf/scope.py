"""Named frames of a model or world, and their poses.

A scope holds what has a name in one <model> or <world>: links, joints, frames and nested models. Each has a pose
relative to another of the same scope, or of a nested one (``arm::hand``); chains end at the scope's own frame,
``__model__`` or ``world``. Names never reach out of a scope.

Source: sdformat.org, "Pose frame semantics" (proposal of 1.7 and 1.8).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kido.errors import FileFormatError
from kido.io.fields import WORLD, listed
from kido.io.xml import Node
from kido.math.transform import inverse_transform

__all__ = ["MODEL", "Entry", "Scope"]

MODEL = "__model__"
MAX_NAMES = 20


@dataclass
class Entry:
    """Something with a name and a pose.

    `kind` is link, joint, frame or model; `pose` (4, 4) is relative to the frame called `relative_to`; a joint or
    frame moves with what is called `attached_to`; `scope` is that of a nested model.
    """

    node: Node
    kind: str
    pose: np.ndarray
    relative_to: str
    attached_to: str = ""
    scope: Scope | None = None


@dataclass
class Scope:
    """Frames of one <model> or <world>; `origin` is the name of its own frame."""

    node: Node
    origin: str = MODEL
    canonical: str = ""
    placement: str = ""
    entries: dict[str, Entry] = field(default_factory=dict)
    _poses: dict[str, np.ndarray] = field(default_factory=dict)

    def add(self, name: str, entry: Entry) -> None:
        """Add a name; one that is taken or reserved is refused."""
        if name in (MODEL, WORLD) or name in self.entries:
            reason = f"is taken by line {self.entries[name].node.line}" if name in self.entries else "is reserved"
            raise entry.node.error(f"the name '{name}' of {entry.node.describe()} {reason}")
        self.entries[name] = entry

    def pose(self, name: str, node: Node) -> np.ndarray:
        """Pose (4, 4) of a frame in the scope's own; `node` is the element that names it.

        Raises FileFormatError for names that do not exist and for poses that go round in a circle.
        """
        steps: dict[str, np.ndarray] = {}
        current = name
        while current != self.origin and current not in self._poses:
            if current in steps:
                raise self._circle("poses are relative to each other", list(steps), current, node)
            steps[current], current, node = self._step(current, node)
        pose = np.eye(4) if current == self.origin else self._poses[current]
        for step, local in reversed(steps.items()):
            pose = self._poses[step] = pose @ local
        return pose.copy()

    def _step(self, name: str, node: Node) -> tuple[np.ndarray, str, Node]:
        """Pose of a name relative to another one, that one, and the element that says so."""
        first, entry, rest = self._find(name, node)
        if rest and entry.scope is not None:
            return entry.scope.pose(rest, node), first, node
        if entry.scope is None or not entry.scope.placement:
            return entry.pose, entry.relative_to, entry.node
        placement = entry.scope.pose(entry.scope.placement, entry.node)
        return entry.pose @ inverse_transform(placement), entry.relative_to, entry.node

    def link(self, name: str, node: Node) -> str:
        """Scoped name of the link that a frame moves with; ``world`` if that is what it names."""
        seen: list[str] = []
        current = name
        while True:
            if current == WORLD and WORLD not in self.entries:
                return WORLD
            if current in seen:
                raise self._circle("frames are attached to each other", seen, current, node)
            seen.append(current)
            if current == self.origin:
                current = self._canonical_link(node)
                continue
            first, entry, rest = self._find(current, node)
            node = entry.node
            if entry.scope is not None:
                return f"{first}::{entry.scope.link(rest or MODEL, node)}"
            if entry.kind == "link":
                return current
            current = entry.attached_to

    def _canonical_link(self, node: Node) -> str:
        if self.origin == WORLD:
            return WORLD
        if self.canonical:
            return self.canonical
        for kind in ("link", "model"):
            for name, entry in self.entries.items():
                if entry.kind == kind:
                    return name
        raise node.error(f"{self.node.describe()} has no link")

    def _find(self, name: str, node: Node) -> tuple[str, Entry, str]:
        """The entry a scoped name starts with, and what is left of the name."""
        entry = self.entries.get(name)
        if entry is not None:
            return name, entry, ""
        parts = name.split("::")
        for count in range(len(parts) - 1, 0, -1):
            first = "::".join(parts[:count])
            entry = self.entries.get(first)
            if entry is not None and entry.scope is not None:
                return first, entry, "::".join(parts[count:])
        known = listed([self.origin, *self.entries], MAX_NAMES)
        raise node.error(
            f"{node.describe()} names '{name}', which is no frame of {self.node.describe()}; expected one of: {known}"
        )

    def _circle(self, what: str, names: list[str], again: str, node: Node) -> FileFormatError:
        circle = [*names[names.index(again) :], again]
        return node.error(f"{what} in a circle: {' -> '.join(repr(name) for name in circle[:MAX_NAMES])}")
