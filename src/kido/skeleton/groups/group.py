"""Groups: any bodies, joints and coordinates, of one skeleton or several, handled as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from kido.arrays import fixed, read_only_copy, settable
from kido.attributes import FixedAttributes
from kido.errors import ModelError, NameLookupError, StateError
from kido.joints import ActuatorType
from kido.math.transform import as_numbers
from kido.quantities import TABLE, Quantity
from kido.skeleton.body_node import BodyNode
from kido.skeleton.groups.quantities import GroupQuantities, form
from kido.skeleton.joints.actuator import set_actuator_types
from kido.skeleton.joints.coordinates import DOF_PROPERTIES, MEANINGS, SYMMETRIC_LIMITS
from kido.skeleton.joints.degree_of_freedom import DegreeOfFreedom
from kido.skeleton.joints.joint import Joint, write_properties
from kido.skeleton.nodes.node import JacobianNode

if TYPE_CHECKING:
    from kido.skeleton.skeleton import Skeleton

Array = NDArray[np.float64]


class Share(NamedTuple):
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
    kind = settable(name)

    def read(self: Group) -> Array:
        return read_only_copy(kind, self._gather(name))

    def write(self: Group, value: ArrayLike) -> None:
        self._scatter(name, value)

    return property(read, write, doc=f"{name.capitalize()} of the group's coordinates {unit} (a copy).")


def _limit(key: str) -> Any:
    kind = settable(key)

    def read(self: Group) -> Array:
        numbers = [dof.joint.get_property(key)[dof.index_in_joint] for dof in self._current_dofs()]
        return read_only_copy(kind, np.array(numbers, dtype=np.float64))

    def write(self: Group, value: ArrayLike) -> None:
        self._set_property(key, value)

    return property(read, write, doc=f"{MEANINGS[key]}. One number for each coordinate (a copy).")


class Group(GroupQuantities, FixedAttributes):
    """A view of any bodies, joints and coordinates, of one skeleton or of several.

    Sums (mass, momentum, energies, centre of mass) are over its bodies. Jacobians and dynamics are with respect to its
    coordinates, in its own order: rows and columns of the skeletons' results. In its dynamics all other coordinates
    are held: they do not accelerate, and keep the positions and velocities that they have.

    It holds bodies, joints and coordinates themselves, not their numbers, so it stays right when skeletons are
    edited, as long as its joints are in place: one that was replaced is reported by an error.

    Args:
        bodies: its bodies.
        joints: its joints; None for those above its bodies.
        dofs: its coordinates; None for all of its joints.
        name: for messages.

    Raises:
        ModelError: something is listed twice, or is of another kind.

    Example:
        >>> arms = Group([*Chain(torso, left_hand), *Chain(torso, right_hand)], name="arms")
        >>> arms.positions = np.zeros(arms.num_dofs)
        >>> J = arms.jacobian(left_hand)
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
        self._parts: list[Share] = []
        self._parts_key: Any = None
        self._unlocked: dict[DegreeOfFreedom, ActuatorType] = {}
        _ = self.shares

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
        _ = self.shares
        return self._dofs

    @property
    def shares(self) -> tuple[Share, ...]:
        """Its share of each skeleton, found anew when one of them has changed.

        Raises:
            ModelError: a joint is no longer above any body.
        """
        if self._parts_key is not None:
            if all(s.structure_version == version for s, version in self._parts_key):
                return tuple(self._parts)
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
            parts.append(Share(skeleton, np.array(rows, np.intp), np.array(dofs, np.intp), bodies))
        self._parts = parts
        self._parts_key = [(part.skeleton, part.skeleton.structure_version) for part in parts]
        return tuple(parts)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_parts": [], "_parts_key": None}

    # Contents --------------------------------------------------------------------------------------------

    @property
    def bodies(self) -> tuple[BodyNode, ...]:
        """Its bodies, in the order given."""
        return tuple(self._bodies)

    @property
    def joints(self) -> tuple[Joint, ...]:
        """Its joints, in the order given."""
        return tuple(self._joints)

    @property
    def dofs(self) -> tuple[DegreeOfFreedom, ...]:
        """Its coordinates, in the order of its arrays."""
        return tuple(self._dofs)

    @property
    def num_bodies(self) -> int:
        """Number of bodies."""
        return len(self._bodies)

    @property
    def num_dofs(self) -> int:
        """Number of coordinates."""
        return len(self._dofs)

    @property
    def skeletons(self) -> tuple[Skeleton, ...]:
        """The skeletons that its parts are of."""
        return tuple(part.skeleton for part in self.shares)

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

    def _gather(self, name: str) -> Array:
        parts = self.shares
        if len(parts) == 1:
            return np.asarray(getattr(parts[0].skeleton, name))[parts[0].dofs]
        out = np.empty(self.num_dofs)
        for part in parts:
            out[part.rows] = getattr(part.skeleton, name)[part.dofs]
        return out

    def _scatter(self, name: str, value: ArrayLike) -> None:
        vector = vector_of(self, value, name)
        wholes = [(part, np.array(getattr(part.skeleton, name))) for part in self.shares if len(part.rows)]
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
        new: dict[int, dict[int, float]] = {which: {} for which in joints}
        for dof, number in zip(dofs, array.tolist(), strict=True):
            new[id(dof.joint)][dof.index_in_joint] = number
        checked = [(joint, joint.checked_property(key, new[which])) for which, joint in joints.items()]
        for joint, values in checked:
            write_properties(joint, values)

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
        open_ones = [dof for dof in self._current_dofs() if dof.actuator_type != ActuatorType.LOCKED]
        before = {dof: dof.actuator_type for dof in open_ones}
        set_actuator_types(dict.fromkeys(open_ones, ActuatorType.LOCKED))
        self._unlocked |= before

    def unlock(self) -> None:
        """Give the coordinates that `lock` locked their actuators back."""
        _ = self.shares
        locked = {dof: kind for dof, kind in self._unlocked.items() if dof.actuator_type == ActuatorType.LOCKED}
        set_actuator_types(locked)
        self._unlocked = {}

    # Dynamics, all other coordinates held ------------------------------------------------------------------

    @property
    def mass(self) -> float:
        """Mass of its bodies [kg]."""
        return float(sum(body.inertia.mass for body in self.bodies))

    @property
    def inverse_mass_matrix(self) -> Array:
        """Inverse (dofs, dofs) of `mass_matrix`: accelerations per force while all other coordinates are held.

        DART's is a block of the inverse of the whole mass matrix, in which the others are free to move.

        Raises:
            ModelError: a coordinate moves no mass.
        """
        return fixed(self._solve(self.mass_matrix, np.eye(self.num_dofs)))

    def _solve(self, M: Array, b: Array) -> Array:
        try:
            L = np.linalg.cholesky(M)
        except np.linalg.LinAlgError:
            raise ModelError(f"group {self.name!r}: its mass matrix is not positive definite") from None
        return scipy.linalg.solve_triangular(L.T, scipy.linalg.solve_triangular(L, b, lower=True), lower=False)

    @property
    def constraint_forces(self) -> Array:
        """Its coordinates' share (dofs,) of the forces of contacts and limits in the world's last step."""
        return fixed(self._gather("constraint_forces"))

    @staticmethod
    def _filled(part: Share, name: str, values: Array) -> Array:
        whole = np.array(getattr(part.skeleton, name))
        whole[part.dofs] = values[part.rows]
        return whole

    def inverse_dynamics(
        self,
        positions: ArrayLike | None = None,
        velocities: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
    ) -> Array:
        """Joint forces (dofs,) that give its coordinates accelerations while the others do not accelerate.

        External forces are not part of it. The current state stays.

        Args:
            positions, velocities, accelerations: of its coordinates; None for those held. All others are at the held
                positions and velocities.

        Raises:
            StateError: the wrong size, or not finite.
        """
        q, u = given_of(self, "positions", positions), given_of(self, "velocities", velocities)
        udot, out = given_of(self, "accelerations", accelerations), np.empty(self.num_dofs)
        for part in self.shares:
            skeleton, full = part.skeleton, np.zeros(part.skeleton.num_dofs)
            full[part.dofs] = udot[part.rows]
            state = self._filled(part, "positions", q), self._filled(part, "velocities", u)
            out[part.rows] = skeleton.inverse_dynamics(*state, full)[part.dofs]
        return out

    def forward_dynamics(
        self,
        positions: ArrayLike | None = None,
        velocities: ArrayLike | None = None,
        forces: ArrayLike | None = None,
    ) -> Array:
        """Accelerations (dofs,) of its coordinates under joint forces while the others do not accelerate.

        External forces are not part of it. The current state stays.

        Args:
            positions, velocities, forces: of its coordinates; None for those held. All others are at the held
                positions and velocities.

        Raises:
            StateError: the wrong size, or not finite.
            ModelError: a coordinate moves no mass.
        """
        q, u = given_of(self, "positions", positions), given_of(self, "velocities", velocities)
        tau, out = given_of(self, "forces", forces), np.empty(self.num_dofs)
        for part in self.shares:
            if not len(part.rows):
                continue
            skeleton, values = part.skeleton, np.zeros(part.skeleton.num_dofs)
            values[part.dofs] = tau[part.rows]
            held = np.setdiff1d(np.arange(skeleton.num_dofs), part.dofs).tolist()
            state = self._filled(part, "positions", q), self._filled(part, "velocities", u)
            out[part.rows] = skeleton.hybrid_dynamics(*state, values, held)[0][part.dofs]
        return out

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.num_bodies} bodies, {self.num_dofs} dofs)"


