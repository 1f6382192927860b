"""What a skeleton is a description of, at one moment: its numbers, its loads, and all that is computed from them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.arrays import read_only_copy, settable
from kido.callers import warn_user
from kido.errors import StateError
from kido.jit import REFUSALS
from kido.joints import ActuatorType
from kido.kernels import current
from kido.math.transform import as_numbers
from kido.skeleton.state import limits
from kido.skeleton.state.actuation import TAKES_FORCE, TAKES_MOTION, is_prescribed, join_commands
from kido.skeleton.state.arrays import STATE_FIELDS, Array
from kido.skeleton.state.loads import wrench_of_row
from kido.skeleton.state.members import NUMBERS
from kido.skeleton.state.places import Places
from kido.skeleton.state.subsets import Dofs, indices_of
from kido.skeleton.state.view import StateView
from kido.turns import Turn, in_turn

if TYPE_CHECKING:
    from kido.skeleton.joints.joint import Joint

_FIELD = {name: row[0] for name, row in NUMBERS.items()}
_NAME = {row[0]: name for name, row in NUMBERS.items()}

_COMMANDS, _JOINT_IMPULSES = settable("commands"), settable("joint_impulses")


def numbers_of(value: ArrayLike, size: int, what: str) -> Array:
    """A new vector of finite numbers from as many, or from one for all.

    Raises:
        StateError: the wrong size, or not finite.
    """
    try:
        source = np.array(np.broadcast_to(as_numbers(value), (size,)))
    except (TypeError, ValueError):
        raise StateError(f"{what}: expected {size} numbers, got {value!r}") from None
    if not np.isfinite(source).all():
        raise StateError(f"{what}: expected finite numbers, got {source.tolist()}")
    return source


class State(Places, StateView):
    """A state of a skeleton: positions, velocities, accelerations, forces and loads, and results of them.

    Nothing has to be updated by hand: setting positions makes what depends on them stale, and asking for a
    result computes what it needs. Setting velocities leaves what depends on positions alone valid.

    `skeleton.state` is the current one, which bodies and frames show, and worlds move. `skeleton.new_state()` makes
    others, for planners, estimators or threads. A state belongs to one thread at a time; states of one skeleton that is
    not edited meanwhile may be used by several at once.

    Example:
        >>> other = skeleton.new_state()
        >>> other.positions = [0.5]
        >>> other.mass_matrix, other.jacobian("link")
    """

    @property
    def current_state(self) -> State:
        """Itself: what a skeleton has by this name."""
        return self

    @property
    def state(self) -> State:
        """Itself."""
        return self

    @property
    def turn(self) -> Turn:
        """Whose turn it is to change it: of the current state that of the skeleton."""
        skeleton = self.skeleton
        return skeleton.turn if skeleton.current_state is self else self._turn

    def copy(self) -> State:
        """Another state of the skeleton with the same numbers and loads."""
        d, made = self.compiled(), self.skeleton.empty_state()
        made.applied = {index: row.copy() for index, row in self.applied.items()}
        made.impulses = {index: row.copy() for index, row in self.impulses.items()}
        made.own_joint_impulses = None if self.own_joint_impulses is None else self.own_joint_impulses.copy()
        own = made.compiled()
        for field in (*STATE_FIELDS, "external", "has_external"):
            getattr(own, field)[:] = getattr(d, field)
        return made

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> State:
        return self.copy()

    # Numbers ---------------------------------------------------------------------------------------------

    def assign(self, name: str, value: ArrayLike, dofs: Any = None) -> None:
        """Set positions, velocities, accelerations or forces (by name) from anything that holds numbers.

        Args:
            dofs: coordinates that the user has named, if not all.

        Raises:
            StateError: the wrong size, or not finite.
        """
        source = self.vector(value, self.skeleton.num_dofs, name)
        w = self.settled or self.settle()
        status = NUMBERS[name][1](w.tree, w.held, source)
        if status == current.REFUSED:
            self.raise_not_finite(name, source)
        if status >= current.CHANGED:
            self._changed(name, status, dofs)

    def _changed(self, name: str, status: int, dofs: Any) -> None:
        self.renew(*NUMBERS[name][2])
        if status == current.OUTSIDE:
            self.warn_of_limits(dofs)

    def warn_of_limits(self, dofs: Any = None) -> None:
        """Warn a user who has set positions, of some coordinates or all, that are beyond limits."""
        chosen = slice(None) if dofs is None else dofs
        what = partial(limits.outside_text, self.skeleton, self.tree, self.data.q, chosen)
        warn_user("limits", what, ("kido.skeleton", "kido.jit.members"))

    def read(self, field: str) -> Array:
        """A field of the data (a copy)."""
        return getattr(self.compiled(), field).copy()

    def read_number(self, field: str, index: int) -> float:
        """One coordinate's number in a field of the data."""
        return float(getattr(self.compiled(), field)[index])

    def set_number(self, field: str, k: int, value: Any, what: str) -> None:
        """Set a coordinate's number in a field of the data.

        Raises:
            StateError: it is none, or not finite.
        """
        w = self.settled or self.settle()
        try:
            status = current.set_number.call(w.tree, w.held, STATE_FIELDS.index(field), k, value)
        except REFUSALS:
            status = current.REFUSED
        if status >= current.CHANGED:
            self._changed(_NAME[field], status, slice(k, k + 1))
        elif status == current.REFUSED:
            self.set_part(field, slice(k, k + 1), value, what)

    def set_part(self, field: str, part: slice, value: ArrayLike, what: str) -> None:
        """Set some coordinates' numbers in a field of the data."""
        whole = self.read(field)
        whole[part] = numbers_of(value, part.stop - part.start, what)
        self.assign(_NAME[field], whole, part)

    def joint_slice(self, joint: Joint) -> slice:
        """Where a joint's coordinates are."""
        first = self.skeleton.parts.dofs.index(joint.dofs[0]) if joint.dofs else 0
        return slice(first, first + joint.num_dofs)

    def get_positions(self, dofs: Dofs | None = None) -> Array:
        """Positions [m, rad] of some coordinates (a copy).

        Args:
            dofs: an index, a name, a slice or range of indices, a `DegreeOfFreedom`, or a sequence of these, whose
                order the result has; None: all coordinates.

        Raises:
            NameLookupError: there is no such coordinate.
        """
        return self._get_some("q", dofs)

    def set_positions(self, values: ArrayLike, dofs: Dofs | None = None) -> None:
        """Set positions [m, rad] of some coordinates; the others stay as they are.

        Args:
            values: one number for each coordinate, in the order of `dofs`, or one for all of them.
            dofs: an index, a name, a slice or range of indices, a `DegreeOfFreedom`, or a sequence of these; None:
                all coordinates.

        Raises:
            NameLookupError: there is no such coordinate.
            StateError: a coordinate is named twice, or the values are too few, too many or not finite.
        """
        self._set_some("q", values, dofs)

    def get_velocities(self, dofs: Dofs | None = None) -> Array:
        """Velocities [m/s, rad/s] of some coordinates (a copy); argument as for `get_positions`."""
        return self._get_some("u", dofs)

    def set_velocities(self, values: ArrayLike, dofs: Dofs | None = None) -> None:
        """Set velocities [m/s, rad/s] of some coordinates; arguments as for `set_positions`."""
        self._set_some("u", values, dofs)

    def get_accelerations(self, dofs: Dofs | None = None) -> Array:
        """Accelerations [m/s^2, rad/s^2] of some coordinates (a copy); argument as for `get_positions`."""
        return self._get_some("udot", dofs)

    def set_accelerations(self, values: ArrayLike, dofs: Dofs | None = None) -> None:
        """Set accelerations [m/s^2, rad/s^2] of some coordinates; arguments as for `set_positions`."""
        self._set_some("udot", values, dofs)

    def get_forces(self, dofs: Dofs | None = None) -> Array:
        """Forces [N, N m] of some coordinates (a copy); argument as for `get_positions`."""
        return self._get_some("tau", dofs)

    def set_forces(self, values: ArrayLike, dofs: Dofs | None = None) -> None:
        """Set forces [N, N m] of some coordinates; arguments as for `set_positions`."""
        self._set_some("tau", values, dofs)

    def _get_some(self, field: str, dofs: Dofs | None) -> Array:
        whole = self.read(field)
        return whole if dofs is None else whole[indices_of(self.skeleton, dofs)]

    def _set_some(self, field: str, values: ArrayLike, dofs: Dofs | None) -> None:
        name = _NAME[field]
        if dofs is None:
            self.assign(name, values)
            return
        k, what = indices_of(self.skeleton, dofs), f"skeleton {self.name!r}: {name}"
        if len(set(k.tolist())) != len(k):
            own = self.skeleton.dofs
            twice = sorted({own[i].name for i in k.tolist() if k.tolist().count(i) > 1})
            raise StateError(f"{what}: dofs named more than once: {', '.join(twice)}")
        try:
            given = as_numbers(values)
        except (TypeError, ValueError):
            raise StateError(f"{what}: expected {len(k)} numbers, got {values!r}") from None
        if given.shape not in ((), k.shape):
            raise StateError(
                f"{what}: expected {len(k)} numbers, one for each dof named, or one for all, got an array of shape "
                f"{given.shape}"
            )
        whole = self.read(field)
        whole[k] = given
        self.assign(name, whole, k)

    # Commands --------------------------------------------------------------------------------------------

    @property
    def commands(self) -> Array:
        """What is asked of the actuator of each coordinate (dofs,) (a copy).

        A force for FORCE and MIMIC (the same number as in `forces`), a position for POSITION, a velocity for SERVO and
        VELOCITY, an acceleration for ACCELERATION; zero for PASSIVE and LOCKED, and nothing else is accepted there.
        Like forces, commands hold during `World.step(n)` and are then set to zero, unless it is called with
        `reset_command=False`; positions that are asked for stay until others are.

        Raises (when set):
            StateError: not one finite number for each coordinate, or a PASSIVE or LOCKED one is given a command.
        """
        d = self.compiled()
        return read_only_copy(_COMMANDS, join_commands(self.tree.actuator, d.tau, d.command))

    @commands.setter
    def commands(self, value: ArrayLike) -> None:
        vector = self.finite(value, "commands")
        self.set_commands(slice(0, len(vector)), vector, f"skeleton {self.name!r}: commands")

    @in_turn
    def set_commands(self, part: slice, value: ArrayLike, what: str) -> None:
        """Set commands of some coordinates; errors as of `commands`, which begin with `what`."""
        source = numbers_of(value, part.stop - part.start, what)
        if self.skeleton.kinematic and source.any():
            raise StateError(f"{what}: {source.tolist()}; a kinematic skeleton takes no commands: set its velocities")
        d = self.compiled()
        actuator = self.tree.actuator[part]
        force, motion = TAKES_FORCE[actuator], TAKES_MOTION[actuator]
        refused = np.flatnonzero(~(force | motion) & (source != 0.0))
        if len(refused):
            k = int(refused[0])
            raise StateError(
                f"{what}: {source[k]} for dof {self.skeleton.dofs[part.start + k].name!r}, whose actuator type is "
                f"{ActuatorType(int(actuator[k])).name}: it takes no command, expected 0"
            )
        d.tau[part][force] = source[force]
        d.command[part][motion] = source[motion]
        self.loads_changed()

    @in_turn
    def clear_commands(self, dofs: list[int]) -> None:
        """Set commands and forces of coordinates to zero; positions asked for to those that there are."""
        d = self.compiled()
        d.tau[dofs] = 0.0
        d.command[dofs] = np.where(self.tree.actuator[dofs] == ActuatorType.POSITION, d.q[dofs], 0.0)
        self.loads_changed()

    def prescribed_by_actuators(self) -> NDArray[np.bool_]:
        """(dofs,) coordinates whose actuators give accelerations or velocities, or lock."""
        return is_prescribed(self.compiled_tree().actuator)

    # External forces -------------------------------------------------------------------------------------

    @in_turn
    def add_external(self, index: int, row: Array) -> None:
        """Add a row of `kido.kernels.external` to the forces on a body, in its axes."""
        self.compiled()
        self.applied[index] = self.applied.get(index, np.zeros(24)) + row
        self._load_changed(index)

    @in_turn
    def clear_external(self, index: int) -> None:
        """Remove the external forces from a body."""
        self.compiled()
        if self.applied.pop(index, None) is not None:
            self._load_changed(index)

    def _load_changed(self, index: int) -> None:
        self.loads_changed()
        self.write_external(int(self.links.of_body[index]))

    @in_turn
    def set_external(self, rows: dict[int, Array]) -> None:
        """Put external forces in place of those that there are, by index of the body."""
        self.compiled()
        touched = {int(self.links.of_body[index]) for index in (*rows, *self.applied)}
        self.applied = rows
        self.loads_changed()
        for link in touched:
            self.write_external(link)

    @in_turn
    def clear_external_forces(self) -> None:
        """Remove all external forces from all bodies."""
        d = self.compiled()
        self.applied.clear()
        d.external[:] = 0.0
        d.has_external[:] = 0
        self.loads_changed()

    def external_wrench(self, index: int) -> Array:
        """All external forces on a body as one [torque; force] about its origin, world axes."""
        row = self.applied.get(index)
        return np.zeros(6) if row is None else wrench_of_row(row, self.pose_of(index))

    # Impulses --------------------------------------------------------------------------------------------

    @property
    def joint_impulses(self) -> Array:
        """Impulses on the coordinates (dofs,) [N s, N m s] (a copy), until they are cleared."""
        held, n = self.own_joint_impulses, self.skeleton.num_dofs
        return read_only_copy(_JOINT_IMPULSES, np.zeros(n) if held is None or held.size != n else held)

    @joint_impulses.setter
    def joint_impulses(self, value: ArrayLike) -> None:
        self.own_joint_impulses = self.finite(value, "joint_impulses")

    def clear_impulses(self) -> None:
        """Remove all impulses from bodies and joints."""
        self.impulses.clear()
        self.own_joint_impulses = None

    def add_impulse(self, index: int, row: Array) -> None:
        """Add a row of `kido.kernels.external` to the impulses on a body, in its axes."""
        self.impulses[index] = self.impulses.get(index, np.zeros(24)) + row

    def impulse_on(self, index: int) -> Array:
        """All impulses on a body as one [angular; linear] about its origin, world axes."""
        row = self.impulses.get(index)
        return np.zeros(6) if row is None else wrench_of_row(row, self.pose_of(index))

    def wrenches_by_link(self, by_body: dict[int, Array]) -> Array:
        """Wrenches about bodies' origins, summed about the origins of their links (links, 6); world axes."""
        self.compiled()
        links = self.links
        result = np.zeros((len(links.top), 6))
        for index, wrench in by_body.items():
            link = int(links.of_body[index])
            arm = self.pose_of(index)[:3, 3] - self.pose_of(links.top[link].index)[:3, 3]
            result[link] += wrench
            result[link, :3] += np.cross(arm, wrench[3:])
        return result

    def apply_impulses(self) -> None:
        """Add `velocity_changes` to the velocities, and clear the impulses: an impulse acts once.

        Raises:
            ModelError: the inertia seen by a coordinate is not positive.
        """
        self.velocities = self.velocities + self.velocity_changes
        self.clear_impulses()

    def __repr__(self) -> str:
        return f"State of {self.skeleton!r}"


HANDED_ON = (
    "apply_impulses", "clear_external_forces", "clear_impulses", "commands", "evaluations", "get_accelerations",
    "get_forces", "get_positions", "get_velocities", "joint_impulses", "set_accelerations", "set_forces",
    "set_positions", "set_velocities",
)  # fmt: skip
