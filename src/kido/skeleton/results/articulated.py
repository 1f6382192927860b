"""Articulated and composite inertias, ln det M, and velocities that make the kinetic energy a sum of squares."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import empty
from numpy.typing import ArrayLike

from kido.jit import REFUSALS
from kido.kernels import operational_entries as entries
from kido.kernels.entries import REFUSED
from kido.skeleton.arrays import OF_POSITIONS, OF_VELOCITIES, Array
from kido.skeleton.results.node_lists import SkeletonNodeLists
from kido.skeleton.results.selections import NOTHING
from kido.skeleton.state.subsets import Dofs


class SkeletonArticulated(SkeletonNodeLists):
    """What the sweeps of articulated bodies leave behind, each in O(bodies).

    `prescribed` names coordinates that do not give way, whatever acts on them (locked joints); None: all are free. All
    raise ModelError if the inertia seen by a coordinate is not positive. Methods with positions leave the held
    state alone.

    Sources: Jain, Vaidehi, Rodriguez (1993); Jain (2013), section II; theory of log det M: Jain et al. (2013), "Fixman
    compensating potential for general branched molecules".
    """

    # Calls -----------------------------------------------------------------------------------------------

    def _called(
        self, entry: Any, first: tuple[int, ...], flags: Array, positions: ArrayLike | None, *arguments: Any
    ) -> int:
        """Call an entry (tree, data, *first, given, prescribed, positions, *arguments) on held or given positions.

        Raises:
            StateError: positions of another size, or not finite.
            ModelError: the inertia seen by a coordinate is not positive.
        """
        if positions is None:
            status = self._of_current(entry, self._with_transforms(), *first, 0, flags, NOTHING, *arguments)
        else:
            s = self._ready or self._workspace()
            try:
                status = entry.call(s.tree, s.data, *first, 1, flags, positions, *arguments)
            except REFUSALS:
                status = REFUSED
            if status == REFUSED:
                given = self._finite(positions, "positions")
                status = entry.call(s.tree, s.data, *first, 1, flags, given, *arguments)
        if status > 0:
            self._check_pivot(status)
        return status

    def _finite(self, value: ArrayLike, what: str) -> Array:
        """A vector over the coordinates.

        Raises:
            StateError: of another size, or not finite.
        """
        vector = self._vector(value, len(self._dofs), what)
        if not np.isfinite(vector).all():
            self._raise_not_finite(what, vector)
        return vector

    # The whole -------------------------------------------------------------------------------------------

    def log_det_mass_matrix(self, prescribed: Dofs | None = None) -> float:
        """ln det M of the current positions: the sum of ln D over articulated inertias.

        Args:
            prescribed: coordinates whose rows and columns are left out of M; None: none.
        """
        flags = self._flags(prescribed)
        key = "log det mass matrix", flags.tobytes()
        return self._result(OF_POSITIONS, key, lambda: self._log_det(flags, None))

    def compute_log_det_mass_matrix(self, positions: ArrayLike, prescribed: Dofs | None = None) -> float:
        """`log_det_mass_matrix` at given positions."""
        return self._log_det(self._flags(prescribed), positions)

    def _log_det(self, flags: Array, positions: ArrayLike | None) -> float:
        out = empty(1)
        self._called(entries.log_determinant, (), flags, positions, out)
        return float(out[0])

    def log_det_mass_matrix_gradient(self, prescribed: Dofs | None = None) -> Array:
        """Derivatives (dofs,) of `log_det_mass_matrix` along the velocities.

        Column k is d/dh at q + h e_k on the joint's manifold, as in all derivatives. Half of it is the gradient of
        Fixman's potential divided by kT.

        Args:
            prescribed: as for `log_det_mass_matrix`; the result has all coordinates, as M depends on these too.
        """
        return self._log_det_gradient(prescribed, None)

    def compute_log_det_mass_matrix_gradient(self, positions: ArrayLike, prescribed: Dofs | None = None) -> Array:
        """`log_det_mass_matrix_gradient` at given positions."""
        return self._log_det_gradient(prescribed, positions)

    def _log_det_gradient(self, prescribed: Dofs | None, positions: ArrayLike | None) -> Array:
        self._compiled()
        w, out = self._all_links(), empty(len(self._dofs))
        self._called(entries.log_determinant_gradient, (w.address,), self._flags(prescribed), positions, out)
        return out

    @property
    def diagonalized_velocities(self) -> Array:
        """nu = D^(1/2) [1 + H phi K]* u (dofs,) of the current state: kinetic energy = nu . nu / 2.

        Source: Jain and Rodriguez (1995), "Diagonalized Lagrangian robot dynamics".
        """
        return self._diagonal(self._compiled().u.copy(), 0, None)

    def compute_diagonalized_velocities(self, positions: ArrayLike, velocities: ArrayLike) -> Array:
        """`diagonalized_velocities` of a given state."""
        return self._diagonal(self._finite(velocities, "velocities"), 0, None, positions)

    def velocities_of_diagonalized(self, values: ArrayLike, positions: ArrayLike | None = None) -> Array:
        """u (dofs,) with `diagonalized_velocities` = values, at given positions; None: the held ones.

        Raises:
            StateError: values of the wrong size, or not finite.
        """
        return self._diagonal(self._finite(values, "values"), 1, None, positions)

    def _diagonal(self, values: Array, inverse: int, prescribed: Any, positions: ArrayLike | None = None) -> Array:
        out, flags = empty(len(self._dofs)), self._flags(prescribed)
        if positions is None:
            d = self._with_transforms()
            status = self._of_current(entries.diagonal_velocities, d, 0, flags, inverse, NOTHING, values, out)
        else:
            s, given = self._ready or self._workspace(), self._finite(positions, "positions")
            status = entries.diagonal_velocities.call(s.tree, s.data, 1, flags, inverse, given, values, out)
        self._check_pivot(status)
        return out

    # Of bodies -------------------------------------------------------------------------------------------

    @property
    def composite_inertias(self) -> Array:
        """(bodies, 6, 6) each body with all below it as one rigid body, about its own origin, world axes (a copy)."""
        return self._current_inertias(0, None).copy()

    def compute_composite_inertias(self, positions: ArrayLike) -> Array:
        """`composite_inertias` at given positions."""
        return self._body_inertias(0, NOTHING, positions)

    def articulated_inertias(self, prescribed: Dofs | None = None) -> Array:
        """(bodies, 6, 6) articulated inertias, about the bodies' origins, world axes.

        A wrench f on a body that nothing holds above, with all that hangs on it free to move at its joints and at rest,
        accelerates it by P^-1 f.

        Args:
            prescribed: coordinates that do not give way; None: all are free.
        """
        return self._current_inertias(1, prescribed).copy()

    def compute_articulated_inertias(self, positions: ArrayLike, prescribed: Dofs | None = None) -> Array:
        """`articulated_inertias` at given positions."""
        return self._body_inertias(1, self._flags(prescribed), positions)

    def _current_inertias(self, articulated: int, prescribed: Any) -> Array:
        flags = self._flags(prescribed)
        key = "body inertias", articulated, flags.tobytes()
        return self._result(OF_POSITIONS, key, lambda: self._body_inertias(articulated, flags, None))

    def _body_inertias(self, articulated: int, flags: Array, positions: ArrayLike | None) -> Array:
        out, members = empty((len(self._bodies), 6, 6)), self._members()
        entry = entries.body_inertias
        if positions is None:
            status = self._of_current(entry, self._with_transforms(), members, 0, articulated, flags, NOTHING, out)
        else:
            s, given = self._ready or self._workspace(), self._finite(positions, "positions")
            status = entry.call(s.tree, s.data, members, 1, articulated, flags, given, out)
        self._check_pivot(status)
        return out

    @property
    def composite_momenta(self) -> Array:
        """[angular; linear] momentum (bodies, 6) of each body with all below it, about its origin, world axes."""

        def compute() -> Array:
            d, out = self._with_velocities(), empty((len(self._bodies), 6))
            self._of_current(entries.composite_momenta, d, self._members(), 0, NOTHING, NOTHING, out)
            return out

        return self._result(OF_VELOCITIES, "composite momenta", compute).copy()

    def compute_composite_momenta(self, positions: ArrayLike, velocities: ArrayLike) -> Array:
        """`composite_momenta` of a given state."""
        s, out = self._ready or self._workspace(), empty((len(self._bodies), 6))
        given = self._finite(positions, "positions"), self._finite(velocities, "velocities")
        entries.composite_momenta.call(s.tree, s.data, self._members(), 1, *given, out)
        return out
