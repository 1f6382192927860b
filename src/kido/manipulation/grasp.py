"""A hold of a hand on an object, and where the object came from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.arrays import ReadOnlyArray, read_only_copy
from kido.attributes import FixedAttributes
from kido.joints import JointKind
from kido.math.transform import inverse_transform
from kido.skeleton import BodyNode, Inertia, Joint, Skeleton

Array = NDArray[np.float64]


class Grasp(FixedAttributes):
    """A hold of a hand on a body of an object; `Grasps` makes them.

    Attributes are set by it alone.
    """

    def __init__(self, name: str, hand: BodyNode, body: BodyNode):
        self._name, self._hand, self._body = name, hand, body
        self._covariance: Array | None = None
        self._touching: tuple[BodyNode, ...] = ()
        self._object: tuple[BodyNode, ...] = ()
        self._supports: list[BodyNode] = []
        self._home: Home | None = None  # of what hangs on the hand
        self._constraint: Any = None  # that closes a loop
        self._energy_lost, self._impulse = 0.0, np.zeros(6)
        self._is_held = True

    name = property(lambda self: self._name, doc="Of the grasp, unique among those that hold.")
    hand = property(lambda self: self._hand, doc="The body that holds.")
    body = property(lambda self: self._body, doc="The body that is held.")
    is_held = property(lambda self: self._is_held, doc="Whether it holds still.")
    touching = property(lambda self: self._touching, doc="Bodies that may touch the object while it is held.")
    supports = property(lambda self: tuple(self._supports), doc="Bodies that the object has not left yet.")
    constraint = property(
        lambda self: self._constraint, doc="What closes the loop; None: the object hangs on the hand."
    )
    energy_lost = property(lambda self: self._energy_lost, doc="Kinetic energy that taking hold took [J].")
    impulse = property(
        lambda self: read_only_copy(ReadOnlyArray, self._impulse),
        doc="[angular; linear] impulse (6,) that it gave the object about the held body's origin, world axes.",
    )

    @property
    def closes_loop(self) -> bool:
        """Whether the object hangs elsewhere too, so that the hand closes a loop."""
        return self._constraint is not None

    @property
    def pose(self) -> Array:
        """The held body in the hand, 4x4: as the joint or the loop has it."""
        if self._constraint is not None:
            X = np.array(self._constraint.frame_a) @ inverse_transform(self._constraint.frame_b)
        else:
            X = self._body.parent_joint.transform_from_parent
        return read_only_copy(ReadOnlyArray, np.array(X))

    @property
    def covariance(self) -> Array | None:
        """Of `pose` (6, 6): of twists [angular; linear] in the held body's axes; None: not known."""
        return None if self._covariance is None else read_only_copy(ReadOnlyArray, self._covariance)

    @property
    def inertia(self) -> Inertia:
        """What the hand carries, all that hangs on the held body as it is now, in the hand's axes."""
        total = None
        for body in self._object:
            X = inverse_transform(self._hand.world_transform) @ body.world_transform
            share = body.inertia.transformed(X)
            total = share if total is None else total + share
        assert total is not None
        return total

    def __repr__(self) -> str:
        how = "in a loop with" if self.closes_loop else "by"
        return f"Grasp({self.name!r}, {self.body.name!r} {how if self._is_held else 'no more by'} {self.hand.name!r})"


class Home:
    """Where an object came from, and how it hung there."""

    def __init__(self, body: BodyNode):
        self.skeleton: Skeleton = body.skeleton
        self.root: BodyNode = root_of(body)
        self.names = [(thing, thing.name) for b in tree_of(self.root) for thing in (b, b.parent_joint)]
        self.joint: Joint = self.root.parent_joint

    def give_back(self, body: BodyNode) -> None:
        body.move_to(self.skeleton, self.joint, keep_pose=True)
        if self.root is not body:
            self.skeleton.reroot(self.root)
        for thing, name in self.names:
            if thing.name != name and getattr(thing, "skeleton", None) is self.skeleton:
                thing.name = name


def root_of(body: BodyNode) -> BodyNode:
    """The root of a body's tree."""
    while body.parent is not None:
        body = body.parent
    return body


def is_solid(body: BodyNode) -> bool:
    """Whether it has a shape that collides."""
    return any(shape.collision for shape in body.shapes)


def tree_of(body: BodyNode) -> list[BodyNode]:
    """A body and all below it."""
    return [body, *(b for child in body.children for b in tree_of(child))]


def is_free(body: BodyNode) -> bool:
    """Whether an object can hang on a hand: its root is free, and all of its skeleton."""
    skeleton = body.skeleton
    joint = root_of(body).parent_joint
    return joint.kind == JointKind.FREE and len(skeleton.root_bodies) == 1 and skeleton.mobile


def momentum_about(bodies: Iterable[BodyNode], point: Array) -> Array:
    """[angular; linear] momentum of bodies about a point, world axes."""
    total = np.zeros(6)
    for body in bodies:
        V, X, inertia = body.spatial_velocity, body.world_transform, body.inertia
        R, c = X[:3, :3], X[:3, :3] @ inertia.com
        linear = inertia.mass * (V[3:] + np.cross(V[:3], c))
        total[:3] += R @ inertia.moment @ R.T @ V[:3] + np.cross(X[:3, 3] + c - point, linear)
        total[3:] += linear
    return total
