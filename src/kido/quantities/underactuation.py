"""Coordinates that are driven and coordinates that are not: the dynamics of under-actuated systems, split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError, StateError
from kido.joints import ActuatorType
from kido.math.transform import as_numbers, number_or_nan
from kido.quantities.quantity import VELOCITIES, derived
from kido.reprs import brief

Array = NDArray[np.float64]
# Share of the largest singular value below which passive coordinates are not coupled to active ones.
_COUPLING_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class ActivePassiveSplit:
    """Equations of motion of a state by active (a) and passive (p) coordinates; held ones do not accelerate:

        M_aa ua' + M_ap up' + h_a = T_a,      M_pa ua' + M_pp up' + h_p = T_p

    T_p are forces that nothing controls (springs, say), zero by default. Eliminating up' makes the *collocated* form,
    in which active accelerations are chosen; eliminating ua' the *non-collocated* one, in which passive ones are, as
    far as the inertial coupling M_pa reaches them.

    Source: Spong (1994), "Partial feedback linearization of underactuated mechanical systems"; Jain and Rodriguez
    (1993), "An analysis of the kinematics and dynamics of underactuated manipulators".

    Attributes:
        active, passive, held: indices of the coordinates.
        M_aa, M_ap, M_pp: parts of the mass matrix.
        h_a, h_p: parts of C(q, u) u + g(q).
    """

    active: NDArray[np.int64]
    passive: NDArray[np.int64]
    held: NDArray[np.int64]
    M_aa: Array
    M_ap: Array
    M_pp: Array
    h_a: Array
    h_p: Array

    __repr__ = brief

    def _given(self, value: ArrayLike | None, size: int, what: str) -> Array:
        if value is None:
            return np.zeros(size)
        try:
            vector = as_numbers(value)
        except (TypeError, ValueError):
            vector = np.zeros(0)
        if vector.shape != (size,) or not np.isfinite(vector).all():
            raise StateError(f"active-passive split: {what}: expected {size} finite numbers, got {value!r}")
        return vector

    def _by_passive(self, b: Array) -> Array:
        """M_pp^-1 b."""
        if not len(self.passive):
            return np.zeros_like(b)
        try:
            return np.asarray(scipy.linalg.cho_solve(scipy.linalg.cho_factor(self.M_pp), b))
        except np.linalg.LinAlgError:
            raise ModelError("active-passive split: the mass matrix of the passive coordinates is singular") from None

    # Collocated ------------------------------------------------------------------------------------------

    @property
    def coupling(self) -> Array:
        """-M_pp^-1 M_pa (passive, active): passive accelerations, or velocities by impulses, for active ones."""
        return -self._by_passive(self.M_ap.T)

    @property
    def active_inertia(self) -> Array:
        """M_aa - M_ap M_pp^-1 M_pa (active, active): what active forces feel while passive coordinates give way."""
        inertia = self.M_aa + self.M_ap @ self.coupling
        return 0.5 * (inertia + inertia.T)

    @property
    def active_bias(self) -> Array:
        """h_a - M_ap M_pp^-1 h_p (active,): T_a = active_inertia ua' + active_bias, without T_p."""
        return self.h_a - self.M_ap @ self._by_passive(self.h_p)

    def passive_accelerations(self, active_accelerations: ArrayLike, passive_forces: ArrayLike | None = None) -> Array:
        """up' = M_pp^-1 (T_p - h_p - M_pa ua') (passive,), while active coordinates accelerate as given."""
        ua = self._given(active_accelerations, len(self.active), "active_accelerations")
        Tp = self._given(passive_forces, len(self.passive), "passive_forces")
        return self._by_passive(Tp - self.h_p - self.M_ap.T @ ua)

    def collocated_forces(self, active_accelerations: ArrayLike, passive_forces: ArrayLike | None = None) -> Array:
        """T_a (active,) that accelerate the active coordinates as given."""
        ua = self._given(active_accelerations, len(self.active), "active_accelerations")
        up = self.passive_accelerations(ua, passive_forces)
        return self.M_aa @ ua + self.M_ap @ up + self.h_a

    def generalized_jacobian(self, jacobian: ArrayLike) -> Array:
        """J_a - J_p M_pp^-1 M_pa (rows, active) of a Jacobian (rows, dofs): velocities while M_pa ua + M_pp up = 0.

        With a free base as the passive coordinates and no momentum, the Jacobian of a space robot.

        Source: Umetani and Yoshida (1989), "Resolved motion rate control of space manipulators with generalized
        Jacobian matrix".

        Raises:
            StateError: another number of columns.
        """
        try:
            J = as_numbers(jacobian)
        except (TypeError, ValueError):
            J = np.zeros((0, 0))
        total = len(self.active) + len(self.passive) + len(self.held)
        if J.ndim != 2 or J.shape[-1] != total or not np.isfinite(J).all():
            raise StateError(
                f"active-passive split: jacobian: expected finite numbers in {total} columns, got {jacobian!r}"
            )
        return J[:, self.active] + J[:, self.passive] @ self.coupling

    # Non-collocated --------------------------------------------------------------------------------------

    @property
    def is_strongly_coupled(self) -> bool:
        """Whether active coordinates can give the passive ones any accelerations: M_pa has full row rank."""
        if len(self.passive) > len(self.active):
            return False
        if not len(self.passive):
            return True
        sigma = np.linalg.svd(self.M_ap, compute_uv=False)
        return bool(sigma[-1] > _COUPLING_TOLERANCE * max(sigma[0], np.abs(self.M_pp).max()))

    def non_collocated_accelerations(
        self, passive_accelerations: ArrayLike, passive_forces: ArrayLike | None = None, damping: float = 0.0
    ) -> Array:
        """ua' = M_pa^+ (T_p - h_p - M_pp up') (active,) that give the passive coordinates their accelerations.

        Args:
            passive_accelerations: wanted.
            passive_forces: T_p.
            damping: lambda of (M_pa M_ap + lambda^2 1)^-1 [kg, kg m^2]; then they are met as nearly as that allows.

        Raises:
            ModelError: the coupling is not strong and there is no damping.
        """
        up = self._given(passive_accelerations, len(self.passive), "passive_accelerations")
        Tp = self._given(passive_forces, len(self.passive), "passive_forces")
        more = number_or_nan(damping)
        if not 0.0 <= more < np.inf:
            raise ModelError(f"active-passive split: damping: expected a number not below 0, got {damping!r}")
        if more == 0.0 and not self.is_strongly_coupled:
            raise ModelError(
                f"active-passive split: {len(self.active)} active coordinates cannot give {len(self.passive)} passive "
                "ones any accelerations: M_pa has not full row rank; give a damping"
            )
        M_pa = self.M_ap.T
        wanted = Tp - self.h_p - self.M_pp @ up
        if more == 0.0:
            return np.linalg.pinv(M_pa) @ wanted
        return M_pa.T @ np.linalg.solve(M_pa @ M_pa.T + more * more * np.eye(len(M_pa)), wanted)

    def non_collocated_forces(
        self, passive_accelerations: ArrayLike, passive_forces: ArrayLike | None = None, damping: float = 0.0
    ) -> Array:
        """T_a (active,) of `non_collocated_accelerations`; arguments and errors as there."""
        ua = self.non_collocated_accelerations(passive_accelerations, passive_forces, damping)
        return self.collocated_forces(ua, passive_forces)


