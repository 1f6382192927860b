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

from kido.errors import ModelError, StateError
from kido.jit import REFUSALS
from kido.kernels import derivative_entries as entries
from kido.kernels.entries import REFUSED
from kido.skeleton.arrays import OF_ACCELERATIONS, OF_FORCES, OF_POSITIONS, OF_VELOCITIES, Array
from kido.skeleton.branches import derivatives_workspace, solution_rows
from kido.skeleton.frame import ORIGIN
from kido.skeleton.matrices import SkeletonMatrices
from kido.skeleton.selections import Place


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


class VelocityDerivatives(NamedTuple):
    """Derivatives of a point's [angular; linear] velocity, each (6, dofs); du is its Jacobian."""

    dq: Array
    du: Array


class AccelerationDerivatives(NamedTuple):
    """Derivatives of a point's [angular; linear] acceleration, each (6, dofs); dudot is its Jacobian."""

    dq: Array
    du: Array
    dudot: Array


class CentroidalDerivatives(NamedTuple):
    """Derivatives of the momentum about the centre of mass, [angular; linear], and of its rate, each (6, dofs).

    `rate_dudot` is the centroidal momentum matrix, the derivative of the momentum with respect to velocities.
    """

    momentum_dq: Array
    rate_dq: Array
    rate_du: Array
    rate_dudot: Array


