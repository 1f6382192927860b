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
from numpy.typing import ArrayLike, NDArray

from kido.errors import StateError
from kido.kernels import derivative_entries as entries
from kido.quantities.failures import singular
from kido.quantities.motion_derivatives import WORK, new
from kido.quantities.quantity import ACCELERATIONS, FORCES, OF_FORCES, POSITIONS, VELOCITIES, derived, verb
from kido.quantities.soft import refuse_free, refuse_moving
from kido.reprs import brief

Array = NDArray[np.float64]


class InverseDynamicsDerivatives(NamedTuple):
    """Derivatives of joint forces, each (dofs, dofs): row i of force i, column k with respect to number k."""

    dq: Array
    du: Array
    dudot: Array

    __repr__ = brief


class ForwardDynamicsDerivatives(NamedTuple):
    """Derivatives of accelerations, each (dofs, dofs): row i of acceleration i, column k with respect to number k."""

    dq: Array
    du: Array
    dtau: Array

    __repr__ = brief


class HybridDynamicsDerivatives(NamedTuple):
    """Derivatives of what hybrid dynamics finds, each (dofs, dofs).

    Row i is of the force of a prescribed coordinate, or of the acceleration of another; column k of `dvalues` is with
    respect to the acceleration given to a prescribed coordinate, or to the force of another.
    """

    dq: Array
    du: Array
    dvalues: Array

    __repr__ = brief


_inverse = verb(
    "inverse_dynamics_derivatives", entries.inverse_dynamics_derivatives, ACCELERATIONS, "w.squares",
    "At a given state.", prepare=WORK, first="work",
)  # fmt: skip
_forward = verb(
    "forward_dynamics_derivatives", entries.forward_dynamics_derivatives, FORCES, "w.squares", "At a given state.",
    prepare=WORK, first="work", fail=singular, skins="frozen",
)  # fmt: skip


def inverse_dynamics_derivatives(
    of: Any,
    positions: ArrayLike | None = None,
    velocities: ArrayLike | None = None,
    accelerations: ArrayLike | None = None,
    dofs: Any = None,
) -> InverseDynamicsDerivatives:
    """Derivatives of `inverse_dynamics`, T = M udot + C(q, u), at a given state and acceleration.

    Without arguments, at the current state, with the held external forces (T = M udot + C - J^T f):
    forces on a body keep the axes they were given in, and act at points of the body or of the world as given.

    Args:
        positions, velocities, accelerations: (dofs,) each, or none of them.
        dofs: rows and columns of these coordinates alone: indices, names, a slice, ...; None for all.

    Returns:
        dT/dq along velocities (see `kido.quantities.derivatives`), dT/du and dT/dudot = M.

    Raises:
        StateError: numbers of the wrong size or not finite; some arguments given, and some not.
    """
    if positions is None or velocities is None or accelerations is None:
        if not positions is velocities is accelerations:
            _refuse_part(of, positions, velocities, accelerations)
        D = _of_current(of.current_state, "inverse_dynamics_derivatives", "udot", entries.inverse_dynamics_derivatives)
    else:
        D = _inverse(of, positions, velocities, accelerations)
    if dofs is not None:
        D = _square(of, D, dofs)
    return new(InverseDynamicsDerivatives, (D[0], D[1], D[2]))


def forward_dynamics_derivatives(
    of: Any,
    positions: ArrayLike | None = None,
    velocities: ArrayLike | None = None,
    forces: ArrayLike | None = None,
    dofs: Any = None,
) -> ForwardDynamicsDerivatives:
    """Derivatives of `forward_dynamics`, udot = M^-1 (T - C(q, u)), at a given state and joint forces.

    Without arguments, at the current state and forces, with the held external forces. Points of soft skins must be
    frozen.

    Args:
        positions, velocities, forces: (dofs,) each, or none of them.
        dofs: rows and columns of these coordinates alone: indices, names, a slice, ...; None for all.

    Returns:
        dudot/dq along velocities (see `kido.quantities.derivatives`), dudot/du and dudot/dT = M^-1.

    Raises:
        StateError: numbers of the wrong size or not finite; some arguments given, and some not.
        ModelError: the inertia seen by a coordinate is not positive.
    """
    if positions is None or velocities is None or forces is None:
        if not positions is velocities is forces:
            _refuse_part(of, positions, velocities, forces)
        D = _of_current(of.current_state, "forward_dynamics_derivatives", "tau", entries.forward_dynamics_derivatives)
    else:
        D = _forward(of, positions, velocities, forces)
    if dofs is not None:
        D = _square(of, D, dofs)
    return new(ForwardDynamicsDerivatives, (D[0], D[1], D[2]))


