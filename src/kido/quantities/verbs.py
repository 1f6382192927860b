"""Dynamics and moves that are pure by name: of a state that is given, which leave the current one alone.

They are methods of skeletons and states, `skeleton.forward_dynamics(q, u, tau)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import StateError
from kido.kernels import entries, manifold
from kido.kernels.matrix_entries import hybrid_dynamics as hybrid_entry
from kido.math.transform import number_or_nan
from kido.quantities.derivatives import (
    forward_dynamics_derivatives,
    hybrid_dynamics_derivatives,
    inverse_dynamics_derivatives,
)
from kido.quantities.failures import singular
from kido.quantities.quantity import ACCELERATIONS, FORCES, POSITIONS, frozen, verb

Array = NDArray[np.float64]

forward_kinematics = verb(
    "forward_kinematics", entries.forward_kinematics, POSITIONS, "w.poses",
    "World transforms (bodies, 4, 4) of all bodies at given positions; the current state stays.",
)  # fmt: skip
inverse_dynamics = verb(
    "inverse_dynamics", entries.inverse_dynamics, ACCELERATIONS, "w.dofs",
    "Joint forces T = M udot + C(q, u) of a given state and acceleration; the current state stays.",
)  # fmt: skip
forward_dynamics = verb(
    "forward_dynamics", entries.forward_dynamics, FORCES, "w.dofs",
    """Accelerations M^-1 (T - C(q, u)) of a given state and joint forces; the current state stays.

    Raises:
        ModelError: the inertia seen by a coordinate is not positive.
        ModelError: points of a soft body are free.
    """,
    fail=singular, skins="frozen",
)  # fmt: skip
position_differences = verb(
    "position_differences", manifold.position_differences, ("positions", "from_positions"), "w.dofs",
    """Velocities (dofs,) that move `from_positions` to `positions` in unit time, if they are held.

    For a ball joint log(R1^T R2), at most pi long; for a free joint the twist log(X1^-1 X2).

    Raises:
        StateError: positions of the wrong count or not finite.
    """,
)  # fmt: skip
integrate_positions = verb(
    "integrate_positions", manifold.integrate_positions, ("positions", "velocities"), "w.dofs",
    """Positions (dofs,) after unit time with given velocities: R exp(w) for a ball joint, X exp(V) for a free one.

    Raises:
        StateError: vectors of the wrong count or not finite.
    """,
)  # fmt: skip


def interpolate_positions(of: Any, start: ArrayLike, end: ArrayLike, share: float) -> Array:
    """Positions (dofs,) on the way from `start` (share 0) to `end` (share 1), at constant velocities.

    Raises:
        StateError: positions of the wrong count, or a number that is not finite.
    """
    number = number_or_nan(share)
    if not np.isfinite(number):
        raise StateError(f"skeleton {of.name!r}: share: expected a finite number, got {share!r}")
    return integrate_positions(of, start, number * position_differences(of, end, start))


def hybrid_dynamics(
    of: Any, positions: ArrayLike, velocities: ArrayLike, values: ArrayLike, prescribed: Any
) -> tuple[Array, Array]:
    """Dynamics with the accelerations of some coordinates given; the current state stays.

    Args:
        positions, velocities: the state.
        values: (dofs,) accelerations of the prescribed coordinates, joint forces of the others.
        prescribed: the coordinates whose acceleration is given, named as for `get_positions`.

    Returns:
        (accelerations, forces), all of them (dofs,): M udot + C(q, u) = T.

    Raises:
        ModelError: the inertia seen by a coordinate that is not prescribed is not positive; points of a soft body are
            free.
        NameLookupError: there is no such coordinate.
    """
    state = of.current_state
    w = of.ready or frozen(state, "hybrid_dynamics")
    flags = np.zeros(w.dofs)
    flags[state.dof_indices(prescribed)] = 1.0
    if state.deformed is not None:
        values = state.finite(values, "values")
        made = state.at(positions=positions, velocities=velocities)
        return made.deformed.answer("hybrid_dynamics", {"values": values, "flags": flags})
    udot, tau = np.empty(w.dofs), np.empty(w.dofs)
    given = {"positions": positions, "velocities": velocities, "values": values}
    singular(state, state.repeat(hybrid_entry, (), (flags, udot, tau), **given))
    return udot, tau


VERBS = (
    forward_kinematics, forward_dynamics, inverse_dynamics, hybrid_dynamics, inverse_dynamics_derivatives,
    forward_dynamics_derivatives, hybrid_dynamics_derivatives, position_differences, integrate_positions,
    interpolate_positions,
)  # fmt: skip
