"""Groups: any bodies, joints and coordinates, of one skeleton or several, handled as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError, NameLookupError, StateError
from kido.joints import ActuatorType
from kido.math.transform import as_numbers
from kido.skeleton.body_node import BodyNode
from kido.skeleton.joints.coordinates import DOF_PROPERTIES, MEANINGS, SYMMETRIC_LIMITS
from kido.skeleton.joints.degree_of_freedom import DegreeOfFreedom
from kido.skeleton.joints.joint import Joint

if TYPE_CHECKING:
    from kido.skeleton.skeleton import Skeleton

Array = NDArray[np.float64]


class Part(NamedTuple):
    """A group's share of one skeleton.

    Attributes:
        skeleton: the skeleton.
        rows: places of its coordinates in the group's arrays.
        dofs: the same coordinates' places in the skeleton's arrays.
        bodies: indices of its bodies.
    """

    skeleton: Skeleton
    rows: NDArray[np.intp]
    dofs: NDArray[np.intp]
    bodies: tuple[int, ...]


def _state(name: str, unit: str) -> Any:
    def read(self: GroupState) -> Array:
        return self._gather(name)

    def write(self: GroupState, value: ArrayLike) -> None:
        self._scatter(name, value)

    return property(read, write, doc=f"{name.capitalize()} of the group's coordinates {unit} (a copy).")


def _limit(key: str) -> Any:
    def read(self: GroupState) -> Array:
        return np.array([dof.joint.get_property(key)[dof.index_in_joint] for dof in self._current_dofs()])

    def write(self: GroupState, value: ArrayLike) -> None:
        self._set_property(key, value)

    return property(read, write, doc=f"{MEANINGS[key]}. One number for each coordinate (a copy).")


class GroupState:
    """Contents of a group and the state of its coordinates.

    A group holds bodies, joints and coordinates themselves, not their numbers, so it stays right when skeletons are
    edited, as long as its joints are in place: one that was replaced is reported by an error.
    """

    positions = _state("positions", "[m, rad]")
    velocities = _state("velocities", "[m/s, rad/s]")
    accelerations = _state("accelerations", "[m/s^2, rad/s^2]")
    forces = _state("forces", "[N, N m]")
    commands = _state("commands", "(see `Skeleton.commands`)")
    position_lower_limit = _limit("position_lower_limit")
    position_upper_limit = _limit("position_upper_limit")
    velocity_limit = _limit("velocity_limit")
    force_limit = _limit("force_limit")

    def __init__(
        self,
        bodies: Iterable[BodyNode] = (),
        joints: Iterable[Joint] | None = None,
        dofs: Iterable[DegreeOfFreedom] | None = None,
        name: str = "group",
    ):
        self.name = name
        self._bodies = self._listed(bodies, BodyNode, "bodies")
        above = [body.parent_joint for body in self._bodies] if joints is None else joints
        self._joints = self._listed(above, Joint, "joints")
        of_joints = [dof for joint in self._joints for dof in joint.dofs] if dofs is None else dofs
        self._dofs = self._listed(of_joints, DegreeOfFreedom, "dofs")
        self._parts: list[Part] = []
        self._parts_key: Any = None
        self._unlocked: dict[DegreeOfFreedom, ActuatorType] = {}
        self._current_parts()

    def _listed(self, items: Any, kind: type, what: str) -> list[Any]:
        if isinstance(items, kind):
            items = [items]
        if not isinstance(items, Iterable):
            raise ModelError(f"group {self.name!r}: {what}: expected a list, got {items!r}")
        found = list(items)
        for item in found:
            if not isinstance(item, kind):
                raise ModelError(f"group {self.name!r}: {what}: expected {kind.__name__} objects, got {item!r}")
        if len(set(map(id, found))) != len(found):
            twice = next(item for k, item in enumerate(found) if any(item is other for other in found[:k]))
            raise ModelError(f"group {self.name!r}: {what}: {twice.name!r} is listed twice")
        return found

    # Where its parts are ---------------------------------------------------------------------------------

    def _current_dofs(self) -> list[DegreeOfFreedom]:
        self._current_parts()
        return self._dofs

    def _current_parts(self) -> list[Part]:
        """Share of each skeleton, found anew when one of them has changed.

        Raises:
            ModelError: a joint is no longer above any body.
        """
        if self._parts_key is not None:
            if all(s.structure_version == version for s, version in self._parts_key):
                return self._parts
        for joint in {id(j): j for j in [*self._joints, *(dof.joint for dof in self._dofs)]}.values():
            if joint.skeleton is None:
                raise ModelError(
                    f"group {self.name!r} is out of date: joint {joint.name!r} was replaced and moves no body; "
                    "make a new group"
                )
        owners = [dof.joint.child.skeleton for dof in self._dofs]
        homes = [body.skeleton for body in self._bodies]
        skeletons = {id(s): s for s in [*homes, *owners, *(j.child.skeleton for j in self._joints)]}
        parts = []
        for skeleton in skeletons.values():
            place = {dof: k for k, dof in enumerate(skeleton.parts.dofs)}
            rows = [k for k, owner in enumerate(owners) if owner is skeleton]
            dofs = [place[self._dofs[k]] for k in rows]
            bodies = tuple(sorted(body._index for body in self._bodies if body.skeleton is skeleton))
            parts.append(Part(skeleton, np.array(rows, np.intp), np.array(dofs, np.intp), bodies))
        self._parts = parts
        self._parts_key = [(part.skeleton, part.skeleton.structure_version) for part in parts]
        return parts

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_parts": [], "_parts_key": None}

    # Contents --------------------------------------------------------------------------------------------

    @property
    def bodies(self) -> list[BodyNode]:
        """Its bodies, in the order given."""
        return list(self._bodies)

    @property
    def joints(self) -> list[Joint]:
        """Its joints, in the order given."""
        return list(self._joints)

    @property
    def dofs(self) -> list[DegreeOfFreedom]:
        """Its coordinates, in the order of its arrays."""
        return list(self._dofs)

    @property
    def num_bodies(self) -> int:
        """Number of bodies."""
        return len(self._bodies)

    @property
    def num_dofs(self) -> int:
        """Number of coordinates."""
        return len(self._dofs)

    @property
    def skeletons(self) -> list[Skeleton]:
        """The skeletons that its parts are of."""
        return [part.skeleton for part in self._current_parts()]

    def body(self, key: str | int) -> BodyNode:
        """A body by name or place.

        Raises:
            NameLookupError: there is none, or there are several of that name.
        """
        return self._lookup("body", key, self._bodies)

    def joint(self, key: str | int) -> Joint:
        """A joint by name or place. Raises as `body`."""
        return self._lookup("joint", key, self._joints)

    def dof(self, key: str | int) -> DegreeOfFreedom:
        """A coordinate by name or place. Raises as `body`."""
        return self._lookup("dof", key, self._dofs)

    def _lookup(self, what: str, key: str | int, items: list[Any]) -> Any:
        found = [item for item in items if item.name == key] if isinstance(key, str) else []
        if isinstance(key, int | np.integer) and not isinstance(key, bool) and -len(items) <= key < len(items):
            found = [items[key]]
        if len(found) != 1:
            several = f" ({len(found)} have it)" if found else ""
            raise NameLookupError(f"{what} in group {self.name!r}{several}", key, [item.name for item in items])
        return found[0]

    def __iter__(self) -> Iterator[BodyNode]:
        return iter(self.bodies)

    def __len__(self) -> int:
        return len(self._bodies)

    def __contains__(self, item: object) -> bool:
        return any(item is own for own in (*self._bodies, *self._joints, *self._dofs))

    # State -----------------------------------------------------------------------------------------------

    def _vector(self, value: ArrayLike, what: str) -> Array:
        try:
            array = as_numbers(value)
        except (TypeError, ValueError):
            raise StateError(f"group {self.name!r}: {what}: expected {self.num_dofs} numbers, got {value!r}") from None
        if array.shape != (self.num_dofs,):
            raise StateError(
                f"group {self.name!r}: {what}: expected {self.num_dofs} numbers, one for each of its coordinates, got "
                f"an array of shape {array.shape}"
            )
        if not np.isfinite(array).all():
            k = int(np.flatnonzero(~np.isfinite(array))[0])
            raise StateError(
                f"group {self.name!r}: {what}: expected finite numbers, got {array[k]} for dof {k} "
                f"({self._dofs[k].name!r})"
            )
        return array

    def _gather(self, name: str) -> Array:
        parts = self._current_parts()
        if len(parts) == 1:
            return getattr(parts[0].skeleton, name)[parts[0].dofs]
        out = np.empty(self.num_dofs)
        for part in parts:
            out[part.rows] = getattr(part.skeleton, name)[part.dofs]
        return out

    def _scatter(self, name: str, value: ArrayLike) -> None:
        vector = self._vector(value, name)
        wholes = [(part, getattr(part.skeleton, name)) for part in self._current_parts() if len(part.rows)]
        before = [(part.skeleton, whole.copy()) for part, whole in wholes]
        try:
            for part, whole in wholes:
                whole[part.dofs] = vector[part.rows]
                setattr(part.skeleton, name, whole)
        except StateError:
            for skeleton, whole in before:
                setattr(skeleton, name, whole)
            raise

    def _set_property(self, key: str, value: ArrayLike) -> None:
        dofs = self._current_dofs()
        try:
            array = np.broadcast_to(as_numbers(value), (len(dofs),))
        except (TypeError, ValueError):
            raise ModelError(f"group {self.name!r}: {key}: expected one number or {len(dofs)}, got {value!r}") from None
        joints = {id(dof.joint): dof.joint for dof in dofs}
        before = {which: dict(joint._properties) for which, joint in joints.items()}
        new: dict[int, dict[int, float]] = {which: {} for which in joints}
        for dof, number in zip(dofs, array.tolist(), strict=True):
            new[id(dof.joint)][dof.index_in_joint] = number
        try:
            for which, joint in joints.items():
                joint.set_property(key, new[which])
        except ModelError:
            for which, joint in joints.items():
                joint._properties = before[which]
                joint._changed()
            raise

    def get_property(self, key: str) -> Array:
        """A property of its coordinates, such as "damping" (a copy); `Joint` lists them.

        Raises:
            ModelError: there is no such property.
        """
        self._check_property(key)
        return np.array([dof.joint.get_property(key)[dof.index_in_joint] for dof in self._current_dofs()])

    def set_property(self, key: str, value: ArrayLike) -> None:
        """Set a property of its coordinates: one number for each, or one for all.

        Raises:
            ModelError: there is no such property, or a value that a joint refuses; nothing is changed.
        """
        self._check_property(key)
        self._set_property(key, value)

    def _check_property(self, key: str) -> None:
        valid = [*DOF_PROPERTIES, *SYMMETRIC_LIMITS]
        if not isinstance(key, str) or key not in valid:
            raise ModelError(f"group {self.name!r}: no property {key!r}; joints have {', '.join(valid)}")

    # Locks -----------------------------------------------------------------------------------------------

    def lock(self) -> None:
        """Make the actuators of its coordinates LOCKED: worlds and forward dynamics hold them.

        Commands of these coordinates become zero. `unlock` gives them the actuators back that they had.
        """
        for dof in self._current_dofs():
            if dof.actuator_type != ActuatorType.LOCKED:
                self._unlocked[dof] = dof.actuator_type
                dof.actuator_type = ActuatorType.LOCKED

    def unlock(self) -> None:
        """Give the coordinates that `lock` locked their actuators back."""
        self._current_parts()
        for dof, kind in self._unlocked.items():
            if dof.actuator_type == ActuatorType.LOCKED:
                dof.actuator_type = kind
        self._unlocked = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.num_bodies} bodies, {self.num_dofs} dofs)"
