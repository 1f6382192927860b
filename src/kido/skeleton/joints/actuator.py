"""Actuators as joints and coordinates hold them: types, what a mimic follows, checks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import dataclass
from kido.errors import KidoError, ModelError, NameLookupError
from kido.jit import Struct
from kido.joints import ActuatorType, JointKind
from kido.math.transform import as_flag, number_or_nan
from kido.skeleton.host import edits

if TYPE_CHECKING:
    from kido.skeleton.joints.degree_of_freedom import DegreeOfFreedom
    from kido.skeleton.joints.joint import Joint
    from kido.skeleton.skeleton import Skeleton

_NOT_COUPLED = (JointKind.BALL, JointKind.FREE)  # their velocities are not the rates of their positions


@dataclass(frozen=True)
class Mimic:
    """What a coordinate of a joint follows: q = multiplier * q_followed + offset.

    A world couples both coordinates as a gear does: u = multiplier * u_followed, with a force F on the one and
    -multiplier F on the other, so that no power is lost and each drags the other. The effective inertia of two
    bodies is I_followed + multiplier^2 I.

    Attributes:
        joint: name of the joint that is followed, in the same skeleton.
        multiplier: ratio.
        offset: [m or rad]
        dof: number of the coordinate in that joint; None: the same number as the follower's in its own, or 0 if
            that joint has one coordinate only.
        force_limit: most that |F| may be, whereupon the gear slips [N or N m].

    Raises:
        ModelError: a name that is no text; numbers that are not finite; a force limit below 0.
    """

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0
    dof: int | None = None
    force_limit: float = math.inf

    def __post_init__(self) -> None:
        if not isinstance(self.joint, str) or not self.joint:
            raise ModelError(f"mimic: joint: expected the name of a joint, got {self.joint!r}")
        for key in ("multiplier", "offset"):
            number = number_or_nan(getattr(self, key))
            if not math.isfinite(number):
                raise ModelError(f"mimic of joint {self.joint!r}: {key}: expected a finite number, got {number!r}")
            object.__setattr__(self, key, number)
        limit = number_or_nan(self.force_limit)
        if not limit >= 0.0:
            raise ModelError(f"mimic of joint {self.joint!r}: force_limit: expected a number not below 0, got {limit}")
        object.__setattr__(self, "force_limit", limit)
        dof = self.dof
        if dof is not None and (isinstance(dof, bool) or not isinstance(dof, int | np.integer) or dof < 0):
            raise ModelError(f"mimic of joint {self.joint!r}: dof: expected the number of a coordinate, got {dof!r}")


def actuator_type(value: Any, what: str) -> ActuatorType:
    """An actuator type from itself, its name in any case, or its number.

    Raises:
        ModelError: there is none such.
    """
    if isinstance(value, str) and value.upper() in ActuatorType.__members__:
        return ActuatorType[value.upper()]
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value in set(ActuatorType):
        return ActuatorType(int(value))
    names = ", ".join(t.name for t in ActuatorType)
    raise ModelError(f"{what}: actuator_type: expected one of {names}, got {value!r}")


class JointActuation:
    """What a joint says about the actuators of its coordinates."""

    if TYPE_CHECKING:
        name: str
        kind: Any
        _body: Any

        @property
        def num_dofs(self) -> int: ...

        @property
        def child(self) -> Any: ...

        @property
        def coordinates(self) -> slice: ...

        def get_property(self, key: str) -> NDArray[np.float64]: ...

        def _changed(self) -> None: ...

    def _init_actuation(self, actuator: Any, mimic: Mimic | None) -> None:
        n = self.num_dofs
        self._actuators = [ActuatorType.FORCE] * n
        self._mimics: list[Mimic | None] = [None] * n
        self._enforce_velocity_limits = False
        self._enforce_command_limits = True
        if mimic is not None:
            self.mimic = mimic
        if actuator is not None:
            self.actuator_type = actuator

    @edits
    def _set_actuators(self, types: list[ActuatorType], mimics: list[Mimic | None]) -> None:
        """Take checked types and mimics; coordinates whose type is new have no command and no force."""
        if types == self._actuators and mimics == self._mimics:
            return
        new = [k for k, (a, b) in enumerate(zip(types, self._actuators, strict=True)) if a != b]
        before = self._drives_body_axes
        self._actuators, self._mimics = types, mimics
        self._actuation_changed(before)
        if self._body is not None and new:
            first = self.coordinates.start
            self._body.skeleton.current_state.clear_commands([first + k for k in new])

    def _actuation_changed(self, drove_body_axes: bool) -> None:
        self._changed()
        if self._body is not None and drove_body_axes != self._drives_body_axes:
            self._body.skeleton.structure_changed()

    @property
    def actuator_type(self) -> ActuatorType | None:
        """Type of its actuators; None if its coordinates differ (see `DegreeOfFreedom.actuator_type`).

        Set it to an `ActuatorType` or its name, for all coordinates. Commands and forces of coordinates whose type
        changes become zero; those that become POSITION are asked to stay where they are. MIMIC needs `mimic`, POSITION
        a `position_gain` or `velocity_gain`.

        Raises (when set):
            ModelError: an unknown type, MIMIC without anything to follow, or POSITION without gains.
        """
        types = set(self._actuators)
        return types.pop() if len(types) == 1 else ActuatorType.FORCE if not types else None

    @actuator_type.setter
    def actuator_type(self, value: Any) -> None:
        self.actuator_types = [actuator_type(value, f"joint {self.name!r}")] * self.num_dofs

    @property
    def actuator_types(self) -> tuple[ActuatorType, ...]:
        """Type of the actuator of each of its coordinates; set it to as many types or names."""
        return tuple(self._actuators)

    @actuator_types.setter
    def actuator_types(self, value: Sequence[ActuatorType | str]) -> None:
        if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != self.num_dofs:
            raise ModelError(f"joint {self.name!r}: actuator_types: expected {self.num_dofs} types, got {value!r}")
        types = [actuator_type(v, f"joint {self.name!r}") for v in value]
        self._check_types(types)
        self._set_actuators(types, list(self._mimics))

    def _check_types(self, types: list[ActuatorType]) -> None:
        for kind, mimic in zip(types, self._mimics, strict=True):
            if kind == ActuatorType.MIMIC and mimic is None:
                raise ModelError(
                    f"joint {self.name!r}: actuator_type: MIMIC needs something to follow: set "
                    "mimic = kido.Mimic(joint, multiplier, offset)"
                )
        placed = [kind == ActuatorType.POSITION for kind in types]
        gains = self.get_property("position_gain") + self.get_property("velocity_gain")
        if any(placed) and not gains[placed].any():
            raise ModelError(
                f"joint {self.name!r}: actuator_type: POSITION needs gains: set position_gain [N/m, N m/rad] and "
                "velocity_gain [N s/m, N m s/rad] first"
            )
        together = [placed[k : k + 3] for k in range(0, len(placed), 3)] if self.kind in _NOT_COUPLED else []
        if any(any(three) and not all(three) for three in together):
            raise ModelError(
                f"joint {self.name!r}: actuator_type: the three coordinates of a {type(self).__name__}'s rotation, or "
                f"of its translation, are POSITION together or not at all; got {', '.join(k.name for k in types)}"
            )

    def _check_mimic(self, mimic: Any) -> None:
        if mimic is None:
            return
        if not isinstance(mimic, Mimic):
            raise ModelError(f"joint {self.name!r}: mimic: expected kido.Mimic(joint, ...) or None, got {mimic!r}")
        if self.kind in _NOT_COUPLED:
            raise ModelError(
                f"joint {self.name!r}: mimic: the velocities of a {type(self).__name__} are not the rates of its "
                "positions, so that it cannot follow another joint"
            )

    @property
    def mimic(self) -> Mimic | None:
        """What its coordinates follow; None if nothing, or not all the same (see `DegreeOfFreedom.mimic`).

        Setting it makes all its coordinates MIMIC; setting it to None makes them FORCE if they were MIMIC.
        """
        mimics = set(self._mimics)
        return mimics.pop() if len(mimics) == 1 else None

    @mimic.setter
    def mimic(self, value: Mimic | None) -> None:
        self._check_mimic(value)
        self.mimics = [value] * self.num_dofs

    @property
    def mimics(self) -> tuple[Mimic | None, ...]:
        """What each of its coordinates follows; set it to as many. Those that follow something new become MIMIC."""
        return tuple(self._mimics)

    @mimics.setter
    def mimics(self, value: Sequence[Mimic | None]) -> None:
        if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != self.num_dofs:
            expected = f"a list of {self.num_dofs}, each a kido.Mimic or None"
            raise ModelError(f"joint {self.name!r}: mimics: expected {expected}, got {value!r}")
        mimics, types = list(value), list(self._actuators)
        for k, mimic in enumerate(mimics):
            self._check_mimic(mimic)
            if mimic is not None and mimic != self._mimics[k]:
                types[k] = ActuatorType.MIMIC
            elif mimic is None and types[k] == ActuatorType.MIMIC:
                types[k] = ActuatorType.FORCE
        self._set_actuators(types, mimics)

    @property
    def commands(self) -> NDArray[np.float64]:
        """Commands of its coordinates (a copy); see `Skeleton.commands`."""
        return self.child.skeleton.commands[self.coordinates]

    @commands.setter
    def commands(self, value: ArrayLike) -> None:
        self.child.skeleton.current_state.set_commands(self.coordinates, value, f"joint {self.name!r}: commands")

    @property
    def enforce_velocity_limits(self) -> bool:
        """Whether worlds keep its velocities within their limits; by default they do not."""
        return self._enforce_velocity_limits

    @enforce_velocity_limits.setter
    @edits
    def enforce_velocity_limits(self, value: bool) -> None:
        before = self._drives_body_axes
        self._enforce_velocity_limits = as_flag(value, f"joint {self.name!r}: enforce_velocity_limits")
        self._actuation_changed(before)

    @property
    def enforce_command_limits(self) -> bool:
        """Whether commands act within its limits (`Skeleton.bounded_commands`); by default they do."""
        return self._enforce_command_limits

    @enforce_command_limits.setter
    @edits
    def enforce_command_limits(self, value: bool) -> None:
        self._enforce_command_limits = as_flag(value, f"joint {self.name!r}: enforce_command_limits")
        self._changed()

    @property
    def _drives_body_axes(self) -> bool:
        """Whether the linear velocity numbers of a free joint are driven or limited, so that a world must keep them.

        Else a world may integrate the joint with its linear velocity in fixed axes.
        """
        if self.kind != JointKind.FREE:
            return False
        driven = any(t not in (ActuatorType.FORCE, ActuatorType.PASSIVE) for t in self._actuators[3:])
        return driven or self._enforce_velocity_limits


def _followed_number(mimic: Mimic, k: int, other: Joint, what: str) -> int:
    """Number in a joint of the coordinate that a mimic of a joint's coordinate k follows."""
    if other.kind in _NOT_COUPLED:
        raise ModelError(
            f"{what}: joint {other.name!r} is a {type(other).__name__}, whose velocities are not the rates of its "
            "positions, so that none can follow it"
        )
    number = mimic.dof if mimic.dof is not None else k if other.num_dofs != 1 else 0
    if number >= other.num_dofs:
        raise ModelError(f"{what}: joint {other.name!r} has {other.num_dofs} coordinates, so none of number {number}")
    return number


