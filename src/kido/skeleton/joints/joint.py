"""What all joints have in common: names, frames, coordinates and their properties."""

from __future__ import annotations

import copy
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.arrays import read_only_copy, settable
from kido.attributes import FixedAttributes, check_options
from kido.errors import ModelError
from kido.joints import ActuatorType, JointKind
from kido.math.transform import as_flag, as_transform
from kido.shapes import Shape
from kido.skeleton.aspects import Carrier
from kido.skeleton.host import edits
from kido.skeleton.joints.actuator import JointActuation, Mimic
from kido.skeleton.joints.coordinates import (
    DOF_PROPERTIES,
    MEANINGS,
    SYMMETRIC_LIMITS,
    ArrayProperty,
    CoordinateKind,
    ElementaryMotion,
    changed_properties,
    read_property,
)
from kido.skeleton.joints.degree_of_freedom import DegreeOfFreedom, name_with_joint, own_name
from kido.skeleton.joints.joint_motion import JointMotion
from kido.skeleton.naming import candidates, checked_name

if TYPE_CHECKING:
    from kido.joints.trace import Tape
    from kido.skeleton.body_node import BodyNode
    from kido.skeleton.frames.frame import Frame
    from kido.skeleton.joints.compound_joint import Hinge
    from kido.skeleton.skeleton import Skeleton

J = TypeVar("J", bound="Joint")


_TRANSFORM_FROM_PARENT = settable("transform_from_parent")
_TRANSFORM_FROM_CHILD = settable("transform_from_child")


def _per_dof(key: str) -> ArrayProperty:
    kind = settable(key, f"set_property({key!r}, {{index: value}})")

    def read(self: Joint) -> NDArray[np.float64]:
        return read_only_copy(kind, self.get_property(key))

    def write(self: Joint, value: ArrayLike) -> None:
        self.set_property(key, value)

    return ArrayProperty(read, write, doc=f"{MEANINGS[key]}. One number for each coordinate (a copy).")


def own_property(name: str, check: Callable[[Any, Any], Any], doc: str) -> Any:
    """A property that one type of joints has: `check(name of the joint, value)` gives what is kept, or raises."""

    kind = settable(name)

    def read(self: Joint) -> Any:
        value = getattr(self, f"_{name}")
        return read_only_copy(kind, value) if isinstance(value, np.ndarray) else value

    @edits
    def write(self: Joint, value: Any) -> None:
        setattr(self, f"_{name}", check(self.name, value))
        self._changed()

    return property(read, write, doc=doc)


