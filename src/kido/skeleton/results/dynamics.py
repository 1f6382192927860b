"""Results of a skeleton: kinematic state, energies, mass matrix, inverse and forward dynamics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import empty
from numpy.typing import ArrayLike

from kido.errors import ModelError
from kido.jit import REFUSALS
from kido.kernels import current, entries
from kido.skeleton.arrays import (
    ACCELERATIONS,
    MASS_MATRIX,
    OF_ACCELERATIONS,
    OF_FORCES,
    OF_POSITIONS,
    OF_VELOCITIES,
    Array,
)
from kido.skeleton.compiler import check_masses
from kido.skeleton.results.selections import SkeletonSelections
from kido.skeleton.results.skins import (
    kinetic_energy_share,
    mass_moment_share,
    momentum_share,
    potential_energy_share,
    soft_among,
)


class SkeletonDynamics(SkeletonSelections):
    """Results of the current state, and of states given as arguments."""

    # Results of the current state ---------------------------------------------------------------------------

    @property
    def mass(self) -> float:
        """Total mass [kg]."""
        return float(sum(b.inertia.mass for b in self._bodies))

    @property
    def com(self) -> Array:
        """Centre of mass in the world [m], soft skins as they are.

        Raises:
            ModelError: the skeleton has no mass.
        """
        com = self._result(OF_POSITIONS, "com", self._compute_com).copy()
        if soft := soft_among(self, None):
            com += mass_moment_share(soft) / self.mass
        return com

    def _compute_com(self) -> Array:
        d = self._with_transforms()
        m, x, y, z = entries.read_mass_moment(self._tree.address, d.address)  # type: ignore[union-attr]
        if m == 0.0:
            raise ModelError(f"skeleton {self.name!r} has no mass, so no centre of mass")
        return np.array([x, y, z]) / m

    @property
    def momentum(self) -> Array:
        """[angular momentum about the world origin; linear momentum], world axes [kg m^2/s, kg m/s]."""
        total = self._result(OF_VELOCITIES, "momentum", self._compute_momentum).copy()
        if soft := soft_among(self, None):
            total += momentum_share(soft)
        return total

    def _compute_momentum(self) -> Array:
        d = self._with_velocities()
        return np.array(entries.read_momentum(self._tree.address, d.address))  # type: ignore[union-attr]

    @property
    def kinetic_energy(self) -> float:
        """Of all bodies, and of the points of soft skins [J]."""
        energy = self._result(OF_VELOCITIES, "kinetic_energy", self._compute_kinetic_energy)
        soft = soft_among(self, None)
        return energy + kinetic_energy_share(soft) if soft else energy

    def _compute_kinetic_energy(self) -> float:
        d = self._with_velocities()
        return entries.read_kinetic_energy(self._tree.address, d.address)  # type: ignore[union-attr]

    @property
    def potential_energy(self) -> float:
        """Gravity's, zero at the world origin, the joint springs' and that of soft skins [J]."""
        energy = self._result(OF_POSITIONS, "potential_energy", self._compute_potential_energy)
        soft = soft_among(self, None)
        return energy + potential_energy_share(self, soft) if soft else energy  # type: ignore[arg-type]

    def _compute_potential_energy(self) -> float:
        d = self._with_transforms()
        return entries.read_potential_energy(self._tree.address, d.address)  # type: ignore[union-attr]

    @property
    def mass_matrix(self) -> Array:
        """Joint-space mass matrix (dofs, dofs), symmetric (a copy): kinetic energy = u^T M u / 2."""
        d = self._compiled()
        if not self._fresh & MASS_MATRIX:
            self._with_transforms()
            current.mass_matrix_of_state.call(self._tree.address, d.address)  # type: ignore[union-attr]
            self._fresh |= MASS_MATRIX
            self._counts["mass_matrix"] += 1
        return d.mass_matrix.copy()

    @property
    def constraint_forces(self) -> Array:
        """Generalized forces (dofs,) of contacts, limits, dry friction and gears in the world's last step, or zeros."""
        if self._world is None:
            return np.zeros(self.num_dofs)
        return self._world.constraint_forces(self)  # type: ignore[arg-type]

    @property
    def world_transforms(self) -> Array:
        """World transforms (bodies, 4, 4) of all bodies (a copy)."""
        d = self._compiled()
        X = empty((len(self._bodies), 4, 4))
        current.poses_of_all.call(self._tree.address, d.address, X)  # type: ignore[union-attr]
        return X

    def compute_forward_kinematics(self) -> None:
        """Bring transforms and velocities up to date now, for loops that choose the moment of the work."""
        self._with_velocities()

    def compute_inverse_dynamics(
        self, *, with_external_forces: bool = True, with_damping_forces: bool = False, with_spring_forces: bool = False
    ) -> None:
        """Set `forces` to those that give the current accelerations, whatever the actuators are.

        T = M(q) udot + C(q, u) - J^T f_ext. Dry joint friction is not part of it.

        Args:
            with_external_forces: subtract J^T f_ext.
            with_damping_forces: add what joint damping takes, Kd u.
            with_spring_forces: add what joint springs take, - `spring_forces`.
        """
        d = self._with_accelerations()
        t: Any = self._tree
        if with_external_forces:
            current.joint_forces_of_state.call(t.address, d.address)
        else:
            loaded = d.has_external.copy()
            d.has_external[:] = 0
            current.joint_forces_of_state.call(t.address, d.address)
            d.has_external[:] = loaded
        if with_damping_forces:
            d.tau[:] += t.damping * d.u
        if with_spring_forces:
            d.tau[:] -= self.spring_forces  # type: ignore[attr-defined]  # of SkeletonMatrices
        self._results[OF_FORCES].clear()

    def compute_forward_dynamics(self, time_step: float | None = None) -> None:
        """Set `accelerations` to those that the held commands and external forces give (hybrid dynamics).

        M(q) udot = T - C(q, u) + J^T f_ext, by the articulated-body algorithm. T are the held `forces` of FORCE and
        MIMIC coordinates, and zero for PASSIVE and SERVO ones (servos and gears work in worlds alone). udot is given
        for ACCELERATION coordinates (the command), VELOCITY ones ((command - u) / time_step) and LOCKED ones (zero,
        and so is their velocity from then on), and the `forces` there are set to those that this takes. Joint
        springs, damping and friction are not part of it.

        Args:
            time_step: [s] for VELOCITY coordinates; by default that of the world.

        Raises:
            ModelError: the inertia seen by a coordinate is not positive, or there is no time step.
        """
        self._compiled()
        driven = self._has_actuators
        if driven:
            self._drive(time_step)
        d = self._with_velocities()
        status = current.joint_accelerations_of_state.call(self._tree.address, d.address)  # type: ignore[union-attr]
        if driven:
            self._tree.prescribed[:] = 0  # type: ignore[union-attr]  # all other results are those of the free tree
        self._results[OF_ACCELERATIONS].clear()
        self._results[OF_FORCES].clear()  # the forces of prescribed coordinates are results
        self._fresh |= ACCELERATIONS
        if status >= 0:
            self._raise_singular(status)

    def _raise_singular(self, dof: int) -> None:
        check_masses(self)  # type: ignore[arg-type]
        raise ModelError(
            f"skeleton {self.name!r}: the inertia seen by dof {dof} ({self._dofs[dof].name!r}) is not positive; "
            "a body it moves needs mass or rotational inertia, or axes of its joint coincide at this position"
        )

    # Results of a given state, which leave the held one alone ---------------------------------------------

    def forward_kinematics(self, positions: ArrayLike) -> Array:
        """World transforms (bodies, 4, 4) of all bodies at given positions; the current state stays."""
        w = self._ready or self._workspace()
        X = empty(w.poses)
        try:
            status = entries.forward_kinematics.call(w.tree, w.data, positions, X)
        except REFUSALS:
            status = entries.REFUSED
        if status:
            self._again(entries.forward_kinematics, (), (X,), positions=positions)
        return X

    def compute_mass_matrix(self, positions: ArrayLike) -> Array:
        """Mass matrix (dofs, dofs) at given positions; the current state stays."""
        w = self._ready or self._workspace()
        M = empty(w.square)
        try:
            status = entries.mass_matrix_at.call(w.tree, w.data, positions, M)
        except REFUSALS:
            status = entries.REFUSED
        if status:
            self._again(entries.mass_matrix_at, (), (M,), positions=positions)
        return M

    def inverse_dynamics(self, positions: ArrayLike, velocities: ArrayLike, accelerations: ArrayLike) -> Array:
        """Joint forces T = M udot + C(q, u) of a given state and acceleration; the current state stays."""
        w = self._ready or self._workspace()
        out = empty(w.dofs)
        try:
            status = entries.inverse_dynamics.call(w.tree, w.data, positions, velocities, accelerations, out)
        except REFUSALS:
            status = entries.REFUSED
        if status:
            given = {"positions": positions, "velocities": velocities, "accelerations": accelerations}
            self._again(entries.inverse_dynamics, (), (out,), **given)
        return out

    def forward_dynamics(self, positions: ArrayLike, velocities: ArrayLike, forces: ArrayLike) -> Array:
        """Accelerations M^-1 (T - C(q, u)) of a given state and joint forces; the current state stays.

        Raises:
            ModelError: the inertia seen by a coordinate is not positive.
        """
        w = self._ready or self._workspace()
        out = empty(w.dofs)
        try:
            status = entries.forward_dynamics.call(w.tree, w.data, positions, velocities, forces, out)
        except REFUSALS:
            status = entries.REFUSED
        if status == entries.REFUSED:
            given = {"positions": positions, "velocities": velocities, "forces": forces}
            status = self._again(entries.forward_dynamics, (), (out,), **given)
        if status:
            self._raise_singular(status - 2)
        return out