def check_followers(old: Joint, new: Joint) -> None:
    """Refuse a joint in place of another if it has not what mimics of that one follow.

    Raises:
        ModelError: names the joint that mimics it.
    """
    for joint in old.child.skeleton.joints:
        for k, mimic in enumerate(joint._mimics):
            followed = mimic is not None and mimic.joint == old.name and joint._actuators[k] == ActuatorType.MIMIC
            if mimic is not None and followed and joint is not old:
                what = f"cannot put a {type(new).__name__} in place of joint {old.name!r}: joint {joint.name!r}: mimic"
                _followed_number(mimic, k, new, what)


def followed_dof(joint: Joint, k: int, skeleton: Skeleton) -> int:
    """Index in the skeleton of the coordinate that coordinate k of a joint mimics.

    Raises:
        NameLookupError: there is no joint of that name.
        ModelError: no coordinate of that number; one that cannot be followed; itself.
    """
    mimic = joint._mimics[k]
    assert mimic is not None
    what = f"skeleton {skeleton.name!r}: joint {joint.name!r}: mimic"
    other = skeleton.parts.joint_by_name.get(mimic.joint)
    if other is None:
        raise NameLookupError(f"joint (that {joint.name!r} mimics) in skeleton {skeleton.name!r}", mimic.joint,
                              list(skeleton.parts.joint_by_name))  # fmt: skip
    number = _followed_number(mimic, k, other, what)
    if other is joint and number == k:
        raise ModelError(f"{what}: it mimics itself")
    return other.dofs[number].index


