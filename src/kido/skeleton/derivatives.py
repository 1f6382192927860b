"""First derivatives of a skeleton's dynamics, analytic.

Derivatives with respect to positions are along velocities: column k says what changes when the state moves with
unit velocity of coordinate k alone, d/dh at q + h e_k on the manifold of the joint. For most joints that is the plain
partial derivative. For a ball joint the move is R exp(h e_k), for a free joint X exp(h e_k), a twist in body axes.

Pinocchio's derivatives are in the same tangent spaces: its columns and rows are these up to the order of coordinates
([linear; angular] for a free joint there).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kido.errors import StateError
from kido.jit import REFUSALS, Container
from kido.kernels import derivative_entries as entries
from kido.kernels.entries import REFUSED
from kido.skeleton.arrays import OF_ACCELERATIONS, OF_FORCES, Array
from kido.skeleton.branches import derivatives_workspace
from kido.skeleton.dynamics import SkeletonDynamics


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


class SkeletonDerivatives(SkeletonDynamics):
    """Derivatives at the held state, and at states given as arguments."""

    def inverse_dynamics_derivatives(
        self,
        positions: ArrayLike | None = None,
        velocities: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
    ) -> InverseDynamicsDerivatives:
        """Derivatives of `inverse_dynamics`, T = M udot + C(q, u), at a given state and acceleration.

        Without arguments, at the held state and accelerations, with the held external forces (T = M udot + C - J^T f):
        forces on a body keep the axes they were given in, and act at points of the body or of the world as given.

        Returns:
            dT/dq along velocities (see `kido.skeleton.derivatives`), dT/du and dT/dudot = M.

        Raises:
            StateError: numbers of the wrong size or not finite; some arguments given, and some not.
        """
        if positions is None or velocities is None or accelerations is None:
            self._check_all_or_none(positions, velocities, accelerations)
            return InverseDynamicsDerivatives(*self._of_loads("inverse_dynamics_derivatives").copy())
        D = np.empty((3, len(self._dofs), len(self._dofs)))
        entry = entries.inverse_dynamics_derivatives
        try:
            tree, scratch, _ = self._addresses or self._workspace()
            status = entry.call(tree, scratch, self._derivation(), positions, velocities, accelerations, D)
        except REFUSALS:
            status = REFUSED
        if status:
            given = {"positions": positions, "velocities": velocities, "accelerations": accelerations}
            self._derive_again(entry, D, given)
        return InverseDynamicsDerivatives(D[0], D[1], D[2])

    def forward_dynamics_derivatives(
        self,
        positions: ArrayLike | None = None,
        velocities: ArrayLike | None = None,
        forces: ArrayLike | None = None,
    ) -> ForwardDynamicsDerivatives:
        """Derivatives of `forward_dynamics`, udot = M^-1 (T - C(q, u)), at a given state and joint forces.

        Without arguments, at the held state and forces, with the held external forces. Accelerations of prescribed
        coordinates are given: their rows are 0, and so is the derivative with respect to their forces.

        Returns:
            dudot/dq along velocities (see `kido.skeleton.derivatives`), dudot/du and dudot/dT = M^-1.

        Raises:
            StateError: numbers of the wrong size or not finite; some arguments given, and some not.
            ModelError: the inertia seen by a coordinate is not positive.
        """
        if positions is None or velocities is None or forces is None:
            self._check_all_or_none(positions, velocities, forces)
            D = self._result(OF_FORCES, "forward_dynamics_derivatives", self._forward_of_held)
            return ForwardDynamicsDerivatives(*D.copy())
        D = np.empty((3, len(self._dofs), len(self._dofs)))
        entry = entries.forward_dynamics_derivatives
        try:
            tree, scratch, _ = self._addresses or self._workspace()
            status = entry.call(tree, scratch, self._derivation(), positions, velocities, forces, D)
        except REFUSALS:
            status = REFUSED
        if status:
            if status == REFUSED:
                given = {"positions": positions, "velocities": velocities, "forces": forces}
                status = self._derive_again(entry, D, given)
            if status:
                self._raise_singular(status - 2)
        return ForwardDynamicsDerivatives(D[0], D[1], D[2])

    # How -------------------------------------------------------------------------------------------------

    _derivation_of: tuple[Container | None, Container | None] = None, None

    def _derivation(self) -> int:
        """Address of the workspace that fits the compiled tree."""
        tree, work = self._derivation_of
        if work is None or tree is not self._tree:
            work = derivatives_workspace(self._tree)  # type: ignore[arg-type]
            self._derivation_of = self._tree, work
        return work.address

    def _derive_again(self, entry: Any, D: Array, given: dict[str, ArrayLike]) -> int:
        """Call an entry that refused its arguments once more, with checked and converted copies of them."""
        size = self.num_dofs
        vectors = [self._vector(value, size, what) for what, value in given.items()]
        for what, vector in zip(given, vectors, strict=True):
            if not np.isfinite(vector).all():
                self._raise_not_finite(what, vector)
        tree, scratch, _ = self._workspace()
        return entry(tree, scratch, self._derivation(), *vectors, D)

    def _check_all_or_none(self, *given: ArrayLike | None) -> None:
        if any(value is not None for value in given):
            raise StateError(f"skeleton {self.name!r}: expected a whole state, or none for the held one; got {given!r}")

    def _held_in_scratch(self) -> tuple[int, int, int]:
        """Copy what is held, with external forces, to where results do no harm; addresses there."""
        d = self._compiled()
        tree, scratch, _ = self._workspace()
        for field in ("udot", "external", "has_external"):
            getattr(self._scratch, field)[:] = getattr(d, field)
        return tree, scratch, self._derivation()

    def _forward_of_held(self) -> Array:
        d, addresses = self._compiled(), self._held_in_scratch()
        D = np.empty((3, len(self._dofs), len(self._dofs)))
        status = entries.forward_dynamics_derivatives(*addresses, d.q, d.u, d.tau, D)
        self._scratch.has_external[:] = 0  # type: ignore[union-attr]
        if status:
            self._raise_singular(status - 2)
        return D

    def _inverse_of_held(self) -> Array:
        d, addresses = self._compiled(), self._held_in_scratch()
        D = np.empty((3, len(self._dofs), len(self._dofs)))
        entries.inverse_dynamics_derivatives(*addresses, d.q, d.u, d.udot, D)
        self._scratch.has_external[:] = 0  # type: ignore[union-attr]
        return D

    def _of_loads(self, key: str) -> Array:
        """Derivatives of the held inverse dynamics: kept while neither accelerations nor external forces change."""
        kept = self._result(OF_ACCELERATIONS, key, dict)
        stamp = self._result(OF_FORCES, "external_forces", object)
        if kept.get("stamp") is not stamp:
            kept["value"], kept["stamp"] = self._inverse_of_held(), stamp
        return kept["value"]
