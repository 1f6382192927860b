"""Matrices of dynamics, and the joint forces that need no accelerations."""

from __future__ import annotations

import numpy as np
from numpy import empty
from numpy.typing import ArrayLike

from kido.errors import ModelError
from kido.jit import REFUSALS
from kido.kernels import matrix_entries as entries
from kido.kernels.entries import REFUSED
from kido.math.transform import number_or_nan
from kido.skeleton.arrays import OF_POSITIONS, OF_VELOCITIES, Array
from kido.skeleton.results.momentum import SkeletonMomentum
from kido.skeleton.results.selections import NOTHING, Bodies
from kido.skeleton.state.subsets import Dofs, indices_of


class SkeletonMatrices(SkeletonMomentum):
    """M, its inverse and its factors, C, and velocity, weight, spring and damping forces.

    `bodies` chooses whose inertia and weight are meant: bodies, names or indices; None means all. Matrices have a
    row and a column for every coordinate of the skeleton.
    """

    # Of the current state -----------------------------------------------------------------------------------

    def _check_pivot(self, status: int) -> None:
        if status > entries.REFUSED:
            self._raise_singular(status - 2)

    def _step(self, time_step: float) -> float:
        h = number_or_nan(time_step)
        if not 0.0 <= h < np.inf:
            raise ModelError(f"skeleton {self.name!r}: time_step: expected a number not below 0 [s], got {time_step!r}")
        return h

    def _inverse(self, h: float) -> Array:
        def compute() -> Array:
            n = len(self._dofs)
            d, out = self._with_transforms(), empty((n, n))
            self._check_pivot(self._of_current(entries.inverse_mass_matrix, d, self._columns_of(), 0, h, NOTHING, out))
            return out

        return self._result(OF_POSITIONS, ("inverse mass matrix", h), compute)

    @property
    def inverse_mass_matrix(self) -> Array:
        """M^-1 (dofs, dofs), symmetric (a copy).

        Raises:
            ModelError: the inertia seen by a coordinate is not positive.
        """
        return self._inverse(0.0).copy()

    def augmented_mass_matrix(self, time_step: float) -> Array:
        """M + h Kd + h^2 Ks (dofs, dofs), with joint damping Kd and stiffness Ks and the time step h [s]."""
        h = self._step(time_step)
        M = self.mass_matrix
        M[np.diag_indices_from(M)] += self._augmentation(h)
        return M

    def _augmentation(self, h: float) -> Array:
        tree = self._tree
        return h * (tree.damping + h * tree.stiffness)  # type: ignore[union-attr]

    def inverse_augmented_mass_matrix(self, time_step: float) -> Array:
        """(M + h Kd + h^2 Ks)^-1 (dofs, dofs); see `augmented_mass_matrix`."""
        return self._inverse(self._step(time_step)).copy()

    @property
    def cholesky_factor(self) -> Array:
        """Lower triangular L (dofs, dofs) with M = L L^T (a copy).

        Raises:
            ModelError: M is not positive definite.
        """

        def compute() -> Array:
            n = len(self._dofs)
            d, L = self._with_transforms(), empty((n, n))
            self._check_pivot(self._of_current(entries.cholesky, d, 0, NOTHING, L))
            return L

        return self._result(OF_POSITIONS, "cholesky factor", compute).copy()

    @property
    def mass_matrix_factors(self) -> tuple[Array, Array]:
        """F (dofs, dofs) and D (dofs,) with M = F diag(D) F^T (copies).

        F is upper triangular with ones on its diagonal, and F[r, k] = 0 unless coordinate r moves the body of k: it is
        as sparse as M. D is the articulated inertia that each coordinate sees; M^-1 b is solved in O(dofs depth).

        Raises:
            ModelError: the inertia seen by a coordinate is not positive.
        """

        def compute() -> tuple[Array, Array]:
            n = len(self._dofs)
            d, F, D = self._with_transforms(), empty((n, n)), empty(n)
            self._check_pivot(self._of_current(entries.mass_factors, d, 0, NOTHING, F, D))
            return F, D

        F, D = self._result(OF_POSITIONS, "mass matrix factors", compute)
        return F.copy(), D.copy()

    def _coriolis(self) -> Array:
        def compute() -> Array:
            n = len(self._dofs)
            d, subset, C = self._with_velocities(), self._subset(None), empty((n, n))
            self._of_current(entries.coriolis_matrix, d, subset, 0, NOTHING, NOTHING, C)
            return C

        return self._result(OF_VELOCITIES, "coriolis matrix", compute)

    @property
    def coriolis_matrix(self) -> Array:
        """C (dofs, dofs) with C u = `coriolis_forces` and dM/dt - 2 C skew-symmetric (a copy).

        Where all joints have one coordinate, or positions whose rates are the velocities, it is the matrix of
        Christoffel symbols: C_ij = sum_k (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) u_k / 2.
        """
        return self._coriolis().copy()

    @property
    def mass_matrix_derivative(self) -> Array:
        """dM/dt (dofs, dofs) along the current velocities: C + C^T."""
        C = self._coriolis()
        return C + C.T

    def _loads(self, what: int, name: str) -> Array:
        velocities = what != entries.GRAVITY

        def compute() -> Array:
            d = self._with_velocities() if velocities else self._with_transforms()
            out = empty(len(self._dofs))
            self._of_current(entries.joint_loads, d, self._subset(None), 0, what, NOTHING, NOTHING, out)
            return out

        return self._result(OF_VELOCITIES if velocities else OF_POSITIONS, name, compute).copy()

    @property
    def coriolis_forces(self) -> Array:
        """C(q, u) u (dofs,): joint forces that hold accelerations at zero, without gravity (a copy)."""
        return self._loads(entries.CORIOLIS, "coriolis forces")

    @property
    def gravity_forces(self) -> Array:
        """g(q) (dofs,): joint forces that hold the weight, -sum J^T m g (a copy)."""
        return self._loads(entries.GRAVITY, "gravity forces")

    @property
    def coriolis_and_gravity_forces(self) -> Array:
        """C(q, u) u + g(q) (dofs,), the bias of M udot + bias = T + J^T f_ext (a copy)."""
        return self._loads(entries.CORIOLIS_AND_GRAVITY, "coriolis and gravity forces")

    @property
    def external_forces(self) -> Array:
        """J^T f_ext (dofs,): the held external forces on the bodies as joint forces."""
        out = empty(len(self._dofs))
        self._of_current(entries.external_forces, self._with_transforms(), out)
        return out

    @property
    def spring_forces(self) -> Array:
        """Forces of the joint springs (dofs,): -Ks (q - rest), of ball and free joints as `kido.kernels.springs` says.

        Dynamics take them in in steps of a world alone.
        """
        return self.compute_spring_forces(self._compiled().q)

    @property
    def damping_forces(self) -> Array:
        """-Kd u (dofs,): forces of the joint dampers. Dynamics take them in in steps of a world alone."""
        d, tree = self._compiled(), self._tree
        return -tree.damping * d.u  # type: ignore[union-attr]

    # Of a given state ------------------------------------------------------------------------------------

    def compute_chosen_mass_matrix(self, positions: ArrayLike, bodies: Bodies) -> Array:
        """Mass matrix (dofs, dofs) of some bodies, the sum of their J^T M J, at given positions."""
        w = self._ready or self._workspace()
        subset = w.all_bodies if bodies is None else self._subset(bodies)
        M = empty(w.square)
        try:
            status = entries.chosen_mass_matrix.call(w.tree, w.data, subset, 1, positions, M)
        except REFUSALS:
            status = REFUSED
        if status:
            self._again(entries.chosen_mass_matrix, (subset, 1), (M,), positions=positions)
        return M

    def compute_inverse_mass_matrix(self, positions: ArrayLike, time_step: float = 0.0) -> Array:
        """(M + h Kd + h^2 Ks)^-1 at given positions, M^-1 by default; the current state stays.

        Raises:
            ModelError: the inertia seen by a coordinate is not positive.
        """
        w = self._ready or self._workspace()
        columns = w.columns or self._columns_of()
        h = 0.0 if isinstance(time_step, float) and time_step == 0.0 else self._step(time_step)
        out = empty(w.square)
        try:
            status = entries.inverse_mass_matrix.call(w.tree, w.data, columns, 1, h, positions, out)
        except REFUSALS:
            status = REFUSED
        if status:
            self._check_pivot(self._again(entries.inverse_mass_matrix, (columns, 1, h), (out,), positions=positions))
        return out

    def compute_augmented_mass_matrix(self, positions: ArrayLike, time_step: float) -> Array:
        """`augmented_mass_matrix` at given positions; the current state stays."""
        M = self.compute_mass_matrix(positions)
        M[np.diag_indices_from(M)] += self._augmentation(self._step(time_step))
        return M

    def compute_cholesky_factor(self, positions: ArrayLike) -> Array:
        """`cholesky_factor` at given positions; the current state stays."""
        w = self._ready or self._workspace()
        L = empty(w.square)
        try:
            status = entries.cholesky.call(w.tree, w.data, 1, positions, L)
        except REFUSALS:
            status = REFUSED
        if status:
            self._check_pivot(self._again(entries.cholesky, (1,), (L,), positions=positions))
        return L

    def compute_mass_matrix_factors(self, positions: ArrayLike) -> tuple[Array, Array]:
        """`mass_matrix_factors` at given positions; the current state stays."""
        w = self._ready or self._workspace()
        F, D = empty(w.square), empty(w.dofs)
        try:
            status = entries.mass_factors.call(w.tree, w.data, 1, positions, F, D)
        except REFUSALS:
            status = REFUSED
        if status:
            self._check_pivot(self._again(entries.mass_factors, (1,), (F, D), positions=positions))
        return F, D

    def compute_coriolis_matrix(self, positions: ArrayLike, velocities: ArrayLike, bodies: Bodies = None) -> Array:
        """`coriolis_matrix` of a given state; the current state stays."""
        w = self._ready or self._workspace()
        subset = w.all_bodies if bodies is None else self._subset(bodies)
        C = empty(w.square)
        try:
            status = entries.coriolis_matrix.call(w.tree, w.data, subset, 1, positions, velocities, C)
        except REFUSALS:
            status = REFUSED
        if status:
            self._again(entries.coriolis_matrix, (subset, 1), (C,), positions=positions, velocities=velocities)
        return C

    def compute_mass_matrix_derivative(self, positions: ArrayLike, velocities: ArrayLike) -> Array:
        """`mass_matrix_derivative` of a given state; the current state stays."""
        C = self.compute_coriolis_matrix(positions, velocities)
        return C + C.T

    def compute_coriolis_forces(self, positions: ArrayLike, velocities: ArrayLike, bodies: Bodies = None) -> Array:
        """`coriolis_forces` of a given state; the current state stays."""
        w = self._ready or self._workspace()
        subset = w.all_bodies if bodies is None else self._subset(bodies)
        out = empty(w.dofs)
        try:
            status = entries.joint_loads.call(w.tree, w.data, subset, 1, entries.CORIOLIS, positions, velocities, out)
        except REFUSALS:
            status = REFUSED
        if status:
            self._again(
                entries.joint_loads, (subset, 1, entries.CORIOLIS), (out,), positions=positions, velocities=velocities
            )
        return out

    def compute_coriolis_and_gravity_forces(
        self, positions: ArrayLike, velocities: ArrayLike, bodies: Bodies = None
    ) -> Array:
        """`coriolis_and_gravity_forces` of a given state; the current state stays."""
        w = self._ready or self._workspace()
        subset = w.all_bodies if bodies is None else self._subset(bodies)
        out = empty(w.dofs)
        try:
            status = entries.joint_loads.call(
                w.tree, w.data, subset, 1, entries.CORIOLIS_AND_GRAVITY, positions, velocities, out
            )
        except REFUSALS:
            status = REFUSED
        if status:
            self._again(
                entries.joint_loads,
                (subset, 1, entries.CORIOLIS_AND_GRAVITY),
                (out,),
                positions=positions,
                velocities=velocities,
            )
        return out

    def compute_gravity_forces(self, positions: ArrayLike, bodies: Bodies = None) -> Array:
        """`gravity_forces` at given positions; the current state stays."""
        w = self._ready or self._workspace()
        subset = w.all_bodies if bodies is None else self._subset(bodies)
        out = empty(w.dofs)
        try:
            status = entries.joint_loads.call(w.tree, w.data, subset, 1, entries.GRAVITY, positions, NOTHING, out)
        except REFUSALS:
            status = REFUSED
        if status:
            self._again(entries.joint_loads, (subset, 1, entries.GRAVITY), (NOTHING, out), positions=positions)
        return out

    def compute_spring_forces(self, positions: ArrayLike) -> Array:
        """`spring_forces` at given positions; the current state stays."""
        out = empty(len(self._dofs))
        self._evaluate(entries.spring_forces, (), (out,), positions=positions)
        return out

    def hybrid_dynamics(
        self,
        positions: ArrayLike,
        velocities: ArrayLike,
        values: ArrayLike,
        prescribed: Dofs,
    ) -> tuple[Array, Array]:
        """Dynamics with the accelerations of some coordinates given; the current state stays.

        Args:
            positions, velocities: the state.
            values: (dofs,) accelerations of the prescribed coordinates, joint forces of the others.
            prescribed: the coordinates whose acceleration is given, named as for `get_positions`.

        Returns:
            (accelerations, forces), all of them (dofs,): M udot + C(q, u) = T.

        Raises:
            ModelError: the inertia seen by a coordinate that is not prescribed is not positive.
            NameLookupError: there is no such coordinate.
        """
        if self._ready is None:
            self._workspace()
        n = len(self._dofs)
        flags = np.zeros(n)
        flags[indices_of(self, prescribed)] = 1.0
        udot, tau = empty((2, n))
        given = {"positions": positions, "velocities": velocities, "values": values}
        self._check_pivot(self._evaluate(entries.hybrid_dynamics, (), (flags, udot, tau), **given))
        return udot, tau