def followed_dofs(skeleton: Skeleton) -> dict[int, int]:
    """For each coordinate of type MIMIC, the one that it follows.

    Raises:
        NameLookupError, ModelError: as `followed_dof`; and for coordinates that follow each other in a circle.
    """
    follows = {
        index: followed_dof(dof.joint, dof.index_in_joint, skeleton)
        for index, dof in enumerate(skeleton.parts.dofs)
        if dof.joint._actuators[dof.index_in_joint] == ActuatorType.MIMIC
    }
    for start in follows:
        path = [start]
        while path[-1] in follows:
            after = follows[path[-1]]
            if after in path:
                names = " -> ".join(skeleton.parts.dofs[k].name for k in [*path[path.index(after) :], after])
                raise ModelError(f"skeleton {skeleton.name!r}: mimics follow each other in a circle: {names}")
            path.append(after)
    return follows


def rename_followed(joints: Iterable[Joint], new: Mapping[str, str]) -> None:
    """Let what mimics a joint follow it to its new name."""
    for joint in joints:
        joint._mimics = [m if m is None else replace(m, joint=new.get(m.joint, m.joint)) for m in joint._mimics]


def fill_actuators(skeleton: Skeleton, joints: list[Joint], tree: Struct) -> None:
    """Write actuators, force limits of their rows and enforced velocity limits into a skeleton's tree.

    A mimic that follows nothing valid follows nothing here; worlds refuse it (`followed_dofs`).
    """
    k = 0
    for joint in joints:
        weakest, strongest = joint.get_property("force_lower_limit"), joint.get_property("force_upper_limit")
        slow, fast = np.full(joint.num_dofs, -np.inf), np.full(joint.num_dofs, np.inf)
        if joint.enforce_velocity_limits:
            slow, fast = joint.get_property("velocity_lower_limit"), joint.get_property("velocity_upper_limit")
        for i in range(joint.num_dofs):
            mimic = None if skeleton.kinematic else joint._mimics[i]
            # With accelerations that are zero, velocities stay as they are.
            tree.actuator[k] = ActuatorType.ACCELERATION if skeleton.kinematic else joint._actuators[i]
            tree.mimic[k], tree.multiplier[k], tree.offset[k] = 0, 0.0, 0.0
            least, most = weakest[i], strongest[i]
            if mimic is not None and joint._actuators[i] == ActuatorType.MIMIC:
                least, most = -mimic.force_limit, mimic.force_limit
                try:
                    tree.mimic[k] = followed_dof(joint, i, skeleton) - k
                except KidoError:
                    pass
                else:
                    tree.multiplier[k], tree.offset[k] = mimic.multiplier, mimic.offset
            tree.force_lower[k], tree.force_upper[k] = least, most
            tree.velocity_lower[k], tree.velocity_upper[k] = slow[i], fast[i]
            k += 1
    skeleton.command_bounds = None if skeleton.kinematic else _command_bounds(joints)
    skeleton.has_actuators = not all(ActuatorType(kind).takes_force for kind in set(tree.actuator.tolist()))


