"""The state of a skeleton: positions, velocities, accelerations, forces, external forces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from kido.errors import ModelError, StateError
from kido.jit import REFUSALS
from kido.kernels import current
from kido.math.transform import as_numbers, as_vector
from kido.skeleton.arrays import (
    ACCELERATIONS,
    MASS_MATRIX,
    OF_ACCELERATIONS,
    OF_FORCES,
    OF_POSITIONS,
    OF_VELOCITIES,
    STATE_FIELDS,
    TRANSFORMS,
    VELOCITIES,
    Array,
    SkeletonArrays,
)
from kido.skeleton.external import wrench_of_row
from kido.skeleton.state.subsets import Dofs, indices_of

if TYPE_CHECKING:
    from kido.skeleton.joints.joint import Joint

# By the field that is set: the bits that stay, and the tables of results that are stale.
_KEPT_AFTER = {
    "q": (0, OF_POSITIONS, OF_VELOCITIES, OF_ACCELERATIONS, OF_FORCES),
    "u": (TRANSFORMS | MASS_MATRIX, OF_VELOCITIES, OF_ACCELERATIONS, OF_FORCES),
    "udot": (TRANSFORMS | VELOCITIES | MASS_MATRIX, OF_ACCELERATIONS),
    "tau": (TRANSFORMS | VELOCITIES | ACCELERATIONS | MASS_MATRIX, OF_FORCES),
}
_SETTERS = {
    "q": (current.set_positions, _KEPT_AFTER["q"][0], _KEPT_AFTER["q"][1:]),
    "u": (current.set_velocities, _KEPT_AFTER["u"][0], _KEPT_AFTER["u"][1:]),
    "udot": (current.set_accelerations, _KEPT_AFTER["udot"][0], _KEPT_AFTER["udot"][1:]),
    "tau": (current.set_forces, _KEPT_AFTER["tau"][0], _KEPT_AFTER["tau"][1:]),
}
_NAMES = {"q": "positions", "u": "velocities", "udot": "accelerations", "tau": "forces"}


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


class SkeletonState(SkeletonArrays):
    """What a skeleton holds.

    Nothing has to be updated by hand: setting positions makes what depends on them stale, and asking for a
    result computes what it needs. Setting velocities leaves what depends on positions alone valid.
    """

    @property
    def gravity(self) -> Array:
        """Acceleration of gravity [m/s^2], world axes (a copy); a skeleton in a world has the world's."""
        return self._gravity.copy() if self._world is None else self._world.gravity

    @gravity.setter
    def gravity(self, value: ArrayLike) -> None:
        if self._world is not None:
            raise ModelError(f"skeleton {self.name!r} is in world {self._world.name!r}: set the world's gravity")
        self._gravity[:] = as_vector(value, f"skeleton {self.name!r}: gravity")
        self._invalidate(TRANSFORMS | VELOCITIES | MASS_MATRIX)

    def _get(self, field: str) -> Array:
        return getattr(self._compiled(), field).copy()

    def _set(self, field: str, value: ArrayLike) -> None:
        tree, data = self._current or self._hold()
        entry, kept, tables = _SETTERS[field]
        try:
            status = entry.call(tree, data, value)
        except REFUSALS:
            status = current.REFUSED
        if status == current.REFUSED:
            source = self._vector(value, self.num_dofs, _NAMES[field])
            status = entry(tree, data, source)
            if status == current.REFUSED:
                self._raise_not_finite(_NAMES[field], source)
        if status == current.CHANGED:
            self._fresh &= kept
            results = self._results
            for table in tables:
                results[table].clear()

    def _set_number(self, field: str, k: int, value: Any) -> bool:
        """Set a coordinate's number, unless it is none or not finite; says whether it did."""
        tree, data = self._current or self._hold()
        try:
            status = current.set_number.call(tree, data, STATE_FIELDS.index(field), k, value)
        except REFUSALS:
            return False
        if status == current.CHANGED:
            self._stale_results(*_KEPT_AFTER[field])
        return status != current.REFUSED

    def _set_part(self, field: str, part: slice, value: ArrayLike, what: str) -> None:
        whole = self._get(field)
        whole[part] = numbers_of(value, part.stop - part.start, what)
        self._set(field, whole)

    def _read_part(self, field: str, index: int) -> float:
        return getattr(self._compiled(), field)[index]

    def _vector(self, value: ArrayLike, size: int, what: str) -> Array:
        try:
            array = as_numbers(value)
        except (TypeError, ValueError):
            raise StateError(f"skeleton {self.name!r}: {what}: expected {size} numbers, got {value!r}") from None
        if array.shape != (size,):
            raise StateError(
                f"skeleton {self.name!r}: {what}: expected {size} numbers, one for each degree of freedom, "
                f"got an array of shape {array.shape}"
            )
        return array

    def _raise_not_finite(self, what: str, value: Any) -> None:
        array = np.asarray(value, dtype=np.float64)
        k = int(np.flatnonzero(~np.isfinite(array))[0])
        raise StateError(
            f"skeleton {self.name!r}: {what}: expected finite numbers, got {array[k]} for dof {k} "
            f"({self._dofs[k].name!r})"
        )

    @property
    def positions(self) -> Array:
        """Positions of all coordinates (dofs,) [m, rad] (a copy)."""
        return self._get("q")

    @positions.setter
    def positions(self, value: ArrayLike) -> None:
        self._set("q", value)

    @property
    def velocities(self) -> Array:
        """Velocities of all coordinates (dofs,) [m/s, rad/s] (a copy)."""
        return self._get("u")

    @velocities.setter
    def velocities(self, value: ArrayLike) -> None:
        self._set("u", value)

    @property
    def accelerations(self) -> Array:
        """Accelerations of all coordinates (dofs,) [m/s^2, rad/s^2] (a copy)."""
        return self._get("udot")

    @accelerations.setter
    def accelerations(self, value: ArrayLike) -> None:
        self._set("udot", value)

    @property
    def forces(self) -> Array:
        """Joint forces (dofs,) [N, N m] (a copy): the command, and the result of inverse dynamics.

        A command at FORCE and MIMIC coordinates (see `commands`). At coordinates with other actuators it is a result
        of `compute_forward_dynamics` and `compute_inverse_dynamics`; what is written there does not act.
        """
        return self._get("tau")

    @forces.setter
    def forces(self, value: ArrayLike) -> None:
        self._set("tau", value)

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
        whole = self._get(field)
        return whole if dofs is None else whole[indices_of(self, dofs)]

    def _set_some(self, field: str, values: ArrayLike, dofs: Dofs | None) -> None:
        if dofs is None:
            self._set(field, values)
            return
        k = indices_of(self, dofs)
        if len(set(k.tolist())) != len(k):
            twice = sorted({self._dofs[i].name for i in k.tolist() if k.tolist().count(i) > 1})
            raise StateError(f"skeleton {self.name!r}: {_NAMES[field]}: dofs named more than once: {', '.join(twice)}")
        try:
            given = as_numbers(values)
        except (TypeError, ValueError):
            raise StateError(
                f"skeleton {self.name!r}: {_NAMES[field]}: expected {len(k)} numbers, got {values!r}"
            ) from None
        if given.shape not in ((), k.shape):
            raise StateError(
                f"skeleton {self.name!r}: {_NAMES[field]}: expected {len(k)} numbers, one for each dof named, or one "
                f"for all, got an array of shape {given.shape}"
            )
        whole = self._get(field)
        whole[k] = given
        self._set(field, whole)

    @property
    def num_dofs(self) -> int:
        """Number of coordinates."""
        return len(self._dofs)

    def _joint_slice(self, joint: Joint) -> slice:
        first = self._dofs.index(joint.dofs[0]) if joint.dofs else 0
        return slice(first, first + joint.num_dofs)

    # External forces -------------------------------------------------------------------------------------

    def _add_external(self, index: int, row: Array) -> None:
        """Add a row of `kido.kernels.external`, in the body's axes."""
        d = self._compiled()
        self._applied[index] = self._applied.get(index, np.zeros(24)) + row
        self._results[OF_FORCES].clear()
        self._write_external(d, int(self._links.of_body[index]))  # type: ignore[union-attr]

    def _clear_external(self, index: int) -> None:
        d = self._compiled()
        if self._applied.pop(index, None) is not None:
            self._results[OF_FORCES].clear()
            self._write_external(d, int(self._links.of_body[index]))  # type: ignore[union-attr]

    def clear_external_forces(self) -> None:
        """Remove all external forces from all bodies."""
        d = self._compiled()
        self._applied.clear()
        d.external[:] = 0.0
        d.has_external[:] = 0
        self._results[OF_FORCES].clear()

    def _external_wrench(self, index: int) -> Array:
        row = self._applied.get(index)
        return np.zeros(6) if row is None else wrench_of_row(row, self._pose_of(index))