def with_parts(bodies: Iterable[BodyNode]) -> list[BodyNode]:
    """Bodies, and the bodies of modes and nodes of flexible ones among them, each once."""
    listed = list(bodies)
    parts = [child for body in listed for child in body.children if child.parent_joint.is_part]
    return list(dict.fromkeys([*listed, *parts]))


def vector_of(group: Group, value: ArrayLike, what: str) -> Array:
    """A finite number for each coordinate of a group."""
    try:
        array = as_numbers(value)
    except (TypeError, ValueError):
        raise StateError(f"group {group.name!r}: {what}: expected {group.num_dofs} numbers, got {value!r}") from None
    if array.shape != (group.num_dofs,):
        raise StateError(
            f"group {group.name!r}: {what}: expected {group.num_dofs} numbers, one for each of its coordinates, got "
            f"an array of shape {array.shape}"
        )
    if not np.isfinite(array).all():
        k = int(np.flatnonzero(~np.isfinite(array))[0])
        raise StateError(
            f"group {group.name!r}: {what}: expected finite numbers, got {array[k]} for dof {k} "
            f"({group._dofs[k].name!r})"
        )
    return array


def given_of(group: Group, name: str, value: ArrayLike | None) -> Array:
    """Numbers given for the coordinates of a group, or those that they have."""
    return getattr(group, name) if value is None else vector_of(group, value, name)