class SkeletonDerivatives(SkeletonMatrices):
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
            self._derive(entry, (), D, positions=positions, velocities=velocities, accelerations=accelerations)
        return InverseDynamicsDerivatives(D[0], D[1], D[2])

    def forward_dynamics_derivatives(
        self,
        positions: ArrayLike | None = None,
        velocities: ArrayLike | None = None,
        forces: ArrayLike | None = None,
    ) -> ForwardDynamicsDerivatives:
        """Derivatives of `forward_dynamics`, udot = M^-1 (T - C(q, u)), at a given state and joint forces.

        Without arguments, at the held state and forces, with the held external forces.

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
                status = self._derive(entry, (), D, positions=positions, velocities=velocities, forces=forces)
            if status:
                self._raise_singular(status - 2)
        return ForwardDynamicsDerivatives(D[0], D[1], D[2])

    def hybrid_dynamics_derivatives(
        self, positions: ArrayLike, velocities: ArrayLike, values: ArrayLike, prescribed: Any
    ) -> HybridDynamicsDerivatives:
        """Derivatives of `hybrid_dynamics`, which takes the same arguments; the held state stays.

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
        given[self._coordinate_indices(prescribed)] = True
        p, f = np.flatnonzero(given), np.flatnonzero(~given)
        dvalues = np.zeros_like(M)
        dvalues[:, p] = M[:, p]
        dvalues[f, f] = -1.0
        D = np.array([dq, du, dvalues])  # of forces that are wanting, with the free accelerations held
        D[:, f] = -np.linalg.solve(M[np.ix_(f, f)], D[:, f])
        D[:, p] += M[np.ix_(p, f)] @ D[:, f]
        return HybridDynamicsDerivatives(*D)

    def gravity_forces_derivative(self) -> Array:
        """d(gravity forces)/dq (dofs, dofs) along velocities, at the held positions; external forces apart."""
        d = self._compiled()
        return self._result(
            OF_POSITIONS, "gravity_forces_derivative", lambda: self.compute_gravity_forces_derivative(d.q)
        ).copy()

    def compute_gravity_forces_derivative(self, positions: ArrayLike) -> Array:
        """`gravity_forces_derivative` at given positions; the held state stays."""
        rest = np.zeros(len(self._dofs))
        return self.inverse_dynamics_derivatives(positions, rest, rest).dq.copy()

    def bias_forces_derivatives(self) -> tuple[Array, Array]:
        """dC/dq along velocities and dC/du of `coriolis_and_gravity_forces`, each (dofs, dofs), at the held state."""
        d = self._compiled()
        D = self._result(
            OF_VELOCITIES, "bias_forces_derivatives", lambda: self.compute_bias_forces_derivatives(d.q, d.u)
        )
        return D[0].copy(), D[1].copy()

    def compute_bias_forces_derivatives(self, positions: ArrayLike, velocities: ArrayLike) -> tuple[Array, Array]:
        """`bias_forces_derivatives` of a given state; the held state stays."""
        rest = np.zeros(len(self._dofs))
        D = self.inverse_dynamics_derivatives(positions, velocities, rest)
        return D.dq.copy(), D.du.copy()

    # Motion of points ------------------------------------------------------------------------------------

    def velocity_derivatives(self, node: Any, offset: ArrayLike = ORIGIN) -> VelocityDerivatives:
        """Derivatives of the velocity [w; v] of a point of a node, world axes, at the held state.

        Args:
            node: a body, its name or its index, or a frame fixed to a body.
            offset: the point, from the node's origin in its axes [m].

        Returns:
            dV/dq along velocities, of a point that moves with the node, and dV/du, its Jacobian. Pinocchio's
            getFrameVelocityDerivatives with LOCAL_WORLD_ALIGNED has the same du; its dq is at a point held at rest:
            this one less [0; w x J_v].

        Raises:
            ModelError: a node of another skeleton, or no node; an offset that is not three finite numbers.
        """
        place = self._place_of(node, offset)
        d = self._compiled()
        D = self._result(OF_VELOCITIES, ("velocity_derivatives", place), lambda: self._velocity(place, d.q, d.u))
        return VelocityDerivatives(*D.copy())

    def compute_velocity_derivatives(
        self, positions: ArrayLike, velocities: ArrayLike, node: Any, offset: ArrayLike = ORIGIN
    ) -> VelocityDerivatives:
        """`velocity_derivatives` of a given state; the held state stays."""
        return VelocityDerivatives(*self._velocity(self._place_of(node, offset), positions, velocities))

    def _velocity(self, place: Place, q: ArrayLike, u: ArrayLike) -> Array:
        D = np.zeros((2, 6, len(self._dofs)))
        self._derive(entries.velocity_derivatives, place, D, positions=q, velocities=u)
        return D

    def acceleration_derivatives(
        self, node: Any, offset: ArrayLike = ORIGIN, spatial: bool = False
    ) -> AccelerationDerivatives:
        """Derivatives of the acceleration [wdot; a] of a point of a node, world axes, at the held state.

        Args:
            node: a body, its name or its index, or a frame fixed to a body.
            offset: the point, from the node's origin in its axes [m].
            spatial: a is the point's own (classic) acceleration, or if True Featherstone's, which is less w x v.

        Returns:
            dA/dq along velocities, of a point that moves with the node, dA/du, and dA/dudot, its Jacobian.

        Raises:
            ModelError: a node of another skeleton, or no node; an offset that is not three finite numbers.
        """
        place, classic = self._place_of(node, offset), int(not spatial)
        d = self._compiled()
        D = self._result(
            OF_ACCELERATIONS,
            ("acceleration_derivatives", place, classic),
            lambda: self._acceleration(place, classic, d.q, d.u, d.udot),
        )
        return AccelerationDerivatives(*D.copy())

    def compute_acceleration_derivatives(
        self,
        positions: ArrayLike,
        velocities: ArrayLike,
        accelerations: ArrayLike,
        node: Any,
        offset: ArrayLike = ORIGIN,
        spatial: bool = False,
    ) -> AccelerationDerivatives:
        """`acceleration_derivatives` of a given state and acceleration; the held state stays."""
        place = self._place_of(node, offset)
        D = self._acceleration(place, int(not spatial), positions, velocities, accelerations)
        return AccelerationDerivatives(*D)

    def _acceleration(self, place: Place, classic: int, q: ArrayLike, u: ArrayLike, udot: ArrayLike) -> Array:
        D = np.zeros((3, 6, len(self._dofs)))
        entry = entries.acceleration_derivatives
        self._derive(entry, (*place, classic), D, positions=q, velocities=u, accelerations=udot)
        return D

    def jacobian_hessian(self, node: Any, offset: ArrayLike = ORIGIN) -> Array:
        """H (6, dofs, dofs) of a point of a node: H[:, k, j] = dJ[:, k] / dq_j, world axes, at the held positions.

        J is the point's [angular; linear] Jacobian in world axes, and moves with the node. Then dJ/dt = H u. Along
        coordinates of ball and free joints, whose moves do not commute, H[:, k, j] and H[:, j, k] differ also in
        the linear rows. Pinocchio's getJointKinematicHessian with LOCAL_WORLD_ALIGNED has these numbers.

        Args:
            node: a body, its name or its index, or a frame fixed to a body.
            offset: the point, from the node's origin in its axes [m].

        Raises:
            ModelError: a node of another skeleton, or no node; an offset that is not three finite numbers.
        """
        place = self._place_of(node, offset)
        d = self._compiled()
        return self._result(OF_POSITIONS, ("jacobian_hessian", place), lambda: self._hessian(place, d.q)).copy()

    def compute_jacobian_hessian(self, positions: ArrayLike, node: Any, offset: ArrayLike = ORIGIN) -> Array:
        """`jacobian_hessian` at given positions; the held state stays."""
        return self._hessian(self._place_of(node, offset), positions)

    def _hessian(self, place: Place, q: ArrayLike) -> Array:
        D = np.zeros((6, len(self._dofs), len(self._dofs)))
        self._derive(entries.jacobian_hessian, place, D, positions=q)
        return D

    # Momentum --------------------------------------------------------------------------------------------

    def centroidal_momentum_derivatives(self) -> CentroidalDerivatives:
        """Derivatives of the momentum h about the centre of mass, world axes, and of its rate, at the held state.

        hdot = A udot + Adot u is what motion needs of outer forces, gravity included; it is no result of them.
        The same quantities as Pinocchio's computeCentroidalDynamicsDerivatives, [angular; linear].

        Returns:
            dh/dq, dhdot/dq along velocities, dhdot/du and dhdot/dudot = dh/du = A.

        Raises:
            ModelError: the skeleton has no mass.
        """
        d = self._compiled()
        D = self._result(
            OF_ACCELERATIONS, "centroidal_momentum_derivatives", lambda: self._centroidal(d.q, d.u, d.udot)
        )
        return CentroidalDerivatives(*D.copy())

    def compute_centroidal_momentum_derivatives(
        self, positions: ArrayLike, velocities: ArrayLike, accelerations: ArrayLike
    ) -> CentroidalDerivatives:
        """`centroidal_momentum_derivatives` of a given state and acceleration; the held state stays."""
        return CentroidalDerivatives(*self._centroidal(positions, velocities, accelerations))

    def _centroidal(self, q: ArrayLike, u: ArrayLike, udot: ArrayLike) -> Array:
        D = np.empty((4, 6, len(self._dofs)))
        entry = entries.centroidal_momentum_derivatives
        if self._derive(entry, (), D, positions=q, velocities=u, accelerations=udot):
            raise ModelError(f"skeleton {self.name!r} has no mass, so no centre of mass")
        return D

    # How -------------------------------------------------------------------------------------------------

    def _derivation(self) -> int:
        """Address of the workspace that fits the compiled tree."""
        work = self._selections.get("derivatives")
        if work is None:
            self._workspace()
            work = derivatives_workspace(self._tree)  # type: ignore[arg-type]
            self._selections["derivative rows"] = solution_rows(work)
            self._selections["derivatives"] = work
        return work.address

    def _derive(self, entry: Any, first: tuple[Any, ...], D: Array, **given: ArrayLike) -> int:
        """Call an entry: (tree, data, workspace, *first, *given, D)."""
        return self._evaluate(entry, (self._derivation(), *first), (D,), **given)

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