# What limits the command of an actuator.
_BOUNDED_BY = {
    ActuatorType.FORCE: "force",
    ActuatorType.MIMIC: "force",
    ActuatorType.SERVO: "velocity",
    ActuatorType.VELOCITY: "velocity",
    ActuatorType.ACCELERATION: "acceleration",
}


def _command_bounds(joints: list[Joint]) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Least and greatest command that acts, (dofs,) each, infinite where none is enforced; None: nowhere."""
    bounds: list[tuple[float, float]] = []
    for joint in joints:
        for i, kind in enumerate(joint._actuators):
            what = _BOUNDED_BY.get(kind) if joint._enforce_command_limits else None
            sides = [joint._properties[f"{what}_{side}_limit"][i] for side in ("lower", "upper")] if what else ()
            bounds.append((float(sides[0]), float(sides[1])) if sides else (-math.inf, math.inf))
    least, most = np.array(bounds, float).reshape(-1, 2).T.copy()
    return (least, most) if np.isfinite([least, most]).any() else None


def actuator_types_of(skeleton: Skeleton, value: Any) -> None:
    """Set the actuator types of all coordinates; see `Skeleton.actuator_types`."""
    dofs, what = skeleton.dofs, f"skeleton {skeleton.name!r}"
    n = len(dofs)
    if isinstance(value, str | int):
        value = [value] * n
    if not isinstance(value, Sequence) or len(value) != n:
        raise ModelError(f"{what}: actuator_types: expected one actuator type or {n}, got {value!r}")
    kinds = [actuator_type(v, f"{what}: dof {dof.name!r}") for v, dof in zip(value, dofs, strict=True)]
    set_actuator_types(dict(zip(dofs, kinds, strict=True)))


def set_actuator_types(types: Mapping[DegreeOfFreedom, ActuatorType]) -> None:
    """Set the actuator types of some coordinates, all or, where a joint refuses its own, none.

    Raises:
        ModelError: as of `Joint.actuator_type`.
    """
    wanted = {dof.joint: list(dof.joint._actuators) for dof in types}
    for dof, kind in types.items():
        wanted[dof.joint][dof.index_in_joint] = kind
    for joint, kinds in wanted.items():
        joint._check_types(kinds)
    for joint, kinds in wanted.items():
        joint._set_actuators(kinds, list(joint._mimics))
