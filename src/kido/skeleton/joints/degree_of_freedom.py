"""One generalized coordinate of a skeleton."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from kido.errors import ModelError
from kido.joints import ActuatorType
from kido.skeleton.attributes import FixedAttributes
from kido.skeleton.joints.actuator import Mimic, actuator_type
from kido.skeleton.joints.dof_properties import MEANINGS

if TYPE_CHECKING:
    from kido.skeleton.joints.joint import Joint


def _state(name: str, array: str, unit: str) -> Any:
    def read(self: DegreeOfFreedom) -> float:
        return self.joint.child.skeleton.current_state.read_number(array, self.index)

    def write(self: DegreeOfFreedom, value: float) -> None:
        state = self.joint.child.skeleton.current_state
        state.set_number(array, self.index, value, f"dof {self.name!r}: {name}")

    return property(read, write, doc=f"{name.capitalize()} of the coordinate {unit}.")


def _property(key: str) -> Any:
    def read(self: DegreeOfFreedom) -> float:
        return float(self.joint.get_property(key)[self.index_in_joint])

    def write(self: DegreeOfFreedom, value: float) -> None:
        self.joint._set_numbers(key, {self.index_in_joint: value})

    return property(read, write, doc=f"{MEANINGS[key]}.")


class DegreeOfFreedom(FixedAttributes):
    """A coordinate of a joint: its name, its state and its properties, one number each.

    State (`position`, `velocity`, `acceleration`, `force`) reads from and writes to the skeleton's arrays.
    Properties (`position_lower_limit`, `damping`, ...) are those of `Joint`.

    Attributes:
        joint: the joint that it is a coordinate of.
        index_in_joint: its place among the joint's.
    """

    joint: Joint
    index_in_joint: int

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
    coulomb_friction = _property("coulomb_friction")
    spring_stiffness = _property("spring_stiffness")
    rest_position = _property("rest_position")
    initial_position = _property("initial_position")
    initial_velocity = _property("initial_velocity")

    def __init__(self, joint: Joint, index_in_joint: int, name: str | None):
        self.joint = joint
        self.index_in_joint = index_in_joint
        self._name = name

    @property
    def name(self) -> str:
        """Name, unique in the skeleton; one that is not given follows the joint's."""
        return self._name_in(self.joint.name)

    @name.setter
    def name(self, value: str) -> None:
        if not isinstance(value, str) or not value:
            raise ModelError(f"dof {self.name!r}: name: expected a text, got {value!r}")
        body = self.joint._body
        others = self.joint.dofs if body is None else body.skeleton._dofs
        if any(dof is not self and dof.name == value for dof in others):
            raise ModelError(f"dof {self.name!r}: name: {value!r} is already used")
        self._name = value

    def _name_in(self, joint_name: str) -> str:
        """Its name if its joint has the given one."""
        if self._name is not None:
            return self._name
        return joint_name + self.joint.dof_suffixes[self.index_in_joint]

    @property
    def is_cyclic(self) -> bool:
        """Whether it is an angle without position limits, so that a whole turn leads back.

        Rotation vectors of ball and free joints are so together: all three coordinates must be without limits.
        """
        joint, k = self.joint, self.index_in_joint
        together = joint._cyclic_dofs(k)
        lower, upper = joint._properties["position_lower_limit"], joint._properties["position_upper_limit"]
        return bool(together) and all(lower[j] == -math.inf and upper[j] == math.inf for j in together)

    @property
    def index(self) -> int:
        """Position of the coordinate in the skeleton's arrays."""
        return self.joint._coordinates().start + self.index_in_joint

    @property
    def actuator_type(self) -> ActuatorType:
        """What drives the coordinate; set it to an `ActuatorType` or its name, see `Joint.actuator_type`."""
        return self.joint._actuators[self.index_in_joint]

    @actuator_type.setter
    def actuator_type(self, value: Any) -> None:
        joint = self.joint
        types = list(joint._actuators)
        types[self.index_in_joint] = actuator_type(value, f"dof {self.name!r}")
        joint._check_followed(types, joint._mimics)
        joint._set_actuators(types, list(joint._mimics))

    @property
    def mimic(self) -> Mimic | None:
        """What the coordinate follows; see `Joint.mimic`."""
        return self.joint._mimics[self.index_in_joint]

    @mimic.setter
    def mimic(self, value: Mimic | None) -> None:
        self.joint._check_mimic(value)
        mimics = list(self.joint._mimics)
        mimics[self.index_in_joint] = value
        self.joint._set_mimics(mimics)

    @property
    def command(self) -> float:
        """What is asked of the actuator; see `Skeleton.commands`."""
        return float(self.joint.child.skeleton.commands[self.index])

    @command.setter
    def command(self, value: float) -> None:
        k = self.index
        self.joint.child.skeleton.current_state.set_commands(slice(k, k + 1), value, f"dof {self.name!r}: command")

    def __repr__(self) -> str:
        return f"DegreeOfFreedom({self.name!r})"
