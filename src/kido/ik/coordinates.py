"""Coordinates of a skeleton that an inverse kinematics moves, and what its parts ask of whom they belong to."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.ik.charts import chart_rates, charted_joints
from kido.ik.coupling import coupling_of
from kido.math.transform import as_vector

if TYPE_CHECKING:
    from kido.skeleton import DegreeOfFreedom, SimpleFrame, Skeleton
    from kido.skeleton.nodes.node import JacobianNode

Array = NDArray[np.float64]


class Coordinates:
    """Active coordinates of a skeleton: n of its dofs, independent and not LOCKED."""

    may_move = False  # whether the skeleton's positions need not be restored: while it is solved

    @property
    @abstractmethod
    def skeleton(self) -> Skeleton:
        """The skeleton that is moved."""

    @property
    @abstractmethod
    def dof_indices(self) -> NDArray[np.int64]:
        """Places (n,) of the active coordinates in the skeleton's arrays."""

    @property
    def dofs(self) -> list[DegreeOfFreedom]:
        """The active coordinates."""
        every = self.skeleton.dofs
        return [every[k] for k in self.dof_indices]

    @property
    def positions(self) -> Array:
        """Present positions (n,) of the active coordinates [m, rad]; set to move the skeleton."""
        return self.skeleton.positions[self.dof_indices]

    @positions.setter
    def positions(self, value: ArrayLike) -> None:
        self.skeleton.positions = self.whole_positions(value)

    def whole_positions(self, positions: ArrayLike) -> Array:
        """Positions of all coordinates, those that are not active as they are."""
        indices = self.dof_indices
        x = as_vector(positions, f"{self!r}: positions", len(indices))
        q = self.skeleton.positions
        q[indices] = x
        return coupling_of(self.skeleton).spread(q, indices)

    def retract(self, positions: ArrayLike, change: ArrayLike) -> Array:
        """Positions (n,) after a change (n,) in velocity coordinates: ball and free joints move on their manifold.

        Those with limits on their positions are moved in these, by sums; so solvers know how far it is to a limit.
        """
        indices, skeleton = self.dof_indices, self.skeleton
        u, q = np.zeros(skeleton.num_dofs), self.whole_positions(positions)
        u[indices] = as_vector(change, f"{self!r}: change", len(indices))
        for joint in charted_joints(skeleton):
            q[joint], u[joint] = q[joint] + u[joint], 0.0
        return skeleton.integrate_positions(q, u)[indices]

    def columns(self, jacobian: ArrayLike) -> Array:
        """Derivatives (..., n) by changes of the active coordinates, from those (..., dofs) of the whole skeleton.

        What mimics an active coordinate moves with it, and columns of ball and free joints with limits are rates of
        their positions. Use it where an error method or an objective takes a Jacobian from the skeleton.
        """
        skeleton = self.skeleton
        J = np.asarray(jacobian, dtype=float)
        charts = charted_joints(skeleton)
        if charts:
            J = J.copy()
            q = skeleton.positions
            for joint in charts:
                J[..., joint] = J[..., joint] @ chart_rates(q[joint])
        return coupling_of(skeleton).columns(J, self.dof_indices)

    @contextmanager
    def posed(self, positions: ArrayLike) -> Iterator[None]:
        """For a while, the skeleton has given positions (n,) of the active coordinates."""
        with nullcontext() if self.may_move else self.restoring():
            self.skeleton.positions = self.whole_positions(positions)
            yield

    @contextmanager
    def restoring(self) -> Iterator[None]:
        """For a while, the skeleton may have any positions; then it has those from before."""
        skeleton = self.skeleton
        before = skeleton.positions
        try:
            yield
        finally:
            skeleton.positions = before


class Module(Coordinates):
    """What error methods and gradient methods ask of the `InverseKinematics` that they are part of."""

    @property
    def node(self) -> JacobianNode:
        """The body or end effector."""
        raise NotImplementedError

    @property
    def target(self) -> SimpleFrame:
        """The frame that the error method refers to."""
        raise NotImplementedError

    @property
    def offset(self) -> Array:
        """Pose in the node's axes (4, 4) of the frame that is to reach the target."""
        raise NotImplementedError

    @property
    def node_transform(self) -> Array:
        """Pose (4, 4) of that frame in the world."""
        raise NotImplementedError

    @property
    def node_jacobian(self) -> Array:
        """J (6, n) of that frame, world axes."""
        raise NotImplementedError

    @property
    def task_node(self) -> JacobianNode:
        """The node, or one at `offset` from it, that tasks are about."""
        raise NotImplementedError

    @property
    def priority(self) -> int:
        """Priority in a hierarchy: 0 comes first."""
        raise NotImplementedError

    @property
    def error_method(self) -> Any:
        """How far the pose is from what is wanted."""
        raise NotImplementedError

    @property
    def gradient_method(self) -> Any:
        """How to come closer."""
        raise NotImplementedError

    @property
    def is_built_in(self) -> bool:
        """Whether the gradient method is one that compiled code stands for."""
        raise NotImplementedError

    def compute_error(self) -> Array:
        """The error (6,) at the present positions."""
        raise NotImplementedError

    def compute_jacobian(self) -> Array:
        """Its Jacobian (6, n) at the present positions."""
        raise NotImplementedError

    def displacement_of(self, task: Any) -> tuple[Array, Array]:
        """Residual (6,) of a task, not cut to bounds, and its Jacobian (6, n), at the present positions."""
        raise NotImplementedError

    def memo_for(self, other: Any) -> dict[int, Any]:
        """What copies of parts for another module, or none, refer to: a memo for `copy.deepcopy`."""
        raise NotImplementedError
