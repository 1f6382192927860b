"""One generalized coordinate of a skeleton."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kido.skeleton.joint import Joint


def _state(name: str, array: str) -> Any:
    def read(self: DegreeOfFreedom) -> float:
        return float(self.joint.child.skeleton._read_part(array, self.index))

    def write(self: DegreeOfFreedom, value: float) -> None:
        k = self.index
        self.joint.child.skeleton._set_part(array, slice(k, k + 1), value, f"dof {self.name!r}: {name}")

    return property(read, write, doc=f"{name.capitalize()} of the coordinate.")


def _property(key: str) -> Any:
    def read(self: DegreeOfFreedom) -> float:
        return float(self.joint._properties[key][self.index_in_joint])

    def write(self: DegreeOfFreedom, value: float) -> None:
        values: list[Any] = self.joint.get_property(key).tolist()
        values[self.index_in_joint] = value  # checked with the others
        self.joint.set_property(key, values)

    return property(read, write, doc=f"{key.replace('_', ' ').capitalize()} of the coordinate.")


class DegreeOfFreedom:
    """A coordinate of a joint: its name, its state and its properties, one number each.

    State (`position`, `velocity`, `acceleration`, `force`) reads from and writes to the skeleton's arrays.
    Properties (`position_lower_limit`, `damping`, ...) are those of `Joint`.
    """

    position = _state("position", "q")
    velocity = _state("velocity", "u")
    acceleration = _state("acceleration", "udot")
    force = _state("force", "tau")
    position_lower_limit = _property("position_lower_limit")
    position_upper_limit = _property("position_upper_limit")
    velocity_limit = _property("velocity_limit")
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
        """Name, unique in the skeleton."""
        return self._name_in(self.joint.name)

    def _name_in(self, joint_name: str) -> str:
        """Its name if its joint has the given one."""
        if self._name is not None:
            return self._name
        return joint_name + self.joint.dof_suffixes[self.index_in_joint]

    @property
    def index(self) -> int:
        """Position of the coordinate in the skeleton's arrays."""
        return self.joint._coordinates().start + self.index_in_joint

    def __repr__(self) -> str:
        return f"DegreeOfFreedom({self.name!r})"
