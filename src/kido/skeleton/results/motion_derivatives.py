"""First derivatives of points' motion, of Jacobians and of momenta, analytic.

See `kido.skeleton.results.derivatives` for what derivatives are with respect to.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy import empty, zeros
from numpy.typing import ArrayLike

from kido.errors import ModelError
from kido.jit import REFUSALS
from kido.kernels import derivative_entries as entries
from kido.kernels.entries import REFUSED
from kido.math.transform import as_flag
from kido.skeleton.arrays import OF_ACCELERATIONS, OF_POSITIONS, OF_VELOCITIES, Array
from kido.skeleton.frames.frame import ORIGIN
from kido.skeleton.results.branches import derivatives_workspace, solution_rows
from kido.skeleton.results.matrices import SkeletonMatrices
from kido.skeleton.results.selections import Place


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


class SkeletonMotionDerivatives(SkeletonMatrices):
    """Derivatives of motion at the current state, and at states given as arguments."""

    # Motion of points ------------------------------------------------------------------------------------

    def velocity_derivatives(self, node: Any, offset: ArrayLike = ORIGIN) -> VelocityDerivatives:
        """Derivatives of the velocity [w; v] of a point of a node, world axes, at the current state.

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
        """`velocity_derivatives` of a given state; the current state stays."""
        D = self._velocity(self._place_of(node, offset), positions, velocities)
        return VelocityDerivatives(D[0], D[1])

    def _velocity(self, place: Place, q: ArrayLike, u: ArrayLike) -> Array:
        w = self._ready or self._workspace()
        D = zeros(w.two_rates)
        path, x, y, z = place
        try:
            work = w.derivation or self._derivation()
            status = entries.velocity_derivatives.call(w.tree, w.data, work, path, x, y, z, q, u, D)
        except REFUSALS:
            status = REFUSED
        if status:
            self._derive(entries.velocity_derivatives, place, D, positions=q, velocities=u)
        return D

    def acceleration_derivatives(
        self, node: Any, offset: ArrayLike = ORIGIN, spatial: bool = False
    ) -> AccelerationDerivatives:
        """Derivatives of the acceleration [wdot; a] of a point of a node, world axes, at the current state.

        Args:
            node: a body, its name or its index, or a frame fixed to a body.
            offset: the point, from the node's origin in its axes [m].
            spatial: a is the point's own (classic) acceleration, or if True Featherstone's, which is less w x v.

        Returns:
            dA/dq along velocities, of a point that moves with the node, dA/du, and dA/dudot, its Jacobian.

        Raises:
            ModelError: a node of another skeleton, or no node; an offset that is not three finite numbers.
        """
        place, classic = self._place_of(node, offset), self._classic(spatial)
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
        """`acceleration_derivatives` of a given state and acceleration; the current state stays."""
        place = self._place_of(node, offset)
        D = self._acceleration(place, self._classic(spatial), positions, velocities, accelerations)
        return AccelerationDerivatives(D[0], D[1], D[2])

    def _classic(self, spatial: bool) -> int:
        return 1 if spatial is False else int(not as_flag(spatial, f"skeleton {self.name!r}: spatial"))

    def _acceleration(self, place: Place, classic: int, q: ArrayLike, u: ArrayLike, udot: ArrayLike) -> Array:
        w = self._ready or self._workspace()
        D = zeros(w.three_rates)
        entry = entries.acceleration_derivatives
        path, x, y, z = place
        try:
            work = w.derivation or self._derivation()
            status = entry.call(w.tree, w.data, work, path, x, y, z, classic, q, u, udot, D)
        except REFUSALS:
            status = REFUSED
        if status:
            self._derive(entry, (*place, classic), D, positions=q, velocities=u, accelerations=udot)
        return D

    def jacobian_hessian(self, node: Any, offset: ArrayLike = ORIGIN) -> Array:
        """H (6, dofs, dofs) of a point of a node: H[:, k, j] = dJ[:, k] / dq_j, world axes, at the current positions.

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
        """`jacobian_hessian` at given positions; the current state stays."""
        return self._hessian(self._place_of(node, offset), positions)

    def _hessian(self, place: Place, q: ArrayLike) -> Array:
        w = self._ready or self._workspace()
        D = zeros(w.by_column)
        path, x, y, z = place
        try:
            work = w.derivation or self._derivation()
            status = entries.jacobian_hessian.call(w.tree, w.data, work, path, x, y, z, q, D)
        except REFUSALS:
            status = REFUSED
        if status:
            self._derive(entries.jacobian_hessian, place, D, positions=q)
        return D

    # Momentum --------------------------------------------------------------------------------------------

    def centroidal_momentum_derivatives(self) -> CentroidalDerivatives:
        """Derivatives of the momentum h about the centre of mass, world axes, and of its rate, at the current state.

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
        """`centroidal_momentum_derivatives` of a given state and acceleration; the current state stays."""
        D = self._centroidal(positions, velocities, accelerations)
        return CentroidalDerivatives(D[0], D[1], D[2], D[3])

    def _centroidal(self, q: ArrayLike, u: ArrayLike, udot: ArrayLike) -> Array:
        w = self._ready or self._workspace()
        D = empty(w.centroidal)
        entry = entries.centroidal_momentum_derivatives
        try:
            work = w.derivation or self._derivation()
            status = entry.call(w.tree, w.data, work, q, u, udot, D)
        except REFUSALS:
            status = REFUSED
        if status == REFUSED:
            status = self._derive(entry, (), D, positions=q, velocities=u, accelerations=udot)
        if status:
            raise ModelError(f"skeleton {self.name!r} has no mass, so no centre of mass")
        return D

    # How -------------------------------------------------------------------------------------------------

    def _derivation(self) -> int:
        """Address of the workspace that fits the compiled tree."""
        w = self._ready or self._workspace()
        work = self._selections.get("derivatives")
        if work is None:
            work = derivatives_workspace(self._tree)  # type: ignore[arg-type]
            self._selections["derivative rows"] = solution_rows(work)
            self._selections["derivatives"] = work
        w.derivation = work.address
        return work.address

    def _derive(self, entry: Any, first: tuple[Any, ...], D: Array, **given: ArrayLike) -> int:
        """Call an entry: (tree, data, workspace, *first, *given, D)."""
        return self._evaluate(entry, (self._derivation(), *first), (D,), **given)
