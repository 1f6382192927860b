"""First derivatives of a skeleton's dynamics, analytic.

Derivatives with respect to positions are along velocities: column k says what changes when the state moves with
unit velocity of coordinate k alone, d/dh at q + h e_k on the manifold of the joint. For most joints that is the plain
partial derivative. For a ball joint the move is R exp(h e_k), for a free joint X exp(h e_k), a twist in body axes.

Pinocchio's derivatives are in the same tangent spaces: its columns and rows are these up to the order of coordinates
([linear; angular] for a free joint there).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy import empty
from numpy.typing import ArrayLike

from kido.errors import StateError
from kido.jit import REFUSALS
from kido.kernels import derivative_entries as entries
from kido.kernels.entries import REFUSED
from kido.skeleton.arrays import OF_ACCELERATIONS, OF_FORCES, OF_POSITIONS, OF_VELOCITIES, Array
from kido.skeleton.results.motion_derivatives import SkeletonMotionDerivatives
from kido.skeleton.state.subsets import Dofs, indices_of


class InverseDynamicsDerivatives(NamedTuple):
    """Derivatives of joint forces, each (dofs, dofs): row i of force i, column k with respect to number k."""

    dq: Array
    du: Array
    dudot: Array


class ForwardDynamicsDerivatives(NamedTuple):
    """Derivatives of accelerations, each (dofs, dofs): row i of acceleration i, column k with respect to number k."""

    dq: Array
    du: Array
    dtau: Array


class HybridDynamicsDerivatives(NamedTuple):
    """Derivatives of what hybrid dynamics finds, each (dofs, dofs).

    Row i is of the force of a prescribed coordinate, or of the acceleration of another; column k of `dvalues` is with
    respect to the acceleration given to a prescribed coordinate, or to the force of another.
    """

    dq: Array
    du: Array
    dvalues: Array


class SkeletonDerivatives(SkeletonMotionDerivatives):
    """Derivatives at the current state, and at states given as arguments."""

    def inverse_dynamics_derivatives(
        self,
        positions: ArrayLike | None = None,
        velocities: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
        dofs: Dofs | None = None,
    ) -> InverseDynamicsDerivatives:
        """Derivatives of `inverse_dynamics`, T = M udot + C(q, u), at a given state and acceleration.

        Without arguments, at the current state, with the held external forces (T = M udot + C - J^T f):
        forces on a body keep the axes they were given in, and act at points of the body or of the world as given.

        Args:
            positions, velocities, accelerations: (dofs,) each, or none of them.
            dofs: rows and columns of these coordinates alone: indices, names, a slice, ...; None for all.

        Returns:
            dT/dq along velocities (see `kido.skeleton.results.derivatives`), dT/du and dT/dudot = M.

        Raises:
            StateError: numbers of the wrong size or not finite; some arguments given, and some not.
        """
        if positions is None or velocities is None or accelerations is None:
            self._check_all_or_none(positions, velocities, accelerations)
            held = self._of_loads("inverse_dynamics_derivatives")
            return InverseDynamicsDerivatives(*self._square(held.copy(), dofs))
        w = self._ready or self._workspace()
        D = empty(w.squares)
        entry = entries.inverse_dynamics_derivatives
        try:
            work = w.derivation or self._derivation()
            status = entry.call(w.tree, w.data, work, positions, velocities, accelerations, D)
        except REFUSALS:
            status = REFUSED
        if status:
            self._derive(entry, (), D, positions=positions, velocities=velocities, accelerations=accelerations)
        if dofs is not None:
            D = self._square(D, dofs)
        return InverseDynamicsDerivatives(D[0], D[1], D[2])

    def forward_dynamics_derivatives(
        self,
        positions: ArrayLike | None = None,
        velocities: ArrayLike | None = None,
        forces: ArrayLike | None = None,
        dofs: Dofs | None = None,
    ) -> ForwardDynamicsDerivatives:
        """Derivatives of `forward_dynamics`, udot = M^-1 (T - C(q, u)), at a given state and joint forces.

        Without arguments, at the current state and forces, with the held external forces.

        Args:
            positions, velocities, forces: (dofs,) each, or none of them.
            dofs: rows and columns of these coordinates alone: indices, names, a slice, ...; None for all.

        Returns:
            dudot/dq along velocities (see `kido.skeleton.results.derivatives`), dudot/du and dudot/dT = M^-1.

        Raises:
            StateError: numbers of the wrong size or not finite; some arguments given, and some not.
            ModelError: the inertia seen by a coordinate is not positive.
        """
        if positions is None or velocities is None or forces is None:
            self._check_all_or_none(positions, velocities, forces)
            D = self._result(OF_FORCES, "forward_dynamics_derivatives", self._forward_of_current)
            return ForwardDynamicsDerivatives(*self._square(D.copy(), dofs))
        w = self._ready or self._workspace()
        D = empty(w.squares)
        entry = entries.forward_dynamics_derivatives
        try:
            work = w.derivation or self._derivation()
            status = entry.call(w.tree, w.data, work, positions, velocities, forces, D)
        except REFUSALS:
            status = REFUSED
        if status:
            if status == REFUSED:
                status = self._derive(entry, (), D, positions=positions, velocities=velocities, forces=forces)
            if status:
                self._raise_singular(status - 2)
        if dofs is not None:
            D = self._square(D, dofs)
        return ForwardDynamicsDerivatives(D[0], D[1], D[2])

    def hybrid_dynamics_derivatives(
        self, positions: ArrayLike, velocities: ArrayLike, values: ArrayLike, prescribed: Dofs
    ) -> HybridDynamicsDerivatives:
        """Derivatives of `hybrid_dynamics`, which takes the same arguments; the current state stays.

        With f and p the free and prescribed coordinates, and D = dT/dq of inverse dynamics at the accelerations found:
        dudot_f/dq = -M_ff^-1 D_f,  dT_p/dq = D_p + M_pf dudot_f/dq, and so on.

        Raises:
            ModelError: the inertia seen by a coordinate that is not prescribed is not positive.
            NameLookupError: there is no such coordinate.
            StateError: numbers of the wrong size or not finite.
        """
        udot, _ = self.hybrid_dynamics(positions, velocities, values, prescribed)
        dq, du, M = self.inverse_dynamics_derivatives(positions, velocities, udot)
        given = np.zeros(len(self._dofs), bool)
        given[indices_of(self, prescribed)] = True
        p, f = np.flatnonzero(given), np.flatnonzero(~given)
        dvalues = np.zeros_like(M)
        dvalues[:, p] = M[:, p]
        dvalues[f, f] = -1.0
        D = np.array([dq, du, dvalues])  # of forces that are wanting, with the free accelerations held
        D[:, f] = -np.linalg.solve(M[np.ix_(f, f)], D[:, f])
        D[:, p] += M[np.ix_(p, f)] @ D[:, f]
        return HybridDynamicsDerivatives(*D)

    def gravity_forces_derivative(self) -> Array:
        """d(gravity forces)/dq (dofs, dofs) along velocities, at the current positions; external forces apart."""
        d = self._compiled()
        return self._result(
            OF_POSITIONS, "gravity_forces_derivative", lambda: self.compute_gravity_forces_derivative(d.q)
        ).copy()

    def compute_gravity_forces_derivative(self, positions: ArrayLike) -> Array:
        """`gravity_forces_derivative` at given positions; the current state stays."""
        rest = np.zeros(len(self._dofs))
        return self.inverse_dynamics_derivatives(positions, rest, rest).dq.copy()

    def bias_forces_derivatives(self) -> tuple[Array, Array]:
        """dC/dq along velocities and dC/du of `coriolis_and_gravity_forces`, (dofs, dofs) each, at this state."""
        d = self._compiled()
        D = self._result(
            OF_VELOCITIES, "bias_forces_derivatives", lambda: self.compute_bias_forces_derivatives(d.q, d.u)
        )
        return D[0].copy(), D[1].copy()

    def compute_bias_forces_derivatives(self, positions: ArrayLike, velocities: ArrayLike) -> tuple[Array, Array]:
        """`bias_forces_derivatives` of a given state; the current state stays."""
        rest = np.zeros(len(self._dofs))
        D = self.inverse_dynamics_derivatives(positions, velocities, rest)
        return D.dq.copy(), D.du.copy()

    # How -------------------------------------------------------------------------------------------------

    def _square(self, D: Array, dofs: Dofs | None) -> Array:
        """Rows and columns of some coordinates of several matrices."""
        if dofs is None:
            return D
        k = indices_of(self, dofs)
        return D[:, k[:, None], k]

    def _check_all_or_none(self, *given: ArrayLike | None) -> None:
        if any(value is not None for value in given):
            raise StateError(f"skeleton {self.name!r}: expected a whole state, or none for the held one; got {given!r}")

    def _current_in_scratch(self) -> tuple[int, int, int]:
        """Copy what is held, with external forces, to where results do no harm; addresses there."""
        d = self._compiled()
        w = self._ready or self._workspace()
        for field in ("udot", "external", "has_external"):
            getattr(self._scratch, field)[:] = getattr(d, field)
        return w.tree, w.data, w.derivation or self._derivation()

    def _forward_of_current(self) -> Array:
        d, addresses = self._compiled(), self._current_in_scratch()
        D = empty((3, len(self._dofs), len(self._dofs)))
        status = entries.forward_dynamics_derivatives(*addresses, d.q, d.u, d.tau, D)
        self._scratch.has_external[:] = 0  # type: ignore[union-attr]
        if status:
            self._raise_singular(status - 2)
        return D

    def _inverse_of_current(self) -> Array:
        d, addresses = self._compiled(), self._current_in_scratch()
        D = empty((3, len(self._dofs), len(self._dofs)))
        entries.inverse_dynamics_derivatives(*addresses, d.q, d.u, d.udot, D)
        self._scratch.has_external[:] = 0  # type: ignore[union-attr]
        return D

    def _of_loads(self, key: str) -> Array:
        """Derivatives of the held inverse dynamics: kept while neither accelerations nor external forces change."""
        kept = self._result(OF_ACCELERATIONS, key, dict)
        stamp = self._result(OF_FORCES, "external_forces", object)
        if kept.get("stamp") is not stamp:
            kept["value"], kept["stamp"] = self._inverse_of_current(), stamp
        return kept["value"]
