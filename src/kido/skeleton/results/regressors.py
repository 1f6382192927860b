"""Quantities as linear functions of inertial parameters, for identification and adaptive control."""

from __future__ import annotations

import numpy as np
from numpy import empty
from numpy.typing import ArrayLike

from kido.jit import REFUSALS
from kido.kernels import matrix_entries as entries
from kido.kernels.entries import REFUSED
from kido.skeleton.arrays import Array
from kido.skeleton.results.impulses import SkeletonImpulses
from kido.skeleton.results.selections import NOTHING, Bodies, parameters_of


class SkeletonRegressors(SkeletonImpulses):
    """Regressors: Y with (quantity) = Y pi.

    pi holds ten numbers for each body, in its own axes: its mass m [kg], m c (3) [kg m], and its moment of inertia
    about its origin (xx, xy, xz, yy, yz, zz) [kg m^2]. `bodies` chooses whose, in the skeleton's order; None
    means all. Welded bodies have columns of their own.

    Source: Atkeson, An, Hollerbach (1986), "Estimation of inertial parameters of manipulator loads and links".
    """

    def inertial_parameters(self, bodies: Bodies = None) -> Array:
        """pi (10 bodies,), [m, m c, J about the origin] of each body."""
        chosen = self._indices_of(bodies)
        own = [parameters_of(self._bodies[i].inertia) for i in (range(len(self._bodies)) if chosen is None else chosen)]
        return np.concatenate([np.zeros(0), *own])

    def _columns(self, bodies: Bodies) -> int:
        return 10 * (len(self._bodies) if bodies is None else len(self._indices_of(bodies) or ()))

    def inverse_dynamics_regressor(self, bodies: Bodies = None) -> Array:
        """Y (dofs, 10 bodies) with M udot + C(q, u) u + g(q) = Y pi of the current state and accelerations."""
        d = self._with_accelerations()
        Y = empty((len(self._dofs), self._columns(bodies)))
        arguments = self._members(bodies), 0, NOTHING, NOTHING, NOTHING, Y
        self._of_current(entries.torque_regressor, d, *arguments)
        return Y

    def compute_inverse_dynamics_regressor(
        self, positions: ArrayLike, velocities: ArrayLike, accelerations: ArrayLike, bodies: Bodies = None
    ) -> Array:
        """Y (dofs, 10 bodies) with `inverse_dynamics` = Y pi of a given state; the current state stays.

        With zero velocities and accelerations it is the regressor of `compute_gravity_forces`.
        """
        w = self._ready or self._workspace()
        members = self._members(bodies)
        Y = empty((len(self._dofs), self._columns(bodies)))
        try:
            status = entries.torque_regressor.call(w.tree, w.data, members, 1, positions, velocities, accelerations, Y)
        except REFUSALS:
            status = REFUSED
        if status:
            self._again(
                entries.torque_regressor,
                (members, 1),
                (Y,),
                positions=positions,
                velocities=velocities,
                accelerations=accelerations,
            )
        return Y

    def compute_energy_regressors(
        self, positions: ArrayLike, velocities: ArrayLike, bodies: Bodies = None
    ) -> tuple[Array, Array]:
        """K and U (10 bodies,): kinetic energy = K . pi, potential energy of gravity = U . pi, of a given state."""
        if self._ready is None:
            self._workspace()
        kinetic, potential = empty((2, self._columns(bodies)))
        first = self._members(bodies), 1
        given = {"positions": positions, "velocities": velocities}
        self._evaluate(entries.energy_regressor, first, (kinetic, potential), **given)
        return kinetic, potential
