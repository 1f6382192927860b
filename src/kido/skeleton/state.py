"""The arrays of a skeleton: its state, and results that are computed when asked and only if stale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError, StateError
from kido.jit import Container
from kido.kernels import entries
from kido.math.transform import as_vector
from kido.skeleton.compiler import check_masses, compile_skeleton, fill_properties
from kido.tree import DATA

if TYPE_CHECKING:
    from kido.simulation.world import World
    from kido.skeleton.body_node import BodyNode
    from kido.skeleton.joint import Joint

Array = NDArray[np.float64]

# What is current, as bits.
TRANSFORMS, VELOCITIES, ACCELERATIONS, MASS_MATRIX = 1, 2, 4, 8
_STALE_AFTER = {
    "q": 0,
    "u": TRANSFORMS | MASS_MATRIX,
    "udot": TRANSFORMS | VELOCITIES | MASS_MATRIX,
    "tau": TRANSFORMS | VELOCITIES | ACCELERATIONS | MASS_MATRIX,
}
_STATE_FIELDS = ("q", "u", "udot", "tau")
_NAMES = {"q": "positions", "u": "velocities", "udot": "accelerations", "tau": "forces"}
STANDARD_GRAVITY = (0.0, 0.0, -9.81)


class SkeletonState:
    """State and lazy results; `Skeleton` adds the structure.

    Nothing has to be updated by hand: setting positions makes what depends on them stale, and asking for a
    result computes what it needs. Setting velocities leaves what depends on positions alone valid.
    """

    name: str
    _bodies: list[BodyNode]

    def __init__(self) -> None:
        self._tree: Container | None = None
        self._data: Container | None = None
        self._scratch: Container | None = None
        self._saved: dict[Any, tuple[Array, ...]] = {}
        self._fresh = 0
        self._world: World | None = None
        self._world_version = -1
        self._gravity = np.array(STANDARD_GRAVITY)
        self._properties_stale = False

    # Compilation -----------------------------------------------------------------------------------------

    def _structure_changed(self) -> None:
        """Arrays no longer fit the objects: keep the state by joint and body, and compile on next use."""
        self._keep_state()
        self._tree = self._data = self._scratch = None
        if self._world is not None:
            self._world._structure_changed()

    def _properties_changed(self) -> None:
        self._properties_stale = True
        if self._world is not None:
            self._world._properties_stale = True

    def _keep_state(self) -> None:
        if self._data is None or self._tree is None:
            return
        d = self._data
        for i, body in enumerate(self._bodies[: d.p.shape[0]]):
            part = slice(int(self._tree.first_dof[i]), int(self._tree.first_dof[i + 1]))
            values = tuple(getattr(d, f)[part].copy() for f in _STATE_FIELDS)
            self._saved[body] = (*values, d.external[i].copy())

    def _restore_state(self, tree: Container, data: Container) -> None:
        """Write kept states, or initial positions of joints that are new, into fresh arrays."""
        for i, body in enumerate(self._bodies):
            part = slice(int(tree.first_dof[i]), int(tree.first_dof[i + 1]))
            joint = body.parent_joint
            kept = self._saved.get(body)
            if kept is None or len(kept[0]) != joint.num_dofs:
                data.q[part] = joint._properties["initial_position"]
                data.u[part] = joint._properties["initial_velocity"]
                continue
            for field, values in zip(_STATE_FIELDS, kept, strict=False):
                getattr(data, field)[part] = values
            data.external[i] = kept[4]
            data.has_external[i] = int(kept[4].any())
        self._saved = {}

    def _adopt(self, tree: Container, data: Container) -> None:
        """Take new arrays, on its own or as a window on a world's."""
        self._restore_state(tree, data)
        self._tree, self._data, self._scratch = tree, data, None
        self._fresh = 0
        self._properties_stale = False

    def _compiled(self) -> Container:
        """The data, compiled if need be, with `_fresh` telling what is current."""
        world = self._world
        if world is not None:
            if world._stale:
                world._compile()
            if self._world_version != world._version:
                self._world_version = world._version
                self._fresh = 0
        elif self._data is None:
            self._adopt(*compile_skeleton(self, self._gravity))  # type: ignore[arg-type]
        if self._properties_stale:
            fill_properties(self, self._tree)  # type: ignore[arg-type]
            self._properties_stale = False
            self._fresh = 0
        return self._data  # type: ignore[return-value]

    def _with_transforms(self) -> Container:
        d = self._compiled()
        if not self._fresh & TRANSFORMS:
            entries.update_transforms(self._tree.address, d.address)  # type: ignore[union-attr]
            self._fresh |= TRANSFORMS
        return d

    def _with_velocities(self) -> Container:
        d = self._with_transforms()
        if not self._fresh & VELOCITIES:
            entries.update_velocities(self._tree.address, d.address)  # type: ignore[union-attr]
            self._fresh |= VELOCITIES
        return d

    def _with_accelerations(self) -> Container:
        d = self._with_velocities()
        if not self._fresh & ACCELERATIONS:
            entries.update_accelerations(self._tree.address, d.address)  # type: ignore[union-attr]
            self._fresh |= ACCELERATIONS
        return d

    # State -----------------------------------------------------------------------------------------------

    @property
    def gravity(self) -> Array:
        """Acceleration of gravity [m/s^2], world axes (a copy); a skeleton in a world has the world's."""
        return self._gravity.copy() if self._world is None else self._world.gravity

    @gravity.setter
    def gravity(self, value: ArrayLike) -> None:
        if self._world is not None:
            raise ModelError(f"skeleton {self.name!r} is in world {self._world.name!r}: set the world's gravity")
        self._gravity[:] = as_vector(value, f"skeleton {self.name!r}: gravity")
        self._fresh = 0

    def _get(self, field: str) -> Array:
        return getattr(self._compiled(), field).copy()

    def _set(self, field: str, value: ArrayLike) -> None:
        target = getattr(self._compiled(), field)
        source = value
        if type(source) is not np.ndarray or source.shape != target.shape:
            source = self._vector(value, target.shape[0], _NAMES[field])
        try:
            refused = entries.set_numbers(source, target)
        except TypeError:
            refused = entries.set_numbers(self._vector(value, target.shape[0], _NAMES[field]), target)
        if refused:
            self._raise_not_finite(_NAMES[field], source)
        self._fresh &= _STALE_AFTER[field]

    def _set_part(self, field: str, part: slice, value: ArrayLike, what: str) -> None:
        size = part.stop - part.start
        try:
            source = np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), (size,)))
        except (TypeError, ValueError):
            raise StateError(f"{what}: expected {size} numbers, got {value!r}") from None
        if not np.isfinite(source).all():
            raise StateError(f"{what}: expected finite numbers, got {source.tolist()}")
        whole = self._get(field)
        whole[part] = source
        self._set(field, whole)

    def _read_part(self, field: str, index: int) -> float:
        return getattr(self._compiled(), field)[index]

    def _vector(self, value: ArrayLike, size: int, what: str) -> Array:
        try:
            array = np.array(value, dtype=np.float64, order="C")
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
            f"({self.dofs[k].name!r})"  # type: ignore[attr-defined]
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
        """Joint forces (dofs,) [N, N m] (a copy): the command, and the result of inverse dynamics."""
        return self._get("tau")

    @forces.setter
    def forces(self, value: ArrayLike) -> None:
        self._set("tau", value)

    def _joint_slice(self, joint: Joint) -> slice:
        self._compiled()
        start = int(self._tree.first_dof[joint.child.index])  # type: ignore[union-attr]
        return slice(start, start + joint.num_dofs)

    # External forces -------------------------------------------------------------------------------------

    def _add_external(self, index: int, row: Array) -> None:
        d = self._compiled()
        d.external[index] += row
        d.has_external[index] = int(d.external[index].any())

    def _clear_external(self, index: int) -> None:
        d = self._compiled()
        d.external[index] = 0.0
        d.has_external[index] = 0

    def clear_external_forces(self) -> None:
        """Remove all external forces from all bodies."""
        d = self._compiled()
        d.external[:] = 0.0
        d.has_external[:] = 0

    def _external_wrench(self, index: int) -> Array:
        d = self._with_transforms()
        row, R = d.external[index], d.R[index].reshape(3, 3)
        lever = R @ row[9:18].reshape(3, 3)
        moment = R @ row[0:3] + row[18:21] - np.cross(d.p[index], row[21:24])
        moment += np.array([lever[1, 2] - lever[2, 1], lever[2, 0] - lever[0, 2], lever[0, 1] - lever[1, 0]])
        return np.concatenate([moment, R @ row[3:6] + row[6:9] + row[21:24]])

    # Results of the held state ---------------------------------------------------------------------------

    @property
    def mass(self) -> float:
        """Total mass [kg]."""
        return float(sum(b.inertia.mass for b in self._bodies))

    @property
    def com(self) -> Array:
        """Centre of mass in the world [m].

        Raises:
            ModelError: the skeleton has no mass.
        """
        d = self._with_transforms()
        m, x, y, z = entries.read_mass_moment(self._tree.address, d.address)  # type: ignore[union-attr]
        if m == 0.0:
            raise ModelError(f"skeleton {self.name!r} has no mass, so no centre of mass")
        return np.array([x, y, z]) / m

    @property
    def momentum(self) -> Array:
        """[angular momentum about the world origin; linear momentum], world axes [kg m^2/s, kg m/s]."""
        d = self._with_velocities()
        return np.array(entries.read_momentum(self._tree.address, d.address))  # type: ignore[union-attr]

    @property
    def kinetic_energy(self) -> float:
        """[J]"""
        d = self._with_velocities()
        return entries.read_kinetic_energy(self._tree.address, d.address)  # type: ignore[union-attr]

    @property
    def potential_energy(self) -> float:
        """Gravity's, zero at the world origin, and the joint springs' [J]."""
        d = self._with_transforms()
        return entries.read_potential_energy(self._tree.address, d.address)  # type: ignore[union-attr]

    @property
    def mass_matrix(self) -> Array:
        """Joint-space mass matrix (dofs, dofs), symmetric (a copy): kinetic energy = u^T M u / 2."""
        d = self._with_transforms()
        if not self._fresh & MASS_MATRIX:
            entries.update_mass_matrix(self._tree.address, d.address)  # type: ignore[union-attr]
            self._fresh |= MASS_MATRIX
        return d.mass_matrix.copy()

    def compute_forward_kinematics(self) -> None:
        """Bring transforms and velocities up to date now, for loops that choose the moment of the work."""
        self._with_velocities()

    def compute_inverse_dynamics(self) -> None:
        """Set `forces` to those that give the held accelerations.

        T = M(q) udot + C(q, u) - J^T f_ext. Joint springs, damping and friction are not part of it.
        """
        d = self._with_velocities()
        entries.update_joint_forces(self._tree.address, d.address)  # type: ignore[union-attr]
        self._fresh |= ACCELERATIONS

    def compute_forward_dynamics(self) -> None:
        """Set `accelerations` to those that the held forces and external forces give.

        M(q) udot = T - C(q, u) + J^T f_ext, by the articulated-body algorithm. Joint springs, damping and
        friction are not part of it.

        Raises:
            ModelError: the inertia seen by a coordinate is not positive.
        """
        d = self._with_velocities()
        status = entries.update_joint_accelerations(self._tree.address, d.address)  # type: ignore[union-attr]
        self._fresh |= ACCELERATIONS
        if status >= 0:
            self._raise_singular(status)

    def _raise_singular(self, dof: int) -> None:
        check_masses(self)  # type: ignore[arg-type]
        raise ModelError(
            f"skeleton {self.name!r}: the inertia seen by dof {dof} ({self.dofs[dof].name!r}) is not positive; "  # type: ignore[attr-defined]
            "a body it moves needs mass or rotational inertia"
        )

    # Results of a given state, which leave the held one alone ---------------------------------------------

    def _workspace(self) -> tuple[int, int]:
        self._compiled()
        tree = self._tree
        scratch = self._scratch
        if scratch is None:
            n, m = len(self._bodies), int(tree.first_dof[-1])  # type: ignore[union-attr]
            scratch = self._scratch = Container(DATA, bodies=n, dofs=m, rows=0, columns=0)
        return tree.address, scratch.address  # type: ignore[union-attr]

    def _call(self, function: Any, out: Array, **given: ArrayLike) -> int:
        """Call an entry with vectors of the skeleton's size; converts what is not a plain float64 array."""
        tree, scratch = self._workspace()
        size = self._scratch.q.shape[0]  # type: ignore[union-attr]
        vectors = list(given.values())
        for value in vectors:
            if type(value) is not np.ndarray or value.shape != (size,):
                vectors = [self._vector(v, size, what) for what, v in given.items()]
                break
        try:
            status = function(tree, scratch, *vectors, out)
        except TypeError:
            vectors = [self._vector(v, size, what) for what, v in given.items()]
            status = function(tree, scratch, *vectors, out)
        if status == entries.NOT_FINITE:
            for what, vector in zip(given, vectors, strict=True):
                if not np.isfinite(vector).all():
                    self._raise_not_finite(what, vector)
        return status

    def forward_kinematics(self, positions: ArrayLike) -> Array:
        """World transforms (bodies, 4, 4) of all bodies at given positions; the held state stays."""
        X = np.empty((len(self._bodies), 4, 4))
        self._call(entries.forward_kinematics, X, positions=positions)
        return X

    def compute_mass_matrix(self, positions: ArrayLike) -> Array:
        """Mass matrix (dofs, dofs) at given positions; the held state stays."""
        n = self.num_dofs
        M = np.empty((n, n))
        self._call(entries.mass_matrix_at, M, positions=positions)
        return M

    def inverse_dynamics(self, positions: ArrayLike, velocities: ArrayLike, accelerations: ArrayLike) -> Array:
        """Joint forces T = M udot + C(q, u) of a given state and acceleration; the held state stays."""
        out = np.empty(self.num_dofs)
        self._call(
            entries.inverse_dynamics, out, positions=positions, velocities=velocities, accelerations=accelerations
        )
        return out

    def forward_dynamics(self, positions: ArrayLike, velocities: ArrayLike, forces: ArrayLike) -> Array:
        """Accelerations M^-1 (T - C(q, u)) of a given state and joint forces; the held state stays.

        Raises:
            ModelError: the inertia seen by a coordinate is not positive.
        """
        out = np.empty(self.num_dofs)
        status = self._call(
            entries.forward_dynamics, out, positions=positions, velocities=velocities, forces=forces
        )
        if status > entries.NOT_FINITE:
            self._raise_singular(status - 2)
        return out

    @property
    def num_dofs(self) -> int:
        """Number of coordinates."""
        return self._compiled().q.shape[0]
