"""What a kind of task is: the kernel of its residual, and what drivers must know about it.

A kind is one file of this folder: its kernel `residual(t, d, s, o, k)`, which writes e and J of the rows of task k, an
instance of `TaskKind` with that kernel, and the constructor that `kido.ik.Task` gets. Drivers, the search for
positions, velocities by priority and motions over time, call the kernel by its address and ask the instance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import dataclass
from kido.errors import ModelError
from kido.ik.engine.tasks import (
    EQUATION,
    EULER_XYZ,
    FRAME_ROWS,
    IK_LANES,
    NO_ANGLE,
    RANGE,
    ROTATION_VECTOR,
    TASKS,
    UNUSED_ROW,
)
from kido.ik.model import carrier_of
from kido.jit import callback, lanes_view, view
from kido.math.transform import as_flag, as_numbers, as_transform, number_or_nan
from kido.reprs import brief
from kido.skeleton.frames.frame import Frame
from kido.skeleton.nodes.node import JacobianNode
from kido.tree.schema import DATA, TREE

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

Array = NDArray[np.float64]
INF = np.inf
FREE_COMPONENTS = (-INF, -INF, -INF), (INF, INF, INF)
F = TypeVar("F", bound=Callable[..., Any])
_AXES = ("rx", "ry", "rz", "x", "y", "z")


def residual_callback(core: Callable[..., None]) -> callback:
    """A kind's kernel as a callback (tree, data, tasks, k)."""

    @callback
    def residual(tree, data, tasks, k):
        s = view(TASKS, tasks)
        core(view(TREE, tree), view(DATA, data), s, s, k)
        return 0

    return residual


def lanes_callback(core: Callable[..., None]) -> callback:
    """A kind's kernel as a callback (tree, data, lanes, k) for eight descents side by side."""

    @callback
    def lanes_residual(tree, data, lanes, k):
        o = lanes_view(IK_LANES, lanes)
        core(view(TREE, tree), lanes_view(DATA, data), o.tasks, o, k)
        return 0

    return lanes_residual


class TaskKind:
    """A kind of task; subclasses say what is different about theirs. There is one instance of each, a constant.

    Args:
        constant: name of the module's constant that it is.
        residual: its kernel (t, d, s, o, k), see `kido.ik.engine.residuals`.
        lanes: whether the kernel branches on no float, so that it takes lanes.

    Attributes:
        what: what messages call it.
        framed: whether its rows are six, [angular; linear].
        needs_node: whether it is about a node.
        seeded: whether the pose of the node tells how far positions are from the target.
        measures_point: whether its linear rows are the place of a point, as half spaces want.
        needs_all_links: whether it depends on the poses of all bodies.
        weighs_rows: whether weights are of its rows, not of [angular; linear] components.
        has_reference: whether it has positions of all coordinates to aim at.
        stands: whether it is about the points of the support.
        for_positions: whether the search for positions takes it.
    """

    what = ""
    framed = True
    needs_node = True
    seeded = False
    measures_point = False
    needs_all_links = False
    weighs_rows = False
    has_reference = False
    stands = False
    for_positions = True

    def __init__(self, constant: str, residual: Callable[..., None], lanes: bool = True):
        self._constant = constant
        self._residual = residual_callback(residual)
        self._lanes = lanes_callback(residual) if lanes else None

    def __reduce__(self) -> Any:
        return self._constant  # copies and pickles are the constant itself

    def __repr__(self) -> str:
        return f"<{self.what}>"

    @property
    def residual(self) -> int:
        """Address of the callback that writes its rows."""
        return self._residual.address

    @property
    def has_lanes(self) -> bool:
        """Whether it can be part of descents side by side."""
        return self._lanes is not None

    @property
    def lanes_residual(self) -> int:
        """Address of the callback that writes its rows in lanes; 0: there is none."""
        return 0 if self._lanes is None else self._lanes.address

    # What tables of tasks are made of --------------------------------------------------------------------------

    def check(self, skeleton: Skeleton) -> None:
        """Refuse a skeleton that has no such task.

        Raises:
            ModelError: why.
        """

    def made_of(self) -> tuple[Any, ...]:
        """What its tables refer to besides the skeleton and the task: where other things are, they are made anew."""
        return ()

    def admits(self, positions: Array) -> NDArray[np.bool_]:
        """At which of some sampled positions (n, dofs) a search may begin."""
        return np.ones(len(positions), bool)

    def rows(self, skeleton: Skeleton, task: Task, columns: int) -> int:
        """How many rows it has, for a number of active coordinates."""
        return FRAME_ROWS

    def write(self, skeleton: Skeleton, made: TASKS, k: int, rows: slice, task: Task) -> None:
        """Write what is its own to place k of a table of tasks."""
        made.lower[rows], made.upper[rows], made.weight[rows] = task.lower, task.upper, task.weights
        made.tolerance[rows] = np.repeat(task.tolerance, 3)
        made.row_kind[rows] = self.row_kinds(task)
        made.low[rows], made.high[rows] = task.lower, task.upper

    def uncut(self, made: TASKS, rows: slice) -> None:
        """Make residuals count everywhere, as bounds of no width do; rows are those of a task."""

    def row_kinds(self, task: Task) -> NDArray[np.int64]:
        """What each row is: an equation, a range, or nothing."""
        bounded = np.isfinite(task.lower) | np.isfinite(task.upper)
        return np.where(task.lower == task.upper, EQUATION, np.where(bounded, RANGE, UNUSED_ROW))

    def aimed(self, task: Task, target: Any, what: str) -> Task:
        """A task with another target."""
        return replace(task, target=target if isinstance(target, Frame) else as_transform(target, what))

    def write_target(self, made: TASKS, k: int, task: Task) -> None:
        """Write the target, which is no frame, to place k of a table of tasks."""
        made.target[k] = task.target[:3].ravel()

    def words(self, task: Task, row: int, dof_names: list[str]) -> str:
        """What messages call a row of a task; dof_names: of the active coordinates."""
        of = "" if task.node is None else f" of {task.node!r}"
        return f"({self.what}{of}), {_AXES[row]}"