@derived(VELOCITIES, (), result="ActivePassiveSplit", skins="held")
def active_passive_split(state, active=None):
    """The equations of motion, by active and passive coordinates.

    Args:
        active: the active coordinates, named as for `get_positions`; all others are then passive. None: by
            actuators, those that are PASSIVE passive, those that are LOCKED held, all others active.

    Raises:
        NameLookupError: there is no such coordinate.
    """
    return _split(_parts(state, active), state.mass_matrix, state.coriolis_and_gravity_forces)


def _parts(state: Any, active: Any) -> tuple[NDArray[np.int64], ...]:
    """Active, passive and held coordinates."""
    kinds = state.compiled_tree().actuator
    every = np.arange(len(kinds))
    if active is not None:
        chosen = np.unique(state.dof_indices(active))
        return chosen, np.setdiff1d(every, chosen), every[:0]
    passive, held = every[kinds == ActuatorType.PASSIVE], every[kinds == ActuatorType.LOCKED]
    return np.setdiff1d(every, np.concatenate([passive, held])), passive, held


def _split(parts: tuple[NDArray[np.int64], ...], M: Array, h: Array) -> ActivePassiveSplit:
    a, p, held = parts
    return ActivePassiveSplit(a, p, held, M[np.ix_(a, a)], M[np.ix_(a, p)], M[np.ix_(p, p)], h[a], h[p])