# Quantities: how they follow from those of skeletons --------------------------------------------------------


def of_bodies_summed(group: Group, row: Quantity, **given: Any) -> Any:
    """What its bodies of each skeleton have, added up."""
    shares = [row.current(part.skeleton, bodies=part.bodies, **given) for part in group.shares if part.bodies]
    return np.sum([np.zeros(row.shape), *shares], axis=0) if row.shape else float(sum(shares))


def of_bodies_averaged(group: Group, row: Quantity, **given: Any) -> Any:
    """The mean by mass of what its bodies of each skeleton have; of Jacobians the columns of its coordinates.

    Raises:
        ModelError: its bodies have no mass.
    """
    mean, total = np.zeros([group.num_dofs if size == "dofs" else size for size in row.shape]), 0.0
    for part in group.shares:
        mass = part.skeleton.current_state.mass_of(part.bodies) if part.bodies else 0.0
        if mass > 0.0:
            value = mass * row.current(part.skeleton, bodies=part.bodies, **given)
            if row.shape[-1] == "dofs":
                mean[:, part.rows] += value[:, part.dofs]
            else:
                mean += value
            total += mass
    if total == 0.0:
        raise ModelError(f"group {group.name!r} has no mass, so no centre of mass")
    return mean / total


def of_coordinates(group: Group, row: Quantity) -> Any:
    """Rows, and columns where there are, of its coordinates in those of the skeletons."""
    out = np.zeros([group.num_dofs] * len(row.shape))
    for part in group.shares:
        value = row.current(part.skeleton)
        out[np.ix_(*[part.rows] * out.ndim)] = value[np.ix_(*[part.dofs] * out.ndim)]
    return out


def of_a_node(group: Group, row: Quantity, node: Any, **given: Any) -> Any:
    """Columns of its coordinates in the Jacobian of a node, in the group or not; those that do not move it are zero.

    Raises:
        ModelError: no node.
    """
    if not isinstance(node, JacobianNode):
        raise ModelError(f"group {group.name!r}: expected a body or a node on one, got {node!r}")
    home = node._carrier[0].skeleton
    J = np.zeros((row.shape[0], group.num_dofs))
    for part in group.shares:
        if part.skeleton is home:
            J[:, part.rows] = row.current(home, node, **given)[:, part.dofs]
    return J


FORMS = {
    "sum": (of_bodies_summed, "The sum over its bodies."),
    "mean": (of_bodies_averaged, "Of its bodies.\n\nRaises:\n    ModelError: they have no mass."),
    "share": (of_coordinates, "Its coordinates' share: all bodies that they move count, whether in the group or not."),
    "columns": (of_a_node, "Columns of its coordinates: what its velocities give any node, in the group or not."),
}
for _row in TABLE.values():
    if _row.group:
        setattr(GroupQuantities, _row.name, form(_row, _row.of_group, *FORMS[_row.group]))
