"""What is asked of the poses of a motion: functions that are to be zero, hard or soft."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from kido.errors import ModelError
from kido.ik.motion.poses import Poses
from kido.ik.rotations import inverse_left_jacobian, vector_of_rotation
from kido.math.transform import as_numbers, as_transform, as_vector
from kido.optimization import central_differences

if TYPE_CHECKING:
    from kido.skeleton import Skeleton
    from kido.skeleton.nodes.node import JacobianNode

Array = NDArray[np.float64]
Frames = int | slice | Iterable[int] | None


class PoseConstraint(ABC):
    """Numbers c(pose) (m,) that are to be zero (RTQL8's `Constraint`). Subclass it and write `evaluate` for your own.

    In a `ConstraintBox` they must be zero, or not above it; in an `ObjectiveBox` they add weight/2 |c|^2 to what is
    minimized.

    Args:
        frames: of a motion, those in which it counts: a number, a slice, a list; None: all. Negative numbers count
            from the end.
        weight: w, for all frames or one for each of them; used in an `ObjectiveBox` alone. 0 leaves a frame out.

    Raises:
        ModelError: weights that are negative or not finite.
    """

    def __init__(self, *, frames: Frames = None, weight: ArrayLike = 1.0) -> None:
        if not (frames is None or isinstance(frames, slice)):
            listed = frames if isinstance(frames, Iterable) else [frames]
            try:
                frames = [operator.index(k) for k in listed]
            except TypeError:
                raise ModelError(f"{self!r}: frames: expected whole numbers, got {frames!r}") from None
        self.frames = frames
        self.weight = self._checked_weight(weight)

    @property
    def name(self) -> str:
        """What messages call it: the class's name."""
        return type(self).__name__

    @abstractmethod
    def evaluate(self, skeleton: Skeleton, frame: int) -> Array:
        """c (m,) at the skeleton's present pose, which is that of a frame of the motion."""

    def jacobian(self, skeleton: Skeleton, frame: int) -> Array:
        """Derivatives (m, dofs) of c by displacements of the skeleton's coordinates (velocity coordinates).

        By central differences unless a subclass knows better.
        """
        positions = skeleton.positions

        def value(q: Array) -> Array:
            skeleton.positions = q
            return np.asarray(self.evaluate(skeleton, frame), dtype=float)

        try:
            return central_differences(value, positions, lambda q, dq: skeleton.integrate_positions(q, dq))
        finally:
            skeleton.positions = positions

    def evaluate_frames(self, poses: Poses, frames: NDArray[np.int64]) -> Array:
        """c (frames, m) in some frames at once; one after the other unless a subclass knows better."""
        return np.array([self.evaluate(poses.skeleton, k) for k in poses.one_by_one(frames)], dtype=float)

    def jacobian_frames(self, poses: Poses, frames: NDArray[np.int64]) -> Array:
        """Derivatives (frames, m, dofs) in some frames at once; one after the other unless a subclass knows better."""
        return np.array([self.jacobian(poses.skeleton, k) for k in poses.one_by_one(frames)], dtype=float)

    def frames_of(self, number: int) -> NDArray[np.int64]:
        """The frames in which it counts, of a motion of a number of frames.

        Raises:
            ModelError: it names others, or has a weight or target for another number of them.
        """
        every = np.arange(number)
        try:
            chosen = every if self.frames is None else every[self.frames]
        except IndexError:
            raise ModelError(f"{self!r}: frames: expected numbers below {number}, got {self.frames!r}") from None
        if self.weight.ndim and len(self.weight) != len(chosen):
            raise ModelError(f"{self!r}: weight: expected one or {len(chosen)} numbers, got {len(self.weight)}")
        return chosen

    def _checked_weight(self, weight: ArrayLike) -> Array:
        try:
            array = as_numbers(weight)
        except (TypeError, ValueError):
            array = np.array(np.nan)
        if array.ndim > 1 or not (np.isfinite(array).all() and (array >= 0.0).all()):
            raise ModelError(
                f"{self!r}: weight: expected numbers not below 0, one or one for each frame, got {weight!r}"
            )
        return array


class _NodeConstraint(PoseConstraint):
    """One of a body, or a node on one, with a target for all frames or one for each."""

    def __init__(self, node: JacobianNode, target: Array, *, frames: Frames, weight: ArrayLike) -> None:
        if getattr(node, "_carrier", None) is None:
            raise ModelError(f"{type(self).__name__}: expected a body or a node on one, got {node!r}")
        self.node = node
        self.target = target
        super().__init__(frames=frames, weight=weight)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({getattr(self.node, 'name', self.node)!r})"

    @property
    def name(self) -> str:
        """What messages call it: the class's name and the node's."""
        return f"{type(self).__name__} of {self.node.name}"

    _own_dimensions = 1

    def frames_of(self, number: int) -> NDArray[np.int64]:
        """The frames in which it counts, of a motion of a number of frames."""
        frames = super().frames_of(number)
        if self.target.ndim > self._own_dimensions and len(self.target) != len(frames):
            raise ModelError(f"{self!r}: target: expected one or {len(frames)} of them, got {len(self.target)}")
        return frames

    def _target_of(self, skeleton: Skeleton, frame: int) -> Array:
        """Its target in a frame, where it is asked for one frame alone."""
        if self.target.ndim == self._own_dimensions:
            return self.target
        if self.frames is None:
            return self.target[frame]
        listed = range(frame + 1)[self.frames] if isinstance(self.frames, slice) else self.frames
        return self.target[list(listed).index(frame)]


class PositionConstraint(_NodeConstraint):
    """A point of a body is at a place of the world: c = p_WP - target [m].

    RTQL8 tutorial, section 6.2.

    Args:
        node: a body, or a node on one (end effector, marker).
        target: (3,) [m], or (frames, 3): one for each frame in which it counts.
        offset: (3,) the point in the node's axes [m].
        axes: which components count: "xyz", "z", "xy".
        frames: see `PoseConstraint`.
        weight: see `PoseConstraint` [1/m^2].

    Raises:
        ModelError: something of a wrong shape, or not finite.
    """

    def __init__(
        self,
        node: JacobianNode,
        target: ArrayLike,
        *,
        offset: ArrayLike = (0.0, 0.0, 0.0),
        axes: str = "xyz",
        frames: Frames = None,
        weight: ArrayLike = 1.0,
    ) -> None:
        what = f"PositionConstraint of {getattr(node, 'name', node)!r}"
        places = as_numbers_of(target, f"{what}: target", (3,))
        self.offset = as_vector(offset, f"{what}: offset")
        if not axes or set(axes) - set("xyz") or len(set(axes)) != len(axes):
            raise ModelError(f"{what}: axes: expected some of 'xyz', got {axes!r}")
        self.axes = axes
        self._rows = ["xyz".index(a) for a in axes]
        super().__init__(node, places, frames=frames, weight=weight)

    def evaluate(self, skeleton: Skeleton, frame: int) -> Array:
        """c (m,) at the skeleton's present pose."""
        X = self.node.world_transform
        return (X[:3, :3] @ self.offset + X[:3, 3] - self._target_of(skeleton, frame))[self._rows]

    def jacobian(self, skeleton: Skeleton, frame: int) -> Array:
        """Derivatives (m, dofs) of c: the point's linear Jacobian."""
        return skeleton.jacobian(self.node, self.offset)[3:][self._rows]

    def evaluate_frames(self, poses: Poses, frames: NDArray[np.int64]) -> Array:
        """c (frames, m) in some frames at once."""
        X = poses.transforms(self.node, frames)
        return (X[:, :3, :3] @ self.offset + X[:, :3, 3] - self.target)[:, self._rows]

    def jacobian_frames(self, poses: Poses, frames: NDArray[np.int64]) -> Array:
        """Derivatives (frames, m, dofs) in some frames at once."""
        return poses.jacobians(self.node, frames, self.offset)[:, 3:][:, self._rows]


class OrientationConstraint(_NodeConstraint):
    """A body has an orientation in the world: c = log(R_WT^T R_WB), the rotation vector from the target [rad].

    Args:
        node: a body, or a node on one.
        target: a rotation matrix (3, 3), a SciPy `Rotation`, or one for each frame in which it counts (frames, 3, 3).
        frames: see `PoseConstraint`.
        weight: see `PoseConstraint` [1/rad^2].

    Raises:
        ModelError: something of a wrong shape, or no rotation.
    """

    _own_dimensions = 2

    def __init__(self, node: JacobianNode, target: Any, *, frames: Frames = None, weight: ArrayLike = 1.0) -> None:
        what = f"OrientationConstraint of {getattr(node, 'name', node)!r}: target"
        rotations = as_numbers_of(target.as_matrix() if isinstance(target, Rotation) else target, what, (3, 3))
        for R in rotations.reshape(-1, 3, 3):
            as_transform(R, what)
        super().__init__(node, rotations, frames=frames, weight=weight)

    def evaluate(self, skeleton: Skeleton, frame: int) -> Array:
        """c (3,) at the skeleton's present pose."""
        return vector_of_rotation(self._target_of(skeleton, frame).T @ self.node.world_transform[:3, :3])

    def jacobian(self, skeleton: Skeleton, frame: int) -> Array:
        """Derivatives (3, dofs) of c."""
        c = self.evaluate(skeleton, frame)
        J = self._target_of(skeleton, frame).T @ skeleton.jacobian(self.node)[:3]
        return inverse_left_jacobian(c) @ J

    def evaluate_frames(self, poses: Poses, frames: NDArray[np.int64]) -> Array:
        """c (frames, 3) in some frames at once."""
        return vector_of_rotation(self.target.swapaxes(-1, -2) @ poses.transforms(self.node, frames)[:, :3, :3])

    def jacobian_frames(self, poses: Poses, frames: NDArray[np.int64]) -> Array:
        """Derivatives (frames, 3, dofs) in some frames at once."""
        J = self.target.swapaxes(-1, -2) @ poses.jacobians(self.node, frames, np.zeros(3))[:, :3]
        return inverse_left_jacobian(self.evaluate_frames(poses, frames)) @ J


def as_numbers_of(value: Any, what: str, shape: tuple[int, ...]) -> Array:
    """Finite numbers of a shape, or many of them.

    Raises:
        ModelError: they are not.
    """
    try:
        array = as_numbers(value)
    except (TypeError, ValueError):
        raise ModelError(f"{what}: expected {shape} numbers, or (frames, ...) of them, got {value!r}") from None
    if array.shape[-len(shape) :] != shape or array.ndim > len(shape) + 1:
        raise ModelError(f"{what}: expected {shape} numbers, or (frames, ...) of them, got {array.shape}")
    if not np.isfinite(array).all():
        raise ModelError(f"{what}: expected finite numbers, got {value!r}")
    return array