def hybrid_dynamics_derivatives(
    of: Any, positions: ArrayLike, velocities: ArrayLike, values: ArrayLike, prescribed: Any
) -> HybridDynamicsDerivatives:
    """Derivatives of `hybrid_dynamics`, which takes the same arguments; the current state stays.

    With f and p the free and prescribed coordinates, and D = dT/dq of inverse dynamics at the accelerations found:
    dudot_f/dq = -M_ff^-1 D_f,  dT_p/dq = D_p + M_pf dudot_f/dq, and so on.

    Raises:
        ModelError: the inertia seen by a coordinate that is not prescribed is not positive.
        NameLookupError: there is no such coordinate.
        StateError: numbers of the wrong size or not finite.
    """
    udot, _ = of.hybrid_dynamics(positions, velocities, values, prescribed)
    forces = inverse_dynamics_derivatives(of, positions, velocities, udot)
    return hybrid_derivatives(forces, of.current_state.dof_indices(prescribed))


def hybrid_derivatives(forces: InverseDynamicsDerivatives, prescribed: NDArray[np.int64]) -> HybridDynamicsDerivatives:
    """Derivatives of hybrid dynamics from those of inverse dynamics at the accelerations found; of samples too."""
    M = forces[2]
    n = M.shape[-1]
    given = np.zeros(n, bool)
    given[prescribed] = True
    p, f = np.flatnonzero(given), np.flatnonzero(~given)
    D = np.zeros((3, *M.shape))  # of forces that are wanting, with the free accelerations held
    D[0], D[1] = forces[0], forces[1]
    D[2][..., p] = M[..., p]
    D[2][..., f, f] = -1.0
    D[..., f, :] = -np.linalg.solve(M[..., f[:, None], f], D[..., f, :])
    D[..., p, :] += M[..., p[:, None], f] @ D[..., f, :]
    return HybridDynamicsDerivatives(D[0], D[1], D[2])


@derived(POSITIONS, ("dofs", "dofs"), kept=True)
def gravity_forces_derivative(state):
    """d(gravity forces)/dq along velocities; external forces apart."""
    d = state.compiled()
    rest = np.zeros(len(d.q))
    return _inverse(state, d.q, rest, rest)[0].copy()


@derived(VELOCITIES, (2, "dofs", "dofs"), kept=True, result="tuple[Array, Array]", skins="held")
def bias_forces_derivatives(state):
    """dC/dq along velocities and dC/du of `coriolis_and_gravity_forces`, (dofs, dofs) each."""
    d = state.compiled()
    D = _inverse(state, d.q, d.u, np.zeros(len(d.q)))
    return D[0].copy(), D[1].copy()


# How ---------------------------------------------------------------------------------------------------------


def _square(of: Any, D: Array, dofs: Any) -> Array:
    """Rows and columns of some coordinates of several matrices."""
    k = of.current_state.dof_indices(dofs)
    return D[:, k[:, None], k]


def _refuse_part(of: Any, *given: ArrayLike | None) -> None:
    raise StateError(f"skeleton {of.name!r}: expected a whole state, or none for the held one; got {given!r}")


def _of_current(state: Any, name: str, third: str, entry: Any) -> Array:
    """Of what is held, with external forces: computed where results do no harm."""
    w = state.settled or state.settle()
    if state.deformed is not None:
        return state.deformed.answer(name, {})
    if state.has_soft:
        (refuse_moving if third == "udot" else refuse_free)(state, name)
    kept = state.kept.get(name) or state.keep(name, np.empty(w.squares))
    stamps = state.stamps[2:] if third == "udot" else state.stamps[OF_FORCES]
    if kept.stamp != stamps:
        data, work = w.loaded or state.loaded(), w.derivation or state.derivation()
        if third == "tau":
            w.loaded_udot[:] = w.udot  # of coordinates that are prescribed
        status = entry.call(w.tree, data, work, w.q, w.u, w.udot if third == "udot" else w.tau, kept.value)
        if status:
            singular(state, status)
        kept.stamp = stamps
        kept.count += 1
    return kept.copied
