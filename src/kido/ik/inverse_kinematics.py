"""Inverse kinematics of one body or end effector."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kido.arrays import fixed, read_only_copy, settable
from kido.errors import ModelError
from kido.ik.base import InverseKinematicsBase
from kido.ik.compiled import Displacements, key_of
from kido.ik.coordinates import CHAIN_DOFS, chosen_dofs, dofs_of, posing
from kido.ik.coupling import Coupling, coupling_of
from kido.ik.error_method import ErrorMethod
from kido.ik.frames import OffsetNode
from kido.ik.gradient_method import DampedLeastSquares, GradientMethod, JacobianMethod, LevenbergMarquardt
from kido.ik.model import carrier_of
from kido.ik.part import Module
from kido.ik.problem import joint_limits
from kido.ik.result import IkResult, IkStatus
from kido.ik.solver import IkSolver
from kido.ik.tasks import Task, TaskSpaceRegion
from kido.ik.twins import frames_outside, twins
from kido.math.transform import as_flag, as_transform
from kido.optimization import GradientDescentSolver
from kido.skeleton import Aspect, DegreeOfFreedom, Frame, Group, SimpleFrame, Skeleton
from kido.skeleton.nodes.node import JacobianNode

Array = NDArray[np.float64]

_STATUS = {
    IkStatus.MET: "beyond its tolerance",
    IkStatus.CLOSEST: "this is the closest pose",
    IkStatus.STOPPED: "as many iterations as allowed",
    IkStatus.NOT_FINITE: "residuals are NaN or infinite",
}


_OFFSET = settable("offset")


def _default_solver() -> GradientDescentSolver:
    return GradientDescentSolver(max_iterations=500)


class InverseKinematics(InverseKinematicsBase, Module, Aspect):
    """Where a body or end effector is to be, and how that is found.

    All parts can be exchanged at any time: the error method says how far the pose is from what is wanted of it relative
    to the target, the gradient method how to come closer, objectives what is preferred among the solutions, and the
    solver finds them. It is an aspect: `node.set(ik)` attaches it to its node, or to the skeleton; then it goes where
    these go, and `WholeBodyIK` finds it. `InverseKinematics.on(node)` makes and attaches it.

    Args:
        node: the body, end effector, or other node on a body.
        dofs: the coordinates that may move: "chain", those from the node up to where the skeleton branches; "body",
            all that move the node; "all" of the skeleton; a `Group`; or a list of coordinates, names or indices. What
            mimics others follows them, and LOCKED coordinates stay: by name or group, the others are chosen instead.
        error_method: by default a `TaskSpaceRegion` of 1e-6 about the target.
        gradient_method: by default `DampedLeastSquares` with 0.05.
        target: by default a frame on the world, at the node's present pose.

    Raises:
        ModelError: no node of a skeleton, or a part of another kind.
        StateError: a coordinate is listed that mimics another, or is LOCKED.

    Example:
        >>> ik = InverseKinematics(arm.body("hand"))
        >>> ik.target.world_transform = pose
        >>> if not (result := ik.solve_and_apply()):
        ...     print(result.reason)

    Source: DART report, section 2.8.5.
    """

    def __init__(
        self,
        node: JacobianNode,
        dofs: str | Group | Iterable[DegreeOfFreedom | str | int] = CHAIN_DOFS,
        error_method: ErrorMethod | None = None,
        gradient_method: GradientMethod | None = None,
        target: SimpleFrame | None = None,
    ):
        Aspect.__init__(self)
        if not isinstance(node, JacobianNode):
            raise ModelError(f"inverse kinematics: node: expected a body or a node on one, got {node!r}")
        self._node = node  # before the objectives, which may refer to its skeleton: so it is copied
        InverseKinematicsBase.__init__(self, _default_solver())
        self._choice: Any = chosen_dofs(dofs, carrier_of(node)[0])
        self._known: tuple[Coupling, NDArray[np.int64]] | None = None
        self._search: dict[int, tuple[Any, IkSolver | None, Any]] = {}  # by attempts
        self._displaced: tuple[Any, Displacements, Any] | None = None
        self._offset = np.eye(4)
        self._priority = 0
        self._active = True
        self._target = SimpleFrame(None, f"{node.name} target", node.world_transform)
        if target is not None:
            self.target = target
        self._error_method: ErrorMethod = TaskSpaceRegion().attached(self)
        self._gradient_method: GradientMethod = DampedLeastSquares().attached(self)
        if error_method is not None:
            self.error_method = error_method
        if gradient_method is not None:
            self.gradient_method = gradient_method

    @classmethod
    def on(cls, node: Any, **options: Any) -> Self:
        """The one that is attached to a node; if there is none, one is made with these options and attached."""
        if not isinstance(node, JacobianNode):
            raise ModelError(f"inverse kinematics: node: expected a body or a node on one, got {node!r}")
        carrier: Any = node
        found = carrier.get(cls)
        return carrier.set(cls(node, **options)) if found is None else found

    # What it is about ----------------------------------------------------------------------------------------

    @property
    def node(self) -> JacobianNode:
        """The body or end effector."""
        return self._node

    @property
    def skeleton(self) -> Skeleton:
        """The node's skeleton."""
        return carrier_of(self._node)[0].skeleton

    @property
    def dofs(self) -> tuple[DegreeOfFreedom, ...]:
        """The coordinates that may move; set as the constructor's `dofs`."""
        return super().dofs

    @dofs.setter
    def dofs(self, value: Any) -> None:
        self._choice = chosen_dofs(value, carrier_of(self._node)[0])
        self._known = None

    @property
    def dof_indices(self) -> NDArray[np.int64]:
        """Places (n,) of the active coordinates in the skeleton's arrays."""
        skeleton = self.skeleton
        coupling = coupling_of(skeleton)
        if self._known is None or self._known[0] is not coupling:
            self._known = coupling, dofs_of(self._choice, carrier_of(self._node)[0])
        return fixed(self._known[1])

    @property
    def offset(self) -> Array:
        """Pose in the node's axes (4, 4) of the frame that is to reach the target; set to what `as_transform` takes."""
        return read_only_copy(_OFFSET, self._offset)

    @offset.setter
    def offset(self, value: Any) -> None:
        self._offset = as_transform(value, f"{self!r}: offset")

    @property
    def node_transform(self) -> Array:
        """Pose (4, 4) of that frame in the world."""
        return fixed(self._node.world_transform @ self._offset)

    @property
    def node_jacobian(self) -> Array:
        """J (6, n): [angular; linear] velocity of that frame per change of the active coordinates, world axes."""
        return fixed(self.columns(self.skeleton.jacobian(self._node, self._offset[:3, 3])))

    @property
    def target(self) -> SimpleFrame:
        """The frame that the error method refers to. Hang it on any frame to have it move with that."""
        return self._target

    @target.setter
    def target(self, value: SimpleFrame) -> None:
        if not isinstance(value, SimpleFrame):
            raise ModelError(
                f"{self!r}: target: expected a SimpleFrame, got {value!r}; to move the target it has, set "
                "target.world_transform, or hang it on another frame by target.parent_frame"
            )
        self._target = value

    @property
    def priority(self) -> int:
        """Priority in a hierarchy: 0 comes first."""
        return self._priority

    @priority.setter
    def priority(self, value: int) -> None:
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
            raise ModelError(f"{self!r}: priority: expected a whole number not below 0, got {value!r}")
        self._priority = int(value)

    @property
    def active(self) -> bool:
        """Whether hierarchies use it."""
        return self._active

    @active.setter
    def active(self, value: bool) -> None:
        self._active = as_flag(value, f"{self!r}: active")

    # Parts -------------------------------------------------------------------------------------------------

    @property
    def error_method(self) -> ErrorMethod:
        """How far the pose is from what is wanted."""
        return self._error_method

    @error_method.setter
    def error_method(self, value: ErrorMethod) -> None:
        self._exchange("error_method", value, ErrorMethod, "an")

    @property
    def gradient_method(self) -> GradientMethod:
        """How to come closer."""
        return self._gradient_method

    @gradient_method.setter
    def gradient_method(self, value: GradientMethod) -> None:
        self._exchange("gradient_method", value, GradientMethod, "a")

    def _exchange(self, name: str, value: Any, kind: type, a: str) -> None:
        """Take another part in the place of one."""
        if not isinstance(value, kind):
            raise ModelError(f"{self!r}: {name}: expected {a} {kind.__name__}, got {value!r}")
        before, new = getattr(self, f"_{name}"), value.attached(self)
        setattr(self, f"_{name}", new)
        if before is not value:
            before.detach()

    def compute_error(self) -> Array:
        """The error (6,) at the present positions; see `ErrorMethod.compute_error`.

        Raises:
            ModelError: the error method returns something else than six finite numbers.
        """
        return self._checked("compute_error", self._error_method.compute_error(), (6,))

    def compute_jacobian(self) -> Array:
        """Its Jacobian (6, n) at the present positions; see `ErrorMethod.compute_jacobian`."""
        n = len(self.dof_indices)
        return self._checked("compute_jacobian", self._error_method.compute_jacobian(), (6, n))

    def _checked(self, function: str, value: Any, shape: tuple[int, ...]) -> Array:
        """What a function of the error method returned, as finite numbers of a shape."""
        try:
            numbers = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            numbers = np.array(np.nan)
        if numbers.shape != shape or not np.isfinite(numbers).all():
            name = type(self._error_method).__name__
            expected = "six finite numbers" if shape == (6,) else f"{shape} finite numbers"
            raise ModelError(f"{name}: {function}: expected {expected}, got {value!r}")
        return numbers

    @property
    def task_node(self) -> JacobianNode:
        """The node, or one at `offset` from it, that tasks are about."""
        return self._node if np.array_equal(self._offset, np.eye(4)) else OffsetNode(self._node, self._offset)

    def displacement_of(self, task: Task) -> tuple[Array, Array]:
        """Residual (6,) of a task about frames, not cut to bounds, and its Jacobian (6, n), at present."""
        coupling, (_, pose) = coupling_of(self.skeleton), carrier_of(self._node)
        key = *key_of(self), id(coupling), None if pose is None else pose.tobytes()
        if self._displaced is None or self._displaced[0] != key:
            kept = list(vars(self._error_method).values()), self._error_method, self._node, self._target, coupling
            self._displaced = key, Displacements(self.skeleton, [task], self.dof_indices), kept
        found = self._displaced[1]
        with self.skeleton.turn.sole():
            found.follow_targets()
            found.evaluate(self.skeleton.positions)
            d, D = found.of(0)
            return d.copy(), D.copy()

    def compute_gradient(self) -> Array:
        """The gradient (n,) that the gradient method makes of the present error."""
        return self._gradient_method.compute_gradient(self.compute_error())

    def active_levels(self) -> list[list[InverseKinematics]]:
        return [[self]]

    # Solving -----------------------------------------------------------------------------------------------

    @posing
    def find_solution(self) -> IkResult:
        """Solve the problem from the present positions; the skeleton stays where it is.

        Failing is no error: the result says how close it came, and why it stopped. With built-in parts alone, that is
        an error method that compiled code knows, `DampedLeastSquares` or `LevenbergMarquardt` without weights, the
        default solver, and a problem that was not changed, all of it runs in one call of compiled code, `IkSolver`: it
        starts anew from other positions where the present ones lead nowhere. With the default solver and problem, and
        a closed form or another method that inverts no Jacobian, a first step that solves it is all.
        """
        search = None
        if self.solver == _default_solver() and self.has_plain_problem():
            if self.is_built_in:
                search = self._compiled_search()
            elif not isinstance(self._gradient_method, JacobianMethod) and not self.has_objective():
                result = self._one_step()
                if result is not None:
                    return result
        if search is None:
            return super().find_solution()
        found = search.solve()
        x = found.positions[self.dof_indices]
        with self.posed(x):
            error = self.compute_error()
            reached = bool(found) and float(np.abs(error).max()) <= self._error_method.tolerance
            if reached and self.has_objective():
                return super().find_solution()
        reason = "solved" if reached else f"not reached: {self._node.name} ({_STATUS[found.status]})"
        objective = self.problem.objective.evaluate(x) if self.has_objective() else 0.0
        return IkResult.of(x, reached, [(self._node.name, error)], found.iterations, reason, objective)

    def restored(self, x: Array) -> Array | None:
        search = self._compiled_search(attempts=1) if self.is_built_in else None
        found = None if search is None else search.solve(start=self.whole_positions(x))
        return found.positions[self.dof_indices] if found else None

    def _one_step(self) -> IkResult | None:
        """Where the gradient method leads at once, if that is a solution."""
        x, error = self.positions, self.compute_error()
        done = float(np.abs(error).max()) <= self._error_method.tolerance
        if not done:
            g = np.asarray(self._gradient_method.compute_gradient(error))
            if g.shape != x.shape or g.dtype != np.float64 or not np.isfinite(g).all():
                return None  # what is wrong with it is said where steps are made of it
            x = self.retract(x, -g)
            with self.posed(x):
                error = self.compute_error()
        residual = float(np.abs(error).max())
        lower, upper = joint_limits(self)
        if residual > self._error_method.tolerance or (x < lower - 1e-9).any() or (x > upper + 1e-9).any():
            return None
        return IkResult.of(x, True, [(self._node.name, error)], 0 if done else 1, "solved")

    def _compiled_search(self, attempts: int = 100) -> IkSolver | None:
        """Of its parts, the last one as long as only the target moved; None if compiled code does not know them."""
        key = key_of(self)
        known = self._search.get(attempts)
        if known is None or known[0] != key:
            task = self._error_method.as_task() if len(self.dof_indices) else None
            made = None if task is None else IkSolver(task, self.dof_indices, skeleton=self.skeleton, attempts=attempts)
            # What is known by its address in the key is kept alive.
            kept = list(vars(self._error_method).values()), self._error_method, self._node, self._target
            self._search[attempts] = known = key, made, kept
        return known[1]

    @property
    def is_built_in(self) -> bool:
        """Whether the gradient method is one that compiled code stands for."""
        method = self._gradient_method
        return (
            isinstance(method, DampedLeastSquares | LevenbergMarquardt)
            and method.settings_key() == type(method)().settings_key()
        )

    # Copies ------------------------------------------------------------------------------------------------

    def _check_carrier(self, carrier: Any) -> None:
        body = carrier_of(carrier)[0] if isinstance(carrier, JacobianNode) else carrier
        if body is not self.skeleton and getattr(body, "skeleton", None) is not self.skeleton:
            raise ModelError(
                f"{self!r}: cannot be attached to {carrier!r}, which is not of skeleton {self.skeleton.name!r}, "
                "where its node is; clone(node) makes one for a node of another skeleton"
            )

    def clone(self, node: JacobianNode | None = None) -> Self:
        """An independent copy, attached to nothing, for the same node or another one.

        Args:
            node: also of another skeleton: parts that refer to bodies or nodes then refer to those of the same name.
        """
        memo = self._memo_for_node(self._node if node is None else node)
        return copy.deepcopy(self, memo)

    def memo_for(self, other: Any) -> dict[int, Any]:
        memo = self._memo_for_node(self._node if other is None else other.node)
        memo[id(self)] = other
        return memo

    def _memo_for_node(self, node: JacobianNode) -> dict[int, Any]:
        """What copies refer to instead of the present skeleton and its parts."""
        if not isinstance(node, JacobianNode):
            raise ModelError(f"{self!r}: clone: expected a body or a node on one, got {node!r}")
        memo = twins(self.skeleton, carrier_of(node)[0].skeleton)
        memo[id(self._node)] = node
        return memo

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = object.__new__(type(self))
        if id(self._carrier) not in memo:
            memo[id(self._carrier)] = None
        memo[id(self)] = twin
        world = self.skeleton.host
        if world is None or id(world) not in memo:
            for frame in self._frames_outside():
                memo.setdefault(id(frame), frame)
        vars(twin).update(copy.deepcopy(self.__getstate__(), memo))
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_known": None, "_search": {}, "_displaced": None, **self.nothing_remembered()}

    def _frames_outside(self) -> Iterator[Frame]:
        """Frames of others that its parts refer to: copies refer to them too, unless a whole world is copied."""
        parts = (self._error_method, self._gradient_method)
        held = [value for part in parts for value in vars(part).values() if isinstance(value, Frame)]
        return frames_outside([self._target.parent_frame, *held], self.skeleton)

    def __repr__(self) -> str:
        return f"InverseKinematics({self._node.name!r})"