@dataclass(frozen=True, eq=False)
class Task:
    """One aim of inverse kinematics; made by `Task.pose`, `Task.look_at` and the other functions of this class.

    A task has a residual that is zero where it is met, and its Jacobian. The search for positions (`IkSolver`),
    velocities by priority (`DifferentialIK`) and motions over time (`MotionProblem`) are drivers of the same tasks.
    That of a task about a frame has six components, [angular; linear], in radians and metres: how the node's frame B is
    displaced from the target frame T, in the axes of T. Components that lie between their bounds are zero; beyond, they
    are the distance to the bound.

    Attributes:
        kind: whose kernel writes the residual, see `kido.ik.tasks`.
        node: the body, end effector or other node that the task is about; None for centre of mass and posture.
        target: T: a 4x4 pose in the world, or a `Frame`, which it then follows. A frame that rides on a body of the
            skeleton makes the task a relative one.
        lower, upper: (6,) bounds [angular; linear] [rad, m].
        weights: (6,) factors of the residual's components in the sum of squares that is minimized; 1 by default.
        priority: place in a hierarchy, 0 first.
        gain: rate at which the residual is to decay [1/s], in inverse differential kinematics.
        tolerance: angle [rad] and distance [m] up to which the task counts as met.
        error_from_center: beyond a bound, whether the residual is measured from the middle between the bounds, or from
            the bound. It means the same in `BoundedError`, where the middle is the default, as in DART; here the bound
            is, which control loops approach.

    Source: task space regions are those of Berenson, Srinivasa, Kuffner (2011); DART report, section 2.8.2.
    """

    kind: TaskKind
    node: JacobianNode | None = None
    target: Any = None
    lower: Array = field(default_factory=lambda: np.zeros(6))
    upper: Array = field(default_factory=lambda: np.zeros(6))
    weights: Array = field(default_factory=lambda: np.ones(6))
    priority: int = 0
    gain: float = 1.0
    tolerance: tuple[float, float] = (1e-6, 1e-6)
    error_from_center: bool = False
    axis: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    positions: Array | None = None

    __repr__ = brief

    def __post_init__(self) -> None:
        if self.node is not None and not isinstance(self.node, JacobianNode):
            raise ModelError(f"task: node: expected a body or a node on one, got {self.node!r}")
        if self.node is None and self.kind.needs_node:
            raise ModelError("task: node: expected a body or a node on one, got None")
        if not isinstance(self.target, Frame):
            object.__setattr__(self, "target", as_transform(self.target, "task: target"))
        if not self.kind.weighs_rows:
            object.__setattr__(self, "weights", numbers_of(self.weights, 6, "weights"))
        if not (np.isfinite(self.weights).all() and (np.asarray(self.weights) >= 0.0).all()):
            raise ModelError(f"task: weights: expected finite numbers >= 0, got {np.asarray(self.weights).tolist()}")
        if (self.lower > self.upper).any():
            raise ModelError(f"task: lower bounds {self.lower.tolist()} above upper bounds {self.upper.tolist()}")
        if isinstance(self.priority, bool) or not isinstance(self.priority, int | np.integer) or self.priority < 0:
            raise ModelError(f"task: priority: expected a whole number from 0, got {self.priority!r}")
        object.__setattr__(self, "error_from_center", as_flag(self.error_from_center, "task: error_from_center"))
        gain = number_or_nan(self.gain)
        if not 0.0 <= gain < INF:
            raise ModelError(f"task: gain: expected a finite number >= 0, got {self.gain!r}")
        try:
            angle, distance = (number_or_nan(v) for v in self.tolerance)
        except (TypeError, ValueError):
            angle = distance = float("nan")
        if not (angle > 0.0 and distance > 0.0):
            raise ModelError(f"task: tolerance: expected an angle and a distance above 0, got {self.tolerance!r}")

    def at(self, target: Any) -> Self:
        """The same task with another target."""
        return replace(self, target=target)

    @property
    def angle(self) -> int:
        """Which angles a pose measures: NO_ANGLE, ROTATION_VECTOR or EULER_XYZ of `kido.ik.engine.tasks`."""
        bounded = np.isfinite(self.lower[:3]) & np.isfinite(self.upper[:3])
        if bounded.all():
            return ROTATION_VECTOR
        return EULER_XYZ if (np.isfinite(self.lower[:3]) | np.isfinite(self.upper[:3])).any() else NO_ANGLE