class Joint(JointActuation, JointMotion, Carrier, FixedAttributes):
    """A joint between a body and its parent (a body or the world).

    The pose of the body in its parent is X = transform_from_parent X_J(q) transform_from_child^-1, where X_J
    is the motion of the joint type.

    Args:
        name: unique in the skeleton; by default the body's name with "_joint".
        transform_from_parent: pose of the joint in the parent body (4x4, or what `as_transform` takes).
        transform_from_child: pose of the joint in the child body.
        dof_names: names of the coordinates; by default the joint's name, with a suffix if there are several.
        actuator_type: what drives its coordinates, an `ActuatorType` or its name; by default FORCE, or MIMIC if there
            is something to follow.
        mimic: what its coordinates follow (`Mimic`).
        **properties: for each of `position_lower_limit`, `position_upper_limit`, the same of `velocity`,
            `acceleration` and `force`, `damping`, `armature`, `coulomb_friction`, `spring_stiffness`, `rest_position`,
            `position_gain`, `velocity_gain`, `initial_position`, `initial_velocity`: one number for all coordinates, or
            one for each. Units are metres, radians, newtons and seconds. `velocity_limit`, `acceleration_limit` and
            `force_limit` set a lower limit and an upper one of the same size, and read as the largest size allowed.

    Attributes:
        dofs: its coordinates (`DegreeOfFreedom`), in order.

    Raises:
        ArgumentError: a property that does not exist.
        ModelError: a property that has the wrong size, is NaN, or is below its lowest value;
            a lower limit above the upper one.
    """

    kind: ClassVar[JointKind]
    # What a type declares: names of its coordinates, what each of them is, the properties that others lack, its names
    # in file formats (the first is written), whether it may close a loop, and whether it is one of its own type when
    # seen from its other side.
    dof_suffixes: tuple[str, ...] = ("",)
    coordinate_kinds: ClassVar[tuple[CoordinateKind, ...]] = ()
    own_properties: ClassVar[tuple[str, ...]] = ()
    formats: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({})
    closes_loops: ClassVar[bool] = False
    reverses_in_kind: ClassVar[bool] = False
    has_modes: ClassVar[bool] = False  # its coordinates are modes of the parent body (kido.flexible)
    moves_parent: bool = False  # its coordinates move a surface of the parent body that touches others
    is_part: ClassVar[bool] = False  # its body is part of the parent body: its modes, or a node of it
    _tape: Tape | None = None

    position_lower_limit = _per_dof("position_lower_limit")
    position_upper_limit = _per_dof("position_upper_limit")
    velocity_lower_limit = _per_dof("velocity_lower_limit")
    velocity_upper_limit = _per_dof("velocity_upper_limit")
    velocity_limit = _per_dof("velocity_limit")
    acceleration_lower_limit = _per_dof("acceleration_lower_limit")
    acceleration_upper_limit = _per_dof("acceleration_upper_limit")
    acceleration_limit = _per_dof("acceleration_limit")
    force_lower_limit = _per_dof("force_lower_limit")
    force_upper_limit = _per_dof("force_upper_limit")
    force_limit = _per_dof("force_limit")
    damping = _per_dof("damping")
    armature = _per_dof("armature")
    coulomb_friction = _per_dof("coulomb_friction")
    spring_stiffness = _per_dof("spring_stiffness")
    rest_position = _per_dof("rest_position")
    position_gain = _per_dof("position_gain")
    velocity_gain = _per_dof("velocity_gain")
    initial_position = _per_dof("initial_position")
    initial_velocity = _per_dof("initial_velocity")

    def __init__(
        self,
        name: str | None = None,
        *,
        transform_from_parent: Any = None,
        transform_from_child: Any = None,
        dof_names: list[str] | list[str | None] | None = None,
        actuator_type: ActuatorType | str | None = None,
        mimic: Mimic | None = None,
        **properties: ArrayLike,
    ):
        check_options(self, properties, (*DOF_PROPERTIES, *SYMMETRIC_LIMITS))
        if name is not None and not isinstance(name, str):
            raise ModelError(f"joint: name: expected a text, got {name!r}")
        self._name = name or ""
        self._body: BodyNode | None = None
        what = f"joint {self._name!r}"
        self._transform_from_parent = as_transform(transform_from_parent, f"{what}: transform_from_parent")
        self._transform_from_child = as_transform(transform_from_child, f"{what}: transform_from_child")
        n = len(self.dof_suffixes)
        names: list[str | None] = [None] * n
        if dof_names is not None:
            if not isinstance(dof_names, list | tuple) or not all(isinstance(d, str | None) for d in dof_names):
                raise ModelError(f"{what}: dof_names: expected a list of texts, got {dof_names!r}")
            if len(dof_names) != n:
                raise ModelError(f"{what}: expected {n} dof_names, got {len(dof_names)}: {dof_names}")
            names = list(dof_names)
        self._properties = {key: np.full(n, default) for key, (default, _) in DOF_PROPERTIES.items()}
        self._enforce_position_limits = True
        self.dofs = tuple(DegreeOfFreedom(self, k, names[k]) for k in range(n))
        for key, value in properties.items():
            self.set_property(key, value)
        self._init_actuation(actuator_type, mimic)

    @property
    def name(self) -> str:
        """Name, unique among the skeleton's joints."""
        return self._name

    @name.setter
    @edits
    def name(self, value: str) -> None:
        if self._body is not None:
            self._body.skeleton.parts.rename_joint(self, value)
        self._name = checked_name(value, f"joint {self._name!r}")

    @property
    def skeleton(self) -> Skeleton | None:
        """The skeleton that it is part of; None if it is in use nowhere."""
        return None if self._body is None else self._body.skeleton

    @property
    def num_dofs(self) -> int:
        """Number of coordinates."""
        return len(self.dofs)

    @property
    def child(self) -> BodyNode:
        """The body the joint moves.

        Raises:
            ModelError: the joint is not part of a skeleton.
        """
        if self._body is None:
            raise ModelError(f"joint {self._name!r} is not part of a skeleton")
        return self._body

    @property
    def parent(self) -> BodyNode | None:
        """The body the joint hangs on; None for the world."""
        return self.child.parent

    @property
    def transform_from_parent(self) -> NDArray[np.float64]:
        """Pose of the joint in the parent body, 4x4 (a copy)."""
        return read_only_copy(_TRANSFORM_FROM_PARENT, self._transform_from_parent)

    @transform_from_parent.setter
    @edits
    def transform_from_parent(self, value: Any) -> None:
        self._transform_from_parent = as_transform(value, f"joint {self._name!r}: transform_from_parent")
        self._changed()

    @property
    def transform_from_child(self) -> NDArray[np.float64]:
        """Pose of the joint in the child body, 4x4 (a copy)."""
        return read_only_copy(_TRANSFORM_FROM_CHILD, self._transform_from_child)

    @transform_from_child.setter
    @edits
    def transform_from_child(self, value: Any) -> None:
        self._transform_from_child = as_transform(value, f"joint {self._name!r}: transform_from_child")
        self._changed()

    @property
    def unique_properties(self) -> dict[str, Any]:
        """What joints of this type have and others do not, by name: axes, pitch, order, hinges, parameters.

        All can be set as attributes, and given to the constructor.
        """
        return {key: getattr(self, key) for key in self.own_properties}

    @edits
    def set_property(self, key: str, value: ArrayLike | Mapping[int, Any]) -> None:
        """Set a property of all coordinates; see the class for names and units.

        Args:
            key: its name.
            value: one number for all coordinates, one for each, or a dictionary of those of some by number in the
                joint: the others keep every bit.
        """
        self._properties |= self.checked_property(key, value)
        self._changed()

    def checked_property(self, key: str, value: ArrayLike | Mapping[int, Any]) -> dict[str, NDArray[np.float64]]:
        """What `set_property` would write, by name of the property; nothing is changed."""
        values: Any = value
        if isinstance(value, Mapping):
            values = self.get_property(key).tolist()
            for k, number in value.items():
                if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 0 <= k < self.num_dofs:
                    expected = f"numbers of coordinates below {self.num_dofs} in a dictionary"
                    raise ModelError(f"joint {self._name!r}: {key}: expected {expected}, got {k!r}")
                values[k] = number  # checked with the others
        changed = changed_properties(self._properties, key, values, self.num_dofs, f"joint {self._name!r}")
        if isinstance(value, Mapping):
            others = [k for k in range(self.num_dofs) if k not in value]
            for name, array in changed.items():
                array[others] = self._properties[name][others]
        return changed

    def get_property(self, key: str) -> NDArray[np.float64]:
        """A property of all coordinates (a copy)."""
        return read_property(self._properties, key, f"joint {self._name!r}")

    @property
    def enforce_position_limits(self) -> bool:
        """Whether worlds keep its positions within their limits; by default they do."""
        return self._enforce_position_limits

    @enforce_position_limits.setter
    @edits
    def enforce_position_limits(self, value: bool) -> None:
        self._enforce_position_limits = as_flag(value, f"joint {self._name!r}: enforce_position_limits")
        self._changed()

    def _changed(self) -> None:
        if self._body is None:
            return
        if self.kind == JointKind.WELD:  # welded bodies are merged, so their poses are structure
            self._body.skeleton.structure_changed()
        else:
            self._body.skeleton.properties_changed()

    @property
    def coordinates(self) -> slice:
        """Where its coordinates are in the arrays of its skeleton's states."""
        return self.child.skeleton.current_state.joint_slice(self)

    @property
    def positions(self) -> NDArray[np.float64]:
        """Positions of the joint's coordinates (a copy)."""
        return self.child.skeleton.positions[self.coordinates]

    @positions.setter
    def positions(self, value: ArrayLike) -> None:
        self.child.skeleton.current_state.set_part("q", self.coordinates, value, f"joint {self._name!r}: positions")

    @property
    def velocities(self) -> NDArray[np.float64]:
        """Velocities of the joint's coordinates (a copy)."""
        return self.child.skeleton.velocities[self.coordinates]

    @velocities.setter
    def velocities(self, value: ArrayLike) -> None:
        self.child.skeleton.current_state.set_part("u", self.coordinates, value, f"joint {self._name!r}: velocities")

    @property
    def accelerations(self) -> NDArray[np.float64]:
        """Accelerations of the joint's coordinates (a copy)."""
        return self.child.skeleton.accelerations[self.coordinates]

    @accelerations.setter
    def accelerations(self, value: ArrayLike) -> None:
        self.child.skeleton.current_state.set_part(
            "udot", self.coordinates, value, f"joint {self._name!r}: accelerations"
        )

    @property
    def forces(self) -> NDArray[np.float64]:
        """Commanded forces of the joint's coordinates (a copy)."""
        return self.child.skeleton.forces[self.coordinates]

    @forces.setter
    def forces(self, value: ArrayLike) -> None:
        self.child.skeleton.current_state.set_part("tau", self.coordinates, value, f"joint {self._name!r}: forces")

    def reaction_wrench(self, about: str = "body", in_coordinates_of: Frame | None = None) -> NDArray[np.float64]:
        """[torque; force] that the joint carries to its child body from the parent [N m, N].

        All that the joint does, constraint, motor, spring and damper together, for the current accelerations and
        external forces; see `Skeleton.reaction_wrenches`.

        Args:
            about: "body", the child body's origin, or "joint", the joint's child-side origin.
            in_coordinates_of: frame in whose axes the result is; None for the world's.

        Raises:
            ModelError: another `about`, or the joint is not part of a skeleton.
        """
        return _reaction(self, about, in_coordinates_of)

    def coordinate_kind(self, k: int) -> CoordinateKind:
        """What coordinate k of the joint is.

        Raises:
            ModelError: there is no such coordinate.
        """
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or not -self.num_dofs <= k < self.num_dofs:
            raise ModelError(f"joint {self.name!r}: expected a coordinate below {self.num_dofs}, got {k!r}")
        return self._kind_of_coordinate(int(k))

    def _kind_of_coordinate(self, k: int) -> CoordinateKind:
        return self.coordinate_kinds[k] if self.coordinate_kinds else CoordinateKind.OTHER

    @classmethod
    def axis_properties(cls) -> tuple[str, ...]:
        """Those of its own properties that are unit axes."""
        return tuple(key for key in cls.own_properties if key.startswith("axis"))

    def elementary_motions(self) -> Sequence[ElementaryMotion | Hinge] | None:
        """One after the other, with one coordinate each, from the parent's side; None if the joint is no such chain."""
        return None

    def _deformed_state(self, state: Any) -> Any:
        """Where `has_modes`: what computes for a state of its skeleton (`kido.flexible.deformed`)."""
        return None

    def shape_now(self, node: Any) -> Shape:
        """Geometry of a shape (`ShapeNode`) of the parent body as it is now, deformed where modes deform it.

        Raises:
            ModelError: no shape node.
        """
        shape = getattr(node, "shape", None)
        if not isinstance(shape, Shape):
            raise ModelError(f"shape now: expected a ShapeNode, got {node!r}")
        return shape

    def _axes(self) -> NDArray[np.float64]:
        """Three axes and the pitch [m/rad], as the tree stores them."""
        return np.zeros(10)

    def __copy__(self) -> Self:
        return detached(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})"


