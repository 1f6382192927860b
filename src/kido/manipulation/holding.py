"""Grasps: objects taken hold of, updated, passed on and let go, each as one transaction."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes
from kido.collision import CollisionOption
from kido.constraints import RevoluteJointConstraint, WeldJointConstraint
from kido.errors import ModelError, NameLookupError
from kido.ik import IkSolver
from kido.manipulation.fusion import checked_covariance, fused
from kido.manipulation.grasp import Grasp, Home, is_free, is_solid, momentum_about, root_of, tree_of
from kido.manipulation.planned_scene import OWN_BODIES
from kido.manipulation.scene import CollisionScene, rigid_group
from kido.math.transform import as_flag, as_transform, as_unit_vector, inverse_transform
from kido.skeleton import Attachment, BodyNode, Inertia, Skeleton, WeldJoint
from kido.skeleton.naming import free_name
from kido.skeleton.nodes.node import FrameNode

Array = NDArray[np.float64]


class Grasps(FixedAttributes):
    """What the hands of a world's robots hold.

    An object whose root is free comes to hang on the hand by a weld, so that the robot's kinematics and dynamics have
    it; velocities change by the inelastic impulse that this takes, and momentum is kept. What hangs elsewhere too (a
    door on its hinges, or what another hand holds) is held by a constraint that closes the loop. Let go, an object goes
    on as it moves, in the skeleton that it came from, with the joint and the names that it had.

    Taking hold gives the pairs of the held body, with what is welded to it, and the hand's bodies the reason
    "grasp: NAME"; letting go takes that reason off, and no other: the world's filter is then what it was. A robot
    that is not tested against itself is tested against what hangs on it all the same: meanwhile its `self_collision` is
    on, and its own pairs have the reason "own bodies, not tested". A call that fails changes nothing.

    Args:
        scene: of the world.
    """

    def __init__(self, scene: CollisionScene):
        if not isinstance(scene, CollisionScene):
            raise ModelError(f"grasps: expected a CollisionScene, got {scene!r}")
        self._scene = scene
        scene.know(self)
        self._held: dict[str, Grasp] = {}
        self._opened: list[Skeleton] = []  # robots that are tested against themselves only for what they hold

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
            touching: bodies that may touch the held one; by default those with shapes of the hand, with all that is
                welded to it or below it.
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
        tree = list(above[0]._object) if above else tree_of(root_of(body))
        if hand in tree:
            raise ModelError(f"{what}: the hand is part of the object")
        if not sum(b.inertia.mass for b in tree) > 0.0:
            raise ModelError(f"{what}: object {body.name!r} has no mass")
        loops = bool(above) or not is_free(body) or free_axis is not None
        if as_loop is not None:
            if not as_flag(as_loop, f"{what}: as_loop") and loops:
                raise ModelError(f"{what}: it is held elsewhere, so that the hand closes a loop")
            loops = bool(as_loop)
        grasp = Grasp(name, hand, body)
        grasp._covariance = checked_covariance(covariance, what)
        for given, of_what in ((touching, "touching"), (supports, "supports")):
            if isinstance(given, str) or not (isinstance(given, Iterable) or (given is None and of_what == "touching")):
                raise ModelError(f"{what}: {of_what}: expected bodies of world {world.name!r}, got {given!r}")
        allowed = self._near(hand) if touching is None else list(touching)
        grasp._touching = tuple(dict.fromkeys(b for b in allowed if b not in tree))
        grasp._object, grasp._supports = tuple(tree), list(supports)
        for thing in (*grasp._touching, *grasp._supports):
            if not isinstance(thing, BodyNode) or thing.skeleton is None or thing.skeleton.host is not world:
                raise ModelError(f"{what}: touching, supports: expected bodies of world {world.name!r}, got {thing!r}")
        cluster = [b for b in tree if b in rigid_group(body) and is_solid(b)]
        if loops:
            self._close(grasp, np.array(held.world_transform), free_axis, what)
        else:
            found = self._hang(grasp)
            grasp._energy_lost, grasp._impulse = found.energy_lost, np.array(found.impulse)
        for own in cluster:
            for other in grasp._touching:
                self._scene.filter.add(own, other, f"grasp: {name}")
            for other in grasp._supports:
                self._scene.filter.add(own, other, f"support: {name}")
        self._held[name] = grasp
        return grasp

    def _near(self, hand: BodyNode) -> list[BodyNode]:
        """Bodies with shapes that are welded to a hand, or below these, but for what is held."""
        held = {b for grasp in self._held.values() for b in grasp._object}
        near = {b for own in rigid_group(hand) for b in tree_of(own) if is_solid(b) and b not in held}
        return sorted(near, key=lambda b: b.index)

    def _open(self, robot: Skeleton) -> None:
        """What hangs on a robot is tested against it, also where its own bodies are not against each other."""
        if not robot.self_collision:
            for a, b in itertools.combinations(filter(is_solid, robot.bodies), 2):
                if b not in rigid_group(a):
                    self._scene.filter.add(a, b, OWN_BODIES)
            robot.self_collision = True
            self._opened.append(robot)

    def keep_tested(self, robot: Skeleton) -> None:
        """Somebody else has a robot tested against itself from now on, whatever hangs on it."""
        if robot in self._opened:
            self._scene.take_off(robot, OWN_BODIES)
            self._opened.remove(robot)

    def _shut(self, robot: Skeleton) -> None:
        """As it was, once nothing hangs on it."""
        if robot in self._opened and all(g._home is None or g.hand.skeleton is not robot for g in self._held.values()):
            self._scene.take_off(robot, OWN_BODIES)
            robot.self_collision = False
            self._opened.remove(robot)

    def _hang(self, grasp: Grasp) -> Attachment:
        body, home = grasp.body, Home(grasp.body)
        self._open(grasp.hand.skeleton)
        try:
            if home.root is not body:
                home.skeleton.reroot(body)
                home.joint = body.parent_joint
            found: Attachment = body.attach(grasp.hand, WeldJoint)
        except BaseException:
            if home.root.parent is not None:
                home.skeleton.reroot(home.root)
            self._shut(grasp.hand.skeleton)
            raise
        grasp._home = home
        return found

    def _close(self, grasp: Grasp, X: Array, free_axis: ArrayLike | None, what: str) -> None:
        """Close a loop at a pose in the world."""
        world, origin = self._scene.world, grasp.body.world_transform[:3, 3]
        if free_axis is None:
            made: Any = WeldJointConstraint(grasp.hand, grasp.body, at=X, name=f"grasp: {grasp.name}")
        else:
            axis = X[:3, :3] @ as_unit_vector(free_axis, f"{what}: free_axis")
            made = RevoluteJointConstraint(grasp.hand, grasp.body, at=X[:3, 3], axis=axis, name=f"grasp: {grasp.name}")
        energy, before = world.kinetic_energy, momentum_about(grasp._object, origin)
        world.add_constraint(made)
        world.close_constraints()
        grasp._constraint, grasp._energy_lost = made, energy - world.kinetic_energy
        grasp._impulse = momentum_about(grasp._object, origin) - before

    # Letting go ------------------------------------------------------------------------------------------------

    def detach(self, grasp: Grasp | str) -> None:
        """Let go: poses and velocities stay, and with them momentum and energy.

        If another hand holds the object in a loop, it hangs on that hand from now on.

        Raises:
            ModelError, NameLookupError: it does not hold, or the skeleton that the object came from left the world.
        """
        grasp = self._releasable(grasp, "detach")
        home = grasp._home
        if grasp._constraint is not None:
            if grasp._constraint.world is not None:  # else one of the bodies left the world, and it with them
                self._scene.world.remove_constraint(grasp._constraint)
        elif home is not None:
            home.give_back(grasp.body)
        self._forget(grasp)
        if home is not None:
            world = self._scene.world  # what left it, its constraints left too
            others = [g for g in self.holding(grasp.body) if isinstance(g._constraint, WeldJointConstraint)]
            others = [g for g in others if g._constraint.world is world and g.hand.skeleton.host is world]
            if others and is_free(others[0].body):
                world.remove_constraint(others[0]._constraint)
                others[0]._constraint = None
                self._hang(others[0])
            self._shut(grasp.hand.skeleton)

    def _forget(self, grasp: Grasp) -> None:
        own = [b for b in grasp._object if b in rigid_group(grasp.body)]  # whatever shapes they have by now
        for others, reason in ((grasp._touching, "grasp"), (grasp._supports, "support")):
            for pair in itertools.product(own, others):
                if all(b.skeleton is not None and b.skeleton.host is self._scene.world for b in pair):
                    self._scene.filter.remove(*pair, f"{reason}: {grasp.name}")
        del self._held[grasp.name]
        grasp._is_held = False

    def regrasp(self, grasp: Grasp | str, hand: BodyNode, name: str | None = None, **options: Any) -> Grasp:
        """Pass an object on: the new hand takes hold of the same body, then the old one lets go.

        Args:
            grasp: that holds.
            hand: the new one.
            name, options: as of `attach`.

        Raises:
            ModelError, NameLookupError: as `attach` and `detach`.
        """
        old = self._releasable(grasp, "regrasp")
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

        Of a hand that closes a loop the same is said of an object that hangs on another hand, which then has it
        elsewhere. What hangs on joints of its own, such as a door, comes as near to the estimate as these allow, and
        velocities are projected onto the loop as it is then.

        Args:
            grasp: that holds.
            pose: of the held body in the hand, 4x4, or, if `in_world`, in the world.
            covariance: of the estimate (6, 6).
            in_world: see there.

        Raises:
            ModelError: no pose, no covariance; the object is fixed, so that no estimate moves it.
        """
        grasp = self._checked(grasp, "update_pose")
        what = f"grasp {grasp.name!r}: pose"
        X, R = as_transform(pose, what), checked_covariance(covariance, what)
        if as_flag(in_world, f"{what}: in_world"):
            X = inverse_transform(grasp.hand.world_transform) @ X
        hanging = next((g for g in self.holding(grasp.body) if not g.closes_loop), None)
        if hanging is None and not grasp.body.skeleton.num_dofs:
            raise ModelError(f"{what}: {grasp.body.name!r} is fixed, so that no estimate moves it")
        X, grasp._covariance = fused(np.array(grasp.pose), grasp._covariance, X, R)
        if hanging is None:
            self._move_joints(grasp.body, grasp.hand.world_transform @ X)
        else:
            body = hanging.body  # which hangs by a weld; the estimate may be of another one of the object
            X = grasp.hand.world_transform @ X @ inverse_transform(grasp.body.world_transform) @ body.world_transform
            body.parent_joint.transform_from_parent = inverse_transform(hanging.hand.world_transform) @ X
        for other in self.holding(grasp.body):
            if other.closes_loop:
                c = other.constraint
                c.frame_a = inverse_transform(c.body_a.world_transform) @ c.body_b.world_transform @ c.frame_b
        if hanging is None:
            self._scene.world.close_constraints()

    def _move_joints(self, body: BodyNode, X: Array) -> None:
        """An object's own joints have it as near to a pose as they can."""
        body.skeleton.positions = IkSolver(body, attempts=1).solve(X).positions

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
        """What a hand carries alone and in a loop, as controllers' `payload` takes it: free objects, whole.

        Objects that hang on the hand are part of the robot's model, and not listed; what several hands hold is for
        `LoadSharing`, and what hangs on the world is not carried.
        """
        alone = [
            grasp.inertia
            for grasp in self._held.values()
            if grasp.hand is hand and grasp.closes_loop and is_free(grasp.body) and len(self.holding(grasp.body)) == 1
        ]
        return {hand: sum(alone[1:], alone[0])} if alone else {}

    def check_release(self, *grasps: Grasp | str) -> None:
        """Do nothing if each could be let go by `detach`, which also says what is raised else."""
        for grasp in grasps:
            self._releasable(grasp, "release")

    def _releasable(self, grasp: Grasp | str, what: str) -> Grasp:
        found = self._checked(grasp, what)
        home = found._home
        if home is not None and home.skeleton.host is not self._scene.world:
            raise ModelError(
                f"{what} {found.name!r}: skeleton {home.skeleton.name!r}, where the object came from, is not in world "
                f"{self._scene.world.name!r}"
            )
        return found

    def _checked(self, grasp: Grasp | str, what: str) -> Grasp:
        if isinstance(grasp, str):
            return self.grasp(grasp)
        if not isinstance(grasp, Grasp) or self._held.get(grasp.name) is not grasp:
            raise ModelError(f"{what}: expected a grasp that holds, got {grasp!r}; there are {list(self._held)}")
        return grasp

    def __repr__(self) -> str:
        return f"Grasps({list(self._held.values())!r})"
