"""Built-in parts in compiled code: displacements of many tasks in one call, and whole solves of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kido.ik.center_of_mass import CenterOfMassError
from kido.ik.charts import charted_joints
from kido.ik.engine import entries
from kido.ik.engine.build import compile_tasks
from kido.ik.engine.tasks import EULER_XYZ, LOOK_AT
from kido.ik.error_method import BoundedError
from kido.ik.look_at import LookAtError
from kido.ik.task import Task
from kido.ik.task_space_region import TaskSpaceRegion
from kido.skeleton.frames.fixed_frame import FixedFrame
from kido.skeleton.frames.jacobian_node import JacobianNode

if TYPE_CHECKING:
    from kido.ik.inverse_kinematics import InverseKinematics
    from kido.skeleton import Skeleton

Array = NDArray[np.float64]


class _OffsetNode(JacobianNode, FixedFrame):
    """A frame at an offset from a node, for as long as a solve takes."""

    def __init__(self, ik: InverseKinematics):
        body, relative = ik.node._carrier
        super().__init__(body, ik._offset if relative is None else relative @ ik._offset, ik.node.name)
        self._place = body, self._relative

    @property
    def _carrier(self) -> tuple[Any, Any]:
        return self._place


def task_of(ik: InverseKinematics, cones: bool = False) -> Task | None:
    """The task that compiled code knows an error method as; None if it knows none.

    Regions so narrow that their middle is what is wanted have no width in it.

    Args:
        ik: whose error method.
        cones: whether an axis may be aimed at a cone, of which the border is then what is aimed at.
    """
    method = ik.error_method
    if not isinstance(method, BoundedError) or type(method).compute_error is not BoundedError.compute_error:
        return None
    how = type(method).compute_displacement
    node = ik.node if np.array_equal(ik._offset, np.eye(4)) else _OffsetNode(ik)
    lower, upper = method._lower.copy(), method._upper.copy()
    narrow = method._constrained() & method._narrow()
    lower[narrow] = upper[narrow] = 0.5 * (lower[narrow] + upper[narrow])
    common = {
        "weights": method._weights,
        "priority": ik.priority,
        "tolerance": (max(method.tolerance, 1e-9),) * 2,
        "error_from_center": method.error_from_center,
    }
    if isinstance(method, TaskSpaceRegion) and how is TaskSpaceRegion.compute_displacement:
        if method.reference_frame is not None and method.reference_frame is not method.target_frame:
            return None
        bounds = (lower[:3], upper[:3]), (lower[3:], upper[3:])
        return Task.pose(node, method.target_frame, *bounds, **common)
    if isinstance(method, LookAtError) and how is LookAtError.compute_displacement:
        lows, highs = method.angular_bounds
        width = float(highs[0])
        if not (np.all(highs == width) and np.all(lows == -width)) or not (narrow[0] or (cones and width <= np.pi)):
            return None
        return Task.look_at(node, ik.target, method._axis, 0.0 if narrow[0] else width, **common)
    if isinstance(method, CenterOfMassError) and how is CenterOfMassError.compute_displacement:
        return None if method.bodies is not None else Task.com(ik.target, (lower[3:], upper[3:]), **common)
    return None


def key_of(ik: InverseKinematics) -> tuple[Any, ...]:
    """Equal as long as `task_of` would make the same task, but for where the target is."""
    settings = [v.tobytes() if isinstance(v, np.ndarray) else id(v) for v in vars(ik.error_method).values()]
    target = ik._target
    places = id(ik.error_method), id(ik._node), id(target), id(target.parent_frame), id(ik.skeleton)
    return (*places, ik.skeleton.structure_version, ik._offset.tobytes(), ik.dof_indices.tobytes(), *settings)


class CompiledDisplacements:
    """Displacements and their Jacobians of all tasks that compiled code knows, at any positions.

    Targets are where they are when this is made, but for those that hang on the skeleton.
    """

    def __init__(self, skeleton: Skeleton, modules: Sequence[InverseKinematics], dofs: NDArray[np.int64]):
        self._skeleton = skeleton
        self._place: dict[int, int] = {}
        tasks = []
        for ik in modules:
            task = task_of(ik)
            if task is not None:
                self._place[id(ik)] = len(tasks)
                tasks.append((task, ik.error_method._constrained()))  # type: ignore[attr-defined]
        # Bounds of no width about zero: the residual is the displacement, and counts everywhere.
        bare = [replace(t, lower=np.where(c, 0.0, -np.inf), upper=np.where(c, 0.0, np.inf)) for t, c in tasks]
        self._table = made = compile_tasks(skeleton, bare, dofs) if bare else None
        if made is not None:
            for joint in charted_joints(skeleton):
                made.chart[skeleton.current_state.tree.body_of_dof[joint.start]] = 1  # type: ignore[union-attr]
        for k, (task, _) in enumerate(tasks):
            assert made is not None
            if task.kind == LOOK_AT:
                made.upper[6 * k : 6 * k + 3] = -1.0  # a cone that nothing is inside of
            elif task.angle == EULER_XYZ:  # by the true bounds
                made.angle[k] = EULER_XYZ

    def knows(self, ik: InverseKinematics) -> bool:
        """Whether it has the displacement of a module."""
        return id(ik) in self._place

    def evaluate(self, q: Array) -> None:
        """Compute all of them at positions (dofs,) of the skeleton."""
        if self._table is not None:
            w = self._skeleton.current_state.ready or self._skeleton.current_state.prepare()
            entries.evaluate.call(w.tree, w.data, self._table.address, q)

    def of(self, ik: InverseKinematics) -> tuple[Array, Array]:
        """Displacement (6,) of a module and its Jacobian (6, columns) at those positions; views."""
        assert self._table is not None
        k = 6 * self._place[id(ik)]
        return self._table.e[k : k + 6], self._table.J[k : k + 6]
