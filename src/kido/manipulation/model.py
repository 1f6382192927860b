"""One model that perception, planning, estimation and control share: changed by one, read by all."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.arrays import ReadOnlyArray, read_only_copy
from kido.attributes import FixedAttributes
from kido.batch import Trajectories, rollout
from kido.errors import ModelError, NameLookupError
from kido.joints import JointKind
from kido.manipulation.finding import find_parts
from kido.manipulation.fusion import checked_covariance, fused
from kido.manipulation.holding import Grasps
from kido.manipulation.parts import Part
from kido.manipulation.scene import CollisionScene
from kido.manipulation.srdf import RobotDescription
from kido.math.transform import as_positive, as_transform, as_vector
from kido.shapes import Shape
from kido.simulation import World
from kido.skeleton import BodyNode, FreeJoint, Inertia, Skeleton

Array = NDArray[np.float64]

_SAME = 1e-12  # entries of poses are equal within, by their size: rounding of kinematics


class RobotModel(FixedAttributes):
    """A world with robots: their parts, what they may touch, what they hold, and what perception sees.

    One writer changes it, within `edit`; others read forks: copies of the last state that was published, whole, which
    nobody else changes.

    Args:
        world: with the robots and objects.
        descriptions: of robots by name of their skeletons: groups become parts, disabled pairs reasons.

    Raises:
        ModelError: no world. NameLookupError: a description of a robot that is not there.

    Example:
        >>> model = RobotModel(world, {"panda": RobotDescription.read("panda.srdf")})
        >>> with model.edit():
        ...     model.see("cup", pose, shape=kido.Cylinder(0.04, 0.1), mass=0.3)
        ...     model.grasps.attach(model.body("cup"), model.part("arm").tip)
        >>> planner = model.fork()  # in any thread
    """

    def __init__(self, world: World, descriptions: Mapping[str, RobotDescription] | None = None):
        self._scene = CollisionScene(world)
        self._grasps = Grasps(self._scene)
        self._descriptions = dict(descriptions or {})
        if not all(isinstance(description, RobotDescription) for description in self._descriptions.values()):
            raise ModelError(f"robot model: descriptions: expected a RobotDescription by name, got {descriptions!r}")
        self._parts: dict[str, dict[str, Part]] = {}
        self._seen: dict[str, BodyNode] = {}
        self._covariances: dict[str, Array | None] = {}
        self._places: dict[str, Array] = {}  # where objects were put, of which the covariances are
        for name, description in self._descriptions.items():
            self._parts[name] = find_parts(world.skeleton(name), description)
        for robot in world.skeletons:
            if robot.num_bodies > 1 and robot.name not in self._parts:
                self._parts[robot.name] = find_parts(robot)
        for name, description in self._descriptions.items():  # which cannot fail any more
            self._scene.describe(world.skeleton(name), description)
        self._start(0)

    def _start(self, version: int) -> None:
        self._version, self._editing = version, False
        self._writing, self._reading = threading.RLock(), threading.Lock()
        self._published: dict[str, Any] | None = None

    @property
    def world(self) -> World:
        """The world."""
        return self._scene.world

    @property
    def scene(self) -> CollisionScene:
        """What may touch."""
        return self._scene

    @property
    def grasps(self) -> Grasps:
        """What is held."""
        return self._grasps

    @property
    def version(self) -> int:
        """How often it was published; forks have that of what they are copies of."""
        return self._version

    def parts(self, robot: str | None = None) -> dict[str, Part]:
        """Parts of a robot by name; None: of the only one.

        They are found once, when the model is made: what a hand holds is no part of it.
        """
        if robot is None:
            known = list(self._descriptions) or [s.name for s in self.world.skeletons if len(s.bodies) > 1]
            if len(known) != 1:
                raise NameLookupError("robot, one of several", robot, known)
            robot = known[0]
        if robot not in self._parts:
            self._parts[robot] = find_parts(self.world.skeleton(robot))
        return dict(self._parts[robot])

    def part(self, name: str, robot: str | None = None) -> Part:
        """A part by name.

        Raises:
            NameLookupError: there is none.
        """
        parts = self.parts(robot)
        if name not in parts:
            raise NameLookupError("part", name, list(parts))
        return parts[name]

    # Objects ---------------------------------------------------------------------------------------------------

    @property
    def seen(self) -> tuple[str, ...]:
        """Names of objects that perception added."""
        return tuple(self._seen)

    def body(self, name: str) -> BodyNode:
        """The body of an object that was seen, wherever it hangs.

        Raises:
            NameLookupError: there is none.
        """
        if name in self._seen:
            return self._seen[name]
        raise NameLookupError("object seen", name, list(self._seen))

    def covariance(self, name: str) -> Array | None:
        """Of the pose of an object that is not held (6, 6), of twists in its axes; None: not known.

        It is that of the pose that was seen: of an object that moved since, nothing is known.
        """
        P = self._covariance_now(name)
        return None if P is None else read_only_copy(ReadOnlyArray, P)

    def _covariance_now(self, name: str) -> Array | None:
        X, before = self.body(name).world_transform, self._places[name]
        return self._covariances[name] if np.abs(X - before).max() <= _SAME * (1.0 + np.abs(X).max()) else None

    def see(
        self,
        name: str,
        pose: Any,
        covariance: ArrayLike | None = None,
        *,
        shape: Shape | None = None,
        mass: float | None = None,
        inertia: Inertia | None = None,
        velocity: ArrayLike | None = None,
    ) -> BodyNode:
        """An object is where perception says: it is added, or moved, in the hand if one holds it.

        Args:
            name: of the object: of its skeleton and its body.
            pose: 4x4 in the world.
            covariance: (6, 6) of twists in the object's axes; with that of what was known, poses are fused
                (`Grasps.update_pose`). Of an object that moved since it was seen nothing is known.
            shape: of a new object.
            mass: of a new object, spread over the shape [kg].
            inertia: of a new object, instead.
            velocity: [angular; linear] (6,) of its origin, world axes; None: as it was, of a new one zero.

        Raises:
            ModelError: a new object without shape or mass, one that is neither free nor held by a hand alone, or what
                is no pose, covariance or velocity; nothing changes.
        """
        what = f"object {name!r}"
        X, R = as_transform(pose, f"{what}: pose"), checked_covariance(covariance, what)
        V = None if velocity is None else as_vector(velocity, f"{what}: velocity", 6)
        if name not in self._seen:
            return self._add(name, X, R, shape, mass, inertia, V)
        body = self.body(name)
        held = [grasp for grasp in self._grasps.holding(body) if not grasp.closes_loop]
        if held:
            self._grasps.update_pose(held[0], X, R, in_world=True)
            return body
        if self._grasps.holding(body) or body.parent_joint.kind != JointKind.FREE:
            raise ModelError(f"{what}: it is neither free nor held by a hand alone, so that joints say where it is")
        X, self._covariances[name] = fused(np.array(body.world_transform), self._covariance_now(name), X, R)
        self._place(body, X, V)
        self._places[name] = np.array(body.world_transform)
        return body

    def _add(self, name: str, X: Array, R: Array | None, shape: Any, mass: Any, inertia: Any, V: Any) -> BodyNode:
        what = f"object {name!r}"
        if not isinstance(shape, Shape):
            raise ModelError(f"{what}: it is new: expected its shape, got {shape!r}")
        if (mass is None) == (inertia is None):
            raise ModelError(f"{what}: it is new: expected its mass or its inertia, got {mass!r} and {inertia!r}")
        if inertia is None:
            inertia = Inertia.from_shape(shape, mass=as_positive(mass, f"{what}: mass", "kg"))
        elif not isinstance(inertia, Inertia) or not inertia.mass > 0.0:
            raise ModelError(f"{what}: inertia: expected a kido.Inertia with mass, got {inertia!r}")
        if name in [s.name for s in self.world.skeletons]:
            raise ModelError(f"{what}: world {self.world.name!r} has a skeleton of that name, which was not seen")
        skeleton = Skeleton(name)
        body = skeleton.add_body(name, FreeJoint(f"{name}_joint"), None, inertia)
        body.add_shape(shape, name="shape")
        self._place(body, X, V)
        self.world.add_skeleton(skeleton)
        self._seen[name], self._covariances[name], self._places[name] = body, R, np.array(body.world_transform)
        return body

    @staticmethod
    def _place(body: BodyNode, X: Array, V: Array | None) -> None:
        joint: Any = body.parent_joint
        before = np.array(body.spatial_velocity)
        joint.set_transform(X)
        joint.set_spatial_velocity(before if V is None else V)

    def lose(self, name: str) -> None:
        """An object is there no more.

        Raises:
            NameLookupError: it was not seen. ModelError: it is held.
        """
        held = self._grasps.holding(self.body(name))
        if held:
            raise ModelError(f"object {name!r} is held by grasp {held[0].name!r}; detach it first")
        self.world.remove_skeleton(self._seen[name].skeleton)
        del self._seen[name], self._covariances[name], self._places[name]

    # Readers and writers ---------------------------------------------------------------------------------------

    @contextmanager
    def edit(self) -> Iterator[Self]:
        """Changes that readers see together: what is done within is published at its end.

        If it ends by an exception nothing is published: forks are of what was published before, until the next edit
        ends well. Other writers wait.
        """
        with self._writing:
            if self._editing:  # part of another edit
                yield self
                return
            if self._published is None:
                self.publish()
            self._editing = True
            try:
                yield self
            finally:
                self._editing = False
            self.publish()

    def publish(self) -> int:
        """Let forks be of the present state from now on; the version.

        Raises:
            ModelError: within `edit`, which does it at its end.
        """
        with self._writing:
            if self._editing:
                raise ModelError("robot model: publish: an edit is going on, which publishes at its end")
            made = self._copy_of(self._content())
            with self._reading:
                self._version += 1
                self._published = made
            return self._version

    def fork(self) -> Self:
        """An independent copy of what was last published; of the present state, if nothing was.

        It has the state of one moment, between edits. Its world steps, its hands grasp, and nothing of it changes this
        model. Any thread may ask for one, also while another one edits.
        """
        if self._published is None:
            self.publish()
        with self._reading:
            content, version = self._published, self._version
            assert content is not None
            twin = object.__new__(type(self))
            vars(twin).update(self._copy_of(content))
        twin._start(version)
        return twin

    def predict(self, **options: Any) -> Trajectories:
        """What comes next, in copies: `kido.batch.rollout` of a fork's world, with its options (steps, commands, ...).

        Example:
            >>> model.predict(commands=torques, steps=1000).positions  # (samples, steps, dofs)
        """
        return rollout(self.fork().world, **options)

    def _content(self) -> dict[str, Any]:
        names = ("_scene", "_grasps", "_descriptions", "_parts", "_seen", "_covariances", "_places")
        return {name: getattr(self, name) for name in names}

    @staticmethod
    def _copy_of(content: dict[str, Any]) -> dict[str, Any]:
        return copy.deepcopy(content)

    def __getstate__(self) -> dict[str, Any]:
        return self._content() | {"_version": self._version}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._start(self._version)

    def __repr__(self) -> str:
        return f"RobotModel({self.world.name!r}, version {self.version}, {len(self._grasps.held)} held)"
