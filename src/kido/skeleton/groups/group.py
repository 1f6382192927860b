"""Kinematics and dynamics of a group: what its bodies do, and its coordinates' share of the dynamics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular

from kido import quantities
from kido.errors import ModelError
from kido.skeleton.frames.frame import ORIGIN, Frame
from kido.skeleton.groups.group_state import Array, GroupState, Part


class Group(GroupState):
    """A view of any bodies, joints and coordinates, of one skeleton or of several.

    Sums (mass, momentum, energies, centre of mass) are over its bodies. Jacobians and dynamics are with respect to its
    coordinates, in its own order: rows and columns of the skeletons' results. In its dynamics all other coordinates
    are held: they do not accelerate, and keep the positions and velocities that they have.

    Args:
        bodies: its bodies.
        joints: its joints; None for those above its bodies.
        dofs: its coordinates; None for all of its joints.
        name: for messages.

    Raises:
        ModelError: something is listed twice, or is of another kind.

    Example:
        >>> arms = Group([*Chain(torso, left_hand), *Chain(torso, right_hand)], name="arms")
        >>> arms.positions = np.zeros(arms.num_dofs)
        >>> J = arms.jacobian(left_hand)
    """

    # Its bodies ------------------------------------------------------------------------------------------

    def _with_bodies(self) -> list[Part]:
        return [part for part in self._current_parts() if part.bodies]

    @property
    def mass(self) -> float:
        """Mass of its bodies [kg]."""
        return float(sum(body.inertia.mass for body in self._bodies))

    def _mean(self, quantity: Any) -> Array:
        total = 0.0
        result = np.zeros(3)
        for part in self._with_bodies():
            mass = sum(part.skeleton.parts.bodies[k].inertia.mass for k in part.bodies)
            if mass > 0.0:
                result += mass * quantity(part.skeleton, bodies=part.bodies)
                total += mass
        if total == 0.0:
            raise ModelError(f"group {self.name!r} has no mass, so no centre of mass")
        return result / total

    @property
    def com(self) -> Array:
        """Centre of mass of its bodies in the world [m].

        Raises:
            ModelError: they have no mass.
        """
        return self._mean(quantities.com)

    def com_velocity(self) -> Array:
        """Velocity of the centre of mass [m/s], world axes."""
        return self._mean(quantities.com_velocity)

    def com_acceleration(self) -> Array:
        """Acceleration of the centre of mass [m/s^2] by the current accelerations, world axes."""
        return self._mean(quantities.com_acceleration)

    @property
    def momentum(self) -> Array:
        """[angular momentum about the world origin; linear momentum] of its bodies [kg m^2/s, kg m/s]."""
        shares = [part.skeleton.momentum_about(ORIGIN, part.bodies) for part in self._with_bodies()]
        return np.sum([np.zeros(6), *shares], axis=0)

    @property
    def kinetic_energy(self) -> float:
        """Of its bodies [J]."""
        return float(sum(quantities.kinetic_energy(part.skeleton, bodies=part.bodies) for part in self._with_bodies()))

    @property
    def potential_energy(self) -> float:
        """Gravity's on its bodies, zero at the world origin, and that of the springs of the joints above them [J]."""
        return float(
            sum(quantities.potential_energy(part.skeleton, bodies=part.bodies) for part in self._with_bodies())
        )

    # Jacobians -------------------------------------------------------------------------------------------

    def _columns(self, node: Any, method: str, rows: int, *arguments: Any) -> Array:
        """Columns of a skeleton's Jacobian that belong to the group's coordinates."""
        J = np.zeros((rows, self.num_dofs))
        carrier = getattr(node, "_carrier", None)
        if carrier is None:
            raise ModelError(f"group {self.name!r}: expected a body or a node on one, got {node!r}")
        home = carrier[0].skeleton
        for part in self._current_parts():
            if part.skeleton is home:
                J[:, part.rows] = getattr(home, method)(node, *arguments)[:, part.dofs]
        return J

    def jacobian(self, node: Any, offset: ArrayLike = ORIGIN, in_coordinates_of: Frame | None = None) -> Array:
        """J (6, dofs): [angular; linear] velocity of a point of any node that the group's velocities give.

        Args:
            node: a body or another node, in the group or not; columns of coordinates that do not move it are zero.
            offset: the point, from the node's origin in its own axes [m].
            in_coordinates_of: frame in whose axes the rows are; None for the world's.

        Raises:
            ModelError: no node.
        """
        return self._columns(node, "jacobian", 6, offset, in_coordinates_of)

    def linear_jacobian(self, node: Any, offset: ArrayLike = ORIGIN, in_coordinates_of: Frame | None = None) -> Array:
        """J (3, dofs): velocity of the point; arguments as for `jacobian`."""
        return self.jacobian(node, offset, in_coordinates_of)[3:]

    def angular_jacobian(self, node: Any, in_coordinates_of: Frame | None = None) -> Array:
        """J (3, dofs): angular velocity; arguments as for `jacobian`."""
        return self.jacobian(node, ORIGIN, in_coordinates_of)[:3]

    def jacobian_spatial_derivative(
        self, node: Any, offset: ArrayLike = ORIGIN, in_coordinates_of: Frame | None = None
    ) -> Array:
        """Columns (6, dofs) of the skeleton's `jacobian_spatial_derivative`."""
        return self._columns(node, "jacobian_spatial_derivative", 6, offset, in_coordinates_of)

    def jacobian_classic_derivative(
        self, node: Any, offset: ArrayLike = ORIGIN, in_coordinates_of: Frame | None = None
    ) -> Array:
        """Columns (6, dofs) of the skeleton's `jacobian_classic_derivative`."""
        return self._columns(node, "jacobian_classic_derivative", 6, offset, in_coordinates_of)

    def com_jacobian(self) -> Array:
        """J (3, dofs): velocity of the centre of mass of its bodies that the group's velocities give, world axes.

        Raises:
            ModelError: they have no mass.
        """
        J, total = np.zeros((3, self.num_dofs)), self.mass
        if total == 0.0:
            raise ModelError(f"group {self.name!r} has no mass, so no centre of mass")
        for part in self._with_bodies():
            mass = sum(part.skeleton.parts.bodies[k].inertia.mass for k in part.bodies)
            if mass > 0.0:
                J[:, part.rows] = part.skeleton.com_jacobian(part.bodies)[:, part.dofs] * (mass / total)
        return J

    # Dynamics of the current state --------------------------------------------------------------------------

    @property
    def mass_matrix(self) -> Array:
        """Mass matrix (dofs, dofs) of its coordinates: those rows and columns of the skeletons' mass matrices.

        All bodies that the coordinates move count, whether in the group or not.
        """
        M = np.zeros((self.num_dofs, self.num_dofs))
        for part in self._current_parts():
            M[np.ix_(part.rows, part.rows)] = part.skeleton.mass_matrix[np.ix_(part.dofs, part.dofs)]
        return M

    @property
    def inverse_mass_matrix(self) -> Array:
        """Inverse (dofs, dofs) of `mass_matrix`: accelerations per force while all other coordinates are held.

        DART's is a block of the inverse of the whole mass matrix, in which the others are free to move.

        Raises:
            ModelError: a coordinate moves no mass.
        """
        return self._solve(self.mass_matrix, np.eye(self.num_dofs))

    def _solve(self, M: Array, b: Array) -> Array:
        try:
            L = np.linalg.cholesky(M)
        except np.linalg.LinAlgError:
            raise ModelError(f"group {self.name!r}: its mass matrix is not positive definite") from None
        return solve_triangular(L.T, solve_triangular(L, b, lower=True), lower=False)

    @property
    def coriolis_forces(self) -> Array:
        """Its coordinates' share (dofs,) of C(q, u) u, all velocities as held."""
        return self._gather("coriolis_forces")

    @property
    def gravity_forces(self) -> Array:
        """Its coordinates' share (dofs,) of g(q)."""
        return self._gather("gravity_forces")

    @property
    def coriolis_and_gravity_forces(self) -> Array:
        """Its coordinates' share (dofs,) of C(q, u) u + g(q)."""
        return self._gather("coriolis_and_gravity_forces")

    @property
    def external_forces(self) -> Array:
        """Its coordinates' share (dofs,) of J^T f_ext."""
        return self._gather("external_forces")

    @property
    def constraint_forces(self) -> Array:
        """Its coordinates' share (dofs,) of the forces of contacts and limits in the world's last step."""
        return self._gather("constraint_forces")

    # Dynamics of a state given for its coordinates ---------------------------------------------------------

    def _given(self, name: str, value: ArrayLike | None) -> Array:
        return self._gather(name) if value is None else self._vector(value, name)

    @staticmethod
    def _filled(part: Part, name: str, values: Array) -> Array:
        whole = getattr(part.skeleton, name)
        whole[part.dofs] = values[part.rows]
        return whole

    def inverse_dynamics(
        self,
        positions: ArrayLike | None = None,
        velocities: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
    ) -> Array:
        """Joint forces (dofs,) that give its coordinates accelerations while the others do not accelerate.

        External forces are not part of it. The current state stays.

        Args:
            positions, velocities, accelerations: of its coordinates; None for those held. All others are at the held
                positions and velocities.

        Raises:
            StateError: the wrong size, or not finite.
        """
        q, u = self._given("positions", positions), self._given("velocities", velocities)
        udot, out = self._given("accelerations", accelerations), np.empty(self.num_dofs)
        for part in self._current_parts():
            skeleton, full = part.skeleton, np.zeros(part.skeleton.num_dofs)
            full[part.dofs] = udot[part.rows]
            state = self._filled(part, "positions", q), self._filled(part, "velocities", u)
            out[part.rows] = skeleton.inverse_dynamics(*state, full)[part.dofs]
        return out

    def forward_dynamics(
        self,
        positions: ArrayLike | None = None,
        velocities: ArrayLike | None = None,
        forces: ArrayLike | None = None,
    ) -> Array:
        """Accelerations (dofs,) of its coordinates under joint forces while the others do not accelerate.

        External forces are not part of it. The current state stays.

        Args:
            positions, velocities, forces: of its coordinates; None for those held. All others are at the held
                positions and velocities.

        Raises:
            StateError: the wrong size, or not finite.
            ModelError: a coordinate moves no mass.
        """
        q, u = self._given("positions", positions), self._given("velocities", velocities)
        tau, out = self._given("forces", forces), np.empty(self.num_dofs)
        for part in self._current_parts():
            if not len(part.rows):
                continue
            skeleton, values = part.skeleton, np.zeros(part.skeleton.num_dofs)
            values[part.dofs] = tau[part.rows]
            held = np.setdiff1d(np.arange(skeleton.num_dofs), part.dofs).tolist()
            state = self._filled(part, "positions", q), self._filled(part, "velocities", u)
            out[part.rows] = skeleton.hybrid_dynamics(*state, values, held)[0][part.dofs]
        return out
