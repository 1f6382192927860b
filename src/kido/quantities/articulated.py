"""Articulated and composite inertias, ln det M, and velocities that make the kinetic energy a sum of squares.

What the sweeps of articulated bodies leave behind, each in O(bodies). `prescribed` names coordinates that do not give
way, whatever acts on them (locked joints); None: all are free. All raise ModelError if the inertia seen by a coordinate
is not positive.

Sources: Jain, Vaidehi, Rodriguez (1993); Jain (2013), section II; theory of log det M: Jain et al. (2013), "Fixman
compensating potential for general branched molecules".
"""

from __future__ import annotations

import numpy as np

from kido.kernels import operational_entries as entries
from kido.quantities.failures import singular
from kido.quantities.quantity import OF_POSITIONS, POSITIONS, VELOCITIES, derived

INERTIA = "kg m^2, kg m, kg"


@derived(POSITIONS, (), result="float")
def log_det_mass_matrix(state, prescribed=None):
    """ln det M: the sum of ln D over articulated inertias.

    Args:
        prescribed: coordinates whose rows and columns are left out of M; None: none.
    """
    flags = state.flags(prescribed)

    def compute():
        w, out = state.settled or state.settle(), np.empty(1)
        singular(state, entries.log_determinant.call(w.tree, w.held, flags, out))
        return float(out[0])

    return state.result(OF_POSITIONS, ("log_det_mass_matrix", flags.tobytes()), compute)


@derived(POSITIONS, ("dofs",))
def log_det_mass_matrix_gradient(state, prescribed=None):
    """Derivatives of `log_det_mass_matrix` along the velocities.

    Column k is d/dh at q + h e_k on the joint's manifold, as in all derivatives. Half of it is the gradient of
    Fixman's potential divided by kT.

    Args:
        prescribed: as for `log_det_mass_matrix`; the result has all coordinates, as M depends on these too.
    """
    w = state.settled or state.settle()
    out, flags = np.empty(w.dofs), state.flags(prescribed)
    singular(state, entries.log_determinant_gradient.call(w.tree, w.held, state.all_links().address, flags, out))
    return out


def diagonal(state, values, inverse, prescribed=None):
    """nu of velocities, or with `inverse` 1 the velocities of nu."""
    w = state.settled or state.settle()
    out = np.empty(w.dofs)
    status = entries.diagonal_velocities.call(w.tree, w.held, state.flags(prescribed), inverse, values, out)
    singular(state, status)
    return out


@derived(VELOCITIES, ("dofs",), is_property=True, equation="kinetic energy = nu . nu / 2",
         source='Jain and Rodriguez (1995), "Diagonalized Lagrangian robot dynamics"', skins="held")  # fmt: skip
def diagonalized_velocities(state, prescribed=None):
    """nu = D^(1/2) [1 + H phi K]* u."""
    return diagonal(state, state.compiled().u.copy(), 0, prescribed)


@derived(POSITIONS, ("dofs",))
def velocities_of_diagonalized(state, values):
    """u with `diagonalized_velocities` = values.

    Raises:
        StateError: values of the wrong size, or not finite.
    """
    return diagonal(state, state.finite(values, "values"), 1)


def _inertias(state, articulated, flags):
    """(bodies, 6, 6) composite or articulated inertias, kept."""

    def compute():
        w = state.settled or state.settle()
        out = np.empty((w.poses[0], 6, 6))
        singular(state, entries.body_inertias.call(w.tree, w.held, state.members(), articulated, flags, out))
        return out

    return state.result(OF_POSITIONS, ("body inertias", articulated, flags.tobytes()), compute)


@derived(POSITIONS, ("bodies", 6, 6), is_property=True, unit=INERTIA, frame="world axes", subgraph=True)
def composite_inertias(state):
    """Each body with all below it as one rigid body, about its own origin."""
    return _inertias(state, 0, state.flags(None)).copy()


@derived(POSITIONS, ("bodies", 6, 6), unit=INERTIA, frame="world axes")
def articulated_inertias(state, prescribed=None):
    """Articulated inertias, about the bodies' origins.

    A wrench f on a body that nothing holds above, with all that hangs on it free to move at its joints and at rest,
    accelerates it by P^-1 f.

    Args:
        prescribed: coordinates that do not give way; None: all are free.
    """
    return _inertias(state, 1, state.flags(prescribed)).copy()


@derived(VELOCITIES, ("bodies", 6), is_property=True, kept=True, unit="kg m^2/s, kg m/s", frame="world axes",
         subgraph=True, skins="held")  # fmt: skip
def composite_momenta(state):
    """[angular; linear] momentum of each body with all below it, about its origin."""
    w = state.settled or state.settle()
    out = np.empty((w.poses[0], 6))
    entries.composite_momenta.call(w.tree, w.held, state.members(), out)
    return out