def constructor(function: F) -> F:
    """Makes a function (cls, ...) of a kind's file one of `Task`'s, under its name."""
    setattr(Task, function.__name__, classmethod(function))
    return function


def numbers_of(value: ArrayLike, count: int, what: str) -> Array:
    """Three numbers, or six [angular; linear], from one for all or as many; not NaN."""
    expected = "a number or three" if count == 3 else "a number or six [angular; linear]"
    try:
        numbers = np.array(np.broadcast_to(as_numbers(value), (count,)))
    except (TypeError, ValueError):
        raise ModelError(f"task: {what}: expected {expected}, got {value!r}") from None
    if np.isnan(numbers).any():
        raise ModelError(f"task: {what}: expected numbers, got {numbers.tolist()}")
    return numbers


def bounds_of(value: Any, what: str) -> tuple[Array, Array]:
    """Lower and upper bounds of three components: None (zero), a half-width for all or each, or a pair of these."""
    if value is None:
        return np.zeros(3), np.zeros(3)
    if isinstance(value, tuple | list | np.ndarray) and np.ndim(value) and len(value) == 2:
        return numbers_of(value[0], 3, what), numbers_of(value[1], 3, what)
    width = numbers_of(value, 3, what)
    if (width < 0.0).any():
        raise ModelError(f"task: {what}: expected half-widths not below 0, or a pair (lower, upper), got {value!r}")
    return -width, width


def skeleton_of(tasks: Iterable[Task]) -> Skeleton:
    """The one skeleton that tasks are about.

    Raises:
        ModelError: nodes of several skeletons, or no node at all.
    """
    found: list[Skeleton] = []
    for task in tasks:
        if not isinstance(task, Task):
            raise ModelError(f"tasks: expected kido.ik.Task objects, got {task!r}")
        if task.node is not None:
            skeleton = carrier_of(task.node)[0].skeleton
            if not any(skeleton is s for s in found):
                found.append(skeleton)
    if len(found) != 1:
        names = [s.name for s in found]
        raise ModelError(f"tasks: expected nodes of one skeleton, or a skeleton beside them; got those of {names}")
    return found[0]
