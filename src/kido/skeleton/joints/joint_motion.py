"""What a joint's coordinates do to its child body, seen from the parent body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.arrays import fixed
from kido.kernels import matrix_entries as kernels

if TYPE_CHECKING:
    from kido.skeleton.skeleton import Skeleton

Array = NDArray[np.float64]


class JointMotion:
    """Motion of the child body relative to the parent body, [angular; linear] about the child body's origin.

    The relative Jacobian S(q) is in the child body's axes: V = S u, A = S udot + Sdot u. `compute_*` take
    positions, and work for a joint that is part of no skeleton too.
    """

    if TYPE_CHECKING:
        name: str

        @property
        def num_dofs(self) -> int: ...

        @property
        def child(self) -> Any: ...

    # Of the current state -----------------------------------------------------------------------------------

    @property
    def relative_transform(self) -> Array:
        """Pose of the child body in the parent body (or the world), 4x4."""
        return fixed(self.child.relative_transform)

    @property
    def relative_jacobian(self) -> Array:
        """S (6, n): the child body's velocity relative to the parent is S u, in the child body's axes."""
        return fixed(self._jacobian(kernels.joint_jacobian))

    @property
    def relative_jacobian_derivative(self) -> Array:
        """Sdot (6, n): rate of the numbers of `relative_jacobian` at the current velocities."""
        return fixed(self._jacobian(kernels.joint_jacobian_rate))

    def _jacobian(self, entry: Any) -> Array:
        out = np.zeros((6, self.num_dofs))
        if self.num_dofs:
            state = self.child.skeleton.current_state
            w = state.settle()
            entry(w.tree, w.held, int(state.links.of_body[self.child.index]), out)
        return out

    @property
    def relative_spatial_velocity(self) -> Array:
        """S u (6,), in the child body's axes [rad/s, m/s]."""
        return fixed(self.relative_jacobian @ self._part("velocities"))

    @property
    def relative_spatial_acceleration(self) -> Array:
        """S udot + Sdot u (6,): rate of the numbers of `relative_spatial_velocity` [rad/s^2, m/s^2]."""
        return fixed(self.relative_primary_acceleration + self.relative_jacobian_derivative @ self._part("velocities"))

    @property
    def relative_primary_acceleration(self) -> Array:
        """S udot (6,): the share of the joint's accelerations [rad/s^2, m/s^2]."""
        return fixed(self.relative_jacobian @ self._part("accelerations"))

    def _part(self, what: str) -> Array:
        return getattr(self, what) if self.num_dofs else np.zeros(0)

    # Of given positions ----------------------------------------------------------------------------------

    def _probe(self) -> Skeleton:
        """A copy of the joint as it is, in a skeleton of its own."""
        from kido.skeleton.joints.joint import detached
        from kido.skeleton.skeleton import Skeleton

        own: Any = self
        twin = detached(own)
        twin.mimic = None
        probe = Skeleton(f"copy of joint {self.name!r}")
        probe.add_body("body", twin)
        return probe

    def compute_relative_transform(self, positions: ArrayLike) -> Array:
        """`relative_transform` at given positions (n,).

        Raises:
            StateError: positions of the wrong count or not finite.
        """
        return self._probe().forward_kinematics(positions)[0]

    def compute_relative_jacobian(self, positions: ArrayLike) -> Array:
        """`relative_jacobian` at given positions (n,).

        Raises:
            StateError: positions of the wrong count or not finite.
        """
        probe = self._probe()
        probe.positions = positions
        return probe.joint(0).relative_jacobian

    def position_differences(self, positions: ArrayLike, from_positions: ArrayLike) -> Array:
        """Velocities (n,) that move `from_positions` to `positions` in unit time; see the skeleton's."""
        return self._probe().position_differences(positions, from_positions)

    def integrate_positions(self, positions: ArrayLike, velocities: ArrayLike) -> Array:
        """Positions (n,) after unit time with given velocities; see the skeleton's."""
        return self._probe().integrate_positions(positions, velocities)
