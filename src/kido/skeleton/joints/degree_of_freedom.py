"""One generalized coordinate of a skeleton."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn

from kido.attributes import FixedAttributes
from kido.errors import ModelError
from kido.joints import ActuatorType
from kido.skeleton.joints.actuator import Mimic, actuator_type
from kido.skeleton.joints.coordinates import MEANINGS, CoordinateKind

if TYPE_CHECKING:
    from kido.skeleton.joints.joint import Joint


def _state(name: str, array: str, unit: str) -> float:
    def read(self: DegreeOfFreedom) -> float:
        return self.joint.child.skeleton.current_state.read_number(array, self.index)

    def write(self: DegreeOfFreedom, value: float) -> None:
        state = self.joint.child.skeleton.current_state
        state.set_number(array, self.index, value, f"dof {self.name!r}: {name}")

    made: Any = property(read, write, doc=f"{name.capitalize()} of the coordinate {unit}.")
    return made  # what checkers take it for is what one reads


def _property(key: str) -> float:
    def read(self: DegreeOfFreedom) -> float:
        return float(self.joint.get_property(key)[self.index_in_joint])

    def write(self: DegreeOfFreedom, value: float) -> None:
        self.joint.set_property(key, {self.index_in_joint: value})

    made: Any = property(read, write, doc=f"{MEANINGS[key]}.")
    return made


class DegreeOfFreedom(FixedAttributes):
    """A coordinate of a joint: its name, its state and its properties, one number each.

    State (`position`, `velocity`, `acceleration`, `force`) reads from and writes to the skeleton's arrays.
    Properties (`position_lower_limit`, `damping`, ...) are those of `Joint`.

    Attributes:
        joint: the joint that it is a coordinate of.
        index_in_joint: its place among the joint's.
    """

    position = _state("position", "q", "[m, rad]")
    velocity = _state("velocity", "u", "[m/s, rad/s]")
    acceleration = _state("acceleration", "udot", "[m/s^2, rad/s^2]")
    force = _state("force", "tau", "[N, N m]")
    position_lower_limit = _property("position_lower_limit")
    position_upper_limit = _property("position_upper_limit")
    velocity_lower_limit = _property("velocity_lower_limit")
    velocity_upper_limit = _property("velocity_upper_limit")
    velocity_limit = _property("velocity_limit")
    acceleration_lower_limit = _property("acceleration_lower_limit")
    acceleration_upper_limit = _property("acceleration_upper_limit")
    acceleration_limit = _property("acceleration_limit")
    force_lower_limit = _property("force_lower_limit")
    force_upper_limit = _property("force_upper_limit")
    force_limit = _property("force_limit")
    damping = _property("damping")
    armature = _property("armature")
    coulomb_friction = _property("coulomb_friction")
    spring_stiffness = _property("spring_stiffness")
    rest_position = _property("rest_position")
    position_gain = _property("position_gain")
    velocity_gain = _property("velocity_gain")
    initial_position = _property("initial_position")
    initial_velocity = _property("initial_velocity")

    def __init__(self, joint: Joint, index_in_joint: int, name: str | None):
        self.joint = joint
        self.index_in_joint = index_in_joint
        self._name = name

    @property
    def name(self) -> str:
        """Name, unique in the skeleton; one that is not given follows the joint's."""
        return name_with_joint(self, self.joint.name)

    @name.setter
    def name(self, value: str) -> None:
        if not isinstance(value, str) or not value:
            raise ModelError(f"dof {self.name!r}: name: expected a text, got {value!r}")
        skeleton = self.joint.skeleton
        others = self.joint.dofs if skeleton is None else skeleton.parts.dofs
        if any(dof is not self and dof.name == value for dof in others):
            raise ModelError(f"dof {self.name!r}: name: {value!r} is already used")
        rename(self, value)

    @property
    def is_cyclic(self) -> bool:
        """Whether it is an angle without position limits, so that a whole turn leads back.

        Rotation vectors of ball and free joints are so together: all three coordinates must be without limits.
        """
        joint, together = self.joint, [self.index_in_joint]
        kind = joint.coordinate_kind(self.index_in_joint)
        if kind is CoordinateKind.ROTATION:
            together = [j for j in range(joint.num_dofs) if joint.coordinate_kind(j) is kind]
        elif kind is not CoordinateKind.ANGLE:
            return False
        lower, upper = joint.get_property("position_lower_limit"), joint.get_property("position_upper_limit")
        return all(lower[j] == -math.inf and upper[j] == math.inf for j in together)

    @property
    def index(self) -> int:
        """Position of the coordinate in the skeleton's arrays."""
        return self.joint.coordinates.start + self.index_in_joint

    @property
    def actuator_type(self) -> ActuatorType:
        """What drives the coordinate; set it to an `ActuatorType` or its name, see `Joint.actuator_type`."""
        return self.joint.actuator_types[self.index_in_joint]

    @actuator_type.setter
    def actuator_type(self, value: Any) -> None:
        types = list(self.joint.actuator_types)
        types[self.index_in_joint] = actuator_type(value, f"dof {self.name!r}")
        self.joint.actuator_types = types

    @property
    def mimic(self) -> Mimic | None:
        """What the coordinate follows; see `Joint.mimic`."""
        return self.joint.mimics[self.index_in_joint]

    @mimic.setter
    def mimic(self, value: Mimic | None) -> None:
        mimics = list(self.joint.mimics)
        mimics[self.index_in_joint] = value
        self.joint.mimics = mimics

    @property
    def command(self) -> float:
        """What is asked of the actuator; see `Skeleton.commands`."""
        return float(self.joint.child.skeleton.commands[self.index])

    @command.setter
    def command(self, value: float) -> None:
        k = self.index
        self.joint.child.skeleton.current_state.set_commands(slice(k, k + 1), value, f"dof {self.name!r}: command")

    def __copy__(self) -> NoReturn:
        raise ModelError(
            f"{self!r} belongs to {self.joint!r} and cannot be copied; copy the joint, or clone the skeleton"
        )

    def __repr__(self) -> str:
        return f"DegreeOfFreedom({self.name!r})"


def name_with_joint(dof: DegreeOfFreedom, joint_name: str) -> str:
    """The name of a coordinate if its joint has the given one."""
    return joint_name + dof.joint.dof_suffixes[dof.index_in_joint] if dof._name is None else dof._name


def own_name(dof: DegreeOfFreedom) -> str | None:
    """The name that a coordinate was given; None: it follows the joint's."""
    return dof._name


def rename(dof: DegreeOfFreedom, name: str | None) -> None:
    """Give a coordinate a checked name, or None to follow the joint's."""
    dof._name = name
    if dof.joint.skeleton is not None:
        dof.joint.skeleton.parts.named.append(dof)