def _reaction(joint: Joint, about: str, in_coordinates_of: Any) -> np.ndarray:
    """See `Joint.reaction_wrench`."""
    if not isinstance(about, str) or about not in ("body", "joint"):
        raise ModelError(f"joint {joint.name!r}: about: expected 'body' or 'joint', got {about!r}")
    body = joint.child
    state = body.skeleton.current_state
    wrench = state.reaction_wrenches[body.index].copy()
    if about == "joint":
        r = body.world_transform[:3, :3] @ joint._transform_from_child[:3, 3]
        wrench[:3] -= np.cross(r, wrench[3:])
    if in_coordinates_of is None:
        return wrench
    R = state.axes_of(in_coordinates_of)
    return np.concatenate([wrench[:3] @ R, wrench[3:] @ R])


# What editing does to joints ---------------------------------------------------------------------------------


def put_under(joint: Joint, body: BodyNode | None, name: str | None = None) -> None:
    """Have a joint move a body, under a name if that is given; None: it is in use nowhere."""
    joint._body = body
    joint._name = joint._name if name is None else name


def detached(joint: J) -> J:
    """A copy of a joint that moves no body."""
    body, joint._body = joint._body, None
    try:
        return copy.deepcopy(joint)
    finally:
        joint._body = body


def take_over(made: Joint, joint: Joint, order: Sequence[int]) -> None:
    """Give a joint the name, properties and actuators of another, whose coordinate order[k] its k is."""
    chosen = list(order)
    made._name = joint._name
    made._properties = {key: values[chosen].copy() for key, values in joint._properties.items()}
    made._enforce_position_limits = joint._enforce_position_limits
    made._enforce_velocity_limits = joint._enforce_velocity_limits
    made._enforce_command_limits = joint._enforce_command_limits
    made._actuators = [joint._actuators[k] for k in chosen]
    made._mimics = [_with_number(joint, k) for k in chosen]


def _with_number(joint: Joint, k: int) -> Mimic | None:
    """The mimic of coordinate k of a joint, with the number of the followed coordinate said."""
    mimic = joint._mimics[k]
    if mimic is None or mimic.dof is not None or joint.skeleton is None:
        return mimic
    other = joint.skeleton.parts.joint_by_name.get(mimic.joint)
    return mimic if other is None else replace(mimic, dof=k if other.num_dofs != 1 else 0)


def write_properties(joint: Joint, values: Mapping[str, NDArray[np.float64]]) -> None:
    """Put checked properties of all coordinates in place of what there is."""
    joint._properties = {**joint._properties, **values}
    joint._changed()


def set_mimics(joint: Joint, mimics: Sequence[Mimic | None]) -> None:
    """Have its coordinates follow others, whatever their actuators."""
    joint._mimics = list(mimics)


def free_joint_name(joint: Joint, wanted: str, joints: Container[str], dofs: Container[str]) -> str:
    """A name for a joint such that its coordinates' names that derive from it are free as well."""
    own = [dof for dof in joint.dofs if own_name(dof) is None]
    return next(
        n for n in candidates(wanted) if n not in joints and not any(name_with_joint(d, n) in dofs for d in own)
    )
