"""What is asked of the poses of a motion: tasks, or functions of a user's, that are to be zero, hard or soft."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from kido.batch import Batch
from kido.errors import ModelError
from kido.ik.coordinates import POSED
from kido.ik.engine.build import compile_tasks
from kido.ik.engine.residuals import evaluate_frames
from kido.ik.engine.tasks import UNUSED_ROW
from kido.ik.frames import OffsetNode
from kido.ik.model import compiled, tree_of
from kido.ik.tasks import Task
from kido.ik.tasks.callback import raise_failures
from kido.math.transform import as_numbers, as_transform, as_vector
from kido.optimization import central_differences
from kido.skeleton.nodes.node import JacobianNode
from kido.tree import data_for

if TYPE_CHECKING:
    from kido.skeleton import Skeleton


Array = NDArray[np.float64]


Frames = int | slice | Iterable[int] | None


class Poses:
    """A skeleton at the positions of each frame of a motion.

    Attributes:
        batch: computes for all frames at once.
        positions: (frames, dofs) [m, rad].
    """

    def __init__(self, batch: Batch, positions: Array) -> None:
        self.batch = batch
        self.positions = positions
        self.memory: dict[Any, Any] = {}  # derivatives by the rows that they are of

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton. Its own positions are none of the motion's, but for while `one_by_one` runs."""
        return self.batch.skeleton

    def one_by_one(self, frames: NDArray[np.int64]) -> Iterator[int]:
        """Puts the skeleton into one pose after the other, and back at the end."""
        with self.skeleton.turn.used(POSED):
            before = self.skeleton.positions
            try:
                for frame in frames.tolist():
                    self.skeleton.positions = self.positions[frame]
                    yield frame
            finally:
                self.skeleton.positions = before


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


class TaskConstraint(PoseConstraint):
    """The residual of a task is zero: that of its components that are bounded, zero between bounds.

    Args:
        task: any of `Task`'s kinds; its priority, gain and weights do not count.
        targets: poses (frames, 4, 4) for each frame in which it counts; None: the task's own, as it is now.
        frames: see `PoseConstraint`.
        weight: see `PoseConstraint`.
    """

    def __init__(
        self, task: Task, targets: Array | None = None, *, frames: Frames = None, weight: ArrayLike = 1.0
    ) -> None:
        self.task, self.targets = task, targets
        self._compiled: tuple[Any, ...] | None = None
        super().__init__(frames=frames, weight=weight)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({getattr(self.task.node, 'name', self.task.kind.what)!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_compiled": None}

    @property
    def name(self) -> str:
        """What messages call it: the class's name and the node's."""
        return f"{type(self).__name__} of {getattr(self.task.node, 'name', self.task.kind.what)}"

    def frames_of(self, number: int) -> NDArray[np.int64]:
        """The frames in which it counts, of a motion of a number of frames."""
        frames = super().frames_of(number)
        if self.targets is not None and len(self.targets) != len(frames):
            raise ModelError(f"{self!r}: target: expected one or {len(frames)} of them, got {len(self.targets)}")
        return frames

    def _at(self, skeleton: Skeleton, positions: Array, targets: Array | None) -> tuple[Array, Array]:
        """Residuals (n, m) and their derivatives (n, m, dofs) at positions (n, dofs)."""
        compiled(skeleton)
        tree = tree_of(skeleton)
        known = self._compiled
        if known is None or known[0] is not tree:
            made = compile_tasks(skeleton, [self.task], np.arange(skeleton.num_dofs))
            known = self._compiled = tree, made, data_for(tree), np.flatnonzero(made.row_kind != UNUSED_ROW)
        _, made, data, rows = known
        X = made.target if targets is None else np.ascontiguousarray(targets[:, :3].reshape(-1, 12))
        e, J = np.empty((len(positions), len(made.e))), np.empty((len(positions), *made.J.shape))
        evaluate_frames(tree.address, data.address, made.address, np.ascontiguousarray(positions), X.copy(), e, J)
        raise_failures([self.task.kind])
        return e[:, rows], J[:, rows]

    def _at_frame(self, skeleton: Skeleton, frame: int) -> tuple[Array, Array]:
        """The same at the skeleton's present pose, which is that of a frame."""
        targets = self.targets
        if targets is not None:
            if self.frames is None:
                k = frame
            else:
                listed = range(frame + 1)[self.frames] if isinstance(self.frames, slice) else self.frames
                k = list(listed).index(frame)
            targets = targets[k : k + 1]
        return self._at(skeleton, skeleton.positions[None], targets)

    def evaluate(self, skeleton: Skeleton, frame: int) -> Array:
        """c (m,) at the skeleton's present pose."""
        return self._at_frame(skeleton, frame)[0][0]

    def jacobian(self, skeleton: Skeleton, frame: int) -> Array:
        """Derivatives (m, dofs) of c."""
        return self._at_frame(skeleton, frame)[1][0]

    def evaluate_frames(self, poses: Poses, frames: NDArray[np.int64]) -> Array:
        """c (frames, m) in some frames at once."""
        return self._at(poses.skeleton, poses.positions[frames], self.targets)[0]

    def jacobian_frames(self, poses: Poses, frames: NDArray[np.int64]) -> Array:
        """Derivatives (frames, m, dofs) in some frames at once."""
        return self._at(poses.skeleton, poses.positions[frames], self.targets)[1]


def _checked_node(node: Any, what: str) -> JacobianNode:
    if not isinstance(node, JacobianNode):
        raise ModelError(f"{what}: expected a body or a node on one, got {node!r}")
    return node


class PositionConstraint(TaskConstraint):
    """A point of a body is at a place of the world: c = p_WP - target [m]. A `Task.position`.

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
        X = np.eye(4)
        X[:3, 3] = as_vector(offset, f"{what}: offset")
        if not axes or set(axes) - set("xyz") or len(set(axes)) != len(axes):
            raise ModelError(f"{what}: axes: expected some of 'xyz', got {axes!r}")
        _checked_node(node, what)
        width = np.array([0.0 if a in axes else np.inf for a in "xyz"])
        poses = np.tile(np.eye(4), (*places.shape[:-1], 1, 1))
        poses[..., :3, 3] = places
        task = Task.position(OffsetNode(node, X) if X[:3, 3].any() else node, poses.reshape(-1, 4, 4)[0], width)
        super().__init__(task, poses if places.ndim > 1 else None, frames=frames, weight=weight)


class OrientationConstraint(TaskConstraint):
    """A body has an orientation in the world: c = log(R_WT^T R_WB), from the target [rad]. A `Task.orientation`.

    Args:
        node: a body, or a node on one.
        target: a rotation matrix (3, 3), a SciPy `Rotation`, or one for each frame in which it counts (frames, 3, 3).
        frames: see `PoseConstraint`.
        weight: see `PoseConstraint` [1/rad^2].

    Raises:
        ModelError: something of a wrong shape, or no rotation.
    """

    def __init__(self, node: JacobianNode, target: Any, *, frames: Frames = None, weight: ArrayLike = 1.0) -> None:
        what = f"OrientationConstraint of {getattr(node, 'name', node)!r}: target"
        rotations = as_numbers_of(
            target.as_matrix() if isinstance(target, scipy.spatial.transform.Rotation) else target, what, (3, 3)
        )
        poses = np.array([as_transform(R, what) for R in rotations.reshape(-1, 3, 3)])
        task = Task.orientation(_checked_node(node, type(self).__name__), poses[0])
        super().__init__(task, poses if rotations.ndim > 2 else None, frames=frames, weight=weight)


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
