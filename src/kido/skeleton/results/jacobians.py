"""Jacobians of a skeleton's nodes and of its centre of mass, and their time derivatives."""

from __future__ import annotations

from typing import Any

from numpy import empty
from numpy.typing import ArrayLike

from kido.errors import ModelError
from kido.jit import REFUSALS
from kido.kernels import jacobian_entries as entries
from kido.kernels import momentum_entries
from kido.kernels.entries import REFUSED
from kido.skeleton.arrays import OF_POSITIONS, OF_VELOCITIES, Array
from kido.skeleton.frames.frame import ORIGIN, Frame
from kido.skeleton.frames.jacobian_node import JacobianNode
from kido.skeleton.results.dynamics import SkeletonDynamics
from kido.skeleton.results.selections import NOTHING, Bodies, turned

_POSE = (4, 4)


class SkeletonJacobians(SkeletonDynamics):
    """Jacobians with a column for every coordinate of the skeleton; those of the nodes themselves are compact.

    A node is a body, its name or its index, or a frame fixed to a body. `offset` is a point in the node's axes, from
    its origin [m]. `in_coordinates_of` is the frame in whose axes the rows are; None for the world's. In
    methods that take a state, nodes of this skeleton are where that state puts them, other frames where they are.
    """

    # Of the current state -----------------------------------------------------------------------------------

    def _current_jacobian(self, node: Any, offset: ArrayLike) -> Array:
        path, x, y, z = place = self._place_of(node, offset)

        def compute() -> Array:
            J = empty((6, len(self._dofs)))
            self._of_current(entries.jacobian, self._compiled(), path, 0, x, y, z, NOTHING, J)
            return J

        return self._result(OF_POSITIONS, ("jacobian", place), compute)

    def jacobian(self, node: Any, offset: ArrayLike = ORIGIN, in_coordinates_of: Frame | None = None) -> Array:
        """J (6, dofs) with [angular; linear] velocity of a point of a node = J u.

        Args:
            node: a body of the skeleton, its name or its index; or a node on one (end effector, marker, shape).
            offset: the point, from the node's origin in its own axes [m].
            in_coordinates_of: frame in whose axes the rows are; None for the world's.

        Raises:
            ModelError: a node of another skeleton, or no node; an offset that is not three finite numbers.
        """
        J = self._current_jacobian(node, offset)
        return J.copy() if in_coordinates_of is None else turned(J, self._axes_of(in_coordinates_of))

    def linear_jacobian(self, node: Any, offset: ArrayLike = ORIGIN, in_coordinates_of: Frame | None = None) -> Array:
        """J (3, dofs) with velocity of a point of a node = J u; arguments as for `jacobian`."""
        return self.jacobian(node, offset, in_coordinates_of)[3:]

    def angular_jacobian(self, node: Any, in_coordinates_of: Frame | None = None) -> Array:
        """J (3, dofs) with angular velocity of a node = J u; arguments as for `jacobian`."""
        return self.jacobian(node, ORIGIN, in_coordinates_of)[:3]

    def _current_rate(self, node: Any, offset: ArrayLike, spatial: int) -> Array:
        path, x, y, z = place = self._place_of(node, offset)

        def compute() -> Array:
            J = empty((6, len(self._dofs)))
            d = self._compiled()
            self._of_current(entries.jacobian_rate, d, path, 0, spatial, x, y, z, NOTHING, NOTHING, J)
            return J

        return self._result(OF_VELOCITIES, ("jacobian rate", spatial, place), compute)

    def jacobian_classic_derivative(
        self, node: Any, offset: ArrayLike = ORIGIN, in_coordinates_of: Frame | None = None
    ) -> Array:
        """dJ (6, dofs): the time derivative of the numbers of `jacobian` in world axes, along the current velocities.

        [angular acceleration; acceleration of the point] = J udot + dJ u. In other axes than the world's its
        columns are the same vectors, written there: the turning of the axes is no part of it.
        """
        dJ = self._current_rate(node, offset, 0)
        return dJ.copy() if in_coordinates_of is None else turned(dJ, self._axes_of(in_coordinates_of))

    def jacobian_spatial_derivative(
        self, node: Any, offset: ArrayLike = ORIGIN, in_coordinates_of: Frame | None = None
    ) -> Array:
        """dJ (6, dofs) with (spatial acceleration, Featherstone's, at the point) = J udot + dJ u.

        Each column is the rate of a screw that moves with its body, at the point of space where the node's point
        is: that of `jacobian_classic_derivative` less [0; w_k x v], v the velocity of the point.
        """
        dJ = self._current_rate(node, offset, 1)
        return dJ.copy() if in_coordinates_of is None else turned(dJ, self._axes_of(in_coordinates_of))

    def _reference(
        self, relative_to: Any, in_coordinates_of: Any, positions: ArrayLike | None
    ) -> tuple[int, Array | None]:
        """Path of a node that others are seen from, and the axes of the result."""
        other = self._node(relative_to)
        axes = None if in_coordinates_of is None else self._axes_of(in_coordinates_of, positions)
        return self._place_of(other)[0], axes

    def relative_jacobian(
        self,
        node: Any,
        relative_to: Any,
        offset: ArrayLike = ORIGIN,
        in_coordinates_of: Frame | None = None,
    ) -> Array:
        """J (6, dofs) with [angular; linear] velocity of a point of a node as seen from another node = J u.

        The observer moves and turns with `relative_to`: w = w_B - w_A, v = v_P - v_A - w_A x (p_P - p_A).
        World axes unless told otherwise.
        """
        path, x, y, z = place = self._place_of(node, offset)
        other, axes = self._reference(relative_to, in_coordinates_of, None)

        def compute() -> Array:
            J = empty((6, len(self._dofs)))
            d = self._compiled()
            self._of_current(entries.relative_jacobian, d, path, other, 0, x, y, z, NOTHING, J)
            return J

        J = self._result(OF_POSITIONS, ("relative jacobian", place, other), compute)
        return J.copy() if axes is None else turned(J, axes)

    def relative_jacobian_derivative(
        self,
        node: Any,
        relative_to: Any,
        offset: ArrayLike = ORIGIN,
        in_coordinates_of: Frame | None = None,
    ) -> Array:
        """dJ (6, dofs) with [angular; linear] acceleration as seen from another node = J udot + dJ u.

        J is that of `relative_jacobian`; dJ is its rate in the axes of `relative_to`, where the observer is.
        """
        path, x, y, z = place = self._place_of(node, offset)
        other, axes = self._reference(relative_to, in_coordinates_of, None)

        def compute() -> Array:
            J, dJ = empty((2, 6, len(self._dofs)))
            d = self._compiled()
            self._of_current(entries.relative_jacobian_rate, d, path, other, 0, x, y, z, NOTHING, NOTHING, J, dJ)
            return dJ

        dJ = self._result(OF_VELOCITIES, ("relative jacobian rate", place, other), compute)
        return dJ.copy() if axes is None else turned(dJ, axes)

    def com_jacobian(self, bodies: Bodies = None, in_coordinates_of: Frame | None = None) -> Array:
        """J (3, dofs) with velocity of the centre of mass = J u.

        Args:
            bodies: whose centre of mass: bodies, names or indices, such as `body.subtree`; None for all.

        Raises:
            ModelError: the bodies have no mass.
        """
        key = self._indices_of(bodies)

        def compute() -> Array:
            J = empty((3, len(self._dofs)))
            d, subset = self._with_transforms(), self._subset(key)
            self._check_mass(self._of_current(momentum_entries.com_jacobian, d, subset, 0, NOTHING, J))
            return J

        J = self._result(OF_POSITIONS, ("com jacobian", key), compute)
        return J.copy() if in_coordinates_of is None else turned(J, self._axes_of(in_coordinates_of))

    def com_jacobian_derivative(self, bodies: Bodies = None, in_coordinates_of: Frame | None = None) -> Array:
        """dJ (3, dofs) with acceleration of the centre of mass = J udot + dJ u; arguments as for `com_jacobian`."""
        dA = self._current_centroidal_rate(self._indices_of(bodies))
        dJ = dA[3:] / self._mass_of(bodies)
        return dJ if in_coordinates_of is None else turned(dJ, self._axes_of(in_coordinates_of))

    def _current_centroidal_rate(self, key: tuple[int, ...] | None) -> Array:
        def compute() -> Array:
            A = empty((6, len(self._dofs)))
            d, subset = self._with_velocities(), self._subset(key)
            entry = momentum_entries.centroidal_matrix_rate
            self._check_mass(self._of_current(entry, d, subset, 0, NOTHING, NOTHING, A))
            return A

        return self._result(OF_VELOCITIES, ("centroidal matrix rate", key), compute)

    def _mass_of(self, bodies: Bodies) -> float:
        chosen = self._indices_of(bodies)
        return float(
            sum(b.inertia.mass for b in (self._bodies if chosen is None else map(self._bodies.__getitem__, chosen)))
        )

    def _check_mass(self, status: int) -> None:
        if status == momentum_entries.MASSLESS:
            raise ModelError(f"skeleton {self.name!r}: the bodies have no mass, so no centre of mass")

    def _axes_of(self, frame: Any, positions: ArrayLike | None = None) -> Array:
        """Rotation from a frame's axes to the world's; of a node of this skeleton at given positions."""
        if not isinstance(frame, Frame):
            raise ModelError(f"skeleton {self.name!r}: in_coordinates_of: expected a frame, got {frame!r}")
        if positions is not None and isinstance(frame, JacobianNode) and frame._carrier[0].skeleton is self:
            return self.compute_world_transform(positions, frame)[:3, :3]
        return frame.world_transform[:3, :3]

    # Of a given state ------------------------------------------------------------------------------------

    def compute_world_transform(self, positions: ArrayLike, node: Any) -> Array:
        """World transform (4, 4) of a node at given positions; the current state stays.

        Only what carries the node is evaluated. `forward_kinematics` gives all bodies at once.

        Raises:
            ModelError: a node of another skeleton, or no node.
        """
        w = self._ready or self._workspace()
        path = self._place_of(node)[0]
        body, offset = (node, None) if node in w.places else self._node(node)._carrier
        X = empty(_POSE)
        try:
            status = entries.pose.call(w.tree, w.data, path, body._index, positions, X)
        except REFUSALS:
            status = REFUSED
        if status:
            self._again(entries.pose, (path, body._index), (X,), positions=positions)
        return X if offset is None else X @ offset

    def compute_jacobian(
        self,
        positions: ArrayLike,
        node: Any,
        offset: ArrayLike = ORIGIN,
        in_coordinates_of: Frame | None = None,
    ) -> Array:
        """`jacobian` at given positions; the current state stays."""
        w = self._ready or self._workspace()
        path, x, y, z = self._place_of(node, offset)
        J = empty(w.six_rows)
        try:
            status = entries.jacobian.call(w.tree, w.data, path, 1, x, y, z, positions, J)
        except REFUSALS:
            status = REFUSED
        if status:
            self._again(entries.jacobian, (path, 1, x, y, z), (J,), positions=positions)
        return J if in_coordinates_of is None else turned(J, self._axes_of(in_coordinates_of, positions))

    def _rate_at(self, positions: Any, velocities: Any, node: Any, offset: Any, axes: Any, spatial: int) -> Array:
        w = self._ready or self._workspace()
        path, x, y, z = self._place_of(node, offset)
        J = empty(w.six_rows)
        try:
            status = entries.jacobian_rate.call(w.tree, w.data, path, 1, spatial, x, y, z, positions, velocities, J)
        except REFUSALS:
            status = REFUSED
        if status:
            self._again(
                entries.jacobian_rate, (path, 1, spatial, x, y, z), (J,), positions=positions, velocities=velocities
            )
        return J if axes is None else turned(J, self._axes_of(axes, positions))

    def compute_jacobian_classic_derivative(
        self,
        positions: ArrayLike,
        velocities: ArrayLike,
        node: Any,
        offset: ArrayLike = ORIGIN,
        in_coordinates_of: Frame | None = None,
    ) -> Array:
        """`jacobian_classic_derivative` of a given state; the current state stays."""
        return self._rate_at(positions, velocities, node, offset, in_coordinates_of, 0)

    def compute_jacobian_spatial_derivative(
        self,
        positions: ArrayLike,
        velocities: ArrayLike,
        node: Any,
        offset: ArrayLike = ORIGIN,
        in_coordinates_of: Frame | None = None,
    ) -> Array:
        """`jacobian_spatial_derivative` of a given state; the current state stays."""
        return self._rate_at(positions, velocities, node, offset, in_coordinates_of, 1)

    def compute_relative_jacobian(
        self,
        positions: ArrayLike,
        node: Any,
        relative_to: Any,
        offset: ArrayLike = ORIGIN,
        in_coordinates_of: Frame | None = None,
    ) -> Array:
        """`relative_jacobian` at given positions; the current state stays."""
        self._workspace()
        path, x, y, z = self._place_of(node, offset)
        other, axes = self._reference(relative_to, in_coordinates_of, positions)
        J = empty((6, len(self._dofs)))
        self._evaluate(entries.relative_jacobian, (path, other, 1, x, y, z), (J,), positions=positions)
        return J if axes is None else turned(J, axes)

    def compute_relative_jacobian_derivative(
        self,
        positions: ArrayLike,
        velocities: ArrayLike,
        node: Any,
        relative_to: Any,
        offset: ArrayLike = ORIGIN,
        in_coordinates_of: Frame | None = None,
    ) -> Array:
        """`relative_jacobian_derivative` of a given state; the current state stays."""
        self._workspace()
        path, x, y, z = self._place_of(node, offset)
        other, axes = self._reference(relative_to, in_coordinates_of, positions)
        J, dJ = empty((2, 6, len(self._dofs)))
        first = path, other, 1, x, y, z
        entry = entries.relative_jacobian_rate
        self._evaluate(entry, first, (J, dJ), positions=positions, velocities=velocities)
        return dJ if axes is None else turned(dJ, axes)

    def compute_com_jacobian(self, positions: ArrayLike, bodies: Bodies = None) -> Array:
        """`com_jacobian` at given positions; the current state stays."""
        w = self._ready or self._workspace()
        subset = w.all_bodies if bodies is None else self._subset(bodies)
        J = empty(w.three_rows)
        try:
            status = momentum_entries.com_jacobian.call(w.tree, w.data, subset, 1, positions, J)
        except REFUSALS:
            status = REFUSED
        if status:
            self._check_mass(self._again(momentum_entries.com_jacobian, (subset, 1), (J,), positions=positions))
        return J

    def compute_com_jacobian_derivative(
        self, positions: ArrayLike, velocities: ArrayLike, bodies: Bodies = None
    ) -> Array:
        """`com_jacobian_derivative` of a given state; the current state stays."""
        return self._centroidal_rate_at(positions, velocities, bodies)[3:] / self._mass_of(bodies)

    def _centroidal_rate_at(self, positions: ArrayLike, velocities: ArrayLike, bodies: Bodies) -> Array:
        w = self._ready or self._workspace()
        subset = w.all_bodies if bodies is None else self._subset(bodies)
        A = empty(w.six_rows)
        entry = momentum_entries.centroidal_matrix_rate
        try:
            status = entry.call(w.tree, w.data, subset, 1, positions, velocities, A)
        except REFUSALS:
            status = REFUSED
        if status:
            self._check_mass(self._again(entry, (subset, 1), (A,), positions=positions, velocities=velocities))
        return A
