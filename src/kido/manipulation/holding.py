"""Grasps: objects taken hold of, updated, passed on and let go, each as one transaction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.arrays import ReadOnlyArray, read_only_copy
from kido.attributes import FixedAttributes
from kido.collision import CollisionOption
from kido.constraints import RevoluteJointConstraint, WeldJointConstraint
from kido.errors import ModelError, NameLookupError
from kido.joints import JointKind
from kido.manipulation.scene import CollisionScene, rigid_group
from kido.math.lie import exp_pose, log_pose
from kido.math.transform import as_flag, as_numbers, as_transform, as_unit_vector, inverse_transform
from kido.skeleton import BodyNode, Inertia, Joint, Skeleton, WeldJoint
from kido.skeleton.naming import free_name
from kido.skeleton.nodes.node import FrameNode

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
        self._home: _Home | None = None  # of what hangs on the hand
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


class _Home:
    """Where an object came from, and how it hung there."""

    def __init__(self, body: BodyNode):
        self.skeleton: Skeleton = body.skeleton
        self.root: BodyNode = _root(body)
        self.names = [(thing, thing.name) for b in _tree(self.root) for thing in (b, b.parent_joint)]
        self.joint: Joint = self.root.parent_joint

    def give_back(self, body: BodyNode) -> None:
        body.move_to(self.skeleton, self.joint, keep_pose=True)
        if self.root is not body:
            self.skeleton.reroot(self.root)
        for thing, name in self.names:
            if thing.name != name and getattr(thing, "skeleton", None) is self.skeleton:
                thing.name = name


class Grasps(FixedAttributes):
    """What the hands of a world's robots hold.

    An object whose root is free comes to hang on the hand by a weld, so that the robot's kinematics and dynamics have
    it; velocities change by the inelastic impulse that this takes, and momentum is kept. What hangs elsewhere too (a
    door on its hinges, or what another hand holds) is held by a constraint that closes the loop. Let go, an object goes
    on as it moves, in the skeleton that it came from, with the joint and the names that it had.

    Taking hold gives the pairs of the held body, with what is welded to it, and the hand's bodies the reason
    "grasp: NAME"; letting go takes that reason off, and no other: the world's filter is then what it was. A call that
    fails changes nothing.

    Args:
        scene: of the world.
    """

    def __init__(self, scene: CollisionScene):
        if not isinstance(scene, CollisionScene):
            raise ModelError(f"grasps: expected a CollisionScene, got {scene!r}")
        self._scene = scene
        self._held: dict[str, Grasp] = {}

    @property
    def scene(self) -> CollisionScene:
        """The scene."""
        return self._scene

    @property
    def held(self) -> tuple[Grasp, ...]:
        """Grasps that hold, in the order in which they were made."""
        return tuple(self._held.values())

    def grasp(self, name: str) -> Grasp:
        """One that holds, by name.

        Raises:
            NameLookupError: there is none.
        """
        if name not in self._held:
            raise NameLookupError("grasp that holds", name, list(self._held))
        return self._held[name]

    def holding(self, body: BodyNode) -> tuple[Grasp, ...]:
        """Grasps of an object, by any body of it."""
        return tuple(g for g in self._held.values() if body in g._object)

    # Taking hold -----------------------------------------------------------------------------------------------

    def attach(
        self,
        body: BodyNode | FrameNode,
        hand: BodyNode,
        name: str | None = None,
        *,
        touching: Iterable[BodyNode] | None = None,
        supports: Iterable[BodyNode] = (),
        covariance: ArrayLike | None = None,
        free_axis: ArrayLike | None = None,
        as_loop: bool | None = None,
    ) -> Grasp:
        """Take hold of a body where it is.

        Args:
            body: of an object, or a node on one, such as its handle.
            hand: that holds it.
            name: of the grasp; "HAND: BODY" by default, with a number where it is taken.
            touching: bodies that may touch the held one; by default the hand with all that is welded to it or below it.
            supports: bodies that it rests on, and may touch until `update_supports` finds that it has left them.
            covariance: of its pose in the hand, (6, 6).
            free_axis: unit vector in the axes of the body, or of the handle, about which it may turn in the hand,
                through its origin; the grasp then closes a loop.
            as_loop: close a loop although the object could hang on the hand; None: where it must be.

        Raises:
            ModelError: bodies that are not in the world, an object without mass, a hand that is part of the object or
                holds it already, a name that is taken, a loop where the object could only hang on the hand; or a
                covariance that is none.
        """
        world, held = self._scene.world, body
        body = held.body if isinstance(held, FrameNode) else held
        what = f"attach {getattr(body, 'name', body)!r} to {getattr(hand, 'name', hand)!r}"
        for thing in (body, hand):
            if not isinstance(thing, BodyNode) or thing.skeleton is None or thing.skeleton.host is not world:
                raise ModelError(f"{what}: expected two bodies of world {world.name!r}, got {thing!r}")
        name = free_name(f"{hand.name}: {body.name}", self._held) if name is None else name
        if not isinstance(name, str) or not name or name in self._held:
            raise ModelError(f"{what}: name: expected a text that no grasp has, got {name!r}")
        for grasp in self.holding(body):
            if grasp.hand is hand:
                raise ModelError(f"{what}: it is attached already, by grasp {grasp.name!r}")
        above = self.holding(body)
        tree = list(above[0]._object) if above else _tree(_root(body))
        if hand in tree:
            raise ModelError(f"{what}: the hand is part of the object")
        if not sum(b.inertia.mass for b in tree) > 0.0:
            raise ModelError(f"{what}: object {body.name!r} has no mass")
        loops = bool(above) or not _is_free(body) or free_axis is not None
        if as_loop is not None:
            if not as_flag(as_loop, f"{what}: as_loop") and loops:
                raise ModelError(f"{what}: it is held elsewhere, so that the hand closes a loop")
            loops = bool(as_loop)
        grasp = Grasp(name, hand, body)
        grasp._covariance = checked_covariance(covariance, what)
        allowed = [*rigid_group(hand), *_tree(hand)] if touching is None else list(touching)
        grasp._touching = tuple(dict.fromkeys(b for b in allowed if b not in tree))
        grasp._object, grasp._supports = tuple(tree), list(supports)
        for thing in (*grasp._touching, *grasp._supports):
            if not isinstance(thing, BodyNode) or thing.skeleton is None or thing.skeleton.host is not world:
                raise ModelError(f"{what}: touching, supports: expected bodies of world {world.name!r}, got {thing!r}")
        cluster = [b for b in tree if b in rigid_group(body)]
        if loops:
            self._close(grasp, np.array(held.world_transform), free_axis, what)
        else:
            self._hang(grasp)
        for own in cluster:
            for other in grasp._touching:
                self._scene.filter.add(own, other, f"grasp: {name}")
            for other in grasp._supports:
                self._scene.filter.add(own, other, f"support: {name}")
        self._held[name] = grasp
        return grasp

    @staticmethod
    def _hang(grasp: Grasp) -> None:
        body, home = grasp.body, _Home(grasp.body)
        if home.root is not body:
            home.skeleton.reroot(body)
            home.joint = body.parent_joint
        try:
            found = body.attach(grasp.hand, WeldJoint)
        except BaseException:
            if home.root is not body:
                home.skeleton.reroot(home.root)
            raise
        grasp._home, grasp._energy_lost, grasp._impulse = home, found.energy_lost, np.array(found.impulse)

    def _close(self, grasp: Grasp, X: Array, free_axis: ArrayLike | None, what: str) -> None:
        """Close a loop at a pose in the world."""
        world, origin = self._scene.world, grasp.body.world_transform[:3, 3]
        if free_axis is None:
            made: Any = WeldJointConstraint(grasp.hand, grasp.body, at=X, name=f"grasp: {grasp.name}")
        else:
            axis = X[:3, :3] @ as_unit_vector(free_axis, f"{what}: free_axis")
            made = RevoluteJointConstraint(grasp.hand, grasp.body, at=X[:3, 3], axis=axis, name=f"grasp: {grasp.name}")
        energy, before = world.kinetic_energy, _momentum_about(grasp._object, origin)
        world.add_constraint(made)
        world.close_constraints()
        grasp._constraint, grasp._energy_lost = made, energy - world.kinetic_energy
        grasp._impulse = _momentum_about(grasp._object, origin) - before

    # Letting go ------------------------------------------------------------------------------------------------

    def detach(self, grasp: Grasp | str) -> None:
        """Let go: poses and velocities stay, and with them momentum and energy.

        If another hand holds the object in a loop, it hangs on that hand from now on.

        Raises:
            ModelError, NameLookupError: it does not hold, or the skeleton that the object came from left the world.
        """
        grasp = self._checked(grasp, "detach")
        home = grasp._home
        if home is not None and home.skeleton.host is not self._scene.world:
            raise ModelError(
                f"detach {grasp.name!r}: skeleton {home.skeleton.name!r}, where the object came from, is not in world "
                f"{self._scene.world.name!r}"
            )
        if grasp._constraint is not None:
            self._scene.world.remove_constraint(grasp._constraint)
        elif home is not None:
            home.give_back(grasp.body)
        self._forget(grasp)
        if home is not None:
            others = [g for g in self.holding(grasp.body) if isinstance(g._constraint, WeldJointConstraint)]
            if others and _is_free(others[0].body):
                self._scene.world.remove_constraint(others[0]._constraint)
                others[0]._constraint = None
                self._hang(others[0])

    def _forget(self, grasp: Grasp) -> None:
        cluster = [b for b in grasp._object if b in rigid_group(grasp.body)]
        for own in cluster:
            for others, reason in ((grasp._touching, "grasp"), (grasp._supports, "support")):
                for other in others:
                    if other.skeleton is not None and other.skeleton.host is self._scene.world:
                        self._scene.filter.remove(own, other, f"{reason}: {grasp.name}")
        del self._held[grasp.name]
        grasp._is_held = False

    def regrasp(self, grasp: Grasp | str, hand: BodyNode, name: str | None = None, **options: Any) -> Grasp:
        """Pass an object on: the new hand takes hold of the same body, then the old one lets go.

        Args:
            grasp: that holds.
            hand: the new one.
            name, options: as of `attach`.
        """
        old = self._checked(grasp, "regrasp")
        made = self.attach(old.body, hand, name, **options)
        self.detach(old)
        return made

    # Estimates -------------------------------------------------------------------------------------------------

    def update_pose(
        self, grasp: Grasp | str, pose: Any, covariance: ArrayLike | None = None, in_world: bool = False
    ) -> None:
        """Move a held body in its hand to where an estimate says it is; no new grasp, no impulse.

        With covariances of both, the pose is their mean by information: with d = log(X^-1 X_measured) in the body's
        axes and K = P (P + R)^-1, X exp(K d) and (1 - K) P (1 - K)^T + K R K^T. Without, it is the estimate. The object
        moves with the hand as before, so that its velocities are those of the pose that it has now; loops that other
        hands close with it are taken anew where they are.

        Args:
            grasp: that holds.
            pose: of the held body in the hand, 4x4, or, if `in_world`, in the world.
            covariance: of the estimate (6, 6).
            in_world: see there.

        Raises:
            ModelError: no pose, no covariance; the grasp closes a loop, so that joints elsewhere say where it is.
        """
        grasp = self._checked(grasp, "update_pose")
        what = f"grasp {grasp.name!r}: pose"
        if grasp.closes_loop:
            raise ModelError(f"{what}: it closes a loop, so that joints elsewhere say where the object is")
        X, R = as_transform(pose, what), checked_covariance(covariance, what)
        if as_flag(in_world, f"{what}: in_world"):
            X = inverse_transform(grasp.hand.world_transform) @ X
        P, old = grasp._covariance, np.array(grasp.pose)
        grasp.body.parent_joint.transform_from_parent, grasp._covariance = fused(old, P, X, R)
        for other in self.holding(grasp.body):
            if other.closes_loop:
                c = other.constraint
                c.frame_a = inverse_transform(c.body_a.world_transform) @ c.body_b.world_transform @ c.frame_b

    def update_supports(self, margin: float = 1e-3) -> None:
        """Test held objects against what they rested on again, once they are farther from it than a margin [m]."""
        option = CollisionOption(enable_contact=False, margin=margin)
        for grasp in self._held.values():
            cluster = [b for b in grasp._object if b in rigid_group(grasp.body)]
            for support in list(grasp._supports):
                detector = self._scene.world.collision_detector
                if not detector.create_group(*cluster).collide(detector.create_group(support), option):
                    for own in cluster:
                        self._scene.filter.remove(own, support, f"support: {grasp.name}")
                    grasp._supports.remove(support)

    def payload(self, hand: BodyNode) -> dict[BodyNode, Inertia]:
        """What a hand carries, as controllers' `payload` takes it: of grasps that close loops, the whole object.

        Objects that hang on the hand are part of the robot's model, and are not listed.
        """
        found = [grasp.inertia for grasp in self._held.values() if grasp.hand is hand and grasp.closes_loop]
        return {hand: sum(found[1:], found[0])} if found else {}

    def _checked(self, grasp: Grasp | str, what: str) -> Grasp:
        if isinstance(grasp, str):
            return self.grasp(grasp)
        if not isinstance(grasp, Grasp) or self._held.get(grasp.name) is not grasp:
            raise ModelError(f"{what}: expected a grasp that holds, got {grasp!r}; there are {list(self._held)}")
        return grasp

    def __repr__(self) -> str:
        return f"Grasps({list(self._held.values())!r})"


def fused(X: Array, P: Array | None, Z: Array, R: Array | None) -> tuple[Array, Array | None]:
    """The mean of two poses by information, and its covariance; see `Grasps.update_pose`."""
    if P is None or R is None:
        return Z, P if R is None else R
    K = np.linalg.solve(P + R, P).T
    rest = np.eye(6) - K
    return X @ exp_pose(K @ log_pose(inverse_transform(X) @ Z)), rest @ P @ rest.T + K @ R @ K.T


def checked_covariance(value: ArrayLike | None, what: str) -> Array | None:
    """A symmetric positive definite matrix (6, 6), or None.

    Raises:
        ModelError: another thing.
    """
    if value is None:
        return None
    try:
        P = np.array(as_numbers(value))
    except (TypeError, ValueError):
        P = np.zeros(0)
    scale = np.abs(P).max(initial=0.0)
    if P.shape != (6, 6) or not np.isfinite(P).all() or np.abs(P - P.T).max() > 1e-9 * scale:
        raise ModelError(f"{what}: covariance: expected a symmetric (6, 6) matrix, got {value!r}")
    P = 0.5 * (P + P.T)
    if np.linalg.eigvalsh(P)[0] <= 0.0:
        raise ModelError(f"{what}: covariance: expected a positive definite matrix, got {value!r}")
    return P


def _root(body: BodyNode) -> BodyNode:
    while body.parent is not None:
        body = body.parent
    return body


def _tree(body: BodyNode) -> list[BodyNode]:
    return [body, *(b for child in body.children for b in _tree(child))]


def _is_free(body: BodyNode) -> bool:
    """Whether an object can hang on a hand: its root is free, and all of its skeleton."""
    skeleton = body.skeleton
    joint = _root(body).parent_joint
    return joint.kind == JointKind.FREE and len(skeleton.root_bodies) == 1 and skeleton.mobile


def _momentum_about(bodies: Iterable[BodyNode], point: Array) -> Array:
    """[angular; linear] momentum of bodies about a point, world axes."""
    total = np.zeros(6)
    for body in bodies:
        V, X, inertia = body.spatial_velocity, body.world_transform, body.inertia
        R, c = X[:3, :3], X[:3, :3] @ inertia.com
        linear = inertia.mass * (V[3:] + np.cross(V[:3], c))
        total[:3] += R @ inertia.moment @ R.T @ V[:3] + np.cross(X[:3, 3] + c - point, linear)
        total[3:] += linear
    return total
