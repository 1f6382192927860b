"""A tree of bodies and joints."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.arrays import fixed, read_only_copy, settable
from kido.attributes import named_arguments
from kido.errors import ModelError, StateError
from kido.joints import ActuatorType
from kido.math.transform import as_flag, as_vector
from kido.shapes import SoftMesh
from kido.skeleton.aspects import Carrier
from kido.skeleton.body_node import BodyNode, hang_all, put_on
from kido.skeleton.editing.editing import SkeletonEditing
from kido.skeleton.inertia import Inertia
from kido.skeleton.joints.actuator import actuator_types_of
from kido.skeleton.joints.degree_of_freedom import DegreeOfFreedom
from kido.skeleton.joints.joint import Joint, put_under
from kido.skeleton.joints.loop_joint import LoopJoint
from kido.skeleton.joints.types import FreeJoint
from kido.skeleton.joints.vectors import of_coordinates
from kido.skeleton.naming import checked_name
from kido.skeleton.nodes.end_effector import centroid, horizontal_axes, support_polygon
from kido.skeleton.nodes.node import Node
from kido.skeleton.nodes.shape_node import ShapeNode
from kido.skeleton.parts import Parts
from kido.skeleton.soft.soft_body_node import SoftBodyNode, add_soft_body
from kido.skeleton.state import moving
from kido.skeleton.state.arrays import STATE_FIELDS
from kido.skeleton.state.configuration import Configuration
from kido.skeleton.state.random_positions import random_positions
from kido.skeleton.state.selections import Bodies, parameters_of
from kido.skeleton.state.snapshot import SavedProperties, SavedState
from kido.skeleton.state.state import HANDED_ON, State
from kido.skeleton.state.view import StateView, hand_on
from kido.turns import Turn, in_turn

if TYPE_CHECKING:
    from kido.skeleton.host import Host

STANDARD_GRAVITY = (0.0, 0.0, -9.81)
_GRAVITY = settable("gravity")
Array = NDArray[np.float64]
N = TypeVar("N", bound=Node)


class Skeleton(StateView, SkeletonEditing, Carrier):
    """An articulated body: bodies joined in one or several trees.

    It is a description. What it holds at a moment is a `State`: `state` is the current one, which its bodies show and
    whose numbers and results are its own properties; `new_state()` makes others.

    Args:
        name: its name, unique in a world.

    Attributes:
        uri: the file it was read from, if it was.
        warnings: what its file has that was left out, in words.

    Example:
        >>> arm = Skeleton("arm")
        >>> link = arm.add_body("link", RevoluteJoint(axis=(0, 1, 0)), inertia=Inertia.from_diagonal(1, [1, 1, 1]))
        >>> arm.positions = [0.5]
        >>> link.world_transform
    """

    def __init__(self, name: str = "skeleton"):
        self._name = checked_name(name, "skeleton")
        self.uri: str | None = None
        self.warnings: list[str] = []
        self.version = self.structure_version = 0  # counts all changes; and when bodies, joints or coordinates changed
        self.appearance_version = 0  # counts changes of what is drawn of its shapes, and how
        self.has_actuators = False  # that dynamics alone must respect: not FORCE or MIMIC; known when compiled
        self.command_bounds: tuple[Array, Array] | None = None  # of coordinates, where any is; known when compiled
        self.own_gravity = np.array(STANDARD_GRAVITY)  # its world's array while it is in one
        self.parts = Parts(self)
        self._loops_enabled = True
        self._mobile = True
        self._self_collision = False
        self._adjacent_body_collision = False
        self._kinematic = False
        self._can_sleep = True
        self.host: Host | None = None
        self._turn = Turn(self, "skeleton")
        self._start_states()

    @property
    def name(self) -> str:
        """Its name, unique in a world."""
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        checked_name(value, f"skeleton {self._name!r}")
        if self.host is not None and any(s is not self and s.name == value for s in self.host.skeletons):
            raise ModelError(f"skeleton {self._name!r}: name: {value!r} is already used in world {self.host.name!r}")
        self._name = value

    # States ----------------------------------------------------------------------------------------------

    def _start_states(self) -> None:
        self.ready = None
        self._others: weakref.WeakSet[State] = weakref.WeakSet()
        self.current_state = State(self)
        self.handle = self.current_state.handle

    @property
    def turn(self) -> Turn:
        """Whose turn it is to change it: in a world that of the world."""
        host = self.host  # once: another thread may take the skeleton out of its world meanwhile
        return self._turn if host is None else host.turn

    @property
    def state(self) -> State:
        """The current state: what bodies and frames show and worlds move. Not to be set; `saved_state` is."""
        return self.current_state

    def _home(self) -> Skeleton:
        return self

    @in_turn
    def new_state(self) -> State:
        """Another state, which starts with the numbers and loads of the current one and then goes its own way.

        Nothing that is done to it changes the current state, nor the other way round; another thread may use it.
        """
        return self.current_state.copy()

    def empty_state(self) -> State:
        """Another state, in which coordinates are as at first, and nothing acts."""
        made = State(self)
        self._others.add(made)
        return made

    @property
    def states(self) -> Iterator[State]:
        """All states, the current one first."""
        return iter([self.current_state, *self._others])

    @property
    def gravity(self) -> Array:
        """Acceleration of gravity [m/s^2], world axes (a copy); a skeleton in a world has the world's."""
        return read_only_copy(_GRAVITY, self.own_gravity)

    @gravity.setter
    @in_turn
    def gravity(self, value: ArrayLike) -> None:
        if self.host is not None:
            raise ModelError(f"skeleton {self.name!r} is in world {self.host.name!r}: set the world's gravity")
        self.own_gravity[:] = as_vector(value, f"skeleton {self.name!r}: gravity")
        for state in self.states:
            state.gravity_changed()

    @in_turn
    def structure_changed(self) -> None:
        """Bodies, joints or coordinates are not those that arrays were made for."""
        self.version = self.structure_version = self.version + 1
        self.drop_arrays()
        if self.host is not None:
            self.host.structure_changed()

    def appearance_changed(self) -> None:
        """A shape has another colour, or is drawn or not."""
        self.appearance_version += 1

    def drop_arrays(self) -> None:
        """All states keep their numbers by body, and compile on next use."""
        for state in self.states:
            state.drop_arrays()

    def properties_changed(self) -> None:
        """Properties are not those that arrays have."""
        self.version += 1
        for state in self.states:
            state.properties_changed()
        if self.host is not None:
            self.host.properties_changed()

    @property
    @in_turn
    def saved_state(self) -> SavedState:
        """State of coordinates, external forces, states of nodes and aspects (copies).

        Set it to a saved state of this skeleton, or of one with the same parts: that is restored exactly, or refused
        and nothing is changed.

        Example:
            >>> before = skeleton.saved_state
            >>> world.step(100)
            >>> skeleton.saved_state = before
        """
        return SavedState.of(self)

    @saved_state.setter
    @in_turn
    def saved_state(self, value: SavedState) -> None:
        self._expect("saved_state", value, SavedState).restore(self)

    @property
    @in_turn
    def configuration(self) -> Configuration:
        """All numbers of all coordinates, by name. `Configuration.of` takes some of them.

        Set it to a configuration of this or another skeleton that has its coordinates.
        """
        return Configuration.of(self)

    @configuration.setter
    @in_turn
    def configuration(self, value: Configuration) -> None:
        self._expect("configuration", value, Configuration).restore(self)

    @property
    @in_turn
    def properties(self) -> SavedProperties:
        """All properties of bodies, joints, shapes, nodes and aspects (copies).

        Set it to properties of this skeleton, or of one with the same parts: they are restored exactly, or refused
        and nothing is changed.
        """
        return SavedProperties.of(self)

    @properties.setter
    @in_turn
    def properties(self, value: SavedProperties) -> None:
        self._expect("properties", value, SavedProperties).restore(self)

    def _expect(self, what: str, value: Any, kind: type) -> Any:
        if not isinstance(value, kind):
            raise StateError(f"skeleton {self.name!r}: {what}: expected a {kind.__name__}, got {value!r}")
        return value

    # Building --------------------------------------------------------------------------------------------

    @in_turn
    @named_arguments
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
        self.parts.check_body_name(name)
        joint = FreeJoint() if joint is None else joint
        if not isinstance(joint, Joint):
            raise ModelError(f"body {name!r}: joint: expected a joint such as kido.RevoluteJoint(), got {joint!r}")
        if joint.skeleton is not None:
            raise ModelError(f"body {name!r}: joint {joint.name!r} already moves body {joint.child.name!r}")
        joint_name = joint.name or f"{name}_joint"
        if joint_name in self.parts.joint_by_name:
            raise ModelError(f"skeleton {self.name!r}: joint name {joint_name!r} is already used")
        self.parts.check_dof_names(joint, joint_name)
        if inertia is not None and not isinstance(inertia, Inertia):
            raise ModelError(f"body {name!r}: inertia: expected kido.Inertia, got {type(inertia).__name__}")
        self.structure_changed()
        body = _kind(self, name, joint, parent, inertia or Inertia())
        put_under(joint, body, joint_name)
        put_on(body, parent, joint)
        self.parts.add(body)
        return body

    @in_turn
    @named_arguments
    def add_soft_body(
        self,
        name: str,
        shape: SoftMesh,
        joint: Joint | None = None,
        parent: BodyNode | str | None = None,
        inertia: Inertia | None = None,
        *,
        transform: Any = None,
        **options: Any,
    ) -> SoftBodyNode:
        """Add a body with a skin of point masses, and the joint that hangs it on its parent.

        Args:
            name: unique in the skeleton.
            shape: the skin at rest.
            joint, parent: as of `add_body`.
            inertia: of the body without its skin; by default none.
            transform: pose of the skin's shape in the body.
            options: of the skin: `total_mass`, `kv`, `ke`, `kd`, `automatic`, `friction`, `color`, ...; see `Skin`.

        Raises:
            ModelError: as `add_body`; a coefficient is wrong.
        """
        return add_soft_body(self, name, shape, joint, parent, inertia, transform, options)

    # Loops -----------------------------------------------------------------------------------------------

    @property
    def loops(self) -> tuple[LoopJoint, ...]:
        """Joints of its file that close loops, which its tree has no place for (a copy of the list; settable).

        A world that holds the skeleton enforces them, as constraints; outside of worlds nothing does.
        """
        return tuple(self.parts.loops)

    @loops.setter
    @in_turn
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
        self.parts.loops = loops
        self.parts.loops_changed()

    @property
    def loops_enabled(self) -> bool:
        """Whether worlds enforce its `loops`; True by default."""
        return self._loops_enabled

    @loops_enabled.setter
    @in_turn
    def loops_enabled(self, value: bool) -> None:
        self._loops_enabled = as_flag(value, f"skeleton {self.name!r}: loops_enabled")
        self.parts.loops_changed()

    # Looking up ------------------------------------------------------------------------------------------

    @property
    def bodies(self) -> tuple[BodyNode, ...]:
        """All bodies; parents come before their children."""
        return tuple(self.parts.bodies)

    @property
    def joints(self) -> tuple[Joint, ...]:
        """The joint above each body, in the bodies' order."""
        return tuple(b.parent_joint for b in self.parts.bodies)

    @property
    def dofs(self) -> tuple[DegreeOfFreedom, ...]:
        """All coordinates, in the order of the state arrays."""
        return tuple(self.parts.dofs)

    @property
    def root_bodies(self) -> tuple[BodyNode, ...]:
        """Bodies that hang on the world."""
        return tuple(b for b in self.parts.bodies if b.parent is None)

    @property
    def soft_bodies(self) -> tuple[SoftBodyNode, ...]:
        """Bodies with a soft skin, in the order of all bodies."""
        return tuple(body for body in self.parts.bodies if isinstance(body, SoftBodyNode))

    @property
    def num_dofs(self) -> int:
        """Number of coordinates."""
        return len(self.parts.dofs)

    @property
    def mass(self) -> float:
        """Total mass [kg]."""
        return float(sum(b.inertia.mass for b in self.parts.bodies))

    def inertial_parameters(self, bodies: Bodies = None) -> Array:
        """pi (10 bodies,), [m, m c, J about the origin] of each body, as regressors take them."""
        chosen = self.current_state.indices_of(bodies)
        own = self.parts.bodies if chosen is None else [self.parts.bodies[i] for i in chosen]
        return np.concatenate([np.zeros(0), *(parameters_of(body.present_inertia) for body in own)])

    @property
    def num_bodies(self) -> int:
        """Number of bodies."""
        return len(self.parts.bodies)

    def body(self, key: str | int | np.integer) -> BodyNode:
        """A body by name or index.

        Raises:
            NameLookupError: there is none.
        """
        return self.parts.find("body", key, self.parts.body_by_name, self.parts.bodies)

    def joint(self, key: str | int) -> Joint:
        """A joint by name or index of its body.

        Raises:
            NameLookupError: there is none.
        """
        return self.parts.find("joint", key, self.parts.joint_by_name, self.joints)

    def nodes(self, node_type: type[N] | None = None) -> list[N]:
        """Nodes of a class (and classes derived from it) on all bodies; without one, all nodes but shapes."""
        if node_type is None:
            found: list[Any] = [n for b in self.parts.bodies for n in b.nodes() if not isinstance(n, ShapeNode)]
            return found
        return [node for body in self.parts.bodies for node in body.nodes(node_type)]

    def node(self, key: str, node_type: type[N] = Node) -> N:
        """A node of a class by name; not of the shapes, whose names are unique on their bodies only.

        Raises:
            NameLookupError: there is none.
        """
        if not isinstance(node_type, type):
            raise ModelError(f"skeleton {self.name!r}: expected a class of nodes, got {node_type!r}")
        found = [node for node in self.nodes() if isinstance(node, node_type)]
        return self.parts.find(node_type.__name__, key, {node.name: node for node in found}, found)

    def dof(self, key: str | int) -> DegreeOfFreedom:
        """A coordinate by name or index.

        Raises:
            NameLookupError: there is none.
        """
        return self.parts.find("dof", key, {d.name: d for d in self.parts.dofs}, self.parts.dofs)

    def random_positions(self, rng: Any = None, count: int | None = None, extent: float = 1.0) -> Array:
        """Positions at random, within the position limits; the state stays.

        Coordinates are uniform between their limits, those that mimic others follow them. Angles without limits are
        within half a turn of zero, lengths within `extent`; with one limit, as far again beyond it. Rotations of ball
        and free joints are uniform among all rotations, or among those that limits of their vectors allow.

        Args:
            rng: a `numpy.random.Generator`, or a seed of one; None for another one each time.
            count: how many; None for one.
            extent: of lengths without limits [m].

        Returns:
            (dofs,), or (count, dofs).

        Raises:
            ModelError: an argument is none of these; no positions of coordinates that mimic are within limits.
            NameLookupError: a joint mimics one that is not there.
        """
        return random_positions(self, rng, count, extent)

    # Properties of all coordinates -----------------------------------------------------------------------

    position_lower_limits = of_coordinates("position_lower_limit")
    position_upper_limits = of_coordinates("position_upper_limit")
    velocity_lower_limits = of_coordinates("velocity_lower_limit")
    velocity_upper_limits = of_coordinates("velocity_upper_limit")
    velocity_limits = of_coordinates("velocity_limit")
    acceleration_lower_limits = of_coordinates("acceleration_lower_limit")
    acceleration_upper_limits = of_coordinates("acceleration_upper_limit")
    acceleration_limits = of_coordinates("acceleration_limit")
    force_lower_limits = of_coordinates("force_lower_limit")
    force_upper_limits = of_coordinates("force_upper_limit")
    force_limits = of_coordinates("force_limit")
    position_gains = of_coordinates("position_gain")
    velocity_gains = of_coordinates("velocity_gain")

    # Flags -----------------------------------------------------------------------------------------------

    @property
    def mobile(self) -> bool:
        """Whether a world moves it; an immobile skeleton collides and is not integrated."""
        return self._mobile

    @mobile.setter
    @in_turn
    def mobile(self, value: bool) -> None:
        self._mobile = as_flag(value, f"skeleton {self.name!r}: mobile")
        self.structure_changed()

    @property
    def self_collision(self) -> bool:
        """Whether its bodies collide with each other."""
        return self._self_collision

    @self_collision.setter
    @in_turn
    def self_collision(self, value: bool) -> None:
        self._self_collision = as_flag(value, f"skeleton {self.name!r}: self_collision")
        self.structure_changed()

    @property
    def adjacent_body_collision(self) -> bool:
        """Whether, with `self_collision`, bodies that a joint connects collide too."""
        return self._adjacent_body_collision

    @adjacent_body_collision.setter
    @in_turn
    def adjacent_body_collision(self, value: bool) -> None:
        self._adjacent_body_collision = as_flag(value, f"skeleton {self.name!r}: adjacent_body_collision")
        self.structure_changed()

    @property
    def kinematic(self) -> bool:
        """Whether a world moves it as its velocities say, and nothing pushes it: a lift, a conveyor, a paddle.

        Its velocities stay as they were set, whatever it touches; a free joint goes straight on and turns about its
        body's axis. It carries others along by friction. `move_to` sets the velocities that lead somewhere. Its
        actuators, limits, springs and gravity do not act, it takes no commands, and needs no mass; to contacts and
        islands it is like a wall that moves. What its motion took is in `actuator_forces`.
        """
        return self._kinematic

    @kinematic.setter
    @in_turn
    def kinematic(self, value: bool) -> None:
        value = as_flag(value, f"skeleton {self.name!r}: kinematic")
        if value != self._kinematic:
            moving.ask_to_stay(self, value)
        self._kinematic = value
        self.structure_changed()

    @named_arguments
    def move_to(self, positions: ArrayLike, duration: float | None = None) -> None:
        """Set the velocities that lead a kinematic skeleton to positions, exactly, if they are held.

        It goes on with them afterwards: call it before each step, or set `velocities` to zero once there.

        Args:
            positions: (dofs,) where to.
            duration: after this time [s]; by default after the world's time step.

        Raises:
            ModelError: the skeleton is not kinematic, or the duration is not positive.
            StateError: positions of the wrong count or not finite.
        """
        moving.move_to(self, positions, duration)

    @property
    def can_sleep(self) -> bool:
        """Whether a world that lets skeletons sleep (`World.sleeping`) may let this one, and what it lies against."""
        return self._can_sleep

    @can_sleep.setter
    @in_turn
    def can_sleep(self, value: bool) -> None:
        self._can_sleep = as_flag(value, f"skeleton {self.name!r}: can_sleep")
        if self.host is not None:
            self.host.can_sleep_changed(self)

    @property
    def is_asleep(self) -> bool:
        """Whether it sleeps: the next step of its world will leave it alone, unless something wakes it."""
        return False if self.host is None else self.host.is_asleep(self)

    def wake(self) -> None:
        """Wake it, and all that fell asleep with it; in no world, or awake, nothing happens."""
        if self.host is not None:
            self.host.wake(self)

    # Actuators and what it stands on ---------------------------------------------------------------------

    @property
    def actuator_types(self) -> tuple[ActuatorType, ...]:
        """Type of the actuator of each coordinate (dofs,).

        Set it to one type, or to one for each coordinate (`ActuatorType` or names); see `Joint.actuator_type`.
        """
        return tuple(dof.actuator_type for dof in self.parts.dofs)

    @actuator_types.setter
    def actuator_types(self, value: ActuatorType | str | Sequence[ActuatorType | str]) -> None:
        actuator_types_of(self, value)

    @property
    def actuator_forces(self) -> Array:
        """Forces (dofs,) that the actuators gave, a mean over the world's last step; zeros before it.

        The command for FORCE and MIMIC, zero for PASSIVE, what the motor gave for SERVO and POSITION, and for
        prescribed coordinates what their motion took: against inertia, contacts and limits, and against the joint's own
        damping, spring and friction. Contacts, limits, joint friction and the gears of mimics are in
        `constraint_forces`.
        """
        return fixed(np.zeros(self.num_dofs) if self.host is None else self.host.actuator_forces(self))

    @property
    def constraint_forces(self) -> Array:
        """Generalized forces (dofs,) of contacts, limits, dry friction and gears in the world's last step, or zeros."""
        return fixed(np.zeros(self.num_dofs) if self.host is None else self.host.constraint_forces(self))

    @property
    def support_axes(self) -> Array:
        """The horizontal axes (2, 3) of `support_polygon`, world axes: x and y if z is up."""
        return fixed(horizontal_axes(self.gravity))

    def support_polygon(self) -> Array:
        """Convex hull (n, 2) of the points of all active supports, along `support_axes` [m], counterclockwise.

        Empty if nothing supports the skeleton.
        """
        return support_polygon(self)

    def support_centroid(self) -> Array | None:
        """Centroid (2,) of the support polygon along `support_axes` [m]; None if it is empty."""
        polygon = self.support_polygon()
        return centroid(polygon) if len(polygon) else None

    # Copies ----------------------------------------------------------------------------------------------

    @named_arguments
    def clone(self, name: str | None = None) -> Skeleton:
        """An independent copy with the same state, outside any world."""
        twin = copy.deepcopy(self)
        if name is not None:
            twin.name = name
        return twin

    def __copy__(self) -> Skeleton:
        return self.clone()  # what is in it belongs to one skeleton

    @in_turn
    def __deepcopy__(self, memo: dict[int, Any]) -> Skeleton:
        twin = object.__new__(type(self))
        memo[id(self)] = twin
        twin.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return twin

    @in_turn
    def __getstate__(self) -> dict[str, Any]:
        now = self.current_state
        d, first = now.compiled(), now.tree.first_dof
        state = self.__dict__.copy()
        for transient in ("current_state", "handle", "ready", "_others", "host"):
            del state[transient]
        state["_saved"] = [
            (body.index, tuple(getattr(d, f)[first[i] : first[i + 1]].copy() for f in STATE_FIELDS))
            for i, body in enumerate(now.links.top)
        ]
        state["_loads"] = now.applied, now.impulses, now.own_joint_impulses
        state["own_gravity"] = self.own_gravity.copy()
        state["_parents"] = [-1 if b.parent is None else b.parent.index for b in self.parts.bodies]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        saved, loads, parents = state.pop("_saved"), state.pop("_loads"), state.pop("_parents")
        self.__dict__.update(state)
        self.host, self._turn = None, Turn(self, "skeleton")
        hang_all(self.parts.bodies, parents)
        self._start_states()
        now = self.current_state
        now.applied, now.impulses, now.own_joint_impulses = loads
        now.saved = {self.parts.bodies[index]: values for index, values in saved}

    def __repr__(self) -> str:
        return f"Skeleton({self.name!r}, {self.num_bodies} bodies, {self.num_dofs} dofs)"


hand_on(Skeleton, HANDED_ON, State)
